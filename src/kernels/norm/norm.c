/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/norm/norm.h"

#include <math.h>

#include "base/topology.h"

#define LANES 8

struct affine {
    int64_t channels, n;
    const float *x, *scale, *shift;
    float *y;
};

static void run_planes(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct affine *a = ctx;
    (void)worker;
    for (int64_t plane = begin; plane < end; plane++) {
        const float scale = a->scale[plane % a->channels], shift = a->shift[plane % a->channels];
        const float *x = a->x + plane * a->n;
        float *y = a->y + plane * a->n;
        for (int64_t i = 0; i < a->n; i++) {
            y[i] = x[i] * scale + shift;
        }
    }
}

void vt_channel_affine_run(int64_t planes, int64_t channels, int64_t n, const float *x,
                           const float *scale, const float *shift, float *y, struct vt_pool *pool)
{
    struct affine a = {channels, n, x, scale, shift, y};
    vt_pool_run(pool, planes, 1 + 16384 / (n + 1), run_planes, &a);
}

/* Sum of x - centre, or of its square, in double lanes. */
static double sum_of(const float *x, int64_t n, double centre, int square)
{
    double lane[LANES] = {0}, sum = 0;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (int j = 0; j < LANES; j++) {
            const double v = (double)x[i + j] - centre;
            lane[j] += square ? v * v : v;
        }
    }
    for (; i < n; i++) {
        const double v = (double)x[i] - centre;
        sum += square ? v * v : v;
    }
    for (int j = 0; j < LANES; j++) {
        sum += lane[j];
    }
    return sum;
}

struct job {
    const struct vt_norm *norm;
    const float *x;
    float *y;
};

static void scale_row(const struct vt_norm *norm, int64_t row, float mean, float inverse,
                      const float *x, float *y)
{
    const float *scale = norm->scale, *bias = norm->bias;
    const int64_t first = row % norm->period * norm->blocks;
    for (int64_t b = 0; b < norm->blocks; b++) {
        const float factor = scale != NULL ? inverse * scale[first + b] : inverse;
        const float shift = bias != NULL ? bias[first + b] : 0.0f;
        for (int64_t i = b * norm->block; i < (b + 1) * norm->block; i++) {
            y[i] = (x[i] - mean) * factor + shift;
        }
    }
}

static void run_rows(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct job *job = ctx;
    const struct vt_norm *norm = job->norm;
    const int64_t n = norm->blocks * norm->block;
    (void)worker;
    for (int64_t row = begin; row < end; row++) {
        const float *x = job->x + row * n;
        const double mean = sum_of(x, n, 0.0, 0) / (double)n;
        const double variance = sum_of(x, n, mean, 1) / (double)n;
        const double inverse = 1.0 / sqrt(variance + (double)norm->epsilon);
        scale_row(norm, row, (float)mean, (float)inverse, x, job->y + row * n);
        if (norm->mean != NULL) {
            norm->mean[row] = (float)mean;
        }
        if (norm->inverse != NULL) {
            norm->inverse[row] = (float)inverse;
        }
    }
}

void vt_norm_run(const struct vt_norm *norm, const float *x, float *y, struct vt_pool *pool)
{
    struct job job = {norm, x, y};
    const int64_t n = norm->blocks * norm->block;
    if (norm->block == 1 && norm->period == 1) {
        const struct vt_layer_norm layer = {.rows = norm->rows,
                                            .n = n,
                                            .epsilon = norm->epsilon,
                                            .scale = norm->scale,
                                            .bias = norm->bias,
                                            .mean = norm->mean,
                                            .inverse = norm->inverse,
                                            .features = vt_topology()->features};
        vt_layer_norm_run(&layer, x, NULL, NULL, y, pool);
        return;
    }
    if (n > 0) {
        vt_pool_run(pool, norm->rows, 1 + 8192 / n, run_rows, &job);
    }
}
