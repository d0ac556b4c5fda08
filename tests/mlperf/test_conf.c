/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration files: syntax, precedence, units, what each kind may set, and every warning. */
#include "vt_test.h"

#include "load/load.h"
#include "mlperf/conf.h"

static char warned[8192];

static void keep(void *ctx, const char *text)
{
    (void)ctx;
    size_t used = strlen(warned);
    (void)snprintf(warned + used, sizeof warned - used, "%s\n", text);
}

static const struct vt_conf_warnings warnings = {keep, NULL};

static enum vt_status apply(struct vt_load_settings *s, enum vt_conf_kind kind, const char *text,
                            const char *model, struct vt_error *err)
{
    warned[0] = '\0';
    *err = (struct vt_error)VT_ERROR_INIT;
    return vt_conf_apply_text(s, kind, text, strlen(text), "user.conf", model, &warnings, err);
}

static struct vt_load_settings read_in(enum vt_conf_kind kind, enum vt_scenario scenario,
                                       const char *model, const char *text)
{
    struct vt_load_settings s;
    struct vt_error err;
    vt_load_settings_default(&s);
    s.scenario = scenario;
    if (apply(&s, kind, text, model, &err) != VT_OK) {
        fail_msg("%s", err.text);
    }
    return s;
}

static void silent(void)
{
    assert_string_equal(warned, "");
}

static void warns(const char *text)
{
    if (strstr(warned, text) == NULL) {
        fail_msg("'%s' is not in '%s'", text, warned);
    }
}

static void keys_have_their_units(void **state)
{
    (void)state;
    struct vt_load_settings s = read_in(VT_CONF_MLPERF, VT_SERVER, "resnet50",
                                        "*.*.qsl_rng_seed = 18446744073709551615\n"
                                        "*.*.sample_index_rng_seed = 0x10\n"
                                        "*.*.schedule_rng_seed = 010\n"
                                        "*.*.accuracy_log_probability = 25\n"
                                        "*.*.test05 = 1\n"
                                        "*.*.min_duration = 600000\n"
                                        "*.*.max_duration = 1\n"
                                        "*.Server.target_latency = 15\n"
                                        "*.Server.target_latency_percentile = 99.9\n"
                                        "*.Server.target_qps = 1e3\n"
                                        "*.Server.coalesce_queries = 1\n"
                                        "*.Server.max_async_queries = 7\n"
                                        "*.SingleStream.target_latency = 0.2533333333\n"
                                        "*.MultiStream.target_latency = 2\n"
                                        "*.MultiStream.samples_per_query = 4\n"
                                        "*.Offline.target_qps = 0x20\n"
                                        "*.*.use_token_latencies = 1\n"
                                        "*.Server.ttft_latency = 2000\n"
                                        "*.Server.tpot_latency = 200\n"
                                        "*.*.infer_token_latencies = 1\n"
                                        "*.*.token_latency_scaling_factor = 69\n"
                                        "*.*.mode = 3\n");
    silent();
    assert_true(s.qsl_rng_seed == UINT64_MAX);
    assert_int_equal(s.sample_index_rng_seed, 16);
    assert_int_equal(s.schedule_rng_seed, 8);
    assert_true(s.accuracy_log_probability == 0.25);
    assert_true(s.test05);
    assert_true(s.min_duration_ns == INT64_C(600000000000));
    assert_int_equal(s.max_duration_ns, 1000000);
    assert_int_equal(s.server_target_latency_ns, 15000000);
    assert_true(s.server_target_latency_percentile == 99.9 * 0.01);
    assert_true(s.server_target_qps == 1000);
    assert_true(s.server_coalesce_queries);
    assert_int_equal(s.server_max_async_queries, 7);
    assert_true(s.single_stream_expected_latency_ns == 0.2533333333 * 1e6);
    assert_int_equal(s.multi_stream_expected_latency_ns, 2000000);
    assert_int_equal(s.multi_stream_samples_per_query, 4);
    assert_true(s.offline_expected_qps == 32);
    assert_int_equal(s.server_ttft_latency_ns, 2000000000);
    assert_int_equal(s.server_tpot_latency_ns, 200000000);
    assert_true(s.token_latency_scaling_factor == 69);
    assert_int_equal(s.mode, VT_FIND_PEAK);
}

