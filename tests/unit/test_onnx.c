/* test_onnx.c - the loader over models built in memory: attributes of every kind, constants in every
 * spelling, typed fields against raw data, functions, subgraphs, inputs with defaults, what a model
 * says about itself, and loading with little memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sardonyx.h"
#include "tiny_model.h"

/* ---- writing more of a model than tiny_model.h does ------------------------------------------- */

enum { GRAPH_NODE = 1, FUNCTION_NODE = 7 };
enum { A_FLOAT = 1, A_INT, A_STRING, A_TENSOR, A_GRAPH, A_FLOATS, A_INTS, A_STRINGS, A_TENSORS,
       A_GRAPHS, A_SPARSE, A_SPARSES, A_TYPE, A_TYPES };

static void names(sdx_pb_writer *out, uint32_t field, const char *list) {
    for (const char *at = list; *at;) {
        size_t length = strcspn(at, ",");
        sdx_pb_write_bytes(out, field, at, length);
        at += length + (at[length] == ',');
    }
}

/* An open node: attributes may follow; sdx_pb_write_end closes it. */
static size_t node_begin(sdx_pb_writer *out, uint32_t field, const char *op, const char *domain,
                         const char *inputs, const char *outputs) {
    size_t node = sdx_pb_write_begin(out, field);
    names(out, 1, inputs);
    names(out, 2, outputs);
    tiny_text(out, 4, op);
    if (domain[0]) tiny_text(out, 7, domain);
    return node;
}

static void node(sdx_pb_writer *out, uint32_t field, const char *op, const char *domain,
                 const char *inputs, const char *outputs) {
    sdx_pb_write_end(out, node_begin(out, field, op, domain, inputs, outputs));
}

static size_t attr_begin(sdx_pb_writer *out, uint32_t field, const char *name, int type) {
    size_t attr = sdx_pb_write_begin(out, field);
    tiny_text(out, 1, name);
    if (type) sdx_pb_write_varint(out, 20, (uint64_t)type);
    return attr;
}

static void attr_int(sdx_pb_writer *out, const char *name, int64_t value) {
    size_t attr = attr_begin(out, 5, name, A_INT);
    sdx_pb_write_varint(out, 3, (uint64_t)value);
    sdx_pb_write_end(out, attr);
}

static void attr_float(sdx_pb_writer *out, uint32_t field, const char *name, float value) {
    size_t attr = attr_begin(out, field, name, A_FLOAT);
    sdx_pb_write_float(out, 2, value);
    sdx_pb_write_end(out, attr);
}

static void attr_reference(sdx_pb_writer *out, const char *name, int type, const char *to) {
    size_t attr = attr_begin(out, 5, name, type);
    tiny_text(out, 21, to);
    sdx_pb_write_end(out, attr);
}

static void import(sdx_pb_writer *out, uint32_t field, const char *domain, int64_t version) {
    size_t opset = sdx_pb_write_begin(out, field);
    tiny_text(out, 1, domain);
    sdx_pb_write_varint(out, 2, (uint64_t)version);
    sdx_pb_write_end(out, opset);
}

static void tensor_body(sdx_pb_writer *out, int dtype, const char *name, int64_t count,
                        const void *data, size_t bytes) {
    if (count >= 0) sdx_pb_write_varint(out, 1, (uint64_t)count);
    sdx_pb_write_varint(out, 2, (uint64_t)dtype);
    if (name) tiny_text(out, 8, name);
    sdx_pb_write_bytes(out, 9, data, bytes);
}

static void sparse_body(sdx_pb_writer *out, const char *name, const float *values,
                        const int64_t *at, int64_t count, int64_t size) {
    size_t part = sdx_pb_write_begin(out, 1);
    tensor_body(out, SDX_DTYPE_FLOAT32, name, count, values, (size_t)count * 4);
    sdx_pb_write_end(out, part);
    part = sdx_pb_write_begin(out, 2);
    tensor_body(out, SDX_DTYPE_INT64, NULL, count, at, (size_t)count * 8);
    sdx_pb_write_end(out, part);
    sdx_pb_write_varint(out, 3, (uint64_t)size);
}

static void output(tiny_model *m, const char *name) {
    size_t info = sdx_pb_write_begin(&m->out, 12);
    tiny_text(&m->out, 1, name);
    sdx_pb_write_end(&m->out, info);
}

/* ---- loading and running --------------------------------------------------------------------------- */

typedef struct session {
    sdx_model *model;
    sdx_program *program;
    sdx_context *context;
    sdx_error error;
} session;

static void load_with(session *s, const tiny_model *m, const sdx_load_options *options) {
    *s = (session){0};
    assert_false(m->out.failed);
    if (sdx_model_load_memory(m->out.data, m->out.size, options, &s->model, &s->error) !=
        SDX_STATUS_OK)
        fail_msg("%s", s->error.message);
}

static void load(session *s, const tiny_model *m) { load_with(s, m, NULL); }

