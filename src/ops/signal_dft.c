/* signal_dft.c - DFT (17: axis is an attribute; 20: an input) and STFT. Lines along the axis, or
 * frames of the signal, are loaded as complex numbers, transformed and stored one by one. */
#include "ops/signal.h"

typedef struct dft_params {
    int64_t axis;
    bool inverse, onesided, axis_input;
} dft_params;

static sdx_status dft_prepare(sdx_prep *prep) {
    dft_params *params = prep->params;
    SDX_TRY(sdx_attr_get_bool(prep, "inverse", false, &params->inverse));
    SDX_TRY(sdx_attr_get_bool(prep, "onesided", false, &params->onesided));
    params->axis_input = prep->version >= 20;
    params->axis = -2;
    if (params->axis_input) return SDX_STATUS_OK;
    if (prep->node->input_count > 2)
        return sdx_prep_fail(prep, "axis is an attribute before version 20, found an input");
    return sdx_attr_get_int(prep, "axis", 1, &params->axis);
}

/* The single integer of an optional input: true when it is absent (then *out stays) or known. */
static bool known_scalar(const sdx_infer *inf, uint32_t i, sdx_expr *out) {
    sdx_expr contents[1];
    size_t count;
    if (!sdx_infer_present(inf, i)) return true;
    if (!sdx_infer_contents(inf, i, contents, 1, &count) || count != 1) return false;
    *out = contents[0];
    return true;
}

static sdx_status require_scalar(sdx_infer *inf, uint32_t i) {
    int32_t rank = sdx_infer_rank(inf, i);
    if (rank < 0) return SDX_STATUS_OK;
    return sdx_infer_require_equal(inf, sdx_infer_product(inf, i, 0, rank), sdx_expr_const(1),
                                   "number of elements of a scalar input");
}

/* A line that is real on one side has a symmetric transform, and what vanishes by symmetry shall
 * vanish: that takes double. Complex lines are computed in the precision that they have. */
static bool in_double(sdx_dtype dtype, size_t parts) {
    return dtype == SDX_DTYPE_FLOAT64 || parts == 1;
}

static sdx_expr one_side(sdx_infer *inf, sdx_expr length) {
    sdx_expr half = sdx_expr_floordiv(inf->pool, length, sdx_expr_const(2));
    return sdx_inf_add(inf, half, sdx_expr_const(1));
}

/* Length of the transform: as told, or by the axis. */
static sdx_status dft_length(sdx_infer *inf, sdx_expr line, sdx_expr *out) {
    const dft_params *params = inf->params;
    *out = line;
    if (params->inverse && params->onesided) {
        *out = sdx_inf_sub(inf, line, sdx_expr_const(1));
        *out = sdx_inf_mul(inf, *out, sdx_expr_const(2));
    }
    if (!known_scalar(inf, 1, out)) *out = SDX_EXPR_UNKNOWN;
    if (sdx_expr_is_const(*out) && sdx_expr_value(*out) < 1)
        return sdx_infer_fail(inf, "the transform has length %lld, expected at least 1",
                              (long long)sdx_expr_value(*out));
    return SDX_STATUS_OK;
}

static sdx_status dft_infer(sdx_infer *inf) {
    const dft_params *params = inf->params;
    sdx_infer_set_dtype(inf, 0, sdx_infer_dtype(inf, 0));
    inf->scratch = SDX_EXPR_UNKNOWN;
    SDX_TRY(require_scalar(inf, 1));
    SDX_TRY(require_scalar(inf, 2));
    int32_t rank = sdx_infer_rank(inf, 0), axis;
    if (rank < 0) return sdx_infer_set_shape(inf, 0, -1, NULL);
    SDX_TRY(sdx_infer_require_min_rank(inf, 0, 2));
    sdx_expr dims[SDX_MAX_RANK], last = sdx_infer_dim(inf, 0, rank - 1);
    if (sdx_expr_is_const(last) && sdx_expr_value(last) != 1 && sdx_expr_value(last) != 2)
        return sdx_infer_fail(inf, "the last dim is %lld, expected 1 (real) or 2 (complex)",
                              (long long)sdx_expr_value(last));
    bool to_real = params->inverse && params->onesided;
    sdx_expr axis_value = sdx_expr_const(params->axis), length;
    bool axis_known = !params->axis_input || known_scalar(inf, 2, &axis_value);
    for (int32_t d = 0; d < rank; d++) dims[d] = SDX_EXPR_UNKNOWN;
    dims[rank - 1] = sdx_expr_const(to_real ? 1 : 2);
    if (!axis_known || !sdx_expr_is_const(axis_value))
        return sdx_infer_set_shape(inf, 0, rank, dims);
    SDX_TRY(sdx_infer_axis(inf, sdx_expr_value(axis_value), rank, &axis));
    if (axis == rank - 1)
        return sdx_infer_fail(inf, "axis %d holds real and imaginary parts", axis);
    SDX_TRY(dft_length(inf, sdx_infer_dim(inf, 0, axis), &length));
    for (int32_t d = 0; d + 1 < rank; d++) dims[d] = sdx_infer_dim(inf, 0, d);
    dims[axis] = params->onesided && !params->inverse ? one_side(inf, length) : length;
    inf->scratch = sdx_infer_fft_scratch(inf, length);
    return sdx_infer_set_shape(inf, 0, rank, dims);
}

