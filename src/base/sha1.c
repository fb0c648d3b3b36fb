/* sha1.c - SHA-1 (FIPS 180-4), for the checksum field of external data and for packed files. */
#include "base/sha1.h"

#include <string.h>

#include "base/sha1_blocks.h"

static uint32_t rotate(uint32_t x, unsigned n) { return x << n | x >> (32 - n); }

/* Twenty rounds with one function of three words and one constant. */
#define TWENTY(first, mix, constant)                                                               \
    for (unsigned i = (first); i < (first) + 20; i++) {                                            \
        const uint32_t next = rotate(a, 5) + (mix) + e + (constant) + w[i];                        \
        e = d;                                                                                     \
        d = c;                                                                                     \
        c = rotate(b, 30);                                                                         \
        b = a;                                                                                     \
        a = next;                                                                                  \
    }

void sdx_sha1_blocks_plain(uint32_t state[5], const uint8_t *data, size_t count) {
    for (; count; count--, data += 64) {
        uint32_t w[80];
        for (unsigned i = 0; i < 16; i++)
            w[i] = (uint32_t)data[4 * i] << 24 | (uint32_t)data[4 * i + 1] << 16 |
                   (uint32_t)data[4 * i + 2] << 8 | data[4 * i + 3];
        for (unsigned i = 16; i < 80; i++)
            w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
        uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
        TWENTY(0, d ^ (b & (c ^ d)), 0x5a827999u)
        TWENTY(20, b ^ c ^ d, 0x6ed9eba1u)
        TWENTY(40, (b & c) | (d & (b | c)), 0x8f1bbcdcu)
        TWENTY(60, b ^ c ^ d, 0xca62c1d6u)
        state[0] += a;
        state[1] += b;
        state[2] += c;
        state[3] += d;
        state[4] += e;
    }
}

static void absorb(sdx_sha1_state *state, const uint8_t *data, size_t count) {
    state->blocks(state->words, data, count);
}

void sdx_sha1_begin(sdx_sha1_state *state) {
    *state = (sdx_sha1_state){
        .words = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u, 0xc3d2e1f0u},
        .blocks = sdx_sha1_blocks_machine()};
    if (!state->blocks) state->blocks = sdx_sha1_blocks_plain;
}

void sdx_sha1_add(sdx_sha1_state *state, const void *data, size_t size) {
    const uint8_t *bytes = data;
    size_t have = state->size % 64;
    state->size += size;
    while (size) {
        if (have == 0 && size >= 64) {
            absorb(state, bytes, size / 64);
            bytes += size / 64 * 64;
            size %= 64;
            continue;
        }
        size_t part = size < 64 - have ? size : 64 - have;
        memcpy(state->block + have, bytes, part);
        bytes += part;
        size -= part;
        have += part;
        if (have < 64) return;
        absorb(state, state->block, 1);
        have = 0;
    }
}

void sdx_sha1_end(sdx_sha1_state *state, uint8_t digest[20]) {
    uint8_t tail[128] = {0};
    size_t left = state->size % 64;
    if (left) memcpy(tail, state->block, left);
    tail[left] = 0x80;
    size_t length = left < 56 ? 64 : 128;
    uint64_t bits = state->size * 8;
    for (unsigned i = 0; i < 8; i++) tail[length - 1 - i] = (uint8_t)(bits >> (8 * i));
    absorb(state, tail, length / 64);
    for (unsigned i = 0; i < 20; i++)
        digest[i] = (uint8_t)(state->words[i / 4] >> (24 - 8 * (i % 4)));
}

void sdx_sha1(const void *data, size_t size, uint8_t digest[20]) {
    sdx_sha1_state state;
    sdx_sha1_begin(&state);
    sdx_sha1_add(&state, data, size);
    sdx_sha1_end(&state, digest);
}
