/* lower_layout.c - one arrangement of the buffers for all sizes. Placements at several bindings, and by
 * several strategies, each say which buffer rests on which; the one that stays closest to the bounds at
 * all bindings is kept. */
#include <string.h>

#include "exec/lowering.h"

#define EFFORT 100000000 /* of a search: 0.1 s or so, where the bound is hard to meet */
#define GOOD_ENOUGH 1.005 /* of the bound, at the worst binding */

typedef struct arranger {
    sdx_lowering *l;
    const sdx_sample *samples;
    uint32_t count;
    size_t bounds[SDX_SAMPLES];
    sdx_buffer *buffers, *trial;
    sdx_layout best;
    double worst; /* excess of the best one; 0: there is none yet */
} arranger;

static void size_buffers(const sdx_program *program, const int64_t *results, sdx_buffer *buffers) {
    for (uint32_t i = 0; i < program->planned_count; i++) {
        const sdx_planned *planned = &program->planned[i];
        buffers[i] = (sdx_buffer){.size = sdx_bytes_at(planned->bytes, results),
                                  .first = planned->first, .last = planned->last};
    }
}

/* By how much, at worst, an arrangement passes the bounds at the samples. */
static double worst_excess(const arranger *a, const sdx_layout *layout) {
    double worst = 1;
    for (uint32_t i = 0; i < a->count; i++) {
        size_t arena;
        size_buffers(a->l->program, a->samples[i].results, a->trial);
        if (!sdx_layout_apply(layout, a->trial, &arena) || a->bounds[i] == 0) continue;
        double excess = (double)arena / (double)a->bounds[i];
        if (excess > worst) worst = excess;
    }
    return worst;
}

/* Places a->buffers, as they are sized, and keeps the arrangement if it is the best so far. */
static sdx_status try_placement(arranger *a, const char *strategy) {
    const sdx_program *program = a->l->program;
    sdx_plan_request request = {.strategy = strategy, .align = SDX_CACHE_LINE, .max_work = EFFORT,
                                .allocator = program->allocator};
    sdx_plan_result placed;
    sdx_layout layout;
    SDX_TRY(sdx_plan_place(a->buffers, program->planned_count, &request, &placed, a->l->error));
    SDX_TRY(sdx_layout_make(a->buffers, program->planned_count, &a->l->scratch, &layout,
                            a->l->error));
    double worst = worst_excess(a, &layout);
    if (a->worst == 0 || worst < a->worst) {
        a->worst = worst;
        a->best = layout;
    }
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

static sdx_status arrange(arranger *a) {
    static const char *const quick[] = {"size", "tflite-micro", "breadth", "area", "start-best-fit",
                                        "squeaky-wheel"};
    const sdx_program *program = a->l->program;
    SDX_TRY(find_bounds(a));
    for (uint32_t s = 0; s < a->count && (s == 0 || a->worst > 1); s++) {
        size_buffers(program, a->samples[s].results, a->buffers);
        SDX_TRY(try_placement(a, program->strategy));
    }
    /* The caller's own choice of a strategy stands as it is. */
    if (strcmp(program->strategy, "best") != 0) return SDX_STATUS_OK;
    for (size_t k = 0; k < sizeof quick / sizeof *quick; k++)
        for (uint32_t s = 0; s <= a->count && a->worst > GOOD_ENOUGH; s++) {
            if (s == 0) size_by_share(a);
            else size_buffers(program, a->samples[s - 1].results, a->buffers);
            SDX_TRY(try_placement(a, quick[k]));
        }
    return SDX_STATUS_OK;
}

/* Sizes and offsets as expressions: each buffer starts where the highest of those below it ends. */
static void describe_layout(sdx_program *program) {
    const sdx_layout *layout = &program->layout;
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
    arranger a = {.l = l, .samples = samples, .count = count,
                  .buffers = sdx_arena_array(&l->scratch, entries, sizeof(sdx_buffer)),
                  .trial = sdx_arena_array(&l->scratch, entries, sizeof(sdx_buffer))};
    if (!a.buffers || !a.trial) return sdx_fail_memory(l->error, 0, "the plan of the memory");
    SDX_TRY(arrange(&a));
    SDX_TRY(sdx_layout_copy(&a.best, &program->arena, &program->layout, l->error));
    if (program->levers & SDX_MEMORY_DESCRIBE) describe_layout(program);
    return SDX_STATUS_OK;
}