static void prepare(session *s) {
    sdx_context_options options = {.struct_size = sizeof options, .threads = 1};
    if (sdx_program_create(s->model, NULL, &s->program, &s->error) != SDX_STATUS_OK ||
        sdx_context_create(s->program, &options, &s->context, &s->error) != SDX_STATUS_OK)
        fail_msg("%s", s->error.message);
}

static void give(session *s, size_t index, sdx_dtype dtype, int32_t rank, const int64_t *dims,
                 const void *data) {
    sdx_tensor tensor;
    assert_int_equal(sdx_tensor_init(&tensor, dtype, rank, dims, (void *)(uintptr_t)data, NULL),
                     SDX_STATUS_OK);
    if (sdx_context_set_input(s->context, index, &tensor, &s->error) != SDX_STATUS_OK)
        fail_msg("%s", s->error.message);
}

static void run(session *s) {
    if (sdx_context_run(s->context, &s->error) != SDX_STATUS_OK) fail_msg("%s", s->error.message);
}

static void check_floats(const session *s, size_t index, const float *want, size_t count) {
    const sdx_tensor *got = sdx_context_output(s->context, index);
    assert_non_null(got);
    assert_int_equal(got->dtype, SDX_DTYPE_FLOAT32);
    assert_int_equal(got->count, count);
    for (size_t i = 0; i < count; i++)
        if (((const float *)got->data)[i] != want[i])
            fail_msg("element %zu is %g, not %g", i, (double)((const float *)got->data)[i],
                     (double)want[i]);
}

static void end(session *s, tiny_model *m) {
    sdx_context_release(s->context);
    sdx_program_release(s->program);
    sdx_model_release(s->model);
    tiny_free(m);
}

static void expect_failure(tiny_model *m, const sdx_load_options *options, sdx_status want,
                           const char *sentence) {
    sdx_model *model = (sdx_model *)(uintptr_t)1;
    sdx_error error;
    assert_false(m->out.failed);
    sdx_status status = sdx_model_load_memory(m->out.data, m->out.size, options, &model, &error);
    if (status != want || error.code != want || !strstr(error.message, sentence))
        fail_msg("%s: \"%s\", not %s: \"%s\"", sdx_status_name(status), error.message,
                 sdx_status_name(want), sentence);
    assert_null(model);
    tiny_free(m);
}

/* ---- attributes -------------------------------------------------------------------------------------- */

static void write_small_graph(sdx_pb_writer *out, uint32_t field, const char *name) {
    size_t graph = sdx_pb_write_begin(out, field);
    tiny_text(out, 2, name);
    sdx_pb_write_end(out, graph);
}

static void write_type(sdx_pb_writer *out, uint32_t field, int dtype) {
    size_t type = sdx_pb_write_begin(out, field), list = sdx_pb_write_begin(out, 4);
    size_t inner = sdx_pb_write_begin(out, 1), tensor = sdx_pb_write_begin(out, 1);
    sdx_pb_write_varint(out, 1, (uint64_t)dtype);
    sdx_pb_write_end(out, tensor);
    sdx_pb_write_end(out, inner);
    sdx_pb_write_end(out, list);
    sdx_pb_write_end(out, type);
}

/* Values of one kind into the open attribute; two of each list. */
static void write_kind(sdx_pb_writer *out, int kind) {
    static const float values[1] = {7};
    static const int64_t at[1] = {1};
    for (int i = 0; i < (kind == A_STRINGS || kind == A_TENSORS || kind == A_GRAPHS ||
                                 kind == A_SPARSES || kind == A_TYPES || kind == A_FLOATS ||
                                 kind == A_INTS
                             ? 2
                             : 1);
         i++)
        switch (kind) {
        case A_FLOAT: sdx_pb_write_float(out, 2, 0.5f); break;
        case A_INT: sdx_pb_write_varint(out, 3, (uint64_t)-3); break;
        case A_STRING: tiny_text(out, 4, "word"); break;
        case A_FLOATS: sdx_pb_write_float(out, 7, (float)i + 0.25f); break;
        case A_INTS: sdx_pb_write_varint(out, 8, (uint64_t)(int64_t)(i - 1)); break;
        case A_STRINGS: tiny_text(out, 9, i ? "" : "one"); break;
        case A_GRAPH:
        case A_GRAPHS: write_small_graph(out, kind == A_GRAPH ? 6 : 11, "g"); break;
        case A_TYPE:
        case A_TYPES: write_type(out, kind == A_TYPE ? 14 : 15, SDX_DTYPE_INT64); break;
        case A_TENSOR:
        case A_TENSORS: {
            size_t tensor = sdx_pb_write_begin(out, kind == A_TENSOR ? 5 : 10);
            tensor_body(out, SDX_DTYPE_FLOAT32, NULL, 1, values, 4);
            sdx_pb_write_end(out, tensor);
            break;
        }
        default: {
            size_t sparse = sdx_pb_write_begin(out, kind == A_SPARSE ? 22 : 23);
            sparse_body(out, NULL, values, at, 1, 5);
            sdx_pb_write_end(out, sparse);
        }
        }
}

