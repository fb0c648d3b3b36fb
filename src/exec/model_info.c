/* model_info.c - what a model says about itself: header, values, nodes, attributes, operators. All
 * read-only views over the module, for `inspect` and for programs that ask. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/parts.h"
#include "exec/stored.h"
#include "ops/resolve.h"

static void copy_out(void *to, const void *from, size_t size, size_t full) {
    memcpy(to, from, size < full ? size : full);
}

void sdx_model_get_info(const sdx_model *model, sdx_model_info *info) {
    const sdx_module *m = model->module;
    const sdx_graph *main = sdx_graph_at(m, 0);
    sdx_model_info full = {.struct_size = info->struct_size,
                           .ir_version = m->ir_version,
                           .model_version = m->model_version,
                           .producer_name = m->producer_name,
                           .producer_version = m->producer_version,
                           .domain = m->domain,
                           .graph_name = main->name,
                           .doc = m->doc,
                           .opset_count = m->opset_count,
                           .metadata_count = m->metadata_count,
                           .symbol_count = model->symbol_count,
                           .input_count = main->input_count,
                           .output_count = main->output_count,
                           .node_count = model->stored ? model->stored->node_count : m->nodes.count,
                           .value_count = m->values.count,
                           .graph_count = m->graphs.count,
                           .function_count = m->function_count,
                           .file_bytes = model->file_bytes,
                           .problem_count = m->problems.count};
    for (size_t i = 0; i < m->values.count; i++) {
        const sdx_const *constant = sdx_value_at(m, (sdx_id)i)->constant;
        if (!constant) constant = sdx_value_at(m, (sdx_id)i)->fallback;
        if (!constant) continue;
        full.constant_count++;
        full.constant_bytes += (uint64_t)constant->count * sdx_dtype_size(constant->dtype);
    }
    copy_out(info, &full, info->struct_size, sizeof full);
}

static sdx_status out_of_range(void) { return SDX_STATUS_INVALID_ARGUMENT; }

sdx_status sdx_model_opset(const sdx_model *model, size_t index, const char **domain,
                           int64_t *version) {
    if (!model || index >= model->module->opset_count) return out_of_range();
    *domain = sdx_domain_shown(model->module->opsets[index].domain);
    *version = model->module->opsets[index].version;
    return SDX_STATUS_OK;
}

sdx_status sdx_model_metadata(const sdx_model *model, size_t index, const char **key,
                              const char **value) {
    if (!model || index >= model->module->metadata_count) return out_of_range();
    *key = model->module->metadata[index].key;
    *value = model->module->metadata[index].value;
    return SDX_STATUS_OK;
}

const char *sdx_model_metadata_value(const sdx_model *model, const char *key) {
    for (size_t i = 0; model && key && i < model->module->metadata_count; i++)
        if (strcmp(model->module->metadata[i].key, key) == 0) return model->module->metadata[i].value;
    return NULL;
}

const sdx_error *sdx_model_problem(const sdx_model *model, size_t index) {
    if (!model || index >= model->module->problems.count) return NULL;
    return (const sdx_error *)model->module->problems.data + index;
}

sdx_status sdx_model_find_symbols(sdx_model *model, sdx_error *error) {
    sdx_module *m = model->module;
    const sdx_graph *main = sdx_graph_at(m, 0);
    size_t count = sdx_expr_symbol_count(m->pool);
    model->symbols = sdx_arena_array(&m->arena, count + 1, sizeof *model->symbols);
    bool *seen = sdx_arena_array(&m->arena, count + 1, sizeof *seen);
    if (!model->symbols || !seen) return sdx_fail_memory(error, 0, "the model");
    for (uint32_t i = 0; i < main->input_count; i++) {
        const sdx_type *type = &sdx_value_at(m, main->inputs[i])->type;
        for (int32_t d = 0; type->kind == SDX_KIND_TENSOR && d < type->rank; d++) {
            size_t symbol = sdx_expr_symbol_index(m->pool, type->dims[d]);
            if (symbol == SIZE_MAX || seen[symbol]) continue;
            seen[symbol] = true;
            model->symbols[model->symbol_count++] = sdx_expr_symbol_name(m->pool, symbol);
        }
    }
    return SDX_STATUS_OK;
}

const char *sdx_model_symbol(const sdx_model *model, size_t index) {
    return model && index < model->symbol_count ? model->symbols[index] : NULL;
}

sdx_status sdx_model_get_value(const sdx_model *model, size_t index, sdx_value_info *info) {
    if (!model || index >= model->module->values.count) return out_of_range();
    const sdx_value_def *value = sdx_value_at(model->module, (sdx_id)index);
    const sdx_const *constant = value->constant ? value->constant : value->fallback;
    sdx_value_info full = {.struct_size = info->struct_size,
                           .name = value->name,
                           .kind = value->type.kind,
                           .rank = value->type.kind == SDX_KIND_TENSOR ? value->type.rank : -1,
                           .producer = value->producer,
                           .graph = value->graph,
                           .is_constant = value->constant != NULL,
                           .is_input = value->is_input,
                           .is_output = value->is_output,
                           .has_default = value->fallback != NULL,
                           .is_contradicted = value->contradicted};
    const sdx_type *inner = &value->type;
    while (inner->inner && inner->kind != SDX_KIND_MAP) inner = inner->inner;
    full.dtype = inner->dtype;
    for (int32_t i = 0; i < full.rank; i++) {
        sdx_expr dim = value->type.dims[i];
        full.dims[i] = sdx_expr_is_const(dim) ? sdx_expr_value(dim) : -1;
    }
    if (constant && sdx_const_in_place(constant)) full.data = constant->data;
    copy_out(info, &full, info->struct_size, sizeof full);
    return SDX_STATUS_OK;
}

size_t sdx_model_type_text(const sdx_model *model, size_t value, char *buffer, size_t size) {
    if (size) buffer[0] = 0;
    if (!model || value >= model->module->values.count) return 0;
    return sdx_type_text(model->module, &sdx_value_at(model->module, (sdx_id)value)->type, buffer,
                         size);
}

size_t sdx_model_declared_text(const sdx_model *model, size_t value, char *buffer, size_t size) {
    if (size) buffer[0] = 0;
    if (!model || value >= model->module->values.count) return 0;
    const sdx_type *declared = sdx_value_at(model->module, (sdx_id)value)->declared;
    if (declared && declared->kind == SDX_KIND_TENSOR && declared->rank < 0) return 0;
    return declared ? sdx_type_text(model->module, declared, buffer, size) : 0;
}

size_t sdx_model_dim_text(const sdx_model *model, size_t value, int32_t axis, char *buffer,
                          size_t size) {
    if (size) buffer[0] = 0;
    if (!model || value >= model->module->values.count) return 0;
    const sdx_type *type = &sdx_value_at(model->module, (sdx_id)value)->type;
    if (type->kind != SDX_KIND_TENSOR || axis < 0 || axis >= type->rank) return 0;
    return sdx_expr_text(model->module->pool, type->dims[axis], buffer, size);
}

static const sdx_node *node_at(const sdx_module *module, size_t index) {
    return index < module->nodes.count ? sdx_node_at(module, (sdx_id)index) : NULL;
}

sdx_status sdx_model_get_node(const sdx_model *model, size_t index, sdx_node_info *info) {
    const sdx_node *node = model ? node_at(model->module, index) : NULL;
    if (!node) return out_of_range();
    sdx_node_info full = {.struct_size = info->struct_size,
                          .name = node->name,
                          .op = node->op_type,
                          .domain = sdx_domain_shown(node->domain),
                          .version = node->version,
                          .graph = node->graph,
                          .input_count = node->input_count,
                          .output_count = node->output_count,
                          .attribute_count = node->attr_count,
                          .inputs = node->inputs,
                          .outputs = node->outputs,
                          .supported = node->op != NULL};
    copy_out(info, &full, info->struct_size, sizeof full);
    return SDX_STATUS_OK;
}

uint32_t sdx_model_input(const sdx_model *model, size_t index) {
    const sdx_graph *main = sdx_graph_at(model->module, 0);
    return index < main->input_count ? main->inputs[index] : SDX_NO_INDEX;
}

uint32_t sdx_model_output(const sdx_model *model, size_t index) {
    const sdx_graph *main = sdx_graph_at(model->module, 0);
    return index < main->output_count ? main->outputs[index] : SDX_NO_INDEX;
}

/* ---- attributes as text --------------------------------------------------------------------- */

