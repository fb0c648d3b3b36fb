/* winograd.c - WINOGRAD_2 and WINOGRAD_4 of conv.h. A tile of n x n pixels becomes n * n points; for
 * each point, the tiles of a block times the transformed weights are a matrix product; the points
 * of the products become the tile's results. Blocks are so small that all of it stays in the caches. */
#include <string.h>

#include "kernels/conv_ways.h"

#define BLOCK_FLOATS ((size_t)160 << 10) /* points of a block, before and after the product */
#define LEAST_TILES  24                  /* fewer would read the weights too often */
#define MOST_TILES   240

static size_t edge_of(sdx_conv_way way) { return way == SDX_CONV_WINOGRAD_2 ? 4 : 6; }
static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* ---- weights ---------------------------------------------------------------------------------- */

typedef struct pack_job {
    const sdx_conv_shape *shape;
    const void *weights;
    float *packed;
    size_t edge;
    sdx_panels panels;
} pack_job;

#define MAPS     16 /* at a time: some vectors of any instruction set */
#define CHANNELS 6

/* Floats of one group's matrix at one point, and of all groups'. */
static size_t group_matrix(const sdx_conv_shape *s, const sdx_panels *panels) {
    return s->channels / s->groups * sdx_panels_width(panels);
}
static size_t point_matrix(const sdx_conv_shape *s, const sdx_panels *panels) {
    return s->groups * group_matrix(s, panels);
}

/* MAPS maps or fewer of a panel, `there` of which exist, over all channels; `to` is where the panel has the
 * first of them. */
static void pack_maps(const pack_job *j, const char *from, size_t there, size_t maps, float *to,
                      size_t width) {
    _Alignas(64) float turned[CHANNELS * 9 * MAPS];
    size_t channels = j->shape->channels / j->shape->groups;
    if (there < maps) memset(turned, 0, sizeof turned);
    for (size_t c = 0; c < channels; c += CHANNELS) {
        size_t count = least(channels - c, CHANNELS);
        sdx_lines_turn(from + c * 9 * sizeof *to, channels * 9, there, count * 9, turned, maps);
        const sdx_winograd_weights job = {.from = turned, .to = to + c * width, .to_step = width,
                                          .stride = point_matrix(j->shape, &j->panels),
                                          .channels = count, .maps = maps};
        sdx_kernels_get()->f32_winograd_weights(&job, j->edge);
    }
}

/* Panels [begin, end) of all groups: for every point, [group][panel][channel][map]. */
static void pack_panels(void *arg, size_t begin, size_t end) {
    const pack_job *j = arg;
    size_t channels = j->shape->channels / j->shape->groups, columns = j->panels.columns;
    for (size_t i = begin; i < end; i++) {
        size_t group = i / j->panels.count, panel = i % j->panels.count;
        size_t first = sdx_panel_first(&j->panels, panel);
        size_t width = sdx_panel_vectors(&j->panels, panel) * j->panels.lanes;
        float *to = j->packed + group * group_matrix(j->shape, &j->panels) + first * channels;
        for (size_t m = 0; m < width; m += MAPS) {
            size_t map = least(first + m, columns);
            const char *from = (const char *)j->weights +
                               (group * columns + map) * channels * 9 * sizeof *to;
            size_t maps = least(width - m, MAPS);
            pack_maps(j, from, least(columns - map, maps), maps, to + m, width);
        }
    }
}

/* Behind the weights: the bias, and zeros for what lies outside the image. */
static size_t bias_at(const sdx_conv_shape *s, const sdx_panels *panels, size_t edge) {
    return edge * edge * point_matrix(s, panels);
}

void sdx_winograd_pack(sdx_pool *pool, const sdx_conv_shape *shape, sdx_conv_way way,
                       const void *weights, const void *bias, float *packed) {
    pack_job job = {shape, weights, packed, edge_of(way),
                    sdx_panels_of(shape->maps / shape->groups, sdx_kernels_get()->lanes)};
    sdx_parallel_for(pool, shape->groups * job.panels.count, 1, pack_panels, &job);
    float *end = packed + bias_at(shape, &job.panels, job.edge);
    memset(end, 0, (shape->maps + shape->channels) * sizeof *end);
    if (bias) memcpy(end, bias, shape->maps * sizeof *end);
}

/* ---- runs ------------------------------------------------------------------------------------- */

typedef struct winograd {
    const sdx_conv_shape *shape;
    const sdx_kernels *kernels;
    const float *packed, *bias, *zeros, *x;
    float *out;
    const sdx_tail *tail;
    sdx_panels panels;
    size_t edge, step;           /* of a tile; of its results */
    size_t tiles_x, tiles_image; /* tiles of a row and of an image */
    size_t block;                /* tiles at a time */
    float *before, *after;       /* [point][tile][channel], [point][tile][map] */
    size_t first, count;         /* the block at hand */
} winograd;

static size_t block_tiles(const sdx_conv_shape *s, size_t edge) {
    size_t fits = BLOCK_FLOATS / (edge * edge * (s->channels + s->maps));
    fits -= fits % 12; /* whole tiles of the product, whatever their height */
    return fits < LEAST_TILES ? LEAST_TILES : least(fits, MOST_TILES);
}

size_t sdx_winograd_scratch(const sdx_conv_shape *shape, sdx_conv_way way) {
    size_t edge = edge_of(way);
    return block_tiles(shape, edge) * edge * edge * (shape->channels + shape->maps);
}

typedef struct place {
    size_t image, y, x; /* first result of a tile */
} place;

