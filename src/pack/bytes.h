/* bytes.h - numbers and texts of the index of a packed file, written one after the other and read back
 * within bounds. Numbers are little-endian groups of 7 bits, the highest bit set in all but the last
 * byte; signed ones are folded (0, -1, 1, -2 …). A text has its length before it. */
#ifndef SDX_PACK_BYTES_H
#define SDX_PACK_BYTES_H

#include "base/memory.h"

typedef struct sdx_sink {
    const sdx_allocator *allocator;
    uint8_t *data;
    size_t size, capacity;
    bool failed; /* out of memory: asked once, at the end */
} sdx_sink;

void sdx_put_bytes(sdx_sink *out, const void *data, size_t size);
void sdx_put_number(sdx_sink *out, uint64_t value);
void sdx_put_signed(sdx_sink *out, int64_t value);
void sdx_put_fixed64(sdx_sink *out, uint64_t value); /* 8 bytes */
void sdx_put_float(sdx_sink *out, float value);      /* 4 bytes */
void sdx_put_string(sdx_sink *out, const void *data, size_t size);
void sdx_put_text(sdx_sink *out, const char *text); /* NULL as "" */
void sdx_sink_free(sdx_sink *out);

/* What is taken after the first failure is 0 or empty: loops end, and one question at the end of a part
 * is enough. */
typedef struct sdx_source {
    const uint8_t *begin, *at, *end;
    bool failed;
    bool no_memory; /* it failed for want of memory */
} sdx_source;

uint64_t sdx_take_number(sdx_source *in);
uint32_t sdx_take_number32(sdx_source *in);
uint32_t sdx_take_below(sdx_source *in, uint64_t bound); /* fails from bound on */
int64_t sdx_take_signed(sdx_source *in);
uint64_t sdx_take_fixed64(sdx_source *in);
float sdx_take_float(sdx_source *in);
const uint8_t *sdx_take_bytes(sdx_source *in, size_t size); /* where they lie; NULL: failed */
/* How many things follow, each of `each` bytes at least: fails where there is no room for so many. */
uint32_t sdx_take_count(sdx_source *in, size_t each);
/* A copy in the arena with a 0 behind; "" on failure. *size may be NULL: then a 0 within fails. */
const char *sdx_take_text(sdx_source *in, sdx_arena *arena, size_t *size);
/* A cleared array of count elements in the arena, never NULL unless failed. */
void *sdx_take_array(sdx_source *in, sdx_arena *arena, size_t count, size_t size);

#endif
