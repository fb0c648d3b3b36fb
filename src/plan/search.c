/* search.c - depth-first search for a placement within a capacity, with a proof where there is none.
 *
 * The picture: sections are columns, items are boxes of fixed columns that fall from above. The
 * arena is filled from below. A *valley* is a run of columns of equal floor between higher ones;
 * what comes next in its outermost column either lies on the floor, within the valley, or leaves
 * a gap in that column. So each node picks an outermost column of some valley and branches into
 * the items that may come next in it, and the gap. The column with the fewest branches is picked.
 *
 * A branch ends where a column's floor and what is still to come pass the capacity (its *slack*
 * would be negative), or where no row of items and gaps covers a valley. Without slack no gap is
 * possible, which makes the tightest problems the ones that are pruned best. Also used: an item lies
 * on another one, not in the air, since it could fall; equal items keep their order; where
 * nothing crosses a moment any more, both sides are searched by themselves; dead ends are remembered
 * by a hash of what is left to do. (After MiniMalloc, Moffitt, ASPLOS 2023, which places by rising
 * offset, and the skyline searches for rectangle packing.) */
#include "plan/search.h"

#include <string.h>

#include "base/checked.h"
#include "base/hash.h"

#define NONE UINT32_MAX

typedef struct column {
    size_t floor;       /* nothing comes to lie below; the capacity once all is placed */
    size_t slack;       /* capacity - floor - sizes still to come */
    uint64_t signature; /* hash of what is still to come, slack and solid; the floor follows */
    uint32_t left;      /* items still to come */
    bool solid;         /* the floor is the top of an item, not of a gap */
} column;

/* What to put back: a column, or an item where `item` is one. */
typedef struct trail_entry {
    column old;
    uint32_t at;
    bool is_item;
} trail_entry;

typedef struct valley {
    uint32_t begin, end;
    size_t floor, wall; /* wall: the lower one of both sides */
} valley;

/* What is known of a valley: branches at either edge, 0 where the edge must be a gap. */
typedef struct verdict {
    uint64_t key;
    uint16_t left, right;
    bool dead, empty, gap_left, gap_right;
} verdict;

typedef struct candidate {
    float score;
    uint32_t item;
} candidate;

typedef struct frame {
    uint32_t begin, end; /* the region */
    uint32_t parent;     /* the frame whose step made the region; NONE: the root */
    uint64_t key;        /* of the state, to be remembered if all fails */
    valley where;
    bool at_right, gap_tried;
    size_t trail;      /* length of the trail before any branch */
    size_t candidates; /* where its own begin */
    size_t next, last; /* of its candidates */
    size_t pending;
} frame;

typedef struct region {
    uint32_t begin, end, parent;
} region;

#define MEMO_BITS    18 /* dead ends that are remembered */
#define VERDICT_BITS 13

struct sdx_search {
    sdx_plan_task *task;
    const sdx_plan_item *items; /* sorted by begin, so those of one begin are neighbours */
    uint32_t count, sections;
    size_t capacity;
    uint64_t nodes;
    uint64_t random;
    const sdx_search_goal *goal;

    uint32_t *starts;    /* items that begin in section x: from starts[x] to starts[x + 1] */
    uint32_t *stops;     /* the same for ends, into stop_items */
    uint32_t *stop_items;
    uint32_t *twin;      /* an equal item that goes first, or NONE */
    uint64_t *hash;      /* equal for equal items */
    uint64_t *weight;    /* of sections in the hash of a state */
    bool *open;          /* not placed yet */
    size_t *offset;
    column *columns;
    uint32_t *crossing;  /* open items that live before and after the begin of a section */
    uint8_t *reach, *back; /* of one row: covered up to a column, from either side */
    uint64_t *memo;
    verdict *verdicts;

    trail_entry *trail;
    size_t trail_count, trail_room;
    sdx_vector frames, candidates, pending; /* frame, candidate, region */
    sdx_arena memory;
};

