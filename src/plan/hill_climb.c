/* hill_climb.c - the strategy "hill-climb": takes a plan, lowers the ceiling, and finds new places for
 * what sticks out. Where none is free, an item takes the place whose occupants weigh least and
 * those are next in the queue; what was pushed out often weighs more, so that it does not go in
 * circles. Works on one neighbourhood at a time, so it also serves problems of many thousands. */
#include <string.h>

#include "base/hash.h"
#include "plan/plan.h"

/* One end of a neighbour, an item that is live at the same time and has a place. */
typedef struct edge {
    size_t at;
    uint64_t weight;
} edge;

/* An item without a place. */
typedef struct waiter {
    uint64_t weight;
    uint32_t item;
} waiter;

typedef struct climb {
    sdx_plan_task *task;
    size_t *offsets; /* NO_PLACE: waits in the queue */
    waiter *queue;
    uint32_t waiting;
    uint32_t *pushes; /* how often each item was pushed out */
    uint32_t *area;   /* size times sections of each, the largest counting a million */
    /* Who is live when: items that begin in section s, from starts[s] to starts[s + 1] (they are
     * sorted), and those live before and in every spacing-th section, in one list. */
    uint32_t *starts, *live, *live_from;
    uint32_t spacing;
    uint32_t *neighbours;
    uint32_t neighbour_count;
    edge *loose;          /* as they come */
    edge *bottoms, *tops; /* of the neighbours, by rising place, with running sums of weights */
    size_t ceiling;
    uint32_t drawer; /* bits of a place that do not count in the first sorting */
    uint64_t random;
} climb;

#define DRAWERS        256
#define BOLDEST        4
#define SHYEST         128
#define TRIES_PER_ITEM 1 /* moves at one ceiling, for each item, and some more */
#define LEAST_TRIES    20000u
#define MOST_PUSHES    1000u /* that count: sums of weights must not overflow */
#define NO_PLACE       SIZE_MAX
#define LONGEST_LIST   (1u << 22) /* of live */

static uint64_t chance(climb *c) {
    c->random = sdx_hash_add(c->random, 0x9e3779b97f4a7c15u); /* splitmix64 */
    uint64_t x = c->random;
    x = sdx_hash_mul(x ^ (x >> 30), 0xbf58476d1ce4e5b9u);
    x = sdx_hash_mul(x ^ (x >> 27), 0x94d049bb133111ebu);
    return x ^ (x >> 31);
}

/* The area times the pushes squared: what is
 * pushed again and again soon stays. Whole numbers: their sums are exact, so that 0 means a free
 * place. */
static uint64_t weight(const climb *c, uint32_t index) {
    uint64_t pushes = c->pushes[index] < MOST_PUSHES ? c->pushes[index] : MOST_PUSHES;
    return c->area[index] * (1 + pushes * pushes);
}

static void find_neighbours(climb *c, uint32_t index) {
    const sdx_plan_item *items = c->task->items, *item = &items[index];
    uint32_t mark = item->begin / c->spacing, count = 0;
    for (uint32_t k = c->live_from[mark]; k < c->live_from[mark + 1]; k++)
        if (items[c->live[k]].end > item->begin && c->offsets[c->live[k]] != NO_PLACE)
            c->neighbours[count++] = c->live[k];
    for (uint32_t i = c->starts[mark * c->spacing]; i < c->starts[item->end]; i++)
        if (items[i].end > item->begin && c->offsets[i] != NO_PLACE) c->neighbours[count++] = i;
    c->neighbour_count = count;
}

/* Sorts c->loose into edges, with running sums. Into 256 drawers by place first, which leaves little to
 * insertion: all the time of a climb goes here. */
static void sum_up(const climb *c, edge *edges) {
    uint32_t first[DRAWERS + 1] = {0}, count = c->neighbour_count;
    for (uint32_t i = 0; i < count; i++) first[(c->loose[i].at >> c->drawer) + 1]++;
    for (uint32_t d = 0; d < DRAWERS; d++) first[d + 1] += first[d];
    for (uint32_t i = 0; i < count; i++)
        edges[first[c->loose[i].at >> c->drawer]++] = c->loose[i];
    for (uint32_t i = 1; i < count; i++) {
        edge moving = edges[i];
        uint32_t at = i;
        for (; at > 0 && edges[at - 1].at > moving.at; at--) edges[at] = edges[at - 1];
        edges[at] = moving;
    }
    for (uint32_t i = 1; i < count; i++) edges[i].weight += edges[i - 1].weight;
}

