/* reduce.c - the ten Reduce operators in all versions, from one body: adjacent dims of one kind
 * are merged, then each result is folded from contiguous rows (the innermost dim is reduced) or
 * results are folded side by side (it is kept). What a sibling does stands in its `reduce_kind`. */
#include "ops/reduce.h"

#include <math.h>

#include "kernels/kernels.h"
#include "ops/reduce_walk.h"

typedef enum finish { FINISH_NONE, FINISH_MEAN, FINISH_SQRT, FINISH_LOG, FINISH_LOG_SHIFT } finish;

typedef struct reduce_kind {
    sdx_fold fold;
    finish finish;
    int axes_input_since; /* version from which axes are an input */
} reduce_kind;

typedef struct reduce_params {
    bool keepdims, noop, axes_input;
    const int64_t *axes;
    size_t axis_count;
} reduce_params;

static sdx_status reduce_prepare(sdx_prep *prep) {
    const reduce_kind *kind = prep->def->aux;
    reduce_params *params = prep->params;
    SDX_TRY(sdx_attr_get_bool(prep, "keepdims", true, &params->keepdims));
    params->axes_input = prep->version >= kind->axes_input_since;
    if (params->axes_input)
        return sdx_attr_get_bool(prep, "noop_with_empty_axes", false, &params->noop);
    if (prep->node->input_count > 1)
        return sdx_prep_fail(prep, "axes are an attribute before version %d, found an input",
                             kind->axes_input_since);
    SDX_TRY(sdx_attr_get_ints(prep, "axes", &params->axes, &params->axis_count));
    if (params->axis_count > SDX_MAX_RANK)
        return sdx_prep_fail(prep, "axes has %zu entries, more than any tensor has dims",
                             params->axis_count);
    return SDX_STATUS_OK;
}

/* ---- infer ----------------------------------------------------------------------------------- */

/* The axes as plain numbers; false when they are not known yet. */
static bool known_axes(const sdx_infer *inf, int64_t *axes, size_t *count) {
    const reduce_params *params = inf->params;
    *count = params->axis_count;
    for (size_t i = 0; i < params->axis_count; i++) axes[i] = params->axes[i];
    if (!params->axes_input || !sdx_infer_present(inf, 1)) return true;
    sdx_expr contents[SDX_MAX_CONTENTS];
    if (sdx_infer_rank(inf, 1) == 1 && sdx_expr_is(sdx_infer_dim(inf, 1, 0), 0)) return true;
    if (!sdx_infer_contents(inf, 1, contents, SDX_MAX_CONTENTS, count)) return false;
    for (size_t i = 0; i < *count; i++) {
        if (!sdx_expr_is_const(contents[i])) return false;
        axes[i] = sdx_expr_value(contents[i]);
    }
    return true;
}

/* Which dims are reduced. */
static sdx_status reduced_dims(sdx_infer *inf, int32_t rank, const int64_t *axes, size_t count,
                               bool *reduced) {
    const reduce_params *params = inf->params;
    for (int32_t d = 0; d < rank; d++) reduced[d] = count == 0 && !params->noop;
    for (size_t i = 0; i < count; i++) {
        int32_t axis;
        SDX_TRY(sdx_infer_axis(inf, axes[i], rank, &axis));
        if (reduced[axis])
            return sdx_infer_fail(inf, "axis %d occurs twice in axes", axis);
        reduced[axis] = true;
    }
    return SDX_STATUS_OK;
}

/* Output rank where the axes themselves are not known: their number may be. */
static sdx_status shape_without_axes(sdx_infer *inf, int32_t rank) {
    const reduce_params *params = inf->params;
    sdx_expr dims[SDX_MAX_RANK] = {{0}};
    if (params->keepdims) return sdx_infer_set_shape(inf, 0, rank, dims);
    if (sdx_infer_rank(inf, 1) == 1) {
        sdx_expr count = sdx_infer_dim(inf, 1, 0);
        if (sdx_expr_is_const(count) && sdx_expr_value(count) > 0 && sdx_expr_value(count) <= rank)
            return sdx_infer_set_shape(inf, 0, rank - (int32_t)sdx_expr_value(count), dims);
    }
    return sdx_infer_set_shape(inf, 0, -1, NULL);
}

