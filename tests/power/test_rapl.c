/* SPDX-License-Identifier: Apache-2.0 */
/* RAPL on trees of powercap: which domains there are, what lies in what, who may read them. */
#include "tree.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>

#define CAP "class/powercap/"

static void zone(const char *entry, const char *name, const char *uj)
{
    char path[256];

    (void)snprintf(path, sizeof path, CAP "%s/name", entry);
    tree_put(path, name);
    (void)snprintf(path, sizeof path, CAP "%s/energy_uj", entry);
    tree_put(path, uj);
    (void)snprintf(path, sizeof path, CAP "%s/max_energy_range_uj", entry);
    tree_put(path, "262143328850");
}

static void one_socket(void **state)
{
    (void)state;
    zone("intel-rapl:0", "package-0", "1000000");
    zone("intel-rapl:0:0", "core", "400000");
    zone("intel-rapl:0:1", "uncore", "100000");
    zone("intel-rapl:0:2", "dram", "250000");
    tree_put(CAP "intel-rapl/enabled", "1");
    void *meter = tree_open(&vt_meter_rapl);

    assert_int_equal(tree_count(&vt_meter_rapl, meter), 4);
    assert_string_equal(tree_holder(&vt_meter_rapl, meter, "package-0 core"), "package-0");
    assert_string_equal(tree_holder(&vt_meter_rapl, meter, "package-0 uncore"), "package-0");
    assert_string_equal(tree_holder(&vt_meter_rapl, meter, "package-0"), "");
    assert_string_equal(tree_holder(&vt_meter_rapl, meter, "package-0 dram"), "");
    assert_near(tree_value(&vt_meter_rapl, meter, "package-0"), 1.0);
    assert_near(tree_value(&vt_meter_rapl, meter, "package-0 dram"), 0.25);
    const struct vt_meter_domain *package = tree_info(&vt_meter_rapl, meter, "package-0");
    assert_int_equal(package->kind, VT_METER_ENERGY);
    assert_int_equal(package->scope, VT_METER_SCOPE_PACKAGE);
    assert_near(package->modulus_j, 262143.328850);
    assert_string_equal(package->device, "socket 0");
    vt_meter_rapl.close(meter);
}

static void two_sockets_and_the_other_interface(void **state)
{
    (void)state;
    zone("intel-rapl:0", "package-0", "1000000");
    zone("intel-rapl:0:0", "dram", "10000");
    zone("intel-rapl:1", "package-1", "2000000");
    zone("intel-rapl:1:0", "dram", "20000");
    zone("intel-rapl-mmio:0", "package-0", "1000001");
    zone("intel-rapl-mmio:0:0", "dram", "10001");
    void *meter = tree_open(&vt_meter_rapl);

    assert_int_equal(tree_count(&vt_meter_rapl, meter), 4); /* mmio shows the same */
    assert_near(tree_value(&vt_meter_rapl, meter, "package-0"), 1.0);
    assert_near(tree_value(&vt_meter_rapl, meter, "package-1"), 2.0);
    assert_near(tree_value(&vt_meter_rapl, meter, "package-1 dram"), 0.02);
    assert_string_equal(tree_info(&vt_meter_rapl, meter, "package-1 dram")->device, "socket 1");
    vt_meter_rapl.close(meter);
}

static void the_platform_holds_packages_and_memory(void **state)
{
    (void)state;
    zone("intel-rapl:0", "package-0", "1000000");
    zone("intel-rapl:0:0", "core", "1000000");
    zone("intel-rapl:0:1", "dram", "1000000");
    zone("intel-rapl:1", "psys", "5000000");
    void *meter = tree_open(&vt_meter_rapl);
    uint32_t n = 0, top = 0;

    assert_string_equal(tree_holder(&vt_meter_rapl, meter, "psys"), "");
    assert_string_equal(tree_holder(&vt_meter_rapl, meter, "package-0"), "psys");
    assert_string_equal(tree_holder(&vt_meter_rapl, meter, "package-0 dram"), "psys");
    assert_string_equal(tree_holder(&vt_meter_rapl, meter, "package-0 core"), "package-0");
    const struct vt_meter_domain *domains = vt_meter_rapl.domains(meter, &n);
    for (uint32_t i = 0; i < n; i++) {
        top += domains[i].inside < 0;
    }
    assert_int_equal(top, 1);
    vt_meter_rapl.close(meter);
}

static void what_only_root_may_read_is_said_with_the_remedy(void **state)
{
    char path[512];
    const bool root = geteuid() == 0;

    (void)state;
    zone("intel-rapl:0", "package-0", "1000000");
    tree_path(path, CAP "intel-rapl:0/energy_uj");
    assert_int_equal(chmod(path, 0400), 0);
    if (root) {
        assert_int_equal(seteuid(65534), 0);
    } else {
        assert_int_equal(chmod(path, 0), 0);
    }
    const char *text = tree_refusal(&vt_meter_rapl, VT_ERR_READ);
    if (root) {
        assert_int_equal(seteuid(0), 0);
    }
    assert_non_null(strstr(text, "root only"));
    assert_non_null(strstr(text, "chmod a+r"));
    assert_non_null(strstr(text, "intel-rapl*/energy_uj"));
}

