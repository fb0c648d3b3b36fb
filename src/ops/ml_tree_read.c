/* ml_tree_read.c - the attributes of the tree operators as one plain list of nodes and leaves. The
 * length of every list is checked, and what every id and position points at. */
#include <math.h>
#include <stdlib.h>

#include "base/map.h"
#include "ops/ml_tree.h"

#define MAX_NODES ((size_t)SDX_TREE_LEAF - 1)

static sdx_status no_memory(sdx_prep *prep) { return sdx_fail_memory(prep->error, 0, "trees"); }

static sdx_status check_length(sdx_prep *prep, const char *name, size_t found, const char *like,
                               size_t expected) {
    if (found == expected) return SDX_STATUS_OK;
    return sdx_prep_fail(prep, "attribute '%s' has %zu entries, '%s' has %zu", name, found, like,
                         expected);
}

/* ---- numbers --------------------------------------------------------------------------------- */

static sdx_status read_real_tensor(sdx_prep *prep, sdx_arena *temp, const char *name,
                                   const sdx_const *tensor, double **out, bool *wide) {
    const sdx_dtypes allowed = SDX_T(FLOAT16) | SDX_T(FLOAT32) | SDX_T(FLOAT64);
    if (!sdx_dtypes_has(allowed, tensor->dtype))
        return sdx_prep_fail(prep, "attribute '%s' is a tensor of %s, expected floats", name,
                             sdx_dtype_name(tensor->dtype));
    const size_t size = sdx_dtype_size(tensor->dtype);
    char *raw = sdx_arena_array(temp, tensor->count + 1, size);
    *out = sdx_arena_array(temp, tensor->count + 1, sizeof **out);
    if (!raw || !*out) return no_memory(prep);
    if (tensor->count) sdx_const_decode(tensor, raw);
    sdx_tensor plain = {.dtype = tensor->dtype, .count = tensor->count, .data = raw};
    for (size_t i = 0; i < tensor->count; i++) (*out)[i] = sdx_tensor_double(&plain, i);
    if (tensor->dtype == SDX_DTYPE_FLOAT64) *wide = true;
    return SDX_STATUS_OK;
}

sdx_status sdx_tree_read_reals(sdx_prep *prep, sdx_arena *temp, const char *name,
                               const char *tensor_name, double **out, size_t *count, bool *wide) {
    const float *floats;
    const sdx_const *tensor = NULL;
    SDX_TRY(sdx_attr_get_floats(prep, name, &floats, count));
    if (prep->version >= 3) SDX_TRY(sdx_attr_get_tensor(prep, tensor_name, &tensor));
    *out = NULL;
    if (tensor && tensor->count) {
        if (*count)
            return sdx_prep_fail(prep, "both '%s' and '%s' are given", name, tensor_name);
        *count = tensor->count;
        return read_real_tensor(prep, temp, tensor_name, tensor, out, wide);
    }
    if (!*count) return SDX_STATUS_OK;
    *out = sdx_arena_array(temp, *count, sizeof **out);
    if (!*out) return no_memory(prep);
    for (size_t i = 0; i < *count; i++) (*out)[i] = floats[i];
    return SDX_STATUS_OK;
}

/* Targets that the weights are for must be below *targets; 0 becomes one more than the largest. */
static sdx_status check_targets(sdx_prep *prep, const char *name, const int64_t *ids, size_t count,
                                size_t *targets) {
    size_t limit = *targets ? *targets : INT32_MAX, most = 0;
    for (size_t i = 0; i < count; i++) {
        if (ids[i] < 0 || (uint64_t)ids[i] >= limit)
            return sdx_prep_fail(prep, "%s[%zu] is %lld; there are %zu targets or classes", name,
                                 i, (long long)ids[i], *targets);
        if ((size_t)ids[i] >= most) most = (size_t)ids[i] + 1;
    }
    if (!*targets) *targets = most;
    return *targets ? SDX_STATUS_OK : sdx_prep_fail(prep, "there are no targets");
}

/* ---- nodes with ids -------------------------------------------------------------------------- */

/* A leaf, apart from the modes of inner nodes. */
#define MODE_LEAF SDX_TREE_MODES

typedef struct node_key {
    int64_t tree, node;
} node_key;

typedef struct node_lists {
    const int64_t *trees, *nodes, *features, *yes, *no, *tracks;
    size_t count, track_count;
    uint8_t *modes;
    double *values;
    uint32_t *edges; /* of each node: the edge that leads to it */
    sdx_map by_tree; /* a tree's first node */
    bool regular;    /* each tree is one stretch whose ids count up: no need for by_key */
    sdx_map by_key;
    node_key *keys;  /* what its entries point at */
} node_lists;

