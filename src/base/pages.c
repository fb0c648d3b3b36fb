/* pages.c - see pages.h.
 *
 * A large page takes a fraction of what 512 small ones do, where the system has one at hand. Where it does not,
 * because free memory is in pieces, or because a virtual machine gave its free large pages back to the host and
 * gets them again one small page at a time, it takes many times as long, while small ones come from what others
 * freed a moment ago. Which of the two it is cannot be known before; so each piece is timed, and the next one
 * gets what was faster. */
#include "base/pages.h"

#include <stdint.h>
#include <sys/mman.h>

#include "base/clock.h"

/* A piece of small pages until one was timed, in ns: about what is usual. */
#define USUAL_SMALL 1000000u
/* With each piece of small pages, large ones are taken to have become cheaper by this part; so after some 50 pieces
 * they get another chance. */
#define FORGET 32

#if defined(MADV_POPULATE_WRITE) && defined(MADV_HUGEPAGE)

static void advise(void *memory, size_t size, int advice) {
    madvise(memory, size, advice); /* hints: a system that knows none of them does without */
}

static uint64_t get(atomic_uint_least64_t *at) {
    return atomic_load_explicit(at, memory_order_relaxed);
}

static void set(atomic_uint_least64_t *at, uint64_t to) {
    atomic_store_explicit(at, to, memory_order_relaxed);
}

/* One large page, or 512 small ones. */
static void provide(sdx_pages *pages, char *piece) {
    const uint64_t small = get(&pages->small), large = get(&pages->large);
    const bool use_large = large <= small;
    if (!use_large) advise(piece, SDX_LARGE_PAGE, MADV_NOHUGEPAGE);
    const uint64_t start = sdx_nanoseconds();
    advise(piece, SDX_LARGE_PAGE, MADV_POPULATE_WRITE);
    set(use_large ? &pages->large : &pages->small, sdx_nanoseconds() - start);
    if (!use_large) set(&pages->large, large - large / FORGET);
}

static void provide_pieces(void *arg, size_t begin, size_t end) {
    sdx_pages *pages = arg;
    for (size_t i = begin; i < end; i++) provide(pages, pages->ready + i * SDX_LARGE_PAGE);
}

void sdx_pages_reach(sdx_pages *pages, const void *end, sdx_pool *pool) {
    const uintptr_t ready = (uintptr_t)pages->ready, wanted = (uintptr_t)end;
    if (!pages->ready || wanted <= ready || wanted > (uintptr_t)pages->end) return;
    size_t count = (wanted - ready + SDX_LARGE_PAGE - 1) / SDX_LARGE_PAGE;
    const size_t whole = (size_t)(pages->end - pages->ready) / SDX_LARGE_PAGE;
    if (count > whole) count = whole; /* what is left behind them has small pages anyway */
    sdx_parallel_for(pool, count, 1, provide_pieces, pages);
    pages->ready += count * SDX_LARGE_PAGE;
}

/* The system may put large pages in place of small ones, when it has time. */
void sdx_pages_end(sdx_pages *pages) {
    if (pages->begin && get(&pages->small) != USUAL_SMALL)
        advise(pages->begin, (size_t)(pages->ready - pages->begin), MADV_HUGEPAGE);
    pages->begin = pages->ready = pages->end = NULL;
}

#else /* pages come when they are written */

void sdx_pages_reach(sdx_pages *pages, const void *end, sdx_pool *pool) {
    (void)pages, (void)end, (void)pool;
}

void sdx_pages_end(sdx_pages *pages) {
    (void)pages;
}

#endif

void sdx_pages_begin(sdx_pages *pages, void *block, size_t size) {
    const bool whole = (uintptr_t)block % SDX_LARGE_PAGE == 0; /* as the allocator gives large blocks */
    pages->begin = pages->ready = whole ? block : NULL;
    pages->end = whole ? (char *)block + size : NULL;
    atomic_init(&pages->small, USUAL_SMALL);
    atomic_init(&pages->large, 0);
}
