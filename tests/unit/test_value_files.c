/* test_value_files.c - values written to files and read back, beyond plain numbers: text of every width of
 * UTF-8, elements below a byte, types that NumPy lacks, maps with words for keys; and mistakes of callers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sardonyx.h"

static char path[] = "/tmp/sardonyx-values-XXXXXX";

static int make_file(void **state) {
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state) {
    (void)state;
    return unlink(path);
}

static sdx_value *row(sdx_dtype dtype, int64_t count, const void *data) {
    sdx_tensor tensor;
    sdx_value *value = NULL;
    assert_int_equal(sdx_tensor_init(&tensor, dtype, 1, &count, (void *)(uintptr_t)data, NULL),
                     SDX_STATUS_OK);
    assert_int_equal(sdx_value_new_tensor(NULL, &tensor, &value, NULL), SDX_STATUS_OK);
    return value;
}

static sdx_value *through_pb(sdx_value *value) {
    sdx_value *again = NULL;
    sdx_error error;
    if (sdx_value_write_pb(path, value, "name", &error) != SDX_STATUS_OK ||
        sdx_value_read_pb(path, sdx_value_kind(value), NULL, &again, &error) != SDX_STATUS_OK)
        fail_msg("%s", error.message);
    sdx_value_release(value);
    return again;
}

static sdx_value *through_npy(sdx_value *value) {
    sdx_value *again = NULL;
    sdx_error error;
    if (sdx_value_write_npy(path, sdx_value_tensor(value), &error) != SDX_STATUS_OK ||
        sdx_value_read_npy(path, NULL, &again, &error) != SDX_STATUS_OK)
        fail_msg("%s", error.message);
    sdx_value_release(value);
    return again;
}

static const sdx_string words[4] = {
    {"", 0}, {"ash", 3}, {"\xc3\xa9l\xe2\x82\xac", 6}, {"\xf0\x9f\x8c\xb3", 4}};

static void check_words(const sdx_value *value) {
    const sdx_tensor *tensor = sdx_value_tensor(value);
    assert_non_null(tensor);
    assert_int_equal(tensor->dtype, SDX_DTYPE_STRING);
    assert_int_equal(tensor->count, 4);
    for (size_t i = 0; i < 4; i++) {
        const sdx_string *got = (const sdx_string *)tensor->data + i;
        assert_int_equal(got->size, words[i].size);
        assert_memory_equal(got->data, words[i].data, words[i].size);
    }
}

static void texts_come_back(void **state) {
    (void)state;
    sdx_value *value = through_pb(row(SDX_DTYPE_STRING, 4, words));
    check_words(value);
    value = through_npy(value);
    check_words(value);
    sdx_value_release(value);
}

static void small_elements_come_back(void **state) {
    (void)state;
    static const int8_t fours[5] = {-8, 7, 0, -1, 3};
    static const uint8_t twos[5] = {3, 0, 2, 1, 3};
    sdx_value *value = through_pb(row(SDX_DTYPE_INT4, 5, fours));
    assert_int_equal(sdx_value_tensor(value)->dtype, SDX_DTYPE_INT4);
    assert_memory_equal(sdx_value_tensor(value)->data, fours, 5);
    value = through_npy(value); /* as the next type that NumPy has */
    assert_int_equal(sdx_value_tensor(value)->dtype, SDX_DTYPE_INT8);
    assert_memory_equal(sdx_value_tensor(value)->data, fours, 5);
    sdx_value_release(value);
    value = through_npy(through_pb(row(SDX_DTYPE_UINT2, 5, twos)));
    assert_int_equal(sdx_value_tensor(value)->dtype, SDX_DTYPE_UINT8);
    assert_memory_equal(sdx_value_tensor(value)->data, twos, 5);
    sdx_value_release(value);
    static const uint16_t brains[2] = {0x3fc0, 0xc000}; /* 1.5, -2 */
    value = through_npy(row(SDX_DTYPE_BFLOAT16, 2, brains));
    assert_int_equal(sdx_value_tensor(value)->dtype, SDX_DTYPE_FLOAT32);
    assert_memory_equal(sdx_value_tensor(value)->data, ((const float[]){1.5f, -2}), 8);
    sdx_value_release(value);
}

static void maps_of_words_come_back(void **state) {
    (void)state;
    static const float pair[2] = {1, 2};
    /* Values of two lengths stay a sequence. */
    sdx_value *items[4], *list = NULL, *map = NULL, *keys = row(SDX_DTYPE_STRING, 4, words);
    for (size_t i = 0; i < 4; i++) items[i] = row(SDX_DTYPE_FLOAT32, i ? 2 : 1, pair);
    assert_int_equal(sdx_value_new_sequence(NULL, items, 4, &list, NULL), SDX_STATUS_OK);
    for (size_t i = 0; i < 4; i++) sdx_value_release(items[i]);
    assert_int_equal(sdx_value_new_map(NULL, keys, list, &map, NULL), SDX_STATUS_OK);
    sdx_value_release(keys);
    sdx_value_release(list);
    map = through_pb(map);
    check_words(sdx_value_map_keys(map));
    assert_int_equal(sdx_value_count(sdx_value_map_values(map)), 4);
    sdx_value_release(map);
}

static void mistakes_of_callers(void **state) {
    (void)state;
    sdx_value *value = row(SDX_DTYPE_FLOAT32, 1, &(float){1}), *again = NULL;
    sdx_tensor tensor = *sdx_value_tensor(value);
    sdx_value *with_a_hole[2] = {value, NULL};
    const sdx_status wrong = SDX_STATUS_INVALID_ARGUMENT;
    assert_int_equal(sdx_value_read_pb(NULL, SDX_KIND_TENSOR, NULL, &again, NULL), wrong);
    assert_int_equal(sdx_value_read_pb(path, SDX_KIND_TENSOR, NULL, NULL, NULL), wrong);
    assert_int_equal(sdx_value_write_pb(NULL, value, NULL, NULL), wrong);
    assert_int_equal(sdx_value_write_pb(path, NULL, NULL, NULL), wrong);
    assert_int_equal(sdx_value_write_npy(NULL, &tensor, NULL), wrong);
    assert_int_equal(sdx_value_write_npy(path, NULL, NULL), wrong);
    assert_int_equal(sdx_value_new_tensor(NULL, NULL, &again, NULL), wrong);
    assert_int_equal(sdx_value_new_sequence(NULL, NULL, 1, &again, NULL), wrong);
    assert_int_equal(sdx_value_new_sequence(NULL, with_a_hole, 2, &again, NULL), wrong);
    assert_null(again);
    sdx_value_release(value);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_come_back),
        cmocka_unit_test(small_elements_come_back),
        cmocka_unit_test(maps_of_words_come_back),
        cmocka_unit_test(mistakes_of_callers),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
