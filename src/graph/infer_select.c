/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shapes of operators that choose elements: by index (Gather, Scatter, OneHot), by value (TopK), or
 * as many as the data say (NonZero, NonMaxSuppression, Compress, Unique). Those last have an
 * extent that is known only when they have run; it is bounded here.
 */
#include <string.h>

#include "graph/infer.h"

enum vt_status vt_infer_gather(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0), *index = vt_infer_input(infer, 1);
    uint32_t axis = 0;

    enum vt_status status = vt_infer_types(infer, 1, VT_TYPES_INDEX);
    if (status != VT_OK) {
        return status;
    }
    if (!vt_infer_ranked(x) || !vt_infer_ranked(index)) {
        return vt_infer_set(infer, 0, x->dtype, VT_RANK_UNKNOWN);
    }
    status = vt_infer_axis(infer, vt_node_int(infer->node, "axis", 0), x->rank, &axis);
    if (status == VT_OK) {
        status = vt_infer_set(infer, 0, x->dtype, x->rank - 1 + index->rank);
    }
    struct vt_shape_info *out = vt_infer_output(infer, 0);
    uint32_t to = 0;
    for (uint32_t d = 0; status == VT_OK && d < x->rank; d++) {
        if (d != axis) {
            vt_extent_put(out, to++, vt_extent_get(x, d));
            continue;
        }
        for (uint32_t k = 0; k < index->rank; k++) {
            vt_extent_put(out, to++, vt_extent_get(index, k));
        }
    }
    return status;
}

/* Indices of the same rank as the data, no larger beside the axis. */
static enum vt_status check_element_index(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0), *index = vt_infer_input(infer, 1);
    uint32_t axis = 0;

    enum vt_status status = vt_infer_types(infer, 1, VT_TYPES_INDEX);
    if (status != VT_OK || !vt_infer_ranked(x)) {
        return status;
    }
    status = vt_infer_axis(infer, vt_node_int(infer->node, "axis", 0), x->rank, &axis);
    if (status == VT_OK) {
        status = vt_infer_rank(infer, 1, x->rank);
    }
    for (uint32_t d = 0; status == VT_OK && vt_infer_ranked(index) && d < x->rank; d++) {
        if (d != axis && x->dim[d] >= 0 && index->dim[d] > x->dim[d]) {
            return vt_infer_fail(infer, VT_ERR_FORMAT,
                                 "its indices are larger (%lld) than its data (%lld) in dimension "
                                 "%u",
                                 (long long)index->dim[d], (long long)x->dim[d], d);
        }
    }
    return status;
}

enum vt_status vt_infer_gather_elements(const struct vt_infer *infer)
{
    const struct vt_shape_info *index = vt_infer_input(infer, 1);

    enum vt_status status = check_element_index(infer);
    if (status == VT_OK) {
        vt_infer_copy(infer, 0, index);
        vt_infer_output(infer, 0)->dtype = vt_infer_input(infer, 0)->dtype;
    }
    return status;
}

static enum vt_status check_reduction(const struct vt_infer *infer)
{
    static const char *const known[] = {"none", "add", "mul", "max", "min"};
    const char *reduction = vt_node_string(infer->node, "reduction", "none");
    size_t n = infer->node->opset < 16 ? 1 : infer->node->opset < 18 ? 3 : 5;

    for (size_t i = 0; i < n; i++) {
        if (strcmp(reduction, known[i]) == 0) {
            return VT_OK;
        }
    }
    return vt_infer_fail(infer, VT_ERR_FORMAT, "its reduction is unknown at this opset");
}

enum vt_status vt_infer_scatter_elements(const struct vt_infer *infer)
{
    const struct vt_shape_info *index = vt_infer_input(infer, 1);
    const struct vt_shape_info *updates = vt_infer_input(infer, 2);

