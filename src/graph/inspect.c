/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/inspect.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/walk.h"

void vt_model_summary_release(struct vt_model_summary *summary)
{
    vt_signature_release(&summary->signature);
    vt_free(summary->operators);
    summary->operators = NULL;
    summary->n_operators = 0;
}

/* Counts by position in the operator table. As deep as subgraphs are nested. */
static void count_nodes(const struct vt_graph *graph, const struct vt_operator *table,
                        uint32_t *counts, uint32_t *n_nodes)
{
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        const struct vt_node *node = &graph->nodes[i];
        const struct vt_operator *entry = node->operator;
        counts[entry - table]++;
        (*n_nodes)++;
        for (uint32_t a = 0; a < node->n_attrs; a++) {
            if (node->attrs[a].type == VT_ATTR_GRAPH) {
                count_nodes(node->attrs[a].graph, table, counts, n_nodes);
            }
        }
    }
}

static int compare_counts(const void *left, const void *right)
{
    const struct vt_operator_count *a = left, *b = right;
    return a->count != b->count ? (a->count < b->count ? 1 : -1) : strcmp(a->name, b->name);
}

static enum vt_status make_histogram(const struct vt_model *model, struct vt_model_summary *summary)
{
    size_t n;
    const struct vt_operator *table = vt_operator_table(&n);
    uint32_t *counts = vt_calloc(n, sizeof(*counts));

    summary->operators = vt_calloc(n, sizeof(*summary->operators));
    if (counts == NULL || summary->operators == NULL) {
        vt_free(counts);
        return VT_ERR_MEMORY;
    }
    count_nodes(vt_model_graph(model), table, counts, &summary->n_nodes);
    for (size_t i = 0; i < n; i++) {
        if (counts[i] > 0) {
            summary->operators[summary->n_operators++] =
                (struct vt_operator_count){table[i].name, counts[i]};
        }
    }
    vt_free(counts);
    qsort(summary->operators, summary->n_operators, sizeof(*summary->operators), compare_counts);
    return VT_OK;
}

static bool is_parameter(enum vt_dtype dtype)
{
    return dtype == VT_F32 || dtype == VT_F16 || dtype == VT_BF16 || dtype == VT_F64 ||
           dtype == VT_I8 || dtype == VT_U8;
}

static void count_constants(const struct vt_model *model, struct vt_model_summary *summary)
{
    for (uint32_t i = 0; i < vt_model_value_count(model); i++) {
        const struct vt_tensor *constant = vt_model_values(model)[i].constant;
        int64_t elements;
        if (constant == NULL) {
            continue;
        }
        summary->n_constants++;
        summary->constant_bytes += constant->bytes;
        if (is_parameter(constant->dtype) &&
            vt_shape_elements(constant->dim, constant->rank, &elements)) {
            summary->parameters += elements;
        }
    }
}

/* The arithmetic of every node whose shapes are known by now. */
static enum vt_status count_flops(const struct vt_model *model, struct vt_error *err,
                                  struct vt_model_summary *summary)
{
    const struct vt_graph *graph = vt_model_graph(model);
    struct vt_walk walk = {0};
    struct vt_port *inputs = vt_calloc(graph->n_inputs, sizeof(*inputs));
    struct vt_shape_info *infos = vt_calloc(vt_model_value_count(model), sizeof(*infos));
    enum vt_status status = inputs != NULL && infos != NULL && vt_walk_init(&walk, model)
                                ? VT_OK
                                : vt_error_set(err, VT_ERR_MEMORY, "out of memory");

    for (uint32_t i = 0; status == VT_OK && i < graph->n_inputs; i++) {
        inputs[i] = summary->signature.inputs[i];
        if (inputs[i].rank > 0 && inputs[i].dim[0] < 0) {
            inputs[i].dim[0] = 1;
        }
    }
    if (status == VT_OK) {
        status = vt_model_infer(model, inputs, NULL, err, infos);
    }
    for (uint32_t i = 0; status == VT_OK && i < graph->n_nodes; i++) {
        const struct vt_node *node = &graph->nodes[i];
        if (vt_walk_node(&walk, node, infos)) {
            summary->flops += vt_node_flops(node, walk.inputs, walk.outputs);
        } else {
            summary->uncounted_nodes++;
        }
    }
    vt_walk_release(&walk);
    vt_free(infos);
    vt_free(inputs);
    return status;
}

enum vt_status vt_model_inspect(const struct vt_model *model,
                                const struct vt_shape_binding *bindings, uint32_t n_bindings,
                                struct vt_error *err, struct vt_model_summary *ret)
{
    struct vt_model_summary summary = {
        .opset = vt_model_opset(model),
        .ir_version = vt_model_ir_version(model),
        .producer = vt_model_producer(model),
    };

    enum vt_status status =
        vt_model_signature(model, bindings, n_bindings, err, &summary.signature);
    if (status != VT_OK) {
        return status;
    }
    status = make_histogram(model, &summary);
    if (status != VT_OK) {
        vt_model_summary_release(&summary);
        return vt_error_set(err, status, "out of memory");
    }
    count_constants(model, &summary);
    status = count_flops(model, err, &summary);
    if (status != VT_OK) {
        vt_model_summary_release(&summary);
        return status;
    }
    *ret = summary;
    return VT_OK;
}
