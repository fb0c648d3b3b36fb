/* test_values.c - values that are no plain tensors, through the public interface: maps that the
 * caller makes, sequences and optionals as inputs and what may be in them, broken images. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "onnx_model.h"

/* ---- making values -------------------------------------------------------------------------- */

static sdx_value *tensor_value(sdx_dtype dtype, int32_t rank, const int64_t *dims,
                               const void *data) {
    sdx_tensor tensor;
    sdx_value *value;
    sdx_error error;
    assert_int_equal(sdx_tensor_init(&tensor, dtype, rank, dims, (void *)(uintptr_t)data, &error),
                     SDX_STATUS_OK);
    assert_int_equal(sdx_value_new_tensor(NULL, &tensor, &value, &error), SDX_STATUS_OK);
    return value;
}

static sdx_value *row(sdx_dtype dtype, int64_t count, const void *data) {
    return tensor_value(dtype, 1, &count, data);
}

/* Takes the references over. */
static sdx_value *sequence_of(sdx_value **items, size_t count) {
    sdx_value *list;
    sdx_error error;
    assert_int_equal(sdx_value_new_sequence(NULL, items, count, &list, &error), SDX_STATUS_OK);
    for (size_t i = 0; i < count; i++) sdx_value_release(items[i]);
    return list;
}

static sdx_value *map_of(sdx_value *keys, sdx_value *values) {
    sdx_value *map;
    sdx_error error;
    assert_int_equal(sdx_value_new_map(NULL, keys, values, &map, &error), SDX_STATUS_OK);
    sdx_value_release(keys);
    sdx_value_release(values);
    return map;
}

/* ---- maps ------------------------------------------------------------------------------------ */

static void a_map_keeps_what_it_was_given(void **state) {
    (void)state;
    const sdx_string words[3] = {{"ash", 3}, {"", 0}, {"elm", 3}};
    const double numbers[3] = {1.5, -2, 4};
    sdx_value *map = map_of(row(SDX_DTYPE_STRING, 3, words), row(SDX_DTYPE_FLOAT64, 3, numbers));
    assert_int_equal(sdx_value_kind(map), SDX_KIND_MAP);
    const sdx_tensor *keys = sdx_value_tensor(sdx_value_map_keys(map));
    const sdx_tensor *values = sdx_value_tensor(sdx_value_map_values(map));
    assert_int_equal(keys->count, 3);
    assert_memory_equal(((const sdx_string *)keys->data)[2].data, "elm", 3);
    assert_memory_equal(values->data, numbers, sizeof numbers);
    sdx_value_release(map);
}

static void scalars_of_a_sequence_become_a_tensor(void **state) {
    (void)state;
    const int64_t keys[2] = {7, -1}, one = 1;
    const sdx_string words[2] = {{"oak", 3}, {"beech", 5}};
    const float pair[2] = {1, 2};
    sdx_value *texts[2] = {tensor_value(SDX_DTYPE_STRING, 0, NULL, &words[0]),
                           tensor_value(SDX_DTYPE_STRING, 1, &one, &words[1])};
    sdx_value *map = map_of(row(SDX_DTYPE_INT64, 2, keys), sequence_of(texts, 2));
    const sdx_tensor *packed = sdx_value_tensor(sdx_value_map_values(map));
    assert_non_null(packed);
    assert_int_equal(packed->rank, 1);
    /* The text is the map's own: what it came from is gone. */
    assert_memory_equal(((const sdx_string *)packed->data)[1].data, "beech", 5);
    sdx_value_release(map);

    sdx_value *mixed[2] = {row(SDX_DTYPE_FLOAT32, 2, pair), row(SDX_DTYPE_FLOAT32, 1, pair)};
    map = map_of(row(SDX_DTYPE_INT64, 2, keys), sequence_of(mixed, 2));
    assert_int_equal(sdx_value_kind(sdx_value_map_values(map)), SDX_KIND_SEQUENCE);
    assert_int_equal(sdx_value_count(sdx_value_map_values(map)), 2);
    sdx_value_release(map);
}

static void refuses_map(sdx_value *keys, sdx_value *values, const char *sentence) {
    sdx_value *map = NULL;
    sdx_error error;
    sdx_error_clear(&error);
    assert_int_equal(sdx_value_new_map(NULL, keys, values, &map, &error),
                     SDX_STATUS_INVALID_ARGUMENT);
    if (!strstr(error.message, sentence)) fail_msg("%s", error.message);
    assert_null(map);
    sdx_value_release(keys);
    sdx_value_release(values);
}