    enum vt_status status = check_element_index(infer);
    if (status == VT_OK) {
        status = vt_infer_alike(infer, 0, 2);
    }
    if (status == VT_OK) {
        status = check_reduction(infer);
    }
    if (status == VT_OK && vt_infer_ranked(index)) {
        status = vt_infer_rank(infer, 2, index->rank);
    }
    for (uint32_t d = 0;
         status == VT_OK && vt_infer_ranked(index) && vt_infer_ranked(updates) && d < index->rank;
         d++) {
        status = vt_infer_same_extent(infer, vt_extent_get(index, d), vt_extent_get(updates, d),
                                      "indices and updates");
    }
    if (status == VT_OK) {
        vt_infer_copy(infer, 0, vt_infer_input(infer, 0));
    }
    return status;
}

/*
 * Index tuples of `last` numbers that name a place in the dimensions from `batch_dims` on. Gives
 * `last`, or -1 when it is not known.
 */
static enum vt_status tuple_size(const struct vt_infer *infer, uint32_t batch_dims,
                                 int64_t *ret_last)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0), *index = vt_infer_input(infer, 1);

    if (index->rank == 0 || batch_dims >= index->rank || batch_dims > x->rank) {
        return vt_infer_fail(infer, VT_ERR_FORMAT,
                             "batch_dims is %u, its data have %u dimensions, its indices %u",
                             batch_dims, x->rank, index->rank);
    }
    int64_t last = index->dim[index->rank - 1];
    if (last == 0 || last > (int64_t)x->rank - batch_dims) {
        return vt_infer_fail(infer, VT_ERR_FORMAT,
                             "its index tuples have %lld numbers, its data have %u dimensions",
                             (long long)last, x->rank);
    }
    *ret_last = last;
    return VT_OK;
}

enum vt_status vt_infer_gather_nd(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0), *index = vt_infer_input(infer, 1);
    int64_t batch = infer->node->opset < 12 ? 0 : vt_node_int(infer->node, "batch_dims", 0);
    int64_t last = -1;

    enum vt_status status = vt_infer_types(infer, 1, VT_TYPE_BIT(VT_I64));
    if (status != VT_OK) {
        return status;
    }
    if (!vt_infer_ranked(x) || !vt_infer_ranked(index)) {
        return vt_infer_set(infer, 0, x->dtype, VT_RANK_UNKNOWN);
    }
    if (batch < 0 || batch > VT_RANK_MAX) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "batch_dims is %lld", (long long)batch);
    }
    status = tuple_size(infer, (uint32_t)batch, &last);
    if (status != VT_OK) {
        return status;
    }
    if (last < 0) {
        return vt_infer_set(infer, 0, x->dtype, VT_RANK_UNKNOWN);
    }
    uint32_t inner = (uint32_t)batch + (uint32_t)last, to = 0;
    status = vt_infer_set(infer, 0, x->dtype, index->rank - 1 + x->rank - inner);
    struct vt_shape_info *out = vt_infer_output(infer, 0);
    for (uint32_t d = 0; status == VT_OK && d + 1 < index->rank; d++) {
        if (d < batch) {
            status = vt_infer_same_extent(infer, vt_extent_get(index, d), vt_extent_get(x, d),
                                          "the batch dimensions of data and indices");
        }
        vt_extent_put(out, to++, vt_extent_get(index, d));
    }
    for (uint32_t d = inner; status == VT_OK && d < x->rank; d++) {
        vt_extent_put(out, to++, vt_extent_get(x, d));
    }
    return status;
}

