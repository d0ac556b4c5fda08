/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Channels-last convolution as a matrix product: patches, one a row, times weights. Step k of the
 * product is (tap, channel), so a tap's channels are copied from one place. A pointwise convolution
 * has its patches in memory already: the rows of the image. Transposed convolutions are carried out
 * likewise, over the taps that reach an output.
 */
#include <string.h>

#include "kernels/conv/ways.h"

struct product {
    const struct vt_conv *conv;
    const struct vt_conv_data *data;
};

static bool is_pointwise(const struct vt_conv *conv)
{
    for (int i = 0; i < VT_CONV_DIMS; i++) {
        if (conv->kernel[i] != 1 || conv->stride[i] != 1 || conv->pad[i] != 0 ||
            conv->in[i] != conv->out[i]) {
            return false;
        }
    }
    return true;
}

/* The input position that a tap brings to output `o`; -1: none. */
static int64_t source_of(const struct vt_conv *conv, int axis, int64_t o, int64_t tap)
{
    int64_t i = o * conv->stride[axis] - conv->pad[axis] + tap * conv->dilation[axis];
    if (conv->transposed) {
        const int64_t reach = o + conv->pad[axis] - tap * conv->dilation[axis];
        i = reach >= 0 && reach % conv->stride[axis] == 0 ? reach / conv->stride[axis] : -1;
    }
    return i < conv->in[axis] ? i : -1;
}

/* The channels of the group's image under a tap of an output; NULL: outside. */
static const float *patch_of(const struct product *p, int64_t group, int64_t row, int64_t tap)
{
    const struct vt_conv *conv = p->conv;
    const int64_t kx = tap % conv->kernel[2], ky = tap / conv->kernel[2] % conv->kernel[1];
    const int64_t x = source_of(conv, 2, row % conv->out[2], kx);
    const int64_t y = source_of(conv, 1, row / conv->out[2] % conv->out[1], ky);
    const int64_t z = source_of(conv, 0, row / conv->out[2] / conv->out[1] % conv->out[0],
                                tap / conv->kernel[2] / conv->kernel[1]);
    const int64_t image = row / conv_volume(conv->out);
    if (x < 0 || y < 0 || z < 0) {
        return NULL;
    }
    return p->data->input + group * (conv->in_channels / conv->groups) +
           (((image * conv->in[0] + z) * conv->in[1] + y) * conv->in[2] + x) * conv->in_channels;
}

/* A vt_gemm_pack_func: rows are outputs. */
static void pack_rows(const void *ctx, uint32_t mr, int64_t batch, int64_t k0, int64_t kc,
                      int64_t m0, int64_t mc, float *ret_packed)
{
    const struct product *p = ctx;
    const int64_t channels = p->conv->in_channels / p->conv->groups;
    for (int64_t m = 0; m < mc; m += mr, ret_packed += kc * mr) {
        for (int64_t lane = 0; lane < mr; lane++) {
            float *out = ret_packed + lane;
            int64_t tap = k0 / channels, c = k0 % channels;
            for (int64_t k = 0; k < kc; tap++, c = 0) {
                const int64_t n = channels - c < kc - k ? channels - c : kc - k;
                const float *patch = m + lane < mc ? patch_of(p, batch, m0 + m + lane, tap) : NULL;
                for (int64_t i = 0; i < n; i++) {
                    out[(k + i) * mr] = patch != NULL ? patch[c + i] : 0.0f;
                }
                k += n;
            }
        }
    }
}

static void locate(const void *ctx, int64_t batch, struct vt_gemm_place *ret)
{
    const struct product *p = ctx;
    const struct vt_conv *conv = p->conv;
    const int64_t offset = batch * (conv->out_channels / conv->groups);
    ret->a = p->data->input + batch * (conv->in_channels / conv->groups);
    ret->b = p->data->packed + batch * conv->group_floats;
    ret->c = p->data->output + offset;
    ret->col_bias = p->data->bias != NULL ? p->data->bias + offset : NULL;
    ret->residual = p->data->residual != NULL ? p->data->residual + offset : NULL;
}

static void product_init(struct vt_gemm *gemm, const struct vt_conv *conv,
                         const struct product *product)
{
    *gemm = (struct vt_gemm){.kernel = conv->gemm,
                             .m = conv->batch * conv_volume(conv->out),
                             .n = conv->out_channels / conv->groups,
                             .k = conv_depth(conv),
                             .batches = conv->groups,
                             .ldc = conv->out_channels,
                             .b_packed = true,
                             .a_row_stride = conv->in_channels,
                             .a_col_stride = 1,
                             .pack_a = is_pointwise(conv) ? NULL : pack_rows,
                             .locate = locate,
                             .ctx = product,
                             .finish = conv->finish};
}

static bool fits(const struct vt_conv *conv)
{
    return conv->channels_last;
}

static void init(struct vt_conv *conv)
{
    size_t floats = 0;
    (void)vt_gemm_packed_b_size(conv->gemm, conv_depth(conv), conv->out_channels / conv->groups,
                                &floats);
    conv->group_floats = (int64_t)floats;
}

/* Where the weight of (input channel, output channel, tap) of a group stands. */
static int64_t weight_at(const struct vt_conv *conv, int64_t c, int64_t o, int64_t tap)
{
    const int64_t ins = conv->in_channels / conv->groups, outs = conv->out_channels / conv->groups;
    const int64_t pair = conv->transposed ? c * outs + o : o * ins + c;
    return pair * conv_volume(conv->kernel) + tap;
}

static void pack(const struct vt_conv *conv, const float *weights, const float *channel_scale,
                 float *ret_packed)
{
    const int64_t ins = conv->in_channels / conv->groups, outs = conv->out_channels / conv->groups;
    const int64_t depth = conv_depth(conv), nr = conv->gemm->nr;
    const int64_t padded = (outs + nr - 1) / nr * nr;
    for (int64_t g = 0; g < conv->groups; g++) {
        const float *group = weights + g * depth * outs;
        for (int64_t k = 0; k < depth; k++) {
            const int64_t k0 = k / VT_GEMM_KC * VT_GEMM_KC;
            const int64_t kc = depth - k0 < VT_GEMM_KC ? depth - k0 : VT_GEMM_KC;
            float *row = ret_packed + g * conv->group_floats + k0 * padded + (k - k0) * nr;
            for (int64_t o = 0; o < padded; o++) {
                const float scale =
                    channel_scale != NULL && o < outs ? channel_scale[g * outs + o] : 1.0f;
                row[o / nr * nr * kc + o % nr] =
                    o < outs ? group[weight_at(conv, k % ins, o, k / ins)] * scale : 0.0f;
            }
        }
    }
}

static size_t workspace_bytes(const struct vt_conv *conv, uint32_t threads)
{
    struct vt_gemm gemm;
    product_init(&gemm, conv, NULL);
    return vt_gemm_workspace_bytes(&gemm, threads);
}

static void run(const struct vt_conv *conv, const struct vt_conv_data *data, struct vt_pool *pool,
                void *workspace)
{
    const struct product product = {conv, data};
    struct vt_gemm gemm;
    product_init(&gemm, conv, &product);
    vt_gemm_run(&gemm, pool, workspace);
}

const struct vt_conv_way vt_conv_way_rows = {"rows", true, fits, init, pack, workspace_bytes, run};
