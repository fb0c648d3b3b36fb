/* topk.c - TopK in all versions. Every element becomes an unsigned key that orders as the values
 * do (best is largest), so that one heap serves all types. Equal values stand in the order of
 * their indices; NaN counts as the largest value, as where numpy sorts. */
#include "ops/op.h"

typedef struct topk_params {
    int64_t axis, k; /* k: version 1 only */
    bool largest, k_input;
} topk_params;

static sdx_status topk_prepare(sdx_prep *prep) {
    topk_params *params = prep->params;
    bool sorted; /* an unsorted result may come in any order: the sorted one is fine */
    SDX_TRY(sdx_attr_get_int(prep, "axis", -1, &params->axis));
    SDX_TRY(sdx_attr_get_bool(prep, "largest", true, &params->largest));
    SDX_TRY(sdx_attr_get_bool(prep, "sorted", true, &sorted));
    params->k_input = prep->version >= 10;
    uint32_t inputs = params->k_input ? 2 : 1;
    if (prep->node->input_count != inputs)
        return sdx_prep_fail(prep, "expected %u inputs, found %u", inputs, prep->node->input_count);
    if (params->k_input)
        return prep->node->inputs[1] == SDX_NONE ? sdx_prep_fail(prep, "the input K is left out")
                                                 : SDX_STATUS_OK;
    SDX_TRY(sdx_attr_need_int(prep, "k", &params->k));
    return params->k < 0 ? sdx_prep_fail(prep, "k is %lld, expected at least 0",
                                         (long long)params->k)
                         : SDX_STATUS_OK;
}

typedef struct ranked {
    uint64_t key;
    int64_t index;
} ranked;
#define SLOTS 8 /* columns worked on at a time, each with a heap */

static sdx_status topk_infer(sdx_infer *inf) {
    const topk_params *params = inf->params;
    sdx_infer_set_dtype(inf, 0, sdx_infer_dtype(inf, 0));
    sdx_infer_set_dtype(inf, 1, SDX_DTYPE_INT64);
    sdx_expr k = sdx_expr_const(params->k), contents[1];
    size_t count;
    if (params->k_input) {
        k = SDX_EXPR_UNKNOWN;
        if (sdx_infer_rank(inf, 1) > 1)
            return sdx_infer_fail(inf, "K has rank %d, expected 1", sdx_infer_rank(inf, 1));
        if (sdx_infer_rank(inf, 1) == 1)
            SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, 1, 0), sdx_expr_const(1),
                                            "number of elements of K"));
        if (sdx_infer_contents(inf, 1, contents, 1, &count) && count == 1) k = contents[0];
    }
    inf->scratch = SDX_EXPR_UNKNOWN;
    int32_t rank = sdx_infer_rank(inf, 0), axis;
    if (rank < 0) {
        SDX_TRY(sdx_infer_set_shape(inf, 0, -1, NULL));
        return sdx_infer_set_shape(inf, 1, -1, NULL);
    }
    SDX_TRY(sdx_infer_axis(inf, params->axis, rank, &axis));
    sdx_expr dims[SDX_MAX_RANK];
    for (int32_t d = 0; d < rank; d++) dims[d] = sdx_infer_dim(inf, 0, d);
    if (sdx_expr_is_const(k) &&
        (sdx_expr_value(k) < 0 ||
         (sdx_expr_is_const(dims[axis]) && sdx_expr_value(k) > sdx_expr_value(dims[axis]))))
        return sdx_infer_fail(inf, "k is %lld, expected a number from 0 to the axis' size%s",
                              (long long)sdx_expr_value(k),
                              sdx_expr_value(k) < 0 ? "" : ", which is less");
    dims[axis] = k;
    inf->scratch = sdx_inf_mul(inf, k, sdx_expr_const(SLOTS * (int64_t)sizeof(ranked)));
    SDX_TRY(sdx_infer_set_shape(inf, 0, rank, dims));
    return sdx_infer_set_shape(inf, 1, rank, dims);
}

/* ---- keys ------------------------------------------------------------------------------------ */

#define TOP_BIT ((uint64_t)1 << 63)

/* Order of the bits of a float: negative ones turned over, both zeros the same, NaN on top. */
static uint64_t double_key(double value) {
    if (value != value) return UINT64_MAX;
    if (value == 0) value = 0;
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? ~bits : bits | TOP_BIT;
}

#define KEY_INT(v) ((uint64_t)(int64_t)(v) ^ TOP_BIT)
#define KEY_UINT(v) ((uint64_t)(v))
#define KEY_FLOAT(v) double_key((double)(v))
#define KEY_F16(v) double_key((double)sdx_f16_to_f32(v))
#define KEY_BF16(v) double_key((double)sdx_bf16_to_f32(v))

