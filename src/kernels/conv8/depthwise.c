/* SPDX-License-Identifier: Apache-2.0 */
/* One input channel a group: each plane is padded and swept row by row, four taps of a row of the
 * kernel at a time. Taps that lie apart have zeros between them. */
#include <string.h>

#include "base/topology.h"
#include "kernels/conv8/ways.h"

/* What the kernels may read beyond a row, and how many rows of the kernel there may be. */
#define SLACK 80
/* Sums that are finished together, as far as whole rows allow. */
#define TOGETHER_MOST 8192
#define TAPS_MAX      64
/* Wider kernels are mostly zeros, or no image processing at all. */
#define WIDTH_MAX 64

static int64_t fours_of(const struct vt_conv8 *conv)
{
    return ((conv->kernel[2] - 1) * conv->dilation[2] + 1 + 3) / 4;
}

static int64_t rows_of(const struct vt_conv8 *conv)
{
    return conv->kernel[0] * conv->kernel[1];
}

static bool fits(const struct vt_conv8 *conv)
{
    return conv8_ins(conv) == 1 && conv->groups > 1 && rows_of(conv) <= TAPS_MAX &&
           fours_of(conv) <= WIDTH_MAX / 4;
}

static size_t packed_bytes(const struct vt_conv8 *conv)
{
    return (size_t)(conv8_outs(conv) * rows_of(conv) * fours_of(conv) * 4);
}

static void pack(const struct vt_conv8 *conv, const uint8_t *weights, uint8_t flip,
                 void *ret_packed)
{
    const int64_t width = conv->kernel[2], padded = fours_of(conv) * 4;
    int8_t *out = ret_packed;
    memset(out, 0, packed_bytes(conv));
    for (int64_t row = 0; row < conv8_outs(conv) * rows_of(conv); row++) {
        for (int64_t i = 0; i < width; i++) {
            out[row * padded + i * conv->dilation[2]] = (int8_t)(weights[row * width + i] ^ flip);
        }
    }
}

static int64_t row_bytes(const struct vt_conv8 *conv)
{
    return conv8_span(conv, 2) + SLACK + 15 * conv->stride[2];
}

static size_t plane_bytes(const struct vt_conv8 *conv)
{
    const int64_t bytes = conv8_span(conv, 0) * conv8_span(conv, 1) * row_bytes(conv);
    return (size_t)(bytes + 63) / 64 * 64;
}

/* Rows of a slice whose sums are finished together. */
static int64_t rows_together(const struct vt_conv8 *conv)
{
    const int64_t rows = conv->out[1], most = TOGETHER_MOST / conv->out[2];
    return most < 1 ? 1 : (most < rows ? most : rows);
}

static size_t sums_bytes(const struct vt_conv8 *conv)
{
    return (size_t)(rows_together(conv) * conv->out[2] + 31) / 16 * 64;
}

static size_t workspace_bytes(const struct vt_conv8 *conv, bool weight_zeros, uint32_t threads)
{
    (void)weight_zeros;
    return threads * (plane_bytes(conv) + sums_bytes(conv));
}

struct sweep {
    const struct vt_conv8 *conv;
    const struct vt_conv8_data *data;
    char *workspace;
};

static void pad_plane(const struct vt_conv8 *conv, const uint8_t *in, uint8_t *out)
{
    const int64_t bytes = row_bytes(conv), span = conv8_span(conv, 2), height = conv8_span(conv, 1);
    const int64_t before = conv->pad[2] < span ? conv->pad[2] : span;
    const int64_t n = span - before < conv->in[2] ? span - before : conv->in[2];
    const uint8_t flip = conv8_flip(conv);
    memset(out, conv8_zero(conv), (size_t)(conv8_span(conv, 0) * height * bytes));
    for (int64_t z = 0; z < conv8_span(conv, 0); z++) {
        for (int64_t y = 0; y < height; y++, out += bytes) {
            const int64_t iz = z - conv->pad[0], iy = y - conv->pad[1];
            if (iz < 0 || iz >= conv->in[0] || iy < 0 || iy >= conv->in[1]) {
                continue;
            }
            const uint8_t *from = in + (iz * conv->in[1] + iy) * conv->in[2];
            if (flip == 0) {
                memcpy(out + before, from, (size_t)n);
            }
            for (int64_t x = 0; flip != 0 && x < n; x++) {
                out[before + x] = from[x] ^ flip;
            }
        }
    }
}

/* The zero point of the weights times the sum of what they meet. */
static void take_zeros(const struct vt_conv8 *conv, const struct vt_conv8_depthwise *job,
                       int32_t zero)
{
    for (int64_t i = 0; i < job->rows * job->n; i++) {
        const uint8_t *base = job->base + i / job->n * job->step + i % job->n * job->stride;
        uint32_t sum = 0;
        for (int64_t r = 0; r < job->taps; r++) {
            for (int64_t k = 0; k < conv->kernel[2]; k++) {
                sum += base[job->offsets[r] + k * conv->dilation[2]];
            }
        }
        job->sums[i] = (int32_t)((uint32_t)job->sums[i] - (uint32_t)zero * sum);
    }
}

