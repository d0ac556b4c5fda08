/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shapes of operators that move elements: Transpose, Concat, Split, Slice, Pad, Tile and others.
 */
#include <math.h>
#include <string.h>

#include "graph/infer.h"

enum vt_status vt_infer_transpose(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0);
    struct vt_infer_list perm;

    enum vt_status status = vt_infer_attr_list(infer, "perm", &perm);
    if (status != VT_OK || !vt_infer_ranked(x)) {
        return status != VT_OK ? status : vt_infer_set(infer, 0, x->dtype, VT_RANK_UNKNOWN);
    }
    if (perm.given && perm.n != x->rank) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "perm has %zu numbers, its input %u dimensions",
                             perm.n, x->rank);
    }
    status = vt_infer_axes(infer, x->rank, &perm);
    if (status == VT_OK) {
        status = vt_infer_set(infer, 0, x->dtype, x->rank);
    }
    for (uint32_t d = 0; status == VT_OK && d < x->rank; d++) {
        uint32_t from = perm.given ? (uint32_t)perm.at[d] : x->rank - 1 - d;
        vt_extent_put(vt_infer_output(infer, 0), d, vt_extent_get(x, from));
    }
    return status;
}

enum vt_status vt_infer_concat(const struct vt_infer *infer)
{
    const struct vt_shape_info *first = vt_infer_input(infer, 0);
    struct vt_shape_info result;
    struct vt_extent sum = vt_extent_of(0);
    uint32_t axis = 0;

    enum vt_status status =
        vt_infer_same_types(infer, 0, UINT32_MAX - 1, VT_TYPES_NUMBER | VT_TYPES_BOOL);
    if (status != VT_OK) {
        return status;
    }
    if (vt_node_attr(infer->node, "axis") == NULL) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "attribute axis is missing");
    }
    for (uint32_t i = 0; i < infer->node->n_inputs; i++) {
        const struct vt_shape_info *in = vt_infer_input(infer, i);
        if (in == NULL) {
            return vt_infer_fail(infer, VT_ERR_FORMAT, "input %u is omitted", i);
        }
        if (!vt_infer_ranked(in)) {
            return vt_infer_set(infer, 0, first->dtype, VT_RANK_UNKNOWN);
        }
    }
    status = vt_infer_axis(infer, vt_node_int(infer->node, "axis", 0), first->rank, &axis);
    if (status != VT_OK) {
        return status;
    }
    result = *first;
    for (uint32_t i = 0; i < infer->node->n_inputs; i++) {
        const struct vt_shape_info *in = vt_infer_input(infer, i);
        status = vt_infer_rank(infer, i, first->rank);
        for (uint32_t d = 0; status == VT_OK && d < first->rank; d++) {
            struct vt_extent extent = vt_extent_get(in, d);
            if (d == axis) {
                status = vt_extent_add(sum, extent, &sum) ? VT_OK : vt_infer_overflow(infer);
                continue;
            }
            status = vt_infer_same_extent(infer, extent, vt_extent_get(&result, d),
                                          "the extents beside the axis");
            if (result.dim[d] < 0 && extent.dim >= 0) {
                vt_extent_put(&result, d, extent);
            }
        }
        if (status != VT_OK) {
            return status;
        }
    }
    vt_extent_put(&result, axis, sum);
    vt_infer_copy(infer, 0, &result);
    return VT_OK;
}

/* Equal parts; from opset 18 on the last may be smaller when their number is an attribute. */
static enum vt_status equal_parts(const struct vt_infer *infer, struct vt_extent extent, uint32_t n,
                                  struct vt_infer_list *ret)
{
    bool ragged = infer->node->opset >= 18;

    if (ragged && vt_node_int(infer->node, "num_outputs", (int64_t)n) != (int64_t)n) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "num_outputs is %lld, the node has %u outputs",
                             (long long)vt_node_int(infer->node, "num_outputs", n), n);
    }
    ret->known = extent.dim >= 0;
    if (!ret->known) {
        return VT_OK;
    }
    if (!ragged && extent.dim % n != 0) {
        return vt_infer_fail(infer, VT_ERR_FORMAT,
                             "an extent of %lld cannot be split into %u equal parts",
                             (long long)extent.dim, n);
    }
    int64_t part = extent.dim / n + (extent.dim % n != 0);
    ret->at[0] = part;
    ret->at[1] = extent.dim - part * (n - 1);
    if (ret->at[1] < 0) {
        return vt_infer_fail(infer, VT_ERR_FORMAT,
                             "an extent of %lld cannot be split into %u parts",
                             (long long)extent.dim, n);
    }
    return VT_OK;
}

