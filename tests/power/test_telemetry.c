/* SPDX-License-Identifier: Apache-2.0 */
/* Temperatures, clocks and slow-down reasons, over trees of sysfs and a stand-in for NVML. */
#include "tree.h"

#include "power/telemetry.h"

static void *open_source(const struct vt_meter_ops *ops, const struct vt_meter_options *options)
{
    struct vt_error err = VT_ERROR_INIT;
    void *source = NULL;

    if (ops->open(ops, options, &err, &source) != VT_OK) {
        fail_msg("%s", err.text);
    }
    return source;
}

/* Everything is read, and by name. */
static double value_of(const struct vt_meter_ops *ops, void *source, const char *name)
{
    struct vt_meter_reading readings[VT_METER_DOMAINS_MAX];
    struct vt_error err = VT_ERROR_INIT;
    uint32_t n = 0;
    const struct vt_meter_domain *domains = ops->domains(source, &n);

    (void)!ops->read(source, NULL, readings, &err);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(domains[i].kind, VT_METER_OTHER);
        if (strcmp(domains[i].name, name) == 0) {
            return readings[i].value;
        }
    }
    return -1;
}

static void packages_are_read_and_single_cores_are_not(void **state)
{
    (void)state;
    tree_put("class/hwmon/hwmon0/name", "nvme");
    tree_put("class/hwmon/hwmon0/temp1_input", "90000");
    tree_put("class/hwmon/hwmon1/name", "coretemp");
    tree_put("class/hwmon/hwmon1/temp1_label", "Package id 0");
    tree_put("class/hwmon/hwmon1/temp1_input", "61000");
    tree_put("class/hwmon/hwmon1/temp2_label", "Core 0");
    tree_put("class/hwmon/hwmon1/temp2_input", "70000");
    tree_put("class/hwmon/hwmon2/name", "k10temp");
    tree_put("class/hwmon/hwmon2/temp1_label", "Tctl");
    tree_put("class/hwmon/hwmon2/temp1_input", "45250");
    tree_put("class/thermal/thermal_zone0/type", "x86_pkg_temp");
    tree_put("class/thermal/thermal_zone0/temp", "99000");
    const struct vt_meter_options options = tree_options();
    void *cpu = open_source(&vt_telemetry_cpu, &options);
    assert_true(value_of(&vt_telemetry_cpu, cpu, "cpu0 temperature") == 61);
    assert_true(value_of(&vt_telemetry_cpu, cpu, "cpu1 temperature") == 45.25);
    assert_true(value_of(&vt_telemetry_cpu, cpu, "cpu2 temperature") == -1);
    assert_true(value_of(&vt_telemetry_cpu, cpu, "cpu clock") == -1);
    /* A value that changes in a file that stays open; and one that goes away. */
    tree_put("class/hwmon/hwmon1/temp1_input", "62000");
    assert_true(value_of(&vt_telemetry_cpu, cpu, "cpu0 temperature") == 62);
    tree_drop("class/hwmon/hwmon1/temp1_input");
    assert_true(isnan(value_of(&vt_telemetry_cpu, cpu, "cpu0 temperature")));
    assert_true(value_of(&vt_telemetry_cpu, cpu, "cpu1 temperature") == 45.25);
    tree_put("class/hwmon/hwmon1/temp1_input", "63000");
    assert_true(value_of(&vt_telemetry_cpu, cpu, "cpu0 temperature") == 63);
    vt_telemetry_cpu.close(cpu);
}

static void zones_stand_in_and_clocks_are_a_mean(void **state)
{
    (void)state;
    tree_put("class/thermal/thermal_zone0/type", "acpitz");
    tree_put("class/thermal/thermal_zone0/temp", "20000");
    tree_put("class/thermal/thermal_zone1/type", "cpu-thermal");
    tree_put("class/thermal/thermal_zone1/temp", "48500");
    for (int i = 0; i < 32; i++) {
        char name[96], khz[16];
        (void)snprintf(name, sizeof name, "devices/system/cpu/cpufreq/policy%d/scaling_cur_freq",
                       i);
        (void)snprintf(khz, sizeof khz, "%d", i % 8 == 0 ? 2000000 : 1000000);
        tree_put(name, khz);
    }
    const struct vt_meter_options options = tree_options();
    void *cpu = open_source(&vt_telemetry_cpu, &options);
    assert_true(value_of(&vt_telemetry_cpu, cpu, "cpu0 temperature") == 48.5);
    /* Of 0, 4, 8, … every second is a fast one. */
    assert_true(value_of(&vt_telemetry_cpu, cpu, "cpu clock") == 1500);
    vt_telemetry_cpu.close(cpu);
}

static void nothing_there_is_said_so(void **state)
{
    struct vt_error err = VT_ERROR_INIT, none = VT_ERROR_INIT;
    struct vt_meter_options options = tree_options();

    (void)state;
    assert_int_equal(vt_meter_probe(&vt_telemetry_cpu, &options, &err), VT_ERR_UNAVAILABLE);
    options.nvml_library = "libno-such.so";
    assert_int_equal(vt_meter_probe(&vt_telemetry_gpu, &options, &none), VT_ERR_UNAVAILABLE);
    assert_non_null(strstr(none.text, "libno-such.so is not here"));
    vt_telemetry_cpu.close(NULL);
    vt_telemetry_gpu.close(NULL);
}

static void gpus_tell_what_slows_them(void **state)
{
    struct vt_meter_options options = tree_options();
    uint32_t n = 0;

    (void)state;
    assert_int_equal(setenv("VT_FAKE_NVML", "gpus=2 capped", 1), 0);
    options.nvml_library = VT_TEST_NVML;
    void *gpu = open_source(&vt_telemetry_gpu, &options);
    const struct vt_meter_domain *domains = vt_telemetry_gpu.domains(gpu, &n);
    assert_int_equal(n, 8); /* the memory's temperature is of a type that it never has */
    const double celsius = value_of(&vt_telemetry_gpu, gpu, "gpu1 temperature");
    assert_true(celsius == 45 || celsius == 46);
    assert_true(value_of(&vt_telemetry_gpu, gpu, "gpu1 SM clock") == 1980);
    assert_true(value_of(&vt_telemetry_gpu, gpu, "gpu0 memory clock") == 3201);
    const unsigned bits = (unsigned)value_of(&vt_telemetry_gpu, gpu, "gpu0 slowed by");
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t f = 0; f < domains[i].n_flags; f++) {
            const bool set = (bits & domains[i].flags[f].bit) != 0;
            assert_true(set == (strcmp(domains[i].flags[f].text, "power cap") == 0));
        }
    }
    vt_telemetry_gpu.close(gpu);
    (void)unsetenv("VT_FAKE_NVML");
    /* An old library knows none of this. */
    struct vt_error err = VT_ERROR_INIT;
    options.nvml_library = VT_TEST_NVML_OLD;
    assert_int_equal(vt_meter_probe(&vt_telemetry_gpu, &options, &err), VT_ERR_UNAVAILABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(packages_are_read_and_single_cores_are_not, tree_make,
                                        tree_remove),
        cmocka_unit_test_setup_teardown(zones_stand_in_and_clocks_are_a_mean, tree_make,
                                        tree_remove),
        cmocka_unit_test_setup_teardown(nothing_there_is_said_so, tree_make, tree_remove),
        cmocka_unit_test_setup_teardown(gpus_tell_what_slows_them, tree_make, tree_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
