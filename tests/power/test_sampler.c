/* SPDX-License-Identifier: Apache-2.0 */
/* The sampling thread over recordings and trees, the table of meters, the recordings themselves. */
#include "tree.h"

#include "base/clock.h"
#include "power/replay.h"
#include "power/sampler.h"

static void start(const struct vt_meter_ops *const *meters, size_t n,
                  const struct vt_meter_options *places, struct vt_sampler **ret)
{
    const struct vt_sampler_options options = {meters, n, places, 0, -1};
    struct vt_error err = VT_ERROR_INIT;

    if (vt_sampler_new(&options, &err, ret) != VT_OK) {
        fail_msg("%s", err.text);
    }
}

static void pass(int64_t ms)
{
    const int64_t until = vt_now_ns() + ms * VT_NS_PER_MS;
    while (vt_now_ns() < until) {
        vt_sleep_until_ns(until, 0);
    }
}

static void a_recording_is_integrated(void **state)
{
    char path[512];
    const struct vt_meter_ops *const meters[] = {&vt_meter_replay, &vt_meter_null};
    struct vt_sampler *sampler;
    struct vt_error err = VT_ERROR_INIT;
    struct vt_energy energy;

    (void)state;
    /* A triangle of 40 to 60 W, 200 ms long: 50 W in the mean over whole turns. */
    tree_put("power.csv", "time,watts\n5.00,40\n5.05,50\n5.10,60\n5.15,50");
    tree_path(path, "power.csv");
    const struct vt_meter_options places = {.sysfs = tree_root, .replay_file = path};
    start(meters, 2, &places, &sampler);
    pass(300);
    vt_sampler_mark(sampler);
    struct vt_power_window window = {.begin_ns = vt_now_ns()};
    pass(2000);
    window.end_ns = window.begin_ns + 2000 * VT_NS_PER_MS;
    assert_true(vt_sampler_settle(sampler, window.end_ns, vt_now_ns() + 60 * VT_NS_PER_S));
    assert_int_equal(vt_sampler_domains(sampler), 2);
    const double watts = vt_sampler_watts(sampler, 0);
    assert_true(watts >= 40 && watts <= 60 && vt_sampler_watts(sampler, 1) == 0);
    const struct vt_sampler_domain second = vt_sampler_domain(sampler, 1);
    assert_ptr_equal(second.meter, &vt_meter_null);
    assert_int_equal(second.first, 1);
    vt_sampler_stop(sampler);
    vt_sampler_stop(sampler);
    if (vt_sampler_energy(sampler, 0, &window, &err, &energy) != VT_OK) {
        fail_msg("%s", err.text);
    }
    assert_true(fabs(energy.joules - 100) <= energy.uncertainty_j);
    assert_true(energy.peak_w <= 60 + 1e-9);
    assert_int_equal(vt_sampler_energy(sampler, 1, &window, &err, &energy), VT_OK);
    assert_true(energy.joules == 0 && energy.uncertainty_j == 0);

    const int64_t *unix_ns = NULL;
    const struct vt_power_track track = vt_sampler_track(sampler, 0, &unix_ns);
    assert_true(track.n > 20);
    for (size_t i = 1; i < track.n; i++) {
        assert_true(track.ns[i] > track.ns[i - 1]);
        /* Both clocks go alike. */
        assert_true(llabs((unix_ns[i] - unix_ns[0]) - (track.ns[i] - track.ns[0])) < VT_NS_PER_S);
    }
    const struct vt_sampler_cost cost = vt_sampler_cost(sampler);
    assert_true(cost.rounds > 20 && cost.cpu_ns > 0);
    assert_true(cost.wall_ns >= 2300 * VT_NS_PER_MS && cost.cpu_ns < cost.wall_ns);
    assert_true(vt_sampler_latest(sampler, 0).value >= 40);
    vt_sampler_free(sampler);
}

