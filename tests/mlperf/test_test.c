/* SPDX-License-Identifier: Apache-2.0 */
/* Whole tests: the phases of each mode, the search for the peak, the files and their names. */
#include <dirent.h>
#include <jansson.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mlperf/test.h"
#include "vt_load_double.h"
#include "vt_test.h"
#include "vt_torture.h"

static char folder[] = "/tmp/vatio-test-XXXXXX";

struct bench {
    struct vt_fake_clock clock;
    struct vt_fake_sut sut;
    struct vt_fake_qsl qsl;
    struct vt_load_control control;
    struct vt_load_settings settings;
    struct vt_test_logs logs;
    struct vt_test_watch watch;
    struct vt_test_result result;
    enum vt_mode phases[64]; /* what the watch heard */
    uint32_t steps[64], n_phases;
    struct vt_error err;
};

static void on_begin(void *ctx, enum vt_mode phase, uint32_t step, double qps)
{
    struct bench *b = ctx;

    assert_true(b->n_phases < 64 && qps > 0);
    b->phases[b->n_phases] = phase;
    b->steps[b->n_phases++] = step;
}

static int setup_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int teardown_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static int setup(void **state)
{
    struct bench *b = calloc(1, sizeof *b);

    vt_fake_init(&b->clock, &b->sut, &b->qsl, &b->control, 64, 32);
    b->sut.style = VT_FAKE_QUEUED;
    b->sut.fixed_ns = 10000;
    vt_load_settings_default(&b->settings);
    b->settings.scenario = VT_SERVER;
    b->settings.server_target_qps = 2000;
    b->settings.server_find_peak_qps_decimals_of_precision = 1;
    b->settings.server_find_peak_qps_boundary_step_size = 1;
    b->settings.min_duration_ns = 200000000;
    b->settings.min_query_count = 700;
    b->logs.folder = folder;
    b->watch = (struct vt_test_watch){on_begin, b};
    *state = b;
    return 0;
}

static void empty_folder(void)
{
    char path[512];
    struct dirent *entry;
    DIR *dir = opendir(folder);

    while ((entry = readdir(dir)) != NULL) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        (void)unlink(path);
    }
    closedir(dir);
}

static int teardown(void **state)
{
    struct bench *b = *state;

    vt_test_result_release(&b->result);
    vt_fake_release(&b->sut);
    free(b);
    empty_folder();
    return 0;
}

static enum vt_status run(struct bench *b)
{
    b->err = (struct vt_error)VT_ERROR_INIT;
    return vt_test_run(&b->settings, &b->sut.seam, &b->qsl.seam, &b->control, &b->logs, &b->watch,
                       &b->err, &b->result);
}

static void run_well(struct bench *b)
{
    enum vt_status status = run(b);
    assert_string_equal(b->err.text, "");
    assert_int_equal(status, VT_OK);
}

static char *read_file(const char *name)
{
    static char text[1 << 22];
    char path[256];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *stream = fopen(path, "r");
    assert_non_null(stream);
    size_t n = fread(text, 1, sizeof text - 1, stream);
    assert_true(n < sizeof text - 1);
    text[n] = '\0';
    fclose(stream);
    return text;
}

