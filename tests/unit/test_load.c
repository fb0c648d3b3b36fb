/* test_load.c - whole models: functions and subgraphs, the ways to load, what a model says about
 * itself, limits, and that loading and running give all memory back, also when it runs out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "onnx_model.h"

/* ---- functions -------------------------------------------------------------------------- */

static size_t function_begin(sdx_pb_writer *out, const char *name, const char *overload,
                             const char *inputs, const char *outputs) {
    size_t function = sdx_pb_write_begin(out, 25);
    tiny_text(out, 1, name);
    tiny_text(out, 10, "local");
    if (overload[0]) tiny_text(out, 13, overload);
    names(out, 4, inputs);
    names(out, 5, outputs);
    import(out, 9, "", 21);
    import(out, 9, "local", 1);
    return function;
}

/* leaky(a, slope = 0.5) and its overload "twice"; nest(a) calls leaky with its own attribute. */
static void write_functions(sdx_pb_writer *out) {
    size_t f = function_begin(out, "leaky", "", "a", "b");
    attr_float(out, 11, "slope", 0.5f);
    size_t n = node_begin(out, FUNCTION_NODE, "LeakyRelu", "", "a", "b");
    attr_reference(out, "alpha", A_FLOAT, "slope");
    sdx_pb_write_end(out, n);
    sdx_pb_write_end(out, f);

    f = function_begin(out, "leaky", "twice", "a", "b");
    node(out, FUNCTION_NODE, "Add", "", "a,a", "b");
    sdx_pb_write_end(out, f);

    f = function_begin(out, "nest", "", "a,unused", "b,a");
    n = node_begin(out, FUNCTION_NODE, "leaky", "local", "m", "b");
    attr_reference(out, "slope", A_FLOAT, "s");
    sdx_pb_write_end(out, n);
    node(out, FUNCTION_NODE, "Identity", "", "a", "m"); /* behind its reader */
    sdx_pb_write_end(out, f);
}

static void functions_are_inlined(void **state) {
    (void)state;
    tiny_model m;
    session s;
    tiny_begin(&m, 21);
    tiny_value(&m, 11, "x", 1, "2");
    node(&m.out, GRAPH_NODE, "leaky", "local", "x", "y0"); /* the default */
    size_t n = node_begin(&m.out, GRAPH_NODE, "leaky", "local", "x", "y1");
    attr_float(&m.out, 5, "slope", 0.25f);
    sdx_pb_write_end(&m.out, n);
    n = node_begin(&m.out, GRAPH_NODE, "leaky", "local", "x", "y2");
    tiny_text(&m.out, 8, "twice");
    sdx_pb_write_end(&m.out, n);
    n = node_begin(&m.out, GRAPH_NODE, "nest", "local", "x", "y3,y4");
    tiny_text(&m.out, 3, "caller");
    attr_float(&m.out, 5, "s", 2);
    sdx_pb_write_end(&m.out, n);
    node(&m.out, GRAPH_NODE, "nest", "local", "x", "y5"); /* s not given: leaky's default */
    for (char name[3] = "y0"; name[1] < '6'; name[1]++) output(&m, name);
    tiny_end(&m);
    import(&m.out, 8, "local", 1);
    write_functions(&m.out);
    load(&s, &m);
    sdx_model_info info = {.struct_size = sizeof info};
    sdx_model_get_info(s.model, &info);
    assert_int_equal(info.function_count, 3);
    bool found = false;
    for (size_t i = 0; i < info.value_count; i++) {
        sdx_value_info value = {.struct_size = sizeof value};
        sdx_model_get_value(s.model, i, &value);
        found |= strcmp(value.name, "caller/m") == 0;
    }
    assert_true(found);
    prepare(&s);
    give(&s, 0, SDX_DTYPE_FLOAT32, 1, (const int64_t[]){2}, (const float[]){4, -4});
    run(&s);
    check_floats(&s, 0, (const float[]){4, -2}, 2);
    check_floats(&s, 1, (const float[]){4, -1}, 2);
    check_floats(&s, 2, (const float[]){8, -8}, 2);
    check_floats(&s, 3, (const float[]){4, -8}, 2);
    check_floats(&s, 4, (const float[]){4, -4}, 2);
    check_floats(&s, 5, (const float[]){4, -2}, 2);
    end(&s, &m);
}

