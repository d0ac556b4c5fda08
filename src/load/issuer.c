/* SPDX-License-Identifier: Apache-2.0 */
#include "load/issuer.h"

#include <inttypes.h>

#include "base/futex.h"

/* How often a wait looks at `stop`. */
#define LOOK_NS (50 * VT_NS_PER_MS)
/* How often a clock that is not the machine's is asked while waiting for completions. */
#define POLL_NS (100 * VT_NS_PER_US)
/* Samples in one part of an Offline query. */
#define OFFLINE_BLOCK 16384
/* Looks at a word between two looks at the clock. */
#define SPINS 32

enum vt_status vt_issuer_init(struct vt_issuer *issuer, struct vt_error *err)
{
    issuer->block = issuer->settings->scenario == VT_OFFLINE ? OFFLINE_BLOCK
                                                             : issuer->effective->samples_per_query;
    issuer->samples = vt_calloc(issuer->block, sizeof(*issuer->samples));
    issuer->indices = vt_calloc(issuer->block, sizeof(*issuer->indices));
    if (issuer->samples == NULL || issuer->indices == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "no memory for a query of %zu samples",
                            issuer->block);
    }
    return VT_OK;
}

void vt_issuer_release(struct vt_issuer *issuer)
{
    vt_free(issuer->samples);
    vt_free(issuer->indices);
    issuer->samples = NULL;
    issuer->indices = NULL;
}

static int64_t now_ns(const struct vt_issuer *is)
{
    return vt_recorder_now_ns(is->recorder);
}

static void sleep_until(const struct vt_issuer *is, int64_t deadline_ns, int64_t spin_ns)
{
    const struct vt_clock *clock = is->recorder->clock;
    if (clock == NULL) {
        vt_sleep_until_ns(deadline_ns, spin_ns);
    } else {
        clock->sleep_until_ns(clock->ctx, deadline_ns, spin_ns);
    }
}

static bool stop_asked(const struct vt_issuer *is)
{
    return atomic_load_explicit(&is->control->stop, memory_order_relaxed);
}

static uint64_t completed(const struct vt_issuer *is)
{
    return vt_recorder_completed(is->recorder);
}

/* This thread alone writes the counters that others watch, so completers share no line with them.
 */
static void show_progress(const struct vt_issuer *is, uint64_t done)
{
    atomic_store_explicit(&is->control->issued, is->sequence, memory_order_relaxed);
    atomic_store_explicit(&is->control->completed, done, memory_order_relaxed);
}