/* ---- run ------------------------------------------------------------------------------------- */

typedef struct dft_job {
    sdx_fft_plan fft;
    const sdx_tensor *in;
    sdx_tensor *out;
    size_t lines, inner;          /* lines, and those that lie side by side */
    size_t in_line, out_line;     /* elements along the axis */
    size_t in_parts, out_parts;   /* 1: real, 2: complex */
    bool inverse, onesided;
    char *lines_memory; /* a line per slot */
} dft_job;

static void load_line(const dft_job *job, size_t at, void *line) {
    const sdx_fft_plan *fft = &job->fft;
    size_t step = job->inner * job->in_parts, n = fft->length;
    size_t used = job->in_line < n ? job->in_line : n;
    bool mirror = job->inverse && job->onesided;
    for (size_t k = 0; k < n; k++) {
        double re = 0, im = 0;
        if (k < used) re = sdx_signal_load(job->in, at + k * step);
        if (k < used && job->in_parts == 2) im = sdx_signal_load(job->in, at + k * step + 1);
        /* The other half is the mirror image; what has no partner must be real. */
        if (mirror && 2 * k > n) {
            sdx_fft_get(fft, line, n - k, &re, &im);
            im = -im;
        } else if (mirror && (k == 0 || 2 * k == n)) {
            im = 0;
        }
        sdx_fft_set(fft, line, k, re, im);
    }
}

static void dft_slots(void *arg, size_t begin, size_t end) {
    const dft_job *job = arg;
    for (size_t slot = begin; slot < end; slot++) {
        void *line = job->lines_memory + slot * sdx_fft_line_bytes(&job->fft);
        for (size_t l = slot; l < job->lines && !sdx_watch_work(8 * job->fft.length);
             l += SDX_FFT_SLOTS) {
            size_t outer = l / job->inner, inner = l % job->inner;
            load_line(job, (outer * job->in_line * job->inner + inner) * job->in_parts, line);
            sdx_fft_run(&job->fft, line, job->inverse);
            size_t to = (outer * job->out_line * job->inner + inner) * job->out_parts;
            for (size_t k = 0; k < job->out_line; k++, to += job->inner * job->out_parts) {
                double re, im;
                sdx_fft_get(&job->fft, line, k, &re, &im);
                sdx_signal_store(job->out, to, re);
                if (job->out_parts == 2) sdx_signal_store(job->out, to + 1, im);
            }
        }
    }
}

