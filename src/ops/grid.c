/* grid.c - GridSample: an image of any number of axes is read at the places that a second tensor
 * lists, between its elements. A place becomes a list of elements and weights, which then serves
 * all channels. AffineGrid makes such tensors. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ops/elementwise.h"
#include "ops/half.h"

enum { NEAREST, LINEAR, CUBIC };
enum { ZEROS, BORDER, REFLECTION };
enum { X, GRID };
/* Entries of the lists of the places at hand, and how many places at most. */
enum { ENTRIES = 4096, PLACES = 64, ON_STACK = 128 };

typedef struct params {
    int mode, padding;
    bool align_corners;
} params;

static sdx_status prepare(sdx_prep *prep) {
    static const char *const modes[] = {"nearest", "linear", "cubic", "bilinear", "bicubic", NULL};
    static const char *const paddings[] = {"zeros", "border", "reflection", NULL};
    params *p = prep->params;
    SDX_TRY(sdx_attr_get_choice(prep, "mode", LINEAR, modes, &p->mode));
    if (p->mode > CUBIC) p->mode -= 2; /* the names of version 16 */
    SDX_TRY(sdx_attr_get_choice(prep, "padding_mode", ZEROS, paddings, &p->padding));
    return sdx_attr_get_bool(prep, "align_corners", false, &p->align_corners);
}

static size_t taps_of(int mode) { return mode == NEAREST ? 1 : mode == LINEAR ? 2 : 4; }

static sdx_status infer(sdx_infer *inf) {
    const params *p = inf->params;
    int32_t rank = sdx_infer_rank(inf, X), grid = sdx_infer_rank(inf, GRID);
    sdx_infer_set_dtype(inf, 0, sdx_infer_dtype(inf, X));
    if (sdx_infer_dtype(inf, X) == SDX_DTYPE_STRING && p->mode != NEAREST)
        return sdx_infer_fail(inf, "text can be sampled in mode nearest only");
    SDX_TRY(sdx_infer_require_min_rank(inf, X, 3));
    SDX_TRY(sdx_infer_require_min_rank(inf, GRID, 3));
    if (rank >= 0) SDX_TRY(sdx_infer_require_rank(inf, GRID, rank));
    int32_t out_rank = rank >= 0 ? rank : grid;
    if (out_rank < 0) return sdx_infer_set_shape(inf, 0, -1, NULL);
    double entries = pow((double)taps_of(p->mode), out_rank - 2);
    if (entries > ENTRIES)
        return sdx_infer_fail(inf, "%d spatial axes are more than the mode supports", out_rank - 2);
    SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, X, 0), sdx_infer_dim(inf, GRID, 0),
                                    "batch of input and grid"));
    SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, GRID, grid - 1),
                                    sdx_expr_const(out_rank - 2), "last dim of grid"));
    sdx_expr dims[SDX_MAX_RANK];
    dims[0] = sdx_infer_dim(inf, rank >= 0 ? X : GRID, 0);
    dims[1] = sdx_infer_dim(inf, X, 1);
    for (int32_t a = 2; a < out_rank; a++) dims[a] = sdx_infer_dim(inf, GRID, a - 1);
    SDX_TRY(sdx_infer_set_shape(inf, 0, out_rank, dims));
    sdx_infer_half_scratch(inf);
    return SDX_STATUS_OK;
}

/* ---- places ---------------------------------------------------------------------------------- */

typedef struct job {
    const params *params;
    const sdx_tensor *x, *grid;
    sdx_tensor *y;
    int32_t axes;
    size_t in_plane, out_plane, channels;
    size_t taps, entries; /* per axis, and of a place in all */
    void *memory;         /* for the lists, where they are too long for the stack; or NULL */
} job;

/* The lists of some places; an offset of -1 is an element outside that counts as zero. */
typedef struct places {
    int64_t *offset;
    double *weight;
} places;

static double reflect(double x, double lo, double hi) {
    double wide = hi - lo;
    if (wide <= 0) return lo;
    double past = x < lo ? lo - x : x > hi ? x - hi : 0;
    if (past == 0) return x;
    double turns = floor(past / wide), rest = past - turns * wide;
    bool even = fmod(turns, 2) == 0;
    return (x < lo) == even ? lo + rest : hi - rest;
}

