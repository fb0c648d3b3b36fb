/* resize.c - the operators Resize and Upsample: attributes and inputs of all versions, the shape
 * rule, and the steps of a run. */
#include "ops/resize.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- prepare --------------------------------------------------------------------------------- */

/* How things were before version 11: input o is at o / scale. */
static void set_legacy(sdx_resize_params *p) {
    p->coordinates = SDX_COORD_ASYMMETRIC;
    p->rounding = SDX_ROUND_LEGACY;
    p->roi_input = p->scales_input = p->sizes_input = SDX_NONE;
}

static sdx_status get_mode(sdx_prep *prep, sdx_resize_params *p) {
    static const char *const words[] = {"nearest", "linear", "cubic", "bilinear", NULL};
    SDX_TRY(sdx_attr_get_choice(prep, "mode", SDX_RESIZE_NEAREST, words, &p->mode));
    if (p->mode == 3) p->mode = SDX_RESIZE_LINEAR; /* as Upsample called it in version 1 */
    return SDX_STATUS_OK;
}

static sdx_status upsample_prepare(sdx_prep *prep) {
    sdx_resize_params *p = prep->params;
    set_legacy(p);
    SDX_TRY(get_mode(prep, p));
    if (prep->version >= 9) {
        p->scales_input = 1;
        return SDX_STATUS_OK;
    }
    if (prep->version >= 7) {
        SDX_TRY(sdx_attr_get_floats(prep, "scales", &p->scales, &p->scale_count));
    } else {
        float *scales = sdx_prep_array(prep, 4, sizeof *scales);
        if (!scales) return SDX_STATUS_NO_MEMORY;
        scales[0] = scales[1] = 1;
        SDX_TRY(sdx_attr_need_float(prep, "height_scale", &scales[2]));
        SDX_TRY(sdx_attr_need_float(prep, "width_scale", &scales[3]));
        p->scales = scales;
        p->scale_count = 4;
    }
    if (p->scale_count == 0) return sdx_prep_fail(prep, "the attribute scales is missing or empty");
    return SDX_STATUS_OK;
}

static sdx_status resize_prepare(sdx_prep *prep) {
    static const char *const coordinates[] = {"half_pixel", "half_pixel_symmetric",
                                              "pytorch_half_pixel", "align_corners", "asymmetric",
                                              "tf_half_pixel_for_nn", "tf_crop_and_resize", NULL};
    static const char *const roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                            "ceil", NULL};
    static const char *const policies[] = {"stretch", "not_larger", "not_smaller", NULL};
    sdx_resize_params *p = prep->params;
    SDX_TRY(get_mode(prep, p));
    if (prep->version < 11) {
        set_legacy(p);
        p->scales_input = 1;
        return SDX_STATUS_OK;
    }
    p->roi_input = 1;
    p->scales_input = 2;
    p->sizes_input = 3;
    SDX_TRY(sdx_attr_get_choice(prep, "coordinate_transformation_mode", SDX_COORD_HALF_PIXEL,
                                coordinates, &p->coordinates));
    SDX_TRY(sdx_attr_get_choice(prep, "nearest_mode", SDX_ROUND_PREFER_FLOOR, roundings,
                                &p->rounding));
    SDX_TRY(sdx_attr_get_float(prep, "cubic_coeff_a", -0.75f, &p->cubic_a));
    SDX_TRY(sdx_attr_get_float(prep, "extrapolation_value", 0, &p->outside));
    SDX_TRY(sdx_attr_get_bool(prep, "exclude_outside", false, &p->exclude_outside));
    if (prep->version < 18) return SDX_STATUS_OK;
    SDX_TRY(sdx_attr_get_bool(prep, "antialias", false, &p->antialias));
    SDX_TRY(sdx_attr_get_choice(prep, "keep_aspect_ratio_policy", SDX_POLICY_STRETCH, policies,
                                &p->policy));
    SDX_TRY(sdx_attr_get_ints(prep, "axes", &p->axes, &p->axis_count));
    if (p->axis_count == 0) p->axes = NULL;
    if (p->axis_count > SDX_MAX_RANK)
        return sdx_prep_fail(prep, "axes has %zu values; at most %d are supported", p->axis_count,
                             SDX_MAX_RANK);
    return SDX_STATUS_OK;
}

