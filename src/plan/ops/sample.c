/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/sample/sample.h"
#include "plan/ops/window.h"

/* Which of `names` a text attribute is; -1 when it is none of them. */
static int choice(const struct vt_op_context *ctx, const char *attribute, const char *fallback,
                  const char *const *names, int n)
{
    const char *text = vt_node_string(ctx->node, attribute, fallback);
    for (int i = 0; i < n; i++) {
        if (strcmp(text, names[i]) == 0) {
            return i;
        }
    }
    return -1;
}

static enum vt_status fail_choice(const struct vt_op_context *ctx, const char *attribute,
                                  const char *known)
{
    return vt_op_fail(ctx, VT_ERR_FORMAT, "%s is '%s', known are %s", attribute,
                      vt_node_string(ctx->node, attribute, ""), known);
}

static enum vt_status grid_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    /* Opset 20 gave two of the modes other names. */
    static const char *const modes[] = {"nearest", "linear", "cubic", "bilinear", "bicubic"};
    static const char *const paddings[] = {"zeros", "border", "reflection"};
    struct vt_grid_sample *g = ctx->state;
    const struct vt_tensor *x = ctx->inputs[0], *grid = ctx->inputs[1];
    const int mode = choice(ctx, "mode", "linear", modes, 5);
    const int padding = choice(ctx, "padding_mode", "zeros", paddings, 3);
    enum vt_status status = vt_op_require_f32(ctx, 2);
    (void)ret_workspace;
    if (status != VT_OK) {
        return status;
    }
    if (mode < 0) {
        return fail_choice(ctx, "mode", "nearest, linear (bilinear) and cubic (bicubic)");
    }
    if (padding < 0) {
        return fail_choice(ctx, "padding_mode", "zeros, border and reflection");
    }
    if (x->rank < 3 || x->rank > 2 + VT_SAMPLE_DIMS || grid->rank != x->rank ||
        grid->dim[grid->rank - 1] != (int64_t)x->rank - 2 || grid->dim[0] != x->dim[0]) {
        return vt_op_fail(ctx, VT_ERR_UNSUPPORTED,
                          "an input of rank %u with a grid of rank %u: supported are one to three "
                          "spatial dimensions",
                          x->rank, grid->rank);
    }
    *g = (struct vt_grid_sample){.batch = x->dim[0],
                                 .channels = x->dim[1],
                                 .points = vt_op_product(grid->dim, 1, grid->rank - 1),
                                 .dims = x->rank - 2,
                                 .in = {1, 1, 1},
                                 .mode = (enum vt_sample_mode)(mode > 2 ? mode - 2 : mode),
                                 .padding = (enum vt_sample_padding)padding,
                                 .align_corners = vt_node_int(ctx->node, "align_corners", 0) != 0};
    for (uint32_t i = 0; i < g->dims; i++) {
        g->in[VT_SAMPLE_DIMS - g->dims + i] = x->dim[2 + i];
    }
    return VT_OK;
}

static enum vt_status grid_run(struct vt_op_context *ctx)
{
    vt_grid_sample_run(ctx->state, ctx->inputs[0]->data, ctx->inputs[1]->data, ctx->outputs[0].data,
                       ctx->pool);
    return VT_OK;
}

static enum vt_status roi_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    static const char *const modes[] = {"avg", "max"};
    static const char *const transforms[] = {"output_half_pixel", "half_pixel"};
    struct vt_roi_align *r = ctx->state;
    const struct vt_tensor *x = ctx->inputs[0], *regions = ctx->inputs[1];
    const int mode = choice(ctx, "mode", "avg", modes, 2);
    /* Up to opset 15 nothing is shifted. */
    const int transform = ctx->node->opset < 16 ? 0
                                                : choice(ctx, "coordinate_transformation_mode",
                                                         "half_pixel", transforms, 2);
    enum vt_status status = vt_op_require_f32(ctx, 2);
    (void)ret_workspace;
    if (status != VT_OK) {
        return status;
    }
    if (mode < 0) {
        return fail_choice(ctx, "mode", "avg and max");
    }
    if (transform < 0) {
        return fail_choice(ctx, "coordinate_transformation_mode",
                           "half_pixel and output_half_pixel");
    }
    *r = (struct vt_roi_align){.channels = x->dim[1],
                               .in = {x->dim[2], x->dim[3]},
                               .out = {ctx->outputs[0].dim[2], ctx->outputs[0].dim[3]},
                               .regions = regions->dim[0],
                               .sampling = vt_node_int(ctx->node, "sampling_ratio", 0),
                               .scale = vt_node_float(ctx->node, "spatial_scale", 1.0f),
                               .half_pixel = transform == 1,
                               .maximum = mode == 1};
    if (r->sampling < 0 || r->sampling > 1024) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "sampling_ratio is %lld, allowed are 0 to 1024",
                          (long long)r->sampling);
    }
    return VT_OK;
}

