/* utf8.h - one step through UTF-8 text. Used where names from a file are checked (proto/reader.c)
 * and where they are made harmless for an error message (base/status.c). */
#ifndef SDX_BASE_UTF8_H
#define SDX_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Length (1 to 4) of the well-formed sequence at text, of which `left` bytes may be read; 0 if
 * there is none: a stray or missing continuation, an overlong form, a surrogate, or a number past
 * U+10FFFF. The ranges of the second byte are those of the Unicode standard's table 3-7. */
static inline size_t sdx_utf8_step(const uint8_t *text, size_t left) {
    if (left == 0) return 0;
    uint8_t lead = text[0], low = 0x80, high = 0xbf;
    size_t length;
    if (lead < 0x80) return 1;
    if (lead >= 0xc2 && lead <= 0xdf) {
        length = 2;
    } else if (lead >= 0xe0 && lead <= 0xef) {
        length = 3;
        if (lead == 0xe0) low = 0xa0;
        if (lead == 0xed) high = 0x9f;
    } else if (lead >= 0xf0 && lead <= 0xf4) {
        length = 4;
        if (lead == 0xf0) low = 0x90;
        if (lead == 0xf4) high = 0x8f;
    } else {
        return 0;
    }
    if (left < length || text[1] < low || text[1] > high) return 0;
    for (size_t i = 2; i < length; i++)
        if ((text[i] & 0xc0) != 0x80) return 0;
    return length;
}

#endif
