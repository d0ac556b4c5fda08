/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/ops/window.h"

/* Reads a list of `n` positive numbers into the last n of three; `fallback` where it is absent. */
static enum vt_status read_list(const struct vt_op_context *ctx, const char *name, uint32_t n,
                                int64_t *ret)
{
    size_t count = 0;
    const int64_t *list = vt_node_ints(ctx->node, name, &count);
    for (uint32_t i = 0; i < VT_WINDOW_DIMS; i++) {
        ret[i] = 1;
    }
    if (list == NULL) {
        return VT_OK;
    }
    if (count != n) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "'%s' has %zu entries for %u spatial dimensions",
                          name, count, n);
    }
    for (uint32_t i = 0; i < n; i++) {
        if (list[i] < 1 || list[i] > INT32_MAX) {
            return vt_op_fail(ctx, VT_ERR_FORMAT, "'%s' holds %lld, allowed are 1 to %d", name,
                              (long long)list[i], INT32_MAX);
        }
        ret[VT_WINDOW_DIMS - n + i] = list[i];
    }
    return VT_OK;
}

static enum vt_status read_pads(const struct vt_op_context *ctx, uint32_t n, bool transposed,
                                struct vt_window *w)
{
    const char *mode = vt_node_string(ctx->node, "auto_pad", "NOTSET");
    const uint32_t first = VT_WINDOW_DIMS - n;
    size_t count = 0;
    const int64_t *pads = vt_node_ints(ctx->node, "pads", &count);
    const bool upper = strcmp(mode, "SAME_UPPER") == 0, lower = strcmp(mode, "SAME_LOWER") == 0;
    size_t shape_count = 0;

    /* A transposed convolution with output_shape splits its total padding as SAME does. */
    const bool shaped = transposed && vt_node_ints(ctx->node, "output_shape", &shape_count) != NULL;
    if (upper || lower || shaped) {
        size_t extra_count = 0;
        const int64_t *extra =
            transposed ? vt_node_ints(ctx->node, "output_padding", &extra_count) : NULL;
        for (uint32_t i = first; i < VT_WINDOW_DIMS; i++) {
            const int64_t *read = transposed ? w->out : w->in, *made = transposed ? w->in : w->out;
            int64_t total =
                (made[i] - 1) * w->stride[i] + (w->kernel[i] - 1) * w->dilation[i] + 1 - read[i];
            if (extra != NULL && i - first < extra_count) {
                total += extra[i - first];
            }
            total = total < 0 ? 0 : total;
            /* The odd one goes behind for SAME_UPPER, and before for SAME_LOWER. Without either
             * an output_shape puts it before. */
            w->pad[i] = upper ? total / 2 : total - total / 2;
            w->pad_end[i] = total - w->pad[i];
        }
        return VT_OK;
    }
    if (strcmp(mode, "NOTSET") != 0 && strcmp(mode, "VALID") != 0 && mode[0] != '\0') {
        return vt_op_fail(ctx, VT_ERR_FORMAT,
                          "auto_pad is '%s', known are NOTSET, VALID, SAME_UPPER, SAME_LOWER",
                          mode);
    }
    if (pads == NULL || strcmp(mode, "VALID") == 0) {
        return VT_OK;
    }
    if (count != 2 * (size_t)n) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "'pads' has %zu entries for %u spatial dimensions",
                          count, n);
    }
    for (uint32_t i = 0; i < 2 * n; i++) {
        if (pads[i] < 0 || pads[i] > INT32_MAX) {
            return vt_op_fail(ctx, VT_ERR_UNSUPPORTED, "'pads' holds %lld, allowed are 0 to %d",
                              (long long)pads[i], INT32_MAX);
        }
        if (i < n) {
            w->pad[first + i] = pads[i];
        } else {
            w->pad_end[first + i - n] = pads[i];
        }
    }
    return VT_OK;
}

enum vt_status vt_window_read(const struct vt_op_context *ctx, const struct vt_tensor *input,
                              const struct vt_tensor *output, const int64_t *kernel,
                              bool transposed, struct vt_window *ret)
{
    enum vt_status status;
    memset(ret, 0, sizeof(*ret));
    if (input->rank < 3 || input->rank > 2 + VT_WINDOW_DIMS || output->rank != input->rank) {
        return vt_op_fail(ctx, VT_ERR_UNSUPPORTED,
                          "the input has rank %u, supported are 3 to 5 (one to three spatial "
                          "dimensions)",
                          input->rank);
    }
    const uint32_t n = input->rank - 2, first = VT_WINDOW_DIMS - n;
    ret->batch = input->dim[0];
    ret->channels = input->dim[1];
    for (uint32_t i = 0; i < VT_WINDOW_DIMS; i++) {
        ret->in[i] = ret->out[i] = 1;
    }
    for (uint32_t i = 0; i < n; i++) {
        ret->in[first + i] = input->dim[2 + i];
        ret->out[first + i] = output->dim[2 + i];
    }
    status = read_list(ctx, "kernel_shape", n, ret->kernel);
    if (status == VT_OK) {
        status = read_list(ctx, "strides", n, ret->stride);
    }
    if (status == VT_OK) {
        status = read_list(ctx, "dilations", n, ret->dilation);
    }
    for (uint32_t i = 0; kernel != NULL && i < n; i++) {
        ret->kernel[first + i] = kernel[i];
    }
    if (status == VT_OK) {
        status = read_pads(ctx, n, transposed, ret);
    }
    return status;
}
