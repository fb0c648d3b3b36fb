/* test_memory.c - what a program saves: views, writing over inputs, Concat and Split without copies, the
 * order of the steps; with the same results, in the arena that the plan foretold, for any sizes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "sardonyx.h"
#include "tiny_model.h"

#define MOST 4096

typedef struct fixture {
    tiny_model bytes;
    sdx_model *model;
    sdx_program *program;
    sdx_context *context;
    sdx_error error;
    float out[MOST];
    size_t out_count;
    size_t live, most; /* bytes of the allocator */
    sdx_allocator counting;
} fixture;

static void *allocate(void *user, size_t size, size_t alignment) {
    fixture *f = user;
    f->live += size;
    if (f->live > f->most) f->most = f->live;
    return sdx_default_allocator.allocate(NULL, size, alignment);
}

static void release(void *user, void *memory, size_t size) {
    fixture *f = user;
    if (memory) f->live -= size;
    sdx_default_allocator.release(NULL, memory, size);
}

static void make(fixture *f, const sdx_program_options *options) {
    assert_false(f->bytes.out.failed);
    sdx_status status = sdx_model_load_memory(f->bytes.out.data, f->bytes.out.size, NULL, &f->model,
                                              &f->error);
    if (status == SDX_STATUS_OK)
        status = sdx_program_create(f->model, options, &f->program, &f->error);
    f->counting = (sdx_allocator){f, allocate, release};
    sdx_context_options context = {.struct_size = sizeof context, .threads = 1,
                                   .allocator = &f->counting};
    if (status == SDX_STATUS_OK)
        status = sdx_context_create(f->program, &context, &f->context, &f->error);
    if (status != SDX_STATUS_OK) print_message("%s\n", f->error.message);
    assert_int_equal(status, SDX_STATUS_OK);
}

static void drop(fixture *f) {
    sdx_context_release(f->context);
    sdx_program_release(f->program);
    sdx_model_release(f->model);
    assert_int_equal(f->live, 0);
}

/* Runs with x[i] = i / 8 of shape [rows, columns]; keeps output 0. */
static sdx_status run(fixture *f, int64_t rows, int64_t columns) {
    static float data[MOST];
    sdx_tensor x;
    const int64_t dims[2] = {rows, columns};
    assert_int_equal(sdx_tensor_init(&x, SDX_DTYPE_FLOAT32, 2, dims, data, NULL), SDX_STATUS_OK);
    assert_true(x.count <= MOST);
    for (size_t i = 0; i < x.count; i++) data[i] = (float)i / 8;
    sdx_status status = sdx_context_set_input(f->context, 0, &x, &f->error);
    if (status == SDX_STATUS_OK) status = sdx_context_run(f->context, &f->error);
    if (status != SDX_STATUS_OK) return status;
    const sdx_tensor *y = sdx_context_output(f->context, 0);
    assert_true(y->count <= MOST);
    memcpy(f->out, y->data, y->count * sizeof(float));
    f->out_count = y->count;
    return SDX_STATUS_OK;
}

static sdx_memory_info memory_of(const fixture *f) {
    sdx_memory_info info = {.struct_size = sizeof info};
    sdx_context_get_memory(f->context, &info);
    return info;
}

/* y = concat(-p, abs(q)) where p and q are the halves of tanh(x) by rows. */
static void halves_model(fixture *f) {
    *f = (fixture){0};
    tiny_begin(&f->bytes, 13);
    tiny_value(&f->bytes, 11, "x", 1, "2,columns");
    tiny_node(&f->bytes, "Tanh", "x", "a");
    tiny_node(&f->bytes, "Split", "a", "p,q");
    tiny_node(&f->bytes, "Neg", "p", "r");
    tiny_node(&f->bytes, "Abs", "q", "s");
    tiny_node_int(&f->bytes, "Concat", "r,s", "y", "axis", 0);
    tiny_value(&f->bytes, 12, "y", 1, "");
    tiny_end(&f->bytes);
}