/* A small integer vector folded to one symbolic number, for shape arithmetic. */
static void fold_contents(sdx_infer *inf) {
    const reduce_kind *kind = inf->def->aux;
    sdx_expr contents[SDX_MAX_CONTENTS], result;
    size_t count;
    sdx_fold fold = kind->fold;
    bool order = fold == SDX_FOLD_MAX || fold == SDX_FOLD_MIN;
    if (kind->finish != FINISH_NONE || !sdx_dtypes_has(SDX_T_INDEX, sdx_infer_dtype(inf, 0)) ||
        (fold != SDX_FOLD_SUM && fold != SDX_FOLD_PROD && !order) ||
        !sdx_infer_contents(inf, 0, contents, SDX_MAX_CONTENTS, &count) || (order && count == 0))
        return;
    result = order ? contents[0] : sdx_expr_const(fold == SDX_FOLD_PROD);
    for (size_t i = order ? 1 : 0; i < count; i++) {
        if (fold == SDX_FOLD_SUM)
            result = sdx_inf_add(inf, result, contents[i]);
        else if (fold == SDX_FOLD_PROD)
            result = sdx_inf_mul(inf, result, contents[i]);
        else
            result = (fold == SDX_FOLD_MAX ? sdx_expr_max : sdx_expr_min)(inf->pool, result,
                                                                          contents[i]);
    }
    sdx_infer_set_contents(inf, 0, &result, 1);
}

static sdx_status reduce_infer(sdx_infer *inf) {
    const reduce_params *params = inf->params;
    sdx_infer_set_dtype(inf, 0, sdx_infer_dtype(inf, 0));
    int32_t rank = sdx_infer_rank(inf, 0);
    if (sdx_infer_rank(inf, 1) > 1)
        return sdx_infer_fail(inf, "axes has rank %d, expected 1", sdx_infer_rank(inf, 1));
    if (rank < 0) return sdx_infer_set_shape(inf, 0, -1, NULL);
    int64_t axes[SDX_MAX_CONTENTS];
    size_t count;
    bool reduced[SDX_MAX_RANK];
    if (!known_axes(inf, axes, &count)) return shape_without_axes(inf, rank);
    SDX_TRY(reduced_dims(inf, rank, axes, count, reduced));
    sdx_expr dims[SDX_MAX_RANK];
    int32_t out_rank = 0, kept = 0;
    for (int32_t d = 0; d < rank; d++) {
        kept += !reduced[d];
        if (!reduced[d])
            dims[out_rank++] = sdx_infer_dim(inf, 0, d);
        else if (params->keepdims)
            dims[out_rank++] = sdx_expr_const(1);
    }
    if (kept == 0 && rank <= 1) fold_contents(inf);
    return sdx_infer_set_shape(inf, 0, out_rank, dims);
}

/* ---- run ------------------------------------------------------------------------------------- */

#define CHUNK 128 /* elements converted at a time; also results folded side by side */

typedef struct reduce_job {
    const reduce_kind *kind;
    sdx_dtype dtype;
    const char *in;
    char *out;
    sdx_walk kept, reduced; /* all dims but the innermost */
    size_t inner;           /* length of the innermost … */
    size_t strip, strips;   /* … cut into pieces of this length where it is kept */
    size_t total;           /* elements behind one result */
    bool ints;              /* folded as integers */
} reduce_job;

/* A chunk as int64: uint64 keeps its bits for sums, and is shifted by 2^63 for an ordering. */
static const int64_t *load_ints(const reduce_job *job, size_t at, size_t n, int64_t *buffer) {
#define LOAD_INTS(type)                                                                           \
    do {                                                                                          \
        const type *x = (const type *)(const void *)job->in + at;                                 \
        for (size_t i = 0; i < n; i++) buffer[i] = (int64_t)x[i];                                 \
    } while (0)
    switch (job->dtype) {
    case SDX_DTYPE_INT64: return (const int64_t *)(const void *)job->in + at;
    case SDX_DTYPE_INT8: LOAD_INTS(int8_t); break;
    case SDX_DTYPE_INT16: LOAD_INTS(int16_t); break;
    case SDX_DTYPE_INT32: LOAD_INTS(int32_t); break;
    case SDX_DTYPE_UINT16: LOAD_INTS(uint16_t); break;
    case SDX_DTYPE_UINT32: LOAD_INTS(uint32_t); break;
    case SDX_DTYPE_UINT64: LOAD_INTS(uint64_t); break;
    default: LOAD_INTS(uint8_t); break; /* bool too */
    }
    if (job->dtype == SDX_DTYPE_UINT64 && job->kind->fold >= SDX_FOLD_MAX)
        for (size_t i = 0; i < n; i++) buffer[i] = (int64_t)((uint64_t)buffer[i] ^ (1ull << 63));
    return buffer;
}

