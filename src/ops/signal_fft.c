/* signal_fft.c - the Fourier transform of signal.h. */
#include "ops/signal.h"

#include <math.h>

#define PI 3.14159265358979323846

static sdx_complex times(sdx_complex a, sdx_complex b) {
    return (sdx_complex){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

static bool power_of_two(size_t n) { return (n & (n - 1)) == 0; }

size_t sdx_fft_size(size_t length) {
    if (length < 2) return 1;
    if (power_of_two(length)) return length;
    size_t size = 1;
    while (size < 2 * length - 1) size *= 2;
    return size;
}

size_t sdx_fft_plan_count(size_t length) {
    size_t size = sdx_fft_size(length);
    return size / 2 + 1 + (power_of_two(length) ? 0 : length + size);
}

sdx_expr sdx_infer_fft_scratch(sdx_infer *inf, sdx_expr length) {
    /* The plan, and `slots` work areas of at most 4 times the length. */
    int64_t each = 7 + 4 * SDX_FFT_SLOTS, size = (int64_t)sizeof(sdx_complex);
    sdx_expr count = sdx_inf_mul(inf, length, sdx_expr_const(each));
    count = sdx_inf_add(inf, count, sdx_expr_const(8 + 4 * SDX_FFT_SLOTS));
    return sdx_inf_mul(inf, count, sdx_expr_const(size));
}

/* Decimation in time over `size` elements: reversed order of bits, then butterflies. */
static void transform(const sdx_fft *fft, sdx_complex *x) {
    size_t size = fft->size;
    for (size_t i = 1, j = 0; i < size; i++) {
        size_t bit = size >> 1;
        for (; j & bit; bit >>= 1) j ^= bit;
        j ^= bit;
        if (i < j) {
            sdx_complex swap = x[i];
            x[i] = x[j];
            x[j] = swap;
        }
    }
    for (size_t half = 1, step = size / 2; half < size; half *= 2, step /= 2)
        for (size_t block = 0; block < size; block += 2 * half)
            for (size_t k = 0; k < half; k++) {
                sdx_complex *a = &x[block + k], *b = &x[block + k + half];
                sdx_complex turned = times(*b, fft->turns[k * step]);
                *b = (sdx_complex){a->re - turned.re, a->im - turned.im};
                *a = (sdx_complex){a->re + turned.re, a->im + turned.im};
            }
}

void sdx_fft_init(sdx_fft *fft, size_t length, sdx_complex *memory) {
    size_t size = sdx_fft_size(length);
    *fft = (sdx_fft){.length = length, .size = size, .turns = memory};
    for (size_t k = 0; k < size / 2; k++) {
        double angle = -2 * PI * (double)k / (double)size;
        memory[k] = (sdx_complex){cos(angle), sin(angle)};
    }
    if (power_of_two(length)) return;
    sdx_complex *chirp = memory + size / 2 + 1, *kernel = chirp + length;
    for (size_t n = 0; n < length; n++) {
        /* n^2 modulo the period, so that the angle stays small and exact. */
        uint64_t square = (uint64_t)n * n % (2 * (uint64_t)length);
        double angle = -PI * (double)square / (double)length;
        chirp[n] = (sdx_complex){cos(angle), sin(angle)};
    }
    for (size_t n = 0; n < size; n++) kernel[n] = (sdx_complex){0, 0};
    for (size_t n = 0; n < length; n++) {
        sdx_complex turned = {chirp[n].re, -chirp[n].im};
        kernel[n] = turned;
        if (n > 0) kernel[size - n] = turned;
    }
    transform(fft, kernel);
    for (size_t n = 0; n < size; n++) {
        kernel[n].re /= (double)size;
        kernel[n].im /= (double)size;
    }
    fft->chirp = chirp;
    fft->kernel = kernel;
}

void sdx_fft_run(const sdx_fft *fft, sdx_complex *work) {
    if (fft->chirp == NULL) {
        transform(fft, work);
        return;
    }
    for (size_t n = 0; n < fft->length; n++) work[n] = times(work[n], fft->chirp[n]);
    for (size_t n = fft->length; n < fft->size; n++) work[n] = (sdx_complex){0, 0};
    transform(fft, work);
    for (size_t n = 0; n < fft->size; n++) { /* swapped: the way back is the inverse */
        sdx_complex product = times(work[n], fft->kernel[n]);
        work[n] = (sdx_complex){product.im, product.re};
    }
    transform(fft, work);
    for (size_t n = 0; n < fft->length; n++)
        work[n] = times((sdx_complex){work[n].im, work[n].re}, fft->chirp[n]);
}

/* Held inside 64 bits; NaN becomes 0. */
static int64_t whole(double value) {
    if (value != value) return 0;
    if (value <= -9223372036854775808.0) return INT64_MIN;
    return value >= 9223372036854775808.0 ? INT64_MAX : (int64_t)value;
}

void sdx_signal_store(sdx_tensor *tensor, size_t i, double value) {
    void *data = tensor->data;
    switch (tensor->dtype) {
    case SDX_DTYPE_FLOAT32: ((float *)data)[i] = (float)value; return;
    case SDX_DTYPE_FLOAT64: ((double *)data)[i] = value; return;
    case SDX_DTYPE_FLOAT16: ((uint16_t *)data)[i] = sdx_f64_to_f16(value); return;
    case SDX_DTYPE_BFLOAT16: ((uint16_t *)data)[i] = sdx_f64_to_bf16(value); return;
    default: break;
    }
    uint64_t bits = (uint64_t)whole(value);
    switch (sdx_dtype_size(tensor->dtype)) {
    case 1: ((uint8_t *)data)[i] = (uint8_t)bits; break;
    case 2: ((uint16_t *)data)[i] = (uint16_t)bits; break;
    case 4: ((uint32_t *)data)[i] = (uint32_t)bits; break;
    default: ((uint64_t *)data)[i] = bits; break;
    }
}
