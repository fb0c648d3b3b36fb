/* sort.c - an executable order for the nodes of a graph, and the list of outer values it uses.
 * Exporters nearly always write a sorted list; then nothing moves. Linear in nodes plus edges. */
#include <string.h>

#include "graph/graph.h"

typedef void (*visit_fn)(void *arg, sdx_id value);

/* Calls visit for each value that the node reads, those captured by its subgraphs included. */
static void for_each_read(const sdx_module *module, const sdx_node *node, visit_fn visit,
                          void *arg) {
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != SDX_NONE) visit(arg, node->inputs[i]);
    for (uint32_t a = 0; a < node->attr_count; a++) {
        const sdx_attr *attr = &node->attrs[a];
        if (attr->kind != SDX_ATTR_GRAPH && attr->kind != SDX_ATTR_GRAPHS) continue;
        for (size_t g = 0; g < attr->count; g++) {
            const sdx_graph *graph = sdx_graph_at(module, attr->as.graphs[g]);
            for (uint32_t c = 0; c < graph->capture_count; c++) visit(arg, graph->captures[c]);
        }
    }
}

/* ---- captures ------------------------------------------------------------------------------ */

typedef struct capture_state {
    sdx_module *module;
    sdx_id graph;
    sdx_vector found; /* sdx_id */
    bool failed;
} capture_state;

/* A value's mark says that the graph at hand has it already, so that each is listed once. */
static void note_capture(void *arg, sdx_id value) {
    capture_state *state = arg;
    sdx_value_def *def = sdx_value_at(state->module, value);
    if (def->graph == state->graph || def->constant || def->mark) return;
    def->mark = 1;
    sdx_id *slot = sdx_vector_push(&state->found, state->module->allocator, sizeof *slot);
    if (slot) *slot = value;
    else state->failed = true; /* the load ends, and with it the mark */
}

static sdx_status find_captures(sdx_module *module, sdx_id graph_id, sdx_error *error) {
    sdx_graph *graph = sdx_graph_at(module, graph_id);
    if (graph->owner == SDX_NONE) return SDX_STATUS_OK;
    capture_state state = {.module = module, .graph = graph_id};
    for (uint32_t i = 0; i < graph->node_count; i++)
        for_each_read(module, sdx_node_at(module, graph->nodes[i]), note_capture, &state);
    for (uint32_t i = 0; i < graph->output_count; i++) note_capture(&state, graph->outputs[i]);
    graph->captures = sdx_arena_array(&module->arena, state.found.count + 1, sizeof(sdx_id));
    bool ok = !state.failed && graph->captures;
    for (size_t i = 0; i < state.found.count; i++)
        sdx_value_at(module, ((const sdx_id *)state.found.data)[i])->mark = 0;
    if (ok && state.found.count)
        memcpy(graph->captures, state.found.data, state.found.count * sizeof(sdx_id));
    graph->capture_count = ok ? (uint32_t)state.found.count : 0;
    sdx_vector_free(&state.found, module->allocator, sizeof(sdx_id));
    return ok ? SDX_STATUS_OK : sdx_fail_memory(error, 0, "a graph's captures");
}

/* ---- order --------------------------------------------------------------------------------- */

typedef struct edge_state {
    const sdx_module *module;
    sdx_id graph;
    uint32_t place; /* of the node whose reads are being visited */
    bool out_of_order;
    size_t edge_count;
    uint32_t *edges; /* positions of the producers; NULL while counting */
} edge_state;

static bool local_producer(const edge_state *state, sdx_id value, sdx_id *producer) {
    const sdx_value_def *def = sdx_value_at(state->module, value);
    *producer = def->producer;
    return def->graph == state->graph && def->producer != SDX_NONE;
}

/* Marks of nodes are their places in the list here. */
static void check_order(void *arg, sdx_id value) {
    edge_state *state = arg;
    sdx_id producer;
    if (!local_producer(state, value, &producer)) return;
    state->edge_count++;
    if (sdx_node_at(state->module, producer)->mark >= state->place) state->out_of_order = true;
}

static void add_edge(void *arg, sdx_id value) {
    edge_state *state = arg;
    sdx_id producer;
    if (local_producer(state, value, &producer))
        state->edges[state->edge_count++] = sdx_node_at(state->module, producer)->mark;
}

enum { UNSEEN, OPEN, PLACED };

