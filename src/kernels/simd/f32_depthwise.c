/* f32_depthwise.c - a row of a depthwise convolution. Where the whole window lies inside, several
 * neighbouring pixels share each weight; at the edges, a pixel takes several vectors of channels at
 * once, so that no sum waits for itself. */
#include "kernels/simd/simd.h"
#include "kernels/kernels.h"

#define PIXELS 8 /* side by side */
#define WIDE   4 /* vectors of channels at an edge */

/* `pixels` results from column x of the image on; `pixels` and whether lanes == VL are constants. */
SIMD_INLINE void inside(const sdx_depthwise *job, size_t x, float *out, size_t channel,
                        const size_t pixels, const size_t lanes) {
    const size_t channels = job->channels, step = job->stride_w * channels;
    const vf bias = vf_load_lanes(job->bias + channel, lanes);
    vf sum[PIXELS];
    SIMD_UNROLL
    for (size_t p = 0; p < pixels; p++) sum[p] = bias;
    const float *weights = job->weights + channel;
    for (size_t ky = 0; ky < job->kernel_h; ky++) {
        if (!job->rows[ky]) {
            weights += job->kernel_w * channels;
            continue;
        }
        const float *from = job->rows[ky] + x * channels + channel;
        for (size_t kx = 0; kx < job->kernel_w; kx++) {
            const vf w = vf_load_lanes(weights, lanes);
            SIMD_UNROLL
            for (size_t p = 0; p < pixels; p++)
                sum[p] = vf_fma(w, vf_load_lanes(from + p * step, lanes), sum[p]);
            from += job->dilation_w * channels;
            weights += channels;
        }
    }
    if (job->act == SDX_ACT_CLIP) {
        const vf low = vf_set1(job->a), high = vf_set1(job->b);
        SIMD_UNROLL
        for (size_t p = 0; p < pixels; p++) sum[p] = vf_clip(sum[p], low, high);
    }
    SIMD_UNROLL
    for (size_t p = 0; p < pixels; p++) vf_store_lanes(out + p * channels + channel, sum[p], lanes);
}

/* Results [first, last), whose windows lie inside from left to right. */
SIMD_INLINE void inside_run(const sdx_depthwise *job, size_t first, size_t last, size_t channel,
                            const size_t lanes) {
    size_t o = first;
    for (; o + PIXELS <= last; o += PIXELS)
        inside(job, o * job->stride_w - job->pad_left, job->out + o * job->channels, channel,
               PIXELS, lanes);
    if (o + 4 <= last) {
        inside(job, o * job->stride_w - job->pad_left, job->out + o * job->channels, channel, 4,
               lanes);
        o += 4;
    }
    if (o + 2 <= last) {
        inside(job, o * job->stride_w - job->pad_left, job->out + o * job->channels, channel, 2,
               lanes);
        o += 2;
    }
    if (o < last)
        inside(job, o * job->stride_w - job->pad_left, job->out + o * job->channels, channel, 1,
               lanes);
}

/* `vectors` vectors of channels of one result; taps [from, to) of each row are inside. */
SIMD_INLINE void edge(const sdx_depthwise *job, size_t o, size_t channel, size_t from, size_t to,
                      const size_t vectors, const size_t lanes) {
    const size_t channels = job->channels;
    vf sum[WIDE];
    SIMD_UNROLL
    for (size_t v = 0; v < vectors; v++)
        sum[v] = vf_load_lanes(job->bias + channel + v * VL, lanes);
    for (size_t ky = 0; ky < job->kernel_h; ky++) {
        if (!job->rows[ky]) continue;
        for (size_t kx = from; kx < to; kx++) {
            size_t x = o * job->stride_w + kx * job->dilation_w - job->pad_left;
            const float *at = job->rows[ky] + x * channels + channel;
            const float *w = job->weights + (ky * job->kernel_w + kx) * channels + channel;
            SIMD_UNROLL
            for (size_t v = 0; v < vectors; v++)
                sum[v] = vf_fma(vf_load_lanes(w + v * VL, lanes), vf_load_lanes(at + v * VL, lanes),
                                sum[v]);
        }
    }
    const vf low = vf_set1(job->a), high = vf_set1(job->b);
    SIMD_UNROLL
    for (size_t v = 0; v < vectors; v++) {
        if (job->act == SDX_ACT_CLIP) sum[v] = vf_clip(sum[v], low, high);
        vf_store_lanes(job->out + o * channels + channel + v * VL, sum[v], lanes);
    }
}

static void edge_pixel(const sdx_depthwise *job, size_t o) {
    /* Taps whose column is inside: a run, since columns grow with the tap. */
    size_t start = o * job->stride_w, from = 0, to = job->kernel_w;
    while (from < to && start + from * job->dilation_w < job->pad_left) from++;
    while (to > from && start + (to - 1) * job->dilation_w - job->pad_left >= job->in_w) to--;
    size_t c = 0;
    for (; c + WIDE * VL <= job->channels; c += WIDE * VL) edge(job, o, c, from, to, WIDE, VL);
    for (; c + VL <= job->channels; c += VL) edge(job, o, c, from, to, 1, VL);
    if (c < job->channels) edge(job, o, c, from, to, 1, job->channels - c);
}

void SDX_NAME(sdx_f32_depthwise)(const sdx_depthwise *job) {
    size_t reach = (job->kernel_w - 1) * job->dilation_w;
    size_t first = (job->pad_left + job->stride_w - 1) / job->stride_w;
    size_t last = job->in_w + job->pad_left > reach
                      ? (job->in_w + job->pad_left - reach - 1) / job->stride_w + 1
                      : 0;
    if (last > job->out_w) last = job->out_w;
    if (first > last) first = last = job->out_w < first ? job->out_w : first;
    for (size_t o = 0; o < first; o++) edge_pixel(job, o);
    size_t c = 0;
    for (; c + VL <= job->channels; c += VL) inside_run(job, first, last, c, VL);
    if (c < job->channels) inside_run(job, first, last, c, job->channels - c);
    for (size_t o = last; o < job->out_w; o++) edge_pixel(job, o);
}
