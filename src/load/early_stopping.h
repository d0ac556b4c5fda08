/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MLPerf's early stopping: how many queries it takes to say, with 99 % confidence, that a share p
 * of all queries stays under a latency when t of those seen did not (inference rules, "Early
 * stopping criterion"; LoadGen's confidence 0.99 and tolerance 0).
 */
#ifndef VT_LOAD_EARLY_STOPPING_H
#define VT_LOAD_EARLY_STOPPING_H

#include <stdint.h>

/* The percentile at which LoadGen infers a result of MultiStream from a run of SingleStream. */
#define VT_INFERRED_PERCENTILE 0.99

/*
 * The probability of at most t queries over latency among h + t, when each is under it with
 * probability p: I_p(h, t + 1), the regularised incomplete beta function. h >= 1, 0 < p < 1.
 */
double vt_early_stopping_odds(uint64_t h, uint64_t t, double p);

/* More queries than any run has: sums of it with another count stay defined. */
#define VT_EARLY_STOPPING_NEVER (UINT64_MAX / 2)

/* H(t): the fewest queries under latency that make those odds smaller than 1 - 0.99. Beyond some
 * 2^60, where doubles count no longer, VT_EARLY_STOPPING_NEVER. */
uint64_t vt_early_stopping_passing(uint64_t t, double p);

/* The largest t >= 1 with n >= H(t) + t; 0 where there is none. */
uint64_t vt_early_stopping_over(uint64_t n, double p);

#endif
