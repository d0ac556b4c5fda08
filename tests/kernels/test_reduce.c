/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions of integers whose results have no place in their type, and exp of any NaN. */
#include "vt_test.h"

#include <math.h>

#include "kernels/reduce/reduce.h"
#include "kernels/vector_math.h"

static int64_t of_i64(enum vt_reduction kind, const int64_t *values, int64_t n)
{
    struct vt_reduce reduce = {.dtype = VT_I64, .kind = kind};
    int64_t result = 77;

    vt_reduce_init(&reduce, &n, 1, 1);
    vt_reduce_run(&reduce, values, &result, NULL);
    return result;
}

static uint8_t of_u8(enum vt_reduction kind, const uint8_t *values, int64_t n)
{
    struct vt_reduce reduce = {.dtype = VT_U8, .kind = kind};
    uint8_t result = 77;

    vt_reduce_init(&reduce, &n, 1, 1);
    vt_reduce_run(&reduce, values, &result, NULL);
    return result;
}

static void logarithms_of_large_sums(void **state)
{
    (void)state;
    const int64_t large[] = {100000, 100000, 99000}, below[] = {-5, -900}, top[] = {INT64_MAX, 3};
    assert_int_equal(of_i64(VT_REDUCE_LOG_SUM_EXP, large, 3), 100000); /* and 0.69 */
    assert_int_equal(of_i64(VT_REDUCE_LOG_SUM_EXP, below, 2), -5);
    assert_true(of_i64(VT_REDUCE_LOG_SUM_EXP, top, 2) == INT64_MAX);
    assert_int_equal(of_i64(VT_REDUCE_LOG_SUM_EXP, large, 0), 0);
    assert_int_equal(of_u8(VT_REDUCE_LOG_SUM_EXP, (uint8_t[]){200, 200, 200}, 3), 201);
}

static void a_root_of_squares_that_wrap(void **state)
{
    (void)state;
    const int64_t wraps[] = {INT64_C(3037000500), 0}, fits[] = {3, -4};
    assert_int_equal(of_i64(VT_REDUCE_L2, fits, 2), 5);
    assert_int_equal(of_i64(VT_REDUCE_L2, wraps, 2), 0);
}

static void exp_of_any_nan(void **state)
{
    (void)state;
    const uint32_t bits[] = {0x7fffffff, 0xffffffff, 0x7fc00000, 0x7f800001};
    for (size_t i = 0; i < sizeof bits / sizeof bits[0]; i++) {
        float x;
        memcpy(&x, &bits[i], sizeof x);
        assert_true(isnan(vt_exp(x)));
        assert_true(isnan(vt_sigmoid(x)));
    }
    assert_true(isinf(vt_exp(89.0F)) && vt_exp(-100.0F) == 0.0F);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logarithms_of_large_sums),
        cmocka_unit_test(a_root_of_squares_that_wrap),
        cmocka_unit_test(exp_of_any_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
