/* SPDX-License-Identifier: Apache-2.0 */
/* Channels-last pooling: each window is taken through all channels, a vector of them at a time. */
#include <math.h>

#include "base/topology.h"
#include "kernels/pool/span.h"
#include "kernels/pool/window.h"

/* Channels that one item of global pooling carries, and elements it sums up in float32. */
#define GLOBAL_CHANNELS 64
#define GLOBAL_ROWS     128

static vt_pool_window_func window_find(uint32_t features)
{
#if defined(__x86_64__)
    if (features & VT_CPU_AVX512) {
        return vt_f32_pool_window__avx512;
    }
    if (features & VT_CPU_AVX2) {
        return vt_f32_pool_window__avx2;
    }
#else
    (void)features;
#endif
    return vt_f32_pool_window__portable;
}

struct job {
    const struct vt_pooling_params *p;
    vt_pool_window_func func;
    const float *x;
    float *y;
};

static float scale_of(const struct vt_pooling_params *p, const struct vt_pool_span s[])
{
    if (p->kind == VT_POOLING_LP) {
        return 1.0f;
    }
    const int64_t taps = p->count_padding ? s[0].padded * s[1].padded * s[2].padded
                                          : s[0].taps * s[1].taps * s[2].taps;
    return taps > 0 ? 1.0f / (float)taps : 0.0f;
}

static void run_rows(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct job *job = ctx;
    const struct vt_pooling_params *p = job->p;
    const int64_t channels = p->channels;
    struct vt_pool_window w = {.kind = p->kind, .p = p->p, .channels = channels, .root = true};
    (void)worker;
    w.step[2] = p->dilation[2] * channels;
    w.step[1] = p->dilation[1] * p->in[2] * channels;
    w.step[0] = p->dilation[0] * p->in[1] * p->in[2] * channels;
    for (int64_t row = begin; row < end; row++) {
        const int64_t image = row / p->out[1] / p->out[0];
        struct vt_pool_span s[VT_POOL_DIMS];
        s[0] = vt_pool_span_of(p, 0, row / p->out[1] % p->out[0]);
        s[1] = vt_pool_span_of(p, 1, row % p->out[1]);
        for (int64_t x = 0; x < p->out[2]; x++) {
            s[2] = vt_pool_span_of(p, 2, x);
            const bool empty = s[0].taps == 0 || s[1].taps == 0 || s[2].taps == 0;
            const int64_t first =
                empty ? 0
                      : ((image * p->in[0] + s[0].first) * p->in[1] + s[1].first) * p->in[2] +
                            s[2].first;
            for (int d = 0; d < VT_POOL_DIMS; d++) {
                w.n[d] = s[d].taps;
            }
            w.x = job->x + first * channels;
            w.y = job->y + (row * p->out[2] + x) * channels;
            w.scale = scale_of(p, s);
            job->func(&w);
        }
    }
}

void vt_pooling_run_last(const struct vt_pooling_params *params, const float *x, float *y,
                         struct vt_pool *pool)
{
    struct job job = {params, window_find(params->features), x, y};
    if (params->channels < 1) {
        return;
    }
    const int64_t taps = params->kernel[0] * params->kernel[1] * params->kernel[2];
    const int64_t images = params->planes / params->channels;
    vt_pool_run(pool, images * params->out[0] * params->out[1],
                1 + 32768 / (params->out[2] * params->channels * taps + 1), run_rows, &job);
}

struct global {
    const struct vt_pooling_global_last *g;
    vt_pool_window_func func;
    int64_t blocks;
    const float *x;
    float *y;
};

/* Up to GLOBAL_CHANNELS channels of one image: short sums in float32, these in double. */
static void run_block(const struct global *job, int64_t image, int64_t first)
{
    const struct vt_pooling_global_last *g = job->g;
    const int64_t left = g->channels - first;
    const int64_t channels = left < GLOBAL_CHANNELS ? left : GLOBAL_CHANNELS;
    float part[GLOBAL_CHANNELS];
    double sum[GLOBAL_CHANNELS];
    struct vt_pool_window w = {.kind = g->kind,
                               .p = g->p,
                               .n = {1, 1, 0},
                               .step = {0, 0, g->channels},
                               .channels = channels,
                               .scale = 1.0f,
                               .y = part};
    for (int64_t c = 0; c < channels; c++) {
        sum[c] = g->kind == VT_POOLING_MAX ? (double)-INFINITY : 0.0;
    }
    for (int64_t i = 0; i < g->n; i += GLOBAL_ROWS) {
        w.n[2] = g->n - i < GLOBAL_ROWS ? g->n - i : GLOBAL_ROWS;
        w.x = job->x + (image * g->n + i) * g->channels + first;
        job->func(&w);
        for (int64_t c = 0; c < channels; c++) {
            const double v = (double)part[c];
            if (g->kind == VT_POOLING_MAX) {
                sum[c] = v > sum[c] || v != v ? v : sum[c];
            } else {
                sum[c] += v;
            }
        }
    }
    float *y = job->y + image * g->channels + first;
    for (int64_t c = 0; c < channels; c++) {
        if (g->kind == VT_POOLING_AVERAGE) {
            sum[c] /= (double)g->n;
        } else if (g->kind == VT_POOLING_LP) {
            sum[c] = pow(sum[c], 1.0 / (double)g->p);
        }
        y[c] = (float)sum[c];
    }
}

static void run_blocks(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct global *job = ctx;
    (void)worker;
    for (int64_t item = begin; item < end; item++) {
        run_block(job, item / job->blocks, item % job->blocks * GLOBAL_CHANNELS);
    }
}

void vt_pooling_global_last_run(const struct vt_pooling_global_last *global, const float *x,
                                float *y, struct vt_pool *pool)
{
    struct global job = {global, window_find(global->features),
                         (global->channels + GLOBAL_CHANNELS - 1) / GLOBAL_CHANNELS, x, y};
    vt_pool_run(pool, global->batch * job.blocks, 1 + 16384 / (GLOBAL_CHANNELS * global->n + 1),
                run_blocks, &job);
}
