/* storage.c - which values share memory. A view is its input under another shape; a Slice or Split
 * may be a run of its input's bytes; a Concat's inputs may be written where the Concat wants them; an
 * elementwise step may write over an input that nobody reads any more. The first three follow from
 * the graph alone, the last from the order of the steps too. */
#include <string.h>

#include "exec/lowering.h"

static sdx_expr dim_of(const sdx_lowering *l, sdx_id value, int32_t axis) {
    return sdx_value_at(l->module, value)->type.dims[axis];
}

/* Product of dims [from, to). */
static sdx_expr product(const sdx_lowering *l, sdx_id value, int32_t from, int32_t to) {
    sdx_expr all = sdx_expr_const(1);
    for (int32_t i = from; i < to; i++)
        all = sdx_expr_mul(l->program->pool, all, dim_of(l, value, i));
    return all;
}

static bool nothing_before(const sdx_lowering *l, sdx_id value, int32_t axis) {
    return sdx_expr_is(product(l, value, 0, axis), 1);
}

sdx_status sdx_storages_init(sdx_lowering *l, sdx_storages *storages) {
    size_t values = l->module->values.count;
    *storages = (sdx_storages){
        .items = sdx_arena_array(&l->scratch, values + 1, sizeof(sdx_storage)),
        .residence = sdx_arena_array(&l->scratch, values + 1, sizeof(sdx_residence)),
        .chosen = sdx_arena_array(&l->scratch, l->module->nodes.count + 1, sizeof(bool))};
    if (storages->items && storages->residence && storages->chosen) return SDX_STATUS_OK;
    return sdx_fail_memory(l->error, values * sizeof(sdx_storage), "the program");
}

uint32_t sdx_storage_top(const sdx_lowering *l, const sdx_storages *storages, uint32_t storage,
                         sdx_expr *offset) {
    while (storages->items[storage].parent != SDX_NONE) {
        const sdx_storage *inner = &storages->items[storage];
        if (offset) *offset = sdx_expr_add(l->program->pool, *offset, inner->offset);
        storage = inner->parent;
    }
    return storage;
}

/* ---- views and runs --------------------------------------------------------------------------- */

static bool all_runs(const sdx_lowering *l, const sdx_node *node) {
    for (uint32_t o = 0; o < node->output_count; o++) {
        if (node->outputs[o] == SDX_NONE) continue;
        const sdx_value_def *def = sdx_value_at(l->module, node->outputs[o]);
        if (!def->run_axis || sdx_expr_is_unknown(def->run_start) ||
            !nothing_before(l, node->inputs[0], def->run_axis - 1))
            return false;
    }
    return node->input_count > 0 && node->inputs[0] != SDX_NONE;
}

static bool is_join(const sdx_lowering *l, const sdx_node *node) {
    sdx_id out = node->outputs[0];
    const sdx_value_def *def = sdx_value_at(l->module, out);
    return def->join_axis != 0 && nothing_before(l, out, def->join_axis - 1);
}

bool sdx_storage_is_choice(const sdx_lowering *l, const sdx_step *step) {
    const sdx_node *node = step->node;
    if (!step->fixed || node->output_count == 0 || node->outputs[0] == SDX_NONE) return false;
    uint32_t off = l->program->levers;
    return (!(off & SDX_MEMORY_NO_CONCAT) && is_join(l, node)) ||
           (!(off & SDX_MEMORY_NO_VIEWS) && all_runs(l, node));
}

static void reside_new(const sdx_lowering *l, sdx_storages *storages, sdx_id value, uint32_t step) {
    storages->items[storages->count] = (sdx_storage){.value = value, .bytes = l->bytes[value],
                                                     .parent = SDX_NONE, .first = step,
                                                     .last = l->last_use[value],
                                                     .over = SDX_NONE, .own = l->bytes[value]};
    storages->residence[value] = (sdx_residence){.storage = storages->count++, .root = SDX_NONE,
                                                 .offset = sdx_expr_const(0)};
}

/* A storage is needed until then, and so is what it takes over. */
static void extend(sdx_storages *storages, uint32_t top, uint32_t last) {
    for (; top != SDX_NONE; top = storages->items[top].over)
        if (storages->items[top].last < last) storages->items[top].last = last;
}

