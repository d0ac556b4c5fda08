/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/pool/pool.h"

#include <math.h>

#include "kernels/pool/span.h"

struct job {
    const struct vt_pooling_params *p;
    const float *x;
    float *y;
    int64_t *indices;
    const uint8_t *bytes;
    uint8_t *out_bytes;
    bool is_signed;
};

static int64_t flat_index(const struct vt_pooling_params *p, int64_t plane, int64_t at)
{
    const int64_t x = at % p->in[2], y = at / p->in[2] % p->in[1], z = at / p->in[2] / p->in[1];
    const int64_t volume = p->in[0] * p->in[1] * p->in[2];
    if (!p->column_major) {
        return plane * volume + at;
    }
    return plane * volume + z + p->in[0] * (y + p->in[1] * x);
}

static int64_t value_at(const struct job *job, const uint8_t *bytes, int64_t at)
{
    return job->is_signed ? (int64_t)(int8_t)bytes[at] : (int64_t)bytes[at];
}

/* Position of the maximum, -1 when the window holds nothing. The first of equals wins. */
static int64_t window_argmax(const struct job *job, int64_t plane, const struct vt_pool_span s[])
{
    const struct vt_pooling_params *p = job->p;
    const int64_t volume = p->in[0] * p->in[1] * p->in[2];
    int64_t best = -1;
    for (int64_t z = s[0].first; z < s[0].end; z += p->dilation[0]) {
        for (int64_t y = s[1].first; y < s[1].end; y += p->dilation[1]) {
            for (int64_t x = s[2].first; x < s[2].end; x += p->dilation[2]) {
                const int64_t at = (z * p->in[1] + y) * p->in[2] + x;
                if (best < 0) {
                    best = at;
                } else if (job->bytes != NULL) {
                    const uint8_t *image = job->bytes + plane * volume;
                    if (value_at(job, image, at) > value_at(job, image, best)) {
                        best = at;
                    }
                } else {
                    const float *image = job->x + plane * volume;
                    if (image[at] > image[best] ||
                        (image[at] != image[at] && image[best] == image[best])) {
                        best = at;
                    }
                }
            }
        }
    }
    return best;
}

static float window_reduce(const struct vt_pooling_params *p, const float *image,
                           const struct vt_pool_span s[])
{
    float sum = p->kind == VT_POOLING_MAX ? -INFINITY : 0.0f;
    for (int64_t z = s[0].first; z < s[0].end; z += p->dilation[0]) {
        for (int64_t y = s[1].first; y < s[1].end; y += p->dilation[1]) {
            const float *row = image + (z * p->in[1] + y) * p->in[2];
            for (int64_t x = s[2].first; x < s[2].end; x += p->dilation[2]) {
                if (p->kind == VT_POOLING_MAX) {
                    sum = row[x] > sum || row[x] != row[x] ? row[x] : sum;
                } else if (p->kind == VT_POOLING_AVERAGE) {
                    sum += row[x];
                } else {
                    sum += powf(fabsf(row[x]), (float)p->p);
                }
            }
        }
    }
    if (p->kind == VT_POOLING_LP) {
        return powf(sum, 1.0f / (float)p->p);
    }
    if (p->kind == VT_POOLING_MAX) {
        return sum;
    }
    const int64_t taps = p->count_padding ? s[0].padded * s[1].padded * s[2].padded
                                          : s[0].taps * s[1].taps * s[2].taps;
    return taps > 0 ? sum / (float)taps : 0.0f;
}

static void one_output(const struct job *job, int64_t plane, int64_t o,
                       const struct vt_pool_span s[])
{
    const struct vt_pooling_params *p = job->p;
    const int64_t volume = p->in[0] * p->in[1] * p->in[2];
    if (job->y != NULL && job->indices == NULL) {
        job->y[o] = window_reduce(p, job->x + plane * volume, s);
        return;
    }
    const int64_t at = window_argmax(job, plane, s);
    if (job->y == NULL) {
        job->out_bytes[o] = at < 0 ? 0 : job->bytes[plane * volume + at];
    } else {
        job->y[o] = at < 0 ? -INFINITY : job->x[plane * volume + at];
    }
    if (job->indices != NULL) {
        job->indices[o] = at < 0 ? -1 : flat_index(p, plane, at);
    }
}