enum vt_status vt_infer_scatter_nd(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0), *index = vt_infer_input(infer, 1);
    const struct vt_shape_info *updates = vt_infer_input(infer, 2);
    int64_t last = -1;

    enum vt_status status = vt_infer_types(infer, 1, VT_TYPE_BIT(VT_I64));
    if (status == VT_OK) {
        status = vt_infer_alike(infer, 0, 2);
    }
    if (status == VT_OK) {
        status = check_reduction(infer);
    }
    if (status == VT_OK && vt_infer_ranked(x) && vt_infer_ranked(index)) {
        status = tuple_size(infer, 0, &last);
    }
    if (status == VT_OK && last >= 0 && vt_infer_ranked(updates)) {
        uint32_t outer = index->rank - 1, rank = outer + x->rank - (uint32_t)last;
        status = vt_infer_rank(infer, 2, rank);
        for (uint32_t d = 0; status == VT_OK && d < rank; d++) {
            struct vt_extent wanted =
                d < outer ? vt_extent_get(index, d) : vt_extent_get(x, d - outer + (uint32_t)last);
            status = vt_infer_same_extent(infer, wanted, vt_extent_get(updates, d),
                                          "its updates and what they replace");
        }
    }
    if (status == VT_OK) {
        vt_infer_copy(infer, 0, x);
    }
    return status;
}

/* One number of an input of any numeric type, as the depth of OneHot has it. */
static bool whole_number(const struct vt_shape_info *in, int64_t *ret)
{
    const void *data = in != NULL && in->value != NULL ? in->value->data : NULL;
    double real;

    if (data == NULL) {
        return false;
    }
    switch (in->value->dtype) {
    case VT_I64:
        *ret = *(const int64_t *)data;
        return true;
    case VT_I32:
        *ret = *(const int32_t *)data;
        return true;
    case VT_F32:
        real = (double)*(const float *)data;
        break;
    case VT_F64:
        real = *(const double *)data;
        break;
    default:
        return false;
    }
    *ret = real >= 0 && real < 0x1p53 ? (int64_t)real : -1;
    return true;
}

enum vt_status vt_infer_one_hot(const struct vt_infer *infer)
{
    const struct vt_shape_info *index = vt_infer_input(infer, 0);
    const struct vt_shape_info *values = vt_infer_input(infer, 2);
    struct vt_extent depth = vt_extent_unknown(-1);
    uint32_t axis = 0, to = 0;
    int64_t number;

    enum vt_status status = vt_infer_types(infer, 0, VT_TYPES_NUMBER);
    if (status == VT_OK && vt_infer_ranked(values)) {
        status = vt_infer_same_extent(infer, vt_infer_elements(values), vt_extent_of(2),
                                      "values (off and on) and 2");
    }
    if (status == VT_OK && vt_infer_ranked(vt_infer_input(infer, 1))) {
        status = vt_infer_same_extent(infer, vt_infer_elements(vt_infer_input(infer, 1)),
                                      vt_extent_of(1), "depth and 1");
    }
    if (status != VT_OK || !vt_infer_ranked(index)) {
        return status != VT_OK ? status : vt_infer_set(infer, 0, values->dtype, VT_RANK_UNKNOWN);
    }
    if (whole_number(vt_infer_input(infer, 1), &number)) {
        if (number < 0) {
            return vt_infer_fail(infer, VT_ERR_FORMAT, "its depth is negative or no number");
        }
        depth = vt_extent_of(number);
    }
    uint32_t rank = index->rank + 1;
    status = vt_infer_axis(infer, vt_node_int(infer->node, "axis", -1), rank, &axis);
    if (status == VT_OK) {
        status = vt_infer_set(infer, 0, values->dtype, rank);
    }
    for (uint32_t d = 0; status == VT_OK && d < rank; d++) {
        vt_extent_put(vt_infer_output(infer, 0), d, d == axis ? depth : vt_extent_get(index, to++));
    }
    return status;
}

/* k is an attribute before opset 10, an input from then on. */
static enum vt_status top_k_count(const struct vt_infer *infer, struct vt_extent *ret)
{
    struct vt_infer_list k;