/* Coordinate in elements from one in [-1, 1], after padding has been applied to it. */
static double denormalize(const job *j, double n, int64_t length) {
    bool corners = j->params->align_corners, exact = j->grid->dtype == SDX_DTYPE_FLOAT64;
    double x = corners ? (n + 1) / 2 * (double)(length - 1) : ((n + 1) * (double)length - 1) / 2;
    float f = (float)n; /* in the precision of the grid, so that halves round as elsewhere */
    if (!exact)
        x = (double)(corners ? (f + 1) / 2 * (float)(length - 1)
                             : ((f + 1) * (float)length - 1) / 2);
    if (j->params->mode == NEAREST) x = nearbyint(x);
    double lo = corners ? 0 : -0.5, hi = (double)length - (corners ? 1 : 0.5);
    /* A cubic reads the padding itself: its elements are padded one by one. */
    if (j->params->mode != CUBIC && j->params->padding != ZEROS && !(x >= lo && x <= hi)) {
        if (x != x || j->params->padding == BORDER)
            x = x > 0 ? (double)(length - 1) : 0;
        else
            x = reflect(x, lo, hi);
    }
    return x > -4e15 ? (x < 4e15 ? x : 4e15) : -4e15; /* fits an index, whatever it was */
}

static int64_t pad_index(const job *j, int64_t i, int64_t length) {
    if (i >= 0 && i < length) return i;
    if (j->params->padding == ZEROS) return -1;
    if (j->params->padding == REFLECTION) {
        bool corners = j->params->align_corners;
        i = (int64_t)reflect((double)i, corners ? 0 : -0.5, (double)length - (corners ? 1 : 0.5));
    }
    return i < 0 ? 0 : i >= length ? length - 1 : i;
}