/* The extents that are named: as many as outputs, their sum what there is. */
static enum vt_status named_parts(const struct vt_infer *infer, struct vt_extent extent, uint32_t n,
                                  const int64_t *parts, size_t n_parts)
{
    int64_t sum = 0;

    if (n_parts != n) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "names %zu parts, it has %u outputs", n_parts,
                             n);
    }
    for (uint32_t i = 0; i < n; i++) {
        if (parts[i] < 0 || __builtin_add_overflow(sum, parts[i], &sum)) {
            return vt_infer_fail(infer, VT_ERR_FORMAT, "part %u has an extent of %lld", i,
                                 (long long)parts[i]);
        }
    }
    return vt_infer_same_extent(infer, vt_extent_of(sum), extent, "the parts and what is split");
}

/* The numbers of split, which may be more than a short list holds; NULL when not known. */
static const int64_t *split_parts(const struct vt_infer *infer, bool *ret_given, size_t *ret_n)
{
    const struct vt_shape_info *in = vt_infer_input(infer, 1);

    if (infer->node->opset < 13) {
        const int64_t *ints = vt_node_ints(infer->node, "split", ret_n);
        *ret_given = ints != NULL;
        return ints;
    }
    *ret_given = in != NULL;
    *ret_n = 0;
    if (in == NULL || in->value == NULL || in->value->dtype != VT_I64 || in->value->rank != 1) {
        return NULL;
    }
    *ret_n = (size_t)in->value->dim[0];
    return in->value->data;
}

enum vt_status vt_infer_split(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0);
    uint32_t n = infer->node->n_outputs, axis = 0;
    struct vt_infer_list equal = {.known = false};
    bool given;
    size_t n_parts;

    enum vt_status status = vt_infer_types(infer, 1, VT_TYPE_BIT(VT_I64));
    if (status == VT_OK && vt_infer_ranked(x)) {
        status = vt_infer_axis(infer, vt_node_int(infer->node, "axis", 0), x->rank, &axis);
    }
    if (status != VT_OK) {
        return status;
    }
    if (!vt_infer_ranked(x)) {
        for (uint32_t i = 0; i < n; i++) {
            vt_infer_copy(infer, i, x);
        }
        return VT_OK;
    }
    const int64_t *parts = split_parts(infer, &given, &n_parts);
    struct vt_extent extent = vt_extent_get(x, axis);
    if (parts != NULL) {
        status = named_parts(infer, extent, n, parts, n_parts);
    } else if (!given) {
        status = equal_parts(infer, extent, n, &equal);
    }
    for (uint32_t i = 0; status == VT_OK && i < n; i++) {
        struct vt_extent part = vt_extent_unknown(vt_extent_most(extent));
        if (parts != NULL) {
            part = vt_extent_of(parts[i]);
        } else if (equal.known) {
            part = vt_extent_of(equal.at[i == n - 1]);
        }
        vt_infer_copy(infer, i, x);
        vt_extent_put(vt_infer_output(infer, i), axis, part);
    }
    return status;
}

/* Elements that a slice of one axis takes. Both ends count from the end when negative and are
 * clamped, as NumPy does. */
static int64_t slice_count(int64_t extent, int64_t start, int64_t end, int64_t step)
{
    int64_t low = step > 0 ? 0 : -1, high = step > 0 ? extent : extent - 1;

    start = start < 0 ? (start < -extent ? low : start + extent) : start;
    end = end < 0 ? (end < -extent ? low : end + extent) : end;
    start = start < low ? low : start > high ? high : start;
    end = end < low ? low : end > high ? high : end;
    if (step > 0) {
        return end > start ? (end - start - 1) / step + 1 : 0;
    }
    /* -step would overflow for the most negative one: divide by it instead. */
    return start > end ? (end - start + 1) / step + 1 : 0;
}

struct slices {
    struct vt_infer_list starts, ends, axes, steps;
};

