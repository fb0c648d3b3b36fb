/* gradient.c - expands Gradient nodes: the nodes that lead from xs and zs to y are
 * differentiated in reverse order, and what computes the gradients stands in the graph as
 * ordinary nodes. Where the node is asked for another value than the one that xs or zs name, the
 * nodes between are copied first and the copies read that value. A Gradient over another one's
 * outputs comes after it. Called between two inferences of shapes: the first for the ranks that
 * rules need, the second for all. */
#include "passes/gradient.h"

#include <string.h>

#include "ops/gradient.h"

/* What is known about a value during one expansion; found through the value's mark. */
typedef struct record {
    sdx_id value;
    sdx_id stand_in; /* what is read in its place: itself, its copy, or the node's input */
    sdx_id gradient; /* sum of what rules have given so far; SDX_NONE: nothing yet */
    bool cut;        /* named in xs or zs: where the sub-graph begins */
    bool active;     /* y's gradient may flow back to it, and on to one of xs */
} record;

/* A node on the way down to what y needs, and the read to look at next. */
typedef struct frame {
    sdx_id node;
    uint32_t next;
} frame;

enum { UNSEEN, OPEN, PLACED }; /* marks of nodes */

struct sdx_gradient {
    sdx_build build;
    sdx_node site;      /* the Gradient node */
    size_t first;       /* nodes that were there before */
    sdx_id current;     /* the node whose rule is at work */
    sdx_vector records; /* record */
    sdx_vector order;   /* sdx_id: nodes that lead to y, each after what it reads */
    sdx_vector frames;  /* frame */
    bool changed;       /* a node that was there before has been changed */
};

typedef struct expander {
    sdx_module *module;
    sdx_error *error;
    sdx_vector stack;  /* sdx_id: Gradients, each waiting for the one above */
    uint8_t *waiting;  /* by node id: it is on the stack */
    sdx_vector *made;  /* by graph: sdx_id of its new nodes */
    bool *stale;       /* by graph: a graph inside has new nodes */
    uint64_t most;     /* nodes that the module may come to */
    uint64_t steps;    /* reads looked at, against a bound: many Gradients may share a long way */
} expander;

/* A few lines can ask for a gradient of a gradient of a gradient and so on. A node made here
 * costs more than one that is read: an eighth of what the limits allow, and for each of those a
 * few looks. */
#define SHARE_OF_NODES 8
#define STEPS_PER_NODE 16

sdx_build *sdx_gradient_build(sdx_gradient *g) { return &g->build; }

static void no_memory(sdx_gradient *g) {
    if (g->build.status == SDX_STATUS_OK)
        g->build.status = sdx_fail_memory(g->build.error, 0, "a gradient");
}

sdx_id *sdx_gradient_list(sdx_gradient *g, size_t count) {
    sdx_id *list = sdx_arena_array(&g->build.module->arena, count + 1, sizeof *list);
    if (!list) no_memory(g);
    return list;
}

static bool push_id(sdx_vector *vector, const sdx_allocator *allocator, sdx_id id) {
    sdx_id *slot = sdx_vector_push(vector, allocator, sizeof *slot);
    if (slot) *slot = id;
    return slot != NULL;
}

/* ---- records --------------------------------------------------------------------------------- */

static record *find_record(const sdx_gradient *g, sdx_id value) {
    uint32_t mark = value == SDX_NONE ? 0 : sdx_value_at(g->build.module, value)->mark;
    return mark ? (record *)g->records.data + (mark - 1) : NULL;
}

/* Made at first use; NULL: out of memory. Valid until the next one is made. */
static record *record_of(sdx_gradient *g, sdx_id value) {
    record *known = find_record(g, value);
    if (known || value == SDX_NONE) return known;
    record *made = sdx_vector_push(&g->records, g->build.module->allocator, sizeof *made);
    if (!made) {
        no_memory(g);
        return NULL;
    }
    *made = (record){.value = value, .stand_in = value, .gradient = SDX_NONE};
    sdx_value_at(g->build.module, value)->mark = (uint32_t)g->records.count;
    return made;
}

