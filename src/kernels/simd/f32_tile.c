/* f32_tile.c - rows times a packed panel, tile by tile; see kernels/tile.h. A tile is as large as
 * the registers allow: for each row of B, its vectors are loaded once and each row of A gives one
 * broadcast. Tiles of a block differ by one row at most, since a tile of one or two rows would wait
 * for its own sums. */
#include "kernels/simd/f32_act.h"
#include "kernels/kernels.h"

SIMD_INLINE vf load_columns(const float *p, size_t columns, size_t v) {
    if (columns >= (v + 1) * VL) return vf_load(p);
    return columns > v * VL ? vf_load_n(p, columns - v * VL) : vf_set1(0.0f);
}

SIMD_INLINE void store_columns(float *p, vf a, size_t columns, size_t v) {
    if (columns >= (v + 1) * VL) vf_store(p, a);
    else if (columns > v * VL) vf_store_n(p, a, columns - v * VL);
}

#define LINE (64 / sizeof(float)) /* of the caches */

/* What the end of a tile touches, asked for at its beginning: to be written, where that is so, since another
 * core may still have read what was there before. */
SIMD_INLINE void tile_prefetch(const float *p, size_t stride, const size_t rows,
                               const size_t vectors, const bool write) {
    SIMD_UNROLL
    for (size_t i = 0; i < rows; i++)
        SIMD_UNROLL
        for (size_t c = 0; c < vectors * VL; c += LINE) {
            if (write) __builtin_prefetch(p + i * stride + c, 1);
            else __builtin_prefetch(p + i * stride + c);
        }
}

/* Tiles over the last columns, where a vector is not whole: slower, one for all shapes. Sums come
 * and go through memory of the caller, which is aligned: on the stack of a tile that would cost it
 * a register. */
static __attribute__((noinline)) void load_part(const sdx_tiles *job, const float *out, size_t rows,
                                                size_t vectors, float *part) {
    for (size_t i = 0; i < rows; i++)
        for (size_t v = 0; v < vectors; v++, part += VL)
            vf_store(part, load_columns(out + i * job->out_stride + v * VL, job->columns, v));
}

static __attribute__((noinline)) void store_part(const sdx_tiles *job, const float *addend,
                                                 float *out, size_t rows, size_t vectors,
                                                 const float *part) {
    const bool clip = job->finish && job->tail.act == SDX_ACT_CLIP;
    const vf low = vf_set1(job->tail.a), high = vf_set1(job->tail.b);
    for (size_t i = 0; i < rows; i++)
        for (size_t v = 0; v < vectors; v++, part += VL) {
            vf sum = vf_load(part);
            if (addend)
                sum += load_columns(addend + i * job->tail.addend_stride + v * VL, job->columns, v);
            if (clip) sum = vf_clip(sum, low, high);
            store_columns(out + i * job->out_stride + v * VL, sum, job->columns, v);
        }
}

/* What is wanted next is brought nearer line by line with the rows of the panel where each of them is
 * lines of its own. Where it is a part of one, as many loads would hold up those of the tile, and
 * there are some lines at a time instead. */
#define TILE_EACH_ROW (VL >= LINE)
#define TILE_FETCH    (TILE_EACH_ROW ? SDX_CHAIN : 96) /* rows at a time */

/* What the tiles of a job share, found once for all of them, and what moves on from one to the next. */
typedef struct tile_run {
    const float *addend; /* or NULL */
    const char *next;    /* what is brought nearer */
    size_t fetch;        /* bytes of it with each row of the panel, or each TILE_FETCH */
    const float *before; /* what chains are added to; or NULL */
    size_t before_step;  /* from row to row there */
    const float *start;  /* of the sums; NULL: zeros */
    size_t chain;        /* pieces of a chain */
    float *totals;
    bool whole, low, high; /* no part of a vector; bounds of the results that change anything */
} tile_run;

#define TALL(most) (SDX_HAS(narrow_tiles) ? (most) : 1) /* else rows go one by one */
#define TILE_HALF   0
#define TILE_SHARED 0

#define TILE_VECTORS 1
#define TILE_TALLEST TALL(12)
#include "kernels/simd/f32_tile_heights.h"
#define TILE_VECTORS 2
#define TILE_TALLEST (SIMD_REGISTERS >= 32 ? 12 : 6)
#include "kernels/simd/f32_tile_heights.h"
#define TILE_VECTORS 3
#define TILE_TALLEST (SIMD_REGISTERS >= 32 ? 8 : 4)
#include "kernels/simd/f32_tile_heights.h"
#if SIMD_REGISTERS >= 32
#define TILE_VECTORS 4
#define TILE_TALLEST 6
#include "kernels/simd/f32_tile_heights.h"
#endif
#undef TILE_HALF