static uint64_t mix(uint64_t x) {
    x ^= x >> 31;
    x = sdx_hash_mul(x, 0x9e3779b97f4a7c15u);
    x ^= x >> 29;
    x = sdx_hash_mul(x, 0xbf58476d1ce4e5b9u);
    return x ^ (x >> 32);
}

#define SLACK_FACTOR 0x9e3779b97f4a7c15u
#define SOLID_MARK   0xc2b2ae3d27d4eb4fu

/* ---- making one ----------------------------------------------------------------------------------- */

static bool allocate(sdx_search *s) {
    size_t n = s->count, sections = (size_t)s->sections + 1;
    sdx_arena *m = &s->memory;
    s->starts = sdx_arena_array(m, sections + 1, sizeof *s->starts);
    s->stops = sdx_arena_array(m, sections + 1, sizeof *s->stops);
    s->stop_items = sdx_arena_array(m, n, sizeof *s->stop_items);
    s->twin = sdx_arena_array(m, n, sizeof *s->twin);
    s->hash = sdx_arena_array(m, n, sizeof *s->hash);
    s->weight = sdx_arena_array(m, sections, sizeof *s->weight);
    s->open = sdx_arena_array(m, n, sizeof *s->open);
    s->offset = sdx_arena_array(m, n, sizeof *s->offset);
    s->columns = sdx_arena_array(m, sections, sizeof *s->columns);
    s->crossing = sdx_arena_array(m, sections, sizeof *s->crossing);
    s->reach = sdx_arena_array(m, sections, sizeof *s->reach);
    s->back = sdx_arena_array(m, sections, sizeof *s->back);
    s->memo = sdx_arena_array(m, (size_t)1 << MEMO_BITS, sizeof *s->memo);
    s->verdicts = sdx_arena_array(m, (size_t)1 << VERDICT_BITS, sizeof *s->verdicts);
    return s->starts && s->stops && s->stop_items && s->twin && s->hash && s->weight && s->open &&
           s->offset && s->columns && s->crossing && s->reach && s->back && s->memo &&
           s->verdicts;
}

/* Items by begin and by end, and what makes two of them equal. */
static void index_items(sdx_search *s) {
    for (uint32_t i = 0; i < s->count; i++) {
        const sdx_plan_item *item = &s->items[i];
        s->starts[item->begin + 1]++;
        s->stops[item->end + 1]++;
        s->hash[i] = mix(mix(item->size) + ((uint64_t)item->begin << 32) + item->end);
        s->twin[i] = NONE;
        /* Sorted by begin and falling size: equal ones are not far. */
        for (uint32_t k = i; k-- > 0 && s->items[k].begin == item->begin &&
                             s->items[k].size == item->size && s->twin[i] == NONE;)
            if (s->items[k].end == item->end) s->twin[i] = k;
    }
    for (uint32_t x = 0; x <= s->sections; x++) {
        s->starts[x + 1] += s->starts[x];
        s->stops[x + 1] += s->stops[x];
        s->weight[x] = mix(x + 1) | 1;
    }
    uint32_t *fill = s->crossing; /* free until a search begins */
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t end = s->items[i].end;
        s->stop_items[s->stops[end] + fill[end]++] = i;
    }
}

sdx_status sdx_search_create(sdx_plan_task *task, sdx_search **out, sdx_error *error) {
    sdx_search *s = sdx_alloc(task->allocator, sizeof *s, 1);
    if (!s) return sdx_fail_memory(error, sizeof *s, "a search");
    *s = (sdx_search){.task = task, .items = task->items, .count = task->count,
                      .sections = task->section_count};
    sdx_arena_init(&s->memory, task->allocator, 0);
    if (!allocate(s)) {
        sdx_search_free(s);
        return sdx_fail_memory(error, task->count * sizeof(size_t), "a search");
    }
    index_items(s);
    *out = s;
    return SDX_STATUS_OK;
}

