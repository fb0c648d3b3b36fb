/* schedule_beam.c - an order for a part that was too hard to search in full: many half-done orders are
 * carried on side by side, and only the best of each round are kept. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "plan/schedule_state.h"

#define WIDEST 1024

typedef struct history { /* how a state came about: a list, newest first */
    uint32_t before, step;
} history;

typedef struct candidate {
    size_t peak, live;
    uint32_t state, step;
} candidate;

typedef struct beam {
    sdx_schedule_state *s;
    const uint32_t *steps;
    uint32_t count, piece_count, width, row;
    uint32_t *pieces;  /* that the part touches */
    uint32_t *tables[2]; /* of this round and the next: a row of waiting and readers a state */
    size_t *live[2], *peak[2];
    uint32_t *left[2]; /* steps to go */
    uint32_t *past[2]; /* into events */
    uint32_t states;
    candidate *candidates;
    uint64_t *seen; /* hashes of the sets of this round */
    sdx_vector events; /* history */
    sdx_arena memory;
    size_t best_peak;
    uint32_t best_past;
} beam;

/* A step that has run waits for this many: it is never ready again. */
#define DONE UINT32_MAX

static void load(beam *b, uint32_t side, uint32_t state) {
    const uint32_t *row = b->tables[side] + (size_t)state * b->row;
    for (uint32_t i = 0; i < b->count; i++) b->s->waiting[b->steps[i]] = row[i];
    for (uint32_t i = 0; i < b->piece_count; i++)
        b->s->readers[b->pieces[i]] = row[b->count + i];
    b->s->live = b->live[side][state];
}

static void save(beam *b, uint32_t side, uint32_t state) {
    uint32_t *row = b->tables[side] + (size_t)state * b->row;
    for (uint32_t i = 0; i < b->count; i++) row[i] = b->s->waiting[b->steps[i]];
    for (uint32_t i = 0; i < b->piece_count; i++)
        row[b->count + i] = b->s->readers[b->pieces[i]];
    b->live[side][state] = b->s->live;
}

static bool run(beam *b, uint32_t step, uint32_t *past, uint32_t *left) {
    history *event = sdx_vector_push(&b->events, b->s->memory.allocator, sizeof *event);
    if (!event) return false;
    *event = (history){*past, step};
    *past = (uint32_t)b->events.count - 1;
    sdx_schedule_do(b->s, step);
    b->s->waiting[step] = DONE;
    --*left;
    return true;
}

/* What a ready step leaves live. */
static size_t live_after(beam *b, uint32_t step) {
    sdx_schedule_do(b->s, step);
    size_t live = b->s->live;
    sdx_schedule_undo(b->s, step);
    return live;
}

/* Runs what fits under the peak and leaves no more behind. */
static bool run_free_moves(beam *b, size_t peak, uint32_t *past, uint32_t *left) {
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t i = 0; i < b->count; i++) {
            uint32_t step = b->steps[i];
            if (b->s->waiting[step] != 0 || sdx_schedule_during(b->s, step) > peak ||
                live_after(b, step) > b->s->live)
                continue;
            if (!run(b, step, past, left)) return false;
            moved = true;
        }
    }
    return true;
}

static int by_promise(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    if (x->peak != y->peak) return x->peak < y->peak ? -1 : 1;
    if (x->live != y->live) return x->live < y->live ? -1 : 1;
    if (x->state != y->state) return x->state < y->state ? -1 : 1;
    return x->step < y->step ? -1 : x->step > y->step;
}

/* The set of steps done, as a number. */
static uint64_t fingerprint(const beam *b) {
    uint64_t h = 0;
    for (uint32_t i = 0; i < b->count; i++)
        if (b->s->waiting[b->steps[i]] == DONE)
            h = sdx_hash_add(h, sdx_hash_mul(i + 1, 0x9e3779b97f4a7c15u) ^ (uint64_t)i << 40);
    return sdx_hash_mul(h, 0xff51afd7ed558ccdu);
}

/* All moves from all states of this side; those that cannot beat the best order are left out. */
static size_t list_candidates(beam *b, uint32_t side) {
    size_t count = 0, room = (size_t)b->width * 8;
    for (uint32_t state = 0; state < b->states; state++) {
        load(b, side, state);
        for (uint32_t i = 0; i < b->count && count < room; i++) {
            uint32_t step = b->steps[i];
            if (b->s->waiting[step] != 0) continue;
            size_t during = sdx_schedule_during(b->s, step), peak = b->peak[side][state];
            if (during > peak) peak = during;
            if (peak < b->best_peak)
                b->candidates[count++] = (candidate){peak, live_after(b, step), state, step};
        }
    }
    qsort(b->candidates, count, sizeof *b->candidates, by_promise);
    return count;
}

