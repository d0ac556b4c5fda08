/* SPDX-License-Identifier: Apache-2.0 */
#include "load/schedule.h"

#include <inttypes.h>

/* Times beyond lie far behind any run; sums of two stay defined. */
#define FAR_NS (INT64_MAX / 4)

static enum vt_status check_trace(const struct vt_load_settings *s, struct vt_error *err)
{
    if (s->n_arrival_trace == 0 || s->arrival_trace_ns == NULL) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "arrivals is trace: give the recorded times, at least one");
    }
    int64_t before = 0;
    for (uint64_t i = 0; i < s->n_arrival_trace; i++) {
        int64_t at = s->arrival_trace_ns[i];
        if (at < before || at > FAR_NS) {
            return vt_error_set(err, VT_ERR_USAGE,
                                "arrival_trace_ns[%" PRIu64 "] is %" PRId64
                                ": give times from %" PRId64 " (the one before) to %" PRId64 " ns",
                                i, at, before, FAR_NS);
        }
        before = at;
    }
    return VT_OK;
}

enum vt_status vt_schedule_check(const struct vt_load_settings *settings, struct vt_error *err)
{
    if (settings->scenario != VT_SERVER) {
        return VT_OK;
    }
    switch (settings->arrivals) {
    case VT_ARRIVALS_POISSON:
    case VT_ARRIVALS_CONSTANT:
        return VT_OK;
    case VT_ARRIVALS_TRACE:
        return check_trace(settings, err);
    }
    return vt_error_set(err, VT_ERR_USAGE, "arrivals is %d: give a value from %d to %d",
                        (int)settings->arrivals, VT_ARRIVALS_POISSON, VT_ARRIVALS_TRACE);
}

void vt_schedule_init(struct vt_schedule *schedule, const struct vt_load_settings *settings,
                      double qps, const struct vt_schedule_span *span)
{
    *schedule = (struct vt_schedule){
        .arrivals = settings->arrivals,
        .qps = qps,
        .duration_ns = span->duration_ns,
        .count_min = span->count_min,
        .count_step = span->count_step,
        .ended = !(span->duration_ns > 0 || span->count_min > 0),
    };
    if (settings->arrivals == VT_ARRIVALS_POISSON) {
        vt_mt19937_seed(&schedule->rng, settings->schedule_rng_seed);
    } else if (settings->arrivals == VT_ARRIVALS_TRACE) {
        schedule->trace_ns = settings->arrival_trace_ns;
        schedule->n_trace = settings->n_arrival_trace;
        schedule->ends_with_trace = settings->mode != VT_ACCURACY;
        schedule->next_ns = schedule->trace_ns[0];
    }
}

/* The start of query `count`, which follows the one at `now`. */
static int64_t next_start(struct vt_schedule *s, int64_t now)
{
    switch (s->arrivals) {
    case VT_ARRIVALS_POISSON: {
        int64_t gap = vt_rng_exponential_ns(&s->rng, s->qps);
        return gap < FAR_NS - now ? now + gap : FAR_NS;
    }
    case VT_ARRIVALS_CONSTANT: {
        /* From the count and not from the gap, so that nothing adds up. */
        double ns = (double)s->count * 1e9 / s->qps;
        return ns < (double)FAR_NS ? (int64_t)ns : FAR_NS;
    }
    case VT_ARRIVALS_TRACE:
        break;
    }
    return s->count < s->n_trace ? s->trace_ns[s->count] : now;
}

bool vt_schedule_next(struct vt_schedule *schedule, int64_t *ret_ns)
{
    if (schedule->ended) {
        return false;
    }
    int64_t now = schedule->next_ns;
    schedule->count++;
    schedule->next_ns = next_start(schedule, now);
    if (schedule->ends_with_trace) {
        schedule->ended = schedule->count == schedule->n_trace;
        *ret_ns = now;
        return true;
    }
    if (schedule->count_step != 0 && schedule->count >= schedule->count_min &&
        now < schedule->duration_ns) {
        schedule->count_min += schedule->count_step;
    }
    schedule->ended = now >= schedule->duration_ns && schedule->count >= schedule->count_min;
    *ret_ns = now;
    return true;
}

uint64_t vt_schedule_generated(const struct vt_schedule_span *span, double qps,
                               int64_t *ret_duration_ns)
{
    const uint64_t most = UINT64_C(1) << 62;
    double gap = 1.0 / qps * 1e9;
    /* LoadGen would not end with a gap of 0. */
    int64_t gap_ns = gap < 1 ? 1 : gap < (double)FAR_NS ? (int64_t)gap : FAR_NS;
    uint64_t n = span->count_min;
    if (span->duration_ns > 0) {
        /* The last one starts at or after twice the duration. */
        uint64_t whole = 2 * (uint64_t)span->duration_ns;
        uint64_t by_time = (whole + (uint64_t)gap_ns - 1) / (uint64_t)gap_ns + 1;
        if (n < by_time) {
            uint64_t step = span->count_step;
            n = step == 0 ? by_time : n + (by_time - n + step - 1) / step * step;
        }
    }
    n = n < most ? n : most;
    int64_t span_ns;
    *ret_duration_ns = __builtin_mul_overflow(gap_ns, (int64_t)n, &span_ns) ? INT64_MAX : span_ns;
    return n;
}
