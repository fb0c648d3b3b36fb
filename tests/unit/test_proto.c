/* test_proto.c - the protobuf reader against well-formed, cut, deep and malicious bytes, and the
 * writer against the reader. Inputs lie in memory of exactly their size, so that a sanitizer sees
 * any read past the end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/reader.h"
#include "proto/writer.h"

/* ---- helpers ------------------------------------------------------------------------------ */

static sdx_span copy_exact(const void *bytes, size_t size) {
    uint8_t *copy = malloc(size == 0 ? 1 : size);
    assert_non_null(copy);
    if (size > 0) memcpy(copy, bytes, size);
    return (sdx_span){copy, size};
}

/* Reads one level to its end; returns the status and counts fields. */
static sdx_status read_all(sdx_span bytes, uint32_t depth, size_t *fields, sdx_error *error) {
    sdx_pb_reader in = sdx_pb_open(bytes, bytes.data, depth);
    sdx_pb_field field;
    sdx_status status;
    *fields = 0;
    while (sdx_pb_next(&in, &field, &status, error)) {
        assert_true(field.number >= 1 && field.number <= 0x1fffffff);
        ++*fields;
    }
    if (status == SDX_STATUS_OK) assert_true(sdx_pb_position(&in) == bytes.size);
    else assert_false(sdx_pb_next(&in, &field, &status, NULL)); /* still fails, does not go on */
    return status;
}

/* Takes every BYTES field for a message too, to any depth; whatever the outcome, no crash. */
static void walk(sdx_pb_reader *in) {
    sdx_pb_field field;
    sdx_status status;
    sdx_error error = {0};
    while (sdx_pb_next(in, &field, &status, &error)) {
        sdx_span text;
        int64_t wide;
        int32_t narrow;
        float real;
        size_t count;
        (void)sdx_pb_string(&field, "text", &text, NULL);
        (void)sdx_pb_int64(&field, "wide", &wide, NULL);
        (void)sdx_pb_int32(&field, "narrow", &narrow, NULL);
        (void)sdx_pb_float(&field, "real", &real, NULL);
        (void)sdx_pb_count_varints(field.bytes, &count);
        sdx_pb_reader inner;
        if (field.wire == SDX_WIRE_BYTES && sdx_pb_enter(in, &field, &inner, NULL) == SDX_STATUS_OK)
            walk(&inner);
    }
    assert_int_equal(status, error.code);
    if (status != SDX_STATUS_OK) assert_true(error.message[0] != '\0');
}

/* One malformed message: its status, its position, and a part of its sentence. */
static void expect_failure(const void *bytes, size_t size, uint32_t depth, sdx_status want,
                           uint64_t position, const char *sentence) {
    sdx_span span = copy_exact(bytes, size);
    sdx_error error = {0};
    size_t fields;
    sdx_status status = read_all(span, depth, &fields, &error);
    if (status != want || error.position != position || strstr(error.message, sentence) == NULL)
        fail_msg("status %d at %llu: \"%s\" in place of %d at %llu: \"%s\"", (int)status,
                 (unsigned long long)error.position, error.message, (int)want,
                 (unsigned long long)position, sentence);
    free((void *)(uintptr_t)span.data);
}

#define EXPECT_BAD(literal, position, sentence)                                                    \
    expect_failure(literal, sizeof(literal) - 1, 10, SDX_STATUS_BAD_MODEL, position, sentence)

/* ---- reading ------------------------------------------------------------------------------ */

