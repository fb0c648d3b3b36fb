/* string_tfidf.c - TfIdfVectorizer: counts which n-grams of a pool occur in rows of words or
 * numbers.
 *
 * Words become small numbers once, by bisection in the sorted pool. The n-grams of the pool are
 * sorted too: those that begin with the words seen so far are a stretch of that list, and each
 * further word narrows it. */
#include <stdlib.h>

#include "ops/string_text.h"

#define NO_WORD UINT32_MAX
#define GRAIN 8 /* rows */

typedef struct gram {
    const uint32_t *words;
    uint32_t size;
    float weight;
    int64_t column;
} gram;

enum { MODE_TF, MODE_IDF, MODE_TFIDF };

typedef struct tfidf_params {
    int mode;
    int64_t shortest, longest, skips;
    int64_t columns;
    const int64_t *numbers;    /* the words of the pool, sorted: either these … */
    const sdx_string *strings; /* … or these */
    size_t word_count;
    gram *grams; /* sorted by their words */
    size_t gram_count;
} tfidf_params;

/* ---- words ---------------------------------------------------------------------------------- */

static int compare_numbers(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Number of the word, NO_WORD if the pool does not have it. */
static uint32_t find_word(const tfidf_params *p, const void *word) {
    const char *base = p->strings ? (const char *)p->strings : (const char *)p->numbers;
    const size_t size = p->strings ? sizeof(sdx_string) : sizeof(int64_t);
    const char *found = bsearch(word, base, p->word_count, size,
                                p->strings ? sdx_text_compare : compare_numbers);
    return found ? (uint32_t)((size_t)(found - base) / size) : NO_WORD;
}

/* Sorted copy of the pool's words. Equal ones stay side by side: bsearch may find any of them, so
 * they are made one. */
static sdx_status sort_words(sdx_prep *prep, const void *words, size_t count, size_t size,
                             int (*compare)(const void *, const void *), void **out) {
    tfidf_params *p = prep->params;
    char *sorted = sdx_prep_array(prep, count, size);
    if (!sorted) return SDX_STATUS_NO_MEMORY;
    memcpy(sorted, words, count * size);
    qsort(sorted, count, size, compare);
    size_t used = 1;
    for (size_t i = 1; i < count; i++)
        if (compare(sorted + i * size, sorted + (used - 1) * size) != 0)
            memcpy(sorted + used++ * size, sorted + i * size, size);
    p->word_count = used;
    *out = sorted;
    return SDX_STATUS_OK;
}

/* The pool as numbers of words. */
static sdx_status read_pool(sdx_prep *prep, uint32_t **words, size_t *count) {
    tfidf_params *p = prep->params;
    const int64_t *numbers;
    const sdx_string *strings;
    size_t number_count, string_count;
    void *sorted;
    SDX_TRY(sdx_attr_get_ints(prep, "pool_int64s", &numbers, &number_count));
    SDX_TRY(sdx_attr_get_strings(prep, "pool_strings", &strings, &string_count));
    if ((number_count > 0) == (string_count > 0))
        return sdx_prep_fail(prep, "one of pool_int64s and pool_strings must be given");
    *count = number_count + string_count;
    if (*count >= NO_WORD)
        return sdx_prep_unsupported(prep, "a pool of %zu words", *count);
    const size_t size = number_count ? sizeof *numbers : sizeof *strings;
    const void *pool = number_count ? (const void *)numbers : (const void *)strings;
    SDX_TRY(sort_words(prep, pool, *count, size,
                       number_count ? compare_numbers : sdx_text_compare, &sorted));
    p->numbers = number_count ? sorted : NULL;
    p->strings = number_count ? NULL : sorted;
    *words = sdx_prep_array(prep, *count, sizeof **words);
    if (!*words) return SDX_STATUS_NO_MEMORY;
    for (size_t i = 0; i < *count; i++)
        (*words)[i] = find_word(p, (const char *)pool + i * size);
    return SDX_STATUS_OK;
}

/* ---- n-grams -------------------------------------------------------------------------------- */

static int compare_grams(const void *a, const void *b) {
    const gram *x = a, *y = b;
    for (uint32_t i = 0; i < x->size && i < y->size; i++)
        if (x->words[i] != y->words[i]) return x->words[i] < y->words[i] ? -1 : 1;
    return (x->size > y->size) - (x->size < y->size);
}

typedef struct gram_lists {
    const int64_t *starts, *columns; /* ngram_counts, ngram_indexes */
    const float *weights;
    size_t start_count, column_count, weight_count;
} gram_lists;

static sdx_status read_lists(sdx_prep *prep, gram_lists *lists) {
    tfidf_params *p = prep->params;
    SDX_TRY(sdx_attr_get_ints(prep, "ngram_counts", &lists->starts, &lists->start_count));
    SDX_TRY(sdx_attr_get_ints(prep, "ngram_indexes", &lists->columns, &lists->column_count));
    SDX_TRY(sdx_attr_get_floats(prep, "weights", &lists->weights, &lists->weight_count));
    if (lists->start_count == 0 || lists->column_count == 0)
        return sdx_prep_fail(prep, "ngram_counts and ngram_indexes must not be empty");
    if (lists->weight_count && lists->weight_count != lists->column_count)
        return sdx_prep_fail(prep, "%zu weights for %zu n-grams", lists->weight_count,
                             lists->column_count);
    if (p->longest > (int64_t)lists->start_count)
        return sdx_prep_fail(prep, "max_gram_length is %lld, but ngram_counts has %zu entries",
                             (long long)p->longest, lists->start_count);
    for (size_t i = 0; i < lists->column_count; i++) {
        const int64_t column = lists->columns[i];
        if (column < 0 || column >= SDX_EXPR_MAX - 1)
            return sdx_prep_fail(prep, "ngram_indexes[%zu] is %lld", i, (long long)column);
        if (column >= p->columns) p->columns = column + 1;
    }
    return SDX_STATUS_OK;
}

/* Adds the n-grams of `size` words at pool[from, to); id counts those before them. */
static sdx_status add_grams(sdx_prep *prep, const gram_lists *lists, const uint32_t *pool,
                            size_t from, size_t to, uint32_t size, size_t *id) {
    tfidf_params *p = prep->params;
    if ((to - from) % size)
        return sdx_prep_fail(prep, "the pool has %zu words for n-grams of %u", to - from, size);
    if ((to - from) / size > lists->column_count - *id)
        return sdx_prep_fail(prep, "the pool has more n-grams than ngram_indexes, %zu",
                             lists->column_count);
    for (size_t at = from; at < to; at += size, ++*id) {
        if (size < p->shortest || size > p->longest) continue;
        const bool weighted = p->mode != MODE_TF && lists->weight_count;
        p->grams[p->gram_count++] =
            (gram){.words = pool + at, .size = size, .column = lists->columns[*id],
                   .weight = weighted ? lists->weights[*id] : 1};
    }
    return SDX_STATUS_OK;
}

static sdx_status tfidf_prepare(sdx_prep *prep) {
    static const char *const modes[] = {"TF", "IDF", "TFIDF", NULL};
    tfidf_params *p = prep->params;
    gram_lists lists = {0};
    uint32_t *pool = NULL;
    size_t count = 0, id = 0;
    SDX_TRY(sdx_attr_get_choice(prep, "mode", -1, modes, &p->mode));
    if (p->mode < 0) return sdx_prep_fail(prep, "attribute 'mode' is required but missing");
    SDX_TRY(sdx_attr_need_int(prep, "min_gram_length", &p->shortest));
    SDX_TRY(sdx_attr_need_int(prep, "max_gram_length", &p->longest));
    SDX_TRY(sdx_attr_need_int(prep, "max_skip_count", &p->skips));
    if (p->shortest < 1 || p->longest < p->shortest || p->skips < 0)
        return sdx_prep_fail(prep, "n-grams of %lld to %lld words with up to %lld skipped",
                             (long long)p->shortest, (long long)p->longest, (long long)p->skips);
    SDX_TRY(read_lists(prep, &lists));
    SDX_TRY(read_pool(prep, &pool, &count));
    p->grams = sdx_prep_array(prep, count, sizeof *p->grams);
    if (!p->grams) return SDX_STATUS_NO_MEMORY;
    for (size_t i = 0; i < lists.start_count; i++) {
        const int64_t from = lists.starts[i];
        const int64_t to = i + 1 < lists.start_count ? lists.starts[i + 1] : (int64_t)count;
        if (from < 0 || to < from || to > (int64_t)count)
            return sdx_prep_fail(prep, "ngram_counts[%zu] is %lld, expected 0 to %zu in rising "
                                       "order",
                                 i, (long long)from, count);
        SDX_TRY(add_grams(prep, &lists, pool, (size_t)from, (size_t)to, (uint32_t)(i + 1), &id));
    }
    if (p->gram_count) qsort(p->grams, p->gram_count, sizeof *p->grams, compare_grams);
    return SDX_STATUS_OK;
}

/* ---- running -------------------------------------------------------------------------------- */

static sdx_status tfidf_infer(sdx_infer *inf) {
    const tfidf_params *p = inf->params;
    const int32_t rank = sdx_infer_rank(inf, 0);
    const sdx_dtype dtype = sdx_infer_dtype(inf, 0);
    sdx_infer_set_dtype(inf, 0, SDX_DTYPE_FLOAT32);
    if (dtype && (dtype == SDX_DTYPE_STRING) != (p->strings != NULL))
        return sdx_infer_fail(inf, "input 0 is %s, but the pool holds %s", sdx_dtype_name(dtype),
                              p->strings ? "strings" : "numbers");
    if (rank < 0) {
        inf->scratch = SDX_EXPR_UNKNOWN;
        return SDX_STATUS_OK;
    }
    if (rank > 2) return sdx_infer_fail(inf, "input 0 has rank %d, expected [C] or [N, C]", rank);
    inf->scratch = sdx_inf_mul(inf, sdx_infer_product(inf, 0, 0, rank),
                               sdx_expr_const(sizeof(uint32_t)));
    const sdx_expr columns = sdx_expr_const(p->columns);
    const sdx_expr dims[2] = {rank == 2 ? sdx_infer_dim(inf, 0, 0) : columns, columns};
    return sdx_infer_set_shape(inf, 0, rank == 2 ? 2 : 1, dims);
}

/* The stretch of grams that all agree in their first `depth` words. */
typedef struct stretch {
    size_t low, high;
} stretch;

/* First gram of the stretch whose word at `depth` is not below `word`; shorter ones come first. */
static size_t first_not_below(const tfidf_params *p, stretch s, uint32_t depth, uint64_t word) {
    while (s.low < s.high) {
        const size_t middle = s.low + (s.high - s.low) / 2;
        const gram *g = &p->grams[middle];
        if (g->size <= depth || g->words[depth] < word) s.low = middle + 1;
        else s.high = middle;
    }
    return s.low;
}

static void count_hit(const tfidf_params *p, const gram *g, float *row) {
    if (p->mode == MODE_IDF) row[g->column] = g->weight;
    else row[g->column] += g->weight;
}

/* Counts the n-grams of at least `shortest` words that begin at words[at], `step` apart. */
static void count_from(const tfidf_params *p, const uint32_t *words, size_t count, size_t at,
                       size_t step, int64_t shortest, float *row) {
    stretch s = {0, p->gram_count};
    for (uint32_t depth = 0; depth < p->longest; depth++) {
        if (words[at] == NO_WORD) return;
        const size_t low = first_not_below(p, s, depth, words[at]);
        s.high = first_not_below(p, (stretch){low, s.high}, depth, (uint64_t)words[at] + 1);
        s.low = low;
        if (s.low == s.high) return;
        for (size_t g = s.low; g < s.high && p->grams[g].size == depth + 1; g++)
            if (depth + 1 >= shortest) count_hit(p, &p->grams[g], row);
        if (step >= count - at) return;
        at += step;
    }
}

static void count_row(const tfidf_params *p, const uint32_t *words, size_t count, float *row) {
    int64_t shortest = p->shortest;
    /* Steps of the row's length or more pair nothing that is not a single word. */
    for (size_t step = 1; step <= count && (int64_t)step <= p->skips + (p->skips < INT64_MAX);
         step++) {
        if (sdx_watch_work(8 * count)) return;
        for (size_t at = 0; at < count; at++)
            count_from(p, words, count, at, step, shortest, row);
        if (shortest == 1 && ++shortest > p->longest) return; /* single words count once */
    }
}

typedef struct tfidf_job {
    const tfidf_params *p;
    const sdx_tensor *in;
    uint32_t *words;
    float *out;
    size_t row; /* words */
} tfidf_job;

static void vectorize(void *arg, size_t begin, size_t end) {
    const tfidf_job *job = arg;
    const tfidf_params *p = job->p;
    const size_t columns = (size_t)p->columns;
    memset(job->out + begin * columns, 0, (end - begin) * columns * sizeof *job->out);
    for (size_t i = begin * job->row; i < end * job->row; i++) {
        const int64_t number = p->strings ? 0 : sdx_tensor_int(job->in, i);
        const void *word = p->strings ? (const void *)((const sdx_string *)job->in->data + i)
                                      : (const void *)&number;
        job->words[i] = find_word(p, word);
    }
    for (size_t r = begin; r < end; r++)
        count_row(p, job->words + r * job->row, job->row, job->out + r * columns);
}

static sdx_status tfidf_run(sdx_call *call) {
    const tfidf_params *p = call->params;
    const sdx_tensor *in = sdx_in(call, 0), *out = sdx_out(call, 0);
    const size_t rows = in->rank == 2 ? (size_t)in->dims[0] : 1;
    tfidf_job job = {.p = p, .in = in, .words = call->scratch, .out = out->data,
                     .row = rows ? in->count / rows : 0};
    sdx_call_parallel(call, rows, GRAIN, vectorize, &job);
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_tfidf_vectorizer = {
    .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,
    .in_types = {SDX_T(STRING) | SDX_T_INDEX},
    .params_size = sizeof(tfidf_params),
    .prepare = tfidf_prepare, .infer = tfidf_infer,
    .run = SDX_BODY(sdx_op_tfidf_vectorizer, tfidf_run),
};
