/* save.c - writes a packed file: makes a program that keeps its constants, writes what it consists of, and
 * puts the file in place only when it is whole. The same model and options give the same bytes. */
#include "pack/save.h"

#include <string.h>

#include "base/checked.h"
#include "base/sha1.h"
#include "passes/passes.h"

sdx_status sdx_save_no_memory(sdx_saver *s) {
    return sdx_fail_memory(s->error, 0, "the packed file");
}

/* ---- parts of the index -------------------------------------------------------------------------- */

static bool is_replaced(const sdx_saver *s, const char *key) {
    for (size_t i = 0; i < s->options.metadata_count; i++)
        if (strcmp(s->options.metadata[i].key, key) == 0) return true;
    return false;
}

static void put_metadata(sdx_saver *s, sdx_sink *out) {
    const sdx_module *m = s->module;
    size_t count = s->options.metadata_count;
    for (size_t i = 0; i < m->metadata_count; i++) count += !is_replaced(s, m->metadata[i].key);
    sdx_put_number(out, count);
    for (size_t i = 0; i < m->metadata_count; i++) {
        if (is_replaced(s, m->metadata[i].key)) continue;
        sdx_put_text(out, m->metadata[i].key);
        sdx_put_text(out, m->metadata[i].value);
    }
    for (size_t i = 0; i < s->options.metadata_count; i++) {
        sdx_put_text(out, s->options.metadata[i].key);
        sdx_put_text(out, s->options.metadata[i].value);
    }
}

static void put_head(sdx_saver *s, sdx_sink *out) {
    const sdx_module *m = s->module;
    const sdx_program *p = s->program;
    sdx_put_text(out, sdx_version());
    sdx_put_number(out, SDX_PACK_LAYOUT);
    sdx_put_number(out, s->options.flags & (SDX_PACK_PLAIN | SDX_PACK_HALF));
    sdx_put_number(out, (uint64_t)p->optimize);
    sdx_put_number(out, p->kernels);
    sdx_put_number(out, p->levers & ~(uint32_t)SDX_MEMORY_DESCRIBE);
    sdx_put_text(out, p->strategy);
    sdx_put_signed(out, m->ir_version);
    sdx_put_signed(out, m->model_version);
    sdx_put_text(out, m->producer_name);
    sdx_put_text(out, m->producer_version);
    sdx_put_text(out, m->domain);
    sdx_put_text(out, m->doc);
    sdx_put_number(out, m->function_count);
    sdx_put_number(out, m->opset_count);
    for (size_t i = 0; i < m->opset_count; i++) {
        sdx_put_text(out, m->opsets[i].domain);
        sdx_put_signed(out, m->opsets[i].version);
    }
    put_metadata(s, out);
    sdx_put_number(out, sdx_passes_count);
    for (size_t i = 0; i < sdx_passes_count; i++) {
        sdx_put_text(out, sdx_passes[i].name);
        sdx_put_number(out, p->pass_changes[i]);
    }
}

static void put_slices(sdx_saver *s, sdx_sink *out) {
    const sdx_slice *slice = &s->program->slice;
    bool sliced = slice->symbol != SIZE_MAX;
    size_t inputs = sdx_graph_at(s->module, 0)->input_count;
    sdx_put_number(out, sliced);
    if (sliced)
        sdx_put_text(out, sdx_expr_symbol_name(s->program->model->module->pool, slice->symbol));
    sdx_put_text(out, slice->reason);
    sdx_put_number(out, slice->node == SDX_NO_INDEX ? 0 : s->origins.number[slice->node]);
    sdx_put_number(out, inputs);
    for (size_t i = 0; i < inputs; i++) sdx_put_number(out, slice->inputs[i]);
}

static void put_plan(sdx_saver *s, sdx_sink *out) {
    const sdx_program *p = s->program;
    sdx_put_number(out, p->order.changed);
    sdx_put_number(out, p->order.proved);
    sdx_put_number(out, p->order.given);
    sdx_put_number(out, p->order.peak);
    sdx_put_number(out, p->order.bound);
    sdx_put_number(out, p->planned_count);
    sdx_put_number(out, p->layout_count);
    for (uint32_t k = 0; k < p->layout_count; k++)
        for (uint32_t i = 0; i < p->planned_count; i++)
            sdx_put_number(out, p->layouts[k].order[i]);
}

/* ---- the file -------------------------------------------------------------------------------------- */

static void put_le(uint8_t *to, uint64_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) to[i] = (uint8_t)(value >> (8 * i));
}

