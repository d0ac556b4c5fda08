/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/move/move.h"
#include "plan/ops/support.h"

static struct vt_indices indices_of(const struct vt_tensor *tensor)
{
    return (struct vt_indices){tensor->data, tensor->dtype == VT_I64};
}

static enum vt_status fail_index(const struct vt_op_context *ctx, int64_t at)
{
    return vt_op_fail(ctx, VT_ERR_FORMAT, "index %lld (at position %lld) is out of range",
                      (long long)vt_op_int_at(ctx->inputs[1], at), (long long)at);
}

static enum vt_status check(struct vt_op_context *ctx)
{
    if (vt_dtype_bytes(ctx->inputs[0]->dtype) == 0) {
        return vt_op_fail_type(ctx, ctx->inputs[0]);
    }
    if (ctx->inputs[1]->dtype != VT_I32 && ctx->inputs[1]->dtype != VT_I64) {
        return vt_op_fail_type(ctx, ctx->inputs[1]);
    }
    return VT_OK;
}

static enum vt_status axis_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    (void)ret_workspace;
    enum vt_status status = check(ctx);
    if (status == VT_OK) {
        status =
            vt_op_axis(ctx, vt_node_int(ctx->node, "axis", 0), ctx->inputs[0]->rank, ctx->state);
    }
    return status;
}

static enum vt_status gather_run(struct vt_op_context *ctx)
{
    const struct vt_tensor *in = ctx->inputs[0];
    const uint32_t axis = *(const uint32_t *)ctx->state;
    const struct vt_indices indices = indices_of(ctx->inputs[1]);
    const int64_t block =
        vt_op_product(in->dim, axis + 1, in->rank) * (int64_t)vt_dtype_bytes(in->dtype);
    const int64_t bad =
        vt_gather_run(vt_op_product(in->dim, 0, axis), in->dim[axis], block, &indices,
                      vt_op_elements(ctx->inputs[1]), in->data, ctx->outputs[0].data, ctx->pool);
    return bad < 0 ? VT_OK : fail_index(ctx, bad);
}

static enum vt_status read_elements(const struct vt_op_context *ctx, struct vt_gather_elements *g)
{
    const struct vt_tensor *in = ctx->inputs[0], *indices = ctx->inputs[1];
    g->rank = in->rank;
    g->axis = *(const uint32_t *)ctx->state;
    g->bytes = vt_dtype_bytes(in->dtype);
    if (indices->rank != in->rank) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "the indices have rank %u, the data %u",
                          indices->rank, in->rank);
    }
    for (uint32_t i = 0; i < in->rank; i++) {
        g->in[i] = in->dim[i];
        g->dim[i] = indices->dim[i];
        if (i != g->axis && indices->dim[i] > in->dim[i]) {
            return vt_op_fail(ctx, VT_ERR_FORMAT,
                              "the indices are longer than the data along "
                              "axis %u",
                              i);
        }
    }
    return VT_OK;
}

static enum vt_status gather_elements_run(struct vt_op_context *ctx)
{
    struct vt_gather_elements g;
    const struct vt_indices indices = indices_of(ctx->inputs[1]);
    enum vt_status status = read_elements(ctx, &g);
    if (status != VT_OK) {
        return status;
    }
    const int64_t bad =
        vt_gather_elements_run(&g, &indices, ctx->inputs[0]->data, ctx->outputs[0].data);
    return bad < 0 ? VT_OK : fail_index(ctx, bad);
}

/* The geometry of GatherND and ScatterND: `batch` leading axes are shared with the indices. */
static enum vt_status read_nd(const struct vt_op_context *ctx, uint32_t batch,
                              struct vt_gather_nd *g)
{
    const struct vt_tensor *in = ctx->inputs[0], *indices = ctx->inputs[1];
    if (indices->rank == 0 || batch >= indices->rank || batch >= in->rank) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "the ranks %u and %u do not fit batch_dims %u",
                          in->rank, indices->rank, batch);
    }
    for (uint32_t i = 0; i < batch; i++) {
        if (in->dim[i] != indices->dim[i]) {
            return vt_op_fail(ctx, VT_ERR_FORMAT, "data and indices differ in batch axis %u", i);
        }
    }
    const int64_t depth = indices->dim[indices->rank - 1];
    if (depth < 0 || depth + batch > in->rank) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "an index tuple has %lld numbers for rank %u",
                          (long long)depth, in->rank);
    }
    g->batch = vt_op_product(in->dim, 0, batch);
    g->tuples = vt_op_product(indices->dim, batch, indices->rank - 1);
    g->depth = (uint32_t)depth;
    g->block = vt_op_product(in->dim, batch + g->depth, in->rank);
    g->bytes = vt_dtype_bytes(in->dtype);
    int64_t stride = 1;
    for (uint32_t d = g->depth; d-- > 0;) {
        g->dim[d] = in->dim[batch + d];
        g->stride[d] = stride;
        stride *= g->dim[d];
    }
    g->part_blocks = stride;
    return VT_OK;
}

