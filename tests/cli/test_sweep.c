/* SPDX-License-Identifier: Apache-2.0 */
/* Sweeps as a user makes them: what they leave, how they go on, what they refuse. */
#include "sweeps.h"

#include <unistd.h>

static void test_points_and_sweep_json(void **state)
{
    (void)state;
    struct outcome run = vatio("sweep", "digits", "--batch=1,2..8", "--lanes=1,2", "--repeats=2",
                               "--output=whole", COMMON, NULL);
    assert_int_equal(run.code, 0);
    assert_non_null(strstr(run.out, "16 points, 2 repeats, order random"));
    assert_non_null(strstr(run.out, "recommended"));
    outcome_free(&run);

    json_t *sweep = read_json("whole", "sweep.json");
    assert_non_null(sweep);
    assert_string_equal(text_of(sweep, "kind"), "sweep");
    assert_true(json_is_false(json_object_get(sweep, "partial")));
    assert_int_equal(count_state(sweep, "done"), 16);
    const json_t *points = json_object_get(sweep, "points");
    const json_t *point = json_array_get(points, 6); /* lanes 2, batch 4, the first repeat */
    assert_string_equal(text_of(point, "id"), "p0007");
    assert_int_equal(json_integer_value(json_object_get(json_object_get(point, "axes"), "batch")),
                     4);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(point, "axes"), "lanes")),
                     2);

    /* What the point says is what its run left. */
    json_t *result = read_json("whole/points/p0007", "result.json");
    assert_non_null(result);
    json_t *entry = result_of(result, "offline", "performance");
    assert_non_null(entry);
    double there = json_number_value(json_object_get(json_object_get(entry, "metric"), "value"));
    assert_true(there > 0 &&
                there == json_number_value(json_object_get(point, "samples_per_second")));
    const json_t *engine = json_object_get(result, "engine");
    assert_int_equal(json_integer_value(json_object_get(engine, "lanes")), 2);
    assert_int_equal(json_integer_value(json_object_get(engine, "batch_max")), 4);
    json_decref(result);

    const json_t *analysis = json_object_get(sweep, "analysis");
    assert_true(json_array_size(json_object_get(analysis, "statements")) >= 3);
    const json_t *lines =
        json_object_get(json_object_get(analysis, "series"), "throughput_over_batch");
    assert_int_equal(json_array_size(lines), 2); /* one a number of lanes */
    assert_int_equal(json_array_size(json_object_get(json_array_get(lines, 0), "points")), 4);
    assert_true(json_is_object(json_object_get(analysis, "recommended")));
    json_decref(sweep);
}

/* --- caps and energy ------------------------------------------------------------------------- */

static void test_caps_are_held_and_put_back(void **state)
{
    (void)state;
    make_machine();
    struct outcome run = vatio("sweep", "digits", "--batch=1,2,4", "--cap=100,150..200",
                               "--sysfs=sys", "--output=capped", COMMON, NULL);
    assert_int_equal(run.code, 0);
    assert_true(limit_is(LIMIT_THERE));
    json_t *sweep = read_json("capped", "sweep.json");
    assert_non_null(sweep);
    assert_int_equal(count_state(sweep, "done"), 9);
    assert_non_null(strstr(text_of(sweep, "caps"), "package-0 back to 225 W"));
    const json_t *points = json_object_get(sweep, "points");
    for (size_t i = 0; i < 9; i++) {
        const json_t *point = json_array_get(points, i);
        assert_true(json_number_value(json_object_get(point, "enforced_cap")) ==
                    json_number_value(json_object_get(json_object_get(point, "axes"), "cap")));
    }
    json_decref(sweep);
    outcome_free(&run);
    /* Other caps are another sweep; one beyond the bounds is a point that fails. */
    assert_one_error(vatio("sweep", "digits", "--batch=1,2,4", "--cap=rapl=100,150,200",
                           "--sysfs=sys", "--output=capped", COMMON, NULL),
                     2, "the caps");
    run = vatio("sweep", "digits", "--batch=1", "--cap=rapl=100,100000", "--order=full",
                "--sysfs=sys", "--output=beyond", COMMON, NULL);
    assert_int_equal(run.code, 1);
    assert_non_null(strstr(run.out, "failed: cap:"));
    assert_true(limit_is(LIMIT_THERE));
    outcome_free(&run);
    /* Where nothing can be capped a sweep does not begin. */
    run = vatio("sweep", "digits", "--batch=1", "--cap=rapl=100", "--sysfs=none", "--output=bare",
                COMMON, NULL);
    assert_true(run.code != 0);
    assert_non_null(strstr(run.err, "--cap: "));
    assert_int_equal(access(work_path("bare"), F_OK), -1);
    outcome_free(&run);
    assert_one_error(vatio("sweep", "digits", "--cap=nosuch=100", NULL), 2, "no cap \"nosuch\"");
}

