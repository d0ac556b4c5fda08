/* SPDX-License-Identifier: Apache-2.0 */
/* The machine's clock and a sut with threads of its own: wake-ups, time-outs, interrupts. */
#include <pthread.h>
#include <stdatomic.h>

#include "vt_load_pool.h"
#include "vt_test.h"

#define MS VT_NS_PER_MS

static int reset(void **state)
{
    (void)state;
    vt_pool_reset();
    return 0;
}

static void every_scenario_completes_with_and_without_a_spin(void **state)
{
    (void)state;
    for (enum vt_scenario scenario = 0; scenario < VT_SCENARIO_COUNT; scenario++) {
        for (int64_t spin = 0; spin <= 50; spin += 50) {
            for (enum vt_mode mode = 0; mode <= VT_ACCURACY; mode++) {
                struct vt_load_settings s = vt_pool_settings(scenario, 2000);
                s.spin_ns = spin * VT_NS_PER_US;
                s.mode = mode;
                struct vt_load_report *r = vt_pool_run(&s, NULL);
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
    vt_pool.twice = true;
    struct vt_load_settings s = vt_pool_settings(VT_OFFLINE, 50000);
    struct vt_load_report *r = vt_pool_run(&s, NULL);
    assert_int_equal(r->samples_completed, 50000);
    assert_int_equal(r->samples_doubled, 50000);
    assert_false(r->valid);
    vt_load_report_free(r);
}

static void a_silent_sut_is_given_up_after_the_time_out(void **state)
{
    (void)state;
    vt_pool.silent = true;
    for (enum vt_scenario scenario = 0; scenario < VT_SCENARIO_COUNT; scenario++) {
        struct vt_load_settings s = vt_pool_settings(scenario, 1000);
        s.completion_timeout_ns = 150 * MS;
        int64_t before = vt_now_ns();
        struct vt_load_report *r = vt_pool_run(&s, NULL);
        assert_true(vt_now_ns() - before >= 150 * MS);
        assert_int_equal(r->samples_completed, 0);
        assert_int_equal(r->samples_lost, r->samples_issued);
        assert_false(r->valid || r->interrupted);
        assert_non_null(strstr(r->reasons.text[0], "never completed (first: sample 0"));
        vt_load_report_free(r);
    }
    assert_int_equal(atomic_load(&vt_pool.aborts), VT_SCENARIO_COUNT);
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
        struct vt_load_settings s = vt_pool_settings(scenarios[k], 1000);
        s.server_target_qps = 0.001;
        vt_pool.silent = scenarios[k] != VT_SERVER;
        struct vt_load_control control = {0};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, stop_soon, &control), 0);
        int64_t before = vt_now_ns();
        struct vt_load_report *r = vt_pool_run(&s, &control);
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
        int64_t p99 = vt_load_latency_so_far(control, 0.99);
        assert_true(p99 >= -1 && p99 < 60 * VT_NS_PER_S);
        vt_sleep_until_ns(vt_now_ns() + MS, 0);
    }
    return NULL;
}

static void progress_can_be_watched(void **state)
{
    (void)state;
    struct vt_load_settings s = vt_pool_settings(VT_SERVER, 4000);
    s.server_num_issue_query_threads = 3;
    struct vt_load_control control = {0};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, watch, &control), 0);
    struct vt_load_report *r = vt_pool_run(&s, &control);
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
    vt_pool.work_ns = 2 * MS;
    struct vt_load_settings s = vt_pool_settings(VT_SINGLESTREAM, 64);
    s.spin_ns = 0;
    struct vt_load_report *r = vt_pool_run(&s, NULL);
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
