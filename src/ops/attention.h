/* attention.h - parameters and geometry of Attention, shared by attention.c (the node, shapes) and
 * attention_run.c with attention_rows.h (the computation). */
#ifndef SDX_OPS_ATTENTION_H
#define SDX_OPS_ATTENTION_H

#include "ops/matmul.h"

enum {
    SDX_ATT_Q, SDX_ATT_K, SDX_ATT_V, SDX_ATT_MASK, SDX_ATT_PAST_K, SDX_ATT_PAST_V, SDX_ATT_NONPAD
};
enum { SDX_ATT_Y, SDX_ATT_PRESENT_K, SDX_ATT_PRESENT_V, SDX_ATT_QK };

typedef struct sdx_attention_params {
    bool causal, has_scale;
    float scale, softcap;
    int64_t q_heads, kv_heads; /* 0: the input has 4 dims and says it */
    int64_t left, right;       /* window; -1: open */
    int mode;                  /* what the fourth output shows */
    sdx_dtype precision;       /* of the softmax; UNDEFINED: as computed */
} sdx_attention_params;

/* Rows of the score matrix made at a time, and how many such blocks are worked on at once. */
#define SDX_ATT_ROWS 64
#define SDX_ATT_SLOTS 8

/* float64 if one of the types is, else float32. */
static inline sdx_dtype sdx_attention_type(sdx_dtype a, sdx_dtype b) {
    return a == SDX_DTYPE_FLOAT64 || b == SDX_DTYPE_FLOAT64 ? SDX_DTYPE_FLOAT64
                                                            : SDX_DTYPE_FLOAT32;
}
/* Elements of a float type as float32 or float64, and back. */
void sdx_attention_widen(sdx_dtype from, const void *in, sdx_dtype to, void *out, size_t count);
void sdx_attention_narrow(sdx_dtype from, const void *in, sdx_dtype to, void *out, size_t count);

sdx_status sdx_attention_run(sdx_call *call);

#endif