/* 50 W all the time: joules a sample are 50 / samples/s, within the meter's uncertainty. */
static void test_energy_of_a_replayed_curve(void **state)
{
    char curve[16384];
    size_t used = 0;
    (void)state;

    for (int i = 0; i <= 1000; i++) {
        used +=
            (size_t)snprintf(curve + used, sizeof curve - used, "%d.%02d,50\n", i / 100, i % 100);
    }
    write_work_file("curve.csv", curve, used);
    struct outcome run = vatio("sweep", "digits", "--batch=1,2,4", "--repeats=2", "--engine=null",
                               "--duration=500ms", "--warm-up=0s", "--meter=replay",
                               "--replay=curve.csv", "--output=energy", NULL);
    assert_int_equal(run.code, 0);
    assert_non_null(strstr(run.out, "J/sample against latency"));
    assert_non_null(strstr(run.out, "comes from the meter replay"));
    outcome_free(&run);
    json_t *sweep = read_json("energy", "sweep.json");
    assert_non_null(sweep);
    const json_t *points = json_object_get(sweep, "points");
    for (size_t i = 0; i < json_array_size(points); i++) {
        const json_t *point = json_array_get(points, i);
        double joules = json_number_value(json_object_get(point, "joules_per_sample"));
        double watts = json_number_value(json_object_get(point, "mean_watts"));
        double share =
            json_number_value(json_object_get(point, "joules_per_sample_uncertainty")) / joules;
        assert_true(joules > 0 && watts > 50 * (1 - share - 1e-9) &&
                    watts < 50 * (1 + share + 1e-9));
        assert_string_equal(text_of(point, "meter"), "replay");
    }
    const json_t *analysis = json_object_get(sweep, "analysis");
    assert_true(json_array_size(json_object_get(analysis, "pareto_latency")) > 0);
    assert_true(json_array_size(json_object_get(analysis, "pareto_throughput")) > 0);
    assert_non_null(strstr(text_of(json_object_get(analysis, "recommended"), "text"),
                           "the least energy a sample"));
    json_decref(sweep);
}

/* --- standard output ------------------------------------------------------------------------- */

static void test_json_alone_on_standard_output(void **state)
{
    (void)state;
    struct outcome run =
        vatio("sweep", "digits", "--batch=1,2", "--json", "--output=json", COMMON, NULL);
    assert_int_equal(run.code, 0);
    json_t *sweep = run_json(&run);
    assert_int_equal(count_state(sweep, "done"), 2);
    assert_non_null(strstr(run.err, "p0001"));
    json_decref(sweep);
    outcome_free(&run);
}

