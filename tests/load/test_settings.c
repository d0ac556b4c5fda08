/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of the settings, and LoadGen's derived counts. */
#include <math.h>

#include "load/setting_table.h"
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
    refused(&s, 10, 10, "server_target_latency_ns", "is 0:");
    s = settings_of(VT_SINGLESTREAM);
    s.single_stream_expected_latency_ns = -5;
    refused(&s, 10, 10, "single_stream_expected_latency_ns", "is -5:");
    s = settings_of(VT_MULTISTREAM);
    s.multi_stream_samples_per_query = 0;
    refused(&s, 10, 10, "multi_stream_samples_per_query", "is 0:");
    s = settings_of(VT_MULTISTREAM);
    s.multi_stream_expected_latency_ns = 0;
    refused(&s, 10, 10, "multi_stream_expected_latency_ns", "is 0:");
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
    refused(&s, 10, 10, "min_duration_ms", "is -1e-06:");
    s = settings_of(VT_OFFLINE);
    s.max_duration_ns = -1;
    refused(&s, 10, 10, "max_duration_ms", "is -1e-06:");
    s = settings_of(VT_OFFLINE);
    s.min_query_count = 0;
    refused(&s, 10, 10, "min_query_count", "is 0:");
    s = settings_of(VT_OFFLINE);
    s.completion_timeout_ns = 0;
    refused(&s, 10, 10, "completion_timeout", "is 0s:");
    s = settings_of(VT_OFFLINE);
    s.spin_ns = -1;
    refused(&s, 10, 10, "spin", "is -1:");
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

/* LoadGen divides the real number that a file's milliseconds come to. */
static void expected_latencies_keep_their_fractions(void **state)
{
    (void)state;
    struct vt_load_settings s = settings_of(VT_SINGLESTREAM);
    struct vt_error err = VT_ERROR_INIT;
    char text[64];
    assert_int_equal(
        vt_load_setting_set(&s, "single_stream_expected_latency_ns", "33333.3333", &err), VT_OK);
    assert_true(resolve(&s, 64).target_qps == 1e9 / 33333.3333);
    vt_load_setting_text(&s, vt_load_setting_find("single_stream_expected_latency_ns"), text,
                         sizeof text);
    assert_string_equal(text, "33333.3333");
    s.scenario = VT_MULTISTREAM;
    s.multi_stream_expected_latency_ns = 2.5;
    assert_true(resolve(&s, 64).target_qps == 4e8);
}

