/* pool_nhwc.h - pools over images whose channels lie side by side, [batch][height][width][channel]:
 * maximum, average, and the average over all pixels. */
#ifndef SDX_KERNELS_POOL_NHWC_H
#define SDX_KERNELS_POOL_NHWC_H

#include "base/threads.h"
#include "kernels/im2col.h"

typedef struct sdx_f32_pool {
    const float *x;
    float *y;
    size_t batch, channels;
    sdx_window window; /* of rank 2, out filled in; windows may reach outside, as with ceil_mode */
    bool average;      /* else the maximum; what is not a number wins */
    bool count_pads;   /* averages divide by what lies in the pads too (count_include_pad) */
} sdx_f32_pool;

/* In parallel over rows of the output. A window that sees nothing gives -infinity, or 0 for an
 * average. */
void sdx_f32_pool_nhwc(sdx_pool *pool, const sdx_f32_pool *job);
/* y[n][c] = mean over p of x[n][p][c]: [batch, pixels, channels] to [batch, channels]; the same
 * bits for any number of threads. 0 / 0 where there are no pixels. */
void sdx_f32_mean_nhwc(sdx_pool *pool, const float *x, float *y, size_t batch, size_t pixels,
                       size_t channels);

#endif
