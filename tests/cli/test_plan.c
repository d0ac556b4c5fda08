/* SPDX-License-Identifier: Apache-2.0 */
/* `vatio plan` as a user sees it: a file in the model's place, which is refused when it is wrong.
 */
#include "vt_test.h"

#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vatio.h"

/* Tests have a cache of their own: none of the user's answers, nothing left in his. */
static int make_place(void **state)
{
    const int made = make_work_folder(state);
    return made != 0 ? made : setenv("VATIO_TUNING", work_path("tuning.txt"), 1);
}

static void write_plan(const char *model, const char *plan)
{
    struct outcome outcome = vatio("plan", model, "-o", plan, NULL);
    if (outcome.code != 0) {
        fail_msg("%s", outcome.err);
    }
    assert_non_null(strstr(outcome.out, plan));
    assert_string_equal(outcome.err, "");
    outcome_free(&outcome);
}

/* What the result says of the engine; freed by the caller. */
static char *engine_of(const char *model, const char *option)
{
    struct outcome outcome =
        vatio("run", model, "--scenario", "singlestream", "--mode", "performance", "-d", "20ms",
              "--json", "--engine-option", option, NULL);
    json_t *root = run_json(&outcome);
    json_t *engine = json_object_get(root, "engine");
    char *text = strdup(json_string_value(json_object_get(engine, "description")));
    assert_non_null(text);
    json_decref(root);
    outcome_free(&outcome);
    return text;
}

static void a_plan_stands_for_its_model(void **state)
{
    (void)state;
    write_plan("digits", "digits.plan");
    write_plan(VATIO_DIGITS_ONNX, "file.plan");
    static const char *const plans[] = {"digits.plan", "file.plan"};
    for (int i = 0; i < 2; i++) {
        char *engine = engine_of(plans[i], "tune=cached");
        assert_non_null(strstr(engine, "weights mapped"));
        free(engine);
    }
    char *engine = engine_of("digits", "tune=off");
    assert_null(strstr(engine, "mapped"));
    free(engine);
    /* A plan named as an option, and one beside other verbs. */
    engine = engine_of("digits", "plan=digits.plan");
    assert_non_null(strstr(engine, "weights mapped"));
    free(engine);
    struct outcome outcome = vatio("inspect", "file.plan", NULL);
    assert_int_equal(outcome.code, 0);
    assert_non_null(strstr(outcome.out, "14,378"));
    outcome_free(&outcome);
    outcome = vatio("profile", "file.plan", "-d", "20ms", "-o", "profile", NULL);
    assert_int_equal(outcome.code, 0);
    assert_non_null(strstr(outcome.out, "digits.onnx"));
    outcome_free(&outcome);
    /* Other engines run the model that it is of. */
    outcome = vatio("run", "file.plan", "--engine", "null", "--scenario", "singlestream", "--mode",
                    "performance", "-d", "20ms", "-o", "null", NULL);
    assert_int_equal(outcome.code, 0);
    outcome_free(&outcome);
    /* A plan of a plan is a plan of its model. */
    write_plan("file.plan", "again.plan");
    outcome = vatio("inspect", "again.plan", NULL);
    assert_int_equal(outcome.code, 0);
    outcome_free(&outcome);
}

static void a_plan_elsewhere(void **state)
{
    (void)state;
    write_plan("digits", "digits.plan");
    setenv("VATIO_CPU", "portable", 1);
    char *engine = engine_of("digits.plan", "tune=cached");
    unsetenv("VATIO_CPU");
    /* On a machine where portable code is all there is, the weights fit. */
    assert_true(strstr(engine, "packed anew") != NULL || strstr(engine, "mapped") != NULL);
    assert_true(strstr(engine, "portable") != NULL);
    free(engine);
}

static void copy_to_work(const char *from, const char *name, size_t size)
{
    FILE *file = fopen(from, "rb");
    assert_non_null(file);
    char *bytes = malloc((size_t)1 << 20);
    assert_non_null(bytes);
    const size_t n = fread(bytes, 1, (size_t)1 << 20, file);
    fclose(file);
    write_work_file(name, bytes, size < n ? size : n);
    free(bytes);
}

static void wrong_plans_are_refused(void **state)
{
    (void)state;
    copy_to_work(VATIO_DIGITS_ONNX, "model.onnx", SIZE_MAX);
    write_plan("model.onnx", "model.plan");
    copy_to_work(work_path("model.plan"), "cut.plan", 5000);
    assert_one_error(vatio("run", "cut.plan", NULL), 3, "cut.plan: a damaged plan");
    copy_to_work(VATIO_DIGITS_ONNX, "model.onnx", SIZE_MAX); /* as it was: the content counts */
    char *engine = engine_of("model.plan", "tune=off");
    assert_non_null(strstr(engine, "mapped"));
    free(engine);
    FILE *file = fopen(work_path("model.onnx"), "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, 40000, SEEK_SET), 0);
    const int byte = fgetc(file);
    assert_int_equal(fseek(file, 40000, SEEK_SET), 0);
    assert_int_equal(fputc(byte ^ 1, file), byte ^ 1);
    assert_int_equal(fclose(file), 0);
    assert_one_error(vatio("run", "model.plan", NULL), 3, "changed since it was planned");
    assert_int_equal(unlink(work_path("model.onnx")), 0);
    assert_one_error(vatio("run", "model.plan", NULL), 3, "model.plan: the planned model");
    assert_one_error(vatio("run", "digits", "--engine-option", "plan=none.plan", NULL), 3,
                     "none.plan");
    assert_one_error(vatio("run", "digits", "--engine-option", "tune=fast", NULL), 2, "tune");
}

/* Moved together, they find each other. */
static void plan_and_model_move(void **state)
{
    (void)state;
    assert_int_equal(mkdir(work_path("before"), 0777), 0);
    copy_to_work(VATIO_DIGITS_ONNX, "before/model.onnx", SIZE_MAX);
    write_plan("before/model.onnx", "before/model.plan");
    char from[128];
    snprintf(from, sizeof(from), "%s", work_path("before"));
    assert_int_equal(rename(from, work_path("after")), 0);
    char *engine = engine_of("after/model.plan", "tune=off");
    assert_non_null(strstr(engine, "mapped"));
    free(engine);
}

static void wrong_use_is_refused(void **state)
{
    (void)state;
    assert_one_error(vatio("plan", NULL), 2, "one model");
    assert_one_error(vatio("plan", "digits", NULL), 2, "-o model.plan");
    assert_one_error(vatio("plan", "digits", "-o", "x", "--batch", "0", NULL), 2, "--batch");
    assert_one_error(vatio("plan", "digits", "-o", "x", "--tune", "fast", NULL), 2, "--tune");
    assert_one_error(vatio("plan", "none.onnx", "-o", "x", NULL), 3, "none.onnx");
    assert_one_error(vatio("plan", "digits", "-o", "/proc/x", NULL), 5, "/proc/x");
    assert_one_error(vatio_on_full_disk(10000, "plan", "digits", "-o", "full.plan", NULL), 5,
                     "full.plan");
    assert_int_not_equal(access(work_path("full.plan"), F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_stands_for_its_model), cmocka_unit_test(a_plan_elsewhere),
        cmocka_unit_test(wrong_plans_are_refused),     cmocka_unit_test(plan_and_model_move),
        cmocka_unit_test(wrong_use_is_refused),
    };
    return cmocka_run_group_tests(tests, make_place, remove_work_folder);
}
