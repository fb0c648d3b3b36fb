/* load_constants.c - expressions and constants of a packed file. Expressions are made by the ordinary
 * arithmetic, so that none can come to be that the pool would not make itself. */
#include "pack/load.h"

#include <string.h>

#include "base/checked.h"
#include "graph/expr_internal.h"

/* ---- expressions --------------------------------------------------------------------------------- */

sdx_expr sdx_take_expr(sdx_unpacker *u) {
    switch (sdx_take_below(&u->in, 3)) {
    case SDX_REF_NUMBER: {
        int64_t value = sdx_take_signed(&u->in);
        if (value < -SDX_EXPR_MAX || value >= SDX_EXPR_MAX) u->in.failed = true;
        return u->in.failed ? SDX_EXPR_UNKNOWN : sdx_expr_const(value);
    }
    case SDX_REF_POOLED: {
        uint32_t number = sdx_take_below(&u->in, u->expr_count);
        return u->in.failed ? SDX_EXPR_UNKNOWN : u->exprs[number];
    }
    default: return SDX_EXPR_UNKNOWN;
    }
}

static sdx_expr take_sum(sdx_unpacker *u) {
    sdx_expr_pool *pool = u->module->pool;
    sdx_expr sum = sdx_expr_const(0);
    uint32_t terms = sdx_take_below(&u->in, SDX_EXPR_TERMS + 1);
    for (uint32_t t = 0; t < terms && !u->in.failed; t++) {
        int64_t coefficient = sdx_take_signed(&u->in);
        uint32_t degree = sdx_take_below(&u->in, SDX_EXPR_DEGREE + 1);
        if (coefficient < -SDX_EXPR_MAX || coefficient >= SDX_EXPR_MAX) u->in.failed = true;
        if (u->in.failed) break;
        sdx_expr product = sdx_expr_const(coefficient);
        for (uint32_t i = 0; i < degree; i++) {
            uint32_t number = sdx_take_below(&u->in, u->expr_count);
            if (u->in.failed) break;
            product = sdx_expr_mul(pool, product, u->exprs[number]);
        }
        sum = sdx_expr_add(pool, sum, product);
    }
    return sum;
}

static sdx_expr take_atom(sdx_unpacker *u, uint32_t kind) {
    sdx_expr_pool *pool = u->module->pool;
    uint32_t count = sdx_take_below(&u->in, SDX_EXPR_OPERANDS + 1);
    if (count < 2 || (kind == SDX_EXPR_KIND_FLOORDIV && count != 2)) u->in.failed = true;
    sdx_expr made = sdx_take_expr(u);
    for (uint32_t i = 1; i < count && !u->in.failed; i++) {
        sdx_expr operand = sdx_take_expr(u);
        switch (kind) {
        case SDX_EXPR_KIND_FLOORDIV: made = sdx_expr_floordiv(pool, made, operand); break;
        case SDX_EXPR_KIND_MIN: made = sdx_expr_min(pool, made, operand); break;
        case SDX_EXPR_KIND_MAX: made = sdx_expr_max(pool, made, operand); break;
        default: made = sdx_expr_broadcast(pool, made, operand); break;
        }
    }
    return made;
}

sdx_status sdx_load_exprs(sdx_unpacker *u) {
    uint32_t count = sdx_take_count(&u->in, 2);
    u->exprs = sdx_take_array(&u->in, &u->module->arena, count, sizeof *u->exprs);
    for (uint32_t i = 0; i < count && !u->in.failed; i++) {
        uint32_t kind = sdx_take_below(&u->in, SDX_EXPR_KIND_BROADCAST + 1);
        sdx_expr made;
        if (kind == SDX_EXPR_KIND_SYMBOL) {
            size_t size;
            const char *name = sdx_take_text(&u->in, &u->module->arena, &size);
            made = sdx_expr_symbol(u->module->pool, name, size);
        } else {
            made = kind == SDX_EXPR_KIND_SUM ? take_sum(u) : take_atom(u, kind);
        }
        if (u->in.failed) break;
        if (sdx_expr_is_unknown(made) && sdx_expr_out_of_memory(u->module->pool))
            return sdx_fail_memory(u->error, 0, "the model");
        if (sdx_expr_is_unknown(made))
            return sdx_unpack_fail(u, "expression %u of the index has no meaning", i);
        u->exprs[i] = made;
        u->expr_count++; /* one may refer to those before it alone */
    }
    return sdx_unpack_check(u, "expressions");
}

/* ---- constants ----------------------------------------------------------------------------------- */

/* What is only there packed has no bytes to be compared with; a packed layout may be denser than the plain
 * one, but not by much. */
