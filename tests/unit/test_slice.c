/* test_slice.c - batches in slices: the same bits as whole, memory that does not grow, sizes that
 * alternate, and the reasons why samples may not be taken apart. */
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
static void good_model(tiny_model *m) {
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

static void make_program(fixture *f, int64_t slice) {
    sdx_program_options options = {.struct_size = sizeof options, .optimize = 3, .slice = slice};
    assert_int_equal(sdx_program_create(f->model, &options, &f->program, &f->error), SDX_STATUS_OK);
    assert_int_equal(sdx_context_create(f->program, NULL, &f->context, &f->error), SDX_STATUS_OK);
}

static void load(fixture *f, int64_t slice) {
    assert_false(f->bytes.out.failed);
    sdx_status status =
        sdx_model_load_memory(f->bytes.out.data, f->bytes.out.size, NULL, &f->model, &f->error);
    if (status != SDX_STATUS_OK) print_message("%s\n", f->error.message);
    assert_int_equal(status, SDX_STATUS_OK);
    make_program(f, slice);
}

static void drop_program(fixture *f) {
    sdx_context_release(f->context);
    sdx_program_release(f->program);
}

static void unload(fixture *f) {
    drop_program(f);
    sdx_model_release(f->model);
    tiny_free(&f->bytes);
}

static void run(fixture *f, int64_t batch, sdx_memory_info *memory) {
    static float data[MOST * 24];
    for (size_t i = 0; i < MOST * 24; i++) data[i] = (float)(i * 37 % 101) * 0.02f - 1;
    const int64_t dims[3] = {batch, 4, 6};
    sdx_tensor x;
    assert_int_equal(sdx_tensor_init(&x, SDX_DTYPE_FLOAT32, 3, dims, data, NULL), SDX_STATUS_OK);
    assert_int_equal(sdx_context_set_input(f->context, 0, &x, &f->error), SDX_STATUS_OK);
    assert_int_equal(sdx_context_run(f->context, &f->error), SDX_STATUS_OK);
    *memory = (sdx_memory_info){.struct_size = sizeof *memory};
    sdx_context_get_memory(f->context, memory);
}

/* ---- results ------------------------------------------------------------------------------ */

static void check_same(const fixture *f, const float *y, const float *z, int64_t batch) {
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

static void slices_give_the_same_bits(void **state) {
    (void)state;
    static float y[MOST * 20], z[MOST * 4];
    fixture f = {0};
    sdx_memory_info memory, whole;
    good_model(&f.bytes);
    load(&f, SDX_SLICE_OFF);
    run(&f, MOST, &whole);
    assert_int_equal(whole.slice, 0);
    assert_int_equal(whole.output_bytes, 0);
    memcpy(y, sdx_context_output(f.context, 0)->data, sizeof y);
    memcpy(z, sdx_context_output(f.context, 1)->data, sizeof z);
    for (int64_t slice = 1; slice <= 7; slice += 2) {
        drop_program(&f);
        make_program(&f, slice);
        const int64_t batches[] = {MOST, 1, 7, MOST, slice, slice + 1, 2 * slice, 13, MOST};
        size_t arena = 0;
        for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
            run(&f, batches[i], &memory);
            check_same(&f, y, z, batches[i]);
            assert_true(memory.slice <= (uint64_t)slice);
            assert_int_equal(memory.arena_used, memory.arena_bytes);
            assert_int_equal(memory.slice > 0, batches[i] > slice);
            if (memory.arena_bytes > arena) arena = memory.arena_bytes;
        }
        assert_true(arena < whole.arena_bytes);
    }
    unload(&f);
}

/* A batch that is declared fixed is compared as a whole. */
static void fixed_batches(void **state) {
    (void)state;
    fixture f = {0};
    good_model(&f.bytes);
    load(&f, 2);
    sdx_context_release(f.context);
    sdx_program_release(f.program);
    const sdx_binding fixed = {"batch", 6};
    sdx_program_options options = {.struct_size = sizeof options, .optimize = 3, .slice = 2,
                                   .fixed = &fixed, .fixed_count = 1};
    assert_int_equal(sdx_program_create(f.model, &options, &f.program, &f.error), SDX_STATUS_OK);
    assert_int_equal(sdx_context_create(f.program, NULL, &f.context, &f.error), SDX_STATUS_OK);
    sdx_memory_info memory;
    run(&f, 6, &memory);
    assert_int_equal(memory.slice, 2);
    assert_int_equal(sdx_context_output(f.context, 0)->dims[0], 6);
    static float data[24 * 7];
    const int64_t dims[3] = {7, 4, 6};
    sdx_tensor x;
    sdx_tensor_init(&x, SDX_DTYPE_FLOAT32, 3, dims, data, NULL);
    assert_int_equal(sdx_context_set_input(f.context, 0, &x, &f.error), SDX_STATUS_OK);
    assert_int_equal(sdx_context_run(f.context, &f.error), SDX_STATUS_BAD_INPUT);
    assert_non_null(strstr(f.error.message, "made for 6 alone"));
    /* Planned without a run: the arena of a slice. */
    sdx_memory_info planned = {.struct_size = sizeof planned};
    assert_int_equal(sdx_context_bind_dims(f.context, &fixed, 1, &f.error), SDX_STATUS_OK);
    sdx_context_get_memory(f.context, &planned);
    assert_int_equal(planned.slice, 2);
    assert_int_equal(planned.arena_bytes, memory.arena_bytes);
    unload(&f);
}

static void option_is_checked(void **state) {
    (void)state;
    fixture f = {0};
    good_model(&f.bytes);
    load(&f, 0);
    sdx_program *program = NULL;
    sdx_program_options options = {.struct_size = sizeof options, .optimize = 3, .slice = -2};
    assert_int_equal(sdx_program_create(f.model, &options, &program, &f.error),
                     SDX_STATUS_INVALID_ARGUMENT);
    unload(&f);
}

/* ---- reasons ------------------------------------------------------------------------------- */

/* One node between x [batch,4,6] and y; constants: zero, shape, good. */
static void check_reason(const char *op, const char *inputs, const char *output, const char *reason) {
    fixture f = {0};
    const int64_t zero[1] = {0}, shape[2] = {6, -1}, good[2] = {-1, 6};
    tiny_begin(&f.bytes, 18);
    tiny_value(&f.bytes, 11, "x", 1, "batch,4,6");
    tiny_constant(&f.bytes, "zero", 7, 1, zero, sizeof zero);
    tiny_constant(&f.bytes, "shape", 7, 2, shape, sizeof shape);
    tiny_constant(&f.bytes, "good", 7, 2, good, sizeof good);
    tiny_node(&f.bytes, op, inputs, output);
    tiny_value(&f.bytes, 12, output, 1, "");
    tiny_end(&f.bytes);
    load(&f, 1);
    sdx_slice_info info = {.struct_size = sizeof info};
    sdx_program_get_slice(f.program, &info);
    if (reason) {
        assert_null(info.symbol);
        if (!strstr(info.reason, reason)) fail_msg("%s: %s", op, info.reason);
        assert_int_equal(info.node, 0);
    } else {
        if (!info.symbol) fail_msg("%s: %s", op, info.reason);
        assert_string_equal(info.symbol, "batch");
        assert_string_equal(info.reason, "");
        assert_int_equal(info.size, 1);
    }
    unload(&f);
}

static void reasons(void **state) {
    (void)state;
    check_reason("Relu", "x", "y", NULL);
    check_reason("Reshape", "x,good", "y", NULL);
    check_reason("Reshape", "x,shape", "y", "(Reshape)");
    check_reason("ReduceMean", "x,zero", "y", "(ReduceMean): it reduces the samples to one");
    check_reason("CumSum", "x,zero", "y", "(CumSum): nothing says");
    check_reason("Gather", "x,zero", "y", "(Gather): it works across the samples");
    check_reason("Unique", "x", "y", "(Unique): its shape depends on data");
}

/* Outputs that the samples do not stand first in. */
static void outputs_first(void **state) {
    (void)state;
    fixture f = {0};
    tiny_begin(&f.bytes, 18);
    tiny_value(&f.bytes, 11, "x", 1, "batch,4,6");
    tiny_node(&f.bytes, "Transpose", "x", "y");
    tiny_value(&f.bytes, 12, "y", 1, "");
    tiny_end(&f.bytes);
    load(&f, 1);
    sdx_slice_info info = {.struct_size = sizeof info};
    sdx_program_get_slice(f.program, &info);
    assert_null(info.symbol);
    assert_non_null(strstr(info.reason, "output 'y'"));
    unload(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_give_the_same_bits),
        cmocka_unit_test(fixed_batches),
        cmocka_unit_test(option_is_checked),
        cmocka_unit_test(reasons),
        cmocka_unit_test(outputs_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
