/* roi.c - RoiAlign and MaxRoiPool: regions of an image, each brought to a small grid of bins. */
#include <inttypes.h>
#include <math.h>

#include "ops/half.h"

enum { X, ROIS, BATCH_INDICES };

typedef struct params {
    float scale;
    int64_t height, width; /* bins */
    int64_t sampling;      /* RoiAlign: points per bin and axis; 0: as many as the region needs */
    bool max;              /* RoiAlign: mode */
    bool half_pixel;
} params;

static sdx_status check_bins(sdx_prep *prep, const params *p) {
    if (p->height < 1 || p->width < 1 || p->height > INT32_MAX || p->width > INT32_MAX)
        return sdx_prep_fail(prep, "the output is %" PRId64 " by %" PRId64 ", expected at least 1",
                             p->height, p->width);
    return SDX_STATUS_OK;
}

static sdx_status align_prepare(sdx_prep *prep) {
    static const char *const modes[] = {"avg", "max", NULL};
    static const char *const shifts[] = {"output_half_pixel", "half_pixel", NULL};
    params *p = prep->params;
    int mode, shift;
    SDX_TRY(sdx_attr_get_choice(prep, "mode", 0, modes, &mode));
    p->max = mode == 1;
    /* Before version 16 there was no shift. */
    SDX_TRY(sdx_attr_get_choice(prep, "coordinate_transformation_mode", prep->version >= 16, shifts,
                                &shift));
    p->half_pixel = shift == 1;
    SDX_TRY(sdx_attr_get_float(prep, "spatial_scale", 1, &p->scale));
    SDX_TRY(sdx_attr_get_int(prep, "sampling_ratio", 0, &p->sampling));
    if (p->sampling < 0 || p->sampling > 4096)
        return sdx_prep_fail(prep, "sampling_ratio is %" PRId64 ", expected 0 to 4096",
                             p->sampling);
    SDX_TRY(sdx_attr_get_int(prep, "output_height", 1, &p->height));
    SDX_TRY(sdx_attr_get_int(prep, "output_width", 1, &p->width));
    return check_bins(prep, p);
}

static sdx_status max_prepare(sdx_prep *prep) {
    params *p = prep->params;
    const int64_t *shape;
    size_t count;
    SDX_TRY(sdx_attr_get_float(prep, "spatial_scale", 1, &p->scale));
    SDX_TRY(sdx_attr_get_ints(prep, "pooled_shape", &shape, &count));
    if (count != 2)
        return sdx_prep_fail(prep, "pooled_shape has %zu values, expected 2", count);
    p->height = shape[0];
    p->width = shape[1];
    return check_bins(prep, p);
}

/* RoiAlign has 4 numbers per region and the image's index apart, MaxRoiPool has 5. */
static sdx_status infer(sdx_infer *inf) {
    const params *p = inf->params;
    bool align = inf->def->min_in == 3;
    sdx_infer_set_dtype(inf, 0, sdx_infer_dtype(inf, X));
    SDX_TRY(sdx_infer_require_rank(inf, X, 4));
    SDX_TRY(sdx_infer_require_rank(inf, ROIS, 2));
    SDX_TRY(sdx_infer_require_rank(inf, BATCH_INDICES, 1));
    SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, ROIS, 1),
                                    sdx_expr_const(align ? 4 : 5), "numbers per region"));
    SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, ROIS, 0),
                                    sdx_infer_dim(inf, BATCH_INDICES, 0),
                                    "regions and batch_indices"));
    sdx_expr dims[4] = {sdx_infer_dim(inf, ROIS, 0), sdx_infer_dim(inf, X, 1),
                        sdx_expr_const(p->height), sdx_expr_const(p->width)};
    SDX_TRY(sdx_infer_set_shape(inf, 0, 4, dims));
    sdx_infer_half_scratch(inf);
    return SDX_STATUS_OK;
}

static sdx_status check_image(sdx_call *call, size_t roi, double index, int64_t images,
                              size_t *out) {
    if (!(index >= 0 && index < (double)images))
        return sdx_call_fail(call, "region %zu is of image %g, expected 0 to %" PRId64, roi, index,
                             images - 1);
    *out = (size_t)index;
    return SDX_STATUS_OK;
}

typedef struct job {
    const params *params;
    const sdx_tensor *x;
    sdx_tensor *y;
    size_t roi, image;
    /* RoiAlign: points along each axis, those of a bin one after the other. */
    struct point *rows, *columns;
    size_t grid_h, grid_w; /* points per bin */
    /* MaxRoiPool: the region in elements. */
    double top, left, bin_h, bin_w;
} job;

/* ---- RoiAlign -------------------------------------------------------------------------------- */

/* A coordinate between two elements of an axis. */
typedef struct point {
    size_t low, high;
    double part; /* share of high */
    bool inside; /* at most one element outside the image */
} point;

