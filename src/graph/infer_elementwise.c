/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shapes of elementwise operators: one input, two or many that are broadcast, conversions.
 */
#include "graph/import.h"
#include "graph/infer.h"

static enum vt_dtype type_of(const struct vt_infer *infer, uint32_t i)
{
    const struct vt_shape_info *in = vt_infer_input(infer, i);
    return in != NULL ? in->dtype : VT_UNDEFINED;
}

static enum vt_status same(const struct vt_infer *infer, uint32_t types)
{
    enum vt_status status = vt_infer_types(infer, 0, types);
    if (status == VT_OK) {
        vt_infer_copy(infer, 0, vt_infer_input(infer, 0));
    }
    return status;
}

enum vt_status vt_infer_same_float(const struct vt_infer *infer)
{
    return same(infer, VT_TYPES_FLOAT);
}

enum vt_status vt_infer_same_number(const struct vt_infer *infer)
{
    return same(infer, VT_TYPES_NUMBER);
}

enum vt_status vt_infer_identity(const struct vt_infer *infer)
{
    vt_infer_copy(infer, 0, vt_infer_input(infer, 0));
    return VT_OK;
}

enum vt_status vt_infer_not(const struct vt_infer *infer)
{
    return same(infer, VT_TYPES_BOOL);
}

enum vt_status vt_infer_bitwise_not(const struct vt_infer *infer)
{
    return same(infer, VT_TYPES_INTEGER);
}

/* The shape of input 0 with another element type. */
static void same_shape(const struct vt_infer *infer, uint32_t output, enum vt_dtype dtype)
{
    struct vt_shape_info *out = vt_infer_output(infer, output);
    vt_infer_copy(infer, output, vt_infer_input(infer, 0));
    if (out != NULL) {
        out->dtype = dtype;
    }
}

enum vt_status vt_infer_is_float(const struct vt_infer *infer)
{
    enum vt_status status = vt_infer_types(infer, 0, VT_TYPES_FLOAT);
    if (status == VT_OK) {
        same_shape(infer, 0, VT_BOOL);
    }
    return status;
}

/*
 * Before opset 7 the second input is broadcast to the first where `broadcast` says so: its extents
 * are those of the first from `axis` on, or the last ones. The output has the first one's shape.
 */
static enum vt_status legacy_broadcast(const struct vt_infer *infer, int64_t axis, bool has_axis,
                                       enum vt_dtype dtype)
{
    const struct vt_shape_info *a = vt_infer_input(infer, 0), *b = vt_infer_input(infer, 1);
    struct vt_shape_info padded;
    uint32_t first = 0;

    if (!vt_infer_ranked(a) || !vt_infer_ranked(b)) {
        return vt_infer_set(infer, 0, dtype, vt_infer_ranked(a) ? a->rank : VT_RANK_UNKNOWN);
    }
    padded = *b;
    if (has_axis && b->rank > 0) {
        enum vt_status status = vt_infer_axis(infer, axis, a->rank, &first);
        if (status != VT_OK) {
            return status;
        }
        for (uint32_t d = b->rank; d + first < a->rank; d++) {
            vt_extent_put(&padded, d, vt_extent_of(1));
        }
        padded.rank = first + b->rank < a->rank ? a->rank - first : b->rank;
    }
    const struct vt_shape_info *pair[2] = {a, &padded};
    struct vt_infer both = *infer;
    both.inputs = pair;
    enum vt_status status = vt_infer_broadcast(&both, 0, 2, dtype);
    struct vt_shape_info *out = vt_infer_output(infer, 0);
    if (status == VT_OK && out->rank != a->rank) {
        return vt_infer_fail(infer, VT_ERR_FORMAT,
                             "the second input has more dimensions than the first");
    }
    for (uint32_t d = 0; status == VT_OK && d < a->rank; d++) {
        status = vt_infer_same_extent(infer, vt_extent_get(a, d), vt_extent_get(out, d),
                                      "the extents of the first input and the output");
    }
    if (status == VT_OK) {
        vt_infer_copy(infer, 0, a);
        out->dtype = dtype;
    }
    return status;
}

