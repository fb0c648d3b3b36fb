/* ml_tree.h - decision trees of domain ai.onnx.ml, private to ml_tree*.c. Two steps lie between the
 * attributes and a run: ml_tree_read.c turns the attributes of either style (a list of nodes with
 * ids, or version 5's positions) into one plain list, ml_tree_build.c checks that it has no cycles
 * and lays it out for walking. */
#ifndef SDX_OPS_ML_TREE_H
#define SDX_OPS_ML_TREE_H

#include "ops/ml.h"

typedef enum sdx_tree_mode { /* the numbers of TreeEnsemble's nodes_modes */
    SDX_TREE_LEQ,
    SDX_TREE_LT,
    SDX_TREE_GTE,
    SDX_TREE_GT,
    SDX_TREE_EQ,
    SDX_TREE_NEQ,
    SDX_TREE_MEMBER,
    SDX_TREE_MODES,
    SDX_TREE_MIXED = SDX_TREE_MODES /* of a forest: not all nodes have one mode */
} sdx_tree_mode;

/* An edge is the number of a node; or of a leaf, with this bit. */
#define SDX_TREE_LEAF 0x80000000u
#define SDX_TREE_MAX_FEATURE ((1u << 27) - 1)

/* ---- as the attributes give it --------------------------------------------------------------- */

typedef struct sdx_tree_step {
    double value;
    int64_t feature;
    uint32_t next[2]; /* edges: where the test holds, where not */
    uint32_t set;     /* MEMBER */
    uint8_t mode;
    bool track;       /* a missing value (NaN) goes where the test holds */
} sdx_tree_step;

/* Arrays that the build only reads. Leaf l has the weights [leaf_first[l], leaf_first[l + 1]), set
 * s the values [set_first[s], set_first[s + 1]), ascending. */
typedef struct sdx_tree_source {
    size_t step_count, leaf_count, weight_count, tree_count, set_count;
    sdx_tree_step *steps;
    uint32_t *leaf_first, *weight_target, *set_first, *roots;
    double *weights, *set_values;
    size_t targets;
    bool wide; /* float64 is needed to hold thresholds and weights */
    /* For messages: step s is node node_ids[origin[s]] of tree tree_ids[origin[s]]. NULL: it is
     * node s. */
    const uint32_t *origin;
    const int64_t *tree_ids, *node_ids;
} sdx_tree_source;

/* What the attributes of one style are called. */
typedef struct sdx_tree_names {
    const char *trees, *nodes, *ids, *weights, *weights_tensor;
} sdx_tree_names;

/* Lives as long as temp. targets 0: as many as the weights name. */
sdx_status sdx_tree_read_nodes(sdx_prep *prep, sdx_arena *temp, const sdx_tree_names *names,
                               size_t targets, sdx_tree_source *out);
sdx_status sdx_tree_read_5(sdx_prep *prep, sdx_arena *temp, size_t targets, sdx_tree_source *out);
/* A list of floats, or from version 3 a tensor; NULL and 0 when absent. *wide becomes true for
 * float64. */
sdx_status sdx_tree_read_reals(sdx_prep *prep, sdx_arena *temp, const char *name,
                               const char *tensor_name, double **out, size_t *count, bool *wide);

/* ---- as it is walked ------------------------------------------------------------------------- */

#define SDX_TREE_NODE(real)                                                                       \
    struct {                                                                                      \
        union {                                                                                   \
            real value;                                                                           \
            uint32_t set;                                                                         \
        };                                                                                        \
        uint32_t next[2]; /* edges: where the test fails, where it holds */                       \
        uint32_t feature : 27, mode : 4, track : 1;                                               \
    }
typedef SDX_TREE_NODE(float) sdx_tree_node32;   /* 16 bytes */
typedef SDX_TREE_NODE(double) sdx_tree_node64;

typedef struct sdx_forest {
    sdx_tree_node32 *nodes32; /* either these and weights32 … */
    sdx_tree_node64 *nodes64; /* … or these and weights64 */
    float *weights32;
    double *weights64;
    uint32_t *roots; /* edges */
    size_t tree_count, node_count, targets;
    uint32_t *leaf_first;    /* NULL: leaf l has weight l alone */
    uint32_t *weight_target; /* NULL: there is one target */
    uint32_t *set_first;
    double *set_values;
    size_t features; /* columns that the nodes look at: the input must have as many */
    sdx_tree_mode mode;
    bool tracks, wide;
} sdx_forest;

sdx_status sdx_forest_build(sdx_prep *prep, sdx_arena *temp, const sdx_tree_source *source,
                            sdx_forest *out);

/* ---- operators ------------------------------------------------------------------------------- */

typedef enum sdx_tree_sum { /* the numbers of TreeEnsemble's aggregate_function */
    SDX_TREE_AVERAGE,
    SDX_TREE_SUM,
    SDX_TREE_MIN,
    SDX_TREE_MAX
} sdx_tree_sum;

typedef struct sdx_tree_params {
    sdx_forest forest;
    int post, sum;
    double *base; /* NULL: none */
    size_t base_count;
    bool classifier;
    sdx_ml_labels labels;
    bool one_class_weighed; /* of two classes, all weights speak of one */
    bool all_positive;      /* weights */
} sdx_tree_params;

/* Bytes per row of scores and input (ml_tree_run.c), 0 for what needs no room. */
typedef struct sdx_tree_room {
    size_t input, scores, seen, floats; /* per element; the last three per target */
    sdx_dtype input_type;               /* that the trees are walked with: FLOAT32 or FLOAT64 */
} sdx_tree_room;
sdx_tree_room sdx_tree_room_of(const sdx_tree_params *p, sdx_dtype input, sdx_dtype output);
sdx_status sdx_tree_run(sdx_call *call);

#endif
