/* SPDX-License-Identifier: Apache-2.0 */
/* Durations, counts, bounds and the two verdicts: what a job asks for becomes what load does. */
#include "vt_test.h"

#include "base/clock.h"
#include "run/rules.h"
#include "run/scenario.h"

static const struct vt_probe probe = {
    .single_p90_ns = 2 * VT_NS_PER_MS, .batch = 8, .samples_per_s = 1000};

static struct vt_job job_of(int64_t duration_ns)
{
    return (struct vt_job){.duration_ns = duration_ns,
                           .max_duration_ns = 60 * VT_NS_PER_S,
                           .samples_per_query = 8,
                           .spin_us = -1,
                           .timeout_ns = VT_NS_PER_S};
}

static struct vt_load_settings settings_of(const struct vt_session *session,
                                           enum vt_scenario scenario, enum vt_mode mode)
{
    struct vt_load_settings settings;
    vt_scenario_settings(session, &probe, scenario, mode, &settings);
    return settings;
}

static void a_short_job_needs_what_early_stopping_needs(void **state)
{
    (void)state;
    struct vt_job job = job_of(3 * VT_NS_PER_S);
    struct vt_session session = {.job = &job};

    struct vt_load_settings s = settings_of(&session, VT_SINGLESTREAM, VT_PERFORMANCE);
    assert_int_equal(s.min_query_count, 64);
    assert_int_equal(s.min_duration_ns, 3 * VT_NS_PER_S);
    assert_int_equal(s.single_stream_expected_latency_ns, 2 * VT_NS_PER_MS);
    assert_int_equal(s.max_duration_ns, 60 * VT_NS_PER_S);
    s = settings_of(&session, VT_MULTISTREAM, VT_PERFORMANCE);
    assert_int_equal(s.min_query_count, 662);
    assert_int_equal(s.multi_stream_samples_per_query, 8);
    s = settings_of(&session, VT_SERVER, VT_PERFORMANCE);
    assert_int_equal(s.min_query_count, 662);
    s = settings_of(&session, VT_OFFLINE, VT_PERFORMANCE);
    assert_int_equal(s.min_query_count, 1);
    /* mlperf.conf of the round. */
    assert_true(s.qsl_rng_seed == UINT64_C(2085463073848966840));
    assert_true(s.sample_index_rng_seed == UINT64_C(2747215439041700203));
    assert_true(s.schedule_rng_seed == UINT64_C(16159082839903944936));
    s = settings_of(&session, VT_OFFLINE, VT_ACCURACY);
    assert_int_equal(s.max_duration_ns, 0);
}

static void official_takes_the_rules_numbers(void **state)
{
    (void)state;
    struct vt_job job = job_of(3 * VT_NS_PER_S);
    struct vt_session session = {.job = &job};
    job.official = true;

    struct vt_load_settings s = settings_of(&session, VT_OFFLINE, VT_PERFORMANCE);
    assert_int_equal(s.min_duration_ns, 600 * VT_NS_PER_S);
    assert_int_equal(s.min_query_count, 24576);
    s = settings_of(&session, VT_SINGLESTREAM, VT_PERFORMANCE);
    assert_int_equal(s.min_query_count, 100);
    job.duration_ns = 700 * VT_NS_PER_S;
    s = settings_of(&session, VT_SERVER, VT_PERFORMANCE);
    assert_int_equal(s.min_duration_ns, 700 * VT_NS_PER_S);
}

static void the_latency_bound_is_the_users_the_tasks_or_measured(void **state)
{
    (void)state;
    struct vt_job job = job_of(VT_NS_PER_S);
    struct vt_session session = {.job = &job};
    struct vt_probe fast = {.single_p90_ns = 1000, .batch = 1, .samples_per_s = 1e6};

    assert_int_equal(vt_scenario_latency_bound(&session, &probe), 20 * VT_NS_PER_MS);
    assert_int_equal(vt_scenario_latency_bound(&session, &fast), 10 * VT_NS_PER_MS);
    session.info.latency_bound_ns = 15 * VT_NS_PER_MS;
    assert_int_equal(vt_scenario_latency_bound(&session, &fast), 15 * VT_NS_PER_MS);
    job.max_latency_ns = 7 * VT_NS_PER_MS;
    assert_int_equal(vt_scenario_latency_bound(&session, &fast), 7 * VT_NS_PER_MS);
}