static void a_rail_that_disappears_mid_run_is_reported(void **state)
{
    const struct vt_meter_ops *const meters[] = {&vt_meter_jetson};
    const struct vt_meter_options places = tree_options();
    struct vt_sampler *sampler;
    struct vt_error err = VT_ERROR_INIT;
    struct vt_energy energy;

    (void)state;
    tree_put("class/hwmon/hwmon1/name", "ina3221");
    tree_put("class/hwmon/hwmon1/in1_label", "VDD_IN");
    tree_put("class/hwmon/hwmon1/in1_input", "5000");
    tree_put("class/hwmon/hwmon1/curr1_input", "2000");
    start(meters, 1, &places, &sampler);
    pass(200);
    struct vt_power_window window = {.begin_ns = vt_now_ns()};
    pass(1000);
    window.end_ns = vt_now_ns();
    assert_true(vt_sampler_settle(sampler, window.end_ns, vt_now_ns() + 60 * VT_NS_PER_S));
    assert_int_equal(vt_sampler_energy(sampler, 0, &window, &err, &energy), VT_OK);
    const double s = (double)energy.window_ns / 1e9;
    assert_true(fabs(energy.joules - 10 * s) <= energy.uncertainty_j);
    assert_true(fabs(energy.mlperf_w - 10) < 1e-9);
    tree_drop("class/hwmon/hwmon1/curr1_input");
    pass(1500);
    window.end_ns = vt_now_ns() - 100 * VT_NS_PER_MS;
    assert_int_equal(vt_sampler_energy(sampler, 0, &window, &err, &energy), VT_ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "VDD_IN"));
    assert_true(isnan(vt_sampler_latest(sampler, 0).value));
    vt_sampler_free(sampler);
}

/* Rails whose input rail holds one of them: 10 W + 3 W, not 10 + 3 + 2. */
static void nothing_is_summed_twice(void **state)
{
    const struct vt_meter_ops *const meters[] = {&vt_meter_null, &vt_meter_acpi};
    const struct vt_meter_options places = tree_options();
    struct vt_sampler *sampler;
    struct vt_error err = VT_ERROR_INIT;
    struct vt_energy energy;

    (void)state;
    for (int i = 0; i < 3; i++) {
        static const char *const names[] = {"Grace Power Socket 0", "Grace Power Socket 1",
                                            "CPU Power Socket 1"};
        static const char *const uw[] = {"10000000", "3000000", "2000000"};
        char path[128];
        (void)snprintf(path, sizeof path, "class/hwmon/hwmon%d/name", i);
        tree_put(path, "power_meter");
        (void)snprintf(path, sizeof path, "class/hwmon/hwmon%d/power1_oem_info", i);
        tree_put(path, names[i]);
        (void)snprintf(path, sizeof path, "class/hwmon/hwmon%d/power1_average", i);
        tree_put(path, uw[i]);
    }
    start(meters, 2, &places, &sampler);
    pass(200);
    struct vt_power_window window = {.begin_ns = vt_now_ns()};
    pass(500);
    window.end_ns = vt_now_ns();
    assert_true(vt_sampler_settle(sampler, window.end_ns, vt_now_ns() + 60 * VT_NS_PER_S));
    assert_int_equal(vt_sampler_total(sampler, 1, &window, &err, &energy), VT_OK);
    assert_true(fabs(energy.mean_w - 13) < 1e-6 && fabs(energy.peak_w - 13) < 1e-6);
    assert_true(fabs(energy.joules - 13e-9 * (double)energy.window_ns) < 1e-6);
    assert_int_equal(vt_sampler_total(sampler, 2, &window, &err, &energy), VT_ERR_USAGE);
    vt_sampler_free(sampler);
}

