/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Energy of windows against curves whose integral is known in closed form, seen through meters that
 * step, quantise, lag and wrap; the published figures of MLPerf; refusals.
 */
#include "vt_test.h"

#include <math.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "power/energy.h"

/* --- curves ---------------------------------------------------------------------------------- */

#define STEPS_MAX 8

enum shape { STEPS, RAMPS, SINE };

/* Power over seconds; steps and ramps have corners, before the first and after the last it stays.
 */
struct curve {
    enum shape shape;
    double at[STEPS_MAX], watts[STEPS_MAX];
    int n;
    double mean, swing, period, phase;
};

static uint64_t state;

static double draw(void) /* 0 to 1 */
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(state >> 11) / 9007199254740992.0;
}

static double between(double low, double high)
{
    return low + (high - low) * draw();
}

static double power_at(const struct curve *curve, double t)
{
    if (curve->shape == SINE) {
        return curve->mean + curve->swing * sin(2 * M_PI * t / curve->period + curve->phase);
    }
    if (t <= curve->at[0]) {
        return curve->watts[0];
    }
    for (int i = 1; i < curve->n; i++) {
        if (t < curve->at[i]) {
            const double share = (t - curve->at[i - 1]) / (curve->at[i] - curve->at[i - 1]);
            return curve->shape == STEPS
                       ? curve->watts[i - 1]
                       : curve->watts[i - 1] + share * (curve->watts[i] - curve->watts[i - 1]);
        }
    }
    return curve->watts[curve->n - 1];
}

/* The integral from 0 in closed form. */
static double energy_at(const struct curve *curve, double t)
{
    double joules = 0;

    if (curve->shape == SINE) {
        const double w = 2 * M_PI / curve->period;
        return curve->mean * t - curve->swing / w * (cos(w * t + curve->phase) - cos(curve->phase));
    }
    double from = 0;
    for (int i = 0; i <= curve->n; i++) {
        const double corner = i < curve->n ? curve->at[i] : t;
        const double to = corner < t ? corner : t;
        if (to > from) {
            const double middle = power_at(curve, (from + to) / 2);
            joules += middle * (to - from);
            from = to;
        }
    }
    return joules;
}

static struct curve random_curve(double length)
{
    struct curve curve = {.shape = (enum shape)(draw() * 3), .n = 2 + (int)(draw() * 6)};

    curve.mean = between(20, 700);
    curve.swing = curve.mean * between(0, 0.9);
    curve.period = between(0.7, 12);
    curve.phase = between(0, 6);
    double at = 0;
    for (int i = 0; i < curve.n; i++) {
        at += between(0.3, 2 * length / curve.n);
        curve.at[i] = at;
        curve.watts[i] = curve.mean * between(0.1, 1.9);
    }
    return curve;
}

/* --- meters ---------------------------------------------------------------------------------- */

#define READINGS_MAX 4096

/* A meter that is read at about `reading` seconds and renews its value every `update`. */
struct sensor {
    struct vt_meter_domain domain;
    double reading, update, phase, gain, noise;
    double start_j; /* of a counter */
};

struct readings {
    int64_t ns[READINGS_MAX];
    double values[READINGS_MAX];
    size_t n;
};

/* Of a moment or, as some meters tell it, of the time before it. */
static double mean_power(const struct curve *curve, double t, int64_t over_ns)
{
    const double over = (double)over_ns / 1e9;

    return over > 0 ? (energy_at(curve, t) - energy_at(curve, t - over)) / over
                    : power_at(curve, t);
}

static void observe(const struct curve *curve, const struct sensor *sensor, double length,
                    struct readings *seen)
{
    double value = (double)NAN, since = -1;

    seen->n = 0;
    for (double t = 1; t < length && seen->n < READINGS_MAX;) {
        const double update =
            floor((t - sensor->phase) / sensor->update) * sensor->update + sensor->phase;
        if (update != since) {
            since = update;
            value = sensor->domain.kind == VT_METER_ENERGY
                        ? sensor->start_j + sensor->gain * energy_at(curve, update)
                        : sensor->gain * mean_power(curve, update, sensor->domain.averaging_ns) +
                              sensor->noise * (draw() - 0.5);
            value = floor(value / sensor->domain.resolution) * sensor->domain.resolution;
            if (sensor->domain.modulus_j > 0) {
                value = fmod(value, sensor->domain.modulus_j);
            }
        }
        seen->ns[seen->n] = (int64_t)(t * 1e9);
        seen->values[seen->n++] = value;
        t += sensor->reading * between(0.9, 1.1);
    }
}

