/* attr.c - how an operator's prepare reads its node's attributes. Each access is noted, so that an
 * attribute nobody asked for is reported as a mistake in the model. */
#include <stdio.h>
#include <string.h>

#include "ops/op.h"

static const sdx_attr *find(sdx_prep *prep, const char *name) {
    for (uint32_t i = 0; i < prep->node->attr_count; i++) {
        if (strcmp(prep->node->attrs[i].name, name) != 0) continue;
        if (i < 64) prep->seen |= (uint64_t)1 << i;
        return &prep->node->attrs[i];
    }
    return NULL;
}

static const char *kind_name(sdx_attr_kind kind) {
    static const char *const names[] = {"nothing", "a float", "an integer", "a string", "a tensor",
                                        "a graph", "floats", "integers", "strings", "tensors",
                                        "graphs", "a sparse tensor", "sparse tensors", "a type",
                                        "types"};
    return (unsigned)kind < sizeof names / sizeof *names ? names[kind] : "something unknown";
}

/* *out NULL when absent. */
static sdx_status find_kind(sdx_prep *prep, const char *name, sdx_attr_kind kind,
                            const sdx_attr **out) {
    *out = find(prep, name);
    if (*out && (*out)->kind != kind)
        return sdx_prep_fail(prep, "attribute '%s' is %s, expected %s", name,
                             kind_name((*out)->kind), kind_name(kind));
    return SDX_STATUS_OK;
}

static sdx_status missing(sdx_prep *prep, const char *name) {
    return sdx_prep_fail(prep, "attribute '%s' is required but missing", name);
}

bool sdx_attr_has(sdx_prep *prep, const char *name) { return find(prep, name) != NULL; }
void sdx_attr_ignore(sdx_prep *prep, const char *name) { (void)find(prep, name); }

sdx_status sdx_attr_get_int(sdx_prep *prep, const char *name, int64_t fallback, int64_t *out) {
    const sdx_attr *attr;
    SDX_TRY(find_kind(prep, name, SDX_ATTR_INT, &attr));
    *out = attr ? attr->as.ints[0] : fallback;
    return SDX_STATUS_OK;
}

sdx_status sdx_attr_need_int(sdx_prep *prep, const char *name, int64_t *out) {
    SDX_TRY(sdx_attr_get_int(prep, name, 0, out));
    return sdx_attr_has(prep, name) ? SDX_STATUS_OK : missing(prep, name);
}

sdx_status sdx_attr_get_bool(sdx_prep *prep, const char *name, bool fallback, bool *out) {
    int64_t value;
    SDX_TRY(sdx_attr_get_int(prep, name, fallback, &value));
    *out = value != 0;
    return SDX_STATUS_OK;
}

sdx_status sdx_attr_get_float(sdx_prep *prep, const char *name, float fallback, float *out) {
    const sdx_attr *attr;
    SDX_TRY(find_kind(prep, name, SDX_ATTR_FLOAT, &attr));
    *out = attr ? attr->as.floats[0] : fallback;
    return SDX_STATUS_OK;
}

sdx_status sdx_attr_need_float(sdx_prep *prep, const char *name, float *out) {
    SDX_TRY(sdx_attr_get_float(prep, name, 0, out));
    return sdx_attr_has(prep, name) ? SDX_STATUS_OK : missing(prep, name);
}

sdx_status sdx_attr_get_string(sdx_prep *prep, const char *name, const char *fallback,
                               const char **out) {
    const sdx_attr *attr;
    SDX_TRY(find_kind(prep, name, SDX_ATTR_STRING, &attr));
    *out = attr ? attr->as.strings[0].data : fallback;
    if (attr && strlen(*out) != attr->as.strings[0].size)
        return sdx_prep_fail(prep, "attribute '%s' has a NUL byte in it", name);
    return SDX_STATUS_OK;
}

sdx_status sdx_attr_get_ints(sdx_prep *prep, const char *name, const int64_t **out,
                             size_t *count) {
    const sdx_attr *attr;
    SDX_TRY(find_kind(prep, name, SDX_ATTR_INTS, &attr));
    *out = attr ? attr->as.ints : NULL;
    *count = attr ? attr->count : 0;
    return SDX_STATUS_OK;
}

sdx_status sdx_attr_get_floats(sdx_prep *prep, const char *name, const float **out,
                               size_t *count) {
    const sdx_attr *attr;
    SDX_TRY(find_kind(prep, name, SDX_ATTR_FLOATS, &attr));
    *out = attr ? attr->as.floats : NULL;
    *count = attr ? attr->count : 0;
    return SDX_STATUS_OK;
}

