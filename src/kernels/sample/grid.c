/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "kernels/sample/sample.h"

#define TAPS_MAX 4

/* A position mirrored until it lies within [low, high]. */
static float reflect(float v, float low, float high)
{
    const float range = high - low;
    if (!(range > 0.0f)) {
        return low;
    }
    if (v >= low && v <= high) {
        return v;
    }
    const float from = v < low ? low - v : v - high;
    const float turns = floorf(from / range), rest = from - turns * range;
    const bool odd = fmodf(turns, 2.0f) != 0.0f;
    return (v < low) != odd ? low + rest : high - rest;
}

/* As an index; what is no number, or so far outside that no tap reaches the image, is bounded. */
static int64_t to_index(float v, int64_t extent)
{
    if (!(v > -TAPS_MAX)) {
        return -TAPS_MAX;
    }
    return v < (float)extent + TAPS_MAX ? (int64_t)v : extent + TAPS_MAX;
}

/* Weights of the taps at positions first, first + 1 …; returns how many. */
static int taps_of(enum vt_sample_mode mode, float at, int64_t extent, int64_t *ret_first,
                   float *weight)
{
    const float a = -0.75f;
    if (mode == VT_SAMPLE_NEAREST) {
        *ret_first = to_index(rintf(at), extent);
        weight[0] = 1.0f;
        return 1;
    }
    const float low = floorf(at), t = at - low;
    if (mode == VT_SAMPLE_LINEAR) {
        *ret_first = to_index(low, extent);
        weight[0] = 1.0f - t;
        weight[1] = t;
        return 2;
    }
    *ret_first = to_index(low, extent) - 1;
    const float far = t + 1.0f, left = 1.0f - t, right = 2.0f - t;
    weight[0] = ((a * far - 5.0f * a) * far + 8.0f * a) * far - 4.0f * a;
    weight[1] = ((a + 2.0f) * t - (a + 3.0f)) * t * t + 1.0f;
    weight[2] = ((a + 2.0f) * left - (a + 3.0f)) * left * left + 1.0f;
    weight[3] = ((a * right - 5.0f * a) * right + 8.0f * a) * right - 4.0f * a;
    return 4;
}

/* Where tap `i` reads: an index, or -1 for a zero. */
static int64_t pixel_of(const struct vt_grid_sample *g, int64_t i, int64_t extent)
{
    if (i >= 0 && i < extent) {
        return i;
    }
    if (g->padding == VT_SAMPLE_ZEROS) {
        return -1;
    }
    if (g->padding == VT_SAMPLE_REFLECTION) {
        i = (int64_t)(g->align_corners ? reflect((float)i, 0.0f, (float)(extent - 1))
                                       : reflect((float)i, -0.5f, (float)extent - 0.5f));
    }
    return i < 0 ? 0 : (i >= extent ? extent - 1 : i);
}

/* All taps of a point: pixels (or -1) and weights along each extent. */
struct point {
    int n[VT_SAMPLE_DIMS];
    int64_t pixel[VT_SAMPLE_DIMS][TAPS_MAX];
    float weight[VT_SAMPLE_DIMS][TAPS_MAX];
};

static void find_taps(const struct vt_grid_sample *g, const float *position, struct point *p)
{
    for (uint32_t d = 0; d < VT_SAMPLE_DIMS; d++) {
        p->n[d] = 1;
        p->pixel[d][0] = 0;
        p->weight[d][0] = 1.0f;
    }
    for (uint32_t i = 0; i < g->dims; i++) {
        const uint32_t d = VT_SAMPLE_DIMS - 1 - i; /* the grid names the last extent first */
        const int64_t extent = g->in[d];
        const float n = (float)extent;
        float at = g->align_corners ? (position[i] + 1.0f) / 2.0f * (n - 1.0f)
                                    : ((position[i] + 1.0f) * n - 1.0f) / 2.0f;
        const float low = g->align_corners ? 0.0f : -0.5f;
        const float high = g->align_corners ? n - 1.0f : n - 0.5f;
        if (g->padding == VT_SAMPLE_BORDER && !(at >= low && at <= high)) {
            at = at > high ? n - 1.0f : 0.0f;
        } else if (g->padding == VT_SAMPLE_REFLECTION) {
            at = reflect(at, low, high);
        }
        int64_t first = 0;
        p->n[d] = taps_of(g->mode, at, extent, &first, p->weight[d]);
        for (int t = 0; t < p->n[d]; t++) {
            p->pixel[d][t] = pixel_of(g, first + t, extent);
        }
    }
}

static float read_point(const struct vt_grid_sample *g, const struct point *p, const float *x)
{
    float sum = 0.0f;
    for (int i = 0; i < p->n[0]; i++) {
        for (int j = 0; j < p->n[1]; j++) {
            float row = 0.0f;
            if (p->pixel[0][i] < 0 || p->pixel[1][j] < 0) {
                continue;
            }
            const float *line = x + (p->pixel[0][i] * g->in[1] + p->pixel[1][j]) * g->in[2];
            for (int k = 0; k < p->n[2]; k++) {
                row += p->pixel[2][k] < 0 ? 0.0f : p->weight[2][k] * line[p->pixel[2][k]];
            }
            sum += p->weight[0][i] * p->weight[1][j] * row;
        }
    }
    return sum;
}

struct job {
    const struct vt_grid_sample *g;
    const float *x, *grid;
    float *y;
};

static void run_points(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct job *job = ctx;
    const struct vt_grid_sample *g = job->g;
    const int64_t plane = g->in[0] * g->in[1] * g->in[2];
    struct point p;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        const int64_t batch = i / g->points, at = i % g->points;
        find_taps(g, job->grid + i * g->dims, &p);
        for (int64_t c = 0; c < g->channels; c++) {
            const int64_t channel = batch * g->channels + c;
            job->y[channel * g->points + at] =
                plane > 0 ? read_point(g, &p, job->x + channel * plane) : 0.0f;
        }
    }
}

void vt_grid_sample_run(const struct vt_grid_sample *g, const float *x, const float *grid, float *y,
                        struct vt_pool *pool)
{
    struct job job = {g, x, grid, y};
    if (g->batch * g->points > 0) {
        vt_pool_run(pool, g->batch * g->points, 256, run_points, &job);
    }
}
