/* type.c - TypeProto and TensorShapeProto -> sdx_type. Named dims become symbols or, where the
 * name is an expression such as "past + 1", its meaning. Within a sequence, optional or map they
 * stay open: the items may differ in size, so that no single number can stand for them. */
#include <string.h>

#include "onnx/loader.h"

static bool is_nameless(sdx_span text) {
    static const char *const words[] = {"", "?", "None", "-1"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (text.size == strlen(words[i]) &&
            (text.size == 0 || memcmp(text.data, words[i], text.size) == 0))
            return true;
    return false;
}

/* "batch-size" is a name: a hyphen between letters, without spaces or any other operator. */
static bool is_hyphenated(sdx_span text) {
    bool hyphen = false;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == '-') hyphen = true;
        else if (memchr(" +*/%()", text.data[i], 7)) return false;
    }
    return hyphen && text.data[0] != '-' && text.data[text.size - 1] != '-';
}

/* "batch": letters, digits and underscores, no digit first. */
static bool is_word(sdx_span text) {
    for (size_t i = 0; i < text.size; i++) {
        const uint8_t c = text.data[i];
        bool letter = (c | 32) >= 'a' && (c | 32) <= 'z';
        if (!letter && c != '_' && (i == 0 || c < '0' || c > '9')) return false;
    }
    return text.size > 0;
}

static sdx_status load_dim(sdx_loader *loader, sdx_pb_reader in, sdx_expr *out) {
    sdx_pb_field field;
    sdx_status status = SDX_STATUS_OK;
    *out = SDX_EXPR_UNKNOWN;
    while (sdx_pb_next(&in, &field, &status, loader->error)) {
        if (field.number == 1) {
            int64_t value;
            SDX_TRY(sdx_pb_int64(&field, "dim_value", &value, loader->error));
            if (value == -1) continue; /* some exporters write an open dimension so */
            if (value < 0)
                return sdx_bad(loader, field.position,
                               "a shape has the dimension %lld; dimensions are at least 0, or -1 "
                               "where open",
                               (long long)value);
            if (value >= SDX_EXPR_MAX)
                return sdx_bad(loader, field.position, "a shape has the dimension %lld: too large",
                               (long long)value);
            *out = sdx_expr_const(value);
        } else if (field.number == 2) {
            sdx_span name;
            SDX_TRY(sdx_pb_string(&field, "dim_param", &name, loader->error));
            if (is_nameless(name)) continue;
            const char *text = (const char *)name.data;
            sdx_error ignored;
            sdx_error_clear(&ignored);
            bool formula = !is_word(name) && !is_hyphenated(name);
            if (formula) SDX_TRY(SDX_NEED(dim_formulas, loader->error));
            if (!formula ||
                sdx_expr_parse(loader->module->pool, text, name.size, out, &ignored) !=
                    SDX_STATUS_OK ||
                sdx_expr_is_unknown(*out))
                *out = sdx_expr_symbol(loader->module->pool, text, name.size);
            if (sdx_expr_is_unknown(*out)) return sdx_load_no_memory(loader);
            if (sdx_expr_is_const(*out) && sdx_expr_value(*out) < 0)
                return sdx_bad(loader, field.position, "a shape has the dimension '%.*s', which is "
                                                       "negative",
                               name.size > 100 ? 100 : (int)name.size, text);
        }
    }
    return status;
}

static sdx_status load_shape(sdx_loader *loader, sdx_pb_reader in, bool nested, sdx_type *out) {
    sdx_expr dims[SDX_MAX_RANK];
    int32_t rank = 0;
    sdx_pb_field field;
    sdx_status status = SDX_STATUS_OK;
    while (sdx_pb_next(&in, &field, &status, loader->error)) {
        if (field.number != 1) continue;
        SDX_TRY(sdx_pb_expect(&field, SDX_WIRE_BYTES, "dim", loader->error));
        if (rank == SDX_MAX_RANK)
            return sdx_fail_at(loader->error, SDX_STATUS_UNSUPPORTED, field.position,
                               "a shape has more than %d dimensions", SDX_MAX_RANK);
        sdx_pb_reader dim;
        SDX_TRY(sdx_pb_enter(&in, &field, &dim, loader->error));
        SDX_TRY(load_dim(loader, dim, &dims[rank]));
        if (nested && !sdx_expr_is_const(dims[rank])) dims[rank] = SDX_EXPR_UNKNOWN;
        rank++;
    }
    SDX_TRY(status);
    sdx_expr *copy = sdx_arena_array(&loader->module->arena, (size_t)rank + 1, sizeof *copy);
    if (!copy) return sdx_load_no_memory(loader);
    if (rank) memcpy(copy, dims, (size_t)rank * sizeof *copy);
    out->dims = copy;
    out->rank = rank;
    return SDX_STATUS_OK;
}