static void weigh_neighbours(climb *c) {
    for (uint32_t k = 0; k < c->neighbour_count; k++) {
        uint32_t i = c->neighbours[k];
        /* Up to a quarter more, by chance: ties are broken differently each time. */
        uint64_t own = weight(c, i);
        c->loose[k] = (edge){c->offsets[i], 16 * own + own * (chance(c) & 3)};
    }
    sum_up(c, c->bottoms);
    for (uint32_t k = 0; k < c->neighbour_count; k++)
        c->loose[k].at += c->task->items[c->neighbours[k]].size;
    sum_up(c, c->tops);
}

/* The weight of all neighbours between offset and offset + size: those that begin below its end, less
 * those that end below its begin. *low and *high only move up, as offsets do from call to call. */
static uint64_t weigh(const climb *c, size_t offset, size_t size, uint32_t *low, uint32_t *high) {
    uint32_t count = c->neighbour_count;
    while (*high < count && c->bottoms[*high].at < offset + size) ++*high;
    while (*low < count && c->tops[*low].at <= offset) ++*low;
    return (*high ? c->bottoms[*high - 1].weight : 0) - (*low ? c->tops[*low - 1].weight : 0);
}

/* Places worth a look touch something: on a neighbour, below one, or the floor. */
static size_t lightest_place(climb *c, const sdx_plan_item *item, bool *taken) {
    uint32_t count = c->neighbour_count, low = 0, high = 0;
    size_t best = 0, room = c->ceiling - item->size;
    uint64_t least = weigh(c, 0, item->size, &low, &high);
    for (uint32_t i = 0; i < count && c->tops[i].at <= room && least > 0; i++) {
        uint64_t w = weigh(c, c->tops[i].at, item->size, &low, &high);
        if (w < least) {
            least = w;
            best = c->tops[i].at;
        }
    }
    low = high = 0;
    for (uint32_t i = 0; i < count && least > 0; i++) {
        if (c->bottoms[i].at < item->size || c->bottoms[i].at - item->size > room) continue;
        size_t offset = c->bottoms[i].at - item->size;
        uint64_t w = weigh(c, offset, item->size, &low, &high);
        if (w < least) {
            least = w;
            best = offset;
        }
    }
    *taken = least > 0;
    return best;
}

static void enqueue(climb *c, uint32_t index) {
    c->queue[c->waiting++] = (waiter){weight(c, index), index};
}

/* Neighbours that are in the way of the item at this offset lose their place. */
static void push_out(climb *c, const sdx_plan_item *item, size_t offset) {
    for (uint32_t k = 0; k < c->neighbour_count; k++) {
        uint32_t i = c->neighbours[k];
        if (c->offsets[i] >= offset + item->size ||
            c->offsets[i] + c->task->items[i].size <= offset)
            continue;
        c->offsets[i] = NO_PLACE;
        c->pushes[i]++;
        enqueue(c, i);
    }
}

/* Takes the heaviest item out of the queue. */
static uint32_t take(climb *c) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < c->waiting; i++)
        if (c->queue[i].weight > c->queue[best].weight) best = i;
    uint32_t index = c->queue[best].item;
    c->queue[best] = c->queue[--c->waiting];
    return index;
}

/* Starts from the best plan so far. */
static void load_best(climb *c) {
    memcpy(c->offsets, c->task->offsets, c->task->count * sizeof *c->offsets);
    memset(c->pushes, 0, c->task->count * sizeof *c->pushes);
    c->waiting = 0;
}

/* Whether everything found a place below the ceiling. */
static bool fit_below(climb *c) {
    const sdx_plan_item *items = c->task->items;
    for (uint32_t i = 0; i < c->task->count; i++) {
        if (c->offsets[i] + items[i].size <= c->ceiling) continue;
        c->offsets[i] = NO_PLACE;
        enqueue(c, i);
    }
    for (c->drawer = 0; c->ceiling >> c->drawer >= DRAWERS; c->drawer++) {}
    uint64_t tries = LEAST_TRIES + (uint64_t)TRIES_PER_ITEM * c->task->count;
    for (; c->waiting > 0 && tries > 0; tries--) {
        if (sdx_plan_stopped_now(c->task)) return false;
        uint32_t index = take(c);
        bool taken;
        find_neighbours(c, index);
        weigh_neighbours(c);
        size_t offset = lightest_place(c, &items[index], &taken);
        if (taken) push_out(c, &items[index], offset);
        c->offsets[index] = offset;
        c->task->nodes++;
        c->task->work += 1000;
    }
    return c->waiting == 0;
}