static void savings_change_memory_only(void **state) {
    (void)state;
    static const struct {
        uint32_t off;
        size_t arena; /* in units of x */
    } cases[] = {
        /* a; y with r and s inside; p and q inside a */
        {0, 2},
        {SDX_MEMORY_NO_IN_PLACE, 2},
        /* while Concat runs: r, s, y */
        {SDX_MEMORY_NO_CONCAT | SDX_MEMORY_NO_IN_PLACE, 2},
        /* p and q copied, then written over */
        {SDX_MEMORY_NO_VIEWS | SDX_MEMORY_NO_CONCAT, 2},
        {SDX_MEMORY_NO_VIEWS | SDX_MEMORY_NO_CONCAT | SDX_MEMORY_NO_IN_PLACE, 2},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        fixture f;
        halves_model(&f);
        sdx_program_options options = {.struct_size = sizeof options, .optimize = 3,
                                       .memory = cases[c].off};
        make(&f, &options);
        assert_int_equal(run(&f, 2, 256), SDX_STATUS_OK);
        assert_int_equal(f.out_count, 512);
        for (size_t i = 0; i < 512; i++) {
            float a = tanhf((float)i / 8);
            assert_true(fabsf(f.out[i] - (i < 256 ? -a : a)) < 1e-6f);
        }
        assert_int_equal(memory_of(&f).arena_bytes, cases[c].arena * 512 * sizeof(float));
        assert_int_equal(memory_of(&f).arena_used, memory_of(&f).arena_bytes);
        drop(&f);
        tiny_free(&f.bytes);
    }
}

/* A chain of elementwise steps on x, each over the one before. */
static void written_over(void **state) {
    (void)state;
    for (int in_place = 0; in_place < 2; in_place++) {
        fixture f = {0};
        tiny_begin(&f.bytes, 17);
        tiny_value(&f.bytes, 11, "x", 1, "rows,columns");
        tiny_node(&f.bytes, "Sqrt", "x", "a");
        tiny_node(&f.bytes, "Neg", "a", "b");
        tiny_node(&f.bytes, "Mul", "b,b", "c"); /* twice the same input */
        tiny_node(&f.bytes, "Add", "c,x", "y");
        tiny_value(&f.bytes, 12, "y", 1, "");
        tiny_end(&f.bytes);
        sdx_program_options options = {.struct_size = sizeof options, .optimize = 3,
                                       .memory = in_place ? 0 : SDX_MEMORY_NO_IN_PLACE};
        make(&f, &options);
        assert_int_equal(run(&f, 4, 16), SDX_STATUS_OK);
        for (size_t i = 0; i < 64; i++) assert_true(fabsf(f.out[i] - (float)i / 4) < 1e-5f);
        assert_int_equal(memory_of(&f).arena_bytes, (in_place ? 1u : 2u) * 64 * sizeof(float));
        assert_int_equal(memory_of(&f).naive_bytes, 4 * 64 * sizeof(float));
        drop(&f);
        tiny_free(&f.bytes);
    }
}

/* b is read again after the step that could have written over it; and y is b seen otherwise. */
static void not_written_over(void **state) {
    (void)state;
    fixture f = {0};
    const int64_t shape[1] = {-1};
    tiny_begin(&f.bytes, 17);
    tiny_value(&f.bytes, 11, "x", 1, "rows,columns");
    tiny_constant(&f.bytes, "shape", 7, 1, shape, sizeof shape);
    tiny_node(&f.bytes, "Neg", "x", "b");
    tiny_node(&f.bytes, "Reshape", "b,shape", "y");
    tiny_node(&f.bytes, "Abs", "b", "z");
    tiny_value(&f.bytes, 12, "y", 1, "");
    tiny_value(&f.bytes, 12, "z", 1, "");
    tiny_end(&f.bytes);
    make(&f, NULL);
    assert_int_equal(run(&f, 4, 16), SDX_STATUS_OK);
    for (size_t i = 0; i < 64; i++) assert_true(f.out[i] == -(float)i / 8);
    const sdx_tensor *z = sdx_context_output(f.context, 1);
    for (size_t i = 0; i < 64; i++) assert_true(((const float *)z->data)[i] == (float)i / 8);
    drop(&f);
    tiny_free(&f.bytes);
}

/* The shape of v is data, so v is made during the run; it borrows the bytes of a, which the steps
 * behind must not take. */
