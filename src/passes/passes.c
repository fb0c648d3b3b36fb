/* passes.c - the list made from passes.def, and running it. */
#include "passes/passes.h"

/* One pass may make work for another before it; what is left after this many rounds is rare. */
#define ROUNDS 3

const sdx_pass sdx_passes[] = {
#define SDX_PASS(name, level, function, summary) {name, level, function, summary},
#include "passes/passes.def"
#undef SDX_PASS
    {0}};
const size_t sdx_passes_count = sizeof sdx_passes / sizeof *sdx_passes - 1;

static sdx_status run_pass(sdx_rewrite *r, const sdx_pass *pass) {
    r->changes = 0;
    SDX_TRY(sdx_module_in_time(r->module, r->build.error));
    sdx_status status = pass->run(r);
    if (status == SDX_STATUS_OK) status = r->build.status;
    if (status == SDX_STATUS_OK) status = sdx_rewrite_tidy(r);
    sdx_rewrite_forget(r);
    return status;
}

static sdx_status run_all(sdx_rewrite *r, uint32_t *changes) {
    uint32_t found = 1;
    for (int round = 0; round < ROUNDS && found; round++) {
        found = 0;
        for (size_t i = 0; i < sdx_passes_count; i++) {
            if (r->level < sdx_passes[i].level) continue;
            r->settled = found == 0 || round + 1 == ROUNDS;
            SDX_TRY(run_pass(r, &sdx_passes[i]));
            found += r->changes;
            if (changes) changes[i] += r->changes;
        }
    }
    return SDX_STATUS_OK;
}

sdx_status sdx_passes_run(sdx_module *module, int level, uint32_t kernels, uint32_t *changes,
                          sdx_error *error) {
    sdx_rewrite r;
    bool any = false;
    for (size_t i = 0; i < sdx_passes_count; i++) {
        any |= level >= sdx_passes[i].level;
        if (changes) changes[i] = 0;
    }
    if (!any) return SDX_STATUS_OK;
    sdx_status status = sdx_rewrite_init(&r, module, level, error);
    r.kernels = kernels;
    if (status == SDX_STATUS_OK) status = run_all(&r, changes);
    sdx_rewrite_free(&r);
    return status;
}
