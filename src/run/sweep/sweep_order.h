/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order in which points are measured, so that what drifts in a machine (its warmth, a
 * neighbour) does not pass for the effect of an axis. Repeats are blocks: all settings once, then
 * all again.
 *
 *   random  each block is shuffled anew (a randomised complete block design)
 *   latin   the settings are shuffled once; block r goes through them by Williams' sequence 0, 1,
 *           n-1, 2, n-2, ..., moved on by r n / repeats places. As long as there are not more
 *           repeats than settings no setting has a place twice; with as many as settings each has
 *           every place once, and for an even number of settings each follows every other once
 *           (Williams 1949, "Experimental designs balanced for the estimation of residual effects")
 *   full    nested, as the axes stand
 *
 * With `ascending`, the points of a line along that axis change places among themselves within
 * their block so that the axis ascends: what a knee needs.
 *
 * A pure function: the same arguments give the same order.
 */
#ifndef VT_RUN_SWEEP_ORDER_H
#define VT_RUN_SWEEP_ORDER_H

#include "result/sweep.h"

/* Sets every point's `position`. `ascending`: an axis, or sweep->n_axes for none. VT_ERR_MEMORY. */
enum vt_status vt_sweep_set_order(struct vt_sweep *sweep, uint32_t ascending,
                                  struct vt_error *err) VT_NODISCARD;

#endif