static void borrowed_bytes_stay(void **state) {
    (void)state;
    fixture f = {0};
    tiny_begin(&f.bytes, 17);
    tiny_value(&f.bytes, 11, "x", 1, "rows,columns");
    tiny_value(&f.bytes, 11, "shape", 7, "1");
    tiny_node(&f.bytes, "Neg", "x", "a");
    tiny_node(&f.bytes, "Reshape", "a,shape", "v");
    tiny_node(&f.bytes, "Exp", "x", "b");
    tiny_node(&f.bytes, "Abs", "b", "c");
    tiny_node(&f.bytes, "Abs", "v", "y");
    tiny_value(&f.bytes, 12, "y", 1, "");
    tiny_value(&f.bytes, 12, "c", 1, "");
    tiny_end(&f.bytes);
    make(&f, NULL);
    const int64_t one[1] = {1}, all[1] = {64};
    sdx_tensor shape;
    sdx_tensor_init(&shape, SDX_DTYPE_INT64, 1, one, (void *)(uintptr_t)all, NULL);
    assert_int_equal(sdx_context_set_input(f.context, 1, &shape, &f.error), SDX_STATUS_OK);
    assert_int_equal(run(&f, 4, 16), SDX_STATUS_OK);
    for (size_t i = 0; i < 64; i++) assert_true(f.out[i] == (float)i / 8);
    drop(&f);
    tiny_free(&f.bytes);
}

/* y = -(-x + |z|): the sum may lie over either input where both have the same rows, which only the
 * sizes of a run tell; where one has a single row it must not. */
static void sizes_decide(void **state) {
    (void)state;
    static const struct {
        int64_t x_rows, z_rows;
        size_t units; /* of 16 floats, that the arena takes */
    } cases[] = {{4, 4, 8}, {4, 1, 5}, {1, 4, 9}, {1, 1, 2}, {6, 6, 12}, {0, 1, 1}, {4, 4, 8}};
    fixture f = {0};
    tiny_begin(&f.bytes, 17);
    tiny_value(&f.bytes, 11, "x", 1, "rows,columns");
    tiny_value(&f.bytes, 11, "z", 1, "others,columns");
    tiny_node(&f.bytes, "Neg", "x", "a");
    tiny_node(&f.bytes, "Abs", "z", "b");
    tiny_node(&f.bytes, "Add", "a,b", "c");
    tiny_node(&f.bytes, "Neg", "c", "y");
    tiny_value(&f.bytes, 12, "y", 1, "");
    tiny_end(&f.bytes);
    make(&f, NULL);
    float data[6 * 16];
    for (size_t i = 0; i < 6 * 16; i++) data[i] = -(float)(i * i);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        int64_t rows = cases[k].x_rows, others = cases[k].z_rows, dims[2] = {others, 16};
        sdx_tensor z;
        sdx_tensor_init(&z, SDX_DTYPE_FLOAT32, 2, dims, data, NULL);
        assert_int_equal(sdx_context_set_input(f.context, 1, &z, &f.error), SDX_STATUS_OK);
        assert_int_equal(run(&f, rows, 16), SDX_STATUS_OK);
        int64_t out_rows = rows == 1 ? others : rows;
        assert_int_equal(f.out_count, out_rows * 16);
        for (size_t i = 0; i < f.out_count; i++) {
            size_t j = rows == 1 ? i % 16 : i, m = others == 1 ? i % 16 : i;
            assert_true(f.out[i] == (float)j / 8 - (float)(m * m));
        }
        assert_int_equal(memory_of(&f).arena_bytes, cases[k].units * 16 * sizeof(float));
        assert_int_equal(memory_of(&f).arena_used, memory_of(&f).arena_bytes);
    }
    drop(&f);
    tiny_free(&f.bytes);
}

static void one_size_only(void **state) {
    (void)state;
    fixture f;
    halves_model(&f);
    const sdx_binding columns = {"columns", 256}, wrong = {"depth", 8};
    sdx_program_options options = {.struct_size = sizeof options, .optimize = 3, .fixed = &columns,
                                   .fixed_count = 1};
    make(&f, &options);
    assert_int_equal(run(&f, 2, 256), SDX_STATUS_OK);
    assert_int_equal(run(&f, 2, 192), SDX_STATUS_BAD_INPUT);
    assert_non_null(strstr(f.error.message, "'columns' is 192, the program was made for 256 alone"));
    assert_int_equal(run(&f, 2, 256), SDX_STATUS_OK);
    sdx_program *none;
    options.fixed = &wrong;
    assert_int_equal(sdx_program_create(f.model, &options, &none, &f.error),
                     SDX_STATUS_INVALID_ARGUMENT);
    options.fixed_count = 0;
    options.strategy = "no such";
    assert_int_equal(sdx_program_create(f.model, &options, &none, &f.error),
                     SDX_STATUS_INVALID_ARGUMENT);
    drop(&f);
    tiny_free(&f.bytes);
}