void sdx_search_free(sdx_search *s) {
    const sdx_allocator *allocator = s->task->allocator;
    sdx_free(allocator, s->trail, s->trail_room * sizeof *s->trail);
    sdx_vector_free(&s->frames, allocator, sizeof(frame));
    sdx_vector_free(&s->candidates, allocator, sizeof(candidate));
    sdx_vector_free(&s->pending, allocator, sizeof(region));
    sdx_arena_free(&s->memory);
    sdx_free(allocator, s, sizeof *s);
}

/* Everything as before the first placement; false where a section alone passes the capacity. */
static bool reset(sdx_search *s, const sdx_search_goal *goal) {
    s->goal = goal;
    s->capacity = goal->capacity;
    s->random = goal->seed;
    s->nodes = 0;
    s->trail_count = s->frames.count = s->candidates.count = s->pending.count = 0;
    memset(s->columns, 0, s->sections * sizeof *s->columns);
    memset(s->crossing, 0, s->sections * sizeof *s->crossing);
    for (uint32_t i = 0; i < s->count; i++) {
        s->open[i] = true;
        for (uint32_t x = s->items[i].begin; x < s->items[i].end; x++) {
            column *c = &s->columns[x];
            c->left++;
            c->slack += s->items[i].size;
            c->signature = sdx_hash_add(c->signature, s->hash[i]);
            if (x > s->items[i].begin) s->crossing[x]++;
        }
    }
    for (uint32_t x = 0; x < s->sections; x++) {
        column *c = &s->columns[x];
        if (c->slack > s->capacity) return false;
        c->slack = s->capacity - c->slack;
        c->solid = true;
        c->signature = sdx_hash_add(c->signature, sdx_hash_mul(c->slack, SLACK_FACTOR));
        c->signature = sdx_hash_add(c->signature, SOLID_MARK);
    }
    return true;
}

/* ---- steps, and taking them back -------------------------------------------------------------------- */

static bool reserve_trail(sdx_search *s, size_t more) {
    if (s->trail_room - s->trail_count >= more) return true;
    size_t room, bytes;
    if (!sdx_size_add(s->trail_room * 2, more + 1024, &room) ||
        !sdx_size_mul(room, sizeof *s->trail, &bytes))
        return false;
    trail_entry *trail = sdx_alloc(s->task->allocator, bytes, 1);
    if (!trail) return false;
    if (s->trail_count) memcpy(trail, s->trail, s->trail_count * sizeof *trail);
    sdx_free(s->task->allocator, s->trail, s->trail_room * sizeof *trail);
    s->trail = trail;
    s->trail_room = room;
    return true;
}

/* Room for all columns and one item: enough between two calls of reserve_trail. */
static void save_column(sdx_search *s, uint32_t x) {
    trail_entry *entry = &s->trail[s->trail_count++];
    entry->old = s->columns[x];
    entry->at = x;
    entry->is_item = false;
}

static void undo(sdx_search *s, size_t mark) {
    while (s->trail_count > mark) {
        const trail_entry *entry = &s->trail[--s->trail_count];
        if (entry->is_item) {
            const sdx_plan_item *item = &s->items[entry->at];
            s->open[entry->at] = true;
            for (uint32_t x = item->begin + 1; x < item->end; x++) s->crossing[x]++;
        } else {
            s->columns[entry->at] = entry->old;
        }
    }
}

static void place(sdx_search *s, uint32_t index, size_t floor) {
    const sdx_plan_item *item = &s->items[index];
    for (uint32_t x = item->begin; x < item->end; x++) {
        save_column(s, x);
        column *c = &s->columns[x];
        c->floor = floor + item->size;
        c->signature = sdx_hash_sub(c->signature, s->hash[index]);
        if (!c->solid) c->signature = sdx_hash_add(c->signature, SOLID_MARK);
        c->solid = true;
        if (--c->left > 0) continue;
        c->floor = s->capacity; /* a wall from now on, the same whatever the slack was */
        c->slack = 0;
        c->signature = 0;
    }
    trail_entry *entry = &s->trail[s->trail_count++];
    entry->at = index;
    entry->is_item = true;
    s->open[index] = false;
    for (uint32_t x = item->begin + 1; x < item->end; x++) s->crossing[x]--;
    s->offset[index] = floor;
}

