/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Channels-last convolution of few channels (the first layer of a network) without patches: along a
 * line of the image the taps of neighbouring outputs overlap, and all that one output needs of the
 * line lies side by side. The micro-kernel walks over such lines; only the margins are added, a
 * band of the image at a time.
 */
#include <string.h>

#include "kernels/conv/ways.h"

#define CHANNELS_MAX 16 /* beyond, copying patches costs little beside the product */
#define LINES_MAX    64
#define BAND_FLOATS  (INT64_C(32) << 10) /* of a worker's band, where one output line needs less */
#define BAND_MAX     (INT64_C(16) << 20) /* what one output line may need */

/* How the image is cut: work items are bands of output lines of one plane. */
struct bands {
    int64_t lines;  /* output lines of a band */
    int64_t height; /* image lines below them */
    int64_t width;  /* floats of an image line with its margins */
    int64_t per_plane;
};

static int64_t reach(const struct vt_conv *conv, int axis, int64_t outputs)
{
    return (outputs - 1) * conv->stride[axis] + (conv->kernel[axis] - 1) * conv->dilation[axis] + 1;
}

static bool bands_init(struct bands *b, const struct vt_conv *conv)
{
    int64_t line;
    b->width = reach(conv, 2, conv->out[2]) * conv->in_channels;
    b->lines = 1;
    b->height = reach(conv, 1, 1);
    if (__builtin_mul_overflow(b->width, b->height, &line) ||
        __builtin_mul_overflow(line, conv->kernel[0], &line) || line > BAND_MAX) {
        return false;
    }
    while (b->lines < conv->out[1] && b->lines < 16 &&
           b->width * reach(conv, 1, b->lines + 1) * conv->kernel[0] <= BAND_FLOATS) {
        b->height = reach(conv, 1, ++b->lines);
    }
    b->per_plane = (conv->out[1] + b->lines - 1) / b->lines;
    return true;
}

static bool fits(const struct vt_conv *conv)
{
    struct bands bands;
    return conv->channels_last && !conv->transposed && conv->groups == 1 &&
           conv->dilation[2] == 1 && conv->in_channels <= CHANNELS_MAX && conv->kernel[2] > 1 &&
           conv->kernel[0] <= LINES_MAX && conv->kernel[1] <= LINES_MAX &&
           conv->kernel[0] * conv->kernel[1] <= LINES_MAX && conv_depth(conv) <= VT_GEMM_KC &&
           conv->out[2] >= 2 * (int64_t)conv->gemm->mr && bands_init(&bands, conv);
}

/* Copies line y of plane z between its margins; zeros where there is none. */
static void copy_line(const struct vt_conv *conv, const float *image, int64_t z, int64_t y,
                      int64_t width, float *out)
{
    const int64_t channels = conv->in_channels;
    const int64_t left = conv->pad[2] * channels < width ? conv->pad[2] * channels : width;
    int64_t inside = conv->in[2] * channels;
    if (z < 0 || z >= conv->in[0] || y < 0 || y >= conv->in[1]) {
        memset(out, 0, (size_t)width * sizeof(float));
        return;
    }
    inside = inside < width - left ? inside : width - left;
    memset(out, 0, (size_t)left * sizeof(float));
    memcpy(out + left, image + (z * conv->in[1] + y) * conv->in[2] * channels,
           (size_t)inside * sizeof(float));
    memset(out + left + inside, 0, (size_t)(width - left - inside) * sizeof(float));
}

struct job {
    const struct vt_conv *conv;
    const struct vt_conv_data *data;
    struct bands bands;
    float *workspace;
    int64_t worker_floats;
};

