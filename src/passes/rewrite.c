/* rewrite.c - uses of values and changes that keep them right; see rewrite.h. */
#include "passes/rewrite.h"

#include <string.h>

/* Uses that a change has made stale stay in the list and are passed over: `count` says how many hold. */
typedef struct head {
    uint32_t first; /* index + 1 into uses; 0: none */
    uint32_t count;
    uint32_t outputs; /* of them outputs of graphs */
} head;

static void no_memory(sdx_rewrite *r) {
    if (r->build.status == SDX_STATUS_OK)
        r->build.status = sdx_fail_memory(r->build.error, 0, "a pass");
}

static head *head_of(sdx_rewrite *r, sdx_id value) {
    while (r->heads.count <= value)
        if (!sdx_vector_push(&r->heads, r->module->allocator, sizeof(head))) {
            no_memory(r);
            return NULL;
        }
    return (head *)r->heads.data + value;
}

static void add_use(sdx_rewrite *r, sdx_id value, sdx_use use) {
    if (value == SDX_NONE) return;
    head *h = head_of(r, value);
    sdx_use *slot = sdx_vector_push(&r->uses, r->module->allocator, sizeof *slot);
    if (!h || !slot || r->uses.count >= UINT32_MAX) {
        no_memory(r);
        return;
    }
    use.next = h->first;
    *slot = use;
    h->first = (uint32_t)r->uses.count;
    h->count++;
    h->outputs += use.node == SDX_NONE;
}

static void drop_use(sdx_rewrite *r, sdx_id value, bool output) {
    head *h = value == SDX_NONE ? NULL : head_of(r, value);
    if (!h) return;
    h->count--;
    h->outputs -= output;
}

/* Lists what the nodes read that have been emitted since. */
static void list_new_uses(sdx_rewrite *r) {
    for (; r->known_nodes < r->module->nodes.count; r->known_nodes++) {
        sdx_id id = (sdx_id)r->known_nodes;
        const sdx_node *node = sdx_node_at(r->module, id);
        r->untidy = true;
        for (uint32_t i = 0; !node->dead && i < node->input_count; i++)
            add_use(r, node->inputs[i], (sdx_use){.node = id, .graph = node->graph, .index = i});
    }
}

/* Nodes that no list has (left over from what loading rewrote) count as dead. */
static void find_dead(sdx_module *module) {
    for (size_t i = 0; i < module->nodes.count; i++) sdx_node_at(module, (sdx_id)i)->dead = true;
    for (size_t g = 0; g < module->graphs.count; g++) {
        const sdx_graph *graph = sdx_graph_at(module, (sdx_id)g);
        for (uint32_t i = 0; i < graph->node_count; i++)
            sdx_node_at(module, graph->nodes[i])->dead = false;
    }
}

sdx_status sdx_rewrite_init(sdx_rewrite *r, sdx_module *module, int level, sdx_error *error) {
    memset(r, 0, sizeof *r);
    r->module = module;
    r->level = level;
    r->build = (sdx_build){.module = module, .error = error, .prefix = "", .most = UINT64_MAX,
                           .position = SDX_NO_POSITION};
    sdx_arena_init(&r->scratch, module->allocator, 0);
    find_dead(module);
    list_new_uses(r);
    for (size_t g = 0; g < module->graphs.count; g++) {
        const sdx_graph *graph = sdx_graph_at(module, (sdx_id)g);
        for (uint32_t i = 0; i < graph->output_count; i++)
            add_use(r, graph->outputs[i],
                    (sdx_use){.node = SDX_NONE, .graph = (sdx_id)g, .index = i});
    }
    r->listed_nodes = module->nodes.count;
    r->untidy = false;
    return r->build.status;
}

void sdx_rewrite_free(sdx_rewrite *r) {
    const sdx_allocator *allocator = r->module->allocator;
    sdx_vector_free(&r->heads, allocator, sizeof(head));
    sdx_vector_free(&r->uses, allocator, sizeof(sdx_use));
    sdx_vector_free(&r->work, allocator, sizeof(sdx_id));
    sdx_arena_free(&r->scratch);
}

void sdx_rewrite_forget(sdx_rewrite *r) {
    r->build.from = NULL; /* lies in the scratch memory */
    r->build.from_count = 0;
    sdx_arena_free(&r->scratch);
    sdx_arena_init(&r->scratch, r->module->allocator, 0);
}

void sdx_rewrite_at(sdx_rewrite *r, sdx_id node) { sdx_rewrite_from(r, &node, 1); }