static enum vt_status read_slices(const struct vt_infer *infer, struct slices *s)
{
    if (infer->node->opset < 10 && infer->node->n_inputs > 1) {
        return vt_infer_fail(infer, VT_ERR_FORMAT,
                             "starts and ends are attributes before opset 10");
    }
    enum vt_status status = vt_infer_either_list(infer, 10, "starts", 1, &s->starts);
    if (status == VT_OK) {
        status = vt_infer_either_list(infer, 10, "ends", 2, &s->ends);
    }
    if (status == VT_OK) {
        status = vt_infer_either_list(infer, 10, "axes", 3, &s->axes);
    }
    if (status == VT_OK) {
        status =
            vt_infer_either_list(infer, infer->node->opset < 10 ? 0 : 10, "steps", 4, &s->steps);
    }
    if (status == VT_OK && (!s->starts.given || !s->ends.given)) {
        status = vt_infer_fail(infer, VT_ERR_FORMAT, "starts or ends are missing");
    }
    return status;
}

/* One axis of a slice whose numbers are known. */
static enum vt_status slice_axis(const struct vt_infer *infer, const struct slices *s, size_t i,
                                 uint32_t axis)
{
    struct vt_shape_info *out = vt_infer_output(infer, 0);
    struct vt_extent extent = vt_extent_get(out, axis);
    int64_t step = s->steps.given ? s->steps.at[i] : 1;

    if (step == 0) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "a step is 0");
    }
    vt_extent_put(out, axis,
                  extent.dim >= 0
                      ? vt_extent_of(slice_count(extent.dim, s->starts.at[i], s->ends.at[i], step))
                      : vt_extent_unknown(extent.bound));
    return VT_OK;
}

enum vt_status vt_infer_slice(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0);
    struct slices s = {0};

    enum vt_status status = read_slices(infer, &s);
    vt_infer_copy(infer, 0, x);
    if (status != VT_OK || !vt_infer_ranked(x)) {
        return status;
    }
    bool axes_known = !s.axes.given || s.axes.known;
    bool known = s.starts.known && s.ends.known && (!s.steps.given || s.steps.known);
    if (known && (s.starts.n != s.ends.n || (s.steps.given && s.steps.n != s.starts.n))) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "starts, ends and steps are not equally many");
    }
    if (s.axes.known && known && s.axes.n != s.starts.n) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "axes and starts are not equally many");
    }
    size_t n = s.axes.given ? s.axes.n : s.starts.n;
    if (axes_known && n > x->rank) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "slices %zu axes, its input has %u", n, x->rank);
    }
    if (s.axes.known) {
        status = vt_infer_axes(infer, x->rank, &s.axes);
    }
    for (size_t i = 0; status == VT_OK && i < (axes_known ? n : x->rank); i++) {
        uint32_t axis = s.axes.known ? (uint32_t)s.axes.at[i] : (uint32_t)i;
        if (axes_known && known) {
            status = slice_axis(infer, &s, i, axis);
        } else {
            struct vt_extent extent = vt_extent_get(x, axis);
            vt_extent_put(vt_infer_output(infer, 0), axis,
                          vt_extent_unknown(vt_extent_most(extent)));
        }
    }
    if (status == VT_OK && !axes_known && s.axes.n == 0) {
        return VT_OK; /* all extents are bounded by the input's already */
    }
    return status;
}

/* One axis of a Pad: both pads may be negative and cut. */
static enum vt_status pad_axis(const struct vt_infer *infer, uint32_t axis, int64_t before,
                               int64_t after)
{
    const char *mode = vt_node_string(infer->node, "mode", "constant");
    struct vt_shape_info *out = vt_infer_output(infer, 0);
    struct vt_extent extent = vt_extent_get(out, axis);
    int64_t most = vt_extent_most(extent), sum;

    if (most < 0) {
        return VT_OK;
    }
    if (__builtin_add_overflow(before, after, &sum) || __builtin_add_overflow(most, sum, &sum)) {
        return vt_infer_overflow(infer);
    }
    if (sum < 0 && extent.dim >= 0) {
        return vt_infer_fail(infer, VT_ERR_FORMAT,
                             "pads %lld and %lld cut more than the extent of %lld",
                             (long long)before, (long long)after, (long long)most);
    }
    int64_t widest = before > after ? before : after;
    bool reflects = strcmp(mode, "reflect") == 0,
         repeats = strcmp(mode, "edge") == 0 || strcmp(mode, "wrap") == 0;
    if (extent.dim >= 0 && widest > 0 &&
        ((reflects && widest >= extent.dim) || (repeats && extent.dim == 0))) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "mode %s cannot pad an extent of %lld by %lld",
                             mode, (long long)extent.dim, (long long)widest);
    }
    vt_extent_put(out, axis,
                  extent.dim >= 0 ? vt_extent_of(sum) : vt_extent_unknown(sum < 0 ? 0 : sum));
    return VT_OK;
}