typedef struct walk {
    uint32_t count;
    const uint32_t *edges, *begin; /* reads of position p: edges[begin[p] .. begin[p + 1]) */
    uint32_t *cursor, *stack;
    uint8_t *state;
    uint32_t *order; /* result: positions */
    uint32_t placed;
} walk;

/* Depth-first without recursion: places what `root` needs, then root. Returns the position of a
 * node on a cycle, or UINT32_MAX. */
static uint32_t place(walk *w, uint32_t root) {
    uint32_t depth = 0;
    if (w->state[root] == PLACED) return UINT32_MAX;
    w->stack[depth++] = root;
    w->state[root] = OPEN;
    while (depth) {
        uint32_t top = w->stack[depth - 1];
        if (w->cursor[top] == w->begin[top + 1]) {
            w->state[top] = PLACED;
            w->order[w->placed++] = top;
            depth--;
            continue;
        }
        uint32_t need = w->edges[w->cursor[top]++];
        if (w->state[need] == OPEN) return need;
        if (w->state[need] == PLACED) continue;
        w->state[need] = OPEN;
        w->stack[depth++] = need;
    }
    return UINT32_MAX;
}

static sdx_status reorder(sdx_module *module, sdx_id graph_id, edge_state *edges,
                          sdx_error *error) {
    sdx_graph *graph = sdx_graph_at(module, graph_id);
    uint32_t count = graph->node_count;
    sdx_arena scratch;
    sdx_arena_init(&scratch, module->allocator, 0);
    walk w = {.count = count};
    edges->edges = sdx_arena_array(&scratch, edges->edge_count + 1, sizeof(uint32_t));
    uint32_t *begin = sdx_arena_array(&scratch, (size_t)count + 1, sizeof(uint32_t));
    w.cursor = sdx_arena_array(&scratch, (size_t)count + 1, sizeof(uint32_t));
    w.stack = sdx_arena_array(&scratch, (size_t)count + 1, sizeof(uint32_t));
    w.order = sdx_arena_array(&scratch, (size_t)count + 1, sizeof(uint32_t));
    w.state = sdx_arena_array(&scratch, (size_t)count + 1, 1);
    sdx_id *sorted = sdx_arena_array(&module->arena, (size_t)count + 1, sizeof(sdx_id));
    sdx_status status = SDX_STATUS_OK;
    if (!edges->edges || !begin || !w.cursor || !w.stack || !w.order || !w.state || !sorted) {
        status = sdx_fail_memory(error, 0, "sorting a graph");
        goto fail;
    }
    edges->edge_count = 0;
    for (uint32_t p = 0; p < count; p++) {
        begin[p] = w.cursor[p] = (uint32_t)edges->edge_count;
        for_each_read(module, sdx_node_at(module, graph->nodes[p]), add_edge, edges);
    }
    begin[count] = (uint32_t)edges->edge_count;
    w.edges = edges->edges;
    w.begin = begin;
    for (uint32_t p = 0; p < count; p++) {
        uint32_t cycle = place(&w, p);
        if (cycle == UINT32_MAX) continue;
        const sdx_node *node = sdx_node_at(module, graph->nodes[cycle]);
        status = sdx_fail_at(error, SDX_STATUS_BAD_MODEL, node->position,
                             "the graph has a cycle through this node");
        sdx_error_set_node(error, node->name, node->op_type);
        goto fail;
    }
    for (uint32_t p = 0; p < count; p++) sorted[p] = graph->nodes[w.order[p]];
    graph->nodes = sorted;
fail:
    sdx_arena_free(&scratch);
    return status;
}

sdx_status sdx_graph_sort(sdx_module *module, sdx_id graph_id, sdx_error *error) {
    SDX_TRY(find_captures(module, graph_id, error));
    const sdx_graph *graph = sdx_graph_at(module, graph_id);
    edge_state edges = {.module = module, .graph = graph_id};
    for (uint32_t i = 0; i < graph->node_count; i++) sdx_node_at(module, graph->nodes[i])->mark = i;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        edges.place = i;
        for_each_read(module, sdx_node_at(module, graph->nodes[i]), check_order, &edges);
    }
    sdx_status status = SDX_STATUS_OK;
    if (edges.edge_count >= UINT32_MAX)
        status = sdx_fail(error, SDX_STATUS_LIMIT, "a graph with %zu edges", edges.edge_count);
    else if (edges.out_of_order)
        status = reorder(module, graph_id, &edges, error);
    for (uint32_t i = 0; i < graph->node_count; i++) sdx_node_at(module, graph->nodes[i])->mark = 0;
    return status;
}