static sdx_status read_modes(sdx_prep *prep, sdx_arena *temp, node_lists *l) {
    static const char *const words[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE", "BRANCH_GT",
                                        "BRANCH_EQ",  "BRANCH_NEQ", "LEAF"};
    static const uint8_t modes[] = {SDX_TREE_LEQ, SDX_TREE_LT,  SDX_TREE_GTE, SDX_TREE_GT,
                                    SDX_TREE_EQ,  SDX_TREE_NEQ, MODE_LEAF};
    const sdx_string *given;
    size_t count;
    SDX_TRY(sdx_attr_get_strings(prep, "nodes_modes", &given, &count));
    SDX_TRY(check_length(prep, "nodes_modes", count, "nodes_nodeids", l->count));
    l->modes = sdx_arena_array(temp, count + 1, sizeof *l->modes);
    if (!l->modes) return no_memory(prep);
    for (size_t i = 0; i < count; i++) {
        size_t w = 0;
        while (w < sizeof modes && strcmp(given[i].data, words[w]) != 0) w++;
        if (w == sizeof modes)
            return sdx_prep_fail(prep, "node %lld of tree %lld has the mode '%.32s'",
                                 (long long)l->nodes[i], (long long)l->trees[i], given[i].data);
        l->modes[i] = modes[w];
    }
    return SDX_STATUS_OK;
}

static sdx_status read_lists(sdx_prep *prep, sdx_arena *temp, node_lists *l, bool *wide) {
    const struct {
        const char *name;
        const int64_t **list;
    } lists[] = {{"nodes_nodeids", &l->nodes},        {"nodes_treeids", &l->trees},
                 {"nodes_featureids", &l->features},  {"nodes_truenodeids", &l->yes},
                 {"nodes_falsenodeids", &l->no}};
    size_t count;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        SDX_TRY(sdx_attr_get_ints(prep, lists[i].name, lists[i].list, &count));
        if (i == 0) l->count = count;
        SDX_TRY(check_length(prep, lists[i].name, count, "nodes_nodeids", l->count));
    }
    if (l->count == 0) return sdx_prep_fail(prep, "there are no nodes");
    if (l->count > MAX_NODES)
        return sdx_prep_unsupported(prep, "%zu nodes are too many", l->count);
    SDX_TRY(sdx_attr_get_ints(prep, "nodes_missing_value_tracks_true", &l->tracks,
                              &l->track_count));
    if (l->track_count)
        SDX_TRY(check_length(prep, "nodes_missing_value_tracks_true", l->track_count,
                             "nodes_nodeids", l->count));
    sdx_attr_ignore(prep, "nodes_hitrates"); /* only a hint about speed */
    if (prep->version >= 3) sdx_attr_ignore(prep, "nodes_hitrates_as_tensor");
    SDX_TRY(sdx_tree_read_reals(prep, temp, "nodes_values", "nodes_values_as_tensor", &l->values,
                                &count, wide));
    SDX_TRY(check_length(prep, "nodes_values", count, "nodes_nodeids", l->count));
    return read_modes(prep, temp, l);
}

/* Position of a node, if ids count up from `near`, which is in the same tree. */
static uint32_t guess_node(const node_lists *l, uint32_t near, int64_t tree, int64_t node) {
    const int64_t first = l->nodes[near], most = (int64_t)MAX_NODES;
    if (l->trees[near] != tree || first < 0 || first > most || node < 0 || node > most)
        return SDX_MAP_NONE;
    const int64_t at = (int64_t)near + (node - first);
    const bool hit = at >= 0 && (uint64_t)at < l->count && l->trees[at] == tree &&
                     l->nodes[at] == node;
    return hit ? (uint32_t)at : SDX_MAP_NONE;
}

/* SDX_MAP_NONE if there is no such node. `near` is any node, best one of the same tree. */
static uint32_t find_node(const node_lists *l, uint32_t near, int64_t tree, int64_t node) {
    const uint32_t guess = guess_node(l, near, tree, node);
    if (guess != SDX_MAP_NONE) return guess;
    const node_key key = {tree, node};
    if (!l->regular) return sdx_map_get(&l->by_key, (const char *)&key, sizeof key);
    const uint32_t first = sdx_map_get(&l->by_tree, (const char *)&tree, sizeof tree);
    return first == SDX_MAP_NONE ? SDX_MAP_NONE : guess_node(l, first, tree, node);
}

