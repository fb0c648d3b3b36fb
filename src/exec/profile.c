/* profile.c - what the caller's profile is told of a step. Only reached where there is one. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "exec/context.h"

/* A constant that lies packed alone counts too: its shape is still there. */
static uint64_t tensor_bytes(const sdx_value *value) {
    if (!value || value->kind != SDX_KIND_TENSOR) return 0;
    return (uint64_t)value->tensor.count * sdx_dtype_size(value->tensor.dtype);
}

void sdx_profile_step(const sdx_context *context, const sdx_step *step, sdx_call *call,
                      uint64_t begin_ns) {
    sdx_step_profile told = {.struct_size = sizeof told, .begin_ns = begin_ns,
                             .end_ns = sdx_nanoseconds()};
    if (step->skip) return;
    const sdx_node *node = step->node;
    const sdx_block *block = &context->program->blocks[node->graph];
    told.graph = node->graph;
    told.step = (uint32_t)(step - block->steps);
    told.nodes = node->origins ? node->origins : &node->origin;
    told.node_count = node->origins ? node->origin_count : 1;
    /* What the run made on the heap has gone from the call into its slot. */
    for (uint32_t o = 0; o < call->out_count; o++)
        call->out[o] = node->outputs[o] == SDX_NONE ? NULL : context->slots[node->outputs[o]];
    for (uint32_t i = 0; i < call->in_count; i++) told.bytes += tensor_bytes(call->in[i]);
    for (uint32_t o = 0; o < call->out_count; o++) told.bytes += tensor_bytes(call->out[o]);
    sdx_work work = {.flops = 0};
    if (call->def->describe) call->def->describe(call, &work);
    told.flops = work.flops;
    told.way = work.way;
    told.lane = context->lane;
    char op[128];
    snprintf(op, sizeof op, "%s%s%s", node->domain, node->domain[0] ? ":" : "", node->op_type);
    told.op = op;
    sdx_tensor output;
    if (call->out_count && call->out[0] && call->out[0]->kind == SDX_KIND_TENSOR) {
        output = call->out[0]->tensor;
        output.data = NULL;
        told.output = &output;
    }
    context->profile(context->profile_user, &told);
}
