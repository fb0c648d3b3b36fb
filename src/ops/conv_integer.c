/* conv_integer.c - ConvInteger and QLinearConv: 8-bit images and kernels, 32-bit sums. Zero points
 * are taken off first, which leaves 16-bit numbers; patches are laid out one after the other, so
 * that each output is a dot product of two contiguous rows, which compilers turn into
 * multiply-and-add-pairs instructions. */
#include <math.h>
#include <string.h>

#include "ops/conv.h"

/* Which input is what; the two operators differ in nothing else but the last step. */
typedef struct roles {
    uint32_t x, x_zero, w, w_zero, bias;
    bool quantized; /* scales are inputs 1, 4 and 6, the output's zero point 7 */
} roles;

static const roles integer_roles = {.x = 0, .x_zero = 2, .w = 1, .w_zero = 3, .bias = SDX_NONE};
static const roles quantized_roles = {.x = 0, .x_zero = 2, .w = 3, .w_zero = 5, .bias = 8,
                                      .quantized = true};

enum { X_SCALE = 1, W_SCALE = 4, Y_SCALE = 6, Y_ZERO = 7 };
#define BYTES (SDX_T(INT8) | SDX_T(UINT8))
enum { COLUMNS = 32, PIECES = 8 }; /* patches at a time, and how many such blocks side by side */

static sdx_status prepare(sdx_prep *prep) { return sdx_conv_prepare(prep, prep->params); }

/* ---- infer ----------------------------------------------------------------------------------- */

/* One value, or one for each output channel where `channels` is given. */
static sdx_status check_values(sdx_infer *inf, uint32_t i, const sdx_expr *channels) {
    int32_t rank = sdx_infer_rank(inf, i);
    if (rank <= 0) return SDX_STATUS_OK;
    SDX_TRY(sdx_infer_require_rank(inf, i, 1));
    sdx_expr count = sdx_infer_dim(inf, i, 0);
    if (channels) return sdx_infer_require_broadcast(inf, count, *channels);
    return sdx_infer_require_equal(inf, count, sdx_expr_const(1),
                                   "scale or zero point of a whole tensor");
}

static sdx_status check_same_type(sdx_infer *inf, uint32_t a, uint32_t b) {
    sdx_dtype da = sdx_infer_dtype(inf, a), db = sdx_infer_dtype(inf, b);
    if (da == SDX_DTYPE_UNDEFINED || db == SDX_DTYPE_UNDEFINED || da == db) return SDX_STATUS_OK;
    return sdx_infer_fail(inf, "input %u is %s, but its zero point is %s", a, sdx_dtype_name(da),
                          sdx_dtype_name(db));
}

/* Types that the table of the operator cannot say. */
static sdx_status check_type(sdx_infer *inf, uint32_t i, sdx_dtypes types, const char *what) {
    sdx_dtype dtype = sdx_infer_dtype(inf, i);
    if (dtype == SDX_DTYPE_UNDEFINED || sdx_dtypes_has(types, dtype)) return SDX_STATUS_OK;
    char text[128];
    return sdx_infer_fail(inf, "the %s is %s, expected %s", what, sdx_dtype_name(dtype),
                          sdx_dtypes_text(types, text, sizeof text));
}

static size_t line(size_t bytes) { return (bytes + 63) / 64 * 64; }
/* Rows of patches and kernels are padded with zeros to whole vectors. */
static size_t padded(size_t depth) { return (depth + 7) / 8 * 8; }

/* Bytes of one piece: rows of the patch matrix, then the same as patches. */
static size_t piece_bytes(size_t depth) {
    return line(depth * COLUMNS * 2) + line(padded(depth) * COLUMNS * 2);
}

static void add_scratch(sdx_infer *inf, const roles *r) {
    int32_t rank = sdx_infer_rank(inf, r->x), w_rank = sdx_infer_rank(inf, r->w);
    if (rank < 3 || w_rank < 3) return;
    sdx_expr maps = sdx_infer_dim(inf, r->w, 0), depth = sdx_infer_product(inf, r->w, 1, w_rank);
    sdx_expr image = sdx_infer_product(inf, r->x, 1, rank);
    if (!sdx_expr_is_const(maps) || !sdx_expr_is_const(depth)) return;
    size_t m = (size_t)sdx_expr_value(maps), d = (size_t)sdx_expr_value(depth);
    sdx_infer_add_scratch(inf, line(m * padded(d) * 2) + PIECES * piece_bytes(d) + 64);
    sdx_infer_add_scratch_expr(inf, sdx_inf_mul(inf, image, sdx_expr_const(2)));
}

