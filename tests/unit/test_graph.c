/* test_graph.c - the module's tables, the order of nodes and what subgraphs capture, types as text,
 * and constants from file bytes to memory layout: all element types, packed, sparse, misaligned. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/graph.h"

/* ---- an allocator that counts and fails ------------------------------------------------- */

typedef struct purse {
    size_t held, calls;
    size_t fail_at; /* the call that fails, and all after it; 0: none */
} purse;

static void *purse_allocate(void *user, size_t size, size_t alignment) {
    purse *p = user;
    if (++p->calls >= p->fail_at && p->fail_at) return NULL;
    p->held += size;
    return sdx_default_allocator.allocate(NULL, size, alignment);
}

static void purse_release(void *user, void *memory, size_t size) {
    ((purse *)user)->held -= size;
    sdx_default_allocator.release(NULL, memory, size);
}

static sdx_module *new_module(void) {
    sdx_module *module = NULL;
    assert_int_equal(sdx_module_create(NULL, NULL, NULL, &module, NULL), SDX_STATUS_OK);
    return module;
}

/* ---- tables ----------------------------------------------------------------------------- */

static void ids_grow_and_entries_start_empty(void **state) {
    (void)state;
    sdx_module *module = new_module();
    for (sdx_id i = 0; i < 1000; i++) {
        assert_int_equal(sdx_module_add_value(module, "v", 3), i);
        assert_int_equal(sdx_module_add_node(module), i);
        assert_int_equal(sdx_module_add_graph(module), i);
        const sdx_value_def *value = sdx_value_at(module, i);
        assert_string_equal(value->name, "v");
        assert_int_equal(value->graph, 3);
        assert_int_equal(value->producer, SDX_NONE);
        assert_int_equal(value->type.rank, -1);
        assert_int_equal(value->type.kind, SDX_KIND_NONE);
        assert_false(value->is_input || value->is_output || value->constant || value->fallback);
        assert_int_equal(sdx_graph_at(module, i)->owner, SDX_NONE);
        assert_null(sdx_node_at(module, i)->op);
        assert_int_equal(sdx_node_at(module, i)->input_count, 0);
    }
    assert_string_equal(sdx_value_at(module, 0)->name, "v"); /* kept while the table grew */
    sdx_module_release(module);
    sdx_module_release(NULL);
}

static void limits_have_defaults(void **state) {
    (void)state;
    sdx_module *module = new_module();
    assert_true(module->limits.max_memory == 0);
    assert_int_equal(module->limits.max_nodes, 4000000);
    assert_int_equal(module->limits.max_depth, 64);
    assert_true(module->limits.max_rounds == UINT64_MAX);
    sdx_module_release(module);

    /* A caller with an older, shorter struct: what lies behind struct_size is not read. */
    sdx_limits given = {.struct_size = offsetof(sdx_limits, max_depth), .max_memory = 1 << 20,
                        .max_nodes = 7, .max_depth = 3};
    assert_int_equal(sdx_module_create(NULL, &given, NULL, &module, NULL), SDX_STATUS_OK);
    assert_int_equal(module->limits.max_memory, 1 << 20);
    assert_int_equal(module->limits.max_nodes, 7);
    assert_int_equal(module->limits.max_depth, 64);
    assert_int_equal(module->limits.struct_size, sizeof given);
    assert_null(sdx_arena_alloc(&module->arena, 2 << 20)); /* the memory limit binds the arena */
    sdx_module_release(module);
}

