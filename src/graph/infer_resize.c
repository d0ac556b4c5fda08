/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shapes of resampling: Resize, Upsample, GridSample, RoiAlign, and the two that trade channels
 * for space.
 */
#include <math.h>
#include <string.h>

#include "graph/infer.h"

/* The factor of one axis as it is given: single precision, as the standard computes with it. */
static enum vt_status scaled(const struct vt_infer *infer, struct vt_extent extent, float scale,
                             struct vt_extent *ret)
{
    if (!(scale > 0) || !isfinite(scale)) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "a scale is %g, it must be above 0",
                             (double)scale);
    }
    int64_t most = vt_extent_most(extent);
    if (most < 0) {
        *ret = vt_extent_unknown(-1);
        return VT_OK;
    }
    float size = floorf((float)most * scale);
    if (!(size < 0x1p62f)) {
        return vt_infer_overflow(infer);
    }
    *ret = extent.dim >= 0 ? vt_extent_of((int64_t)size) : vt_extent_unknown((int64_t)size);
    return VT_OK;
}

/* The float32 contents of an input: NULL when not known or omitted. An empty one is as good as
 * omitted: that is how opset 11 and 12 leave out an input in the middle. */
static const float *floats_of(const struct vt_infer *infer, uint32_t i, int64_t *ret_n)
{
    const struct vt_shape_info *in = vt_infer_input(infer, i);

    *ret_n = 0;
    if (!vt_infer_ranked(in) || in->rank != 1 || in->dim[0] < 0) {
        return NULL;
    }
    *ret_n = in->dim[0];
    return in->value != NULL && in->value->dtype == VT_F32 ? in->value->data : NULL;
}

/* Whether the input is there and not empty. */
static bool is_given(const struct vt_infer *infer, uint32_t i)
{
    const struct vt_shape_info *in = vt_infer_input(infer, i);
    return in != NULL && !(vt_infer_ranked(in) && in->rank == 1 && in->dim[0] == 0);
}

/* Output 0 by n scales for the axes of `axes`. `roi`, where not NULL, narrows the input first. */
static enum vt_status apply_scales(const struct vt_infer *infer, const struct vt_infer_list *axes,
                                   const float *scales, const float *roi)
{
    struct vt_shape_info *out = vt_infer_output(infer, 0);
    enum vt_status status = VT_OK;

    for (size_t i = 0; status == VT_OK && i < axes->n; i++) {
        uint32_t axis = (uint32_t)axes->at[i];
        struct vt_extent extent = vt_extent_get(out, axis);
        float share = roi != NULL ? roi[axes->n + i] - roi[i] : 1.0f;
        status = scaled(infer, extent, share * scales[i], &extent);
        if (status == VT_OK) {
            vt_extent_put(out, axis, extent);
        }
    }
    return status;
}

/* From opset 18 on the sizes may be limits that one common scale keeps to. */
static enum vt_status apply_policy(const struct vt_infer *infer, const struct vt_infer_list *axes,
                                   struct vt_infer_list *sizes)
{
    const char *policy = vt_node_string(infer->node, "keep_aspect_ratio_policy", "stretch");
    const struct vt_shape_info *x = vt_infer_input(infer, 0);
    bool smaller = strcmp(policy, "not_larger") == 0;
    double scale = smaller ? (double)INFINITY : 0.0;

    if (infer->node->opset < 18 || strcmp(policy, "stretch") == 0) {
        return VT_OK;
    }
    if (!smaller && strcmp(policy, "not_smaller") != 0) {
        return vt_infer_fail(infer, VT_ERR_FORMAT,
                             "keep_aspect_ratio_policy must be stretch, not_larger or not_smaller");
    }
    for (size_t i = 0; i < axes->n; i++) {
        int64_t dim = x->dim[axes->at[i]];
        if (dim <= 0) {
            sizes->known = false;
            return VT_OK;
        }
        double ratio = (double)sizes->at[i] / (double)dim;
        scale = smaller ? fmin(scale, ratio) : fmax(scale, ratio);
    }
    for (size_t i = 0; i < axes->n; i++) {
        double size = floor(scale * (double)x->dim[axes->at[i]] + 0.5);
        if (!(size < 0x1p62)) {
            return vt_infer_overflow(infer);
        }
        sizes->at[i] = (int64_t)size;
    }
    return VT_OK;
}

