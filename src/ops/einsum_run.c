/* einsum_run.c - computes the contractions that einsum.c plans: operands are used as matrices
 * where their strides allow it and are gathered into dense ones where not; each step is then one
 * batched product. Everything runs in the product type (matmul.h). */
#include "ops/einsum.h"
#include "ops/reduce_walk.h"

/* A tensor by label: strides in elements; 0 where it is broadcast. */
typedef struct operand {
    const char *data;
    sdx_labels labels;
    size_t stride[SDX_EINSUM_LABELS];
} operand;

typedef struct einsum_state {
    sdx_call *call;
    sdx_dtype type;
    size_t element;
    size_t size[SDX_EINSUM_LABELS];
    char *scratch; /* what is left of it */
} einsum_state;

static void *take(einsum_state *state, size_t count) {
    void *part = state->scratch;
    state->scratch += sdx_scratch_part(count * state->element);
    return part;
}

static size_t size_of(const einsum_state *state, const sdx_labels *labels) {
    size_t size = 1;
    for (int32_t i = 0; i < labels->count; i++) size *= state->size[labels->label[i]];
    return size;
}

/* Dense strides for these labels in this order. */
static void dense_operand(const einsum_state *state, const sdx_labels *labels, const void *data,
                          operand *out) {
    memset(out, 0, sizeof *out);
    out->data = data;
    out->labels = *labels;
    size_t stride = 1;
    for (int32_t i = labels->count - 1; i >= 0; i--) {
        out->stride[labels->label[i]] = stride;
        stride *= state->size[labels->label[i]];
    }
}

/* ---- gathering ------------------------------------------------------------------------------- */

typedef struct gather_job {
    const void *from;
    void *to;
    sdx_walk outer, sums;
    size_t inner, step, sum_count;
} gather_job;

#define GATHER(name, type, number)                                                                \
    static void name(void *arg, size_t begin, size_t end) {                                       \
        const gather_job *job = arg;                                                              \
        sdx_walk outer = job->outer, sums = job->sums;                                            \
        size_t step = job->step;                                                                  \
        sdx_walk_start(&outer, begin);                                                            \
        sdx_walk_start(&sums, 0);                                                                 \
        for (size_t o = begin; o < end; o++, sdx_walk_next(&outer)) {                             \
            const type *from = (const type *)job->from + outer.at;                                \
            type *to = (type *)job->to + o * job->inner;                                          \
            if (job->sums.rank == 0) {                                                            \
                for (size_t j = 0; j < job->inner; j++) to[j] = from[j * step];                   \
                continue;                                                                         \
            }                                                                                     \
            for (size_t j = 0; j < job->inner; j++) {                                             \
                number sum = 0;                                                                   \
                for (size_t s = 0; s < job->sum_count; s++, sdx_walk_next(&sums))                 \
                    sum += from[j * step + sums.at];                                              \
                to[j] = (type)sum;                                                                \
            }                                                                                     \
        }                                                                                         \
    }
GATHER(gather_f32, float, double)
GATHER(gather_f64, double, double)
GATHER(gather_u32, uint32_t, uint32_t)
GATHER(gather_u64, uint64_t, uint64_t)

/* to[labels] = sum over `sums` of from, dense in the order of labels. */
static void gather(einsum_state *state, const operand *from, const sdx_labels *labels,
                   const sdx_labels *sums, void *to) {
    gather_job job = {.from = from->data, .to = to, .inner = 1, .step = 1};
    size_t count = size_of(state, labels);
    if (count == 0) return;
    for (int32_t i = 0; i < labels->count; i++) {
        uint8_t label = labels->label[i];
        if (i + 1 < labels->count) {
            sdx_walk_push(&job.outer, state->size[label], from->stride[label]);
        } else {
            job.inner = state->size[label];
            job.step = from->stride[label];
        }
    }
    for (int32_t i = 0; i < sums->count; i++)
        sdx_walk_push(&job.sums, state->size[sums->label[i]], from->stride[sums->label[i]]);
    job.sum_count = sdx_walk_count(&job.sums);
    if (job.sum_count == 0) {
        memset(to, 0, count * state->element);
        return;
    }
    sdx_loop_body body = state->type == SDX_DTYPE_FLOAT32   ? gather_f32
                         : state->type == SDX_DTYPE_FLOAT64 ? gather_f64
                         : state->type == SDX_DTYPE_UINT64  ? gather_u64
                                                            : gather_u32;
    sdx_call_parallel(state->call, count / job.inner, 16384 / (job.inner * job.sum_count) + 1,
                      body, &job);
}