static sdx_id stand_in_of(const sdx_gradient *g, sdx_id value) {
    const record *known = find_record(g, value);
    return known ? known->stand_in : value;
}

static bool is_active(const sdx_gradient *g, sdx_id value) {
    const record *known = find_record(g, value);
    return known && known->active;
}

static void forget(sdx_gradient *g) {
    sdx_module *module = g->build.module;
    const record *records = g->records.data;
    for (size_t i = 0; i < g->records.count; i++) sdx_value_at(module, records[i].value)->mark = 0;
    for (size_t i = 0; i < g->order.count; i++)
        sdx_node_at(module, ((sdx_id *)g->order.data)[i])->mark = UNSEEN;
    for (size_t i = 0; i < g->frames.count; i++)
        sdx_node_at(module, ((frame *)g->frames.data)[i].node)->mark = UNSEEN;
    sdx_vector_free(&g->records, module->allocator, sizeof(record));
    sdx_vector_free(&g->order, module->allocator, sizeof(sdx_id));
    sdx_vector_free(&g->frames, module->allocator, sizeof(frame));
}

/* ---- the sub-graph --------------------------------------------------------------------------- */

static bool is_gradient(const sdx_node *node) {
    return node->op && node->op->def == &sdx_op_gradient;
}

static bool has_subgraph(const sdx_node *node) {
    for (uint32_t a = 0; a < node->attr_count; a++)
        if (node->attrs[a].kind == SDX_ATTR_GRAPH || node->attrs[a].kind == SDX_ATTR_GRAPHS)
            return true;
    return false;
}

/* The k-th value that a node reads, those that its subgraphs capture behind its inputs. False when
 * there are no more. */
static bool read_at(const sdx_module *module, const sdx_node *node, uint32_t k, sdx_id *out) {
    if (k < node->input_count) {
        *out = node->inputs[k];
        return true;
    }
    k -= node->input_count;
    for (uint32_t a = 0; a < node->attr_count; a++) {
        const sdx_attr *attr = &node->attrs[a];
        if (attr->kind != SDX_ATTR_GRAPH && attr->kind != SDX_ATTR_GRAPHS) continue;
        for (size_t i = 0; i < attr->count; i++) {
            const sdx_graph *graph = sdx_graph_at(module, attr->as.graphs[i]);
            if (k < graph->capture_count) {
                *out = graph->captures[k];
                return true;
            }
            k -= graph->capture_count;
        }
    }
    return false;
}

/* Goes down to the node that makes the value, unless the sub-graph ends here. */
static void descend(sdx_gradient *g, sdx_id value, sdx_id *dependency) {
    const sdx_module *module = g->build.module;
    const record *known = find_record(g, value);
    if (value == SDX_NONE || (known && known->cut)) return;
    sdx_id producer = sdx_value_at(module, value)->producer;
    if (producer == SDX_NONE || sdx_node_at(module, producer)->mark != UNSEEN) return;
    if (is_gradient(sdx_node_at(module, producer))) {
        *dependency = producer;
        return;
    }
    frame *slot = sdx_vector_push(&g->frames, module->allocator, sizeof *slot);
    if (!slot) {
        no_memory(g);
        return;
    }
    slot->node = producer;
    sdx_node_at(module, producer)->mark = OPEN;
}

