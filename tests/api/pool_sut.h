/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sut with threads of its own that answers with the square of the index, and a library of
 * POOL_SAMPLES samples; made of nothing but vatio/load.h and threads.
 */
#ifndef POOL_SUT_H
#define POOL_SUT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "vatio/load.h"

#define POOL_SAMPLES 200
#define POOL_THREADS 2
#define POOL_QUEUE   (1u << 16)

struct pool_sut {
    struct vt_sut seam;
    struct vt_qsl library;
    /* What it is told to do. */
    bool silent;  /* answers nothing */
    bool refuse;  /* to start */
    int64_t lose; /* the sample that is lost, by its place in the run; -1: none */
    void (*on_issue)(void *ctx);
    void *on_issue_ctx;
    /* What happened. */
    int starts, aborts;
    /* Its works. */
    pthread_mutex_t lock;
    pthread_cond_t filled;
    pthread_t threads[POOL_THREADS];
    const struct vt_completion_sink *sink;
    struct vt_query_sample queue[POOL_QUEUE];
    uint32_t head, tail;
    int64_t taken;
    bool quit;
};

/* Nothing is allocated: no release is needed. */
void pool_init(struct pool_sut *pool);

#endif
