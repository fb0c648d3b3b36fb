/* control_loop.c - Loop: a body run until a count is reached or a condition fails. The condition is
 * one more variable carried from round to round, before those that the node names. */
#include <string.h>

#include "ops/control.h"

typedef struct loop_params {
    sdx_subgraph body;      /* round, condition, states -> condition, states, scans */
    uint32_t states, scans; /* without the condition */
    int32_t round_rank, condition_rank; /* as the body declares them: 0 or 1 */
    sdx_type *shown;        /* by scan; filled in while shapes are inferred */
    bool *filled;           /* by state, condition included; likewise */
} loop_params;

enum { IN_COUNT, IN_CONDITION, IN_STATES };

/* Some exporters declare the two scalars as vectors of one element, and use them so. */
static int32_t scalar_rank(const sdx_prep *prep, sdx_id graph, uint32_t input) {
    const sdx_id value = sdx_graph_at(prep->module, graph)->inputs[input];
    const sdx_type *declared = sdx_value_at(prep->module, value)->declared;
    return declared && declared->kind == SDX_KIND_TENSOR && declared->rank == 1;
}

static sdx_status loop_prepare(sdx_prep *prep) {
    loop_params *p = prep->params;
    const sdx_node *node = prep->node;
    p->states = node->input_count > IN_STATES ? node->input_count - IN_STATES : 0;
    if (node->output_count < p->states)
        return sdx_prep_fail(prep, "%u outputs for %u variables", node->output_count, p->states);
    p->scans = node->output_count - p->states;
    SDX_TRY(sdx_subgraph_need_inputs(prep, IN_STATES));
    SDX_TRY(sdx_subgraph_need(prep, "body", IN_STATES + p->states, 1 + node->output_count,
                              &p->body));
    p->round_rank = scalar_rank(prep, p->body.graph, 0);
    p->condition_rank = scalar_rank(prep, p->body.graph, 1);
    p->shown = sdx_prep_array(prep, p->scans, sizeof *p->shown);
    p->filled = sdx_prep_array(prep, (size_t)p->states + 1, sizeof *p->filled);
    if (!p->shown || !p->filled) return SDX_STATUS_NO_MEMORY;
    const sdx_graph *graph = sdx_graph_at(prep->module, p->body.graph);
    for (uint32_t k = 0; k < p->scans; k++) {
        const sdx_id value = graph->outputs[1 + p->states + k];
        const sdx_type *declared = sdx_value_at(prep->module, value)->declared;
        p->shown[k] = declared ? *declared : (sdx_type){.rank = -1};
    }
    return SDX_STATUS_OK;
}

/* ---- while loading -------------------------------------------------------------------------- */

/* Whether the body's condition is true in every round that begins with a true one. */
static bool stays_true(const sdx_infer *inf, const loop_params *p) {
    const sdx_module *module = inf->module;
    const sdx_graph *graph = sdx_graph_at(module, p->body.graph);
    sdx_id id = graph->outputs[0];
    for (;;) { /* ends: a graph with a cycle was refused when its nodes were sorted */
        const sdx_value_def *value = sdx_value_at(module, id);
        if (id == graph->inputs[1]) return true;
        if (value->constant && value->constant->dtype == SDX_DTYPE_BOOL &&
            value->constant->count == 1 && value->constant->data)
            return *(const uint8_t *)value->constant->data != 0;
        if (value->contents)
            return value->content_count == 1 && sdx_expr_is_const(value->contents[0]) &&
                   sdx_expr_value(value->contents[0]) != 0;
        if (value->producer == SDX_NONE || value->graph != p->body.graph) return false;
        const sdx_node *node = sdx_node_at(module, value->producer);
        if (strcmp(node->op_type, "Identity") != 0 || node->domain[0] || node->input_count != 1 ||
            node->inputs[0] == SDX_NONE)
            return false;
        id = node->inputs[0];
    }
}