static double area_of(const sdx_plan_item *item) {
    return (double)item->size * (item->end - item->begin);
}

static void climb_down(climb *c) {
    sdx_plan_task *task = c->task;
    double largest = 1;
    for (uint32_t i = 0; i < task->count; i++)
        if (area_of(&task->items[i]) > largest) largest = area_of(&task->items[i]);
    for (uint32_t i = 0; i < task->count; i++)
        c->area[i] = 1 + (uint32_t)(area_of(&task->items[i]) * (1e6 / largest));
    size_t part = BOLDEST; /* of what is above the target, that the next ceiling takes off */
    load_best(c);
    while (!sdx_plan_done(task) && part <= SHYEST && !sdx_plan_stopped_now(task)) {
        size_t above = task->arena - task->target;
        c->ceiling = task->arena - (above / part > 0 ? above / part : 1);
        if (fit_below(c)) {
            sdx_plan_offer(task, c->offsets);
            if (part > BOLDEST) part /= 2;
        } else {
            part *= 2;
            load_best(c);
        }
    }
}

/* Marks wide enough apart that the list of live items stays short. */
static bool index_lives(climb *c, sdx_arena *memory) {
    const sdx_plan_task *task = c->task;
    uint32_t sections = task->section_count;
    c->starts = sdx_arena_array(memory, (size_t)sections + 1, sizeof *c->starts);
    c->live_from = sdx_arena_array(memory, (size_t)sections + 2, sizeof *c->live_from);
    if (!c->starts || !c->live_from) return false;
    uint64_t total = 0;
    for (uint32_t i = 0; i < task->count; i++) {
        c->starts[task->items[i].begin + 1]++;
        total += task->items[i].end - task->items[i].begin;
    }
    for (uint32_t s = 0; s < sections; s++) c->starts[s + 1] += c->starts[s];
    c->spacing = 1 + (uint32_t)(total / LONGEST_LIST);
    for (int pass = 0; pass < 2; pass++) { /* counts, then fills */
        for (uint32_t i = 0; i < task->count; i++) {
            uint32_t mark = task->items[i].begin / c->spacing + 1;
            for (; mark * c->spacing < task->items[i].end; mark++)
                if (pass == 0) c->live_from[mark + 1]++;
                else c->live[c->live_from[mark]++] = i;
        }
        if (pass == 1) break;
        for (uint32_t m = 0; m <= sections; m++) c->live_from[m + 1] += c->live_from[m];
        c->live = sdx_arena_array(memory, c->live_from[sections + 1], sizeof *c->live);
        if (!c->live) return false;
    }
    /* Filling has moved each begin to its end, where the next one begins. */
    memmove(c->live_from + 1, c->live_from, ((size_t)sections + 1) * sizeof *c->live_from);
    c->live_from[0] = 0;
    return true;
}

sdx_status sdx_plan_hill_climb(sdx_plan_task *task, sdx_error *error) {
    if (task->arena == SIZE_MAX)
        SDX_TRY(sdx_plan_sorted_list(task, SDX_PLAN_BY_SIZE, SDX_PLAN_FIRST_FIT, error));
    if (task->mixed) return SDX_STATUS_OK; /* moves do not look at alignments */
    sdx_arena memory;
    sdx_arena_init(&memory, task->allocator, 0);
    size_t count = task->count;
    climb c = {.task = task, .random = task->seed + 1};
    c.offsets = sdx_arena_array(&memory, count, sizeof *c.offsets);
    c.queue = sdx_arena_array(&memory, count, sizeof *c.queue);
    c.pushes = sdx_arena_array(&memory, count, sizeof *c.pushes);
    c.area = sdx_arena_array(&memory, count, sizeof *c.area);
    c.neighbours = sdx_arena_array(&memory, count, sizeof *c.neighbours);
    c.loose = sdx_arena_array(&memory, count, sizeof *c.loose);
    c.bottoms = sdx_arena_array(&memory, count, sizeof *c.bottoms);
    c.tops = sdx_arena_array(&memory, count, sizeof *c.tops);
    bool good = c.offsets && c.queue && c.pushes && c.area && c.neighbours && c.loose && c.bottoms && c.tops &&
                index_lives(&c, &memory);
    if (good) climb_down(&c);
    sdx_arena_free(&memory);
    return good ? SDX_STATUS_OK : sdx_fail_memory(error, count * sizeof *c.tops, "a hill climb");
}
