/* control_types.c - types while loading. A value that may come from either branch of an If, or from
 * any round of a Loop, gets the narrowest type that covers them all: what is said here about a
 * shape is relied upon when memory is laid out, so it must hold on every path. */
#include "ops/control.h"

/* ---- types ---------------------------------------------------------------------------------- */

bool sdx_type_same(const sdx_type *a, const sdx_type *b) {
    if (a->kind != b->kind || a->dtype != b->dtype) return false;
    if (a->kind == SDX_KIND_TENSOR || a->kind == SDX_KIND_SPARSE) {
        if (a->rank != b->rank) return false;
        for (int32_t i = 0; i < a->rank; i++)
            if (a->dims[i].word != b->dims[i].word) return false; /* unknown is unknown */
        return true;
    }
    if (!a->inner || !b->inner) return a->inner == b->inner;
    return sdx_type_same(a->inner, b->inner);
}

sdx_status sdx_type_tensor(sdx_infer *inf, sdx_dtype dtype, int32_t rank, const sdx_expr *dims,
                           sdx_type *out) {
    *out = (sdx_type){.kind = SDX_KIND_TENSOR, .dtype = dtype, .rank = rank};
    if (rank < 0) return SDX_STATUS_OK;
    sdx_expr *copy = sdx_arena_array(&inf->module->arena, (size_t)rank + 1, sizeof *copy);
    if (!copy) return sdx_fail_memory(inf->error, 0, "a type");
    for (int32_t i = 0; i < rank; i++) copy[i] = dims[i];
    out->dims = copy;
    return SDX_STATUS_OK;
}

sdx_status sdx_type_wrap(sdx_infer *inf, sdx_kind kind, const sdx_type *inner, sdx_type *out) {
    sdx_type *copy = sdx_arena_alloc(&inf->module->arena, sizeof *copy);
    if (!copy) return sdx_fail_memory(inf->error, sizeof *copy, "a type");
    *copy = inner ? *inner : (sdx_type){.rank = -1};
    *out = (sdx_type){.kind = kind, .rank = -1, .inner = copy};
    return SDX_STATUS_OK;
}

static sdx_status cannot_cover(sdx_infer *inf, const sdx_type *a, const sdx_type *b,
                               const char *what) {
    char first[128], second[128];
    sdx_type_text(inf->module, a, first, sizeof first);
    sdx_type_text(inf->module, b, second, sizeof second);
    return sdx_infer_fail(inf, "%s is %s here and %s there", what, first, second);
}

static sdx_status cover_tensor(sdx_infer *inf, const sdx_type *a, const sdx_type *b,
                               const char *what, sdx_type *out) {
    sdx_expr dims[SDX_MAX_RANK];
    if (a->dtype && b->dtype && a->dtype != b->dtype) return cannot_cover(inf, a, b, what);
    int32_t rank = a->rank == b->rank ? a->rank : -1;
    for (int32_t i = 0; i < rank; i++)
        dims[i] = sdx_expr_same(a->dims[i], b->dims[i]) ? a->dims[i] : SDX_EXPR_UNKNOWN;
    sdx_dtype dtype = a->dtype == b->dtype ? a->dtype : SDX_DTYPE_UNDEFINED;
    SDX_TRY(sdx_type_tensor(inf, dtype, rank, dims, out));
    out->kind = a->kind;
    return SDX_STATUS_OK;
}

sdx_status sdx_type_cover(sdx_infer *inf, const sdx_type *a, const sdx_type *b, const char *what,
                          sdx_type *out) {
    static const sdx_type unknown = {.rank = -1};
    if (a->kind == SDX_KIND_NONE || b->kind == SDX_KIND_NONE) {
        *out = unknown;
        return SDX_STATUS_OK;
    }
    /* An optional covers its content: during a run they are the same thing. */
    bool optional = a->kind == SDX_KIND_OPTIONAL || b->kind == SDX_KIND_OPTIONAL;
    if (!optional && a->kind != b->kind) return cannot_cover(inf, a, b, what);
    if (!optional && (a->kind == SDX_KIND_TENSOR || a->kind == SDX_KIND_SPARSE))
        return cover_tensor(inf, a, b, what, out);
    if (a->kind == SDX_KIND_MAP && !optional && a->dtype != b->dtype)
        return cannot_cover(inf, a, b, what);
    const sdx_type *from = optional && a->kind != SDX_KIND_OPTIONAL ? a : a->inner;
    const sdx_type *with = optional && b->kind != SDX_KIND_OPTIONAL ? b : b->inner;
    sdx_type inner = unknown;
    if (from && with) SDX_TRY(sdx_type_cover(inf, from, with, what, &inner));
    SDX_TRY(sdx_type_wrap(inf, optional ? SDX_KIND_OPTIONAL : a->kind, &inner, out));
    if (!optional) out->dtype = a->dtype; /* the key of a map */
    return SDX_STATUS_OK;
}

