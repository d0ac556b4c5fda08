/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How sure a ratio of two measured quantities is, when both were measured in turns.
 *
 * The data are rounds: in round i one quantity was above[i], the other below[i], measured close
 * together. What disturbs a machine for longer than a round (its clock, a neighbour) disturbs both,
 * and measurements near in time resemble each other. So rounds are drawn whole, and in blocks of
 * neighbours that may wrap around the end (circular block bootstrap, Politis and Romano 1992; block
 * length n^(1/3)). The interval lies between percentiles of the drawn ratios, moved outwards for
 * small n as Student's t stands to the normal distribution (expanded percentile interval,
 * Hesterberg 2014, "What teachers should know about the bootstrap", section 5.3).
 *
 * The draws come from a fixed seed: the same data give the same interval.
 */
#ifndef VT_BASE_BOOTSTRAP_H
#define VT_BASE_BOOTSTRAP_H

#include <stddef.h>

#include "vatio/status.h"

/* Fewer rounds say too little about their own noise. */
#define VT_BOOTSTRAP_LEAST 5
#define VT_BOOTSTRAP_MOST  100000

struct vt_ratio_estimate {
    double ratio; /* median(above) / median(below) */
    double low, high;
};

/* The middle value, the mean of the two middle ones for an even n. Reorders `values`; n is at
 * least 1. */
double vt_median(double *values, size_t n);

/*
 * All values are finite and positive. `confidence` lies between 0.5 and 0.999. VT_ERR_USAGE when
 * one of that does not hold or n is outside VT_BOOTSTRAP_LEAST to VT_BOOTSTRAP_MOST; VT_ERR_MEMORY.
 */
enum vt_status vt_bootstrap_ratio(const double *above, const double *below, size_t n,
                                  double confidence, struct vt_error *err,
                                  struct vt_ratio_estimate *ret_estimate) VT_NODISCARD;

#endif