/* Enters all nodes into by_key; fails if one is there twice. */
static sdx_status index_nodes(sdx_prep *prep, sdx_arena *temp, node_lists *l) {
    l->keys = sdx_arena_array(temp, l->count, sizeof *l->keys);
    if (!l->keys) return no_memory(prep);
    for (size_t i = 0; i < l->count; i++) {
        l->keys[i] = (node_key){l->trees[i], l->nodes[i]};
        const char *key = (const char *)&l->keys[i];
        if (sdx_map_get(&l->by_key, key, sizeof *l->keys) != SDX_MAP_NONE)
            return sdx_prep_fail(prep, "tree %lld has node %lld twice", (long long)l->trees[i],
                                 (long long)l->nodes[i]);
        if (!sdx_map_put(&l->by_key, key, sizeof *l->keys, (uint32_t)i)) return no_memory(prep);
    }
    return SDX_STATUS_OK;
}

/* Numbers inner nodes and leaves apart, and finds each tree's first node, which is its root. */
static sdx_status number_nodes(sdx_prep *prep, sdx_arena *temp, node_lists *l,
                               sdx_tree_source *out) {
    uint32_t *origin = sdx_arena_array(temp, l->count, sizeof *origin);
    l->edges = sdx_arena_array(temp, l->count, sizeof *l->edges);
    out->roots = sdx_arena_array(temp, l->count, sizeof *out->roots);
    if (!origin || !l->edges || !out->roots) return no_memory(prep);
    l->regular = true;
    for (size_t i = 0; i < l->count; i++) {
        const bool leaf = l->modes[i] == MODE_LEAF;
        if (!leaf) origin[out->step_count] = (uint32_t)i;
        l->edges[i] = leaf ? SDX_TREE_LEAF | (uint32_t)out->leaf_count++
                           : (uint32_t)out->step_count++;
        if (l->nodes[i] < 0 || l->nodes[i] > (int64_t)MAX_NODES) l->regular = false;
        if (i > 0 && l->trees[i] == l->trees[i - 1]) {
            if (l->regular && l->nodes[i] != l->nodes[i - 1] + 1) l->regular = false;
            continue;
        }
        const char *tree = (const char *)&l->trees[i];
        if (sdx_map_get(&l->by_tree, tree, sizeof *l->trees) != SDX_MAP_NONE) {
            l->regular = false; /* the tree goes on after another */
            continue;
        }
        out->roots[out->tree_count++] = l->edges[i];
        if (!sdx_map_put(&l->by_tree, tree, sizeof *l->trees, (uint32_t)i)) return no_memory(prep);
    }
    out->origin = origin;
    out->tree_ids = l->trees;
    out->node_ids = l->nodes;
    return l->regular ? SDX_STATUS_OK : index_nodes(prep, temp, l);
}

static sdx_status fill_steps(sdx_prep *prep, sdx_arena *temp, const node_lists *l,
                             sdx_tree_source *out) {
    out->steps = sdx_arena_array(temp, out->step_count + 1, sizeof *out->steps);
    if (!out->steps) return no_memory(prep);
    for (size_t s = 0; s < out->step_count; s++) {
        const uint32_t i = out->origin[s];
        sdx_tree_step *step = &out->steps[s];
        *step = (sdx_tree_step){.value = l->values[i], .feature = l->features[i],
                                .mode = l->modes[i],
                                .track = l->track_count && l->tracks[i] != 0};
        for (int branch = 0; branch < 2; branch++) {
            const int64_t id = branch == 0 ? l->yes[i] : l->no[i];
            const uint32_t found = find_node(l, i, l->trees[i], id);
            if (found == SDX_MAP_NONE)
                return sdx_prep_fail(prep, "node %lld of tree %lld leads to node %lld, which the "
                                           "tree does not have",
                                     (long long)l->nodes[i], (long long)l->trees[i],
                                     (long long)id);
            step->next[branch] = l->edges[found];
        }
    }
    return SDX_STATUS_OK;
}

typedef struct weight_lists {
    const int64_t *trees, *nodes, *ids;
    double *values;
    size_t count;
} weight_lists;