sdx_status sdx_type_open(sdx_infer *inf, const sdx_type *type, sdx_type *out) {
    sdx_type inner = {.rank = -1};
    if (!type->inner) {
        *out = *type;
        out->rank = -1;
        out->dims = NULL;
        return SDX_STATUS_OK;
    }
    SDX_TRY(sdx_type_open(inf, type->inner, &inner));
    const sdx_dtype key = type->dtype;
    SDX_TRY(sdx_type_wrap(inf, type->kind, &inner, out));
    out->dtype = key;
    return SDX_STATUS_OK;
}

sdx_status sdx_infer_items(sdx_infer *inf, uint32_t i, sdx_type *out) {
    static const sdx_type unknown = {.rank = -1};
    *out = unknown;
    if (!sdx_infer_present(inf, i)) return sdx_infer_fail(inf, "input %u is missing", i);
    const sdx_type *type = &inf->in[i].type;
    if (type->kind == SDX_KIND_OPTIONAL && type->inner) type = type->inner;
    if (type->kind == SDX_KIND_NONE) return SDX_STATUS_OK;
    if (type->kind != SDX_KIND_SEQUENCE)
        return sdx_infer_fail(inf, "input %u is not a sequence", i);
    if (type->inner) *out = *type->inner;
    return SDX_STATUS_OK;
}

/* ---- subgraphs ------------------------------------------------------------------------------ */

sdx_status sdx_subgraph_need(sdx_prep *prep, const char *attr, uint32_t in_count,
                             uint32_t out_count, sdx_subgraph *out) {
    SDX_TRY(sdx_attr_need_graph(prep, attr, &out->graph));
    const sdx_graph *graph = sdx_graph_at(prep->module, out->graph);
    out->in_count = in_count;
    out->out_count = out_count;
    if (graph->input_count != in_count)
        return sdx_prep_fail(prep, "its graph '%s' has %u inputs, expected %u", attr,
                             graph->input_count, in_count);
    if (graph->output_count != out_count)
        return sdx_prep_fail(prep, "its graph '%s' has %u outputs, expected %u", attr,
                             graph->output_count, out_count);
    return SDX_STATUS_OK;
}

sdx_status sdx_subgraph_need_inputs(sdx_prep *prep, uint32_t first) {
    for (uint32_t i = first; i < prep->node->input_count; i++)
        if (prep->node->inputs[i] == SDX_NONE)
            return sdx_prep_fail(prep, "input %u is left out", i);
    return SDX_STATUS_OK;
}

sdx_status sdx_rounds_begin(sdx_infer *inf, const sdx_subgraph *body, uint32_t states,
                            uint32_t first_state, sdx_rounds *out) {
    sdx_arena *arena = &inf->module->arena;
    *out = (sdx_rounds){.body = body, .states = states, .first_state = first_state};
    out->in = sdx_arena_array(arena, (size_t)body->in_count + 1, sizeof *out->in);
    out->out = sdx_arena_array(arena, (size_t)body->out_count + 1, sizeof *out->out);
    out->filled = sdx_arena_array(arena, (size_t)states + 1, sizeof *out->filled);
    if (!out->in || !out->out || !out->filled)
        return sdx_fail_memory(inf->error, 0, "shape inference");
    return SDX_STATUS_OK;
}

/* Subgraphs that the node stands in. */
static uint32_t nesting(const sdx_infer *inf) {
    uint32_t depth = 0;
    sdx_id node = inf->node;
    while (node != SDX_NONE) {
        node = sdx_graph_at(inf->module, sdx_node_at(inf->module, node)->graph)->owner;
        depth += node != SDX_NONE;
    }
    return depth;
}

/* An argument of unknown type is at least of the kind that the body declares. */
static sdx_status adopt_declared(sdx_infer *inf, const sdx_rounds *r) {
    for (uint32_t i = 0; i < r->body->in_count; i++) {
        const sdx_graph *graph = sdx_graph_at(inf->module, r->body->graph);
        const sdx_type *declared = sdx_value_at(inf->module, graph->inputs[i])->declared;
        if (r->in[i].kind == SDX_KIND_NONE && declared)
            SDX_TRY(sdx_type_open(inf, declared, &r->in[i]));
    }
    return SDX_STATUS_OK;
}

static sdx_status open_states(sdx_infer *inf, const sdx_rounds *r) {
    for (uint32_t s = 0; s < r->states; s++)
        SDX_TRY(sdx_type_open(inf, &r->in[r->first_state + s], &r->in[r->first_state + s]));
    return SDX_STATUS_OK;
}

