/* SPDX-License-Identifier: Apache-2.0 */
/* Energy in a run, as a user sees it: recordings, stand-ins for NVML and PTDaemon, a board's tree.
 */
#include "vt_test.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fake_ptd.h"
#include "vatio.h"

/* --- helpers -------------------------------------------------------------------------------- */

static void put(const char *name, const char *text)
{
    char path[256], *slash;

    (void)snprintf(path, sizeof path, "%s", work_path(name));
    for (slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0755);
        *slash = '/';
    }
    write_work_file(name, text, strlen(text));
}

static double real(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_number(value)) {
        fail_msg("'%s' is no number", key);
    }
    return json_number_value(value);
}

static const char *text(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));
    return value != NULL ? value : "";
}

/* What was saved in the folder `out`. The caller decrefs. */
static json_t *saved(const char *out)
{
    char path[320];
    json_error_t error;

    (void)snprintf(path, sizeof path, "%s/%s/result.json", work_folder, out);
    json_t *root = json_load_file(path, 0, &error);
    if (root == NULL) {
        fail_msg("%s: %s", path, error.text);
    }
    return root;
}

static json_t *energy_of(json_t *root, const char *scenario)
{
    json_t *energy = json_object_get(result_of(root, scenario, "performance"), "energy");
    assert_true(json_is_object(energy));
    return energy;
}

static void run_well(struct outcome outcome)
{
    if (outcome.code != 0 && outcome.code != 1) { /* a short run may not be valid */
        fail_msg("exit %d: %s", outcome.code, outcome.err);
    }
    outcome_free(&outcome);
}

/* The integral of one series of a power.csv over the window, by trapezoids of its own. */
static double integrate(const char *path, const char *series, double window_s)
{
    FILE *file = fopen(work_path(path), "r");
    char line[256];
    double sum = 0, last_s = 0, last_w = 0;
    bool any = false;

    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    assert_string_equal(line, "t_ns,unix_ns,series,unit,value\n");
    while (fgets(line, sizeof line, file) != NULL) {
        char name[64], unit[16];
        int64_t ns, unix_ns;
        double w;
        if (sscanf(line, "%" SCNd64 ",%" SCNd64 ",%63[^,],%15[^,],%lf", &ns, &unix_ns, name, unit,
                   &w) != 5 ||
            strcmp(name, series) != 0) {
            continue;
        }
        const double s = (double)ns / 1e9;
        const double from = last_s > 0 ? last_s : 0, to = s < window_s ? s : window_s;
        if (any && to > from) {
            const double slope = (w - last_w) / (s - last_s);
            const double at_from = last_w + slope * (from - last_s);
            const double at_to = last_w + slope * (to - last_s);
            sum += (at_from + at_to) / 2 * (to - from);
        }
        any = true;
        last_s = s;
        last_w = w;
    }
    (void)fclose(file);
    assert_true(any && last_s >= window_s); /* it covers the window */
    return sum;
}

static bool near(double a, double b, double relative)
{
    return fabs(a - b) <= relative * fabs(b);
}

/* --- tests ---------------------------------------------------------------------------------- */

/* A triangle of 36 to 44 W, 400 ms long. */
static const char triangle[] = "time,watts\n0,36\n0.05,38\n0.1,40\n0.15,42\n0.2,44\n0.25,42\n"
                               "0.3,40\n0.35,38\n";

