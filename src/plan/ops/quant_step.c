/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the planner makes of an operator between DequantizeLinear and QuantizeLinear: it is carried
 * out on the quantised numbers. The node is the operator's own, the inputs are those of
 * vt_q_step_places; the pass that makes such steps has checked them.
 */
#include "kernels/quant/bytes.h"
#include "plan/ops/quantised.h"

static enum vt_status conv_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    return vt_q_conv_prepare(ctx, ctx->state, &vt_q_step_places, ret_workspace);
}

static enum vt_status conv_run(struct vt_op_context *ctx)
{
    return vt_q_conv_run(ctx, ctx->state);
}

static enum vt_status matmul_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    return vt_q_matmul_prepare(ctx, ctx->state, &vt_q_step_places,
                               vt_node_int(ctx->node, "transB", 0) != 0, ret_workspace);
}

static enum vt_status matmul_run(struct vt_op_context *ctx)
{
    return vt_q_matmul_run(ctx, ctx->state);
}

static struct vt_byte_scale scale_of(const struct vt_op_context *ctx, uint32_t scale, uint32_t zero,
                                     enum vt_dtype dtype)
{
    const struct vt_tensor *z = vt_q_at(ctx, zero);
    return (struct vt_byte_scale){.scale = *(const float *)vt_q_at(ctx, scale)->data,
                                  .zero = z != NULL ? (int32_t)vt_op_double_at(z, 0) : 0,
                                  .is_signed = dtype == VT_I8};
}

static enum vt_status add_run(struct vt_op_context *ctx)
{
    const struct vt_q_places *p = &vt_q_step_places;
    const struct vt_tensor *a = vt_q_at(ctx, p->a), *b = vt_q_at(ctx, p->b);
    struct vt_byte_sum sum = {
        .a = scale_of(ctx, p->a_scale, p->a_zero, a->dtype),
        .b = scale_of(ctx, p->b_scale, p->b_zero, b->dtype),
        .y = scale_of(ctx, p->y_scale, p->y_zero, ctx->outputs[0].dtype),
    };
    vt_q_bounds(ctx->epilogue, sum.y.scale, (float)sum.y.zero, sum.y.is_signed, &sum.low,
                &sum.high);
    vt_bytes_add(&sum, a->data, b->data, vt_op_elements(a), ctx->outputs[0].data, ctx->pool);
    return VT_OK;
}

static const struct vt_op ops[] = {
    {"", "Conv quantised", 0, sizeof(struct vt_q_conv), conv_prepare, conv_run},
    {"", "MatMul quantised", 0, sizeof(struct vt_q_matmul), matmul_prepare, matmul_run},
    {"", "Add quantised", 0, 0, NULL, add_run},
};
VT_OP_FAMILY(vt_ops_quant_step, ops);
