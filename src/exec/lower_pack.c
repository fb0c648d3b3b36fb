/* lower_pack.c - constants in the layout that a step wants: each operator with a pack function is asked
 * once a step. What it takes over is not kept a second time: pages of a mapped file are given back,
 * and so are constants that a pass computed and nobody else reads.
 *
 * One step after the other, the threads inside each: so never more than one step's constants are there
 * twice, and memory is taken in one order, whatever the number of threads. */
#include "base/checked.h"
#include "base/pages.h"
#include "exec/lowering.h"
#include "exec/stored.h"
#include "kernels/kernels.h"
#include "kernels/panels.h"

/* Starting threads takes as long as packing about this many bytes. */
#define WORTH_THREADS ((size_t)1 << 20)
/* At once, so that never more than one constant is there twice, and of a large one only a part. Whoever
 * reads it later, too, finds the pages again in the file. */
static void forget_pages(void *user, const void *data, size_t bytes) {
    const sdx_model *model = user;
    if (!sdx_file_forget(&model->file, data, bytes))
        sdx_external_forget(model->external, data, bytes);
}

/* A packed file that has the weights for other instruction sets alone. */
static sdx_status check_set(const sdx_lowering *l, const sdx_node *node) {
    const sdx_stored *stored = l->program->model->stored;
    if (stored->blobs) return SDX_STATUS_OK;
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i] == SDX_NONE) continue;
        const sdx_const *constant = sdx_value_at(l->module, node->inputs[i])->constant;
        if (!constant || !sdx_const_absent(constant)) continue;
        char sets[64];
        const char *isa = sdx_kernels_get()->isa;
        bool other = stored->layout != SDX_PACK_LAYOUT;
        return sdx_fail(l->error, SDX_STATUS_UNSUPPORTED,
                        "the weights are packed for %s alone%s, and these are the kernels for %s%s; "
                        "pack the model again, with --plain for all machines",
                        sdx_stored_sets_text(stored, sets, sizeof sets),
                        other ? " of another version" : "",
                        isa[0] == 'b' ? "scalar" : isa, other ? " of this one" : "");
    }
    return SDX_STATUS_OK;
}

static const sdx_packed_blob *blob_of(const sdx_stored *stored, sdx_id node) {
    if (!stored || !stored->blobs || node >= stored->node_count || !stored->blobs[node].size)
        return NULL;
    return &stored->blobs[node];
}

static sdx_status pack_step(sdx_lowering *l, sdx_step *step, sdx_arena *temp, sdx_pool *pool,
                            sdx_pages *pages) {
    sdx_program *program = l->program;
    const sdx_node *node = step->node;
    const sdx_source_end read = {forget_pages, (void *)(uintptr_t)program->model};
    sdx_pack pack = {.module = l->module, .node = node, .def = node->op->def,
                     .params = node->params, .optimize = program->optimize,
                     .arena = &program->arena, .temp = temp, .threads = pool, .pages = pages, .read = &read,
                     .error = l->error, .stored = blob_of(sdx_stored_of(program->model), step->id)};
    sdx_status status = SDX_STATUS_OK;
    if (sdx_stored_of(program->model)) status = check_set(l, node);
    if (status == SDX_STATUS_OK) status = node->op->def->pack(&pack);
    if (status == SDX_STATUS_OK && pack.filled && pack.used != pack.stored->size)
        status = sdx_fail(l->error, SDX_STATUS_BAD_MODEL,
                          "its packed weights have %zu bytes, %zu more than it needs",
                          pack.stored->size, pack.stored->size - pack.used);
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
        if (!pack.filled && !constant->owned && constant->data)
            read.call(read.user, constant->data, constant->bytes);
    }
    return SDX_STATUS_OK;
}

/* Bytes that packing will take. A step that cannot be packed says so when its turn comes. */
static size_t bytes_to_pack(const sdx_lowering *l) {
    size_t bytes = 0;
    for (size_t g = 0; g < l->module->graphs.count; g++) {
        const sdx_block *block = &l->program->blocks[g];
        for (uint32_t s = 0; s < block->step_count; s++) {
            const sdx_step *step = &block->steps[s];
            if (!step->node->op->def->pack) continue;
            sdx_error error;
            sdx_error_clear(&error);
            sdx_arena temp;
            sdx_arena_init(&temp, l->program->allocator, 0);
            sdx_pack pack = {.module = l->module, .node = step->node, .def = step->node->op->def,
                             .params = step->node->params, .optimize = l->program->optimize,
                             .arena = &temp, .temp = &temp, .measuring = true, .error = &error,
                             .stored = blob_of(sdx_stored_of(l->program->model), step->id)};
            bool fits = pack.def->pack(&pack) == SDX_STATUS_OK &&
                        sdx_size_add(bytes, pack.bytes, &bytes);
            sdx_arena_free(&temp);
            if (!fits) return SIZE_MAX;
        }
    }
    return bytes;
}

/* One block for all that is packed has large pages, and none of them is half empty. A caller's allocator may
 * know of smaller ones alone. */
static void reserve(sdx_program *program, size_t bytes, sdx_pages *pages) {
    if (program->own_allocator.allocate == sdx_default_allocator.allocate && bytes != SIZE_MAX &&
        sdx_arena_reserve(&program->arena, bytes))
        sdx_pages_begin(pages, program->arena.blocks, program->arena.capacity);
}

static sdx_status pack_steps(sdx_lowering *l, sdx_pool *pool, sdx_pages *pages) {
    for (size_t g = 0; g < l->module->graphs.count; g++) {
        sdx_block *block = &l->program->blocks[g];
        for (uint32_t s = 0; s < block->step_count; s++) {
            if (!block->steps[s].node->op->def->pack) continue;
            SDX_TRY(sdx_module_in_time(l->module, l->error));
            sdx_arena temp;
            sdx_arena_init(&temp, l->program->allocator, 0);
            sdx_status status = pack_step(l, &block->steps[s], &temp, pool, pages);
            sdx_arena_free(&temp);
            SDX_TRY(status);
        }
    }
    return SDX_STATUS_OK;
}

sdx_status sdx_lower_pack(sdx_lowering *l) {
    uint32_t threads = sdx_useful_threads(l->program->threads);
    size_t bytes = bytes_to_pack(l);
    sdx_pool *pool = NULL;
    if (threads > 1 && bytes >= WORTH_THREADS)
        SDX_TRY(sdx_pool_create(l->program->allocator, threads, &pool, l->error));
    sdx_pages pages = {0};
    reserve(l->program, bytes, &pages);
    sdx_pool_begin_run(pool);
    sdx_status status = pack_steps(l, pool, &pages);
    sdx_pool_end_run(pool);
    sdx_pool_release(pool);
    sdx_pages_end(&pages);
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

void sdx_lower_forget_file(const sdx_lowering *l) {
    const sdx_model *model = l->program->model;
    if (!model->stored) sdx_file_forget(&model->file, model->file.data, model->file.size);
}
