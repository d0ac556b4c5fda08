/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "base/topology.h"
#include "kernels/finish.h"
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
    if (vt_node_int(ctx->node, "spatial", 1) != 1) {
        return vt_op_fail(ctx, VT_ERR_UNSUPPORTED, "spatial = 0 is not supported");
    }
    for (uint32_t i = 1; status == VT_OK && i < 5; i++) {
        status = vt_op_require_count(ctx, i, channels_of(x));
    }
    if (status == VT_OK) {
        *ret_workspace = 4 * vt_op_align((size_t)channels_of(x) * sizeof(float));
    }
    return status;
}

/* From opset 14 on an attribute says so, before that the number of outputs. */
static bool is_training(const struct vt_op_context *ctx)
{
    if (ctx->node->opset >= 14) {
        return vt_node_int(ctx->node, "training_mode", 0) != 0;
    }
    for (uint32_t i = 1; i < ctx->node->n_outputs; i++) {
        if (ctx->node->outputs[i] != VT_NO_VALUE) {
            return true;
        }
    }
    return false;
}

/* Running statistics: what came in, moved towards the batch's by 1 - momentum. Before opset 14 the
 * batch's own follow as outputs 3 and 4. */
static void put_statistics(struct vt_op_context *ctx, const float *const batch[2], int64_t channels)
{
    const float momentum = vt_node_float(ctx->node, "momentum", 0.9f);
    for (uint32_t k = 0; k < 2; k++) {
        float *running = output_of(ctx, 1 + k), *saved = output_of(ctx, 3 + k);
        const float *before = floats_of(ctx, 3 + k);
        for (int64_t c = 0; c < channels && running != NULL; c++) {
            running[c] = before[c] * momentum + batch[k][c] * (1.0f - momentum);
        }
        if (saved != NULL) {
            memcpy(saved, batch[k], (size_t)channels * sizeof(float));
        }
    }
}

static enum vt_status batch_run(struct vt_op_context *ctx)
{
    const struct vt_tensor *x = ctx->inputs[0];
    const int64_t channels = channels_of(x);
    const float epsilon = vt_node_float(ctx->node, "epsilon", 1e-5f);
    const float *gamma = floats_of(ctx, 1), *beta = floats_of(ctx, 2);
    const float *mean = floats_of(ctx, 3), *variance = floats_of(ctx, 4);
    float *scale = ctx->workspace;
    const size_t part = vt_op_align((size_t)channels * sizeof(float)) / sizeof(float);
    float *shift = scale + part;
    if (is_training(ctx)) {
        float *const batch[2] = {shift + part, shift + 2 * part};
        vt_channel_statistics(x->rank > 0 ? x->dim[0] : 1, channels,
                              vt_op_product(x->dim, 2, x->rank), x->data, batch[0], batch[1]);
        put_statistics(ctx, (const float *const[2]){batch[0], batch[1]}, channels);
        mean = batch[0];
        variance = batch[1];
    }
    for (int64_t c = 0; c < channels; c++) {
        const double s = (double)gamma[c] / sqrt((double)variance[c] + (double)epsilon);
        scale[c] = (float)s;
        shift[c] = (float)((double)beta[c] - (double)mean[c] * s);
    }
    if (ctx->channels_last) {
        const struct vt_affine_last affine = {.channels = channels,
                                              .factor = scale,
                                              .shift = shift,
                                              .features = vt_topology()->features};
        vt_affine_last_run(&affine, x->dim[0] * vt_op_product(x->dim, 2, x->rank), x->data, NULL,
                           ctx->outputs[0].data, ctx->pool);
        return VT_OK;
    }
    vt_channel_affine_run((x->rank > 0 ? x->dim[0] : 1) * channels, channels,
                          vt_op_product(x->dim, 2, x->rank), x->data, scale, shift,
                          ctx->outputs[0].data, ctx->pool);
    return VT_OK;
}

static struct vt_gemm_finish finish_of(const struct vt_op_context *ctx)
{
    return (struct vt_gemm_finish){ctx->epilogue->activation, ctx->epilogue->alpha,
                                   ctx->epilogue->beta};
}

/* The norm of a channels-last image, without the pointers. */
static struct vt_norm_last last_of(const struct vt_op_context *ctx)
{
    const struct vt_tensor *x = ctx->inputs[0];
    return (struct vt_norm_last){.batch = x->dim[0],
                                 .n = vt_op_product(x->dim, 2, x->rank),
                                 .channels = x->dim[1],
                                 .groups = x->dim[1],
                                 .epsilon = vt_node_float(ctx->node, "epsilon", 1e-5f),
                                 .finish = finish_of(ctx),
                                 .features = vt_topology()->features};
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
    if (ctx->channels_last) {
        const struct vt_norm_last last = last_of(ctx);
        *ret_workspace = vt_norm_last_workspace_bytes(&last);
    }
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
    /* Up to opset 20 there is one factor a group, from 21 on one a channel. */
    const bool by_channel = ctx->node->opset >= 21;
    for (uint32_t i = 1; i < 3 && status == VT_OK; i++) {
        status = vt_op_require_count(ctx, i, by_channel ? x->dim[1] : groups);
    }
    if (!by_channel) {
        norm->block *= norm->blocks;
        norm->blocks = 1;
    }
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

static enum vt_status layer_run(struct vt_op_context *ctx)
{
    const struct vt_norm *norm = ctx->state;
    const struct vt_layer_norm layer = {.rows = norm->rows,
                                        .n = norm->blocks,
                                        .epsilon = norm->epsilon,
                                        .scale = floats_of(ctx, 1),
                                        .bias = floats_of(ctx, 2),
                                        .mean = output_of(ctx, 1),
                                        .inverse = output_of(ctx, 2),
                                        .features = vt_topology()->features};
    vt_layer_norm_run(&layer, ctx->inputs[0]->data, NULL, NULL, ctx->outputs[0].data, ctx->pool);
    return VT_OK;
}

static enum vt_status instance_run(struct vt_op_context *ctx)
{
    const struct vt_tensor *residual = vt_op_residual(ctx);
    float *y = ctx->outputs[0].data;
    if (ctx->channels_last) {
        struct vt_norm_last last = last_of(ctx);
        last.scale = floats_of(ctx, 1);
        last.bias = floats_of(ctx, 2);
        vt_norm_last_run(&last, ctx->inputs[0]->data, residual != NULL ? residual->data : NULL, y,
                         ctx->pool, ctx->workspace);
        return VT_OK;
    }
    enum vt_status status = norm_run(ctx);
    const struct vt_gemm_finish finish = finish_of(ctx);
    if (finish.activation != VT_ACT_NONE || residual != NULL) {
        vt_finish_row(&finish, y, vt_op_elements(&ctx->outputs[0]),
                      residual != NULL ? residual->data : NULL, y);
    }
    return status;
}

static enum vt_status lp_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    uint32_t axis;
    (void)ret_workspace;
    enum vt_status status = vt_op_require_f32(ctx, 1);
    return status == VT_OK
               ? vt_op_axis(ctx, vt_node_int(ctx->node, "axis", -1), ctx->inputs[0]->rank, &axis)
               : status;
}

