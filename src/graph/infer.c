/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/infer.h"

#include <stdio.h>
#include <string.h>

#include "graph/import.h"

struct vt_extent vt_extent_get(const struct vt_shape_info *info, uint32_t axis)
{
    int64_t dim = info->dim[axis];
    return dim >= 0 ? vt_extent_of(dim) : vt_extent_unknown(info->bound[axis]);
}

void vt_extent_put(struct vt_shape_info *info, uint32_t axis, struct vt_extent extent)
{
    info->dim[axis] = extent.dim;
    info->bound[axis] = extent.dim >= 0 ? extent.dim : extent.bound;
}

bool vt_extent_add(struct vt_extent a, struct vt_extent b, struct vt_extent *ret)
{
    int64_t most_a = vt_extent_most(a), most_b = vt_extent_most(b), sum;
    bool known = a.dim >= 0 && b.dim >= 0;

    if (most_a < 0 || most_b < 0) {
        *ret = vt_extent_unknown(-1);
        return true;
    }
    if (__builtin_add_overflow(most_a, most_b, &sum)) {
        *ret = vt_extent_unknown(-1);
        return !known;
    }
    *ret = known ? vt_extent_of(sum) : vt_extent_unknown(sum);
    return true;
}

bool vt_extent_mul(struct vt_extent a, struct vt_extent b, struct vt_extent *ret)
{
    int64_t most_a = vt_extent_most(a), most_b = vt_extent_most(b), product;
    bool known = a.dim >= 0 && b.dim >= 0;

    if (a.dim == 0 || b.dim == 0) {
        *ret = vt_extent_of(0);
        return true;
    }
    if (most_a < 0 || most_b < 0) {
        *ret = vt_extent_unknown(-1);
        return true;
    }
    if (__builtin_mul_overflow(most_a, most_b, &product)) {
        *ret = vt_extent_unknown(-1);
        return !known;
    }
    *ret = known ? vt_extent_of(product) : vt_extent_unknown(product);
    return true;
}

enum vt_status vt_infer_fail(const struct vt_infer *infer, enum vt_status status, const char *fmt,
                             ...)
{
    va_list args;
    va_start(args, fmt);
    (void)vt_error_vset(infer->err, status, fmt, args);
    va_end(args);
    return status;
}

enum vt_status vt_infer_overflow(const struct vt_infer *infer)
{
    return vt_infer_fail(infer, VT_ERR_LIMIT, "an extent of its output overflows");
}

const struct vt_shape_info *vt_infer_input(const struct vt_infer *infer, uint32_t i)
{
    return i < infer->node->n_inputs ? infer->inputs[i] : NULL;
}

struct vt_shape_info *vt_infer_output(const struct vt_infer *infer, uint32_t i)
{
    return i < infer->node->n_outputs ? &infer->outputs[i] : NULL;
}

void vt_infer_copy(const struct vt_infer *infer, uint32_t i, const struct vt_shape_info *info)
{
    struct vt_shape_info *out = vt_infer_output(infer, i);
    if (out != NULL && info != NULL) {
        *out = *info;
        out->value = NULL;
    }
}

enum vt_status vt_infer_set(const struct vt_infer *infer, uint32_t i, enum vt_dtype dtype,
                            uint32_t rank)
{
    struct vt_shape_info *out = vt_infer_output(infer, i);

    if (rank > VT_RANK_MAX && rank != VT_RANK_UNKNOWN) {
        return vt_infer_fail(infer, VT_ERR_LIMIT,
                             "its output has %u dimensions, at most %d are supported", rank,
                             VT_RANK_MAX);
    }
    if (out != NULL) {
        out->dtype = dtype;
        out->rank = rank;
        for (uint32_t d = 0; d < VT_RANK_MAX; d++) {
            out->dim[d] = out->bound[d] = -1;
        }
    }
    return VT_OK;
}

struct vt_extent vt_infer_elements(const struct vt_shape_info *info)
{
    struct vt_extent total = vt_extent_of(1);

