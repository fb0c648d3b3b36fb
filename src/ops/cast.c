/* cast.c - Cast and CastLike (conversion of values, cast_convert.c and cast_text.c) and BitCast
 * (the same bits read as another type of that width). */
#include "ops/cast.h"

#define CASTABLE (SDX_T_ALL & ~SDX_T_COMPLEX)

typedef struct cast_params {
    sdx_dtype to; /* UNDEFINED: CastLike, the type of input 1 */
    sdx_cast_rules rules;
} cast_params;

/* ---- attributes ----------------------------------------------------------------------------- */

/* Until version 5 the type was written by name. */
static sdx_status read_type_name(sdx_prep *prep, sdx_dtype *out) {
    static const char *const names[] = {"UNDEFINED", "FLOAT", "UINT8",   "INT8",   "UINT16",
                                        "INT16",     "INT32", "INT64",   "STRING", "BOOL",
                                        "FLOAT16",   "DOUBLE", "UINT32", "UINT64", NULL};
    int number;
    SDX_TRY(sdx_attr_get_choice(prep, "to", 0, names, &number));
    *out = (sdx_dtype)number;
    return SDX_STATUS_OK;
}

static sdx_status read_rules(sdx_prep *prep, sdx_cast_rules *rules) {
    static const char *const modes[] = {"up", "down", "nearest", NULL};
    rules->saturate = true;
    if (prep->version >= 19) SDX_TRY(sdx_attr_get_bool(prep, "saturate", true, &rules->saturate));
    if (prep->version >= 24)
        SDX_TRY(sdx_attr_get_choice(prep, "round_mode", 0, modes, &rules->round_mode));
    return SDX_STATUS_OK;
}

static sdx_status cast_prepare(sdx_prep *prep) {
    cast_params *params = prep->params;
    if (prep->version < 6) {
        SDX_TRY(read_type_name(prep, &params->to));
    } else {
        SDX_TRY(sdx_attr_get_dtype(prep, "to", SDX_DTYPE_UNDEFINED, &params->to));
    }
    if (params->to == SDX_DTYPE_UNDEFINED)
        return sdx_prep_fail(prep, "attribute 'to', the type to convert to, is missing");
    if (!sdx_dtypes_has(CASTABLE, params->to))
        return sdx_prep_fail(prep, "conversion to %s is not defined", sdx_dtype_name(params->to));
    return read_rules(prep, &params->rules);
}

static sdx_status cast_like_prepare(sdx_prep *prep) {
    cast_params *params = prep->params;
    return read_rules(prep, &params->rules);
}

/* ---- Cast, CastLike -------------------------------------------------------------------------- */

#define EXACT_FLOATS (SDX_T(FLOAT32) | SDX_T(FLOAT64))

/* Up to which whole numbers are exact in a float type. */
static sdx_expr last_exact(sdx_dtype dtype) {
    return sdx_expr_const((int64_t)1 << (dtype == SDX_DTYPE_FLOAT64 ? 53 : 24));
}

static sdx_status cast_contents(sdx_infer *inf, sdx_dtype to) {
    sdx_expr data[SDX_MAX_CONTENTS];
    size_t count;
    if (!inf->pool || !sdx_dtypes_has(SDX_T_INDEX | SDX_T(BOOL) | EXACT_FLOATS, to))
        return SDX_STATUS_OK;
    if (!sdx_dtypes_has(SDX_T_INTS | SDX_T(BOOL) | EXACT_FLOATS, sdx_infer_dtype(inf, 0)))
        return SDX_STATUS_OK;
    if (!sdx_infer_contents(inf, 0, data, SDX_MAX_CONTENTS, &count)) return SDX_STATUS_OK;
    for (size_t i = 0; i < count; i++) {
        if (sdx_dtypes_has(EXACT_FLOATS, to)) {
            /* A size as a float, on its way to a Range: whole, as long as it is not huge. */
            const sdx_expr least = sdx_expr_min(inf->pool, data[i], last_exact(to));
            if (sdx_expr_is_const(data[i]) && !sdx_expr_same(least, data[i]))
                data[i] = SDX_EXPR_UNKNOWN;
            SDX_TRY(sdx_infer_require_equal(inf, least, data[i], "a size as an exact float"));
        } else if (to == SDX_DTYPE_BOOL) {
            const unsigned order = sdx_ew_order(inf, data[i], sdx_expr_const(0));
            data[i] = order == SDX_EW_SAME             ? sdx_expr_const(0)
                      : (order & SDX_EW_SAME) == 0 ? sdx_expr_const(1)
                                                   : SDX_EXPR_UNKNOWN;
        } else {
            data[i] = sdx_ew_fit(to, data[i]);
        }
    }
    sdx_infer_set_contents(inf, 0, data, count);
    return SDX_STATUS_OK;
}