/* The number of rounds as an expression; unknown where a condition may end the loop. */
static sdx_expr count_rounds(sdx_infer *inf, const loop_params *p) {
    sdx_expr count, condition = sdx_expr_const(1);
    size_t found;
    if (!sdx_infer_contents(inf, IN_COUNT, &count, 1, &found) || found != 1)
        return SDX_EXPR_UNKNOWN;
    if (sdx_infer_present(inf, IN_CONDITION)) {
        if (!sdx_infer_contents(inf, IN_CONDITION, &condition, 1, &found) || found != 1)
            return SDX_EXPR_UNKNOWN;
        if (!sdx_expr_is_const(condition)) return SDX_EXPR_UNKNOWN;
        if (sdx_expr_is(condition, 0)) return sdx_expr_const(0);
        if (!stays_true(inf, p)) return SDX_EXPR_UNKNOWN;
    }
    return sdx_expr_max(inf->pool, count, sdx_expr_const(0));
}

static sdx_status check_control(sdx_infer *inf, uint32_t i, sdx_dtypes types, const char *what) {
    if (!sdx_infer_present(inf, i)) return SDX_STATUS_OK;
    const sdx_type *type = &inf->in[i].type;
    bool wrong = type->kind != SDX_KIND_NONE && type->kind != SDX_KIND_TENSOR;
    if (wrong || (type->dtype && !sdx_dtypes_has(types, type->dtype))) {
        char text[64];
        return sdx_infer_fail(inf, "%s is %s, expected %s", what,
                              wrong ? "no tensor" : sdx_dtype_name(type->dtype),
                              sdx_dtypes_text(types, text, sizeof text));
    }
    return sdx_infer_require_equal(inf, sdx_infer_product(inf, i, 0, sdx_infer_rank(inf, i)),
                                   sdx_expr_const(1), what);
}

static sdx_status loop_infer(sdx_infer *inf) {
    const loop_params *p = inf->params;
    const sdx_expr one = sdx_expr_const(1);
    sdx_rounds rounds;
    SDX_TRY(check_control(inf, IN_COUNT, SDX_T_INDEX, "the trip count"));
    SDX_TRY(check_control(inf, IN_CONDITION, SDX_T(BOOL), "the condition"));
    SDX_TRY(sdx_rounds_begin(inf, &p->body, 1 + p->states, IN_CONDITION, &rounds));
    SDX_TRY(sdx_type_tensor(inf, SDX_DTYPE_INT64, p->round_rank, &one, &rounds.in[IN_COUNT]));
    SDX_TRY(sdx_type_tensor(inf, SDX_DTYPE_BOOL, p->condition_rank, &one,
                            &rounds.in[IN_CONDITION]));
    for (uint32_t s = 0; s < p->states; s++)
        rounds.in[IN_STATES + s] = inf->in[IN_STATES + s].type;
    SDX_TRY(sdx_rounds_infer(inf, &rounds));
    for (uint32_t s = 0; s <= p->states; s++) p->filled[s] = rounds.filled[s];
    for (uint32_t s = 0; s < p->states; s++) sdx_rounds_set_state(inf, &rounds, s, 1 + s);
    const sdx_expr count = count_rounds(inf, p);
    for (uint32_t k = 0; k < p->scans; k++)
        SDX_TRY(sdx_rounds_set_stack(inf, p->states + k, &rounds.out[1 + p->states + k], &count, 1,
                                     0, true, &p->shown[k]));
    return SDX_STATUS_OK;
}

/* ---- during a run --------------------------------------------------------------------------- */

typedef struct loop {
    sdx_call *call;
    const loop_params *p;
    sdx_body body;
    sdx_stack *stacks;
    int64_t limit;    /* rounds at most */
    bool conditional; /* the condition counts; without that input it is computed, but ignored */
    bool condition;
} loop;

/* The number of the round. The value is used again when the last round kept no hold of it. */
static sdx_status set_round(loop *l, int64_t round) {
    sdx_value *value = l->body.in[IN_COUNT];
    if (value && atomic_load(&value->references) == 1) {
        *(int64_t *)value->tensor.data = round;
        return SDX_STATUS_OK;
    }
    SDX_TRY(sdx_call_scalar(l->call, SDX_DTYPE_INT64, l->p->round_rank, round, &value));
    sdx_body_give(&l->body, IN_COUNT, value);
    return SDX_STATUS_OK;
}

