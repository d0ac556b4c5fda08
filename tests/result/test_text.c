/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "result/result.h"
#include "result/text.h"
#include "vt_test.h"

static void test_number(void **state)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0, "0"},
        {-0.0, "0"},
        {1, "1"},
        {97.5, "97.5"},
        {97.4999, "97.5"},
        {100, "100"},
        {0.0071, "0.0071"},
        {0.00071234, "0.000712"},
        {212412.7, "212,400"},
        {61300, "61,300"},
        {999.4, "999"},
        {999.96, "1,000"},
        {1234, "1,234"},
        {12345678, "12,350,000"},
        {-12346, "-12,350"},
        {-0.5, "-0.5"},
        {9.9995, "10"},
        {1e12, "1,000,000,000,000"},
        {1.23456e18, "1.235e18"},
        {2e-7, "2e-7"},
        {-1e300, "-1e300"},
        {(double)NAN, "\xe2\x80\x93"},
        {(double)INFINITY, "\xe2\x80\x93"},
        {-(double)INFINITY, "\xe2\x80\x93"},
    };
    char text[64];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_string_equal(vt_number_text(cases[i].value, text, sizeof text), cases[i].text);
    }
    /* A short buffer is filled, not overrun. */
    memset(text, 'x', sizeof text);
    vt_number_text(12345678, text, 5);
    assert_true(strlen(text) < 5);
    assert_int_equal(text[5], 'x');
}

/* Whatever the value, the text read back is within half a unit of the third digit. */
static void test_number_reads_back(void **state)
{
    uint64_t seed = 1;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        double value =
            ldexp((double)(seed >> 11) / 9007199254740992.0 + 0.5, (int)(seed % 80) - 20);
        char text[64], plain[64];
        size_t n = 0;
        vt_number_text(value, text, sizeof text);
        for (const char *c = text; *c != '\0'; c++) {
            if (*c != ',') {
                plain[n++] = *c;
            }
        }
        plain[n] = '\0';
        assert_true(fabs(strtod(plain, NULL) / value - 1) <= 0.005001);
    }
}

static void test_duration(void **state)
{
    static const struct {
        int64_t ns;
        const char *text;
    } cases[] = {
        {0, "0 ns"},
        {1, "1 ns"},
        {999, "999 ns"},
        {1000, "1 \xc2\xb5s"},
        {7100, "7.1 \xc2\xb5s"},
        {999400, "999 \xc2\xb5s"},
        {999600, "1 ms"},
        {30000000, "30 ms"},
        {12300000000, "12.3 s"},
        {600000000000, "600 s"},
        {3600000000000, "3,600 s"},
        {-7100, "-7.1 \xc2\xb5s"},
    };
    char text[64];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_string_equal(vt_duration_text(cases[i].ns, text, sizeof text), cases[i].text);
    }
    vt_duration_text(INT64_MIN, text, sizeof text);
    assert_int_equal(text[0], '-');
}

static void test_clean(void **state)
{
    char text[64];

    (void)state;
    assert_int_equal(vt_text_width("\xe2\x80\x93 \xc2\xb5s"), 4);
    assert_string_equal(vt_text_clean("a\xff"
                                      "b",
                                      0, text, sizeof text),
                        "a\xef\xbf\xbd"
                        "b");
    /* cut in the middle of a code point, an overlong form, a surrogate */
    assert_string_equal(vt_text_clean("\xe2\x80", 0, text, sizeof text),
                        "\xef\xbf\xbd\xef\xbf\xbd");
    assert_string_equal(vt_text_clean("\xc0\xaf", 0, text, sizeof text),
                        "\xef\xbf\xbd\xef\xbf\xbd");
    assert_string_equal(vt_text_clean("\xed\xa0\x80", 0, text, 7), "\xef\xbf\xbd\xef\xbf\xbd");
    assert_string_equal(vt_text_clean("\x1b[31m\n", 1, text, sizeof text), "?[31m?");
    assert_string_equal(vt_text_clean("\x1b[31m", 0, text, sizeof text), "\x1b[31m");
    assert_string_equal(vt_text_clean("\xc2\xb5s", 0, text, 2), "");
}

static void check_wrapped(const char *text, int at, int indent, int columns)
{
    char *printed = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&printed, &size);

    vt_text_print_wrapped(stream, text, at, indent, columns);
    assert_int_equal(fclose(stream), 0);
    assert_int_equal(printed[size - 1], '\n');
    int column = at;
    for (char *line = strtok(printed, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        assert_true(column + vt_text_width(line) <= columns);
        column = 0;
    }
    free(printed);
}

/* A word that no line can hold is cut, but loses and gains nothing. */
static void test_long_word(void **state)
{
    char word[900], text[2000] = "";
    char *printed = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&printed, &size);

    (void)state;
    for (size_t i = 0; i < sizeof word - 1; i++) {
        word[i] = (char)('a' + i % 26);
    }
    word[sizeof word - 1] = '\0';
    vt_text_print_wrapped(stream, word, 4, 4, 50);
    assert_int_equal(fclose(stream), 0);
    for (const char *c = printed; *c != '\0'; c++) {
        if (*c >= 'a') {
            text[strlen(text)] = *c;
        }
    }
    assert_string_equal(text, word);
    for (const char *c = printed; *c != '\0'; c++) { /* blanks only where a line begins */
        if (*c == ' ') {
            assert_true(c == printed || c[-1] == ' ' || c[-1] == '\n');
        }
    }
    free(printed);
}

static void test_wrapped(void **state)
{
    char longest[4000];

    (void)state;
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    for (int columns = 40; columns <= 100; columns++) {
        check_wrapped("needs 662 queries, got 3: give the run more time with --max-duration", 15,
                      15, columns);
        check_wrapped(longest, 15, 15, columns);
        check_wrapped("\xc2\xb5\xc2\xb5\xc2\xb5 \xff\xff\xff  \x1b[0m", 2, 2, columns);
        check_wrapped("", 2, 2, columns);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_number),   cmocka_unit_test(test_number_reads_back),
        cmocka_unit_test(test_duration), cmocka_unit_test(test_clean),
        cmocka_unit_test(test_wrapped),  cmocka_unit_test(test_long_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