static sdx_status infer(sdx_infer *inf) {
    const sdx_conv_params *p = inf->params;
    const roles *r = inf->def->aux;
    SDX_TRY(check_same_type(inf, r->x, r->x_zero));
    SDX_TRY(check_same_type(inf, r->w, r->w_zero));
    sdx_infer_set_dtype(inf, 0, r->quantized ? sdx_infer_dtype(inf, Y_ZERO) : SDX_DTYPE_INT32);
    SDX_TRY(sdx_conv_infer_shape(inf, p, r->x, r->w, r->bias));
    sdx_expr maps = sdx_infer_dim(inf, r->w, 0);
    SDX_TRY(check_values(inf, r->x_zero, NULL));
    SDX_TRY(check_values(inf, r->w_zero, &maps));
    if (r->quantized) {
        SDX_TRY(check_type(inf, Y_ZERO, BYTES, "zero point of the output"));
        SDX_TRY(check_type(inf, r->bias, SDX_T(INT32), "bias"));
        SDX_TRY(check_values(inf, X_SCALE, NULL));
        SDX_TRY(check_values(inf, W_SCALE, &maps));
        SDX_TRY(check_values(inf, Y_SCALE, NULL));
        SDX_TRY(check_values(inf, Y_ZERO, NULL));
    }
    add_scratch(inf, r);
    return SDX_STATUS_OK;
}

/* ---- run ------------------------------------------------------------------------------------- */

typedef struct job {
    sdx_conv conv;
    const sdx_tensor *x, *w, *w_scale, *bias;
    sdx_tensor *y;
    int x_zero, y_zero;
    double ratio; /* x_scale / y_scale */
    size_t depth, image;   /* image: the one at hand */
    int16_t *kernel, *plane16;
    char *pieces;
} job;

static int value_at(const sdx_tensor *t, size_t i) {
    if (!t || t->count == 0) return 0;
    i = t->count == 1 ? 0 : i;
    if (t->dtype == SDX_DTYPE_INT8) return ((const int8_t *)t->data)[i];
    return ((const uint8_t *)t->data)[i];
}

/* to[i] = from[i] - zero. */
static void widen(const sdx_tensor *t, size_t from, size_t count, int zero, int16_t *to) {
    if (t->dtype == SDX_DTYPE_INT8) {
        const int8_t *in = (const int8_t *)t->data + from;
        for (size_t i = 0; i < count; i++) to[i] = (int16_t)(in[i] - zero);
    } else {
        const uint8_t *in = (const uint8_t *)t->data + from;
        for (size_t i = 0; i < count; i++) to[i] = (int16_t)(in[i] - zero);
    }
}

static void widen_planes(void *arg, size_t begin, size_t end) {
    const job *j = arg;
    size_t count = j->conv.window.in_count, planes = j->conv.groups * j->conv.in_planes;
    widen(j->x, (j->image * planes + begin) * count, (end - begin) * count, j->x_zero,
          j->plane16 + begin * count);
}

/* Dot product of two rows. 32-bit sums wrap, so long rows are cut where the partial sums of
 * products of at most 2^16 could reach 2^31. */
static uint32_t dot(const int16_t *restrict w, const int16_t *restrict patch, size_t depth) {
    uint32_t sum = 0;
    for (size_t from = 0; from < depth; from += 16384) {
        size_t to = depth - from < 16384 ? depth : from + 16384;
        int32_t part = 0;
        for (size_t i = from; i < to; i++) part += (int32_t)w[i] * (int32_t)patch[i];
        sum += (uint32_t)part;
    }
    return sum;
}

static void store(const job *j, size_t map, size_t at, uint32_t sum) {
    if (!j->w_scale) {
        ((int32_t *)j->y->data)[at] = (int32_t)sum;
        return;
    }
    if (j->bias) sum += (uint32_t)((const int32_t *)j->bias->data)[map];
    double scale = ((const float *)j->w_scale->data)[j->w_scale->count == 1 ? 0 : map] * j->ratio;
    double lo = j->y->dtype == SDX_DTYPE_INT8 ? -128 : 0, hi = lo + 255;
    double value = nearbyint((int32_t)sum * scale) + j->y_zero;
    value = value > hi ? hi : value >= lo ? value : lo; /* not a number becomes the lowest */
    if (j->y->dtype == SDX_DTYPE_INT8)
        ((int8_t *)j->y->data)[at] = (int8_t)value;
    else
        ((uint8_t *)j->y->data)[at] = (uint8_t)value;
}