/* Loop over n rounds that doubles `from`, into the open graph. */
static void write_doubling(tiny_model *m, const char *rounds, const char *from, const char *to) {
    char inputs[64];
    snprintf(inputs, sizeof inputs, "%s,,%s", rounds, from);
    size_t mark = node_begin(&m->out, GRAPH_NODE, "Loop", "", inputs, to);
    size_t attr = attr_begin(&m->out, 5, "body", A_GRAPH);
    tiny_model body = {.out = m->out};
    body.graph = sdx_pb_write_begin(&body.out, 6);
    tiny_value(&body, 11, "i", SDX_DTYPE_INT64, "");
    tiny_value(&body, 11, "k", SDX_DTYPE_BOOL, "");
    tiny_value(&body, 11, "d", SDX_DTYPE_FLOAT32, "2");
    tiny_node(&body, "Identity", "k", "k2");
    tiny_node(&body, "Add", "d,d", "d2");
    output(&body, "k2");
    output(&body, "d2");
    tiny_end(&body);
    m->out = body.out;
    sdx_pb_write_end(&m->out, attr);
    sdx_pb_write_end(&m->out, mark);
}

/* choose(c, {g}) = If(c) g else g: the graph comes with the call and reads the caller's values. */
static void graph_handed_to_a_function(void **state) {
    (void)state;
    tiny_model m;
    session s;
    tiny_begin(&m, 21);
    tiny_value(&m, 11, "x", 1, "2");
    tiny_value(&m, 11, "c", 9, "");
    tiny_value(&m, 11, "n", 7, "");
    size_t n = node_begin(&m.out, GRAPH_NODE, "choose", "local", "c", "y");
    size_t attr = attr_begin(&m.out, 5, "g", A_GRAPH);
    tiny_model body = {.out = m.out};
    body.graph = sdx_pb_write_begin(&body.out, 6);
    write_doubling(&body, "n", "x", "big"); /* nests within the handed graph */
    tiny_node(&body, "Add", "big,late", "sum");
    output(&body, "sum");
    tiny_end(&body);
    m.out = body.out;
    sdx_pb_write_end(&m.out, attr);
    sdx_pb_write_end(&m.out, n);
    tiny_node(&m, "Neg", "x", "late0"); /* read by the graph above, defined below */
    tiny_node(&m, "Neg", "late0", "late");
    output(&m, "y");
    tiny_end(&m);
    import(&m.out, 8, "local", 1);
    size_t f = function_begin(&m.out, "choose", "", "q", "r");
    n = node_begin(&m.out, FUNCTION_NODE, "If", "", "q", "r");
    attr_reference(&m.out, "then_branch", A_GRAPH, "g");
    attr_reference(&m.out, "else_branch", A_GRAPH, "g");
    sdx_pb_write_end(&m.out, n);
    sdx_pb_write_end(&m.out, f);
    load(&s, &m);
    prepare(&s);
    give(&s, 0, SDX_DTYPE_FLOAT32, 1, (const int64_t[]){2}, (const float[]){1, 5});
    give(&s, 1, SDX_DTYPE_BOOL, 0, NULL, (const uint8_t[]){1});
    give(&s, 2, SDX_DTYPE_INT64, 0, NULL, (const int64_t[]){3});
    run(&s);
    check_floats(&s, 0, (const float[]){9, 45}, 2);
    end(&s, &m);
}

/* ---- subgraphs -------------------------------------------------------------------------- */

static void branch(tiny_model *m, const char *attribute, const char *op, const char *inputs,
                   bool shadow) {
    static const float hundred[1] = {100};
    size_t attr = attr_begin(&m->out, 5, attribute, A_GRAPH);
    tiny_model body = {.out = m->out};
    body.graph = sdx_pb_write_begin(&body.out, 6);
    if (shadow) tiny_constant(&body, "v", 1, 1, hundred, 4);
    tiny_node(&body, op, inputs, "r");
    output(&body, "r");
    tiny_end(&body);
    m->out = body.out;
    sdx_pb_write_end(&m->out, attr);
}

