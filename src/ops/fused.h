/* fused.h - shared by the operators that passes make (fused.def): the attributes of a tail. */
#ifndef SDX_OPS_FUSED_H
#define SDX_OPS_FUSED_H

#include "kernels/conv.h"
#include "kernels/tail.h"
#include "ops/op.h"

/* Attributes `act` (an sdx_act), `act_a`, `act_b`; addend and bias are inputs. */
typedef struct sdx_fused_tail {
    int64_t act;
    float a, b;
} sdx_fused_tail;

/* A packed file can name these operators too, so that they check what they are given like all others. */

/* Input i, where it is there, has so many elements (a bias, an addend). */
sdx_status sdx_fused_require_count(sdx_infer *inf, uint32_t i, sdx_expr count, const char *what);
/* … as many as output 0, whose shape is set. */
sdx_status sdx_fused_require_like_output(sdx_infer *inf, uint32_t i);
/* Input i is known to have this rank, and no dim that is known to be 0. */
sdx_status sdx_fused_require_shape(sdx_infer *inf, uint32_t i, int32_t rank);

/* What a sardonyx:Conv convolves, by which its way is chosen; sizes that are open are those that it takes
 * for usual. False where it is about planes, which are done in one way. */
bool sdx_fused_conv_shape(const sdx_module *module, const sdx_node *node, sdx_conv_shape *shape);

/* A constant matrix that is packed (kernels/matrix.h), with the inputs behind which it, its bias and the
 * factors of its columns stand; the last two may be left out. */
typedef struct sdx_fused_matrix {
    uint32_t matrix, bias, factors;
    bool transposed; /* it is (columns, depth) */
    float scale;     /* of the product */
} sdx_fused_matrix;
/* Packs it as the next piece and takes its inputs over. */
sdx_status sdx_fused_matrix_pack(sdx_pack *pack, const sdx_fused_matrix *m, size_t *depth,
                                 size_t *columns, float **to);

sdx_status sdx_fused_tail_prepare(sdx_prep *prep, sdx_fused_tail *tail);
/* Of operators with several stages: act0, act0_a, act0_b and so on. */
extern const char *const sdx_tail_names[3][3];
sdx_status sdx_fused_tail_prepare_stage(sdx_prep *prep, uint32_t stage, sdx_fused_tail *tail);
/* The tail of a kernel; addend may be NULL, and has `stride` floats from row to row. */
sdx_tail sdx_fused_tail_of(const sdx_fused_tail *tail, const sdx_tensor *addend, size_t stride);

#endif
