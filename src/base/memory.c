/* memory.c - default allocator, arena and growing vector. Graphs, programs and plans live in
 * arenas and die with them; vectors hold what is still being collected. All of it works over the
 * caller's sdx_allocator, reports failure by NULL, and never computes a size that wrapped. */
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/checked.h"
#include "base/pages.h"

#define MIN_ALIGNMENT _Alignof(max_align_t)

/* ---- allocator ---------------------------------------------------------------------------- */

/* Large pieces (packed weights, arenas) ask for large pages: fewer faults while they are filled, and
 * fewer misses of the address translation while they are read. */
#define LARGE_PIECE SDX_LARGE_PAGE

static void *default_allocate(void *user, size_t size, size_t alignment) {
    (void)user;
    void *memory = NULL;
    if (size >= LARGE_PIECE && alignment <= SDX_LARGE_PAGE) {
        if (posix_memalign(&memory, SDX_LARGE_PAGE, size) != 0) return NULL;
#ifdef MADV_HUGEPAGE
        madvise(memory, size / SDX_LARGE_PAGE * SDX_LARGE_PAGE, MADV_HUGEPAGE); /* a hint: may fail */
#endif
        return memory;
    }
    if (alignment <= MIN_ALIGNMENT) return malloc(size);
    return posix_memalign(&memory, alignment, size) == 0 ? memory : NULL;
}

static void default_release(void *user, void *memory, size_t size) {
    (void)user;
    (void)size;
    free(memory);
}

const sdx_allocator sdx_default_allocator = {
    .user = NULL, .allocate = default_allocate, .release = default_release};

void *sdx_alloc(const sdx_allocator *allocator, size_t size, size_t alignment) {
    if (allocator == NULL) allocator = &sdx_default_allocator;
    if (alignment < MIN_ALIGNMENT) alignment = MIN_ALIGNMENT;
    if ((alignment & (alignment - 1)) != 0) return NULL;
    /* No object may pass PTRDIFF_MAX: pointer differences inside it would overflow. */
    if (size > PTRDIFF_MAX) return NULL;
    return allocator->allocate(allocator->user, size == 0 ? 1 : size, alignment);
}

void sdx_free(const sdx_allocator *allocator, void *memory, size_t size) {
    if (memory == NULL) return;
    if (allocator == NULL) allocator = &sdx_default_allocator;
    /* The same correction as in sdx_alloc, so that allocators that count see equal sizes. */
    allocator->release(allocator->user, memory, size == 0 ? 1 : size);
}

/* ---- arena -------------------------------------------------------------------------------- */

/* The content follows the header in the same allocation. */
struct sdx_arena_block {
    sdx_arena_block *next;
    size_t size; /* of the whole allocation */
};

#define FIRST_BLOCK   ((size_t)16 << 10)
#define LARGEST_BLOCK ((size_t)1 << 20)

void sdx_arena_init(sdx_arena *arena, const sdx_allocator *allocator, size_t limit) {
    *arena = (sdx_arena){.allocator = allocator, .limit = limit};
}

void sdx_arena_free(sdx_arena *arena) {
    sdx_arena_block *block = arena->blocks;
    while (block != NULL) {
        sdx_arena_block *next = block->next;
        sdx_free(arena->allocator, block, block->size);
        block = next;
    }
    arena->blocks = NULL;
    arena->used = arena->capacity = arena->total = arena->idle = 0;
}

/* Offset in block, at or after `used`, of an aligned place. The address is rounded rather than the
 * offset, so it holds for any alignment, whatever the allocator gave the block. */
static bool aligned_offset(const sdx_arena_block *block, size_t used, size_t alignment,
                           size_t *offset) {
    size_t begin = (size_t)(uintptr_t)block, at;
    if (!sdx_size_add(begin, used, &at) || !sdx_size_align(at, alignment, &at)) return false;
    *offset = at - begin;
    return true;
}

static sdx_arena_block *new_block(sdx_arena *arena, size_t size) {
    size_t total;
    if (!sdx_size_add(arena->total, size, &total)) return NULL;
    if (arena->limit != 0 && total > arena->limit) return NULL;
    sdx_arena_block *block = sdx_alloc(arena->allocator, size, MIN_ALIGNMENT);
    if (block == NULL) return NULL;
    block->next = NULL;
    block->size = size;
    arena->total = total;
    return block;
}

/* A block that one request fills. It goes behind the newest, whose free room stays in use. */
static void *alloc_alone(sdx_arena *arena, size_t needed, size_t alignment) {
    sdx_arena_block *block = new_block(arena, needed);
    size_t offset;
    if (block == NULL) return NULL;
    if (arena->blocks == NULL) {
        arena->blocks = block; /* used and capacity stay 0: nothing is free in it */
    } else {
        block->next = arena->blocks->next;
        arena->blocks->next = block;
    }
    if (!aligned_offset(block, sizeof *block, alignment, &offset)) return NULL;
    return (char *)block + offset;
}

