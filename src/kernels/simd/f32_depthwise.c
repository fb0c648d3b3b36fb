/* f32_depthwise.c - rows of a depthwise convolution, one vector of channels at a time over all of
 * them: what a row of results has read, the next one finds in the first-level cache.
 *
 * The usual kernels slide along the row: each vector of the image is loaded once for a row of the
 * kernel and goes into all results that see it, the sums of which stand in registers. Columns outside
 * the image are left out, so that the edges cost nothing. Other kernels take several neighbouring
 * pixels at a time where the window lies inside, and one at the edges. */
#include <math.h>

#include "kernels/simd/f32_act.h"
#include "kernels/kernels.h"

/* ---- the tail -------------------------------------------------------------------------------- */

/* What the kernels below leave, over a row that was just stored: addend, activation, sum. */
SIMD_INLINE void finish_as(const sdx_depthwise *job, size_t row, size_t channel, size_t lanes,
                           const sdx_act act) {
    const vf a = act_tail_first(act, vf_set1(job->a)), b = vf_set1(job->b);
    const size_t at = row * job->out_w * job->step + channel;
    vf total = vf_set1(0.0f);
    for (size_t o = 0; o < job->out_w; o++) {
        float *out = job->out + at + o * job->step;
        vf x = vf_load_lanes(out, lanes);
        if (job->addend) x += vf_load_lanes(job->addend + at + o * job->step, lanes);
        x = act_tail(act, x, a, b);
        total += x;
        vf_store_lanes(out, x, lanes);
    }
    if (job->sums) vf_store_lanes(job->sums + row * job->step + channel, total, lanes);
}

static void finish(const sdx_depthwise *job, size_t row, size_t channel, size_t lanes) {
#define CASE(act)                                                                                 \
    case act:                                                                                     \
        if (lanes == VL) finish_as(job, row, channel, VL, act);                                   \
        else finish_as(job, row, channel, lanes, act);                                            \
        break;
    switch (job->act) {
        CASE(SDX_ACT_CLIP)
        CASE(SDX_ACT_LEAKY)
        CASE(SDX_ACT_SIGMOID)
        CASE(SDX_ACT_SWISH)
        CASE(SDX_ACT_HARD_SIGMOID)
        CASE(SDX_ACT_HARD_SWISH)
        CASE(SDX_ACT_TANH)
        CASE(SDX_ACT_GELU)
        CASE(SDX_ACT_GELU_TANH)
    default: finish_as(job, row, channel, lanes, SDX_ACT_NONE);
    }
#undef CASE
}

/* Where a comparison is all that comes before the store; no bounds: nothing does. */
typedef struct bounds {
    vf low, high;
} bounds;

SIMD_INLINE bounds bounds_of(const sdx_depthwise *job, bool finishes) {
    const bool clip = job->act == SDX_ACT_CLIP && !finishes;
    return (bounds){vf_set1(clip ? job->a : -INFINITY), vf_set1(clip ? job->b : INFINITY)};
}

/* ---- sliding --------------------------------------------------------------------------------- */

#define MOST 7 /* columns of a kernel that slides */
#define NEAR 5 /* of one whose weights are at hand; those of larger ones, 3 kB and more, stay where they lie */

/* Sums of a result, by even and odd rows of the kernel where there are registers for both: all its terms in
 * one chain would wait for one another. There, several steps at a time move fewer sums from one register to
 * another. */
#if SIMD_REGISTERS >= 32
#define CHAINS      2
#define SLIDE_STEPS _Pragma("GCC unroll 3")
#else
#define CHAINS      1
#define SLIDE_STEPS
#endif

/* A row of results. Step t takes the next `stride` columns of the image, after which result
 * t - flight + 1 is complete. All but the pointers is constant where this is called; `whole`: no row of
 * the kernel is outside. */
