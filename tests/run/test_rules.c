/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict on MLPerf's rules: what departs from them is named. */
#include "plan_fixture.h"
#include "run/rules.h"

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
    struct fixture f;
    open_job(&f, "dir/mine.onnx", "");
    struct vt_load_report report = {.settings =
                                        settings_of(&f.session, VT_OFFLINE, VT_PERFORMANCE)};
    struct vt_result_entry entry = {
        .scenario = VT_OFFLINE, .mode = VT_PERFORMANCE, .valid = true, .report = &report};

    report.samples_issued = 1000;
    vt_rules_judge(&f.session, &entry);
    assert_false(entry.rules_met);
    assert_true(says(&entry.rules, "3 s < 600 s (add --official)"));
    assert_true(says(&entry.rules, "1000 samples < 24576"));
    assert_true(says(&entry.rules, "mine.onnx is not a benchmark of MLPerf Inference v6.1"));
    assert_false(says(&entry.rules, "not valid"));
    close_job(&f);

    open_job(&f, "resnet50", "--official");
    report.settings = settings_of(&f.session, VT_OFFLINE, VT_PERFORMANCE);
    report.samples_issued = 24576;
    report.effective.performance_sample_count = 1024;
    vt_rules_judge(&f.session, &entry);
    assert_true(entry.rules_met);
    entry.valid = false;
    vt_rules_judge(&f.session, &entry);
    assert_false(entry.rules_met);
    assert_true(says(&entry.rules, "not valid"));
    close_job(&f);
}

/* An official Server run of resnet50 with one thing changed. */
static void one_change(const char *set, const char *reason)
{
    struct fixture f;
    char arguments[256];
    (void)snprintf(arguments, sizeof arguments, "--official --target-qps 10 %s", set);
    open_job(&f, "resnet50", arguments);
    struct vt_load_report report = {.settings = settings_of(&f.session, VT_SERVER, VT_PERFORMANCE),
                                    .queries_issued = 6000};
    struct vt_result_entry entry = {
        .scenario = VT_SERVER, .mode = VT_PERFORMANCE, .valid = true, .report = &report};
    report.effective.performance_sample_count =
        report.settings.performance_sample_count_override != 0
            ? report.settings.performance_sample_count_override
            : 1000;
    vt_rules_judge(&f.session, &entry);
    assert_int_equal(entry.rules_met, reason == NULL);
    if (reason != NULL && (entry.rules.n != 1 || !says(&entry.rules, reason))) {
        fail_msg("%s: %u reasons, '%s'", set, entry.rules.n, entry.rules.text[0]);
    }
    close_job(&f);
}

static void each_departure_from_the_rules_is_a_reason(void **state)
{
    (void)state;
    one_change("", NULL);
    one_change("--coalesce --issue-threads 2 --max-latency 5ms", NULL);
    one_change("--max-latency 20ms", "latency up to 20 ms, the round allows 15 ms");
    one_change("--arrivals constant", "outside the rules: arrivals are constant");
    one_change("--bounded-method division", "--bounded-method");
    one_change("--set schedule_rng_seed=1", "the seeds are not those of v6.1");
    one_change("--set server_target_latency_percentile=0.9", "the percentile is 90, the round has "
                                                             "99");
    one_change("--set min_duration_ms=1000", "1 s < 600 s (add --official)");
    one_change("--performance-sample-count 1000", "1000 samples are loaded for performance, the "
                                                  "round asks for 1024");
    one_change("--tokens", "not measured by its tokens");
    one_change("--set sample_concatenate_permutation=true", "sample_concatenate_permutation is on");
    one_change("--set performance_issue_same=yes", "performance_issue_same");
    one_change("--benchmark resnet", "resnet is not a benchmark of MLPerf Inference v6.1 (see "
                                     "--benchmark)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rules_verdict_names_what_is_missing),
        cmocka_unit_test(each_departure_from_the_rules_is_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
