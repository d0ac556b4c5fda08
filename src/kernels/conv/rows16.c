/* SPDX-License-Identifier: Apache-2.0 */
/* Channels-last convolution as rows.c has it, its factors rounded to bfloat16. */
#include <string.h>

#include "kernels/conv/ways.h"
#include "kernels/gemm16/gemm16.h"

/* What a group has at least: below, half-empty tiles cost more than they save. */
#define LEAST_COLUMNS 24
#define LEAST_STEPS   24
/* First layers have a way of their own, whose patches are not copied. */
#define LEAST_CHANNELS 8

static int64_t group_outs(const struct vt_conv *conv)
{
    return conv->out_channels / conv->groups;
}

static bool can(const struct vt_conv *conv)
{
    return conv->bf16 && conv->channels_last && vt_gemm16_kernel_find(conv->features) != NULL;
}

static bool fits(const struct vt_conv *conv)
{
    return can(conv) && group_outs(conv) >= LEAST_COLUMNS && conv_depth(conv) >= LEAST_STEPS &&
           conv->in_channels / conv->groups >= LEAST_CHANNELS;
}

static void init(struct vt_conv *conv)
{
    size_t bytes = 0;
    (void)vt_gemm16_packed_b_size(conv_depth(conv), group_outs(conv), &bytes);
    conv->group_floats = (int64_t)(bytes / sizeof(float));
}

static void pack(const struct vt_conv *conv, const float *weights, const float *channel_scale,
                 float *ret_packed)
{
    const int64_t ins = conv->in_channels / conv->groups, outs = group_outs(conv);
    const int64_t depth = conv_depth(conv), padded = vt_gemm16_pad(depth);
    memset(ret_packed, 0, vt_conv_packed_floats(conv) * sizeof(float));
    for (int64_t g = 0; g < conv->groups; g++) {
        const float *group = weights + g * depth * outs;
        uint16_t *to = (uint16_t *)(void *)(ret_packed + g * conv->group_floats);
        for (int64_t k = 0; k < depth; k++) {
            for (int64_t o = 0; o < outs; o++) {
                const float scale = channel_scale != NULL ? channel_scale[g * outs + o] : 1.0f;
                to[vt_gemm16_place_of(padded, k, o)] =
                    vt_bf16_round(group[conv_weight_at(conv, k % ins, o, k / ins)] * scale);
            }
        }
    }
}

static void product(struct vt_gemm *gemm, const struct vt_conv *conv,
                    const struct vt_conv_product *operands)
{
    vt_conv_rows_product(gemm, conv, operands);
    gemm->bf16 = vt_gemm16_kernel_find(conv->features);
}

static size_t workspace_bytes(const struct vt_conv *conv, uint32_t threads)
{
    struct vt_gemm gemm;
    product(&gemm, conv, NULL);
    return vt_gemm_workspace_bytes(&gemm, threads);
}

static void run(const struct vt_conv *conv, const struct vt_conv_data *data, struct vt_pool *pool,
                void *workspace)
{
    const struct vt_conv_product operands = {conv, data};
    struct vt_gemm gemm;
    product(&gemm, conv, &operands);
    vt_gemm_run(&gemm, pool, workspace);
}

const struct vt_conv_way vt_conv_way_rows16 = {
    .name = "rows bf16",
    .fits = fits,
    .init = init,
    .pack = pack,
    .workspace_bytes = workspace_bytes,
    .run = run,
    .can = can,
};
