/* SPDX-License-Identifier: Apache-2.0 */
#include "load/issuer.h"

#include <inttypes.h>

#include "base/futex.h"
#include "load/issue_loop.h"
#include "load/issue_thread.h"

/* How often a clock that is not the machine's is asked while waiting for completions. */
#define POLL_NS (100 * VT_NS_PER_US)
/* Samples in one part of an Offline query: their records stay in the second-level cache. */
#define OFFLINE_BLOCK 16384
/* Queries of Server that go into one issue call at most. */
#define COALESCE_BLOCK 1024
/* Looks at a word between two looks at the clock. */
#define SPINS 32

uint32_t vt_issuer_tracks(const struct vt_load_settings *settings)
{
    uint32_t n = settings->scenario == VT_SERVER ? settings->server_num_issue_query_threads : 0;
    return n > 1 ? n : 1;
}

static size_t block_of(const struct vt_issuer *is)
{
    switch (is->settings->scenario) {
    case VT_OFFLINE:
        return OFFLINE_BLOCK;
    case VT_SERVER:
        return is->settings->server_coalesce_queries ? COALESCE_BLOCK : 1;
    case VT_SINGLESTREAM:
    case VT_MULTISTREAM:
    case VT_SCENARIO_COUNT:
        break;
    }
    return is->effective->samples_per_query;
}

enum vt_status vt_issuer_init(struct vt_issuer *issuer, struct vt_error *err)
{
    uint32_t n = vt_issuer_tracks(issuer->settings);
    issuer->block = block_of(issuer);
    issuer->tracks = vt_calloc(n, sizeof(*issuer->tracks));
    if (issuer->tracks == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "no memory for %" PRIu32 " issuing threads", n);
    }
    issuer->n_tracks = n;
    for (uint32_t i = 0; i < n; i++) {
        struct vt_issue_track *track = &issuer->tracks[i];
        track->issuer = issuer;
        track->index = i;
        track->samples = vt_calloc(issuer->block, sizeof(*track->samples));
        track->indices = vt_calloc(issuer->block, sizeof(*track->indices));
        if (track->samples == NULL || track->indices == NULL) {
            return vt_error_set(err, VT_ERR_MEMORY, "no memory for a query of %zu samples",
                                issuer->block);
        }
    }
    return VT_OK;
}

void vt_issuer_release(struct vt_issuer *issuer)
{
    for (uint32_t i = 0; i < issuer->n_tracks; i++) {
        vt_free(issuer->tracks[i].samples);
        vt_free(issuer->tracks[i].indices);
    }
    vt_free(issuer->tracks);
    issuer->tracks = NULL;
    issuer->n_tracks = 0;
}

void vt_issue_end(struct vt_issuer *is, enum vt_run_end end, bool halt)
{
    int natural = VT_END_NATURAL;
    (void)atomic_compare_exchange_strong(&is->end, &natural, (int)end);
    if (halt) {
        atomic_store(&is->halt, true);
    }
}

void vt_issue_sleep_until(const struct vt_issuer *is, int64_t deadline_ns, int64_t spin_ns)
{
    const struct vt_clock *clock = is->recorder->clock;
    if (clock == NULL) {
        vt_sleep_until_ns(deadline_ns, spin_ns);
    } else {
        clock->sleep_until_ns(clock->ctx, deadline_ns, spin_ns);
    }
}

/* Spins until the samples are done, for spin_ns at most. */
static bool spin_for(struct vt_issue_track *track, uint64_t target)
{
    int64_t spin_ns = vt_issue_spin_ns(track->issuer);
    if (track->issuer->recorder->clock != NULL || spin_ns == 0) {
        return false;
    }
    int64_t until = vt_now_ns() + spin_ns;
    do {
        for (int i = 0; i < SPINS; i++) {
            if (vt_track_completed(track) >= target) {
                return true;
            }
            vt_spin_pause();
        }
    } while (vt_now_ns() < until);
    return false;
}