static void subgraphs_see_outer_names_and_may_shadow_them(void **state) {
    (void)state;
    tiny_model m;
    session s;
    tiny_begin(&m, 21);
    tiny_value(&m, 11, "x", 1, "1");
    tiny_value(&m, 11, "c", 9, "");
    size_t n = node_begin(&m.out, GRAPH_NODE, "If", "", "c", "y");
    branch(&m, "then_branch", "Add", "x,v", false); /* v of the main graph, made further down */
    branch(&m, "else_branch", "Add", "x,v", true);  /* v of its own */
    sdx_pb_write_end(&m.out, n);
    tiny_node(&m, "Add", "x,x", "v");
    output(&m, "y");
    output(&m, "v");
    tiny_end(&m);
    load(&s, &m);
    prepare(&s);
    give(&s, 0, SDX_DTYPE_FLOAT32, 1, (const int64_t[]){1}, (const float[]){7});
    give(&s, 1, SDX_DTYPE_BOOL, 0, NULL, (const uint8_t[]){1});
    run(&s);
    check_floats(&s, 0, (const float[]){21}, 1);
    give(&s, 1, SDX_DTYPE_BOOL, 0, NULL, (const uint8_t[]){0});
    run(&s);
    check_floats(&s, 0, (const float[]){107}, 1);
    check_floats(&s, 1, (const float[]){14}, 1);
    end(&s, &m);
}

/* ---- ways to load ----------------------------------------------------------------------- */

typedef struct source {
    const uint8_t *data;
    size_t size, calls;
    bool broken;
} source;

static bool read_source(void *user, uint64_t offset, void *buffer, size_t size) {
    source *s = user;
    s->calls++;
    if (s->broken || offset > s->size || size > s->size - offset) return false;
    memcpy(buffer, s->data + offset, size);
    return true;
}

static void reader_callback(void **state) {
    (void)state;
    tiny_model m;
    session s = {0};
    default_model(&m, 8);
    source from = {.data = m.out.data, .size = m.out.size};
    sdx_reader reader = {.user = &from, .size = m.out.size, .read = read_source};
    if (sdx_model_load_reader(&reader, NULL, &s.model, &s.error) != SDX_STATUS_OK)
        fail_msg("%s", s.error.message);
    assert_true(from.calls > 0);
    memset(m.out.data, 0xff, m.out.size); /* the model has what it needs */
    prepare(&s);
    give(&s, 0, SDX_DTYPE_FLOAT32, 1, (const int64_t[]){2}, (const float[]){1, 2});
    run(&s);
    check_floats(&s, 0, (const float[]){11, 22}, 2);

    sdx_model *model;
    from.broken = true;
    assert_int_equal(sdx_model_load_reader(&reader, NULL, &model, &s.error), SDX_STATUS_IO);
    assert_null(model);
    from.broken = false;
    reader.size++; /* claims more than there is */
    assert_int_equal(sdx_model_load_reader(&reader, NULL, &model, &s.error), SDX_STATUS_IO);
    reader.size = 0;
    assert_int_equal(sdx_model_load_reader(&reader, NULL, &model, &s.error), SDX_STATUS_BAD_MODEL);
    assert_string_equal(s.error.message, "the file is empty");
    sdx_limits limits = {.struct_size = sizeof limits, .max_memory = 1000};
    sdx_load_options options = {.struct_size = sizeof options, .limits = &limits};
    reader.size = UINT64_MAX;
    assert_int_equal(sdx_model_load_reader(&reader, NULL, &model, &s.error), SDX_STATUS_LIMIT);
    reader.size = 2000;
    assert_int_equal(sdx_model_load_reader(&reader, &options, &model, &s.error), SDX_STATUS_LIMIT);
    reader.read = NULL;
    assert_int_equal(sdx_model_load_reader(&reader, NULL, &model, NULL),
                     SDX_STATUS_INVALID_ARGUMENT);
    assert_int_equal(sdx_model_load_reader(NULL, NULL, &model, NULL), SDX_STATUS_INVALID_ARGUMENT);
    end(&s, &m);
}