static void creation_survives_lack_of_memory(void **state) {
    (void)state;
    size_t n = 1;
    for (bool done = false; !done; n++) {
        purse p = {.fail_at = n};
        sdx_allocator allocator = {&p, purse_allocate, purse_release};
        sdx_module *module = NULL;
        sdx_error error = {0};
        sdx_status status = sdx_module_create(&allocator, NULL, NULL, &module, &error);
        if (status != SDX_STATUS_OK) {
            assert_int_equal(status, SDX_STATUS_NO_MEMORY);
            assert_int_equal(error.code, SDX_STATUS_NO_MEMORY);
            assert_null(module);
        } else {
            bool failed = sdx_module_add_value(module, "v", 0) == SDX_NONE;
            failed |= sdx_module_add_node(module) == SDX_NONE;
            failed |= sdx_module_add_graph(module) == SDX_NONE;
            done = !failed;
            assert_int_equal(module->values.count, failed ? module->values.count : 1);
            sdx_module_release(module);
        }
        assert_int_equal(p.held, 0);
    }
    assert_true(n > 4);
}

/* ---- order ------------------------------------------------------------------------------ */

typedef struct net {
    sdx_module *module;
    sdx_id values[64];
} net;

/* A value of graph `graph`, known by a number of the test's own. */
static void add_value(net *n, unsigned value, sdx_id graph) {
    n->values[value] = sdx_module_add_value(n->module, "v", graph);
}

static sdx_id add_graph(net *n, sdx_id owner) {
    sdx_id id = sdx_module_add_graph(n->module);
    sdx_graph *graph = sdx_graph_at(n->module, id);
    graph->owner = owner;
    graph->nodes = sdx_arena_array(&n->module->arena, 32, sizeof(sdx_id));
    graph->outputs = sdx_arena_array(&n->module->arena, 4, sizeof(sdx_id));
    return id;
}

/* A node of `graph` that reads `inputs` (ended by -1) and makes `output`. */
static sdx_id add_node(net *n, sdx_id graph, const char *name, const int *inputs, unsigned output) {
    sdx_id id = sdx_module_add_node(n->module);
    sdx_node *node = sdx_node_at(n->module, id);
    *node = (sdx_node){.name = name, .op_type = "Op", .graph = graph, .position = id};
    node->inputs = sdx_arena_array(&n->module->arena, 8, sizeof(sdx_id));
    node->outputs = sdx_arena_array(&n->module->arena, 1, sizeof(sdx_id));
    for (; *inputs != -1; inputs++)
        node->inputs[node->input_count++] = *inputs == -2 ? SDX_NONE : n->values[*inputs];
    node->outputs[0] = n->values[output];
    node->output_count = 1;
    sdx_value_at(n->module, n->values[output])->producer = id;
    sdx_graph *g = sdx_graph_at(n->module, graph);
    g->nodes[g->node_count++] = id;
    return id;
}

#define READS(...) ((const int[]){__VA_ARGS__, -1})
#define LEFT_OUT -2

static void attach(net *n, sdx_id node, sdx_id graph) {
    sdx_attr *attr = sdx_arena_alloc(&n->module->arena, sizeof *attr);
    sdx_id *ids = sdx_arena_alloc(&n->module->arena, sizeof *ids);
    *ids = graph;
    *attr = (sdx_attr){.name = "body", .kind = SDX_ATTR_GRAPH, .count = 1, .as.graphs = ids};
    sdx_node_at(n->module, node)->attrs = attr;
    sdx_node_at(n->module, node)->attr_count = 1;
    sdx_graph_at(n->module, graph)->owner = node;
}

static void begin(net *n, unsigned values) {
    n->module = new_module();
    add_graph(n, SDX_NONE);
    for (unsigned i = 0; i < values; i++) add_value(n, i, 0);
}

/* Each node of the graph must follow what it reads there. */
static void check_order(const net *n, sdx_id graph_id) {
    const sdx_graph *graph = sdx_graph_at(n->module, graph_id);
    for (uint32_t i = 0; i < graph->node_count; i++)
        sdx_node_at(n->module, graph->nodes[i])->mark = i;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const sdx_node *node = sdx_node_at(n->module, graph->nodes[i]);
        for (uint32_t k = 0; k < node->input_count; k++) {
            if (node->inputs[k] == SDX_NONE) continue;
            sdx_id producer = sdx_value_at(n->module, node->inputs[k])->producer;
            if (producer != SDX_NONE && sdx_node_at(n->module, producer)->graph == graph_id)
                assert_true(sdx_node_at(n->module, producer)->mark < i);
        }
    }
}

