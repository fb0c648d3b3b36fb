/* fold.c - pass: runs nodes whose inputs are all constants, once, while the program is made. A result may
 * be much larger than what it comes from (an Expand, a ConstantOfShape), so there is a budget. A node that
 * fails here stays, unless memory ran out: it may never be reached, and else says so when it is run. */
#include <string.h>

#include "base/checked.h"
#include "passes/passes.h"

#define LARGEST ((size_t)16 << 20) /* bytes of one result */
#define FREE ((size_t)64 << 10)    /* up to here a result may be as large as it likes … */
#define GROWTH 4                   /* … beyond, so many times its inputs */
#define TOTAL ((size_t)256 << 20)  /* of all results of one pass … */
#define SHARE 8                    /* … but no more than this part of the limit on memory */

typedef struct folder {
    sdx_rewrite *r;
    sdx_host host;
    sdx_arena memory; /* for one node */
    size_t total, most; /* bytes of all results, so far and at most */
    bool no_memory; /* ends the pass: results must not depend on how much memory there was */
} folder;

static bool never(sdx_host *host) {
    (void)host;
    return false;
}

static bool no_memory(folder *f) {
    f->no_memory = true;
    return false;
}

static bool failed(folder *f, sdx_status status) {
    return status == SDX_STATUS_NO_MEMORY ? no_memory(f) : false;
}

static bool is_plain(sdx_dtype dtype) {
    return dtype != SDX_DTYPE_UNDEFINED && dtype != SDX_DTYPE_STRING;
}

/* All inputs are constants, all outputs tensors that are somebody's input only. */
static bool can_fold(sdx_rewrite *r, const sdx_node *node) {
    if (node->dead || !node->op || (node->op->def->flags & (SDX_OP_RANDOM | SDX_OP_HEAP)))
        return false;
    if (node->op->def->pack) return false; /* its body wants what only lowering makes */
    if (node->input_count == 0 || node->output_count == 0) return false;
    for (uint32_t a = 0; a < node->attr_count; a++)
        if (node->attrs[a].kind == SDX_ATTR_GRAPH || node->attrs[a].kind == SDX_ATTR_GRAPHS)
            return false;
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i] == SDX_NONE) continue;
        const sdx_const *constant = sdx_constant_of(r, node->inputs[i]);
        if (!constant || !is_plain(constant->dtype)) return false;
    }
    for (uint32_t o = 0; o < node->output_count; o++) {
        if (node->outputs[o] == SDX_NONE) continue;
        const sdx_type *type = sdx_build_type(&r->build, node->outputs[o]);
        if (type->kind != SDX_KIND_TENSOR || !is_plain(type->dtype) ||
            sdx_use_is_output(r, node->outputs[o]))
            return false;
    }
    return true;
}

/* Inputs as values over the constants' bytes; *bytes is what they take together. */
static bool make_inputs(folder *f, const sdx_node *node, sdx_value *values, sdx_value **in,
                        size_t *bytes) {
    for (uint32_t i = 0; i < node->input_count; i++) {
        const sdx_const *constant = sdx_constant_of(f->r, node->inputs[i]);
        if (!constant) continue;
        void *data = (void *)(uintptr_t)constant->data;
        size_t size;
        if (!sdx_size_mul(constant->count, sdx_dtype_size(constant->dtype), &size) ||
            size > GROWTH * LARGEST)
            return false;
        if (!sdx_const_in_place(constant)) {
            data = sdx_arena_alloc_aligned(&f->memory, size + 1, SDX_CACHE_LINE);
            if (!data) return no_memory(f);
            if (constant->count) sdx_const_decode(constant, data);
        }
        atomic_init(&values[i].references, 1);
        values[i].kind = SDX_KIND_TENSOR;
        values[i].borrowed = true;
        if (sdx_tensor_init(&values[i].tensor, constant->dtype, constant->rank, constant->dims,
                            data, NULL) != SDX_STATUS_OK)
            return false;
        in[i] = &values[i];
        *bytes += size;
    }
    return true;
}

/* Makes the outputs that the rule shapes fully; false where one is open or too large. */
static bool make_outputs(folder *f, const sdx_node *node, const sdx_infer_out *info, size_t in_bytes,
                         sdx_value **out) {
    size_t allowed = in_bytes > LARGEST / GROWTH ? LARGEST : in_bytes * GROWTH;
    if (allowed < FREE) allowed = FREE;
    for (uint32_t o = 0; o < node->output_count; o++) {
        if (node->outputs[o] == SDX_NONE) continue;
        int64_t dims[SDX_MAX_RANK];
        if (info[o].type.kind != SDX_KIND_TENSOR || !info[o].rank_known ||
            !is_plain(info[o].type.dtype))
            return false;
        size_t bytes = sdx_dtype_size(info[o].type.dtype);
        for (int32_t i = 0; i < info[o].type.rank; i++) {
            if (!sdx_expr_is_const(info[o].dims[i]) || sdx_expr_value(info[o].dims[i]) < 0)
                return false;
            dims[i] = sdx_expr_value(info[o].dims[i]);
            if ((uint64_t)dims[i] > SIZE_MAX || !sdx_size_mul(bytes, (size_t)dims[i], &bytes))
                return false;
        }
        if (bytes > allowed || bytes > f->most - f->total) return false;
        f->total += bytes;
        sdx_status status = sdx_value_alloc_tensor(f->host.heap, info[o].type.dtype,
                                                   info[o].type.rank, dims, &out[o], NULL);
        if (status != SDX_STATUS_OK) return failed(f, status);
    }
    return true;
}