SIMD_INLINE vf slide_row(const sdx_depthwise *job, const float *const *rows, float *out,
                         size_t channel, const vf *w, const vf bias, const bounds clip,
                         const size_t kernel, const size_t stride, const sdx_act act,
                         const bool whole) {
    const size_t flight = (kernel + stride - 1) / stride, step = job->step;
    const size_t in_w = job->in_w, in_step = job->in_step, steps = job->out_w + flight - 1;
    const float *at[MOST], *weights = job->weights + channel;
    vf sum[MOST][2], total = vf_set1(0.0f);
    SIMD_UNROLL
    for (size_t ky = 0; ky < kernel; ky++) at[ky] = rows[ky] ? rows[ky] + channel : NULL;
    SIMD_UNROLL
    for (size_t j = 0; j < flight; j++) sum[j][0] = bias, sum[j][1] = vf_set1(0.0f);
    size_t x = (size_t)0 - job->pad_left, offset = x * in_step; /* left of the image: very large */
    SLIDE_STEPS
    for (size_t t = 0; t < steps; t++) {
        SIMD_UNROLL
        for (size_t s = 0; s < stride; s++, x++, offset += in_step) {
            if (x >= in_w) continue;
            /* Where a vector is a line of the cache: the next channels of what is new in this row. */
            for (size_t n = kernel - stride; whole && kernel == 3 && VL == 16 && n < kernel; n++)
                __builtin_prefetch(at[n] + offset + VL);
            SIMD_UNROLL
            for (size_t ky = 0; ky < kernel; ky++) {
                if (!whole && !at[ky]) continue;
                const vf v = vf_load(at[ky] + offset);
                SIMD_UNROLL
                for (size_t m = 0; m < flight; m++)
                    if (stride * m + s < kernel) {
                        const size_t i = ky * kernel + stride * m + s;
                        const vf f = kernel <= NEAR ? w[i] : vf_load(weights + i * step);
                        vf *to = &sum[flight - 1 - m][ky % CHAINS];
                        *to = vf_fma(f, v, *to);
                    }
            }
        }
        if (t + 1 >= flight) {
            vf y = sum[0][0];
            if (CHAINS > 1) y += sum[0][1];
            y = act_tail(act == SDX_ACT_NONE ? SDX_ACT_CLIP : act, y, clip.low, clip.high);
            total += y;
            vf_store(out, y);
            out += step;
        }
        SIMD_UNROLL
        for (size_t j = 0; j + 1 < flight; j++) sum[j][0] = sum[j + 1][0], sum[j][1] = sum[j + 1][1];
        sum[flight - 1][0] = bias, sum[flight - 1][1] = vf_set1(0.0f);
    }
    return total;
}

/* Activations that results get on their way to memory, while the next ones are summed; `act` is NONE where
 * there are others, or an addend before them. */
static bool on_the_way(const sdx_depthwise *job) {
    return !job->addend && (job->act <= SDX_ACT_CLIP || job->act == SDX_ACT_SWISH ||
                            job->act == SDX_ACT_HARD_SWISH);
}

SIMD_INLINE void slide_rows(const sdx_depthwise *job, size_t channel, const size_t kernel,
                            const size_t stride, const sdx_act act) {
    const vf bias = vf_load(job->bias + channel);
    const bool finishes = !on_the_way(job);
    const bounds clip = act == SDX_ACT_NONE ? bounds_of(job, finishes)
                                            : (bounds){act_tail_first(act, vf_set1(job->a)), vf_set1(job->b)};
    vf w[NEAR * NEAR];
    for (size_t t = 0; kernel <= NEAR && t < kernel * kernel; t++) {
        const float *at = job->weights + t * job->step + channel;
        w[t] = vf_load(at);
        __builtin_prefetch(at + VL); /* each tap is far from the last: nothing else would foresee it */
    }
    for (size_t row = 0; row < job->row_count; row++) {
        const float *const *rows = job->rows + row * kernel;
        float *out = job->out + row * job->out_w * job->step + channel;
        bool whole = true;
        for (size_t ky = 0; ky < kernel; ky++) whole = whole && rows[ky];
        const vf total =
            whole ? slide_row(job, rows, out, channel, w, bias, clip, kernel, stride, act, true)
                  : slide_row(job, rows, out, channel, w, bias, clip, kernel, stride, act, false);
        if (finishes) finish(job, row, channel, VL);
        else if (job->sums) vf_store(job->sums + row * job->step + channel, total);
    }
}

