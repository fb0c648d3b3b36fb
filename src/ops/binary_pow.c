/* binary_pow.c - Pow. Base and exponent may differ in type; the result has the base's. Computed
 * in float32, float64 or int64, whichever both operands fit, with the walk converting in blocks.
 * One exponent for all - mostly 2, 3 or 0.5, out of norms and Gelu - takes no call of libm. */
#include <math.h>
#include <tgmath.h>

#include "ops/elementwise.h"

/* Wraps like a product of integers; a negative exponent leaves 0 of all bases but 1 and -1. */
static inline int64_t power_int(int64_t x, int64_t y) {
    if (y < 0) return x == 1 || x == -1 ? (y % 2 != 0 ? x : 1) : 0;
    uint64_t result = 1, base = (uint64_t)x;
    for (uint64_t left = (uint64_t)y; left != 0; left >>= 1) {
        if ((left & 1) != 0) result *= base;
        base *= base;
    }
    return (int64_t)result;
}

#define DEFINE_any pow(x, y)
#define DEFINE_square x *x
#define DEFINE_cube x *x *x
/* pow, unlike sqrt, makes -0 a plain 0 and -inf an inf. */
#define DEFINE_root x == (T)-INFINITY ? (T)INFINITY : sqrt(x) + 0
#define UNARY(op, suffix, TYPE, DTYPE)                                                            \
    SDX_UNARY_KERNEL(op##_##suffix, TYPE, T, sdx_binary_params, DEFINE_##op)
#define BINARY(op, suffix, TYPE, DTYPE)                                                           \
    SDX_BINARY_KERNEL(op##_##suffix, TYPE, T, sdx_binary_params, DEFINE_##op)

SDX_EW_FLOATS(BINARY, any)
SDX_VECTOR_UNARY(square_f32, sdx_binary_params, SDX_F32_SQUARE, 0, 0)
UNARY(square, f64, double, FLOAT64)
SDX_VECTOR_UNARY(cube_f32, sdx_binary_params, SDX_F32_CUBE, 0, 0)
UNARY(cube, f64, double, FLOAT64)
SDX_EW_FLOATS(UNARY, root)
SDX_BINARY_KERNEL(pow_i64, int64_t, int64_t, sdx_binary_params, power_int(x, y))

#define POW(op, suffix, TYPE, DTYPE)                                                              \
    static void op##_##suffix(const sdx_tile *t) {                                                \
        sdx_tile_kernel kernel = any_##suffix;                                                    \
        if (t->step[0] && !t->step[1] && (t->rows == 1 || t->row[1] == 0)) {                      \
            const TYPE y = *(const TYPE *)t->in[1];                                               \
            kernel = y == 2 ? square_##suffix : y == 3 ? cube_##suffix                            \
                     : y == (TYPE)0.5                  ? root_##suffix                            \
                                                       : kernel;                                  \
        }                                                                                         \
        kernel(t);                                                                                \
    }
SDX_EW_FLOATS(POW, pow)

/* float32 holds every exponent of these types. */
#define NARROW                                                                                    \
    (SDX_T(FLOAT32) | SDX_T(FLOAT16) | SDX_T(BFLOAT16) | SDX_T(INT8) | SDX_T(UINT8) |             \
     SDX_T(INT16) | SDX_T(UINT16))

static sdx_dtype compute_type(const sdx_tensor *base, const sdx_tensor *exponent) {
    const bool whole = sdx_dtypes_has(SDX_T_INTS, exponent->dtype);
    if (sdx_dtypes_has(SDX_T_INTS, base->dtype))
        return whole ? SDX_DTYPE_INT64 : SDX_DTYPE_FLOAT64;
    if (base->dtype == SDX_DTYPE_FLOAT64) return SDX_DTYPE_FLOAT64;
    if (sdx_dtypes_has(NARROW, exponent->dtype)) return SDX_DTYPE_FLOAT32;
    if (exponent->count == 1) { /* or this one */
        const double value = sdx_tensor_double(exponent, 0);
        if (fabs(value) <= 0x1p24 && value == (double)(float)value) return SDX_DTYPE_FLOAT32;
    }
    return SDX_DTYPE_FLOAT64;
}

static sdx_status pow_infer(sdx_infer *inf) {
    return sdx_binary_infer_as(inf, sdx_infer_dtype(inf, 0), NULL);
}

static sdx_status pow_run(sdx_call *call) {
    const sdx_tensor *base = sdx_in(call, 0), *exponent = sdx_in(call, 1);
    sdx_tensor *out = sdx_out(call, 0);
    if (!out || out->count == 0) return SDX_STATUS_OK;
    const sdx_dtype compute = compute_type(base, exponent);
    sdx_ew ew;
    sdx_ew_begin(&ew, out);
    sdx_binary_operands(call, &ew, false);
    ew.kernel = compute == SDX_DTYPE_FLOAT32   ? pow_f32
                : compute == SDX_DTYPE_FLOAT64 ? pow_f64
                                               : pow_i64;
    ew.in_compute[0] = ew.in_compute[1] = ew.out_compute = compute;
    sdx_ew_run(call, &ew, SDX_EW_GRAIN_HEAVY);
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_pow = {.min_in = 2,
                               .max_in = 2,
                               .min_out = 1,
                               .max_out = 1,
                               .flags = SDX_OP_IN_PLACE,
                               .in_types = {SDX_T_FLOATS | SDX_T_INDEX, SDX_T_NUMERIC},
                               .params_size = sizeof(sdx_binary_params),
                               .prepare = sdx_binary_prepare,
                               .infer = pow_infer,
                               .run = SDX_BODY(sdx_op_pow, pow_run)};