/* Sleeps until the samples are done or the deadline has come. */
static void sleep_for(struct vt_issue_track *track, uint64_t target, int64_t now,
                      int64_t deadline_ns)
{
    struct vt_recorder *r = track->issuer->recorder;
    struct vt_track *t = &r->tracks[track->index];
    if (r->clock != NULL) {
        vt_issue_sleep_until(track->issuer, vt_min_ns(deadline_ns, now + POLL_NS), 0);
        return;
    }
    uint32_t wake = atomic_load(&t->wake);
    atomic_store(&t->wake_at, target);
    if (atomic_load(&t->completed) < target) {
        (void)vt_futex_wait(&t->wake, wake, deadline_ns, 0);
    }
    atomic_store(&t->wake_at, UINT64_MAX);
}

/* The part of vt_issue_wait that is not over at once. */
static bool wait_long(struct vt_issue_track *track, uint64_t target, int64_t cap_ns)
{
    struct vt_issuer *is = track->issuer;
    const int64_t timeout = is->settings->completion_timeout_ns;
    int64_t progress_ns = vt_issue_now_ns(is);
    uint64_t seen = vt_recorder_completed(is->recorder);
    for (;;) {
        uint64_t all = vt_recorder_completed(is->recorder);
        int64_t now = vt_issue_now_ns(is);
        vt_issue_show(is, vt_recorder_issued(is->recorder), all);
        if (vt_track_completed(track) >= target) {
            return true;
        }
        if (all != seen) {
            seen = all;
            progress_ns = now;
        }
        if (vt_issue_interrupted(is)) {
            return false;
        }
        if (now >= cap_ns) {
            vt_issue_end(is, VT_END_MAX_DURATION, true);
            return false;
        }
        if (now - progress_ns >= timeout) {
            vt_issue_end(is, VT_END_TIMED_OUT, true);
            return false;
        }
        sleep_for(track, target, now,
                  vt_min_ns(vt_min_ns(now + VT_LOOK_NS, cap_ns), progress_ns + timeout));
    }
}

bool vt_issue_wait(struct vt_issue_track *track, uint64_t target, int64_t cap_ns)
{
    return vt_track_completed(track) >= target || spin_for(track, target) ||
           wait_long(track, target, cap_ns);
}

int64_t vt_issue_start_phase(struct vt_issuer *is, int64_t now)
{
    if (!is->started) {
        is->started = true;
        atomic_store_explicit(&is->recorder->start_ns, now, memory_order_relaxed);
        atomic_store_explicit(&is->control->started_ns, now, memory_order_relaxed);
    }
    return now;
}

/* A thread's share of a count, the remainder to the first ones. */
static uint64_t share_of(const struct vt_issue_track *track, uint64_t count)
{
    uint32_t n = track->issuer->n_tracks;
    return count / n + (track->index < count % n ? 1 : 0);
}

bool vt_issue_limited(struct vt_issue_track *track, int64_t elapsed)
{
    struct vt_issuer *is = track->issuer;
    const struct vt_load_settings *s = is->settings;
    if (!vt_issue_performance(is)) {
        return false;
    }
    if (s->max_query_count != 0 && track->queries >= share_of(track, s->max_query_count)) {
        vt_issue_end(is, VT_END_MAX_QUERIES, false);
        return true;
    }
    if (s->max_duration_ns != 0 && elapsed > s->max_duration_ns) {
        vt_issue_end(is, VT_END_MAX_DURATION, false);
        return true;
    }
    return false;
}

int64_t vt_issue_cap(const struct vt_issuer *is, int64_t start, int64_t grace)
{
    return vt_issue_performance(is) && is->settings->max_duration_ns != 0
               ? start + is->settings->max_duration_ns + grace
               : VT_NEVER;
}