static void a_map_must_make_sense(void **state) {
    (void)state;
    const int64_t numbers[4] = {1, 2, 3, 4}, square[2] = {2, 2};
    const float reals[4] = {1, 2, 3, 4};
    refuses_map(row(SDX_DTYPE_INT64, 2, numbers), row(SDX_DTYPE_FLOAT32, 3, reals),
                "2 keys and 3 values");
    refuses_map(row(SDX_DTYPE_FLOAT32, 2, reals), row(SDX_DTYPE_FLOAT32, 2, reals),
                "integers or strings");
    refuses_map(tensor_value(SDX_DTYPE_INT64, 2, square, numbers),
                row(SDX_DTYPE_FLOAT32, 4, reals), "rank-1 tensor of integers or strings");
    refuses_map(row(SDX_DTYPE_INT64, 4, numbers),
                tensor_value(SDX_DTYPE_FLOAT32, 2, square, reals), "rank-1 tensor or a sequence");
    refuses_map(row(SDX_DTYPE_INT64, 4, numbers), sequence_of(NULL, 0), "4 keys and 0 values");
    refuses_map(row(SDX_DTYPE_INT64, 4, numbers), NULL, "NULL given");
    refuses_map(NULL, row(SDX_DTYPE_INT64, 4, numbers), "NULL given");
}

/* Each allocation fails in turn: an error, and nothing stays behind. */
static void a_map_survives_lack_of_memory(void **state) {
    (void)state;
    const sdx_string words[2] = {{"oak", 3}, {"beech", 5}};
    const int64_t numbers[2] = {1, 2};
    sdx_value *keys = row(SDX_DTYPE_INT64, 2, numbers);
    sdx_value *items[2] = {tensor_value(SDX_DTYPE_STRING, 0, NULL, &words[0]),
                           tensor_value(SDX_DTYPE_STRING, 0, NULL, &words[1])};
    sdx_value *values = sequence_of(items, 2);
    sdx_status status = SDX_STATUS_NO_MEMORY;
    for (size_t at = 1; status != SDX_STATUS_OK; at++) {
        purse count = {.fail_at = at};
        const sdx_allocator allocator = {&count, purse_allocate, purse_release};
        sdx_value *map = NULL;
        sdx_error error;
        sdx_error_clear(&error);
        status = sdx_value_new_map(&allocator, keys, values, &map, &error);
        if (status == SDX_STATUS_OK) sdx_value_release(map);
        else assert_int_equal(status, SDX_STATUS_NO_MEMORY);
        assert_int_equal(count.held, 0);
        assert_true(at < 10);
    }
    sdx_value_release(keys);
    sdx_value_release(values);
}

/* y = DictVectorizer(map of string to float32), vocabulary ash, elm, oak. */
static void vectorizer(tiny_model *m) {
    tiny_begin(m, 17);
    size_t info = sdx_pb_write_begin(&m->out, 11);
    tiny_text(&m->out, 1, "x");
    size_t type = sdx_pb_write_begin(&m->out, 2), map = sdx_pb_write_begin(&m->out, 5);
    sdx_pb_write_varint(&m->out, 1, SDX_DTYPE_STRING);
    tiny_type(&m->out, 2, SDX_DTYPE_FLOAT32, "");
    sdx_pb_write_end(&m->out, map);
    sdx_pb_write_end(&m->out, type);
    sdx_pb_write_end(&m->out, info);
    size_t made = node_begin(&m->out, GRAPH_NODE, "DictVectorizer", "ai.onnx.ml", "x", "y");
    size_t attr = attr_begin(&m->out, 5, "string_vocabulary", A_STRINGS);
    names(&m->out, 9, "ash,elm,oak");
    sdx_pb_write_end(&m->out, attr);
    sdx_pb_write_end(&m->out, made);
    output(m, "y");
    tiny_end(m);
    import(&m->out, 8, "ai.onnx.ml", 3);
}

static void expect_refused(session *s, sdx_value *value, const char *sentence) {
    assert_int_equal(sdx_context_set_input_value(s->context, 0, value, &s->error),
                     SDX_STATUS_BAD_INPUT);
    if (!strstr(s->error.message, sentence)) fail_msg("%s", s->error.message);
    sdx_value_release(value);
}

/* Sets input 0, runs, checks the only output. */
static void expect_floats(session *s, sdx_value *value, const float *want, size_t count) {
    if (sdx_context_set_input_value(s->context, 0, value, &s->error) != SDX_STATUS_OK)
        fail_msg("%s", s->error.message);
    sdx_value_release(value);
    run(s);
    check_floats(s, 0, want, count);
}

