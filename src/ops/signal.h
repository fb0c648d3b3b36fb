/* signal.h - the Fourier transform under DFT and STFT, in double whatever the tensors hold.
 * Powers of two go the direct way; any other length becomes a convolution of a power of two
 * (Bluestein's method). Memory comes from the caller. */
#ifndef SDX_OPS_SIGNAL_H
#define SDX_OPS_SIGNAL_H

#include "ops/op.h"

typedef struct sdx_complex {
    double re, im;
} sdx_complex;

typedef struct sdx_fft {
    size_t length;           /* of the transform */
    size_t size;             /* power of two that it runs in; a work area holds so many */
    const sdx_complex *turns; /* exp(-2 pi i k / size), k < size / 2 */
    const sdx_complex *chirp, *kernel; /* length and size elements; NULL for a power of two */
} sdx_fft;

/* Power of two that a transform of this length runs in: the length itself, or less than 4 times. */
size_t sdx_fft_size(size_t length);
/* Elements of memory that a plan takes: at most 7 per element of length, plus 8. */
size_t sdx_fft_plan_count(size_t length);
void sdx_fft_init(sdx_fft *fft, size_t length, sdx_complex *memory);
/* Forward transform in place of the first `length` elements of work, which has room for `size`.
 * The inverse (but for the factor 1 / length) is the same with re and im swapped on both sides. */
void sdx_fft_run(const sdx_fft *fft, sdx_complex *work);

/* Lines transformed at the same time, each with a work area. */
#define SDX_FFT_SLOTS 4
/* Bytes for a plan and the work areas of a transform of this length, symbolic. */
sdx_expr sdx_infer_fft_scratch(sdx_infer *inf, sdx_expr length);

/* Element as double and back, for the float types. */
static inline double sdx_signal_load(const sdx_tensor *tensor, size_t i) {
    if (tensor->dtype == SDX_DTYPE_FLOAT32) return (double)((const float *)tensor->data)[i];
    return sdx_tensor_double(tensor, i);
}
/* Any numeric type; integers are cut toward zero. */
void sdx_signal_store(sdx_tensor *tensor, size_t i, double value);

#endif
