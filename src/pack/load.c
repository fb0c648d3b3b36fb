/* load.c - a packed file as a model: header and index are checked against their digests, then read; data is
 * used where it lies in the map, and its digests are looked at only if asked for. */
#include "pack/load.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/endian.h"
#include "base/sha1.h"
#include "kernels/kernels.h"
#include "passes/passes.h"

bool sdx_is_packed(const void *bytes, size_t size) {
    return size >= 4 && memcmp(bytes, SDX_PACKED_MAGIC, 4) == 0;
}

sdx_status sdx_unpack_fail(sdx_unpacker *u, const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    uint64_t at = (uint64_t)(u->in.at - u->file);
    return sdx_fail_at(u->error, SDX_STATUS_BAD_MODEL, at, "%s", text);
}

sdx_status sdx_unpack_check(sdx_unpacker *u, const char *what) {
    if (!u->in.failed) return SDX_STATUS_OK;
    if (u->in.no_memory) return sdx_fail_memory(u->error, 0, "the model");
    if (u->error->code != SDX_STATUS_OK) return u->error->code;
    return sdx_unpack_fail(u, "the index makes no sense among its %s", what);
}

const uint8_t *sdx_take_span(sdx_unpacker *u, size_t *size, const char *what) {
    uint64_t at = sdx_take_number(&u->in), bytes = sdx_take_number(&u->in);
    const uint8_t *digest = sdx_take_bytes(&u->in, SDX_DIGEST);
    if (sdx_unpack_check(u, "data") != SDX_STATUS_OK) return NULL;
    if (at < SDX_PACKED_PAGE || at % SDX_PACKED_ALIGN || at > u->index_at ||
        bytes > u->index_at - at) {
        sdx_unpack_fail(u, "the data of '%.64s', %llu bytes at %llu, do not lie where data are", what,
                        (unsigned long long)bytes, (unsigned long long)at);
        return NULL;
    }
    *size = (size_t)bytes;
    if (u->verify) {
        uint8_t found[SDX_DIGEST];
        sdx_sha1(u->file + at, *size, found);
        if (memcmp(found, digest, SDX_DIGEST) != 0) {
            sdx_fail_at(u->error, SDX_STATUS_BAD_MODEL, at,
                        "the data of '%.64s' are damaged: their digest is another", what);
            return NULL;
        }
    }
    return u->file + at;
}

/* ---- header --------------------------------------------------------------------------------------- */

static uint64_t get_le(const uint8_t *from, size_t bytes) {
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++) value |= (uint64_t)from[i] << (8 * i);
    return value;
}

static bool digest_is(const uint8_t *data, size_t size, const uint8_t *wanted) {
    uint8_t found[SDX_DIGEST];
    sdx_sha1(data, size, found);
    return memcmp(found, wanted, SDX_DIGEST) == 0;
}

