/* SPDX-License-Identifier: Apache-2.0 */
#include "vt_test.h"

#include "base/quote.h"
#include "vatio/status.h"

static void names_texts_and_exit_codes_come_from_the_list(void **state)
{
    (void)state;
    assert_string_equal(vt_status_name(VT_OK), "VT_OK");
    assert_string_equal(vt_status_name(VT_ERR_WRITE), "VT_ERR_WRITE");
    assert_string_equal(vt_status_name((enum vt_status) - 999), "VT_ERR_?");
    /* The exit codes that the manual documents. */
    assert_int_equal(vt_status_exit_code(VT_OK), 0);
    assert_int_equal(vt_status_exit_code(VT_ERR_MISMATCH), 1);
    assert_int_equal(vt_status_exit_code(VT_ERR_USAGE), 2);
    assert_int_equal(vt_status_exit_code(VT_ERR_FORMAT), 3);
    assert_int_equal(vt_status_exit_code(VT_ERR_ENGINE), 4);
    assert_int_equal(vt_status_exit_code(VT_ERR_WRITE), 5);
    assert_int_equal(vt_status_exit_code(VT_ERR_INTERRUPTED), 130);
}

static void failures_are_negative(void **state)
{
    (void)state;
#define CHECK(name, value, exit_code, text)                                                        \
    assert_true(VT_##name == VT_OK ? (value) == 0 : (value) < 0);
    VT_STATUS_MAP(CHECK)
#undef CHECK
}

static void the_first_error_wins(void **state)
{
    (void)state;
    struct vt_error err = VT_ERROR_INIT;
    assert_int_equal(vt_error_set(&err, VT_ERR_READ, "first %d", 1), VT_ERR_READ);
    assert_int_equal(vt_error_set(&err, VT_ERR_WRITE, "second"), VT_ERR_WRITE);
    assert_int_equal(err.status, VT_ERR_READ);
    assert_string_equal(err.text, "first 1");
    assert_int_equal(vt_error_set(NULL, VT_ERR_USAGE, "nobody listens"), VT_ERR_USAGE);
}

static void a_prefix_says_where(void **state)
{
    (void)state;
    struct vt_error err = VT_ERROR_INIT;
    vt_error_prefix(&err, "nothing yet");
    assert_string_equal(err.text, "");
    vt_error_set(&err, VT_ERR_FORMAT, "bad number");
    vt_error_prefix(&err, "file %s:%d", "a.ini", 3);
    assert_string_equal(err.text, "file a.ini:3: bad number");
}

/* Names come from files: they may hold anything. */
static void an_error_is_one_line_of_utf8(void **state)
{
    (void)state;
    char half[VT_ERROR_TEXT_MAX + 8];
    struct vt_error err = VT_ERROR_INIT;
    vt_error_set(&err, VT_ERR_FORMAT, "node %s", "a\r\n\x1b[31m\x7f\xc2\x9b\xff\xc0\x80 \xc3\xa9");
    assert_string_equal(err.text, "node a???[31m????? \xc3\xa9");
    vt_error_prefix(&err, "%s", "b\nc");
    assert_string_equal(err.text, "b?c: node a???[31m????? \xc3\xa9");
    /* A character that the end cuts through. */
    memset(half, 'x', VT_ERROR_TEXT_MAX - 2);
    memcpy(half + VT_ERROR_TEXT_MAX - 2, "\xc3\xa9", 3);
    err = (struct vt_error)VT_ERROR_INIT;
    vt_error_set(&err, VT_ERR_FORMAT, "%s", half);
    assert_int_equal(strlen(err.text), VT_ERROR_TEXT_MAX - 1);
    assert_int_equal(err.text[VT_ERROR_TEXT_MAX - 2], '?');
    assert_string_equal(vt_quote("\xff\xc2\x9b\xe2\x82\xac\n").text, "\"??\xe2\x82\xac?\"");
    memcpy(half + 72, "\xe2\x82\xac rest", 9);
    const struct vt_quoted cut = vt_quote(half);
    assert_string_equal(cut.text + strlen(cut.text) - 5, "x...\"");
}

static void a_long_text_is_cut_and_terminated(void **state)
{
    (void)state;
    char longer[2 * VT_ERROR_TEXT_MAX];
    struct vt_error err = VT_ERROR_INIT;
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    vt_error_set(&err, VT_ERR_READ, "%s", longer);
    assert_int_equal(strlen(err.text), VT_ERROR_TEXT_MAX - 1);
    vt_error_prefix(&err, "where");
    assert_int_equal(strlen(err.text), VT_ERROR_TEXT_MAX - 1);
    assert_memory_equal(err.text, "where: x", 8);
    vt_error_prefix(&err, "%s", longer);
    assert_true(strlen(err.text) < VT_ERROR_TEXT_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_texts_and_exit_codes_come_from_the_list),
        cmocka_unit_test(failures_are_negative),
        cmocka_unit_test(the_first_error_wins),
        cmocka_unit_test(a_prefix_says_where),
        cmocka_unit_test(an_error_is_one_line_of_utf8),
        cmocka_unit_test(a_long_text_is_cut_and_terminated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
