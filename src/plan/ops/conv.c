/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "kernels/conv/conv.h"
#include "plan/ops/conv_choice.h"
#include "plan/ops/window.h"

struct state {
    struct vt_conv conv;
    const float *packed; /* NULL: packed by each run, into the workspace */
    const float *bias;   /* with the affine applied; NULL: none, or computed by each run */
    size_t packed_offset, bias_offset; /* in the workspace */
};

static bool has_affine(const struct vt_op_context *ctx)
{
    return ctx->affine->scale != NULL;
}

static void pack_weights(void *context, void *ret_packed)
{
    const struct vt_op_context *ctx = context;
    const struct state *s = ctx->state;
    vt_conv_pack(&s->conv, ctx->inputs[1]->data, ctx->affine->scale, ret_packed);
}

/* The bias behind a folded batch normalisation: b·scale + shift. */
static void pack_bias(void *context, void *ret_packed)
{
    const struct vt_op_context *ctx = context;
    const struct state *s = ctx->state;
    const struct vt_tensor *bias = vt_op_input(ctx, 2);
    const float *b = bias != NULL ? bias->data : NULL;
    float *out = ret_packed;
    for (int64_t i = 0; i < s->conv.out_channels; i++) {
        out[i] = (b != NULL ? b[i] * ctx->affine->scale[i] : 0.0f) + ctx->affine->shift[i];
    }
}

static enum vt_status check_channels(const struct vt_op_context *ctx, const struct vt_conv *conv,
                                     bool transposed)
{
    const struct vt_tensor *w = ctx->inputs[1], *bias = vt_op_input(ctx, 2);
    const int64_t groups = conv->groups;
    if (groups < 1 || conv->in_channels % groups != 0 || conv->out_channels % groups != 0) {
        return vt_op_fail(ctx, VT_ERR_FORMAT,
                          "group is %lld, but it must divide %lld input and %lld output channels",
                          (long long)groups, (long long)conv->in_channels,
                          (long long)conv->out_channels);
    }
    const int64_t wanted = transposed ? conv->out_channels / groups : conv->in_channels / groups;
    if (w->dim[1] != wanted || w->dim[0] != (transposed ? conv->in_channels : conv->out_channels)) {
        return vt_op_fail(ctx, VT_ERR_FORMAT,
                          "the weights are %lldx%lld…, which does not fit %lld input and %lld "
                          "output channels in %lld groups",
                          (long long)w->dim[0], (long long)w->dim[1], (long long)conv->in_channels,
                          (long long)conv->out_channels, (long long)groups);
    }
    if (bias != NULL && vt_op_elements(bias) != conv->out_channels) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "the bias has %lld elements for %lld channels",
                          (long long)vt_op_elements(bias), (long long)conv->out_channels);
    }
    return VT_OK;
}

/* Packs now what is constant; reserves room for what each run must pack. */
static enum vt_status place_weights(struct vt_op_context *ctx, size_t *workspace)
{
    struct state *s = ctx->state;
    const struct vt_tensor *w = ctx->inputs[1], *bias = vt_op_input(ctx, 2);
    const size_t packed = vt_conv_packed_floats(&s->conv) * sizeof(float);
    const size_t channels = (size_t)s->conv.out_channels;
    const uint64_t key = vt_conv_packed_key(&s->conv);
    uint64_t variant = vt_op_hash(VT_OP_HASH_START, &key, sizeof(key));
    if (has_affine(ctx)) {
        variant = vt_op_hash(variant, ctx->affine->scale, channels * sizeof(float));
        variant = vt_op_hash(variant, ctx->affine->shift, channels * sizeof(float));
    }

    s->packed = NULL;
    s->bias = NULL;
    if (w->data != NULL) {
        s->packed =
            vt_weights_pack(ctx->weights, w->data, "conv", variant, packed, pack_weights, ctx);
        if (s->packed == NULL) {
            return vt_op_fail(ctx, VT_ERR_MEMORY, "no memory for %zu bytes of packed weights",
                              packed);
        }
    } else {
        s->packed_offset = *workspace;
        *workspace += vt_op_align(packed);
    }
    if (!has_affine(ctx)) {
        return VT_OK;
    }
    if (w->data != NULL && (bias == NULL || bias->data != NULL)) {
        /* Keyed by the weights: where there is no bias it has no pointer of its own. */
        const uint64_t source = vt_weights_name(ctx->weights, bias != NULL ? bias->data : NULL);
        variant = vt_op_hash(variant, &source, sizeof(source));
        s->bias = vt_weights_pack(ctx->weights, w->data, "conv.bias", variant,
                                  channels * sizeof(float), pack_bias, ctx);
        if (s->bias == NULL) {
            return vt_op_fail(ctx, VT_ERR_MEMORY, "no memory for the bias");
        }
    } else {
        s->bias_offset = *workspace;
        *workspace += vt_op_align(channels * sizeof(float));
    }
    return VT_OK;
}

