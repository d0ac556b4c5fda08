/* SPDX-License-Identifier: Apache-2.0 */
/* Whole tests: the phases of each mode, the files and their names. */
#include <sys/stat.h>

#include "test_bench.h"
#include "vt_torture.h"

static void check_messages(const char *const *wanted, size_t n)
{
    json_t *values = values_of("generic_message");
    for (size_t i = 0; i < n; i++) {
        assert_non_null(json_array_get(values, i));
        assert_string_equal(json_string_value(json_array_get(values, i)), wanted[i]);
    }
    assert_int_equal(json_array_size(values), n);
    json_decref(values);
}

/* Accuracy of both sets, then performance, in one set of logs. */
static void test_submission(void **state)
{
    static const char *const messages[] = {"Starting accuracy mode", "Starting performance mode"};
    struct bench *b = *state;

    b->settings.mode = VT_SUBMISSION;
    run_well(b);
    assert_non_null(b->result.accuracy);
    assert_non_null(b->result.performance);
    assert_int_equal(b->result.requested.mode, VT_SUBMISSION);
    assert_int_equal(b->n_phases, 2);
    assert_int_equal(b->phases[0], VT_ACCURACY);
    assert_int_equal(b->phases[1], VT_PERFORMANCE);
    assert_int_equal(b->steps[1], 0);
    assert_int_equal(b->result.accuracy->queries_issued, 64);
    assert_int_equal(b->result.performance->queries_issued, 700);
    check_messages(messages, 2);
    check_value("requested_test_mode", "SubmissionRun");
    check_value("effective_test_mode", "SubmissionRun");
    check_value("result_validity", "VALID");
    assert_int_equal(count_of("loaded_qsl_set"), 3);
    assert_int_equal(count_of("power_begin"), 3);
    assert_int_equal(count_of("get_sut_name_duration_ns"), 1);
    json_t *counts = values_of("generated_query_count");
    assert_int_equal(json_integer_value(json_array_get(counts, 0)), 32);
    assert_int_equal(json_integer_value(json_array_get(counts, 1)), 32);
    json_decref(counts);
    /* as LoadGen has it for 32 queries at 2000 a second, seed 0 */
    json_t *spans = values_of("generated_query_duration");
    assert_int_equal(json_integer_value(json_array_get(spans, 0)), 16041348);
    assert_int_equal(json_integer_value(json_array_get(spans, 1)), 16041348);
    json_decref(spans);
    assert_non_null(strstr(read_file("mlperf_log_summary.txt"), "\nMode     : SubmissionRun\n"));
    json_t *responses = json_loads(read_file("mlperf_log_accuracy.json"), 0, NULL);
    assert_int_equal(json_array_size(responses), 64);
    json_decref(responses);
}

static void test_accuracy(void **state)
{
    struct bench *b = *state;

    b->settings.mode = VT_ACCURACY;
    b->settings.scenario = VT_MULTISTREAM;
    b->sut.style = VT_FAKE_INLINE;
    run_well(b);
    assert_null(b->result.performance);
    json_t *counts = values_of("generated_query_count");
    assert_int_equal(json_array_size(counts), 2);
    assert_int_equal(json_integer_value(json_array_get(counts, 0)), 4);
    json_decref(counts);
    assert_int_equal(count_of("result_validity"), 0);
    assert_string_equal(read_file("mlperf_log_summary.txt"),
                        "\nNo warnings encountered during test.\n"
                        "\nNo errors encountered during test.\n");
}

/* The seeds of the compliance test, and performance whatever was asked for. */
static void test_test05(void **state)
{
    struct bench *b = *state;

    b->settings.mode = VT_SUBMISSION;
    b->settings.test05 = true;
    b->settings.test05_qsl_rng_seed = 5;
    b->settings.test05_schedule_rng_seed = 6;
    b->settings.qsl_rng_seed = 1;
    run_well(b);
    assert_null(b->result.accuracy);
    assert_int_equal(b->result.requested.qsl_rng_seed, 1);
    assert_int_equal(b->result.performance->settings.qsl_rng_seed, 5);
    check_value("effective_test_mode", "PerformanceOnly");
    check_value("warning_generic_message", "Test05 flag detected Overriding random seeds");
    json_t *seeds = values_of("requested_qsl_rng_seed");
    assert_int_equal(json_integer_value(json_array_get(seeds, 0)), 5);
    json_decref(seeds);
    json_t *sets = values_of("loaded_qsl_set");
    /* the first that LoadGen loads with seed 5 */
    assert_int_equal(json_integer_value(json_array_get(json_array_get(sets, 0), 0)), 11);
    json_decref(sets);
    assert_non_null(strstr(read_file("mlperf_log_summary.txt"), "\n1 warning encountered."));
}

