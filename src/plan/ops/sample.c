/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/sample/sample.h"
#include "plan/ops/support.h"

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
    vt_grid_sample_run(ctx->state, ctx->inputs[0]->data, ctx->inputs[1]->data,
                       ctx->outputs[0].data, ctx->pool);
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
    const int transform =
        ctx->node->opset < 16
            ? 0
            : choice(ctx, "coordinate_transformation_mode", "half_pixel", transforms, 2);
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

static const struct vt_op ops[] = {
    {"", "GridSample", 0, sizeof(struct vt_grid_sample), grid_prepare, grid_run},
    {"", "RoiAlign", 0, sizeof(struct vt_roi_align), roi_prepare, roi_run},
};
VT_OP_FAMILY(vt_ops_sample, ops);