static void make_sums(const struct vt_conv8 *conv, const struct vt_conv8_depthwise *job)
{
#if defined(__x86_64__)
    const uint32_t wide = VT_CPU_AVX512 | VT_CPU_VNNI;
    if ((conv->features & wide) == wide && conv->stride[2] <= 4) {
        vt_s8_depthwise__vnni(job);
        return;
    }
#endif
    (void)conv;
    vt_s8_depthwise__portable(job);
}

/* Where a sum's rows lie, from that of its first tap on. */
static void find_offsets(const struct vt_conv8 *conv, int64_t offsets[TAPS_MAX])
{
    const int64_t bytes = row_bytes(conv), height = conv8_span(conv, 1);
    for (int64_t r = 0; r < rows_of(conv); r++) {
        const int64_t kz = r / conv->kernel[1], ky = r % conv->kernel[1];
        offsets[r] = (kz * conv->dilation[0] * height + ky * conv->dilation[1]) * bytes;
    }
}

/* One output channel of one image, the plane of its input is padded already. */
static void sweep_plane(const struct sweep *s, const uint8_t *plane, int64_t image, int64_t channel,
                        int32_t *sums)
{
    const struct vt_conv8 *conv = s->conv;
    const struct vt_gemm8_finish *finish = s->data->finish;
    const int64_t bytes = row_bytes(conv), together = rows_together(conv);
    int64_t offsets[TAPS_MAX];
    struct vt_conv8_depthwise job = {.offsets = offsets,
                                     .taps = rows_of(conv),
                                     .fours = fours_of(conv),
                                     .n = conv->out[2],
                                     .stride = conv->stride[2],
                                     .step = conv->stride[1] * bytes,
                                     .sums = sums};
    struct vt_gemm8_tile tile = {.sums = sums, .rows = 1, .row = channel};
    int64_t at = (image * conv->out_channels + channel) * conv8_volume(conv->out);
    job.weights = (const int8_t *)s->data->packed + channel * job.taps * job.fours * 4;
    find_offsets(conv, offsets);
    for (int64_t z = 0; z < conv->out[0]; z++) {
        for (int64_t y = 0; y < conv->out[1]; y += together, at += tile.cols) {
            job.rows = conv->out[1] - y < together ? conv->out[1] - y : together;
            job.base =
                plane + (z * conv->stride[0] * conv8_span(conv, 1) + y * conv->stride[1]) * bytes;
            make_sums(conv, &job);
            if (finish->a_zero != NULL) {
                take_zeros(conv, &job, finish->a_zero[channel]);
            }
            tile.cols = (uint32_t)(job.rows * job.n);
            tile.output = (char *)s->data->output + (size_t)at * vt_dtype_bytes(finish->output);
            tile.residual = s->data->residual != NULL ? (const char *)s->data->residual + at : NULL;
            conv->gemm->finish(finish, &tile);
        }
    }
}

static void sweep_items(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct sweep *s = ctx;
    const struct vt_conv8 *conv = s->conv;
    char *scratch = s->workspace + worker * (plane_bytes(conv) + sums_bytes(conv));
    int32_t *sums = (int32_t *)(void *)(scratch + plane_bytes(conv));
    const int64_t outs = conv8_outs(conv), in_plane = conv8_volume(conv->in);
    for (int64_t item = begin; item < end; item++) {
        const int64_t image = item / conv->groups, group = item % conv->groups;
        pad_plane(conv, (const uint8_t *)s->data->input + item * in_plane, (uint8_t *)scratch);
        for (int64_t o = 0; o < outs; o++) {
            sweep_plane(s, (const uint8_t *)scratch, image, group * outs + o, sums);
        }
    }
}

static void run(const struct vt_conv8 *conv, const struct vt_conv8_data *data, struct vt_pool *pool,
                void *workspace)
{
    struct sweep sweep = {conv, data, workspace};
    vt_pool_run(pool, conv->batch * conv->groups, 1, sweep_items, &sweep);
}

void vt_s8_depthwise__portable(const struct vt_conv8_depthwise *job)
{
    const int64_t width = job->fours * 4;
    for (int64_t y = 0; y < job->rows; y++) {
        uint32_t *sums = (uint32_t *)job->sums + y * job->n;
        memset(sums, 0, (size_t)job->n * sizeof(*sums));
        for (int64_t r = 0; r < job->taps; r++) {
            for (int64_t i = 0; i < width; i++) {
                const int32_t w = job->weights[r * width + i];
                const uint8_t *x = job->base + y * job->step + job->offsets[r] + i;
                for (int64_t n = 0; w != 0 && n < job->n; n++) {
                    sums[n] += (uint32_t)(w * x[n * job->stride]);
                }
            }
        }
    }
}

const struct vt_conv8_way vt_conv8_way_depthwise = {
    "depthwise", false, fits, packed_bytes, pack, workspace_bytes, run};
