/* SPDX-License-Identifier: Apache-2.0 */
#include "load/early_stopping.h"

#include <math.h>

#define CONFIDENCE 0.99

#define LOG_2PI 1.8378770664093454836

/* ln(n!) minus Stirling's formula for it. */
static double stirling_error(double n)
{
    if (n < 16) {
        int sign;
        return lgamma_r(n + 1, &sign) - ((n + 0.5) * log(n) - n + 0.5 * LOG_2PI);
    }
    double n2 = n * n;
    return (1.0 / 12 - (1.0 / 360 - (1.0 / 1260 - 1.0 / (1680 * n2)) / n2) / n2) / n;
}

/* x ln(x/m) + m - x without the cancellation near x = m. */
static double deviance(double x, double m)
{
    if (fabs(x - m) >= 0.1 * (x + m)) {
        return x * log(x / m) + m - x;
    }
    double v = (x - m) / (x + m);
    double sum = (x - m) * v;
    double term = 2 * x * v;
    for (int j = 1; j < 1000; j++) {
        term *= v * v;
        double next = sum + term / (2 * j + 1);
        if (next == sum) {
            break;
        }
        sum = next;
    }
    return sum;
}

/*
 * ln of the binomial probability of exactly t over and h under latency, by the saddle point
 * expansion (C. Loader, "Fast and accurate computation of binomial probabilities", 2000): exact to
 * a few units in the last place also where factorials have lost all their digits.
 */
static double log_binomial(double h, double t, double p)
{
    double n = h + t;
    if (t == 0) {
        return h * log(p);
    }
    double c = stirling_error(n) - stirling_error(t) - stirling_error(h) -
               deviance(t, n * (1 - p)) - deviance(h, n * p);
    return c + 0.5 * (log(n / (t * h)) - LOG_2PI);
}

/* The continued fraction of I_x(a, b) (DLMF 8.17.22), by Lentz's method. */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1;
    double d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double f = d;
    for (int m = 1; m < 10000000; m++) {
        double m2 = 2.0 * m;
        double even = m * (b - m) * x / ((a + m2 - 1) * (a + m2));
        double odd = -(a + m) * (a + b + m) * x / ((a + m2) * (a + m2 + 1));
        d = 1 + even * d;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = 1 + even / c;
        c = fabs(c) < tiny ? tiny : c;
        f *= d * c;
        d = 1 + odd * d;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = 1 + odd / c;
        c = fabs(c) < tiny ? tiny : c;
        f *= d * c;
        if (fabs(d * c - 1) < 1e-15) {
            break;
        }
    }
    return f;
}

double vt_early_stopping_odds(uint64_t h, uint64_t t, double p)
{
    double a = (double)h, b = (double)t + 1;
    /* x^a (1-x)^b / (a B(a, b)) is the probability of exactly t, times 1 - p. */
    double front = exp(log_binomial(a, (double)t, p)) * (1 - p);
    if (p < (a + 1) / (a + b + 2)) {
        return front * beta_fraction(a, b, p);
    }
    /* The same front with b in the place of a converges on the other side of the mean. */
    return 1 - front * (a / b) * beta_fraction(b, a, 1 - p);
}

uint64_t vt_early_stopping_passing(uint64_t t, double p)
{
    const double limit = 1 - CONFIDENCE;
    /* Where the mean of the queries over latency is t, the odds are about a half. */
    double mean = (double)t * p / (1 - p);
    if (mean >= 0x1p60) {
        return VT_EARLY_STOPPING_NEVER;
    }
    uint64_t failing = (uint64_t)mean;
    uint64_t step = 1 + (uint64_t)sqrt((double)failing);
    uint64_t passing = failing + step;
    while (vt_early_stopping_odds(passing, t, p) >= limit) {
        failing = passing;
        step *= 2;
        passing += step;
    }
    while (passing - failing > 1) {
        uint64_t h = failing + (passing - failing) / 2;
        if (vt_early_stopping_odds(h, t, p) < limit) {
            passing = h;
        } else {
            failing = h;
        }
    }
    return passing;
}

uint64_t vt_early_stopping_over(uint64_t n, double p)
{
    if (n < vt_early_stopping_passing(1, p) + 1) {
        return 0;
    }
    /* More than n (1-p) over latency never pass: the odds are then a half or more. */
    uint64_t good = 1;
    uint64_t bad = (uint64_t)((double)n * (1 - p)) + 2;
    while (bad - good > 1) {
        uint64_t t = good + (bad - good) / 2;
        if (n >= vt_early_stopping_passing(t, p) + t) {
            good = t;
        } else {
            bad = t;
        }
    }
    return good;
}