static enum vt_status broadcast_pair(const struct vt_infer *infer, enum vt_dtype dtype)
{
    if (infer->node->opset >= 7) {
        return vt_infer_broadcast(infer, 0, 2, dtype);
    }
    return legacy_broadcast(infer, vt_node_int(infer->node, "axis", 0),
                            vt_node_attr(infer->node, "axis") != NULL, dtype);
}

static enum vt_status broadcast_same(const struct vt_infer *infer, uint32_t types,
                                     enum vt_dtype result)
{
    enum vt_dtype dtype = result;
    enum vt_status status = vt_infer_same_types(infer, 0, UINT32_MAX - 1, types);

    for (uint32_t i = 0; dtype == VT_UNDEFINED && i < infer->node->n_inputs; i++) {
        dtype = type_of(infer, i);
    }
    if (status != VT_OK) {
        return status;
    }
    return infer->node->operator->max_inputs == 2
               ? broadcast_pair(infer, dtype)
               : vt_infer_broadcast(infer, 0, infer->node->n_inputs, dtype);
}

enum vt_status vt_infer_modulo(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0);

    if (vt_node_int(infer->node, "fmod", 0) == 0 && x != NULL && x->dtype != VT_UNDEFINED &&
        (VT_TYPES_FLOAT & VT_TYPE_BIT(x->dtype)) != 0) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "fmod is 0, it must be 1 for %s",
                             vt_dtype_name(x->dtype));
    }
    return broadcast_same(infer, VT_TYPES_NUMBER, VT_UNDEFINED);
}

enum vt_status vt_infer_arithmetic(const struct vt_infer *infer)
{
    return broadcast_same(infer, VT_TYPES_NUMBER, VT_UNDEFINED);
}

enum vt_status vt_infer_variadic_number(const struct vt_infer *infer)
{
    return broadcast_same(infer, VT_TYPES_NUMBER, VT_UNDEFINED);
}

enum vt_status vt_infer_variadic_float(const struct vt_infer *infer)
{
    return broadcast_same(infer, VT_TYPES_FLOAT, VT_UNDEFINED);
}

enum vt_status vt_infer_bitwise(const struct vt_infer *infer)
{
    return broadcast_same(infer, VT_TYPES_INTEGER, VT_UNDEFINED);
}

enum vt_status vt_infer_bit_shift(const struct vt_infer *infer)
{
    return broadcast_same(infer, VT_TYPES_UNSIGNED, VT_UNDEFINED);
}

enum vt_status vt_infer_logic(const struct vt_infer *infer)
{
    return broadcast_same(infer, VT_TYPES_BOOL, VT_BOOL);
}

enum vt_status vt_infer_compare(const struct vt_infer *infer)
{
    return broadcast_same(infer, VT_TYPES_NUMBER, VT_BOOL);
}

enum vt_status vt_infer_equal(const struct vt_infer *infer)
{
    return broadcast_same(infer, VT_TYPES_NUMBER | VT_TYPES_BOOL, VT_BOOL);
}

/* From opset 12 on the exponent may be of another type; the result has the base's. */
enum vt_status vt_infer_pow(const struct vt_infer *infer)
{
    if (infer->node->opset < 12) {
        return broadcast_same(infer, VT_TYPES_NUMBER, VT_UNDEFINED);
    }
    enum vt_status status = vt_infer_types(infer, 0, VT_TYPES_NUMBER);
    if (status == VT_OK) {
        status = vt_infer_types(infer, 1, VT_TYPES_NUMBER);
    }
    return status != VT_OK ? status : vt_infer_broadcast(infer, 0, 2, type_of(infer, 0));
}

