/* ml_encode.c - LabelEncoder, CategoryMapper, OneHotEncoder of domain ai.onnx.ml: each element is
 * looked up in a list that the attributes give. */
#include <stdatomic.h>

#include "ops/elementwise.h"
#include "ops/ml.h"

#define GRAIN 4096 /* elements */

/* Positions of elements [begin, begin + count) in the list; count <= SDX_ML_BLOCK. */
static void find_block(const sdx_ml_table *table, const sdx_tensor *x, size_t begin, size_t count,
                       size_t *out) {
    uint64_t words[SDX_ML_BLOCK];
    if (x->dtype == SDX_DTYPE_STRING) {
        const sdx_string *strings = (const sdx_string *)x->data + begin;
        for (size_t i = 0; i < count; i++) out[i] = sdx_ml_find_string(table, strings[i]);
        return;
    }
    sdx_ml_words(x->dtype, x->data, begin, count, words);
    for (size_t i = 0; i < count; i++) out[i] = sdx_ml_find_word(table, words[i]);
}

/* ---- encoders -------------------------------------------------------------------------------- */

/* values[position of the key], or the default, for each element. */
typedef struct encoding {
    sdx_dtype key_type, value_type;
    sdx_ml_table table;
    const void *values; /* in memory layout */
    union {
        int16_t int16;
        int32_t int32;
        int64_t int64;
        float float32;
        double float64;
        sdx_string string;
    } fallback;
} encoding;

typedef struct encode_job {
    const encoding *encoding;
    const sdx_tensor *x;
    char *out;
} encode_job;

#define PICK(type)                                                                                \
    do {                                                                                          \
        const type *from = e->values, *other = (const void *)&e->fallback;                        \
        type *to = (type *)(void *)job->out + at;                                                 \
        for (size_t i = 0; i < count; i++)                                                        \
            to[i] = found[i] == SDX_ML_ABSENT ? *other : from[found[i]];                          \
    } while (0)

static void encode_body(void *arg, size_t begin, size_t end) {
    const encode_job *job = arg;
    const encoding *e = job->encoding;
    size_t found[SDX_ML_BLOCK];
    for (size_t at = begin; at < end; at += SDX_ML_BLOCK) {
        const size_t count = end - at < SDX_ML_BLOCK ? end - at : SDX_ML_BLOCK;
        find_block(&e->table, job->x, at, count, found);
        switch (sdx_dtype_size(e->value_type)) {
        case sizeof(int16_t): PICK(int16_t); break;
        case sizeof(int32_t): PICK(int32_t); break;
        case sizeof(int64_t): PICK(int64_t); break;
        default: PICK(sdx_string); break;
        }
    }
}

static void encode(sdx_call *call, const encoding *e) {
    encode_job job = {.encoding = e, .x = sdx_in(call, 0), .out = sdx_out(call, 0)->data};
    if (job.x->count) sdx_call_parallel(call, job.x->count, GRAIN, encode_body, &job);
}

static sdx_status encode_infer(sdx_infer *inf, const encoding *e) {
    const sdx_dtype dtype = sdx_infer_dtype(inf, 0);
    if (dtype != SDX_DTYPE_UNDEFINED && dtype != e->key_type)
        return sdx_infer_fail(inf, "the input is %s, the keys are %s", sdx_dtype_name(dtype),
                              sdx_dtype_name(e->key_type));
    SDX_TRY(sdx_infer_copy(inf, 0, 0, false));
    sdx_infer_set_dtype(inf, 0, e->value_type);
    return SDX_STATUS_OK;
}

static sdx_status make_table(sdx_prep *prep, sdx_dtype dtype, const void *keys, size_t count,
                             bool first, sdx_ml_table *out) {
    if (dtype == SDX_DTYPE_STRING) return sdx_ml_table_of_strings(prep, keys, count, first, out);
    uint64_t *words = sdx_prep_array(prep, count, sizeof *words);
    if (!words) return SDX_STATUS_NO_MEMORY;
    sdx_ml_words(dtype, keys, 0, count, words);
    return sdx_ml_table_of_words(prep, words, count, first, out);
}

/* ---- LabelEncoder from version 2, any key to any value --------------------------------------- */

#define T_LABELS_2 (SDX_T(STRING) | SDX_T(INT64) | SDX_T(FLOAT32))
#define T_LABELS_4 (T_LABELS_2 | SDX_T(INT32) | SDX_T(INT16) | SDX_T(FLOAT64))

typedef struct list {
    sdx_dtype dtype;
    const void *data; /* in memory layout */
    size_t count;
} list;

