/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/resize/resize.h"
#include "plan/ops/support.h"

struct state {
    struct vt_resize resize;
    size_t workspace_bytes;
};

/* Position of `name` in a list; -1 when it is not there. */
static int find_name(const char *name, const char *const *list, int n)
{
    for (int i = 0; i < n; i++) {
        if (strcmp(name, list[i]) == 0) {
            return i;
        }
    }
    return -1;
}

static enum vt_status fail_name(const struct vt_op_context *ctx, const char *attribute,
                                const char *value)
{
    return vt_op_fail(ctx, VT_ERR_UNSUPPORTED, "%s '%s' is not supported", attribute, value);
}

static enum vt_status read_modes(const struct vt_op_context *ctx, struct vt_resize *r)
{
    static const char *const coordinates[] = {
        "half_pixel",           "pytorch_half_pixel", "align_corners",       "asymmetric",
        "tf_half_pixel_for_nn", "tf_crop_and_resize", "half_pixel_symmetric"};
    static const char *const nearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                          "ceil"};
    const char *mode = vt_node_string(ctx->node, "mode", "nearest");
    /* Before opset 11 positions were just divided by the scale, and rounded down. */
    const bool old = ctx->node->opset < 11 || strcmp(ctx->node->op, "Upsample") == 0;
    const char *coordinate = vt_node_string(ctx->node, "coordinate_transformation_mode",
                                            old ? "asymmetric" : "half_pixel");
    const char *rounding =
        vt_node_string(ctx->node, "nearest_mode", old ? "floor" : "round_prefer_floor");

    if (strcmp(mode, "nearest") == 0) {
        r->mode = VT_RESIZE_NEAREST;
    } else if (strcmp(mode, "linear") == 0 || strcmp(mode, "bilinear") == 0) {
        r->mode = VT_RESIZE_LINEAR;
    } else if (strcmp(mode, "cubic") == 0) {
        r->mode = VT_RESIZE_CUBIC;
    } else {
        return fail_name(ctx, "mode", mode);
    }
    const int c = find_name(coordinate, coordinates, 7), n = find_name(rounding, nearest, 4);
    if (c < 0) {
        return fail_name(ctx, "coordinate_transformation_mode", coordinate);
    }
    if (n < 0) {
        return fail_name(ctx, "nearest_mode", rounding);
    }
    r->antialias = vt_node_int(ctx->node, "antialias", 0) != 0;
    r->coordinate = (enum vt_resize_coordinate)c;
    r->nearest = (enum vt_resize_nearest)n;
    r->cubic_a = vt_node_float(ctx->node, "cubic_coeff_a", -0.75f);
    r->exclude_outside = vt_node_int(ctx->node, "exclude_outside", 0) != 0;
    r->extrapolation = vt_node_float(ctx->node, "extrapolation_value", 0.0f);
    return VT_OK;
}

static enum vt_status prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    struct state *s = ctx->state;
    struct vt_resize *r = &s->resize;
    const struct vt_tensor *in = ctx->inputs[0], *out = &ctx->outputs[0];
    const char *policy = vt_node_string(ctx->node, "keep_aspect_ratio_policy", "stretch");
    enum vt_status status = read_modes(ctx, r);
    if (status != VT_OK) {
        return status;
    }
    if (vt_dtype_bytes(in->dtype) == 0 || (r->mode != VT_RESIZE_NEAREST && in->dtype != VT_F32)) {
        return vt_op_fail_type(ctx, in);
    }
    if (r->coordinate == VT_RESIZE_TF_CROP_AND_RESIZE && in->dtype != VT_F32) {
        return vt_op_fail_type(ctx, in);
    }
    r->rank = in->rank;
    for (uint32_t i = 0; i < in->rank; i++) {
        r->in[i] = in->dim[i];
        r->out[i] = out->dim[i];
        if (in->dim[i] == 0 && out->dim[i] != 0) {
            return vt_op_fail(ctx, VT_ERR_FORMAT, "axis %u has no element to sample", i);
        }
    }
    /* How wide a filter is depends on the scales, which may not be known yet: none is wider than
     * the ratio of the extents asks for, but for what rounding added to the output. */
    const double rounded = strcmp(policy, "stretch") == 0 ? 0.0 : 0.5;
    for (uint32_t i = 0; i < in->rank; i++) {
        r->scale[i] = in->dim[i] > 0 && out->dim[i] > 0
                          ? ((double)out->dim[i] - rounded) / (double)in->dim[i]
                          : 1.0;
    }
    s->workspace_bytes = vt_resize_workspace_bytes(r);
    *ret_workspace = s->workspace_bytes;
    return VT_OK;
}

