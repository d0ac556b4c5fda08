/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ports.h"

#include <string.h>

#include "base/quote.h"

/* Gives every open extent of that symbol a number. Whether there was one. */
static bool bind_symbol(struct vt_ports *ports, const char *symbol, int64_t dim)
{
    bool found = false;

    for (uint32_t i = 0; i < ports->n_inputs + ports->n_outputs; i++) {
        struct vt_port *port =
            i < ports->n_inputs ? &ports->inputs[i] : &ports->outputs[i - ports->n_inputs];
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

static enum vt_status bind_input(struct vt_ports *ports, struct vt_port *port,
                                 const struct vt_shape_binding *binding, struct vt_error *err)
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
        return vt_error_set(err, VT_ERR_USAGE,
                            "shape of input %s: %u extents are given, it has %u (%s)",
                            vt_quote(port->name).text, binding->rank, port->rank,
                            vt_shape_text(port->dim, port->rank, port->symbol, text, sizeof(text)));
    }
    for (uint32_t d = 0; d < port->rank; d++) {
        if (port->dim[d] >= 0 && port->dim[d] != binding->dim[d]) {
            return vt_error_set(err, VT_ERR_USAGE,
                                "shape of input %s: extent %u is %lld in the model and cannot be "
                                "%lld",
                                vt_quote(port->name).text, d, (long long)port->dim[d],
                                (long long)binding->dim[d]);
        }
        if (port->dim[d] < 0 && port->symbol[d] != NULL) {
            (void)bind_symbol(ports, port->symbol[d], binding->dim[d]);
        }
        port->dim[d] = binding->dim[d];
    }
    return VT_OK;
}

/* Whether the symbol is an extent that an earlier binding has fixed. */
static const struct vt_port *bound_symbol(const struct vt_ports *ports, const char *symbol,
                                          uint32_t *ret_axis)
{
    for (uint32_t i = 0; i < ports->n_inputs; i++) {
        const struct vt_port *port = &ports->inputs[i];
        for (uint32_t d = 0; port->rank != VT_RANK_UNKNOWN && d < port->rank; d++) {
            if (port->symbol[d] != NULL && strcmp(port->symbol[d], symbol) == 0) {
                *ret_axis = d;
                return port;
            }
        }
    }
    return NULL;
}

static enum vt_status apply_binding(struct vt_ports *ports, const struct vt_shape_binding *binding,
                                    struct vt_error *err)
{
    uint32_t axis;

    if (binding->rank > VT_RANK_MAX) {
        return vt_error_set(err, VT_ERR_USAGE, "shape of %s: more than %d extents",
                            vt_quote(binding->name).text, VT_RANK_MAX);
    }
    for (uint32_t d = 0; d < binding->rank; d++) {
        if (binding->dim[d] < 1) {
            return vt_error_set(err, VT_ERR_USAGE,
                                "shape of %s: extent %lld, it must be at least 1",
                                vt_quote(binding->name).text, (long long)binding->dim[d]);
        }
    }
    for (uint32_t i = 0; i < ports->n_inputs; i++) {
        if (strcmp(ports->inputs[i].name, binding->name) == 0) {
            return bind_input(ports, &ports->inputs[i], binding, err);
        }
    }
    if (binding->rank == 1 && bind_symbol(ports, binding->name, binding->dim[0])) {
        return VT_OK;
    }
    const struct vt_port *port = bound_symbol(ports, binding->name, &axis);
    if (port != NULL && binding->rank == 1 && port->dim[axis] == binding->dim[0]) {
        return VT_OK;
    }
    if (port != NULL) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "shape of %s: it takes one extent, and no other than one given before",
                            vt_quote(binding->name).text);
    }
    return vt_error_set(err, VT_ERR_USAGE,
                        "shape of %s: the model has no input and no open extent of that name; its "
                        "first input is %s",
                        vt_quote(binding->name).text,
                        ports->n_inputs > 0 ? vt_quote(ports->inputs[0].name).text : "(none)");
}

enum vt_status vt_ports_bind(struct vt_ports *ports, const struct vt_shape_binding *bindings,
                             uint32_t n_bindings, struct vt_error *err)
{
    enum vt_status status = VT_OK;

    for (uint32_t i = 0; status == VT_OK && i < n_bindings; i++) {
        status = apply_binding(ports, &bindings[i], err);
    }
    return status;
}

bool vt_ports_know(const struct vt_ports *ports, const char *name)
{
    for (uint32_t i = 0; i < ports->n_inputs; i++) {
        const struct vt_port *port = &ports->inputs[i];
        if (strcmp(port->name, name) == 0) {
            return true;
        }
        for (uint32_t d = 0; port->rank != VT_RANK_UNKNOWN && d < port->rank; d++) {
            if (port->symbol[d] != NULL && strcmp(port->symbol[d], name) == 0) {
                return true;
            }
        }
    }
    return false;
}

static bool is_open(const struct vt_port *port)
{
    return port->rank >= 1 && port->rank <= VT_RANK_MAX && port->dim[0] < 0;
}

bool vt_ports_any_batch(const struct vt_ports *ports)
{
    for (uint32_t i = 0; i < ports->n_inputs; i++) {
        if (!is_open(&ports->inputs[i])) {
            return false;
        }
    }
    for (uint32_t i = 0; i < ports->n_outputs; i++) {
        if (!is_open(&ports->outputs[i])) {
            return false;
        }
    }
    return ports->n_inputs > 0;
}
