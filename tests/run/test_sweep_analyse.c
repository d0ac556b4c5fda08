/* SPDX-License-Identifier: Apache-2.0 */
/* The analysis against figures computed by hand, and fronts against brute force. */
#include "run/sweep/analyse.h"

#include "sweep_fixture.h"

static void assert_near(double a, double b, double relative)
{
    if (!(fabs(a - b) <= relative * fabs(b))) {
        print_message("%.9g, wanted %.9g\n", a, b);
    }
    assert_true(fabs(a - b) <= relative * fabs(b));
}

static const double batches[] = {1, 2, 4, 8, 16, 32};

static void analyse(struct vt_sweep *sweep)
{
    struct vt_error err = VT_ERROR_INIT;
    assert_int_equal(vt_sweep_analyse(sweep, &err), VT_OK);
}

/* --- its parts ------------------------------------------------------------------------------- */

/* From the usual tables of Student's t. */
static void test_quantiles_of_t(void **state)
{
    (void)state;
    assert_near(vt_sweep_t(1), 12.706, 1e-4);
    assert_near(vt_sweep_t(2), 4.303, 1e-4);
    assert_near(vt_sweep_t(10), 2.228, 1e-4);
    assert_near(vt_sweep_t(15), 2.131, 3e-4);
    assert_near(vt_sweep_t(30), 2.042, 3e-4);
    assert_near(vt_sweep_t(1e6), 1.960, 1e-4);
    assert_true(vt_sweep_t(2.9) == vt_sweep_t(2));
    assert_true(isnan(vt_sweep_t(0.5)));
}

/* 9, 10, 11, 10: mean 10, s = sqrt(2/3), half width 3.1824 * 0.81650 / 2 = 1.29922. */
static void test_mean_and_interval(void **state)
{
    const double values[] = {9, NAN, 10, 11, 10}, once[] = {7};
    (void)state;

    struct vt_sweep_estimate mean = vt_sweep_mean(values, 5, 0);
    assert_int_equal(mean.n, 4);
    assert_near(mean.value, 10, 1e-12);
    assert_near(mean.low, 8.70078, 1e-4);
    assert_near(mean.high, 11.29922, 1e-4);
    mean = vt_sweep_mean(values, 5, 0.5); /* the meter's does not average out */
    assert_near(mean.high, 11.79922, 1e-4);
    mean = vt_sweep_mean(once, 1, 0);
    assert_true(mean.n == 1 && mean.value == 7 && isnan(mean.low) && isnan(mean.high));
    mean = vt_sweep_mean(once, 1, 2);
    assert_true(mean.low == 5 && mean.high == 9);
    mean = vt_sweep_mean(once, 0, 2);
    assert_true(mean.n == 0 && isnan(mean.value) && isnan(mean.low));
}

/* a = 20, 22, 21: mean 21, s = 1, relative variance of the mean 1/(3 441) = 7.5586e-4.
 * b = 10, 10.5, 9.5: mean 10, s = 0.5, 0.25/(3 100) = 8.3333e-4. Their sum is 1.58919e-3, its root
 * 0.0398647. Welch: (1.58919e-3)^2 / ((7.5586e-4)^2/2 + (8.3333e-4)^2/2) = 3.990, table at 3:
 * 3.1824. Half on the logarithmic scale 0.126866: 2.1 / 1.13526 = 1.84979, 2.1 * 1.13526 =
 * 2.38405. */
static void test_ratio_and_interval(void **state)
{
    const double a[] = {20, 22, 21}, b[] = {10, 10.5, 9.5}, same[] = {5, 5, 5};
    (void)state;

    struct vt_sweep_estimate ratio = vt_sweep_ratio(a, 3, b, 3, 0);
    assert_near(ratio.value, 2.1, 1e-12);
    assert_near(ratio.low, 1.84979, 1e-4);
    assert_near(ratio.high, 2.38405, 1e-4);
    ratio = vt_sweep_ratio(same, 3, same, 3, 0.02);
    assert_near(ratio.low, exp(-0.02), 1e-12);
    ratio = vt_sweep_ratio(a, 1, b, 3, 0);
    assert_true(ratio.n == 1 && isnan(ratio.low));
    ratio = vt_sweep_ratio(a, 0, b, 3, 0);
    assert_true(ratio.n == 0 && isnan(ratio.value));
}

