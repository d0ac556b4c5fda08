/* SPDX-License-Identifier: Apache-2.0 */
/* `vatio audit` as a user sees it, on engines that are honest and that cheat. */
#include "vt_test.h"

#include <stdbool.h>
#include <unistd.h>

#include "vatio.h"

/* An honest engine passes unless the machine was disturbed: it has so many chances. */
#define CHANCES 8

static json_t *audit_of(json_t *root, const char *scenario, const char *test)
{
    size_t i;
    json_t *audit;
    json_array_foreach(json_object_get(root, "audits"), i, audit)
    {
        if (strcmp(json_string_value(json_object_get(audit, "scenario")), scenario) == 0 &&
            strcmp(json_string_value(json_object_get(audit, "test")), test) == 0) {
            return audit;
        }
    }
    fail_msg("no audit %s of %s", test, scenario);
    return NULL;
}

static bool has(json_t *object, const char *key, const char *text)
{
    return strcmp(json_string_value(json_object_get(object, key)), text) == 0;
}

/* The whole of a file of the work folder; the caller frees it. */
static char *text_of(const char *name)
{
    FILE *file = fopen(work_path(name), "rb");
    if (file == NULL) {
        fail_msg("%s is missing", name);
    }
    char *text = calloc(1, 65536);
    assert_non_null(text);
    assert_true(fread(text, 1, 65535, file) > 0);
    (void)fclose(file);
    return text;
}

static void assert_line(const char *name, const char *line)
{
    char *text = text_of(name);
    char *at = strstr(text, line);
    if (at == NULL || (at != text && at[-1] != '\n') || at[strlen(line)] != '\n') {
        fail_msg("%s has no line '%s':\n%s", name, line, text);
    }
    free(text);
}

/* 20 ms a sample: what disturbs a run by some ms is no tenth. */
#define FAULT(...)                                                                                 \
    vatio("audit", "digits", "--workload", "tensor", "--engine", VT_TEST_FAULT, "--engine-option", \
          "delay-us=20000", "--batch", "1", "--sample-count", "16", "--duration", "300ms", "-s",   \
          "singlestream", "--json", __VA_ARGS__, NULL)

static void an_honest_engine_passes(void **state)
{
    (void)state;
    int code = -1;
    for (int chance = 0; chance < CHANCES && code != 0; chance++) {
        struct outcome outcome = FAULT("-o", "honest");
        json_t *root = run_json(&outcome);
        json_t *first = audit_of(root, "singlestream", "TEST01");
        /* Answers do not depend on the machine's mood. */
        json_t *accuracy = json_object_get(first, "accuracy");
        assert_true(has(accuracy, "verdict", "pass"));
        assert_true(json_integer_value(json_object_get(accuracy, "matched")) > 0);
        assert_int_equal(json_integer_value(json_object_get(accuracy, "mismatches")), 0);
        assert_int_equal(json_integer_value(json_object_get(accuracy, "reference_entries")), 16);
        json_t *performance = json_object_get(first, "performance");
        assert_true(json_number_value(json_object_get(performance, "tolerance_percent")) == 10);
        assert_true(json_number_value(json_object_get(performance, "reference")) > 19e6);
        code = outcome.code;
        json_decref(root);
        outcome_free(&outcome);
    }
    assert_int_equal(code, 0);
    assert_line("honest/singlestream/TEST01/verify_accuracy.txt", "TEST PASS");
    assert_line("honest/singlestream/TEST01/verify_performance.txt", "TEST PASS");
    assert_line("honest/singlestream/TEST04/verify_performance.txt", "TEST PASS");
    static const char *const files[] = {
        "honest/singlestream/TEST01/performance/run_1/mlperf_log_summary.txt",
        "honest/singlestream/TEST01/performance/run_1/mlperf_log_detail.txt",
        "honest/singlestream/TEST01/accuracy/mlperf_log_accuracy.json",
        "honest/singlestream/TEST04/performance/run_1/mlperf_log_summary.txt",
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        free(text_of(files[i]));
    }
    /* The log of the run says how it differs. */
    char *detail = text_of("honest/singlestream/TEST04/performance/run_1/mlperf_log_detail.txt");
    assert_non_null(strstr(detail, "performance_issue_same"));
    free(detail);
    assert_int_not_equal(
        access(work_path("honest/singlestream/TEST04/performance/run_1/mlperf_log_accuracy.json"),
               F_OK),
        0);
}

