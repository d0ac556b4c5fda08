/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Channels-last transposed convolution whose stride is its kernel, as decoders enlarge images:
 * every output has one tap, so each tap is a product of input rows and its weights, stored
 * `kernel` outputs apart. Rows are read and written in place.
 */
#include "kernels/conv/tiles.h"
#include "kernels/conv/ways.h"

struct job {
    const struct vt_conv *conv;
    const struct vt_conv_data *data;
    const struct vt_conv_tiles *tiles;
};

static int64_t min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t div_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static bool fits(const struct vt_conv *conv)
{
    for (int d = 0; d < VT_CONV_DIMS; d++) {
        /* Outputs that no input reaches are left to the general way. */
        if (conv->stride[d] != conv->kernel[d] || (conv->kernel[d] > 1 && conv->dilation[d] != 1) ||
            conv->out[d] + conv->pad[d] > conv->in[d] * conv->stride[d]) {
            return false;
        }
    }
    return conv->channels_last && conv->transposed && conv->in_channels > 0;
}

/* Output channels of a group, to whole vectors. */
static int64_t padded_of(const struct vt_conv *conv, const struct vt_conv_tiles *tiles)
{
    return div_up(conv->out_channels / conv->groups, tiles->lanes) * tiles->lanes;
}

static void init(struct vt_conv *conv)
{
    const struct vt_conv_tiles *tiles = vt_conv_tiles_find(conv->features);
    conv->group_floats = padded_of(conv, tiles) * conv_depth(conv);
    conv->tile = tiles->lanes;
}

/* Floats of the blocks of output channels before channel o of a tap. */
static int64_t block_floats(const struct vt_conv *conv, int64_t o)
{
    return o * (conv->in_channels / conv->groups);
}

static void pack(const struct vt_conv *conv, const float *weights, const float *channel_scale,
                 float *ret_packed)
{
    const struct vt_conv_tiles *tiles = vt_conv_tiles_find(conv->features);
    const int64_t ins = conv->in_channels / conv->groups, outs = conv->out_channels / conv->groups;
    const int64_t taps = conv_volume(conv->kernel), padded = padded_of(conv, tiles);
    (void)channel_scale;
    for (int64_t g = 0; g < conv->groups; g++) {
        for (int64_t t = 0; t < taps; t++) {
            float *tap = ret_packed + g * conv->group_floats + t * padded * ins;
            for (int64_t first = 0; first < padded; first += 2 * (int64_t)tiles->lanes) {
                const int64_t lanes = min_i64(2 * (int64_t)tiles->lanes, padded - first);
                float *block = tap + block_floats(conv, first);
                for (int64_t i = 0; i < ins * lanes; i++) {
                    const int64_t o = first + i % lanes, c = g * ins + i / lanes;
                    block[i] = o < outs ? weights[(c * outs + o) * taps + t] : 0.0f;
                }
            }
        }
    }
}

static size_t workspace_bytes(const struct vt_conv *conv, uint32_t threads)
{
    (void)conv;
    (void)threads;
    return 0;
}

/* All outputs of a row and a group that belong to one tap along it. */
static void tap_run(const struct job *job, int64_t row, int64_t group, int64_t kx)
{
    const struct vt_conv *conv = job->conv;
    const int64_t ins = conv->in_channels / conv->groups, outs = conv->out_channels / conv->groups;
    const int64_t y = row % conv->out[1] + conv->pad[1];
    const int64_t z = row / conv->out[1] % conv->out[0] + conv->pad[0];
    const int64_t image = row / conv->out[1] / conv->out[0];
    const int64_t stride = conv->stride[2], padded = padded_of(conv, job->tiles);
    const int64_t in_row =
        (image * conv->in[0] + z / conv->stride[0]) * conv->in[1] + y / conv->stride[1];
    const int64_t tap =
        (z % conv->stride[0] * conv->kernel[1] + y % conv->stride[1]) * conv->kernel[2] + kx;
    /* Inputs whose output along this tap is not cut off. */
    const int64_t begin = kx >= conv->pad[2] ? 0 : div_up(conv->pad[2] - kx, stride);
    const int64_t end = div_up(conv->out[2] + conv->pad[2] - kx, stride);
    const struct vt_conv_tap only = {0, 0};
    for (int64_t first = 0; first < outs; first += 2 * (int64_t)job->tiles->lanes) {
        const int vectors = padded - first > job->tiles->lanes ? 2 : 1;
        const int64_t outputs = job->tiles->splat_outputs[vectors - 1];
        const int64_t channel = group * outs + first;
        struct vt_conv_tile tile = {
            .taps = &only,
            .n_taps = 1,
            .x_step = conv->in_channels,
            .depth = ins,
            .w = job->data->packed + group * conv->group_floats + tap * padded * ins +
                 block_floats(conv, first),
            .bias = job->data->bias != NULL ? job->data->bias + channel : NULL,
            .y_step = stride * conv->out_channels,
            .channels = min_i64(2 * (int64_t)job->tiles->lanes, outs - first),
            .finish = &conv->finish};
        for (int64_t x = begin; x < end; x += outputs) {
            const int64_t at =
                (row * conv->out[2] + x * stride + kx - conv->pad[2]) * conv->out_channels +
                channel;
            tile.x =
                job->data->input + (in_row * conv->in[2] + x) * conv->in_channels + group * ins;
            tile.y = job->data->output + at;
            tile.residual = job->data->residual != NULL ? job->data->residual + at : NULL;
            job->tiles->splat[vectors - 1](&tile, (uint32_t)min_i64(outputs, end - x));
        }
    }
}

static void run_rows(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct job *job = ctx;
    (void)worker;
    for (int64_t row = begin; row < end; row++) {
        for (int64_t g = 0; g < job->conv->groups; g++) {
            for (int64_t kx = 0; kx < job->conv->kernel[2]; kx++) {
                tap_run(job, row, g, kx);
            }
        }
    }
}

static void run(const struct vt_conv *conv, const struct vt_conv_data *data, struct vt_pool *pool,
                void *workspace)
{
    struct job job = {conv, data, vt_conv_tiles_find(conv->features)};
    const int64_t products = conv->out[2] * conv->out_channels * (conv->in_channels / conv->groups);
    (void)workspace;
    vt_pool_run(pool, conv->batch * conv->out[0] * conv->out[1], 1 + 65536 / (products + 1),
                run_rows, &job);
}

const struct vt_conv_way vt_conv_way_upsample = {"upsample", false,           fits, init,
                                                 pack,       workspace_bytes, run};
