/* rnn_run.c - runs RNN, GRU and LSTM: finds sizes and memory, converts small floats to float32
 * and back, and walks the directions with the cells of rnn_cells.h, made for float and double. */
#include "ops/rnn.h"

#include <assert.h>
#include <math.h>

#include "kernels/matrix.h"
#include "kernels/vexp.h"

/* Operands in the computed type, and the parts of the scratch memory. */
typedef struct rnn_memory {
    sdx_rnn_sizes sizes;
    const sdx_rnn_params *params;
    const void *in[8]; /* by SDX_RNN_*; NULL: left out */
    const int32_t *lengths;
    void *out[3];
    const sdx_rnn_matrices *packed; /* by direction; NULL: W and R as they lie */
    void *gates, *bias, *h, *c, *extra, *step, *scratch;
    sdx_pool *pool;
} rnn_memory;

static void sigmoid_f64(const double *in, double *out, size_t n) {
    for (size_t i = 0; i < n; i++) out[i] = 1 / (1 + exp(-in[i]));
}
static void tanh_f64(const double *in, double *out, size_t n) {
    for (size_t i = 0; i < n; i++) out[i] = tanh(in[i]);
}

/* out = from (or nothing) + x times a packed matrix and what it has for a bias. */
static void f32_packed_product(sdx_pool *pool, size_t rows, size_t depth, size_t columns,
                               const float *packed, const float *x, const float *from,
                               size_t from_row, float *out, size_t out_row) {
    const sdx_tail tail = {.addend = from, .addend_stride = from_row};
    sdx_matrix_run_apart(pool, rows, depth, columns, packed, x, out, out_row, &tail);
}
/* float32 alone is packed. */
static void f64_packed_product(sdx_pool *pool, size_t rows, size_t depth, size_t columns,
                               const float *packed, const double *x, const double *from,
                               size_t from_row, double *out, size_t out_row) {
    (void)pool, (void)rows, (void)depth, (void)columns, (void)x, (void)from, (void)from_row;
    (void)out, (void)out_row, (void)packed;
    assert(packed == NULL);
}

#define T float
#define TYPE SDX_DTYPE_FLOAT32
#define LOCAL(x) f32_##x
#define SIGMOID sdx_f32_sigmoid
#define TANH sdx_f32_tanh
#include "ops/rnn_cells.h"
#undef T
#undef TYPE
#undef LOCAL
#undef SIGMOID
#undef TANH

#define T double
#define TYPE SDX_DTYPE_FLOAT64
#define LOCAL(x) f64_##x
#define SIGMOID sigmoid_f64
#define TANH tanh_f64
#include "ops/rnn_cells.h"

static void *take(char **scratch, size_t count, size_t element) {
    void *part = *scratch;
    *scratch += sdx_scratch_part(count * element);
    return part;
}

static sdx_status check_lengths(sdx_call *call, const rnn_memory *memory) {
    for (size_t b = 0; b < memory->sizes.batch && memory->lengths; b++)
        if (memory->lengths[b] < 0 || (size_t)memory->lengths[b] > memory->sizes.time)
            return sdx_call_fail(call, "sequence_lens[%zu] is %ld, expected 0 to %zu", b,
                                 (long)memory->lengths[b], memory->sizes.time);
    return SDX_STATUS_OK;
}

static void read_sizes(const sdx_call *call, rnn_memory *memory) {
    const sdx_rnn_kind *kind = call->def->aux;
    const sdx_tensor *x = sdx_in(call, SDX_RNN_X), *r = sdx_in(call, SDX_RNN_R);
    sdx_rnn_sizes *s = &memory->sizes;
    bool batch_first = memory->params->batch_first;
    s->time = (size_t)x->dims[batch_first ? 1 : 0];
    s->batch = (size_t)x->dims[batch_first ? 0 : 1];
    s->input = (size_t)x->dims[2];
    s->hidden = (size_t)r->dims[2];
    s->directions = (size_t)r->dims[0];
    s->gates = (size_t)kind->gates;
    s->chunk = s->batch > 0 ? SDX_RNN_CHUNK_ROWS / s->batch : 1;
    if (s->chunk == 0) s->chunk = 1;
    if (batch_first || s->chunk > s->time) s->chunk = s->time;
}

/* Points in and out at the tensors, or at float32 copies of them. */
static void bind_operands(sdx_call *call, rnn_memory *memory, char **scratch, bool direct) {
    for (uint32_t i = 0; i < 8; i++) {
        const sdx_tensor *in = sdx_in(call, i);
        if (in == NULL || i == SDX_RNN_LENGTHS) continue;
        memory->in[i] = in->data;
        if (direct) continue;
        void *wide = take(scratch, in->count, sizeof(float));
        sdx_product_widen(in->dtype, in->data, wide, in->count);
        memory->in[i] = wide;
    }
    const sdx_tensor *lengths = sdx_in(call, SDX_RNN_LENGTHS);
    memory->lengths = lengths ? lengths->data : NULL;
    for (uint32_t o = 0; o < 3; o++) {
        const sdx_tensor *out = sdx_out(call, o);
        if (out == NULL) continue;
        memory->out[o] = direct ? out->data : take(scratch, out->count, sizeof(float));
    }
}

sdx_status sdx_rnn_run(sdx_call *call) {
    const sdx_rnn_kind *kind = call->def->aux;
    const sdx_tensor *x = sdx_in(call, SDX_RNN_X);
    rnn_memory memory = {.params = call->params, .packed = call->packed, .pool = call->host->pool};
    bool direct = sdx_product_direct(x->dtype);
    char *scratch = call->scratch;
    read_sizes(call, &memory);
    bind_operands(call, &memory, &scratch, direct);
    SDX_TRY(check_lengths(call, &memory));
    const sdx_rnn_sizes *s = &memory.sizes;
    size_t size = sdx_dtype_size(sdx_product_type(x->dtype)), state = s->batch * s->hidden;
    if (state == 0) return SDX_STATUS_OK;
    memory.gates = take(&scratch, s->chunk * s->batch * s->gates * s->hidden, size);
    memory.bias = take(&scratch, s->gates * s->hidden, size);
    memory.h = take(&scratch, state, size);
    memory.c = take(&scratch, state, size);
    memory.extra = take(&scratch, state, size);
    memory.step = take(&scratch, s->batch * s->gates * s->hidden, size);
    memory.scratch = scratch;
    for (size_t d = 0; d < s->directions; d++) {
        if (x->dtype == SDX_DTYPE_FLOAT64)
            f64_direction(&memory, kind, d);
        else
            f32_direction(&memory, kind, d);
    }
    for (uint32_t o = 0; o < 3 && !direct; o++) {
        sdx_tensor *out = sdx_out(call, o);
        if (out != NULL) sdx_product_narrow(out->dtype, memory.out[o], out->data, out->count);
    }
    return SDX_STATUS_OK;
}