static void a_recording_gives_the_energy_of_every_scenario(void **state)
{
    static const char *const scenarios[] = {"offline", "server", "singlestream", "multistream"};

    (void)state;
    put("triangle.csv", triangle);
    struct outcome outcome =
        vatio("run", "digits", "-d", "400ms", "--mode", "performance", "--replay", "triangle.csv",
              "--meter", "replay", "--idle", "400ms", "-o", "recorded", NULL);
    const char *energy_line = strstr(outcome.out, "\nenergy ");
    assert_non_null(energy_line);
    assert_non_null(strstr(energy_line, "/sample"));
    assert_non_null(strstr(energy_line, "above idle"));
    assert_non_null(strstr(energy_line, "(replay, informative)"));
    run_well(outcome);
    json_t *root = saved("recorded");
    for (size_t i = 0; i < 4; i++) {
        char path[96];
        const json_t *result = result_of(root, scenarios[i], "performance");
        const json_t *energy = json_object_get(result, "energy");
        const double joules = real(energy, "joules"), window_s = real(energy, "window_ns") / 1e9;
        const double samples = real(result, "samples_completed");
        const json_t *idle =
            json_array_get(json_object_get(json_object_get(energy, "idle"), "meters"), 0);
        assert_true(json_is_true(json_object_get(energy, "measured")));
        assert_string_equal(text(energy, "headline"), "replay");
        assert_string_equal(text(energy, "tier"), "informative");
        assert_true(window_s == real(result, "duration_ns") / 1e9);
        assert_true(fabs(real(energy, "window_begin_unix_ms") - real(result, "started_unix_ms")) <
                    1);
        (void)snprintf(path, sizeof path, "recorded/%s/performance/run_1/power.csv", scenarios[i]);
        assert_true(near(integrate(path, "replay/replay", window_s), joules, 1e-6));
        assert_true(near(real(energy, "mean_watts"), joules / window_s, 1e-9));
        assert_true(real(energy, "mean_watts") >= 36 && real(energy, "peak_watts") <= 44 + 1e-9);
        assert_true(near(real(energy, "joules_per_sample"), joules / samples, 1e-9));
        assert_true(
            near(real(energy, "above_idle_joules"), joules - real(idle, "watts") * window_s, 1e-9));
        const json_t *query = json_object_get(energy, "millijoules_per_query");
        if (i < 2) {
            assert_true(json_is_null(query));
            assert_true(
                near(real(energy, "samples_per_second_per_watt"),
                     real(json_object_get(result, "metric"), "value") / real(energy, "mean_watts"),
                     1e-9));
        } else {
            assert_true(
                near(json_number_value(query), joules * 1000 / real(result, "queries"), 1e-9));
        }
    }
    json_decref(root);
}

static void nothing_to_measure_with_is_a_sentence(void **state)
{
    (void)state;
    put("empty/nothing", "");
    put("stuck/class/powercap/intel-rapl:0/name", "package-0\n");
    put("stuck/class/powercap/intel-rapl:0/energy_uj", "1000000\n");
    put("stuck/class/powercap/intel-rapl:0/max_energy_range_uj", "262143328850\n");
    struct outcome outcome =
        vatio("run", "digits", "-s", "offline", "-d", "100ms", "--mode", "performance", "--sysfs",
              "empty", "--nvml-library", "libno-such.so", "-o", "none", NULL);
    const char *line = strstr(outcome.out, "\nenergy ");
    assert_non_null(line);
    assert_non_null(strstr(line, "unmeasured: no meter works here"));
    assert_non_null(strstr(line, "modprobe"));
    run_well(outcome);
    json_t *root = saved("none");
    const json_t *energy = energy_of(root, "offline");
    assert_true(json_is_false(json_object_get(energy, "measured")));
    assert_true(json_array_size(json_object_get(energy, "unavailable")) >= 4);
    json_decref(root);
    /* A counter that stands still is none either. */
    run_well(vatio("run", "digits", "-s", "offline", "-d", "300ms", "--mode", "performance",
                   "--meter", "rapl", "--sysfs", "stuck", "-o", "still", NULL));
    root = saved("still");
    energy = energy_of(root, "offline");
    assert_true(json_is_false(json_object_get(energy, "measured")));
    assert_true(json_is_null(json_object_get(energy, "joules")));
    assert_non_null(strstr(text(energy, "reason"), "did not move"));
    json_decref(root);
}

