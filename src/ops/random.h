/* random.h - the generator under the random operators. Number i of a stream is a function of the
 * key and of i alone, so that any piece can be made by any thread and results never depend on their
 * number. Private to random*.c. */
#ifndef SDX_OPS_RANDOM_H
#define SDX_OPS_RANDOM_H

#include "ops/op.h"

/* The mixing step of splitmix64 (Steele, Lea, Flood 2014): each bit of the result depends on all
 * bits of x. */
static inline uint64_t sdx_random_mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}
/* 64 random bits: number i of the stream. */
static inline uint64_t sdx_random_bits(uint64_t key, uint64_t i) {
    return sdx_random_mix(key + (i + 1) * 0x9e3779b97f4a7c15u);
}
/* Evenly spread over [0, 1), a multiple of 2^-53. */
static inline double sdx_random_unit(uint64_t key, uint64_t i) {
    return (double)(sdx_random_bits(key, i) >> 11) * 0x1p-53;
}

typedef struct sdx_seed {
    bool given;
    float value;
} sdx_seed;

sdx_status sdx_seed_prepare(sdx_prep *prep, sdx_seed *out);
/* Key of the stream: from the attribute where it is given, else from the host. */
uint64_t sdx_seed_key(const sdx_call *call, const sdx_seed *seed);

#endif
