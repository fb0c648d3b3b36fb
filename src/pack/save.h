/* save.h - what the files save*.c share while a packed file is written:
 *
 *   save.c           the whole: options, header, index, file
 *   save_collect.c   which graphs, nodes and values are written, and their new numbers
 *   save_graph.c     values, nodes, types, attributes, expressions
 *   save_weights.c   packed weights and constants
 */
#ifndef SDX_PACK_SAVE_H
#define SDX_PACK_SAVE_H

#include "base/file.h"
#include "base/map.h"
#include "exec/program.h"
#include "pack/bytes.h"
#include "pack/format.h"

/* Things of one table that are written, in order, and the numbers that they get. */
typedef struct sdx_renumber {
    sdx_id *list;
    uint32_t *number; /* by old index: new one + 1; 0: left out */
    uint32_t count;
} sdx_renumber;

typedef struct sdx_saver {
    const sdx_program *program;
    const sdx_module *module;
    const sdx_allocator *allocator;
    sdx_pack_options options;
    sdx_file_out file;
    sdx_sink exprs, constants, graph, sets; /* parts of the index */
    uint32_t expr_count;
    uint32_t *expr_number; /* by index of the pool: number + 1 */
    sdx_renumber graphs, nodes, values, origins;
    sdx_vector constant_list; /* const sdx_const * */
    sdx_map constant_map;     /* by address */
    uint8_t *taken;    /* by value: some step has it packed */
    uint8_t *plain;    /* by value: some step or graph reads it as it is */
    uint32_t set_count;
    sdx_arena scratch;
    sdx_error *error;
} sdx_saver;

sdx_status sdx_save_collect(sdx_saver *s);
/* Fills s->graph (and with it s->exprs and the list of constants). */
sdx_status sdx_save_graph(sdx_saver *s);
/* Weights packed for the sets that the options ask for, to the file and to s->sets. */
sdx_status sdx_save_sets(sdx_saver *s);
/* The constants, to the file and to s->constants. */
sdx_status sdx_save_constants(sdx_saver *s);

void sdx_save_expr(sdx_saver *s, sdx_sink *out, sdx_expr e);
/* The number of a constant in the file. */
uint32_t sdx_save_constant(sdx_saver *s, const sdx_const *constant);
sdx_status sdx_save_no_memory(sdx_saver *s);
/* Zeros up to the next multiple of alignment. */
sdx_status sdx_save_align(sdx_saver *s, size_t alignment);

#endif
