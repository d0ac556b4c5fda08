/* SPDX-License-Identifier: Apache-2.0 */
/* The rounds against figures that were published for them. */
#include "vt_test.h"

#include "base/clock.h"
#include "load/load.h"
#include "load/setting_table.h"
#include "mlperf/conf.h"
#include "mlperf/round.h"
#include "mlperf/round_table.h"

static struct vt_load_settings of(const char *round, const char *model, enum vt_scenario scenario)
{
    struct vt_load_settings s;
    struct vt_error err = VT_ERROR_INIT;
    vt_load_settings_default(&s);
    s.scenario = scenario;
    if (vt_round_apply(&s, round, model, &err) != VT_OK) {
        fail_msg("%s", err.text);
    }
    return s;
}

static void seeds_belong_to_the_round(void **state)
{
    (void)state;
    static const struct {
        const char *round;
        uint64_t qsl, sample, schedule, test05[3];
    } seeds[] = {
        {"v3.0",
         UINT64_C(10003631887983097364),
         UINT64_C(17183018601990103738),
         UINT64_C(12134888396634371638),
         {UINT64_C(14646058500348515648), UINT64_C(1207248993894122914),
          UINT64_C(11879132697760422006)}},
        {"v6.1",
         UINT64_C(2085463073848966840),
         UINT64_C(2747215439041700203),
         UINT64_C(16159082839903944936),
         {UINT64_C(7975553102935885558), UINT64_C(11403566307062068064),
          UINT64_C(15816800565822761601)}},
    };
    for (size_t i = 0; i < 2; i++) {
        struct vt_load_settings s = of(seeds[i].round, "", VT_SERVER);
        assert_true(s.qsl_rng_seed == seeds[i].qsl);
        assert_true(s.sample_index_rng_seed == seeds[i].sample);
        assert_true(s.schedule_rng_seed == seeds[i].schedule);
        assert_true(s.test05_qsl_rng_seed == seeds[i].test05[0]);
        assert_true(s.test05_sample_index_rng_seed == seeds[i].test05[1]);
        assert_true(s.test05_schedule_rng_seed == seeds[i].test05[2]);
        assert_false(s.test05);
    }
    /* No two rounds have the same seeds. */
    for (unsigned i = 0; vt_round_name(i) != NULL; i++) {
        for (unsigned k = 0; k < i; k++) {
            assert_true(of(vt_round_name(i), "", VT_SERVER).qsl_rng_seed !=
                        of(vt_round_name(k), "", VT_SERVER).qsl_rng_seed);
        }
    }
}

/* v6.1 benchmark by benchmark; -1: as for all (10 ms, 100 samples). */
static const struct {
    const char *model;
    int performance_samples, offline_least, server_ms;
    bool equal_issue, tokens;
    int ttft_ms, tpot_ms;
} latest[] = {
    {"resnet50", 1024, 24576, 15, false, false, 0, 0},
    {"ssd-mobilenet", 256, -1, -1, false, false, 0, 0},
    {"retinanet", 64, 24576, 100, false, false, 0, 0},
    {"bert", 10833, 10833, 130, false, false, 0, 0},
    {"dlrm", 204800, -1, 60, false, false, 0, 0},
    {"dlrm-v2", 204800, 24576, 60, false, false, 0, 0},
    {"dlrm-v3", 0, -1, 80, false, false, 0, 0},
    {"rnnt", 2513, 2513, 1000, false, false, 0, 0},
    {"gptj", 13368, 13368, 20000, true, false, 0, 0},
    {"3d-unet", 0, 43, -1, true, false, 0, 0},
    {"rgat", 788379, 788379, -1, true, false, 0, 0},
    {"stable-diffusion-xl", 5000, 5000, 20000, false, false, 0, 0},
    {"wan-2.2-t2v-a14b", 248, 248, -1, false, false, 0, 0},
    {"pointpainting", 1024, -1, -1, false, false, 0, 0},
    {"yolo", 64, -1, -1, false, false, 0, 0},
    {"whisper", 1633, 1633, -1, true, true, 0, 0},
    {"llama2-70b", 24576, 24576, 0, true, true, 2000, 200},
    {"llama2-70b-interactive", 24576, -1, 0, true, true, 450, 40},
    {"mixtral-8x7b", 15000, 15000, 0, true, true, 2000, 200},
    {"llama3_1-405b", 8313, 8313, 0, true, true, 6000, 175},
    {"llama3_1-405b-interactive", 8313, -1, 0, true, true, 4500, 80},
    {"llama3_1-8b", 13368, 13368, 0, true, true, 2000, 100},
    {"llama3_1-8b-interactive", 13368, -1, 0, true, true, 500, 30},
    {"llama3_1-8b-edge", 5000, 5000, -1, true, true, 0, 0},
    {"deepseek-r1", 4388, 4388, 0, true, true, 2000, 80},
    {"deepseek-r1-interactive", 4388, -1, 0, true, true, 1500, 15},
    {"gpt-oss-120b", 6396, -1, 0, true, true, 3000, 80},
    {"gpt-oss-120b-interactive", 6396, -1, 0, true, true, 2000, 15},
    {"qwen3-vl-235b-a22b", 48289, 48289, 12000, true, false, 0, 0},
};
#define N_LATEST (sizeof latest / sizeof latest[0])

