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

static const enum vt_bounded_method methods[] = {VT_BOUNDED_LEMIRE, VT_BOUNDED_DIVISION};
#define METHODS (sizeof(methods) / sizeof(methods[0]))

static void bounded_is_uniform_and_in_range(void **state)
{
    (void)state;
    for (size_t m = 0; m < METHODS; m++) {
        struct vt_mt19937 rng;
        vt_mt19937_seed(&rng, 7);
        int seen[10] = {0};
        for (int i = 0; i < 100000; i++) {
            uint32_t value = vt_rng_bounded(&rng, 10, methods[m]);
            assert_in_range(value, 0, 9);
            seen[value]++;
        }
        for (int i = 0; i < 10; i++) {
            /* 10000 expected, standard deviation 95. */
            assert_in_range(seen[i], 9500, 10500);
        }
        assert_int_equal(vt_rng_bounded(&rng, 1, methods[m]), 0);
    }
}

/* Where the generator stands is told by its next word and by how far it is through its block. */
static void assert_same_place(struct vt_mt19937 *a, struct vt_mt19937 *b)
{
    assert_int_equal(a->next, b->next);
    assert_int_equal(vt_mt19937_next(a), vt_mt19937_next(b));
}

/* A shuffle done in steps is the shuffle; `from` is a shuffled order already. */
static void step_once(enum vt_bounded_method method, size_t n)
{
    static uint64_t whole[70001], from[70001], steps[70001];
    struct vt_mt19937 a, b;
    vt_mt19937_seed(&a, n);
    vt_mt19937_seed(&b, n);
    for (size_t i = 0; i < n; i++) {
        whole[i] = i;
    }
    for (int round = 0; round < 2; round++) {
        size_t done = 0, calls = 0;
        memcpy(from, whole, sizeof(from));
        for (; done < n; calls++) {
            vt_rng_shuffle_step(&b, method, round == 0 ? NULL : from, steps, n, &done);
        }
        vt_rng_shuffle(&a, method, whole, n);
        assert_true(done == n && calls <= n);
        assert_memory_equal(whole, steps, n * sizeof(steps[0]));
        assert_same_place(&a, &b);
    }
}

static void a_shuffle_in_steps_is_the_same(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 2, 3, 4, 5, 100, 101, 65535, 65536, 70001};
    for (size_t m = 0; m < METHODS; m++) {
        for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
            step_once(methods[m], sizes[k]);
        }
    }
}

static void skip_once(enum vt_bounded_method method, uint64_t seed, size_t n)
{
    static uint64_t a[70001];
    struct vt_mt19937 with, without;
    vt_mt19937_seed(&with, seed);
    vt_mt19937_seed(&without, seed);
    for (size_t i = 0; i < n; i++) {
        a[i] = i;
    }
    /* Twice, so that the second begins anywhere in a block of words. */
    for (int round = 0; round < 2; round++) {
        vt_rng_shuffle(&with, method, a, n);
        vt_rng_skip_shuffle(&without, method, n);
        assert_same_place(&with, &without);
    }
    static bool seen[70001];
    memset(seen, 0, sizeof(seen));
    for (size_t i = 0; i < n; i++) {
        assert_true(a[i] < n && !seen[a[i]]);
        seen[a[i]] = true;
    }
}

static void a_skipped_shuffle_consumes_the_same(void **state)
{
    (void)state;
    static const size_t sizes[] = {0,    1,    2,     3,     4,     31,    33,    64,   1023,
                                   1024, 5000, 16384, 20001, 65534, 65535, 65536, 70001};
    for (size_t m = 0; m < METHODS; m++) {
        for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
            skip_once(methods[m], k, sizes[k]);
        }
        for (size_t n = 0; n < 700; n++) {
            skip_once(methods[m], n, n);
        }
    }
}

/* Small bounds hardly tell the methods apart; the orders of real data sets do. */
static void the_methods_are_two(void **state)
{
    (void)state;
    uint64_t order[METHODS][1024];
    for (size_t m = 0; m < METHODS; m++) {
        struct vt_mt19937 rng;
        vt_mt19937_seed(&rng, 1);
        for (size_t i = 0; i < 1024; i++) {
            order[m][i] = i;
        }
        vt_rng_shuffle(&rng, methods[m], order[m], 1024);
    }
    assert_memory_not_equal(order[0], order[1], sizeof(order[0]));
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
        cmocka_unit_test(a_shuffle_in_steps_is_the_same),
        cmocka_unit_test(a_skipped_shuffle_consumes_the_same),
        cmocka_unit_test(the_methods_are_two),
        cmocka_unit_test(exponential_gaps_have_the_mean_of_the_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