static enum vt_status prepare(struct vt_op_context *ctx, bool transposed, size_t *ret_workspace)
{
    struct state *s = ctx->state;
    const struct vt_tensor *input = ctx->inputs[0], *w = ctx->inputs[1];
    struct vt_window window;
    enum vt_status status = vt_op_require_f32(ctx, 3);
    if (status == VT_OK && w->rank != input->rank) {
        status = vt_op_fail(ctx, VT_ERR_FORMAT, "the weights have rank %u, the input %u", w->rank,
                            input->rank);
    }
    if (status == VT_OK) {
        status = vt_window_read(ctx, input, &ctx->outputs[0], w->dim + 2, transposed, &window);
    }
    if (status != VT_OK) {
        return status;
    }

    struct vt_conv *conv = &s->conv;
    memset(conv, 0, sizeof(*conv));
    conv->transposed = transposed;
    conv->channels_last = ctx->channels_last;
    conv->bf16 = ctx->precision == VT_PRECISION_BF16;
    conv->batch = window.batch;
    conv->groups = vt_node_int(ctx->node, "group", 1);
    conv->in_channels = window.channels;
    conv->out_channels = ctx->outputs[0].dim[1];
    memcpy(conv->in, window.in, sizeof(conv->in));
    memcpy(conv->out, window.out, sizeof(conv->out));
    memcpy(conv->kernel, window.kernel, sizeof(conv->kernel));
    memcpy(conv->stride, window.stride, sizeof(conv->stride));
    memcpy(conv->dilation, window.dilation, sizeof(conv->dilation));
    memcpy(conv->pad, window.pad, sizeof(conv->pad));
    conv->finish = (struct vt_gemm_finish){ctx->epilogue->activation, ctx->epilogue->alpha,
                                           ctx->epilogue->beta};
    status = check_channels(ctx, conv, transposed);
    if (status != VT_OK) {
        return status;
    }

    vt_conv_choose(ctx, conv);
    ctx->over_residual = vt_conv_over_residual(conv);
    vt_conv_kernel_name(conv, ctx->kernel, sizeof(ctx->kernel));
    size_t workspace = vt_op_align(vt_conv_workspace_bytes(conv, vt_pool_threads(ctx->pool)));
    status = place_weights(ctx, &workspace);
    if (status == VT_OK) {
        *ret_workspace = workspace;
    }
    return status;
}

static enum vt_status conv_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    return prepare(ctx, false, ret_workspace);
}

static enum vt_status conv_transpose_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    return prepare(ctx, true, ret_workspace);
}

static enum vt_status conv_run(struct vt_op_context *ctx)
{
    struct state *s = ctx->state;
    const struct vt_tensor *bias = vt_op_input(ctx, 2), *residual = vt_op_residual(ctx);
    struct vt_conv_data data = {.input = ctx->inputs[0]->data,
                                .packed = s->packed,
                                .bias = bias != NULL ? bias->data : NULL,
                                .residual = residual != NULL ? residual->data : NULL,
                                .output = ctx->outputs[0].data};
    if (data.packed == NULL) {
        float *packed = (float *)(void *)((char *)ctx->workspace + s->packed_offset);
        pack_weights(ctx, packed);
        data.packed = packed;
    }
    if (has_affine(ctx)) {
        data.bias = s->bias;
        if (data.bias == NULL) {
            float *sum = (float *)(void *)((char *)ctx->workspace + s->bias_offset);
            pack_bias(ctx, sum);
            data.bias = sum;
        }
    }
    vt_conv_run(&s->conv, &data, ctx->pool, ctx->workspace);
    return VT_OK;
}

static const struct vt_op ops[] = {
    {"", "Conv", VT_OP_EPILOGUE | VT_OP_AFFINE, sizeof(struct state), conv_prepare, conv_run},
    {"", "ConvTranspose", VT_OP_EPILOGUE, sizeof(struct state), conv_transpose_prepare, conv_run},
};
VT_OP_FAMILY(vt_ops_conv, ops);
