/* gradient_norm.c - rules of normalisations and losses. Each is written out in simpler
 * operators, and those are differentiated: one source for the derivatives with respect to all
 * inputs, and nothing is derived by hand. */
#include "passes/gradient.h"

/* Statistics are taken in float32 at least. */
static sdx_id widened(sdx_build *b, sdx_id value) {
    sdx_dtype dtype = sdx_build_dtype(b, value);
    bool half = dtype == SDX_DTYPE_FLOAT16 || dtype == SDX_DTYPE_BFLOAT16;
    return half ? sdx_build_cast(b, value, SDX_DTYPE_FLOAT32) : value;
}

static sdx_id mean_over(sdx_build *b, sdx_id value, const int64_t *axes, int32_t count) {
    return SDX_EMIT_WITH(b, "ReduceMean", SDX_ATTRS(sdx_a_int(b, "noop_with_empty_axes", 1)), value,
                         sdx_build_ints(b, axes, (size_t)count));
}

static sdx_id plus(sdx_build *b, sdx_id value, double number) {
    return SDX_EMIT(b, "Add", value, sdx_build_number(b, sdx_build_dtype(b, value), number));
}

static sdx_id times(sdx_build *b, sdx_id value, double number) {
    return SDX_EMIT(b, "Mul", value, sdx_build_number(b, sdx_build_dtype(b, value), number));
}

/* Axes [from, to). */
static int32_t range(int64_t *axes, int32_t from, int32_t to) {
    for (int32_t i = from; i < to; i++) axes[i - from] = i;
    return to > from ? to - from : 0;
}

/* The dims of a vector per channel, so that it lies along axis 1 of a tensor of this rank. */
static sdx_id per_channel(sdx_build *b, sdx_id vector, int32_t rank) {
    int64_t dims[SDX_MAX_RANK] = {-1};
    int32_t count = rank < 2 ? 1 : rank - 1;
    for (int32_t i = 1; i < count; i++) dims[i] = 1;
    return sdx_build_reshape(b, vector, dims, (size_t)count);
}

typedef struct statistics {
    sdx_id mean, variance, inverse; /* 1 / sqrt(variance + epsilon) */
    sdx_id result;                  /* (x - mean) * inverse */
} statistics;

static statistics standardize(sdx_build *b, sdx_id x, const int64_t *axes, int32_t count,
                              float epsilon) {
    statistics s;
    s.mean = mean_over(b, x, axes, count);
    sdx_id centred = SDX_EMIT(b, "Sub", x, s.mean);
    s.variance = mean_over(b, SDX_EMIT(b, "Mul", centred, centred), axes, count);
    s.inverse = SDX_EMIT(b, "Reciprocal",
                         SDX_EMIT(b, "Sqrt", plus(b, s.variance, (double)epsilon)));
    s.result = SDX_EMIT(b, "Mul", centred, s.inverse);
    return s;
}

/* value * scale + bias, where scale and bias may be left out. */
static sdx_id scaled(sdx_build *b, sdx_id value, sdx_id scale, sdx_id bias) {
    if (scale != SDX_NONE) value = SDX_EMIT(b, "Mul", value, scale);
    return bias == SDX_NONE ? value : SDX_EMIT(b, "Add", value, bias);
}

static sdx_id input(const sdx_node *node, uint32_t i) {
    return i < node->input_count ? node->inputs[i] : SDX_NONE;
}

/* ---- over axes ------------------------------------------------------------------------------- */

SDX_GRADIENT_RULE(layer_norm) {
    sdx_build *b = sdx_gradient_build(g);
    const size_t first = sdx_gradient_mark(g);
    sdx_id x = node->inputs[0];
    int64_t axes[SDX_MAX_RANK], axis = sdx_node_int(node, "axis", -1);
    if (!sdx_gradient_need_rank(g, node, x)) return;
    int32_t rank = sdx_build_rank(b, x);
    int32_t count = range(axes, (int32_t)(axis < 0 ? axis + rank : axis), rank);
    statistics s = standardize(b, widened(b, x), axes, count,
                               sdx_node_float(node, "epsilon", 1e-5f));
    sdx_id result = sdx_build_cast(b, s.result, sdx_build_dtype(b, x));
    sdx_id out[3] = {scaled(b, result, node->inputs[1], input(node, 2)), s.mean, s.inverse};
    for (uint32_t o = 1; o < 3; o++) /* of the type that statistics are kept in */
        if (sdx_gradient_of(g, node, o) != SDX_NONE)
            out[o] = sdx_build_cast(b, out[o], sdx_build_dtype(b, node->outputs[o]));
    sdx_gradient_through(g, node, first, out, 3);
}

