/* test_run.c - programs and contexts: results, rebinding, memory that stays, no allocation in a
 * steady run, the caller's arena, limits, cancelling, and one program shared by threads. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <cmocka.h>

#include "sardonyx.h"
#include "tiny_model.h"

/* ---- an allocator that counts ------------------------------------------------------------- */

typedef struct counter {
    atomic_size_t calls, live_bytes;
} counter;

static void *counting_allocate(void *user, size_t size, size_t alignment) {
    counter *c = user;
    atomic_fetch_add(&c->calls, 1);
    atomic_fetch_add(&c->live_bytes, size);
    return sdx_default_allocator.allocate(NULL, size, alignment);
}

static void counting_release(void *user, void *memory, size_t size) {
    counter *c = user;
    if (memory) atomic_fetch_sub(&c->live_bytes, size);
    sdx_default_allocator.release(NULL, memory, size);
}

/* ---- models ------------------------------------------------------------------------------- */

/* y = relu(x + 1) * x, four steps with a view in the middle; any batch. */
static void chain_model(tiny_model *m) {
    const float one[1] = {1};
    const int64_t shape[2] = {-1, 6};
    tiny_begin(m, 17);
    tiny_value(m, 11, "x", 1, "batch,2,3");
    tiny_constant(m, "one", 1, 1, one, sizeof one);
    tiny_constant(m, "shape", 7, 2, shape, sizeof shape);
    tiny_node(m, "Add", "x,one", "a");
    tiny_node(m, "Relu", "a", "b");
    tiny_node(m, "Mul", "b,x", "c");
    tiny_node(m, "Reshape", "c,shape", "y");
    tiny_value(m, 12, "y", 1, "");
    tiny_end(m);
}

typedef struct fixture {
    tiny_model bytes;
    sdx_model *model;
    sdx_program *program;
    sdx_context *context;
    sdx_error error;
} fixture;

static void load(fixture *f, const sdx_allocator *allocator, const sdx_limits *limits) {
    sdx_load_options options = {.struct_size = sizeof options, .allocator = allocator,
                                .limits = limits};
    assert_false(f->bytes.out.failed);
    sdx_status status = sdx_model_load_memory(f->bytes.out.data, f->bytes.out.size, &options,
                                              &f->model, &f->error);
    if (status != SDX_STATUS_OK) print_message("%s\n", f->error.message);
    assert_int_equal(status, SDX_STATUS_OK);
    assert_int_equal(sdx_program_create(f->model, NULL, &f->program, &f->error), SDX_STATUS_OK);
}

static void unload(fixture *f) {
    sdx_context_release(f->context);
    sdx_program_release(f->program);
    sdx_model_release(f->model);
    tiny_free(&f->bytes);
}

static sdx_status run_batch(sdx_context *context, int64_t batch, float *data, sdx_error *error) {
    const int64_t dims[3] = {batch, 2, 3};
    sdx_tensor x;
    sdx_status status = sdx_tensor_init(&x, SDX_DTYPE_FLOAT32, 3, dims, data, error);
    if (status == SDX_STATUS_OK) status = sdx_context_set_input(context, 0, &x, error);
    return status == SDX_STATUS_OK ? sdx_context_run(context, error) : status;
}

static void check_chain(const sdx_context *context, int64_t batch, const float *data) {
    const sdx_tensor *y = sdx_context_output(context, 0);
    assert_non_null(y);
    assert_int_equal(y->rank, 2);
    assert_int_equal(y->dims[0], batch);
    assert_int_equal(y->dims[1], 6);
    for (size_t i = 0; i < y->count; i++) {
        float a = data[i] + 1, want = (a > 0 ? a : 0) * data[i];
        assert_true(((const float *)y->data)[i] == want);
    }
}

static float *ramp(size_t count) {
    float *data = malloc(count * sizeof *data);
    assert_non_null(data);
    for (size_t i = 0; i < count; i++) data[i] = (float)i * 0.25f - 3;
    return data;
}

/* ---- tests -------------------------------------------------------------------------------- */

