/* SPDX-License-Identifier: Apache-2.0 */
/* `vatio compare` as a user sees it: structure, agreement and exit code, never speed. */
#include "vt_test.h"

#include <stdbool.h>
#include <unistd.h>

#include "vatio.h"

static json_t *engine_at(json_t *root, size_t i)
{
    json_t *comparison = json_object_get(root, "comparison");
    json_t *engine = json_array_get(json_object_get(comparison, "engines"), i);
    assert_non_null(engine);
    return engine;
}

static double number_at(json_t *object, const char *first, const char *second)
{
    json_t *value = json_object_get(json_object_get(object, first), second);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

static void an_engine_against_itself(void **state)
{
    (void)state;
    struct outcome outcome = vatio("compare", "digits", "-e", "native", "-e", "native", "-p", "9",
                                   "-d", "5ms", "--json", "-o", "self", NULL);
    json_t *root = run_json(&outcome);
    assert_int_equal(outcome.code, 0);
    assert_string_equal(json_string_value(json_object_get(root, "kind")), "comparison");
    assert_true(json_is_true(json_object_get(root, "outputs_agree")));
    for (size_t i = 0; i < 2; i++) {
        json_t *engine = engine_at(root, i);
        assert_true(number_at(engine, "offline", "median") > 0);
        assert_true(number_at(engine, "singlestream", "median_p50") > 0);
        json_t *offline = json_object_get(engine, "offline");
        assert_int_equal(json_array_size(json_object_get(offline, "rounds")), 9);
    }
    assert_int_equal(json_integer_value(json_object_get(engine_at(root, 0), "batch_max")),
                     json_integer_value(json_object_get(engine_at(root, 1), "batch_max")));
    json_t *speed = json_object_get(json_object_get(engine_at(root, 1), "offline"), "speed");
    double low = json_number_value(json_object_get(speed, "low"));
    double ratio = json_number_value(json_object_get(speed, "ratio"));
    assert_true(low > 0 && low <= ratio);
    json_t *output = json_array_get(json_object_get(engine_at(root, 1), "outputs"), 0);
    assert_true(json_number_value(json_object_get(output, "max_absolute_error")) == 0);
    assert_int_equal(json_integer_value(json_object_get(output, "elements")), 160);
    json_decref(root);
    outcome_free(&outcome);
    assert_int_equal(access(work_path("self/result.json"), R_OK), 0);
}

/* The null engine answers at once, and wrongly. */
static void wrong_outputs_are_told(void **state)
{
    (void)state;
    struct outcome outcome = vatio("compare", "digits", "-e", "native", "-e", "null", "-p", "9",
                                   "-d", "5ms", "-s", "singlestream", "-o", "null", NULL);
    assert_int_equal(outcome.code, 1);
    assert_non_null(strstr(outcome.out, "null DIFFERS from native in output"));
    assert_non_null(strstr(outcome.out, "SingleStream"));
    assert_null(strstr(outcome.out, "Offline"));
    outcome_free(&outcome);
}

static void wrong_use_is_refused(void **state)
{
    (void)state;
    assert_one_error(vatio("compare", "digits", "-e", "native", NULL), 2, "two to 8 engines");
    assert_one_error(vatio("compare", "-e", "native", "-e", "null", NULL), 2, "one model");
    assert_one_error(vatio("compare", "digits", "-e", "native", "-e", "nativ", NULL), 2,
                     "did you mean 'native'");
    assert_one_error(vatio("compare", "digits", "-e", "native", "-e", "native:a", NULL), 2,
                     "no engine 'native:a'");
    assert_one_error(vatio("compare", "digits", "-e", "native", "-e", "null", "-p", "-1", NULL), 2,
                     "--pairs");
    assert_one_error(vatio("compare", "digits", "-e", "native", "-e", "null", "-s", "server", NULL),
                     2, "offline and singlestream");
    assert_one_error(vatio("compare", "none.onnx", "-e", "native", "-e", "null", NULL), 3,
                     "none.onnx");
    assert_one_error(
        vatio("compare", "digits", "-e", "native", "-e", "null", "-o", "/proc/x", NULL), 5,
        "/proc/x");
}

/* Nothing is measured but loading. */
static void outputs_alone(void **state)
{
    (void)state;
    struct outcome outcome = vatio("compare", "digits", "-e", "native", "-e", "native:spin-us=0",
                                   "-p", "0", "-o", "outputs", NULL);
    assert_int_equal(outcome.code, 0);
    assert_non_null(strstr(outcome.out, "agrees with native"));
    assert_non_null(strstr(outcome.out, "first request"));
    assert_null(strstr(outcome.out, "SingleStream"));
    outcome_free(&outcome);
    outcome = vatio("compare", "digits", "-e", "native", "-e", "native", "-p", "0", "--json", "-o",
                    "json", NULL);
    json_t *root = run_json(&outcome);
    json_t *offline = json_object_get(engine_at(root, 1), "offline");
    assert_true(json_is_null(json_object_get(offline, "median")));
    assert_int_equal(json_array_size(json_object_get(offline, "rounds")), 0);
    assert_true(json_integer_value(json_object_get(engine_at(root, 1), "open_ns")) > 0);
    assert_true(json_integer_value(json_object_get(engine_at(root, 1), "first_request_ns")) > 0);
    json_decref(root);
    outcome_free(&outcome);
}

static void an_interrupt_keeps_what_was_measured(void **state)
{
    (void)state;
    struct outcome outcome =
        vatio_interrupted(3000, "compare", "digits", "-e", "native", "-e", "native", "-p", "1000",
                          "-d", "5ms", "--json", "-o", "cut", NULL);
    assert_int_equal(outcome.code, 130);
    json_t *root = run_json(&outcome);
    assert_true(json_is_true(json_object_get(root, "partial")));
    json_decref(root);
    outcome_free(&outcome);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_engine_against_itself),
        cmocka_unit_test(wrong_outputs_are_told),
        cmocka_unit_test(wrong_use_is_refused),
        cmocka_unit_test(outputs_alone),
        cmocka_unit_test(an_interrupt_keeps_what_was_measured),
    };
    return cmocka_run_group_tests(tests, make_work_folder, remove_work_folder);
}