SDX_GRADIENT_RULE(rms_norm) {
    sdx_build *b = sdx_gradient_build(g);
    const size_t first = sdx_gradient_mark(g);
    sdx_id x = node->inputs[0];
    int64_t axes[SDX_MAX_RANK], axis = sdx_node_int(node, "axis", -1);
    if (!sdx_gradient_need_rank(g, node, x)) return;
    int32_t rank = sdx_build_rank(b, x);
    int32_t count = range(axes, (int32_t)(axis < 0 ? axis + rank : axis), rank);
    sdx_id wide = widened(b, x);
    sdx_id square = mean_over(b, SDX_EMIT(b, "Mul", wide, wide), axes, count);
    square = plus(b, square, (double)sdx_node_float(node, "epsilon", 1e-5f));
    sdx_id result = SDX_EMIT(b, "Div", wide, SDX_EMIT(b, "Sqrt", square));
    result = sdx_build_cast(b, result, sdx_build_dtype(b, x));
    sdx_id y = scaled(b, result, node->inputs[1], SDX_NONE);
    sdx_gradient_through(g, node, first, &y, 1);
}

SDX_GRADIENT_RULE(mean_variance_norm) {
    sdx_build *b = sdx_gradient_build(g);
    const size_t first = sdx_gradient_mark(g);
    static const int64_t usual[] = {0, 2, 3};
    const sdx_attr *axes = sdx_node_attr(node, "axes", SDX_ATTR_INTS);
    sdx_id x = node->inputs[0], wide = widened(b, x);
    statistics s = standardize(b, wide, axes ? axes->as.ints : usual,
                               axes ? (int32_t)axes->count : 3, 0);
    sdx_id centred = SDX_EMIT(b, "Sub", wide, s.mean);
    sdx_id deviation = plus(b, SDX_EMIT(b, "Sqrt", s.variance), 1e-9);
    sdx_id y = sdx_build_cast(b, SDX_EMIT(b, "Div", centred, deviation), sdx_build_dtype(b, x));
    sdx_gradient_through(g, node, first, &y, 1);
}

SDX_GRADIENT_RULE(lp_norm) {
    sdx_build *b = sdx_gradient_build(g);
    const size_t first = sdx_gradient_mark(g);
    int64_t axis = sdx_node_int(node, "axis", -1);
    const char *op = sdx_node_int(node, "p", 2) == 1 ? "ReduceL1" : "ReduceL2";
    sdx_id norm = SDX_EMIT(b, op, node->inputs[0], sdx_build_ints(b, &axis, 1));
    sdx_id y = SDX_EMIT(b, "Div", node->inputs[0], norm);
    sdx_gradient_through(g, node, first, &y, 1);
}

/* ---- over channels --------------------------------------------------------------------------- */

SDX_GRADIENT_RULE(instance_norm) {
    sdx_build *b = sdx_gradient_build(g);
    const size_t first = sdx_gradient_mark(g);
    sdx_id x = node->inputs[0];
    int64_t axes[SDX_MAX_RANK];
    if (!sdx_gradient_need_rank(g, node, x)) return;
    int32_t rank = sdx_build_rank(b, x), count = range(axes, 2, rank);
    statistics s = standardize(b, widened(b, x), axes, count,
                               sdx_node_float(node, "epsilon", 1e-5f));
    sdx_id y = scaled(b, sdx_build_cast(b, s.result, sdx_build_dtype(b, x)),
                      per_channel(b, node->inputs[1], rank), per_channel(b, node->inputs[2], rank));
    sdx_gradient_through(g, node, first, &y, 1);
}