typedef struct text_out {
    char *buffer;
    size_t size, length;
} text_out;

static void put(text_out *out, const char *format, ...) SDX_PRINTF(2, 3);
static void put(text_out *out, const char *format, ...) {
    va_list args;
    va_start(args, format);
    bool room = out->length < out->size;
    int n = vsnprintf(room ? out->buffer + out->length : NULL, room ? out->size - out->length : 0,
                      format, args);
    va_end(args);
    if (n > 0) out->length += (size_t)n;
}

static void put_element(const sdx_module *module, const sdx_attr *attr, size_t i, text_out *out) {
    switch (attr->kind) {
    case SDX_ATTR_FLOAT:
    case SDX_ATTR_FLOATS: put(out, "%.9g", (double)attr->as.floats[i]); break;
    case SDX_ATTR_INT:
    case SDX_ATTR_INTS: put(out, "%lld", (long long)attr->as.ints[i]); break;
    case SDX_ATTR_STRING:
    case SDX_ATTR_STRINGS:
        put(out, "'%.*s'", (int)attr->as.strings[i].size, attr->as.strings[i].data);
        break;
    case SDX_ATTR_GRAPH:
    case SDX_ATTR_GRAPHS: put(out, "graph %u", attr->as.graphs[i]); break;
    case SDX_ATTR_VALUES:
        put(out, "'%s'", sdx_value_at(module, attr->as.values[i])->name);
        break;
    case SDX_ATTR_EXPRS: {
        char dim[256];
        sdx_expr_text(module->pool, attr->as.exprs[i], dim, sizeof dim);
        put(out, "%s", dim);
        break;
    }
    case SDX_ATTR_TYPE:
    case SDX_ATTR_TYPES: {
        char type[256];
        sdx_type_text(module, attr->as.types[i], type, sizeof type);
        put(out, "%s", type);
        break;
    }
    default: {
        const sdx_const *constant = attr->as.tensors[i];
        put(out, "%s[", sdx_dtype_name(constant->dtype));
        for (int32_t d = 0; d < constant->rank; d++)
            put(out, "%s%lld", d ? "," : "", (long long)constant->dims[d]);
        put(out, "]");
    }
    }
}