/* The same for panels that end with half a vector. */
#ifdef SIMD_PAIRS
#define TILE_HALF    1
#define TILE_VECTORS 1
#define TILE_TALLEST TALL(12)
#include "kernels/simd/f32_tile_heights.h"
#define TILE_VECTORS 2
#define TILE_TALLEST TALL(12)
#include "kernels/simd/f32_tile_heights.h"
#define TILE_VECTORS 3
#define TILE_TALLEST TALL(8)
#include "kernels/simd/f32_tile_heights.h"
#undef TILE_HALF
#undef TILE_SHARED

/* A second form of the narrowest: see sdx_kernels_share_loads. */
#define TILE_HALF    0
#define TILE_SHARED  1
#define TILE_VECTORS 1
#define TILE_TALLEST TALL(12)
#include "kernels/simd/f32_tile_heights.h"
#undef TILE_HALF
#endif
#undef TILE_SHARED

/* Rows of A and of the results are handed over in registers, since sums wait for them. */
typedef void (*tile)(const sdx_tiles *job, tile_run *run, const float *const *rows, float *out);

/* By width, each list by height. */
static const tile tiles_1[] = {
    tile_1x1,
#if SDX_HAS(narrow_tiles)
    tile_2x1, tile_3x1, tile_4x1, tile_5x1,  tile_6x1,  tile_7x1,
    tile_8x1, tile_9x1, tile_10x1, tile_11x1, tile_12x1,
#endif
};
static const tile tiles_2[] = {
    tile_1x2, tile_2x2, tile_3x2, tile_4x2,  tile_5x2,  tile_6x2,
#if SIMD_REGISTERS >= 32
    tile_7x2, tile_8x2, tile_9x2, tile_10x2, tile_11x2, tile_12x2,
#endif
};
static const tile tiles_3[] = {
    tile_1x3, tile_2x3, tile_3x3, tile_4x3,
#if SIMD_REGISTERS >= 32
    tile_5x3, tile_6x3, tile_7x3, tile_8x3,
#endif
};
#if SIMD_REGISTERS >= 32
static const tile tiles_4[] = {tile_1x4, tile_2x4, tile_3x4, tile_4x4, tile_5x4, tile_6x4};
#else
#define tiles_4 tiles_3 /* never asked for */
#endif
#ifdef SIMD_PAIRS
#if SDX_HAS(narrow_tiles)
static const tile shared_1[] = {shared_1x1, shared_2x1, shared_3x1, shared_4x1,  shared_5x1,  shared_6x1,
                                shared_7x1, shared_8x1, shared_9x1, shared_10x1, shared_11x1, shared_12x1};
static const tile halves_1[] = {half_1x1, half_2x1, half_3x1, half_4x1,  half_5x1,  half_6x1,
                                half_7x1, half_8x1, half_9x1, half_10x1, half_11x1, half_12x1};
static const tile halves_2[] = {half_1x2, half_2x2, half_3x2, half_4x2,  half_5x2,  half_6x2,
                                half_7x2, half_8x2, half_9x2, half_10x2, half_11x2, half_12x2};
static const tile halves_3[] = {half_1x3, half_2x3, half_3x3, half_4x3,
                                half_5x3, half_6x3, half_7x3, half_8x3};
#else
static const tile shared_1[] = {shared_1x1};
static const tile halves_1[] = {half_1x1}, halves_2[] = {half_1x2}, halves_3[] = {half_1x3};
#endif
#endif
typedef struct tile_list {
    const tile *of; /* by height */
    size_t tallest;
} tile_list;
#define LIST(list) {list, sizeof(list) / sizeof *(list)}

#define TILE_MOST (SIMD_REGISTERS >= 32 ? 24 : 12) /* vectors of a tile */

/* Activations that are more than a comparison: over the tile that was just stored, which is still
 * in the first cache, and while the next one's loads begin. */
SIMD_INLINE void activate_whole(float *out, size_t stride, size_t rows, sdx_act act, vf a, vf b,
                                const size_t vectors) {
    for (size_t i = 0; i < rows; i++, out += stride) {
        vf x[3];
        SIMD_UNROLL
        for (size_t v = 0; v < vectors; v++) x[v] = act_tail(act, vf_load(out + v * VL), a, b);
        SIMD_UNROLL
        for (size_t v = 0; v < vectors; v++) vf_store(out + v * VL, x[v]);
    }
}

