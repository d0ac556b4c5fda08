/* SPDX-License-Identifier: Apache-2.0 */
/* From real numbers to quantised ones and back. */
#include "kernels/quant/quant.h"
#include "kernels/quant/bytes.h"
#include "plan/ops/support.h"

/* Scales and zero points as inputs 1 and 2 give them: one, one a position of `axis`, or (with
 * block_size) one a block of it. */
static enum vt_status read_scales(const struct vt_op_context *ctx, struct vt_quant_scales *ret)
{
    const struct vt_tensor *x = ctx->inputs[0], *scale = ctx->inputs[1];
    const struct vt_tensor *zero = vt_op_input(ctx, 2);
    const int64_t count = vt_op_elements(scale);
    const int64_t block = vt_node_int(ctx->node, "block_size", 0);
    uint32_t axis = 0;
    *ret = (struct vt_quant_scales){.outer = 1,
                                    .n = vt_op_elements(x),
                                    .inner = 1,
                                    .scale = scale->data,
                                    .zero = zero != NULL ? zero->data : NULL};
    if (zero != NULL && vt_op_elements(zero) != count) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "there are %lld scales and %lld zero points",
                          (long long)count, (long long)vt_op_elements(zero));
    }
    if (count == 1 && block == 0) {
        return VT_OK;
    }
    enum vt_status status = vt_op_axis(ctx, vt_node_int(ctx->node, "axis", 1), x->rank, &axis);
    if (status != VT_OK) {
        return status;
    }
    ret->outer = vt_op_product(x->dim, 0, axis);
    ret->n = x->dim[axis];
    ret->inner = vt_op_product(x->dim, axis + 1, x->rank);
    ret->full = block > 0;
    ret->block = block > 0 ? block : 1;
    ret->blocks = ret->n / ret->block + (ret->n % ret->block != 0);
    if (count != ret->blocks * (ret->full ? ret->outer * ret->inner : 1)) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "%lld scales do not fit axis %u, which has %lld",
                          (long long)count, axis, (long long)ret->n);
    }
    return VT_OK;
}

static enum vt_status check(const struct vt_op_context *ctx, const struct vt_tensor *quantised)
{
    struct vt_quant_scales scales;
    if (!vt_quant_knows(quantised->dtype)) {
        return vt_op_fail_type(ctx, quantised);
    }
    if (ctx->inputs[1]->dtype != VT_F32) {
        return vt_op_fail_type(ctx, ctx->inputs[1]);
    }
    const struct vt_tensor *zero = vt_op_input(ctx, 2);
    if (zero != NULL && zero->dtype != quantised->dtype) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "the zero point is %s where the data are %s",
                          vt_dtype_name(zero->dtype), vt_dtype_name(quantised->dtype));
    }
    if (vt_node_int(ctx->node, "block_size", 0) < 0) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "block_size is negative");
    }
    return read_scales(ctx, &scales);
}

static enum vt_status quantize_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    const struct vt_tensor *x = ctx->inputs[0];
    (void)ret_workspace;
    if ((x->dtype != VT_F32 && x->dtype != VT_I32)) {
        return vt_op_fail_type(ctx, x);
    }
    if (ctx->outputs[0].dtype == VT_I32) {
        return vt_op_fail_type(ctx, &ctx->outputs[0]);
    }
    return check(ctx, &ctx->outputs[0]);
}

/* One scale for all of a tensor of bytes, the usual case. */
static bool is_simple(const struct vt_quant_scales *scales, enum vt_dtype dtype,
                      struct vt_byte_scale *ret)
{
    if (scales->blocks != 0 || (dtype != VT_I8 && dtype != VT_U8)) {
        return false;
    }
    *ret = (struct vt_byte_scale){.scale = scales->scale[0], .is_signed = dtype == VT_I8};
    if (scales->zero != NULL) {
        ret->zero = ret->is_signed ? *(const int8_t *)scales->zero : *(const uint8_t *)scales->zero;
    }
    return true;
}

static enum vt_status quantize_run(struct vt_op_context *ctx)
{
    struct vt_quant_scales scales;
    struct vt_byte_scale simple;
    enum vt_status status = read_scales(ctx, &scales);
    if (status == VT_OK && ctx->inputs[0]->dtype == VT_F32 &&
        is_simple(&scales, ctx->outputs[0].dtype, &simple)) {
        vt_bytes_quantize(&simple, ctx->inputs[0]->data, scales.n, ctx->outputs[0].data, ctx->pool);
    } else if (status == VT_OK) {
        vt_quantize_run(&scales, ctx->inputs[0]->dtype, ctx->inputs[0]->data, ctx->outputs[0].dtype,
                        ctx->outputs[0].data);
    }
    return status;
}

static enum vt_status dequantize_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    (void)ret_workspace;
    if (ctx->outputs[0].dtype != VT_F32) {
        return vt_op_fail_type(ctx, &ctx->outputs[0]);
    }
    return check(ctx, ctx->inputs[0]);
}

static enum vt_status dequantize_run(struct vt_op_context *ctx)
{
    struct vt_quant_scales scales;
    struct vt_byte_scale simple;
    enum vt_status status = read_scales(ctx, &scales);
    if (status == VT_OK && is_simple(&scales, ctx->inputs[0]->dtype, &simple)) {
        vt_bytes_dequantize(&simple, ctx->inputs[0]->data, scales.n, ctx->outputs[0].data,
                            ctx->pool);
    } else if (status == VT_OK) {
        vt_dequantize_run(&scales, ctx->inputs[0]->dtype, ctx->inputs[0]->data,
                          ctx->outputs[0].data);
    }
    return status;
}

static enum vt_status dynamic_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    (void)ret_workspace;
    return vt_op_require_f32(ctx, 1);
}

static enum vt_status dynamic_run(struct vt_op_context *ctx)
{
    float scale = 0.0f;
    uint8_t zero = 0;
    vt_quantize_dynamic(ctx->inputs[0]->data, vt_op_elements(ctx->inputs[0]), ctx->outputs[0].data,
                        &scale, &zero);
    if (ctx->outputs[1].data != NULL) {
        *(float *)ctx->outputs[1].data = scale;
    }
    if (ctx->outputs[2].data != NULL) {
        *(uint8_t *)ctx->outputs[2].data = zero;
    }
    return VT_OK;
}

static const struct vt_op ops[] = {
    {"", "QuantizeLinear", 0, 0, quantize_prepare, quantize_run},
    {"", "DequantizeLinear", 0, 0, dequantize_prepare, dequantize_run},
    {"", "DynamicQuantizeLinear", 0, 0, dynamic_prepare, dynamic_run},
};
VT_OP_FAMILY(vt_ops_quant, ops);
