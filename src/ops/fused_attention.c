/* fused_attention.c - sardonyx:Attention, which the pass of that name makes of attention that a model writes
 * out: softmax(scale Q K' + masks) V in float32, for many heads. Inputs: what Q, K', V are read from, and up
 * to two masks to add or none.
 *
 * A task is one head with some of its queries: keys and values are packed once, then a few rows of scores at
 * a time are made, turned into weights and multiplied with the values while they are in the first cache. The
 * sum of the weights divides the result, not the weights. Attributes `q`, `k`, `v`: views (passes/view.h). */
#include <stdio.h>

#include "base/checked.h"
#include "kernels/gemm.h"
#include "kernels/kernels.h"
#include "ops/matmul.h"

#define ROWS    24 /* of scores at a time: whole tiles of 6, 8 or 12 */
#define CHUNK   96 /* queries that are worth packing keys and values for */
#define SLOTS   8  /* tasks at once, at most */
#define FACTORS 12

/* A view as numbers: of each factor whether it is batch, row or column, dim, step, extent or 0. */
typedef struct view {
    const int64_t *ints;
    size_t count;
} view;

typedef struct params {
    view q, k, v;
    const int64_t *perm; /* of (batch.., row, column), as Transpose */
    size_t rank;
    const sdx_expr *sizes, *shape; /* batch, queries, keys, size, size of values; the result's */
    size_t size_count, shape_rank;
    const int64_t *inner[2]; /* dims of the batch but the first, for each mask */
    size_t inner_count[2];
    float scale;
} params;

static sdx_status prepare(sdx_prep *prep) {
    params *p = prep->params;
    SDX_TRY(sdx_attr_get_ints(prep, "q", &p->q.ints, &p->q.count));
    SDX_TRY(sdx_attr_get_ints(prep, "k", &p->k.ints, &p->k.count));
    SDX_TRY(sdx_attr_get_ints(prep, "v", &p->v.ints, &p->v.count));
    SDX_TRY(sdx_attr_get_ints(prep, "perm", &p->perm, &p->rank));
    SDX_TRY(sdx_attr_get_ints(prep, "inner0", &p->inner[0], &p->inner_count[0]));
    SDX_TRY(sdx_attr_get_ints(prep, "inner1", &p->inner[1], &p->inner_count[1]));
    SDX_TRY(sdx_attr_get_float(prep, "scale", 1.0f, &p->scale));
    SDX_TRY(sdx_attr_get_exprs(prep, "sizes", &p->sizes, &p->size_count));
    SDX_TRY(sdx_attr_get_exprs(prep, "shape", &p->shape, &p->shape_rank));
    uint64_t seen = 0;
    for (size_t i = 0; i < p->rank && p->rank <= SDX_MAX_RANK; i++)
        if (p->perm[i] >= 0 && p->perm[i] < (int64_t)p->rank) seen |= 1ull << p->perm[i];
    if (p->rank > SDX_MAX_RANK || seen != (1ull << p->rank) - 1 ||
        p->rank == 0 || p->perm[p->rank - 1] != (int64_t)p->rank - 1) /* columns of a result are neighbours */
        return sdx_prep_fail(prep, "perm is no order of the axes that keeps the last");
    if (p->size_count != 5 || p->rank < 3 || p->rank - 2 > FACTORS ||
        p->inner_count[0] + 1 > FACTORS || p->inner_count[1] + 1 > FACTORS || p->rank > SDX_MAX_RANK || p->shape_rank != p->rank ||
        p->inner_count[0] + 3 > SDX_MAX_RANK || p->inner_count[1] + 3 > SDX_MAX_RANK)
        return sdx_prep_fail(prep, "attributes do not fit together");
    return SDX_STATUS_OK;
}

/* Floats of each part of a slot, and of all of them. */
static sdx_expr slot_floats(sdx_infer *inf, const params *p) {
    const sdx_expr *s = p->sizes, line = sdx_expr_const(32);
    sdx_expr keys = sdx_inf_mul(inf, sdx_expr_ceildiv(inf->pool, s[2], line), line);
    sdx_expr values = sdx_inf_mul(inf, sdx_expr_ceildiv(inf->pool, s[4], line), line);
    sdx_expr size = sdx_inf_mul(inf, sdx_expr_ceildiv(inf->pool, s[3], line), line);
    sdx_expr sum = sdx_inf_add(inf, sdx_inf_mul(inf, keys, s[3]), sdx_inf_mul(inf, values, s[2]));
    sum = sdx_inf_add(inf, sum, sdx_inf_mul(inf, sdx_inf_add(inf, keys, size), sdx_expr_const(ROWS)));
    return sdx_inf_add(inf, sum, sdx_expr_const(64));
}

