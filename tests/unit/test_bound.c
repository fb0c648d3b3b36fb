/* test_bound.c - bindings that a context keeps: sizes that come in turn, more of them than are kept, whole and
 * in slices, while inputs and arena move and runs fail in between, give the bits of contexts that have
 * known no other sizes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "sardonyx.h"
#include "tiny_model.h"

enum { MOST_BATCH = 9, MOST_ROWS = 7, MOST = MOST_BATCH * (MOST_ROWS + 1) * 6, OUTPUTS = 4 };

/* y = softmax(relu(x) beside p), twice as many rows and one; z = its largest; v = x as rows, which lies where
 * the caller's x does; u = v + v. */
static void model(tiny_model *m) {
    const int64_t shape[2] = {-1, 6}, axes[1] = {2};
    tiny_begin(m, 18);
    tiny_value(m, 11, "x", 1, "batch,rows,6");
    tiny_value(m, 11, "p", 1, "batch,rows + 1,6");
    tiny_constant(m, "shape", 7, 2, shape, sizeof shape);
    tiny_constant(m, "axes", 7, 1, axes, sizeof axes);
    tiny_node(m, "Relu", "x", "a");
    tiny_node(m, "Sigmoid", "p", "b");
    tiny_node_int(m, "Concat", "a,b", "c", "axis", 1);
    tiny_node(m, "Softmax", "c", "y");
    tiny_node(m, "ReduceMax", "c,axes", "z");
    tiny_node(m, "Reshape", "x,shape", "v");
    tiny_node(m, "Add", "v,v", "u");
    tiny_value(m, 12, "y", 1, "");
    tiny_value(m, 12, "z", 1, "");
    tiny_value(m, 12, "v", 1, "");
    tiny_value(m, 12, "u", 1, "");
    tiny_end(m);
}

typedef struct fixture {
    tiny_model bytes;
    sdx_model *model;
    sdx_program *program;
    sdx_error error;
    float data[2][MOST]; /* two places that inputs may lie in */
} fixture;

static fixture *load(int64_t slice) {
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    model(&f->bytes);
    assert_false(f->bytes.out.failed);
    assert_int_equal(sdx_model_load_memory(f->bytes.out.data, f->bytes.out.size, NULL, &f->model,
                                           &f->error), SDX_STATUS_OK);
    sdx_program_options options = {.struct_size = sizeof options, .optimize = 3, .slice = slice};
    assert_int_equal(sdx_program_create(f->model, &options, &f->program, &f->error), SDX_STATUS_OK);
    for (size_t i = 0; i < MOST; i++) {
        f->data[0][i] = (float)(i * 37 % 101) * 0.02f - 1;
        f->data[1][i] = (float)(i * 53 % 97) * 0.03f - 1;
    }
    return f;
}

static void unload(fixture *f) {
    sdx_program_release(f->program);
    sdx_model_release(f->model);
    tiny_free(&f->bytes);
    free(f);
}

static sdx_context *open(fixture *f, void *arena, size_t size) {
    sdx_context *context = NULL;
    sdx_context_options options = {.struct_size = sizeof options, .threads = 1, .arena = arena,
                                   .arena_size = size};
    assert_int_equal(sdx_context_create(f->program, &options, &context, &f->error), SDX_STATUS_OK);
    return context;
}

/* more: rows of p beyond those of x; the model wants 1. */
static sdx_status run(fixture *f, sdx_context *context, int64_t batch, int64_t rows, int64_t more,
                      size_t place) {
    const int64_t dims[3] = {batch, rows, 6}, past[3] = {batch, rows + more, 6};
    sdx_tensor x, p;
    assert_int_equal(sdx_tensor_init(&x, SDX_DTYPE_FLOAT32, 3, dims, f->data[place], NULL), 0);
    assert_int_equal(sdx_tensor_init(&p, SDX_DTYPE_FLOAT32, 3, past, f->data[!place], NULL), 0);
    assert_int_equal(sdx_context_set_input(context, 0, &x, &f->error), SDX_STATUS_OK);
    assert_int_equal(sdx_context_set_input(context, 1, &p, &f->error), SDX_STATUS_OK);
    return sdx_context_run(context, &f->error);
}

/* The same run in a context of its own. */
static void check(fixture *f, sdx_context *context, int64_t batch, int64_t rows, size_t place) {
    assert_int_equal(run(f, context, batch, rows, 1, place), SDX_STATUS_OK);
    sdx_context *fresh = open(f, NULL, 0);
    assert_int_equal(run(f, fresh, batch, rows, 1, place), SDX_STATUS_OK);
    for (size_t o = 0; o < OUTPUTS; o++) {
        const sdx_tensor *got = sdx_context_output(context, o), *want = sdx_context_output(fresh, o);
        assert_non_null(got);
        assert_non_null(want);
        assert_int_equal(got->rank, want->rank);
        assert_int_equal(got->count, want->count);
        for (int32_t i = 0; i < want->rank; i++) assert_int_equal(got->dims[i], want->dims[i]);
        assert_memory_equal(got->data, want->data, want->count * sizeof(float));
    }
    sdx_memory_info memory = {.struct_size = sizeof memory}, other = memory;
    sdx_context_get_memory(context, &memory);
    sdx_context_get_memory(fresh, &other);
    assert_int_equal(memory.arena_bytes, other.arena_bytes);
    assert_int_equal(memory.arena_used, other.arena_used);
    assert_int_equal(memory.naive_bytes, other.naive_bytes);
    assert_int_equal(memory.scratch_bytes, other.scratch_bytes);
    assert_int_equal(memory.slice, other.slice);
    sdx_context_release(fresh);
}

