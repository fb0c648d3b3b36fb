/* select_index.c - NonZero and Compress: how much comes out depends on the data. Both count in
 * infer, which sees the data at run time, and so need no memory of their own. */
#include "ops/movement.h"

/* ---- NonZero -------------------------------------------------------------------------------- */

/* Bits of an element that make it differ from zero: all but the sign of floats. */
static uint64_t value_bits(sdx_dtype dtype) {
    switch (dtype) {
    case SDX_DTYPE_FLOAT16:
    case SDX_DTYPE_BFLOAT16: return 0x7fff;
    case SDX_DTYPE_FLOAT32: return 0x7fffffff;
    case SDX_DTYPE_COMPLEX64: return 0x7fffffff7fffffff;
    case SDX_DTYPE_FLOAT64:
    case SDX_DTYPE_COMPLEX128: return 0x7fffffffffffffff;
    default: return UINT64_MAX;
    }
}

#define BATCH 256 /* elements looked at at a time */

/* flags[i] tells whether element first + i is not zero. */
typedef void (*flagger)(const void *data, size_t first, size_t count, uint64_t bits,
                        uint8_t *flags);

#define FLAGGER(name, type)                                                                        \
    static void name(const void *data, size_t first, size_t count, uint64_t bits,                  \
                     uint8_t *flags) {                                                             \
        for (size_t i = 0; i < count; ++i) {                                                       \
            type element;                                                                          \
            memcpy(&element, (const char *)data + (first + i) * sizeof element, sizeof element);   \
            flags[i] = (element & (type)bits) != 0;                                                \
        }                                                                                          \
    }
FLAGGER(flag_1, uint8_t)
FLAGGER(flag_2, uint16_t)
FLAGGER(flag_4, uint32_t)
FLAGGER(flag_8, uint64_t)

static void flag_16(const void *data, size_t first, size_t count, uint64_t bits, uint8_t *flags) {
    for (size_t i = 0; i < count; ++i) {
        uint64_t halves[2];
        memcpy(halves, (const char *)data + (first + i) * sizeof halves, sizeof halves);
        flags[i] = ((halves[0] | halves[1]) & bits) != 0;
    }
}

static void flag_strings(const void *data, size_t first, size_t count, uint64_t bits,
                         uint8_t *flags) {
    (void)bits;
    for (size_t i = 0; i < count; ++i) flags[i] = ((const sdx_string *)data)[first + i].size > 0;
}

/* Flags of the elements from `first` on; returns how many. */
static size_t flag_batch(const sdx_tensor *tensor, size_t first, uint8_t *flags) {
    const size_t left = tensor->count - first, count = left < BATCH ? left : BATCH;
    flagger flag = flag_16;
    switch (sdx_dtype_size(tensor->dtype)) {
    case 1: flag = flag_1; break;
    case 2: flag = flag_2; break;
    case 4: flag = flag_4; break;
    case 8: flag = flag_8; break;
    default: break;
    }
    if (tensor->dtype == SDX_DTYPE_STRING) flag = flag_strings;
    flag(tensor->data, first, count, value_bits(tensor->dtype), flags);
    return count;
}

static int64_t count_nonzero(const sdx_tensor *tensor) {
    uint8_t flags[BATCH];
    int64_t found = 0;
    for (size_t first = 0; first < tensor->count; first += BATCH) {
        const size_t count = flag_batch(tensor, first, flags);
        uint32_t sum = 0;
        for (size_t i = 0; i < count; ++i) sum += flags[i];
        found += sum;
    }
    return found;
}

static sdx_status nonzero_infer(sdx_infer *inf) {
    const int32_t rank = sdx_infer_rank(inf, 0);
    const sdx_tensor *tensor = sdx_infer_tensor(inf, 0);
    sdx_expr dims[2] = {{0}, {0}};
    sdx_infer_set_dtype(inf, 0, SDX_DTYPE_INT64);
    if (rank >= 0) dims[0] = sdx_expr_const(rank); /* 0 for a scalar, unlike NumPy */
    if (tensor) dims[1] = sdx_expr_const(count_nonzero(tensor));
    return sdx_move_shape(inf, 0, 2, dims);
}