/* A chunk of any type but float32 and float64 as float32 (small floats) or double (integers). */
static void load_doubles(const reduce_job *job, size_t at, size_t n, double *buffer) {
    const char *x = job->in + at * sdx_dtype_size(job->dtype);
    if (sdx_dtypes_has(SDX_T_FLOATS, job->dtype)) {
        float narrow[CHUNK];
        sdx_to_f32(job->dtype, x, narrow, n);
        for (size_t i = 0; i < n; i++) buffer[i] = (double)narrow[i];
        return;
    }
    int64_t ints[CHUNK];
    const int64_t *from = load_ints(job, at, n, ints);
    bool wide = job->dtype == SDX_DTYPE_UINT64; /* only for exponentials: never shifted */
    for (size_t i = 0; i < n; i++)
        buffer[i] = wide ? (double)(uint64_t)from[i] : (double)from[i];
}

static double fold_row(const reduce_job *job, sdx_fold fold, size_t at, double acc, double shift) {
    if (job->dtype == SDX_DTYPE_FLOAT32 && fold == SDX_FOLD_SUM) {
        double sum;
        SDX_KERNEL_OF(sdx_kernels_get(), f32_sum)((const float *)(const void *)job->in + at, job->inner, &sum);
        return acc + sum;
    }
    if (job->dtype == SDX_DTYPE_FLOAT32)
        return sdx_fold_row_f32(fold, (const float *)(const void *)job->in + at, job->inner, acc,
                                shift);
    if (job->dtype == SDX_DTYPE_FLOAT64)
        return sdx_fold_row_f64(fold, (const double *)(const void *)job->in + at, job->inner, acc,
                                shift);
    double buffer[CHUNK];
    for (size_t i = 0; i < job->inner; i += CHUNK) {
        size_t n = job->inner - i < CHUNK ? job->inner - i : CHUNK;
        load_doubles(job, at + i, n, buffer);
        acc = sdx_fold_row_f64(fold, buffer, n, acc, shift);
    }
    return acc;
}

static void fold_strip(const reduce_job *job, sdx_fold fold, size_t at, size_t n, double *acc,
                       const double *shift) {
    double buffer[CHUNK];
    if (job->dtype == SDX_DTYPE_FLOAT32) {
        sdx_fold_strip_f32(fold, (const float *)(const void *)job->in + at, n, acc, shift);
    } else if (job->dtype == SDX_DTYPE_FLOAT64) {
        sdx_fold_strip_f64(fold, (const double *)(const void *)job->in + at, n, acc, shift);
    } else {
        load_doubles(job, at, n, buffer);
        sdx_fold_strip_f64(fold, buffer, n, acc, shift);
    }
}

/* ---- results --------------------------------------------------------------------------------- */

static int64_t whole(double value) { /* toward zero, held inside the type; NaN becomes 0 */
    if (value != value) return 0;
    if (value <= -9223372036854775808.0) return INT64_MIN;
    return value >= 9223372036854775808.0 ? INT64_MAX : (int64_t)value;
}

static void store_int(const reduce_job *job, size_t o, int64_t value) {
    switch (sdx_dtype_size(job->dtype)) {
    case 1: ((uint8_t *)job->out)[o] = (uint8_t)value; break;
    case 2: ((uint16_t *)(void *)job->out)[o] = (uint16_t)value; break;
    case 4: ((uint32_t *)(void *)job->out)[o] = (uint32_t)value; break;
    default: ((uint64_t *)(void *)job->out)[o] = (uint64_t)value; break;
    }
}

static void store_double(const reduce_job *job, size_t o, double value, double shift) {
    switch (job->kind->finish) {
    case FINISH_MEAN: value /= (double)job->total; break;
    case FINISH_SQRT: value = sqrt(value); break;
    case FINISH_LOG: value = log(value); break;
    case FINISH_LOG_SHIFT: value = log(value) + shift; break;
    case FINISH_NONE: break;
    }
    void *out = job->out;
    switch (job->dtype) {
    case SDX_DTYPE_FLOAT32: ((float *)out)[o] = (float)value; break;
    case SDX_DTYPE_FLOAT64: ((double *)out)[o] = value; break;
    case SDX_DTYPE_FLOAT16: ((uint16_t *)out)[o] = sdx_f64_to_f16(value); break;
    case SDX_DTYPE_BFLOAT16: ((uint16_t *)out)[o] = sdx_f64_to_bf16(value); break;
    default: store_int(job, o, whole(value)); break;
    }
}

