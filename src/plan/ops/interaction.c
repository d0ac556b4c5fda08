/* SPDX-License-Identifier: Apache-2.0 */
/* The planner's Interaction (passes/interaction.c says what its inputs are). */
#include "kernels/interaction/interaction.h"

#include "base/topology.h"
#include "plan/ops/support.h"

#define OWN_INPUTS 2

static void pack_wanted(void *context, void *ret_packed)
{
    const struct vt_op_context *ctx = context;
    const struct vt_interaction *interaction = ctx->state;
    const int64_t n = interaction->n_features;
    uint32_t *wanted = ret_packed;
    for (int64_t p = 0; p < interaction->n_wanted; p++) {
        const int64_t place = vt_op_int_at(ctx->inputs[1], p), at = place + (place < 0 ? n * n : 0);
        wanted[p] = vt_interaction_at((uint32_t)(at / n), (uint32_t)(at % n));
    }
}

static enum vt_status interaction_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    struct vt_interaction *interaction = ctx->state;
    const struct vt_tensor *x = ctx->inputs[0], *places = ctx->inputs[1];
    const struct vt_tensor *first = ctx->inputs[OWN_INPUTS];
    const uint64_t variant = vt_op_hash(VT_OP_HASH_START, &ctx->n_inputs, sizeof(ctx->n_inputs));
    interaction->pairs = vt_interaction_pairs_find(vt_topology()->features);
    interaction->n_features = (ctx->n_inputs - OWN_INPUTS) / 2;
    interaction->samples = ctx->outputs[0].dim[0];
    interaction->width = first->dim[first->rank - 1];
    interaction->x_width = x != NULL ? x->dim[1] : 0;
    interaction->n_wanted = places->dim[0];
    interaction->wanted =
        vt_weights_pack(ctx->weights, places->data, "interaction", variant,
                        (size_t)interaction->n_wanted * sizeof(uint32_t), pack_wanted, ctx);
    *ret_workspace = vt_interaction_workspace_bytes(interaction, vt_pool_threads(ctx->pool));
    return interaction->wanted != NULL
               ? VT_OK
               : vt_op_fail(ctx, VT_ERR_MEMORY, "no memory for the places of %lld products",
                            (long long)interaction->n_wanted);
}

static enum vt_status interaction_run(struct vt_op_context *ctx)
{
    const struct vt_interaction *interaction = ctx->state;
    const struct vt_tensor *x = ctx->inputs[0];
    struct vt_interaction_feature features[VT_INTERACTION_FEATURES_MAX];
    for (uint32_t i = 0; i < interaction->n_features; i++) {
        const struct vt_tensor *rows = ctx->inputs[OWN_INPUTS + 2 * i];
        const struct vt_tensor *places = ctx->inputs[OWN_INPUTS + 2 * i + 1];
        features[i] =
            (struct vt_interaction_feature){.rows = rows->data,
                                            .n_rows = rows->dim[0],
                                            .places = places != NULL ? places->data : NULL,
                                            .places_64 = places != NULL && places->dtype == VT_I64};
    }
    const int64_t bad = vt_interaction_run(interaction, features, x != NULL ? x->data : NULL,
                                           ctx->outputs[0].data, ctx->pool, ctx->workspace);
    if (bad < 0) {
        return VT_OK;
    }
    const uint32_t feature = (uint32_t)(bad / interaction->samples);
    const int64_t sample = bad % interaction->samples;
    return vt_op_fail(ctx, VT_ERR_FORMAT,
                      "index %lld (at position %lld) of feature %u is out of range",
                      (long long)vt_op_int_at(ctx->inputs[OWN_INPUTS + 2 * feature + 1], sample),
                      (long long)sample, feature);
}

static const struct vt_op ops[] = {
    {"vatio", "Interaction", 0, sizeof(struct vt_interaction), interaction_prepare,
     interaction_run},
};
VT_OP_FAMILY(vt_ops_interaction, ops);
