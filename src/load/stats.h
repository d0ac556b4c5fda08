/* SPDX-License-Identifier: Apache-2.0 */
/* Order statistics of tens of millions of times. */
#ifndef VT_LOAD_STATS_H
#define VT_LOAD_STATS_H

#include <stddef.h>
#include <stdint.h>

#include "core/report.h"

/* Sorts upwards: radix, stable, linear. `scratch` holds n elements too. */
void vt_sort_ns(int64_t *a, size_t n, int64_t *scratch);

/* LoadGen's percentile: sorted[(size_t)(n * p)], no interpolation. n >= 1, 0 < p < 1. */
int64_t vt_percentile_ns(const int64_t *sorted, size_t n, double p);

/* The statistics of a report. All 0 where n is 0. */
struct vt_latency_stats vt_latency_stats_of(const int64_t *sorted, size_t n);

/* How many are above the limit. */
size_t vt_count_above(const int64_t *sorted, size_t n, int64_t limit);

#endif
