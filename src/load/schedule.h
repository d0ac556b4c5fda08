/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the queries of Server start: a Poisson process, produced query by query, the nanoseconds of
 * MLPerf LoadGen. The schedule ends with the first query at or after the duration, yet not before
 * the count.
 */
#ifndef VT_LOAD_SCHEDULE_H
#define VT_LOAD_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "load/rng.h"

struct vt_schedule {
    struct vt_mt19937 rng;
    double qps;
    int64_t duration_ns;
    uint64_t count_min;
    uint64_t count_step; /* equal issue: the count grows by so many until the duration is reached */
    int64_t next_ns;
    uint64_t count; /* queries so far */
    bool ended;
};

void vt_schedule_init(struct vt_schedule *schedule, uint64_t seed, double qps, int64_t duration_ns,
                      uint64_t count_min, uint64_t count_step);
/* The start of the next query since the start of the run; false at the end. */
bool vt_schedule_next(struct vt_schedule *schedule, int64_t *ret_ns);

#endif
