/* quantize.c - QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear. A scale (and a zero
 * point of its shape) serves the whole tensor, one index of an axis, or a block along an axis. All
 * three become the same grid of runs, along which the scale either stays or moves by one; a run is
 * computed in float32, in blocks that stay in L1. */
#include <math.h>

#include "ops/cast.h"

#define QUANTIZED                                                                                 \
    (SDX_T(INT8) | SDX_T(UINT8) | SDX_T(INT16) | SDX_T(UINT16) |                                  \
     (SDX_T_SMALL & ~SDX_T(FLOAT8E8M0)))
#define HALVES (SDX_T(FLOAT16) | SDX_T(BFLOAT16))

typedef struct quant_params {
    int64_t axis, block; /* block 0: not blocked */
    sdx_dtype out;       /* UNDEFINED: not given */
    sdx_dtype precision; /* of the division; UNDEFINED: not given */
    sdx_cast_rules rules;
} quant_params;

static sdx_status quant_prepare(sdx_prep *prep) {
    const bool *quantizes = prep->def->aux;
    quant_params *params = prep->params;
    params->axis = 1;
    params->rules.saturate = true;
    if (prep->version >= 13) SDX_TRY(sdx_attr_get_int(prep, "axis", 1, &params->axis));
    if (prep->version >= 19 && *quantizes)
        SDX_TRY(sdx_attr_get_bool(prep, "saturate", true, &params->rules.saturate));
    if (prep->version >= 21) SDX_TRY(sdx_attr_get_int(prep, "block_size", 0, &params->block));
    if (prep->version >= (*quantizes ? 21 : 23))
        SDX_TRY(sdx_attr_get_dtype(prep, "output_dtype", SDX_DTYPE_UNDEFINED, &params->out));
    if (prep->version >= 23 && *quantizes)
        SDX_TRY(sdx_attr_get_dtype(prep, "precision", SDX_DTYPE_UNDEFINED, &params->precision));
    if (params->block < 0)
        return sdx_prep_fail(prep, "block_size is %lld; expected 0 or more",
                             (long long)params->block);
    const sdx_dtypes allowed = *quantizes ? QUANTIZED : SDX_T(FLOAT32) | HALVES;
    if (params->out != SDX_DTYPE_UNDEFINED && !sdx_dtypes_has(allowed, params->out))
        return sdx_prep_fail(prep, "output_dtype %s is not one of this operator's types",
                             sdx_dtype_name(params->out));
    if (params->precision != SDX_DTYPE_UNDEFINED &&
        !sdx_dtypes_has(SDX_T(FLOAT32) | HALVES, params->precision))
        return sdx_prep_fail(prep, "precision %s; expected float32, float16 or bfloat16",
                             sdx_dtype_name(params->precision));
    return SDX_STATUS_OK;
}

/* ---- shapes --------------------------------------------------------------------------------- */

/* The axis within the rank of x. A vector has only one, whatever the default says. */
static sdx_status find_axis(sdx_infer *inf, int32_t rank, int32_t *axis) {
    const quant_params *params = inf->params;
    return sdx_infer_axis(inf, rank == 1 ? 0 : params->axis, rank, axis);
}

/* Input i (scale or zero point) against x: one element, a vector along the axis, or blocks. */
static sdx_status check_grid(sdx_infer *inf, uint32_t i) {
    const quant_params *params = inf->params;
    const int32_t x_rank = sdx_infer_rank(inf, 0), rank = sdx_infer_rank(inf, i);
    int32_t axis;
    bool single = true;
    if (rank < 0) return SDX_STATUS_OK;
    for (int32_t d = 0; d < rank; d++) single &= sdx_expr_is(sdx_infer_dim(inf, i, d), 1);
    if (single) return SDX_STATUS_OK;
    if (params->block == 0 && rank != 1)
        return sdx_infer_fail(inf, "input %u has rank %d; expected a scalar or a vector", i,
                              (int)rank);
    if (x_rank < 0) return SDX_STATUS_OK;
    if (params->block == 0) {
        const char *what = "length of the scale and of the quantized axis";
        const sdx_expr length = sdx_infer_dim(inf, i, 0);
        if (x_rank == 0) return sdx_infer_require_equal(inf, length, sdx_expr_const(1), what);
        SDX_TRY(find_axis(inf, x_rank, &axis));
        const sdx_expr whole = sdx_infer_dim(inf, 0, axis);
        /* A length that is not known yet may turn out to be the single element. */
        return sdx_expr_is_const(length) ? sdx_infer_require_equal(inf, length, whole, what)
                                         : sdx_infer_require_broadcast(inf, length, whole);
    }
    SDX_TRY(find_axis(inf, x_rank, &axis));
    SDX_TRY(sdx_infer_require_rank(inf, i, x_rank));
    for (int32_t d = 0; d < rank; d++) {
        sdx_expr expected = sdx_infer_dim(inf, 0, d);
        if (d == axis)
            expected = sdx_expr_ceildiv(inf->pool, expected, sdx_expr_const(params->block));
        SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, i, d), expected,
                                        "a dim of a blocked scale"));
    }
    return SDX_STATUS_OK;
}

