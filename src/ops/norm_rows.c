/* norm_rows.c - the row normalizer of norm.h for float32 and float64. */
#include <math.h>

#include "kernels/kernels.h"
#include "ops/norm.h"
#include "ops/norm_stats.h"

/* Statistics of a row, and its elements scaled: float32 by the vector kernels. */
static double f32_sum(const float *x, size_t n) {
    double sum;
    SDX_KERNEL_OF(sdx_kernels_get(), f32_sum)(x, n, &sum);
    return sum;
}
static double f64_sum(const double *x, size_t n) { return sdx_f64_row_sum(x, n, 0); }
static double f32_deviations(const float *x, size_t n, float mean) {
    double sum;
    SDX_KERNEL_OF(sdx_kernels_get(), f32_deviations)(x, n, mean, &sum);
    return sum;
}
static double f64_deviations(const double *x, size_t n, double mean) {
    return sdx_f64_row_deviations(x, n, mean);
}
static void f32_scaled(const float *x, float *y, size_t n, float mean, float inverse,
                       const float *scale, const float *bias) {
    SDX_KERNEL_OF(sdx_kernels_get(), f32_normalize)(x, y, n, mean, inverse, scale, bias);
}
static void f64_scaled(const double *x, double *y, size_t n, double mean, double inverse,
                       const double *scale, const double *bias) {
    for (size_t i = 0; i < n; i++) {
        const double value = (x[i] - mean) * inverse * scale[i];
        y[i] = bias ? value + bias[i] : value;
    }
}
static void f32_affine(const float *x, float *y, size_t n, float mean, float factor,
                       float shift) {
    SDX_KERNEL_OF(sdx_kernels_get(), f32_affine)(x, y, n, mean, factor, shift);
}
static void f64_affine(const double *x, double *y, size_t n, double mean, double factor,
                       double shift) {
    for (size_t i = 0; i < n; i++) y[i] = (x[i] - mean) * factor + shift;
}

#define DEFINE_ROWS(T, f)                                                                         \
    /* Scale and bias by runs. */                                                                 \
    static void f##_runs(const sdx_norm_rows *n, size_t row, const T *x, T mean, T inverse,       \
                         T *y) {                                                                  \
        const T *scale = n->scale, *bias = n->bias;                                               \
        size_t at = row % n->period * n->runs;                                                    \
        if (scale) scale += at;                                                                   \
        if (bias) bias += at;                                                                     \
        if (n->run == 1 && scale) {                                                               \
            f##_scaled(x, y, n->runs, mean, inverse, scale, bias);                                \
            return;                                                                               \
        }                                                                                         \
        for (size_t r = 0; r < n->runs; r++, x += n->run, y += n->run) {                          \
            T factor = scale ? inverse * scale[r] : inverse, shift = bias ? bias[r] : 0;          \
            f##_affine(x, y, n->run, mean, factor, shift);                                        \
        }                                                                                         \
    }                                                                                             \
    /* Scale and bias at strides of their own; `row` elements lie before x. */                    \
    static void f##_strided(const sdx_norm_rows *n, size_t row, const T *x, T mean, T inverse,    \
                            T *y) {                                                               \
        int64_t at[SDX_MAX_RANK], s = 0, b = 0;                                                   \
        size_t length = n->runs * n->run, first = row * length;                                   \
        for (int32_t a = n->rank - 1; a >= 0; a--) {                                              \
            at[a] = (int64_t)(first % (size_t)n->dims[a]);                                        \
            first /= (size_t)n->dims[a];                                                          \
            s += at[a] * n->scale_strides[a];                                                     \
            b += at[a] * n->bias_strides[a];                                                      \
        }                                                                                         \
        for (size_t i = 0; i < length; i++) {                                                     \
            T value = (x[i] - mean) * inverse;                                                    \
            if (n->scale) value *= ((const T *)n->scale)[s];                                      \
            y[i] = n->bias ? value + ((const T *)n->bias)[b] : value;                             \
            for (int32_t a = n->rank - 1; a >= 0; a--) {                                          \
                s += n->scale_strides[a];                                                         \
                b += n->bias_strides[a];                                                          \
                if (++at[a] < n->dims[a]) break;                                                  \
                s -= n->dims[a] * n->scale_strides[a];                                            \
                b -= n->dims[a] * n->bias_strides[a];                                             \
                at[a] = 0;                                                                        \
            }                                                                                     \
        }                                                                                         \
    }                                                                                             \
    static void f##_rows(void *arg, size_t begin, size_t end) {                                   \
        const sdx_norm_rows *n = arg;                                                             \
        size_t length = n->runs * n->run;                                                         \
        for (size_t row = begin; row < end; row++) {                                              \
            const T *x = (const T *)n->x + row * length;                                          \
            T *y = (T *)n->y + row * length;                                                      \
            double mean = 0, spread;                                                              \
            if (n->keep_mean) {                                                                   \
                spread = f##_deviations(x, length, 0);                                            \
            } else {                                                                              \
                mean = f##_sum(x, length) / (double)length;                                       \
                spread = f##_deviations(x, length, (T)mean);                                      \
            }                                                                                     \
            double inverse = 1 / sqrt(spread / (double)length + n->epsilon);                      \
            sdx_norm_store(n->mean, row, mean);                                                   \
            sdx_norm_store(n->inverse, row, inverse);                                             \
            if (!n->y) continue;                                                                  \
            if (n->broadcast)                                                                     \
                f##_strided(n, row, x, (T)mean, (T)inverse, y);                                   \
            else                                                                                  \
                f##_runs(n, row, x, (T)mean, (T)inverse, y);                                      \
        }                                                                                         \
    }

DEFINE_ROWS(float, f32)
DEFINE_ROWS(double, f64)

void sdx_norm_run_rows(sdx_call *call, const sdx_norm_rows *rows) {
    size_t length = rows->runs * rows->run;
    sdx_call_parallel(call, rows->rows, 16384 / (length + 1) + 1,
                      rows->dtype == SDX_DTYPE_FLOAT64 ? f64_rows : f32_rows, (void *)rows);
}
