/* conv_transpose.c - see conv_transpose.h. */
#include "kernels/conv_transpose.h"

#include <string.h>

#include "base/checked.h"
#include "kernels/panels.h"

#define POINTERS    416 /* on the stack: pixels of a block times taps of a step */
#define MOST_PIXELS 256 /* of a block */
/* Rows of a panel at a time, which stay in the caches while pixels pass. */
#define PANEL_DEPTH(lanes) ((lanes) >= 16 ? (size_t)2048 : (size_t)1024)
#define NEAR_WEIGHTS       ((size_t)160 << 10) /* floats that stay in a second-level cache */

static size_t divide_up(size_t a, size_t b) { return (a + b - 1) / b; }
static size_t least(size_t a, size_t b) { return a < b ? a : b; }

static size_t common_divisor(size_t a, size_t b) {
    while (b) {
        size_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* What results of class `index` along one axis meet: taps first, first + step … of the kernel. Tap
 * i reads the pixel `back + i * reach` before the one of its result. */
typedef struct axis_class {
    size_t count, first, step, back, reach;
} axis_class;

/* Tap k belongs to the class k * dilation % stride. */
static axis_class class_of(size_t index, size_t kernel, size_t stride, size_t dilation) {
    size_t divisor = common_divisor(stride, dilation);
    axis_class c = {.step = stride / divisor, .reach = dilation / divisor};
    while (c.first < c.step && c.first * dilation % stride != index) c.first++;
    if (c.first == c.step || c.first >= kernel) return c; /* none */
    c.count = (kernel - c.first - 1) / c.step + 1;
    c.back = c.first * dilation / stride;
    return c;
}

static axis_class class_y(const sdx_conv_transpose *s, size_t index) {
    return class_of(index, s->kernel_h, s->stride_h, s->dilation_h);
}
static axis_class class_x(const sdx_conv_transpose *s, size_t index) {
    return class_of(index, s->kernel_w, s->stride_w, s->dilation_w);
}

/* Packed: [class y][class x][group][panel][tap][channel][map], then the bias of each group padded
 * to the width of its panels, then zeros for what lies outside the image. */
typedef struct layout {
    sdx_panels panels; /* of one group */
    size_t depth, width;
    size_t tap;         /* floats of one tap, all groups */
    size_t bias, zeros; /* where they begin */
} layout;

static layout layout_of(const sdx_conv_transpose *s) {
    layout l = {.panels = sdx_panels_of(s->maps / s->groups, sdx_kernels_get()->lanes),
                .depth = s->channels / s->groups};
    l.width = sdx_panels_width(&l.panels);
    l.tap = s->channels * l.width;
    l.bias = l.tap * s->kernel_h * s->kernel_w;
    l.zeros = l.bias + s->groups * l.width;
    return l;
}

size_t sdx_conv_transpose_packed_size(const sdx_conv_transpose *s) {
    sdx_panels panels = sdx_panels_of(s->maps / s->groups, sdx_kernels_get()->lanes);
    size_t width = sdx_panels_width(&panels), size, bias;
    bool fits = sdx_size_mul(s->channels, width, &size) && sdx_size_mul(size, s->kernel_h, &size) &&
                sdx_size_mul(size, s->kernel_w, &size) && sdx_size_mul(s->groups, width, &bias) &&
                sdx_size_add(bias, s->channels, &bias) && sdx_size_add(size, bias, &size);
    return fits ? size : SIZE_MAX;
}

/* ---- packing -----------------------------------------------------------------------------------
 */

typedef struct pack_job {
    const sdx_conv_transpose *shape;
    const char *weights;
    float *to; /* of the class */
    layout l;
    axis_class y, x;
} pack_job;

/* Panels of all groups for one class. */
static void pack_panels(void *arg, size_t begin, size_t end) {
    const pack_job *j = arg;
    const sdx_conv_transpose *s = j->shape;
    const layout *l = &j->l;
    size_t taps = j->y.count * j->x.count, area = s->kernel_h * s->kernel_w;
    size_t maps = l->panels.columns;
    for (size_t i = begin; i < end; i++) {
        size_t group = i / l->panels.count, panel = i % l->panels.count;
        size_t vectors = sdx_panel_vectors(&l->panels, panel);
        float *to =
            j->to + taps * l->depth * (group * l->width + sdx_panel_first(&l->panels, panel));
        for (size_t t = 0; t < taps; t++, to += l->depth * vectors * l->panels.lanes) {
            size_t ky = j->y.first + t / j->x.count * j->y.step;
            size_t kx = j->x.first + t % j->x.count * j->x.step;
            size_t at = group * l->depth * maps * area + ky * s->kernel_w + kx;
            sdx_panel_source from = {
                j->weights + at * sizeof(float), area, maps * area, 0, 1, l->depth, 1.0f};
            sdx_panel_pack(&l->panels, panel, &from, to);
        }
    }
}

void sdx_conv_transpose_pack(sdx_pool *pool, const sdx_conv_transpose *s, const void *weights,
                             const void *bias, float *packed) {
    pack_job job = {.shape = s, .weights = weights, .to = packed, .l = layout_of(s)};
    const layout *l = &job.l;
    for (size_t cy = 0; cy < s->stride_h; cy++)
        for (size_t cx = 0; cx < s->stride_w; cx++) {
            job.y = class_y(s, cy);
            job.x = class_x(s, cx);
            size_t taps = job.y.count * job.x.count;
            if (taps == 0) continue;
            sdx_parallel_for(pool, s->groups * l->panels.count, 1, pack_panels, &job);
            job.to += taps * l->tap;
        }
    float *to = packed + l->bias;
    memset(to, 0, (s->groups * l->width + s->channels) * sizeof *to);
    for (size_t g = 0; bias && g < s->groups; g++)
        memcpy(to + g * l->width, (const char *)bias + g * l->panels.columns * sizeof *to,
               l->panels.columns * sizeof *to);
}

/* ---- running -----------------------------------------------------------------------------------
 */

typedef struct plan {
    const sdx_conv_transpose *shape;
    const sdx_kernels *kernels;
    layout l;
    const float *packed, *x;
    float *out;
    const sdx_tail *tail;
    size_t pixels, blocks; /* of a block; blocks of the largest class */
    size_t panels_step, parts;
    bool classes_inside; /* a block goes through all classes before the next one */
} plan;

/* Results of one class: rows first_y, first_y + stride … of the image, and columns alike. */
typedef struct class_job {
    axis_class y, x;
    size_t first_y, first_x, count_y, count_x; /* count_y: of one image */
    size_t base_y, base_x; /* pixel of the image before which the taps of the first result lie */
    const float *weights;
} class_job;

/* First result along an axis that belongs to a class, how many there are, and the pixel it stands
 * at. */
static void class_results(size_t index, size_t stride, size_t pad, size_t out, size_t *first,
                          size_t *count, size_t *base) {
    *first = (index + stride - pad % stride) % stride;
    *count = *first < out ? (out - *first - 1) / stride + 1 : 0;
    *base = (*first + pad) / stride;
}

/* Taps of all classes before (cy, cx), in the order in which they are packed. */
static size_t taps_before(const sdx_conv_transpose *s, size_t cy, size_t cx) {
    size_t rows = 0, columns = 0;
    for (size_t i = 0; i < cy; i++) rows += class_y(s, i).count;
    for (size_t i = 0; i < cx; i++) columns += class_x(s, i).count;
    return rows * s->kernel_w + class_y(s, cy).count * columns;
}

static class_job class_at(const plan *p, size_t index) {
    const sdx_conv_transpose *s = p->shape;
    size_t cy = index / s->stride_w, cx = index % s->stride_w;
    class_job c = {.y = class_y(s, cy), .x = class_x(s, cx)};
    class_results(cy, s->stride_h, s->pad_top, s->out_h, &c.first_y, &c.count_y, &c.base_y);
    class_results(cx, s->stride_w, s->pad_left, s->out_w, &c.first_x, &c.count_x, &c.base_x);
    c.weights = p->packed + taps_before(s, cy, cx) * p->l.tap;
    return c;
}

/* Pointers of taps [tap, tap + taps) of pixels [first, first + count) of a class. */
static void fill(const plan *p, const class_job *c, size_t first, size_t count, size_t tap,
                 size_t taps, const float **to) {
    const sdx_conv_transpose *s = p->shape;
    const float *zeros = p->packed + p->l.zeros;
    size_t qx = first % c->count_x, rest = first / c->count_x, qy = rest % c->count_y;
    size_t n = rest / c->count_y;
    for (size_t i = 0; i < count; i++) {
        size_t ty = tap / c->x.count, tx = tap % c->x.count;
        for (size_t t = 0; t < taps; t++) {
            /* Left of and above the image the numbers wrap around to large ones. */
            size_t y = c->base_y + qy - c->y.back - ty * c->y.reach;
            size_t x = c->base_x + qx - c->x.back - tx * c->x.reach;
            *to++ = y < s->in_h && x < s->in_w
                        ? p->x + ((n * s->in_h + y) * s->in_w + x) * s->channels
                        : zeros;
            if (++tx < c->x.count) continue;
            tx = 0;
            ty++;
        }
        if (++qx < c->count_x) continue;
        qx = 0;
        if (++qy < c->count_y) continue;
        qy = 0;
        n++;
    }
}

/* One panel against a block: pixels of one row of results at a time, since those lie evenly. */
static void run_panel(const plan *p, const class_job *c, const sdx_tiles *job, size_t first,
                      size_t panel, size_t k) {
    const sdx_conv_transpose *s = p->shape;
    const layout *l = &p->l;
    size_t group = panel / l->panels.count, index = panel % l->panels.count;
    size_t column = sdx_panel_first(&l->panels, index), taps = c->y.count * c->x.count;
    sdx_tiles tiles = *job;
    tiles.vectors = sdx_panel_vectors(&l->panels, index);
    size_t width = tiles.vectors * l->panels.lanes, at = group * l->width + column;
    tiles.panel = c->weights + taps * l->depth * at + k * width;
    tiles.columns = least(l->panels.columns - column, width);
    tiles.offset += group * l->depth;
    tiles.tail.bias = p->packed + l->bias + at;
    column += group * l->panels.columns;
    for (size_t done = 0; done < job->row_count;) {
        size_t pixel = first + done, qx = pixel % c->count_x, rest = pixel / c->count_x;
        size_t y = c->first_y + rest % c->count_y * s->stride_h, n = rest / c->count_y;
        size_t to = (n * s->out_h + y) * s->out_w + c->first_x + qx * s->stride_w;
        tiles.row_count = least(job->row_count - done, c->count_x - qx);
        tiles.rows = job->rows + done * job->row_taps;
        tiles.out = p->out + to * s->maps + column;
        if (p->tail->addend)
            tiles.tail.addend = p->tail->addend + to * p->tail->addend_stride + column;
        SDX_KERNEL_OF(p->kernels, f32_tiles)(&tiles);
        done += tiles.row_count;
    }
}

static void run_block(const plan *p, const class_job *c, size_t block, size_t panel, size_t last) {
    const sdx_conv_transpose *s = p->shape;
    const float *pointers[POINTERS];
    size_t all = s->batch * c->count_y * c->count_x, taps = c->y.count * c->x.count;
    size_t block_end = least(all, (block + 1) * p->pixels), depth = p->l.depth;
    size_t near = PANEL_DEPTH(p->kernels->lanes),
           depth_step = divide_up(depth, divide_up(depth, near));
    size_t tap_step = least(taps, least(POINTERS, near / depth_step));
    sdx_tiles job = {.rows = pointers, .out_stride = s->stride_w * s->maps, .tail = *p->tail};
    job.tail.addend_stride *= s->stride_w;
    size_t step = tap_step ? least(p->pixels, POINTERS / tap_step) : p->pixels;
    for (size_t first = block * p->pixels; first < block_end; first += step) {
        job.row_count = least(step, block_end - first);
        for (size_t tap = 0; tap < taps || tap == 0; tap += tap_step ? tap_step : 1) {
            job.taps = job.row_taps = least(tap_step, taps - tap);
            if (job.taps) fill(p, c, first, job.row_count, tap, job.taps, pointers);
            for (size_t at = 0; at < depth; at += depth_step) {
                job.depth = least(depth_step, depth - at);
                job.offset = at;
                job.add = tap > 0 || at > 0;
                job.finish = tap + job.taps == taps && at + job.depth == depth;
                for (size_t i = panel; i < last; i++)
                    run_panel(p, c, &job, first, i, tap * depth + at);
            }
        }
    }
}

static void run_tasks(void *arg, size_t begin, size_t end) {
    const plan *p = arg;
    const sdx_conv_transpose *s = p->shape;
    size_t classes = s->stride_h * s->stride_w, panels = s->groups * p->l.panels.count;
    for (size_t task = begin; task < end; task++) {
        size_t part = task % p->parts, rest = task / p->parts;
        size_t index = p->classes_inside ? rest % classes : rest / p->blocks;
        size_t block = p->classes_inside ? rest / classes : rest % p->blocks;
        class_job c = class_at(p, index);
        size_t panel = part * p->panels_step;
        run_block(p, &c, block, panel, least(panel + p->panels_step, panels));
    }
}

void sdx_conv_transpose_run(sdx_pool *pool, const sdx_conv_transpose *s, const float *packed,
                            const float *x, float *out, const sdx_tail *tail) {
    if (!s->batch || !s->out_h || !s->out_w || !s->maps) return;
    plan p = {.shape = s,
              .kernels = sdx_kernels_get(),
              .l = layout_of(s),
              .packed = packed,
              .x = x,
              .out = out,
              .tail = tail};
    size_t largest = s->batch * divide_up(s->out_h, s->stride_h) * divide_up(s->out_w, s->stride_w);
    p.blocks = divide_up(largest, MOST_PIXELS);
    p.pixels = divide_up(largest, p.blocks);
    p.classes_inside = p.l.bias <= NEAR_WEIGHTS;
    /* Enough tasks that no thread waits long for the last one. */
    size_t classes = s->stride_h * s->stride_w, panels = s->groups * p.l.panels.count;
    size_t threads = sdx_pool_threads(pool), wanted = threads > 1 ? threads * 4 : 1;
    p.panels_step = divide_up(panels, least(divide_up(wanted, p.blocks * classes), panels));
    p.parts = divide_up(panels, p.panels_step);
    sdx_parallel_for(pool, classes * p.blocks * p.parts, 1, run_tasks, &p);
}