#define MAX_SHOWN 32 /* elements of a list; the rest is counted */

size_t sdx_attr_text(const sdx_module *module, const sdx_attr *attr, char *buffer, size_t size) {
    text_out out = {buffer, size, 0};
    bool list = (attr->kind >= SDX_ATTR_FLOATS && attr->kind <= SDX_ATTR_GRAPHS) ||
                attr->kind == SDX_ATTR_SPARSE_TENSORS || attr->kind == SDX_ATTR_TYPES ||
                attr->kind == SDX_ATTR_VALUES || attr->kind == SDX_ATTR_EXPRS;
    put(&out, "%s=%s", attr->name, list ? "[" : "");
    for (size_t i = 0; i < attr->count && i < MAX_SHOWN; i++) {
        if (i) put(&out, ",");
        put_element(module, attr, i, &out);
    }
    if (attr->count > MAX_SHOWN) put(&out, ",... %zu in all", attr->count);
    if (list) put(&out, "]");
    return out.length;
}

size_t sdx_model_attribute_text(const sdx_model *model, size_t node_index, size_t attribute,
                                char *buffer, size_t size) {
    const sdx_node *node = model ? node_at(model->module, node_index) : NULL;
    if (size) buffer[0] = 0;
    if (!node || attribute >= node->attr_count) return 0;
    return sdx_attr_text(model->module, &node->attrs[attribute], buffer, size);
}

/* ---- operators --------------------------------------------------------------------------------- */

size_t sdx_op_count(void) { return sdx_ops_count; }

static void describe_op(const sdx_op *op, sdx_op_info *info) {
    sdx_op_info full = {.struct_size = info->struct_size,
                        .domain = sdx_domain_shown(op->domain),
                        .name = op->name,
                        .first_version = op->first,
                        .last_version = op->last,
                        .runs = sdx_op_has_run(op)};
    copy_out(info, &full, info->struct_size, sizeof full);
}

sdx_status sdx_op_get_info(size_t index, sdx_op_info *info) {
    if (index >= sdx_ops_count) return out_of_range();
    describe_op(&sdx_ops[index], info);
    return SDX_STATUS_OK;
}

sdx_status sdx_op_used(size_t index, sdx_op_info *info) {
    const sdx_op *op = sdx_op_found(index);
    if (!op) return out_of_range();
    describe_op(op, info);
    return SDX_STATUS_OK;
}

const char *sdx_part_used(size_t index) { return sdx_part_noted(index); }

bool sdx_op_takes(size_t index, size_t input, sdx_dtype dtype) {
    if (index >= sdx_ops_count || input > UINT16_MAX) return false;
    sdx_dtypes types = sdx_op_input_types(sdx_ops[index].def, (uint32_t)input);
    return types == 0 || sdx_dtypes_has(types, dtype);
}

const char *sdx_op_lacks(size_t index, size_t i) {
    if (index >= sdx_ops_count || !sdx_ops[index].def->lacks) return NULL;
    const char *const *name = sdx_ops[index].def->lacks;
    while (*name && i-- > 0) name++;
    return *name;
}