/* ---- one step -------------------------------------------------------------------------------- */

/* One stride for a group of labels, if they lie in each other like the digits of one number. */
static bool collapse(const einsum_state *state, const operand *x, const sdx_labels *labels,
                     size_t *stride) {
    bool first = true;
    size_t expected = 0;
    *stride = 1;
    for (int32_t i = labels->count - 1; i >= 0; i--) {
        uint8_t label = labels->label[i];
        if (state->size[label] == 1) continue;
        if (first)
            *stride = x->stride[label];
        else if (x->stride[label] != expected)
            return false;
        expected = x->stride[label] * state->size[label];
        first = false;
    }
    return true;
}

/* The operand as matrices rows x columns, one per batch position. */
static sdx_matrix as_matrix(einsum_state *state, operand *x, const sdx_labels *batch,
                            const sdx_labels *rows, const sdx_labels *columns,
                            const sdx_labels *sums) {
    sdx_matrix matrix = {x->data, 1, 1};
    if (sums->count == 0 && collapse(state, x, rows, &matrix.row) &&
        collapse(state, x, columns, &matrix.col))
        return matrix;
    sdx_labels order = *batch;
    const sdx_labels *parts[2] = {rows, columns};
    for (int p = 0; p < 2; p++)
        for (int32_t i = 0; i < parts[p]->count; i++)
            order.label[order.count++] = parts[p]->label[i];
    void *packed = take(state, size_of(state, &order));
    gather(state, x, &order, sums, packed);
    dense_operand(state, &order, packed, x);
    return (sdx_matrix){packed, size_of(state, columns), 1};
}

