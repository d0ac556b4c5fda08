/* SPDX-License-Identifier: Apache-2.0 */
/* The open loop of Server, on the caller's thread or on several of load's own. */
#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include "base/futex.h"
#include "load/issue_loop.h"
#include "load/issue_thread.h"

/* Several threads start so long after the word is given, so that all are awake by then. */
#define START_DELAY_NS VT_NS_PER_MS

/* One query that has been drawn. */
struct arrival {
    int64_t at_ns; /* since the start of the phase */
    uint64_t query;
    uint64_t index;
    bool keep; /* its response */
};

/* Draws the thread's next query, passing over those of the others; false at the end. */
static bool draw(struct vt_issue_track *track, struct arrival *ret)
{
    struct vt_issuer *is = track->issuer;
    uint64_t skip = track->drawn ? is->n_tracks - 1 : track->index;
    track->drawn = true;
    for (; skip > 0; skip--) {
        if (!vt_schedule_next(&track->schedule, &ret->at_ns)) {
            return false;
        }
        vt_selection_fill(&track->selection, &ret->index, 1);
        if (track->sampler.on) {
            (void)vt_log_sampler_next(&track->sampler);
        }
    }
    if (!vt_schedule_next(&track->schedule, &ret->at_ns)) {
        return false;
    }
    ret->query = is->queries_before + track->schedule.count - 1;
    vt_selection_fill(&track->selection, &ret->index, 1);
    ret->keep = track->sampler.on && vt_log_sampler_next(&track->sampler);
    return true;
}

/* Makes the query the i-th of the block that is issued next: all but its times. */
static enum vt_status open_arrival(struct vt_issue_track *track, const struct arrival *arrival,
                                   size_t i, struct vt_error *err)
{
    struct vt_recorder *r = track->issuer->recorder;
    enum vt_status st = vt_recorder_reserve(r, track->index, i + 1, err);
    if (st != VT_OK) {
        return st;
    }
    uint64_t sequence = track->sequence + i;
    vt_recorder_open(r, track->index, sequence, (uint32_t)arrival->index, (uint32_t)arrival->query);
    if (arrival->keep) {
        vt_recorder_mark(r, track->index, sequence);
    }
    track->samples[i] = (struct vt_query_sample){.id = vt_recorder_id(r, track->index, sequence),
                                                 .index = arrival->index};
    return VT_OK;
}

/* Sleeps to the time of the next query; false when the run was stopped meanwhile. */
static bool sleep_to(struct vt_issue_track *track, int64_t deadline, int64_t *ret_now)
{
    struct vt_issuer *is = track->issuer;
    const int64_t spin_ns = vt_issue_spin_ns(is);
    int64_t now = vt_issue_now_ns(is);
    while (now < deadline) {
        if (vt_issue_stopped(is)) {
            return false;
        }
        bool far = deadline - now > VT_LOOK_NS + spin_ns;
        if (far) {
            vt_issue_sleep_until(is, now + VT_LOOK_NS, 0);
        } else {
            vt_issue_sleep_until(is, deadline, spin_ns);
        }
        now = vt_issue_now_ns(is);
    }
    *ret_now = now;
    return true;
}

/* Notices a system under test that has fallen silent while queries are still being issued. */
struct silence {
    uint64_t completed; /* of the track */
    uint64_t all;       /* of all tracks, when that was seen */
    int64_t since_ns;
};

static bool too_silent(struct vt_issue_track *track, struct silence *silence, size_t n, int64_t now)
{
    struct vt_issuer *is = track->issuer;
    uint64_t done = vt_track_completed(track);
    if (done != silence->completed || done + n >= track->sequence) {
        silence->completed = done;
        silence->since_ns = now;
        return false;
    }
    if (now - silence->since_ns < is->settings->completion_timeout_ns) {
        return false;
    }
    /* The others' queries may merely have been served first. */
    uint64_t all = vt_recorder_completed(is->recorder);
    if (is->n_tracks > 1 && all != silence->all) {
        silence->all = all;
        silence->since_ns = now;
        return false;
    }
    vt_issue_end(is, VT_END_TIMED_OUT, true);
    return true;
}

/* LoadGen's server_max_async_queries: more outstanding than that ends the run, for all threads. */
static bool too_many(struct vt_issue_track *track)
{
    struct vt_issuer *is = track->issuer;
    uint64_t most = is->settings->server_max_async_queries;
    if (most == 0 || !vt_issue_performance(is)) {
        return false;
    }
    /* First what is done: what completes in between makes the difference smaller, never negative.
     */
    uint64_t done = vt_recorder_completed(is->recorder);
    uint64_t issued = vt_recorder_issued(is->recorder);
    if (issued - done <= most) {
        return false;
    }
    vt_recorder_note(is->recorder, true,
                     "Ending early: %" PRIu64 " queries are outstanding of %" PRIu64
                     " issued, more than server_max_async_queries %" PRIu64,
                     issued - done, issued, most);
    vt_issue_end(is, VT_END_TOO_MANY, true);
    return true;
}