/* A row of maxima or sums without padding along it: tap by tap, so that it becomes vector code. */
static void inner_row(const struct vt_pooling_params *p, const float *image,
                      const struct vt_pool_span s[], int64_t ox, int64_t n, float *restrict y)
{
    const int64_t stride = p->stride[2], x0 = ox * stride - p->pad[2];
    const bool max = p->kind == VT_POOLING_MAX;
    for (int64_t i = 0; i < n; i++) {
        y[i] = max ? -INFINITY : 0.0f;
    }
    for (int64_t z = s[0].first; z < s[0].end; z += p->dilation[0]) {
        for (int64_t yy = s[1].first; yy < s[1].end; yy += p->dilation[1]) {
            for (int64_t k = 0; k < p->kernel[2]; k++) {
                const float *row = image + (z * p->in[1] + yy) * p->in[2] + x0 + k * p->dilation[2];
                if (max) {
                    for (int64_t i = 0; i < n; i++) {
                        const float v = row[i * stride];
                        y[i] = v > y[i] || v != v ? v : y[i];
                    }
                } else {
                    for (int64_t i = 0; i < n; i++) {
                        y[i] += row[i * stride];
                    }
                }
            }
        }
    }
    if (max) {
        return;
    }
    const int64_t taps = p->count_padding ? s[0].padded * s[1].padded * p->kernel[2]
                                          : s[0].taps * s[1].taps * p->kernel[2];
    const float scale = taps > 0 ? 1.0f / (float)taps : 0.0f;
    for (int64_t i = 0; i < n; i++) {
        y[i] *= scale;
    }
}

static void run_rows(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct job *job = ctx;
    const struct vt_pooling_params *p = job->p;
    const int64_t reach = (p->kernel[2] - 1) * p->dilation[2];
    const bool plain = job->y != NULL && job->indices == NULL && p->kind != VT_POOLING_LP;
    /* Outputs whose taps all lie in the row: [inner_begin, inner_end). */
    int64_t inner_begin = (p->pad[2] + p->stride[2] - 1) / p->stride[2];
    int64_t inner_end = p->in[2] - reach - 1 + p->pad[2] < 0
                            ? 0
                            : (p->in[2] - reach - 1 + p->pad[2]) / p->stride[2] + 1;
    inner_end = inner_end < p->out[2] ? inner_end : p->out[2];

    (void)worker;
    for (int64_t row = begin; row < end; row++) {
        const int64_t plane = row / p->out[1] / p->out[0];
        struct vt_pool_span s[VT_POOL_DIMS];
        s[0] = vt_pool_span_of(p, 0, row / p->out[1] % p->out[0]);
        s[1] = vt_pool_span_of(p, 1, row % p->out[1]);
        for (int64_t ox = 0; ox < p->out[2]; ox++) {
            if (plain && ox == inner_begin && inner_end > inner_begin) {
                inner_row(p, job->x + plane * p->in[0] * p->in[1] * p->in[2], s, ox, inner_end - ox,
                          job->y + row * p->out[2] + ox);
                ox = inner_end - 1;
                continue;
            }
            s[2] = vt_pool_span_of(p, 2, ox);
            one_output(job, plane, row * p->out[2] + ox, s);
        }
    }
}

void vt_pooling_run(const struct vt_pooling_params *params, const float *x, float *y,
                    int64_t *indices, struct vt_pool *pool)
{
    struct job job = {.p = params, .x = x, .y = y, .indices = indices};
    if (params->channels_last) {
        vt_pooling_run_last(params, x, y, pool);
        return;
    }
    const int64_t taps = params->kernel[0] * params->kernel[1] * params->kernel[2];
    const int64_t grain = 1 + 8192 / (params->out[2] * taps + 1);
    vt_pool_run(pool, params->planes * params->out[0] * params->out[1], grain, run_rows, &job);
}

void vt_pooling_max_u8(const struct vt_pooling_params *params, const uint8_t *x, uint8_t *y,
                       int64_t *indices, bool is_signed)
{
    struct job job = {
        .p = params, .bytes = x, .out_bytes = y, .indices = indices, .is_signed = is_signed};
    run_rows(&job, 0, params->planes * params->out[0] * params->out[1], 0);
}

struct global {
    enum vt_pooling kind;
    int64_t p, n;
    const float *x;
    float *y;
};

static void run_planes(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct global *g = ctx;
    (void)worker;
    for (int64_t plane = begin; plane < end; plane++) {
        const float *x = g->x + plane * g->n;
        float lane[16] = {0}, max = -INFINITY;
        double sum = 0;
        int64_t i = 0;
        if (g->kind == VT_POOLING_MAX) {
            for (; i < g->n; i++) {
                max = x[i] > max || x[i] != x[i] ? x[i] : max;
            }
            g->y[plane] = max;
        } else if (g->kind == VT_POOLING_AVERAGE) {
            for (; i + 16 <= g->n; i += 16) {
                for (int j = 0; j < 16; j++) {
                    lane[j] += x[i + j];
                }
            }
            for (int j = 0; j < 16; j++) {
                sum += (double)lane[j];
            }
            for (; i < g->n; i++) {
                sum += (double)x[i];
            }
            g->y[plane] = (float)(sum / (double)g->n);
        } else {
            for (; i < g->n; i++) {
                sum += pow(fabs((double)x[i]), (double)g->p);
            }
            g->y[plane] = (float)pow(sum, 1.0 / (double)g->p);
        }
    }
}

void vt_pooling_global(enum vt_pooling kind, int64_t p, int64_t planes, int64_t n, const float *x,
                       float *y, struct vt_pool *pool)
{
    struct global g = {kind, p, n, x, y};
    vt_pool_run(pool, planes, 1 + 8192 / (n + 1), run_planes, &g);
}
