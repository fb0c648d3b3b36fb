/* inspect_json.c - `sardonyx inspect --json`: the same facts for programs. */
#include "inspect.h"

#include <string.h>

#include "json.h"

static const char *kind_name(sdx_kind kind) {
    static const char *const names[] = {"unknown", "tensor", "sequence",
                                        "optional", "map", "sparse"};
    return names[kind];
}

/* Numbers where they are known, text such as "batch*2" where not, null where data decides. */
static void dims_json(const inspection *in, json_writer *json, size_t value,
                      const sdx_value_info *info) {
    json_row(json, "dims");
    for (int32_t i = 0; i < info->rank; i++) {
        char dim[512];
        if (info->dims[i] >= 0) {
            json_integer(json, NULL, info->dims[i]);
            continue;
        }
        sdx_model_dim_text(in->model, value, i, dim, sizeof dim);
        if (strcmp(dim, "?") == 0) json_null(json, NULL);
        else json_string(json, NULL, dim);
    }
    json_end(json);
    if (!in->dims.count) return;
    int32_t rank;
    int64_t dims[SDX_MAX_RANK];
    sdx_shapes_get(in->shapes, value, &rank, dims);
    json_row(json, "sizes"); /* with --dim put in */
    for (int32_t i = 0; i < rank; i++) {
        if (dims[i] >= 0) json_integer(json, NULL, dims[i]);
        else json_null(json, NULL);
    }
    json_end(json);
}

static void value_json(inspection *in, json_writer *json, size_t value) {
    sdx_value_info info = {.struct_size = sizeof info};
    sdx_model_get_value(in->model, value, &info);
    json_object(json, NULL);
    json_string(json, "name", info.name);
    text_clear(&in->scratch);
    text_add_type(&in->scratch, in->model, value);
    json_string(json, "type", in->scratch.data);
    json_string(json, "kind", kind_name(info.kind));
    if (info.dtype != SDX_DTYPE_UNDEFINED)
        json_string(json, "dtype", sdx_dtype_name(info.dtype));
    if (info.rank >= 0) dims_json(in, json, value, &info);
    if (info.graph) json_integer(json, "graph", info.graph);
    if (info.producer != SDX_NO_INDEX) json_integer(json, "node", info.producer);
    if (info.is_constant) json_bool(json, "constant", true);
    if (info.is_input) json_bool(json, "input", true);
    if (info.is_output) json_bool(json, "output", true);
    if (info.has_default) json_bool(json, "default", true);
    bool open = depends_on_data(in, value, &info);
    if (open) json_bool(json, "depends_on_data", true);
    if (info.is_contradicted) json_bool(json, "contradicted", true);
    text_clear(&in->scratch);
    if (open || info.is_contradicted) text_add_declared(&in->scratch, in->model, value);
    if (in->scratch.length) json_string(json, "declared", in->scratch.data);
    json_end(json);
}

static void edges_json(const inspection *in, json_writer *json, const char *name,
                       const uint32_t *values, size_t count) {
    json_row(json, name);
    for (size_t i = 0; i < count; i++) {
        const char *edge = value_name(in->model, values[i]);
        if (edge) json_string(json, NULL, edge);
        else json_null(json, NULL);
    }
    json_end(json);
}

static void node_json(inspection *in, json_writer *json, size_t index) {
    sdx_node_info node = {.struct_size = sizeof node};
    sdx_model_get_node(in->model, index, &node);
    json_object(json, NULL);
    json_string(json, "name", node.name);
    json_string(json, "domain", node.domain);
    json_string(json, "op", node.op);
    json_integer(json, "version", node.version);
    if (node.graph) json_integer(json, "graph", node.graph);
    edges_json(in, json, "inputs", node.inputs, node.input_count);
    edges_json(in, json, "outputs", node.outputs, node.output_count);
    json_row(json, "attributes");
    for (size_t i = 0; i < node.attribute_count; i++) {
        set_attribute_text(&in->scratch, in->model, index, i);
        json_string(json, NULL, in->scratch.data);
    }
    json_end(json);
    if (!node.supported) json_bool(json, "supported", false);
    json_end(json);
}