static sdx_status cast_infer(sdx_infer *inf) {
    const cast_params *params = inf->params;
    const sdx_dtype to =
        params->to != SDX_DTYPE_UNDEFINED ? params->to : sdx_infer_dtype(inf, 1);
    SDX_TRY(sdx_infer_copy(inf, 0, 0, false));
    sdx_infer_set_dtype(inf, 0, to);
    return cast_contents(inf, to);
}

typedef struct cast_job {
    const cast_params *params;
    const sdx_tensor *in;
    sdx_tensor *out;
} cast_job;

static void cast_piece(void *arg, size_t begin, size_t end) {
    const cast_job *job = arg;
    const sdx_dtype from = job->in->dtype, to = job->out->dtype;
    sdx_convert_by(&job->params->rules, from, to,
                   (const uint8_t *)job->in->data + begin * sdx_dtype_size(from),
                   (uint8_t *)job->out->data + begin * sdx_dtype_size(to), end - begin);
}

static sdx_status cast_run(sdx_call *call) {
    const cast_params *params = call->params;
    cast_job job = {params, sdx_in(call, 0), sdx_out(call, 0)};
    if (!job.out || job.out->count == 0) return SDX_STATUS_OK;
    const bool from_text = job.in->dtype == SDX_DTYPE_STRING;
    const bool to_text = job.out->dtype == SDX_DTYPE_STRING;
    if (from_text && to_text) {
        sdx_copy_elements(job.in, job.out);
    } else if (from_text) {
        return sdx_cast_from_text(call, &params->rules, job.in, job.out);
    } else if (to_text) {
        return sdx_cast_to_text(call, job.in, job.out);
    } else {
        sdx_call_parallel(call, job.out->count, SDX_EW_GRAIN, cast_piece, &job);
    }
    return SDX_STATUS_OK;
}

#define CAST(id, inputs, prepare_)                                                                \
    const sdx_op_def sdx_op_##id = {.min_in = inputs,                                             \
                                    .max_in = inputs,                                             \
                                    .min_out = 1,                                                 \
                                    .max_out = 1,                                                 \
                                    .flags = SDX_OP_IN_PLACE, /* where the type stays */          \
                                    .in_types = {CASTABLE},                                       \
                                    .params_size = sizeof(cast_params),                           \
                                    .prepare = prepare_,                                          \
                                    .infer = cast_infer,                                          \
                                    .run = SDX_BODY(sdx_op_##id, cast_run)}
CAST(cast, 1, cast_prepare);
CAST(cast_like, 2, cast_like_prepare);

/* ---- BitCast --------------------------------------------------------------------------------- */

static sdx_status bit_cast_prepare(sdx_prep *prep) {
    cast_params *params = prep->params;
    SDX_TRY(sdx_attr_get_dtype(prep, "to", SDX_DTYPE_UNDEFINED, &params->to));
    if (params->to == SDX_DTYPE_UNDEFINED || params->to == SDX_DTYPE_STRING)
        return sdx_prep_fail(prep, "attribute 'to' must be a type other than string");
    return SDX_STATUS_OK;
}

static sdx_status bit_cast_infer(sdx_infer *inf) {
    const cast_params *params = inf->params;
    const sdx_dtype from = sdx_infer_dtype(inf, 0);
    if (from != SDX_DTYPE_UNDEFINED && sdx_dtype_file_bits(from) != sdx_dtype_file_bits(params->to))
        return sdx_infer_fail(inf, "%s has %u bits and %s has %u; they must be equal",
                              sdx_dtype_name(from), sdx_dtype_file_bits(from),
                              sdx_dtype_name(params->to), sdx_dtype_file_bits(params->to));
    return sdx_ew_infer_like(inf, params->to);
}

static sdx_status bit_cast_run(sdx_call *call) {
    const sdx_tensor *in = sdx_in(call, 0);
    sdx_tensor *out = sdx_out(call, 0);
    if (!out || out->count == 0) return SDX_STATUS_OK;
    sdx_copy_elements(in, out);
    /* In memory the upper bits of a small signed integer repeat its sign; others have none. */
    const unsigned bits = sdx_dtype_file_bits(out->dtype);
    if (bits >= 8) return SDX_STATUS_OK;
    const bool is_signed = out->dtype == SDX_DTYPE_INT4 || out->dtype == SDX_DTYPE_INT2;
    const unsigned mask = (1u << bits) - 1, sign = is_signed ? 1u << (bits - 1) : 0;
    uint8_t *elements = out->data;
    for (size_t i = 0; i < out->count; i++)
        elements[i] = (uint8_t)(((elements[i] & mask) ^ sign) - sign);
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_bit_cast = {.min_in = 1,
                                    .max_in = 1,
                                    .min_out = 1,
                                    .max_out = 1,
                                    .flags = SDX_OP_IN_PLACE,
                                    .in_types = {SDX_T_ALL & ~SDX_T(STRING)},
                                    .params_size = sizeof(cast_params),
                                    .prepare = bit_cast_prepare,
                                    .infer = bit_cast_infer,
                                    .run = SDX_BODY(sdx_op_bit_cast, bit_cast_run)};
