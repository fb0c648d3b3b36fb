/* fuzz_graph.c - models that are made from models: nodes, attributes, dims, types and initializers
 * are changed, taken away, doubled, and moved within a model or from another one, so that most of
 * what comes out is read to its end. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_model(data, size);
    return 0;
}

/* ---- places in a tree
 * ---------------------------------------------------------------------------- */

typedef struct place {
    tree_field *parent;
    size_t at;
} place;

/* Every field below `field` for which wanted() holds, each as likely: one drawn while walking. */
typedef bool wanted_fn(const tree_field *parent, const tree_field *field, const tree_field *like);

static size_t draw(tree_field *field, wanted_fn *wanted, const tree_field *like,
                   fuzz_random *random, size_t seen, place *out) {
    for (size_t i = 0; i < field->count; i++) {
        tree_field *one = &field->fields[i];
        if (wanted(field, one, like) && fuzz_below(random, ++seen) == 0) *out = (place){field, i};
        seen = draw(one, wanted, like, random, seen, out);
    }
    return seen;
}

static bool any(const tree_field *parent, const tree_field *field, const tree_field *like) {
    (void)parent;
    (void)field;
    (void)like;
    return true;
}

static bool is_kind(const tree_field *parent, const tree_field *field, const tree_field *like) {
    (void)parent;
    return field->inside == like->inside && (field->inside || field->number == like->number) &&
           field->wire == like->wire;
}

static bool is_value_name(const tree_field *parent, const tree_field *field,
                          const tree_field *like) {
    (void)like;
    return (parent->inside == MESSAGE_NODE && field->number <= 2) ||
           (parent->inside == MESSAGE_VALUE && field->number == 1) ||
           (parent->inside == MESSAGE_TENSOR && field->number == 8);
}

static bool is_attribute_name(const tree_field *parent, const tree_field *field,
                              const tree_field *like) {
    (void)like;
    return parent->inside == MESSAGE_ATTRIBUTE && field->number == 1;
}

static bool find(tree_field *model, wanted_fn *wanted, const tree_field *like, fuzz_random *random,
                 place *out) {
    return draw(model, wanted, like, random, 0, out) > 0;
}

/* ---- changes of leaves
 * --------------------------------------------------------------------------- */

static void set_text(tree_field *field, const void *text, size_t size) {
    uint8_t *bytes = malloc(size + 1);
    if (!bytes) return;
    if (size) memcpy(bytes, text, size);
    free(field->bytes);
    field->bytes = bytes;
    field->size = size;
}

static uint64_t some_number(uint64_t old, fuzz_random *random) {
    static const int64_t known[] = {0,
                                    1,
                                    2,
                                    3,
                                    4,
                                    7,
                                    8,
                                    16,
                                    63,
                                    64,
                                    127,
                                    128,
                                    255,
                                    256,
                                    1000,
                                    65535,
                                    65536,
                                    INT32_MAX,
                                    (int64_t)INT32_MAX + 1,
                                    UINT32_MAX,
                                    (int64_t)1 << 32,
                                    (int64_t)1 << 40,
                                    (int64_t)1 << 61,
                                    (int64_t)1 << 62,
                                    INT64_MAX,
                                    INT64_MIN,
                                    -1,
                                    -2,
                                    -3,
                                    -4,
                                    INT32_MIN};
    switch (fuzz_below(random, 6)) {
    case 0: return old + 1;
    case 1: return old - 1;
    case 2: return old * 2;
    case 3: return 0 - old;
    case 4: return fuzz_below(random, 29);
    default: return (uint64_t)known[fuzz_below(random, sizeof known / sizeof *known)];
    }
}

static void change_bits(tree_field *field, fuzz_random *random) {
    static const uint32_t singles[] = {0x7f800000, 0xff800000, 0x7fc00000, 0,
                                       0x80000000, 1,          0x3f800000, 0xbf800000,
                                       0x7f7fffff, 0x5f000000, 0x4f000000};
    field->value = fuzz_below(random, 4)
                       ? singles[fuzz_below(random, sizeof singles / sizeof *singles)]
                       : fuzz_next(random);
}

static void change_bytes(tree_field *field, fuzz_random *random) {
    size_t capacity = field->size + 16 + fuzz_below(random, 2) * field->size;
    uint8_t *bigger = realloc(field->bytes, capacity);
    if (!bigger) return;
    field->bytes = bigger;
    if (fuzz_below(random, 3) || field->size < 8) {
        field->size = LLVMFuzzerMutate(field->bytes, field->size, capacity);
        return;
    }
    /* One element of 4 or 8 bytes, as raw data has them. */
    size_t width = fuzz_below(random, 2) ? 8 : 4,
           at = fuzz_below(random, field->size / width) * width;
    uint64_t number = some_number(fuzz_below(random, 16), random);
    memcpy(field->bytes + at, &number, width);
}

