/* test_slice.c - batches in slices: the same bits as whole, memory that does not grow, sizes that
 * alternate, and the reasons why samples may not be taken apart. */
#include "slice_fixture.h"

/* ---- results ------------------------------------------------------------------------------ */

static void slices_give_the_same_bits(void **state) {
    (void)state;
    static float y[MOST * 20], z[MOST * 4];
    fixture f = {0};
    sdx_memory_info memory, whole;
    good_model(&f.bytes);
    load(&f, SDX_SLICE_OFF, 1);
    run(&f, MOST, &whole);
    assert_int_equal(whole.slice, 0);
    assert_int_equal(whole.output_bytes, 0);
    memcpy(y, sdx_context_output(f.context, 0)->data, sizeof y);
    memcpy(z, sdx_context_output(f.context, 1)->data, sizeof z);
    for (int64_t slice = 1; slice <= 7; slice += 2) {
        drop_program(&f);
        make_program(&f, slice, 1);
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
    load(&f, 2, 1);
    sdx_context_release(f.context);
    sdx_program_release(f.program);
    const sdx_binding fixed = {"batch", 6};
    sdx_program_options options = {.struct_size = sizeof options, .optimize = 3, .slice = 2,
                                   .fixed = &fixed, .fixed_count = 1};
    assert_int_equal(sdx_program_create(f.model, &options, &f.program, &f.error), SDX_STATUS_OK);
    sdx_context_options one = {.struct_size = sizeof one, .threads = 1};
    assert_int_equal(sdx_context_create(f.program, &one, &f.context, &f.error), SDX_STATUS_OK);
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
    load(&f, 0, 1);
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
    load(&f, 1, 1);
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
    load(&f, 1, 1);
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
