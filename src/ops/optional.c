/* optional.c - Optional, OptionalHasElement, OptionalGetElement. During a run an optional value is
 * simply its content, or a value of kind NONE; only types tell an optional from its content. */
#include <string.h>

#include "ops/control.h"

/* ---- Optional ------------------------------------------------------------------------------- */

typedef struct optional_params {
    const sdx_type *type; /* of an optional without content */
} optional_params;

static sdx_status optional_prepare(sdx_prep *prep) {
    optional_params *p = prep->params;
    const sdx_node *node = prep->node;
    for (uint32_t i = 0; sdx_attr_has(prep, "type") && i < node->attr_count; i++) {
        if (strcmp(node->attrs[i].name, "type") != 0) continue;
        if (node->attrs[i].kind != SDX_ATTR_TYPE)
            return sdx_prep_fail(prep, "attribute 'type' is not a type");
        p->type = node->attrs[i].as.types[0];
    }
    const bool given = node->input_count > 0 && node->inputs[0] != SDX_NONE;
    if (!given && !p->type)
        return sdx_prep_fail(prep, "neither an input nor attribute 'type' is given");
    return SDX_STATUS_OK;
}

static sdx_status optional_infer(sdx_infer *inf) {
    const optional_params *p = inf->params;
    const sdx_type *content = sdx_infer_present(inf, 0) ? &inf->in[0].type : p->type;
    sdx_type type;
    if (content->kind == SDX_KIND_OPTIONAL) {
        if (sdx_infer_present(inf, 0))
            return sdx_infer_fail(inf, "an optional cannot hold another optional");
        content = content->inner; /* some models write the type of the output */
    }
    SDX_TRY(sdx_type_wrap(inf, SDX_KIND_OPTIONAL, content, &type));
    sdx_infer_set_type(inf, 0, &type);
    return SDX_STATUS_OK;
}

static sdx_status optional_run(sdx_call *call) {
    sdx_value *none;
    if (call->in_count && call->in[0]) return sdx_call_set(call, 0, call->in[0]);
    SDX_TRY(sdx_value_alloc_none(call->host->heap, &none, call->error));
    return sdx_call_give(call, 0, none);
}

const sdx_op_def sdx_op_optional = {
    .min_in = 0, .max_in = 1, .min_out = 1, .max_out = 1,
    .flags = SDX_OP_HEAP,
    .params_size = sizeof(optional_params),
    .prepare = optional_prepare, .infer = optional_infer,
    .run = SDX_BODY(sdx_op_optional, optional_run),
};

/* ---- OptionalHasElement --------------------------------------------------------------------- */

static sdx_status has_infer(sdx_infer *inf) {
    const bool given = sdx_infer_present(inf, 0);
    const sdx_kind kind = given ? inf->in[0].type.kind : SDX_KIND_NONE;
    sdx_infer_set_dtype(inf, 0, SDX_DTYPE_BOOL);
    /* Known from the type, unless that is an optional (or not known, if given at all). */
    if (!given || (kind != SDX_KIND_OPTIONAL && kind != SDX_KIND_NONE)) {
        const sdx_expr answer = sdx_expr_const(given ? 1 : 0);
        sdx_infer_set_contents(inf, 0, &answer, 1);
    }
    return sdx_infer_set_shape(inf, 0, 0, NULL);
}

static sdx_status has_run(sdx_call *call) {
    const bool has = call->in_count && call->in[0] && call->in[0]->kind != SDX_KIND_NONE;
    *(uint8_t *)sdx_out(call, 0)->data = has;
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_optional_has_element = {
    .min_in = 0, .max_in = 1, .min_out = 1, .max_out = 1,
    .infer = has_infer, .run = SDX_BODY(sdx_op_optional_has_element, has_run),
};

/* ---- OptionalGetElement --------------------------------------------------------------------- */

static sdx_status get_infer(sdx_infer *inf) {
    const sdx_type *type = &inf->in[0].type;
    if (type->kind == SDX_KIND_OPTIONAL) type = type->inner;
    sdx_infer_set_type(inf, 0, type);
    return SDX_STATUS_OK;
}

static sdx_status get_run(sdx_call *call) {
    if (call->in[0]->kind == SDX_KIND_NONE)
        return sdx_call_fail(call, "the optional has no content");
    return sdx_call_set(call, 0, call->in[0]);
}

const sdx_op_def sdx_op_optional_get_element = {
    .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,
    .flags = SDX_OP_HEAP,
    .infer = get_infer, .run = SDX_BODY(sdx_op_optional_get_element, get_run),
};