static sdx_status check_grids(sdx_infer *inf) {
    SDX_TRY(check_grid(inf, 1));
    if (!sdx_infer_present(inf, 2)) return SDX_STATUS_OK;
    SDX_TRY(check_grid(inf, 2));
    /* The two walk together, so they need the same number of elements. */
    return sdx_infer_require_equal(inf, sdx_infer_product(inf, 1, 0, sdx_infer_rank(inf, 1)),
                                   sdx_infer_product(inf, 2, 0, sdx_infer_rank(inf, 2)),
                                   "number of scales and of zero points");
}

/* ---- the grid ------------------------------------------------------------------------------- */

typedef struct quant_job {
    const quant_params *params;
    const sdx_tensor *x, *scale, *zero; /* zero may be NULL */
    sdx_tensor *out;
    sdx_dtype precision; /* that quotients are rounded to */
    /* Elements are [outer][axis][inner]; `block` indices of the axis share their scales. The
     * scale's index moves by these along outer, blocks, inner. */
    size_t outer, axis, block, inner, blocks;
    size_t per_outer, per_block, per_inner;
    void (*run)(const struct quant_job *job, size_t at, size_t n, size_t scale, bool step);
} quant_job;

#define WHOLE_BLOCK 4096 /* elements of a piece where one scale serves all */

static void plan(quant_job *job) {
    const sdx_tensor *x = job->x;
    job->outer = job->inner = 1;
    if (job->scale->count == 1) {
        job->axis = x->count;
        job->block = WHOLE_BLOCK;
    } else {
        const int64_t given = x->rank == 1 ? 0 : job->params->axis;
        const int32_t axis = (int32_t)(given < 0 ? given + x->rank : given);
        job->outer = sdx_dims_product(x->dims, 0, axis);
        job->axis = (size_t)x->dims[axis];
        job->inner = sdx_dims_product(x->dims, axis + 1, x->rank);
        job->block = job->params->block != 0 ? (size_t)job->params->block : 1;
        job->blocks = (job->axis - 1) / job->block + 1;
        if (job->params->block != 0) {
            job->per_outer = job->blocks * job->inner;
            job->per_block = job->inner;
            job->per_inner = job->inner > 1;
        } else if (job->inner > 1) {
            job->per_block = 1;
        } else { /* the last axis: one run along it, scale by scale */
            job->inner = job->axis;
            job->axis = 1;
            job->per_inner = 1;
        }
    }
    job->blocks = (job->axis - 1) / job->block + 1;
}

static void run_blocks(void *arg, size_t begin, size_t end) {
    const quant_job *job = arg;
    for (size_t unit = begin; unit < end; unit++) {
        const size_t o = unit / job->blocks, b = unit % job->blocks, first = b * job->block;
        const size_t left = job->axis - first, rows = left < job->block ? left : job->block;
        const size_t at = (o * job->axis + first) * job->inner;
        const size_t scale = o * job->per_outer + b * job->per_block;
        if (job->per_inner == 0) {
            job->run(job, at, rows * job->inner, scale, false);
        } else {
            for (size_t r = 0; r < rows; r++)
                job->run(job, at + r * job->inner, job->inner, scale, true);
        }
    }
}

static void run_job(sdx_call *call, quant_job *job) {
    plan(job);
    const size_t unit = (job->block < job->axis ? job->block : job->axis) * job->inner;
    const size_t grain = SDX_EW_GRAIN / 2 / unit;
    sdx_call_parallel(call, job->outer * job->blocks, grain != 0 ? grain : 1, run_blocks, job);
}

/* n elements of tensor from index `at` on as float32: where they lie, or converted to buffer. */
static const float *as_floats(const sdx_tensor *tensor, size_t at, size_t n, float *buffer) {
    if (tensor->dtype == SDX_DTYPE_FLOAT32) return (const float *)tensor->data + at;
    const size_t size = sdx_dtype_size(tensor->dtype);
    sdx_convert(tensor->dtype, SDX_DTYPE_FLOAT32, (const uint8_t *)tensor->data + at * size, buffer,
                n);
    return buffer;
}

