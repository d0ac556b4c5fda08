/* SPDX-License-Identifier: Apache-2.0 */
/* The meter at the wall against a stand-in for PTDaemon; its lines. */
#include "vt_test.h"

#include <math.h>

#include "base/clock.h"
#include "fake_ptd.h"
#include "power/ptdaemon.h"
#include "power/sampler.h"

static const struct vt_meter_ops *const meters[] = {&vt_meter_ptdaemon};

static enum vt_status begin(const struct vt_meter_options *places, struct vt_error *err,
                            struct vt_sampler **ret)
{
    const struct vt_sampler_options options = {meters, 1, places, 0, -1};

    return vt_sampler_new(&options, err, ret);
}

static void measure(enum ptd_mood mood)
{
    struct fake_ptd ptd;
    struct vt_error err = VT_ERROR_INIT, early = VT_ERROR_INIT;
    struct vt_sampler *sampler;
    struct vt_energy energy;

    ptd_begin(&ptd, mood);
    const struct vt_meter_options places = {
        .ptdaemon = ptd.address, .ptdaemon_volts = 300, .ptdaemon_amps = 0.5};
    if (begin(&places, &err, &sampler) != VT_OK) {
        fail_msg("%s", err.text);
    }
    /* The samples begin 5 s before they are asked for. */
    const int64_t now = vt_now_ns();
    const struct vt_power_window window = {now - 3 * VT_NS_PER_S, now + VT_NS_PER_S};
    assert_int_equal(vt_sampler_energy(sampler, 0, &window, &early, &energy), VT_ERR_UNAVAILABLE);
    assert_true(vt_sampler_settle(sampler, now, now + 60 * VT_NS_PER_S));
    vt_sampler_stop(sampler);
    if (vt_sampler_energy(sampler, 0, &window, &err, &energy) != VT_OK) {
        fail_msg("%s", err.text);
    }
    assert_true(fabs(energy.joules - 4 * 42.5) < 1e-6);
    assert_true(fabs(energy.class_j - 0.01 * 4 * 42.5) < 1e-6);
    assert_true(fabs(energy.mlperf_w - 42.5) < 1e-9);
    assert_string_equal(vt_sampler_domain(sampler, 0).domain->device, "YokogawaWT330E");
    assert_non_null(strstr(vt_sampler_domain(sampler, 0).domain->note, "uncertainty: 0.0031"));
    const struct vt_power_track volts = vt_sampler_track(sampler, 1, NULL);
    assert_true(volts.n == 100 && volts.values[0] == 230.1);
    vt_sampler_free(sampler);
    ptd_end(&ptd);
    /* Fixed ranges for the measurement, and then what it was before. */
    assert_non_null(strstr(ptd.told, "Hello\nIdentify\nRR\nSR,V,300\nSR,A,0.5\nGo,1000,0,"));
    assert_non_null(strstr(ptd.told, "RL\n"));
    assert_non_null(strstr(ptd.told, "RL\nUncertainty\nSR,V,Auto\nSR,A,5\n"));
}

static void the_wall_is_measured(void **state)
{
    (void)state;
    measure(PTD_GOOD);
    measure(PTD_DIRECT_CURRENT);
}

static void refused(enum ptd_mood mood, const char *why)
{
    struct fake_ptd ptd;
    struct vt_error err = VT_ERROR_INIT;

    ptd_begin(&ptd, mood);
    const struct vt_meter_options places = {.ptdaemon = ptd.address};
    assert_int_not_equal(vt_meter_probe(&vt_meter_ptdaemon, &places, &err), VT_OK);
    if (strstr(err.text, why) == NULL) {
        fail_msg("'%s' does not say '%s'", err.text, why);
    }
    ptd_end(&ptd);
}

