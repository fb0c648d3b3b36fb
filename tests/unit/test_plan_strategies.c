/* test_plan_strategies.c - every placement strategy on random problems, the exact search against all
 * orders of tiny ones, and the cases at the edge: nothing to place, no memory, no time, no way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <time.h>

#include "base/clock.h"
#include "plan/plan.h"

static uint64_t random_state = 11;
static uint32_t random_below(uint32_t limit) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % limit;
}

static void fill(sdx_buffer *buffers, uint32_t count, uint32_t steps, uint32_t sizes) {
    for (uint32_t i = 0; i < count; i++) {
        uint32_t first = random_below(steps);
        buffers[i] = (sdx_buffer){.size = random_below(sizes), .first = first,
                                  .last = first + random_below(steps - first)};
    }
}

static const char *strategy_name(size_t index) {
    sdx_plan_strategy_info info = {.struct_size = sizeof info};
    assert_int_equal(sdx_plan_strategy_get_info(index, &info), SDX_STATUS_OK);
    return info.name;
}

static sdx_plan_result place(sdx_buffer *buffers, uint32_t count, const sdx_plan_request *request) {
    sdx_plan_result result = {0};
    sdx_error error;
    sdx_error_clear(&error);
    sdx_status status = sdx_plan_place(buffers, count, request, &result, &error);
    if (status != SDX_STATUS_OK) fail_msg("%s: %s", request->strategy, error.message);
    return result;
}

/* The validator, written the slow way. */
static void check(const sdx_buffer *b, uint32_t count, const sdx_plan_result *r) {
    for (uint32_t i = 0; i < count; i++) {
        if (b[i].size == 0) continue;
        assert_true(b[i].offset + b[i].size <= r->arena);
        for (uint32_t k = 0; k < i; k++) {
            bool live = b[k].size && b[i].first <= b[k].last && b[k].first <= b[i].last;
            assert_false(live && b[i].offset < b[k].offset + b[k].size &&
                         b[k].offset < b[i].offset + b[i].size);
        }
    }
    assert_true(r->arena >= r->proved_bound && r->proved_bound >= r->lower_bound);
    assert_true(r->arena <= r->naive);
    assert_int_equal(r->proved, r->arena == r->proved_bound);
}

static void every_strategy_gives_valid_plans(void **state) {
    (void)state;
    enum { COUNT = 60 };
    for (int round = 0; round < 20; round++) {
        sdx_buffer b[COUNT];
        fill(b, COUNT, 5 + random_below(60), 2 + random_below(200));
        for (size_t i = 0; i < sdx_plan_strategy_count(); i++) {
            sdx_plan_request request = {.strategy = strategy_name(i), .time_limit = 0.05,
                                        .align = round % 3 == 0 ? 16 : 1};
            sdx_plan_result r = place(b, COUNT, &request);
            check(b, COUNT, &r);
            for (uint32_t k = 0; k < COUNT && request.align > 1; k++)
                assert_int_equal(b[k].offset % 16, 0);
        }
    }
}

static void alignments_of_all_kinds(void **state) {
    (void)state;
    enum { COUNT = 40 };
    sdx_buffer b[COUNT];
    for (size_t i = 0; i < sdx_plan_strategy_count(); i++) {
        fill(b, COUNT, 20, 100);
        for (uint32_t k = 0; k < COUNT; k++) b[k].align = (size_t)1 << random_below(7);
        sdx_plan_request request = {.strategy = strategy_name(i), .time_limit = 0.05};
        sdx_plan_result r = {0};
        assert_int_equal(sdx_plan_place(b, COUNT, &request, &r, NULL), SDX_STATUS_OK);
        for (uint32_t k = 0; k < COUNT; k++) assert_int_equal(b[k].offset % b[k].align, 0);
    }
}

/* A rectangle cut into boxes: no slack at all, and the optimum is known. */
static uint32_t cut(sdx_buffer *b, uint32_t count, uint32_t steps, uint32_t bytes) {
    b[0] = (sdx_buffer){.size = bytes, .first = 0, .last = steps - 1};
    for (uint32_t made = 1; made < count;) {
        sdx_buffer *old = &b[random_below(made)];
        b[made] = *old;
        if (random_below(2)) {
            if (old->last == old->first) continue;
            old->last = old->first + random_below(old->last - old->first);
            b[made].first = old->last + 1;
        } else {
            if (old->size < 2) continue;
            old->size = 1 + random_below((uint32_t)old->size - 1);
            b[made].size -= old->size;
        }
        made++;
    }
    return count;
}

