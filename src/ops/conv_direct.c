/* conv_direct.c - convolution of single planes (depthwise layers, image filters) without a patch
 * matrix: each output plane reads one input plane. Made from conv_direct_template.h for float and
 * double; called by conv_float.c. */
#include <string.h>

#include "ops/conv.h"

/* Kernel rows that are collected before they are added to an output row. */
#define MAX_ROWS 32

typedef struct job {
    const sdx_conv *conv;
    const void *x, *w, *bias;
    void *y;
} job;

#define T float
#define LOCAL(x) f32_##x
#include "ops/conv_direct_template.h"
#undef T
#undef LOCAL

#define T double
#define LOCAL(x) f64_##x
#include "ops/conv_direct_template.h"

void sdx_conv_direct(sdx_call *call, const sdx_conv *conv, const void *x, const void *w,
                     const void *bias, void *y) {
    job j = {conv, x, w, bias, y};
    size_t work = conv->window.out_count * conv->window.kernel_count;
    sdx_call_parallel(call, conv->batch * conv->groups * conv->out_planes,
                      ((size_t)1 << 17) / (work + 1) + 1,
                      conv->dtype == SDX_DTYPE_FLOAT64 ? f64_planes : f32_planes, &j);
}
