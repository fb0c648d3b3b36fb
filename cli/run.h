/* run.h - what `sardonyx run` hands from the run (cmd_run.c) to the report of it (run_results.c). */
#ifndef SDX_CLI_RUN_H
#define SDX_CLI_RUN_H

#include "cli.h"

typedef struct run_session {
    sdx_model *model;
    sdx_program *program;
    sdx_context *context;
    sdx_model_info info;
    double load_ms, best_ms, median_ms;
    size_t repeat;
    char **files; /* by output: where it was written; NULL if it was not */
} run_session;

/* Writes each output into the folder, made if need be; returns the exit code. */
int write_results(run_session *session, const char *folder, bool pb);
void print_results_text(const run_session *session);
void print_results_json(const run_session *session);

#endif
