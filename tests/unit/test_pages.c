/* test_pages.c - pages that are asked for before a block is filled: how far, of either kind, and that nothing but
 * the time changes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/pages.h"

#define BLOCK (9 * (SDX_LARGE_PAGE / 2)) /* half a large page at the end */

/* Bytes of the block that are in memory. */
static size_t resident(char *block) {
    static unsigned char in[BLOCK / 4096];
    size_t page = (size_t)sysconf(_SC_PAGESIZE), count = 0;
    assert_int_equal(mincore(block, BLOCK, (void *)in), 0);
    for (size_t i = 0; i < BLOCK / page; i++) count += in[i] & 1u;
    return count * page;
}

/* Whether the system has what is tested; without it pages come when they are written, as ever. An emulator says yes
 * and does nothing. */
static bool has_populate(void) {
#if defined(MADV_POPULATE_WRITE) && defined(MADV_HUGEPAGE)
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *memory = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    unsigned char in = 0;
    bool has = madvise(memory, page, MADV_POPULATE_WRITE) == 0 && mincore(memory, page, (void *)&in) == 0 && in & 1;
    munmap(memory, page);
    return has;
#else
    return false;
#endif
}

static char *new_block(void) {
    char *block = sdx_alloc(NULL, BLOCK, SDX_CACHE_LINE);
    assert_non_null(block);
    assert_int_equal((uintptr_t)block % SDX_LARGE_PAGE, 0);
    return block;
}

static void test_reach(void **state) {
    (void)state;
    if (!has_populate()) skip();
    char *block = new_block();
    sdx_pages pages;
    memset(block, 7, 100); /* stays */
    sdx_pages_begin(&pages, block, BLOCK);
    sdx_pages_reach(&pages, block - 1, NULL);
    sdx_pages_reach(&pages, block + BLOCK + 1, NULL);
    assert_ptr_equal(pages.ready, block);
    sdx_pages_reach(&pages, block + 1, NULL);
    assert_true(resident(block) >= SDX_LARGE_PAGE && resident(block) < 2 * SDX_LARGE_PAGE);
    assert_true(atomic_load(&pages.large) > 0);
    sdx_pages_reach(&pages, block + SDX_LARGE_PAGE, NULL); /* there already */
    assert_true(resident(block) < 2 * SDX_LARGE_PAGE);
    sdx_pages_reach(&pages, block + BLOCK, NULL);
    assert_true(resident(block) >= 4 * SDX_LARGE_PAGE);
    sdx_pages_end(&pages);
    sdx_pages_reach(&pages, block + BLOCK, NULL); /* no block: nothing */
    for (size_t i = 0; i < 100; i++) assert_int_equal(block[i], 7);
    sdx_free(NULL, block, BLOCK);
}

/* Dear large pages make way for small ones, and come back once they are forgotten to have been dear. */
static void test_dear(void **state) {
    (void)state;
    if (!has_populate()) skip();
    char *block = new_block();
    sdx_pages pages;
    sdx_pages_begin(&pages, block, BLOCK);
    uint64_t usual = atomic_load(&pages.small), dear = UINT64_C(1) << 62;
    atomic_store(&pages.large, dear);
    sdx_pages_reach(&pages, block + SDX_LARGE_PAGE, NULL);
    assert_true(atomic_load(&pages.small) != usual);
    assert_true(atomic_load(&pages.large) < dear && atomic_load(&pages.large) > dear / 2);
    assert_true(resident(block) >= SDX_LARGE_PAGE);
    atomic_store(&pages.large, 0);
    sdx_pages_reach(&pages, block + 2 * SDX_LARGE_PAGE, NULL);
    assert_true(atomic_load(&pages.large) > 0);
    sdx_pages_end(&pages);
    memset(block, 1, BLOCK);
    sdx_free(NULL, block, BLOCK);
}

static void test_threads(void **state) {
    (void)state;
    if (!has_populate()) skip();
    char *block = new_block();
    sdx_pool *pool;
    sdx_pages pages;
    assert_int_equal(sdx_pool_create(NULL, 3, &pool, NULL), SDX_STATUS_OK);
    sdx_pages_begin(&pages, block, BLOCK);
    sdx_pages_reach(&pages, block + BLOCK, pool);
    assert_true(resident(block) >= 4 * SDX_LARGE_PAGE);
    sdx_pages_end(&pages);
    sdx_pool_release(pool);
    sdx_free(NULL, block, BLOCK);
}

/* Only blocks that begin with a large page are asked for. */
static void test_odd_block(void **state) {
    (void)state;
    char *block = new_block();
    sdx_pages pages;
    sdx_pages_begin(&pages, block + SDX_CACHE_LINE, BLOCK - SDX_CACHE_LINE);
    sdx_pages_reach(&pages, block + BLOCK, NULL);
    assert_null(pages.ready);
    assert_true(resident(block) < SDX_LARGE_PAGE);
    sdx_pages_end(&pages);
    sdx_free(NULL, block, BLOCK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reach),
        cmocka_unit_test(test_dear),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_odd_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