/* Leaves a gap in a column; false where there is not enough slack. */
static bool raise_floor(sdx_search *s, uint32_t x, size_t floor) {
    column *c = &s->columns[x];
    size_t gap = floor - c->floor;
    if (gap > c->slack) return false;
    save_column(s, x);
    c->signature = sdx_hash_sub(c->signature, sdx_hash_mul(gap, SLACK_FACTOR));
    c->slack -= gap;
    c->floor = floor;
    if (c->solid) c->signature = sdx_hash_sub(c->signature, SOLID_MARK);
    c->solid = false;
    return true;
}

/* ---- what can come next ------------------------------------------------------------------------------ */

/* Whether an item would lie on another one, or on the ground, not in the air over a gap. */
static bool is_carried(const sdx_search *s, uint32_t index) {
    for (uint32_t x = s->items[index].begin; x < s->items[index].end; x++)
        if (s->columns[x].solid) return true;
    return false;
}

/* Whether an item that lies in the valley may be its next one: not in the air, not before its twin. */
static bool may_come(const sdx_search *s, uint32_t index) {
    if (s->twin[index] != NONE && s->open[s->twin[index]]) return false;
    return is_carried(s, index);
}

/* Smallest open item that may be the first one within the columns; SIZE_MAX: there is none, and never
 * will be, since columns of a valley do not become solid but by one. */
static size_t smallest_within(const sdx_search *s, uint32_t begin, uint32_t end) {
    size_t least = SIZE_MAX;
    for (uint32_t i = s->starts[begin]; i < s->starts[end]; i++)
        if (s->open[i] && s->items[i].end <= end && s->items[i].size < least && is_carried(s, i))
            least = s->items[i].size;
    return least;
}

/* The lowest floor that a gap in the valley's first or last column leads to: what comes next there
 * lies across a wall, or on something else in the valley. */
static size_t floor_of_gap(const sdx_search *s, const valley *v, bool at_right) {
    uint32_t begin = v->begin + !at_right, end = v->end - at_right;
    size_t least = begin < end ? smallest_within(s, begin, end) : SIZE_MAX;
    return least < v->wall - v->floor ? v->floor + least : v->wall;
}

/* Which columns a row of items and gaps reaches from the left and from the right; false: it does
 * not reach from one side to the other. */
static bool cover_row(sdx_search *s, const valley *v, size_t least_gap) {
    uint32_t begin = v->begin, width = v->end - begin;
    memset(s->reach, 0, width + 1);
    s->reach[0] = 1;
    for (uint32_t x = 0; x < width; x++) {
        if (!s->reach[x]) continue;
        for (uint32_t i = s->starts[begin + x]; i < s->starts[begin + x + 1]; i++)
            if (s->open[i] && s->items[i].end <= v->end) s->reach[s->items[i].end - begin] = 1;
        if (s->columns[begin + x].slack >= least_gap) s->reach[x + 1] = 1;
    }
    if (!s->reach[width]) return false;
    memset(s->back, 0, width);
    s->back[width] = 1;
    for (uint32_t x = width; x > 0; x--) {
        if (!s->back[x]) continue;
        for (uint32_t k = s->stops[begin + x]; k < s->stops[begin + x + 1]; k++) {
            uint32_t i = s->stop_items[k];
            if (s->open[i] && s->items[i].begin >= begin) s->back[s->items[i].begin - begin] = 1;
        }
        if (s->columns[begin + x - 1].slack >= least_gap) s->back[x - 1] = 1;
    }
    return true;
}

