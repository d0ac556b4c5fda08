/* SPDX-License-Identifier: Apache-2.0 */
/* FindPeakPerformance: the rates it tries, where it ends, what it says. */
#include <math.h>

#include "test_bench.h"

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

/* A system that keeps up with everything: the widening ends, and says why. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_peak),
        TEST(test_peak_precision),
        TEST(test_peak_never_held),
        TEST(test_peak_is_not_of_failures),
        TEST(test_peak_has_no_end),
        TEST(test_peak_refused),
    };
    return cmocka_run_group_tests(tests, setup_folder, teardown_folder);
}
