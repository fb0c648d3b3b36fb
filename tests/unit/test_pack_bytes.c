/* test_pack_bytes.c - the reader under packed files: whatever is written comes back, and nothing that a
 * stranger writes leads past the end, to a number that does not fit, or to a list longer than its bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "pack/bytes.h"

static sdx_source source_of(const void *bytes, size_t size) {
    return (sdx_source){.begin = bytes, .at = bytes, .end = (const uint8_t *)bytes + size};
}
#define SOURCE(...) source_of((const uint8_t[]){__VA_ARGS__}, sizeof(uint8_t[]){__VA_ARGS__})

static void what_is_written_comes_back(void **state) {
    (void)state;
    static const uint64_t numbers[] = {0, 1, 127, 128, 16383, 16384, UINT32_MAX, UINT64_MAX};
    static const int64_t signs[] = {0, -1, 1, INT64_MIN, INT64_MAX};
    sdx_sink out = {.allocator = &sdx_default_allocator};
    for (size_t i = 0; i < 8; i++) sdx_put_number(&out, numbers[i]);
    for (size_t i = 0; i < 5; i++) sdx_put_signed(&out, signs[i]);
    sdx_put_fixed64(&out, 0x0102030405060708u);
    sdx_put_float(&out, -0.5f);
    assert_false(out.failed);
    sdx_source in = source_of(out.data, out.size);
    for (size_t i = 0; i < 8; i++) assert_int_equal(sdx_take_number(&in), numbers[i]);
    for (size_t i = 0; i < 5; i++) assert_int_equal(sdx_take_signed(&in), signs[i]);
    assert_int_equal(sdx_take_fixed64(&in), 0x0102030405060708u);
    assert_true(sdx_take_float(&in) == -0.5f);
    assert_false(in.failed);
    assert_ptr_equal(in.at, in.end);
    sdx_sink_free(&out);
}

static void nothing_is_read_past_the_end(void **state) {
    (void)state;
    sdx_source in = SOURCE(1, 2, 3);
    assert_non_null(sdx_take_bytes(&in, 3));
    assert_false(in.failed);
    assert_null(sdx_take_bytes(&in, 1));
    assert_true(in.failed);
    in = SOURCE(1, 2, 3);
    assert_null(sdx_take_bytes(&in, 4));
    assert_true(in.failed);
    assert_null(sdx_take_bytes(&in, 1)); /* once failed, nothing more */
    in = SOURCE(1, 2, 3, 4, 5, 6, 7);
    assert_int_equal(sdx_take_fixed64(&in), 0);
    assert_true(in.failed);
    in = SOURCE(0x80);
    assert_int_equal(sdx_take_number(&in), 0);
    assert_true(in.failed);
}

static void numbers_fit(void **state) {
    (void)state;
    /* The tenth byte has room for one bit; an eleventh is not looked at. */
    sdx_source in = SOURCE(255, 255, 255, 255, 255, 255, 255, 255, 255, 1);
    assert_int_equal(sdx_take_number(&in), UINT64_MAX);
    assert_false(in.failed);
    in = SOURCE(255, 255, 255, 255, 255, 255, 255, 255, 255, 2);
    assert_int_equal(sdx_take_number(&in), 0);
    assert_true(in.failed);
    in = SOURCE(128, 128, 128, 128, 128, 128, 128, 128, 128, 129, 0);
    assert_int_equal(sdx_take_number(&in), 0);
    assert_true(in.failed);
    in = SOURCE(4, 5);
    assert_int_equal(sdx_take_below(&in, 5), 4);
    assert_false(in.failed);
    assert_int_equal(sdx_take_below(&in, 5), 0);
    assert_true(in.failed);
    in = SOURCE(128, 128, 128, 128, 16); /* 2^32 */
    assert_int_equal(sdx_take_below(&in, UINT64_MAX), 0);
    assert_true(in.failed);
}

static void lists_have_bytes(void **state) {
    (void)state;
    sdx_source in = SOURCE(2, 0, 0, 0, 0);
    assert_int_equal(sdx_take_count(&in, 2), 2);
    assert_false(in.failed);
    in = SOURCE(3, 0, 0, 0, 0);
    assert_int_equal(sdx_take_count(&in, 2), 0);
    assert_true(in.failed);
}

static void texts_have_no_zeros(void **state) {
    (void)state;
    sdx_arena arena;
    size_t size;
    sdx_arena_init(&arena, &sdx_default_allocator, 0);
    sdx_source in = SOURCE(2, 'o', 'k', 3, 'a', 0, 'b', 3, 'a', 0, 'b');
    assert_string_equal(sdx_take_text(&in, &arena, NULL), "ok");
    assert_memory_equal(sdx_take_text(&in, &arena, &size), "a\0b", 3); /* a string element may */
    assert_int_equal(size, 3);
    assert_false(in.failed);
    assert_string_equal(sdx_take_text(&in, &arena, NULL), "");
    assert_true(in.failed);
    in = SOURCE(3, 'o', 'k');
    assert_string_equal(sdx_take_text(&in, &arena, &size), "");
    assert_int_equal(size, 0);
    assert_true(in.failed);
    sdx_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_comes_back), cmocka_unit_test(nothing_is_read_past_the_end),
        cmocka_unit_test(numbers_fit),                cmocka_unit_test(lists_have_bytes),
        cmocka_unit_test(texts_have_no_zeros),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
