/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/walk.h"

#include <string.h>

#include "base/alloc.h"
#include "graph/inspect.h"

bool vt_walk_init(struct vt_walk *walk, const struct vt_model *model)
{
    const struct vt_graph *graph = vt_model_graph(model);
    uint32_t inputs = 1, outputs = 1;

    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        const struct vt_node *node = &graph->nodes[i];
        inputs = node->n_inputs > inputs ? node->n_inputs : inputs;
        outputs = node->n_outputs > outputs ? node->n_outputs : outputs;
    }
    walk->inputs = vt_calloc(inputs, sizeof(*walk->inputs));
    walk->outputs = vt_calloc(outputs, sizeof(*walk->outputs));
    return walk->inputs != NULL && walk->outputs != NULL;
}

void vt_walk_release(struct vt_walk *walk)
{
    vt_free(walk->inputs);
    vt_free(walk->outputs);
    *walk = (struct vt_walk){NULL, NULL};
}

bool vt_walk_node(struct vt_walk *walk, const struct vt_node *node,
                  const struct vt_shape_info *infos)
{
    bool known = node->operator->infer != NULL;

    for (uint32_t i = 0; i < node->n_inputs; i++) {
        uint32_t value = node->inputs[i];
        walk->inputs[i] = value != VT_NO_VALUE ? &infos[value] : NULL;
        known = known && (value == VT_NO_VALUE || vt_shape_info_known(&infos[value]));
    }
    for (uint32_t i = 0; i < node->n_outputs; i++) {
        uint32_t value = node->outputs[i];
        if (value == VT_NO_VALUE) {
            walk->outputs[i] = (struct vt_shape_info){.rank = VT_RANK_UNKNOWN};
            continue;
        }
        walk->outputs[i] = infos[value];
        known = known && vt_shape_info_known(&infos[value]);
    }
    return known;
}

/* What a shape of a file says, as information of inference. */
static struct vt_shape_info info_of(enum vt_dtype dtype, uint32_t rank, const int64_t *dim,
                                    const struct vt_tensor *value)
{
    struct vt_shape_info info = {.dtype = dtype, .rank = rank, .value = value};

    for (uint32_t d = 0; d < VT_RANK_MAX; d++) {
        bool there = rank != VT_RANK_UNKNOWN && d < rank;
        info.dim[d] = info.bound[d] = there ? dim[d] : -1;
    }
    return info;
}

enum vt_status vt_model_infer(const struct vt_model *model, const struct vt_port *inputs,
                              const struct vt_tensor *const *values, struct vt_error *err,
                              struct vt_shape_info *infos)
{
    const struct vt_graph *graph = vt_model_graph(model);
    struct vt_walk walk = {0};
    enum vt_status status = VT_OK;

    for (uint32_t i = 0; i < vt_model_value_count(model); i++) {
        const struct vt_value *value = &vt_model_values(model)[i];
        infos[i] = value->constant != NULL
                       ? info_of(value->dtype, value->rank, value->dim, value->constant)
                       : info_of(VT_UNDEFINED, VT_RANK_UNKNOWN, NULL, NULL);
    }
    for (uint32_t i = 0; i < graph->n_inputs; i++) {
        infos[graph->inputs[i]] = info_of(inputs[i].dtype, inputs[i].rank, inputs[i].dim,
                                          values != NULL ? values[i] : NULL);
    }
    if (!vt_walk_init(&walk, model)) {
        status = vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    for (uint32_t i = 0; status == VT_OK && i < graph->n_nodes; i++) {
        const struct vt_node *node = &graph->nodes[i];
        (void)vt_walk_node(&walk, node, infos);
        const struct vt_infer infer = {model, node, walk.inputs, walk.outputs, err};
        status = vt_infer_node(&infer);
        for (uint32_t k = 0; status == VT_OK && k < node->n_outputs; k++) {
            if (node->outputs[k] != VT_NO_VALUE) {
                infos[node->outputs[k]] = walk.outputs[k];
            }
        }
    }
    vt_walk_release(&walk);
    return status;
}
