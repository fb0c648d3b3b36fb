/* model.h - what stands behind sdx_model: the module and the bytes its constants point into. */
#ifndef SDX_EXEC_MODEL_H
#define SDX_EXEC_MODEL_H

#include "base/budget.h"
#include "base/file.h"
#include "graph/graph.h"
#include "onnx/external.h"

typedef struct sdx_stored sdx_stored; /* exec/stored.h */

struct sdx_model {
    const sdx_allocator *allocator;
    sdx_module *module;
    sdx_file file;          /* closed file: data NULL (model from the caller's memory) */
    sdx_external *external;
    sdx_log log;            /* a copy, so that the caller's struct may go */
    sdx_allocator own_allocator; /* the caller's; `allocator` is the budget's */
    sdx_budget budget;
    uint64_t file_bytes;
    const char **symbols; /* in the module's arena: those that the main graph's inputs bind */
    size_t symbol_count;
    const sdx_stored *stored; /* of a packed file, in the module's arena; else NULL */
};

/* "kernel_shape=[3,3]" into buffer; returns the length it needs. */
size_t sdx_attr_text(const sdx_module *module, const sdx_attr *attr, char *buffer, size_t size);
/* Fills symbols: what a caller can choose, not what else the shapes in the file mention. */
sdx_status sdx_model_find_symbols(sdx_model *model, sdx_error *error);

#endif
