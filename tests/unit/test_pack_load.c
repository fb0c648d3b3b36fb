/* test_pack_load.c - packed files that a stranger made up: one value of a sound file is another, and the digests
 * fit. Each check of src/pack/load*.c refuses what it is there for, and the file as it was is taken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "exec/stored.h"
#include "graph/expr_internal.h"
#include "graph/graph.h"
#include "packed_file.h"

#define DATA     SDX_PACKED_PAGE /* where constants lie: c, then b */
#define INDEX_AT (SDX_PACKED_PAGE + 2 * SDX_PACKED_ALIGN)

static const float numbers[3] = {1, 2, 3};
static const uint8_t truth = 1;

/* N; 2N + 5; (2N + 5) / 3; max(N, 4). */
static void put_expressions(writer *w) {
    number(w, "expression count", 4);
    number(w, "symbol kind", SDX_EXPR_KIND_SYMBOL);
    text(w, "N");
    number(w, NULL, SDX_EXPR_KIND_SUM);
    number(w, "terms", 2);
    sign(w, "coefficient", 2);
    number(w, "degree", 1);
    number(w, "factor", 0);
    sign(w, NULL, 5);
    number(w, NULL, 0);
    number(w, NULL, SDX_EXPR_KIND_FLOORDIV);
    for (uint64_t i = 0, n = number(w, "operands of a division", 2); i < n; i++) {
        number(w, NULL, i ? SDX_REF_NUMBER : SDX_REF_POOLED);
        if (i) sign(w, "divisor", 3);
        else number(w, "dividend", 1);
    }
    number(w, NULL, SDX_EXPR_KIND_MAX);
    const uint64_t operands = number(w, "operands of a maximum", 2);
    for (uint64_t i = 0; i < operands; i++) {
        number(w, NULL, i ? SDX_REF_NUMBER : SDX_REF_POOLED);
        if (i) sign(w, "number", 4);
        else number(w, NULL, 0);
    }
}

/* c = {1, 2, 3}; b, a truth; t, two texts; a, which is only there packed. */
static void put_constants(writer *w) {
    number(w, "constant count", 4);
    text(w, "c");
    number(w, "c type", SDX_DTYPE_FLOAT32);
    for (uint64_t i = 0, rank = number(w, "c rank", 1); i < rank; i++)
        number(w, i ? NULL : "c dim", i ? 1 : 3);
    const uint64_t kind = number(w, "c encoding", SDX_ENCODING_FILE);
    if (kind == SDX_ENCODING_FILE || kind == SDX_ENCODING_HALF)
        span(w, "c at", DATA, "c bytes", numbers, sizeof numbers);
    text(w, "b");
    number(w, "b type", SDX_DTYPE_BOOL);
    number(w, NULL, 0);
    number(w, "b encoding", SDX_ENCODING_FILE);
    span(w, "b at", DATA + SDX_PACKED_ALIGN, "b bytes", &truth, sizeof truth);
    text(w, "t");
    number(w, "t type", SDX_DTYPE_STRING);
    number(w, NULL, 1);
    number(w, "t dim", 2);
    number(w, "t encoding", SDX_ENCODING_STRINGS);
    text(w, "one");
    text(w, "two");
    text(w, "a");
    number(w, NULL, SDX_DTYPE_FLOAT32);
    number(w, NULL, 1);
    number(w, "a dim", 3);
    number(w, NULL, SDX_ENCODING_ABSENT);
}

static void put_type(writer *w) {
    number(w, "x kind", SDX_KIND_TENSOR);
    number(w, NULL, SDX_DTYPE_FLOAT32);
    const uint64_t rank = number(w, "x rank", 1 + 2) - 1;
    if (number(w, "x dim", SDX_REF_POOLED) == SDX_REF_POOLED) number(w, "x expression", 0);
    for (uint64_t i = 1; i < rank; i++) {
        number(w, NULL, SDX_REF_NUMBER);
        sign(w, i == 1 ? "x columns" : NULL, 3);
    }
    number(w, "x inner", 0);
}

enum { VALUE_X, VALUE_C, VALUE_B, VALUE_S, VALUE_Y, VALUE_T, VALUE_U, VALUES };