void sdx_rewrite_from(sdx_rewrite *r, const sdx_id *nodes, uint32_t count) {
    const sdx_node *node = sdx_node_at(r->module, nodes[0]);
    r->build.graph = node->graph;
    r->build.prefix = node->name;
    r->build.position = node->position;
    sdx_id *copy = sdx_arena_array(&r->scratch, count, sizeof *copy);
    if (copy) memcpy(copy, nodes, count * sizeof *copy);
    else no_memory(r);
    r->build.from = copy;
    r->build.from_count = copy ? count : 0;
}

/* ---- lists of nodes --------------------------------------------------------------------------- */

static sdx_status list_graph(sdx_rewrite *r, sdx_id id, const uint32_t *added) {
    sdx_module *module = r->module;
    sdx_graph *graph = sdx_graph_at(module, id);
    sdx_id *nodes = sdx_arena_array(&module->arena, (size_t)graph->node_count + added[id] + 1,
                                    sizeof *nodes);
    if (!nodes) return sdx_fail_memory(r->build.error, 0, "a graph's nodes");
    uint32_t count = 0;
    for (uint32_t i = 0; i < graph->node_count; i++)
        if (!sdx_node_at(module, graph->nodes[i])->dead) nodes[count++] = graph->nodes[i];
    graph->nodes = nodes;
    graph->node_count = count;
    return SDX_STATUS_OK;
}

sdx_status sdx_rewrite_tidy(sdx_rewrite *r) {
    sdx_module *module = r->module;
    list_new_uses(r);
    SDX_TRY(r->build.status);
    if (!r->untidy) return SDX_STATUS_OK;
    uint32_t *added = sdx_arena_array(&r->scratch, module->graphs.count + 1, sizeof *added);
    if (!added) return sdx_fail_memory(r->build.error, 0, "a graph's nodes");
    for (size_t i = r->listed_nodes; i < module->nodes.count; i++)
        added[sdx_node_at(module, (sdx_id)i)->graph]++;
    for (size_t g = 0; g < module->graphs.count; g++)
        SDX_TRY(list_graph(r, (sdx_id)g, added));
    for (size_t i = r->listed_nodes; i < module->nodes.count; i++) {
        const sdx_node *node = sdx_node_at(module, (sdx_id)i);
        sdx_graph *graph = sdx_graph_at(module, node->graph);
        if (!node->dead) graph->nodes[graph->node_count++] = (sdx_id)i;
    }
    r->listed_nodes = module->nodes.count;
    r->untidy = false;
    /* Inner graphs have the higher numbers: what they capture is known when the outer is sorted. */
    for (size_t g = module->graphs.count; g-- > 0;)
        SDX_TRY(sdx_graph_sort(module, (sdx_id)g, r->build.error));
    return SDX_STATUS_OK;
}

/* ---- uses -------------------------------------------------------------------------------------- */

uint32_t sdx_use_count(sdx_rewrite *r, sdx_id value) {
    list_new_uses(r);
    const head *h = head_of(r, value);
    return h ? h->count : UINT32_MAX;
}

bool sdx_use_is_output(sdx_rewrite *r, sdx_id value) {
    list_new_uses(r);
    const head *h = head_of(r, value);
    return !h || h->outputs > 0;
}

static bool holds(const sdx_rewrite *r, const sdx_use *use, sdx_id value) {
    if (use->node == SDX_NONE) {
        const sdx_graph *graph = sdx_graph_at(r->module, use->graph);
        return use->index < graph->output_count && graph->outputs[use->index] == value;
    }
    const sdx_node *node = sdx_node_at(r->module, use->node);
    return !node->dead && use->index < node->input_count && node->inputs[use->index] == value;
}

const sdx_use *sdx_use_next(sdx_rewrite *r, sdx_id value, uint32_t *at) {
    list_new_uses(r);
    const head *h = head_of(r, value);
    const sdx_use *uses = r->uses.data;
    uint32_t next = *at != SDX_NONE ? uses[*at].next : h ? h->first : 0;
    while (next && !holds(r, &uses[next - 1], value)) next = uses[next - 1].next;
    if (!next) return NULL;
    *at = next - 1;
    return &uses[next - 1];
}

sdx_id sdx_sole_user(sdx_rewrite *r, sdx_id value) {
    uint32_t at = SDX_NONE;
    if (value == SDX_NONE || sdx_use_count(r, value) != 1) return SDX_NONE;
    const sdx_use *use = sdx_use_next(r, value, &at);
    if (!use || use->node == SDX_NONE) return SDX_NONE;
    return use->graph == sdx_value_at(r->module, value)->graph ? use->node : SDX_NONE;
}

/* ---- changes ------------------------------------------------------------------------------------ */

void sdx_set_input(sdx_rewrite *r, sdx_id id, uint32_t input, sdx_id value) {
    list_new_uses(r);
    sdx_node *node = sdx_node_at(r->module, id);
    if (node->inputs[input] == value) return;
    drop_use(r, node->inputs[input], false);
    node->inputs[input] = value;
    add_use(r, value, (sdx_use){.node = id, .graph = node->graph, .index = input});
    r->untidy = true;
}

