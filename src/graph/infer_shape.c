/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shapes of operators that only give elements another shape: Reshape and its kin. Those that move
 * elements are in infer_move.c.
 */
#include <string.h>

#include "graph/infer.h"

enum vt_status vt_infer_shape(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0);

    enum vt_status status = vt_infer_set(infer, 0, VT_I64, 1);
    if (status != VT_OK || !vt_infer_ranked(x)) {
        return status;
    }
    int64_t rank = x->rank;
    int64_t start = vt_node_int(infer->node, "start", 0);
    int64_t end = vt_node_int(infer->node, "end", rank);
    if (infer->node->opset < 15) {
        start = 0;
        end = rank;
    }
    start = start < -rank ? 0 : start < 0 ? start + rank : start > rank ? rank : start;
    end = end < -rank ? 0 : end < 0 ? end + rank : end > rank ? rank : end;
    vt_extent_put(vt_infer_output(infer, 0), 0, vt_extent_of(end > start ? end - start : 0));
    return VT_OK;
}

enum vt_status vt_infer_size(const struct vt_infer *infer)
{
    return vt_infer_set(infer, 0, VT_I64, 0);
}

/* Output 0 with the extents of a list of known numbers, each at least 0. */
static enum vt_status set_extents(const struct vt_infer *infer, enum vt_dtype dtype,
                                  const struct vt_infer_list *list)
{
    enum vt_status status = vt_infer_set(infer, 0, dtype, (uint32_t)list->n);

    for (size_t d = 0; status == VT_OK && list->known && d < list->n; d++) {
        if (list->at[d] < 0) {
            return vt_infer_fail(infer, VT_ERR_FORMAT, "a negative extent, %lld",
                                 (long long)list->at[d]);
        }
        vt_extent_put(vt_infer_output(infer, 0), (uint32_t)d, vt_extent_of(list->at[d]));
    }
    return status;
}

/* Whether the number of elements of a shape input is known. */
static bool count_known(const struct vt_infer *infer, uint32_t i)
{
    const struct vt_shape_info *in = vt_infer_input(infer, i);
    return vt_infer_ranked(in) && (in->rank == 0 || in->dim[0] >= 0);
}

enum vt_status vt_infer_constant_of_shape(const struct vt_infer *infer)
{
    const struct vt_attr *value = vt_node_attr(infer->node, "value");
    enum vt_dtype dtype = VT_F32;
    struct vt_infer_list shape;
    int64_t n;

    enum vt_status status = vt_infer_rank(infer, 0, 1);
    if (status == VT_OK) {
        status = vt_infer_input_list(infer, 0, &shape);
    }
    if (status != VT_OK) {
        return status;
    }
    if (value != NULL) {
        if (!vt_shape_elements(value->tensor->dim, value->tensor->rank, &n) || n != 1) {
            return vt_infer_fail(infer, VT_ERR_FORMAT, "its value must be one number");
        }
        dtype = value->tensor->dtype;
    }
    return count_known(infer, 0) ? set_extents(infer, dtype, &shape)
                                 : vt_infer_set(infer, 0, dtype, VT_RANK_UNKNOWN);
}

enum vt_status vt_infer_expand(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0);
    struct vt_infer_list shape;

    enum vt_status status = vt_infer_rank(infer, 1, 1);
    if (status == VT_OK) {
        status = vt_infer_input_list(infer, 1, &shape);
    }
    if (status != VT_OK || !vt_infer_ranked(x) || !count_known(infer, 1)) {
        return status != VT_OK ? status : vt_infer_set(infer, 0, x->dtype, VT_RANK_UNKNOWN);
    }
    if (!shape.known) {
        return vt_infer_set(infer, 0, x->dtype, shape.n > x->rank ? (uint32_t)shape.n : x->rank);
    }
    status = set_extents(infer, x->dtype, &shape);
    if (status != VT_OK) {
        return status;
    }
    /* Input and wanted shape are broadcast to each other. */
    struct vt_shape_info wanted = *vt_infer_output(infer, 0);
    const struct vt_shape_info *pair[2] = {x, &wanted};
    struct vt_infer both = *infer;
    both.inputs = pair;
    return vt_infer_broadcast(&both, 0, 2, x->dtype);
}

/*
 * The extent of -1 in a Reshape: what is left of the elements. `copied` tells of the input
 * dimensions that a 0 took over; those are on both sides and fall out, known or not.
 */
