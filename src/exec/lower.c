/* lower.c - which nodes become steps, constants, how long values live. After this nothing looks at
 * the operator registry or at names. */
#include "exec/lowering.h"

#include <string.h>

#include "base/checked.h"

static sdx_status no_memory(sdx_error *error) {
    return sdx_fail_memory(error, 0, "the program");
}

bool sdx_type_fixed(const sdx_type *type) {
    if (type->kind != SDX_KIND_TENSOR || type->rank < 0 || !type->dtype) return false;
    for (int32_t i = 0; i < type->rank; i++)
        if (sdx_expr_is_unknown(type->dims[i])) return false;
    return true;
}

/* ---- which nodes are needed ---------------------------------------------------------------- */

static void use(sdx_lowering *l, sdx_id value, sdx_vector *work, bool *failed) {
    if (value == SDX_NONE || l->value_used[value]) return;
    l->value_used[value] = 1;
    sdx_id producer = sdx_value_at(l->module, value)->producer;
    if (producer == SDX_NONE || l->needed[producer]) return;
    l->needed[producer] = 1;
    sdx_id *slot = sdx_vector_push(work, l->program->allocator, sizeof *slot);
    if (slot) *slot = producer;
    else *failed = true;
}

/* The outputs of a graph are used, and with them whatever leads there. */
static void use_graph(sdx_lowering *l, sdx_id graph_id, sdx_vector *work, bool *failed) {
    const sdx_graph *graph = sdx_graph_at(l->module, graph_id);
    for (uint32_t i = 0; i < graph->output_count; i++) use(l, graph->outputs[i], work, failed);
    for (uint32_t i = 0; l->program->optimize == 0 && i < graph->node_count; i++) {
        const sdx_node *node = sdx_node_at(l->module, graph->nodes[i]);
        for (uint32_t o = 0; o < node->output_count; o++) use(l, node->outputs[o], work, failed);
    }
}

static sdx_status find_needed(sdx_lowering *l) {
    sdx_vector work = {0};
    bool failed = false;
    use_graph(l, 0, &work, &failed);
    while (work.count && !failed) {
        sdx_id id = ((sdx_id *)work.data)[--work.count];
        const sdx_node *node = sdx_node_at(l->module, id);
        for (uint32_t i = 0; i < node->input_count; i++) use(l, node->inputs[i], &work, &failed);
        for (uint32_t a = 0; a < node->attr_count; a++) {
            const sdx_attr *attr = &node->attrs[a];
            if (attr->kind != SDX_ATTR_GRAPH && attr->kind != SDX_ATTR_GRAPHS) continue;
            for (size_t g = 0; g < attr->count; g++)
                use_graph(l, attr->as.graphs[g], &work, &failed);
        }
    }
    sdx_vector_free(&work, l->program->allocator, sizeof(sdx_id));
    return failed ? no_memory(l->error) : SDX_STATUS_OK;
}

/* ---- constants ------------------------------------------------------------------------------ */

/* Reading a constant in a mapped file brings a few pages around it along, mostly of weights that nobody
 * needs once they are packed: small ones are better copied. In a packed file they lie side by side. */
#define WORTH_MAPPING ((size_t)64 << 10)

static bool better_copied(const sdx_program *program, const sdx_const *constant) {
    const sdx_file *file = &program->model->file;
    uintptr_t begin = (uintptr_t)file->data, at = (uintptr_t)constant->data;
    return !program->model->stored && file->mapped && constant->bytes < WORTH_MAPPING &&
           at >= begin && at - begin < file->size;
}

/* `plain`: its elements are read; otherwise its shape alone is, by rules during the run. */
static sdx_status add_constant(sdx_lowering *l, sdx_value *slot, const sdx_const *constant,
                               bool plain) {
    sdx_program *program = l->program;
    atomic_init(&slot->references, 1);
    slot->kind = SDX_KIND_TENSOR;
    slot->borrowed = true;
    void *data = plain ? (void *)(uintptr_t)constant->data : NULL;
    if (plain && sdx_const_absent(constant))
        return sdx_fail(l->error, SDX_STATUS_BAD_MODEL,
                        "constant '%.64s' is read, but the file does not have its elements",
                        constant->name);
    if (plain && (!sdx_const_in_place(constant) || better_copied(program, constant))) {
        size_t bytes;
        if (!sdx_size_mul(constant->count, sdx_dtype_size(constant->dtype), &bytes))
            return no_memory(l->error);
        data = sdx_arena_alloc_aligned(&program->arena, bytes ? bytes : 1, SDX_CACHE_LINE);
        if (!data)
            return sdx_fail(l->error, SDX_STATUS_NO_MEMORY, /* the budget makes it a limit that is passed */
                            "constant '%.64s' needs %zu bytes, more than the limit or the machine "
                            "allows",
                            constant->name, bytes);
        if (constant->count) sdx_const_decode(constant, data);
        program->constant_bytes += bytes;
    }
    return sdx_tensor_init(&slot->tensor, constant->dtype, constant->rank, constant->dims, data,
                           l->error);
}