static void the_latest_round_is_complete(void **state)
{
    (void)state;
    unsigned n = 0;
    for (size_t i = 0; i < N_LATEST; i++) {
        struct vt_load_settings offline = of("v6.1", latest[i].model, VT_OFFLINE);
        struct vt_load_settings server = of("v6.1", latest[i].model, VT_SERVER);
        assert_true(vt_round_has("v6.1", latest[i].model));
        assert_int_equal(server.performance_sample_count_override, latest[i].performance_samples);
        assert_int_equal(offline.min_query_count,
                         latest[i].offline_least < 0 ? 100 : latest[i].offline_least);
        assert_int_equal(server.server_target_latency_ns / VT_NS_PER_MS,
                         latest[i].server_ms < 0 ? 10 : latest[i].server_ms);
        assert_int_equal(offline.sample_concatenate_permutation, latest[i].equal_issue);
        assert_int_equal(server.use_token_latencies, latest[i].tokens);
        assert_int_equal(server.server_ttft_latency_ns / VT_NS_PER_MS,
                         latest[i].ttft_ms > 0 ? latest[i].ttft_ms : 100);
        assert_int_equal(server.server_tpot_latency_ns / VT_NS_PER_MS,
                         latest[i].tpot_ms > 0 ? latest[i].tpot_ms : 100);
    }
    while (vt_round_model("v6.1", n) != NULL) {
        n++;
    }
    assert_int_equal(n, N_LATEST);
    assert_int_equal(of("v6.1", "gpt-oss-120b", VT_SERVER).accuracy_sample_count_override, 4395);
    assert_true(of("v6.1", "gptj", VT_SERVER).infer_token_latencies);
    assert_true(of("v6.1", "gptj", VT_SERVER).token_latency_scaling_factor == 69);
}

static void values_for_all_benchmarks(void **state)
{
    (void)state;
    for (int i = 0; i < VT_SCENARIO_COUNT; i++) {
        struct vt_load_settings s = of("v6.1", "unheard-of", (enum vt_scenario)i);
        assert_true(s.min_duration_ns == 600 * VT_NS_PER_S);
        assert_int_equal(s.min_query_count, i == VT_MULTISTREAM ? 662 : 100);
        assert_true(s.single_stream_target_latency_percentile == 0.9);
        assert_true(s.multi_stream_target_latency_percentile == 0.99);
        assert_true(s.server_target_latency_percentile == 0.99);
        assert_int_equal(s.multi_stream_samples_per_query, 8);
        assert_int_equal(s.single_stream_expected_latency_ns, 10 * VT_NS_PER_MS);
        assert_int_equal(s.multi_stream_expected_latency_ns, 80 * VT_NS_PER_MS);
    }
    struct vt_load_settings s = of("v6.1", "pointpainting", VT_SINGLESTREAM);
    assert_true(s.single_stream_target_latency_percentile == 99.9 * 0.01);
    s = of("v6.1", "retinanet", VT_MULTISTREAM);
    assert_int_equal(s.multi_stream_expected_latency_ns, 528 * VT_NS_PER_MS);
}

