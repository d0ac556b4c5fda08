/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/softmax/softmax.h"

#include <math.h>

#include "base/topology.h"
#include "kernels/softmax/ways.h"

struct job {
    enum vt_softmax kind;
    int64_t n, inner;
    const float *x;
    float *y;
};

static void one_column(const struct job *job, const float *x, float *y)
{
    const int64_t step = job->inner;
    float max = -INFINITY, sum = 0.0f;
    int64_t at = 0;
    for (int64_t i = 0; i < job->n; i++) {
        if (x[i * step] > max) {
            max = x[i * step];
            at = i;
        }
    }
    if (job->kind == VT_HARDMAX) {
        for (int64_t i = 0; i < job->n; i++) {
            y[i * step] = i == at ? 1.0f : 0.0f;
        }
        return;
    }
    for (int64_t i = 0; i < job->n; i++) {
        const float e = expf(x[i * step] - max);
        sum += e;
        y[i * step] = job->kind == VT_LOG_SOFTMAX ? x[i * step] - max : e;
    }
    const float log_sum = logf(sum);
    for (int64_t i = 0; i < job->n; i++) {
        if (job->kind == VT_LOG_SOFTMAX) {
            y[i * step] -= log_sum;
        } else {
            y[i * step] /= sum;
        }
    }
}

static void run_columns(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct job *job = ctx;
    (void)worker;
    for (int64_t item = begin; item < end; item++) {
        const int64_t offset = item / job->inner * job->n * job->inner + item % job->inner;
        const float *x = job->x + offset;
        float *y = job->y + offset;
        if (job->inner != 1 || job->kind == VT_HARDMAX) {
            one_column(job, x, y);
            continue;
        }
#if defined(__x86_64__)
        if (vt_topology()->features & VT_CPU_AVX512) {
            vt_f32_softmax_row__avx512(job->kind == VT_LOG_SOFTMAX, job->n, x, y);
            continue;
        }
        if (vt_topology()->features & VT_CPU_AVX2) {
            vt_f32_softmax_row__avx2(job->kind == VT_LOG_SOFTMAX, job->n, x, y);
            continue;
        }
#endif
        vt_f32_softmax_row__portable(job->kind == VT_LOG_SOFTMAX, job->n, x, y);
    }
}

void vt_softmax_run(enum vt_softmax kind, int64_t outer, int64_t n, int64_t inner, const float *x,
                    float *y, struct vt_pool *pool)
{
    struct job job = {kind, n, inner, x, y};
    if (n > 0) {
        vt_pool_run(pool, outer * inner, 1 + 4096 / n, run_columns, &job);
    }
}
