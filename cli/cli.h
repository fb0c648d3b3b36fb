/* cli.h - what the commands share: the table of commands, options, exit codes, input handling. The
 * program sees sardonyx.h and report/ only. */
#ifndef SDX_CLI_CLI_H
#define SDX_CLI_CLI_H

#include <stdio.h>

#include "sardonyx.h"

enum {
    EXIT_OK = 0,
    EXIT_NO = 1,          /* the work ran and the answer is no */
    EXIT_USAGE = 2,
    EXIT_BAD_INPUT = 3,   /* bad model or input */
    EXIT_UNSUPPORTED = 4
};

typedef struct command {
    const char *name;
    const char *summary; /* one line for the list of commands */
    const char *help;    /* whole text of --help */
    int (*run)(int argc, char **argv); /* argv[0] is the command's name */
} command;

extern const command cmd_inspect, cmd_run, cmd_test, cmd_ops;

/* ---- options ---- */

/* Walks argv. An option is --name VALUE or --name=VALUE; "--" ends options. */
typedef struct arguments {
    int argc, next;
    char **argv;
    const command *cmd;
    const char *option; /* the option found last, without its value */
    const char *value;  /* attached with =, else NULL */
    bool only_positional;
} arguments;

void arguments_start(arguments *args, int argc, char **argv, const command *cmd);
/* The next argument: *positional is set for one that is no option. False at the end. */
bool arguments_next(arguments *args, const char **positional);
bool option_is(const arguments *args, const char *name);
/* The option's value, taken from the next argument if need be; NULL (message printed) if none. */
const char *option_value(arguments *args);
bool option_integer(arguments *args, long long low, long long high, long long *out);
/* "NAME=VALUE" split at the last '=' (names may hold one); prints a message on failure. */
bool option_pair(arguments *args, char **name, const char **value);
int usage_error(const arguments *args, const char *format, ...);

/* ---- errors ---- */

int exit_code(sdx_status status);
/* Prints "sardonyx: message" to stderr and returns the exit code for it. */
int report_error(const sdx_error *error);

/* ---- dims and inputs ---- */

typedef struct dim_list {
    sdx_binding *items;
    size_t count;
} dim_list;
bool dims_add(dim_list *dims, arguments *args); /* from --dim NAME=N */
void dims_free(dim_list *dims);
/* Fails naming a --dim that the model has no symbol for. */
bool dims_check(const dim_list *dims, const sdx_model *model);

/* Repeatable numbers for --random: uniform floats in [0, 1), small integers. */
void fill_random(sdx_tensor *tensor, uint64_t seed);

/* Compares two values; NaN and Inf must agree, then |got - want| <= atol + rtol * |want|. On a
 * difference, writes what and where into message. */
bool values_close(const sdx_value *got, const sdx_value *want, double rtol, double atol,
                  char *message, size_t size);

#endif