static struct sensor random_sensor(void)
{
    static const double updates[] = {0.001, 0.1, 0.05, 0.02};
    struct sensor sensor = {.reading = 0.05, .gain = 1};

    sensor.update = updates[(int)(draw() * 4)];
    sensor.phase = between(0, sensor.update);
    sensor.domain = (struct vt_meter_domain){
        .name = "sensor", .kind = draw() < 0.5 ? VT_METER_ENERGY : VT_METER_POWER, .inside = -1};
    if (sensor.domain.kind == VT_METER_ENERGY) {
        sensor.domain.resolution = draw() < 0.5 ? 61e-6 : 1e-3;
        sensor.domain.modulus_j = draw() < 0.5 ? 65536 : 0;
        sensor.start_j = between(0, 65536);
    } else {
        sensor.domain.resolution = 0.001;
        sensor.noise = 0.01;
        sensor.domain.averaging_ns = draw() < 0.25 ? 1000 * VT_NS_PER_MS : 0;
    }
    if (draw() < 0.3) { /* of a class that is used up to its border */
        sensor.domain.accuracy = 0.01;
        sensor.gain = draw() < 0.5 ? 0.9902 : 1.0098;
    }
    return sensor;
}

static struct vt_power_track track_of(const struct sensor *sensor, const struct readings *seen)
{
    return (struct vt_power_track){&sensor->domain, seen->ns, seen->values, seen->n};
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* As observe(), of a counter that is dear to read: often in the beginning, once in eight seconds,
 * and at an edge from a few milliseconds after it until the counter has moved. */
static void observe_sparsely(const struct curve *curve, const struct sensor *sensor,
                             const double edges[2], struct readings *readings)
{
    static struct readings all;
    struct sensor often = *sensor;
    const double late[2] = {between(0.0001, 0.006), between(0.0001, 0.006)};
    double due = 0, moved_after[2] = {0, 0};

    often.reading = 0.004;
    observe(curve, &often, edges[1] + 1, &all);
    readings->n = 0;
    for (size_t i = 0; i < all.n; i++) {
        const double t = (double)all.ns[i] / 1e9;
        bool wanted = t < 1.6 || t >= due;
        for (int e = 0; e < 2; e++) {
            wanted = wanted || (t >= edges[e] + late[e] && moved_after[e] < edges[e]);
        }
        if (!wanted) {
            continue;
        }
        const size_t n = readings->n;
        for (int e = 0; e < 2 && n > 0; e++) {
            const double before = (double)readings->ns[n - 1] / 1e9;
            if (readings->values[n - 1] != all.values[i] && before >= edges[e]) {
                moved_after[e] = before;
            }
        }
        readings->ns[n] = all.ns[i];
        readings->values[n] = all.values[i];
        readings->n++;
        due = t < 1.6 ? t + 0.05 : t + 8;
        i += 2; /* some 12 ms apart */
    }
}

/* --- tests ----------------------------------------------------------------------------------- */

static struct readings seen;

static void the_true_energy_lies_within(void **unused)
{
    enum { CASES = 1000 };
    static double shares[CASES];
    int outside = 0, refused = 0, n = 0;

    (void)unused;
    state = 2026;
    for (int i = 0; i < CASES; i++) {
        const double length = between(9, 11), begin = between(2, 3);
        struct curve curve = random_curve(length + 3);
        const struct sensor sensor = random_sensor();
        struct vt_error err = VT_ERROR_INIT;
        struct vt_energy energy;
        if (sensor.domain.averaging_ns > 0 && curve.period < 4) {
            curve.period += 4; /* what is averaged away no reading tells */
        }
        observe(&curve, &sensor, length + 4.5, &seen);
        const struct vt_power_track track = track_of(&sensor, &seen);
        const struct vt_power_window window = {(int64_t)(begin * 1e9),
                                               (int64_t)((begin + length) * 1e9)};
        if (vt_energy_compute(&track, &window, &err, &energy, NULL) != VT_OK) {
            assert_int_equal(err.status, VT_ERR_LIMIT);
            refused += sensor.domain.averaging_ns == 0;
            continue;
        }
        const double truth = energy_at(&curve, begin + length) - energy_at(&curve, begin);
        if (!(fabs(energy.joules - truth) <= energy.uncertainty_j)) {
            print_message("case %d: shape %d kind %d update %g: %.6g +- %.3g, true %.6g\n", i,
                          curve.shape, sensor.domain.kind, sensor.update, energy.joules,
                          energy.uncertainty_j, truth);
            outside++;
        }
        shares[n++] = energy.uncertainty_j / energy.joules;
    }
    qsort(shares, (size_t)n, sizeof shares[0], by_size);
    print_message(
        "uncertainty: median %.2f %%, 95th percentile %.2f %%, %d outside, %d of %d refused\n",
        100 * shares[n / 2], 100 * shares[n * 95 / 100], outside, refused, CASES);
    assert_int_equal(outside, 0);
    assert_true(refused < CASES / 50); /* besides meters that average over a second */
    assert_true(shares[n / 2] < 0.03);
}

static void sparse_counters_are_sharp_at_edges(void **unused)
{
    enum { CASES = 300 };
    static double shares[CASES];
    int n = 0;

    (void)unused;
    state = 580;
    for (int i = 0; i < CASES; i++) {
        const double edges[2] = {between(2.5, 4), between(13, 15)};
        const struct curve curve = random_curve(16);
        struct sensor sensor = random_sensor();
        struct vt_error err = VT_ERROR_INIT;
        struct vt_energy energy;
        sensor.domain.kind = VT_METER_ENERGY;
        sensor.domain.averaging_ns = 0;
        sensor.domain.resolution = 1e-3;
        sensor.noise = 0;
        sensor.update = 0.1;
        sensor.phase = between(0, 0.1);
        sensor.domain.sparse_ns = 8 * VT_NS_PER_S;
        sensor.domain.most_w = 1400;
        observe_sparsely(&curve, &sensor, edges, &seen);
        assert_in_range(seen.n, 10, 100);
        const struct vt_power_track track = track_of(&sensor, &seen);
        const struct vt_power_window window = {(int64_t)(edges[0] * 1e9),
                                               (int64_t)(edges[1] * 1e9)};
        if (vt_energy_compute(&track, &window, &err, &energy, NULL) != VT_OK) {
            assert_int_equal(err.status, VT_ERR_LIMIT);
            continue;
        }
        const double truth = energy_at(&curve, edges[1]) - energy_at(&curve, edges[0]);
        if (!(fabs(energy.joules - truth) <= energy.uncertainty_j)) {
            fail_msg("case %d: %.6g +- %.3g, true %.6g", i, energy.joules, energy.uncertainty_j,
                     truth);
        }
        /* Where it rested, its steps are not taken for long ones. */
        assert_true(llabs(energy.update.ns - 100 * VT_NS_PER_MS) < 60 * VT_NS_PER_MS);
        shares[n++] = energy.uncertainty_j / energy.joules;
    }
    qsort(shares, (size_t)n, sizeof shares[0], by_size);
    assert_true(n > CASES * 95 / 100);
    assert_true(shares[n / 2] < 0.03);
}

static void published_figures_come_out(void **unused)
{
    (void)unused;
    /* power.md of the results of round 3.0, Orin, ResNet-50: given to five digits. */
    assert_true(fabs(vt_power_mj_per_query(14.815, 600.0, 400518) / 22.193 - 1) < 1e-4);
    assert_true(fabs(vt_power_mj_per_query(17.198, 1269.5, 270336) / 80.760 - 1) < 1e-4);
    assert_true(fabs(vt_power_samples_per_joule(3463.11, 22.659) / 152.83 - 1) < 1e-4);
    assert_true(fabs(1000 * vt_power_j_per_sample(22.659, 3463.11) / 6.543 - 1) < 1e-4);
    assert_true(isnan(vt_power_mj_per_query(1, 1, 0)));
    assert_true(isnan(vt_power_samples_per_joule(1, 0)));
    assert_true(isnan(vt_power_j_per_sample(1, 0)));
}

static void the_mean_of_mlperf_is_strict(void **unused)
{
    static const int64_t ns[] = {0, 10, 20, 30, 40};
    static const double watts[] = {1000, 10, 0, 20, 1000};
    const struct vt_meter_domain domain = {.name = "d", .kind = VT_METER_POWER};
    const struct vt_power_track track = {&domain, ns, watts, 5};
    uint64_t n = 99;

    (void)unused;
    assert_true(vt_power_mlperf_mean(&track, &(struct vt_power_window){0, 40}, &n) == 15.0);
    assert_int_equal(n, 2);
    assert_true(isnan(vt_power_mlperf_mean(&track, &(struct vt_power_window){10, 20}, &n)));
    assert_int_equal(n, 0);
}

/* A constant 100 W. */
static const struct curve constant = {.shape = STEPS, .at = {1}, .watts = {100}, .n = 1};

static struct sensor counter_of(double update)
{
    return (struct sensor){.domain = {.name = "gpu0 energy",
                                      .kind = VT_METER_ENERGY,
                                      .inside = -1,
                                      .resolution = 1e-3},
                           .reading = 0.02,
                           .update = update,
                           .gain = 1};
}

static void periods_are_measured(void **unused)
{
    struct vt_update_period period;
    struct sensor sensor = counter_of(0.1);

    (void)unused;
    observe(&constant, &sensor, 10, &seen);
    struct vt_power_track track = track_of(&sensor, &seen);
    vt_power_update_period(&track, &period);
    assert_false(period.at_most);
    assert_true(llabs(period.ns - 100 * VT_NS_PER_MS) < 25 * VT_NS_PER_MS);
    sensor.update = 0.001;
    observe(&constant, &sensor, 10, &seen);
    track = track_of(&sensor, &seen);
    vt_power_update_period(&track, &period);
    assert_true(period.at_most);
    assert_in_range(period.ns, 17 * VT_NS_PER_MS, 23 * VT_NS_PER_MS);
}

static void short_windows_are_refused_with_the_length(void **unused)
{
    const struct sensor sensor = counter_of(0.1);
    struct vt_error err = VT_ERROR_INIT, later = VT_ERROR_INIT;
    struct vt_energy energy;
    int64_t needed = 0;

    (void)unused;
    observe(&constant, &sensor, 20, &seen);
    const struct vt_power_track track = track_of(&sensor, &seen);
    struct vt_power_window window = {3 * VT_NS_PER_S, 3 * VT_NS_PER_S + 300 * VT_NS_PER_MS};
    assert_int_equal(vt_energy_compute(&track, &window, &err, &energy, &needed), VT_ERR_LIMIT);
    assert_non_null(strstr(err.text, "gpu0 energy: a window of 0.3 s is too short"));
    assert_non_null(strstr(err.text, "would do"));
    assert_in_range(needed, 400 * VT_NS_PER_MS, 5 * VT_NS_PER_S);
    /* What it says holds. */
    window.end_ns = window.begin_ns + needed + 100 * VT_NS_PER_MS;
    assert_int_equal(vt_energy_compute(&track, &window, &later, &energy, &needed), VT_OK);
}

static void wrapped_counters_go_on(void **unused)
{
    struct sensor sensor = counter_of(0.001);
    struct vt_error err = VT_ERROR_INIT;
    struct vt_energy energy;
    const struct vt_power_window window = {2 * VT_NS_PER_S, 12 * VT_NS_PER_S};

    (void)unused;
    sensor.domain.modulus_j = 262.143; /* wraps every 2.6 s */
    sensor.start_j = 200;
    observe(&constant, &sensor, 14, &seen);
    struct vt_power_track track = track_of(&sensor, &seen);
    assert_int_equal(vt_energy_compute(&track, &window, &err, &energy, NULL), VT_OK);
    assert_true(fabs(energy.joules - 1000) < energy.uncertainty_j);
    assert_true(energy.uncertainty_j < 10);
    assert_true(fabs(energy.peak_w - 100) < 2);
    assert_true(isnan(energy.mlperf_w));
    /* The same without the modulus has gone back. */
    sensor.domain.modulus_j = 0;
    assert_int_equal(vt_energy_compute(&track, &window, &err, &energy, NULL), VT_ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "went back"));
}