/* Draws the next n samples and writes their records; the times may be corrected by stamp(). */
static enum vt_status prepare(struct vt_issue_track *track, size_t n, int64_t scheduled_ns,
                              int64_t issued_ns, struct vt_error *err)
{
    struct vt_recorder *r = track->issuer->recorder;
    enum vt_status st = vt_recorder_reserve(r, track->index, n, err);
    if (st != VT_OK) {
        return st;
    }
    vt_selection_fill(&track->selection, track->indices, n);
    const uint64_t sequence = track->sequence, id = vt_recorder_id(r, track->index, sequence);
    const uint32_t query = (uint32_t)(track->issuer->queries_before + track->queries);
    const uint64_t *indices = track->indices;
    struct vt_query_sample *samples = track->samples;
    struct vt_sample_record *records = vt_recorder_at(r, track->index, sequence);
    for (size_t i = 0; i < n; i++) {
        samples[i] = (struct vt_query_sample){.id = id + i, .index = indices[i]};
        records[i] = (struct vt_sample_record){
            .scheduled_ns = scheduled_ns,
            .issued_ns = issued_ns,
            .done_ns = VT_RECORD_LOST,
            .index = (uint32_t)indices[i],
            .query = query,
        };
    }
    if (r->counts_tokens) {
        for (size_t i = 0; i < n; i++) {
            vt_recorder_open(r, track->index, sequence + i, (uint32_t)indices[i], query);
        }
    }
    if (track->sampler.on) {
        for (size_t i = 0; i < n; i++) {
            if (vt_log_sampler_next(&track->sampler)) {
                vt_recorder_mark(r, track->index, sequence + i);
            }
        }
    }
    track->last_scheduled_ns = scheduled_ns;
    track->last_issue_ns = issued_ns;
    return VT_OK;
}

/* Gives the prepared samples their times, since the start of the run. */
static void stamp(struct vt_issue_track *track, size_t n, int64_t now_ns)
{
    struct vt_sample_record *records =
        vt_recorder_at(track->issuer->recorder, track->index, track->sequence);
    for (size_t i = 0; i < n; i++) {
        records[i].scheduled_ns = now_ns;
        records[i].issued_ns = now_ns;
    }
    track->last_scheduled_ns = now_ns;
    track->last_issue_ns = now_ns;
}

/* Whether the query that was just issued is the last one of a closed loop. */
static bool closed_loop_ends(struct vt_issue_track *track, int64_t elapsed)
{
    struct vt_issuer *is = track->issuer;
    uint64_t most = track->selection.queries_max;
    bool gave_all = most != 0 && track->queries >= most;
    if (!vt_issue_performance(is)) {
        return gave_all;
    }
    if (track->queries >= is->effective->min_query_count &&
        elapsed >= is->effective->target_duration_ns) {
        return true;
    }
    if (vt_issue_limited(track, elapsed)) {
        return true;
    }
    if (gave_all) {
        vt_issue_end(is, VT_END_EXHAUSTED, false);
    }
    return gave_all;
}

static enum vt_status run_closed_loop(struct vt_issue_track *track, struct vt_error *err)
{
    struct vt_issuer *is = track->issuer;
    const size_t n = is->effective->samples_per_query;
    int64_t start = VT_NEVER, zero = 0;
    for (;;) {
        enum vt_status st = prepare(track, n, 0, 0, err);
        if (st != VT_OK) {
            return st;
        }
        int64_t now = vt_issue_now_ns(is);
        if (start == VT_NEVER) {
            start = vt_issue_start_phase(is, now);
            zero = atomic_load_explicit(&is->recorder->start_ns, memory_order_relaxed);
        }
        stamp(track, n, now - zero);
        st = vt_issue_launch(track, n, err);
        if (st != VT_OK) {
            return st;
        }
        track->queries++;
        if (closed_loop_ends(track, now - start)) {
            break;
        }
        if (!vt_issue_wait(track, track->sequence, VT_NEVER)) {
            return VT_OK;
        }
        vt_issue_show(is, track->sequence, track->sequence);
        if (vt_issue_stopped(is)) {
            break;
        }
    }
    is->sut->flush(is->sut->ctx);
    (void)vt_issue_wait(track, track->sequence, VT_NEVER);
    return VT_OK;
}