static sdx_status nonzero_run(sdx_call *call) {
    const sdx_tensor *in = sdx_in(call, 0);
    sdx_tensor *out = sdx_out(call, 0);
    const int32_t last = in->rank - 1;
    int64_t at[SDX_MAX_RANK] = {0}, *to = out->data;
    uint8_t flags[BATCH];
    if (out->count == 0) return SDX_STATUS_OK;
    const size_t found = (size_t)out->dims[1];
    for (size_t first = 0, n = 0; first < in->count; first += BATCH) {
        const size_t count = flag_batch(in, first, flags);
        for (size_t i = 0; i < count; ++i) {
            if (flags[i]) {
                for (int32_t k = 0; k <= last; ++k) to[(size_t)k * found + n] = at[k];
                ++n;
            }
            for (int32_t k = last; k >= 0 && ++at[k] == in->dims[k]; --k) at[k] = 0;
        }
    }
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_non_zero = {
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .flags = SDX_OP_DATA_SHAPE,
    .in_types = {SDX_T_ALL},
    .infer = nonzero_infer,
    .run = SDX_BODY(sdx_op_non_zero, nonzero_run),
};

/* ---- Compress ------------------------------------------------------------------------------- */

typedef struct compress_params {
    bool flat; /* no axis is given */
    int64_t axis;
} compress_params;

static sdx_status compress_prepare(sdx_prep *prep) {
    compress_params *p = prep->params;
    p->flat = !sdx_attr_has(prep, "axis");
    return sdx_attr_get_int(prep, "axis", 0, &p->axis);
}

/* Chosen among the first `limit`; a shorter condition leaves out the rest. */
static int64_t count_chosen(const sdx_tensor *condition, int64_t limit) {
    int64_t count = 0;
    for (size_t i = 0; i < condition->count && (int64_t)i < limit; ++i)
        count += ((const uint8_t *)condition->data)[i] != 0;
    return count;
}

static sdx_status compress_infer(sdx_infer *inf) {
    const compress_params *p = inf->params;
    const int32_t rank = sdx_infer_rank(inf, 0);
    const sdx_tensor *condition = sdx_infer_tensor(inf, 1);
    sdx_expr dims[SDX_MAX_RANK], length;
    int32_t axis = 0;
    sdx_infer_set_dtype(inf, 0, sdx_infer_dtype(inf, 0));
    SDX_TRY(sdx_infer_require_min_rank(inf, 0, 1));
    SDX_TRY(sdx_infer_require_rank(inf, 1, 1));
    if (rank < 0) return sdx_move_unknown_dims(inf, 0, p->flat ? 1 : -1);
    if (p->flat) {
        length = sdx_infer_product(inf, 0, 0, rank);
    } else {
        SDX_TRY(sdx_infer_axis(inf, p->axis, rank, &axis));
        sdx_move_copy_dims(inf, 0, dims);
        length = dims[axis];
    }
    dims[axis] = condition && sdx_expr_is_const(length)
                     ? sdx_expr_const(count_chosen(condition, sdx_expr_value(length)))
                     : SDX_EXPR_UNKNOWN;
    return sdx_move_shape(inf, 0, p->flat ? 1 : rank, dims);
}

static sdx_status compress_run(sdx_call *call) {
    const compress_params *p = call->params;
    const sdx_tensor *in = sdx_in(call, 0), *condition = sdx_in(call, 1);
    sdx_tensor *out = sdx_out(call, 0);
    const int32_t axis = (int32_t)(p->axis < 0 ? p->axis + in->rank : p->axis);
    const size_t unit = sdx_dtype_size(in->dtype);
    if (out->count == 0) return SDX_STATUS_OK;
    const size_t length = p->flat ? in->count : (size_t)in->dims[axis];
    const size_t outer = p->flat ? 1 : sdx_dims_product(in->dims, 0, axis);
    const size_t block = unit * (p->flat ? 1 : sdx_dims_product(in->dims, axis + 1, in->rank));
    const size_t asked = condition->count < length ? condition->count : length;
    const char *from = in->data;
    char *to = out->data;
    for (size_t o = 0; o < outer; ++o, from += length * block)
        for (size_t i = 0; i < asked; ++i) {
            if (!((const uint8_t *)condition->data)[i]) continue;
            memcpy(to, from + i * block, block);
            to += block;
        }
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_compress = {
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .in_types = {SDX_T_ALL, SDX_T(BOOL)},
    .flags = SDX_OP_DATA_SHAPE,
    .params_size = sizeof(compress_params),
    .prepare = compress_prepare,
    .infer = compress_infer,
    .run = SDX_BODY(sdx_op_compress, compress_run),
};
