/* lower_memory.c - from steps to buffers of the arena. Sizes are expressions, so what pays is found out
 * at a few bindings (what the caller expects, or a guess); lower_order.c gives the order of steps,
 * storage.c says which values share memory, lower_layout.c where each buffer goes. */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "exec/lowering.h"
#include "exec/stored.h"

#define BATCHES 4 /* of them with larger batches */
/* Bytes of one buffer as far as planning goes: sums of these cannot overflow. What is larger in a run
 * is refused there. */
#define LARGEST ((int64_t)1 << (sizeof(size_t) > 4 ? 40 : 20))
/* Trying a choice walks over all steps; past this many steps in all they stay as they are. */
#define CHOICE_STEPS 20000000u

static sdx_status no_memory(sdx_lowering *l) {
    return sdx_fail_memory(l->error, 0, "the plan of the memory");
}

/* ---- sizes to plan for --------------------------------------------------------------------------- */

/* 1: the symbol is the first dim of some input, where batches are; 2: another dim. */
static void classify_symbols(const sdx_lowering *l, uint8_t *kind) {
    const sdx_graph *graph = sdx_graph_at(l->module, 0);
    for (uint32_t i = 0; i < graph->input_count; i++) {
        const sdx_type *type = &sdx_value_at(l->module, graph->inputs[i])->type;
        if (type->kind != SDX_KIND_TENSOR) continue;
        for (int32_t d = 0; d < type->rank; d++) {
            size_t symbol = sdx_expr_symbol_index(l->module->pool, type->dims[d]);
            if (symbol == SIZE_MAX) continue;
            if (d == 0 && type->rank > 1 && kind[symbol] == 0) kind[symbol] = 1;
            else if (d != 0 || type->rank == 1) kind[symbol] = 2;
        }
    }
}

/* Whether all buffers have a size at these symbols. */
static bool evaluate(const sdx_lowering *l, sdx_sample *s) {
    sdx_expr_evaluate(l->program->pool, s->symbols, s->results);
    for (size_t v = 0; v < l->module->values.count; v++)
        if (!sdx_expr_is_unknown(l->bytes[v]) && sdx_expr_result(l->bytes[v], s->results) < 0)
            return false;
    return true;
}

/* Fills samples with bindings that work; the first is the one to plan for. At least one, even if
 * no guess was good: buffers without a size count as empty then. */
static uint32_t find_samples(const sdx_lowering *l, const uint8_t *kind, const int64_t *expected,
                             sdx_sample *samples) {
    static const int64_t batch_sizes[BATCHES] = {2, 4, 12, 64};
    static const int64_t sizes[] = {224, 64, 512, 16, 128, 256, 32, 640, 299, 48, 1000, 100, 8, 4, 2, 1};
    size_t symbols = sdx_expr_symbol_count(l->program->pool);
    bool free_sizes = false, batches = false;
    for (size_t i = 0; i < symbols; i++) {
        free_sizes |= kind[i] != 1 && expected[i] < 0;
        batches |= kind[i] == 1 && expected[i] < 0;
    }
    size_t tries = free_sizes ? sizeof sizes / sizeof *sizes : 1;
    uint32_t found = 0;
    for (size_t t = 0; t < tries && found < (free_sizes ? SDX_SAMPLES - BATCHES : 1); t++) {
        for (size_t i = 0; i < symbols; i++)
            samples[found].symbols[i] = expected[i] >= 0 ? expected[i]
                                        : kind[i] == 1   ? 1
                                                         : sizes[t];
        found += evaluate(l, &samples[found]);
    }
    if (found == 0) return 1; /* as the last try left it */
    for (size_t b = 0; batches && b < BATCHES; b++) {
        memcpy(samples[found].symbols, samples[0].symbols, symbols * sizeof(int64_t));
        for (size_t i = 0; i < symbols; i++)
            if (kind[i] == 1 && expected[i] < 0) samples[found].symbols[i] = batch_sizes[b];
        found += evaluate(l, &samples[found]);
    }
    return found;
}

/* ---- buffers -------------------------------------------------------------------------------------- */

size_t sdx_bytes_at(sdx_expr bytes, const int64_t *results) {
    int64_t size = sdx_expr_result(bytes, results);
    size_t aligned;
    if (size < 0) return 0;
    if (size > LARGEST) size = LARGEST;
    return sdx_size_align((size_t)size, SDX_CACHE_LINE, &aligned) ? aligned : 0;
}