static sdx_status read_weight_lists(sdx_prep *prep, sdx_arena *temp, const sdx_tree_names *names,
                                    weight_lists *w, bool *wide) {
    size_t trees, nodes, values;
    SDX_TRY(sdx_attr_get_ints(prep, names->ids, &w->ids, &w->count));
    SDX_TRY(sdx_attr_get_ints(prep, names->trees, &w->trees, &trees));
    SDX_TRY(sdx_attr_get_ints(prep, names->nodes, &w->nodes, &nodes));
    SDX_TRY(sdx_tree_read_reals(prep, temp, names->weights, names->weights_tensor, &w->values,
                                &values, wide));
    SDX_TRY(check_length(prep, names->trees, trees, names->ids, w->count));
    SDX_TRY(check_length(prep, names->nodes, nodes, names->ids, w->count));
    SDX_TRY(check_length(prep, names->weights, values, names->ids, w->count));
    if (w->count > MAX_NODES)
        return sdx_prep_unsupported(prep, "%zu weights are too many", w->count);
    return SDX_STATUS_OK;
}

/* Sorts the weights by leaf, keeping their order in each. Those of inner nodes, which some old
 * converters wrote, do not count. */
static sdx_status fill_weights(sdx_prep *prep, sdx_arena *temp, const sdx_tree_names *names,
                               const node_lists *l, sdx_tree_source *out) {
    weight_lists w;
    SDX_TRY(read_weight_lists(prep, temp, names, &w, &out->wide));
    uint32_t *leaves = sdx_arena_array(temp, w.count + 1, sizeof *leaves);
    SDX_TRY(check_targets(prep, names->ids, w.ids, w.count, &out->targets));
    out->weight_target = sdx_arena_array(temp, w.count + 1, sizeof *out->weight_target);
    out->weights = sdx_arena_array(temp, w.count + 1, sizeof *out->weights);
    out->leaf_first = sdx_arena_array(temp, out->leaf_count + 2, sizeof *out->leaf_first);
    if (!leaves || !out->weight_target || !out->weights || !out->leaf_first)
        return no_memory(prep);
    uint32_t *next = out->leaf_first + 1; /* shifted by one: it becomes the start on the way */
    uint32_t near = 0;
    for (size_t i = 0; i < w.count; i++) {
        const uint32_t node = find_node(l, near, w.trees[i], w.nodes[i]);
        if (node == SDX_MAP_NONE)
            return sdx_prep_fail(prep, "weight %zu is for node %lld of tree %lld, which does not "
                                       "exist",
                                 i, (long long)w.nodes[i], (long long)w.trees[i]);
        near = node;
        leaves[i] = l->edges[node];
        if (!(leaves[i] & SDX_TREE_LEAF)) continue;
        const uint32_t leaf = leaves[i] & ~SDX_TREE_LEAF;
        if (leaf + 1 < out->leaf_count) next[leaf + 1]++;
        out->weight_count++;
    }
    for (size_t leaf = 1; leaf < out->leaf_count; leaf++) next[leaf] += next[leaf - 1];
    for (size_t i = 0; i < w.count; i++) {
        if (!(leaves[i] & SDX_TREE_LEAF)) continue;
        const uint32_t at = next[leaves[i] & ~SDX_TREE_LEAF]++;
        out->weights[at] = w.values[i];
        out->weight_target[at] = (uint32_t)w.ids[i];
    }
    return SDX_STATUS_OK;
}

sdx_status sdx_tree_read_nodes(sdx_prep *prep, sdx_arena *temp, const sdx_tree_names *names,
                               size_t targets, sdx_tree_source *out) {
    node_lists l = {0};
    *out = (sdx_tree_source){.targets = targets};
    sdx_map_init(&l.by_key, prep->module->allocator);
    sdx_map_init(&l.by_tree, prep->module->allocator);
    sdx_status status = read_lists(prep, temp, &l, &out->wide);
    if (status == SDX_STATUS_OK) status = number_nodes(prep, temp, &l, out);
    if (status == SDX_STATUS_OK) status = fill_steps(prep, temp, &l, out);
    if (status == SDX_STATUS_OK) status = fill_weights(prep, temp, names, &l, out);
    sdx_map_free(&l.by_tree);
    sdx_map_free(&l.by_key);
    return status;
}

/* ---- version 5: nodes and leaves by position ------------------------------------------------- */

typedef struct lists_5 {
    const int64_t *features, *next[2], *leafs[2], *tracks, *roots, *targets;
    size_t track_count;
    double *splits;
    uint8_t *modes;
} lists_5;