SIMD_INLINE void activate_as(const sdx_tiles *job, size_t first, size_t rows, sdx_act act) {
    const vf a = act_tail_first(act, vf_set1(job->tail.a)), b = vf_set1(job->tail.b);
    const size_t stride = job->out_stride, rest = job->columns % VL;
    float *out = job->out + first * stride;
    size_t vectors = job->columns / VL;
    size_t v = 0;
    for (; v + 2 <= vectors; v += 2) activate_whole(out + v * VL, stride, rows, act, a, b, 2);
    if (v < vectors) activate_whole(out + v * VL, stride, rows, act, a, b, 1);
    out += vectors * VL;
    for (size_t i = 0; rest && i < rows; i++, out += stride)
        vf_store_n(out, act_tail(act, vf_load_n(out, rest), a, b), rest);
}

static void activate(const sdx_tiles *job, size_t first, size_t rows) {
#define ACT(act, part)                                                                            \
    case act:                                                                                     \
        if (SDX_HAS(part)) activate_as(job, first, rows, act);                                    \
        break;
    switch (job->tail.act) {
        ACT(SDX_ACT_LEAKY, act_leaky)
        ACT(SDX_ACT_SIGMOID, act_sigmoid)
        ACT(SDX_ACT_SWISH, act_swish)
        ACT(SDX_ACT_HARD_SIGMOID, act_hard_sigmoid)
        ACT(SDX_ACT_HARD_SWISH, act_hard_swish)
        ACT(SDX_ACT_TANH, act_tanh)
        ACT(SDX_ACT_GELU, act_gelu)
        ACT(SDX_ACT_GELU_TANH, act_gelu_tanh)
    default: break;
    }
}

static tile_run begin_run(const sdx_tiles *job, size_t vectors, float *totals) {
    const bool first = sdx_bias_first(job), clip = job->finish && job->tail.act == SDX_ACT_CLIP;
    return (tile_run){.addend = job->finish ? job->tail.addend : NULL,
                      .next = (const char *)job->panel,
                      .before = job->add ? job->out : first ? NULL : job->tail.bias,
                      .before_step = job->add ? job->out_stride : 0,
                      .start = first ? job->tail.bias : NULL,
                      .chain = job->taps > 1 ? sdx_chain_taps(job->depth) : 1, .totals = totals,
                      .whole = job->columns >= vectors * VL, .low = clip,
                      .high = clip && job->tail.b < __builtin_inff()};
}

void SDX_NAME(sdx_f32_tiles)(const sdx_tiles *job) {
    static const tile_list lists[] = {
        LIST(tiles_1), LIST(tiles_2), LIST(tiles_3), LIST(tiles_4),
#ifdef SIMD_PAIRS
        LIST(halves_1), LIST(halves_2), LIST(halves_3),
#endif
    };
    if (!job->row_count) return;
    const size_t vectors = job->pair ? 4 : job->vectors;
    tile_list list = lists[vectors - 1 + (job->half ? 4 : 0)];
#ifdef SIMD_PAIRS
    if (vectors == 1 && !job->half && sdx_kernels_share_loads()) list = (tile_list)LIST(shared_1);
#endif
    const bool act = job->finish && job->tail.act > SDX_ACT_CLIP;
    _Alignas(64) float totals[TILE_MOST * VL];
    tile_run run = begin_run(job, vectors, totals);
    /* As many tiles as the tallest would need, all of about the same height: the first `tall` ones
     * have a row more than the others. */
    const size_t tiles = (job->row_count + list.tallest - 1) / list.tallest;
    size_t height = (job->row_count + tiles - 1) / tiles, tall = job->row_count - tiles * (height - 1);
    /* What is wanted next is brought nearer in equal parts by each of them: all of it by the first would
     * take more of the memory's time than one tile lasts. */
    if (job->ahead) {
        const size_t line = (job->pair ? 2 : job->vectors) * VL * sizeof(float);
        run.next += job->ahead;
        run.fetch = ((TILE_EACH_ROW ? 1 : TILE_FETCH) * line + tiles - 1) / tiles;
    } else if (TILE_EACH_ROW && tiles > 1 && job->taps == 1 &&
               job->rows[job->row_taps] == job->rows[0] + job->depth) {
        /* A last panel is often the only one, whose rows of A nobody has read: those of the next tile. */
        run.next = (const char *)job->rows[height];
        run.fetch = height * sizeof(float);
    }
    const float *const *rows = job->rows;
    float *out = job->out;
    for (size_t i = 0, row = 0; i < tiles; i++) {
        if (i == tall) height--;
        list.of[height - 1](job, &run, rows, out);
        if (act) activate(job, row, height);
        row += height;
        rows += height * job->row_taps;
        out += height * job->out_stride;
        if (run.before) run.before += height * run.before_step;
        if (run.addend) run.addend += height * job->tail.addend_stride;
    }
}

