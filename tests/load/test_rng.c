/* SPDX-License-Identifier: Apache-2.0 */
/* The generators against published figures. test_rng_oracle.c compares with libstdc++. */
#include <math.h>

#include "load/rng.h"
#include "vt_test.h"

static void mt19937_gives_the_published_10000th_word(void **state)
{
    (void)state;
    struct vt_mt19937 rng;
    /* ISO C++ [rand.predef]: the 10000th draw of a generator seeded with 5489. */
    vt_mt19937_seed(&rng, 5489);
    uint32_t word = 0;
    for (int i = 0; i < 10000; i++) {
        word = vt_mt19937_next(&rng);
    }
    assert_int_equal(word, 4123659995u);
}

static void only_the_low_half_of_a_seed_matters(void **state)
{
    (void)state;
    struct vt_mt19937 a, b;
    vt_mt19937_seed(&a, UINT64_C(2085463073848966840));
    vt_mt19937_seed(&b, UINT64_C(2085463073848966840) & UINT32_MAX);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(vt_mt19937_next(&a), vt_mt19937_next(&b));
    }
}

static void bounded_is_uniform_and_in_range(void **state)
{
    (void)state;
    struct vt_mt19937 rng;
    vt_mt19937_seed(&rng, 7);
    int seen[10] = {0};
    for (int i = 0; i < 100000; i++) {
        uint32_t value = vt_rng_bounded(&rng, 10);
        assert_in_range(value, 0, 9);
        seen[value]++;
    }
    for (int i = 0; i < 10; i++) {
        /* 10000 expected, standard deviation 95. */
        assert_in_range(seen[i], 9500, 10500);
    }
    assert_int_equal(vt_rng_bounded(&rng, 1), 0);
}

static void drawing_without_an_array_consumes_the_same(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 2, 3, 4, 1023, 1024, 65535, 65536, 70001};
    static uint64_t a[70001];
    for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
        struct vt_mt19937 with, without;
        vt_mt19937_seed(&with, k);
        vt_mt19937_seed(&without, k);
        for (size_t i = 0; i < sizes[k]; i++) {
            a[i] = i;
        }
        vt_rng_shuffle(&with, a, sizes[k]);
        vt_rng_shuffle(&without, NULL, sizes[k]);
        assert_int_equal(vt_mt19937_next(&with), vt_mt19937_next(&without));
        uint64_t sum = 0;
        for (size_t i = 0; i < sizes[k]; i++) {
            sum += a[i];
        }
        assert_int_equal(sum, sizes[k] * (sizes[k] > 0 ? sizes[k] - 1 : 0) / 2);
    }
}

static void exponential_gaps_have_the_mean_of_the_rate(void **state)
{
    (void)state;
    struct vt_mt19937 rng;
    vt_mt19937_seed(&rng, 1);
    double sum = 0;
    for (int i = 0; i < 100000; i++) {
        int64_t gap = vt_rng_exponential_ns(&rng, 1000);
        assert_true(gap >= 0);
        sum += (double)gap;
    }
    /* Mean 1 ms, standard error 1/316 of that. */
    assert_true(fabs(sum / 100000 / 1e6 - 1) < 0.02);
    /* A rate so low that the gap would not fit is held, not undefined. */
    assert_true(vt_rng_exponential_ns(&rng, 1e-300) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mt19937_gives_the_published_10000th_word),
        cmocka_unit_test(only_the_low_half_of_a_seed_matters),
        cmocka_unit_test(bounded_is_uniform_and_in_range),
        cmocka_unit_test(drawing_without_an_array_consumes_the_same),
        cmocka_unit_test(exponential_gaps_have_the_mean_of_the_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