static void test_fields(void **state) {
    (void)state;
    static const char bytes[] = "\x08\x96\x01" /* 1: 150 */
                                "\x12\x03"
                                "a\xc3\xa9"                                    /* 2: text */
                                "\x1d\x00\x00\xc0\x3f"                         /* 3: 1.5f */
                                "\x21\x08\x07\x06\x05\x04\x03\x02\x81"         /* 4: fixed64 */
                                "\x28\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01" /* 5: -2 */
                                "\x32\x00"                                     /* 6: empty */
                                "\xf8\xff\xff\xff\x0f\x01";                    /* 2^29 - 1 */
    sdx_span span = copy_exact(bytes, sizeof bytes - 1);
    sdx_pb_reader in = sdx_pb_open(span, span.data, 4);
    sdx_pb_field field;
    sdx_status status;
    sdx_error error = {0};
    int64_t wide = 0;
    int32_t narrow = 0;
    float real = 0;
    sdx_span text = {0};

    assert_true(sdx_pb_next(&in, &field, &status, &error));
    assert_int_equal(field.number, 1);
    assert_int_equal(sdx_pb_int64(&field, "a", &wide, &error), SDX_STATUS_OK);
    assert_int_equal(wide, 150);
    assert_true(sdx_pb_next(&in, &field, &status, &error));
    assert_int_equal(field.position, 3);
    assert_int_equal(sdx_pb_string(&field, "b", &text, &error), SDX_STATUS_OK);
    assert_int_equal(text.size, 3);
    assert_ptr_equal(text.data, span.data + 5); /* not copied */
    assert_true(sdx_pb_next(&in, &field, &status, &error));
    assert_int_equal(sdx_pb_float(&field, "c", &real, &error), SDX_STATUS_OK);
    assert_true(real == 1.5f);
    assert_true(sdx_pb_next(&in, &field, &status, &error));
    assert_int_equal(field.wire, SDX_WIRE_FIXED64);
    assert_true(field.varint == 0x8102030405060708u);
    assert_true(sdx_pb_next(&in, &field, &status, &error));
    assert_int_equal(sdx_pb_int32(&field, "d", &narrow, &error), SDX_STATUS_OK);
    assert_int_equal(narrow, -2);
    assert_int_equal(sdx_pb_int64(&field, "d", &wide, &error), SDX_STATUS_OK);
    assert_int_equal(wide, -2);
    assert_true(sdx_pb_next(&in, &field, &status, &error));
    assert_int_equal(sdx_pb_span(&field, "e", &text, &error), SDX_STATUS_OK);
    assert_int_equal(text.size, 0);
    assert_non_null(text.data);
    assert_true(sdx_pb_next(&in, &field, &status, &error));
    assert_int_equal(field.number, 0x1fffffff);
    assert_false(sdx_pb_next(&in, &field, &status, &error));
    assert_int_equal(status, SDX_STATUS_OK);
    assert_int_equal(error.code, SDX_STATUS_OK);
    free((void *)(uintptr_t)span.data);

    sdx_pb_reader nothing = sdx_pb_open((sdx_span){0}, NULL, 4);
    assert_false(sdx_pb_next(&nothing, &field, &status, &error));
    assert_int_equal(status, SDX_STATUS_OK);
    assert_int_equal(sdx_pb_position(&nothing), 0);
}

static void test_int32_takes_the_low_half(void **state) {
    (void)state;
    sdx_pb_field field = {.number = 1, .wire = SDX_WIRE_VARINT, .varint = 0xffffffffu};
    int32_t value = 0;
    assert_int_equal(sdx_pb_int32(&field, "v", &value, NULL), SDX_STATUS_OK);
    assert_int_equal(value, -1); /* written as 32 bits */
    field.varint = 0xffffffff80000000u;
    assert_int_equal(sdx_pb_int32(&field, "v", &value, NULL), SDX_STATUS_OK);
    assert_int_equal(value, INT32_MIN);
    field.varint = 0x7fffffff00000005u;
    assert_int_equal(sdx_pb_int32(&field, "v", &value, NULL), SDX_STATUS_OK);
    assert_int_equal(value, 5);
}

static void test_wrong_wire(void **state) {
    (void)state;
    sdx_pb_field field = {.number = 7, .wire = SDX_WIRE_VARINT, .position = 12};
    sdx_error error = {0};
    sdx_span span;
    float real;
    assert_int_equal(sdx_pb_span(&field, "graph", &span, &error), SDX_STATUS_BAD_MODEL);
    assert_string_equal(error.message, "field 7 'graph' at byte 12: wire type is varint but should "
                                       "be length-delimited");
    assert_int_equal(error.position, 12);
    assert_int_equal(sdx_pb_float(&field, "f", &real, NULL), SDX_STATUS_BAD_MODEL);
    sdx_pb_reader in = sdx_pb_open((sdx_span){0}, NULL, 4), inner;
    assert_int_equal(sdx_pb_enter(&in, &field, &inner, NULL), SDX_STATUS_BAD_MODEL);
    int64_t wide;
    field.wire = SDX_WIRE_FIXED64;
    assert_int_equal(sdx_pb_int64(&field, "f", &wide, NULL), SDX_STATUS_BAD_MODEL);
}