/* An integer result; roots and logarithms go through double, as in the definition by Sqrt, Log. */
static void finish_int(const reduce_job *job, size_t o, int64_t value) {
    bool wide = job->dtype == SDX_DTYPE_UINT64;
    if (job->kind->finish == FINISH_MEAN) {
        if (job->total == 0) value = 0;
        else if (wide) value = (int64_t)((uint64_t)value / job->total);
        else value /= (int64_t)job->total;
    } else if (job->kind->finish != FINISH_NONE) {
        store_double(job, o, wide ? (double)(uint64_t)value : (double)value, 0);
        return;
    } else if (wide && job->kind->fold >= SDX_FOLD_MAX) {
        value = (int64_t)((uint64_t)value ^ (1ull << 63));
    }
    store_int(job, o, value);
}

/* Neutral element of an integer fold: for MAX and MIN the end of the type's range. */
static int64_t int_start(const reduce_job *job) {
    sdx_fold fold = job->kind->fold;
    if (fold < SDX_FOLD_MAX) return fold == SDX_FOLD_PROD;
    bool max = fold == SDX_FOLD_MAX;
    unsigned bits = (unsigned)(8 * sdx_dtype_size(job->dtype));
    if (job->dtype == SDX_DTYPE_BOOL) return max ? 0 : 1;
    if (bits == 64) return max ? INT64_MIN : INT64_MAX; /* uint64 is shifted */
    if (sdx_dtypes_has(SDX_T_UNSIGNED, job->dtype)) return max ? 0 : ((int64_t)1 << bits) - 1;
    return max ? -((int64_t)1 << (bits - 1)) : ((int64_t)1 << (bits - 1)) - 1;
}

/* A sum of exponentials is shifted by the maximum; not by an infinite one, which would make NaN. */
static double usable_shift(double max) { return isfinite(max) ? max : 0; }

/* ---- bodies ---------------------------------------------------------------------------------- */

/* Results [begin, end), each folded from rows. */
static void rows_body(void *arg, size_t begin, size_t end) {
    const reduce_job *job = arg;
    sdx_walk kept = job->kept, reduced = job->reduced;
    sdx_fold fold = job->kind->fold;
    size_t rows = sdx_walk_count(&reduced);
    int64_t buffer[CHUNK];
    if (begin < end) sdx_walk_start(&kept, begin);
    if (rows > 0) sdx_walk_start(&reduced, 0);
    for (size_t o = begin; o < end; o++, sdx_walk_next(&kept)) {
        if (job->ints) {
            int64_t acc = int_start(job);
            for (size_t r = 0; r < rows; r++, sdx_walk_next(&reduced))
                for (size_t i = 0; i < job->inner; i += CHUNK) {
                    size_t n = job->inner - i < CHUNK ? job->inner - i : CHUNK;
                    const int64_t *x = load_ints(job, kept.at + reduced.at + i, n, buffer);
                    acc = sdx_fold_row_i64(fold, x, n, acc);
                }
            finish_int(job, o, acc);
            continue;
        }
        double shift = 0, acc = sdx_fold_start(fold);
        if (fold == SDX_FOLD_EXP) {
            shift = sdx_fold_start(SDX_FOLD_MAX);
            for (size_t r = 0; r < rows; r++, sdx_walk_next(&reduced))
                shift = fold_row(job, SDX_FOLD_MAX, kept.at + reduced.at, shift, 0);
            shift = usable_shift(shift);
        }
        for (size_t r = 0; r < rows; r++, sdx_walk_next(&reduced))
            acc = fold_row(job, fold, kept.at + reduced.at, acc, shift);
        store_double(job, o, acc, shift);
    }
}

