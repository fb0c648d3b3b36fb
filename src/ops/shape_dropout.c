/* shape_dropout.c - Dropout. In inference it moves data and fills a mask with ones, which is why it
 * stands here. In training it draws from MT19937 the way NumPy's RandomState does, so that a
 * node's `seed` gives the mask that the standard's own tests expect. */
#include "ops/movement.h"

/* ---- MT19937 -------------------------------------------------------------------------------- */

#define MT_SIZE  624
#define MT_SHIFT 397

typedef struct twister {
    uint32_t state[MT_SIZE];
    uint32_t at;
} twister;

static void twister_seed(twister *t, uint32_t seed) {
    for (uint32_t i = 0; i < MT_SIZE; ++i) {
        t->state[i] = seed;
        seed = UINT32_C(1812433253) * (seed ^ seed >> 30) + i + 1;
    }
    t->at = MT_SIZE;
}

static void twister_turn(twister *t) {
    for (uint32_t i = 0; i < MT_SIZE; ++i) {
        const uint32_t next = t->state[(i + 1) % MT_SIZE];
        const uint32_t mixed = (t->state[i] & UINT32_C(0x80000000)) | (next & UINT32_C(0x7fffffff));
        t->state[i] = t->state[(i + MT_SHIFT) % MT_SIZE] ^ mixed >> 1 ^
                      ((mixed & 1u) != 0 ? UINT32_C(0x9908b0df) : 0u);
    }
    t->at = 0;
}

static uint32_t twister_next(twister *t) {
    if (t->at == MT_SIZE) twister_turn(t);
    uint32_t y = t->state[t->at++];
    y ^= y >> 11;
    y ^= y << 7 & UINT32_C(0x9d2c5680);
    y ^= y << 15 & UINT32_C(0xefc60000);
    return y ^ y >> 18;
}

/* In [0, 1), with 53 random bits. */
static double twister_uniform(twister *t) {
    const uint32_t high = twister_next(t) >> 5, low = twister_next(t) >> 6;
    return ((double)high * 67108864.0 + (double)low) / 9007199254740992.0;
}

/* ---- Dropout -------------------------------------------------------------------------------- */

typedef struct dropout_params {
    float ratio;   /* before version 12 */
    bool training; /* before version 7: is_test is 0 */
    bool seeded;
    int64_t seed;
} dropout_params;

static sdx_status dropout_prepare(sdx_prep *prep) {
    dropout_params *p = prep->params;
    const int64_t version = prep->version;
    p->ratio = 0.5F;
    if (version < 6) sdx_attr_ignore(prep, "consumed_inputs");
    if (version < 7) {
        bool test;
        SDX_TRY(sdx_attr_get_bool(prep, "is_test", false, &test));
        p->training = !test;
    }
    if (version < 12) return sdx_attr_get_float(prep, "ratio", 0.5F, &p->ratio);
    p->seeded = sdx_attr_has(prep, "seed");
    return sdx_attr_get_int(prep, "seed", 0, &p->seed);
}

static sdx_status dropout_infer(sdx_infer *inf) {
    SDX_TRY(sdx_infer_copy(inf, 0, 0, false));
    SDX_TRY(sdx_infer_copy(inf, 1, 0, false));
    if (inf->version >= 10) sdx_infer_set_dtype(inf, 1, SDX_DTYPE_BOOL);
    if (sdx_infer_present(inf, 1)) SDX_TRY(sdx_move_require_scalar(inf, 1));
    if (sdx_infer_present(inf, 2)) SDX_TRY(sdx_move_require_scalar(inf, 2));
    return SDX_STATUS_OK;
}

/* Elements [first, first + count) of the output, of which kept[i] stay. */
static void drop_block(const sdx_tensor *in, sdx_tensor *out, size_t first, const bool *kept,
                       size_t count, double scale) {
    const size_t unit = sdx_dtype_size(in->dtype);
    const char *from = (const char *)in->data + first * unit;
    char *to = (char *)out->data + first * unit;
    if (in->dtype == SDX_DTYPE_FLOAT64) {
        for (size_t i = 0; i < count; ++i) {
            const double x = ((const double *)(const void *)from)[i];
            ((double *)(void *)to)[i] = kept[i] ? x * scale : 0.0;
        }
    } else {
        float wide[SDX_OFFSET_BATCH];
        sdx_to_f32(in->dtype, from, wide, count);
        for (size_t i = 0; i < count; ++i) wide[i] = kept[i] ? wide[i] * (float)scale : 0.0F;
        sdx_from_f32(in->dtype, wide, to, count);
    }
}

