/* SPDX-License-Identifier: Apache-2.0 */
/* NVML through a library that is built for this test, see fake_nvml.c. */
#include "tree.h"

#include "base/clock.h"
#include "power/sampler.h"

static const struct vt_meter_ops *const ops = &vt_meter_nvml;

static struct vt_meter_options places(const char *library)
{
    return (struct vt_meter_options){.sysfs = tree_root, .nvml_library = library};
}

static void *open_as(const char *library, const char *words)
{
    const struct vt_meter_options options = places(library);
    struct vt_error err = VT_ERROR_INIT;
    void *meter = NULL;

    assert_int_equal(setenv("VT_FAKE_NVML", words, 1), 0);
    if (ops->open(ops, &options, &err, &meter) != VT_OK) {
        fail_msg("%s", err.text);
    }
    return meter;
}

static const char *refusal(const char *library, const char *words, enum vt_status wanted)
{
    static struct vt_error err;
    const struct vt_meter_options options = places(library);

    assert_int_equal(setenv("VT_FAKE_NVML", words, 1), 0);
    memset(&err, 0, sizeof err);
    assert_int_equal(vt_meter_probe(ops, &options, &err), wanted);
    assert_null(strchr(err.text, '\n'));
    return err.text;
}

static void each_gpu_has_a_counter_and_powers(void **state)
{
    (void)state;
    void *meter = open_as(VT_TEST_NVML, "gpus=2");

    assert_int_equal(tree_count(ops, meter), 6);
    assert_near(tree_value(ops, meter, "gpu0 instant"), 100.0);
    assert_near(tree_value(ops, meter, "gpu1 average"), 200.0);
    assert_true(tree_value(ops, meter, "gpu1 energy") > 0);
    assert_string_equal(tree_holder(ops, meter, "gpu1 instant"), "gpu1 energy");
    assert_string_equal(tree_holder(ops, meter, "gpu1 average"), "gpu1 energy");
    assert_string_equal(tree_holder(ops, meter, "gpu1 energy"), "");
    assert_int_equal(tree_info(ops, meter, "gpu0 average")->averaging_ns, VT_NS_PER_S);
    assert_null(strchr(tree_info(ops, meter, "gpu0 energy")->device, '\x1b'));
    assert_string_equal(tree_info(ops, meter, "gpu0 energy")->note, "");
    ops->close(meter);
}

static void only_the_module_on_grace_hopper(void **state)
{
    (void)state;
    void *meter = open_as(VT_TEST_NVML, "module");

    assert_int_equal(tree_count(ops, meter), 2);
    assert_string_equal(tree_holder(ops, meter, "gpu0 module"), "gpu0 energy");
    assert_int_equal(tree_info(ops, meter, "gpu0 energy")->scope, VT_METER_SCOPE_MODULE);
    assert_non_null(strstr(tree_info(ops, meter, "gpu0 energy")->note, "processor and GPU"));
    ops->close(meter);
}

static void what_old_gpus_and_libraries_lack(void **state)
{
    (void)state;
    void *meter = open_as(VT_TEST_NVML, "noenergy");
    assert_int_equal(tree_count(ops, meter), 2);
    assert_string_equal(tree_holder(ops, meter, "gpu0 instant"), "");
    assert_string_equal(tree_holder(ops, meter, "gpu0 average"), "gpu0 instant");
    assert_non_null(strstr(tree_info(ops, meter, "gpu0 instant")->note, "no energy counter"));
    ops->close(meter);
    meter = open_as(VT_TEST_NVML_OLD, "");
    assert_int_equal(tree_count(ops, meter), 1);
    assert_near(tree_value(ops, meter, "gpu0 power"), 100.0);
    ops->close(meter);
    meter = open_as(VT_TEST_NVML, "nofields");
    assert_int_equal(tree_count(ops, meter), 2);
    assert_string_equal(tree_holder(ops, meter, "gpu0 power"), "gpu0 energy");
    ops->close(meter);
}

static void mig_is_labelled(void **state)
{
    (void)state;
    void *meter = open_as(VT_TEST_NVML, "mig");

    assert_non_null(strstr(tree_info(ops, meter, "gpu0 energy")->note, "device-level, shared"));
    assert_non_null(strstr(tree_info(ops, meter, "gpu0 instant")->note, "device-level, shared"));
    ops->close(meter);
}

static void reasons_come_with_remedies(void **state)
{
    (void)state;
    assert_non_null(
        strstr(refusal("libno-such-nvml.so", "", VT_ERR_UNAVAILABLE), "install NVIDIA's driver"));
    assert_non_null(
        strstr(refusal(VT_TEST_NVML, "noinit=9", VT_ERR_UNAVAILABLE), "sudo modprobe nvidia"));
    assert_non_null(strstr(refusal(VT_TEST_NVML, "noinit=4", VT_ERR_READ), "/dev/nvidiactl"));
    assert_non_null(strstr(refusal(VT_TEST_NVML, "noinit=18", VT_ERR_UNAVAILABLE), "restart"));
    assert_non_null(strstr(refusal(VT_TEST_NVML, "noinit=999", VT_ERR_UNAVAILABLE), "999"));
    assert_non_null(strstr(refusal(VT_TEST_NVML, "gpus=0", VT_ERR_UNAVAILABLE), "no GPU"));
    assert_non_null(strstr(refusal(VT_TEST_NVML_EMPTY, "", VT_ERR_UNAVAILABLE), "nvmlInit_v2"));
    assert_non_null(strstr(refusal(VT_TEST_NVML, "zero noenergy", VT_ERR_UNAVAILABLE),
                           "none gives its energy or power"));
}