static sdx_status read_tensor(sdx_prep *prep, const char *name, const sdx_const *tensor,
                              list *out) {
    if (!sdx_dtypes_has(T_LABELS_4, tensor->dtype))
        return sdx_prep_fail(prep, "attribute '%s' is a tensor of %s, which is not allowed there",
                             name, sdx_dtype_name(tensor->dtype));
    *out = (list){.dtype = tensor->dtype, .data = tensor->data, .count = tensor->count};
    if (tensor->dtype == SDX_DTYPE_STRING) return SDX_STATUS_OK;
    void *data = sdx_prep_array(prep, tensor->count, sdx_dtype_size(tensor->dtype));
    if (!data) return SDX_STATUS_NO_MEMORY;
    if (tensor->count) sdx_const_decode(tensor, data);
    out->data = data;
    return SDX_STATUS_OK;
}

/* One of X_int64s, X_floats, X_strings and, from version 4, X_tensor; X is "keys" or "values". */
static sdx_status read_list(sdx_prep *prep, const char *const names[4], list *out) {
    const int64_t *ints;
    const float *floats;
    const sdx_string *strings;
    const sdx_const *tensor = NULL;
    size_t counts[3];
    SDX_TRY(sdx_attr_get_ints(prep, names[0], &ints, &counts[0]));
    SDX_TRY(sdx_attr_get_floats(prep, names[1], &floats, &counts[1]));
    SDX_TRY(sdx_attr_get_strings(prep, names[2], &strings, &counts[2]));
    if (prep->version >= 4) SDX_TRY(sdx_attr_get_tensor(prep, names[3], &tensor));
    const int given = (counts[0] > 0) + (counts[1] > 0) + (counts[2] > 0) + (tensor != NULL);
    if (given > 1)
        return sdx_prep_fail(prep, "more than one of the attributes '%s', '%s', '%s', '%s' is "
                                   "given",
                             names[0], names[1], names[2], names[3]);
    if (tensor) return read_tensor(prep, names[3], tensor, out);
    if (counts[0]) *out = (list){SDX_DTYPE_INT64, ints, counts[0]};
    else if (counts[1]) *out = (list){SDX_DTYPE_FLOAT32, floats, counts[1]};
    else if (counts[2]) *out = (list){SDX_DTYPE_STRING, strings, counts[2]};
    else
        return sdx_prep_fail(prep, "none of the attributes '%s', '%s', '%s' is given", names[0],
                             names[1], names[2]);
    return SDX_STATUS_OK;
}

static sdx_status set_fallback(sdx_prep *prep, encoding *e, int64_t number, float real,
                               sdx_string string) {
    const sdx_dtype type = e->value_type;
    const bool fits = type == SDX_DTYPE_INT16   ? number == (int16_t)number
                      : type == SDX_DTYPE_INT32 ? number == (int32_t)number
                                                : true;
    if (!fits)
        return sdx_prep_fail(prep, "default_int64 is %lld, the values are %s", (long long)number,
                             sdx_dtype_name(type));
    switch (type) {
    case SDX_DTYPE_INT16: e->fallback.int16 = (int16_t)number; break;
    case SDX_DTYPE_INT32: e->fallback.int32 = (int32_t)number; break;
    case SDX_DTYPE_INT64: e->fallback.int64 = number; break;
    case SDX_DTYPE_FLOAT32: e->fallback.float32 = real; break;
    case SDX_DTYPE_FLOAT64: e->fallback.float64 = real; break;
    default: e->fallback.string = string; break;
    }
    return SDX_STATUS_OK;
}

/* Attributes default_int64, default_string: what a key that is not listed becomes. */
static sdx_status read_defaults(sdx_prep *prep, int64_t *number, sdx_string *string) {
    const char *text;
    SDX_TRY(sdx_attr_get_int(prep, "default_int64", -1, number));
    SDX_TRY(sdx_attr_get_string(prep, "default_string", "_Unused", &text));
    *string = (sdx_string){text, strlen(text)};
    return SDX_STATUS_OK;
}

static sdx_status read_fallback(sdx_prep *prep, encoding *e) {
    int64_t number;
    float real;
    sdx_string string;
    const sdx_const *tensor = NULL;
    SDX_TRY(read_defaults(prep, &number, &string));
    SDX_TRY(sdx_attr_get_float(prep, "default_float", -0.0f, &real));
    if (prep->version >= 4) SDX_TRY(sdx_attr_get_tensor(prep, "default_tensor", &tensor));
    if (!tensor) return set_fallback(prep, e, number, real, string);
    list given;
    SDX_TRY(read_tensor(prep, "default_tensor", tensor, &given));
    if (given.dtype != e->value_type || given.count != 1)
        return sdx_prep_fail(prep, "default_tensor holds %zu elements of %s, expected one of %s",
                             given.count, sdx_dtype_name(given.dtype),
                             sdx_dtype_name(e->value_type));
    memcpy(&e->fallback, given.data, sdx_dtype_size(given.dtype));
    return SDX_STATUS_OK;
}

