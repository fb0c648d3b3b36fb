/* ml_map.c - the operators of domain ai.onnx.ml that take or make maps: CastMap, DictVectorizer,
 * ZipMap. A map is a rank-1 tensor of keys (int64 or string) and a rank-1 tensor of as many values;
 * one that was read from a file and has no entries may have an empty sequence for the latter. */
#include <stdio.h>
#include <stdlib.h>

#include "ops/cast.h"
#include "ops/control.h"
#include "ops/ml.h"
#include "ops/string_text.h"

/* ---- maps ------------------------------------------------------------------------------------ */

typedef struct map_view {
    const sdx_tensor *keys;
    const sdx_tensor *values; /* NULL: the map is empty, and nothing says of what type */
    size_t count;
} map_view;

static sdx_status view_map(sdx_call *call, uint32_t i, map_view *out) {
    const sdx_value *map = i < call->in_count ? call->in[i] : NULL;
    if (!map || map->kind != SDX_KIND_MAP || map->item_count != 2 ||
        map->items[0]->kind != SDX_KIND_TENSOR || map->items[0]->tensor.rank != 1)
        return sdx_call_fail(call, "input %u is not a map", i);
    const sdx_value *values = map->items[1];
    *out = (map_view){.keys = &map->items[0]->tensor, .count = map->items[0]->tensor.count};
    if (values->kind == SDX_KIND_TENSOR) out->values = &values->tensor;
    const size_t found = out->values ? out->values->count : values->item_count;
    if (found != out->count || (out->count && !out->values) ||
        (out->values && out->values->rank != 1))
        return sdx_call_fail(call, "the values of the map are not %zu numbers or strings",
                             out->count);
    return SDX_STATUS_OK;
}

/* While loading: key and value type of input i, UNDEFINED where not known. */
static sdx_status map_types(sdx_infer *inf, uint32_t i, sdx_dtype *key, sdx_dtype *value) {
    *key = *value = SDX_DTYPE_UNDEFINED;
    if (!sdx_infer_present(inf, i)) return sdx_infer_fail(inf, "input %u is missing", i);
    const sdx_type *type = &inf->in[i].type;
    if (type->kind == SDX_KIND_NONE) return SDX_STATUS_OK;
    if (type->kind != SDX_KIND_MAP) return sdx_infer_fail(inf, "input %u is not a map", i);
    *key = type->dtype;
    if (!type->inner) return SDX_STATUS_OK;
    if (type->inner->kind != SDX_KIND_TENSOR)
        return sdx_infer_fail(inf, "the values of the map are not tensors");
    *value = type->inner->dtype;
    return SDX_STATUS_OK;
}

static sdx_status check_type(sdx_infer *inf, const char *what, sdx_dtype found,
                             sdx_dtypes allowed) {
    char text[256];
    if (!found || sdx_dtypes_has(allowed, found)) return SDX_STATUS_OK;
    return sdx_infer_fail(inf, "the %s of the map are %s, expected %s", what,
                          sdx_dtype_name(found), sdx_dtypes_text(allowed, text, sizeof text));
}

/* ---- CastMap --------------------------------------------------------------------------------- */

enum { TO_FLOAT, TO_STRING, TO_INT64 };
enum { FORM_DENSE, FORM_SPARSE };

typedef struct cast_params {
    sdx_dtype type;
    bool sparse;
    int64_t width; /* of a sparse result */
} cast_params;

static sdx_status cast_prepare(sdx_prep *prep) {
    static const char *const targets[] = {"TO_FLOAT", "TO_STRING", "TO_INT64", NULL};
    static const char *const forms[] = {"DENSE", "SPARSE", NULL};
    static const sdx_dtype types[] = {SDX_DTYPE_FLOAT32, SDX_DTYPE_STRING, SDX_DTYPE_INT64};
    cast_params *p = prep->params;
    int to, form;
    SDX_TRY(sdx_attr_get_choice(prep, "cast_to", TO_FLOAT, targets, &to));
    SDX_TRY(sdx_attr_get_choice(prep, "map_form", FORM_DENSE, forms, &form));
    SDX_TRY(sdx_attr_get_int(prep, "max_map", 1, &p->width));
    p->type = types[to];
    p->sparse = form == FORM_SPARSE;
    if (p->sparse && (p->width < 1 || p->width >= SDX_EXPR_MAX))
        return sdx_prep_fail(prep, "max_map is %lld, expected at least 1", (long long)p->width);
    return SDX_STATUS_OK;
}