static void nothing_to_load(void **state) {
    (void)state;
    sdx_model *model;
    sdx_error error;
    assert_int_equal(sdx_model_load_memory(NULL, 0, NULL, &model, &error), SDX_STATUS_BAD_MODEL);
    assert_string_equal(error.message, "the file is empty");
    assert_int_equal(sdx_model_load_memory(NULL, 5, NULL, &model, &error),
                     SDX_STATUS_INVALID_ARGUMENT);
    assert_int_equal(sdx_model_load_memory("x", 1, NULL, NULL, NULL), SDX_STATUS_INVALID_ARGUMENT);
    assert_int_equal(sdx_model_load_file(NULL, NULL, &model, NULL), SDX_STATUS_INVALID_ARGUMENT);
    assert_int_equal(sdx_model_load_file("/nowhere/at/all.onnx", NULL, &model, &error),
                     SDX_STATUS_IO);
    assert_non_null(strstr(error.message, "/nowhere/at/all.onnx: cannot open: No such file"));
    sdx_load_options options = {.struct_size = 3};
    assert_int_equal(sdx_model_load_memory("x", 1, &options, &model, &error),
                     SDX_STATUS_INVALID_ARGUMENT);
    sdx_model_release(NULL);
    sdx_program_release(NULL);
    sdx_context_release(NULL);
}

/* ---- what a model says about itself ----------------------------------------------------- */

static void warn(void *user, sdx_log_level level, const char *message) {
    assert_int_equal(level, SDX_LOG_WARNING);
    assert_non_null(strstr(message, "newer than this library"));
    ++*(int *)user;
}

static void keep_message(void *user, sdx_log_level level, const char *message) {
    assert_int_equal(level, SDX_LOG_WARNING);
    snprintf(user, 512, "%s", message);
}

/* A shape in the file that the operator cannot make: a warning that names both. */
static void contradiction(void **state) {
    (void)state;
    tiny_model m;
    session s;
    tiny_begin(&m, 17);
    tiny_value(&m, 11, "x", 1, "N,3");
    tiny_node(&m, "Relu", "x", "y");
    tiny_value(&m, 12, "y", 1, "N,4");
    tiny_end(&m);
    char message[512] = "";
    sdx_log log = {.user = message, .write = keep_message};
    load_with(&s, &m, &(sdx_load_options){.struct_size = sizeof(sdx_load_options), .log = &log});
    assert_non_null(strstr(message, "value 'y': the file declares float32[N,4], but node "));
    assert_non_null(strstr(message, "(Relu) makes float32[N,3], which counts"));
    sdx_value_info info = {.struct_size = sizeof info};
    sdx_model_get_value(s.model, sdx_model_output(s.model, 0), &info);
    assert_true(info.is_contradicted);
    assert_int_equal(info.dims[1], 3);
    char text[32];
    sdx_model_declared_text(s.model, sdx_model_output(s.model, 0), text, sizeof text);
    assert_string_equal(text, "float32[N,4]");
    end(&s, &m);
}

static void property(sdx_pb_writer *out, const char *key, const char *value) {
    size_t mark = sdx_pb_write_begin(out, 14);
    tiny_text(out, 1, key);
    tiny_text(out, 2, value);
    sdx_pb_write_end(out, mark);
}