static void packing_json(const inspection *in, json_writer *json) {
    sdx_packing_info packing = {.struct_size = sizeof packing};
    if (sdx_model_get_packing(in->model, &packing) != SDX_STATUS_OK) return;
    json_object(json, "packed");
    json_integer(json, "format", packing.version);
    json_string(json, "library", packing.library);
    json_integer(json, "optimize", packing.optimize);
    json_bool(json, "plain", (packing.flags & SDX_PACK_PLAIN) != 0);
    json_bool(json, "half", (packing.flags & SDX_PACK_HALF) != 0);
    json_bool(json, "ready", packing.ready);
    json_array(json, "sets");
    for (size_t i = 0; i < packing.set_count; i++) {
        const char *name;
        uint64_t bytes;
        sdx_model_packed_set(in->model, i, &name, &bytes);
        json_object(json, NULL);
        json_string(json, "name", name);
        json_integer(json, "bytes", (int64_t)bytes);
        json_end(json);
    }
    json_end(json);
    json_end(json);
}

static void header_json(const inspection *in, json_writer *json) {
    const sdx_model_info *info = &in->info;
    json_integer(json, "file_bytes", (int64_t)info->file_bytes);
    json_integer(json, "ir_version", info->ir_version);
    json_string(json, "producer_name", info->producer_name);
    json_string(json, "producer_version", info->producer_version);
    json_string(json, "domain", info->domain);
    json_integer(json, "model_version", info->model_version);
    json_string(json, "graph", info->graph_name);
    json_string(json, "doc", info->doc);
    json_array(json, "opsets");
    for (size_t i = 0; i < info->opset_count; i++) {
        const char *domain;
        int64_t version;
        sdx_model_opset(in->model, i, &domain, &version);
        json_object(json, NULL);
        json_string(json, "domain", domain);
        json_integer(json, "version", version);
        json_end(json);
    }
    json_end(json);
    json_array(json, "metadata");
    for (size_t i = 0; i < info->metadata_count; i++) {
        const char *key, *value;
        sdx_model_metadata(in->model, i, &key, &value);
        json_object(json, NULL);
        json_string(json, "key", key);
        json_string(json, "value", value);
        json_end(json);
    }
    json_end(json);
    packing_json(in, json);
}

static void counts_json(const inspection *in, json_writer *json) {
    const sdx_model_info *info = &in->info;
    json_object(json, "counts");
    json_integer(json, "nodes", (int64_t)info->node_count);
    json_integer(json, "values", (int64_t)info->value_count);
    json_integer(json, "graphs", (int64_t)info->graph_count);
    json_integer(json, "functions", (int64_t)info->function_count);
    json_integer(json, "constants", (int64_t)info->constant_count);
    json_integer(json, "constant_bytes", (int64_t)info->constant_bytes);
    json_end(json);
    json_array(json, "operators");
    for (size_t i = 0; i < in->operator_count; i++) {
        const operator_use *use = &in->operators[i];
        json_object(json, NULL);
        json_string(json, "domain", use->domain);
        json_string(json, "name", use->name);
        json_integer(json, "count", (int64_t)use->count);
        if (use->unsupported) json_integer(json, "unsupported", (int64_t)use->unsupported);
        json_end(json);
    }
    json_end(json);
}

static void load_json(inspection *in, json_writer *json) {
    header_json(in, json);
    json_array(json, "inputs");
    for (size_t i = 0; i < in->info.input_count; i++)
        value_json(in, json, sdx_model_input(in->model, i));
    json_end(json);
    json_array(json, "outputs");
    for (size_t i = 0; i < in->info.output_count; i++)
        value_json(in, json, sdx_model_output(in->model, i));
    json_end(json);
    counts_json(in, json);
}

static void plan_json(const inspection *in, json_writer *json) {
    json_object(json, "plan");
    sdx_slice_info slice = {.struct_size = sizeof slice};
    sdx_program_get_slice(in->program, &slice);
    json_integer(json, "steps", (int64_t)in->steps);
    json_object(json, "slices");
    if (slice.symbol) {
        json_string(json, "of", slice.symbol);
        json_integer(json, "samples", (int64_t)in->memory.slice); /* 0: run whole */
    } else {
        json_string(json, "reason", slice.reason);
    }
    json_end(json);
    json_integer(json, "arena_bytes", (int64_t)in->memory.arena_bytes);
    json_integer(json, "naive_bytes", (int64_t)in->memory.naive_bytes);
    json_integer(json, "constant_bytes", (int64_t)in->info.constant_bytes);
    json_integer(json, "constant_bytes_copied", (int64_t)in->memory.constant_bytes);
    json_integer(json, "data_dependent_values", (int64_t)count_data_dependent(in));
    json_end(json);
}