/* Every plan can be had by dropping buffers in some order, each onto those that it meets. Finds the
 * smallest arena below *best. */
static void try_all_orders(const sdx_buffer *b, uint32_t *order, uint32_t count, uint32_t fixed,
                           size_t *tops, size_t top, size_t *best) {
    if (fixed == count) *best = top;
    for (uint32_t k = fixed; k < count; k++) {
        uint32_t chosen = order[k];
        order[k] = order[fixed];
        order[fixed] = chosen;
        size_t at = 0;
        for (uint32_t i = 0; i < fixed; i++)
            if (b[order[i]].first <= b[chosen].last && b[chosen].first <= b[order[i]].last &&
                tops[i] > at)
                at = tops[i];
        tops[fixed] = at + b[chosen].size;
        size_t higher = tops[fixed] > top ? tops[fixed] : top;
        if (higher < *best) try_all_orders(b, order, count, fixed + 1, tops, higher, best);
        order[fixed] = order[k];
        order[k] = chosen;
    }
}

static size_t smallest_arena(const sdx_buffer *b, uint32_t count) {
    uint32_t order[16];
    size_t tops[16], smallest = SIZE_MAX;
    for (uint32_t i = 0; i < count; i++) order[i] = i;
    try_all_orders(b, order, count, 0, tops, 0, &smallest);
    return smallest;
}

static void exact_is_exact(void **state) {
    (void)state;
    enum { COUNT = 8 };
    for (int round = 0; round < 100; round++) {
        sdx_buffer b[COUNT];
        if (round % 4) cut(b, COUNT, 5, 9);
        else fill(b, COUNT, 8, 9);
        if (round % 4) b[random_below(COUNT)].last++;
        sdx_plan_request request = {.strategy = round % 2 ? "exact" : "best"};
        sdx_plan_result r = place(b, COUNT, &request);
        check(b, COUNT, &r);
        assert_int_equal(r.arena, smallest_arena(b, COUNT));
        assert_true(r.proved);
    }
}

/* One of the few small problems whose bound, 14, is out of reach; in its variants too. */
static void out_of_reach_is_proved(void **state) {
    (void)state;
    enum { COUNT = 9 };
    static const uint32_t lives[COUNT][3] = {{1, 0, 5}, {7, 7, 7}, {4, 3, 3}, {3, 0, 6}, {6, 1, 2},
                                             {3, 0, 3}, {2, 6, 6}, {6, 5, 7}, {3, 3, 6}};
    for (uint32_t variant = 0; variant < 4; variant++) {
        uint32_t factor = variant & 1 ? 5 : 1;
        sdx_buffer b[COUNT + 1];
        for (uint32_t i = 0; i < COUNT; i++) {
            uint32_t first = lives[i][1], last = lives[i][2];
            b[i] = (sdx_buffer){.size = lives[i][0] * factor,
                                .first = variant & 2 ? 7 - last : first,
                                .last = variant & 2 ? 7 - first : last};
        }
        b[COUNT] = (sdx_buffer){.size = factor, .first = 8, .last = 9}; /* on its own */
        assert_int_equal(smallest_arena(b, COUNT), 15 * factor);
        sdx_plan_request request = {.strategy = "exact"};
        sdx_plan_result r = place(b, COUNT + 1, &request);
        assert_int_equal(r.lower_bound, 14 * factor);
        assert_int_equal(r.arena, 15 * factor);
        assert_true(r.proved);
        request.capacity = 14 * factor;
        r = place(b, COUNT + 1, &request);
        assert_false(r.fits);
        assert_int_equal(r.proved_bound, 15 * factor);
        request.capacity = 15 * factor;
        assert_true(place(b, COUNT + 1, &request).fits);
    }
}

static void no_slack_is_solved(void **state) {
    (void)state;
    enum { COUNT = 80 };
    for (int round = 0; round < 10; round++) {
        sdx_buffer b[COUNT];
        cut(b, COUNT, 50, 1024);
        sdx_plan_request request = {.strategy = "exact", .time_limit = 60};
        sdx_plan_result r = place(b, COUNT, &request);
        check(b, COUNT, &r);
        assert_int_equal(r.arena, 1024);
        assert_true(r.proved);
    }
}