static void what_is_asked_for_in_vain_is_an_error(void **state)
{
    (void)state;
    put("empty/nothing", "");
    put("bad.csv", "0,1\n0,2\n");
    assert_one_error(vatio("run", "digits", "--meter", "rapk", "-o", "x", NULL), 2, "'rapl'");
    assert_one_error(vatio("run", "digits", "--idle", "-1s", "-o", "x", NULL), 2, "--idle");
    struct outcome outcome =
        vatio("run", "digits", "--meter", "nvml", "--nvml-library", "libno-such.so", NULL);
    assert_int_equal(outcome.code, 4);
    assert_non_null(strstr(outcome.err, "--meter nvml: libno-such.so is not here"));
    outcome_free(&outcome);
    outcome = vatio("run", "digits", "--meter", "replay", "--replay", "bad.csv", NULL);
    assert_int_equal(outcome.code, 3);
    assert_non_null(strstr(outcome.err, "bad.csv:2: the time is"));
    outcome_free(&outcome);
    outcome = vatio("run", "digits", "--ptdaemon", "127.0.0.1:1", NULL);
    assert_int_equal(outcome.code, 4);
    assert_non_null(strstr(outcome.err, "no PTDaemon at 127.0.0.1:1"));
    outcome_free(&outcome);
    outcome = vatio("run", "digits", "-s", "offline", "-d", "100ms", "--meter", "none", NULL);
    assert_non_null(strstr(outcome.out, "unmeasured: no meter was asked for"));
    outcome_free(&outcome);
}

static void a_gpu_is_compared_with_itself(void **state)
{
    (void)state;
    assert_int_equal(setenv("VT_FAKE_NVML", "capped", 1), 0);
    struct outcome outcome =
        vatio("run", "digits", "-s", "offline", "-d", "2s", "--mode", "performance",
              "--nvml-library", VT_TEST_NVML, "--meter", "nvml", "-o", "gpu", NULL);
    (void)unsetenv("VT_FAKE_NVML");
    assert_non_null(strstr(outcome.out, "gpu0 slowed by power cap for 100 %"));
    run_well(outcome);
    json_t *root = saved("gpu");
    const json_t *energy = energy_of(root, "offline");
    /* 100 W, in steps of 100 ms. */
    assert_true(fabs(real(energy, "joules") - 100 * real(energy, "window_ns") / 1e9) <=
                real(energy, "uncertainty_joules"));
    assert_true(near(real(energy, "mlperf_mean_watts"), 100, 1e-9));
    const json_t *differences = json_object_get(energy, "differences");
    assert_int_equal(json_array_size(differences), 2);
    for (size_t i = 0; i < 2; i++) {
        const json_t *difference = json_array_get(differences, i);
        assert_string_equal(text(difference, "a"), "nvml/gpu0 energy");
        assert_true(json_is_true(json_object_get(difference, "within_uncertainty")));
    }
    const json_t *telemetry = json_object_get(energy, "telemetry");
    const json_t *clock = json_array_get(json_object_get(telemetry, "series"), 1);
    assert_string_equal(text(clock, "name"), "gpu0 SM clock");
    assert_true(real(clock, "start") == 1980 && real(clock, "max") == 1980);
    json_decref(root);
}

static void a_gpu_that_goes_away_is_said_so(void **state)
{
    (void)state;
    assert_int_equal(setenv("VT_FAKE_NVML", "losing=400", 1), 0);
    run_well(vatio("run", "digits", "-s", "offline", "-d", "5s", "--mode", "performance",
                   "--nvml-library", VT_TEST_NVML, "--meter", "nvml", "-o", "gone", NULL));
    (void)unsetenv("VT_FAKE_NVML");
    json_t *root = saved("gone");
    const json_t *energy = energy_of(root, "offline");
    assert_true(json_is_false(json_object_get(energy, "measured")));
    assert_true(json_is_null(json_object_get(energy, "joules_per_sample")));
    if (strstr(text(energy, "reason"), "nvml: gpu0 energy: ") == NULL) {
        fail_msg("%s", text(energy, "reason"));
    }
    json_decref(root);
}

static void a_run_too_short_says_what_would_do(void **state)
{
    (void)state;
    struct outcome outcome =
        vatio("run", "digits", "-s", "singlestream", "-d", "120ms", "--mode", "performance",
              "--nvml-library", VT_TEST_NVML, "--meter", "nvml", "-o", "short", NULL);
    assert_non_null(strstr(outcome.out, "unmeasured: nvml: gpu0 energy: a window of"));
    assert_non_null(strstr(outcome.out, "would do (run longer with --duration)"));
    run_well(outcome);
    json_t *root = saved("short");
    assert_true(json_is_null(json_object_get(energy_of(root, "singlestream"), "joules")));
    json_decref(root);
}

