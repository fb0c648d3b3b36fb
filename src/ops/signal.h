/* signal.h - the Fourier transform under DFT and STFT. A length is split into small factors and
 * computed in float or double, as the tensor has it; one with a large prime factor becomes a
 * convolution of a power of two in double (Bluestein's method). Memory comes from the caller. */
#ifndef SDX_OPS_SIGNAL_H
#define SDX_OPS_SIGNAL_H

#include "ops/op.h"

#define SDX_FFT_FACTORS 64

/* What a length is made of; the same for both types. */
typedef struct sdx_fft_plan {
    size_t length, size; /* size: the power of two of Bluestein's method, or the length itself */
    bool wide;           /* computed in double */
    int factor_count;    /* of size */
    size_t factors[SDX_FFT_FACTORS];
    void *turns;         /* exp(-2 pi i k / size), k < size */
    void *chirp, *kernel; /* length and size elements; NULL: the direct way */
} sdx_fft_plan;

/* Elements in a line, complex ones of twice this type's size, are float or double by plan->wide. */
void sdx_fft_init(sdx_fft_plan *plan, size_t length, bool wide, void *memory);
/* Bytes that the plan took of memory, and that each line needs (working copies included). */
size_t sdx_fft_plan_bytes(const sdx_fft_plan *plan);
size_t sdx_fft_line_bytes(const sdx_fft_plan *plan);
void sdx_fft_set(const sdx_fft_plan *plan, void *line, size_t k, double re, double im);
void sdx_fft_get(const sdx_fft_plan *plan, const void *line, size_t k, double *re, double *im);
/* Transforms the first `length` elements of the line; inverse includes the factor 1 / length. */
void sdx_fft_run(const sdx_fft_plan *plan, void *line, bool inverse);

/* Lines transformed at the same time. */
#define SDX_FFT_SLOTS 4
/* Bytes for a plan and that many lines, symbolic. */
sdx_expr sdx_infer_fft_scratch(sdx_infer *inf, sdx_expr length);

/* Element as double and back, for the float types. */
static inline double sdx_signal_load(const sdx_tensor *tensor, size_t i) {
    if (tensor->dtype == SDX_DTYPE_FLOAT32) return (double)((const float *)tensor->data)[i];
    return sdx_tensor_double(tensor, i);
}
/* Any numeric type; integers are cut toward zero. */
void sdx_signal_store(sdx_tensor *tensor, size_t i, double value);

#endif
