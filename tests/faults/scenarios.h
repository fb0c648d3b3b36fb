/* scenarios.h - what the sweep of faults.c goes through: whole uses of the library, each as a row of stages. */
#ifndef SDX_TESTS_FAULTS_SCENARIOS_H
#define SDX_TESTS_FAULTS_SCENARIOS_H

#include "inject.h"

/* One use of the library: what it is made of, and what came out. */
typedef struct scenario {
    /* as the command line has it: */
    const char *what;   /* run, pack, plan, files, image, describe */
    const char *path;   /* a folder with model.onnx and test_data_set_*, or a file */
    const char *scratch; /* folder to write to */
    int level;
    uint32_t threads, load_flags;
    int64_t slice;
    bool own_allocator, from_memory;
    /* what happens after a failure: the stage once more without faults, or the end */
    bool again;
    /* what came out: */
    uint64_t print;      /* of all results */
    sdx_status failed;   /* of the first stage that did, or OK */
    sdx_error error, first; /* of the last call, and of that stage */
    const char *stage;   /* its name */
    bool bad_retry;      /* it did not succeed without faults either */
} scenario;

/* Runs all of it; everything it took is given back at the end, whatever happened. */
void scenario_run(scenario *s);

/* One call of the library that can fail: true where it succeeded, perhaps the second time. */
#define STAGE(s, name, call)                                                                      \
    ((sdx_error_clear(&(s)->error), stage_ok((s), (name), (call))) ||                             \
     (stage_again(s) && stage_ok_again((s), (call))))
bool stage_ok(scenario *s, const char *name, sdx_status status);
bool stage_again(scenario *s);
bool stage_ok_again(scenario *s, sdx_status status);

/* Chains a value's kind, type, shape and bits onto s->print. */
void scenario_note(scenario *s, const sdx_value *value);
void scenario_note_bytes(scenario *s, const void *bytes, size_t size);
const sdx_allocator *scenario_allocator(const scenario *s);

/* scenarios_model.c */
void scenario_model(scenario *s);
/* scenarios_other.c */
void scenario_plan(scenario *s);
void scenario_files(scenario *s);
void scenario_image(scenario *s);

#endif
