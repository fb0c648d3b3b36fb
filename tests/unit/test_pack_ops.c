/* test_pack_ops.c - operators of the domain "sardonyx" in packed files that a stranger made up. Passes alone make
 * them, so that their parameters are sound in any model; a packed file can say anything, and what does not fit the
 * tensors must be refused before a kernel believes it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/endian.h"
#include "graph/graph.h"
#include "kernels/kernels.h"
#include "kernels/matrix.h"
#include "packed_file.h"

#define MOST_INPUTS 5
#define DATA_BYTES  4096 /* of all constants, which share them */

typedef struct shape {
    int64_t rank, dims[4];
    bool constant;
} shape;

typedef struct attribute {
    const char *name;
    sdx_attr_kind kind;
    size_t count;
    int64_t values[64];
} attribute;

typedef struct one_node {
    const char *op;
    shape inputs[MOST_INPUTS]; /* rank 0: none more */
    attribute attributes[8];
    size_t packed; /* bytes of packed weights, or 0 */
} one_node;

static size_t inputs_of(const one_node *n) {
    size_t count = 0;
    while (count < MOST_INPUTS && n->inputs[count].rank) count++;
    return count;
}

/* Labels are "axis 0": the first number of the attribute `axis`; "1 0": the first size of input 1. */
static void put_attributes(writer *w, const one_node *n) {
    size_t count = 0;
    while (count < 8 && n->attributes[count].name) count++;
    number(w, NULL, count);
    for (const attribute *a = n->attributes; a < n->attributes + count; a++) {
        text(w, a->name);
        number(w, NULL, a->kind);
        number(w, NULL, a->count);
        for (size_t i = 0; i < a->count; i++) {
            char label[64];
            snprintf(label, sizeof label, "%s %zu", a->name, i);
            if (a->kind == SDX_ATTR_EXPRS) number(w, NULL, SDX_REF_NUMBER);
            sign(w, label, a->values[i]);
        }
    }
}

static void put_inputs(writer *w, const one_node *n, bool constants) {
    for (size_t i = 0; i < inputs_of(n); i++) {
        const shape *s = &n->inputs[i];
        if (constants && !s->constant) continue;
        char name[24], label[48];
        size_t count = 1;
        snprintf(name, sizeof name, "i%zu", i);
        text(w, name);
        if (!constants) number(w, NULL, 0); /* graph */
        if (!constants) number(w, NULL, s->constant ? SDX_VALUE_CONSTANT : SDX_VALUE_TYPE);
        if (!constants && s->constant) {
            size_t before = 0;
            for (size_t k = 0; k < i; k++) before += n->inputs[k].constant;
            number(w, NULL, before);
            continue;
        }
        if (!constants) number(w, NULL, SDX_KIND_TENSOR);
        number(w, NULL, SDX_DTYPE_FLOAT32);
        number(w, NULL, (uint64_t)s->rank + !constants);
        for (int64_t d = 0; d < s->rank; d++) {
            snprintf(label, sizeof label, "%zu %lld", i, (long long)d);
            int64_t dim = chosen(w, label, s->dims[d]);
            if (!constants) number(w, NULL, SDX_REF_NUMBER);
            if (constants) number(w, NULL, (uint64_t)dim);
            else sign(w, NULL, dim);
            count *= (size_t)dim;
        }
        static const uint8_t nothing[DATA_BYTES];
        if (!constants) number(w, NULL, 0); /* no inner type */
        else number(w, NULL, SDX_ENCODING_FILE);
        if (constants) span(w, NULL, SDX_PACKED_PAGE, NULL, nothing, count * sizeof(float));
    }
}