static sdx_status read_header(sdx_unpacker *u) {
    const uint8_t *header = u->file;
    sdx_error *error = u->error;
    if (u->file_size < SDX_PACKED_HEADER)
        return sdx_fail_at(error, SDX_STATUS_BAD_MODEL, u->file_size,
                           "the packed file is cut off: it has %zu bytes, not even its header",
                           u->file_size);
    if (memcmp(header, SDX_PACKED_MAGIC, 8) != 0)
        return sdx_fail_at(error, SDX_STATUS_BAD_MODEL, 4,
                           "the packed file's first bytes are damaged, as by a transfer as text");
    uint64_t version = get_le(header + SDX_HEADER_VERSION, 4);
    if (version != SDX_PACKED_VERSION)
        return sdx_fail_at(error, SDX_STATUS_UNSUPPORTED, SDX_HEADER_VERSION,
                           "the packed file has version %llu of the format; this library reads %d",
                           (unsigned long long)version, SDX_PACKED_VERSION);
    if (!digest_is(header, SDX_HEADER_DIGEST, header + SDX_HEADER_DIGEST))
        return sdx_fail_at(error, SDX_STATUS_BAD_MODEL, 0, "the packed file's header is damaged");
    uint64_t whole = get_le(header + SDX_HEADER_FILE_SIZE, 8);
    uint64_t at = get_le(header + SDX_HEADER_INDEX_AT, 8);
    uint64_t size = get_le(header + SDX_HEADER_INDEX_SIZE, 8);
    if (whole != u->file_size)
        return sdx_fail_at(error, SDX_STATUS_BAD_MODEL, u->file_size,
                           "the packed file %s: it has %zu bytes, and had %llu when it was written",
                           u->file_size < whole ? "is cut off" : "goes on after its end",
                           u->file_size, (unsigned long long)whole);
    if (at < SDX_PACKED_PAGE || at > whole || size != whole - at)
        return sdx_fail_at(error, SDX_STATUS_BAD_MODEL, SDX_HEADER_INDEX_AT,
                           "the packed file's index does not lie at its end");
    for (size_t i = SDX_PACKED_HEADER; i < SDX_PACKED_PAGE; i++)
        if (header[i])
            return sdx_fail_at(error, SDX_STATUS_BAD_MODEL, i,
                               "the packed file's header is damaged: byte %zu is not 0", i);
    u->index_at = (size_t)at;
    u->in = (sdx_source){.begin = u->file + at, .at = u->file + at, .end = u->file + whole};
    if (!digest_is(u->file + at, (size_t)size, header + SDX_HEADER_INDEX_DIGEST))
        return sdx_fail_at(error, SDX_STATUS_BAD_MODEL, at, "the packed file's index is damaged");
    return SDX_STATUS_OK;
}

/* ---- parts of the index ---------------------------------------------------------------------------- */

static void take_opsets(sdx_unpacker *u) {
    sdx_module *m = u->module;
    m->opset_count = sdx_take_count(&u->in, 2);
    m->opsets = sdx_take_array(&u->in, &m->arena, m->opset_count, sizeof *m->opsets);
    for (size_t i = 0; i < m->opset_count && !u->in.failed; i++) {
        m->opsets[i].domain = sdx_take_text(&u->in, &m->arena, NULL);
        m->opsets[i].version = sdx_take_signed(&u->in);
    }
    m->metadata_count = sdx_take_count(&u->in, 2);
    m->metadata = sdx_take_array(&u->in, &m->arena, m->metadata_count, sizeof *m->metadata);
    for (size_t i = 0; i < m->metadata_count && !u->in.failed; i++) {
        m->metadata[i].key = sdx_take_text(&u->in, &m->arena, NULL);
        m->metadata[i].value = sdx_take_text(&u->in, &m->arena, NULL);
    }
}

/* Passes that this library does not have are forgotten. */
static void take_passes(sdx_unpacker *u) {
    uint32_t count = sdx_take_count(&u->in, 2);
    u->stored->pass_changes = sdx_take_array(&u->in, &u->module->arena, sdx_passes_count,
                                             sizeof *u->stored->pass_changes);
    for (uint32_t i = 0; i < count && !u->in.failed; i++) {
        const char *name = sdx_take_text(&u->in, &u->module->arena, NULL);
        uint32_t changes = sdx_take_number32(&u->in);
        for (size_t k = 0; k < sdx_passes_count && !u->in.failed; k++)
            if (strcmp(sdx_passes[k].name, name) == 0) u->stored->pass_changes[k] = changes;
    }
}

static sdx_status take_head(sdx_unpacker *u) {
    sdx_module *m = u->module;
    sdx_stored *stored = u->stored;
    stored->library = sdx_take_text(&u->in, &m->arena, NULL);
    stored->layout = sdx_take_number32(&u->in);
    uint32_t flags = sdx_take_below(&u->in, (SDX_PACK_PLAIN | SDX_PACK_HALF) + 1);
    stored->plain = (flags & SDX_PACK_PLAIN) != 0;
    stored->half = (flags & SDX_PACK_HALF) != 0;
    stored->optimize = (int)sdx_take_below(&u->in, 4);
    stored->kernels = sdx_take_number32(&u->in);
    stored->levers = sdx_take_number32(&u->in);
    stored->strategy = sdx_take_text(&u->in, &m->arena, NULL);
    m->ir_version = sdx_take_signed(&u->in);
    m->model_version = sdx_take_signed(&u->in);
    m->producer_name = sdx_take_text(&u->in, &m->arena, NULL);
    m->producer_version = sdx_take_text(&u->in, &m->arena, NULL);
    m->domain = sdx_take_text(&u->in, &m->arena, NULL);
    m->doc = sdx_take_text(&u->in, &m->arena, NULL);
    m->function_count = sdx_take_number32(&u->in);
    take_opsets(u);
    take_passes(u);
    return sdx_unpack_check(u, "header");
}

