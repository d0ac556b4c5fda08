/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/conv/ways.h"

static bool fits(const struct vt_conv *conv)
{
    return !conv->channels_last && conv->transposed;
}

static void pack(const struct vt_conv *conv, const float *weights, const float *channel_scale,
                 float *ret_packed)
{
    (void)channel_scale;
    const int64_t taps = conv_volume(conv->kernel), mr = conv->gemm->mr;
    const int64_t outs = conv->out_channels / conv->groups, depth = conv_depth(conv);
    const int64_t padded = (outs + mr - 1) / mr * mr;
    /* Step k is (input channel, tap); its row of output channels is `taps` apart in memory. */
    for (int64_t g = 0; g < conv->groups; g++) {
        const float *group = weights + g * depth / taps * outs * taps;
        float *packed = ret_packed + g * conv->group_floats;
        for (int64_t k = 0; k < depth; k++) {
            const int64_t k0 = k / VT_GEMM_KC * VT_GEMM_KC;
            const int64_t kc = depth - k0 < VT_GEMM_KC ? depth - k0 : VT_GEMM_KC;
            const float *column = group + k / taps * outs * taps + k % taps;
            for (int64_t m = 0; m < padded; m++) {
                packed[k0 * padded + m / mr * mr * kc + (k - k0) * mr + m % mr] =
                    m < outs ? column[m * taps] : 0.0f;
            }
        }
    }
}

/* The input position that a tap brings to output o, or -1. */
static int64_t source_of(const struct vt_conv *conv, int axis, int64_t o, int64_t tap)
{
    const int64_t reach = o + conv->pad[axis] - tap * conv->dilation[axis];
    if (reach < 0 || reach % conv->stride[axis] != 0) {
        return -1;
    }
    const int64_t i = reach / conv->stride[axis];
    return i < conv->in[axis] ? i : -1;
}

static void pack_sources(const void *ctx, uint32_t nr, int64_t batch, int64_t k0, int64_t kc,
                         int64_t n0, int64_t nc, float *out)
{
    const struct vt_conv_product *p = ctx;
    const struct vt_conv *conv = p->conv;
    const int64_t taps = conv_volume(conv->kernel), volume = conv_volume(conv->in);
    const float *image = conv_group_image(p, batch);

    for (int64_t n = n0; n < n0 + nc; n += nr) {
        for (int64_t k = k0; k < k0 + kc; k++, out += nr) {
            const int64_t tap = k % taps;
            const int64_t kz = tap / conv->kernel[2] / conv->kernel[1];
            const int64_t ky = tap / conv->kernel[2] % conv->kernel[1];
            const int64_t kx = tap % conv->kernel[2];
            int64_t x = n % conv->out[2], y = n / conv->out[2] % conv->out[1];
            int64_t z = n / conv->out[2] / conv->out[1];
            int64_t iz = source_of(conv, 0, z, kz), iy = source_of(conv, 1, y, ky);
            for (int64_t i = 0; i < nr; i++) {
                const int64_t ix = source_of(conv, 2, x, kx);
                const bool inside = n + i < n0 + nc && iz >= 0 && iy >= 0 && ix >= 0;
                out[i] = inside
                             ? image[k / taps * volume + (iz * conv->in[1] + iy) * conv->in[2] + ix]
                             : 0.0f;
                if (++x < conv->out[2]) {
                    continue;
                }
                x = 0;
                if (++y == conv->out[1]) {
                    y = 0;
                    z++;
                }
                iz = source_of(conv, 0, z, kz);
                iy = source_of(conv, 1, y, ky);
            }
        }
    }
}

static size_t workspace_bytes(const struct vt_conv *conv, uint32_t threads)
{
    return vt_conv_columns_workspace_bytes(conv, threads, pack_sources);
}

static void run(const struct vt_conv *conv, const struct vt_conv_data *data, struct vt_pool *pool,
                void *workspace)
{
    vt_conv_columns_run(conv, data, pool, workspace, pack_sources);
}

const struct vt_conv_way vt_conv_way_transpose = {
    .name = "transpose",
    .tiled = true,
    .fits = fits,
    .init = vt_conv_columns_init,
    .pack = pack,
    .workspace_bytes = workspace_bytes,
    .run = run,
};