static sdx_status infer(sdx_infer *inf) {
    const params *p = inf->params;
    sdx_infer_set_dtype(inf, 0, SDX_DTYPE_FLOAT32);
    sdx_expr chunks = sdx_expr_ceildiv(inf->pool, p->sizes[1], sdx_expr_const(CHUNK));
    sdx_expr slots = sdx_expr_min(inf->pool, sdx_inf_mul(inf, p->sizes[0], chunks),
                                  sdx_expr_const(SLOTS));
    inf->scratch = sdx_inf_mul(inf, sdx_inf_mul(inf, slots, slot_floats(inf, p)),
                               sdx_expr_const(sizeof(float)));
    return sdx_infer_set_shape(inf, 0, (int32_t)p->shape_rank, p->shape);
}

/* ---- where things lie ---------------------------------------------------------------------------- */

/* Places of the heads of one operand: element (row, column) of head h is at
 * data[sum of the digits of h times their strides + row * row_stride + column * column_stride]. */
typedef struct place {
    float *data;
    size_t factors, extent[FACTORS], stride[FACTORS]; /* of the batch, from the outermost in */
    size_t rows, columns, row, column;
} place;

static place place_of(const sdx_tensor *t, const view *v) {
    place p = {.data = t->data, .rows = 1, .columns = 1};
    size_t step[SDX_MAX_RANK], total = 1, count = (size_t)v->ints[0];
    for (int32_t i = t->rank - 1; i >= 0; i--) {
        step[i] = total;
        total *= (size_t)t->dims[i];
    }
    const int64_t *start = v->ints + 1 + 4 * count;
    for (int32_t i = 0; i < t->rank; i++) p.data += (size_t)start[i] * step[i];
    for (size_t f = 0; f < count; f++) {
        const int64_t *n = v->ints + 1 + 4 * f;
        size_t extent = (size_t)(n[3] ? n[3] : t->dims[n[1]] / n[2]);
        size_t stride = step[n[1]] * (size_t)n[2];
        if (n[0] == 1) p.rows = extent, p.row = stride;
        else if (n[0] == 2) p.columns = extent, p.column = stride;
        else p.extent[p.factors] = extent, p.stride[p.factors++] = stride;
    }
    return p;
}

/* The result: its axes are those of (batch.., row, column) in the order of perm. */
static place place_of_result(const sdx_tensor *t, const params *p) {
    place y = {.data = t->data, .factors = p->rank - 2};
    size_t total = 1;
    for (size_t i = p->rank; i-- > 0;) {
        size_t of = (size_t)p->perm[i], extent = (size_t)t->dims[i];
        if (of == p->rank - 1) y.columns = extent, y.column = total;
        else if (of == p->rank - 2) y.rows = extent, y.row = total;
        else y.extent[of] = extent, y.stride[of] = total;
        total *= extent;
    }
    return y;
}

/* A mask, aligned to (batch, its inner dims, rows, keys) from the last dim on; dims of 1 are repeated. */
static place place_of_mask(const sdx_tensor *t, const int64_t *inner, size_t inner_count) {
    place m = {.data = t->data, .factors = inner_count + 1};
    size_t total = 1;
    int32_t from_end = 0;
    for (size_t i = 0; i < inner_count; i++) m.extent[i + 1] = (size_t)inner[i];
    m.extent[0] = SIZE_MAX;
    for (int32_t i = t->rank - 1; i >= 0; i--, from_end++) {
        size_t extent = (size_t)t->dims[i], stride = extent == 1 ? 0 : total;
        if (from_end == 0) m.columns = extent, m.column = 1;
        else if (from_end == 1) m.rows = extent, m.row = stride;
        else m.stride[m.factors + 1 - (size_t)from_end] = stride;
        total *= extent;
    }
    return m;
}

/* ---- a packed file may say anything: whether all of it lies inside what it is read from ------------- */

/* Adds (extent - 1) * stride to *reach; false: no extent, or more than can be. */
static bool add_reach(size_t extent, size_t stride, size_t *reach) {
    size_t far;
    return extent > 0 && sdx_size_mul(extent - 1, stride, &far) && sdx_size_add(*reach, far, reach);
}

