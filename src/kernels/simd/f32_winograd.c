/* f32_winograd.c - transforms for F(2x2, 3x3) and F(4x4, 3x3), a vector of channels at a time. The
 * points are 0, 1, -1, infinity and 0, 1, -1, 2, -2, infinity. Each transform is one of rows, then
 * one of columns. */
#include "kernels/simd/simd.h"
#include "kernels/kernels.h"

/* ---- one dimension ------------------------------------------------------------------------------ */

SIMD_INLINE void in_4(const vf d[4], vf t[4]) {
    t[0] = d[0] - d[2];
    t[1] = d[1] + d[2];
    t[2] = d[2] - d[1];
    t[3] = d[3] - d[1];
}

SIMD_INLINE void out_4(const vf m[4], vf y[2]) {
    y[0] = m[0] + m[1] + m[2];
    y[1] = m[1] - m[2] + m[3];
}

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

SIMD_INLINE void out_6(const vf m[6], vf y[4]) {
    const vf p = m[1] + m[2], q = m[1] - m[2], r = m[3] + m[4], s = m[3] - m[4];
    y[0] = m[0] + p + r;
    y[1] = vf_fma(vf_set1(2.0f), s, q);
    y[2] = vf_fma(vf_set1(4.0f), r, p);
    y[3] = vf_fma(vf_set1(8.0f), s, q) + m[5];
}

/* ---- two dimensions: n and the results' edge are constants ------------------------------------------ */

SIMD_INLINE void in_line(const size_t n, const vf *d, vf *t) {
    if (n == 4) in_4(d, t);
    else in_6(d, t);
}
SIMD_INLINE void out_line(const size_t n, const vf *m, vf *y) {
    if (n == 4) out_4(m, y);
    else out_6(m, y);
}

SIMD_INLINE void in_tile(const sdx_winograd_in *job, size_t channel, const size_t n,
                         const size_t lanes) {
    vf rows[6][6]; /* [column][row] */
    SIMD_UNROLL
    for (size_t x = 0; x < n; x++) {
        vf d[6], t[6];
        SIMD_UNROLL
        for (size_t y = 0; y < n; y++) d[y] = vf_load_lanes(job->from[y * n + x] + channel, lanes);
        in_line(n, d, t);
        SIMD_UNROLL
        for (size_t y = 0; y < n; y++) rows[y][x] = t[y];
    }
    SIMD_UNROLL
    for (size_t y = 0; y < n; y++) {
        vf t[6];
        in_line(n, rows[y], t);
        SIMD_UNROLL
        for (size_t x = 0; x < n; x++)
            vf_store_lanes(job->to + (y * n + x) * job->stride + channel, t[x], lanes);
    }
}

SIMD_INLINE void out_tile(const sdx_winograd_out *job, size_t channel, const size_t n,
                          const size_t lanes) {
    const size_t edge = n - 2;
    vf rows[4][6]; /* [row of results][column of points] */
    SIMD_UNROLL
    for (size_t x = 0; x < n; x++) {
        vf m[6], y[4];
        SIMD_UNROLL
        for (size_t p = 0; p < n; p++)
            m[p] = vf_load_lanes(job->from + (p * n + x) * job->stride + channel, lanes);
        out_line(n, m, y);
        SIMD_UNROLL
        for (size_t p = 0; p < edge; p++) rows[p][x] = y[p];
    }
    const vf bias = vf_load_lanes(job->bias + channel, lanes);
    const vf low = vf_set1(job->a), high = vf_set1(job->b);
    SIMD_UNROLL
    for (size_t p = 0; p < edge; p++) {
        vf y[4];
        out_line(n, rows[p], y);
        SIMD_UNROLL
        for (size_t x = 0; x < edge; x++) {
            float *to = job->to[p * edge + x];
            if (!to) continue;
            vf sum = y[x] + bias;
            if (job->addend) sum += vf_load_lanes(job->addend[p * edge + x] + channel, lanes);
            if (job->act == SDX_ACT_CLIP) sum = vf_clip(sum, low, high);
            vf_store_lanes(to + channel, sum, lanes);
        }
    }
}

#define OVER_CHANNELS(call, n)                                                                    \
    do {                                                                                          \
        size_t c = 0;                                                                             \
        for (; c + VL <= job->channels; c += VL) call(job, c, n, VL);                             \
        if (c < job->channels) call(job, c, n, job->channels - c);                                \
    } while (0)

void SDX_NAME(sdx_f32_winograd_in)(const sdx_winograd_in *job, size_t n) {
    if (n == 4) OVER_CHANNELS(in_tile, 4);
    else OVER_CHANNELS(in_tile, 6);
}

void SDX_NAME(sdx_f32_winograd_out)(const sdx_winograd_out *job, size_t n) {
    if (n == 4) OVER_CHANNELS(out_tile, 4);
    else OVER_CHANNELS(out_tile, 6);
}