static void batches_alternate(void **state) {
    (void)state;
    fixture f = {0};
    chain_model(&f.bytes);
    load(&f, NULL, NULL);
    assert_int_equal(sdx_context_create(f.program, NULL, &f.context, &f.error), SDX_STATUS_OK);
    float *data = ramp(64 * 6);
    const int64_t batches[] = {1, 64, 3, 64, 1, 7, 0, 5};
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        assert_int_equal(run_batch(f.context, batches[i], data, &f.error), SDX_STATUS_OK);
        check_chain(f.context, batches[i], data);
        sdx_memory_info memory = {.struct_size = sizeof memory};
        sdx_context_get_memory(f.context, &memory);
        assert_int_equal(memory.arena_used, memory.arena_bytes);
        assert_true(memory.arena_bytes <= memory.naive_bytes);
        assert_int_equal(memory.heap_peak, 0);
    }
    free(data);
    unload(&f);
}

static void steady_runs_allocate_nothing(void **state) {
    (void)state;
    counter count = {0};
    sdx_allocator allocator = {&count, counting_allocate, counting_release};
    fixture f = {0};
    chain_model(&f.bytes);
    load(&f, &allocator, NULL);
    assert_int_equal(sdx_context_create(f.program, NULL, &f.context, &f.error), SDX_STATUS_OK);
    float *data = ramp(60);
    assert_int_equal(run_batch(f.context, 10, data, &f.error), SDX_STATUS_OK);
    size_t calls = atomic_load(&count.calls);
    for (int64_t batch = 10; batch >= 1; batch--)
        assert_int_equal(run_batch(f.context, batch, data, &f.error), SDX_STATUS_OK);
    assert_int_equal(atomic_load(&count.calls), calls);
    free(data);
    unload(&f);
    assert_int_equal(atomic_load(&count.live_bytes), 0);
}

static void callers_arena_is_used(void **state) {
    (void)state;
    static _Alignas(64) char arena[4096];
    fixture f = {0};
    chain_model(&f.bytes);
    load(&f, NULL, NULL);
    sdx_context_options options = {.struct_size = sizeof options, .arena = arena,
                                   .arena_size = sizeof arena};
    assert_int_equal(sdx_context_create(f.program, &options, &f.context, &f.error), SDX_STATUS_OK);
    float *data = ramp(6000);
    assert_int_equal(run_batch(f.context, 4, data, &f.error), SDX_STATUS_OK);
    const char *y = sdx_context_output(f.context, 0)->data;
    assert_true(y >= arena && y < arena + sizeof arena);
    assert_int_equal(run_batch(f.context, 1000, data, &f.error), SDX_STATUS_LIMIT);
    assert_non_null(strstr(f.error.message, "4096"));
    assert_null(sdx_context_output(f.context, 0));
    assert_int_equal(run_batch(f.context, 4, data, &f.error), SDX_STATUS_OK);
    check_chain(f.context, 4, data);
    sdx_context_release(f.context);
    options.arena = arena + 1;
    assert_int_equal(sdx_context_create(f.program, &options, &f.context, &f.error),
                     SDX_STATUS_INVALID_ARGUMENT);
    free(data);
    unload(&f);
}

/* To the byte: what the plan needs is enough, one less is not. */
static void callers_arena_must_be_large_enough(void **state) {
    (void)state;
    static _Alignas(64) char arena[4096];
    fixture f = {0};
    chain_model(&f.bytes);
    load(&f, NULL, NULL);
    float *data = ramp(24);
    sdx_memory_info info = {.struct_size = sizeof info};
    assert_int_equal(sdx_context_create(f.program, NULL, &f.context, &f.error), SDX_STATUS_OK);
    assert_int_equal(run_batch(f.context, 4, data, &f.error), SDX_STATUS_OK);
    sdx_context_get_memory(f.context, &info);
    assert_true(info.arena_bytes > 0 && info.arena_bytes < sizeof arena);
    for (size_t less = 0; less < 2; less++) {
        sdx_context_release(f.context);
        sdx_context_options options = {.struct_size = sizeof options, .arena = arena,
                                       .arena_size = info.arena_bytes - less};
        assert_int_equal(sdx_context_create(f.program, &options, &f.context, &f.error),
                         SDX_STATUS_OK);
        assert_int_equal(run_batch(f.context, 4, data, &f.error),
                         less ? SDX_STATUS_LIMIT : SDX_STATUS_OK);
    }
    free(data);
    unload(&f);
}