static void edges(void **state) {
    (void)state;
    for (size_t i = 0; i < sdx_plan_strategy_count(); i++) {
        sdx_plan_request request = {.strategy = strategy_name(i)};
        bool naive = strcmp(request.strategy, "naive") == 0;
        sdx_plan_result r = place(NULL, 0, &request);
        assert_int_equal(r.arena, 0);
        assert_true(r.proved && r.fits);
        sdx_buffer empty[2] = {{.last = 3}, {.first = 2, .last = UINT32_MAX}};
        assert_int_equal(place(empty, 2, &request).arena, 0);
        sdx_buffer one = {.size = 77, .first = UINT32_MAX, .last = UINT32_MAX, .offset = 5};
        assert_int_equal(place(&one, 1, &request).arena, 77);
        assert_int_equal(one.offset, 0);
        sdx_buffer all[3] = {{.size = 5, .last = 9}, {.size = 6, .last = 9}, {.size = 7, .last = 9}};
        assert_int_equal(place(all, 3, &request).arena, 18);
        sdx_buffer none[3] = {{.size = 5}, {.size = 6, .first = 1, .last = 1},
                              {.size = 7, .first = 2, .last = 2}};
        r = place(none, 3, &request);
        assert_int_equal(r.arena, naive ? 18 : 7);
        assert_int_equal(r.lower_bound, 7);
        assert_int_equal(r.naive, 18);
    }
}

static void wrong_requests(void **state) {
    (void)state;
    sdx_buffer b[2] = {{.size = SIZE_MAX - 63, .last = 5}, {.size = 128, .last = 5}};
    sdx_plan_result r;
    sdx_plan_request request = {0};
    assert_int_equal(sdx_plan_place(b, 2, &request, &r, NULL), SDX_STATUS_LIMIT);
    b[0] = (sdx_buffer){.size = 3, .first = 4, .last = 2};
    assert_int_equal(sdx_plan_place(b, 1, &request, &r, NULL), SDX_STATUS_INVALID_ARGUMENT);
    request.strategy = "nonsense";
    assert_int_equal(sdx_plan_place(b, 0, &request, &r, NULL), SDX_STATUS_INVALID_ARGUMENT);
    request = (sdx_plan_request){.time_limit = -1};
    assert_int_equal(sdx_plan_place(b, 0, &request, &r, NULL), SDX_STATUS_INVALID_ARGUMENT);
    b[0] = (sdx_buffer){.size = 3, .last = 2, .align = 3};
    b[1] = (sdx_buffer){.size = 3, .last = 2};
    request = (sdx_plan_request){.align = 2};
    assert_int_equal(sdx_plan_place(b, 2, &request, &r, NULL), SDX_STATUS_UNSUPPORTED);
}

/* ---- memory and time ----------------------------------------------------------------------------- */

typedef struct scarce {
    long left; /* allocations until one fails */
    size_t held;
} scarce;

static void *scarce_allocate(void *user, size_t size, size_t alignment) {
    scarce *s = user;
    if (s->left-- <= 0) return NULL;
    s->held += size;
    return sdx_default_allocator.allocate(NULL, size, alignment);
}

static void scarce_release(void *user, void *memory, size_t size) {
    scarce *s = user;
    s->held -= size;
    sdx_default_allocator.release(NULL, memory, size);
}

static void memory_runs_out(void **state) {
    (void)state;
    enum { COUNT = 30 };
    sdx_buffer b[COUNT];
    cut(b, COUNT, 20, 100);
    for (size_t i = 0; i < sdx_plan_strategy_count(); i++) {
        bool done = false;
        for (long room = 0; !done; room++) {
            scarce s = {.left = room};
            sdx_allocator allocator = {&s, scarce_allocate, scarce_release};
            sdx_plan_request request = {.strategy = strategy_name(i), .allocator = &allocator};
            sdx_plan_result r;
            sdx_status status = sdx_plan_place(b, COUNT, &request, &r, NULL);
            assert_true(status == SDX_STATUS_OK || status == SDX_STATUS_NO_MEMORY);
            assert_int_equal(s.held, 0);
            done = status == SDX_STATUS_OK;
            assert_true(room < 10000);
        }
    }
}

static void time_is_kept(void **state) {
    (void)state;
    enum { COUNT = 800 };
    static sdx_buffer b[COUNT];
    for (size_t i = 0; i < sdx_plan_strategy_count(); i++) {
        cut(b, COUNT, 50, 1 << 20);
        sdx_plan_request request = {.strategy = strategy_name(i), .time_limit = 0.1};
        double start = sdx_seconds();
        sdx_plan_result r = place(b, COUNT, &request);
        check(b, COUNT, &r);
        assert_true(sdx_seconds() - start < 10); /* sanitizers and busy machines are slow */
    }
}

