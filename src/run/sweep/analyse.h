/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What follows from the points of a sweep: means with intervals, curves, fronts, statements, the
 * point to recommend. Pure functions: the same points give the same analysis.
 *
 * Intervals. n repeats give mean +- t(0.975, n-1) s / sqrt(n), not below 0. The uncertainty of the
 * meter is added to those of energies: an error of a meter is the same in every repeat and does not
 * average out. One repeat has no interval of its own, and that of energies is the meter's alone.
 *
 * Ratios of two settings are compared on a logarithmic scale: the relative standard errors are
 * added as squares, with Welch's degrees of freedom (Welch 1947); those of meters are added as
 * squares to the result.
 */
#ifndef VT_RUN_SWEEP_ANALYSE_H
#define VT_RUN_SWEEP_ANALYSE_H

#include "result/sweep.h"

/* Replaces sweep->analysis. VT_ERR_MEMORY. */
enum vt_status vt_sweep_analyse(struct vt_sweep *sweep, struct vt_error *err) VT_NODISCARD;

/* --- its parts, for each other and for tests ------------------------------------------------ */

/* The 0.975 quantile of Student's t; 1.96 for more than 200 degrees. NAN below 1. */
double vt_sweep_t(double degrees);
/* The mean of n values, NAN ones left out. `uncertainty` is that of the meter, in the same unit; 0:
 * none. */
struct vt_sweep_estimate vt_sweep_mean(const double *values, uint32_t n, double uncertainty);
/* The mean of a over the mean of b, both positive, with the interval of the above; `uncertainty` is
 * the meters' relative one of the ratio, 0: none. n is the smaller number of repeats, 0 where there
 * is no ratio. */
struct vt_sweep_estimate vt_sweep_ratio(const double *a, uint32_t n_a, const double *b,
                                        uint32_t n_b, double uncertainty);
/* Of n points with costs x and y, those that no other beats: none other is at most as dear in both
 * and cheaper in one. Points with a NAN are none. Writes their indices by ascending x, each place
 * once; returns their number. `order` is room for n. */
uint32_t vt_sweep_pareto(const double *x, const double *y, uint32_t n, uint32_t *order);
/* The first of n values that is at least (1 - tolerance) of the largest; NAN ones are passed over.
 * n when there is none. */
uint32_t vt_sweep_knee(const double *values, uint32_t n, double tolerance);
/* The slope of log y over log x by least squares: 1 is proportional. NAN for fewer than two. */
double vt_sweep_exponent(const double *x, const double *y, uint32_t n);

#endif
