/* sha1_x86.c - SHA-1 by the instructions that x86 processors have for it: four rounds in one, and the words
 * for four rounds in three. Packing a model is mostly this sum: 1.9 GB/s where plain C makes 0.3 to 0.6. */
#include "base/sha1_blocks.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

#define TARGET __attribute__((target("sha,ssse3,sse4.1")))

/* Rounds 4 * i to 4 * i + 3. The fifth word of the state is the first of four rounds ago, turned. */
#define FOUR(i)                                                                                    \
    do {                                                                                           \
        if ((i) >= 4)                                                                              \
            w[(i) % 4] = _mm_sha1msg2_epu32(                                                       \
                _mm_xor_si128(_mm_sha1msg1_epu32(w[(i) % 4], w[((i) + 1) % 4]), w[((i) + 2) % 4]), \
                w[((i) + 3) % 4]);                                                                 \
        const __m128i fifth = (i) ? _mm_sha1nexte_epu32(before, w[(i) % 4])                        \
                                  : _mm_add_epi32(e, w[0]);                                        \
        before = abcd;                                                                             \
        abcd = _mm_sha1rnds4_epu32(abcd, fifth, (i) / 5);                                          \
    } while (0)

TARGET static void absorb(uint32_t state[5], const uint8_t *data, size_t count) {
    const __m128i reverse = _mm_set_epi64x(0x0001020304050607, 0x08090a0b0c0d0e0f);
    __m128i abcd = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(const void *)state), 0x1b);
    __m128i e = _mm_set_epi32((int)state[4], 0, 0, 0);
    for (; count; count--, data += 64) {
        const __m128i abcd_start = abcd;
        __m128i before, w[4]; /* FOUR(0) sets what the next ones read */
        for (int i = 0; i < 4; i++)
            w[i] = _mm_shuffle_epi8(
                _mm_loadu_si128((const __m128i *)(const void *)(data + 16 * i)), reverse);
        FOUR(0); FOUR(1); FOUR(2); FOUR(3); FOUR(4);
        FOUR(5); FOUR(6); FOUR(7); FOUR(8); FOUR(9);
        FOUR(10); FOUR(11); FOUR(12); FOUR(13); FOUR(14);
        FOUR(15); FOUR(16); FOUR(17); FOUR(18); FOUR(19);
        e = _mm_sha1nexte_epu32(before, e);
        abcd = _mm_add_epi32(abcd, abcd_start);
    }
    _mm_storeu_si128((__m128i *)(void *)state, _mm_shuffle_epi32(abcd, 0x1b));
    state[4] = (uint32_t)_mm_extract_epi32(e, 3);
}

static bool may_use(void) {
    const char *asked = getenv("SARDONYX_CPU");
    if (asked && strcmp(asked, "scalar") == 0) return false;
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_SSSE3) || !(c & bit_SSE4_1)) return false;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA);
}

sdx_sha1_blocks *sdx_sha1_blocks_machine(void) {
    /* Asked once: a virtual machine answers CPUID through its host, and a packed file has a digest for each
     * piece. Threads that come here at once find the same. */
    static atomic_int known; /* 1: no, 2: yes */
    int answer = atomic_load_explicit(&known, memory_order_relaxed);
    if (!answer) {
        answer = may_use() ? 2 : 1;
        atomic_store_explicit(&known, answer, memory_order_relaxed);
    }
    return answer == 2 ? absorb : NULL;
}
#else
sdx_sha1_blocks *sdx_sha1_blocks_machine(void) { return NULL; }
#endif