static void maps_are_inputs(void **state) {
    (void)state;
    const sdx_string words[3] = {{"oak", 3}, {"ash", 3}, {"fig", 3}};
    const float numbers[3] = {1.5f, -2, 9}, want[3] = {-2, 0, 1.5f}, none[3] = {0};
    const int64_t integers[3] = {1, 2, 3};
    tiny_model m;
    session s;
    vectorizer(&m);
    load(&s, &m);
    prepare(&s);
    expect_floats(&s, map_of(row(SDX_DTYPE_STRING, 3, words), row(SDX_DTYPE_FLOAT32, 3, numbers)),
                  want, 3);
    sdx_value *items[3];
    for (size_t i = 0; i < 3; i++)
        items[i] = tensor_value(SDX_DTYPE_FLOAT32, 0, NULL, &numbers[i]);
    expect_floats(&s, map_of(row(SDX_DTYPE_STRING, 3, words), sequence_of(items, 3)), want, 3);
    expect_floats(&s, map_of(row(SDX_DTYPE_STRING, 0, NULL), row(SDX_DTYPE_FLOAT32, 0, NULL)),
                  none, 3);
    expect_floats(&s, map_of(row(SDX_DTYPE_INT64, 0, NULL), sequence_of(NULL, 0)), none, 3);
    expect_refused(&s, map_of(row(SDX_DTYPE_INT64, 3, integers),
                              row(SDX_DTYPE_FLOAT32, 3, numbers)),
                   "input 'x' has keys of type int64, the model expects string");
    expect_refused(&s, map_of(row(SDX_DTYPE_STRING, 3, words),
                              row(SDX_DTYPE_INT64, 3, integers)),
                   "input 'x' has values of type int64, the model expects float32");
    sdx_value *wide[1] = {row(SDX_DTYPE_INT64, 2, integers)};
    expect_refused(&s, map_of(row(SDX_DTYPE_STRING, 1, words), sequence_of(wide, 1)),
                   "input 'x'.values[0] is int64, the model expects float32");
    expect_refused(&s, row(SDX_DTYPE_FLOAT32, 3, numbers),
                   "input 'x' is a tensor, the model expects map(string,float32[])");
    end(&s, &m);
}

/* ---- sequences and optionals ----------------------------------------------------------------- */

enum { TYPE_SEQUENCE = 4, TYPE_OPTIONAL = 9 };

/* y = -f(x), where x is a sequence (f: its item 1) or an optional (f: its content) of float32
 * tensors with these dims. */
static void nested_input(tiny_model *m, uint32_t kind, const char *dims) {
    const int64_t one[1] = {1};
    tiny_begin(m, 18);
    size_t info = sdx_pb_write_begin(&m->out, 11);
    tiny_text(&m->out, 1, "x");
    size_t type = sdx_pb_write_begin(&m->out, 2), nested = sdx_pb_write_begin(&m->out, kind);
    tiny_type(&m->out, 1, SDX_DTYPE_FLOAT32, dims);
    sdx_pb_write_end(&m->out, nested);
    sdx_pb_write_end(&m->out, type);
    sdx_pb_write_end(&m->out, info);
    tiny_constant(m, "one", SDX_DTYPE_INT64, 1, one, sizeof one);
    if (kind == TYPE_SEQUENCE) tiny_node(m, "SequenceAt", "x,one", "a");
    else tiny_node(m, "OptionalGetElement", "x", "a");
    tiny_node(m, "Neg", "a", "y");
    output(m, "y");
    tiny_end(m);
}

static const float ramp[6] = {1, 2, 3, 4, 5, 6};
static const float fallen[6] = {-1, -2, -3, -4, -5, -6};

static sdx_value *pair_of(sdx_value *first, sdx_value *second) {
    sdx_value *items[2] = {first, second};
    return sequence_of(items, 2);
}

static sdx_value *block(int64_t rows, int64_t columns) {
    const int64_t dims[2] = {rows, columns};
    return tensor_value(SDX_DTYPE_FLOAT32, 2, dims, ramp);
}