static void sorted_graph_is_left_alone(void **state) {
    (void)state;
    net n;
    begin(&n, 6);
    add_node(&n, 0, "a", READS(0), 1);
    add_node(&n, 0, "b", READS(0, LEFT_OUT), 2); /* independent of a: stays second */
    add_node(&n, 0, "c", READS(1, 2), 3);
    add_node(&n, 0, "d", READS(3, 3), 4);
    const sdx_id *before = sdx_graph_at(n.module, 0)->nodes;
    assert_int_equal(sdx_graph_sort(n.module, 0, NULL), SDX_STATUS_OK);
    const sdx_graph *graph = sdx_graph_at(n.module, 0);
    assert_ptr_equal(graph->nodes, before);
    for (uint32_t i = 0; i < 4; i++) assert_int_equal(graph->nodes[i], i);
    assert_int_equal(graph->capture_count, 0);
    sdx_module_release(n.module);
}

static void unsorted_graph_is_put_in_order(void **state) {
    (void)state;
    net n;
    begin(&n, 8);
    add_node(&n, 0, "last", READS(3, 4), 5);
    add_node(&n, 0, "right", READS(2), 4);
    add_node(&n, 0, "left", READS(2), 3);
    add_node(&n, 0, "first", READS(0, LEFT_OUT), 2);
    add_node(&n, 0, "alone", READS(1), 6);
    assert_int_equal(sdx_graph_sort(n.module, 0, NULL), SDX_STATUS_OK);
    check_order(&n, 0);
    const sdx_graph *graph = sdx_graph_at(n.module, 0);
    assert_int_equal(graph->node_count, 5);
    uint32_t seen = 0;
    for (uint32_t i = 0; i < 5; i++) seen |= 1u << graph->nodes[i];
    assert_int_equal(seen, 0x1f); /* each once */
    assert_int_equal(graph->nodes[4], 4); /* what nothing waits for keeps its place */
    sdx_module_release(n.module);
}

static void long_backward_chain(void **state) {
    (void)state;
    enum { LENGTH = 100000 }; /* recursion would need a frame for each */
    sdx_module *module = new_module();
    sdx_module_add_graph(module);
    sdx_graph *graph = sdx_graph_at(module, 0);
    graph->nodes = sdx_arena_array(&module->arena, LENGTH, sizeof(sdx_id));
    for (sdx_id i = 0; i <= LENGTH; i++) sdx_module_add_value(module, "v", 0);
    for (sdx_id i = 0; i < LENGTH; i++) {
        sdx_node *node = sdx_node_at(module, sdx_module_add_node(module));
        *node = (sdx_node){.name = "n", .op_type = "Op", .input_count = 1, .output_count = 1};
        node->inputs = sdx_arena_array(&module->arena, 2, sizeof(sdx_id));
        node->outputs = node->inputs + 1;
        node->inputs[0] = LENGTH - 1 - i; /* the last node of the list makes value 1 from 0 */
        node->outputs[0] = LENGTH - i;
        sdx_value_at(module, LENGTH - i)->producer = i;
        graph->nodes[graph->node_count++] = i;
    }
    assert_int_equal(sdx_graph_sort(module, 0, NULL), SDX_STATUS_OK);
    graph = sdx_graph_at(module, 0);
    for (uint32_t i = 0; i < LENGTH; i++) assert_int_equal(graph->nodes[i], LENGTH - 1 - i);
    sdx_module_release(module);
}

