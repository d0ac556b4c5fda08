/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Channels-last depthwise convolution: for a few neighbouring outputs a table of pointers to the
 * inputs under each tap, or to zeros; the micro-kernel takes it through all channels.
 */
#include <string.h>

#include "kernels/conv/tiles.h"
#include "kernels/conv/ways.h"

#define OUTPUTS VT_CONV_DEPTHWISE_OUTPUTS
/* Bounds the table of pointers. */
#define DEPTHWISE_TAPS 4096

struct job {
    const struct vt_conv *conv;
    const struct vt_conv_data *data;
    vt_conv_depthwise_func func;
    char *workspace;
    size_t worker_bytes;
    int64_t x_begin, x_end; /* outputs whose taps lie within the row */
};

static bool fits(const struct vt_conv *conv)
{
    return conv->channels_last && !conv->transposed && conv->groups == conv->in_channels &&
           conv->groups > 1 && conv_volume(conv->kernel) <= DEPTHWISE_TAPS;
}

static void init(struct vt_conv *conv)
{
    conv->group_floats = conv->out_channels / conv->groups * conv_volume(conv->kernel);
}

static void pack(const struct vt_conv *conv, const float *weights, const float *channel_scale,
                 float *ret_packed)
{
    const int64_t taps = conv_volume(conv->kernel);
    for (int64_t t = 0; t < taps; t++) {
        for (int64_t c = 0; c < conv->out_channels; c++) {
            ret_packed[t * conv->out_channels + c] =
                weights[c * taps + t] * (channel_scale != NULL ? channel_scale[c] : 1.0f);
        }
    }
}

static size_t align64(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static size_t table_bytes(const struct vt_conv *conv)
{
    return align64((size_t)(conv_volume(conv->kernel) * OUTPUTS) * sizeof(float *));
}

static size_t worker_bytes(const struct vt_conv *conv)
{
    return table_bytes(conv) + align64((size_t)conv->in_channels * sizeof(float));
}

static size_t workspace_bytes(const struct vt_conv *conv, uint32_t threads)
{
    return threads * worker_bytes(conv);
}

/* The input position under a tap, or -1. */
static int64_t source_of(const struct vt_conv *conv, int axis, int64_t o, int64_t tap)
{
    const int64_t i = o * conv->stride[axis] - conv->pad[axis] + tap * conv->dilation[axis];
    return i >= 0 && i < conv->in[axis] ? i : -1;
}

/* Column q of the table: the pixels under the taps of one output. */
static void fill_column(const struct job *job, int64_t output, const float *zeros,
                        const float **column)
{
    const struct vt_conv *conv = job->conv;
    const int64_t at = output % conv_volume(conv->out), image = output / conv_volume(conv->out);
    const int64_t x = at % conv->out[2], y = at / conv->out[2] % conv->out[1];
    const int64_t z = at / conv->out[2] / conv->out[1];
    for (int64_t kz = 0; kz < conv->kernel[0]; kz++) {
        const int64_t iz = source_of(conv, 0, z, kz);
        for (int64_t ky = 0; ky < conv->kernel[1]; ky++) {
            const int64_t iy = source_of(conv, 1, y, ky);
            const bool inside = iz >= 0 && iy >= 0;
            const float *row =
                job->data->input +
                (inside ? ((image * conv->in[0] + iz) * conv->in[1] + iy) * conv->in[2] : 0) *
                    conv->in_channels;
            for (int64_t kx = 0; kx < conv->kernel[2]; kx++, column += OUTPUTS) {
                const int64_t ix = source_of(conv, 2, x, kx);
                *column = inside && ix >= 0 ? row + ix * conv->in_channels : zeros;
            }
        }
    }
}

/* All of a tile's outputs lie in one row, and their taps within it. */
static bool is_inner(const struct job *job, int64_t output)
{
    const int64_t x = output % job->conv->out[2];
    return x >= job->x_begin && x + OUTPUTS <= job->x_end;
}

static void run_outputs(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct job *job = ctx;
    const struct vt_conv *conv = job->conv;
    const int64_t taps = conv_volume(conv->kernel), channels = conv->out_channels;
    char *at = job->workspace + worker * job->worker_bytes;
    const float **table = (const float **)(void *)at;
    float *zeros = (float *)(void *)(at + table_bytes(conv));
    const int64_t step = OUTPUTS * conv->stride[2] * conv->in_channels;
    bool follows = false;
    memset(zeros, 0, (size_t)conv->in_channels * sizeof(float));
    for (int64_t o = begin; o < end; o += OUTPUTS) {
        const int64_t n = end - o < OUTPUTS ? end - o : OUTPUTS;
        const struct vt_conv_depthwise_tile tile = {
            .x = table,
            .n_taps = taps,
            .w = job->data->packed,
            .channels = channels,
            .multiplier = channels / conv->groups,
            .bias = job->data->bias,
            .residual = job->data->residual != NULL ? job->data->residual + o * channels : NULL,
            .y = job->data->output + o * channels,
            .finish = &conv->finish};
        /* From inner tile to inner tile the whole table moves on, but for what points to zeros:
         * whole rows of taps, which are told apart. */
        follows = follows && n == OUTPUTS && is_inner(job, o) && o % conv->out[2] != 0;
        for (int64_t i = 0; follows && i < taps * OUTPUTS; i++) {
            table[i] += table[i] == zeros ? 0 : step;
        }
        for (int64_t q = 0; !follows && q < OUTPUTS; q++) {
            fill_column(job, q < n ? o + q : o, zeros, table + q);
        }
        job->func(&tile, (uint32_t)n);
        follows = is_inner(job, o) && n == OUTPUTS;
    }
}

static void run(const struct vt_conv *conv, const struct vt_conv_data *data, struct vt_pool *pool,
                void *workspace)
{
    struct job job = {
        conv, data, vt_conv_tiles_find(conv->features)->depthwise, workspace, worker_bytes(conv),
        0,    0};
    const int64_t stride = conv->stride[2], width = conv->out[2];
    const int64_t last = conv->in[2] - 1 - (conv->kernel[2] - 1) * conv->dilation[2] + conv->pad[2];
    const int64_t outputs = conv->batch * conv_volume(conv->out);
    const int64_t products = conv_volume(conv->kernel) * conv->out_channels;
    job.x_begin = (conv->pad[2] + stride - 1) / stride;
    job.x_end = last < 0 ? 0 : last / stride + 1;
    job.x_end = job.x_end < width ? job.x_end : width;
    vt_pool_run(pool, outputs, OUTPUTS * (1 + 32768 / (OUTPUTS * products)), run_outputs, &job);
}

const struct vt_conv_way vt_conv_way_depthwise_last = {"depthwise last", false, fits, init, pack,
                                                       workspace_bytes,  run};
