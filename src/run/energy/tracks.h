/* SPDX-License-Identifier: Apache-2.0 */
/*
 * power.csv: what the meters read around one run, a line a reading: t_ns,unix_ns,series,unit,value.
 *
 * t_ns counts from the start of the run's window, as the times of records.vtr do, and is negative
 * before it. One series after the other, each in order of time, from the last reading before the
 * window or a second earlier to the first behind it or a second later. What could not be read is
 * left out.
 */
#ifndef VT_RUN_ENERGY_TRACKS_H
#define VT_RUN_ENERGY_TRACKS_H

#include "power/sampler.h"

/* The sampler has stopped; the folder of `path` exists. VT_ERR_WRITE, VT_ERR_MEMORY. */
enum vt_status vt_tracks_write(const struct vt_sampler *sampler,
                               const struct vt_power_window *window, const char *path,
                               struct vt_error *err) VT_NODISCARD;

#endif