static void make_points(point *points, size_t bins, size_t grid, double start, double bin,
                        int64_t length) {
    for (size_t b = 0; b < bins; b++)
        for (size_t i = 0; i < grid; i++) {
            double x = start + (double)b * bin + ((double)i + 0.5) * bin / (double)grid;
            point *p = &points[b * grid + i];
            *p = (point){.inside = x >= -1 && x <= (double)length};
            if (!p->inside) continue;
            if (x < 0) x = 0;
            p->low = (size_t)x;
            p->high = p->low + 1;
            if ((int64_t)p->low >= length - 1) {
                p->low = p->high = (size_t)(length - 1);
                x = (double)p->low;
            }
            p->part = x - (double)p->low;
        }
}

#define DEFINE_ALIGN(T, f)                                                                        \
    static T f##_bin(const job *j, const T *plane, const point *rows, const point *columns) { \
        size_t width = (size_t)j->x->dims[3];                                                     \
        double points = (double)j->grid_h * (double)j->grid_w;                                    \
        T sum = 0, most = points > 0 ? -(T)INFINITY : 0;                                          \
        for (size_t r = 0; r < j->grid_h; r++)                                                    \
            for (size_t c = 0; c < j->grid_w; c++) {                                              \
                const point *v = &rows[r], *h = &columns[c];                                      \
                const T *low = plane + v->low * width, *high = plane + v->high * width;           \
                T y = (T)v->part, x = (T)h->part, in = (T)(v->inside && h->inside);               \
                T corner[4] = {(1 - y) * (1 - x) * in * low[h->low],                              \
                               (1 - y) * x * in * low[h->high],                                   \
                               y * (1 - x) * in * high[h->low], y * x * in * high[h->high]};      \
                sum += (corner[0] + corner[1]) + (corner[2] + corner[3]);                         \
                /* The maximum is over the weighted corners: that is how it is defined. */        \
                for (int k = 0; j->params->max && k < 4; k++)                                     \
                    if (corner[k] > most) most = corner[k];                                       \
            }                                                                                     \
        return j->params->max ? most : points > 0 ? sum / (T)points : 0;                          \
    }                                                                                             \
    /* Channels [begin, end) of the region at hand. */                                            \
    static void f##_align(void *arg, size_t begin, size_t end) {                                  \
        const job *j = arg;                                                                       \
        size_t channels = (size_t)j->x->dims[1], height = (size_t)j->params->height;              \
        size_t width = (size_t)j->params->width, plane = (size_t)(j->x->dims[2] * j->x->dims[3]); \
        for (size_t c = begin; c < end; c++) {                                                    \
            const T *in = (const T *)j->x->data + (j->image * channels + c) * plane;              \
            T *out = (T *)j->y->data + (j->roi * channels + c) * height * width;                  \
            for (size_t h = 0; h < height; h++)                                                   \
                for (size_t w = 0; w < width && !sdx_watch_work(8 * j->grid_h * j->grid_w); w++)  \
                    *out++ = f##_bin(j, in, j->rows + h * j->grid_h, j->columns + w * j->grid_w); \
        }                                                                                         \
    }

DEFINE_ALIGN(float, f32)
DEFINE_ALIGN(double, f64)

/* Points per bin along an axis; none for a region turned inside out. */
static bool grid_size(const params *p, double bin, size_t *out) {
    double grid = p->sampling > 0 ? (double)p->sampling : ceil(bin);
    *out = grid > 0 ? grid < 65536 ? (size_t)grid : 65536 : 0;
    return !(grid > 65536); /* no image is as large as that */
}

static sdx_status align_region(sdx_call *call, job *j) {
    const params *p = j->params;
    const sdx_tensor *rois = sdx_in(call, ROIS);
    double at[4], shift = p->half_pixel ? 0.5 : 0;
    for (size_t i = 0; i < 4; i++)
        at[i] = sdx_tensor_double(rois, j->roi * 4 + i) * (double)p->scale - shift;
    double wide = at[2] - at[0], high = at[3] - at[1];
    if (!p->half_pixel) {
        wide = fmax(wide, 1);
        high = fmax(high, 1);
    }
    double bin_h = high / (double)p->height, bin_w = wide / (double)p->width;
    if (!grid_size(p, bin_h, &j->grid_h) || !grid_size(p, bin_w, &j->grid_w))
        return sdx_call_fail(call, "region %zu is too large: %g by %g elements", j->roi, wide,
                             high);
    size_t rows = (size_t)p->height * j->grid_h, columns = (size_t)p->width * j->grid_w;
    point *points = sdx_call_temp(call, rows + columns + 1, sizeof *points);
    if (!points) return SDX_STATUS_NO_MEMORY;
    j->rows = points;
    j->columns = points + rows;
    make_points(j->rows, (size_t)p->height, j->grid_h, at[1], bin_h, j->x->dims[2]);
    make_points(j->columns, (size_t)p->width, j->grid_w, at[0], bin_w, j->x->dims[3]);
    size_t work = rows * columns * 8 + 1;
    sdx_call_parallel(call, (size_t)j->x->dims[1], 32768 / work + 1,
                      j->x->dtype == SDX_DTYPE_FLOAT64 ? f64_align : f32_align, j);
    sdx_call_temp_free(call, points);
    return SDX_STATUS_OK;
}

