/* test_base.c - errors, checked sizes, allocator, arena, vector, map and tensor construction.
 * The allocator used here counts what is out and can be told to fail, so each test also shows
 * that nothing leaks and that sizes at release are those at allocation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/checked.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/utf8.h"

/* ---- an allocator that counts and fails --------------------------------------------------- */

typedef struct meter {
    size_t held, blocks, calls;
    size_t fail_at; /* the call that fails, and all after it; 0: none */
} meter;

#define SIZE_NOTE 64 /* keeps the alignments asked for here */

static void *meter_allocate(void *user, size_t size, size_t alignment) {
    meter *m = user;
    assert_true(size > 0);
    assert_true(alignment > 0 && (alignment & (alignment - 1)) == 0);
    m->calls++;
    if (m->fail_at != 0 && m->calls >= m->fail_at) return NULL;
    if (size > ((size_t)1 << 30)) return NULL; /* as a real system would */
    char *memory = NULL;
    if (posix_memalign((void **)&memory, SIZE_NOTE, size + SIZE_NOTE) != 0) return NULL;
    memset(memory, 0xa5, size + SIZE_NOTE); /* shows whoever relies on zeros */
    memcpy(memory, &size, sizeof size);
    m->held += size;
    m->blocks++;
    return memory + SIZE_NOTE;
}

static void meter_release(void *user, void *memory, size_t size) {
    meter *m = user;
    char *start = (char *)memory - SIZE_NOTE;
    size_t noted;
    memcpy(&noted, start, sizeof noted);
    assert_int_equal(noted, size);
    m->held -= size;
    m->blocks--;
    free(start);
}

static sdx_allocator metered(meter *m) {
    *m = (meter){0};
    return (sdx_allocator){.user = m, .allocate = meter_allocate, .release = meter_release};
}

static bool all_zero(const void *memory, size_t size) {
    const uint8_t *at = memory;
    for (size_t i = 0; i < size; i++)
        if (at[i] != 0) return false;
    return true;
}

/* ---- status ------------------------------------------------------------------------------- */

static void test_status_names(void **state) {
    (void)state;
    assert_string_equal(sdx_version(), SDX_VERSION_STRING);
    for (int i = 0; i <= SDX_STATUS_INTERNAL; i++) {
        assert_string_not_equal(sdx_status_name((sdx_status)i), "unknown status");
        for (int k = 0; k < i; k++)
            assert_string_not_equal(sdx_status_name((sdx_status)i), sdx_status_name((sdx_status)k));
    }
    assert_string_equal(sdx_status_name((sdx_status)99), "unknown status");
}

static void test_first_error_wins(void **state) {
    (void)state;
    sdx_error error;
    memset(&error, 0x55, sizeof error);
    sdx_error_clear(&error);
    assert_int_equal(error.code, SDX_STATUS_OK);
    assert_true(error.position == SDX_NO_POSITION);
    assert_string_equal(error.message, "");
    assert_int_equal(sdx_fail_at(&error, SDX_STATUS_BAD_MODEL, 17, "first %d", 1),
                     SDX_STATUS_BAD_MODEL);
    assert_int_equal(sdx_fail(&error, SDX_STATUS_IO, "second"), SDX_STATUS_IO);
    assert_int_equal(error.code, SDX_STATUS_BAD_MODEL);
    assert_int_equal(error.position, 17);
    assert_string_equal(error.message, "first 1");
    assert_int_equal(sdx_fail(NULL, SDX_STATUS_IO, "nowhere"), SDX_STATUS_IO);
    sdx_error_clear(NULL);
    sdx_error_clear(&error);
    assert_int_equal(sdx_fail_memory(&error, 4096, "a thing"), SDX_STATUS_NO_MEMORY);
    assert_true(error.position == SDX_NO_POSITION);
    assert_non_null(strstr(error.message, "4096 bytes"));
    assert_non_null(strstr(error.message, "a thing"));
}