/* left and right contracted into `to`, whose labels lie as `out` says. */
static void contract(einsum_state *state, const sdx_einsum_step *step, operand left, operand right,
                     const operand *out, void *to) {
    sdx_matrix a = as_matrix(state, &left, &step->batch, &step->m, &step->k, &step->left_sum);
    sdx_matrix b = as_matrix(state, &right, &step->batch, &step->k, &step->n, &step->right_sum);
    sdx_batch batch = {.rank = step->batch.count};
    for (int32_t i = 0; i < step->batch.count; i++) {
        uint8_t label = step->batch.label[i];
        batch.size[i] = state->size[label];
        batch.a_stride[i] = left.stride[label];
        batch.b_stride[i] = right.stride[label];
        batch.c_stride[i] = out->stride[label];
    }
    size_t ldc, n = size_of(state, &step->n);
    collapse(state, out, &step->m, &ldc);
    const sdx_call *call = state->call;
    size_t used = (size_t)(state->scratch - (char *)call->scratch);
    sdx_product_batch(call->host->pool, state->type, size_of(state, &step->m), n,
                      size_of(state, &step->k), a, b, to, ldc, &batch, state->scratch,
                      call->scratch_bytes - used);
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Sizes by label and the expanded terms, as infer found them. That all dims of a label agree is
 * checked here once more: those that are summed over appear in no shape that would tell. */
static sdx_status read_shapes(einsum_state *state, sdx_labels *terms, sdx_labels *output) {
    const sdx_einsum_params *params = state->call->params;
    int32_t widest = 0;
    for (size_t l = 0; l < SDX_EINSUM_LABELS; l++) state->size[l] = 1;
    for (uint32_t t = 0; t < params->term_count; t++) {
        const sdx_tensor *in = sdx_in(state->call, t);
        int32_t dims = 0;
        if (sdx_labels_has(&params->terms[t], SDX_EINSUM_ELLIPSIS))
            dims = in->rank - (params->terms[t].count - 1);
        sdx_einsum_expand(&params->terms[t], dims, &terms[t]);
        if (dims > widest) widest = dims;
        for (int32_t i = 0; i < in->rank; i++) {
            size_t *size = &state->size[terms[t].label[i]], own = (size_t)in->dims[i];
            if (own == 1) continue;
            if (*size != 1 && *size != own)
                return sdx_call_fail(state->call, "dims of one index differ: %zu and %zu", *size,
                                     own);
            *size = own;
        }
    }
    sdx_einsum_expand(&params->output, widest, output);
    return SDX_STATUS_OK;
}

/* An input by label; converted first if its type is not computed as it is. */
static void input_operand(einsum_state *state, uint32_t index, const sdx_labels *term,
                          operand *out) {
    const sdx_tensor *in = sdx_in(state->call, index);
    memset(out, 0, sizeof *out);
    out->labels = *term;
    out->data = in->data;
    if (!sdx_product_direct(in->dtype)) {
        void *wide = take(state, in->count);
        sdx_product_widen(in->dtype, in->data, wide, in->count);
        out->data = wide;
    }
    size_t stride = 1;
    for (int32_t i = in->rank - 1; i >= 0; i--) {
        if (in->dims[i] != 1) out->stride[term->label[i]] += stride; /* += : a diagonal */
        stride *= (size_t)in->dims[i];
    }
}

/* Labels of a lone term that the output lacks, each once. */
static sdx_labels summed_labels(const sdx_labels *term, const sdx_labels *output) {
    sdx_labels sums = {0};
    for (int32_t i = 0; i < term->count; i++)
        if (!sdx_labels_has(output, term->label[i]) && !sdx_labels_has(&sums, term->label[i]))
            sums.label[sums.count++] = term->label[i];
    return sums;
}

/* Term t joins what the terms before it have become; the last one makes the result. Apart, so that its
 * operands are not on the stack together with those of all. */
__attribute__((noinline)) static void multiply_term(einsum_state *state, const sdx_labels *terms,
                                                    uint32_t t, uint32_t count,
                                                    const sdx_labels *output, operand *left,
                                                    void *result) {
    bool keep[SDX_EINSUM_LABELS], last = t + 1 == count;
    sdx_einsum_step step;
    operand right, product;
    const sdx_labels none = {0};
    input_operand(state, t, &terms[t], &right);
    sdx_einsum_keep(terms, count, t, output, keep);
    sdx_einsum_plan(&left->labels, &terms[t], keep, &step);
    if (last && sdx_einsum_direct(&step, output)) {
        dense_operand(state, output, result, &product);
        contract(state, &step, *left, right, &product, result);
        return;
    }
    void *to = take(state, size_of(state, &step.result));
    dense_operand(state, &step.result, to, &product);
    contract(state, &step, *left, right, &product, to);
    if (last) gather(state, &product, output, &none, result);
    *left = product;
}

sdx_status sdx_einsum_run(sdx_call *call) {
    const sdx_einsum_params *params = call->params;
    sdx_tensor *y = sdx_out(call, 0);
    if (y->count == 0) return SDX_STATUS_OK;
    einsum_state state = {.call = call, .scratch = call->scratch};
    state.type = sdx_product_type(y->dtype);
    state.element = sdx_dtype_size(state.type);
    sdx_labels terms[SDX_EINSUM_TERMS], output;
    SDX_TRY(read_shapes(&state, terms, &output));
    void *result = sdx_product_direct(y->dtype) ? y->data : take(&state, y->count);
    operand left;
    input_operand(&state, 0, &terms[0], &left);
    if (params->term_count == 1) {
        sdx_labels sums = summed_labels(&terms[0], &output);
        gather(&state, &left, &output, &sums, result);
    }
    for (uint32_t t = 1; t < params->term_count; t++)
        multiply_term(&state, terms, t, params->term_count, &output, &left, result);
    if (result != y->data) sdx_product_narrow(y->dtype, result, y->data, y->count);
    return SDX_STATUS_OK;
}
