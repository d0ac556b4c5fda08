/* SPDX-License-Identifier: Apache-2.0 */
/* Label lists: what is read, and that every bad line is named. */
#include "workload/labels.h"

#include "fixture.h"
#include "vt_torture.h"

static struct vt_error error_of(const char *text, size_t size)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_label_list list;
    if (vt_label_map_parse("map.txt", text, size, &err, &list) == VT_OK) {
        vt_label_list_release(&list);
    }
    return err;
}

static void test_map(void **state)
{
    (void)state;
    const char *text = "\xef\xbb\xbf# images\r\n\r\n a/b.jpg 0\r\nwith blank.png\t999\n"
                       "last.jpg 2147483647";
    struct vt_label_list list;
    assert_int_equal(vt_label_map_parse("m", text, strlen(text), NULL, &list), VT_OK);
    assert_int_equal(list.n, 3);
    assert_string_equal(list.entries[0].text, "a/b.jpg");
    assert_int_equal(list.entries[0].label, 0);
    assert_int_equal(list.entries[0].line, 3);
    assert_string_equal(list.entries[1].text, "with blank.png");
    assert_int_equal(list.entries[1].label, 999);
    assert_string_equal(list.entries[2].text, "last.jpg");
    assert_int_equal(list.entries[2].label, 2147483647);
    vt_label_list_release(&list);
    vt_label_list_release(&list);
}

static void test_bad_lines(void **state)
{
    (void)state;
    static const struct {
        const char *text, *where, *why;
    } bad[] = {
        {"", "map.txt", "without a line"},
        {"# only a remark\n\n", "map.txt", "without a line"},
        {"a.jpg 1\nb.jpg\n", "map.txt:2", "path label"},
        {"a.jpg 1\n\nb.jpg x\n", "map.txt:3", "label 'x'"},
        {"a.jpg -1\n", "map.txt:1", "label '-1'"},
        {"a.jpg 1.0\n", "map.txt:1", "label '1.0'"},
        {"a.jpg 2147483648\n", "map.txt:1", "2147483647"},
        {"a.jpg 99999999999999999999999\n", "map.txt:1", "2147483647"},
        {"7\n", "map.txt:1", "path label"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct vt_error err = error_of(bad[i].text, strlen(bad[i].text));
        assert_error(&err, VT_ERR_FORMAT, bad[i].where, bad[i].why);
    }
    struct vt_error err = error_of("a.jpg 1\nb\0c.jpg 2\n", 18);
    assert_error(&err, VT_ERR_FORMAT, "map.txt:2", "NUL");
    char longest[5000];
    memset(longest, 'x', sizeof longest);
    memcpy(longest + sizeof longest - 3, " 1\n", 3);
    err = error_of(longest, sizeof longest);
    assert_error(&err, VT_ERR_FORMAT, "map.txt:1", "4096");
}

static void test_names(void **state)
{
    (void)state;
    const char *text = "airplane\nn01440764 tench, Tinca tinca\n\ncat\n";
    struct vt_label_list list;
    assert_int_equal(vt_label_names_parse("n", text, strlen(text), NULL, &list), VT_OK);
    assert_int_equal(list.n, 3);
    assert_string_equal(list.entries[1].text, "n01440764 tench, Tinca tinca");
    assert_string_equal(list.entries[2].text, "cat");
    assert_int_equal(list.entries[2].label, 2);
    vt_label_list_release(&list);
}

static void test_is_map(void **state)
{
    (void)state;
    assert_true(vt_label_text_is_map("\n# x\na.jpg 1\n", 13));
    assert_false(vt_label_text_is_map("airplane\n", 9));
    assert_false(vt_label_text_is_map("tench, Tinca\n", 13));
    assert_false(vt_label_text_is_map("12\n", 3));
    assert_false(vt_label_text_is_map(NULL, 0));
}

static void test_out_of_memory(void **state)
{
    (void)state;
    const char *text = "a.jpg 1\nb.jpg 2\n";
    bool done = false;
    for (int allowed = 0; !done; allowed++) {
        struct vt_torture torture;
        struct vt_label_list list;
        struct vt_error err = VT_ERROR_INIT;
        vt_torture_begin(&torture, allowed);
        done = vt_label_map_parse("m", text, strlen(text), &err, &list) == VT_OK;
        if (done) {
            vt_label_list_release(&list);
        }
        assert_int_equal(vt_torture_end(&torture), 0);
        assert_int_equal(err.status, done ? VT_OK : VT_ERR_MEMORY);
        assert_true(allowed < 100);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_map),           cmocka_unit_test(test_bad_lines),
        cmocka_unit_test(test_names),         cmocka_unit_test(test_is_map),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
