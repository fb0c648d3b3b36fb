/* affine.c - pass: y = x * scale + shift for each channel, where x is what a Conv, ConvTranspose, Gemm or
 * MatMul with constant weights makes, goes into the weights and the bias: BatchNormalization outside
 * training, and Mul, Div, Add and Sub with constants. Computed in double. Layouts and products that other
 * passes have chosen by then (sardonyx:Conv, sardonyx:ConvTranspose, sardonyx:MatMul) take them too. */
#include <math.h>
#include <string.h>

#include "kernels/tail.h"
#include "passes/passes.h"

#define LARGEST ((size_t)1 << 26) /* weights of one node: they are held as doubles for a while */

/* The node that weights belong to, and where its channels are. */
typedef struct host {
    sdx_id id;
    const char *op; /* that takes its place */
    sdx_id data, weights, bias;
    bool packs;     /* takes factors of its channels while it packs the weights, as input 4 */
    sdx_id factors; /* that it has already, or SDX_NONE */
    sdx_dtype dtype;
    int64_t channels;
    bool last;      /* the channels are the last axis of what it makes, not axis 1 */
    size_t inner;   /* weights behind one channel, which are scaled alike */
    size_t outer;   /* runs of all channels before: of a ConvTranspose or Gemm */
    int64_t groups; /* of a ConvTranspose: each has channels of its own */
    double alpha, beta; /* of a Gemm */
} host;

static bool find_conv(const sdx_rewrite *r, const sdx_node *node, host *h) {
    const sdx_const *w = sdx_constant_of(r, h->weights);
    bool transposed = strcmp(node->op_type, "ConvTranspose") == 0;
    if (w->rank < 3) return false;
    int64_t group = sdx_node_int(node, "group", 1);
    if (group < 1) return false;
    h->op = node->op_type;
    h->inner = sdx_dims_product(w->dims, transposed ? 2 : 1, w->rank);
    h->outer = 1;
    h->groups = 1;
    h->channels = w->dims[0];
    if (transposed) {
        h->channels = w->dims[1] * group;
        h->groups = group;
        h->outer = (size_t)(w->dims[0] / group);
    }
    return true;
}

static bool find_product(const sdx_rewrite *r, const sdx_node *node, host *h) {
    const sdx_const *w = sdx_constant_of(r, h->weights);
    bool gemm = strcmp(node->op_type, "Gemm") == 0;
    if (w->rank != 2 || sdx_build_rank(&r->build, h->data) != 2) return false;
    bool turned = gemm && sdx_node_int(node, "transB", 0) != 0;
    h->op = "Gemm";
    h->groups = 1;
    h->channels = w->dims[turned ? 0 : 1];
    h->outer = turned ? 1 : (size_t)w->dims[0];
    h->inner = turned ? (size_t)w->dims[1] : 1;
    h->alpha = gemm ? (double)sdx_node_float(node, "alpha", 1) : 1;
    h->beta = gemm ? (double)sdx_node_float(node, "beta", 1) : 1;
    return !gemm || node->version >= 7;
}

/* sardonyx:Conv, sardonyx:ConvTranspose and sardonyx:MatMul, as long as their tail is empty. */
static bool find_fused(const sdx_rewrite *r, const sdx_node *node, bool conv, host *h) {
    const sdx_const *w = sdx_constant_of(r, h->weights);
    if (sdx_node_input(node, 3) != SDX_NONE || sdx_node_int(node, "act", SDX_ACT_NONE)) return false;
    h->last = true;
    if (conv) {
        if (!find_conv(r, node, h)) return false;
        h->op = strcmp(node->op_type, "Conv") == 0 ? "sardonyx:Conv" : "sardonyx:ConvTranspose";
        return true;
    }
    bool turned = sdx_node_int(node, "transposed", 0) != 0;
    h->op = "sardonyx:MatMul";
    h->groups = 1;
    h->channels = w->dims[turned ? 0 : 1];
    h->outer = turned ? 1 : (size_t)w->dims[0];
    h->inner = turned ? sdx_dims_product(w->dims, 1, w->rank) : 1;
    h->packs = true;
    h->factors = sdx_node_input(node, 4);
    return true;
}

/* The node that makes a value, if it is of a kind that may be a host. */
static const sdx_node *maker_of(const sdx_rewrite *r, sdx_id value, bool *fused, bool *conv) {
    static const char *const ops[] = {"Conv", "ConvTranspose", "Gemm", "MatMul"};
    sdx_id maker = sdx_maker(r, value);
    if (maker == SDX_NONE) return NULL;
    const sdx_node *node = sdx_node_at(r->module, maker);
    *fused = node->op && !node->dead && strcmp(node->domain, SDX_DOMAIN_FUSED) == 0;
    for (uint32_t k = 0; k < SDX_COUNT(ops); k++) {
        *conv = k < 2;
        if (*fused ? strcmp(node->op_type, ops[k]) == 0 : sdx_maker_if(r, value, ops[k]) != NULL)
            return node;
    }
    return NULL;
}

