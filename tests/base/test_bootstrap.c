/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interval of a ratio, held against series whose truth is known: turns of two engines, A B B A,
 * on a machine whose speed wanders, drifts and stumbles.
 */
#include "vt_test.h"

#include <math.h>
#include <stdbool.h>

#include "base/bootstrap.h"

#define SERIES 100
#define ROUNDS 60

struct noise {
    const char *name;
    double spread;      /* of one turn */
    double memory;      /* autoregression from turn to turn */
    double drift;       /* over the whole series */
    double outliers;    /* share of turns that take half as long again */
    double wave;        /* amplitude of a slow sine: a neighbour who comes and goes */
    double wave_rounds; /* its period */
};

static const struct noise noises[] = {
    {"white", 0.02, 0, 0, 0, 0, 1},
    {"wandering", 0.02, 0.5, 0, 0, 0, 1},
    {"wandering slowly", 0.02, 0.9, 0, 0, 0, 1},
    {"drift up", 0.01, 0.3, 0.3, 0, 0, 1},
    {"drift down", 0.01, 0.3, -0.3, 0, 0, 1},
    {"outliers", 0.01, 0, 0, 0.15, 0, 1},
    {"waves", 0.01, 0, 0, 0, 0.1, 4.3},
    {"all of it", 0.03, 0.6, 0.2, 0.1, 0.05, 7},
};

static uint64_t random_state;

static double uniform(void)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(random_state >> 11) * 0x1p-53;
}

static double normal(void)
{
    return sqrt(-2 * log(1 - uniform())) * cos(2 * M_PI * uniform());
}

/* `factor`: how many times as long B takes. */
static void simulate(const struct noise *noise, size_t n, double factor, double *a, double *b)
{
    double state = noise->spread * normal();
    double fresh = sqrt(1 - noise->memory * noise->memory);

    for (size_t turn = 0; turn < 2 * n; turn++) {
        size_t round = turn / 2;
        double along = (double)turn / (double)(2 * n);
        state = noise->memory * state + fresh * noise->spread * normal();
        double time = (1 + noise->drift * along) * exp(state) *
                      (1 + noise->wave * sin(M_PI * (double)turn / noise->wave_rounds));
        time *= uniform() < noise->outliers ? 1.5 : 1;
        bool first = turn % 2 == 0, even = round % 2 == 0;
        if (first == even) {
            a[round] = time;
        } else {
            b[round] = factor * time;
        }
    }
}

/* How many intervals of SERIES hold `truth`. */
static int holding(const struct noise *noise, size_t n, double factor, double truth,
                   double *ret_width)
{
    double a[ROUNDS], b[ROUNDS], width = 0;
    struct vt_error err = VT_ERROR_INIT;
    int held = 0;

    for (int i = 0; i < SERIES; i++) {
        struct vt_ratio_estimate estimate;
        simulate(noise, n, factor, a, b);
        assert_int_equal(vt_bootstrap_ratio(b, a, n, 0.95, &err, &estimate), VT_OK);
        assert_true(estimate.low <= estimate.high);
        held += estimate.low <= truth && truth <= estimate.high;
        width += (estimate.high - estimate.low) / SERIES;
    }
    *ret_width = width;
    return held;
}

static void an_engine_against_itself_is_one(void **state)
{
    static const size_t counts[] = {9, 15};
    (void)state;

    for (size_t i = 0; i < sizeof noises / sizeof noises[0]; i++) {
        for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
            double width;
            random_state = 77 + i;
            int held = holding(&noises[i], counts[k], 1, 1, &width);
            print_message("%-17s %2zu rounds: %3d of %d hold 1.00, mean width %.3f\n",
                          noises[i].name, counts[k], held, SERIES, width);
            assert_true(held >= 90);
        }
    }
}

/* Not by being wide enough for anything. */
static void a_difference_is_seen(void **state)
{
    (void)state;

    for (size_t i = 0; i < sizeof noises / sizeof noises[0]; i++) {
        double width;
        random_state = 99 + i;
        int held = holding(&noises[i], 15, 1.2, 1.2, &width);
        random_state = 99 + i;
        int blind = holding(&noises[i], 15, 1.2, 1, &width);
        print_message("%-17s 20 %% slower: %3d of %d hold 1.20, %d hold 1.00\n", noises[i].name,
                      held, SERIES, blind);
        assert_true(held >= 90);
        assert_true(blind <= (noises[i].outliers > 0 ? 20 : 5));
    }
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void medians(void **state)
{
    (void)state;
    double odd[] = {3, 1, 2}, even[] = {4, 1, 3, 2}, one[] = {7};
    assert_true(vt_median(odd, 3) == 2);
    assert_true(vt_median(even, 4) == 2.5);
    assert_true(vt_median(one, 1) == 7);
    for (size_t n = 1; n <= 40; n++) {
        for (int again = 0; again < 50; again++) {
            double mixed[40], sorted[40];
            for (size_t i = 0; i < n; i++) {
                mixed[i] = sorted[i] = floor(uniform() * 20);
            }
            qsort(sorted, n, sizeof sorted[0], ascending);
            double expected = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
            assert_true(vt_median(mixed, n) == expected);
        }
    }
}

static void without_noise_the_interval_is_a_point(void **state)
{
    (void)state;
    double a[9], b[9];
    struct vt_error err = VT_ERROR_INIT;
    struct vt_ratio_estimate estimate, again;
    for (size_t i = 0; i < 9; i++) {
        a[i] = 3;
        b[i] = 2;
    }
    assert_int_equal(vt_bootstrap_ratio(a, b, 9, 0.95, &err, &estimate), VT_OK);
    assert_true(estimate.ratio == 1.5 && estimate.low == 1.5 && estimate.high == 1.5);
    a[3] = 4;
    a[7] = 2;
    assert_int_equal(vt_bootstrap_ratio(a, b, 9, 0.95, &err, &estimate), VT_OK);
    assert_int_equal(vt_bootstrap_ratio(a, b, 9, 0.95, &err, &again), VT_OK);
    assert_true(estimate.low == again.low && estimate.high == again.high);
}

static void what_has_no_ratio_is_refused(void **state)
{
    (void)state;
    double a[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1}, b[9] = {1, 1, 1, 1, 0, 1, 1, 1, 1};
    struct vt_error err = VT_ERROR_INIT;
    struct vt_ratio_estimate estimate;
    assert_int_equal(vt_bootstrap_ratio(a, b, 9, 0.95, &err, &estimate), VT_ERR_USAGE);
    assert_non_null(strstr(err.text, "round 4"));
    b[4] = (double)NAN;
    assert_int_equal(vt_bootstrap_ratio(a, b, 9, 0.95, NULL, &estimate), VT_ERR_USAGE);
    b[4] = 1;
    assert_int_equal(vt_bootstrap_ratio(a, b, VT_BOOTSTRAP_LEAST - 1, 0.95, NULL, &estimate),
                     VT_ERR_USAGE);
    assert_int_equal(vt_bootstrap_ratio(a, b, 9, 1, NULL, &estimate), VT_ERR_USAGE);
    assert_int_equal(vt_bootstrap_ratio(a, b, 9, (double)NAN, NULL, &estimate), VT_ERR_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(medians),
        cmocka_unit_test(without_noise_the_interval_is_a_point),
        cmocka_unit_test(an_engine_against_itself_is_one),
        cmocka_unit_test(a_difference_is_seen),
        cmocka_unit_test(what_has_no_ratio_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
