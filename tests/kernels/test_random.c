/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers: moments and frequencies within five standard errors, and what is repeatable. */
#include "vt_test.h"

#include <math.h>

#include "kernels/random/random.h"

#define N 100000

static double numbers[N], other[N];

static void draw(enum vt_random_kind kind, uint64_t stream, double a, double b, double *ret)
{
    const struct vt_random r = {
        .kind = kind, .key = vt_random_key(7, stream), .a = a, .b = b, .dtype = VT_F64};
    vt_random_run(&r, NULL, ret, N, NULL);
}

/* Mean and variance of the numbers are these. */
static void check_moments(double mean, double variance, double fourth)
{
    double sum = 0, squares = 0;
    for (int i = 0; i < N; i++)
        sum += numbers[i];
    for (int i = 0; i < N; i++)
        squares += (numbers[i] - mean) * (numbers[i] - mean);
    assert_true(fabs(sum / N - mean) < 5 * sqrt(variance / N));
    assert_true(fabs(squares / N - variance) < 5 * sqrt((fourth - variance * variance) / N));
}

static void test_uniform(void **state)
{
    (void)state;
    draw(VT_RANDOM_UNIFORM, 0, -2, 4, numbers);
    for (int i = 0; i < N; i++)
        assert_true(numbers[i] >= -2 && numbers[i] < 4);
    check_moments(1, 3, 16.2); /* of width 6: 36 / 12, 1296 / 80 */
}

static void test_normal(void **state)
{
    double product = 0;
    int beyond = 0;
    (void)state;
    draw(VT_RANDOM_NORMAL, 1, 3, 0.5, numbers);
    check_moments(3, 0.25, 3 * 0.0625);
    for (int i = 0; i < N; i++) {
        assert_true(isfinite(numbers[i]));
        beyond += fabs(numbers[i] - 3) > 2 * 0.5;
    }
    /* Two deviations leave out 4.55 %. */
    assert_true(fabs(beyond - 0.0455 * N) < 5 * sqrt(0.0455 * 0.9545 * N));
    for (int i = 0; i + 1 < N; i++)
        product += (numbers[i] - 3) * (numbers[i + 1] - 3) / 0.25;
    assert_true(fabs(product) < 5 * sqrt(N));
}

static void test_streams(void **state)
{
    (void)state;
    draw(VT_RANDOM_UNIFORM, 2, 0, 1, numbers);
    draw(VT_RANDOM_UNIFORM, 2, 0, 1, other);
    assert_memory_equal(numbers, other, sizeof(numbers));
    draw(VT_RANDOM_UNIFORM, 3, 0, 1, other);
    double product = 0;
    for (int i = 0; i < N; i++) {
        assert_true(numbers[i] != other[i]);
        product += (numbers[i] - 0.5) * (other[i] - 0.5) * 12;
    }
    assert_true(fabs(product) < 5 * sqrt(N));
}

static void test_bernoulli(void **state)
{
    static float p[N];
    static uint8_t y[N];
    int ones[3] = {0};
    (void)state;
    for (int i = 0; i < N; i++)
        p[i] = (float)(i % 3) * 0.5f;
    const struct vt_random r = {.kind = VT_RANDOM_BERNOULLI,
                                .key = vt_random_key(1, 0),
                                .dtype = VT_BOOL,
                                .p_dtype = VT_F32};
    vt_random_run(&r, p, y, N, NULL);
    for (int i = 0; i < N; i++)
        ones[i % 3] += y[i];
    assert_int_equal(ones[0], 0);
    assert_true(abs(ones[1] - N / 6) < 5 * sqrt(N / 12.0));
    assert_int_equal(ones[2], N / 3);
}

static void test_multinomial(void **state)
{
    const float x[2][3] = {{logf(0.2f), logf(0.5f), logf(0.3f)}, {100.0f, -INFINITY, 100.0f}};
    static int32_t y[2 * N];
    int counts[2][3] = {{0}};
    (void)state;
    vt_multinomial_run(vt_random_key(3, 0), 2, 3, N, x[0], VT_I32, y);
    for (int i = 0; i < 2 * N; i++) {
        assert_true(y[i] >= 0 && y[i] < 3);
        counts[i / N][y[i]]++;
    }
    for (int c = 0; c < 3; c++) {
        const double p = exp((double)x[0][c]);
        assert_true(fabs(counts[0][c] - p * N) < 5 * sqrt(p * (1 - p) * N));
    }
    assert_int_equal(counts[1][1], 0);
    assert_true(abs(counts[1][0] - N / 2) < 5 * sqrt(N / 4.0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uniform),     cmocka_unit_test(test_normal),
        cmocka_unit_test(test_streams),     cmocka_unit_test(test_bernoulli),
        cmocka_unit_test(test_multinomial),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
