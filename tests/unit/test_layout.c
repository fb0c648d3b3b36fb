/* test_layout.c - an arrangement made for some sizes holds for any other: no overlap, and the same
 * arena where the sizes are the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "plan/layout.h"

#define MOST 200

static uint32_t state = 7;
static uint32_t draw(uint32_t below) {
    state = state * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)(state >> 8) * below) >> 24);
}

static void place(sdx_buffer *buffers, uint32_t count, size_t *arena) {
    sdx_plan_request request = {.strategy = "size", .allocator = &sdx_default_allocator};
    sdx_plan_result result;
    assert_int_equal(sdx_plan_place(buffers, count, &request, &result, NULL), SDX_STATUS_OK);
    *arena = (size_t)result.arena;
}

static bool valid(const sdx_buffer *buffers, uint32_t count, size_t arena) {
    return sdx_plan_validate(buffers, count, arena, 1, &sdx_default_allocator, NULL) ==
           SDX_STATUS_OK;
}

static void holds_for_all_sizes(void **unused) {
    (void)unused;
    for (int round = 0; round < 200; round++) {
        sdx_buffer buffers[MOST];
        uint32_t count = draw(MOST);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t first = draw(60);
            buffers[i] = (sdx_buffer){.size = draw(6) ? draw(100) : 0, .first = first,
                                      .last = first + draw(12)};
        }
        size_t arena, again;
        place(buffers, count, &arena);
        sdx_arena memory;
        sdx_arena_init(&memory, &sdx_default_allocator, 0);
        sdx_layout layout;
        assert_int_equal(sdx_layout_make(buffers, count, &memory, &layout, NULL), SDX_STATUS_OK);
        assert_true(sdx_layout_apply(&layout, buffers, &again));
        assert_true(again <= arena); /* gaps below a buffer close */
        assert_true(valid(buffers, count, again));
        for (int other = 0; other < 4; other++) {
            for (uint32_t i = 0; i < count; i++) buffers[i].size = draw(5) ? draw(1000) : 0;
            assert_true(sdx_layout_apply(&layout, buffers, &again));
            assert_true(valid(buffers, count, again));
        }
        sdx_arena_free(&memory);
    }
}

static void scales(void **unused) {
    (void)unused;
    sdx_buffer buffers[50];
    for (uint32_t i = 0; i < 50; i++)
        buffers[i] = (sdx_buffer){.size = 1 + draw(9), .first = i, .last = i + draw(5)};
    size_t arena, again;
    place(buffers, 50, &arena);
    sdx_arena memory;
    sdx_arena_init(&memory, &sdx_default_allocator, 0);
    sdx_layout layout;
    assert_int_equal(sdx_layout_make(buffers, 50, &memory, &layout, NULL), SDX_STATUS_OK);
    sdx_layout_apply(&layout, buffers, &arena);
    for (uint32_t i = 0; i < 50; i++) buffers[i].size *= 64;
    assert_true(sdx_layout_apply(&layout, buffers, &again));
    assert_int_equal(again, arena * 64);
    for (uint32_t i = 0; i < 50; i++) buffers[i].size = SIZE_MAX / 3;
    assert_false(sdx_layout_apply(&layout, buffers, &again));
    sdx_arena_free(&memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holds_for_all_sizes),
        cmocka_unit_test(scales),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