static void what_is_not_covered_is_refused(void **unused)
{
    struct sensor sensor = counter_of(0.001);
    struct vt_energy energy;
    static const struct vt_power_window windows[] = {
        {0, 5 * VT_NS_PER_S}, {5 * VT_NS_PER_S, 15 * VT_NS_PER_S}, {20, 30}};

    (void)unused;
    for (int kind = 0; kind < 2; kind++) {
        sensor.domain.kind = kind == 0 ? VT_METER_ENERGY : VT_METER_POWER;
        observe(&constant, &sensor, 10, &seen);
        const struct vt_power_track track = track_of(&sensor, &seen);
        for (size_t i = 0; i < 3; i++) {
            struct vt_error err = VT_ERROR_INIT;
            assert_int_equal(vt_energy_compute(&track, &windows[i], &err, &energy, NULL),
                             VT_ERR_UNAVAILABLE);
            assert_non_null(strstr(err.text, "both sides"));
        }
        struct vt_error err = VT_ERROR_INIT;
        assert_int_equal(
            vt_energy_compute(&track, &(struct vt_power_window){7, 7}, &err, &energy, NULL),
            VT_ERR_USAGE);
    }
}

static void holes_are_refused_and_lost_readings_are_not(void **unused)
{
    struct sensor sensor = counter_of(0.02);
    struct vt_error err = VT_ERROR_INIT;
    struct vt_energy energy;
    const struct vt_power_window window = {2 * VT_NS_PER_S, 12 * VT_NS_PER_S};

    (void)unused;
    sensor.domain.kind = VT_METER_POWER;
    observe(&constant, &sensor, 14, &seen);
    struct vt_power_track track = track_of(&sensor, &seen);
    seen.values[200] = seen.values[201] = (double)NAN;
    assert_int_equal(vt_energy_compute(&track, &window, &err, &energy, NULL), VT_OK);
    assert_true(fabs(energy.joules - 1000) <= energy.uncertainty_j + 1e-9);
    for (size_t i = 200; i < 300; i++) {
        seen.values[i] = (double)NAN;
    }
    assert_int_equal(vt_energy_compute(&track, &window, &err, &energy, NULL), VT_ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "no reading for 2"));
}

