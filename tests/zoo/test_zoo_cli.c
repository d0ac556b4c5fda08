/* SPDX-License-Identifier: Apache-2.0 */
/* `vatio zoo`, and networks of the zoo by their names. */
#include <stdlib.h>

#include "vatio.h"
#include "vt_test.h"

static void assert_says(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("'%s' is not in: %s", part, text);
    }
}

static void the_zoo_is_listed(void **state)
{
    (void)state;
    static const char *const names[] = {"resnet50", "retinanet",  "unet3d",
                                        "rnnt",     "bert-large", "dlrm"};
    struct outcome outcome = vatio("zoo", NULL);

    assert_int_equal(outcome.code, 0);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_says(outcome.out, names[i]);
    }
    assert_says(outcome.out, "random");
    outcome_free(&outcome);
    outcome = vatio("zoo", "dlrm", "--parameters", "--set", "max_rows=40000000", NULL);
    assert_int_equal(outcome.code, 0);
    assert_says(outcome.out, "max_rows");
    assert_says(outcome.out, "40000000");
    outcome_free(&outcome);
}

static void networks_are_written_and_read(void **state)
{
    (void)state;
    struct outcome outcome =
        vatio("zoo", "resnet50", "--scale", "small", "-o", "r.onnx", "--seed", "5", NULL);
    assert_int_equal(outcome.code, 0);
    assert_says(outcome.out, "seed 5");
    outcome_free(&outcome);
    outcome = vatio("inspect", "r.onnx", NULL);
    assert_int_equal(outcome.code, 0);
    assert_says(outcome.out, "Nx3x64x64");
    outcome_free(&outcome);
    outcome = vatio("zoo", "rnnt", "--scale", "small", NULL);
    assert_int_equal(outcome.code, 0);
    outcome_free(&outcome);
    outcome = vatio("inspect", "rnnt/prediction.onnx", NULL);
    assert_int_equal(outcome.code, 0);
    assert_says(outcome.out, "hidden_out");
    outcome_free(&outcome);
}

static void mistakes_are_one_line(void **state)
{
    (void)state;
    assert_one_error(vatio("zoo", "resnet5", NULL), 2, "did you mean 'resnet50'");
    assert_one_error(vatio("zoo", "resnet50", "dlrm", NULL), 2, "one argument too many");
    assert_one_error(vatio("zoo", "resnet50", "--scale", "tiny", NULL), 2, "small");
    assert_one_error(vatio("zoo", "resnet50", "--set", "image=1", NULL), 2, "32..4096");
    assert_one_error(vatio("zoo", "resnet50", "-o", "/nowhere/r.onnx", NULL), 5, "/nowhere");
    assert_one_error(vatio_on_full_disk(100000, "zoo", "resnet50", "--scale", "small", NULL), 5,
                     "resnet50.onnx");
    assert_one_error(vatio("run", "digits", "--weights", "r.onnx", NULL), 2, "--weights");
    assert_one_error(vatio("run", "resnet50", "--weights", "none.onnx", NULL), 3, "none.onnx");
    assert_one_error(vatio("run", "resnet5", NULL), 3, "did you mean 'resnet50'");
}

static void a_name_is_measured_at_once(void **state)
{
    (void)state;
    struct outcome outcome =
        vatio("run", "dlrm-small", "--scenario", "offline", "-d", "50ms", "-o", "out", NULL);

    assert_int_equal(outcome.code, 0);
    assert_says(outcome.out, "dlrm-small");
    assert_says(outcome.out, "weights        random");
    assert_says(outcome.out, "unmeasured");
    outcome_free(&outcome);
    /* The same name with weights of a file says nothing of the kind. */
    outcome = vatio("run", "resnet50", "--weights", "r.onnx", "--scenario", "offline", "-d", "50ms",
                    "-o", "out2", NULL);
    assert_int_equal(outcome.code, 0);
    assert_says(outcome.out, "resnet50 (");
    assert_null(strstr(outcome.out, "random:"));
    outcome_free(&outcome);
}

static int set_up(void **state)
{
    char cache[128];
    int failed = make_work_folder(state);

    (void)snprintf(cache, sizeof cache, "%s/cache", work_folder);
    return failed != 0 ? failed : setenv("XDG_CACHE_HOME", cache, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_zoo_is_listed),
        cmocka_unit_test(networks_are_written_and_read),
        cmocka_unit_test(mistakes_are_one_line),
        cmocka_unit_test(a_name_is_measured_at_once),
    };
    return cmocka_run_group_tests(tests, set_up, remove_work_folder);
}
