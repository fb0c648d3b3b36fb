/* vexp.c - the array functions of vexp.h, by the kernels of the instruction set at hand. */
#include "kernels/vexp.h"

#include "kernels/kernels.h"

void sdx_f32_exp(const float *in, float *out, size_t n) {
    SDX_KERNEL_OF(sdx_kernels_get(), f32_unary)(SDX_F32_EXP, in, out, n, 0, 0);
}
void sdx_f32_sigmoid(const float *in, float *out, size_t n) {
    SDX_KERNEL_OF(sdx_kernels_get(), f32_unary)((sdx_f32_function)SDX_ACT_SIGMOID, in, out, n, 0, 0);
}
void sdx_f32_tanh(const float *in, float *out, size_t n) {
    SDX_KERNEL_OF(sdx_kernels_get(), f32_unary)((sdx_f32_function)SDX_ACT_TANH, in, out, n, 0, 0);
}

float sdx_f32_exp_sum(const float *in, float shift, float *out, size_t n) {
    float sum;
    SDX_KERNEL_OF(sdx_kernels_get(), f32_exp_sum)(in, shift, out, n, &sum);
    return sum;
}

float sdx_f32_max(const float *in, size_t n) {
    float max;
    SDX_KERNEL_OF(sdx_kernels_get(), f32_max)(in, n, &max);
    return max;
}