static void put_values(writer *w) {
    static const char *const names[VALUES] = {"x", "c", "b", "s", "y", "t", "u"};
    static const uint64_t graphs[VALUES] = {[VALUE_T] = 1, [VALUE_U] = 2};
    number(w, "value count", VALUES);
    for (uint64_t i = 0; i < VALUES; i++) {
        text(w, names[i]);
        number(w, i == VALUE_T ? "t graph" : NULL, graphs[i]);
        const char *label = i == VALUE_X ? "x flags" : i == VALUE_S ? "s flags" : NULL;
        const uint64_t flags = number(w, label, i == VALUE_X   ? SDX_VALUE_TYPE
                                                : i == VALUE_C ? SDX_VALUE_CONSTANT
                                                : i == VALUE_B ? SDX_VALUE_CONSTANT
                                                               : 0);
        if (flags & SDX_VALUE_CONSTANT) number(w, i == VALUE_C ? "c constant" : NULL, i == VALUE_B);
        if (flags & SDX_VALUE_FALLBACK) number(w, NULL, 3);
        if (flags & SDX_VALUE_TYPE) put_type(w);
    }
}

/* Up to attributes. Numbers of values count from 1, 0 standing for none. */
static void put_node(writer *w, const char *op, const char *graph_label, uint64_t graph,
                     const char *in_label, const uint64_t *ins, uint64_t in_count, const char *out_label,
                     uint64_t out) {
    text(w, op);
    text(w, op);
    text(w, "");
    text(w, "");
    sign(w, NULL, 13);
    number(w, graph_label, graph);
    number(w, NULL, 0); /* not chosen */
    number(w, NULL, in_count);
    for (uint64_t i = 0; i < in_count; i++) number(w, i ? NULL : in_label, 1 + ins[i]);
    number(w, NULL, 1);
    number(w, out_label, 1 + out);
    number(w, *op == 'A' && op[1] == 'd' ? "origin" : NULL, 0);
    number(w, NULL, 1); /* the origins that it stands for */
    number(w, *op == 'A' && op[1] == 'd' ? "origins" : NULL, 1);
}

/* s = x + c; y = If(b): t = -s, else u = |s|. */
static void put_nodes(writer *w) {
    number(w, "node count", 4);
    put_node(w, "Add", "Add graph", 0, "Add input", (const uint64_t[]){VALUE_X, VALUE_C}, 2, "Add output",
             VALUE_S);
    number(w, NULL, 0);
    put_node(w, "If", NULL, 0, NULL, (const uint64_t[]){VALUE_B}, 1, "If output", VALUE_Y);
    number(w, "attribute count", 2);
    text(w, "then_branch");
    const uint64_t kind = number(w, "attribute kind", SDX_ATTR_GRAPH);
    for (uint64_t i = 0, n = number(w, "elements", 1); i < n; i++)
        number(w, i ? NULL : "then graph", kind == SDX_ATTR_TENSOR ? 3 : 1);
    text(w, "else_branch");
    number(w, NULL, SDX_ATTR_GRAPH);
    number(w, NULL, 1);
    number(w, "else graph", 2);
    put_node(w, "Neg", "Neg graph", 1, "Neg input", (const uint64_t[]){VALUE_S}, 1, "Neg output", VALUE_T);
    number(w, NULL, 0);
    put_node(w, "Abs", NULL, 2, "Abs input", (const uint64_t[]){VALUE_S}, 1, NULL, VALUE_U);
    const bool deep = chosen(w, "deep", 0) != 0; /* a graph in the graph */
    number(w, NULL, deep);
    if (deep) {
        text(w, "body");
        number(w, NULL, SDX_ATTR_GRAPH);
        number(w, NULL, 1);
        number(w, NULL, 3);
    }
}

static void put_graphs(writer *w) {
    number(w, "origin count", 1);
    for (int i = 0; i < 3; i++) text(w, i ? "" : "origin");
    sign(w, NULL, 1);
    const uint64_t graphs = number(w, "graph count", chosen(w, "deep", 0) ? 4 : 3);
    for (uint64_t i = 0; i < graphs && i < 4; i++) text(w, "g");
    put_values(w);
    put_nodes(w);
    number(w, NULL, 1);
    number(w, "graph input", 1 + VALUE_X);
    number(w, NULL, 1);
    number(w, "graph output", 1 + VALUE_Y);
    for (uint64_t i = 1; i < graphs && i < 4; i++) {
        number(w, NULL, 0);
        number(w, NULL, i < 3);
        if (i < 3) number(w, i == 1 ? "then output" : NULL, 1 + (i == 1 ? VALUE_T : VALUE_U));
    }
}

