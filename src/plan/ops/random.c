/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators that draw random numbers. Each run draws other ones; a program draws the same ones each
 * time it is started, for a model without seeds as well.
 */
#include "kernels/random/random.h"
#include "kernels/convert/convert.h"
#include "plan/ops/support.h"

struct state {
    uint64_t seed;
    uint64_t runs;
};

static enum vt_status prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    struct state *s = ctx->state;
    const float seed = vt_node_float(ctx->node, "seed", 0.0f);
    (void)ret_workspace;
    s->seed = vt_op_hash(VT_OP_HASH_START, &seed, sizeof(seed));
    s->seed = vt_op_hash(s->seed, &ctx->node->outputs[0], sizeof(ctx->node->outputs[0]));
    for (uint32_t i = 0; i < ctx->n_inputs; i++) {
        if (!vt_convert_knows(ctx->inputs[i]->dtype)) {
            return vt_op_fail_type(ctx, ctx->inputs[i]);
        }
    }
    return vt_convert_knows(ctx->outputs[0].dtype) ? VT_OK : vt_op_fail_type(ctx, &ctx->outputs[0]);
}

static enum vt_status run(struct vt_op_context *ctx)
{
    struct state *s = ctx->state;
    const char *name = ctx->node->op;
    const bool bernoulli = strcmp(name, "Bernoulli") == 0;
    const bool normal = strncmp(name, "RandomNormal", strlen("RandomNormal")) == 0;
    const struct vt_random r = {
        .kind = bernoulli ? VT_RANDOM_BERNOULLI : (normal ? VT_RANDOM_NORMAL : VT_RANDOM_UNIFORM),
        .key = vt_random_key(s->seed, s->runs++),
        .a = (double)vt_node_float(ctx->node, normal ? "mean" : "low", 0.0f),
        .b = (double)vt_node_float(ctx->node, normal ? "scale" : "high", 1.0f),
        .dtype = ctx->outputs[0].dtype,
        .p_dtype = bernoulli ? ctx->inputs[0]->dtype : VT_F32};
    vt_random_run(&r, bernoulli ? ctx->inputs[0]->data : NULL, ctx->outputs[0].data,
                  vt_op_elements(&ctx->outputs[0]), ctx->pool);
    return VT_OK;
}

static enum vt_status multinomial_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    const struct vt_tensor *x = ctx->inputs[0];
    if (x->dtype != VT_F32) {
        return vt_op_fail_type(ctx, x);
    }
    if (x->rank != 2 || x->dim[1] < 1) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "the input must be rows of at least one class");
    }
    return prepare(ctx, ret_workspace);
}

static enum vt_status multinomial_run(struct vt_op_context *ctx)
{
    struct state *s = ctx->state;
    const struct vt_tensor *x = ctx->inputs[0];
    vt_multinomial_run(vt_random_key(s->seed, s->runs++), x->dim[0], x->dim[1],
                       ctx->outputs[0].dim[1], x->data, ctx->outputs[0].dtype,
                       ctx->outputs[0].data);
    return VT_OK;
}

#define RANDOM(name)                                                                               \
    {                                                                                              \
        "", name, VT_OP_ANY_FLOAT, sizeof(struct state), prepare, run                              \
    }
static const struct vt_op ops[] = {
    RANDOM("RandomNormal"),
    RANDOM("RandomNormalLike"),
    RANDOM("RandomUniform"),
    RANDOM("RandomUniformLike"),
    RANDOM("Bernoulli"),
    {"", "Multinomial", 0, sizeof(struct state), multinomial_prepare, multinomial_run},
};
VT_OP_FAMILY(vt_ops_random, ops);
