/* packed_file.h - packed files written by hand, number by number, each with a label by which a test can replace it:
 * what a stranger could write who makes the digests fit. */
#ifndef SDX_TESTS_PACKED_FILE_H
#define SDX_TESTS_PACKED_FILE_H

#include <stdlib.h>
#include <string.h>

#include "base/sha1.h"
#include "ops/op.h"
#include "pack/bytes.h"
#include "pack/format.h"

typedef struct writer {
    sdx_sink out; /* the index */
    const char *label; /* whose value is replaced; NULL: none */
    int64_t value;
    bool met;
} writer;

/* The value itself or what stands in its place. */
static inline int64_t chosen(writer *w, const char *label, int64_t value) {
    if (!w->label || !label || strcmp(w->label, label) != 0) return value;
    w->met = true;
    return w->value;
}
static inline uint64_t number(writer *w, const char *label, uint64_t value) {
    value = (uint64_t)chosen(w, label, (int64_t)value);
    sdx_put_number(&w->out, value);
    return value;
}
static inline void sign(writer *w, const char *label, int64_t value) {
    sdx_put_signed(&w->out, chosen(w, label, value));
}
static inline void text(writer *w, const char *words) { sdx_put_text(&w->out, words); }
static inline void zeros(writer *w, size_t count) {
    while (count--) sdx_put_number(&w->out, 0);
}
static inline void span(writer *w, const char *at_label, uint64_t at, const char *size_label,
                        const void *data, size_t size) {
    uint8_t digest[SDX_DIGEST];
    number(w, at_label, at);
    number(w, size_label, size);
    sdx_sha1(data, size, digest);
    sdx_put_bytes(&w->out, digest, sizeof digest);
}

/* What stands before the expressions. */
static inline void put_head(writer *w) {
    text(w, "test");
    number(w, NULL, SDX_PACK_LAYOUT);
    number(w, "flags", 0);
    number(w, "optimize", 3);
    zeros(w, 2); /* kernels, levers */
    text(w, "");
    sign(w, NULL, 9);
    sign(w, NULL, 1);
    for (int i = 0; i < 4; i++) text(w, "");
    zeros(w, 1); /* functions */
    number(w, "opset count", 1);
    text(w, "");
    sign(w, NULL, 17);
    zeros(w, 2); /* metadata, passes */
}

static inline void put_le(uint8_t *to, uint64_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) to[i] = (uint8_t)(value >> (8 * i));
}

/* The file, with `data` bytes, all 0, between its header and the index; the caller frees it. */
static inline uint8_t *seal(writer *w, size_t data, size_t *size) {
    const size_t index = SDX_PACKED_PAGE + data;
    *size = index + w->out.size;
    uint8_t *file = calloc(1, *size);
    if (!file || w->out.failed) abort();
    memcpy(file + index, w->out.data, w->out.size);
    memcpy(file, SDX_PACKED_MAGIC, 8);
    put_le(file + SDX_HEADER_VERSION, SDX_PACKED_VERSION, 4);
    put_le(file + SDX_HEADER_FILE_SIZE, *size, 8);
    const int64_t start = chosen(w, "index start", (int64_t)index), left = (int64_t)*size - start;
    put_le(file + SDX_HEADER_INDEX_AT, (uint64_t)chosen(w, "index at", start), 8);
    put_le(file + SDX_HEADER_INDEX_SIZE, (uint64_t)chosen(w, "index size", left), 8);
    sdx_sha1(file + index, w->out.size, file + SDX_HEADER_INDEX_DIGEST);
    sdx_sha1(file, SDX_HEADER_DIGEST, file + SDX_HEADER_DIGEST);
    const int64_t gap = chosen(w, "gap", 0);
    if (gap) file[gap] = 7;
    sdx_sink_free(&w->out);
    return file;
}

#endif
