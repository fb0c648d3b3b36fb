/* rnn_pack.c - constant matrices of RNN, GRU and LSTM in the layout of packed products (kernels/matrix.h),
 * from level 2 on: a recurrence reads them once a step, and sums then run in one order for any batch. */
#include "kernels/matrix.h"
#include "ops/rnn.h"

/* A node whose W and R, and B where there is one, are constants of float32. */
static bool can_pack(const sdx_pack *pack) {
    for (uint32_t i = SDX_RNN_W; i <= SDX_RNN_B; i++) {
        bool present = i < pack->node->input_count && pack->node->inputs[i] != SDX_NONE;
        const sdx_const *constant = sdx_pack_constant(pack, i);
        if (i == SDX_RNN_B && !present) continue;
        if (!constant || constant->dtype != SDX_DTYPE_FLOAT32) return false;
    }
    return pack->optimize >= 2;
}

/* Both biases of direction d in one, but for what a GRU with linear_before_reset adds inside. */
static sdx_status join_biases(sdx_pack *pack, size_t d, size_t wide, size_t joined, float **out) {
    const void *bias;
    SDX_TRY(sdx_pack_floats(pack, SDX_RNN_B, &bias));
    *out = sdx_arena_array(pack->temp, wide + 1, sizeof **out);
    if (!*out) return sdx_fail_memory(pack->error, wide * sizeof **out, "packed constants");
    for (size_t j = 0; j < wide; j++) {
        float own = sdx_float_at(bias, 2 * d * wide + j);
        (*out)[j] = j < joined ? own + sdx_float_at(bias, (2 * d + 1) * wide + j) : own;
    }
    return SDX_STATUS_OK;
}

/* Rows [first, first + count) of matrix `input` of direction d, of `rows` rows, as columns. */
static sdx_status pack_rows(sdx_pack *pack, uint32_t input, size_t d, size_t rows, size_t first,
                            size_t count, const float *bias, const float **out) {
    size_t depth = (size_t)sdx_pack_constant(pack, input)->dims[2];
    float *to = sdx_pack_piece(pack, SDX_DTYPE_FLOAT32, sdx_matrix_packed_size(depth, count));
    if (!to) return pack->error->code;
    *out = to;
    if (pack->filled) return SDX_STATUS_OK;
    const void *from;
    SDX_TRY(sdx_pack_floats(pack, input, &from));
    const char *part = (const char *)from + (d * rows + first) * depth * sizeof(float);
    sdx_matrix_pack(pack->threads, depth, count, part, 1, depth, 1.0f, bias, to, pack->read);
    return SDX_STATUS_OK;
}

sdx_status sdx_rnn_pack(sdx_pack *pack) {
    const sdx_rnn_kind *kind = pack->def->aux;
    const sdx_rnn_params *params = pack->params;
    if (!can_pack(pack)) return SDX_STATUS_OK;
    const int64_t *dims = sdx_pack_constant(pack, SDX_RNN_R)->dims;
    size_t directions = (size_t)dims[0], wide = (size_t)dims[1], hidden = (size_t)dims[2];
    size_t together = kind->cell == SDX_RNN_GRU ? 2 * hidden : wide;
    bool has_bias = sdx_pack_constant(pack, SDX_RNN_B) != NULL;
    sdx_rnn_matrices *packed = sdx_pack_struct(pack, directions * sizeof *packed);
    if (!packed) return pack->error->code;
    for (size_t d = 0; d < directions; d++) {
        float *bias = NULL;
        bool linear = kind->cell == SDX_RNN_GRU && params->linear_before_reset;
        packed[d] = (sdx_rnn_matrices){NULL, NULL, NULL};
        if (has_bias) SDX_TRY(join_biases(pack, d, wide, linear ? together : wide, &bias));
        SDX_TRY(pack_rows(pack, SDX_RNN_W, d, wide, 0, wide, bias, &packed[d].w));
        SDX_TRY(pack_rows(pack, SDX_RNN_R, d, wide, 0, together, NULL, &packed[d].r));
        if (together < wide)
            SDX_TRY(pack_rows(pack, SDX_RNN_R, d, wide, together, wide - together, NULL,
                              &packed[d].rest));
    }
    pack->taken |= 1u << SDX_RNN_W | 1u << SDX_RNN_R;
    pack->packed = packed;
    return SDX_STATUS_OK;
}