static void a_counter_that_stands_still_is_no_0_joules(void **unused)
{
    static int64_t ns[100];
    static double values[100];
    const struct vt_meter_domain domain = {.name = "c", .kind = VT_METER_ENERGY};
    const struct vt_power_track track = {&domain, ns, values, 100};
    struct vt_error err = VT_ERROR_INIT;
    struct vt_energy energy;

    (void)unused;
    for (int i = 0; i < 100; i++) {
        ns[i] = (int64_t)i * 100 * VT_NS_PER_MS;
    }
    assert_int_equal(vt_energy_compute(&track,
                                       &(struct vt_power_window){VT_NS_PER_S, 8 * VT_NS_PER_S},
                                       &err, &energy, NULL),
                     VT_ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "did not move"));
}

static void idle_is_taken_off_with_its_uncertainty(void **unused)
{
    const struct vt_energy energy = {
        .joules = 1000, .uncertainty_j = 10, .window_ns = 10 * VT_NS_PER_S};
    const struct vt_energy_above_idle above = vt_energy_less_idle(&energy, 30, 0.5);

    (void)unused;
    assert_true(above.joules == 700);
    assert_true(above.uncertainty_j == 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_true_energy_lies_within),
        cmocka_unit_test(sparse_counters_are_sharp_at_edges),
        cmocka_unit_test(published_figures_come_out),
        cmocka_unit_test(the_mean_of_mlperf_is_strict),
        cmocka_unit_test(periods_are_measured),
        cmocka_unit_test(short_windows_are_refused_with_the_length),
        cmocka_unit_test(wrapped_counters_go_on),
        cmocka_unit_test(what_is_not_covered_is_refused),
        cmocka_unit_test(holes_are_refused_and_lost_readings_are_not),
        cmocka_unit_test(a_counter_that_stands_still_is_no_0_joules),
        cmocka_unit_test(idle_is_taken_off_with_its_uncertainty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