static void what_cannot_be_opened_is_named(void **state)
{
    static const struct vt_meter_ops *many[VT_SAMPLER_METERS_MAX + 1];
    const struct vt_meter_ops *const meters[] = {&vt_meter_null, &vt_meter_replay};
    const struct vt_meter_ops *found = NULL;
    struct vt_error err = VT_ERROR_INIT, count = VT_ERROR_INIT, cpu = VT_ERROR_INIT;
    struct vt_sampler *sampler;
    struct vt_sampler_options options = {meters, 2, NULL, 0, -1};

    (void)state;
    assert_int_equal(vt_sampler_new(&options, &err, &sampler), VT_ERR_USAGE);
    assert_non_null(strstr(err.text, "meter replay: "));
    assert_non_null(strstr(err.text, "--replay FILE"));
    options = (struct vt_sampler_options){many, VT_SAMPLER_METERS_MAX + 1, NULL, 0, -1};
    assert_int_equal(vt_sampler_new(&options, &count, &sampler), VT_ERR_USAGE);
    options = (struct vt_sampler_options){meters, 1, NULL, 0, 1000000};
    assert_int_equal(vt_sampler_new(&options, &cpu, &sampler), VT_ERR_UNAVAILABLE);
    assert_non_null(strstr(cpu.text, "CPU 1000000"));

    struct vt_error unknown = VT_ERROR_INIT;
    assert_int_equal(vt_meter_find("rapl", &unknown, &found), VT_OK);
    assert_ptr_equal(found, &vt_meter_rapl);
    assert_int_equal(vt_meter_find("rapk", &unknown, &found), VT_ERR_USAGE);
    assert_non_null(strstr(unknown.text, "did you mean 'rapl'"));
}

static void meters_are_complete(void **state)
{
    size_t n = 0;
    const struct vt_meter_ops *const *table = vt_meter_table(&n);

    (void)state;
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(table[i]->api_version, VT_METER_API_VERSION);
        assert_int_equal(table[i]->struct_size, sizeof(struct vt_meter_ops));
        assert_true(table[i]->name != NULL && table[i]->summary != NULL);
        assert_true(table[i]->period_ns > 0 && table[i]->open != NULL && table[i]->read != NULL);
        assert_true(table[i]->domains != NULL && table[i]->close != NULL);
        table[i]->close(NULL);
    }
}

static void refused(const char *text, const char *why)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_replay_curve curve = {0};

    assert_int_equal(vt_replay_parse(text, strlen(text), "p.csv", &err, &curve), VT_ERR_FORMAT);
    if (strstr(err.text, why) == NULL) {
        fail_msg("'%s' does not say '%s'", err.text, why);
    }
}

static void recordings_are_read(void **state)
{
    static const char text[] = "# made by hand\r\ntime, watts\r\n\r\n 10.5 , 3 \r\n11,4.5,x\n"
                               "1.2e1,0";
    struct vt_error err = VT_ERROR_INIT;
    struct vt_replay_curve curve;

    (void)state;
    assert_int_equal(vt_replay_parse(text, sizeof text - 1, "p.csv", &err, &curve), VT_OK);
    assert_int_equal(curve.n, 3);
    assert_true(curve.seconds[0] == 0 && curve.seconds[1] == 0.5 && curve.seconds[2] == 1.5);
    assert_true(curve.watts[0] == 3 && curve.watts[1] == 4.5 && curve.watts[2] == 0);
    vt_replay_release(&curve);
    refused("", "2 are needed");
    refused("0,1\n", "1 row of");
    refused("0,1\n1,2\n1,3\n", "p.csv:3: the time is \"1\"");
    refused("0,1\n1,-2\n", "p.csv:2: the power is \"-2\"");
    refused("0,1\n1,nan\n", "p.csv:2");
    refused("0,1\n1;2\n", "p.csv:2: two numbers");
    refused("0,1\ntime,watts\n", "p.csv:2");
    refused("0,1\n2e9,1\n", "p.csv:2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TREE(test) cmocka_unit_test_setup_teardown(test, tree_make, tree_remove)
        TREE(a_recording_is_integrated), TREE(a_rail_that_disappears_mid_run_is_reported),
        TREE(nothing_is_summed_twice),   TREE(what_cannot_be_opened_is_named),
        TREE(meters_are_complete),       TREE(recordings_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