static sdx_status cast_infer(sdx_infer *inf) {
    const cast_params *p = inf->params;
    sdx_dtype key, value;
    SDX_TRY(map_types(inf, 0, &key, &value));
    SDX_TRY(check_type(inf, "keys", key, SDX_T(INT64)));
    SDX_TRY(check_type(inf, "values", value, SDX_T(FLOAT32) | SDX_T(STRING)));
    sdx_infer_set_dtype(inf, 0, p->type);
    const sdx_expr dims[2] = {sdx_expr_const(1),
                              p->sparse ? sdx_expr_const(p->width) : SDX_EXPR_UNKNOWN};
    return sdx_infer_set_shape(inf, 0, 2, dims);
}

typedef struct entry {
    int64_t key;
    size_t at;
} entry;

static int compare_entries(const void *a, const void *b) {
    const entry *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* The entries in the order of their keys, the last of equal ones alone. Returns how many. */
static size_t sort_entries(const map_view *map, entry *entries) {
    size_t count = 0;
    for (size_t i = 0; i < map->count; i++)
        entries[i] = (entry){((const int64_t *)map->keys->data)[i], i};
    qsort(entries, map->count, sizeof *entries, compare_entries);
    for (size_t i = 0; i < map->count; i++)
        if (i + 1 == map->count || entries[i + 1].key != entries[i].key)
            entries[count++] = entries[i];
    return count;
}

/* Text with six decimals, whatever the decimal point of the process's locale is. */
static sdx_status put_decimals(sdx_call *call, float value, sdx_string *out) {
    char digits[80];
    const size_t decimals = 6;
    const int length = snprintf(digits, sizeof digits, "%f", (double)value);
    size_t whole = strspn(digits, "-0123456789");
    if (length < 0 || (size_t)length >= sizeof digits)
        return sdx_call_fail(call, "a value of the map has no decimal form");
    const bool fraction = whole > 0 && whole < (size_t)length && digits[whole - 1] != '-';
    if (!fraction) whole = (size_t)length; /* nan, inf */
    const size_t size = whole + (fraction ? 1 + decimals : 0);
    char *text = sdx_call_text(call, size);
    if (!text) return SDX_STATUS_NO_MEMORY;
    memcpy(text, digits, whole);
    if (fraction) {
        text[whole] = '.';
        memcpy(text + whole + 1, digits + (size_t)length - decimals, decimals);
    }
    *out = (sdx_string){text, size};
    return SDX_STATUS_OK;
}

/* from and to have the same count. */
static sdx_status cast_values(sdx_call *call, const sdx_tensor *from, sdx_tensor *to) {
    const sdx_cast_rules rules = {.saturate = true};
    if (from->dtype == to->dtype) {
        sdx_copy_elements(from, to);
    } else if (from->dtype == SDX_DTYPE_STRING) {
        return sdx_cast_from_text(call, &rules, from, to);
    } else if (to->dtype == SDX_DTYPE_STRING) {
        for (size_t i = 0; i < from->count; i++)
            SDX_TRY(put_decimals(call, ((const float *)from->data)[i],
                                 (sdx_string *)to->data + i));
    } else {
        sdx_convert(from->dtype, to->dtype, from->data, to->data, from->count);
    }
    return SDX_STATUS_OK;
}

static void fill_absent(sdx_tensor *y) {
    for (size_t i = 0; y->dtype == SDX_DTYPE_STRING && i < y->count; i++)
        ((sdx_string *)y->data)[i] = (sdx_string){"0.f", 3}; /* the odd choice of ONNX Runtime */
    if (y->dtype != SDX_DTYPE_STRING) memset(y->data, 0, y->count * sdx_dtype_size(y->dtype));
}

/* entries: sorted; from, to: room for as many values before and after the cast. */
static sdx_status cast_entries(sdx_call *call, const map_view *map, const entry *entries,
                               size_t count, void *from, void *to) {
    const cast_params *p = call->params;
    const size_t old_size = sdx_dtype_size(map->values->dtype), size = sdx_dtype_size(p->type);
    const int64_t dims[2] = {1, p->sparse ? p->width : (int64_t)count}, length = (int64_t)count;
    sdx_tensor old, cast, *y;
    if (p->sparse && count && entries[0].key < 0)
        return sdx_call_fail(call, "the map has the key %lld; a sparse result has no place for it",
                             (long long)entries[0].key);
    for (size_t i = 0; i < count; i++)
        memcpy((char *)from + i * old_size,
               (const char *)map->values->data + entries[i].at * old_size, old_size);
    SDX_TRY(sdx_tensor_init(&old, map->values->dtype, 1, &length, from, call->error));
    SDX_TRY(sdx_tensor_init(&cast, p->type, 1, &length, to, call->error));
    SDX_TRY(cast_values(call, &old, &cast));
    SDX_TRY(sdx_call_alloc(call, 0, p->type, 2, dims, &y));
    if (!y) return SDX_STATUS_OK;
    if (!p->sparse) {
        sdx_copy_elements(&cast, y);
        return SDX_STATUS_OK;
    }
    fill_absent(y);
    for (size_t i = 0; i < count && entries[i].key < p->width; i++)
        memcpy((char *)y->data + (size_t)entries[i].key * size, (char *)to + i * size, size);
    return SDX_STATUS_OK;
}

static sdx_status cast_run(sdx_call *call) {
    const cast_params *p = call->params;
    const int64_t none = 0;
    sdx_tensor empty;
    map_view map;
    SDX_TRY(view_map(call, 0, &map));
    SDX_TRY(sdx_tensor_init(&empty, SDX_DTYPE_FLOAT32, 1, &none, NULL, call->error));
    if (!map.values) map.values = &empty;
    if (map.count && map.keys->dtype != SDX_DTYPE_INT64)
        return sdx_call_fail(call, "the keys of the map are %s, expected int64",
                             sdx_dtype_name(map.keys->dtype));
    if (map.values->dtype != SDX_DTYPE_FLOAT32 && map.values->dtype != SDX_DTYPE_STRING)
        return sdx_call_fail(call, "the values of the map are %s, expected float32 or string",
                             sdx_dtype_name(map.values->dtype));
    entry *entries = sdx_call_temp(call, map.count, sizeof *entries);
    void *from = sdx_call_temp(call, map.count, sdx_dtype_size(map.values->dtype));
    void *to = sdx_call_temp(call, map.count, sdx_dtype_size(p->type));
    sdx_status status = SDX_STATUS_NO_MEMORY;
    if (entries && from && to)
        status = cast_entries(call, &map, entries, sort_entries(&map, entries), from, to);
    sdx_call_temp_free(call, to);
    sdx_call_temp_free(call, from);
    sdx_call_temp_free(call, entries);
    return status;
}

const sdx_op_def sdx_op_ml_cast_map = {
    .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,
    .flags = SDX_OP_HEAP,
    .params_size = sizeof(cast_params),
    .prepare = cast_prepare, .infer = cast_infer, .run = SDX_BODY(sdx_op_ml_cast_map, cast_run),
};

/* ---- DictVectorizer -------------------------------------------------------------------------- */

#define T_DICT_VALUES (SDX_T(INT64) | SDX_T(FLOAT32) | SDX_T(FLOAT64) | SDX_T(STRING))

typedef struct dict_params {
    sdx_ml_labels words;
    sdx_ml_table table;
    uint32_t *first; /* of each word: its first place, as a word may be listed again */
    sdx_dtype value_type; /* of an empty map, which may not say so itself */
} dict_params;

static sdx_dtype declared_values(const sdx_prep *prep) {
    const sdx_id id = prep->node->input_count ? prep->node->inputs[0] : SDX_NONE;
    if (id == SDX_NONE) return SDX_DTYPE_FLOAT32;
    const sdx_type *type = &sdx_value_at(prep->module, id)->type;
    const bool known = type->kind == SDX_KIND_MAP && type->inner && type->inner->dtype;
    return known ? type->inner->dtype : SDX_DTYPE_FLOAT32;
}

static sdx_status dict_prepare(sdx_prep *prep) {
    dict_params *p = prep->params;
    SDX_TRY(sdx_ml_read_labels(prep, "int64_vocabulary", "string_vocabulary", &p->words));
    const size_t count = p->words.count;
    p->value_type = declared_values(prep);
    if (!count)
        return sdx_prep_fail(prep, "neither int64_vocabulary nor string_vocabulary is given");
    if (p->words.strings)
        SDX_TRY(sdx_ml_table_of_strings(prep, p->words.strings, count, true, &p->table));
    else /* int64_t and uint64_t may stand for each other */
        SDX_TRY(sdx_ml_table_of_words(prep, (const uint64_t *)p->words.numbers, count, true,
                                      &p->table));
    p->first = sdx_prep_array(prep, count, sizeof *p->first);
    if (!p->first) return SDX_STATUS_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        p->first[i] = (uint32_t)(p->words.strings
                                     ? sdx_ml_find_string(&p->table, p->words.strings[i])
                                     : sdx_ml_find_word(&p->table, (uint64_t)p->words.numbers[i]));
    return SDX_STATUS_OK;
}

static sdx_status dict_infer(sdx_infer *inf) {
    const dict_params *p = inf->params;
    const sdx_dtype own = sdx_ml_label_type(&p->words);
    sdx_dtype key, value;
    SDX_TRY(map_types(inf, 0, &key, &value));
    SDX_TRY(check_type(inf, "keys", key, (sdx_dtypes)1 << own));
    SDX_TRY(check_type(inf, "values", value, T_DICT_VALUES));
    if (value) sdx_infer_set_dtype(inf, 0, value);
    const sdx_expr dims[2] = {sdx_expr_const(1), sdx_expr_const((int64_t)p->words.count)};
    return value ? sdx_infer_set_shape(inf, 0, 2, dims) : SDX_STATUS_OK;
}

static sdx_status dict_run(sdx_call *call) {
    const dict_params *p = call->params;
    const int64_t dims[2] = {1, (int64_t)p->words.count};
    map_view map;
    sdx_tensor *y;
    SDX_TRY(view_map(call, 0, &map));
    const sdx_dtype dtype = map.values ? map.values->dtype : p->value_type;
    if (map.count && map.keys->dtype != sdx_ml_label_type(&p->words))
        return sdx_call_fail(call, "the keys of the map are %s, the vocabulary is %s",
                             sdx_dtype_name(map.keys->dtype),
                             sdx_dtype_name(sdx_ml_label_type(&p->words)));
    if (!sdx_dtypes_has(T_DICT_VALUES, dtype))
        return sdx_call_fail(call, "the values of the map are %s", sdx_dtype_name(dtype));
    SDX_TRY(sdx_call_alloc(call, 0, dtype, 2, dims, &y));
    if (!y) return SDX_STATUS_OK;
    const size_t size = sdx_dtype_size(dtype);
    memset(y->data, 0, y->count * size); /* 0, or an empty string */
    for (size_t i = 0; i < map.count; i++) {
        const size_t at =
            p->words.strings
                ? sdx_ml_find_string(&p->table, ((const sdx_string *)map.keys->data)[i])
                : sdx_ml_find_word(&p->table, ((const uint64_t *)map.keys->data)[i]);
        if (at != SDX_ML_ABSENT)
            memcpy((char *)y->data + at * size, (const char *)map.values->data + i * size, size);
    }
    for (size_t i = 0; i < y->count; i++)
        if (p->first[i] != i)
            memcpy((char *)y->data + i * size, (char *)y->data + p->first[i] * size, size);
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_ml_dict_vectorizer = {
    .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,
    .flags = SDX_OP_HEAP,
    .params_size = sizeof(dict_params),
    .prepare = dict_prepare, .infer = dict_infer,
    .run = SDX_BODY(sdx_op_ml_dict_vectorizer, dict_run),
};

/* ---- ZipMap ---------------------------------------------------------------------------------- */

/* Keys in ascending order, each once, with the column that its values come from. */
typedef struct zip_params {
    sdx_dtype key_type;
    void *keys;       /* int64_t or sdx_string */
    uint32_t *columns;
    size_t key_count, column_count;
} zip_params;

static int compare_keys(const zip_params *p, const sdx_ml_labels *labels, uint32_t a, uint32_t b) {
    if (p->key_type == SDX_DTYPE_STRING)
        return sdx_text_compare(&labels->strings[a], &labels->strings[b]);
    const int64_t x = labels->numbers[a], y = labels->numbers[b];
    return (x > y) - (x < y);
}

/* Merge sort of columns[0, count) by their labels, stable; room has as many entries. */
static void sort_columns(const zip_params *p, const sdx_ml_labels *labels, uint32_t *columns,
                         uint32_t *room, size_t count) {
    if (count < 2) return;
    const size_t half = count / 2;
    sort_columns(p, labels, columns, room, half);
    sort_columns(p, labels, columns + half, room, count - half);
    memcpy(room, columns, half * sizeof *room);
    for (size_t i = 0, j = half, k = 0; i < half; k++) {
        const bool second = j < count && compare_keys(p, labels, columns[j], room[i]) < 0;
        columns[k] = second ? columns[j++] : room[i++];
    }
}

static sdx_status zip_prepare(sdx_prep *prep) {
    zip_params *p = prep->params;
    sdx_ml_labels labels;
    SDX_TRY(sdx_ml_read_labels(prep, "classlabels_int64s", "classlabels_strings", &labels));
    if (!labels.count)
        return sdx_prep_fail(prep, "neither classlabels_int64s nor classlabels_strings is given");
    if (labels.count >= UINT32_MAX)
        return sdx_prep_unsupported(prep, "%zu labels are too many", labels.count);
    p->key_type = sdx_ml_label_type(&labels);
    const size_t size = sdx_dtype_size(p->key_type);
    p->column_count = labels.count;
    p->columns = sdx_prep_array(prep, labels.count, sizeof *p->columns);
    uint32_t *room = sdx_prep_array(prep, labels.count, sizeof *room);
    p->keys = sdx_prep_array(prep, labels.count, size);
    if (!p->columns || !room || !p->keys) return SDX_STATUS_NO_MEMORY;
    for (size_t i = 0; i < labels.count; i++) p->columns[i] = (uint32_t)i;
    sort_columns(p, &labels, p->columns, room, labels.count);
    for (size_t i = 0; i < labels.count; i++) { /* of equal keys the last column counts */
        if (i + 1 < labels.count &&
            compare_keys(p, &labels, p->columns[i], p->columns[i + 1]) == 0)
            continue;
        const uint32_t column = p->columns[i];
        p->columns[p->key_count] = column;
        if (labels.strings) ((sdx_string *)p->keys)[p->key_count] = labels.strings[column];
        else ((int64_t *)p->keys)[p->key_count] = labels.numbers[column];
        p->key_count++;
    }
    return SDX_STATUS_OK;
}

static sdx_status zip_infer(sdx_infer *inf) {
    const zip_params *p = inf->params;
    sdx_expr rows, columns;
    sdx_type value, map, list;
    SDX_TRY(sdx_ml_infer_rows(inf, 0, &rows, &columns));
    SDX_TRY(sdx_infer_require_equal(inf, columns, sdx_expr_const((int64_t)p->column_count),
                                    "columns of the input and labels"));
    SDX_TRY(sdx_type_tensor(inf, SDX_DTYPE_FLOAT32, 0, NULL, &value));
    SDX_TRY(sdx_type_wrap(inf, SDX_KIND_MAP, &value, &map));
    map.dtype = p->key_type;
    SDX_TRY(sdx_type_wrap(inf, SDX_KIND_SEQUENCE, &map, &list));
    sdx_infer_set_type(inf, 0, &list);
    return SDX_STATUS_OK;
}

/* A map with these keys (retained) and one row of values. */
static sdx_status make_map(sdx_call *call, sdx_value *keys, const float *row, sdx_value **out) {
    const zip_params *p = call->params;
    const int64_t count = (int64_t)p->key_count;
    sdx_value *map;
    SDX_TRY(sdx_value_alloc_list(call->host->heap, SDX_KIND_MAP, 2, &map, call->error));
    map->items[0] = sdx_value_retain(keys);
    const sdx_status status = sdx_value_alloc_tensor(call->host->heap, SDX_DTYPE_FLOAT32, 1, &count,
                                                     &map->items[1], call->error);
    if (status != SDX_STATUS_OK) {
        sdx_value_release(map);
        return status;
    }
    float *values = map->items[1]->tensor.data;
    for (size_t i = 0; i < p->key_count; i++) values[i] = row[p->columns[i]];
    *out = map;
    return SDX_STATUS_OK;
}

static sdx_status zip_run(sdx_call *call) {
    const zip_params *p = call->params;
    const sdx_tensor *x = sdx_in(call, 0);
    const int64_t count = (int64_t)p->key_count;
    if (x->rank != 1 && x->rank != 2)
        return sdx_call_fail(call, "the input has rank %d, expected [N,C] or [C]", x->rank);
    const sdx_ml_rows shape = sdx_ml_rows_of(x);
    if (shape.features != p->column_count)
        return sdx_call_fail(call, "the input has %zu columns for %zu labels", shape.features,
                             p->column_count);
    sdx_value *keys, *list;
    SDX_TRY(sdx_value_alloc_tensor(call->host->heap, p->key_type, 1, &count, &keys, call->error));
    memcpy(keys->tensor.data, p->keys, p->key_count * sdx_dtype_size(p->key_type));
    sdx_status status = sdx_value_alloc_list(call->host->heap, SDX_KIND_SEQUENCE, shape.rows,
                                             &list, call->error);
    if (status == SDX_STATUS_OK) {
        for (size_t i = 0; i < shape.rows && status == SDX_STATUS_OK; i++)
            status = make_map(call, keys, (const float *)x->data + i * shape.features,
                              &list->items[i]);
        if (status == SDX_STATUS_OK) status = sdx_call_give(call, 0, list);
        else sdx_value_release(list);
    }
    sdx_value_release(keys);
    return status;
}

const sdx_op_def sdx_op_ml_zip_map = {
    .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,
    .flags = SDX_OP_HEAP,
    .in_types = {SDX_T(FLOAT32)},
    .params_size = sizeof(zip_params),
    .prepare = zip_prepare, .infer = zip_infer, .run = SDX_BODY(sdx_op_ml_zip_map, zip_run),
};
