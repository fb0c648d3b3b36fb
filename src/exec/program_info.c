/* program_info.c - what can be asked of the graph that a program runs: nodes after the passes, where they
 * come from, and what each pass did. */
#include <string.h>

#include "exec/program.h"
#include "ops/resolve.h"
#include "passes/passes.h"

size_t sdx_program_node_count(const sdx_program *program) {
    return program ? program->node_count : 0;
}

static const sdx_node *node_at(const sdx_program *program, size_t index) {
    if (!program || index >= program->node_count) return NULL;
    return sdx_node_at(program->module, program->nodes[index]);
}

sdx_status sdx_program_get_node(const sdx_program *program, size_t index, sdx_program_node *info) {
    const sdx_node *node = node_at(program, index);
    if (!node) return SDX_STATUS_INVALID_ARGUMENT;
    sdx_program_node full = {.struct_size = info->struct_size,
                             .name = node->name,
                             .op = node->op_type,
                             .domain = sdx_domain_shown(node->domain),
                             .graph = node->graph,
                             .input_count = node->input_count,
                             .output_count = node->output_count,
                             .attribute_count = node->attr_count,
                             .inputs = node->inputs,
                             .outputs = node->outputs,
                             .origins = node->origins ? node->origins : &node->origin,
                             .origin_count = node->origins ? node->origin_count : 1};
    memcpy(info, &full, info->struct_size < sizeof full ? info->struct_size : sizeof full);
    return SDX_STATUS_OK;
}

static const sdx_value_def *value_at(const sdx_program *program, uint32_t value) {
    if (!program || value >= program->module->values.count) return NULL;
    return sdx_value_at(program->module, value);
}

const char *sdx_program_value_name(const sdx_program *program, uint32_t value) {
    const sdx_value_def *def = value_at(program, value);
    return def ? def->name : NULL;
}

bool sdx_program_value_is_constant(const sdx_program *program, uint32_t value) {
    const sdx_value_def *def = value_at(program, value);
    return def && def->constant;
}

size_t sdx_program_type_text(const sdx_program *program, uint32_t value, char *buffer,
                             size_t size) {
    const sdx_value_def *def = value_at(program, value);
    if (size) buffer[0] = 0;
    return def ? sdx_type_text(program->module, &def->type, buffer, size) : 0;
}

size_t sdx_program_attribute_text(const sdx_program *program, size_t index, size_t attribute,
                                  char *buffer, size_t size) {
    const sdx_node *node = node_at(program, index);
    if (size) buffer[0] = 0;
    if (!node || attribute >= node->attr_count) return 0;
    return sdx_attr_text(program->module, &node->attrs[attribute], buffer, size);
}

void sdx_program_get_slice(const sdx_program *program, sdx_slice_info *info) {
    const sdx_slice *slice = &program->slice;
    const sdx_expr_pool *pool = program->model->module->pool;
    sdx_slice_info full = {.struct_size = info->struct_size,
                           .symbol = slice->symbol == SIZE_MAX
                                         ? NULL
                                         : sdx_expr_symbol_name(pool, slice->symbol),
                           .size = slice->wanted,
                           .reason = slice->reason,
                           .node = slice->node};
    memcpy(info, &full, info->struct_size < sizeof full ? info->struct_size : sizeof full);
}

size_t sdx_program_pass_count(const sdx_program *program) {
    return program ? sdx_passes_count : 0;
}

sdx_status sdx_program_get_pass(const sdx_program *program, size_t index, sdx_pass_info *info) {
    if (!program || index >= sdx_passes_count) return SDX_STATUS_INVALID_ARGUMENT;
    const sdx_pass *pass = &sdx_passes[index];
    sdx_pass_info full = {.struct_size = info->struct_size,
                          .name = pass->name,
                          .summary = pass->summary,
                          .level = pass->level,
                          .changes = program->pass_changes[index]};
    memcpy(info, &full, info->struct_size < sizeof full ? info->struct_size : sizeof full);
    return SDX_STATUS_OK;
}