static void a_cache_fails_test04(void **state)
{
    (void)state;
    struct outcome outcome =
        FAULT("--engine-option", "cache=yes", "--test", "test04", "-o", "cache");
    json_t *root = run_json(&outcome);
    json_t *audit = audit_of(root, "singlestream", "TEST04");

    assert_int_equal(outcome.code, 1);
    assert_true(json_is_false(json_object_get(root, "valid")));
    assert_true(has(audit, "verdict", "fail"));
    json_t *performance = json_object_get(audit, "performance");
    assert_true(json_number_value(json_object_get(performance, "test")) >
                2 * json_number_value(json_object_get(performance, "reference")));
    /* The reference itself is valid: it is the test that fails. */
    assert_true(
        json_is_true(json_object_get(result_of(root, "singlestream", "performance"), "valid")));
    assert_line("cache/singlestream/TEST04/verify_performance.txt", "TEST FAIL");
    json_decref(root);
    outcome_free(&outcome);
}

static void other_answers_in_performance_mode_fail_test01(void **state)
{
    (void)state;
    /* The log of the accuracy run is there when the performance run begins. */
    struct outcome outcome =
        FAULT("--engine-option", "wrong-if=wrong/singlestream/accuracy/mlperf_log_accuracy.json",
              "--test", "TEST01", "-o", "wrong");
    json_t *root = run_json(&outcome);
    json_t *audit = audit_of(root, "singlestream", "TEST01");
    json_t *accuracy = json_object_get(audit, "accuracy");

    assert_int_equal(outcome.code, 1);
    assert_true(has(audit, "verdict", "fail"));
    assert_true(has(accuracy, "verdict", "fail"));
    json_t *matched = json_object_get(accuracy, "matched");
    assert_true(json_integer_value(matched) > 0);
    assert_int_equal(json_integer_value(json_object_get(accuracy, "mismatches")),
                     json_integer_value(matched));
    /* They differ behind the first byte: the official script would not notice. */
    assert_int_equal(json_integer_value(json_object_get(accuracy, "first_byte_mismatches")), 0);
    assert_line("wrong/singlestream/TEST01/verify_accuracy.txt", "TEST FAIL");
    json_decref(root);
    outcome_free(&outcome);
}

static void quality_decides_where_answers_differ(void **state)
{
    (void)state;
    /* Always class 0, and always class 1 in performance mode: both are right once in ten. */
    struct outcome outcome =
        vatio("audit", "digits", "--engine", VT_TEST_FAULT, "--engine-option",
              "wrong-if=quality/offline/accuracy/mlperf_log_accuracy.json", "--duration", "100ms",
              "-s", "offline", "--test", "TEST01", "--json", "-o", "quality", NULL);
    json_t *root = run_json(&outcome);
    json_t *accuracy = json_object_get(audit_of(root, "offline", "TEST01"), "accuracy");

    assert_int_equal(outcome.code, 1);
    assert_true(json_is_true(json_object_get(accuracy, "by_quality")));
    double before = json_number_value(json_object_get(accuracy, "reference_quality"));
    double after = json_number_value(json_object_get(accuracy, "quality"));
    assert_true(before >= 0 && before < 30 && after >= 0 && after < 30);
    assert_true(json_integer_value(json_object_get(accuracy, "first_byte_mismatches")) > 0);
    free(text_of("quality/offline/TEST01/accuracy/baseline_accuracy.txt"));
    free(text_of("quality/offline/TEST01/accuracy/compliance_accuracy.txt"));
    assert_line("quality/offline/TEST01/verify_accuracy.txt", "TEST FAIL");
    json_decref(root);
    outcome_free(&outcome);
}

