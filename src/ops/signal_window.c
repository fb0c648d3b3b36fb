/* signal_window.c - HannWindow, HammingWindow, BlackmanWindow (a sum of cosines each) and
 * MelWeightMatrix: tensors made from a few scalars. */
#include <math.h>

#include "ops/signal.h"

#define PI 3.14159265358979323846

/* ---- windows --------------------------------------------------------------------------------- */

/* w(n) = terms[0] - terms[1] cos(2 pi n / N) + terms[2] cos(4 pi n / N) */
typedef struct window_kind {
    double terms[3];
} window_kind;

typedef struct window_params {
    sdx_dtype dtype;
    bool periodic;
} window_params;

static sdx_status window_prepare(sdx_prep *prep) {
    window_params *params = prep->params;
    SDX_TRY(sdx_attr_get_dtype(prep, "output_datatype", SDX_DTYPE_FLOAT32, &params->dtype));
    SDX_TRY(sdx_attr_get_bool(prep, "periodic", true, &params->periodic));
    if (!sdx_dtypes_has(SDX_T_NUMERIC, params->dtype))
        return sdx_prep_fail(prep, "output_datatype is %s, expected a numeric type",
                             sdx_dtype_name(params->dtype));
    return SDX_STATUS_OK;
}

/* The one element of input i as a dim; unknown if it is not known yet. */
static sdx_status size_from(sdx_infer *inf, uint32_t i, const char *what, sdx_expr *out) {
    sdx_expr contents[1];
    size_t count;
    *out = SDX_EXPR_UNKNOWN;
    if (sdx_infer_rank(inf, i) >= 0) {
        sdx_expr elements = sdx_infer_product(inf, i, 0, sdx_infer_rank(inf, i));
        SDX_TRY(sdx_infer_require_equal(inf, elements, sdx_expr_const(1), what));
    }
    if (!sdx_infer_contents(inf, i, contents, 1, &count) || count != 1) return SDX_STATUS_OK;
    if (sdx_expr_is_const(contents[0]) && sdx_expr_value(contents[0]) < 0)
        return sdx_infer_fail(inf, "%s is %lld, expected at least 0", what,
                              (long long)sdx_expr_value(contents[0]));
    *out = contents[0];
    return SDX_STATUS_OK;
}

static sdx_status window_infer(sdx_infer *inf) {
    const window_params *params = inf->params;
    sdx_expr size;
    sdx_infer_set_dtype(inf, 0, params->dtype);
    SDX_TRY(size_from(inf, 0, "size", &size));
    return sdx_infer_set_shape(inf, 0, 1, &size);
}

static sdx_status window_run(sdx_call *call) {
    const window_params *params = call->params;
    const double *terms = ((const window_kind *)call->def->aux)->terms;
    sdx_tensor *out = sdx_out(call, 0);
    double period = (double)out->count - (params->periodic ? 0 : 1);
    for (size_t n = 0; n < out->count; n++) {
        /* A symmetric window of one point has no period: its point is the peak. */
        double angle = period > 0 ? 2 * PI * (double)n / period : PI;
        /* In this order the peak is 1 and not a rounding below it, which integers would cut to 0. */
        const double waves = terms[2] * cos(2 * angle) - terms[1] * cos(angle);
        sdx_signal_store(out, n, waves + terms[0]);
    }
    return SDX_STATUS_OK;
}

#define WINDOW_DEF(name, ...)                                                                     \
    static const window_kind name##_kind = {{__VA_ARGS__}};                                       \
    const sdx_op_def sdx_op_##name = {                                                            \
        .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,                                     \
        .in_types = {SDX_T_INDEX},                                                                \
        .params_size = sizeof(window_params),                                                     \
        .prepare = window_prepare,                                                                \
        .infer = window_infer,                                                                    \
        .run = SDX_BODY(sdx_op_##name, window_run),                                               \
        .aux = &name##_kind,                                                                      \
    }
WINDOW_DEF(hann_window, 0.5, 0.5, 0);
WINDOW_DEF(hamming_window, 25.0 / 46.0, 21.0 / 46.0, 0);
WINDOW_DEF(blackman_window, 0.42, 0.5, 0.08);

/* ---- MelWeightMatrix ------------------------------------------------------------------------- */

enum { IN_BINS, IN_LENGTH, IN_RATE, IN_LOWER, IN_UPPER };

typedef struct mel_params {
    sdx_dtype dtype;
} mel_params;