    if (!vt_infer_ranked(info)) {
        return vt_extent_unknown(-1);
    }
    for (uint32_t d = 0; d < info->rank; d++) {
        if (!vt_extent_mul(total, vt_extent_get(info, d), &total)) {
            return vt_extent_unknown(-1); /* caught by vt_infer_node at the node it came from */
        }
    }
    return total;
}

enum vt_status vt_infer_types(const struct vt_infer *infer, uint32_t i, uint32_t types)
{
    const struct vt_shape_info *in = vt_infer_input(infer, i);

    if (in != NULL && in->dtype != VT_UNDEFINED &&
        ((uint32_t)in->dtype > VT_BF16 || (types & VT_TYPE_BIT(in->dtype)) == 0)) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "input %u cannot be of type %s", i,
                             vt_dtype_name(in->dtype));
    }
    return VT_OK;
}

enum vt_status vt_infer_same_types(const struct vt_infer *infer, uint32_t first, uint32_t last,
                                   uint32_t types)
{
    enum vt_dtype type = VT_UNDEFINED;

    for (uint32_t i = first; i <= last && i < infer->node->n_inputs; i++) {
        const struct vt_shape_info *in = vt_infer_input(infer, i);
        enum vt_status status = vt_infer_types(infer, i, types);
        if (status != VT_OK) {
            return status;
        }
        if (in == NULL || in->dtype == VT_UNDEFINED) {
            continue;
        }
        if (type != VT_UNDEFINED && in->dtype != type) {
            return vt_infer_fail(infer, VT_ERR_FORMAT,
                                 "its inputs are of different types, %s and %s",
                                 vt_dtype_name(type), vt_dtype_name(in->dtype));
        }
        type = in->dtype;
    }
    return VT_OK;
}

enum vt_status vt_infer_alike(const struct vt_infer *infer, uint32_t a, uint32_t b)
{
    const struct vt_shape_info *first = vt_infer_input(infer, a), *other = vt_infer_input(infer, b);

    if (first != NULL && other != NULL && first->dtype != VT_UNDEFINED &&
        other->dtype != VT_UNDEFINED && first->dtype != other->dtype) {
        return vt_infer_fail(infer, VT_ERR_FORMAT,
                             "inputs %u and %u are of different types, %s "
                             "and %s",
                             a, b, vt_dtype_name(first->dtype), vt_dtype_name(other->dtype));
    }
    return VT_OK;
}

enum vt_status vt_infer_rank(const struct vt_infer *infer, uint32_t i, uint32_t rank)
{
    const struct vt_shape_info *in = vt_infer_input(infer, i);

    if (vt_infer_ranked(in) && in->rank != rank) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "input %u has %u dimensions, %u are needed", i,
                             in->rank, rank);
    }
    return VT_OK;
}

enum vt_status vt_infer_same_extent(const struct vt_infer *infer, struct vt_extent a,
                                    struct vt_extent b, const char *what)
{
    if (a.dim >= 0 && b.dim >= 0 && a.dim != b.dim) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "%s do not agree: %lld and %lld", what,
                             (long long)a.dim, (long long)b.dim);
    }
    return VT_OK;
}

enum vt_status vt_infer_axis(const struct vt_infer *infer, int64_t axis, uint32_t rank,
                             uint32_t *ret_axis)
{
    if (axis < -(int64_t)rank || axis >= (int64_t)rank) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "axis %lld is out of range for %u dimensions",
                             (long long)axis, rank);
    }
    *ret_axis = (uint32_t)(axis < 0 ? axis + rank : axis);
    return VT_OK;
}

enum vt_status vt_infer_attr_list(const struct vt_infer *infer, const char *name,
                                  struct vt_infer_list *ret)
{
    size_t n;
    const int64_t *ints = vt_node_ints(infer->node, name, &n);

    *ret = (struct vt_infer_list){.given = ints != NULL, .known = ints != NULL, .n = n};
    if (n > sizeof(ret->at) / sizeof(ret->at[0])) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "attribute %s has too many numbers (%zu)", name,
                             n);
    }
    if (ints != NULL) {
        memcpy(ret->at, ints, n * sizeof(*ints));
    }
    return VT_OK;
}

