/* binary_compare.c - comparisons (Equal, Greater, Less and the two OrEqual) and the logic of And,
 * Or, Xor; all give bool. Less is Greater with its operands swapped, so there are three sets of
 * kernels for the five comparisons. */
#include "ops/elementwise.h"

#define KERNEL(op, suffix, TYPE, DTYPE)                                                           \
    SDX_BINARY_KERNEL(op##_##suffix, TYPE, uint8_t, sdx_binary_params, DEFINE_##op)

/* ---- comparisons ---------------------------------------------------------------------------- */

#define DEFINE_equal x == y
#define DEFINE_equal_bool (x != 0) == (y != 0)
#define DEFINE_equal_string same_text(x, y)
#define DEFINE_greater x > y
#define DEFINE_greater_or_equal x >= y

static inline bool same_text(sdx_string a, sdx_string b) {
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

SDX_EW_FLOATS(KERNEL, equal)
SDX_EW_UNSIGNED(KERNEL, equal)
KERNEL(equal_bool, u8, uint8_t, BOOL)
KERNEL(equal_string, text, sdx_string, STRING)
SDX_EW_FLOATS(KERNEL, greater)
SDX_EW_INTS(KERNEL, greater)
SDX_EW_FLOATS(KERNEL, greater_or_equal)
SDX_EW_INTS(KERNEL, greater_or_equal)

static sdx_expr compare_content(sdx_infer *inf, sdx_expr a, sdx_expr b) {
    const sdx_binary_op *op = inf->def->aux;
    const unsigned possible = sdx_ew_order(inf, a, b);
    if ((possible & ~op->truth) == 0) return sdx_expr_const(1);
    return (possible & op->truth) == 0 ? sdx_expr_const(0) : SDX_EXPR_UNKNOWN;
}

static const sdx_binary_op equal_op = {
    .kernels = {.of = {SDX_EW_FLOATS(SDX_EW_ENTRY, equal) SDX_EW_WRAPPING(equal)
                           SDX_EW_ENTRY(equal_bool, u8, uint8_t, BOOL)
                               SDX_EW_ENTRY(equal_string, text, sdx_string, STRING)}},
    .out = SDX_DTYPE_BOOL,
    .truth = SDX_EW_SAME,
    .content = compare_content};
#define ORDER(id, kernel, swap_, truth_)                                                          \
    static const sdx_binary_op id##_op = {                                                        \
        .kernels = {.of = {SDX_EW_FLOATS(SDX_EW_ENTRY, kernel)                                    \
                               SDX_EW_INTS(SDX_EW_ENTRY, kernel)}},                               \
        .out = SDX_DTYPE_BOOL,                                                                    \
        .swap = (swap_),                                                                          \
        .truth = (truth_),                                                                        \
        .content = compare_content};                                                              \
    SDX_BINARY(id, SDX_T_NUMERIC, id##_op)

SDX_BINARY(equal, SDX_T_NUMERIC | SDX_T(BOOL) | SDX_T(STRING), equal_op);
ORDER(greater, greater, false, SDX_EW_MORE);
ORDER(less, greater, true, SDX_EW_LESS);
ORDER(greater_or_equal, greater_or_equal, false, SDX_EW_MORE | SDX_EW_SAME);
ORDER(less_or_equal, greater_or_equal, true, SDX_EW_LESS | SDX_EW_SAME);

/* ---- And, Or, Xor --------------------------------------------------------------------------- */

#define DEFINE_and (x != 0) & (y != 0)
#define DEFINE_or (x | y) != 0
#define DEFINE_xor (x != 0) ^ (y != 0)

KERNEL(and, u8, uint8_t, BOOL)
KERNEL(or, u8, uint8_t, BOOL)
KERNEL(xor, u8, uint8_t, BOOL)

/* Known as soon as every value that an unknown side may take gives the same. */
static sdx_expr logic_content(sdx_infer *inf, sdx_expr a, sdx_expr b) {
    const sdx_binary_op *op = inf->def->aux;
    unsigned results = 0;
    for (int x = 0; x < 2; x++) {
        if (sdx_expr_is_const(a) && (sdx_expr_value(a) != 0) != x) continue;
        for (int y = 0; y < 2; y++) {
            if (sdx_expr_is_const(b) && (sdx_expr_value(b) != 0) != y) continue;
            results |= 1u << (op->truth >> (2 * x + y) & 1u);
        }
    }
    return results == 3 ? SDX_EXPR_UNKNOWN : sdx_expr_const(results == 2);
}

#define LOGIC(id, truth_)                                                                         \
    static const sdx_binary_op id##_op = {.kernels = {.of = {[SDX_DTYPE_BOOL] = id##_u8}},        \
                                          .out = SDX_DTYPE_BOOL,                                  \
                                          .truth = (truth_),                                      \
                                          .content = logic_content};                              \
    SDX_BINARY(id, SDX_T(BOOL), id##_op)

LOGIC(and, 8u);
LOGIC(or, 14u);
LOGIC(xor, 6u);