static void expect_cycle(net *n, const char *name) {
    sdx_error error = {0};
    assert_int_equal(sdx_graph_sort(n->module, 0, &error), SDX_STATUS_BAD_MODEL);
    assert_non_null(strstr(error.message, "the graph has a cycle through this node"));
    if (name) assert_string_equal(error.node, name);
    assert_string_equal(error.op, "Op");
    sdx_module_release(n->module);
}

static void cycles_are_named(void **state) {
    (void)state;
    net n;
    begin(&n, 3);
    add_node(&n, 0, "self", READS(0, 1), 1);
    expect_cycle(&n, "self");

    begin(&n, 6);
    add_node(&n, 0, "before", READS(0), 1);
    add_node(&n, 0, "ping", READS(1, 3), 2);
    add_node(&n, 0, "pong", READS(2), 3);
    add_node(&n, 0, "after", READS(3), 4);
    expect_cycle(&n, NULL);

    /* The node reads, through its body, what it makes itself. */
    begin(&n, 4);
    sdx_id loop = add_node(&n, 0, "loop", READS(0), 1);
    sdx_id body = add_graph(&n, loop);
    add_value(&n, 10, body);
    add_node(&n, body, "inside", READS(1), 10);
    attach(&n, loop, body);
    assert_int_equal(sdx_graph_sort(n.module, body, NULL), SDX_STATUS_OK);
    expect_cycle(&n, "loop");
}

/* ---- captures --------------------------------------------------------------------------- */

static bool captures(const net *n, sdx_id graph, unsigned value) {
    const sdx_graph *g = sdx_graph_at(n->module, graph);
    uint32_t found = 0;
    for (uint32_t i = 0; i < g->capture_count; i++) found += g->captures[i] == n->values[value];
    assert_true(found <= 1);
    return found == 1;
}

static void captures_reach_through_levels(void **state) {
    (void)state;
    static const sdx_const constant = {.dtype = SDX_DTYPE_FLOAT32};
    net n;
    begin(&n, 8); /* main: 0 input, 1 and 2 made here, 3 a constant */
    sdx_value_at(n.module, n.values[3])->constant = &constant;
    add_node(&n, 0, "one", READS(0), 1);
    sdx_id outer = add_node(&n, 0, "outer", READS(0), 5);
    add_node(&n, 0, "late", READS(0), 2);
    sdx_id middle = add_graph(&n, outer);
    add_value(&n, 10, middle);
    add_value(&n, 11, middle);
    add_node(&n, middle, "m", READS(1, 1, 3), 10);
    sdx_id inner_owner = add_node(&n, middle, "inner owner", READS(10), 11);
    sdx_id inner = add_graph(&n, inner_owner);
    add_value(&n, 20, inner);
    add_node(&n, inner, "i", READS(2, 10, 1), 20);
    sdx_graph_at(n.module, inner)->outputs[0] = n.values[0]; /* hands an outer value on */
    sdx_graph_at(n.module, inner)->output_count = 1;
    attach(&n, inner_owner, inner);
    attach(&n, outer, middle);
    /* As the loader does it: innermost first. */
    assert_int_equal(sdx_graph_sort(n.module, inner, NULL), SDX_STATUS_OK);
    assert_int_equal(sdx_graph_sort(n.module, middle, NULL), SDX_STATUS_OK);
    assert_int_equal(sdx_graph_sort(n.module, 0, NULL), SDX_STATUS_OK);

    assert_int_equal(sdx_graph_at(n.module, inner)->capture_count, 4);
    assert_true(captures(&n, inner, 0) && captures(&n, inner, 1));
    assert_true(captures(&n, inner, 2) && captures(&n, inner, 10));
    assert_int_equal(sdx_graph_at(n.module, middle)->capture_count, 3);
    assert_true(captures(&n, middle, 0) && captures(&n, middle, 1) && captures(&n, middle, 2));
    assert_int_equal(sdx_graph_at(n.module, 0)->capture_count, 0);
    /* What the innermost graph reads must be there before the outermost node runs. */
    const sdx_graph *graph = sdx_graph_at(n.module, 0);
    assert_int_equal(graph->nodes[graph->node_count - 1], outer);
    sdx_module_release(n.module);
}

