/* schedule.c - a search over the sets of steps that may have run. The memory live between two steps
 * follows from that set alone, so a set is looked at once. Where every step either leads to a certain
 * one or follows from it, the set behind that one is passed by every order: there the problem falls
 * into parts, which are solved one by one against one common limit on the peak.
 *
 * A part is tried with the lowest limit that might do. Within it, a step that takes no more than it
 * frees is run at once, since waiting cannot help; among the others the search branches, depth
 * first. If it ends without an answer, the limit rises to the least that was passed; so the first
 * answer is the best. When the allowance of states is used up, a beam search takes over. */
#include "plan/schedule.h"

#include <stdlib.h>
#include <string.h>

#include "plan/schedule_state.h"

/* ---- preparing ------------------------------------------------------------------------------------ */

/* Steps that follow each step. */
static bool make_followers(sdx_schedule_state *s) {
    const sdx_schedule_problem *p = s->problem;
    size_t total = 0;
    for (uint32_t i = 0; i < p->step_count; i++) total += p->steps[i].after_count;
    s->follow_first = sdx_arena_array(&s->memory, (size_t)p->step_count + 2, sizeof(uint32_t));
    s->followers = sdx_arena_array(&s->memory, total + 1, sizeof(uint32_t));
    if (!s->follow_first || !s->followers) return false;
    for (uint32_t i = 0; i < p->step_count; i++)
        for (uint32_t k = 0; k < p->steps[i].after_count; k++)
            s->follow_first[p->steps[i].after[k] + 2]++;
    for (uint32_t i = 0; i < p->step_count; i++) s->follow_first[i + 2] += s->follow_first[i + 1];
    for (uint32_t i = 0; i < p->step_count; i++)
        for (uint32_t k = 0; k < p->steps[i].after_count; k++)
            s->followers[s->follow_first[p->steps[i].after[k] + 1]++] = i;
    return true;
}

static bool weightless(const sdx_schedule_problem *p, const sdx_schedule_step *step) {
    size_t bytes = step->scratch;
    for (uint32_t i = 0; i < step->read_count; i++) bytes += p->sizes[step->reads[i]];
    for (uint32_t i = 0; i < step->make_count; i++) bytes += p->sizes[step->makes[i]];
    return bytes == 0;
}

/* Whether the step takes no more while it runs than it leaves behind. */
static bool takes_what_it_leaves(const sdx_schedule_state *s, const sdx_schedule_step *step) {
    for (uint32_t i = 0; i < step->make_count; i++)
        if (s->readers[step->makes[i]] == 0 && !s->problem->kept[step->makes[i]]) return false;
    return step->scratch == 0;
}

/* A step that only takes memory, since it needs none that another step has made, may as well wait
 * until the first that needs it; and so may one without any memory behind such steps. */
static void find_floating(const sdx_schedule_state *s, bool *floating) {
    const sdx_schedule_problem *p = s->problem;
    for (uint32_t i = 0; i < p->step_count; i++) {
        const sdx_schedule_step *step = &p->steps[i];
        bool alone = true;
        for (uint32_t k = 0; k < step->after_count; k++) alone = alone && floating[step->after[k]];
        floating[i] = alone && s->follow_first[i] < s->follow_first[i + 1] &&
                      (step->after_count == 0 ? takes_what_it_leaves(s, step)
                                              : weightless(p, step));
    }
}

/* The given order with floating steps moved to where they are first needed. stack: scratch. */
static void delay_floating(const sdx_schedule_state *s, const bool *floating, bool *out,
                           uint32_t *stack, uint32_t *order) {
    const sdx_schedule_problem *p = s->problem;
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->step_count; i++) {
        if (floating[i]) continue;
        uint32_t depth = 0;
        stack[depth++] = i;
        while (depth > 0) {
            const sdx_schedule_step *step = &p->steps[stack[depth - 1]];
            uint32_t missing = UINT32_MAX;
            for (uint32_t k = 0; k < step->after_count && missing == UINT32_MAX; k++)
                if (floating[step->after[k]] && !out[step->after[k]]) missing = step->after[k];
            if (missing != UINT32_MAX) {
                stack[depth++] = missing;
                continue;
            }
            out[stack[--depth]] = true;
            order[count++] = stack[depth];
        }
    }
}

/* Marks the places in the order behind which the set of steps done is the same for every order:
 * all later ones follow from the step there, all earlier ones lead to it. */
static void find_cuts(const sdx_schedule_state *s, const uint32_t *order, const bool *floating,
                      uint32_t *place, bool *cut) {
    const sdx_schedule_problem *p = s->problem;
    uint32_t n = p->step_count;
    for (uint32_t i = 0; i < n; i++) place[order[i]] = i;
    uint32_t least = n; /* over all later places: the latest that they need, + 1; 0: none */
    for (uint32_t q = n; q-- > 0;) {
        cut[q] = least > q && !floating[order[q]];
        if (floating[order[q]]) continue;
        const sdx_schedule_step *step = &p->steps[order[q]];
        uint32_t latest = 0;
        for (uint32_t k = 0; k < step->after_count; k++)
            if (!floating[step->after[k]] && place[step->after[k]] + 1 > latest)
                latest = place[step->after[k]] + 1;
        if (latest < least) least = latest;
    }
    uint32_t farthest = 0; /* over all earlier places: the first that follows from them */
    for (uint32_t q = 0; q < n; q++) {
        cut[q] = cut[q] && farthest <= q;
        uint32_t first = n;
        for (uint32_t k = s->follow_first[order[q]]; k < s->follow_first[order[q] + 1]; k++)
            if (place[s->followers[k]] < first) first = place[s->followers[k]];
        if (first > farthest) farthest = first;
    }
    cut[n - 1] = true;
}