/* One round; false when memory runs out. */
static bool advance(beam *b, uint32_t side) {
    size_t count = list_candidates(b, side);
    uint32_t next = !side, made = 0;
    for (size_t i = 0; i < count && made < b->width; i++) {
        const candidate *c = &b->candidates[i];
        uint32_t past = b->past[side][c->state], left = b->left[side][c->state];
        load(b, side, c->state);
        if (!run(b, c->step, &past, &left) || !run_free_moves(b, c->peak, &past, &left))
            return false;
        uint64_t print = fingerprint(b);
        bool again = false;
        for (uint32_t k = 0; k < made && !again; k++) again = b->seen[k] == print;
        if (again) continue;
        if (left == 0) {
            b->best_peak = c->peak;
            b->best_past = past;
            continue;
        }
        b->seen[made] = print;
        b->past[next][made] = past;
        b->left[next][made] = left;
        b->peak[next][made] = c->peak;
        save(b, next, made++);
    }
    b->states = made;
    return true;
}

static bool make_beam(beam *b) {
    const sdx_schedule_problem *p = b->s->problem;
    sdx_arena *memory = &b->memory;
    /* About as much work as the search that was given up. */
    uint64_t width = b->s->max_nodes / (4 * (uint64_t)b->count);
    b->width = width < 4 ? 4 : width > WIDEST ? WIDEST : (uint32_t)width;
    bool *touched = sdx_arena_array(memory, (size_t)p->piece_count + 1, sizeof *touched);
    b->pieces = sdx_arena_array(memory, (size_t)p->piece_count + 1, sizeof(uint32_t));
    if (!touched || !b->pieces) return false;
    for (uint32_t i = 0; i < b->count; i++) {
        const sdx_schedule_step *step = &p->steps[b->steps[i]];
        for (uint32_t k = 0; k < step->read_count; k++) touched[step->reads[k]] = true;
        for (uint32_t k = 0; k < step->make_count; k++) touched[step->makes[k]] = true;
    }
    for (uint32_t i = 0; i < p->piece_count; i++)
        if (touched[i]) b->pieces[b->piece_count++] = i;
    b->row = b->count + b->piece_count;
    for (int side = 0; side < 2; side++) {
        b->tables[side] = sdx_arena_array(memory, (size_t)b->width * b->row, sizeof(uint32_t));
        b->live[side] = sdx_arena_array(memory, b->width, sizeof(size_t));
        b->peak[side] = sdx_arena_array(memory, b->width, sizeof(size_t));
        b->left[side] = sdx_arena_array(memory, b->width, sizeof(uint32_t));
        b->past[side] = sdx_arena_array(memory, b->width, sizeof(uint32_t));
        if (!b->tables[side] || !b->live[side] || !b->peak[side] || !b->left[side] ||
            !b->past[side])
            return false;
    }
    b->candidates = sdx_arena_array(memory, (size_t)b->width * 8, sizeof *b->candidates);
    b->seen = sdx_arena_array(memory, b->width, sizeof *b->seen);
    return b->candidates && b->seen;
}

static sdx_status search(beam *b, uint32_t *order) {
    uint32_t past = UINT32_MAX, left = b->count;
    save(b, 1, 0); /* as it was, to go back to */
    bool good = run_free_moves(b, b->s->limit, &past, &left);
    if (good && left == 0) {
        b->best_peak = b->s->limit;
        b->best_past = past;
    } else if (good) {
        b->states = 1;
        b->past[0][0] = past;
        b->left[0][0] = left;
        b->peak[0][0] = b->s->limit;
        save(b, 0, 0);
        uint32_t *start = sdx_arena_array(&b->memory, b->row, sizeof *start);
        size_t live = b->live[1][0];
        good = start != NULL;
        if (good) memcpy(start, b->tables[1], b->row * sizeof *start);
        for (uint32_t side = 0; good && b->states > 0; side = !side) good = advance(b, side);
        if (start) memcpy(b->tables[1], start, b->row * sizeof *start);
        b->live[1][0] = live;
    }
    load(b, 1, 0);
    if (!good) return SDX_STATUS_NO_MEMORY;
    const history *events = b->events.data;
    for (uint32_t i = b->count, at = b->best_past; i-- > 0; at = events[at].before)
        order[i] = events[at].step;
    return SDX_STATUS_OK;
}

sdx_status sdx_schedule_beam(sdx_schedule_state *s, const uint32_t *steps, uint32_t count,
                             uint32_t *order, size_t *peak, sdx_error *error) {
    beam b = {.s = s, .steps = steps, .count = count, .best_peak = SIZE_MAX};
    sdx_arena_init(&b.memory, s->memory.allocator, 0);
    /* Rows hold the part's own steps. Later ones may follow from these too, and each time one is run
     * they seem to wait for less. */
    size_t bytes = (size_t)s->problem->step_count * sizeof *s->waiting;
    uint32_t *waiting = sdx_arena_alloc(&b.memory, bytes + 1);
    if (waiting) memcpy(waiting, s->waiting, bytes);
    sdx_status status = waiting && make_beam(&b) ? search(&b, order) : SDX_STATUS_NO_MEMORY;
    if (waiting) memcpy(s->waiting, waiting, bytes);
    *peak = b.best_peak;
    sdx_vector_free(&b.events, s->memory.allocator, sizeof(history));
    sdx_arena_free(&b.memory);
    return status == SDX_STATUS_OK ? status : sdx_fail_memory(error, 0, "an order");
}
