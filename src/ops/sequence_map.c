/* sequence_map.c - SequenceMap: a body run for each item of one or more sequences. Inputs that are
 * tensors are the same in every round. */
#include <string.h>

#include "ops/control.h"

typedef struct map_params {
    sdx_subgraph body;
} map_params;

static sdx_status map_prepare(sdx_prep *prep) {
    map_params *p = prep->params;
    SDX_TRY(sdx_subgraph_need_inputs(prep, 0));
    return sdx_subgraph_need(prep, "body", prep->node->input_count, prep->node->output_count,
                             &p->body);
}

static sdx_status map_infer(sdx_infer *inf) {
    const map_params *p = inf->params;
    sdx_rounds rounds; /* without any state: one pass */
    SDX_TRY(sdx_rounds_begin(inf, &p->body, 0, 0, &rounds));
    for (uint32_t i = 0; i < inf->in_count; i++) {
        rounds.in[i] = inf->in[i].type;
        if (i == 0 || rounds.in[i].kind == SDX_KIND_SEQUENCE)
            SDX_TRY(sdx_infer_items(inf, i, &rounds.in[i]));
    }
    SDX_TRY(sdx_rounds_infer(inf, &rounds));
    for (uint32_t o = 0; o < inf->out_count; o++) {
        sdx_type type;
        SDX_TRY(sdx_type_wrap(inf, SDX_KIND_SEQUENCE, &rounds.out[o], &type));
        sdx_infer_set_type(inf, o, &type);
    }
    return SDX_STATUS_OK;
}

static sdx_status check_lengths(sdx_call *call, size_t *count) {
    sdx_value *first;
    SDX_TRY(sdx_call_sequence(call, 0, &first));
    *count = first->item_count;
    for (uint32_t i = 1; i < call->in_count; i++)
        if (call->in[i]->kind == SDX_KIND_SEQUENCE && call->in[i]->item_count != *count)
            return sdx_call_fail(call, "input %u has %zu items, the first sequence %zu", i,
                                 call->in[i]->item_count, *count);
    return SDX_STATUS_OK;
}

static sdx_status run_round(sdx_body *body, size_t round, sdx_value *const *lists) {
    sdx_call *call = body->call;
    SDX_TRY(sdx_round_allowed(call, round));
    for (uint32_t i = 0; i < call->in_count; i++)
        sdx_body_set(body, i, call->in[i]->kind == SDX_KIND_SEQUENCE ? call->in[i]->items[round]
                                                                     : call->in[i]);
    SDX_TRY(sdx_body_run(body));
    for (uint32_t o = 0; o < call->out_count; o++)
        SDX_TRY(sdx_value_keep(call->host->heap, body->out[o], &lists[o]->items[round],
                               call->error));
    return SDX_STATUS_OK;
}

static sdx_status run_all(sdx_body *body, sdx_value **lists) {
    sdx_call *call = body->call;
    size_t count;
    SDX_TRY(check_lengths(call, &count));
    for (uint32_t o = 0; o < call->out_count; o++)
        SDX_TRY(sdx_value_alloc_list(call->host->heap, SDX_KIND_SEQUENCE, count, &lists[o],
                                     call->error));
    for (size_t round = 0; round < count; round++) SDX_TRY(run_round(body, round, lists));
    for (uint32_t o = 0; o < call->out_count; o++) {
        sdx_value *list = lists[o];
        lists[o] = NULL;
        SDX_TRY(sdx_call_give(call, o, list));
    }
    return SDX_STATUS_OK;
}

static sdx_status map_run(sdx_call *call) {
    const map_params *p = call->params;
    sdx_body body = {0};
    sdx_value **lists = sdx_call_temp(call, call->out_count, sizeof *lists);
    if (!lists) return SDX_STATUS_NO_MEMORY;
    memset(lists, 0, call->out_count * sizeof *lists);
    sdx_status status = sdx_body_open(&body, call, &p->body);
    if (status == SDX_STATUS_OK) status = run_all(&body, lists);
    sdx_body_close(&body);
    for (uint32_t o = 0; o < call->out_count; o++) sdx_value_release(lists[o]);
    sdx_call_temp_free(call, lists);
    return status;
}

const sdx_op_def sdx_op_sequence_map = {
    .min_in = 1, .max_in = SDX_VARIADIC, .min_out = 1, .max_out = SDX_VARIADIC,
    .flags = SDX_OP_HEAP,
    .params_size = sizeof(map_params),
    .prepare = map_prepare, .infer = map_infer, .run = SDX_BODY(sdx_op_sequence_map, map_run),
};
