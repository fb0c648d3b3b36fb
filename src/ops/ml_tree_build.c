/* ml_tree_build.c - from the plain list of nodes to the one that is walked: nodes in the order of a
 * walk down the trees, those that no tree reaches left out. A node may be reached along several
 * ways (converters share subtrees), but never from itself. */
#include <stdio.h>

#include "ops/ml_tree.h"

typedef struct building {
    sdx_prep *prep;
    const sdx_tree_source *source;
    uint32_t *place; /* of each step, in the new order */
    uint8_t *mark;   /* of each step: how far it is */
    uint32_t *path;  /* steps from the root to the one at hand */
    size_t placed;
} building;

enum { MARK_NEW, MARK_FIRST, MARK_SECOND, MARK_BOTH, MARK_DONE }; /* branches that were entered */

/* "node 3 of tree 0": how the model calls a step. */
static const char *step_name(const sdx_tree_source *source, uint32_t step, char *buffer,
                             size_t size) {
    if (!source->origin) {
        snprintf(buffer, size, "node %u", step);
    } else {
        const uint32_t at = source->origin[step];
        snprintf(buffer, size, "node %lld of tree %lld", (long long)source->node_ids[at],
                 (long long)source->tree_ids[at]);
    }
    return buffer;
}

static sdx_status check_step(const building *b, uint32_t step) {
    char name[80];
    const int64_t feature = b->source->steps[step].feature;
    if (feature < 0)
        return sdx_prep_fail(b->prep, "%s looks at feature %lld",
                             step_name(b->source, step, name, sizeof name), (long long)feature);
    if (feature > SDX_TREE_MAX_FEATURE)
        return sdx_prep_unsupported(b->prep, "%s looks at feature %lld; up to %u are supported",
                                    step_name(b->source, step, name, sizeof name),
                                    (long long)feature, SDX_TREE_MAX_FEATURE);
    return SDX_STATUS_OK;
}

/* All that hangs below one root, without recursion: trees may be as deep as they have nodes. */
static sdx_status place_tree(building *b, uint32_t root) {
    size_t depth = 0;
    uint32_t entered = root;
    bool enter = !(root & SDX_TREE_LEAF) && b->mark[root] == MARK_NEW;
    while (enter || depth) {
        if (enter) {
            SDX_TRY(check_step(b, entered));
            b->place[entered] = (uint32_t)b->placed++;
            b->mark[entered] = MARK_FIRST;
            b->path[depth++] = entered;
            enter = false;
        }
        const uint32_t step = b->path[depth - 1];
        if (b->mark[step] == MARK_BOTH) {
            b->mark[step] = MARK_DONE;
            depth--;
            continue;
        }
        const uint32_t next = b->source->steps[step].next[b->mark[step]++ - MARK_FIRST];
        if (next & SDX_TREE_LEAF || b->mark[next] == MARK_DONE) continue;
        if (b->mark[next] != MARK_NEW) {
            char from[80], to[80];
            return sdx_prep_fail(b->prep, "a cycle: %s leads back to %s",
                                 step_name(b->source, step, from, sizeof from),
                                 step_name(b->source, next, to, sizeof to));
        }
        entered = next;
        enter = true;
    }
    return SDX_STATUS_OK;
}

static uint32_t moved(const building *b, uint32_t edge) {
    return edge & SDX_TREE_LEAF ? edge : b->place[edge];
}

/* nodes[place of the step] in either precision. */
#define FILL_NODE(nodes, real)                                                                    \
    do {                                                                                          \
        (nodes)[b->place[s]].next[0] = moved(b, step->next[1]);                                   \
        (nodes)[b->place[s]].next[1] = moved(b, step->next[0]);                                   \
        (nodes)[b->place[s]].feature = (uint32_t)step->feature & SDX_TREE_MAX_FEATURE;            \
        (nodes)[b->place[s]].mode = step->mode & 15u;                                             \
        (nodes)[b->place[s]].track = step->track;                                                 \
        if (step->mode == SDX_TREE_MEMBER) (nodes)[b->place[s]].set = step->set;                  \
        else (nodes)[b->place[s]].value = (real)step->value;                                      \
    } while (0)

