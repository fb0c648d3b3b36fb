/* memory.h - the allocator every layer uses, and the arena that graphs and programs live in.
 * An arena hands out zeroed memory that is freed all at once; a budget counts what is held. */
#ifndef SDX_BASE_MEMORY_H
#define SDX_BASE_MEMORY_H

#include "base/status.h"

extern const sdx_allocator sdx_default_allocator; /* aligned malloc */

/* size may be 0 (a valid, freeable pointer results). NULL when out of memory. */
void *sdx_alloc(const sdx_allocator *allocator, size_t size, size_t alignment);
void sdx_free(const sdx_allocator *allocator, void *memory, size_t size);

#define SDX_CACHE_LINE 64 /* alignment of tensors */

typedef struct sdx_arena_block sdx_arena_block;
typedef struct sdx_arena {
    const sdx_allocator *allocator;
    sdx_arena_block *blocks; /* newest first */
    size_t used, capacity;   /* of the newest block */
    size_t total;            /* bytes taken from the allocator */
    size_t limit;            /* total may not pass it; 0: none */
    size_t idle;             /* bytes left over in blocks before the newest */
} sdx_arena;

void sdx_arena_init(sdx_arena *arena, const sdx_allocator *allocator, size_t limit);
void sdx_arena_free(sdx_arena *arena);
/* Bytes that were handed out, with what their alignment took. */
static inline size_t sdx_arena_used(const sdx_arena *arena) {
    return arena->total - arena->idle - (arena->capacity - arena->used);
}
/* Opens a block that has room for so many bytes, with what alignment takes, so that they lie side by side.
 * False when there is no such block to be had: then requests take blocks of their own. */
bool sdx_arena_reserve(sdx_arena *arena, size_t bytes);
/* Zeroed memory, aligned for any object; NULL when out of memory or over the limit. */
void *sdx_arena_alloc(sdx_arena *arena, size_t size);
/* As sdx_arena_alloc_aligned without clearing, for what is written in full anyway. */
void *sdx_arena_alloc_raw(sdx_arena *arena, size_t size, size_t alignment);
void *sdx_arena_alloc_aligned(sdx_arena *arena, size_t size, size_t alignment);
/* count * size with an overflow check. */
void *sdx_arena_array(sdx_arena *arena, size_t count, size_t size);
/* NUL-terminated copy. */
char *sdx_arena_string(sdx_arena *arena, const char *text, size_t size);
char *sdx_arena_printf(sdx_arena *arena, const char *format, ...) SDX_PRINTF(2, 3);

/* A growable array of one element type, from the allocator (not the arena). Zero-initialise. */
typedef struct sdx_vector {
    void *data;
    size_t count, capacity; /* elements */
} sdx_vector;
/* Room for one more; returns the new element's address (zeroed) or NULL. */
void *sdx_vector_push(sdx_vector *vector, const sdx_allocator *allocator, size_t element);
void sdx_vector_free(sdx_vector *vector, const sdx_allocator *allocator, size_t element);

#endif