static enum vt_status apply_sizes(const struct vt_infer *infer, const struct vt_infer_list *axes)
{
    struct vt_infer_list sizes;

    enum vt_status status = vt_infer_input_list(infer, 3, &sizes);
    if (status != VT_OK || sizes.n != axes->n) {
        return status != VT_OK
                   ? status
                   : vt_infer_fail(infer, VT_ERR_FORMAT, "%zu sizes are given, %zu are needed",
                                   sizes.n, axes->n);
    }
    for (size_t i = 0; sizes.known && i < sizes.n; i++) {
        if (sizes.at[i] < 0) {
            return vt_infer_fail(infer, VT_ERR_FORMAT, "a size is %lld", (long long)sizes.at[i]);
        }
    }
    if (sizes.known) {
        status = apply_policy(infer, axes, &sizes);
    }
    for (size_t i = 0; status == VT_OK && i < axes->n; i++) {
        vt_extent_put(vt_infer_output(infer, 0), (uint32_t)axes->at[i],
                      sizes.known ? vt_extent_of(sizes.at[i]) : vt_extent_unknown(-1));
    }
    return status;
}

/* The axes that are resized: all, unless an attribute (opset 18) names some. */
static enum vt_status resize_axes(const struct vt_infer *infer, uint32_t rank,
                                  struct vt_infer_list *ret)
{
    enum vt_status status = vt_infer_attr_list(infer, "axes", ret);

    if (status == VT_OK && (!ret->given || infer->node->opset < 18)) {
        *ret = (struct vt_infer_list){.known = true, .n = rank};
        for (uint32_t d = 0; d < rank; d++) {
            ret->at[d] = d;
        }
    }
    return status != VT_OK ? status : vt_infer_axes(infer, rank, ret);
}

/* Scales that are not known leave the resized extents open. */
static enum vt_status resize_by_scales(const struct vt_infer *infer,
                                       const struct vt_infer_list *axes, uint32_t input)
{
    const char *mode = vt_node_string(infer->node, "coordinate_transformation_mode", "");
    bool crop = strcmp(mode, "tf_crop_and_resize") == 0;
    int64_t n, n_roi = 0;

    enum vt_status status = vt_infer_types(infer, input, VT_TYPE_BIT(VT_F32));
    const float *scales = floats_of(infer, input, &n);
    const float *roi = crop ? floats_of(infer, 1, &n_roi) : NULL;
    if (status == VT_OK && n != 0 && n != (int64_t)axes->n) {
        status = vt_infer_fail(infer, VT_ERR_FORMAT, "%lld scales are given, %zu are needed",
                               (long long)n, axes->n);
    }
    if (status == VT_OK && crop && n_roi != 0 && n_roi != 2 * (int64_t)axes->n) {
        status =
            vt_infer_fail(infer, VT_ERR_FORMAT, "%lld numbers of roi are given, %zu are needed",
                          (long long)n_roi, 2 * axes->n);
    }
    if (status != VT_OK) {
        return status;
    }
    if (scales != NULL && n > 0 && (!crop || roi != NULL)) {
        return apply_scales(infer, axes, scales, roi);
    }
    for (size_t i = 0; i < axes->n; i++) {
        vt_extent_put(vt_infer_output(infer, 0), (uint32_t)axes->at[i], vt_extent_unknown(-1));
    }
    return VT_OK;
}

