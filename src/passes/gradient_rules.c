/* gradient_rules.c - the derivative of each operator: formulas where one will do, else the
 * function in the file of its family. An operator without a line here cannot be differentiated. */
#include <stdlib.h>
#include <string.h>

#include "passes/gradient.h"

#define TEXT(name, ...) {.op = #name, .text = {__VA_ARGS__}}
#define TEXT_UNTIL(name, version, ...) {.op = #name, .last = (version), .text = {__VA_ARGS__}}
#define FORWARD(name, formula) {.op = #name, .forward = true, .text = {formula}}
#define RULE(name, function) {.op = #name, .apply = sdx_gradient_##function}
#define CONSTANT(name) {.op = #name, .constant = true}

static const sdx_gradient_rule rules[] = {
    /* One input, element by element. */
    TEXT(Abs, "g a Sign Mul"),
    TEXT(Acos, "g 1 a a Mul Sub Sqrt Div Neg"),
    TEXT(Acosh, "g a a Mul 1 Sub Sqrt Div"),
    TEXT(Asin, "g 1 a a Mul Sub Sqrt Div"),
    TEXT(Asinh, "g a a Mul 1 Add Sqrt Div"),
    TEXT(Atan, "g a a Mul 1 Add Div"),
    TEXT(Atanh, "g 1 a a Mul Sub Div"),
    TEXT(Cast, "g"), /* back to the type of the input */
    TEXT(CastLike, "g"),
    TEXT(Celu, "a 0 Greater g g y @alpha=1 Div 1 Add Mul Where"),
    RULE(Clip, clip),
    TEXT(Cos, "g a Sin Mul Neg"),
    TEXT(Cosh, "g a Sinh Mul"),
    RULE(Dropout, dropout),
    TEXT(Elu, "a 0 Greater g g y @alpha=1 Add Mul Where"),
    TEXT(Erf, "g a a Mul Neg Exp Mul 1.1283791670955126 Mul"),
    TEXT(Exp, "g y Mul"),
    RULE(Gelu, gelu),
    TEXT(HardSigmoid, "y 0 Greater y 1 Less And g @alpha=0.2 Mul 0 Where"),
    TEXT(HardSwish, "g a -3 LessOrEqual 0 a 3 Less a 3 Div 0.5 Add 1 Where Where Mul"),
    TEXT(Identity, "g"),
    TEXT(LeakyRelu, "a 0 Greater g g @alpha=0.01 Mul Where"),
    TEXT(Log, "g a Div"),
    FORWARD(Mish, "a a Softplus Tanh Mul"),
    TEXT(Neg, "g Neg"),
    TEXT(Reciprocal, "g y y Mul Mul Neg"),
    TEXT(Relu, "a 0 Greater g 0 Where"),
    TEXT_UNTIL(Selu, 5,
               "a 0 Greater g @gamma=1.0507 Mul g y @alpha=1.6732 @gamma=1.0507 Mul Add Mul Where"),
    TEXT(Selu, "a 0 Greater g @gamma=1.05070102214813232421875 Mul g y "
               "@alpha=1.67326319217681884765625 @gamma=1.05070102214813232421875 Mul Add Mul "
               "Where"),
    TEXT(Shrink, "a Abs @lambd=0.5 Greater g 0 Where"),
    TEXT(Sigmoid, "g y 1 y Sub Mul Mul"),
    TEXT(Sin, "g a Cos Mul"),
    TEXT(Sinh, "g a Cosh Mul"),
    TEXT(Softplus, "g a Sigmoid Mul"),
    TEXT(Softsign, "g a Abs 1 Add dup Mul Div"),
    TEXT(Sqrt, "g 0.5 Mul y Div"),
    FORWARD(Swish, "a a @alpha=1 Mul Sigmoid Mul"),
    TEXT(Tan, "g y y Mul 1 Add Mul"),
    TEXT(Tanh, "g 1 y y Mul Sub Mul"),
    TEXT(ThresholdedRelu, "a @alpha=1 Greater g 0 Where"),
    RULE(Trilu, trilu),
    /* Several inputs. */
    TEXT(Add, "g", "g"),
    TEXT(Div, "g b Div", "g y Mul b Div Neg"),
    RULE(Max, extremum),
    RULE(Mean, mean),
    RULE(Min, extremum),
    TEXT(Mod, "g", "g a y Sub b Div Mul Neg"),
    TEXT(Mul, "g b Mul", "g a Mul"),
    RULE(Pow, pow),
    TEXT(PRelu, "a 0 Greater g g b Mul Where", "a 0 Greater 0 g a Mul Where"),
    TEXT(Sub, "g", "g Neg"),
    RULE(Sum, sum),
    FORWARD(SwiGLU, "a a @alpha=1 Mul Sigmoid Mul b Mul"),
    TEXT(Where, NULL, "a g 0 Where", "a 0 g Where"),
    /* Products. */
    RULE(Einsum, einsum),
    RULE(Gemm, gemm),
    RULE(MatMul, matmul),
    /* Shapes, and which element goes where. */
    RULE(CenterCropPad, moved),
    RULE(Compress, moved),
    RULE(Concat, concat),
    RULE(CumSum, cumsum),
    RULE(DepthToSpace, moved),
    RULE(Expand, expand),
    RULE(Flatten, reshape),
    RULE(Gather, gather),
    RULE(GatherElements, gather_elements),
    RULE(GatherND, gather_nd),
    RULE(Pad, pad),
    RULE(Reshape, reshape),
    RULE(Resize, resize),
    RULE(ReverseSequence, moved),
    RULE(Scatter, scatter_elements),
    RULE(ScatterElements, scatter_elements),
    RULE(ScatterND, scatter_nd),
    RULE(Slice, slice),
    RULE(SpaceToDepth, moved),
    RULE(Split, split),
    RULE(Squeeze, reshape),
    RULE(Tile, tile),
    RULE(TopK, topk),
    RULE(Transpose, transpose),
    RULE(Unsqueeze, reshape),
    RULE(Upsample, resize),
    /* Along axes. */
    RULE(LogSoftmax, log_softmax),
    RULE(ReduceL1, reduce),
    RULE(ReduceL2, reduce),
    RULE(ReduceLogSum, reduce),
    RULE(ReduceLogSumExp, reduce),
    RULE(ReduceMax, reduce),
    RULE(ReduceMean, reduce),
    RULE(ReduceMin, reduce),
    RULE(ReduceProd, reduce_prod),
    RULE(ReduceSum, reduce),
    RULE(ReduceSumSquare, reduce),
    RULE(Softmax, softmax),
    /* Windows. */
    RULE(AveragePool, average_pool),
    RULE(Conv, conv),
    RULE(ConvTranspose, conv_transpose),
    RULE(GlobalAveragePool, global_pool),
    RULE(GlobalMaxPool, global_pool),
    RULE(MaxPool, max_pool),
    /* Normalisation and losses. */
    RULE(BatchNormalization, batch_norm),
    RULE(GroupNormalization, group_norm),
    RULE(InstanceNormalization, instance_norm),
    RULE(LayerNormalization, layer_norm),
    RULE(LpNormalization, lp_norm),
    RULE(LRN, lrn),
    RULE(MeanVarianceNormalization, mean_variance_norm),
    RULE(NegativeLogLikelihoodLoss, loss),
    RULE(RMSNormalization, rms_norm),
    RULE(SoftmaxCrossEntropyLoss, loss),
    /* Steps, and what follows from shapes alone. Integers and truth values need no line. */
    CONSTANT(Bernoulli),
    CONSTANT(Ceil),
    CONSTANT(EyeLike),
    CONSTANT(Floor),
    CONSTANT(Hardmax),
    CONSTANT(RandomNormalLike),
    CONSTANT(RandomUniformLike),
    CONSTANT(Round),
    CONSTANT(Sign),
};