/* ---- which axis takes which value ------------------------------------------------------------ */

/* Axis that value i of scales, sizes and roi speaks of. */
static int32_t axis_at(const sdx_resize_params *p, int32_t rank, size_t i) {
    if (!p->axes) return (int32_t)i;
    return (int32_t)(p->axes[i] < 0 ? p->axes[i] + rank : p->axes[i]);
}

static size_t value_count(const sdx_resize_params *p, int32_t rank) {
    return p->axes ? p->axis_count : (size_t)rank;
}

static sdx_status check_axes(sdx_infer *inf, const sdx_resize_params *p, int32_t rank) {
    bool seen[SDX_MAX_RANK] = {false};
    for (size_t i = 0; p->axes && i < p->axis_count; i++) {
        int32_t axis;
        SDX_TRY(sdx_infer_axis(inf, p->axes[i], rank, &axis));
        if (seen[axis]) return sdx_infer_fail(inf, "axis %d occurs twice in axes", axis);
        seen[axis] = true;
    }
    return SDX_STATUS_OK;
}

/* Whether an optional vector is there; an empty one is not. *known: that can be told now. */
static bool has_vector(const sdx_infer *inf, uint32_t input, bool *known) {
    *known = true;
    if (!sdx_infer_present(inf, input)) return false;
    sdx_expr count = sdx_infer_dim(inf, input, 0);
    *known = sdx_expr_is_const(count);
    return !sdx_expr_is(count, 0);
}

/* ---- output dims ----------------------------------------------------------------------------- */

/* floor(dim * scale), in float32 as other engines compute it. A symbolic dim needs a scale that is
 * a fraction of small numbers; then the result is exact where float32 is. */
static sdx_expr scaled_dim(sdx_infer *inf, sdx_expr dim, float scale) {
    if (scale == 1) return dim;
    if (sdx_expr_is_const(dim)) {
        float out = floorf((float)sdx_expr_value(dim) * scale);
        return out < 4e18f ? sdx_expr_const((int64_t)out) : SDX_EXPR_UNKNOWN;
    }
    for (int64_t below = 1; below <= 64; below *= 2) {
        float above = scale * (float)below;
        if (above != floorf(above) || above >= 65536) continue;
        sdx_expr product = sdx_inf_mul(inf, dim, sdx_expr_const((int64_t)above));
        return sdx_expr_floordiv(inf->pool, product, sdx_expr_const(below));
    }
    return SDX_EXPR_UNKNOWN;
}

static sdx_status dims_from_scales(sdx_infer *inf, const sdx_resize_params *p, int32_t rank,
                                   const float *scales, size_t count, sdx_expr *dims) {
    if (count != value_count(p, rank))
        return sdx_infer_fail(inf, "there are %zu scales, expected %zu", count,
                              value_count(p, rank));
    for (size_t i = 0; i < count; i++) {
        int32_t axis = axis_at(p, rank, i);
        if (!(scales[i] > 0) || !isfinite(scales[i]))
            return sdx_infer_fail(inf, "scale %zu is %g, expected more than 0", i,
                                  (double)scales[i]);
        dims[axis] = scaled_dim(inf, dims[axis], scales[i]);
    }
    return SDX_STATUS_OK;
}

/* The one scale that all axes get under keep_aspect_ratio_policy. */
static double common_scale(const sdx_resize_params *p, size_t count, const double *ratios) {
    double scale = ratios[0];
    for (size_t i = 1; i < count; i++)
        if (p->policy == SDX_POLICY_NOT_LARGER ? ratios[i] < scale : ratios[i] > scale)
            scale = ratios[i];
    return scale;
}