static void spinning_is_for_engines_off_the_cpu(void **state)
{
    (void)state;
    struct vt_job job = job_of(VT_NS_PER_S);
    struct vt_session session = {.job = &job};

    assert_true(settings_of(&session, VT_SERVER, VT_PERFORMANCE).spin_ns > 0);
    session.caps.uses_cpu = true;
    assert_int_equal(settings_of(&session, VT_SERVER, VT_PERFORMANCE).spin_ns, 0);
    job.spin_us = 5;
    assert_int_equal(settings_of(&session, VT_SERVER, VT_PERFORMANCE).spin_ns, 5 * VT_NS_PER_US);
}

static void the_estimate_follows_the_slower_limit(void **state)
{
    (void)state;
    struct vt_job job = job_of(VT_NS_PER_S);
    struct vt_session session = {.job = &job};

    /* 64 queries of 2 ms are over before the second is. */
    struct vt_load_settings s = settings_of(&session, VT_SINGLESTREAM, VT_PERFORMANCE);
    assert_int_equal(vt_scenario_expected_ns(&s, &probe, 0), VT_NS_PER_S);
    /* 662 queries of 8 samples at 1000 samples/s take 5.296 s. */
    s = settings_of(&session, VT_MULTISTREAM, VT_PERFORMANCE);
    assert_true(llabs(vt_scenario_expected_ns(&s, &probe, 0) - 5296 * VT_NS_PER_MS) < VT_NS_PER_MS);
    s = settings_of(&session, VT_OFFLINE, VT_ACCURACY);
    assert_true(llabs(vt_scenario_expected_ns(&s, &probe, 2000) - 2 * VT_NS_PER_S) < VT_NS_PER_MS);
    job.max_duration_ns = 4 * VT_NS_PER_S;
    s = settings_of(&session, VT_MULTISTREAM, VT_PERFORMANCE);
    assert_int_equal(vt_scenario_expected_ns(&s, &probe, 0), 4 * VT_NS_PER_S);
}

static bool says(const struct vt_reasons *reasons, const char *text)
{
    for (uint32_t i = 0; i < reasons->n; i++) {
        if (strstr(reasons->text[i], text) != NULL) {
            return true;
        }
    }
    return false;
}

static void the_rules_verdict_names_what_is_missing(void **state)
{
    (void)state;
    struct vt_job job = job_of(3 * VT_NS_PER_S);
    struct vt_session session = {.job = &job, .source = {.argument = "dir/mine.onnx"}};
    struct vt_load_report report = {.settings = settings_of(&session, VT_OFFLINE, VT_PERFORMANCE)};
    struct vt_result_entry entry = {
        .scenario = VT_OFFLINE, .mode = VT_PERFORMANCE, .valid = true, .report = &report};

    report.samples_issued = 1000;
    vt_rules_judge(&session, &entry);
    assert_false(entry.rules_met);
    assert_true(says(&entry.rules, "3 s < 600 s (add --official)"));
    assert_true(says(&entry.rules, "1000 samples < 24576"));
    assert_true(says(&entry.rules, "mine.onnx is not a benchmark"));
    assert_false(says(&entry.rules, "not valid"));

    session.source.argument = "resnet50";
    report.settings.min_duration_ns = 600 * VT_NS_PER_S;
    report.samples_issued = 24576;
    vt_rules_judge(&session, &entry);
    assert_true(entry.rules_met);
    entry.valid = false;
    vt_rules_judge(&session, &entry);
    assert_false(entry.rules_met);
    assert_true(says(&entry.rules, "not valid"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_short_job_needs_what_early_stopping_needs),
        cmocka_unit_test(official_takes_the_rules_numbers),
        cmocka_unit_test(the_latency_bound_is_the_users_the_tasks_or_measured),
        cmocka_unit_test(spinning_is_for_engines_off_the_cpu),
        cmocka_unit_test(the_estimate_follows_the_slower_limit),
        cmocka_unit_test(the_rules_verdict_names_what_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
