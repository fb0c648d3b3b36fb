/* f32_winograd_weights.c - the transform of 3x3 weights, G g G^T, for the points of f32_winograd.c: once
 * for each kernel while a program is made, a vector of maps at a time. */
#include "kernels/simd/simd.h"
#include "kernels/kernels.h"

SIMD_INLINE void weights_4(const vf g[3], vf t[4]) {
    const vf half = vf_set1(0.5f), outer = half * (g[0] + g[2]), inner = half * g[1];
    t[0] = g[0];
    t[1] = outer + inner;
    t[2] = outer - inner;
    t[3] = g[2];
}

SIMD_INLINE void weights_6(const vf g[3], vf t[6]) {
    const vf sixth = vf_set1(1.0f / 6), inner = sixth * g[1];
    const vf outer = sixth * (g[0] + g[2]);
    const vf a = vf_fma(vf_set1(1.0f / 24), g[0], sixth * g[2]), b = vf_set1(1.0f / 12) * g[1];
    t[0] = vf_set1(0.25f) * g[0];
    t[1] = vf_set1(0.0f) - outer - inner;
    t[2] = inner - outer;
    t[3] = a + b;
    t[4] = a - b;
    t[5] = g[2];
}

SIMD_INLINE void line(const size_t n, const vf *g, vf *t) {
    if (n == 4) weights_4(g, t);
    else weights_6(g, t);
}

SIMD_INLINE void kernel(const float *from, size_t step, float *to, size_t stride, const size_t n) {
    vf rows[3][6]; /* [column of the weights][row of the points] */
    SIMD_UNROLL
    for (size_t x = 0; x < 3; x++) {
        const vf g[3] = {vf_load(from + x * step), vf_load(from + (3 + x) * step),
                         vf_load(from + (6 + x) * step)};
        line(n, g, rows[x]);
    }
    SIMD_UNROLL
    for (size_t y = 0; y < n; y++) {
        const vf g[3] = {rows[0][y], rows[1][y], rows[2][y]};
        vf t[6];
        line(n, g, t);
        SIMD_UNROLL
        for (size_t x = 0; x < n; x++) vf_store(to + (y * n + x) * stride, t[x]);
    }
}

void SDX_NAME(sdx_f32_winograd_weights)(const sdx_winograd_weights *job, size_t n) {
    for (size_t c = 0; c < job->channels; c++)
        for (size_t m = 0; m < job->maps; m += VL) {
            const float *from = job->from + c * 9 * job->maps + m;
            float *to = job->to + c * job->to_step + m;
            if (n == 4) kernel(from, job->maps, to, job->stride, 4);
            else kernel(from, job->maps, to, job->stride, 6);
        }
}
