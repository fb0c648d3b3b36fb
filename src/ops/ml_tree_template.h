/* ml_tree_template.h - walking trees and adding up what their leaves say, included by ml_tree_run.c
 * once for each pair of types. Before: X, the type of features and scores; NODE, the type of nodes;
 * NODES, WEIGHTS, where the forest has nodes and weights; NAME(x). */

/* The test of a node. `mode` is a constant where a forest has only one, so that the switch goes. */
static inline bool NAME(holds)(const sdx_forest *f, const NODE *node, X x, unsigned mode,
                               bool tracks) {
    bool yes;
    switch (mode) {
    case SDX_TREE_LEQ: yes = x <= (X)node->value; break;
    case SDX_TREE_LT: yes = x < (X)node->value; break;
    case SDX_TREE_GTE: yes = x >= (X)node->value; break;
    case SDX_TREE_GT: yes = x > (X)node->value; break;
    case SDX_TREE_EQ: yes = x == (X)node->value; break;
    case SDX_TREE_NEQ: yes = (x < (X)node->value) | (x > (X)node->value); break; /* no NaN */
    default: yes = is_member(f, node->set, (double)x); break;
    }
    return yes | (tracks & node->track & (x != x)); /* no branch: neither way is likely */
}

/* One step down for a row that has not ended at a leaf yet. */
static inline uint32_t NAME(step)(const sdx_forest *f, uint32_t at, const X *row, int mode,
                                  bool tracks) {
    if (at & SDX_TREE_LEAF) return at;
    const NODE *node = &f->NODES[at];
    const unsigned own = mode == SDX_TREE_MIXED ? node->mode : (unsigned)mode;
    return node->next[NAME(holds)(f, node, row[node->feature], own, tracks)];
}

/* The leaves that rows end at. Several go down side by side: each step waits for memory. */
static inline void NAME(walk)(const sdx_forest *f, uint32_t root, const X *x, size_t stride,
                              size_t rows, int mode, bool tracks, uint32_t *leaves) {
    size_t r = 0;
    for (; r + 4 <= rows; r += 4) {
        const X *row = x + r * stride;
        uint32_t a = root, b = root, c = root, d = root;
        while (!(a & b & c & d & SDX_TREE_LEAF)) {
            a = NAME(step)(f, a, row, mode, tracks);
            b = NAME(step)(f, b, row + stride, mode, tracks);
            c = NAME(step)(f, c, row + 2 * stride, mode, tracks);
            d = NAME(step)(f, d, row + 3 * stride, mode, tracks);
        }
        leaves[r] = a & ~SDX_TREE_LEAF;
        leaves[r + 1] = b & ~SDX_TREE_LEAF;
        leaves[r + 2] = c & ~SDX_TREE_LEAF;
        leaves[r + 3] = d & ~SDX_TREE_LEAF;
    }
    for (; r < rows; r++) {
        uint32_t at = root;
        while (!(at & SDX_TREE_LEAF)) at = NAME(step)(f, at, x + r * stride, mode, tracks);
        leaves[r] = at & ~SDX_TREE_LEAF;
    }
}

#define WALK_ALL(mode, tracks) NAME(walk)(f, root, x, stride, rows, mode, tracks, leaves)

static void NAME(find_leaves)(const sdx_forest *f, uint32_t root, const X *x, size_t stride,
                              size_t rows, uint32_t *leaves) {
    if (f->mode == SDX_TREE_LEQ && !f->tracks) WALK_ALL(SDX_TREE_LEQ, false);
    else if (f->mode == SDX_TREE_LEQ) WALK_ALL(SDX_TREE_LEQ, true);
    else if (f->mode == SDX_TREE_LT && !f->tracks) WALK_ALL(SDX_TREE_LT, false);
    else if (f->mode == SDX_TREE_LT) WALK_ALL(SDX_TREE_LT, true);
    else WALK_ALL(SDX_TREE_MIXED, true);
}
#undef WALK_ALL

/* Adds up the weights [first, end) of one leaf. seen: of each score, whether it has a weight. */
static inline void NAME(add_sums)(const sdx_forest *f, uint32_t first, uint32_t end, X *scores,
                                  uint8_t *seen) {
    for (uint32_t w = first; w < end; w++) {
        const uint32_t target = f->weight_target ? f->weight_target[w] : 0;
        scores[target] += (X)f->WEIGHTS[w];
        if (seen) seen[target] = 1;
    }
}

static inline void NAME(add_extremes)(const sdx_forest *f, bool least, uint32_t first,
                                      uint32_t end, X *scores, uint8_t *seen) {
    for (uint32_t w = first; w < end; w++) {
        const uint32_t target = f->weight_target ? f->weight_target[w] : 0;
        const X weight = (X)f->WEIGHTS[w];
        if (!seen[target] || (least ? weight < scores[target] : weight > scores[target]))
            scores[target] = weight;
        seen[target] = 1;
    }
}

