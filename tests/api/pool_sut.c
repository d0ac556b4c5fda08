/* SPDX-License-Identifier: Apache-2.0 */
#include "pool_sut.h"

#include <string.h>

static void *work(void *arg)
{
    struct pool_sut *pool = arg;

    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (!pool->quit && pool->head == pool->tail) {
            pthread_cond_wait(&pool->filled, &pool->lock);
        }
        if (pool->quit) {
            break;
        }
        struct vt_query_sample sample = pool->queue[pool->head++ % POOL_QUEUE];
        bool lost = pool->taken++ == pool->lose || pool->silent;
        pthread_mutex_unlock(&pool->lock);
        uint64_t square = sample.index * sample.index;
        struct vt_completion done = {
            .id = sample.id, .response = &square, .response_bytes = sizeof square, .status = VT_OK};
        if (!lost) {
            pool->sink->complete(pool->sink->ctx, &done, 1);
        }
        pthread_mutex_lock(&pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static const char *name(void *ctx)
{
    (void)ctx;
    return "pool";
}

static enum vt_status start(void *ctx, const struct vt_completion_sink *sink,
                            enum vt_scenario scenario, struct vt_error *err)
{
    struct pool_sut *pool = ctx;

    (void)scenario;
    if (sink != NULL && pool->refuse) {
        return vt_error_set(err, VT_ERR_ENGINE, "the pool refuses to start");
    }
    if (sink != NULL) {
        pool->starts++;
        pool->sink = sink;
        pool->quit = false;
        pool->head = pool->tail = 0;
        pool->taken = 0;
        for (int i = 0; i < POOL_THREADS; i++) {
            if (pthread_create(&pool->threads[i], NULL, work, pool) != 0) {
                return vt_error_set(err, VT_ERR_SYSTEM, "no thread");
            }
        }
        return VT_OK;
    }
    pthread_mutex_lock(&pool->lock);
    pool->quit = true;
    pthread_cond_broadcast(&pool->filled);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < POOL_THREADS; i++) {
        pthread_join(pool->threads[i], NULL);
    }
    return VT_OK;
}

static enum vt_status issue(void *ctx, const struct vt_query_sample *samples, size_t n,
                            struct vt_error *err)
{
    struct pool_sut *pool = ctx;

    if (pool->on_issue != NULL) {
        pool->on_issue(pool->on_issue_ctx);
    }
    pthread_mutex_lock(&pool->lock);
    bool fits = n <= POOL_QUEUE - (pool->tail - pool->head);
    for (size_t i = 0; fits && i < n; i++) {
        pool->queue[pool->tail++ % POOL_QUEUE] = samples[i];
    }
    pthread_cond_broadcast(&pool->filled);
    pthread_mutex_unlock(&pool->lock);
    return fits ? VT_OK : vt_error_set(err, VT_ERR_LIMIT, "the pool is full");
}

static void flush(void *ctx)
{
    (void)ctx;
}

static void abort_queue(void *ctx)
{
    struct pool_sut *pool = ctx;

    pthread_mutex_lock(&pool->lock);
    pool->aborts++;
    pool->head = pool->tail;
    pthread_mutex_unlock(&pool->lock);
}

static enum vt_status load_samples(void *ctx, const uint64_t *indices, size_t n,
                                   struct vt_error *err)
{
    (void)ctx;
    (void)indices;
    (void)n;
    (void)err;
    return VT_OK;
}

static void unload_samples(void *ctx, const uint64_t *indices, size_t n)
{
    (void)ctx;
    (void)indices;
    (void)n;
}

void pool_init(struct pool_sut *pool)
{
    memset(pool, 0, sizeof *pool);
    pool->seam = (struct vt_sut){.api_version = VT_LOAD_API_VERSION,
                                 .struct_size = sizeof(struct vt_sut),
                                 .name = name,
                                 .start = start,
                                 .issue = issue,
                                 .flush = flush,
                                 .abort = abort_queue,
                                 .ctx = pool};
    pool->library = (struct vt_qsl){.api_version = VT_LOAD_API_VERSION,
                                    .struct_size = sizeof(struct vt_qsl),
                                    .total_count = POOL_SAMPLES,
                                    .performance_count = POOL_SAMPLES,
                                    .name = name,
                                    .load = load_samples,
                                    .unload = unload_samples,
                                    .ctx = pool};
    pool->lose = -1;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->filled, NULL);
}
