/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thread pool for parallel loops.
 *
 * A loop over n items is cut into chunks of `grain` that the threads, the caller among them, draw
 * from a shared counter: never a static split, which on a shared machine waits for the slowest
 * core. Idle workers spin for a bounded while, then sleep on a futex. A worker that the kernel has
 * taken off its CPU in the middle of a chunk is fetched to the caller's (its affinity is changed
 * for that moment), and workers keep away from the caller's CPU.
 *
 * Threading: vt_pool_run may be called by one thread at a time; it returns when all chunks are
 * done. The body must not call vt_pool_run of the same pool.
 */
#ifndef VT_BASE_POOL_H
#define VT_BASE_POOL_H

#include <stdint.h>

#include "vatio/status.h"

struct vt_pool;

struct vt_pool_options {
    uint32_t threads;     /* the caller included; 0: vt_topology()->usable_cpus */
    const uint32_t *cpus; /* logical CPU for each worker thread (not the caller); NULL: unbound */
    uint32_t n_cpus;      /* entries in cpus; used round-robin */
    int64_t idle_spin_ns; /* how long an idle worker spins before it sleeps */
};

/* Work on items [begin, end). `worker` counts from 0 (the caller) to vt_pool_threads() - 1. */
typedef void (*vt_pool_body_func)(void *ctx, int64_t begin, int64_t end, uint32_t worker);

/* On failure (VT_ERR_MEMORY, VT_ERR_SYSTEM) nothing is left running. */
enum vt_status vt_pool_new(const struct vt_pool_options *options, struct vt_error *err,
                           struct vt_pool **ret_pool) VT_NODISCARD;
void vt_pool_free(struct vt_pool *pool);              /* accepts NULL */
uint32_t vt_pool_threads(const struct vt_pool *pool); /* 1 for NULL */

/*
 * Runs body over [0, n) in chunks of `grain` (at least 1). With one thread, one chunk or
 * pool == NULL it is a plain call, body(ctx, 0, n, 0). Allocates nothing.
 */
void vt_pool_run(struct vt_pool *pool, int64_t n, int64_t grain, vt_pool_body_func body, void *ctx);

#endif
