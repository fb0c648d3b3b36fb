/* lower_order.c - hands the steps of the main graph to the search for an order (plan/schedule.h) and
 * takes the answer over where it needs less memory. */
#include <string.h>

#include "exec/lowering.h"
#include "plan/schedule.h"

/* States that the search may look at: some 10 ms. */
#define STATES 20000
/* Pieces below this part of the largest count as nothing: thousands of scalars would otherwise hide
 * the few decisions that matter. The bound stays a bound. */
#define TINY 1024

typedef struct builder {
    const sdx_lowering *l;
    const sdx_storages *storages;
    uint32_t *piece_of;  /* by value id: storage whose bytes it needs, or SDX_NONE */
    uint32_t *maker;     /* by value id: step, or SDX_NONE */
    sdx_schedule_step *steps;
    uint32_t *piece_seen, *step_seen; /* last step that listed it, + 1 */
    uint32_t *lists;
    size_t used, capacity;
    uint32_t at; /* the step being built */
} builder;

static void add_read(void *user, sdx_id value) {
    builder *b = user;
    sdx_schedule_step *step = &b->steps[b->at];
    uint32_t piece = b->piece_of[value], maker = b->maker[value];
    if (maker != SDX_NONE && maker != b->at && b->step_seen[maker] != b->at + 1) {
        b->step_seen[maker] = b->at + 1;
        step->after[step->after_count++] = maker;
    }
    if (piece != SDX_NONE && b->piece_seen[piece] != b->at + 1) {
        b->piece_seen[piece] = b->at + 1;
        step->reads[step->read_count++] = piece;
    }
}

static void count_read(void *user, sdx_id value) {
    (void)value;
    ++*(size_t *)user;
}

/* Pieces that output 0 may take over from input i: what free_buffer in storage.c asks, but for the
 * moment, which is the search's business. */
static void add_over(builder *b, const sdx_node *node, const int64_t *results) {
    sdx_schedule_step *step = &b->steps[b->at];
    uint32_t flags = node->op->def->flags;
    if (step->make_count == 0 || !(flags & (SDX_OP_IN_PLACE | SDX_OP_IN_PLACE_FIRST)) ||
        (b->l->program->levers & SDX_MEMORY_NO_IN_PLACE))
        return;
    uint32_t count = flags & SDX_OP_IN_PLACE ? node->input_count : node->input_count > 0;
    for (uint32_t i = 0; i < count; i++) {
        sdx_id in = node->inputs[i];
        if (in == SDX_NONE || b->piece_of[in] == SDX_NONE) continue;
        if (sdx_storage_may_take(b->l, b->storages, node, i, b->piece_of[in]) ||
            sdx_expr_result(sdx_storage_spare(b->l, b->storages, node, i, b->piece_of[in]),
                            results) == 0)
            step->over[step->over_count++] = b->piece_of[in];
    }
}

static void *take(builder *b, size_t count) {
    uint32_t *list = b->lists + b->used;
    b->used += count;
    return list;
}

static void add_step(builder *b, const sdx_step *from, uint32_t s, const int64_t *results,
                     size_t *sizes) {
    const sdx_node *node = from->node;
    sdx_schedule_step *step = &b->steps[s];
    size_t reads = 0;
    b->at = s;
    sdx_each_read(b->l->module, node, count_read, &reads);
    step->after = take(b, reads);
    step->reads = take(b, reads);
    step->over = take(b, node->input_count);
    step->makes = take(b, node->output_count);
    sdx_each_read(b->l->module, node, add_read, b);
    for (uint32_t o = 0; o < node->output_count; o++) {
        sdx_id value = node->outputs[o];
        if (value == SDX_NONE) continue;
        b->maker[value] = s;
        if (!from->fixed) {
            /* a view made during the run borrows its input's bytes */
            bool view = o == 0 && (node->op->def->flags & SDX_OP_VIEW) &&
                        node->inputs[0] != SDX_NONE;
            b->piece_of[value] = view ? b->piece_of[node->inputs[0]] : SDX_NONE;
            continue;
        }
        uint32_t storage = b->storages->residence[value].storage;
        if (storage == SDX_NONE) continue;
        b->piece_of[value] = sdx_storage_top(b->l, b->storages, storage, NULL);
        if (b->storages->items[storage].value != value) continue;
        step->makes[step->make_count++] = storage;
        sizes[storage] = sdx_bytes_at(b->storages->items[storage].bytes, results);
    }
    if (from->fixed) {
        step->scratch = sdx_bytes_at(node->scratch, results);
        if (node->outputs[0] != SDX_NONE) add_over(b, node, results);
    }
}

