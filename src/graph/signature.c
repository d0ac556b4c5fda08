/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the main graph takes and gives, with the user's bindings applied.
 */
#include <string.h>

#include "base/alloc.h"
#include "graph/import.h"
#include "graph/inspect.h"

void vt_signature_release(struct vt_signature *signature)
{
    vt_free((void *)(uintptr_t)signature->inputs);
    vt_free((void *)(uintptr_t)signature->outputs);
    *signature = (struct vt_signature){0};
}

struct draft {
    const struct vt_model *model;
    struct vt_error *err;
    struct vt_ports ports;
};

static struct vt_port port_of(const struct vt_value *value)
{
    struct vt_port port = {.name = value->name, .dtype = value->dtype, .rank = value->rank};
    memcpy(port.dim, value->dim, sizeof(port.dim));
    memcpy(port.symbol, value->symbol, sizeof(port.symbol));
    return port;
}

/* Outputs of which the file does not tell the rank: what inference says, else one open extent. */
static enum vt_status complete_outputs(struct draft *draft)
{
    const struct vt_graph *graph = vt_model_graph(draft->model);
    struct vt_shape_info *infos = NULL;
    enum vt_status status = VT_OK;

    for (uint32_t i = 0; status == VT_OK && i < draft->ports.n_outputs; i++) {
        struct vt_port *port = &draft->ports.outputs[i];
        if (port->rank != VT_RANK_UNKNOWN && port->dtype != VT_UNDEFINED) {
            continue;
        }
        if (infos == NULL) {
            infos = vt_calloc(vt_model_value_count(draft->model), sizeof(*infos));
            if (infos == NULL) {
                return vt_error_set(draft->err, VT_ERR_MEMORY, "out of memory");
            }
            status = vt_model_infer(draft->model, draft->ports.inputs, NULL, draft->err, infos);
            if (status != VT_OK) {
                break;
            }
        }
        const struct vt_shape_info *info = &infos[graph->outputs[i]];
        port->dtype = port->dtype == VT_UNDEFINED ? info->dtype : port->dtype;
        if (port->rank == VT_RANK_UNKNOWN && info->rank != VT_RANK_UNKNOWN) {
            port->rank = info->rank;
            memcpy(port->dim, info->dim, sizeof(port->dim));
        } else if (port->rank == VT_RANK_UNKNOWN) {
            port->rank = 1;
            port->dim[0] = -1;
            port->symbol[0] = "...";
        }
    }
    vt_free(infos);
    return status;
}

static enum vt_status fill_draft(struct draft *draft, const struct vt_shape_binding *bindings,
                                 uint32_t n_bindings)
{
    const struct vt_graph *graph = vt_model_graph(draft->model);
    const struct vt_value *values = vt_model_values(draft->model);
    enum vt_status status;

    for (uint32_t i = 0; i < draft->ports.n_inputs; i++) {
        draft->ports.inputs[i] = port_of(&values[graph->inputs[i]]);
    }
    for (uint32_t i = 0; i < draft->ports.n_outputs; i++) {
        draft->ports.outputs[i] = port_of(&values[graph->outputs[i]]);
    }
    status = vt_ports_bind(&draft->ports, bindings, n_bindings, draft->err);
    for (uint32_t i = 0; status == VT_OK && i < draft->ports.n_inputs; i++) {
        if (draft->ports.inputs[i].rank == VT_RANK_UNKNOWN) {
            status = vt_error_set(draft->err, VT_ERR_USAGE,
                                  "%s: input %s has no declared shape: give one (--shape %s=DIMS)",
                                  vt_model_name(draft->model),
                                  vt_quote(draft->ports.inputs[i].name).text,
                                  draft->ports.inputs[i].name);
        }
    }
    return status != VT_OK ? status : complete_outputs(draft);
}

enum vt_status vt_model_signature(const struct vt_model *model,
                                  const struct vt_shape_binding *bindings, uint32_t n_bindings,
                                  struct vt_error *err, struct vt_signature *ret)
{
    const struct vt_graph *graph = vt_model_graph(model);
    struct draft draft = {
        .model = model,
        .err = err,
        .ports = {vt_calloc(graph->n_inputs, sizeof(struct vt_port)),
                  vt_calloc(graph->n_outputs, sizeof(struct vt_port)), graph->n_inputs,
                  graph->n_outputs},
    };

    enum vt_status status = draft.ports.inputs != NULL && draft.ports.outputs != NULL
                                ? fill_draft(&draft, bindings, n_bindings)
                                : vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    if (status != VT_OK) {
        vt_free(draft.ports.inputs);
        vt_free(draft.ports.outputs);
        return status;
    }
    *ret = (struct vt_signature){draft.ports.inputs, draft.ports.outputs, draft.ports.n_inputs,
                                 draft.ports.n_outputs};
    return VT_OK;
}