static sdx_status need_tensor(sdx_prep *prep, const char *name, const sdx_const **out) {
    SDX_TRY(sdx_attr_get_tensor(prep, name, out));
    return *out ? SDX_STATUS_OK : sdx_prep_fail(prep, "attribute '%s' is missing", name);
}

static sdx_status read_modes_5(sdx_prep *prep, sdx_arena *temp, size_t count, lists_5 *l,
                               size_t *members) {
    const sdx_const *tensor;
    SDX_TRY(need_tensor(prep, "nodes_modes", &tensor));
    SDX_TRY(check_length(prep, "nodes_modes", tensor->count, "nodes_featureids", count));
    if (tensor->dtype != SDX_DTYPE_UINT8)
        return sdx_prep_fail(prep, "attribute 'nodes_modes' is a tensor of %s, expected uint8",
                             sdx_dtype_name(tensor->dtype));
    l->modes = sdx_arena_array(temp, count + 1, sizeof *l->modes);
    if (!l->modes) return no_memory(prep);
    if (count) sdx_const_decode(tensor, l->modes);
    for (size_t i = 0; i < count; i++) {
        if (l->modes[i] >= SDX_TREE_MODES)
            return sdx_prep_fail(prep, "node %zu has the mode %u, expected 0 to %d", i,
                                 l->modes[i], SDX_TREE_MODES - 1);
        *members += l->modes[i] == SDX_TREE_MEMBER;
    }
    return SDX_STATUS_OK;
}

static int compare_reals(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sets are divided by NaN, in the order of the nodes that ask for them. */
static sdx_status read_sets(sdx_prep *prep, sdx_arena *temp, size_t members,
                            sdx_tree_source *out) {
    const sdx_const *tensor;
    size_t at = 0, values = 0;
    bool wide = false; /* sets are held in float64 anyway */
    double *given = NULL;
    SDX_TRY(sdx_attr_get_tensor(prep, "membership_values", &tensor));
    const size_t count = tensor ? tensor->count : 0;
    if (tensor)
        SDX_TRY(read_real_tensor(prep, temp, "membership_values", tensor, &given, &wide));
    out->set_count = members;
    out->set_first = sdx_arena_array(temp, members + 1, sizeof *out->set_first);
    out->set_values = sdx_arena_array(temp, count + 1, sizeof *out->set_values);
    if (!out->set_first || !out->set_values) return no_memory(prep);
    if (count >= UINT32_MAX)
        return sdx_prep_unsupported(prep, "%zu members of sets are too many", count);
    for (size_t s = 0; s < members; s++) {
        if (at >= count)
            return sdx_prep_fail(prep, "membership_values has %zu sets for %zu nodes that ask for "
                                       "one",
                                 s, members);
        const size_t first = values;
        while (at < count && !isnan(given[at])) out->set_values[values++] = given[at++];
        at++; /* the NaN behind the set; the last may go without */
        qsort(out->set_values + first, values - first, sizeof *given, compare_reals);
        out->set_first[s + 1] = (uint32_t)values;
    }
    if (at < count)
        return sdx_prep_fail(prep, "membership_values has more sets than the %zu nodes that ask "
                                   "for one",
                             members);
    return SDX_STATUS_OK;
}

static sdx_status read_lists_5(sdx_prep *prep, sdx_arena *temp, lists_5 *l, sdx_tree_source *out) {
    const struct {
        const char *name;
        const int64_t **list;
    } lists[] = {{"nodes_featureids", &l->features},    {"nodes_truenodeids", &l->next[0]},
                 {"nodes_falsenodeids", &l->next[1]},   {"nodes_trueleafs", &l->leafs[0]},
                 {"nodes_falseleafs", &l->leafs[1]}};
    const sdx_const *tensor;
    size_t count, members = 0;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        SDX_TRY(sdx_attr_get_ints(prep, lists[i].name, lists[i].list, &count));
        if (i == 0) out->step_count = count;
        SDX_TRY(check_length(prep, lists[i].name, count, "nodes_featureids", out->step_count));
    }
    if (out->step_count > MAX_NODES)
        return sdx_prep_unsupported(prep, "%zu nodes are too many", out->step_count);
    SDX_TRY(sdx_attr_get_ints(prep, "nodes_missing_value_tracks_true", &l->tracks,
                              &l->track_count));
    if (l->track_count)
        SDX_TRY(check_length(prep, "nodes_missing_value_tracks_true", l->track_count,
                             "nodes_featureids", out->step_count));
    sdx_attr_ignore(prep, "nodes_hitrates");
    SDX_TRY(need_tensor(prep, "nodes_splits", &tensor));
    SDX_TRY(check_length(prep, "nodes_splits", tensor->count, "nodes_featureids",
                         out->step_count));
    SDX_TRY(read_real_tensor(prep, temp, "nodes_splits", tensor, &l->splits, &out->wide));
    SDX_TRY(read_modes_5(prep, temp, out->step_count, l, &members));
    return read_sets(prep, temp, members, out);
}

