/* SPDX-License-Identifier: Apache-2.0 */
/* The machine's clock and a sut with threads of its own: wake-ups, time-outs, interrupts. */
#include <pthread.h>
#include <stdatomic.h>

#include "load/load.h"
#include "vt_test.h"

#define MS      VT_NS_PER_MS
#define WORKERS 2
#define QUEUE   (1u << 17)

/* A queue under a lock and workers that answer in batches of up to four. */
struct pool_sut {
    struct vt_sut seam;
    pthread_mutex_t lock;
    pthread_cond_t filled;
    pthread_t threads[WORKERS];
    const struct vt_completion_sink *sink;
    uint64_t queue[QUEUE];
    uint32_t head, tail;
    bool quit, silent, twice;
    int64_t work_ns;
    _Atomic uint32_t aborts;
};

static void *work(void *arg)
{
    struct pool_sut *sut = arg;
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
            c[n].response = "x";
            c[n].response_bytes = 1;
            c[n++].id = sut->queue[sut->head++ % QUEUE];
        }
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
    struct pool_sut *sut = ctx;
    (void)scenario;
    (void)err;
    if (sink != NULL) {
        sut->sink = sink;
        sut->quit = false;
        sut->head = sut->tail = 0;
        for (int i = 0; i < WORKERS; i++) {
            assert_int_equal(pthread_create(&sut->threads[i], NULL, work, sut), 0);
        }
        return VT_OK;
    }
    pthread_mutex_lock(&sut->lock);
    sut->quit = true;
    pthread_cond_broadcast(&sut->filled);
    pthread_mutex_unlock(&sut->lock);
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(sut->threads[i], NULL);
    }
    return VT_OK;
}

static enum vt_status issue(void *ctx, const struct vt_query_sample *samples, size_t n,
                            struct vt_error *err)
{
    struct pool_sut *sut = ctx;
    (void)err;
    pthread_mutex_lock(&sut->lock);
    for (size_t i = 0; i < n; i++) {
        sut->queue[sut->tail++ % QUEUE] = samples[i].id;
    }
    pthread_cond_broadcast(&sut->filled);
    pthread_mutex_unlock(&sut->lock);
    return VT_OK;
}

static void flush(void *ctx)
{
    (void)ctx;
}

static void abort_queue(void *ctx)
{
    struct pool_sut *sut = ctx;
    atomic_fetch_add(&sut->aborts, 1);
    pthread_mutex_lock(&sut->lock);
    sut->head = sut->tail;
    pthread_mutex_unlock(&sut->lock);
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

static const struct vt_qsl library = {VT_QSL_HEAD,  1000,           1000, name,
                                      load_samples, unload_samples, NULL};
static struct pool_sut pool = {
    .seam = {VT_SUT_HEAD, name, start, issue, flush, abort_queue, &pool},
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .filled = PTHREAD_COND_INITIALIZER,
};

static int reset(void **state)
{
    (void)state;
    pool.silent = false;
    pool.twice = false;
    pool.work_ns = 0;
    atomic_store(&pool.aborts, 0);
    return 0;
}

static struct vt_load_settings settings_of(enum vt_scenario scenario, uint64_t count)
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

static struct vt_load_report *run(const struct vt_load_settings *s, struct vt_load_control *control)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_load_report *r = NULL;
    if (vt_load_run(s, &pool.seam, &library, control, &err, &r) != VT_OK) {
        fail_msg("%s", err.text);
    }
    return r;
}

static void every_scenario_completes_with_and_without_a_spin(void **state)
{
    (void)state;
    for (enum vt_scenario scenario = 0; scenario < VT_SCENARIO_COUNT; scenario++) {
        for (int64_t spin = 0; spin <= 50; spin += 50) {
            for (enum vt_mode mode = 0; mode <= VT_ACCURACY; mode++) {
                struct vt_load_settings s = settings_of(scenario, 2000);
                s.spin_ns = spin * VT_NS_PER_US;
                s.mode = mode;
                struct vt_load_report *r = run(&s, NULL);
                if (!r->valid) {
                    fail_msg("%s", r->reasons.text[0]);
                }
                assert_int_equal(r->samples_completed, r->samples_issued);
                for (uint64_t i = 0; i < r->n_records; i++) {
                    assert_true(r->records[i].issued_ns >= r->records[i].scheduled_ns);
                    assert_true(r->records[i].done_ns >= r->records[i].issued_ns);
                }
                assert_int_equal(r->n_responses, mode == VT_ACCURACY ? r->samples_issued : 0);
                vt_load_report_free(r);
            }
        }
    }
}