static void check_attribute(const session *s, size_t index, const char *want) {
    char text[256], cut[5];
    assert_int_equal(sdx_model_attribute_text(s->model, 0, index, text, sizeof text),
                     strlen(want));
    assert_string_equal(text, want);
    assert_int_equal(sdx_model_attribute_text(s->model, 0, index, cut, sizeof cut), strlen(want));
    assert_int_equal(strlen(cut), strlen(want) < 4 ? strlen(want) : 4);
}

static void attributes_of_every_kind(void **state) {
    (void)state;
    static const char *const want[] = {
        "k1=0.5", "k2=-3", "k3='word'", "k4=float32[1]", "k5=graph 1", "k6=[0.25,1.25]",
        "k7=[-1,0]", "k8=['one','']", "k9=[float32[1],float32[1]]", "k10=[graph 2,graph 3]",
        "k11=float32[5]", "k12=[float32[5],float32[5]]", "k13=sequence(int64[...])",
        "k14=[sequence(int64[...]),sequence(int64[...])]"};
    /* With the type said, and with it left for the reader to see. */
    for (int said = 0; said < 2; said++) {
        tiny_model m;
        tiny_begin(&m, 21);
        size_t mark = node_begin(&m.out, GRAPH_NODE, "Anything", "test", "", "y");
        for (int kind = A_FLOAT; kind <= A_TYPES; kind++) {
            char name[8];
            snprintf(name, sizeof name, "k%d", kind);
            size_t attr = attr_begin(&m.out, 5, name, said ? kind : 0);
            write_kind(&m.out, kind);
            sdx_pb_write_end(&m.out, attr);
        }
        sdx_pb_write_end(&m.out, mark);
        output(&m, "y");
        tiny_end(&m);
        import(&m.out, 8, "test", 1);
        session s;
        sdx_load_options options = {.struct_size = sizeof options,
                                    .flags = SDX_LOAD_KEEP_UNSUPPORTED};
        load_with(&s, &m, &options);
        sdx_node_info info = {.struct_size = sizeof info};
        assert_int_equal(sdx_model_get_node(s.model, 0, &info), SDX_STATUS_OK);
        assert_int_equal(info.attribute_count, A_TYPES);
        assert_false(info.supported);
        for (size_t i = 0; i < A_TYPES; i++) check_attribute(&s, i, want[i]);
        assert_int_equal(sdx_model_attribute_text(s.model, 0, A_TYPES, NULL, 0), 0);
        assert_int_equal(sdx_model_attribute_text(s.model, 1, 0, NULL, 0), 0);
        sdx_error error;
        sdx_program *program;
        assert_int_equal(sdx_program_create(s.model, NULL, &program, &error),
                         SDX_STATUS_UNSUPPORTED);
        assert_string_equal(error.message, sdx_model_problem(s.model, 0)->message);
        end(&s, &m);
    }
}

static void attributes_packed_and_defaulted(void **state) {
    (void)state;
    tiny_model m;
    tiny_begin(&m, 21);
    size_t mark = node_begin(&m.out, GRAPH_NODE, "Anything", "test", "", "y");
    size_t attr = attr_begin(&m.out, 5, "ints", A_INTS);
    sdx_pb_write_bytes(&m.out, 8, "\x05\xac\x02", 3);
    sdx_pb_write_varint(&m.out, 8, 7); /* packed and single values of one list */
    sdx_pb_write_end(&m.out, attr);
    attr = attr_begin(&m.out, 5, "floats", A_FLOATS);
    sdx_pb_write_bytes(&m.out, 7, "\0\0\x80\x3f\0\0\0\x40", 8);
    sdx_pb_write_end(&m.out, attr);
    /* Writers of proto3 leave out what is zero or empty. */
    sdx_pb_write_end(&m.out, attr_begin(&m.out, 5, "zero", A_INT));
    sdx_pb_write_end(&m.out, attr_begin(&m.out, 5, "null", A_FLOAT));
    sdx_pb_write_end(&m.out, attr_begin(&m.out, 5, "empty", A_STRING));
    sdx_pb_write_end(&m.out, attr_begin(&m.out, 5, "none", A_INTS));
    sdx_pb_write_end(&m.out, mark);
    tiny_end(&m);
    import(&m.out, 8, "test", 1);
    session s;
    load_with(&s, &m,
              &(sdx_load_options){.struct_size = sizeof(sdx_load_options),
                                  .flags = SDX_LOAD_KEEP_UNSUPPORTED});
    check_attribute(&s, 0, "ints=[5,300,7]");
    check_attribute(&s, 1, "floats=[1,2]");
    check_attribute(&s, 2, "zero=0");
    check_attribute(&s, 3, "null=0");
    check_attribute(&s, 4, "empty=''");
    check_attribute(&s, 5, "none=[]");
    end(&s, &m);
}

/* ---- constants ------------------------------------------------------------------------------------- */

