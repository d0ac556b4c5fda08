/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/softmax/softmax.h"
#include "plan/ops/support.h"

struct state {
    int64_t outer, n, inner;
};

static enum vt_status prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    struct state *s = ctx->state;
    const struct vt_tensor *x = ctx->inputs[0];
    /* Up to opset 12 everything from the axis on is one row; from 13 on the axis alone. */
    const bool flat = ctx->node->opset < 13;
    uint32_t axis = 0;
    (void)ret_workspace;
    enum vt_status status = vt_op_require_f32(ctx, 1);
    if (status == VT_OK && x->rank > 0) {
        status = vt_op_axis(ctx, vt_node_int(ctx->node, "axis", flat ? 1 : -1), x->rank, &axis);
    }
    if (status != VT_OK) {
        return status;
    }
    s->outer = vt_op_product(x->dim, 0, axis);
    s->n = flat ? vt_op_product(x->dim, axis, x->rank) : (x->rank > 0 ? x->dim[axis] : 1);
    s->inner = flat ? 1 : vt_op_product(x->dim, axis + 1, x->rank);
    return VT_OK;
}

static enum vt_status run(struct vt_op_context *ctx)
{
    const struct state *s = ctx->state;
    const char *name = ctx->node->op;
    const enum vt_softmax kind = strcmp(name, "Softmax") == 0      ? VT_SOFTMAX
                                 : strcmp(name, "LogSoftmax") == 0 ? VT_LOG_SOFTMAX
                                                                   : VT_HARDMAX;
    vt_softmax_run(kind, s->outer, s->n, s->inner, ctx->inputs[0]->data, ctx->outputs[0].data,
                   ctx->pool);
    return VT_OK;
}

static const struct vt_op ops[] = {
    {"", "Softmax", VT_OP_IN_PLACE, sizeof(struct state), prepare, run},
    {"", "LogSoftmax", VT_OP_IN_PLACE, sizeof(struct state), prepare, run},
    {"", "Hardmax", 0, sizeof(struct state), prepare, run},
};
VT_OP_FAMILY(vt_ops_softmax, ops);