static void rounds_differ_where_the_rules_changed(void **state)
{
    (void)state;
    assert_false(vt_round_has("v3.0", "gptj"));
    assert_true(vt_round_has("v3.1", "gptj"));
    assert_false(vt_round_has("v4.1", "rgat"));
    assert_true(vt_round_has("v5.0", "llama2-70b-interactive"));
    assert_false(vt_round_has("v5.1", "yolo"));
    assert_false(vt_round_has("v6.1", "*"));
    assert_false(vt_round_has("v9.9", "resnet50"));
    assert_int_equal(of("v3.0", "", VT_SERVER).min_query_count, 270336);
    assert_int_equal(of("v3.1", "", VT_SERVER).min_query_count, 100);
    assert_int_equal(of("v3.1", "bert", VT_OFFLINE).min_query_count, 24576);
    assert_int_equal(of("v4.0", "bert", VT_OFFLINE).min_query_count, 10833);
    assert_int_equal(of("v3.0", "dlrm", VT_SERVER).server_target_latency_ns, 30 * VT_NS_PER_MS);
    assert_string_equal(vt_round_value("v6.1", "resnet50", "Server", "target_latency"), "15");
    assert_null(vt_round_value("v6.1", "resnet50", "Server", "min_duration"));
    assert_string_equal(vt_round_value("v6.1", "*", "Server", "min_duration"), "600000");

    struct vt_load_settings s;
    struct vt_error err = VT_ERROR_INIT;
    vt_load_settings_default(&s);
    assert_int_equal(vt_round_apply(&s, "v2.0", "", &err), VT_ERR_USAGE);
    assert_non_null(strstr(err.text, "'v2.0'"));
    assert_non_null(strstr(err.text, "v3.0, v3.1, v4.0, v4.1, v5.0, v5.1, v6.0, v6.1"));
}

static void warned(void *ctx, const char *text)
{
    (void)ctx;
    fail_msg("%s", text);
}

/* The rows, written as a file and read back without a warning, are the round. */
static void a_round_is_a_file(void **state)
{
    (void)state;
    static char text[1 << 16];
    const struct vt_conf_warnings warnings = {warned, NULL};
    size_t n;
    const struct vt_round_row *rows = vt_round_rows(&n);
    for (unsigned r = 0; r < VT_ROUND_COUNT; r++) {
        size_t used = 0;
        for (size_t i = 0; i < n; i++) {
            if (rows[i].from <= r && r <= rows[i].to) {
                used +=
                    (size_t)snprintf(text + used, sizeof text - used, "%s.%s.%s = %s\n",
                                     rows[i].model, rows[i].scenario, rows[i].key, rows[i].value);
            }
        }
        assert_in_range(used, 1, sizeof text - 1);
        const char *model;
        for (unsigned i = 0; (model = vt_round_model(vt_round_name(r), i)) != NULL; i++) {
            struct vt_load_settings expected = of(vt_round_name(r), model, VT_SERVER), s;
            struct vt_error err = VT_ERROR_INIT;
            vt_load_settings_default(&s);
            s.scenario = VT_SERVER;
            assert_int_equal(vt_conf_apply_text(&s, VT_CONF_MLPERF, text, used, "mlperf.conf",
                                                model, &warnings, &err),
                             VT_OK);
            assert_memory_equal(&s, &expected, sizeof s);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seeds_belong_to_the_round),
        cmocka_unit_test(the_latest_round_is_complete),
        cmocka_unit_test(values_for_all_benchmarks),
        cmocka_unit_test(rounds_differ_where_the_rules_changed),
        cmocka_unit_test(a_round_is_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