static bool find_host(sdx_rewrite *r, sdx_id value, host *h) {
    bool fused, conv;
    const sdx_node *node = maker_of(r, value, &fused, &conv);
    if (!node || node->input_count < 2 || sdx_sole_user(r, value) == SDX_NONE) return false;
    *h = (host){.id = sdx_maker(r, value), .data = node->inputs[0], .weights = node->inputs[1],
                .bias = sdx_node_input(node, 2), .factors = SDX_NONE, .alpha = 1, .beta = 1};
    const sdx_const *w = sdx_constant_of(r, h->weights);
    const sdx_const *b = sdx_constant_of(r, h->bias);
    if (!w || (h->bias != SDX_NONE && !b)) return false;
    h->dtype = w->dtype;
    if (w->dtype != SDX_DTYPE_FLOAT32 && w->dtype != SDX_DTYPE_FLOAT64) return false;
    if (w->count > LARGEST) return false;
    if (!(fused ? find_fused(r, node, conv, h)
                : conv ? find_conv(r, node, h) : find_product(r, node, h)))
        return false;
    /* A bias for each channel, or one for all. */
    return !b || (b->rank <= 1 && (b->count == 1 || b->count == (size_t)h->channels));
}

/* ---- scale and shift -------------------------------------------------------------------------- */

static bool batch_norm(sdx_rewrite *r, const sdx_node *node, const host *h, double *scale,
                       double *shift) {
    const double *in[5] = {NULL};
    for (uint32_t o = 1; o < node->output_count; o++)
        if (node->outputs[o] != SDX_NONE) return false;
    if (sdx_node_int(node, "training_mode", 0) || !sdx_node_int(node, "spatial", 1)) return false;
    /* It works along axis 1. */
    if (h->last && sdx_build_rank(&r->build, node->inputs[0]) != 2) return false;
    for (uint32_t i = 1; i < 5; i++) {
        size_t count = 0;
        in[i] = sdx_constant_doubles(r, sdx_node_input(node, i), &count);
        if (!in[i] || count != (size_t)h->channels) return false;
    }
    double epsilon = (double)sdx_node_float(node, "epsilon", 1e-5f);
    for (int64_t c = 0; c < h->channels; c++) {
        scale[c] = in[1][c] / sqrt(in[4][c] + epsilon);
        shift[c] = in[2][c] - in[3][c] * scale[c];
        if (!isfinite(scale[c]) || !isfinite(shift[c])) return false;
    }
    return true;
}

/* Whether a constant lies along the channels of a value of that rank; *step is 0 if it is one for
 * all. */
static bool along_channels(const sdx_const *constant, int32_t rank, const host *h, size_t *step) {
    int32_t axis = constant->rank - rank + (h->last ? rank - 1 : 1);
    *step = 0;
    if (constant->rank > rank) return false;
    if (constant->count == 1) return true;
    *step = 1;
    for (int32_t i = 0; i < constant->rank; i++)
        if (constant->dims[i] != (i == axis ? h->channels : 1)) return false;
    return true;
}

static bool arithmetic(sdx_rewrite *r, const sdx_node *node, const host *h, sdx_id x, double *scale,
                       double *shift) {
    char op = node->op_type[0]; /* Mul, Div, Add, Sub */
    uint32_t other = node->inputs[0] == x;
    const sdx_const *constant = sdx_constant_of(r, node->inputs[other]);
    size_t count, step;
    if (!constant || constant->dtype != h->dtype || (other == 0 && op == 'D')) return false;
    if (node->version < 7 && node->attr_count) return false; /* broadcasts by attributes */
    int32_t rank = sdx_build_rank(&r->build, x);
    if (!sdx_build_same_shape(&r->build, x, node->outputs[0])) return false;
    if (rank < (h->last ? 1 : 2) || !along_channels(constant, rank, h, &step)) return false;
    const double *values = sdx_constant_doubles(r, node->inputs[other], &count);
    for (int64_t c = 0; values && c < h->channels; c++) {
        double v = values[step * (size_t)c];
        scale[c] = op == 'M' ? v : op == 'D' ? 1 / v : other == 0 && op == 'S' ? -1 : 1;
        shift[c] = op == 'A' ? v : op == 'S' ? (other == 0 ? v : -v) : 0;
        if (!isfinite(scale[c]) || !isfinite(shift[c])) return false;
    }
    return values != NULL;
}

/* ---- putting them in ---------------------------------------------------------------------------- */

static sdx_id scaled_weights(sdx_rewrite *r, const host *h, const double *scale) {
    const sdx_const *w = sdx_constant_of(r, h->weights);
    size_t count, per_group = (size_t)(h->channels / h->groups);
    const double *from = sdx_constant_doubles(r, h->weights, &count);
    double *to = from ? sdx_arena_array(&r->scratch, count + 1, sizeof *to) : NULL;
    if (!to) return SDX_NONE;
    size_t i = 0;
    for (int64_t g = 0; g < h->groups; g++)
        for (size_t o = 0; o < h->outer; o++)
            for (size_t c = 0; c < per_group; c++)
                for (size_t k = 0; k < h->inner; k++, i++)
                    to[i] = from[i] * h->alpha * scale[(size_t)g * per_group + c];
    return i == count ? sdx_emit_floats(r, h->dtype, w->rank, w->dims, to) : SDX_NONE;
}