/* A test that is stopped leaves its logs. */
static void test_stopped(void **state)
{
    struct bench *b = *state;

    b->settings.mode = VT_PERFORMANCE;
    b->sut.stop_at = 300;
    run_well(b);
    assert_true(b->result.performance->interrupted);
    check_value("result_validity", "INVALID");
    vt_test_result_release(&b->result);

    atomic_store(&b->control.stop, false);
    b->settings.mode = VT_SUBMISSION;
    b->sut.stop_at = 10;
    run_well(b);
    assert_true(b->result.accuracy->interrupted);
    assert_null(b->result.performance);
    assert_true(count_of("error_runtime") >= 1);
    assert_int_equal(count_of("power_end"), 1);
    vt_test_result_release(&b->result);

    atomic_store(&b->control.stop, false);
    b->settings.mode = VT_FIND_PEAK;
    b->sut.stop_at = 900; /* in none of the short runs: the second one has about 800 */
    b->settings.min_duration_ns = 500000000;
    run_well(b);
    assert_int_equal(b->result.peak_steps, 1);
    assert_true(b->result.performance->interrupted);
    assert_true(b->result.peak_qps == 0);
    check_value("result_validity", "INVALID");
}

/* So does one that fails, with the reason; the failure is what comes back. */
static void test_failed(void **state)
{
    struct bench *b = *state;

    b->settings.mode = VT_SUBMISSION;
    b->sut.refuse_at = 40; /* of the second set */
    assert_int_equal(run(b), VT_ERR_ENGINE);
    assert_string_equal(b->err.text, "the double refuses sample 40");
    check_value("error_runtime", "The test failed: the double refuses sample 40");
    assert_non_null(strstr(read_file("mlperf_log_summary.txt"), "\n1 ERROR encountered."));
    assert_int_equal(count_of("result_validity"), 0);
}

static void test_names(void **state)
{
    struct bench *b = *state;
    static const char *const names[] = {"x-summary-7.txt", "x-detail-7.txt", "x-accuracy-7.json",
                                        "x-trace-7.json"};
    char path[256];
    int n = 0;

    b->logs.prefix = "x-";
    b->logs.suffix = "-7";
    b->logs.trace = true;
    run_well(b);
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        assert_int_equal(access(path, R_OK), 0);
    }
    empty_folder();
    vt_test_result_release(&b->result);
    b->logs.prefix = NULL;
    b->logs.suffix = NULL;
    b->logs.trace = false;
    b->logs.prefix_with_datetime = true;
    run_well(b);
    DIR *dir = opendir(folder);
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        int year = 0, used = 0;
        if (entry->d_name[0] != '.') {
            /* mlperf_log_2026-11-30T10:12:07Z_detail.txt */
            assert_int_equal(strncmp(entry->d_name, "mlperf_log_2", 12), 0);
            assert_int_equal(
                sscanf(entry->d_name, "mlperf_log_%4d-%*2d-%*2dT%*2d:%*2d:%*2dZ_%n", &year, &used),
                1);
            assert_int_equal(used, 32);
            n++;
        }
    }
    closedir(dir);
    assert_int_equal(n, 3);
    vt_test_result_release(&b->result);
    empty_folder();
    b->logs.folder = NULL;
    run_well(b);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(mkdir(folder, 0700), 0);
}

