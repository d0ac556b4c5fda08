/* SPDX-License-Identifier: Apache-2.0 */
#include "run/profile/peak.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/pool.h"
#include "base/topology.h"
#include "kernels/peak/peak.h"

#define STRETCHES    12
#define STRETCH_NS   (40 * VT_NS_PER_MS)
#define CHUNKS       8 /* for each thread and stretch: who is late takes fewer */
#define ARRAYS_BYTES (UINT64_C(192) << 20)
/* At least this share of the machine's memory stays free. */
#define MEMORY_SHARE 16
#define SPIN_NS      (50 * VT_NS_PER_US)

struct compute {
    const struct vt_peak_kernel *kernel;
    int64_t rounds; /* of a chunk */
    _Atomic uint32_t sink;
};

static void compute_chunks(void *context, int64_t begin, int64_t end, uint32_t worker)
{
    struct compute *compute = context;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        float sink;
        compute->kernel->run(compute->rounds, &sink);
        atomic_fetch_add_explicit(&compute->sink, sink > 0, memory_order_relaxed);
    }
}

static int64_t timed(struct vt_pool *pool, int64_t n, int64_t grain, vt_pool_body_func body,
                     void *ctx)
{
    int64_t start = vt_now_ns();
    vt_pool_run(pool, n, grain, body, ctx);
    int64_t elapsed = vt_now_ns() - start;
    return elapsed > 0 ? elapsed : 1;
}

static void measure_compute(struct vt_pool *pool, const _Atomic bool *stop,
                            struct vt_machine_peak *peak)
{
    struct compute compute = {.kernel = vt_peak_kernel_find(vt_topology()->features),
                              .rounds = 10000};
    int64_t chunks = (int64_t)CHUNKS * vt_pool_threads(pool);

    peak->isa = compute.kernel->name;
    /* A stretch to see how long rounds take, which also wakes the clock of the cores. */
    int64_t elapsed = timed(pool, chunks, 1, compute_chunks, &compute);
    compute.rounds = (int64_t)((double)compute.rounds * STRETCH_NS / (double)elapsed) + 1;
    for (int i = 0; i < STRETCHES && (i == 0 || !atomic_load(stop)); i++) {
        elapsed = timed(pool, chunks, 1, compute_chunks, &compute);
        double flops = compute.kernel->flops_per_round * (double)compute.rounds * (double)chunks;
        double rate = flops / ((double)elapsed / 1e9);
        peak->flops_per_s = rate > peak->flops_per_s ? rate : peak->flops_per_s;
    }
}

struct triad {
    float *a, *b, *c;
};

static void triad_chunk(void *context, int64_t begin, int64_t end, uint32_t worker)
{
    const struct triad *triad = context;
    (void)worker;
    vt_peak_triad(triad->a + begin, triad->b + begin, triad->c + begin, 3, end - begin);
}

/* The first touch of memory decides where it lies: each thread touches what it may work on. */
static void touch_chunk(void *context, int64_t begin, int64_t end, uint32_t worker)
{
    const struct triad *triad = context;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        triad->a[i] = 0;
        triad->b[i] = 1;
        triad->c[i] = 2;
    }
}

static enum vt_status measure_triad(struct vt_pool *pool, const _Atomic bool *stop,
                                    struct vt_error *err, struct vt_machine_peak *peak)
{
    uint64_t bytes = vt_topology()->memory_bytes / MEMORY_SHARE;
    bytes = bytes == 0 || bytes > ARRAYS_BYTES ? ARRAYS_BYTES : bytes;
    const int64_t n = (int64_t)(bytes / (3 * sizeof(float)));
    int64_t grain = n / ((int64_t)CHUNKS * vt_pool_threads(pool));
    struct triad triad = {vt_alloc((size_t)n * sizeof(float)), vt_alloc((size_t)n * sizeof(float)),
                          vt_alloc((size_t)n * sizeof(float))};
    enum vt_status status = VT_OK;

    grain = (grain > 16 ? grain : 16) / 16 * 16;
    if (triad.a == NULL || triad.b == NULL || triad.c == NULL) {
        status = vt_error_set(err, VT_ERR_MEMORY, "out of memory for %llu bytes to stream",
                              (unsigned long long)bytes);
    } else {
        vt_pool_run(pool, n, grain, touch_chunk, &triad);
        int64_t until = vt_now_ns() + STRETCHES * STRETCH_NS;
        for (int i = 0; i < 3 || (vt_now_ns() < until && !atomic_load(stop)); i++) {
            double moved = 3 * sizeof(float) * (double)n;
            double rate = moved / ((double)timed(pool, n, grain, triad_chunk, &triad) / 1e9);
            peak->bytes_per_s = rate > peak->bytes_per_s ? rate : peak->bytes_per_s;
        }
        peak->triad_bytes = 3 * sizeof(float) * (uint64_t)n;
    }
    vt_free(triad.a);
    vt_free(triad.b);
    vt_free(triad.c);
    return status;
}

enum vt_status vt_machine_peak_measure(uint32_t threads, const _Atomic bool *stop,
                                       struct vt_error *err, struct vt_machine_peak *ret_peak)
{
    struct vt_pool_options options = {.threads = threads, .idle_spin_ns = SPIN_NS};
    struct vt_machine_peak peak = {0};
    struct vt_pool *pool = NULL;
    enum vt_status status = VT_OK;

    if (threads > 1) {
        status = vt_pool_new(&options, err, &pool);
    }
    if (status == VT_OK) {
        measure_compute(pool, stop, &peak);
        status = measure_triad(pool, stop, err, &peak);
    }
    vt_pool_free(pool);
    if (status == VT_OK) {
        *ret_peak = peak;
    }
    return status;
}
