/* test_plan.c - the planner on made-up and random problems, judged by the independent validator. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "plan/plan.h"

static uint64_t random_state = 7;
static uint32_t random_below(uint32_t limit) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % limit;
}

static size_t most_live_bytes(const sdx_buffer *buffers, uint32_t count, uint32_t steps) {
    size_t most = 0;
    for (uint32_t s = 0; s < steps; s++) {
        size_t live = 0;
        for (uint32_t i = 0; i < count; i++)
            if (buffers[i].first <= s && s <= buffers[i].last) live += buffers[i].size;
        if (live > most) most = live;
    }
    return most;
}

static bool valid(const sdx_buffer *buffers, uint32_t count, size_t arena) {
    return sdx_plan_validate(buffers, count, arena, 1, NULL, NULL) == SDX_STATUS_OK;
}

static void chain_needs_two_buffers(void **state) {
    (void)state;
    sdx_buffer b[4] = {{64, 0, 1, 0, 0}, {64, 1, 2, 0, 0}, {64, 2, 3, 0, 0}, {64, 3, 4, 0, 0}};
    uint32_t active[4];
    size_t arena = 0;
    assert_true(sdx_plan_best_fit(b, 4, active, &arena));
    assert_int_equal(arena, 128);
    assert_true(valid(b, 4, arena));
}

static void best_gap_is_taken(void **state) {
    (void)state;
    /* Three freed places of 256, 64 and 128 bytes: the 128-byte buffer goes into the last. */
    sdx_buffer b[8] = {{256, 0, 1, 0, 0}, {64, 0, 9, 0, 0}, {64, 0, 1, 0, 0}, {64, 0, 9, 0, 0},
                       {128, 0, 1, 0, 0}, {64, 0, 9, 0, 0}, {128, 2, 3, 0, 0}, {256, 2, 3, 0, 0}};
    uint32_t active[8];
    size_t arena = 0;
    assert_true(sdx_plan_best_fit(b, 8, active, &arena));
    assert_int_equal(b[6].offset, b[4].offset);
    assert_int_equal(b[7].offset, b[0].offset);
    assert_true(valid(b, 8, arena));
}

static void empty_and_zero_sized(void **state) {
    (void)state;
    sdx_buffer b[2] = {{0, 0, 5, 0, 0}, {64, 0, 5, 0, 0}};
    uint32_t active[2];
    size_t arena = 1;
    assert_true(sdx_plan_best_fit(b, 0, active, &arena));
    assert_int_equal(arena, 0);
    assert_true(sdx_plan_best_fit(b, 2, active, &arena));
    assert_int_equal(arena, 64);
}

static void overflow_is_refused(void **state) {
    (void)state;
    sdx_buffer b[2] = {{SIZE_MAX - 63, 0, 5, 0, 0}, {128, 0, 5, 0, 0}};
    uint32_t active[2];
    size_t arena;
    assert_false(sdx_plan_best_fit(b, 2, active, &arena));
}

static void random_problems_are_valid(void **state) {
    (void)state;
    enum { COUNT = 120, STEPS = 60 };
    for (int round = 0; round < 300; round++) {
        sdx_buffer b[COUNT];
        uint32_t active[COUNT], at = 0;
        for (uint32_t i = 0; i < COUNT; i++) {
            at += random_below(2);
            uint32_t first = at < STEPS ? at : STEPS - 1;
            b[i] = (sdx_buffer){64 * (size_t)random_below(50), first,
                                first + random_below(STEPS - first), 0, 0};
        }
        size_t arena;
        assert_true(sdx_plan_best_fit(b, COUNT, active, &arena));
        assert_true(valid(b, COUNT, arena));
        assert_true(arena >= most_live_bytes(b, COUNT, STEPS));
    }
}

static void validator_sees_mistakes(void **state) {
    (void)state;
    sdx_buffer overlap[2] = {{64, 0, 3, 0, 0}, {64, 3, 4, 32, 0}};
    assert_false(valid(overlap, 2, 128));
    sdx_buffer outside[1] = {{64, 0, 3, 65, 0}};
    assert_false(valid(outside, 1, 128));
    sdx_buffer wrapped[1] = {{64, 0, 3, SIZE_MAX, 0}};
    assert_false(valid(wrapped, 1, 128));
    sdx_buffer apart[2] = {{64, 0, 2, 0, 0}, {64, 3, 4, 0, 0}};
    assert_true(valid(apart, 2, 64));
    sdx_buffer backwards[1] = {{64, 3, 2, 0, 0}};
    assert_false(valid(backwards, 1, 64));
    /* By one byte, from below and from above; and one that lies between two. */
    sdx_buffer below[2] = {{64, 0, 3, 0, 0}, {64, 1, 4, 63, 0}};
    assert_false(valid(below, 2, 128));
    sdx_buffer above[2] = {{64, 0, 3, 63, 0}, {64, 1, 4, 0, 0}};
    assert_false(valid(above, 2, 128));
    sdx_buffer between[3] = {{32, 0, 3, 0, 0}, {32, 0, 3, 64, 0}, {32, 1, 4, 32, 0}};
    assert_true(valid(between, 3, 96));
}

static void validator_sees_alignment(void **state) {
    (void)state;
    sdx_buffer own[1] = {{16, 0, 1, 4, 8}};
    assert_int_equal(sdx_plan_validate(own, 1, 64, 1, NULL, NULL), SDX_STATUS_BAD_INPUT);
    own[0].offset = 8;
    assert_int_equal(sdx_plan_validate(own, 1, 64, 1, NULL, NULL), SDX_STATUS_OK);
    assert_int_equal(sdx_plan_validate(own, 1, 64, 16, NULL, NULL), SDX_STATUS_BAD_INPUT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chain_needs_two_buffers), cmocka_unit_test(best_gap_is_taken),
        cmocka_unit_test(empty_and_zero_sized),    cmocka_unit_test(overflow_is_refused),
        cmocka_unit_test(random_problems_are_valid), cmocka_unit_test(validator_sees_mistakes),
        cmocka_unit_test(validator_sees_alignment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