size_t sdx_storages_peak(const sdx_lowering *l, const sdx_storages *storages,
                         const int64_t *results) {
    const sdx_block *block = &l->program->blocks[0];
    size_t steps = (size_t)block->step_count + 2;
    int64_t *change = sdx_alloc(l->program->allocator, steps * sizeof *change, _Alignof(int64_t));
    if (!change) return SIZE_MAX;
    memset(change, 0, steps * sizeof *change);
    for (uint32_t i = 0; i < storages->count; i++) {
        const sdx_storage *storage = &storages->items[i];
        if (storage->parent != SDX_NONE) continue;
        int64_t size = (int64_t)sdx_bytes_at(storage->own, results);
        change[storage->first] += size;
        change[storage->last + 1] -= size;
    }
    int64_t live = 0, peak = 0;
    for (uint32_t s = 0; s < block->step_count; s++) {
        live += change[s];
        const sdx_step *step = &block->steps[s];
        int64_t scratch = 0;
        if (step->fixed)
            scratch = (int64_t)sdx_bytes_at(step->node->scratch, results);
        if (live + scratch > peak) peak = live + scratch;
    }
    if (live + change[block->step_count] > peak) peak = live + change[block->step_count];
    sdx_free(l->program->allocator, change, steps * sizeof *change);
    return (size_t)peak;
}

/* Switches on what does not raise the peak: it saves a copy in any case, and often memory. */
static void choose(sdx_lowering *l, sdx_storages *storages, const int64_t *results) {
    const sdx_block *block = &l->program->blocks[0];
    sdx_storages_find(l, storages);
    size_t best = sdx_storages_peak(l, storages, results);
    uint64_t work = 0;
    for (uint32_t s = 0; s < block->step_count; s++) {
        const sdx_step *step = &block->steps[s];
        if (!sdx_storage_is_choice(l, step)) continue;
        work += block->step_count;
        if (work > CHOICE_STEPS) break;
        storages->chosen[step->id] = true;
        sdx_storages_find(l, storages);
        size_t peak = sdx_storages_peak(l, storages, results);
        if (peak <= best) best = peak;
        else storages->chosen[step->id] = false;
    }
    sdx_storages_find(l, storages);
}

/* ---- filling the program ------------------------------------------------------------------------- */

static int by_first(const void *a, const void *b) {
    const sdx_planned *x = a, *y = b;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return x->value < y->value ? -1 : x->value > y->value;
}

/* Tables of the buffers: those of storages that lie in no other, and scratch. */
static sdx_status make_planned(sdx_lowering *l, const sdx_storages *storages) {
    sdx_program *program = l->program;
    sdx_block *block = &program->blocks[0];
    size_t most = (size_t)storages->count + block->step_count + 1;
    program->planned = sdx_arena_array(&program->arena, most, sizeof(sdx_planned));
    if (!program->planned) return no_memory(l);
    uint32_t count = 0;
    for (uint32_t i = 0; i < storages->count; i++) {
        const sdx_storage *storage = &storages->items[i];
        if (storage->parent == SDX_NONE)
            program->planned[count++] = (sdx_planned){.first = storage->first,
                                                      .last = storage->last,
                                                      .value = storage->value,
                                                      .bytes = storage->own,
                                                      .over = SDX_NONE};
    }
    for (uint32_t s = 0; s < block->step_count; s++) {
        sdx_expr scratch = block->steps[s].node->scratch;
        if (block->steps[s].fixed && !sdx_expr_is(scratch, 0))
            program->planned[count++] = (sdx_planned){.first = s, .last = s, .value = SDX_NONE,
                                                      .bytes = scratch, .over = SDX_NONE};
    }
    program->planned_count = count;
    qsort(program->planned, count, sizeof(sdx_planned), by_first);
    return SDX_STATUS_OK;
}

static void place_output(sdx_lowering *l, const sdx_storages *storages, const uint32_t *buffer_of,
                         sdx_id value) {
    sdx_program *program = l->program;
    sdx_residence at = storages->residence[value];
    sdx_slot_info *slot = &program->slots[value];
    *slot = (sdx_slot_info){.place = SDX_PLACE_ALIAS, .index = program->storage_count,
                            .buffer = SDX_NONE, .root = at.root, .offset = at.offset};
    program->storage_values[program->storage_count++] = value;
    if (at.storage == SDX_NONE) return;
    uint32_t top = sdx_storage_top(l, storages, at.storage, &slot->offset);
    slot->place = SDX_PLACE_ARENA;
    slot->buffer = buffer_of[storages->items[top].value];
    program->planned[slot->buffer].values++;
}

