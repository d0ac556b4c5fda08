/* SPDX-License-Identifier: Apache-2.0 */
/* What a model takes and gives before shapes are known, and how a user's bindings make it known. */
#ifndef VT_CORE_PORTS_H
#define VT_CORE_PORTS_H

#include "vatio/engine.h"

/* The rank of a port, of which a model says nothing at all. */
#define VT_RANK_UNKNOWN UINT32_MAX

/* The ports of a signature while it is being made; borrowed. */
struct vt_ports {
    struct vt_port *inputs, *outputs;
    uint32_t n_inputs, n_outputs;
};

/*
 * Applies bindings in order: one of an input's name gives its extents (and its rank, where that
 * is unknown), one of a symbol's name gives that symbol a number wherever it stands. VT_ERR_USAGE
 * on a name that there is not, on another rank, and on an extent that is fixed already.
 */
enum vt_status vt_ports_bind(struct vt_ports *ports, const struct vt_shape_binding *bindings,
                             uint32_t n_bindings, struct vt_error *err) VT_NODISCARD;
/* Whether an input, or a symbol of one, has this name. */
bool vt_ports_know(const struct vt_ports *ports, const char *name);
/* Whether dimension 0 of every input and output is open: the mark of a model for any batch. */
bool vt_ports_any_batch(const struct vt_ports *ports);

#endif
