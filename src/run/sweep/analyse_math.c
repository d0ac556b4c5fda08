/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "run/sweep/analyse.h"

/* Up to ten degrees from the usual tables; beyond them the expansion of Fisher and Cornish
 * (Abramowitz and Stegun 26.7.5), which is good to 1e-4 there. */
double vt_sweep_t(double degrees)
{
    static const double table[] = {12.7062, 4.3027, 3.1824, 2.7764, 2.5706,
                                   2.4469,  2.3646, 2.3060, 2.2622, 2.2281};
    const double z = 1.959964;

    if (!(degrees >= 1)) {
        return NAN;
    }
    if (degrees < 11) {
        return table[(int)degrees - 1]; /* fewer degrees: the wider interval */
    }
    double z2 = z * z, d = degrees;
    return z * (1 + (z2 + 1) / (4 * d) + ((5 * z2 + 16) * z2 + 3) / (96 * d * d) +
                (((3 * z2 + 19) * z2 + 17) * z2 - 15) / (384 * d * d * d));
}

/* Mean and variance of what is not NAN. Returns their number. */
static uint32_t moments(const double *values, uint32_t n, double *ret_mean, double *ret_variance)
{
    double sum = 0, squares = 0;
    uint32_t known = 0;

    for (uint32_t i = 0; i < n; i++) {
        if (isfinite(values[i])) {
            sum += values[i];
            known++;
        }
    }
    *ret_mean = known > 0 ? sum / known : (double)NAN;
    for (uint32_t i = 0; i < n; i++) {
        if (isfinite(values[i])) {
            squares += (values[i] - *ret_mean) * (values[i] - *ret_mean);
        }
    }
    *ret_variance = known > 1 ? squares / (known - 1) : 0;
    return known;
}

struct vt_sweep_estimate vt_sweep_mean(const double *values, uint32_t n, double uncertainty)
{
    double mean, variance;
    uint32_t known = moments(values, n, &mean, &variance);
    struct vt_sweep_estimate estimate = {mean, NAN, NAN, known};

    if (known > 1 || (known == 1 && uncertainty > 0)) {
        double half = known > 1 ? vt_sweep_t(known - 1) * sqrt(variance / known) : 0;
        estimate.low = fmax(0, mean - half - uncertainty);
        estimate.high = mean + half + uncertainty;
    }
    return estimate;
}

struct vt_sweep_estimate vt_sweep_ratio(const double *a, uint32_t n_a, const double *b,
                                        uint32_t n_b, double uncertainty)
{
    double mean_a, mean_b, variance_a, variance_b;
    uint32_t known_a = moments(a, n_a, &mean_a, &variance_a);
    uint32_t known_b = moments(b, n_b, &mean_b, &variance_b);
    struct vt_sweep_estimate ratio = {NAN, NAN, NAN, 0};
    double half = NAN;

    if (known_a == 0 || known_b == 0 || !(mean_a > 0) || !(mean_b > 0)) {
        return ratio;
    }
    ratio.value = mean_a / mean_b;
    ratio.n = known_a < known_b ? known_a : known_b;
    if (ratio.n > 1) {
        double of_a = variance_a / (known_a * mean_a * mean_a);
        double of_b = variance_b / (known_b * mean_b * mean_b);
        double sum = of_a + of_b;
        double degrees = sum * sum / (of_a * of_a / (known_a - 1) + of_b * of_b / (known_b - 1));
        half = sum > 0 ? vt_sweep_t(degrees) * sqrt(sum) + uncertainty : uncertainty;
    } else if (uncertainty > 0) {
        half = uncertainty;
    }
    if (isfinite(half)) {
        ratio.low = ratio.value * exp(-half);
        ratio.high = ratio.value * exp(half);
    }
    return ratio;
}

uint32_t vt_sweep_pareto(const double *x, const double *y, uint32_t n, uint32_t *order)
{
    uint32_t known = 0, kept = 0;

    /* By x, then y: an insertion sort, for some thousand points at most. */
    for (uint32_t i = 0; i < n; i++) {
        if (!isfinite(x[i]) || !isfinite(y[i])) {
            continue;
        }
        uint32_t at = known++;
        for (; at > 0; at--) {
            uint32_t before = order[at - 1];
            if (x[before] < x[i] || (x[before] == x[i] && y[before] <= y[i])) {
                break;
            }
            order[at] = before;
        }
        order[at] = i;
    }
    for (uint32_t i = 0; i < known; i++) {
        if (kept == 0 || y[order[i]] < y[order[kept - 1]]) {
            order[kept++] = order[i];
        }
    }
    return kept;
}

uint32_t vt_sweep_knee(const double *values, uint32_t n, double tolerance)
{
    double most = 0;

    for (uint32_t i = 0; i < n; i++) {
        if (isfinite(values[i]) && values[i] > most) {
            most = values[i];
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        if (isfinite(values[i]) && most > 0 && values[i] >= (1 - tolerance) * most) {
            return i;
        }
    }
    return n;
}

double vt_sweep_exponent(const double *x, const double *y, uint32_t n)
{
    double sum_x = 0, sum_y = 0, xx = 0, xy = 0;
    uint32_t known = 0;

    for (uint32_t i = 0; i < n; i++) {
        if (x[i] > 0 && y[i] > 0 && isfinite(x[i]) && isfinite(y[i])) {
            sum_x += log(x[i]);
            sum_y += log(y[i]);
            known++;
        }
    }
    for (uint32_t i = 0; i < n && known > 0; i++) {
        if (x[i] > 0 && y[i] > 0 && isfinite(x[i]) && isfinite(y[i])) {
            double dx = log(x[i]) - sum_x / known;
            xx += dx * dx;
            xy += dx * (log(y[i]) - sum_y / known);
        }
    }
    return xx > 0 ? xy / xx : (double)NAN;
}