static uint8_t *make(writer *w, const one_node *n, size_t *size) {
    const size_t inputs = inputs_of(n);
    size_t constants = 0;
    for (size_t i = 0; i < inputs; i++) constants += n->inputs[i].constant;
    w->out = (sdx_sink){.allocator = &sdx_default_allocator};
    put_head(w);
    zeros(w, 1); /* expressions */
    number(w, NULL, constants);
    put_inputs(w, n, true);
    number(w, NULL, 1); /* a node that it stands for */
    for (int i = 0; i < 3; i++) text(w, "");
    sign(w, NULL, 1);
    number(w, NULL, 1); /* graph */
    text(w, "g");
    number(w, NULL, inputs + 1);
    put_inputs(w, n, false);
    text(w, "y");
    zeros(w, 2);
    number(w, NULL, 1); /* node */
    text(w, "n");
    text(w, n->op);
    text(w, "sardonyx");
    text(w, "");
    sign(w, NULL, 1);
    zeros(w, 2);
    number(w, NULL, inputs);
    for (size_t i = 0; i < inputs; i++) number(w, NULL, 1 + i);
    number(w, NULL, 1);
    number(w, NULL, 1 + inputs);
    zeros(w, 2); /* origins */
    put_attributes(w, n);
    number(w, NULL, inputs - constants);
    for (size_t i = 0; i < inputs; i++)
        if (!n->inputs[i].constant) number(w, NULL, 1 + i);
    number(w, NULL, 1);
    number(w, NULL, 1 + inputs);
    zeros(w, 1); /* no slices */
    text(w, "");
    zeros(w, 1);
    number(w, NULL, inputs - constants);
    zeros(w, inputs - constants);
    zeros(w, 7); /* order, buffers, layouts */
    number(w, NULL, n->packed != 0); /* sets */
    if (n->packed) {
        static const uint8_t nothing[DATA_BYTES];
        text(w, sdx_kernels_get()->isa);
        number(w, NULL, n->packed);
        number(w, NULL, 1);
        zeros(w, 2); /* node, way */
        span(w, NULL, SDX_PACKED_PAGE, NULL, nothing, (size_t)chosen(w, "packed", (int64_t)n->packed));
    }
    return seal(w, DATA_BYTES, size);
}

/* Loads, makes a program and runs it over zeros. */
static sdx_status run(const uint8_t *file, size_t size, const one_node *n, writer *w, sdx_error *error) {
    sdx_model *model = NULL;
    sdx_program *program = NULL;
    sdx_context *context = NULL;
    const sdx_program_options options = {.struct_size = sizeof options, .optimize = 3};
    const sdx_context_options runs = {.struct_size = sizeof runs, .threads = 2};
    static float data[1024];
    sdx_status status = sdx_model_load_memory(file, size, NULL, &model, error);
    if (status == SDX_STATUS_OK) status = sdx_program_create(model, &options, &program, error);
    if (status == SDX_STATUS_OK) status = sdx_context_create(program, &runs, &context, error);
    for (size_t i = 0, index = 0; status == SDX_STATUS_OK && i < inputs_of(n); i++) {
        sdx_tensor tensor;
        int64_t dims[4];
        char label[48];
        if (n->inputs[i].constant) continue;
        for (int64_t d = 0; d < n->inputs[i].rank; d++) {
            snprintf(label, sizeof label, "%zu %lld", i, (long long)d);
            dims[d] = chosen(w, label, n->inputs[i].dims[d]);
        }
        status = sdx_tensor_init(&tensor, SDX_DTYPE_FLOAT32, (int32_t)n->inputs[i].rank, dims, data, error);
        if (status == SDX_STATUS_OK) status = sdx_context_set_input(context, index++, &tensor, error);
    }
    if (status == SDX_STATUS_OK) status = sdx_context_run(context, error);
    sdx_context_release(context);
    sdx_program_release(program);
    sdx_model_release(model);
    return status;
}

typedef struct mistake {
    const char *label; /* NULL ends a list */
    int64_t value;
    const char *words; /* of the message */
} mistake;

/* The node with this mistake or none (no label) runs (no words), or is refused with these words. */
static void expect(const one_node *n, const mistake *m) {
    writer w = {.label = m->label, .value = m->value};
    sdx_error error;
    size_t size;
    uint8_t *file = make(&w, n, &size);
    if (m->label && !w.met) fail_msg("%s: there is no '%s'", n->op, m->label);
    sdx_error_clear(&error);
    sdx_status status = run(file, size, n, &w, &error);
    free(file);
    if (m->words ? status == SDX_STATUS_OK || !strstr(error.message, m->words) : status != SDX_STATUS_OK)
        fail_msg("%s, %s %lld: %s, \"%s\"; expected %s", n->op, m->label ? m->label : "as it is",
                 (long long)m->value, sdx_status_name(status), error.message, m->words ? m->words : "OK");
}

