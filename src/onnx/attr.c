/* attr.c - AttributeProto -> sdx_attr. Lists are counted first, against the bytes that are there,
 * then laid into the arena. References to a function's attributes are replaced by what the call
 * gives. */
#include <string.h>

#include "onnx/loader.h"

const char *sdx_attr_kind_name(sdx_attr_kind kind) {
    static const char *const names[] = {"UNDEFINED", "FLOAT", "INT", "STRING", "TENSOR", "GRAPH",
                                        "FLOATS", "INTS", "STRINGS", "TENSORS", "GRAPHS",
                                        "SPARSE_TENSOR", "SPARSE_TENSORS", "TYPE_PROTO",
                                        "TYPE_PROTOS"};
    return (unsigned)kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}

/* How each field of AttributeProto maps to a kind. */
static sdx_attr_kind kind_of_field(uint32_t number) {
    switch (number) {
    case 2: return SDX_ATTR_FLOAT;
    case 3: return SDX_ATTR_INT;
    case 4: return SDX_ATTR_STRING;
    case 5: return SDX_ATTR_TENSOR;
    case 6: return SDX_ATTR_GRAPH;
    case 7: return SDX_ATTR_FLOATS;
    case 8: return SDX_ATTR_INTS;
    case 9: return SDX_ATTR_STRINGS;
    case 10: return SDX_ATTR_TENSORS;
    case 11: return SDX_ATTR_GRAPHS;
    case 14: return SDX_ATTR_TYPE;
    case 15: return SDX_ATTR_TYPES;
    case 22: return SDX_ATTR_SPARSE_TENSOR;
    case 23: return SDX_ATTR_SPARSE_TENSORS;
    default: return SDX_ATTR_UNDEFINED;
    }
}

static bool is_list(sdx_attr_kind kind) {
    return kind == SDX_ATTR_FLOATS || kind == SDX_ATTR_INTS || kind == SDX_ATTR_STRINGS ||
           kind == SDX_ATTR_TENSORS || kind == SDX_ATTR_GRAPHS || kind == SDX_ATTR_TYPES ||
           kind == SDX_ATTR_SPARSE_TENSORS;
}

typedef struct attr_parts {
    sdx_span name, reference;
    int32_t declared;       /* `type`, 0 if left out */
    sdx_attr_kind found;    /* by the field that is present */
    size_t count;
    uint64_t position;
} attr_parts;

static sdx_status count_field(sdx_loader *loader, const sdx_pb_field *field, sdx_attr_kind kind,
                              size_t *count) {
    *count = 1;
    if (field->wire != SDX_WIRE_BYTES) return SDX_STATUS_OK;
    if (kind == SDX_ATTR_FLOATS) {
        *count = field->bytes.size / 4;
        if (field->bytes.size % 4 == 0) return SDX_STATUS_OK;
    } else if (kind == SDX_ATTR_INTS) {
        if (sdx_pb_count_varints(field->bytes, count)) return SDX_STATUS_OK;
    } else {
        return SDX_STATUS_OK;
    }
    return sdx_bad(loader, field->position, "an attribute's list ends within a number");
}

static sdx_status read_parts(sdx_loader *loader, sdx_pb_reader in, attr_parts *parts) {
    memset(parts, 0, sizeof *parts);
    parts->position = sdx_pb_position(&in);
    sdx_pb_field field;
    sdx_status status = SDX_STATUS_OK;
    while (sdx_pb_next(&in, &field, &status, loader->error)) {
        if (field.number == 1) SDX_TRY(sdx_pb_string(&field, "name", &parts->name, loader->error));
        if (field.number == 20)
            SDX_TRY(sdx_pb_int32(&field, "type", &parts->declared, loader->error));
        if (field.number == 21)
            SDX_TRY(sdx_pb_string(&field, "ref_attr_name", &parts->reference, loader->error));
        sdx_attr_kind kind = kind_of_field(field.number);
        if (kind == SDX_ATTR_UNDEFINED) continue;
        if (parts->found != SDX_ATTR_UNDEFINED && (parts->found != kind || !is_list(kind)))
            return sdx_bad(loader, field.position, "attribute '%.*s' holds more than one value",
                           (int)parts->name.size, (const char *)parts->name.data);
        parts->found = kind;
        size_t count;
        SDX_TRY(count_field(loader, &field, kind, &count));
        parts->count += count;
    }
    SDX_TRY(status);
    if (parts->name.size == 0 || parts->name.size > 1024)
        return sdx_bad(loader, parts->position, "an attribute has %s name",
                       parts->name.size ? "too long a" : "no");
    if (parts->declared < 0 || parts->declared > SDX_ATTR_TYPES)
        return sdx_bad(loader, parts->position, "attribute '%.*s' has the unknown type %d",
                       (int)parts->name.size, (const char *)parts->name.data, parts->declared);
    if (parts->declared && parts->found && (int32_t)parts->found != parts->declared)
        return sdx_bad(loader, parts->position, "attribute '%.*s' says it is %s but holds "
                                                "%s",
                       (int)parts->name.size, (const char *)parts->name.data,
                       sdx_attr_kind_name((sdx_attr_kind)parts->declared),
                       sdx_attr_kind_name(parts->found));
    return SDX_STATUS_OK;
}

