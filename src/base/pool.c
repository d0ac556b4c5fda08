/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loop is published by writing its fields and then bumping `generation`. Workers join by counting
 * themselves into `running`, draw chunks until none is left, and count themselves out. The caller
 * waits until all chunks are done and no worker is inside any more, so that the fields may be
 * rewritten for the next loop. A worker that wakes late finds no chunk and goes back.
 */
#include "base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/futex.h"
#include "base/topology.h"

#define POOL_THREADS_MAX 1024

struct worker {
    pthread_t thread;
    struct vt_pool *pool;
    uint32_t index;
};

struct vt_pool {
    /* The loop in progress; written only while no worker is inside. */
    vt_pool_body_func body;
    void *ctx;
    int64_t n;
    int64_t grain;
    _Alignas(64) _Atomic int64_t next;        /* first item not yet drawn */
    _Alignas(64) _Atomic uint32_t generation; /* changes with each loop, and to stop; a futex */
    _Atomic uint32_t sleepers;                /* workers that may sleep on `generation` */
    _Alignas(64) _Atomic uint32_t running;    /* workers inside the loop; a futex */
    _Atomic uint32_t open;                    /* 1 while workers may enter the loop */
    _Atomic uint32_t caller_waits;
    _Atomic bool stopping;
    int64_t idle_spin_ns;
    uint32_t threads;
    uint32_t n_workers;
    struct worker *workers;
};

static void draw_chunks(struct vt_pool *pool, uint32_t worker)
{
    for (;;) {
        int64_t begin = atomic_fetch_add_explicit(&pool->next, pool->grain, memory_order_relaxed);
        if (begin >= pool->n) {
            return;
        }
        int64_t end = pool->n - begin < pool->grain ? pool->n : begin + pool->grain;
        pool->body(pool->ctx, begin, end, worker);
    }
}

/* Enters the loop unless it is closed, works, and tells the caller when the last one leaves. */
static void join_loop(struct vt_pool *pool, uint32_t worker)
{
    atomic_fetch_add(&pool->running, 1);
    if (atomic_load(&pool->open) != 0) {
        draw_chunks(pool, worker);
    }
    if (atomic_fetch_sub(&pool->running, 1) == 1 && atomic_load(&pool->caller_waits) != 0) {
        vt_futex_wake(&pool->running, 1);
    }
}

static void *worker_main(void *argument)
{
    struct worker *self = argument;
    struct vt_pool *pool = self->pool;
    uint32_t seen = 0;

    for (;;) {
        int64_t spin_until = vt_now_ns() + pool->idle_spin_ns;
        if (!vt_futex_wait(&pool->generation, seen, spin_until, pool->idle_spin_ns)) {
            atomic_fetch_add(&pool->sleepers, 1);
            vt_futex_wait(&pool->generation, seen, VT_NEVER, 0);
            atomic_fetch_sub(&pool->sleepers, 1);
        }
        seen = atomic_load(&pool->generation);
        if (atomic_load(&pool->stopping)) {
            return NULL;
        }
        join_loop(pool, self->index);
    }
}

static void bind_thread(pthread_t thread, uint32_t cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    /* Binding is a hint: a container may forbid it, and the work gets done all the same. */
    (void)pthread_setaffinity_np(thread, sizeof set, &set);
}

static enum vt_status start_workers(struct vt_pool *pool, const struct vt_pool_options *options,
                                    struct vt_error *err)
{
    for (uint32_t i = 0; i + 1 < pool->threads; i++) {
        struct worker *worker = &pool->workers[i];
        *worker = (struct worker){.pool = pool, .index = i + 1};
        int code = pthread_create(&worker->thread, NULL, worker_main, worker);
        if (code != 0) {
            return vt_error_set(err, VT_ERR_SYSTEM, "thread %u of %u cannot be started: %s", i + 2,
                                pool->threads, strerror(code));
        }
        pool->n_workers++;
        if (options->cpus != NULL && options->n_cpus > 0) {
            bind_thread(worker->thread, options->cpus[i % options->n_cpus]);
        }
    }
    return VT_OK;
}

enum vt_status vt_pool_new(const struct vt_pool_options *options, struct vt_error *err,
                           struct vt_pool **ret_pool)
{
    uint32_t threads = options->threads != 0 ? options->threads : vt_topology()->usable_cpus;
    if (threads > POOL_THREADS_MAX) {
        return vt_error_set(err, VT_ERR_USAGE, "%u threads: allowed 1..%d", threads,
                            POOL_THREADS_MAX);
    }
    struct vt_pool *pool = vt_calloc(1, sizeof *pool);
    struct worker *workers = vt_calloc(threads, sizeof *workers);
    if (pool == NULL || workers == NULL) {
        vt_free(pool);
        vt_free(workers);
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for a pool of %u threads", threads);
    }
    pool->threads = threads;
    pool->workers = workers;
    pool->idle_spin_ns = options->idle_spin_ns;
    enum vt_status status = start_workers(pool, options, err);
    if (status != VT_OK) {
        vt_pool_free(pool);
        return status;
    }
    *ret_pool = pool;
    return VT_OK;
}

void vt_pool_free(struct vt_pool *pool)
{
    if (pool == NULL) {
        return;
    }
    atomic_store(&pool->stopping, true);
    atomic_fetch_add(&pool->generation, 1);
    vt_futex_wake(&pool->generation, POOL_THREADS_MAX);
    for (uint32_t i = 0; i < pool->n_workers; i++) {
        pthread_join(pool->workers[i].thread, NULL);
    }
    vt_free(pool->workers);
    vt_free(pool);
}

uint32_t vt_pool_threads(const struct vt_pool *pool)
{
    return pool != NULL ? pool->threads : 1;
}

/* Until nobody is inside: the loop is closed, so no new worker can draw from it. */
static void wait_for_workers(struct vt_pool *pool)
{
    atomic_store(&pool->caller_waits, 1);
    for (;;) {
        uint32_t inside = atomic_load(&pool->running);
        if (inside == 0) {
            break;
        }
        vt_futex_wait(&pool->running, inside, VT_NEVER, pool->idle_spin_ns);
    }
    atomic_store(&pool->caller_waits, 0);
}

void vt_pool_run(struct vt_pool *pool, int64_t n, int64_t grain, vt_pool_body_func body, void *ctx)
{
    if (n <= 0) {
        return;
    }
    if (grain < 1) {
        grain = 1;
    }
    if (pool == NULL || pool->threads == 1 || n <= grain) {
        body(ctx, 0, n, 0);
        return;
    }
    pool->body = body;
    pool->ctx = ctx;
    pool->n = n;
    pool->grain = grain;
    atomic_store(&pool->next, 0);
    atomic_store(&pool->open, 1);
    atomic_fetch_add(&pool->generation, 1);
    if (atomic_load(&pool->sleepers) != 0) {
        vt_futex_wake(&pool->generation, (int)pool->n_workers);
    }
    draw_chunks(pool, 0);
    atomic_store(&pool->open, 0);
    wait_for_workers(pool);
}
