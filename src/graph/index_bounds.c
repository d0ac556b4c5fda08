/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/index_bounds.h"

#include <string.h>

#include "base/alloc.h"

/* What is known of the numbers in a value. */
struct track {
    bool other;    /* used in a way that says nothing of their range */
    int64_t bound; /* 0: none seen yet */
};

static bool is_one_of(const char *op, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(op, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Operators whose output holds numbers of their first input and no others. */
static bool only_moves(const char *op)
{
    static const char *const names[] = {"Expand",    "Flatten",   "Identity", "Reshape",
                                        "Slice",     "Split",     "Squeeze",  "Tile",
                                        "Transpose", "Unsqueeze", "Concat"};
    return is_one_of(op, names, sizeof names / sizeof names[0]);
}

/* Operators that look at the extents alone, or for which every number is as good. */
static bool does_not_care(const char *op)
{
    static const char *const names[] = {"Equal",       "Greater", "GreaterOrEqual", "Less",
                                        "LessOrEqual", "Not",     "Shape",          "Size"};
    return is_one_of(op, names, sizeof names / sizeof names[0]);
}

static bool is_integer_cast(const struct vt_node *node)
{
    int64_t to = vt_node_int(node, "to", 0);
    return strcmp(node->op, "Cast") == 0 && (to == VT_I64 || to == VT_I32);
}

static void lower(struct track *track, int64_t bound)
{
    if (bound <= 0) {
        track->other = true;
    } else if (track->bound == 0 || bound < track->bound) {
        track->bound = bound;
    }
}

/* The rows of the table that a Gather reads, or 0. */
static int64_t gather_rows(const struct vt_model *model, const struct vt_node *node)
{
    if (node->inputs[0] == VT_NO_VALUE) {
        return 0;
    }
    const struct vt_value *table = &vt_model_values(model)[node->inputs[0]];
    int64_t axis = vt_node_int(node, "axis", 0);

    if (table->constant == NULL) {
        return 0;
    }
    axis += axis < 0 ? (int64_t)table->constant->rank : 0;
    return axis >= 0 && axis < (int64_t)table->constant->rank ? table->constant->dim[axis] : 0;
}

/* The largest of a Mod's divisors, where those are constant and all of them positive; else 0. */
static int64_t largest_divisor(const struct vt_model *model, const struct vt_node *node)
{
    const struct vt_tensor *by =
        node->inputs[1] != VT_NO_VALUE ? vt_model_values(model)[node->inputs[1]].constant : NULL;

    int64_t largest = 0;

    if (by == NULL || by->dtype != VT_I64 || by->data == NULL) {
        return 0;
    }
    for (size_t i = 0; i < by->bytes / sizeof(int64_t); i++) {
        int64_t value;
        memcpy(&value, (const char *)by->data + i * sizeof value, sizeof value);
        if (value <= 0) {
            return 0;
        }
        largest = value > largest ? value : largest;
    }
    return largest < VT_INDEX_BOUND_MOST ? largest : VT_INDEX_BOUND_MOST;
}

/* What a node that reads the value as its input `slot` says about it. */
static void look(const struct vt_model *model, const struct vt_node *node, uint32_t slot,
                 struct track *tracks)
{
    struct track *track = &tracks[node->inputs[slot]];
    int64_t divisor = strcmp(node->op, "Mod") == 0 && slot == 0 ? largest_divisor(model, node) : 0;

    if (strcmp(node->op, "Gather") == 0 && slot == 1) {
        lower(track, gather_rows(model, node));
    } else if (divisor > 0) {
        lower(track, divisor);
    } else if ((only_moves(node->op) && (slot == 0 || strcmp(node->op, "Concat") == 0)) ||
               is_integer_cast(node) || (strcmp(node->op, "Gather") == 0 && slot == 0)) {
        for (uint32_t k = 0; k < node->n_outputs; k++) {
            if (node->outputs[k] == VT_NO_VALUE) {
                continue;
            }
            const struct track *moved = &tracks[node->outputs[k]];
            if (moved->other) {
                track->other = true;
            } else if (moved->bound > 0) {
                lower(track, moved->bound);
            }
        }
    } else if (!does_not_care(node->op)) {
        track->other = true;
    }
}

/* Bodies of control flow may use any value in any way. */
static void distrust(const struct vt_graph *graph, struct track *tracks)
{
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        const struct vt_node *node = &graph->nodes[i];
        for (uint32_t k = 0; k < node->n_inputs; k++) {
            if (node->inputs[k] != VT_NO_VALUE) {
                tracks[node->inputs[k]].other = true;
            }
        }
        for (uint32_t k = 0; k < node->n_attrs; k++) {
            if (node->attrs[k].type == VT_ATTR_GRAPH) {
                distrust(node->attrs[k].graph, tracks);
            }
        }
    }
    for (uint32_t i = 0; i < graph->n_outputs; i++) {
        tracks[graph->outputs[i]].other = true;
    }
}

enum vt_status vt_model_index_bounds(const struct vt_model *model, struct vt_error *err,
                                     int64_t *ret_bounds)
{
    const struct vt_graph *graph = vt_model_graph(model);
    struct track *tracks = vt_calloc(vt_model_value_count(model), sizeof *tracks);

    if (tracks == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    /* From the last node to the first: what uses a value is known before what made it. */
    for (uint32_t i = graph->n_nodes; i-- > 0;) {
        const struct vt_node *node = &graph->nodes[i];
        for (uint32_t k = 0; k < node->n_attrs; k++) {
            if (node->attrs[k].type == VT_ATTR_GRAPH) {
                distrust(node->attrs[k].graph, tracks);
            }
        }
        for (uint32_t k = 0; k < node->n_inputs; k++) {
            if (node->inputs[k] != VT_NO_VALUE) {
                look(model, node, k, tracks);
            }
        }
    }
    for (uint32_t i = 0; i < graph->n_inputs; i++) {
        const struct track *track = &tracks[graph->inputs[i]];
        ret_bounds[i] = track->other ? 0 : track->bound;
    }
    vt_free(tracks);
    return VT_OK;
}