typedef struct fill_state {
    sdx_loader *loader;
    sdx_scope *scope;
    sdx_id owner;
    size_t index;
    union {
        int64_t *ints;
        float *floats;
        sdx_string *strings;
        const sdx_const **tensors;
        sdx_id *graphs;
        const sdx_type **types;
        void *any;
    } out;
} fill_state;

static float float_from_bits(uint64_t bits) {
    uint32_t low = (uint32_t)bits;
    float value;
    memcpy(&value, &low, sizeof value);
    return value;
}

static sdx_status fill_numbers(fill_state *state, const sdx_pb_field *field, bool floats) {
    sdx_error *error = state->loader->error;
    if (field->wire != SDX_WIRE_BYTES) {
        if (floats) return sdx_pb_float(field, "floats", &state->out.floats[state->index++], error);
        return sdx_pb_int64(field, "ints", &state->out.ints[state->index++], error);
    }
    sdx_span bytes = field->bytes;
    while (bytes.size) {
        uint64_t value = 0;
        if (floats) {
            for (unsigned i = 0; i < 4; i++) value |= (uint64_t)bytes.data[i] << (8 * i);
            bytes.data += 4;
            bytes.size -= 4;
            state->out.floats[state->index++] = float_from_bits(value);
        } else {
            if (!sdx_pb_varint(&bytes, &value))
                return sdx_bad(state->loader, field->position, "ints ends within a number");
            state->out.ints[state->index++] = (int64_t)value;
        }
    }
    return SDX_STATUS_OK;
}

static sdx_status fill_message(fill_state *state, const sdx_pb_reader *in,
                               const sdx_pb_field *field, sdx_attr_kind kind) {
    sdx_loader *loader = state->loader;
    sdx_pb_reader inner;
    SDX_TRY(sdx_pb_expect(field, SDX_WIRE_BYTES, "attribute", loader->error));
    SDX_TRY(sdx_pb_enter(in, field, &inner, loader->error));
    size_t at = state->index++;
    switch (kind) {
    case SDX_ATTR_TENSOR:
    case SDX_ATTR_TENSORS: return sdx_load_tensor(loader, inner, &state->out.tensors[at]);
    case SDX_ATTR_SPARSE_TENSOR:
    case SDX_ATTR_SPARSE_TENSORS: return sdx_load_sparse(loader, inner, &state->out.tensors[at]);
    case SDX_ATTR_GRAPH:
    case SDX_ATTR_GRAPHS:
        if (!state->scope)
            return sdx_bad(loader, field->position, "a graph as a function's default attribute");
        return sdx_load_graph(loader, &inner, state->scope, NULL, state->owner,
                              &state->out.graphs[at]);
    default: {
        sdx_type *type = sdx_arena_alloc(&loader->module->arena, sizeof *type);
        if (!type) return sdx_load_no_memory(loader);
        state->out.types[at] = type;
        return sdx_load_type(loader, inner, type);
    }
    }
}

static sdx_status fill_field(fill_state *state, const sdx_pb_reader *in, const sdx_pb_field *field,
                             sdx_attr_kind kind) {
    sdx_loader *loader = state->loader;
    switch (kind) {
    case SDX_ATTR_FLOAT:
        return sdx_pb_float(field, "f", &state->out.floats[state->index++], loader->error);
    case SDX_ATTR_INT:
        return sdx_pb_int64(field, "i", &state->out.ints[state->index++], loader->error);
    case SDX_ATTR_FLOATS:
    case SDX_ATTR_INTS: return fill_numbers(state, field, kind == SDX_ATTR_FLOATS);
    case SDX_ATTR_STRING:
    case SDX_ATTR_STRINGS: {
        sdx_span bytes;
        SDX_TRY(sdx_pb_span(field, "s", &bytes, loader->error));
        const char *text; /* a copy, so that it ends in NUL */
        SDX_TRY(sdx_load_text(loader, bytes, &text));
        state->out.strings[state->index++] = (sdx_string){text, bytes.size};
        return SDX_STATUS_OK;
    }
    default: return fill_message(state, in, field, kind);
    }
}

