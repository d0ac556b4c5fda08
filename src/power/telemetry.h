/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is read beside the meters, slowly: temperatures, clocks, and why a device is slower than it
 * could be. Sources are meters by form, whose domains are all of the kind VT_METER_OTHER, so that
 * the sampler reads them along; they stand in a table of their own.
 */
#ifndef VT_POWER_TELEMETRY_H
#define VT_POWER_TELEMETRY_H

#include "power/meter.h"

/* All sources. Static storage. */
const struct vt_meter_ops *const *vt_telemetry_table(size_t *ret_n);

extern const struct vt_meter_ops vt_telemetry_cpu; /* hwmon, thermal zones, cpufreq */
extern const struct vt_meter_ops vt_telemetry_gpu; /* NVML */

/* A reading every half second is ample for what has a time constant of seconds. */
#define VT_TELEMETRY_PERIOD_NS INT64_C(500000000)

#endif