    *ret = vt_extent_unknown(-1);
    if (infer->node->opset < 10) {
        *ret = vt_extent_of(vt_node_int(infer->node, "k", -1));
    } else {
        if (vt_infer_input(infer, 1) == NULL) {
            return vt_infer_fail(infer, VT_ERR_FORMAT, "k, its second input, is missing");
        }
        enum vt_status status = vt_infer_input_list(infer, 1, &k);
        if (status != VT_OK || !k.known) {
            return status;
        }
        *ret = vt_extent_of(k.n == 1 ? k.at[0] : -1);
    }
    return ret->dim >= 0 ? VT_OK
                         : vt_infer_fail(infer, VT_ERR_FORMAT, "k must be one number, at least 0");
}

enum vt_status vt_infer_top_k(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0);
    struct vt_extent k;
    uint32_t axis = 0;

    enum vt_status status = vt_infer_types(infer, 0, VT_TYPES_NUMBER);
    if (status == VT_OK) {
        status = top_k_count(infer, &k);
    }
    if (status == VT_OK && vt_infer_ranked(x)) {
        status = vt_infer_axis(infer, vt_node_int(infer->node, "axis", -1), x->rank, &axis);
    }
    if (status != VT_OK) {
        return status;
    }
    vt_infer_copy(infer, 0, x);
    vt_infer_copy(infer, 1, x);
    vt_infer_output(infer, 1)->dtype = VT_I64;
    if (!vt_infer_ranked(x)) {
        return VT_OK;
    }
    struct vt_extent extent = vt_extent_get(x, axis);
    if (k.dim >= 0 && extent.dim >= 0 && k.dim > extent.dim) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "k is %lld, its axis has %lld elements",
                             (long long)k.dim, (long long)extent.dim);
    }
    k = k.dim >= 0 ? k : vt_extent_unknown(vt_extent_most(extent));
    vt_extent_put(vt_infer_output(infer, 0), axis, k);
    vt_extent_put(vt_infer_output(infer, 1), axis, k);
    return VT_OK;
}

/* One column for each element that is not zero. */
enum vt_status vt_infer_non_zero(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0);

    enum vt_status status = vt_infer_set(infer, 0, VT_I64, 2);
    if (status != VT_OK || !vt_infer_ranked(x)) {
        return status;
    }
    /* A scalar counts as a list of one. */
    vt_extent_put(vt_infer_output(infer, 0), 0, vt_extent_of(x->rank == 0 ? 1 : x->rank));
    int64_t most = vt_extent_most(vt_infer_elements(x));
    vt_extent_put(vt_infer_output(infer, 0), 1, vt_extent_unknown(most));
    return VT_OK;
}

/* Boxes [batch, boxes, 4] and scores [batch, classes, boxes] give one row for each box kept. */
enum vt_status vt_infer_non_max_suppression(const struct vt_infer *infer)
{
    const struct vt_shape_info *boxes = vt_infer_input(infer, 0);
    const struct vt_shape_info *scores = vt_infer_input(infer, 1);
    const struct vt_shape_info *limit = vt_infer_input(infer, 2);
    struct vt_extent most = vt_extent_unknown(-1);
    int64_t number = 0;