static void header_and_metadata(void **state) {
    (void)state;
    tiny_model m;
    session s;
    tiny_begin(&m, 17);
    m.out.data[1] = 99; /* ir_version */
    tiny_value(&m, 11, "x", 1, "N,3");
    tiny_node(&m, "Relu", "x", "y");
    tiny_value(&m, 12, "y", 1, "N,3");
    tiny_end(&m);
    import(&m.out, 8, "ai.onnx.ml", 3);
    tiny_text(&m.out, 2, "maker");
    tiny_text(&m.out, 3, "1.2");
    tiny_text(&m.out, 4, "org.example");
    sdx_pb_write_varint(&m.out, 5, 42);
    tiny_text(&m.out, 6, "a text");
    property(&m.out, "author", "someone");
    property(&m.out, "empty", "");
    int warnings = 0;
    sdx_log log = {.user = &warnings, .write = warn};
    load_with(&s, &m, &(sdx_load_options){.struct_size = sizeof(sdx_load_options), .log = &log});
    assert_int_equal(warnings, 1);
    sdx_model_info info = {.struct_size = sizeof info};
    sdx_model_get_info(s.model, &info);
    assert_int_equal(info.ir_version, 99);
    assert_int_equal(info.model_version, 42);
    assert_string_equal(info.producer_name, "maker");
    assert_string_equal(info.producer_version, "1.2");
    assert_string_equal(info.domain, "org.example");
    assert_string_equal(info.doc, "a text");
    assert_string_equal(info.graph_name, "tiny");
    assert_int_equal(info.node_count, 1);
    assert_int_equal(info.graph_count, 1);
    assert_int_equal(info.file_bytes, m.out.size);
    assert_int_equal(info.problem_count, 0);
    const char *key, *value;
    int64_t version;
    assert_int_equal(info.metadata_count, 2);
    assert_int_equal(sdx_model_metadata(s.model, 0, &key, &value), SDX_STATUS_OK);
    assert_string_equal(key, "author");
    assert_string_equal(value, "someone");
    assert_int_equal(sdx_model_metadata(s.model, 1, &key, &value), SDX_STATUS_OK);
    assert_string_equal(value, "");
    assert_int_equal(sdx_model_metadata(s.model, 2, &key, &value), SDX_STATUS_INVALID_ARGUMENT);
    assert_int_equal(info.opset_count, 2);
    assert_int_equal(sdx_model_opset(s.model, 0, &key, &version), SDX_STATUS_OK);
    assert_string_equal(key, "ai.onnx");
    assert_int_equal(version, 17);
    assert_int_equal(sdx_model_opset(s.model, 1, &key, &version), SDX_STATUS_OK);
    assert_string_equal(key, "ai.onnx.ml");
    assert_int_equal(sdx_model_opset(s.model, 2, &key, &version), SDX_STATUS_INVALID_ARGUMENT);
    assert_int_equal(info.symbol_count, 1);
    assert_string_equal(sdx_model_symbol(s.model, 0), "N");
    assert_null(sdx_model_symbol(s.model, 1));
    assert_null(sdx_model_problem(s.model, 0));
    assert_int_equal(sdx_model_input(s.model, 1), SDX_NO_INDEX);
    assert_int_equal(sdx_model_output(s.model, 1), SDX_NO_INDEX);
    /* A caller that knows less of the struct gets less of it. */
    sdx_model_info old;
    memset(&old, 0x55, sizeof old);
    old.struct_size = offsetof(sdx_model_info, producer_name);
    sdx_model_get_info(s.model, &old);
    assert_int_equal(old.model_version, 42);
    assert_true(((const uint8_t *)&old)[offsetof(sdx_model_info, producer_name)] == 0x55);
    end(&s, &m);
}

static void unsupported_operators_are_all_kept(void **state) {
    (void)state;
    tiny_model m;
    session s;
    tiny_begin(&m, 21);
    tiny_value(&m, 11, "x", 1, "2");
    tiny_node(&m, "Nonsense", "x", "a");
    tiny_node(&m, "Relu", "a", "b");
    tiny_node(&m, "Balderdash", "b", "y");
    output(&m, "y");
    tiny_end(&m);
    load_with(&s, &m,
              &(sdx_load_options){.struct_size = sizeof(sdx_load_options),
                                  .flags = SDX_LOAD_KEEP_UNSUPPORTED});
    sdx_model_info info = {.struct_size = sizeof info};
    sdx_model_get_info(s.model, &info);
    assert_int_equal(info.problem_count, 2);
    assert_string_equal(sdx_model_problem(s.model, 0)->op, "Nonsense");
    assert_string_equal(sdx_model_problem(s.model, 1)->op, "Balderdash");
    assert_int_equal(sdx_model_problem(s.model, 1)->code, SDX_STATUS_UNSUPPORTED);
    sdx_model_release(s.model);
    expect_failure(&m, NULL, SDX_STATUS_UNSUPPORTED, "operator 'Nonsense'");
}

/* ---- limits ----------------------------------------------------------------------------- */