/* Opset 10: (x, scales). From 11 on: (x, roi, scales, sizes), one of the last two. */
enum vt_status vt_infer_resize(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0);
    uint32_t scales_at = infer->node->opset < 11 ? 1 : 2;
    struct vt_infer_list axes;

    enum vt_status status = vt_infer_types(infer, 0, VT_TYPES_NUMBER);
    vt_infer_copy(infer, 0, x);
    if (status != VT_OK || !vt_infer_ranked(x)) {
        return status;
    }
    status = resize_axes(infer, x->rank, &axes);
    if (status != VT_OK) {
        return status;
    }
    bool by_sizes = infer->node->opset >= 11 && is_given(infer, 3);
    bool by_scales = is_given(infer, scales_at);
    if (by_sizes) {
        return apply_sizes(infer, &axes);
    }
    if (!by_scales) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "needs scales or sizes");
    }
    return resize_by_scales(infer, &axes, scales_at);
}

/* Scales are an attribute before opset 9, an input at 9. */
enum vt_status vt_infer_upsample(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0);
    const struct vt_attr *attr = vt_node_attr(infer->node, "scales");
    struct vt_infer_list axes;

    vt_infer_copy(infer, 0, x);
    if (!vt_infer_ranked(x)) {
        return VT_OK;
    }
    enum vt_status status = resize_axes(infer, x->rank, &axes);
    if (status != VT_OK) {
        return status;
    }
    if (infer->node->opset >= 9) {
        return vt_infer_input(infer, 1) != NULL
                   ? resize_by_scales(infer, &axes, 1)
                   : vt_infer_fail(infer, VT_ERR_FORMAT, "its scales are missing");
    }
    if (attr == NULL || attr->n != axes.n) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "attribute scales needs %zu numbers", axes.n);
    }
    return apply_scales(infer, &axes, attr->floats, NULL);
}

/* The block size, at least 1, and an input of four dimensions. */
static enum vt_status read_block(const struct vt_infer *infer, int64_t *ret_block)
{
    int64_t block = vt_node_int(infer->node, "blocksize", 0);

    if (block < 1 || block > INT32_MAX) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "blocksize is missing or below 1");
    }
    *ret_block = block;
    return vt_infer_rank(infer, 0, 4);
}

/* `extent` in parts of `divisor`, which must divide it. */
static enum vt_status divided(const struct vt_infer *infer, struct vt_extent extent,
                              int64_t divisor, struct vt_extent *ret)
{
    if (extent.dim >= 0 && extent.dim % divisor != 0) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "an extent of %lld is no multiple of %lld",
                             (long long)extent.dim, (long long)divisor);
    }
    int64_t most = vt_extent_most(extent);
    *ret = extent.dim >= 0 ? vt_extent_of(extent.dim / divisor)
                           : vt_extent_unknown(most < 0 ? -1 : most / divisor);
    return VT_OK;
}

enum vt_status vt_infer_depth_to_space(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0);
    struct vt_extent extent = {0};
    int64_t block = 1;

    enum vt_status status = read_block(infer, &block);
    vt_infer_copy(infer, 0, x);
    if (status != VT_OK || !vt_infer_ranked(x)) {
        return status;
    }
    status = divided(infer, vt_extent_get(x, 1), block * block, &extent);
    if (status != VT_OK) {
        return status;
    }
    struct vt_shape_info *out = vt_infer_output(infer, 0);
    vt_extent_put(out, 1, extent);
    for (uint32_t d = 2; d < 4; d++) {
        if (!vt_extent_mul(vt_extent_get(x, d), vt_extent_of(block), &extent)) {
            return vt_infer_overflow(infer);
        }
        vt_extent_put(out, d, extent);
    }
    return VT_OK;
}

enum vt_status vt_infer_space_to_depth(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0);
    struct vt_extent extent = {0};
    int64_t block = 1;

    enum vt_status status = read_block(infer, &block);
    vt_infer_copy(infer, 0, x);
    if (status != VT_OK || !vt_infer_ranked(x)) {
        return status;
    }
    struct vt_shape_info *out = vt_infer_output(infer, 0);
    if (!vt_extent_mul(vt_extent_get(x, 1), vt_extent_of(block * block), &extent)) {
        return vt_infer_overflow(infer);
    }
    vt_extent_put(out, 1, extent);
    for (uint32_t d = 2; status == VT_OK && d < 4; d++) {
        status = divided(infer, vt_extent_get(x, d), block, &extent);
        if (status == VT_OK) {
            vt_extent_put(out, d, extent);
        }
    }
    return status;
}

