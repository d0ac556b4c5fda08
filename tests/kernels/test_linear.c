/* SPDX-License-Identifier: Apache-2.0 */
/* Contractions, determinants, transforms and unique values against known results. */
#include "vt_test.h"

#include <math.h>

#include "kernels/linear/linear.h"
#include "kernels/select/select.h"
#include "kernels/signal/signal.h"

/* "bij,bjk->bik" */
static void test_contract(void **state)
{
    double a[2][3][4], b[2][4][5], y[2][3][5];
    const void *const terms[2] = {a, b};
    (void)state;
    for (int i = 0; i < 24; i++)
        a[i / 12][i / 4 % 3][i % 4] = sin(i);
    for (int i = 0; i < 40; i++)
        b[i / 20][i / 5 % 4][i % 5] = cos(i);
    const struct vt_contract c = {.dtype = VT_F64,
                                  .n_terms = 2,
                                  .n_kept = 3,
                                  .n_summed = 1,
                                  .kept = {2, 3, 5},
                                  .summed = {4},
                                  .kept_step = {{12, 4, 0}, {20, 0, 1}},
                                  .summed_step = {{1}, {5}}};
    vt_contract_run(&c, terms, y, NULL);
    for (int i = 0; i < 30; i++) {
        double sum = 0;
        for (int k = 0; k < 4; k++)
            sum += a[i / 15][i / 5 % 3][k] * b[i / 15][k][i % 5];
        assert_true(fabs(y[i / 15][i / 5 % 3][i % 5] - sum) < 1e-12);
    }
}

/* A trace: one letter twice in a term, nothing kept; integers wrap. */
static void test_trace(void **state)
{
    const int32_t x[3][3] = {{INT32_MAX, 5, 6}, {7, 1, 8}, {9, 10, 2}};
    const void *const terms[1] = {x};
    int32_t y = 0;
    (void)state;
    const struct vt_contract c = {
        .dtype = VT_I32, .n_terms = 1, .n_summed = 1, .summed = {3}, .summed_step = {{4}}};
    vt_contract_run(&c, terms, &y, NULL);
    assert_int_equal(y, INT32_MIN + 2);
}

static void test_determinant(void **state)
{
    const double known[3][3] = {{0, 2, 3}, {4, 5, 6}, {7, 8, 10}}; /* needs a pivot */
    const float singular[2][2] = {{1, 2}, {2, 4}};
    double workspace[36], y = 0, hilbert[6][6];
    float z = 1;
    (void)state;
    vt_determinant_run(VT_F64, 1, 3, known, &y, workspace);
    assert_true(fabs(y - (-2.0 * (40 - 42) + 3.0 * (32 - 35))) < 1e-12);
    vt_determinant_run(VT_F32, 1, 2, singular, &z, workspace);
    assert_true(z == 0.0f);
    for (int i = 0; i < 36; i++)
        hilbert[i / 6][i % 6] = 1.0 / (i / 6 + i % 6 + 1);
    vt_determinant_run(VT_F64, 1, 6, hilbert, &y, workspace);
    assert_true(fabs(y / 5.3672998868168e-18 - 1) < 1e-6);
}

static void check_fourier(int64_t n, int64_t length)
{
    double x[2][20][2], y[2][24][2], back[2][24][2], table[48];
    for (int64_t i = 0; i < 2 * n; i++) {
        x[0][i][0] = sin((double)i * 1.7);
        x[0][i][1] = cos((double)i * 0.3);
    }
    const struct vt_fourier f = {.dtype = VT_F64,
                                 .outer = 1,
                                 .n = n,
                                 .inner = 2,
                                 .parts = 2,
                                 .length = length,
                                 .bins = length};
    vt_fourier_run(&f, x, y, table);
    for (int64_t k = 0; k < length; k++) {
        for (int64_t i = 0; i < 2; i++) {
            double real = 0, imaginary = 0;
            for (int64_t t = 0; t < n && t < length; t++) {
                const double *at = x[0][t * 2 + i];
                const double angle = -2 * 3.14159265358979323846 * (double)(k * t) / (double)length;
                real += at[0] * cos(angle) - at[1] * sin(angle);
                imaginary += at[0] * sin(angle) + at[1] * cos(angle);
            }
            assert_true(fabs(y[0][k * 2 + i][0] - real) < 1e-10);
            assert_true(fabs(y[0][k * 2 + i][1] - imaginary) < 1e-10);
        }
    }
    const struct vt_fourier inverse = {.dtype = VT_F64,
                                       .outer = 1,
                                       .n = length,
                                       .inner = 2,
                                       .parts = 2,
                                       .length = length,
                                       .bins = length,
                                       .inverse = true};
    vt_fourier_run(&inverse, y, back, table);
    for (int64_t i = 0; i < 2 * (n < length ? n : length); i++)
        assert_true(fabs(back[0][i][0] - x[0][i][0]) < 1e-10);
}

static void test_fourier(void **state)
{
    (void)state;
    check_fourier(8, 8);
    check_fourier(7, 7);
    check_fourier(5, 12); /* filled with zeros */
    check_fourier(10, 6); /* cut */
    check_fourier(1, 1);
}

static void test_unique(void **state)
{
    const float x[7] = {2.0f, NAN, -1.0f, 2.0f, NAN, -1.0f, 0.5f};
    const int64_t sorted_first[4] = {2, 6, 0, 1}, sorted_which[7] = {2, 3, 0, 2, 3, 0, 1};
    const int64_t found_first[4] = {0, 1, 2, 6}, found_which[7] = {0, 1, 2, 0, 1, 2, 3};
    int64_t first[7], which[7], counts[7], workspace[14];
    (void)state;
    struct vt_unique u = {.dtype = VT_F32, .outer = 1, .n = 7, .inner = 1, .sorted = true};
    assert_int_equal(vt_unique_run(&u, x, first, which, counts, workspace), 4);
    assert_memory_equal(first, sorted_first, sizeof(sorted_first));
    assert_memory_equal(which, sorted_which, sizeof(sorted_which));
    assert_true(counts[0] == 2 && counts[1] == 1 && counts[2] == 2 && counts[3] == 2);
    u.sorted = false;
    assert_int_equal(vt_unique_run(&u, x, first, which, counts, workspace), 4);
    assert_memory_equal(first, found_first, sizeof(found_first));
    assert_memory_equal(which, found_which, sizeof(found_which));
    u.n = 0;
    assert_int_equal(vt_unique_run(&u, x, first, which, counts, workspace), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contract),    cmocka_unit_test(test_trace),
        cmocka_unit_test(test_determinant), cmocka_unit_test(test_fourier),
        cmocka_unit_test(test_unique),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
