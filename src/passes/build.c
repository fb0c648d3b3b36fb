/* build.c - emitting nodes, constants and attributes; see build.h. */
#include "passes/build.h"

#include <string.h>

sdx_status sdx_build_fail(sdx_build *b, sdx_status code, const char *format, ...) {
    if (b->status != SDX_STATUS_OK) return b->status;
    va_list args;
    va_start(args, format);
    b->status = sdx_fail_va(b->error, code, b->position, format, args);
    va_end(args);
    return b->status;
}

static void no_memory(sdx_build *b) {
    if (b->status == SDX_STATUS_OK) b->status = sdx_fail_memory(b->error, 0, "the model");
}

static void *take(sdx_build *b, size_t count, size_t size) {
    void *memory = b->status == SDX_STATUS_OK
                       ? sdx_arena_array(&b->module->arena, count + 1, size)
                       : NULL;
    if (!memory) no_memory(b);
    return memory;
}

static const char *next_name(sdx_build *b) {
    const char *name =
        sdx_arena_printf(&b->module->arena, "%.64s/%u", b->prefix, (unsigned)b->serial++);
    if (!name) no_memory(b);
    return name;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static sdx_id new_value(sdx_build *b) {
    const char *name = b->status == SDX_STATUS_OK ? next_name(b) : NULL;
    sdx_id id = name ? sdx_module_add_value(b->module, name, b->graph) : SDX_NONE;
    if (id == SDX_NONE) no_memory(b);
    return id;
}

/* Puts the node into the table, finds its operator and the types of what it makes. */
static void add_node(sdx_build *b, const sdx_node *node) {
    sdx_module *module = b->module;
    if (module->nodes.count >= b->most) {
        sdx_build_fail(b, SDX_STATUS_LIMIT, "the model would come to more than %llu nodes, which "
                                            "the limit on nodes allows",
                       (unsigned long long)b->most);
        return;
    }
    sdx_id id = sdx_module_add_node(module);
    if (id == SDX_NONE) {
        no_memory(b);
        return;
    }
    *sdx_node_at(module, id) = *node;
    for (uint32_t o = 0; o < node->output_count; o++) {
        if (node->outputs[o] == SDX_NONE) continue;
        sdx_value_def *value = sdx_value_at(module, node->outputs[o]);
        value->producer = id;
        value->output_index = o;
    }
    b->status = sdx_resolve_node(module, id, b->error);
    if (b->status == SDX_STATUS_OK) b->status = sdx_infer_node(module, id, b->error);
}

static bool has_origin(const sdx_node *node, const sdx_id *list, uint32_t count, sdx_id origin) {
    for (uint32_t i = 0; i < count; i++)
        if (list[i] == origin) return true;
    return count == 0 && node->origin == origin;
}

/* The nodes of the model that a new node stands for: those of all that it is made from. */
static void set_origins(sdx_build *b, sdx_node *node) {
    uint32_t most = 0, count = 0;
    for (uint32_t i = 0; i < b->from_count; i++) {
        uint32_t more = sdx_node_at(b->module, b->from[i])->origin_count;
        most += more ? more : 1;
    }
    sdx_id *list = take(b, most, sizeof *list);
    for (uint32_t i = 0; list && i < b->from_count; i++) {
        const sdx_node *from = sdx_node_at(b->module, b->from[i]);
        for (uint32_t k = 0; k < from->origin_count; k++)
            if (!has_origin(node, list, count, from->origins[k])) list[count++] = from->origins[k];
        if (!from->origin_count && !has_origin(node, list, count, from->origin))
            list[count++] = from->origin;
    }
    node->origin = sdx_node_at(b->module, b->from[0])->origin;
    node->origins = count > 1 ? list : NULL;
    node->origin_count = count > 1 ? count : 0;
    node->name = sdx_node_at(b->module, b->from[0])->name;
}

/* A node like `shape` (operator, attributes, counts) with these edges. */
static void emit(sdx_build *b, const sdx_node *shape, const sdx_id *in, sdx_id *out) {
    sdx_node node = *shape;
    for (uint32_t o = 0; o < node.output_count; o++)
        if (out[o] == SDX_NONE && (!shape->outputs || shape->outputs[o] != SDX_NONE))
            out[o] = new_value(b);
    node.inputs = take(b, node.input_count, sizeof(sdx_id));
    node.outputs = take(b, node.output_count, sizeof(sdx_id));
    if (b->from_count) set_origins(b, &node);
    else node.name = b->status == SDX_STATUS_OK ? next_name(b) : NULL;
    if (b->status == SDX_STATUS_OK) {
        if (node.input_count) memcpy(node.inputs, in, node.input_count * sizeof *in);
        if (node.output_count) memcpy(node.outputs, out, node.output_count * sizeof *out);
        node.graph = b->graph;
        node.mark = 0;
        add_node(b, &node);
    }
    for (uint32_t o = 0; b->status != SDX_STATUS_OK && o < node.output_count; o++)
        out[o] = SDX_NONE;
}

void sdx_emit_many(sdx_build *b, const char *op, const sdx_attr *attrs, uint32_t attr_count,
                   const sdx_id *in, uint32_t in_count, sdx_id *out, uint32_t out_count) {
    static const char fused[] = SDX_DOMAIN_FUSED ":";
    sdx_node node = {.op_type = op, .domain = "", .overload = "", .version = SDX_BUILD_OPSET,
                     .input_count = in_count, .output_count = out_count,
                     .attr_count = attr_count, .position = b->position};
    if (strncmp(op, fused, sizeof fused - 1) == 0) {
        node.op_type = op + sizeof fused - 1;
        node.domain = SDX_DOMAIN_FUSED;
        node.version = 1;
    }
    node.attrs = take(b, attr_count, sizeof *attrs);
    if (node.attrs && attr_count) memcpy(node.attrs, attrs, attr_count * sizeof *attrs);
    emit(b, &node, in, out);
}

sdx_id sdx_emit(sdx_build *b, const char *op, const sdx_attr *attrs, uint32_t attr_count,
                const sdx_id *in, uint32_t in_count) {
    sdx_id out = SDX_NONE;
    sdx_emit_many(b, op, attrs, attr_count, in, in_count, &out, 1);
    return out;
}

void sdx_emit_copy(sdx_build *b, const sdx_node *node, const sdx_id *in, sdx_id *out) {
    for (uint32_t o = 0; o < node->output_count; o++) out[o] = SDX_NONE;
    emit(b, node, in, out);
}

sdx_id sdx_build_add_output(sdx_build *b, sdx_id node_id, uint32_t o) {
    sdx_id value = new_value(b);
    sdx_id *outputs = take(b, o + 1, sizeof *outputs);
    if (value == SDX_NONE || !outputs) return SDX_NONE;
    sdx_node *node = sdx_node_at(b->module, node_id);
    for (uint32_t i = 0; i <= o; i++)
        outputs[i] = i < node->output_count ? node->outputs[i] : SDX_NONE;
    outputs[o] = value;
    node->outputs = outputs;
    if (node->output_count <= o) node->output_count = o + 1;
    sdx_value_def *def = sdx_value_at(b->module, value);
    def->graph = node->graph;
    def->producer = node_id;
    def->output_index = o;
    b->status = sdx_infer_node(b->module, node_id, b->error);
    return b->status == SDX_STATUS_OK ? value : SDX_NONE;
}

/* ---- attributes ------------------------------------------------------------------------------ */

static sdx_attr attr_of(sdx_build *b, const char *name, sdx_attr_kind kind, const void *data,
                        size_t count, size_t size) {
    void *copy = take(b, count, size);
    if (copy && count) memcpy(copy, data, count * size);
    return (sdx_attr){.name = name, .kind = kind, .count = count, .as = {.ints = copy}};
}

sdx_attr sdx_a_int(sdx_build *b, const char *name, int64_t value) {
    return attr_of(b, name, SDX_ATTR_INT, &value, 1, sizeof value);
}

sdx_attr sdx_a_ints(sdx_build *b, const char *name, const int64_t *values, size_t count) {
    return attr_of(b, name, SDX_ATTR_INTS, values, count, sizeof *values);
}

sdx_attr sdx_a_float(sdx_build *b, const char *name, float value) {
    return attr_of(b, name, SDX_ATTR_FLOAT, &value, 1, sizeof value);
}

sdx_attr sdx_a_exprs(sdx_build *b, const char *name, const sdx_expr *exprs, size_t count) {
    return attr_of(b, name, SDX_ATTR_EXPRS, exprs, count, sizeof *exprs);
}

sdx_attr sdx_a_text(sdx_build *b, const char *name, const char *text) {
    sdx_string string = {.data = text, .size = strlen(text)};
    return attr_of(b, name, SDX_ATTR_STRING, &string, 1, sizeof string);
}

const sdx_attr *sdx_node_attr(const sdx_node *node, const char *name, sdx_attr_kind kind) {
    for (uint32_t i = 0; i < node->attr_count; i++)
        if (node->attrs[i].kind == kind && strcmp(node->attrs[i].name, name) == 0)
            return &node->attrs[i];
    return NULL;
}

int64_t sdx_node_int(const sdx_node *node, const char *name, int64_t fallback) {
    const sdx_attr *attr = sdx_node_attr(node, name, SDX_ATTR_INT);
    return attr ? attr->as.ints[0] : fallback;
}

float sdx_node_float(const sdx_node *node, const char *name, float fallback) {
    const sdx_attr *attr = sdx_node_attr(node, name, SDX_ATTR_FLOAT);
    return attr ? attr->as.floats[0] : fallback;
}

bool sdx_node_text_is(const sdx_node *node, const char *name, const char *fallback,
                      const char *text) {
    const sdx_attr *attr = sdx_node_attr(node, name, SDX_ATTR_STRING);
    return strcmp(attr ? attr->as.strings[0].data : fallback, text) == 0;
}

/* ---- constants ------------------------------------------------------------------------------- */

static const sdx_const *new_constant(sdx_build *b, sdx_dtype dtype, int32_t rank, size_t count,
                                     const void *data) {
    size_t bytes = count * sdx_dtype_size(dtype);
    sdx_const *constant = take(b, 1, sizeof *constant);
    int64_t *dims = take(b, 1, sizeof *dims);
    void *copy = take(b, bytes, 1);
    if (!constant || !dims || !copy) return NULL;
    dims[0] = (int64_t)count;
    if (bytes) memcpy(copy, data, bytes);
    *constant = (sdx_const){.dtype = dtype, .rank = rank, .dims = dims, .count = count,
                            .data = copy, .bytes = bytes, .host = true,
                            .position = SDX_NO_POSITION, .name = b->prefix};
    return constant;
}

static sdx_id constant_value(sdx_build *b, const sdx_const *constant) {
    sdx_id id = new_value(b);
    if (id == SDX_NONE || !constant) return SDX_NONE;
    sdx_value_at(b->module, id)->constant = constant;
    if (!sdx_type_constant(b->module, constant, &sdx_value_at(b->module, id)->type)) no_memory(b);
    return b->status == SDX_STATUS_OK ? id : SDX_NONE;
}

/* In an allocation of its own, so that it can go once a step has packed it. */
sdx_id sdx_build_tensor(sdx_build *b, sdx_dtype dtype, int32_t rank, const int64_t *dims,
                        const void *data) {
    sdx_tensor tensor;
    sdx_const *constant = take(b, 1, sizeof *constant);
    int64_t *copy = take(b, (size_t)rank, sizeof *copy);
    if (!constant || !copy) return SDX_NONE;
    b->status = sdx_tensor_init(&tensor, dtype, rank, dims, NULL, b->error);
    if (b->status != SDX_STATUS_OK) return SDX_NONE;
    for (int32_t i = 0; i < rank; i++) copy[i] = dims[i];
    size_t bytes = tensor.count * sdx_dtype_size(dtype);
    *constant = (sdx_const){.dtype = dtype, .rank = rank, .dims = copy, .count = tensor.count,
                            .bytes = bytes, .host = true, .position = SDX_NO_POSITION,
                            .name = b->prefix};
    void *memory = sdx_module_own(b->module, bytes, &constant->owned);
    if (!memory) {
        no_memory(b);
        return SDX_NONE;
    }
    if (bytes) memcpy(memory, data, bytes);
    constant->data = memory;
    return constant_value(b, constant);
}

/* A scalar in memory layout. */
static const sdx_const *number(sdx_build *b, sdx_dtype dtype, double value) {
    union {
        double f64;
        float f32;
        uint16_t half;
        int64_t i64;
        int32_t i32;
    } as = {0};
    switch (dtype) {
    case SDX_DTYPE_FLOAT64: as.f64 = value; break;
    case SDX_DTYPE_FLOAT32: as.f32 = (float)value; break;
    case SDX_DTYPE_FLOAT16: as.half = sdx_f64_to_f16(value); break;
    case SDX_DTYPE_BFLOAT16: as.half = sdx_f64_to_bf16(value); break;
    case SDX_DTYPE_INT64: as.i64 = (int64_t)value; break;
    case SDX_DTYPE_INT32: as.i32 = (int32_t)value; break;
    default:
        sdx_build_fail(b, SDX_STATUS_UNSUPPORTED, "a number of type %s is needed",
                       sdx_dtype_name(dtype));
        return NULL;
    }
    return new_constant(b, dtype, 0, 1, &as);
}

sdx_id sdx_build_number(sdx_build *b, sdx_dtype dtype, double value) {
    return b->status == SDX_STATUS_OK ? constant_value(b, number(b, dtype, value)) : SDX_NONE;
}

sdx_id sdx_build_ints(sdx_build *b, const int64_t *values, size_t count) {
    return constant_value(b, new_constant(b, SDX_DTYPE_INT64, 1, count, values));
}

/* ---- what is known --------------------------------------------------------------------------- */

const sdx_type *sdx_build_type(const sdx_build *b, sdx_id value) {
    static const sdx_type unknown = {.rank = -1};
    return value == SDX_NONE ? &unknown : &sdx_value_at(b->module, value)->type;
}

bool sdx_build_same_shape(const sdx_build *b, sdx_id a, sdx_id c) {
    const sdx_type *x = sdx_build_type(b, a), *y = sdx_build_type(b, c);
    if (x->rank < 0 || x->rank != y->rank) return false;
    for (int32_t i = 0; i < x->rank; i++)
        if (!sdx_expr_same(x->dims[i], y->dims[i])) return false;
    return true;
}

bool sdx_build_known(const sdx_build *b, sdx_id value, int64_t *out, size_t capacity,
                     size_t *count) {
    if (value == SDX_NONE) return false;
    const sdx_value_def *def = sdx_value_at(b->module, value);
    const sdx_const *constant = def->constant;
    bool is_int = constant && (constant->dtype == SDX_DTYPE_INT64 ||
                               constant->dtype == SDX_DTYPE_INT32);
    if (is_int && constant->count <= capacity) {
        *count = constant->count;
        if (constant->count) sdx_const_decode(constant, out);
        if (constant->dtype == SDX_DTYPE_INT32) /* from the back: the array widens in place */
            for (size_t i = constant->count; i-- > 0;) {
                int32_t narrow;
                memcpy(&narrow, (const char *)out + i * sizeof narrow, sizeof narrow);
                out[i] = narrow;
            }
        return true;
    }
    if (!def->contents || def->content_count > capacity) return false;
    for (size_t i = 0; i < def->content_count; i++) {
        if (!sdx_expr_is_const(def->contents[i])) return false;
        out[i] = sdx_expr_value(def->contents[i]);
    }
    *count = def->content_count;
    return true;
}

/* ---- small combinations ---------------------------------------------------------------------- */

sdx_id sdx_build_dims(sdx_build *b, sdx_id value, int32_t from, int32_t to) {
    const sdx_type *type = sdx_build_type(b, value);
    int64_t dims[SDX_MAX_RANK];
    bool known = type->rank >= to;
    for (int32_t i = from; known && i < to; i++) {
        known = sdx_expr_is_const(type->dims[i]);
        if (known) dims[i - from] = sdx_expr_value(type->dims[i]);
    }
    if (known) return sdx_build_ints(b, dims, (size_t)(to - from));
    return SDX_EMIT_WITH(b, "Shape", SDX_ATTRS(sdx_a_int(b, "start", from),
                                               sdx_a_int(b, "end", to)), value);
}

sdx_id sdx_build_shape(sdx_build *b, sdx_id value) {
    int32_t rank = sdx_build_rank(b, value);
    return rank < 0 ? SDX_EMIT(b, "Shape", value) : sdx_build_dims(b, value, 0, rank);
}

sdx_id sdx_build_fill(sdx_build *b, sdx_id shape, sdx_dtype dtype, double value) {
    const sdx_const **constant = take(b, 1, sizeof *constant);
    if (!constant) return SDX_NONE;
    constant[0] = number(b, dtype, value);
    sdx_attr attr = {.name = "value", .kind = SDX_ATTR_TENSOR, .count = 1,
                     .as = {.tensors = constant}};
    return SDX_EMIT_WITH(b, "ConstantOfShape", SDX_ATTRS(attr), shape);
}

/* allowzero: a 0 in the shape is a length, not "as in the input". */
static sdx_id reshape(sdx_build *b, sdx_id value, sdx_id shape, bool allowzero) {
    return SDX_EMIT_WITH(b, "Reshape", SDX_ATTRS(sdx_a_int(b, "allowzero", allowzero)), value,
                         shape);
}

sdx_id sdx_build_reshape_like(sdx_build *b, sdx_id value, sdx_id like) {
    if (sdx_build_same_shape(b, value, like)) return value;
    return reshape(b, value, sdx_build_shape(b, like), true);
}

sdx_id sdx_build_reshape(sdx_build *b, sdx_id value, const int64_t *dims, size_t count) {
    return reshape(b, value, sdx_build_ints(b, dims, count), false);
}

sdx_id sdx_build_widen(sdx_build *b, sdx_id value, int32_t rank) {
    int64_t axes[SDX_MAX_RANK];
    int32_t more = rank - sdx_build_rank(b, value);
    for (int32_t i = 0; i < more; i++) axes[i] = i;
    return more > 0 ? SDX_EMIT(b, "Unsqueeze", value, sdx_build_ints(b, axes, (size_t)more)) : value;
}

sdx_id sdx_build_transpose(sdx_build *b, sdx_id value, const int64_t *perm, int32_t rank) {
    bool moves = false;
    for (int32_t i = 0; i < rank; i++) moves |= perm[i] != i;
    if (!moves) return value;
    return SDX_EMIT_WITH(b, "Transpose", SDX_ATTRS(sdx_a_ints(b, "perm", perm, (size_t)rank)),
                         value);
}

sdx_id sdx_build_sum(sdx_build *b, sdx_id value, const int64_t *axes, size_t count) {
    return count ? SDX_EMIT(b, "ReduceSum", value, sdx_build_ints(b, axes, count)) : value;
}

sdx_id sdx_build_cast(sdx_build *b, sdx_id value, sdx_dtype dtype) {
    if (value == SDX_NONE || !dtype || sdx_build_dtype(b, value) == dtype) return value;
    return SDX_EMIT_WITH(b, "Cast", SDX_ATTRS(sdx_a_int(b, "to", dtype)), value);
}