static sdx_status mel_prepare(sdx_prep *prep) {
    mel_params *params = prep->params;
    SDX_TRY(sdx_attr_get_dtype(prep, "output_datatype", SDX_DTYPE_FLOAT32, &params->dtype));
    if (!sdx_dtypes_has(SDX_T_NUMERIC, params->dtype))
        return sdx_prep_fail(prep, "output_datatype is %s, expected a numeric type",
                             sdx_dtype_name(params->dtype));
    return SDX_STATUS_OK;
}

static sdx_status mel_infer(sdx_infer *inf) {
    const mel_params *params = inf->params;
    sdx_expr bins, length, rate;
    sdx_infer_set_dtype(inf, 0, params->dtype);
    SDX_TRY(size_from(inf, IN_BINS, "num_mel_bins", &bins));
    SDX_TRY(size_from(inf, IN_LENGTH, "dft_length", &length));
    SDX_TRY(size_from(inf, IN_RATE, "sample_rate", &rate));
    for (uint32_t i = IN_LOWER; i <= IN_UPPER; i++) {
        int32_t rank = sdx_infer_rank(inf, i);
        if (rank < 0) continue;
        SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_product(inf, i, 0, rank), sdx_expr_const(1),
                                        "number of elements of an edge"));
    }
    sdx_expr half = sdx_expr_floordiv(inf->pool, length, sdx_expr_const(2));
    sdx_expr dims[2] = {sdx_inf_add(inf, half, sdx_expr_const(1)), bins};
    return sdx_infer_set_shape(inf, 0, 2, dims);
}

/* A float32 edge is brought to the mel scale in float32, as the definition by operators has it. */
static double to_mel(const sdx_tensor *edge) {
    double hertz = sdx_tensor_double(edge, 0);
    double log1 = edge->dtype == SDX_DTYPE_FLOAT64 ? log1p(hertz / 700)
                                                   : (double)log1pf((float)hertz / 700);
    return 2595 * log1 / log(10);
}

typedef struct mel_scale {
    double low, step, per_hertz; /* step in mel; spectrogram bins per hertz times rate */
    double rate;
} mel_scale;

/* Spectrogram bin at which the i-th corner of the triangles lies. */
static double corner(const mel_scale *scale, size_t i) {
    double hertz = 700 * expm1(((double)i * scale->step + scale->low) / 2595 * log(10));
    return floor(scale->per_hertz * hertz / scale->rate);
}

static void mel_triangle(sdx_tensor *out, size_t column, size_t low, size_t center, size_t high) {
    size_t bins = (size_t)out->dims[1];
    if (low >= center) sdx_signal_store(out, center * bins + column, 1);
    for (size_t j = low; low < center && j <= center; j++)
        sdx_signal_store(out, j * bins + column, (double)(j - low) / (double)(center - low));
    for (size_t j = center; j < high; j++)
        sdx_signal_store(out, j * bins + column, (double)(high - j) / (double)(high - center));
}

static sdx_status mel_run(sdx_call *call) {
    sdx_tensor *out = sdx_out(call, 0);
    int64_t length = sdx_tensor_int(sdx_in(call, IN_LENGTH), 0);
    int64_t rate = sdx_tensor_int(sdx_in(call, IN_RATE), 0);
    if (rate < 1) return sdx_call_fail(call, "sample_rate is %lld", (long long)rate);
    for (size_t i = 0; i < out->count; i++) sdx_signal_store(out, i, 0);
    size_t bins = (size_t)out->dims[1];
    mel_scale scale = {.low = to_mel(sdx_in(call, IN_LOWER)), .rate = (double)rate};
    scale.step = (to_mel(sdx_in(call, IN_UPPER)) - scale.low) / (double)(bins + 2);
    scale.per_hertz = (double)length + 1;
    for (size_t i = 0; i < bins; i++) {
        size_t corners[3];
        for (size_t c = 0; c < 3; c++) {
            /* The right corner itself is not written, so it may lie one behind the end. */
            double at = corner(&scale, i + c), limit = (double)out->dims[0] - (c < 2 ? 1 : 0);
            if (!(at >= 0 && at <= limit))
                return sdx_call_fail(call, "mel bin %zu lies at spectrogram bin %g of %lld", i, at,
                                     (long long)out->dims[0]);
            corners[c] = (size_t)at;
        }
        mel_triangle(out, i, corners[0], corners[1], corners[2]);
    }
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_mel_weight_matrix = {
    .min_in = 5, .max_in = 5, .min_out = 1, .max_out = 1,
    .in_types = {SDX_T_INDEX, SDX_T_INDEX, SDX_T_INDEX, SDX_T_FLOATS, SDX_T_FLOATS},
    .params_size = sizeof(mel_params),
    .prepare = mel_prepare,
    .infer = mel_infer,
    .run = SDX_BODY(sdx_op_mel_weight_matrix, mel_run),
};
