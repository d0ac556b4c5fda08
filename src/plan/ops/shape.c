/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that give their input another shape, or say what its shape is. */
#include "kernels/move/move.h"
#include "plan/ops/support.h"

static enum vt_status dropout_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    (void)ret_workspace;
    if (ctx->n_outputs > 1 && ctx->node->outputs[1] != VT_NO_VALUE) {
        return vt_op_fail(ctx, VT_ERR_UNSUPPORTED, "the mask output is not supported");
    }
    const struct vt_tensor *training = vt_op_input(ctx, 2);
    if (training != NULL && (training->data == NULL || *(const uint8_t *)training->data != 0)) {
        return vt_op_fail(ctx, VT_ERR_UNSUPPORTED, "training mode is not supported");
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
    {"", "Dropout", VT_OP_VIEW, 0, dropout_prepare, NULL},
    {"", "Shape", VT_OP_ANY_FLOAT, 0, NULL, shape_run},
    {"", "Size", VT_OP_ANY_FLOAT, 0, NULL, size_run},
    {"", "ConstantOfShape", VT_OP_ANY_FLOAT, 0, NULL, constant_of_shape_run},
};
VT_OP_FAMILY(vt_ops_shape, ops);
