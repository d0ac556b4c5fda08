/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Doubles for the tests of load, all on the calling thread: a clock whose time passes only when
 * somebody sleeps or works, a sut that completes at once or at a time of that clock and can be told
 * to misbehave, and a sample library that keeps count.
 */
#ifndef VT_LOAD_DOUBLE_H
#define VT_LOAD_DOUBLE_H

#include "load/load.h"

struct vt_fake_event {
    int64_t at_ns;
    uint64_t id;
    uint64_t index;
};

struct vt_fake_clock {
    struct vt_clock seam;
    int64_t now_ns;
    struct vt_fake_event *events; /* pending completions, in order of time */
    size_t first, n_events, room; /* events[first..n_events) are still to come */
    struct vt_fake_sut *sut;
    int64_t step_ns;     /* passes with every look at the clock */
    unsigned wall_looks; /* for a wall clock of the test's */
};
#define VT_FAKE_EPOCH (INT64_C(1000) * VT_NS_PER_S)

enum vt_fake_style {
    VT_FAKE_INLINE,    /* issue() works: time passes, the completion comes from within */
    VT_FAKE_QUEUED,    /* one server with a queue */
    VT_FAKE_UNLIMITED, /* each sample takes its time, all in parallel */
};

#define VT_FAKE_NONE UINT64_MAX

struct vt_fake_sut {
    struct vt_sut seam;
    struct vt_fake_clock *clock;
    enum vt_fake_style style;
    int64_t (*latency_ns)(const struct vt_fake_sut *sut, uint64_t sequence);
    int64_t fixed_ns; /* what the latency is without a function */
    /* Sequences of samples that get a special treatment; VT_FAKE_NONE: none. */
    uint64_t lose, lose_to; /* lose..lose_to never complete */
    uint64_t repeat;        /* completes twice */
    uint64_t fail;          /* completes with VT_ERR_ENGINE and a text */
    uint64_t invent_after;  /* a made-up id completes as well */
    uint64_t invent_id;
    uint64_t stop_at;   /* sets control->stop when it is issued */
    uint64_t refuse_at; /* issue() fails with VT_ERR_ENGINE */
    bool refuse_start;
    struct vt_load_control *control;
    /* What was seen. */
    struct vt_completion_sink sink;
    bool started;
    uint64_t issued;
    int64_t busy_until_ns;
    uint64_t *indices; /* of all issued samples */
    uint64_t *ids;
    int64_t *issue_times_ns;
    size_t room;
    size_t largest_query;
    unsigned issues, flushes, aborts, starts, stops;
};

struct vt_fake_qsl {
    struct vt_qsl seam;
    uint64_t loads, unloads, loaded; /* calls, and samples that are loaded now */
    uint64_t refuse_load;            /* the load call that fails, from 0 */
};

void vt_fake_init(struct vt_fake_clock *clock, struct vt_fake_sut *sut, struct vt_fake_qsl *qsl,
                  struct vt_load_control *control, uint64_t total, uint64_t performance);
void vt_fake_release(struct vt_fake_sut *sut);

#endif