static void sorting_survives_lack_of_memory(void **state) {
    (void)state;
    for (size_t fail = 1; fail < 12; fail++) {
        purse p = {0};
        sdx_allocator allocator = {&p, purse_allocate, purse_release};
        net n;
        assert_int_equal(sdx_module_create(&allocator, NULL, NULL, &n.module, NULL),
                         SDX_STATUS_OK);
        add_graph(&n, SDX_NONE);
        for (unsigned i = 0; i < 40; i++) add_value(&n, i, 0);
        for (int i = 20; i > 0; i--) add_node(&n, 0, "n", READS(i - 1), (unsigned)i);
        p.fail_at = p.calls + fail;
        sdx_error error = {0};
        sdx_status status = sdx_graph_sort(n.module, 0, &error);
        if (status == SDX_STATUS_OK) check_order(&n, 0);
        else assert_int_equal(status, SDX_STATUS_NO_MEMORY);
        if (fail == 1) assert_int_equal(status, SDX_STATUS_NO_MEMORY);
        sdx_module_release(n.module);
        assert_int_equal(p.held, 0);
    }
}

/* ---- types as text ---------------------------------------------------------------------- */

static void check_text(const sdx_module *module, const sdx_type *type, const char *want) {
    char buffer[200];
    memset(buffer, 'x', sizeof buffer);
    assert_int_equal(sdx_type_text(module, type, buffer, sizeof buffer), strlen(want));
    assert_string_equal(buffer, want);
    for (size_t size = 0; size < 12; size++) {
        memset(buffer, 'x', sizeof buffer);
        assert_int_equal(sdx_type_text(module, type, buffer, size), strlen(want));
        assert_int_equal(buffer[size], 'x'); /* nothing past the end */
        if (size == 0) continue;
        size_t shown = strlen(want) < size ? strlen(want) : size - 1;
        assert_int_equal(strlen(buffer), shown);
        assert_memory_equal(buffer, want, shown);
    }
}

static void types_as_text(void **state) {
    (void)state;
    sdx_module *module = new_module();
    sdx_expr batch = sdx_expr_symbol(module->pool, "batch", 5);
    const sdx_expr dims[] = {batch, sdx_expr_const(3),
                             sdx_expr_mul(module->pool, batch, sdx_expr_const(2)),
                             SDX_EXPR_UNKNOWN};
    sdx_type tensor = {.kind = SDX_KIND_TENSOR, .dtype = SDX_DTYPE_FLOAT32, .rank = 4,
                       .dims = dims};
    check_text(module, &tensor, "float32[batch,3,batch*2,?]");
    check_text(module, &(sdx_type){.kind = SDX_KIND_TENSOR, .dtype = SDX_DTYPE_INT4, .rank = 0},
               "int4[]");
    check_text(module, &(sdx_type){.kind = SDX_KIND_TENSOR, .rank = -1}, "?[...]");
    check_text(module, &(sdx_type){.kind = SDX_KIND_SPARSE, .dtype = SDX_DTYPE_BOOL, .rank = -1},
               "sparse bool[...]");
    sdx_type list = {.kind = SDX_KIND_SEQUENCE, .inner = &tensor};
    check_text(module, &list, "sequence(float32[batch,3,batch*2,?])");
    check_text(module, &(sdx_type){.kind = SDX_KIND_OPTIONAL, .inner = &list},
               "optional(sequence(float32[batch,3,batch*2,?]))");
    sdx_type map = {.kind = SDX_KIND_MAP, .dtype = SDX_DTYPE_STRING, .inner = &tensor};
    check_text(module, &map, "map(string,float32[batch,3,batch*2,?])");
    check_text(module, &(sdx_type){.kind = SDX_KIND_NONE}, "?");
    sdx_type deep[40];
    for (int i = 0; i < 40; i++)
        deep[i] = (sdx_type){.kind = SDX_KIND_SEQUENCE, .inner = i ? &deep[i - 1] : &tensor};
    char buffer[1000];
    assert_true(sdx_type_text(module, &deep[39], buffer, sizeof buffer) < 400); /* stops */
    sdx_module_release(module);
}

