/* vexp.h - exp, the logistic function and tanh over arrays of float32, in the vector code of the
 * machine. Used by Softmax, Attention and the recurrent operators; good for any operator that can
 * bear 2 units in the last place. NaN and infinities come out as in libm; what the logistic
 * function and exp_sum would make smaller than the normal numbers is 0. in and out may be the same
 * array. */
#ifndef SDX_KERNELS_VEXP_H
#define SDX_KERNELS_VEXP_H

#include <stddef.h>

void sdx_f32_exp(const float *in, float *out, size_t n);
/* out = exp(in - shift), in <= shift; returns the sum of out. */
float sdx_f32_exp_sum(const float *in, float shift, float *out, size_t n);
void sdx_f32_sigmoid(const float *in, float *out, size_t n);
void sdx_f32_tanh(const float *in, float *out, size_t n);
/* Largest element; -infinity for n = 0. NaN if there is one. */
float sdx_f32_max(const float *in, size_t n);

#endif
