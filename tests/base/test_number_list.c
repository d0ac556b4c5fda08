/* SPDX-License-Identifier: Apache-2.0 */
#include "base/number_list.h"

#include "vt_test.h"

static const struct vt_number_limits whole = {1, 65536, true, 64};
static const struct vt_number_limits any = {0, 1e6, false, 64};

static void assert_list(const char *text, const struct vt_number_limits *limits, size_t n,
                        const double *wanted)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_number_list list = {0};

    if (vt_number_list_parse(text, limits, &err, &list) != VT_OK) {
        print_message("%s: %s\n", text, err.text);
    }
    assert_int_equal(list.count, n);
    for (size_t i = 0; i < n; i++) {
        assert_true(list.items[i] == wanted[i]);
    }
    vt_number_list_release(&list);
}

#define ASSERT_LIST(text, limits, ...)                                                             \
    do {                                                                                           \
        const double wanted[] = {__VA_ARGS__};                                                     \
        assert_list(text, limits, sizeof wanted / sizeof wanted[0], wanted);                       \
    } while (0)

static void assert_refused(const char *text, const struct vt_number_limits *limits, const char *why)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_number_list list = {0};

    assert_int_equal(vt_number_list_parse(text, limits, &err, &list), VT_ERR_USAGE);
    if (strstr(err.text, why) == NULL) {
        print_message("%s: %s (wanted: %s)\n", text, err.text, why);
    }
    assert_non_null(strstr(err.text, why));
    assert_null(list.items);
}

static void test_values_ascend_and_stand_once(void **state)
{
    (void)state;
    ASSERT_LIST("7", &whole, 7);
    ASSERT_LIST("1,2,4", &whole, 1, 2, 4);
    ASSERT_LIST("4,1,4,2,1", &whole, 1, 2, 4);
    ASSERT_LIST("0.5,12.25", &any, 0.5, 12.25);
    ASSERT_LIST("1..8,4..16", &whole, 1, 2, 4, 8, 16);
}

static void test_ranges_double(void **state)
{
    (void)state;
    ASSERT_LIST("1..256", &whole, 1, 2, 4, 8, 16, 32, 64, 128, 256);
    ASSERT_LIST("3..24", &whole, 3, 6, 12, 24);
    ASSERT_LIST("200..700", &whole, 200, 400, 700); /* both ends belong to it */
    ASSERT_LIST("5..5", &whole, 5);
}

static void test_ranges_step(void **state)
{
    (void)state;
    ASSERT_LIST("200..700:100", &whole, 200, 300, 400, 500, 600, 700);
    ASSERT_LIST("200..700:150", &whole, 200, 350, 500, 650, 700);
    ASSERT_LIST("0..0.3:0.1", &any, 0, 0.1, 0.2, 0.3);
    ASSERT_LIST("2..3:50", &whole, 2, 3);
}

static void test_ranges_go_on(void **state)
{
    (void)state;
    ASSERT_LIST("200,300..700", &whole, 200, 300, 400, 500, 600, 700);
    ASSERT_LIST("1,2,4..64", &whole, 1, 2, 4, 8, 16, 32, 64);
    ASSERT_LIST("1,2..16", &whole, 1, 2, 4, 8, 16);
    /* Twice the value before, but doubling does not arrive: steps do. */
    ASSERT_LIST("100,200..700", &whole, 100, 200, 300, 400, 500, 600, 700);
    ASSERT_LIST("1,2,3..6", &whole, 1, 2, 3, 4, 5, 6);
    /* Behind a range there is no value to go on from. */
    ASSERT_LIST("1..4,8..32", &whole, 1, 2, 4, 8, 16, 32);
    ASSERT_LIST("1,3..9:3", &whole, 1, 3, 6, 9);
}

static void test_what_is_refused(void **state)
{
    (void)state;
    assert_refused("", &whole, "a number is missing");
    assert_refused("1,,2", &whole, "a number is missing");
    assert_refused("1,", &whole, "a number is missing");
    assert_refused("..4", &whole, "a number is missing");
    assert_refused("1..", &whole, "a number is missing");
    assert_refused("1...4", &whole, "not a whole number");
    assert_refused("x", &whole, "'x' is not a finite decimal number");
    assert_refused("1.5", &whole, "not a whole number");
    assert_refused("0", &whole, "allowed 1..65536");
    assert_refused("1..100000", &whole, "allowed 1..65536");
    assert_refused("8..2", &whole, "goes down");
    assert_refused("4,2..8", &whole, "begins below");
    assert_refused("1..9:0", &whole, "a step of 0");
    assert_refused("1..9:-1", &whole, "a step of -1");
    assert_refused("1..9:0.5", &whole, "a step of 0.5");
    assert_refused("1..9:", &whole, "not a finite decimal number");
    assert_refused("0..8", &any, "begins above 0");
    assert_refused("1..1000:1", &whole, "more than 64 values");
    assert_refused("0..1:0.0000000000001", &any, "more than 64 values");
    assert_refused("11111111111111111111111111111111111111111111111111111111111111111111", &any,
                   "no number is so long");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_ascend_and_stand_once),
        cmocka_unit_test(test_ranges_double),
        cmocka_unit_test(test_ranges_step),
        cmocka_unit_test(test_ranges_go_on),
        cmocka_unit_test(test_what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
