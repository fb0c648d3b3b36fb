/* schedule_state.c - running a step and taking it back, on paper. */
#include "plan/schedule_state.h"

#include <string.h>

sdx_status sdx_schedule_init(sdx_schedule_state *s, const sdx_schedule_problem *problem,
                             uint64_t max_nodes, const sdx_allocator *allocator,
                             sdx_error *error) {
    *s = (sdx_schedule_state){.problem = problem, .max_nodes = max_nodes};
    sdx_arena_init(&s->memory, allocator, 0);
    s->waiting = sdx_arena_array(&s->memory, (size_t)problem->step_count + 1, sizeof(uint32_t));
    s->readers = sdx_arena_array(&s->memory, (size_t)problem->piece_count + 1, sizeof(uint32_t));
    if (!s->waiting || !s->readers) return sdx_fail_memory(error, 0, "an order");
    for (uint32_t i = 0; i < problem->step_count; i++) {
        const sdx_schedule_step *step = &problem->steps[i];
        s->waiting[i] = step->after_count;
        for (uint32_t k = 0; k < step->read_count; k++) s->readers[step->reads[k]]++;
    }
    return SDX_STATUS_OK;
}

void sdx_schedule_free(sdx_schedule_state *s) { sdx_arena_free(&s->memory); }

size_t sdx_schedule_during(const sdx_schedule_state *s, uint32_t index) {
    const sdx_schedule_problem *p = s->problem;
    const sdx_schedule_step *step = &p->steps[index];
    size_t bytes = s->live + step->scratch;
    for (uint32_t i = 0; i < step->make_count; i++) bytes += p->sizes[step->makes[i]];
    for (uint32_t i = 0; i < step->over_count; i++)
        if (s->readers[step->over[i]] == 1 && !p->kept[step->over[i]])
            return bytes - p->sizes[step->makes[0]];
    return bytes;
}

/* Modulo 2^32: steps behind the part that a beam looks at are counted down each time it runs one of theirs, and get
 * their numbers back at its end (schedule_beam.c). */
static void wait_for_less(sdx_schedule_state *s, uint32_t index) {
    for (uint32_t k = s->follow_first[index]; k < s->follow_first[index + 1]; k++)
        s->waiting[s->followers[k]]--;
}

static void wait_for_more(sdx_schedule_state *s, uint32_t index) {
    for (uint32_t k = s->follow_first[index]; k < s->follow_first[index + 1]; k++)
        s->waiting[s->followers[k]]++;
}

void sdx_schedule_do(sdx_schedule_state *s, uint32_t index) {
    const sdx_schedule_problem *p = s->problem;
    const sdx_schedule_step *step = &p->steps[index];
    for (uint32_t i = 0; i < step->make_count; i++) {
        uint32_t piece = step->makes[i];
        if (s->readers[piece] > 0 || p->kept[piece]) s->live += p->sizes[piece];
    }
    for (uint32_t i = 0; i < step->read_count; i++) {
        uint32_t piece = step->reads[i];
        if (--s->readers[piece] == 0 && !p->kept[piece]) s->live -= p->sizes[piece];
    }
    wait_for_less(s, index);
}

void sdx_schedule_undo(sdx_schedule_state *s, uint32_t index) {
    const sdx_schedule_problem *p = s->problem;
    const sdx_schedule_step *step = &p->steps[index];
    wait_for_more(s, index);
    for (uint32_t i = 0; i < step->read_count; i++) {
        uint32_t piece = step->reads[i];
        if (s->readers[piece]++ == 0 && !p->kept[piece]) s->live += p->sizes[piece];
    }
    for (uint32_t i = 0; i < step->make_count; i++) {
        uint32_t piece = step->makes[i];
        if (s->readers[piece] > 0 || p->kept[piece]) s->live -= p->sizes[piece];
    }
}