/* x [N, C, H, W] sampled at grid [N, H', W', 2]; from opset 20 on in any number of dimensions. */
enum vt_status vt_infer_grid_sample(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0), *grid = vt_infer_input(infer, 1);
    uint32_t rank = vt_infer_ranked(x) ? x->rank : vt_infer_ranked(grid) ? grid->rank : 0;

    if (rank == 0) {
        return vt_infer_set(infer, 0, x->dtype, VT_RANK_UNKNOWN);
    }
    if (rank < 3 || (rank != 4 && infer->node->opset < 20)) {
        return vt_infer_fail(infer, VT_ERR_FORMAT,
                             "its input has %u dimensions, 4 are needed (from opset 20 on 3 or "
                             "more)",
                             rank);
    }
    enum vt_status status = vt_infer_rank(infer, 0, rank);
    if (status == VT_OK) {
        status = vt_infer_rank(infer, 1, rank);
    }
    if (status == VT_OK) {
        status = vt_infer_set(infer, 0, x->dtype, rank);
    }
    if (status != VT_OK) {
        return status;
    }
    struct vt_shape_info *out = vt_infer_output(infer, 0);
    if (vt_infer_ranked(grid)) {
        status = vt_infer_same_extent(infer, vt_extent_get(grid, rank - 1), vt_extent_of(rank - 2),
                                      "the numbers of a grid point and the spatial dimensions");
        for (uint32_t d = 2; d < rank; d++) {
            vt_extent_put(out, d, vt_extent_get(grid, d - 1));
        }
    }
    if (status == VT_OK && vt_infer_ranked(x)) {
        vt_extent_put(out, 0, vt_extent_get(x, 0));
        vt_extent_put(out, 1, vt_extent_get(x, 1));
    }
    if (status == VT_OK && vt_infer_ranked(x) && vt_infer_ranked(grid)) {
        status = vt_infer_same_extent(infer, vt_extent_get(x, 0), vt_extent_get(grid, 0),
                                      "the batches of input and grid");
    }
    return status;
}

/* x [N, C, H, W], regions [R, 4] and the image of each [R] give [R, C, height, width]. */
enum vt_status vt_infer_roi_align(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0), *rois = vt_infer_input(infer, 1);
    const struct vt_shape_info *images = vt_infer_input(infer, 2);
    int64_t height = vt_node_int(infer->node, "output_height", 1);
    int64_t width = vt_node_int(infer->node, "output_width", 1);

    if (height < 1 || width < 1) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "its output must be at least 1x1");
    }
    enum vt_status status = vt_infer_rank(infer, 0, 4);
    if (status == VT_OK) {
        status = vt_infer_rank(infer, 1, 2);
    }
    if (status == VT_OK) {
        status = vt_infer_rank(infer, 2, 1);
    }
    if (status == VT_OK) {
        status = vt_infer_types(infer, 2, VT_TYPE_BIT(VT_I64));
    }
    if (status == VT_OK) {
        status = vt_infer_set(infer, 0, x->dtype, 4);
    }
    if (status != VT_OK) {
        return status;
    }
    struct vt_shape_info *out = vt_infer_output(infer, 0);
    vt_extent_put(out, 2, vt_extent_of(height));
    vt_extent_put(out, 3, vt_extent_of(width));
    if (vt_infer_ranked(x)) {
        vt_extent_put(out, 1, vt_extent_get(x, 1));
    }
    if (vt_infer_ranked(rois)) {
        vt_extent_put(out, 0, vt_extent_get(rois, 0));
        status = vt_infer_same_extent(infer, vt_extent_get(rois, 1), vt_extent_of(4),
                                      "the numbers of a region and 4");
    }
    if (status == VT_OK && vt_infer_ranked(rois) && vt_infer_ranked(images)) {
        status = vt_infer_same_extent(infer, vt_extent_get(rois, 0), vt_extent_get(images, 0),
                                      "regions and their images");
    }
    return status;
}