static void counts_have_64_bits(void **state)
{
    (void)state;
    struct vt_load_settings s = settings_of(VT_MULTISTREAM);
    struct vt_error err = VT_ERROR_INIT;
    struct vt_load_effective e;
    assert_int_equal(vt_load_setting_set(&s, "multi_stream_samples_per_query", "2000000", &err),
                     VT_OK);
    assert_int_equal(resolve(&s, 64).samples_per_query, 2000000);
    s.min_query_count = 10000; /* more samples than ids can count */
    assert_int_equal(vt_load_settings_resolve(&s, 100, 64, &err, &e), VT_ERR_LIMIT);
    assert_int_equal(
        vt_load_setting_set(&s, "token_latency_scaling_factor", "4611686018427387904", &err),
        VT_OK);
    assert_true(s.token_latency_scaling_factor == UINT64_C(4611686018427387904));
    assert_int_equal(vt_load_setting_set(&s, "token_latency_scaling_factor", "7.9", &err),
                     VT_ERR_USAGE);
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

/* The defaults of TestSettings, by field. */
static void the_defaults_are_loadgens(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text;
    } expected[] = {
        {"scenario", "SingleStream"},
        {"mode", "PerformanceOnly"},
        {"single_stream_expected_latency_ns", "1000000"},
        {"single_stream_target_latency_percentile", "0.9"},
        {"multi_stream_expected_latency_ns", "8000000"},
        {"multi_stream_target_latency_percentile", "0.99"},
        {"multi_stream_samples_per_query", "8"},
        {"server_target_qps", "1"},
        {"server_target_latency_ns", "100000000"},
        {"server_target_latency_percentile", "0.99"},
        {"server_coalesce_queries", "false"},
        {"server_find_peak_qps_decimals_of_precision", "1"},
        {"server_find_peak_qps_boundary_step_size", "1"},
        {"server_max_async_queries", "0"},
        {"server_num_issue_query_threads", "0"},
        {"offline_expected_qps", "1"},
        {"sample_concatenate_permutation", "false"},
        {"min_duration_ms", "10000"},
        {"max_duration_ms", "0"},
        {"min_query_count", "100"},
        {"max_query_count", "0"},
        {"qsl_rng_seed", "0"},
        {"sample_index_rng_seed", "0"},
        {"schedule_rng_seed", "0"},
        {"accuracy_log_rng_seed", "0"},
        {"accuracy_log_probability", "0"},
        {"accuracy_log_sampling_target", "0"},
        {"test05", "false"},
        {"test05_qsl_rng_seed", "0"},
        {"test05_sample_index_rng_seed", "0"},
        {"test05_schedule_rng_seed", "0"},
        {"print_timestamps", "false"},
        {"performance_issue_unique", "false"},
        {"performance_issue_same", "false"},
        {"performance_issue_same_index", "0"},
        {"performance_sample_count_override", "0"},
        {"accuracy_sample_count_override", "0"},
        {"use_token_latencies", "false"},
        {"infer_token_latencies", "false"},
        {"server_ttft_latency", "100000000"},
        {"server_tpot_latency", "100000000"},
        /* vatio's own */
        {"completion_timeout", "10s"},
        {"spin", "60us"},
        {"bounded_method", "lemire"},
        {"arrivals", "poisson"},
        {"memory_limit", "0"},
        {"spill_folder", ""},
        {"fifo_priority", "0"},
    };
    struct vt_load_settings s;
    vt_load_settings_default(&s);
    assert_true(s.min_duration_ns == 10 * VT_NS_PER_S);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        char text[64];
        const struct vt_load_setting *setting = vt_load_setting_find(expected[i].name);
        if (setting == NULL) {
            fail_msg("%s is missing", expected[i].name);
            return;
        }
        vt_load_setting_text(&s, setting, text, sizeof text);
        assert_string_equal(text, expected[i].text);
    }
    for (int i = 0; i < VT_SCENARIO_COUNT; i++) {
        struct vt_error err = VT_ERROR_INIT;
        s.scenario = (enum vt_scenario)i;
        assert_int_equal(vt_load_settings_check(&s, &err), VT_OK);
    }
}

/* A scenario in which the setting is looked at. */
static enum vt_scenario scenario_of(const struct vt_load_setting *setting)
{
    int i = 0;
    while (!vt_load_setting_concerns(setting, (enum vt_scenario)i)) {
        i++;
        assert_in_range(i, 0, VT_SCENARIO_COUNT - 1);
    }
    return (enum vt_scenario)i;
}

/* Every entry: what its text says reads back, both bounds are taken, beyond them is refused by
 * name, as text and as a value; a refusal changes nothing. */
static void every_setting_keeps_its_range(void **state)
{
    (void)state;
    size_t n;
    const struct vt_load_setting *table = vt_load_settings_table(&n);
    for (size_t i = 0; i < n; i++) {
        const struct vt_load_setting *t = &table[i];
        struct vt_load_settings s, before;
        struct vt_error err = VT_ERROR_INIT;
        char text[64];
        vt_load_settings_default(&s);
        if (t->type == VT_SETTING_PATH) {
            continue;
        }
        vt_load_setting_text(&s, t, text, sizeof text);
        if (vt_load_setting_set(&s, t->name, text, &err) != VT_OK) {
            fail_msg("%s", err.text);
        }
        before = s;
        assert_int_equal(vt_load_setting_set(&s, t->name, "maybe", &err), VT_ERR_USAGE);
        assert_non_null(strstr(err.text, t->name));
        assert_int_equal(vt_load_setting_put(&s, t, (long double)NAN, NULL), VT_ERR_USAGE);
        assert_memory_equal(&s, &before, sizeof s);
        if (t->min == 0 && t->max == 0) {
            continue;
        }
        for (int high = 0; high < 2; high++) {
            long double bound = (long double)(high ? t->max : t->min) * t->unit;
            long double beyond = high ? bound * 2 : bound == 0 ? -1 : bound / 4;
            s = before;
            s.scenario = t->type == VT_SETTING_SCENARIO ? s.scenario : scenario_of(t);
            struct vt_load_settings inside = s;
            err = (struct vt_error)VT_ERROR_INIT;
            if (vt_load_setting_put(&inside, t, bound, &err) != VT_OK ||
                vt_load_settings_check(&inside, &err) != VT_OK) {
                fail_msg("%s: %s", t->name, err.text);
            }
            assert_int_equal(vt_load_setting_put(&s, t, beyond, &err), VT_ERR_USAGE);
            assert_int_equal(strncmp(err.text, t->name, strlen(t->name)), 0);
            assert_non_null(strstr(err.text, "give a value from"));
        }
    }
}

