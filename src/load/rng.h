/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The random numbers of MLPerf LoadGen, bit for bit: MT19937 and, on top of it, the algorithms of
 * libstdc++ 11 and later for what the C++ standard leaves open (bounded integers, the shuffle, the
 * canonical double, the exponential variate). Another C++ library gives another order.
 */
#ifndef VT_LOAD_RNG_H
#define VT_LOAD_RNG_H

#include <stddef.h>
#include <stdint.h>

#define VT_MT19937_WORDS 624

struct vt_mt19937 {
    uint32_t state[VT_MT19937_WORDS];
    uint32_t next; /* the word that is drawn next; VT_MT19937_WORDS: twist first */
};

/* Only the low 32 bits of the seed matter, as in std::mt19937. */
void vt_mt19937_seed(struct vt_mt19937 *rng, uint64_t seed);
uint32_t vt_mt19937_next(struct vt_mt19937 *rng);

/* Uniform in [0, n), 1 <= n <= UINT32_MAX, by Lemire's method: std::uniform_int_distribution. */
uint32_t vt_rng_bounded(struct vt_mt19937 *rng, uint32_t n);

/* Uniform in [0, 1): std::generate_canonical<double, 53>. Two draws. */
double vt_rng_canonical(struct vt_mt19937 *rng);

/* A gap of a Poisson process in nanoseconds, truncated: std::exponential_distribution. */
int64_t vt_rng_exponential_ns(struct vt_mt19937 *rng, double per_second);

/*
 * std::shuffle of n <= UINT32_MAX elements: two positions a draw while n * n fits into a draw
 * (n <= 65535), one above. With a == NULL the numbers are drawn and nothing is moved.
 */
void vt_rng_shuffle(struct vt_mt19937 *rng, uint64_t *a, size_t n);

#endif