/*
 * Fills the block behind `first`, which is open, with those that are due too, and gives all their
 * times. `next` is the query behind it, `have_next` false at the end. Returns how many go together.
 */
static enum vt_status gather(struct vt_issue_track *track, int64_t start, int64_t now,
                             struct arrival *next, bool *have_next, size_t *ret_n,
                             struct vt_error *err)
{
    struct vt_recorder *r = track->issuer->recorder;
    int64_t zero = atomic_load_explicit(&r->start_ns, memory_order_relaxed);
    size_t n = 1;
    /* A block of one where they do not go together. */
    while (n < track->issuer->block && *have_next && start + next->at_ns <= now) {
        enum vt_status st = open_arrival(track, next, n, err);
        if (st != VT_OK) {
            return st;
        }
        struct vt_sample_record *record = vt_recorder_at(r, track->index, track->sequence + n);
        record->scheduled_ns = start + next->at_ns - zero;
        record->issued_ns = now - zero;
        track->last_scheduled_ns = record->scheduled_ns;
        n++;
        *have_next = draw(track, next);
    }
    *ret_n = n;
    return VT_OK;
}

/* Whether the loop ends behind the queries that have just been issued. */
static bool ends(struct vt_issue_track *track, struct silence *silence, size_t n, int64_t start,
                 int64_t now)
{
    struct vt_issuer *is = track->issuer;
    return too_many(track) || vt_issue_limited(track, now - start) || vt_issue_stopped(is) ||
           too_silent(track, silence, n, now);
}

/* Issues the thread's queries. The first one has been drawn and opened. */
static enum vt_status issue_arrivals(struct vt_issue_track *track, struct arrival first,
                                     int64_t start, struct vt_error *err)
{
    struct vt_issuer *is = track->issuer;
    const int64_t cap = vt_issue_cap(is, start, 0);
    const int64_t zero = atomic_load_explicit(&is->recorder->start_ns, memory_order_relaxed);
    struct silence silence = {.since_ns = start};
    struct arrival current = first, next;
    for (bool have_next = true; have_next; current = next) {
        /* Drawn before the wait, so that nothing is left to do behind it. */
        have_next = draw(track, &next);
        int64_t due = start + current.at_ns, now;
        /* A query behind the end of the run is not waited for. */
        if (!sleep_to(track, vt_min_ns(due, cap), &now)) {
            return VT_OK;
        }
        if (due > cap) {
            vt_issue_end(is, VT_END_MAX_DURATION, false);
            return VT_OK;
        }
        struct vt_sample_record *record =
            vt_recorder_at(is->recorder, track->index, track->sequence);
        record->scheduled_ns = due - zero;
        record->issued_ns = now - zero;
        track->last_scheduled_ns = record->scheduled_ns;
        track->last_issue_ns = record->issued_ns;
        size_t n;
        enum vt_status st = gather(track, start, now, &next, &have_next, &n, err);
        if (st == VT_OK) {
            st = vt_issue_launch(track, n, err);
        }
        if (st != VT_OK) {
            return st;
        }
        track->queries += n;
        if (is->n_tracks == 1) {
            vt_issue_show(is, track->sequence, vt_track_completed(track));
        }
        if (ends(track, &silence, n, start, now)) {
            return VT_OK;
        }
        if (have_next) {
            st = open_arrival(track, &next, 0, err);
            if (st != VT_OK) {
                return st;
            }
        }
    }
    return VT_OK;
}

/* Everything before the start. `ret_any` is false when the thread has no query at all, or no share
 * of max_query_count. */
static enum vt_status get_ready(struct vt_issue_track *track, struct arrival *ret_first,
                                bool *ret_any, struct vt_error *err)
{
    const struct vt_issuer *is = track->issuer;
    const struct vt_selection *sel = &is->selection;
    const struct vt_schedule_span span = {sel->duration_ns, sel->queries_min, sel->queries_step};
    vt_schedule_init(&track->schedule, is->settings, is->effective->target_qps, &span);
    track->drawn = false;
    *ret_any = !vt_issue_limited(track, 0) && draw(track, ret_first);
    return *ret_any ? open_arrival(track, ret_first, 0, err) : VT_OK;
}

/* Threads that start together. */
enum gate { GATE_SHUT, GATE_OPEN, GATE_CANCELLED };
struct team {
    struct vt_issuer *issuer;
    struct member *members;
    int64_t start_ns; /* written before the gate opens */
    _Atomic uint32_t gate;
    _Atomic uint32_t ready; /* threads that are, or have failed */
    _Atomic uint32_t done;
};
struct member {
    struct team *team;
    struct vt_issue_track *track;
    pthread_t thread;
    enum vt_status status;
    struct vt_error err;
};

