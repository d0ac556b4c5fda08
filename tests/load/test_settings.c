/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of the settings, and LoadGen's derived counts. */
#include <math.h>

#include "load/settings.h"
#include "vt_test.h"

static struct vt_load_settings settings_of(enum vt_scenario scenario)
{
    struct vt_load_settings s;
    vt_load_settings_default(&s);
    s.scenario = scenario;
    return s;
}

static void refused(const struct vt_load_settings *s, uint64_t total, uint64_t performance,
                    const char *field, const char *value)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_load_effective e;
    assert_int_equal(vt_load_settings_resolve(s, total, performance, &err, &e), VT_ERR_USAGE);
    if (strstr(err.text, field) == NULL || strstr(err.text, value) == NULL) {
        fail_msg("'%s' does not name %s and %s", err.text, field, value);
    }
}

static void values_out_of_range_are_named(void **state)
{
    (void)state;
    struct vt_load_settings s = settings_of(VT_SERVER);
    static const double bad_rates[] = {0, -1, 1e12, (double)INFINITY};
    static const char *const rate_texts[] = {"is 0:", "is -1:", "is 1e+12:", "is inf:"};
    for (int i = 0; i < 4; i++) {
        s.server_target_qps = bad_rates[i];
        refused(&s, 10, 10, "server_target_qps", rate_texts[i]);
    }
    s.server_target_qps = (double)NAN;
    refused(&s, 10, 10, "server_target_qps", "nan");
    static const double bad_percentiles[] = {0, 1, -0.5, 99};
    for (int i = 0; i < 4; i++) {
        s = settings_of(VT_SERVER);
        s.server_target_latency_percentile = bad_percentiles[i];
        refused(&s, 10, 10, "server_target_latency_percentile", "between 0 and 1");
        s = settings_of(VT_SINGLESTREAM);
        s.single_stream_target_latency_percentile = bad_percentiles[i];
        refused(&s, 10, 10, "single_stream_target_latency_percentile", "between 0 and 1");
        s = settings_of(VT_MULTISTREAM);
        s.multi_stream_target_latency_percentile = bad_percentiles[i];
        refused(&s, 10, 10, "multi_stream_target_latency_percentile", "between 0 and 1");
    }
    s = settings_of(VT_SERVER);
    s.server_target_latency_ns = 0;
    refused(&s, 10, 10, "server_target_latency_ns", "0 ns");
    s = settings_of(VT_SINGLESTREAM);
    s.single_stream_expected_latency_ns = -5;
    refused(&s, 10, 10, "single_stream_expected_latency_ns", "-5 ns");
    s = settings_of(VT_MULTISTREAM);
    s.multi_stream_samples_per_query = 0;
    refused(&s, 10, 10, "multi_stream_samples_per_query", "is 0:");
    s = settings_of(VT_MULTISTREAM);
    s.multi_stream_expected_latency_ns = 0;
    refused(&s, 10, 10, "multi_stream_expected_latency_ns", "0 ns");
    s = settings_of(VT_OFFLINE);
    s.offline_expected_qps = -3;
    refused(&s, 10, 10, "offline_expected_qps", "is -3:");
    s = settings_of((enum vt_scenario)9);
    refused(&s, 10, 10, "scenario", "is 9:");
    s = settings_of(VT_OFFLINE);
    s.mode = (enum vt_mode)7;
    refused(&s, 10, 10, "mode", "is 7:");
    s = settings_of(VT_OFFLINE);
    s.min_duration_ns = -1;
    refused(&s, 10, 10, "min_duration_ns", "-1 ns");
    s = settings_of(VT_OFFLINE);
    s.max_duration_ns = -1;
    refused(&s, 10, 10, "max_duration_ns", "-1 ns");
    s = settings_of(VT_OFFLINE);
    s.min_query_count = 0;
    refused(&s, 10, 10, "min_query_count", "is 0:");
    s = settings_of(VT_OFFLINE);
    s.completion_timeout_ns = 0;
    refused(&s, 10, 10, "completion_timeout_ns", "0 ns");
    s = settings_of(VT_OFFLINE);
    s.spin_ns = -1;
    refused(&s, 10, 10, "spin_ns", "-1 ns");
}

