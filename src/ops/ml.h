/* ml.h - what the operators of domain ai.onnx.ml share: rows of features, class labels, transforms
 * of scores, tables that find a key's position. Private to ml_*.c.
 *
 * Where the standard is silent, most of all about classifiers with two classes and one score, they
 * do what ONNX Runtime does, since that is what converters are tested against. */
#ifndef SDX_OPS_ML_H
#define SDX_OPS_ML_H

#include "ops/op.h"

/* ---- rows (ml_common.c) ---------------------------------------------------------------------- */

/* Element types that most inputs have. */
#define SDX_T_ML (SDX_T(FLOAT32) | SDX_T(FLOAT64) | SDX_T(INT32) | SDX_T(INT64))

/* Input i is [N,F], or [F] for a single row. */
sdx_status sdx_ml_infer_rows(sdx_infer *inf, uint32_t i, sdx_expr *rows, sdx_expr *features);

typedef struct sdx_ml_rows {
    size_t rows, features;
} sdx_ml_rows;
sdx_ml_rows sdx_ml_rows_of(const sdx_tensor *x);

/* Elements of input 0 as float32: where they lie, or copied to `room` (x->count floats). */
const float *sdx_ml_as_float(const sdx_tensor *x, float *room);
/* Bytes of that room, symbolic; 0 for float32. */
sdx_expr sdx_ml_infer_room(sdx_infer *inf, uint32_t i);
size_t sdx_ml_room(const sdx_tensor *x);

/* Rows that are worth handing to a thread, each costing `work` simple operations. */
size_t sdx_ml_grain(size_t work);

/* ---- labels (ml_common.c) -------------------------------------------------------------------- */

/* Numbers or strings; count 0: none given. */
typedef struct sdx_ml_labels {
    const int64_t *numbers;
    const sdx_string *strings;
    size_t count;
} sdx_ml_labels;

/* At most one of both attributes may be given. */
sdx_status sdx_ml_read_labels(sdx_prep *prep, const char *numbers, const char *strings,
                              sdx_ml_labels *out);
static inline sdx_dtype sdx_ml_label_type(const sdx_ml_labels *labels) {
    return labels->strings ? SDX_DTYPE_STRING : SDX_DTYPE_INT64;
}
/* Element `row` of out becomes label `index`; out may be NULL. */
void sdx_ml_put_label(const sdx_ml_labels *labels, size_t index, sdx_tensor *out, size_t row);

/* ---- scores (ml_common.c) -------------------------------------------------------------------- */

typedef enum sdx_ml_post { /* the numbers of TreeEnsemble's post_transform */
    SDX_ML_NONE,
    SDX_ML_SOFTMAX,
    SDX_ML_LOGISTIC,
    SDX_ML_SOFTMAX_ZERO,
    SDX_ML_PROBIT
} sdx_ml_post;

sdx_status sdx_ml_read_post(sdx_prep *prep, int *out);
/* One row of scores, in place. */
void sdx_ml_transform(int post, float *scores, size_t count);
void sdx_ml_transform_wide(int post, double *scores, size_t count);
/* How the one score of a classifier with two classes becomes two. */
typedef enum sdx_ml_pair {
    SDX_ML_COMPLEMENT, /* 1 - s, s */
    SDX_ML_NEGATE      /* -s, s */
} sdx_ml_pair;
/* LOGISTIC makes both from -s and s; PROBIT gives the first alone. */
void sdx_ml_pair_scores(int post, sdx_ml_pair pair, float score, float out[2]);
float sdx_ml_logistic(float value);

/* ---- tables (ml_table.c) --------------------------------------------------------------------- */

/* Finds the position of a key in a list. A key is a word of 64 bits, or a string. */
typedef struct sdx_ml_table {
    const uint64_t *words;
    const sdx_string *strings;
    uint32_t *slots; /* position + 1; 0: free */
    size_t mask;
    uint64_t seed;
} sdx_ml_table;

#define SDX_ML_ABSENT SIZE_MAX

/* The keys stay where they are. Of equal keys the last is found, or the first. */
sdx_status sdx_ml_table_of_words(sdx_prep *prep, const uint64_t *words, size_t count, bool first,
                                 sdx_ml_table *out);
sdx_status sdx_ml_table_of_strings(sdx_prep *prep, const sdx_string *strings, size_t count,
                                   bool first, sdx_ml_table *out);
size_t sdx_ml_find_word(const sdx_ml_table *table, uint64_t word);
size_t sdx_ml_find_string(const sdx_ml_table *table, sdx_string string);

/* Elements [begin, begin + count) of a numeric tensor as words: integers by value, floats so that
 * equal numbers are equal words and all NaNs are one. */
void sdx_ml_words(sdx_dtype dtype, const void *data, size_t begin, size_t count, uint64_t *out);
/* A block of elements that is turned into words at a time. */
#define SDX_ML_BLOCK 128

#endif
