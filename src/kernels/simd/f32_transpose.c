/* f32_transpose.c - turning a matrix of 4-byte elements over, in square blocks that fit the
 * registers. Elements are moved, never computed with: they may be of any type. */
#include "kernels/simd/simd.h"
#include "kernels/kernels.h"

#if defined(__AVX2__)
#define SIDE 8
SIMD_INLINE void block(const float *from, ptrdiff_t from_step, float *to, ptrdiff_t to_step) {
    __m256 a[8], b[8];
    SIMD_UNROLL
    for (int i = 0; i < 4; i++) { /* halves of rows i and i + 4 side by side */
        const float *low = from + i * from_step, *high = low + 4 * from_step;
        a[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(low)),
                                    _mm_loadu_ps(high), 1);
        a[i + 4] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(low + 4)),
                                        _mm_loadu_ps(high + 4), 1);
    }
    SIMD_UNROLL
    for (int i = 0; i < 8; i += 4) {
        b[i] = _mm256_unpacklo_ps(a[i], a[i + 1]);
        b[i + 1] = _mm256_unpackhi_ps(a[i], a[i + 1]);
        b[i + 2] = _mm256_unpacklo_ps(a[i + 2], a[i + 3]);
        b[i + 3] = _mm256_unpackhi_ps(a[i + 2], a[i + 3]);
        _mm256_storeu_ps(to + i * to_step, _mm256_shuffle_ps(b[i], b[i + 2], 0x44));
        _mm256_storeu_ps(to + (i + 1) * to_step, _mm256_shuffle_ps(b[i], b[i + 2], 0xee));
        _mm256_storeu_ps(to + (i + 2) * to_step, _mm256_shuffle_ps(b[i + 1], b[i + 3], 0x44));
        _mm256_storeu_ps(to + (i + 3) * to_step, _mm256_shuffle_ps(b[i + 1], b[i + 3], 0xee));
    }
}
#else
#define SIDE 4
typedef int32_t four __attribute__((vector_size(16), may_alias));
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define HAVE_SHUFFLE 1
#endif
#endif
SIMD_INLINE void block(const float *from, ptrdiff_t from_step, float *to, ptrdiff_t to_step) {
    four a[4], b[4];
    SIMD_UNROLL
    for (int i = 0; i < 4; i++) memcpy(&a[i], from + i * from_step, sizeof a[i]);
#if defined(HAVE_SHUFFLE)
    SIMD_UNROLL
    for (int i = 0; i < 4; i += 2) {
        b[i] = __builtin_shufflevector(a[i / 2], a[i / 2 + 2], 0, 4, 1, 5);
        b[i + 1] = __builtin_shufflevector(a[i / 2], a[i / 2 + 2], 2, 6, 3, 7);
    }
    SIMD_UNROLL
    for (int i = 0; i < 4; i += 2) {
        a[i] = __builtin_shufflevector(b[i / 2], b[i / 2 + 2], 0, 4, 1, 5);
        a[i + 1] = __builtin_shufflevector(b[i / 2], b[i / 2 + 2], 2, 6, 3, 7);
    }
#else
    SIMD_UNROLL
    for (int i = 0; i < 4; i++)
        SIMD_UNROLL
        for (int k = 0; k < 4; k++) b[i][k] = a[k][i];
    memcpy(a, b, sizeof a);
#endif
    SIMD_UNROLL
    for (int i = 0; i < 4; i++) memcpy(to + i * to_step, &a[i], sizeof a[i]);
}
#endif

/* What no block covers, element by element as integers. */
static void edge(const float *from, ptrdiff_t from_step, float *to, ptrdiff_t to_step, size_t rows,
                 size_t columns) {
    for (size_t c = 0; c < columns; c++)
        for (size_t r = 0; r < rows; r++)
            memcpy(to + (ptrdiff_t)c * to_step + r, from + (ptrdiff_t)r * from_step + c,
                   sizeof *to);
}

/* Few rows or few columns, such as the colours of an image: their number is a constant. */
SIMD_INLINE void narrow(const float *from, ptrdiff_t from_step, float *to, ptrdiff_t to_step,
                        size_t rows, size_t columns, bool by_rows) {
    const ptrdiff_t many = (ptrdiff_t)(by_rows ? columns : rows);
    const ptrdiff_t few = (ptrdiff_t)(by_rows ? rows : columns);
    for (ptrdiff_t m = 0; m < many; m++)
        SIMD_UNROLL
        for (ptrdiff_t f = 0; f < few; f++) {
            const ptrdiff_t r = by_rows ? f : m, c = by_rows ? m : f;
            memcpy(to + c * to_step + r, from + r * from_step + c, sizeof *to);
        }
}

#define STRIP 16 /* floats of a cache line: what is read and written is whole lines */
#define WIDE  64 /* columns that go together: so many pages are written at a time */

void SDX_NAME(sdx_f32_transpose)(const float *from, ptrdiff_t from_step, float *to,
                                 ptrdiff_t to_step, size_t rows, size_t columns) {
#define NARROW(n, by_rows)                                                                        \
    case n:                                                                                       \
        narrow(from, from_step, to, to_step, by_rows ? n : rows, by_rows ? columns : n, by_rows); \
        return;
    switch (rows) { NARROW(2, true) NARROW(3, true) NARROW(4, true) default: break; }
    switch (columns) { NARROW(2, false) NARROW(3, false) NARROW(4, false) default: break; }
    const size_t whole_rows = rows - rows % SIDE, whole_columns = columns - columns % SIDE;
    for (size_t wide = 0; wide < whole_columns; wide += WIDE) {
        const size_t end = whole_columns - wide < WIDE ? whole_columns : wide + WIDE;
        for (size_t r0 = 0; r0 < whole_rows; r0 += STRIP)
            for (size_t c0 = wide; c0 < end; c0 += STRIP)
                for (size_t r = r0; r < r0 + STRIP && r < whole_rows; r += SIDE)
                    for (size_t c = c0; c < c0 + STRIP && c < end; c += SIDE)
                        block(from + (ptrdiff_t)r * from_step + c, from_step,
                              to + (ptrdiff_t)c * to_step + r, to_step);
    }
    edge(from + (ptrdiff_t)whole_rows * from_step, from_step, to + whole_rows, to_step,
         rows - whole_rows, columns);
    edge(from + whole_columns, from_step, to + (ptrdiff_t)whole_columns * to_step, to_step,
         whole_rows, columns - whole_columns);
}
