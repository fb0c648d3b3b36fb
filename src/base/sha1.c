/* sha1.c - SHA-1 (FIPS 180-4), for the checksum field of external data and for packed files. */
#include "base/sha1.h"

#include <string.h>

static uint32_t rotate(uint32_t x, unsigned n) { return x << n | x >> (32 - n); }

static void absorb(uint32_t state[5], const uint8_t block[64]) {
    uint32_t w[80];
    for (unsigned i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (unsigned i = 16; i < 80; i++)
        w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
    for (unsigned i = 0; i < 80; i++) {
        uint32_t mix, constant;
        if (i < 20) mix = (b & c) | (~b & d), constant = 0x5a827999u;
        else if (i < 40) mix = b ^ c ^ d, constant = 0x6ed9eba1u;
        else if (i < 60) mix = (b & c) | (b & d) | (c & d), constant = 0x8f1bbcdcu;
        else mix = b ^ c ^ d, constant = 0xca62c1d6u;
        uint32_t next = rotate(a, 5) + mix + e + constant + w[i];
        e = d;
        d = c;
        c = rotate(b, 30);
        b = a;
        a = next;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
}

void sdx_sha1_begin(sdx_sha1_state *state) {
    *state = (sdx_sha1_state){
        .words = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u, 0xc3d2e1f0u}};
}

void sdx_sha1_add(sdx_sha1_state *state, const void *data, size_t size) {
    const uint8_t *bytes = data;
    size_t have = state->size % 64;
    state->size += size;
    while (size) {
        if (have == 0 && size >= 64) {
            absorb(state->words, bytes);
            bytes += 64;
            size -= 64;
            continue;
        }
        size_t part = size < 64 - have ? size : 64 - have;
        memcpy(state->block + have, bytes, part);
        bytes += part;
        size -= part;
        have += part;
        if (have < 64) return;
        absorb(state->words, state->block);
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
    for (size_t at = 0; at < length; at += 64) absorb(state->words, tail + at);
    for (unsigned i = 0; i < 20; i++)
        digest[i] = (uint8_t)(state->words[i / 4] >> (24 - 8 * (i % 4)));
}

void sdx_sha1(const void *data, size_t size, uint8_t digest[20]) {
    sdx_sha1_state state;
    sdx_sha1_begin(&state);
    sdx_sha1_add(&state, data, size);
    sdx_sha1_end(&state, digest);
}
