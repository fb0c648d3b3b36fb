/* conv.c - which way a convolution takes, and packing for it; see conv.h. */
#include "kernels/conv.h"

#include <string.h>

#include "base/checked.h"
#include "base/parts.h"
#include "kernels/conv_ways.h"

static bool is_depthwise(const sdx_conv_shape *s) {
    return s->groups > 1 && s->channels == s->groups && s->maps == s->groups &&
           s->kernel_h <= SDX_CONV_DEPTHWISE_ROWS;
}

/* Seconds do not matter, only which is less, in multiply-adds at the speed of the tiles: those themselves, a
 * float of a transform, a call for one panel of weights; and a float of weights, most of which comes
 * from memory while the products run, unless there are so few rows that these wait for it. */
#define COST_TRANSFORM 12.0
#define COST_CALL      2000.0
#define COST_WEIGHT    1.5
#define COST_WAIT      10.0

static double products_cost(double products, double weights) {
    double wait = COST_WAIT * weights;
    return (products > wait ? products : wait) + COST_WEIGHT * weights;
}

/* Points of a row of tiles: those at the end have two more than results, like all. */
static double points_of(size_t results, size_t tile) {
    size_t tiles = (results + tile - 1) / tile;
    return (double)(results + 2 * tiles);
}

static double winograd_cost(const sdx_conv_shape *s, size_t tile) {
    double points = points_of(s->out_h, tile) * points_of(s->out_w, tile);
    double matrix = (double)s->channels * (double)s->maps / (double)s->groups;
    double edges = (double)((tile + 2) * (tile + 2));
    size_t panels = sdx_panels_of(s->maps / s->groups, sdx_kernels_get()->lanes).count;
    return products_cost(points * matrix, edges * matrix) +
           COST_TRANSFORM * points * (double)(s->channels + s->maps) +
           COST_CALL * edges * (double)(s->groups * panels);
}

static double tiles_cost(const sdx_conv_shape *s) {
    double weights = (double)s->channels * (double)s->maps * 9.0 / (double)s->groups;
    return products_cost((double)s->out_h * (double)s->out_w * weights, weights);
}

double sdx_conv_cost(const sdx_conv_shape *s, sdx_conv_way way) {
    if (way == SDX_CONV_WINOGRAD_2) return winograd_cost(s, 2);
    return way == SDX_CONV_WINOGRAD_4 ? winograd_cost(s, 4) : tiles_cost(s);
}

sdx_conv_way sdx_conv_choose(const sdx_conv_shape *s, size_t tile) {
    size_t channels = s->channels / s->groups, maps = s->maps / s->groups;
    if (is_depthwise(s)) return SDX_CONV_DEPTHWISE;
    if (s->groups == 1 && s->dilation_w == 1 && s->channels <= 4 && s->kernel_w > 1)
        return SDX_CONV_ROWS;
    bool fits = s->kernel_h == 3 && s->kernel_w == 3 && s->stride_h == 1 && s->stride_w == 1 &&
                s->dilation_h == 1 && s->dilation_w == 1 && s->out_h && s->out_w &&
                channels >= 16 && maps >= 16;
    if (!fits) return SDX_CONV_TILES;
    sdx_conv_way best = SDX_CONV_TILES;
    if (tile >= 2 && winograd_cost(s, 2) < tiles_cost(s)) best = SDX_CONV_WINOGRAD_2;
    if (tile >= 4 && winograd_cost(s, 4) < sdx_conv_cost(s, best)) best = SDX_CONV_WINOGRAD_4;
    return best;
}

sdx_status sdx_conv_need(sdx_conv_way way, sdx_error *error) {
    switch (way) {
    case SDX_CONV_ROWS: return sdx_part_need(SDX_PART_conv_rows, error);
    case SDX_CONV_DEPTHWISE: return sdx_part_need(SDX_PART_conv_depthwise, error);
    case SDX_CONV_WINOGRAD_2:
    case SDX_CONV_WINOGRAD_4: return sdx_part_need(SDX_PART_conv_winograd, error);
    default: return SDX_STATUS_OK;
    }
}

