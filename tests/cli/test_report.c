/* SPDX-License-Identifier: Apache-2.0 */
/* `vatio report` as a user sees it, of what the program itself has measured. */
#include "vt_test.h"

#include <unistd.h>

#include "vatio.h"

static int measure(void **state)
{
    if (make_work_folder(state) != 0) {
        return -1;
    }
    struct outcome run = vatio("run", "digits", "-d", "50ms", "-q", "200", "-o", "runs/one", NULL);
    struct outcome profile = vatio("profile", "digits", "-d", "20ms", "-o", "runs/two", NULL);
    const int code = run.code == 0 || run.code == 1 ? profile.code : -1;
    outcome_free(&run);
    outcome_free(&profile);
    return code;
}

static void every_format_is_made(void **state)
{
    static const char *const files[] = {"page.html", "page.md", "page.csv"};

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct outcome outcome = vatio("report", "runs", "-o", files[i], NULL);
        assert_int_equal(outcome.code, 0);
        assert_non_null(strstr(outcome.out, files[i]));
        assert_non_null(strstr(outcome.out, "2 results"));
        assert_string_equal(outcome.err, "");
        outcome_free(&outcome);
        assert_int_equal(access(work_path(files[i]), R_OK), 0);
    }
    struct outcome outcome = vatio("report", "runs/one", "runs/two", NULL);
    assert_int_equal(outcome.code, 0);
    assert_int_equal(access(work_path("report.html"), R_OK), 0);
    outcome_free(&outcome);
    outcome = vatio("report", "runs/one/", "-o", "-", "--format", "md", NULL);
    assert_int_equal(outcome.code, 0);
    assert_non_null(strstr(outcome.out, "vatio run digits --duration 50ms --target-qps 200"));
    assert_non_null(strstr(outcome.out, "| Server |"));
    outcome_free(&outcome);
    outcome = vatio("report", "runs/one", "-o", "-", NULL);
    assert_one_error(outcome, 2, "--format");
}

static void wrong_use_is_refused(void **state)
{
    (void)state;
    assert_one_error(vatio("report", NULL), 2, "folder");
    assert_one_error(vatio("report", "runs", "-o", "page.pdf", NULL), 2, "page.pdf");
    assert_one_error(vatio("report", "runs", "--format", "pdf", NULL), 2, "pdf");
    assert_one_error(vatio("report", "none", NULL), 3, "none");
    assert_one_error(vatio("report", "runs/one/offline", NULL), 3, "runs/one/offline");
    assert_one_error(vatio("report", "runs", "-o", "none/page.html", NULL), 5, "none/page.html");
    assert_one_error(vatio_to("/dev/full", "report", "runs", "-o", "-", "--format", "md", NULL), 5,
                     "written");
    assert_one_error(vatio_on_full_disk(8192, "report", "runs", "-o", "full.html", NULL), 5,
                     "full.html");
    assert_int_equal(access(work_path("full.html"), F_OK), -1);
    write_work_file("runs/one/offline/performance/run_1/records.vtr", "VTREC", 5);
    assert_one_error(vatio("report", "runs", "-o", "page2.html", NULL), 3, "records.vtr");
    assert_int_equal(access(work_path("page2.html"), F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_format_is_made),
        cmocka_unit_test(wrong_use_is_refused),
    };
    return cmocka_run_group_tests(tests, measure, remove_work_folder);
}