static sdx_status read_leaves_5(sdx_prep *prep, sdx_arena *temp, sdx_tree_source *out) {
    const int64_t *ids;
    const sdx_const *tensor;
    SDX_TRY(sdx_attr_get_ints(prep, "leaf_targetids", &ids, &out->leaf_count));
    SDX_TRY(need_tensor(prep, "leaf_weights", &tensor));
    SDX_TRY(check_length(prep, "leaf_weights", tensor->count, "leaf_targetids", out->leaf_count));
    if (out->leaf_count > MAX_NODES)
        return sdx_prep_unsupported(prep, "%zu leaves are too many", out->leaf_count);
    SDX_TRY(read_real_tensor(prep, temp, "leaf_weights", tensor, &out->weights, &out->wide));
    out->weight_count = out->leaf_count;
    out->leaf_first = sdx_arena_array(temp, out->leaf_count + 1, sizeof *out->leaf_first);
    if (!out->leaf_first) return no_memory(prep);
    for (size_t i = 0; i <= out->leaf_count; i++) out->leaf_first[i] = (uint32_t)i;
    SDX_TRY(check_targets(prep, "leaf_targetids", ids, out->leaf_count, &out->targets));
    out->weight_target = sdx_arena_array(temp, out->leaf_count + 1, sizeof *out->weight_target);
    if (!out->weight_target) return no_memory(prep);
    for (size_t i = 0; i < out->leaf_count; i++) out->weight_target[i] = (uint32_t)ids[i];
    return SDX_STATUS_OK;
}

static sdx_status read_roots_5(sdx_prep *prep, sdx_arena *temp, lists_5 *l, sdx_tree_source *out) {
    SDX_TRY(sdx_attr_get_ints(prep, "tree_roots", &l->roots, &out->tree_count));
    if (!out->tree_count) return sdx_prep_fail(prep, "attribute 'tree_roots' is empty");
    out->roots = sdx_arena_array(temp, out->tree_count, sizeof *out->roots);
    if (!out->roots) return no_memory(prep);
    for (size_t t = 0; t < out->tree_count; t++) {
        if (l->roots[t] < 0 || (uint64_t)l->roots[t] >= out->step_count)
            return sdx_prep_fail(prep, "tree_roots[%zu] is %lld; there are %zu nodes", t,
                                 (long long)l->roots[t], out->step_count);
        out->roots[t] = (uint32_t)l->roots[t];
    }
    return SDX_STATUS_OK;
}

sdx_status sdx_tree_read_5(sdx_prep *prep, sdx_arena *temp, size_t targets, sdx_tree_source *out) {
    lists_5 l = {0};
    *out = (sdx_tree_source){.targets = targets};
    SDX_TRY(read_lists_5(prep, temp, &l, out));
    SDX_TRY(read_leaves_5(prep, temp, out));
    SDX_TRY(read_roots_5(prep, temp, &l, out));
    out->steps = sdx_arena_array(temp, out->step_count + 1, sizeof *out->steps);
    if (!out->steps) return no_memory(prep);
    uint32_t set = 0;
    for (size_t s = 0; s < out->step_count; s++) {
        sdx_tree_step *step = &out->steps[s];
        *step = (sdx_tree_step){.value = l.splits[s], .feature = l.features[s],
                                .mode = l.modes[s], .track = l.track_count && l.tracks[s] != 0};
        if (step->mode == SDX_TREE_MEMBER) step->set = set++;
        for (int branch = 0; branch < 2; branch++) {
            const int64_t to = l.next[branch][s];
            const bool leaf = l.leafs[branch][s] != 0;
            const size_t limit = leaf ? out->leaf_count : out->step_count;
            if (to < 0 || (uint64_t)to >= limit)
                return sdx_prep_fail(prep, "node %zu leads to %s %lld; there are %zu", s,
                                     leaf ? "leaf" : "node", (long long)to, limit);
            step->next[branch] = (leaf ? SDX_TREE_LEAF : 0) | (uint32_t)to;
        }
    }
    return SDX_STATUS_OK;
}