static int64_t min_ns(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Spins until the samples are done, for spin_ns at most. */
static bool spin_for(const struct vt_issuer *is, uint64_t target)
{
    if (is->recorder->clock != NULL || is->settings->spin_ns == 0) {
        return false;
    }
    int64_t until = vt_now_ns() + is->settings->spin_ns;
    do {
        for (int i = 0; i < SPINS; i++) {
            if (completed(is) >= target) {
                return true;
            }
            vt_spin_pause();
        }
    } while (vt_now_ns() < until);
    return false;
}

/* Sleeps until the samples are done or the deadline has come. */
static void sleep_for(const struct vt_issuer *is, uint64_t target, int64_t now, int64_t deadline_ns)
{
    struct vt_track *r = &is->recorder->tracks[0];
    if (is->recorder->clock != NULL) {
        sleep_until(is, min_ns(deadline_ns, now + POLL_NS), 0);
        return;
    }
    uint32_t wake = atomic_load(&r->wake);
    atomic_store(&r->wake_at, target);
    if (atomic_load(&r->completed) < target) {
        (void)vt_futex_wait(&r->wake, wake, deadline_ns, 0);
    }
    atomic_store(&r->wake_at, UINT64_MAX);
}

/* Waits until `target` samples of the run are done; else says in `end` why not. */
static bool wait_for(struct vt_issuer *is, uint64_t target, int64_t cap_ns)
{
    if (completed(is) >= target || spin_for(is, target)) {
        return true;
    }
    const int64_t timeout = is->settings->completion_timeout_ns;
    int64_t progress_ns = now_ns(is);
    uint64_t seen = completed(is);
    for (;;) {
        uint64_t done = completed(is);
        int64_t now = now_ns(is);
        show_progress(is, done);
        if (done >= target) {
            return true;
        }
        if (done != seen) {
            seen = done;
            progress_ns = now;
        }
        if (stop_asked(is)) {
            is->end = VT_END_STOPPED;
            return false;
        }
        if (now >= cap_ns) {
            is->end = VT_END_MAX_DURATION;
            return false;
        }
        if (now - progress_ns >= timeout) {
            is->end = VT_END_TIMED_OUT;
            return false;
        }
        sleep_for(is, target, now, min_ns(min_ns(now + LOOK_NS, cap_ns), progress_ns + timeout));
    }
}

/*
 * Everything about the next n samples but their times: so that drawing them, room for them and the
 * first touch of fresh memory come before the clock is read.
 */
static enum vt_status prepare(struct vt_issuer *is, size_t n, struct vt_error *err)
{
    enum vt_status st = vt_recorder_reserve(is->recorder, 0, n, err);
    if (st != VT_OK) {
        return st;
    }
    vt_selection_fill(&is->selection, is->indices, n);
    for (size_t i = 0; i < n; i++) {
        uint64_t sequence = is->sequence + i;
        is->samples[i].id = vt_recorder_id(is->recorder, 0, sequence);
        is->samples[i].index = is->indices[i];
        vt_recorder_open(is->recorder, 0, sequence, (uint32_t)is->indices[i],
                         (uint32_t)is->queries);
    }
    return VT_OK;
}

/* Hands the prepared samples over. Times are absolute. */
static enum vt_status launch(struct vt_issuer *is, size_t n, int64_t scheduled, int64_t issued,
                             struct vt_error *err)
{
    struct vt_recorder *r = is->recorder;
    is->last_scheduled_ns = scheduled - r->start_ns;
    is->last_issue_ns = issued - r->start_ns;
    for (size_t i = 0; i < n; i++) {
        struct vt_sample_record *record = vt_recorder_at(r, 0, is->sequence + i);
        record->scheduled_ns = is->last_scheduled_ns;
        record->issued_ns = is->last_issue_ns;
    }
    is->sequence += n;
    atomic_store_explicit(&r->tracks[0].issued, is->sequence, memory_order_release);
    return is->sut->issue(is->sut->ctx, is->samples, n, err);
}

/* The start of this phase; of the run too when it is the first. */
static int64_t start_phase(struct vt_issuer *is)
{
    int64_t now = now_ns(is);
    if (!is->started) {
        is->started = true;
        is->recorder->start_ns = now;
        atomic_store_explicit(&is->control->started_ns, now, memory_order_relaxed);
    }
    return now;
}

static bool performance(const struct vt_issuer *is)
{
    return is->settings->mode == VT_PERFORMANCE;
}

/* The limits that end any performance run early. `elapsed` is of the last issue. */
static bool limit_reached(struct vt_issuer *is, int64_t elapsed)
{
    const struct vt_load_settings *s = is->settings;
    if (!performance(is)) {
        return false;
    }
    if (s->max_query_count != 0 && is->queries >= s->max_query_count) {
        is->end = VT_END_MAX_QUERIES;
        return true;
    }
    if (s->max_duration_ns != 0 && elapsed > s->max_duration_ns) {
        is->end = VT_END_MAX_DURATION;
        return true;
    }
    return false;
}

/* Whether the query that was just issued is the last one. `queries` are those of this phase. */
static bool closed_loop_ends(struct vt_issuer *is, uint64_t queries, int64_t elapsed)
{
    const struct vt_selection *sel = &is->selection;
    bool gave_all = sel->queries_max != 0 && queries >= sel->queries_max;
    if (!performance(is)) {
        return gave_all;
    }
    if (queries >= is->effective->min_query_count && elapsed >= is->effective->target_duration_ns) {
        return true;
    }
    if (limit_reached(is, elapsed)) {
        return true;
    }
    if (gave_all) {
        is->end = VT_END_EXHAUSTED;
    }
    return gave_all;
}

static enum vt_status run_closed_loop(struct vt_issuer *is, struct vt_error *err)
{
    size_t n = is->effective->samples_per_query;
    int64_t start = 0;
    for (uint64_t queries = 1;; queries++) {
        enum vt_status st = prepare(is, n, err);
        if (st != VT_OK) {
            return st;
        }
        if (queries == 1) {
            start = start_phase(is);
        }
        int64_t now = now_ns(is);
        st = launch(is, n, now, now, err);
        if (st != VT_OK) {
            return st;
        }
        is->queries++;
        if (closed_loop_ends(is, queries, now - start)) {
            break;
        }
        if (!wait_for(is, is->sequence, VT_NEVER)) {
            return VT_OK;
        }
        show_progress(is, is->sequence);
        if (stop_asked(is)) {
            is->end = VT_END_STOPPED;
            break;
        }
    }
    is->sut->flush(is->sut->ctx);
    (void)wait_for(is, is->sequence, VT_NEVER);
    return VT_OK;
}

/* Sleeps to the time of the next query; false when the run was stopped meanwhile. */
static bool sleep_to(struct vt_issuer *is, int64_t deadline, int64_t *ret_now)
{
    int64_t now = now_ns(is);
    while (now < deadline) {
        if (stop_asked(is)) {
            is->end = VT_END_STOPPED;
            return false;
        }
        bool far = deadline - now > LOOK_NS + is->settings->spin_ns;
        if (far) {
            sleep_until(is, now + LOOK_NS, 0);
        } else {
            sleep_until(is, deadline, is->settings->spin_ns);
        }
        now = now_ns(is);
    }
    *ret_now = now;
    return true;
}

/* Notices a system under test that has fallen silent while queries are still being issued. */
struct silence {
    uint64_t completed;
    int64_t since_ns;
};

static bool too_silent(struct vt_issuer *is, struct silence *silence, uint64_t done, int64_t now)
{
    if (done != silence->completed || done + 1 >= is->sequence) {
        silence->completed = done;
        silence->since_ns = now;
        return false;
    }
    if (now - silence->since_ns < is->settings->completion_timeout_ns) {
        return false;
    }
    is->end = VT_END_TIMED_OUT;
    return true;
}

static int64_t cap_after(const struct vt_issuer *is, int64_t start, int64_t grace)
{
    return performance(is) && is->settings->max_duration_ns != 0
               ? start + is->settings->max_duration_ns + grace
               : VT_NEVER;
}

static enum vt_status issue_schedule(struct vt_issuer *is, struct vt_schedule *schedule,
                                     int64_t *ret_start, struct vt_error *err)
{
    int64_t start = 0, at = 0, now = 0, cap = VT_NEVER;
    struct silence silence = {0};
    while (vt_schedule_next(schedule, &at)) {
        enum vt_status st = prepare(is, 1, err);
        if (st != VT_OK) {
            return st;
        }
        if (schedule->count == 1) {
            start = start_phase(is);
            cap = cap_after(is, start, 0);
            silence.since_ns = start;
            *ret_start = start;
        }
        /* A query behind the end of the run is not waited for. */
        if (!sleep_to(is, min_ns(start + at, cap), &now)) {
            return VT_OK;
        }
        if (start + at > cap) {
            is->end = VT_END_MAX_DURATION;
            return VT_OK;
        }
        st = launch(is, 1, start + at, now, err);
        if (st != VT_OK) {
            return st;
        }
        is->queries++;
        uint64_t done = completed(is);
        show_progress(is, done);
        if (schedule->ended) {
            return VT_OK;
        }
        if (stop_asked(is)) {
            is->end = VT_END_STOPPED;
            return VT_OK;
        }
        if (limit_reached(is, now - start) || too_silent(is, &silence, done, now)) {
            return VT_OK;
        }
    }
    return VT_OK;
}

static enum vt_status run_server(struct vt_issuer *is, struct vt_error *err)
{
    const struct vt_selection *sel = &is->selection;
    struct vt_schedule schedule;
    vt_schedule_init(&schedule, is->settings->schedule_rng_seed, is->effective->target_qps,
                     sel->duration_ns, sel->queries_min, sel->queries_step);
    if (is->recorder->clock == NULL) {
        (void)vt_clock_tighten_slack();
    }
    int64_t start = 0;
    enum vt_status st = issue_schedule(is, &schedule, &start, err);
    if (st != VT_OK || is->end == VT_END_STOPPED || is->end == VT_END_TIMED_OUT) {
        return st;
    }
    is->sut->flush(is->sut->ctx);
    /* What is not done by then is late in any case. */
    int64_t cap = cap_after(is, start, is->settings->server_target_latency_ns);
    (void)wait_for(is, is->sequence, cap);
    return VT_OK;
}

static enum vt_status run_offline(struct vt_issuer *is, struct vt_error *err)
{
    uint64_t left = is->selection.samples_per_query;
    int64_t start = 0, cap = VT_NEVER;
    for (bool first = true; left > 0; first = false) {
        size_t n = left < is->block ? left : is->block;
        enum vt_status st = prepare(is, n, err);
        if (st != VT_OK) {
            return st;
        }
        if (first) {
            start = start_phase(is);
            cap = cap_after(is, start, 0);
        }
        int64_t now = now_ns(is);
        st = launch(is, n, start, now, err);
        if (st != VT_OK) {
            return st;
        }
        left -= n;
        show_progress(is, completed(is));
        if (stop_asked(is)) {
            is->end = VT_END_STOPPED;
            break;
        }
        if (left > 0 && now >= cap) {
            is->end = VT_END_MAX_DURATION;
            break;
        }
    }
    is->queries++;
    if (is->end != VT_END_NATURAL) {
        return VT_OK;
    }
    is->sut->flush(is->sut->ctx);
    (void)wait_for(is, is->sequence, cap);
    return VT_OK;
}

enum vt_status vt_issuer_run(struct vt_issuer *issuer, struct vt_error *err)
{
    enum vt_status st = VT_OK;
    switch (issuer->settings->scenario) {
    case VT_OFFLINE:
        st = run_offline(issuer, err);
        break;
    case VT_SERVER:
        st = run_server(issuer, err);
        break;
    case VT_SINGLESTREAM:
    case VT_MULTISTREAM:
    case VT_SCENARIO_COUNT:
        st = run_closed_loop(issuer, err);
        break;
    }
    show_progress(issuer, completed(issuer));
    return st;
}
