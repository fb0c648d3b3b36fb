/* schedule_part.c - the order of one part: depth-first search under a limit, with a memory of the sets
 * already seen. */
#include <stdlib.h>
#include <string.h>

#include "plan/schedule_state.h"


typedef struct move {
    int64_t change; /* of what is live */
    uint32_t step;
} move;

typedef struct frame {
    uint32_t path_count; /* before the move that led here */
    uint32_t next, end;  /* into the stack of moves */
} frame;

typedef struct part {
    sdx_schedule_state *s;
    uint32_t *steps; /* of this part; becomes the answer */
    uint32_t count, words;
    uint32_t *local;     /* by step of the whole: its number in this part, or UINT32_MAX */
    uint64_t *done;      /* bits by local number */
    uint32_t *path, path_count; /* steps run, in order */
    sdx_arena memory;
    /* sets seen: open addressing over rows of words */
    uint64_t *rows;
    uint32_t *slots;
    size_t row_count, row_capacity, slot_capacity;
    frame *frames;
    move *moves; /* of all depths, one behind the other */
    size_t move_capacity;
    size_t passed; /* the least that a step would have taken beyond the limit */
    bool out_of_memory;
} part;

/* ---- sets seen -------------------------------------------------------------------------------------- */

static uint64_t hash_set(const uint64_t *set, uint32_t words) {
    uint64_t h = 0x9e3779b97f4a7c15u;
    for (uint32_t i = 0; i < words; i++) {
        h = (h ^ set[i]) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    return h;
}

static bool grow_seen(part *p) {
    if (p->row_count < p->row_capacity) return true;
    size_t capacity = p->row_capacity ? p->row_capacity * 2 : 256;
    uint64_t *rows = sdx_arena_array(&p->memory, capacity * p->words, sizeof *rows);
    uint32_t *slots = sdx_arena_array(&p->memory, capacity * 2, sizeof *slots);
    if (!rows || !slots) return false;
    if (p->row_count) memcpy(rows, p->rows, p->row_count * p->words * sizeof *rows);
    for (size_t r = 0; r < p->row_count; r++) {
        size_t at = (size_t)hash_set(rows + r * p->words, p->words) & (capacity * 2 - 1);
        while (slots[at]) at = (at + 1) & (capacity * 2 - 1);
        slots[at] = (uint32_t)r + 1;
    }
    p->rows = rows;
    p->slots = slots;
    p->row_capacity = capacity;
    p->slot_capacity = capacity * 2;
    return true;
}

/* False if the set of steps done was here before; else it is now. */
static bool note_seen(part *p) {
    if (!grow_seen(p)) {
        p->out_of_memory = true;
        return false;
    }
    size_t mask = p->slot_capacity - 1, at = (size_t)hash_set(p->done, p->words) & mask;
    size_t bytes = p->words * sizeof *p->rows;
    for (; p->slots[at]; at = (at + 1) & mask)
        if (memcmp(p->rows + (p->slots[at] - 1) * (size_t)p->words, p->done, bytes) == 0)
            return false;
    memcpy(p->rows + p->row_count * p->words, p->done, bytes);
    p->slots[at] = (uint32_t)++p->row_count;
    return true;
}

static void forget_seen(part *p) {
    p->row_count = 0;
    if (p->slots) memset(p->slots, 0, p->slot_capacity * sizeof *p->slots);
}

/* ---- moves ------------------------------------------------------------------------------------------- */

static void run(part *p, uint32_t step) {
    uint32_t bit = p->local[step];
    sdx_schedule_do(p->s, step);
    p->done[bit / 64] |= (uint64_t)1 << (bit % 64);
    p->path[p->path_count++] = step;
}

static void take_back(part *p, uint32_t path_count) {
    while (p->path_count > path_count) {
        uint32_t step = p->path[--p->path_count], bit = p->local[step];
        p->done[bit / 64] &= ~((uint64_t)1 << (bit % 64));
        sdx_schedule_undo(p->s, step);
    }
}

static bool ready(const part *p, uint32_t i) {
    return p->s->waiting[p->steps[i]] == 0 && !(p->done[i / 64] >> (i % 64) & 1);
}

/* How much more is live after the step than before it. */
static int64_t change(part *p, uint32_t step) {
    size_t before = p->s->live;
    sdx_schedule_do(p->s, step);
    int64_t difference = (int64_t)p->s->live - (int64_t)before;
    sdx_schedule_undo(p->s, step);
    return difference;
}

/* Runs whatever fits and leaves no more behind than before. */
static void run_free_moves(part *p) {
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t i = 0; i < p->count; i++) {
            if (!ready(p, i) || sdx_schedule_during(p->s, p->steps[i]) > p->s->limit ||
                change(p, p->steps[i]) > 0)
                continue;
            run(p, p->steps[i]);
            moved = true;
        }
    }
}

