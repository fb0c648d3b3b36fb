/* classify.h - what `sardonyx classify` hands around: names of classes (classify_labels.c), scores
 * (classify_scores.c), images and runs (classify_run.c), reports (classify_report.c). */
#ifndef SDX_CLI_CLASSIFY_H
#define SDX_CLI_CLASSIFY_H

#include "cli.h"

/* ---- names ---- */

typedef struct label_list {
    const char **names;
    size_t count;
    char *text;         /* that the names lie in; NULL: they belong to the program */
    const char *source; /* for messages */
} label_list;

/* From --labels (a file, "imagenet", "none"; NULL: not given), else from the model's metadata, else
 * ImageNet's where the model has as many classes as it (0: not known). Returns the exit code. */
int labels_load(label_list *labels, const char *argument, const sdx_model *model);
/* Once the number of classes is known: fails where there is another number of names. */
int labels_fit(label_list *labels, size_t classes);
const char *label_of(const label_list *labels, size_t class_index); /* NULL: it has none */
void labels_free(label_list *labels);

/* ---- scores ---- */

typedef enum score_kind {
    SCORES_PLAIN = 0,         /* softmax makes probabilities of them */
    SCORES_PROBABILITIES,     /* the model ends in Softmax, or in Sigmoid */
    SCORES_LOG_PROBABILITIES, /* in LogSoftmax */
} score_kind;

/* What the graph ends in. */
score_kind scores_of_output(const sdx_model *model, uint32_t value);

typedef struct ranked {
    size_t class_index;
    double confidence;
} ranked;

/* Fills top[0..count) with the best of `classes` scores that begin at element `first`. With `raw`, the
 * scores as they are. false: out of memory. */
bool rank_scores(const sdx_tensor *scores, size_t first, size_t classes, score_kind kind, bool raw,
                 ranked *top, size_t count);

/* ---- images and runs ---- */

typedef struct image_result {
    const char *file;
    char *error;  /* NULL: none */
    ranked *top;
    size_t count;
} image_result;

typedef struct classify_session {
    const command *cmd;
    const char *model_file;
    sdx_model *model;
    sdx_program *program; /* made when the first images are there: decoding needs memory before it */
    sdx_context *context;
    sdx_image_preset preset;
    sdx_limits limits;
    sdx_tensor one; /* image */
    size_t input, output;
    int64_t batch;  /* most images of a run */
    bool fixed_batch;
    score_kind scores;
    bool raw;
    label_list labels;
    image_result *results;
    size_t count, top;
    uint32_t threads;
    int optimize;
    const char *save_input; /* .npy; NULL: none */
    double load_ms, decode_ms, run_ms;
} classify_session;

/* Decodes and runs all images; results has their files. A bad image is reported and the others go on.
 * Returns the exit code. */
int classify_images(classify_session *s);
void classify_report(const classify_session *s, bool json);

#endif
