/* SPDX-License-Identifier: Apache-2.0 */
/* The comparisons of the compliance tests on made reports, and the settings of their runs. */
#include "vt_test.h"

#include "load/load.h"
#include "run/audit/audit.h"
#include "run/audit/audit_judge.h"

static struct vt_load_report report_of(enum vt_scenario scenario, double score)
{
    struct vt_load_report report = {.valid = true};
    vt_load_settings_default(&report.settings);
    report.settings.scenario = scenario;
    report.metric = (struct vt_metric){"m", "unit", score};
    report.early_stopping_estimate_ns = (int64_t)score;
    return report;
}

static enum vt_audit_verdict performance(enum vt_audit_test test, enum vt_scenario scenario,
                                         double reference, double score, double *ret_tolerance)
{
    struct vt_load_report a = report_of(scenario, reference), b = report_of(scenario, score);
    struct vt_audit_performance p;
    vt_audit_judge_performance(test, &a, true, &b, &p);
    assert_true(p.judged && p.text[0] != '\0');
    *ret_tolerance = p.tolerance;
    return p.verdict;
}

static void test01_is_within_a_tenth_either_way(void **state)
{
    (void)state;
    double tolerance;
    static const struct {
        enum vt_scenario scenario;
        double reference, score, tolerance;
        bool pass;
    } cases[] = {
        {VT_OFFLINE, 1000, 1099, 0.1, true},
        {VT_OFFLINE, 1000, 1101, 0.1, false},
        {VT_OFFLINE, 1000, 901, 0.1, true},
        {VT_OFFLINE, 1000, 899, 0.1, false},
        {VT_SERVER, 100, 109, 0.1, true},
        /* The limits of fast streams, in ns. */
        {VT_SINGLESTREAM, 200000, 239000, 0.2, true},
        {VT_SINGLESTREAM, 200001, 239000, 0.1, false},
        {VT_SINGLESTREAM, 200000, 161000, 0.2, true},
        {VT_SINGLESTREAM, 200000, 159000, 0.2, false},
        {VT_MULTISTREAM, 1600000, 1910000, 0.2, true},
        {VT_MULTISTREAM, 1600001, 1910000, 0.1, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        enum vt_audit_verdict verdict = performance(VT_TEST01, cases[i].scenario,
                                                    cases[i].reference, cases[i].score, &tolerance);
        assert_int_equal(verdict, cases[i].pass ? VT_AUDIT_PASS : VT_AUDIT_FAIL);
        assert_true(tolerance == cases[i].tolerance);
    }
}

static void test04_may_be_slower_but_not_faster(void **state)
{
    (void)state;
    double tolerance;
    static const struct {
        enum vt_scenario scenario;
        double reference, score, tolerance;
        bool pass;
    } cases[] = {
        {VT_OFFLINE, 1000, 10, 0.1, true},
        {VT_OFFLINE, 1000, 1099, 0.1, true},
        {VT_OFFLINE, 1000, 1101, 0.1, false},
        {VT_SERVER, 1000, 1101, 0.1, false},
        /* Latencies: faster is less. The script's limit is on 1e9 / latency. */
        {VT_SINGLESTREAM, 10e6, 20e6, 0.2, true},
        {VT_SINGLESTREAM, 10e6, 8.4e6, 0.2, true},
        {VT_SINGLESTREAM, 10e6, 8.2e6, 0.2, false},
        {VT_SINGLESTREAM, 4000, 3500, 0.1, false},
        {VT_MULTISTREAM, 10e6, 8.4e6, 0.2, true},
        {VT_MULTISTREAM, 600, 540, 0.1, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        enum vt_audit_verdict verdict = performance(VT_TEST04, cases[i].scenario,
                                                    cases[i].reference, cases[i].score, &tolerance);
        assert_int_equal(verdict, cases[i].pass ? VT_AUDIT_PASS : VT_AUDIT_FAIL);
        assert_true(tolerance == cases[i].tolerance);
    }
}

static void what_cannot_be_compared_fails(void **state)
{
    (void)state;
    struct vt_load_report a = report_of(VT_SERVER, 100), b = report_of(VT_SERVER, 100);
    struct vt_audit_performance p;
    vt_audit_judge_performance(VT_TEST01, &a, false, &b, &p);
    assert_int_equal(p.verdict, VT_AUDIT_FAIL);
    assert_non_null(strstr(p.text, "reference run is not valid"));
    b.valid = false;
    b.reasons.n = 1;
    (void)snprintf(b.reasons.text[0], sizeof b.reasons.text[0], "too short");
    vt_audit_judge_performance(VT_TEST01, &a, true, &b, &p);
    assert_int_equal(p.verdict, VT_AUDIT_FAIL);
    assert_string_equal(p.text, "the test's run is not valid: too short");
    b = report_of(VT_SERVER, 100);
    b.settings.server_target_latency_ns++;
    vt_audit_judge_performance(VT_TEST01, &a, true, &b, &p);
    assert_int_equal(p.verdict, VT_AUDIT_FAIL);
    b = report_of(VT_OFFLINE, 100);
    vt_audit_judge_performance(VT_TEST04, &a, true, &b, &p);
    assert_int_equal(p.verdict, VT_AUDIT_FAIL);
    a = report_of(VT_SINGLESTREAM, 0);
    b = report_of(VT_SINGLESTREAM, 100);
    vt_audit_judge_performance(VT_TEST04, &a, true, &b, &p);
    assert_int_equal(p.verdict, VT_AUDIT_FAIL);
    assert_non_null(strstr(p.text, "no score"));
}

static struct vt_load_response response_of(uint64_t index, const void *data, size_t bytes)
{
    return (struct vt_load_response){.index = index, .data = data, .bytes = bytes};
}

static struct vt_audit_accuracy compare(struct vt_load_response *before, uint64_t n_before,
                                        struct vt_load_response *after, uint64_t n_after)
{
    struct vt_load_report a = {.responses = before, .n_responses = n_before};
    struct vt_load_report b = {.responses = after, .n_responses = n_after};
    struct vt_error err = VT_ERROR_INIT;
    struct vt_audit_accuracy result;
    assert_int_equal(vt_audit_judge_accuracy(&a, &b, &err, &result), VT_OK);
    assert_true(result.judged && result.text[0] != '\0');
    return result;
}

static void responses_are_compared_by_sample(void **state)
{
    (void)state;
    struct vt_load_response before[] = {response_of(7, "sevn", 4), response_of(2, "two", 3),
                                        response_of(5, "", 0)};
    struct vt_load_response same[] = {response_of(2, "two", 3), response_of(7, "sevn", 4),
                                      response_of(2, "two", 3), response_of(5, "", 0)};
    struct vt_audit_accuracy a = compare(before, 3, same, 4);
    assert_int_equal(a.verdict, VT_AUDIT_PASS);
    assert_int_equal(a.matched, 4);
    assert_int_equal(a.mismatches, 0);

    struct vt_load_response tail[] = {response_of(2, "twO", 3), response_of(7, "sevn", 4)};
    a = compare(before, 3, tail, 2);
    assert_int_equal(a.verdict, VT_AUDIT_FAIL);
    assert_int_equal(a.mismatches, 1);
    assert_int_equal(a.first_mismatch_index, 2);
    assert_int_equal(a.first_mismatches, 0);
    assert_non_null(strstr(a.text, "the official script compares: pass"));

    struct vt_load_response head[] = {response_of(2, "Two", 3), response_of(5, "x", 1)};
    a = compare(before, 3, head, 2);
    assert_int_equal(a.mismatches, 2);
    assert_int_equal(a.first_mismatches, 2);
    assert_non_null(strstr(a.text, "the official script compares: fail"));
}

static void strangers_and_silence_do_not_pass(void **state)
{
    (void)state;
    struct vt_load_response before[] = {response_of(1, "a", 1), response_of(1, "b", 1),
                                        response_of(1, "a", 1)};
    struct vt_load_response stranger[] = {response_of(9, "a", 1)};
    struct vt_audit_accuracy a = compare(before, 3, stranger, 1);
    assert_int_equal(a.verdict, VT_AUDIT_FAIL);
    assert_int_equal(a.missing, 1);
    assert_int_equal(a.duplicates, 2);
    assert_int_equal(a.duplicate_mismatches, 1);
    a = compare(before, 3, NULL, 0);
    assert_int_equal(a.verdict, VT_AUDIT_FAIL);
    assert_non_null(strstr(a.text, "no response was logged"));
    a = compare(NULL, 0, stranger, 1);
    assert_int_equal(a.verdict, VT_AUDIT_FAIL);
}

static void quality_may_differ_by_delta(void **state)
{
    (void)state;
    struct vt_audit_accuracy a = {.text = "3 differ"};
    vt_audit_judge_quality(&a, "top-1", "%", 80, 79.3, 0.01);
    assert_int_equal(a.verdict, VT_AUDIT_PASS);
    assert_non_null(strstr(a.text, "3 differ; by quality: top-1 79.3 %"));
    vt_audit_judge_quality(&a, "top-1", "%", 80, 79.1, 0.01);
    assert_int_equal(a.verdict, VT_AUDIT_FAIL);
    vt_audit_judge_quality(&a, "top-1", "%", 80, 80.9, 0.01);
    assert_int_equal(a.verdict, VT_AUDIT_FAIL);
    vt_audit_judge_quality(&a, "top-1", "%", 80, 79.3, 0.001);
    assert_int_equal(a.verdict, VT_AUDIT_FAIL);
}

static void tokens_begin_end_and_count(void **state)
{
    (void)state;
    static const int32_t tokens[] = {11, 12, 13, 2, 2};
    static const int32_t other = 99;
    struct vt_load_response r = {.data = tokens,
                                 .bytes = 4 * sizeof tokens[0],
                                 .first_token = tokens,
                                 .first_token_bytes = sizeof tokens[0],
                                 .n_tokens = 4};
    struct vt_load_report report = {.responses = &r, .n_responses = 1};
    struct vt_audit_tokens t;
    report.settings.scenario = VT_SERVER;
    vt_audit_judge_tokens(&report, 2, &t);
    assert_int_equal(t.verdict, VT_AUDIT_PASS);
    r.n_tokens = 3;
    vt_audit_judge_tokens(&report, 2, &t);
    assert_true(!t.length && t.first_token && t.end_of_sequence);
    assert_int_equal(t.verdict, VT_AUDIT_FAIL);
    r.bytes = sizeof tokens;
    r.n_tokens = 5;
    vt_audit_judge_tokens(&report, 2, &t);
    assert_true(t.length && !t.end_of_sequence);
    vt_audit_judge_tokens(&report, 3, &t);
    assert_int_equal(t.verdict, VT_AUDIT_PASS);
    r.first_token = &other;
    vt_audit_judge_tokens(&report, 3, &t);
    assert_true(!t.first_token);
    report.settings.scenario = VT_OFFLINE;
    vt_audit_judge_tokens(&report, 3, &t);
    assert_true(t.first_token_skipped);
    assert_int_equal(t.verdict, VT_AUDIT_PASS);
    report.n_responses = 0;
    vt_audit_judge_tokens(&report, 3, &t);
    assert_int_equal(t.verdict, VT_AUDIT_FAIL);
}

static void settings_are_those_of_the_official_files(void **state)
{
    (void)state;
    struct vt_error err = VT_ERROR_INIT;
    struct vt_load_settings s;
    vt_load_settings_default(&s);
    s.scenario = VT_SERVER;
    s.server_target_qps = 123;
    s.min_duration_ns = 600 * VT_NS_PER_S;
    struct vt_load_settings t = s;
    assert_int_equal(vt_audit_settings(VT_TEST01, "resnet50", NULL, NULL, &err, &t), VT_OK);
    assert_true(t.accuracy_log_rng_seed == UINT64_C(720381539243781796));
    assert_int_equal(t.accuracy_log_sampling_target, 4096);
    assert_true(t.server_target_qps == 123);
    t = s;
    assert_int_equal(vt_audit_settings(VT_TEST01, "3d-unet", NULL, NULL, &err, &t), VT_OK);
    assert_int_equal(t.accuracy_log_sampling_target, 64);
    t = s;
    assert_int_equal(vt_audit_settings(VT_TEST04, "", NULL, NULL, &err, &t), VT_OK);
    assert_true(t.performance_issue_same && !t.performance_issue_unique);
    assert_int_equal(t.performance_issue_same_index, 3);
    assert_int_equal(t.accuracy_log_sampling_target, 0);
    t = s;
    assert_int_equal(vt_audit_settings(VT_TEST06, "", NULL, NULL, &err, &t), VT_OK);
    assert_int_equal(t.min_query_count, 100);
    assert_int_equal(t.min_duration_ns, 0);
}

static void tests_are_a_list(void **state)
{
    (void)state;
    struct vt_error err = VT_ERROR_INIT;
    struct vt_audit_wanted wanted;
    assert_int_equal(vt_audit_parse("TEST04,test01", &err, &wanted), VT_OK);
    assert_true(wanted.test[VT_TEST01] && wanted.test[VT_TEST04] && !wanted.test[VT_TEST06]);
    assert_int_equal(vt_audit_parse("all", &err, &wanted), VT_OK);
    assert_true(wanted.test[VT_TEST01] && wanted.test[VT_TEST04] && wanted.test[VT_TEST06]);
    static const char *const bad[] = {"", "TEST01,", "TEST05", "TEST", "TEST010"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        err = (struct vt_error)VT_ERROR_INIT;
        assert_int_equal(vt_audit_parse(bad[i], &err, &wanted), VT_ERR_USAGE);
        assert_non_null(strstr(err.text, "TEST01, TEST04, TEST06"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test01_is_within_a_tenth_either_way),
        cmocka_unit_test(test04_may_be_slower_but_not_faster),
        cmocka_unit_test(what_cannot_be_compared_fails),
        cmocka_unit_test(responses_are_compared_by_sample),
        cmocka_unit_test(strangers_and_silence_do_not_pass),
        cmocka_unit_test(quality_may_differ_by_delta),
        cmocka_unit_test(tokens_begin_end_and_count),
        cmocka_unit_test(settings_are_those_of_the_official_files),
        cmocka_unit_test(tests_are_a_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