static void test_knee(void **state)
{
    const double rising[] = {10, 19, 36, 47, 49, 50}, flat[] = {50, 49, 50},
                 holes[] = {NAN, 5, NAN};
    (void)state;

    assert_int_equal(vt_sweep_knee(rising, 6, 0.05), 4); /* 49 >= 47.5, 47 is not */
    assert_int_equal(vt_sweep_knee(rising, 6, 0.10), 3);
    assert_int_equal(vt_sweep_knee(flat, 3, 0.05), 0);
    assert_int_equal(vt_sweep_knee(holes, 3, 0.05), 1);
    assert_int_equal(vt_sweep_knee(holes, 1, 0.05), 1); /* none */
}

static void test_exponent(void **state)
{
    const double x[] = {1, 2, 4, 8}, linear[] = {3, 6, 12, 24}, root[] = {1, 2, 4, 8};
    const double square[] = {1, 4, NAN, 64};
    (void)state;

    assert_near(vt_sweep_exponent(x, linear, 4), 1, 1e-12);
    assert_near(vt_sweep_exponent(linear, root, 4), 1, 1e-12);
    assert_near(vt_sweep_exponent(x, square, 4), 2, 1e-12);
    assert_true(isnan(vt_sweep_exponent(x, linear, 1)));
}

static uint64_t seed = 12345;
static double draw(void)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(seed >> 60); /* few values, so that there are many ties */
}

static bool is_dominated(const double *x, const double *y, uint32_t n, uint32_t i)
{
    for (uint32_t j = 0; j < n; j++) {
        if (isfinite(x[j]) && isfinite(y[j]) && x[j] <= x[i] && y[j] <= y[i] &&
            (x[j] < x[i] || y[j] < y[i])) {
            return true;
        }
    }
    return false;
}

static void test_front_by_brute_force(void **state)
{
    double x[40], y[40];
    uint32_t front[40];
    (void)state;

    for (int round = 0; round < 2000; round++) {
        uint32_t n = (uint32_t)round % 40 + 1, kept, places = 0;
        for (uint32_t i = 0; i < n; i++) {
            x[i] = draw() == 3 ? (double)NAN : draw();
            y[i] = draw() == 3 ? (double)NAN : draw();
        }
        kept = vt_sweep_pareto(x, y, n, front);
        for (uint32_t i = 0; i < kept; i++) {
            assert_true(isfinite(x[front[i]]) && isfinite(y[front[i]]));
            assert_false(is_dominated(x, y, n, front[i]));
            assert_true(i == 0 || x[front[i]] > x[front[i - 1]]);
        }
        /* Every place that nothing beats is there. */
        for (uint32_t i = 0; i < n; i++) {
            bool counted = false;
            for (uint32_t j = 0; j < i; j++) {
                counted = counted || (x[j] == x[i] && y[j] == y[i]);
            }
            places += isfinite(x[i]) && isfinite(y[i]) && !counted && !is_dominated(x, y, n, i);
        }
        assert_int_equal(kept, places);
    }
}

/* --- the whole ------------------------------------------------------------------------------- */

/* A machine as the study found them: T = 1000 b / (1 + b / 4), saturating; a batch takes b / T; 50
 * W idle and 0.01 J a sample. `noise` by repeat. */
static void put_study(struct vt_sweep *sweep, double noise)
{
    for (uint32_t i = 0; i < sweep->n_points; i++) {
        double batch = batches[i % sweep->n_settings];
        double rate =
            1000 * batch / (1 + batch / 4) * (1 + noise * ((double)(i / sweep->n_settings) - 1));
        double joules = 0.01 + 50 / rate;
        put_point(sweep, i, rate, batch / rate * 1e9, joules, 0.01 * joules);
    }
}

