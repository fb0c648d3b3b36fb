/* matmul_integer.c - MatMulInteger and QLinearMatMul. Operands minus their zero points fit 16 bits;
 * laid with k innermost on both sides, every result is a dot product of 16-bit numbers into 32,
 * for which the baseline instruction set has an instruction. The 8-bit floats of QLinearMatMul 21
 * go through float32 instead. */
#include <math.h>

#include "ops/matmul.h"

/* Where the parts of each operator stand among its inputs; NONE: it has no such input. */
#define NONE 0xff
typedef struct integer_kind {
    uint8_t a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero;
} integer_kind;

static const integer_kind plain_kind = {0, NONE, 2, 1, NONE, 3, NONE, NONE};
static const integer_kind linear_kind = {0, 1, 2, 3, 4, 5, 6, 7};

#define T_8BIT (SDX_T(INT8) | SDX_T(UINT8))
#define T_QUANTISED                                                                               \
    (T_8BIT | SDX_T(FLOAT8E4M3FN) | SDX_T(FLOAT8E4M3FNUZ) | SDX_T(FLOAT8E5M2) |                   \
     SDX_T(FLOAT8E5M2FNUZ))

static bool in_floats(sdx_dtype a, sdx_dtype b) {
    return !sdx_dtypes_has(T_8BIT, a) || !sdx_dtypes_has(T_8BIT, b);
}

/* ---- infer ----------------------------------------------------------------------------------- */

/* A zero point or scale: one element, one per row of A or column of B, or the same per matrix. */
static sdx_status check_vector(sdx_infer *inf, uint8_t i, uint8_t of, bool rows) {
    if (i == NONE || sdx_infer_rank(inf, i) <= 0) return SDX_STATUS_OK;
    int32_t rank = sdx_infer_rank(inf, i), whole = sdx_infer_rank(inf, of);
    if (whole < 0) return SDX_STATUS_OK;
    if (rank != 1 && rank != whole)
        return sdx_infer_fail(inf, "input %u has rank %d, expected 0, 1 or %d", i, rank, whole);
    for (int32_t d = 0; d < rank; d++) {
        sdx_expr own = sdx_infer_dim(inf, i, d), want = sdx_infer_dim(inf, of, d);
        if (rank == 1) {
            want = sdx_expr_const(1); /* a vector operand is one row, one column */
            if (whole > 1) want = sdx_infer_dim(inf, of, rows ? whole - 2 : whole - 1);
        } else if (d == (rows ? rank - 1 : rank - 2)) {
            want = sdx_expr_const(1);
        }
        SDX_TRY(sdx_infer_require_broadcast(inf, own, want));
    }
    return SDX_STATUS_OK;
}

static sdx_status require_single(sdx_infer *inf, uint8_t i) {
    if (i == NONE || sdx_infer_rank(inf, i) < 0) return SDX_STATUS_OK;
    sdx_expr count = sdx_infer_product(inf, i, 0, sdx_infer_rank(inf, i));
    return sdx_infer_require_equal(inf, count, sdx_expr_const(1),
                                   "number of elements of y's scale and zero point");
}

static sdx_expr scratch_of(sdx_infer *inf, const integer_kind *kind) {
    int32_t ra = sdx_infer_rank(inf, kind->a), rb = sdx_infer_rank(inf, kind->b);
    if (ra < 1 || rb < 1) return SDX_EXPR_UNKNOWN;
    bool floats = in_floats(sdx_infer_dtype(inf, kind->a), sdx_infer_dtype(inf, kind->b));
    size_t size = floats ? sizeof(float) : sizeof(int16_t);
    sdx_expr a = sdx_infer_product(inf, kind->a, 0, ra), b = sdx_infer_product(inf, kind->b, 0, rb);
    sdx_expr bytes = sdx_inf_add(inf, sdx_infer_scratch_part(inf, a, size),
                                 sdx_infer_scratch_part(inf, b, size));
    if (!floats) return bytes;
    sdx_expr y = sdx_expr_const(1), one = sdx_expr_const(1);
    const sdx_infer_out *out = &inf->out[0];
    int32_t rank = (ra > rb ? ra : rb) - (ra == 1) - (rb == 1);
    for (int32_t d = 0; d < rank; d++) y = sdx_inf_mul(inf, y, out->dims[d]);
    bytes = sdx_inf_add(inf, bytes, sdx_infer_scratch_part(inf, y, size));
    sdx_expr m = sdx_infer_product(inf, kind->a, 0, ra - 1);
    sdx_expr n = rb > 1 ? sdx_infer_dim(inf, kind->b, rb - 1) : one;
    sdx_expr k = sdx_infer_dim(inf, kind->a, ra - 1);
    return sdx_inf_add(inf, bytes, sdx_infer_product_scratch(inf, SDX_DTYPE_FLOAT32, m, n, k));
}