/* The value lives in its producer's input 0, so many bytes further on. */
static bool reside_in_input(const sdx_lowering *l, sdx_storages *storages, const sdx_node *node,
                            sdx_id value, sdx_expr offset) {
    sdx_residence at = storages->residence[node->inputs[0]];
    if (at.storage == SDX_NONE && at.root == SDX_NONE) return false;
    at.offset = sdx_expr_add(l->program->pool, at.offset, offset);
    if (sdx_expr_is_unknown(at.offset)) return false;
    storages->residence[value] = at;
    if (at.storage == SDX_NONE) return true;
    extend(storages, sdx_storage_top(l, storages, at.storage, NULL), l->last_use[value]);
    return true;
}

static void reside(const sdx_lowering *l, sdx_storages *storages, const sdx_step *step, uint32_t s,
                   bool runs, uint32_t o) {
    const sdx_node *node = step->node;
    sdx_id value = node->outputs[o];
    bool view = o == 0 && (node->op->def->flags & SDX_OP_VIEW) && node->input_count > 0 &&
                node->inputs[0] != SDX_NONE && !(l->program->levers & SDX_MEMORY_NO_VIEWS);
    sdx_expr offset = sdx_expr_const(0);
    if (runs) {
        const sdx_value_def *def = sdx_value_at(l->module, value);
        const sdx_value_def *from = sdx_value_at(l->module, node->inputs[0]);
        sdx_expr unit = sdx_expr_const((int64_t)sdx_dtype_size(def->type.dtype));
        offset = sdx_expr_mul(l->program->pool, unit,
                              product(l, node->inputs[0], def->run_axis, from->type.rank));
        offset = sdx_expr_mul(l->program->pool, offset, def->run_start);
    }
    if ((!view && !runs) || !reside_in_input(l, storages, node, value, offset))
        reside_new(l, storages, value, s);
}

/* ---- inputs of a Concat inside its output -------------------------------------------------------- */

/* How many inputs from `from` on fill a whole buffer between them, in order; 0: they do not. */
static uint32_t whole_buffer(const sdx_lowering *l, const sdx_storages *storages,
                             const sdx_node *node, uint32_t from, uint32_t *buffer) {
    sdx_expr filled = sdx_expr_const(0);
    *buffer = SDX_NONE;
    for (uint32_t i = from; i < node->input_count; i++) {
        sdx_id value = node->inputs[i];
        sdx_residence at = storages->residence[value];
        if (at.storage == SDX_NONE) return 0;
        uint32_t top = sdx_storage_top(l, storages, at.storage, &at.offset);
        if (i == from) *buffer = top;
        if (top != *buffer || !sdx_expr_same(at.offset, filled)) return 0;
        filled = sdx_expr_add(l->program->pool, filled, l->bytes[value]);
        if (sdx_expr_same(filled, storages->items[top].bytes)) return i - from + 1;
    }
    return 0;
}

/* Whether an input outside [from, from + count) lies in the buffer as well. */
static bool used_elsewhere(const sdx_lowering *l, const sdx_storages *storages,
                           const sdx_node *node, uint32_t from, uint32_t count, uint32_t buffer) {
    for (uint32_t i = 0; i < node->input_count; i++) {
        uint32_t at = storages->residence[node->inputs[i]].storage;
        if ((i < from || i >= from + count) && at != SDX_NONE &&
            sdx_storage_top(l, storages, at, NULL) == buffer)
            return true;
    }
    return false;
}

static void embed(sdx_storages *storages, uint32_t inner, uint32_t outer, uint32_t outer_top,
                  sdx_expr offset) {
    sdx_storage *in = &storages->items[inner], *top = &storages->items[outer_top];
    if (in->first < top->first) top->first = in->first;
    extend(storages, outer_top, in->last);
    in->parent = outer;
    in->offset = offset;
}

static void join(const sdx_lowering *l, sdx_storages *storages, const sdx_node *node) {
    uint32_t out = storages->residence[node->outputs[0]].storage;
    sdx_expr offset = sdx_expr_const(0);
    for (uint32_t i = 0; i < node->input_count;) {
        uint32_t buffer, count = whole_buffer(l, storages, node, i, &buffer);
        if (count && buffer != out && !used_elsewhere(l, storages, node, i, count, buffer) &&
            !sdx_expr_is_unknown(offset))
            embed(storages, buffer, out, out, offset);
        else
            count = 1;
        for (uint32_t end = i + count; i < end; i++)
            offset = sdx_expr_add(l->program->pool, offset, l->bytes[node->inputs[i]]);
    }
}

