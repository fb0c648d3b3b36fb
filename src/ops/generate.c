/* generate.c - tensors made from little input: ConstantOfShape, Range, EyeLike, OneHot. */
#include <math.h>

#include "ops/movement.h"

/* ---- ConstantOfShape ------------------------------------------------------------------------ */

typedef struct constant_params {
    sdx_dtype dtype;
    unsigned char value[SDX_MAX_UNIT];
} constant_params;

static sdx_status constant_prepare(sdx_prep *prep) {
    constant_params *p = prep->params;
    const sdx_const *value;
    SDX_TRY(sdx_attr_get_tensor(prep, "value", &value));
    p->dtype = SDX_DTYPE_FLOAT32;
    if (!value) return SDX_STATUS_OK;
    if (value->count != 1)
        return sdx_prep_fail(prep, "value has %zu elements; it must have one", value->count);
    if (!sdx_dtypes_has(SDX_T_ALL & ~SDX_T(STRING) & ~SDX_T_COMPLEX, value->dtype))
        return sdx_prep_fail(prep, "value cannot be %s", sdx_dtype_name(value->dtype));
    p->dtype = value->dtype;
    sdx_const_decode(value, p->value);
    return SDX_STATUS_OK;
}

static void constant_contents(sdx_infer *inf, const constant_params *p, const sdx_expr *dims,
                              int32_t rank) {
    sdx_expr contents[SDX_MAX_CONTENTS];
    int64_t plain[SDX_MAX_RANK];
    size_t count;
    unsigned char value[SDX_MAX_UNIT];
    if (!inf->module || !sdx_dtypes_has(SDX_T_INTS | SDX_T(BOOL), p->dtype)) return;
    for (int32_t i = 0; i < rank; ++i) {
        if (!sdx_expr_is_const(dims[i])) return;
        plain[i] = sdx_expr_value(dims[i]);
    }
    if (!sdx_dims_count(plain, rank, &count) || count > SDX_MAX_CONTENTS) return;
    memcpy(value, p->value, sizeof value);
    const sdx_tensor one = {.dtype = p->dtype, .count = 1, .data = value};
    for (size_t i = 0; i < count; ++i) contents[i] = sdx_move_saturated(sdx_tensor_int(&one, 0));
    sdx_infer_set_contents(inf, 0, contents, count);
}

static sdx_status constant_infer(sdx_infer *inf) {
    const constant_params *p = inf->params;
    sdx_expr dims[SDX_MAX_RANK];
    int64_t length;
    size_t count;
    sdx_infer_set_dtype(inf, 0, p->dtype);
    SDX_TRY(sdx_move_vector(inf, 0, &length));
    if (length > SDX_MAX_RANK)
        return sdx_infer_fail(inf, "the shape has %lld entries; at most %d are supported",
                              (long long)length, SDX_MAX_RANK);
    if (!sdx_move_ints(inf, 0, dims, SDX_MAX_RANK, &count))
        return sdx_move_unknown_dims(inf, 0, length);
    constant_contents(inf, p, dims, (int32_t)count);
    return sdx_move_shape(inf, 0, (int32_t)count, dims);
}

