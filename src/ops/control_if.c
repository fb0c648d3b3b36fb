/* control_if.c - If: one of two subgraphs. Both have the outer values in sight and no inputs. */
#include "ops/control.h"

typedef struct if_params {
    sdx_subgraph branch[2]; /* else, then */
} if_params;

static sdx_status if_prepare(sdx_prep *prep) {
    if_params *p = prep->params;
    const uint32_t outputs = prep->node->output_count;
    SDX_TRY(sdx_subgraph_need(prep, "else_branch", 0, outputs, &p->branch[0]));
    return sdx_subgraph_need(prep, "then_branch", 0, outputs, &p->branch[1]);
}

/* 0 or 1 where the condition is known while loading, else -1. */
static int known_branch(const sdx_infer *inf) {
    sdx_expr condition;
    size_t count;
    if (!sdx_infer_contents(inf, 0, &condition, 1, &count) || count != 1) return -1;
    return sdx_expr_is_const(condition) ? sdx_expr_value(condition) != 0 : -1;
}

/* A branch that is never taken may be wrong: exporters leave such behind, for shapes that do not
 * occur. It is looked at for the types inside, but has no say. */
static sdx_status infer_idle(sdx_infer *inf, const sdx_subgraph *branch, const sdx_type **types) {
    sdx_error ignored;
    sdx_error_clear(&ignored);
    sdx_infer quiet = *inf;
    quiet.error = &ignored;
    sdx_status status = sdx_infer_subgraph(&quiet, branch->graph, NULL, 0, types);
    if (status != SDX_STATUS_NO_MEMORY) return SDX_STATUS_OK;
    return sdx_fail_memory(inf->error, 0, "shape inference");
}

static sdx_status if_infer(sdx_infer *inf) {
    const if_params *p = inf->params;
    const int known = known_branch(inf);
    const sdx_type **types[2];
    SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_product(inf, 0, 0, sdx_infer_rank(inf, 0)),
                                    sdx_expr_const(1), "elements of the condition"));
    for (int b = 0; b < 2; b++) {
        types[b] = sdx_arena_array(&inf->module->arena, (size_t)inf->out_count + 1,
                                   sizeof **types);
        if (!types[b]) return sdx_fail_memory(inf->error, 0, "shape inference");
        if (known == !b) SDX_TRY(infer_idle(inf, &p->branch[b], types[b]));
        else SDX_TRY(sdx_infer_subgraph(inf, p->branch[b].graph, NULL, 0, types[b]));
    }
    for (uint32_t o = 0; o < inf->out_count; o++) {
        sdx_type covered;
        if (known >= 0) covered = *types[known][o];
        else SDX_TRY(sdx_type_cover(inf, types[0][o], types[1][o], "an output of its branches",
                                    &covered));
        sdx_infer_set_type(inf, o, &covered);
    }
    return SDX_STATUS_OK;
}

static sdx_status if_run(sdx_call *call) {
    const if_params *p = call->params;
    sdx_body body;
    bool condition;
    SDX_TRY(sdx_call_read_bool(call, call->in[0], "the condition", &condition));
    SDX_TRY(sdx_body_open(&body, call, &p->branch[condition]));
    sdx_status status = sdx_body_run(&body);
    for (uint32_t o = 0; o < call->out_count && status == SDX_STATUS_OK; o++)
        status = sdx_call_set(call, o, body.out[o]);
    sdx_body_close(&body);
    return status;
}

const sdx_op_def sdx_op_if = {
    .min_in = 1, .max_in = 1, .min_out = 1, .max_out = SDX_VARIADIC,
    .flags = SDX_OP_HEAP,
    .in_types = {SDX_T(BOOL)},
    .params_size = sizeof(if_params),
    .prepare = if_prepare, .infer = if_infer, .run = SDX_BODY(sdx_op_if, if_run),
};
