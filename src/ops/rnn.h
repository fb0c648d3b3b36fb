/* rnn.h - what RNN, GRU and LSTM share: parameters, sizes and memory of one call. rnn.c reads the
 * node and infers, rnn_pack.c packs constant matrices, rnn_run.c brings the operands into a computable type and walks the directions,
 * rnn_cells.h holds the arithmetic of the cells for one element type. */
#ifndef SDX_OPS_RNN_H
#define SDX_OPS_RNN_H

#include "ops/matmul.h"

typedef enum sdx_rnn_cell { SDX_RNN_PLAIN, SDX_RNN_GRU, SDX_RNN_LSTM } sdx_rnn_cell;

typedef struct sdx_rnn_kind {
    sdx_rnn_cell cell;
    int gates;       /* rows of W and R per hidden unit */
    int activations; /* per direction */
} sdx_rnn_kind;

typedef enum sdx_rnn_activation {
    SDX_RNN_ACT_RELU,
    SDX_RNN_ACT_TANH,
    SDX_RNN_ACT_SIGMOID,
    SDX_RNN_ACT_AFFINE,
    SDX_RNN_ACT_LEAKY_RELU,
    SDX_RNN_ACT_THRESHOLDED_RELU,
    SDX_RNN_ACT_SCALED_TANH,
    SDX_RNN_ACT_HARD_SIGMOID,
    SDX_RNN_ACT_ELU,
    SDX_RNN_ACT_SOFTSIGN,
    SDX_RNN_ACT_SOFTPLUS
} sdx_rnn_activation;

typedef struct sdx_rnn_function {
    sdx_rnn_activation kind;
    float alpha, beta;
} sdx_rnn_function;

typedef struct sdx_rnn_params {
    bool reverse, both; /* direction; both: forward, then reverse */
    bool batch_first;   /* layout 1 */
    bool has_clip, input_forget, linear_before_reset;
    float clip;
    int64_t hidden_size; /* 0: as R says */
    sdx_rnn_function functions[2][3]; /* per direction: f, g, h */
} sdx_rnn_params;

/* Inputs in their order; LSTM has two more than the others. */
enum {
    SDX_RNN_X, SDX_RNN_W, SDX_RNN_R, SDX_RNN_B, SDX_RNN_LENGTHS, SDX_RNN_H0, SDX_RNN_C0, SDX_RNN_P
};

typedef struct sdx_rnn_sizes {
    size_t time, batch, input, hidden, directions, gates;
    size_t chunk; /* time steps whose input products are made at once */
} sdx_rnn_sizes;

/* Constant matrices of one direction (kernels/matrix.h): W' with the biases, and R'. The last gate of a GRU
 * has its part of R by itself, since it may have to wait for the others. */
typedef struct sdx_rnn_matrices {
    const float *w, *r, *rest; /* rest: GRU only */
} sdx_rnn_matrices;

/* Rows of the input product made at once, unless the batch comes first: then all. */
#define SDX_RNN_CHUNK_ROWS 256

sdx_status sdx_rnn_pack(sdx_pack *pack);
sdx_status sdx_rnn_run(sdx_call *call);

#endif