static void test_a_complete_sweep_is_shown_again(void **state)
{
    (void)state;
    struct outcome first = vatio("sweep", "digits", "--batch=1,2", "--output=again", COMMON, NULL);
    struct outcome second =
        vatio("sweep", "digits", "--batch=1..2", "--output=again", COMMON, NULL);
    assert_int_equal(second.code, 0);
    assert_non_null(strstr(second.out, "2 points done before, 0 to go"));
    /* The table is the same, the points were not measured again. */
    const char *a = strstr(first.out, "setting"), *b = strstr(second.out, "setting");
    assert_non_null(a);
    assert_non_null(b);
    assert_string_equal(a, b);
    outcome_free(&first);
    outcome_free(&second);
}

static void test_another_sweep_is_refused(void **state)
{
    (void)state;
    struct outcome run = vatio("sweep", "digits", "--batch=1,2", "--output=mine", COMMON, NULL);
    assert_int_equal(run.code, 0);
    outcome_free(&run);
    assert_one_error(vatio("sweep", "digits", "--batch=1,2,4", "--output=mine", COMMON, NULL), 2,
                     "other values of --batch");
    assert_one_error(
        vatio("sweep", "digits", "--batch=1,2", "--lanes=1", "--output=mine", COMMON, NULL), 2,
        "other values of --lanes");
    assert_one_error(
        vatio("sweep", "digits", "--batch=1,2", "--repeats=2", "--output=mine", COMMON, NULL), 2,
        "--repeats \"1\", this one \"2\"");
    assert_one_error(vatio("sweep", "digits", "--batch=1,2", "--output=mine", "--engine=null",
                           "--duration=30ms", "--warm-up=0s", NULL),
                     2, "--duration=20ms");
    assert_one_error(
        vatio("sweep", VATIO_DIGITS_ONNX, "--batch=1,2", "--output=mine", COMMON, NULL), 2,
        "the model \"digits\"");
    /* How a sweep goes about it may change. */
    run = vatio("sweep", "digits", "--batch=1,2", "--output=mine", "--pause=1ms", COMMON, NULL);
    assert_int_equal(run.code, 0);
    outcome_free(&run);
}

static void test_a_changed_model_is_refused(void **state)
{
    char *bytes;
    long size;
    (void)state;

    FILE *file = fopen(VATIO_DIGITS_ONNX, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    size = ftell(file);
    rewind(file);
    bytes = malloc((size_t)size + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, (size_t)size, file), size);
    (void)fclose(file);
    write_work_file("model.onnx", bytes, (size_t)size);
    struct outcome run =
        vatio("sweep", "model.onnx", "--batch=1", "--output=changed", COMMON, NULL);
    assert_int_equal(run.code, 0);
    outcome_free(&run);
    bytes[size] = 0;
    write_work_file("model.onnx", bytes, (size_t)size + 1);
    assert_one_error(vatio("sweep", "--resume=changed", NULL), 2, "has changed since");
    free(bytes);
}

static void test_a_spoilt_sweep_json_is_refused(void **state)
{
    (void)state;
    struct outcome run = vatio("sweep", "digits", "--batch=1,2", "--output=spoilt", COMMON, NULL);
    assert_int_equal(run.code, 0);
    outcome_free(&run);
    write_work_file("spoilt/sweep.json", "{\"kind\": \"sweep\",", 17);
    assert_one_error(vatio("sweep", "--resume=spoilt", NULL), 3, "sweep.json");
    assert_one_error(vatio("sweep", "digits", "--batch=1,2", "--output=spoilt", COMMON, NULL), 3,
                     "take another folder");
    assert_one_error(vatio("sweep", "--resume=nowhere", NULL), 3, "nowhere/sweep.json");
}

