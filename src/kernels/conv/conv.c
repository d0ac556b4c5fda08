/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/conv/conv.h"

#include <string.h>

#include "kernels/conv/ways.h"

/* Up to this many output channels a group, reading in place beats packing patches: a packed
 * element would be used too few times. */
#define DIRECT_CHANNELS 24
#define DIRECT_DEPTH    2048

/* A pointwise convolution sees the image as one long row, so that no tile ends at a line. */
static void flatten_pointwise(struct vt_conv *conv)
{
    for (int i = 0; i < VT_CONV_DIMS; i++) {
        if (conv->kernel[i] != 1 || conv->stride[i] != 1 || conv->pad[i] != 0 ||
            conv->in[i] != conv->out[i]) {
            return;
        }
    }
    conv->in[2] = conv->out[2] = conv_volume(conv->in);
    conv->in[0] = conv->in[1] = conv->out[0] = conv->out[1] = 1;
}

void vt_conv_init(struct vt_conv *conv, uint32_t features)
{
    const int64_t channels = conv->out_channels / conv->groups;
    size_t floats = 0;
    conv->gemm = vt_gemm_kernel_find(features);
    flatten_pointwise(conv);
    if (conv->groups == conv->in_channels && conv->groups > 1) {
        conv->way = VT_CONV_DEPTHWISE;
        conv->group_floats = channels * conv_volume(conv->kernel);
        return;
    }
    conv->way = VT_CONV_GEMM;
    if (conv->stride[2] == 1 && channels <= DIRECT_CHANNELS &&
        conv->out[2] >= 2 * (int64_t)conv->gemm->nr && conv_depth(conv) <= DIRECT_DEPTH) {
        conv->way = VT_CONV_DIRECT;
    }
    (void)vt_gemm_packed_a_size(conv->gemm, channels, conv_depth(conv), &floats);
    conv->group_floats = (int64_t)floats;
}

size_t vt_conv_packed_floats(const struct vt_conv *conv)
{
    return (size_t)(conv->groups * conv->group_floats);
}

/* The direct way wants all of k in one block. */
static void pack_unblocked(const struct vt_conv *conv, const float *weights, float *out)
{
    const int64_t channels = conv->out_channels / conv->groups, depth = conv_depth(conv);
    const int64_t mr = conv->gemm->mr;
    for (int64_t m0 = 0; m0 < channels; m0 += mr) {
        for (int64_t k = 0; k < depth; k++) {
            for (int64_t m = m0; m < m0 + mr; m++) {
                *out++ = m < channels ? weights[m * depth + k] : 0.0f;
            }
        }
    }
}

static void scale_panels(const struct vt_conv *conv, const float *scale, float *packed)
{
    const int64_t channels = conv->out_channels / conv->groups, depth = conv_depth(conv);
    const int64_t mr = conv->gemm->mr;
    for (int64_t m0 = 0; m0 < channels; m0 += mr, packed += mr * depth) {
        for (int64_t k = 0; k < depth; k++) {
            for (int64_t m = m0; m < m0 + mr && m < channels; m++) {
                packed[k * mr + m - m0] *= scale[m];
            }
        }
    }
}

void vt_conv_pack(const struct vt_conv *conv, const float *weights, const float *channel_scale,
                  float *ret_packed)
{
    const int64_t channels = conv->out_channels / conv->groups, depth = conv_depth(conv);
    if (conv->way == VT_CONV_DEPTHWISE) {
        const int64_t taps = conv_volume(conv->kernel);
        for (int64_t c = 0; c < conv->out_channels; c++) {
            const float scale = channel_scale != NULL ? channel_scale[c] : 1.0f;
            for (int64_t t = 0; t < taps; t++) {
                ret_packed[c * taps + t] = weights[c * taps + t] * scale;
            }
        }
        return;
    }
    for (int64_t g = 0; g < conv->groups; g++) {
        const float *source = weights + g * channels * depth;
        const float *scale = channel_scale != NULL ? channel_scale + g * channels : NULL;
        float *packed = ret_packed + g * conv->group_floats;
        if (conv->way == VT_CONV_DIRECT) {
            pack_unblocked(conv, source, packed);
            if (scale != NULL) {
                scale_panels(conv, scale, packed);
            }
        } else {
            const struct vt_gemm_matrix a = {source, depth, 1};
            vt_gemm_pack_a(conv->gemm, channels, depth, &a, scale, packed);
        }
    }
}

struct product {
    const struct vt_conv *conv;
    const struct vt_conv_data *data;
};

static const float *group_image(const struct product *p, int64_t batch)
{
    return p->data->input +
           batch * (p->conv->in_channels / p->conv->groups) * conv_volume(p->conv->in);
}

static void locate(const void *ctx, int64_t batch, struct vt_gemm_place *ret)
{
    const struct product *p = ctx;
    const struct vt_conv *conv = p->conv;
    const int64_t channels = conv->out_channels / conv->groups, group = batch % conv->groups;
    const int64_t offset = batch * channels * conv_volume(conv->out);
    ret->a = p->data->packed + group * conv->group_floats;
    ret->c = p->data->output + offset;
    if (p->data->bias != NULL) {
        ret->row_bias = p->data->bias + group * channels;
    }
    if (p->data->residual != NULL) {
        ret->residual = p->data->residual + offset;
    }
}

static void pack_patches(const void *ctx, uint32_t nr, int64_t batch, int64_t k0, int64_t kc,
                         int64_t n0, int64_t nc, float *ret_packed)
{
    const struct product *p = ctx;
    vt_conv_pack_patches(p->conv, group_image(p, batch), nr, k0, kc, n0, nc, ret_packed);
}

static void product_init(struct vt_gemm *gemm, const struct vt_conv *conv,
                         const struct product *product)
{
    *gemm = (struct vt_gemm){.kernel = conv->gemm,
                             .m = conv->out_channels / conv->groups,
                             .n = conv_volume(conv->out),
                             .k = conv_depth(conv),
                             .batches = conv->batch * conv->groups,
                             .ldc = conv_volume(conv->out),
                             .a_packed = true,
                             .pack_b = pack_patches,
                             .locate = locate,
                             .ctx = product,
                             .finish = conv->finish};
}

size_t vt_conv_workspace_bytes(const struct vt_conv *conv, uint32_t threads)
{
    struct vt_gemm gemm;
    if (conv->way == VT_CONV_DEPTHWISE) {
        return 0;
    }
    if (conv->way == VT_CONV_DIRECT) {
        return vt_conv_direct_workspace_bytes(conv, threads);
    }
    product_init(&gemm, conv, NULL);
    return vt_gemm_workspace_bytes(&gemm, threads);
}

void vt_conv_run(const struct vt_conv *conv, const struct vt_conv_data *data, struct vt_pool *pool,
                 void *workspace)
{
    const struct product product = {conv, data};
    struct vt_gemm gemm;
    if (conv_volume(conv->out) == 0) {
        return;
    }
    if (conv->way == VT_CONV_DEPTHWISE) {
        vt_conv_depthwise_run(conv, data, pool);
    } else if (conv->way == VT_CONV_DIRECT) {
        vt_conv_direct_run(conv, data, pool, workspace);
    } else {
        product_init(&gemm, conv, &product);
        vt_gemm_run(&gemm, pool, workspace);
    }
}