/* Version 18 has a scale and a bias for each group, later ones for each channel. */
SDX_GRADIENT_RULE(group_norm) {
    sdx_build *b = sdx_gradient_build(g);
    const size_t first = sdx_gradient_mark(g);
    sdx_id x = node->inputs[0];
    if (!sdx_gradient_need_rank(g, node, x)) return;
    bool per_group = node->version < 21;
    int64_t dims[3] = {0, sdx_node_int(node, "num_groups", 1), -1};
    sdx_id rows = sdx_build_reshape(b, widened(b, x), dims, 3);
    int32_t rank = per_group ? 3 : sdx_build_rank(b, x);
    statistics s = standardize(b, rows, (int64_t[]){2}, 1, sdx_node_float(node, "epsilon", 1e-5f));
    sdx_id result = sdx_build_cast(b, s.result, sdx_build_dtype(b, x));
    if (!per_group) result = sdx_build_reshape_like(b, result, x);
    result = scaled(b, result, per_channel(b, node->inputs[1], rank),
                    per_channel(b, node->inputs[2], rank));
    sdx_id y = sdx_build_reshape_like(b, result, x);
    sdx_gradient_through(g, node, first, &y, 1);
}

/* A running statistic: what it was, and a share of this batch's. */
static sdx_id running(sdx_build *b, sdx_id before, sdx_id now, float momentum) {
    sdx_id share = times(b, sdx_build_reshape_like(b, now, before), 1 - (double)momentum);
    return SDX_EMIT(b, "Add", times(b, before, (double)momentum), share);
}

SDX_GRADIENT_RULE(batch_norm) {
    enum { X, SCALE, BIAS, MEAN, VARIANCE };
    sdx_build *b = sdx_gradient_build(g);
    const size_t first = sdx_gradient_mark(g);
    const bool old = node->version < 14 && node->output_count > 1;
    sdx_id x = node->inputs[X], out[3] = {SDX_NONE, SDX_NONE, SDX_NONE}, result;
    float epsilon = sdx_node_float(node, "epsilon", 1e-5f);
    if (!sdx_gradient_need_rank(g, node, x)) return;
    if ((old && sdx_node_int(node, "is_test", 0) == 0) || sdx_node_int(node, "spatial", 1) == 0) {
        sdx_gradient_refuse(g, node, "is in a mode of before version 14: training, or spatial=0");
        return;
    }
    int32_t rank = sdx_build_rank(b, x);
    sdx_dtype dtype = sdx_build_dtype(b, x);
    if (sdx_node_int(node, "training_mode", 0)) {
        int64_t axes[SDX_MAX_RANK] = {0};
        int32_t count = 1 + range(axes + 1, 2, rank);
        statistics s = standardize(b, widened(b, x), axes, count, epsilon);
        float momentum = sdx_node_float(node, "momentum", 0.9f);
        sdx_dtype kept = sdx_build_dtype(b, node->inputs[MEAN]);
        out[1] = running(b, node->inputs[MEAN], sdx_build_cast(b, s.mean, kept), momentum);
        out[2] = running(b, node->inputs[VARIANCE], sdx_build_cast(b, s.variance, kept), momentum);
        result = sdx_build_cast(b, s.result, dtype);
    } else {
        sdx_id mean = sdx_build_cast(b, per_channel(b, node->inputs[MEAN], rank), dtype);
        sdx_id variance = per_channel(b, node->inputs[VARIANCE], rank);
        sdx_id deviation = SDX_EMIT(b, "Sqrt", plus(b, variance, (double)epsilon));
        result = SDX_EMIT(b, "Div", SDX_EMIT(b, "Sub", x, mean),
                          sdx_build_cast(b, deviation, dtype));
    }
    sdx_id scale = sdx_build_cast(b, per_channel(b, node->inputs[SCALE], rank), dtype);
    sdx_id bias = sdx_build_cast(b, per_channel(b, node->inputs[BIAS], rank), dtype);
    out[0] = scaled(b, result, scale, bias);
    sdx_gradient_through(g, node, first, out, 3);
}

