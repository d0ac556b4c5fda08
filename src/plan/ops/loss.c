/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/loss/loss.h"
#include "kernels/softmax/softmax.h"
#include "plan/ops/support.h"

static enum vt_status prepare(struct vt_op_context *ctx)
{
    struct vt_loss *loss = ctx->state;
    const struct vt_tensor *x = ctx->inputs[0], *classes = ctx->inputs[1];
    const char *reduction = vt_node_string(ctx->node, "reduction", "mean");
    const struct vt_tensor *weights = vt_op_input(ctx, 2);
    if (x->dtype != VT_F32) {
        return vt_op_fail_type(ctx, x);
    }
    if (weights != NULL && weights->dtype != VT_F32) {
        return vt_op_fail_type(ctx, weights);
    }
    if (x->rank < 2) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "the scores have rank %u, needed is at least 2",
                          x->rank);
    }
    *loss = (struct vt_loss){.batch = x->dim[0],
                             .classes = x->dim[1],
                             .places = vt_op_product(x->dim, 2, x->rank),
                             .has_ignored = vt_node_attr(ctx->node, "ignore_index") != NULL,
                             .ignored = vt_node_int(ctx->node, "ignore_index", 0),
                             .is_64 = classes->dtype == VT_I64,
                             .reduction = strcmp(reduction, "none") == 0  ? VT_LOSS_NONE
                                          : strcmp(reduction, "sum") == 0 ? VT_LOSS_SUM
                                                                          : VT_LOSS_MEAN};
    enum vt_status status = vt_op_require_count(ctx, 1, loss->batch * loss->places);
    return status == VT_OK ? vt_op_require_count(ctx, 2, loss->classes) : status;
}

static enum vt_status run(struct vt_op_context *ctx, const float *log_probabilities)
{
    const struct vt_tensor *weights = vt_op_input(ctx, 2);
    const int64_t bad = vt_loss_run(ctx->state, log_probabilities, ctx->inputs[1]->data,
                                    weights != NULL ? weights->data : NULL, ctx->outputs[0].data);
    if (bad < 0) {
        return VT_OK;
    }
    return vt_op_fail(ctx, VT_ERR_FORMAT,
                      "class %lld (at position %lld) does not exist: there are %lld",
                      (long long)vt_op_int_at(ctx->inputs[1], bad), (long long)bad,
                      (long long)((const struct vt_loss *)ctx->state)->classes);
}

static enum vt_status likelihood_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    (void)ret_workspace;
    return prepare(ctx);
}

static enum vt_status likelihood_run(struct vt_op_context *ctx)
{
    return run(ctx, ctx->inputs[0]->data);
}

static bool wants_logarithms(const struct vt_op_context *ctx)
{
    return ctx->n_outputs > 1 && ctx->node->outputs[1] != VT_NO_VALUE;
}

static enum vt_status entropy_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    if (!wants_logarithms(ctx)) {
        *ret_workspace = (size_t)vt_op_elements(ctx->inputs[0]) * sizeof(float);
    }
    return prepare(ctx);
}

static enum vt_status entropy_run(struct vt_op_context *ctx)
{
    const struct vt_loss *loss = ctx->state;
    float *logarithms = wants_logarithms(ctx) ? ctx->outputs[1].data : ctx->workspace;
    vt_softmax_run(VT_LOG_SOFTMAX, loss->batch, loss->classes, loss->places, ctx->inputs[0]->data,
                   logarithms, ctx->pool);
    return run(ctx, logarithms);
}

static const struct vt_op ops[] = {
    {"", "NegativeLogLikelihoodLoss", 0, sizeof(struct vt_loss), likelihood_prepare,
     likelihood_run},
    {"", "SoftmaxCrossEntropyLoss", 0, sizeof(struct vt_loss), entropy_prepare, entropy_run},
};
VT_OP_FAMILY(vt_ops_loss, ops);
