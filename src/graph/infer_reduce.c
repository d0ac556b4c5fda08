/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shapes of reductions, and of normalisations and softmax, which keep the shape but need sound
 * axes and parameters.
 */
#include "graph/infer.h"

/* The shape after reducing `axes` (all when none are named). */
static void reduced(const struct vt_infer *infer, const struct vt_shape_info *x,
                    const struct vt_infer_list *axes, bool keep)
{
    struct vt_shape_info *out = vt_infer_output(infer, 0);
    uint32_t gone = axes->n == 0 ? UINT32_MAX : 0, to = 0;

    for (size_t i = 0; i < axes->n; i++) {
        gone |= UINT32_C(1) << axes->at[i];
    }
    for (uint32_t d = 0; d < x->rank; d++) {
        if ((gone >> d & 1) == 0) {
            vt_extent_put(out, to++, vt_extent_get(x, d));
        } else if (keep) {
            vt_extent_put(out, to++, vt_extent_of(1));
        }
    }
    out->rank = to;
}

/* Axes become an input at opset 13 for ReduceSum and at 18 for the others. */
enum vt_status vt_infer_reduce(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0);
    bool is_sum = vt_operator_find("", "ReduceSum") == infer->node->operator;
    int64_t since = is_sum ? 13 : 18;
    bool keep = vt_node_int(infer->node, "keepdims", 1) != 0;
    struct vt_infer_list axes;

    enum vt_status status = vt_infer_types(infer, 0, VT_TYPES_NUMBER | VT_TYPES_BOOL);
    if (status == VT_OK) {
        status = vt_infer_either_list(infer, since, "axes", 1, &axes);
    }
    if (status != VT_OK || !vt_infer_ranked(x)) {
        return status != VT_OK ? status : vt_infer_set(infer, 0, x->dtype, VT_RANK_UNKNOWN);
    }
    if (axes.given && !axes.known) {
        return vt_infer_set(infer, 0, x->dtype, keep ? x->rank : VT_RANK_UNKNOWN);
    }
    if (axes.n == 0 && infer->node->opset >= since &&
        vt_node_int(infer->node, "noop_with_empty_axes", 0) != 0) {
        vt_infer_copy(infer, 0, x);
        return VT_OK;
    }
    status = vt_infer_axes(infer, x->rank, &axes);
    if (status == VT_OK) {
        status = vt_infer_set(infer, 0, x->dtype, x->rank);
    }
    if (status == VT_OK) {
        reduced(infer, x, &axes, keep);
    }
    return status;
}

enum vt_status vt_infer_arg_reduce(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0);
    bool keep = vt_node_int(infer->node, "keepdims", 1) != 0;
    struct vt_infer_list axis = {.n = 1, .at = {vt_node_int(infer->node, "axis", 0)}};

    enum vt_status status = vt_infer_types(infer, 0, VT_TYPES_NUMBER);
    if (status != VT_OK || !vt_infer_ranked(x)) {
        return status != VT_OK ? status : vt_infer_set(infer, 0, VT_I64, VT_RANK_UNKNOWN);
    }
    status = vt_infer_axes(infer, x->rank, &axis);
    if (status == VT_OK && x->dim[axis.at[0]] == 0) {
        status = vt_infer_fail(infer, VT_ERR_FORMAT, "its axis is empty");
    }
    if (status == VT_OK) {
        status = vt_infer_set(infer, 0, VT_I64, x->rank);
    }
    if (status == VT_OK) {
        reduced(infer, x, &axis, keep);
    }
    return status;
}

/* The default axis is 1 (all from there on) before opset 13, the last one from then on. */
enum vt_status vt_infer_softmax(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0);
    int64_t axis = vt_node_int(infer->node, "axis", infer->node->opset < 13 ? 1 : -1);
    uint32_t unused;

    enum vt_status status = vt_infer_types(infer, 0, VT_TYPES_FLOAT);
    /* Flattening may put everything into the rows: axis = rank is allowed before opset 13. */
    bool at_end = vt_infer_ranked(x) && infer->node->opset < 13 && axis == (int64_t)x->rank;
    if (status == VT_OK && vt_infer_ranked(x) && !at_end) {
        status = vt_infer_axis(infer, axis, x->rank, &unused);
    }
    if (status == VT_OK) {
        vt_infer_copy(infer, 0, x);
    }
    return status;
}

/* A vector of one number a channel. */
static enum vt_status check_channels(const struct vt_infer *infer, uint32_t i,
                                     struct vt_extent channels)
{
    enum vt_status status = vt_infer_types(infer, i, VT_TYPES_FLOAT);
    if (status == VT_OK) {
        status = vt_infer_rank(infer, i, 1);
    }
    return status != VT_OK || !vt_infer_ranked(vt_infer_input(infer, i))
               ? status
               : vt_infer_same_extent(infer, vt_extent_get(vt_infer_input(infer, i), 0), channels,
                                      "the parameters and the channels");
}

/* Batch, channels; parameters 1 … n have one number a channel (times nothing when x is unknown). */
static enum vt_status channel_norm(const struct vt_infer *infer, uint32_t n, uint32_t min_rank)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0);
    enum vt_status status = vt_infer_types(infer, 0, VT_TYPES_FLOAT);

    if (status != VT_OK) {
        return status;
    }
    vt_infer_copy(infer, 0, x);
    if (!vt_infer_ranked(x)) {
        return VT_OK;
    }
    if (x->rank < min_rank) {
        return vt_infer_fail(infer, VT_ERR_FORMAT,
                             "its input has %u dimensions, at least %u are "
                             "needed",
                             x->rank, min_rank);
    }
    struct vt_extent channels = x->rank > 1 ? vt_extent_get(x, 1) : vt_extent_of(1);
    for (uint32_t i = 1; status == VT_OK && i <= n; i++) {
        status = check_channels(infer, i, channels);
    }
    return status;
}

