/* shape_unique.c - Unique: the different elements of a tensor, or the different slices along an
 * axis. Elements become unsigned keys that sort like them (complex ones two, strings their rank
 * among all strings), so that one merge sort of rows of keys serves every type. */
#include "ops/movement.h"

typedef struct unique_params {
    bool flat; /* no axis is given */
    bool sorted;
    int64_t axis;
} unique_params;

static sdx_status unique_prepare(sdx_prep *prep) {
    unique_params *p = prep->params;
    p->flat = !sdx_attr_has(prep, "axis");
    SDX_TRY(sdx_attr_get_bool(prep, "sorted", true, &p->sorted));
    return sdx_attr_get_int(prep, "axis", 0, &p->axis);
}

static sdx_status unique_infer(sdx_infer *inf) {
    const unique_params *p = inf->params;
    const int32_t rank = sdx_infer_rank(inf, 0);
    sdx_expr dims[SDX_MAX_RANK] = {{0}}, length = SDX_EXPR_UNKNOWN;
    int32_t axis = 0;
    sdx_infer_set_dtype(inf, 0, sdx_infer_dtype(inf, 0));
    for (uint32_t o = 1; o < 4; ++o) {
        sdx_infer_set_dtype(inf, o, SDX_DTYPE_INT64);
        SDX_TRY(sdx_infer_set_shape(inf, o, 1, dims));
    }
    if (p->flat) {
        if (rank >= 0) length = sdx_infer_product(inf, 0, 0, rank);
        SDX_TRY(sdx_infer_set_shape(inf, 0, 1, dims));
    } else if (rank >= 0) {
        SDX_TRY(sdx_infer_axis(inf, p->axis, rank, &axis));
        sdx_move_copy_dims(inf, 0, dims);
        length = dims[axis];
        dims[axis] = SDX_EXPR_UNKNOWN;
        SDX_TRY(sdx_infer_set_shape(inf, 0, rank, dims));
    }
    return sdx_infer_set_shape(inf, 2, 1, &length);
}

/* ---- sorting -------------------------------------------------------------------------------- */

/* Orders indices; < 0, 0, > 0. */
typedef int (*row_order)(const void *rows, size_t width, size_t a, size_t b);

static int order_keys(const void *rows, size_t width, size_t a, size_t b) {
    const uint64_t *left = (const uint64_t *)rows + a * width;
    const uint64_t *right = (const uint64_t *)rows + b * width;
    for (size_t i = 0; i < width; ++i)
        if (left[i] != right[i]) return left[i] < right[i] ? -1 : 1;
    return 0;
}

static int order_strings(const void *rows, size_t width, size_t a, size_t b) {
    const sdx_string *left = (const sdx_string *)rows + a, *right = (const sdx_string *)rows + b;
    const size_t shorter = left->size < right->size ? left->size : right->size;
    const int order = shorter ? memcmp(left->data, right->data, shorter) : 0;
    (void)width;
    if (order != 0 || left->size == right->size) return order;
    return left->size < right->size ? -1 : 1;
}

/* Whether the time is over, asked once for some rows: each is likely to lie outside of the caches. */
#define ROWS_AT_ONCE 1024
static bool over_at_row(size_t row, size_t width) {
    const size_t at_once = width < ROWS_AT_ONCE ? ROWS_AT_ONCE / (width ? width : 1) : 1;
    return row % at_once == 0 && sdx_watch_work(at_once * (width + 16));
}

/* Stable merge sort of indices 0 to count - 1, bottom up; spare has room for count. Returns which
 * of the two holds the result; once the time is over, indices in some order. */
static size_t *sort_rows(const void *rows, size_t width, size_t count, row_order order,
                         size_t *index, size_t *spare) {
    for (size_t i = 0; i < count; ++i) index[i] = i;
    for (size_t run = 1; run < count; run *= 2) {
        for (size_t begin = 0; begin < count; begin += 2 * run) {
            const size_t middle = count - begin < run ? count : begin + run;
            const size_t end = count - begin < 2 * run ? count : begin + 2 * run;
            size_t a = begin, b = middle;
            for (size_t to = begin; to < end; ++to) {
                if (over_at_row(to, width)) return index;
                const bool left =
                    a < middle && (b == end || order(rows, width, index[a], index[b]) <= 0);
                spare[to] = left ? index[a++] : index[b++];
            }
        }
        size_t *swap = index;
        index = spare;
        spare = swap;
    }
    return index;
}