static uint8_t *element(const sdx_tensor *tensor, size_t at) {
    return (uint8_t *)tensor->data + at * sdx_dtype_size(tensor->dtype);
}

/* ---- QuantizeLinear ------------------------------------------------------------------------- */

static void bounds(sdx_dtype dtype, float *least, float *most) {
    const bool is_signed = sdx_dtypes_has(SDX_T_SIGNED | SDX_T(INT4) | SDX_T(INT2), dtype);
    const unsigned values = 1u << sdx_dtype_file_bits(dtype); /* at most 16 bits */
    const unsigned below = values / 2;
    *least = is_signed ? -(float)below : 0;
    *most = *least + (float)(values - 1);
}

/* Rounds to a half format and back. */
static const float *rounded(sdx_dtype precision, const float *in, float *out, size_t n) {
    uint16_t half[SDX_EW_BLOCK];
    if (!sdx_dtypes_has(HALVES, precision)) return in;
    sdx_from_f32(precision, in, half, n);
    sdx_to_f32(precision, half, out, n);
    return out;
}

static void divide(const float *x, const float *scale, bool step, float *out, size_t n) {
    if (step) {
        for (size_t i = 0; i < n; i++) out[i] = x[i] / scale[i];
    } else {
        const float s = *scale;
        for (size_t i = 0; i < n; i++) out[i] = x[i] / s;
    }
}

/* Adding and taking away 1.5 * 2^23 rounds to whole numbers, halves to even, for all that is
 * smaller than 2^22; what lies further out than the margin saturates anyway. NaN becomes the least
 * value. (The margin rests on a variable, since the compiler would branch for constant limits.) */
static int32_t quantize_one(float quotient, float zero, float least, float most) {
    const float margin = 0x1p18f, shift = 0x1.8p23f;
    const float low = least - margin, high = most + margin;
    const float floored = quotient > low ? quotient : low;
    const float q = floored < high ? floored : high;
    const float v = (q + shift) - shift + zero;
    const float raised = v < least ? least : v;
    return (int32_t)(raised > most ? most : raised);
}

static void quantize_integers(const float *quotient, const float *zero, bool step,
                              sdx_dtype dtype, void *out, size_t n) {
    int32_t whole[SDX_EW_BLOCK];
    float least, most;
    bounds(dtype, &least, &most);
    for (size_t i = 0; i < n; i++)
        whole[i] = quantize_one(quotient[i], zero[step ? i : 0], least, most);
    sdx_convert(SDX_DTYPE_INT32, dtype, whole, out, n);
}

static void quantize_floats(const quant_job *job, const float *quotient, const float *zero,
                            bool step, void *out, size_t n) {
    float sum[SDX_EW_BLOCK];
    for (size_t i = 0; i < n; i++) sum[i] = quotient[i] + zero[step ? i : 0];
    sdx_convert_by(&job->params->rules, SDX_DTYPE_FLOAT32, job->out->dtype, sum, out, n);
}

static void quantize_run(const quant_job *job, size_t at, size_t n, size_t scale_at, bool step) {
    float x[SDX_EW_BLOCK], scale[SDX_EW_BLOCK], zero[SDX_EW_BLOCK], quotient[SDX_EW_BLOCK];
    const bool whole = sdx_dtypes_has(SDX_T_INTS | SDX_T(INT4) | SDX_T(UINT4) | SDX_T(INT2) |
                                          SDX_T(UINT2),
                                      job->out->dtype);
    memset(zero, 0, sizeof zero);
    for (size_t done = 0; done < n; done += SDX_EW_BLOCK) {
        const size_t m = n - done < SDX_EW_BLOCK ? n - done : SDX_EW_BLOCK;
        const size_t s = scale_at + (step ? done : 0), ns = step ? m : 1;
        const float *px = as_floats(job->x, at + done, m, x);
        const float *ps = as_floats(job->scale, s, ns, scale);
        const float *pz = job->zero ? as_floats(job->zero, s, ns, zero) : zero;
        if (job->x->dtype != job->precision) px = rounded(job->precision, px, x, m);
        if (job->scale->dtype != job->precision) ps = rounded(job->precision, ps, scale, ns);
        divide(px, ps, step, quotient, m);
        const float *pq = rounded(job->precision, quotient, quotient, m);
        void *out = element(job->out, at + done);
        if (whole) {
            quantize_integers(pq, pz, step, job->out->dtype, out, m);
        } else {
            quantize_floats(job, pq, pz, step, out, m);
        }
    }
}