/* All nodes that read `old` read `by`; outputs of graphs stay. */
static void redirect(sdx_rewrite *r, sdx_id old, sdx_id by) {
    head *h = head_of(r, old);
    uint32_t next = h ? h->first : 0;
    while (next) {
        const sdx_use use = ((sdx_use *)r->uses.data)[next - 1];
        next = use.next;
        if (use.node != SDX_NONE && holds(r, &use, old)) sdx_set_input(r, use.node, use.index, by);
    }
}

/* The node that makes `by` makes `old` in its place. */
static void rename_output(sdx_rewrite *r, sdx_id old, sdx_id by) {
    sdx_value_def *to = sdx_value_at(r->module, old);
    const sdx_value_def from = *sdx_value_at(r->module, by);
    sdx_node_at(r->module, from.producer)->outputs[from.output_index] = old;
    if (to->producer != SDX_NONE) {
        sdx_node *before = sdx_node_at(r->module, to->producer);
        before->outputs[to->output_index] = SDX_NONE;
    }
    to->producer = from.producer;
    to->output_index = from.output_index;
    to->type = from.type;
    to->contents = from.contents;
    to->content_count = from.content_count;
    to->run_axis = from.run_axis;
    to->join_axis = from.join_axis;
    to->run_start = from.run_start;
    sdx_value_at(r->module, by)->producer = SDX_NONE;
    redirect(r, by, old);
}

bool sdx_replace(sdx_rewrite *r, sdx_id old, sdx_id by) {
    if (r->build.status != SDX_STATUS_OK || old == by || old == SDX_NONE || by == SDX_NONE)
        return false;
    if (!sdx_use_is_output(r, old)) {
        redirect(r, old, by);
        return true;
    }
    const sdx_value_def *from = sdx_value_at(r->module, by), *to = sdx_value_at(r->module, old);
    if (from->producer == SDX_NONE || from->constant || from->graph != to->graph ||
        to->producer == SDX_NONE || sdx_use_is_output(r, by))
        return false;
    rename_output(r, old, by);
    r->untidy = true;
    return true;
}

static void push_work(sdx_rewrite *r, sdx_id node) {
    sdx_id *slot = sdx_vector_push(&r->work, r->module->allocator, sizeof *slot);
    if (slot) *slot = node;
    else no_memory(r);
}

/* Nobody reads what the node makes. */
static bool is_useless(sdx_rewrite *r, sdx_id id) {
    const sdx_node *node = sdx_node_at(r->module, id);
    for (uint32_t o = 0; o < node->output_count; o++) {
        const head *h = node->outputs[o] == SDX_NONE ? NULL : head_of(r, node->outputs[o]);
        if (node->outputs[o] != SDX_NONE && (!h || h->count)) return false;
    }
    return true;
}

static void release_value(sdx_rewrite *r, sdx_id value, bool output) {
    if (value == SDX_NONE) return;
    drop_use(r, value, output);
    sdx_id maker = sdx_value_at(r->module, value)->producer;
    if (maker != SDX_NONE && !sdx_node_at(r->module, maker)->dead && is_useless(r, maker))
        push_work(r, maker);
}

static void kill_graph(sdx_rewrite *r, sdx_id id) {
    const sdx_graph *graph = sdx_graph_at(r->module, id);
    for (uint32_t i = 0; i < graph->output_count; i++) release_value(r, graph->outputs[i], true);
    sdx_graph_at(r->module, id)->output_count = 0;
    for (uint32_t i = 0; i < graph->node_count; i++) push_work(r, graph->nodes[i]);
}

static void kill_one(sdx_rewrite *r, sdx_id id) {
    sdx_node *node = sdx_node_at(r->module, id);
    if (node->dead) return;
    node->dead = true;
    r->untidy = true;
    for (uint32_t i = 0; i < node->input_count; i++) release_value(r, node->inputs[i], false);
    for (uint32_t a = 0; a < node->attr_count; a++) {
        const sdx_attr *attr = &node->attrs[a];
        if (attr->kind != SDX_ATTR_GRAPH && attr->kind != SDX_ATTR_GRAPHS) continue;
        for (size_t g = 0; g < attr->count; g++) kill_graph(r, attr->as.graphs[g]);
    }
}

void sdx_kill(sdx_rewrite *r, sdx_id id) {
    list_new_uses(r);
    push_work(r, id);
    while (r->work.count && r->build.status == SDX_STATUS_OK)
        kill_one(r, ((sdx_id *)r->work.data)[--r->work.count]);
    r->work.count = 0;
}

