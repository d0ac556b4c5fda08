/* SPDX-License-Identifier: Apache-2.0 */
/* `vatio meters` as a user sees it, over trees and recordings of its own. */
#include "vt_test.h"

#include <math.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vatio.h"

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

static void every_meter_is_listed_with_reason_and_remedy(void **state)
{
    static const char *const names[] = {"nvml",   "rapl",     "jetson", "acpi",
                                        "amdgpu", "ptdaemon", "replay"};
    (void)state;
    put("sys/empty", "");
    struct outcome outcome = vatio("meters", "--sysfs", work_path("sys"), "--nvml-library",
                                   "libno-such.so", "--for", "100ms", NULL);

    assert_int_equal(outcome.code, 0);
    assert_string_equal(outcome.err, "");
    const char *missing = strstr(outcome.out, "not available");
    assert_non_null(missing);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_non_null(strstr(missing, names[i]));
    }
    assert_non_null(strstr(missing, "modprobe intel_rapl_msr"));
    assert_non_null(strstr(missing, "--replay FILE"));
    assert_non_null(strstr(outcome.out, "nothing")); /* the domain of null */
    outcome_free(&outcome);
}

static void what_is_there_is_read(void **state)
{
    char replay[256];

    (void)state;
    put("sys/class/hwmon/hwmon0/name", "ina3221\n");
    put("sys/class/hwmon/hwmon0/in1_label", "VDD_IN\n");
    put("sys/class/hwmon/hwmon0/in1_input", "5000\n");
    put("sys/class/hwmon/hwmon0/curr1_input", "2000\n");
    put("sys/class/hwmon/hwmon0/in2_label", "VDD_SOC\n");
    put("sys/class/hwmon/hwmon0/in2_input", "5000\n");
    put("sys/class/hwmon/hwmon0/curr2_input", "0\n");
    put("power.csv", "time,watts\n0,25\n0.1,25\n");
    (void)snprintf(replay, sizeof replay, "%s", work_path("power.csv"));
    struct outcome outcome = vatio("meters", "jetson", "replay", "--sysfs", work_path("sys"),
                                   "--replay", replay, "--for", "500ms", NULL);

    assert_int_equal(outcome.code, 0);
    const char *input = strstr(outcome.out, "VDD_IN");
    assert_non_null(input);
    assert_non_null(strstr(input, " 10 "));
    assert_non_null(strstr(outcome.out, " 25 "));
    const char *part = strstr(outcome.out, "VDD_SOC");
    assert_non_null(part);
    assert_non_null(strstr(part, "VDD_IN")); /* in which it lies */
    assert_null(strstr(outcome.out, "nvml"));
    assert_null(strstr(outcome.out, "not available"));
    outcome_free(&outcome);
}

static void the_same_comes_as_json(void **state)
{
    (void)state;
    put("power.csv", "time,watts\n0,25\n0.1,25\n");
    struct outcome outcome = vatio("meters", "replay", "rapl", "--json", "--for", "200ms",
                                   "--sysfs", "none", "--replay", "power.csv", NULL);
    json_t *root = run_json(&outcome);
    const json_t *meters = json_object_get(root, "meters");
    assert_string_equal(json_string_value(json_object_get(root, "kind")), "meters");
    assert_int_equal(json_array_size(meters), 2);
    const json_t *replay = json_array_get(meters, 0), *rapl = json_array_get(meters, 1);
    const json_t *domain = json_array_get(json_object_get(replay, "domains"), 0);
    assert_true(json_is_true(json_object_get(replay, "available")));
    assert_true(json_is_null(json_object_get(replay, "reason")));
    assert_true(fabs(json_number_value(json_object_get(domain, "watts")) - 25) < 1e-6);
    assert_true(json_is_false(json_object_get(rapl, "available")));
    assert_true(json_is_string(json_object_get(rapl, "reason")));
    assert_int_equal(json_array_size(json_object_get(rapl, "domains")), 0);
    json_decref(root);
    outcome_free(&outcome);
}

static void what_is_wrong_is_said(void **state)
{
    (void)state;
    assert_one_error(vatio("meters", "rapk", NULL), 2, "did you mean 'rapl'");
    assert_one_error(vatio("meters", "--for", "1ms", NULL), 2, "--for");
    put("bad.csv", "0,1\n0,2\n");
    struct outcome outcome = vatio("meters", "replay", "--replay", work_path("bad.csv"), NULL);
    assert_int_equal(outcome.code, 0);
    assert_non_null(strstr(outcome.out, "bad.csv:2: the time is"));
    outcome_free(&outcome);
}

static void list_shows_the_meters(void **state)
{
    (void)state;
    struct outcome outcome = vatio("list", NULL);
    const char *meters = strstr(outcome.out, "\nmeters\n");

    assert_non_null(meters);
    assert_non_null(strstr(meters, "  rapl "));
    assert_non_null(strstr(meters, "  nvml "));
    assert_non_null(strstr(meters, "  null "));
    outcome_free(&outcome);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_meter_is_listed_with_reason_and_remedy),
        cmocka_unit_test(what_is_there_is_read),
        cmocka_unit_test(the_same_comes_as_json),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(list_shows_the_meters),
    };
    return cmocka_run_group_tests(tests, make_work_folder, remove_work_folder);
}