static void put_rest(writer *w) {
    if (number(w, "sliced", 1)) text(w, chosen(w, "slice symbol", 0) ? "M" : "N");
    text(w, "");
    number(w, "slice node", 0);
    number(w, "slice inputs", 1);
    for (int i = 0; i < 1 + (int)chosen(w, "slice input more", 0); i++) number(w, "slice input", 1);
    zeros(w, 5); /* the order */
    number(w, "buffers", 3);
    const uint64_t layouts = number(w, "layouts", 2);
    for (uint64_t k = 0; k < layouts && k <= SDX_LAYOUTS; k++) {
        number(w, k > 1 ? NULL : k ? "second order" : "order", 2);
        number(w, NULL, 0);
        number(w, NULL, 1);
    }
    number(w, "sets", 1);
    text(w, "elsewhere");
    number(w, NULL, 12);
    number(w, "blobs", 1);
    number(w, "blob node", 0);
    number(w, NULL, 0);
    span(w, "blob at", DATA, "blob bytes", numbers, sizeof numbers);
    if (chosen(w, "more", 0)) sdx_put_number(&w->out, 0);
}

/* The whole file, which the caller frees. */
static uint8_t *make(writer *w, size_t *size) {
    w->out = (sdx_sink){.allocator = &sdx_default_allocator};
    put_head(w);
    put_expressions(w);
    put_constants(w);
    put_graphs(w);
    put_rest(w);
    uint8_t *file = seal(w, INDEX_AT - DATA, size);
    memcpy(file + DATA, numbers, sizeof numbers);
    file[DATA + SDX_PACKED_ALIGN] = truth;
    file[DATA + chosen(w, "data", SDX_PACKED_ALIGN + 1)] = 7; /* else where it does not matter */
    return file;
}

typedef struct mistake {
    const char *label;
    int64_t value;
    const char *words; /* of the message */
} mistake;

static void expect(const mistake *m, uint32_t flags, const sdx_limits *limits, sdx_status wanted) {
    writer w = {.label = m ? m->label : NULL, .value = m ? m->value : 0};
    size_t size;
    uint8_t *file = make(&w, &size);
    if (m && !w.met) fail_msg("there is no '%s'", m->label);
    sdx_load_options options = {.struct_size = sizeof options, .flags = flags, .limits = limits};
    sdx_model *model = NULL;
    sdx_error error;
    sdx_status status = sdx_model_load_memory(file, size, &options, &model, &error);
    if (status != wanted || (status != SDX_STATUS_OK && !strstr(error.message, m->words)))
        fail_msg("%s %lld: %s, \"%s\"; expected %s", m ? m->label : "sound", m ? (long long)m->value : 0,
                 sdx_status_name(status), status == SDX_STATUS_OK ? "" : error.message,
                 m ? m->words : "OK");
    sdx_model_release(model);
    free(file);
}