static enum vt_status reshape_rest(const struct vt_infer *infer, const struct vt_shape_info *x,
                                   uint32_t copied, int64_t fixed, struct vt_extent *ret)
{
    struct vt_extent total = vt_extent_of(1);

    for (uint32_t d = 0; vt_infer_ranked(x) && d < x->rank; d++) {
        if ((copied >> d & 1) == 0 && !vt_extent_mul(total, vt_extent_get(x, d), &total)) {
            return vt_infer_overflow(infer);
        }
    }
    if (!vt_infer_ranked(x)) {
        total = vt_extent_unknown(-1);
    }
    if (total.dim >= 0 && (fixed == 0 || total.dim % fixed != 0)) {
        return vt_infer_fail(infer, VT_ERR_FORMAT,
                             "%lld elements cannot be spread over extents whose product is %lld",
                             (long long)total.dim, (long long)fixed);
    }
    *ret = total.dim >= 0
               ? vt_extent_of(total.dim / fixed)
               : vt_extent_unknown(total.bound < 0 || fixed == 0 ? -1 : total.bound / fixed);
    return VT_OK;
}

/* Reshape with a known list of extents: 0 copies (unless allowzero), one -1 is what is left. */
static enum vt_status reshape_to(const struct vt_infer *infer, const struct vt_shape_info *x,
                                 const struct vt_infer_list *shape)
{
    bool allow_zero = infer->node->opset >= 14 && vt_node_int(infer->node, "allowzero", 0) != 0;
    struct vt_shape_info *out = vt_infer_output(infer, 0);
    struct vt_extent rest = {0};
    uint32_t copied = 0;
    int64_t fixed = 1;
    int open = -1;

    for (uint32_t d = 0; d < shape->n; d++) {
        int64_t wanted = shape->at[d];
        if (wanted == -1) {
            if (open >= 0) {
                return vt_infer_fail(infer, VT_ERR_FORMAT, "two of the extents are -1");
            }
            open = (int)d;
        } else if (wanted == 0 && !allow_zero) {
            if (vt_infer_ranked(x) && d >= x->rank) {
                return vt_infer_fail(infer, VT_ERR_FORMAT,
                                     "extent %u is 0 (copy), its input has %u dimensions", d,
                                     x->rank);
            }
            copied |= UINT32_C(1) << d;
            if (vt_infer_ranked(x)) {
                vt_extent_put(out, d, vt_extent_get(x, d));
            }
        } else if (wanted < 0) {
            return vt_infer_fail(infer, VT_ERR_FORMAT, "extent %u is %lld", d, (long long)wanted);
        } else {
            vt_extent_put(out, d, vt_extent_of(wanted));
            if (__builtin_mul_overflow(fixed, wanted, &fixed)) {
                return vt_infer_overflow(infer);
            }
        }
    }
    if (open >= 0) {
        /* A copied 0 on both sides leaves the rest open to any number: 0 elements, say 0. */
        enum vt_status status = reshape_rest(infer, x, copied, fixed, &rest);
        if (status == VT_OK) {
            vt_extent_put(out, (uint32_t)open, rest);
        }
        return status;
    }
    return vt_infer_same_extent(infer, vt_infer_elements(x), vt_infer_elements(out),
                                "the elements of its input and of the wanted shape");
}

enum vt_status vt_infer_reshape(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0);
    struct vt_infer_list shape;

    enum vt_status status = vt_infer_rank(infer, 1, 1);
    if (status == VT_OK) {
        status = vt_infer_input_list(infer, 1, &shape);
    }
    if (status != VT_OK) {
        return status;
    }
    if (!count_known(infer, 1)) {
        return vt_infer_set(infer, 0, x->dtype, VT_RANK_UNKNOWN);
    }
    status = vt_infer_set(infer, 0, x->dtype, (uint32_t)shape.n);
    return status != VT_OK || !shape.known ? status : reshape_to(infer, x, &shape);
}

