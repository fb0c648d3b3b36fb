/* winograd.c - WINOGRAD_2 and WINOGRAD_4 of conv.h. A tile of n x n pixels becomes n * n points; for each
 * point, the tiles of a block times the transformed weights are a matrix product; the points of the
 * products become the tile's results. Blocks are so small that all of it stays in the caches. Tiles that
 * the image cuts short have fewer points, and so the products of the others have fewer rows. */
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
    sdx_conv_source source;
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
        SDX_KERNEL_OF(sdx_kernels_get(), f32_winograd_weights)(&job, j->edge);
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
            const char *from = (const char *)j->source.weights +
                               (group * columns + map) * channels * 9 * sizeof *to;
            size_t maps = least(width - m, MAPS);
            pack_maps(j, from, least(columns - map, maps), maps, to + m, width);
        }
    }
    sdx_conv_source_read(&j->source, &j->panels, begin, end);
}

/* Behind the weights: the bias, and zeros for what lies outside the image. */
static size_t bias_at(const sdx_conv_shape *s, const sdx_panels *panels, size_t edge) {
    return edge * edge * point_matrix(s, panels);
}

void sdx_winograd_pack(sdx_pool *pool, const sdx_conv_shape *shape, sdx_conv_way way,
                       const void *weights, const void *bias, float *packed,
                       const sdx_source_end *end) {
    pack_job job = {shape, sdx_conv_source_of(shape, weights, end), packed, edge_of(way),
                    sdx_panels_of(shape->maps / shape->groups, sdx_kernels_get()->lanes)};
    sdx_parallel_for(pool, shape->groups * job.panels.count,
                     sdx_conv_source_grain(&job.source, &job.panels), pack_panels, &job);
    float *behind = packed + bias_at(shape, &job.panels, job.edge);
    memset(behind, 0, (shape->maps + shape->channels) * sizeof *behind);
    if (bias) memcpy(behind, bias, shape->maps * sizeof *behind);
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
    size_t tiles, blocks;        /* of all images */
    size_t last_rows, last_columns; /* points of the tiles at the lower and right end */
    uint8_t kinds[SDX_WINOGRAD_POINTS]; /* of points: see kind_of */
    float *before, *after;       /* [point][tile][channel], [point][tile][map] */
    size_t first, count;         /* the block at hand */
    size_t counts[4];            /* of its tiles that have a point of each kind */
    uint8_t index[4][MOST_TILES]; /* which of those a tile is */
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

/* Kinds of points: bit 0, those that tiles at the lower end leave out; bit 1, at the right end. */
static size_t kind_of(const winograd *w, size_t row, size_t column) {
    bool low = row + 1 >= w->last_rows && row + 1 < w->edge;
    bool right = column + 1 >= w->last_columns && column + 1 < w->edge;
    return (size_t)low | (size_t)right << 1;
}

typedef struct place {
    size_t image, y, x;   /* first result of a tile */
    size_t rows, columns; /* points */
} place;

static place place_of(const winograd *w, size_t tile) {
    size_t in_image = tile % w->tiles_image, row = in_image / w->tiles_x;
    size_t column = in_image % w->tiles_x;
    place at = {tile / w->tiles_image, row * w->step, column * w->step, w->edge, w->edge};
    if (in_image + w->tiles_x >= w->tiles_image) at.rows = w->last_rows;
    if (column + 1 == w->tiles_x) at.columns = w->last_columns;
    return at;
}

static void count_tiles(winograd *w) {
    memset(w->counts, 0, sizeof w->counts);
    for (size_t t = 0; t < w->count; t++) {
        place at = place_of(w, w->first + t);
        size_t missing = (size_t)(at.rows < w->edge) | (size_t)(at.columns < w->edge) << 1;
        for (size_t kind = 0; kind < 4; kind++) {
            w->index[kind][t] = (uint8_t)w->counts[kind];
            w->counts[kind] += (kind & missing) == 0;
        }
    }
}

/* Where the points of a tile lie; of those that it does not have, where they would. */
static void list_points(const winograd *w, size_t tile, float *base, size_t width, float **to) {
    const size_t at[4] = {w->index[0][tile] * width, w->index[1][tile] * width,
                          w->index[2][tile] * width, w->index[3][tile] * width};
    const size_t step = w->block * width, points = w->edge * w->edge;
    for (size_t p = 0; p < points; p++, base += step) to[p] = base + at[w->kinds[p]];
}

/* The pixels of a tile. */
static void list_pixels(const winograd *w, const place *at, const float **to) {
    const sdx_conv_shape *s = w->shape;
    for (size_t i = 0; i < w->edge; i++) {
        /* Left of and above the image the numbers wrap around to large ones. */
        size_t y = at->y + i - s->pad_top, x = at->x - s->pad_left;
        const float *row = w->x + (at->image * s->in_h + y) * s->in_w * s->channels;
        for (size_t k = 0; k < w->edge; k++, x++)
            *to++ = y < s->in_h && x < s->in_w ? row + x * s->channels : w->zeros;
    }
}

static void tiles_in(void *arg, size_t begin, size_t end) {
    const winograd *w = arg;
    const sdx_conv_shape *s = w->shape;
    const float *from[SDX_WINOGRAD_POINTS];
    float *to[SDX_WINOGRAD_POINTS];
    for (size_t t = begin; t < end; t++) {
        place at = place_of(w, w->first + t);
        list_pixels(w, &at, from);
        list_points(w, t, w->before, s->channels, to);
        const sdx_winograd_in job = {w->edge, at.rows, at.columns, from, to, s->channels};
        SDX_KERNEL_OF(w->kernels, f32_winograd_in)(&job);
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
        size_t point = item / panels;
        size_t group = item % panels / w->panels.count; /* NOLINT(clang-analyzer-core.DivideZero): with items there are panels */
        size_t panel = item % w->panels.count;
        size_t count = w->counts[w->kinds[point]];
        for (size_t t = 0; filled != point && t < count; t++)
            rows[t] = w->before + (point * w->block + t) * s->channels;
        filled = point;
        size_t first = sdx_panel_first(&w->panels, panel);
        size_t vectors = sdx_panel_vectors(&w->panels, panel);
        size_t column = group * w->panels.columns + first;
        sdx_tiles job = {.rows = rows, .row_count = count, .taps = 1, .row_taps = 1,
                         .depth = depth, .offset = group * depth,
                         .panel = w->packed + (point * s->groups + group) * matrix + first * depth,
                         .ahead = (ptrdiff_t)(vectors * w->panels.lanes * depth *
                                              sizeof(float)), /* the next is right behind */
                         .vectors = vectors,
                         .columns = least(w->panels.columns - first, vectors * w->panels.lanes),
                         .out = w->after + point * w->block * s->maps + column,
                         .out_stride = s->maps};
        SDX_KERNEL_OF(w->kernels, f32_tiles)(&job);
    }
}

static void tiles_out(void *arg, size_t begin, size_t end) {
    const winograd *w = arg;
    const sdx_conv_shape *s = w->shape;
    const sdx_tail *tail = w->tail;
    float *from[SDX_WINOGRAD_POINTS], *to[SDX_WINOGRAD_RESULTS];
    const float *addend[SDX_WINOGRAD_RESULTS];
    for (size_t t = begin; t < end; t++) {
        place at = place_of(w, w->first + t);
        size_t rows = at.rows - 2, columns = at.columns - 2;
        for (size_t y = 0; y < rows; y++) {
            size_t pixel = (at.image * s->out_h + at.y + y) * s->out_w + at.x;
            for (size_t x = 0; x < columns; x++, pixel++) {
                to[y * w->step + x] = w->out + pixel * s->maps;
                if (tail->addend)
                    addend[y * w->step + x] = tail->addend + pixel * tail->addend_stride;
            }
        }
        list_points(w, t, w->after, s->maps, from);
        const sdx_winograd_out job = {.edge = w->edge, .rows = at.rows, .columns = at.columns,
                                      .from = (const float *const *)from, .channels = s->maps,
                                      .to = to, .addend = tail->addend ? addend : NULL,
                                      .bias = w->bias, .act = tail->act, .a = tail->a,
                                      .b = tail->b};
        SDX_KERNEL_OF(w->kernels, f32_winograd_out)(&job);
        for (size_t i = 0; SDX_HAS_ACTS && tail->act > SDX_ACT_CLIP && i < rows * columns; i++)
            SDX_KERNEL_OF(w->kernels, f32_activate)(to[i / columns * w->step + i % columns], s->maps, tail->act,
                                     tail->a, tail->b);
    }
}

/* Blocks are all of about the same size. */
static void begin_block(winograd *w, size_t block) {
    w->first = block * w->tiles / w->blocks;
    w->count = (block + 1) * w->tiles / w->blocks - w->first;
    count_tiles(w);
}

/* Whether each thread does blocks of its own from the image to the results, smaller ones, since they share
 * the scratch memory. That reads the weights more often; threads that work on one block together read what
 * the other has just written, which comes at an eighth of the speed. */
#define COST_FROM_OTHER 8.0
#define LEAST_OWN_TILES 12
static bool takes_blocks_apart(const winograd *w, size_t threads) {
    const sdx_conv_shape *s = w->shape;
    size_t own = w->block / threads;
    if (threads < 2 || own < LEAST_OWN_TILES) return false;
    size_t rounds = ((w->tiles + own - 1) / own + threads - 1) / threads;
    double points = (double)(w->edge * w->edge), n = (double)threads;
    double weights = points * (double)group_matrix(s, &w->panels) * (double)s->groups;
    double between = (double)w->tiles * points * (double)(s->channels + s->maps);
    return (double)rounds * weights <=
           (double)w->blocks * weights / n + COST_FROM_OTHER * between * (n - 1) / (n * n);
}

static void run_blocks(void *arg, uint32_t slot, size_t begin, size_t end) {
    winograd w = *(const winograd *)arg;
    const sdx_conv_shape *s = w.shape;
    const size_t points = w.edge * w.edge;
    w.before += slot * points * w.block * (s->channels + s->maps);
    w.after = w.before + points * w.block * s->channels;
    for (size_t b = begin; b < end; b++) {
        begin_block(&w, b);
        tiles_in(&w, 0, w.count);
        products(&w, 0, points * s->groups * w.panels.count);
        tiles_out(&w, 0, w.count);
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
    w.last_rows = (s->out_h - 1) % w.step + 3;
    w.last_columns = (s->out_w - 1) % w.step + 3;
    for (size_t p = 0; p < w.edge * w.edge; p++)
        w.kinds[p] = (uint8_t)kind_of(&w, p / w.edge, p % w.edge);
    w.block = block_tiles(s, w.edge);
    w.before = scratch;
    w.after = scratch + w.edge * w.edge * w.block * s->channels;
    w.tiles = s->batch * w.tiles_image;
    w.blocks = (w.tiles + w.block - 1) / w.block;
    if (takes_blocks_apart(&w, sdx_pool_threads(pool))) {
        w.block /= sdx_pool_threads(pool);
        w.blocks = (w.tiles + w.block - 1) / w.block;
        sdx_parallel_for_slots(pool, w.blocks, 1, run_blocks, &w);
        return;
    }
    for (size_t b = 0; b < w.blocks; b++) {
        begin_block(&w, b);
        sdx_parallel_for(pool, w.count, 2, tiles_in, &w);
        size_t panels = s->groups * w.panels.count;
        sdx_parallel_for(pool, w.edge * w.edge * panels, panels, products, &w);
        sdx_parallel_for(pool, w.count, 2, tiles_out, &w);
    }
}
