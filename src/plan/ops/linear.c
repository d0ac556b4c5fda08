/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/linear/linear.h"
#include "graph/einsum.h"
#include "plan/ops/support.h"

/* Extents of the labels; an extent of 1 is broadcast. */
static bool label_extents(const struct vt_op_context *ctx, const struct vt_einsum *e, int64_t *dim)
{
    for (uint32_t i = 0; i < e->n_labels; i++) {
        dim[i] = 1;
    }
    for (uint32_t t = 0; t < e->n_terms; t++) {
        for (uint32_t d = 0; d < e->rank[t]; d++) {
            const int64_t extent = ctx->inputs[t]->dim[d];
            int64_t *known = &dim[e->term[t][d]];
            if (extent != 1 && *known != 1 && extent != *known) {
                return false;
            }
            *known = extent != 1 ? extent : *known;
        }
    }
    return true;
}

/* The steps of a label in every term. A label that stands twice in a term runs along the diagonal:
 * its steps add up. */
static void label_steps(const struct vt_op_context *ctx, const struct vt_einsum *e, uint8_t label,
                        uint32_t to, int64_t (*step)[VT_CONTRACT_LABELS])
{
    for (uint32_t t = 0; t < e->n_terms; t++) {
        const struct vt_tensor *in = ctx->inputs[t];
        step[t][to] = 0;
        for (uint32_t d = 0; d < e->rank[t]; d++) {
            if (e->term[t][d] == label && in->dim[d] != 1) {
                step[t][to] += vt_op_product(in->dim, d + 1, in->rank);
            }
        }
    }
}

static enum vt_status einsum_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    struct vt_contract *c = ctx->state;
    struct vt_einsum e;
    uint32_t ranks[VT_EINSUM_TERMS] = {0}, kept = 0;
    int64_t dim[VT_EINSUM_LABELS];
    (void)ret_workspace;
    for (uint32_t i = 0; i < ctx->n_inputs && i < VT_EINSUM_TERMS; i++) {
        ranks[i] = ctx->inputs[i]->rank;
        if (!vt_contract_knows(ctx->inputs[i]->dtype)) {
            return vt_op_fail_type(ctx, ctx->inputs[i]);
        }
    }
    const char *equation = vt_node_string(ctx->node, "equation", "");
    const char *problem = vt_einsum_parse(equation, ctx->n_inputs, ranks, &e);
    if (problem != NULL) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "equation '%.80s': %s", equation, problem);
    }
    if (!label_extents(ctx, &e, dim)) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "equation '%.80s': the extents do not fit", equation);
    }
    *c = (struct vt_contract){.dtype = ctx->inputs[0]->dtype, .n_terms = e.n_terms};
    for (uint32_t i = 0; i < e.n_out; i++) {
        c->kept[c->n_kept] = dim[e.out[i]];
        label_steps(ctx, &e, e.out[i], c->n_kept++, c->kept_step);
        kept |= 1u << e.out[i];
    }
    for (uint32_t label = 0; label < e.n_labels; label++) {
        if ((kept >> label & 1) == 0) {
            c->summed[c->n_summed] = dim[label];
            label_steps(ctx, &e, (uint8_t)label, c->n_summed++, c->summed_step);
        }
    }
    return VT_OK;
}

static enum vt_status einsum_run(struct vt_op_context *ctx)
{
    const void *terms[VT_CONTRACT_TERMS];
    for (uint32_t i = 0; i < ctx->n_inputs; i++) {
        terms[i] = ctx->inputs[i]->data;
    }
    vt_contract_run(ctx->state, terms, ctx->outputs[0].data, ctx->pool);
    return VT_OK;
}

static enum vt_status det_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    const struct vt_tensor *x = ctx->inputs[0];
    size_t bytes;
    if (x->dtype != VT_F32 && x->dtype != VT_F64) {
        return vt_op_fail_type(ctx, x);
    }
    if (x->rank < 2 || x->dim[x->rank - 1] != x->dim[x->rank - 2]) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "the input must be square matrices");
    }
    if (!vt_shape_bytes(VT_F64, x->dim + x->rank - 2, 2, &bytes)) {
        return vt_op_fail(ctx, VT_ERR_LIMIT, "the matrices are too large");
    }
    *ret_workspace = bytes;
    return VT_OK;
}

static enum vt_status det_run(struct vt_op_context *ctx)
{
    const struct vt_tensor *x = ctx->inputs[0];
    vt_determinant_run(x->dtype, vt_op_product(x->dim, 0, x->rank - 2), x->dim[x->rank - 1],
                       x->data, ctx->outputs[0].data, ctx->workspace);
    return VT_OK;
}

static const struct vt_op ops[] = {
    {"", "Einsum", 0, sizeof(struct vt_contract), einsum_prepare, einsum_run},
    {"", "Det", 0, 0, det_prepare, det_run},
};
VT_OP_FAMILY(vt_ops_linear, ops);
