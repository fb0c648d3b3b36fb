/* taps.h - one window of a pool, as its kernels take it: pixels of `channels` floats at regular
 * steps, and where the result goes. */
#ifndef SDX_KERNELS_TAPS_H
#define SDX_KERNELS_TAPS_H

#include <stddef.h>

typedef struct sdx_f32_taps {
    const float *x; /* first pixel; NULL where there is none */
    size_t rows, columns;
    size_t row_step, column_step; /* floats from one to the next */
    size_t channels;
    float *out;
    float divisor; /* of averages; 0 where the window sees nothing */
} sdx_f32_taps;

#endif