static void memory_limit_holds(void **state) {
    (void)state;
    fixture f = {0};
    sdx_limits limits = {.struct_size = sizeof limits, .max_memory = 1 << 20};
    chain_model(&f.bytes);
    load(&f, NULL, &limits);
    assert_int_equal(sdx_context_create(f.program, NULL, &f.context, &f.error), SDX_STATUS_OK);
    float *data = ramp(100000 * 6);
    assert_int_equal(run_batch(f.context, 100000, data, &f.error), SDX_STATUS_LIMIT);
    assert_int_equal(run_batch(f.context, 100, data, &f.error), SDX_STATUS_OK);
    free(data);
    unload(&f);
}

/* Each intermediate fits the limit; those that live at once do not, by a byte. */
static void memory_limit_holds_for_the_sum(void **state) {
    (void)state;
    fixture f = {0};
    tiny_begin(&f.bytes, 17);
    tiny_value(&f.bytes, 11, "x", 1, "batch,2,3");
    tiny_node(&f.bytes, "Softmax", "x", "a");
    tiny_node(&f.bytes, "Softmax", "a", "b");
    tiny_node(&f.bytes, "Add", "a,b", "y");
    tiny_value(&f.bytes, 12, "y", 1, "");
    tiny_end(&f.bytes);
    load(&f, NULL, NULL);
    sdx_memory_info info = {.struct_size = sizeof info};
    assert_int_equal(sdx_context_create(f.program, NULL, &f.context, &f.error), SDX_STATUS_OK);
    float *data = ramp(6000 * 6);
    assert_int_equal(run_batch(f.context, 6000, data, &f.error), SDX_STATUS_OK);
    sdx_context_get_memory(f.context, &info);
    sdx_context_release(f.context);
    sdx_limits limits = {.struct_size = sizeof limits, .max_memory = info.arena_bytes - 1};
    sdx_context_options options = {.struct_size = sizeof options, .limits = &limits};
    assert_int_equal(sdx_context_create(f.program, &options, &f.context, &f.error), SDX_STATUS_OK);
    assert_int_equal(run_batch(f.context, 6000, data, &f.error), SDX_STATUS_LIMIT);
    if (!strstr(f.error.message, "the intermediates need")) fail_msg("%s", f.error.message);
    free(data);
    unload(&f);
}

static void wrong_inputs_are_named(void **state) {
    (void)state;
    fixture f = {0};
    chain_model(&f.bytes);
    load(&f, NULL, NULL);
    assert_int_equal(sdx_context_create(f.program, NULL, &f.context, &f.error), SDX_STATUS_OK);
    assert_int_equal(sdx_context_run(f.context, &f.error), SDX_STATUS_BAD_INPUT);
    assert_non_null(strstr(f.error.message, "'x' is not set"));
    float data[12] = {0};
    sdx_tensor x;
    const int64_t wrong[3] = {1, 3, 3};
    sdx_tensor_init(&x, SDX_DTYPE_FLOAT32, 3, wrong, data, NULL);
    assert_int_equal(sdx_context_set_input(f.context, 0, &x, &f.error), SDX_STATUS_OK);
    assert_int_equal(sdx_context_run(f.context, &f.error), SDX_STATUS_BAD_INPUT);
    assert_non_null(strstr(f.error.message, "size 3 in dimension 1, the model expects 2"));
    sdx_tensor_init(&x, SDX_DTYPE_INT32, 3, wrong, data, NULL);
    assert_int_equal(sdx_context_set_input(f.context, 0, &x, &f.error), SDX_STATUS_BAD_INPUT);
    assert_non_null(strstr(f.error.message, "int32"));
    assert_int_equal(sdx_context_set_input(f.context, 1, &x, &f.error),
                     SDX_STATUS_INVALID_ARGUMENT);
    unload(&f);
}

static void cancel_stops_one_run(void **state) {
    (void)state;
    fixture f = {0};
    chain_model(&f.bytes);
    load(&f, NULL, NULL);
    assert_int_equal(sdx_context_create(f.program, NULL, &f.context, &f.error), SDX_STATUS_OK);
    float *data = ramp(12);
    sdx_context_cancel(f.context);
    assert_int_equal(run_batch(f.context, 2, data, &f.error), SDX_STATUS_CANCELLED);
    assert_int_equal(run_batch(f.context, 2, data, &f.error), SDX_STATUS_OK);
    check_chain(f.context, 2, data);
    free(data);
    unload(&f);
}

