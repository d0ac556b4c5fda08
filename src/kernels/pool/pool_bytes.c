/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maximum of 8-bit integers without indices: first down the columns, whole rows of the image at a
 * time, then along what came out. int8 are taken as uint8 whose order is the same.
 */
#include <string.h>

#include "kernels/pool/pool.h"

/* A wider image takes the general way. */
#define WIDTH_MOST 4096

struct job {
    const struct vt_pooling_params *p;
    const uint8_t *x;
    uint8_t *y;
    uint8_t flip;
};

/* First and last tap that lie in the image. */
static void tap_range(const struct vt_pooling_params *p, int axis, int64_t o, int64_t *first,
                      int64_t *end)
{
    const int64_t at = o * p->stride[axis] - p->pad[axis], d = p->dilation[axis];
    *first = at < 0 ? (-at + d - 1) / d : 0;
    *end = at >= p->in[axis] ? 0 : (p->in[axis] - at + d - 1) / d;
    *end = *end < p->kernel[axis] ? *end : p->kernel[axis];
}

/* The extent of the padded row that outputs and taps span. */
static int64_t span_of(const struct vt_pooling_params *p)
{
    return (p->out[2] - 1) * p->stride[2] + (p->kernel[2] - 1) * p->dilation[2] + 1;
}

static void take_row(const uint8_t *restrict x, int64_t n, uint8_t flip, uint8_t *restrict most)
{
    for (int64_t i = 0; i < n; i++) {
        const uint8_t value = x[i] ^ flip;
        most[i] = value > most[i] ? value : most[i];
    }
}

static void take_taps(const struct vt_pooling_params *p, const uint8_t *restrict most,
                      uint8_t *restrict out)
{
    const int64_t stride = p->stride[2], n = p->out[2];
    memset(out, 0, (size_t)n);
    for (int64_t kx = 0; kx < p->kernel[2]; kx++) {
        const uint8_t *from = most + kx * p->dilation[2];
        if (stride == 1) {
            take_row(from, n, 0, out);
        } else if (stride == 2) {
            for (int64_t x = 0; x < n; x++) {
                out[x] = from[2 * x] > out[x] ? from[2 * x] : out[x];
            }
        } else {
            for (int64_t x = 0; x < n; x++) {
                out[x] = from[x * stride] > out[x] ? from[x * stride] : out[x];
            }
        }
    }
}

static void run_rows(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct job *job = ctx;
    const struct vt_pooling_params *p = job->p;
    const int64_t span = span_of(p), before = p->pad[2] < span ? p->pad[2] : span;
    const int64_t width = span - before < p->in[2] ? span - before : p->in[2];
    uint8_t most[WIDTH_MOST]; /* 0 outside of the image */
    (void)worker;
    for (int64_t row = begin; row < end; row++) {
        const int64_t y = row % p->out[1], z = row / p->out[1] % p->out[0];
        const uint8_t *plane =
            job->x + row / p->out[1] / p->out[0] * p->in[0] * p->in[1] * p->in[2];
        uint8_t *out = job->y + row * p->out[2];
        int64_t first[2], last[2];
        tap_range(p, 0, z, &first[0], &last[0]);
        tap_range(p, 1, y, &first[1], &last[1]);
        memset(most, 0, (size_t)span);
        for (int64_t kz = first[0]; kz < last[0]; kz++) {
            for (int64_t ky = first[1]; ky < last[1]; ky++) {
                const int64_t iz = z * p->stride[0] - p->pad[0] + kz * p->dilation[0];
                const int64_t iy = y * p->stride[1] - p->pad[1] + ky * p->dilation[1];
                take_row(plane + (iz * p->in[1] + iy) * p->in[2], width, job->flip, most + before);
            }
        }
        take_taps(p, most, out);
        for (int64_t x = 0; x < p->out[2]; x++) {
            out[x] ^= job->flip;
        }
    }
}

bool vt_pooling_max_bytes(const struct vt_pooling_params *params, const uint8_t *x, uint8_t *y,
                          bool is_signed, struct vt_pool *pool)
{
    struct job job = {params, x, y, is_signed ? 0x80 : 0};
    if (params->out[2] > 0 && span_of(params) > WIDTH_MOST) {
        return false;
    }
    const int64_t rows = params->planes * params->out[0] * params->out[1];
    if (rows > 0 && params->out[2] > 0) {
        const int64_t grain = 1 + 16384 / (params->in[2] * params->kernel[1] + 1);
        vt_pool_run(pool, rows, grain, run_rows, &job);
    }
    return true;
}