/* The factors of a host that packs, times these. */
static sdx_id scaled_factors(sdx_rewrite *r, const host *h, const double *scale) {
    size_t count = 0;
    const double *before =
        h->factors == SDX_NONE ? NULL : sdx_constant_doubles(r, h->factors, &count);
    double *to = sdx_arena_array(&r->scratch, (size_t)h->channels + 1, sizeof *to);
    if (!to || (h->factors != SDX_NONE && count != (size_t)h->channels)) return SDX_NONE;
    for (int64_t c = 0; c < h->channels; c++) to[c] = scale[c] * (before ? before[c] : 1);
    return sdx_emit_floats(r, h->dtype, 1, &h->channels, to);
}

static sdx_id scaled_bias(sdx_rewrite *r, const host *h, const double *scale, const double *shift) {
    size_t count = 0;
    const double *from = h->bias == SDX_NONE ? NULL : sdx_constant_doubles(r, h->bias, &count);
    double *to = sdx_arena_array(&r->scratch, (size_t)h->channels + 1, sizeof *to);
    if (!to || (h->bias != SDX_NONE && !from)) return SDX_NONE;
    for (int64_t c = 0; c < h->channels; c++)
        to[c] = shift[c] + (from ? from[count == 1 ? 0 : c] * h->beta * scale[c] : 0);
    return sdx_emit_floats(r, h->dtype, 1, &h->channels, to);
}

/* Attributes of the new node: those of the old; factors are in the weights. */
static uint32_t attributes(const sdx_node *node, sdx_attr *out, uint32_t most) {
    uint32_t count = 0;
    for (uint32_t a = 0; a < node->attr_count && count < most; a++) {
        const char *name = node->attrs[a].name;
        if (strcmp(name, "alpha") != 0 && strcmp(name, "beta") != 0)
            out[count++] = node->attrs[a];
    }
    return count;
}

static void put_in(sdx_rewrite *r, const host *h, sdx_id user, const double *scale,
                   const double *shift) {
    sdx_attr attrs[16];
    const sdx_id from[] = {h->id, user};
    sdx_rewrite_from(r, from, 2);
    sdx_id weights = h->weights, factors = h->factors;
    bool scales = h->alpha != 1;
    for (int64_t c = 0; c < h->channels; c++) scales |= scale[c] != 1;
    if (scales && h->packs) factors = scaled_factors(r, h, scale);
    else if (scales) weights = scaled_weights(r, h, scale);
    sdx_id bias = scaled_bias(r, h, scale, shift);
    if (weights == SDX_NONE || bias == SDX_NONE || (scales && h->packs && factors == SDX_NONE))
        return;
    uint32_t count = attributes(sdx_node_at(r->module, h->id), attrs, SDX_COUNT(attrs));
    const sdx_id in[5] = {h->data, weights, bias, SDX_NONE, factors};
    sdx_id out = sdx_emit(&r->build, h->op, attrs, count, in, factors == SDX_NONE ? 3 : 5);
    if (out != SDX_NONE) sdx_supplant(r, sdx_node_at(r->module, user)->outputs[0], out);
}

static void try_node(sdx_rewrite *r, sdx_id id) {
    static const char *const ops[] = {"BatchNormalization", "Mul", "Div", "Add", "Sub"};
    const sdx_node *node = NULL;
    uint32_t k = 0;
    for (; !node && k < SDX_COUNT(ops); k++) node = sdx_node_if(r, id, ops[k]);
    if (!node || node->outputs[0] == SDX_NONE) return;
    host h;
    sdx_id x = node->inputs[0];
    if (!find_host(r, x, &h)) {
        x = k == 1 ? SDX_NONE : sdx_node_input(node, 1);
        if (x == SDX_NONE || !find_host(r, x, &h)) return;
    }
    double *scale = sdx_arena_array(&r->scratch, (size_t)h.channels + 1, sizeof *scale);
    double *shift = sdx_arena_array(&r->scratch, (size_t)h.channels + 1, sizeof *shift);
    if (!scale || !shift) return;
    if (k == 1 ? batch_norm(r, node, &h, scale, shift) : arithmetic(r, node, &h, x, scale, shift))
        put_in(r, &h, id, scale, shift);
}

sdx_status sdx_pass_affine(sdx_rewrite *r) {
    for (size_t g = 0; g < r->module->graphs.count; g++) {
        const sdx_graph *graph = sdx_graph_at(r->module, (sdx_id)g);
        for (uint32_t i = 0; i < graph->node_count && r->build.status == SDX_STATUS_OK; i++) {
            if (sdx_node_at(r->module, graph->nodes[i])->dead) continue;
            const uint32_t changes = r->changes;
            try_node(r, graph->nodes[i]);
            /* Weights as doubles take six times their memory: of one node at a time. */
            if (r->changes != changes) sdx_rewrite_forget(r);
        }
    }
    return SDX_STATUS_OK;
}