/* A reference to an attribute of the enclosing function: the call's value, or nothing. */
static void follow_reference(const sdx_scope *scope, const attr_parts *parts, sdx_attr *out,
                             bool *present) {
    *present = false;
    const sdx_call_site *call = scope ? scope->call : NULL;
    for (size_t i = 0; call && i < call->attr_count; i++) {
        const sdx_attr *given = &call->attrs[i];
        if (strlen(given->name) != parts->reference.size ||
            memcmp(given->name, parts->reference.data, parts->reference.size) != 0)
            continue;
        const char *name = out->name;
        *out = *given;
        out->name = name;
        *present = true;
        return;
    }
}

static size_t element_size(sdx_attr_kind kind) {
    switch (kind) {
    case SDX_ATTR_FLOAT:
    case SDX_ATTR_FLOATS: return sizeof(float);
    case SDX_ATTR_STRING:
    case SDX_ATTR_STRINGS: return sizeof(sdx_string);
    case SDX_ATTR_GRAPH:
    case SDX_ATTR_GRAPHS: return sizeof(sdx_id);
    default: return 8; /* int64_t and pointers */
    }
}

/* Zero and "" are left out by writers of proto3; an object cannot be. */
static bool has_default(sdx_attr_kind kind) {
    return kind == SDX_ATTR_FLOAT || kind == SDX_ATTR_INT || kind == SDX_ATTR_STRING;
}

sdx_status sdx_load_attr(sdx_loader *loader, sdx_pb_reader in, sdx_scope *scope, sdx_id owner,
                         sdx_attr *out, bool *present) {
    attr_parts parts;
    SDX_TRY(read_parts(loader, in, &parts));
    memset(out, 0, sizeof *out);
    SDX_TRY(sdx_load_text(loader, parts.name, &out->name));
    *present = true;
    if (parts.reference.size) {
        if (!scope || !scope->call)
            return sdx_bad(loader, parts.position, "attribute '%s' refers to '%.*s' outside a "
                                                   "function",
                           out->name, (int)parts.reference.size,
                           (const char *)parts.reference.data);
        follow_reference(scope, &parts, out, present);
        /* A graph that came with the call belongs to the node that uses it. */
        bool graphs = out->kind == SDX_ATTR_GRAPH || out->kind == SDX_ATTR_GRAPHS;
        for (size_t i = 0; graphs && i < out->count; i++)
            sdx_graph_at(loader->module, out->as.graphs[i])->owner = owner;
        if (*present && parts.declared && (int32_t)out->kind != parts.declared)
            return sdx_bad(loader, parts.position, "attribute '%s' expects %s but the call gives "
                                                   "%s",
                           out->name, sdx_attr_kind_name((sdx_attr_kind)parts.declared),
                           sdx_attr_kind_name(out->kind));
        return SDX_STATUS_OK;
    }
    out->kind = parts.declared ? (sdx_attr_kind)parts.declared : parts.found;
    if (out->kind == SDX_ATTR_UNDEFINED)
        return sdx_bad(loader, parts.position, "attribute '%s' has no value", out->name);
    out->count = parts.count;
    bool is_default = parts.count == 0 && !is_list(out->kind);
    if (is_default && !has_default(out->kind) && out->kind != SDX_ATTR_GRAPH)
        return sdx_bad(loader, parts.position, "attribute '%s' has no value", out->name);
    if (is_default && out->kind == SDX_ATTR_GRAPH)
        return sdx_bad(loader, parts.position, "attribute '%s' has no graph", out->name);
    fill_state state = {.loader = loader, .scope = scope, .owner = owner};
    state.out.any =
        sdx_arena_array(&loader->module->arena, parts.count + 1, element_size(out->kind));
    if (!state.out.any) return sdx_load_no_memory(loader);
    if (is_default) out->count = 1;
    if (is_default && out->kind == SDX_ATTR_STRING) state.out.strings[0].data = "";
    out->as.ints = state.out.any;
    sdx_pb_field field;
    sdx_status status = SDX_STATUS_OK;
    while (sdx_pb_next(&in, &field, &status, loader->error))
        if (kind_of_field(field.number) != SDX_ATTR_UNDEFINED)
            SDX_TRY(fill_field(&state, &in, &field, out->kind));
    return status;
}
