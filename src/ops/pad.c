/* pad.c - Pad and CenterCropPad: a frame around a tensor, or, where a pad is negative, a part cut
 * off. Axes that are not padded are joined first; the rest goes row by row. Along each padded axis
 * a map says which source position an output position shows, or -1 for the constant. */
#include "ops/movement.h"

typedef enum pad_mode { PAD_CONSTANT, PAD_REFLECT, PAD_EDGE, PAD_WRAP } pad_mode;

#define ROW_BYTES ((size_t)1 << 15) /* of output per piece of parallel work, at least */

/* ---- the shared body ------------------------------------------------------------------------ */

/* An axis, or several without padding that follow each other. */
typedef struct pad_axis {
    int64_t in, out;    /* lengths */
    int64_t step;       /* of the source, in bytes */
    int64_t low, high;  /* output positions [low, high) show the source's own */
    const int64_t *map; /* NULL: position i is i */
} pad_axis;

typedef struct pad_job {
    pad_axis axes[SDX_MAX_RANK];
    int32_t rank;
    pad_mode mode;
    size_t unit, block; /* bytes of an element, elements behind one position of the last axis */
    unsigned char value[SDX_MAX_UNIT];
    const char *from;
    char *to;
} pad_job;

static int64_t floor_mod(int64_t a, int64_t b) {
    const int64_t rest = a % b;
    return rest < 0 ? rest + b : rest;
}

/* Position k of the pattern that `length` (at least 1) elements make in both directions. */
static int64_t pad_source(pad_mode mode, int64_t k, int64_t length) {
    if (mode == PAD_EDGE || length == 1) return k < 0 ? 0 : k < length ? k : length - 1;
    if (mode == PAD_WRAP) return floor_mod(k, length);
    const int64_t period = 2 * (length - 1), at = floor_mod(k, period);
    return at < length ? at : period - at;
}

/* Fills the axis in, and its map; fails where there is nothing to take the padding from. */
static sdx_status pad_map(sdx_call *call, pad_axis *axis, pad_mode mode, int64_t before,
                          int64_t *map) {
    const int64_t after = axis->out - axis->in - before;
    const int64_t first = before < 0 ? -before : 0; /* what is cut off in front */
    int64_t kept = axis->in - first + (after < 0 ? after : 0);
    if (kept < 0) kept = 0;
    if (kept == 0 && mode != PAD_CONSTANT)
        return sdx_call_fail(call, "an axis without elements cannot be padded with its own");
    axis->low = before > 0 ? before : 0;
    if (axis->low > axis->out) axis->low = axis->out;
    axis->high = kept < axis->out - axis->low ? axis->low + kept : axis->out;
    axis->map = map;
    for (int64_t i = 0; i < axis->out; ++i) {
        const bool inside = i >= axis->low && i < axis->high;
        if (mode == PAD_CONSTANT) map[i] = inside ? first + i - axis->low : -1;
        else map[i] = first + (inside ? i - axis->low : pad_source(mode, i - axis->low, kept));
    }
    return SDX_STATUS_OK;
}

static void pad_row(const pad_job *job, const char *from, char *to) {
    const pad_axis *last = &job->axes[job->rank - 1];
    const size_t bytes = job->block * job->unit;
    if (!from) {
        sdx_fill_row(to, job->value, job->unit, (size_t)last->out * job->block);
        return;
    }
    if (job->mode == PAD_CONSTANT) {
        sdx_fill_row(to, job->value, job->unit, (size_t)last->low * job->block);
        sdx_fill_row(to + (size_t)last->high * bytes, job->value, job->unit,
                     (size_t)(last->out - last->high) * job->block);
    } else {
        for (int64_t i = 0; i < last->low; ++i)
            memcpy(to + (size_t)i * bytes, from + (size_t)last->map[i] * bytes, bytes);
        for (int64_t i = last->high; i < last->out; ++i)
            memcpy(to + (size_t)i * bytes, from + (size_t)last->map[i] * bytes, bytes);
    }
    if (last->high > last->low)
        memcpy(to + (size_t)last->low * bytes, from + (size_t)last->map[last->low] * bytes,
               (size_t)(last->high - last->low) * bytes);
}

