/* attention_run.c - computes Attention: blocks of query rows of one head at a time, each a product
 * with the keys, a pass over the rows (attention_rows.h) and a product with the values. Past and
 * new keys are two parts of one row, so nothing is concatenated but the outputs that ask for it. */
#include "ops/attention.h"

#include <math.h>

#include "kernels/vexp.h"

/* Heads of one operand: where (batch, head, row) begins, in elements. */
typedef struct heads {
    char *data; /* in the computed type; inputs are not written */
    size_t batch, head, row;
} heads;

typedef struct attention_job {
    const sdx_attention_params *params;
    sdx_dtype type, qk_type; /* computed in; of the fourth output */
    size_t element;
    size_t batches, q_heads, kv_heads, q_len, past, kv_len, total, size, v_size;
    size_t blocks, tasks, slots; /* blocks of rows per head */
    heads q, k, v, past_k, past_v, y;
    char *qk; /* fourth output or NULL */
    const sdx_tensor *mask;
    size_t mask_stride[4], mask_count; /* by batch, head, row, key; keys covered */
    const int64_t *nonpad;
    double scale;
    char *scratch;
    size_t slot_bytes, score_bytes, row_bytes;
    sdx_pool *pool; /* for the products; NULL while blocks run in parallel */
} attention_job;

static void tanh_f64(const double *in, double *out, size_t n) {
    for (size_t i = 0; i < n; i++) out[i] = tanh(in[i]);
}
static double exp_sum_f64(const double *in, double shift, double *out, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += out[i] = exp(in[i] - shift);
    return sum;
}
static double max_f64(const double *in, size_t n) {
    double max = -INFINITY;
    for (size_t i = 0; i < n; i++) max = in[i] > max || in[i] != in[i] ? in[i] : max;
    return max;
}

#define T float
#define LOCAL(x) f32_##x
#define TANH sdx_f32_tanh
#define EXP_SUM sdx_f32_exp_sum
#define ROW_MAX sdx_f32_max
#include "ops/attention_rows.h"
#undef T
#undef LOCAL
#undef TANH
#undef EXP_SUM
#undef ROW_MAX

#define T double
#define LOCAL(x) f64_##x
#define TANH tanh_f64
#define EXP_SUM exp_sum_f64
#define ROW_MAX max_f64
#include "ops/attention_rows.h"

/* ---- types ----------------------------------------------------------------------------------- */

#define CHUNK 256

void sdx_attention_widen(sdx_dtype from, const void *in, sdx_dtype to, void *out, size_t count) {
    if (count == 0) return;
    if (from == to) {
        memcpy(out, in, count * sdx_dtype_size(to));
        return;
    }
    if (to == SDX_DTYPE_FLOAT32) {
        sdx_to_f32(from, in, out, count);
        return;
    }
    float part[CHUNK];
    for (size_t i = 0; i < count; i += CHUNK) {
        size_t n = count - i < CHUNK ? count - i : CHUNK;
        sdx_to_f32(from, (const char *)in + i * sdx_dtype_size(from), part, n);
        for (size_t j = 0; j < n; j++) ((double *)out)[i + j] = (double)part[j];
    }
}

void sdx_attention_narrow(sdx_dtype from, const void *in, sdx_dtype to, void *out, size_t count) {
    if (count == 0) return;
    if (from == to) {
        memcpy(out, in, count * sdx_dtype_size(to));
        return;
    }
    if (from == SDX_DTYPE_FLOAT32) {
        sdx_from_f32(to, in, out, count);
        return;
    }
    float part[CHUNK];
    for (size_t i = 0; i < count; i += CHUNK) {
        size_t n = count - i < CHUNK ? count - i : CHUNK;
        for (size_t j = 0; j < n; j++) part[j] = (float)((const double *)in)[i + j];
        sdx_from_f32(to, part, (char *)out + i * sdx_dtype_size(to), n);
    }
}

/* ---- one block of rows ----------------------------------------------------------------------- */

