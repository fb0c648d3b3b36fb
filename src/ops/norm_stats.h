/* norm_stats.h - sums over long rows, for the normalizations and the global pools. float32 rows are
 * summed in a fixed number of lanes over short chunks, and the chunks in float64: fast, accurate,
 * and the same bits for any number of threads. */
#ifndef SDX_OPS_NORM_STATS_H
#define SDX_OPS_NORM_STATS_H

#include <math.h>
#include <stddef.h>

#define SDX_STATS_LANES 16
#define SDX_STATS_CHUNK 1024

#define SDX_DEFINE_SUM(NAME, T, STEP)                                                             \
    static inline double NAME(const T *x, size_t n, T c) {                                        \
        double total = 0;                                                                         \
        (void)c;                                                                                  \
        for (size_t from = 0; from < n; from += SDX_STATS_CHUNK) {                                \
            size_t m = n - from < SDX_STATS_CHUNK ? n - from : SDX_STATS_CHUNK, i = 0;            \
            const T *row = x + from;                                                              \
            T lane[SDX_STATS_LANES] = {0};                                                        \
            for (; i + SDX_STATS_LANES <= m; i += SDX_STATS_LANES)                                \
                for (size_t l = 0; l < SDX_STATS_LANES; l++) lane[l] += STEP(row[i + l], c);      \
            for (size_t l = 0; i < m; i++, l++) lane[l] += STEP(row[i], c);                       \
            for (size_t half = SDX_STATS_LANES / 2; half > 0; half /= 2)                          \
                for (size_t l = 0; l < half; l++) lane[l] += lane[l + half];                      \
            total += (double)lane[0];                                                             \
        }                                                                                         \
        return total;                                                                             \
    }

#define SDX_STAT_VALUE(v, c) (v)
#define SDX_STAT_SQUARE(v, c) ((v) * (v))
#define SDX_STAT_DEVIATION(v, c) (((v) - (c)) * ((v) - (c)))
SDX_DEFINE_SUM(sdx_f32_row_sum, float, SDX_STAT_VALUE)
SDX_DEFINE_SUM(sdx_f64_row_sum, double, SDX_STAT_VALUE)
SDX_DEFINE_SUM(sdx_f32_row_squares, float, SDX_STAT_SQUARE)
SDX_DEFINE_SUM(sdx_f64_row_squares, double, SDX_STAT_SQUARE)
SDX_DEFINE_SUM(sdx_f32_row_deviations, float, SDX_STAT_DEVIATION)
SDX_DEFINE_SUM(sdx_f64_row_deviations, double, SDX_STAT_DEVIATION)
/* Absolute values. */
static inline float sdx_f32_abs_(float v) { return fabsf(v); }
static inline double sdx_f64_abs_(double v) { return fabs(v); }
#define SDX_STAT_ABS_F32(v, c) sdx_f32_abs_(v)
#define SDX_STAT_ABS_F64(v, c) sdx_f64_abs_(v)
SDX_DEFINE_SUM(sdx_f32_row_abs, float, SDX_STAT_ABS_F32)
SDX_DEFINE_SUM(sdx_f64_row_abs, double, SDX_STAT_ABS_F64)

#endif