static void pad_rows(void *arg, size_t begin, size_t end) {
    const pad_job *job = arg;
    const int32_t outer = job->rank - 1;
    const size_t row = (size_t)job->axes[outer].out * job->block * job->unit;
    int64_t at[SDX_MAX_RANK] = {0};
    size_t rest = begin;
    for (int32_t i = outer - 1; i >= 0; --i) {
        at[i] = (int64_t)(rest % (size_t)job->axes[i].out);
        rest /= (size_t)job->axes[i].out;
    }
    for (size_t r = begin; r < end; ++r) {
        int64_t offset = 0;
        bool outside = false;
        for (int32_t i = 0; i < outer; ++i) {
            const pad_axis *axis = &job->axes[i];
            const int64_t source = axis->map ? axis->map[at[i]] : at[i];
            outside |= source < 0;
            offset += source * axis->step;
        }
        pad_row(job, outside ? NULL : job->from + offset, job->to + r * row);
        for (int32_t i = outer - 1; i >= 0 && ++at[i] == job->axes[i].out; --i) at[i] = 0;
    }
}

/* Joins axes without padding; those at the end become the block. */
static sdx_status pad_axes(sdx_call *call, pad_job *job, const int64_t *before) {
    const sdx_tensor *in = sdx_in(call, 0), *out = sdx_out(call, 0);
    int64_t *map = call->scratch, step;
    bool open = false; /* the axis made last has no padding */
    job->rank = 0;
    for (int32_t i = 0; i < in->rank; ++i) {
        const bool plain = before[i] == 0 && in->dims[i] == out->dims[i];
        if (plain && open) {
            job->axes[job->rank - 1].in *= in->dims[i];
            job->axes[job->rank - 1].out *= in->dims[i];
            continue;
        }
        pad_axis *axis = &job->axes[job->rank++];
        *axis = (pad_axis){.in = in->dims[i], .out = out->dims[i]};
        open = plain;
        if (plain) continue;
        SDX_TRY(pad_map(call, axis, job->mode, before[i], map));
        map += axis->out;
    }
    job->block = 1;
    if (open) job->block = (size_t)job->axes[--job->rank].in;
    step = (int64_t)(job->block * job->unit);
    for (int32_t i = job->rank - 1; i >= 0; --i) {
        job->axes[i].step = step;
        step *= job->axes[i].in;
    }
    return SDX_STATUS_OK;
}

/* before: per axis; what comes after follows from the output's dims. job: mode and value. */
static sdx_status pad_body(sdx_call *call, pad_job *job, const int64_t *before) {
    const sdx_tensor *in = sdx_in(call, 0);
    sdx_tensor *out = sdx_out(call, 0);
    size_t rows = 1;
    if (out->count == 0) return SDX_STATUS_OK;
    job->unit = sdx_dtype_size(in->dtype);
    job->from = in->data;
    job->to = out->data;
    const size_t bytes = out->count * job->unit;
    SDX_TRY(pad_axes(call, job, before));
    if (job->rank == 0) {
        sdx_move_bytes(in->data, out->data, bytes, call->host->pool);
        return SDX_STATUS_OK;
    }
    for (int32_t i = 0; i + 1 < job->rank; ++i) rows *= (size_t)job->axes[i].out;
    sdx_call_parallel(call, rows, 1 + ROW_BYTES / (bytes / rows), pad_rows, job);
    return SDX_STATUS_OK;
}

/* Room for the maps: at most every axis has one. */
static void pad_scratch(sdx_infer *inf, const sdx_expr *dims, int32_t rank) {
    sdx_expr total = sdx_expr_const(0);
    for (int32_t i = 0; i < rank; ++i) total = sdx_inf_add(inf, total, dims[i]);
    inf->scratch = sdx_inf_mul(inf, total, sdx_expr_const((int64_t)sizeof(int64_t)));
}

