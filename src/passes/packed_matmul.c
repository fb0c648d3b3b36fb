/* packed_matmul.c - products with a constant matrix (MatMul, Gemm) become sardonyx:MatMul, whose
 * matrix is packed when the program is made. */
#include "passes/passes.h"

static bool is_f32(sdx_rewrite *r, sdx_id value) {
    return value != SDX_NONE && sdx_build_dtype(&r->build, value) == SDX_DTYPE_FLOAT32;
}

static const sdx_const *matrix_of(sdx_rewrite *r, sdx_id value) {
    const sdx_const *matrix = sdx_constant_of(r, value);
    return matrix && matrix->rank == 2 && matrix->count > 0 &&
                   matrix->dtype == SDX_DTYPE_FLOAT32
               ? matrix
               : NULL;
}

static bool pack_matmul(sdx_rewrite *r, const sdx_node *node) {
    sdx_id in[2] = {node->inputs[0], node->inputs[1]}, out = node->outputs[0];
    if (!is_f32(r, in[0]) || !matrix_of(r, in[1]) || sdx_build_rank(&r->build, in[0]) < 1)
        return false;
    return sdx_supplant(r, out, sdx_emit(&r->build, "sardonyx:MatMul", NULL, 0, in, 2));
}

/* C of Gemm times beta as one number a column: a vector or a row, or one number for all. */
static bool bias_of(sdx_rewrite *r, sdx_id c, double beta, int64_t columns, sdx_id *bias) {
    size_t count;
    *bias = SDX_NONE;
    if (c == SDX_NONE || beta == 0.0) return true;
    const sdx_const *constant = sdx_constant_of(r, c);
    const double *values = constant ? sdx_constant_doubles(r, c, &count) : NULL;
    if (!values || (count != 1 && count != (size_t)columns) ||
        (count != 1 && constant->dims[constant->rank - 1] != columns))
        return false;
    double *all = sdx_arena_array(&r->scratch, (size_t)columns + 1, sizeof *all);
    if (!all) return false;
    for (int64_t i = 0; i < columns; i++) all[i] = values[count == 1 ? 0 : i] * beta;
    *bias = sdx_emit_floats(r, SDX_DTYPE_FLOAT32, 1, &columns, all);
    return true;
}

static bool pack_gemm(sdx_rewrite *r, const sdx_node *node) {
    sdx_build *b = &r->build;
    sdx_id a = node->inputs[0], out = node->outputs[0];
    const sdx_const *matrix = matrix_of(r, node->inputs[1]);
    int64_t transposed = sdx_node_int(node, "transB", 0);
    if (!is_f32(r, a) || !matrix || sdx_node_int(node, "transA", 0) || sdx_build_rank(b, a) != 2)
        return false;
    sdx_id bias;
    if (!bias_of(r, sdx_node_input(node, 2), (double)sdx_node_float(node, "beta", 1.0f),
                 matrix->dims[transposed ? 0 : 1], &bias))
        return false;
    const sdx_attr attrs[] = {sdx_a_int(b, "transposed", transposed != 0),
                              sdx_a_float(b, "scale", sdx_node_float(node, "alpha", 1.0f))};
    sdx_id in[3] = {a, node->inputs[1], bias};
    return sdx_supplant(r, out, sdx_emit(b, "sardonyx:MatMul", attrs, 2, in, 3));
}

sdx_status sdx_pass_packed_matmul(sdx_rewrite *r) {
    size_t count = r->module->nodes.count;
    for (size_t id = 0; id < count && r->build.status == SDX_STATUS_OK; id++) {
        bool matmul = sdx_node_if(r, (sdx_id)id, "MatMul") != NULL;
        if (!matmul && !sdx_node_if(r, (sdx_id)id, "Gemm")) continue;
        const sdx_node node = *sdx_node_at(r->module, (sdx_id)id);
        sdx_rewrite_at(r, (sdx_id)id);
        if (matmul) pack_matmul(r, &node);
        else pack_gemm(r, &node);
    }
    return r->build.status;
}
