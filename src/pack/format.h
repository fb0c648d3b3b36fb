/* format.h - the packed file (.sdx) in short; docs/format.md has it in full.
 *
 *   header   128 bytes, then zeros up to a page: what it is, where the index lies, digests of both
 *   weights  for each instruction set, from a page on: pieces in the order of the nodes
 *   plain    constants, each from a multiple of 64 on
 *   index    everything else, as one run of bytes (pack/bytes.h), the last thing in the file
 *
 * save*.c write it, load*.c read it. */
#ifndef SDX_PACK_FORMAT_H
#define SDX_PACK_FORMAT_H

#include <stdint.h>

#define SDX_PACKED_MAGIC "\x89SDX\r\n\x1a\n"
#define SDX_PACKED_VERSION 1
#define SDX_PACKED_HEADER 128
#define SDX_PACKED_PAGE 4096
#define SDX_PACKED_ALIGN 64
#define SDX_DIGEST 20

/* Where things stand in the header. */
enum {
    SDX_HEADER_MAGIC = 0,         /* 8 bytes */
    SDX_HEADER_VERSION = 8,       /* 4 */
    SDX_HEADER_RESERVED = 12,     /* 4, zero */
    SDX_HEADER_FILE_SIZE = 16,    /* 8 */
    SDX_HEADER_INDEX_AT = 24,     /* 8 */
    SDX_HEADER_INDEX_SIZE = 32,   /* 8 */
    SDX_HEADER_INDEX_DIGEST = 40, /* 20 */
    SDX_HEADER_DIGEST = 108       /* 20, of the 108 bytes before it; zeros between */
};

/* How an expression is referred to. */
enum { SDX_REF_UNKNOWN = 0, SDX_REF_NUMBER = 1, SDX_REF_POOLED = 2 };

/* How the elements of a constant are stored. */
typedef enum sdx_encoding {
    SDX_ENCODING_ABSENT = 0,   /* only packed */
    SDX_ENCODING_FILE = 1,     /* as raw_data of a TensorProto: little-endian, sub-byte types packed */
    SDX_ENCODING_HALF = 2,     /* float32 as float16 */
    SDX_ENCODING_STRINGS = 3,  /* in the index */
    SDX_ENCODING_EMPTY = 4     /* no elements */
} sdx_encoding;

/* What a value has behind its name. */
enum {
    SDX_VALUE_CONSTANT = 1,
    SDX_VALUE_FALLBACK = 2,
    SDX_VALUE_DECLARED = 4,
    SDX_VALUE_TYPE = 8
};

#endif