static sdx_status label_prepare(sdx_prep *prep) {
    static const char *const key_names[] = {"keys_int64s", "keys_floats", "keys_strings",
                                            "keys_tensor"};
    static const char *const value_names[] = {"values_int64s", "values_floats", "values_strings",
                                              "values_tensor"};
    encoding *e = prep->params;
    list keys, values;
    SDX_TRY(read_list(prep, key_names, &keys));
    SDX_TRY(read_list(prep, value_names, &values));
    if (keys.count != values.count)
        return sdx_prep_fail(prep, "there are %zu keys for %zu values", keys.count, values.count);
    e->key_type = keys.dtype;
    e->value_type = values.dtype;
    e->values = values.data;
    /* Version 4 says that the last of equal keys counts; version 2 is run with the first. */
    SDX_TRY(make_table(prep, keys.dtype, keys.data, keys.count, prep->version < 4, &e->table));
    return read_fallback(prep, e);
}

static sdx_status label_infer(sdx_infer *inf) { return encode_infer(inf, inf->params); }

static sdx_status label_run(sdx_call *call) {
    encode(call, call->params);
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_ml_label_encoder_2 = {
    .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,
    .in_types = {T_LABELS_2},
    .params_size = sizeof(encoding),
    .prepare = label_prepare, .infer = label_infer,
    .run = SDX_BODY(sdx_op_ml_label_encoder_2, label_run),
};

const sdx_op_def sdx_op_ml_label_encoder = {
    .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,
    .in_types = {T_LABELS_4},
    .params_size = sizeof(encoding),
    .prepare = label_prepare, .infer = label_infer,
    .run = SDX_BODY(sdx_op_ml_label_encoder, label_run),
};

/* ---- CategoryMapper, LabelEncoder version 1: strings to numbers or back, as the input is ----- */

typedef struct both_ways {
    encoding to_number, to_string;
} both_ways;

static sdx_status prepare_both(sdx_prep *prep, const sdx_string *strings, const int64_t *numbers,
                               size_t count) {
    both_ways *p = prep->params;
    p->to_number = (encoding){.key_type = SDX_DTYPE_STRING, .value_type = SDX_DTYPE_INT64,
                              .values = numbers};
    p->to_string = (encoding){.key_type = SDX_DTYPE_INT64, .value_type = SDX_DTYPE_STRING,
                              .values = strings};
    SDX_TRY(read_defaults(prep, &p->to_number.fallback.int64, &p->to_string.fallback.string));
    SDX_TRY(make_table(prep, SDX_DTYPE_STRING, strings, count, false, &p->to_number.table));
    return make_table(prep, SDX_DTYPE_INT64, numbers, count, false, &p->to_string.table);
}

static sdx_status category_prepare(sdx_prep *prep) {
    const sdx_string *strings;
    const int64_t *numbers;
    size_t string_count, number_count;
    SDX_TRY(sdx_attr_get_strings(prep, "cats_strings", &strings, &string_count));
    SDX_TRY(sdx_attr_get_ints(prep, "cats_int64s", &numbers, &number_count));
    if (string_count != number_count)
        return sdx_prep_fail(prep, "cats_strings has %zu entries, cats_int64s has %zu",
                             string_count, number_count);
    return prepare_both(prep, strings, numbers, string_count);
}

static sdx_status label_1_prepare(sdx_prep *prep) {
    const sdx_string *strings;
    size_t count;
    SDX_TRY(sdx_attr_get_strings(prep, "classes_strings", &strings, &count));
    int64_t *numbers = sdx_prep_array(prep, count, sizeof *numbers);
    if (!numbers) return SDX_STATUS_NO_MEMORY;
    for (size_t i = 0; i < count; i++) numbers[i] = (int64_t)i;
    return prepare_both(prep, strings, numbers, count);
}

static sdx_status both_infer(sdx_infer *inf) {
    const both_ways *p = inf->params;
    if (sdx_infer_dtype(inf, 0) == SDX_DTYPE_UNDEFINED) return SDX_STATUS_OK;
    const bool strings = sdx_infer_dtype(inf, 0) == SDX_DTYPE_STRING;
    return encode_infer(inf, strings ? &p->to_number : &p->to_string);
}

static sdx_status both_run(sdx_call *call) {
    const both_ways *p = call->params;
    encode(call, sdx_in(call, 0)->dtype == SDX_DTYPE_STRING ? &p->to_number : &p->to_string);
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_ml_category_mapper = {
    .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,
    .in_types = {SDX_T(STRING) | SDX_T(INT64)},
    .params_size = sizeof(both_ways),
    .prepare = category_prepare, .infer = both_infer,
    .run = SDX_BODY(sdx_op_ml_category_mapper, both_run),
};

const sdx_op_def sdx_op_ml_label_encoder_1 = {
    .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,
    .in_types = {SDX_T(STRING) | SDX_T(INT64)},
    .params_size = sizeof(both_ways),
    .prepare = label_1_prepare, .infer = both_infer,
    .run = SDX_BODY(sdx_op_ml_label_encoder_1, both_run),
};

/* ---- OneHotEncoder --------------------------------------------------------------------------- */

typedef struct one_hot_params {
    sdx_dtype key_type; /* STRING or INT64 */
    sdx_ml_table table;
    size_t count;
    bool zeros;
} one_hot_params;

static sdx_status one_hot_prepare(sdx_prep *prep) {
    one_hot_params *p = prep->params;
    sdx_ml_labels categories;
    SDX_TRY(sdx_ml_read_labels(prep, "cats_int64s", "cats_strings", &categories));
    SDX_TRY(sdx_attr_get_bool(prep, "zeros", true, &p->zeros));
    if (!categories.count)
        return sdx_prep_fail(prep, "neither cats_int64s nor cats_strings lists a category");
    p->key_type = sdx_ml_label_type(&categories);
    p->count = categories.count;
    const void *keys = categories.strings ? (const void *)categories.strings
                                          : (const void *)categories.numbers;
    return make_table(prep, p->key_type, keys, categories.count, false, &p->table);
}

static sdx_status one_hot_infer(sdx_infer *inf) {
    const one_hot_params *p = inf->params;
    const sdx_dtype dtype = sdx_infer_dtype(inf, 0);
    const int32_t rank = sdx_infer_rank(inf, 0);
    sdx_expr dims[SDX_MAX_RANK + 1];
    if (dtype && (dtype == SDX_DTYPE_STRING) != (p->key_type == SDX_DTYPE_STRING))
        return sdx_infer_fail(inf, "the input is %s, the categories are %s", sdx_dtype_name(dtype),
                              sdx_dtype_name(p->key_type));
    sdx_infer_set_dtype(inf, 0, SDX_DTYPE_FLOAT32);
    if (rank < 0) return SDX_STATUS_OK;
    for (int32_t i = 0; i < rank; i++) dims[i] = sdx_infer_dim(inf, 0, i);
    dims[rank] = sdx_expr_const((int64_t)p->count);
    return sdx_infer_set_shape(inf, 0, rank + 1, dims);
}

typedef struct one_hot_job {
    const one_hot_params *p;
    const sdx_tensor *x;
    float *out;
    atomic_size_t missing; /* the first element that is no category */
} one_hot_job;

static void one_hot_body(void *arg, size_t begin, size_t end) {
    one_hot_job *job = arg;
    const size_t width = job->p->count, size = sdx_dtype_size(job->x->dtype);
    int64_t whole[SDX_ML_BLOCK];
    size_t found[SDX_ML_BLOCK];
    memset(job->out + begin * width, 0, (end - begin) * width * sizeof *job->out);
    for (size_t at = begin; at < end; at += SDX_ML_BLOCK) {
        const size_t count = end - at < SDX_ML_BLOCK ? end - at : SDX_ML_BLOCK;
        sdx_tensor block = *job->x;
        block.data = (char *)job->x->data + at * size;
        if (sdx_dtypes_has(SDX_T_FLOATS, block.dtype)) { /* categories are whole numbers */
            sdx_convert(block.dtype, SDX_DTYPE_INT64, block.data, whole, count);
            block.dtype = SDX_DTYPE_INT64;
            block.data = whole;
        }
        find_block(&job->p->table, &block, 0, count, found);
        for (size_t i = 0; i < count; i++) {
            if (found[i] != SDX_ML_ABSENT) {
                job->out[(at + i) * width + found[i]] = 1;
                continue;
            }
            size_t known = atomic_load(&job->missing);
            while (at + i < known &&
                   !atomic_compare_exchange_weak(&job->missing, &known, at + i)) {}
        }
    }
}

static sdx_status one_hot_run(sdx_call *call) {
    const one_hot_params *p = call->params;
    one_hot_job job = {.p = p, .x = sdx_in(call, 0), .out = sdx_out(call, 0)->data};
    atomic_init(&job.missing, SIZE_MAX);
    if (job.x->count)
        sdx_call_parallel(call, job.x->count, sdx_ml_grain(p->count + 16), one_hot_body, &job);
    const size_t missing = atomic_load(&job.missing);
    if (p->zeros || missing == SIZE_MAX) return SDX_STATUS_OK;
    return sdx_call_fail(call, "element %zu of the input is none of the %zu categories", missing,
                         p->count);
}

const sdx_op_def sdx_op_ml_one_hot_encoder = {
    .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,
    .in_types = {SDX_T_ML | SDX_T(STRING)},
    .params_size = sizeof(one_hot_params),
    .prepare = one_hot_prepare, .infer = one_hot_infer,
    .run = SDX_BODY(sdx_op_ml_one_hot_encoder, one_hot_run),
};
