/* f32_binary.c - operators on two arrays of float, row by row; see kernels/elementwise.h. */
#include "kernels/simd/simd.h"
#include "kernels/kernels.h"

/* `operator` is a constant where this is called. */
SIMD_INLINE vf apply(sdx_f32_operator operator, vf x, vf y) {
    switch (operator) {
    case SDX_F32_ADD: return x + y;
    case SDX_F32_SUB: return x - y;
    case SDX_F32_MUL: return x * y;
    case SDX_F32_DIV: return x / y;
    /* vf_min gives y where either is not a number. */
    case SDX_F32_MIN: return vf_select(x != x, x, vf_min(x, y));
    case SDX_F32_MAX: return vf_select(x != x, x, vf_max(x, y));
    default: return x;
    }
}

SIMD_INLINE void row(sdx_f32_operator operator, const float *a, bool a_step, const float *b,
                     bool b_step, float *out, size_t n) {
    const vf a0 = vf_set1(*a), b0 = vf_set1(*b);
    size_t i = 0;
    for (; i + 2 * VL <= n; i += 2 * VL) {
        const vf x0 = a_step ? vf_load(a + i) : a0, x1 = a_step ? vf_load(a + i + VL) : a0;
        const vf y0 = b_step ? vf_load(b + i) : b0, y1 = b_step ? vf_load(b + i + VL) : b0;
        vf_store(out + i, apply(operator, x0, y0));
        vf_store(out + i + VL, apply(operator, x1, y1));
    }
    for (; i < n; i += VL) {
        if (n - i >= VL) {
            const vf x = a_step ? vf_load(a + i) : a0, y = b_step ? vf_load(b + i) : b0;
            vf_store(out + i, apply(operator, x, y));
        } else {
            const vf x = a_step ? vf_load_n(a + i, n - i) : a0;
            const vf y = b_step ? vf_load_n(b + i, n - i) : b0;
            vf_store_n(out + i, apply(operator, x, y), n - i);
        }
    }
}

SIMD_INLINE void rows(sdx_f32_operator operator, const sdx_f32_pairs *job) {
    for (size_t r = 0; r < job->rows; r++) {
        const float *a = job->a + r * job->a_row, *b = job->b + r * job->b_row;
        float *out = job->out + r * job->out_row;
        if (job->a_step && job->b_step) row(operator, a, true, b, true, out, job->n);
        else if (job->a_step) row(operator, a, true, b, false, out, job->n);
        else if (job->b_step) row(operator, a, false, b, true, out, job->n);
        else row(operator, a, false, b, false, out, job->n);
    }
}

void SDX_NAME(sdx_f32_binary)(const sdx_f32_pairs *job) {
    if (job->n == 0) return;
    switch (job->operator) {
    case SDX_F32_ADD: rows(SDX_F32_ADD, job); break;
    case SDX_F32_SUB: rows(SDX_F32_SUB, job); break;
    case SDX_F32_MUL: rows(SDX_F32_MUL, job); break;
    case SDX_F32_DIV: rows(SDX_F32_DIV, job); break;
    case SDX_F32_MIN: rows(SDX_F32_MIN, job); break;
    case SDX_F32_MAX: rows(SDX_F32_MAX, job); break;
    default: break;
    }
}