/* The node as it is runs; with each of the mistakes it is refused. */
static void check(const one_node *n, const mistake *mistakes) {
    expect(n, &(mistake){NULL, 0, NULL});
    for (const mistake *m = mistakes; m->label; m++) expect(n, m);
}

static void shuffles(void **state) {
    (void)state;
    static const one_node node = {"Shuffle", {{4, {1, 4, 2, 2}, false}, {4, {1, 4, 2, 2}, false}},
                                  {{"axis", SDX_ATTR_INT, 1, {1}},
                                   {"groups", SDX_ATTR_INT, 1, {4}},
                                   {"sizes", SDX_ATTR_INTS, 1, {8}}}, 0};
    static const mistake mistakes[] = {
        {"axis 0", 4, "axis or groups out of range"},
        {"axis 0", -1, "axis or groups out of range"},
        {"groups 0", 0, "axis or groups out of range"},
        {"groups 0", 65, "axis or groups out of range"},
        {"groups 0", 3, "parts do not make up the channels"},
        {"groups 0", 1, "parts do not make up the channels"}, /* an input has half a group */
        {"sizes 0", 4, "parts do not make up the channels"},
        {"sizes 0", 16, "parts do not make up the channels"},
        {"sizes 0", -8, "parts do not make up the channels"},
        {"1 2", 3, "sizes of the inputs"},
        {NULL, 0, NULL}};
    check(&node, mistakes);
}

static void products(void **state) {
    (void)state;
    static const one_node node = {"MatMul", {{2, {2, 3}, false}, {2, {3, 4}, true}, {1, {4}, true},
                                             {2, {2, 4}, false}},
                                  {{"act", SDX_ATTR_INT, 1, {0}}}, 0};
    static const mistake mistakes[] = {{"act 0", 99, "there is no activation 99"},
                                       {"act 0", -1, "there is no activation -1"},
                                       {"0 1", 4, "4 and 3 differ"},
                                       {"2 0", 5, "5 and 4 differ"},
                                       {"3 0", 1, "differ"}, /* less to add than there are results */
                                       {"3 1", 3, "differ"},
                                       {NULL, 0, NULL}};
    check(&node, mistakes);
}

/* Weights as a packed file has them, a number too few or too many. */
static void packed_weights(void **state) {
    (void)state;
    if (!sdx_little_endian()) skip(); /* packs anew */
    const int64_t bytes = (int64_t)(sdx_matrix_packed_size(3, 4) * sizeof(float));
    const int64_t lines = (bytes + SDX_CACHE_LINE - 1) / SDX_CACHE_LINE * SDX_CACHE_LINE; /* pieces may fill their last one */
    const one_node node = {.op = "MatMul",
                           .inputs = {{2, {2, 3}, false}, {2, {3, 4}, true}},
                           .attributes = {{"act", SDX_ATTR_INT, 1, {0}}},
                           .packed = (size_t)bytes};
    const mistake mistakes[] = {{"packed", bytes - 4, "4 less than it needs"},
                                {"packed", lines + 4, "4 more than it needs"},
                                {NULL, 0, NULL}};
    check(&node, mistakes);
}

static void convolutions(void **state) {
    (void)state;
    static const one_node node = {"Conv", {{4, {1, 6, 6, 2}, false}, {4, {4, 2, 3, 3}, true}, {1, {4}, true}},
                                  {{"winograd", SDX_ATTR_INT, 1, {0}},
                                   {"planar", SDX_ATTR_INT, 1, {0}},
                                   {"group", SDX_ATTR_INT, 1, {1}},
                                   {"strides", SDX_ATTR_INTS, 2, {1, 1}},
                                   {"pads", SDX_ATTR_INTS, 4, {1, 1, 1, 1}}}, 0};
    static const mistake mistakes[] = {{"winograd 0", 3, "winograd is 3; it can be 0, 2 or 4"},
                                       {"group 0", 0, "group"},
                                       {"group 0", 3, "group"},
                                       {"strides 0", 0, "strides"},
                                       {"pads 0", -9, "pads"},
                                       {"0 3", 3, "channels"},
                                       {"2 0", 5, "5 and 4 differ"},
                                       {NULL, 0, NULL}};
    check(&node, mistakes);
}