/* ---- keys ----------------------------------------------------------------------------------- */

/* Larger floats have larger keys; both zeros the same, all NaN the same and last. */
static uint64_t float_key(double value) {
    uint64_t bits;
    if (value != value) return UINT64_MAX;
    value += 0.0; /* -0 becomes 0 */
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

static uint64_t element_key(const sdx_tensor *tensor, size_t i) {
    if (sdx_dtypes_has(SDX_T_FLOATS | SDX_T_FLOAT8 | SDX_T(FLOAT4E2M1), tensor->dtype))
        return float_key(sdx_tensor_double(tensor, i));
    const uint64_t value = (uint64_t)sdx_tensor_int(tensor, i);
    return tensor->dtype == SDX_DTYPE_UINT64 ? value : value ^ (uint64_t)1 << 63;
}

typedef struct unique_work {
    size_t slices, outer, inner; /* the tensor is [outer, slices, inner] */
    size_t width;                /* keys of a slice */
    uint64_t *keys;
    size_t *index, *spare, *ranks; /* ranks: of strings */
} unique_work;

/* Keys of slice s, in the order of its elements. */
static void slice_keys(const sdx_tensor *in, const unique_work *work, size_t s, uint64_t *keys) {
    const bool pairs = sdx_dtypes_has(SDX_T_COMPLEX, in->dtype);
    sdx_tensor parts = *in;
    if (pairs)
        parts.dtype = in->dtype == SDX_DTYPE_COMPLEX64 ? SDX_DTYPE_FLOAT32 : SDX_DTYPE_FLOAT64;
    for (size_t o = 0; o < work->outer; ++o)
        for (size_t i = 0; i < work->inner; ++i) {
            const size_t at = (o * work->slices + s) * work->inner + i;
            if (work->ranks) {
                *keys++ = work->ranks[at];
            } else if (pairs) {
                *keys++ = element_key(&parts, 2 * at);
                *keys++ = element_key(&parts, 2 * at + 1);
            } else {
                *keys++ = element_key(in, at);
            }
        }
}

/* Equal strings get equal ranks. */
static void rank_strings(const sdx_tensor *in, unique_work *work, size_t *index, size_t *spare) {
    const size_t *order = sort_rows(in->data, 1, in->count, order_strings, index, spare);
    size_t rank = 0;
    for (size_t i = 0; i < in->count; ++i) {
        if (i > 0 && order_strings(in->data, 1, order[i - 1], order[i]) != 0) ++rank;
        work->ranks[order[i]] = rank;
    }
}

/* ---- results -------------------------------------------------------------------------------- */

/* In order of the result: first[u] is the slice that shows value u, counts[u] how often it is. */
typedef struct unique_result {
    size_t found;
    size_t *first, *counts, *value_of; /* value_of[slice]: its u */
} unique_result;

/* What it leaves is incomplete once the time is over. */
static void collect(const unique_work *work, const size_t *order, bool sorted,
                    unique_result *result) {
    result->found = 0;
    for (size_t i = 0; i < work->slices; ++i) {
        if (over_at_row(i, work->width)) return;
        const bool fresh =
            i == 0 || order_keys(work->keys, work->width, order[i - 1], order[i]) != 0;
        if (fresh) {
            result->first[result->found] = order[i]; /* the sort is stable: the earliest */
            result->counts[result->found++] = 0;
        }
        ++result->counts[result->found - 1];
        result->value_of[order[i]] = result->found - 1;
    }
    if (sorted) return;
    /* By first appearance: slices that are the first of their value, in order. The sorted lists
     * are overwritten from the front, so counts are taken anew. */
    size_t *renamed = work->spare == order ? work->index : work->spare;
    size_t next = 0;
    for (size_t s = 0; s < work->slices; ++s) {
        const size_t u = result->value_of[s];
        if (result->first[u] == s) renamed[u] = next++;
    }
    for (size_t s = 0; s < work->slices; ++s) result->value_of[s] = renamed[result->value_of[s]];
    for (size_t u = 0; u < result->found; ++u) result->counts[u] = 0;
    for (size_t s = 0; s < work->slices; ++s) {
        const size_t u = result->value_of[s];
        if (result->counts[u]++ == 0) result->first[u] = s;
    }
}

static sdx_status emit_numbers(sdx_call *call, uint32_t o, const size_t *numbers, size_t count) {
    const int64_t dim = (int64_t)count;
    sdx_tensor *out;
    SDX_TRY(sdx_move_output(call, o, SDX_DTYPE_INT64, 1, &dim, &out));
    for (size_t i = 0; out && i < count; ++i) ((int64_t *)out->data)[i] = (int64_t)numbers[i];
    return SDX_STATUS_OK;
}

static sdx_status emit(sdx_call *call, const unique_params *p, const unique_work *work,
                       const unique_result *result) {
    const sdx_tensor *in = sdx_in(call, 0);
    const size_t bytes = work->inner * sdx_dtype_size(in->dtype);
    int64_t dims[SDX_MAX_RANK];
    sdx_tensor *out;
    memcpy(dims, in->dims, sizeof dims);
    const int32_t axis = p->flat ? 0 : (int32_t)(p->axis < 0 ? p->axis + in->rank : p->axis);
    dims[axis] = (int64_t)result->found;
    SDX_TRY(sdx_move_output(call, 0, in->dtype, p->flat ? 1 : in->rank, dims, &out));
    for (size_t o = 0; out && bytes > 0 && o < work->outer; ++o)
        for (size_t u = 0; u < result->found && !over_at_row(u, bytes / 8); ++u)
            memcpy((char *)out->data + (o * result->found + u) * bytes,
                   (const char *)in->data + (o * work->slices + result->first[u]) * bytes, bytes);
    SDX_TRY(emit_numbers(call, 1, result->first, result->found));
    SDX_TRY(emit_numbers(call, 2, result->value_of, work->slices));
    return emit_numbers(call, 3, result->counts, result->found);
}

static sdx_status unique_run(sdx_call *call) {
    const unique_params *p = call->params;
    const sdx_tensor *in = sdx_in(call, 0);
    unique_work work = {.slices = in->count, .outer = 1, .inner = 1};
    if (!p->flat) {
        const int32_t axis = (int32_t)(p->axis < 0 ? p->axis + in->rank : p->axis);
        work.slices = (size_t)in->dims[axis];
        work.outer = sdx_dims_product(in->dims, 0, axis);
        work.inner = sdx_dims_product(in->dims, axis + 1, in->rank);
    }
    const bool strings = in->dtype == SDX_DTYPE_STRING;
    const size_t per_element = sdx_dtypes_has(SDX_T_COMPLEX, in->dtype) ? 2 : 1;
    const size_t longest = work.slices > in->count ? work.slices : in->count;
    work.width = work.outer * work.inner * per_element;
    /* One block for all lists: keys, two index lists, first, counts, value_of, ranks. */
    uint64_t *memory = sdx_call_temp(call, in->count * per_element + longest * (strings ? 6 : 5),
                                     sizeof(uint64_t));
    if (!memory) return SDX_STATUS_NO_MEMORY;
    work.keys = memory;
    size_t *lists = (size_t *)(memory + in->count * per_element);
    work.index = lists;
    work.spare = lists + longest;
    unique_result result = {0, lists + 2 * longest, lists + 3 * longest, lists + 4 * longest};
    if (strings) {
        work.ranks = lists + 5 * longest;
        rank_strings(in, &work, work.index, work.spare);
    }
    for (size_t s = 0; s < work.slices && !over_at_row(s, work.width); ++s)
        slice_keys(in, &work, s, work.keys + s * work.width);
    const size_t *order =
        sort_rows(work.keys, work.width, work.slices, order_keys, work.index, work.spare);
    collect(&work, order, p->sorted, &result);
    const sdx_status status = sdx_watch_work(0) ? sdx_call_fail(call, "it was stopped")
                                                : emit(call, p, &work, &result);
    sdx_call_temp_free(call, memory);
    return status;
}

const sdx_op_def sdx_op_unique = {
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 4,
    .in_types = {SDX_T_ALL},
    .flags = SDX_OP_DATA_SHAPE,
    .params_size = sizeof(unique_params),
    .prepare = unique_prepare,
    .infer = unique_infer,
    .run = SDX_BODY(sdx_op_unique, unique_run),
};
