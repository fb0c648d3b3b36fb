/* cli.h - what the commands share: the table of commands, options, exit codes, messages, sizes and
 * inputs. The program sees sardonyx.h and report/ only. */
#ifndef SDX_CLI_CLI_H
#define SDX_CLI_CLI_H

#include <stdio.h>

#include "sardonyx.h"

enum {
    EXIT_OK = 0,
    EXIT_NO = 1,          /* the work ran and the answer is no, or a limit stopped it */
    EXIT_USAGE = 2,
    EXIT_BAD_INPUT = 3,   /* bad model or input */
    EXIT_UNSUPPORTED = 4
};

typedef struct command {
    const char *name;
    const char *summary; /* one line for the list of commands */
    const char *help;    /* whole text of --help */
    int (*run)(int argc, char **argv); /* argv[0] is the command's name */
    bool loads_models; /* takes the options of limits.c */
} command;

extern const command cmd_inspect, cmd_run, cmd_classify, cmd_test, cmd_plan, cmd_pack, cmd_ops,
    cmd_bench, cmd_runner;

/* ---- options: arguments.c ---- */

typedef struct text_list {
    const char **items; /* texts belong to argv */
    size_t count;
} text_list;

typedef enum option_kind {
    OPTION_FLAG,    /* to: bool; takes no value */
    OPTION_TEXT,    /* to: const char * */
    OPTION_INTEGER, /* to: int64_t, from low to high */
    OPTION_NUMBER,  /* to: double, finite and not negative */
    OPTION_CHOICE,  /* to: int, the index of one of choices ("npy|pb") */
    OPTION_LIST     /* to: text_list; each use adds an item */
} option_kind;

typedef struct option {
    const char *name; /* with its dashes */
    option_kind kind;
    void *to;
    int64_t low, high;
    const char *choices;
} option;

/* Reads `--name VALUE`, `--name=VALUE` and positional arguments ("--" ends options). On a mistake
 * prints a message and returns false. Lists must be freed in either case. */
bool parse_arguments(const command *cmd, int argc, char **argv, const option *options,
                     size_t option_count, text_list *positionals);
void text_list_free(text_list *list);

/* ---- limits of a model, a program or a run: limits.c ---- */

extern const char limits_help[];
const option *limits_options(size_t *count);
bool limits_check(const command *cmd); /* after the options are read; false after a message */
/* What the command line says, to be given to whatever loads, makes or runs. */
const sdx_limits *limits_given(void);
uint32_t load_flags_given(void); /* SDX_LOAD_COPY, or 0 */

/* ---- messages and text: text.c ---- */

#if defined(__GNUC__)
#define CLI_PRINTF(at) __attribute__((format(printf, at, at + 1)))
#else
#define CLI_PRINTF(at)
#endif

/* "sardonyx: message" to stderr; names in it cannot send control characters to a terminal. */
void complain(const char *format, ...) CLI_PRINTF(1);
/* The same with "; see `sardonyx COMMAND --help`"; returns EXIT_USAGE. */
int usage_error(const command *cmd, const char *format, ...) CLI_PRINTF(2);
int out_of_memory(void); /* says so; returns the exit code */
bool text_ran_out(void); /* some text was lost for want of memory, so that what was printed is not all */
int exit_code(sdx_status status);
/* Prints the message of a library error, with the file in front where the message does not begin
 * with it (NULL: none); returns the exit code for it. */
int report_error(const char *file, const sdx_error *error);

/* Text that grows. Zero it to start; data is NULL only where memory ran out. */
typedef struct text {
    char *data;
    size_t length, capacity;
    bool failed; /* memory ran out: there is no data until the text is cleared */
} text;
void text_clear(text *t);
void text_add(text *t, const char *format, ...) CLI_PRINTF(2);
void text_free(text *t);

void text_add_type(text *t, const sdx_model *model, size_t value); /* "float32[batch,3]" */
void text_add_declared(text *t, const sdx_model *model, size_t value); /* by the file; or nothing */
void text_add_shape(text *t, const sdx_tensor *tensor);            /* "float32[2,3]" */
void text_add_bytes(text *t, uint64_t bytes);                      /* "1.5 MB (1500000 bytes)" */
/* Writes what a model calls something: control characters become \n, \t or \xNN. */
void put_safe(FILE *out, const char *string);

/* ---- files: files.c ---- */

/* The whole file, with a NUL behind its bytes; NULL after a message. */
char *read_file(const char *path, size_t *size);

/* A file that a command writes: printed into memory, and put in place only when it is whole. */
typedef struct whole_file {
    FILE *file;
    const char *path;
    char *bytes;
    size_t size;
} whole_file;
bool whole_begin(whole_file *o, const char *path); /* false after a message */
/* `good`: printing went well. Says what is wrong and returns the exit code. */
int whole_end(whole_file *o, bool good);

/* While a temporary file has a name, a signal from the keyboard waits: it would leave it behind. */
void hold_interrupts(bool hold);

/* ---- sizes and inputs: inputs.c ---- */

typedef struct dim_list {
    sdx_binding *items;
    size_t count;
} dim_list;
/* From the texts of --dim, each NAME=N; false after a message. */
bool dims_parse(dim_list *dims, const text_list *texts, const command *cmd);
void dims_free(dim_list *dims);
/* What --slice says, as in sdx_program_options (NULL: not given); false after a message. */
bool slice_parse(const char *argument, int64_t *size, const command *cmd);
typedef struct cpu_list {
    uint32_t items[1024];
    size_t count;
} cpu_list;
/* From a text such as 0,2-3 (NULL: none); false after a message. */
bool cpus_parse(const char *argument, cpu_list *cpus, const command *cmd);
/* This thread keeps to that CPU from now on. */
bool use_cpu(uint32_t cpu);
/* Fails naming a --dim that the model has no symbol for, and those it has. */
bool dims_check(const dim_list *dims, const sdx_model *model);
/* Says that an input's dim has no size, what it is needed for, and which --dim would give it one. */
void complain_open_dim(const sdx_model *model, uint32_t input, int32_t axis, const char *purpose);

/* Repeatable numbers for --random: uniform floats in [0, 1), small integers. */
void fill_random(sdx_tensor *tensor, uint64_t seed);

/* ---- comparison: compare.c ---- */

typedef struct tolerance {
    double rtol, atol;
    bool shape_only; /* values are drawn at random: no two engines agree on them */
} tolerance;

/* Kind, type and shape must be the same; NaN and infinities must agree, other floats satisfy
 * |got - want| <= atol + rtol * |want|. On a difference, writes what and where into message. */
bool values_close(const sdx_value *got, const sdx_value *want, const tolerance *tol,
                  char *message, size_t size);
/* A fingerprint of kinds, types, shapes and bits, chained onto `print` (0 to begin with). */
uint64_t value_print(const sdx_value *value, uint64_t print);

#endif