/* Sums over neighbouring channels are a convolution with ones along them. */
SDX_GRADIENT_RULE(lrn) {
    sdx_build *b = sdx_gradient_build(g);
    const size_t first = sdx_gradient_mark(g);
    sdx_id x = node->inputs[0];
    sdx_dtype dtype = sdx_build_dtype(b, x);
    if (!sdx_gradient_need_rank(g, node, x)) return;
    int64_t size = sdx_node_int(node, "size", 1), below = (size - 1) / 2;
    int64_t pads[4] = {below, 0, size - 1 - below, 0}, taps[4] = {1, 1, size, 1};
    sdx_id shape = SDX_EMIT_WITH(b, "Concat", SDX_ATTRS(sdx_a_int(b, "axis", 0)),
                                 sdx_build_dims(b, x, 0, 1), sdx_build_ints(b, taps, 1),
                                 sdx_build_dims(b, x, 1, 2),
                                 sdx_build_ints(b, (int64_t[]){-1}, 1));
    sdx_id squares = SDX_EMIT(b, "Reshape", SDX_EMIT(b, "Mul", x, x), shape);
    sdx_id ones = sdx_build_fill(b, sdx_build_ints(b, taps, 4), dtype, 1);
    sdx_id sums = SDX_EMIT_WITH(b, "Conv", SDX_ATTRS(sdx_a_ints(b, "pads", pads, 4)), squares,
                                ones);
    double alpha = (double)sdx_node_float(node, "alpha", 1e-4f) / (double)size;
    sdx_id base = plus(b, times(b, sdx_build_reshape_like(b, sums, x), alpha),
                       (double)sdx_node_float(node, "bias", 1));
    sdx_id power = sdx_build_number(b, dtype, (double)sdx_node_float(node, "beta", 0.75f));
    sdx_id y = SDX_EMIT(b, "Div", x, SDX_EMIT(b, "Pow", base, power));
    sdx_gradient_through(g, node, first, &y, 1);
}

/* ---- losses ---------------------------------------------------------------------------------- */

/* NegativeLogLikelihoodLoss of log probabilities (N, C, ..) and labels (N, ..). */
static sdx_id likelihood_loss(sdx_build *b, const sdx_node *node, sdx_id log_prob, sdx_id labels,
                              sdx_id weights) {
    const sdx_attr *ignore = sdx_node_attr(node, "ignore_index", SDX_ATTR_INT);
    sdx_dtype dtype = sdx_build_dtype(b, log_prob);
    sdx_id weight = SDX_NONE, one = sdx_build_ints(b, (int64_t[]){1}, 1);
    labels = sdx_build_cast(b, labels, SDX_DTYPE_INT64);
    if (ignore) { /* such a label may be no class: it counts as class 0, with weight 0 */
        sdx_id out = SDX_EMIT(b, "Equal", labels,
                              sdx_build_ints(b, ignore->as.ints, 1));
        labels = SDX_EMIT(b, "Where", out, sdx_build_number(b, SDX_DTYPE_INT64, 0), labels);
        weight = sdx_build_cast(b, SDX_EMIT(b, "Not", out), dtype);
    }
    sdx_id column = SDX_EMIT(b, "Unsqueeze", labels, one);
    sdx_id picked = SDX_EMIT_WITH(b, "GatherElements", SDX_ATTRS(sdx_a_int(b, "axis", 1)), log_prob,
                                  column);
    sdx_id loss = SDX_EMIT(b, "Neg", SDX_EMIT(b, "Squeeze", picked, one));
    if (weights != SDX_NONE) {
        sdx_id own = SDX_EMIT(b, "Gather", weights, labels);
        weight = weight == SDX_NONE ? own : SDX_EMIT(b, "Mul", weight, own);
    }
    if (weight != SDX_NONE) loss = SDX_EMIT(b, "Mul", loss, weight);
    if (sdx_node_text_is(node, "reduction", "mean", "none")) return loss;
    bool mean = sdx_node_text_is(node, "reduction", "mean", "mean");
    sdx_attr flat = sdx_a_int(b, "keepdims", 0);
    if (mean && weight == SDX_NONE) return SDX_EMIT_WITH(b, "ReduceMean", SDX_ATTRS(flat), loss);
    sdx_id sum = SDX_EMIT_WITH(b, "ReduceSum", SDX_ATTRS(flat), loss);
    if (!mean) return sum;
    return SDX_EMIT(b, "Div", sum, SDX_EMIT_WITH(b, "ReduceSum", SDX_ATTRS(flat), weight));
}

SDX_GRADIENT_RULE(loss) {
    sdx_build *b = sdx_gradient_build(g);
    const size_t first = sdx_gradient_mark(g);
    sdx_id scores = node->inputs[0], out[2] = {SDX_NONE, SDX_NONE};
    if (strcmp(node->op_type, "SoftmaxCrossEntropyLoss") == 0)
        scores = out[1] = SDX_EMIT_WITH(b, "LogSoftmax", SDX_ATTRS(sdx_a_int(b, "axis", 1)),
                                        scores);
    out[0] = likelihood_loss(b, node, scores, node->inputs[1], input(node, 2));
    sdx_gradient_through(g, node, first, out, 2);
}
