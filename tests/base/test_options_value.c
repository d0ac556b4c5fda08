/* SPDX-License-Identifier: Apache-2.0 */
#include "vt_test.h"

#include "base/options.h"

static void test_numbers(void **state)
{
    (void)state;
    int64_t whole = 0;
    double real = 0;
    assert_int_equal(vt_parse_int("-9223372036854775808", &whole, NULL), VT_OK);
    assert_true(whole == INT64_MIN);
    assert_int_equal(vt_parse_int("+0012", &whole, NULL), VT_OK);
    assert_int_equal(whole, 12);
    const char *const no_integers[] = {"", "-", "+-1", "0x1", "1e3", "1_000", "1 ", "\xc2\xb2"};
    for (size_t i = 0; i < sizeof no_integers / sizeof no_integers[0]; i++) {
        assert_int_equal(vt_parse_int(no_integers[i], &whole, NULL), VT_ERR_USAGE);
        assert_int_equal(whole, 12); /* written only on success */
    }
    assert_int_equal(vt_parse_real("-.5e-3", &real, NULL), VT_OK);
    assert_true(real == -0.0005);
    assert_int_equal(vt_parse_real("3.", &real, NULL), VT_OK);
    assert_true(real == 3.0);
    const char *const no_reals[] = {"",    ".",    "e5",  "1e",  "1e+",
                                    "inf", "-INF", "nan", "1,5", "1..2"};
    for (size_t i = 0; i < sizeof no_reals / sizeof no_reals[0]; i++) {
        assert_int_equal(vt_parse_real(no_reals[i], &real, NULL), VT_ERR_USAGE);
    }
}

static void test_durations_and_sizes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t expected; /* -1: refused */
    } durations[] = {
        {"500ms", 500000000},
        {"10s", 10000000000},
        {"2m", 120000000000},
        {"1h", 3600000000000},
        {"1d", 86400000000000},
        {"10us", 10000},
        {"10\xc2\xb5s", 10000},
        {"10\xce\xbcs", 10000},
        {"5ns", 5},
        {"3", 3000000000},
        {"0.1ms", 100000},
        {"1.5", 1500000000},
        {"0.0000015ms", 2},
        {"0", 0},
        {"0.0ns", 0},
        {"9223372036854775807ns", INT64_MAX},
        {"9223372036.854775807s", INT64_MAX},
        {"9223372036.854775808s", -1},
        {"9223372036854775808ns", -1},
        {"106752d", -1},
        {"0.0000000001s", -1},
        {"", -1},
        {"s", -1},
        {".5s", -1},
        {"5.s", -1},
        {"5sec", -1},
        {"5 s", -1},
        {"+5s", -1},
        {"1e3s", -1},
        {"5S", -1},
        {"0.0000000000000000001s", -1},
    };
    static const struct {
        const char *text;
        int64_t expected;
    } sizes[] = {
        {"4096", 4096},
        {"4096B", 4096},
        {"4KiB", 4096},
        {"4MiB", 4194304},
        {"1GiB", 1073741824},
        {"4k", 4096},
        {"4K", 4096},
        {"4MB", 4000000},
        {"4kB", 4000},
        {"1.5MiB", 1572864},
        {"2TiB", INT64_C(2199023255552)},
        {"9223372036854775807", INT64_MAX},
        {"8388608TiB", -1},
        {"9007199254740992KiB", -1},
        {"-1", -1},
        {"4kib", -1},
        {"4 KiB", -1},
        {"0.1", -1},
        {"", -1},
    };
    for (size_t i = 0; i < sizeof durations / sizeof durations[0]; i++) {
        int64_t ns = -1;
        const enum vt_status status = vt_parse_duration(durations[i].text, &ns, NULL);
        assert_int_equal(status, durations[i].expected < 0 ? VT_ERR_USAGE : VT_OK);
        assert_true(ns == durations[i].expected);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        int64_t bytes = -1;
        const enum vt_status status = vt_parse_size(sizes[i].text, &bytes, NULL);
        assert_int_equal(status, sizes[i].expected < 0 ? VT_ERR_USAGE : VT_OK);
        assert_true(bytes == sizes[i].expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_durations_and_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