static void constant_in_every_spelling(void **state) {
    (void)state;
    static const float values[2] = {1.5f, -2}, tensor[2] = {3, 4};
    static const int64_t at[2] = {1, 3};
    tiny_model m;
    tiny_begin(&m, 21);
    for (int kind = 0; kind < 8; kind++) {
        static const char *const spelling[] = {"value", "sparse_value", "value_float",
                                               "value_floats", "value_int", "value_ints",
                                               "value_string", "value_strings"};
        static const int types[] = {A_TENSOR, A_SPARSE, A_FLOAT, A_FLOATS,
                                    A_INT,    A_INTS,   A_STRING, A_STRINGS};
        char name[3] = {'c', (char)('0' + kind), 0};
        size_t mark = node_begin(&m.out, GRAPH_NODE, "Constant", "", "", name);
        size_t attr = attr_begin(&m.out, 5, spelling[kind], types[kind]);
        if (kind == 0) {
            size_t inner = sdx_pb_write_begin(&m.out, 5);
            tensor_body(&m.out, SDX_DTYPE_FLOAT32, NULL, 2, tensor, 8);
            sdx_pb_write_end(&m.out, inner);
        } else if (kind == 1) {
            size_t inner = sdx_pb_write_begin(&m.out, 22);
            sparse_body(&m.out, "s", values, at, 2, 4);
            sdx_pb_write_end(&m.out, inner);
        } else {
            write_kind(&m.out, types[kind]);
        }
        sdx_pb_write_end(&m.out, attr);
        sdx_pb_write_end(&m.out, mark);
        output(&m, name);
    }
    tiny_end(&m);
    session s;
    load(&s, &m);
    prepare(&s);
    assert_int_equal(sdx_program_step_count(s.program), 0);
    run(&s);
    check_floats(&s, 0, tensor, 2);
    check_floats(&s, 1, (const float[]){0, 1.5f, 0, -2}, 4);
    check_floats(&s, 2, (const float[]){0.5f}, 1);
    check_floats(&s, 3, (const float[]){0.25f, 1.25f}, 2);
    const sdx_tensor *got = sdx_context_output(s.context, 4);
    assert_int_equal(got->rank, 0);
    assert_int_equal(*(const int64_t *)got->data, -3);
    got = sdx_context_output(s.context, 5);
    assert_int_equal(got->rank, 1);
    assert_memory_equal(got->data, ((const int64_t[]){-1, 0}), 16);
    got = sdx_context_output(s.context, 6);
    assert_int_equal(got->dtype, SDX_DTYPE_STRING);
    assert_int_equal(got->rank, 0);
    assert_int_equal(((const sdx_string *)got->data)->size, 4);
    got = sdx_context_output(s.context, 7);
    assert_int_equal(got->dims[0], 2);
    assert_memory_equal(((const sdx_string *)got->data)[0].data, "one", 3);
    assert_int_equal(((const sdx_string *)got->data)[1].size, 0);
    sdx_value_info info = {.struct_size = sizeof info};
    assert_int_equal(sdx_model_get_value(s.model, sdx_model_output(s.model, 0), &info),
                     SDX_STATUS_OK);
    assert_true(info.is_constant && info.is_output);
    assert_int_equal(info.dims[0], 2);
    end(&s, &m);
}

/* ---- typed fields and raw data ------------------------------------------------------------------------- */

enum { F32_DATA = 4, I32_DATA = 5, I64_DATA = 7, F64_DATA = 10, U64_DATA = 11 };

typedef struct typed_case {
    sdx_dtype dtype;
    uint32_t field;
    size_t count, entry_count;
    uint64_t entries[6]; /* bits for floats and doubles */
    size_t raw_size;
    uint8_t raw[32];
    uint8_t memory[48]; /* count elements, as a run sees them on a little-endian machine */
} typed_case;

