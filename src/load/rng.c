/* SPDX-License-Identifier: Apache-2.0 */
#include "load/rng.h"

#include <math.h>

/* MT19937: M. Matsumoto, T. Nishimura, "Mersenne Twister", ACM TOMACS 8 (1998). */
#define MT_SHIFT_SIZE 397
#define MT_MATRIX     UINT32_C(0x9908b0df)
#define MT_UPPER      UINT32_C(0x80000000)
#define MT_LOWER      UINT32_C(0x7fffffff)

void vt_mt19937_seed(struct vt_mt19937 *rng, uint64_t seed)
{
    rng->state[0] = (uint32_t)seed;
    for (uint32_t i = 1; i < VT_MT19937_WORDS; i++) {
        uint32_t before = rng->state[i - 1];
        rng->state[i] = UINT32_C(1812433253) * (before ^ (before >> 30)) + i;
    }
    rng->next = VT_MT19937_WORDS;
}

static uint32_t mt_mix(uint32_t upper, uint32_t lower, uint32_t far)
{
    uint32_t y = (upper & MT_UPPER) | (lower & MT_LOWER);
    return far ^ (y >> 1) ^ ((y & 1) ? MT_MATRIX : 0);
}

static void mt_twist(struct vt_mt19937 *rng)
{
    uint32_t *s = rng->state;
    const uint32_t n = VT_MT19937_WORDS, m = MT_SHIFT_SIZE;
    uint32_t i = 0;
    for (; i < n - m; i++) {
        s[i] = mt_mix(s[i], s[i + 1], s[i + m]);
    }
    for (; i < n - 1; i++) {
        s[i] = mt_mix(s[i], s[i + 1], s[i + m - n]);
    }
    s[n - 1] = mt_mix(s[n - 1], s[0], s[m - 1]);
    rng->next = 0;
}

uint32_t vt_mt19937_next(struct vt_mt19937 *rng)
{
    if (rng->next == VT_MT19937_WORDS) {
        mt_twist(rng);
    }
    uint32_t y = rng->state[rng->next++];
    y ^= y >> 11;
    y ^= (y << 7) & UINT32_C(0x9d2c5680);
    y ^= (y << 15) & UINT32_C(0xefc60000);
    return y ^ (y >> 18);
}

uint32_t vt_rng_bounded(struct vt_mt19937 *rng, uint32_t n)
{
    uint64_t product = (uint64_t)vt_mt19937_next(rng) * n;
    uint32_t low = (uint32_t)product;
    if (low < n) {
        /* Below this many low words a result would be over-represented: (2^32 - n) mod n. */
        uint32_t surplus = (uint32_t)(0 - n) % n;
        while (low < surplus) {
            product = (uint64_t)vt_mt19937_next(rng) * n;
            low = (uint32_t)product;
        }
    }
    return (uint32_t)(product >> 32);
}

double vt_rng_canonical(struct vt_mt19937 *rng)
{
    double low = (double)vt_mt19937_next(rng);
    double high = (double)vt_mt19937_next(rng);
    double u = (low + high * 0x1p32) / 0x1p64;
    return u < 1.0 ? u : nextafter(1.0, 0.0);
}

int64_t vt_rng_exponential_ns(struct vt_mt19937 *rng, double per_second)
{
    double seconds = -log(1.0 - vt_rng_canonical(rng)) / per_second;
    double ns = seconds * 1e9;
    /* Far beyond any run; keeps the conversion and the sums of gaps defined. */
    const double ns_max = 0x1p60;
    return (int64_t)(ns < ns_max ? ns : ns_max);
}

static void swap(uint64_t *a, size_t i, size_t j)
{
    if (a != NULL) {
        uint64_t t = a[i];
        a[i] = a[j];
        a[j] = t;
    }
}

static void shuffle_pairwise(struct vt_mt19937 *rng, uint64_t *a, size_t n)
{
    size_t i = 1;
    if (n % 2 == 0) {
        swap(a, 1, vt_rng_bounded(rng, 2));
        i = 2;
    }
    for (; i < n; i += 2) {
        uint32_t first = (uint32_t)i + 1, second = (uint32_t)i + 2;
        uint32_t both = vt_rng_bounded(rng, first * second);
        swap(a, i, both / second);
        swap(a, i + 1, both % second);
    }
}

void vt_rng_shuffle(struct vt_mt19937 *rng, uint64_t *a, size_t n)
{
    if (n < 2) {
        return;
    }
    if (UINT32_MAX / n >= n) {
        shuffle_pairwise(rng, a, n);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        swap(a, i, vt_rng_bounded(rng, (uint32_t)i + 1));
    }
}