static uint64_t count_of(const char *text)
{
    return read_in(VT_CONF_USER, VT_SERVER, "resnet50", text).min_query_count;
}

static void the_most_particular_line_wins_then_the_later(void **state)
{
    (void)state;
    static const char all[] = "resnet50.Server.min_query_count = 4\n"
                              "*.Server.min_query_count = 3\n"
                              "resnet50.*.min_query_count = 2\n"
                              "*.*.min_query_count = 1\n"
                              "bert.Server.min_query_count = 9\n"
                              "resnet50.Offline.min_query_count = 8\n";
    assert_int_equal(count_of(all), 4);
    assert_int_equal(count_of(strchr(all, '\n') + 1), 3); /* beats resnet50.* */
    assert_int_equal(count_of("*.*.min_query_count = 1\nresnet50.*.min_query_count = 2\n"), 2);
    assert_int_equal(count_of("*.*.min_query_count = 1\n"), 1);
    assert_int_equal(count_of("bert.*.min_query_count = 9\n"), 100);
    assert_int_equal(count_of("*.*.min_query_count = 5\n*.*.min_query_count = 6\n"), 6);
    /* A scenario's own keys are looked up under it, whatever runs. */
    struct vt_load_settings s = read_in(VT_CONF_USER, VT_OFFLINE, "resnet50",
                                        "*.*.target_qps = 2\n*.Server.target_qps = 3\n");
    assert_true(s.offline_expected_qps == 2 && s.server_target_qps == 3);
    /* A name with dots. */
    s = read_in(VT_CONF_USER, VT_OFFLINE, "wan-2.2-t2v-a14b",
                "wan-2.2-t2v-a14b.Offline.min_query_count = 248\n");
    assert_int_equal(s.min_query_count, 248);
    silent();
}

static void lines_may_look_like_this(void **state)
{
    (void)state;
    assert_int_equal(count_of("# a comment\n\n   \t# another\n##\n*.*.min_query_count = 7"), 7);
    silent();
    assert_int_equal(count_of("\xef\xbb\xbf*.*.min_query_count\t=\t8 \r\n\r\n"), 8);
    silent();
    assert_int_equal(count_of(""), 100);
}

static void refused(const char *text, const char *where, const char *why)
{
    struct vt_load_settings s, before;
    struct vt_error err;
    vt_load_settings_default(&s);
    before = s;
    assert_int_equal(apply(&s, VT_CONF_USER, text, NULL, &err), VT_ERR_FORMAT);
    if (strncmp(err.text, where, strlen(where)) != 0 || strstr(err.text, why) == NULL) {
        fail_msg("'%s' does not say %s … %s", err.text, where, why);
    }
    assert_memory_equal(&s, &before, sizeof s);
}

