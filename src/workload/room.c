/* SPDX-License-Identifier: Apache-2.0 */
#include "workload/room.h"

#include <string.h>

#include "base/topology.h"

#define MEMORY_BYTES ((uint64_t)1 << 30)

size_t vt_workload_memory_bytes(void)
{
    uint64_t quarter = vt_topology()->memory_bytes / 4;

    return (size_t)(quarter > 0 && quarter < MEMORY_BYTES ? quarter : MEMORY_BYTES);
}

uint64_t vt_workload_performance_count(uint64_t total, uint64_t wanted, size_t sample_bytes)
{
    uint64_t fit = vt_workload_memory_bytes() / (sample_bytes > 0 ? sample_bytes : 1);
    uint64_t count = wanted > 0 ? wanted : fit;

    if (count < 1) {
        count = 1;
    }
    return count < total ? count : total;
}

static bool same_symbol(const char *a, const char *b)
{
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

bool vt_signature_has_batch(const struct vt_signature *signature)
{
    const char *symbol = NULL;

    if (signature->n_inputs == 0) {
        return false;
    }
    for (uint32_t i = 0; i < signature->n_inputs; i++) {
        const struct vt_port *port = &signature->inputs[i];
        if (port->rank == 0 || port->dim[0] >= 0) {
            return false;
        }
        if (symbol != NULL && port->symbol[0] != NULL && strcmp(symbol, port->symbol[0]) != 0) {
            return false;
        }
        symbol = symbol != NULL ? symbol : port->symbol[0];
    }
    for (uint32_t i = 0; i < signature->n_inputs; i++) {
        const struct vt_port *port = &signature->inputs[i];
        for (uint32_t d = 1; d < port->rank; d++) {
            if (port->dim[d] < 0 && same_symbol(port->symbol[d], symbol)) {
                return false;
            }
        }
    }
    return true;
}

static enum vt_status bind(struct vt_bindings *bindings, const char *name, uint32_t rank,
                           const int64_t *dim, struct vt_error *err)
{
    for (uint32_t i = 0; i < bindings->n; i++) {
        const struct vt_shape_binding *there = &bindings->items[i];
        if (strcmp(there->name, name) != 0 || there->rank != rank) {
            continue;
        }
        for (uint32_t d = 0; d < rank; d++) {
            if (there->dim[d] != dim[d]) {
                return vt_error_set(err, VT_ERR_USAGE,
                                    "the data ask for '%s' = %lld and = %lld: the inputs do not "
                                    "fit together",
                                    name, (long long)there->dim[d], (long long)dim[d]);
            }
        }
        return VT_OK;
    }
    if (bindings->n == bindings->capacity) {
        return vt_error_set(err, VT_ERR_LIMIT, "'%s': more than %u open extents in the model", name,
                            bindings->capacity);
    }
    struct vt_shape_binding *binding = &bindings->items[bindings->n++];
    binding->name = name;
    binding->rank = rank;
    memcpy(binding->dim, dim, rank * sizeof dim[0]);
    return VT_OK;
}

enum vt_status vt_bindings_add(struct vt_bindings *bindings, const struct vt_port *port,
                               const int64_t *dim, bool batch, struct vt_error *err)
{
    bool whole = false;
    enum vt_status status = VT_OK;

    for (uint32_t d = batch ? 1 : 0; d < port->rank && status == VT_OK; d++) {
        if (port->dim[d] >= 0) {
            continue;
        }
        if (port->symbol[d] != NULL) {
            status = bind(bindings, port->symbol[d], 1, &dim[d], err);
        } else {
            whole = true;
        }
    }
    if (whole && status == VT_OK) {
        status = bind(bindings, port->name, port->rank, dim, err);
    }
    return status;
}
