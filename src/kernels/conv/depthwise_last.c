/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Channels-last depthwise convolution: the micro-kernel takes a few neighbouring outputs through
 * all channels. Where all their taps lie within the row, the pixels under them are a fixed step
 * apart; near the ends of rows a table points to them, or to zeros.
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

static size_t taps_bytes(const struct vt_conv *conv)
{
    return align64((size_t)conv_volume(conv->kernel) * sizeof(struct vt_conv_tap));
}

static size_t worker_bytes(const struct vt_conv *conv)
{
    return table_bytes(conv) + taps_bytes(conv) +
           align64((size_t)conv->in_channels * sizeof(float));
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

/* Lists the taps of a row of outputs that lie inside the image. */
static int64_t list_taps(const struct vt_conv *conv, int64_t row, struct vt_conv_tap *ret)
{
    const int64_t y = row % conv->out[1], z = row / conv->out[1] % conv->out[0];
    int64_t n = 0;
    for (int64_t k = 0; k < conv->kernel[0] * conv->kernel[1]; k++) {
        const int64_t iz = source_of(conv, 0, z, k / conv->kernel[1]);
        const int64_t iy = source_of(conv, 1, y, k % conv->kernel[1]);
        for (int64_t kx = 0; kx < conv->kernel[2] && iz >= 0 && iy >= 0; kx++, n++) {
            ret[n].x = ((iz * conv->in[1] + iy) * conv->in[2] + kx * conv->dilation[2]) *
                       conv->in_channels;
            ret[n].w = k * conv->kernel[2] + kx;
        }
    }
    return n;
}

/* A worker's. */
struct scratch {
    const float **table;
    struct vt_conv_tap *taps;
    float *zeros; /* a pixel of them */
};

/* The first n outputs of the tile, wherever they are. */
static void table_run(const struct job *job, struct vt_conv_depthwise_tile *tile, int64_t n,
                      const struct scratch *s)
{
    for (int64_t q = 0; q < OUTPUTS; q++) {
        fill_column(job, tile->output[q < n ? q : 0], s->zeros, s->table + q);
    }
    tile->taps = NULL;
    tile->n_taps = conv_volume(job->conv->kernel);
    job->func(tile, (uint32_t)n);
}

/* OUTPUTS outputs from x on whose taps all lie within the row. */
static void direct_run(const struct job *job, struct vt_conv_depthwise_tile *tile, int64_t row,
                       int64_t x)
{
    const struct vt_conv *conv = job->conv;
    const int64_t image = row / (conv->out[0] * conv->out[1]);
    tile->x = job->data->input +
              (image * conv_volume(conv->in) - conv->pad[2]) * conv->in_channels + x * tile->x_step;
    for (int64_t q = 0; q < OUTPUTS; q++) {
        tile->output[q] = row * conv->out[2] + x + q;
    }
    job->func(tile, OUTPUTS);
}

static void run_rows(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct job *job = ctx;
    const struct vt_conv *conv = job->conv;
    const int64_t width = conv->out[2], channels = conv->in_channels;
    char *at = job->workspace + worker * job->worker_bytes;
    struct scratch s;
    s.table = (const float **)(void *)at;
    at += table_bytes(conv);
    s.taps = (struct vt_conv_tap *)(void *)at;
    s.zeros = (float *)(void *)(at + taps_bytes(conv));
    memset(s.zeros, 0, (size_t)channels * sizeof(float));
    struct vt_conv_depthwise_tile near = {.x_step = conv->stride[2] * channels,
                                          .table = s.table,
                                          .w = job->data->packed,
                                          .channels = conv->out_channels,
                                          .multiplier = conv->out_channels / conv->groups,
                                          .bias = job->data->bias,
                                          .residual = job->data->residual,
                                          .y = job->data->output,
                                          .finish = &conv->finish};
    struct vt_conv_depthwise_tile inner = near;
    int64_t waiting = 0; /* outputs near the ends of rows, until they fill a tile */
    inner.taps = s.taps;
    for (int64_t row = begin; row < end; row++) {
        inner.n_taps = list_taps(conv, row, s.taps);
        for (int64_t x = 0; x < width;) {
            if (x >= job->x_begin && x + OUTPUTS <= job->x_end) {
                direct_run(job, &inner, row, x);
                x += OUTPUTS;
                continue;
            }
            near.output[waiting++] = row * width + x++;
            if (waiting == OUTPUTS) {
                table_run(job, &near, waiting, &s);
                waiting = 0;
            }
        }
    }
    if (waiting > 0) {
        table_run(job, &near, waiting, &s);
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
    const int64_t products = conv_volume(conv->kernel) * conv->out_channels * width;
    job.x_begin = (conv->pad[2] + stride - 1) / stride;
    job.x_end = last < 0 ? 0 : last / stride + 1;
    job.x_end = job.x_end < width ? job.x_end : width;
    if (conv->out_channels != conv->in_channels) {
        job.x_end = 0; /* spreading channels is done from the table */
    }
    vt_pool_run(pool, conv->batch * conv->out[0] * conv->out[1], 1 + 32768 / (products + 1),
                run_rows, &job);
}

const struct vt_conv_way vt_conv_way_depthwise_last = {"depthwise last", false, fits, init, pack,
                                                       workspace_bytes,  run};