static void test_malformed(void **state) {
    (void)state;
    EXPECT_BAD("\x80", 0, "field tag at byte 0: its number is cut off");
    EXPECT_BAD("\x08\x01\x00\x01", 2, "field number 0");
    EXPECT_BAD("\x02\x00", 0, "field number 0");
    EXPECT_BAD("\x80\x80\x80\x80\x10\x01", 0, "field number 536870912 passes");
    EXPECT_BAD("\x08", 0, "field 1 at byte 0: its number is cut off");
    EXPECT_BAD("\x08\x01\x10\x80\x80", 2, "field 2 at byte 2: its number is cut off");
    EXPECT_BAD("\x3a\x90\x03"
               "abcdefghijkl",
               0,
               "field 7 at byte 0: length 400 passes the end of the enclosing message (12 bytes "
               "left)");
    EXPECT_BAD("\x08\x01\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 2,
               "length 18446744073709551615 passes the end of the enclosing message (0 bytes");
    EXPECT_BAD("\x0d\x00\x00\x00", 0, "4 bytes pass the end");
    EXPECT_BAD("\x09\x00\x00\x00\x00\x00\x00\x00", 0, "8 bytes pass the end");
    EXPECT_BAD("\x0e\x00", 0, "field 1 at byte 0: wire type 6 does not exist");
    EXPECT_BAD("\x08\x01\x17\x00", 2, "field 2 at byte 2: wire type 7 does not exist");
}

