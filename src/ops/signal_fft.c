/* signal_fft.c - the Fourier transform of signal.h: plans, Bluestein's method, and the passes of
 * signal_passes.h made for float and double. */
#include "ops/signal.h"

#include <math.h>

#define PI 3.14159265358979323846
/* A pass costs as much per element as its factor: above this, Bluestein's method is cheaper. */
#define LARGEST_FACTOR 31

#define T float
#define LOCAL(x) f32_##x
#include "ops/signal_passes.h"
#undef T
#undef LOCAL
#define T double
#define LOCAL(x) f64_##x
#include "ops/signal_passes.h"

/* ---- plans ----------------------------------------------------------------------------------- */

/* Fours, then a two in front, then the odd factors. Returns what is left over: 1 if all is well. */
static size_t split(sdx_fft_plan *plan, size_t n) {
    plan->factor_count = 0;
    for (; n % 4 == 0; n /= 4) plan->factors[plan->factor_count++] = 4;
    if (n % 2 == 0) {
        n /= 2;
        plan->factors[plan->factor_count] = plan->factors[0];
        plan->factors[0] = 2;
        plan->factor_count++;
    }
    for (size_t p = 3; p <= LARGEST_FACTOR; p += 2)
        for (; n % p == 0; n /= p) plan->factors[plan->factor_count++] = p;
    return n;
}

static size_t complex_size(const sdx_fft_plan *plan) {
    return plan->wide ? sizeof(f64_complex) : sizeof(f32_complex);
}

/* exp(i pi n^2 / length) convolved with itself turned over gives the transform. */
static void make_chirp(sdx_fft_plan *plan, f64_complex *memory, f64_complex *spare) {
    size_t length = plan->length, size = plan->size;
    f64_complex *chirp = memory, *kernel = memory + length;
    for (size_t n = 0; n < length; n++) {
        /* n^2 modulo the period, so that the angle stays small and exact. */
        uint64_t square = (uint64_t)n * n % (2 * (uint64_t)length);
        double angle = -PI * (double)square / (double)length;
        chirp[n] = (f64_complex){cos(angle), sin(angle)};
    }
    for (size_t n = 0; n < size; n++) kernel[n] = (f64_complex){0, 0};
    for (size_t n = 0; n < length; n++) {
        kernel[n] = (f64_complex){chirp[n].re, -chirp[n].im};
        if (n > 0) kernel[size - n] = kernel[n];
    }
    f64_transform(plan, kernel, spare);
    for (size_t n = 0; n < size; n++) {
        kernel[n].re /= (double)size;
        kernel[n].im /= (double)size;
    }
    plan->chirp = chirp;
    plan->kernel = kernel;
}

void sdx_fft_init(sdx_fft_plan *plan, size_t length, bool wide, void *memory) {
    *plan = (sdx_fft_plan){.length = length, .size = length, .wide = wide, .turns = memory};
    if (split(plan, length) == 1) {
        if (wide)
            f64_make_turns(length, memory);
        else
            f32_make_turns(length, memory);
        return;
    }
    plan->wide = true;
    plan->size = 1;
    while (plan->size < 2 * length - 1) plan->size *= 2;
    split(plan, plan->size);
    f64_complex *turns = memory;
    f64_make_turns(plan->size, turns);
    /* The spare room of the last transform is the first line's, which lies behind the plan. */
    f64_complex *chirp = turns + plan->size;
    make_chirp(plan, chirp, chirp + length + plan->size);
}

size_t sdx_fft_plan_bytes(const sdx_fft_plan *plan) {
    size_t count = plan->chirp ? 2 * plan->size + plan->length : plan->size;
    return count * complex_size(plan);
}

size_t sdx_fft_line_bytes(const sdx_fft_plan *plan) {
    return 2 * plan->size * complex_size(plan);
}

sdx_expr sdx_infer_fft_scratch(sdx_infer *inf, sdx_expr length) {
    /* size is below 4 times the length: 9 lengths for the plan, 8 for each line. */
    int64_t each = (9 + 8 * SDX_FFT_SLOTS) * (int64_t)sizeof(f64_complex);
    return sdx_inf_mul(inf, length, sdx_expr_const(each));
}

/* ---- lines ----------------------------------------------------------------------------------- */

void sdx_fft_set(const sdx_fft_plan *plan, void *line, size_t k, double re, double im) {
    if (plan->wide)
        ((f64_complex *)line)[k] = (f64_complex){re, im};
    else
        ((f32_complex *)line)[k] = (f32_complex){(float)re, (float)im};
}

void sdx_fft_get(const sdx_fft_plan *plan, const void *line, size_t k, double *re, double *im) {
    if (plan->wide) {
        *re = ((const f64_complex *)line)[k].re;
        *im = ((const f64_complex *)line)[k].im;
    } else {
        *re = (double)((const f32_complex *)line)[k].re;
        *im = (double)((const f32_complex *)line)[k].im;
    }
}

static void run_chirp(const sdx_fft_plan *plan, f64_complex *line) {
    const f64_complex *chirp = plan->chirp, *kernel = plan->kernel;
    f64_complex *spare = line + plan->size;
    for (size_t n = 0; n < plan->length; n++) line[n] = f64_mul(line[n], chirp[n]);
    for (size_t n = plan->length; n < plan->size; n++) line[n] = (f64_complex){0, 0};
    f64_transform(plan, line, spare);
    for (size_t n = 0; n < plan->size; n++) line[n] = f64_mul(line[n], kernel[n]);
    f64_swap_parts(line, plan->size); /* the way back is the inverse */
    f64_transform(plan, line, spare);
    f64_swap_parts(line, plan->length);
    for (size_t n = 0; n < plan->length; n++) line[n] = f64_mul(line[n], chirp[n]);
}

/* The inverse is the same with real and imaginary parts swapped on both sides. */
void sdx_fft_run(const sdx_fft_plan *plan, void *line, bool inverse) {
    size_t n = plan->length;
    if (!plan->wide) {
        f32_complex *x = line;
        float scale = (float)(1.0 / (double)n);
        if (inverse) f32_swap_parts(x, n);
        f32_transform(plan, x, x + plan->size);
        if (inverse) f32_swap_parts(x, n);
        for (size_t k = 0; k < n && inverse; k++)
            x[k] = (f32_complex){x[k].re * scale, x[k].im * scale};
        return;
    }
    f64_complex *x = line;
    double scale = 1.0 / (double)n;
    if (inverse) f64_swap_parts(x, n);
    if (plan->chirp)
        run_chirp(plan, x);
    else
        f64_transform(plan, x, x + plan->size);
    if (inverse) f64_swap_parts(x, n);
    for (size_t k = 0; k < n && inverse; k++)
        x[k] = (f64_complex){x[k].re * scale, x[k].im * scale};
}

/* ---- elements -------------------------------------------------------------------------------- */

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