/* ---- constants -------------------------------------------------------------------------- */

/* Bytes that an order of bytes applies to: half a complex number. */
static size_t unit_of(sdx_dtype dtype) {
    size_t size = sdx_dtype_size(dtype);
    return dtype == SDX_DTYPE_COMPLEX64 || dtype == SDX_DTYPE_COMPLEX128 ? size / 2 : size;
}

/* Decodes from an odd address as from an even one. */
static void check_decode(sdx_dtype dtype, size_t count, const void *file, size_t file_bytes,
                         const void *want) {
    size_t bytes = count * sdx_dtype_size(dtype);
    size_t needed = 0;
    assert_true(sdx_dtype_file_size(dtype, count, &needed));
    assert_int_equal(needed, file_bytes);
    for (size_t shift = 0; shift < 9; shift++) {
        uint8_t *source = malloc(file_bytes + shift), *out = malloc(bytes + 1);
        memcpy(source + shift, file, file_bytes);
        out[bytes] = 0x5a;
        const int64_t dims[1] = {(int64_t)count};
        sdx_const constant = {.dtype = dtype, .rank = 1, .dims = dims, .count = count,
                              .data = source + shift, .bytes = file_bytes};
        if (sdx_const_in_place(&constant)) {
            assert_int_equal((uintptr_t)constant.data % unit_of(dtype), 0);
            assert_memory_equal(constant.data, want, bytes);
        }
        sdx_const_decode(&constant, out);
        assert_memory_equal(out, want, bytes);
        assert_int_equal(out[bytes], 0x5a); /* and nothing behind it */
        free(source);
        free(out);
    }
}

static void constants_of_every_plain_type(void **state) {
    (void)state;
    /* Little-endian, as in every file. */
    static const uint8_t bytes[16] = {0x00, 0x00, 0x80, 0x3f, 0x01, 0x02, 0x03, 0x84,
                                      0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88};
    static const sdx_dtype dtypes[] = {
        SDX_DTYPE_FLOAT32,        SDX_DTYPE_UINT8,      SDX_DTYPE_INT8,
        SDX_DTYPE_UINT16,         SDX_DTYPE_INT16,      SDX_DTYPE_INT32,
        SDX_DTYPE_INT64,          SDX_DTYPE_BOOL,       SDX_DTYPE_FLOAT16,
        SDX_DTYPE_FLOAT64,        SDX_DTYPE_UINT32,     SDX_DTYPE_UINT64,
        SDX_DTYPE_COMPLEX64,      SDX_DTYPE_COMPLEX128, SDX_DTYPE_BFLOAT16,
        SDX_DTYPE_FLOAT8E4M3FN,   SDX_DTYPE_FLOAT8E4M3FNUZ, SDX_DTYPE_FLOAT8E5M2,
        SDX_DTYPE_FLOAT8E5M2FNUZ, SDX_DTYPE_FLOAT8E8M0};
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        size_t size = sdx_dtype_size(dtypes[i]), unit = unit_of(dtypes[i]);
        uint8_t want[16]; /* in the order of this machine */
        for (size_t at = 0; at < 16; at += unit) {
            uint64_t value = 0;
            for (size_t k = 0; k < unit; k++) value |= (uint64_t)bytes[at + k] << (8 * k);
            if (unit == 1) want[at] = (uint8_t)value;
            if (unit == 2) memcpy(want + at, &(uint16_t){(uint16_t)value}, 2);
            if (unit == 4) memcpy(want + at, &(uint32_t){(uint32_t)value}, 4);
            if (unit == 8) memcpy(want + at, &value, 8);
        }
        check_decode(dtypes[i], 16 / size, bytes, 16, want);
    }
}