static void texts_are_read_in_their_unit(void **state)
{
    (void)state;
    struct vt_load_settings s;
    struct vt_error err = VT_ERROR_INIT;
    vt_load_settings_default(&s);
    assert_int_equal(vt_load_setting_set(&s, "min_duration_ms", "600000", &err), VT_OK);
    assert_true(s.min_duration_ns == 600 * VT_NS_PER_S);
    assert_int_equal(vt_load_setting_set(&s, "max_duration_ms", "0.5", &err), VT_OK);
    assert_true(s.max_duration_ns == 500000);
    assert_int_equal(vt_load_setting_set(&s, "server_ttft_latency", "2000000000", &err), VT_OK);
    assert_true(s.server_ttft_latency_ns == 2 * VT_NS_PER_S);
    assert_int_equal(vt_load_setting_set(&s, "completion_timeout", "1500ms", &err), VT_OK);
    assert_true(s.completion_timeout_ns == 1500 * VT_NS_PER_MS);
    assert_int_equal(vt_load_setting_set(&s, "memory_limit", "4GiB", &err), VT_OK);
    assert_true(s.memory_limit_bytes == UINT64_C(4) << 30);
    assert_int_equal(vt_load_setting_set(&s, "qsl_rng_seed", "18446744073709551615", &err), VT_OK);
    assert_true(s.qsl_rng_seed == UINT64_MAX);
    assert_int_equal(vt_load_setting_set(&s, "scenario", "Server", &err), VT_OK);
    assert_int_equal(s.scenario, VT_SERVER);
    assert_int_equal(vt_load_setting_set(&s, "arrivals", "constant", &err), VT_OK);
    assert_int_equal(s.arrivals, VT_ARRIVALS_CONSTANT);
    assert_int_equal(vt_load_setting_set(&s, "spill_folder", "/big", &err), VT_OK);
    assert_string_equal(s.spill_folder, "/big");
    assert_int_equal(vt_load_setting_set(&s, "qsl_rng_seed", "18446744073709551616", &err),
                     VT_ERR_USAGE);
    assert_int_equal(vt_load_setting_set(&s, "fifo_priority", "-1", NULL), VT_ERR_USAGE);
    err = (struct vt_error)VT_ERROR_INIT;
    assert_int_equal(vt_load_setting_set(&s, "min_duration_sm", "1", &err), VT_ERR_USAGE);
    assert_non_null(strstr(err.text, "did you mean 'min_duration_ms'?"));
    assert_null(vt_load_setting_nearest("colour"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_defaults_are_loadgens),
        cmocka_unit_test(every_setting_keeps_its_range),
        cmocka_unit_test(texts_are_read_in_their_unit),
        cmocka_unit_test(values_out_of_range_are_named),
        cmocka_unit_test(counts_beyond_the_library_are_named),
        cmocka_unit_test(offline_takes_ten_percent_more_than_expected),
        cmocka_unit_test(equal_issue_in_single_stream_adds_a_whole_set),
        cmocka_unit_test(rates_follow_from_expected_latencies),
        cmocka_unit_test(expected_latencies_keep_their_fractions),
        cmocka_unit_test(counts_have_64_bits),
        cmocka_unit_test(a_run_that_ids_cannot_count_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