static void tegra_is_refused(void **state)
{
    (void)state;
    tree_put("devices/soc0/family", "Tegra");
    assert_non_null(strstr(refusal(VT_TEST_NVML, "", VT_ERR_UNAVAILABLE), "meter jetson"));
    tree_drop("devices/soc0/family");
    tree_put("firmware/devicetree/base/model", "NVIDIA Jetson AGX Orin Developer Kit");
    assert_non_null(strstr(refusal(VT_TEST_NVML, "", VT_ERR_UNAVAILABLE), "meter jetson"));
}

/* Reads a GPU of 100 W for a window of so long, and for what the counter takes beyond it. */
static struct vt_sampler *watch(const char *words, int64_t window_ns, struct vt_energy *ret)
{
    const struct vt_meter_options options = places(VT_TEST_NVML);
    const struct vt_meter_ops *const meters[] = {ops};
    const struct vt_sampler_options wanted = {meters, 1, &options, 0, -1};
    struct vt_error err = VT_ERROR_INIT;
    struct vt_sampler *sampler;
    struct vt_power_window window;

    assert_int_equal(setenv("VT_FAKE_NVML", words, 1), 0);
    assert_int_equal(vt_sampler_new(&wanted, &err, &sampler), VT_OK);
    vt_sleep_until_ns(vt_now_ns() + 800 * VT_NS_PER_MS, 0);
    vt_sampler_mark(sampler);
    window.begin_ns = vt_now_ns();
    window.end_ns = window.begin_ns + window_ns;
    vt_sleep_until_ns(window.end_ns, 0);
    vt_sampler_mark(sampler);
    assert_true(vt_sampler_settle(sampler, window.end_ns, vt_now_ns() + 60 * VT_NS_PER_S));
    vt_sampler_stop(sampler);
    assert_int_equal(vt_sampler_domains(sampler), 3);
    if (vt_sampler_energy(sampler, 0, &window, &err, ret) != VT_OK) {
        fail_msg("%s", err.text);
    }
    return sampler;
}

/* The counter's steps of 100 ms are found, and the energy of a window is known within them. */
static void steps_of_the_counter_are_found(void **state)
{
    struct vt_energy energy;

    (void)state;
    struct vt_sampler *sampler = watch("gpus=1", 4 * VT_NS_PER_S, &energy);
    assert_true(fabs(energy.joules - 400) <= energy.uncertainty_j);
    /* Half a second holds four to six steps. */
    const double watts = vt_sampler_watts(sampler, 0);
    assert_true(watts > 70 && watts < 130);
    assert_in_range(energy.update.ns, 50 * VT_NS_PER_MS, 150 * VT_NS_PER_MS);
    vt_sampler_free(sampler);
}

/* Some drivers wait busily for the GPU: its counter is read at the edges, its power all along. */
static void a_dear_counter_is_read_at_edges(void **state)
{
    struct vt_energy energy;

    (void)state;
    struct vt_sampler *sampler = watch("gpus=1 dear", 3 * VT_NS_PER_S, &energy);
    const struct vt_meter_domain *domain = vt_sampler_domain(sampler, 0).domain;
    assert_true(domain->sparse_ns >= 4 * VT_NS_PER_S);
    assert_near(domain->most_w, 1400.0);
    assert_true(fabs(energy.joules - 300) <= energy.uncertainty_j);
    assert_near(vt_sampler_watts(sampler, 0), 100.0);
    /* Within the window there are those behind its begin. */
    assert_true(energy.readings < 30);
    vt_sampler_free(sampler);
}

static void a_gpu_that_falls_off_the_bus_is_no_number(void **state)
{
    struct vt_meter_reading readings[3];
    struct vt_error err = VT_ERROR_INIT;
    char path[512];

    (void)state;
    tree_path(path, "lost");
    assert_int_equal(setenv("VT_FAKE_NVML_LOST", path, 1), 0);
    void *meter = open_as(VT_TEST_NVML, "");
    assert_int_equal(ops->read(meter, NULL, readings, &err), VT_OK);
    tree_put("lost", "");
    assert_int_equal(ops->read(meter, NULL, readings, &err), VT_ERR_READ);
    assert_true(isnan(readings[0].value) && isnan(readings[2].value));
    ops->close(meter);
    assert_int_equal(unsetenv("VT_FAKE_NVML_LOST"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TREE(test) cmocka_unit_test_setup_teardown(test, tree_make, tree_remove)
        TREE(each_gpu_has_a_counter_and_powers),
        TREE(only_the_module_on_grace_hopper),
        TREE(what_old_gpus_and_libraries_lack),
        TREE(mig_is_labelled),
        TREE(reasons_come_with_remedies),
        TREE(tegra_is_refused),
        TREE(steps_of_the_counter_are_found),
        TREE(a_dear_counter_is_read_at_edges),
        TREE(a_gpu_that_falls_off_the_bus_is_no_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