/* Patches [column, column + columns) of a group, and their products with all its maps. */
static void one_block(const job *j, size_t group, size_t column, size_t columns, char *memory) {
    const sdx_conv *conv = &j->conv;
    size_t depth = j->depth, ld = padded(depth), outs = conv->window.out_count;
    int16_t *rows = (void *)memory, *patches = (void *)(memory + line(depth * COLUMNS * 2));
    sdx_im2col(&conv->window, 2, j->plane16 + group * conv->in_planes * conv->window.in_count, 0,
               depth, column, columns, rows, columns);
    for (size_t c = 0; c < columns; c++) {
        if (sdx_watch_work(2 * depth)) return;
        int16_t *patch = patches + c * ld;
        for (size_t k = 0; k < depth; k++) patch[k] = rows[k * columns + c];
        for (size_t k = depth; k < ld; k++) patch[k] = 0;
    }
    for (size_t m = 0; m < conv->out_planes; m++) {
        size_t map = group * conv->out_planes + m;
        size_t at = (j->image * conv->groups * conv->out_planes + map) * outs + column;
        if (sdx_watch_work(columns * (ld / 8 + 1))) return;
        for (size_t c = 0; c < columns; c++)
            store(j, map, at + c, dot(j->kernel + map * ld, patches + c * ld, ld));
    }
}

static void piece_body(void *arg, size_t begin, size_t end) {
    const job *j = arg;
    size_t outs = j->conv.window.out_count, blocks = (outs + COLUMNS - 1) / COLUMNS;
    size_t items = j->conv.groups * blocks;
    for (size_t piece = begin; piece < end; piece++) {
        char *memory = j->pieces + piece * piece_bytes(j->depth);
        size_t last = (piece + 1) * items / PIECES;
        for (size_t item = piece * items / PIECES; item < last && !sdx_watch_work(0); item++) {
            size_t column = item % blocks * COLUMNS;
            one_block(j, item / blocks, column, outs - column < COLUMNS ? outs - column : COLUMNS,
                      memory);
        }
    }
}

static sdx_status run(sdx_call *call) {
    const roles *r = call->def->aux;
    bool wanted;
    SDX_TRY(sdx_call_ready(call, &wanted));
    if (!wanted) return SDX_STATUS_OK;
    job j = {.x = sdx_in(call, r->x), .w = sdx_in(call, r->w), .y = sdx_out(call, 0)};
    if (j.y->count == 0) return SDX_STATUS_OK;
    sdx_conv_resolve(call->params, j.x, j.w, j.y, &j.conv);
    j.depth = j.conv.in_planes * j.conv.window.kernel_count;
    j.x_zero = value_at(sdx_in(call, r->x_zero), 0);
    if (r->quantized) {
        j.w_scale = sdx_in(call, W_SCALE);
        j.bias = sdx_in(call, r->bias);
        j.y_zero = value_at(sdx_in(call, Y_ZERO), 0);
        j.ratio = (double)*(const float *)sdx_in(call, X_SCALE)->data /
                  (double)*(const float *)sdx_in(call, Y_SCALE)->data;
    }
    size_t maps = j.conv.groups * j.conv.out_planes, ld = padded(j.depth);
    size_t planes = j.conv.groups * j.conv.in_planes;
    size_t kernel = line(maps * ld * 2), image = line(planes * j.conv.window.in_count * 2);
    sdx_scratch scratch;
    SDX_TRY(sdx_call_scratch(call, kernel + image + PIECES * piece_bytes(j.depth), &scratch));
    j.kernel = scratch.data;
    j.plane16 = (void *)((char *)scratch.data + kernel);
    j.pieces = (char *)scratch.data + kernel + image;
    const sdx_tensor *w_zero = sdx_in(call, r->w_zero);
    for (size_t m = 0; m < maps; m++) {
        widen(j.w, m * j.depth, j.depth, value_at(w_zero, m), j.kernel + m * ld);
        for (size_t k = j.depth; k < ld; k++) j.kernel[m * ld + k] = 0;
    }
    for (j.image = 0; j.image < j.conv.batch; j.image++) {
        sdx_call_parallel(call, planes, ((size_t)1 << 16) / (j.conv.window.in_count + 1) + 1,
                          widen_planes, &j);
        sdx_call_parallel(call, PIECES, 1, piece_body, &j);
    }
    sdx_call_scratch_end(call, &scratch);
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_conv_integer = {
    .min_in = 2, .max_in = 4, .min_out = 1, .max_out = 1,
    .in_types = {BYTES},
    .params_size = sizeof(sdx_conv_params),
    .prepare = prepare, .infer = infer, .run = SDX_BODY(sdx_op_conv_integer, run),
    .aux = &integer_roles,
};

const sdx_op_def sdx_op_qlinear_conv = {
    .min_in = 8, .max_in = 9, .min_out = 1, .max_out = 1,
    .in_types = {BYTES, SDX_T(FLOAT32), BYTES, BYTES, SDX_T(FLOAT32), BYTES, SDX_T(FLOAT32),
                 BYTES | SDX_T(INT32)}, /* the bias's slot too; infer tells them apart */
    .params_size = sizeof(sdx_conv_params),
    .prepare = prepare, .infer = infer, .run = SDX_BODY(sdx_op_qlinear_conv, run),
    .aux = &quantized_roles,
};
