/* input.c - whether what the caller hands in is what the model declares: kind, element type, rank
 * and, within sequences, optionals and maps, the sizes that the model fixes. Sizes of plain tensors
 * are bind.c's. Inference takes the declared types as facts, so nothing else may get past here. */
#include <stdio.h>

#include "exec/context.h"

typedef struct place {
    const sdx_module *module;
    const char *input;
    char inside[64]; /* "[3][0]": where in the input; cut off where deep */
} place;

static const char *kind_text(sdx_kind kind) {
    switch (kind) {
    case SDX_KIND_TENSOR: return "a tensor";
    case SDX_KIND_SEQUENCE: return "a sequence";
    case SDX_KIND_MAP: return "a map";
    default: return "nothing";
    }
}

static sdx_status fail_found(const place *at, const char *found, const sdx_type *type,
                             sdx_error *error) {
    char expected[256];
    sdx_type_text(at->module, type, expected, sizeof expected);
    return sdx_fail(error, SDX_STATUS_BAD_INPUT, "input '%.64s'%s is %s, the model expects %s",
                    at->input, at->inside, found, expected);
}

/* An empty tensor may claim any size along its other axes; shape rules count below 2^62. */
static sdx_status check_countable(const place *at, const sdx_tensor *tensor, sdx_error *error) {
    for (int32_t i = 0; i < tensor->rank; i++)
        if (tensor->dims[i] >= SDX_EXPR_MAX)
            return sdx_fail(error, SDX_STATUS_BAD_INPUT,
                            "input '%.64s'%s has size %lld in dimension %d: too large", at->input,
                            at->inside, (long long)tensor->dims[i], i);
    return SDX_STATUS_OK;
}

/* fixed_sizes: those that the type gives as numbers must agree, too. */
static sdx_status check_tensor(const place *at, const sdx_type *type, const sdx_tensor *tensor,
                               bool fixed_sizes, sdx_error *error) {
    if (type->dtype && tensor->dtype != type->dtype)
        return sdx_fail(error, SDX_STATUS_BAD_INPUT, "input '%.64s'%s is %s, the model expects %s",
                        at->input, at->inside, sdx_dtype_name(tensor->dtype),
                        sdx_dtype_name(type->dtype));
    if (type->rank < 0) return SDX_STATUS_OK;
    if (tensor->rank != type->rank)
        return sdx_fail(error, SDX_STATUS_BAD_INPUT,
                        "input '%.64s'%s has rank %d, the model expects %d", at->input, at->inside,
                        tensor->rank, type->rank);
    for (int32_t i = 0; fixed_sizes && i < type->rank; i++)
        if (sdx_expr_is_const(type->dims[i]) && sdx_expr_value(type->dims[i]) != tensor->dims[i])
            return sdx_fail(error, SDX_STATUS_BAD_INPUT,
                            "input '%.64s'%s has size %lld in dimension %d, the model expects %lld",
                            at->input, at->inside, (long long)tensor->dims[i], i,
                            (long long)sdx_expr_value(type->dims[i]));
    return SDX_STATUS_OK;
}

static sdx_status check_value(const place *at, const sdx_type *type, const sdx_value *value,
                              bool nested, sdx_error *error);

static sdx_status check_items(const place *at, const sdx_type *items, const sdx_value *list,
                              const char *what, sdx_error *error) {
    for (size_t i = 0; i < list->item_count; i++) {
        place inner = *at;
        if (snprintf(inner.inside, sizeof inner.inside, "%s%s[%zu]", at->inside, what, i) < 0)
            inner.inside[0] = 0;
        SDX_TRY(check_value(&inner, items, list->items[i], true, error));
    }
    return SDX_STATUS_OK;
}

/* A map without entries fits any type: a file of one does not say what it would hold. */
static sdx_status check_map(const place *at, const sdx_type *type, const sdx_value *map,
                            sdx_error *error) {
    const sdx_tensor *keys = &map->items[0]->tensor;
    const sdx_value *values = map->items[1];
    if (keys->count == 0) return SDX_STATUS_OK;
    if (type->dtype && keys->dtype != type->dtype)
        return sdx_fail(error, SDX_STATUS_BAD_INPUT,
                        "input '%.64s'%s has keys of type %s, the model expects %s", at->input,
                        at->inside, sdx_dtype_name(keys->dtype), sdx_dtype_name(type->dtype));
    if (values->kind != SDX_KIND_TENSOR)
        return check_items(at, type->inner, values, ".values", error);
    /* Scalars side by side: only their type is left of what each was. */
    if (type->inner->kind != SDX_KIND_NONE && type->inner->kind != SDX_KIND_TENSOR)
        return fail_found(at, "a map of scalars", type, error);
    if (type->inner->dtype && values->tensor.dtype != type->inner->dtype)
        return sdx_fail(error, SDX_STATUS_BAD_INPUT,
                        "input '%.64s'%s has values of type %s, the model expects %s", at->input,
                        at->inside, sdx_dtype_name(values->tensor.dtype),
                        sdx_dtype_name(type->inner->dtype));
    return SDX_STATUS_OK;
}

static sdx_status check_value(const place *at, const sdx_type *type, const sdx_value *value,
                              bool nested, sdx_error *error) {
    static const sdx_type unknown = {.rank = -1, .inner = &unknown};
    if (value->kind == SDX_KIND_TENSOR) SDX_TRY(check_countable(at, &value->tensor, error));
    if (type->kind == SDX_KIND_OPTIONAL) {
        if (value->kind == SDX_KIND_NONE) return SDX_STATUS_OK;
        type = type->inner;
        nested = true;
    }
    if (type->kind == SDX_KIND_NONE) type = &unknown;
    else if (type->kind != value->kind)
        return fail_found(at, kind_text(value->kind), type, error);
    switch (value->kind) {
    case SDX_KIND_TENSOR: return check_tensor(at, type, &value->tensor, nested, error);
    case SDX_KIND_SEQUENCE: return check_items(at, type->inner, value, "", error);
    case SDX_KIND_MAP: return check_map(at, type, value, error);
    default: return SDX_STATUS_OK;
    }
}

sdx_status sdx_check_input(const sdx_module *module, sdx_id id, const sdx_value *value,
                           sdx_error *error) {
    const sdx_value_def *input = sdx_value_at(module, id);
    const place at = {.module = module, .input = input->name};
    return check_value(&at, &input->type, value, false, error);
}