static const typed_case typed_cases[] = {
    {SDX_DTYPE_FLOAT32, F32_DATA, 2, 2, {0x3f800000, 0xc0000000}, 8,
     {0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}, {0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}},
    {SDX_DTYPE_FLOAT64, F64_DATA, 1, 1, {0x3ff0000000000000u}, 8,
     {0, 0, 0, 0, 0, 0, 0xf0, 0x3f}, {0, 0, 0, 0, 0, 0, 0xf0, 0x3f}},
    {SDX_DTYPE_COMPLEX64, F32_DATA, 1, 2, {0x3f800000, 0xc0000000}, 8,
     {0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}, {0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}},
    {SDX_DTYPE_COMPLEX128, F64_DATA, 1, 2, {0x3ff0000000000000u, 0xc000000000000000u}, 16,
     {0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0xc0},
     {0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0xc0}},
    {SDX_DTYPE_INT64, I64_DATA, 2, 2, {1, (uint64_t)INT64_MIN}, 16,
     {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80},
     {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80}},
    {SDX_DTYPE_UINT64, U64_DATA, 1, 1, {UINT64_MAX - 1}, 8,
     {0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
     {0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}},
    {SDX_DTYPE_UINT32, U64_DATA, 2, 2, {UINT32_MAX, 258}, 8,
     {0xff, 0xff, 0xff, 0xff, 2, 1, 0, 0}, {0xff, 0xff, 0xff, 0xff, 2, 1, 0, 0}},
    {SDX_DTYPE_INT32, I32_DATA, 2, 2, {(uint64_t)INT32_MIN, 258}, 8,
     {0, 0, 0, 0x80, 2, 1, 0, 0}, {0, 0, 0, 0x80, 2, 1, 0, 0}},
    {SDX_DTYPE_INT16, I32_DATA, 2, 2, {(uint64_t)-2, 258}, 4, {0xfe, 0xff, 2, 1},
     {0xfe, 0xff, 2, 1}},
    {SDX_DTYPE_UINT16, I32_DATA, 2, 2, {65535, 258}, 4, {0xff, 0xff, 2, 1}, {0xff, 0xff, 2, 1}},
    {SDX_DTYPE_INT8, I32_DATA, 3, 3, {(uint64_t)-128, 127, 0}, 3, {0x80, 0x7f, 0},
     {0x80, 0x7f, 0}},
    {SDX_DTYPE_UINT8, I32_DATA, 3, 3, {255, 1, 0}, 3, {0xff, 1, 0}, {0xff, 1, 0}},
    {SDX_DTYPE_BOOL, I32_DATA, 3, 3, {1, 0, 1}, 3, {1, 0, 1}, {1, 0, 1}},
    {SDX_DTYPE_FLOAT16, I32_DATA, 2, 2, {0x3c00, 0xfc00}, 4, {0, 0x3c, 0, 0xfc},
     {0, 0x3c, 0, 0xfc}},
    {SDX_DTYPE_BFLOAT16, I32_DATA, 2, 2, {0x3f80, 0xff80}, 4, {0x80, 0x3f, 0x80, 0xff},
     {0x80, 0x3f, 0x80, 0xff}},
    {SDX_DTYPE_FLOAT8E4M3FN, I32_DATA, 2, 2, {0x38, 0xff}, 2, {0x38, 0xff}, {0x38, 0xff}},
    {SDX_DTYPE_FLOAT8E4M3FNUZ, I32_DATA, 2, 2, {0x40, 0x80}, 2, {0x40, 0x80}, {0x40, 0x80}},
    {SDX_DTYPE_FLOAT8E5M2, I32_DATA, 2, 2, {0x3c, 0xfc}, 2, {0x3c, 0xfc}, {0x3c, 0xfc}},
    {SDX_DTYPE_FLOAT8E5M2FNUZ, I32_DATA, 2, 2, {0x40, 0x80}, 2, {0x40, 0x80}, {0x40, 0x80}},
    {SDX_DTYPE_FLOAT8E8M0, I32_DATA, 2, 2, {0x7f, 0xff}, 2, {0x7f, 0xff}, {0x7f, 0xff}},
    {SDX_DTYPE_UINT4, I32_DATA, 3, 2, {0x9e, 0x07}, 2, {0x9e, 0x07}, {14, 9, 7}},
    {SDX_DTYPE_INT4, I32_DATA, 4, 2, {0x9e, 0x87}, 2, {0x9e, 0x87}, {0xfe, 0xf9, 7, 0xf8}},
    {SDX_DTYPE_FLOAT4E2M1, I32_DATA, 3, 2, {0x9e, 0x07}, 2, {0x9e, 0x07}, {14, 9, 7}},
    {SDX_DTYPE_UINT2, I32_DATA, 5, 2, {0xe4, 0x02}, 2, {0xe4, 0x02}, {0, 1, 2, 3, 2}},
    {SDX_DTYPE_INT2, I32_DATA, 5, 2, {0xe4, 0x02}, 2, {0xe4, 0x02}, {0, 1, 0xfe, 0xff, 0xfe}},
    {SDX_DTYPE_FLOAT6E2M3, I32_DATA, 4, 4, {1, 2, 3, 63}, 3, {0x81, 0x30, 0xfc}, {1, 2, 3, 63}},
    {SDX_DTYPE_FLOAT6E3M2, I32_DATA, 3, 3, {1, 2, 3}, 3, {0x81, 0x30, 0x00}, {1, 2, 3}},
};

static size_t put_entry(uint32_t field, uint64_t value, uint8_t *to) {
    size_t fixed = field == F32_DATA ? 4 : field == F64_DATA ? 8 : 0, size = 0;
    for (; size < fixed; size++) to[size] = (uint8_t)(value >> (8 * size));
    if (fixed) return size;
    for (; value >= 0x80; value >>= 7) to[size++] = (uint8_t)(value | 0x80);
    to[size++] = (uint8_t)value;
    return size;
}

/* raw: as raw_data. packed: in one run. mixed: two runs, so that they must be put together. */
enum { FORM_RAW, FORM_PACKED, FORM_MIXED, FORM_SINGLE, FORMS };

static void write_typed(tiny_model *m, const typed_case *c, int form) {
    sdx_pb_writer *out = &m->out;
    size_t tensor = sdx_pb_write_begin(out, 5);
    sdx_pb_write_varint(out, 1, c->count);
    sdx_pb_write_varint(out, 2, (uint64_t)c->dtype);
    tiny_text(out, 8, "w");
    uint8_t packed[64];
    size_t size = 0;
    if (form == FORM_RAW) {
        sdx_pb_write_bytes(out, 9, c->raw, c->raw_size);
    } else {
        for (size_t i = 0; i < c->entry_count; i++) {
            size += put_entry(c->field, c->entries[i], packed + size);
            if (form == FORM_PACKED) continue;
            bool varint = c->field != F32_DATA && c->field != F64_DATA;
            if (form == FORM_SINGLE && varint) sdx_pb_write_varint(out, c->field, c->entries[i]);
            else sdx_pb_write_bytes(out, c->field, packed, size);
            size = 0;
        }
        if (form == FORM_PACKED) sdx_pb_write_bytes(out, c->field, packed, size);
    }
    sdx_pb_write_end(out, tensor);
}

static void typed_fields_equal_raw_data(void **state) {
    (void)state;
    bool seen[SDX_DTYPE_COUNT] = {false};
    for (size_t i = 0; i < sizeof typed_cases / sizeof *typed_cases; i++)
        for (int form = 0; form < FORMS; form++) {
            const typed_case *c = &typed_cases[i];
            seen[c->dtype] = true;
            tiny_model m;
            session s;
            tiny_begin(&m, 21);
            write_typed(&m, c, form);
            output(&m, "w");
            tiny_end(&m);
            load(&s, &m);
            prepare(&s);
            run(&s);
            const sdx_tensor *got = sdx_context_output(s.context, 0);
            assert_int_equal(got->dtype, c->dtype);
            assert_int_equal(got->count, c->count);
            size_t bytes = c->count * sdx_dtype_size(c->dtype);
            if (memcmp(got->data, c->memory, bytes) != 0)
                fail_msg("%s differs in form %d", sdx_dtype_name(c->dtype), form);
            end(&s, &m);
        }
    for (int d = 1; d < SDX_DTYPE_COUNT; d++)
        if (d != SDX_DTYPE_STRING && !seen[d])
            fail_msg("%s is not tried", sdx_dtype_name((sdx_dtype)d));
}

static void float_data_unpacked(void **state) {
    (void)state;
    tiny_model m;
    session s;
    tiny_begin(&m, 21);
    size_t tensor = sdx_pb_write_begin(&m.out, 5);
    for (int i = 0; i < 3; i++) sdx_pb_write_float(&m.out, 4, (float)i);
    sdx_pb_write_bytes(&m.out, 1, "\x01\x03", 2); /* packed dims, and behind the data */
    sdx_pb_write_varint(&m.out, 2, 1);
    tiny_text(&m.out, 8, "w");
    sdx_pb_write_end(&m.out, tensor);
    output(&m, "w");
    tiny_end(&m);
    load(&s, &m);
    prepare(&s);
    run(&s);
    check_floats(&s, 0, (const float[]){0, 1, 2}, 3);
    assert_int_equal(sdx_context_output(s.context, 0)->rank, 2);
    end(&s, &m);
}

/* ---- inputs and initializers ----------------------------------------------------------------------------- */

/* y = x + w, where w is both an input and an initializer. */
static void default_model(tiny_model *m, int64_t ir_version) {
    static const float w[2] = {10, 20};
    tiny_begin(m, 21);
    m->out.data[1] = (uint8_t)ir_version; /* the first field's value */
    tiny_value(m, 11, "x", 1, "2");
    tiny_value(m, 11, "w", 1, "2");
    tiny_constant(m, "w", 1, 2, w, sizeof w);
    tiny_node(m, "Add", "x,w", "y");
    output(m, "y");
    tiny_end(m);
}

static void before_ir_4_initializers_are_no_inputs(void **state) {
    (void)state;
    tiny_model m;
    session s;
    default_model(&m, 3);
    load(&s, &m);
    sdx_model_info info = {.struct_size = sizeof info};
    sdx_model_get_info(s.model, &info);
    assert_int_equal(info.ir_version, 3);
    assert_int_equal(info.input_count, 1);
    assert_int_equal(info.constant_count, 1);
    assert_int_equal(info.constant_bytes, 8);
    sdx_value_info value = {.struct_size = sizeof value};
    for (size_t i = 0; i < info.value_count; i++) {
        assert_int_equal(sdx_model_get_value(s.model, i, &value), SDX_STATUS_OK);
        if (strcmp(value.name, "w") == 0) assert_true(value.is_constant && !value.is_input);
        assert_false(value.has_default);
    }
    prepare(&s);
    give(&s, 0, SDX_DTYPE_FLOAT32, 1, (const int64_t[]){2}, (const float[]){1, 2});
    run(&s);
    check_floats(&s, 0, (const float[]){11, 22}, 2);
    end(&s, &m);
}

static void from_ir_4_on_they_are_defaults(void **state) {
    (void)state;
    tiny_model m;
    session s;
    default_model(&m, 4);
    load(&s, &m);
    sdx_value_info value = {.struct_size = sizeof value};
    assert_int_equal(sdx_model_get_value(s.model, sdx_model_input(s.model, 1), &value), 0);
    assert_string_equal(value.name, "w");
    assert_true(value.has_default && value.is_input && !value.is_constant);
    prepare(&s);
    give(&s, 0, SDX_DTYPE_FLOAT32, 1, (const int64_t[]){2}, (const float[]){1, 2});
    run(&s);
    check_floats(&s, 0, (const float[]){11, 22}, 2);
    give(&s, 1, SDX_DTYPE_FLOAT32, 1, (const int64_t[]){2}, (const float[]){-1, -1});
    run(&s);
    check_floats(&s, 0, (const float[]){0, 1}, 2);
    sdx_context *another;
    assert_int_equal(sdx_context_create(s.program, NULL, &another, NULL), SDX_STATUS_OK);
    sdx_context_release(s.context);
    s.context = another; /* has not been told of the other value */
    give(&s, 0, SDX_DTYPE_FLOAT32, 1, (const int64_t[]){2}, (const float[]){1, 2});
    run(&s);
    check_floats(&s, 0, (const float[]){11, 22}, 2);
    end(&s, &m);
}

static void default_of_a_body_input_is_not_used(void **state) {
    (void)state;
    /* Loop gives its body's inputs, whatever the body says of them. */
    static const float nine[1] = {9};
    static const int64_t rounds[1] = {3};
    tiny_model m;
    session s;
    tiny_begin(&m, 21);
    tiny_value(&m, 11, "x", 1, "1");
    size_t tensor = sdx_pb_write_begin(&m.out, 5);
    tensor_body(&m.out, SDX_DTYPE_INT64, "n", -1, rounds, 8);
    sdx_pb_write_end(&m.out, tensor);
    size_t mark = node_begin(&m.out, GRAPH_NODE, "Loop", "", "n,,x", "y");
    size_t attr = attr_begin(&m.out, 5, "body", A_GRAPH);
    tiny_model body = {.out = m.out};
    body.graph = sdx_pb_write_begin(&body.out, 6);
    tiny_value(&body, 11, "i", 7, "");
    tiny_value(&body, 11, "k", 9, "");
    tiny_value(&body, 11, "v", 1, "1");
    tiny_constant(&body, "v", 1, 1, nine, 4);
    tiny_node(&body, "Identity", "k", "k2");
    tiny_node(&body, "Add", "v,v", "v2");
    output(&body, "k2");
    output(&body, "v2");
    tiny_end(&body);
    m.out = body.out;
    sdx_pb_write_end(&m.out, attr);
    sdx_pb_write_end(&m.out, mark);
    output(&m, "y");
    tiny_end(&m);
    load(&s, &m);
    prepare(&s);
    for (int i = 0; i < 2; i++) {
        give(&s, 0, SDX_DTYPE_FLOAT32, 1, (const int64_t[]){1}, (const float[]){1});
        run(&s);
        check_floats(&s, 0, (const float[]){8}, 1);
    }
    end(&s, &m);
}

static void dims_by_name(void **state) {
    (void)state;
    static const char *const dims[] = {"N",  "N + 1", "batch-size", "2*K", "?",
                                       "-1", "None",  "M",          "a b"};
    static const char *const want[] = {"N",       "N + 1",  "batch-size", "K*2", "x.4",
                                       "x.5", "x.6", "M",          "a b"};
    tiny_model m;
    session s;
    tiny_begin(&m, 21);
    tiny_value(&m, 11, "x", 1, "N,N + 1,batch-size,2*K,?,-1,None,M,a b");
    tiny_node(&m, "Identity", "x", "y");
    output(&m, "y");
    tiny_end(&m);
    load(&s, &m);
    for (int32_t i = 0; i < (int32_t)(sizeof dims / sizeof *dims); i++) {
        char text[64];
        sdx_model_dim_text(s.model, sdx_model_input(s.model, 0), i, text, sizeof text);
        assert_string_equal(text, want[i]);
    }
    end(&s, &m);
}

static void wrong_size_behind_an_expression_is_seen_in_every_run(void **state) {
    (void)state;
    /* The symbols stay as they were, so the plan does; what was handed in must still be looked at. */
    static const float many[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    tiny_model m;
    session s;
    tiny_begin(&m, 21);
    tiny_value(&m, 11, "x", 1, "N");
    tiny_value(&m, 11, "z", 1, "N + 1");
    tiny_node(&m, "Relu", "z", "y");
    output(&m, "y");
    tiny_end(&m);
    load(&s, &m);
    prepare(&s);
    give(&s, 0, SDX_DTYPE_FLOAT32, 1, (const int64_t[]){3}, many);
    give(&s, 1, SDX_DTYPE_FLOAT32, 1, (const int64_t[]){4}, many);
    run(&s);
    check_floats(&s, 0, many, 4);
    give(&s, 1, SDX_DTYPE_FLOAT32, 1, (const int64_t[]){2}, many);
    assert_int_equal(sdx_context_run(s.context, &s.error), SDX_STATUS_BAD_INPUT);
    assert_non_null(strstr(s.error.message, "input 'z' has size 2 in dimension 0, the model "
                                            "expects N + 1 (4)"));
    assert_null(sdx_context_output(s.context, 0));
    give(&s, 1, SDX_DTYPE_FLOAT32, 1, (const int64_t[]){4}, many);
    run(&s);
    /* An empty tensor may not claim sizes that shapes cannot hold. */
    sdx_tensor empty = {.dtype = SDX_DTYPE_FLOAT32, .rank = 2, .dims = {0, INT64_MAX}};
    assert_int_equal(sdx_context_set_input(s.context, 1, &empty, &s.error), SDX_STATUS_BAD_INPUT);
    end(&s, &m);
}

/* ---- functions ----------------------------------------------------------------------------------------- */

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

/* choose(c, a, {g}) = If(c) g else g: the graph comes with the call and reads the caller's values. */
static void graph_handed_to_a_function(void **state) {
    (void)state;
    tiny_model m;
    session s;
    tiny_begin(&m, 21);
    tiny_value(&m, 11, "x", 1, "2");
    tiny_value(&m, 11, "c", 9, "");
    size_t n = node_begin(&m.out, GRAPH_NODE, "choose", "local", "c", "y");
    size_t attr = attr_begin(&m.out, 5, "g", A_GRAPH);
    tiny_model body = {.out = m.out};
    body.graph = sdx_pb_write_begin(&body.out, 6);
    tiny_node(&body, "Add", "x,late", "sum");
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
    run(&s);
    check_floats(&s, 0, (const float[]){2, 10}, 2);
    end(&s, &m);
}

/* ---- subgraphs ----------------------------------------------------------------------------------------- */

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

/* ---- ways to load ---------------------------------------------------------------------------------------- */

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

/* ---- what a model says about itself ---------------------------------------------------------------------- */

static void warn(void *user, sdx_log_level level, const char *message) {
    assert_int_equal(level, SDX_LOG_WARNING);
    assert_non_null(strstr(message, "newer than this library"));
    ++*(int *)user;
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

/* ---- limits ------------------------------------------------------------------------------------------------ */

static void limits_hold(void **state) {
    (void)state;
    sdx_limits limits = {.struct_size = sizeof limits, .max_nodes = 2};
    sdx_load_options options = {.struct_size = sizeof options, .limits = &limits};
    for (int nodes = 2; nodes <= 3; nodes++) {
        tiny_model m;
        tiny_begin(&m, 21);
        tiny_value(&m, 11, "v0", 1, "2");
        for (int i = 0; i < nodes; i++) {
            char from[8], to[8];
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
    expect_failure(&m, &options, SDX_STATUS_LIMIT, "more than the limit of 100000 bytes");
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

/* ---- little memory ----------------------------------------------------------------------------------------- */

typedef struct purse {
    size_t held, calls;
    size_t fail_at; /* this call fails; 0: none */
    bool for_good;  /* and all after it */
} purse;

static void *purse_allocate(void *user, size_t size, size_t alignment) {
    purse *p = user;
    p->calls++;
    if (p->fail_at && (p->calls == p->fail_at || (p->for_good && p->calls > p->fail_at)))
        return NULL;
    p->held += size;
    return sdx_default_allocator.allocate(NULL, size, alignment);
}

static void purse_release(void *user, void *memory, size_t size) {
    ((purse *)user)->held -= size;
    sdx_default_allocator.release(NULL, memory, size);
}

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
    for (int i = 0; status == SDX_STATUS_OK && i < 2; i++) status = sdx_context_run(s.context, error);
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
        cmocka_unit_test(attributes_of_every_kind),
        cmocka_unit_test(attributes_packed_and_defaulted),
        cmocka_unit_test(constant_in_every_spelling),
        cmocka_unit_test(typed_fields_equal_raw_data),
        cmocka_unit_test(float_data_unpacked),
        cmocka_unit_test(before_ir_4_initializers_are_no_inputs),
        cmocka_unit_test(from_ir_4_on_they_are_defaults),
        cmocka_unit_test(default_of_a_body_input_is_not_used),
        cmocka_unit_test(dims_by_name),
        cmocka_unit_test(wrong_size_behind_an_expression_is_seen_in_every_run),
        cmocka_unit_test(functions_are_inlined),
        cmocka_unit_test(graph_handed_to_a_function),
        cmocka_unit_test(subgraphs_see_outer_names_and_may_shadow_them),
        cmocka_unit_test(reader_callback),
        cmocka_unit_test(nothing_to_load),
        cmocka_unit_test(header_and_metadata),
        cmocka_unit_test(unsupported_operators_are_all_kept),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(everything_is_given_back),
        cmocka_unit_test(damage_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