static void judge_valley(sdx_search *s, const valley *v, verdict *out) {
    *out = (verdict){.key = out->key};
    size_t least = smallest_within(s, v->begin, v->end);
    out->empty = least == SIZE_MAX;
    if (out->empty) return;
    size_t least_gap = least < v->wall - v->floor ? least : v->wall - v->floor;
    out->dead = !cover_row(s, v, least_gap);
    if (out->dead) return;
    for (uint32_t i = s->starts[v->begin]; i < s->starts[v->begin + 1]; i++)
        if (s->open[i] && s->items[i].end <= v->end && s->back[s->items[i].end - v->begin] &&
            may_come(s, i))
            out->left++;
    for (uint32_t k = s->stops[v->end]; k < s->stops[v->end + 1]; k++) {
        uint32_t i = s->stop_items[k];
        if (s->open[i] && s->items[i].begin >= v->begin && s->reach[s->items[i].begin - v->begin] &&
            may_come(s, i))
            out->right++;
    }
    out->gap_left = s->columns[v->begin].slack >= least_gap;
    out->gap_right = s->columns[v->end - 1].slack >= least_gap;
    out->dead = (out->left == 0 && !out->gap_left) || (out->right == 0 && !out->gap_right);
}

/* Of what columns hold, and of a number beside. */
static uint64_t columns_hash(const sdx_search *s, uint32_t begin, uint32_t end, size_t beside) {
    uint64_t key = sdx_hash_mul(beside, SLACK_FACTOR);
    key = sdx_hash_add(key, ((uint64_t)begin << 32) + end);
    for (uint32_t x = begin; x < end; x++)
        key = sdx_hash_add(key, sdx_hash_mul(s->columns[x].signature, s->weight[x]));
    return key;
}

/* The same, from memory if all that it depends on was seen before. */
static const verdict *look_at(sdx_search *s, const valley *v) {
    uint64_t key = mix(columns_hash(s, v->begin, v->end, v->wall - v->floor)) | 1;
    verdict *known = &s->verdicts[key & (((size_t)1 << VERDICT_BITS) - 1)];
    if (known->key != key) {
        known->key = key;
        judge_valley(s, v, known);
    }
    return known;
}

/* ---- nodes ------------------------------------------------------------------------------------------- */

/* The next valley of the region from *at on. */
static bool next_valley(const sdx_search *s, uint32_t begin, uint32_t end, uint32_t *at,
                        valley *v) {
    uint32_t x = *at;
    while (x < end) {
        uint32_t from = x;
        size_t floor = s->columns[x].floor;
        while (x < end && s->columns[x].floor == floor) x++;
        if (floor == s->capacity) continue;
        size_t left = from == begin ? s->capacity : s->columns[from - 1].floor;
        size_t right = x == end ? s->capacity : s->columns[x].floor;
        if (left < floor || right < floor) continue;
        *v = (valley){from, x, floor, left < right ? left : right};
        *at = x;
        return true;
    }
    return false;
}

/* Closes a valley, or its first or last column, into which nothing fits. */
static bool close_valley(sdx_search *s, const valley *v, const verdict *known) {
    if (!known->empty) {
        bool at_right = known->left != 0;
        return raise_floor(s, at_right ? v->end - 1 : v->begin, floor_of_gap(s, v, at_right));
    }
    for (uint32_t x = v->begin; x < v->end; x++)
        if (!raise_floor(s, x, v->wall)) return false;
    return true;
}

typedef enum outlook { DEAD_END, ALL_PLACED, BRANCHES, NO_ROOM, NO_TIME } outlook;

