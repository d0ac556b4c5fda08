/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shapes of convolutions and pooling: windows that slide over one to six spatial dimensions.
 */
#include <string.h>

#include "graph/infer.h"

#define SPATIAL_MAX (VT_RANK_MAX - 2)

enum auto_pad {
    PAD_EXPLICIT,
    PAD_VALID,
    PAD_SAME,
};

/* How a window slides, from the attributes; complete for `n` spatial dimensions. */
struct window {
    uint32_t n;
    enum auto_pad auto_pad;
    int64_t kernel[SPATIAL_MAX]; /* -1: not known */
    int64_t stride[SPATIAL_MAX];
    int64_t dilation[SPATIAL_MAX];
    int64_t before[SPATIAL_MAX], after[SPATIAL_MAX];
};

/* A list attribute of n numbers, each at least `least`; absent: all `fallback`. */
static enum vt_status read_list(const struct vt_infer *infer, const char *name, uint32_t n,
                                int64_t least, int64_t fallback, int64_t *ret)
{
    size_t given;
    const int64_t *ints = vt_node_ints(infer->node, name, &given);

    if (ints != NULL && given != n) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "%s has %zu numbers, %u are needed", name, given,
                             n);
    }
    for (uint32_t i = 0; i < n; i++) {
        ret[i] = ints != NULL ? ints[i] : fallback;
        if (ints != NULL && (ret[i] < least || ret[i] > INT32_MAX)) {
            return vt_infer_fail(infer, VT_ERR_FORMAT, "%s is %lld, it must be %lld to %d", name,
                                 (long long)ret[i], (long long)least, INT32_MAX);
        }
    }
    return VT_OK;
}

static enum vt_status read_window(const struct vt_infer *infer, uint32_t n, struct window *ret)
{
    const char *auto_pad = vt_node_string(infer->node, "auto_pad", "NOTSET");
    int64_t pads[2 * SPATIAL_MAX] = {0};
    struct window window = {.n = n};

    if (strcmp(auto_pad, "SAME_UPPER") == 0 || strcmp(auto_pad, "SAME_LOWER") == 0) {
        window.auto_pad = PAD_SAME;
    } else if (strcmp(auto_pad, "VALID") == 0) {
        window.auto_pad = PAD_VALID;
    } else if (strcmp(auto_pad, "NOTSET") != 0 && auto_pad[0] != '\0') {
        return vt_infer_fail(infer, VT_ERR_FORMAT,
                             "auto_pad must be NOTSET, VALID, SAME_UPPER or SAME_LOWER");
    }
    enum vt_status status = read_list(infer, "kernel_shape", n, 1, -1, window.kernel);
    if (status == VT_OK) {
        status = read_list(infer, "strides", n, 1, 1, window.stride);
    }
    if (status == VT_OK) {
        status = read_list(infer, "dilations", n, 1, 1, window.dilation);
    }
    if (status == VT_OK) {
        status = read_list(infer, "pads", 2 * n, 0, 0, pads);
    }
    if (status != VT_OK) {
        return status;
    }
    for (uint32_t i = 0; i < n && window.auto_pad == PAD_EXPLICIT; i++) {
        window.before[i] = pads[i];
        window.after[i] = pads[n + i];
    }
    *ret = window;
    return VT_OK;
}

/*
 * Positions of the window on an extent, or -1 when it does not fit. Every number is below 2^31
 * but `extent`, which is at most INT64_MAX / 4 here, so nothing overflows.
 */
static int64_t positions(const struct window *w, uint32_t i, int64_t extent, bool ceil_mode)
{
    int64_t reach = (w->kernel[i] - 1) * w->dilation[i] + 1;

    if (w->auto_pad == PAD_SAME) {
        return extent / w->stride[i] + (extent % w->stride[i] != 0);
    }
    int64_t room = extent + w->before[i] + w->after[i] - reach;
    if (room < 0 || w->stride[i] < 1) {
        return -1;
    }
    int64_t n = room / w->stride[i] + 1;
    if (ceil_mode && room % w->stride[i] != 0 && n * w->stride[i] < extent + w->before[i]) {
        n++; /* a last window that starts inside the input or the padding before it */
    }
    return n;
}

/* The positions on an extent that may be unknown. */
static enum vt_status slide(const struct vt_infer *infer, const struct window *w, uint32_t i,
                            struct vt_extent extent, bool ceil_mode, struct vt_extent *ret)
{
    int64_t most = vt_extent_most(extent);

