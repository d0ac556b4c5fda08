/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolution as a matrix product: weights times patches, which are packed block by block; the
 * matrix of all patches never exists.
 */
#include <string.h>

#include "kernels/conv/ways.h"

/* Some outputs of one row of the output image, and where they stand in a panel. */
struct run {
    int64_t z, y, x; /* input position of the first output under tap 0 */
    int64_t length;
    int64_t column;
};

/* Cuts outputs [n0, n0 + n) at the ends of rows. At most n runs. */
static int cut_runs(const struct vt_conv *conv, int64_t n0, int64_t n, struct run *ret)
{
    const int64_t width = conv->out[2], height = conv->out[1];
    int64_t x = n0 % width, y = n0 / width % height, z = n0 / width / height;
    int count = 0;
    for (int64_t column = 0; column < n;) {
        struct run *run = &ret[count++];
        run->length = width - x < n - column ? width - x : n - column;
        run->column = column;
        run->z = z * conv->stride[0] - conv->pad[0];
        run->y = y * conv->stride[1] - conv->pad[1];
        run->x = x * conv->stride[2] - conv->pad[2];
        column += run->length;
        x = 0;
        if (++y == height) {
            y = 0;
            z++;
        }
    }
    return count;
}

/* Copies what a row of the image gives to a run; zeros where it lies outside. */
static void copy_row(const float *row, int64_t width, int64_t x, int64_t stride, int64_t n,
                     float *out)
{
    if (x >= 0 && x + (n - 1) * stride < width) {
        if (stride != 1) {
            for (int64_t i = 0; i < n; i++) {
                out[i] = row[x + i * stride];
            }
        } else if (n == 16) { /* whole panels: sizes the compiler turns into registers */
            memcpy(out, row + x, 16 * sizeof(float));
        } else if (n == 32) {
            memcpy(out, row + x, 32 * sizeof(float));
        } else {
            for (int64_t i = 0; i < n; i++) {
                out[i] = row[x + i];
            }
        }
        return;
    }
    for (int64_t i = 0; i < n; i++, x += stride) {
        out[i] = x >= 0 && x < width ? row[x] : 0.0f;
    }
}

static void pack_panel(const struct vt_conv *conv, const float *image, uint32_t nr, int64_t k0,
                       int64_t kc, const struct run *run, float *out)
{
    const int64_t *taps = conv->kernel, *in = conv->in;
    const int64_t plane = in[1] * in[2], volume = in[0] * plane;
    int64_t kx = k0 % taps[2], ky = k0 / taps[2] % taps[1], kz = k0 / taps[2] / taps[1] % taps[0];
    int64_t channel = k0 / conv_volume(taps);

    out += run->column;
    for (int64_t k = 0; k < kc; k++, out += nr) {
        const int64_t z = run->z + kz * conv->dilation[0], y = run->y + ky * conv->dilation[1];
        if (z >= 0 && z < in[0] && y >= 0 && y < in[1]) {
            copy_row(image + channel * volume + z * plane + y * in[2], in[2],
                     run->x + kx * conv->dilation[2], conv->stride[2], run->length, out);
        } else {
            for (int64_t i = 0; i < run->length; i++) {
                out[i] = 0.0f;
            }
        }
        if (++kx == taps[2]) {
            kx = 0;
            if (++ky == taps[1]) {
                ky = 0;
                if (++kz == taps[0]) {
                    kz = 0;
                    channel++;
                }
            }
        }
    }
}

void vt_conv_pack_patches(const struct vt_conv *conv, const float *image, uint32_t nr, int64_t k0,
                          int64_t kc, int64_t n0, int64_t nc, float *ret_packed)
{
    struct run runs[VT_GEMM_NR_MAX];
    for (int64_t n = 0; n < nc; n += nr, ret_packed += kc * nr) {
        const int64_t columns = nc - n < nr ? nc - n : nr;
        const int n_runs = cut_runs(conv, n0 + n, columns, runs);
        for (int i = 0; i < n_runs; i++) {
            pack_panel(conv, image, nr, k0, kc, &runs[i], ret_packed);
        }
        if (columns == nr) {
            continue;
        }
        for (int64_t k = 0; k < kc; k++) {
            for (int64_t i = columns; i < nr; i++) {
                ret_packed[k * nr + i] = 0.0f;
            }
        }
    }
}

/* --- the product ----------------------------------------------------------------------------- */

static void pack_patches(const void *ctx, uint32_t nr, int64_t batch, int64_t k0, int64_t kc,
                         int64_t n0, int64_t nc, float *ret_packed)
{
    const struct vt_conv_product *p = ctx;
    vt_conv_pack_patches(p->conv, conv_group_image(p, batch), nr, k0, kc, n0, nc, ret_packed);
}

static bool fits(const struct vt_conv *conv)
{
    return !conv->channels_last && !conv->transposed;
}

static void pack(const struct vt_conv *conv, const float *weights, const float *channel_scale,
                 float *ret_packed)
{
    const int64_t channels = conv->out_channels / conv->groups, depth = conv_depth(conv);
    for (int64_t g = 0; g < conv->groups; g++) {
        const struct vt_gemm_matrix a = {weights + g * channels * depth, depth, 1};
        vt_gemm_pack_a(conv->gemm, channels, depth, &a,
                       channel_scale != NULL ? channel_scale + g * channels : NULL,
                       ret_packed + g * conv->group_floats);
    }
}

static size_t workspace_bytes(const struct vt_conv *conv, uint32_t threads)
{
    return vt_conv_columns_workspace_bytes(conv, threads, pack_patches);
}

static void run(const struct vt_conv *conv, const struct vt_conv_data *data, struct vt_pool *pool,
                void *workspace)
{
    vt_conv_columns_run(conv, data, pool, workspace, pack_patches);
}

const struct vt_conv_way vt_conv_way_patches = {
    .name = "patches",
    .tiled = true,
    .fits = fits,
    .init = vt_conv_columns_init,
    .pack = pack,
    .workspace_bytes = workspace_bytes,
    .run = run,
};