static sdx_status start(loop *l) {
    sdx_call *call = l->call;
    const loop_params *p = l->p;
    sdx_value *condition;
    if (IN_COUNT < call->in_count && call->in[IN_COUNT])
        SDX_TRY(sdx_call_read_index(call, call->in[IN_COUNT], "the trip count", &l->limit));
    l->conditional = IN_CONDITION < call->in_count && call->in[IN_CONDITION];
    if (l->conditional)
        SDX_TRY(sdx_call_read_bool(call, call->in[IN_CONDITION], "the condition", &l->condition));
    SDX_TRY(sdx_call_scalar(call, SDX_DTYPE_BOOL, p->condition_rank, l->condition, &condition));
    sdx_body_give(&l->body, IN_CONDITION, condition);
    for (uint32_t s = 0; s < p->states; s++)
        sdx_body_set(&l->body, IN_STATES + s, call->in[IN_STATES + s]);
    /* A count past the limit on rounds is not worth its memory. */
    const bool exact = call->in_count > 0 && call->in[IN_COUNT] && !l->conditional &&
                       (l->limit <= 0 || (uint64_t)l->limit <= call->host->max_rounds);
    for (uint32_t k = 0; k < p->scans; k++)
        l->stacks[k] = (sdx_stack){.lead_rank = 1, .grows = !exact,
                                   .lead = {exact && l->limit > 0 ? l->limit : 0}};
    return SDX_STATUS_OK;
}

static sdx_status run_round(loop *l, int64_t round) {
    const loop_params *p = l->p;
    SDX_TRY(sdx_round_allowed(l->call, (uint64_t)round));
    SDX_TRY(set_round(l, round));
    SDX_TRY(sdx_body_run(&l->body));
    SDX_TRY(sdx_call_read_bool(l->call, l->body.out[0], "the condition that the body makes",
                               &l->condition));
    for (uint32_t k = 0; k < p->scans; k++)
        if (sdx_call_wanted(l->call, p->states + k))
            SDX_TRY(sdx_stack_put(l->call, &l->stacks[k], round, l->body.out[1 + p->states + k],
                                  "a scan output"));
    for (uint32_t s = 0; s <= p->states; s++)
        SDX_TRY(sdx_body_carry(&l->body, s, IN_CONDITION + s, "output of the body"));
    return SDX_STATUS_OK;
}

static sdx_status run_all(loop *l) {
    const loop_params *p = l->p;
    int64_t round = 0;
    SDX_TRY(start(l));
    for (; round < l->limit && (!l->conditional || l->condition); round++)
        SDX_TRY(run_round(l, round));
    for (uint32_t s = 0; s < p->states; s++)
        SDX_TRY(sdx_body_finish(&l->body, IN_STATES + s, s, p->filled[1 + s]));
    for (uint32_t k = 0; k < p->scans; k++)
        if (sdx_call_wanted(l->call, p->states + k))
            SDX_TRY(sdx_stack_finish(l->call, &l->stacks[k], p->states + k, round, &p->shown[k]));
    return SDX_STATUS_OK;
}

static sdx_status loop_run(sdx_call *call) {
    const loop_params *p = call->params;
    loop l = {.call = call, .p = p, .limit = INT64_MAX, .condition = true};
    l.stacks = sdx_call_temp(call, (size_t)p->scans + 1, sizeof *l.stacks);
    if (!l.stacks) return SDX_STATUS_NO_MEMORY;
    memset(l.stacks, 0, ((size_t)p->scans + 1) * sizeof *l.stacks);
    sdx_status status = sdx_body_open(&l.body, call, &p->body);
    if (status == SDX_STATUS_OK) status = run_all(&l);
    sdx_body_close(&l.body);
    for (uint32_t k = 0; k < p->scans; k++) sdx_value_release(l.stacks[k].value);
    sdx_call_temp_free(call, l.stacks);
    return status;
}

const sdx_op_def sdx_op_loop = {
    .min_in = 0, .max_in = SDX_VARIADIC, .min_out = 1, .max_out = SDX_VARIADIC,
    .flags = SDX_OP_HEAP,
    .params_size = sizeof(loop_params),
    .prepare = loop_prepare, .infer = loop_infer, .run = SDX_BODY(sdx_op_loop, loop_run),
};