static void limits_hold(void **state) {
    (void)state;
    sdx_limits limits = {.struct_size = sizeof limits, .max_nodes = 2};
    sdx_load_options options = {.struct_size = sizeof options, .limits = &limits};
    for (int nodes = 2; nodes <= 3; nodes++) {
        tiny_model m;
        tiny_begin(&m, 21);
        tiny_value(&m, 11, "v0", 1, "2");
        for (int i = 0; i < nodes; i++) {
            char from[16], to[16];
            snprintf(from, sizeof from, "v%d", i);
            snprintf(to, sizeof to, "v%d", i + 1);
            tiny_node(&m, "Relu", from, to);
        }
        tiny_end(&m);
        if (nodes == 2) {
            session s;
            load_with(&s, &m, &options);
            end(&s, &m);
        } else {
            expect_failure(&m, &options, SDX_STATUS_LIMIT, "more nodes than the limit of 2");
        }
    }
    tiny_model m;
    tiny_begin(&m, 21);
    for (int i = 0; i < 5000; i++) {
        char name[16];
        snprintf(name, sizeof name, "x%d", i);
        tiny_value(&m, 11, name, 1, "2");
    }
    tiny_end(&m);
    limits = (sdx_limits){.struct_size = sizeof limits, .max_memory = 100000};
    expect_failure(&m, &options, SDX_STATUS_LIMIT, "pass the limit max_memory, 100000");
    tiny_begin(&m, 21);
    tiny_value(&m, 11, "c", 9, "");
    tiny_value(&m, 11, "x", 1, "1");
    size_t n = node_begin(&m.out, GRAPH_NODE, "If", "", "c", "y");
    branch(&m, "then_branch", "Relu", "x", false);
    branch(&m, "else_branch", "Relu", "x", false);
    sdx_pb_write_end(&m.out, n);
    tiny_end(&m);
    limits = (sdx_limits){.struct_size = sizeof limits, .max_depth = 1};
    expect_failure(&m, &options, SDX_STATUS_LIMIT, "nest deeper than the limit of 1");
}

/* ---- little memory ---------------------------------------------------------------------- */

/* A bit of everything: functions, a branch, a loop over data, sparse and string constants. */
static void rich_model(tiny_model *m) {
    static const float values[1] = {3};
    static const int64_t at[1] = {1}, shape[2] = {-1, 1};
    tiny_begin(m, 21);
    tiny_value(m, 11, "x", 1, "N");
    tiny_value(m, 11, "c", 9, "");
    tiny_constant(m, "shape", 7, 2, shape, sizeof shape);
    size_t mark = sdx_pb_write_begin(&m->out, 15);
    sparse_body(&m->out, "s", values, at, 1, 2);
    sdx_pb_write_end(&m->out, mark);
    tiny_node(m, "Add", "b,s", "y"); /* out of order */
    node(&m->out, GRAPH_NODE, "nest", "local", "x", "a");
    size_t n = node_begin(&m->out, GRAPH_NODE, "If", "", "c", "b");
    branch(m, "then_branch", "Neg", "a", false);
    branch(m, "else_branch", "Add", "a,v", true);
    sdx_pb_write_end(&m->out, n);
    tiny_node(m, "Reshape", "y,shape", "z");
    tiny_node(m, "NonZero", "z", "where"); /* a shape that only a run knows */
    size_t strings = node_begin(&m->out, GRAPH_NODE, "Constant", "", "", "words");
    size_t attr = attr_begin(&m->out, 5, "value_strings", A_STRINGS);
    write_kind(&m->out, A_STRINGS);
    sdx_pb_write_end(&m->out, attr);
    sdx_pb_write_end(&m->out, strings);
    output(m, "z");
    output(m, "where");
    output(m, "words");
    tiny_end(m);
    import(&m->out, 8, "local", 1);
    property(&m->out, "k", "v");
    write_functions(&m->out);
}

static sdx_status whole_way(const tiny_model *m, const sdx_allocator *allocator, sdx_error *error) {
    session s = {0};
    sdx_load_options options = {.struct_size = sizeof options, .allocator = allocator};
    sdx_context_options context = {.struct_size = sizeof context, .threads = 2};
    sdx_tensor x, c;
    float data[2] = {-4, 6};
    uint8_t yes = 1;
    sdx_tensor_init(&x, SDX_DTYPE_FLOAT32, 1, (const int64_t[]){2}, data, NULL);
    sdx_tensor_init(&c, SDX_DTYPE_BOOL, 0, NULL, &yes, NULL);
    sdx_status status = sdx_model_load_memory(m->out.data, m->out.size, &options, &s.model, error);
    if (status == SDX_STATUS_OK) status = sdx_program_create(s.model, NULL, &s.program, error);
    if (status == SDX_STATUS_OK)
        status = sdx_context_create(s.program, &context, &s.context, error);
    if (status == SDX_STATUS_OK) status = sdx_context_set_input(s.context, 0, &x, error);
    if (status == SDX_STATUS_OK) status = sdx_context_set_input(s.context, 1, &c, error);
    for (int i = 0; status == SDX_STATUS_OK && i < 2; i++)
        status = sdx_context_run(s.context, error);
    if (status == SDX_STATUS_OK) {
        check_floats(&s, 0, (const float[]){2, -3}, 2);
        assert_int_equal(sdx_context_output(s.context, 1)->count, 4);
        assert_int_equal(sdx_context_output(s.context, 2)->count, 2);
    }
    sdx_context_release(s.context);
    sdx_program_release(s.program);
    sdx_model_release(s.model);
    return status;
}