static sdx_status quantize_infer(sdx_infer *inf) {
    const quant_params *params = inf->params;
    const sdx_dtype zero = sdx_infer_dtype(inf, 2);
    SDX_TRY(check_grids(inf));
    sdx_dtype out = params->out;
    if (sdx_infer_present(inf, 2)) {
        if (out != SDX_DTYPE_UNDEFINED && zero != SDX_DTYPE_UNDEFINED && out != zero)
            return sdx_infer_fail(inf, "output_dtype is %s but the zero point is %s",
                                  sdx_dtype_name(out), sdx_dtype_name(zero));
        if (out == SDX_DTYPE_UNDEFINED) out = zero;
    } else if (out == SDX_DTYPE_UNDEFINED) {
        out = SDX_DTYPE_UINT8;
    }
    SDX_TRY(sdx_infer_copy(inf, 0, 0, false));
    sdx_infer_set_dtype(inf, 0, out);
    return SDX_STATUS_OK;
}

static sdx_status quantize(sdx_call *call) {
    const quant_params *params = call->params;
    quant_job job = {.params = params,
                     .x = sdx_in(call, 0),
                     .scale = sdx_in(call, 1),
                     .zero = sdx_in(call, 2),
                     .out = sdx_out(call, 0),
                     .run = quantize_run};
    if (!job.out || job.out->count == 0) return SDX_STATUS_OK;
    /* The scale's type is the division's; integers and powers of two divide in float32. */
    job.precision = params->precision != SDX_DTYPE_UNDEFINED ? params->precision
                    : sdx_dtypes_has(HALVES, job.scale->dtype) ? job.scale->dtype
                                                               : SDX_DTYPE_FLOAT32;
    run_job(call, &job);
    return SDX_STATUS_OK;
}

/* ---- DequantizeLinear ----------------------------------------------------------------------- */

/* x - zero as float32, rounded once; the types below 32 bits fit a float as they are. */
static void subtract_zero(const quant_job *job, size_t at, size_t n, size_t zero_at, bool step,
                          float *out) {
    if (job->x->dtype == SDX_DTYPE_INT32) {
        const int32_t *x = (const int32_t *)job->x->data + at;
        const int32_t *zero = job->zero ? (const int32_t *)job->zero->data + zero_at : NULL;
        for (size_t i = 0; i < n; i++)
            out[i] = (float)((int64_t)x[i] - (zero ? zero[step ? i : 0] : 0));
        return;
    }
    float buffer[SDX_EW_BLOCK];
    sdx_convert(job->x->dtype, SDX_DTYPE_FLOAT32, element(job->x, at), out, n);
    if (!job->zero) return;
    const float *zero = as_floats(job->zero, zero_at, step ? n : 1, buffer);
    for (size_t i = 0; i < n; i++) out[i] -= zero[step ? i : 0];
}

static void dequantize_run(const quant_job *job, size_t at, size_t n, size_t scale_at, bool step) {
    float x[SDX_EW_BLOCK], scale[SDX_EW_BLOCK];
    for (size_t done = 0; done < n; done += SDX_EW_BLOCK) {
        const size_t m = n - done < SDX_EW_BLOCK ? n - done : SDX_EW_BLOCK;
        const size_t s = scale_at + (step ? done : 0);
        const float *ps = as_floats(job->scale, s, step ? m : 1, scale);
        subtract_zero(job, at + done, m, s, step, x);
        if (step) {
            for (size_t i = 0; i < m; i++) x[i] *= ps[i];
        } else {
            const float factor = *ps;
            for (size_t i = 0; i < m; i++) x[i] *= factor;
        }
        sdx_convert(SDX_DTYPE_FLOAT32, job->out->dtype, x, element(job->out, at + done), m);
    }
}

static sdx_status dequantize_infer(sdx_infer *inf) {
    const quant_params *params = inf->params;
    const sdx_dtype x = sdx_infer_dtype(inf, 0), zero = sdx_infer_dtype(inf, 2);
    sdx_dtype out = params->out != SDX_DTYPE_UNDEFINED ? params->out : sdx_infer_dtype(inf, 1);
    SDX_TRY(check_grids(inf));
    if (x != SDX_DTYPE_UNDEFINED && zero != SDX_DTYPE_UNDEFINED && x != zero)
        return sdx_infer_fail(inf, "x is %s but its zero point is %s", sdx_dtype_name(x),
                              sdx_dtype_name(zero));
    if (out == SDX_DTYPE_FLOAT8E8M0)
        return sdx_infer_fail(inf, "a scale of type float8e8m0 needs output_dtype");
    SDX_TRY(sdx_infer_copy(inf, 0, 0, false));
    sdx_infer_set_dtype(inf, 0, out);
    return SDX_STATUS_OK;
}