static sdx_status load_dtype(sdx_loader *loader, const sdx_pb_field *field, sdx_dtype *out) {
    int32_t number;
    SDX_TRY(sdx_pb_int32(field, "elem_type", &number, loader->error));
    if (!sdx_dtype_valid(number))
        return sdx_fail_at(loader->error,
                           number > 0 ? SDX_STATUS_UNSUPPORTED : SDX_STATUS_BAD_MODEL,
                           field->position,
                           "element type %d is not known; types are 1 (float32) to %d (%s)",
                           number, SDX_DTYPE_COUNT - 1, sdx_dtype_name(SDX_DTYPE_COUNT - 1));
    *out = (sdx_dtype)number;
    return SDX_STATUS_OK;
}

static sdx_status load_tensor_type(sdx_loader *loader, sdx_pb_reader in, bool nested,
                                   sdx_type *out) {
    sdx_pb_field field;
    sdx_status status = SDX_STATUS_OK;
    while (sdx_pb_next(&in, &field, &status, loader->error)) {
        if (field.number == 1) {
            SDX_TRY(load_dtype(loader, &field, &out->dtype));
        } else if (field.number == 2) {
            SDX_TRY(sdx_pb_expect(&field, SDX_WIRE_BYTES, "shape", loader->error));
            sdx_pb_reader shape;
            SDX_TRY(sdx_pb_enter(&in, &field, &shape, loader->error));
            SDX_TRY(load_shape(loader, shape, nested, out));
        }
    }
    return status;
}

static sdx_status load_type(sdx_loader *loader, sdx_pb_reader in, bool nested, sdx_type *out);

/* Sequence and Optional hold their content in field 1; Map has the key in 1, the value in 2. */
static sdx_status load_nested_type(sdx_loader *loader, sdx_pb_reader in, sdx_type *out) {
    uint32_t content = out->kind == SDX_KIND_MAP ? 2 : 1;
    sdx_pb_field field;
    sdx_status status = SDX_STATUS_OK;
    while (sdx_pb_next(&in, &field, &status, loader->error)) {
        if (field.number == content) {
            SDX_TRY(sdx_pb_expect(&field, SDX_WIRE_BYTES, "elem_type", loader->error));
            sdx_pb_reader inner;
            SDX_TRY(sdx_pb_enter(&in, &field, &inner, loader->error));
            sdx_type *type = sdx_arena_alloc(&loader->module->arena, sizeof *type);
            if (!type) return sdx_load_no_memory(loader);
            SDX_TRY(load_type(loader, inner, true, type));
            out->inner = type;
        } else if (field.number == 1 && out->kind == SDX_KIND_MAP) {
            SDX_TRY(load_dtype(loader, &field, &out->dtype));
        }
    }
    SDX_TRY(status);
    if (!out->inner)
        return sdx_bad(loader, sdx_pb_position(&in), "a sequence, optional or map type does not "
                                                     "say what it holds");
    return SDX_STATUS_OK;
}

static sdx_status load_type(sdx_loader *loader, sdx_pb_reader in, bool nested, sdx_type *out) {
    memset(out, 0, sizeof *out);
    out->rank = -1;
    sdx_pb_field field;
    sdx_status status = SDX_STATUS_OK;
    while (sdx_pb_next(&in, &field, &status, loader->error)) {
        sdx_kind kind = field.number == 1   ? SDX_KIND_TENSOR
                        : field.number == 4 ? SDX_KIND_SEQUENCE
                        : field.number == 5 ? SDX_KIND_MAP
                        : field.number == 8 ? SDX_KIND_SPARSE
                        : field.number == 9 ? SDX_KIND_OPTIONAL
                                            : SDX_KIND_NONE;
        if (field.number == 7)
            return sdx_fail_at(loader->error, SDX_STATUS_UNSUPPORTED, field.position,
                               "opaque types are not supported");
        if (kind == SDX_KIND_NONE) continue;
        SDX_TRY(sdx_pb_expect(&field, SDX_WIRE_BYTES, "type", loader->error));
        if (out->kind != SDX_KIND_NONE)
            return sdx_bad(loader, field.position, "a type is given twice");
        out->kind = kind;
        sdx_pb_reader inner;
        SDX_TRY(sdx_pb_enter(&in, &field, &inner, loader->error));
        if (kind == SDX_KIND_TENSOR || kind == SDX_KIND_SPARSE)
            SDX_TRY(load_tensor_type(loader, inner, nested, out));
        else
            SDX_TRY(load_nested_type(loader, inner, out));
    }
    return status;
}

sdx_status sdx_load_type(sdx_loader *loader, sdx_pb_reader in, sdx_type *out) {
    return load_type(loader, in, false, out);
}