static sdx_status dft_run(sdx_call *call) {
    const dft_params *params = call->params;
    const sdx_tensor *in = sdx_in(call, 0), *length_in = sdx_in(call, 1);
    const sdx_tensor *axis_in = params->axis_input ? sdx_in(call, 2) : NULL;
    sdx_tensor *out = sdx_out(call, 0);
    int64_t axis, wanted = axis_in ? sdx_tensor_int(axis_in, 0) : params->axis;
    SDX_TRY(sdx_call_index(call, wanted, in->rank, "axis", &axis));
    if (out->count == 0) return SDX_STATUS_OK;
    int64_t line = in->dims[axis], length = line;
    if (params->inverse && params->onesided) length = 2 * (line - 1);
    if (length_in) length = sdx_tensor_int(length_in, 0);
    if (length < 1 || axis == in->rank - 1)
        return sdx_call_fail(call, "a transform of length %lld along axis %lld",
                             (long long)length, (long long)axis);
    dft_job job = {.in = in, .out = out, .inverse = params->inverse, .onesided = params->onesided};
    job.in_line = (size_t)line;
    job.out_line = (size_t)out->dims[axis];
    job.in_parts = (size_t)in->dims[in->rank - 1];
    job.out_parts = (size_t)out->dims[out->rank - 1];
    if (job.in_parts != 1 && job.in_parts != 2)
        return sdx_call_fail(call, "the last dim is %zu, expected 1 (real) or 2 (complex)",
                             job.in_parts);
    job.inner = sdx_dims_product(in->dims, (int32_t)axis + 1, in->rank - 1);
    job.lines = out->count / job.out_line / job.out_parts;
    bool to_real = params->inverse && params->onesided;
    bool wide = in_double(job.out->dtype, to_real ? 1 : job.in_parts);
    sdx_fft_init(&job.fft, (size_t)length, wide, call->scratch);
    job.lines_memory = (char *)call->scratch + sdx_fft_plan_bytes(&job.fft);
    bool small = job.lines * job.fft.size < 4096;
    sdx_call_parallel(call, SDX_FFT_SLOTS, small ? SDX_FFT_SLOTS : 1, dft_slots, &job);
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_dft = {
    .min_in = 1, .max_in = 3, .min_out = 1, .max_out = 1,
    .in_types = {SDX_T_FLOATS, SDX_T_INDEX, SDX_T(INT64)},
    .params_size = sizeof(dft_params),
    .prepare = dft_prepare,
    .infer = dft_infer,
    .run = SDX_BODY(sdx_op_dft, dft_run),
};

/* ---- STFT ------------------------------------------------------------------------------------ */

enum { IN_SIGNAL, IN_STEP, IN_WINDOW, IN_LENGTH };

typedef struct stft_params {
    bool onesided;
} stft_params;

static sdx_status stft_prepare(sdx_prep *prep) {
    stft_params *params = prep->params;
    return sdx_attr_get_bool(prep, "onesided", true, &params->onesided);
}

static sdx_status stft_infer(sdx_infer *inf) {
    const stft_params *params = inf->params;
    sdx_infer_set_dtype(inf, 0, sdx_infer_dtype(inf, 0));
    inf->scratch = SDX_EXPR_UNKNOWN;
    int32_t rank = sdx_infer_rank(inf, IN_SIGNAL);
    if (rank >= 0 && rank != 2 && rank != 3)
        return sdx_infer_fail(inf, "the signal has rank %d, expected 3", rank);
    SDX_TRY(require_scalar(inf, IN_STEP));
    SDX_TRY(require_scalar(inf, IN_LENGTH));
    SDX_TRY(sdx_infer_require_rank(inf, IN_WINDOW, 1));
    sdx_expr last = sdx_infer_dim(inf, IN_SIGNAL, 2), step = SDX_EXPR_UNKNOWN;
    if (sdx_expr_is_const(last) && sdx_expr_value(last) != 1 && sdx_expr_value(last) != 2)
        return sdx_infer_fail(inf, "the last dim of the signal is %lld, expected 1 or 2",
                              (long long)sdx_expr_value(last));
    sdx_expr signal = sdx_infer_dim(inf, IN_SIGNAL, 1), length = signal;
    bool window = sdx_infer_present(inf, IN_WINDOW);
    if (window) length = sdx_infer_dim(inf, IN_WINDOW, 0);
    sdx_expr told = length;
    if (!known_scalar(inf, IN_LENGTH, &told)) told = SDX_EXPR_UNKNOWN;
    if (window) SDX_TRY(sdx_infer_require_equal(inf, length, told, "frame_length and window"));
    if (!window) length = told;
    if (!known_scalar(inf, IN_STEP, &step)) step = SDX_EXPR_UNKNOWN;
    if (sdx_expr_is_const(step) && sdx_expr_value(step) < 1)
        return sdx_infer_fail(inf, "frame_step is %lld, expected at least 1",
                              (long long)sdx_expr_value(step));
    if (sdx_expr_is_const(length) &&
        (sdx_expr_value(length) < 1 || (sdx_expr_is_const(signal) &&
                                        sdx_expr_value(length) > sdx_expr_value(signal))))
        return sdx_infer_fail(inf, "a frame of %lld samples does not fit the signal",
                              (long long)sdx_expr_value(length));
    sdx_expr frames = sdx_expr_floordiv(inf->pool, sdx_inf_sub(inf, signal, length), step);
    inf->scratch = sdx_infer_fft_scratch(inf, length);
    sdx_expr dims[4] = {sdx_infer_dim(inf, IN_SIGNAL, 0),
                        sdx_inf_add(inf, frames, sdx_expr_const(1)),
                        params->onesided ? one_side(inf, length) : length, sdx_expr_const(2)};
    return sdx_infer_set_shape(inf, 0, 4, dims);
}

typedef struct stft_job {
    sdx_fft_plan fft;
    const sdx_tensor *signal, *window;
    sdx_tensor *out;
    size_t step, frames, bins, parts, samples;
    char *lines_memory; /* a line per slot */
} stft_job;

static void stft_slots(void *arg, size_t begin, size_t end) {
    const stft_job *job = arg;
    size_t total = (size_t)job->out->dims[0] * job->frames;
    for (size_t slot = begin; slot < end; slot++) {
        void *line = job->lines_memory + slot * sdx_fft_line_bytes(&job->fft);
        for (size_t f = slot; f < total && !sdx_watch_work(8 * job->fft.length);
             f += SDX_FFT_SLOTS) {
            size_t first = f / job->frames * job->samples + f % job->frames * job->step;
            for (size_t k = 0; k < job->fft.length; k++) {
                size_t at = (first + k) * job->parts;
                double weight = job->window ? sdx_signal_load(job->window, k) : 1;
                double re = weight * sdx_signal_load(job->signal, at);
                double im = job->parts == 2 ? weight * sdx_signal_load(job->signal, at + 1) : 0;
                sdx_fft_set(&job->fft, line, k, re, im);
            }
            sdx_fft_run(&job->fft, line, false);
            for (size_t k = 0; k < job->bins; k++) {
                double re, im;
                sdx_fft_get(&job->fft, line, k, &re, &im);
                sdx_signal_store(job->out, 2 * (f * job->bins + k), re);
                sdx_signal_store(job->out, 2 * (f * job->bins + k) + 1, im);
            }
        }
    }
}

static sdx_status stft_run(sdx_call *call) {
    const sdx_tensor *signal = sdx_in(call, IN_SIGNAL), *window = sdx_in(call, IN_WINDOW);
    const sdx_tensor *length_in = sdx_in(call, IN_LENGTH);
    stft_job job = {.signal = signal, .window = window, .out = sdx_out(call, 0)};
    if (job.out->count == 0) return SDX_STATUS_OK;
    int64_t step = sdx_tensor_int(sdx_in(call, IN_STEP), 0), samples = signal->dims[1];
    int64_t length = window ? window->dims[0] : samples;
    if (length_in) length = sdx_tensor_int(length_in, 0);
    if (length < 1 || length > samples || step < 1 || (window && window->dims[0] != length))
        return sdx_call_fail(call, "frames of %lld samples, %lld apart, window of %lld, in a "
                             "signal of %lld", (long long)length, (long long)step,
                             (long long)(window ? window->dims[0] : length), (long long)samples);
    job.step = (size_t)step;
    job.samples = (size_t)samples;
    job.parts = signal->rank == 3 ? (size_t)signal->dims[2] : 1;
    if (job.parts != 1 && job.parts != 2)
        return sdx_call_fail(call, "the last dim of the signal is %zu, expected 1 or 2",
                             job.parts);
    job.frames = (size_t)job.out->dims[1];
    job.bins = (size_t)job.out->dims[2];
    bool wide = in_double(job.out->dtype, job.parts);
    sdx_fft_init(&job.fft, (size_t)length, wide, call->scratch);
    job.lines_memory = (char *)call->scratch + sdx_fft_plan_bytes(&job.fft);
    bool small = job.frames * job.fft.size < 4096;
    sdx_call_parallel(call, SDX_FFT_SLOTS, small ? SDX_FFT_SLOTS : 1, stft_slots, &job);
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_stft = {
    .min_in = 2, .max_in = 4, .min_out = 1, .max_out = 1,
    .in_types = {SDX_T_FLOATS, SDX_T_INDEX, SDX_T_FLOATS, SDX_T_INDEX},
    .params_size = sizeof(stft_params),
    .prepare = stft_prepare,
    .infer = stft_infer,
    .run = SDX_BODY(sdx_op_stft, stft_run),
};
