/* test_shared_program.c - one program, several contexts with threads of their own, all running at once
 * while another thread cancels them: every run ends with the right bits or as cancelled, and the next one
 * is whole again. ThreadSanitizer watches it in tests/tsan. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "sardonyx.h"
#include "tiny_model.h"

enum { WIDTH = 64, ROWS = 96, LAYERS = 12, CONTEXTS = 8, RUNS = 30 };

typedef struct runner {
    const sdx_program *program;
    const float *input, *expected;
    sdx_context *context;
    pthread_t thread;
    atomic_int whole, cancelled;
    atomic_bool wrong, over;
} runner;

/* Products with a constant matrix, sums and activations: packed, with loops over threads. */
static sdx_program *make_program(tiny_model *m, sdx_model **model) {
    static float weights[WIDTH * WIDTH];
    const int64_t shape[2] = {WIDTH, WIDTH};
    sdx_program *program = NULL;
    sdx_error error;
    for (size_t i = 0; i < WIDTH * WIDTH; i++)
        weights[i] = ((float)(i * 2654435761u % 1024) / 1024.0f - 0.5f) / 4;
    tiny_begin(m, 17);
    tiny_value(m, 11, "v0", 1, "batch,64");
    tiny_constant(m, "flat", 1, WIDTH * WIDTH, weights, sizeof weights);
    tiny_constant(m, "shape", 7, 2, shape, sizeof shape);
    tiny_node(m, "Reshape", "flat,shape", "w");
    for (int i = 0; i < LAYERS; i++) {
        char in[32], product[32], terms[32], sum[32], out[32];
        snprintf(in, sizeof in, "v%d,w", i);
        snprintf(product, sizeof product, "p%d", i);
        snprintf(terms, sizeof terms, "p%d,v%d", i, i);
        snprintf(sum, sizeof sum, "s%d", i);
        snprintf(out, sizeof out, "v%d", i + 1);
        tiny_node(m, "MatMul", in, product);
        tiny_node(m, "Add", terms, sum);
        tiny_node(m, i % 2 ? "Tanh" : "Softmax", sum, out);
    }
    tiny_value(m, 12, "v12", 1, "");
    tiny_end(m);
    assert_int_equal(sdx_model_load_memory(m->out.data, m->out.size, NULL, model, &error),
                     SDX_STATUS_OK);
    assert_int_equal(sdx_program_create(*model, NULL, &program, &error), SDX_STATUS_OK);
    return program;
}

static sdx_status run_once(sdx_context *context, const float *input) {
    const int64_t dims[2] = {ROWS, WIDTH};
    sdx_tensor x;
    sdx_error error;
    sdx_status status = sdx_tensor_init(&x, SDX_DTYPE_FLOAT32, 2, dims,
                                        (void *)(uintptr_t)input, &error);
    if (status == SDX_STATUS_OK) status = sdx_context_set_input(context, 0, &x, &error);
    return status == SDX_STATUS_OK ? sdx_context_run(context, &error) : status;
}

static bool is_expected(const runner *r) {
    const sdx_tensor *y = sdx_context_output(r->context, 0);
    return y && y->count == ROWS * WIDTH &&
           memcmp(y->data, r->expected, sizeof(float) * ROWS * WIDTH) == 0;
}

/* Until it has had whole runs and cancelled ones, within reason. */
static void *run_often(void *arg) {
    runner *r = arg;
    for (int i = 0; i < 50 * RUNS; i++) {
        sdx_status status = run_once(r->context, r->input);
        if (status == SDX_STATUS_OK) {
            if (!is_expected(r)) atomic_store(&r->wrong, true);
            atomic_fetch_add(&r->whole, 1);
        } else if (status == SDX_STATUS_CANCELLED) {
            atomic_fetch_add(&r->cancelled, 1);
        } else {
            atomic_store(&r->wrong, true);
        }
        if (i >= RUNS && atomic_load(&r->whole) && atomic_load(&r->cancelled)) break;
    }
    atomic_store(&r->over, true);
    return NULL;
}

static void contexts_run_and_are_cancelled(void **state) {
    (void)state;
    tiny_model bytes = {0};
    sdx_model *model = NULL;
    sdx_program *program = make_program(&bytes, &model);
    static float input[ROWS * WIDTH], expected[ROWS * WIDTH];
    for (size_t i = 0; i < ROWS * WIDTH; i++) input[i] = (float)(i % 97) / 97.0f - 0.5f;
    static runner runners[CONTEXTS];
    sdx_error error;
    for (uint32_t i = 0; i < CONTEXTS; i++) {
        /* The first, alone and by one thread, makes what all the others must equal. */
        sdx_context_options options = {.struct_size = sizeof options, .threads = i ? 1 + i : 1};
        runner *r = &runners[i];
        r->program = program;
        r->input = input;
        r->expected = expected;
        assert_int_equal(sdx_context_create(program, &options, &r->context, &error), SDX_STATUS_OK);
        if (i) continue;
        assert_int_equal(run_once(r->context, input), SDX_STATUS_OK);
        memcpy(expected, sdx_context_output(r->context, 0)->data, sizeof expected);
    }
    for (size_t i = 0; i < CONTEXTS; i++)
        assert_int_equal(pthread_create(&runners[i].thread, NULL, run_often, &runners[i]), 0);
    for (uint32_t round = 0, left = CONTEXTS; left; round++) {
        usleep(200 + round * 37 % 800);
        sdx_context_cancel(runners[round % CONTEXTS].context);
        left = 0;
        for (size_t i = 0; i < CONTEXTS; i++) left += !atomic_load(&runners[i].over);
    }
    for (size_t i = 0; i < CONTEXTS; i++) {
        pthread_join(runners[i].thread, NULL);
        assert_false(atomic_load(&runners[i].wrong));
        assert_true(atomic_load(&runners[i].whole) > 0);
        assert_true(atomic_load(&runners[i].cancelled) > 0);
        /* The last word may have come after the last run. */
        sdx_status status = run_once(runners[i].context, input);
        if (status == SDX_STATUS_CANCELLED) status = run_once(runners[i].context, input);
        assert_int_equal(status, SDX_STATUS_OK);
        assert_true(is_expected(&runners[i]));
        sdx_context_release(runners[i].context);
    }
    sdx_program_release(program);
    sdx_model_release(model);
    tiny_free(&bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(contexts_run_and_are_cancelled)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
