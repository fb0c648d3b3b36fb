/* classify_scores.c - from what a model puts out to confidences: whether it ends in a softmax of its own
 * is read from the graph, not guessed from the numbers; and the best of them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "classify.h"

#define MOST_NODES 64 /* behind the last one that matters */

static bool producer_of(const sdx_model *model, uint32_t value, sdx_node_info *node) {
    sdx_value_info info = {.struct_size = sizeof info};
    *node = (sdx_node_info){.struct_size = sizeof *node};
    return sdx_model_get_value(model, value, &info) == SDX_STATUS_OK &&
           info.producer != SDX_NO_INDEX &&
           sdx_model_get_node(model, info.producer, node) == SDX_STATUS_OK &&
           node->input_count > 0 && node->inputs[0] != SDX_NO_INDEX;
}

static bool is_op(const sdx_node_info *node, const char *name) {
    return strcmp(node->op, name) == 0 &&
           (strcmp(node->domain, "ai.onnx") == 0 || !node->domain[0]);
}

/* Operators that hand on what they get, number by number, in another shape or type. */
static bool hands_on(const sdx_node_info *node) {
    static const char *const names[] = {
        "Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Cast", "CastLike",
        "Dropout",  "Clip",    "QuantizeLinear", "DequantizeLinear",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_op(node, names[i])) return true;
    return false;
}

/* Exp(x) / ReduceSum(Exp(x)): a softmax as exporters spell it out. */
static bool is_spelled_out(const sdx_model *model, const sdx_node_info *division) {
    sdx_node_info above, below;
    return is_op(division, "Div") && division->input_count == 2 &&
           producer_of(model, division->inputs[0], &above) && is_op(&above, "Exp") &&
           producer_of(model, division->inputs[1], &below) && is_op(&below, "ReduceSum") &&
           below.inputs[0] == division->inputs[0];
}

score_kind scores_of_output(const sdx_model *model, uint32_t value) {
    sdx_node_info node;
    for (int i = 0; i < MOST_NODES && producer_of(model, value, &node); i++) {
        if (is_op(&node, "Softmax") || is_op(&node, "Sigmoid") || is_spelled_out(model, &node))
            return SCORES_PROBABILITIES;
        if (is_op(&node, "LogSoftmax")) return SCORES_LOG_PROBABILITIES;
        if (!hands_on(&node)) break;
        value = node.inputs[0];
    }
    return SCORES_PLAIN;
}

/* The best first; of equal ones the lower class; what is no number comes last. */
static int by_confidence(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (isnan(x->confidence) || isnan(y->confidence)) {
        int difference = (isnan(x->confidence) != 0) - (isnan(y->confidence) != 0);
        if (difference) return difference;
    } else if (x->confidence != y->confidence) {
        return x->confidence < y->confidence ? 1 : -1;
    }
    return (x->class_index > y->class_index) - (x->class_index < y->class_index);
}

static void to_probabilities(ranked *all, size_t classes, bool logarithms) {
    double most = logarithms ? 0 : -INFINITY, sum = 0;
    for (size_t i = 0; !logarithms && i < classes; i++)
        if (all[i].confidence > most) most = all[i].confidence;
    for (size_t i = 0; i < classes; i++) {
        all[i].confidence = exp(all[i].confidence - most);
        sum += all[i].confidence;
    }
    for (size_t i = 0; !logarithms && i < classes; i++) all[i].confidence /= sum;
}

bool rank_scores(const sdx_tensor *scores, size_t first, size_t classes, score_kind kind, bool raw,
                 ranked *top, size_t count) {
    ranked *all = calloc(classes, sizeof *all);
    if (!all) return false;
    for (size_t i = 0; i < classes; i++)
        all[i] = (ranked){i, sdx_element_as_double(scores, first + i)};
    if (!raw && kind != SCORES_PROBABILITIES)
        to_probabilities(all, classes, kind == SCORES_LOG_PROBABILITIES);
    for (size_t i = 0; i < classes; i++) /* its sign would be printed */
        if (isnan(all[i].confidence)) all[i].confidence = (double)NAN;
    qsort(all, classes, sizeof *all, by_confidence);
    memcpy(top, all, count * sizeof *top);
    free(all);
    return true;
}
