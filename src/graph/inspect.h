/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can be told about a model without running it: for `vatio inspect` and for the first line of
 * a run.
 */
#ifndef VT_GRAPH_INSPECT_H
#define VT_GRAPH_INSPECT_H

#include "graph/graph.h"

struct vt_operator_count {
    const char *name;
    uint32_t count;
};

struct vt_model_summary {
    struct vt_signature signature;
    struct vt_operator_count *operators; /* subgraphs included; most frequent first, then by name */
    uint32_t n_operators;
    uint32_t n_nodes; /* subgraphs included, constants not */
    uint32_t n_constants;
    int64_t parameters;      /* elements of constants of floating-point and 8-bit types */
    uint64_t constant_bytes; /* of all constants */
    /*
     * Arithmetic of one run of the main graph, the first extent of each input taken as 1 where it
     * is open: of one sample. Only nodes whose shapes follow without computing anything are
     * counted; the others are `uncounted_nodes`, and with any of those `flops` is a lower bound.
     */
    double flops;
    uint32_t uncounted_nodes;
    int64_t opset, ir_version;
    const char *producer;
};

/*
 * Names stay borrowed from the model. Errors: those of vt_model_signature, VT_ERR_MEMORY, and an
 * error of inference (shapes that do not fit together).
 */
enum vt_status vt_model_inspect(const struct vt_model *model,
                                const struct vt_shape_binding *bindings, uint32_t n_bindings,
                                struct vt_error *err, struct vt_model_summary *ret) VT_NODISCARD;
void vt_model_summary_release(struct vt_model_summary *summary); /* accepts a zeroed one */

/*
 * Infers the main graph as far as it goes from the shapes of its inputs (`inputs[i]`, in their
 * order), from constants and from the contents of inputs (`values`, NULL or in their order, NULL
 * where not known). infos[value] is filled for every value of the model, so it has room for
 * vt_model_value_count() of them. Nothing is computed: what follows from the contents of a value
 * in between stays unknown.
 */
enum vt_status vt_model_infer(const struct vt_model *model, const struct vt_port *inputs,
                              const struct vt_tensor *const *values, struct vt_error *err,
                              struct vt_shape_info *infos) VT_NODISCARD;

#endif
