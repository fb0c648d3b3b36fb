/* lower_pack.c - constants in the layout that a step wants: each operator with a pack function is asked
 * once a step. What it takes over is not kept a second time: pages of a mapped file are given back,
 * and so are constants that a pass computed and nobody else reads.
 *
 * One step after the other, the threads inside each: so never more than one step's constants are there
 * twice, and memory is taken in one order, whatever the number of threads. */
#include "exec/lowering.h"

/* Starting threads takes as long as packing about this many bytes. */
#define WORTH_THREADS ((size_t)1 << 20)

/* At once, so that never more than one constant is there twice. Whoever reads it later, too, finds
 * the pages again in the file. */
static void forget_pages(const sdx_model *model, const sdx_const *constant) {
    if (constant->owned || !constant->data) return;
    if (!sdx_file_forget(&model->file, constant->data, constant->bytes))
        sdx_external_forget(model->external, constant->data, constant->bytes);
}

static sdx_status pack_step(sdx_lowering *l, sdx_step *step, sdx_arena *temp, sdx_pool *pool) {
    sdx_program *program = l->program;
    const sdx_node *node = step->node;
    sdx_pack pack = {.module = l->module, .node = node, .def = node->op->def,
                     .params = node->params, .optimize = program->optimize,
                     .arena = &program->arena, .temp = temp, .threads = pool, .error = l->error};
    sdx_status status = node->op->def->pack(&pack);
    if (status != SDX_STATUS_OK) {
        sdx_program_blame(program, node, l->error);
        return status;
    }
    step->packed = pack.packed;
    program->constant_bytes += pack.bytes;
    for (uint32_t i = 0; i < node->input_count && i < 32; i++) {
        const sdx_const *constant = sdx_pack_constant(&pack, i);
        if (!(pack.taken >> i & 1u) || !constant) continue;
        step->taken |= 1u << i;
        forget_pages(program->model, constant);
    }
    return SDX_STATUS_OK;
}

/* Bytes of the constants of steps that pack, counted up to WORTH_THREADS. */
static bool is_worth_threads(const sdx_lowering *l) {
    size_t bytes = 0;
    for (size_t g = 0; g < l->module->graphs.count; g++) {
        const sdx_block *block = &l->program->blocks[g];
        for (uint32_t s = 0; s < block->step_count; s++) {
            const sdx_node *node = block->steps[s].node;
            for (uint32_t i = 0; node->op->def->pack && i < node->input_count; i++) {
                if (node->inputs[i] == SDX_NONE) continue;
                const sdx_const *constant = sdx_value_at(l->module, node->inputs[i])->constant;
                if (!constant) continue;
                if (constant->bytes >= WORTH_THREADS - bytes) return true;
                bytes += constant->bytes;
            }
        }
    }
    return false;
}

static sdx_status pack_steps(sdx_lowering *l, sdx_pool *pool) {
    for (size_t g = 0; g < l->module->graphs.count; g++) {
        sdx_block *block = &l->program->blocks[g];
        for (uint32_t s = 0; s < block->step_count; s++) {
            if (!block->steps[s].node->op->def->pack) continue;
            SDX_TRY(sdx_module_in_time(l->module, l->error));
            sdx_arena temp;
            sdx_arena_init(&temp, l->program->allocator, 0);
            sdx_status status = pack_step(l, &block->steps[s], &temp, pool);
            sdx_arena_free(&temp);
            SDX_TRY(status);
        }
    }
    return SDX_STATUS_OK;
}

sdx_status sdx_lower_pack(sdx_lowering *l) {
    uint32_t threads = l->program->threads ? l->program->threads : sdx_default_threads();
    sdx_pool *pool = NULL;
    if (threads > 1 && is_worth_threads(l))
        SDX_TRY(sdx_pool_create(l->program->allocator, threads, &pool, l->error));
    sdx_pool_begin_run(pool);
    sdx_status status = pack_steps(l, pool);
    sdx_pool_end_run(pool);
    sdx_pool_release(pool);
    return status;
}

void sdx_lower_give_back(sdx_lowering *l) {
    sdx_module *module = l->module;
    bool *read = sdx_arena_array(&l->scratch, module->owned.count + 1, sizeof *read);
    for (size_t v = 0; v < module->values.count; v++) {
        const sdx_const *constant = sdx_value_at(module, (sdx_id)v)->constant;
        if (constant && l->value_used[v] && constant->owned && read && l->plain[v])
            read[constant->owned] = true;
    }
    for (size_t i = 1; read && i <= module->owned.count; i++)
        if (!read[i]) sdx_module_disown(module, (uint32_t)i);
}
