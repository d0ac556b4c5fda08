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
    struct vt_port *inputs, *outputs;
    uint32_t n_inputs, n_outputs;
};

static struct vt_port port_of(const struct vt_value *value)
{
    struct vt_port port = {.name = value->name, .dtype = value->dtype, .rank = value->rank};
    memcpy(port.dim, value->dim, sizeof(port.dim));
    memcpy(port.symbol, value->symbol, sizeof(port.symbol));
    return port;
}

/* Gives every open extent of that symbol a number. Whether there was one. */
static bool bind_symbol(struct draft *draft, const char *symbol, int64_t dim)
{
    bool found = false;

    for (uint32_t i = 0; i < draft->n_inputs + draft->n_outputs; i++) {
        struct vt_port *port =
            i < draft->n_inputs ? &draft->inputs[i] : &draft->outputs[i - draft->n_inputs];
        for (uint32_t d = 0; port->rank != VT_RANK_UNKNOWN && d < port->rank; d++) {
            if (port->dim[d] < 0 && port->symbol[d] != NULL &&
                strcmp(port->symbol[d], symbol) == 0) {
                port->dim[d] = dim;
                found = true;
            }
        }
    }
    return found;
}

static enum vt_status bind_input(struct draft *draft, struct vt_port *port,
                                 const struct vt_shape_binding *binding)
{
    char text[128];

    if (port->rank == VT_RANK_UNKNOWN) {
        port->rank = binding->rank;
        memset(port->symbol, 0, sizeof(port->symbol));
        for (uint32_t d = 0; d < VT_RANK_MAX; d++) {
            port->dim[d] = -1;
        }
    }
    if (binding->rank != port->rank) {
        return vt_error_set(draft->err, VT_ERR_USAGE,
                            "shape of input %s: %u extents are given, it has %u (%s)",
                            vt_quote(port->name).text, binding->rank, port->rank,
                            vt_shape_text(port->dim, port->rank, port->symbol, text, sizeof(text)));
    }
    for (uint32_t d = 0; d < port->rank; d++) {
        if (port->dim[d] >= 0 && port->dim[d] != binding->dim[d]) {
            return vt_error_set(draft->err, VT_ERR_USAGE,
                                "shape of input %s: extent %u is %lld in the model and cannot be "
                                "%lld",
                                vt_quote(port->name).text, d, (long long)port->dim[d],
                                (long long)binding->dim[d]);
        }
        if (port->dim[d] < 0 && port->symbol[d] != NULL) {
            (void)bind_symbol(draft, port->symbol[d], binding->dim[d]);
        }
        port->dim[d] = binding->dim[d];
    }
    return VT_OK;
}

/* Whether the symbol is an extent that an earlier binding has fixed. */
static const struct vt_port *bound_symbol(const struct draft *draft, const char *symbol,
                                          uint32_t *ret_axis)
{
    for (uint32_t i = 0; i < draft->n_inputs; i++) {
        const struct vt_port *port = &draft->inputs[i];
        for (uint32_t d = 0; port->rank != VT_RANK_UNKNOWN && d < port->rank; d++) {
            if (port->symbol[d] != NULL && strcmp(port->symbol[d], symbol) == 0) {
                *ret_axis = d;
                return port;
            }
        }
    }
    return NULL;
}

static enum vt_status apply_binding(struct draft *draft, const struct vt_shape_binding *binding)
{
    uint32_t axis;

    if (binding->rank > VT_RANK_MAX) {
        return vt_error_set(draft->err, VT_ERR_USAGE, "shape of %s: more than %d extents",
                            vt_quote(binding->name).text, VT_RANK_MAX);
    }
    for (uint32_t d = 0; d < binding->rank; d++) {
        if (binding->dim[d] < 1) {
            return vt_error_set(draft->err, VT_ERR_USAGE,
                                "shape of %s: extent %lld, it must be at least 1",
                                vt_quote(binding->name).text, (long long)binding->dim[d]);
        }
    }
    for (uint32_t i = 0; i < draft->n_inputs; i++) {
        if (strcmp(draft->inputs[i].name, binding->name) == 0) {
            return bind_input(draft, &draft->inputs[i], binding);
        }
    }
    if (binding->rank == 1 && bind_symbol(draft, binding->name, binding->dim[0])) {
        return VT_OK;
    }
    const struct vt_port *port = bound_symbol(draft, binding->name, &axis);
    if (port != NULL && binding->rank == 1 && port->dim[axis] == binding->dim[0]) {
        return VT_OK;
    }
    if (port != NULL) {
        return vt_error_set(draft->err, VT_ERR_USAGE,
                            "shape of %s: it takes one extent, and no other than one given before",
                            vt_quote(binding->name).text);
    }
    return vt_error_set(draft->err, VT_ERR_USAGE,
                        "shape of %s: the model has no input and no open extent of that name; its "
                        "first input is %s",
                        vt_quote(binding->name).text,
                        draft->n_inputs > 0 ? vt_quote(draft->inputs[0].name).text : "(none)");
}

/* Outputs of which the file does not tell the rank: what inference says, else one open extent. */
static enum vt_status complete_outputs(struct draft *draft)
{
    const struct vt_graph *graph = vt_model_graph(draft->model);
    struct vt_shape_info *infos = NULL;
    enum vt_status status = VT_OK;

    for (uint32_t i = 0; status == VT_OK && i < draft->n_outputs; i++) {
        struct vt_port *port = &draft->outputs[i];
        if (port->rank != VT_RANK_UNKNOWN && port->dtype != VT_UNDEFINED) {
            continue;
        }
        if (infos == NULL) {
            infos = vt_calloc(vt_model_value_count(draft->model), sizeof(*infos));
            if (infos == NULL) {
                return vt_error_set(draft->err, VT_ERR_MEMORY, "out of memory");
            }
            status = vt_model_infer(draft->model, draft->inputs, NULL, draft->err, infos);
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
    enum vt_status status = VT_OK;

    for (uint32_t i = 0; i < draft->n_inputs; i++) {
        draft->inputs[i] = port_of(&values[graph->inputs[i]]);
    }
    for (uint32_t i = 0; i < draft->n_outputs; i++) {
        draft->outputs[i] = port_of(&values[graph->outputs[i]]);
    }
    for (uint32_t i = 0; status == VT_OK && i < n_bindings; i++) {
        status = apply_binding(draft, &bindings[i]);
    }
    for (uint32_t i = 0; status == VT_OK && i < draft->n_inputs; i++) {
        if (draft->inputs[i].rank == VT_RANK_UNKNOWN) {
            status = vt_error_set(draft->err, VT_ERR_USAGE,
                                  "%s: input %s has no declared shape: give one (--shape %s=DIMS)",
                                  vt_model_name(draft->model), vt_quote(draft->inputs[i].name).text,
                                  draft->inputs[i].name);
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
        .inputs = vt_calloc(graph->n_inputs, sizeof(struct vt_port)),
        .outputs = vt_calloc(graph->n_outputs, sizeof(struct vt_port)),
        .n_inputs = graph->n_inputs,
        .n_outputs = graph->n_outputs,
    };

    enum vt_status status = draft.inputs != NULL && draft.outputs != NULL
                                ? fill_draft(&draft, bindings, n_bindings)
                                : vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    if (status != VT_OK) {
        vt_free(draft.inputs);
        vt_free(draft.outputs);
        return status;
    }
    *ret = (struct vt_signature){draft.inputs, draft.outputs, draft.n_inputs, draft.n_outputs};
    return VT_OK;
}
