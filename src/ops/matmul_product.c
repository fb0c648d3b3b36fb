/* matmul_product.c - the products of matmul.h: float types go to kernels/gemm, integers to a loop
 * over rows that wraps as ONNX's integers do; batches are spread over the threads either inside a
 * product or across products, whichever is the larger unit of work. */
#include "ops/matmul.h"

#include <string.h>

sdx_dtype sdx_product_type(sdx_dtype dtype) {
    switch (dtype) {
    case SDX_DTYPE_FLOAT64: return SDX_DTYPE_FLOAT64;
    case SDX_DTYPE_INT64:
    case SDX_DTYPE_UINT64: return SDX_DTYPE_UINT64;
    case SDX_DTYPE_INT8:
    case SDX_DTYPE_UINT8:
    case SDX_DTYPE_INT16:
    case SDX_DTYPE_UINT16:
    case SDX_DTYPE_INT32:
    case SDX_DTYPE_UINT32: return SDX_DTYPE_UINT32;
    default: return SDX_DTYPE_FLOAT32;
    }
}

bool sdx_product_direct(sdx_dtype dtype) {
    return sdx_dtype_size(dtype) == sdx_dtype_size(sdx_product_type(dtype));
}

#define WIDEN(type)                                                                               \
    do {                                                                                          \
        const type *from = in;                                                                    \
        uint32_t *to = out;                                                                       \
        for (size_t i = 0; i < count; i++) to[i] = (uint32_t)(int32_t)from[i];                    \
    } while (0)
#define NARROW(type)                                                                              \
    do {                                                                                          \
        const uint32_t *from = in;                                                                \
        type *to = out;                                                                           \
        for (size_t i = 0; i < count; i++) to[i] = (type)from[i];                                 \
    } while (0)

void sdx_product_widen(sdx_dtype dtype, const void *in, void *out, size_t count) {
    if (count == 0) return;
    switch (dtype) {
    case SDX_DTYPE_FLOAT16:
    case SDX_DTYPE_BFLOAT16: sdx_to_f32(dtype, in, out, count); break;
    case SDX_DTYPE_INT8: WIDEN(int8_t); break;
    case SDX_DTYPE_UINT8: WIDEN(uint8_t); break;
    case SDX_DTYPE_INT16: WIDEN(int16_t); break;
    case SDX_DTYPE_UINT16: WIDEN(uint16_t); break;
    default: memcpy(out, in, count * sdx_dtype_size(dtype)); break;
    }
}

void sdx_product_narrow(sdx_dtype dtype, const void *in, void *out, size_t count) {
    if (count == 0) return;
    switch (dtype) {
    case SDX_DTYPE_FLOAT16:
    case SDX_DTYPE_BFLOAT16: sdx_from_f32(dtype, in, out, count); break;
    case SDX_DTYPE_INT8: /* the low bits are the same either way */
    case SDX_DTYPE_UINT8: NARROW(uint8_t); break;
    case SDX_DTYPE_INT16:
    case SDX_DTYPE_UINT16: NARROW(uint16_t); break;
    default: memcpy(out, in, count * sdx_dtype_size(dtype)); break;
    }
}

/* ---- integers -------------------------------------------------------------------------------- */

typedef struct int_job {
    size_t n, k, ldc;
    sdx_matrix a, b;
    void *c;
    bool accumulate;
} int_job;

/* Rows [begin, end) of C: each row of B, scaled, is added to the row of C. */
#define INT_ROWS(name, type)                                                                      \
    static void name(void *arg, size_t begin, size_t end) {                                       \
        const int_job *job = arg;                                                                 \
        const type *a = job->a.data, *b = job->b.data;                                            \
        size_t n = job->n, col = job->b.col;                                                      \
        for (size_t i = begin; i < end; i++) {                                                    \
            type *restrict c = (type *)job->c + i * job->ldc;                                     \
            if (!job->accumulate) memset(c, 0, n * sizeof(type));                                 \
            for (size_t p = 0; p < job->k; p++) {                                                 \
                type x = a[i * job->a.row + p * job->a.col];                                      \
                const type *row = b + p * job->b.row;                                             \
                if (col == 1)                                                                     \
                    for (size_t j = 0; j < n; j++) c[j] += x * row[j];                            \
                else                                                                              \
                    for (size_t j = 0; j < n; j++) c[j] += x * row[j * col];                      \
            }                                                                                     \
        }                                                                                         \
    }