/* One pass over the body; *settled: it maps the types assumed for its states to themselves. */
static sdx_status infer_pass(sdx_infer *inf, sdx_rounds *r, const sdx_type **out, bool *settled) {
    SDX_TRY(sdx_infer_subgraph(inf, r->body->graph, r->in, r->body->in_count, out));
    for (uint32_t o = 0; o < r->body->out_count; o++) r->out[o] = *out[o];
    *settled = true;
    for (uint32_t s = 0; s < r->states; s++) {
        sdx_type *state = &r->in[r->first_state + s], covered = {.rank = -1};
        SDX_TRY(sdx_type_cover(inf, state, &r->out[s], "a variable carried from round to round",
                               &covered));
        if (!sdx_type_same(state, &covered)) *settled = false;
        *state = covered;
        r->filled[s] = covered.kind == SDX_KIND_OPTIONAL && r->out[s].kind != SDX_KIND_OPTIONAL;
    }
    return SDX_STATUS_OK;
}

/* Passes with the shapes known so far, then passes without any shape. Passes over nested bodies
 * multiply, so deep inside there is only one of the latter. */
enum { SHAPED_PASSES = 2, ALL_PASSES = 4, SHALLOW = 3 };

sdx_status sdx_rounds_infer(sdx_infer *inf, sdx_rounds *rounds) {
    const uint32_t depth = nesting(inf);
    const int shaped = depth < SHALLOW ? SHAPED_PASSES : 0;
    const int passes = depth < SHALLOW ? ALL_PASSES : 1;
    const sdx_type **out = sdx_arena_array(&inf->module->arena,
                                           (size_t)rounds->body->out_count + 1, sizeof *out);
    if (!out) return sdx_fail_memory(inf->error, 0, "shape inference");
    SDX_TRY(adopt_declared(inf, rounds));
    for (int pass = 0; pass < passes; pass++) {
        bool settled;
        if (pass == shaped) SDX_TRY(open_states(inf, rounds));
        SDX_TRY(infer_pass(inf, rounds, out, &settled));
        if (settled) return SDX_STATUS_OK;
    }
    /* Still changing: nothing is claimed about any shape. */
    SDX_TRY(open_states(inf, rounds));
    for (uint32_t o = 0; o < rounds->body->out_count; o++)
        SDX_TRY(sdx_type_open(inf, &rounds->out[o], &rounds->out[o]));
    return SDX_STATUS_OK;
}

void sdx_rounds_set_state(sdx_infer *inf, const sdx_rounds *rounds, uint32_t o, uint32_t s) {
    const sdx_type *type = &rounds->in[rounds->first_state + s];
    /* ONNX gives the output the type that the body's output has. A run that ends without content,
     * for want of rounds, then fails: see sdx_body_finish. */
    if (rounds->filled[s]) type = type->inner;
    sdx_infer_set_type(inf, o, type);
}

/* Whether there is at least one element along each of the leading dims, whatever the input. */
static bool surely_some(const sdx_infer *inf, const sdx_expr *lead, int32_t lead_rank) {
    for (int32_t i = 0; i < lead_rank; i++) {
        int64_t bound;
        if (!sdx_expr_lower_bound(inf->pool, lead[i], &bound) || bound < 1) return false;
    }
    return true;
}

sdx_status sdx_rounds_set_stack(sdx_infer *inf, uint32_t o, const sdx_type *element,
                                const sdx_expr *lead, int32_t lead_rank, int64_t axis, bool full,
                                sdx_type *shown) {
    sdx_expr dims[SDX_MAX_RANK + 2];
    int32_t at = 0, used = 0;
    if (element->kind == SDX_KIND_NONE) return SDX_STATUS_OK;
    if (element->kind != SDX_KIND_TENSOR)
        return sdx_infer_fail(inf, "output %u collects one value per round, but the body makes no "
                                   "tensor there",
                              o);
    *shown = *element;
    sdx_infer_set_dtype(inf, o, element->dtype);
    if (element->rank < 0) return sdx_infer_set_shape(inf, o, -1, NULL);
    SDX_TRY(sdx_infer_axis(inf, axis, element->rank + 1, &at));
    /* Without a round nobody evaluates the dims of an element: then only numbers are known. */
    bool keep = full && surely_some(inf, lead, lead_rank);
    for (int32_t i = 0; i <= element->rank; i++) {
        for (int32_t k = 0; i == at && k < lead_rank; k++) dims[used++] = lead[k];
        if (i == element->rank) break;
        bool known = keep || sdx_expr_is_const(element->dims[i]);
        dims[used++] = known ? element->dims[i] : SDX_EXPR_UNKNOWN;
    }
    return sdx_infer_set_shape(inf, o, used, dims);
}
