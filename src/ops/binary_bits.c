/* binary_bits.c - BitwiseAnd, BitwiseOr, BitwiseXor and BitShift on integers. */
#include "ops/elementwise.h"

#define KERNEL(op, suffix, TYPE, DTYPE)                                                           \
    SDX_BINARY_KERNEL(op##_##suffix, TYPE, T, sdx_binary_params, DEFINE_##op)
#define DEFINE_bits_and x &y
#define DEFINE_bits_or x | y
#define DEFINE_bits_xor x ^ y

SDX_EW_UNSIGNED(KERNEL, bits_and)
SDX_EW_UNSIGNED(KERNEL, bits_or)
SDX_EW_UNSIGNED(KERNEL, bits_xor)

static const sdx_binary_op bitwise_and_op = {.kernels = {.of = {SDX_EW_WRAPPING(bits_and)}}};
static const sdx_binary_op bitwise_or_op = {.kernels = {.of = {SDX_EW_WRAPPING(bits_or)}}};
static const sdx_binary_op bitwise_xor_op = {.kernels = {.of = {SDX_EW_WRAPPING(bits_xor)}}};

SDX_BINARY(bitwise_and, SDX_T_INTS, bitwise_and_op);
SDX_BINARY(bitwise_or, SDX_T_INTS, bitwise_or_op);
SDX_BINARY(bitwise_xor, SDX_T_INTS, bitwise_xor_op);

/* ---- BitShift ------------------------------------------------------------------------------- */

/* A distance that is negative or too long is a huge one when read as unsigned; what is shifted in
 * then fills the whole element. */
#define IN_RANGE ((uint64_t)y < 8 * sizeof(T))
#define DEFINE_left IN_RANGE ? (T)((uint64_t)x << y) : 0
#define DEFINE_right_signed IN_RANGE ? x >> y : x < 0 ? -1 : 0
#define DEFINE_right_unsigned IN_RANGE ? x >> y : 0

SDX_EW_UNSIGNED(KERNEL, left)
SDX_EW_SIGNED(KERNEL, right_signed)
SDX_EW_UNSIGNED(KERNEL, right_unsigned)

static sdx_status shift_prepare(sdx_prep *prep) {
    static const char *const words[] = {"LEFT", "RIGHT", NULL};
    sdx_binary_params *params = prep->params;
    if (!sdx_attr_has(prep, "direction"))
        return sdx_prep_fail(prep, "attribute direction is missing: LEFT or RIGHT");
    return sdx_attr_get_choice(prep, "direction", 0, words, &params->mode);
}

static const sdx_binary_op left_op = {.kernels = {.of = {SDX_EW_WRAPPING(left)}}};
static const sdx_binary_op right_op = {
    .kernels = {.of = {SDX_EW_SIGNED(SDX_EW_ENTRY, right_signed)
                           SDX_EW_UNSIGNED(SDX_EW_ENTRY, right_unsigned)}}};

static sdx_status shift_run(sdx_call *call) {
    const sdx_binary_params *params = call->params;
    const sdx_tensor *in[2] = {sdx_in(call, 0), sdx_in(call, 1)};
    sdx_tensor *out = sdx_out(call, 0);
    const sdx_binary_op *op = params->mode == 0 ? &left_op : &right_op;
    if (out) sdx_ew_apply(call, &op->kernels, params, out, in, 2);
    return SDX_STATUS_OK;
}

SDX_BINARY_WITH(bit_shift, SDX_T_INTS, shift_prepare, sdx_binary_infer, shift_run, left_op);
