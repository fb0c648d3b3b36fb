/* compare.c - whether a result equals what was expected: kind, type and shape exactly; floats within
 * the tolerances, where NaN must meet NaN and an infinity itself. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static void shape_text(const sdx_tensor *tensor, char *buffer, size_t size) {
    size_t used = (size_t)snprintf(buffer, size, "%s[", sdx_dtype_name(tensor->dtype));
    for (int32_t i = 0; i < tensor->rank && used < size; i++)
        used += (size_t)snprintf(buffer + used, size - used, "%s%lld", i ? "," : "",
                                 (long long)tensor->dims[i]);
    if (used < size) snprintf(buffer + used, size - used, "]");
}

/* The number at index as a double; false when the type has no such value (compare bytes then). */
static bool number_at(const sdx_tensor *tensor, size_t i, double *re, double *im) {
    const void *data = tensor->data;
    *im = 0;
    switch (tensor->dtype) {
    case SDX_DTYPE_FLOAT32: *re = ((const float *)data)[i]; return true;
    case SDX_DTYPE_FLOAT64: *re = ((const double *)data)[i]; return true;
    case SDX_DTYPE_FLOAT16:
    case SDX_DTYPE_BFLOAT16: *re = sdx_element_as_double(tensor, i); return true;
    case SDX_DTYPE_COMPLEX64:
        *re = ((const float *)data)[2 * i];
        *im = ((const float *)data)[2 * i + 1];
        return true;
    case SDX_DTYPE_COMPLEX128:
        *re = ((const double *)data)[2 * i];
        *im = ((const double *)data)[2 * i + 1];
        return true;
    default: return false;
    }
}

static bool close_enough(double got, double want, double rtol, double atol) {
    if (isnan(got) || isnan(want)) return isnan(got) && isnan(want);
    if (isinf(got) || isinf(want)) return got == want;
    return fabs(got - want) <= atol + rtol * fabs(want);
}

static bool same_string(const sdx_string *a, const sdx_string *b) {
    return a->size == b->size && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

static bool tensors_close(const sdx_tensor *got, const sdx_tensor *want, double rtol, double atol,
                          char *message, size_t size) {
    bool same = got->dtype == want->dtype && got->rank == want->rank &&
                memcmp(got->dims, want->dims, (size_t)got->rank * sizeof *got->dims) == 0;
    if (!same) {
        char a[256], b[256];
        shape_text(got, a, sizeof a);
        shape_text(want, b, sizeof b);
        snprintf(message, size, "got %s, want %s", a, b);
        return false;
    }
    size_t element = sdx_dtype_size(got->dtype), wrong = 0;
    for (size_t i = 0; i < got->count; i++) {
        double a, b, ai, bi;
        bool good;
        if (got->dtype == SDX_DTYPE_STRING)
            good = same_string((const sdx_string *)got->data + i, (const sdx_string *)want->data + i);
        else if (number_at(got, i, &a, &ai) && number_at(want, i, &b, &bi))
            good = close_enough(a, b, rtol, atol) && close_enough(ai, bi, rtol, atol);
        else
            good = memcmp((const char *)got->data + i * element,
                          (const char *)want->data + i * element, element) == 0;
        if (good || wrong++) continue;
        if (got->dtype == SDX_DTYPE_STRING) {
            const sdx_string *g = (const sdx_string *)got->data + i;
            const sdx_string *w = (const sdx_string *)want->data + i;
            snprintf(message, size, "at %zu: got '%.*s', want '%.*s'", i, (int)g->size, g->data,
                     (int)w->size, w->data);
        } else {
            snprintf(message, size, "at %zu: got %.9g, want %.9g", i, sdx_element_as_double(got, i),
                     sdx_element_as_double(want, i));
        }
    }
    if (wrong > 1) {
        size_t used = strlen(message);
        snprintf(message + used, size - used, " (and %zu more of %zu)", wrong - 1, got->count);
    }
    return wrong == 0;
}

bool values_close(const sdx_value *got, const sdx_value *want, double rtol, double atol,
                  char *message, size_t size) {
    static const char *const kinds[] = {"nothing", "a tensor", "a sequence", "an optional",
                                        "a map", "a sparse tensor"};
    sdx_kind a = sdx_value_kind(got), b = sdx_value_kind(want);
    if (a != b) {
        snprintf(message, size, "got %s, want %s", kinds[a], kinds[b]);
        return false;
    }
    if (a == SDX_KIND_NONE) return true;
    if (a == SDX_KIND_TENSOR)
        return tensors_close(sdx_value_tensor(got), sdx_value_tensor(want), rtol, atol, message,
                             size);
    if (a == SDX_KIND_MAP)
        return values_close(sdx_value_map_keys(got), sdx_value_map_keys(want), rtol, atol, message,
                            size) &&
               values_close(sdx_value_map_values(got), sdx_value_map_values(want), rtol, atol,
                            message, size);
    if (sdx_value_count(got) != sdx_value_count(want)) {
        snprintf(message, size, "got a sequence of %zu, want %zu", sdx_value_count(got),
                 sdx_value_count(want));
        return false;
    }
    for (size_t i = 0; i < sdx_value_count(got); i++)
        if (!values_close(sdx_value_item(got, i), sdx_value_item(want, i), rtol, atol, message,
                          size))
            return false;
    return true;
}