static bool view_fits(const sdx_tensor *t, const view *v) {
    size_t step[SDX_MAX_RANK], total = 1, reach = 0, rank = (size_t)t->rank;
    if (!v->count || v->ints[0] < 0 || v->ints[0] > FACTORS ||
        v->count != 1 + 4 * (size_t)v->ints[0] + rank)
        return false;
    for (size_t i = rank; i-- > 0;) {
        step[i] = total;
        total *= (size_t)t->dims[i];
    }
    const size_t count = (size_t)v->ints[0];
    const int64_t *start = v->ints + 1 + 4 * count;
    for (size_t i = 0; i < rank; i++)
        if (start[i] < 0 || start[i] >= t->dims[i] ||
            !add_reach((size_t)start[i] + 1, step[i], &reach))
            return false;
    for (size_t f = 0; f < count; f++) {
        const int64_t *n = v->ints + 1 + 4 * f;
        size_t stride;
        if (n[0] < 0 || n[0] > 2 || n[1] < 0 || n[1] >= t->rank || n[2] < 1 || n[3] < 0 ||
            !sdx_size_mul(step[n[1]], (size_t)n[2], &stride) ||
            !add_reach((size_t)(n[3] ? n[3] : t->dims[n[1]] / n[2]), stride, &reach))
            return false;
    }
    return reach < total;
}

static bool mask_fits(const sdx_tensor *t, const place *m, size_t heads, size_t rows, size_t keys) {
    size_t reach = 0, inner = 1;
    for (size_t f = 1; f < m->factors; f++)
        if (m->extent[f] > heads || !sdx_size_mul(inner, m->extent[f], &inner) ||
            !add_reach(m->extent[f], m->stride[f], &reach))
            return false;
    return m->columns == keys && (m->rows == rows || m->row == 0) &&
           add_reach((heads - 1) / inner + 1, m->stride[0], &reach) &&
           add_reach(rows, m->row, &reach) && add_reach(keys, 1, &reach) && reach < t->count;
}

static float *head_at(const place *p, size_t head) {
    float *at = p->data;
    for (size_t f = p->factors; f-- > 0;) {
        at += head % p->extent[f] * p->stride[f];
        head /= p->extent[f];
    }
    return at;
}

/* ---- the work -------------------------------------------------------------------------------------- */

typedef struct job {
    place q, k, v, y, masks[2];
    size_t mask_count, heads, chunk, chunks, slots, slot_floats;
    float scale, *scratch;
} job;

static size_t round_up(size_t n) { return (n + 31) / 32 * 32; }

static void run_task(const job *j, size_t task, float *slot) {
    const sdx_kernels *kernels = sdx_kernels_get();
    const size_t head = task / j->chunks, first = task % j->chunks * j->chunk;
    const size_t last = first + j->chunk < j->q.rows ? first + j->chunk : j->q.rows;
    const size_t keys = j->k.columns, size = j->k.rows, columns = j->v.columns;
    const size_t score_row = round_up(keys), q_row = round_up(size);
    float *packed_k = slot, *packed_v = packed_k + score_row * size;
    float *scores = packed_v + round_up(columns) * keys, *copy = scores + ROWS * score_row;
    float inverse[ROWS];
    sdx_f32_pack_panels((sdx_f32_matrix){head_at(&j->k, head), j->k.row, j->k.column}, size, keys,
                        packed_k);
    sdx_f32_pack_panels((sdx_f32_matrix){head_at(&j->v, head), j->v.row, j->v.column}, keys, columns,
                        packed_v);
    const float *q = head_at(&j->q, head), *mask[2] = {NULL, NULL};
    for (size_t m = 0; m < j->mask_count; m++) mask[m] = head_at(&j->masks[m], head);
    float *y = head_at(&j->y, head);
    for (size_t row = first; row < last; row += ROWS) {
        const size_t rows = last - row < ROWS ? last - row : ROWS;
        const float *from = q + row * j->q.row;
        size_t from_row = j->q.row;
        if (j->q.column != 1) {
            for (size_t i = 0; i < rows; i++)
                for (size_t c = 0; c < size; c++)
                    copy[i * q_row + c] = from[i * from_row + c * j->q.column];
            from = copy;
            from_row = q_row;
        }
        sdx_f32_panel_product(rows, keys, size, from, from_row, packed_k, scores, score_row);
        for (size_t i = 0; i < rows; i++)
            SDX_KERNEL_OF(kernels, f32_attend)(scores + i * score_row, keys, j->scale,
                                mask[0] ? mask[0] + (row + i) * j->masks[0].row : NULL,
                                mask[1] ? mask[1] + (row + i) * j->masks[1].row : NULL, &inverse[i]);
        float *to = y + row * j->y.row;
        sdx_f32_panel_product(rows, columns, keys, scores, score_row, packed_v, to, j->y.row);
        for (size_t i = 0; i < rows; i++)
            SDX_KERNEL_OF(kernels, f32_affine)(to + i * j->y.row, to + i * j->y.row, columns, 0, inverse[i], 0);
    }
}

static void run_slots(void *arg, size_t begin, size_t end) {
    const job *j = arg;
    for (size_t s = begin; s < end; s++)
        for (size_t task = s; task < j->heads * j->chunks && !sdx_watch_work(1 << 14); task += j->slots)
            run_task(j, task, j->scratch + s * j->slot_floats);
}

