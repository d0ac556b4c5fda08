/* SPDX-License-Identifier: Apache-2.0 */
/* What a window is, and what a model looks like from outside when it takes volumes by it. */
#include "plan/windows.h"

#include <string.h>

#include "base/quote.h"
#include "core/ports.h"

/* An extent, or 0: digits up to 'x' or the end, from 1 to 2^31 - 1. */
static int64_t read_extent(const char **at)
{
    const char *p = *at;
    int64_t extent = 0;
    while (*p >= '0' && *p <= '9') {
        extent = extent * 10 + (*p++ - '0');
        if (extent > INT32_MAX) {
            return 0;
        }
    }
    if (*p != '\0' && *p != 'x') {
        return 0;
    }
    *at = p;
    return extent;
}

enum vt_status vt_windows_read(const char *text, struct vt_error *err, struct vt_windows *windows)
{
    int64_t dim[VT_WINDOWS_AXES] = {0};
    uint32_t axes = 0;
    bool right = true;
    for (const char *at = text; right && axes < VT_WINDOWS_AXES; at++) {
        dim[axes] = read_extent(&at);
        right = dim[axes++] > 0;
        if (right && *at == '\0') {
            windows->axes = axes;
            memcpy(windows->dim, dim, sizeof(dim));
            return VT_OK;
        }
    }
    return vt_error_set(err, VT_ERR_USAGE,
                        "a window is one to %u extents from 1 on, as 128x128x128, not %s",
                        VT_WINDOWS_AXES, vt_quote(text).text);
}

int64_t vt_windows_stride(const struct vt_windows *windows, uint32_t axis)
{
    const int64_t stride = (int64_t)((double)windows->dim[axis] * (1.0 - windows->overlap));
    return stride < 1 ? 1 : stride;
}

int64_t vt_windows_along(const struct vt_windows *windows, uint32_t axis, int64_t extent)
{
    const int64_t stride = vt_windows_stride(windows, axis), rest = extent - windows->dim[axis];
    return rest / stride + (rest % stride != 0 ? 1 : 0) + 1;
}

bool vt_windows_binding(const struct vt_windows *windows, const struct vt_port *input,
                        struct vt_shape_binding *ret_binding)
{
    struct vt_shape_binding binding = {.name = input->name, .rank = windows->axes + 2};
    binding.dim[0] = 1;
    binding.dim[1] = input->dim[1];
    memcpy(&binding.dim[2], windows->dim, windows->axes * sizeof(binding.dim[0]));
    *ret_binding = binding;
    return input->dim[1] >= 0;
}

int64_t vt_windows_count(const struct vt_windows *windows, const struct vt_port *input)
{
    int64_t count = 1;
    for (uint32_t i = 0; i < windows->axes; i++) {
        const int64_t extent = input->dim[2 + i];
        if (extent < windows->dim[i] ||
            __builtin_mul_overflow(count, vt_windows_along(windows, i, extent), &count)) {
            return 0;
        }
    }
    return count;
}

bool vt_windows_are_whole(const struct vt_windows *windows, const struct vt_tensor *input)
{
    return input->rank == windows->axes + 2 &&
           memcmp(&input->dim[2], windows->dim, windows->axes * sizeof(input->dim[0])) == 0;
}

/* --- the signature
 * ------------------------------------------------------------------------------------- */

static const char *text_of(const struct vt_windows *windows, char *text, size_t size)
{
    return vt_shape_text(windows->dim, windows->axes, NULL, text, size);
}

