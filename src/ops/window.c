/* window.c - attributes and shapes of sliding windows; see window.h. */
#include "ops/window.h"

#include <inttypes.h>

/* Values beyond this make no sense, and below it no sum or product of a few can overflow. */
#define MAX_VALUE INT32_MAX

sdx_status sdx_window_attr(sdx_prep *prep, sdx_window_attrs *attrs, const char *name,
                           size_t per_axis, int64_t least, const int64_t **out) {
    size_t count;
    *out = NULL;
    SDX_TRY(sdx_attr_get_ints(prep, name, out, &count));
    if (count == 0) {
        *out = NULL;
        return SDX_STATUS_OK;
    }
    if (count % per_axis != 0 || count / per_axis > SDX_MAX_RANK)
        return sdx_prep_fail(prep, "%s has %zu values, expected %s spatial axis (at most %d axes)",
                             name, count, per_axis == 2 ? "2 per" : "1 per", SDX_MAX_RANK - 2);
    if (attrs->axes != 0 && attrs->axes != count / per_axis)
        return sdx_prep_fail(prep, "%s has %zu values, but another attribute speaks of %zu axes",
                             name, count, attrs->axes);
    attrs->axes = count / per_axis;
    for (size_t i = 0; i < count; i++)
        if ((*out)[i] < least || (*out)[i] > MAX_VALUE)
            return sdx_prep_fail(prep, "%s[%zu] is %" PRId64 ", expected %" PRId64 " to %" PRId64,
                                 name, i, (*out)[i], least, (int64_t)MAX_VALUE);
    return SDX_STATUS_OK;
}