/* ---- Pad ------------------------------------------------------------------------------------ */

typedef struct pad_params {
    int mode;
    const int64_t *pads; /* before version 11 */
    size_t count;
    float value;
    bool from_input;
} pad_params;

static sdx_status pad_prepare(sdx_prep *prep) {
    static const char *const words[] = {"constant", "reflect", "edge", "wrap", NULL};
    static const char *const words_18[] = {"constant", "reflect", "edge", NULL};
    pad_params *p = prep->params;
    const char *name = prep->version < 2 ? "paddings" : "pads";
    p->from_input = prep->version >= 11;
    SDX_TRY(sdx_attr_get_choice(prep, "mode", PAD_CONSTANT, prep->version < 19 ? words_18 : words,
                                &p->mode));
    if (p->from_input) return SDX_STATUS_OK;
    SDX_TRY(sdx_attr_get_float(prep, "value", 0.0F, &p->value));
    if (!sdx_attr_has(prep, name)) return sdx_prep_fail(prep, "attribute '%s' is missing", name);
    SDX_TRY(sdx_attr_get_ints(prep, name, &p->pads, &p->count));
    if (p->count > 2 * SDX_MAX_RANK || p->count % 2 != 0)
        return sdx_prep_fail(prep, "%s has %zu entries; there must be two per axis", name,
                             p->count);
    return SDX_STATUS_OK;
}

typedef struct pad_lists {
    sdx_expr pads[2 * SDX_MAX_RANK], axes[SDX_MAX_RANK];
    size_t axis_count;
    bool known;
} pad_lists;

static sdx_status pad_read_axes(sdx_infer *inf, int32_t rank, pad_lists *lists) {
    int64_t length;
    lists->known = true;
    lists->axis_count = (size_t)rank;
    for (int32_t i = 0; i < rank; ++i) lists->axes[i] = sdx_expr_const(i);
    if (!sdx_infer_present(inf, 3)) return SDX_STATUS_OK;
    SDX_TRY(sdx_move_vector(inf, 3, &length));
    if (length > rank)
        return sdx_infer_fail(inf, "axes has %lld entries, but the input has rank %d",
                              (long long)length, (int)rank);
    lists->known = sdx_move_ints(inf, 3, lists->axes, (size_t)rank, &lists->axis_count);
    return SDX_STATUS_OK;
}

static sdx_status pad_read(sdx_infer *inf, const pad_params *p, int32_t rank, pad_lists *lists) {
    size_t count = p->count;
    SDX_TRY(pad_read_axes(inf, rank, lists));
    if (!lists->known) return SDX_STATUS_OK;
    if (p->from_input) {
        int64_t length;
        SDX_TRY(sdx_move_vector(inf, 1, &length));
        lists->known = sdx_move_ints(inf, 1, lists->pads, 2 * SDX_MAX_RANK, &count);
        if (!lists->known && length < 0) return SDX_STATUS_OK;
        if (!lists->known) count = (size_t)length;
    } else {
        for (size_t i = 0; i < count; ++i) lists->pads[i] = sdx_move_saturated(p->pads[i]);
    }
    if (count != 2 * lists->axis_count)
        return sdx_infer_fail(inf, "pads has %zu entries for %zu axes; there must be two for each",
                              count, lists->axis_count);
    return SDX_STATUS_OK;
}

/* Keeps sums of pads and dims far from overflow. */
static sdx_status pad_check(sdx_infer *inf, sdx_expr pad) {
    const int64_t limit = (int64_t)1 << 48;
    if (!sdx_expr_is_const(pad) || (sdx_expr_value(pad) > -limit && sdx_expr_value(pad) < limit))
        return SDX_STATUS_OK;
    return sdx_infer_fail(inf, "a pad of %lld is out of any range", (long long)sdx_expr_value(pad));
}

