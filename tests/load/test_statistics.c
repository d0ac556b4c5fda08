/* SPDX-License-Identifier: Apache-2.0 */
/* Early stopping against published figures and a plain binomial sum; sorting and percentiles. */
#include <math.h>

#include "load/early_stopping.h"
#include "load/rng.h"
#include "load/stats.h"
#include "vt_test.h"

/* P(at most t of h + t over latency), term by term. */
static double binomial_sum(uint64_t h, uint64_t t, double p)
{
    long double n = (long double)(h + t), sum = 0;
    for (uint64_t k = 0; k <= t; k++) {
        long double kk = (long double)k;
        long double term = lgammal(n + 1) - lgammal(kk + 1) - lgammal(n - kk + 1) +
                           kk * log1pl(-(long double)p) + (n - kk) * logl((long double)p);
        sum += expl(term);
    }
    return (double)sum;
}

static void published_counts_come_out(void **state)
{
    (void)state;
    /* Inference rules, "Early stopping": queries at least for an estimate. */
    assert_int_equal(vt_early_stopping_passing(1, 0.90) + 1, 64);
    assert_int_equal(vt_early_stopping_passing(1, 0.99) + 1, 662);
    assert_int_equal(vt_early_stopping_passing(1, 0.999) + 1, 6636);
    /* H(0) = ceil(ln 0.01 / ln p). */
    static const double ps[] = {0.5, 0.90, 0.95, 0.97, 0.99, 0.999};
    for (int i = 0; i < 6; i++) {
        assert_int_equal(vt_early_stopping_passing(0, ps[i]),
                         (uint64_t)ceil(log(0.01) / log(ps[i])));
    }
    assert_int_equal(vt_early_stopping_passing(0, 0.99), 459);
}

static void odds_equal_the_binomial_sum(void **state)
{
    (void)state;
    static const double ps[] = {0.5, 0.90, 0.97, 0.99, 0.999};
    static const uint64_t ts[] = {0, 1, 2, 5, 17, 100, 1000};
    for (int i = 0; i < 5; i++) {
        for (int j = 0; j < 7; j++) {
            uint64_t passing = vt_early_stopping_passing(ts[j], ps[i]);
            /* From far in the one tail to far in the other. */
            const uint64_t hs[] = {1,           passing / 4 + 1, passing / 2 + 1,
                                   passing - 1, passing,         passing + passing / 8};
            for (int k = 0; k < 6; k++) {
                double expected = binomial_sum(hs[k], ts[j], ps[i]);
                double got = vt_early_stopping_odds(hs[k], ts[j], ps[i]);
                if (fabs(got - expected) > 1e-9 * expected + 1e-12) {
                    fail_msg("h %d t %d p %g: %.15g, sum %.15g", (int)hs[k], (int)ts[j], ps[i], got,
                             expected);
                }
            }
            assert_true(binomial_sum(passing, ts[j], ps[i]) < 1 - 0.99);
            assert_false(binomial_sum(passing - 1, ts[j], ps[i]) < 1 - 0.99);
        }
    }
}

static void the_largest_number_over_latency_fits_and_one_more_does_not(void **state)
{
    (void)state;
    static const uint64_t ns[] = {64, 65, 99, 1000, 6636, 24576, 270336, 10000000};
    static const double ps[] = {0.90, 0.99};
    for (int i = 0; i < 8; i++) {
        for (int j = 0; j < 2; j++) {
            uint64_t t = vt_early_stopping_over(ns[i], ps[j]);
            if (ns[i] < vt_early_stopping_passing(1, ps[j]) + 1) {
                assert_int_equal(t, 0);
                continue;
            }
            assert_true(t >= 1);
            assert_true(ns[i] >= vt_early_stopping_passing(t, ps[j]) + t);
            assert_true(ns[i] < vt_early_stopping_passing(t + 1, ps[j]) + t + 1);
        }
    }
    assert_int_equal(vt_early_stopping_over(0, 0.99), 0);
    assert_int_equal(vt_early_stopping_over(661, 0.99), 0);
    assert_int_equal(vt_early_stopping_over(662, 0.99), 1);
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static void sorting_equals_qsort(void **state)
{
    (void)state;
    static int64_t a[20000], b[20000], scratch[20000];
    static const size_t sizes[] = {0, 1, 2, 63, 64, 65, 1000, 20000};
    struct vt_mt19937 rng;
    vt_mt19937_seed(&rng, 3);
    for (int shift = 0; shift < 64; shift += 9) {
        for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
            for (size_t i = 0; i < sizes[k]; i++) {
                uint64_t high = vt_mt19937_next(&rng);
                a[i] = (int64_t)((high << 32 | vt_mt19937_next(&rng)) >> shift);
                b[i] = a[i];
            }
            vt_sort_ns(a, sizes[k], scratch);
            qsort(b, sizes[k], sizeof(*b), compare);
            if (sizes[k] > 0) {
                assert_memory_equal(a, b, sizes[k] * sizeof(*a));
            }
        }
    }
}

static void percentiles_do_not_interpolate(void **state)
{
    (void)state;
    int64_t a[100];
    for (int i = 0; i < 100; i++) {
        a[i] = 10 * i;
    }
    assert_int_equal(vt_percentile_ns(a, 100, 0.90), 900);
    assert_int_equal(vt_percentile_ns(a, 100, 0.999), 990);
    assert_int_equal(vt_percentile_ns(a, 99, 0.5), 490);
    assert_int_equal(vt_percentile_ns(a, 1, 0.99), 0);
    assert_int_equal(vt_percentile_ns(a, 100, 1 - 1e-17), 990);
    assert_int_equal(vt_count_above(a, 100, 500), 49);
    assert_int_equal(vt_count_above(a, 100, 505), 49);
    assert_int_equal(vt_count_above(a, 100, -1), 100);
    assert_int_equal(vt_count_above(a, 100, 990), 0);
}

static void the_mean_does_not_overflow(void **state)
{
    (void)state;
    int64_t a[4] = {INT64_MAX / 2, INT64_MAX / 2, INT64_MAX / 2, INT64_MAX / 2};
    assert_int_equal(vt_latency_stats_of(a, 4).mean_ns, INT64_MAX / 2);
    struct vt_latency_stats none = vt_latency_stats_of(a, 0);
    assert_int_equal(none.max_ns, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_counts_come_out),
        cmocka_unit_test(odds_equal_the_binomial_sum),
        cmocka_unit_test(the_largest_number_over_latency_fits_and_one_more_does_not),
        cmocka_unit_test(sorting_equals_qsort),
        cmocka_unit_test(percentiles_do_not_interpolate),
        cmocka_unit_test(the_mean_does_not_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
