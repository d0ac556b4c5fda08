/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The random numbers of MLPerf LoadGen, bit for bit: MT19937 and, on top of it, the algorithms of
 * libstdc++ for what the C++ standard leaves open (bounded integers, the shuffle, the canonical
 * double, the exponential variate). Another C++ library gives another order, and so do two ages of
 * libstdc++: enum vt_bounded_method in core/report.h says which bounded integers are meant.
 *
 * One generator belongs to one thread at a time; copying one copies where it stands.
 */
#ifndef VT_LOAD_RNG_H
#define VT_LOAD_RNG_H

#include <stddef.h>
#include <stdint.h>

#include "core/report.h"

#define VT_MT19937_WORDS 624

struct vt_mt19937 {
    uint32_t state[VT_MT19937_WORDS];
    uint32_t words[VT_MT19937_WORDS]; /* of `state`, tempered: what is drawn */
    uint32_t next;                    /* of words; VT_MT19937_WORDS: twist first */
};

/* Only the low 32 bits of the seed matter, as in std::mt19937. */
void vt_mt19937_seed(struct vt_mt19937 *rng, uint64_t seed);
uint32_t vt_mt19937_next(struct vt_mt19937 *rng);

/*
 * Uniform in [0, n), 1 <= n <= UINT32_MAX: std::uniform_int_distribution.
 *
 *   VT_BOUNDED_LEMIRE     libstdc++ 11 and later. The high half of word * n; redrawn while the low
 *                         half is below 2^32 mod n. D. Lemire, "Fast Random Integer Generation in
 *                         an Interval", ACM TOMACS 29 (2019).
 *   VT_BOUNDED_DIVISION   libstdc++ 10 and earlier. With q = (2^32 - 1) / n: word / q; redrawn
 *                         while the word is n * q or above.
 */
uint32_t vt_rng_bounded(struct vt_mt19937 *rng, uint32_t n, enum vt_bounded_method method);

/* Uniform in [0, 1): std::generate_canonical<double, 53>. Two draws. */
double vt_rng_canonical(struct vt_mt19937 *rng);

/* A gap of a Poisson process in nanoseconds, truncated: std::exponential_distribution. */
int64_t vt_rng_exponential_ns(struct vt_mt19937 *rng, double per_second);

/*
 * std::shuffle of n <= UINT32_MAX elements as in libstdc++ 7 and later: two positions a draw while
 * n * n fits into a draw (n <= 65535), one above.
 */
void vt_rng_shuffle(struct vt_mt19937 *rng, enum vt_bounded_method method, uint64_t *a, size_t n);

/*
 * A shuffle in small parts, for a thread that has little time between two: what vt_rng_shuffle
 * makes of `from` (NULL: of 0, 1, 2, …) grows in `a`, an array of its own. Each call places one or
 * two elements; *done counts them, from 0 to n.
 */
void vt_rng_shuffle_step(struct vt_mt19937 *rng, enum vt_bounded_method method,
                         const uint64_t *from, uint64_t *a, size_t n, size_t *done);

/* Leaves the generator where a shuffle of n elements would, at a fraction of its time. */
void vt_rng_skip_shuffle(struct vt_mt19937 *rng, enum vt_bounded_method method, size_t n);

#endif
