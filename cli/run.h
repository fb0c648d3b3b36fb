/* run.h - what `sardonyx run` hands from the run (cmd_run.c) to the reports of it
 * (run_results.c, run_profile.c). */
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

/* Steps of some runs, for --profile: run_profile.c. */
typedef struct profile profile;
profile *profile_create(const sdx_model *model); /* NULL: out of memory */
void profile_free(profile *p);
void profile_add(void *user, const sdx_step_profile *step); /* user: the profile */
/* A run has ended; unless it is to be kept, forgets it. */
void profile_next_run(profile *p, bool keep);
/* Writes the trace to the file and the table to stderr; returns the exit code. */
int profile_report(const profile *p, const char *path);

#endif