/* One strip of n results side by side. */
static void strip_doubles(const reduce_job *job, sdx_walk *reduced, size_t rows, size_t at,
                          size_t n, size_t o) {
    sdx_fold fold = job->kind->fold;
    double acc[CHUNK], shift[CHUNK];
    if (fold == SDX_FOLD_SUM && job->dtype == SDX_DTYPE_FLOAT32 && reduced->rank == 1) {
        SDX_KERNEL_OF(sdx_kernels_get(), f32_column_sums)((const float *)(const void *)job->in + at, rows,
                                           reduced->stride[0], n, acc);
        for (size_t i = 0; i < n; i++) store_double(job, o + i, acc[i], 0);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        acc[i] = sdx_fold_start(fold);
        shift[i] = sdx_fold_start(SDX_FOLD_MAX);
    }
    if (fold == SDX_FOLD_EXP)
        for (size_t r = 0; r < rows; r++, sdx_walk_next(reduced))
            fold_strip(job, SDX_FOLD_MAX, at + reduced->at, n, shift, NULL);
    for (size_t i = 0; i < n; i++) shift[i] = usable_shift(shift[i]);
    for (size_t r = 0; r < rows; r++, sdx_walk_next(reduced))
        fold_strip(job, fold, at + reduced->at, n, acc, shift);
    for (size_t i = 0; i < n; i++) store_double(job, o + i, acc[i], shift[i]);
}

static void strip_ints(const reduce_job *job, sdx_walk *reduced, size_t rows, size_t at, size_t n,
                       size_t o) {
    int64_t acc[CHUNK], buffer[CHUNK];
    for (size_t i = 0; i < n; i++) acc[i] = int_start(job);
    for (size_t r = 0; r < rows; r++, sdx_walk_next(reduced))
        sdx_fold_strip_i64(job->kind->fold, load_ints(job, at + reduced->at, n, buffer), n, acc);
    for (size_t i = 0; i < n; i++) finish_int(job, o + i, acc[i]);
}

/* Strips [begin, end), numbered along the innermost dim first. */
static void strips_body(void *arg, size_t begin, size_t end) {
    const reduce_job *job = arg;
    sdx_walk kept = job->kept, reduced = job->reduced;
    size_t rows = sdx_walk_count(&reduced), outer = begin / job->strips;
    size_t strip = begin % job->strips;
    sdx_walk_start(&kept, outer);
    if (rows > 0) sdx_walk_start(&reduced, 0);
    for (size_t s = begin; s < end; s++) {
        size_t at = strip * job->strip;
        size_t n = job->inner - at < job->strip ? job->inner - at : job->strip;
        (job->ints ? strip_ints : strip_doubles)(job, &reduced, rows, kept.at + at, n,
                                                 outer * job->inner + at);
        if (++strip < job->strips) continue;
        strip = 0;
        outer++;
        sdx_walk_next(&kept);
    }
}

/* ---- plan ------------------------------------------------------------------------------------ */

/* Sorts the dims into kept and reduced ones, merging neighbours of a kind; the innermost goes to
 * job->inner. Returns whether that is a kept one. */
static bool plan_dims(reduce_job *job, const sdx_tensor *in, const bool *reduced) {
    size_t stride = 1;
    bool first = true, inner_kept = false, last_kept = false;
    sdx_walk kept = {0}, gone = {0}; /* innermost dim first; turned round below */
    for (int32_t d = in->rank - 1; d >= 0; d--) {
        size_t size = (size_t)in->dims[d];
        if (size == 1) continue;
        bool is_kept = !reduced[d];
        sdx_walk *walk = is_kept ? &kept : &gone;
        if (first)
            inner_kept = is_kept;
        if (!first && is_kept == last_kept)
            walk->size[walk->rank - 1] *= size;
        else
            sdx_walk_push(walk, size, stride);
        first = false;
        last_kept = is_kept;
        stride *= size;
    }
    sdx_walk *inner = inner_kept ? &kept : &gone;
    job->inner = inner->rank > 0 ? inner->size[0] : 1;
    for (int32_t d = kept.rank - 1; d >= (inner_kept ? 1 : 0); d--)
        sdx_walk_push(&job->kept, kept.size[d], kept.stride[d]);
    for (int32_t d = gone.rank - 1; d >= (!inner_kept && gone.rank > 0 ? 1 : 0); d--)
        sdx_walk_push(&job->reduced, gone.size[d], gone.stride[d]);
    return inner_kept;
}

