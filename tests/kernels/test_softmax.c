/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel_test.h"
#include "kernels/softmax/softmax.h"
#include "kernels/softmax/ways.h"

typedef void (*row_func)(bool logarithm, int64_t n, const float *x, float *y);

static int ways(row_func ret[3])
{
    int n = 0;
    ret[n++] = vt_f32_softmax_row__portable;
#if defined(__x86_64__)
    if (vt_topology()->features & VT_CPU_AVX2)
        ret[n++] = vt_f32_softmax_row__avx2;
    if (vt_topology()->features & VT_CPU_AVX512)
        ret[n++] = vt_f32_softmax_row__avx512;
#endif
    return n;
}

static void check(bool logarithm, int64_t n, const float *x, const float *y)
{
    double most = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++)
        most = fmax(most, (double)x[i]);
    for (int64_t i = 0; i < n; i++)
        sum += exp((double)x[i] - most);
    for (int64_t i = 0; i < n; i++) {
        const double below = (double)x[i] - most;
        const double want = logarithm ? below - log(sum) : exp(below) / sum;
        if (!(fabs((double)y[i] - want) <= 1e-6 * fabs(want) + 1e-7))
            fail_msg("%lld of %lld: %.9g, not %.9g", (long long)i, (long long)n, (double)y[i],
                     want);
    }
}

/* All lengths around the vectors, in place and beside, with infinities among the numbers. */
static void test_rows(void **state)
{
    struct random r = {5};
    row_func funcs[3];
    const int count = ways(funcs);
    (void)state;
    for (int64_t n = 1; n <= 150; n++) {
        float *x = random_floats(&r, n), *y = random_floats(&r, n);
        for (int64_t i = 0; i < n; i++)
            x[i] *= 20.0f;
        x[n / 2] = n > 1 && n % 3 == 0 ? -INFINITY : x[n / 2];
        for (int f = 0; f < count; f++) {
            funcs[f](n % 2 != 0 && n % 3 != 0, n, x, y);
            check(n % 2 != 0 && n % 3 != 0, n, x, y);
            memcpy(y, x, (size_t)n * sizeof(*x));
            funcs[f](false, n, y, y);
            check(false, n, x, y);
        }
        vt_free(x);
        vt_free(y);
    }
}

static void test_inner_axis(void **state)
{
    struct random r = {6};
    float *x = random_floats(&r, 3 * 7 * 5), y[3 * 7 * 5];
    (void)state;
    vt_softmax_run(VT_SOFTMAX, 3, 7, 5, x, y, NULL);
    for (int64_t c = 0; c < 15; c++) {
        float from[7], to[7];
        for (int64_t i = 0; i < 7; i++) {
            from[i] = x[c / 5 * 35 + i * 5 + c % 5];
            to[i] = y[c / 5 * 35 + i * 5 + c % 5];
        }
        check(false, 7, from, to);
    }
    vt_free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_inner_axis),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
