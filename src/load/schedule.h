/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When queries start, produced query by query.
 *
 *   Poisson    the nanoseconds of MLPerf LoadGen
 *   constant   one every 1 / qps
 *   trace      at recorded times; a performance run ends with the trace
 *
 * A schedule ends with the first query at or after the duration, yet not before the count.
 */
#ifndef VT_LOAD_SCHEDULE_H
#define VT_LOAD_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/report.h"
#include "load/rng.h"

struct vt_schedule {
    enum vt_arrivals arrivals;
    bool ends_with_trace;
    const int64_t *trace_ns; /* borrowed */
    uint64_t n_trace;
    struct vt_mt19937 rng;
    double qps;
    int64_t duration_ns;
    uint64_t count_min;
    uint64_t count_step; /* equal issue: the count grows by so many until the duration is reached */
    int64_t next_ns;
    uint64_t count; /* queries so far */
    bool ended;
};

/* What a schedule has to cover: see vt_selection. */
struct vt_schedule_span {
    int64_t duration_ns;
    uint64_t count_min;
    uint64_t count_step;
};

/* VT_ERR_USAGE when the arrivals of the settings cannot be followed: says which and why. */
enum vt_status vt_schedule_check(const struct vt_load_settings *settings,
                                 struct vt_error *err) VT_NODISCARD;

/* Of checked settings. A trace stays borrowed. */
void vt_schedule_init(struct vt_schedule *schedule, const struct vt_load_settings *settings,
                      double qps, const struct vt_schedule_span *span);
/* The start of the next query since the start of the run; false at the end. */
bool vt_schedule_next(struct vt_schedule *schedule, int64_t *ret_ns);

/*
 * How many queries MLPerf LoadGen builds for a span before the start of a run that is not Server's,
 * spaced evenly at qps, and how long they span: twice the duration, see loadgen.cc.
 */
uint64_t vt_schedule_generated(const struct vt_schedule_span *span, double qps,
                               int64_t *ret_duration_ns);

#endif