static double cubic(double d) { /* Keys' kernel with a = -0.75 */
    const double a = -0.75;
    d = fabs(d);
    if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
    return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

/* Elements and weights of one axis at coordinate x. */
static void axis_taps(const job *j, double x, int64_t length, int64_t *index, double *weight) {
    if (j->params->mode == NEAREST) {
        index[0] = pad_index(j, (int64_t)x, length);
        weight[0] = 1;
        return;
    }
    double below = floor(x), first = j->params->mode == CUBIC ? -1 : 0;
    for (size_t t = 0; t < j->taps; t++) {
        double distance = x - below - (first + (double)t);
        index[t] = pad_index(j, (int64_t)(below + first) + (int64_t)t, length);
        weight[t] = j->params->mode == CUBIC ? cubic(distance) : 1 - fabs(distance);
    }
}

/* The list of one place: the product of the axes. `at` has the last axis first. */
static void make_list(const job *j, const double *at, int64_t *offset, double *weight) {
    size_t count = 1;
    offset[0] = 0;
    weight[0] = 1;
    for (int32_t a = 0; a < j->axes; a++) {
        int64_t length = j->x->dims[a + 2], index[4];
        double w[4];
        axis_taps(j, denormalize(j, at[j->axes - 1 - a], length), length, index, w);
        /* From the back, so that the list grows in place. */
        for (size_t i = count; i-- > 0;) {
            int64_t base = offset[i];
            double share = weight[i];
            for (size_t t = j->taps; t-- > 0;) {
                offset[i * j->taps + t] = base < 0 || index[t] < 0 ? -1 : base * length + index[t];
                weight[i * j->taps + t] = share * w[t];
            }
        }
        count *= j->taps;
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

/* `parts` numbers per element: 2 for complex ones. */
#define DEFINE_READ(T, f)                                                                         \
    static void f##_read(const job *j, const places *list, const T *x, T *y, size_t count,        \
                         size_t parts) {                                                          \
        for (size_t i = 0; i < count; i++)                                                        \
            for (size_t p = 0; p < parts; p++) {                                                  \
                T sum = 0;                                                                        \
                for (size_t e = i * j->entries; e < (i + 1) * j->entries; e++)                    \
                    if (list->offset[e] >= 0)                                                     \
                        sum += (T)list->weight[e] * x[(size_t)list->offset[e] * parts + p];       \
                y[i * parts + p] = sum;                                                           \
            }                                                                                     \
    }

DEFINE_READ(float, f32)
DEFINE_READ(double, f64)

/* Any type, one element per place. */
static void read_nearest(const places *list, size_t size, const char *x, char *y, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (list->offset[i] < 0)
            memset(y + i * size, 0, size);
        else
            memcpy(y + i * size, x + (size_t)list->offset[i] * size, size);
}

/* Integers: in float64, cut toward zero at the end. */
static void read_integers(const job *j, const places *list, const sdx_tensor *plane, void *y,
                          size_t count) {
    double sums[PLACES] = {0};
    for (size_t i = 0; i < count; i++)
        for (size_t e = i * j->entries; e < (i + 1) * j->entries; e++)
            if (list->offset[e] >= 0)
                sums[i] += list->weight[e] * sdx_tensor_double(plane, (size_t)list->offset[e]);
    sdx_from_f64(j->y->dtype, sums, y, count);
}

/* All channels at the listed places of image n, from place `first` on. */
static void read_places(const job *j, const places *list, size_t n, size_t first, size_t count) {
    size_t size = sdx_dtype_size(j->x->dtype);
    for (size_t c = 0; c < j->channels; c++) {
        size_t plane = n * j->channels + c;
        char *x = (char *)j->x->data + plane * j->in_plane * size;
        void *y = (char *)j->y->data + (plane * j->out_plane + first) * size;
        if (j->params->mode == NEAREST) {
            read_nearest(list, size, x, y, count);
            continue;
        }
        switch (j->x->dtype) {
        case SDX_DTYPE_FLOAT32: f32_read(j, list, (const void *)x, y, count, 1); break;
        case SDX_DTYPE_COMPLEX64: f32_read(j, list, (const void *)x, y, count, 2); break;
        case SDX_DTYPE_FLOAT64: f64_read(j, list, (const void *)x, y, count, 1); break;
        case SDX_DTYPE_COMPLEX128: f64_read(j, list, (const void *)x, y, count, 2); break;
        default:
            read_integers(j, list, &(sdx_tensor){.dtype = j->x->dtype, .data = x}, y, count);
        }
    }
}

/* Output places [begin, end), counted over all images. */
static void places_body(void *arg, size_t begin, size_t end) {
    const job *j = arg;
    int64_t offsets[ON_STACK] = {0};
    double weights[ON_STACK] = {0}, grid[PLACES];
    places list = {offsets, weights};
    if (j->memory) list = (places){j->memory, (void *)((int64_t *)j->memory + j->entries)};
    size_t axes = (size_t)j->axes, most = j->memory ? 1 : ON_STACK / j->entries;
    if (most > PLACES / axes) most = PLACES / axes;
    for (size_t at = begin, count; at < end; at += count) {
        size_t n = at / j->out_plane, first = at % j->out_plane;
        count = end - at < most ? end - at : most;
        if (count > j->out_plane - first) count = j->out_plane - first;
        sdx_convert(j->grid->dtype, SDX_DTYPE_FLOAT64,
                    (const char *)j->grid->data + at * axes * sdx_dtype_size(j->grid->dtype), grid,
                    count * axes);
        for (size_t i = 0; i < count; i++)
            make_list(j, grid + i * axes, list.offset + i * j->entries,
                      list.weight + i * j->entries);
        read_places(j, &list, n, first, count);
    }
}

static sdx_status body(sdx_call *call) {
    job j = {.params = call->params, .x = sdx_in(call, X), .grid = sdx_in(call, GRID),
             .y = sdx_out(call, 0)};
    if (j.y->count == 0) return SDX_STATUS_OK;
    j.axes = j.x->rank - 2;
    j.channels = (size_t)j.x->dims[1];
    j.in_plane = sdx_dims_product(j.x->dims, 2, j.x->rank);
    j.out_plane = sdx_dims_product(j.y->dims, 2, j.y->rank);
    j.taps = taps_of(j.params->mode);
    j.entries = 1;
    for (int32_t a = 0; a < j.axes; a++) j.entries *= j.taps;
    if (j.in_plane == 0) return sdx_call_fail(call, "an empty image cannot be sampled");
    const size_t count = (size_t)j.y->dims[0] * j.out_plane;
    if (j.entries <= ON_STACK) {
        sdx_call_parallel(call, count, 32768 / (j.entries * j.channels * 4) + 16, places_body, &j);
        return SDX_STATUS_OK;
    }
    /* Cubic over four axes and more: one list, one thread. */
    j.memory = sdx_call_temp(call, j.entries, sizeof(int64_t) + sizeof(double));
    if (!j.memory) return SDX_STATUS_NO_MEMORY;
    places_body(&j, 0, count);
    sdx_call_temp_free(call, j.memory);
    return SDX_STATUS_OK;
}

static sdx_status run(sdx_call *call) { return sdx_call_half(call, body); }

const sdx_op_def sdx_op_grid_sample = {
    .min_in = 2, .max_in = 2, .min_out = 1, .max_out = 1,
    .in_types = {SDX_T_NUMERIC | SDX_T(BOOL) | SDX_T(STRING) | SDX_T_COMPLEX, SDX_T_FLOATS},
    .params_size = sizeof(params),
    .prepare = prepare, .infer = infer, .run = SDX_BODY(sdx_op_grid_sample, run),
};
