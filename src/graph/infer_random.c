/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shapes of random numbers: as an attribute or another tensor says.
 */
#include "graph/infer.h"

/* The element type that attribute dtype asks for. */
static enum vt_status read_dtype(const struct vt_infer *infer, uint32_t types,
                                 enum vt_dtype fallback, enum vt_dtype *ret)
{
    int64_t dtype = vt_node_int(infer->node, "dtype", (int64_t)fallback);

    if (dtype != VT_UNDEFINED &&
        (dtype < 0 || dtype > VT_BF16 || (types & VT_TYPE_BIT(dtype)) == 0)) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "its dtype %lld does not fit", (long long)dtype);
    }
    *ret = (enum vt_dtype)dtype;
    return VT_OK;
}

enum vt_status vt_infer_random(const struct vt_infer *infer)
{
    enum vt_dtype dtype = VT_F32;
    size_t n;
    const int64_t *shape = vt_node_ints(infer->node, "shape", &n);

    if (shape == NULL || n > VT_RANK_MAX) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "its shape is missing or has too many numbers");
    }
    enum vt_status status = read_dtype(infer, VT_TYPES_FLOAT, VT_F32, &dtype);
    if (status == VT_OK) {
        status = vt_infer_set(infer, 0, dtype, (uint32_t)n);
    }
    for (uint32_t d = 0; status == VT_OK && d < n; d++) {
        if (shape[d] < 0) {
            return vt_infer_fail(infer, VT_ERR_FORMAT, "its shape holds %lld", (long long)shape[d]);
        }
        vt_extent_put(vt_infer_output(infer, 0), d, vt_extent_of(shape[d]));
    }
    return status;
}

/* The input's shape, and its type unless dtype asks for another. */
static enum vt_status like(const struct vt_infer *infer, uint32_t types)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0);
    enum vt_dtype dtype = VT_F32;

    enum vt_status status = read_dtype(infer, types, x->dtype, &dtype);
    if (status == VT_OK) {
        vt_infer_copy(infer, 0, x);
        vt_infer_output(infer, 0)->dtype = dtype;
    }
    return status;
}

enum vt_status vt_infer_random_like(const struct vt_infer *infer)
{
    return like(infer, VT_TYPES_FLOAT);
}

enum vt_status vt_infer_bernoulli(const struct vt_infer *infer)
{
    enum vt_status status = vt_infer_types(infer, 0, VT_TYPES_FLOAT);
    return status != VT_OK ? status : like(infer, VT_TYPES_NUMBER_BOOL);
}

enum vt_status vt_infer_multinomial(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0);
    int64_t n = vt_node_int(infer->node, "sample_size", 1);
    enum vt_dtype dtype = VT_I32;

    enum vt_status status = vt_infer_types(infer, 0, VT_TYPES_FLOAT);
    if (status == VT_OK) {
        status = vt_infer_rank(infer, 0, 2);
    }
    if (status == VT_OK) {
        status = read_dtype(infer, VT_TYPES_INDEX, VT_I32, &dtype);
    }
    if (status == VT_OK && n < 0) {
        status = vt_infer_fail(infer, VT_ERR_FORMAT, "its sample_size is %lld", (long long)n);
    }
    if (status == VT_OK) {
        status = vt_infer_set(infer, 0, dtype, 2);
    }
    if (status == VT_OK) {
        vt_extent_put(vt_infer_output(infer, 0), 1, vt_extent_of(n));
        if (vt_infer_ranked(x)) {
            vt_extent_put(vt_infer_output(infer, 0), 0, vt_extent_get(x, 0));
        }
    }
    return status;
}
