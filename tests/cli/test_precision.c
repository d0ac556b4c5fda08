/* SPDX-License-Identifier: Apache-2.0 */
/* --precision as a user sees it: quality, what auto says of its choice, and what is refused. */
#include "vt_test.h"

#include <stdbool.h>
#include <stdlib.h>

#include "vatio.h"

/* AVX512-BF16 or AMX, as the program finds it. */
static bool has_bf16(void)
{
    struct outcome outcome = vatio("run", "digits", "--precision", "bf16", "-d", "20ms", "-s",
                                   "singlestream", "--mode", "performance", "-o", "probe", NULL);
    const bool has = outcome.code != 2 && strstr(outcome.err, "needs AVX512-BF16") == NULL;
    outcome_free(&outcome);
    return has;
}

static json_t *engine_of(json_t *root)
{
    return json_object_get(root, "engine");
}

static double quality_of(json_t *root)
{
    json_t *entry = result_of(root, "offline", "accuracy");
    return json_number_value(json_object_get(json_object_get(entry, "quality"), "value"));
}

/* The digits in that precision: their quality. */
static double digits(const char *precision, const char *ran)
{
    struct outcome outcome = vatio("run", "digits", "--mode", "accuracy", "-s", "offline", "--json",
                                   "--precision", precision, "-o", "r", NULL);
    assert_int_equal(outcome.code, 0);
    json_t *root = run_json(&outcome);
    assert_string_equal(json_string_value(json_object_get(engine_of(root), "precision")), ran);
    assert_true(json_is_null(json_object_get(engine_of(root), "precision_choice")));
    const double quality = quality_of(root);
    json_decref(root);
    outcome_free(&outcome);
    return quality;
}

static void digits_stay_right(void **state)
{
    (void)state;
    const double exact = digits("fp32", "fp32");
    assert_true(digits("fp16w", "fp16w") >= exact - 0.5);
    assert_true(digits("int8", "int8") >= exact - 2);
    if (has_bf16())
        assert_true(digits("bf16", "bf16") >= exact - 1);
}

/* Whatever it takes holds, and nothing that holds and was tried is much faster. */
static void check_choice(json_t *root, double loss)
{
    json_t *choice = json_object_get(engine_of(root), "precision_choice"), *candidate;
    const char *chosen = json_string_value(json_object_get(choice, "chosen"));
    double taken = 0, fastest = 1e300, exact = 0, kept = 0;
    size_t i;
    assert_non_null(chosen);
    assert_non_null(json_string_value(json_object_get(choice, "rule")));
    assert_int_equal(json_array_size(json_object_get(choice, "candidates")), 4);
    json_array_foreach(json_object_get(choice, "candidates"), i, candidate)
    {
        const char *name = json_string_value(json_object_get(candidate, "precision"));
        const double time = json_number_value(json_object_get(candidate, "time_ns"));
        const double quality = json_number_value(json_object_get(candidate, "quality"));
        if (!json_is_true(json_object_get(candidate, "tried"))) {
            assert_non_null(json_string_value(json_object_get(candidate, "why")));
            continue;
        }
        exact = i == 0 ? quality : exact;
        if (json_is_true(json_object_get(candidate, "holds")))
            fastest = time < fastest ? time : fastest;
        if (strcmp(name, chosen) == 0) {
            assert_true(json_is_true(json_object_get(candidate, "holds")));
            taken = time;
            kept = quality;
        }
    }
    assert_true(taken > 0 && taken * 0.91 <= fastest); /* three steps of 3 % at most */
    assert_true(kept >= exact * (1 - loss / 100) - 1e-9);
}

static void auto_says_why(void **state)
{
    (void)state;
    struct outcome outcome = vatio("run", "digits", "--mode", "accuracy", "-s", "offline", "--json",
                                   "--precision", "auto", "-o", "a", NULL);
    assert_int_equal(outcome.code, 0);
    json_t *root = run_json(&outcome);
    check_choice(root, 1);
    json_decref(root);
    outcome_free(&outcome);

    /* Without labels the outputs are compared; int8 has nothing to calibrate on. */
    outcome = vatio("run", VATIO_DIGITS_ONNX, "-w", "tensor", "-d", "50ms", "-s", "singlestream",
                    "--mode", "performance", "--json", "--engine-option", "precision=auto", "-o",
                    "u", NULL);
    root = run_json(&outcome);
    json_t *choice = json_object_get(engine_of(root), "precision_choice");
    assert_non_null(strstr(json_string_value(json_object_get(choice, "rule")), "without labels"));
    json_t *int8 = json_array_get(json_object_get(choice, "candidates"), 3);
    assert_true(json_is_false(json_object_get(int8, "tried")));
    json_decref(root);
    outcome_free(&outcome);
}

/* Nothing may be lost: what changes outputs at all is not taken. */
static void no_loss_is_no_loss(void **state)
{
    (void)state;
    struct outcome outcome = vatio("run", VATIO_DIGITS_ONNX, "-w", "tensor", "-d", "50ms", "-s",
                                   "singlestream", "--mode", "performance", "--json", "--precision",
                                   "auto", "--quality-loss", "0", "-o", "n", NULL);
    json_t *root = run_json(&outcome), *candidate;
    json_t *choice = json_object_get(engine_of(root), "precision_choice");
    size_t i;
    json_array_foreach(json_object_get(choice, "candidates"), i, candidate)
    {
        const double rms = json_number_value(json_object_get(candidate, "output_rms"));
        if (json_is_true(json_object_get(candidate, "holds")))
            assert_true(rms == 0);
    }
    json_decref(root);
    outcome_free(&outcome);
}

