/* f32_winograd.c - transforms for F(2x2, 3x3) and F(4x4, 3x3), a vector of channels at a
 * time; see winograd.h. Each transform is one of rows, then one of columns. */
#include "kernels/simd/simd.h"
#include "kernels/kernels.h"

#define EDGE SDX_WINOGRAD_EDGE

/* ---- one dimension: pixels become points ---------------------------------------------------------- */

SIMD_INLINE void in_6(const vf d[6], vf t[6]) {
    const vf two = vf_set1(2.0f), four = vf_set1(4.0f), five = vf_set1(5.0f);
    const vf a = vf_fnma(four, d[2], d[4]), b = vf_fnma(four, d[1], d[3]);
    const vf c = d[4] - d[2], e = two * (d[3] - d[1]);
    t[0] = vf_fnma(five, d[2], vf_fma(four, d[0], d[4]));
    t[1] = a + b;
    t[2] = a - b;
    t[3] = c + e;
    t[4] = c - e;
    t[5] = vf_fnma(five, d[3], vf_fma(four, d[1], d[5]));
}

/* Fewer points than six; f: what the points 0, 1, -1, 2 are multiplied by to fit the weights. */
SIMD_INLINE void in_5(const vf d[5], const float f[4], vf t[5]) {
    const vf two = vf_set1(2.0f), a = d[3] - d[1];
    t[0] = vf_set1(f[0]) * vf_fma(two, d[0] - d[2], a);
    t[1] = vf_set1(f[1]) * (vf_fnma(two, d[1], d[3]) - d[2]);
    t[2] = vf_set1(f[2]) * vf_fma(two, d[1], vf_fnma(vf_set1(3.0f), d[2], d[3]));
    t[3] = vf_set1(f[3]) * a;
    t[4] = vf_fnma(two, a, d[4] - d[2]);
}

SIMD_INLINE void in_4(const vf d[4], const float f[3], vf t[4]) {
    t[0] = vf_set1(f[0]) * (d[0] - d[2]);
    t[1] = vf_set1(f[1]) * (d[1] + d[2]);
    t[2] = vf_set1(f[2]) * (d[2] - d[1]);
    t[3] = d[3] - d[1];
}

SIMD_INLINE void in_3(const vf d[3], const float f[2], vf t[3]) {
    t[0] = vf_set1(f[0]) * (d[0] - d[1]);
    t[1] = vf_set1(f[1]) * d[1];
    t[2] = d[2] - d[1];
}

/* By edge, 4 or 6, and number of points, from 3 on. */
static const float factors[2][3][4] = {{{1, 2}, {1, 1, 1}},
                                       {{4, -6}, {4, -3, -3}, {2, 3, 1, 4}}};

SIMD_INLINE void in_line(const size_t edge, const size_t n, const vf *d, vf *t) {
    if (n == 6) in_6(d, t);
    else if (n == 5) in_5(d, factors[edge / 2 - 2][2], t);
    else if (n == 4) in_4(d, factors[edge / 2 - 2][1], t);
    else in_3(d, factors[edge / 2 - 2][0], t);
}

/* ---- points become results ------------------------------------------------------------------------ */

SIMD_INLINE void out_line(const size_t n, const vf *m, vf *y) {
    if (n == 3) {
        y[0] = m[0] + m[1] + m[2];
        return;
    }
    const vf p = m[1] + m[2], q = m[1] - m[2];
    if (n == 4) {
        y[0] = m[0] + p;
        y[1] = q + m[3];
    } else if (n == 5) {
        y[0] = m[0] + p + m[3];
        y[1] = vf_fma(vf_set1(2.0f), m[3], q);
        y[2] = vf_fma(vf_set1(4.0f), m[3], p) + m[4];
    } else {
        const vf r = m[3] + m[4], s = m[3] - m[4];
        y[0] = m[0] + p + r;
        y[1] = vf_fma(vf_set1(2.0f), s, q);
        y[2] = vf_fma(vf_set1(4.0f), r, p);
        y[3] = vf_fma(vf_set1(8.0f), s, q) + m[5];
    }
}

/* ---- two dimensions --------------------------------------------------------------------------------- */

/* Where point i of n lies among all of them. */
SIMD_INLINE size_t place(size_t i, const size_t n, const size_t edge) {
    return i + 1 < n ? i : edge - 1;
}

/* The loops are unrolled where rows and columns are constants, and must not be where they are not. */
#define WINOGRAD_NAME(name) name##_any
#define WINOGRAD_UNROLL
#include "kernels/simd/f32_winograd_template.h"
#define WINOGRAD_NAME(name) name##_whole
#define WINOGRAD_UNROLL SIMD_UNROLL
#include "kernels/simd/f32_winograd_template.h"

#if SDX_SELECTED /* to be small: the last channels of all sizes by one copy of the code; the same sums */
static __attribute__((noinline)) void in_rest(const sdx_winograd_in *job, size_t channel,
                                              size_t lanes, size_t edge, size_t rows,
                                              size_t columns) {
    in_any(job, channel, lanes, edge, rows, columns);
}
static __attribute__((noinline)) void out_rest(const sdx_winograd_out *job, size_t channel,
                                               size_t lanes, size_t edge, size_t rows,
                                               size_t columns) {
    out_any(job, channel, lanes, edge, rows, columns);
}
#define REST(call, rest) rest
#else
#define REST(call, rest) call
#endif

#define OVER_CHANNELS(call, rest, ...)                                                            \
    do {                                                                                          \
        size_t c = 0;                                                                             \
        for (; c + VL <= job->channels; c += VL) call(job, c, VL, __VA_ARGS__);                   \
        if (c < job->channels) REST(call, rest)(job, c, job->channels - c, __VA_ARGS__);          \
    } while (0)

void SDX_NAME(sdx_f32_winograd_in)(const sdx_winograd_in *job) {
    const size_t edge = job->edge, rows = job->rows, columns = job->columns;
    if (rows == 6 && columns == 6) OVER_CHANNELS(in_whole, in_rest, 6, 6, 6);
    else if (edge == 4 && rows == 4 && columns == 4) OVER_CHANNELS(in_whole, in_rest, 4, 4, 4);
    else OVER_CHANNELS(in_any, in_rest, edge, rows, columns);
}

void SDX_NAME(sdx_f32_winograd_out)(const sdx_winograd_out *job) {
    const size_t edge = job->edge, rows = job->rows, columns = job->columns;
    if (rows == 6 && columns == 6) OVER_CHANNELS(out_whole, out_rest, 6, 6, 6);
    else if (edge == 4 && rows == 4 && columns == 4) OVER_CHANNELS(out_whole, out_rest, 4, 4, 4);
    else OVER_CHANNELS(out_any, out_rest, edge, rows, columns);
}
