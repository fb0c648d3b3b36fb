/* lower_layout.c - one arrangement of the buffers for all sizes. Placements at several bindings, and by
 * several strategies, each say which buffer rests on which; the one that stays closest to the bounds at
 * all bindings is kept. Where not all buffers grow with the sizes, none may be good everywhere: then a
 * few are kept that make up for one another, and binding takes whichever is smallest. */
#include <string.h>

#include "exec/lowering.h"
#include "exec/stored.h"

/* Of a search, where the bound is hard to meet: 0.1 s or so at the first sample, less at the others. */
#define EFFORT      100000000
#define LESS_EFFORT 10000000
#define GOOD_ENOUGH 1.005 /* of the bound, at the worst binding */

/* An arrangement and what it takes at each sample, in parts of the bound there. */
typedef struct candidate {
    sdx_layout layout;
    double excess[SDX_SAMPLES];
    double worst; /* of them */
} candidate;

typedef struct arranger {
    sdx_lowering *l;
    const sdx_sample *samples;
    uint32_t count;
    uint64_t bounds[SDX_SAMPLES];
    sdx_buffer *buffers, *trial;
    candidate *found;
    uint32_t found_count;
    double worst; /* of the best one found; 0: there is none yet */
} arranger;

static void size_buffers(const sdx_program *program, const int64_t *results, sdx_buffer *buffers) {
    for (uint32_t i = 0; i < program->planned_count; i++) {
        const sdx_planned *planned = &program->planned[i];
        buffers[i] = (sdx_buffer){.size = sdx_bytes_at(planned->bytes, results),
                                  .first = planned->first, .last = planned->last};
    }
}

static void measure(const arranger *a, candidate *c) {
    c->worst = 1;
    for (uint32_t i = 0; i < a->count; i++) {
        size_t arena;
        c->excess[i] = 1;
        size_buffers(a->l->program, a->samples[i].results, a->trial);
        if (!sdx_layout_apply(&c->layout, a->trial, &arena) || a->bounds[i] == 0) continue;
        c->excess[i] = (double)arena / (double)a->bounds[i];
        if (c->excess[i] > c->worst) c->worst = c->excess[i];
    }
}

/* Places a->buffers, as they are sized, and notes the arrangement. */
static sdx_status try_placement(arranger *a, const char *strategy) {
    const sdx_program *program = a->l->program;
    sdx_plan_request request = {.strategy = strategy, .align = SDX_CACHE_LINE,
                                .max_work = a->found_count == 0 ? EFFORT : LESS_EFFORT,
                                .allocator = program->allocator};
    sdx_plan_result placed;
    candidate *c = &a->found[a->found_count];
    SDX_TRY(sdx_plan_place(a->buffers, program->planned_count, &request, &placed, a->l->error));
    SDX_TRY(sdx_layout_make(a->buffers, program->planned_count, &a->l->scratch, &c->layout,
                            a->l->error));
    measure(a, c);
    if (a->worst == 0 || c->worst < a->worst) a->worst = c->worst;
    a->found_count++;
    return SDX_STATUS_OK;
}

static sdx_status find_bounds(arranger *a) {
    const sdx_program *program = a->l->program;
    sdx_plan_request request = {.align = SDX_CACHE_LINE, .allocator = program->allocator};
    for (uint32_t i = 0; i < a->count; i++) {
        sdx_plan_result measured;
        size_buffers(program, a->samples[i].results, a->buffers);
        SDX_TRY(sdx_plan_measure(a->buffers, program->planned_count, &request, &measured,
                                 a->l->error));
        a->bounds[i] = measured.lower_bound;
    }
    return SDX_STATUS_OK;
}

/* Each buffer with the largest share of the bound that it has anywhere: what fits then, fits at all
 * samples. */
static void size_by_share(arranger *a) {
    const sdx_program *program = a->l->program;
    size_buffers(program, a->samples[0].results, a->buffers);
    for (uint32_t s = 1; s < a->count; s++) {
        if (a->bounds[s] == 0 || a->bounds[0] == 0) continue;
        size_buffers(program, a->samples[s].results, a->trial);
        for (uint32_t i = 0; i < program->planned_count; i++) {
            double share = (double)a->trial[i].size / (double)a->bounds[s] * (double)a->bounds[0];
            if (share > (double)a->buffers[i].size && share < (double)SIZE_MAX / 4)
                a->buffers[i].size = (size_t)share;
        }
    }
}

static const char *const quick[] = {"size", "tflite-micro", "breadth", "area", "start-best-fit",
                                    "squeaky-wheel"};
#define QUICK (sizeof quick / sizeof *quick)

static sdx_status arrange(arranger *a) {
    const sdx_program *program = a->l->program;
    SDX_TRY(find_bounds(a));
    for (uint32_t s = 0; s < a->count && (s == 0 || a->worst > 1); s++) {
        size_buffers(program, a->samples[s].results, a->buffers);
        SDX_TRY(try_placement(a, program->strategy));
    }
    /* The caller's own choice of a strategy stands as it is. */
    if (strcmp(program->strategy, "best") != 0) return SDX_STATUS_OK;
    for (size_t k = 0; k < QUICK; k++)
        for (uint32_t s = 0; s <= a->count && a->worst > GOOD_ENOUGH; s++) {
            if (s == 0) size_by_share(a);
            else size_buffers(program, a->samples[s - 1].results, a->buffers);
            SDX_TRY(try_placement(a, quick[k]));
        }
    return SDX_STATUS_OK;
}