    if (most > INT64_MAX / 4) {
        return vt_infer_overflow(infer);
    }
    if (most < 0 || w->kernel[i] < 0) {
        *ret = vt_extent_unknown(-1);
        return VT_OK;
    }
    int64_t n = positions(w, i, most, ceil_mode);
    if (n < 0 && extent.dim >= 0) {
        return vt_infer_fail(infer, VT_ERR_FORMAT,
                             "its kernel of %lld (dilation %lld) is larger than its padded input, "
                             "%lld + %lld + %lld, in spatial dimension %u",
                             (long long)w->kernel[i], (long long)w->dilation[i], (long long)most,
                             (long long)w->before[i], (long long)w->after[i], i);
    }
    *ret = extent.dim >= 0 ? vt_extent_of(n) : vt_extent_unknown(n < 0 ? 0 : n);
    return VT_OK;
}

/* Batch, channels and at least one spatial dimension. */
static enum vt_status check_image(const struct vt_infer *infer, const struct vt_shape_info *x)
{
    if (x->rank < 3) {
        return vt_infer_fail(infer, VT_ERR_FORMAT,
                             "its input has %u dimensions: batch, channels and at least one "
                             "spatial dimension are needed",
                             x->rank);
    }
    return VT_OK;
}

/* The kernel's extents come from the weights; an attribute must say the same. */
static enum vt_status kernel_from_weights(const struct vt_infer *infer,
                                          const struct vt_shape_info *w, struct window *window)
{
    for (uint32_t i = 0; i < window->n; i++) {
        struct vt_extent extent = vt_extent_get(w, 2 + i);
        if (window->kernel[i] >= 0) {
            enum vt_status status = vt_infer_same_extent(infer, vt_extent_of(window->kernel[i]),
                                                         extent, "kernel_shape and weights");
            if (status != VT_OK) {
                return status;
            }
        }
        if (extent.dim == 0 || extent.dim > INT32_MAX) {
            return vt_infer_fail(infer, VT_ERR_FORMAT, "its kernel has an extent of %lld",
                                 (long long)extent.dim);
        }
        window->kernel[i] = extent.dim >= 0 ? extent.dim : window->kernel[i];
    }
    return VT_OK;
}

static enum vt_status check_group(const struct vt_infer *infer, int64_t *ret_group)
{
    int64_t group = vt_node_int(infer->node, "group", 1);
    if (group < 1) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "group is %lld, it must be at least 1",
                             (long long)group);
    }
    *ret_group = group;
    return VT_OK;
}

/* A vector of one number an output channel, where it is there. */
static enum vt_status check_bias(const struct vt_infer *infer, uint32_t input,
                                 struct vt_extent channels)
{
    const struct vt_shape_info *bias = vt_infer_input(infer, input);

    enum vt_status status = vt_infer_rank(infer, input, 1);
    return status != VT_OK || !vt_infer_ranked(bias)
               ? status
               : vt_infer_same_extent(infer, vt_extent_get(bias, 0), channels,
                                      "bias and output channels");
}

/* x [N, C, …] with w [M, C / group, …] gives [N, M, …]. */
static enum vt_status conv(const struct vt_infer *infer, uint32_t x_at, uint32_t w_at,
                           uint32_t bias_at, enum vt_dtype dtype)
{
    const struct vt_shape_info *x = vt_infer_input(infer, x_at);
    const struct vt_shape_info *w = vt_infer_input(infer, w_at);
    struct vt_extent channels;
    struct window window = {0};
    int64_t group = 1;

    enum vt_status status = check_group(infer, &group);
    if (status != VT_OK || !vt_infer_ranked(x)) {
        return status != VT_OK ? status : vt_infer_set(infer, 0, dtype, VT_RANK_UNKNOWN);
    }
    status = check_image(infer, x);
    if (status == VT_OK) {
        status = read_window(infer, x->rank - 2, &window);
    }
    if (status == VT_OK) {
        status = vt_infer_rank(infer, w_at, x->rank);
    }
    if (status == VT_OK) {
        status = vt_infer_set(infer, 0, dtype, x->rank);
    }
    if (status != VT_OK || !vt_infer_ranked(w)) {
        return status;
    }
    status = kernel_from_weights(infer, w, &window);
    if (status == VT_OK && !vt_extent_mul(vt_extent_get(w, 1), vt_extent_of(group), &channels)) {
        status = vt_infer_overflow(infer);
    }
    if (status == VT_OK) {
        status = vt_infer_same_extent(infer, vt_extent_get(x, 1), channels,
                                      "input channels and weights times group");
    }
    if (status == VT_OK) {
        status = check_bias(infer, bias_at, vt_extent_get(w, 0));
    }
    if (status != VT_OK) {
        return status;
    }
    if (w->dim[0] > 0 && w->dim[0] % group != 0) {
        return vt_infer_fail(infer, VT_ERR_FORMAT,
                             "%lld output channels cannot be split into %lld groups",
                             (long long)w->dim[0], (long long)group);
    }
    struct vt_shape_info *out = vt_infer_output(infer, 0);
    vt_extent_put(out, 0, vt_extent_get(x, 0));
    vt_extent_put(out, 1, vt_extent_get(w, 0));
    for (uint32_t i = 0; status == VT_OK && i < window.n; i++) {
        struct vt_extent n = {0};
        status = slide(infer, &window, i, vt_extent_get(x, 2 + i), false, &n);
        if (status == VT_OK) {
            vt_extent_put(out, 2 + i, n);
        }
    }
    return status;
}

