/* SPDX-License-Identifier: Apache-2.0 */
/* What the logs say of runs that count tokens, from reports whose every figure is known. */
#include <jansson.h>
#include <unistd.h>

#include "mlperf/log.h"
#include "vt_test.h"

#define N 700

static char folder[] = "/tmp/vatio-tokens-XXXXXX";

struct made {
    struct vt_load_report report;
    struct vt_sample_record records[N];
    struct vt_token_record tokens[N];
};

static int setup(void **state)
{
    *state = calloc(1, sizeof(struct made));
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int teardown(void **state)
{
    static const char *const names[] = {"summary.txt", "detail.txt", "accuracy.json"};
    char path[128];

    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/mlperf_log_%s", folder, names[i]);
        (void)unlink(path);
    }
    free(*state);
    return rmdir(folder);
}

static char *read_file(const char *name)
{
    static char text[1 << 18];
    char path[128];

    snprintf(path, sizeof path, "%s/mlperf_log_%s", folder, name);
    FILE *stream = fopen(path, "r");
    assert_non_null(stream);
    size_t n = fread(text, 1, sizeof text - 1, stream);
    text[n] = '\0';
    fclose(stream);
    return text;
}

static void write_logs(const struct made *m)
{
    struct vt_error err = VT_ERROR_INIT;
    enum vt_status status =
        vt_mlperf_log_write(&m->report, &(struct vt_test_logs){.folder = folder}, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(status, VT_OK);
}

/* Sample i: scheduled at 10 µs · i, its first token 100 + i ns later, 5 tokens, the last
 * 4 · (2000 + i) ns behind the first. */
static void make(struct made *m, enum vt_scenario scenario)
{
    struct vt_load_report *r = &m->report;

    *m = (struct made){0};
    vt_load_settings_default(&r->settings);
    r->settings.scenario = scenario;
    r->settings.min_duration_ns = 0;
    r->settings.use_token_latencies = true;
    r->settings.server_ttft_latency_ns = 300;
    r->settings.server_tpot_latency_ns = 5000;
    r->effective = (struct vt_load_effective){
        .target_qps = 100000,
        .percentile = scenario == VT_SINGLESTREAM ? 0.9 : 0.99,
        .samples_per_query = 1,
        .min_query_count = 100,
        .min_sample_count = 100,
        .performance_sample_count = 16,
        .accuracy_sample_count = 16,
    };
    r->sut_name = "sut";
    r->qsl_name = "qsl";
    r->qsl_total_count = r->qsl_performance_count = 16;
    r->queries_issued = r->samples_issued = r->samples_completed = N;
    for (int i = 0; i < N; i++) {
        int64_t start = 10000 * i;
        m->tokens[i] = (struct vt_token_record){start + 100 + i, 5};
        m->records[i] = (struct vt_sample_record){start, start, start + 100 + i + 4 * (2000 + i),
                                                  (uint32_t)i % 16, (uint32_t)i};
    }
    r->records = m->records;
    r->n_records = N;
    r->tokens = m->tokens;
    r->last_issue_ns = m->records[N - 1].issued_ns;
    r->last_query_done_ns = r->duration_ns = 7000000;
    r->latency = (struct vt_latency_stats){.mean_ns = 10000, .max_ns = 14000000};
    r->token = (struct vt_token_report){
        .first = {1, 2, 3, 4, 5, 6, 7, 8, 9},
        .per_output = {11, 12, 13, 14, 15, 16, 17, 18, 19},
        .first_target_ns = 777,
        .tokens = 5 * N,
        .first_met = true,
        .per_output_met = true,
        .first_early_stopping_met = true,
        .per_output_early_stopping_met = true,
        .first_estimate_ns = 750,
        .per_output_estimate_ns = 2650,
        .per_output_p99_ns = 2699,
    };
    r->early_stopping_estimate_ns = r->token.first_estimate_ns;
    r->early_stopping_p99_ns = 799;
    r->valid = r->min_duration_met = r->min_queries_met = true;
    r->performance_met = r->early_stopping_met = true;
}

/* The keys from result_query_count on, and all values. */
static json_t *parse(char *keys, size_t size)
{
    json_t *values = json_object();
    char *rest = read_file("detail.txt");

    keys[0] = '\0';
    for (char *line = strtok_r(rest, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        json_t *record = json_loads(line + strlen(":::MLLOG "), 0, NULL);
        assert_non_null(record);
        const char *key = json_string_value(json_object_get(record, "key"));
        json_object_set(values, key, json_object_get(record, "value"));
        if (keys[0] != '\0' || strcmp(key, "result_query_count") == 0) {
            size_t used = strlen(keys);
            snprintf(keys + used, size - used, "%s%s", used > 0 ? " " : "", key);
        }
        json_decref(record);
    }
    return values;
}

static double value_of(const json_t *values, const char *key)
{
    assert_non_null(json_object_get(values, key));
    return json_number_value(json_object_get(values, key));
}

#define LATENCIES                                                                                  \
    "result_min_latency_ns result_max_latency_ns result_mean_latency_ns "                          \
    "result_50.00_percentile_latency_ns result_90.00_percentile_latency_ns "                       \
    "result_95.00_percentile_latency_ns result_97.00_percentile_latency_ns "                       \
    "result_99.00_percentile_latency_ns result_99.90_percentile_latency_ns "
#define TOKENS                                                                                     \
    "result_first_token_min_latency_ns result_first_token_max_latency_ns "                         \
    "result_first_token_mean_latency_ns result_first_token_50.00_percentile_latency_ns "           \
    "result_first_token_90.00_percentile_latency_ns "                                              \
    "result_first_token_95.00_percentile_latency_ns "                                              \
    "result_first_token_97.00_percentile_latency_ns "                                              \
    "result_first_token_99.00_percentile_latency_ns "                                              \
    "result_first_token_99.90_percentile_latency_ns "                                              \
    "result_token_throughput_with_loadgen_overhead result_token_throughput "                       \
    "result_time_per_output_token_50.00_percentile_ns "                                            \
    "result_time_per_output_token_90.00_percentile_ns "                                            \
    "result_time_per_output_token_95.00_percentile_ns "                                            \
    "result_time_per_output_token_97.00_percentile_ns "                                            \
    "result_time_per_output_token_99.00_percentile_ns "                                            \
    "result_time_per_output_token_99.90_percentile_ns result_time_to_output_token_min "            \
    "result_time_to_output_token_max result_time_to_output_token_mean "                            \
    "result_completed_tokens_per_second "

static void test_server(void **state)
{
    struct made *m = *state;
    char keys[4096];

    make(m, VT_SERVER);
    m->report.settings.infer_token_latencies = true;
    m->report.settings.token_latency_scaling_factor = 7;
    write_logs(m);
    json_t *values = parse(keys, sizeof keys);
    assert_string_equal(
        keys, "result_query_count result_overlatency_query_count "
              "result_scheduled_samples_per_sec result_completed_samples_per_sec " LATENCIES TOKENS
              "result_inferred_completed_tokens_per_second num_errors");
    assert_true(value_of(values, "result_completed_tokens_per_second") ==
                500000); /* 3500 in 7 ms */
    assert_true(value_of(values, "result_inferred_completed_tokens_per_second") == 699000);
    assert_true(value_of(values, "result_first_token_mean_latency_ns") == 2);
    assert_true(value_of(values, "result_first_token_99.90_percentile_latency_ns") == 8);
    assert_true(value_of(values, "result_time_to_output_token_max") == 19);
    assert_true(value_of(values, "result_time_per_output_token_50.00_percentile_ns") == 13);
    /* per nanosecond, as LoadGen has it */
    assert_true(value_of(values, "result_token_throughput") == 0.0005);
    assert_true(json_is_true(json_object_get(values, "requested_use_token_latencies")));
    assert_true(value_of(values, "requested_server_ttft_latency") == 300);
    assert_true(value_of(values, "requested_server_tpot_latency") == 5000);
    assert_null(json_object_get(values, "early_stopping_result"));
    assert_string_equal(json_string_value(json_object_get(values, "early_stopping_ttft_result")),
                        " * Run successful.");
    json_decref(values);
    const char *text = read_file("summary.txt");
    assert_non_null(strstr(text, "Completed tokens per second: 500000.00\n"
                                 "Completed tokens per second (inferred): 699000.00\n"
                                 "Result is : VALID\n"));
    assert_non_null(strstr(text, "TTFT Early Stopping Result:\n * Run successful.\n"
                                 "TPOT Early Stopping Result:\n * Run successful.\n\n"));
    assert_non_null(strstr(text, "ttft_latency (ns): 300\ntpot_latency (ns): 5000\n"));
    assert_null(strstr(text, "target_latency (ns)"));
}

/* The first token is only looked at when the others are well. */
static void test_server_late(void **state)
{
    struct made *m = *state;
    char keys[4096];

    make(m, VT_SERVER);
    struct vt_token_report *t = &m->report.token;
    t->first_met = t->per_output_met = m->report.performance_met = false;
    t->per_output_early_stopping_met = m->report.early_stopping_met = m->report.valid = false;
    t->overlatency_per_output = 700;
    write_logs(m);
    assert_non_null(strstr(read_file("summary.txt"),
                           "Recommendations:\n"
                           " * TTFT constrain not met: Reduce target QPS to improve latency.\n"
                           " * TPOT constrain not met: Reduce target QPS to improve latency.\n"
                           "TTFT Early Stopping Result:\n\n"
                           "TPOT Early Stopping Result:\n * Run unsuccessful.\n"
                           " * Processed 700 queries.\n"
                           " * Would need to run at least 75674 more queries,\n"));
    json_t *values = parse(keys, sizeof keys);
    assert_string_equal(json_string_value(json_object_get(values, "early_stopping_ttft_result")),
                        "");
    assert_string_equal(
        json_string_value(json_object_get(values, "result_invalid_reason")),
        "TTFT constrain not met: Reduce target QPS to improve latency.  * TPOT constrain not met: "
        "Reduce target QPS to improve latency. ");
    json_decref(values);
}

static void test_single_stream(void **state)
{
    struct made *m = *state;
    char keys[4096];

    make(m, VT_SINGLESTREAM);
    write_logs(m);
    json_t *values = parse(keys, sizeof keys);
    assert_string_equal(keys, "result_query_count result_qps_with_loadgen_overhead "
                              "result_qps_without_loadgen_overhead early_stopping_latency_ss "
                              "early_stopping_latency_ms " LATENCIES TOKENS "num_errors");
    /* the first token's */
    assert_true(value_of(values, "early_stopping_latency_ss") == 750);
    assert_true(value_of(values, "early_stopping_latency_ms") == 799);
    json_decref(values);
    const char *text = read_file("summary.txt");
    assert_non_null(strstr(text, "90.0th first token percentile latency (ns) : 777\n"));
    assert_non_null(strstr(text, " * Early stopping 90.0th percentile estimate: 750\n"
                                 " * Early stopping 99.0th percentile estimate: 799\n"
                                 "TPOT Early Stopping Result:\n"));
    assert_non_null(strstr(text, " * Early stopping 90.0th percentile estimate: 2650\n"
                                 " * Early stopping 99.0th percentile estimate: 2699\n\n"));
    assert_non_null(strstr(text, "TPS w/ loadgen overhead         : 500715.31\n"
                                 "TPS w/o loadgen overhead        : 500000.00\n"
                                 "Min First Token latency (ns)                : 1\n"));
}

static void test_offline(void **state)
{
    struct made *m = *state;
    char keys[4096];

    make(m, VT_OFFLINE);
    m->report.settings.infer_token_latencies = true;
    m->report.settings.token_latency_scaling_factor = 2;
    write_logs(m);
    json_t *values = parse(keys, sizeof keys);
    assert_string_equal(keys, "result_query_count result_samples_per_second " LATENCIES
                              "result_tokens_per_second result_inferred_tokens_per_second "
                              "num_errors");
    assert_true(value_of(values, "result_tokens_per_second") == 250000); /* 3500 in 14 ms */
    assert_true(value_of(values, "result_inferred_tokens_per_second") == 100000);
    assert_null(json_object_get(values, "requested_server_ttft_latency"));
    json_decref(values);
    const char *text = read_file("summary.txt");
    assert_non_null(strstr(text, "Tokens per second: 250000\nTokens per second (inferred): 100000\n"
                                 "Result is : VALID\n"));
    assert_null(strstr(text, "First Token"));
}

static void test_accuracy_log(void **state)
{
    struct made *m = *state;
    static const unsigned char data[] = {0x0a, 0xff, 0x5e};
    static unsigned char much[5000];
    const struct vt_load_response responses[] = {
        {.sequence = 0,
         .index = 4,
         .data = data,
         .bytes = 3,
         .first_token = data,
         .first_token_bytes = 1,
         .n_tokens = 3},
        {.sequence = 2, .index = 5, .data = much, .bytes = sizeof much, .n_tokens = 2},
    };

    make(m, VT_SERVER);
    m->report.responses = responses;
    m->report.n_responses = 2;
    write_logs(m);
    const char *text = read_file("accuracy.json");
    const char *first = "[\n{ \"seq_id\" : 0, \"qsl_idx\" : 4, \"data\" : \"0AFF5E\", "
                        "\"token_data\" : \"0A\", \"token_count\" : 3 },\n"
                        "{ \"seq_id\" : 2, \"qsl_idx\" : 5, \"data\" : \"";
    assert_int_equal(strncmp(text, first, strlen(first)), 0);
    assert_int_equal(strspn(text + strlen(first), "0"), 2 * sizeof much);
    assert_string_equal(text + strlen(first) + 2 * sizeof much,
                        "\", \"token_data\" : \"\", \"token_count\" : 2 }\n]\n");

    make(m, VT_OFFLINE);
    m->report.responses = responses;
    m->report.n_responses = 1;
    write_logs(m);
    assert_string_equal(read_file("accuracy.json"),
                        "[\n{ \"seq_id\" : 0, \"qsl_idx\" : 4, \"data\" : \"0AFF5E\", "
                        "\"token_count\" : 3 }\n]\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_server),        cmocka_unit_test(test_server_late),
        cmocka_unit_test(test_single_stream), cmocka_unit_test(test_offline),
        cmocka_unit_test(test_accuracy_log),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
