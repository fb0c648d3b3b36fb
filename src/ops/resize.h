/* resize.h - shared by the files of Resize and Upsample: attributes, and what happens along one
 * axis. Axes are independent of each other: every mode is a table per axis that says which input
 * elements an output element is made of. */
#ifndef SDX_OPS_RESIZE_H
#define SDX_OPS_RESIZE_H

#include "ops/half.h"

typedef enum sdx_resize_mode {
    SDX_RESIZE_NEAREST,
    SDX_RESIZE_LINEAR,
    SDX_RESIZE_CUBIC
} sdx_resize_mode;

typedef enum sdx_resize_coordinates {
    SDX_COORD_HALF_PIXEL,
    SDX_COORD_HALF_PIXEL_SYMMETRIC,
    SDX_COORD_PYTORCH_HALF_PIXEL,
    SDX_COORD_ALIGN_CORNERS,
    SDX_COORD_ASYMMETRIC,
    SDX_COORD_TF_HALF_PIXEL_FOR_NN,
    SDX_COORD_TF_CROP_AND_RESIZE
} sdx_resize_coordinates;

typedef enum sdx_resize_rounding {
    SDX_ROUND_PREFER_FLOOR,
    SDX_ROUND_PREFER_CEIL,
    SDX_ROUND_FLOOR,
    SDX_ROUND_CEIL,
    SDX_ROUND_LEGACY /* before version 11: up when shrinking, else down */
} sdx_resize_rounding;

enum { SDX_POLICY_STRETCH, SDX_POLICY_NOT_LARGER, SDX_POLICY_NOT_SMALLER };

typedef struct sdx_resize_params {
    int mode, coordinates, rounding, policy; /* of the enums above */
    bool exclude_outside, antialias;
    float cubic_a, outside; /* outside: extrapolation_value */
    const int64_t *axes;    /* NULL: all of them, in order */
    size_t axis_count;
    const float *scales; /* an attribute in old versions of Upsample */
    size_t scale_count;
    /* Which input holds what; SDX_NONE: none does. */
    uint32_t roi_input, scales_input, sizes_input;
} sdx_resize_params;

typedef struct sdx_resize_axis {
    int64_t in, out;
    double scale;
    double length;     /* out before it was rounded: what coordinates are computed with */
    double start, end; /* region of interest */
    /* The table: `taps` input indices, and weights unless the mode is nearest, per output index.
     * An index of -1 as the first stands for the extrapolation value. */
    size_t taps;
    int64_t *index;
    double *weight;
    float *weight32;
    bool identity; /* the axis passes through unchanged */
} sdx_resize_axis;

/* Taps per output element along an axis. */
size_t sdx_resize_taps(const sdx_resize_params *params, double scale);
/* Bytes of the table, and the table itself in memory of that size (aligned to 8). */
bool sdx_resize_table_bytes(const sdx_resize_params *params, sdx_resize_axis *axis, size_t *bytes);
void sdx_resize_fill_table(const sdx_resize_params *params, sdx_resize_axis *axis, void *memory);

/* Bodies; axes have their tables. Nearest moves elements of any type; the others compute. */
void sdx_resize_nearest(sdx_call *call, const sdx_resize_params *params,
                        const sdx_resize_axis *axes, const sdx_tensor *x, sdx_tensor *y);
sdx_status sdx_resize_interpolate(sdx_call *call, const sdx_resize_params *params,
                                  const sdx_resize_axis *axes, const sdx_tensor *x, sdx_tensor *y,
                                  void *scratch, size_t scratch_bytes);
/* Rows whose last axis alone changes go so many at a time. */
#define SDX_RESIZE_ROWS 64
/* At most this many slices are interpolated side by side, each with scratch of its own. */
#define SDX_RESIZE_PIECES 8

#endif