/* ---- in place ------------------------------------------------------------------------------------- */

/* The same dims, ones in front aside. */
static bool same_shape(const sdx_lowering *l, sdx_id a, sdx_id b) {
    const sdx_type *x = &sdx_value_at(l->module, a)->type, *y = &sdx_value_at(l->module, b)->type;
    const sdx_type *longer = x->rank > y->rank ? x : y, *shorter = x->rank > y->rank ? y : x;
    int32_t extra = longer->rank - shorter->rank;
    for (int32_t i = 0; i < longer->rank; i++) {
        sdx_expr dim = longer->dims[i];
        if (i < extra ? !sdx_expr_is(dim, 1) : !sdx_expr_same(dim, shorter->dims[i - extra]))
            return false;
    }
    return true;
}

bool sdx_storage_may_take(const sdx_lowering *l, const sdx_storages *storages,
                          const sdx_node *node, uint32_t i, uint32_t buffer) {
    sdx_id in = node->inputs[i], out = node->outputs[0];
    if (sdx_value_at(l->module, in)->type.dtype != sdx_value_at(l->module, out)->type.dtype ||
        !same_shape(l, in, out) ||
        !sdx_expr_same(storages->items[buffer].bytes, l->bytes[out]))
        return false;
    /* Another input in the same bytes must see them in the same order. */
    for (uint32_t k = 0; k < node->input_count; k++) {
        sdx_id other = node->inputs[k];
        if (other == SDX_NONE || other == in || storages->residence[other].storage == SDX_NONE)
            continue;
        if (sdx_storage_top(l, storages, storages->residence[other].storage, NULL) == buffer &&
            (!same_shape(l, other, out) || !sdx_expr_same(l->bytes[other], l->bytes[out])))
            return false;
    }
    return true;
}

/* The same rank, and dims that a broadcast may have made longer. */
static bool may_be_same_shape(const sdx_lowering *l, sdx_id in, sdx_id out) {
    const sdx_type *x = &sdx_value_at(l->module, in)->type, *y = &sdx_value_at(l->module, out)->type;
    if (x->dtype != y->dtype || x->rank != y->rank) return false;
    for (int32_t i = 0; i < x->rank; i++) {
        sdx_expr a = dim_of(l, in, i), b = dim_of(l, out, i);
        if (!sdx_expr_same(a, b) && (sdx_expr_is_const(a) || sdx_expr_is_const(b))) return false;
    }
    return true;
}

/* A broadcast only adds: the shapes are equal where the bytes are. */
static sdx_expr bytes_if_longer(const sdx_lowering *l, sdx_id in, sdx_id out) {
    sdx_expr_pool *pool = l->program->pool;
    sdx_expr more = sdx_expr_sub(pool, l->bytes[out], l->bytes[in]);
    return sdx_expr_mul(pool, l->bytes[out], sdx_expr_min(pool, sdx_expr_const(1), more));
}

sdx_expr sdx_storage_spare(const sdx_lowering *l, const sdx_storages *storages,
                           const sdx_node *node, uint32_t i, uint32_t buffer) {
    sdx_id in = node->inputs[i], out = node->outputs[0];
    if (!(node->op->def->flags & SDX_OP_IN_PLACE) ||
        !sdx_expr_same(storages->items[buffer].bytes, l->bytes[in]) ||
        !may_be_same_shape(l, in, out))
        return SDX_EXPR_UNKNOWN;
    for (uint32_t k = 0; k < node->input_count; k++) {
        sdx_id other = node->inputs[k];
        if (other == SDX_NONE || other == in || storages->residence[other].storage == SDX_NONE)
            continue;
        if (sdx_storage_top(l, storages, storages->residence[other].storage, NULL) == buffer)
            return SDX_EXPR_UNKNOWN;
    }
    return bytes_if_longer(l, in, out);
}

void sdx_storages_foresee(const sdx_lowering *l) {
    const sdx_block *block = &l->program->blocks[0];
    for (uint32_t s = 0; s < block->step_count; s++) {
        const sdx_node *node = block->steps[s].node;
        if (!block->steps[s].fixed || !(node->op->def->flags & SDX_OP_IN_PLACE) ||
            node->outputs[0] == SDX_NONE)
            continue;
        for (uint32_t i = 0; i < node->input_count; i++)
            if (node->inputs[i] != SDX_NONE && !sdx_expr_is_unknown(l->bytes[node->inputs[i]]) &&
                may_be_same_shape(l, node->inputs[i], node->outputs[0]))
                bytes_if_longer(l, node->inputs[i], node->outputs[0]);
    }
}