    enum vt_status status = vt_infer_same_types(infer, 0, 1, VT_TYPE_BIT(VT_F32));
    if (status == VT_OK) {
        status = vt_infer_types(infer, 2, VT_TYPE_BIT(VT_I64));
    }
    if (status == VT_OK) {
        status = vt_infer_rank(infer, 0, 3);
    }
    if (status == VT_OK) {
        status = vt_infer_rank(infer, 1, 3);
    }
    if (status == VT_OK && vt_infer_ranked(boxes) && vt_infer_ranked(scores)) {
        status = vt_infer_same_extent(infer, vt_extent_get(boxes, 2), vt_extent_of(4),
                                      "the numbers of a box and 4");
        if (status == VT_OK) {
            status = vt_infer_same_extent(infer, vt_extent_get(boxes, 0), vt_extent_get(scores, 0),
                                          "the batches of boxes and scores");
        }
        if (status == VT_OK) {
            status = vt_infer_same_extent(infer, vt_extent_get(boxes, 1), vt_extent_get(scores, 2),
                                          "the numbers of boxes and scores");
        }
    }
    if (status == VT_OK) {
        status = vt_infer_set(infer, 0, VT_I64, 2);
    }
    if (status != VT_OK) {
        return status;
    }
    struct vt_shape_info *out = vt_infer_output(infer, 0);
    vt_extent_put(out, 1, vt_extent_of(3));
    /* At most `limit` boxes a class, 0 when it is absent. */
    bool limited = limit == NULL || whole_number(limit, &number);
    if (vt_infer_ranked(scores)) {
        struct vt_extent kept = vt_extent_get(scores, 2);
        int64_t all = vt_extent_most(kept);
        number = number < 0 ? 0 : number;
        if (limited && (all < 0 || number < all)) {
            kept = vt_extent_of(number);
        }
        bool fits = vt_extent_mul(vt_extent_get(scores, 0), vt_extent_get(scores, 1), &most) &&
                    vt_extent_mul(most, kept, &most);
        most = fits ? most : vt_extent_unknown(-1);
    }
    vt_extent_put(out, 0, vt_extent_unknown(vt_extent_most(most)));
    return VT_OK;
}

enum vt_status vt_infer_compress(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0), *mask = vt_infer_input(infer, 1);
    const struct vt_attr *attr = vt_node_attr(infer->node, "axis");
    int64_t most = -1;
    uint32_t axis = 0;

    enum vt_status status = vt_infer_types(infer, 1, VT_TYPES_BOOL);
    if (status == VT_OK) {
        status = vt_infer_rank(infer, 1, 1);
    }
    if (status == VT_OK && attr != NULL && vt_infer_ranked(x)) {
        status = vt_infer_axis(infer, attr->i, x->rank, &axis);
    }
    if (status != VT_OK) {
        return status;
    }
    if (vt_infer_ranked(mask)) {
        most = vt_extent_most(vt_extent_get(mask, 0));
    }
    if (attr == NULL) {
        status = vt_infer_set(infer, 0, x->dtype, 1);
    } else {
        vt_infer_copy(infer, 0, x);
    }
    if (status != VT_OK || (attr != NULL && !vt_infer_ranked(x))) {
        return status;
    }
    int64_t all = vt_extent_most(attr == NULL ? vt_infer_elements(x) : vt_extent_get(x, axis));
    most = most < 0 || (all >= 0 && all < most) ? all : most;
    vt_extent_put(vt_infer_output(infer, 0), axis, vt_extent_unknown(most));
    return VT_OK;
}

/* The values that occur, and for each where it is first, for each element which it is, how often.
 */
enum vt_status vt_infer_unique(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0);
    const struct vt_attr *attr = vt_node_attr(infer->node, "axis");
    struct vt_extent all = vt_infer_elements(x);
    uint32_t axis = 0;

    enum vt_status status = vt_infer_types(infer, 0, VT_TYPES_NUMBER | VT_TYPES_BOOL);
    if (status == VT_OK && attr != NULL && vt_infer_ranked(x)) {
        status = vt_infer_axis(infer, attr->i, x->rank, &axis);
        all = status == VT_OK ? vt_extent_get(x, axis) : all;
    }
    if (status == VT_OK && attr == NULL) {
        status = vt_infer_set(infer, 0, x->dtype, 1);
    } else if (status == VT_OK) {
        vt_infer_copy(infer, 0, x);
    }
    if (status != VT_OK) {
        return status;
    }
    struct vt_extent most = vt_extent_unknown(vt_extent_most(all));
    if (attr == NULL || vt_infer_ranked(x)) {
        vt_extent_put(vt_infer_output(infer, 0), axis, most);
    }
    for (uint32_t i = 1; status == VT_OK && i < infer->node->n_outputs; i++) {
        status = vt_infer_set(infer, i, VT_I64, 1);
        vt_extent_put(vt_infer_output(infer, i), 0, i == 2 ? all : most);
    }
    return status;
}