static place place_of(const winograd *w, size_t tile) {
    size_t in_image = tile % w->tiles_image;
    return (place){tile / w->tiles_image, in_image / w->tiles_x * w->step,
                   in_image % w->tiles_x * w->step};
}

static void tiles_in(void *arg, size_t begin, size_t end) {
    const winograd *w = arg;
    const sdx_conv_shape *s = w->shape;
    const float *from[36];
    for (size_t t = begin; t < end; t++) {
        place at = place_of(w, w->first + t);
        for (size_t i = 0; i < w->edge * w->edge; i++) {
            size_t y = at.y + i / w->edge - s->pad_top, x = at.x + i % w->edge - s->pad_left;
            /* Left of and above the image the numbers wrap around to large ones. */
            bool inside = y < s->in_h && x < s->in_w;
            from[i] = inside ? w->x + ((at.image * s->in_h + y) * s->in_w + x) * s->channels
                             : w->zeros;
        }
        sdx_winograd_in job = {from, w->before + t * s->channels, w->block * s->channels,
                               s->channels};
        w->kernels->f32_winograd_in(&job, w->edge);
    }
}

/* Items are points times groups times panels. */
static void products(void *arg, size_t begin, size_t end) {
    const winograd *w = arg;
    const sdx_conv_shape *s = w->shape;
    const float *rows[MOST_TILES];
    size_t matrix = group_matrix(s, &w->panels), depth = s->channels / s->groups;
    size_t filled = SIZE_MAX, panels = s->groups * w->panels.count;
    for (size_t item = begin; item < end; item++) {
        size_t point = item / panels, group = item % panels / w->panels.count;
        size_t panel = item % w->panels.count;
        for (size_t t = 0; filled != point && t < w->count; t++)
            rows[t] = w->before + (point * w->block + t) * s->channels;
        filled = point;
        size_t first = sdx_panel_first(&w->panels, panel);
        size_t vectors = sdx_panel_vectors(&w->panels, panel);
        size_t column = group * w->panels.columns + first;
        sdx_tiles job = {.rows = rows, .row_count = w->count, .taps = 1, .row_taps = 1,
                         .depth = depth, .offset = group * depth,
                         .panel = w->packed + (point * s->groups + group) * matrix + first * depth,
                         .ahead = (ptrdiff_t)(vectors * w->panels.lanes * depth *
                                              sizeof(float)), /* the next is right behind */
                         .vectors = vectors,
                         .columns = least(w->panels.columns - first, vectors * w->panels.lanes),
                         .out = w->after + point * w->block * s->maps + column,
                         .out_stride = s->maps};
        w->kernels->f32_tiles(&job);
    }
}

static void tiles_out(void *arg, size_t begin, size_t end) {
    const winograd *w = arg;
    const sdx_conv_shape *s = w->shape;
    const sdx_tail *tail = w->tail;
    float *to[16];
    const float *addend[16];
    for (size_t t = begin; t < end; t++) {
        place at = place_of(w, w->first + t);
        for (size_t i = 0; i < w->step * w->step; i++) {
            size_t y = at.y + i / w->step, x = at.x + i % w->step;
            size_t pixel = (at.image * s->out_h + y) * s->out_w + x;
            bool inside = y < s->out_h && x < s->out_w;
            to[i] = inside ? w->out + pixel * s->maps : NULL;
            addend[i] = inside && tail->addend ? tail->addend + pixel * tail->addend_stride : NULL;
        }
        sdx_winograd_out job = {.from = w->after + t * s->maps, .stride = w->block * s->maps,
                                .channels = s->maps, .to = to,
                                .addend = tail->addend ? addend : NULL, .bias = w->bias,
                                .act = tail->act, .a = tail->a, .b = tail->b};
        w->kernels->f32_winograd_out(&job, w->edge);
        for (size_t i = 0; tail->act > SDX_ACT_CLIP && i < w->step * w->step; i++)
            if (to[i]) w->kernels->f32_activate(to[i], s->maps, tail->act, tail->a, tail->b);
    }
}

void sdx_winograd_run(sdx_pool *pool, const sdx_conv_shape *s, sdx_conv_way way,
                      const float *packed, const float *x, float *out, const sdx_tail *tail,
                      float *scratch) {
    const sdx_kernels *kernels = sdx_kernels_get();
    winograd w = {.shape = s, .kernels = kernels, .packed = packed, .x = x, .out = out,
                  .tail = tail, .panels = sdx_panels_of(s->maps / s->groups, kernels->lanes),
                  .edge = edge_of(way), .step = edge_of(way) - 2};
    w.bias = packed + bias_at(s, &w.panels, w.edge);
    w.zeros = w.bias + s->maps;
    w.tiles_x = (s->out_w + w.step - 1) / w.step;
    w.tiles_image = w.tiles_x * ((s->out_h + w.step - 1) / w.step);
    w.block = block_tiles(s, w.edge);
    w.before = scratch;
    w.after = scratch + w.edge * w.edge * w.block * s->channels;
    size_t tiles = s->batch * w.tiles_image, blocks = (tiles + w.block - 1) / w.block;
    for (size_t b = 0; b < blocks; b++) { /* all of about the same size */
        w.first = b * tiles / blocks;
        w.count = (b + 1) * tiles / blocks - w.first;
        sdx_parallel_for(pool, w.count, 2, tiles_in, &w);
        size_t panels = s->groups * w.panels.count;
        sdx_parallel_for(pool, w.edge * w.edge * panels, panels, products, &w);
        sdx_parallel_for(pool, w.count, 2, tiles_out, &w);
    }
}
