/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The issuing threads of a run: the loop of each scenario, and the wait for completions.
 *
 *   SingleStream, MultiStream   closed loop: when all of a query is done, the next is issued
 *   Server                      open loop: each query at its time, late ones at once; with several
 *                               threads, thread t of n has the queries t, t + n, t + 2n, …
 *   Offline                     one query, handed over in parts
 *
 * One thread issues on the caller's own; several are threads of load's, started together on one
 * zero of the clock and joined before vt_issuer_run returns. Each draws the whole random streams
 * and passes over what is not its own, so they share nothing but the word that ends them.
 *
 * No wait is without end: it looks at `stop` a few times a second, and gives up when nothing has
 * completed for completion_timeout_ns.
 */
#ifndef VT_LOAD_ISSUER_H
#define VT_LOAD_ISSUER_H

#include "load/load.h"
#include "load/log_sampler.h"
#include "load/recorder.h"
#include "load/schedule.h"
#include "load/selection.h"
#include "load/settings.h"

enum vt_run_end {
    VT_END_NATURAL,
    VT_END_MAX_QUERIES,  /* max_query_count */
    VT_END_MAX_DURATION, /* max_duration_ns */
    VT_END_EXHAUSTED,    /* performance_issue_unique has nothing more to give */
    VT_END_STOPPED,      /* control->stop */
    VT_END_TIMED_OUT,    /* completions stayed away */
    VT_END_TOO_MANY,     /* more outstanding than server_max_async_queries */
};

struct vt_issuer;

/* One issuing thread and its part of the run. */
struct vt_issue_track {
    _Alignas(64) struct vt_issuer *issuer;
    uint32_t index; /* also of its track in the recorder */
    /* Owned: one block of samples to issue. */
    struct vt_query_sample *samples;
    uint64_t *indices;
    /* Its run over the streams, in this phase's part. */
    struct vt_selection selection;
    struct vt_log_sampler sampler;
    struct vt_schedule schedule; /* Server */
    bool drawn;                  /* its first query has been drawn from them */
    uint64_t sequence;           /* samples issued */
    uint64_t queries;            /* issued of the set that is loaded */
    int64_t last_scheduled_ns;   /* since the start of the run */
    int64_t last_issue_ns;
};

struct vt_issuer {
    /* Borrowed, set by the caller. */
    const struct vt_load_settings *settings;
    const struct vt_load_effective *effective;
    const struct vt_sut *sut;
    struct vt_load_control *control;
    struct vt_recorder *recorder;
    struct vt_selection selection; /* of the set that is loaded; as it is before the first draw */
    struct vt_log_sampler sampler; /* likewise */
    /* Owned. */
    struct vt_issue_track *tracks;
    uint32_t n_tracks;
    size_t block; /* samples that are handed over at once */
    /* The run so far; of all tracks, up to date when vt_issuer_run has returned. */
    bool started;
    uint64_t sequence; /* samples issued */
    uint64_t queries;
    uint64_t queries_before;   /* of the sets before this one */
    int64_t last_scheduled_ns; /* since the start of the run */
    int64_t last_issue_ns;
    /* What LoadGen would have built in advance, summed over the sets. */
    uint64_t generated_queries;
    uint64_t generated_samples;
    uint64_t generated_samples_per_query; /* of the first set */
    int64_t generated_duration_ns;
    _Atomic int end;   /* enum vt_run_end: the first that was not natural */
    _Atomic bool halt; /* no thread issues any more */
};

/* How many threads issue with these settings. */
uint32_t vt_issuer_tracks(const struct vt_load_settings *settings);

/* Allocates the tracks and their blocks. Release also after a failure. */
enum vt_status vt_issuer_init(struct vt_issuer *issuer, struct vt_error *err) VT_NODISCARD;
void vt_issuer_release(struct vt_issuer *issuer);

/*
 * Issues what `selection` and the settings ask for, and waits until it is done or `end` says why
 * not. Errors: of sut.issue, of memory for records, and of what an issuing thread is not permitted.
 */
enum vt_status vt_issuer_run(struct vt_issuer *issuer, struct vt_error *err) VT_NODISCARD;

static inline enum vt_run_end vt_issuer_end(const struct vt_issuer *issuer)
{
    return (enum vt_run_end)atomic_load_explicit(&issuer->end, memory_order_relaxed);
}

#endif
