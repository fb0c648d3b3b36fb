/* resize_axis.c - the table of one axis of a Resize: which input elements, with which weights, make
 * an output element. All modes of coordinates, rounding and interpolation come down to this. */
#include <math.h>

#include "ops/resize.h"

/* Input coordinate that output index o corresponds to. */
static double coordinate(const sdx_resize_params *params, const sdx_resize_axis *axis, int64_t o) {
    double x = (double)o, last = (double)(axis->in - 1);
    switch (params->coordinates) {
    case SDX_COORD_ASYMMETRIC: return x / axis->scale;
    case SDX_COORD_ALIGN_CORNERS: return axis->length == 1 ? 0 : x * last / (axis->length - 1);
    case SDX_COORD_PYTORCH_HALF_PIXEL:
        return axis->out > 1 ? (x + 0.5) / axis->scale - 0.5 : 0;
    case SDX_COORD_TF_HALF_PIXEL_FOR_NN: return (x + 0.5) / axis->scale;
    case SDX_COORD_TF_CROP_AND_RESIZE: {
        double wide = (axis->end - axis->start) * last;
        double moved = axis->length == 1 ? wide / 2 : x * wide / (axis->length - 1);
        return moved + axis->start * last;
    }
    case SDX_COORD_HALF_PIXEL_SYMMETRIC: {
        double adjustment = (double)axis->out / axis->length;
        double offset = (double)axis->in / 2 * (1 - adjustment);
        return offset + (x + 0.5) / axis->scale - 0.5;
    }
    default: return (x + 0.5) / axis->scale - 0.5;
    }
}

/* Coordinates may be anything a model can say; indices are clamped to the axis later. */
static int64_t to_index(double x) {
    const double far = 4e15; /* far outside any tensor, and exact */
    return !(x > -far) ? -(int64_t)far : x > far ? (int64_t)far : (int64_t)x;
}

static int64_t clamp(int64_t i, int64_t count) { return i < 0 ? 0 : i >= count ? count - 1 : i; }

static int64_t nearest(const sdx_resize_params *params, const sdx_resize_axis *axis, double x) {
    double below = floor(x), rest = x - below;
    bool up;
    switch (params->rounding) {
    case SDX_ROUND_PREFER_CEIL: up = rest >= 0.5; break;
    case SDX_ROUND_FLOOR: up = false; break;
    case SDX_ROUND_CEIL: up = rest > 0; break;
    case SDX_ROUND_LEGACY: up = rest > 0 && axis->scale < 1; break;
    default: up = rest > 0.5;
    }
    return to_index(below + up);
}

/* Keys' cubic convolution kernel at distance d. */
static double cubic(double d, double a) {
    d = fabs(d);
    if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
    if (d < 2) return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
    return 0;
}

/* How far the kernel reaches, stretched when antialiasing a shrinking axis. */
static double squeeze(const sdx_resize_params *params, double scale) {
    return params->antialias && scale < 1 ? scale : 1;
}

/* First tap, counted from the element at or below the coordinate. */
static double first_tap(const sdx_resize_params *params, double scale) {
    double reach = params->mode == SDX_RESIZE_CUBIC ? 2 : 1;
    return floor(-reach / squeeze(params, scale)) + 1;
}

size_t sdx_resize_taps(const sdx_resize_params *params, double scale) {
    if (params->mode == SDX_RESIZE_NEAREST) return 1;
    double taps = 2 - 2 * first_tap(params, scale);
    return taps < 1e15 ? (size_t)taps : (size_t)1e15;
}

bool sdx_resize_table_bytes(const sdx_resize_params *params, sdx_resize_axis *axis,
                            size_t *bytes) {
    axis->taps = sdx_resize_taps(params, axis->scale);
    size_t each = sizeof(int64_t) + sizeof(double) + sizeof(float), cells;
    return sdx_size_mul((size_t)axis->out, axis->taps, &cells) &&
           sdx_size_mul(cells, each, bytes) && sdx_size_align(*bytes, 64, bytes);
}

/* Weights of one output element: raw kernel values, made to sum up to 1 where they need not. */
static void weigh(const sdx_resize_params *params, const sdx_resize_axis *axis, double x,
                  int64_t *index, double *weight) {
    double below = floor(x), rest = x - below, sum = 0, narrow = squeeze(params, axis->scale);
    double first = first_tap(params, axis->scale), a = (double)params->cubic_a;
    for (size_t t = 0; t < axis->taps; t++) {
        double step = first + (double)t, distance = (step - rest) * narrow;
        int64_t at = to_index(below + step);
        weight[t] = params->mode == SDX_RESIZE_CUBIC ? cubic(distance, a)
                                                     : fmax(0, 1 - fabs(distance));
        if (params->exclude_outside && (at < 0 || at >= axis->in)) weight[t] = 0;
        index[t] = clamp(at, axis->in);
        sum += weight[t];
    }
    if ((params->exclude_outside || params->antialias) && sum != 0)
        for (size_t t = 0; t < axis->taps; t++) weight[t] /= sum;
}

static bool passes_through(const sdx_resize_axis *axis, int64_t o) {
    const int64_t *index = axis->index + (size_t)o * axis->taps;
    for (size_t t = 0; t < axis->taps; t++) {
        double weight = axis->weight ? axis->weight[(size_t)o * axis->taps + t] : 1;
        if (weight != 0 && (index[t] != o || weight != 1)) return false;
    }
    return true;
}

void sdx_resize_fill_table(const sdx_resize_params *params, sdx_resize_axis *axis, void *memory) {
    size_t cells = (size_t)axis->out * axis->taps;
    axis->index = memory;
    axis->weight = NULL;
    if (params->mode != SDX_RESIZE_NEAREST) {
        axis->weight = (double *)(void *)(axis->index + cells);
        axis->weight32 = (float *)(void *)(axis->weight + cells);
    }
    axis->identity = axis->in == axis->out;
    for (int64_t o = 0; o < axis->out; o++) {
        double x = coordinate(params, axis, o);
        int64_t *index = axis->index + (size_t)o * axis->taps;
        if (axis->weight)
            weigh(params, axis, x, index, axis->weight + (size_t)o * axis->taps);
        else
            index[0] = clamp(nearest(params, axis, x), axis->in);
        bool outside = params->coordinates == SDX_COORD_TF_CROP_AND_RESIZE &&
                       !(x >= 0 && x <= (double)(axis->in - 1));
        if (outside) index[0] = -1;
        axis->identity = axis->identity && !outside && passes_through(axis, o);
    }
    for (size_t i = 0; axis->weight && i < cells; i++) axis->weight32[i] = (float)axis->weight[i];
}