static void count_values(void *user, uint32_t value, const sdx_tensor *tensor) {
    (void)value, (void)tensor;
    ++*(size_t *)user;
}

/* Not even the first step is begun, whose body may be one that nothing stops. */
static void cancelled_before_it_begins(void **state) {
    (void)state;
    fixture f = {0};
    chain_model(&f.bytes);
    load(&f, NULL, NULL);
    size_t made = 0;
    const sdx_context_options options = {.struct_size = sizeof options, .observe = count_values, .observe_user = &made};
    assert_int_equal(sdx_context_create(f.program, &options, &f.context, &f.error), SDX_STATUS_OK);
    float *data = ramp(12);
    sdx_context_cancel(f.context);
    assert_int_equal(run_batch(f.context, 2, data, &f.error), SDX_STATUS_CANCELLED);
    assert_int_equal(made, 0);
    assert_int_equal(run_batch(f.context, 2, data, &f.error), SDX_STATUS_OK);
    assert_true(made > 0);
    free(data);
    unload(&f);
}

static void *run_often(void *arg) {
    const sdx_program *program = arg;
    sdx_error error;
    sdx_context *context;
    float *data = ramp(32 * 6);
    if (sdx_context_create(program, NULL, &context, &error) != SDX_STATUS_OK) return arg;
    bool good = true;
    for (int64_t i = 0; good && i < 200; i++) {
        good = run_batch(context, i % 32 + 1, data, &error) == SDX_STATUS_OK;
        const sdx_tensor *y = sdx_context_output(context, 0);
        for (size_t k = 0; good && k < y->count; k++) {
            float a = data[k] + 1;
            good = ((const float *)y->data)[k] == (a > 0 ? a : 0) * data[k];
        }
    }
    sdx_context_release(context);
    free(data);
    return good ? NULL : arg;
}

static void threads_share_a_program(void **state) {
    (void)state;
    fixture f = {0};
    chain_model(&f.bytes);
    load(&f, NULL, NULL);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_often, f.program), 0);
    for (int i = 0; i < 4; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    unload(&f);
}

/* The shape of NonZero's output depends on data: heap values, then fixed ones behind them. */
static void data_dependent_shapes(void **state) {
    (void)state;
    fixture f = {0};
    tiny_begin(&f.bytes, 17);
    tiny_value(&f.bytes, 11, "x", 1, "n");
    tiny_node(&f.bytes, "NonZero", "x", "where");
    tiny_node(&f.bytes, "Transpose", "where", "rows");
    tiny_node(&f.bytes, "GatherND", "x,rows", "y");
    tiny_value(&f.bytes, 12, "y", 1, "k");
    tiny_end(&f.bytes);
    load(&f, NULL, NULL);
    assert_int_equal(sdx_context_create(f.program, NULL, &f.context, &f.error), SDX_STATUS_OK);
    float data[5] = {0, 3, 0, -2, 5};
    const int64_t dims[1] = {5};
    sdx_tensor x;
    sdx_tensor_init(&x, SDX_DTYPE_FLOAT32, 1, dims, data, NULL);
    for (int round = 0; round < 3; round++) {
        assert_int_equal(sdx_context_set_input(f.context, 0, &x, &f.error), SDX_STATUS_OK);
        assert_int_equal(sdx_context_run(f.context, &f.error), SDX_STATUS_OK);
        const sdx_tensor *y = sdx_context_output(f.context, 0);
        assert_int_equal(y->count, 3 - (size_t)round);
        data[round == 0 ? 1 : 3] = 0;
    }
    sdx_memory_info memory = {.struct_size = sizeof memory};
    sdx_context_get_memory(f.context, &memory);
    assert_true(memory.heap_peak > 0);
    unload(&f);
}

/* A table cut to the length of the input and added to it, as position embeddings are: what they are
 * broadcast to is the input's length, and a longer input than the table is refused. */
