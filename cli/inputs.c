/* inputs.c - what --dim, --slice and --cpus say, and repeatable random inputs. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

bool slice_parse(const char *argument, int64_t *size, const command *cmd) {
    *size = 0;
    if (!argument || strcmp(argument, "auto") == 0) return true;
    *size = SDX_SLICE_OFF;
    if (strcmp(argument, "off") == 0) return true;
    char *end;
    errno = 0;
    *size = strtoll(argument, &end, 10);
    if (!errno && end != argument && !*end && *size > 0) return true;
    usage_error(cmd, "--slice is '%s', expected a number from 1 on, off or auto", argument);
    return false;
}

bool cpus_parse(const char *argument, cpu_list *cpus, const command *cmd) {
    const char *at = argument;
    while (at && *at) {
        char *end;
        unsigned long first = strtoul(at, &end, 10), last = first;
        bool good = *at >= '0' && *at <= '9';
        if (good && *end == '-') {
            at = end + 1;
            good = *at >= '0' && *at <= '9';
            last = strtoul(at, &end, 10);
        }
        good = good && first <= last && last < 65536 && (*end == 0 || (*end == ',' && end[1]));
        for (; good && first <= last; first++) {
            good = cpus->count < sizeof cpus->items / sizeof *cpus->items;
            if (good) cpus->items[cpus->count++] = (uint32_t)first;
        }
        if (!good) break;
        at = end + (*end == ',');
    }
    if (!argument || (!*at && cpus->count)) return true;
    usage_error(cmd, "--cpus is '%s', expected a list such as 0,2-3", argument);
    return false;
}

bool use_cpu(uint32_t cpu) {
#if defined(__linux__)
    cpu_set_t set;
    CPU_ZERO(&set);
    if (cpu >= CPU_SETSIZE) return false;
    CPU_SET(cpu, &set);
    return sched_setaffinity(0, sizeof set, &set) == 0;
#else
    (void)cpu;
    return false;
#endif
}

/* Names may hold a '=' themselves; sizes cannot, so the last one divides. */
static bool parse_dim(sdx_binding *dim, const char *argument, const command *cmd) {
    const char *equals = strrchr(argument, '=');
    if (!equals || equals == argument) {
        usage_error(cmd, "--dim is '%s', expected NAME=N", argument);
        return false;
    }
    char *end;
    errno = 0;
    long long value = strtoll(equals + 1, &end, 10);
    if (errno || end == equals + 1 || *end || value < 0) {
        usage_error(cmd, "--dim %.*s: '%s' is not a size", (int)(equals - argument), argument,
                    equals + 1);
        return false;
    }
    char *name = strndup(argument, (size_t)(equals - argument));
    *dim = (sdx_binding){name, value};
    if (!name) out_of_memory();
    return name != NULL;
}

bool dims_parse(dim_list *dims, const text_list *texts, const command *cmd) {
    *dims = (dim_list){.items = calloc(texts->count + 1, sizeof *dims->items)};
    if (!dims->items) {
        out_of_memory();
        return false;
    }
    for (size_t i = 0; i < texts->count; i++) {
        if (!parse_dim(&dims->items[i], texts->items[i], cmd)) return false;
        dims->count++;
        for (size_t k = 0; k < i; k++)
            if (strcmp(dims->items[k].name, dims->items[i].name) == 0) {
                usage_error(cmd, "--dim %s is given twice", dims->items[i].name);
                return false;
            }
    }
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
        text names = {0};
        for (size_t s = 0; s < info.symbol_count; s++)
            text_add(&names, "%s'%s'", s ? ", " : "", sdx_model_symbol(model, s));
        complain("--dim %s: the model has no dimension of that name; it has %s",
                 dims->items[i].name, names.data ? names.data : "none");
        text_free(&names);
        return false;
    }
    return true;
}

void complain_open_dim(const sdx_model *model, uint32_t input, int32_t axis, const char *purpose) {
    char dim[256] = "", chosen[256] = "NAME";
    sdx_model_info info = {.struct_size = sizeof info};
    sdx_value_info value = {.struct_size = sizeof value};
    sdx_model_get_info(model, &info);
    sdx_model_get_value(model, input, &value);
    sdx_model_dim_text(model, input, axis, dim, sizeof dim);
    for (size_t i = 0; i < info.symbol_count; i++) {
        const char *name = sdx_model_symbol(model, i);
        size_t length = strlen(name);
        /* A name that is no plain word stands in quotes in a shape. */
        bool quoted = dim[0] == '\'' && strncmp(dim + 1, name, length) == 0 &&
                      strcmp(dim + 1 + length, "'") == 0;
        if (quoted || strcmp(dim, name) == 0) snprintf(chosen, sizeof chosen, "%s", name);
    }
    text type = {0};
    text_add_type(&type, model, input);
    complain("%s needs a size for dimension %d of input '%s' (%s); use --dim %s=N", purpose, axis,
             value.name, type.data ? type.data : "", chosen);
    text_free(&type);
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