static enum vt_status run_server(struct vt_issuer *is, struct vt_error *err)
{
    int64_t start = 0;
    enum vt_status st = vt_issue_server(is, err, &start);
    enum vt_run_end end = vt_issuer_end(is);
    if (st != VT_OK || end == VT_END_STOPPED || end == VT_END_TIMED_OUT) {
        return st;
    }
    is->sut->flush(is->sut->ctx);
    /* What is not done by then is late in any case. */
    int64_t cap = vt_issue_cap(is, start, is->settings->server_target_latency_ns);
    for (uint32_t i = 0; i < is->n_tracks; i++) {
        if (!vt_issue_wait(&is->tracks[i], is->tracks[i].sequence, cap)) {
            break;
        }
    }
    return VT_OK;
}

/*
 * Parts of the one query. Only the first is prepared before the clock starts: the preparation of
 * the others is work of the run, so their time of issue is taken before it.
 */
static enum vt_status run_offline(struct vt_issue_track *track, struct vt_error *err)
{
    struct vt_issuer *is = track->issuer;
    uint64_t left = track->selection.samples_per_query;
    int64_t start = VT_NEVER, cap = VT_NEVER, zero = 0;
    while (left > 0) {
        size_t n = left < is->block ? left : is->block;
        int64_t now = start == VT_NEVER ? 0 : vt_issue_now_ns(is);
        enum vt_status st = prepare(track, n, start - zero, now - zero, err);
        if (st != VT_OK) {
            return st;
        }
        if (start == VT_NEVER) {
            now = start = vt_issue_start_phase(is, vt_issue_now_ns(is));
            cap = vt_issue_cap(is, start, 0);
            zero = atomic_load_explicit(&is->recorder->start_ns, memory_order_relaxed);
            stamp(track, n, start - zero);
        }
        st = vt_issue_launch(track, n, err);
        if (st != VT_OK) {
            return st;
        }
        left -= n;
        vt_issue_show(is, track->sequence, vt_track_completed(track));
        if (vt_issue_stopped(is)) {
            break;
        }
        if (left > 0 && now >= cap) {
            vt_issue_end(is, VT_END_MAX_DURATION, true);
            break;
        }
    }
    track->queries++;
    if (vt_issuer_end(is) != VT_END_NATURAL) {
        return VT_OK;
    }
    is->sut->flush(is->sut->ctx);
    (void)vt_issue_wait(track, track->sequence, cap);
    return VT_OK;
}

static enum vt_status run_alone(struct vt_issuer *is, struct vt_error *err)
{
    struct vt_issue_track *track = &is->tracks[0];
    struct vt_issue_thread saved;
    enum vt_status st = vt_issue_thread_enter(is->settings, 0, err, &saved);
    if (st == VT_OK) {
        /* Borrows the permutation; vt_issuer_run gives it back. */
        track->selection = is->selection;
        track->sampler = is->sampler;
        switch (is->settings->scenario) {
        case VT_OFFLINE:
            st = run_offline(track, err);
            break;
        case VT_SERVER:
            st = run_server(is, err);
            break;
        case VT_SINGLESTREAM:
        case VT_MULTISTREAM:
        case VT_SCENARIO_COUNT:
            st = run_closed_loop(track, err);
            break;
        }
    }
    vt_issue_thread_leave(&saved);
    return st;
}

/* Of Server each thread has followed the schedule to its end, or the run ended early. */
static uint64_t generated_by_server(struct vt_issuer *is, bool failed, int64_t *ret_duration_ns)
{
    /* Where a run is cut off long before its end, counting all the rest would take as long; and
     * who stops a run, or saw it fail, does not want to wait for a number. */
    const bool stopped = failed || vt_issuer_end(is) == VT_END_STOPPED;
    const uint64_t most = stopped ? 0 : is->queries + (UINT64_C(1) << 26);
    struct vt_schedule *schedule = &is->tracks[0].schedule;
    int64_t at;
    while (schedule->count < most && vt_schedule_next(schedule, &at)) {
    }
    *ret_duration_ns = schedule->next_ns;
    return schedule->count;
}

