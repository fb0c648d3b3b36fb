/* elementwise.c - see elementwise.h. */
#include "passes/elementwise.h"

#include <string.h>

static bool is_one_of(const char *name, const char *const *list) {
    for (; *list; list++)
        if (strcmp(*list, name) == 0) return true;
    return false;
}

bool sdx_is_unary(const char *op) {
    static const char *const list[] = {
        "Abs", "Cast", "Ceil", "Celu", "Clip", "Dropout", "Elu", "Erf", "Exp", "Floor", "Gelu",
        "HardSigmoid", "HardSwish", "Identity", "LeakyRelu", "Log", "Mish", "Neg", "Reciprocal",
        "Relu", "Round", "Selu", "Sigmoid", "Sign", "Softplus", "Softsign", "Sqrt", "Swish", "Tanh",
        "ThresholdedRelu", NULL};
    return is_one_of(op, list);
}

bool sdx_is_broadcast(const char *op) {
    static const char *const list[] = {"Add", "Sub", "Mul", "Div", "Max", "Min", "Sum", "Mean",
                                       "Pow", "PRelu", "Where", "Equal", "Greater", "Less", NULL};
    return is_one_of(op, list);
}

bool sdx_is_scalar(const sdx_build *b, sdx_id value) {
    const sdx_type *type = sdx_build_type(b, value);
    for (int32_t i = 0; i < type->rank; i++)
        if (!sdx_expr_is(type->dims[i], 1)) return false;
    return type->rank >= 0 && type->rank <= 1;
}