static void real_pictures_stay_right(void **state)
{
    (void)state;
    const char *data = getenv("VATIO_TEST_DATA");
    if (data == NULL)
        skip();
    static const char *const precisions[] = {"fp32", "fp16w", "int8", "auto", "bf16"};
    const size_t n = has_bf16() ? 5 : 4;
    char model[512], dataset[512];
    double exact = 0;
    snprintf(model, sizeof model, "%s/classification/resnet8_cifar10.onnx", data);
    snprintf(dataset, sizeof dataset, "%s/classification", data);
    for (size_t i = 0; i < n; i++) {
        struct outcome outcome =
            vatio("run", model, "--dataset", dataset, "--preprocess", "raw", "--mode", "accuracy",
                  "-s", "offline", "--json", "--precision", precisions[i], "-o", "p", NULL);
        json_t *root = run_json(&outcome);
        const double quality = quality_of(root);
        exact = i == 0 ? quality : exact;
        assert_true(exact > 75);
        /* int8 as docs/quantization.md has it; auto looks at a part of the pictures only. */
        assert_true(quality >= exact - 1.5);
        json_decref(root);
        outcome_free(&outcome);
    }
}

static void comparing_precisions_is_no_fault(void **state)
{
    (void)state;
    struct outcome outcome =
        vatio("compare", "digits", "-p", "0", "-e", "native", "-e", "native:precision=int8", "-e",
              "native:precision=fp32", "--json", "-o", "c", NULL);
    assert_int_equal(outcome.code, 0);
    json_t *root = run_json(&outcome);
    json_t *engines = json_object_get(json_object_get(root, "comparison"), "engines");
    json_t *int8 = json_array_get(engines, 1), *same = json_array_get(engines, 2);
    assert_true(json_is_true(json_object_get(int8, "other_precision")));
    assert_string_equal(json_string_value(json_object_get(int8, "precision")), "int8");
    const double rms = json_number_value(json_object_get(int8, "output_rms"));
    assert_true(rms > 0 && rms < 0.2);
    assert_true(json_is_false(json_object_get(same, "other_precision")));
    assert_true(json_is_true(json_object_get(root, "outputs_agree")));
    json_decref(root);
    outcome_free(&outcome);
}

/* A plan keeps the weights as the precision wants them, and a run of it takes the same. */
static void a_plan_remembers(void **state)
{
    (void)state;
    const char *precision = has_bf16() ? "bf16" : "fp16w";
    struct outcome outcome =
        vatio("plan", "digits", "--precision", precision, "--tune", "off", "-o", "p.plan", NULL);
    assert_int_equal(outcome.code, 0);
    outcome_free(&outcome);
    outcome = vatio("run", "p.plan", "--mode", "performance", "-s", "singlestream", "-d", "20ms",
                    "-t", "1", "--engine-option", "tune=off", "--json", "-o", "pp", NULL);
    json_t *root = run_json(&outcome);
    const char *text = json_string_value(json_object_get(engine_of(root), "description"));
    assert_string_equal(json_string_value(json_object_get(engine_of(root), "precision")),
                        precision);
    const char *mapped = strstr(text, " weights mapped");
    assert_non_null(mapped);
    int n = 0, of = 0;
    const char *from = strrchr(text, ',');
    assert_non_null(from);
    assert_int_equal(sscanf(from, ", %d of %d weights", &n, &of), 2);
    assert_int_equal(n, of);
    json_decref(root);
    outcome_free(&outcome);
    assert_one_error(vatio("run", "p.plan", "--precision", "int8", NULL), 2, "a plan holds");
}

static void wrong_use_is_refused(void **state)
{
    (void)state;
    assert_one_error(vatio("run", "digits", "--precision", "fp8", NULL), 2, "precision");
    assert_one_error(vatio("run", "digits", "--engine-option", "precision=fp8", NULL), 2,
                     "precision 'fp8'");
    assert_one_error(vatio("run", "digits", "-e", "null", "--precision", "bf16", NULL), 2,
                     "engine null");
    assert_one_error(vatio("run", VATIO_DIGITS_ONNX, "-w", "tensor", "--precision", "int8", NULL),
                     2, "--dataset");
    (void)setenv("VATIO_CPU", "avx2", 1);
    struct outcome outcome = vatio("run", "digits", "--precision", "bf16", NULL);
    (void)unsetenv("VATIO_CPU");
    assert_true(outcome.code != 0);
    assert_non_null(strstr(outcome.err, "needs AVX512-BF16 or AMX-BF16"));
    outcome_free(&outcome);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digits_stay_right),
        cmocka_unit_test(auto_says_why),
        cmocka_unit_test(no_loss_is_no_loss),
        cmocka_unit_test(real_pictures_stay_right),
        cmocka_unit_test(comparing_precisions_is_no_fault),
        cmocka_unit_test(a_plan_remembers),
        cmocka_unit_test(wrong_use_is_refused),
    };
    return cmocka_run_group_tests(tests, make_work_folder, remove_work_folder);
}
