/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --until-knee: when a larger batch is not worth measuring any more.
 *
 * The rule: along one line (all else equal), going up in batch, two sizes in a row did not raise
 * the best throughput so far by at least the tolerance. Two, so that one slow point (a neighbour, a
 * batch that fits the kernels badly) ends nothing. A size that failed does not count. The first
 * repeat decides for all, so that all settings have the same number of repeats.
 */
#ifndef VT_RUN_SWEEP_KNEE_H
#define VT_RUN_SWEEP_KNEE_H

#include "result/sweep.h"

/* Whether the rule leaves this point out; then *ret_reason, of `size` bytes, says why. `axis` is
 * that of the batch. */
bool vt_sweep_beyond_knee(const struct vt_sweep *sweep, const struct vt_sweep_point *point,
                          uint32_t axis, char *ret_reason, size_t size);

#endif
