/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From what a tensor was seen to hold to the range that is quantised. What lies outside of it is
 * saturated, which is worth it where that leaves finer steps for all the rest.
 *
 *   minmax      all that was seen
 *   percentile  without the share of (100 - p) percent that lies farthest out, half of it at either
 *               end; at one end where the numbers have one sign
 *   entropy     the bound t of |x| at which the distribution, saturated at t and rounded to the
 *               steps of int8, diverges least from what it was (Kullback and Leibler); zeros, which
 *               are exact in any range, are left out
 *
 * A tensor is looked at twice: for its extremes, then for how its numbers spread between them.
 */
#ifndef VT_QUANTIZE_RANGE_H
#define VT_QUANTIZE_RANGE_H

#include <stdbool.h>
#include <stdint.h>

enum vt_range_method { VT_RANGE_MINMAX, VT_RANGE_PERCENTILE, VT_RANGE_ENTROPY };

#define VT_RANGE_BINS 2048

struct vt_range {
    float low, high;
};

struct vt_range_seen {
    bool any; /* a finite number */
    struct vt_range extremes;
    uint64_t bins[VT_RANGE_BINS]; /* of [low, high]; for entropy |x| in [0, greatest |x|] */
};

/* First look. Numbers that are not finite are left out. */
void vt_range_see(struct vt_range_seen *seen, const float *x, int64_t n);
/* Second look, at numbers between the extremes. */
void vt_range_count(struct vt_range_seen *seen, enum vt_range_method method, const float *x,
                    int64_t n);
/* 0 belongs to every range: padding and what a Relu cuts off have to be exact. */
struct vt_range vt_range_find(const struct vt_range_seen *seen, enum vt_range_method method,
                              double percentile);

/* Scale and zero point of a range for 256 steps, uint8 or int8; the zero point is exact. */
void vt_range_scale(struct vt_range range, bool is_signed, float *ret_scale, int32_t *ret_zero);

#endif