enum vt_status vt_infer_input_list(const struct vt_infer *infer, uint32_t i,
                                   struct vt_infer_list *ret)
{
    const struct vt_shape_info *in = vt_infer_input(infer, i);
    const size_t most = sizeof(ret->at) / sizeof(ret->at[0]);
    int64_t n = -1;

    *ret = (struct vt_infer_list){.given = in != NULL};
    enum vt_status status = vt_infer_types(infer, i, VT_TYPES_INDEX);
    if (status != VT_OK || in == NULL) {
        return status;
    }
    if (vt_infer_ranked(in)) {
        if (in->rank > 1) {
            return vt_infer_fail(infer, VT_ERR_FORMAT,
                                 "input %u must be a list, it has %u dimensions", i, in->rank);
        }
        n = in->rank == 0 ? 1 : in->dim[0];
    }
    if (n > (int64_t)most) {
        return vt_infer_fail(infer, VT_ERR_LIMIT, "input %u has %lld numbers, at most %zu are used",
                             i, (long long)n, most);
    }
    ret->n = n >= 0 ? (size_t)n : 0;
    if (in->value == NULL || n < 0 || in->value->data == NULL) {
        return VT_OK;
    }
    for (size_t k = 0; k < ret->n; k++) {
        ret->at[k] = in->value->dtype == VT_I64 ? ((const int64_t *)in->value->data)[k]
                                                : ((const int32_t *)in->value->data)[k];
    }
    ret->known = true;
    return VT_OK;
}

enum vt_status vt_infer_either_list(const struct vt_infer *infer, int64_t since, const char *name,
                                    uint32_t i, struct vt_infer_list *ret)
{
    bool attribute = infer->node->opset < since;

    /* Whoever runs the node takes what is there: both would be two opinions. */
    if (attribute && vt_infer_input(infer, i) != NULL) {
        return vt_infer_fail(infer, VT_ERR_FORMAT,
                             "'%s' is an attribute before opset %lld, not an input", name,
                             (long long)since);
    }
    if (!attribute && vt_node_attr(infer->node, name) != NULL) {
        return vt_infer_fail(infer, VT_ERR_FORMAT,
                             "'%s' is an input from opset %lld on, not an attribute", name,
                             (long long)since);
    }
    return attribute ? vt_infer_attr_list(infer, name, ret) : vt_infer_input_list(infer, i, ret);
}

enum vt_status vt_infer_axes(const struct vt_infer *infer, uint32_t rank,
                             struct vt_infer_list *list)
{
    uint32_t seen = 0;

    for (size_t i = 0; i < list->n; i++) {
        uint32_t axis = 0;
        enum vt_status status = vt_infer_axis(infer, list->at[i], rank, &axis);
        if (status != VT_OK) {
            return status;
        }
        if (seen >> axis & 1) {
            return vt_infer_fail(infer, VT_ERR_FORMAT, "axis %u is named twice", axis);
        }
        seen |= UINT32_C(1) << axis;
        list->at[i] = axis;
    }
    return VT_OK;
}

/* What two extents give: the rule of NumPy. */
static bool broadcast_extent(struct vt_extent a, struct vt_extent b, struct vt_extent *ret)
{
    if (a.dim == 1) {
        *ret = b;
    } else if (b.dim == 1) {
        *ret = a;
    } else if (a.dim >= 0 && b.dim >= 0) {
        *ret = a;
        return a.dim == b.dim;
    } else if (a.dim >= 0 || b.dim >= 0) {
        /* The unknown one is 1 or the same. */
        *ret = a.dim >= 0 ? a : b;
    } else {
        bool bounded = a.bound >= 0 && b.bound >= 0;
        *ret = vt_extent_unknown(!bounded ? -1 : a.bound > b.bound ? a.bound : b.bound);
    }
    return true;
}

enum vt_status vt_infer_broadcast(const struct vt_infer *infer, uint32_t first, uint32_t n,
                                  enum vt_dtype dtype)
{
    struct vt_shape_info result = {.dtype = dtype, .rank = 0};