static sdx_status dims_from_sizes(sdx_infer *inf, const sdx_resize_params *p, int32_t rank,
                                  const sdx_expr *sizes, size_t count, sdx_expr *dims) {
    if (count != value_count(p, rank))
        return sdx_infer_fail(inf, "there are %zu sizes, expected %zu", count,
                              value_count(p, rank));
    double ratios[SDX_MAX_RANK];
    bool all = count > 0;
    for (size_t i = 0; i < count; i++) {
        sdx_expr in = dims[axis_at(p, rank, i)];
        if (sdx_expr_is_const(sizes[i]) && sdx_expr_value(sizes[i]) < 0)
            return sdx_infer_fail(inf, "size %zu is %" PRId64, i, sdx_expr_value(sizes[i]));
        all = all && sdx_expr_is_const(in) && sdx_expr_is_const(sizes[i]) && !sdx_expr_is(in, 0);
        if (all) ratios[i] = (double)sdx_expr_value(sizes[i]) / (double)sdx_expr_value(in);
    }
    for (size_t i = 0; i < count; i++) {
        int32_t axis = axis_at(p, rank, i);
        if (p->policy == SDX_POLICY_STRETCH) {
            dims[axis] = sizes[i];
        } else if (!all) {
            dims[axis] = SDX_EXPR_UNKNOWN;
        } else {
            double out = floor(common_scale(p, count, ratios) * (double)sdx_expr_value(dims[axis]) +
                               0.5);
            dims[axis] = out < 4e18 ? sdx_expr_const((int64_t)out) : SDX_EXPR_UNKNOWN;
        }
    }
    return SDX_STATUS_OK;
}

/* Output dims from whichever of scales and sizes is there; dims starts as the input's. */
static sdx_status out_dims(sdx_infer *inf, const sdx_resize_params *p, int32_t rank,
                           sdx_expr *dims) {
    bool scales_known, sizes_known;
    bool has_scales = has_vector(inf, p->scales_input, &scales_known);
    bool has_sizes = has_vector(inf, p->sizes_input, &sizes_known);
    if (p->scales) return dims_from_scales(inf, p, rank, p->scales, p->scale_count, dims);
    if (has_scales && has_sizes && scales_known && sizes_known)
        return sdx_infer_fail(inf, "both scales and sizes are given");
    if (!has_scales && !has_sizes) return sdx_infer_fail(inf, "neither scales nor sizes are given");
    const sdx_tensor *scales = has_scales ? sdx_infer_tensor(inf, p->scales_input) : NULL;
    if (has_scales && scales_known && scales)
        return dims_from_scales(inf, p, rank, scales->data, scales->count, dims);
    sdx_expr sizes[SDX_MAX_RANK];
    size_t count;
    if (has_sizes && sizes_known && !has_scales &&
        sdx_infer_contents(inf, p->sizes_input, sizes, SDX_MAX_RANK, &count))
        return dims_from_sizes(inf, p, rank, sizes, count, dims);
    for (size_t i = 0; i < value_count(p, rank); i++) dims[axis_at(p, rank, i)] = SDX_EXPR_UNKNOWN;
    return SDX_STATUS_OK;
}

/* ---- scratch --------------------------------------------------------------------------------- */

/* Tables, and two buffers per piece for the tensors between passes. What this estimate misses is
 * taken from the heap. */
static void add_scratch(sdx_infer *inf, const sdx_resize_params *p, int32_t rank,
                        const sdx_expr *dims) {
    sdx_expr bytes = sdx_expr_const(64 * (rank + 1)), slice = sdx_expr_const(1);
    int32_t changed = 0;
    bool inside = false;
    for (int32_t a = 0; a < rank; a++) {
        sdx_expr in = sdx_infer_dim(inf, 0, a), most = sdx_expr_max(inf->pool, in, dims[a]);
        /* index, weight, weight32: 20 bytes per tap; antialiasing has up to 8 per input. */
        int64_t each = p->mode == SDX_RESIZE_CUBIC ? 4 : 2;
        sdx_expr taps = sdx_inf_mul(inf, dims[a], sdx_expr_const(each));
        if (p->antialias) taps = sdx_inf_mul(inf, sdx_inf_add(inf, in, dims[a]), sdx_expr_const(8));
        bytes = sdx_inf_add(inf, bytes, sdx_inf_mul(inf, taps, sdx_expr_const(20)));
        bool same = sdx_expr_same(in, dims[a]);
        changed += !same;
        inside = inside || !same;
        if (inside) slice = sdx_inf_mul(inf, slice, most);
    }
    bool whole = sdx_dtypes_has(SDX_T_INTS | SDX_T(BOOL), sdx_infer_dtype(inf, 0));
    bool rows = changed == 1 && !sdx_expr_same(sdx_infer_dim(inf, 0, rank - 1), dims[rank - 1]);
    sdx_infer_add_scratch_expr(inf, bytes);
    if (p->mode == SDX_RESIZE_NEAREST || (changed < 2 && !whole && !rows)) return;
    if (rows) slice = sdx_inf_mul(inf, slice, sdx_expr_const(SDX_RESIZE_ROWS));
    int64_t size = sdx_infer_dtype(inf, 0) == SDX_DTYPE_FLOAT32 ? 4 : 8;
    sdx_expr buffer = sdx_inf_add(inf, sdx_inf_mul(inf, slice, sdx_expr_const(size)),
                                  sdx_expr_const(64));
    sdx_expr slices = sdx_expr_const(1);
    for (int32_t a = 0; a < rank && sdx_expr_same(sdx_infer_dim(inf, 0, a), dims[a]); a++)
        slices = sdx_inf_mul(inf, slices, dims[a]);
    sdx_expr pieces = sdx_expr_min(inf->pool, slices, sdx_expr_const(SDX_RESIZE_PIECES));
    sdx_infer_add_scratch_expr(
        inf, sdx_inf_mul(inf, sdx_inf_mul(inf, buffer, pieces), sdx_expr_const(2)));
}