static sdx_status pad_infer(sdx_infer *inf) {
    const pad_params *p = inf->params;
    const int32_t rank = sdx_infer_rank(inf, 0);
    sdx_expr dims[SDX_MAX_RANK];
    pad_lists lists;
    uint32_t seen = 0;
    sdx_infer_set_dtype(inf, 0, sdx_infer_dtype(inf, 0));
    if (sdx_infer_present(inf, 2)) {
        SDX_TRY(sdx_move_same_dtype(inf, 2, 0));
        SDX_TRY(sdx_move_require_scalar(inf, 2));
    }
    if (rank < 0) return sdx_move_shape(inf, 0, -1, NULL);
    SDX_TRY(pad_read(inf, p, rank, &lists));
    if (!lists.known) return sdx_move_unknown_dims(inf, 0, rank);
    sdx_move_copy_dims(inf, 0, dims);
    for (size_t i = 0; i < lists.axis_count; ++i) {
        int32_t axis;
        if (!sdx_expr_is_const(lists.axes[i])) return sdx_move_unknown_dims(inf, 0, rank);
        SDX_TRY(sdx_infer_axis(inf, sdx_expr_value(lists.axes[i]), rank, &axis));
        if ((seen >> axis & 1u) != 0)
            return sdx_infer_fail(inf, "axis %d is padded twice", (int)axis);
        seen |= (uint32_t)1 << axis;
        SDX_TRY(pad_check(inf, lists.pads[i]));
        SDX_TRY(pad_check(inf, lists.pads[i + lists.axis_count]));
        dims[axis] = sdx_inf_add(inf, dims[axis], lists.pads[i]);
        dims[axis] = sdx_inf_add(inf, dims[axis], lists.pads[i + lists.axis_count]);
        if (sdx_expr_is_const(dims[axis]) && sdx_expr_value(dims[axis]) < 0)
            return sdx_infer_fail(inf, "padding leaves axis %d with length %lld", (int)axis,
                                  (long long)sdx_expr_value(dims[axis]));
    }
    pad_scratch(inf, dims, rank);
    return sdx_move_shape(inf, 0, rank, dims);
}

static sdx_status pad_run(sdx_call *call) {
    const pad_params *p = call->params;
    const sdx_tensor *in = sdx_in(call, 0), *pads = sdx_in(call, 1), *axes = sdx_in(call, 3);
    const sdx_tensor *value = sdx_in(call, 2);
    const size_t count = axes ? axes->count : (size_t)in->rank;
    int64_t before[SDX_MAX_RANK] = {0};
    pad_job job = {.mode = (pad_mode)p->mode};
    for (size_t i = 0; i < count; ++i) {
        int64_t axis = axes ? sdx_move_index(axes, i) : (int64_t)i;
        SDX_TRY(sdx_call_index(call, axis, in->rank, "axis", &axis)); /* of a scalar, say */
        before[axis] = p->from_input ? sdx_move_index(pads, i) : p->pads[i];
    }
    if (value) memcpy(job.value, value->data, sdx_dtype_size(value->dtype));
    else if (!p->from_input) sdx_move_float(in->dtype, (double)p->value, job.value);
    else sdx_move_zero(in->dtype, job.value);
    return pad_body(call, &job, before);
}

const sdx_op_def sdx_op_pad_1 = {
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .in_types = {SDX_T_FLOATS},
    .params_size = sizeof(pad_params),
    .prepare = pad_prepare,
    .infer = pad_infer,
    .run = SDX_BODY(sdx_op_pad_1, pad_run),
};
const sdx_op_def sdx_op_pad_11 = {
    .min_in = 2,
    .max_in = 3,
    .min_out = 1,
    .max_out = 1,
    .in_types = {SDX_T_ALL, SDX_T(INT64), SDX_T_ALL},
    .params_size = sizeof(pad_params),
    .prepare = pad_prepare,
    .infer = pad_infer,
    .run = SDX_BODY(sdx_op_pad_11, pad_run),
};
const sdx_op_def sdx_op_pad = {
    .min_in = 2,
    .max_in = 4,
    .min_out = 1,
    .max_out = 1,
    .in_types = {SDX_T_ALL, SDX_T(INT64), SDX_T_ALL, SDX_T_INDEX},
    .params_size = sizeof(pad_params),
    .prepare = pad_prepare,
    .infer = pad_infer,
    .run = SDX_BODY(sdx_op_pad, pad_run),
};

