/* string_text.c - walking, upper- and lowercasing UTF-8 text. */
#include "ops/string_text.h"

#include "base/utf8.h"
#include "ops/string_case_table.h"

size_t sdx_text_next(const char *text, size_t left, uint32_t *code) {
    static const uint8_t lead_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    const uint8_t *bytes = (const uint8_t *)text;
    const size_t length = sdx_utf8_step(bytes, left);
    if (length == 0) {
        *code = SDX_TEXT_STRAY + bytes[0];
        return 1;
    }
    *code = bytes[0] & lead_bits[length];
    for (size_t i = 1; i < length; i++) *code = *code << 6 | (bytes[i] & 0x3fu);
    return length;
}

/* Bytes of the code point; writes them unless out is NULL. */
static size_t put(uint32_t code, char *out) {
    static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    if (code < 0x80 || code >= SDX_TEXT_STRAY) {
        if (out) *out = (char)(code & 0xffu);
        return 1;
    }
    const size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = length - 1; out && i > 0; i--) {
        out[i] = (char)(0x80u | (code & 0x3fu));
        code >>= 6;
    }
    if (out) out[0] = (char)(lead[length] | code);
    return length;
}

static uint32_t look_up(const sdx_case_run *runs, size_t count, uint32_t code) {
    size_t low = 0, high = count; /* the first run that ends at code or behind */
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (runs[middle].last < code) low = middle + 1;
        else high = middle;
    }
    if (low == count || code < runs[low].first) return code;
    if ((code - runs[low].first) % runs[low].step) return code;
    return (uint32_t)((int32_t)code + runs[low].delta);
}

static uint32_t map_case(uint32_t code, sdx_case how) {
    if (code < 0x80) {
        if (how == SDX_CASE_UPPER) return code >= 'a' && code <= 'z' ? code - 32 : code;
        return code >= 'A' && code <= 'Z' ? code + 32 : code;
    }
    if (how == SDX_CASE_UPPER)
        return look_up(to_upper, sizeof to_upper / sizeof *to_upper, code);
    return look_up(to_lower, sizeof to_lower / sizeof *to_lower, code);
}

size_t sdx_text_case(const char *text, size_t size, sdx_case how, char *out) {
    size_t used = 0;
    for (size_t i = 0; i < size;) {
        uint32_t code;
        i += sdx_text_next(text + i, size - i, &code);
        if (how != SDX_CASE_NONE) code = map_case(code, how);
        used += put(code, out ? out + used : NULL);
    }
    return used;
}

size_t sdx_text_space(const char *text, size_t left) {
    uint32_t code;
    if (left == 0) return 0;
    const size_t length = sdx_text_next(text, left, &code);
    bool space = (code >= 9 && code <= 13) || (code >= 0x1c && code <= 0x20);
    if (code >= 0x80)
        space = code == 0x85 || code == 0xa0 || code == 0x1680 ||
                (code >= 0x2000 && code <= 0x200a) || code == 0x2028 || code == 0x2029 ||
                code == 0x202f || code == 0x205f || code == 0x3000;
    return space ? length : 0;
}

int sdx_text_compare(const void *a, const void *b) {
    const sdx_string *x = a, *y = b;
    const size_t common = x->size < y->size ? x->size : y->size;
    const int order = common ? memcmp(x->data, y->data, common) : 0;
    return order ? order : (x->size > y->size) - (x->size < y->size);
}

char *sdx_call_text(sdx_call *call, size_t size) {
    char *text = call->host->text(call->host, size);
    if (!text) sdx_fail_memory(call->error, size, "text");
    return text;
}