static sdx_status infer(sdx_infer *inf) {
    const sdx_resize_params *p = inf->params;
    int32_t rank = sdx_infer_rank(inf, 0);
    sdx_infer_set_dtype(inf, 0, sdx_infer_dtype(inf, 0));
    if (sdx_infer_dtype(inf, 0) == SDX_DTYPE_STRING && p->mode != SDX_RESIZE_NEAREST)
        return sdx_infer_fail(inf, "text can be resized in mode nearest only");
    for (uint32_t i = 1; i < inf->in_count; i++) SDX_TRY(sdx_infer_require_rank(inf, i, 1));
    if (rank < 0) return sdx_infer_set_shape(inf, 0, -1, NULL);
    SDX_TRY(check_axes(inf, p, rank));
    sdx_expr dims[SDX_MAX_RANK];
    for (int32_t a = 0; a < rank; a++) dims[a] = sdx_infer_dim(inf, 0, a);
    SDX_TRY(out_dims(inf, p, rank, dims));
    for (int32_t a = 0; a < rank; a++)
        if (sdx_expr_is(sdx_infer_dim(inf, 0, a), 0) && sdx_expr_is_const(dims[a]) &&
            !sdx_expr_is(dims[a], 0))
            return sdx_infer_fail(inf, "axis %d is empty and cannot be resized to %" PRId64, a,
                                  sdx_expr_value(dims[a]));
    if (p->coordinates == SDX_COORD_TF_CROP_AND_RESIZE)
        SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, p->roi_input, 0),
                                        sdx_expr_const(2 * (int64_t)value_count(p, rank)), "roi"));
    SDX_TRY(sdx_infer_set_shape(inf, 0, rank, dims));
    if (p->mode != SDX_RESIZE_NEAREST) sdx_infer_half_scratch(inf);
    add_scratch(inf, p, rank, dims);
    return SDX_STATUS_OK;
}

/* ---- run ------------------------------------------------------------------------------------- */

static sdx_status set_scales(sdx_call *call, const sdx_resize_params *p, int32_t rank,
                             sdx_resize_axis *axes) {
    const sdx_tensor *scales = sdx_in(call, p->scales_input), *sizes = sdx_in(call, p->sizes_input);
    const float *values = p->scales ? p->scales : scales && scales->count > 0 ? scales->data : NULL;
    double ratios[SDX_MAX_RANK];
    size_t count = value_count(p, rank);
    bool policy = !values && p->policy != SDX_POLICY_STRETCH;
    for (size_t i = 0; i < count; i++) {
        sdx_resize_axis *axis = &axes[axis_at(p, rank, i)];
        ratios[i] = values   ? (double)values[i]
                    : policy ? (double)sdx_tensor_int(sizes, i) / (double)axis->in
                             : (double)axis->out / (double)axis->in;
        if (!(ratios[i] > 0) && axis->out > 0)
            return sdx_call_fail(call, "scale %zu is %g, expected more than 0", i, ratios[i]);
    }
    for (size_t i = 0; i < count; i++) {
        sdx_resize_axis *axis = &axes[axis_at(p, rank, i)];
        axis->scale = policy ? common_scale(p, count, ratios) : ratios[i];
        axis->length = values || policy ? axis->scale * (double)axis->in : (double)axis->out;
    }
    return SDX_STATUS_OK;
}