enum vt_status vt_infer_batch_norm(const struct vt_infer *infer)
{
    if (infer->node->opset < 9 && vt_node_int(infer->node, "spatial", 1) == 0) {
        return vt_infer_fail(infer, VT_ERR_UNSUPPORTED,
                             "spatial = 0 (one number an element) is not supported");
    }
    enum vt_status status = channel_norm(infer, 4, 1);
    for (uint32_t i = 1; status == VT_OK && i < infer->node->n_outputs; i++) {
        /* Statistics of training: mean and variance as they came in. */
        vt_infer_copy(infer, i, vt_infer_input(infer, i % 2 == 1 ? 3 : 4));
    }
    return status;
}

enum vt_status vt_infer_instance_norm(const struct vt_infer *infer)
{
    return channel_norm(infer, 2, 3);
}

enum vt_status vt_infer_group_norm(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0);
    int64_t groups = vt_node_int(infer->node, "num_groups", 0);
    /* The parameters are one a group before opset 21, one a channel from then on. */
    struct vt_extent n = vt_extent_of(groups);

    if (infer->node->opset >= 21) {
        n = vt_infer_ranked(x) && x->rank > 1 ? vt_extent_get(x, 1) : vt_extent_unknown(-1);
    }
    if (groups < 1) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "num_groups is missing or below 1");
    }
    enum vt_status status = channel_norm(infer, 0, 3);
    for (uint32_t i = 1; status == VT_OK && i <= 2; i++) {
        status = check_channels(infer, i, n);
    }
    if (status == VT_OK && vt_infer_ranked(x) && x->dim[1] >= 0 && x->dim[1] % groups != 0) {
        status =
            vt_infer_fail(infer, VT_ERR_FORMAT, "%lld channels cannot be split into %lld groups",
                          (long long)x->dim[1], (long long)groups);
    }
    return status;
}

/* The scale has the shape of the dimensions from the axis on, or is broadcast to them; mean and
 * inverse deviation have extents of 1 there. */
enum vt_status vt_infer_layer_norm(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0);
    int64_t stash = vt_node_int(infer->node, "stash_type", VT_F32);
    uint32_t axis = 0;

    enum vt_status status = vt_infer_same_types(infer, 0, 2, VT_TYPES_FLOAT);
    if (status != VT_OK) {
        return status;
    }
    vt_infer_copy(infer, 0, x);
    if (!vt_infer_ranked(x)) {
        return VT_OK;
    }
    status = vt_infer_axis(infer, vt_node_int(infer->node, "axis", -1), x->rank, &axis);
    for (uint32_t i = 1; status == VT_OK && i <= 2; i++) {
        const struct vt_shape_info *p = vt_infer_input(infer, i);
        if (!vt_infer_ranked(p)) {
            continue;
        }
        if (p->rank > x->rank - axis) {
            return vt_infer_fail(infer, VT_ERR_FORMAT,
                                 "input %u has %u dimensions, %u are normalised", i, p->rank,
                                 x->rank - axis);
        }
        for (uint32_t d = 0; status == VT_OK && d < p->rank; d++) {
            struct vt_extent extent = vt_extent_get(p, d);
            if (extent.dim != 1) {
                status =
                    vt_infer_same_extent(infer, extent, vt_extent_get(x, x->rank - p->rank + d),
                                         "the parameters and what is normalised");
            }
        }
    }
    if (status == VT_OK && stash != VT_F32 && stash != VT_BF16 && stash != VT_F16) {
        status = vt_infer_fail(infer, VT_ERR_FORMAT, "its stash_type is unknown");
    }
    for (uint32_t i = 1; status == VT_OK && i < infer->node->n_outputs; i++) {
        vt_infer_copy(infer, i, x);
        vt_infer_output(infer, i)->dtype = (enum vt_dtype)stash;
        for (uint32_t d = axis; d < x->rank; d++) {
            vt_extent_put(vt_infer_output(infer, i), d, vt_extent_of(1));
        }
    }
    return status;
}

enum vt_status vt_infer_lrn(const struct vt_infer *infer)
{
    if (vt_node_int(infer->node, "size", 0) < 1) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "its size is missing or below 1");
    }
    return channel_norm(infer, 0, 2);
}

enum vt_status vt_infer_lp_norm(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0);
    int64_t p = vt_node_int(infer->node, "p", 2);
    uint32_t unused;

    if (p != 1 && p != 2) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "p is %lld, it must be 1 or 2", (long long)p);
    }
    enum vt_status status = vt_infer_types(infer, 0, VT_TYPES_FLOAT);
    if (status == VT_OK && vt_infer_ranked(x)) {
        status = vt_infer_axis(infer, vt_node_int(infer->node, "axis", -1), x->rank, &unused);
    }
    if (status == VT_OK) {
        vt_infer_copy(infer, 0, x);
    }
    return status;
}

enum vt_status vt_infer_mean_variance_norm(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0);
    struct vt_infer_list axes;

    enum vt_status status = vt_infer_types(infer, 0, VT_TYPES_FLOAT);
    if (status == VT_OK) {
        status = vt_infer_attr_list(infer, "axes", &axes);
    }
    if (status == VT_OK && vt_infer_ranked(x)) {
        if (!axes.given) {
            /* By default everything but the channels. */
            axes = (struct vt_infer_list){.n = 3, .at = {0, 2, 3}};
        }
        status = vt_infer_axes(infer, x->rank, &axes);
    }
    if (status == VT_OK) {
        vt_infer_copy(infer, 0, x);
    }
    return status;
}