static void test_findings_hold_with_intervals(void **state)
{
    struct vt_sweep sweep;
    (void)state;

    make_sweep(&sweep, 6, batches, 0, 0, 3);
    sweep.knee_tolerance = 0.2;
    put_study(&sweep, 0.01);
    analyse(&sweep);
    const struct vt_sweep_statement *first = statement_of(&sweep, "throughput_over_batch");
    assert_int_equal(first->holds, VT_SWEEP_HOLDS);
    /* T(32) = 3555.6; 80 % of it is 2844; T(8) = 2666.7, T(16) = 3200. */
    assert_true(figure_of(first, "batch_knee") == 16);
    assert_near(figure_of(first, "rise_ratio"), 3200.0 / 800, 1e-9);
    assert_true(figure_of(first, "rise_ratio_low") > 3.8);
    assert_non_null(strstr(first->text, "95 % interval"));
    const struct vt_sweep_statement *third = statement_of(&sweep, "latency_and_energy_over_batch");
    /* Latency (1 + b / 4) / 1000: 5 ms at 16, 9 ms at 32: log2(9 / 5) = 0.848. */
    assert_near(figure_of(third, "latency_exponent"), log2(9.0 / 5), 1e-3);
    assert_int_equal(third->holds, VT_SWEEP_HOLDS);
    assert_null(statement_of(&sweep, "intervals"));
    assert_null(statement_of(&sweep, "energy"));
    /* No caps: said, with the remedy. */
    const struct vt_sweep_statement *second = statement_of(&sweep, "efficiency_over_cap");
    assert_int_equal(second->holds, VT_SWEEP_UNDECIDED);
    assert_non_null(strstr(second->text, "--cap"));
    vt_sweep_release(&sweep);
}

static void test_what_does_not_hold_is_said(void **state)
{
    struct vt_sweep sweep;
    (void)state;

    make_sweep(&sweep, 6, batches, 0, 0, 3);
    for (uint32_t i = 0; i < sweep.n_points; i++) {
        put_point(&sweep, i, 1000 + i % 3, 1e6, 0.1, 0.001);
    }
    analyse(&sweep);
    assert_int_equal(statement_of(&sweep, "throughput_over_batch")->holds, VT_SWEEP_HOLDS_NOT);
    assert_int_equal(statement_of(&sweep, "latency_and_energy_over_batch")->holds,
                     VT_SWEEP_HOLDS_NOT); /* latency stays, energy does not fall */
    vt_sweep_release(&sweep);
}

static void test_what_is_not_known_is_undecided(void **state)
{
    struct vt_sweep sweep;
    (void)state;

    /* Still rising at the largest size, measured once, without energy. */
    make_sweep(&sweep, 6, batches, 0, 0, 1);
    for (uint32_t i = 0; i < 6; i++) {
        put_point(&sweep, i, 1000 * batches[i], 1e6, NAN, NAN);
    }
    (void)snprintf(sweep.points[3].measured.energy_reason, 64, "RAPL is for root: sudo");
    analyse(&sweep);
    const struct vt_sweep_statement *first = statement_of(&sweep, "throughput_over_batch");
    assert_int_equal(first->holds, VT_SWEEP_UNDECIDED);
    assert_non_null(strstr(first->text, "larger sizes"));
    assert_non_null(strstr(first->text, "no interval"));
    assert_non_null(strstr(statement_of(&sweep, "energy")->text, "RAPL is for root: sudo"));
    assert_non_null(statement_of(&sweep, "intervals"));
    vt_sweep_release(&sweep);

    /* No size past the knee: what energy does there is not known. */
    make_sweep(&sweep, 6, batches, 0, 0, 1);
    for (uint32_t i = 0; i < 6; i++) {
        put_point(&sweep, i, 1000 * batches[i], 1e6, 1 / batches[i], 0.01 / batches[i]);
    }
    analyse(&sweep);
    const struct vt_sweep_statement *third = statement_of(&sweep, "latency_and_energy_over_batch");
    assert_int_equal(third->holds, VT_SWEEP_UNDECIDED);
    assert_non_null(strstr(third->text, "falls up to the knee"));
    assert_null(strstr(third->text, "flat"));
    vt_sweep_release(&sweep);

    /* A rise that the noise covers. */
    make_sweep(&sweep, 3, batches, 0, 0, 2);
    const double noisy[] = {100, 130, 128, 140, 90, 132};
    for (uint32_t i = 0; i < 6; i++) {
        put_point(&sweep, i, noisy[i], 1e6, NAN, NAN);
    }
    analyse(&sweep);
    assert_non_null(strstr(statement_of(&sweep, "throughput_over_batch")->text, "not shown"));
    vt_sweep_release(&sweep);

    /* Two sizes are no curve. */
    make_sweep(&sweep, 2, batches, 0, 0, 1);
    put_point(&sweep, 0, 1, 1, NAN, NAN);
    put_point(&sweep, 1, 2, 1, NAN, NAN);
    analyse(&sweep);
    assert_non_null(
        strstr(statement_of(&sweep, "throughput_over_batch")->text, "fewer than three"));
    vt_sweep_release(&sweep);
}

