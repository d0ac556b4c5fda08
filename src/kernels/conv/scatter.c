/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transposed convolution where the output is far larger than the input: every input element is
 * added to what it reaches. That is one step for each input element, tap and pair of channels; the
 * product (transpose.c) takes one for each output element, nearly all of them times nothing here.
 */
#include <string.h>

#include "kernels/conv/ways.h"
#include "kernels/finish.h"

/* The product does a step some tens of times as fast. */
#define WASTE_MOST 64

struct job {
    const struct vt_conv *conv;
    const struct vt_conv_data *data;
};

static bool fits(const struct vt_conv *conv)
{
    return !conv->channels_last && conv->transposed &&
           conv_volume(conv->out) / WASTE_MOST > conv_volume(conv->in);
}

static void init(struct vt_conv *conv)
{
    conv->group_floats = conv_depth(conv) * (conv->out_channels / conv->groups);
}

/* As they are: [input channel][output channel of the group][tap]. */
static void pack(const struct vt_conv *conv, const float *weights, const float *channel_scale,
                 float *ret_packed)
{
    (void)channel_scale;
    memcpy(ret_packed, weights, (size_t)(conv->groups * conv->group_floats) * sizeof(*weights));
}

static size_t workspace_bytes(const struct vt_conv *conv, uint32_t threads)
{
    (void)conv;
    (void)threads;
    return 0;
}

/* The taps that bring input position i of an axis inside the output: [begin, end), the first of
 * them to *ret_at. */
static void taps_inside(const struct vt_conv *conv, int axis, int64_t i, int64_t *ret_begin,
                        int64_t *ret_end, int64_t *ret_at)
{
    const int64_t step = conv->dilation[axis], first = i * conv->stride[axis] - conv->pad[axis];
    const int64_t room = conv->out[axis] - 1 - first;
    const int64_t begin = first < 0 ? (-first + step - 1) / step : 0;
    const int64_t end = room < 0 ? 0 : room / step + 1;
    *ret_begin = begin;
    *ret_end = end < conv->kernel[axis] ? end : conv->kernel[axis];
    *ret_at = first + begin * step;
}

/* One input element times the taps of one pair of channels. */
static void add_element(const struct vt_conv *conv, float x, const int64_t at[VT_CONV_DIMS],
                        const float *weights, float *plane)
{
    int64_t begin[VT_CONV_DIMS], end[VT_CONV_DIMS], to[VT_CONV_DIMS];
    const int64_t step = conv->dilation[2];
    for (int axis = 0; axis < VT_CONV_DIMS; axis++) {
        taps_inside(conv, axis, at[axis], &begin[axis], &end[axis], &to[axis]);
    }
    for (int64_t z = begin[0], oz = to[0]; z < end[0]; z++, oz += conv->dilation[0]) {
        for (int64_t y = begin[1], oy = to[1]; y < end[1]; y++, oy += conv->dilation[1]) {
            const float *w = weights + (z * conv->kernel[1] + y) * conv->kernel[2];
            float *out = plane + (oz * conv->out[1] + oy) * conv->out[2];
            if (step == 1) {
                for (int64_t k = begin[2]; k < end[2]; k++) {
                    out[to[2] + k - begin[2]] += x * w[k];
                }
                continue;
            }
            for (int64_t k = begin[2], o = to[2]; k < end[2]; k++, o += step) {
                out[o] += x * w[k];
            }
        }
    }
}

/* All input channels of the group into one plane of the output. */
static void fill_plane(const struct job *job, int64_t batch, int64_t channel, float *plane)
{
    const struct vt_conv *conv = job->conv;
    const int64_t outs = conv->out_channels / conv->groups, ins = conv->in_channels / conv->groups;
    const int64_t group = channel / outs, taps = conv_volume(conv->kernel);
    const int64_t volume = conv_volume(conv->in);
    for (int64_t c = group * ins; c < (group + 1) * ins; c++) {
        const float *image = job->data->input + (batch * conv->in_channels + c) * volume;
        const float *weights = job->data->packed + (c * outs + channel % outs) * taps;
        int64_t at[VT_CONV_DIMS];
        for (at[0] = 0; at[0] < conv->in[0]; at[0]++) {
            for (at[1] = 0; at[1] < conv->in[1]; at[1]++) {
                for (at[2] = 0; at[2] < conv->in[2]; at[2]++) {
                    add_element(conv, *image++, at, weights, plane);
                }
            }
        }
    }
}

static void run_planes(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct job *job = ctx;
    const struct vt_conv *conv = job->conv;
    const int64_t volume = conv_volume(conv->out);
    (void)worker;
    for (int64_t plane = begin; plane < end; plane++) {
        const int64_t channel = plane % conv->out_channels, offset = plane * volume;
        const float *residual = job->data->residual;
        const float bias = job->data->bias != NULL ? job->data->bias[channel] : 0.0f;
        float *out = job->data->output + offset;
        for (int64_t i = 0; i < volume; i++) {
            out[i] = bias;
        }
        fill_plane(job, plane / conv->out_channels, channel, out);
        vt_finish_row(&conv->finish, out, volume, residual != NULL ? residual + offset : NULL, out);
    }
}

static void run(const struct vt_conv *conv, const struct vt_conv_data *data, struct vt_pool *pool,
                void *workspace)
{
    struct job job = {conv, data};
    (void)workspace;
    vt_pool_run(pool, conv->batch * conv->out_channels, 1, run_planes, &job);
}

const struct vt_conv_way vt_conv_way_scatter = {"scatter", false,           fits, init,
                                                pack,      workspace_bytes, run};