static void test_copies(void **state)
{
    struct bench *b = *state;
    char path[] = "/tmp/vatio-stdout-XXXXXX";
    static char copy[1 << 20];

    b->logs.copy_summary_to_stdout = true;
    b->logs.copy_detail_to_stdout = true;
    fflush(stdout);
    int kept = dup(1), fd = mkstemp(path);
    assert_true(kept >= 0 && fd >= 0);
    assert_true(dup2(fd, 1) >= 0);
    enum vt_status status = run(b);
    fflush(stdout);
    assert_true(dup2(kept, 1) >= 0);
    close(kept);
    assert_int_equal(status, VT_OK);
    ssize_t n = pread(fd, copy, sizeof copy - 1, 0);
    close(fd);
    unlink(path);
    assert_true(n > 0);
    copy[n] = '\0';
    /* the same lines, the summary's among the detail's */
    assert_non_null(strstr(copy, "\nResult is : VALID\n"));
    assert_non_null(strstr(copy, "\nNo errors encountered during test.\n"));
    char *rest = read_file("mlperf_log_detail.txt");
    for (char *line = strtok_r(rest, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        assert_non_null(strstr(copy, line));
    }
}

static double number(const json_t *event, const char *key)
{
    assert_true(json_is_number(json_object_get(event, key)));
    return json_number_value(json_object_get(event, key));
}

/* Every sample begins once and ends once, at its times. */
static void test_trace(void **state)
{
    struct bench *b = *state;
    int issues = 0, begins = 0, ends = 0, parts = 0;
    size_t i;
    json_t *event;

    b->logs.trace = true;
    b->sut.lose = b->sut.lose_to = 5;
    b->settings.completion_timeout_ns = 1000000000;
    run_well(b);
    const struct vt_load_report *r = b->result.performance;
    json_t *root = json_loads(read_file("mlperf_log_trace.json"), JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    json_array_foreach(json_object_get(root, "traceEvents"), i, event)
    {
        const char *ph = json_string_value(json_object_get(event, "ph"));
        assert_non_null(ph);
        if (strcmp(ph, "M") != 0) {
            assert_true(number(event, "ts") >= 0);
        }
        issues += strcmp(ph, "i") == 0;
        parts += strcmp(ph, "C") == 0;
        if (strcmp(ph, "b") == 0) {
            const json_t *args = json_object_get(event, "args");
            const struct vt_sample_record *record = &r->records[begins];
            assert_int_equal(json_integer_value(json_object_get(event, "id")), begins);
            assert_int_equal(json_integer_value(json_object_get(args, "sample_idx")),
                             record->index);
            if (begins == 5) {
                assert_true(json_is_true(json_object_get(args, "lost")));
            } else {
                assert_int_equal(json_integer_value(json_object_get(args, "complete_ns")),
                                 record->done_ns - record->scheduled_ns);
            }
            begins++;
        }
        if (strcmp(ph, "e") == 0) {
            assert_int_equal(json_integer_value(json_object_get(event, "id")), ends);
            ends++;
        }
    }
    assert_int_equal(begins, r->samples_issued);
    assert_int_equal(ends, begins);
    assert_int_equal(issues, r->queries_issued);
    assert_int_equal(parts, r->samples_completed);
    json_decref(root);
}

static void test_cannot_write(void **state)
{
    struct bench *b = *state;

    b->logs.folder = "/nonexistent";
    assert_int_equal(run(b), VT_ERR_WRITE);
    assert_non_null(strstr(b->err.text, "/nonexistent/mlperf_log_summary.txt"));
    assert_int_equal(b->sut.issued, 0); /* told before anything is measured */
}

static void test_out_of_memory(void **state)
{
    struct bench *b = *state;
    enum vt_status status = VT_ERR_MEMORY;
    int allowed = 0;

    b->settings.mode = VT_SUBMISSION;
    b->settings.min_query_count = 20;
    b->settings.min_duration_ns = 0;
    b->logs.trace = true;
    for (; status != VT_OK && allowed < 200; allowed++) {
        struct vt_torture torture;
        vt_torture_begin(&torture, allowed);
        status = run(b);
        vt_test_result_release(&b->result);
        int live = vt_torture_end(&torture);
        assert_int_equal(live, 0);
        assert_true(status == VT_OK || status == VT_ERR_MEMORY);
    }
    assert_int_equal(status, VT_OK);
    assert_true(allowed > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_submission),   TEST(test_accuracy),      TEST(test_test05), TEST(test_stopped),
        TEST(test_failed),       TEST(test_names),         TEST(test_copies), TEST(test_trace),
        TEST(test_cannot_write), TEST(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, setup_folder, teardown_folder);
}
