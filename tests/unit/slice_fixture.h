/* slice_fixture.h - a model whose batches may be run in slices, and runs of it, for test_slice.c and
 * test_lanes.c. Includes cmocka's needs. */
#ifndef SDX_TESTS_SLICE_FIXTURE_H
#define SDX_TESTS_SLICE_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "sardonyx.h"
#include "tiny_model.h"

#define MOST 40 /* samples of the largest batch */

/* y = softmax(relu(x * w) transposed and back, folded into rows); z = the largest of each sample. */
static inline void good_model(tiny_model *m) {
    float w[6 * 5];
    for (size_t i = 0; i < 30; i++) w[i] = (float)(i % 7) * 0.25f - 0.5f;
    const int64_t fold[2] = {-1, 5}, unfold[3] = {-1, 4, 5}, axes[1] = {2};
    tiny_begin(m, 18);
    tiny_value(m, 11, "x", 1, "batch,4,6");
    size_t weights = sdx_pb_write_begin(&m->out, 5);
    sdx_pb_write_varint(&m->out, 1, 6);
    sdx_pb_write_varint(&m->out, 1, 5);
    sdx_pb_write_varint(&m->out, 2, 1);
    tiny_text(&m->out, 8, "w");
    tiny_raw(&m->out, SDX_DTYPE_FLOAT32, w, sizeof w);
    sdx_pb_write_end(&m->out, weights);
    tiny_constant(m, "fold", 7, 2, fold, sizeof fold);
    tiny_constant(m, "unfold", 7, 3, unfold, sizeof unfold);
    tiny_constant(m, "axes", 7, 1, axes, sizeof axes);
    tiny_node(m, "MatMul", "x,w", "a");
    tiny_node(m, "Relu", "a", "b");
    tiny_node(m, "Reshape", "b,fold", "c");
    tiny_node(m, "Softmax", "c", "d");
    tiny_node(m, "Reshape", "d,unfold", "y");
    tiny_node(m, "ReduceMax", "a,axes", "z");
    tiny_value(m, 12, "y", 1, "");
    tiny_value(m, 12, "z", 1, "");
    tiny_end(m);
}

typedef struct fixture {
    tiny_model bytes;
    sdx_model *model;
    sdx_program *program;
    sdx_context *context;
    sdx_error error;
} fixture;

static inline void make_program(fixture *f, int64_t slice, uint32_t threads) {
    sdx_program_options options = {.struct_size = sizeof options, .optimize = 3, .slice = slice};
    assert_int_equal(sdx_program_create(f->model, &options, &f->program, &f->error), SDX_STATUS_OK);
    sdx_context_options context = {.struct_size = sizeof context, .threads = threads};
    assert_int_equal(sdx_context_create(f->program, &context, &f->context, &f->error), SDX_STATUS_OK);
}

static inline void load(fixture *f, int64_t slice, uint32_t threads) {
    assert_false(f->bytes.out.failed);
    sdx_status status =
        sdx_model_load_memory(f->bytes.out.data, f->bytes.out.size, NULL, &f->model, &f->error);
    if (status != SDX_STATUS_OK) print_message("%s\n", f->error.message);
    assert_int_equal(status, SDX_STATUS_OK);
    make_program(f, slice, threads);
}

static inline void drop_program(fixture *f) {
    sdx_context_release(f->context);
    sdx_program_release(f->program);
}

static inline void unload(fixture *f) {
    drop_program(f);
    sdx_model_release(f->model);
    tiny_free(&f->bytes);
}

/* The input, which stays where it is. */
static inline void set_input(fixture *f, int64_t batch) {
    static float data[MOST * 24];
    for (size_t i = 0; i < MOST * 24; i++) data[i] = (float)(i * 37 % 101) * 0.02f - 1;
    const int64_t dims[3] = {batch, 4, 6};
    sdx_tensor x;
    assert_int_equal(sdx_tensor_init(&x, SDX_DTYPE_FLOAT32, 3, dims, data, NULL), SDX_STATUS_OK);
    assert_int_equal(sdx_context_set_input(f->context, 0, &x, &f->error), SDX_STATUS_OK);
}

static inline void run(fixture *f, int64_t batch, sdx_memory_info *memory) {
    set_input(f, batch);
    assert_int_equal(sdx_context_run(f->context, &f->error), SDX_STATUS_OK);
    *memory = (sdx_memory_info){.struct_size = sizeof *memory};
    sdx_context_get_memory(f->context, memory);
}

static inline void check_same(const fixture *f, const float *y, const float *z, int64_t batch) {
    const sdx_tensor *a = sdx_context_output(f->context, 0), *b = sdx_context_output(f->context, 1);
    assert_non_null(a);
    assert_non_null(b);
    assert_int_equal(a->rank, 3);
    assert_int_equal(a->dims[0], batch);
    assert_int_equal(a->count, batch * 20);
    assert_int_equal(b->dims[0], batch);
    assert_memory_equal(a->data, y, a->count * sizeof(float));
    assert_memory_equal(b->data, z, b->count * sizeof(float));
}

#endif