/* Does what is forced, and finds the column with the fewest branches. */
static outlook examine(sdx_search *s, uint32_t begin, uint32_t end, valley *where,
                       bool *at_right) {
    uint32_t fewest = UINT32_MAX, at = begin, closed = 0;
    valley v;
    while (next_valley(s, begin, end, &at, &v)) {
        const verdict *known = look_at(s, &v);
        if (known->dead) return DEAD_END;
        if (known->empty || known->left == 0 || known->right == 0) {
            if (!reserve_trail(s, (size_t)s->sections * 2 + 1)) return NO_ROOM;
            if (!close_valley(s, &v, known)) return DEAD_END;
            /* Small gaps may be closed one upon the other for long. */
            s->task->work += 20 + (end - begin);
            if (++closed > 4 * (end - begin) && ++s->nodes > s->goal->node_limit) return NO_TIME;
            if (sdx_plan_stopped(s->task)) return NO_TIME;
            at = begin;
            fewest = UINT32_MAX;
            continue;
        }
        uint32_t left = known->left + (uint32_t)known->gap_left;
        uint32_t right = known->right + (uint32_t)known->gap_right;
        uint32_t fewer = left < right ? left : right;
        if (fewer < fewest || (fewer == fewest && v.floor < where->floor)) {
            fewest = fewer;
            *where = v;
            *at_right = right < left;
        }
    }
    return fewest == UINT32_MAX ? ALL_PLACED : BRANCHES;
}

static uint64_t state_key(const sdx_search *s, uint32_t begin, uint32_t end) {
    return mix(columns_hash(s, begin, end, s->capacity)) | 1;
}

static uint64_t *remembered(const sdx_search *s, uint64_t key) {
    return &s->memo[key & (((size_t)1 << MEMO_BITS) - 1)];
}

/* Items that end flush with a neighbour or fill the valley leave less to worry about. */
static float score(sdx_search *s, const frame *f, uint32_t index) {
    const sdx_plan_item *item = &s->items[index];
    size_t top = f->where.floor + item->size;
    float value = -(float)s->goal->rank[index] / (float)s->count;
    if (item->begin > f->begin && s->columns[item->begin - 1].floor == top) value += 1;
    if (item->end < f->end && s->columns[item->end].floor == top) value += 1;
    if (item->begin == f->where.begin && item->end == f->where.end) value += 1;
    s->random = sdx_hash_add(s->random, 0x9e3779b97f4a7c15u);
    return value + s->goal->noise * (float)(mix(s->random) >> 40) / (float)(1 << 24);
}

/* Adds a candidate, kept by falling score. */
static bool add_candidate(sdx_search *s, frame *f, uint32_t index) {
    if (!sdx_vector_push(&s->candidates, s->task->allocator, sizeof(candidate))) return false;
    candidate *all = s->candidates.data, fresh = {score(s, f, index), index};
    size_t at = f->last++;
    for (; at > f->candidates && all[at - 1].score < fresh.score; at--) all[at] = all[at - 1];
    all[at] = fresh;
    return true;
}

static bool collect(sdx_search *s, frame *f) {
    const valley *v = &f->where;
    f->candidates = f->next = f->last = s->candidates.count;
    uint32_t from = f->at_right ? s->stops[v->end] : s->starts[v->begin];
    uint32_t to = f->at_right ? s->stops[v->end + 1] : s->starts[v->begin + 1];
    for (uint32_t k = from; k < to; k++) {
        uint32_t i = f->at_right ? s->stop_items[k] : k;
        if (s->open[i] && s->items[i].begin >= v->begin && s->items[i].end <= v->end &&
            may_come(s, i) && !add_candidate(s, f, i))
            return false;
    }
    return true;
}

/* Pushes the parts of a region that nothing connects any more, the first one last. */
static bool push_parts(sdx_search *s, uint32_t begin, uint32_t end, uint32_t parent) {
    uint32_t to = end;
    for (uint32_t x = end; x-- > begin;) {
        if (x > begin && s->crossing[x] != 0) continue;
        bool any = false;
        for (uint32_t y = x; y < to && !any; y++) any = s->columns[y].left != 0;
        if (any) {
            region *part = sdx_vector_push(&s->pending, s->task->allocator, sizeof *part);
            if (!part) return false;
            *part = (region){x, to, parent};
        }
        to = x;
    }
    return true;
}

typedef enum step { STEP_ON, STEP_BACK, STEP_LIMIT, STEP_NO_MEMORY } step;

