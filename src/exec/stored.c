/* stored.c - a program from a packed file: slices and plan as they were found when it was packed. */
#include "exec/stored.h"

#include <stdio.h>
#include <string.h>

const char *sdx_stored_sets_text(const sdx_stored *stored, char *buffer, size_t size) {
    size_t at = 0;
    if (size) buffer[0] = 0;
    for (size_t i = 0; i < stored->set_count && at < size; i++) {
        const char *before = i == 0 ? "" : i + 1 < stored->set_count ? ", " : " and ";
        const char *isa = stored->sets[i].isa;
        int put = snprintf(buffer + at, size - at, "%s%s", before,
                           strcmp(isa, "base") == 0 ? "scalar" : isa);
        at += put > 0 ? (size_t)put : 0;
    }
    return buffer;
}

sdx_status sdx_stored_slices(sdx_program *program, const int64_t *fixed, sdx_error *error) {
    const sdx_stored *stored = program->model->stored;
    sdx_slice *slice = &program->slice;
    size_t inputs = sdx_graph_at(program->model->module, 0)->input_count;
    slice->symbol = slice->wanted < 0 ? SIZE_MAX : stored->slice_symbol;
    slice->fixed = slice->symbol == SIZE_MAX ? -1 : fixed[slice->symbol];
    slice->node = stored->slice_node;
    snprintf(slice->reason, sizeof slice->reason, "%s",
             slice->wanted < 0 ? "switched off" : stored->slice_reason);
    slice->inputs = sdx_arena_array(&program->arena, inputs + 1, sizeof(bool));
    if (!slice->inputs) return sdx_fail_memory(error, 0, "the program");
    memcpy(slice->inputs, stored->slice_inputs, inputs * sizeof(bool));
    return SDX_STATUS_OK;
}

bool sdx_stored_has_plan(const sdx_program *program) {
    const sdx_stored *stored = program->model->stored;
    return stored && (program->levers & ~(uint32_t)SDX_MEMORY_DESCRIBE) == stored->levers &&
           strcmp(program->strategy, stored->strategy) == 0;
}
