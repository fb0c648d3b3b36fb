/* gradient_linear.c - rules of MatMul, Gemm and Einsum: the gradient of each factor of a product is
 * another product, of the output's gradient with the other factors. */
#include "ops/einsum.h"
#include "passes/gradient.h"

/* ---- MatMul ---------------------------------------------------------------------------------- */

static sdx_id unsqueeze(sdx_build *b, sdx_id value, int64_t axis) {
    return SDX_EMIT(b, "Unsqueeze", value, sdx_build_ints(b, &axis, 1));
}

/* The last two axes change places. */
static sdx_id transposed(sdx_build *b, sdx_id value) {
    int64_t perm[SDX_MAX_RANK];
    int32_t rank = sdx_build_rank(b, value);
    for (int32_t i = 0; i < rank; i++) perm[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
    return rank < 2 ? value : sdx_build_transpose(b, value, perm, rank);
}

/* All axes but the last become one. */
static sdx_id as_matrix(sdx_build *b, sdx_id value) {
    int64_t axis = sdx_build_rank(b, value) - 1;
    return SDX_EMIT_WITH(b, "Flatten", SDX_ATTRS(sdx_a_int(b, "axis", axis)), value);
}

SDX_GRADIENT_RULE(matmul) {
    sdx_build *b = sdx_gradient_build(g);
    sdx_id left = node->inputs[0], right = node->inputs[1], gradient = sdx_gradient_of(g, node, 0);
    if (!sdx_gradient_need_rank(g, node, left) || !sdx_gradient_need_rank(g, node, right)) return;
    /* A vector is a row on the left and a column on the right. */
    if (sdx_build_rank(b, right) == 1) {
        right = unsqueeze(b, right, 1);
        gradient = unsqueeze(b, gradient, -1);
    }
    if (sdx_build_rank(b, left) == 1) {
        left = unsqueeze(b, left, 0);
        gradient = unsqueeze(b, gradient, -2);
    }
    if (sdx_gradient_wanted(g, node, 0)) {
        sdx_id product = SDX_EMIT(b, "MatMul", gradient, transposed(b, right));
        sdx_gradient_give(g, node, 0,
                          sdx_build_reshape_like(b, sdx_gradient_sum_to(g, product, left),
                                                 node->inputs[0]));
    }
    if (sdx_gradient_wanted(g, node, 1)) {
        if (sdx_build_rank(b, right) == 2) { /* one product in place of a batch and a sum */
            left = as_matrix(b, left);
            gradient = as_matrix(b, gradient);
        }
        sdx_id product = SDX_EMIT(b, "MatMul", transposed(b, left), gradient);
        sdx_gradient_give(g, node, 1,
                          sdx_build_reshape_like(b, sdx_gradient_sum_to(g, product, right),
                                                 node->inputs[1]));
    }
}

/* ---- Gemm ------------------------------------------------------------------------------------ */

static sdx_id product_of(sdx_build *b, sdx_id left, bool turn_left, sdx_id right, bool turn_right,
                         float alpha) {
    return SDX_EMIT_WITH(b, "Gemm",
                         SDX_ATTRS(sdx_a_int(b, "transA", turn_left),
                                   sdx_a_int(b, "transB", turn_right),
                                   sdx_a_float(b, "alpha", alpha)),
                         left, right);
}

SDX_GRADIENT_RULE(gemm) {
    sdx_build *b = sdx_gradient_build(g);
    sdx_id left = node->inputs[0], right = node->inputs[1], gradient = sdx_gradient_of(g, node, 0);
    bool turn_left = sdx_node_int(node, "transA", 0) != 0;
    bool turn_right = sdx_node_int(node, "transB", 0) != 0;
    float alpha = sdx_node_float(node, "alpha", 1), beta = sdx_node_float(node, "beta", 1);
    if (sdx_gradient_wanted(g, node, 0))
        sdx_gradient_give(g, node, 0,
                          turn_left ? product_of(b, right, turn_right, gradient, true, alpha)
                                    : product_of(b, gradient, false, right, !turn_right, alpha));
    if (sdx_gradient_wanted(g, node, 1))
        sdx_gradient_give(g, node, 1,
                          turn_right ? product_of(b, gradient, true, left, turn_left, alpha)
                                     : product_of(b, left, !turn_left, gradient, false, alpha));
    if (sdx_gradient_wanted(g, node, 2)) {
        sdx_id factor = sdx_build_number(b, sdx_build_dtype(b, gradient), (double)beta);
        if (beta != 1) gradient = SDX_EMIT(b, "Mul", gradient, factor);
        sdx_gradient_give_sum(g, node, 2, gradient);
    }
}

/* ---- Einsum ---------------------------------------------------------------------------------- */

/* Appends a term to an equation; returns where it goes on. */
static char *write_term(char *at, const sdx_labels *term) {
    for (int32_t i = 0; i < term->count; i++) {
        uint8_t label = term->label[i];
        if (label == SDX_EINSUM_ELLIPSIS) at = memcpy(at, "...", 3), at += 3;
        else *at++ = (char)(label < 26 ? 'A' + label : 'a' + (label - 26));
    }
    *at = 0;
    return at;
}

/* Why term `own` of the equation cannot be turned around, or NULL. */
static const char *einsum_obstacle(const sdx_build *b, const sdx_einsum_params *p, uint32_t own,
                                   sdx_id x) {
    const sdx_labels *term = &p->terms[own];
    for (int32_t i = 0; i < term->count; i++)
        for (int32_t k = 0; k < i; k++)
            if (term->label[i] == term->label[k]) return "takes a diagonal";
    /* Dims that it was broadcast along come in front, where sum_to looks for them. */
    bool inside = sdx_labels_has(term, SDX_EINSUM_ELLIPSIS) &&
                  term->label[0] != SDX_EINSUM_ELLIPSIS;
    return inside && sdx_build_rank(b, x) < 0 ? "has an ellipsis within a term" : NULL;
}

/* The output's gradient takes the place of operand `own` in the product. Where an index of it
 * occurs nowhere else, the operand itself, as ones, brings the index in. */
static sdx_id einsum_gradient(sdx_build *b, const sdx_node *node, uint32_t own, sdx_id gradient) {
    const sdx_einsum_params *p = node->params;
    const sdx_labels *term = &p->terms[own];
    char equation[(SDX_EINSUM_TERMS + 3) * (SDX_MAX_RANK + 4)];
    sdx_id in[SDX_EINSUM_TERMS + 1] = {gradient};
    uint32_t count = 1;
    char *at = write_term(equation, &p->output);
    for (uint32_t t = 0; t < p->term_count; t++) {
        if (t == own) continue;
        *at++ = ',';
        at = write_term(at, &p->terms[t]);
        in[count++] = node->inputs[t];
    }
    bool missing = false;
    for (int32_t i = 0; i < term->count; i++) {
        bool found = sdx_labels_has(&p->output, term->label[i]);
        for (uint32_t t = 0; t < p->term_count && !found; t++)
            found = t != own && sdx_labels_has(&p->terms[t], term->label[i]);
        missing |= !found;
    }
    if (missing) {
        *at++ = ',';
        at = write_term(at, term);
        in[count++] = sdx_build_fill(b, sdx_build_shape(b, node->inputs[own]),
                                     sdx_build_dtype(b, gradient), 1);
    }
    at = memcpy(at, "->", 2), at += 2;
    write_term(at, term);
    const char *text = sdx_arena_string(&b->module->arena, equation, strlen(equation));
    if (!text) {
        sdx_build_fail(b, SDX_STATUS_NO_MEMORY, "not enough memory for an equation");
        return SDX_NONE;
    }
    return sdx_emit(b, "Einsum", SDX_ATTRS(sdx_a_text(b, "equation", text)), in, count);
}

SDX_GRADIENT_RULE(einsum) {
    sdx_build *b = sdx_gradient_build(g);
    const sdx_einsum_params *p = node->params;
    for (uint32_t i = 0; i < p->term_count; i++) {
        if (!sdx_gradient_wanted(g, node, i)) continue;
        const char *obstacle = einsum_obstacle(b, p, i, node->inputs[i]);
        sdx_id result = obstacle ? SDX_NONE
                                 : einsum_gradient(b, node, i, sdx_gradient_of(g, node, 0));
        int32_t rank = sdx_build_rank(b, node->inputs[i]);
        bool shifted = result != SDX_NONE && p->terms[i].count > 0 &&
                       p->terms[i].label[0] != SDX_EINSUM_ELLIPSIS &&
                       sdx_build_rank(b, result) != rank;
        if (shifted) obstacle = "has an ellipsis within a term that others broadcast";
        if (obstacle) {
            sdx_gradient_refuse(g, node, obstacle);
            return;
        }
        sdx_gradient_give_sum(g, node, i, result);
    }
}