/* ---- bounds --------------------------------------------------------------------------------------- */

/* What each order takes while this step runs: what it reads and makes, and its scratch. */
static size_t step_need(const sdx_schedule_problem *p, uint32_t index) {
    const sdx_schedule_step *step = &p->steps[index];
    size_t need = step->scratch;
    for (uint32_t i = 0; i < step->read_count; i++) need += p->sizes[step->reads[i]];
    for (uint32_t i = 0; i < step->make_count; i++) need += p->sizes[step->makes[i]];
    if (step->over_count > 0 && step->make_count > 0) need -= p->sizes[step->makes[0]];
    return need;
}

/* What every order takes at some time: while a step runs, and between two parts. A part of one step
 * has no choice at all. */
static size_t common_bound(sdx_schedule_state *s, const uint32_t *order, const bool *cut) {
    const sdx_schedule_problem *p = s->problem;
    size_t bound = 0;
    for (uint32_t q = 0; q < p->step_count; q++) {
        bool alone = cut[q] && (q == 0 || cut[q - 1]);
        size_t need = alone ? sdx_schedule_during(s, order[q]) : step_need(p, order[q]);
        if (need > bound) bound = need;
        sdx_schedule_do(s, order[q]);
        if (cut[q] && s->live > bound) bound = s->live;
    }
    for (uint32_t q = p->step_count; q-- > 0;) sdx_schedule_undo(s, order[q]);
    return bound;
}

/* ---- the whole ------------------------------------------------------------------------------------ */

/* Solves the parts one after the other; the limit may rise on the way, and the parts done before
 * keep to it all the more. */
static sdx_status solve_parts(sdx_schedule_state *s, const bool *cut, uint32_t *order,
                              sdx_error *error) {
    uint32_t n = s->problem->step_count;
    for (uint32_t from = 0, q = 0; q < n; q++) {
        if (!cut[q]) continue;
        if (q > from) SDX_TRY(sdx_schedule_part(s, order + from, q + 1 - from, error));
        else sdx_schedule_do(s, order[q]);
        from = q + 1;
    }
    return SDX_STATUS_OK;
}

static size_t peak_of(sdx_schedule_state *s, const uint32_t *order) {
    size_t most = 0;
    for (uint32_t q = 0; q < s->problem->step_count; q++) {
        size_t during = sdx_schedule_during(s, order[q]);
        if (during > most) most = during;
        sdx_schedule_do(s, order[q]);
    }
    for (uint32_t q = s->problem->step_count; q-- > 0;) sdx_schedule_undo(s, order[q]);
    return most;
}

static sdx_status search(sdx_schedule_state *s, uint32_t *order, sdx_schedule_result *result,
                         sdx_error *error) {
    uint32_t n = s->problem->step_count;
    uint32_t *found = sdx_arena_array(&s->memory, (size_t)n + 1, sizeof *found);
    bool *cut = sdx_arena_array(&s->memory, (size_t)n + 1, sizeof *cut);
    bool *floating = sdx_arena_array(&s->memory, (size_t)n + 1, sizeof *floating);
    bool *out = sdx_arena_array(&s->memory, (size_t)n + 1, sizeof *out);
    uint32_t *scratch = sdx_arena_array(&s->memory, (size_t)n + 1, sizeof *scratch);
    if (!found || !cut || !floating || !out || !scratch || !make_followers(s))
        return sdx_fail_memory(error, 0, "an order");
    for (uint32_t i = 0; i < n; i++) order[i] = i;
    result->given = peak_of(s, order);
    find_floating(s, floating);
    delay_floating(s, floating, out, scratch, found);
    find_cuts(s, found, floating, scratch, cut);
    s->limit = s->bound = common_bound(s, found, cut);
    SDX_TRY(solve_parts(s, cut, found, error));
    for (uint32_t q = n; q-- > 0;) sdx_schedule_undo(s, found[q]);
    result->bound = s->bound;
    result->nodes = s->nodes;
    result->peak = peak_of(s, found);
    if (result->peak < result->given) memcpy(order, found, n * sizeof *order);
    else result->peak = result->given;
    result->proved = result->peak <= result->bound;
    return SDX_STATUS_OK;
}

sdx_status sdx_schedule(const sdx_schedule_problem *problem, uint64_t max_nodes,
                        const sdx_allocator *allocator, uint32_t *order,
                        sdx_schedule_result *result, sdx_error *error) {
    *result = (sdx_schedule_result){.proved = true};
    if (problem->step_count == 0) return SDX_STATUS_OK;
    sdx_schedule_state state;
    sdx_status status = sdx_schedule_init(&state, problem, max_nodes, allocator, error);
    if (status == SDX_STATUS_OK) status = search(&state, order, result, error);
    sdx_schedule_free(&state);
    return status;
}