static sdx_status put_header(sdx_saver *s, uint64_t index_at, const sdx_sink *index) {
    uint8_t header[SDX_PACKED_HEADER] = {0};
    memcpy(header + SDX_HEADER_MAGIC, SDX_PACKED_MAGIC, 8);
    put_le(header + SDX_HEADER_VERSION, SDX_PACKED_VERSION, 4);
    put_le(header + SDX_HEADER_FILE_SIZE, s->file.at, 8);
    put_le(header + SDX_HEADER_INDEX_AT, index_at, 8);
    put_le(header + SDX_HEADER_INDEX_SIZE, index->size, 8);
    sdx_sha1(index->data, index->size, header + SDX_HEADER_INDEX_DIGEST);
    sdx_sha1(header, SDX_HEADER_DIGEST, header + SDX_HEADER_DIGEST);
    return sdx_file_put_at(&s->file, 0, header, sizeof header, s->error);
}

static sdx_status put_index(sdx_saver *s, sdx_sink *index) {
    put_head(s, index);
    sdx_put_number(index, s->expr_count);
    sdx_put_bytes(index, s->exprs.data, s->exprs.size);
    sdx_put_bytes(index, s->constants.data, s->constants.size);
    sdx_put_bytes(index, s->graph.data, s->graph.size);
    put_slices(s, index);
    put_plan(s, index);
    sdx_put_number(index, s->set_count);
    sdx_put_bytes(index, s->sets.data, s->sets.size);
    if (index->failed || s->sets.failed || s->exprs.failed || s->graph.failed)
        return sdx_save_no_memory(s);
    SDX_TRY(sdx_save_align(s, SDX_PACKED_ALIGN));
    uint64_t at = s->file.at;
    SDX_TRY(sdx_file_put(&s->file, index->data, index->size, s->error));
    return put_header(s, at, index);
}

static sdx_status write_file(sdx_saver *s, const char *path) {
    static const uint8_t page[SDX_PACKED_PAGE];
    sdx_sink index = {.allocator = s->allocator};
    SDX_TRY(sdx_file_begin(path, false, &s->file, s->error));
    sdx_status status = sdx_file_put(&s->file, page, sizeof page, s->error);
    if (status == SDX_STATUS_OK) status = sdx_save_collect(s);
    if (status == SDX_STATUS_OK) status = sdx_save_sets(s);
    if (status == SDX_STATUS_OK) status = sdx_save_graph(s);
    if (status == SDX_STATUS_OK) status = sdx_save_constants(s);
    if (status == SDX_STATUS_OK) status = put_index(s, &index);
    if (status == SDX_STATUS_OK) status = sdx_file_commit(&s->file, true, s->error);
    sdx_file_abandon(&s->file);
    sdx_sink_free(&index);
    return status;
}

/* A batch that the caller has fixed is fixed in the file too: no slices of it then. */
static sdx_status make_program(const sdx_model *model, const sdx_program_options *options,
                               sdx_program **out, sdx_error *error) {
    sdx_program_options given = {.struct_size = sizeof given, .optimize = 3};
    if (options) {
        size_t size = options->struct_size < sizeof given ? options->struct_size : sizeof given;
        memcpy(&given, options, size);
        given.struct_size = sizeof given;
    }
    SDX_TRY(sdx_program_create_saving(model, &given, out, error));
    if ((*out)->slice.symbol == SIZE_MAX || (*out)->slice.fixed < 0) return SDX_STATUS_OK;
    sdx_program_release(*out);
    given.slice = SDX_SLICE_OFF;
    return sdx_program_create_saving(model, &given, out, error);
}

sdx_status sdx_model_pack_file(const sdx_model *model, const sdx_program_options *program_options,
                               const sdx_pack_options *options, const char *path,
                               sdx_error *error) {
    sdx_error local;
    if (!error) error = &local;
    sdx_error_clear(error);
    if (!model || !path)
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT, "sdx_model_pack_file: NULL given");
    sdx_saver s = {.error = error, .file = {.fd = -1}};
    if (options)
        memcpy(&s.options, options,
               options->struct_size < sizeof s.options ? options->struct_size : sizeof s.options);
    if (s.options.flags & SDX_PACK_HALF && s.options.set_count)
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT,
                        "weights in half precision are packed when they are loaded: no instruction "
                        "set can be given");
    sdx_program *program = NULL;
    SDX_TRY(make_program(model, program_options, &program, error));
    s.program = program;
    s.module = program->module;
    s.allocator = program->allocator;
    s.exprs.allocator = s.constants.allocator = s.graph.allocator = s.sets.allocator = s.allocator;
    sdx_arena_init(&s.scratch, s.allocator, 0);
    sdx_map_init(&s.constant_map, s.allocator);
    sdx_status status = write_file(&s, path);
    sdx_sink_free(&s.exprs);
    sdx_sink_free(&s.constants);
    sdx_sink_free(&s.graph);
    sdx_sink_free(&s.sets);
    sdx_vector_free(&s.constant_list, s.allocator, sizeof(const sdx_const *));
    sdx_map_free(&s.constant_map);
    sdx_arena_free(&s.scratch);
    sdx_program_release(program);
    return status;
}
