/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a PTDaemon says: lines of its text protocol. The daemon itself is SPEC's, not vatio's.
 *
 * Threading: pure functions.
 */
#ifndef VT_POWER_PTDAEMON_H
#define VT_POWER_PTDAEMON_H

#include <stdbool.h>
#include <stdint.h>

/* A sample of its log, "Time,02-18-2023 17:05:24.090,Watts,6.35,Volts,206.9,Amps,0.1123,…". */
struct vt_ptd_sample {
    int64_t unix_ns; /* PTDaemon runs with TZ=UTC */
    double watts;
    double volts, amps, power_factor; /* NAN where the line has none */
};

/* False for a line that is none. */
bool vt_ptd_sample_parse(const char *line, struct vt_ptd_sample *ret);
/* "Ranges,<ampAuto>,<amp>,<voltAuto>,<volt>": 1 auto, 0 fixed, -1 not known. */
struct vt_ptd_ranges {
    int amp_auto, volt_auto;
    double amps, volts;
};
/* "Uncertainty,<mean>,<min>,<max>,…"; in which unit, its documentation does not say here. */
bool vt_ptd_uncertainty_parse(const char *line, double *ret_mean);

/* The domains of the meter, in order. */
enum { VT_PTD_WATTS, VT_PTD_VOLTS, VT_PTD_AMPS, VT_PTD_FACTOR, VT_PTD_DOMAINS };

bool vt_ptd_ranges_parse(const char *line, struct vt_ptd_ranges *ret);
/* "Last 1164 samples": how many lines follow. */
bool vt_ptd_count_parse(const char *line, uint32_t *ret);

#endif