static void everything_is_given_back(void **state) {
    (void)state;
    tiny_model m;
    rich_model(&m);
    assert_false(m.out.failed);
    purse p = {0};
    sdx_allocator allocator = {&p, purse_allocate, purse_release};
    sdx_error error;
    if (whole_way(&m, &allocator, &error) != SDX_STATUS_OK) fail_msg("%s", error.message);
    assert_int_equal(p.held, 0);
    size_t calls = p.calls;
    assert_true(calls > 20);
    size_t failures = 0;
    for (int for_good = 0; for_good < 2; for_good++)
        for (size_t n = 1; n <= calls; n++) {
            p = (purse){.fail_at = n, .for_good = for_good == 1};
            sdx_status status = whole_way(&m, &allocator, &error);
            assert_int_equal(p.held, 0);
            if (status == SDX_STATUS_OK) continue; /* it found a way without */
            failures++;
            assert_int_equal(status, error.code);
            if (status != SDX_STATUS_NO_MEMORY && status != SDX_STATUS_LIMIT)
                fail_msg("call %zu fails with %s: %s", n, sdx_status_name(status), error.message);
            assert_true(error.message[0] != 0);
        }
    assert_true(failures > calls); /* nearly all of both rounds */
    /* Errors on the way give everything back too: the model cut off at every byte. */
    for (size_t size = 0; size < m.out.size; size++) {
        p = (purse){0};
        tiny_model cut = m;
        cut.out.size = size;
        sdx_status status = whole_way(&cut, &allocator, &error);
        assert_int_equal(p.held, 0);
        if (status != SDX_STATUS_OK) assert_int_equal(status, error.code);
    }
    tiny_free(&m);
}

static void damage_is_survived(void **state) {
    (void)state;
    tiny_model m;
    rich_model(&m);
    uint8_t *bytes = malloc(m.out.size);
    uint64_t random = 0x9e3779b97f4a7c15u;
    for (int round = 0; round < 3000; round++) {
        memcpy(bytes, m.out.data, m.out.size);
        for (int changes = 1 + round % 4; changes; changes--) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            bytes[(random >> 16) % m.out.size] = (uint8_t)random;
        }
        sdx_limits limits = {.struct_size = sizeof limits, .max_memory = 1 << 26};
        sdx_load_options options = {.struct_size = sizeof options, .limits = &limits,
                                    .flags = round % 2 ? SDX_LOAD_KEEP_UNSUPPORTED : 0};
        session s = {0};
        sdx_status status =
            sdx_model_load_memory(bytes, m.out.size, &options, &s.model, &s.error);
        if (status == SDX_STATUS_OK)
            status = sdx_program_create(s.model, NULL, &s.program, &s.error);
        assert_int_equal(status, s.error.code);
        if (status != SDX_STATUS_OK) assert_true(s.error.message[0] != 0);
        assert_int_not_equal(status, SDX_STATUS_INTERNAL);
        sdx_program_release(s.program);
        sdx_model_release(s.model);
    }
    free(bytes);
    tiny_free(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_are_inlined),
        cmocka_unit_test(graph_handed_to_a_function),
        cmocka_unit_test(subgraphs_see_outer_names_and_may_shadow_them),
        cmocka_unit_test(reader_callback),
        cmocka_unit_test(nothing_to_load),
        cmocka_unit_test(contradiction), cmocka_unit_test(header_and_metadata),
        cmocka_unit_test(unsupported_operators_are_all_kept),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(everything_is_given_back),
        cmocka_unit_test(damage_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