static sdx_status take_slices(sdx_unpacker *u) {
    sdx_stored *stored = u->stored;
    stored->slice_symbol = SIZE_MAX;
    if (sdx_take_below(&u->in, 2)) {
        const char *name = sdx_take_text(&u->in, &u->module->arena, NULL);
        stored->slice_symbol = sdx_expr_find_symbol(u->module->pool, name, strlen(name));
        if (stored->slice_symbol == SIZE_MAX) u->in.failed = true;
    }
    stored->slice_reason = sdx_take_text(&u->in, &u->module->arena, NULL);
    uint32_t node = sdx_take_below(&u->in, u->module->nodes.count - stored->node_count + 1);
    stored->slice_node = node ? stored->node_count + node - 1 : SDX_NO_INDEX;
    uint32_t inputs = sdx_take_count(&u->in, 1);
    stored->slice_inputs =
        sdx_take_array(&u->in, &u->module->arena, inputs, sizeof *stored->slice_inputs);
    if (inputs != sdx_graph_at(u->module, 0)->input_count) u->in.failed = true;
    for (uint32_t i = 0; i < inputs && !u->in.failed; i++)
        stored->slice_inputs[i] = sdx_take_below(&u->in, 2) != 0;
    return sdx_unpack_check(u, "slices");
}

static sdx_status take_plan(sdx_unpacker *u) {
    sdx_stored *stored = u->stored;
    stored->order.changed = sdx_take_below(&u->in, 2) != 0;
    stored->order.proved = sdx_take_below(&u->in, 2) != 0;
    stored->order.given = (size_t)sdx_take_number(&u->in);
    stored->order.peak = (size_t)sdx_take_number(&u->in);
    stored->order.bound = (size_t)sdx_take_number(&u->in);
    stored->buffer_count = sdx_take_count(&u->in, 1);
    stored->layout_count = sdx_take_below(&u->in, SDX_LAYOUTS + 1);
    uint32_t count = stored->buffer_count;
    uint8_t *seen = sdx_take_array(&u->in, &u->module->arena, count, 1);
    for (uint32_t k = 0; k < stored->layout_count && !u->in.failed; k++) {
        uint32_t *order = sdx_take_array(&u->in, &u->module->arena, count, sizeof *order);
        for (uint32_t i = 0; i < count && !u->in.failed; i++) {
            order[i] = sdx_take_below(&u->in, count);
            if (!u->in.failed && seen[order[i]]++ != k) u->in.failed = true; /* each once a layout */
        }
        stored->layouts[k] = order;
    }
    return sdx_unpack_check(u, "plan");
}

static sdx_status take_set(sdx_unpacker *u, sdx_stored_set *set) {
    sdx_stored *stored = u->stored;
    set->isa = sdx_take_text(&u->in, &u->module->arena, NULL);
    set->bytes = sdx_take_number(&u->in);
    uint32_t count = sdx_take_count(&u->in, 4 + SDX_DIGEST);
    bool mine = strcmp(set->isa, sdx_kernels_get()->isa) == 0 && sdx_little_endian() &&
                stored->layout == SDX_PACK_LAYOUT;
    if (mine)
        stored->blobs = sdx_take_array(&u->in, &u->module->arena, stored->node_count,
                                       sizeof *stored->blobs);
    SDX_TRY(sdx_unpack_check(u, "instruction sets"));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t node = sdx_take_below(&u->in, stored->node_count);
        uint32_t way = sdx_take_number32(&u->in);
        SDX_TRY(sdx_unpack_check(u, "packed weights"));
        size_t size;
        const uint8_t *data = sdx_take_span(u, &size, sdx_node_at(u->module, node)->name);
        if (!data) return u->error->code;
        if (mine) stored->blobs[node] = (sdx_packed_blob){data, size, way};
    }
    return SDX_STATUS_OK;
}

