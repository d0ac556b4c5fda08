/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loop is published by writing its fields and then bumping `generation`. Workers join by counting
 * themselves into `running`, draw chunks until none is left, and count themselves out. The caller
 * waits until all chunks are done and no worker is inside any more, so that the fields may be
 * rewritten for the next loop. A worker that wakes late finds no chunk and goes back.
 *
 * Where another process computes on one of our CPUs, the kernel takes a worker off it for
 * milliseconds, many loops long, in the middle of a chunk: everybody would wait. It is no use to
 * sleep and hope that the worker is moved to the CPU that is now idle: the kernel leaves a task
 * that has just run where its cache is. So a caller that waits looks whether the worker's own CPU
 * time advances. Where it does not, it fetches the worker to its own CPU, sleeps, and sends it away
 * again when the loop is done. And a worker that wakes up on the caller's CPU leaves it, so that
 * they do not share one while the worker could have its part of another.
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
/* A caller has waited so long for a worker before it looks at it, and looks at it for so long: a
 * chunk is short beside the first. */
#define PATIENCE_NS (20 * VT_NS_PER_US)
#define LOOK_NS     (10 * VT_NS_PER_US)
/* Then it looks again every so often. */
#define LOOK_AGAIN_NS (500 * VT_NS_PER_US)

struct worker {
    _Alignas(64) pthread_t thread;
    struct vt_pool *pool;
    uint32_t index;
    _Atomic bool inside; /* the loop */
    bool movable;        /* where it may run and what it has computed can be asked for */
    bool roams;          /* on more than one CPU */
    cpu_set_t allowed;   /* as the thread began */
    clockid_t clock;     /* its CPU time */
    /* The caller's. */
    int64_t ran_ns;
    bool fetched;
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
    _Atomic int caller_cpu;
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

/* All its CPUs but this one, unless it is the only one. A hint, as binding is. */
static void send_away(struct worker *worker, int cpu)
{
    cpu_set_t set = worker->allowed;
    if (worker->roams && cpu >= 0 && cpu < CPU_SETSIZE) {
        CPU_CLR(cpu, &set);
    }
    (void)pthread_setaffinity_np(worker->thread, sizeof set, &set);
}

/* Enters the loop unless it is closed, works, and tells the caller when the last one leaves. */
static void join_loop(struct vt_pool *pool, struct worker *self)
{
    const int cpu = self->roams ? sched_getcpu() : -1;
    if (cpu >= 0 && cpu == atomic_load_explicit(&pool->caller_cpu, memory_order_relaxed)) {
        send_away(self, cpu);
    }
    atomic_fetch_add(&pool->running, 1);
    if (atomic_load(&pool->open) != 0) {
        atomic_store_explicit(&self->inside, true, memory_order_relaxed);
        draw_chunks(pool, self->index);
        atomic_store_explicit(&self->inside, false, memory_order_relaxed);
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
        join_loop(pool, self);
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

/* What the worker has computed so far; -1 when that cannot be known. */
static int64_t cpu_time_ns(const struct worker *worker)
{
    struct timespec time;
    if (clock_gettime(worker->clock, &time) != 0) {
        return -1;
    }
    return (int64_t)time.tv_sec * VT_NS_PER_S + time.tv_nsec;
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
        worker->movable =
            pthread_getaffinity_np(worker->thread, sizeof worker->allowed, &worker->allowed) == 0 &&
            pthread_getcpuclockid(worker->thread, &worker->clock) == 0 && cpu_time_ns(worker) >= 0;
        worker->roams = worker->movable && CPU_COUNT(&worker->allowed) > 1;
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

/* False when it has not changed after so long. */
static bool wait_a_while(struct vt_pool *pool, uint32_t inside, int64_t ns, int64_t spin_ns)
{
    return vt_futex_wait(&pool->running, inside, vt_now_ns() + ns, spin_ns);
}

/* Whether a worker that holds a chunk stood still for a while, and was fetched to this CPU. */
static bool fetch_one(struct vt_pool *pool, uint32_t inside, int64_t spin_ns)
{
    const int cpu = sched_getcpu();
    cpu_set_t here;
    if (cpu < 0 || cpu >= CPU_SETSIZE) {
        return false;
    }
    CPU_ZERO(&here);
    CPU_SET(cpu, &here);
    for (uint32_t i = 0; i < pool->n_workers; i++) {
        struct worker *worker = &pool->workers[i];
        const bool held = worker->movable &&
                          atomic_load_explicit(&worker->inside, memory_order_relaxed) &&
                          !worker->fetched && !CPU_EQUAL(&worker->allowed, &here);
        worker->ran_ns = held ? cpu_time_ns(worker) : -1;
    }
    if (wait_a_while(pool, inside, LOOK_NS, spin_ns)) {
        return false;
    }
    for (uint32_t i = 0; i < pool->n_workers; i++) {
        struct worker *worker = &pool->workers[i];
        if (worker->ran_ns >= 0 && cpu_time_ns(worker) == worker->ran_ns &&
            pthread_setaffinity_np(worker->thread, sizeof here, &here) == 0) {
            worker->fetched = true;
            return true;
        }
    }
    return false;
}

/* Until nobody is inside: the loop is closed, so no new worker can draw from it. */
static void wait_for_workers(struct vt_pool *pool)
{
    bool fetched = false;
    int64_t spin_ns = pool->idle_spin_ns; /* none any more where a worker needs this CPU */
    atomic_store(&pool->caller_waits, 1);
    for (int64_t patience = PATIENCE_NS;; patience = LOOK_AGAIN_NS) {
        uint32_t inside = atomic_load(&pool->running);
        while (inside != 0 && wait_a_while(pool, inside, patience, spin_ns)) {
            inside = atomic_load(&pool->running);
        }
        if (inside == 0) {
            break;
        }
        if (fetch_one(pool, inside, spin_ns)) {
            fetched = true;
            spin_ns = 0;
        }
    }
    atomic_store(&pool->caller_waits, 0);
    for (uint32_t i = 0; fetched && i < pool->n_workers; i++) {
        struct worker *worker = &pool->workers[i];
        if (worker->fetched) {
            worker->fetched = false;
            send_away(worker, sched_getcpu());
        }
    }
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
    atomic_store_explicit(&pool->caller_cpu, sched_getcpu(), memory_order_relaxed);
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
