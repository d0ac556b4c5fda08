/* SPDX-License-Identifier: Apache-2.0 */
#include "load/rng.h"

#include <math.h>
#include <stdbool.h>

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
    return far ^ (y >> 1) ^ ((0 - (y & 1)) & MT_MATRIX);
}

static uint32_t mt_temper(uint32_t y)
{
    y ^= y >> 11;
    y ^= (y << 7) & UINT32_C(0x9d2c5680);
    y ^= (y << 15) & UINT32_C(0xefc60000);
    return y ^ (y >> 18);
}

/* The next 624 words at once, in loops without branches: the compiler makes vectors of them. */
static void mt_twist(struct vt_mt19937 *rng)
{
    uint32_t *s = rng->state;
    const uint32_t n = VT_MT19937_WORDS, m = MT_SHIFT_SIZE;
    for (uint32_t i = 0; i < n - m; i++) {
        s[i] = mt_mix(s[i], s[i + 1], s[i + m]);
    }
    for (uint32_t i = n - m; i < n - 1; i++) {
        s[i] = mt_mix(s[i], s[i + 1], s[i - (n - m)]);
    }
    s[n - 1] = mt_mix(s[n - 1], s[0], s[m - 1]);
    for (uint32_t i = 0; i < n; i++) {
        rng->words[i] = mt_temper(s[i]);
    }
    rng->next = 0;
}

static inline uint32_t next_word(struct vt_mt19937 *rng)
{
    if (rng->next == VT_MT19937_WORDS) {
        mt_twist(rng);
    }
    return rng->words[rng->next++];
}

uint32_t vt_mt19937_next(struct vt_mt19937 *rng)
{
    return next_word(rng);
}

static uint32_t bounded_by_division(struct vt_mt19937 *rng, uint32_t n)
{
    uint32_t scale = UINT32_MAX / n, past = n * scale, word;
    do {
        word = next_word(rng);
    } while (word >= past);
    return word / scale;
}

static inline uint32_t bounded(struct vt_mt19937 *rng, uint32_t n, enum vt_bounded_method method)
{
    if (method == VT_BOUNDED_DIVISION) {
        return bounded_by_division(rng, n);
    }
    uint64_t product = (uint64_t)next_word(rng) * n;
    uint32_t low = (uint32_t)product;
    if (low < n) {
        /* Below this many low words a result would be over-represented: (2^32 - n) mod n. */
        uint32_t surplus = 0 - n;
        surplus = surplus < n ? surplus : surplus % n;
        while (low < surplus) {
            product = (uint64_t)next_word(rng) * n;
            low = (uint32_t)product;
        }
    }
    return (uint32_t)(product >> 32);
}

uint32_t vt_rng_bounded(struct vt_mt19937 *rng, uint32_t n, enum vt_bounded_method method)
{
    return bounded(rng, n, method);
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
    uint64_t t = a[i];
    a[i] = a[j];
    a[j] = t;
}

/* Whether one draw below n * n gives the positions of two elements. */
static bool in_pairs(size_t n)
{
    return UINT32_MAX / n >= n;
}

/* Elements i and i + 1. */
static void place_two(struct vt_mt19937 *rng, enum vt_bounded_method method, uint64_t *a, size_t i)
{
    uint32_t first = (uint32_t)i + 1, second = (uint32_t)i + 2;
    uint32_t both = bounded(rng, first * second, method);
    swap(a, i, both / second);
    swap(a, i + 1, both % second);
}

static void shuffle_pairwise(struct vt_mt19937 *rng, enum vt_bounded_method method, uint64_t *a,
                             size_t n)
{
    size_t i = 1;
    if (n % 2 == 0) {
        swap(a, 1, bounded(rng, 2, method));
        i = 2;
    }
    for (; i < n; i += 2) {
        place_two(rng, method, a, i);
    }
}

void vt_rng_shuffle(struct vt_mt19937 *rng, enum vt_bounded_method method, uint64_t *a, size_t n)
{
    if (n < 2) {
        return;
    }
    if (in_pairs(n)) {
        shuffle_pairwise(rng, method, a, n);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        swap(a, i, bounded(rng, (uint32_t)i + 1, method));
    }
}