INT_ROWS(u32_rows, uint32_t)
INT_ROWS(u64_rows, uint64_t)

/* ---- one product ----------------------------------------------------------------------------- */

void sdx_product(sdx_pool *pool, sdx_dtype type, size_t m, size_t n, size_t k, sdx_matrix a,
                 sdx_matrix b, void *c, size_t ldc, bool accumulate, void *scratch) {
    if (type == SDX_DTYPE_FLOAT32) {
        sdx_f32_gemm_strided(pool, m, n, k, (sdx_f32_matrix){a.data, a.row, a.col},
                             (sdx_f32_matrix){b.data, b.row, b.col}, c, ldc, accumulate, scratch);
    } else if (type == SDX_DTYPE_FLOAT64) {
        sdx_f64_gemm_strided(pool, m, n, k, (sdx_f64_matrix){a.data, a.row, a.col},
                             (sdx_f64_matrix){b.data, b.row, b.col}, c, ldc, accumulate, scratch);
    } else if (m > 0 && n > 0) {
        int_job job = {n, k, ldc, a, b, c, accumulate};
        sdx_parallel_for(pool, m, ((size_t)1 << 16) / (n * k + 1) + 1,
                         type == SDX_DTYPE_UINT64 ? u64_rows : u32_rows, &job);
    }
}

size_t sdx_product_scratch(sdx_dtype type, size_t m, size_t n, size_t k) {
    if (type == SDX_DTYPE_FLOAT32) return sdx_f32_gemm_scratch(m, n, k);
    return type == SDX_DTYPE_FLOAT64 ? sdx_f64_gemm_scratch(m, n, k) : 0;
}

/* ---- batches --------------------------------------------------------------------------------- */

/* Below this many multiply-adds a product is one thread's work, if there are several of them. */
#define LARGE_PRODUCT ((size_t)1 << 20)
/* Products that run at the same time, each with a part of the scratch memory, and how much of it
 * they may take together before fewer run at a time. */
#define MAX_SLOTS 16
#define SLOTS_BYTES ((int64_t)2 << 20)

typedef struct batch_job {
    sdx_dtype type;
    size_t m, n, k, ldc, element;
    sdx_matrix a, b;
    void *c;
    const sdx_batch *batch;
    size_t count, slots, slot_bytes;
    void *scratch;
    sdx_pool *pool; /* for the product itself; NULL when the batch is what runs in parallel */
} batch_job;

/* Products [begin, end) of the batch, in order. */
static void run_products(const batch_job *job, size_t begin, size_t end, void *scratch) {
    const sdx_batch *batch = job->batch;
    size_t index[SDX_MAX_RANK], rest = begin, a_at = 0, b_at = 0, c_at = 0;
    for (int32_t d = batch->rank - 1; d >= 0; d--) {
        index[d] = rest % batch->size[d];
        rest /= batch->size[d];
        a_at += index[d] * batch->a_stride[d];
        b_at += index[d] * batch->b_stride[d];
        c_at += index[d] * batch->c_stride[d];
    }
    for (size_t i = begin; i < end; i++) {
        sdx_matrix a = job->a, b = job->b;
        a.data = (const char *)a.data + a_at * job->element;
        b.data = (const char *)b.data + b_at * job->element;
        sdx_product(job->pool, job->type, job->m, job->n, job->k, a, b,
                    (char *)job->c + c_at * job->element, job->ldc, false, scratch);
        for (int32_t d = batch->rank - 1; d >= 0; d--) {
            a_at += batch->a_stride[d];
            b_at += batch->b_stride[d];
            c_at += batch->c_stride[d];
            if (++index[d] < batch->size[d]) break;
            a_at -= batch->a_stride[d] * batch->size[d];
            b_at -= batch->b_stride[d] * batch->size[d];
            c_at -= batch->c_stride[d] * batch->size[d];
            index[d] = 0;
        }
    }
}

static void run_slots(void *arg, size_t begin, size_t end) {
    const batch_job *job = arg;
    for (size_t s = begin; s < end; s++) {
        size_t each = job->count / job->slots, more = job->count % job->slots;
        size_t first = s * each + (s < more ? s : more);
        run_products(job, first, first + each + (s < more ? 1 : 0),
                     (char *)job->scratch + s * job->slot_bytes);
    }
}

