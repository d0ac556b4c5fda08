/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shapes of matrix products.
 */
#include "graph/einsum.h"
#include "graph/infer.h"

/* A [.., M, K] times B [.., K, N]: the leading dimensions are broadcast; a vector stands for a row
 * on the left, a column on the right, and its dimension is gone from the result. */
static enum vt_status matmul(const struct vt_infer *infer, uint32_t a_at, uint32_t b_at,
                             enum vt_dtype dtype)
{
    const struct vt_shape_info *a = vt_infer_input(infer, a_at), *b = vt_infer_input(infer, b_at);
    struct vt_shape_info sides[2];

    if (!vt_infer_ranked(a) || !vt_infer_ranked(b)) {
        return vt_infer_set(infer, 0, dtype, VT_RANK_UNKNOWN);
    }
    if (a->rank == 0 || b->rank == 0) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "a scalar cannot be multiplied as a matrix");
    }
    struct vt_extent inner_a = vt_extent_get(a, a->rank - 1);
    struct vt_extent inner_b = vt_extent_get(b, b->rank == 1 ? 0 : b->rank - 2);
    enum vt_status status =
        vt_infer_same_extent(infer, inner_a, inner_b, "the inner extents of its matrices");
    if (status != VT_OK) {
        return status;
    }
    /* The leading dimensions as two shapes of their own, to be broadcast like any others. */
    sides[0] = *a;
    sides[1] = *b;
    sides[0].rank = a->rank > 2 ? a->rank - 2 : 0;
    sides[1].rank = b->rank > 2 ? b->rank - 2 : 0;
    const struct vt_shape_info *pair[2] = {&sides[0], &sides[1]};
    struct vt_node node = *infer->node;
    struct vt_infer leading = *infer;
    node.n_inputs = 2;
    leading.node = &node;
    leading.inputs = pair;
    status = vt_infer_broadcast(&leading, 0, 2, dtype);
    if (status != VT_OK) {
        return status;
    }
    struct vt_shape_info *out = vt_infer_output(infer, 0);
    uint32_t rank = out->rank;
    if (a->rank > 1) {
        vt_extent_put(out, rank++, vt_extent_get(a, a->rank - 2));
    }
    if (b->rank > 1) {
        vt_extent_put(out, rank++, vt_extent_get(b, b->rank - 1));
    }
    out->rank = rank;
    return VT_OK;
}

enum vt_status vt_infer_matmul(const struct vt_infer *infer)
{
    enum vt_status status = vt_infer_same_types(infer, 0, 1, VT_TYPES_NUMBER);
    return status != VT_OK ? status : matmul(infer, 0, 1, vt_infer_input(infer, 0)->dtype);
}

enum vt_status vt_infer_matmul_integer(const struct vt_infer *infer)
{
    enum vt_status status = vt_infer_types(infer, 0, VT_TYPES_BYTE);
    if (status == VT_OK) {
        status = vt_infer_types(infer, 1, VT_TYPES_BYTE);
    }
    return status != VT_OK ? status : matmul(infer, 0, 1, VT_I32);
}

enum vt_status vt_infer_qlinear_matmul(const struct vt_infer *infer)
{
    static const uint32_t bytes[] = {0, 2, 3, 5, 7};
    enum vt_status status = VT_OK;

    for (size_t i = 0; status == VT_OK && i < sizeof(bytes) / sizeof(bytes[0]); i++) {
        status = vt_infer_types(infer, bytes[i], VT_TYPES_BYTE);
    }
    return status != VT_OK ? status : matmul(infer, 0, 3, vt_infer_input(infer, 7)->dtype);
}

/* C is broadcast to [M, N], never the other way round. */
static enum vt_status check_addend(const struct vt_infer *infer, const struct vt_shape_info *c,
                                   const struct vt_shape_info *out)
{
    if (c->rank > 2) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "its third input has %u dimensions, at most 2",
                             c->rank);
    }
    for (uint32_t d = 0; d < c->rank; d++) {
        struct vt_extent extent = vt_extent_get(c, d);
        if (extent.dim == 1) {
            continue;
        }
        enum vt_status status = vt_infer_same_extent(
            infer, extent, vt_extent_get(out, d + 2 - c->rank), "its third input and its product");
        if (status != VT_OK) {
            return status;
        }
    }
    return VT_OK;
}

enum vt_status vt_infer_gemm(const struct vt_infer *infer)
{
    const struct vt_shape_info *a = vt_infer_input(infer, 0), *b = vt_infer_input(infer, 1);
    const struct vt_shape_info *c = vt_infer_input(infer, 2);
    bool trans_a = vt_node_int(infer->node, "transA", 0) != 0;
    bool trans_b = vt_node_int(infer->node, "transB", 0) != 0;