static void what_is_no_analyzer_is_refused(void **state)
{
    static const char *const addresses[] = {"", ":8888", "host:", "host:http", "[::1"};
    struct vt_meter_options places = {0};
    struct vt_error none = VT_ERROR_INIT, nobody = VT_ERROR_INIT;

    (void)state;
    refused(PTD_STRANGER, "HTTP/1.1 400");
    refused(PTD_NO_RANGE, "no such range");
    assert_int_equal(vt_meter_probe(&vt_meter_ptdaemon, &places, &none), VT_ERR_USAGE);
    assert_non_null(strstr(none.text, "--ptdaemon HOST:PORT"));
    for (size_t i = 0; i < 4; i++) {
        struct vt_error err = VT_ERROR_INIT;
        places.ptdaemon = addresses[i];
        assert_int_equal(vt_meter_probe(&vt_meter_ptdaemon, &places, &err), VT_ERR_USAGE);
    }
    places.ptdaemon = "127.0.0.1:1";
    assert_int_equal(vt_meter_probe(&vt_meter_ptdaemon, &places, &nobody), VT_ERR_UNAVAILABLE);
    assert_non_null(strstr(nobody.text, "no PTDaemon at 127.0.0.1:1"));
}

static void samples_that_do_not_come_are_said_so(void **state)
{
    static const enum ptd_mood moods[] = {PTD_BREAKS, PTD_LIES, PTD_OTHER_ZONE};
    static const enum vt_status statuses[] = {VT_ERR_READ, VT_ERR_FORMAT, VT_ERR_UNAVAILABLE};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct fake_ptd ptd;
        struct vt_error err = VT_ERROR_INIT;
        struct vt_sampler *sampler;
        struct vt_energy energy;
        ptd_begin(&ptd, moods[i]);
        const struct vt_meter_options places = {.ptdaemon = ptd.address};
        assert_int_equal(begin(&places, &err, &sampler), VT_OK);
        vt_sampler_stop(sampler);
        const struct vt_power_window window = {vt_now_ns() - VT_NS_PER_S, vt_now_ns()};
        assert_int_equal(vt_sampler_energy(sampler, 0, &window, &err, &energy), statuses[i]);
        assert_non_null(strstr(err.text, "PTDaemon"));
        assert_true((moods[i] == PTD_OTHER_ZONE) == (strstr(err.text, "TZ=UTC") != NULL));
        vt_sampler_free(sampler);
        ptd_end(&ptd);
    }
}

static void lines_are_read(void **state)
{
    struct vt_ptd_sample sample;
    struct vt_ptd_ranges ranges;
    uint32_t n = 0;

    (void)state;
    assert_true(vt_ptd_sample_parse("Time,02-18-2023 17:05:24.090,Watts,6.35,Volts,206.9,Amps,"
                                    "0.1123,PF,0.2733,Mark,x_testing",
                                    &sample));
    /* date -u -d "2023-02-18 17:05:24" +%s */
    assert_true(sample.unix_ns == INT64_C(1676739924090000000));
    assert_true(sample.watts == 6.35 && sample.volts == 206.9 && sample.amps == 0.1123);
    assert_false(vt_ptd_sample_parse("Time,02-18-2023 17:05:24.090,Volts,206.9", &sample));
    assert_false(vt_ptd_sample_parse("Time,02-18-2023 17:05:24.090,Watts,nan", &sample));
    assert_false(vt_ptd_sample_parse("Time,13-18-2023 17:05:24.090,Watts,1", &sample));
    assert_false(vt_ptd_sample_parse("Time,02-18-2023 17:05,Watts,1", &sample));
    assert_false(vt_ptd_sample_parse("", &sample));
    assert_true(vt_ptd_ranges_parse("Ranges,-1,0,1,300.5", &ranges));
    assert_true(ranges.amp_auto == -1 && ranges.volt_auto == 1 && ranges.volts == 300.5);
    assert_false(vt_ptd_ranges_parse("Ranges,1,2,3", &ranges));
    assert_false(vt_ptd_ranges_parse("Ranges", &ranges));
    assert_true(vt_ptd_count_parse("Last 756 samples from sum channel and channels 1 - 3", &n));
    assert_int_equal(n, 756);
    assert_false(vt_ptd_count_parse("Last -1 samples", &n));
    assert_false(vt_ptd_count_parse("Last 500001 samples", &n));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_wall_is_measured),
        cmocka_unit_test(what_is_no_analyzer_is_refused),
        cmocka_unit_test(samples_that_do_not_come_are_said_so),
        cmocka_unit_test(lines_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