const char *sdx_conv_way_name(sdx_conv_way way) {
    static const char *const names[] = {"tiles", "rows", "depthwise", "winograd 2x2",
                                        "winograd 4x4"};
    return names[way];
}

/* Weights of a matrix product in panels, group by group; then the bias, padded alike; then zeros for
 * what lies outside the image. */
sdx_conv_tiles_pack sdx_conv_tiles_layout(const sdx_conv_shape *s, size_t lanes) {
    sdx_conv_tiles_pack p = {.panels = sdx_panels_of(s->maps / s->groups, lanes)};
    p.group_depth = s->channels / s->groups;
    p.depth = p.group_depth * s->kernel_h * s->kernel_w;
    p.width = sdx_panels_width(&p.panels);
    p.group_size = p.depth * p.width;
    p.bias = s->groups * p.group_size;
    p.zeros = p.bias + s->groups * p.width;
    return p;
}

size_t sdx_conv_packed_size(const sdx_conv_shape *s, sdx_conv_way way) {
    size_t lanes = sdx_kernels_get()->lanes, weights, points, size;
    if (way == SDX_CONV_DEPTHWISE)
        return sdx_size_mul(s->kernel_h * s->kernel_w + 1, s->channels, &size) ? size : SIZE_MAX;
    sdx_conv_tiles_pack layout = sdx_conv_tiles_layout(s, lanes);
    size_t width = layout.width;
    if (layout.panels.vectors == 1) sdx_part_take(SDX_PART_narrow_tiles);
    points = way == SDX_CONV_WINOGRAD_2   ? 16
             : way == SDX_CONV_WINOGRAD_4 ? 36
                                          : s->kernel_h * s->kernel_w;
    bool fits = sdx_size_mul(s->channels, width, &weights) &&
                sdx_size_mul(weights, points, &weights) &&
                sdx_size_add(weights, s->groups * width + s->channels, &size);
    return fits ? size : SIZE_MAX;
}

typedef struct pack_job {
    const sdx_conv_shape *shape;
    sdx_conv_source source;
    const void *bias;
    float *packed;
    sdx_conv_tiles_pack layout;
} pack_job;

sdx_conv_source sdx_conv_source_of(const sdx_conv_shape *s, const void *weights,
                                   const sdx_source_end *end) {
    size_t map = s->channels / s->groups * s->kernel_h * s->kernel_w * sizeof(float);
    return (sdx_conv_source){weights, map, end};
}

/* So much is worth a call into the system, which giving pages back takes. */
#define SOURCE_PIECE ((size_t)256 << 10)

size_t sdx_conv_source_grain(const sdx_conv_source *source, const sdx_panels *panels) {
    return SOURCE_PIECE / (2 * panels->lanes * source->map) + 1;
}

/* Where panel i begins, or the weights end. */
static size_t source_at(const sdx_conv_source *source, const sdx_panels *panels, size_t i) {
    size_t group = i / panels->count;
    return (group * panels->columns + sdx_panel_first(panels, i % panels->count)) * source->map;
}

void sdx_conv_source_read(const sdx_conv_source *source, const sdx_panels *panels, size_t first,
                          size_t behind) {
    size_t begin = source_at(source, panels, first), end = source_at(source, panels, behind);
    if (source->end)
        source->end->call(source->end->user, (const char *)source->weights + begin, end - begin);
}

/* Panels of all groups: (maps, channels, taps) becomes [tap][channel][map]. */
static void pack_panels(void *arg, size_t begin, size_t end) {
    const pack_job *j = arg;
    const sdx_conv_tiles_pack *p = &j->layout;
    size_t taps = j->shape->kernel_h * j->shape->kernel_w, maps = p->panels.columns;
    for (size_t i = begin; i < end; i++) {
        size_t group = i / p->panels.count, panel = i % p->panels.count;
        const char *weights = (const char *)j->source.weights + group * maps * p->depth * sizeof(float);
        sdx_panel_source from = {weights, p->depth, taps, 1, taps, p->group_depth, 1.0f};
        sdx_panel_pack(&p->panels, panel, &from,
                       j->packed + group * p->group_size +
                           sdx_panel_first(&p->panels, panel) * p->depth);
    }
    sdx_conv_source_read(&j->source, &p->panels, begin, end);
}

