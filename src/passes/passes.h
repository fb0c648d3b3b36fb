/* passes.h - the passes that rewrite a program's module before it is lowered. A pass is one file and one
 * line in passes.def. */
#ifndef SDX_PASSES_PASSES_H
#define SDX_PASSES_PASSES_H

#include "passes/rewrite.h"

typedef struct sdx_pass {
    const char *name;
    int level; /* lowest optimisation level that it runs at */
    sdx_status (*run)(sdx_rewrite *r); /* counts what it did in r->changes */
    const char *summary;
} sdx_pass;

extern const sdx_pass sdx_passes[];
extern const size_t sdx_passes_count;

/* Runs the passes of that level, in the order of the list, over again while they find something to do.
 * kernels: SDX_KERNELS_*. changes, unless NULL, has sdx_passes_count entries and gets how often each did. */
sdx_status sdx_passes_run(sdx_module *module, int level, uint32_t kernels, uint32_t *changes,
                          sdx_error *error);

#define SDX_PASS(name, level, function, summary) sdx_status function(sdx_rewrite *r);
#include "passes/passes.def"
#undef SDX_PASS

#endif
