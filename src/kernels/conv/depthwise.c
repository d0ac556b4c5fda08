/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "kernels/conv/ways.h"
#include "kernels/finish.h"

/* Outputs of a row that a stack buffer sums up before they are stored. */
#define ROW_BLOCK 256

struct job {
    const struct vt_conv *conv;
    const struct vt_conv_data *data;
};

/* The outputs [*ret_begin, *ret_end) of [0, n) whose input `x0 + i * stride` lies in [0, width). */
static void valid_range(int64_t x0, int64_t stride, int64_t width, int64_t n, int64_t *ret_begin,
                        int64_t *ret_end)
{
    int64_t begin = x0 >= 0 ? 0 : (-x0 + stride - 1) / stride;
    int64_t end = x0 >= width ? 0 : (width - 1 - x0) / stride + 1;
    *ret_begin = begin < n ? begin : n;
    *ret_end = end < n ? end : n;
    if (*ret_end < *ret_begin) {
        *ret_end = *ret_begin;
    }
}

static void add_tap(const float *restrict row, int64_t stride, float weight, int64_t n,
                    float *restrict sum)
{
    if (stride == 1) {
        for (int64_t i = 0; i < n; i++) {
            sum[i] += weight * row[i];
        }
    } else if (stride == 2) {
        for (int64_t i = 0; i < n; i++) {
            sum[i] += weight * row[2 * i];
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            sum[i] += weight * row[i * stride];
        }
    }
}

/* Outputs [x0, x0 + n) of the row (z, y) of one channel. */
static void row_compute(const struct vt_conv *conv, const float *plane, const float *weights,
                        const int64_t at[VT_CONV_DIMS], int64_t n, float bias, float *sum)
{
    for (int64_t i = 0; i < n; i++) {
        sum[i] = bias;
    }
    for (int64_t kz = 0; kz < conv->kernel[0]; kz++) {
        const int64_t z = at[0] * conv->stride[0] - conv->pad[0] + kz * conv->dilation[0];
        if (z < 0 || z >= conv->in[0]) {
            continue;
        }
        for (int64_t ky = 0; ky < conv->kernel[1]; ky++) {
            const int64_t y = at[1] * conv->stride[1] - conv->pad[1] + ky * conv->dilation[1];
            if (y < 0 || y >= conv->in[1]) {
                continue;
            }
            const float *row = plane + (z * conv->in[1] + y) * conv->in[2];
            const float *taps = weights + (kz * conv->kernel[1] + ky) * conv->kernel[2];
            for (int64_t kx = 0; kx < conv->kernel[2]; kx++) {
                const int64_t x = at[2] * conv->stride[2] - conv->pad[2] + kx * conv->dilation[2];
                int64_t begin, end;
                valid_range(x, conv->stride[2], conv->in[2], n, &begin, &end);
                if (begin < end) {
                    add_tap(row + x + begin * conv->stride[2], conv->stride[2], taps[kx],
                            end - begin, sum + begin);
                }
            }
        }
    }
}

static void run_planes(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct job *job = ctx;
    const struct vt_conv *conv = job->conv;
    const struct vt_conv_data *data = job->data;
    const int64_t multiplier = conv->out_channels / conv->groups;
    const int64_t in_plane = conv_volume(conv->in), out_plane = conv_volume(conv->out);
    const int64_t rows = conv->out[0] * conv->out[1], width = conv->out[2];
    float sum[ROW_BLOCK];

    (void)worker;
    for (int64_t item = begin; item < end; item++) {
        const int64_t channel = item % conv->out_channels, image = item / conv->out_channels;
        const float *plane =
            data->input + (image * conv->in_channels + channel / multiplier) * in_plane;
        const float bias = data->bias != NULL ? data->bias[channel] : 0.0f;
        for (int64_t row = 0; row < rows; row++) {
            for (int64_t x = 0; x < width; x += ROW_BLOCK) {
                const int64_t n = width - x < ROW_BLOCK ? width - x : ROW_BLOCK;
                const int64_t at[VT_CONV_DIMS] = {row / conv->out[1], row % conv->out[1], x};
                const int64_t offset = item * out_plane + row * width + x;
                row_compute(conv, plane, data->packed + channel * conv_volume(conv->kernel), at, n,
                            bias, sum);
                vt_finish_row(&conv->finish, sum, n,
                              data->residual != NULL ? data->residual + offset : NULL,
                              data->output + offset);
            }
        }
    }
}

static void run(const struct vt_conv *conv, const struct vt_conv_data *data, struct vt_pool *pool,
                void *workspace)
{
    (void)workspace;
    struct job job = {conv, data};
    vt_pool_run(pool, conv->batch * conv->out_channels, 1, run_planes, &job);
}

static bool fits(const struct vt_conv *conv)
{
    return !conv->channels_last && !conv->transposed && conv->groups == conv->in_channels &&
           conv->groups > 1;
}

static void init(struct vt_conv *conv)
{
    conv->group_floats = conv->out_channels / conv->groups * conv_volume(conv->kernel);
}

static void pack(const struct vt_conv *conv, const float *weights, const float *channel_scale,
                 float *ret_packed)
{
    const int64_t taps = conv_volume(conv->kernel);
    for (int64_t c = 0; c < conv->out_channels; c++) {
        const float scale = channel_scale != NULL ? channel_scale[c] : 1.0f;
        for (int64_t t = 0; t < taps; t++) {
            ret_packed[c * taps + t] = weights[c * taps + t] * scale;
        }
    }
}

static size_t workspace_bytes(const struct vt_conv *conv, uint32_t threads)
{
    (void)conv;
    (void)threads;
    return 0;
}

const struct vt_conv_way vt_conv_way_depthwise = {"depthwise", false,           fits, init,
                                                  pack,        workspace_bytes, run};