#define MOST_DENSITY 64

static sdx_status take_strings(sdx_unpacker *u, sdx_const *constant) {
    if (constant->count > (size_t)(u->in.end - u->in.at))
        return sdx_unpack_fail(u, "constant '%.64s' has more strings than the index has bytes",
                               constant->name);
    sdx_string *strings =
        sdx_take_array(&u->in, &u->module->arena, constant->count, sizeof *strings);
    for (size_t i = 0; i < constant->count && !u->in.failed; i++)
        strings[i].data = sdx_take_text(&u->in, &u->module->arena, &strings[i].size);
    constant->data = strings;
    constant->bytes = constant->count * sizeof *strings;
    constant->host = true;
    return sdx_unpack_check(u, "strings");
}

static sdx_status take_data(sdx_unpacker *u, sdx_const *constant, sdx_encoding encoding) {
    size_t size, wanted = 0;
    const uint8_t *data = sdx_take_span(u, &size, constant->name);
    if (!data) return u->error->code;
    bool fits = encoding == SDX_ENCODING_HALF
                    ? sdx_size_mul(constant->count, 2, &wanted)
                    : sdx_dtype_file_size(constant->dtype, constant->count, &wanted);
    if (!fits || size != wanted)
        return sdx_unpack_fail(u, "constant '%.64s' has %zu bytes of data, expected %zu",
                               constant->name, size, wanted);
    constant->data = data;
    constant->bytes = size;
    constant->position = (uint64_t)(data - u->file);
    constant->half = encoding == SDX_ENCODING_HALF;
    return SDX_STATUS_OK;
}

static sdx_status take_constant(sdx_unpacker *u, sdx_const *constant) {
    constant->name = sdx_take_text(&u->in, &u->module->arena, NULL);
    constant->dtype = (sdx_dtype)sdx_take_below(&u->in, SDX_DTYPE_COUNT);
    constant->rank = (int32_t)sdx_take_below(&u->in, SDX_MAX_RANK + 1);
    constant->position = SDX_NO_POSITION;
    int64_t *dims =
        sdx_take_array(&u->in, &u->module->arena, (size_t)constant->rank, sizeof *dims);
    for (int32_t i = 0; i < constant->rank && !u->in.failed; i++) {
        uint64_t dim = sdx_take_number(&u->in);
        if (dim > INT64_MAX) u->in.failed = true;
        else dims[i] = (int64_t)dim;
    }
    constant->dims = dims;
    sdx_encoding encoding = (sdx_encoding)sdx_take_below(&u->in, SDX_ENCODING_EMPTY + 1);
    SDX_TRY(sdx_unpack_check(u, "constants"));
    size_t bytes;
    bool string = constant->dtype == SDX_DTYPE_STRING;
    if (!sdx_dtype_valid(constant->dtype) ||
        !sdx_dims_count(constant->dims, constant->rank, &constant->count) ||
        !sdx_size_mul(constant->count, sdx_dtype_size(constant->dtype), &bytes))
        return sdx_unpack_fail(u, "constant '%.64s' has no possible type or shape", constant->name);
    if ((encoding == SDX_ENCODING_EMPTY) != (constant->count == 0) ||
        (string && encoding != SDX_ENCODING_STRINGS && constant->count) ||
        (!string && encoding == SDX_ENCODING_STRINGS) ||
        (encoding == SDX_ENCODING_HALF && constant->dtype != SDX_DTYPE_FLOAT32))
        return sdx_unpack_fail(u, "constant '%.64s' is stored in a way that its type does not have",
                               constant->name);
    switch (encoding) {
    case SDX_ENCODING_EMPTY: return SDX_STATUS_OK;
    case SDX_ENCODING_STRINGS: return take_strings(u, constant);
    case SDX_ENCODING_ABSENT:
        if (bytes / MOST_DENSITY > u->file_size)
            return sdx_unpack_fail(u, "constant '%.64s' is larger than any packed form of it here",
                                   constant->name);
        return SDX_STATUS_OK;
    default: return take_data(u, constant, encoding);
    }
}

sdx_status sdx_load_constants(sdx_unpacker *u) {
    u->constant_count = sdx_take_count(&u->in, 4);
    u->constants =
        sdx_take_array(&u->in, &u->module->arena, u->constant_count, sizeof *u->constants);
    SDX_TRY(sdx_unpack_check(u, "constants"));
    for (uint32_t i = 0; i < u->constant_count; i++) SDX_TRY(take_constant(u, &u->constants[i]));
    return SDX_STATUS_OK;
}