static bool now_cancelled(void *user) { return ++*(int *)user > 2; }

static void cancelling(void **state) {
    (void)state;
    enum { COUNT = 300 };
    static sdx_buffer b[COUNT];
    cut(b, COUNT, 50, 1 << 20);
    int asked = 0;
    sdx_plan_request request = {.strategy = "exact", .cancelled = now_cancelled, .user = &asked};
    sdx_plan_result r;
    assert_int_equal(sdx_plan_place(b, COUNT, &request, &r, NULL), SDX_STATUS_CANCELLED);
}

static void same_seed_same_plan(void **state) {
    (void)state;
    enum { COUNT = 90 };
    static const char *const names[] = {"exact", "hill-climb", "best"};
    sdx_buffer a[COUNT], b[COUNT];
    cut(a, COUNT, 30, 500);
    for (size_t i = 0; i < 3; i++) {
        sdx_plan_request request = {.strategy = names[i], .seed = 5, .capacity = 520};
        memcpy(b, a, sizeof a);
        sdx_plan_result first = place(a, COUNT, &request), second = place(b, COUNT, &request);
        assert_int_equal(first.nodes, second.nodes);
        assert_memory_equal(a, b, sizeof a);
    }
}

static void validator_agrees_with_the_slow_way(void **state) {
    (void)state;
    enum { COUNT = 6 };
    int wrong = 0, right = 0;
    for (int round = 0; round < 2000; round++) {
        sdx_buffer b[COUNT];
        fill(b, COUNT, 6, 4);
        bool good = true;
        for (uint32_t i = 0; i < COUNT; i++) b[i].offset = random_below(12);
        for (uint32_t i = 0; i < COUNT; i++)
            for (uint32_t k = 0; k < i; k++)
                if (b[i].size && b[k].size && b[i].first <= b[k].last && b[k].first <= b[i].last &&
                    b[i].offset < b[k].offset + b[k].size && b[k].offset < b[i].offset + b[i].size)
                    good = false;
        assert_int_equal(sdx_plan_validate(b, COUNT, 100, 1, NULL, NULL) == SDX_STATUS_OK, good);
        wrong += !good;
        right += good;
    }
    assert_true(wrong > 100 && right > 100);
}

/* Tiny buffers among huge ones: gaps as high as the former, one upon the other, are work too, so that
 * a search ends when its allowance does. */
static void small_gaps_end(void **state) {
    (void)state;
    sdx_buffer buffers[] = {
        {.size = 44957696, .first = 0, .last = 5}, {.size = 64, .first = 1, .last = 8},
        {.size = 44957696, .first = 5, .last = 14}, {.size = 200704, .first = 6, .last =
        10}, {.size = 200704, .first = 7, .last = 11}, {.size = 64, .first = 8, .last =
        11}, {.size = 100352, .first = 10, .last = 19}, {.size = 100352, .first = 11,
        .last = 18}, {.size = 22478848, .first = 14, .last = 21}, {.size = 22478848,
        .first = 14, .last = 20}, {.size = 22478848, .first = 15, .last = 21}, {.size =
        22478848, .first = 16, .last = 17}, {.size = 44957696, .first = 21, .last = 22},
        {.size = 44957696, .first = 22, .last = 23}, {.size = 44957696, .first = 23,
        .last = 26}, {.size = 64, .first = 24, .last = 25}};
    const uint32_t count = sizeof buffers / sizeof *buffers;
    sdx_plan_request request = {.strategy = "exact", .align = 64, .max_work = 10000000,
                                .allocator = &sdx_default_allocator};
    sdx_plan_result result;
    clock_t start = clock();
    assert_int_equal(sdx_plan_place(buffers, count, &request, &result, NULL), SDX_STATUS_OK);
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 5); /* it was endless */
    assert_true(result.arena <= 112594944);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_gaps_end),
        cmocka_unit_test(every_strategy_gives_valid_plans),
        cmocka_unit_test(alignments_of_all_kinds),
        cmocka_unit_test(exact_is_exact),
        cmocka_unit_test(out_of_reach_is_proved),
        cmocka_unit_test(no_slack_is_solved),
        cmocka_unit_test(edges),
        cmocka_unit_test(wrong_requests),
        cmocka_unit_test(memory_runs_out),
        cmocka_unit_test(time_is_kept),
        cmocka_unit_test(cancelling),
        cmocka_unit_test(same_seed_same_plan),
        cmocka_unit_test(validator_agrees_with_the_slow_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