static void table_is_cut_to_the_input(void **state) {
    (void)state;
    const float table[3] = {10, 20, 30};
    const int64_t zero[1] = {0};
    fixture f = {0};
    tiny_begin(&f.bytes, 17);
    tiny_value(&f.bytes, 11, "x", 1, "n");
    tiny_constant(&f.bytes, "table", 1, 3, table, sizeof table);
    tiny_constant(&f.bytes, "zero", 7, 1, zero, sizeof zero);
    tiny_node(&f.bytes, "Shape", "x", "length");
    tiny_node(&f.bytes, "Slice", "table,zero,length", "part");
    tiny_node(&f.bytes, "Add", "part,x", "y");
    tiny_value(&f.bytes, 12, "y", 1, "");
    tiny_end(&f.bytes);
    load(&f, NULL, NULL);
    char text[64];
    sdx_model_type_text(f.model, sdx_model_output(f.model, 0), text, sizeof text);
    assert_string_equal(text, "float32[n]");
    assert_int_equal(sdx_context_create(f.program, NULL, &f.context, &f.error), SDX_STATUS_OK);
    float data[4] = {1, 2, 3, 4};
    for (int64_t n = 0; n <= 4; n++) {
        sdx_tensor x;
        sdx_tensor_init(&x, SDX_DTYPE_FLOAT32, 1, &n, data, NULL);
        assert_int_equal(sdx_context_set_input(f.context, 0, &x, &f.error), SDX_STATUS_OK);
        sdx_status status = sdx_context_run(f.context, &f.error);
        assert_int_equal(status, n <= 3 ? SDX_STATUS_OK : SDX_STATUS_BAD_INPUT);
        const sdx_tensor *y = sdx_context_output(f.context, 0);
        for (int64_t i = 0; n <= 3 && i < n; i++)
            assert_true(((const float *)y->data)[i] == table[i] + data[i]);
    }
    assert_non_null(strstr(f.error.message, "3 and 4 differ"));
    unload(&f);
}

/* A complex number of eight bytes is aligned like its halves; UBSan sees whoever wants more. */
static void complex_numbers_lie_at_four_bytes(void **state) {
    (void)state;
    fixture f = {0};
    tiny_begin(&f.bytes, 17);
    tiny_value(&f.bytes, 11, "c", 9, "3");
    tiny_value(&f.bytes, 11, "x", 14, "3");
    tiny_value(&f.bytes, 11, "y", 14, "1");
    tiny_node(&f.bytes, "Where", "c,x,y", "z");
    tiny_value(&f.bytes, 12, "z", 14, "");
    tiny_end(&f.bytes);
    load(&f, NULL, NULL);
    assert_int_equal(sdx_context_create(f.program, NULL, &f.context, &f.error), SDX_STATUS_OK);
    static _Alignas(8) float x[7] = {0, 1, 2, 3, 4, 5, 6}, y[3] = {0, 7, 8};
    bool c[3] = {true, false, true};
    const struct {
        sdx_dtype dtype;
        int64_t count;
        void *data;
    } inputs[3] = {{SDX_DTYPE_BOOL, 3, c}, {SDX_DTYPE_COMPLEX64, 3, x + 1},
                   {SDX_DTYPE_COMPLEX64, 1, y + 1}};
    for (size_t i = 0; i < 3; i++) {
        sdx_tensor tensor;
        assert_int_equal(sdx_tensor_init(&tensor, inputs[i].dtype, 1, &inputs[i].count,
                                         inputs[i].data, &f.error), SDX_STATUS_OK);
        assert_int_equal(sdx_context_set_input(f.context, i, &tensor, &f.error), SDX_STATUS_OK);
    }
    assert_int_equal(sdx_context_run(f.context, &f.error), SDX_STATUS_OK);
    const float want[6] = {1, 2, 7, 8, 5, 6};
    assert_memory_equal(sdx_context_output(f.context, 0)->data, want, sizeof want);
    unload(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_alternate),
        cmocka_unit_test(steady_runs_allocate_nothing),
        cmocka_unit_test(callers_arena_is_used),
        cmocka_unit_test(callers_arena_must_be_large_enough),
        cmocka_unit_test(memory_limit_holds),
        cmocka_unit_test(memory_limit_holds_for_the_sum),
        cmocka_unit_test(wrong_inputs_are_named),
        cmocka_unit_test(cancel_stops_one_run),
        cmocka_unit_test(cancelled_before_it_begins),
        cmocka_unit_test(threads_share_a_program),
        cmocka_unit_test(data_dependent_shapes),
        cmocka_unit_test(table_is_cut_to_the_input),
        cmocka_unit_test(complex_numbers_lie_at_four_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