static void constants_of_packed_types(void **state) {
    (void)state;
    /* Low bits first. 0x9e is 14 then 9. */
    static const uint8_t nibbles[] = {0x9e, 0x70, 0xf8};
    check_decode(SDX_DTYPE_UINT4, 6, nibbles, 3, (const uint8_t[]){14, 9, 0, 7, 8, 15});
    check_decode(SDX_DTYPE_UINT4, 5, nibbles, 3, (const uint8_t[]){14, 9, 0, 7, 8});
    check_decode(SDX_DTYPE_INT4, 6, nibbles, 3, (const int8_t[]){-2, -7, 0, 7, -8, -1});
    check_decode(SDX_DTYPE_FLOAT4E2M1, 5, nibbles, 3, (const uint8_t[]){14, 9, 0, 7, 8});
    static const uint8_t pairs[] = {0xe4, 0x02}; /* 0 1 2 3, 2 */
    check_decode(SDX_DTYPE_UINT2, 5, pairs, 2, (const uint8_t[]){0, 1, 2, 3, 2});
    check_decode(SDX_DTYPE_INT2, 5, pairs, 2, (const int8_t[]){0, 1, -2, -1, -2});
    /* Six bits cross bytes: 1, 2, 3, 63 are 0x3f3|0c2|01 from the top. */
    static const uint8_t sixes[] = {0x81, 0x30, 0xfc};
    check_decode(SDX_DTYPE_FLOAT6E2M3, 4, sixes, 3, (const uint8_t[]){1, 2, 3, 63});
    check_decode(SDX_DTYPE_FLOAT6E3M2, 3, sixes, 3, (const uint8_t[]){1, 2, 3});
}

static void host_constants_are_used_where_they_lie(void **state) {
    (void)state;
    int64_t numbers[3] = {1, -2, 3}, out[3];
    const int64_t dims[1] = {3};
    sdx_const constant = {.dtype = SDX_DTYPE_INT64, .rank = 1, .dims = dims, .count = 3,
                          .data = numbers, .bytes = sizeof numbers, .host = true};
    assert_true(sdx_const_in_place(&constant));
    sdx_const_decode(&constant, out);
    assert_memory_equal(out, numbers, sizeof out);
    /* Unpacked already: not to be unpacked again. */
    int8_t nibbles[3] = {-8, 7, -1}, copy[3];
    constant = (sdx_const){.dtype = SDX_DTYPE_INT4, .rank = 1, .dims = dims, .count = 3,
                           .data = nibbles, .bytes = 3, .host = true};
    assert_true(sdx_const_in_place(&constant));
    sdx_const_decode(&constant, copy);
    assert_memory_equal(copy, nibbles, 3);
    constant.host = false;
    assert_false(sdx_const_in_place(&constant));
    constant.count = 0; /* has no address to use */
    assert_false(sdx_const_in_place(&constant));
    sdx_const_decode(&constant, copy);
    assert_memory_equal(copy, nibbles, 3);
}

static void check_sparse(sdx_dtype dtype, const void *file, bool host, const void *want,
                         size_t count) {
    const int64_t at[3] = {1, 2, 5}, dims[1] = {3};
    sdx_const values = {.dtype = dtype, .rank = 1, .dims = dims, .count = 3, .data = file,
                        .host = host};
    sdx_const indices = {.dtype = SDX_DTYPE_INT64, .rank = 1, .dims = dims, .count = 3, .data = at,
                         .host = true};
    sdx_const sparse = {.dtype = dtype, .count = count, .sparse_values = &values,
                        .sparse_indices = &indices};
    assert_false(sdx_const_in_place(&sparse));
    size_t bytes = count * sdx_dtype_size(dtype);
    uint8_t *out = malloc(bytes);
    memset(out, 0xee, bytes);
    sdx_const_decode(&sparse, out);
    if (dtype != SDX_DTYPE_STRING) assert_memory_equal(out, want, bytes);
    const sdx_string *got = (const sdx_string *)(void *)out, *text = want;
    for (size_t i = 0; dtype == SDX_DTYPE_STRING && i < count; i++) {
        assert_non_null(got[i].data);
        assert_int_equal(got[i].size, text[i].size);
        assert_memory_equal(got[i].data, text[i].data, text[i].size);
    }
    free(out);
}