static sdx_status align_body(sdx_call *call) {
    const sdx_tensor *indices = sdx_in(call, BATCH_INDICES);
    job j = {.params = call->params, .x = sdx_in(call, X), .y = sdx_out(call, 0)};
    if (j.y->count == 0) return SDX_STATUS_OK;
    if (j.x->dims[2] == 0 || j.x->dims[3] == 0)
        return sdx_call_fail(call, "the image is empty");
    for (j.roi = 0; j.roi < (size_t)j.y->dims[0]; j.roi++) {
        SDX_TRY(check_image(call, j.roi, (double)sdx_tensor_int(indices, j.roi), j.x->dims[0],
                            &j.image));
        SDX_TRY(align_region(call, &j));
    }
    return SDX_STATUS_OK;
}

static sdx_status align_run(sdx_call *call) { return sdx_call_half(call, align_body); }

/* ---- MaxRoiPool ------------------------------------------------------------------------------ */

/* Elements [*lo, *hi) of an axis that bin b covers. */
static void bin_range(double start, double bin, size_t b, int64_t length, size_t *lo, size_t *hi) {
    double first = floor((double)b * bin) + start, end = ceil((double)(b + 1) * bin) + start;
    double most = (double)length;
    *lo = first > 0 ? (size_t)(first < most ? first : most) : 0;
    *hi = end > 0 ? (size_t)(end < most ? end : most) : 0;
}

#define DEFINE_POOL(T, f)                                                                         \
    /* Channels [begin, end) of the region at hand. An empty bin gives 0. */                      \
    static void f##_pool(void *arg, size_t begin, size_t end) {                                   \
        const job *j = arg;                                                                       \
        size_t channels = (size_t)j->x->dims[1], height = (size_t)j->params->height;              \
        size_t width = (size_t)j->params->width, row = (size_t)j->x->dims[3];                     \
        for (size_t i = begin * height * width; i < end * height * width; i++) {                  \
            size_t c = i / (height * width), top, bottom, left, right;                            \
            const T *in = (const T *)j->x->data +                                                 \
                          (j->image * channels + c) * (size_t)j->x->dims[2] * row;                \
            bin_range(j->top, j->bin_h, i / width % height, j->x->dims[2], &top, &bottom);        \
            bin_range(j->left, j->bin_w, i % width, j->x->dims[3], &left, &right);                \
            T best = top < bottom && left < right ? in[top * row + left] : 0;                     \
            for (size_t h = top; h < bottom; h++)                                                 \
                for (size_t w = left; w < right; w++)                                             \
                    if (in[h * row + w] > best) best = in[h * row + w];                           \
            ((T *)j->y->data)[j->roi * channels * height * width + i] = best;                     \
        }                                                                                         \
    }

DEFINE_POOL(float, f32)
DEFINE_POOL(double, f64)

static sdx_status max_body(sdx_call *call) {
    const params *p = call->params;
    const sdx_tensor *rois = sdx_in(call, ROIS);
    job j = {.params = p, .x = sdx_in(call, X), .y = sdx_out(call, 0)};
    if (j.y->count == 0) return SDX_STATUS_OK;
    for (j.roi = 0; j.roi < (size_t)j.y->dims[0]; j.roi++) {
        double at[5];
        for (size_t i = 0; i < 5; i++) at[i] = sdx_tensor_double(rois, j.roi * 5 + i);
        for (size_t i = 1; i < 5; i++) at[i] = round(at[i] * (double)p->scale);
        SDX_TRY(check_image(call, j.roi, at[0], j.x->dims[0], &j.image));
        j.left = at[1];
        j.top = at[2];
        j.bin_w = fmax(at[3] - at[1] + 1, 1) / (double)p->width;
        j.bin_h = fmax(at[4] - at[2] + 1, 1) / (double)p->height;
        sdx_call_parallel(call, (size_t)j.x->dims[1], 4096 / (size_t)(p->height * p->width) + 1,
                          j.x->dtype == SDX_DTYPE_FLOAT64 ? f64_pool : f32_pool, &j);
    }
    return SDX_STATUS_OK;
}

static sdx_status max_run(sdx_call *call) { return sdx_call_half(call, max_body); }

const sdx_op_def sdx_op_roi_align = {
    .min_in = 3, .max_in = 3, .min_out = 1, .max_out = 1,
    .in_types = {SDX_T_FLOATS, SDX_T_FLOATS, SDX_T(INT64)},
    .params_size = sizeof(params),
    .prepare = align_prepare, .infer = infer, .run = SDX_BODY(sdx_op_roi_align, align_run),
};

const sdx_op_def sdx_op_max_roi_pool = {
    .min_in = 2, .max_in = 2, .min_out = 1, .max_out = 1,
    .flags = SDX_OP_SAME_TYPE,
    .in_types = {SDX_T_FLOATS},
    .params_size = sizeof(params),
    .prepare = max_prepare, .infer = infer, .run = SDX_BODY(sdx_op_max_roi_pool, max_run),
};