static void *member_main(void *argument)
{
    struct member *self = argument;
    struct team *team = self->team;
    struct vt_issue_track *track = self->track;
    struct vt_issue_thread saved;
    struct arrival first;
    bool any = false;
    enum vt_status st =
        vt_issue_thread_enter(team->issuer->settings, track->index, &self->err, &saved);
    if (st == VT_OK) {
        st = get_ready(track, &first, &any, &self->err);
    }
    self->status = st;
    atomic_fetch_add(&team->ready, 1);
    vt_futex_wake(&team->ready, 1);
    (void)vt_futex_wait(&team->gate, GATE_SHUT, VT_NEVER, 0);
    if (atomic_load(&team->gate) == GATE_OPEN && any) {
        self->status = issue_arrivals(track, first, team->start_ns, &self->err);
        if (self->status != VT_OK) {
            atomic_store(&team->issuer->halt, true);
        }
    }
    vt_issue_thread_leave(&saved);
    atomic_fetch_add(&team->done, 1);
    vt_futex_wake(&team->done, 1);
    return NULL;
}

/* Waits until the word has come to n; shows the progress meanwhile. */
static void await(struct team *team, _Atomic uint32_t *word, uint32_t n)
{
    struct vt_recorder *r = team->issuer->recorder;
    uint32_t now;
    while ((now = atomic_load(word)) < n) {
        (void)vt_futex_wait(word, now, vt_now_ns() + VT_LOOK_NS, 0);
        vt_issue_show(team->issuer, vt_recorder_issued(r), vt_recorder_completed(r));
    }
}

static enum vt_status first_failure(const struct team *team, uint32_t n, struct vt_error *err)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct member *member = &team->members[i];
        if (member->status != VT_OK) {
            return vt_error_set(err, member->status, "%s", member->err.text);
        }
    }
    return VT_OK;
}

/* Starts the members, lets them issue together, and joins them. */
static enum vt_status run_team(struct team *team, struct vt_error *err)
{
    struct vt_issuer *is = team->issuer;
    enum vt_status st = VT_OK;
    uint32_t n = 0;
    for (; n < is->n_tracks && st == VT_OK; n++) {
        struct member *member = &team->members[n];
        *member = (struct member){.team = team, .track = &is->tracks[n]};
        int code = pthread_create(&member->thread, NULL, member_main, member);
        if (code != 0) {
            st =
                vt_error_set(err, VT_ERR_SYSTEM, "issuing thread %" PRIu32 " cannot be started: %s",
                             n, strerror(code));
            break;
        }
    }
    await(team, &team->ready, n);
    if (st == VT_OK) {
        st = first_failure(team, n, err);
    }
    if (st == VT_OK) {
        team->start_ns = vt_issue_start_phase(is, vt_issue_now_ns(is) + START_DELAY_NS);
    }
    atomic_store(&team->gate, st == VT_OK ? GATE_OPEN : GATE_CANCELLED);
    vt_futex_wake(&team->gate, INT32_MAX);
    await(team, &team->done, n);
    for (uint32_t i = 0; i < n; i++) {
        pthread_join(team->members[i].thread, NULL);
    }
    return st != VT_OK ? st : first_failure(team, n, err);
}

static enum vt_status issue_together(struct vt_issuer *is, struct vt_error *err, int64_t *ret_start)
{
    struct team team = {.issuer = is};
    enum vt_status st = VT_OK;
    team.members = vt_calloc(is->n_tracks, sizeof(*team.members));
    if (team.members == NULL) {
        st = vt_error_set(err, VT_ERR_MEMORY, "no memory for %" PRIu32 " issuing threads",
                          is->n_tracks);
    }
    for (uint32_t i = 0; i < is->n_tracks && st == VT_OK; i++) {
        is->tracks[i].sampler = is->sampler;
        st = vt_selection_copy(&is->tracks[i].selection, &is->selection, err);
    }
    if (st == VT_OK) {
        st = run_team(&team, err);
        *ret_start = team.start_ns;
    }
    for (uint32_t i = 0; i < is->n_tracks; i++) {
        vt_selection_release(&is->tracks[i].selection);
    }
    vt_free(team.members);
    return st;
}

enum vt_status vt_issue_server(struct vt_issuer *is, struct vt_error *err, int64_t *ret_start)
{
    if (is->n_tracks > 1) {
        return issue_together(is, err, ret_start);
    }
    struct vt_issue_track *track = &is->tracks[0];
    struct arrival first;
    bool any;
    enum vt_status st = get_ready(track, &first, &any, err);
    if (st != VT_OK) {
        return st;
    }
    int64_t start = vt_issue_start_phase(is, vt_issue_now_ns(is));
    *ret_start = start;
    return any ? issue_arrivals(track, first, start, err) : VT_OK;
}