static void test_bad_options(void **state)
{
    (void)state;
    assert_one_error(vatio("sweep", NULL), 2, "one model is needed");
    assert_one_error(vatio("sweep", "a", "b", NULL), 2, "one model is needed");
    assert_one_error(vatio("sweep", "digits", "--batch=0", NULL), 2, "--batch: 0: allowed");
    assert_one_error(vatio("sweep", "digits", "--batch=1..", NULL), 2, "--batch: a number");
    assert_one_error(vatio("sweep", "digits", "--engine=native,", NULL), 2, "--engine: a name");
    assert_one_error(vatio("sweep", "digits", "--scenario=offlime", NULL), 2, "--scenario");
    assert_one_error(vatio("sweep", "digits", "--cool-to=hot", NULL), 2, "--cool-to hot");
    assert_one_error(vatio("sweep", "digits", "--batch=1..1024:1", NULL), 2, "more than 256");
    assert_one_error(vatio("sweep", "digits", "--batch=1..200:1", "--lanes=1..200:1", NULL), 2,
                     "more than 4096 points");
    assert_one_error(vatio("sweep", "no.onnx", NULL), 3, "no.onnx");
    /* An option that no point can have: nothing is left behind. */
    struct outcome run = vatio("sweep", "digits", "--engine=nosuch", "--output=none", NULL);
    assert_int_equal(run.code, 2);
    assert_non_null(strstr(run.err, "no engine 'nosuch'"));
    assert_int_equal(access(work_path("none"), F_OK), -1);
    outcome_free(&run);
}

/* A point that takes too long has failed, and is measured again when that is asked for. */
static void test_failed_points(void **state)
{
    (void)state;
    struct outcome run =
        vatio("sweep", "digits", "--batch=1,2", "--output=failed", "--engine=null",
              "--duration=20ms", "--warm-up=0s", "--meter=none", "--point-limit=1ms", NULL);
    assert_int_equal(run.code, 4);
    assert_non_null(strstr(run.out, "failed: not done after 1ms (--point-limit)"));
    outcome_free(&run);
    run = vatio("sweep", "digits", "--batch=1,2", "--output=failed", COMMON, NULL);
    assert_int_equal(run.code, 4);
    assert_non_null(strstr(run.out, "0 to go"));
    outcome_free(&run);
    run =
        vatio("sweep", "digits", "--batch=1,2", "--output=failed", "--retry-failed", COMMON, NULL);
    assert_int_equal(run.code, 0);
    outcome_free(&run);
}

/* A crash costs the points of that engine and no other. */
static void test_an_engine_that_crashes(void **state)
{
    (void)state;
    struct outcome run =
        vatio("sweep", "digits", "--batch=1,2", "--engine=null," VT_TEST_CRASHING,
              "--duration=20ms", "--warm-up=0s", "--meter=none", "--output=crashed", NULL);
    assert_int_equal(run.code, 1);
    assert_non_null(strstr(run.out, "its process was ended by signal 11"));
    outcome_free(&run);
    json_t *sweep = read_json("crashed", "sweep.json");
    assert_non_null(sweep);
    assert_int_equal(count_state(sweep, "done"), 2);
    assert_int_equal(count_state(sweep, "failed"), 2);
    json_decref(sweep);
}

/* A processor that stays at 81 degrees. */
static void test_cooling_is_bounded(void **state)
{
    char command[256];
    (void)state;

    (void)snprintf(command, sizeof command, "mkdir -p %s", work_path("warm/class/hwmon/hwmon0"));
    assert_int_equal(system(command), 0);
    write_work_file("warm/class/hwmon/hwmon0/name", "coretemp\n", 9);
    write_work_file("warm/class/hwmon/hwmon0/temp1_label", "Package id 0\n", 13);
    write_work_file("warm/class/hwmon/hwmon0/temp1_input", "81000\n", 6);
    struct outcome run = vatio("sweep", "digits", "--batch=1", "--cool-to=55C", "--cool-limit=50ms",
                               "--sysfs=warm", "--output=warm_sweep", COMMON, NULL);
    assert_int_equal(run.code, 0);
    assert_non_null(strstr(run.err, "still 81.0"));
    outcome_free(&run);
    json_t *sweep = read_json("warm_sweep", "sweep.json");
    assert_non_null(sweep);
    assert_true(
        json_number_value(json_object_get(json_array_get(json_object_get(sweep, "points"), 0),
                                          "start_temperature_c")) == 81);
    assert_non_null(strstr(text_of(sweep, "cooling"), "at most 55"));
    json_decref(sweep);
    /* Cool enough: nothing is waited for. */
    run = vatio("sweep", "digits", "--batch=1", "--cool-to=90C", "--cool-limit=1h", "--sysfs=warm",
                "--output=cool_sweep", COMMON, NULL);
    assert_int_equal(run.code, 0);
    assert_string_equal(run.err, "");
    outcome_free(&run);
    run = vatio("sweep", "digits", "--batch=1", "--cool-to=55C", "--cool-limit=1h", "--sysfs=none",
                "--nvml-library=/none.so", "--output=blind", COMMON, NULL);
    assert_int_equal(run.code, 0);
    assert_non_null(strstr(run.err, "points do not wait"));
    outcome_free(&run);
}