    for (uint32_t i = first; i < first + n && i < infer->node->n_inputs; i++) {
        const struct vt_shape_info *in = vt_infer_input(infer, i);
        if (in == NULL) {
            continue;
        }
        if (in->rank == VT_RANK_UNKNOWN) {
            return vt_infer_set(infer, 0, dtype, VT_RANK_UNKNOWN);
        }
        uint32_t rank = in->rank > result.rank ? in->rank : result.rank;
        struct vt_shape_info next = {.dtype = dtype, .rank = rank};
        for (uint32_t d = 0; d < rank; d++) {
            /* Aligned at the end; what is missing in front counts as 1. */
            struct vt_extent a = vt_extent_of(1), b = vt_extent_of(1), both;
            if (d + result.rank >= rank) {
                a = vt_extent_get(&result, d + result.rank - rank);
            }
            if (d + in->rank >= rank) {
                b = vt_extent_get(in, d + in->rank - rank);
            }
            if (!broadcast_extent(a, b, &both)) {
                char left[96], right[96];
                return vt_infer_fail(
                    infer, VT_ERR_FORMAT, "shapes %s and %s do not fit together",
                    vt_shape_text(result.dim, result.rank, NULL, left, sizeof(left)),
                    vt_shape_text(in->dim, in->rank, NULL, right, sizeof(right)));
            }
            vt_extent_put(&next, d, both);
        }
        result = next;
    }
    vt_infer_copy(infer, 0, &result);
    return VT_OK;
}

bool vt_shape_info_known(const struct vt_shape_info *info)
{
    if (info->rank == VT_RANK_UNKNOWN) {
        return false;
    }
    for (uint32_t d = 0; d < info->rank; d++) {
        if (info->dim[d] < 0) {
            return false;
        }
    }
    return true;
}

/* Every known output has a size that can be counted. */
static enum vt_status check_outputs(const struct vt_infer *infer)
{
    for (uint32_t i = 0; i < infer->node->n_outputs; i++) {
        struct vt_shape_info *out = &infer->outputs[i];
        char text[128];
        int64_t elements;
        size_t bytes;
        out->value = NULL;
        if (!vt_shape_info_known(out)) {
            continue;
        }
        if (!vt_shape_elements(out->dim, out->rank, &elements) ||
            (vt_dtype_bytes(out->dtype) > 0 &&
             (!vt_shape_bytes(out->dtype, out->dim, out->rank, &bytes) || bytes > PTRDIFF_MAX))) {
            return vt_infer_fail(infer, VT_ERR_LIMIT, "its output would be too large: %s",
                                 vt_shape_text(out->dim, out->rank, NULL, text, sizeof(text)));
        }
    }
    return VT_OK;
}

enum vt_status vt_infer_node(const struct vt_infer *infer)
{
    const struct vt_node *node = infer->node;
    struct vt_error local = VT_ERROR_INIT;
    struct vt_infer inner = *infer;
    enum vt_status status = VT_OK;

    inner.err = &local;
    for (uint32_t i = 0; i < node->n_outputs; i++) {
        infer->outputs[i] = (struct vt_shape_info){.rank = VT_RANK_UNKNOWN};
        for (uint32_t d = 0; d < VT_RANK_MAX; d++) {
            infer->outputs[i].dim[d] = infer->outputs[i].bound[d] = -1;
        }
    }
    if (node->operator->infer == NULL) {
        return VT_OK;
    }
    for (uint32_t i = 0; status == VT_OK && i < node->operator->min_inputs; i++) {
        if (vt_infer_input(&inner, i) == NULL) {
            status = vt_infer_fail(&inner, VT_ERR_FORMAT, "input %u is missing", i);
        }
    }
    if (status == VT_OK) {
        status = node->operator->infer(&inner);
    }
    if (status == VT_OK) {
        status = check_outputs(&inner);
    }
    if (status == VT_OK) {
        return VT_OK;
    }
    const char *output = node->n_outputs > 0 && node->outputs[0] != VT_NO_VALUE
                             ? vt_model_values(infer->model)[node->outputs[0]].name
                             : "";
    return vt_error_set(infer->err, status, "%s: node %s (%s, opset %lld%s%s): %s",
                        vt_model_name(infer->model), vt_quote(node->name).text, node->op,
                        (long long)node->opset, node->name[0] == '\0' ? ", makes " : "",
                        node->name[0] == '\0' ? vt_quote(output).text : "", local.text);
}