static bool run_body(folder *f, const sdx_node *node, sdx_value **in, sdx_value **out,
                     const bool *wanted, size_t scratch_bytes) {
    sdx_error error;
    sdx_error_clear(&error);
    if (!sdx_op_runs(node->op)) return false;
    sdx_call call = {.def = node->op->def, .params = node->params, .version = node->version,
                     .in_count = node->input_count, .out_count = node->output_count, .in = in,
                     .out = out, .out_wanted = wanted, .host = &f->host, .node = node,
                     .error = &error};
    if (scratch_bytes) {
        if (scratch_bytes > GROWTH * LARGEST) return false;
        call.scratch = sdx_call_temp(&call, scratch_bytes, 1);
        call.scratch_bytes = scratch_bytes;
        if (!call.scratch) return no_memory(f);
    }
    sdx_status status = node->op->def->run(&call);
    sdx_call_temp_free(&call, call.scratch);
    return status == SDX_STATUS_OK || failed(f, status);
}

/* Shapes, memory, body. `out` may hold values even where it fails. */
static bool compute(folder *f, const sdx_node *node, sdx_value **out) {
    sdx_arena *memory = &f->memory;
    size_t ins = (size_t)node->input_count + 1, outs = (size_t)node->output_count + 1, bytes = 0;
    sdx_value *values = sdx_arena_array(memory, ins, sizeof *values);
    sdx_value **in = sdx_arena_array(memory, ins, sizeof *in);
    bool *wanted = sdx_arena_array(memory, outs, sizeof *wanted);
    sdx_run_shapes shapes = {.node = node, .in = in,
                             .in_info = sdx_arena_array(memory, ins, sizeof(sdx_infer_in)),
                             .out_info = sdx_arena_array(memory, outs, sizeof(sdx_infer_out)),
                             .in_dims = sdx_arena_array(memory, ins, sizeof *shapes.in_dims)};
    if (!values || !in || !wanted || !shapes.in_info || !shapes.out_info || !shapes.in_dims)
        return no_memory(f);
    if (!make_inputs(f, node, values, in, &bytes)) return false;
    sdx_error error;
    sdx_error_clear(&error);
    sdx_status status = sdx_infer_run(&shapes, &error);
    if (status != SDX_STATUS_OK) return failed(f, status);
    if (!make_outputs(f, node, shapes.out_info, bytes, out)) return false;
    for (uint32_t o = 0; o < node->output_count; o++) wanted[o] = node->outputs[o] != SDX_NONE;
    return run_body(f, node, in, out, wanted, shapes.scratch_bytes);
}

static void fold_node(folder *f, sdx_id id) {
    sdx_rewrite *r = f->r;
    const sdx_node node = *sdx_node_at(r->module, id); /* a copy: tables may move */
    sdx_arena_init(&f->memory, r->module->allocator, 0);
    sdx_value **out = sdx_arena_array(&f->memory, (size_t)node.output_count + 1, sizeof *out);
    bool good = out ? compute(f, &node, out) : no_memory(f);
    sdx_rewrite_at(r, id);
    for (uint32_t o = 0; out && o < node.output_count; o++) {
        if (good && out[o] && out[o]->kind == SDX_KIND_TENSOR) {
            const sdx_tensor *t = &out[o]->tensor;
            sdx_supplant(r, node.outputs[o],
                         sdx_build_tensor(&r->build, t->dtype, t->rank, t->dims, t->data));
        }
        sdx_value_release(out[o]);
    }
    sdx_arena_free(&f->memory);
    if (f->no_memory && r->build.status == SDX_STATUS_OK)
        r->build.status = sdx_fail_memory(r->build.error, 0, "a folded constant");
}

sdx_status sdx_pass_fold(sdx_rewrite *r) {
    folder f = {.r = r, .host = {.heap = r->module->allocator, .max_rounds = 1,
                                 .cancelled = never}};
    const uint64_t share = r->module->limits.max_memory / SHARE;
    f.most = share && share < TOTAL ? (size_t)share : TOTAL;
    const sdx_watch *outer = sdx_watch_set(&r->module->watch);
    sdx_status status = SDX_STATUS_OK;
    for (size_t g = 0; g < r->module->graphs.count; g++) {
        const sdx_graph *graph = sdx_graph_at(r->module, (sdx_id)g);
        for (uint32_t i = 0; i < graph->node_count && r->build.status == SDX_STATUS_OK; i++) {
            if (!can_fold(r, sdx_node_at(r->module, graph->nodes[i]))) continue;
            fold_node(&f, graph->nodes[i]);
            /* A body that was stopped has left rubbish: nobody gets to see it. */
            status = sdx_module_in_time(r->module, r->build.error);
            if (status != SDX_STATUS_OK) goto end;
        }
    }
end:
    sdx_watch_set(outer);
    return status;
}