static void sound_file_is_taken(void **state) {
    (void)state;
    expect(NULL, 0, NULL, SDX_STATUS_OK);
    expect(NULL, SDX_LOAD_VERIFY, NULL, SDX_STATUS_OK);
    /* Other files as sound, so that the cases below differ in what they mean to. */
    static const mistake others[] = {{"sliced", 0, ""},
                                     {"slice input", 0, ""},
                                     {"second order", 2, ""},
                                     {"Neg input", 1 + VALUE_C, ""},
                                     {"flags", 3, ""}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        expect(&others[i], 0, NULL, SDX_STATUS_OK);
}

static void refuse(const mistake *mistakes, size_t count) {
    for (size_t i = 0; i < count; i++) expect(&mistakes[i], 0, NULL, SDX_STATUS_BAD_MODEL);
}
#define REFUSE(list) refuse(list, sizeof(list) / sizeof *(list))

static void places_of_data(void **state) {
    (void)state;
    static const mistake mistakes[] = {
        {"index at", INDEX_AT - 64, "index does not lie at its end"},
        {"index at", 64, "index does not lie at its end"},
        {"index size", 64, "index does not lie at its end"},
        {"index at", INT64_MAX, "index does not lie at its end"},
        {"index start", 64, "index does not lie at its end"},
        {"index start", SDX_PACKED_PAGE - 64, "index does not lie at its end"},
        {"index start", 1 << 20, "index does not lie at its end"}, /* its size wraps, and fits */
        {"gap", 128, "byte 128 is not 0"},
        {"gap", 4095, "byte 4095 is not 0"},
        {"c at", 0, "do not lie where data are"},
        {"c at", DATA - 64, "do not lie where data are"},
        {"c at", DATA + 4, "do not lie where data are"},
        {"c at", INDEX_AT, "do not lie where data are"},
        {"c at", INDEX_AT + 64, "do not lie where data are"},
        {"c at", -64, "do not lie where data are"},
        {"c bytes", 2 * SDX_PACKED_ALIGN + 1, "do not lie where data are"},
        {"c bytes", -1, "do not lie where data are"},
        {"b at", DATA + 1, "do not lie where data are"},
        {"blob at", INDEX_AT, "do not lie where data are"},
        {"blob bytes", 1 << 20, "do not lie where data are"},
        {"more", 1, "goes on for 1 bytes after its end"},
    };
    REFUSE(mistakes);
    /* Digests of data are looked at where that is asked for. */
    const mistake flipped = {"data", 3, "the data of 'c' are damaged"};
    expect(&flipped, 0, NULL, SDX_STATUS_OK);
    expect(&flipped, SDX_LOAD_VERIFY, NULL, SDX_STATUS_BAD_MODEL);
}

static void expressions(void **state) {
    (void)state;
    static const mistake mistakes[] = {
        {"expression count", 1 << 20, "expressions"},
        {"symbol kind", SDX_EXPR_KIND_BROADCAST + 1, "expressions"},
        {"terms", SDX_EXPR_TERMS + 1, "expressions"},
        {"degree", SDX_EXPR_DEGREE + 1, "expressions"},
        {"factor", 1, "expressions"}, /* itself */
        {"factor", 3, "expressions"},
        {"dividend", 2, "expressions"},
        {"coefficient", SDX_EXPR_MAX, "expressions"},
        {"coefficient", -SDX_EXPR_MAX - 1, "expressions"},
        {"divisor", SDX_EXPR_MAX, "expressions"},
        {"divisor", 0, "expression 2 of the index has no meaning"},
        {"operands of a division", 1, "expressions"},
        {"operands of a division", 3, "expressions"},
        {"operands of a maximum", 0, "expressions"},
        {"operands of a maximum", 1, "expressions"},
        {"operands of a maximum", SDX_EXPR_OPERANDS + 1, "expressions"},
        {"x expression", 4, "values"},
    };
    REFUSE(mistakes);
}

static void constants(void **state) {
    (void)state;
    static const mistake mistakes[] = {
        {"constant count", 1 << 20, "constants"},
        {"c type", SDX_DTYPE_COUNT, "constants"},
        {"c type", SDX_DTYPE_UNDEFINED, "no possible type"},
        {"c type", SDX_DTYPE_FLOAT64, "has 12 bytes of data, expected 24"},
        {"c type", SDX_DTYPE_STRING, "in a way that its type does not have"},
        {"c rank", SDX_MAX_RANK + 1, "constants"},
        {"c dim", 2, "has 12 bytes of data, expected 8"},
        {"c dim", 4, "has 12 bytes of data, expected 16"},
        {"c dim", INT64_MAX, "no possible type or shape"},
        {"c dim", -1, "constants"},
        {"c dim", 0, "in a way that its type does not have"},
        {"c bytes", 11, "has 11 bytes of data, expected 12"},
        {"c bytes", 13, "has 13 bytes of data, expected 12"},
        {"c encoding", SDX_ENCODING_EMPTY + 1, "constants"},
        {"c encoding", SDX_ENCODING_EMPTY, "in a way that its type does not have"},
        {"c encoding", SDX_ENCODING_STRINGS, "in a way that its type does not have"},
        {"c encoding", SDX_ENCODING_HALF, "has 12 bytes of data, expected 6"},
        {"b encoding", SDX_ENCODING_HALF, "in a way that its type does not have"},
        {"t type", SDX_DTYPE_INT8, "in a way that its type does not have"},
        {"t encoding", SDX_ENCODING_FILE, "in a way that its type does not have"},
        {"t dim", 1 << 20, "more strings than the index has bytes"},
        {"t dim", 100, "strings"},
        {"a dim", 1 << 24, "larger than any packed form"},
    };
    REFUSE(mistakes);
}

static void values_and_types(void **state) {
    (void)state;
    static const mistake mistakes[] = {
        {"value count", 1 << 20, "values"},
        {"t graph", 3, "values"},
        {"x flags", 16, "values"},
        {"c constant", 4, "values"},
        {"x flags", SDX_VALUE_TYPE | SDX_VALUE_FALLBACK, "values"}, /* one that is only there packed */
        {"x kind", SDX_KIND_SPARSE + 1, "values"},
        {"x kind", SDX_KIND_SEQUENCE, "values"}, /* of nothing */
        {"x inner", 1, "values"},
        {"x rank", SDX_MAX_RANK + 2, "values"},
        {"x columns", -1, "values"},
        {"x dim", SDX_REF_UNKNOWN, "dimension 0 of input 'x' has no name"},
        {"s flags", SDX_VALUE_TYPE, "the value 's' is no input, but described as one"},
    };
    REFUSE(mistakes);
}

static void nodes_and_graphs(void **state) {
    (void)state;
    static const mistake mistakes[] = {
        {"node count", 1 << 20, "nodes"},
        {"graph count", 0, "values"},
        {"graph count", 4, "graph 'g' belongs to no node"},
        {"Add graph", 3, "nodes"},
        {"Add graph", 1, "which comes from elsewhere"},
        {"Add input", VALUES + 1, "nodes"},
        {"Add output", VALUES + 1, "nodes"},
        {"Add output", 1 + VALUE_C, "which comes from elsewhere"},
        {"Add output", 1 + VALUE_T, "which comes from elsewhere"},
        {"If output", 1 + VALUE_S, "which comes from elsewhere"},
        {"Add input", 1 + VALUE_T, "reads the value 't', which is not there"},
        {"Abs input", 1 + VALUE_T, "reads the value 't', which is not there"},
        {"Neg output", 0, "output 't' of graph 'g' is not there"},
        {"origin", 1, "nodes"},
        {"origins", 0, "nodes"},
        {"origins", 2, "nodes"},
        {"attribute kind", SDX_ATTR_EXPRS + 1, "attributes"},
        {"attribute kind", SDX_ATTR_UNDEFINED, "attributes"},
        {"attribute kind", SDX_ATTR_VALUES, "attributes"},
        {"attribute kind", SDX_ATTR_TENSOR, "attributes"}, /* one that is only there packed */
        {"elements", 0, "attributes"},
        {"elements", 2, "attributes"},
        {"then graph", 0, "attributes"},
        {"then graph", 3, "attributes"},
        {"else graph", 1, "attributes"}, /* which is another's */
        {"graph input", 0, "graphs"},
        {"graph input", VALUES + 1, "graphs"},
        {"graph input", 1 + VALUE_S, "input 's' of graph 'g' comes from elsewhere"},
        {"graph input", 1 + VALUE_C, "input 'c' of graph 'g' comes from elsewhere"},
        {"graph output", 0, "graphs"},
        {"graph output", 1 + VALUE_T, "output 't' of graph 'g' is not there"},
        {"then output", 1 + VALUE_U, "output 'u' of graph 'g' is not there"},
    };
    REFUSE(mistakes);
    const sdx_limits few = {.struct_size = sizeof few, .max_nodes = 3};
    const sdx_limits enough = {.struct_size = sizeof enough, .max_nodes = 4, .max_depth = 1};
    const mistake many = {"flags", 0, "more than 3 nodes"};
    expect(&many, 0, &few, SDX_STATUS_LIMIT);
    expect(&many, 0, &enough, SDX_STATUS_OK);
    const mistake deep = {"deep", 1, "graphs are nested more than 1 deep"};
    expect(&deep, 0, &enough, SDX_STATUS_LIMIT);
}

static void slices_plans_and_sets(void **state) {
    (void)state;
    static const mistake mistakes[] = {
        {"flags", 4, "header"},
        {"optimize", 4, "header"},
        {"opset count", 1 << 20, "header"},
        {"sliced", 2, "slices"},
        {"slice symbol", 1, "slices"},
        {"slice node", 2, "slices"}, /* there is one node that others stand for */
        {"slice inputs", 0, "slices"},
        {"slice inputs", 2, "slices"},
        {"slice input", 2, "slices"},
        {"buffers", 1 << 20, "plan"},
        {"layouts", SDX_LAYOUTS + 1, "plan"},
        {"order", 3, "plan"},
        {"order", 1, "plan"}, /* which comes again */
        {"second order", 0, "plan"},
        {"sets", 1 << 20, "instruction sets"},
        {"blobs", 1 << 20, "instruction sets"},
        {"blob node", 4, "packed weights"},
    };
    REFUSE(mistakes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sound_file_is_taken), cmocka_unit_test(places_of_data),
        cmocka_unit_test(expressions),         cmocka_unit_test(constants),
        cmocka_unit_test(values_and_types),    cmocka_unit_test(nodes_and_graphs),
        cmocka_unit_test(slices_plans_and_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
