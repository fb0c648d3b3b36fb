/* im2col.c - sliding windows as index arithmetic, and the patch matrix of im2col.h in both
 * directions. Everything works row by row of the innermost axis: the part of a row that lies
 * inside the image is found once, then copied or added without further tests. */
#include "kernels/im2col.h"

#include <string.h>

#include "base/checked.h"

bool sdx_window_count(sdx_window *window) {
    return sdx_dims_count(window->in, window->rank, &window->in_count) &&
           sdx_dims_count(window->out, window->rank, &window->out_count) &&
           sdx_dims_count(window->kernel, window->rank, &window->kernel_count);
}

/* a / b rounded up, for b > 0. */
static int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b > 0); }
static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }
static int64_t clamp(int64_t v, int64_t lo, int64_t hi) { return v < lo ? lo : v > hi ? hi : v; }

void sdx_window_outputs(const sdx_window *w, int32_t axis, int64_t tap, int64_t *lo,
                        int64_t *hi) {
    int64_t first = w->pad[axis] - tap * w->dilation[axis], out = w->out[axis];
    int64_t stride = w->stride[axis];
    *lo = clamp(stride == 1 ? first : ceil_div(first, stride), 0, out);
    first += w->in[axis] - 1;
    *hi = clamp((stride == 1 ? first : floor_div(first, stride)) + 1, *lo, out);
}

void sdx_window_taps(const sdx_window *w, int32_t axis, int64_t o, int64_t before, int64_t after,
                     int64_t *lo, int64_t *hi) {
    int64_t start = o * w->stride[axis] - w->pad[axis], kernel = w->kernel[axis];
    int64_t dilation = w->dilation[axis];
    *lo = start >= -before ? 0 : clamp(ceil_div(-before - start, dilation), 0, kernel);
    int64_t room = w->in[axis] + after - 1 - start; /* from tap 0 to the last index inside */
    if (room >= (kernel - 1) * dilation)
        *hi = kernel;
    else
        *hi = clamp(floor_div(room, dilation) + 1, *lo, kernel);
    if (*lo > *hi) *lo = *hi;
}

void sdx_window_used_taps(const sdx_window *w, int32_t axis, int64_t *lo, int64_t *hi) {
    int64_t end;
    if (w->out[axis] == 0) {
        *lo = *hi = 0;
        return;
    }
    sdx_window_taps(w, axis, w->out[axis] - 1, 0, 0, lo, &end);
    sdx_window_taps(w, axis, 0, 0, 0, &end, hi);
    if (*hi < *lo) *hi = *lo;
}

/* ---- walking over output rows -------------------------------------------------------------- */

/* A stretch of the innermost output axis under one tap: `skip` positions of padding, `inside`
 * positions that see image elements from `offset` on, `rest` positions of padding. */
typedef struct stretch {
    size_t skip, inside, rest;
    int64_t offset;
} stretch;

typedef struct walk {
    const sdx_window *window;
    int64_t tap[SDX_MAX_RANK], at[SDX_MAX_RANK];
    int64_t lo, hi; /* inside range of the innermost axis for this tap */
} walk;

static void walk_start(walk *k, const sdx_window *w, size_t tap, size_t column) {
    k->window = w;
    for (int32_t a = w->rank - 1; a >= 0; a--) {
        k->tap[a] = (int64_t)(tap % (size_t)w->kernel[a]);
        tap /= (size_t)w->kernel[a];
        k->at[a] = (int64_t)(column % (size_t)w->out[a]);
        column /= (size_t)w->out[a];
    }
    sdx_window_outputs(w, w->rank - 1, k->tap[w->rank - 1], &k->lo, &k->hi);
}

/* The next stretch, at most `left` long, to the end of the output row; moves past it. */
static stretch walk_next(walk *k, size_t left) {
    const sdx_window *w = k->window;
    int32_t last = w->rank - 1;
    int64_t from = k->at[last], to = w->out[last];
    if ((size_t)(to - from) > left) to = from + (int64_t)left;
    int64_t offset = 0;
    bool inside = true;
    for (int32_t a = 0; a < last; a++) {
        int64_t index = k->at[a] * w->stride[a] + k->tap[a] * w->dilation[a] - w->pad[a];
        if (index < 0 || index >= w->in[a]) {
            inside = false;
            break;
        }
        offset = (offset + index) * w->in[a + 1];
    }
    int64_t lo = clamp(k->lo, from, to), hi = clamp(k->hi, lo, to);
    if (!inside) lo = hi = to;
    stretch s = {.skip = (size_t)(lo - from), .inside = (size_t)(hi - lo),
                 .rest = (size_t)(to - hi)};
    if (s.inside > 0)
        s.offset = offset + lo * w->stride[last] + k->tap[last] * w->dilation[last] - w->pad[last];
    k->at[last] = to;
    for (int32_t a = last; a > 0 && k->at[a] == w->out[a]; a--) {
        k->at[a] = 0;
        k->at[a - 1]++;
    }
    return s;
}

/* ---- im2col ---------------------------------------------------------------------------------- */

/* Elements are moved as bits, whatever their type. */
typedef uint8_t bits_1 __attribute__((may_alias));
typedef uint16_t bits_2 __attribute__((may_alias));
typedef uint32_t bits_4 __attribute__((may_alias));
typedef uint64_t bits_8 __attribute__((may_alias));

