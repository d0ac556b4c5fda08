/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The issuing thread of a run: the loop of each scenario, and the wait for completions.
 *
 *   SingleStream, MultiStream   closed loop: when all of a query is done, the next is issued
 *   Server                      open loop: each query at its time, late ones at once
 *   Offline                     one query, handed over in parts
 *
 * No wait is without end: it looks at `stop` a few times a second, and gives up when nothing has
 * completed for completion_timeout_ns.
 */
#ifndef VT_LOAD_ISSUER_H
#define VT_LOAD_ISSUER_H

#include "load/load.h"
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
};

struct vt_issuer {
    /* Borrowed, set by the caller. */
    const struct vt_load_settings *settings;
    const struct vt_load_effective *effective;
    const struct vt_sut *sut;
    struct vt_load_control *control;
    struct vt_recorder *recorder;
    struct vt_selection selection; /* of the set that is loaded */
    /* Owned: one block of samples to issue. */
    struct vt_query_sample *samples;
    uint64_t *indices;
    size_t block;
    /* The run so far. */
    bool started;
    uint64_t sequence; /* samples issued */
    uint64_t queries;
    int64_t last_scheduled_ns; /* since the start of the run */
    int64_t last_issue_ns;
    enum vt_run_end end;
};

/* Allocates the block. Release also after a failure. */
enum vt_status vt_issuer_init(struct vt_issuer *issuer, struct vt_error *err) VT_NODISCARD;
void vt_issuer_release(struct vt_issuer *issuer);

/*
 * Issues what `selection` and the settings ask for, and waits until it is done or `end` says why
 * not. Errors: of sut.issue, and of memory for records.
 */
enum vt_status vt_issuer_run(struct vt_issuer *issuer, struct vt_error *err) VT_NODISCARD;

#endif