/* The default of an input counts in the main graph only: a subgraph's inputs are always given. */
static const sdx_const *constant_of(const sdx_value_def *def) {
    return def->constant || def->graph != 0 ? def->constant : def->fallback;
}

/* Values that some step or graph output still reads as they are. */
static void find_plain(sdx_lowering *l) {
    for (size_t g = 0; g < l->module->graphs.count; g++) {
        const sdx_block *block = &l->program->blocks[g];
        const sdx_graph *graph = sdx_graph_at(l->module, (sdx_id)g);
        for (uint32_t s = 0; s < block->step_count; s++) {
            const sdx_step *step = &block->steps[s];
            for (uint32_t i = 0; i < step->node->input_count; i++)
                if (step->node->inputs[i] != SDX_NONE && !sdx_step_takes(step, i))
                    l->plain[step->node->inputs[i]] = 1;
        }
        for (uint32_t i = 0; i < graph->output_count; i++) l->plain[graph->outputs[i]] = 1;
        for (uint32_t i = 0; i < graph->input_count; i++) l->plain[graph->inputs[i]] = 1;
    }
}

static sdx_status place_constants(sdx_lowering *l) {
    sdx_program *program = l->program;
    size_t values = l->module->values.count, count = 0;
    for (size_t v = 0; v < values; v++) {
        count += l->value_used[v] && constant_of(sdx_value_at(l->module, (sdx_id)v));
    }
    program->constants = sdx_arena_array(&program->arena, count + 1, sizeof(sdx_value));
    if (!program->constants) return no_memory(l->error);
    for (size_t v = 0; v < values; v++) {
        const sdx_const *constant = constant_of(sdx_value_at(l->module, (sdx_id)v));
        if (!l->value_used[v] || !constant) continue;
        uint32_t index = program->constant_count++;
        SDX_TRY(add_constant(l, &program->constants[index], constant, l->plain[v]));
        program->slots[v].place = SDX_PLACE_CONST;
        program->slots[v].index = index;
        program->slots[v].buffer = SDX_NONE;
    }
    return SDX_STATUS_OK;
}

/* ---- steps ---------------------------------------------------------------------------------- */

/* Inputs count too: where one's shape is open, the rule has not seen it, so that its checks have to
 * be made during the run even if the output's shape is known. */
static bool step_is_fixed(const sdx_lowering *l, const sdx_node *node) {
    if (node->graph != 0 || (node->op->def->flags & SDX_OP_HEAP)) return false;
    if (sdx_expr_is_unknown(node->scratch)) return false;
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != SDX_NONE &&
            !sdx_type_fixed(&sdx_value_at(l->module, node->inputs[i])->type))
            return false;
    for (uint32_t o = 0; o < node->output_count; o++)
        if (node->outputs[o] != SDX_NONE &&
            !sdx_type_fixed(&sdx_value_at(l->module, node->outputs[o])->type))
            return false;
    return true;
}

static sdx_status make_block(sdx_lowering *l, sdx_id graph_id) {
    sdx_program *program = l->program;
    const sdx_graph *graph = sdx_graph_at(l->module, graph_id);
    sdx_block *block = &program->blocks[graph_id];
    block->steps = sdx_arena_array(&program->arena, (size_t)graph->node_count + 1,
                                   sizeof(sdx_step));
    if (!block->steps) return no_memory(l->error);
    for (uint32_t i = 0; i < graph->node_count; i++) {
        sdx_id id = graph->nodes[i];
        if (!l->needed[id]) continue;
        const sdx_node *node = sdx_node_at(l->module, id);
        if (!node->op)
            return sdx_fail(l->error, SDX_STATUS_UNSUPPORTED,
                            "node '%.64s': operator %.64s is not supported", node->name,
                            node->op_type);
        if (!sdx_op_runs(node->op))
            return sdx_fail(l->error, SDX_STATUS_UNSUPPORTED,
                            "node '%.64s': running %.64s is " SDX_NOT_IN_BUILD
                            "; at optimisation level %d they have no such step",
                            node->name, node->op_type, program->optimize);
        sdx_step *step = &block->steps[block->step_count++];
        *step = (sdx_step){.node = node, .id = id, .scratch = SDX_NONE,
                           .fixed = step_is_fixed(l, node), .edges = program->edge_count};
        program->node_fixed[id] = step->fixed;
        program->edge_count += node->input_count + node->output_count;
        if (node->input_count > program->max_inputs) program->max_inputs = node->input_count;
        if (node->output_count > program->max_outputs) program->max_outputs = node->output_count;
    }
    program->step_count += block->step_count;
    return SDX_STATUS_OK;
}