static void test_error_text_is_harmless(void **state) {
    (void)state;
    sdx_error error = {0};
    sdx_fail(&error, SDX_STATUS_BAD_MODEL, "a%sb", "\x1b[31m\n\x7f\t");
    assert_string_equal(error.message, "a?[31m???b");
    /* Broken UTF-8: stray continuation, overlong, surrogate, too large; and C1 controls. */
    error = (sdx_error){0};
    sdx_fail(&error, SDX_STATUS_BAD_MODEL, "%s",
             "\x80|\xc0\xaf|\xed\xa0\x80|\xf4\x90\x80\x80|\xe2\x82|\xc2\x9b|");
    assert_string_equal(error.message, "?|??|???|????|??|??|");
    error = (sdx_error){0};
    sdx_fail(&error, SDX_STATUS_BAD_MODEL, "%s", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    assert_string_equal(error.message, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
}

static void assert_valid_utf8(const char *text) {
    size_t left = strlen(text);
    const uint8_t *at = (const uint8_t *)text;
    while (left > 0) {
        size_t step = sdx_utf8_step(at, left);
        assert_true(step > 0);
        at += step;
        left -= step;
    }
}

/* A long text of two-, three- or four-byte characters is cut at each possible place in one. */
static void test_error_cut_at_characters(void **state) {
    (void)state;
    static const char *const characters[] = {"\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
    for (size_t c = 0; c < 3; c++) {
        for (size_t shift = 0; shift < 4; shift++) {
            char text[2000] = "xxx";
            size_t used = shift, step = strlen(characters[c]);
            for (; used + step < 1200; used += step) memcpy(text + used, characters[c], step);
            text[used] = '\0';
            sdx_error error = {0};
            sdx_fail(&error, SDX_STATUS_BAD_MODEL, "%s", text);
            size_t size = strlen(error.message);
            assert_true(size < sizeof error.message);
            assert_true(size + step >= sizeof error.message);
            assert_null(strchr(error.message, '?'));
            assert_valid_utf8(error.message);
            sdx_error_set_node(&error, text, text);
            assert_null(strchr(error.message, '?'));
            assert_valid_utf8(error.message);
            assert_valid_utf8(error.node);
            assert_valid_utf8(error.op);
            assert_true(strlen(error.node) + 4 >= sizeof error.node);
            assert_true(strlen(error.message) + step >= sizeof error.message);
        }
    }
}

static void test_error_node(void **state) {
    (void)state;
    sdx_error error = {0};
    sdx_error_set_node(&error, "early", "Add"); /* no error yet: nothing to add to */
    assert_string_equal(error.node, "");
    sdx_fail(&error, SDX_STATUS_BAD_MODEL, "it broke");
    sdx_error_set_node(&error, "conv\n1", "Conv");
    assert_string_equal(error.message, "node 'conv?1' (Conv): it broke");
    assert_string_equal(error.node, "conv?1");
    assert_string_equal(error.op, "Conv");
    sdx_error_set_node(&error, "outer", "If");
    assert_string_equal(error.message, "node 'conv?1' (Conv): it broke");
    error = (sdx_error){0};
    sdx_fail(&error, SDX_STATUS_BAD_MODEL, "it broke");
    sdx_error_set_node(&error, "", "Conv");
    sdx_error_set_node(&error, "outer", "If");
    assert_string_equal(error.message, "unnamed node (Conv): it broke");
    error = (sdx_error){0};
    sdx_fail(&error, SDX_STATUS_BAD_MODEL, "it broke");
    sdx_error_set_node(&error, NULL, NULL);
    assert_string_equal(error.message, "it broke");
    sdx_error_set_node(NULL, "a", "b");
}

/* ---- checked ------------------------------------------------------------------------------ */

static void test_checked_sizes(void **state) {
    (void)state;
    size_t size = 0;
    int64_t number = 0;
    assert_true(sdx_size_add(SIZE_MAX - 1, 1, &size) && size == SIZE_MAX);
    assert_false(sdx_size_add(SIZE_MAX, 1, &size));
    assert_false(sdx_size_mul(SIZE_MAX / 2 + 1, 2, &size));
    assert_false(sdx_i64_add(INT64_MAX, 1, &number));
    assert_false(sdx_i64_sub(INT64_MIN, 1, &number));
    assert_false(sdx_i64_mul(INT64_MIN, -1, &number));
    assert_true(sdx_size_align(1, 64, &size) && size == 64);
    assert_true(sdx_size_align(64, 64, &size) && size == 64);
    assert_false(sdx_size_align(SIZE_MAX, 64, &size));
}

static void test_dims_count(void **state) {
    (void)state;
    size_t count = 99;
    const int64_t huge = (int64_t)1 << 62;
    assert_true(sdx_dims_count(NULL, 0, &count) && count == 1);
    assert_true(sdx_dims_count((int64_t[]){2, 3, 4}, 3, &count) && count == 24);
    assert_true(sdx_dims_count((int64_t[]){huge, huge, 0}, 3, &count) && count == 0);
    assert_true(sdx_dims_count((int64_t[]){0, huge, huge}, 3, &count) && count == 0);
    assert_false(sdx_dims_count((int64_t[]){huge, 4}, 2, &count));
    assert_false(sdx_dims_count((int64_t[]){0, -1}, 2, &count));
    assert_false(sdx_dims_count((int64_t[]){-1, 0}, 2, &count));
    assert_false(sdx_dims_count((int64_t[]){1}, -1, &count));
}

/* ---- allocator and arena ------------------------------------------------------------------ */

static void test_alloc(void **state) {
    (void)state;
    for (size_t alignment = 1; alignment <= 4096; alignment *= 2) {
        void *memory = sdx_alloc(NULL, 100, alignment);
        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % alignment, 0);
        memset(memory, 1, 100);
        sdx_free(NULL, memory, 100);
    }
    void *nothing = sdx_alloc(&sdx_default_allocator, 0, 64);
    assert_non_null(nothing);
    sdx_free(&sdx_default_allocator, nothing, 0);
    assert_null(sdx_alloc(NULL, SIZE_MAX, 1));
    assert_null(sdx_alloc(NULL, (size_t)PTRDIFF_MAX + 1, 64));
    assert_null(sdx_alloc(NULL, 10, 48)); /* not a power of two */
    sdx_free(NULL, NULL, 10);
}

static void test_arena_many(void **state) {
    (void)state;
    meter m;
    sdx_allocator allocator = metered(&m);
    sdx_arena arena;
    sdx_arena_init(&arena, &allocator, 0);
    enum { COUNT = 5000 };
    static uint8_t *places[COUNT];
    static size_t sizes[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        size_t alignment = (size_t)1 << i % 9;
        /* Mostly small, now and then larger than any block. */
        sizes[i] = i % 997 == 0 ? 3000000 : i % 101 == 0 ? 30000 : i * 7 % 300;
        places[i] = sdx_arena_alloc_aligned(&arena, sizes[i], alignment);
        assert_non_null(places[i]);
        assert_int_equal((uintptr_t)places[i] % alignment, 0);
        assert_int_equal((uintptr_t)places[i] % _Alignof(max_align_t), 0);
        assert_true(all_zero(places[i], sizes[i]));
        memset(places[i], (int)(i % 251 + 1), sizes[i]);
        assert_int_equal(arena.total, m.held);
    }
    /* No piece overlaps another: each still holds its own mark. */
    for (size_t i = 0; i < COUNT; i++)
        for (size_t k = 0; k < sizes[i]; k++)
            if (places[i][k] != i % 251 + 1) fail_msg("piece %zu was overwritten", i);
    assert_true(m.blocks < 90); /* blocks grow: far fewer than pieces */
    sdx_arena_free(&arena);
    assert_int_equal(m.held, 0);
    assert_int_equal(m.blocks, 0);
    /* And it can be used again. */
    assert_non_null(sdx_arena_alloc(&arena, 10));
    sdx_arena_free(&arena);
    assert_int_equal(m.held, 0);
}

/* A large request does not throw away what is left of the newest block. */
static void test_arena_keeps_room(void **state) {
    (void)state;
    meter m;
    sdx_allocator allocator = metered(&m);
    sdx_arena arena;
    sdx_arena_init(&arena, &allocator, 0);
    assert_non_null(sdx_arena_alloc(&arena, 1000000)); /* first of all: a block of its own */
    assert_non_null(sdx_arena_alloc(&arena, 16));
    assert_true(m.held < 1000000 + 20000); /* the small block begins at 16 KiB all the same */
    for (int i = 0; i < 20; i++) {
        assert_non_null(sdx_arena_alloc(&arena, 100000));
        assert_non_null(sdx_arena_alloc(&arena, 16));
    }
    assert_int_equal(m.blocks, 22);
    sdx_arena_free(&arena);
    assert_int_equal(m.held, 0);
}

/* What was reserved lies in one block, whatever its pieces; beyond the limit there is no such block. */
static void test_arena_reserve(void **state) {
    (void)state;
    meter m;
    sdx_allocator allocator = metered(&m);
    sdx_arena arena;
    sdx_arena_init(&arena, &allocator, 5000000);
    assert_non_null(sdx_arena_alloc(&arena, 16));
    assert_true(sdx_arena_reserve(&arena, 4000000));
    assert_int_equal(m.blocks, 2);
    const char *first = sdx_arena_alloc_raw(&arena, 3000000, 64);
    const char *second = sdx_arena_alloc_raw(&arena, 900000, 64);
    assert_int_equal(second - first, 3000000);
    assert_int_equal(m.blocks, 2);
    assert_false(sdx_arena_reserve(&arena, 2000000));
    assert_false(sdx_arena_reserve(&arena, SIZE_MAX));
    assert_non_null(sdx_arena_alloc(&arena, 16)); /* the room in the block is still there */
    assert_int_equal(m.blocks, 2);
    sdx_arena_free(&arena);
    assert_int_equal(m.held, 0);
}

static void test_arena_limit(void **state) {
    (void)state;
    meter m;
    sdx_allocator allocator = metered(&m);
    sdx_arena arena;
    const size_t limit = 50000;
    sdx_arena_init(&arena, &allocator, limit);
    size_t got = 0;
    while (sdx_arena_alloc(&arena, 100) != NULL) got += 100;
    assert_true(arena.total <= limit);
    assert_true(got > limit * 7 / 10); /* near the limit, smaller blocks are tried */
    assert_null(sdx_arena_alloc(&arena, limit));
    sdx_arena_free(&arena);
    assert_non_null(sdx_arena_alloc(&arena, 100)); /* freeing gives the budget back */
    sdx_arena_free(&arena);
    sdx_arena_init(&arena, &allocator, 100);
    assert_null(sdx_arena_alloc(&arena, 100)); /* the header counts as well */
    assert_non_null(sdx_arena_alloc(&arena, 30));
    sdx_arena_free(&arena);
    /* To the byte: what a block of its own takes is enough, one less is not. */
    sdx_arena_init(&arena, &allocator, 0);
    assert_non_null(sdx_arena_alloc(&arena, 1 << 20));
    const size_t needed = arena.total;
    sdx_arena_free(&arena);
    for (size_t less = 0; less < 2; less++) {
        sdx_arena_init(&arena, &allocator, needed - less);
        assert_int_equal(sdx_arena_alloc(&arena, 1 << 20) == NULL, less);
        sdx_arena_free(&arena);
    }
    assert_int_equal(m.held, 0);
}

static void test_arena_overflow(void **state) {
    (void)state;
    meter m;
    sdx_allocator allocator = metered(&m);
    sdx_arena arena;
    sdx_arena_init(&arena, &allocator, 0);
    assert_non_null(sdx_arena_alloc(&arena, 8));
    for (size_t back = 0; back < 200; back++) {
        assert_null(sdx_arena_alloc(&arena, SIZE_MAX - back));
        assert_null(sdx_arena_string(&arena, "x", SIZE_MAX - back));
        assert_null(sdx_arena_alloc_aligned(&arena, SIZE_MAX - 4096 - back, 4096));
    }
    assert_null(sdx_arena_array(&arena, SIZE_MAX / 2, 3));
    assert_null(sdx_arena_array(&arena, SIZE_MAX / 2 + 1, 2));
    assert_null(sdx_arena_alloc_aligned(&arena, 1, 24));
    assert_null(sdx_arena_alloc_aligned(&arena, 1, SIZE_MAX / 2 + 1));
    assert_non_null(sdx_arena_array(&arena, 0, 8));
    sdx_arena_free(&arena);
    assert_int_equal(m.held, 0);
}

static void test_arena_failing(void **state) {
    (void)state;
    for (size_t fail_at = 1; fail_at < 12; fail_at++) {
        meter m;
        sdx_allocator allocator = metered(&m);
        m.fail_at = fail_at;
        sdx_arena arena;
        sdx_arena_init(&arena, &allocator, 0);
        bool failed = false;
        for (int i = 0; i < 3000 && !failed; i++)
            failed = sdx_arena_alloc(&arena, i % 50 == 0 ? 60000 : 500) == NULL;
        assert_true(failed);
        assert_int_equal(arena.total, m.held);
        sdx_arena_free(&arena);
        assert_int_equal(m.held, 0);
    }
}

static void test_arena_text(void **state) {
    (void)state;
    meter m;
    sdx_allocator allocator = metered(&m);
    sdx_arena arena;
    sdx_arena_init(&arena, &allocator, 0);
    assert_string_equal(sdx_arena_string(&arena, "hello there", 5), "hello");
    assert_string_equal(sdx_arena_string(&arena, NULL, 0), "");
    assert_string_equal(sdx_arena_printf(&arena, "%d-%s", 42, "x"), "42-x");
    assert_string_equal(sdx_arena_printf(&arena, "%s", ""), "");
    char *wide = sdx_arena_printf(&arena, "%50000d", 7);
    assert_int_equal(strlen(wide), 50000);
    assert_int_equal(wide[49999], '7');
    sdx_arena_free(&arena);
    m.fail_at = m.calls + 1;
    assert_null(sdx_arena_printf(&arena, "%d", 1));
    assert_null(sdx_arena_string(&arena, "a", 1));
    sdx_arena_free(&arena);
    assert_int_equal(m.held, 0);
}

/* ---- vector ------------------------------------------------------------------------------- */

static void test_vector(void **state) {
    (void)state;
    typedef struct item {
        uint64_t number;
        char filler[20];
    } item;
    meter m;
    sdx_allocator allocator = metered(&m);
    sdx_vector vector = {0};
    for (uint64_t i = 0; i < 10000; i++) {
        item *place = sdx_vector_push(&vector, &allocator, sizeof *place);
        assert_non_null(place);
        assert_true(all_zero(place, sizeof *place));
        place->number = i;
        memset(place->filler, 0xee, sizeof place->filler);
    }
    assert_int_equal(vector.count, 10000);
    assert_true(m.calls < 16); /* geometric */
    const item *items = vector.data;
    for (uint64_t i = 0; i < 10000; i++) assert_int_equal(items[i].number, i);
    /* A failure to grow leaves the content in place. */
    while (vector.count < vector.capacity)
        assert_non_null(sdx_vector_push(&vector, &allocator, sizeof(item)));
    m.fail_at = m.calls + 1;
    size_t count = vector.count;
    assert_null(sdx_vector_push(&vector, &allocator, sizeof(item)));
    assert_int_equal(vector.count, count);
    assert_int_equal(((const item *)vector.data)[9999].number, 9999);
    sdx_vector_free(&vector, &allocator, sizeof(item));
    assert_null(vector.data);
    sdx_vector_free(&vector, &allocator, sizeof(item));
    assert_null(sdx_vector_push(&vector, &allocator, SIZE_MAX / 4));
    assert_int_equal(m.held, 0);
}

/* ---- map ---------------------------------------------------------------------------------- */

#define KEYS 200000

static void test_map_many(void **state) {
    (void)state;
    meter m;
    sdx_allocator allocator = metered(&m);
    char(*keys)[16] = malloc(KEYS * sizeof *keys);
    assert_non_null(keys);
    sdx_map map;
    sdx_map_init(&map, &allocator);
    assert_int_equal(sdx_map_get(&map, "k", 1), SDX_MAP_NONE);
    for (uint32_t i = 0; i < KEYS; i++) {
        int size = snprintf(keys[i], sizeof keys[i], "value_%u", i);
        assert_true(sdx_map_put(&map, keys[i], (size_t)size, i));
    }
    assert_int_equal(map.count, KEYS);
    assert_true(map.capacity >= KEYS && map.capacity <= 4 * KEYS);
    for (uint32_t i = 0; i < KEYS; i++)
        assert_int_equal(sdx_map_get(&map, keys[i], strlen(keys[i])), i);
    for (uint32_t i = 0; i < KEYS; i += 7) {
        char absent[32];
        int size = snprintf(absent, sizeof absent, "other_%u", i);
        assert_int_equal(sdx_map_get(&map, absent, (size_t)size), SDX_MAP_NONE);
        assert_true(sdx_map_put(&map, keys[i], strlen(keys[i]), i + 1)); /* overwrites */
        assert_int_equal(sdx_map_get(&map, keys[i], strlen(keys[i])), i + 1);
    }
    assert_int_equal(map.count, KEYS);
    sdx_map_free(&map);
    assert_int_equal(m.held, 0);
    assert_int_equal(sdx_map_get(&map, keys[0], strlen(keys[0])), SDX_MAP_NONE);
    free(keys);
}

static void test_map_odd_keys(void **state) {
    (void)state;
    sdx_map map;
    sdx_map_init(&map, &sdx_default_allocator);
    static const char zeros[64] = {0};
    assert_int_equal(sdx_map_get(&map, NULL, 0), SDX_MAP_NONE);
    assert_true(sdx_map_put(&map, NULL, 0, 1000));
    assert_int_equal(sdx_map_get(&map, "", 0), 1000);
    for (uint32_t size = 1; size <= 64; size++) /* only the length tells them apart */
        assert_true(sdx_map_put(&map, zeros, size, size));
    for (uint32_t size = 1; size <= 64; size++)
        assert_int_equal(sdx_map_get(&map, zeros, size), size);
    assert_int_equal(sdx_map_get(&map, NULL, 0), 1000);
    assert_int_equal(map.count, 65);
    sdx_map_free(&map);
}

static void test_map_failing(void **state) {
    (void)state;
    static char keys[1000][8];
    for (unsigned i = 0; i < 1000; i++) snprintf(keys[i], sizeof keys[i], "k%u", i);
    for (size_t fail_at = 1; fail_at <= 6; fail_at++) {
        meter m;
        sdx_allocator allocator = metered(&m);
        m.fail_at = fail_at;
        sdx_map map;
        sdx_map_init(&map, &allocator);
        uint32_t i = 0;
        while (i < 1000 && sdx_map_put(&map, keys[i], strlen(keys[i]), i)) i++;
        assert_true(i < 1000);
        assert_int_equal(map.count, i);
        for (uint32_t k = 0; k < i; k++) /* what was put before is still there */
            assert_int_equal(sdx_map_get(&map, keys[k], strlen(keys[k])), k);
        assert_int_equal(sdx_map_get(&map, keys[i], strlen(keys[i])), SDX_MAP_NONE);
        m.fail_at = 0; /* memory is back: it goes on */
        for (; i < 1000; i++) assert_true(sdx_map_put(&map, keys[i], strlen(keys[i]), i));
        sdx_map_free(&map);
        assert_int_equal(m.held, 0);
    }
}

static void test_hash(void **state) {
    (void)state;
    uint8_t data[100];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)(i * 37);
    for (size_t size = 0; size <= 80; size++) {
        uint64_t hash = sdx_hash_bytes(data, size, 1);
        assert_true(hash == sdx_hash_bytes(data, size, 1));
        assert_true(hash != sdx_hash_bytes(data, size, 2));
        assert_true(hash != sdx_hash_bytes(data, size + 1, 1));
        uint64_t spread = 0;
        for (size_t bit = 0; bit < 8 * size; bit++) {
            data[bit / 8] ^= (uint8_t)(1u << bit % 8);
            uint64_t change = sdx_hash_bytes(data, size, 1) ^ hash;
            data[bit / 8] ^= (uint8_t)(1u << bit % 8);
            int bits = __builtin_popcountll(change);
            if (bits < 10 || bits > 54) fail_msg("size %zu bit %zu: %d bits", size, bit, bits);
            spread |= change;
        }
        if (size > 4) assert_true(spread == UINT64_MAX);
    }
    sdx_map a, b;
    sdx_map_init(&a, NULL);
    sdx_map_init(&b, NULL);
    assert_true(a.seed != b.seed);
}

/* ---- tensor ------------------------------------------------------------------------------- */

static void test_tensor_init(void **state) {
    (void)state;
    float data[6];
    sdx_tensor tensor;
    sdx_error error = {0};
    assert_int_equal(
        sdx_tensor_init(&tensor, SDX_DTYPE_FLOAT32, 2, (int64_t[]){2, 3}, data, &error),
        SDX_STATUS_OK);
    assert_int_equal(tensor.count, 6);
    assert_int_equal(tensor.dims[1], 3);
    assert_int_equal(tensor.dims[2], 0);
    assert_ptr_equal(tensor.data, data);
    assert_int_equal(sdx_tensor_init(&tensor, SDX_DTYPE_INT8, 1, tensor.dims, NULL, &error),
                     SDX_STATUS_OK); /* from its own dims */
    assert_int_equal(tensor.count, 2);
    assert_int_equal(sdx_tensor_init(&tensor, SDX_DTYPE_FLOAT32, 0, NULL, data, &error),
                     SDX_STATUS_OK);
    assert_int_equal(tensor.count, 1);

    const struct {
        int dtype;
        int32_t rank;
        const int64_t *dims;
        const char *word;
    } bad[] = {
        {0, 0, NULL, "element type"},
        {SDX_DTYPE_COUNT, 0, NULL, "element type"},
        {-1, 0, NULL, "element type"},
        {1, -1, NULL, "rank"},
        {1, SDX_MAX_RANK + 1, NULL, "rank"},
        {1, 1, NULL, "NULL"},
        {1, 2, (const int64_t[]){2, -3}, "dim 1 is negative"},
        {1, 2, (const int64_t[]){INT64_MAX, 4}, "float32"},
        {SDX_DTYPE_FLOAT64, 1, (const int64_t[]){(int64_t)1 << 60}, "float64"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        sdx_error_clear(&error);
        tensor.count = 77;
        assert_int_equal(sdx_tensor_init(&tensor, (sdx_dtype)bad[i].dtype, bad[i].rank, bad[i].dims,
                                         NULL, &error),
                         SDX_STATUS_INVALID_ARGUMENT);
        assert_non_null(strstr(error.message, bad[i].word));
        assert_int_equal(tensor.count, 77); /* untouched */
    }
    assert_int_equal(sdx_tensor_init(NULL, SDX_DTYPE_FLOAT32, 0, NULL, NULL, NULL),
                     SDX_STATUS_INVALID_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_status_names),
        cmocka_unit_test(test_first_error_wins),
        cmocka_unit_test(test_error_text_is_harmless),
        cmocka_unit_test(test_error_cut_at_characters),
        cmocka_unit_test(test_error_node),
        cmocka_unit_test(test_checked_sizes),
        cmocka_unit_test(test_dims_count),
        cmocka_unit_test(test_alloc),
        cmocka_unit_test(test_arena_many),
        cmocka_unit_test(test_arena_keeps_room),
        cmocka_unit_test(test_arena_reserve),
        cmocka_unit_test(test_arena_limit),
        cmocka_unit_test(test_arena_overflow),
        cmocka_unit_test(test_arena_failing),
        cmocka_unit_test(test_arena_text),
        cmocka_unit_test(test_vector),
        cmocka_unit_test(test_map_many),
        cmocka_unit_test(test_map_odd_keys),
        cmocka_unit_test(test_map_failing),
        cmocka_unit_test(test_hash),
        cmocka_unit_test(test_tensor_init),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
