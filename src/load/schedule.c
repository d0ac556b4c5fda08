/* SPDX-License-Identifier: Apache-2.0 */
#include "load/schedule.h"

void vt_schedule_init(struct vt_schedule *schedule, uint64_t seed, double qps, int64_t duration_ns,
                      uint64_t count_min, uint64_t count_step)
{
    vt_mt19937_seed(&schedule->rng, seed);
    schedule->qps = qps;
    schedule->duration_ns = duration_ns;
    schedule->count_min = count_min;
    schedule->count_step = count_step;
    schedule->next_ns = 0;
    schedule->count = 0;
    schedule->ended = !(duration_ns > 0 || count_min > 0);
}

bool vt_schedule_next(struct vt_schedule *schedule, int64_t *ret_ns)
{
    if (schedule->ended) {
        return false;
    }
    int64_t now = schedule->next_ns;
    schedule->count++;
    int64_t gap = vt_rng_exponential_ns(&schedule->rng, schedule->qps);
    schedule->next_ns = gap < INT64_MAX / 2 - now ? now + gap : INT64_MAX / 2;
    if (schedule->count_step != 0 && schedule->count >= schedule->count_min &&
        now < schedule->duration_ns) {
        schedule->count_min += schedule->count_step;
    }
    schedule->ended = now >= schedule->duration_ns && schedule->count >= schedule->count_min;
    *ret_ns = now;
    return true;
}