sdx_status sdx_window_prepare(sdx_prep *prep, sdx_window_attrs *attrs, bool pool) {
    static const char *const words[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID", NULL};
    int choice;
    SDX_TRY(sdx_window_attr(prep, attrs, "kernel_shape", 1, 1, &attrs->kernel));
    if (pool && !attrs->kernel)
        return sdx_prep_fail(prep, "the attribute kernel_shape is missing");
    SDX_TRY(sdx_window_attr(prep, attrs, "strides", 1, 1, &attrs->strides));
    SDX_TRY(sdx_window_attr(prep, attrs, "dilations", 1, 1, &attrs->dilations));
    SDX_TRY(sdx_window_attr(prep, attrs, "pads", 2, 0, &attrs->pads));
    SDX_TRY(sdx_attr_get_choice(prep, "auto_pad", SDX_PAD_NOTSET, words, &choice));
    attrs->auto_pad = (sdx_auto_pad)choice;
    return pool ? sdx_attr_get_bool(prep, "ceil_mode", false, &attrs->ceil_mode) : SDX_STATUS_OK;
}

sdx_status sdx_window_check_rank(sdx_infer *inf, const sdx_window_attrs *attrs, int32_t rank) {
    if (rank < 0) return SDX_STATUS_OK;
    if (rank < 3)
        return sdx_infer_fail(inf, "the input has rank %d, expected batch, channels and at least "
                                   "one spatial axis", rank);
    if (attrs->axes != 0 && attrs->axes != (size_t)rank - 2)
        return sdx_infer_fail(inf, "the attributes speak of %zu spatial axes, the input of rank %d "
                                   "has %d", attrs->axes, rank, rank - 2);
    return SDX_STATUS_OK;
}

sdx_status sdx_require_groups(sdx_infer *inf, sdx_expr channels, int64_t groups,
                              const char *what) {
    if (groups == 1) return SDX_STATUS_OK;
    if (sdx_expr_is_const(channels) && sdx_expr_value(channels) % groups != 0)
        return sdx_infer_fail(inf, "%" PRId64 " %s do not fall into %" PRId64 " groups",
                              sdx_expr_value(channels), what, groups);
    return sdx_infer_require_equal(inf, sdx_expr_mod(inf->pool, channels, sdx_expr_const(groups)),
                                   sdx_expr_const(0), "channels beyond whole groups");
}

/* The window must fit into the padded axis: `room` beside it may not be negative. */
static sdx_status require_room(sdx_infer *inf, int32_t axis, sdx_expr room, sdx_expr wide,
                               sdx_expr padded) {
    int64_t least;
    if (sdx_expr_is_const(room) && sdx_expr_value(room) < 0)
        return sdx_infer_fail(inf, "a window of %" PRId64 " does not fit into spatial axis %d, "
                                   "which is %" PRId64 " long with its padding",
                              sdx_expr_value(wide), axis, sdx_expr_value(padded));
    if (!inf->pool || sdx_expr_is_unknown(room) ||
        (sdx_expr_lower_bound(inf->pool, room, &least) && least >= 0))
        return SDX_STATUS_OK;
    return sdx_infer_require_equal(inf, sdx_expr_max(inf->pool, room, sdx_expr_const(0)), room,
                                   "the window is larger than the padded input");
}

/* Taps spread by the dilation: (kernel - 1) * dilation + 1. */
static sdx_expr spread(sdx_infer *inf, const sdx_window_attrs *attrs, int32_t axis,
                       sdx_expr kernel) {
    sdx_expr one = sdx_expr_const(1);
    sdx_expr gaps = sdx_inf_mul(inf, sdx_inf_sub(inf, kernel, one),
                                sdx_expr_const(sdx_window_dilation(attrs, axis)));
    return sdx_inf_add(inf, gaps, one);
}

/* In ceil mode the last window may hang over the end, but one that starts in the padding behind
 * the image is dropped. At most one is, as the reference counts; `padded_over` says that the
 * padding has room for more. */
static sdx_expr ceil_windows(sdx_infer *inf, sdx_expr room, sdx_expr stride, sdx_expr in,
                             int64_t pad_begin, bool padded_over) {
    sdx_expr one = sdx_expr_const(1);
    sdx_expr all = sdx_inf_add(inf, sdx_expr_ceildiv(inf->pool, room, stride), one);
    sdx_expr last = sdx_inf_add(inf, in, sdx_expr_const(pad_begin - 1));
    sdx_expr fit = sdx_inf_add(inf, sdx_expr_floordiv(inf->pool, last, stride), one);
    if (padded_over) fit = sdx_expr_max(inf->pool, fit, sdx_inf_sub(inf, all, one));
    return sdx_expr_min(inf->pool, all, fit);
}

sdx_status sdx_window_out_dim(sdx_infer *inf, const sdx_window_attrs *attrs, int32_t axis,
                              sdx_expr in, sdx_expr kernel, sdx_expr *out) {
    sdx_expr stride = sdx_expr_const(sdx_window_stride(attrs, axis));
    if (sdx_expr_is_const(kernel) &&
        (sdx_expr_value(kernel) < 1 || sdx_expr_value(kernel) > MAX_VALUE))
        return sdx_infer_fail(inf, "the kernel has %" PRId64 " taps along spatial axis %d",
                              sdx_expr_value(kernel), axis);
    if (attrs->auto_pad == SDX_PAD_SAME_UPPER || attrs->auto_pad == SDX_PAD_SAME_LOWER) {
        *out = sdx_expr_ceildiv(inf->pool, in, stride);
        return SDX_STATUS_OK;
    }
    int64_t begin = 0, end = 0;
    if (attrs->auto_pad == SDX_PAD_NOTSET && attrs->pads) {
        begin = attrs->pads[axis];
        end = attrs->pads[(size_t)axis + attrs->axes];
    }
    sdx_expr padded = sdx_inf_add(inf, in, sdx_expr_const(begin + end));
    sdx_expr wide = spread(inf, attrs, axis, kernel);
    sdx_expr room = sdx_inf_sub(inf, padded, wide);
    SDX_TRY(require_room(inf, axis, room, wide, padded));
    bool padded_over = !sdx_expr_is_const(wide) || end >= sdx_expr_value(wide);
    if (attrs->ceil_mode && (padded_over || !sdx_expr_is(stride, 1)))
        *out = ceil_windows(inf, room, stride, in, begin, padded_over);
    else
        *out = sdx_inf_add(inf, sdx_expr_floordiv(inf->pool, room, stride), sdx_expr_const(1));
    return SDX_STATUS_OK;
}

void sdx_window_resolve(const sdx_window_attrs *attrs, int32_t rank, const int64_t *in,
                        const int64_t *kernel, const int64_t *out, sdx_window *window) {
    window->rank = rank;
    for (int32_t a = 0; a < rank; a++) {
        int64_t stride = sdx_window_stride(attrs, a), dilation = sdx_window_dilation(attrs, a);
        window->in[a] = in[a];
        window->out[a] = out[a];
        window->kernel[a] = kernel[a];
        window->stride[a] = stride;
        window->dilation[a] = dilation;
        window->pad[a] = window->pad_end[a] = 0;
        if (attrs->auto_pad == SDX_PAD_NOTSET && attrs->pads) {
            window->pad[a] = attrs->pads[a];
            window->pad_end[a] = attrs->pads[(size_t)a + attrs->axes];
        } else if (attrs->auto_pad == SDX_PAD_SAME_UPPER || attrs->auto_pad == SDX_PAD_SAME_LOWER) {
            int64_t total = (out[a] - 1) * stride + (kernel[a] - 1) * dilation + 1 - in[a];
            if (total < 0) total = 0;
            int64_t small = total / 2;
            window->pad[a] = attrs->auto_pad == SDX_PAD_SAME_UPPER ? small : total - small;
            window->pad_end[a] = total - window->pad[a];
        }
    }
    /* Only the kernel of a pool can be too large to count, and no pool needs the count. */
    if (!sdx_window_count(window)) window->kernel_count = SIZE_MAX;
}
