/* string_split.c - StringSplit: the parts of each string between delimiters, or between stretches
 * of white space. Parts point into the input's text; nothing is copied. */
#include "ops/string_text.h"

typedef struct split_params {
    sdx_string delimiter; /* size 0: white space */
    int64_t most;         /* splits at most; -1: any number */
} split_params;

static sdx_status split_prepare(sdx_prep *prep) {
    split_params *p = prep->params;
    const char *delimiter;
    SDX_TRY(sdx_attr_get_string(prep, "delimiter", "", &delimiter));
    SDX_TRY(sdx_attr_get_int(prep, "maxsplit", -1, &p->most));
    if (p->most < 0) p->most = -1;
    p->delimiter = (sdx_string){delimiter, strlen(delimiter)};
    return SDX_STATUS_OK;
}

static sdx_status split_infer(sdx_infer *inf) {
    const int32_t rank = sdx_infer_rank(inf, 0);
    sdx_expr dims[SDX_MAX_RANK + 1];
    sdx_infer_set_dtype(inf, 0, SDX_DTYPE_STRING);
    sdx_infer_set_dtype(inf, 1, SDX_DTYPE_INT64);
    if (rank < 0) return SDX_STATUS_OK;
    for (int32_t d = 0; d < rank; d++) dims[d] = sdx_infer_dim(inf, 0, d);
    SDX_TRY(sdx_infer_set_shape(inf, 1, rank, dims));
    dims[rank] = SDX_EXPR_UNKNOWN; /* the most parts that any string has */
    return sdx_infer_set_shape(inf, 0, rank + 1, dims);
}

static const char *skip_space(const char *text, const char *end) {
    size_t length;
    while ((length = sdx_text_space(text, (size_t)(end - text))) > 0) text += length;
    return text;
}

static const char *find_space(const char *text, const char *end) {
    while (text < end && sdx_text_space(text, (size_t)(end - text)) == 0) {
        uint32_t code;
        text += sdx_text_next(text, (size_t)(end - text), &code);
    }
    return text;
}

/* Where the last word from here on ends; text begins with a word. */
static const char *end_of_words(const char *text, const char *end) {
    const char *stop = text;
    while (text < end) {
        stop = find_space(text, end);
        text = skip_space(stop, end);
    }
    return stop;
}

/* Number of parts; writes them unless out is NULL. */
static size_t split_at_space(const sdx_string *in, int64_t most, sdx_string *out) {
    size_t parts = 0;
    if (in->size == 0) return 0; /* data may be NULL */
    const char *text = in->data, *end = text + in->size;
    for (text = skip_space(text, end); text < end; text = skip_space(text, end)) {
        /* The last part allowed takes all words that are left, but no white space after them:
         * "leading or trailing whitespace is removed in the output". */
        const bool last = most >= 0 && parts == (uint64_t)most;
        const char *stop = last ? end_of_words(text, end) : find_space(text, end);
        if (out) out[parts] = (sdx_string){text, (size_t)(stop - text)};
        parts++;
        text = stop;
    }
    return parts;
}

static size_t split_at_delimiter(const sdx_string *in, const split_params *p, sdx_string *out) {
    const char *text = in->data;
    size_t left = in->size, parts = 0;
    for (;;) {
        const bool last = left == 0 || (p->most >= 0 && parts == (uint64_t)p->most);
        const char *found = last ? NULL : memmem(text, left, p->delimiter.data, p->delimiter.size);
        const size_t length = found ? (size_t)(found - text) : left;
        if (out) out[parts] = (sdx_string){text, length};
        parts++;
        if (!found) return parts;
        text = found + p->delimiter.size;
        left -= length + p->delimiter.size;
    }
}

static size_t split(const split_params *p, const sdx_string *in, sdx_string *out) {
    return p->delimiter.size ? split_at_delimiter(in, p, out) : split_at_space(in, p->most, out);
}

static sdx_status split_run(sdx_call *call) {
    const split_params *p = call->params;
    const sdx_tensor *in = sdx_in(call, 0);
    sdx_tensor *parts, *counts = sdx_out(call, 1);
    const sdx_string *strings = in->data;
    int64_t dims[SDX_MAX_RANK];
    size_t most = 0;
    for (size_t i = 0; i < in->count; i++) {
        const size_t count = split(p, &strings[i], NULL);
        if (count > most) most = count;
        if (counts) ((int64_t *)counts->data)[i] = (int64_t)count;
    }
    for (int32_t d = 0; d < in->rank; d++) dims[d] = in->dims[d];
    dims[in->rank] = (int64_t)most; /* the rank was checked by the rule */
    SDX_TRY(sdx_call_alloc(call, 0, SDX_DTYPE_STRING, in->rank + 1, dims, &parts));
    if (!parts || parts->count == 0) return SDX_STATUS_OK;
    memset(parts->data, 0, parts->count * sizeof(sdx_string));
    for (size_t i = 0; i < in->count; i++)
        split(p, &strings[i], (sdx_string *)parts->data + i * most);
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_string_split = {
    .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 2,
    .in_types = {SDX_T(STRING)},
    .flags = SDX_OP_DATA_SHAPE,
    .params_size = sizeof(split_params),
    .prepare = split_prepare, .infer = split_infer, .run = SDX_BODY(sdx_op_string_split, split_run),
};