    enum vt_status status = vt_infer_same_types(infer, 0, 2, VT_TYPES_NUMBER);
    if (status == VT_OK && c == NULL && infer->node->opset < 11) {
        status = vt_infer_fail(infer, VT_ERR_FORMAT, "needs its third input before opset 11");
    }
    if (status == VT_OK) {
        status = vt_infer_rank(infer, 0, 2);
    }
    if (status == VT_OK) {
        status = vt_infer_rank(infer, 1, 2);
    }
    if (status == VT_OK) {
        status = vt_infer_set(infer, 0, a->dtype, 2);
    }
    if (status == VT_OK && vt_infer_ranked(a) && vt_infer_ranked(b)) {
        status = vt_infer_same_extent(infer, vt_extent_get(a, trans_a ? 0 : 1),
                                      vt_extent_get(b, trans_b ? 1 : 0),
                                      "the inner extents of its matrices");
    }
    if (status != VT_OK) {
        return status;
    }
    struct vt_shape_info *out = vt_infer_output(infer, 0);
    if (vt_infer_ranked(a)) {
        vt_extent_put(out, 0, vt_extent_get(a, trans_a ? 1 : 0));
    }
    if (vt_infer_ranked(b)) {
        vt_extent_put(out, 1, vt_extent_get(b, trans_b ? 0 : 1));
    }
    return vt_infer_ranked(c) ? check_addend(infer, c, out) : VT_OK;
}

/* The extents of the labels as far as they are known; 1 is broadcast. */
static enum vt_status einsum_extents(const struct vt_infer *infer, const struct vt_einsum *e,
                                     struct vt_extent *ret)
{
    for (uint32_t i = 0; i < e->n_labels; i++) {
        ret[i] = vt_extent_of(1);
    }
    for (uint32_t t = 0; t < e->n_terms; t++) {
        for (uint32_t d = 0; d < e->rank[t]; d++) {
            struct vt_extent extent = vt_extent_get(vt_infer_input(infer, t), d);
            struct vt_extent *label = &ret[e->term[t][d]];
            if (extent.dim == 1) {
                continue;
            }
            if (label->dim != 1 && label->dim >= 0) {
                enum vt_status status =
                    vt_infer_same_extent(infer, extent, *label, "the extents of a letter");
                if (status != VT_OK) {
                    return status;
                }
            } else {
                *label = extent;
            }
        }
    }
    return VT_OK;
}

enum vt_status vt_infer_einsum(const struct vt_infer *infer)
{
    struct vt_einsum e;
    struct vt_extent label[VT_EINSUM_LABELS];
    uint32_t ranks[VT_EINSUM_TERMS] = {0};
    const char *equation = vt_node_string(infer->node, "equation", NULL);
    enum vt_dtype dtype = vt_infer_input(infer, 0)->dtype;

    enum vt_status status = vt_infer_same_types(infer, 0, UINT32_MAX - 1, VT_TYPES_NUMBER);
    if (status == VT_OK && equation == NULL) {
        status = vt_infer_fail(infer, VT_ERR_FORMAT, "its equation is missing");
    }
    if (status == VT_OK && infer->node->n_inputs > VT_EINSUM_TERMS) {
        status = vt_infer_fail(infer, VT_ERR_LIMIT, "it has %u terms, at most %d are supported",
                               infer->node->n_inputs, VT_EINSUM_TERMS);
    }
    for (uint32_t i = 0; status == VT_OK && i < infer->node->n_inputs; i++) {
        if (vt_infer_input(infer, i) == NULL) {
            return vt_infer_fail(infer, VT_ERR_FORMAT, "input %u is omitted", i);
        }
        if (!vt_infer_ranked(vt_infer_input(infer, i))) {
            return vt_infer_set(infer, 0, dtype, VT_RANK_UNKNOWN);
        }
        ranks[i] = vt_infer_input(infer, i)->rank;
    }
    if (status != VT_OK) {
        return status;
    }
    const char *problem = vt_einsum_parse(equation, infer->node->n_inputs, ranks, &e);
    if (problem != NULL) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "its equation '%.80s' is wrong: %s", equation,
                             problem);
    }
    status = einsum_extents(infer, &e, label);
    if (status == VT_OK) {
        status = vt_infer_set(infer, 0, dtype, e.n_out);
    }
    for (uint32_t i = 0; status == VT_OK && i < e.n_out; i++) {
        vt_extent_put(vt_infer_output(infer, 0), i, label[e.out[i]]);
    }
    return status;
}

/* Square matrices [.., N, N] give one number each. */
enum vt_status vt_infer_det(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0);

    enum vt_status status = vt_infer_types(infer, 0, VT_TYPES_FLOAT);
    if (status != VT_OK || !vt_infer_ranked(x)) {
        return status != VT_OK ? status : vt_infer_set(infer, 0, x->dtype, VT_RANK_UNKNOWN);
    }
    if (x->rank < 2) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "needs two dimensions, its input has %u",
                             x->rank);
    }
    status = vt_infer_same_extent(infer, vt_extent_get(x, x->rank - 1),
                                  vt_extent_get(x, x->rank - 2), "the extents of its matrices");
    if (status == VT_OK) {
        status = vt_infer_set(infer, 0, x->dtype, x->rank - 2);
    }
    for (uint32_t d = 0; status == VT_OK && d + 2 < x->rank; d++) {
        vt_extent_put(vt_infer_output(infer, 0), d, vt_extent_get(x, d));
    }
    return status;
}
