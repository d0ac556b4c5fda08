/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "kernels/pool/pool.h"

#define STRETCH 256

struct job {
    const struct vt_lrn_params *p;
    const float *x;
    float *y;
};

static void run_stretches(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct job *job = ctx;
    const struct vt_lrn_params *p = job->p;
    const int64_t before = (p->size - 1) / 2, stretches = (p->spatial + STRETCH - 1) / STRETCH;
    float sum[STRETCH];

    (void)worker;
    for (int64_t item = begin; item < end; item++) {
        const int64_t plane = item / stretches, at = item % stretches * STRETCH;
        const int64_t c = plane % p->channels, image = plane - c;
        const int64_t n = p->spatial - at < STRETCH ? p->spatial - at : STRETCH;
        const int64_t first = c - before > 0 ? c - before : 0;
        const int64_t last =
            c - before + p->size < p->channels ? c - before + p->size : p->channels;
        for (int64_t i = 0; i < n; i++) {
            sum[i] = 0.0f;
        }
        for (int64_t k = first; k < last; k++) {
            const float *x = job->x + (image + k) * p->spatial + at;
            for (int64_t i = 0; i < n; i++) {
                sum[i] += x[i] * x[i];
            }
        }
        const float *x = job->x + plane * p->spatial + at;
        float *y = job->y + plane * p->spatial + at;
        for (int64_t i = 0; i < n; i++) {
            y[i] = x[i] * powf(p->bias + p->alpha / (float)p->size * sum[i], -p->beta);
        }
    }
}

void vt_lrn_run(const struct vt_lrn_params *params, const float *x, float *y, struct vt_pool *pool)
{
    struct job job = {params, x, y};
    const int64_t stretches = (params->spatial + STRETCH - 1) / STRETCH;
    vt_pool_run(pool, params->batch * params->channels * stretches, 8, run_stretches, &job);
}