/* What the parts of a job say of one another. */
static bool job_fits(const sdx_call *call, const job *j) {
    const params *p = call->params;
    bool fits = j->heads > 0 && j->q.rows > 0 && /* as a result with elements has them */
                j->q.columns == j->k.rows && j->k.columns == j->v.rows &&
                j->q.rows == j->y.rows && j->v.columns == j->y.columns;
    for (uint32_t m = 0; fits && m < j->mask_count; m++)
        fits = sdx_in(call, 3 + m)->rank >= 2 &&
               mask_fits(sdx_in(call, 3 + m), &j->masks[m], j->heads, j->q.rows, j->k.columns);
    for (uint32_t m = 0; fits && m < 2; m++)
        for (size_t i = 0; i < p->inner_count[m]; i++) fits = fits && p->inner[m][i] > 0;
    return fits;
}

static sdx_status run(sdx_call *call) {
    const params *p = call->params;
    sdx_tensor *y = sdx_out(call, 0);
    if (y->count == 0) return SDX_STATUS_OK;
    for (uint32_t m = 0; m < 2; m++) {
        const sdx_tensor *mask = sdx_in(call, 3 + m);
        if (mask && (size_t)mask->rank > p->inner_count[m] + 3)
            return sdx_call_fail(call, "mask %u has rank %d", m, mask->rank);
    }
    if (!view_fits(sdx_in(call, 0), &p->q) || !view_fits(sdx_in(call, 1), &p->k) ||
        !view_fits(sdx_in(call, 2), &p->v))
        return sdx_call_fail(call, "a view reaches beyond what it is read from");
    job j = {.q = place_of(sdx_in(call, 0), &p->q), .k = place_of(sdx_in(call, 1), &p->k),
             .v = place_of(sdx_in(call, 2), &p->v), .y = place_of_result(y, p), .heads = 1,
             .scale = p->scale, .scratch = call->scratch};
    for (; j.mask_count < 2 && sdx_in(call, 3 + (uint32_t)j.mask_count); j.mask_count++)
        j.masks[j.mask_count] = place_of_mask(sdx_in(call, 3 + (uint32_t)j.mask_count),
                                              p->inner[j.mask_count], p->inner_count[j.mask_count]);
    for (size_t f = 0; f < j.y.factors; f++) j.heads *= j.y.extent[f];
    if (!job_fits(call, &j)) return sdx_call_fail(call, "queries, keys, values and masks do not fit");
    /* As few chunks of queries as give every thread something to do. */
    const size_t threads = sdx_pool_threads(call->host->pool);
    const size_t most = (j.q.rows - 1) / CHUNK + 1;
    size_t wanted = threads == 1 ? 1 : (2 * threads - 1) / j.heads + 1;
    if (wanted > 1 && wanted > most) wanted = most;
    j.chunk = ((j.q.rows - 1) / wanted / ROWS + 1) * ROWS;
    j.chunks = (j.q.rows - 1) / j.chunk + 1;
    const size_t keys = j.k.columns, size = j.k.rows;
    j.slot_floats = round_up(keys) * size + round_up(j.v.columns) * keys +
                    ROWS * (round_up(keys) + round_up(size)) + 64;
    j.slot_floats = j.slot_floats / 16 * 16;
    j.slots = threads < SLOTS ? threads : SLOTS;
    if (j.slots > 1 && j.slots > j.heads * j.chunks) j.slots = j.heads * j.chunks;
    if (call->scratch_bytes / sizeof(float) / j.slots < j.slot_floats)
        return sdx_call_fail(call, "sizes are not those of what is attended to");
    sdx_call_parallel(call, j.slots, 1, run_slots, &j);
    return SDX_STATUS_OK;
}

static void describe(const sdx_call *call, sdx_work *work) {
    const params *p = call->params;
    const sdx_tensor *y = sdx_out(call, 0);
    const place k = place_of(sdx_in(call, 1), &p->k);
    snprintf(work->way, sizeof work->way, "blocks of rows, %s", sdx_kernels_get()->isa);
    double columns = (double)y->dims[y->rank - 1];
    if (y->count)
        work->flops = 2.0 * (double)y->count / columns * (double)k.columns *
                      ((double)k.rows + columns);
}

const sdx_op_def sdx_op_fused_attention = {
    .min_in = 3, .max_in = 5, .min_out = 1, .max_out = 1,
    .in_types = {SDX_T(FLOAT32)},
    .params_size = sizeof(params),
    .prepare = prepare, .infer = infer, .run = SDX_BODY(sdx_op_fused_attention, run),
    .describe = SDX_BODY(sdx_op_fused_attention, describe),
};
