/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Softmax of one contiguous row, compiled for each instruction set; the including file defines
 * VT_SOFTMAX_ROW, the name of the function.
 */
#include <stdbool.h>

#include "kernels/softmax/ways.h"
#include "kernels/vector_math.h"

#define LANES 16

void VT_SOFTMAX_ROW(bool logarithm, int64_t n, const float *x, float *y)
{
    float lane[LANES];
    float max = -INFINITY, sum = 0.0f;
    int64_t i = 0;
    for (int j = 0; j < LANES; j++)
        lane[j] = -INFINITY;
    for (; i + LANES <= n; i += LANES) {
        for (int j = 0; j < LANES; j++)
            lane[j] = x[i + j] > lane[j] ? x[i + j] : lane[j];
    }
    for (int j = 0; j < LANES; j++)
        max = lane[j] > max ? lane[j] : max;
    for (; i < n; i++)
        max = x[i] > max ? x[i] : max;

    for (int j = 0; j < LANES; j++)
        lane[j] = 0.0f;
    for (i = 0; i + LANES <= n; i += LANES) {
        for (int j = 0; j < LANES; j++) {
            const float e = vt_exp(x[i + j] - max);
            lane[j] += e;
            y[i + j] = logarithm ? x[i + j] - max : e;
        }
    }
    for (int j = 0; j < LANES; j++)
        sum += lane[j];
    for (; i < n; i++) {
        const float e = vt_exp(x[i] - max);
        sum += e;
        y[i] = logarithm ? x[i] - max : e;
    }
    if (logarithm) {
        const float log_sum = logf(sum);
        for (i = 0; i < n; i++)
            y[i] -= log_sum;
    } else {
        const float scale = 1.0f / sum;
        for (i = 0; i < n; i++)
            y[i] *= scale;
    }
}
