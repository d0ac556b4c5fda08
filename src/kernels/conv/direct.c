/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolution that reads the image in place: for unit stride along the row, the nr outputs of a
 * tile need nr neighbouring inputs for every tap, so a table of row pointers takes the place of
 * packed patches. Tiles whose taps reach over the edge of a row are packed.
 */
#include <string.h>

#include "kernels/conv/ways.h"

/* Up to this many output channels a group, reading in place beats packing patches: a packed
 * element would be used too few times. */
#define DIRECT_CHANNELS 24
#define DIRECT_DEPTH    2048

static bool can(const struct vt_conv *conv)
{
    return !conv->channels_last && !conv->transposed && conv->stride[2] == 1;
}

static bool fits(const struct vt_conv *conv)
{
    return can(conv) && conv->out_channels / conv->groups <= DIRECT_CHANNELS &&
           conv->out[2] >= 2 * (int64_t)conv->gemm->nr && conv_depth(conv) <= DIRECT_DEPTH;
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

static void pack(const struct vt_conv *conv, const float *weights, const float *channel_scale,
                 float *ret_packed)
{
    const int64_t channels = conv->out_channels / conv->groups;
    for (int64_t g = 0; g < conv->groups; g++) {
        float *packed = ret_packed + g * conv->group_floats;
        pack_unblocked(conv, weights + g * channels * conv_depth(conv), packed);
        if (channel_scale != NULL) {
            scale_panels(conv, channel_scale + g * channels, packed);
        }
    }
}

struct job {
    const struct vt_conv *conv;
    const struct vt_conv_data *data;
    char *workspace;
    size_t worker_bytes;
};

/* A worker's scratch. */
struct scratch {
    const float **rows; /* conv_depth of them */
    float *zeros;       /* a row outside the image */
    float *packed;      /* one panel */
};

static size_t align64(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static size_t zeros_floats(const struct vt_conv *conv)
{
    return (size_t)conv->in[2];
}

static size_t workspace_bytes(const struct vt_conv *conv, uint32_t threads)
{
    const size_t depth = (size_t)conv_depth(conv);
    return threads *
           (align64(depth * sizeof(float *)) + align64(zeros_floats(conv) * sizeof(float)) +
            align64(depth * conv->gemm->nr * sizeof(float)));
}

static struct scratch scratch_of(const struct job *job, uint32_t worker)
{
    const size_t depth = (size_t)conv_depth(job->conv);
    char *at = job->workspace + worker * job->worker_bytes;
    struct scratch s;
    s.rows = (const float **)(void *)at;
    at += align64(depth * sizeof(float *));
    s.zeros = (float *)(void *)at;
    at += align64(zeros_floats(job->conv) * sizeof(float));
    s.packed = (float *)(void *)at;
    return s;
}

/* Row pointers of all taps for the output row (z, y), such that [x] is the input of output x. */
static void point_rows(const struct vt_conv *conv, const float *image, int64_t oz, int64_t oy,
                       const struct scratch *s)
{
    const int64_t channels = conv->in_channels / conv->groups;
    const float **rows = s->rows;
    for (int64_t c = 0; c < channels; c++) {
        for (int64_t kz = 0; kz < conv->kernel[0]; kz++) {
            const int64_t z = oz * conv->stride[0] - conv->pad[0] + kz * conv->dilation[0];
            for (int64_t ky = 0; ky < conv->kernel[1]; ky++) {
                const int64_t y = oy * conv->stride[1] - conv->pad[1] + ky * conv->dilation[1];
                const bool inside = z >= 0 && z < conv->in[0] && y >= 0 && y < conv->in[1];
                const float *row =
                    inside ? image + ((c * conv->in[0] + z) * conv->in[1] + y) * conv->in[2]
                           : s->zeros;
                for (int64_t kx = 0; kx < conv->kernel[2]; kx++) {
                    *rows++ = row + (kx * conv->dilation[2] - conv->pad[2]);
                }
            }
        }
    }
}

static void tile_run(const struct vt_conv *conv, const float *packed_weights,
                     struct vt_gemm_tile *tile, int64_t columns, bool inside,
                     const struct vt_gemm_place *place)
{
    const int64_t channels = conv->out_channels / conv->groups, mr = conv->gemm->mr;
    const vt_gemm_tile_func func = inside ? conv->gemm->indirect : conv->gemm->packed;
    for (int64_t m = 0; m < channels; m += mr) {
        const uint32_t rows = (uint32_t)(channels - m < mr ? channels - m : mr);
        tile->a = packed_weights + m * tile->k;
        tile->c = place->c + m * tile->ldc;
        tile->residual = place->residual != NULL ? place->residual + m * tile->ldc : NULL;
        tile->row_bias = place->row_bias != NULL ? place->row_bias + m : NULL;
        if (columns == conv->gemm->nr) {
            func(tile, rows);
        } else {
            vt_gemm_tile_narrow(conv->gemm, func, tile, rows, (uint32_t)columns);
        }
    }
}

/* One row of outputs, all output channels of the group. */
static void row_run(const struct job *job, int64_t item, const struct scratch *s)
{
    const struct vt_conv *conv = job->conv;
    const struct vt_conv_data *data = job->data;
    const int64_t nr = conv->gemm->nr, width = conv->out[2];
    const int64_t rows = conv->out[0] * conv->out[1], pixels = rows * width;
    const int64_t row = item % rows, batch = item / rows, group = batch % conv->groups;
    const int64_t channels = conv->out_channels / conv->groups;
    const int64_t reach = (conv->kernel[2] - 1) * conv->dilation[2];
    const float *image =
        data->input + batch * (conv->in_channels / conv->groups) * conv_volume(conv->in);
    struct vt_gemm_tile tile = {.k = conv_depth(conv),
                                .b = s->packed,
                                .rows = s->rows,
                                .ldc = pixels,
                                .finish = &conv->finish};

    point_rows(conv, image, row / conv->out[1], row % conv->out[1], s);
    for (int64_t x = 0; x < width; x += nr) {
        const int64_t columns = width - x < nr ? width - x : nr, n = row * width + x;
        const bool inside = x >= conv->pad[2] && x + nr - conv->pad[2] + reach <= conv->in[2];
        const int64_t offset = batch * channels * pixels + n;
        const struct vt_gemm_place place = {
            .c = data->output + offset,
            .residual = data->residual != NULL ? data->residual + offset : NULL,
            .row_bias = data->bias != NULL ? data->bias + group * channels : NULL};
        if (!inside) {
            vt_conv_pack_patches(conv, image, (uint32_t)nr, 0, tile.k, n, columns, s->packed);
        }
        tile.column = x;
        tile_run(conv, data->packed + group * conv->group_floats, &tile, columns, inside, &place);
    }
}

static void run_rows(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct job *job = ctx;
    const struct scratch s = scratch_of(job, worker);
    memset(s.zeros, 0, zeros_floats(job->conv) * sizeof(float));
    for (int64_t item = begin; item < end; item++) {
        row_run(job, item, &s);
    }
}

static void run(const struct vt_conv *conv, const struct vt_conv_data *data, struct vt_pool *pool,
                void *workspace)
{
    struct job job = {conv, data, workspace, workspace_bytes(conv, 1)};
    const int64_t rows = conv->out[0] * conv->out[1];
    const int64_t grain = 1 + 4096 / (conv->out[2] * (conv->out_channels / conv->groups) + 1);
    vt_pool_run(pool, conv->batch * conv->groups * rows, grain, run_rows, &job);
}

const struct vt_conv_way vt_conv_way_direct = {
    .name = "direct",
    .tiled = true,
    .fits = fits,
    .can = can,
    .init = vt_conv_columns_init,
    .pack = pack,
    .workspace_bytes = workspace_bytes,
    .run = run,
};