static enum vt_status lp_run(struct vt_op_context *ctx)
{
    const struct vt_tensor *x = ctx->inputs[0];
    uint32_t axis = 0;
    enum vt_status status = vt_op_axis(ctx, vt_node_int(ctx->node, "axis", -1), x->rank, &axis);
    if (status == VT_OK) {
        vt_lp_normalize_run(vt_op_product(x->dim, 0, axis), x->dim[axis],
                            vt_op_product(x->dim, axis + 1, x->rank),
                            (int)vt_node_int(ctx->node, "p", 2), x->data, ctx->outputs[0].data);
    }
    return status;
}

static enum vt_status mean_variance_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    static const int64_t all_but_channels[] = {0, 2, 3};
    struct vt_mean_variance *m = ctx->state;
    const struct vt_tensor *x = ctx->inputs[0];
    size_t n = 0;
    const int64_t *axes = vt_node_ints(ctx->node, "axes", &n);
    uint32_t over = 0, axis = 0;
    enum vt_status status = vt_op_require_f32(ctx, 1);
    if (axes == NULL) {
        axes = all_but_channels;
        n = 3;
    }
    for (size_t i = 0; i < n && status == VT_OK; i++) {
        status = vt_op_axis(ctx, axes[i], x->rank, &axis);
        over |= 1u << axis;
    }
    if (status != VT_OK) {
        return status;
    }
    *m = (struct vt_mean_variance){.rank = x->rank, .groups = 1, .epsilon = 1e-9};
    for (uint32_t d = x->rank; d-- > 0;) {
        m->dim[d] = x->dim[d];
        if ((over >> d & 1) == 0) {
            m->step[d] = m->groups;
            m->groups *= x->dim[d];
        }
    }
    *ret_workspace = 2 * (size_t)m->groups * sizeof(double);
    return VT_OK;
}

static enum vt_status mean_variance_run(struct vt_op_context *ctx)
{
    vt_mean_variance_run(ctx->state, ctx->inputs[0]->data, ctx->outputs[0].data, ctx->workspace);
    return VT_OK;
}

static enum vt_status rms_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    const struct vt_tensor *x = ctx->inputs[0];
    uint32_t axis = 0;
    (void)ret_workspace;
    enum vt_status status = vt_op_require_f32(ctx, 2);
    if (status == VT_OK) {
        status = vt_op_axis(ctx, vt_node_int(ctx->node, "axis", -1), x->rank, &axis);
    }
    *(uint32_t *)ctx->state = axis;
    return status == VT_OK ? vt_op_require_count(ctx, 1, vt_op_product(x->dim, axis, x->rank))
                           : status;
}

static enum vt_status rms_run(struct vt_op_context *ctx)
{
    const struct vt_tensor *x = ctx->inputs[0];
    const uint32_t axis = *(const uint32_t *)ctx->state;
    const struct vt_layer_norm rms = {.rows = vt_op_product(x->dim, 0, axis),
                                      .n = vt_op_product(x->dim, axis, x->rank),
                                      .epsilon = vt_node_float(ctx->node, "epsilon", 1e-5f),
                                      .rms = true,
                                      .scale = ctx->inputs[1]->data,
                                      .features = vt_topology()->features};
    vt_layer_norm_run(&rms, x->data, NULL, NULL, ctx->outputs[0].data, ctx->pool);
    return VT_OK;
}

static const struct vt_op ops[] = {
    {"", "RMSNormalization", VT_OP_IN_PLACE, sizeof(uint32_t), rms_prepare, rms_run},
    {"", "LpNormalization", 0, 0, lp_prepare, lp_run},
    {"", "MeanVarianceNormalization", 0, sizeof(struct vt_mean_variance), mean_variance_prepare,
     mean_variance_run},

    {"", "BatchNormalization", VT_OP_IN_PLACE, 0, batch_prepare, batch_run},
    {"", "InstanceNormalization", VT_OP_IN_PLACE | VT_OP_EPILOGUE, sizeof(struct vt_norm),
     instance_prepare, instance_run},
    {"", "GroupNormalization", VT_OP_IN_PLACE, sizeof(struct vt_norm), group_prepare, norm_run},
    {"", "LayerNormalization", VT_OP_IN_PLACE, sizeof(struct vt_norm), layer_prepare, layer_run},
};
VT_OP_FAMILY(vt_ops_norm, ops);
