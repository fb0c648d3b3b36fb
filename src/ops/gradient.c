/* gradient.c - the operator Gradient as far as loading goes: its attributes, and the types of
 * its outputs. It never runs: passes/gradient.c puts the nodes that compute the gradients in its
 * place. */
#include "ops/gradient.h"

static sdx_status prepare(sdx_prep *prep) {
    sdx_gradient_params *p = prep->params;
    const sdx_node *node = prep->node;
    const sdx_id *y;
    size_t y_count;
    SDX_TRY(sdx_attr_get_values(prep, "xs", SDX_ATTR_STRINGS, &p->xs, &p->x_count));
    SDX_TRY(sdx_attr_get_values(prep, "zs", SDX_ATTR_STRINGS, &p->zs, &p->z_count));
    SDX_TRY(sdx_attr_get_values(prep, "y", SDX_ATTR_STRING, &y, &y_count));
    if (p->x_count == 0) return sdx_prep_fail(prep, "attribute 'xs' is required but missing");
    if (y_count == 0) return sdx_prep_fail(prep, "attribute 'y' is required but missing");
    p->y = y[0];
    if (node->input_count != p->x_count + p->z_count)
        return sdx_prep_fail(prep, "%u inputs, expected one for each of the %zu names in xs and "
                                   "zs",
                             node->input_count, p->x_count + p->z_count);
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] == SDX_NONE)
            return sdx_prep_fail(prep, "input %u is required but left out", i);
    if (node->output_count > p->x_count)
        return sdx_prep_fail(prep, "%u outputs, expected at most one for each of the %zu names in "
                                   "xs",
                             node->output_count, p->x_count);
    return SDX_STATUS_OK;
}

/* A gradient has the shape of what it is taken with respect to. */
static sdx_status infer(sdx_infer *inf) {
    for (uint32_t o = 0; o < inf->out_count; o++) {
        const sdx_dtype dtype = sdx_infer_dtype(inf, o);
        if (!sdx_infer_wanted(inf, o)) continue;
        if (dtype && !sdx_dtypes_has(SDX_T_FLOATS, dtype))
            return sdx_infer_fail(inf, "input %u has type %s; only floating-point numbers have a "
                                       "gradient",
                                  o, sdx_dtype_name(dtype));
        SDX_TRY(sdx_infer_copy(inf, o, o, false));
    }
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_gradient = {
    .min_in = 1, .max_in = SDX_VARIADIC, .min_out = 0, .max_out = SDX_VARIADIC,
    .params_size = sizeof(sdx_gradient_params),
    .prepare = prepare, .infer = infer,
};