enum vt_status vt_infer_conv(const struct vt_infer *infer)
{
    enum vt_status status = vt_infer_same_types(infer, 0, 2, VT_TYPES_FLOAT);
    return status != VT_OK ? status : conv(infer, 0, 1, 2, vt_infer_input(infer, 0)->dtype);
}

/* The third input holds offsets, the fourth the bias, the fifth a mask. */
enum vt_status vt_infer_deform_conv(const struct vt_infer *infer)
{
    enum vt_status status = vt_infer_same_types(infer, 0, 4, VT_TYPES_FLOAT);
    if (status == VT_OK) {
        status = vt_infer_rank(infer, 0, 4);
    }
    return status != VT_OK ? status : conv(infer, 0, 1, 3, vt_infer_input(infer, 0)->dtype);
}

enum vt_status vt_infer_conv_integer(const struct vt_infer *infer)
{
    enum vt_status status = vt_infer_types(infer, 0, VT_TYPES_BYTE);
    if (status == VT_OK) {
        status = vt_infer_types(infer, 1, VT_TYPES_BYTE);
    }
    return status != VT_OK ? status : conv(infer, 0, 1, UINT32_MAX, VT_I32);
}

enum vt_status vt_infer_qlinear_conv(const struct vt_infer *infer)
{
    static const uint32_t bytes[] = {0, 2, 3, 5, 7};
    enum vt_status status = vt_infer_types(infer, 8, VT_TYPE_BIT(VT_I32));

    for (size_t i = 0; status == VT_OK && i < sizeof(bytes) / sizeof(bytes[0]); i++) {
        status = vt_infer_types(infer, bytes[i], VT_TYPES_BYTE);
    }
    return status != VT_OK ? status : conv(infer, 0, 3, 8, vt_infer_input(infer, 7)->dtype);
}

/* The extent that a transposed convolution makes of one. */
static enum vt_status spread(const struct vt_infer *infer, const struct window *w, uint32_t i,
                             int64_t output_padding, struct vt_extent extent, struct vt_extent *ret)
{
    int64_t most = vt_extent_most(extent);
    int64_t n;

    *ret = vt_extent_unknown(-1);
    if (most < 0 || (w->kernel[i] < 0 && w->auto_pad != PAD_SAME)) {
        return VT_OK;
    }
    if (most > INT32_MAX) {
        return vt_infer_overflow(infer);
    }
    if (w->auto_pad == PAD_SAME) {
        n = most * w->stride[i];
    } else {
        n = w->stride[i] * (most - 1) + output_padding + (w->kernel[i] - 1) * w->dilation[i] + 1 -
            w->before[i] - w->after[i];
    }
    if (n < 0) {
        return vt_infer_fail(infer, VT_ERR_FORMAT,
                             "its output would have a negative extent (%lld) in spatial dimension "
                             "%u: the pads are larger than what they cut",
                             (long long)n, i);
    }
    *ret = extent.dim >= 0 ? vt_extent_of(n) : vt_extent_unknown(n);
    return VT_OK;
}