bool sdx_supplant(sdx_rewrite *r, sdx_id old, sdx_id by) {
    sdx_id maker = sdx_value_at(r->module, old)->producer;
    if (!sdx_replace(r, old, by)) return false;
    if (maker != SDX_NONE && is_useless(r, maker)) sdx_kill(r, maker);
    r->changes++;
    return true;
}

/* ---- what stands there --------------------------------------------------------------------------- */

const sdx_node *sdx_node_if(const sdx_rewrite *r, sdx_id id, const char *op) {
    if (id == SDX_NONE) return NULL;
    const sdx_node *node = sdx_node_at(r->module, id);
    bool is = !node->dead && node->op && node->op_type[0] == op[0] &&
              strcmp(node->op_type, op) == 0 && node->domain[0] == 0;
    return is ? node : NULL;
}

sdx_id sdx_maker(const sdx_rewrite *r, sdx_id value) {
    return value == SDX_NONE ? SDX_NONE : sdx_value_at(r->module, value)->producer;
}

bool sdx_is_fused(const sdx_node *node, const char *op) {
    return node->op && !node->dead && strcmp(node->domain, SDX_DOMAIN_FUSED) == 0 &&
           strcmp(node->op_type, op) == 0;
}

const sdx_node *sdx_maker_if(const sdx_rewrite *r, sdx_id value, const char *op) {
    const sdx_node *node = sdx_node_if(r, sdx_maker(r, value), op);
    return node && node->outputs[0] == value ? node : NULL;
}

const sdx_const *sdx_constant_of(const sdx_rewrite *r, sdx_id value) {
    return value == SDX_NONE ? NULL : sdx_value_at(r->module, value)->constant;
}

static bool is_number(sdx_dtype dtype) {
    return dtype != SDX_DTYPE_STRING && dtype != SDX_DTYPE_COMPLEX64 &&
           dtype != SDX_DTYPE_COMPLEX128 && dtype != SDX_DTYPE_UNDEFINED;
}

static double element(const sdx_const *constant, void *data, size_t i) {
    sdx_tensor tensor = {.dtype = constant->dtype, .count = constant->count, .data = data};
    return sdx_tensor_double(&tensor, i);
}

bool sdx_constant_number(const sdx_rewrite *r, sdx_id value, double *out) {
    const sdx_const *constant = sdx_constant_of(r, value);
    _Alignas(16) char room[16];
    if (!constant || constant->count != 1 || !is_number(constant->dtype)) return false;
    sdx_const_decode(constant, room);
    *out = element(constant, room, 0);
    return true;
}

bool sdx_constant_is(const sdx_rewrite *r, sdx_id value, double number) {
    double is, size = number < 0 ? -number : number;
    return sdx_constant_number(r, value, &is) && is - number <= 1e-5 * size &&
           number - is <= 1e-5 * size;
}

const double *sdx_constant_doubles(sdx_rewrite *r, sdx_id value, size_t *count) {
    const sdx_const *constant = sdx_constant_of(r, value);
    if (!constant || !is_number(constant->dtype)) return NULL;
    size_t size = sdx_dtype_size(constant->dtype);
    void *data = sdx_arena_array(&r->scratch, constant->count + 1, size);
    double *out = constant->dtype == SDX_DTYPE_FLOAT64
                      ? data
                      : sdx_arena_array(&r->scratch, constant->count + 1, sizeof *out);
    if (!data || !out) {
        no_memory(r);
        return NULL;
    }
    if (constant->count) sdx_const_decode(constant, data);
    if (constant->dtype == SDX_DTYPE_FLOAT32) /* nearly all there is, and there is much of it */
        for (size_t i = 0; i < constant->count; i++) out[i] = (double)((const float *)data)[i];
    else
        for (size_t i = 0; data != out && i < constant->count; i++)
            out[i] = element(constant, data, i);
    *count = constant->count;
    return out;
}

sdx_id sdx_emit_floats(sdx_rewrite *r, sdx_dtype dtype, int32_t rank, const int64_t *dims,
                       const double *values) {
    size_t count = sdx_dims_product(dims, 0, rank);
    void *data = sdx_arena_array(&r->scratch, count + 1, sdx_dtype_size(dtype));
    if (!data) {
        no_memory(r);
        return SDX_NONE;
    }
    for (size_t i = 0; i < count; i++) switch (dtype) {
        case SDX_DTYPE_FLOAT64: ((double *)data)[i] = values[i]; break;
        case SDX_DTYPE_FLOAT32: ((float *)data)[i] = (float)values[i]; break;
        case SDX_DTYPE_FLOAT16: ((uint16_t *)data)[i] = sdx_f64_to_f16(values[i]); break;
        default: ((uint16_t *)data)[i] = sdx_f64_to_bf16(values[i]); break;
        }
    return sdx_build_tensor(&r->build, dtype, rank, dims, data);
}
