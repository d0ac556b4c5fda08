/* SPDX-License-Identifier: Apache-2.0 */
/* `vatio profile` as a user sees it: sums that fit together, never speed. */
#include "vt_test.h"

#include <math.h>
#include <stdbool.h>
#include <unistd.h>

#include "vatio.h"

static double number_of(json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

static void layers_add_up(void **state)
{
    (void)state;
    struct outcome outcome =
        vatio("profile", "digits", "-d", "100ms", "--json", "-o", "profile", NULL);
    json_t *root = run_json(&outcome);
    assert_int_equal(outcome.code, 0);
    json_t *profile = json_object_get(root, "profile");
    json_t *peak = json_object_get(profile, "peak");
    assert_true(number_of(peak, "flops_per_second") > 1e8);
    assert_true(number_of(peak, "bytes_per_second") > 1e7);
    double flops = 0, time = 0, last = INFINITY;
    size_t i;
    json_t *layer;
    json_array_foreach(json_object_get(profile, "layers"), i, layer)
    {
        double ns = number_of(layer, "time_ns");
        assert_true(ns <= last); /* the dearest first */
        last = ns;
        time += ns;
        flops += number_of(layer, "flops");
        assert_true(json_string_length(json_object_get(layer, "node")) > 0);
        const char *bound = json_string_value(json_object_get(layer, "bound"));
        assert_true(strcmp(bound, "compute") == 0 || strcmp(bound, "memory") == 0);
    }
    assert_true(i > 3 && time > 0);
    double operators = 0;
    json_array_foreach(json_object_get(profile, "operators"), i, layer)
    {
        operators += number_of(layer, "flops");
    }
    assert_true(fabs(operators - flops) <= 1e-9 * flops);
    json_decref(root);
    outcome_free(&outcome);
    assert_int_equal(access(work_path("profile/result.json"), R_OK), 0);
}

static void a_table_shows_the_top(void **state)
{
    (void)state;
    struct outcome outcome = vatio("profile", VATIO_DIGITS_ONNX, "-d", "20ms", "-b", "4", "--top",
                                   "2", "-o", "table", NULL);
    assert_int_equal(outcome.code, 0);
    assert_non_null(strstr(outcome.out, "of batch 4"));
    assert_non_null(strstr(outcome.out, "multiply-adds"));
    assert_non_null(strstr(outcome.out, "more layers (--top N)"));
    outcome_free(&outcome);
}

static void wrong_use_is_refused(void **state)
{
    (void)state;
    assert_one_error(vatio("profile", NULL), 2, "one model");
    assert_one_error(vatio("profile", "digits", "--top", "0", NULL), 2, "--top");
    assert_one_error(vatio("profile", "none.onnx", NULL), 3, "none.onnx");
    assert_one_error(vatio("profile", "digits", "-o", "/proc/x", NULL), 5, "/proc/x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_add_up),
        cmocka_unit_test(a_table_shows_the_top),
        cmocka_unit_test(wrong_use_is_refused),
    };
    return cmocka_run_group_tests(tests, make_work_folder, remove_work_folder);
}