/* x [N, C, …] with w [C, M / group, …] gives [N, M, …]. */
static enum vt_status conv_transpose_spatial(const struct vt_infer *infer,
                                             const struct vt_shape_info *x,
                                             const struct window *window)
{
    struct vt_shape_info *out = vt_infer_output(infer, 0);
    int64_t padding[SPATIAL_MAX], shape[SPATIAL_MAX];

    enum vt_status status = read_list(infer, "output_padding", window->n, 0, 0, padding);
    if (status == VT_OK) {
        status = read_list(infer, "output_shape", window->n, 0, -1, shape);
    }
    for (uint32_t i = 0; status == VT_OK && i < window->n; i++) {
        struct vt_extent n = vt_extent_of(shape[i]);
        if (shape[i] < 0) {
            status = spread(infer, window, i, padding[i], vt_extent_get(x, 2 + i), &n);
        }
        if (status == VT_OK) {
            vt_extent_put(out, 2 + i, n);
        }
    }
    return status;
}

enum vt_status vt_infer_conv_transpose(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0), *w = vt_infer_input(infer, 1);
    struct vt_extent channels;
    struct window window = {0};
    int64_t group = 1;

    enum vt_status status = vt_infer_same_types(infer, 0, 2, VT_TYPES_FLOAT);
    if (status == VT_OK) {
        status = check_group(infer, &group);
    }
    if (status != VT_OK || !vt_infer_ranked(x)) {
        return status != VT_OK ? status : vt_infer_set(infer, 0, x->dtype, VT_RANK_UNKNOWN);
    }
    status = check_image(infer, x);
    if (status == VT_OK) {
        status = read_window(infer, x->rank - 2, &window);
    }
    if (status == VT_OK) {
        status = vt_infer_rank(infer, 1, x->rank);
    }
    if (status == VT_OK) {
        status = vt_infer_set(infer, 0, x->dtype, x->rank);
    }
    if (status != VT_OK || !vt_infer_ranked(w)) {
        return status;
    }
    status = kernel_from_weights(infer, w, &window);
    if (status == VT_OK) {
        status = vt_infer_same_extent(infer, vt_extent_get(x, 1), vt_extent_get(w, 0),
                                      "input channels and weights");
    }
    if (status == VT_OK && !vt_extent_mul(vt_extent_get(w, 1), vt_extent_of(group), &channels)) {
        status = vt_infer_overflow(infer);
    }
    if (status == VT_OK && w->dim[0] > 0 && w->dim[0] % group != 0) {
        status = vt_infer_fail(infer, VT_ERR_FORMAT,
                               "%lld input channels cannot be split into %lld groups",
                               (long long)w->dim[0], (long long)group);
    }
    if (status == VT_OK) {
        status = check_bias(infer, 2, channels);
    }
    if (status != VT_OK) {
        return status;
    }
    struct vt_shape_info *out = vt_infer_output(infer, 0);
    vt_extent_put(out, 0, vt_extent_get(x, 0));
    vt_extent_put(out, 1, channels);
    return conv_transpose_spatial(infer, x, &window);
}

static enum vt_status pool(const struct vt_infer *infer, uint32_t types)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0);
    struct window window = {0};

    enum vt_status status = vt_infer_types(infer, 0, types);
    if (status != VT_OK || !vt_infer_ranked(x)) {
        return status != VT_OK ? status : vt_infer_set(infer, 0, x->dtype, VT_RANK_UNKNOWN);
    }
    if (vt_node_attr(infer->node, "kernel_shape") == NULL) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "attribute kernel_shape is missing");
    }
    status = check_image(infer, x);
    if (status == VT_OK) {
        status = read_window(infer, x->rank - 2, &window);
    }
    if (status == VT_OK) {
        status = vt_infer_set(infer, 0, x->dtype, x->rank);
    }
    if (status != VT_OK) {
        return status;
    }
    bool ceil_mode = vt_node_int(infer->node, "ceil_mode", 0) != 0;
    struct vt_shape_info *out = vt_infer_output(infer, 0);
    vt_extent_put(out, 0, vt_extent_get(x, 0));
    vt_extent_put(out, 1, vt_extent_get(x, 1));
    for (uint32_t i = 0; status == VT_OK && i < window.n; i++) {
        struct vt_extent n = {0};
        int64_t reach = (window.kernel[i] - 1) * window.dilation[i] + 1;
        if (window.before[i] >= reach || window.after[i] >= reach) {
            return vt_infer_fail(
                infer, VT_ERR_FORMAT, "pads (%lld, %lld) must be smaller than its kernel (%lld)",
                (long long)window.before[i], (long long)window.after[i], (long long)reach);
        }
        status = slide(infer, &window, i, vt_extent_get(x, 2 + i), ceil_mode, &n);
        if (status == VT_OK) {
            vt_extent_put(out, 2 + i, n);
        }
    }
    return status;
}

