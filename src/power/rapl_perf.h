/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RAPL through the kernel's performance counters (the PMU "power"), where the files of powercap are
 * not there or not to be read. Same counters, other rights: CAP_PERFMON or
 * kernel.perf_event_paranoid of 0 and less.
 */
#ifndef VT_POWER_RAPL_PERF_H
#define VT_POWER_RAPL_PERF_H

#include "power/meter.h"

struct vt_rapl_event {
    int fd;
    double joules; /* a count */
};

/*
 * Opens every event on every package, leaving out counters that do not move within 50 ms: writes at
 * most VT_METER_DOMAINS_MAX domains and events, and how many. Errors as a meter's open; the caller
 * closes the files.
 */
enum vt_status vt_rapl_perf_open(const struct vt_meter_options *options,
                                 struct vt_meter_domain *ret_domains,
                                 struct vt_rapl_event *ret_events, uint32_t *ret_n,
                                 struct vt_error *err) VT_NODISCARD;

#endif
