/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>

#include "base/utf8.h"
#include "vt_test.h"

/* The definition turned round: what encoding each code point gives, and nothing else. */
static size_t encode(uint32_t c, char *text)
{
    if (c < 0x80) {
        text[0] = (char)c;
        return 1;
    }
    size_t bytes = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = bytes; i-- > 1; c >>= 6) {
        text[i] = (char)(0x80 | (c & 0x3f));
    }
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    text[0] = (char)(lead[bytes] | c);
    return bytes;
}

static void test_every_code_point(void **state)
{
    (void)state;
    for (uint32_t c = 0; c < 0x120000; c++) {
        char text[8] = {0};
        size_t bytes = encode(c, text);
        bool good = c <= 0x10ffff && !(c >= 0xd800 && c <= 0xdfff);
        assert_int_equal(vt_utf8_bytes(text), good ? bytes : 0);
        if (good && bytes > 1) { /* cut short */
            text[bytes - 1] = '\0';
            assert_int_equal(vt_utf8_bytes(text), 0);
        }
    }
}

/* Of the 2^24 three-byte texts those with a three-byte code point are as many as there are. */
static void test_count(void **state)
{
    uint32_t n[5] = {0};

    (void)state;
    for (uint32_t i = 0; i < 1u << 24; i++) {
        const char text[5] = {(char)(i >> 16), (char)(i >> 8), (char)i, 0, 0};
        n[vt_utf8_bytes(text)]++;
    }
    assert_int_equal(n[1], 0x80u << 16);
    assert_int_equal(n[2], (0x800u - 0x80u) << 8);
    assert_int_equal(n[3], 0x10000u - 0x800u - 0x800u);
    assert_int_equal(n[4], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_code_point),
        cmocka_unit_test(test_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
