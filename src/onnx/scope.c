/* scope.c - names while loading: scopes, declaration, resolution; and small helpers that every
 * file of onnx/ uses. */
#include <stdio.h>
#include <string.h>

#include "onnx/loader.h"

sdx_status sdx_bad(sdx_loader *loader, uint64_t position, const char *format, ...) {
    va_list args;
    va_start(args, format);
    sdx_status status = sdx_fail_va(loader->error, SDX_STATUS_BAD_MODEL, position, format, args);
    va_end(args);
    return status;
}

sdx_status sdx_load_no_memory(sdx_loader *loader) {
    if (loader->module->arena.limit && loader->module->arena.total * 2 > loader->module->arena.limit)
        return sdx_fail(loader->error, SDX_STATUS_LIMIT,
                        "loading the model needs more than the limit of %llu bytes",
                        (unsigned long long)loader->module->limits.max_memory);
    return sdx_fail_memory(loader->error, 0, "the model");
}

sdx_status sdx_load_text(sdx_loader *loader, sdx_span text, const char **out) {
    *out = sdx_arena_string(&loader->module->arena, (const char *)text.data, text.size);
    return *out ? SDX_STATUS_OK : sdx_load_no_memory(loader);
}

sdx_status sdx_fields_read(sdx_loader *loader, sdx_pb_reader in, sdx_fields *out) {
    memset(out, 0, sizeof *out);
    sdx_pb_field field;
    sdx_status status = SDX_STATUS_OK;
    while (sdx_pb_next(&in, &field, &status, loader->error)) {
        sdx_pb_field *slot =
            sdx_vector_push(&out->vector, loader->module->allocator, sizeof *slot);
        if (!slot) {
            status = sdx_load_no_memory(loader);
            break;
        }
        *slot = field;
    }
    if (status != SDX_STATUS_OK) {
        sdx_fields_free(loader, out);
        return status;
    }
    out->items = out->vector.data;
    out->count = out->vector.count;
    return SDX_STATUS_OK;
}

void sdx_fields_free(sdx_loader *loader, sdx_fields *fields) {
    sdx_vector_free(&fields->vector, loader->module->allocator, sizeof(sdx_pb_field));
    fields->items = NULL;
    fields->count = 0;
}

sdx_status sdx_scope_open(sdx_loader *loader, sdx_scope *scope, uint64_t position) {
    sdx_map_init(&scope->names, loader->module->allocator);
    uint32_t limit = loader->module->limits.max_depth;
    if (scope->depth > limit)
        return sdx_fail_at(loader->error, SDX_STATUS_LIMIT, position,
                           "subgraphs and functions nest deeper than the limit of %u", limit);
    return SDX_STATUS_OK;
}

const char *sdx_call_name(sdx_loader *loader, const sdx_scope *scope, sdx_span name) {
    int size = name.size > SDX_MOST_CALL_NAME ? SDX_MOST_CALL_NAME : (int)name.size;
    return sdx_arena_printf(&loader->module->arena, "%.*s/%.*s", SDX_MOST_CALL_NAME,
                            scope->call->prefix, size, (const char *)name.data);
}

static const char *full_name(sdx_loader *loader, const sdx_scope *scope, sdx_span name) {
    if (scope->call) return sdx_call_name(loader, scope, name);
    return sdx_arena_string(&loader->module->arena, (const char *)name.data, name.size);
}

sdx_status sdx_declare(sdx_loader *loader, sdx_scope *scope, sdx_span name, uint64_t position,
                       const char *what, sdx_id *out) {
    if (name.size > INT32_MAX) return sdx_bad(loader, position, "a name of %zu bytes", name.size);
    if (sdx_map_get(&scope->names, (const char *)name.data, name.size) != SDX_MAP_NONE)
        return sdx_bad(loader, position, "%s '%.*s': the name is defined twice", what,
                       (int)name.size, (const char *)name.data);
    const char *text = full_name(loader, scope, name);
    *out = text ? sdx_module_add_value(loader->module, text, scope->graph) : SDX_NONE;
    if (*out == SDX_NONE ||
        !sdx_map_put(&scope->names, (const char *)name.data, name.size, *out))
        return sdx_load_no_memory(loader);
    return SDX_STATUS_OK;
}

sdx_status sdx_resolve(sdx_loader *loader, const sdx_scope *scope, sdx_span name,
                       uint64_t position, sdx_id *out) {
    for (const sdx_scope *at = scope; at; at = at->parent) {
        uint32_t found = sdx_map_get(&at->names, (const char *)name.data, name.size);
        if (found == SDX_MAP_NONE) continue;
        *out = found == SDX_ABSENT ? SDX_NONE : found;
        return SDX_STATUS_OK;
    }
    int length = name.size > 200 ? 200 : (int)name.size;
    return sdx_bad(loader, position, "'%.*s' is used but nothing defines it", length,
                   (const char *)name.data);
}
