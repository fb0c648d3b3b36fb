/* exif.c - finds the orientation in the metadata of a JPEG, PNG or WebP file. An EXIF block is a small TIFF
 * file: a header, then a directory of entries with 12 bytes each. Where it says nothing, the XMP packet is
 * asked, a text. Every length is checked against the bytes there are. */
#include "image/exif.h"

#include <stdbool.h>
#include <string.h>

#define UPRIGHT 1
#define UNKNOWN 0 /* the metadata does not say */
#define ORIENTATION_TAG 0x112

typedef struct span {
    const uint8_t *at;
    size_t size;
} span;

static uint32_t big32(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint32_t little32(const uint8_t *p) {
    return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

static uint32_t read16(const uint8_t *p, bool big) {
    return big ? (uint32_t)p[0] << 8 | p[1] : (uint32_t)p[1] << 8 | p[0];
}

static bool begins(span s, const char *text, size_t length) {
    return s.size >= length && memcmp(s.at, text, length) == 0;
}

/* Some writers put the mark of the JPEG segment in front in other files too. */
static span without_mark(span s) {
    if (begins(s, "Exif\0\0", 6)) return (span){s.at + 6, s.size - 6};
    return s;
}

/* An entry that makes no sense counts as upright: the packet is asked only where there is none. */
static uint32_t orientation_of(span block) {
    block = without_mark(block);
    const bool big = begins(block, "MM\0*", 4);
    if (block.size < 8 || (!big && !begins(block, "II*\0", 4))) return UNKNOWN;
    const size_t directory = big ? big32(block.at + 4) : little32(block.at + 4);
    if (directory > block.size - 2) return UNKNOWN;
    const uint8_t *entry = block.at + directory + 2;
    size_t entries = read16(block.at + directory, big);
    const size_t room = (block.size - directory - 2) / 12;
    if (entries > room) entries = room;
    for (; entries > 0; entries--, entry += 12) {
        if (read16(entry, big) != ORIENTATION_TAG) continue;
        const uint32_t value = read16(entry + 8, big);
        return value >= 1 && value <= 8 ? value : UPRIGHT;
    }
    return UNKNOWN;
}

/* tiff:Orientation="6" or <tiff:Orientation>6</...>, the first there is. */
uint32_t sdx_xmp_orientation(const uint8_t *text, size_t size) {
    static const char name[] = "tiff:Orientation";
    const size_t length = sizeof name - 1;
    span left = {text, size};
    for (; left.size > length + 1; left.at++, left.size--) {
        if (!begins(left, name, length)) continue;
        const span rest = {left.at + length, left.size - length};
        const size_t before = begins(rest, "=\"", 2) ? 2 : begins(rest, ">", 1) ? 1 : 0;
        if (before == 0 || rest.size <= before) continue;
        const uint8_t digit = rest.at[before];
        if (digit >= '0' && digit <= '9')
            return digit >= '1' && digit <= '8' ? (uint32_t)(digit - '0') : UPRIGHT;
    }
    return UNKNOWN;
}

/* What a file's parts have said so far. */
typedef struct found {
    uint32_t exif, xmp;
} found;

static void note_exif(found *f, span block) {
    if (f->exif == UNKNOWN) f->exif = orientation_of(block);
}

static void note_xmp(found *f, span packet) {
    if (f->xmp == UNKNOWN) f->xmp = sdx_xmp_orientation(packet.at, packet.size);
}

static uint32_t decide(const found *f) {
    return f->exif != UNKNOWN ? f->exif : f->xmp != UNKNOWN ? f->xmp : UPRIGHT;
}

/* Segments of two bytes' mark and two bytes' length, up to the first scan. */
uint32_t sdx_exif_in_jpeg(const uint8_t *bytes, size_t size) {
    found f = {UNKNOWN, UNKNOWN};
    size_t at = 2;
    while (at + 4 <= size && bytes[at] == 0xff) {
        const uint8_t mark = bytes[at + 1];
        if (mark == 0xff) { /* filling */
            at++;
            continue;
        }
        const size_t length = read16(bytes + at + 2, true);
        if (mark == 0xda || mark == 0xd9 || length < 2 || length > size - at - 2) break;
        const span content = {bytes + at + 4, length - 2};
        if (mark == 0xe1 && begins(content, "Exif\0\0", 6)) note_exif(&f, content);
        if (mark == 0xe1 && begins(content, "http://ns.adobe.com/xap/1.0/\0", 29)) note_xmp(&f, content);
        at += 2 + length;
    }
    return decide(&f);
}

/* Chunks of length, name, content and checksum. A packet is in a text chunk with a keyword in front. */
uint32_t sdx_exif_in_png(const uint8_t *bytes, size_t size) {
    found f = {UNKNOWN, UNKNOWN};
    size_t at = 8;
    while (at <= size && size - at >= 12) {
        const size_t length = big32(bytes + at);
        if (length > size - at - 12) break;
        const span content = {bytes + at + 8, length};
        if (memcmp(bytes + at + 4, "eXIf", 4) == 0) note_exif(&f, content);
        if (memcmp(bytes + at + 4, "iTXt", 4) == 0 && begins(content, "XML:com.adobe.xmp\0", 18))
            note_xmp(&f, content);
        at += 12 + length;
    }
    return decide(&f);
}

/* Chunks of name, length and content, filled up to an even size. */
uint32_t sdx_exif_in_webp(const uint8_t *bytes, size_t size) {
    found f = {UNKNOWN, UNKNOWN};
    size_t at = 12;
    while (at <= size && size - at >= 8) {
        const size_t length = little32(bytes + at + 4);
        if (length > size - at - 8) break;
        const span content = {bytes + at + 8, length};
        if (memcmp(bytes + at, "EXIF", 4) == 0) note_exif(&f, content);
        if (memcmp(bytes + at, "XMP ", 4) == 0) note_xmp(&f, content);
        at += 8 + length + length % 2;
    }
    return decide(&f);
}
