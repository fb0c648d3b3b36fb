/* hash.h - numbers modulo 2^64: for hashes, signatures and draws, which wrap on purpose. Elsewhere a number that
 * wraps is a mistake; `make intsan` looks for those and knows these by their name (tests/sanitizers). */
#ifndef SDX_BASE_HASH_H
#define SDX_BASE_HASH_H

#include <stdint.h>

static inline uint64_t sdx_hash_add(uint64_t a, uint64_t b) { return a + b; }
static inline uint64_t sdx_hash_sub(uint64_t a, uint64_t b) { return a - b; }
static inline uint64_t sdx_hash_mul(uint64_t a, uint64_t b) { return a * b; }

#endif
