/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel_test.h"
#include "kernels/convert/convert.h"

/* The value of a half by its definition. */
static double half_value(uint16_t half)
{
    const int exponent = half >> 10 & 31, fraction = half & 1023;
    const double sign = half & 0x8000 ? -1 : 1;
    if (exponent == 31)
        return fraction != 0 ? (double)NAN : sign * (double)INFINITY;
    if (exponent == 0)
        return sign * ldexp(fraction, -24);
    return sign * ldexp(1024 + fraction, exponent - 25);
}

static void test_every_half(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits < 65536; bits++) {
        const uint16_t half = (uint16_t)bits;
        const double want = half_value(half);
        const float got = vt_half_to_float(half);
        if (isnan(want)) {
            assert_true(isnan(got));
            assert_true(isnan(half_value(vt_float_to_half(got))));
            continue;
        }
        assert_true((double)got == want && !signbit(got) == !signbit(want));
        assert_int_equal(vt_float_to_half(got), half);
    }
}

/* Between two neighbours the nearer one is taken; in the middle the even one. */
static void test_half_rounds_to_even(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits < 0x7bff; bits++) {
        const double low = half_value((uint16_t)bits), high = half_value((uint16_t)(bits + 1));
        const float middle = (float)((low + high) / 2);
        assert_int_equal(vt_float_to_half(middle), bits % 2 == 0 ? bits : bits + 1);
        assert_int_equal(vt_float_to_half(nextafterf(middle, 0.0f)), bits);
        assert_int_equal(vt_float_to_half(nextafterf(middle, INFINITY)), bits + 1);
    }
    assert_int_equal(vt_float_to_half(65519.99f), 0x7bff);
    assert_int_equal(vt_float_to_half(65520.0f), 0x7c00);
}

static void test_saturation(void **state)
{
    const float x[6] = {1e30f, -1e30f, NAN, -1.9f, 255.9f, INFINITY};
    const uint8_t want_u8[6] = {255, 0, 0, 0, 255, 255};
    const int64_t want_i64[6] = {INT64_MAX, INT64_MIN, 0, -1, 255, INT64_MAX};
    uint8_t got_u8[6];
    int64_t got_i64[6];
    uint8_t got_bool[6];
    (void)state;
    vt_convert(VT_F32, x, VT_U8, got_u8, 6);
    vt_convert(VT_F32, x, VT_I64, got_i64, 6);
    vt_convert(VT_F32, x, VT_BOOL, got_bool, 6);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(got_u8[i], want_u8[i]);
        assert_true(got_i64[i] == want_i64[i]);
        assert_int_equal(got_bool[i], 1);
    }
}

/* Small integers survive a trip through every pair of types. */
static void test_pairs(void **state)
{
    static const enum vt_dtype types[] = {VT_F32, VT_F64, VT_F16, VT_BF16, VT_U8,  VT_I8,
                                          VT_U16, VT_I16, VT_U32, VT_I32,  VT_U64, VT_I64};
    const size_t n = sizeof(types) / sizeof(types[0]);
    (void)state;
    for (size_t a = 0; a < n; a++) {
        for (size_t b = 0; b < n; b++) {
            const int64_t in[5] = {0, 1, 2, 100, 127};
            int64_t out[5];
            uint64_t one[5], two[5];
            vt_convert(VT_I64, in, types[a], one, 5);
            vt_convert(types[a], one, types[b], two, 5);
            vt_convert(types[b], two, VT_I64, out, 5);
            assert_memory_equal(in, out, sizeof(in));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_half),
        cmocka_unit_test(test_half_rounds_to_even),
        cmocka_unit_test(test_saturation),
        cmocka_unit_test(test_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