/* The same elements of the mask. */
static void mask_block(sdx_tensor *mask, size_t first, const bool *kept, size_t count) {
    const size_t unit = sdx_dtype_size(mask->dtype);
    unsigned char one[SDX_MAX_UNIT], zero[SDX_MAX_UNIT];
    sdx_move_one(mask->dtype, one);
    sdx_move_zero(mask->dtype, zero);
    for (size_t i = 0; i < count; ++i)
        memcpy((char *)mask->data + (first + i) * unit, kept[i] ? one : zero, unit);
}

static sdx_status dropout_train(sdx_call *call, double ratio) {
    const dropout_params *p = call->params;
    const sdx_tensor *in = sdx_in(call, 0);
    sdx_tensor *out = sdx_out(call, 0), *mask = sdx_out(call, 1);
    bool kept[SDX_OFFSET_BATCH];
    twister random;
    if (!(ratio >= 0.0 && ratio < 1.0))
        return sdx_call_fail(call, "ratio is %g, outside [0, 1)", ratio);
    const uint64_t seed =
        p->seeded ? (uint64_t)p->seed : call->host->random_seed(call->host, call->node->outputs[0]);
    twister_seed(&random, (uint32_t)(seed ^ seed >> 32));
    for (size_t first = 0; first < in->count; first += SDX_OFFSET_BATCH) {
        const size_t left = in->count - first;
        const size_t count = left < SDX_OFFSET_BATCH ? left : SDX_OFFSET_BATCH;
        for (size_t i = 0; i < count; ++i) kept[i] = twister_uniform(&random) >= ratio;
        if (out) drop_block(in, out, first, kept, count, 1.0 / (1.0 - ratio));
        if (mask) mask_block(mask, first, kept, count);
    }
    return SDX_STATUS_OK;
}

static sdx_status dropout_run(sdx_call *call) {
    const dropout_params *p = call->params;
    const sdx_tensor *in = sdx_in(call, 0), *ratio_in = sdx_in(call, 1), *mode = sdx_in(call, 2);
    sdx_tensor *out = sdx_out(call, 0), *mask = sdx_out(call, 1);
    const bool training = p->training || (mode && *(const uint8_t *)mode->data != 0);
    /* Read before anything is written: the output may lie over a ratio of the same size. */
    const double ratio = ratio_in ? sdx_tensor_double(ratio_in, 0) : (double)p->ratio;
    if (training && ratio != 0.0) return dropout_train(call, ratio);
    if (out)
        sdx_move_bytes(in->data, out->data, out->count * sdx_dtype_size(out->dtype),
                       call->host->pool);
    if (mask && mask->count > 0) {
        unsigned char one[SDX_MAX_UNIT];
        sdx_move_one(mask->dtype, one);
        sdx_move_fill(mask->data, one, sdx_dtype_size(mask->dtype), mask->count, call->host->pool);
    }
    return SDX_STATUS_OK;
}

#define DROPOUT_OP(name, most, bits)                                                               \
    const sdx_op_def name = {                                                                      \
        .min_in = 1,                                                                               \
        .max_in = most,                                                                            \
        .min_out = 1,                                                                              \
        .max_out = 2,                                                                              \
        .flags = SDX_OP_IN_PLACE_FIRST | (bits),                                                  \
        .in_types = {SDX_T_FLOATS | SDX_T_FLOAT8, SDX_T_FLOATS | SDX_T_FLOAT8, SDX_T(BOOL)},       \
        .params_size = sizeof(dropout_params),                                                     \
        .prepare = dropout_prepare,                                                                \
        .infer = dropout_infer,                                                                    \
        .run = SDX_BODY(name, dropout_run),                                                        \
    }
DROPOUT_OP(sdx_op_dropout_1, 1, SDX_OP_RANDOM);
DROPOUT_OP(sdx_op_dropout_7, 1, 0);
DROPOUT_OP(sdx_op_dropout, 3, SDX_OP_RANDOM);