static void rails_of_a_board_are_told_apart(void **state)
{
    (void)state;
    put("board/class/hwmon/hwmon0/name", "ina3221\n");
    put("board/class/hwmon/hwmon0/in1_label", "VDD_IN\n");
    put("board/class/hwmon/hwmon0/in1_input", "5000\n");
    put("board/class/hwmon/hwmon0/curr1_input", "2000\n");
    put("board/class/hwmon/hwmon0/in2_label", "VDD_SOC\n");
    put("board/class/hwmon/hwmon0/in2_input", "5000\n");
    put("board/class/hwmon/hwmon0/curr2_input", "500\n");
    put("board/class/thermal/thermal_zone0/type", "cpu-thermal\n");
    put("board/class/thermal/thermal_zone0/temp", "51500\n");
    put("board/devices/system/cpu/cpufreq/policy0/scaling_cur_freq", "1510400\n");
    put("board/devices/system/cpu/cpufreq/policy4/scaling_cur_freq", "1490400\n");
    run_well(vatio("run", "digits", "-s", "offline", "-d", "400ms", "--mode", "performance",
                   "--meter", "jetson", "--sysfs", "board", "-o", "rails", NULL));
    json_t *root = saved("rails");
    const json_t *energy = energy_of(root, "offline");
    assert_true(near(real(energy, "mean_watts"), 10, 1e-6)); /* not 12.5 */
    const json_t *meter = json_array_get(json_object_get(energy, "meters"), 0);
    const json_t *soc = json_array_get(json_object_get(meter, "domains"), 1);
    assert_string_equal(text(soc, "inside"), "VDD_IN");
    assert_true(near(real(soc, "mean_watts"), 2.5, 1e-6));
    const json_t *series = json_object_get(json_object_get(energy, "telemetry"), "series");
    assert_true(real(json_array_get(series, 0), "start") == 51.5);
    assert_true(near(real(json_array_get(series, 1), "mean"), 1500.4, 1e-9));
    json_decref(root);
}

/* The mean of a spl.txt's watts strictly between two moments, and how many they are. */
static double mean_of_log(const char *path, double from_ms, double to_ms, int *ret_n)
{
    FILE *file = fopen(work_path(path), "r");
    char line[256];
    double sum = 0;

    assert_non_null(file);
    *ret_n = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        struct tm at = {0};
        int ms;
        double watts;
        assert_int_equal(
            sscanf(line,
                   "Time,%d-%d-%d %d:%d:%d.%d,Watts,%lf,Volts,230.100000,Amps,0.200000,"
                   "PF,0.900000,Mark,vatio_testing",
                   &at.tm_mon, &at.tm_mday, &at.tm_year, &at.tm_hour, &at.tm_min, &at.tm_sec, &ms,
                   &watts),
            8);
        at.tm_mon--;
        at.tm_year -= 1900;
        const double now_ms = (double)timegm(&at) * 1000 + ms;
        if (now_ms > from_ms && now_ms < to_ms) {
            sum += watts;
            ++*ret_n;
        }
    }
    (void)fclose(file);
    return sum / *ret_n;
}

