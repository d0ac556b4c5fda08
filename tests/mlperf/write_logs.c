/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_logs FOLDER [NAME=VALUE …]: one test on a system that does nothing, with its logs in
 * FOLDER. For tests/conformance/compare_logs.py, which has LoadGen do the same. NAME is a field of
 * MLPerf's TestSettings; besides them `total` and `performance`, the sizes of the sample library,
 * and how long the system takes for a query, one after the other: `service_us`, and `token_us` from
 * the first token to the last.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mlperf/test.h"

struct bench {
    struct vt_completion_sink sink;
    struct vt_load_settings settings;
    bool tokens;
    uint64_t total, performance, service_us, token_us;
};

enum kind { SCENARIO, MODE, BOOL, U32, U64, NS, MS, F64 };

#define SETTING(field) offsetof(struct bench, settings.field)
static const struct {
    const char *name;
    enum kind kind;
    size_t offset;
} options[] = {
    {"scenario", SCENARIO, SETTING(scenario)},
    {"mode", MODE, SETTING(mode)},
    {"single_stream_expected_latency_ns", NS, SETTING(single_stream_expected_latency_ns)},
    {"single_stream_target_latency_percentile", F64,
     SETTING(single_stream_target_latency_percentile)},
    {"multi_stream_expected_latency_ns", NS, SETTING(multi_stream_expected_latency_ns)},
    {"multi_stream_target_latency_percentile", F64,
     SETTING(multi_stream_target_latency_percentile)},
    {"multi_stream_samples_per_query", U32, SETTING(multi_stream_samples_per_query)},
    {"server_target_qps", F64, SETTING(server_target_qps)},
    {"server_target_latency_ns", NS, SETTING(server_target_latency_ns)},
    {"server_target_latency_percentile", F64, SETTING(server_target_latency_percentile)},
    {"server_coalesce_queries", BOOL, SETTING(server_coalesce_queries)},
    {"server_find_peak_qps_decimals_of_precision", U32,
     SETTING(server_find_peak_qps_decimals_of_precision)},
    {"server_find_peak_qps_boundary_step_size", F64,
     SETTING(server_find_peak_qps_boundary_step_size)},
    {"server_max_async_queries", U64, SETTING(server_max_async_queries)},
    {"offline_expected_qps", F64, SETTING(offline_expected_qps)},
    {"min_duration_ms", MS, SETTING(min_duration_ns)},
    {"max_duration_ms", MS, SETTING(max_duration_ns)},
    {"min_query_count", U64, SETTING(min_query_count)},
    {"max_query_count", U64, SETTING(max_query_count)},
    {"qsl_rng_seed", U64, SETTING(qsl_rng_seed)},
    {"sample_index_rng_seed", U64, SETTING(sample_index_rng_seed)},
    {"schedule_rng_seed", U64, SETTING(schedule_rng_seed)},
    {"accuracy_log_rng_seed", U64, SETTING(accuracy_log_rng_seed)},
    {"accuracy_log_probability", F64, SETTING(accuracy_log_probability)},
    {"accuracy_log_sampling_target", U64, SETTING(accuracy_log_sampling_target)},
    {"performance_issue_unique", BOOL, SETTING(performance_issue_unique)},
    {"performance_issue_same", BOOL, SETTING(performance_issue_same)},
    {"performance_issue_same_index", U64, SETTING(performance_issue_same_index)},
    {"performance_sample_count_override", U64, SETTING(performance_sample_count_override)},
    {"accuracy_sample_count_override", U64, SETTING(accuracy_sample_count_override)},
    {"sample_concatenate_permutation", BOOL, SETTING(sample_concatenate_permutation)},
    {"test05", BOOL, SETTING(test05)},
    {"test05_qsl_rng_seed", U64, SETTING(test05_qsl_rng_seed)},
    {"test05_sample_index_rng_seed", U64, SETTING(test05_sample_index_rng_seed)},
    {"test05_schedule_rng_seed", U64, SETTING(test05_schedule_rng_seed)},
    {"use_token_latencies", BOOL, SETTING(use_token_latencies)},
    {"infer_token_latencies", BOOL, SETTING(infer_token_latencies)},
    {"server_ttft_latency", NS, SETTING(server_ttft_latency_ns)},
    {"server_tpot_latency", NS, SETTING(server_tpot_latency_ns)},
    {"token_latency_scaling_factor", F64, SETTING(token_latency_scaling_factor)},
    {"total", U64, offsetof(struct bench, total)},
    {"performance", U64, offsetof(struct bench, performance)},
    {"service_us", U64, offsetof(struct bench, service_us)},
    {"token_us", U64, offsetof(struct bench, token_us)},
};

static bool set_name(struct bench *b, enum kind kind, const char *text)
{
    for (int i = 0; kind == SCENARIO && i < VT_SCENARIO_COUNT; i++) {
        if (strcmp(vt_scenario_name((enum vt_scenario)i), text) == 0) {
            b->settings.scenario = (enum vt_scenario)i;
            return true;
        }
    }
    for (int i = 0; kind == MODE && i < VT_MODE_COUNT; i++) {
        if (strcmp(vt_mode_name((enum vt_mode)i), text) == 0) {
            b->settings.mode = (enum vt_mode)i;
            return true;
        }
    }
    return false;
}