void sdx_each_read(const sdx_module *module, const sdx_node *node,
                   void (*visit)(void *user, sdx_id value), void *user) {
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != SDX_NONE) visit(user, node->inputs[i]);
    for (uint32_t a = 0; a < node->attr_count; a++) {
        const sdx_attr *attr = &node->attrs[a];
        if (attr->kind != SDX_ATTR_GRAPH && attr->kind != SDX_ATTR_GRAPHS) continue;
        for (size_t g = 0; g < attr->count; g++) {
            const sdx_graph *graph = sdx_graph_at(module, attr->as.graphs[g]);
            for (uint32_t c = 0; c < graph->capture_count; c++) visit(user, graph->captures[c]);
        }
    }
}

typedef struct reader {
    sdx_lowering *l;
    sdx_id graph;
    uint32_t step;
} reader;

/* Steps are counted within a block, so a block's steps say nothing of an outer graph's values. */
static void note_read(void *user, sdx_id value) {
    const reader *r = user;
    if (sdx_value_at(r->l->module, value)->graph == r->graph) r->l->last_use[value] = r->step;
}

/* The result of a view that is made during the run borrows the bytes of its input. */
static void extend_viewed(sdx_lowering *l, const sdx_step *step) {
    const sdx_node *node = step->node;
    if (step->fixed || !(node->op->def->flags & SDX_OP_VIEW) || node->inputs[0] == SDX_NONE ||
        node->outputs[0] == SDX_NONE ||
        sdx_value_at(l->module, node->inputs[0])->graph != node->graph)
        return;
    uint32_t *viewed = &l->last_use[node->inputs[0]];
    if (l->last_use[node->outputs[0]] > *viewed) *viewed = l->last_use[node->outputs[0]];
}

void sdx_find_lifetimes(sdx_lowering *l, sdx_id graph_id) {
    const sdx_graph *graph = sdx_graph_at(l->module, graph_id);
    const sdx_block *block = &l->program->blocks[graph_id];
    for (uint32_t s = 0; s < block->step_count; s++) {
        const sdx_node *node = block->steps[s].node;
        for (uint32_t o = 0; o < node->output_count; o++)
            if (node->outputs[o] != SDX_NONE) l->last_use[node->outputs[o]] = s;
    }
    for (uint32_t s = 0; s < block->step_count; s++)
        sdx_each_read(l->module, block->steps[s].node, note_read, &(reader){l, graph_id, s});
    for (uint32_t i = 0; i < graph->output_count; i++)
        if (sdx_value_at(l->module, graph->outputs[i])->graph == graph_id)
            l->last_use[graph->outputs[i]] = block->step_count;
    for (uint32_t s = block->step_count; s-- > 0;) extend_viewed(l, &block->steps[s]);
}

static sdx_status place_inputs(sdx_lowering *l) {
    const sdx_graph *graph = sdx_graph_at(l->module, 0);
    uint32_t *defaults = sdx_arena_array(&l->program->arena, (size_t)graph->input_count + 1,
                                         sizeof *defaults);
    if (!defaults) return no_memory(l->error);
    l->program->input_defaults = defaults;
    for (uint32_t i = 0; i < graph->input_count; i++) {
        sdx_slot_info *slot = &l->program->slots[graph->inputs[i]];
        defaults[i] = slot->place == SDX_PLACE_CONST ? slot->index : SDX_NONE;
        slot->place = SDX_PLACE_INPUT;
        slot->index = l->program->storage_count;
        slot->buffer = SDX_NONE;
        l->program->storage_values[l->program->storage_count++] = graph->inputs[i];
    }
    return SDX_STATUS_OK;
}

