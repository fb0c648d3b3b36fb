/* resize_nearest.c - Resize in mode nearest: elements of any type are moved, none is computed.
 * Axes at the end that do not change make the elements that are moved larger. */
#include <string.h>

#include "ops/elementwise.h"
#include "ops/resize.h"

typedef struct job {
    const sdx_resize_axis *axes;
    int32_t rank;      /* axes that are walked; the rest is part of an element */
    size_t size;       /* bytes of an element, with the axes behind it */
    bool aligned;      /* to that size */
    int64_t in_strides[SDX_MAX_RANK]; /* in elements */
    const char *x;
    char *y;
    _Alignas(8) char fill[16]; /* the extrapolation value, of the data's type */
    size_t fill_size;
} job;

/* Elements are moved as bits, whatever their type. */
typedef uint8_t bits_1 __attribute__((may_alias));
typedef uint16_t bits_2 __attribute__((may_alias));
typedef uint32_t bits_4 __attribute__((may_alias));
typedef uint64_t bits_8 __attribute__((may_alias));

#define GATHER(T)                                                                                 \
    do {                                                                                          \
        const T *in = (const T *)(const void *)from;                                              \
        T *out = (T *)(void *)to;                                                                 \
        for (int64_t o = 0; o < last->out; o++) out[o] = in[last->index[o]];                      \
    } while (0)

static void fill_elements(const job *j, char *to, size_t bytes) {
    for (size_t i = 0; i < bytes; i += j->fill_size) memcpy(to + i, j->fill, j->fill_size);
}

static bool has_outside(const sdx_resize_axis *axis) {
    for (int64_t o = 0; o < axis->out; o++)
        if (axis->index[o] < 0) return true;
    return false;
}

/* One output row along the last walked axis, from the input row at `from`. */
static void move_row(const job *j, const sdx_resize_axis *last, bool outside, const char *from,
                     char *to) {
    bool plain = !outside && j->aligned;
    if (plain && j->size == 1)
        GATHER(bits_1);
    else if (plain && j->size == 2)
        GATHER(bits_2);
    else if (plain && j->size == 4)
        GATHER(bits_4);
    else if (plain && j->size == 8)
        GATHER(bits_8);
    else
        for (int64_t o = 0; o < last->out; o++, to += j->size) {
            if (last->index[o] < 0)
                fill_elements(j, to, j->size);
            else
                memcpy(to, from + (size_t)last->index[o] * j->size, j->size);
        }
}

/* Output rows [begin, end). */
static void rows_body(void *arg, size_t begin, size_t end) {
    const job *j = arg;
    const sdx_resize_axis *last = &j->axes[j->rank - 1];
    int64_t at[SDX_MAX_RANK];
    size_t rest = begin, bytes = (size_t)last->out * j->size;
    for (int32_t a = j->rank - 2; a >= 0; a--) {
        at[a] = (int64_t)(rest % (size_t)j->axes[a].out);
        rest /= (size_t)j->axes[a].out;
    }
    bool outside_row = has_outside(last);
    int64_t before = -1; /* input row of the output row before this one */
    for (size_t r = begin; r < end; r++) {
        int64_t from = 0;
        bool outside = false;
        for (int32_t a = 0; a < j->rank - 1; a++) {
            int64_t index = j->axes[a].index[at[a]];
            outside = outside || index < 0;
            from += index * j->in_strides[a];
        }
        char *to = j->y + r * bytes;
        if (outside)
            fill_elements(j, to, bytes);
        else if (from == before)
            memcpy(to, to - bytes, bytes);
        else
            move_row(j, last, outside_row, j->x + (size_t)from * j->size, to);
        before = outside ? -1 : from;
        for (int32_t a = j->rank - 2; a >= 0 && ++at[a] == j->axes[a].out; a--) at[a] = 0;
    }
}

/* The extrapolation value in the data's type. Text has none: an empty string. */
static void make_fill(job *j, sdx_dtype dtype, float value) {
    j->fill_size = sdx_dtype_size(dtype);
    memset(j->fill, 0, sizeof j->fill);
    if (dtype == SDX_DTYPE_COMPLEX64) dtype = SDX_DTYPE_FLOAT32;
    if (dtype == SDX_DTYPE_COMPLEX128) dtype = SDX_DTYPE_FLOAT64;
    if (dtype != SDX_DTYPE_STRING) sdx_convert(SDX_DTYPE_FLOAT32, dtype, &value, j->fill, 1);
}

void sdx_resize_nearest(sdx_call *call, const sdx_resize_params *params,
                        const sdx_resize_axis *axes, const sdx_tensor *x, sdx_tensor *y) {
    job j = {.axes = axes, .rank = x->rank, .size = sdx_dtype_size(x->dtype), .x = x->data,
             .y = y->data};
    make_fill(&j, x->dtype, params->outside);
    while (j.rank > 1 && axes[j.rank - 1].identity) j.size *= (size_t)axes[--j.rank].out;
    j.aligned = (uintptr_t)x->data % j.size == 0 && (uintptr_t)y->data % j.size == 0;
    if (j.rank == 0) { /* a scalar */
        memcpy(j.y, j.x, j.size);
        return;
    }
    int64_t stride = 1;
    for (int32_t a = j.rank - 1; a >= 0; a--) {
        j.in_strides[a] = stride;
        stride *= axes[a].in;
    }
    size_t rows = 1, bytes = (size_t)axes[j.rank - 1].out * j.size;
    for (int32_t a = 0; a < j.rank - 1; a++) rows *= (size_t)axes[a].out;
    sdx_call_parallel(call, rows, 32768 / (bytes + 1) + 1, rows_body, &j);
}