static void the_wall_is_ranged_and_measured(void **state)
{
    struct fake_ptd ptd;
    int n;

    (void)state;
    ptd_begin(&ptd, PTD_IN_TIME);
    run_well(vatio("run", "digits", "-s", "offline", "-d", "3s", "--mode", "performance",
                   "--ptdaemon", ptd.address, "--ptdaemon-ranging", "500ms", "--sysfs", "none",
                   "-o", "wall", NULL));
    ptd_end(&ptd);
    /* Automatic ranges, then those that were seen, then what was there before. */
    const char *ranging = strstr(ptd.told, "SR,V,Auto\nSR,A,Auto\nGo,1000,0,vatio_ranging\nStop");
    assert_non_null(ranging);
    const char *testing = strstr(ranging, "SR,V,230.1\nSR,A,0.22\nGo,1000,0,vatio_testing\nStop");
    assert_non_null(testing);
    assert_non_null(strstr(testing, "SR,V,Auto\nSR,A,5\n"));
    json_t *root = saved("wall");
    const json_t *energy = energy_of(root, "offline");
    assert_string_equal(text(energy, "headline"), "ptdaemon");
    assert_string_equal(text(energy, "tier"), "ptdaemon");
    const double begin_ms = real(energy, "window_begin_unix_ms");
    const double end_ms = begin_ms + real(energy, "window_ns") / 1e6;
    const double mean = mean_of_log("wall/offline/performance/run_1/spl.txt", begin_ms, end_ms, &n);
    assert_true(n >= 25);
    /* The power rises by 20 mW a sample: one more or less at an edge moves the mean by half. */
    assert_true(fabs(real(energy, "mlperf_mean_watts") - mean) < 0.022);
    assert_true(fabs(real(energy, "mean_watts") - mean) < 0.022);
    json_decref(root);
}

static void an_interrupted_run_keeps_its_energy(void **state)
{
    (void)state;
    put("triangle.csv", triangle);
    struct outcome outcome = vatio_interrupted(2500, "run", "digits", "-s", "singlestream", "-d",
                                               "30s", "--mode", "performance", "--meter", "replay",
                                               "--replay", "triangle.csv", "-o", "partial", NULL);
    assert_int_equal(outcome.code, 130);
    outcome_free(&outcome);
    json_t *root = saved("partial");
    const json_t *result = result_of(root, "singlestream", "performance");
    const json_t *energy = json_object_get(result, "energy");
    assert_true(json_is_true(json_object_get(root, "partial")));
    if (!json_is_true(json_object_get(energy, "measured"))) {
        fail_msg("%s", text(energy, "reason"));
    }
    const double window_s = real(energy, "window_ns") / 1e9;
    assert_true(window_s == real(result, "duration_ns") / 1e9);
    assert_true(near(
        integrate("partial/singlestream/performance/run_1/power.csv", "replay/replay", window_s),
        real(energy, "joules"), 1e-6));
    json_decref(root);
}

static void a_submission_has_the_energy_of_its_performance_run(void **state)
{
    (void)state;
    put("triangle.csv", triangle);
    run_well(vatio("run", "digits", "-s", "offline", "-d", "500ms", "--mode", "submission",
                   "--meter", "replay", "--replay", "triangle.csv", "-o", "both", NULL));
    json_t *root = saved("both");
    const json_t *energy = energy_of(root, "offline");
    assert_true(near(integrate("both/offline/submission/performance/power.csv", "replay/replay",
                               real(energy, "window_ns") / 1e9),
                     real(energy, "joules"), 1e-6));
    const json_t *accuracy = json_object_get(result_of(root, "offline", "accuracy"), "energy");
    assert_true(json_is_false(json_object_get(accuracy, "measured")));
    assert_non_null(strstr(text(accuracy, "reason"), "performance runs"));
    json_decref(root);
}

int main(void)
{
    (void)setenv("COLUMNS", "1000", 1); /* no sentence is broken */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recording_gives_the_energy_of_every_scenario),
        cmocka_unit_test(nothing_to_measure_with_is_a_sentence),
        cmocka_unit_test(what_is_asked_for_in_vain_is_an_error),
        cmocka_unit_test(a_gpu_is_compared_with_itself),
        cmocka_unit_test(a_gpu_that_goes_away_is_said_so),
        cmocka_unit_test(a_run_too_short_says_what_would_do),
        cmocka_unit_test(rails_of_a_board_are_told_apart),
        cmocka_unit_test(the_wall_is_ranged_and_measured),
        cmocka_unit_test(an_interrupted_run_keeps_its_energy),
        cmocka_unit_test(a_submission_has_the_energy_of_its_performance_run),
    };
    return cmocka_run_group_tests(tests, make_work_folder, remove_work_folder);
}