static void malformed_lines_are_named(void **state)
{
    (void)state;
    static char large[5000];
    refused("\n*.*.min_duration = 1 # x\n", "user.conf:2: ", "a line of its own");
    refused("*.*.min_duration = 1 2\n", "user.conf:1: ", "one value");
    refused("*.*.min_duration\n", "user.conf:1: ", "no '= value'");
    refused("*.*.min_duration 5\n", "user.conf:1: ", "no '= value'");
    refused("*.*.min_duration=5\n", "user.conf:1: ", "between blanks");
    refused("*.*.min_duration =5\n", "user.conf:1: ", "between blanks");
    refused("*.*.min_duration =\n", "user.conf:1: ", "no value");
    refused("*.*.min_duration = # none\n", "user.conf:1: ", "no value");
    refused("*.*.min_duration = ten\n", "user.conf:1: ", "'ten' is neither");
    refused("*.*.min_duration = 10ms\n", "user.conf:1: ", "'10ms' is neither");
    refused("*.*.min_duration = inf\n", "user.conf:1: ", "'inf' is neither");
    refused("#comment here\n", "user.conf:1: ", "a blank behind its '#'");
    refused("*.*.nonsense = ten\n", "user.conf:1: ", "'ten' is neither");
    /* Values that no setting can take. */
    refused("# 1\n# 2\n*.*.min_duration = -5\n", "user.conf:3: ", "min_duration is -5");
    refused("*.*.mode = 4\n", "user.conf:1: ", "mode is 4");
    refused("*.*.min_query_count = 0\n", "user.conf:1: ", "min_query_count is 0");
    refused("*.SingleStream.target_latency_percentile = 100\n",
            "user.conf:1: ", "single_stream_target_latency_percentile is 1");
    refused("*.*.accuracy_log_rng_seed = 18446744073709551616\n",
            "user.conf:1: ", "18446744073709551615");
    memset(large, 'x', sizeof large - 1);
    refused(large, "user.conf:1: ", "4999 bytes, at most 4000");
    struct vt_load_settings s;
    struct vt_error err = VT_ERROR_INIT;
    vt_load_settings_default(&s);
    assert_int_equal(
        vt_conf_apply_text(&s, VT_CONF_USER, "*.*.mode = 1\0", 13, "x", NULL, NULL, &err),
        VT_ERR_FORMAT);
    assert_non_null(strstr(err.text, "x:1: a NUL byte"));
    err = (struct vt_error)VT_ERROR_INIT;
    assert_int_equal(
        vt_conf_apply_text(&s, VT_CONF_USER, large, VT_CONF_FILE_MAX + 1, "x", NULL, NULL, &err),
        VT_ERR_LIMIT);
    err = (struct vt_error)VT_ERROR_INIT;
    assert_int_equal(vt_conf_apply_file(&s, VT_CONF_USER, "/nowhere/user.conf", NULL, NULL, &err),
                     VT_ERR_NOT_FOUND);
}

static void lines_without_effect_are_warned_of(void **state)
{
    (void)state;
    struct vt_load_settings s, plain;
    vt_load_settings_default(&plain);
    plain.scenario = VT_SERVER;
    s = read_in(VT_CONF_USER, VT_SERVER, "resnet50",
                "*.Server.target_qsp = 5\n"
                "*.*.min_duration_ms = 5\n"
                "*.*.server_target_qps = 5\n"
                "*.Serve.target_qps = 5\n"
                "*.Interactive.target_qps = 5\n"
                "*.Offline.coalesce_queries = 1\n"
                "*.SingleStream.target_qps = 5\n"
                "*.*.qsl_rng_seed = 5\n"
                "resnet.Server.target_qps = 5\n"
                "target_qps = 5\n"
                "*.Server.ttft_latency = 5\n"
                "bert.Server.target_qps = 5\n"
                "*.*.colour = 5\n"
                "*.Server.target_duration = 5\n");
    warns("user.conf:1: unknown key 'target_qsp'; did you mean 'target_qps'?\n");
    warns("user.conf:2: unknown key 'min_duration_ms'; it is called '*.min_duration' here\n");
    warns("user.conf:3: unknown key 'server_target_qps'; it is called 'Server.target_qps' here\n");
    warns("user.conf:4: no scenario is called 'Serve'; did you mean 'Server'?\n");
    warns("user.conf:5: Interactive is no scenario");
    warns("user.conf:6: coalesce_queries has no effect in Offline: it is a key of Server\n");
    warns(
        "user.conf:7: target_qps has no effect in SingleStream: it is a key of Server, Offline\n");
    warns("user.conf:8: qsl_rng_seed has no effect in user.conf: only mlperf.conf may set it\n");
    warns("user.conf:9: no benchmark is called 'resnet'; did you mean 'resnet50'?\n");
    warns("user.conf:10: 'target_qps' is not of the form model.scenario.key");
    warns("user.conf:11: ttft_latency has no effect without use_token_latencies = 1\n");
    warns("user.conf:13: unknown key 'colour' has no effect\n");
    warns("user.conf:14: unknown key 'target_duration' has no effect\n");
    assert_null(strstr(warned, "user.conf:12:")); /* another benchmark's line is no mistake */
    assert_memory_equal(&s, &plain, sizeof s);
    /* Readings that may surprise: as LoadGen does, but not silently. */
    s = read_in(VT_CONF_USER, VT_SERVER, NULL,
                "*.*.min_query_count = 60e3\n"
                "*.*.sample_concatenate_permutation = 2\n"
                "*.Offline.target_qps = 0\n"
                "bert.*.min_duration = 1\n");
    warns("user.conf:1: min_query_count is 60e3, but only whole numbers count: read as 60\n");
    warns("user.conf:2: sample_concatenate_permutation is 2, neither 0 nor 1: read as 0\n");
    warns("user.conf:3: offline_expected_qps is 0");
    warns("user.conf:4: lines for 'bert' and other benchmarks have no effect");
    assert_int_equal(s.min_query_count, 60);
    assert_false(s.sample_concatenate_permutation);
}