/* scores, seen: rows x targets, zeroed. seen is NULL where only one target is to be summed up. */
static void NAME(add_trees)(const sdx_tree_params *p, const X *x, size_t stride, size_t rows,
                            X *scores, uint8_t *seen) {
    const sdx_forest *f = &p->forest;
    uint32_t leaves[BLOCK];
    for (size_t t = 0; t < f->tree_count; t++) {
        NAME(find_leaves)(f, f->roots[t], x, stride, rows, leaves);
        if (!seen && !f->leaf_first) {
            for (size_t r = 0; r < rows; r++) scores[r] += (X)f->WEIGHTS[leaves[r]];
            continue;
        }
        for (size_t r = 0; r < rows; r++) {
            const uint32_t l = leaves[r];
            const uint32_t first = f->leaf_first ? f->leaf_first[l] : l;
            const uint32_t end = f->leaf_first ? f->leaf_first[l + 1] : l + 1;
            X *own = scores + r * f->targets;
            uint8_t *own_seen = seen ? seen + r * f->targets : NULL;
            if (p->sum <= SDX_TREE_SUM) NAME(add_sums)(f, first, end, own, own_seen);
            else NAME(add_extremes)(f, p->sum == SDX_TREE_MIN, first, end, own, own_seen);
        }
    }
}

/* ---- regression ------------------------------------------------------------------------------ */

static void NAME(finish_regression)(const tree_job *job, size_t row, X *scores) {
    const sdx_tree_params *p = job->p;
    const size_t n = p->forest.targets;
    const bool average = p->sum == SDX_TREE_AVERAGE;
    for (size_t j = 0; j < n; j++) {
        if (average) scores[j] /= (X)p->forest.tree_count;
        if (p->base) scores[j] += (X)p->base[j];
    }
    if (job->out->dtype == SDX_DTYPE_FLOAT64) {
        double *out = (double *)job->out->data + row * n;
        for (size_t j = 0; j < n; j++) out[j] = (double)scores[j];
        sdx_ml_transform_wide(p->post, out, n);
        return;
    }
    const bool direct = job->out->dtype == SDX_DTYPE_FLOAT32;
    float *out = (direct ? (float *)job->out->data : job->floats) + row * n;
    for (size_t j = 0; j < n; j++) out[j] = (float)scores[j];
    sdx_ml_transform(p->post, out, n);
    if (!direct)
        sdx_convert(SDX_DTYPE_FLOAT32, job->out->dtype, out,
                    (char *)job->out->data + row * n * sdx_dtype_size(job->out->dtype), n);
}

/* ---- classification -------------------------------------------------------------------------- */

/* Two classes, all weights speaking of one, and no base value for each: one score tells both. The
 * standard says nothing of this, so it is done as ONNX Runtime does, for which such models are made.
 * Scores go to out, the index of the class is returned. */
static size_t NAME(finish_pair)(const sdx_tree_params *p, X *scores, const uint8_t *seen,
                                float *out) {
    if (p->base_count == 1) scores[0] += (X)p->base[0];
    const X first = seen[0] ? scores[0] : 0, second = seen[1] ? scores[1] : 0;
    const size_t best = (seen[1] ? second : first) > (p->all_positive ? (X)0.5 : 0);
    if (out && seen[1]) {
        out[0] = (float)first;
        out[1] = (float)second;
        sdx_ml_transform(p->post, out, 2);
    } else if (out) {
        sdx_ml_pair_scores(p->post, p->all_positive ? SDX_ML_COMPLEMENT : SDX_ML_NEGATE,
                           (float)first, out);
    }
    return best;
}

static size_t NAME(finish_many)(const sdx_tree_params *p, X *scores, const uint8_t *seen,
                                float *out) {
    const size_t n = p->forest.targets;
    size_t best = n;
    for (size_t i = 0; i < n; i++) {
        if (i < p->base_count) scores[i] += (X)p->base[i];
        /* A class that no leaf spoke of cannot win. */
        if ((seen[i] || p->base) && (best == n || scores[i] > scores[best])) best = i;
        if (out) out[i] = (float)scores[i];
    }
    if (out) sdx_ml_transform(p->post, out, n);
    return best == n ? 0 : best;
}

static void NAME(finish_class)(const tree_job *job, size_t row, X *scores, const uint8_t *seen) {
    const sdx_tree_params *p = job->p;
    const size_t n = p->forest.targets;
    float *out = job->out ? (float *)job->out->data + row * n : NULL;
    size_t best = 0;
    if (n == 1) {
        if (p->base) scores[0] += (X)p->base[0];
        best = scores[0] > 0; /* whether it is the one class */
        if (out) out[0] = (float)scores[0];
        if (out) sdx_ml_transform(p->post, out, 1);
    } else {
        best = p->one_class_weighed && p->base_count < 2 ? NAME(finish_pair)(p, scores, seen, out)
                                                         : NAME(finish_many)(p, scores, seen, out);
    }
    if (n == 1 && p->labels.numbers && job->labels)
        ((int64_t *)job->labels->data)[row] = (int64_t)best;
    else
        sdx_ml_put_label(&p->labels, n == 1 ? 0 : best, job->labels, row);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void NAME(rows)(void *arg, size_t begin, size_t end) {
    const tree_job *job = arg;
    const sdx_tree_params *p = job->p;
    const size_t n = p->forest.targets;
    for (size_t row = begin; row < end; row += BLOCK) {
        const size_t count = end - row < BLOCK ? end - row : BLOCK;
        X *scores = (X *)job->scores + row * n;
        uint8_t *seen = job->seen ? job->seen + row * n : NULL;
        memset(scores, 0, count * n * sizeof *scores);
        if (seen) memset(seen, 0, count * n);
        NAME(add_trees)(p, (const X *)job->x + row * job->stride, job->stride, count, scores,
                        seen);
        for (size_t r = 0; r < count; r++) {
            if (p->classifier)
                NAME(finish_class)(job, row + r, scores + r * n, seen + r * n);
            else if (job->out)
                NAME(finish_regression)(job, row + r, scores + r * n);
        }
    }
}

#undef X
#undef NODE
#undef NODES
#undef WEIGHTS
#undef NAME