static void counts_beyond_the_library_are_named(void **state)
{
    (void)state;
    struct vt_load_settings s = settings_of(VT_SINGLESTREAM);
    s.performance_sample_count_override = 11;
    refused(&s, 10, 5, "performance_sample_count_override", "from 0 to 10");
    s = settings_of(VT_SINGLESTREAM);
    s.accuracy_sample_count_override = 11;
    refused(&s, 10, 5, "accuracy_sample_count_override", "is 11:");
    s = settings_of(VT_SINGLESTREAM);
    refused(&s, 0, 0, "total_count", "is 0:");
    refused(&s, 10, 11, "performance_count", "is 11:");
    s.performance_issue_same = true;
    s.performance_issue_same_index = 5;
    refused(&s, 10, 5, "performance_issue_same_index", "from 0 to 4");
    s.performance_issue_same_index = 4;
    s.performance_issue_unique = true;
    refused(&s, 10, 5, "performance_issue_unique", "exclude");
}

static struct vt_load_effective resolve(const struct vt_load_settings *s, uint64_t performance)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_load_effective e;
    if (vt_load_settings_resolve(s, 100000, performance, &err, &e) != VT_OK) {
        fail_msg("%s", err.text);
    }
    return e;
}

static void offline_takes_ten_percent_more_than_expected(void **state)
{
    (void)state;
    struct vt_load_settings s = settings_of(VT_OFFLINE);
    s.offline_expected_qps = 1234.5;
    s.min_duration_ns = 600 * VT_NS_PER_S;
    struct vt_load_effective e = resolve(&s, 1024);
    assert_int_equal(e.samples_per_query, 814770); /* trunc(1.1 × 600 × 1234.5) */
    assert_int_equal(e.min_query_count, 1);
    assert_int_equal(e.min_sample_count, 814770);
    assert_int_equal(e.target_duration_ns, 0);
    s.min_query_count = 1000000;
    assert_int_equal(resolve(&s, 1024).samples_per_query, 1000000);
    s.performance_issue_unique = true;
    assert_int_equal(resolve(&s, 1024).samples_per_query, 1024);
}

static void equal_issue_in_single_stream_adds_a_whole_set(void **state)
{
    (void)state;
    struct vt_load_settings s = settings_of(VT_SINGLESTREAM);
    s.sample_concatenate_permutation = true;
    s.single_stream_expected_latency_ns = VT_NS_PER_MS;
    s.min_duration_ns = 600 * VT_NS_PER_S;
    /* m = trunc(2 × 600 × 1000) = 1200000. */
    assert_int_equal(resolve(&s, 43).min_query_count, 1200000 + (43 - 1200000 % 43));
    assert_int_equal(resolve(&s, 1000).min_query_count, 1201000); /* though it is a multiple */
    s.min_query_count = 2000000;
    assert_int_equal(resolve(&s, 1000).min_query_count, 2001000);
}

static void rates_follow_from_expected_latencies(void **state)
{
    (void)state;
    struct vt_load_settings s = settings_of(VT_MULTISTREAM);
    struct vt_load_effective e = resolve(&s, 64);
    assert_true(e.target_qps == 125); /* 8 ms */
    assert_int_equal(e.samples_per_query, 8);
    assert_int_equal(e.min_query_count, 100);
    assert_int_equal(e.min_sample_count, 800);
    assert_int_equal(e.performance_sample_count, 64);
    assert_int_equal(e.accuracy_sample_count, 100000);
    assert_true(e.percentile == 0.99);
}

static void a_run_that_ids_cannot_count_is_refused(void **state)
{
    (void)state;
    struct vt_load_settings s = settings_of(VT_OFFLINE);
    struct vt_error err = VT_ERROR_INIT;
    struct vt_load_effective e;
    s.offline_expected_qps = 1e9;
    assert_int_equal(vt_load_settings_resolve(&s, 10, 10, &err, &e), VT_ERR_LIMIT);
    assert_non_null(strstr(err.text, "11000000000"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_out_of_range_are_named),
        cmocka_unit_test(counts_beyond_the_library_are_named),
        cmocka_unit_test(offline_takes_ten_percent_more_than_expected),
        cmocka_unit_test(equal_issue_in_single_stream_adds_a_whole_set),
        cmocka_unit_test(rates_follow_from_expected_latencies),
        cmocka_unit_test(a_run_that_ids_cannot_count_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