static bool make_builder(builder *b, sdx_lowering *l, uint32_t steps) {
    sdx_arena *memory = &l->scratch;
    size_t values = l->module->values.count;
    const sdx_block *block = &l->program->blocks[0];
    for (uint32_t s = 0; s < steps; s++) {
        size_t reads = 0;
        sdx_each_read(l->module, block->steps[s].node, count_read, &reads);
        b->capacity += 2 * reads + block->steps[s].node->input_count +
                       block->steps[s].node->output_count;
    }
    b->piece_of = sdx_arena_array(memory, values + 1, sizeof(uint32_t));
    b->maker = sdx_arena_array(memory, values + 1, sizeof(uint32_t));
    b->steps = sdx_arena_array(memory, (size_t)steps + 1, sizeof(sdx_schedule_step));
    b->step_seen = sdx_arena_array(memory, (size_t)steps + 1, sizeof(uint32_t));
    b->piece_seen = sdx_arena_array(memory, (size_t)b->storages->count + 1, sizeof(uint32_t));
    b->lists = sdx_arena_array(memory, b->capacity + 1, sizeof(uint32_t));
    if (!b->piece_of || !b->maker || !b->steps || !b->step_seen || !b->piece_seen || !b->lists)
        return false;
    memset(b->piece_of, 0xff, values * sizeof(uint32_t));
    memset(b->maker, 0xff, values * sizeof(uint32_t));
    return true;
}

static void drop_tiny(size_t *sizes, uint32_t count) {
    size_t largest = 0;
    for (uint32_t i = 0; i < count; i++)
        if (sizes[i] > largest) largest = sizes[i];
    for (uint32_t i = 0; i < count; i++)
        if (sizes[i] < largest / TINY) sizes[i] = 0;
}

/* Takes the order over if it is better by the full account too. */
static sdx_status take_order(sdx_lowering *l, sdx_storages *storages, const uint32_t *order,
                             const int64_t *results) {
    sdx_block *block = &l->program->blocks[0];
    size_t bytes = (size_t)block->step_count * sizeof(sdx_step);
    sdx_step *given = sdx_arena_alloc(&l->scratch, bytes + 1);
    if (!given) return sdx_fail_memory(l->error, bytes, "an order");
    sdx_storages_find(l, storages);
    size_t before = sdx_storages_peak(l, storages, results);
    memcpy(given, block->steps, bytes);
    for (uint32_t s = 0; s < block->step_count; s++) block->steps[s] = given[order[s]];
    sdx_find_lifetimes(l, 0);
    sdx_storages_find(l, storages);
    l->program->order.changed = sdx_storages_peak(l, storages, results) < before;
    if (l->program->order.changed) return SDX_STATUS_OK;
    memcpy(block->steps, given, bytes);
    sdx_find_lifetimes(l, 0);
    return SDX_STATUS_OK;
}

sdx_status sdx_lower_order(sdx_lowering *l, const int64_t *results) {
    const sdx_block *block = &l->program->blocks[0];
    uint32_t steps = block->step_count;
    sdx_storages storages;
    SDX_TRY(sdx_storages_init(l, &storages));
    uint32_t levers = l->program->levers;
    l->program->levers |= SDX_MEMORY_NO_IN_PLACE; /* what is written over depends on the order */
    sdx_storages_find(l, &storages);
    l->program->levers = levers;
    builder b = {.l = l, .storages = &storages};
    size_t *sizes = sdx_arena_array(&l->scratch, (size_t)storages.count + 1, sizeof *sizes);
    bool *kept = sdx_arena_array(&l->scratch, (size_t)storages.count + 1, sizeof *kept);
    uint32_t *order = sdx_arena_array(&l->scratch, (size_t)steps + 1, sizeof *order);
    if (!sizes || !kept || !order || !make_builder(&b, l, steps))
        return sdx_fail_memory(l->error, 0, "an order");
    for (uint32_t s = 0; s < steps; s++) add_step(&b, &block->steps[s], s, results, sizes);
    for (uint32_t i = 0; i < storages.count; i++) kept[i] = storages.items[i].last >= steps;
    drop_tiny(sizes, storages.count);
    sdx_schedule_problem problem = {.steps = b.steps, .step_count = steps, .sizes = sizes,
                                    .kept = kept, .piece_count = storages.count};
    sdx_schedule_result result;
    SDX_TRY(sdx_schedule(&problem, STATES, l->program->allocator, order, &result, l->error));
    l->program->order = (sdx_order_info){.proved = result.proved, .bound = result.bound,
                                         .peak = result.peak, .given = result.given};
    return result.peak < result.given ? take_order(l, &storages, order, results) : SDX_STATUS_OK;
}