static sdx_status fill_nodes(const building *b, sdx_forest *out) {
    const sdx_tree_source *source = b->source;
    out->node_count = b->placed;
    out->mode = SDX_TREE_MIXED;
    const bool wide = source->wide;
    if (wide) out->nodes64 = sdx_prep_array(b->prep, b->placed, sizeof *out->nodes64);
    else out->nodes32 = sdx_prep_array(b->prep, b->placed, sizeof *out->nodes32);
    if (wide ? !out->nodes64 : !out->nodes32) return SDX_STATUS_NO_MEMORY;
    bool first = true;
    for (size_t s = 0; s < source->step_count; s++) {
        const sdx_tree_step *step = &source->steps[s];
        if (b->mark[s] == MARK_NEW) continue; /* no tree reaches it */
        if (wide) FILL_NODE(out->nodes64, double);
        else FILL_NODE(out->nodes32, float);
        if (first) out->mode = (sdx_tree_mode)step->mode;
        else if (out->mode != (sdx_tree_mode)step->mode) out->mode = SDX_TREE_MIXED;
        first = false;
        if (step->track) out->tracks = true;
        if ((size_t)step->feature >= out->features) out->features = (size_t)step->feature + 1;
    }
    return SDX_STATUS_OK;
}

static void *copy_array(sdx_prep *prep, const void *from, size_t count, size_t size) {
    void *copy = sdx_prep_array(prep, count, size);
    if (copy && count) memcpy(copy, from, count * size);
    return copy;
}

static sdx_status copy_weights(sdx_prep *prep, const sdx_tree_source *source, sdx_forest *out) {
    bool single = true;
    for (size_t l = 0; l < source->leaf_count; l++)
        if (source->leaf_first[l + 1] - source->leaf_first[l] != 1) single = false;
    out->wide = source->wide;
    out->targets = source->targets;
    if (!single)
        out->leaf_first = copy_array(prep, source->leaf_first, source->leaf_count + 1,
                                     sizeof *out->leaf_first);
    if (source->targets > 1)
        out->weight_target = copy_array(prep, source->weight_target, source->weight_count,
                                        sizeof *out->weight_target);
    if ((!single && !out->leaf_first) || (source->targets > 1 && !out->weight_target))
        return SDX_STATUS_NO_MEMORY;
    if (source->wide) {
        out->weights64 =
            copy_array(prep, source->weights, source->weight_count, sizeof *out->weights64);
        return out->weights64 ? SDX_STATUS_OK : SDX_STATUS_NO_MEMORY;
    }
    out->weights32 = sdx_prep_array(prep, source->weight_count, sizeof *out->weights32);
    if (!out->weights32) return SDX_STATUS_NO_MEMORY;
    for (size_t w = 0; w < source->weight_count; w++)
        out->weights32[w] = (float)source->weights[w];
    return SDX_STATUS_OK;
}

static sdx_status copy_sets(sdx_prep *prep, const sdx_tree_source *source, sdx_forest *out) {
    if (!source->set_count) return SDX_STATUS_OK;
    const size_t values = source->set_first[source->set_count];
    out->set_first =
        copy_array(prep, source->set_first, source->set_count + 1, sizeof *out->set_first);
    out->set_values = copy_array(prep, source->set_values, values, sizeof *out->set_values);
    return out->set_first && out->set_values ? SDX_STATUS_OK : SDX_STATUS_NO_MEMORY;
}

sdx_status sdx_forest_build(sdx_prep *prep, sdx_arena *temp, const sdx_tree_source *source,
                            sdx_forest *out) {
    const size_t count = source->step_count;
    building b = {.prep = prep, .source = source,
                  .place = sdx_arena_array(temp, count + 1, sizeof *b.place),
                  .mark = sdx_arena_array(temp, count + 1, sizeof *b.mark),
                  .path = sdx_arena_array(temp, count + 1, sizeof *b.path)};
    if (!b.place || !b.mark || !b.path)
        return sdx_fail_memory(prep->error, count * sizeof *b.path, "trees");
    for (size_t t = 0; t < source->tree_count; t++) SDX_TRY(place_tree(&b, source->roots[t]));
    SDX_TRY(fill_nodes(&b, out));
    SDX_TRY(copy_weights(prep, source, out));
    SDX_TRY(copy_sets(prep, source, out));
    out->tree_count = source->tree_count;
    out->roots = sdx_prep_array(prep, source->tree_count, sizeof *out->roots);
    if (!out->roots) return SDX_STATUS_NO_MEMORY;
    for (size_t t = 0; t < source->tree_count; t++) out->roots[t] = moved(&b, source->roots[t]);
    return SDX_STATUS_OK;
}
