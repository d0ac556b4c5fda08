/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log files against what LoadGen 6.0.17 wrote for the same settings: keys in order, lines and
 * figures (from the wheel mlcommons-loadgen, on a system that does nothing).
 */
#include <jansson.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mlperf/log.h"
#include "vt_load_double.h"
#include "vt_test.h"
#include "vt_torture.h"

static char folder[] = "/tmp/vatio-mlperf-XXXXXX";

static const char *const files[] = {"mlperf_log_summary.txt", "mlperf_log_detail.txt",
                                    "mlperf_log_accuracy.json"};

static void path_of(int file, char *path, size_t size)
{
    snprintf(path, size, "%s/%s", folder, files[file]);
}

static int setup(void **state)
{
    (void)state;
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static void remove_files(void)
{
    char path[128];
    for (int i = 0; i < 3; i++) {
        path_of(i, path, sizeof path);
        (void)unlink(path);
    }
}

/* Fails where a file is left that nobody asked for. */
static int teardown(void **state)
{
    (void)state;
    remove_files();
    return rmdir(folder);
}

static char *read_file(int file)
{
    static char text[1 << 20];
    char path[128];

    path_of(file, path, sizeof path);
    FILE *stream = fopen(path, "r");
    assert_non_null(stream);
    size_t n = fread(text, 1, sizeof text - 1, stream);
    text[n] = '\0';
    fclose(stream);
    return text;
}

static void write_logs(const struct vt_load_report *report)
{
    struct vt_error err = VT_ERROR_INIT;
    enum vt_status status =
        vt_mlperf_log_write(report, &(struct vt_test_logs){.folder = folder}, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(status, VT_OK);
}

/* A run on the doubles with the settings of the reference logs. */
static struct vt_load_report *run(enum vt_scenario scenario, enum vt_mode mode,
                                  const struct vt_load_settings *settings, int64_t latency_ns)
{
    struct vt_fake_clock clock;
    struct vt_fake_sut sut;
    struct vt_fake_qsl qsl;
    struct vt_load_control control;
    struct vt_load_report *report = NULL;
    struct vt_error err = VT_ERROR_INIT;
    struct vt_load_settings s = *settings;

    s.scenario = scenario;
    s.mode = mode;
    vt_fake_init(&clock, &sut, &qsl, &control, 64, 32);
    sut.fixed_ns = latency_ns;
    sut.style = scenario == VT_SERVER || scenario == VT_OFFLINE ? VT_FAKE_QUEUED : VT_FAKE_INLINE;
    enum vt_status status = vt_load_run(&s, &sut.seam, &qsl.seam, &control, &err, &report);
    assert_string_equal(err.text, "");
    assert_int_equal(status, VT_OK);
    /* names are borrowed from doubles that end here */
    report->sut_name = "sut \"quoted\" \xff";
    report->qsl_name = "PyQSL";
    report->qsl_total_count = 64;
    report->qsl_performance_count = 32;
    vt_fake_release(&sut);
    return report;
}

static struct vt_load_settings reference_settings(void)
{
    struct vt_load_settings s;
    vt_load_settings_default(&s);
    s.min_duration_ns = 200000000;
    s.min_query_count = 700;
    s.server_target_qps = 2000;
    s.offline_expected_qps = 10000;
    s.single_stream_expected_latency_ns = 20000;
    s.multi_stream_expected_latency_ns = 200000;
    return s;
}

/* Every line of the detail log as JSON; the values under their keys, the keys in order. */
static json_t *parse_detail(json_t **ret_keys)
{
    json_t *values = json_object();
    json_t *keys = json_array();
    json_error_t where;

    for (char *line = strtok(read_file(1), "\n"); line != NULL; line = strtok(NULL, "\n")) {
        assert_int_equal(strncmp(line, ":::MLLOG ", 9), 0);
        json_t *record = json_loads(line + 9, JSON_REJECT_DUPLICATES, &where);
        assert_non_null(record);
        static const char *const fields[] = {"key",       "value",      "time_ms",
                                             "namespace", "event_type", "metadata"};
        const char *field;
        json_t *value;
        size_t i = 0;
        json_object_foreach(record, field, value)
        {
            assert_true(i < 6);
            assert_string_equal(field, fields[i++]);
        }
        assert_int_equal(i, 6);
        assert_string_equal(json_string_value(json_object_get(record, "namespace")),
                            "mlperf::logging");
        json_t *metadata = json_object_get(record, "metadata");
        assert_true(json_is_boolean(json_object_get(metadata, "is_error")));
        assert_int_equal(json_object_size(metadata), 6);
        json_t *key = json_object_get(record, "key");
        assert_int_equal(json_array_append(keys, key), 0);
        json_object_set(values, json_string_value(key), json_object_get(record, "value"));
        json_decref(record);
    }
    *ret_keys = keys;
    return values;
}

#define BUILD                                                                                      \
    "loadgen_version loadgen_build_date_local loadgen_build_date_utc loadgen_git_commit_date "     \
    "loadgen_git_log_message loadgen_git_status_message loadgen_file_sha1 test_datetime sut_name " \
    "get_sut_name_duration_ns qsl_name qsl_reported_total_count qsl_reported_performance_count "   \
    "requested_scenario requested_test_mode "
#define REQUESTED                                                                                  \
    "requested_min_duration_ms requested_max_duration_ms requested_min_query_count "               \
    "requested_max_query_count requested_qsl_rng_seed requested_sample_index_rng_seed "            \
    "requested_schedule_rng_seed requested_accuracy_log_rng_seed "                                 \
    "requested_accuracy_log_probability requested_accuracy_log_sampling_target "                   \
    "requested_print_timestamps requested_performance_issue_unique "                               \
    "requested_performance_issue_same requested_performance_issue_same_index "                     \
    "requested_performance_sample_count_override requested_accuracy_sample_count_override "        \
    "requested_sample_concatenate_permutation "
#define EFFECTIVE                                                                                  \
    "effective_scenario effective_test_mode effective_samples_per_query effective_target_qps "     \
    "effective_target_latency_ns effective_target_latency_percentile "                             \
    "effective_max_async_queries effective_target_duration_ms effective_min_duration_ms "          \
    "effective_max_duration_ms effective_min_query_count effective_max_query_count "               \
    "effective_min_sample_count effective_qsl_rng_seed effective_sample_index_rng_seed "           \
    "effective_schedule_rng_seed effective_accuracy_log_rng_seed "                                 \
    "effective_accuracy_log_probability effective_accuracy_log_sampling_target "                   \
    "effective_print_timestamps effective_performance_issue_unique "                               \
    "effective_performance_issue_same effective_performance_issue_same_index "                     \
    "effective_performance_sample_count effective_accuracy_sample_count "                          \
    "effective_sample_concatenate_permutation "
#define STARTED "generic_message loaded_qsl_set "
/* "Ending naturally" is a message of its own, except in Server. */
#define ENDED     "generic_message "
#define GENERATED "generated_query_count generated_samples_per_query generated_query_duration "
#define LOGGER                                                                                     \
    "logger_swap_request_slots_retry_count logger_swap_request_slots_retry_retry_count "           \
    "logger_swap_request_slots_retry_reencounter_count "                                           \
    "logger_start_reading_entries_retry_count logger_tls_total_log_cas_fail_count "                \
    "logger_tls_total_swap_buffers_slot_retry_count power_begin power_end "
#define VERDICT "result_min_duration_met result_min_queries_met early_stopping_met "
#define LATENCIES                                                                                  \
    "result_min_latency_ns result_max_latency_ns result_mean_latency_ns "                          \
    "result_50.00_percentile_latency_ns result_90.00_percentile_latency_ns "                       \
    "result_95.00_percentile_latency_ns result_97.00_percentile_latency_ns "                       \
    "result_99.00_percentile_latency_ns result_99.90_percentile_latency_ns num_errors"

static const char *const performance_keys[VT_SCENARIO_COUNT] = {
    [VT_OFFLINE] =
        BUILD "requested_offline_expected_qps " REQUESTED EFFECTIVE STARTED GENERATED ENDED LOGGER
              "result_validity " VERDICT "early_stopping_result result_query_count "
              "result_samples_per_second " LATENCIES,
    [VT_SERVER] = BUILD
    "requested_server_target_qps requested_server_target_latency_ns "
    "requested_server_target_latency_percentile requested_server_coalesce_queries "
    "requested_server_find_peak_qps_decimals_of_precision "
    "requested_server_find_peak_qps_boundary_step_size requested_server_max_async_queries "
    "requested_server_num_issue_query_threads " REQUESTED EFFECTIVE STARTED GENERATED LOGGER
    "result_validity result_perf_constraints_met " VERDICT
    "early_stopping_result result_query_count result_overlatency_query_count "
    "result_scheduled_samples_per_sec result_completed_samples_per_sec " LATENCIES,
    [VT_SINGLESTREAM] = BUILD
    "requested_single_stream_expected_latency_ns "
    "requested_single_stream_target_latency_percentile " REQUESTED EFFECTIVE STARTED GENERATED ENDED
        LOGGER "result_validity " VERDICT "early_stopping_result result_query_count "
    "result_qps_with_loadgen_overhead result_qps_without_loadgen_overhead "
    "early_stopping_latency_ss early_stopping_latency_ms " LATENCIES,
    [VT_MULTISTREAM] = BUILD
    "requested_multi_stream_expected_latency_ns requested_multi_stream_target_latency_percentile "
    "requested_multi_stream_samples_per_query " REQUESTED EFFECTIVE STARTED GENERATED ENDED LOGGER
    "result_validity " VERDICT
    "early_stopping_result result_query_count result_min_query_latency_ns "
    "result_max_query_latency_ns result_mean_query_latency_ns "
    "result_50.00_percentile_per_query_latency_ns result_90.00_percentile_per_query_latency_ns "
    "result_95.00_percentile_per_query_latency_ns result_97.00_percentile_per_query_latency_ns "
    "result_99.00_percentile_per_query_latency_ns result_99.90_percentile_per_query_latency_ns "
    "early_stopping_latency_ms " LATENCIES,
};

static void check_keys(const json_t *keys, const char *wanted)
{
    char name[96];
    size_t i = 0;

    for (; *wanted != '\0'; i++) {
        size_t n = strcspn(wanted, " ");
        snprintf(name, sizeof name, "%.*s", (int)n, wanted);
        assert_non_null(json_array_get(keys, i));
        assert_string_equal(json_string_value(json_array_get(keys, i)), name);
        wanted += n + (wanted[n] == ' ');
    }
    assert_int_equal(json_array_size(keys), i);
}

/* The first chunk of 64 samples, 32 in memory, seed 0, as the official library shuffled it. */
static const int loaded_set[32] = {27, 30, 1,  17, 9,  11, 4, 16, 26, 10, 24, 18, 21, 20, 7,  8,
                                   19, 5,  15, 12, 23, 14, 6, 2,  31, 29, 22, 0,  3,  28, 13, 25};

static void test_keys(void **state)
{
    struct vt_load_settings s = reference_settings();

    (void)state;
    for (int scenario = 0; scenario < VT_SCENARIO_COUNT; scenario++) {
        /* as slow as is expected: lasts long enough, and is valid */
        int64_t latency = scenario == VT_SINGLESTREAM  ? 300000
                          : scenario == VT_MULTISTREAM ? 300000
                          : scenario == VT_OFFLINE     ? 100000
                                                       : 10000;
        struct vt_load_report *report =
            run((enum vt_scenario)scenario, VT_PERFORMANCE, &s, latency);
        json_t *keys;
        write_logs(report);
        json_t *values = parse_detail(&keys);
        assert_string_equal(json_string_value(json_object_get(values, "result_validity")), "VALID");
        check_keys(keys, performance_keys[scenario]);
        assert_string_equal(json_string_value(json_object_get(values, "sut_name")),
                            "sut \"quoted\" \xef\xbf\xbd");
        json_t *set = json_object_get(values, "loaded_qsl_set");
        assert_int_equal(json_array_size(set), scenario == VT_MULTISTREAM ? 39 : 32);
        for (size_t i = 0; i < json_array_size(set); i++) {
            assert_int_equal(json_integer_value(json_array_get(set, i)), loaded_set[i % 32]);
        }
        assert_int_equal(json_integer_value(json_object_get(
                             values, "requested_performance_sample_count_override")),
                         0);
        json_decref(keys);
        json_decref(values);
        vt_load_report_free(report);
    }
}

/* Figures that the official library gave for the same settings. */
static void test_server_figures(void **state)
{
    struct vt_load_settings s = reference_settings();
    struct vt_load_report *report = run(VT_SERVER, VT_PERFORMANCE, &s, 10000);
    json_t *keys;

    (void)state;
    write_logs(report);
    json_t *values = parse_detail(&keys);
    assert_int_equal(json_integer_value(json_object_get(values, "generated_query_count")), 700);
    assert_true(json_real_value(json_object_get(values, "result_scheduled_samples_per_sec")) ==
                1957.07);
    assert_int_equal(json_integer_value(json_object_get(values, "effective_min_sample_count")),
                     700);
    json_decref(keys);
    json_decref(values);
    vt_load_report_free(report);
}

/* The lines of a text from one that begins with `from` to the next empty one. */
static const char *block(const char *text, const char *from)
{
    static char copy[2048];
    const char *at = strstr(text, from);
    assert_non_null(at);
    const char *end = strstr(at, "\n\n");
    assert_non_null(end);
    snprintf(copy, sizeof copy, "%.*s", (int)(end - at), at);
    return copy;
}

static void test_summary(void **state)
{
    struct vt_load_settings s = reference_settings();

    (void)state;
    struct vt_load_report *report = run(VT_SERVER, VT_PERFORMANCE, &s, 10000);
    report->sut_name = "PySUT";
    write_logs(report);
    const char *text = read_file(0);
    assert_int_equal(strncmp(text,
                             "================================================\n"
                             "MLPerf Results Summary\n"
                             "================================================\n"
                             "SUT name : PySUT\nScenario : Server\nMode     : PerformanceOnly\n"
                             "Completed samples per second    : 19",
                             217),
                     0);
    assert_string_equal(block(text, "Result is"), "Result is : VALID\n"
                                                  "  Performance constraints satisfied : Yes\n"
                                                  "  Min duration satisfied : Yes\n"
                                                  "  Min queries satisfied : Yes\n"
                                                  "  Early stopping satisfied: Yes\n"
                                                  "Early Stopping Result:\n"
                                                  " * Run successful.");
    assert_string_equal(block(text, "samples_per_query"),
                        "samples_per_query : 1\ntarget_qps : 2000\n"
                        "target_latency (ns): 100000000\nmax_async_queries : 0\n"
                        "min_duration (ms): 200\nmax_duration (ms): 0\n"
                        "min_query_count : 700\nmax_query_count : 0\nqsl_rng_seed : 0\n"
                        "sample_index_rng_seed : 0\nschedule_rng_seed : 0\n"
                        "accuracy_log_rng_seed : 0\naccuracy_log_probability : 0\n"
                        "accuracy_log_sampling_target : 0\nprint_timestamps : 0\n"
                        "performance_issue_unique : 0\nperformance_issue_same : 0\n"
                        "performance_issue_same_index : 0\nperformance_sample_count : 32\n"
                        "accuracy_sample_count : 64");
    assert_non_null(strstr(text, "\n\nNo warnings encountered during test.\n\n"
                                 "No errors encountered during test.\n"));
    vt_load_report_free(report);

    /* 20 queries, all above the limit */
    struct vt_load_settings few = s;
    few.min_query_count = 20;
    few.min_duration_ns = 1000000;
    few.server_target_latency_ns = 10;
    report = run(VT_SERVER, VT_PERFORMANCE, &few, 10000);
    report->sut_name = "x\ny";
    write_logs(report);
    assert_non_null(strstr(read_file(0), "\nSUT name : x?y\nScenario : "));
    assert_string_equal(block(read_file(0), "Result is"),
                        "Result is : INVALID\n"
                        "  Performance constraints satisfied : NO\n"
                        "  Min duration satisfied : Yes\n"
                        "  Min queries satisfied : Yes\n"
                        "  Early stopping satisfied: NO\n"
                        "Recommendations:\n"
                        " * Reduce target QPS to improve latency.\n"
                        "Early Stopping Result:\n"
                        " * Run unsuccessful.\n"
                        " * Processed 20 queries.\n"
                        " * Would need to run at least 3284 more queries,\n"
                        " with the run being successful if every additional\n"
                        " query were under latency.");
    vt_load_report_free(report);
}

static void test_summary_single_stream(void **state)
{
    struct vt_load_settings s = reference_settings();

    (void)state;
    s.min_duration_ns = 0;
    s.min_query_count = 20001;
    struct vt_load_report *report = run(VT_SINGLESTREAM, VT_PERFORMANCE, &s, 1748);
    write_logs(report);
    assert_non_null(strstr(read_file(0), "\n90.0th percentile latency (ns) : 1748\n"));
    /* "Would discard 1900" is what the official library said of 20001 queries */
    assert_string_equal(block(read_file(0), "Early Stopping Result:"),
                        "Early Stopping Result:\n"
                        " * Processed at least 64 queries (20001).\n"
                        " * Would discard 1900 highest latency queries.\n"
                        " * Early stopping 90.0th percentile estimate: 1748\n"
                        " * Early stopping 99.0th percentile estimate: 1748");
    assert_non_null(strstr(read_file(0), "QPS w/o loadgen overhead        : 572082.38\n\nMin"));
    vt_load_report_free(report);

    s.min_query_count = 101;
    report = run(VT_SINGLESTREAM, VT_PERFORMANCE, &s, 1748);
    write_logs(report);
    assert_string_equal(block(read_file(0), "Early Stopping Result:"),
                        "Early Stopping Result:\n"
                        " * Processed at least 64 queries (101).\n"
                        " * Would discard 2 highest latency queries.\n"
                        " * Early stopping 90.0th percentile estimate: 1748\n"
                        " * Not enough queries processed for 99.0th percentile\n"
                        " early stopping estimate (would need to process at\n"
                        " least 662 total queries).");
    vt_load_report_free(report);

    s.min_query_count = 20;
    report = run(VT_SINGLESTREAM, VT_PERFORMANCE, &s, 1748);
    json_t *keys;
    write_logs(report);
    assert_string_equal(block(read_file(0), "Result is"),
                        "Result is : INVALID\n"
                        "  Min duration satisfied : Yes\n"
                        "  Min queries satisfied : Yes\n"
                        "  Early stopping satisfied: NO\n"
                        "Recommendations:\n"
                        "Early Stopping Result:\n"
                        " * Only processed 20 queries.\n"
                        " * Need to process at least 64 queries for early stopping.");
    json_t *values = parse_detail(&keys);
    assert_string_equal(json_string_value(json_object_get(values, "early_stopping_result")),
                        " * Only processed 20 queries.  * Need to process at least 64 queries for "
                        "early stopping.");
    assert_string_equal(json_string_value(json_object_get(values, "result_invalid_reason")), "");
    json_decref(keys);
    json_decref(values);
    vt_load_report_free(report);
}

static void test_accuracy(void **state)
{
    struct vt_load_settings s = reference_settings();
    struct vt_load_report *report = run(VT_SERVER, VT_ACCURACY, &s, 1000);
    static const unsigned char bytes[3] = {0x0a, 0xff, 0x5e};
    struct vt_load_response responses[3] = {{0, 48, bytes, 3}, {7, 13, NULL, 0}, {2, 5, bytes, 1}};
    json_error_t where;
    json_t *keys;

    (void)state;
    report->responses = responses;
    report->n_responses = 3;
    struct vt_load_report copy = *report;
    write_logs(&copy);
    assert_string_equal(read_file(2),
                        "[\n"
                        "{ \"seq_id\" : 0, \"qsl_idx\" : 48, \"data\" : \"0AFF5E\" },\n"
                        "{ \"seq_id\" : 7, \"qsl_idx\" : 13, \"data\" : \"\" },\n"
                        "{ \"seq_id\" : 2, \"qsl_idx\" : 5, \"data\" : \"0A\" }\n"
                        "]\n");
    json_t *root = json_loads(read_file(2), 0, &where);
    assert_int_equal(json_array_size(root), 3);
    json_decref(root);
    assert_string_equal(read_file(0), "\nNo warnings encountered during test.\n\n"
                                      "No errors encountered during test.\n");
    json_t *values = parse_detail(&keys);
    assert_string_equal(json_string_value(json_object_get(values, "generic_message")),
                        "Starting accuracy mode");
    assert_null(json_object_get(values, "result_validity"));
    assert_string_equal(json_string_value(json_array_get(keys, json_array_size(keys) - 1)),
                        "power_end");
    json_decref(keys);
    json_decref(values);
    copy.n_responses = 0;
    write_logs(&copy);
    assert_string_equal(read_file(2), "[\n]\n");
    vt_load_report_free(report);
}

static void add_note(struct vt_load_report *report, int64_t at_ns, bool is_error, const char *text)
{
    struct vt_load_note *note = &report->notes[report->n_notes++];
    note->at_ns = at_ns;
    note->is_error = is_error;
    snprintf(note->text, sizeof note->text, "%s", text);
}

/* Notes are records of their own, in time, before the logger's figures; they are counted. */
static void test_notes(void **state)
{
    struct vt_load_settings s = reference_settings();
    struct vt_load_report *report = run(VT_OFFLINE, VT_PERFORMANCE, &s, 100000);
    json_t *keys;

    (void)state;
    report->n_notes = 0;
    add_note(report, 0, false, "a warning \"quoted\"\n\x01");
    add_note(report, 2000000, true, "an error");
    add_note(report, 3000000, true, "another");
    write_logs(report);
    assert_non_null(strstr(read_file(0), "\n1 warning encountered. See detailed log.\n"
                                         "\n2 ERRORS encountered. See detailed log.\n"));
    const char *text = read_file(1);
    const char *at[] = {strstr(text, "\"Ending naturally"), strstr(text, "\"another\""),
                        strstr(text, "\"an error\""), strstr(text, "logger_swap")};
    assert_true(at[0] != NULL && at[0] < at[2] && at[2] < at[1] && at[1] < at[3]);
    assert_non_null(strstr(at[2], "\"is_error\": true, \"is_warning\": false"));
    assert_int_equal(strncmp(strstr(at[2], "time_ms"), "time_ms\": 2.000000,", 19), 0);
    json_t *values = parse_detail(&keys);
    assert_int_equal(json_integer_value(json_object_get(values, "num_errors")), 2);
    assert_string_equal(json_string_value(json_object_get(values, "warning_generic_message")),
                        "a warning \"quoted\"\n\x01");
    json_decref(keys);
    json_decref(values);

    /* those that had no room count */
    report->notes_dropped = 7;
    report->errors_dropped = 4;
    write_logs(report);
    assert_non_null(strstr(read_file(0), "\n4 warnings encountered. See detailed log.\n"
                                         "\n6 ERRORS encountered. See detailed log.\n"));
    assert_non_null(strstr(read_file(1), "\"4 more errors and 3 more warnings came up"));
    report->errors_dropped = 0;
    write_logs(report);
    assert_non_null(strstr(read_file(0), "\n8 warnings encountered. See detailed log.\n"
                                         "\n2 ERRORS encountered. See detailed log.\n"));
    report->notes_dropped = 0;

    report->n_notes = 1;
    report->samples_lost = 3;
    report->valid = false;
    snprintf(report->first_failure, sizeof report->first_failure, "sample 9 was never completed");
    write_logs(report);
    assert_non_null(strstr(read_file(0), "\n1 ERROR encountered. See detailed log.\n"));
    assert_non_null(strstr(read_file(0), "Result is : INVALID\n"));
    assert_non_null(strstr(read_file(1), "3 samples were never completed: sample 9"));
    vt_load_report_free(report);
}

static void test_out_of_memory(void **state)
{
    struct vt_load_settings s = reference_settings();
    struct vt_load_report *report = run(VT_SINGLESTREAM, VT_PERFORMANCE, &s, 300000);
    enum vt_status status = VT_ERR_MEMORY;
    int allowed = 0;

    (void)state;
    for (; status != VT_OK && allowed < 100; allowed++) {
        struct vt_error err = VT_ERROR_INIT;
        struct vt_torture torture;
        vt_torture_begin(&torture, allowed);
        status = vt_mlperf_log_write(report, &(struct vt_test_logs){.folder = folder}, &err);
        assert_int_equal(vt_torture_end(&torture), 0);
        assert_true(status == VT_OK || status == VT_ERR_MEMORY);
        assert_int_equal(err.status, status);
    }
    assert_int_equal(status, VT_OK);
    assert_true(allowed > 8);
    vt_load_report_free(report);
}

static void test_cannot_write(void **state)
{
    struct vt_load_settings s = reference_settings();
    struct vt_load_report *report = run(VT_SERVER, VT_PERFORMANCE, &s, 10000);
    struct vt_error err = VT_ERROR_INIT;
    struct rlimit before;
    char path[128];

    (void)state;
    assert_int_equal(
        vt_mlperf_log_write(report, &(struct vt_test_logs){.folder = "/nonexistent"}, &err),
        VT_ERR_WRITE);
    assert_non_null(strstr(err.text, "/nonexistent/mlperf_log_summary.txt"));

    /* a disk that is full within the detail log */
    err = (struct vt_error)VT_ERROR_INIT;
    remove_files();
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit limit = {8000, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    enum vt_status status =
        vt_mlperf_log_write(report, &(struct vt_test_logs){.folder = folder}, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, VT_ERR_WRITE);
    assert_non_null(strstr(err.text, "mlperf_log_detail.txt"));
    path_of(1, path, sizeof path);
    assert_int_not_equal(access(path, F_OK), 0);
    vt_load_report_free(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys),          cmocka_unit_test(test_server_figures),
        cmocka_unit_test(test_summary),       cmocka_unit_test(test_summary_single_stream),
        cmocka_unit_test(test_accuracy),      cmocka_unit_test(test_notes),
        cmocka_unit_test(test_out_of_memory), cmocka_unit_test(test_cannot_write),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