static void no_rapl_is_said_with_the_remedy(void **state)
{
    (void)state;
    const char *text = tree_refusal(&vt_meter_rapl, VT_ERR_UNAVAILABLE);
    assert_non_null(strstr(text, "modprobe intel_rapl_msr"));
    assert_non_null(strstr(text, "perf"));
}

static void hostile_files_are_no_readings(void **state)
{
    (void)state;
    zone("intel-rapl:0", "package-0", "one million");
    assert_non_null(strstr(tree_refusal(&vt_meter_rapl, VT_ERR_READ), "cannot be read"));
    zone("intel-rapl:0", "package-0", "");
    (void)tree_refusal(&vt_meter_rapl, VT_ERR_READ);
    zone("intel-rapl:0", "package-0", "1e999");
    (void)tree_refusal(&vt_meter_rapl, VT_ERR_READ);
    zone("intel-rapl:0", "a-name-of-a-zone-that-goes-on-and-on-and-on-and-on-and-on-and-on-and-on",
         "5");
    zone("intel-rapl:0:0", "\x1b[31mred", "6");
    void *meter = tree_open(&vt_meter_rapl);
    uint32_t n = 0;
    const struct vt_meter_domain *domains = vt_meter_rapl.domains(meter, &n);
    assert_int_equal(n, 2);
    for (uint32_t i = 0; i < n; i++) {
        assert_null(strchr(domains[i].name, '\x1b'));
    }
    vt_meter_rapl.close(meter);
}

static void what_disappears_is_not_a_number(void **state)
{
    struct vt_meter_reading readings[2];
    struct vt_error err = VT_ERROR_INIT;

    (void)state;
    zone("intel-rapl:0", "package-0", "1000000");
    zone("intel-rapl:1", "package-1", "2000000");
    void *meter = tree_open(&vt_meter_rapl);
    tree_drop(CAP "intel-rapl:1/energy_uj");
    assert_int_equal(vt_meter_rapl.read(meter, NULL, readings, &err), VT_OK);
    assert_near(readings[0].value, 1.0);
    assert_true(isnan(readings[1].value));
    tree_drop(CAP "intel-rapl:0/energy_uj");
    assert_int_equal(vt_meter_rapl.read(meter, NULL, readings, &err), VT_ERR_READ);
    vt_meter_rapl.close(meter);
}

/* The kernel's own clock of a processor stands in for its energy: 1 J a second. */
static void perf_is_the_second_way(void **state)
{
#define PMU "bus/event_source/devices/power/"
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE, .size = sizeof attr, .config = PERF_COUNT_SW_CPU_CLOCK};
    const long fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, 0);

    (void)state;
    tree_put(PMU "type", "1");
    tree_put(PMU "cpumask", "0");
    tree_put(PMU "events/energy-pkg", "event=0x00");
    tree_put(PMU "events/energy-pkg.unit", "Joules");
    tree_put(PMU "events/energy-pkg.scale", "1e-9");
    tree_put(PMU "events/energy-cores", "event=0x00");
    tree_put(PMU "events/energy-cores.unit", "Joules");
    tree_put(PMU "events/energy-cores.scale", "1e-9");
    tree_put(PMU "events/energy-ram", "event=0x00"); /* without a unit: left out */
    if (fd < 0) {
        assert_non_null(strstr(tree_refusal(&vt_meter_rapl, VT_ERR_READ), "perf_event_paranoid"));
        return;
    }
    (void)close((int)fd);
    void *meter = tree_open(&vt_meter_rapl);
    assert_int_equal(tree_count(&vt_meter_rapl, meter), 2);
    assert_string_equal(tree_holder(&vt_meter_rapl, meter, "package-0 core"), "package-0");
    const double first = tree_value(&vt_meter_rapl, meter, "package-0");
    const double second = tree_value(&vt_meter_rapl, meter, "package-0");
    assert_true(first >= 0 && second >= first);
    vt_meter_rapl.close(meter);
}

/* The kernel's dummy event never counts. */
static void counters_that_stand_still_are_said_so(void **state)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE, .size = sizeof attr, .config = PERF_COUNT_SW_DUMMY};
    const long fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, 0);

    (void)state;
    tree_put(PMU "type", "1");
    tree_put(PMU "cpumask", "0");
    tree_put(PMU "events/energy-psys", "event=0x09");
    tree_put(PMU "events/energy-psys.unit", "Joules");
    tree_put(PMU "events/energy-psys.scale", "1e-9");
    if (fd < 0) {
        return; /* the other test says what is said then */
    }
    (void)close((int)fd);
    assert_non_null(strstr(tree_refusal(&vt_meter_rapl, VT_ERR_UNAVAILABLE), "stand still"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TREE(test) cmocka_unit_test_setup_teardown(test, tree_make, tree_remove)
        TREE(one_socket),
        TREE(two_sockets_and_the_other_interface),
        TREE(the_platform_holds_packages_and_memory),
        TREE(what_only_root_may_read_is_said_with_the_remedy),
        TREE(no_rapl_is_said_with_the_remedy),
        TREE(hostile_files_are_no_readings),
        TREE(what_disappears_is_not_a_number),
        TREE(perf_is_the_second_way),
        TREE(counters_that_stand_still_are_said_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