static sdx_status dequantize(sdx_call *call) {
    quant_job job = {.params = call->params,
                     .x = sdx_in(call, 0),
                     .scale = sdx_in(call, 1),
                     .zero = sdx_in(call, 2),
                     .out = sdx_out(call, 0),
                     .run = dequantize_run};
    if (!job.out || job.out->count == 0) return SDX_STATUS_OK;
    run_job(call, &job);
    return SDX_STATUS_OK;
}

static const bool yes = true, no = false;

const sdx_op_def sdx_op_quantize_linear = {
    .min_in = 2,
    .max_in = 3,
    .min_out = 1,
    .max_out = 1,
    .in_types = {SDX_T(FLOAT32) | HALVES | SDX_T(INT32),
                 SDX_T(FLOAT32) | HALVES | SDX_T(INT32) | SDX_T(FLOAT8E8M0), QUANTIZED},
    .params_size = sizeof(quant_params),
    .prepare = quant_prepare,
    .infer = quantize_infer,
    .run = SDX_BODY(sdx_op_quantize_linear, quantize),
    .aux = &yes};

const sdx_op_def sdx_op_dequantize_linear = {
    .min_in = 2,
    .max_in = 3,
    .min_out = 1,
    .max_out = 1,
    .in_types = {QUANTIZED | SDX_T(INT32), SDX_T(FLOAT32) | HALVES | SDX_T(FLOAT8E8M0),
                 QUANTIZED | SDX_T(INT32)},
    .params_size = sizeof(quant_params),
    .prepare = quant_prepare,
    .infer = dequantize_infer,
    .run = SDX_BODY(sdx_op_dequantize_linear, dequantize),
    .aux = &no};

/* ---- DynamicQuantizeLinear ------------------------------------------------------------------ */

static sdx_status dynamic_infer(sdx_infer *inf) {
    SDX_TRY(sdx_ew_infer_like(inf, SDX_DTYPE_UINT8));
    sdx_infer_set_dtype(inf, 1, SDX_DTYPE_FLOAT32);
    sdx_infer_set_dtype(inf, 2, SDX_DTYPE_UINT8);
    SDX_TRY(sdx_infer_set_shape(inf, 1, 0, NULL));
    return sdx_infer_set_shape(inf, 2, 0, NULL);
}

static sdx_status dynamic_run(sdx_call *call) {
    static const quant_params per_tensor = {.rules = {.saturate = true}};
    const sdx_tensor *x = sdx_in(call, 0);
    sdx_tensor *y = sdx_out(call, 0), *scale_out = sdx_out(call, 1), *zero_out = sdx_out(call, 2);
    const float *data = x->data;
    float least = 0, most = 0; /* the range always holds 0 */
    for (size_t i = 0; i < x->count; i++) {
        least = data[i] < least ? data[i] : least;
        most = data[i] > most ? data[i] : most;
    }
    float scale = most == least ? 1 : (most - least) / 255;
    uint8_t zero = (uint8_t)quantize_one(-least / scale, 0, 0, 255);
    if (scale_out) *(float *)scale_out->data = scale;
    if (zero_out) *(uint8_t *)zero_out->data = zero;
    if (!y || x->count == 0) return SDX_STATUS_OK;
    const sdx_tensor scales = {.dtype = SDX_DTYPE_FLOAT32, .count = 1, .data = &scale};
    const sdx_tensor zeros = {.dtype = SDX_DTYPE_UINT8, .count = 1, .data = &zero};
    quant_job job = {.params = &per_tensor,
                     .x = x,
                     .scale = &scales,
                     .zero = &zeros,
                     .out = y,
                     .precision = SDX_DTYPE_FLOAT32,
                     .run = quantize_run};
    run_job(call, &job);
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_dynamic_quantize_linear = {.min_in = 1,
                                                   .max_in = 1,
                                                   .min_out = 1,
                                                   .max_out = 3,
                                                   .in_types = {SDX_T(FLOAT32)},
                                                   .infer = dynamic_infer,
                                                   .run = SDX_BODY(
                                                       sdx_op_dynamic_quantize_linear, dynamic_run)};
