/* attention_rotary.c - RotaryEmbedding: pairs of elements of every head turned by the angle of
 * their position, whose cosine and sine come from two tables. */
#include "ops/op.h"

typedef struct rotary_params {
    int64_t heads, dim;
    bool interleaved;
} rotary_params;

static sdx_status rotary_prepare(sdx_prep *prep) {
    rotary_params *params = prep->params;
    SDX_TRY(sdx_attr_get_int(prep, "num_heads", 0, &params->heads));
    SDX_TRY(sdx_attr_get_int(prep, "rotary_embedding_dim", 0, &params->dim));
    SDX_TRY(sdx_attr_get_bool(prep, "interleaved", false, &params->interleaved));
    if (params->heads < 0 || params->dim < 0 || params->dim % 2 != 0)
        return sdx_prep_fail(prep, "num_heads is %lld and rotary_embedding_dim %lld, expected an "
                             "even number of at least 0", (long long)params->heads,
                             (long long)params->dim);
    return SDX_STATUS_OK;
}

/* The tables: (positions, half) with position_ids, else (batch, sequence, half). */
static sdx_status check_tables(sdx_infer *inf, sdx_expr batch, sdx_expr length, sdx_expr half) {
    bool by_id = sdx_infer_present(inf, 3);
    for (uint32_t i = 1; i <= 2; i++) {
        SDX_TRY(sdx_infer_require_rank(inf, i, by_id ? 2 : 3));
        int32_t rank = sdx_infer_rank(inf, i);
        if (rank < 0) continue;
        SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, i, rank - 1), half,
                                        "last dim of a table and half the rotated dims"));
        if (by_id) {
            if (sdx_infer_rank(inf, 3 - i) == 2)
                SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, 1, 0),
                                                sdx_infer_dim(inf, 2, 0), "rows of the tables"));
            continue;
        }
        SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, i, 0), batch,
                                        "batch size of a table and X"));
        SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, i, 1), length,
                                        "sequence length of a table and X"));
    }
    SDX_TRY(sdx_infer_require_rank(inf, 3, 2));
    if (sdx_infer_rank(inf, 3) != 2) return SDX_STATUS_OK;
    SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, 3, 0), batch,
                                    "batch size of position_ids and X"));
    return sdx_infer_require_equal(inf, sdx_infer_dim(inf, 3, 1), length,
                                   "sequence length of position_ids and X");
}

static sdx_status rotary_infer(sdx_infer *inf) {
    const rotary_params *params = inf->params;
    sdx_dtype dtype = sdx_infer_dtype(inf, 0);
    for (uint32_t i = 1; i <= 2; i++)
        if (dtype != SDX_DTYPE_UNDEFINED && sdx_infer_dtype(inf, i) != SDX_DTYPE_UNDEFINED &&
            sdx_infer_dtype(inf, i) != dtype)
            return sdx_infer_fail(inf, "a table is %s, expected %s as X",
                                  sdx_dtype_name(sdx_infer_dtype(inf, i)), sdx_dtype_name(dtype));
    int32_t rank = sdx_infer_rank(inf, 0);
    if (rank < 0) return sdx_infer_copy(inf, 0, 0, false);
    if (rank != 3 && rank != 4)
        return sdx_infer_fail(inf, "X has rank %d, expected 3 or 4", rank);
    sdx_expr size = sdx_infer_dim(inf, 0, rank - 1);
    if (rank == 3) {
        if (params->heads < 1) return sdx_infer_fail(inf, "X with 3 dims needs num_heads");
        if (sdx_expr_is_const(size) && sdx_expr_value(size) % params->heads != 0)
            return sdx_infer_fail(inf, "the last dim of X is %lld, no multiple of its %lld heads",
                                  (long long)sdx_expr_value(size), (long long)params->heads);
        size = sdx_expr_floordiv(inf->pool, size, sdx_expr_const(params->heads));
    }
    if (sdx_expr_is_const(size) &&
        (params->dim > sdx_expr_value(size) ||
         (params->dim == 0 && sdx_expr_value(size) % 2 != 0)))
        return sdx_infer_fail(inf, "heads of size %lld cannot be rotated in %lld dims",
                              (long long)sdx_expr_value(size), (long long)params->dim);
    sdx_expr half = params->dim > 0
                        ? sdx_expr_const(params->dim / 2)
                        : sdx_expr_floordiv(inf->pool, size, sdx_expr_const(2));
    SDX_TRY(check_tables(inf, sdx_infer_dim(inf, 0, 0), sdx_infer_dim(inf, 0, rank == 3 ? 1 : 2),
                         half));
    return sdx_infer_copy(inf, 0, 0, false);
}