static void pack_bias(const pack_job *j) {
    const sdx_conv_tiles_pack *p = &j->layout;
    float *to = j->packed + p->bias;
    memset(to, 0, j->shape->groups * p->width * sizeof *to);
    for (size_t g = 0; j->bias && g < j->shape->groups; g++)
        memcpy(to + g * p->width, (const char *)j->bias + g * p->panels.columns * sizeof *to,
               p->panels.columns * sizeof *to);
}

static void pack_depthwise(const pack_job *j) {
    const sdx_conv_shape *s = j->shape;
    size_t taps = s->kernel_h * s->kernel_w;
    const void *from = j->source.weights;
    float *to = j->packed;
    for (size_t t = 0; t < taps; t++)
        for (size_t c = 0; c < s->channels; c++) *to++ = sdx_float_at(from, c * taps + t);
    for (size_t c = 0; c < s->channels; c++) *to++ = j->bias ? sdx_float_at(j->bias, c) : 0.0f;
}

void sdx_conv_pack_large(sdx_pool *pool, const sdx_conv_shape *shape, sdx_conv_way way,
                         const void *weights, const void *bias, float *packed,
                         const sdx_source_end *end) {
    pack_job job = {shape, sdx_conv_source_of(shape, weights, end), bias, packed,
                    sdx_conv_tiles_layout(shape, sdx_kernels_get()->lanes)};
    switch (way) {
    case SDX_CONV_DEPTHWISE: pack_depthwise(&job); return;
    case SDX_CONV_WINOGRAD_2:
    case SDX_CONV_WINOGRAD_4:
        if (SDX_HAS(conv_winograd))
            sdx_winograd_pack(pool, shape, way, weights, bias, packed, end);
        return;
    default: break;
    }
    sdx_parallel_for(pool, shape->groups * job.layout.panels.count,
                     sdx_conv_source_grain(&job.source, &job.layout.panels), pack_panels, &job);
    pack_bias(&job);
    memset(packed + job.layout.zeros, 0, shape->channels * sizeof *packed);
}

void sdx_conv_pack(sdx_pool *pool, const sdx_conv_shape *shape, sdx_conv_way way,
                   const void *weights, const void *bias, float *packed) {
    sdx_conv_pack_large(pool, shape, way, weights, bias, packed, NULL);
}

size_t sdx_conv_scratch_size(const sdx_conv_shape *shape, sdx_conv_way way) {
    switch (way) {
    case SDX_CONV_ROWS: return sdx_conv_rows_scratch(shape);
    case SDX_CONV_WINOGRAD_2:
    case SDX_CONV_WINOGRAD_4:
        return SDX_HAS(conv_winograd) ? sdx_winograd_scratch(shape, way) : 0;
    default: return 0;
    }
}

void sdx_conv_run_packed(sdx_pool *pool, const sdx_conv_shape *shape, sdx_conv_way way,
                         const float *packed, const float *x, float *out, const sdx_tail *tail,
                         float *scratch) {
    if (!shape->batch || !shape->out_h || !shape->out_w || !shape->maps) return;
    switch (way) {
    case SDX_CONV_DEPTHWISE:
        if (SDX_HAS(conv_depthwise)) sdx_conv_depthwise(pool, shape, packed, x, out, tail);
        break;
    case SDX_CONV_WINOGRAD_2:
    case SDX_CONV_WINOGRAD_4:
        if (SDX_HAS(conv_winograd))
            sdx_winograd_run(pool, shape, way, packed, x, out, tail, scratch);
        break;
    case SDX_CONV_ROWS:
        if (SDX_HAS(conv_rows)) sdx_conv_rows(pool, shape, packed, x, out, tail, scratch);
        break;
    default: sdx_conv_tiles(pool, shape, packed, x, out, tail); break;
    }
}