/* The key of element i; a smallest element is the largest of the turned-over keys. */
static uint64_t key_of(sdx_dtype dtype, const void *data, size_t i) {
    switch (dtype) {
    case SDX_DTYPE_FLOAT32: return KEY_FLOAT(((const float *)data)[i]);
    case SDX_DTYPE_FLOAT64: return KEY_FLOAT(((const double *)data)[i]);
    case SDX_DTYPE_FLOAT16: return KEY_F16(((const uint16_t *)data)[i]);
    case SDX_DTYPE_BFLOAT16: return KEY_BF16(((const uint16_t *)data)[i]);
    case SDX_DTYPE_INT8: return KEY_INT(((const int8_t *)data)[i]);
    case SDX_DTYPE_INT16: return KEY_INT(((const int16_t *)data)[i]);
    case SDX_DTYPE_INT32: return KEY_INT(((const int32_t *)data)[i]);
    case SDX_DTYPE_INT64: return KEY_INT(((const int64_t *)data)[i]);
    case SDX_DTYPE_UINT8: return KEY_UINT(((const uint8_t *)data)[i]);
    case SDX_DTYPE_UINT16: return KEY_UINT(((const uint16_t *)data)[i]);
    case SDX_DTYPE_UINT32: return KEY_UINT(((const uint32_t *)data)[i]);
    default: return KEY_UINT(((const uint64_t *)data)[i]);
    }
}

/* ---- heap ------------------------------------------------------------------------------------ */

static inline bool worse(ranked a, ranked b) {
    return a.key < b.key || (a.key == b.key && a.index > b.index);
}

/* The worst is at heap[0]; moves the entry at `at` down to where it belongs. */
static void sift_down(ranked *heap, size_t count, size_t at) {
    ranked moved = heap[at];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= count) break;
        if (child + 1 < count && worse(heap[child + 1], heap[child])) child++;
        if (!worse(heap[child], moved)) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

typedef struct topk_job {
    const sdx_tensor *in;
    sdx_tensor *values, *indices; /* NULL: not wanted */
    size_t axis, inner, k, columns;
    uint64_t flip; /* all ones for the smallest */
    ranked *heaps;
} topk_job;

/* Leaves the k best of a column in heap, best first. */
static void select_column(const topk_job *job, size_t start, ranked *heap) {
    size_t k = job->k, i = 0;
    for (; i < k; i++) {
        uint64_t key = key_of(job->in->dtype, job->in->data, start + i * job->inner) ^ job->flip;
        heap[i] = (ranked){key, (int64_t)i};
    }
    for (size_t h = k / 2; h-- > 0;) sift_down(heap, k, h);
    for (; i < job->axis; i++) {
        uint64_t key = key_of(job->in->dtype, job->in->data, start + i * job->inner) ^ job->flip;
        if (key <= heap[0].key) continue; /* a tie keeps the lower index */
        heap[0] = (ranked){key, (int64_t)i};
        sift_down(heap, k, 0);
        if (sdx_watch_work(64)) return;
    }
    for (size_t last = k - 1; last > 0; last--) {
        if (sdx_watch_work(64)) return;
        ranked worst = heap[0];
        heap[0] = heap[last];
        heap[last] = worst;
        sift_down(heap, last, 0);
    }
}

static void topk_slots(void *arg, size_t begin, size_t end) {
    const topk_job *job = arg;
    size_t size = sdx_dtype_size(job->in->dtype);
    for (size_t slot = begin; slot < end; slot++) {
        ranked *heap = job->heaps + slot * job->k;
        for (size_t c = slot; c < job->columns && !sdx_watch_work(job->axis); c += SLOTS) {
            size_t outer = c / job->inner, inner = c % job->inner;
            size_t from = outer * job->axis * job->inner + inner;
            size_t to = outer * job->k * job->inner + inner;
            select_column(job, from, heap);
            for (size_t i = 0; i < job->k; i++, to += job->inner) {
                size_t source = from + (size_t)heap[i].index * job->inner;
                if (job->values)
                    memcpy((char *)job->values->data + to * size,
                           (const char *)job->in->data + source * size, size);
                if (job->indices) ((int64_t *)job->indices->data)[to] = heap[i].index;
            }
        }
    }
}

static sdx_status topk_run(sdx_call *call) {
    const topk_params *params = call->params;
    const sdx_tensor *in = sdx_in(call, 0), *k_in = sdx_in(call, 1);
    topk_job job = {.in = in, .values = sdx_out(call, 0), .indices = sdx_out(call, 1)};
    int32_t axis = (int32_t)(params->axis < 0 ? params->axis + in->rank : params->axis);
    if (params->k_input && k_in->count != 1)
        return sdx_call_fail(call, "K has %zu elements, expected 1", k_in->count);
    int64_t k = params->k_input ? sdx_tensor_int(k_in, 0) : params->k;
    if (k < 0 || k > in->dims[axis])
        return sdx_call_fail(call, "k is %lld, expected a number from 0 to the axis' size %lld",
                             (long long)k, (long long)in->dims[axis]);
    if (k == 0 || in->count == 0) return SDX_STATUS_OK;
    job.k = (size_t)k;
    job.axis = (size_t)in->dims[axis];
    job.inner = sdx_dims_product(in->dims, axis + 1, in->rank);
    job.columns = in->count / job.axis;
    job.flip = params->largest ? 0 : UINT64_MAX;
    job.heaps = call->scratch;
    sdx_call_parallel(call, SLOTS, in->count < 16384 ? SLOTS : 1, topk_slots, &job);
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_topk = {
    .min_in = 1, .max_in = 2, .min_out = 2, .max_out = 2,
    .in_types = {SDX_T_NUMERIC, SDX_T(INT64)},
    .params_size = sizeof(topk_params),
    .prepare = topk_prepare,
    .infer = topk_infer,
    .run = SDX_BODY(sdx_op_topk, topk_run),
};