static bool set_value(struct bench *b, enum kind kind, size_t offset, const char *text)
{
    void *at = (char *)b + offset;
    char *rest = NULL;

    errno = 0;
    unsigned long long number = strtoull(text, &rest, 10);
    bool whole = errno == 0 && rest != text && *rest == '\0';
    switch (kind) {
    case SCENARIO:
    case MODE:
        return set_name(b, kind, text);
    case BOOL:
        *(bool *)at = number != 0;
        return whole;
    case U32:
        *(uint32_t *)at = (uint32_t)number;
        return whole;
    case U64:
        *(uint64_t *)at = number;
        return whole;
    case NS:
        *(int64_t *)at = (int64_t)number;
        return whole;
    case MS:
        *(int64_t *)at = (int64_t)number * VT_NS_PER_MS;
        return whole;
    case F64:
        *(double *)at = strtod(text, &rest);
        return rest != text && *rest == '\0';
    }
    return false;
}

static bool set(struct bench *b, const char *option)
{
    const char *value = strchr(option, '=');
    size_t n = value != NULL ? (size_t)(value - option) : 0;

    for (size_t i = 0; value != NULL && i < sizeof options / sizeof options[0]; i++) {
        if (strncmp(options[i].name, option, n) == 0 && options[i].name[n] == '\0') {
            return set_value(b, options[i].kind, options[i].offset, value + 1);
        }
    }
    return false;
}

static const char *sut_name(void *ctx)
{
    (void)ctx;
    return "PySUT";
}

static enum vt_status sut_start(void *ctx, const struct vt_completion_sink *sink,
                                enum vt_scenario scenario, struct vt_error *err)
{
    (void)scenario;
    (void)err;
    if (sink != NULL) {
        ((struct bench *)ctx)->sink = *sink;
    }
    return VT_OK;
}

static void work(uint64_t us)
{
    if (us > 0) {
        vt_sleep_until_ns(vt_now_ns() + (int64_t)us * VT_NS_PER_US, 0);
    }
}

static enum vt_status sut_issue(void *ctx, const struct vt_query_sample *samples, size_t n,
                                struct vt_error *err)
{
    /* five tokens of 16 bits */
    static const unsigned char bytes[] = {0x0a, 0x7f, 3, 0, 4, 0, 5, 0, 2, 0};
    const struct bench *b = ctx;

    (void)err;
    work(b->service_us);
    for (int first = b->tokens; first >= 0; first--) {
        if (!first) {
            work(b->token_us);
        }
        for (size_t i = 0; i < n; i++) {
            struct vt_completion c = {
                .id = samples[i].id,
                .response = bytes,
                .response_bytes = first ? 2 : sizeof bytes,
                .n_tokens = first ? 1 : 5,
            };
            if (first) {
                b->sink.first_token(b->sink.ctx, &c, 1);
            } else {
                b->sink.complete(b->sink.ctx, &c, 1);
            }
        }
    }
    return VT_OK;
}

static void sut_nothing(void *ctx)
{
    (void)ctx;
}

static const char *qsl_name(void *ctx)
{
    (void)ctx;
    return "PyQSL";
}

static enum vt_status qsl_load(void *ctx, const uint64_t *indices, size_t n, struct vt_error *err)
{
    (void)ctx;
    (void)indices;
    (void)n;
    (void)err;
    return VT_OK;
}

static void qsl_unload(void *ctx, const uint64_t *indices, size_t n)
{
    (void)ctx;
    (void)indices;
    (void)n;
}

int main(int argc, char **argv)
{
    struct bench b = {.total = 64, .performance = 32};
    struct vt_error err = VT_ERROR_INIT;
    struct vt_test_result result;

    vt_load_settings_default(&b.settings);
    for (int i = 2; i < argc; i++) {
        if (!set(&b, argv[i])) {
            fprintf(stderr,
                    "write_logs: %s: not NAME=VALUE with a name and a value that it knows\n",
                    argv[i]);
            return 2;
        }
    }
    if (argc < 2) {
        fprintf(stderr, "usage: write_logs FOLDER [NAME=VALUE …]\n");
        return 2;
    }
    b.tokens = b.settings.use_token_latencies && b.settings.scenario != VT_OFFLINE;
    const struct vt_sut sut = {VT_LOAD_API_VERSION, sizeof sut,  sut_name,    sut_start,
                               sut_issue,           sut_nothing, sut_nothing, &b};
    const struct vt_qsl qsl = {VT_LOAD_API_VERSION, sizeof qsl, b.total,
                               b.performance,       qsl_name,   qsl_load,
                               qsl_unload,          &b};
    const struct vt_test_logs logs = {.folder = argv[1]};
    enum vt_status status = vt_test_run(&b.settings, &sut, &qsl, NULL, &logs, &err, &result);
    vt_test_result_release(&result);
    if (status != VT_OK) {
        fprintf(stderr, "write_logs: %s\n", err.text);
        return 1;
    }
    return 0;
}
