/* test_onnx.c - what the loader makes of a model's parts: attributes of every kind, constants in
 * every spelling, typed fields against raw data, inputs with defaults, named dims. Models are built
 * in memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "onnx_model.h"

/* ---- attributes ------------------------------------------------------------------------- */

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
            char name[16];
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

/* ---- constants -------------------------------------------------------------------------- */

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

/* ---- typed fields and raw data ---------------------------------------------------------- */

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
            uint8_t wanted[sizeof c->memory];
            memcpy(wanted, c->memory, bytes);
            size_t unit = sdx_dtype_size(c->dtype);
            if (c->dtype == SDX_DTYPE_COMPLEX64 || c->dtype == SDX_DTYPE_COMPLEX128) unit /= 2;
            if (!sdx_little_endian()) sdx_swap_bytes(wanted, bytes, unit);
            if (memcmp(got->data, wanted, bytes) != 0)
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

/* ---- inputs and initializers ------------------------------------------------------------ */

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
    purse p = {0};
    sdx_allocator allocator = {&p, purse_allocate, purse_release};
    load_with(&s, &m,
              &(sdx_load_options){.struct_size = sizeof(sdx_load_options),
                                  .allocator = &allocator});
    prepare(&s);
    for (int i = 0; i < 2; i++) {
        give(&s, 0, SDX_DTYPE_FLOAT32, 1, (const int64_t[]){1}, (const float[]){1});
        run(&s);
        check_floats(&s, 0, (const float[]){8}, 1);
    }
    end(&s, &m);
    assert_int_equal(p.held, 0); /* the values handed to the body are not kept */
}

static void dims_by_name(void **state) {
    (void)state;
    /* What is no plain name is shown in quotes; open dims are named after their input. */
    static const char *const want[] = {"N",   "N + 1", "'batch-size'", "'K*2'", "x.4",
                                       "x.5", "x.6",   "M",            "'a b'"};
    tiny_model m;
    session s;
    tiny_begin(&m, 21);
    tiny_value(&m, 11, "x", 1, "N,N + 1,batch-size,K*2,?,-1,None,M,a b");
    tiny_node(&m, "Identity", "x", "y");
    output(&m, "y");
    tiny_end(&m);
    load(&s, &m);
    for (int32_t i = 0; i < (int32_t)(sizeof want / sizeof *want); i++) {
        char text[64];
        sdx_model_dim_text(s.model, sdx_model_input(s.model, 0), i, text, sizeof text);
        assert_string_equal(text, want[i]);
    }
    end(&s, &m);
}

static void wrong_size_behind_an_expression_is_seen_in_every_run(void **state) {
    (void)state;
    /* The symbols stay as they were, and so does the plan; what comes in must still be checked. */
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