static void sparse_constants(void **state) {
    (void)state;
    static const float floats[3] = {1, 2, 3}, dense[7] = {0, 1, 2, 0, 0, 3, 0};
    uint8_t odd[13];
    memcpy(odd + 1, floats, 12);
    check_sparse(SDX_DTYPE_FLOAT32, floats, true, dense, 7);
    bool little = *(const uint8_t *)&(const uint16_t){1} == 1;
    if (little) check_sparse(SDX_DTYPE_FLOAT32, odd + 1, false, dense, 7);
    check_sparse(SDX_DTYPE_INT4, (const uint8_t[]){0x9e, 0x03}, false,
                 (const int8_t[]){0, -2, -7, 0, 0, 3, 0}, 7);
    check_sparse(SDX_DTYPE_UINT2, (const uint8_t[]){0x2d}, false,
                 (const uint8_t[]){0, 1, 3, 0, 0, 2}, 6);
    check_sparse(SDX_DTYPE_FLOAT6E2M3, (const uint8_t[]){0x81, 0x30, 0x00}, false,
                 (const uint8_t[]){0, 1, 2, 0, 0, 3}, 6);
    static const sdx_string words[3] = {{"a", 1}, {"bc", 2}, {"", 0}};
    static const sdx_string spread[6] = {{"", 0}, {"a", 1}, {"bc", 2}, {"", 0}, {"", 0}, {"", 0}};
    check_sparse(SDX_DTYPE_STRING, words, true, spread, 6);
    /* Past the first group of packed elements. */
    uint8_t packed[10];
    int64_t at[20];
    uint8_t want[21] = {0}, out[21];
    for (size_t i = 0; i < 10; i++) packed[i] = (uint8_t)(0x10 * (i + 1) | i);
    for (size_t i = 0; i < 20; i++) {
        at[i] = (int64_t)i + 1;
        want[i + 1] = (uint8_t)(i % 2 ? i / 2 + 1 : i / 2);
    }
    const int64_t dims[1] = {20};
    sdx_const values = {.dtype = SDX_DTYPE_UINT4, .rank = 1, .dims = dims, .count = 20,
                        .data = packed};
    sdx_const indices = {.dtype = SDX_DTYPE_INT64, .rank = 1, .dims = dims, .count = 20,
                         .data = at, .host = true};
    sdx_const sparse = {.dtype = SDX_DTYPE_UINT4, .count = 21, .sparse_values = &values,
                        .sparse_indices = &indices};
    sdx_const_decode(&sparse, out);
    assert_memory_equal(out, want, sizeof want);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_grow_and_entries_start_empty),
        cmocka_unit_test(limits_have_defaults),
        cmocka_unit_test(creation_survives_lack_of_memory),
        cmocka_unit_test(sorted_graph_is_left_alone),
        cmocka_unit_test(unsorted_graph_is_put_in_order),
        cmocka_unit_test(long_backward_chain),
        cmocka_unit_test(cycles_are_named),
        cmocka_unit_test(captures_reach_through_levels),
        cmocka_unit_test(sorting_survives_lack_of_memory),
        cmocka_unit_test(types_as_text),
        cmocka_unit_test(constants_of_every_plain_type),
        cmocka_unit_test(constants_of_packed_types),
        cmocka_unit_test(host_constants_are_used_where_they_lie),
        cmocka_unit_test(sparse_constants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
