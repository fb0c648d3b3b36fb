/* ml_tree_run.c - evaluating a forest. Rows are taken in blocks that go through one tree after the
 * other, so that a tree stays in the cache while the block passes; blocks run in parallel. */
#include <math.h>

#include "ops/elementwise.h"
#include "ops/half.h"
#include "ops/ml_tree.h"

#define BLOCK 64

typedef struct tree_job {
    const sdx_tree_params *p;
    const void *x; /* in the type that the trees are walked with */
    size_t stride; /* features of a row */
    void *scores;  /* rows x targets, in the same type */
    uint8_t *seen; /* rows x targets: whether a leaf spoke of the target; may be NULL */
    float *floats; /* rows x targets, for results that are not float32 */
    sdx_tensor *out, *labels; /* may be NULL */
} tree_job;

static bool is_member(const sdx_forest *f, uint32_t set, double x) {
    size_t low = f->set_first[set], high = f->set_first[set + 1];
    const size_t end = high;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (f->set_values[middle] < x) low = middle + 1;
        else high = middle;
    }
    return low < end && f->set_values[low] == x;
}

#define X float
#define NODE sdx_tree_node32
#define NODES nodes32
#define WEIGHTS weights32
#define NAME(x) narrow_##x
#include "ops/ml_tree_template.h"

#define X double
#define NODE sdx_tree_node32
#define NODES nodes32
#define WEIGHTS weights32
#define NAME(x) mixed_##x
#include "ops/ml_tree_template.h"

#define X double
#define NODE sdx_tree_node64
#define NODES nodes64
#define WEIGHTS weights64
#define NAME(x) wide_##x
#include "ops/ml_tree_template.h"

sdx_tree_room sdx_tree_room_of(const sdx_tree_params *p, sdx_dtype input, sdx_dtype output) {
    sdx_tree_room room = {.input_type = SDX_DTYPE_FLOAT32};
    if (p->forest.wide || input == SDX_DTYPE_FLOAT64) room.input_type = SDX_DTYPE_FLOAT64;
    room.scores = sdx_dtype_size(room.input_type);
    if (input != room.input_type) room.input = room.scores;
    /* Sums of a single target need not be told from no sum at all. */
    const bool sums = p->sum <= SDX_TREE_SUM && p->forest.targets == 1 && !p->classifier;
    room.seen = !sums;
    room.floats = output == SDX_DTYPE_FLOAT32 ? 0 : sizeof(float);
    return room;
}

/* The scratch memory cut into its parts; false if it is too large to count. */
typedef struct tree_parts {
    size_t scores, floats, seen, total; /* offsets; the input comes first */
} tree_parts;

static bool cut(const sdx_tree_room *room, size_t elements, size_t scores, tree_parts *parts) {
    const size_t counts[] = {elements, scores, scores, scores};
    const size_t sizes[] = {room->input, room->scores, room->floats, room->seen};
    size_t *ends[] = {&parts->scores, &parts->floats, &parts->seen, &parts->total};
    size_t at = 0, bytes;
    for (int i = 0; i < 4; i++) {
        if (!sdx_size_mul(counts[i], sizes[i], &bytes) ||
            !sdx_size_align(bytes, SDX_CACHE_LINE, &bytes) || !sdx_size_add(at, bytes, &at))
            return false;
        *ends[i] = at;
    }
    return true;
}

sdx_status sdx_tree_run(sdx_call *call) {
    const sdx_tree_params *p = call->params;
    const sdx_tensor *x = sdx_in(call, 0);
    const sdx_ml_rows shape = sdx_ml_rows_of(x);
    tree_job job = {.p = p, .stride = shape.features,
                    .out = sdx_out(call, p->classifier ? 1 : 0),
                    .labels = p->classifier ? sdx_out(call, 0) : NULL};
    if (shape.features < p->forest.features)
        return sdx_call_fail(call, "the input has %zu features, the trees look at %zu",
                             shape.features, p->forest.features);
    if (shape.rows == 0) return SDX_STATUS_OK;
    const sdx_tree_room room =
        sdx_tree_room_of(p, x->dtype, job.out ? job.out->dtype : SDX_DTYPE_FLOAT32);
    tree_parts parts;
    size_t scores;
    if (!sdx_size_mul(shape.rows, p->forest.targets, &scores) ||
        !cut(&room, x->count, scores, &parts))
        return sdx_call_fail_with(call, SDX_STATUS_LIMIT, "the scores are too many");
    sdx_scratch scratch;
    SDX_TRY(sdx_call_scratch(call, parts.total, &scratch));
    char *memory = scratch.data;
    job.x = x->data;
    if (room.input) {
        if (x->count) sdx_convert(x->dtype, room.input_type, x->data, memory, x->count);
        job.x = memory;
    }
    job.scores = memory + parts.scores;
    job.floats = (float *)(void *)(memory + parts.floats);
    job.seen = room.seen ? (uint8_t *)memory + parts.seen : NULL;
    sdx_loop_body body = p->forest.wide                          ? wide_rows
                         : room.input_type == SDX_DTYPE_FLOAT64 ? mixed_rows
                                                                 : narrow_rows;
    /* A walk costs about a dozen nodes. Whole blocks, unless the forest is large. */
    size_t grain = sdx_ml_grain(12 * (p->forest.tree_count + p->forest.targets));
    if (grain < BLOCK && shape.rows >= 4 * BLOCK) grain = BLOCK;
    sdx_call_parallel(call, shape.rows, grain, body, &job);
    sdx_call_scratch_end(call, &scratch);
    return SDX_STATUS_OK;
}