sdx_status sdx_attr_get_strings(sdx_prep *prep, const char *name, const sdx_string **out,
                                size_t *count) {
    const sdx_attr *attr;
    SDX_TRY(find_kind(prep, name, SDX_ATTR_STRINGS, &attr));
    *out = attr ? attr->as.strings : NULL;
    *count = attr ? attr->count : 0;
    return SDX_STATUS_OK;
}

sdx_status sdx_attr_get_values(sdx_prep *prep, const char *name, sdx_attr_kind written,
                               const sdx_id **out, size_t *count) {
    const sdx_attr *attr = find(prep, name);
    *out = NULL;
    *count = 0;
    if (attr == NULL) return SDX_STATUS_OK;
    if (attr->kind != SDX_ATTR_VALUES) return find_kind(prep, name, written, &attr);
    *out = attr->as.values;
    *count = attr->count;
    return SDX_STATUS_OK;
}

sdx_status sdx_attr_get_exprs(sdx_prep *prep, const char *name, const sdx_expr **out,
                              size_t *count) {
    const sdx_attr *attr;
    SDX_TRY(find_kind(prep, name, SDX_ATTR_EXPRS, &attr));
    *out = attr ? attr->as.exprs : NULL;
    *count = attr ? attr->count : 0;
    return SDX_STATUS_OK;
}

sdx_status sdx_attr_get_tensor(sdx_prep *prep, const char *name, const sdx_const **out) {
    const sdx_attr *attr;
    SDX_TRY(find_kind(prep, name, SDX_ATTR_TENSOR, &attr));
    *out = attr ? attr->as.tensors[0] : NULL;
    return SDX_STATUS_OK;
}

sdx_status sdx_attr_need_graph(sdx_prep *prep, const char *name, sdx_id *out) {
    const sdx_attr *attr;
    SDX_TRY(find_kind(prep, name, SDX_ATTR_GRAPH, &attr));
    if (!attr) return missing(prep, name);
    *out = attr->as.graphs[0];
    return SDX_STATUS_OK;
}

sdx_status sdx_attr_get_dtype(sdx_prep *prep, const char *name, sdx_dtype fallback,
                              sdx_dtype *out) {
    int64_t number;
    SDX_TRY(sdx_attr_get_int(prep, name, fallback, &number));
    *out = fallback;
    if (number == (int64_t)fallback) return SDX_STATUS_OK;
    if (!sdx_dtype_valid(number))
        return sdx_prep_unsupported(prep, "attribute '%s' is %lld, not an element type; types are "
                                          "1 (float32) to %d (%s)",
                                    name, (long long)number, SDX_DTYPE_COUNT - 1,
                                    sdx_dtype_name(SDX_DTYPE_COUNT - 1));
    *out = (sdx_dtype)number;
    return SDX_STATUS_OK;
}

sdx_status sdx_attr_get_choice(sdx_prep *prep, const char *name, int fallback,
                               const char *const *words, int *out) {
    const char *text;
    SDX_TRY(sdx_attr_get_string(prep, name, NULL, &text));
    *out = fallback;
    if (!text) return SDX_STATUS_OK;
    char known[256];
    size_t used = 0;
    known[0] = 0;
    for (int i = 0; words[i]; i++) {
        if (strcmp(words[i], text) == 0) {
            *out = i;
            return SDX_STATUS_OK;
        }
        int put = snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", words[i]);
        if (put > 0 && (size_t)put < sizeof known - used) used += (size_t)put;
    }
    return sdx_prep_fail(prep, "attribute '%s' is '%.64s', expected one of %s", name, text, known);
}

void *sdx_prep_array(sdx_prep *prep, size_t count, size_t size) {
    void *memory = sdx_arena_array(prep->arena, count ? count : 1, size);
    if (!memory) sdx_fail_memory(prep->error, 0, "an operator's parameters");
    return memory;
}

sdx_status sdx_prep_fail(sdx_prep *prep, const char *format, ...) {
    va_list args;
    va_start(args, format);
    sdx_fail_va(prep->error, SDX_STATUS_BAD_MODEL, prep->node->position, format, args);
    va_end(args);
    return SDX_STATUS_BAD_MODEL;
}

sdx_status sdx_prep_unsupported(sdx_prep *prep, const char *format, ...) {
    va_list args;
    va_start(args, format);
    sdx_fail_va(prep->error, SDX_STATUS_UNSUPPORTED, prep->node->position, format, args);
    va_end(args);
    return SDX_STATUS_UNSUPPORTED;
}
