/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/pool/pool.h"
#include "base/topology.h"
#include "plan/ops/window.h"

static enum vt_status pool_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    struct vt_pooling_params *p = ctx->state;
    const struct vt_tensor *x = ctx->inputs[0];
    struct vt_window w;
    (void)ret_workspace;
    memset(p, 0, sizeof(*p));
    p->kind = strcmp(ctx->node->op, "MaxPool") == 0       ? VT_POOLING_MAX
              : strcmp(ctx->node->op, "AveragePool") == 0 ? VT_POOLING_AVERAGE
                                                          : VT_POOLING_LP;
    const bool bytes = x->dtype == VT_U8 || x->dtype == VT_I8;
    if (x->dtype != VT_F32 && !(bytes && p->kind == VT_POOLING_MAX)) {
        return vt_op_fail_type(ctx, x);
    }
    enum vt_status status = vt_window_read(ctx, x, &ctx->outputs[0], NULL, false, &w);
    if (status != VT_OK) {
        return status;
    }
    p->planes = w.batch * w.channels;
    p->channels = w.channels;
    p->channels_last = ctx->channels_last;
    p->features = vt_topology()->features;
    memcpy(p->in, w.in, sizeof(p->in));
    memcpy(p->out, w.out, sizeof(p->out));
    memcpy(p->kernel, w.kernel, sizeof(p->kernel));
    memcpy(p->stride, w.stride, sizeof(p->stride));
    memcpy(p->dilation, w.dilation, sizeof(p->dilation));
    memcpy(p->pad, w.pad, sizeof(p->pad));
    memcpy(p->pad_end, w.pad_end, sizeof(p->pad_end));
    p->count_padding = vt_node_int(ctx->node, "count_include_pad", 0) != 0;
    p->p = vt_node_int(ctx->node, "p", 2);
    p->column_major = vt_node_int(ctx->node, "storage_order", 0) != 0;
    return VT_OK;
}

static enum vt_status pool_run(struct vt_op_context *ctx)
{
    const struct vt_tensor *x = ctx->inputs[0];
    int64_t *indices = ctx->n_outputs > 1 ? ctx->outputs[1].data : NULL;
    if (x->dtype == VT_F32) {
        vt_pooling_run(ctx->state, x->data, ctx->outputs[0].data, indices, ctx->pool);
    } else if (indices != NULL || !vt_pooling_max_bytes(ctx->state, x->data, ctx->outputs[0].data,
                                                        x->dtype == VT_I8, ctx->pool)) {
        vt_pooling_max_u8(ctx->state, x->data, ctx->outputs[0].data, indices, x->dtype == VT_I8);
    }
    return VT_OK;
}

static enum vt_status global_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    (void)ret_workspace;
    if (ctx->inputs[0]->rank < 3) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "the input has rank %u, needed is at least 3",
                          ctx->inputs[0]->rank);
    }
    return vt_op_require_f32(ctx, 1);
}

static enum vt_status global_run(struct vt_op_context *ctx)
{
    const struct vt_tensor *x = ctx->inputs[0];
    const char *name = ctx->node->op;
    const enum vt_pooling kind = strcmp(name, "GlobalMaxPool") == 0       ? VT_POOLING_MAX
                                 : strcmp(name, "GlobalAveragePool") == 0 ? VT_POOLING_AVERAGE
                                                                          : VT_POOLING_LP;
    const int64_t p = vt_node_int(ctx->node, "p", 2), n = vt_op_product(x->dim, 2, x->rank);
    if (ctx->channels_last) {
        const struct vt_pooling_global_last last = {.kind = kind,
                                                    .p = p,
                                                    .batch = x->dim[0],
                                                    .n = n,
                                                    .channels = x->dim[1],
                                                    .features = vt_topology()->features};
        vt_pooling_global_last_run(&last, x->data, ctx->outputs[0].data, ctx->pool);
        return VT_OK;
    }
    vt_pooling_global(kind, p, vt_op_product(x->dim, 0, 2), n, x->data, ctx->outputs[0].data,
                      ctx->pool);
    return VT_OK;
}

static enum vt_status lrn_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    struct vt_lrn_params *p = ctx->state;
    const struct vt_tensor *x = ctx->inputs[0];
    (void)ret_workspace;
    if (x->rank < 2) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "the input has rank %u, needed is at least 2",
                          x->rank);
    }
    p->batch = x->dim[0];
    p->channels = x->dim[1];
    p->spatial = vt_op_product(x->dim, 2, x->rank);
    p->size = vt_node_int(ctx->node, "size", 1);
    p->alpha = vt_node_float(ctx->node, "alpha", 0.0001f);
    p->beta = vt_node_float(ctx->node, "beta", 0.75f);
    p->bias = vt_node_float(ctx->node, "bias", 1.0f);
    if (p->size < 1) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "size is %lld, it must be positive",
                          (long long)p->size);
    }
    return vt_op_require_f32(ctx, 1);
}

static enum vt_status lrn_run(struct vt_op_context *ctx)
{
    vt_lrn_run(ctx->state, ctx->inputs[0]->data, ctx->outputs[0].data, ctx->pool);
    return VT_OK;
}

#define POOL(name)                                                                                 \
    {                                                                                              \
        "", name, 0, sizeof(struct vt_pooling_params), pool_prepare, pool_run                      \
    }
static const struct vt_op ops[] = {
    POOL("MaxPool"),
    POOL("AveragePool"),
    POOL("LpPool"),
    {"", "GlobalMaxPool", 0, 0, global_prepare, global_run},
    {"", "GlobalAveragePool", 0, 0, global_prepare, global_run},
    {"", "GlobalLpPool", 0, 0, global_prepare, global_run},
    {"", "LRN", 0, sizeof(struct vt_lrn_params), lrn_prepare, lrn_run},
};
VT_OP_FAMILY(vt_ops_pool, ops);
