/* mlp.c - pass: two packed products in a row become one step that works on a block of rows at a time
 * (kernels/mlp.h), where what lies between them is larger than a cache and the matrices are small. Not before
 * the other passes are through: scales and sums behind the second product have to be in it by then. */
#include "kernels/mlp.h"
#include "ops/fused.h"
#include "passes/passes.h"

#define WORTH_BYTES ((int64_t)512 << 10) /* between the products, for one sample */

static bool is_product(const sdx_rewrite *r, const sdx_node *node) {
    return sdx_is_fused(node, "MatMul") && sdx_constant_of(r, node->inputs[1]);
}

/* Rows and columns of a product's matrix. */
static void matrix_dims(const sdx_rewrite *r, const sdx_node *node, size_t *depth, size_t *columns) {
    const sdx_const *matrix = sdx_constant_of(r, node->inputs[1]);
    bool turned = sdx_node_int(node, "transposed", 0) != 0;
    *depth = (size_t)matrix->dims[turned ? 1 : 0];
    *columns = (size_t)matrix->dims[turned ? 0 : 1];
}

/* Bytes of a value without its first dim; 0 where they are not known. */
static int64_t sample_bytes(const sdx_rewrite *r, sdx_id value) {
    const sdx_type *type = sdx_build_type(&r->build, value);
    int64_t bytes = sizeof(float);
    for (int32_t i = 1; i < type->rank; i++) {
        if (!sdx_expr_is_const(type->dims[i]) ||
            __builtin_mul_overflow(bytes, sdx_expr_value(type->dims[i]), &bytes))
            return 0;
    }
    return type->rank > 1 ? bytes : 0;
}

static void join(sdx_rewrite *r, sdx_id first, sdx_id second) {
    sdx_build *b = &r->build;
    const sdx_node a = *sdx_node_at(r->module, first), c = *sdx_node_at(r->module, second);
    const sdx_node *stages[2] = {&a, &c};
    sdx_attr attrs[10];
    uint32_t count = 0;
    for (uint32_t i = 0; i < 2; i++) {
        const sdx_node *node = stages[i];
        attrs[count++] = sdx_a_int(b, i ? "transposed1" : "transposed0",
                                   sdx_node_int(node, "transposed", 0));
        attrs[count++] = sdx_a_float(b, i ? "scale1" : "scale0", sdx_node_float(node, "scale", 1));
        attrs[count++] = sdx_a_int(b, sdx_tail_names[i][0], sdx_node_int(node, "act", 0));
        attrs[count++] = sdx_a_float(b, sdx_tail_names[i][1], sdx_node_float(node, "act_a", 0));
        attrs[count++] = sdx_a_float(b, sdx_tail_names[i][2], sdx_node_float(node, "act_b", 0));
    }
    const sdx_id in[8] = {a.inputs[0], a.inputs[1], sdx_node_input(&a, 2), sdx_node_input(&a, 4),
                          c.inputs[1], sdx_node_input(&c, 2), sdx_node_input(&c, 4),
                          sdx_node_input(&c, 3)};
    const sdx_id from[2] = {second, first};
    sdx_rewrite_from(r, from, 2);
    sdx_supplant(r, c.outputs[0], sdx_emit(b, "sardonyx:Mlp", attrs, count, in, 8));
}

sdx_status sdx_pass_mlp(sdx_rewrite *r) {
    size_t count = r->settled ? r->module->nodes.count : 0;
    for (size_t id = 0; id < count && r->build.status == SDX_STATUS_OK; id++) {
        const sdx_node *node = sdx_node_at(r->module, (sdx_id)id);
        if (!is_product(r, node) || sdx_node_input(node, 3) != SDX_NONE) continue;
        sdx_id user = sdx_sole_user(r, node->outputs[0]);
        if (user == SDX_NONE || sample_bytes(r, node->outputs[0]) < WORTH_BYTES) continue;
        const sdx_node *next = sdx_node_at(r->module, user);
        if (!is_product(r, next) || next->inputs[0] != node->outputs[0]) continue;
        size_t depth, hidden, same, columns;
        matrix_dims(r, node, &depth, &hidden);
        matrix_dims(r, next, &same, &columns);
        if (sdx_mlp_pays(depth, hidden, columns)) join(r, (sdx_id)id, user);
    }
    return r->build.status;
}