void vt_rng_shuffle_step(struct vt_mt19937 *rng, enum vt_bounded_method method,
                         const uint64_t *from, uint64_t *a, size_t n, size_t *done)
{
    size_t i = *done;
    a[i] = from != NULL ? from[i] : i;
    *done = i + 1;
    if (i == 0) {
        return;
    }
    if (!in_pairs(n)) {
        swap(a, i, bounded(rng, (uint32_t)i + 1, method));
        return;
    }
    if (i == 1 && n % 2 == 0) {
        swap(a, 1, bounded(rng, 2, method));
        return;
    }
    a[i + 1] = from != NULL ? from[i + 1] : i + 1;
    *done = i + 2;
    place_two(rng, method, a, i);
}

/*
 * Skipping. A draw uses one word more for each word that is rejected, and nothing else about it
 * matters. Words that cannot be rejected are told without a division, whole vectors at a time; a
 * vector with a doubtful word in it is drawn one by one.
 */
#define SKIP_WORDS 16
/* Above this bound most vectors have a doubtful word. */
#define SKIP_BOUND_MAX (UINT32_C(1) << 28)

/* The bound of a draw that finds the places of elements r - 1 (and r: r may be 65534 at most). */
static inline uint32_t skip_bound(uint32_t r, bool pairs)
{
    return pairs ? r * (r + 1) : r;
}

/* Lemire rejects low halves below some number below the bound, division some of the last `bound`
 * words. */
static inline uint32_t doubtful(uint32_t word, uint32_t bound, enum vt_bounded_method method)
{
    return method == VT_BOUNDED_DIVISION ? ~word < bound : word * bound < bound;
}

static inline bool doubt_free(const uint32_t *words, uint32_t r, bool pairs,
                              enum vt_bounded_method method)
{
    uint32_t doubts = 0;
    for (uint32_t k = 0; k < SKIP_WORDS; k++) {
        doubts |= doubtful(words[k], skip_bound(pairs ? r + 2 * k : r + k, pairs), method);
    }
    return doubts == 0;
}

/* Skips `draws` of bounds that begin with that of r; inlined with constants for the last two. */
static inline void skip(struct vt_mt19937 *rng, uint32_t r, size_t draws, bool pairs,
                        enum vt_bounded_method method)
{
    const uint32_t step = pairs ? 2 : 1;
    while (draws > 0) {
        size_t n = draws < SKIP_WORDS ? draws : SKIP_WORDS;
        if (n == SKIP_WORDS && VT_MT19937_WORDS - rng->next >= SKIP_WORDS &&
            skip_bound(r, pairs) <= SKIP_BOUND_MAX &&
            doubt_free(rng->words + rng->next, r, pairs, method)) {
            rng->next += SKIP_WORDS;
            r += SKIP_WORDS * step;
        } else {
            for (size_t k = 0; k < n; k++) {
                (void)bounded(rng, skip_bound(r, pairs), method);
                r += step;
            }
        }
        draws -= n;
    }
}

void vt_rng_skip_shuffle(struct vt_mt19937 *rng, enum vt_bounded_method method, size_t n)
{
    if (n < 2) {
        return;
    }
    const bool lemire = method == VT_BOUNDED_LEMIRE;
    if (!in_pairs(n)) {
        if (lemire) {
            skip(rng, 2, n - 1, false, VT_BOUNDED_LEMIRE);
        } else {
            skip(rng, 2, n - 1, false, VT_BOUNDED_DIVISION);
        }
        return;
    }
    uint32_t r = 2;
    if (n % 2 == 0) {
        (void)bounded(rng, 2, method);
        r = 3;
    }
    if (lemire) {
        skip(rng, r, (n - 1) / 2, true, VT_BOUNDED_LEMIRE);
    } else {
        skip(rng, r, (n - 1) / 2, true, VT_BOUNDED_DIVISION);
    }
}