void sdx_product_batch(sdx_pool *pool, sdx_dtype type, size_t m, size_t n, size_t k, sdx_matrix a,
                       sdx_matrix b, void *c, size_t ldc, const sdx_batch *batch, void *scratch,
                       size_t scratch_bytes) {
    size_t count = 1;
    for (int32_t d = 0; d < batch->rank; d++) count *= batch->size[d];
    if (count == 0 || m == 0 || n == 0) return;
    batch_job job = {.type = type, .m = m, .n = n, .k = k, .ldc = ldc, .a = a, .b = b, .c = c};
    job.element = sdx_dtype_size(type);
    job.batch = batch;
    job.count = count;
    job.scratch = scratch;
    job.slot_bytes = sdx_scratch_part(sdx_product_scratch(type, m, n, k));
    job.slots = job.slot_bytes > 0 ? scratch_bytes / job.slot_bytes : MAX_SLOTS;
    if (job.slots > MAX_SLOTS) job.slots = MAX_SLOTS;
    if (job.slots > count) job.slots = count;
    size_t work = m * n * (k > 0 ? k : 1); /* fits: C and A were allocated, this may wrap */
    bool large = work >= LARGE_PRODUCT || work / m / n != (k > 0 ? k : 1);
    if (job.slots < 2 || large) {
        job.pool = pool;
        run_products(&job, 0, count, scratch);
    } else {
        size_t each = work * (count / job.slots);
        sdx_parallel_for(pool, job.slots, ((size_t)1 << 16) / (each + 1) + 1, run_slots, &job);
    }
}

/* ---- scratch --------------------------------------------------------------------------------- */

static sdx_expr constant(size_t value) { return sdx_expr_const((int64_t)value); }

sdx_expr sdx_infer_scratch_part(sdx_infer *inf, sdx_expr count, size_t element) {
    sdx_expr bytes = sdx_inf_mul(inf, count, constant(element));
    return sdx_inf_add(inf, bytes, constant(SDX_CACHE_LINE));
}

sdx_expr sdx_infer_product_scratch(sdx_infer *inf, sdx_dtype type, sdx_expr m, sdx_expr n,
                                   sdx_expr k) {
    if (type != SDX_DTYPE_FLOAT32 && type != SDX_DTYPE_FLOAT64) return sdx_expr_const(0);
    /* Past 2^40 the exact formula could wrap; the symbolic one then ends up as unknown. */
    if (sdx_expr_is_const(m) && sdx_expr_is_const(n) && sdx_expr_is_const(k) &&
        sdx_expr_value(k) < (int64_t)1 << 40)
        return constant(sdx_scratch_part(sdx_product_scratch(type, (size_t)sdx_expr_value(m),
                                                             (size_t)sdx_expr_value(n),
                                                             (size_t)sdx_expr_value(k))));
    /* The panels' rounding is at most a tile's height and width, under 16 each. */
    sdx_expr_pool *pool = inf->pool;
    sdx_expr rows = sdx_expr_min(pool, m, constant(SDX_GEMM_MC));
    sdx_expr columns = sdx_expr_min(pool, n, constant(SDX_GEMM_NC));
    sdx_expr panels = sdx_inf_add(inf, sdx_inf_add(inf, rows, columns), constant(32));
    sdx_expr packed = sdx_inf_mul(inf, panels, sdx_expr_min(pool, k, constant(SDX_GEMM_KC)));
    sdx_expr skinny = sdx_inf_mul(inf, k, constant(SDX_GEMM_SKINNY));
    sdx_expr elements = sdx_expr_max(pool, packed, skinny);
    sdx_expr bytes = sdx_inf_mul(inf, elements, constant(sdx_dtype_size(type)));
    return sdx_inf_add(inf, bytes, constant(256));
}

sdx_expr sdx_infer_batch_scratch(sdx_infer *inf, sdx_dtype type, sdx_expr batch, sdx_expr m,
                                 sdx_expr n, sdx_expr k) {
    sdx_expr one = sdx_infer_product_scratch(inf, type, m, n, k);
    if (sdx_expr_is(batch, 1)) return one;
    sdx_expr all = sdx_inf_mul(inf, one, sdx_expr_min(inf->pool, batch, constant(MAX_SLOTS)));
    sdx_expr bound = sdx_expr_max(inf->pool, one, sdx_expr_const(SLOTS_BYTES));
    return sdx_expr_max(inf->pool, one, sdx_expr_min(inf->pool, all, bound));
}