/* The values under `key` in the detail log, in order. The caller owns the array. */
static json_t *values_of(const char *key)
{
    json_t *values = json_array();
    char *rest = read_file("mlperf_log_detail.txt");

    for (char *line = strtok_r(rest, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        assert_int_equal(strncmp(line, ":::MLLOG ", 9), 0);
        json_t *record = json_loads(line + 9, 0, NULL);
        assert_non_null(record);
        if (strcmp(json_string_value(json_object_get(record, "key")), key) == 0) {
            json_array_append(values, json_object_get(record, "value"));
        }
        json_decref(record);
    }
    return values;
}

static size_t count_of(const char *key)
{
    json_t *values = values_of(key);
    size_t n = json_array_size(values);
    json_decref(values);
    return n;
}

static void check_value(const char *key, const char *wanted)
{
    json_t *values = values_of(key);
    assert_int_equal(json_array_size(values), 1);
    assert_string_equal(json_string_value(json_array_get(values, 0)), wanted);
    json_decref(values);
}

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

/* One server with a queue: above 1 / its time it falls behind, well below it keeps up. */
static void test_peak(void **state)
{
    struct bench *b = *state;

    b->settings.mode = VT_FIND_PEAK;
    b->settings.server_find_peak_qps_decimals_of_precision = 0;
    b->settings.server_target_latency_ns = 400000;
    b->settings.min_duration_ns = 50000000;
    b->sut.fixed_ns = 100000; /* 10,000 a second */
    run_well(b);
    assert_true(b->result.peak_qps > 4000 && b->result.peak_qps < 10000);
    assert_true(b->result.performance->settings.server_target_qps == b->result.peak_qps);
    assert_true(b->result.performance->performance_met);
    assert_null(b->result.accuracy);
    /* 2000, 4000 and 8000, perhaps 16000; then at most 13 bisections of 8000 */
    assert_true(b->result.peak_steps > 10 && b->result.peak_steps < 18);
    assert_int_equal(count_of("generated_query_count"), b->result.peak_steps);
    assert_int_equal(b->n_phases, b->result.peak_steps);
    assert_int_equal(b->steps[b->n_phases - 1], b->result.peak_steps);
    assert_int_equal(count_of("num_errors"), 1);
    assert_int_equal(count_of("error_runtime"), 0);
    char *text = read_file("mlperf_log_detail.txt");
    assert_non_null(strstr(text, "base settings field: 2000.000000\""));
    assert_non_null(strstr(text, "FindBoundaries: Checking fields [2000.000000, 4000.000000)\""));
    char found[128];
    snprintf(found, sizeof found, "Found peak performance field: %f\"", b->result.peak_qps);
    assert_non_null(strstr(text, found));
    snprintf(found, sizeof found, "\ntarget_qps : %g\n", b->result.peak_qps);
    assert_non_null(strstr(read_file("mlperf_log_summary.txt"), found));
    assert_non_null(
        strstr(read_file("mlperf_log_summary.txt"), "\nMode     : FindPeakPerformance\n"));
}

/* No bisection ends before the bounds are one apart at the precision. */
static void test_peak_precision(void **state)
{
    struct bench *b = *state;
    uint32_t steps[2];

    b->settings.mode = VT_FIND_PEAK;
    b->settings.server_target_latency_ns = 400000;
    b->settings.min_duration_ns = 20000000;
    b->settings.min_query_count = 20;
    b->sut.fixed_ns = 100000;
    for (int i = 0; i < 2; i++) {
        b->settings.server_find_peak_qps_decimals_of_precision = i == 0 ? 0 : 1;
        vt_test_result_release(&b->result);
        run_well(b);
        steps[i] = b->result.peak_steps;
    }
    /* a factor of ten takes three or four halvings more */
    assert_true(steps[1] >= steps[0] + 3 && steps[1] <= steps[0] + 4);
}

static void test_peak_never_held(void **state)
{
    struct bench *b = *state;

    b->settings.mode = VT_FIND_PEAK;
    b->settings.server_target_latency_ns = 1;
    run_well(b);
    assert_true(b->result.peak_qps == 0);
    assert_int_equal(b->result.peak_steps, 1);
    assert_non_null(b->result.performance);
    check_value("error_runtime",
                "FindPeakPerformance: Initial lower bound does not satisfy performance "
                "constraints, msg: Reduce target QPS to improve latency.");
    check_value("result_validity", "INVALID");
}

/* A system that keeps up with everything: the widening ends, and says why. */
/* An answer that is an error comes fast. */
static void test_peak_is_not_of_failures(void **state)
{
    struct bench *b = *state;

    b->settings.mode = VT_FIND_PEAK;
    b->sut.fail = 5;
    run_well(b);
    assert_true(b->result.performance->performance_met);
    assert_true(b->result.peak_qps == 0);
    assert_int_equal(b->result.peak_steps, 1);
    check_value("result_validity", "INVALID");
}

static void test_peak_has_no_end(void **state)
{
    struct bench *b = *state;

    b->settings.mode = VT_FIND_PEAK;
    b->settings.min_duration_ns = 0;
    b->settings.server_find_peak_qps_boundary_step_size = 0.01;
    b->sut.style = VT_FAKE_UNLIMITED;
    run_well(b);
    assert_int_equal(b->result.peak_steps, 1 + VT_PEAK_WIDENINGS_MAX);
    assert_true(fabs(b->result.peak_qps - 2000 * pow(1.01, VT_PEAK_WIDENINGS_MAX)) < 1e-6);
    json_t *errors = values_of("error_runtime");
    assert_int_equal(json_array_size(errors), 1);
    assert_non_null(strstr(json_string_value(json_array_get(errors, 0)), "after 40 steps"));
    json_decref(errors);
    check_value("result_validity", "VALID");
}

static void test_peak_refused(void **state)
{
    struct bench *b = *state;

    b->settings.mode = VT_FIND_PEAK;
    b->settings.server_find_peak_qps_boundary_step_size = 0;
    assert_int_equal(run(b), VT_ERR_USAGE);
    assert_non_null(strstr(b->err.text, "boundary_step_size"));
    b->settings.server_find_peak_qps_boundary_step_size = 1;
    b->settings.scenario = VT_OFFLINE;
    assert_int_equal(run(b), VT_ERR_USAGE);
    assert_non_null(
        strstr(b->err.text, "Finding peak performance is only supported in Server scenarios."));
    assert_int_equal(b->sut.issued, 0);
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
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(test_submission),
        TEST(test_accuracy),
        TEST(test_test05),
        TEST(test_peak),
        TEST(test_peak_precision),
        TEST(test_peak_never_held),
        TEST(test_peak_is_not_of_failures),
        TEST(test_peak_has_no_end),
        TEST(test_peak_refused),
        TEST(test_stopped),
        TEST(test_failed),
        TEST(test_names),
        TEST(test_copies),
        TEST(test_trace),
        TEST(test_cannot_write),
        TEST(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, setup_folder, teardown_folder);
}
