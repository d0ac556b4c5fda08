/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bootstrap.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/alloc.h"

#define DRAWS 2000
/* Keeps the work of large n within some ten million values. */
#define VALUES_MOST 20000000

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Puts the k-th smallest in its place, nothing larger before it (Hoare's selection). */
static void select_value(double *values, size_t n, size_t k)
{
    size_t left = 0, right = n - 1;

    while (left < right) {
        double pivot = values[k];
        size_t i = left, j = right;
        for (;;) {
            while (values[i] < pivot) {
                i++;
            }
            while (pivot < values[j]) {
                j--;
            }
            if (i <= j) {
                double kept = values[i];
                values[i++] = values[j];
                values[j] = kept;
                if (j == left) {
                    break;
                }
                j--;
            }
            if (i > j) {
                break;
            }
        }
        if (j < k) {
            left = i;
        }
        if (k < i) {
            right = j;
        }
    }
}

double vt_median(double *values, size_t n)
{
    select_value(values, n, n / 2);
    double upper = values[n / 2];
    if (n % 2 == 1) {
        return upper;
    }
    double lower = values[0];
    for (size_t i = 1; i < n / 2; i++) {
        lower = values[i] > lower ? values[i] : lower;
    }
    return (lower + upper) / 2;
}

/* splitmix64, by Sebastiano Vigna's published constants. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Below n, which is small against 2^32: the bias is nothing. */
static size_t random_below(uint64_t *state, size_t n)
{
    return (size_t)(((next_random(state) >> 32) * n) >> 32);
}

/* The probability of a normal variable beyond z. */
static double normal_tail(double z)
{
    return 0.5 * erfc(z / sqrt(2.0));
}

static double normal_quantile(double tail)
{
    double low = 0, high = 40;
    for (int i = 0; i < 100; i++) {
        double middle = (low + high) / 2;
        if (normal_tail(middle) > tail) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Student's t with `degrees` of freedom where the normal distribution has z: Abramowitz and Stegun
 * 26.7.5. */
static double student_quantile(double z, double degrees)
{
    double z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
    double v = degrees;
    return z + (z3 + z) / (4 * v) + (5 * z5 + 16 * z3 + 3 * z) / (96 * v * v) +
           (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * v * v * v);
}

/* The share of the drawn ratios that lies outside the interval on either side. */
static double expanded_tail(double confidence, size_t n)
{
    double z = normal_quantile((1 - confidence) / 2);
    double t = student_quantile(z, (double)n - 1);
    return normal_tail(t * sqrt((double)n / ((double)n - 1)));
}

/* Between the sorted values. */
static double percentile(const double *sorted, size_t n, double share)
{
    double at = share * (double)(n - 1);
    size_t below = (size_t)at;
    if (below + 1 >= n) {
        return sorted[n - 1];
    }
    return sorted[below] + (at - (double)below) * (sorted[below + 1] - sorted[below]);
}

static enum vt_status check(const double *above, const double *below, size_t n, double confidence,
                            struct vt_error *err)
{
    if (n < VT_BOOTSTRAP_LEAST || n > VT_BOOTSTRAP_MOST) {
        return vt_error_set(err, VT_ERR_USAGE, "a ratio needs %d to %d rounds, not %zu",
                            VT_BOOTSTRAP_LEAST, VT_BOOTSTRAP_MOST, n);
    }
    if (!(confidence >= 0.5 && confidence <= 0.999)) {
        return vt_error_set(err, VT_ERR_USAGE, "a confidence of %g is outside 0.5 to 0.999",
                            confidence);
    }
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(above[i]) || !isfinite(below[i]) || above[i] <= 0 || below[i] <= 0) {
            return vt_error_set(err, VT_ERR_USAGE, "round %zu is %g over %g: no ratio", i, above[i],
                                below[i]);
        }
    }
    return VT_OK;
}

/* Rounds in blocks of neighbours, n in all. */
static double draw(const double *above, const double *below, size_t n, size_t block,
                   uint64_t *state, double *a, double *b)
{
    for (size_t filled = 0; filled < n;) {
        size_t at = random_below(state, n);
        for (size_t i = 0; i < block && filled < n; i++, filled++) {
            a[filled] = above[(at + i) % n];
            b[filled] = below[(at + i) % n];
        }
    }
    return vt_median(a, n) / vt_median(b, n);
}

enum vt_status vt_bootstrap_ratio(const double *above, const double *below, size_t n,
                                  double confidence, struct vt_error *err,
                                  struct vt_ratio_estimate *ret_estimate)
{
    enum vt_status status = check(above, below, n, confidence, err);
    if (status != VT_OK) {
        return status;
    }
    size_t draws = VALUES_MOST / n < DRAWS ? VALUES_MOST / n : DRAWS;
    double *memory = vt_calloc(draws + 2 * n, sizeof *memory);
    if (memory == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for %zu draws", draws);
    }
    double *ratios = memory, *a = memory + draws, *b = a + n;
    size_t block = (size_t)lround(cbrt((double)n));
    uint64_t state = 1;
    struct vt_ratio_estimate estimate;

    for (size_t i = 0; i < draws; i++) {
        ratios[i] = draw(above, below, n, block, &state, a, b);
    }
    for (size_t i = 0; i < n; i++) {
        a[i] = above[i];
        b[i] = below[i];
    }
    estimate.ratio = vt_median(a, n) / vt_median(b, n);
    qsort(ratios, draws, sizeof ratios[0], ascending);
    double tail = expanded_tail(confidence, n);
    estimate.low = percentile(ratios, draws, tail);
    estimate.high = percentile(ratios, draws, 1 - tail);
    vt_free(memory);
    *ret_estimate = estimate;
    return VT_OK;
}
