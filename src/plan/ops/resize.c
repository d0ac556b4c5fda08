/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/resize/resize.h"
#include "plan/ops/support.h"

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
    static const char *const coordinates[] = {"half_pixel",           "pytorch_half_pixel",
                                              "align_corners",        "asymmetric",
                                              "tf_half_pixel_for_nn", "tf_crop_and_resize"};
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
    const int c = find_name(coordinate, coordinates, 6), n = find_name(rounding, nearest, 4);
    if (c < 0) {
        return fail_name(ctx, "coordinate_transformation_mode", coordinate);
    }
    if (n < 0) {
        return fail_name(ctx, "nearest_mode", rounding);
    }
    if (vt_node_int(ctx->node, "antialias", 0) != 0) {
        return vt_op_fail(ctx, VT_ERR_UNSUPPORTED, "antialias is not supported");
    }
    if (strcmp(vt_node_string(ctx->node, "keep_aspect_ratio_policy", "stretch"), "stretch") != 0) {
        return vt_op_fail(ctx, VT_ERR_UNSUPPORTED,
                          "keep_aspect_ratio_policy other than stretch is not supported");
    }
    r->coordinate = (enum vt_resize_coordinate)c;
    r->nearest = (enum vt_resize_nearest)n;
    r->cubic_a = vt_node_float(ctx->node, "cubic_coeff_a", -0.75f);
    r->exclude_outside = vt_node_int(ctx->node, "exclude_outside", 0) != 0;
    r->extrapolation = vt_node_float(ctx->node, "extrapolation_value", 0.0f);
    return VT_OK;
}

static enum vt_status prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    struct vt_resize *r = ctx->state;
    const struct vt_tensor *in = ctx->inputs[0], *out = &ctx->outputs[0];
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
    *ret_workspace = vt_resize_workspace_bytes(r);
    return VT_OK;
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
    if (scales != NULL && vt_op_elements(scales) == 0) {
        scales = NULL;
    }
    for (uint32_t i = 0; i < r->rank; i++) {
        r->scale[i] = r->in[i] > 0 ? (double)r->out[i] / (double)r->in[i] : 1.0;
        r->roi_start[i] = 0;
        r->roi_end[i] = 1;
    }
    const int64_t n = axis_list != NULL ? (int64_t)n_axes : r->rank;
    for (int64_t k = 0; k < n; k++) {
        uint32_t axis = (uint32_t)k;
        enum vt_status status =
            axis_list != NULL ? vt_op_axis(ctx, axis_list[k], r->rank, &axis) : VT_OK;
        if (status != VT_OK) {
            return status;
        }
        if (scales != NULL && k < vt_op_elements(scales)) {
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

static enum vt_status run(struct vt_op_context *ctx)
{
    struct vt_resize *r = ctx->state;
    enum vt_status status = read_scales(ctx, r);
    if (status != VT_OK) {
        return status;
    }
    if (r->rank == 0) {
        memcpy(ctx->outputs[0].data, ctx->inputs[0]->data, ctx->outputs[0].bytes);
    } else {
        vt_resize_run(r, vt_dtype_bytes(ctx->inputs[0]->dtype), ctx->inputs[0]->data,
                      ctx->outputs[0].data, ctx->pool, ctx->workspace);
    }
    return VT_OK;
}

static const struct vt_op ops[] = {
    {"", "Resize", 0, sizeof(struct vt_resize), prepare, run},
    {"", "Upsample", 0, sizeof(struct vt_resize), prepare, run},
};
VT_OP_FAMILY(vt_ops_resize, ops);
