/* SPDX-License-Identifier: Apache-2.0 */
/* Temperatures on trees of files that stand in for sysfs. */
#include "power/thermal.h"

#include "vt_test.h"

#include <math.h>
#include <sys/stat.h>

static char root[64];

static int make_root(void **state)
{
    (void)state;
    (void)snprintf(root, sizeof root, "/tmp/vatio-thermal-XXXXXX");
    return mkdtemp(root) != NULL ? 0 : -1;
}

static int remove_root(void **state)
{
    char command[128];
    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command);
}

/* A file below the root, with its folders. */
static void put(const char *path, const char *text)
{
    char whole[256];

    (void)snprintf(whole, sizeof whole, "%s/%s", root, path);
    for (char *at = whole + strlen(root) + 1; *at != '\0'; at++) {
        if (*at == '/') {
            *at = '\0';
            (void)mkdir(whole, 0777);
            *at = '/';
        }
    }
    FILE *file = fopen(whole, "w");
    assert_non_null(file);
    (void)fprintf(file, "%s\n", text);
    assert_int_equal(fclose(file), 0);
}

static void assert_hottest(double celsius, const char *name)
{
    const struct vt_meter_options options = {.sysfs = root, .nvml_library = "/none/of/it.so"};
    struct vt_error err = VT_ERROR_INIT;
    struct vt_thermal *thermal = NULL;
    char found[160];

    enum vt_status status = vt_thermal_open(&options, &err, &thermal);
    if (status != VT_OK) {
        print_message("%s\n", err.text);
    }
    assert_int_equal(status, VT_OK);
    double value = vt_thermal_read(thermal, found, sizeof found);
    assert_true(isnan(celsius) ? isnan(value) : value == celsius);
    assert_string_equal(found, name);
    vt_thermal_close(thermal);
}

static void assert_none(void)
{
    const struct vt_meter_options options = {.sysfs = root, .nvml_library = "/none/of/it.so"};
    struct vt_error err = VT_ERROR_INIT;
    struct vt_thermal *thermal = NULL;

    assert_int_equal(vt_thermal_open(&options, &err, &thermal), VT_ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "coretemp"));
    assert_null(thermal);
}

static void test_the_hottest_processor_counts(void **state)
{
    (void)state;
    assert_none();
    put("class/hwmon/hwmon0/name", "nvme");
    put("class/hwmon/hwmon0/temp1_input", "88000"); /* a drive */
    assert_none();
    put("devices/system/cpu/cpufreq/policy0/scaling_cur_freq", "2000000"); /* a clock is none */
    assert_none();
    put("class/hwmon/hwmon1/name", "coretemp");
    put("class/hwmon/hwmon1/temp1_label", "Package id 0");
    put("class/hwmon/hwmon1/temp1_input", "52500");
    assert_hottest(52.5, "cpu0 temperature");
    put("class/hwmon/hwmon2/name", "coretemp");
    put("class/hwmon/hwmon2/temp1_label", "Package id 1");
    put("class/hwmon/hwmon2/temp1_input", "61000");
    assert_hottest(61, "cpu1 temperature");
    put("class/hwmon/hwmon2/temp1_input", "-128000"); /* not connected */
    assert_hottest(52.5, "cpu0 temperature");
    put("class/hwmon/hwmon1/temp1_input", "255000");
    assert_hottest((double)NAN, "");
}

static void test_zones_of_a_board(void **state)
{
    (void)state;
    put("class/thermal/thermal_zone0/type", "cpu-thermal");
    put("class/thermal/thermal_zone0/temp", "51250");
    put("class/thermal/thermal_zone1/type", "tj-thermal");
    put("class/thermal/thermal_zone1/temp", "53000");
    put("class/thermal/thermal_zone10/type", "PMIC-Die");
    put("class/thermal/thermal_zone10/temp", "100000");
    assert_hottest(53, "cpu1 temperature");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_hottest_processor_counts, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_zones_of_a_board, make_root, remove_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