static sdx_status constant_run(sdx_call *call) {
    const constant_params *p = call->params;
    sdx_tensor *out = sdx_out(call, 0);
    if (out->count > 0)
        sdx_move_fill(out->data, p->value, sdx_dtype_size(p->dtype), out->count, call->host->pool);
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_constant_of_shape = {
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .in_types = {SDX_T(INT64)},
    .params_size = sizeof(constant_params),
    .prepare = constant_prepare,
    .infer = constant_infer,
    .run = SDX_BODY(sdx_op_constant_of_shape, constant_run),
};

/* ---- Range ---------------------------------------------------------------------------------- */

static sdx_status range_prepare(sdx_prep *prep) {
    int64_t type;
    if (prep->version < 27) return SDX_STATUS_OK;
    SDX_TRY(sdx_attr_get_int(prep, "stash_type", SDX_DTYPE_FLOAT32, &type));
    /* Sums are taken in float64 whatever it says: never less exact than asked for. */
    if (type != SDX_DTYPE_FLOAT32 && type != SDX_DTYPE_FLOAT64 && type != SDX_DTYPE_FLOAT16 &&
        type != SDX_DTYPE_BFLOAT16)
        return sdx_prep_fail(prep, "stash_type %lld is not a float type", (long long)type);
    return SDX_STATUS_OK;
}

/* Number of steps of size by > 0 from low to below high. */
static sdx_expr count_up(sdx_infer *inf, sdx_expr low, sdx_expr high, int64_t by) {
    const sdx_expr span = sdx_inf_sub(inf, high, low);
    const sdx_expr steps = by == 1 ? span : sdx_expr_ceildiv(inf->pool, span, sdx_expr_const(by));
    return sdx_expr_max(inf->pool, steps, sdx_expr_const(0));
}

static sdx_status range_int_length(sdx_infer *inf, sdx_expr *length) {
    const sdx_expr start = sdx_move_scalar(inf, 0), limit = sdx_move_scalar(inf, 1);
    const sdx_expr delta = sdx_move_scalar(inf, 2);
    *length = SDX_EXPR_UNKNOWN;
    if (sdx_expr_is(delta, 0)) return sdx_infer_fail(inf, "delta is 0");
    if (!sdx_expr_is_const(delta)) return SDX_STATUS_OK;
    const int64_t by = sdx_expr_value(delta);
    *length = by > 0 ? count_up(inf, start, limit, by) : count_up(inf, limit, start, -by);
    if (!inf->module || !sdx_expr_is_const(*length) || sdx_expr_value(*length) > SDX_MAX_CONTENTS)
        return SDX_STATUS_OK;
    sdx_expr contents[SDX_MAX_CONTENTS];
    const size_t count = (size_t)sdx_expr_value(*length);
    for (size_t i = 0; i < count; ++i)
        contents[i] = sdx_inf_add(inf, start, sdx_inf_mul(inf, delta, sdx_expr_const((int64_t)i)));
    sdx_infer_set_contents(inf, 0, contents, count);
    return SDX_STATUS_OK;
}

/* A float scalar that is a whole number: a size that was cast, or a constant. */
static sdx_expr whole_scalar(const sdx_infer *inf, uint32_t i) {
    sdx_expr value;
    size_t count;
    if (sdx_infer_contents(inf, i, &value, 1, &count)) return count ? value : SDX_EXPR_UNKNOWN;
    const sdx_tensor *tensor = sdx_infer_tensor(inf, i);
    if (!tensor || tensor->count != 1) return SDX_EXPR_UNKNOWN;
    const double number = sdx_tensor_double(tensor, 0);
    if (!(fabs(number) < 0x1p24) || number != floor(number)) return SDX_EXPR_UNKNOWN;
    return sdx_expr_const((int64_t)number);
}

static sdx_status range_float_length(sdx_infer *inf, sdx_expr *length) {
    const sdx_tensor *in[3];
    *length = SDX_EXPR_UNKNOWN;
    for (uint32_t i = 0; i < 3; ++i) {
        in[i] = sdx_infer_tensor(inf, i);
        if (in[i] && in[i]->count == 1) continue;
        const sdx_expr delta = whole_scalar(inf, 2);
        if (!sdx_expr_is_const(delta) || sdx_expr_is(delta, 0)) return SDX_STATUS_OK;
        const sdx_expr start = whole_scalar(inf, 0), limit = whole_scalar(inf, 1);
        const int64_t by = sdx_expr_value(delta);
        *length = by > 0 ? count_up(inf, start, limit, by) : count_up(inf, limit, start, -by);
        return SDX_STATUS_OK;
    }
    const double start = sdx_tensor_double(in[0], 0), limit = sdx_tensor_double(in[1], 0);
    const double delta = sdx_tensor_double(in[2], 0), count = ceil((limit - start) / delta);
    if (delta == 0.0) return sdx_infer_fail(inf, "delta is 0");
    if (!(count < 0x1p48))
        return sdx_infer_fail(inf, "from %g to %g by %g is no finite range", start, limit, delta);
    *length = sdx_expr_const(count > 0.0 ? (int64_t)count : 0);
    return SDX_STATUS_OK;
}

static sdx_status range_infer(sdx_infer *inf) {
    const sdx_dtype dtype = sdx_infer_dtype(inf, 0);
    sdx_expr length = SDX_EXPR_UNKNOWN;
    sdx_infer_set_dtype(inf, 0, dtype);
    for (uint32_t i = 0; i < 3; ++i) SDX_TRY(sdx_move_require_scalar(inf, i));
    if (sdx_dtypes_has(SDX_T_INTS, dtype)) SDX_TRY(range_int_length(inf, &length));
    else if (sdx_dtypes_has(SDX_T_FLOATS, dtype)) SDX_TRY(range_float_length(inf, &length));
    return sdx_move_shape(inf, 0, 1, &length);
}

static sdx_status range_run(sdx_call *call) {
    sdx_tensor *out = sdx_out(call, 0);
    const sdx_tensor *start = sdx_in(call, 0), *delta = sdx_in(call, 2);
    const size_t unit = sdx_dtype_size(out->dtype);
    if (sdx_dtypes_has(SDX_T_FLOATS, out->dtype)) {
        const double first = sdx_tensor_double(start, 0), by = sdx_tensor_double(delta, 0);
        unsigned char element[SDX_MAX_UNIT];
        if (out->dtype == SDX_DTYPE_FLOAT32) {
            for (size_t i = 0; i < out->count; ++i)
                ((float *)out->data)[i] = (float)(first + (double)i * by);
            return SDX_STATUS_OK;
        }
        for (size_t i = 0; i < out->count; ++i) {
            sdx_move_float(out->dtype, first + (double)i * by, element);
            memcpy((char *)out->data + i * unit, element, unit);
        }
        return SDX_STATUS_OK;
    }
    /* Integers wrap, should the last step pass the type's end. */
    uint64_t value = (uint64_t)sdx_tensor_int(start, 0);
    const uint64_t by = (uint64_t)sdx_tensor_int(delta, 0);
    for (size_t i = 0; i < out->count; ++i, value += by) {
        if (unit == 8) ((uint64_t *)out->data)[i] = value;
        else if (unit == 4) ((uint32_t *)out->data)[i] = (uint32_t)value;
        else ((uint16_t *)out->data)[i] = (uint16_t)value;
    }
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_range = {
    .min_in = 3,
    .max_in = 3,
    .min_out = 1,
    .max_out = 1,
    .flags = SDX_OP_SAME_TYPE,
    .in_types = {SDX_T_FLOATS | SDX_T(INT16) | SDX_T(INT32) | SDX_T(INT64)},
    .prepare = range_prepare,
    .infer = range_infer,
    .run = SDX_BODY(sdx_op_range, range_run),
};

/* ---- EyeLike -------------------------------------------------------------------------------- */

typedef struct eye_params {
    sdx_dtype dtype; /* UNDEFINED: the input's */
    int64_t diagonal;
} eye_params;

static sdx_status eye_prepare(sdx_prep *prep) {
    eye_params *p = prep->params;
    SDX_TRY(sdx_attr_get_int(prep, "k", 0, &p->diagonal));
    SDX_TRY(sdx_attr_get_dtype(prep, "dtype", SDX_DTYPE_UNDEFINED, &p->dtype));
    if (p->dtype != SDX_DTYPE_UNDEFINED && !sdx_dtypes_has(SDX_T_NUMERIC | SDX_T(BOOL), p->dtype))
        return sdx_prep_fail(prep, "dtype cannot be %s", sdx_dtype_name(p->dtype));
    return SDX_STATUS_OK;
}

static sdx_status eye_infer(sdx_infer *inf) {
    const eye_params *p = inf->params;
    SDX_TRY(sdx_infer_require_rank(inf, 0, 2));
    SDX_TRY(sdx_infer_copy(inf, 0, 0, false));
    if (p->dtype != SDX_DTYPE_UNDEFINED) sdx_infer_set_dtype(inf, 0, p->dtype);
    return SDX_STATUS_OK;
}

static sdx_status eye_run(sdx_call *call) {
    const eye_params *p = call->params;
    sdx_tensor *out = sdx_out(call, 0);
    const int64_t rows = out->dims[0], columns = out->dims[1], k = p->diagonal;
    const size_t unit = sdx_dtype_size(out->dtype);
    unsigned char one[SDX_MAX_UNIT];
    if (out->count == 0) return SDX_STATUS_OK;
    memset(out->data, 0, out->count * unit);
    if (k >= columns || k <= -rows) return SDX_STATUS_OK;
    sdx_move_one(out->dtype, one);
    for (int64_t i = k < 0 ? -k : 0; i < rows && i + k < columns; ++i)
        memcpy((char *)out->data + (size_t)(i * columns + i + k) * unit, one, unit);
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_eye_like = {
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .in_types = {SDX_T_NUMERIC | SDX_T(BOOL)},
    .params_size = sizeof(eye_params),
    .prepare = eye_prepare,
    .infer = eye_infer,
    .run = SDX_BODY(sdx_op_eye_like, eye_run),
};

/* ---- OneHot --------------------------------------------------------------------------------- */

typedef struct one_hot_params {
    int64_t axis;
} one_hot_params;

static sdx_status one_hot_prepare(sdx_prep *prep) {
    one_hot_params *p = prep->params;
    return sdx_attr_get_int(prep, "axis", -1, &p->axis);
}

static sdx_status one_hot_infer(sdx_infer *inf) {
    const one_hot_params *p = inf->params;
    const int32_t rank = sdx_infer_rank(inf, 0);
    const sdx_expr depth = sdx_move_scalar(inf, 1);
    sdx_expr dims[SDX_MAX_RANK];
    int64_t length;
    int32_t axis;
    sdx_infer_set_dtype(inf, 0, sdx_infer_dtype(inf, 2));
    SDX_TRY(sdx_move_require_scalar(inf, 1));
    SDX_TRY(sdx_move_vector(inf, 2, &length));
    if (length >= 0 && length != 2)
        return sdx_infer_fail(inf, "values has %lld elements; it must have two", (long long)length);
    if (sdx_expr_is_const(depth) && sdx_expr_value(depth) < 0)
        return sdx_infer_fail(inf, "depth is %lld", (long long)sdx_expr_value(depth));
    if (rank < 0) return sdx_move_shape(inf, 0, -1, NULL);
    SDX_TRY(sdx_infer_axis(inf, p->axis, rank + 1, &axis));
    if (rank + 1 > SDX_MAX_RANK) return sdx_move_unknown_dims(inf, 0, rank + 1); /* refuses */
    for (int32_t i = 0, from = 0; i <= rank; ++i)
        dims[i] = i == axis ? depth : sdx_infer_dim(inf, 0, from++);
    return sdx_move_shape(inf, 0, rank + 1, dims);
}

typedef struct one_hot_job {
    const sdx_tensor *indices;
    char *to;
    const char *on;
    size_t unit, inner;
    int64_t depth;
    bool wraps; /* -1 is the last */
} one_hot_job;

static void one_hot_marks(void *arg, size_t begin, size_t end) {
    const one_hot_job *job = arg;
    for (size_t i = begin; i < end; ++i) {
        int64_t index = sdx_move_int(job->indices, i);
        if (index < 0 && index >= -job->depth && job->wraps) index += job->depth;
        if (index < 0 || index >= job->depth) continue;
        const size_t outer = i / job->inner, rest = i % job->inner;
        const size_t at = (outer * (size_t)job->depth + (size_t)index) * job->inner + rest;
        memcpy(job->to + at * job->unit, job->on, job->unit);
    }
}

static sdx_status one_hot_run(sdx_call *call) {
    const one_hot_params *p = call->params;
    const sdx_tensor *indices = sdx_in(call, 0), *values = sdx_in(call, 2);
    sdx_tensor *out = sdx_out(call, 0);
    const int32_t axis = (int32_t)(p->axis < 0 ? p->axis + out->rank : p->axis);
    const size_t unit = sdx_dtype_size(out->dtype);
    if (out->count == 0) return SDX_STATUS_OK;
    sdx_move_fill(out->data, values->data, unit, out->count, call->host->pool);
    one_hot_job job = {.indices = indices, .to = out->data, .unit = unit};
    job.on = (const char *)values->data + unit;
    job.inner = sdx_dims_product(out->dims, axis + 1, out->rank);
    job.depth = out->dims[axis];
    job.wraps = call->version >= 11;
    sdx_call_parallel(call, indices->count, 4096, one_hot_marks, &job);
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_one_hot = {
    .min_in = 3,
    .max_in = 3,
    .min_out = 1,
    .max_out = 1,
    .in_types = {SDX_T_NUMERIC, SDX_T_NUMERIC, SDX_T_ALL},
    .params_size = sizeof(one_hot_params),
    .prepare = one_hot_prepare,
    .infer = one_hot_infer,
    .run = SDX_BODY(sdx_op_one_hot, one_hot_run),
};