/* A row of the mask as numbers to add. */
static void mask_row(const attention_job *job, size_t b, size_t h, size_t i, void *out) {
    const sdx_tensor *mask = job->mask;
    size_t at = b * job->mask_stride[0] + h * job->mask_stride[1] + i * job->mask_stride[2];
    const char *from = (const char *)mask->data + at * sdx_dtype_size(mask->dtype);
    if (sdx_dtypes_has(SDX_T_FLOATS, mask->dtype)) {
        sdx_attention_widen(mask->dtype, from, job->type, out, job->mask_count);
        return;
    }
    for (size_t j = 0; j < job->mask_count; j++) {
        double value = mask->dtype == SDX_DTYPE_BOOL
                           ? (((const uint8_t *)from)[j] ? 0.0 : (double)-INFINITY)
                           : sdx_tensor_double(mask, at + j);
        if (job->type == SDX_DTYPE_FLOAT64)
            ((double *)out)[j] = value;
        else
            ((float *)out)[j] = (float)value;
    }
}

/* Keys [*low, *high) that query i may see by causality, window and padding. */
static void visible(const attention_job *job, size_t b, size_t i, size_t *low, size_t *high) {
    const sdx_attention_params *params = job->params;
    int64_t total = (int64_t)job->total, from = 0, to = total, offset = (int64_t)job->past;
    if (job->nonpad) {
        /* Any length beyond the keys is as good as all of them. */
        int64_t valid = job->nonpad[b] < 0 ? 0 : job->nonpad[b];
        if (valid > (int64_t)1 << 40) valid = (int64_t)1 << 40;
        if (valid < to) to = valid;
        offset = valid - (int64_t)job->q_len;
    }
    int64_t position = offset + (int64_t)i;
    if (params->causal && position + 1 < to) to = position + 1;
    if (params->right >= 0 && position + params->right + 1 < to) to = position + params->right + 1;
    if (params->left >= 0 && position - params->left > from) from = position - params->left;
    if (to < 0) to = 0;
    if (from > total) from = total;
    if (from > to) from = to;
    *low = (size_t)from;
    *high = (size_t)to;
}

static sdx_matrix head_matrix(const attention_job *job, const heads *x, size_t b, size_t h,
                              size_t row, bool turned) {
    size_t at = b * x->batch + h * x->head + row * x->row;
    sdx_matrix matrix = {x->data + at * job->element, x->row, 1};
    if (turned) matrix = (sdx_matrix){matrix.data, 1, x->row};
    return matrix;
}

/* Task t, in the order batch, head, block, with one slot of scratch memory. */
static void run_block(const attention_job *job, size_t t, char *slot) {
    size_t block = t % job->blocks, h = t / job->blocks % job->q_heads;
    size_t b = t / job->blocks / job->q_heads, kv = h / (job->q_heads / job->kv_heads);
    size_t first = block * SDX_ATT_ROWS, total = job->total;
    size_t rows = job->q_len - first < SDX_ATT_ROWS ? job->q_len - first : SDX_ATT_ROWS;
    char *scores = slot, *bias = slot + job->score_bytes, *rest = bias + job->row_bytes;
    sdx_matrix q = head_matrix(job, &job->q, b, h, first, false);
    if (job->past > 0)
        sdx_product(job->pool, job->type, rows, job->past, job->size, q,
                    head_matrix(job, &job->past_k, b, kv, 0, true), scores, total, false, rest);
    sdx_product(job->pool, job->type, rows, job->kv_len, job->size, q,
                head_matrix(job, &job->k, b, kv, 0, true), scores + job->past * job->element, total,
                false, rest);
    for (size_t i = 0; i < rows; i++) {
        size_t low, high, row = (b * job->q_heads + h) * job->q_len + first + i;
        visible(job, b, first + i, &low, &high);
        if (job->mask) mask_row(job, b, h, first + i, bias);
        void *mask = job->mask ? bias : NULL, *s = scores + i * total * job->element;
        void *qk = job->qk ? job->qk + row * total * sdx_dtype_size(job->qk_type) : NULL;
        if (job->type == SDX_DTYPE_FLOAT64)
            f64_finish_row(job, s, mask, low, high, qk);
        else
            f32_finish_row(job, s, mask, low, high, qk);
    }
    char *y = job->y.data +
              (b * job->y.batch + h * job->y.head + first * job->y.row) * job->element;
    sdx_matrix p = {scores, total, 1};
    if (job->past > 0)
        sdx_product(job->pool, job->type, rows, job->v_size, job->past, p,
                    head_matrix(job, &job->past_v, b, kv, 0, false), y, job->y.row, false, rest);
    p.data = scores + job->past * job->element;
    sdx_product(job->pool, job->type, rows, job->v_size, job->kv_len, p,
                head_matrix(job, &job->v, b, kv, 0, false), y, job->y.row, job->past > 0, rest);
}