/* The slope is broadcast to the input, never the other way round. Before opset 7 it is one number
 * or one a channel. */
enum vt_status vt_infer_prelu(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0);
    const struct vt_shape_info *slope = vt_infer_input(infer, 1);

    if (infer->node->opset < 7) {
        bool per_channel = vt_infer_ranked(x) && x->rank > 1 && vt_infer_ranked(slope) &&
                           slope->rank == 1 && slope->dim[0] != 1;
        enum vt_status same_type = vt_infer_same_types(infer, 0, 1, VT_TYPES_NUMBER);
        return same_type != VT_OK ? same_type : legacy_broadcast(infer, 1, per_channel, x->dtype);
    }
    enum vt_status status = broadcast_same(infer, VT_TYPES_NUMBER, VT_UNDEFINED);
    if (status != VT_OK) {
        return status;
    }
    struct vt_shape_info *out = vt_infer_output(infer, 0);
    if (!vt_infer_ranked(x) || !vt_infer_ranked(out)) {
        return VT_OK;
    }
    if (x->rank != out->rank) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "its slope has more dimensions than its input");
    }
    for (uint32_t d = 0; d < x->rank; d++) {
        status = vt_infer_same_extent(infer, vt_extent_get(x, d), vt_extent_get(out, d),
                                      "the extents of input and slope");
        if (status != VT_OK) {
            return status;
        }
    }
    vt_infer_copy(infer, 0, x);
    return VT_OK;
}

enum vt_status vt_infer_where(const struct vt_infer *infer)
{
    enum vt_status status = vt_infer_types(infer, 0, VT_TYPES_BOOL);
    if (status == VT_OK) {
        status = vt_infer_same_types(infer, 1, 2, VT_TYPES_NUMBER | VT_TYPES_BOOL);
    }
    enum vt_dtype dtype = type_of(infer, 1) != VT_UNDEFINED ? type_of(infer, 1) : type_of(infer, 2);
    return status != VT_OK ? status : vt_infer_broadcast(infer, 0, 3, dtype);
}

/* Bounds are attributes before opset 11, inputs (scalars) from then on. */
enum vt_status vt_infer_clip(const struct vt_infer *infer)
{
    if (infer->node->opset < 11 && infer->node->n_inputs > 1) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "bounds are attributes before opset 11");
    }
    enum vt_status status = vt_infer_same_types(infer, 0, 2, VT_TYPES_NUMBER);
    for (uint32_t i = 1; status == VT_OK && i <= 2; i++) {
        const struct vt_shape_info *bound = vt_infer_input(infer, i);
        struct vt_extent n = bound != NULL ? vt_infer_elements(bound) : vt_extent_of(1);
        if (n.dim >= 0 && n.dim != 1) {
            return vt_infer_fail(infer, VT_ERR_FORMAT, "bound %u must be one number, it has %lld",
                                 i, (long long)n.dim);
        }
    }
    if (status == VT_OK) {
        vt_infer_copy(infer, 0, vt_infer_input(infer, 0));
    }
    return status;
}

/* The mask has the input's type before opset 10 and is of truth values from then on. */
enum vt_status vt_infer_dropout(const struct vt_infer *infer)
{
    enum vt_status status = vt_infer_types(infer, 0, VT_TYPES_FLOAT);
    if (status != VT_OK) {
        return status;
    }
    vt_infer_copy(infer, 0, vt_infer_input(infer, 0));
    same_shape(infer, 1, infer->node->opset < 10 ? type_of(infer, 0) : VT_BOOL);
    return VT_OK;
}

static bool castable(int64_t dtype)
{
    uint32_t types = VT_TYPES_NUMBER | VT_TYPES_BOOL;
    return dtype > 0 && dtype <= VT_BF16 && (types & VT_TYPE_BIT(dtype)) != 0;
}

enum vt_status vt_infer_cast(const struct vt_infer *infer)
{
    int64_t to = vt_node_int(infer->node, "to", 0);