/* Another name of the same kind that stands in the model, or for an operator any that there is. */
static bool change_name(tree_field *model, const place *at, fuzz_random *random) {
    tree_field *field = &at->parent->fields[at->at];
    place other;
    if (at->parent->inside == MESSAGE_NODE && field->number == 4) {
        sdx_op_info info = {.struct_size = sizeof info};
        sdx_op_get_info(fuzz_below(random, sdx_op_count()), &info);
        set_text(field, info.name, strlen(info.name));
        return true;
    }
    wanted_fn *wanted = is_value_name(at->parent, field, NULL)       ? is_value_name
                        : is_attribute_name(at->parent, field, NULL) ? is_attribute_name
                                                                     : NULL;
    if (!wanted || !find(model, wanted, NULL, random, &other)) return false;
    const tree_field *from = &other.parent->fields[other.at];
    if (from != field) set_text(field, from->bytes, from->size);
    return true;
}

static void change_leaf(tree_field *model, const place *at, fuzz_random *random) {
    tree_field *field = &at->parent->fields[at->at];
    if (field->wire == 0) field->value = some_number(field->value, random);
    else if (field->wire != 2) change_bits(field, random);
    else if (fuzz_below(random, 4) == 0 || !change_name(model, at, random))
        change_bytes(field, random);
}

/* ---- changes of the tree
 * ------------------------------------------------------------------------- */

/* A field in place of another of its kind, or beside it. */
static void transplant(const place *to, const tree_field *from, fuzz_random *random) {
    if (from == &to->parent->fields[to->at]) return;
    tree_field copy;
    if (!tree_copy(&copy, from)) return;
    copy.number = to->parent->fields[to->at].number;
    if (fuzz_below(random, 2)) {
        tree_free(&to->parent->fields[to->at]);
        to->parent->fields[to->at] = copy;
        return;
    }
    tree_insert(to->parent, to->at + 1, &copy);
    tree_free(&copy);
}

/* A new leaf in a message: a dim, an input, an element. */
static void add_leaf(tree_field *parent, fuzz_random *random) {
    tree_field made = {
        .number = 1 + (uint32_t)fuzz_below(random, 25), .wire = 0, .value = some_number(0, random)};
    if (parent->inside == MESSAGE_TENSOR) made.number = 1;
    if (parent->inside == MESSAGE_ATTRIBUTE) made.number = fuzz_below(random, 2) ? 8 : 3;
    if (parent->inside == MESSAGE_NODE) made = (tree_field){.number = 1, .wire = 2};
    tree_insert(parent, parent->count, &made);
}

static void mutate(tree_field *model, fuzz_random *random) {
    place at, other;
    if (!find(model, any, NULL, random, &at)) return;
    tree_field *field = &at.parent->fields[at.at];
    switch (fuzz_below(random, 10)) {
    case 0: tree_remove(at.parent, at.at); break;
    case 1: tree_insert(at.parent, fuzz_below(random, at.parent->count + 1), field); break;
    case 2:
        if (find(model, is_kind, field, random, &other)) {
            tree_field copy; /* it may stand inside the place, or the place inside it */
            if (!tree_copy(&copy, &other.parent->fields[other.at])) break;
            transplant(&at, &copy, random);
            tree_free(&copy);
        }
        break;
    case 3: {
        size_t next = fuzz_below(random, at.parent->count);
        tree_field swapped = at.parent->fields[next];
        at.parent->fields[next] = *field;
        at.parent->fields[at.at] = swapped;
        break;
    }
    case 4: add_leaf(field->inside ? field : at.parent, random); break;
    default:
        if (field->inside == MESSAGE_NONE) change_leaf(model, &at, random);
        else if (field->count) {
            place below = {field, fuzz_below(random, field->count)};
            if (below.parent->fields[below.at].inside == MESSAGE_NONE)
                change_leaf(model, &below, random);
        }
    }
}

/* ---- doors
 * --------------------------------------------------------------------------------------- */

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed) {
    fuzz_random random = {seed};
    tree_field model;
    if (fuzz_below(&random, 50) == 0 || !tree_read(&model, data, size))
        return LLVMFuzzerMutate(data, size, capacity);
    for (size_t i = 1 + fuzz_below(&random, 4); i > 0; i--) mutate(&model, &random);
    size_t written = tree_write(&model, data, capacity);
    tree_free(&model);
    return written ? written : LLVMFuzzerMutate(data, size, capacity);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                                 uint8_t *out, size_t capacity, unsigned seed) {
    fuzz_random random = {seed};
    tree_field model, giver;
    size_t written = 0;
    if (!tree_read(&model, a, a_size)) return 0;
    if (tree_read(&giver, b, b_size)) {
        for (size_t i = 1 + fuzz_below(&random, 3); i > 0; i--) {
            place to, from;
            if (find(&giver, any, NULL, &random, &from) &&
                find(&model, is_kind, &from.parent->fields[from.at], &random, &to))
                transplant(&to, &from.parent->fields[from.at], &random);
        }
        written = tree_write(&model, out, capacity);
        tree_free(&giver);
    }
    tree_free(&model);
    return written;
}