/* The buffer that input i fills whole and that is free for the output after this step, or SDX_NONE. */
static uint32_t free_buffer(const sdx_lowering *l, const sdx_storages *storages,
                            const sdx_node *node, uint32_t s, uint32_t i) {
    sdx_id in = node->inputs[i];
    if (in == SDX_NONE || storages->residence[in].storage == SDX_NONE) return SDX_NONE;
    uint32_t top = sdx_storage_top(l, storages, storages->residence[in].storage, NULL);
    if (storages->items[top].last != s) return SDX_NONE;
    return sdx_storage_may_take(l, storages, node, i, top) ? top : SDX_NONE;
}

/* Whether the output lies over an input is left to the sizes of a run. */
static void take_over(const sdx_lowering *l, sdx_storages *storages, const sdx_node *node,
                      uint32_t s, uint32_t out) {
    for (uint32_t i = 0; i < node->input_count; i++) {
        sdx_id in = node->inputs[i];
        if (in == SDX_NONE || storages->residence[in].storage == SDX_NONE) continue;
        uint32_t top = sdx_storage_top(l, storages, storages->residence[in].storage, NULL);
        if (top == out || storages->items[top].last != s) continue;
        sdx_expr own = sdx_storage_spare(l, storages, node, i, top);
        if (sdx_expr_is_unknown(own)) continue;
        storages->items[out].own = own;
        storages->items[out].over = top;
        extend(storages, top, storages->items[out].last);
        return;
    }
}

static void write_over(const sdx_lowering *l, sdx_storages *storages, const sdx_node *node,
                       uint32_t s) {
    uint32_t flags = node->op->def->flags;
    if (!(flags & (SDX_OP_IN_PLACE | SDX_OP_IN_PLACE_FIRST)) || node->outputs[0] == SDX_NONE)
        return;
    uint32_t out = storages->residence[node->outputs[0]].storage;
    if (out == SDX_NONE || storages->items[out].value != node->outputs[0]) return;
    uint32_t count = flags & SDX_OP_IN_PLACE ? node->input_count : node->input_count > 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t in = free_buffer(l, storages, node, s, i);
        uint32_t top = sdx_storage_top(l, storages, out, NULL);
        if (in == SDX_NONE || in == top) continue;
        if (top != out && storages->items[in].over != SDX_NONE) continue;
        /* Inside a Concat's buffer the output has its place: the input moves there. */
        if (top == out) embed(storages, out, in, in, sdx_expr_const(0));
        else embed(storages, in, out, top, sdx_expr_const(0));
        return;
    }
    if (storages->items[out].parent == SDX_NONE) take_over(l, storages, node, s, out);
}

/* ---- the whole ---------------------------------------------------------------------------------- */

static void reside_roots(const sdx_lowering *l, sdx_storages *storages) {
    for (size_t v = 0; v < l->module->values.count; v++) {
        sdx_place place = l->program->slots[v].place;
        bool root = place == SDX_PLACE_CONST || place == SDX_PLACE_INPUT;
        storages->residence[v] = (sdx_residence){.storage = SDX_NONE,
                                                 .root = root ? (sdx_id)v : SDX_NONE,
                                                 .offset = sdx_expr_const(0)};
    }
}

void sdx_storages_find(sdx_lowering *l, sdx_storages *storages) {
    const sdx_block *block = &l->program->blocks[0];
    storages->count = 0;
    reside_roots(l, storages);
    for (uint32_t s = 0; s < block->step_count; s++) {
        const sdx_step *step = &block->steps[s];
        if (!step->fixed) continue;
        bool chosen = storages->chosen[step->id];
        bool runs = chosen && all_runs(l, step->node);
        for (uint32_t o = 0; o < step->node->output_count; o++)
            if (step->node->outputs[o] != SDX_NONE) reside(l, storages, step, s, runs, o);
        if (chosen && !runs) join(l, storages, step->node);
    }
    if (l->program->levers & SDX_MEMORY_NO_IN_PLACE) return;
    for (uint32_t s = 0; s < block->step_count; s++)
        if (block->steps[s].fixed) write_over(l, storages, block->steps[s].node, s);
}
