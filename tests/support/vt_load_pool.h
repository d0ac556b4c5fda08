/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sut with threads of its own on the machine's clock, for tests of load: a queue under a lock and
 * workers that answer in batches of up to four. It can be told to misbehave.
 */
#ifndef VT_LOAD_POOL_H
#define VT_LOAD_POOL_H

#include <pthread.h>
#include <stdatomic.h>

#include "load/load.h"

#define VT_POOL_WORKERS 2
#define VT_POOL_QUEUE   (1u << 17)

struct vt_pool_sut {
    struct vt_sut seam;
    pthread_mutex_t lock;
    pthread_cond_t filled;
    pthread_t threads[VT_POOL_WORKERS];
    const struct vt_completion_sink *sink;
    struct vt_query_sample queue[VT_POOL_QUEUE];
    uint32_t head, tail;
    bool quit;
    struct vt_query_sample lost;
    /* What it is told; reset by vt_pool_reset. */
    bool silent, twice;
    bool in_place; /* issue() answers, no worker does */
    int64_t work_ns;
    uint64_t lose;              /* the queries with this data set index never complete … */
    bool lose_late;             /* … but the last of them when abort() is called */
    uint64_t invent;            /* an id that is completed once as well; 0: none */
    _Atomic uint32_t refuse_at; /* the issue call that fails, from 1; 0: none */
    /* What was seen. */
    _Atomic uint32_t aborts, issues, flushes, largest;
};

/* The one pool, and a library of 1000 samples to go with it. */
extern struct vt_pool_sut vt_pool;
extern const struct vt_qsl vt_pool_library;

void vt_pool_reset(void);
/* Short and with a rate and a limit that a busy machine keeps. */
struct vt_load_settings vt_pool_settings(enum vt_scenario scenario, uint64_t count);
/* The run succeeds; the report is the caller's. */
struct vt_load_report *vt_pool_run(const struct vt_load_settings *settings,
                                   struct vt_load_control *control);

#endif
