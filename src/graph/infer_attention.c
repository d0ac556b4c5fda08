/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shapes of attention and its helpers. Queries, keys and values are [batch, heads, length, size],
 * or packed [batch, length, heads · size] with the numbers of heads as attributes.
 */
#include "graph/infer.h"

/* `extent` divided by n, which must divide it. */
static enum vt_status share(const struct vt_infer *infer, struct vt_extent extent, int64_t n,
                            struct vt_extent *ret)
{
    if (extent.dim >= 0 && extent.dim % n != 0) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "an extent of %lld cannot be split into %lld",
                             (long long)extent.dim, (long long)n);
    }
    *ret = extent.dim >= 0 ? vt_extent_of(extent.dim / n) : vt_extent_unknown(-1);
    return VT_OK;
}

/* Extents of queries, keys and values in their unpacked form. */
struct sides {
    struct vt_extent batch, q_heads, kv_heads, q_len, total, size, v_size;
};

static enum vt_status unpack(const struct vt_infer *infer, struct sides *s)
{
    const struct vt_shape_info *q = vt_infer_input(infer, 0), *k = vt_infer_input(infer, 1);
    const struct vt_shape_info *v = vt_infer_input(infer, 2);
    int64_t q_heads = vt_node_int(infer->node, "q_num_heads", 0);
    int64_t kv_heads = vt_node_int(infer->node, "kv_num_heads", 0);

    s->batch = vt_extent_get(q, 0);
    if (q->rank == 4) {
        s->q_heads = vt_extent_get(q, 1);
        s->kv_heads = vt_extent_get(k, 1);
        s->q_len = vt_extent_get(q, 2);
        s->total = vt_extent_get(k, 2);
        s->size = vt_extent_get(q, 3);
        s->v_size = vt_extent_get(v, 3);
        return VT_OK;
    }
    if (q_heads < 1 || kv_heads < 1) {
        return vt_infer_fail(infer, VT_ERR_FORMAT,
                             "q_num_heads and kv_num_heads are needed for packed inputs");
    }
    s->q_heads = vt_extent_of(q_heads);
    s->kv_heads = vt_extent_of(kv_heads);
    s->q_len = vt_extent_get(q, 1);
    s->total = vt_extent_get(k, 1);
    enum vt_status status = share(infer, vt_extent_get(q, 2), q_heads, &s->size);
    return status != VT_OK ? status : share(infer, vt_extent_get(v, 2), kv_heads, &s->v_size);
}

static enum vt_status put_four(const struct vt_infer *infer, uint32_t i, enum vt_dtype dtype,
                               struct vt_extent a, struct vt_extent b, struct vt_extent c,
                               struct vt_extent d)
{
    struct vt_shape_info *out = vt_infer_output(infer, i);
    enum vt_status status = vt_infer_set(infer, i, dtype, 4);

    if (status == VT_OK && out != NULL) {
        vt_extent_put(out, 0, a);
        vt_extent_put(out, 1, b);
        vt_extent_put(out, 2, c);
        vt_extent_put(out, 3, d);
    }
    return status;
}

static enum vt_status put_outputs(const struct vt_infer *infer, const struct sides *s,
                                  enum vt_dtype dtype, bool packed)
{
    struct vt_extent hidden;

    enum vt_status status = put_four(infer, 1, dtype, s->batch, s->kv_heads, s->total, s->size);
    if (status == VT_OK) {
        status = put_four(infer, 2, dtype, s->batch, s->kv_heads, s->total, s->v_size);
    }
    if (status == VT_OK) {
        status = put_four(infer, 3, dtype, s->batch, s->q_heads, s->q_len, s->total);
    }
    if (status != VT_OK) {
        return status;
    }
    if (!packed) {
        return put_four(infer, 0, dtype, s->batch, s->q_heads, s->q_len, s->v_size);
    }
    if (!vt_extent_mul(s->q_heads, s->v_size, &hidden)) {
        return vt_infer_overflow(infer);
    }
    status = vt_infer_set(infer, 0, dtype, 3);
    vt_extent_put(vt_infer_output(infer, 0), 0, s->batch);
    vt_extent_put(vt_infer_output(infer, 0), 1, s->q_len);
    vt_extent_put(vt_infer_output(infer, 0), 2, hidden);
    return status;
}

enum vt_status vt_infer_attention(const struct vt_infer *infer)
{
    const struct vt_shape_info *q = vt_infer_input(infer, 0), *past = vt_infer_input(infer, 4);
    struct sides sides;

    enum vt_status status = vt_infer_same_types(infer, 0, 2, VT_TYPES_FLOAT);
    if (status == VT_OK) {
        status = vt_infer_types(infer, 6, VT_TYPE_BIT(VT_I64));
    }
    if (status != VT_OK) {
        return status;
    }
    for (uint32_t i = 0; i < 3; i++) {
        if (!vt_infer_ranked(vt_infer_input(infer, i))) {
            for (uint32_t k = 0; k < infer->node->n_outputs; k++) {
                status = vt_infer_set(infer, k, q->dtype, VT_RANK_UNKNOWN);
            }
            return status;
        }
    }
    if (q->rank != 3 && q->rank != 4) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "its queries have %u dimensions, 3 or 4 needed",
                             q->rank);
    }
    status = vt_infer_rank(infer, 1, q->rank);
    if (status == VT_OK) {
        status = vt_infer_rank(infer, 2, q->rank);
    }
    if (status == VT_OK) {
        status = vt_infer_rank(infer, 4, 4);
    }
    if (status == VT_OK) {
        status = unpack(infer, &sides);
    }
    if (status != VT_OK) {
        return status;
    }
    if (past != NULL) {
        struct vt_extent before =
            vt_infer_ranked(past) ? vt_extent_get(past, 2) : vt_extent_unknown(-1);
        if (!vt_extent_add(sides.total, before, &sides.total)) {
            return vt_infer_overflow(infer);
        }
    }
    return put_outputs(infer, &sides, q->dtype, q->rank == 3);
}

/* The first input's shape; what else there is, the kernel checks. */
enum vt_status vt_infer_rotary(const struct vt_infer *infer)
{
    enum vt_status status = vt_infer_same_types(infer, 0, 2, VT_TYPES_FLOAT);
    if (status == VT_OK) {
        status = vt_infer_types(infer, 3, VT_TYPE_BIT(VT_I64));
    }
    if (status == VT_OK) {
        vt_infer_copy(infer, 0, vt_infer_input(infer, 0));
    }
    return status;
}

enum vt_status vt_infer_tensor_scatter(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0);
    uint32_t axis = 0;

    enum vt_status status = vt_infer_types(infer, 2, VT_TYPE_BIT(VT_I64));
    if (status == VT_OK && vt_infer_ranked(x)) {
        status = vt_infer_axis(infer, vt_node_int(infer->node, "axis", -2), x->rank, &axis);
    }
    if (status == VT_OK) {
        vt_infer_copy(infer, 0, x);
    }
    return status;
}

/* The scale is broadcast to what is normalised: the dimensions from the axis on. */
enum vt_status vt_infer_rms_norm(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0);
    uint32_t axis = 0;

    enum vt_status status = vt_infer_types(infer, 0, VT_TYPES_FLOAT);
    if (status == VT_OK) {
        status = vt_infer_types(infer, 1, VT_TYPES_FLOAT);
    }
    if (status == VT_OK && vt_infer_ranked(x)) {
        status = vt_infer_axis(infer, vt_node_int(infer->node, "axis", -1), x->rank, &axis);
    }
    if (status == VT_OK) {
        vt_infer_copy(infer, 0, x);
    }
    return status;
}