#define SLIDE(kernel, stride)                                                                     \
    static void slide_##kernel##_##stride(const sdx_depthwise *job, size_t channel) {             \
        slide_rows(job, channel, kernel, stride, SDX_ACT_NONE);                                   \
    }                                                                                             \
    static void swish_##kernel##_##stride(const sdx_depthwise *job, size_t channel) {             \
        slide_rows(job, channel, kernel, stride, SDX_ACT_SWISH);                                  \
    }                                                                                             \
    static void hard_swish_##kernel##_##stride(const sdx_depthwise *job, size_t channel) {        \
        slide_rows(job, channel, kernel, stride, SDX_ACT_HARD_SWISH);                             \
    }
SLIDE(3, 1)
SLIDE(3, 2)
SLIDE(5, 1)
SLIDE(5, 2)
SLIDE(7, 1)
SLIDE(7, 2)

typedef void (*slider)(const sdx_depthwise *job, size_t channel);

static slider find_slider(const sdx_depthwise *job) {
    static const slider all[3][3][2] = {
        {{slide_3_1, slide_3_2}, {slide_5_1, slide_5_2}, {slide_7_1, slide_7_2}},
        {{swish_3_1, swish_3_2}, {swish_5_1, swish_5_2}, {swish_7_1, swish_7_2}},
        {{hard_swish_3_1, hard_swish_3_2}, {hard_swish_5_1, hard_swish_5_2},
         {hard_swish_7_1, hard_swish_7_2}}};
    const size_t kernel = job->kernel_w;
    if (kernel != job->kernel_h || kernel % 2 == 0 || kernel < 3 || kernel > MOST ||
        job->stride_w > 2 || job->dilation_w != 1 || job->channels < VL)
        return NULL;
    const size_t act = !on_the_way(job)                 ? 0
                       : job->act == SDX_ACT_SWISH      ? 1
                       : job->act == SDX_ACT_HARD_SWISH ? 2
                                                        : 0;
    return all[act][(kernel - 3) / 2][job->stride_w - 1];
}

/* ---- any kernel ------------------------------------------------------------------------------ */

#define PIXELS 8 /* side by side */

static bool is_more(const sdx_depthwise *job) {
    return job->addend || job->sums || job->act > SDX_ACT_CLIP;
}

/* `pixels` results from column x of the image on; `pixels` and whether lanes == VL are constants. */
SIMD_INLINE void inside(const sdx_depthwise *job, const float *const *rows, size_t x, float *out,
                        size_t channel, const size_t pixels, const size_t lanes) {
    const size_t in_step = job->in_step, next = job->stride_w * in_step;
    const vf bias = vf_load_lanes(job->bias + channel, lanes);
    const bounds clip = bounds_of(job, is_more(job));
    vf sum[PIXELS];
    SIMD_UNROLL
    for (size_t p = 0; p < pixels; p++) sum[p] = bias;
    const float *weights = job->weights + channel;
    for (size_t ky = 0; ky < job->kernel_h; ky++) {
        if (!rows[ky]) {
            weights += job->kernel_w * job->step;
            continue;
        }
        const float *from = rows[ky] + x * in_step + channel;
        for (size_t kx = 0; kx < job->kernel_w; kx++) {
            const vf w = vf_load_lanes(weights, lanes);
            SIMD_UNROLL
            for (size_t p = 0; p < pixels; p++)
                sum[p] = vf_fma(w, vf_load_lanes(from + p * next, lanes), sum[p]);
            from += job->dilation_w * in_step;
            weights += job->step;
        }
    }
    SIMD_UNROLL
    for (size_t p = 0; p < pixels; p++)
        vf_store_lanes(out + p * job->step + channel, vf_clip(sum[p], clip.low, clip.high), lanes);
}