static enum vt_status check_pad(const struct vt_infer *infer)
{
    const char *mode = vt_node_string(infer->node, "mode", "constant");

    bool wraps = infer->node->opset >= 19 && strcmp(mode, "wrap") == 0;
    if (strcmp(mode, "constant") != 0 && strcmp(mode, "reflect") != 0 &&
        strcmp(mode, "edge") != 0 && !wraps) {
        return vt_infer_fail(infer, VT_ERR_UNSUPPORTED,
                             "its mode must be constant, reflect, edge or (from opset 19 on) wrap");
    }
    if (infer->node->opset < 11 && infer->node->n_inputs > 1) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "pads are an attribute before opset 11");
    }
    if (infer->node->opset < 18 && vt_infer_input(infer, 3) != NULL) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "axes are an input from opset 18 on");
    }
    return VT_OK;
}

enum vt_status vt_infer_pad(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0);
    struct vt_infer_list pads, axes = {.given = false};

    enum vt_status status = check_pad(infer);
    if (status == VT_OK) {
        status = vt_infer_either_list(infer, 11, "pads", 1, &pads);
    }
    if (status == VT_OK && infer->node->opset >= 18) {
        status = vt_infer_input_list(infer, 3, &axes);
    }
    if (status == VT_OK) {
        status = vt_infer_alike(infer, 0, 2);
    }
    if (status == VT_OK && !pads.given) {
        status = vt_infer_fail(infer, VT_ERR_FORMAT, "its pads are missing");
    }
    if (status != VT_OK) {
        return status;
    }
    vt_infer_copy(infer, 0, x);
    if (!vt_infer_ranked(x)) {
        return VT_OK;
    }
    if (!pads.known || (axes.given && !axes.known)) {
        return vt_infer_set(infer, 0, x->dtype, x->rank);
    }
    size_t n = axes.given ? axes.n : x->rank;
    if (pads.n != 2 * n) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "%zu pads are given, %zu are needed", pads.n,
                             2 * n);
    }
    status = vt_infer_axes(infer, x->rank, &axes);
    for (size_t i = 0; status == VT_OK && i < n; i++) {
        uint32_t axis = axes.given ? (uint32_t)axes.at[i] : (uint32_t)i;
        status = pad_axis(infer, axis, pads.at[i], pads.at[n + i]);
    }
    return status;
}

enum vt_status vt_infer_tile(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0);
    struct vt_infer_list repeats;

    enum vt_status status = vt_infer_input_list(infer, 1, &repeats);
    if (status != VT_OK || !vt_infer_ranked(x) || !repeats.known) {
        return status != VT_OK ? status : vt_infer_set(infer, 0, x->dtype, x->rank);
    }
    if (repeats.n != x->rank) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "%zu repeats are given, its input has %u axes",
                             repeats.n, x->rank);
    }
    vt_infer_copy(infer, 0, x);
    for (uint32_t d = 0; d < x->rank; d++) {
        struct vt_extent extent;
        if (repeats.at[d] < 0) {
            return vt_infer_fail(infer, VT_ERR_FORMAT, "repeats %lld times",
                                 (long long)repeats.at[d]);
        }
        if (!vt_extent_mul(vt_extent_get(x, d), vt_extent_of(repeats.at[d]), &extent)) {
            return vt_infer_overflow(infer);
        }
        vt_extent_put(vt_infer_output(infer, 0), d, extent);
    }
    return VT_OK;
}

/* One number of a Range as a double, exact for the integers that can be extents. */
static bool range_number(const struct vt_shape_info *in, double *ret)
{
    if (in->value == NULL || in->value->data == NULL) {
        return false;
    }
    switch (in->value->dtype) {
    case VT_F32:
        *ret = (double)*(const float *)in->value->data;
        return true;
    case VT_F64:
        *ret = *(const double *)in->value->data;
        return true;
    case VT_I16:
        *ret = *(const int16_t *)in->value->data;
        return true;
    case VT_I32:
        *ret = *(const int32_t *)in->value->data;
        return true;
    case VT_I64:
        *ret = (double)*(const int64_t *)in->value->data;
        return true;
    default:
        return false;
    }
}

enum vt_status vt_infer_range(const struct vt_infer *infer)
{
    const struct vt_shape_info *first = vt_infer_input(infer, 0);
    double number[3];
    bool known = true;