/* One row times `count` panels of two vectors, each `stride` floats behind the last: several sums
 * at once, so that none waits for itself, and several streams from memory. */
#define ROW_PANELS 4
static void row_panels(const sdx_tiles *job, size_t stride, float *totals) {
    const bool bias_first = sdx_bias_first(job);
    const float *b = job->panel;
    const float *before = job->add ? job->out : bias_first ? NULL : job->tail.bias;
    vf sum[ROW_PANELS][2];
    SIMD_UNROLL
    for (size_t p = 0; p < ROW_PANELS; p++)
        SIMD_UNROLL
        for (size_t v = 0; v < 2; v++)
            sum[p][v] = bias_first ? vf_load(job->tail.bias + (2 * p + v) * VL) : vf_set1(0.0f);
    const size_t chain = sdx_chain_taps(job->depth);
    size_t pieces = chain;
    for (size_t t = 0; t < job->taps; t++)
        for (size_t from = 0; from < job->depth; from += SDX_CHAIN) {
            const float *a = job->rows[t] + job->offset + from;
            const size_t left = job->depth - from, count = left < SDX_CHAIN ? left : SDX_CHAIN;
            if (pieces-- == 0) {
                SIMD_UNROLL
                for (size_t p = 0; p < ROW_PANELS; p++)
                    SIMD_UNROLL
                    for (size_t v = 0; v < 2; v++) {
                        if (before) sum[p][v] += vf_load(before + (2 * p + v) * VL);
                        vf_store(totals + (2 * p + v) * VL, sum[p][v]);
                        sum[p][v] = vf_set1(0.0f);
                    }
                before = totals;
                pieces = chain - 1;
            }
            for (size_t k = 0; k < count; k++) {
                const vf x = vf_broadcast(a + k);
                SIMD_UNROLL
                for (size_t p = 0; p < ROW_PANELS; p++)
                    SIMD_UNROLL
                    for (size_t v = 0; v < 2; v++)
                        sum[p][v] = vf_fma(x, vf_load(b + p * stride + v * VL), sum[p][v]);
                b += 2 * VL;
            }
        }
    const vf low = vf_set1(job->tail.a), high = vf_set1(job->tail.b);
    SIMD_UNROLL
    for (size_t p = 0; p < ROW_PANELS; p++)
        SIMD_UNROLL
        for (size_t v = 0; v < 2; v++) {
            size_t column = (2 * p + v) * VL;
            if (before) sum[p][v] += vf_load(before + column);
            if (job->finish && job->tail.addend) sum[p][v] += vf_load(job->tail.addend + column);
            if (job->finish && job->tail.act == SDX_ACT_CLIP) sum[p][v] = vf_clip(sum[p][v], low, high);
            vf_store(job->out + column, sum[p][v]);
        }
}

void SDX_NAME(sdx_f32_row_panels)(const sdx_tiles *job, size_t count, size_t stride) {
    _Alignas(64) float totals[ROW_PANELS * 2 * VL];
    sdx_tiles part = *job;
    for (size_t p = 0; p < count;) {
        part.panel = job->panel + p * stride;
        part.out = job->out + p * 2 * VL;
        part.columns = job->columns - p * 2 * VL;
        if (job->tail.bias) part.tail.bias = job->tail.bias + p * 2 * VL;
        if (job->tail.addend) part.tail.addend = job->tail.addend + p * 2 * VL;
        if (count - p >= ROW_PANELS && part.columns >= ROW_PANELS * 2 * VL) {
            row_panels(&part, stride, totals);
            p += ROW_PANELS;
        } else {
            tile_run run = begin_run(&part, 2, totals);
            tile_1x2(&part, &run, part.rows, part.out);
            p++;
        }
    }
    if (job->finish && job->tail.act > SDX_ACT_CLIP) activate(job, 0, 1);
}