static void program_edges_json(const inspection *in, json_writer *json, const char *name,
                               const uint32_t *values, size_t count) {
    json_row(json, name);
    for (size_t i = 0; i < count; i++) {
        const char *edge = sdx_program_value_name(in->program, values[i]);
        if (edge) json_string(json, NULL, edge);
        else json_null(json, NULL);
    }
    json_end(json);
}

static void program_node_json(inspection *in, json_writer *json, size_t index) {
    sdx_program_node node = {.struct_size = sizeof node};
    sdx_program_get_node(in->program, index, &node);
    json_object(json, NULL);
    json_string(json, "name", node.name);
    json_string(json, "domain", node.domain);
    json_string(json, "op", node.op);
    if (node.graph) json_integer(json, "graph", node.graph);
    program_edges_json(in, json, "inputs", node.inputs, node.input_count);
    program_edges_json(in, json, "outputs", node.outputs, node.output_count);
    json_row(json, "attributes");
    for (size_t i = 0; i < node.attribute_count; i++) {
        set_program_attribute_text(&in->scratch, in->program, index, i);
        json_string(json, NULL, in->scratch.data);
    }
    json_end(json);
    json_row(json, "from");
    for (size_t i = 0; i < node.origin_count; i++) {
        sdx_node_info origin = {.struct_size = sizeof origin};
        sdx_model_get_node(in->model, node.origins[i], &origin);
        json_string(json, NULL, origin.name);
    }
    json_end(json);
    json_end(json);
}

static void optimized_json(inspection *in, json_writer *json) {
    json_object(json, "optimized");
    json_array(json, "passes");
    for (size_t i = 0; i < sdx_program_pass_count(in->program); i++) {
        sdx_pass_info pass = {.struct_size = sizeof pass};
        sdx_program_get_pass(in->program, i, &pass);
        json_object(json, NULL);
        json_string(json, "name", pass.name);
        json_integer(json, "level", pass.level);
        json_integer(json, "changes", pass.changes);
        json_end(json);
    }
    json_end(json);
    json_array(json, "nodes");
    for (size_t i = 0; i < sdx_program_node_count(in->program); i++)
        program_node_json(in, json, i);
    json_end(json);
    json_end(json);
}

static void symbols_json(const inspection *in, json_writer *json) {
    json_row(json, "symbols");
    for (size_t i = 0; i < in->info.symbol_count; i++)
        json_string(json, NULL, sdx_model_symbol(in->model, i));
    json_end(json);
    if (!in->dims.count) return;
    json_object(json, "bound");
    for (size_t i = 0; i < in->dims.count; i++)
        json_integer(json, in->dims.items[i].name, in->dims.items[i].value);
    json_end(json);
}

static void problems_json(const inspection *in, json_writer *json) {
    json_array(json, "problems");
    for (size_t i = 0; i < in->info.problem_count; i++) {
        const sdx_error *problem = sdx_model_problem(in->model, i);
        json_object(json, NULL);
        json_string(json, "node", problem->node);
        json_string(json, "op", problem->op);
        json_string(json, "message", problem->message);
        if (problem->position != SDX_NO_POSITION)
            json_integer(json, "position", (int64_t)problem->position);
        json_end(json);
    }
    json_end(json);
}

void print_inspection_json(inspection *in) {
    static const char *const stages[] = {"load", "shape", "optimized", "plan"};
    json_writer json;
    json_start(&json, stdout);
    json_object(&json, NULL);
    json_string(&json, "file", in->path);
    json_string(&json, "stage", stages[in->stage]);
    symbols_json(in, &json);
    if (in->stage == STAGE_LOAD) load_json(in, &json);
    if (in->stage == STAGE_OPTIMIZED && in->program) optimized_json(in, &json);
    if (in->stage == STAGE_PLAN && !in->info.problem_count) plan_json(in, &json);
    if (in->values) {
        json_array(&json, "values");
        for (size_t i = 0; i < in->info.value_count; i++) value_json(in, &json, i);
        json_end(&json);
    }
    if (in->nodes) {
        json_array(&json, "nodes");
        for (size_t i = 0; i < in->info.node_count; i++) node_json(in, &json, i);
        json_end(&json);
    }
    problems_json(in, &json);
    json_end(&json);
    json_finish(&json);
}
