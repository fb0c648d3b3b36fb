/* compare.c - whether a result equals what was expected: kind, type and shape exactly; floats within
 * the tolerances, where NaN must meet NaN and an infinity itself. Also a fingerprint, for results
 * that must be the same to the bit. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* The float at index; false when the type is none (its bytes are compared then). */
static bool number_at(const sdx_tensor *tensor, size_t i, double *re, double *im) {
    const void *data = tensor->data;
    *im = 0;
    switch (tensor->dtype) {
    case SDX_DTYPE_FLOAT32: *re = ((const float *)data)[i]; return true;
    case SDX_DTYPE_FLOAT64: *re = ((const double *)data)[i]; return true;
    case SDX_DTYPE_FLOAT16:
    case SDX_DTYPE_BFLOAT16:
    case SDX_DTYPE_FLOAT8E4M3FN:
    case SDX_DTYPE_FLOAT8E4M3FNUZ:
    case SDX_DTYPE_FLOAT8E5M2:
    case SDX_DTYPE_FLOAT8E5M2FNUZ:
    case SDX_DTYPE_FLOAT8E8M0:
    case SDX_DTYPE_FLOAT6E2M3:
    case SDX_DTYPE_FLOAT6E3M2:
    case SDX_DTYPE_FLOAT4E2M1: *re = sdx_element_as_double(tensor, i); return true;
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

static bool close_enough(double got, double want, const tolerance *tol) {
    if (isnan(got) || isnan(want)) return isnan(got) && isnan(want);
    if (isinf(got) || isinf(want)) return got == want;
    return fabs(got - want) <= tol->atol + tol->rtol * fabs(want);
}

static bool same_string(const sdx_string *a, const sdx_string *b) {
    return a->size == b->size && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

static bool element_close(const sdx_tensor *got, const sdx_tensor *want, size_t i,
                          const tolerance *tol) {
    double a, b, ai, bi;
    if (got->dtype == SDX_DTYPE_STRING)
        return same_string((const sdx_string *)got->data + i, (const sdx_string *)want->data + i);
    if (number_at(got, i, &a, &ai) && number_at(want, i, &b, &bi))
        return close_enough(a, b, tol) && close_enough(ai, bi, tol);
    size_t size = sdx_dtype_size(got->dtype);
    return memcmp((const char *)got->data + i * size, (const char *)want->data + i * size, size) ==
           0;
}

static void put_element(text *t, const sdx_tensor *tensor, size_t i) {
    double re, im;
    if (tensor->dtype == SDX_DTYPE_STRING) {
        const sdx_string *string = (const sdx_string *)tensor->data + i;
        text_add(t, "'%.*s'", string->size > 100 ? 100 : (int)string->size,
                 string->size ? string->data : "");
    } else if (tensor->dtype == SDX_DTYPE_INT64) {
        text_add(t, "%lld", (long long)((const int64_t *)tensor->data)[i]);
    } else if (tensor->dtype == SDX_DTYPE_UINT64) {
        text_add(t, "%llu", (unsigned long long)((const uint64_t *)tensor->data)[i]);
    } else if (number_at(tensor, i, &re, &im) && im != 0) {
        text_add(t, "%.9g%+.9gi", re, im);
    } else {
        text_add(t, "%.9g", sdx_element_as_double(tensor, i));
    }
}

static void put_message(text *t, char *message, size_t size) {
    snprintf(message, size, "%s", t->data ? t->data : "differs");
    text_free(t);
}

/* "[0,2,1]": where element i lies. */
static void put_place(text *t, const sdx_tensor *tensor, size_t i) {
    size_t rest = i, block = tensor->count;
    text_add(t, "[");
    for (int32_t d = 0; d < tensor->rank; d++) {
        block /= (size_t)tensor->dims[d];
        text_add(t, "%s%zu", d ? "," : "", rest / block);
        rest %= block;
    }
    text_add(t, "]");
}

static bool tensors_close(const sdx_tensor *got, const sdx_tensor *want, const tolerance *tol,
                          char *message, size_t size) {
    text t = {0};
    bool same = got->dtype == want->dtype && got->rank == want->rank &&
                memcmp(got->dims, want->dims, (size_t)got->rank * sizeof *got->dims) == 0;
    if (!same) {
        text_add(&t, "got ");
        text_add_shape(&t, got);
        text_add(&t, ", want ");
        text_add_shape(&t, want);
        put_message(&t, message, size);
        return false;
    }
    /* Two steps of bfloat16, as ONNX's own test runner allows: it has 8 bits of precision. */
    tolerance wide = *tol;
    if (got->dtype == SDX_DTYPE_BFLOAT16 && wide.rtol < 0x1p-6) wide.rtol = 0x1p-6;
    size_t wrong = 0;
    for (size_t i = 0; i < got->count && !tol->shape_only; i++) {
        if (element_close(got, want, i, &wide) || wrong++) continue;
        text_add(&t, "at ");
        put_place(&t, got, i);
        text_add(&t, ": got ");
        put_element(&t, got, i);
        text_add(&t, ", want ");
        put_element(&t, want, i);
    }
    if (wrong > 1) text_add(&t, " (and %zu more of %zu)", wrong - 1, got->count);
    if (wrong) put_message(&t, message, size);
    return wrong == 0;
}

static bool sequences_close(const sdx_value *got, const sdx_value *want, const tolerance *tol,
                            char *message, size_t size) {
    size_t count = sdx_value_count(got);
    if (count != sdx_value_count(want)) {
        snprintf(message, size, "got a sequence of %zu, want %zu", count, sdx_value_count(want));
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        /* Deep nesting leaves no room: then the innermost message stands alone. */
        int prefix = size > 100 ? snprintf(message, size, "item %zu: ", i) : 0;
        if (!values_close(sdx_value_item(got, i), sdx_value_item(want, i), tol,
                          message + prefix, size - (size_t)prefix))
            return false;
    }
    return true;
}

bool values_close(const sdx_value *got, const sdx_value *want, const tolerance *tol,
                  char *message, size_t size) {
    static const char *const kinds[] = {"nothing", "a tensor", "a sequence", "an optional",
                                        "a map", "a sparse tensor"};
    sdx_kind a = sdx_value_kind(got), b = sdx_value_kind(want);
    if (a != b) {
        snprintf(message, size, "got %s, want %s", kinds[a], kinds[b]);
        return false;
    }
    switch (a) {
    case SDX_KIND_TENSOR:
        return tensors_close(sdx_value_tensor(got), sdx_value_tensor(want), tol, message,
                             size);
    case SDX_KIND_SEQUENCE: return sequences_close(got, want, tol, message, size);
    case SDX_KIND_MAP:
        return values_close(sdx_value_map_keys(got), sdx_value_map_keys(want), tol, message,
                            size) &&
               values_close(sdx_value_map_values(got), sdx_value_map_values(want), tol,
                            message, size);
    default: return true; /* nothing on both sides */
    }
}

/* ---- equality to the bit --------------------------------------------------------------------- */

/* FNV-1a, 64 bits. */
static uint64_t print_bytes(const void *bytes, size_t size, uint64_t print) {
    for (size_t i = 0; i < size; i++)
        print = (print ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
    return print;
}

static uint64_t print_tensor(const sdx_tensor *tensor, uint64_t print) {
    print = print_bytes(&tensor->dtype, sizeof tensor->dtype, print);
    print = print_bytes(&tensor->rank, sizeof tensor->rank, print);
    print = print_bytes(tensor->dims, (size_t)tensor->rank * sizeof *tensor->dims, print);
    if (tensor->dtype != SDX_DTYPE_STRING)
        return print_bytes(tensor->data, tensor->count * sdx_dtype_size(tensor->dtype), print);
    for (size_t i = 0; i < tensor->count; i++) {
        const sdx_string *string = (const sdx_string *)tensor->data + i;
        print = print_bytes(&string->size, sizeof string->size, print);
        print = print_bytes(string->data, string->size, print);
    }
    return print;
}

uint64_t value_print(const sdx_value *value, uint64_t print) {
    sdx_kind kind = sdx_value_kind(value);
    size_t count = kind == SDX_KIND_SEQUENCE ? sdx_value_count(value) : 0;
    print = print_bytes(&kind, sizeof kind, print ? print : UINT64_C(0xcbf29ce484222325));
    print = print_bytes(&count, sizeof count, print);
    if (kind == SDX_KIND_TENSOR) return print_tensor(sdx_value_tensor(value), print);
    for (size_t i = 0; i < count; i++) print = value_print(sdx_value_item(value, i), print);
    if (kind != SDX_KIND_MAP) return print;
    return value_print(sdx_value_map_values(value),
                       value_print(sdx_value_map_keys(value), print));
}
