/* einsum.h - what einsum.c (equation, shapes) hands to einsum_run.c (the computation): terms with
 * a label per dim, and steps that contract two terms each. A step is a batched matrix product
 * over four groups of labels: batch (in both, kept), m (left, kept), n (right, kept), k (in both,
 * summed); labels of one side alone that are not kept are summed before. */
#ifndef SDX_OPS_EINSUM_H
#define SDX_OPS_EINSUM_H

#include "ops/matmul.h"

#define SDX_EINSUM_LETTERS 52
#define SDX_EINSUM_LABELS (SDX_EINSUM_LETTERS + SDX_MAX_RANK) /* letters, then dims of "..." */
#define SDX_EINSUM_TERMS 32                                   /* inputs supported */
#define SDX_EINSUM_ELLIPSIS 0xff                              /* in an equation only */

typedef struct sdx_labels {
    int32_t count;
    uint8_t label[SDX_MAX_RANK];
} sdx_labels;

typedef struct sdx_einsum_params {
    uint32_t term_count;
    sdx_labels *terms; /* as written, "..." as one entry */
    sdx_labels output;
} sdx_einsum_params;

typedef struct sdx_einsum_step {
    sdx_labels batch, m, n, k, left_sum, right_sum;
    sdx_labels result; /* batch, m, n */
} sdx_einsum_step;

/* An ellipsis turned into the labels of `dims` dims; the last of them is always the same label,
 * so that shorter ones are aligned to the right. False past SDX_MAX_RANK. */
bool sdx_einsum_expand(const sdx_labels *term, int32_t dims, sdx_labels *out);
bool sdx_labels_has(const sdx_labels *labels, uint8_t label);
/* `left` and operand `right` contracted; keep[label] says which labels later terms or the output
 * still need. False if the result would have more than SDX_MAX_RANK dims. */
bool sdx_einsum_plan(const sdx_labels *left, const sdx_labels *right, const bool *keep,
                     sdx_einsum_step *step);
/* Labels needed after operand `done` was contracted. */
void sdx_einsum_keep(const sdx_labels *terms, uint32_t count, uint32_t done,
                     const sdx_labels *output, bool keep[SDX_EINSUM_LABELS]);
/* Whether the product of a step can be written straight to a tensor of these labels. */
bool sdx_einsum_direct(const sdx_einsum_step *step, const sdx_labels *output);
/* Whether an operand might have to be rearranged for its step; else it is a matrix as it lies. */
static inline bool sdx_einsum_may_pack(const sdx_labels *rows, const sdx_labels *columns,
                                       const sdx_labels *sums) {
    return rows->count > 1 || columns->count > 1 || sums->count > 0;
}

sdx_status sdx_einsum_run(sdx_call *call);

#endif
