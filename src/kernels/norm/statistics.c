/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "kernels/norm/norm.h"

void vt_lp_normalize_run(int64_t outer, int64_t n, int64_t inner, int p, const float *x, float *y)
{
    for (int64_t row = 0; row < outer * inner; row++) {
        const int64_t start = row / inner * n * inner + row % inner;
        double norm = 0;
        for (int64_t i = 0; i < n; i++) {
            const double v = (double)x[start + i * inner];
            norm += p == 1 ? fabs(v) : v * v;
        }
        norm = p == 1 ? norm : sqrt(norm);
        for (int64_t i = 0; i < n; i++) {
            const int64_t at = start + i * inner;
            y[at] = norm > 0 ? (float)((double)x[at] / norm) : 0.0f;
        }
    }
}

static int64_t group_of(const struct vt_mean_variance *m, int64_t i)
{
    int64_t group = 0;
    for (uint32_t d = m->rank; d-- > 0;) {
        group += i % m->dim[d] * m->step[d];
        i /= m->dim[d];
    }
    return group;
}

void vt_mean_variance_run(const struct vt_mean_variance *m, const float *x, float *y,
                          double *workspace)
{
    double *mean = workspace, *deviation = workspace + m->groups;
    int64_t n = 1;
    for (uint32_t d = 0; d < m->rank; d++) {
        n *= m->dim[d];
    }
    for (int64_t g = 0; g < m->groups; g++) {
        mean[g] = deviation[g] = 0;
    }
    const double size = m->groups > 0 ? (double)n / (double)m->groups : 1;
    for (int64_t i = 0; i < n; i++) {
        mean[group_of(m, i)] += (double)x[i] / size;
    }
    for (int64_t i = 0; i < n; i++) {
        const int64_t g = group_of(m, i);
        const double v = (double)x[i] - mean[g];
        deviation[g] += v * v / size;
    }
    for (int64_t g = 0; g < m->groups; g++) {
        deviation[g] = sqrt(deviation[g]) + m->epsilon;
    }
    for (int64_t i = 0; i < n; i++) {
        const int64_t g = group_of(m, i);
        y[i] = (float)(((double)x[i] - mean[g]) / deviation[g]);
    }
}

void vt_channel_statistics(int64_t batch, int64_t channels, int64_t n, const float *x,
                           float *ret_mean, float *ret_variance)
{
    for (int64_t c = 0; c < channels; c++) {
        double mean = 0, variance = 0;
        for (int64_t i = 0; i < batch * n; i++) {
            mean += (double)x[(i / n * channels + c) * n + i % n];
        }
        mean /= (double)(batch * n);
        for (int64_t i = 0; i < batch * n; i++) {
            const double v = (double)x[(i / n * channels + c) * n + i % n] - mean;
            variance += v * v;
        }
        ret_mean[c] = (float)mean;
        ret_variance[c] = (float)(variance / (double)(batch * n));
    }
}
