/* SPDX-License-Identifier: Apache-2.0 */
/* Elements put to places that their own data or attributes name. */
#include "kernels/move/move.h"
#include "plan/ops/window.h"

static enum vt_status reverse_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    const struct vt_tensor *x = ctx->inputs[0];
    const int64_t batch = vt_node_int(ctx->node, "batch_axis", 1);
    const int64_t time = vt_node_int(ctx->node, "time_axis", 0);
    (void)ret_workspace;
    if (vt_dtype_bytes(x->dtype) == 0) {
        return vt_op_fail_type(ctx, x);
    }
    if (x->rank < 2 || batch < 0 || batch > 1 || time != 1 - batch) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "batch_axis and time_axis must be 0 and 1");
    }
    return vt_op_require_count(ctx, 1, x->dim[batch]);
}

static enum vt_status reverse_run(struct vt_op_context *ctx)
{
    const struct vt_tensor *x = ctx->inputs[0];
    const bool batch_first = vt_node_int(ctx->node, "batch_axis", 1) == 0;
    const int64_t batches = x->dim[batch_first ? 0 : 1], times = x->dim[batch_first ? 1 : 0];
    const size_t block =
        (size_t)vt_op_product(x->dim, 2, x->rank) * vt_dtype_bytes(x->dtype);
    for (int64_t b = 0; b < batches; b++) {
        const int64_t length = vt_op_int_at(ctx->inputs[1], b);
        if (length < 0 || length > times) {
            return vt_op_fail(ctx, VT_ERR_FORMAT, "length %lld is %lld, allowed are 0 to %lld",
                              (long long)b, (long long)length, (long long)times);
        }
        for (int64_t t = 0; t < times; t++) {
            const int64_t from = t < length ? length - 1 - t : t;
            const size_t to_at = (size_t)(batch_first ? b * times + t : t * batches + b);
            const size_t from_at = (size_t)(batch_first ? b * times + from : from * batches + b);
            memcpy((char *)ctx->outputs[0].data + to_at * block,
                   (const char *)x->data + from_at * block, block);
        }
    }
    return VT_OK;
}

static enum vt_status unpool_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    const struct vt_tensor *x = ctx->inputs[0];
    struct vt_window window;
    (void)ret_workspace;
    if (vt_dtype_bytes(x->dtype) == 0) {
        return vt_op_fail_type(ctx, x);
    }
    enum vt_status status = vt_window_read(ctx, x, &ctx->outputs[0], NULL, true, &window);
    if (status != VT_OK) {
        return status;
    }
    /* The image that was pooled, by its own numbers: an output of another size is cut or filled. */
    int64_t *pooled = ctx->state;
    for (uint32_t d = 0; d < VT_WINDOW_DIMS; d++) {
        pooled[d] = (window.in[d] - 1) * window.stride[d] + window.kernel[d] - window.pad[d] -
                    window.pad_end[d];
        if (pooled[d] < 1) {
            return vt_op_fail(ctx, VT_ERR_FORMAT, "pads are larger than what they cut");
        }
    }
    return vt_op_require_count(ctx, 1, vt_op_elements(x));
}

static enum vt_status unpool_run(struct vt_op_context *ctx)
{
    const struct vt_tensor *x = ctx->inputs[0], *out = &ctx->outputs[0];
    const int64_t *pooled = ctx->state, *index = ctx->inputs[1]->data;
    const size_t bytes = vt_dtype_bytes(x->dtype);
    int64_t extent[VT_WINDOW_DIMS] = {1, 1, 1};
    const int64_t plane = pooled[0] * pooled[1] * pooled[2];
    for (uint32_t d = 2; d < out->rank; d++) {
        extent[VT_WINDOW_DIMS - out->rank + d] = out->dim[d];
    }
    const int64_t planes = x->dim[0] * x->dim[1];
    memset(out->data, 0, out->bytes);
    for (int64_t i = 0; i < vt_op_elements(x); i++) {
        const int64_t channel = index[i] < 0 ? planes : index[i] / plane;
        const int64_t at[VT_WINDOW_DIMS] = {index[i] / (pooled[1] * pooled[2]) % pooled[0],
                                            index[i] / pooled[2] % pooled[1], index[i] % pooled[2]};
        if (channel >= planes) {
            return vt_op_fail(ctx, VT_ERR_FORMAT, "index %lld (at position %lld) is out of range",
                              (long long)index[i], (long long)i);
        }
        if (at[0] < extent[0] && at[1] < extent[1] && at[2] < extent[2]) {
            const int64_t to =
                ((channel * extent[0] + at[0]) * extent[1] + at[1]) * extent[2] + at[2];
            memcpy((char *)out->data + (size_t)to * bytes, (const char *)x->data + (size_t)i * bytes,
                   bytes);
        }
    }
    return VT_OK;
}

static const struct vt_op ops[] = {
    {"", "ReverseSequence", VT_OP_ANY_FLOAT, 0, reverse_prepare, reverse_run},
    {"", "MaxUnpool", VT_OP_ANY_FLOAT, VT_WINDOW_DIMS * sizeof(int64_t), unpool_prepare,
     unpool_run},
};
VT_OP_FAMILY(vt_ops_place, ops);
