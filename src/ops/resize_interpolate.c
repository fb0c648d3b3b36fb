/* resize_interpolate.c - Resize in the modes linear and cubic: one pass per axis that changes, on
 * one slice of the tensor after the other. Axes before the first that changes count slices, axes
 * behind the last make the elements wider. float32 and float64 are computed as they are, complex
 * numbers part by part, integers in float64 and rounded at the end. */
#include <math.h>
#include <string.h>

#include "kernels/kernels.h"
#include "ops/elementwise.h"
#include "ops/resize.h"

typedef struct job {
    const sdx_resize_axis *axes;
    int32_t order[SDX_MAX_RANK], passes; /* axes that change, in the order of the passes */
    int32_t first, end;                  /* they lie in [first, end) */
    size_t slices, width;                /* width: elements behind the last of them */
    size_t together;                     /* slices at a time */
    size_t in_slice, out_slice;          /* elements */
    sdx_dtype dtype;                     /* of the data; complex ones by their parts */
    bool converted;                      /* integers */
    double outside;
    const char *x;
    char *y, *scratch;
    size_t buffer; /* bytes of each of the two buffers of a piece */
    size_t pieces;
} job;

/* Whether the time is over, asked for each result of one row, or of all rows where they are short. */
static bool over(const sdx_resize_axis *axis, size_t o, size_t wide) {
    const bool each = wide >= 64;
    if (!each && o > 0) return false;
    return sdx_watch_work(axis->taps * wide * (each ? 1 : (size_t)axis->out));
}

/* One axis: rows of `wide` elements at in[before][axis->in] to out[before][axis->out]. */
static void f64_pass(const sdx_resize_axis *axis, size_t before, size_t wide, double outside,
                     const double *in, double *out) {
    size_t taps = axis->taps, ins = (size_t)axis->in, outs = (size_t)axis->out;
    for (size_t b = 0; b < before; b++, in += ins * wide)
        for (size_t o = 0; o < outs; o++, out += wide) {
            if (over(axis, o, wide)) return;
            const int64_t *index = axis->index + o * taps;
            const double *weight = axis->weight + o * taps;
            const double *row = in + (size_t)(index[0] < 0 ? 0 : index[0]) * wide;
            for (size_t i = 0; i < wide; i++) out[i] = index[0] < 0 ? outside : weight[0] * row[i];
            for (size_t t = 1; t < taps && index[0] >= 0; t++) {
                row = in + (size_t)index[t] * wide;
                for (size_t i = 0; i < wide && weight[t] != 0; i++) out[i] += weight[t] * row[i];
            }
        }
}

#define TAPS 16 /* of one call; antialiasing may have more */

/* out = the rows that make output o, each times its weight; those without one are left alone. */
static void f32_blend(const sdx_resize_axis *axis, size_t o, size_t wide, const float *in,
                      float *out) {
    const sdx_kernels *kernels = sdx_kernels_get();
    const int64_t *index = axis->index + o * axis->taps;
    const float *weight = axis->weight32 + o * axis->taps;
    for (size_t t = 0; t < axis->taps;) {
        const float *rows[TAPS];
        float weights[TAPS];
        size_t count = 0, first = t;
        for (; t < axis->taps && count < TAPS; t++) {
            if (weight[t] == 0 && t > first) continue;
            rows[count] = in + (size_t)index[t] * wide;
            weights[count++] = weight[t];
        }
        SDX_KERNEL_OF(kernels, f32_weigh)(rows, weights, count, out, wide, first > 0);
    }
}

static void f32_pass(const sdx_resize_axis *axis, size_t before, size_t wide, float outside,
                     const float *in, float *out) {
    size_t taps = axis->taps, ins = (size_t)axis->in, outs = (size_t)axis->out;
    for (size_t b = 0; b < before; b++, in += ins * wide)
        for (size_t o = 0; o < outs; o++, out += wide) {
            if (over(axis, o, wide)) return;
            const int64_t *index = axis->index + o * taps;
            const float *weight = axis->weight32 + o * taps;
            if (index[0] < 0) {
                for (size_t i = 0; i < wide; i++) out[i] = outside;
            } else if (wide > 1) {
                f32_blend(axis, o, wide, in, out);
            } else {
                float sum = 0;
                for (size_t t = 0; t < taps; t++) sum += weight[t] * in[index[t]];
                *out = sum;
            }
        }
}

