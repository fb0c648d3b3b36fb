/* bench.h - what the files of `sardonyx bench` share. cmd_bench.c reads the options and writes the
 * results; bench_load.c, bench_run.c and bench_program.c measure, each one meaning of --what;
 * bench_peers.c and bench_client.c hold the engines and the processes that they run in
 * (docs/peer-protocol.md); bench_machine.c watches the machine meanwhile. */
#ifndef SDX_CLI_BENCH_H
#define SDX_CLI_BENCH_H

#include <sys/types.h>

#include "bench_results.h"
#include "cli.h"
#include "json_read.h"

/* ---- a runner's process: bench_client.c ---- */

typedef struct client {
    pid_t pid;    /* 0: none */
    int in, out;  /* its standard input and output */
    text waiting; /* of its output, not read as a line yet */
    json_value *hello;
    double started_ns, ready_ns; /* of the monotonic clock */
    char problem[400];           /* the latest thing that went wrong */
} client;

double now_ns(void);
/* Starts a runner and reads its first line; messages go to the file `log`. False: see problem. */
bool client_start(client *c, char *const *argv, const char *log);
/* Sends a line, "load\tMODEL\t1", and reads the answer, which the caller frees; NULL: see problem.
 * Fields that a caller does not control go through field_ok() first. */
json_value *client_ask(client *c, double timeout_s, const char *format, ...) CLI_PRINTF(3);
void client_quit(client *c);
/* Ends a process and, where it leads a group, what it has started. */
void process_kill(pid_t pid);
bool field_ok(const char *field); /* no tab and no line break in it */
/* Processor time of this process, its dead children and its live runners, in seconds. */
double own_seconds(void);
/* SIGINT or SIGTERM came: what is under way ends soon. */
bool interrupted(void);
void catch_interrupts(void);

/* ---- engines: bench_peers.c ---- */

typedef struct peer {
    char *name;     /* "onnxruntime" */
    char **command; /* NULL-terminated */
    char *install;  /* "" where it does not say */
    size_t engine;  /* of the results */
    bool is_own;    /* Sardonyx itself */
    bool packed;    /* from a packed file */
    bool converts;
} peer;

/* ---- options ---- */

typedef struct number_list {
    int64_t items[64];
    size_t count;
} number_list;

enum { MAX_ALTERNATING = 16 }; /* batch sizes in turn */
#define MODEL_MARK "{model}"   /* in a --command: the file of each model */

typedef struct bench_options {
    text_list models, dim_texts, commands;
    dim_list dims;
    int what, schedule; /* schedule: 0 fixed, 1 alternating */
    const char *batch_text, *threads_text, *optimize_text, *against, *peers_folder;
    const char *json, *csv, *markdown, *html, *save, *compare, *fail_if, *title, *image, *preset;
    number_list batches, threads, levels; /* levels empty: the default alone */
    double warmup, time, memory, rtol, atol;
    double timeout; /* seconds that an engine may take for an answer, a program for its life */
    int64_t seed, min_rounds;
    bool quiet, packed, variants;
    double fail_slower; /* NaN: none */
} bench_options;

/* ---- the benchmark under way ---- */

typedef struct machine_watch {
    double start_total, start_idle, start_own;
    double frequency_min, frequency_max, throttled;
} machine_watch;

typedef struct progress {
    bool shown; /* stderr is a terminal */
    double start_ns, last_ns;
    double planned_s, done_s, shown_s; /* of measuring, as the options say */
} progress;

typedef struct bench {
    bench_options o;
    bench_results r;
    peer *peers; /* the first is Sardonyx; those that are missing are not here */
    size_t peer_count;
    char scratch[100]; /* folder for inputs, outputs and logs; "" before it is made */
    machine_watch watch;
    progress progress;
    uint64_t random;
} bench;

/* What a model is fed. */
typedef struct bench_input {
    char *name, *file, *dims; /* dims "1,3,224,224" */
    const char *type;
    size_t bytes;
    char *preset; /* of --image, in plain words: it can be made from pictures, too; else NULL */
} bench_input;

typedef struct bench_inputs {
    bench_input *items;
    size_t count;
    double bytes;
    char *shapes; /* "shapes=1,3,224,224,float32;.." */
} bench_inputs;

/* ---- bench_peers.c ---- */
bool peers_find(
    bench *b); /* starts each once; the missing ones go to the skipped. False: no memory */
void peers_free(bench *b);
/* Starts a peer's runner and fills the facts of its start into the case (BENCH_NONE: into none). */
bool peer_start(bench *b, const peer *p, client *c);
/* The file that the peer loads for a model: the model, or what it is converted to. "" with problem.
 */
bool peer_file(bench *b, const peer *p, client *c, size_t model, int level, const char *shapes,
               char *path, size_t size);

/* ---- bench_inputs.c ---- */
bool models_describe(bench *b, int *code); /* loads each model once; false after a message */
/* Random inputs for a batch, written to files once; false with a reason. */
bool inputs_make(bench *b, size_t model, int64_t batch, bench_inputs *out, char *reason,
                 size_t size);
void inputs_free(bench_inputs *inputs);
/* The line that has an input made from --image, for the inputs of a key; "" where none can be. */
bool image_line(const bench *b, const bench_inputs *inputs, const char *key, text *line);
/* The batches to measure a model with: those asked for, or the one that it is fixed to. */
void batches_of(const bench *b, size_t model, number_list *out);
/* Whether FOLDER/0.npy .. of two engines are equal, within the tolerance; if not, the message says
 * where. Error: largest difference over the largest value. */
bool outputs_agree(const bench *b, const char *got, const char *want, size_t count, double *error,
                   char *message, size_t size);

/* ---- bench_machine.c ---- */
void machine_describe(bench_results *r);
void watch_start(machine_watch *w);
void watch_sample(machine_watch *w); /* between rounds: frequencies */
void watch_finish(machine_watch *w, bench_results *r);
double clock_step_ns(void); /* smallest step of the clock that was seen */

/* ---- bench_progress.c ---- */
void progress_start(progress *p, double planned_s, bool quiet);
void progress_show(progress *p, const char *what, double within_s); /* done in the piece at hand */
void progress_done(progress *p, double seconds); /* a piece of the plan is over */
void progress_clear(progress *p);

/* ---- what is measured; each returns an exit code ---- */
int bench_measure_load(bench *b);
int bench_measure_run(bench *b);
int bench_measure_program(bench *b);

/* ---- bench_baseline.c: --compare ---- */
int baseline_compare(bench_results *r, const char *file);
int baseline_check(const char *file); /* whether it is one, before anything is measured */

/* ---- shared by the three: bench_shared.c ---- */
void shuffle(uint64_t *state, size_t *order, size_t count);
void setting_text(char *buffer, size_t size, int64_t batch, int threads, int level);
void warn_samples(bench_results *r, size_t of, double smallest_ns); /* outliers, too fast */

#endif
