/* SPDX-License-Identifier: Apache-2.0 */
/* Sensors of hwmon and iio on trees of Jetsons, Grace and AMD GPUs. */
#include "tree.h"

static void put(const char *folder, const char *name, const char *text)
{
    char path[256];

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    tree_put(path, text);
}

static void rail(const char *hwmon, int k, const char *label, const char *mv, const char *ma)
{
    char folder[64], name[32];

    (void)snprintf(folder, sizeof folder, "class/hwmon/%s", hwmon);
    put(folder, "name", "ina3221");
    (void)snprintf(name, sizeof name, "in%d_label", k);
    put(folder, name, label);
    (void)snprintf(name, sizeof name, "in%d_input", k);
    put(folder, name, mv);
    (void)snprintf(name, sizeof name, "curr%d_input", k);
    put(folder, name, ma);
}

static void agx_orin(void)
{
    rail("hwmon3", 1, "VDD_GPU_SOC", "19000", "500"); /* 9.5 W */
    rail("hwmon3", 2, "VDD_CPU_CV", "19000", "100");  /* 1.9 W */
    rail("hwmon3", 3, "VIN_SYS_5V0", "5000", "800");  /* 4 W */
    rail("hwmon4", 1, "NC", "0", "0");
    rail("hwmon4", 2, "VDDQ_VDD2_1V8AO", "5000", "200"); /* 1 W */
    put("class/hwmon/hwmon3", "in7_label", "sum of shunt voltages");
    put("class/hwmon/hwmon3", "in7_input", "12345");
    put("class/hwmon/hwmon0", "name", "tmp451");
}

static void rails_of_agx_orin_are_summed_by_the_stated_formula(void **state)
{
    (void)state;
    agx_orin();
    void *meter = tree_open(&vt_meter_jetson);
    const struct vt_meter_ops *ops = &vt_meter_jetson;

    assert_int_equal(tree_count(ops, meter), 5);
    assert_near(tree_value(ops, meter, "VDD_GPU_SOC"), 9.5);
    assert_near(tree_value(ops, meter, "VDDQ_VDD2_1V8AO"), 1.0);
    assert_near(tree_value(ops, meter, "AGX Orin sum"), 15.4);
    assert_string_equal(tree_holder(ops, meter, "AGX Orin sum"), "");
    assert_string_equal(tree_holder(ops, meter, "VDD_CPU_CV"), "AGX Orin sum");
    assert_string_equal(tree_holder(ops, meter, "VDDQ_VDD2_1V8AO"), "AGX Orin sum");
    assert_non_null(strstr(tree_info(ops, meter, "AGX Orin sum")->note,
                           "VDD_GPU_SOC + VDD_CPU_CV + VIN_SYS_5V0"));
    ops->close(meter);
}

static void a_rail_that_disappears_spoils_the_sum_only(void **state)
{
    (void)state;
    agx_orin();
    void *meter = tree_open(&vt_meter_jetson);

    tree_drop("class/hwmon/hwmon3/curr2_input");
    assert_true(isnan(tree_value(&vt_meter_jetson, meter, "VDD_CPU_CV")));
    assert_true(isnan(tree_value(&vt_meter_jetson, meter, "AGX Orin sum")));
    assert_near(tree_value(&vt_meter_jetson, meter, "VIN_SYS_5V0"), 4.0);
    rail("hwmon3", 2, "VDD_CPU_CV", "19000", "100");
    assert_near(tree_value(&vt_meter_jetson, meter, "AGX Orin sum"), 15.4);
    vt_meter_jetson.close(meter);
}

static void the_input_of_orin_nx_holds_the_others(void **state)
{
    (void)state;
    rail("hwmon1", 1, "VDD_IN", "5040", "2000");
    rail("hwmon1", 2, "VDD_CPU_GPU_CV", "5040", "800");
    rail("hwmon1", 3, "VDD_SOC", "5040", "400");
    void *meter = tree_open(&vt_meter_jetson);

    assert_int_equal(tree_count(&vt_meter_jetson, meter), 3);
    assert_near(tree_value(&vt_meter_jetson, meter, "VDD_IN"), 10.08);
    assert_string_equal(tree_holder(&vt_meter_jetson, meter, "VDD_IN"), "");
    assert_string_equal(tree_holder(&vt_meter_jetson, meter, "VDD_SOC"), "VDD_IN");
    assert_int_equal(tree_info(&vt_meter_jetson, meter, "VDD_IN")->scope, VT_METER_SCOPE_MODULE);
    vt_meter_jetson.close(meter);
}

static void thor_and_old_kernels(void **state)
{
#define IIO "bus/i2c/drivers/ina3221x/1-0040/iio:device0"
    (void)state;
    put(IIO, "rail_name_0", "VDD_IN");
    put(IIO, "in_power0_input", "5213");
    put(IIO, "rail_name_1", "NC");
    put(IIO, "in_power1_input", "0");
    put(IIO, "rail_name_2", "VDD_SOC");
    put(IIO, "in_power2_input", "1500");
    void *meter = tree_open(&vt_meter_jetson);
    assert_int_equal(tree_count(&vt_meter_jetson, meter), 2);
    assert_near(tree_value(&vt_meter_jetson, meter, "VDD_IN"), 5.213);
    vt_meter_jetson.close(meter);

    put("class/hwmon/hwmon2", "name", "ina238");
    put("class/hwmon/hwmon2", "label", "VIN");
    put("class/hwmon/hwmon2", "power1_input", "42000000");
    meter = tree_open(&vt_meter_jetson); /* hwmon comes before iio */
    assert_int_equal(tree_count(&vt_meter_jetson, meter), 1);
    assert_near(tree_value(&vt_meter_jetson, meter, "VIN"), 42.0);
    vt_meter_jetson.close(meter);
}