static void warnings_do_not_flood(void **state)
{
    (void)state;
    char text[4096] = "";
    unsigned n = 0;
    for (int i = 0; i < 50; i++) {
        size_t used = strlen(text);
        (void)snprintf(text + used, sizeof text - used, "*.*.colour%d = 1\n", i);
    }
    (void)read_in(VT_CONF_USER, VT_SERVER, NULL, text);
    for (const char *at = warned; (at = strchr(at, '\n')) != NULL; at++) {
        n++;
    }
    assert_int_equal(n, VT_CONF_WARNINGS_MAX + 1);
    warns("user.conf: 30 more lines");
}

static void each_kind_of_file_is_at_home_somewhere(void **state)
{
    (void)state;
    struct vt_load_settings s =
        read_in(VT_CONF_MLPERF, VT_OFFLINE, NULL,
                "*.Server.target_duration = 0\n*.Offline.target_latency_percentile = 90\n");
    silent();
    s = read_in(VT_CONF_AUDIT, VT_SERVER, NULL,
                "*.*.mode = 2\n*.*.accuracy_log_rng_seed = 720381539243781796\n"
                "*.*.accuracy_log_sampling_target = 64\n*.Server.performance_issue_same = 1\n"
                "*.Server.performance_issue_same_index = 3\n"
                "*.*.test07_accuracy_threshold = 60.698\n");
    silent();
    assert_true(s.accuracy_log_rng_seed == UINT64_C(720381539243781796));
    assert_int_equal(s.accuracy_log_sampling_target, 64);
    assert_true(s.performance_issue_same);
    assert_int_equal(s.performance_issue_same_index, 3);
    assert_int_equal(s.mode, VT_PERFORMANCE);
    /* Seeds come from mlperf.conf only. */
    s = read_in(VT_CONF_AUDIT, VT_SERVER, NULL, "*.*.test05 = 1\n*.*.schedule_rng_seed = 4\n");
    warns("schedule_rng_seed has no effect in audit.config");
    assert_false(s.test05);
    assert_int_equal(s.schedule_rng_seed, 0);
    /* audit.config speaks to every model, and to a named one only where one is named. */
    s = read_in(VT_CONF_AUDIT, VT_OFFLINE, "*", "bert.Offline.min_query_count = 20\n");
    assert_int_equal(s.min_query_count, 100);
    s = read_in(VT_CONF_AUDIT, VT_OFFLINE, "bert", "bert.Offline.min_query_count = 20\n");
    assert_int_equal(s.min_query_count, 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_have_their_units),
        cmocka_unit_test(the_most_particular_line_wins_then_the_later),
        cmocka_unit_test(lines_may_look_like_this),
        cmocka_unit_test(malformed_lines_are_named),
        cmocka_unit_test(lines_without_effect_are_warned_of),
        cmocka_unit_test(warnings_do_not_flood),
        cmocka_unit_test(each_kind_of_file_is_at_home_somewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
