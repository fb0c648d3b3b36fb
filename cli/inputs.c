/* inputs.c - sizes given with --dim, and repeatable random inputs. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

bool dims_add(dim_list *dims, arguments *args) {
    char *name;
    const char *text;
    if (!option_pair(args, &name, &text)) return false;
    char *end;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || value < 0) {
        usage_error(args, "--dim %s: '%s' is not a size", name, text);
        free(name);
        return false;
    }
    sdx_binding *items = realloc(dims->items, (dims->count + 1) * sizeof *items);
    if (!items) {
        free(name);
        return false;
    }
    dims->items = items;
    items[dims->count++] = (sdx_binding){name, value};
    return true;
}

void dims_free(dim_list *dims) {
    for (size_t i = 0; i < dims->count; i++) free((void *)(uintptr_t)dims->items[i].name);
    free(dims->items);
    *dims = (dim_list){0};
}

bool dims_check(const dim_list *dims, const sdx_model *model) {
    sdx_model_info info = {.struct_size = sizeof info};
    sdx_model_get_info(model, &info);
    for (size_t i = 0; i < dims->count; i++) {
        bool known = false;
        for (size_t s = 0; s < info.symbol_count && !known; s++)
            known = strcmp(sdx_model_symbol(model, s), dims->items[i].name) == 0;
        if (known) continue;
        fprintf(stderr, "sardonyx: --dim %s: the model has no dimension of that name; it has",
                dims->items[i].name);
        for (size_t s = 0; s < info.symbol_count; s++)
            fprintf(stderr, "%s %s", s ? "," : "", sdx_model_symbol(model, s));
        fputs(info.symbol_count ? "\n" : " none\n", stderr);
        return false;
    }
    return true;
}

static uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

void fill_random(sdx_tensor *tensor, uint64_t seed) {
    uint64_t state = seed * 0x2545f4914f6cdd1du + 0x9e3779b97f4a7c15u;
    size_t size = sdx_dtype_size(tensor->dtype);
    for (size_t i = 0; i < tensor->count; i++) {
        uint64_t bits = next_random(&state);
        uint8_t *at = (uint8_t *)tensor->data + i * size;
        float f = (float)(bits >> 40) * 0x1p-24f;
        double d = (double)(bits >> 11) * 0x1p-53;
        switch (tensor->dtype) {
        case SDX_DTYPE_FLOAT32: memcpy(at, &f, 4); break;
        case SDX_DTYPE_FLOAT64: memcpy(at, &d, 8); break;
        /* Halves from 0.5 up to 1: bits below the leading one are the fraction. */
        case SDX_DTYPE_FLOAT16: memcpy(at, &(uint16_t){(uint16_t)(0x3800 | (bits & 0x3ff))}, 2); break;
        case SDX_DTYPE_BFLOAT16: memcpy(at, &(uint16_t){(uint16_t)(0x3f00 | (bits & 0x7f))}, 2); break;
        case SDX_DTYPE_COMPLEX64:
            memcpy(at, &f, 4);
            memcpy(at + 4, &f, 4);
            break;
        case SDX_DTYPE_COMPLEX128:
            memcpy(at, &d, 8);
            memcpy(at + 8, &d, 8);
            break;
        case SDX_DTYPE_STRING: *(sdx_string *)(void *)at = (sdx_string){"text", 4}; break;
        case SDX_DTYPE_BOOL: *at = (uint8_t)(bits >> 63); break;
        case SDX_DTYPE_INT16:
        case SDX_DTYPE_UINT16: memcpy(at, &(uint16_t){(uint16_t)(bits >> 62)}, 2); break;
        case SDX_DTYPE_INT32:
        case SDX_DTYPE_UINT32: memcpy(at, &(uint32_t){(uint32_t)(bits >> 62)}, 4); break;
        case SDX_DTYPE_INT64:
        case SDX_DTYPE_UINT64: memcpy(at, &(uint64_t){bits >> 62}, 8); break;
        default: *at = (uint8_t)(bits >> 63); break; /* 0 or 1 fits every small type */
        }
    }
}
