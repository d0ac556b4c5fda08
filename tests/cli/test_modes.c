/* SPDX-License-Identifier: Apache-2.0 */
/* `vatio run` in LoadGen's modes, with traces and with tokens. */
#include "vt_test.h"

#include <stdbool.h>
#include <unistd.h>

#include "vatio.h"

static void assert_file(const char *name, bool there)
{
    if ((access(work_path(name), R_OK) == 0) != there) {
        fail_msg("%s is %s", name, there ? "missing" : "there");
    }
}

/* The whole of a file of the work folder; the caller frees it. */
static char *text_of(const char *name)
{
    FILE *file = fopen(work_path(name), "rb");
    if (file == NULL) {
        fail_msg("%s is missing", name);
    }
    (void)fseek(file, 0, SEEK_END);
    size_t size = (size_t)ftell(file);
    rewind(file);
    char *text = calloc(1, size + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, size, file), size);
    (void)fclose(file);
    return text;
}

static void assert_text(const char *name, const char *part)
{
    char *text = text_of(name);
    if (strstr(text, part) == NULL) {
        fail_msg("%s has no '%s'", name, part);
    }
    free(text);
}

static const char *string_of(json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* Accuracy and performance are two entries of one test, which has one set of logs. */
static void a_submission_is_one_test(void **state)
{
    (void)state;
    struct outcome outcome =
        vatio("run", "digits", "--mode", "submission", "-s", "server,multistream,offline", "-q",
              "300", "--duration", "150ms", "--max-latency", "5s", "--json", "-o", "sub", NULL);
    json_t *root = run_json(&outcome);
    static const char *const scenarios[] = {"server", "multistream", "offline"};
    for (size_t i = 0; i < 3; i++) {
        json_t *accuracy = result_of(root, scenarios[i], "accuracy");
        json_t *performance = result_of(root, scenarios[i], "performance");
        assert_string_equal(string_of(accuracy, "test_mode"), "SubmissionRun");
        assert_string_equal(string_of(performance, "test_mode"), "SubmissionRun");
        assert_true(json_is_true(json_object_get(json_object_get(accuracy, "quality"), "pass")));
        assert_int_equal(json_integer_value(json_object_get(accuracy, "samples")), 360);
        assert_true(json_integer_value(json_object_get(accuracy, "requests")) > 0);
        assert_true(json_number_value(
                        json_object_get(json_object_get(performance, "metric"), "value")) > 0);
    }
    json_decref(root);
    outcome_free(&outcome);
    assert_file("sub/server/submission/accuracy/records.vtr", true);
    assert_file("sub/server/submission/performance/records.vtr", true);
    assert_file("sub/server/submission/performance/mlperf_log_detail.txt", false);
    assert_file("sub/server/performance", false);
    assert_text("sub/server/submission/mlperf_log_detail.txt",
                "\"requested_test_mode\", \"value\": \"SubmissionRun\"");
    assert_text("sub/server/submission/mlperf_log_detail.txt", "\"get_sut_name_duration_ns\"");
    assert_text("sub/multistream/submission/mlperf_log_summary.txt", "Mode     : SubmissionRun\n");
    char *text = text_of("sub/offline/submission/mlperf_log_accuracy.json");
    json_t *responses = json_loads(text, 0, NULL);
    assert_int_equal(json_array_size(responses), 360);
    json_decref(responses);
    free(text);
}

static void find_peak_is_a_test_of_server(void **state)
{
    (void)state;
    struct outcome outcome =
        vatio("run", "digits", "-e", "null", "--mode", "find-peak", "-q", "4000", "--max-latency",
              "1us", "--duration", "20ms", "--json", "-o", "peak", NULL);
    json_t *root = run_json(&outcome);
    /* Nothing answers within a microsecond of its time: the first rate does not hold. */
    assert_int_equal(outcome.code, 1);
    assert_int_equal(json_array_size(json_object_get(root, "results")), 1);
    json_t *server = result_of(root, "server", "performance");
    assert_string_equal(string_of(server, "test_mode"), "FindPeakPerformance");
    json_t *peak = json_object_get(server, "find_peak");
    assert_true(json_is_null(json_object_get(peak, "qps")));
    assert_int_equal(json_integer_value(json_object_get(peak, "runs")), 1);
    bool told = false;
    json_t *reason;
    size_t i;
    json_array_foreach(json_object_get(server, "reasons"), i, reason)
    {
        told = told || strstr(json_string_value(reason), "find-peak starts at 4000 queries/s");
    }
    assert_true(told);
    json_decref(root);
    outcome_free(&outcome);
    assert_text("peak/server/find-peak/mlperf_log_detail.txt",
                "FindPeakPerformance: Check validity of the base settings field: 4000");
    assert_file("peak/server/find-peak/records.vtr", true);

    outcome =
        vatio("run", "digits", "-e", "null", "--mode", "find-peak", "-q", "100", "--max-latency",
              "10s", "--duration", "20ms", "--set", "server_find_peak_qps_decimals_of_precision=0",
              "--set", "max_query_count=800", "--max-duration", "50ms", "--min-query-count", "1",
              "--json", "-o", "peak2", NULL);
    root = run_json(&outcome);
    server = result_of(root, "server", "performance");
    peak = json_object_get(server, "find_peak");
    assert_true(json_number_value(json_object_get(peak, "qps")) >= 100);
    assert_true(json_integer_value(json_object_get(peak, "runs")) >= 2);
    assert_true(json_number_value(json_object_get(server, "target_qps")) ==
                json_number_value(json_object_get(peak, "qps")));
    json_decref(root);
    outcome_free(&outcome);
}

/* The mode may come from a file; what it cannot be is one line. */
static void modes_come_from_files(void **state)
{
    (void)state;
    static const char zero[] = "*.Offline.mode = 0\n", three[] = "*.*.mode = 3\n";
    write_work_file("zero.conf", zero, sizeof zero - 1);
    write_work_file("three.conf", three, sizeof three - 1);
    struct outcome outcome = vatio("run", "digits", "-s", "offline", "--user-conf", "zero.conf",
                                   "--duration", "50ms", "--json", "-o", "zero", NULL);
    json_t *root = run_json(&outcome);
    assert_string_equal(string_of(result_of(root, "offline", "accuracy"), "test_mode"),
                        "SubmissionRun");
    json_decref(root);
    outcome_free(&outcome);
    assert_file("zero/offline/submission/mlperf_log_summary.txt", true);
    assert_one_error(vatio("run", "digits", "-s", "offline", "--user-conf", "three.conf", NULL), 2,
                     "find-peak is a test of Server, not of Offline");
    assert_one_error(
        vatio("run", "digits", "-s", "server,multistream", "--mode", "find-peak", NULL), 2,
        "give --scenario server");
    assert_one_error(vatio("audit", "digits", "--mode", "find-peak", NULL), 2,
                     "--mode performance");
    assert_one_error(vatio("run", "digits", "--mode", "peak", NULL), 2, "find-peak");
}

static void a_trace_has_every_sample(void **state)
{
    (void)state;
    struct outcome outcome =
        vatio("run", "digits", "-s", "server", "-q", "500", "--mode", "performance", "--duration",
              "100ms", "--min-query-count", "1", "--trace", "--json", "-o", "trace", NULL);
    json_t *root = run_json(&outcome);
    json_int_t samples =
        json_integer_value(json_object_get(result_of(root, "server", "performance"), "samples"));
    json_decref(root);
    outcome_free(&outcome);
    char *text = text_of("trace/server/performance/run_1/mlperf_log_trace.json");
    json_t *trace = json_loads(text, 0, NULL);
    free(text);
    assert_non_null(trace);
    json_int_t begun = 0;
    size_t i;
    json_t *event;
    json_array_foreach(json_object_get(trace, "traceEvents"), i, event)
    {
        begun += strcmp(string_of(event, "name"), "Sample") == 0 &&
                 strcmp(string_of(event, "ph"), "b") == 0;
    }
    assert_int_equal(begun, samples);
    json_decref(trace);
}

static void tokens_are_measured_where_an_engine_tells_them(void **state)
{
    (void)state;
    assert_one_error(vatio("run", "digits", "--tokens", "--duration", "50ms", NULL), 2,
                     "engine native tells no tokens of digits: leave --tokens out");
    struct outcome outcome =
        vatio("run", "digits", "--workload", "tensor", "-e", VT_TEST_FAULT, "--engine-option",
              "fault=tokens", "--tokens", "-s", "server,offline", "-q", "10000", "--duration",
              "100ms", "--ttft-latency", "5s", "--tpot-latency", "5s", "--min-query-count", "1",
              "--json", "-o", "tokens", NULL);
    json_t *root = run_json(&outcome);
    assert_int_equal(outcome.code, 0);
    json_t *server = result_of(root, "server", "performance");
    json_t *tokens = json_object_get(server, "tokens");
    assert_int_equal(json_integer_value(json_object_get(tokens, "total")),
                     5 * json_integer_value(json_object_get(server, "samples")));
    assert_true(json_number_value(json_object_get(tokens, "per_second")) > 0);
    assert_true(
        json_integer_value(json_object_get(json_object_get(tokens, "first_token_ns"), "p99")) > 0);
    assert_int_equal(json_integer_value(json_object_get(tokens, "first_token_limit_ns")),
                     5000000000);
    tokens = json_object_get(result_of(root, "offline", "performance"), "tokens");
    assert_true(json_is_null(json_object_get(tokens, "first_token_limit_ns")));
    json_decref(root);
    outcome_free(&outcome);
    assert_text("tokens/server/performance/run_1/mlperf_log_detail.txt",
                "result_first_token_99.00_percentile_latency_ns");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_submission_is_one_test),
        cmocka_unit_test(find_peak_is_a_test_of_server),
        cmocka_unit_test(modes_come_from_files),
        cmocka_unit_test(a_trace_has_every_sample),
        cmocka_unit_test(tokens_are_measured_where_an_engine_tells_them),
    };
    return cmocka_run_group_tests(tests, make_work_folder, remove_work_folder);
}
