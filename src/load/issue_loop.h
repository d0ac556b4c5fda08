/* SPDX-License-Identifier: Apache-2.0 */
/* What the loops of the scenarios share; for them alone. */
#ifndef VT_LOAD_ISSUE_LOOP_H
#define VT_LOAD_ISSUE_LOOP_H

#include "load/issuer.h"

/* How often a wait looks at `stop`. */
#define VT_LOOK_NS (50 * VT_NS_PER_MS)

static inline int64_t vt_issue_now_ns(const struct vt_issuer *is)
{
    return vt_recorder_now_ns(is->recorder);
}

static inline int64_t vt_min_ns(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline bool vt_issue_performance(const struct vt_issuer *is)
{
    return is->settings->mode == VT_PERFORMANCE;
}

static inline uint64_t vt_track_completed(const struct vt_issue_track *track)
{
    return atomic_load_explicit(&track->issuer->recorder->tracks[track->index].completed,
                                memory_order_acquire);
}

/* The run is over, for this reason unless it had one already. With `halt` for all threads. */
void vt_issue_end(struct vt_issuer *is, enum vt_run_end end, bool halt);

/* True, with the end noted, when somebody wants the run to stop. */
static inline bool vt_issue_interrupted(struct vt_issuer *is)
{
    if (atomic_load_explicit(&is->control->stop, memory_order_relaxed)) {
        vt_issue_end(is, VT_END_STOPPED, true);
        return true;
    }
    return false;
}

/* The same when another thread ended it: nothing is issued any more. */
static inline bool vt_issue_stopped(struct vt_issuer *is)
{
    return vt_issue_interrupted(is) || atomic_load_explicit(&is->halt, memory_order_relaxed);
}

/* How long a wait may spin. A spin does not look at `stop`, so it is no longer than a look apart.
 */
static inline int64_t vt_issue_spin_ns(const struct vt_issuer *is)
{
    return vt_min_ns(is->settings->spin_ns, VT_LOOK_NS);
}

void vt_issue_sleep_until(const struct vt_issuer *is, int64_t deadline_ns, int64_t spin_ns);

/* The start of this phase is now; of the run too when it is the first. Before any issue. */
int64_t vt_issue_start_phase(struct vt_issuer *is, int64_t now);

/* For those who watch. One thread at a time. */
static inline void vt_issue_show(const struct vt_issuer *is, uint64_t issued, uint64_t done)
{
    atomic_store_explicit(&is->control->issued, issued, memory_order_relaxed);
    atomic_store_explicit(&is->control->completed, done, memory_order_relaxed);
}

/* Waits until `target` samples of the track are done, to cap_ns at most; else ends the run. */
bool vt_issue_wait(struct vt_issue_track *track, uint64_t target, int64_t cap_ns);

/* The limits that end any performance run early. `elapsed` is of the last issue. */
bool vt_issue_limited(struct vt_issue_track *track, int64_t elapsed);

/* Publishes the prepared samples, whose times are in their records, and hands them over. */
static inline enum vt_status vt_issue_launch(struct vt_issue_track *track, size_t n,
                                             struct vt_error *err)
{
    struct vt_issuer *is = track->issuer;
    track->sequence += n;
    atomic_store_explicit(&is->recorder->tracks[track->index].issued, track->sequence,
                          memory_order_release);
    return is->sut->issue(is->sut->ctx, track->samples, n, err);
}

/* The end of a performance run by the clock, `grace` behind max_duration; VT_NEVER without one. */
int64_t vt_issue_cap(const struct vt_issuer *is, int64_t start, int64_t grace);

/* Server, on one thread or on several; without the flush and the last wait. `ret_start` is the
 * absolute start of the phase. */
enum vt_status vt_issue_server(struct vt_issuer *is, struct vt_error *err, int64_t *ret_start);

#endif
