/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "kernels/norm/norm.h"
#include "plan/ops/support.h"

static const float *floats_of(const struct vt_op_context *ctx, uint32_t index)
{
    const struct vt_tensor *t = vt_op_input(ctx, index);
    return t != NULL ? t->data : NULL;
}

static float *output_of(const struct vt_op_context *ctx, uint32_t index)
{
    return index < ctx->n_outputs ? ctx->outputs[index].data : NULL;
}

static int64_t channels_of(const struct vt_tensor *x)
{
    return x->rank > 1 ? x->dim[1] : 1;
}

static enum vt_status batch_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    const struct vt_tensor *x = ctx->inputs[0];
    enum vt_status status = vt_op_require_f32(ctx, 5);
    if (vt_node_int(ctx->node, "training_mode", 0) != 0) {
        return vt_op_fail(ctx, VT_ERR_UNSUPPORTED, "training_mode is not supported");
    }
    if (vt_node_int(ctx->node, "spatial", 1) != 1) {
        return vt_op_fail(ctx, VT_ERR_UNSUPPORTED, "spatial = 0 is not supported");
    }
    for (uint32_t i = 1; status == VT_OK && i < 5; i++) {
        status = vt_op_require_count(ctx, i, channels_of(x));
    }
    if (status == VT_OK) {
        *ret_workspace = 2 * vt_op_align((size_t)channels_of(x) * sizeof(float));
    }
    return status;
}

static enum vt_status batch_run(struct vt_op_context *ctx)
{
    const struct vt_tensor *x = ctx->inputs[0];
    const int64_t channels = channels_of(x);
    const float epsilon = vt_node_float(ctx->node, "epsilon", 1e-5f);
    const float *gamma = floats_of(ctx, 1), *beta = floats_of(ctx, 2);
    const float *mean = floats_of(ctx, 3), *variance = floats_of(ctx, 4);
    float *scale = ctx->workspace;
    float *shift =
        (float *)(void *)((char *)ctx->workspace + vt_op_align((size_t)channels * sizeof(float)));
    for (int64_t c = 0; c < channels; c++) {
        const double s = (double)gamma[c] / sqrt((double)variance[c] + (double)epsilon);
        scale[c] = (float)s;
        shift[c] = (float)((double)beta[c] - (double)mean[c] * s);
    }
    vt_channel_affine_run((x->rank > 0 ? x->dim[0] : 1) * channels, channels,
                          vt_op_product(x->dim, 2, x->rank), x->data, scale, shift,
                          ctx->outputs[0].data, ctx->pool);
    return VT_OK;
}

static enum vt_status instance_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    struct vt_norm *norm = ctx->state;
    const struct vt_tensor *x = ctx->inputs[0];
    enum vt_status status = vt_op_require_f32(ctx, 3);
    (void)ret_workspace;
    if (status == VT_OK && x->rank < 2) {
        status =
            vt_op_fail(ctx, VT_ERR_FORMAT, "the input has rank %u, needed is at least 2", x->rank);
    }
    if (status != VT_OK) {
        return status;
    }
    *norm = (struct vt_norm){.rows = x->dim[0] * x->dim[1],
                             .period = x->dim[1],
                             .blocks = 1,
                             .block = vt_op_product(x->dim, 2, x->rank),
                             .epsilon = vt_node_float(ctx->node, "epsilon", 1e-5f)};
    status = vt_op_require_count(ctx, 1, x->dim[1]);
    return status == VT_OK ? vt_op_require_count(ctx, 2, x->dim[1]) : status;
}

static enum vt_status group_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    struct vt_norm *norm = ctx->state;
    const struct vt_tensor *x = ctx->inputs[0];
    const int64_t groups = vt_node_int(ctx->node, "num_groups", 0);
    enum vt_status status = vt_op_require_f32(ctx, 3);
    (void)ret_workspace;
    if (status != VT_OK) {
        return status;
    }
    if (x->rank < 2 || groups < 1 || x->dim[1] % groups != 0) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "num_groups is %lld, it must divide the channels",
                          (long long)groups);
    }
    *norm = (struct vt_norm){.rows = x->dim[0] * groups,
                             .period = groups,
                             .blocks = x->dim[1] / groups,
                             .block = vt_op_product(x->dim, 2, x->rank),
                             .epsilon = vt_node_float(ctx->node, "epsilon", 1e-5f)};
    /* Up to opset 20 there is one factor a group. */
    for (uint32_t i = 1; i < 3 && status == VT_OK; i++) {
        status = vt_op_require_count(ctx, i, groups);
    }
    norm->block *= norm->blocks;
    norm->blocks = 1;
    return status;
}

static enum vt_status layer_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    struct vt_norm *norm = ctx->state;
    const struct vt_tensor *x = ctx->inputs[0];
    uint32_t axis = 0;
    enum vt_status status = vt_op_require_f32(ctx, 3);
    (void)ret_workspace;
    if (status == VT_OK) {
        status = vt_op_axis(ctx, vt_node_int(ctx->node, "axis", -1), x->rank, &axis);
    }
    if (status != VT_OK) {
        return status;
    }
    *norm = (struct vt_norm){.rows = vt_op_product(x->dim, 0, axis),
                             .period = 1,
                             .blocks = vt_op_product(x->dim, axis, x->rank),
                             .block = 1,
                             .epsilon = vt_node_float(ctx->node, "epsilon", 1e-5f)};
    status = vt_op_require_count(ctx, 1, norm->blocks);
    return status == VT_OK ? vt_op_require_count(ctx, 2, norm->blocks) : status;
}

static enum vt_status norm_run(struct vt_op_context *ctx)
{
    struct vt_norm norm = *(const struct vt_norm *)ctx->state;
    norm.scale = floats_of(ctx, 1);
    norm.bias = floats_of(ctx, 2);
    norm.mean = output_of(ctx, 1);
    norm.inverse = output_of(ctx, 2);
    vt_norm_run(&norm, ctx->inputs[0]->data, ctx->outputs[0].data, ctx->pool);
    return VT_OK;
}

static const struct vt_op ops[] = {
    {"", "BatchNormalization", VT_OP_IN_PLACE, 0, batch_prepare, batch_run},
    {"", "InstanceNormalization", VT_OP_IN_PLACE, sizeof(struct vt_norm), instance_prepare,
     norm_run},
    {"", "GroupNormalization", VT_OP_IN_PLACE, sizeof(struct vt_norm), group_prepare, norm_run},
    {"", "LayerNormalization", VT_OP_IN_PLACE, sizeof(struct vt_norm), layer_prepare, norm_run},
};
VT_OP_FAMILY(vt_ops_norm, ops);