    enum vt_status status = vt_infer_types(infer, 0, VT_TYPES_NUMBER | VT_TYPES_BOOL);
    if (status != VT_OK) {
        return status;
    }
    if (!castable(to)) {
        return vt_infer_fail(infer, VT_ERR_UNSUPPORTED, "a cast to type %lld (%s) is not supported",
                             (long long)to, vt_import_type_name(to));
    }
    same_shape(infer, 0, (enum vt_dtype)to);
    return VT_OK;
}

enum vt_status vt_infer_cast_like(const struct vt_infer *infer)
{
    enum vt_status status = vt_infer_types(infer, 0, VT_TYPES_NUMBER | VT_TYPES_BOOL);
    if (status == VT_OK) {
        status = vt_infer_types(infer, 1, VT_TYPES_NUMBER | VT_TYPES_BOOL);
    }
    if (status == VT_OK) {
        same_shape(infer, 0, type_of(infer, 1));
    }
    return status;
}

enum vt_status vt_infer_cum_sum(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0);
    struct vt_infer_list axis;

    enum vt_status status = vt_infer_types(infer, 0, VT_TYPES_NUMBER);
    if (status == VT_OK) {
        status = vt_infer_input_list(infer, 1, &axis);
    }
    if (status == VT_OK && axis.known && axis.n != 1) {
        status = vt_infer_fail(infer, VT_ERR_FORMAT, "its axis must be one number");
    }
    if (status == VT_OK && axis.known && vt_infer_ranked(x)) {
        status = vt_infer_axes(infer, x->rank, &axis);
    }
    if (status == VT_OK) {
        vt_infer_copy(infer, 0, x);
    }
    return status;
}

/* Scales for blocks of an axis (opset 21): as many dimensions as the input has, and all extents
 * but that of the axis. */
static enum vt_status check_blocks(const struct vt_infer *infer, uint32_t i,
                                   const struct vt_shape_info *x, int64_t block)
{
    const struct vt_shape_info *scale = vt_infer_input(infer, i);
    uint32_t axis = 0;

    enum vt_status status =
        vt_infer_axis(infer, vt_node_int(infer->node, "axis", 1), x->rank, &axis);
    if (status == VT_OK) {
        status = vt_infer_rank(infer, i, x->rank);
    }
    for (uint32_t d = 0; status == VT_OK && d < x->rank; d++) {
        struct vt_extent wanted = vt_extent_get(x, d);
        if (d == axis) {
            wanted = wanted.dim < 0 ? vt_extent_unknown(-1)
                                    : vt_extent_of(wanted.dim / block + (wanted.dim % block != 0));
        }
        status = vt_infer_same_extent(infer, vt_extent_get(scale, d), wanted, "scales and blocks");
    }
    return status;
}

/* A scale or zero point is one number, or one for each position on the axis (opset 13). */
static enum vt_status check_scale(const struct vt_infer *infer, uint32_t i)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0);
    const struct vt_shape_info *scale = vt_infer_input(infer, i);
    int64_t block = infer->node->opset < 21 ? 0 : vt_node_int(infer->node, "block_size", 0);
    uint32_t axis = 0;

    if (block < 0) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "block_size is %lld", (long long)block);
    }
    if (block > 0 && vt_infer_ranked(x) && vt_infer_ranked(scale)) {
        return check_blocks(infer, i, x, block);
    }
    if (!vt_infer_ranked(x) || !vt_infer_ranked(scale) || scale->rank == 0 ||
        vt_infer_elements(scale).dim == 1) {
        return VT_OK;
    }
    if (scale->rank > 1 || infer->node->opset < 13) {
        return vt_infer_fail(infer, VT_ERR_FORMAT,
                             "input %u must be one number (a list from opset 13 on)", i);
    }
    enum vt_status status =
        vt_infer_axis(infer, vt_node_int(infer->node, "axis", 1), x->rank, &axis);
    return status != VT_OK ? status
                           : vt_infer_same_extent(infer, vt_extent_get(scale, 0),
                                                  vt_extent_get(x, axis), "scale and axis");
}

