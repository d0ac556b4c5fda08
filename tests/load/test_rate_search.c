/* SPDX-License-Identifier: Apache-2.0 */
/* The search for the highest Server rate, against queues whose capacity is known. */
#include "vt_load_double.h"
#include "vt_test.h"

#define MS VT_NS_PER_MS
#define S  VT_NS_PER_S

static struct vt_fake_clock clock_double;
static struct vt_fake_sut sut;
static struct vt_fake_qsl qsl;
static struct vt_load_control control;

static int set_up(void **state)
{
    (void)state;
    vt_fake_init(&clock_double, &sut, &qsl, &control, 100, 100);
    sut.style = VT_FAKE_QUEUED;
    sut.fixed_ns = MS; /* 1000 queries/s at most */
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    vt_fake_release(&sut);
    return 0;
}

static struct vt_rate_search search_of(double start)
{
    struct vt_rate_search search = {.trial_ns = 10 * S, .budget_ns = 1000 * S};
    vt_load_settings_default(&search.settings);
    search.settings.server_target_qps = start;
    search.settings.server_target_latency_ns = 10 * MS;
    return search;
}

static struct vt_rate_found find(const struct vt_rate_search *search)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_rate_found found = {0};
    if (vt_load_find_rate(search, &sut.seam, &qsl.seam, &control, &err, &found) != VT_OK) {
        fail_msg("%s", err.text);
    }
    return found;
}

static void it_finds_what_a_queue_can_take(void **state)
{
    /* An M/D/1 queue of 1 ms: its p99 wait is some 9 ms at a load of about 0.8. */
    static const double starts[] = {0, 3, 700, 20000};
    for (int i = 0; i < 4; i++) {
        if (i > 0) {
            tear_down(state);
            set_up(state);
        }
        struct vt_rate_search search = search_of(starts[i]);
        struct vt_rate_found found = find(&search);
        assert_true(found.qps > 650 && found.qps < 950);
        assert_true(found.failed_qps > found.qps && found.failed_qps <= 1.06 * found.qps);
        assert_true(found.trials > 3 && found.trials < 30);
        assert_false(found.interrupted);
    }
}

static void a_bound_below_the_service_time_finds_nothing(void **state)
{
    (void)state;
    struct vt_rate_search search = search_of(100);
    search.settings.server_target_latency_ns = MS / 2;
    struct vt_rate_found found = find(&search);
    assert_true(found.qps == 0);
    assert_true(found.failed_qps > 0);
}

static void the_budget_bounds_the_search(void **state)
{
    (void)state;
    struct vt_rate_search search = search_of(1);
    search.budget_ns = 35 * S;
    struct vt_rate_found found = find(&search);
    assert_in_range(found.trials, 2, 3);
    assert_true(clock_double.now_ns - VT_FAKE_EPOCH <= 60 * S);
}

static void a_sut_that_loses_samples_passes_nothing(void **state)
{
    (void)state;
    sut.lose = 3;
    sut.lose_to = 3;
    struct vt_rate_search search = search_of(100);
    search.budget_ns = 60 * S;
    struct vt_rate_found found = find(&search);
    assert_true(found.qps == 0);
}

static void stop_interrupts_it(void **state)
{
    (void)state;
    sut.stop_at = 40;
    struct vt_rate_search search = search_of(100);
    struct vt_rate_found found = find(&search);
    assert_true(found.interrupted);
    assert_int_equal(found.trials, 1);
    assert_true(found.qps == 0);
}

static void bad_arguments_are_named(void **state)
{
    (void)state;
    struct vt_error err = VT_ERROR_INIT;
    struct vt_rate_found found;
    struct vt_rate_search search = search_of(100);
    search.trial_ns = 0;
    assert_int_equal(vt_load_find_rate(&search, &sut.seam, &qsl.seam, &control, &err, &found),
                     VT_ERR_USAGE);
    assert_non_null(strstr(err.text, "trial_ns is 0"));
    search = search_of(-1);
    err = (struct vt_error)VT_ERROR_INIT;
    assert_int_equal(vt_load_find_rate(&search, &sut.seam, &qsl.seam, &control, &err, &found),
                     VT_ERR_USAGE);
    assert_non_null(strstr(err.text, "server_target_qps is -1"));
    search = search_of(100);
    search.budget_ns = S;
    err = (struct vt_error)VT_ERROR_INIT;
    assert_int_equal(vt_load_find_rate(&search, &sut.seam, &qsl.seam, &control, &err, &found),
                     VT_ERR_USAGE);
    assert_non_null(strstr(err.text, "budget_ns is 1000000000"));
}

#define RATE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        RATE_TEST(it_finds_what_a_queue_can_take),
        RATE_TEST(a_bound_below_the_service_time_finds_nothing),
        RATE_TEST(the_budget_bounds_the_search),
        RATE_TEST(a_sut_that_loses_samples_passes_nothing),
        RATE_TEST(stop_interrupts_it),
        RATE_TEST(bad_arguments_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
