/* test_pack_threads.c - weights packed by several threads while a program is made: the same bits as by
 * one, limits that hold, nothing leaked where it fails. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <cmocka.h>

#include "exec/program.h"
#include "sardonyx.h"
#include "tiny_model.h"

enum { DEPTH = 512, COLUMNS = 1000 }; /* 2 MB: worth threads */

typedef struct counter {
    atomic_size_t live_bytes, left; /* left: allocations until they fail */
} counter;

static void *counting_allocate(void *user, size_t size, size_t alignment) {
    counter *c = user;
    size_t left = atomic_load(&c->left);
    while (left && !atomic_compare_exchange_weak(&c->left, &left, left - 1)) {
    }
    void *memory = left ? sdx_default_allocator.allocate(NULL, size, alignment) : NULL;
    if (memory) atomic_fetch_add(&c->live_bytes, size);
    return memory;
}

static void counting_release(void *user, void *memory, size_t size) {
    counter *c = user;
    if (memory) atomic_fetch_sub(&c->live_bytes, size);
    sdx_default_allocator.release(NULL, memory, size);
}

static sdx_model *make_model(tiny_model *m) {
    static float weights[DEPTH * COLUMNS];
    const int64_t shape[2] = {DEPTH, COLUMNS};
    for (size_t i = 0; i < DEPTH * COLUMNS; i++)
        weights[i] = (float)(i * 2654435761u % 4096) / 4096.0f - 0.5f;
    tiny_begin(m, 17);
    tiny_value(m, 11, "x", 1, "batch,512");
    tiny_constant(m, "flat", 1, DEPTH * COLUMNS, weights, sizeof weights);
    tiny_constant(m, "shape", 7, 2, shape, sizeof shape);
    tiny_node(m, "Reshape", "flat,shape", "w");
    tiny_node(m, "MatMul", "x,w", "y");
    tiny_value(m, 12, "y", 1, "");
    tiny_end(m);
    sdx_model *model = NULL;
    sdx_error error;
    assert_int_equal(sdx_model_load_memory(m->out.data, m->out.size, NULL, &model, &error),
                     SDX_STATUS_OK);
    return model;
}

/* The packed matrix of the only step. */
static const void *packed_of(const sdx_program *program) {
    const sdx_block *block = &program->blocks[0];
    for (uint32_t s = 0; s < block->step_count; s++)
        if (block->steps[s].packed) return block->steps[s].packed;
    return NULL;
}

static void same_bytes_for_any_number(void **state) {
    (void)state;
    tiny_model bytes = {0};
    sdx_model *model = make_model(&bytes);
    sdx_program *programs[3] = {NULL};
    const uint32_t threads[3] = {1, 2, 5};
    sdx_error error;
    for (size_t i = 0; i < 3; i++) {
        sdx_program_options options = {.struct_size = sizeof options, .optimize = 3,
                                       .threads = threads[i]};
        assert_int_equal(sdx_program_create(model, &options, &programs[i], &error), SDX_STATUS_OK);
        assert_non_null(packed_of(programs[i]));
        assert_int_equal(programs[i]->constant_bytes, programs[0]->constant_bytes);
        assert_memory_equal(packed_of(programs[i]), packed_of(programs[0]),
                            sizeof(float) * DEPTH * COLUMNS);
    }
    for (size_t i = 0; i < 3; i++) sdx_program_release(programs[i]);
    sdx_model_release(model);
    tiny_free(&bytes);
}

static void limits_hold(void **state) {
    (void)state;
    tiny_model bytes = {0};
    sdx_model *model = make_model(&bytes);
    counter count = {.left = SIZE_MAX};
    sdx_allocator allocator = {&count, counting_allocate, counting_release};
    sdx_limits limits = {.struct_size = sizeof limits, .max_memory = 1 << 20};
    sdx_program_options options = {.struct_size = sizeof options, .optimize = 3, .threads = 4,
                                   .allocator = &allocator, .limits = &limits};
    sdx_program *program = NULL;
    sdx_error error;
    assert_int_not_equal(sdx_program_create(model, &options, &program, &error), SDX_STATUS_OK);
    assert_null(program);
    assert_true(error.message[0] != 0);
    assert_int_equal(atomic_load(&count.live_bytes), 0);
    sdx_model_release(model);
    tiny_free(&bytes);
}

/* Out of memory after 0, 1, 2 … allocations: an error without a leak, until there are enough. */
static void failing_memory_is_an_error(void **state) {
    (void)state;
    tiny_model bytes = {0};
    sdx_model *model = make_model(&bytes);
    sdx_status status = SDX_STATUS_NO_MEMORY;
    size_t tries = 0;
    for (; status != SDX_STATUS_OK && tries < 100000; tries++) {
        counter count = {.left = tries};
        sdx_allocator allocator = {&count, counting_allocate, counting_release};
        sdx_program_options options = {.struct_size = sizeof options, .optimize = 3, .threads = 3,
                                       .allocator = &allocator};
        sdx_program *program = NULL;
        sdx_error error;
        status = sdx_program_create(model, &options, &program, &error);
        assert_true((status == SDX_STATUS_OK) == (program != NULL));
        sdx_program_release(program);
        assert_int_equal(atomic_load(&count.live_bytes), 0);
    }
    assert_int_equal(status, SDX_STATUS_OK);
    assert_true(tries > 5);
    sdx_model_release(model);
    tiny_free(&bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bytes_for_any_number),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(failing_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