/* A new newest block. */
static bool open_block(sdx_arena *arena, size_t size) {
    sdx_arena_block *block = new_block(arena, size);
    if (block == NULL) return false;
    block->next = arena->blocks;
    arena->blocks = block;
    arena->idle += arena->capacity - arena->used;
    arena->capacity = size;
    arena->used = sizeof *block;
    return true;
}

bool sdx_arena_reserve(sdx_arena *arena, size_t bytes) {
    return sdx_size_add(bytes, sizeof(sdx_arena_block), &bytes) && open_block(arena, bytes);
}

void *sdx_arena_alloc_raw(sdx_arena *arena, size_t size, size_t alignment) {
    size_t offset, end, needed;
    if (size == 0) size = 1; /* distinct addresses */
    if (alignment < MIN_ALIGNMENT) alignment = MIN_ALIGNMENT;
    if ((alignment & (alignment - 1)) != 0) return NULL;

    /* What the request takes in the worst case of an empty block. */
    if (!sdx_size_add(size, sizeof(sdx_arena_block), &needed)) return NULL;
    if (!sdx_size_add(needed, alignment - 1, &needed)) return NULL;

    if (arena->capacity != 0 && aligned_offset(arena->blocks, arena->used, alignment, &offset) &&
        sdx_size_add(offset, size, &end) && end <= arena->capacity) {
        arena->used = end;
        return (char *)arena->blocks + offset;
    }

    size_t block_size = arena->capacity == 0 ? FIRST_BLOCK : arena->capacity * 2;
    if (block_size > LARGEST_BLOCK) block_size = LARGEST_BLOCK;
    /* A request of a quarter of a block would waste too much of the block before it. */
    if (needed > block_size / 4) return alloc_alone(arena, needed, alignment);
    /* Near the limit (or the end of memory) a full block is too much, but this may still fit. */
    if (!open_block(arena, block_size)) return alloc_alone(arena, needed, alignment);
    if (!aligned_offset(arena->blocks, arena->used, alignment, &offset)) return NULL;
    arena->used = offset + size; /* fits: needed <= block_size */
    return (char *)arena->blocks + offset;
}

void *sdx_arena_alloc_aligned(sdx_arena *arena, size_t size, size_t alignment) {
    void *memory = sdx_arena_alloc_raw(arena, size, alignment);
    return memory ? memset(memory, 0, size) : NULL;
}

void *sdx_arena_alloc(sdx_arena *arena, size_t size) {
    return sdx_arena_alloc_aligned(arena, size, MIN_ALIGNMENT);
}

void *sdx_arena_array(sdx_arena *arena, size_t count, size_t size) {
    size_t bytes;
    return sdx_size_mul(count, size, &bytes) ? sdx_arena_alloc(arena, bytes) : NULL;
}

char *sdx_arena_string(sdx_arena *arena, const char *text, size_t size) {
    size_t bytes;
    if (!sdx_size_add(size, 1, &bytes)) return NULL;
    char *copy = sdx_arena_alloc_aligned(arena, bytes, 1);
    if (copy != NULL && size > 0) memcpy(copy, text, size);
    return copy;
}

char *sdx_arena_printf(sdx_arena *arena, const char *format, ...) {
    va_list args, again;
    char *text = NULL;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    if (length >= 0) text = sdx_arena_alloc_aligned(arena, (size_t)length + 1, 1);
    if (text != NULL) vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    va_end(args);
    return text;
}

/* ---- vector ------------------------------------------------------------------------------- */

static bool grow_vector(sdx_vector *vector, const sdx_allocator *allocator, size_t element) {
    size_t capacity = 8, bytes;
    if (vector->capacity != 0 && !sdx_size_mul(vector->capacity, 2, &capacity)) return false;
    if (!sdx_size_mul(capacity, element, &bytes)) return false;
    void *data = sdx_alloc(allocator, bytes, MIN_ALIGNMENT);
    if (data == NULL) return false;
    if (vector->count > 0) memcpy(data, vector->data, vector->count * element);
    sdx_free(allocator, vector->data, vector->capacity * element);
    vector->data = data;
    vector->capacity = capacity;
    return true;
}

void *sdx_vector_push(sdx_vector *vector, const sdx_allocator *allocator, size_t element) {
    if (vector->count == vector->capacity && !grow_vector(vector, allocator, element)) return NULL;
    void *place = (char *)vector->data + vector->count * element;
    vector->count++;
    return memset(place, 0, element);
}

void sdx_vector_free(sdx_vector *vector, const sdx_allocator *allocator, size_t element) {
    sdx_free(allocator, vector->data, vector->capacity * element);
    *vector = (sdx_vector){0};
}