static void sum_up(struct vt_issuer *is, bool failed)
{
    const struct vt_selection *sel = &is->selection;
    uint64_t queries = 0, samples_per_query = is->effective->samples_per_query;
    is->sequence = 0;
    for (uint32_t i = 0; i < is->n_tracks; i++) {
        const struct vt_issue_track *track = &is->tracks[i];
        is->sequence += track->sequence;
        queries += track->queries;
        if (track->last_issue_ns > is->last_issue_ns) {
            is->last_issue_ns = track->last_issue_ns;
        }
        if (track->last_scheduled_ns > is->last_scheduled_ns) {
            is->last_scheduled_ns = track->last_scheduled_ns;
        }
    }
    is->queries = is->queries_before + queries;
    int64_t duration_ns = 0;
    uint64_t generated;
    if (is->settings->scenario == VT_SERVER) {
        generated = generated_by_server(is, failed, &duration_ns);
    } else if (is->settings->scenario == VT_OFFLINE) {
        const struct vt_schedule_span one = {.count_min = 1};
        generated = vt_schedule_generated(&one, is->effective->target_qps, &duration_ns);
        samples_per_query = sel->samples_per_query;
    } else {
        const struct vt_schedule_span span = {sel->duration_ns, sel->queries_min,
                                              sel->queries_step};
        generated = vt_schedule_generated(&span, is->effective->target_qps, &duration_ns);
    }
    if (is->queries_before == 0) {
        is->generated_samples_per_query = samples_per_query;
    }
    is->generated_queries += generated;
    is->generated_samples += generated * samples_per_query;
    is->generated_duration_ns += duration_ns;
}

/* What LoadGen would have logged about the end, in our words. */
static void note_end(struct vt_issuer *is)
{
    const struct vt_load_settings *s = is->settings;
    switch (vt_issuer_end(is)) {
    case VT_END_MAX_QUERIES:
        vt_recorder_note(is->recorder, true,
                         "Ending early: max_query_count %" PRIu64 " was reached with %" PRIu64
                         " queries",
                         s->max_query_count, is->queries);
        break;
    case VT_END_MAX_DURATION:
        vt_recorder_note(is->recorder, true,
                         "Ending early: max_duration %" PRId64 " ns was reached with %" PRIu64
                         " queries",
                         s->max_duration_ns, is->queries);
        break;
    case VT_END_EXHAUSTED:
        vt_recorder_note(is->recorder, true,
                         "Ending early: performance_issue_unique has issued all %" PRIu64
                         " queries that the loaded samples make",
                         is->queries);
        break;
    case VT_END_TIMED_OUT:
        vt_recorder_note(is->recorder, true, "Ending early: nothing completed for %" PRId64 " ns",
                         s->completion_timeout_ns);
        break;
    case VT_END_STOPPED:
        vt_recorder_note(is->recorder, true, "Ending early: interrupted after %" PRIu64 " queries",
                         is->queries);
        break;
    case VT_END_TOO_MANY: /* noted where the number is known */
    case VT_END_NATURAL:
        break;
    }
}

enum vt_status vt_issuer_run(struct vt_issuer *issuer, struct vt_error *err)
{
    struct vt_issuer *is = issuer;
    for (uint32_t i = 0; i < is->n_tracks; i++) {
        is->tracks[i].queries = 0;
    }
    is->queries_before = is->queries;
    enum vt_status st = is->n_tracks == 1 ? run_alone(is, err) : run_server(is, err);
    sum_up(is, st != VT_OK);
    vt_issue_show(is, is->sequence, vt_recorder_completed(is->recorder));
    if (st == VT_OK) {
        note_end(is);
    }
    return st;
}