/* Opens the axes of an input or output. */
static enum vt_status open_axes(const struct vt_windows *windows, const char *model,
                                const char *what, struct vt_port *port, struct vt_error *err)
{
    static const char *const names[VT_WINDOWS_AXES] = {"D", "H", "W"};
    char size[64], shape[96];
    bool fits = port->rank == windows->axes + 2 && (port->dim[0] == 1 || port->dim[0] < 0);
    for (uint32_t i = 0; fits && i < windows->axes; i++) {
        fits = port->dim[2 + i] < 0 || port->dim[2 + i] == windows->dim[i];
    }
    if (!fits) {
        return vt_error_set(
            err, VT_ERR_USAGE,
            "%s: windows of %s need an %s of batch (open or 1), channels and these extents "
            "(or open ones), but %s is %s",
            model, text_of(windows, size, sizeof(size)), what, vt_quote(port->name).text,
            vt_shape_text(port->dim, port->rank, port->symbol, shape, sizeof(shape)));
    }
    for (uint32_t i = 0; i < windows->axes; i++) {
        if (port->dim[2 + i] >= 0 || port->symbol[2 + i] == NULL) {
            port->symbol[2 + i] = names[VT_WINDOWS_AXES - windows->axes + i];
        }
        port->dim[2 + i] = -1;
    }
    return VT_OK;
}

static enum vt_status open_ports(const struct vt_windows *windows, const char *model,
                                 struct vt_ports *ports, struct vt_error *err)
{
    if (ports->n_inputs != 1) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "%s: windows are cut from one input, but the model has %u", model,
                            ports->n_inputs);
    }
    enum vt_status status = open_axes(windows, model, "input", &ports->inputs[0], err);
    for (uint32_t i = 0; i < ports->n_outputs && status == VT_OK; i++) {
        const struct vt_port *port = &ports->outputs[i];
        if (port->dtype != VT_F32 && port->dtype != VT_UNDEFINED) {
            return vt_error_set(err, VT_ERR_UNSUPPORTED,
                                "%s: windows are blended in float32, but output %s is %s", model,
                                vt_quote(port->name).text, vt_dtype_name(port->dtype));
        }
        status = open_axes(windows, model, "output", &ports->outputs[i], err);
    }
    return status;
}

/* What is bound must hold a window; outputs have the input's axes. */
static enum vt_status close_ports(const struct vt_windows *windows, const char *model,
                                  const struct vt_ports *ports, struct vt_error *err)
{
    const struct vt_port *input = &ports->inputs[0];
    for (uint32_t i = 0; i < windows->axes; i++) {
        if (input->dim[2 + i] >= 0 && input->dim[2 + i] < windows->dim[i]) {
            char size[64], shape[96];
            return vt_error_set(
                err, VT_ERR_USAGE,
                "%s: input %s of %s does not hold a window of %s: choose a smaller window "
                "or pad the input",
                model, vt_quote(input->name).text,
                vt_shape_text(input->dim, input->rank, input->symbol, shape, sizeof(shape)),
                text_of(windows, size, sizeof(size)));
        }
        for (uint32_t o = 0; o < ports->n_outputs; o++) {
            ports->outputs[o].dim[2 + i] = input->dim[2 + i];
            ports->outputs[o].symbol[2 + i] = input->symbol[2 + i];
        }
    }
    return VT_OK;
}

enum vt_status vt_windows_signature(const struct vt_windows *windows, const struct vt_model *model,
                                    const struct vt_shape_binding *bindings, uint32_t n_bindings,
                                    struct vt_error *err, struct vt_signature *ret)
{
    struct vt_signature signature;
    enum vt_status status = vt_model_signature(model, NULL, 0, err, &signature);
    if (status != VT_OK) {
        return status;
    }
    /* It is ours until it is returned. */
    struct vt_ports ports = {(struct vt_port *)(uintptr_t)signature.inputs,
                             (struct vt_port *)(uintptr_t)signature.outputs, signature.n_inputs,
                             signature.n_outputs};
    status = open_ports(windows, vt_model_name(model), &ports, err);
    if (status == VT_OK) {
        status = vt_ports_bind(&ports, bindings, n_bindings, err);
    }
    if (status == VT_OK) {
        status = close_ports(windows, vt_model_name(model), &ports, err);
    }
    if (status != VT_OK) {
        vt_signature_release(&signature);
        return status;
    }
    *ret = signature;
    return VT_OK;
}