/* A view of one output, or a Slice or Split, whose results all lie in its input. */
static bool nothing_to_do(const sdx_storages *storages, const sdx_node *node) {
    sdx_id in = node->input_count ? node->inputs[0] : SDX_NONE;
    if (in == SDX_NONE) return false;
    for (uint32_t o = 0; o < node->output_count; o++) {
        sdx_id out = node->outputs[o];
        if (out == SDX_NONE) continue;
        const sdx_residence *a = &storages->residence[in], *b = &storages->residence[out];
        if (a->storage != b->storage || a->root != b->root) return false;
        if (a->storage != SDX_NONE && storages->items[b->storage].value == out) return false;
    }
    return true;
}

static sdx_status place_values(sdx_lowering *l, const sdx_storages *storages) {
    sdx_program *program = l->program;
    sdx_block *block = &program->blocks[0];
    uint32_t *buffer_of =
        sdx_arena_array(&l->scratch, l->module->values.count + 1, sizeof *buffer_of);
    uint32_t *scratch_of =
        sdx_arena_array(&l->scratch, (size_t)block->step_count + 1, sizeof *scratch_of);
    if (!buffer_of || !scratch_of) return no_memory(l);
    memset(scratch_of, 0xff, block->step_count * sizeof *scratch_of);
    for (uint32_t i = 0; i < program->planned_count; i++) {
        const sdx_planned *planned = &program->planned[i];
        if (planned->value == SDX_NONE) scratch_of[planned->first] = i;
        else buffer_of[planned->value] = i;
    }
    for (uint32_t i = 0; i < storages->count; i++) {
        const sdx_storage *storage = &storages->items[i];
        if (storage->parent == SDX_NONE && storage->over != SDX_NONE)
            program->planned[buffer_of[storage->value]].over =
                buffer_of[storages->items[storage->over].value];
    }
    for (uint32_t s = 0; s < block->step_count; s++) {
        sdx_step *step = &block->steps[s];
        if (!step->fixed) continue;
        step->scratch = scratch_of[s];
        step->skip = nothing_to_do(storages, step->node);
        for (uint32_t o = 0; o < step->node->output_count; o++) {
            sdx_id value = step->node->outputs[o];
            if (value == SDX_NONE) continue;
            place_output(l, storages, buffer_of, value);
            program->slots[value].view = step->skip;
        }
    }
    return SDX_STATUS_OK;
}

/* ---- what binding goes through ----------------------------------------------------------------------- */

/* Which dims of a value follow from the symbols, and the product of the others. */
static void size_value(const sdx_type *type, sdx_sized *sized) {
    sized->fixed = 1;
    for (int32_t i = 0; i < type->rank; i++) {
        int64_t size = sdx_expr_is_const(type->dims[i]) ? sdx_expr_value(type->dims[i]) : -1;
        if (size < 0) {
            sized->axes |= (uint16_t)(1u << i);
        } else if ((uint64_t)size > SIZE_MAX ||
                   !sdx_size_mul(sized->fixed, (size_t)size, &sized->fixed)) {
            /* Too large, unless one of the dims turns out to be 0: that is binding's to see. */
            sized->fixed = 1;
            sized->axes = (uint16_t)((1u << type->rank) - 1);
            break;
        }
    }
    for (uint32_t rest = sized->axes; rest; rest &= rest - 1) sized->open++;
}

static void list_place(sdx_program *program, sdx_place place) {
    for (uint32_t i = 0; i < program->storage_count; i++) {
        const sdx_slot_info *slot = &program->slots[program->storage_values[i]];
        if (slot->place != place) continue;
        const sdx_type *type = &sdx_value_at(program->module, program->storage_values[i])->type;
        sdx_sized *sized = &program->sized[program->sized_count++];
        *sized = (sdx_sized){.offset = slot->offset, .storage = i, .buffer = slot->buffer,
                             .element = (uint16_t)sdx_dtype_size(type->dtype), .view = slot->view};
        size_value(type, sized);
        program->open_count += sized->open;
    }
}