enum vt_status vt_infer_flatten(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0);
    int64_t axis = vt_node_int(infer->node, "axis", 1);
    struct vt_extent outer = vt_extent_of(1), inner = vt_extent_of(1);

    enum vt_status status = vt_infer_set(infer, 0, x->dtype, 2);
    if (status != VT_OK || !vt_infer_ranked(x)) {
        return status;
    }
    int64_t rank = x->rank;
    if (axis > rank || axis < -rank || (axis < 0 && infer->node->opset < 11)) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "axis %lld is out of range for %u dimensions",
                             (long long)axis, x->rank);
    }
    axis = axis < 0 ? axis + rank : axis;
    for (uint32_t d = 0; d < x->rank; d++) {
        struct vt_extent *side = d < axis ? &outer : &inner;
        if (!vt_extent_mul(*side, vt_extent_get(x, d), side)) {
            return vt_infer_overflow(infer);
        }
    }
    vt_extent_put(vt_infer_output(infer, 0), 0, outer);
    vt_extent_put(vt_infer_output(infer, 0), 1, inner);
    return VT_OK;
}

static bool list_has(const struct vt_infer_list *list, int64_t number)
{
    for (size_t i = 0; i < list->n; i++) {
        if (list->at[i] == number) {
            return true;
        }
    }
    return false;
}

/* Without axes every extent of 1 goes: possible only when all extents are known. */
static enum vt_status squeeze_all(const struct vt_infer *infer, const struct vt_shape_info *x)
{
    struct vt_shape_info *out = vt_infer_output(infer, 0);
    uint32_t rank = 0;

    if (!vt_shape_info_known(x)) {
        return vt_infer_set(infer, 0, x->dtype, VT_RANK_UNKNOWN);
    }
    enum vt_status status = vt_infer_set(infer, 0, x->dtype, 0);
    for (uint32_t d = 0; status == VT_OK && d < x->rank; d++) {
        if (x->dim[d] != 1) {
            vt_extent_put(out, rank++, vt_extent_get(x, d));
        }
    }
    out->rank = rank;
    return status;
}

enum vt_status vt_infer_squeeze(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0);
    struct vt_infer_list axes;
    uint32_t rank = 0;

    enum vt_status status = vt_infer_either_list(infer, 13, "axes", 1, &axes);
    if (status != VT_OK || !vt_infer_ranked(x)) {
        return status != VT_OK ? status : vt_infer_set(infer, 0, x->dtype, VT_RANK_UNKNOWN);
    }
    if (!axes.given) {
        return squeeze_all(infer, x);
    }
    if (axes.n > x->rank) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "%zu axes are named, its input has %u", axes.n,
                             x->rank);
    }
    if (!axes.known) {
        return vt_infer_set(infer, 0, x->dtype,
                            count_known(infer, 1) ? x->rank - (uint32_t)axes.n : VT_RANK_UNKNOWN);
    }
    status = vt_infer_axes(infer, x->rank, &axes);
    if (status == VT_OK) {
        status = vt_infer_set(infer, 0, x->dtype, x->rank - (uint32_t)axes.n);
    }
    for (uint32_t d = 0; status == VT_OK && d < x->rank; d++) {
        if (!list_has(&axes, d)) {
            vt_extent_put(vt_infer_output(infer, 0), rank++, vt_extent_get(x, d));
        } else if (x->dim[d] > 1 || x->dim[d] == 0) {
            status = vt_infer_fail(infer, VT_ERR_FORMAT,
                                   "dimension %u cannot be squeezed, its extent is %lld", d,
                                   (long long)x->dim[d]);
        }
    }
    return status;
}

enum vt_status vt_infer_unsqueeze(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0);
    struct vt_infer_list axes;
    uint32_t from = 0;

    enum vt_status status = vt_infer_either_list(infer, 13, "axes", 1, &axes);
    if (status == VT_OK && !axes.given) {
        status = vt_infer_fail(infer, VT_ERR_FORMAT, "its axes are missing");
    }
    if (status != VT_OK) {
        return status;
    }
    if (!vt_infer_ranked(x) || (!axes.known && !count_known(infer, 1))) {
        return vt_infer_set(infer, 0, x->dtype, VT_RANK_UNKNOWN);
    }
    uint32_t rank = x->rank + (uint32_t)axes.n;
    status = vt_infer_set(infer, 0, x->dtype, rank);
    if (status == VT_OK && axes.known) {
        status = vt_infer_axes(infer, rank, &axes);
    }
    if (status != VT_OK || !axes.known) {
        return status;
    }
    for (uint32_t d = 0; d < rank; d++) {
        vt_extent_put(vt_infer_output(infer, 0), d,
                      list_has(&axes, d) ? vt_extent_of(1) : vt_extent_get(x, from++));
    }
    return VT_OK;
}
