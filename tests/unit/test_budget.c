/* test_budget.c - memory within a limit, and the watch of a thread: base/budget.h, base/watch.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/budget.h"
#include "base/cpus.h"
#include "base/watch.h"

static void limit_holds(void **state) {
    (void)state;
    sdx_budget budget;
    sdx_budget_init(&budget, &sdx_default_allocator, 1000);
    void *one = sdx_alloc(&budget.allocator, 600, 1), *two = sdx_alloc(&budget.allocator, 400, 1);
    assert_non_null(one);
    assert_non_null(two);
    assert_null(sdx_alloc(&budget.allocator, 1, 1)); /* it is full to the byte */
    assert_int_equal(budget.used, 1000);
    sdx_free(&budget.allocator, two, 400);
    assert_null(sdx_alloc(&budget.allocator, 401, 1));
    assert_null(sdx_alloc(&budget.allocator, PTRDIFF_MAX, 1)); /* no sum wraps */
    assert_int_equal(budget.used, 600);
    assert_int_equal(budget.peak, 1000);
    sdx_free(&budget.allocator, one, 600);
    assert_int_equal(budget.used, 0);
}

/* Memory that somebody else takes is counted in every budget on the way, and in none that is no budget. */
static void reserves_count(void **state) {
    (void)state;
    sdx_budget outer, inner;
    sdx_budget_init(&outer, &sdx_default_allocator, 1000);
    sdx_budget_init(&inner, &outer.allocator, UINT64_MAX);
    assert_true(sdx_budget_reserve(&inner.allocator, 600));
    assert_int_equal(outer.used, 600);
    assert_int_equal(inner.used, 600);
    assert_null(sdx_alloc(&outer.allocator, 401, 1));
    assert_false(sdx_budget_reserve(&inner.allocator, 401));
    assert_int_equal(outer.refused, 401);
    assert_int_equal(inner.used, 600);
    assert_int_equal(outer.used, 600);
    assert_true(sdx_budget_reserve(&inner.allocator, 400));
    assert_int_equal(inner.peak, 1000);
    assert_int_equal(outer.peak, 1000);
    sdx_budget_return(&inner.allocator, 1000);
    assert_int_equal(inner.used, 0);
    assert_int_equal(outer.used, 0);
    assert_true(sdx_budget_reserve(&sdx_default_allocator, SIZE_MAX));
    sdx_budget_return(&sdx_default_allocator, SIZE_MAX);
}

static void refusals_are_explained(void **state) {
    (void)state;
    sdx_budget budget;
    sdx_error error;
    sdx_error_clear(&error);
    sdx_budget_init(&budget, &sdx_default_allocator, 1000);
    /* Nothing was refused: the system is out of memory. */
    sdx_fail_memory(&error, 7, "a test");
    assert_int_equal(sdx_budget_explain(&budget, SDX_STATUS_NO_MEMORY, &error), SDX_STATUS_NO_MEMORY);
    assert_string_equal(error.message, "not enough memory: 7 bytes for a test");
    void *held = sdx_alloc(&budget.allocator, 300, 1);
    assert_null(sdx_alloc(&budget.allocator, 2000, 1));
    sdx_free(&budget.allocator, held, 300); /* the message tells what was held then */
    assert_int_equal(sdx_budget_explain(&budget, SDX_STATUS_BAD_INPUT, &error), SDX_STATUS_BAD_INPUT);
    assert_int_equal(sdx_budget_explain(&budget, SDX_STATUS_NO_MEMORY, &error), SDX_STATUS_LIMIT);
    assert_int_equal(error.code, SDX_STATUS_LIMIT);
    assert_string_equal(error.message, "not enough memory: 7 bytes for a test; 2000 bytes beside the 300 "
                                       "that are held pass the limit max_memory, 1000");
}

static void *anything(void *user, size_t size, size_t alignment) {
    (void)size;
    (void)alignment;
    return user; /* never touched */
}

static void nothing(void *user, void *memory, size_t size) {
    (void)user;
    (void)memory;
    (void)size;
}

static void machine_is_a_limit(void **state) {
    (void)state;
    sdx_budget budget;
    const size_t huge = SIZE_MAX / 16;
    if (huge < UINT32_MAX) skip(); /* a machine may have more than 32 bits can ask for */
    sdx_budget_init(&budget, &sdx_default_allocator, 0);
    assert_null(sdx_alloc(&budget.allocator, huge, 1));
    assert_int_equal(budget.refused, huge);
    /* What is more than is left, but less than there is in all. */
    uint64_t total, left;
    sdx_machine_memory("", &total, &left);
    if (total > left && total - left > (uint64_t)64 << 20)
        assert_null(sdx_alloc(&budget.allocator, (size_t)(left + (total - left) / 2), 1));
    /* Not for an allocator of the caller's, nor where no limit at all is wanted. */
    int place;
    const sdx_allocator own = {&place, anything, nothing};
    sdx_budget_init(&budget, &own, 0);
    assert_ptr_equal(sdx_alloc(&budget.allocator, huge, 1), &place);
    assert_int_equal(budget.refused, 0);
    sdx_budget_init(&budget, &sdx_default_allocator, UINT64_MAX);
    assert_false(budget.machine);
}

static void work_is_watched(void **state) {
    (void)state;
    sdx_watch watch = {.deadline = 0};
    assert_false(sdx_watch_work(SIZE_MAX)); /* nobody watches */
    assert_null(sdx_watch_set(&watch));
    assert_ptr_equal(sdx_watch_now(), &watch);
    assert_false(sdx_watch_work(SIZE_MAX)); /* there is time */
    watch.deadline = 1;                     /* long ago */
    assert_false(sdx_watch_work(1));        /* too little to look */
    assert_true(sdx_watch_work(SIZE_MAX));
    assert_true(sdx_watch_work(0)); /* once over, it stays so */
    watch.deadline = 0;
    assert_false(sdx_watch_work(SIZE_MAX));
    atomic_store(&watch.cancelled, true);
    size_t calls = 0;
    while (!sdx_watch_work(1000)) calls++;
    assert_in_range(calls, 900, 1200); /* about a million steps */
    assert_ptr_equal(sdx_watch_set(NULL), &watch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limit_holds),
        cmocka_unit_test(reserves_count),
        cmocka_unit_test(refusals_are_explained),
        cmocka_unit_test(machine_is_a_limit),
        cmocka_unit_test(work_is_watched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