static void a_table_shows_numbers_and_limits(void **state)
{
    (void)state;
    bool limits = false;
    for (int chance = 0; chance < CHANCES && !limits; chance++) {
        struct outcome outcome =
            vatio("audit", "digits", "--engine", VT_TEST_FAULT, "--engine-option", "delay-us=1000",
                  "--duration", "100ms", "-s", "offline", "--test", "all", NULL);
        /* The null engine's answers are wrong: quality fails, whatever the tests say. */
        assert_int_equal(outcome.code, 1);
        assert_non_null(strstr(outcome.out, "TEST01   Offline        responses     pass"));
        assert_non_null(strstr(outcome.out, "TEST04   Offline        performance"));
        assert_non_null(strstr(outcome.out, "TEST06   Offline        -             n/a"));
        assert_non_null(strstr(outcome.out, "it compares tokens"));
        /* A disturbed run may be too short to be valid; then there are no numbers. */
        limits = strstr(outcome.out, "(allowed: \xc2\xb1"
                                     "10 %)") != NULL;
        outcome_free(&outcome);
    }
    assert_true(limits);
}

static void nothing_that_applies_is_no_pass(void **state)
{
    (void)state;
    struct outcome outcome =
        vatio("audit", "digits", "--workload", "tensor", "--engine", "null", "--duration", "50ms",
              "-s", "offline", "--sample-count", "2", "--test", "TEST04,TEST06", "--json", NULL);
    json_t *root = run_json(&outcome);

    assert_int_equal(outcome.code, 1);
    json_t *audit = audit_of(root, "offline", "TEST04");
    assert_true(has(audit, "verdict", "not applicable"));
    assert_non_null(strstr(json_string_value(json_object_get(audit, "text")), "only 2"));
    assert_true(has(audit_of(root, "offline", "TEST06"), "verdict", "not applicable"));
    json_decref(root);
    outcome_free(&outcome);
}

static void a_config_of_the_users_replaces_the_built_in_one(void **state)
{
    (void)state;
    static const char config[] = "*.*.mode = 2\n*.*.accuracy_log_sampling_target = 5\n";
    write_work_file("audit.config", config, sizeof config - 1);
    struct outcome outcome =
        vatio("audit", "digits", "--engine", "null", "--duration", "100ms", "-s", "offline",
              "--test", "TEST01", "--audit-conf", "audit.config", "--json", "-o", "config", NULL);
    json_t *root = run_json(&outcome);
    json_t *accuracy = json_object_get(audit_of(root, "offline", "TEST01"), "accuracy");

    /* A share of what is expected: about five. */
    assert_in_range(json_integer_value(json_object_get(accuracy, "entries")), 0, 30);
    json_decref(root);
    outcome_free(&outcome);
}

static void wrong_words_are_named(void **state)
{
    (void)state;
    assert_one_error(vatio("audit", "digits", "--test", "TEST05", NULL), 2, "--test TEST05");
    assert_one_error(vatio("audit", NULL), 2, "audit: a model is needed");
    assert_one_error(vatio("run", "digits", "--test", "TEST01", NULL), 2, "vatio audit");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_honest_engine_passes),
        cmocka_unit_test(a_cache_fails_test04),
        cmocka_unit_test(other_answers_in_performance_mode_fail_test01),
        cmocka_unit_test(quality_decides_where_answers_differ),
        cmocka_unit_test(a_table_shows_numbers_and_limits),
        cmocka_unit_test(nothing_that_applies_is_no_pass),
        cmocka_unit_test(a_config_of_the_users_replaces_the_built_in_one),
        cmocka_unit_test(wrong_words_are_named),
    };
    return cmocka_run_group_tests(tests, make_work_folder, remove_work_folder);
}