typedef struct rotary_job {
    const void *x, *cos, *sin;
    void *y;
    const int64_t *ids; /* NULL: the tables go by batch and position */
    size_t batch, heads, length, size, half;
    bool flat, interleaved;
} rotary_job;

/* Tokens [begin, end), numbered over batch and sequence; all heads of each. */
#define ROTATE(name, type, number, LOAD, SAVE)                                                    \
    static void name(void *arg, size_t begin, size_t end) {                                       \
        const rotary_job *job = arg;                                                              \
        size_t half = job->half, first = job->interleaved ? 2 : 1;                                \
        size_t second = job->interleaved ? 1 : half;                                              \
        for (size_t t = begin; t < end; t++) {                                                    \
            size_t b = t / job->length, s = t % job->length;                                      \
            size_t row = job->ids ? (size_t)job->ids[t] : t;                                      \
            const type *c = (const type *)job->cos + row * half;                                  \
            const type *d = (const type *)job->sin + row * half;                                  \
            for (size_t h = 0; h < job->heads; h++) {                                             \
                size_t at = job->flat ? (t * job->heads + h) * job->size                          \
                                      : ((b * job->heads + h) * job->length + s) * job->size;     \
                const type *x = (const type *)job->x + at;                                        \
                type *y = (type *)job->y + at;                                                    \
                for (size_t j = 0; j < half; j++) {                                               \
                    number x1 = LOAD(x[j * first]), x2 = LOAD(x[j * first + second]);             \
                    number cosine = LOAD(c[j]), sine = LOAD(d[j]);                                \
                    y[j * first] = SAVE(cosine * x1 - sine * x2);                                 \
                    y[j * first + second] = SAVE(sine * x1 + cosine * x2);                        \
                }                                                                                 \
                memcpy(y + 2 * half, x + 2 * half, (job->size - 2 * half) * sizeof(type));        \
            }                                                                                     \
        }                                                                                         \
    }
#define AS_IS(v) (v)
ROTATE(rotate_f32, float, float, AS_IS, AS_IS)
ROTATE(rotate_f64, double, double, AS_IS, AS_IS)
ROTATE(rotate_f16, uint16_t, float, sdx_f16_to_f32, sdx_f32_to_f16)
ROTATE(rotate_bf16, uint16_t, float, sdx_bf16_to_f32, sdx_f32_to_bf16)

static sdx_status rotary_run(sdx_call *call) {
    const rotary_params *params = call->params;
    const sdx_tensor *x = sdx_in(call, 0), *cos = sdx_in(call, 1), *ids = sdx_in(call, 3);
    if (x->count == 0) return SDX_STATUS_OK;
    rotary_job job = {.x = x->data, .y = sdx_out(call, 0)->data, .cos = cos->data,
                      .sin = sdx_in(call, 2)->data, .interleaved = params->interleaved};
    job.flat = x->rank == 3;
    job.batch = (size_t)x->dims[0];
    job.heads = (size_t)(job.flat ? params->heads : x->dims[1]);
    job.length = (size_t)x->dims[job.flat ? 1 : 2];
    job.size = (size_t)x->dims[x->rank - 1] / (job.flat ? job.heads : 1);
    job.half = (params->dim > 0 ? (size_t)params->dim : job.size) / 2;
    if (2 * job.half > job.size || (params->dim == 0 && job.size % 2 != 0) ||
        (job.flat && job.size * job.heads != (size_t)x->dims[2]))
        return sdx_call_fail(call, "%zu heads of size %zu cannot be rotated in %zu dims", job.heads,
                             job.size, 2 * job.half);
    size_t tokens = job.batch * job.length;
    if (ids) {
        job.ids = ids->data;
        for (size_t i = 0; i < tokens; i++)
            if (job.ids[i] < 0 || job.ids[i] >= cos->dims[0])
                return sdx_call_fail(call, "position_ids: %lld lies outside [0, %lld)",
                                     (long long)job.ids[i], (long long)cos->dims[0]);
    }
    sdx_loop_body body = x->dtype == SDX_DTYPE_FLOAT64    ? rotate_f64
                         : x->dtype == SDX_DTYPE_FLOAT16  ? rotate_f16
                         : x->dtype == SDX_DTYPE_BFLOAT16 ? rotate_bf16
                                                          : rotate_f32;
    sdx_call_parallel(call, tokens, 16384 / (job.heads * job.size) + 1, body, &job);
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_rotary_embedding = {
    .min_in = 3, .max_in = 4, .min_out = 1, .max_out = 1,
    .in_types = {SDX_T_FLOATS, SDX_T_FLOATS, SDX_T_FLOATS, SDX_T(INT64)},
    .params_size = sizeof(rotary_params),
    .prepare = rotary_prepare,
    .infer = rotary_infer,
    .run = SDX_BODY(sdx_op_rotary_embedding, rotary_run),
};
