/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples that wait for a lane: one queue in order of arrival, many takers.
 *
 * Threading: every function may be called from any thread. The lock is held for the copy of some
 * sample references only.
 */
#ifndef VT_SUT_QUEUE_H
#define VT_SUT_QUEUE_H

#include <pthread.h>
#include <stdbool.h>

#include "core/query.h"

struct vt_waiting_sample {
    struct vt_query_sample sample;
    int64_t admitted_ns;
};

struct vt_sample_queue {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* on the monotonic clock */
    struct vt_waiting_sample *ring;
    size_t capacity; /* a power of two */
    size_t head;     /* of the oldest; counts up, masked on access */
    size_t count;
    bool flushed;     /* nobody else comes: take what is there */
    bool closed;      /* takers return */
    uint32_t busy;    /* takers that work on a batch */
    size_t most;      /* samples a taker gets at most */
    int64_t delay_ns; /* how long the oldest waits for company */
};

enum vt_status vt_sample_queue_init(struct vt_sample_queue *queue,
                                    struct vt_error *err) VT_NODISCARD;
void vt_sample_queue_release(struct vt_sample_queue *queue);

/* All or none; VT_ERR_MEMORY when the ring cannot grow. */
enum vt_status vt_sample_queue_put(struct vt_sample_queue *queue,
                                   const struct vt_query_sample *samples, size_t n, int64_t now_ns,
                                   struct vt_error *err) VT_NODISCARD;
/* How takers work from now on, also those that wait already. */
void vt_sample_queue_batching(struct vt_sample_queue *queue, size_t most, int64_t delay_ns);
/*
 * Waits for samples and takes the oldest, at most `most`. When fewer are there and no flush was
 * called, waits for more until the oldest has been here for `delay_ns`. Returns 0 only when the
 * queue was closed. The taker counts as busy until vt_sample_queue_done.
 */
size_t vt_sample_queue_take(struct vt_sample_queue *queue, struct vt_waiting_sample *ret_samples);
void vt_sample_queue_done(struct vt_sample_queue *queue);
void vt_sample_queue_flush(struct vt_sample_queue *queue);
/* Drops what waits and forgets a flush. */
void vt_sample_queue_clear(struct vt_sample_queue *queue);
/* Drops what waits, then waits until no taker is busy. */
void vt_sample_queue_drain(struct vt_sample_queue *queue);
void vt_sample_queue_close(struct vt_sample_queue *queue);

#endif