/* ---- CenterCropPad -------------------------------------------------------------------------- */

typedef struct center_params {
    const int64_t *axes;
    size_t count;
    bool given;
} center_params;

static sdx_status center_prepare(sdx_prep *prep) {
    center_params *p = prep->params;
    p->given = sdx_attr_has(prep, "axes");
    SDX_TRY(sdx_attr_get_ints(prep, "axes", &p->axes, &p->count));
    if (p->count > SDX_MAX_RANK)
        return sdx_prep_fail(prep, "axes has %zu entries; at most %d are supported", p->count,
                             SDX_MAX_RANK);
    return SDX_STATUS_OK;
}

static sdx_status center_infer(sdx_infer *inf) {
    const center_params *p = inf->params;
    const int32_t rank = sdx_infer_rank(inf, 0);
    sdx_expr dims[SDX_MAX_RANK], want[SDX_MAX_RANK];
    int64_t length;
    size_t count;
    uint32_t seen = 0;
    sdx_infer_set_dtype(inf, 0, sdx_infer_dtype(inf, 0));
    SDX_TRY(sdx_move_vector(inf, 1, &length));
    if (rank < 0) return sdx_move_shape(inf, 0, -1, NULL);
    const int64_t axes = p->given ? (int64_t)p->count : rank;
    if (sdx_move_ints(inf, 1, want, SDX_MAX_RANK, &count)) length = (int64_t)count;
    else
        for (int32_t i = 0; i < SDX_MAX_RANK; ++i) want[i] = SDX_EXPR_UNKNOWN;
    if (length >= 0 && length != axes)
        return sdx_infer_fail(inf, "shape has %lld entries for %lld axes", (long long)length,
                              (long long)axes);
    sdx_move_copy_dims(inf, 0, dims);
    for (int64_t i = 0; i < axes; ++i) {
        int32_t axis;
        SDX_TRY(sdx_infer_axis(inf, p->given ? p->axes[i] : i, rank, &axis));
        if ((seen >> axis & 1u) != 0)
            return sdx_infer_fail(inf, "axis %d is given twice", (int)axis);
        seen |= (uint32_t)1 << axis;
        dims[axis] = want[i];
        if (sdx_expr_is_const(want[i]) && sdx_expr_value(want[i]) < 0)
            return sdx_infer_fail(inf, "shape asks for length %lld",
                                  (long long)sdx_expr_value(want[i]));
    }
    pad_scratch(inf, dims, rank);
    return sdx_move_shape(inf, 0, rank, dims);
}

/* Half of the difference goes in front, rounded down whether it is added or cut off. */
static sdx_status center_run(sdx_call *call) {
    const sdx_tensor *in = sdx_in(call, 0);
    const sdx_tensor *out = sdx_out(call, 0);
    int64_t before[SDX_MAX_RANK] = {0};
    pad_job job = {.mode = PAD_CONSTANT};
    for (int32_t i = 0; i < in->rank; ++i) before[i] = (out->dims[i] - in->dims[i]) / 2;
    sdx_move_zero(in->dtype, job.value);
    return pad_body(call, &job, before);
}

const sdx_op_def sdx_op_center_crop_pad = {
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .in_types = {SDX_T_ALL, SDX_T_INDEX},
    .params_size = sizeof(center_params),
    .prepare = center_prepare,
    .infer = center_infer,
    .run = SDX_BODY(sdx_op_center_crop_pad, center_run),
};