static void run_slots(void *arg, size_t begin, size_t end) {
    const attention_job *job = arg;
    for (size_t s = begin; s < end; s++)
        for (size_t t = s; t < job->tasks && !sdx_watch_work(SDX_ATT_ROWS * job->total);
             t += job->slots)
            run_block(job, t, job->scratch + s * job->slot_bytes);
}

/* ---- setting up ------------------------------------------------------------------------------ */

/* (batch, heads, rows, size), or (batch, rows, heads * size) when rank is 3. */
static heads heads_of(int32_t rank, size_t count, size_t rows, size_t size, void *data) {
    if (rank == 3) return (heads){data, rows * count * size, size, count * size};
    return (heads){data, count * rows * size, rows * size, size};
}

/* The operand in the computed type: as it lies, or a copy. */
static void *bind(attention_job *job, const sdx_tensor *in) {
    if (in == NULL || in->dtype == job->type) return in ? in->data : NULL;
    void *wide = job->scratch;
    job->scratch += sdx_scratch_part(in->count * job->element);
    sdx_attention_widen(in->dtype, in->data, job->type, wide, in->count);
    return wide;
}

static void read_sizes(const sdx_call *call, attention_job *job) {
    const sdx_tensor *q = sdx_in(call, SDX_ATT_Q), *k = sdx_in(call, SDX_ATT_K);
    const sdx_tensor *v = sdx_in(call, SDX_ATT_V), *past = sdx_in(call, SDX_ATT_PAST_K);
    const sdx_attention_params *params = job->params;
    bool flat = q->rank == 3;
    job->batches = (size_t)q->dims[0];
    job->q_heads = (size_t)(flat ? params->q_heads : q->dims[1]);
    job->kv_heads = (size_t)(flat ? params->kv_heads : k->dims[1]);
    job->q_len = (size_t)q->dims[flat ? 1 : 2];
    job->kv_len = (size_t)k->dims[flat ? 1 : 2];
    job->size = flat ? (size_t)q->dims[2] / job->q_heads : (size_t)q->dims[3];
    job->v_size = flat ? (size_t)v->dims[2] / job->kv_heads : (size_t)v->dims[3];
    job->past = past ? (size_t)past->dims[2] : 0;
    job->total = job->past + job->kv_len;
    job->blocks = (job->q_len + SDX_ATT_ROWS - 1) / SDX_ATT_ROWS;
    job->tasks = job->batches * job->q_heads * job->blocks;
    job->scale = params->has_scale ? (double)params->scale
                                   : 1 / sqrt(job->size > 0 ? (double)job->size : 1);
}

static void read_mask(const sdx_call *call, attention_job *job) {
    const sdx_tensor *mask = job->mask = sdx_in(call, SDX_ATT_MASK);
    const sdx_tensor *nonpad = sdx_in(call, SDX_ATT_NONPAD);
    job->nonpad = nonpad ? nonpad->data : NULL;
    if (mask == NULL) return;
    size_t stride = 1;
    for (int32_t d = mask->rank - 1; d >= 0; d--) {
        job->mask_stride[4 - mask->rank + d] = mask->dims[d] == 1 ? 0 : stride;
        stride *= (size_t)mask->dims[d];
    }
    job->mask_count = (size_t)mask->dims[mask->rank - 1];
}

/* Past and new rows of every head, one after the other. */
static void concatenate(const attention_job *job, const sdx_tensor *past, const sdx_tensor *in,
                        size_t size, sdx_tensor *out) {
    if (out == NULL || out->count == 0) return;
    size_t bytes = size * sdx_dtype_size(out->dtype);
    heads from = heads_of(in->rank, job->kv_heads, job->kv_len, bytes, in->data);
    char *to = out->data;
    for (size_t b = 0; b < job->batches; b++)
        for (size_t h = 0; h < job->kv_heads; h++) {
            size_t head = b * job->kv_heads + h;
            if (job->past > 0)
                memcpy(to, (const char *)past->data + head * job->past * bytes, job->past * bytes);
            to += job->past * bytes;
            for (size_t i = 0; i < job->kv_len; i++, to += bytes)
                memcpy(to, from.data + b * from.batch + h * from.head + i * from.row, bytes);
        }
}

