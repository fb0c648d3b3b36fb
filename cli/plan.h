/* plan.h - what `sardonyx plan` hands from the command (cmd_plan.c) to programs that it asks
 * (plan_exec.c) and to the report (plan_report.c). */
#ifndef SDX_CLI_PLAN_H
#define SDX_CLI_PLAN_H

#include "cli.h"
#include "json.h"

/* An answer that is kept for a picture. */
typedef struct plan_view {
    char *name;
    uint64_t *offsets;
    uint64_t arena;
    bool proved;
} plan_view;

typedef struct plan_session {
    const char *path;
    sdx_plan_problem *problem;
    sdx_plan_options options;
    bool as_json;
    json_writer json;
    sdx_plan_result best; /* strategy is NULL until there is one */
    text csv;             /* the best answer, where it is asked for */
    bool keep_csv;
    bool wrong; /* some answer was invalid, or a program failed */
    const char *svg, *html; /* files to draw into, or NULL */
    plan_view *views;
    size_t view_count;
    /* Where the problem is a model's: */
    sdx_model *model;
    sdx_program *program;
    sdx_context *context;
    dim_list dims;
    uint32_t memory; /* SDX_MEMORY_* */
    int64_t slice, optimize; /* as in sdx_program_options */
    bool symbolic;   /* expressions in place of a problem in bytes */
} plan_session;

/* Keeps the problem's present answer; false after a message. */
bool plan_keep_view(plan_session *session, const char *name, const sdx_plan_result *result);
void plan_free_views(plan_session *session);
int plan_draw(const plan_session *session);

/* Makes the problem from a model at s->path; exit code. */
int plan_load_model(plan_session *session);
void plan_free_model(plan_session *session);
int plan_show_symbolic(plan_session *session);
void report_model_head(plan_session *session);
void report_model_needs(plan_session *session);
void report_model_buffers(plan_session *session);

/* Hands the problem as CSV to the shell command's standard input and takes the answer from its
 * standard output. False after a message; the command is killed when time is over. */
bool plan_by_command(plan_session *session, const char *command_text, sdx_plan_result *result);

/* The head is printed with the first row, from what its result says of the problem. */
void report_row(plan_session *session, const char *name, const sdx_plan_result *result);
void report_end(plan_session *session);

#endif