static uint32_t next(uint32_t *seed) { return (*seed = *seed * 1664525u + 1013904223u) >> 16; }

/* Small sizes first, so that the arena grows, and moves, while they are kept. Two sizes in turn, then four,
 * then as many as there are. */
static void sizes_in_turn(void **state) {
    (void)state;
    for (int64_t slice = -1; slice <= 3; slice++) {
        fixture *f = load(slice);
        sdx_slice_info info = {.struct_size = sizeof info};
        sdx_program_get_slice(f->program, &info);
        if (slice > 0 && !info.symbol) fail_msg("%s", info.reason);
        sdx_context *context = open(f, NULL, 0);
        static const int64_t some[][2] = {{1, 1}, {2, 1}, {1, 1}, {3, 4}, {9, 7}, {1, 1}, {2, 1},
                                          {3, 4}, {9, 7}, {9, 7}, {1, 1}, {0, 3}, {4, 0}, {3, 4}};
        for (size_t i = 0; i < sizeof some / sizeof *some; i++)
            check(f, context, some[i][0], some[i][1], i & 1);
        uint32_t seed = 7;
        for (size_t i = 0; i < 400; i++) {
            uint32_t kinds = i < 100 ? 2 : i < 200 ? 4 : 7;
            int64_t batch = next(&seed) % kinds + 1, rows = i < 200 ? 3 : next(&seed) % MOST_ROWS + 1;
            check(f, context, batch, rows, next(&seed) & 1);
        }
        sdx_context_release(context);
        unload(f);
    }
}

/* Symbols that are kept do not say that all inputs fit: p has a size of its own. What fails leaves the kept
 * ones as they were. */
static void wrong_inputs_in_between(void **state) {
    (void)state;
    for (int64_t slice = -1; slice <= 2; slice++) {
        fixture *f = load(slice);
        sdx_context *context = open(f, NULL, 0);
        for (int64_t round = 0; round < 3; round++)
            for (int64_t batch = 1; batch <= 6; batch++) {
                check(f, context, batch, 2, 0);
                assert_int_equal(run(f, context, batch, 2, 2, 0), SDX_STATUS_BAD_INPUT);
                assert_non_null(strstr(f->error.message, "rows + 1"));
                assert_null(sdx_context_output(context, 0));
                assert_int_equal(run(f, context, 7 - batch, 2, 0, 0), SDX_STATUS_BAD_INPUT);
                check(f, context, batch, 2, 1);
            }
        sdx_context_release(context);
        unload(f);
    }
}

/* Too large for the caller's arena, each time anew; and sizes asked for by name. */
static void arena_of_the_caller(void **state) {
    (void)state;
    static _Alignas(64) char arena[2048];
    fixture *f = load(SDX_SLICE_OFF);
    sdx_context *context = open(f, arena, sizeof arena);
    for (int64_t round = 0; round < 6; round++) {
        check(f, context, 1, 1, 0);
        assert_int_equal(run(f, context, 9, 7, 1, 0), SDX_STATUS_LIMIT);
        assert_non_null(strstr(f->error.message, "2048"));
        assert_null(sdx_context_output(context, 0));
        check(f, context, 1, 1 + round % 2, 1);
        const sdx_binding names[2] = {{"batch", round}, {"rows", 5}};
        assert_int_equal(sdx_context_bind_dims(context, names, 2, &f->error), SDX_STATUS_OK);
        assert_null(sdx_context_output(context, 0));
        assert_int_equal(sdx_context_bind_dims(context, names, 1, &f->error), SDX_STATUS_BAD_INPUT);
    }
    sdx_context_release(context);
    unload(f);
}

/* An allocator that refuses what is as large as an arena, when told to. */
static bool refusing;

static void *allocate(void *user, size_t size, size_t alignment) {
    (void)user;
    return refusing ? NULL : sdx_default_allocator.allocate(NULL, size, alignment);
}

static void release(void *user, void *memory, size_t size) {
    (void)user;
    sdx_default_allocator.release(NULL, memory, size);
}

/* The arena is gone when a larger one was refused; sizes that are kept get it back. */
static void refused_arena(void **state) {
    (void)state;
    const sdx_allocator allocator = {NULL, allocate, release};
    fixture *f = load(SDX_SLICE_OFF);
    sdx_context *context = NULL;
    sdx_context_options options = {.struct_size = sizeof options, .threads = 1,
                                   .allocator = &allocator};
    assert_int_equal(sdx_context_create(f->program, &options, &context, &f->error), SDX_STATUS_OK);
    for (int64_t batch = 1; batch <= 6; batch++) {
        check(f, context, batch, 3, 0);
        refusing = true;
        assert_int_equal(run(f, context, batch + 2, 6, 1, 0), SDX_STATUS_NO_MEMORY);
        assert_int_equal(run(f, context, batch, 3, 1, 0), SDX_STATUS_NO_MEMORY);
        refusing = false;
        check(f, context, batch, 3, 1);
        check(f, context, 1, 1, 1);
    }
    sdx_context_release(context);
    unload(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_in_turn),
        cmocka_unit_test(wrong_inputs_in_between),
        cmocka_unit_test(arena_of_the_caller),
        cmocka_unit_test(refused_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