static void test_beyond_the_knee_points_are_left_out(void **state)
{
    (void)state;
    /* One sample is all there is: no batch is faster than another by half. */
    struct outcome run = vatio("sweep", "digits", "--batch=1..64", "--until-knee",
                               "--knee-tolerance=50", "--sample-count=1", "--output=knee",
                               "--engine=native", "--duration=20ms", "--warm-up=0s", NULL);
    assert_int_equal(run.code, 0);
    json_t *sweep = read_json("knee", "sweep.json");
    assert_non_null(sweep);
    assert_true(count_state(sweep, "skipped") > 0);
    assert_int_equal(count_state(sweep, "skipped") + count_state(sweep, "done"), 7);
    assert_non_null(strstr(run.out, "skipped: beyond the knee"));
    json_decref(sweep);
    outcome_free(&run);
}

/* As a shell in which somebody presses Ctrl-C. */
static void test_interrupted_and_gone_on_with(void **state)
{
    (void)state;
    struct outcome run = vatio_interrupted(700, "sweep", "digits", "--batch=1..32", "--repeats=3",
                                           "--output=stopped", "--engine=null", "--duration=100ms",
                                           "--warm-up=0s", NULL);
    assert_int_equal(run.code, 130);
    assert_non_null(strstr(run.err, "vatio sweep --resume stopped"));
    json_t *sweep = read_json("stopped", "sweep.json");
    assert_non_null(sweep);
    assert_true(json_is_true(json_object_get(sweep, "partial")));
    assert_true(count_state(sweep, "pending") > 0);
    assert_int_equal(count_state(sweep, "failed"), 0);
    json_decref(sweep);
    outcome_free(&run);
    run = vatio("sweep", "--resume=stopped", NULL);
    assert_int_equal(run.code, 0);
    assert_non_null(strstr(run.out, "going on"));
    outcome_free(&run);
    sweep = read_json("stopped", "sweep.json");
    assert_int_equal(count_state(sweep, "done"), 18);
    json_decref(sweep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_points_and_sweep_json),
        cmocka_unit_test(test_caps_are_held_and_put_back),
        cmocka_unit_test(test_energy_of_a_replayed_curve),
        cmocka_unit_test(test_json_alone_on_standard_output),
        cmocka_unit_test(test_a_complete_sweep_is_shown_again),
        cmocka_unit_test(test_another_sweep_is_refused),
        cmocka_unit_test(test_a_changed_model_is_refused),
        cmocka_unit_test(test_a_spoilt_sweep_json_is_refused),
        cmocka_unit_test(test_bad_options),
        cmocka_unit_test(test_failed_points),
        cmocka_unit_test(test_an_engine_that_crashes),
        cmocka_unit_test(test_cooling_is_bounded),
        cmocka_unit_test(test_beyond_the_knee_points_are_left_out),
        cmocka_unit_test(test_interrupted_and_gone_on_with),
    };
    return cmocka_run_group_tests(tests, make_work_folder, remove_work_folder);
}