/* One head of 4 queries and keys of 8 numbers. A view: how many factors, of each whether it is batch, row or column,
 * the axis, a step and an extent or 0, and where the whole begins. */
static void attention(void **state) {
    (void)state;
    static const one_node node = {
        "Attention", {{2, {4, 8}, false}, {2, {4, 8}, false}, {2, {4, 8}, false}, {2, {4, 4}, false}},
        {{"q", SDX_ATTR_INTS, 15, {3, 1, 0, 1, 0, 2, 1, 1, 0, 0, 0, 1, 1, 0, 0}},
         {"k", SDX_ATTR_INTS, 11, {2, 1, 1, 1, 0, 2, 0, 1, 0, 0, 0}},
         {"v", SDX_ATTR_INTS, 11, {2, 1, 0, 1, 0, 2, 1, 1, 0, 0, 0}},
         {"perm", SDX_ATTR_INTS, 3, {0, 1, 2}},
         {"sizes", SDX_ATTR_EXPRS, 5, {1, 4, 4, 8, 8}},
         {"shape", SDX_ATTR_EXPRS, 3, {1, 4, 8}}}, 0};
    static const mistake mistakes[] = {
        {"perm 0", 1, "perm is no order"},
        {"perm 2", 3, "perm is no order"},
        {"perm 1", -1, "perm is no order"},
        {"q 0", 13, "a view reaches beyond"},
        {"q 0", -1, "a view reaches beyond"},
        {"q 1", 3, "a view reaches beyond"},  /* neither batch nor row nor column */
        {"q 2", 2, "a view reaches beyond"},  /* no such axis */
        {"q 10", 2, "a view reaches beyond"}, /* nor for an extent that goes nowhere */
        {"q 3", 0, "a view reaches beyond"},  /* no step */
        {"q 4", 5, "a view reaches beyond"},  /* more rows than there are */
        {"q 14", 1, "a view reaches beyond"}, /* begins too late */
        {"q 13", -1, "a view reaches beyond"},
        {"q 0", ((int64_t)1 << 62) + 3, "a view reaches beyond"}, /* four times that are 12 */
        {"q 0", INT64_MIN + 3, "a view reaches beyond"},
        {"v 8", 9, "a view reaches beyond"},
        {"k 4", 7, "do not fit"},
        {"v 4", 3, "do not fit"},
        {"3 1", 3, "do not fit"}, /* a mask of fewer keys */
        {"3 1", 5, "do not fit"}, /* of more */
        {"3 0", 3, "do not fit"},
        {"shape 1", 5, "do not fit"},
        {"shape 2", 16, "do not fit"},
        {"sizes 2", 1, "sizes are not those of what is attended to"},
        {NULL, 0, NULL}};
    check(&node, mistakes);
    one_node bare = node;
    bare.attributes[3].count = 0; /* an order of no axes */
    expect(&bare, &(mistake){NULL, 0, "perm is no order"});
    bare.attributes[3] = bare.attributes[5]; /* none at all */
    bare.attributes[5] = (attribute){0};
    expect(&bare, &(mistake){NULL, 0, "perm is no order"});
    /* Twelve factors are as many as there can be. */
    for (int64_t factors = 4; factors <= 13; factors++) {
        one_node many = node;
        attribute *q = &many.attributes[0];
        q->count = (size_t)(1 + 4 * factors + 2);
        memset(q->values + 9, 0, sizeof q->values - 9 * sizeof *q->values);
        q->values[0] = factors;
        for (int64_t i = 9; i < 1 + 4 * factors; i += 4) q->values[i + 2] = q->values[i + 3] = 1;
        expect(&many, &(mistake){NULL, 0, factors > 12 ? "a view reaches beyond" : NULL});
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shuffles),
        cmocka_unit_test(products),
        cmocka_unit_test(packed_weights),
        cmocka_unit_test(convolutions),
        cmocka_unit_test(attention),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
