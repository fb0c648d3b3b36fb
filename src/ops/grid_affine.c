/* grid_affine.c - AffineGrid: the places that an affine map sends the elements of an image to, in
 * the coordinates that GridSample reads. */
#include <inttypes.h>

#include "ops/half.h"

enum { THETA, SIZE };

static sdx_status prepare(sdx_prep *prep) {
    return sdx_attr_get_bool(prep, "align_corners", false, prep->params);
}

static sdx_status infer(sdx_infer *inf) {
    sdx_infer_set_dtype(inf, 0, sdx_infer_dtype(inf, THETA));
    SDX_TRY(sdx_infer_require_rank(inf, THETA, 3));
    SDX_TRY(sdx_infer_require_rank(inf, SIZE, 1));
    sdx_expr size[5], rows = sdx_infer_dim(inf, THETA, 1), count_dim = sdx_infer_dim(inf, SIZE, 0);
    size_t count = 0;
    bool known = sdx_infer_contents(inf, SIZE, size, 5, &count);
    /* Two rows are a plane, three a space; size says the same by its length. */
    int64_t axes = sdx_expr_is_const(count_dim) ? sdx_expr_value(count_dim) - 2
                   : sdx_expr_is_const(rows)    ? sdx_expr_value(rows)
                                                : 0;
    if (axes == 0 && !sdx_expr_is_const(count_dim)) return sdx_infer_set_shape(inf, 0, -1, NULL);
    if (axes != 2 && axes != 3)
        return sdx_infer_fail(inf, "size has %" PRId64 " values, expected 4 or 5", axes + 2);
    SDX_TRY(sdx_infer_require_equal(inf, count_dim, sdx_expr_const(axes + 2), "values of size"));
    SDX_TRY(sdx_infer_require_equal(inf, rows, sdx_expr_const(axes), "rows of theta"));
    SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, THETA, 2), sdx_expr_const(axes + 1),
                                    "columns of theta"));
    sdx_expr dims[5];
    dims[0] = sdx_infer_dim(inf, THETA, 0);
    if (known) SDX_TRY(sdx_infer_require_equal(inf, dims[0], size[0], "batch of theta and size"));
    for (int64_t a = 0; a < axes; a++) dims[a + 1] = known ? size[a + 2] : SDX_EXPR_UNKNOWN;
    dims[axes + 1] = sdx_expr_const(axes);
    SDX_TRY(sdx_infer_set_shape(inf, 0, (int32_t)axes + 2, dims));
    sdx_infer_half_scratch(inf);
    return SDX_STATUS_OK;
}

typedef struct job {
    const sdx_tensor *theta;
    sdx_tensor *y;
    bool align_corners;
    int32_t axes;
} job;

/* Coordinate in [-1, 1] of element i out of n. */
static double coordinate(bool align_corners, int64_t i, int64_t n) {
    if (!align_corners) return (2 * (double)i + 1) / (double)n - 1;
    return n > 1 ? 2 * (double)i / (double)(n - 1) - 1 : 0;
}

#define DEFINE_ROWS(T, f)                                                                         \
    /* Rows along the innermost spatial axis [begin, end), counted over all images. */            \
    static void f##_rows(void *arg, size_t begin, size_t end) {                                   \
        const job *j = arg;                                                                       \
        const int64_t *dims = j->y->dims + 1;                                                     \
        int32_t axes = j->axes;                                                                   \
        int64_t width = dims[axes - 1];                                                           \
        for (size_t r = begin; r < end; r++) {                                                    \
            double at[3] = {0}; /* innermost axis first */                                        \
            size_t rest = r;                                                                      \
            for (int32_t a = axes - 2; a >= 0; a--) {                                             \
                at[axes - 1 - a] = coordinate(j->align_corners,                                   \
                                              (int64_t)(rest % (size_t)dims[a]), dims[a]);        \
                rest /= (size_t)dims[a];                                                          \
            }                                                                                     \
            const T *theta = (const T *)j->theta->data + rest * (size_t)(axes * (axes + 1));      \
            T *out = (T *)j->y->data + r * (size_t)(width * axes);                                \
            for (int64_t i = 0; i < width; i++) {                                                 \
                at[0] = coordinate(j->align_corners, i, width);                                   \
                for (int32_t k = 0; k < axes; k++) {                                              \
                    const T *row = theta + k * (axes + 1);                                        \
                    double sum = (double)row[axes];                                               \
                    for (int32_t c = 0; c < axes; c++) sum += (double)row[c] * at[c];             \
                    *out++ = (T)sum;                                                              \
                }                                                                                 \
            }                                                                                     \
        }                                                                                         \
    }

DEFINE_ROWS(float, f32)
DEFINE_ROWS(double, f64)

static sdx_status body(sdx_call *call) {
    job j = {.theta = sdx_in(call, THETA), .y = sdx_out(call, 0),
             .align_corners = *(const bool *)call->params};
    j.axes = j.y->rank - 2;
    if (j.y->count == 0) return SDX_STATUS_OK;
    size_t row = (size_t)(j.y->dims[j.axes] * j.axes);
    sdx_call_parallel(call, j.y->count / row, 8192 / row + 1,
                      j.y->dtype == SDX_DTYPE_FLOAT64 ? f64_rows : f32_rows, &j);
    return SDX_STATUS_OK;
}

static sdx_status run(sdx_call *call) { return sdx_call_half(call, body); }

const sdx_op_def sdx_op_affine_grid = {
    .min_in = 2, .max_in = 2, .min_out = 1, .max_out = 1,
    .in_types = {SDX_T_FLOATS, SDX_T(INT64)},
    .params_size = sizeof(bool),
    .prepare = prepare, .infer = infer, .run = SDX_BODY(sdx_op_affine_grid, run),
};
