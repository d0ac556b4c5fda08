/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of vector_math.h against the C library's in double. */
#include "kernel_test.h"
#include "kernels/vector_math.h"

/* Greatest error over [low, high]: relative, or where `scale` is not 0 in parts of it. */
static double worst(float (*got)(float), double (*want)(double), double low, double high,
                    double scale)
{
    const int steps = 200000;
    double max = 0;
    for (int i = 0; i <= steps; i++) {
        const float x = (float)(low + (high - low) * i / steps);
        const double truth = want((double)x);
        const double part = scale != 0 ? scale : fabs(truth);
        const double error = part == 0 ? 0 : fabs((double)got(x) - truth) / part;
        max = error > max ? error : max;
    }
    return max;
}

static double sigmoid_double(double x)
{
    return 1 / (1 + exp(-x));
}

static double gelu_double(double x)
{
    return activate_reference(VT_ACT_GELU, 0, 0, x);
}

static double gelu_tanh_double(double x)
{
    return activate_reference(VT_ACT_GELU_TANH, 0, 0, x);
}

static double silu_double(double x)
{
    return activate_reference(VT_ACT_SILU, 0, 0, x);
}

static void below(const char *name, double error, double bound)
{
    if (!(error <= bound))
        fail_msg("%s is off by %.3g (allowed: %.3g)", name, error, bound);
}

static void test_errors(void **state)
{
    (void)state;
    below("exp", worst(vt_exp, exp, -80, 88, 0), 3e-7);
    below("tanh", worst(vt_tanh, tanh, -10, 10, 0), 3e-7);
    below("tanh near 0", worst(vt_tanh, tanh, -0.01, 0.01, 0), 3e-7);
    below("sigmoid", worst(vt_sigmoid, sigmoid_double, -80, 80, 0), 4e-7);
    below("erfc", worst(vt_erfc_positive, erfc, 0, 1, 0), 7e-7);
    below("erfc far out", worst(vt_erfc_positive, erfc, 1, 9, 0), 1e-5);
    below("gelu", worst(vt_gelu, gelu_double, -2, 20, 0), 2e-6);
    below("gelu far out", worst(vt_gelu, gelu_double, -8, -2, 1), 1e-7);
    below("gelu by tanh", worst(vt_gelu_tanh, gelu_tanh_double, -8, 20, 1), 3e-6);
    below("silu", worst(vt_silu, silu_double, -80, 80, 0), 5e-7);
}

static void test_ends(void **state)
{
    float (*const all[])(float) = {vt_exp, vt_tanh, vt_sigmoid, vt_gelu, vt_gelu_tanh, vt_silu};
    (void)state;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        assert_true(isnan(all[i](NAN)));
    assert_true(vt_erfc_positive(0.0f) > 0.999999f && vt_erfc_positive(INFINITY) == 0.0f);
    assert_true(vt_gelu(100.0f) == 100.0f && vt_gelu(-100.0f) == 0.0f);
    assert_true(vt_silu(100.0f) == 100.0f && fabsf(vt_silu(-100.0f)) < 1e-37f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