static sdx_status integer_infer(sdx_infer *inf) {
    const integer_kind *kind = inf->def->aux;
    bool linear = kind->y_zero != NONE;
    SDX_TRY(sdx_infer_matmul(inf, kind->a, kind->b,
                             linear ? sdx_infer_dtype(inf, kind->y_zero) : SDX_DTYPE_INT32));
    SDX_TRY(check_vector(inf, kind->a_scale, kind->a, true));
    SDX_TRY(check_vector(inf, kind->a_zero, kind->a, true));
    SDX_TRY(check_vector(inf, kind->b_scale, kind->b, false));
    SDX_TRY(check_vector(inf, kind->b_zero, kind->b, false));
    SDX_TRY(require_single(inf, kind->y_scale));
    SDX_TRY(require_single(inf, kind->y_zero));
    const uint8_t pairs[2][2] = {{kind->a, kind->a_zero}, {kind->b, kind->b_zero}};
    for (int p = 0; p < 2; p++) {
        sdx_dtype own = sdx_infer_dtype(inf, pairs[p][0]), zero = sdx_infer_dtype(inf, pairs[p][1]);
        if (own != SDX_DTYPE_UNDEFINED && zero != SDX_DTYPE_UNDEFINED && own != zero)
            return sdx_infer_fail(inf, "a zero point is %s, its matrix %s", sdx_dtype_name(zero),
                                  sdx_dtype_name(own));
    }
    inf->scratch = scratch_of(inf, kind);
    return SDX_STATUS_OK;
}

/* ---- operands -------------------------------------------------------------------------------- */

/* Element of a zero point or scale for row or column i of the matrix-th matrix of x. */
static size_t vector_index(const sdx_tensor *vector, const sdx_tensor *x, size_t matrix,
                           size_t i) {
    if (vector->count == 1) return 0;
    if (vector->rank == 1) return i;
    int32_t inner = vector->rank - 2;
    size_t stride = (size_t)(vector->dims[inner] * vector->dims[inner + 1]);
    size_t at = stride > 1 ? i : 0;
    for (int32_t d = inner - 1; d >= 0; d--) {
        size_t index = matrix % (size_t)x->dims[d];
        matrix /= (size_t)x->dims[d];
        if (vector->dims[d] != 1) at += index * stride;
        stride *= (size_t)vector->dims[d];
    }
    return at;
}

static float quantised(sdx_dtype dtype, const void *data, size_t i) {
    if (dtype == SDX_DTYPE_INT8) return (float)((const int8_t *)data)[i];
    if (dtype == SDX_DTYPE_UINT8) return (float)((const uint8_t *)data)[i];
    return sdx_f8_to_f32(dtype, ((const uint8_t *)data)[i]);
}

typedef struct operand {
    const sdx_tensor *x, *zero; /* zero NULL: none */
    size_t rows, columns;       /* of one matrix */
    bool per_row;               /* zero points go by rows, else by columns */
} operand;

static float zero_of(const operand *o, size_t matrix, size_t i) {
    if (o->zero == NULL) return 0;
    return quantised(o->zero->dtype, o->zero->data, vector_index(o->zero, o->x, matrix, i));
}

/* Matrices minus their zero points as 16-bit numbers, k innermost: B is turned over. */
static void to_16(const operand *o, int16_t *out) {
    size_t each = o->rows * o->columns, count = each > 0 ? o->x->count / each : 0;
    bool is_signed = o->x->dtype == SDX_DTYPE_INT8;
    size_t outer = o->per_row ? o->rows : o->columns, inner = o->per_row ? o->columns : o->rows;
    size_t outer_step = o->per_row ? o->columns : 1, inner_step = o->per_row ? 1 : o->columns;
    for (size_t m = 0; m < count; m++)
        for (size_t i = 0; i < outer; i++) {
            int zero = (int)zero_of(o, m, i);
            const uint8_t *from = (const uint8_t *)o->x->data + m * each + i * outer_step;
            int16_t *to = out + m * each + i * inner;
            for (size_t j = 0; j < inner; j++) {
                uint8_t bits = from[j * inner_step];
                int value = is_signed ? (int8_t)bits : bits;
                to[j] = (int16_t)(value - zero);
            }
        }
}