/* Values of a subgraph, and those of the main graph that no step could place ahead. */
static sdx_status add_releases(sdx_lowering *l, sdx_id graph_id) {
    sdx_program *program = l->program;
    sdx_block *block = &program->blocks[graph_id];
    uint32_t *counts = sdx_arena_array(&program->arena, (size_t)block->step_count + 2,
                                       sizeof *counts);
    if (!counts) return no_memory(l->error);
    /* Counting sort of the heap values by the step after which they go. */
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t s = 0; s < block->step_count; s++) {
            const sdx_node *node = block->steps[s].node;
            for (uint32_t o = 0; o < node->output_count; o++) {
                sdx_id id = node->outputs[o];
                if (id == SDX_NONE || program->slots[id].place != SDX_PLACE_HEAP) continue;
                uint32_t last = l->last_use[id];
                if (last >= block->step_count) continue; /* an output: dropped at the end */
                if (pass == 0) block->steps[last].release_count++;
                else ((sdx_id *)l->releases.data)[block->steps[last].release + counts[last]++] = id;
            }
        }
        if (pass == 1) break;
        for (uint32_t s = 0; s < block->step_count; s++) {
            block->steps[s].release = (uint32_t)l->releases.count;
            for (uint32_t k = 0; k < block->steps[s].release_count; k++)
                if (!sdx_vector_push(&l->releases, program->allocator, sizeof(sdx_id)))
                    return no_memory(l->error);
        }
    }
    return SDX_STATUS_OK;
}

/* ---- the whole ------------------------------------------------------------------------------ */

/* Bytes of every tensor that may lie in the arena. */
static sdx_status find_bytes(sdx_lowering *l) {
    const sdx_module *module = l->module;
    l->bytes = sdx_arena_array(&l->scratch, module->values.count + 1, sizeof(sdx_expr));
    if (!l->bytes) return no_memory(l->error);
    for (size_t v = 0; v < module->values.count; v++) {
        const sdx_value_def *def = sdx_value_at(module, (sdx_id)v);
        l->bytes[v] = SDX_EXPR_UNKNOWN;
        if (def->graph != 0 || !sdx_type_fixed(&def->type)) continue;
        sdx_expr bytes = sdx_expr_const((int64_t)sdx_dtype_size(def->type.dtype));
        for (int32_t i = 0; i < def->type.rank; i++)
            bytes = sdx_expr_mul(l->program->pool, bytes, def->type.dims[i]);
        l->bytes[v] = bytes;
    }
    return SDX_STATUS_OK;
}

sdx_status sdx_lower(sdx_lowering *l) {
    sdx_program *program = l->program;
    size_t values = l->module->values.count, graphs = l->module->graphs.count;
    sdx_arena *arena = &program->arena;
    l->needed = sdx_arena_array(&l->scratch, l->module->nodes.count + 1, 1);
    l->value_used = sdx_arena_array(&l->scratch, values + 1, 1);
    l->plain = sdx_arena_array(&l->scratch, values + 1, 1);
    l->last_use = sdx_arena_array(&l->scratch, values + 1, sizeof(uint32_t));
    program->blocks = sdx_arena_array(arena, graphs + 1, sizeof(sdx_block));
    program->slots = sdx_arena_array(arena, values + 1, sizeof(sdx_slot_info));
    program->storage_values = sdx_arena_array(arena, values + 1, sizeof(sdx_id));
    program->node_fixed = sdx_arena_array(arena, l->module->nodes.count + 1, sizeof(bool));
    if (!l->needed || !l->value_used || !l->plain || !l->last_use || !program->blocks ||
        !program->slots || !program->storage_values || !program->node_fixed)
        return no_memory(l->error);
    SDX_TRY(find_needed(l));
    for (size_t g = 0; g < graphs; g++) SDX_TRY(make_block(l, (sdx_id)g));
    if (!program->saving) {
        SDX_TRY(sdx_lower_pack(l));
        find_plain(l);
        sdx_lower_give_back(l);
    }
    SDX_TRY(place_constants(l));
    if (!program->saving) sdx_lower_forget_file(l);
    SDX_TRY(place_inputs(l));
    SDX_TRY(find_bytes(l));
    SDX_TRY(sdx_lower_memory(l));
    for (size_t g = 0; g < graphs; g++) {
        if (g != 0) sdx_find_lifetimes(l, (sdx_id)g);
        SDX_TRY(add_releases(l, (sdx_id)g));
    }
    program->releases = sdx_arena_array(arena, l->releases.count + 1, sizeof(sdx_id));
    if (!program->releases) return no_memory(l->error);
    if (l->releases.count)
        memcpy(program->releases, l->releases.data, l->releases.count * sizeof(sdx_id));
    return SDX_STATUS_OK;
}