/* Some output lines, which begin at float `at` of the output, from a band in scratch. */
static void compute_band(const struct job *job, const float *band, int64_t at, int64_t lines)
{
    const struct vt_conv *conv = job->conv;
    const struct vt_gemm_kernel *kernel = conv->gemm;
    const struct bands *b = &job->bands;
    const int64_t depth = conv_depth(conv), width = conv->out[2];
    const float *taps[LINES_MAX];
    struct vt_gemm_tile tile = {.k = conv->kernel[2] * conv->in_channels,
                                .a_stride = conv->stride[2] * conv->in_channels,
                                .lines = taps,
                                .n_lines = conv->kernel[0] * conv->kernel[1],
                                .ldc = conv->out_channels,
                                .finish = &conv->finish};
    for (int64_t n = 0; n < conv->out_channels; n += kernel->nr) {
        const int64_t left = conv->out_channels - n;
        const uint32_t cols = (uint32_t)(left < kernel->nr ? left : kernel->nr);
        tile.b = job->data->packed + n * depth;
        tile.col_bias = job->data->bias != NULL ? job->data->bias + n : NULL;
        for (int64_t y = 0; y < lines; y++) {
            int64_t tiles = (width + kernel->mr - 1) / kernel->mr;
            uint32_t rows;
            for (int64_t x = 0; x < width; x += rows, tiles--) {
                const int64_t offset = at + (y * width + x) * conv->out_channels + n;
                rows = (uint32_t)((width - x + tiles - 1) / tiles);
                for (int64_t t = 0; t < tile.n_lines; t++) {
                    const int64_t line = t / conv->kernel[1] * b->height + y * conv->stride[1] +
                                         t % conv->kernel[1] * conv->dilation[1];
                    taps[t] = band + line * b->width + x * tile.a_stride;
                }
                tile.c = job->data->output + offset;
                tile.residual = job->data->residual != NULL ? job->data->residual + offset : NULL;
                vt_gemm_tile_narrow(kernel, kernel->lines, &tile, rows, cols);
            }
        }
    }
}

static void run_bands(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct job *job = ctx;
    const struct vt_conv *conv = job->conv;
    const struct bands *b = &job->bands;
    float *scratch = job->workspace + worker * job->worker_floats;
    for (int64_t item = begin; item < end; item++) {
        const int64_t plane = item / b->per_plane, y = item % b->per_plane * b->lines;
        const int64_t image = plane / conv->out[0], z = plane % conv->out[0];
        const int64_t lines = conv->out[1] - y < b->lines ? conv->out[1] - y : b->lines;
        const int64_t height = reach(conv, 1, lines);
        const float *input = job->data->input + image * conv_volume(conv->in) * conv->in_channels;
        for (int64_t kz = 0; kz < conv->kernel[0]; kz++) {
            for (int64_t line = 0; line < height; line++) {
                copy_line(conv, input, z * conv->stride[0] - conv->pad[0] + kz * conv->dilation[0],
                          y * conv->stride[1] - conv->pad[1] + line, b->width,
                          scratch + (kz * b->height + line) * b->width);
            }
        }
        compute_band(job, scratch, (plane * conv->out[1] + y) * conv->out[2] * conv->out_channels,
                     lines);
    }
}

static int64_t worker_floats(const struct vt_conv *conv, const struct bands *bands)
{
    return (bands->width * bands->height * conv->kernel[0] + 15) / 16 * 16;
}

static size_t workspace_bytes(const struct vt_conv *conv, uint32_t threads)
{
    struct bands bands;
    (void)bands_init(&bands, conv);
    return threads * (size_t)worker_floats(conv, &bands) * sizeof(float);
}

static void run(const struct vt_conv *conv, const struct vt_conv_data *data, struct vt_pool *pool,
                void *workspace)
{
    struct job job = {.conv = conv, .data = data, .workspace = workspace};
    (void)bands_init(&job.bands, conv);
    job.worker_floats = worker_floats(conv, &job.bands);
    vt_pool_run(pool, conv->batch * conv->out[0] * job.bands.per_plane, 1, run_bands, &job);
}

/* As for a product over rows: up to VT_GEMM_KC steps, both are packed alike. */
static void init(struct vt_conv *conv)
{
    vt_conv_way_rows.init(conv);
}

static void pack(const struct vt_conv *conv, const float *weights, const float *channel_scale,
                 float *ret_packed)
{
    vt_conv_way_rows.pack(conv, weights, channel_scale, ret_packed);
}

const struct vt_conv_way vt_conv_way_lines = {"lines",         true, fits, init, pack,
                                              workspace_bytes, run};