static sdx_status take_sets(sdx_unpacker *u) {
    sdx_stored *stored = u->stored;
    stored->set_count = sdx_take_count(&u->in, 3);
    stored->sets =
        sdx_take_array(&u->in, &u->module->arena, stored->set_count, sizeof *stored->sets);
    SDX_TRY(sdx_unpack_check(u, "instruction sets"));
    for (size_t i = 0; i < stored->set_count; i++) SDX_TRY(take_set(u, &stored->sets[i]));
    return SDX_STATUS_OK;
}

static sdx_status read_index(sdx_unpacker *u) {
    SDX_TRY(take_head(u));
    SDX_TRY(sdx_load_exprs(u));
    SDX_TRY(sdx_load_constants(u));
    SDX_TRY(sdx_load_packed_graph(u));
    SDX_TRY(take_slices(u));
    SDX_TRY(take_plan(u));
    SDX_TRY(take_sets(u));
    if (u->in.at != u->in.end)
        return sdx_unpack_fail(u, "the index goes on for %zu bytes after its end",
                               (size_t)(u->in.end - u->in.at));
    return SDX_STATUS_OK;
}

/* ---- the whole ------------------------------------------------------------------------------------- */

/* Kernels want their weights aligned as a map has them; a caller's memory may not be. */
static sdx_status align(sdx_model *model, const void **bytes, size_t size, sdx_error *error) {
    if ((uintptr_t)*bytes % SDX_PACKED_ALIGN == 0) return SDX_STATUS_OK;
    uint8_t *copy = sdx_alloc(model->allocator, size, SDX_PACKED_PAGE);
    if (!copy) return sdx_fail_memory(error, size, "the model");
    memcpy(copy, *bytes, size);
    sdx_file_close(&model->file); /* a reader's copy, or none */
    model->file = (sdx_file){.data = copy, .size = size, .allocator = model->allocator};
    *bytes = copy;
    return SDX_STATUS_OK;
}

sdx_status sdx_packed_load(sdx_model *model, const void *bytes, size_t size, bool verify,
                           sdx_error *error) {
    SDX_TRY(align(model, &bytes, size, error));
    sdx_unpacker u = {.model = model, .module = model->module, .file = bytes, .file_size = size,
                      .verify = verify, .error = error};
    SDX_TRY(read_header(&u));
    u.stored = sdx_arena_alloc(&model->module->arena, sizeof *u.stored);
    if (!u.stored) return sdx_fail_memory(error, sizeof *u.stored, "the model");
    model->module->packed = true;
    SDX_TRY(read_index(&u));
    model->stored = u.stored;
    return SDX_STATUS_OK;
}

sdx_status sdx_model_get_packing(const sdx_model *model, sdx_packing_info *info) {
    const sdx_stored *stored = model ? model->stored : NULL;
    if (!stored) return SDX_STATUS_INVALID_ARGUMENT;
    sdx_packing_info full = {.struct_size = info->struct_size,
                             .version = SDX_PACKED_VERSION,
                             .library = stored->library,
                             .flags = (stored->plain ? (uint32_t)SDX_PACK_PLAIN : 0u) |
                                      (stored->half ? (uint32_t)SDX_PACK_HALF : 0u),
                             .optimize = stored->optimize,
                             .set_count = stored->set_count,
                             .ready = stored->blobs != NULL};
    memcpy(info, &full, info->struct_size < sizeof full ? info->struct_size : sizeof full);
    return SDX_STATUS_OK;
}

sdx_status sdx_model_packed_set(const sdx_model *model, size_t index, const char **name,
                                uint64_t *bytes) {
    const sdx_stored *stored = model ? model->stored : NULL;
    if (!stored || index >= stored->set_count) return SDX_STATUS_INVALID_ARGUMENT;
    *name = strcmp(stored->sets[index].isa, "base") == 0 ? "scalar" : stored->sets[index].isa;
    *bytes = stored->sets[index].bytes;
    return SDX_STATUS_OK;
}