static void test_varint_overflow(void **state) {
    (void)state;
    EXPECT_BAD("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 0, "does not fit 64 bits");
    EXPECT_BAD("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x80\x00", 0, "does not fit 64 bits");
    EXPECT_BAD("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 0, "does not fit 64 bits");
    EXPECT_BAD("\x88\x80\x80\x80\x80\x80\x80\x80\x80\x02\x00", 0, "field tag at byte 0");
    /* Longer than needed, yet within ten bytes: allowed by the format. */
    sdx_span bytes = {(const uint8_t *)"\x81\x80\x80\x80\x80\x80\x80\x80\x80\x00\x05", 11};
    uint64_t value = 0;
    assert_true(sdx_pb_varint(&bytes, &value));
    assert_int_equal(value, 1);
    assert_int_equal(bytes.size, 1);
    assert_true(sdx_pb_varint(&bytes, &value));
    assert_int_equal(value, 5);
    assert_false(sdx_pb_varint(&bytes, &value));
    bytes = (sdx_span){(const uint8_t *)"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10};
    assert_true(sdx_pb_varint(&bytes, &value));
    assert_true(value == UINT64_MAX);
}

static void test_count_varints(void **state) {
    (void)state;
    size_t count = 99;
    assert_true(sdx_pb_count_varints((sdx_span){0}, &count) && count == 0);
    sdx_span some = {(const uint8_t *)"\x01\x80\x01\x7f\xff\x7f", 6};
    assert_true(sdx_pb_count_varints(some, &count) && count == 4);
    some.size = 5;
    assert_false(sdx_pb_count_varints(some, &count));
}

static void test_strings(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t size;
        const char *problem; /* NULL: fine */
    } cases[] = {
        {"", 0, NULL},
        {"name/with:any 'thing'\n", 22, NULL},
        {"\xf0\x9f\x98\x80\xef\xbf\xbf\xed\x9f\xbf", 10, NULL},
        {"a\0b", 3, "a NUL character at byte 1"},
        {"ab\xff", 3, "not valid UTF-8 at byte 2"},
        {"\xc3", 1, "not valid UTF-8 at byte 0"},
        {"\xe2\x82", 2, "not valid UTF-8"},
        {"\xf0\x9f\x98", 3, "not valid UTF-8"},
        {"\xc0\x80", 2, "not valid UTF-8"},
        {"\xc1\xbf", 2, "not valid UTF-8"},
        {"\xe0\x9f\xbf", 3, "not valid UTF-8"},
        {"\xed\xa0\x80", 3, "not valid UTF-8"},
        {"\xf0\x8f\xbf\xbf", 4, "not valid UTF-8"},
        {"\xf4\x90\x80\x80", 4, "not valid UTF-8"},
        {"\xf5\x80\x80\x80", 4, "not valid UTF-8"},
        {"ok\xe2\x28\xa1", 5, "not valid UTF-8 at byte 2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        sdx_span out = {0}, span = copy_exact(cases[i].text, cases[i].size);
        sdx_pb_field field = {.number = 3, .wire = SDX_WIRE_BYTES, .bytes = span, .position = 40};
        sdx_error error = {0};
        sdx_status status = sdx_pb_string(&field, "name", &out, &error);
        if (cases[i].problem == NULL) {
            assert_int_equal(status, SDX_STATUS_OK);
            assert_int_equal(out.size, cases[i].size);
        } else {
            assert_int_equal(status, SDX_STATUS_BAD_MODEL);
            assert_int_equal(error.position, 40);
            assert_non_null(strstr(error.message, "field 3 'name' at byte 40: "));
            assert_non_null(strstr(error.message, cases[i].problem));
        }
        free((void *)(uintptr_t)span.data);
    }
}

/* ---- groups and depth --------------------------------------------------------------------- */

static void test_groups(void **state) {
    (void)state;
    /* A group 2 with all wire types and a group 3 inside, then an ordinary field. */
    static const char good[] = "\x13\x08\x01\x0a\x02xy\x0d"
                               "abcd\x09"
                               "abcdefgh\x1b\x1c\x14"
                               "\x28\x07";
    sdx_span span = copy_exact(good, sizeof good - 1);
    sdx_pb_reader in = sdx_pb_open(span, span.data, 2);
    sdx_pb_field field;
    sdx_status status;
    assert_true(sdx_pb_next(&in, &field, &status, NULL));
    assert_int_equal(field.number, 5);
    assert_int_equal(field.varint, 7);
    assert_int_equal(field.position, sizeof good - 3);
    assert_false(sdx_pb_next(&in, &field, &status, NULL));
    assert_int_equal(status, SDX_STATUS_OK);
    free((void *)(uintptr_t)span.data);
    expect_failure(good, sizeof good - 1, 1, SDX_STATUS_LIMIT, 21, "groups are nested deeper");
    expect_failure(good, sizeof good - 1, 0, SDX_STATUS_LIMIT, 0, "groups are nested deeper");

    EXPECT_BAD("\x08\x01\x14", 2, "field 2 at byte 2: end of a group that was not begun");
    EXPECT_BAD("\x13\x1c", 1, "field 3 at byte 1: ends a group while group 2 is open");
    EXPECT_BAD("\x08\x01\x13\x08\x01", 2, "field 2 at byte 2: the group is not ended");
    EXPECT_BAD("\x13", 0, "the group is not ended");
    EXPECT_BAD("\x13\x0e\x14", 1, "wire type 6");
    EXPECT_BAD("\x13\x0a\x05\x14", 1, "length 5 passes");
    EXPECT_BAD("\x13\x00\x14", 1, "field number 0");
}

static void test_group_bomb(void **state) {
    (void)state;
    enum { LEVELS = 100000 };
    uint8_t *bytes = malloc(2 * LEVELS);
    assert_non_null(bytes);
    memset(bytes, 0x0b, LEVELS);
    memset(bytes + LEVELS, 0x0c, LEVELS);
    /* Even with no limit from the caller the depth stays bounded. */
    expect_failure(bytes, 2 * LEVELS, UINT32_MAX, SDX_STATUS_LIMIT, 100, "nested deeper");
    expect_failure(bytes, 2 * LEVELS, 64, SDX_STATUS_LIMIT, 64, "nested deeper");
    /* Many groups side by side are no depth. */
    for (size_t i = 0; i < 2 * LEVELS; i++) bytes[i] = i % 2 == 0 ? 0x0b : 0x0c;
    sdx_error error = {0};
    size_t fields;
    assert_int_equal(read_all((sdx_span){bytes, 2 * LEVELS}, 1, &fields, &error), SDX_STATUS_OK);
    assert_int_equal(fields, 0);
    free(bytes);
}

static void test_message_depth(void **state) {
    (void)state;
    sdx_pb_writer out;
    sdx_pb_writer_init(&out, &sdx_default_allocator);
    size_t marks[200];
    for (size_t i = 0; i < 200; i++) marks[i] = sdx_pb_write_begin(&out, 1);
    for (size_t i = 200; i-- > 0;) sdx_pb_write_end(&out, marks[i]);
    assert_false(out.failed);
    sdx_pb_reader in = sdx_pb_open((sdx_span){out.data, out.size}, out.data, 64);
    sdx_pb_field field;
    sdx_status status = SDX_STATUS_OK;
    sdx_error error = {0};
    size_t depth = 0;
    while (sdx_pb_next(&in, &field, &status, &error)) {
        sdx_pb_reader inner;
        status = sdx_pb_enter(&in, &field, &inner, &error);
        if (status != SDX_STATUS_OK) break;
        assert_ptr_equal(inner.base, out.data); /* positions go on counting from the file's start */
        in = inner;
        depth++;
    }
    assert_int_equal(status, SDX_STATUS_LIMIT);
    assert_int_equal(depth, 64);
    assert_int_equal(error.position, field.position);
    assert_non_null(strstr(error.message, "nested deeper"));
    sdx_pb_writer_free(&out);
}

/* ---- writing, cutting, noise -------------------------------------------------------------- */

/* Something like a small model, with each wire type, depth, and a group. */
static sdx_pb_writer sample(const sdx_allocator *allocator) {
    sdx_pb_writer out;
    sdx_pb_writer_init(&out, allocator);
    sdx_pb_write_varint(&out, 1, 8);
    sdx_pb_write_bytes(&out, 2, "producer", 8);
    size_t graph = sdx_pb_write_begin(&out, 7);
    for (unsigned i = 0; i < 3; i++) {
        size_t node = sdx_pb_write_begin(&out, 1);
        sdx_pb_write_bytes(&out, 1, "input", 5);
        sdx_pb_write_bytes(&out, 4, "Conv", 4);
        size_t attribute = sdx_pb_write_begin(&out, 5);
        sdx_pb_write_float(&out, 2, 0.5f);
        sdx_pb_write_varint(&out, 3, (uint64_t)-1);
        sdx_pb_write_end(&out, attribute);
        sdx_pb_write_end(&out, node);
    }
    uint8_t raw[300];
    memset(raw, 0x8f, sizeof raw);
    sdx_pb_write_bytes(&out, 9, raw, sizeof raw);
    sdx_pb_write_end(&out, graph); /* a length of two bytes */
    size_t empty = sdx_pb_write_begin(&out, 8);
    sdx_pb_write_end(&out, empty);
    sdx_pb_write_bytes(&out, 0x1fffffff, NULL, 0);
    return out;
}

static void test_writer(void **state) {
    (void)state;
    sdx_pb_writer out;
    sdx_pb_writer_init(&out, &sdx_default_allocator);
    size_t outer = sdx_pb_write_begin(&out, 3);
    sdx_pb_write_varint(&out, 1, 300);
    sdx_pb_write_float(&out, 2, 1.5f);
    sdx_pb_write_end(&out, outer);
    sdx_pb_write_bytes(&out, 16, "hi", 2);
    static const char want[] = "\x1a\x08\x08\xac\x02\x15\x00\x00\xc0\x3f\x82\x01\x02hi";
    assert_int_equal(out.size, sizeof want - 1);
    assert_memory_equal(out.data, want, out.size);
    sdx_pb_writer_free(&out);
    assert_null(out.data);

    static const uint64_t numbers[] = {
        0, 1, 127, 128, 16383, 16384, UINT32_MAX, (uint64_t)1 << 63, UINT64_MAX};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        sdx_pb_write_varint(&out, 5, numbers[i]);
    sdx_pb_reader in = sdx_pb_open((sdx_span){out.data, out.size}, NULL, 1);
    sdx_pb_field field;
    sdx_status status;
    for (size_t i = 0; sdx_pb_next(&in, &field, &status, NULL); i++)
        assert_true(field.varint == numbers[i]);
    assert_int_equal(status, SDX_STATUS_OK);
    sdx_pb_writer_free(&out);
}

static void test_cut_everywhere(void **state) {
    (void)state;
    sdx_pb_writer out = sample(&sdx_default_allocator);
    assert_false(out.failed);
    size_t clean = 0;
    for (size_t size = 0; size <= out.size; size++) {
        sdx_span span = copy_exact(out.data, size);
        sdx_error error = {0};
        size_t fields;
        sdx_status status = read_all(span, 64, &fields, &error);
        if (status == SDX_STATUS_OK) {
            clean++; /* the cut fell between two fields */
        } else {
            assert_int_equal(status, SDX_STATUS_BAD_MODEL);
            assert_int_equal(error.code, SDX_STATUS_BAD_MODEL);
            assert_true(error.position < size);
        }
        sdx_pb_reader in = sdx_pb_open(span, span.data, 64);
        walk(&in);
        free((void *)(uintptr_t)span.data);
    }
    assert_int_equal(clean, 6); /* five fields: six borders */
    sdx_pb_writer_free(&out);
}

static void test_noise(void **state) {
    (void)state;
    sdx_pb_writer out = sample(&sdx_default_allocator);
    uint64_t random = 88172645463325252u;
    for (int round = 0; round < 20000; round++) {
        sdx_span span = copy_exact(out.data, out.size);
        uint8_t *bytes = (uint8_t *)(uintptr_t)span.data;
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        size_t changes = 1 + random % 8;
        for (size_t i = 0; i < changes; i++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            bytes[(random >> 8) % span.size] = (uint8_t)random;
        }
        sdx_pb_reader in = sdx_pb_open(span, span.data, 20);
        walk(&in);
        free(bytes);
    }
    sdx_pb_writer_free(&out);
}

/* ---- a writer without memory -------------------------------------------------------------- */

typedef struct purse {
    size_t calls_left, held;
} purse;

static void *purse_allocate(void *user, size_t size, size_t alignment) {
    purse *p = user;
    (void)alignment;
    if (p->calls_left == 0) return NULL;
    p->calls_left--;
    p->held += size;
    return malloc(size);
}

static void purse_release(void *user, void *memory, size_t size) {
    ((purse *)user)->held -= size;
    free(memory);
}

static void test_writer_failing(void **state) {
    (void)state;
    size_t calls = 0;
    for (bool done = false; !done; calls++) {
        purse p = {.calls_left = calls};
        sdx_allocator allocator = {&p, purse_allocate, purse_release};
        sdx_pb_writer out = sample(&allocator);
        for (int i = 0; i < 200; i++) sdx_pb_write_bytes(&out, 1, "0123456789", 10);
        size_t mark = sdx_pb_write_begin(&out, 2);
        sdx_pb_write_end(&out, mark);
        done = !out.failed;
        if (done) { /* and then all of it is there */
            size_t fields;
            assert_int_equal(read_all((sdx_span){out.data, out.size}, 9, &fields, NULL), 0);
            assert_int_equal(fields, 5 + 200 + 1);
        }
        sdx_pb_write_bytes(&out, 1, "x", SIZE_MAX); /* does not fit: not read, not written */
        assert_true(out.failed);
        sdx_pb_writer_free(&out);
        assert_int_equal(p.held, 0);
    }
    assert_true(calls > 4 && calls < 9); /* it grew geometrically */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),          cmocka_unit_test(test_int32_takes_the_low_half),
        cmocka_unit_test(test_wrong_wire),      cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_varint_overflow), cmocka_unit_test(test_count_varints),
        cmocka_unit_test(test_strings),         cmocka_unit_test(test_groups),
        cmocka_unit_test(test_group_bomb),      cmocka_unit_test(test_message_depth),
        cmocka_unit_test(test_writer),          cmocka_unit_test(test_cut_everywhere),
        cmocka_unit_test(test_noise),           cmocka_unit_test(test_writer_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
