/* pages.h - the pages of a large block, asked for shortly before it is filled: large or small ones, by what the
 * system takes to provide them. */
#ifndef SDX_BASE_PAGES_H
#define SDX_BASE_PAGES_H

#include <stdatomic.h>

#include "base/threads.h"

#define SDX_LARGE_PAGE ((size_t)2 << 20)

typedef struct sdx_pages {
    char *begin, *ready, *end; /* the block, and how much of it was asked for; NULL: there is none */
    atomic_uint_least64_t small, large; /* ns that the latest piece took with either kind of pages */
} sdx_pages;

/* A block of sdx_default_allocator into which nothing was written yet. */
void sdx_pages_begin(sdx_pages *pages, void *block, size_t size);
/* What lies before `end`, an address in the block or any other, is about to be written. pool may be NULL. */
void sdx_pages_reach(sdx_pages *pages, const void *end, sdx_pool *pool);
/* The block is full. */
void sdx_pages_end(sdx_pages *pages);

#endif
