/* nms.c - NonMaxSuppression: of each class, boxes are taken from the highest score down; a box
 * that overlaps one taken before too much is dropped. How many remain only the body knows. */
#include "ops/op.h"

typedef struct nms_params {
    bool center; /* boxes are centre and size, not two corners */
} nms_params;

enum { IN_BOXES, IN_SCORES, IN_MAX, IN_IOU, IN_SCORE };

static sdx_status nms_prepare(sdx_prep *prep) {
    nms_params *params = prep->params;
    return sdx_attr_get_bool(prep, "center_point_box", false, &params->center);
}

typedef struct candidate {
    float score;
    uint32_t box;
} candidate;

static sdx_status nms_infer(sdx_infer *inf) {
    sdx_infer_set_dtype(inf, 0, SDX_DTYPE_INT64);
    SDX_TRY(sdx_infer_require_rank(inf, IN_BOXES, 3));
    SDX_TRY(sdx_infer_require_rank(inf, IN_SCORES, 3));
    sdx_expr boxes = sdx_infer_dim(inf, IN_BOXES, 1);
    SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, IN_BOXES, 2), sdx_expr_const(4),
                                    "last dim of boxes"));
    SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, IN_BOXES, 0),
                                    sdx_infer_dim(inf, IN_SCORES, 0),
                                    "batch size of boxes and scores"));
    SDX_TRY(sdx_infer_require_equal(inf, boxes, sdx_infer_dim(inf, IN_SCORES, 2),
                                    "number of boxes and of scores"));
    for (uint32_t i = IN_MAX; i <= IN_SCORE; i++)
        if (sdx_infer_rank(inf, i) > 1)
            return sdx_infer_fail(inf, "input %u has rank %d, expected a scalar", i,
                                  sdx_infer_rank(inf, i));
    inf->scratch = sdx_inf_mul(inf, boxes, sdx_expr_const((int64_t)sizeof(candidate)));
    sdx_expr dims[2] = {SDX_EXPR_UNKNOWN, sdx_expr_const(3)};
    return sdx_infer_set_shape(inf, 0, 2, dims);
}

/* ---- candidates: a heap with the best at [0] ------------------------------------------------- */

static inline bool better(candidate a, candidate b) {
    return a.score > b.score || (a.score == b.score && a.box < b.box);
}

static void sift_down(candidate *heap, size_t count, size_t at) {
    candidate moved = heap[at];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= count) break;
        if (child + 1 < count && better(heap[child + 1], heap[child])) child++;
        if (!better(heap[child], moved)) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

/* ---- overlap --------------------------------------------------------------------------------- */

typedef struct range {
    float low, high;
} range;

/* Along x (axis 1) or y (axis 0). */
static range range_of(const float *box, int axis, bool center) {
    if (center) {
        float middle = box[1 - axis], half = box[3 - axis] / 2;
        return (range){middle - half, middle + half};
    }
    float a = box[axis], b = box[axis + 2];
    return a < b ? (range){a, b} : (range){b, a};
}

/* Intersection over union above the limit; boxes without an area overlap nothing. */
static bool overlaps(const float *one, const float *two, bool center, float limit) {
    float inside = 1, area1 = 1, area2 = 1;
    for (int axis = 0; axis < 2; axis++) {
        range a = range_of(one, axis, center), b = range_of(two, axis, center);
        float low = a.low > b.low ? a.low : b.low, high = a.high < b.high ? a.high : b.high;
        if (!(high > low)) return false;
        inside *= high - low;
        area1 *= a.high - a.low;
        area2 *= b.high - b.low;
    }
    float whole = area1 + area2 - inside;
    if (!(inside > 0) || !(area1 > 0) || !(area2 > 0) || !(whole > 0)) return false;
    return inside / whole > limit;
}

/* ---- run ------------------------------------------------------------------------------------- */

typedef struct selection {
    int64_t *rows; /* batch, class, box */
    size_t count, capacity;
} selection;

static sdx_status append(sdx_call *call, selection *chosen, int64_t batch, int64_t class,
                         int64_t box) {
    if (chosen->count == chosen->capacity) {
        size_t capacity = chosen->capacity ? 2 * chosen->capacity : 64;
        int64_t *rows = sdx_call_temp(call, capacity, 3 * sizeof *rows);
        if (rows == NULL) return SDX_STATUS_NO_MEMORY;
        if (chosen->count) memcpy(rows, chosen->rows, 3 * chosen->count * sizeof *rows);
        sdx_call_temp_free(call, chosen->rows);
        chosen->rows = rows;
        chosen->capacity = capacity;
    }
    int64_t *row = chosen->rows + 3 * chosen->count++;
    row[0] = batch;
    row[1] = class;
    row[2] = box;
    return SDX_STATUS_OK;
}

