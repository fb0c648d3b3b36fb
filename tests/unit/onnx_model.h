/* onnx_model.h - what tests of the loader share: writing attributes, functions and tensors beyond
 * tiny_model.h; loading, running and checking a model in a few calls. Include after cmocka.h. */
#ifndef SDX_TESTS_ONNX_MODEL_H
#define SDX_TESTS_ONNX_MODEL_H

#include "sardonyx.h"
#include "tiny_model.h"

/* ---- writing more of a model than tiny_model.h does ------------------------------------- */

enum { GRAPH_NODE = 1, FUNCTION_NODE = 7 };
enum { A_FLOAT = 1, A_INT, A_STRING, A_TENSOR, A_GRAPH, A_FLOATS, A_INTS, A_STRINGS, A_TENSORS,
       A_GRAPHS, A_SPARSE, A_SPARSES, A_TYPE, A_TYPES };

static inline void names(sdx_pb_writer *out, uint32_t field, const char *list) {
    for (const char *at = list; *at;) {
        size_t length = strcspn(at, ",");
        sdx_pb_write_bytes(out, field, at, length);
        at += length + (at[length] == ',');
    }
}

/* An open node: attributes may follow; sdx_pb_write_end closes it. */
static inline size_t node_begin(sdx_pb_writer *out, uint32_t field, const char *op,
                                const char *domain, const char *inputs, const char *outputs) {
    size_t node = sdx_pb_write_begin(out, field);
    names(out, 1, inputs);
    names(out, 2, outputs);
    tiny_text(out, 4, op);
    if (domain[0]) tiny_text(out, 7, domain);
    return node;
}

static inline void node(sdx_pb_writer *out, uint32_t field, const char *op, const char *domain,
                        const char *inputs, const char *outputs) {
    sdx_pb_write_end(out, node_begin(out, field, op, domain, inputs, outputs));
}

static inline size_t attr_begin(sdx_pb_writer *out, uint32_t field, const char *name, int type) {
    size_t attr = sdx_pb_write_begin(out, field);
    tiny_text(out, 1, name);
    if (type) sdx_pb_write_varint(out, 20, (uint64_t)type);
    return attr;
}

static inline void attr_float(sdx_pb_writer *out, uint32_t field, const char *name, float value) {
    size_t attr = attr_begin(out, field, name, A_FLOAT);
    sdx_pb_write_float(out, 2, value);
    sdx_pb_write_end(out, attr);
}

static inline void attr_reference(sdx_pb_writer *out, const char *name, int type, const char *to) {
    size_t attr = attr_begin(out, 5, name, type);
    tiny_text(out, 21, to);
    sdx_pb_write_end(out, attr);
}

static inline void import(sdx_pb_writer *out, uint32_t field, const char *domain, int64_t version) {
    size_t opset = sdx_pb_write_begin(out, field);
    tiny_text(out, 1, domain);
    sdx_pb_write_varint(out, 2, (uint64_t)version);
    sdx_pb_write_end(out, opset);
}

static inline void tensor_body(sdx_pb_writer *out, int dtype, const char *name, int64_t count,
                               const void *data, size_t bytes) {
    if (count >= 0) sdx_pb_write_varint(out, 1, (uint64_t)count);
    sdx_pb_write_varint(out, 2, (uint64_t)dtype);
    if (name) tiny_text(out, 8, name);
    tiny_raw(out, dtype, data, bytes);
}

static inline void sparse_body(sdx_pb_writer *out, const char *name, const float *values,
                               const int64_t *at, int64_t count, int64_t size) {
    size_t part = sdx_pb_write_begin(out, 1);
    tensor_body(out, SDX_DTYPE_FLOAT32, name, count, values, (size_t)count * 4);
    sdx_pb_write_end(out, part);
    part = sdx_pb_write_begin(out, 2);
    tensor_body(out, SDX_DTYPE_INT64, NULL, count, at, (size_t)count * 8);
    sdx_pb_write_end(out, part);
    sdx_pb_write_varint(out, 3, (uint64_t)size);
}

static inline void output(tiny_model *m, const char *name) {
    size_t info = sdx_pb_write_begin(&m->out, 12);
    tiny_text(&m->out, 1, name);
    sdx_pb_write_end(&m->out, info);
}

