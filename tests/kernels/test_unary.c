/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel_test.h"
#include "kernels/elementwise/unary_ways.h"

typedef void (*unary_func)(const struct vt_unary_params *params, const float *x, float *y,
                           int64_t n);

/* The loops of every instruction set that this machine has. */
static int ways(unary_func ret[3])
{
    int n = 0;
    ret[n++] = vt_f32_unary__portable;
#if defined(__x86_64__)
    if (vt_topology()->features & VT_CPU_AVX2)
        ret[n++] = vt_f32_unary__avx2;
    if (vt_topology()->features & VT_CPU_AVX512)
        ret[n++] = vt_f32_unary__avx512;
#endif
    return n;
}

static double logistic(double x)
{
    return 1 / (1 + exp(-x));
}

static double gelu(double x)
{
    return 0.5 * x * (1 + erf(x * 0.70710678118654752));
}

/* The polynomials against the C library's double functions, as relative errors. */
static void test_accuracy(void **state)
{
    enum { COUNT = 1 << 16 };
    static const struct {
        enum vt_unary op;
        double (*want)(double);
        float low, high;
    } cases[] = {
        {VT_UNARY_EXP, exp, -86.5f, 88.7f},         {VT_UNARY_EXP, exp, -0.5f, 0.5f},
        {VT_UNARY_TANH, tanh, -9.0f, 9.0f},         {VT_UNARY_TANH, tanh, -0.01f, 0.01f},
        {VT_UNARY_SIGMOID, logistic, -80.0f, 9.0f}, {VT_UNARY_ERF, erf, -5.0f, 5.0f},
        {VT_UNARY_ERF, erf, -1e-3f, 1e-3f},         {VT_UNARY_GELU, gelu, -0.5f, 9.0f},
    };
    float *x = vt_alloc(COUNT * sizeof(float)), *y = vt_alloc(COUNT * sizeof(float));
    unary_func funcs[3];
    const int n = ways(funcs);
    (void)state;
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        const struct vt_unary_params params = {.op = cases[c].op};
        for (int i = 0; i < COUNT; i++)
            x[i] = cases[c].low + (cases[c].high - cases[c].low) * (float)i / (float)COUNT;
        for (int f = 0; f < n; f++) {
            funcs[f](&params, x, y, COUNT);
            for (int i = 0; i < COUNT; i++) {
                const double want = cases[c].want((double)x[i]);
                if (!(fabs((double)y[i] - want) <= 3e-7 * fabs(want)))
                    fail_msg("%.9g gives %.9g, not %.9g", (double)x[i], (double)y[i], want);
            }
        }
    }
    vt_free(x);
    vt_free(y);
}

static void test_extremes(void **state)
{
    const float x[6] = {-INFINITY, -1000.0f, -0.0f, 1000.0f, INFINITY, NAN};
    const float want[4][6] = {{0, 0, 1, INFINITY, INFINITY, NAN},
                              {-1, -1, -0.0f, 1, 1, NAN},
                              {0, 0, 0.5f, 1, 1, NAN},
                              {-1, -1, -0.0f, 1, 1, NAN}};
    const enum vt_unary ops[4] = {VT_UNARY_EXP, VT_UNARY_TANH, VT_UNARY_SIGMOID, VT_UNARY_ERF};
    unary_func funcs[3];
    const int n = ways(funcs);
    float y[6];
    (void)state;
    for (int f = 0; f < n; f++) {
        for (int c = 0; c < 4; c++) {
            const struct vt_unary_params params = {.op = ops[c]};
            funcs[f](&params, x, y, 6);
            for (int i = 0; i < 6; i++)
                assert_true(isnan(want[c][i]) ? isnan(y[i]) : y[i] == want[c][i]);
        }
    }
}

/* No activation may turn a NaN into a number. */
static void test_nan_survives(void **state)
{
    unary_func funcs[3];
    const int n = ways(funcs);
    (void)state;
    for (int f = 0; f < n; f++) {
        for (int op = VT_UNARY_ABS; op <= VT_UNARY_GELU_TANH; op++) {
            const struct vt_unary_params params = {
                .op = (enum vt_unary)op, .alpha = 0.25, .beta = 0.5};
            const float x[3] = {NAN, NAN, NAN};
            float y[3];
            if (op == VT_UNARY_SIGN || op == VT_UNARY_THRESHOLDED_RELU || op == VT_UNARY_SHRINK)
                continue; /* by definition: none of their conditions holds */
            funcs[f](&params, x, y, 3);
            if (!isnan(y[0]) || !isnan(y[2]))
                fail_msg("function %d of NaN is %g", op, (double)y[0]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accuracy),
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_nan_survives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