/* Takes the next region; pushes a frame for its branches. *parent: where to go back to. */
static step enter(sdx_search *s, uint32_t *parent) {
    region r = ((region *)s->pending.data)[--s->pending.count];
    *parent = r.parent;
    /* A node looks at its columns more than once; over many columns that takes long. */
    uint32_t width = r.end - r.begin;
    s->task->work += 200 + (uint64_t)width * width / 2;
    bool stopped = width > 200 ? sdx_plan_stopped_now(s->task) : sdx_plan_stopped(s->task);
    if (++s->nodes > s->goal->node_limit || stopped) return STEP_LIMIT;
    frame f = {.begin = r.begin, .end = r.end, .parent = r.parent};
    f.key = state_key(s, r.begin, r.end);
    if (*remembered(s, f.key) == f.key) return STEP_BACK;
    if (!reserve_trail(s, (size_t)s->sections * 2 + 1)) return STEP_NO_MEMORY;
    outlook seen = examine(s, r.begin, r.end, &f.where, &f.at_right);
    if (seen == NO_ROOM) return STEP_NO_MEMORY;
    if (seen == NO_TIME) return STEP_LIMIT;
    if (seen == DEAD_END) {
        *remembered(s, f.key) = f.key;
        return STEP_BACK;
    }
    if (seen == ALL_PLACED) return STEP_ON;
    f.trail = s->trail_count;
    f.pending = s->pending.count;
    if (!collect(s, &f)) return STEP_NO_MEMORY;
    frame *place_for_it = sdx_vector_push(&s->frames, s->task->allocator, sizeof f);
    if (!place_for_it) return STEP_NO_MEMORY;
    *place_for_it = f;
    *parent = (uint32_t)s->frames.count - 1;
    return STEP_BACK; /* "back" to the new frame: its first branch */
}

/* The next branch of the frame, or of those below it. STEP_BACK: the root has none left. */
static step advance(sdx_search *s, uint32_t index) {
    while (index != NONE) {
        s->frames.count = (size_t)index + 1;
        frame *f = &((frame *)s->frames.data)[index];
        undo(s, f->trail);
        s->pending.count = f->pending;
        s->candidates.count = f->last;
        if (!reserve_trail(s, (size_t)s->sections * 2 + 1)) return STEP_NO_MEMORY;
        if (f->next < f->last) {
            place(s, ((candidate *)s->candidates.data)[f->next++].item, f->where.floor);
            return push_parts(s, f->begin, f->end, index) ? STEP_ON : STEP_NO_MEMORY;
        }
        uint32_t x = f->at_right ? f->where.end - 1 : f->where.begin;
        if (!f->gap_tried && raise_floor(s, x, floor_of_gap(s, &f->where, f->at_right))) {
            f->gap_tried = true;
            return push_parts(s, f->begin, f->end, index) ? STEP_ON : STEP_NO_MEMORY;
        }
        *remembered(s, f->key) = f->key;
        s->candidates.count = f->candidates;
        index = f->parent;
    }
    return STEP_BACK;
}

sdx_search_end sdx_search_run(sdx_search *s, const sdx_search_goal *goal, size_t *offsets) {
    if (!reset(s, goal)) return SDX_SEARCH_NONE;
    if (!push_parts(s, 0, s->sections, NONE)) return SDX_SEARCH_NO_MEMORY;
    step now = STEP_ON;
    while (now == STEP_ON && s->pending.count > 0) {
        uint32_t parent;
        now = enter(s, &parent);
        if (now == STEP_BACK) now = advance(s, parent);
    }
    s->task->nodes += s->nodes;
    if (now == STEP_LIMIT) return SDX_SEARCH_LIMIT;
    if (now == STEP_NO_MEMORY) return SDX_SEARCH_NO_MEMORY;
    if (now == STEP_BACK) return SDX_SEARCH_NONE;
    memcpy(offsets, s->offset, s->count * sizeof *offsets);
    return SDX_SEARCH_FOUND;
}