/* What was foretold, what the plan says and what a run uses; and memory that does not pile up. */
static void thousand_sizes(void **state) {
    (void)state;
    fixture f;
    halves_model(&f);
    make(&f, NULL);
    assert_int_equal(run(&f, 2, 1984), SDX_STATUS_OK);
    size_t largest = f.most, held = f.live;
    srand(3);
    for (int i = 0; i < 1000; i++) {
        int64_t columns = rand() % 1984;
        const sdx_binding binding = {"columns", columns};
        assert_int_equal(sdx_context_bind_dims(f.context, &binding, 1, &f.error), SDX_STATUS_OK);
        size_t foretold = memory_of(&f).arena_bytes;
        assert_int_equal(run(&f, 2, columns), SDX_STATUS_OK);
        assert_int_equal(memory_of(&f).arena_used, foretold);
        assert_int_equal(f.out_count, 2 * columns);
        if (columns) assert_true(fabsf(f.out[f.out_count - 1] -
                                    tanhf((float)(f.out_count - 1) / 8)) < 1e-6f);
        assert_int_equal(f.most, largest);
        assert_int_equal(f.live, held);
    }
    drop(&f);
    tiny_free(&f.bytes);
}

static void the_plan_can_be_read(void **state) {
    (void)state;
    fixture f;
    halves_model(&f);
    sdx_program_options options = {.struct_size = sizeof options, .optimize = 3,
                                   .memory = SDX_MEMORY_DESCRIBE};
    make(&f, &options);
    sdx_plan_problem *plan = NULL;
    assert_int_equal(sdx_context_get_plan(f.context, &plan, &f.error),
                     SDX_STATUS_INVALID_ARGUMENT);
    const sdx_binding binding = {"columns", 160};
    assert_int_equal(sdx_context_bind_dims(f.context, &binding, 1, &f.error), SDX_STATUS_OK);
    assert_int_equal(sdx_context_get_plan(f.context, &plan, &f.error), SDX_STATUS_OK);
    sdx_plan_options check = {.struct_size = sizeof check};
    sdx_plan_result result = {.struct_size = sizeof result};
    assert_int_equal(sdx_plan_problem_check(plan, &check, &result, &f.error), SDX_STATUS_OK);
    assert_int_equal(result.arena, memory_of(&f).arena_bytes);
    assert_int_equal(sdx_plan_problem_count(plan), sdx_program_buffer_count(f.program));
    size_t values = 0;
    for (size_t i = 0; i < sdx_program_buffer_count(f.program); i++) {
        sdx_buffer_info info = {.struct_size = sizeof info};
        char text[128];
        assert_int_equal(sdx_program_get_buffer(f.program, i, &info), SDX_STATUS_OK);
        values += info.value_count;
        sdx_program_buffer_text(f.program, i, SDX_BUFFER_SIZE, text, sizeof text);
        assert_string_equal(text, "((columns + 7)//8)*64");
        sdx_program_buffer_text(f.program, i, SDX_BUFFER_OFFSET, text, sizeof text);
        assert_true(strcmp(text, "0") == 0 || strcmp(text, "((columns + 7)//8)*64") == 0);
    }
    assert_int_equal(values, 6); /* a, p, q, r, s, y */
    sdx_program_order order = {.struct_size = sizeof order};
    sdx_program_get_order(f.program, &order);
    assert_true(order.proved && !order.changed);
    sdx_plan_problem_release(plan);
    drop(&f);
    tiny_free(&f.bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(savings_change_memory_only), cmocka_unit_test(written_over),
        cmocka_unit_test(not_written_over),           cmocka_unit_test(borrowed_bytes_stay),
        cmocka_unit_test(sizes_decide),               cmocka_unit_test(one_size_only),
        cmocka_unit_test(thousand_sizes),             cmocka_unit_test(the_plan_can_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