static enum vt_status roi_run(struct vt_op_context *ctx)
{
    const struct vt_roi_align *r = ctx->state;
    const int64_t *images = ctx->inputs[2]->data;
    int64_t bad = 0;
    for (int64_t i = 0; i < r->regions; i++) {
        if (images[i] < 0 || images[i] >= ctx->inputs[0]->dim[0]) {
            return vt_op_fail(ctx, VT_ERR_FORMAT, "region %lld is of image %lld, there are %lld",
                              (long long)i, (long long)images[i],
                              (long long)ctx->inputs[0]->dim[0]);
        }
    }
    if (!vt_roi_align_run(r, ctx->inputs[0]->data, ctx->inputs[1]->data, images,
                          ctx->outputs[0].data, &bad)) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "region %lld is too large", (long long)bad);
    }
    return VT_OK;
}

static enum vt_status deform_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    struct vt_deform_conv *d = ctx->state;
    const struct vt_tensor *x = ctx->inputs[0], *w = ctx->inputs[1], *out = &ctx->outputs[0];
    struct vt_window window = {0};
    enum vt_status status = vt_op_require_f32(ctx, 5);
    if (status == VT_OK && (x->rank != 4 || w->rank != 4)) {
        status =
            vt_op_fail(ctx, VT_ERR_UNSUPPORTED, "the input has rank %u, supported is 4", x->rank);
    }
    if (status == VT_OK) {
        status = vt_window_read(ctx, x, out, w->dim + 2, false, &window);
    }
    if (status != VT_OK) {
        return status;
    }
    *d = (struct vt_deform_conv){.batch = window.batch,
                                 .in_channels = window.channels,
                                 .out_channels = out->dim[1],
                                 .groups = vt_node_int(ctx->node, "group", 1),
                                 .offset_groups = vt_node_int(ctx->node, "offset_group", 1)};
    for (uint32_t i = 0; i < 2; i++) {
        d->in[i] = window.in[1 + i];
        d->out[i] = window.out[1 + i];
        d->kernel[i] = window.kernel[1 + i];
        d->stride[i] = window.stride[1 + i];
        d->dilation[i] = window.dilation[1 + i];
        d->pad[i] = window.pad[1 + i];
    }
    if (d->groups < 1 || d->offset_groups < 1 || d->in_channels % d->groups != 0 ||
        d->out_channels % d->groups != 0 || d->in_channels % d->offset_groups != 0 ||
        w->dim[1] != d->in_channels / d->groups || w->dim[0] != d->out_channels) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "group or offset_group does not fit the channels");
    }
    const int64_t taps = d->kernel[0] * d->kernel[1];
    const int64_t moved = d->batch * d->offset_groups * taps * d->out[0] * d->out[1];
    status = vt_op_require_count(ctx, 2, 2 * moved);
    if (status == VT_OK) {
        status = vt_op_require_count(ctx, 3, d->out_channels);
    }
    if (status == VT_OK) {
        status = vt_op_require_count(ctx, 4, moved);
    }
    *ret_workspace = (size_t)(d->in_channels * taps) * sizeof(float);
    return status;
}

static enum vt_status deform_run(struct vt_op_context *ctx)
{
    const struct vt_tensor *bias = vt_op_input(ctx, 3), *mask = vt_op_input(ctx, 4);
    const struct vt_deform_data data = {.x = ctx->inputs[0]->data,
                                        .weights = ctx->inputs[1]->data,
                                        .offset = ctx->inputs[2]->data,
                                        .bias = bias != NULL ? bias->data : NULL,
                                        .mask = mask != NULL ? mask->data : NULL,
                                        .y = ctx->outputs[0].data};
    vt_deform_conv_run(ctx->state, &data, ctx->workspace);
    return VT_OK;
}

static enum vt_status affine_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    struct vt_affine_grid *g = ctx->state;
    const struct vt_tensor *theta = ctx->inputs[0], *out = &ctx->outputs[0];
    (void)ret_workspace;
    if (theta->dtype != VT_F32) {
        return vt_op_fail_type(ctx, theta);
    }
    *g = (struct vt_affine_grid){.batch = out->dim[0],
                                 .dims = out->rank - 2,
                                 .align_corners = vt_node_int(ctx->node, "align_corners", 0) != 0};
    for (uint32_t d = 0; d < g->dims; d++) {
        g->out[d] = out->dim[1 + d];
    }
    return vt_op_require_count(ctx, 0, g->batch * g->dims * (g->dims + 1));
}

static enum vt_status affine_run(struct vt_op_context *ctx)
{
    vt_affine_grid_run(ctx->state, ctx->inputs[0]->data, ctx->outputs[0].data);
    return VT_OK;
}

static const struct vt_op ops[] = {
    {"", "DeformConv", 0, sizeof(struct vt_deform_conv), deform_prepare, deform_run},
    {"", "AffineGrid", 0, sizeof(struct vt_affine_grid), affine_prepare, affine_run},

    {"", "GridSample", 0, sizeof(struct vt_grid_sample), grid_prepare, grid_run},
    {"", "RoiAlign", 0, sizeof(struct vt_roi_align), roi_prepare, roi_run},
};
VT_OP_FAMILY(vt_ops_sample, ops);