static int by_change(const void *a, const void *b) {
    const move *x = a, *y = b;
    if (x->change != y->change) return x->change < y->change ? -1 : 1;
    return x->step < y->step ? -1 : x->step > y->step;
}

static bool grow_moves(part *p, size_t needed) {
    if (needed <= p->move_capacity) return true;
    move *larger = sdx_arena_array(&p->memory, needed * 2, sizeof *larger);
    if (!larger) return false;
    if (p->move_capacity) memcpy(larger, p->moves, p->move_capacity * sizeof *larger);
    p->moves = larger;
    p->move_capacity = needed * 2;
    return true;
}

/* Puts the steps that can run now within the limit on the stack of moves, the least greedy first;
 * returns their number. */
static uint32_t list_moves(part *p, uint32_t at) {
    if (!grow_moves(p, (size_t)at + p->count)) {
        p->out_of_memory = true;
        return 0;
    }
    move *moves = p->moves + at;
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        if (!ready(p, i)) continue;
        size_t during = sdx_schedule_during(p->s, p->steps[i]);
        if (during <= p->s->limit)
            moves[count++] = (move){change(p, p->steps[i]), p->steps[i]};
        else if (during < p->passed)
            p->passed = during;
    }
    qsort(moves, count, sizeof *moves, by_change);
    return count;
}

/* ---- depth first -------------------------------------------------------------------------------------- */

typedef enum outcome { FOUND, IMPOSSIBLE, GIVEN_UP } outcome;

/* One try with the limit as it is. */
static outcome dive(part *p) {
    frame *frames = p->frames;
    uint32_t depth = 0;
    forget_seen(p);
    p->passed = SIZE_MAX;
    run_free_moves(p);
    note_seen(p);
    frames[0] = (frame){.path_count = 0, .next = 0, .end = list_moves(p, 0)};
    for (;;) {
        if (p->path_count == p->count) return FOUND;
        if (p->s->nodes >= p->s->max_nodes || p->out_of_memory) return GIVEN_UP;
        frame *top = &frames[depth];
        if (top->next == top->end) {
            if (depth == 0) return IMPOSSIBLE;
            take_back(p, top->path_count);
            depth--;
            continue;
        }
        uint32_t before = p->path_count;
        run(p, p->moves[top->next++].step);
        run_free_moves(p);
        p->s->nodes++;
        if (!note_seen(p)) {
            take_back(p, before);
            continue;
        }
        frames[++depth] = (frame){.path_count = before, .next = top->end};
        frames[depth].end = top->end + list_moves(p, top->end);
    }
}

/* ---- the part ------------------------------------------------------------------------------------------ */

static bool make_tables(part *p) {
    size_t n = (size_t)p->count + 2;
    p->local = sdx_arena_array(&p->memory, (size_t)p->s->problem->step_count + 1, sizeof(uint32_t));
    p->done = sdx_arena_array(&p->memory, p->words, sizeof(uint64_t));
    p->path = sdx_arena_array(&p->memory, n, sizeof(uint32_t));
    p->frames = sdx_arena_array(&p->memory, n, sizeof(frame));
    if (!p->local || !p->done || !p->path || !p->frames || !grow_moves(p, n)) return false;
    for (uint32_t i = 0; i < p->count; i++) p->local[p->steps[i]] = i;
    return true;
}

/* Searching takes time quadratic in the steps of a part even where all goes well. */
#define LARGEST_PART 5000

static void keep_given(sdx_schedule_state *s, const uint32_t *steps, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        size_t during = sdx_schedule_during(s, steps[i]);
        if (during > s->limit) s->limit = during;
        sdx_schedule_do(s, steps[i]);
    }
}

sdx_status sdx_schedule_part(sdx_schedule_state *s, uint32_t *steps, uint32_t count,
                             sdx_error *error) {
    part p = {.s = s, .steps = steps, .count = count, .words = (count + 63) / 64};
    if (count > LARGEST_PART) {
        keep_given(s, steps, count);
        return SDX_STATUS_OK;
    }
    sdx_arena_init(&p.memory, s->memory.allocator, 0);
    bool have = make_tables(&p);
    outcome result = GIVEN_UP;
    while (have && (result = dive(&p)) == IMPOSSIBLE) {
        take_back(&p, 0);
        if (s->bound == s->limit) s->bound = p.passed;
        s->limit = p.passed;
    }
    sdx_status status = have ? SDX_STATUS_OK : sdx_fail_memory(error, 0, "an order");
    if (have && result == GIVEN_UP) {
        size_t peak;
        take_back(&p, 0);
        status = sdx_schedule_beam(s, steps, count, p.path, &peak, error);
        if (status == SDX_STATUS_OK) {
            for (uint32_t i = 0; i < count; i++) sdx_schedule_do(s, p.path[i]);
            if (peak > s->limit) s->limit = peak;
        }
    }
    if (status == SDX_STATUS_OK) memcpy(steps, p.path, count * sizeof *steps);
    sdx_arena_free(&p.memory);
    return status;
}
