/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of distributions whose right answer is known. */
#include "vt_test.h"

#include <math.h>

#include "base/alloc.h"
#include "quantize/range.h"

#define N 200000

static uint64_t state_of_draw = 3;

static double draw(void)
{
    state_of_draw += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = state_of_draw;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return ((double)((z ^ z >> 31) >> 11) + 0.5) / 9007199254740992.0;
}

static double draw_normal(void)
{
    return sqrt(-2.0 * log(draw())) * cos(2.0 * 3.14159265358979323846 * draw());
}

static struct vt_range range_of(enum vt_range_method method, double percentile, const float *x,
                                int64_t n)
{
    struct vt_range_seen *seen = vt_calloc(1, sizeof *seen);
    assert_non_null(seen);
    /* In parts, as samples come. */
    for (int64_t i = 0; i < n; i += 1000)
        vt_range_see(seen, x + i, n - i < 1000 ? n - i : 1000);
    for (int64_t i = 0; i < n; i += 777)
        vt_range_count(seen, method, x + i, n - i < 777 ? n - i : 777);
    struct vt_range range = vt_range_find(seen, method, percentile);
    vt_free(seen);
    return range;
}

static float *numbers(void)
{
    float *x = vt_alloc(N * sizeof *x);
    assert_non_null(x);
    return x;
}

static void assert_near(double got, double want, double within)
{
    if (!(fabs(got - want) <= within))
        fail_msg("%g is not %g within %g", got, want, within);
}

static void test_minmax(void **state)
{
    const float x[] = {-1.5F, NAN, 3.0F, INFINITY, 0.25F, -INFINITY}, above[] = {2.0F, 5.0F};
    (void)state;
    struct vt_range range = range_of(VT_RANGE_MINMAX, 0, x, 6);
    assert_true(range.low == -1.5F && range.high == 3.0F);
    range = range_of(VT_RANGE_MINMAX, 0, above, 2); /* 0 belongs to it */
    assert_true(range.low == 0.0F && range.high == 5.0F);
    range = range_of(VT_RANGE_MINMAX, 0, x + 1, 1); /* nothing was seen */
    assert_true(range.low == 0.0F && range.high == 0.0F);
}

static void test_percentile_of_uniform(void **state)
{
    float *x = numbers();
    (void)state;
    for (int i = 0; i < N; i++)
        x[i] = (float)(draw() * 20.0 - 10.0);
    struct vt_range range = range_of(VT_RANGE_PERCENTILE, 90.0, x, N); /* 5 % at either end */
    assert_near((double)range.low, -9.0, 0.1);
    assert_near((double)range.high, 9.0, 0.1);
    for (int i = 0; i < N; i++)
        x[i] = (float)(draw() * 10.0);
    range = range_of(VT_RANGE_PERCENTILE, 90.0, x, N); /* all 10 % at the upper one */
    assert_true(range.low == 0.0F);
    assert_near((double)range.high, 9.0, 0.1);
    vt_free(x);
}

static void test_percentile_of_normal(void **state)
{
    float *x = numbers();
    (void)state;
    for (int i = 0; i < N; i++)
        x[i] = (float)draw_normal();
    struct vt_range range = range_of(VT_RANGE_PERCENTILE, 99.0, x, N);
    assert_near((double)range.low, -2.5758, 0.06);
    assert_near((double)range.high, 2.5758, 0.06);
    vt_free(x);
}

/* Nothing is gained by cutting off what is as frequent as all the rest. */
static void test_entropy_keeps_a_uniform(void **state)
{
    float *x = numbers();
    (void)state;
    for (int i = 0; i < N; i++)
        x[i] = (float)(draw() * 6.0 - 3.0);
    struct vt_range range = range_of(VT_RANGE_ENTROPY, 0, x, N);
    assert_near((double)range.high, 3.0, 0.1);
    assert_near((double)range.low, -3.0, 0.1);
    vt_free(x);
}

/* A few numbers far away cost all others their resolution: they are cut off, the rest is not. */
static void test_entropy_cuts_outliers(void **state)
{
    float *x = numbers();
    (void)state;
    for (int i = 0; i < N; i++)
        x[i] = (float)draw_normal();
    for (int i = 0; i < 3; i++)
        x[(ptrdiff_t)1000 * i] = 60.0F + (float)i;
    struct vt_range range = range_of(VT_RANGE_ENTROPY, 0, x, N);
    assert_true(range.high > 2.5F && range.high < 12.0F);
    assert_true(range.low < -2.5F);
    struct vt_range all = range_of(VT_RANGE_MINMAX, 0, x, N);
    assert_true(all.high == 62.0F);
    vt_free(x);
}

/* Half of it zeros, as behind a Relu: they say nothing about the range. */
static void test_entropy_ignores_zeros(void **state)
{
    float *x = numbers(), *without = numbers();
    int n = 0;
    (void)state;
    for (int i = 0; i < N; i++) {
        const double value = draw_normal();
        x[i] = value > 0 ? (float)value : 0.0F;
        if (value > 0)
            without[n++] = (float)value;
    }
    struct vt_range range = range_of(VT_RANGE_ENTROPY, 0, x, N);
    struct vt_range same = range_of(VT_RANGE_ENTROPY, 0, without, n);
    assert_true(range.low == 0.0F);
    assert_near((double)range.high, (double)same.high, 1e-6);
    assert_true(range.high > 2.0F);
    vt_free(x);
    vt_free(without);
}

static void test_scales(void **state)
{
    float scale;
    int32_t zero;
    (void)state;
    vt_range_scale((struct vt_range){0.0F, 51.0F}, false, &scale, &zero);
    assert_true(scale == 0.2F && zero == 0);
    vt_range_scale((struct vt_range){0.0F, 51.0F}, true, &scale, &zero);
    assert_true(scale == 0.2F && zero == -128);
    vt_range_scale((struct vt_range){-51.0F, 0.0F}, false, &scale, &zero);
    assert_int_equal(zero, 255);
    vt_range_scale((struct vt_range){-1.0F, 1.0F}, false, &scale, &zero);
    assert_true(zero == 127 || zero == 128);
    /* Nothing but 0 was seen, or as good as nothing: any scale does, but a positive one. */
    vt_range_scale((struct vt_range){0.0F, 0.0F}, false, &scale, &zero);
    assert_true(scale > 0.0F && zero == 0);
    vt_range_scale((struct vt_range){0.0F, 1e-40F}, true, &scale, &zero);
    assert_true(scale > 1e-38F && zero == -128);
    vt_range_scale((struct vt_range){-3e38F, 3e38F}, false, &scale, &zero);
    assert_true(isfinite(scale) && zero >= 127 && zero <= 128);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_minmax),
        cmocka_unit_test(test_percentile_of_uniform),
        cmocka_unit_test(test_percentile_of_normal),
        cmocka_unit_test(test_entropy_keeps_a_uniform),
        cmocka_unit_test(test_entropy_cuts_outliers),
        cmocka_unit_test(test_entropy_ignores_zeros),
        cmocka_unit_test(test_scales),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