static sdx_status set_roi(sdx_call *call, const sdx_resize_params *p, int32_t rank,
                          sdx_resize_axis *axes) {
    if (p->coordinates != SDX_COORD_TF_CROP_AND_RESIZE) return SDX_STATUS_OK;
    const sdx_tensor *roi = sdx_in(call, p->roi_input);
    size_t count = value_count(p, rank);
    if (!roi || roi->count != 2 * count)
        return sdx_call_fail(call, "roi has %zu values, expected %zu", roi ? roi->count : 0,
                             2 * count);
    for (size_t i = 0; i < count; i++) {
        axes[axis_at(p, rank, i)].start = sdx_tensor_double(roi, i);
        axes[axis_at(p, rank, i)].end = sdx_tensor_double(roi, i + count);
    }
    return SDX_STATUS_OK;
}

static sdx_status body(sdx_call *call) {
    const sdx_resize_params *p = call->params;
    const sdx_tensor *x = sdx_in(call, 0);
    sdx_tensor *y = sdx_out(call, 0);
    sdx_resize_axis axes[SDX_MAX_RANK];
    if (y->count == 0) return SDX_STATUS_OK;
    for (int32_t a = 0; a < x->rank; a++)
        axes[a] = (sdx_resize_axis){.in = x->dims[a], .out = y->dims[a], .scale = 1,
                                    .length = (double)y->dims[a], .start = 0, .end = 1};
    SDX_TRY(set_scales(call, p, x->rank, axes));
    SDX_TRY(set_roi(call, p, x->rank, axes));
    size_t total = 0, bytes[SDX_MAX_RANK];
    for (int32_t a = 0; a < x->rank; a++)
        if (!sdx_resize_table_bytes(p, &axes[a], &bytes[a]) ||
            !sdx_size_add(total, bytes[a], &total))
            return sdx_call_fail_with(call, SDX_STATUS_LIMIT, "the table of axis %d is too large",
                                      a);
    sdx_scratch scratch;
    SDX_TRY(sdx_call_scratch(call, total, &scratch));
    char *table = scratch.data;
    for (int32_t a = 0; a < x->rank; a++) {
        sdx_resize_fill_table(p, &axes[a], table);
        table += bytes[a];
    }
    sdx_status status = SDX_STATUS_OK;
    if (p->mode == SDX_RESIZE_NEAREST)
        sdx_resize_nearest(call, p, axes, x, y);
    else
        status = sdx_resize_interpolate(call, p, axes, x, y, scratch.temp ? NULL : table,
                                        scratch.temp ? 0 : call->scratch_bytes - total);
    sdx_call_scratch_end(call, &scratch);
    return status;
}

static sdx_status run(sdx_call *call) {
    const sdx_resize_params *p = call->params;
    bool wanted;
    if (p->mode != SDX_RESIZE_NEAREST) return sdx_call_half(call, body);
    SDX_TRY(sdx_call_ready(call, &wanted));
    return wanted ? body(call) : SDX_STATUS_OK;
}

#define DATA (SDX_T_NUMERIC | SDX_T(BOOL) | SDX_T(STRING) | SDX_T_COMPLEX)

const sdx_op_def sdx_op_resize_10 = {
    .min_in = 2, .max_in = 2, .min_out = 1, .max_out = 1,
    .in_types = {DATA, SDX_T(FLOAT32)},
    .params_size = sizeof(sdx_resize_params),
    .prepare = resize_prepare, .infer = infer, .run = SDX_BODY(sdx_op_resize_10, run),
};

const sdx_op_def sdx_op_resize = {
    .min_in = 1, .max_in = 4, .min_out = 1, .max_out = 1,
    .in_types = {DATA, SDX_T_FLOATS, SDX_T(FLOAT32), SDX_T(INT64)},
    .params_size = sizeof(sdx_resize_params),
    .prepare = resize_prepare, .infer = infer, .run = SDX_BODY(sdx_op_resize, run),
};

const sdx_op_def sdx_op_upsample = {
    .min_in = 1, .max_in = 2, .min_out = 1, .max_out = 1,
    .in_types = {DATA, SDX_T(FLOAT32)},
    .params_size = sizeof(sdx_resize_params),
    .prepare = upsample_prepare, .infer = infer, .run = SDX_BODY(sdx_op_upsample, run),
};