const sdx_gradient_rule *sdx_gradient_find(const sdx_node *node) {
    if (node->domain[0]) return NULL;
    for (size_t i = 0; i < SDX_COUNT(rules); i++)
        if (strcmp(rules[i].op, node->op_type) == 0 &&
            (rules[i].last == 0 || node->version <= rules[i].last))
            return &rules[i];
    return NULL;
}

/* ---- formulas -------------------------------------------------------------------------------- */

#define MAX_WORD 48
#define MAX_STACK 8

/* "@alpha=0.5": the node's attribute of that name as a number, or the default behind it. */
static sdx_id attribute(sdx_gradient *g, const sdx_node *node, char *word, sdx_dtype dtype) {
    char *equals = strchr(word, '=');
    *equals = 0;
    const sdx_attr *attr = sdx_node_attr(node, word + 1, SDX_ATTR_FLOAT);
    double value = attr ? (double)attr->as.floats[0] : strtod(equals + 1, NULL);
    return sdx_build_number(sdx_gradient_build(g), dtype, value);
}

/* The value that a word stands for; false when it is an operator. */
static bool operand(sdx_gradient *g, const sdx_node *node, char *word, sdx_dtype dtype,
                    sdx_id *out) {
    bool letter = word[1] == 0;
    if (letter && word[0] >= 'a' && word[0] <= 'c') *out = node->inputs[word[0] - 'a'];
    else if (letter && word[0] == 'y') *out = node->outputs[0];
    else if (letter && word[0] == 'g') *out = sdx_gradient_of(g, node, 0);
    else if (word[0] == '@') *out = attribute(g, node, word, dtype);
    else if (word[0] == '-' || (word[0] >= '0' && word[0] <= '9'))
        *out = sdx_build_number(sdx_gradient_build(g), dtype, strtod(word, NULL));
    else return false;
    return true;
}

sdx_id sdx_gradient_formula(sdx_gradient *g, const sdx_node *node, const char *text) {
    sdx_build *b = sdx_gradient_build(g);
    sdx_dtype dtype = sdx_build_dtype(b, sdx_gradient_of(g, node, 0));
    sdx_id stack[1 + MAX_STACK] = {SDX_NONE}; /* below all: what no word at all stands for */
    uint32_t top = 0;
    while (*text && b->status == SDX_STATUS_OK) {
        char word[MAX_WORD];
        size_t size = strcspn(text, " ");
        memcpy(word, text, size);
        word[size] = 0;
        text += size + (text[size] == ' ');
        if (strcmp(word, "dup") == 0) {
            stack[top + 1] = stack[top];
            top++;
        } else if (operand(g, node, word, dtype, &stack[top + 1])) {
            top++;
        } else {
            const sdx_op *op = sdx_op_find("", word, SDX_BUILD_OPSET);
            top -= op->def->min_in;
            stack[top + 1] = sdx_emit(b, op->name, NULL, 0, &stack[top + 1], op->def->min_in);
            top++;
        }
    }
    return b->status == SDX_STATUS_OK ? stack[top] : SDX_NONE;
}