/* Fills g->order; *dependency: a Gradient among what y needs, which has to be expanded before. */
static void collect(expander *e, sdx_gradient *g, sdx_id y, sdx_id *dependency) {
    const sdx_module *module = e->module;
    const uint64_t nodes = module->limits.max_nodes;
    const uint64_t bound = nodes > UINT64_MAX / STEPS_PER_NODE ? UINT64_MAX
                                                               : nodes * STEPS_PER_NODE;
    *dependency = SDX_NONE;
    descend(g, y, dependency);
    while (g->frames.count && *dependency == SDX_NONE && g->build.status == SDX_STATUS_OK) {
        frame *top = (frame *)g->frames.data + g->frames.count - 1;
        sdx_id value;
        if (++e->steps > bound)
            sdx_build_fail(&g->build, SDX_STATUS_LIMIT,
                           "the model's gradients lead over more than %llu edges, which the limit "
                           "on nodes allows",
                           (unsigned long long)bound);
        else if (read_at(module, sdx_node_at(module, top->node), top->next++, &value))
            descend(g, value, dependency);
        else {
            sdx_node_at(module, top->node)->mark = PLACED;
            if (!push_id(&g->order, module->allocator, top->node)) no_memory(g);
            g->frames.count--;
        }
    }
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* xs and zs are read as the node's inputs say. An Identity keeps apart what has one name inside the
 * sub-graph and another use besides. */
static void name_inputs(sdx_gradient *g) {
    const sdx_gradient_params *p = g->site.params;
    for (size_t i = 0; i < p->x_count + p->z_count; i++) {
        sdx_id name = i < p->x_count ? p->xs[i] : p->zs[i - p->x_count];
        sdx_id given = g->site.inputs[i];
        record *named = record_of(g, name);
        if (!named) return;
        if (named->cut) {
            sdx_build_fail(&g->build, SDX_STATUS_BAD_MODEL,
                           "'%.64s' is named twice among xs and zs",
                           sdx_value_at(g->build.module, name)->name);
            return;
        }
        named->cut = true;
        if (name == given) continue;
        given = SDX_EMIT(&g->build, "Identity", given);
        find_record(g, name)->stand_in = given;
    }
}

/* Makes node number `at` of the order read what stands in for its inputs; copies it if need be. */
static void copy_node(sdx_gradient *g, size_t at) {
    sdx_module *module = g->build.module;
    sdx_id *slot = (sdx_id *)g->order.data + at, value;
    const sdx_node node = *sdx_node_at(module, *slot);
    bool differs = false;
    for (uint32_t k = 0; !differs && read_at(module, &node, k, &value); k++)
        differs = stand_in_of(g, value) != value;
    sdx_node_at(module, *slot)->mark = UNSEEN;
    if (!differs) return;
    if (has_subgraph(&node)) {
        sdx_gradient_refuse(g, &node, "has a subgraph, and the gradient is asked for at another "
                                      "value than xs or zs name");
        return;
    }
    sdx_id *in = sdx_gradient_list(g, (size_t)node.input_count + node.output_count);
    if (!in) return;
    sdx_id *out = in + node.input_count;
    for (uint32_t i = 0; i < node.input_count; i++) in[i] = stand_in_of(g, node.inputs[i]);
    sdx_emit_copy(&g->build, &node, in, out);
    if (g->build.status != SDX_STATUS_OK) return;
    for (uint32_t o = 0; o < node.output_count; o++) {
        record *made = node.outputs[o] == SDX_NONE ? NULL : record_of(g, node.outputs[o]);
        if (made && !made->cut) made->stand_in = out[o];
    }
    *slot = (sdx_id)(module->nodes.count - 1);
}

/* ---- backwards ------------------------------------------------------------------------------- */

/* Marks the outputs that depend on xs in a way that has a derivative. */
static void spread_activity(sdx_gradient *g, sdx_id id) {
    const sdx_module *module = g->build.module;
    const sdx_node *node = sdx_node_at(module, id);
    sdx_id value;
    bool active = false;
    for (uint32_t k = 0; !active && read_at(module, node, k, &value); k++)
        active = is_active(g, value);
    if (!active) return;
    const sdx_gradient_rule *rule = sdx_gradient_find(node);
    if (rule && rule->constant) return;
    for (uint32_t o = 0; o < node->output_count; o++) {
        if (node->outputs[o] == SDX_NONE) continue;
        const sdx_type *type = sdx_build_type(&g->build, node->outputs[o]);
        if (type->kind == SDX_KIND_TENSOR && type->dtype &&
            !sdx_dtypes_has(SDX_T_FLOATS, type->dtype))
            continue;
        const record *known = find_record(g, node->outputs[o]);
        if (known && known->cut) continue;
        record *made = record_of(g, node->outputs[o]);
        if (made) made->active = true;
    }
}

static void apply_text(sdx_gradient *g, const sdx_node *node, const sdx_gradient_rule *rule) {
    if (rule->forward) {
        size_t first = sdx_gradient_mark(g);
        sdx_id y = sdx_gradient_formula(g, node, rule->text[0]);
        sdx_gradient_through(g, node, first, &y, 1);
        return;
    }
    for (uint32_t i = 0; i < SDX_COUNT(rule->text) && i < node->input_count; i++)
        if (rule->text[i] && sdx_gradient_wanted(g, node, i))
            sdx_gradient_give_sum(g, node, i, sdx_gradient_formula(g, node, rule->text[i]));
}

static void go_back(sdx_gradient *g, sdx_id id) {
    const sdx_module *module = g->build.module;
    const sdx_node node = *sdx_node_at(module, id); /* a copy: the table grows */
    bool arrives = false, leaves = false;
    sdx_id value;
    for (uint32_t o = 0; o < node.output_count; o++)
        arrives |= sdx_gradient_of(g, &node, o) != SDX_NONE;
    for (uint32_t k = 0; arrives && !leaves && read_at(module, &node, k, &value); k++)
        leaves = is_active(g, value);
    if (!arrives || !leaves) return;
    const sdx_gradient_rule *rule = sdx_gradient_find(&node);
    if (!rule || !node.op) { /* without an operator: unsupported, and nothing checked its inputs */
        sdx_gradient_refuse(g, &node, rule ? "is not supported" : "has no rule of differentiation");
        return;
    }
    g->current = id;
    if (sdx_gradient_realign(g, &node)) return;
    if (rule->apply) rule->apply(g, &node);
    else apply_text(g, &node, rule);
}

void sdx_gradient_through(sdx_gradient *g, const sdx_node *node, size_t first, const sdx_id *out,
                          uint32_t count) {
    size_t last = sdx_gradient_mark(g);
    for (size_t id = first; id < last; id++) spread_activity(g, (sdx_id)id);
    for (uint32_t o = 0; o < count; o++) {
        sdx_id gradient = sdx_gradient_of(g, node, o);
        record *made = out[o] == SDX_NONE || gradient == SDX_NONE ? NULL : record_of(g, out[o]);
        if (made) made->gradient = gradient;
    }
    for (size_t id = last; id-- > first && g->build.status == SDX_STATUS_OK;)
        go_back(g, (sdx_id)id);
}

/* ---- what rules call ------------------------------------------------------------------------- */

sdx_id sdx_gradient_of(const sdx_gradient *g, const sdx_node *node, uint32_t o) {
    if (o >= node->output_count) return SDX_NONE;
    const record *known = find_record(g, node->outputs[o]);
    return known && !known->cut ? known->gradient : SDX_NONE;
}

bool sdx_gradient_wanted(const sdx_gradient *g, const sdx_node *node, uint32_t i) {
    return g->build.status == SDX_STATUS_OK && i < node->input_count &&
           is_active(g, node->inputs[i]);
}

void sdx_gradient_give(sdx_gradient *g, const sdx_node *node, uint32_t i, sdx_id value) {
    if (!sdx_gradient_wanted(g, node, i) || value == SDX_NONE) return;
    sdx_id to = node->inputs[i], sum = find_record(g, to)->gradient;
    value = sdx_build_cast(&g->build, value, sdx_build_dtype(&g->build, to));
    if (sum != SDX_NONE) value = SDX_EMIT(&g->build, "Add", sum, value);
    find_record(g, to)->gradient = value;
}

void sdx_gradient_give_sum(sdx_gradient *g, const sdx_node *node, uint32_t i, sdx_id value) {
    if (sdx_gradient_wanted(g, node, i) && value != SDX_NONE)
        sdx_gradient_give(g, node, i, sdx_gradient_sum_to(g, value, node->inputs[i]));
}

void sdx_gradient_refuse(sdx_gradient *g, const sdx_node *node, const char *why) {
    sdx_build_fail(&g->build, SDX_STATUS_UNSUPPORTED,
                   "cannot be expanded: node '%.64s' (%.64s), on the way to y, %s", node->name,
                   node->op_type, why);
}

bool sdx_gradient_need_rank(sdx_gradient *g, const sdx_node *node, sdx_id value) {
    if (sdx_build_rank(&g->build, value) >= 0) return true;
    sdx_gradient_refuse(g, node, "works on a tensor whose rank is not known before the run");
    return false;
}

sdx_id sdx_gradient_need_output(sdx_gradient *g, const sdx_node *node, uint32_t o) {
    if (o < node->output_count && node->outputs[o] != SDX_NONE) return node->outputs[o];
    if (g->current < g->first) g->changed = true;
    return sdx_build_add_output(&g->build, g->current, o);
}

/* ---- one Gradient ---------------------------------------------------------------------------- */

/* The Gradient's own slot in the table becomes the node that makes its first output. */
static void replace_site(sdx_gradient *g, sdx_id id, sdx_id gradient, sdx_id out) {
    sdx_build *b = &g->build;
    sdx_id *edges = sdx_gradient_list(g, 2);
    if (!edges) return;
    edges[0] = gradient;
    edges[1] = out;
    *sdx_node_at(b->module, id) =
        (sdx_node){.name = g->site.name, .op_type = "Identity", .domain = "", .overload = "",
                   .version = SDX_BUILD_OPSET, .graph = g->site.graph, .input_count = 1,
                   .output_count = 1, .inputs = edges, .outputs = edges + 1,
                   .position = g->site.position};
    sdx_value_at(b->module, out)->output_index = 0;
    b->status = sdx_resolve_node(b->module, id, b->error);
    if (b->status == SDX_STATUS_OK) b->status = sdx_infer_node(b->module, id, b->error);
}

/* Where y does not depend on x, the gradient is zero. The node changes only once all are there. */
static void make_outputs(sdx_gradient *g, sdx_id id) {
    sdx_build *b = &g->build;
    const sdx_gradient_params *p = g->site.params;
    sdx_id *gradients = sdx_gradient_list(g, g->site.output_count);
    for (uint32_t o = 0; o < g->site.output_count && b->status == SDX_STATUS_OK; o++) {
        if (g->site.outputs[o] == SDX_NONE) continue;
        sdx_id x = stand_in_of(g, p->xs[o]);
        gradients[o] = find_record(g, x)->gradient;
        if (gradients[o] == SDX_NONE)
            gradients[o] = sdx_build_fill(b, sdx_build_shape(b, x), sdx_build_dtype(b, x), 0);
    }
    bool placed = false;
    for (uint32_t o = 0; o < g->site.output_count && b->status == SDX_STATUS_OK; o++) {
        sdx_id out = g->site.outputs[o];
        if (out == SDX_NONE) continue;
        if (placed) sdx_emit_many(b, "Identity", NULL, 0, &gradients[o], 1, &out, 1);
        else replace_site(g, id, gradients[o], out);
        placed = true;
    }
}

static void differentiate(sdx_gradient *g, sdx_id id) {
    sdx_build *b = &g->build;
    const sdx_gradient_params *p = g->site.params;
    for (size_t i = 0; i < g->order.count && b->status == SDX_STATUS_OK; i++) copy_node(g, i);
    for (uint32_t o = 0; o < g->site.output_count && b->status == SDX_STATUS_OK; o++) {
        record *x = g->site.outputs[o] == SDX_NONE ? NULL
                                                   : record_of(g, stand_in_of(g, p->xs[o]));
        if (x) x->active = true;
    }
    const sdx_id *order = g->order.data;
    for (size_t i = 0; i < g->order.count && b->status == SDX_STATUS_OK; i++)
        spread_activity(g, order[i]);
    sdx_id y = stand_in_of(g, p->y);
    if (is_active(g, y)) {
        sdx_id ones = sdx_build_fill(b, sdx_build_shape(b, y), sdx_build_dtype(b, y), 1);
        find_record(g, y)->gradient = ones;
        for (size_t i = g->order.count; i-- > 0 && b->status == SDX_STATUS_OK;)
            go_back(g, order[i]);
    }
    make_outputs(g, id);
}

static void check_y(sdx_gradient *g) {
    const sdx_id y = ((const sdx_gradient_params *)g->site.params)->y;
    const sdx_type *type = sdx_build_type(&g->build, y);
    const char *name = sdx_value_at(g->build.module, y)->name;
    if (type->kind == SDX_KIND_NONE || (type->kind == SDX_KIND_TENSOR && !type->dtype))
        sdx_build_fail(&g->build, SDX_STATUS_UNSUPPORTED,
                       "y is '%.64s', whose type is not known before the run", name);
    else if (type->kind != SDX_KIND_TENSOR || !sdx_dtypes_has(SDX_T_FLOATS, type->dtype))
        sdx_build_fail(&g->build, SDX_STATUS_BAD_MODEL,
                       "y is '%.64s' of type %s; only floating-point numbers have a gradient", name,
                       type->kind == SDX_KIND_TENSOR ? sdx_dtype_name(type->dtype) : "sequence");
}

/* *dependency: the Gradient that has to be expanded first; this one is as it was then. */
static sdx_status expand(expander *e, sdx_id id, sdx_id *dependency) {
    sdx_module *module = e->module;
    const size_t values = module->values.count;
    sdx_gradient g = {.site = *sdx_node_at(module, id), .first = module->nodes.count};
    const sdx_gradient_params *p = g.site.params;
    g.build = (sdx_build){.module = module, .error = e->error, .graph = g.site.graph,
                          .prefix = g.site.name, .position = g.site.position,
                          .most = e->most};
    name_inputs(&g);
    collect(e, &g, p->y, dependency);
    check_y(&g);
    if (g.build.status == SDX_STATUS_OK && *dependency == SDX_NONE) differentiate(&g, id);
    forget(&g);
    if (g.build.status != SDX_STATUS_OK || *dependency != SDX_NONE) {
        if (!g.changed) {
            module->nodes.count = g.first;
            module->values.count = values;
        }
        sdx_error_set_node(e->error, g.site.name, g.site.op_type);
        return g.build.status;
    }
    for (size_t made = g.first; made < module->nodes.count; made++)
        if (!push_id(&e->made[g.site.graph], module->allocator, (sdx_id)made))
            return sdx_fail_memory(e->error, 0, "a gradient");
    return SDX_STATUS_OK;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static sdx_status wait_for(expander *e, sdx_id id) {
    if (e->waiting[id]) {
        const sdx_node *node = sdx_node_at(e->module, id);
        sdx_fail_at(e->error, SDX_STATUS_BAD_MODEL, node->position,
                    "y depends on an output of this node itself");
        sdx_error_set_node(e->error, node->name, node->op_type);
        return SDX_STATUS_BAD_MODEL;
    }
    e->waiting[id] = 1;
    return push_id(&e->stack, e->module->allocator, id)
               ? SDX_STATUS_OK
               : sdx_fail_memory(e->error, 0, "the model's gradients");
}

/* Expands a Gradient and, before it, those that it is a gradient of. */
static sdx_status expand_with_needs(expander *e, sdx_id id) {
    SDX_TRY(wait_for(e, id));
    while (e->stack.count) {
        sdx_id top = ((sdx_id *)e->stack.data)[e->stack.count - 1], dependency = SDX_NONE;
        sdx_status status = expand(e, top, &dependency);
        if (status == SDX_STATUS_OK && dependency != SDX_NONE) {
            SDX_TRY(wait_for(e, dependency));
            continue;
        }
        if (status == SDX_STATUS_UNSUPPORTED) {
            sdx_error problem = *e->error;
            sdx_error_clear(e->error);
            sdx_node_at(e->module, top)->op = NULL;
            status = sdx_add_problem(e->module, &problem, e->error);
        }
        SDX_TRY(status);
        e->waiting[top] = 0;
        e->stack.count--;
    }
    return SDX_STATUS_OK;
}

/* Lists the new nodes of a graph and finds an order, and what the graph reads from outside. */
static sdx_status list_nodes(expander *e, sdx_id graph_id) {
    sdx_module *module = e->module;
    sdx_graph *graph = sdx_graph_at(module, graph_id);
    const sdx_vector *made = &e->made[graph_id];
    if (!made->count && !e->stale[graph_id]) return SDX_STATUS_OK;
    sdx_id *nodes = sdx_arena_array(&module->arena, graph->node_count + made->count + 1,
                                    sizeof *nodes);
    if (!nodes) return sdx_fail_memory(e->error, 0, "a graph's nodes");
    if (graph->node_count) memcpy(nodes, graph->nodes, graph->node_count * sizeof *nodes);
    if (made->count) memcpy(nodes + graph->node_count, made->data, made->count * sizeof *nodes);
    graph->nodes = nodes;
    graph->node_count += (uint32_t)made->count;
    if (graph->owner != SDX_NONE) e->stale[sdx_node_at(module, graph->owner)->graph] = true;
    return sdx_graph_sort(module, graph_id, e->error);
}

/* Inner graphs have the higher numbers and come first: what an outer node reads through its
 * subgraphs is known when it is differentiated. */
static sdx_status expand_all(expander *e) {
    sdx_module *module = e->module;
    for (size_t i = module->graphs.count; i-- > 0;) {
        const sdx_graph *graph = sdx_graph_at(module, (sdx_id)i);
        for (uint32_t n = 0; n < graph->node_count; n++)
            if (is_gradient(sdx_node_at(module, graph->nodes[n])))
                SDX_TRY(expand_with_needs(e, graph->nodes[n]));
        SDX_TRY(list_nodes(e, (sdx_id)i));
    }
    module->constraints.count = 0;
    return sdx_infer_module(module, e->error);
}

sdx_status sdx_expand_gradients(sdx_module *module, sdx_error *error) {
    const size_t nodes = module->nodes.count, graphs = module->graphs.count;
    bool any = false;
    for (size_t i = 0; !any && i < nodes; i++) any = is_gradient(sdx_node_at(module, (sdx_id)i));
    if (!any) return SDX_STATUS_OK;
    sdx_arena scratch;
    sdx_arena_init(&scratch, module->allocator, 0);
    expander e = {.module = module, .error = error,
                  .most = nodes + module->limits.max_nodes / SHARE_OF_NODES};
    if (e.most > module->limits.max_nodes) e.most = module->limits.max_nodes;
    e.waiting = sdx_arena_array(&scratch, nodes + 1, 1);
    e.made = sdx_arena_array(&scratch, graphs + 1, sizeof *e.made);
    e.stale = sdx_arena_array(&scratch, graphs + 1, sizeof *e.stale);
    bool ready = e.waiting && e.made && e.stale;
    sdx_status status = ready ? expand_all(&e) : sdx_fail_memory(error, 0, "a gradient");
    for (size_t i = 0; ready && i < graphs; i++)
        sdx_vector_free(&e.made[i], module->allocator, sizeof(sdx_id));
    sdx_vector_free(&e.stack, module->allocator, sizeof(sdx_id));
    sdx_arena_free(&scratch);
    return status;
}