enum vt_status vt_infer_average_pool(const struct vt_infer *infer)
{
    return pool(infer, VT_TYPES_FLOAT);
}

enum vt_status vt_infer_lp_pool(const struct vt_infer *infer)
{
    int64_t p = vt_node_int(infer->node, "p", 2);

    if (p < 1) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "p is %lld, it must be at least 1",
                             (long long)p);
    }
    return pool(infer, VT_TYPES_FLOAT);
}

/* The second output numbers the elements that were chosen. */
enum vt_status vt_infer_max_pool(const struct vt_infer *infer)
{
    enum vt_status status = pool(infer, VT_TYPES_FLOAT | VT_TYPES_BYTE);
    struct vt_shape_info *indices = vt_infer_output(infer, 1);

    if (status == VT_OK && indices != NULL) {
        vt_infer_copy(infer, 1, vt_infer_output(infer, 0));
        indices->dtype = VT_I64;
    }
    return status;
}

enum vt_status vt_infer_global_pool(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0);

    enum vt_status status = vt_infer_types(infer, 0, VT_TYPES_FLOAT);
    if (status == VT_OK && vt_infer_ranked(x)) {
        status = check_image(infer, x);
    }
    if (status == VT_OK && vt_node_int(infer->node, "p", 2) < 1) {
        status = vt_infer_fail(infer, VT_ERR_FORMAT, "p is %lld, it must be at least 1",
                               (long long)vt_node_int(infer->node, "p", 2));
    }
    if (status != VT_OK) {
        return status;
    }
    vt_infer_copy(infer, 0, x);
    for (uint32_t d = 2; vt_infer_ranked(x) && d < x->rank; d++) {
        vt_extent_put(vt_infer_output(infer, 0), d, vt_extent_of(1));
    }
    return VT_OK;
}

/* The image that a MaxPool was made of, or of the extents that the third input names. */
enum vt_status vt_infer_max_unpool(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0);
    struct window window = {0};
    struct vt_infer_list shape;

    enum vt_status status = vt_infer_types(infer, 1, VT_TYPE_BIT(VT_I64));
    if (status == VT_OK) {
        status = vt_infer_input_list(infer, 2, &shape);
    }
    if (status != VT_OK || !vt_infer_ranked(x)) {
        return status != VT_OK ? status : vt_infer_set(infer, 0, x->dtype, VT_RANK_UNKNOWN);
    }
    status = check_image(infer, x);
    if (status == VT_OK) {
        status = read_window(infer, x->rank - 2, &window);
    }
    if (status == VT_OK && window.kernel[0] < 0) {
        status = vt_infer_fail(infer, VT_ERR_FORMAT, "attribute kernel_shape is missing");
    }
    if (status == VT_OK) {
        status = vt_infer_set(infer, 0, x->dtype, x->rank);
    }
    if (status == VT_OK && shape.given && shape.known && shape.n != x->rank) {
        status = vt_infer_fail(infer, VT_ERR_FORMAT, "output_shape has %zu numbers, %u are needed",
                               shape.n, x->rank);
    }
    if (status != VT_OK || (shape.given && !shape.known)) {
        return status;
    }
    struct vt_shape_info *out = vt_infer_output(infer, 0);
    vt_extent_put(out, 0, vt_extent_get(x, 0));
    vt_extent_put(out, 1, vt_extent_get(x, 1));
    for (uint32_t i = 0; status == VT_OK && i < window.n; i++) {
        struct vt_extent n = {0};
        window.dilation[i] = 1;
        status = spread(infer, &window, i, 0, vt_extent_get(x, 2 + i), &n);
        if (shape.given) {
            n = vt_extent_of(shape.at[2 + i]);
        }
        if (status == VT_OK && n.dim < 0 && shape.given) {
            status = vt_infer_fail(infer, VT_ERR_FORMAT, "output_shape holds %lld",
                                   (long long)shape.at[2 + i]);
        }
        if (status == VT_OK) {
            vt_extent_put(out, 2 + i, n);
        }
    }
    return status;
}
