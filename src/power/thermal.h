/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How warm the processors are: the hottest of the CPUs and GPUs that telemetry can read. Their
 * memories do not count, which may run hotter and have limits of their own.
 */
#ifndef VT_POWER_THERMAL_H
#define VT_POWER_THERMAL_H

#include "power/meter.h"

struct vt_thermal;

/* VT_ERR_UNAVAILABLE: no sensor can be read; the text says what would help. VT_ERR_MEMORY. */
enum vt_status vt_thermal_open(const struct vt_meter_options *options, struct vt_error *err,
                               struct vt_thermal **ret_thermal) VT_NODISCARD;
/* Degrees Celsius; NAN when nothing can be read now. `name` takes the sensor's, "cpu0 temperature"
 * (cut to size - 1). One thread at a time. */
double vt_thermal_read(struct vt_thermal *thermal, char *name, size_t size);
void vt_thermal_close(struct vt_thermal *thermal); /* accepts NULL */

#endif