static void items_have_the_declared_shape(void **state) {
    (void)state;
    const int64_t numbers[2] = {1, 2}, none[2] = {INT64_MAX, 0};
    tiny_model m;
    session s;
    nested_input(&m, TYPE_SEQUENCE, "2,3");
    load(&s, &m);
    prepare(&s);
    expect_floats(&s, pair_of(block(2, 3), block(2, 3)), fallen, 6);
    expect_refused(&s, pair_of(block(2, 3), block(3, 2)),
                   "input 'x'[1] has size 3 in dimension 0, the model expects 2");
    expect_refused(&s, pair_of(row(SDX_DTYPE_FLOAT32, 6, ramp), block(2, 3)),
                   "input 'x'[0] has rank 1, the model expects 2");
    expect_refused(&s, pair_of(block(2, 3), row(SDX_DTYPE_INT64, 2, numbers)),
                   "input 'x'[1] is int64, the model expects float32");
    expect_refused(&s, pair_of(pair_of(block(2, 3), block(2, 3)), block(2, 3)),
                   "input 'x'[0] is a sequence, the model expects float32[2,3]");
    expect_refused(&s, pair_of(tensor_value(SDX_DTYPE_FLOAT32, 2, none, NULL), block(2, 3)),
                   "too large");
    expect_refused(&s, block(2, 3), "the model expects sequence(float32[2,3])");
    end(&s, &m);
}

/* A name in an item's shape stands for no single number: items may differ. */
static void names_in_items_are_open(void **state) {
    (void)state;
    tiny_model m;
    session s;
    nested_input(&m, TYPE_SEQUENCE, "N,2");
    load(&s, &m);
    prepare(&s);
    expect_floats(&s, pair_of(block(3, 2), block(1, 2)), fallen, 2);
    expect_floats(&s, pair_of(block(1, 2), block(3, 2)), fallen, 6);
    expect_refused(&s, pair_of(block(2, 2), block(2, 3)),
                   "input 'x'[1] has size 3 in dimension 1, the model expects 2");
    end(&s, &m);
}

static void contents_of_optionals_are_checked(void **state) {
    (void)state;
    tiny_model m;
    session s;
    nested_input(&m, TYPE_OPTIONAL, "N,3");
    load(&s, &m);
    prepare(&s);
    expect_floats(&s, block(2, 3), fallen, 6);
    expect_floats(&s, block(1, 3), fallen, 3);
    expect_refused(&s, block(3, 2), "input 'x' has size 2 in dimension 1, the model expects 3");
    expect_refused(&s, pair_of(block(2, 3), block(2, 3)),
                   "input 'x' is a sequence, the model expects float32[?,3]");
    end(&s, &m);
}

/* ---- images ---------------------------------------------------------------------------------- */

static void expect_image(const char *format, const char *bytes, size_t size, int64_t height,
                         int64_t width, int64_t channels) {
    const int64_t dims[1] = {(int64_t)size};
    tiny_model m;
    session s;
    tiny_begin(&m, 20);
    tiny_value(&m, 11, "x", SDX_DTYPE_UINT8, "n");
    size_t made = node_begin(&m.out, GRAPH_NODE, "ImageDecoder", "", "x", "y");
    size_t attr = attr_begin(&m.out, 5, "pixel_format", A_STRING);
    tiny_text(&m.out, 4, format);
    sdx_pb_write_end(&m.out, attr);
    sdx_pb_write_end(&m.out, made);
    output(&m, "y");
    tiny_end(&m);
    load(&s, &m);
    prepare(&s);
    give(&s, 0, SDX_DTYPE_UINT8, 1, dims, bytes);
    run(&s);
    const sdx_tensor *y = sdx_context_output(s.context, 0);
    assert_int_equal(y->rank, 3);
    assert_int_equal(y->dims[0], height);
    assert_int_equal(y->dims[1], width);
    assert_int_equal(y->dims[2], channels);
    end(&s, &m);
}

/* "If it can't decode for any reason [...] it will return an empty matrix" */
static void what_is_no_image_has_no_pixels(void **state) {
    (void)state;
    static const char whole[] = "P5 2 1 255\nab", broken[] = "P5 2 4 255\nab";
    expect_image("Grayscale", whole, sizeof whole - 1, 1, 2, 1);
    expect_image("RGB", whole, sizeof whole - 1, 1, 2, 3);
    expect_image("RGB", broken, sizeof broken - 1, 0, 0, 3);
    expect_image("BGR", "no image", 8, 0, 0, 3);
    expect_image("Grayscale", "\x89PNG\r\n\x1a\n", 8, 0, 0, 1);
    expect_image("Grayscale", "", 0, 0, 0, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_map_keeps_what_it_was_given),
        cmocka_unit_test(scalars_of_a_sequence_become_a_tensor),
        cmocka_unit_test(a_map_must_make_sense),
        cmocka_unit_test(a_map_survives_lack_of_memory),
        cmocka_unit_test(maps_are_inputs),
        cmocka_unit_test(items_have_the_declared_shape),
        cmocka_unit_test(names_in_items_are_open),
        cmocka_unit_test(contents_of_optionals_are_checked),
        cmocka_unit_test(what_is_no_image_has_no_pixels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
