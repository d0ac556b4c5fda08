/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a power analyzer behind PTDaemon needs beyond other meters: ranges that a first run shows,
 * and the log that MLPerf's tools read.
 *
 * Threading: one thread, after the sampler has stopped.
 */
#ifndef VT_RUN_ENERGY_WALL_H
#define VT_RUN_ENERGY_WALL_H

#include "power/sampler.h"

/* The ranges for a run whose like was sampled: the largest voltage, and a tenth more than the
 * largest current (as MLCommons' power-dev takes them). False where there are no samples. */
bool vt_wall_ranges(const struct vt_sampler *sampler, double *ret_volts, double *ret_amps);

/*
 * spl.txt as power-dev leaves it in a run's folder: PTDaemon's samples, a line each, from 10 s
 * before the window until 10 s after it. Nothing is written where there is no such meter, and
 * *ret_written false. VT_ERR_WRITE, VT_ERR_MEMORY.
 */
enum vt_status vt_wall_write_log(const struct vt_sampler *sampler,
                                 const struct vt_power_window *window, const char *path,
                                 struct vt_error *err, bool *ret_written) VT_NODISCARD;

#endif
