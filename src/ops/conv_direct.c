/* conv_direct.c - convolution of single planes (depthwise layers, image filters) without a patch
 * matrix: each output plane reads one input plane. The plane is first written to scratch with its
 * padding around it, and the steps of the innermost stride taken apart; after that every tap is
 * one fixed offset, and output rows are plain vector sums. Called by conv_float.c. */
#include <string.h>

#include "ops/conv.h"

enum { PIECES = 8, SLACK = 8 }; /* SLACK: elements that a vector may read past a row */

typedef struct job {
    const sdx_conv *conv;
    const void *x, *w, *bias;
    void *y;
    int64_t extent[SDX_MAX_RANK]; /* of the spread-out plane, outer axes */
    size_t lane, pitch, rows;     /* elements of one phase of a row and of all; rows */
    size_t *offset;               /* of each tap from the first */
    char *memory;
    size_t plane_bytes, pieces, planes;
} job;

#define T float
#define LOCAL(x) f32_##x
#include "ops/conv_direct_template.h"
#undef T
#undef LOCAL

#define T double
#define LOCAL(x) f64_##x
#include "ops/conv_direct_template.h"
#undef T
#undef LOCAL

static void piece_body(void *arg, size_t begin, size_t end) {
    const job *j = arg;
    for (size_t piece = begin; piece < end; piece++) {
        size_t first = piece * j->planes / j->pieces, last = (piece + 1) * j->planes / j->pieces;
        void *memory = j->memory + piece * j->plane_bytes;
        if (j->conv->dtype == SDX_DTYPE_FLOAT64)
            f64_planes(j, first, last, memory);
        else
            f32_planes(j, first, last, memory);
    }
}

/* Sizes of the spread-out plane; false if they do not fit. */
static bool lay_out(job *j) {
    const sdx_window *w = &j->conv->window;
    int32_t last = w->rank - 1;
    j->rows = 1;
    for (int32_t a = 0; a < last; a++) {
        j->extent[a] = (w->out[a] - 1) * w->stride[a] + (w->kernel[a] - 1) * w->dilation[a] + 1;
        if (!sdx_size_mul(j->rows, (size_t)j->extent[a], &j->rows)) return false;
    }
    int64_t reach = (w->kernel[last] - 1) * w->dilation[last] / w->stride[last];
    j->lane = (size_t)(w->out[last] + reach + SLACK);
    size_t bytes;
    return sdx_size_mul(j->lane, (size_t)w->stride[last], &j->pitch) &&
           sdx_size_mul(j->pitch, j->rows, &bytes) &&
           sdx_size_mul(bytes, sdx_dtype_size(j->conv->dtype), &bytes) &&
           sdx_size_align(bytes, SDX_CACHE_LINE, &j->plane_bytes);
}

/* Offsets of all taps, in the order of the kernel. */
static void place_taps(job *j) {
    const sdx_window *w = &j->conv->window;
    int32_t last = w->rank - 1;
    int64_t tap[SDX_MAX_RANK] = {0};
    for (size_t t = 0; t < w->kernel_count; t++) {
        size_t row = 0, x = (size_t)(tap[last] * w->dilation[last]);
        size_t stride = (size_t)w->stride[last];
        for (int32_t a = 0; a < last; a++)
            row = row * (size_t)j->extent[a] + (size_t)(tap[a] * w->dilation[a]);
        j->offset[t] = row * j->pitch + x % stride * j->lane + x / stride;
        for (int32_t a = last; a >= 0 && ++tap[a] == w->kernel[a]; a--) tap[a] = 0;
    }
}

void sdx_conv_direct_scratch(sdx_infer *inf, const sdx_conv_params *params, size_t taps) {
    const sdx_infer_out *out = &inf->out[0];
    sdx_dtype dtype = sdx_infer_dtype(inf, 0);
    sdx_expr bytes = sdx_expr_const(dtype == SDX_DTYPE_FLOAT64 ? 8 : 4);
    int32_t spatial = out->rank_known ? out->type.rank - 2 : 0;
    for (int32_t a = 0; a < spatial; a++) {
        int64_t stride = sdx_window_stride(&params->window, a);
        sdx_expr reach = sdx_inf_mul(inf, sdx_infer_dim(inf, 1, a + 2),
                                     sdx_expr_const(sdx_window_dilation(&params->window, a)));
        sdx_expr size = sdx_inf_mul(inf, out->dims[a + 2], sdx_expr_const(stride));
        size = sdx_inf_add(inf, size, reach);
        if (a + 1 == spatial) size = sdx_inf_add(inf, size, sdx_expr_const(SLACK * stride));
        bytes = sdx_inf_mul(inf, bytes, size);
    }
    bytes = sdx_inf_add(inf, bytes, sdx_expr_const(SDX_CACHE_LINE));
    sdx_infer_add_scratch_expr(inf, sdx_inf_mul(inf, bytes, sdx_expr_const(PIECES)));
    sdx_infer_add_scratch(inf, taps * sizeof(size_t));
}

sdx_status sdx_conv_direct(sdx_call *call, const sdx_conv *conv, const void *x, const void *w,
                           const void *bias, void *y) {
    job j = {.conv = conv, .x = x, .w = w, .bias = bias, .y = y};
    j.planes = conv->batch * conv->groups * conv->out_planes;
    j.pieces = j.planes < PIECES ? j.planes : PIECES;
    size_t taps = (conv->window.kernel_count * sizeof(size_t) + 63) / 64 * 64, bytes;
    if (!lay_out(&j) || !sdx_size_mul(j.plane_bytes, j.pieces, &bytes) ||
        !sdx_size_add(bytes, taps, &bytes))
        return sdx_call_fail_with(call, SDX_STATUS_LIMIT, "the padded image is too large");
    sdx_scratch scratch;
    SDX_TRY(sdx_call_scratch(call, bytes, &scratch));
    j.offset = scratch.data;
    j.memory = (char *)scratch.data + taps;
    place_taps(&j);
    size_t work = conv->window.out_count * conv->window.kernel_count * (j.planes / j.pieces);
    sdx_call_parallel(call, j.pieces, work < 32768 ? j.pieces : 1, piece_body, &j);
    sdx_call_scratch_end(call, &scratch);
    return SDX_STATUS_OK;
}
