/* endian.h - the host's byte order. Files are little-endian; what is read from them is turned where
 * the host is not. */
#ifndef SDX_BASE_ENDIAN_H
#define SDX_BASE_ENDIAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool sdx_little_endian(void) {
    const union {
        uint16_t number;
        uint8_t bytes[2];
    } one = {1};
    return one.bytes[0] == 1;
}

/* Reverses each unit of `unit` bytes. */
static inline void sdx_swap_bytes(uint8_t *data, size_t bytes, size_t unit) {
    for (size_t at = 0; at + unit <= bytes; at += unit)
        for (size_t i = 0; i < unit / 2; i++) {
            uint8_t swap = data[at + i];
            data[at + i] = data[at + unit - 1 - i];
            data[at + unit - 1 - i] = swap;
        }
}

#endif
