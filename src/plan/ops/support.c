/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/ops/support.h"

#include <stdio.h>

#include "base/quote.h"
#include "kernels/convert/convert.h"

enum vt_status vt_op_fail(const struct vt_op_context *ctx, enum vt_status status, const char *fmt,
                          ...)
{
    char text[VT_ERROR_TEXT_MAX / 2];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    return vt_error_set(ctx->err, status, "node '%s' (%s, opset %lld): %s",
                        vt_plain(ctx->node->name).text, ctx->node->op, (long long)ctx->node->opset,
                        text);
}

enum vt_status vt_op_fail_type(const struct vt_op_context *ctx, const struct vt_tensor *tensor)
{
    return vt_op_fail(ctx, VT_ERR_UNSUPPORTED, "the element type %s is not supported here",
                      vt_dtype_name(tensor->dtype));
}

enum vt_status vt_op_require_f32(const struct vt_op_context *ctx, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct vt_tensor *input = vt_op_input(ctx, i);
        if (input != NULL && input->dtype != VT_F32) {
            return vt_op_fail_type(ctx, input);
        }
    }
    return VT_OK;
}

enum vt_status vt_op_require_count(const struct vt_op_context *ctx, uint32_t index, int64_t n)
{
    const struct vt_tensor *t = vt_op_input(ctx, index);
    if (t != NULL && vt_op_elements(t) != n) {
        return vt_op_fail(ctx, VT_ERR_UNSUPPORTED, "input %u has %lld elements, supported are %lld",
                          index, (long long)vt_op_elements(t), (long long)n);
    }
    return VT_OK;
}

int64_t vt_op_int_at(const struct vt_tensor *tensor, int64_t i)
{
    switch (tensor->dtype) {
    case VT_I64:
        return ((const int64_t *)tensor->data)[i];
    case VT_I32:
        return ((const int32_t *)tensor->data)[i];
    default:
        return (int64_t)vt_op_double_at(tensor, i);
    }
}

double vt_op_double_at(const struct vt_tensor *tensor, int64_t i)
{
    const char *at = (const char *)tensor->data + i * (int64_t)vt_dtype_bytes(tensor->dtype);
    double value = 0;
    vt_convert(tensor->dtype, at, VT_F64, &value, 1);
    return value;
}

enum vt_status vt_op_axis(const struct vt_op_context *ctx, int64_t axis, uint32_t rank,
                          uint32_t *ret_axis)
{
    if (axis < -(int64_t)rank || axis >= (int64_t)rank) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "axis %lld is outside [-%u, %u)", (long long)axis,
                          rank, rank);
    }
    *ret_axis = (uint32_t)(axis < 0 ? axis + rank : axis);
    return VT_OK;
}

enum vt_status vt_op_int_list(const struct vt_op_context *ctx, const char *attribute,
                              uint32_t input, int64_t *ret_list, uint32_t *ret_n)
{
    size_t n = 0;
    const int64_t *ints = vt_node_ints(ctx->node, attribute, &n);
    const struct vt_tensor *tensor = vt_op_input(ctx, input);
    const bool from_tensor = ints == NULL && tensor != NULL && tensor->data != NULL;
    if (from_tensor) {
        n = (size_t)vt_op_elements(tensor);
    } else if (ints == NULL) {
        n = 0;
    }
    if (n > VT_RANK_MAX) {
        return vt_op_fail(ctx, VT_ERR_LIMIT, "'%s' has %zu entries, at most %d are supported",
                          attribute, n, VT_RANK_MAX);
    }
    for (size_t i = 0; i < n; i++) {
        ret_list[i] = from_tensor ? vt_op_int_at(tensor, (int64_t)i) : ints[i];
    }
    *ret_n = (uint32_t)n;
    return VT_OK;
}

struct vt_tensor vt_op_second(const struct vt_op_context *ctx)
{
    struct vt_tensor b = *ctx->inputs[1];
    const uint32_t rank = ctx->inputs[0]->rank;
    int64_t axis = -1;
    if (ctx->node->opset >= 7 || b.rank == 0) {
        return b;
    }
    if (strcmp(ctx->node->op, "PRelu") == 0) {
        axis = b.rank == 1 && b.dim[0] != 1 && rank > 1 ? 1 : -1;
    } else if (vt_node_attr(ctx->node, "axis") != NULL) {
        axis = vt_node_int(ctx->node, "axis", 0);
        axis = axis < 0 ? axis + rank : axis;
    }
    while (axis >= 0 && axis + b.rank < rank) {
        b.dim[b.rank++] = 1;
    }
    return b;
}

uint64_t vt_op_hash(uint64_t hash, const void *bytes, size_t n)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < n; i++) {
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}