sdx_status sdx_attention_run(sdx_call *call) {
    const sdx_tensor *q = sdx_in(call, SDX_ATT_Q), *k = sdx_in(call, SDX_ATT_K);
    const sdx_tensor *v = sdx_in(call, SDX_ATT_V), *past_k = sdx_in(call, SDX_ATT_PAST_K);
    const sdx_tensor *past_v = sdx_in(call, SDX_ATT_PAST_V);
    sdx_tensor *y = sdx_out(call, SDX_ATT_Y), *qk = sdx_out(call, SDX_ATT_QK);
    attention_job job = {.params = call->params, .scratch = call->scratch};
    job.type = sdx_attention_type(q->dtype, v->dtype);
    job.element = sdx_dtype_size(job.type);
    job.qk_type = q->dtype;
    read_sizes(call, &job);
    if (job.q_heads > 0 && (job.kv_heads == 0 || job.q_heads % job.kv_heads != 0))
        return sdx_call_fail(call, "Q has %zu heads, no multiple of the %zu of K", job.q_heads,
                             job.kv_heads);
    if (q->rank == 3 && (job.size * job.q_heads != (size_t)q->dims[2] ||
                         job.v_size * job.kv_heads != (size_t)v->dims[2]))
        return sdx_call_fail(call, "the last dims of Q and V, %lld and %lld, are no multiples of "
                             "their heads, %zu and %zu", (long long)q->dims[2],
                             (long long)v->dims[2], job.q_heads, job.kv_heads);
    read_mask(call, &job);
    if (job.mask_count > job.total)
        return sdx_call_fail(call, "attn_mask covers %zu keys, there are only %zu",
                             job.mask_count, job.total);
    concatenate(&job, past_k, k, job.size, sdx_out(call, SDX_ATT_PRESENT_K));
    concatenate(&job, past_v, v, job.v_size, sdx_out(call, SDX_ATT_PRESENT_V));
    if (job.tasks == 0) return SDX_STATUS_OK;
    job.q = heads_of(q->rank, job.q_heads, job.q_len, job.size, bind(&job, q));
    job.k = heads_of(k->rank, job.kv_heads, job.kv_len, job.size, bind(&job, k));
    job.v = heads_of(v->rank, job.kv_heads, job.kv_len, job.v_size, bind(&job, v));
    job.past_k = heads_of(4, job.kv_heads, job.past, job.size, bind(&job, past_k));
    job.past_v = heads_of(4, job.kv_heads, job.past, job.v_size, bind(&job, past_v));
    job.qk = qk ? qk->data : NULL;
    void *result = y->data;
    if (y->dtype != job.type) {
        result = job.scratch;
        job.scratch += sdx_scratch_part(y->count * job.element);
    }
    job.y = heads_of(y->rank, job.q_heads, job.q_len, job.v_size, result);
    size_t rows = job.q_len < SDX_ATT_ROWS ? job.q_len : SDX_ATT_ROWS;
    size_t to_keys = sdx_product_scratch(job.type, rows, job.total, job.size);
    size_t to_values = sdx_product_scratch(job.type, rows, job.v_size, job.total);
    job.slots = job.tasks < SDX_ATT_SLOTS ? job.tasks : SDX_ATT_SLOTS;
    job.score_bytes = sdx_scratch_part(rows * job.total * job.element);
    job.row_bytes = sdx_scratch_part(job.total * job.element);
    job.slot_bytes = job.score_bytes + job.row_bytes +
                     sdx_scratch_part(to_keys > to_values ? to_keys : to_values);
    job.pool = job.slots == 1 ? call->host->pool : NULL;
    size_t work = rows * job.total * (job.size + job.v_size) * (job.tasks / job.slots);
    sdx_call_parallel(call, job.slots, work < 4096 ? job.slots : 1, run_slots, &job);
    if (result != y->data) sdx_attention_narrow(job.type, result, y->dtype, y->data, y->count);
    return SDX_STATUS_OK;
}
