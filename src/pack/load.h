/* load.h - what the files load*.c share while a packed file is read:
 *
 *   load.c            header, digests, the parts of the index that are no graph
 *   load_constants.c  expressions and constants
 *   load_graph.c      values, nodes, types, attributes, and the checks that make them a graph
 *
 * The file is hostile until checked: every count is compared with the bytes left, every number of a thing
 * with how many there are. What is read is then resolved and inferred like any model. */
#ifndef SDX_PACK_LOAD_H
#define SDX_PACK_LOAD_H

#include "exec/stored.h"
#include "pack/bytes.h"
#include "pack/format.h"

typedef struct sdx_unpacker {
    sdx_model *model;
    sdx_module *module;
    sdx_stored *stored;
    const uint8_t *file;
    size_t file_size, index_at;
    bool verify;
    sdx_source in; /* the index */
    sdx_expr *exprs;
    uint32_t expr_count;
    sdx_const *constants;
    uint32_t constant_count;
    sdx_error *error;
} sdx_unpacker;

sdx_status sdx_load_exprs(sdx_unpacker *u);
sdx_status sdx_load_constants(sdx_unpacker *u);
sdx_status sdx_load_packed_graph(sdx_unpacker *u);

/* A reference to an expression. */
sdx_expr sdx_take_expr(sdx_unpacker *u);
/* A span of data with its digest, which is looked at only if asked for; NULL: an error is set. */
const uint8_t *sdx_take_span(sdx_unpacker *u, size_t *size, const char *what);
/* BAD_MODEL, with the place in the file. */
sdx_status sdx_unpack_fail(sdx_unpacker *u, const char *format, ...) SDX_PRINTF(2, 3);
/* OK unless something could not be taken. */
sdx_status sdx_unpack_check(sdx_unpacker *u, const char *what);

#endif