static void grace(const char *hwmon, const char *oem, const char *uw)
{
    char folder[64];

    (void)snprintf(folder, sizeof folder, "class/hwmon/%s", hwmon);
    put(folder, "name", "power_meter");
    put(folder, "device/power1_oem_info", oem);
    put(folder, "device/power1_average", uw);
    put(folder, "device/power1_average_interval", "50");
    put(folder, "device/power1_accuracy", "98.0%");
}

static void domains_of_grace_lie_in_each_other(void **state)
{
    const struct vt_meter_ops *ops = &vt_meter_acpi;

    (void)state;
    grace("hwmon0", "CPU Power Socket 0", "50000000");
    grace("hwmon1", "Grace Power Socket 0", "90000000");
    grace("hwmon2", "Module Power Socket 0", "400000000");
    grace("hwmon3", "SysIO Power Socket 0", "20000000");
    grace("hwmon4", "Grace Power Socket 1", "91000000");
    grace("hwmon5", "CPU Power Socket 1", "51000000");
    void *meter = tree_open(ops);

    assert_int_equal(tree_count(ops, meter), 6);
    assert_near(tree_value(ops, meter, "Module Power Socket 0"), 400.0);
    assert_string_equal(tree_holder(ops, meter, "CPU Power Socket 0"), "Grace Power Socket 0");
    assert_string_equal(tree_holder(ops, meter, "SysIO Power Socket 0"), "Grace Power Socket 0");
    assert_string_equal(tree_holder(ops, meter, "Grace Power Socket 0"), "Module Power Socket 0");
    assert_string_equal(tree_holder(ops, meter, "Module Power Socket 0"), "");
    assert_string_equal(tree_holder(ops, meter, "CPU Power Socket 1"), "Grace Power Socket 1");
    assert_string_equal(tree_holder(ops, meter, "Grace Power Socket 1"), "");
    const struct vt_meter_domain *module = tree_info(ops, meter, "Module Power Socket 0");
    assert_int_equal(module->averaging_ns, 50000000);
    assert_true(fabs(module->accuracy - 0.02) < 1e-12);
    assert_non_null(strstr(module->note, "NVML"));
    ops->close(meter);
}

static void amd_gpus_and_their_counters(void **state)
{
    const struct vt_meter_ops *ops = &vt_meter_amdgpu;

    (void)state;
    put("class/hwmon/hwmon1", "name", "amdgpu");
    put("class/hwmon/hwmon1", "power1_average", "150000000");
    put("class/hwmon/hwmon2", "name", "amdgpu");
    put("class/hwmon/hwmon2", "power1_input", "160000000");
    put("class/hwmon/hwmon2", "energy1_input", "7000000");
    void *meter = tree_open(ops);

    assert_int_equal(tree_count(ops, meter), 3);
    assert_near(tree_value(ops, meter, "gpu0 power"), 150.0);
    assert_near(tree_value(ops, meter, "gpu1 power"), 160.0);
    assert_near(tree_value(ops, meter, "gpu1 energy"), 7.0);
    assert_int_equal(tree_info(ops, meter, "gpu1 energy")->kind, VT_METER_ENERGY);
    assert_string_equal(tree_holder(ops, meter, "gpu1 power"), "gpu1 energy");
    ops->close(meter);
}

static void what_is_missing_is_said_with_the_remedy(void **state)
{
    (void)state;
    assert_non_null(strstr(tree_refusal(&vt_meter_jetson, VT_ERR_UNAVAILABLE), "ina3221"));
    assert_non_null(strstr(tree_refusal(&vt_meter_acpi, VT_ERR_UNAVAILABLE), "modprobe"));
    assert_non_null(strstr(tree_refusal(&vt_meter_amdgpu, VT_ERR_UNAVAILABLE), "amdgpu"));
    /* A sensor that is there and says nothing. */
    put("class/hwmon/hwmon1", "name", "amdgpu");
    put("class/hwmon/hwmon1", "power1_average", "N/A");
    assert_non_null(strstr(tree_refusal(&vt_meter_amdgpu, VT_ERR_READ), "power1_average"));
}

static void twins_get_names_of_their_own(void **state)
{
    (void)state;
    rail("hwmon1", 1, "GPU", "5000", "100");
    rail("hwmon2", 1, "GPU", "5000", "200");
    void *meter = tree_open(&vt_meter_jetson);

    assert_near(tree_value(&vt_meter_jetson, meter, "GPU"), 0.5);
    assert_near(tree_value(&vt_meter_jetson, meter, "GPU #2"), 1.0);
    vt_meter_jetson.close(meter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TREE(test) cmocka_unit_test_setup_teardown(test, tree_make, tree_remove)
        TREE(rails_of_agx_orin_are_summed_by_the_stated_formula),
        TREE(a_rail_that_disappears_spoils_the_sum_only),
        TREE(the_input_of_orin_nx_holds_the_others),
        TREE(thor_and_old_kernels),
        TREE(domains_of_grace_lie_in_each_other),
        TREE(amd_gpus_and_their_counters),
        TREE(what_is_missing_is_said_with_the_remedy),
        TREE(twins_get_names_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
