/* string_normalizer.c - StringNormalizer: drops stop words from a list of strings and changes the
 * case of the others. */
#include <stdlib.h>

#include "ops/string_text.h"

typedef struct normalizer_params {
    sdx_case change;
    bool case_sensitive;
    sdx_string *stopwords; /* sorted; lowercased unless case_sensitive */
    size_t count;
} normalizer_params;

/* The form that words are compared in. */
static sdx_case folding(const normalizer_params *p) {
    return p->case_sensitive ? SDX_CASE_NONE : SDX_CASE_LOWER;
}

static sdx_status normalizer_prepare(sdx_prep *prep) {
    static const char *const changes[] = {"NONE", "LOWER", "UPPER", NULL}; /* as sdx_case */
    normalizer_params *p = prep->params;
    const sdx_string *words;
    int change;
    SDX_TRY(sdx_attr_get_choice(prep, "case_change_action", SDX_CASE_NONE, changes, &change));
    SDX_TRY(sdx_attr_get_bool(prep, "is_case_sensitive", false, &p->case_sensitive));
    SDX_TRY(sdx_attr_get_strings(prep, "stopwords", &words, &p->count));
    sdx_attr_ignore(prep, "locale"); /* the mapping is that of Unicode for all */
    p->change = (sdx_case)change;
    p->stopwords = sdx_prep_array(prep, p->count, sizeof *p->stopwords);
    if (!p->stopwords) return SDX_STATUS_NO_MEMORY;
    for (size_t i = 0; i < p->count; i++) {
        const size_t size = sdx_text_case(words[i].data, words[i].size, folding(p), NULL);
        char *text = sdx_prep_array(prep, size, 1);
        if (!text) return SDX_STATUS_NO_MEMORY;
        sdx_text_case(words[i].data, words[i].size, folding(p), text);
        p->stopwords[i] = (sdx_string){text, size};
    }
    qsort(p->stopwords, p->count, sizeof *p->stopwords, sdx_text_compare);
    return SDX_STATUS_OK;
}

static sdx_status normalizer_infer(sdx_infer *inf) {
    const normalizer_params *p = inf->params;
    const int32_t rank = sdx_infer_rank(inf, 0);
    sdx_infer_set_dtype(inf, 0, SDX_DTYPE_STRING);
    if (rank < 0) return SDX_STATUS_OK;
    if (rank != 1 && rank != 2)
        return sdx_infer_fail(inf, "input 0 has rank %d, expected [C] or [1, C]", rank);
    if (rank == 2)
        SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, 0, 0), sdx_expr_const(1),
                                        "first dimension of [1, C]"));
    /* Where no word is left there is one empty string. */
    const sdx_expr words = p->count ? SDX_EXPR_UNKNOWN
                                    : sdx_expr_max(inf->pool, sdx_infer_dim(inf, 0, rank - 1),
                                                   sdx_expr_const(1));
    const sdx_expr dims[2] = {rank == 2 ? sdx_expr_const(1) : words, words};
    return sdx_infer_set_shape(inf, 0, rank, dims);
}

/* Whether the word is a stop word; buffer has room for it in folded form. */
static bool is_stopword(const normalizer_params *p, const sdx_string *word, char *buffer) {
    sdx_string folded = *word;
    if (!p->case_sensitive) {
        folded.size = sdx_text_case(word->data, word->size, folding(p), buffer);
        folded.data = buffer;
    }
    return bsearch(&folded, p->stopwords, p->count, sizeof folded, sdx_text_compare) !=
           NULL;
}

/* Marks the words to keep; returns how many there are. */
static sdx_status choose(sdx_call *call, const sdx_tensor *in, uint8_t *keep, size_t *kept) {
    const normalizer_params *p = call->params;
    const sdx_string *words = in->data;
    size_t longest = 0;
    for (size_t i = 0; p->count && !p->case_sensitive && i < in->count; i++) {
        if (sdx_watch_work(words[i].size + 8)) break;
        const size_t size = sdx_text_case(words[i].data, words[i].size, folding(p), NULL);
        if (size > longest) longest = size;
    }
    char *buffer = sdx_call_temp(call, longest + 1, 1);
    if (!buffer) return SDX_STATUS_NO_MEMORY;
    *kept = 0;
    for (size_t i = 0; i < in->count && !sdx_watch_work(words[i].size + 64); i++) {
        keep[i] = p->count == 0 || !is_stopword(p, &words[i], buffer);
        *kept += keep[i];
    }
    sdx_call_temp_free(call, buffer);
    return sdx_watch_work(0) ? sdx_call_fail(call, "it was stopped") : SDX_STATUS_OK;
}

/* The word with its case changed. */
static sdx_status change(sdx_call *call, const sdx_string *word, sdx_string *out) {
    const normalizer_params *p = call->params;
    *out = *word;
    if (p->change == SDX_CASE_NONE || word->size == 0) return SDX_STATUS_OK;
    out->size = sdx_text_case(word->data, word->size, p->change, NULL);
    char *text = sdx_call_text(call, out->size);
    if (!text) return SDX_STATUS_NO_MEMORY;
    sdx_text_case(word->data, word->size, p->change, text);
    out->data = text;
    return SDX_STATUS_OK;
}

static sdx_status write_words(sdx_call *call, const sdx_tensor *in, const uint8_t *keep,
                              size_t kept) {
    sdx_tensor *out = sdx_out(call, 0);
    if (!out) {
        const int64_t words = kept ? (int64_t)kept : 1;
        const int64_t dims[2] = {in->rank == 2 ? 1 : words, words};
        SDX_TRY(sdx_call_alloc(call, 0, SDX_DTYPE_STRING, in->rank, dims, &out));
        if (!out) return SDX_STATUS_OK;
    }
    sdx_string *to = out->data;
    if (kept == 0) *to = (sdx_string){NULL, 0};
    for (size_t i = 0; i < in->count && !sdx_watch_work(64); i++)
        if (keep[i]) SDX_TRY(change(call, (const sdx_string *)in->data + i, to++));
    return SDX_STATUS_OK;
}

static sdx_status normalizer_run(sdx_call *call) {
    const sdx_tensor *in = sdx_in(call, 0);
    size_t kept;
    uint8_t *keep = sdx_call_temp(call, in->count, 1);
    if (!keep) return SDX_STATUS_NO_MEMORY;
    sdx_status status = choose(call, in, keep, &kept);
    if (status == SDX_STATUS_OK) status = write_words(call, in, keep, kept);
    sdx_call_temp_free(call, keep);
    return status;
}

const sdx_op_def sdx_op_string_normalizer = {
    .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,
    .in_types = {SDX_T(STRING)},
    .flags = SDX_OP_DATA_SHAPE,
    .params_size = sizeof(normalizer_params),
    .prepare = normalizer_prepare, .infer = normalizer_infer,
    .run = SDX_BODY(sdx_op_string_normalizer, normalizer_run),
};
