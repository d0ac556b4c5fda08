/* SPDX-License-Identifier: Apache-2.0 */
#include "sut/queue.h"

#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"

#define FIRST_CAPACITY   ((size_t)1024)
#define LARGEST_CAPACITY ((size_t)1 << 30)

enum vt_status vt_sample_queue_init(struct vt_sample_queue *queue, struct vt_error *err)
{
    pthread_condattr_t attributes;

    memset(queue, 0, sizeof *queue);
    queue->ring = vt_calloc(FIRST_CAPACITY, sizeof queue->ring[0]);
    if (queue->ring == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for the sample queue");
    }
    queue->capacity = FIRST_CAPACITY;
    queue->most = 1;
    pthread_mutex_init(&queue->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&queue->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    return VT_OK;
}

void vt_sample_queue_release(struct vt_sample_queue *queue)
{
    if (queue->ring != NULL) {
        pthread_cond_destroy(&queue->changed);
        pthread_mutex_destroy(&queue->lock);
        vt_free(queue->ring);
        queue->ring = NULL;
    }
}

/* Makes room for n more; the lock is held. */
static bool make_room(struct vt_sample_queue *queue, size_t n)
{
    size_t capacity = queue->capacity;

    if (n > LARGEST_CAPACITY - queue->count) {
        return false;
    }
    while (capacity < queue->count + n) {
        capacity *= 2;
    }
    if (capacity == queue->capacity) {
        return true;
    }
    struct vt_waiting_sample *ring = vt_alloc(capacity * sizeof ring[0]);
    if (ring == NULL) {
        return false;
    }
    for (size_t i = 0; i < queue->count; i++) {
        ring[i] = queue->ring[(queue->head + i) & (queue->capacity - 1)];
    }
    vt_free(queue->ring);
    queue->ring = ring;
    queue->capacity = capacity;
    queue->head = 0;
    return true;
}

enum vt_status vt_sample_queue_put(struct vt_sample_queue *queue,
                                   const struct vt_query_sample *samples, size_t n, int64_t now_ns,
                                   struct vt_error *err)
{
    pthread_mutex_lock(&queue->lock);
    bool fits = make_room(queue, n);
    if (fits) {
        for (size_t i = 0; i < n; i++) {
            size_t at = (queue->head + queue->count) & (queue->capacity - 1);
            queue->ring[at] = (struct vt_waiting_sample){samples[i], now_ns};
            queue->count++;
        }
        if (n > 1) {
            pthread_cond_broadcast(&queue->changed);
        } else {
            pthread_cond_signal(&queue->changed);
        }
    }
    pthread_mutex_unlock(&queue->lock);
    if (!fits) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for %zu waiting samples", n);
    }
    return VT_OK;
}

/* Waits for company until the oldest sample has waited long enough; the lock is held. */
static void wait_for_company(struct vt_sample_queue *queue)
{
    while (queue->count > 0 && queue->count < queue->most && queue->delay_ns > 0 &&
           !queue->flushed && !queue->closed) {
        const struct vt_waiting_sample *oldest = &queue->ring[queue->head & (queue->capacity - 1)];
        int64_t until = oldest->admitted_ns + queue->delay_ns;
        if (vt_now_ns() >= until) {
            return;
        }
        struct timespec at = {.tv_sec = (time_t)(until / VT_NS_PER_S),
                              .tv_nsec = (long)(until % VT_NS_PER_S)};
        pthread_cond_timedwait(&queue->changed, &queue->lock, &at);
    }
}

void vt_sample_queue_batching(struct vt_sample_queue *queue, size_t most, int64_t delay_ns)
{
    pthread_mutex_lock(&queue->lock);
    queue->most = most;
    queue->delay_ns = delay_ns;
    pthread_mutex_unlock(&queue->lock);
}

size_t vt_sample_queue_take(struct vt_sample_queue *queue, struct vt_waiting_sample *ret_samples)
{
    size_t n = 0;

    pthread_mutex_lock(&queue->lock);
    while (n == 0 && !queue->closed) {
        while (queue->count == 0 && !queue->closed) {
            pthread_cond_wait(&queue->changed, &queue->lock);
        }
        wait_for_company(queue);
        n = queue->count < queue->most ? queue->count : queue->most;
    }
    if (queue->closed) {
        n = 0;
    }
    for (size_t i = 0; i < n; i++) {
        ret_samples[i] = queue->ring[(queue->head + i) & (queue->capacity - 1)];
    }
    queue->head += n;
    queue->count -= n;
    queue->busy += n > 0 ? 1 : 0;
    if (queue->count > 0) {
        /* A signal may have been ours while others still sleep. */
        pthread_cond_signal(&queue->changed);
    }
    pthread_mutex_unlock(&queue->lock);
    return n;
}

void vt_sample_queue_done(struct vt_sample_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->busy--;
    if (queue->busy == 0) {
        pthread_cond_broadcast(&queue->changed);
    }
    pthread_mutex_unlock(&queue->lock);
}

void vt_sample_queue_flush(struct vt_sample_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->flushed = true;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

void vt_sample_queue_clear(struct vt_sample_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->count = 0;
    queue->flushed = false;
    pthread_mutex_unlock(&queue->lock);
}

void vt_sample_queue_drain(struct vt_sample_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->count = 0;
    while (queue->busy > 0) {
        pthread_cond_wait(&queue->changed, &queue->lock);
    }
    queue->flushed = false;
    pthread_mutex_unlock(&queue->lock);
}

void vt_sample_queue_close(struct vt_sample_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->closed = true;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}