static enum vt_status check_scales(const struct vt_infer *infer)
{
    enum vt_status status = check_scale(infer, 1);
    return status != VT_OK ? status : check_scale(infer, 2);
}

/* The type is the zero point's, or that of output_dtype (opset 21), or uint8. */
enum vt_status vt_infer_quantize(const struct vt_infer *infer)
{
    uint32_t stored = infer->node->opset < 21
                          ? VT_TYPES_BYTE
                          : VT_TYPES_BYTE | VT_TYPE_BIT(VT_I16) | VT_TYPE_BIT(VT_U16);
    int64_t wanted = infer->node->opset < 21 ? 0 : vt_node_int(infer->node, "output_dtype", 0);

    enum vt_status status = vt_infer_types(infer, 0, VT_TYPES_SINGLE | VT_TYPE_BIT(VT_I32));
    if (status == VT_OK) {
        status = vt_infer_types(infer, 1, VT_TYPES_SINGLE);
    }
    if (status == VT_OK) {
        status = vt_infer_types(infer, 2, stored);
    }
    if (status == VT_OK) {
        status = check_scales(infer);
    }
    if (status != VT_OK) {
        return status;
    }
    if (wanted != 0 && (wanted < 0 || wanted > VT_BF16 || (stored & VT_TYPE_BIT(wanted)) == 0)) {
        return vt_infer_fail(
            infer, VT_ERR_UNSUPPORTED,
            "output_dtype %lld is not supported: int8, uint8, int16 and uint16 are",
            (long long)wanted);
    }
    enum vt_dtype dtype = wanted != 0 ? (enum vt_dtype)wanted : VT_U8;
    same_shape(infer, 0, vt_infer_input(infer, 2) != NULL ? type_of(infer, 2) : dtype);
    return VT_OK;
}

enum vt_status vt_infer_dequantize(const struct vt_infer *infer)
{
    enum vt_status status = vt_infer_types(infer, 0, VT_TYPES_QUANTISED);
    if (status == VT_OK) {
        status = vt_infer_types(infer, 1, VT_TYPES_SINGLE);
    }
    if (status == VT_OK) {
        status = check_scales(infer);
    }
    if (status == VT_OK) {
        int64_t wanted = infer->node->opset < 23 ? 0 : vt_node_int(infer->node, "output_dtype", 0);
        if (wanted != 0 &&
            (wanted < 0 || wanted > VT_BF16 || (VT_TYPES_SINGLE & VT_TYPE_BIT(wanted)) == 0)) {
            return vt_infer_fail(infer, VT_ERR_FORMAT, "its output_dtype %lld does not fit",
                                 (long long)wanted);
        }
        same_shape(infer, 0, wanted != 0 ? (enum vt_dtype)wanted : type_of(infer, 1));
    }
    return status;
}

enum vt_status vt_infer_dynamic_quantize(const struct vt_infer *infer)
{
    enum vt_status status = vt_infer_types(infer, 0, VT_TYPE_BIT(VT_F32));
    if (status == VT_OK) {
        same_shape(infer, 0, VT_U8);
        status = vt_infer_set(infer, 1, VT_F32, 0);
    }
    return status != VT_OK ? status : vt_infer_set(infer, 2, VT_U8, 0);
}

enum vt_status vt_infer_trilu(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0);

    if (vt_infer_ranked(x) && x->rank < 2) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "needs two dimensions, its input has %u",
                             x->rank);
    }
    enum vt_status status = vt_infer_types(infer, 1, VT_TYPE_BIT(VT_I64));
    if (status == VT_OK) {
        vt_infer_copy(infer, 0, x);
    }
    return status;
}