static void to_float(const operand *o, float *out) {
    size_t each = o->rows * o->columns, count = each > 0 ? o->x->count / each : 0;
    for (size_t m = 0; m < count; m++)
        for (size_t i = 0; i < o->rows; i++)
            for (size_t j = 0; j < o->columns; j++) {
                size_t at = m * each + i * o->columns + j;
                out[at] = quantised(o->x->dtype, o->x->data, at) -
                          zero_of(o, m, o->per_row ? i : j);
            }
}

/* ---- results --------------------------------------------------------------------------------- */

typedef struct integer_job {
    sdx_matmul_shape shape;
    operand a, b;
    const int16_t *a16, *b16;
    const float *product; /* of the float path: all of Y, before scaling; else NULL */
    const sdx_tensor *a_scale, *b_scale;
    sdx_tensor *y;
    float y_scale, y_zero;
} integer_job;

/* Sums stay inside 32 bits over this many products of numbers up to 255. */
#define DOT_LENGTH 16384

static uint32_t dot(const int16_t *restrict a, const int16_t *restrict b, size_t k) {
    uint32_t sum = 0;
    for (size_t p = 0; p < k; p += DOT_LENGTH) {
        size_t end = k - p < DOT_LENGTH ? k - p : DOT_LENGTH;
        int32_t part = 0;
        for (size_t i = 0; i < end; i++) part += a[p + i] * b[p + i];
        sum += (uint32_t)part;
    }
    return sum;
}

/* One result in the output's type; index is its place in Y. */
static void store(const integer_job *job, size_t index, double value, float scale) {
    sdx_tensor *y = job->y;
    double scaled = value * (double)scale;
    if (!sdx_dtypes_has(T_8BIT, y->dtype)) {
        ((uint8_t *)y->data)[index] =
            sdx_f32_to_f8(y->dtype, (float)(scaled + (double)job->y_zero), true);
        return;
    }
    double low = y->dtype == SDX_DTYPE_INT8 ? -128 : 0, high = low + 255;
    double rounded = rint(scaled) + (double)job->y_zero;
    rounded = rounded > low ? rounded : low; /* NaN becomes the lowest */
    rounded = rounded < high ? rounded : high;
    ((uint8_t *)y->data)[index] = (uint8_t)(int)rounded;
}

/* Row i of product `batch`, whose operands begin at these elements. */
static void result_row(const integer_job *job, size_t row, size_t i, size_t a_at, size_t b_at) {
    size_t n = job->shape.n, k = job->shape.k, matrix_a = 0, matrix_b = 0, a_row = i;
    if (job->a.rows * k > 0) { /* the batch may have been folded into m */
        size_t all = a_at / k + i;
        matrix_a = all / job->a.rows;
        a_row = all % job->a.rows;
    }
    if (k * n > 0) matrix_b = b_at / (k * n);
    float row_scale = 1;
    if (job->a_scale)
        row_scale = (float)sdx_tensor_double(job->a_scale,
                                             vector_index(job->a_scale, job->a.x, matrix_a, a_row));
    for (size_t j = 0; j < n; j++) {
        uint32_t sum = 0;
        if (job->product == NULL)
            sum = dot(job->a16 + a_at + i * k, job->b16 + b_at + j * k, k);
        if (job->a_scale == NULL) {
            ((uint32_t *)job->y->data)[row * n + j] = sum;
            continue;
        }
        double value = job->product ? (double)job->product[row * n + j] : (double)(int32_t)sum;
        size_t at = vector_index(job->b_scale, job->b.x, matrix_b, j);
        float scale = row_scale * (float)sdx_tensor_double(job->b_scale, at) / job->y_scale;
        store(job, row * n + j, value, scale);
    }
}

