/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/conv8/conv8.h"

#include <stdio.h>

#include "kernels/conv8/ways.h"

static const struct vt_conv8_way *const ways[] = {
    &vt_conv8_way_depthwise,
    &vt_conv8_way_pointwise,
    &vt_conv8_way_rows,
};

#define BYTES_MOST ((int64_t)1 << 40)

/* *product *= factor, which is at least 1. False beyond the limit. */
static bool multiply(int64_t *product, int64_t factor)
{
    return !__builtin_mul_overflow(*product, factor < 1 ? 1 : factor, product) &&
           *product <= BYTES_MOST;
}

/* stride·(out - 1) + dilation·(kernel - 1) + 1 within the limit, plus what rows are longer by. */
static bool span_fits(const struct vt_conv8 *conv, int axis)
{
    int64_t steps = conv->stride[axis], taps = conv->dilation[axis];
    return multiply(&steps, conv->out[axis]) && multiply(&taps, conv->kernel[axis]) &&
           conv->pad[axis] <= BYTES_MOST;
}

bool vt_conv8_fits(const struct vt_conv8 *conv)
{
    /* Of all channels in fours, or each in a row of its own with some slack. */
    int64_t image = 128, weights = 64;
    for (int i = 0; i < VT_CONV8_DIMS; i++) {
        if (!span_fits(conv, i) || !multiply(&image, conv8_span(conv, i)) ||
            !multiply(&weights, conv->kernel[i])) {
            return false;
        }
    }
    return multiply(&image, conv->groups) && multiply(&image, conv8_fours(conv)) &&
           multiply(&weights, conv8_fours(conv) * 64) && multiply(&weights, conv->out_channels);
}

void vt_conv8_init(struct vt_conv8 *conv, uint32_t features)
{
    conv->features = features;
    conv->gemm = vt_gemm8_kernel_find(features);
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        conv->way = ways[i];
        if (conv->way->fits(conv)) {
            break;
        }
    }
    conv->group_bytes = (int64_t)conv->way->packed_bytes(conv);
}

void vt_conv8_kernel_name(const struct vt_conv8 *conv, char *text, size_t size)
{
    (void)snprintf(text, size, "int8 %s%s%s", conv->way->name, conv->way->tiled ? " " : "",
                   conv->way->tiled ? conv->gemm->name : "");
}

uint64_t vt_conv8_packed_key(const struct vt_conv8 *conv)
{
    uint64_t way = 0;
    while (way + 1 < sizeof(ways) / sizeof(ways[0]) && ways[way] != conv->way) {
        way++;
    }
    return way << 32 | (uint64_t)conv->gemm->mr << 16 | (uint64_t)conv->gemm->ku << 8 |
           conv->gemm->a_bytes;
}

size_t vt_conv8_packed_bytes(const struct vt_conv8 *conv)
{
    size_t bytes;
    return __builtin_mul_overflow((size_t)conv->group_bytes, (size_t)conv->groups, &bytes) ? 0
                                                                                           : bytes;
}

void vt_conv8_pack(const struct vt_conv8 *conv, const uint8_t *weights, uint8_t flip,
                   void *ret_packed)
{
    const int64_t group = conv8_outs(conv) * conv8_ins(conv) * conv8_volume(conv->kernel);
    for (int64_t g = 0; g < conv->groups; g++) {
        conv->way->pack(conv, weights + g * group, flip,
                        (char *)ret_packed + g * conv->group_bytes);
    }
}

static int64_t depth_of(const struct vt_conv8 *conv)
{
    return conv8_ins(conv) * conv8_volume(conv->kernel);
}

void vt_conv8_sums(const struct vt_conv8 *conv, const uint8_t *weights, uint8_t flip,
                   int32_t *ret_sums)
{
    const int64_t depth = depth_of(conv);
    for (int64_t o = 0; o < conv->out_channels; o++) {
        uint32_t sum = 0;
        for (int64_t k = 0; k < depth; k++) {
            sum += (uint32_t)(int8_t)(weights[o * depth + k] ^ flip);
        }
        ret_sums[o] = (int32_t)sum;
    }
}

void vt_conv8_bias(const struct vt_conv8 *conv, const int32_t *sums, const int32_t *bias,
                   const int32_t *weight_zero, int32_t *ret_bias)
{
    const uint32_t depth = (uint32_t)depth_of(conv), zero = conv8_zero(conv);
    for (int64_t o = 0; o < conv->out_channels; o++) {
        uint32_t sum = (uint32_t)sums[o];
        sum -= weight_zero != NULL ? depth * (uint32_t)weight_zero[o] : 0;
        ret_bias[o] = (int32_t)((bias != NULL ? (uint32_t)bias[o] : 0) - zero * sum);
    }
}

size_t vt_conv8_workspace_bytes(const struct vt_conv8 *conv, bool weight_zeros, uint32_t threads)
{
    if (conv->batch * conv->out_channels * conv8_volume(conv->out) == 0) {
        return 0;
    }
    return conv->way->workspace_bytes(conv, weight_zeros, threads);
}

void vt_conv8_run(const struct vt_conv8 *conv, const struct vt_conv8_data *data,
                  struct vt_pool *pool, void *workspace)
{
    if (conv->batch * conv->out_channels * conv8_volume(conv->out) == 0) {
        return;
    }
    conv->way->run(conv, data, pool, workspace);
}