/* The worst of the samples if this one is kept too, each sample having its best; `least` has what the
 * kept ones reach. Ties go by the sum. */
static double worst_with(const arranger *a, const double *least, const candidate *c, double *sum) {
    double worst = 1;
    *sum = 0;
    for (uint32_t i = 0; i < a->count; i++) {
        double best = c->excess[i] < least[i] ? c->excess[i] : least[i];
        if (best > worst) worst = best;
        *sum += best;
    }
    return worst;
}

/* Keeps the arrangement with the least excess at the worst sample, and others only while they help. */
static sdx_status keep(arranger *a) {
    sdx_program *program = a->l->program;
    double least[SDX_SAMPLES], worst = 1e300;
    for (uint32_t i = 0; i < a->count; i++) least[i] = 1e300;
    while (program->layout_count < SDX_LAYOUTS && worst > GOOD_ENOUGH) {
        const candidate *best = NULL;
        double next = worst, least_sum = 1e308;
        for (uint32_t k = 0; k < a->found_count; k++) {
            double sum, with = worst_with(a, least, &a->found[k], &sum);
            if (best ? with > next || (with == next && sum >= least_sum) : with >= next) continue;
            best = &a->found[k];
            next = with;
            least_sum = sum;
        }
        if (!best) break;
        worst = next;
        for (uint32_t i = 0; i < a->count; i++)
            if (best->excess[i] < least[i]) least[i] = best->excess[i];
        SDX_TRY(sdx_layout_copy(&best->layout, &program->arena,
                                &program->layouts[program->layout_count++], a->l->error));
    }
    return SDX_STATUS_OK;
}

/* Sizes and offsets as expressions: each buffer starts where the highest of those below it ends. */
static void describe_layout(sdx_program *program) {
    const sdx_layout *layout = &program->layouts[0];
    sdx_expr line = sdx_expr_const(SDX_CACHE_LINE);
    for (uint32_t i = 0; i < layout->count; i++) {
        sdx_planned *planned = &program->planned[layout->order[i]];
        planned->size =
            sdx_expr_mul(program->pool, sdx_expr_ceildiv(program->pool, planned->bytes, line), line);
        planned->offset = sdx_expr_const(0);
        for (uint32_t k = layout->first[i]; k < layout->first[i + 1]; k++) {
            const sdx_planned *below = &program->planned[layout->supports[k]];
            sdx_expr end = sdx_expr_add(program->pool, below->offset, below->size);
            planned->offset = sdx_expr_max(program->pool, planned->offset, end);
        }
    }
}

sdx_status sdx_lower_layout(sdx_lowering *l, const sdx_sample *samples, uint32_t count) {
    sdx_program *program = l->program;
    size_t entries = (size_t)program->planned_count + 1;
    size_t most = (size_t)count + QUICK * ((size_t)count + 1);
    arranger a = {.l = l, .samples = samples, .count = count,
                  .buffers = sdx_arena_array(&l->scratch, entries, sizeof(sdx_buffer)),
                  .trial = sdx_arena_array(&l->scratch, entries, sizeof(sdx_buffer)),
                  .found = sdx_arena_array(&l->scratch, most, sizeof(candidate))};
    if (!a.buffers || !a.trial || !a.found)
        return sdx_fail_memory(l->error, 0, "the plan of the memory");
    SDX_TRY(arrange(&a));
    SDX_TRY(keep(&a));
    if (program->levers & SDX_MEMORY_DESCRIBE) describe_layout(program);
    return SDX_STATUS_OK;
}

/* What rests on what follows from the order and the lifetimes, so that no file can make buffers overlap. */
sdx_status sdx_lower_stored_layout(sdx_lowering *l, bool *placed) {
    sdx_program *program = l->program;
    const sdx_stored *stored = program->model->stored;
    uint32_t count = program->planned_count;
    *placed = false;
    if (stored->layout_count == 0 || stored->buffer_count != count) return SDX_STATUS_OK;
    sdx_buffer *buffers = sdx_arena_array(&l->scratch, (size_t)count + 1, sizeof *buffers);
    if (!buffers) return sdx_fail_memory(l->error, 0, "the plan of the memory");
    for (uint32_t k = 0; k < stored->layout_count; k++) {
        for (uint32_t i = 0; i < count; i++) {
            uint32_t buffer = stored->layouts[k][i];
            buffers[buffer] = (sdx_buffer){.size = 1, .offset = i,
                                           .first = program->planned[buffer].first,
                                           .last = program->planned[buffer].last};
        }
        SDX_TRY(sdx_layout_make(buffers, count, &program->arena,
                                &program->layouts[program->layout_count++], l->error));
    }
    if (program->levers & SDX_MEMORY_DESCRIBE) describe_layout(program);
    *placed = true;
    return SDX_STATUS_OK;
}
