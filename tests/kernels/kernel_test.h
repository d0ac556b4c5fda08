/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of kernels share: seeded data, the instruction sets of this machine. */
#ifndef KERNEL_TEST_H
#define KERNEL_TEST_H

#include "vt_test.h"

#include <math.h>

#include "base/alloc.h"
#include "base/pool.h"
#include "base/topology.h"
#include "kernels/activation.h"

struct random {
    uint64_t state;
};

static inline uint64_t random_bits(struct random *r)
{
    r->state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = r->state;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* From low to high, both included. */
static inline int64_t random_int(struct random *r, int64_t low, int64_t high)
{
    return low + (int64_t)(random_bits(r) % (uint64_t)(high - low + 1));
}

static inline float random_float(struct random *r)
{
    return (float)(random_bits(r) >> 40) * 0x1p-23f - 1.0f;
}

/* Exactly n floats, so that a sanitizer sees a read beyond them. */
static inline float *random_floats(struct random *r, int64_t n)
{
    float *x = vt_alloc((size_t)n * sizeof(float));
    assert_non_null(x);
    for (int64_t i = 0; i < n; i++)
        x[i] = random_float(r);
    return x;
}

/* The instruction sets to test here: portable, and every one that the machine has. */
static inline int usable_features(uint32_t ret[3])
{
    const uint32_t have = vt_topology()->features;
    int n = 0;
    ret[n++] = 0;
    if (have & VT_CPU_AVX2)
        ret[n++] = VT_CPU_AVX2;
    if (have & VT_CPU_AVX512)
        ret[n++] = VT_CPU_AVX2 | VT_CPU_AVX512;
    return n;
}

static inline struct vt_pool *test_pool(uint32_t threads)
{
    struct vt_pool *pool = NULL;
    const struct vt_pool_options options = {.threads = threads, .idle_spin_ns = 10000};
    assert_int_equal(vt_pool_new(&options, NULL, &pool), VT_OK);
    return pool;
}

/* |got - want| within float32 rounding of a sum of `terms` products of numbers up to 1. */
static inline void assert_close(double got, double want, int64_t terms)
{
    const double bound = 1e-5 + 2e-7 * (double)terms + 1e-5 * fabs(want);
    if (!(fabs(got - want) <= bound))
        fail_msg("%.9g is not %.9g (within %.3g)", got, want, bound);
}

/* The activations in double, an independent statement of them. */
static inline double activate_reference(enum vt_activation activation, double alpha, double beta,
                                        double x)
{
    switch (activation) {
    case VT_ACT_RELU:
        return fmax(x, 0);
    case VT_ACT_LEAKY_RELU:
        return x >= 0 ? x : alpha * x;
    case VT_ACT_CLIP:
        return fmin(fmax(x, alpha), beta);
    case VT_ACT_SIGMOID:
        return 1 / (1 + exp(-x));
    case VT_ACT_HARD_SWISH:
        return x * fmin(fmax(x + 3, 0), 6) / 6;
    case VT_ACT_TANH:
        return tanh(x);
    case VT_ACT_SILU:
        return x / (1 + exp(-x));
    case VT_ACT_GELU:
        return x / 2 * erfc(-x / sqrt(2));
    case VT_ACT_GELU_TANH:
        return x / 2 * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
    default:
        return x;
    }
}

#endif