/* Matrices [N, 2, 3] or [N, 3, 4] and the size of an image give the positions of its pixels. */
enum vt_status vt_infer_affine_grid(const struct vt_infer *infer)
{
    const struct vt_shape_info *theta = vt_infer_input(infer, 0);
    struct vt_infer_list size;

    enum vt_status status = vt_infer_types(infer, 0, VT_TYPES_FLOAT);
    if (status == VT_OK) {
        status = vt_infer_rank(infer, 0, 3);
    }
    if (status == VT_OK) {
        status = vt_infer_input_list(infer, 1, &size);
    }
    if (status != VT_OK || !size.known) {
        return status != VT_OK ? status : vt_infer_set(infer, 0, theta->dtype, VT_RANK_UNKNOWN);
    }
    if (size.n != 4 && size.n != 5) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "its size has %zu numbers, 4 or 5 are needed",
                             size.n);
    }
    status = vt_infer_set(infer, 0, theta->dtype, (uint32_t)size.n);
    for (uint32_t d = 0; status == VT_OK && d + 1 < size.n; d++) {
        int64_t extent = size.at[d == 0 ? 0 : d + 1];
        if (extent < 0) {
            return vt_infer_fail(infer, VT_ERR_FORMAT, "its size holds %lld", (long long)extent);
        }
        vt_extent_put(vt_infer_output(infer, 0), d, vt_extent_of(extent));
    }
    if (status == VT_OK) {
        vt_extent_put(vt_infer_output(infer, 0), (uint32_t)size.n - 1,
                      vt_extent_of((int64_t)size.n - 2));
    }
    return status;
}

/* Columns [N, C·block, positions] are added up into an image [N, C, …]. */
enum vt_status vt_infer_col2im(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0);
    struct vt_infer_list image, block;
    struct vt_extent channels = vt_extent_unknown(-1);
    int64_t taps = 1;

    enum vt_status status = vt_infer_rank(infer, 0, 3);
    if (status == VT_OK) {
        status = vt_infer_input_list(infer, 1, &image);
    }
    if (status == VT_OK) {
        status = vt_infer_input_list(infer, 2, &block);
    }
    if (status == VT_OK && image.n + 2 > VT_RANK_MAX) {
        status = vt_infer_fail(infer, VT_ERR_LIMIT, "its image has too many dimensions");
    }
    if (status != VT_OK || !image.known) {
        return status != VT_OK ? status : vt_infer_set(infer, 0, x->dtype, VT_RANK_UNKNOWN);
    }
    for (size_t i = 0; block.known && i < block.n; i++) {
        if (block.at[i] < 1 || __builtin_mul_overflow(taps, block.at[i], &taps)) {
            return vt_infer_fail(infer, VT_ERR_FORMAT, "its block has an extent of %lld",
                                 (long long)block.at[i]);
        }
    }
    if (block.known && vt_infer_ranked(x)) {
        status = divided(infer, vt_extent_get(x, 1), taps, &channels);
    }
    if (status == VT_OK) {
        status = vt_infer_set(infer, 0, x->dtype, (uint32_t)image.n + 2);
    }
    if (status != VT_OK) {
        return status;
    }
    struct vt_shape_info *out = vt_infer_output(infer, 0);
    if (vt_infer_ranked(x)) {
        vt_extent_put(out, 0, vt_extent_get(x, 0));
    }
    vt_extent_put(out, 1, channels);
    for (uint32_t d = 0; d < image.n; d++) {
        if (image.at[d] < 0) {
            return vt_infer_fail(infer, VT_ERR_FORMAT, "its image has an extent of %lld",
                                 (long long)image.at[d]);
        }
        vt_extent_put(out, 2 + d, vt_extent_of(image.at[d]));
    }
    return VT_OK;
}
