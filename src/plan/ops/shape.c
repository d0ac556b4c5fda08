/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that give their input another shape, or say what its shape is. */
#include "kernels/convert/convert.h"
#include "kernels/move/move.h"
#include "plan/ops/support.h"

/* Nothing is dropped outside of training, nor at a ratio of 0. */
static enum vt_status dropout_run(struct vt_op_context *ctx)
{
    const struct vt_tensor *ratio = vt_op_input(ctx, 1), *training = vt_op_input(ctx, 2);
    const bool has_mask = ctx->n_outputs > 1 && ctx->outputs[1].data != NULL;
    if (training != NULL && training->bytes > 0 && *(const uint8_t *)training->data != 0 &&
        (ratio == NULL || vt_op_double_at(ratio, 0) != 0.0)) {
        return vt_op_fail(ctx, VT_ERR_UNSUPPORTED,
                          "training mode, in which elements are dropped at random, is not "
                          "supported");
    }
    memcpy(ctx->outputs[0].data, ctx->inputs[0]->data, ctx->outputs[0].bytes);
    if (has_mask) {
        const double one = 1.0;
        uint64_t element = 0;
        vt_convert(VT_F64, &one, ctx->outputs[1].dtype, &element, 1);
        vt_fill(ctx->outputs[1].data, vt_op_elements(&ctx->outputs[1]),
                vt_dtype_bytes(ctx->outputs[1].dtype), &element);
    }
    return VT_OK;
}

static enum vt_status shape_run(struct vt_op_context *ctx)
{
    const struct vt_tensor *in = ctx->inputs[0];
    const int64_t rank = in->rank;
    int64_t start = vt_node_int(ctx->node, "start", 0), end = vt_node_int(ctx->node, "end", rank);
    start = start < 0 ? start + rank : start;
    end = end < 0 ? end + rank : end;
    start = start < 0 ? 0 : start;
    end = end > rank ? rank : end;
    for (int64_t i = start; i < end; i++) {
        ((int64_t *)ctx->outputs[0].data)[i - start] = in->dim[i];
    }
    return VT_OK;
}

static enum vt_status size_run(struct vt_op_context *ctx)
{
    *(int64_t *)ctx->outputs[0].data = vt_op_elements(ctx->inputs[0]);
    return VT_OK;
}

static enum vt_status constant_of_shape_run(struct vt_op_context *ctx)
{
    const struct vt_attr *attr = vt_node_attr(ctx->node, "value");
    const struct vt_tensor *value =
        attr != NULL && attr->type == VT_ATTR_TENSOR ? attr->tensor : NULL;
    const uint64_t zero[2] = {0, 0};
    vt_fill(ctx->outputs[0].data, vt_op_elements(&ctx->outputs[0]),
            vt_dtype_bytes(ctx->outputs[0].dtype),
            value != NULL && value->bytes >= vt_dtype_bytes(ctx->outputs[0].dtype)
                ? value->data
                : (const void *)zero);
    return VT_OK;
}

static const struct vt_op ops[] = {
    {"", "Reshape", VT_OP_VIEW, 0, NULL, NULL},
    {"", "Flatten", VT_OP_VIEW, 0, NULL, NULL},
    {"", "Squeeze", VT_OP_VIEW, 0, NULL, NULL},
    {"", "Unsqueeze", VT_OP_VIEW, 0, NULL, NULL},
    {"", "Identity", VT_OP_VIEW, 0, NULL, NULL},
    {"", "Dropout", VT_OP_VIEW, 0, NULL, NULL},
    {"", "Dropout with mask", VT_OP_ANY_FLOAT, 0, NULL, dropout_run},
    {"", "Shape", VT_OP_ANY_FLOAT, 0, NULL, shape_run},
    {"", "Size", VT_OP_ANY_FLOAT, 0, NULL, size_run},
    {"", "ConstantOfShape", VT_OP_ANY_FLOAT, 0, NULL, constant_of_shape_run},
};
VT_OP_FAMILY(vt_ops_shape, ops);
