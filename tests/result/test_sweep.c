/* SPDX-License-Identifier: Apache-2.0 */
/* What a sweep takes from the result of a run, and its table. */
#include "result/sweep.h"

#include "vt_test.h"

#include <math.h>

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/vatio-sweep-XXXXXX");
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[128];
    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static enum vt_status read_run(const char *json, const char *scenario, struct vt_error *err,
                               struct vt_sweep_measured *ret)
{
    char path[128];

    (void)snprintf(path, sizeof path, "%s/result.json", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs(json, file);
    assert_int_equal(fclose(file), 0);
    return vt_sweep_read_run(folder, scenario, err, ret);
}

#define RUN(more, entry)                                                                           \
    "{\"partial\": false, \"engine\": {\"lanes\": 2}, \"results\": [{\"scenario\": \"offline\", "  \
    "\"mode\": \"accuracy\"}, {\"scenario\": \"" more "\", \"mode\": \"performance\", "            \
    "\"valid\": true, \"failure\": null, \"samples_completed\": 1000, \"duration_ns\": "           \
    "2000000000, \"requests\": 100, " entry "}]}"

static void test_offline(void **state)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_sweep_measured m;
    (void)state;

    assert_int_equal(
        read_run(RUN("offline",
                     "\"metric\": {\"name\": \"samples_per_second\", \"value\": 512.5, \"unit\": "
                     "\"samples/s\"}, \"latency_ns\": {\"p99\": 1}, \"stages_ns\": null, "
                     "\"energy\": {\"measured\": false, \"reason\": \"no meter\"}"),
                 "offline", &err, &m),
        VT_OK);
    assert_true(m.valid && m.samples_per_second == 512.5);
    /* 2 lanes for 2 s made 100 requests. */
    assert_int_equal(m.latency_of, VT_SWEEP_REQUEST);
    assert_true(m.mean_ns == 2 * 2e9 / 100 && isnan(m.p99_ns));
    assert_true(isnan(m.joules_per_sample));
    assert_string_equal(m.reason, "");
    assert_string_equal(m.energy_reason, "no meter");

    assert_int_equal(
        read_run(RUN("offline", "\"metric\": {\"name\": \"a\", \"value\": 1, \"unit\": \"b\"}, "
                                "\"stages_ns\": {\"compute\": {\"mean\": 5, \"p50\": 4, \"p99\": "
                                "9}}"),
                 "offline", &err, &m),
        VT_OK);
    assert_true(m.mean_ns == 5 && m.p50_ns == 4 && m.p99_ns == 9 && isnan(m.p90_ns));
}

static void test_streams_and_energy(void **state)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_sweep_measured m;
    (void)state;

    assert_int_equal(
        read_run(RUN("multistream",
                     "\"metric\": {\"name\": \"query_latency_at_percentile\", \"value\": 7e6, "
                     "\"unit\": \"ns\"}, \"latency_ns\": {\"p99\": 1}, \"query_latency_ns\": "
                     "{\"mean\": 5e6, \"p50\": 5e6, \"p90\": 6e6, \"p99\": 7e6}, \"energy\": "
                     "{\"measured\": true, \"headline\": \"nvml\", \"mean_watts\": 250, "
                     "\"joules\": 500, \"uncertainty_joules\": 5, \"joules_per_sample\": 0.5, "
                     "\"samples_per_second_per_watt\": 2}"),
                 "multistream", &err, &m),
        VT_OK);
    assert_true(m.samples_per_second == 500 && m.metric == 7e6);
    assert_true(m.latency_of == VT_SWEEP_QUERY && m.p99_ns == 7e6);
    assert_true(m.joules_per_sample == 0.5 && m.joules_per_sample_uncertainty == 0.005);
    assert_true(m.samples_per_second_per_watt == 2 && m.mean_watts == 250);
    assert_string_equal(m.meter, "nvml");
}

static void test_why_a_point_is_not_valid(void **state)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_sweep_measured m;
    (void)state;

    assert_int_equal(read_run("{\"results\": [{\"scenario\": \"server\", \"mode\": "
                              "\"performance\", \"valid\": false, \"reasons\": [\"too few "
                              "queries\", \"late\"], \"metric\": {\"value\": 3}}]}",
                              "server", &err, &m),
                     VT_OK);
    assert_false(m.valid);
    assert_string_equal(m.reason, "too few queries");
}

static void test_what_is_no_result(void **state)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_sweep_measured m;
    (void)state;

    assert_int_equal(vt_sweep_read_run(folder, "offline", NULL, &m), VT_ERR_NOT_FOUND);
    assert_int_equal(read_run("{\"partial\": true}", "offline", NULL, &m), VT_ERR_INTERRUPTED);
    assert_int_equal(read_run("{}", "offline", NULL, &m), VT_ERR_FORMAT);
    assert_int_equal(read_run("[1, 2", "offline", NULL, &m), VT_ERR_FORMAT);
    assert_int_equal(read_run(RUN("server", "\"metric\": null"), "offline", NULL, &m),
                     VT_ERR_FORMAT);
    assert_int_equal(read_run(RUN("server", "\"metric\": null"), "server", NULL, &m),
                     VT_ERR_ENGINE);
    assert_int_equal(read_run("{\"results\": [{\"scenario\": \"server\", \"mode\": "
                              "\"performance\", \"failure\": {\"text\": \"it\\nburnt\"}}]}",
                              "server", &err, &m),
                     VT_ERR_ENGINE);
    assert_string_equal(err.text, "it?burnt");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_offline, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_streams_and_energy, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_why_a_point_is_not_valid, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_what_is_no_result, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
