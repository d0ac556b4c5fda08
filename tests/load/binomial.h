/* SPDX-License-Identifier: Apache-2.0 */
/* Early stopping's figures by plain sums of the binomial distribution. */
#ifndef VT_TEST_BINOMIAL_H
#define VT_TEST_BINOMIAL_H

#include <math.h>
#include <stdint.h>

/* P(at most t of h + t over latency), term by term, each from the one before. */
static inline long double binomial_tail(uint64_t h, uint64_t t, double p)
{
    long double n = (long double)(h + t), odds = (1 - (long double)p) / (long double)p;
    long double term = expl(n * logl((long double)p)), sum = term;
    for (uint64_t k = 0; k < t; k++) {
        term *= (n - (long double)k) / (long double)(k + 1) * odds;
        sum += term;
    }
    return sum;
}

/* The smallest h with a tail below 1 %, by doubling and halving. */
static inline uint64_t binomial_passing(uint64_t t, double p)
{
    uint64_t high = 1;
    while (binomial_tail(high, t, p) >= 0.01L) {
        high *= 2;
    }
    uint64_t low = high / 2;
    while (high - low > 1) {
        uint64_t h = low + (high - low) / 2;
        if (binomial_tail(h, t, p) < 0.01L) {
            high = h;
        } else {
            low = h;
        }
    }
    return high;
}

/* The last t whose threshold n reaches, one after the other; 0: not even that of 1. */
static inline uint64_t binomial_over(uint64_t n, double p)
{
    uint64_t t = 0;
    while (n >= binomial_passing(t + 1, p) + t + 1) {
        t++;
    }
    return t;
}

#endif