/* ---- loading and running ---------------------------------------------------------------- */

typedef struct session {
    sdx_model *model;
    sdx_program *program;
    sdx_context *context;
    sdx_error error;
} session;

static inline void load_with(session *s, const tiny_model *m, const sdx_load_options *options) {
    *s = (session){0};
    assert_false(m->out.failed);
    if (sdx_model_load_memory(m->out.data, m->out.size, options, &s->model, &s->error) !=
        SDX_STATUS_OK)
        fail_msg("%s", s->error.message);
}

static inline void load(session *s, const tiny_model *m) { load_with(s, m, NULL); }

static inline void prepare(session *s) {
    sdx_context_options options = {.struct_size = sizeof options, .threads = 1};
    if (sdx_program_create(s->model, NULL, &s->program, &s->error) != SDX_STATUS_OK ||
        sdx_context_create(s->program, &options, &s->context, &s->error) != SDX_STATUS_OK)
        fail_msg("%s", s->error.message);
}

static inline void give(session *s, size_t index, sdx_dtype dtype, int32_t rank,
                        const int64_t *dims, const void *data) {
    sdx_tensor tensor;
    assert_int_equal(sdx_tensor_init(&tensor, dtype, rank, dims, (void *)(uintptr_t)data, NULL),
                     SDX_STATUS_OK);
    if (sdx_context_set_input(s->context, index, &tensor, &s->error) != SDX_STATUS_OK)
        fail_msg("%s", s->error.message);
}

static inline void run(session *s) {
    if (sdx_context_run(s->context, &s->error) != SDX_STATUS_OK) fail_msg("%s", s->error.message);
}

static inline void check_floats(const session *s, size_t index, const float *want, size_t count) {
    const sdx_tensor *got = sdx_context_output(s->context, index);
    assert_non_null(got);
    assert_int_equal(got->dtype, SDX_DTYPE_FLOAT32);
    assert_int_equal(got->count, count);
    for (size_t i = 0; i < count; i++)
        if (((const float *)got->data)[i] != want[i])
            fail_msg("element %zu is %g, not %g", i, (double)((const float *)got->data)[i],
                     (double)want[i]);
}

static inline void end(session *s, tiny_model *m) {
    sdx_context_release(s->context);
    sdx_program_release(s->program);
    sdx_model_release(s->model);
    tiny_free(m);
}

static inline void expect_failure(tiny_model *m, const sdx_load_options *options, sdx_status want,
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

/* ---- an allocator that counts and fails ------------------------------------------------- */

typedef struct purse {
    size_t held, calls;
    size_t fail_at; /* this call fails; 0: none */
    bool for_good;  /* and all after it */
} purse;

static inline void *purse_allocate(void *user, size_t size, size_t alignment) {
    purse *p = user;
    p->calls++;
    if (p->fail_at && (p->calls == p->fail_at || (p->for_good && p->calls > p->fail_at)))
        return NULL;
    p->held += size;
    return sdx_default_allocator.allocate(NULL, size, alignment);
}

static inline void purse_release(void *user, void *memory, size_t size) {
    ((purse *)user)->held -= size;
    sdx_default_allocator.release(NULL, memory, size);
}

/* ---- pieces of models ------------------------------------------------------------------- */

static inline void write_small_graph(sdx_pb_writer *out, uint32_t field, const char *name) {
    size_t graph = sdx_pb_write_begin(out, field);
    tiny_text(out, 2, name);
    sdx_pb_write_end(out, graph);
}

static inline void write_type(sdx_pb_writer *out, uint32_t field, int dtype) {
    size_t type = sdx_pb_write_begin(out, field), list = sdx_pb_write_begin(out, 4);
    size_t inner = sdx_pb_write_begin(out, 1), tensor = sdx_pb_write_begin(out, 1);
    sdx_pb_write_varint(out, 1, (uint64_t)dtype);
    sdx_pb_write_end(out, tensor);
    sdx_pb_write_end(out, inner);
    sdx_pb_write_end(out, list);
    sdx_pb_write_end(out, type);
}

/* Values of one kind into the open attribute; two of each list. */
static inline void write_kind(sdx_pb_writer *out, int kind) {
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

/* y = x + w, where w is both an input and an initializer. */
static inline void default_model(tiny_model *m, int64_t ir_version) {
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

#endif
