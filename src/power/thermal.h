/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How warm the processors are: the hottest sensor of a CPU or GPU, from hwmon and, where that has
 * none, from the thermal zones of the kernel. Sensors of drives, memory and mainboards do not
 * count.
 *
 * Nothing is kept open: a reading looks at the files anew. Thread-safe.
 */
#ifndef VT_POWER_THERMAL_H
#define VT_POWER_THERMAL_H

#include "power/meter.h"

/*
 * The hottest one now in degrees Celsius and its name, "coretemp Package id 0" (cut to size - 1).
 * VT_ERR_UNAVAILABLE: no sensor can be read; the text says what would help.
 */
enum vt_status vt_thermal_read(const struct vt_meter_options *options, struct vt_error *err,
                               double *ret_celsius, char *ret_name, size_t size) VT_NODISCARD;

#endif
