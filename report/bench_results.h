/* bench_results.h - what a benchmark has measured: machine, models, engines, cases with their raw
 * samples, ratios, warnings. `sardonyx bench` fills it (cli/bench_*.c); every printer reads it
 * (bench_json.c, bench_csv.c, bench_table.c, bench_html.c). docs/bench-json.md describes the JSON.
 *
 * Times are nanoseconds, memory is bytes, both as double; NaN: not known. Texts belong to the
 * results and are never NULL. Indices refer to the arrays beside them; BENCH_NONE: none. */
#ifndef SDX_REPORT_BENCH_RESULTS_H
#define SDX_REPORT_BENCH_RESULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "statistics.h"

#define BENCH_FORMAT 1 /* of the JSON; rises when a field changes its meaning */
#define BENCH_NONE   SIZE_MAX

typedef enum bench_what { BENCH_LOAD, BENCH_RUN, BENCH_PROGRAM, BENCH_WHAT_COUNT } bench_what;
extern const char *const bench_what_names[BENCH_WHAT_COUNT]; /* "load", "run", "program" */

/* What can be sampled again and again. A case has those that make sense for it. */
typedef enum bench_metric {
    METRIC_TIME,      /* what is compared; wall clock */
    METRIC_HEAP_PEAK, /* most bytes at once that went through the caller's allocator */
    METRIC_RSS_PEAK,  /* resident memory of the whole process at most, off-heap included */
    METRIC_START,     /* of a whole process: until it is ready to load, */
    METRIC_LOAD,      /* from the file until the model can be run, */
    METRIC_FIRST,     /* and its run */
    METRIC_USER,
    METRIC_SYSTEM,
    METRIC_CPUS, /* utilised: user and system time over wall clock */
    METRIC_MINOR_FAULTS,
    METRIC_MAJOR_FAULTS,
    METRIC_VOLUNTARY_SWITCHES,
    METRIC_INVOLUNTARY_SWITCHES,
    METRIC_CYCLES,
    METRIC_INSTRUCTIONS,
    METRIC_BRANCHES,
    METRIC_BRANCH_MISSES,
    METRIC_CACHE_MISSES,
    METRIC_COUNT
} bench_metric;

typedef enum bench_unit { UNIT_NS, UNIT_BYTES, UNIT_COUNT, UNIT_PLAIN } bench_unit;

typedef struct bench_metric_info {
    const char *name;  /* in JSON and CSV: "rss_peak" */
    const char *title; /* in tables: "peak resident" */
    bench_unit unit;
} bench_metric_info;
extern const bench_metric_info bench_metrics[METRIC_COUNT];
extern const char *const bench_unit_names[]; /* "ns", "bytes", "count", "" */

typedef struct bench_series {
    double *values;
    uint32_t *rounds; /* of each value: samples of one round were taken close together in time */
    size_t count, capacity;
} bench_series;

typedef struct bench_environment {
    char *date;       /* "2026-11-18T04:00:00Z" */
    char *os;         /* "Debian GNU/Linux 12 (bookworm)" */
    char *kernel;     /* "Linux 6.1.0 x86_64" */
    char *cpu;        /* "AMD EPYC 7763" */
    char *features;   /* "avx2 fma avx512f" */
    char *isa;        /* SARDONYX_CPU where it is set, else "" */
    char *governor;   /* of the frequency, "" where it cannot be read */
    char *hypervisor; /* "" on bare metal, or where it cannot be told */
    char *compiler;   /* that built this program */
    int cores;        /* of the machine */
    int usable;       /* that this process may use */
    double memory;
    double load_before; /* runs in the queue, over a minute, when the benchmark began */
    double others;      /* share of the processors that other processes had meanwhile, 0 to 1 */
    double frequency_min, frequency_max; /* Hz, seen while measuring */
    double throttled;                    /* times that the processor was throttled meanwhile */
} bench_environment;

typedef struct bench_model {
    char *name; /* of the file without folder and ending */
    char *file;
    double bytes; /* of the file and its external data */
    size_t nodes;
    char *inputs; /* "input float32[batch,3,224,224]" */
} bench_model;

typedef struct bench_engine {
    char *name;  /* "onnxruntime", as in --against */
    char *label; /* "ONNX Runtime" */
    char *version;
} bench_engine;

/* One thing that was measured: a model on an engine in one setting. */
typedef struct bench_case {
    size_t model;      /* BENCH_NONE: a --command that names no model */
    size_t engine;     /* BENCH_NONE: of --command */
    char *operation;   /* "run", "import", "load", "serialise", "program", or --command's label */
    int64_t batch;     /* 0: does not apply */
    int threads;       /* 0: the engine's own choice; -1: does not apply */
    int optimize;      /* 0 to 3; -1: does not apply, or the engine's own */
    bool alternating;  /* batch sizes change from run to run, in one process */
    bool preprocessed; /* decoding and resizing an image belong to what is timed */
    size_t group;      /* cases of a group were measured in the same rounds */
    bench_series series[METRIC_COUNT];

    /* The way to the first result, once for each process. */
    double start_ns;  /* from starting the process until it is ready, an interpreter included */
    double load_ns;   /* until the model can be run */
    double import_ns; /* of that: reading the file, where the engine tells it apart */
    double first_ns;  /* the first run */
    /* Resident memory of the process. */
    double rss_bare;  /* interpreter alone */
    double rss_ready; /* engine imported */
    double rss_loaded;
    double rss_peak; /* at the end */
    double arena_bytes, input_bytes, output_bytes;
    double largest_error; /* of the outputs, relative to the largest; against the judge */
    size_t judge;         /* engine that the outputs were compared with */
} bench_case;

