/* SPDX-License-Identifier: Apache-2.0 */
#include "vt_load_pool.h"

#include "vt_test.h"

static struct vt_completion answer_to(const struct vt_query_sample *sample)
{
    return (struct vt_completion){.id = sample->id, .response = "x", .response_bytes = 1};
}

static void *work(void *arg)
{
    struct vt_pool_sut *sut = arg;
    pthread_mutex_lock(&sut->lock);
    for (;;) {
        while (!sut->quit && sut->head == sut->tail) {
            pthread_cond_wait(&sut->filled, &sut->lock);
        }
        if (sut->quit) {
            break;
        }
        struct vt_completion c[4] = {0};
        size_t n = 0;
        while (n < 4 && sut->head != sut->tail) {
            const struct vt_query_sample *sample = &sut->queue[sut->head++ % VT_POOL_QUEUE];
            if (sample->index != sut->lose) {
                c[n++] = answer_to(sample);
            } else {
                sut->lost = *sample;
            }
        }
        uint64_t invented = sut->invent;
        sut->invent = 0;
        pthread_mutex_unlock(&sut->lock);
        if (sut->work_ns > 0) {
            vt_sleep_until_ns(vt_now_ns() + sut->work_ns, 0);
        }
        if (!sut->silent) {
            sut->sink->complete(sut->sink->ctx, c, n);
        }
        if (sut->twice) {
            sut->sink->complete(sut->sink->ctx, c, n);
        }
        if (invented != 0) {
            c[0] = (struct vt_completion){.id = invented};
            sut->sink->complete(sut->sink->ctx, c, 1);
        }
        pthread_mutex_lock(&sut->lock);
    }
    pthread_mutex_unlock(&sut->lock);
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
    struct vt_pool_sut *sut = ctx;
    (void)scenario;
    (void)err;
    if (sink != NULL) {
        sut->sink = sink;
        sut->quit = false;
        sut->head = sut->tail = 0;
        for (int i = 0; i < VT_POOL_WORKERS; i++) {
            assert_int_equal(pthread_create(&sut->threads[i], NULL, work, sut), 0);
        }
        return VT_OK;
    }
    pthread_mutex_lock(&sut->lock);
    sut->quit = true;
    pthread_cond_broadcast(&sut->filled);
    pthread_mutex_unlock(&sut->lock);
    for (int i = 0; i < VT_POOL_WORKERS; i++) {
        pthread_join(sut->threads[i], NULL);
    }
    return VT_OK;
}

static enum vt_status issue(void *ctx, const struct vt_query_sample *samples, size_t n,
                            struct vt_error *err)
{
    struct vt_pool_sut *sut = ctx;
    uint32_t call = atomic_fetch_add(&sut->issues, 1) + 1;
    uint32_t largest = atomic_load(&sut->largest);
    while (n > largest && !atomic_compare_exchange_weak(&sut->largest, &largest, (uint32_t)n)) {
    }
    if (call == atomic_load(&sut->refuse_at)) {
        return vt_error_set(err, VT_ERR_ENGINE, "the pool refuses call %u", call);
    }
    if (sut->in_place) {
        for (size_t i = 0; i < n; i++) {
            struct vt_completion c = answer_to(&samples[i]);
            sut->sink->complete(sut->sink->ctx, &c, 1);
        }
        return VT_OK;
    }
    pthread_mutex_lock(&sut->lock);
    for (size_t i = 0; i < n; i++) {
        sut->queue[sut->tail++ % VT_POOL_QUEUE] = samples[i];
    }
    pthread_cond_broadcast(&sut->filled);
    pthread_mutex_unlock(&sut->lock);
    return VT_OK;
}

static void flush(void *ctx)
{
    struct vt_pool_sut *sut = ctx;
    atomic_fetch_add(&sut->flushes, 1);
}

static void abort_queue(void *ctx)
{
    struct vt_pool_sut *sut = ctx;
    atomic_fetch_add(&sut->aborts, 1);
    pthread_mutex_lock(&sut->lock);
    sut->head = sut->tail;
    struct vt_completion late = answer_to(&sut->lost);
    pthread_mutex_unlock(&sut->lock);
    if (sut->lose_late) {
        sut->sink->complete(sut->sink->ctx, &late, 1);
    }
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

const struct vt_qsl vt_pool_library = {VT_QSL_HEAD,  1000,           1000, name,
                                       load_samples, unload_samples, NULL};
struct vt_pool_sut vt_pool = {
    .seam = {VT_SUT_HEAD, name, start, issue, flush, abort_queue, &vt_pool},
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .filled = PTHREAD_COND_INITIALIZER,
};

void vt_pool_reset(void)
{
    vt_pool.silent = false;
    vt_pool.twice = false;
    vt_pool.in_place = false;
    vt_pool.work_ns = 0;
    vt_pool.lose = UINT64_MAX;
    vt_pool.lose_late = false;
    vt_pool.invent = 0;
    atomic_store(&vt_pool.refuse_at, 0);
    atomic_store(&vt_pool.aborts, 0);
    atomic_store(&vt_pool.issues, 0);
    atomic_store(&vt_pool.flushes, 0);
    atomic_store(&vt_pool.largest, 0);
}

struct vt_load_settings vt_pool_settings(enum vt_scenario scenario, uint64_t count)
{
    struct vt_load_settings s;
    vt_load_settings_default(&s);
    s.scenario = scenario;
    s.min_duration_ns = 0;
    s.min_query_count = count;
    s.server_target_qps = 20000;
    s.server_target_latency_ns = 10 * VT_NS_PER_S;
    return s;
}

struct vt_load_report *vt_pool_run(const struct vt_load_settings *settings,
                                   struct vt_load_control *control)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_load_report *r = NULL;
    if (vt_load_run(settings, &vt_pool.seam, &vt_pool_library, control, &err, &r) != VT_OK) {
        fail_msg("%s", err.text);
    }
    return r;
}