static void a_sut_that_answers_everything_twice_is_counted_exactly(void **state)
{
    (void)state;
    pool.twice = true;
    struct vt_load_settings s = settings_of(VT_OFFLINE, 50000);
    struct vt_load_report *r = run(&s, NULL);
    assert_int_equal(r->samples_completed, 50000);
    assert_int_equal(r->samples_doubled, 50000);
    assert_false(r->valid);
    vt_load_report_free(r);
}

static void a_silent_sut_is_given_up_after_the_time_out(void **state)
{
    (void)state;
    pool.silent = true;
    for (enum vt_scenario scenario = 0; scenario < VT_SCENARIO_COUNT; scenario++) {
        struct vt_load_settings s = settings_of(scenario, 1000);
        s.completion_timeout_ns = 150 * MS;
        int64_t before = vt_now_ns();
        struct vt_load_report *r = run(&s, NULL);
        assert_true(vt_now_ns() - before >= 150 * MS);
        assert_int_equal(r->samples_completed, 0);
        assert_int_equal(r->samples_lost, r->samples_issued);
        assert_false(r->valid || r->interrupted);
        assert_non_null(strstr(r->reasons.text[0], "never completed (first: sample 0"));
        vt_load_report_free(r);
    }
    assert_int_equal(atomic_load(&pool.aborts), VT_SCENARIO_COUNT);
}

static void *stop_soon(void *arg)
{
    struct vt_load_control *control = arg;
    vt_sleep_until_ns(vt_now_ns() + 100 * MS, 0);
    atomic_store(&control->stop, true);
    return NULL;
}

static void stop_from_another_thread_ends_any_wait(void **state)
{
    (void)state;
    /* In a wait for a completion that never comes, and in a sleep to an arrival far away. */
    for (int k = 0; k < 3; k++) {
        static const enum vt_scenario scenarios[] = {VT_SINGLESTREAM, VT_OFFLINE, VT_SERVER};
        struct vt_load_settings s = settings_of(scenarios[k], 1000);
        s.server_target_qps = 0.001;
        pool.silent = scenarios[k] != VT_SERVER;
        struct vt_load_control control = {0};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, stop_soon, &control), 0);
        int64_t before = vt_now_ns();
        struct vt_load_report *r = run(&s, &control);
        pthread_join(thread, NULL);
        assert_true(r->interrupted);
        /* 100 ms and one look; the rest is for a busy machine. */
        assert_true(vt_now_ns() - before < 5 * VT_NS_PER_S);
        vt_load_report_free(r);
    }
}

static void *watch(void *arg)
{
    struct vt_load_control *control = arg;
    uint64_t last = 0;
    while (!atomic_load(&control->stop)) {
        uint64_t done = atomic_load_explicit(&control->completed, memory_order_relaxed);
        assert_true(done >= last);
        last = done;
        vt_sleep_until_ns(vt_now_ns() + MS, 0);
    }
    return NULL;
}

static void progress_can_be_watched(void **state)
{
    (void)state;
    struct vt_load_settings s = settings_of(VT_SERVER, 4000);
    struct vt_load_control control = {0};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, watch, &control), 0);
    struct vt_load_report *r = run(&s, &control);
    atomic_store(&control.stop, true);
    pthread_join(thread, NULL);
    assert_int_equal(atomic_load(&control.issued), 4000);
    assert_int_equal(atomic_load(&control.completed), 4000);
    assert_true(atomic_load(&control.started_ns) > 0);
    vt_load_report_free(r);
}

static void slow_answers_are_slept_for(void **state)
{
    (void)state;
    pool.work_ns = 2 * MS;
    struct vt_load_settings s = settings_of(VT_SINGLESTREAM, 64);
    s.spin_ns = 0;
    struct vt_load_report *r = run(&s, NULL);
    assert_true(r->latency.min_ns >= 2 * MS);
    assert_int_equal(r->samples_lost, 0);
    vt_load_report_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_scenario_completes_with_and_without_a_spin, reset),
        cmocka_unit_test_setup(a_sut_that_answers_everything_twice_is_counted_exactly, reset),
        cmocka_unit_test_setup(a_silent_sut_is_given_up_after_the_time_out, reset),
        cmocka_unit_test_setup(stop_from_another_thread_ends_any_wait, reset),
        cmocka_unit_test_setup(progress_can_be_watched, reset),
        cmocka_unit_test_setup(slow_answers_are_slept_for, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