/* Elements side by side are made by scalars. With so many rows or more it pays to turn them over, which
 * makes a row of each column, and back. */
#define TURNED 8

static bool is_turned(size_t before, size_t wide) { return wide == 1 && before >= TURNED; }

/* The last axis of `before` rows, in two buffers of their own: `from` may be the first of them. */
static void turned_pass(const sdx_resize_axis *axis, size_t before, float outside,
                        const float *from, float *first, float *second, float *to) {
    const sdx_kernels *kernels = sdx_kernels_get();
    size_t ins = (size_t)axis->in, outs = (size_t)axis->out;
    SDX_KERNEL_OF(kernels, f32_transpose)(from, (ptrdiff_t)ins, first, (ptrdiff_t)before, before, ins);
    f32_pass(axis, 1, before, outside, first, second);
    SDX_KERNEL_OF(kernels, f32_transpose)(second, (ptrdiff_t)before, to, (ptrdiff_t)outs, outs, before);
}

/* ---- slices ---------------------------------------------------------------------------------- */

/* Integers are converted so many at a time, and the time is looked at in between. */
#define AT_ONCE ((size_t)1 << 16)

static void widen(sdx_dtype dtype, const char *from, double *to, size_t count) {
    for (size_t i = 0; i < count && !sdx_watch_work(AT_ONCE); i += AT_ONCE)
        sdx_convert(dtype, SDX_DTYPE_FLOAT64, from + i * sdx_dtype_size(dtype), to + i,
                    count - i < AT_ONCE ? count - i : AT_ONCE);
}

static void round_back(sdx_dtype dtype, double *from, char *to, size_t count) {
    for (size_t i = 0; i < count && !sdx_watch_work(4 * AT_ONCE); i += AT_ONCE) {
        const size_t some = count - i < AT_ONCE ? count - i : AT_ONCE;
        for (size_t k = i; k < i + some; k++) from[k] = nearbyint(from[k]);
        sdx_from_f64(dtype, from + i, to + i * sdx_dtype_size(dtype), some);
    }
}

/* Slices [first, first + count), in the two buffers of a piece. */
static void some_slices(const job *j, size_t first, size_t count, char *buffers) {
    bool wide = j->converted || j->dtype == SDX_DTYPE_FLOAT64;
    char *spare[2] = {buffers, buffers + j->buffer};
    const char *from = j->x + first * j->in_slice * sdx_dtype_size(j->dtype);
    char *result = j->y + first * j->out_slice * sdx_dtype_size(j->dtype);
    int turn = 0; /* the buffer that `from` is not in */
    if (j->converted) {
        widen(j->dtype, from, (void *)spare[0], count * j->in_slice);
        from = spare[0];
        turn = 1;
    }
    int64_t dims[SDX_MAX_RANK];
    for (int32_t a = j->first; a < j->end; a++) dims[a] = j->axes[a].in;
    for (int32_t p = 0; p < j->passes; p++) {
        const sdx_resize_axis *axis = &j->axes[j->order[p]];
        size_t before = count, behind = j->width;
        for (int32_t a = j->first; a < j->order[p]; a++) before *= (size_t)dims[a];
        for (int32_t a = j->order[p] + 1; a < j->end; a++) behind *= (size_t)dims[a];
        bool last = p + 1 == j->passes && !j->converted;
        char *to = last ? result : spare[turn];
        if (wide)
            f64_pass(axis, before, behind, j->outside, (const void *)from, (void *)to);
        else if (is_turned(before, behind))
            turned_pass(axis, before, (float)j->outside, (const void *)from, (void *)spare[turn],
                        (void *)spare[!turn], (void *)to);
        else
            f32_pass(axis, before, behind, (float)j->outside, (const void *)from, (void *)to);
        turn = !turn;
        dims[j->order[p]] = axis->out;
        from = to;
    }
    if (j->converted) round_back(j->dtype, (void *)spare[!turn], result, count * j->out_slice);
}

static void piece_body(void *arg, size_t begin, size_t end) {
    const job *j = arg;
    for (size_t piece = begin; piece < end; piece++) {
        size_t behind = (piece + 1) * j->slices / j->pieces;
        for (size_t s = piece * j->slices / j->pieces; s < behind; s += j->together)
            some_slices(j, s, behind - s < j->together ? behind - s : j->together,
                        j->scratch + piece * 2 * j->buffer);
    }
}