static sdx_status list_sized(sdx_lowering *l) {
    sdx_program *program = l->program;
    program->sized =
        sdx_arena_array(&program->arena, (size_t)program->storage_count + 1, sizeof(sdx_sized));
    if (!program->sized) return no_memory(l);
    list_place(program, SDX_PLACE_ALIAS);
    program->alias_count = program->sized_count;
    list_place(program, SDX_PLACE_ARENA);
    program->open =
        sdx_arena_array(&program->arena, (size_t)program->open_count + 1, sizeof(sdx_expr));
    if (!program->open) return no_memory(l);
    sdx_expr *open = program->open;
    for (uint32_t i = 0; i < program->sized_count; i++) {
        const sdx_sized *sized = &program->sized[i];
        const sdx_value_def *def =
            sdx_value_at(program->module, program->storage_values[sized->storage]);
        for (int32_t axis = 0; axis < def->type.rank; axis++)
            if (sized->axes >> axis & 1) *open++ = def->type.dims[axis];
    }
    return SDX_STATUS_OK;
}

/* ---- the whole ------------------------------------------------------------------------------------ */

static sdx_status make_samples(sdx_lowering *l, sdx_sample *samples, uint32_t *count) {
    sdx_expr_pool *pool = l->program->pool;
    size_t symbols = sdx_expr_symbol_count(pool);
    uint8_t *kind = sdx_arena_array(&l->scratch, symbols + 1, 1);
    if (!kind) return no_memory(l);
    for (uint32_t i = 0; i < SDX_SAMPLES; i++) {
        samples[i].symbols = sdx_arena_array(&l->scratch, symbols + 1, sizeof(int64_t));
        /* Offsets are added to the pool later; sizes all exist by now. */
        samples[i].results =
            sdx_arena_array(&l->scratch, sdx_expr_pool_size(pool) + 1, sizeof(int64_t));
        if (!samples[i].symbols || !samples[i].results) return no_memory(l);
    }
    classify_symbols(l, kind);
    *count = find_samples(l, kind, l->program->expected, samples);
    return SDX_STATUS_OK;
}

/* What was chosen when the file was packed, as far as it is a choice. */
static void choose_stored(sdx_lowering *l, sdx_storages *storages) {
    const sdx_stored *stored = l->program->model->stored;
    const sdx_block *block = &l->program->blocks[0];
    l->program->order = stored->order;
    for (uint32_t s = 0; s < block->step_count; s++) {
        const sdx_step *step = &block->steps[s];
        storages->chosen[step->id] = step->id < stored->node_count && stored->chosen[step->id] &&
                                     sdx_storage_is_choice(l, step);
    }
    sdx_storages_find(l, storages);
}

static sdx_status note_chosen(sdx_lowering *l, const sdx_storages *storages) {
    size_t nodes = l->module->nodes.count;
    if (!l->program->saving) return SDX_STATUS_OK;
    l->program->chosen = sdx_arena_array(&l->program->arena, nodes + 1, sizeof(bool));
    if (!l->program->chosen) return no_memory(l);
    memcpy(l->program->chosen, storages->chosen, nodes * sizeof(bool));
    return SDX_STATUS_OK;
}

sdx_status sdx_lower_memory(sdx_lowering *l) {
    sdx_sample samples[SDX_SAMPLES];
    uint32_t sample_count;
    sdx_storages storages;
    bool stored = SDX_HAS(packed_files) && sdx_stored_has_plan(l->program), placed = false;
    if (!(l->program->levers & SDX_MEMORY_NO_IN_PLACE)) sdx_storages_foresee(l);
    sdx_find_lifetimes(l, 0);
    if (!stored) {
        SDX_TRY(make_samples(l, samples, &sample_count));
        if (!(l->program->levers & SDX_MEMORY_KEEP_ORDER))
            SDX_TRY(sdx_lower_order(l, samples[0].results));
    }
    SDX_TRY(sdx_storages_init(l, &storages));
    if (stored) choose_stored(l, &storages);
    else choose(l, &storages, samples[0].results);
    SDX_TRY(note_chosen(l, &storages));
    SDX_TRY(make_planned(l, &storages));
    SDX_TRY(place_values(l, &storages));
    SDX_TRY(list_sized(l));
    if (stored) SDX_TRY(sdx_lower_stored_layout(l, &placed));
    if (placed) return SDX_STATUS_OK;
    if (stored) SDX_TRY(make_samples(l, samples, &sample_count));
    return sdx_lower_layout(l, samples, sample_count);
}