static enum vt_status nd_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    (void)ret_workspace;
    if (vt_node_int(ctx->node, "batch_dims", 0) < 0) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "batch_dims is negative");
    }
    return check(ctx);
}

static enum vt_status gather_nd_run(struct vt_op_context *ctx)
{
    struct vt_gather_nd g;
    const struct vt_indices indices = indices_of(ctx->inputs[1]);
    enum vt_status status = read_nd(ctx, (uint32_t)vt_node_int(ctx->node, "batch_dims", 0), &g);
    if (status != VT_OK) {
        return status;
    }
    const int64_t bad = vt_gather_nd_run(&g, &indices, ctx->inputs[0]->data, ctx->outputs[0].data);
    return bad < 0 ? VT_OK : fail_index(ctx, bad);
}

static enum vt_status scatter_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    static const char *const names[] = {"none", "add", "mul", "max", "min"};
    const char *reduction = vt_node_string(ctx->node, "reduction", "none");
    bool known = false;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        known = known || strcmp(reduction, names[i]) == 0;
    }
    if (!known) {
        return vt_op_fail(ctx, VT_ERR_UNSUPPORTED,
                          "reduction is '%s', supported are none, add, mul, max and min",
                          reduction);
    }
    const enum vt_dtype dtype = ctx->inputs[0]->dtype;
    if (ctx->inputs[2]->dtype != dtype) {
        return vt_op_fail_type(ctx, ctx->inputs[2]);
    }
    if (strcmp(reduction, "none") != 0 &&
        (dtype == VT_F16 || dtype == VT_BF16 || dtype == VT_BOOL || dtype == VT_C64 ||
         dtype == VT_C128)) {
        return vt_op_fail_type(ctx, ctx->inputs[0]);
    }
    if (strcmp(ctx->node->op, "ScatterND") == 0) {
        return nd_prepare(ctx, ret_workspace);
    }
    return axis_prepare(ctx, ret_workspace);
}

static enum vt_scatter reduction_of(const struct vt_op_context *ctx)
{
    const char *reduction = vt_node_string(ctx->node, "reduction", "none");
    switch (reduction[0]) {
    case 'a':
        return VT_SCATTER_ADD;
    case 'm':
        return reduction[1] == 'u'   ? VT_SCATTER_MUL
               : reduction[1] == 'a' ? VT_SCATTER_MAX
                                     : VT_SCATTER_MIN;
    default:
        return VT_SCATTER_SET;
    }
}

static enum vt_status scatter_run(struct vt_op_context *ctx)
{
    const struct vt_tensor *in = ctx->inputs[0], *updates = ctx->inputs[2];
    const struct vt_indices indices = indices_of(ctx->inputs[1]);
    struct vt_tensor *out = &ctx->outputs[0];
    struct vt_gather_elements elements = {0};
    struct vt_gather_nd nd = {0};
    const bool is_nd = strcmp(ctx->node->op, "ScatterND") == 0;
    enum vt_status status = is_nd ? read_nd(ctx, 0, &nd) : read_elements(ctx, &elements);
    if (status != VT_OK) {
        return status;
    }
    const int64_t wanted = is_nd ? nd.tuples * nd.block : vt_op_elements(ctx->inputs[1]);
    if (vt_op_elements(updates) != wanted) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "there are %lld updates, needed are %lld",
                          (long long)vt_op_elements(updates), (long long)wanted);
    }
    if (out->data != in->data) {
        memcpy(out->data, in->data, out->bytes);
    }
    const int64_t bad = is_nd ? vt_scatter_nd_run(&nd, reduction_of(ctx), in->dtype, &indices,
                                                  updates->data, out->data)
                              : vt_scatter_elements_run(&elements, reduction_of(ctx), in->dtype,
                                                        &indices, updates->data, out->data);
    return bad < 0 ? VT_OK : fail_index(ctx, bad);
}

static const struct vt_op ops[] = {
    {"", "Gather", VT_OP_ANY_FLOAT, sizeof(uint32_t), axis_prepare, gather_run},
    {"", "GatherElements", VT_OP_ANY_FLOAT, sizeof(uint32_t), axis_prepare, gather_elements_run},
    {"", "GatherND", VT_OP_ANY_FLOAT, 0, nd_prepare, gather_nd_run},
    {"", "Scatter", VT_OP_IN_PLACE, sizeof(uint32_t), scatter_prepare, scatter_run},
    {"", "ScatterElements", VT_OP_IN_PLACE, sizeof(uint32_t), scatter_prepare, scatter_run},
    {"", "ScatterND", VT_OP_IN_PLACE, 0, scatter_prepare, scatter_run},
};
VT_OP_FAMILY(vt_ops_gather, ops);