static void test_streams_have_no_batches_and_falls_are_told(void **state)
{
    static const double rate[] = {100, 200, 400, 396, 300, 290};
    struct vt_sweep sweep;
    (void)state;

    make_sweep(&sweep, 6, batches, 0, 0, 1);
    for (uint32_t i = 0; i < 6; i++) {
        put_point(&sweep, i, rate[i], 1e6 * batches[i], NAN, NAN);
    }
    analyse(&sweep);
    const struct vt_sweep_statement *first = statement_of(&sweep, "throughput_over_batch");
    assert_int_equal(first->holds, VT_SWEEP_HOLDS);
    assert_true(figure_of(first, "batch_knee") == 4);
    assert_non_null(strstr(first->text, "at batch 32 it has fallen to 290"));
    vt_free(sweep.axes[0].words[0]);
    sweep.axes[0].words[0] = vt_strdup("singlestream");
    analyse(&sweep);
    first = statement_of(&sweep, "throughput_over_batch");
    assert_int_equal(first->holds, VT_SWEEP_UNDECIDED);
    assert_non_null(strstr(first->text, "one sample after the other"));
    assert_null(statement_of(&sweep, "latency_and_energy_over_batch"));
    vt_sweep_release(&sweep);
}

/* Caps 200 to 700 W: 60 % of the rate at 200, all of it from 500 on; power is the cap until 500,
 * then 520. Efficiency: 3, 2.67, 2.25, 2, 1.92, 1.92 samples/s/W for 1000 samples/s. */
static void test_best_cap(void **state)
{
    static const double rate[] = {600, 800, 900, 1000, 1000, 1000};
    static const double watts[] = {200, 300, 400, 500, 520, 520};
    struct vt_sweep sweep;
    (void)state;

    make_sweep(&sweep, 1, batches, 0, 6, 2);
    for (uint32_t i = 0; i < 12; i++) {
        double r = rate[i % 6] * (i < 6 ? 1.001 : 0.999);
        put_point(&sweep, i, r, 1e6, watts[i % 6] / r, 0.01 * watts[i % 6] / r);
    }
    analyse(&sweep);
    const struct vt_sweep_statement *second = statement_of(&sweep, "efficiency_over_cap");
    assert_int_equal(second->holds, VT_SWEEP_HOLDS);
    assert_true(figure_of(second, "best_cap") == 200);
    assert_near(figure_of(second, "gain_ratio"), 3.0 / (1000.0 / 520), 1e-5);
    assert_near(figure_of(second, "throughput_lost_percent"), 40, 1e-5);
    assert_near(figure_of(second, "power_saved_percent"), (1 - 200.0 / 520) * 100, 1e-5);
    vt_sweep_release(&sweep);

    /* Best at the highest cap. */
    make_sweep(&sweep, 1, batches, 0, 3, 1);
    for (uint32_t i = 0; i < 3; i++) {
        put_point(&sweep, i, 100 * (i + 1.0), 1e6, 1.0 / (i + 1.0), 0.001);
    }
    analyse(&sweep);
    assert_int_equal(statement_of(&sweep, "efficiency_over_cap")->holds, VT_SWEEP_HOLDS_NOT);
    vt_sweep_release(&sweep);
}

