/* checked.h - size arithmetic that cannot wrap. Check first, round afterwards. */
#ifndef SDX_BASE_CHECKED_H
#define SDX_BASE_CHECKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each returns false when the result does not fit; *out is then unspecified. */
static inline bool sdx_size_add(size_t a, size_t b, size_t *out) {
    return !__builtin_add_overflow(a, b, out);
}
static inline bool sdx_size_mul(size_t a, size_t b, size_t *out) {
    return !__builtin_mul_overflow(a, b, out);
}
static inline bool sdx_i64_add(int64_t a, int64_t b, int64_t *out) {
    return !__builtin_add_overflow(a, b, out);
}
static inline bool sdx_i64_sub(int64_t a, int64_t b, int64_t *out) {
    return !__builtin_sub_overflow(a, b, out);
}
static inline bool sdx_i64_mul(int64_t a, int64_t b, int64_t *out) {
    return !__builtin_mul_overflow(a, b, out);
}
/* alignment is a power of two. */
static inline bool sdx_size_align(size_t value, size_t alignment, size_t *out) {
    size_t sum;
    if (!sdx_size_add(value, alignment - 1, &sum)) return false;
    *out = sum & ~(alignment - 1);
    return true;
}
/* Product of non-negative dims as an element count; false on a negative dim or overflow. A zero
 * dim makes the count 0 whatever the others are, as in the ONNX standard. */
bool sdx_dims_count(const int64_t *dims, int32_t rank, size_t *count);

#endif
