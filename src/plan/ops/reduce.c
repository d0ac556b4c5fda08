/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/reduce/reduce.h"
#include "plan/ops/support.h"

static const struct reduce_entry {
    const char *name;
    enum vt_reduction kind;
} reduce_table[] = {
    {"ReduceSum", VT_REDUCE_SUM},
    {"ReduceMean", VT_REDUCE_MEAN},
    {"ReduceMax", VT_REDUCE_MAX},
    {"ReduceMin", VT_REDUCE_MIN},
    {"ReduceProd", VT_REDUCE_PROD},
    {"ReduceL1", VT_REDUCE_L1},
    {"ReduceL2", VT_REDUCE_L2},
    {"ReduceLogSum", VT_REDUCE_LOG_SUM},
    {"ReduceLogSumExp", VT_REDUCE_LOG_SUM_EXP},
    {"ReduceSumSquare", VT_REDUCE_SUM_SQUARE},
};

static enum vt_status reduce_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    (void)ret_workspace;
    const enum vt_dtype dtype = ctx->inputs[0]->dtype;
    const bool chooses =
        strcmp(ctx->node->op, "ReduceMax") == 0 || strcmp(ctx->node->op, "ReduceMin") == 0;
    if (!vt_reduce_knows(dtype) && !(dtype == VT_BOOL && chooses)) {
        return vt_op_fail_type(ctx, ctx->inputs[0]);
    }
    return VT_OK;
}

/* The axes may be an input, so they are read by each run. */
static enum vt_status reduce_run(struct vt_op_context *ctx)
{
    const struct vt_tensor *x = ctx->inputs[0];
    /* Of bools, which are 0 and 1, only the extremes are taken. */
    struct vt_reduce reduce = {.dtype = x->dtype == VT_BOOL ? VT_U8 : x->dtype};
    int64_t list[VT_RANK_MAX];
    uint32_t n = 0, axes = 0;
    enum vt_status status = vt_op_int_list(ctx, "axes", 1, list, &n);
    for (uint32_t i = 0; status == VT_OK && i < n; i++) {
        uint32_t axis;
        status = vt_op_axis(ctx, list[i], x->rank, &axis);
        if (status == VT_OK) {
            axes |= 1u << axis;
        }
    }
    if (status != VT_OK) {
        return status;
    }
    /* Over no axes at all each element is reduced by itself: a ReduceSumSquare squares it. */
    if (n == 0 && vt_node_int(ctx->node, "noop_with_empty_axes", 0) == 0) {
        axes = (1u << x->rank) - 1;
    }
    for (size_t i = 0; i < sizeof(reduce_table) / sizeof(reduce_table[0]); i++) {
        if (strcmp(reduce_table[i].name, ctx->node->op) == 0) {
            reduce.kind = reduce_table[i].kind;
        }
    }
    vt_reduce_init(&reduce, x->dim, x->rank, axes);
    vt_reduce_run(&reduce, x->data, ctx->outputs[0].data, ctx->pool);
    return VT_OK;
}

/* Extents before, of and behind an axis. */
static enum vt_status split_at(const struct vt_op_context *ctx, int64_t axis, int64_t *ret_outer,
                               int64_t *ret_n, int64_t *ret_inner)
{
    const struct vt_tensor *x = ctx->inputs[0];
    uint32_t at = 0;
    enum vt_status status = vt_op_axis(ctx, axis, x->rank, &at);
    if (status != VT_OK) {
        return status;
    }
    *ret_outer = vt_op_product(x->dim, 0, at);
    *ret_n = x->dim[at];
    *ret_inner = vt_op_product(x->dim, at + 1, x->rank);
    return VT_OK;
}

static enum vt_status arg_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    struct vt_arg *arg = ctx->state;
    enum vt_status status = reduce_prepare(ctx, ret_workspace);
    if (status != VT_OK) {
        return status;
    }
    arg->dtype = ctx->inputs[0]->dtype;
    arg->minimum = strcmp(ctx->node->op, "ArgMin") == 0;
    arg->last = vt_node_int(ctx->node, "select_last_index", 0) != 0;
    status = split_at(ctx, vt_node_int(ctx->node, "axis", 0), &arg->outer, &arg->n, &arg->inner);
    if (status == VT_OK && arg->n == 0) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "the axis has no element");
    }
    return status;
}

static enum vt_status arg_run(struct vt_op_context *ctx)
{
    vt_arg_run(ctx->state, ctx->inputs[0]->data, ctx->outputs[0].data);
    return VT_OK;
}

static enum vt_status cumsum_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    const enum vt_dtype dtype = ctx->inputs[0]->dtype;
    (void)ret_workspace;
    if (dtype != VT_F32 && dtype != VT_F64 && dtype != VT_I32 && dtype != VT_I64) {
        return vt_op_fail_type(ctx, ctx->inputs[0]);
    }
    return vt_op_require_count(ctx, 1, 1);
}

static enum vt_status cumsum_run(struct vt_op_context *ctx)
{
    struct vt_cumulate c = {.dtype = ctx->inputs[0]->dtype,
                            .exclusive = vt_node_int(ctx->node, "exclusive", 0) != 0,
                            .reverse = vt_node_int(ctx->node, "reverse", 0) != 0};
    enum vt_status status =
        split_at(ctx, vt_op_int_at(ctx->inputs[1], 0), &c.outer, &c.n, &c.inner);
    if (status == VT_OK) {
        vt_cumulate_run(&c, ctx->inputs[0]->data, ctx->outputs[0].data);
    }
    return status;
}

#define REDUCE(name)                                                                               \
    {                                                                                              \
        "", name, 0, 0, reduce_prepare, reduce_run                                                 \
    }
static const struct vt_op ops[] = {
    REDUCE("ReduceSum"),
    REDUCE("ReduceMean"),
    REDUCE("ReduceMax"),
    REDUCE("ReduceMin"),
    REDUCE("ReduceProd"),
    REDUCE("ReduceL1"),
    REDUCE("ReduceL2"),
    REDUCE("ReduceLogSum"),
    REDUCE("ReduceLogSumExp"),
    REDUCE("ReduceSumSquare"),
    {"", "ArgMax", 0, sizeof(struct vt_arg), arg_prepare, arg_run},
    {"", "ArgMin", 0, sizeof(struct vt_arg), arg_prepare, arg_run},
    {"", "CumSum", 0, 0, cumsum_prepare, cumsum_run},
};
VT_OP_FAMILY(vt_ops_reduce, ops);