    enum vt_status status = vt_infer_same_types(infer, 0, 2,
                                                VT_TYPES_INDEX | VT_TYPE_BIT(VT_I16) |
                                                    VT_TYPE_BIT(VT_F32) | VT_TYPE_BIT(VT_F64));
    for (uint32_t i = 0; status == VT_OK && i < 3; i++) {
        struct vt_extent n = vt_infer_elements(vt_infer_input(infer, i));
        if (n.dim >= 0 && n.dim != 1) {
            return vt_infer_fail(infer, VT_ERR_FORMAT, "input %u must be one number", i);
        }
        known = known && range_number(vt_infer_input(infer, i), &number[i]);
    }
    if (status == VT_OK) {
        status = vt_infer_set(infer, 0, first->dtype, 1);
    }
    if (status != VT_OK || !known) {
        return status;
    }
    double count = ceil((number[1] - number[0]) / number[2]);
    if (number[2] == 0 || isnan(count)) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "its step is 0 or no number");
    }
    if (count > 0x1p53) {
        return vt_infer_overflow(infer);
    }
    vt_extent_put(vt_infer_output(infer, 0), 0, vt_extent_of(count > 0 ? (int64_t)count : 0));
    return VT_OK;
}

enum vt_status vt_infer_eye_like(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0);
    enum vt_status status = vt_infer_rank(infer, 0, 2);

    if (status == VT_OK) {
        vt_infer_copy(infer, 0, x);
        vt_infer_output(infer, 0)->dtype =
            (enum vt_dtype)vt_node_int(infer->node, "dtype", (int64_t)x->dtype);
        if ((uint32_t)vt_infer_output(infer, 0)->dtype > VT_BF16) {
            status = vt_infer_fail(infer, VT_ERR_FORMAT, "its dtype is unknown");
        }
    }
    return status;
}

enum vt_status vt_infer_reverse_sequence(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0);
    int64_t batch = vt_node_int(infer->node, "batch_axis", 1);
    int64_t time = vt_node_int(infer->node, "time_axis", 0);

    if (batch < 0 || batch > 1 || time < 0 || time > 1 || batch == time) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "its axes must be 0 and 1");
    }
    enum vt_status status = vt_infer_types(infer, 1, VT_TYPE_BIT(VT_I64));
    if (status == VT_OK) {
        status = vt_infer_rank(infer, 1, 1);
    }
    if (status != VT_OK) {
        return status;
    }
    if (vt_infer_ranked(x) && x->rank < 2) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "needs two dimensions, its input has %u",
                             x->rank);
    }
    vt_infer_copy(infer, 0, x);
    const struct vt_shape_info *lengths = vt_infer_input(infer, 1);
    return !vt_infer_ranked(x) || !vt_infer_ranked(lengths)
               ? VT_OK
               : vt_infer_same_extent(infer, vt_extent_get(lengths, 0),
                                      vt_extent_get(x, (uint32_t)batch), "lengths and batch");
}

/* Named axes get the extents that the second input lists: cut or filled on both sides. */
enum vt_status vt_infer_center_crop_pad(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0);
    struct vt_infer_list shape, axes;

    enum vt_status status = vt_infer_input_list(infer, 1, &shape);
    if (status == VT_OK) {
        status = vt_infer_attr_list(infer, "axes", &axes);
    }
    vt_infer_copy(infer, 0, x);
    if (status != VT_OK || !vt_infer_ranked(x)) {
        return status;
    }
    if (!axes.given) {
        axes.n = x->rank;
        for (uint32_t d = 0; d < x->rank; d++) {
            axes.at[d] = d;
        }
    }
    status = vt_infer_axes(infer, x->rank, &axes);
    if (status == VT_OK && shape.known && shape.n != axes.n) {
        status = vt_infer_fail(infer, VT_ERR_FORMAT, "%zu extents are given, %zu are needed",
                               shape.n, axes.n);
    }
    for (size_t i = 0; status == VT_OK && i < axes.n; i++) {
        if (shape.known && shape.at[i] < 0) {
            return vt_infer_fail(infer, VT_ERR_FORMAT, "an extent is %lld", (long long)shape.at[i]);
        }
        vt_extent_put(vt_infer_output(infer, 0), (uint32_t)axes.at[i],
                      shape.known ? vt_extent_of(shape.at[i]) : vt_extent_unknown(-1));
    }
    return status;
}