typedef enum bench_relation {
    RELATION_ENGINE,   /* another engine in the same setting */
    RELATION_OPTIMIZE, /* another optimisation level */
    RELATION_SCHEDULE, /* alternating over fixed */
    RELATION_MODEL,    /* another export of the same model, on the same engine */
    RELATION_OTHER,    /* commands */
    RELATION_BASELINE  /* the same case of an earlier benchmark; reference is BENCH_NONE */
} bench_relation;
extern const char *const bench_relation_names[];

/* The time of a case over that of another: above 1 the case is slower than its reference. */
typedef struct bench_ratio {
    size_t of, reference; /* cases */
    bench_relation relation;
    ratio time;
    double baseline_median; /* ns; of RELATION_BASELINE */
    bool fails;             /* --fail-if says so */
} bench_ratio;

/* What was asked for and not measured. */
typedef struct bench_skipped {
    char *engine;  /* label */
    char *model;   /* "": with every model */
    char *setting; /* "batch 8, 2 threads"; "": in every setting */
    char *reason;
    char *install; /* how to install what is missing; "" where that would not help */
} bench_skipped;

typedef struct bench_warning {
    size_t of; /* case; BENCH_NONE: the whole */
    char *text;
} bench_warning;

typedef struct bench_results {
    bench_what what;
    char *title;                       /* of the page; "" for none */
    char *command;                     /* as it was given, to repeat it */
    double warmup_s, time_s, memory_s; /* for each case */
    uint64_t seed;
    bool interrupted;   /* not all of it was measured */
    char *baseline;     /* file of --compare; "" */
    double fail_slower; /* share, 0.05 for slower:5%; NaN: none given */
    bench_environment environment;
    bench_model *models;
    bench_engine *engines;
    bench_case *cases;
    bench_ratio *ratios;
    bench_skipped *skipped;
    bench_warning *warnings;
    size_t model_count, engine_count, case_count, ratio_count, skipped_count, warning_count;
    bool no_memory; /* something could not be added */
} bench_results;

/* ---- filling: bench_results.c. What cannot be added sets no_memory. ---- */

void bench_results_init(bench_results *r, bench_what what);
void bench_results_free(bench_results *r);
void bench_set_text(bench_results *r, char **at, const char *text); /* copies; NULL is "" */
/* Each returns an index, BENCH_NONE where memory ran out; fields are those of an unknown thing. */
size_t bench_add_model(bench_results *r, const char *file);
size_t bench_add_engine(bench_results *r, const char *name, const char *label, const char *version);
size_t bench_add_case(bench_results *r, size_t model, size_t engine, const char *operation);
bool bench_add_sample(bench_results *r, size_t of, bench_metric metric, uint32_t round,
                      double value);
void bench_add_skipped(bench_results *r, const char *engine, const char *model, const char *setting,
                       const char *reason, const char *install);
void bench_add_warning(bench_results *r, size_t of, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Takes out the cases from `first` on that have no times; no ratio may refer to them. */
void bench_drop_empty(bench_results *r, size_t first);
/* Computes the ratio of two cases' times by their rounds and adds it. */
void bench_add_ratio(bench_results *r, size_t of, size_t reference, bench_relation relation);

/* ---- reading ---- */

/* Figures of a metric; false where there are no samples or memory ran out. */
bool bench_statistics(const bench_case *c, bench_metric metric, statistics *out);
/* The ratio of a case to another one of that relation, or NULL. */
const bench_ratio *bench_find_ratio(const bench_results *r, size_t of, bench_relation relation);
/* The one to show where there is room for one: over fixed for an alternating case, else over
 * Sardonyx or what else it is measured beside; NULL: none. */
const bench_ratio *bench_main_ratio(const bench_results *r, size_t of);
/* "resnet50, batch 8, 2 threads, level 0, alternating": what tells cases apart. Parts that all
 * cases share are left out, unless `whole`. Returns the length, as snprintf. */
int bench_case_label(const bench_results *r, size_t index, bool whole, char *buffer, size_t size);
/* Written for the same thing in two benchmarks: "resnet50|onnxruntime|run|8|2|3|fixed|plain". */
int bench_case_key(const bench_results *r, size_t index, char *buffer, size_t size);

/* ---- printers; false when writing failed or memory ran out ---- */

bool bench_write_json(const bench_results *r, FILE *out);
bool bench_write_csv(const bench_results *r, FILE *out);
bool bench_write_markdown(const bench_results *r, FILE *out);
bool bench_write_text(const bench_results *r, FILE *out);
bool bench_write_html(const bench_results *r, FILE *out);

#endif
