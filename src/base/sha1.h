/* sha1.h - the digest that ONNX external data may carry and packed files have. Not for security: for damaged
 * files. */
#ifndef SDX_BASE_SHA1_H
#define SDX_BASE_SHA1_H

#include <stddef.h>
#include <stdint.h>

void sdx_sha1(const void *data, size_t size, uint8_t digest[20]);

/* The same, in parts. */
typedef struct sdx_sha1_state {
    uint32_t words[5];
    uint64_t size;
    uint8_t block[64]; /* what is left of the parts so far */
    void (*blocks)(uint32_t words[5], const uint8_t *data, size_t count);
} sdx_sha1_state;
void sdx_sha1_begin(sdx_sha1_state *state);
void sdx_sha1_add(sdx_sha1_state *state, const void *data, size_t size);
void sdx_sha1_end(sdx_sha1_state *state, uint8_t digest[20]);

#endif