/* Rows [begin, end) of Y, over all products of the batch. */
static void integer_rows(void *arg, size_t begin, size_t end) {
    const integer_job *job = arg;
    const sdx_batch *batch = &job->shape.batch;
    for (size_t row = begin; row < end; row++) {
        size_t rest = row / job->shape.m, a_at = 0, b_at = 0;
        for (int32_t d = batch->rank - 1; d >= 0; d--) {
            size_t index = rest % batch->size[d];
            rest /= batch->size[d];
            a_at += index * batch->a_stride[d];
            b_at += index * batch->b_stride[d];
        }
        result_row(job, row, row % job->shape.m, a_at, b_at);
    }
}

/* ---- run ------------------------------------------------------------------------------------- */

static const sdx_tensor *input(const sdx_call *call, uint8_t i) {
    return i == NONE ? NULL : sdx_in(call, i);
}

static void prepare_floats(sdx_call *call, integer_job *job, char *scratch) {
    const sdx_matmul_shape *s = &job->shape;
    float *a = (float *)(void *)scratch;
    scratch += sdx_scratch_part(job->a.x->count * sizeof(float));
    float *b = (float *)(void *)scratch;
    scratch += sdx_scratch_part(job->b.x->count * sizeof(float));
    to_float(&job->a, a);
    to_float(&job->b, b);
    job->product = (float *)(void *)scratch;
    void *product = scratch;
    scratch += sdx_scratch_part(job->y->count * sizeof(float));
    size_t left = call->scratch_bytes - (size_t)(scratch - (char *)call->scratch);
    sdx_product_batch(call->host->pool, SDX_DTYPE_FLOAT32, s->m, s->n, s->k,
                      (sdx_matrix){a, s->k, 1}, (sdx_matrix){b, s->n, 1}, product, s->n,
                      &s->batch, scratch, left);
}

static sdx_status integer_run(sdx_call *call) {
    const integer_kind *kind = call->def->aux;
    const sdx_tensor *a = input(call, kind->a), *b = input(call, kind->b);
    integer_job job = {.y = sdx_out(call, 0)};
    if (job.y->count == 0) return SDX_STATUS_OK;
    sdx_matmul_shape_of(a, b, job.y, &job.shape);
    const sdx_matmul_shape *s = &job.shape;
    size_t own_rows = a->rank > 1 ? (size_t)a->dims[a->rank - 2] : 1;
    job.a = (operand){a, input(call, kind->a_zero), own_rows, s->k, true};
    job.b = (operand){b, input(call, kind->b_zero), s->k, s->n, false};
    job.a_scale = input(call, kind->a_scale);
    job.b_scale = input(call, kind->b_scale);
    if (job.a_scale) {
        const sdx_tensor *zero = input(call, kind->y_zero);
        job.y_scale = (float)sdx_tensor_double(input(call, kind->y_scale), 0);
        job.y_zero = quantised(zero->dtype, zero->data, 0);
    }
    char *scratch = call->scratch;
    if (in_floats(a->dtype, b->dtype)) {
        prepare_floats(call, &job, scratch);
    } else {
        int16_t *a16 = (int16_t *)(void *)scratch;
        scratch += sdx_scratch_part(a->count * sizeof *a16);
        int16_t *b16 = (int16_t *)(void *)scratch;
        to_16(&job.a, a16);
        to_16(&job.b, b16);
        job.a16 = a16;
        job.b16 = b16;
    }
    sdx_call_parallel(call, job.y->count / s->n, 65536 / (s->n * s->k + 1) + 1, integer_rows, &job);
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_matmul_integer = {
    .min_in = 2, .max_in = 4, .min_out = 1, .max_out = 1,
    .in_types = {T_8BIT},
    .infer = integer_infer,
    .run = SDX_BODY(sdx_op_matmul_integer, integer_run),
    .aux = &plain_kind,
};

#define T_SCALE (SDX_T(FLOAT32) | SDX_T(FLOAT16) | SDX_T(BFLOAT16))
const sdx_op_def sdx_op_qlinear_matmul = {
    .min_in = 8, .max_in = 8, .min_out = 1, .max_out = 1,
    .in_types = {T_QUANTISED, T_SCALE, T_QUANTISED, T_QUANTISED, T_SCALE, T_QUANTISED, T_SCALE,
                 T_QUANTISED},
    .infer = integer_infer,
    .run = SDX_BODY(sdx_op_qlinear_matmul, integer_run),
    .aux = &linear_kind,
};
