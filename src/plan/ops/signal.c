/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/signal/signal.h"
#include "kernels/convert/convert.h"
#include "plan/ops/support.h"

static enum vt_status window_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    (void)ret_workspace;
    return vt_convert_knows(ctx->outputs[0].dtype) ? VT_OK : vt_op_fail_type(ctx, &ctx->outputs[0]);
}

static enum vt_status window_run(struct vt_op_context *ctx)
{
    const char *name = ctx->node->op;
    const enum vt_window_shape shape = strcmp(name, "HannWindow") == 0      ? VT_WINDOW_HANN
                                       : strcmp(name, "HammingWindow") == 0 ? VT_WINDOW_HAMMING
                                                                            : VT_WINDOW_BLACKMAN;
    vt_window_run(shape, vt_node_int(ctx->node, "periodic", 1) != 0,
                  vt_op_elements(&ctx->outputs[0]), ctx->outputs[0].dtype, ctx->outputs[0].data);
    return VT_OK;
}

static enum vt_status mel_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    for (uint32_t i = 0; i < ctx->n_inputs; i++) {
        enum vt_status status = vt_op_require_count(ctx, i, 1);
        if (status != VT_OK) {
            return status;
        }
    }
    return window_prepare(ctx, ret_workspace);
}

static enum vt_status mel_run(struct vt_op_context *ctx)
{
    const struct vt_mel mel = {.mels = ctx->outputs[0].dim[1],
                               .length = vt_op_int_at(ctx->inputs[1], 0),
                               .sample_rate = vt_op_double_at(ctx->inputs[2], 0),
                               .lower = vt_op_double_at(ctx->inputs[3], 0),
                               .upper = vt_op_double_at(ctx->inputs[4], 0)};
    vt_mel_run(&mel, ctx->outputs[0].dtype, ctx->outputs[0].data);
    return VT_OK;
}

static enum vt_status check_float(const struct vt_op_context *ctx, const struct vt_tensor *x)
{
    return x->dtype == VT_F32 || x->dtype == VT_F64 ? VT_OK : vt_op_fail_type(ctx, x);
}

/* Room for the table of a transform. */
static enum vt_status reserve_table(const struct vt_op_context *ctx, int64_t length,
                                    size_t *ret_workspace)
{
    if (!vt_fourier_table_size(length, ret_workspace)) {
        return vt_op_fail(ctx, VT_ERR_LIMIT, "a transform of %lld points is too long",
                          (long long)length);
    }
    return VT_OK;
}

/* Where the length of a transform is known only when it runs, so is the size of its table: the
 * output has at least half as many bins. */
static int64_t length_at_most(const struct vt_tensor *given, int64_t bins)
{
    return given != NULL && given->data != NULL ? vt_op_int_at(given, 0) : 2 * bins;
}

static enum vt_status dft_axis(const struct vt_op_context *ctx, uint32_t *ret_axis)
{
    const struct vt_tensor *input = vt_op_input(ctx, 2);
    int64_t axis = vt_node_int(ctx->node, "axis", 1);
    if (ctx->node->opset >= 20) {
        axis = input != NULL ? vt_op_int_at(input, 0) : -2;
    }
    return vt_op_axis(ctx, axis, ctx->inputs[0]->rank, ret_axis);
}

static enum vt_status dft_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    const struct vt_tensor *x = ctx->inputs[0], *out = &ctx->outputs[0];
    int64_t longest = 0;
    enum vt_status status = check_float(ctx, x);
    for (uint32_t i = 1; i < 3 && status == VT_OK; i++) {
        status = vt_op_require_count(ctx, i, 1);
    }
    if (status != VT_OK) {
        return status;
    }
    /* The axis may be an input that is not known yet: take the longest that it can be. */
    for (uint32_t d = 0; d + 1 < x->rank; d++) {
        longest = out->dim[d] > longest ? out->dim[d] : longest;
        longest = x->dim[d] > longest ? x->dim[d] : longest;
    }
    return reserve_table(ctx, length_at_most(vt_op_input(ctx, 1), longest), ret_workspace);
}

static enum vt_status dft_run(struct vt_op_context *ctx)
{
    const struct vt_tensor *x = ctx->inputs[0], *given = vt_op_input(ctx, 1);
    uint32_t axis = 0;
    enum vt_status status = dft_axis(ctx, &axis);
    if (status != VT_OK) {
        return status;
    }
    const bool inverse = vt_node_int(ctx->node, "inverse", 0) != 0;
    const bool half = inverse && vt_node_int(ctx->node, "onesided", 0) != 0;
    const int64_t length = half ? ctx->outputs[0].dim[axis] : x->dim[axis];
    const struct vt_fourier f = {.dtype = x->dtype,
                                 .outer = vt_op_product(x->dim, 0, axis),
                                 .n = x->dim[axis],
                                 .inner = vt_op_product(x->dim, axis + 1, x->rank - 1),
                                 .parts = x->dim[x->rank - 1],
                                 .length = given != NULL ? vt_op_int_at(given, 0) : length,
                                 .bins = ctx->outputs[0].dim[axis],
                                 .inverse = inverse,
                                 .half = half};
    if (vt_op_elements(&ctx->outputs[0]) > 0) {
        vt_fourier_run(&f, x->data, ctx->outputs[0].data, ctx->workspace);
    }
    return VT_OK;
}

static enum vt_status stft_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    const struct vt_tensor *x = ctx->inputs[0], *window = vt_op_input(ctx, 2);
    enum vt_status status = check_float(ctx, x);
    if (status == VT_OK && window != NULL && window->dtype != x->dtype) {
        status = vt_op_fail_type(ctx, window);
    }
    if (status != VT_OK) {
        return status;
    }
    const int64_t bins = window != NULL ? vt_op_elements(window) : ctx->outputs[0].dim[2];
    return reserve_table(ctx, length_at_most(vt_op_input(ctx, 3), bins), ret_workspace);
}

static enum vt_status stft_run(struct vt_op_context *ctx)
{
    const struct vt_tensor *x = ctx->inputs[0], *window = vt_op_input(ctx, 2);
    const struct vt_tensor *given = vt_op_input(ctx, 3), *out = &ctx->outputs[0];
    const struct vt_frames f = {.dtype = x->dtype,
                                .batch = x->dim[0],
                                .n = x->dim[1],
                                .parts = x->dim[2],
                                .frames = out->dim[1],
                                .step = vt_op_int_at(ctx->inputs[1], 0),
                                .length =
                                    given != NULL ? vt_op_int_at(given, 0) : vt_op_elements(window),
                                .bins = out->dim[2]};
    if (vt_op_elements(out) > 0) {
        vt_frames_run(&f, x->data, window != NULL ? window->data : NULL, out->data, ctx->workspace);
    }
    return VT_OK;
}

static const struct vt_op ops[] = {
    {"", "HannWindow", VT_OP_ANY_FLOAT, 0, window_prepare, window_run},
    {"", "HammingWindow", VT_OP_ANY_FLOAT, 0, window_prepare, window_run},
    {"", "BlackmanWindow", VT_OP_ANY_FLOAT, 0, window_prepare, window_run},
    {"", "MelWeightMatrix", VT_OP_ANY_FLOAT, 0, mel_prepare, mel_run},
    {"", "DFT", 0, 0, dft_prepare, dft_run},
    {"", "STFT", 0, 0, stft_prepare, stft_run},
};
VT_OP_FAMILY(vt_ops_signal, ops);