static sdx_status run_axes(sdx_call *call, const sdx_tensor *in, bool *reduced) {
    const reduce_params *params = call->params;
    const sdx_tensor *input = params->axes_input ? sdx_in(call, 1) : NULL;
    size_t count = input ? input->count : params->axis_count;
    for (int32_t d = 0; d < in->rank; d++) reduced[d] = count == 0 && !params->noop;
    for (size_t i = 0; i < count; i++) {
        int64_t axis = input ? sdx_tensor_int(input, i) : params->axes[i];
        SDX_TRY(sdx_call_index(call, axis, in->rank, "axis", &axis));
        reduced[axis] = true;
    }
    return SDX_STATUS_OK;
}

static sdx_status reduce_run(sdx_call *call) {
    const reduce_kind *kind = call->def->aux;
    const sdx_tensor *in = sdx_in(call, 0);
    sdx_tensor *out = sdx_out(call, 0);
    if (out->count == 0) return SDX_STATUS_OK;
    bool reduced[SDX_MAX_RANK] = {false};
    SDX_TRY(run_axes(call, in, reduced));
    reduce_job job = {.kind = kind, .dtype = in->dtype, .in = in->data, .out = out->data};
    /* A uint64 is folded by its bits, where the top one is no sign. */
    static const reduce_kind plain_sum = {SDX_FOLD_SUM, FINISH_NONE, 0};
    if (in->dtype == SDX_DTYPE_UINT64 && kind->fold == SDX_FOLD_ABS) job.kind = &plain_sum;
    job.total = in->count / out->count;
    job.ints = !sdx_dtypes_has(SDX_T_FLOATS, in->dtype) && kind->fold != SDX_FOLD_EXP;
    if (plan_dims(&job, in, reduced)) {
        /* Narrow where columns are long, so that even few of them are several threads' work. */
        job.strip = job.total >= 256 ? CHUNK / 4 : CHUNK;
        job.strips = (job.inner + job.strip - 1) / job.strip;
        size_t work = (job.inner < job.strip ? job.inner : job.strip) * (job.total + 1);
        sdx_call_parallel(call, sdx_walk_count(&job.kept) * job.strips, 32768 / work + 1,
                          strips_body, &job);
    } else {
        sdx_call_parallel(call, out->count, 32768 / (job.total + 1) + 1, rows_body, &job);
    }
    return SDX_STATUS_OK;
}

/* ---- the operators --------------------------------------------------------------------------- */

#define REDUCE_TYPES (SDX_T_FLOATS | SDX_T_INDEX | SDX_T(UINT32) | SDX_T(UINT64))
#define REDUCE(name, types, fold_, finish_, since)                                                \
    static const reduce_kind name##_kind = {fold_, finish_, since};                               \
    const sdx_op_def sdx_op_##name = {                                                            \
        .min_in = 1, .max_in = 2, .min_out = 1, .max_out = 1,                                     \
        .in_types = {types, SDX_T(INT64)},                                                        \
        .params_size = sizeof(reduce_params),                                                     \
        .prepare = reduce_prepare,                                                                \
        .infer = reduce_infer,                                                                    \
        .run = SDX_BODY(sdx_op_##name, reduce_run),                                               \
        .aux = &name##_kind,                                                                      \
    }

#define ORDER_TYPES (REDUCE_TYPES | SDX_T(UINT8) | SDX_T(INT8) | SDX_T(BOOL))
REDUCE(reduce_sum, REDUCE_TYPES, SDX_FOLD_SUM, FINISH_NONE, 13);
REDUCE(reduce_mean, REDUCE_TYPES, SDX_FOLD_SUM, FINISH_MEAN, 18);
REDUCE(reduce_max, ORDER_TYPES, SDX_FOLD_MAX, FINISH_NONE, 18);
REDUCE(reduce_min, ORDER_TYPES, SDX_FOLD_MIN, FINISH_NONE, 18);
REDUCE(reduce_prod, REDUCE_TYPES, SDX_FOLD_PROD, FINISH_NONE, 18);
REDUCE(reduce_sum_square, REDUCE_TYPES, SDX_FOLD_SQUARE, FINISH_NONE, 18);
REDUCE(reduce_l1, REDUCE_TYPES, SDX_FOLD_ABS, FINISH_NONE, 18);
REDUCE(reduce_l2, REDUCE_TYPES, SDX_FOLD_SQUARE, FINISH_SQRT, 18);
REDUCE(reduce_log_sum, REDUCE_TYPES, SDX_FOLD_SUM, FINISH_LOG, 18);
REDUCE(reduce_log_sum_exp, REDUCE_TYPES, SDX_FOLD_EXP, FINISH_LOG_SHIFT, 18);