/* With a policy all axes that are resized have the scale that suits the sizes best. */
static bool common_scale(const struct vt_op_context *ctx, const struct vt_resize *r,
                         const int64_t *axes, int64_t n, double *ret_scale)
{
    const char *policy = vt_node_string(ctx->node, "keep_aspect_ratio_policy", "stretch");
    const struct vt_tensor *sizes = vt_op_input(ctx, 3);
    const bool smaller = strcmp(policy, "not_larger") == 0;
    if (ctx->node->opset < 18 || strcmp(policy, "stretch") == 0 || sizes == NULL ||
        vt_op_elements(sizes) != n || n == 0) {
        return false;
    }
    for (int64_t k = 0; k < n; k++) {
        int64_t axis = axes != NULL ? axes[k] : k;
        axis = axis < 0 ? axis + r->rank : axis;
        const double ratio = vt_op_double_at(sizes, k) / (double)r->in[axis];
        if (k == 0 || (smaller ? ratio < *ret_scale : ratio > *ret_scale)) {
            *ret_scale = ratio;
        }
    }
    return true;
}

/* Finds the scales tensor: input 1 up to opset 10, input 2 since; Upsample of opset 7 has an
 * attribute. Where sizes are given, the scales are the ratio of the extents. */
static enum vt_status read_scales(const struct vt_op_context *ctx, struct vt_resize *r)
{
    const bool old = ctx->node->opset < 11 || strcmp(ctx->node->op, "Upsample") == 0;
    const struct vt_tensor *scales = vt_op_input(ctx, old ? 1 : 2), *roi = NULL;
    const struct vt_attr *list = vt_node_attr(ctx->node, "scales");
    size_t n_axes = 0;
    const int64_t *axis_list = vt_node_ints(ctx->node, "axes", &n_axes);
    if (!old) {
        roi = vt_op_input(ctx, 1);
    }
    const struct vt_tensor *sizes = old ? NULL : vt_op_input(ctx, 3);
    if (scales != NULL &&
        (vt_op_elements(scales) == 0 || (sizes != NULL && vt_op_elements(sizes) > 0))) {
        scales = NULL;
    }
    for (uint32_t i = 0; i < r->rank; i++) {
        r->scale[i] = r->in[i] > 0 ? (double)r->out[i] / (double)r->in[i] : 1.0;
        r->roi_start[i] = 0;
        r->roi_end[i] = 1;
    }
    const int64_t n = axis_list != NULL ? (int64_t)n_axes : r->rank;
    double common = 0.0;
    const bool has_common = common_scale(ctx, r, axis_list, n, &common);
    for (int64_t k = 0; k < n; k++) {
        uint32_t axis = (uint32_t)k;
        enum vt_status status =
            axis_list != NULL ? vt_op_axis(ctx, axis_list[k], r->rank, &axis) : VT_OK;
        if (status != VT_OK) {
            return status;
        }
        if (has_common) {
            r->scale[axis] = common;
        } else if (scales != NULL && k < vt_op_elements(scales)) {
            r->scale[axis] = vt_op_double_at(scales, k);
        } else if (list != NULL && list->type == VT_ATTR_FLOATS && (size_t)k < list->n) {
            r->scale[axis] = (double)list->floats[k];
        }
        if (roi != NULL && vt_op_elements(roi) == 2 * n) {
            r->roi_start[axis] = vt_op_double_at(roi, k);
            r->roi_end[axis] = vt_op_double_at(roi, k + n);
        }
        if (!(r->scale[axis] > 0) && r->out[axis] > 0) {
            return vt_op_fail(ctx, VT_ERR_FORMAT, "the scale of axis %u is %g, it must be positive",
                              axis, r->scale[axis]);
        }
    }
    return VT_OK;
}

/* The axes in the order of a channels-last image in memory. */
static void put_channels_last(struct vt_resize *r)
{
    const struct vt_resize first = *r;
    for (uint32_t i = 1; i < r->rank; i++) {
        const uint32_t axis = i + 1 < r->rank ? i + 1 : 1;
        r->in[i] = first.in[axis];
        r->out[i] = first.out[axis];
        r->scale[i] = first.scale[axis];
        r->roi_start[i] = first.roi_start[axis];
        r->roi_end[i] = first.roi_end[axis];
    }
}

static enum vt_status run(struct vt_op_context *ctx)
{
    struct state *s = ctx->state;
    struct vt_resize *r = &s->resize;
    enum vt_status status = read_scales(ctx, r);
    if (status != VT_OK) {
        return status;
    }
    if (vt_resize_workspace_bytes(r) > s->workspace_bytes) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "the scales do not fit the output's extents");
    }
    if (r->rank == 0) {
        memcpy(ctx->outputs[0].data, ctx->inputs[0]->data, ctx->outputs[0].bytes);
    } else {
        struct vt_resize resize = *r;
        if (ctx->channels_last) {
            put_channels_last(&resize);
        }
        vt_resize_run(&resize, vt_dtype_bytes(ctx->inputs[0]->dtype), ctx->inputs[0]->data,
                      ctx->outputs[0].data, ctx->pool, ctx->workspace);
    }
    return VT_OK;
}

static const struct vt_op ops[] = {
    {"", "Resize", 0, sizeof(struct state), prepare, run},
    {"", "Upsample", 0, sizeof(struct state), prepare, run},
};
VT_OP_FAMILY(vt_ops_resize, ops);
