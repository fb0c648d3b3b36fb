/* test_rounds.c - the limit on rounds of a Loop: as many as allowed run, one more is an error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "onnx_model.h"

static void value_info(sdx_pb_writer *out, uint32_t field, const char *name) {
    size_t info = sdx_pb_write_begin(out, field);
    tiny_text(out, 1, name);
    sdx_pb_write_end(out, info);
}

/* y = x, handed on for ten rounds. */
static void looping(tiny_model *m) {
    static const int64_t ten = 10;
    tiny_begin(m, 21);
    tiny_value(m, 11, "x", SDX_DTYPE_FLOAT32, "2");
    size_t trips = sdx_pb_write_begin(&m->out, 5);
    tensor_body(&m->out, SDX_DTYPE_INT64, "trips", -1, &ten, sizeof ten);
    sdx_pb_write_end(&m->out, trips);
    size_t loop = sdx_pb_write_begin(&m->out, GRAPH_NODE);
    static const char *const inputs[] = {"trips", "", "x"};
    for (size_t i = 0; i < 3; i++) tiny_text(&m->out, 1, inputs[i]);
    tiny_text(&m->out, 2, "y");
    tiny_text(&m->out, 3, "rounds");
    tiny_text(&m->out, 4, "Loop");
    size_t attr = attr_begin(&m->out, 5, "body", A_GRAPH), body = sdx_pb_write_begin(&m->out, 6);
    static const char *const given[] = {"round", "going", "v"}, *const made[] = {"still", "w"};
    for (size_t i = 0; i < 3; i++) value_info(&m->out, 11, given[i]);
    for (size_t i = 0; i < 2; i++) value_info(&m->out, 12, made[i]);
    node(&m->out, GRAPH_NODE, "Identity", "", "going", "still");
    node(&m->out, GRAPH_NODE, "Identity", "", "v", "w");
    sdx_pb_write_end(&m->out, body);
    sdx_pb_write_end(&m->out, attr);
    sdx_pb_write_end(&m->out, loop);
    output(m, "y");
    tiny_end(m);
}

static sdx_status run_with(uint64_t rounds, session *s) {
    tiny_model m;
    looping(&m);
    load(s, &m);
    const sdx_limits limits = {.struct_size = sizeof limits, .max_rounds = rounds};
    const sdx_program_options options = {.struct_size = sizeof options, .limits = &limits};
    if (sdx_program_create(s->model, &options, &s->program, &s->error) != SDX_STATUS_OK ||
        sdx_context_create(s->program, NULL, &s->context, &s->error) != SDX_STATUS_OK)
        fail_msg("%s", s->error.message);
    give(s, 0, SDX_DTYPE_FLOAT32, 1, (const int64_t[]){2}, (const float[]){3, 4});
    sdx_status status = sdx_context_run(s->context, &s->error);
    if (status == SDX_STATUS_OK) check_floats(s, 0, (const float[]){3, 4}, 2);
    end(s, &m);
    return status;
}

static void as_many_as_allowed(void **state) {
    (void)state;
    session s;
    assert_int_equal(run_with(10, &s), SDX_STATUS_OK);
    assert_int_equal(run_with(9, &s), SDX_STATUS_LIMIT);
    assert_non_null(strstr(s.error.message, "node 'rounds' (Loop)"));
    assert_non_null(strstr(s.error.message, "more rounds than the limit max_rounds, 9, allows"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_many_as_allowed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