static void test_recommended_point(void **state)
{
    struct vt_sweep sweep;
    (void)state;

    make_sweep(&sweep, 6, batches, 0, 0, 1);
    put_study(&sweep, 0);
    sweep.max_latency_ns = 3200000; /* (1 + b / 4) ms: 3 ms at batch 8 */
    analyse(&sweep);
    assert_true(sweep.analysis.has_recommended);
    assert_int_equal(sweep.analysis.recommended, 3);
    assert_non_null(strstr(sweep.analysis.recommended_text, "batch 8"));
    assert_non_null(strstr(sweep.analysis.recommended_text, "of 4 settings"));
    assert_non_null(strstr(sweep.analysis.recommended_text, "least energy"));
    /* What is not valid is not recommended. */
    sweep.points[3].measured.valid = false;
    analyse(&sweep);
    assert_int_equal(sweep.analysis.recommended, 2);
    sweep.max_latency_ns = 1000000;
    analyse(&sweep);
    assert_false(sweep.analysis.has_recommended);
    assert_non_null(strstr(statement_of(&sweep, "recommended")->text, "the fastest, batch 1"));
    /* Without energy by throughput. */
    for (uint32_t i = 0; i < 6; i++) {
        sweep.points[i].measured.joules_per_sample = NAN;
    }
    sweep.max_latency_ns = 0;
    analyse(&sweep);
    assert_int_equal(sweep.analysis.recommended, 5);
    assert_non_null(strstr(sweep.analysis.recommended_text, "highest throughput"));
    vt_sweep_release(&sweep);
}

/* The study's curve: every batch is on the front of energy against latency (both move), only the
 * largest on that against throughput (one point has the least energy and the most throughput). */
static void test_fronts_of_a_sweep(void **state)
{
    struct vt_sweep sweep;
    (void)state;

    make_sweep(&sweep, 6, batches, 0, 0, 1);
    put_study(&sweep, 0);
    analyse(&sweep);
    assert_int_equal(sweep.analysis.latency.n, 6);
    assert_int_equal(sweep.analysis.throughput.n, 1);
    assert_int_equal(sweep.analysis.throughput.settings[0], 5);
    assert_int_equal(sweep.analysis.speed.n, 6);
    vt_sweep_release(&sweep);
}

static void test_a_sweep_without_points_is_analysed(void **state)
{
    struct vt_sweep sweep;
    (void)state;

    make_sweep(&sweep, 6, batches, 2, 3, 2);
    analyse(&sweep);
    assert_false(sweep.analysis.has_recommended);
    assert_int_equal(sweep.analysis.latency.n, 0);
    analyse(&sweep); /* again, in the place of the first */
    vt_sweep_release(&sweep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quantiles_of_t),
        cmocka_unit_test(test_mean_and_interval),
        cmocka_unit_test(test_ratio_and_interval),
        cmocka_unit_test(test_knee),
        cmocka_unit_test(test_exponent),
        cmocka_unit_test(test_front_by_brute_force),
        cmocka_unit_test(test_findings_hold_with_intervals),
        cmocka_unit_test(test_what_does_not_hold_is_said),
        cmocka_unit_test(test_what_is_not_known_is_undecided),
        cmocka_unit_test(test_streams_have_no_batches_and_falls_are_told),
        cmocka_unit_test(test_best_cap),
        cmocka_unit_test(test_recommended_point),
        cmocka_unit_test(test_fronts_of_a_sweep),
        cmocka_unit_test(test_a_sweep_without_points_is_analysed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