#define DEFINE_ROW(T, NAME)                                                                       \
    static void NAME(const sdx_window *w, size_t tap, const T *plane, size_t column,              \
                     size_t columns, T *to) {                                                     \
        walk k;                                                                                   \
        walk_start(&k, w, tap, column);                                                           \
        int64_t step = w->stride[w->rank - 1];                                                    \
        for (size_t done = 0; done < columns;) {                                                  \
            stretch s = walk_next(&k, columns - done);                                            \
            T *out = to + done;                                                                   \
            for (size_t i = 0; i < s.skip; i++) out[i] = 0;                                       \
            out += s.skip;                                                                        \
            if (step == 1 && s.inside > 0)                                                        \
                memcpy(out, plane + s.offset, s.inside * sizeof(T));                              \
            else                                                                                  \
                for (size_t i = 0; i < s.inside; i++)                                             \
                    out[i] = plane[s.offset + (int64_t)i * step];                                 \
            out += s.inside;                                                                      \
            for (size_t i = 0; i < s.rest; i++) out[i] = 0;                                       \
            done += s.skip + s.inside + s.rest;                                                   \
        }                                                                                         \
    }

DEFINE_ROW(bits_1, row_1)
DEFINE_ROW(bits_2, row_2)
DEFINE_ROW(bits_4, row_4)
DEFINE_ROW(bits_8, row_8)

void sdx_im2col(const sdx_window *w, size_t size, const void *image, size_t row, size_t rows,
                size_t column, size_t columns, void *to, size_t ld) {
    size_t plane = row / w->kernel_count, tap = row % w->kernel_count;
    if (!image) { /* it has no elements: all there is is padding */
        for (size_t r = 0; r < rows; r++) memset((char *)to + r * ld * size, 0, columns * size);
        return;
    }
    for (size_t r = 0; r < rows; r++) {
        const char *from = (const char *)image + plane * w->in_count * size;
        char *out = (char *)to + r * ld * size;
        switch (size) {
        case 1: row_1(w, tap, (const void *)from, column, columns, (void *)out); break;
        case 2: row_2(w, tap, (const void *)from, column, columns, (void *)out); break;
        case 4: row_4(w, tap, (const void *)from, column, columns, (void *)out); break;
        default: row_8(w, tap, (const void *)from, column, columns, (void *)out); break;
        }
        if (++tap == w->kernel_count) {
            tap = 0;
            plane++;
        }
    }
}

/* ---- col2im ---------------------------------------------------------------------------------- */

/* `parts` numbers per element: 2 for complex ones. */
#define DEFINE_ADD(T, NAME, ADD)                                                                  \
    static void NAME(const sdx_window *w, size_t tap, const T *from, size_t column,               \
                     size_t columns, T *plane, size_t parts) {                                    \
        walk k;                                                                                   \
        walk_start(&k, w, tap, column);                                                           \
        size_t step = (size_t)w->stride[w->rank - 1] * parts;                                     \
        for (size_t done = 0; done < columns;) {                                                  \
            stretch s = walk_next(&k, columns - done);                                            \
            const T *in = from + (done + s.skip) * parts;                                         \
            T *out = s.inside > 0 ? plane + s.offset * (int64_t)parts : plane;                    \
            if (step == 1)                                                                        \
                for (size_t i = 0; i < s.inside; i++) out[i] = ADD(T, out[i], in[i]);             \
            else                                                                                  \
                for (size_t i = 0; i < s.inside; i++)                                             \
                    for (size_t p = 0; p < parts; p++)                                            \
                        out[i * step + p] = ADD(T, out[i * step + p], in[i * parts + p]);         \
            done += s.skip + s.inside + s.rest;                                                   \
        }                                                                                         \
    }

#define SUM(T, a, b) ((T)((a) + (b)))
#define OR(T, a, b) ((T)((a) || (b)))
DEFINE_ADD(float, add_f32, SUM)
DEFINE_ADD(double, add_f64, SUM)
DEFINE_ADD(bits_1, add_u8, SUM)
DEFINE_ADD(bits_2, add_u16, SUM)
DEFINE_ADD(bits_4, add_u32, SUM)
DEFINE_ADD(bits_8, add_u64, SUM)
DEFINE_ADD(bits_1, add_bool, OR)

void sdx_col2im(const sdx_window *w, sdx_dtype dtype, const void *from, size_t ld, size_t row,
                size_t rows, size_t column, size_t columns, void *image) {
    size_t plane = row / w->kernel_count, tap = row % w->kernel_count, size = sdx_dtype_size(dtype);
    for (size_t r = 0; r < rows; r++) {
        const void *in = (const char *)from + r * ld * size;
        void *out = (char *)image + plane * w->in_count * size;
        switch (dtype) {
        case SDX_DTYPE_FLOAT32: add_f32(w, tap, in, column, columns, out, 1); break;
        case SDX_DTYPE_COMPLEX64: add_f32(w, tap, in, column, columns, out, 2); break;
        case SDX_DTYPE_FLOAT64: add_f64(w, tap, in, column, columns, out, 1); break;
        case SDX_DTYPE_COMPLEX128: add_f64(w, tap, in, column, columns, out, 2); break;
        case SDX_DTYPE_BOOL: add_bool(w, tap, in, column, columns, out, 1); break;
        default: /* two's complement: signed and unsigned sums are the same bits */
            if (size == 1)
                add_u8(w, tap, in, column, columns, out, 1);
            else if (size == 2)
                add_u16(w, tap, in, column, columns, out, 1);
            else if (size == 4)
                add_u32(w, tap, in, column, columns, out, 1);
            else
                add_u64(w, tap, in, column, columns, out, 1);
        }
        if (++tap == w->kernel_count) {
            tap = 0;
            plane++;
        }
    }
}