/* One result, of which taps [from, to) of each row are inside. */
SIMD_INLINE void edge(const sdx_depthwise *job, const float *const *rows, size_t o, float *out,
                      size_t channel, const size_t lanes) {
    const size_t step = job->step, start = o * job->stride_w;
    const bounds clip = bounds_of(job, is_more(job));
    size_t from = 0, to = job->kernel_w;
    while (from < to && start + from * job->dilation_w < job->pad_left) from++;
    while (to > from && start + (to - 1) * job->dilation_w - job->pad_left >= job->in_w) to--;
    vf sum = vf_load_lanes(job->bias + channel, lanes);
    for (size_t ky = 0; ky < job->kernel_h; ky++) {
        if (!rows[ky]) continue;
        for (size_t kx = from; kx < to; kx++) {
            size_t x = start + kx * job->dilation_w - job->pad_left;
            const float *w = job->weights + (ky * job->kernel_w + kx) * step + channel;
            sum = vf_fma(vf_load_lanes(w, lanes),
                         vf_load_lanes(rows[ky] + x * job->in_step + channel, lanes), sum);
        }
    }
    vf_store_lanes(out + o * step + channel, vf_clip(sum, clip.low, clip.high), lanes);
}

/* A row: results [first, last) have their window inside from left to right. */
SIMD_INLINE void any_row(const sdx_depthwise *job, const float *const *rows, float *out,
                         size_t channel, size_t first, size_t last, const size_t lanes) {
    const size_t stride = job->stride_w, pad = job->pad_left, step = job->step;
    size_t o = 0;
    for (; o < first; o++) edge(job, rows, o, out, channel, lanes);
    for (; o + PIXELS <= last; o += PIXELS)
        inside(job, rows, o * stride - pad, out + o * step, channel, PIXELS, lanes);
    for (; o + 2 <= last; o += 2)
        inside(job, rows, o * stride - pad, out + o * step, channel, 2, lanes);
    for (; o < last; o++)
        inside(job, rows, o * stride - pad, out + o * step, channel, 1, lanes);
    for (; o < job->out_w; o++) edge(job, rows, o, out, channel, lanes);
}

static void any_rows(const sdx_depthwise *job, size_t channel, size_t lanes) {
    size_t reach = (job->kernel_w - 1) * job->dilation_w;
    size_t first = (job->pad_left + job->stride_w - 1) / job->stride_w;
    size_t last = job->in_w + job->pad_left > reach
                      ? (job->in_w + job->pad_left - reach - 1) / job->stride_w + 1
                      : 0;
    if (last > job->out_w) last = job->out_w;
    if (first > last) first = last = job->out_w < first ? job->out_w : first;
    for (size_t row = 0; row < job->row_count; row++) {
        const float *const *rows = job->rows + row * job->kernel_h;
        float *out = job->out + row * job->out_w * job->step;
        if (lanes == VL) any_row(job, rows, out, channel, first, last, VL);
        else any_row(job, rows, out, channel, first, last, lanes);
        if (is_more(job)) finish(job, row, channel, lanes);
    }
}

void SDX_NAME(sdx_f32_depthwise)(const sdx_depthwise *job) {
    const slider slide = find_slider(job);
    size_t c = 0;
    for (; c + VL <= job->channels; c += VL)
        if (slide) slide(job, c);
        else any_rows(job, c, VL);
    /* The last channels: once more with some of those before them, or fewer lanes. */
    if (c < job->channels && slide) slide(job, job->channels - VL);
    else if (c < job->channels) any_rows(job, c, job->channels - c);
}