typedef struct limits {
    int64_t most;
    float iou, score;
    bool has_score, center;
} limits;

/* One class of one image. */
static sdx_status select_class(sdx_call *call, const limits *limit, int64_t batch, int64_t class,
                               selection *chosen) {
    const sdx_tensor *boxes_in = sdx_in(call, IN_BOXES), *scores_in = sdx_in(call, IN_SCORES);
    size_t boxes = (size_t)boxes_in->dims[1], count = 0, first = chosen->count;
    size_t row = (size_t)(batch * scores_in->dims[1] + class);
    const float *scores = (const float *)scores_in->data + row * boxes;
    const float *corners = (const float *)boxes_in->data + (size_t)batch * boxes * 4;
    candidate *heap = call->scratch;
    for (size_t i = 0; i < boxes; i++)
        if (!limit->has_score || scores[i] > limit->score)
            heap[count++] = (candidate){scores[i], (uint32_t)i};
    for (size_t h = count / 2; h-- > 0;) sift_down(heap, count, h);
    while (count > 0 && (int64_t)(chosen->count - first) < limit->most) {
        size_t box = heap[0].box;
        heap[0] = heap[--count];
        sift_down(heap, count, 0);
        if (sdx_watch_work(chosen->count - first)) break;
        bool free_standing = true;
        for (size_t i = first; i < chosen->count && free_standing; i++)
            free_standing = !overlaps(corners + 4 * box,
                                      corners + 4 * (size_t)chosen->rows[3 * i + 2],
                                      limit->center, limit->iou);
        if (free_standing) SDX_TRY(append(call, chosen, batch, class, (int64_t)box));
    }
    return SDX_STATUS_OK;
}

static float scalar_or(const sdx_tensor *tensor, float fallback) {
    return tensor && tensor->count > 0 ? ((const float *)tensor->data)[0] : fallback;
}

static sdx_status nms_run(sdx_call *call) {
    const nms_params *params = call->params;
    const sdx_tensor *boxes = sdx_in(call, IN_BOXES), *scores = sdx_in(call, IN_SCORES);
    const sdx_tensor *most = sdx_in(call, IN_MAX), *score = sdx_in(call, IN_SCORE);
    limits limit = {.center = params->center};
    limit.most = most && most->count > 0 ? sdx_tensor_int(most, 0) : 0;
    limit.iou = scalar_or(sdx_in(call, IN_IOU), 0);
    limit.score = scalar_or(score, 0);
    limit.has_score = score && score->count > 0;
    if (boxes->dims[1] >= UINT32_MAX)
        return sdx_call_fail(call, "%lld boxes are too many", (long long)boxes->dims[1]);
    selection chosen = {0};
    sdx_status status = SDX_STATUS_OK;
    for (int64_t b = 0; b < scores->dims[0] && status == SDX_STATUS_OK; b++)
        for (int64_t c = 0; c < scores->dims[1] && status == SDX_STATUS_OK; c++)
            status = select_class(call, &limit, b, c, &chosen);
    sdx_tensor *out = NULL;
    int64_t dims[2] = {(int64_t)chosen.count, 3};
    if (status == SDX_STATUS_OK)
        status = sdx_call_alloc(call, 0, SDX_DTYPE_INT64, 2, dims, &out);
    if (status == SDX_STATUS_OK && out != NULL && chosen.count > 0)
        memcpy(out->data, chosen.rows, 3 * chosen.count * sizeof(int64_t));
    sdx_call_temp_free(call, chosen.rows);
    return status;
}

const sdx_op_def sdx_op_non_max_suppression = {
    .min_in = 2, .max_in = 5, .min_out = 1, .max_out = 1,
    .in_types = {SDX_T(FLOAT32), SDX_T(FLOAT32), SDX_T(INT64), SDX_T(FLOAT32), SDX_T(FLOAT32)},
    .flags = SDX_OP_DATA_SHAPE,
    .params_size = sizeof(nms_params),
    .prepare = nms_prepare,
    .infer = nms_infer,
    .run = SDX_BODY(sdx_op_non_max_suppression, nms_run),
};