/* Passes that shrink come first, then those that grow least; of two alike the later axis, which has
 * fewer elements behind it and is slower. */
static void order_passes(job *j) {
    for (int32_t i = 1; i < j->passes; i++)
        for (int32_t k = i; k > 0; k--) {
            const sdx_resize_axis *a = &j->axes[j->order[k - 1]], *b = &j->axes[j->order[k]];
            if ((double)b->out * (double)a->in > (double)a->out * (double)b->in) break;
            int32_t swap = j->order[k];
            j->order[k] = j->order[k - 1];
            j->order[k - 1] = swap;
        }
}

/* Elements of the largest tensor that has to lie in a buffer, for the slices that go together. */
static bool largest_between(const job *j, size_t *out) {
    size_t most = 0, from, to;
    int64_t dims[SDX_MAX_RANK];
    for (int32_t a = j->first; a < j->end; a++) dims[a] = j->axes[a].in;
    if (!sdx_size_mul(j->in_slice, j->together, &from)) return false;
    for (int32_t p = 0; p < j->passes; p++, from = to) {
        bool last = p + 1 == j->passes, side_by_side = j->order[p] == j->end - 1 && j->width == 1;
        dims[j->order[p]] = j->axes[j->order[p]].out;
        if (!sdx_dims_count(dims + j->first, j->end - j->first, &to) ||
            !sdx_size_mul(to, j->width * j->together, &to))
            return false;
        if ((j->converted || side_by_side) && from > most) most = from;
        if ((j->converted || side_by_side || !last) && to > most) most = to;
    }
    *out = most;
    return true;
}

sdx_status sdx_resize_interpolate(sdx_call *call, const sdx_resize_params *params,
                                  const sdx_resize_axis *axes, const sdx_tensor *x, sdx_tensor *y,
                                  void *memory, size_t memory_bytes) {
    bool is_complex = sdx_dtypes_has(SDX_T_COMPLEX, x->dtype);
    job j = {.axes = axes, .dtype = x->dtype, .x = x->data, .y = y->data, .slices = 1,
             .width = is_complex ? 2 : 1, .outside = (double)params->outside};
    if (x->dtype == SDX_DTYPE_COMPLEX64) j.dtype = SDX_DTYPE_FLOAT32;
    if (x->dtype == SDX_DTYPE_COMPLEX128) j.dtype = SDX_DTYPE_FLOAT64;
    j.converted = !sdx_dtypes_has(SDX_T_FLOATS, j.dtype);
    for (int32_t a = 0; a < x->rank; a++)
        if (!axes[a].identity) j.order[j.passes++] = a;
    if (j.passes == 0) {
        sdx_copy_elements(x, y);
        return SDX_STATUS_OK;
    }
    j.first = j.order[0];
    j.end = j.order[j.passes - 1] + 1;
    order_passes(&j);
    for (int32_t a = 0; a < j.first; a++) j.slices *= (size_t)axes[a].out;
    for (int32_t a = j.end; a < x->rank; a++) j.width *= (size_t)axes[a].out;
    j.in_slice = sdx_dims_product(x->dims, j.first, j.end) * j.width;
    j.out_slice = sdx_dims_product(y->dims, j.first, j.end) * j.width;
    j.together = j.passes == 1 && j.width == 1 ? SDX_RESIZE_ROWS : 1;
    j.pieces = j.slices < SDX_RESIZE_PIECES ? j.slices : SDX_RESIZE_PIECES;
    size_t bytes, total;
    bool wide = j.converted || j.dtype == SDX_DTYPE_FLOAT64;
    if (!largest_between(&j, &bytes) || !sdx_size_mul(bytes, wide ? 8 : 4, &bytes) ||
        !sdx_size_align(bytes, 64, &j.buffer) || !sdx_size_mul(j.buffer, 2 * j.pieces, &total))
        return sdx_call_fail_with(call, SDX_STATUS_LIMIT, "what lies between passes is too large");
    sdx_call inner = *call;
    inner.scratch = memory;
    inner.scratch_bytes = memory_bytes;
    sdx_scratch scratch;
    SDX_TRY(sdx_call_scratch(&inner, total, &scratch));
    j.scratch = scratch.data;
    sdx_call_parallel(call, j.pieces, 1, piece_body, &j);
    sdx_call_scratch_end(&inner, &scratch);
    return SDX_STATUS_OK;
}
