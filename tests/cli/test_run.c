/* SPDX-License-Identifier: Apache-2.0 */
/* `vatio run` as a user sees it: structure, accuracy and exit code, never speed. */
#include "vt_test.h"

#include <stdbool.h>
#include <unistd.h>

#include "vatio.h"

static const char *const scenarios[] = {"offline", "server", "singlestream", "multistream"};

static double number_of(json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    if (!json_is_number(value)) {
        print_message("%s is no number\n", key);
    }
    assert_true(json_is_number(value));
    return json_number_value(value);
}

/* The exit code says what the verdicts say: noise may spoil a scenario, but not silently. */
static void assert_code_agrees(const struct outcome *outcome, json_t *root)
{
    size_t i;
    json_t *entry;
    bool valid = true;

    json_array_foreach(json_object_get(root, "results"), i, entry)
    {
        bool one = json_is_true(json_object_get(entry, "valid"));
        valid = valid && one;
        assert_int_equal(json_array_size(json_object_get(entry, "reasons")) == 0, one);
    }
    assert_int_equal(outcome->code, valid ? 0 : 1);
}

/* Every layer says what it is and which kernel computed it, in the plan's order. */
static void layers_are_named(void **state)
{
    (void)state;
    struct outcome outcome = vatio("run", "digits", "-d", "100ms", "-s", "singlestream", "--mode",
                                   "performance", "--json", "-o", "layers", NULL);
    json_t *root = run_json(&outcome);
    json_t *layers = json_object_get(json_object_get(root, "engine"), "layers");
    size_t i, products = 0;
    json_t *layer;
    json_array_foreach(layers, i, layer)
    {
        const char *op = json_string_value(json_object_get(layer, "op"));
        const char *kernel = json_string_value(json_object_get(layer, "kernel"));
        assert_non_null(json_string_value(json_object_get(layer, "node")));
        assert_non_null(json_string_value(json_object_get(layer, "output_shape")));
        assert_true(json_is_boolean(json_object_get(layer, "tuned")));
        assert_non_null(op);
        products +=
            strncmp(op, "Gemm", 4) == 0 && kernel != NULL && strncmp(kernel, "gemm ", 5) == 0;
    }
    assert_true(products > 0);
    json_decref(root);
    outcome_free(&outcome);

    outcome = vatio("run", "digits", "-e", "null", "-d", "50ms", "-s", "singlestream", "--mode",
                    "performance", "--json", "-o", "nolayers", NULL);
    root = run_json(&outcome);
    assert_true(json_is_null(json_object_get(json_object_get(root, "engine"), "layers")));
    json_decref(root);
    outcome_free(&outcome);
}

/* The stages of a sample make up its latency, as far as the tool sees it. */
static void stages_add_up(void **state)
{
    static const char *const keys[] = {"queue", "batch_wait", "copy", "compute", "completion"};
    (void)state;
    struct outcome outcome =
        vatio("run", "digits", "-d", "200ms", "-s", "singlestream,offline", "--mode", "performance",
              "--stages", "on", "--json", "-o", "stages", NULL);
    json_t *root = run_json(&outcome);
    for (int i = 0; i < 2; i++) {
        json_t *entry = result_of(root, i == 0 ? "singlestream" : "offline", "performance");
        json_t *stages = json_object_get(entry, "stages_ns");
        double sum = 0, latency = number_of(json_object_get(entry, "latency_ns"), "mean");
        for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
            json_t *stage = json_object_get(stages, keys[k]);
            assert_true(number_of(stage, "p50") <= number_of(stage, "p99"));
            sum += number_of(stage, "mean");
        }
        assert_true(number_of(stages, "samples") == number_of(entry, "samples_completed"));
        assert_true(sum > 0.5 * latency && sum < 1.01 * latency);
    }
    json_decref(root);
    outcome_free(&outcome);
    outcome = vatio("run", "digits", "-d", "100ms", "-s", "singlestream", "--mode", "performance",
                    "--stages", "off", "--json", "-o", "stages", NULL);
    root = run_json(&outcome);
    json_t *entry = result_of(root, "singlestream", "performance");
    assert_true(json_is_null(json_object_get(entry, "stages_ns")));
    json_decref(root);
    outcome_free(&outcome);
}

static void digits_runs_in_all_scenarios(void **state)
{
    (void)state;
    struct outcome outcome =
        vatio("run", "digits", "--duration", "300ms", "--json", "-o", "all", NULL);
    json_t *root = run_json(&outcome);

    assert_code_agrees(&outcome, root);
    json_t *accuracy = result_of(root, "offline", "accuracy");
    assert_non_null(accuracy);
    json_t *quality = json_object_get(accuracy, "quality");
    assert_true(number_of(quality, "value") >= 96.0);
    assert_true(json_is_true(json_object_get(quality, "pass")));
    for (int i = 0; i < 4; i++) {
        json_t *entry = result_of(root, scenarios[i], "performance");
        assert_non_null(entry);
        json_t *metric = json_object_get(entry, "metric");
        assert_true(number_of(metric, "value") > 0);
        json_t *latency = json_object_get(entry, "latency_ns");
        double p50 = number_of(latency, "p50"), p90 = number_of(latency, "p90");
        double p99 = number_of(latency, "p99"), max = number_of(latency, "max");
        assert_true(number_of(latency, "min") <= p50 && p50 <= p90 && p90 <= p99 && p99 <= max);
        assert_true(number_of(entry, "queries") >= 1);
        /* Never an MLPerf result: digits is none of its benchmarks. */
        json_t *rules = json_object_get(entry, "rules");
        assert_true(json_is_false(json_object_get(rules, "met")));
        assert_true(json_array_size(json_object_get(rules, "reasons")) > 0);
    }
    /* How Server's rate was found, and how sure that is. */
    json_t *server = result_of(root, "server", "performance");
    json_t *search = json_object_get(server, "rate_search");
    assert_true(number_of(search, "trials") >= 1);
    assert_true(number_of(search, "spent_ns") > 0 && number_of(search, "budget_ns") > 0);
    assert_true(strlen(json_string_value(json_object_get(search, "text"))) > 0);
    if (json_is_true(json_object_get(server, "valid"))) {
        assert_string_equal(json_string_value(json_object_get(search, "outcome")), "confirmed");
        assert_true(number_of(search, "confirmed_qps") == number_of(server, "target_qps"));
        assert_true(number_of(search, "full_runs_valid") >= 1);
    }
    json_decref(root);
    outcome_free(&outcome);
    static const char *const files[] = {
        "all/result.json",
        "all/offline/accuracy/mlperf_log_accuracy.json",
        "all/offline/performance/run_1/mlperf_log_summary.txt",
        "all/server/performance/run_1/mlperf_log_detail.txt",
        "all/singlestream/performance/run_1/records.vtr",
        "all/multistream/performance/run_1/records.vtr",
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (access(work_path(files[i]), R_OK) != 0) {
            print_message("%s is missing\n", files[i]);
        }
        assert_int_equal(access(work_path(files[i]), R_OK), 0);
    }
}

static void records_can_be_dumped_and_agree_with_the_result(void **state)
{
    (void)state;
    struct outcome run = vatio("run", "digits", "-s", "singlestream", "--mode", "performance",
                               "--duration", "100ms", "--json", "-o", "dumped", NULL);
    json_t *root = run_json(&run);
    json_t *entry = result_of(root, "singlestream", "performance");
    struct outcome dump = vatio("dump", "dumped/singlestream/performance/run_1/records.vtr", NULL);

    assert_int_equal(dump.code, 0);
    long lines = 0;
    for (const char *at = dump.out; (at = strchr(at, '\n')) != NULL; at++) {
        lines++;
    }
    /* A header, then one line a sample. */
    assert_int_equal(lines, 1 + (long)number_of(entry, "samples"));
    json_decref(root);
    outcome_free(&run);
    outcome_free(&dump);
}

static void a_pipe_gets_plain_text(void **state)
{
    (void)state;
    struct outcome outcome = vatio("run", "digits", "-s", "offline", "--duration", "100ms", NULL);

    assert_true(outcome.code == 0 || outcome.code == 1);
    assert_null(strchr(outcome.out, '\x1b'));
    assert_null(strchr(outcome.out, '\r'));
    assert_string_equal(outcome.err, "");
    assert_memory_equal(outcome.out, "vatio ", 6);
    assert_non_null(strstr(outcome.out, "top-1"));
    assert_non_null(strstr(outcome.out, "Offline"));
    assert_non_null(strstr(outcome.out, "--official"));
    assert_non_null(strstr(outcome.out, "saved"));
    assert_null(strstr(outcome.out, "Server"));
    outcome_free(&outcome);
}

static void the_null_engine_runs_any_model(void **state)
{
    (void)state;
    struct outcome outcome =
        vatio("run", "digits", "--engine", "null", "--mode", "performance", "-s",
              "singlestream,offline", "--duration", "50ms", "--json", "-o", "null", NULL);
    json_t *root = run_json(&outcome);

    assert_code_agrees(&outcome, root);
    assert_non_null(result_of(root, "offline", "performance"));
    assert_null(result_of(root, "server", "performance"));
    json_decref(root);
    outcome_free(&outcome);
}

static void too_little_time_is_said(void **state)
{
    (void)state;
    struct outcome outcome =
        vatio("run", "digits", "-s", "singlestream", "--mode", "performance", "--duration", "50ms",
              "--max-duration", "60ms", "--min-query-count", "1000000000", "--json", NULL);
    json_t *root = run_json(&outcome);
    json_t *entry = result_of(root, "singlestream", "performance");
    const char *reason = json_string_value(json_array_get(json_object_get(entry, "reasons"), 0));

    assert_int_equal(outcome.code, 1);
    assert_non_null(reason);
    assert_non_null(strstr(reason, "needs 1000000000 queries, got"));
    json_decref(root);
    outcome_free(&outcome);
}

static void an_unreachable_latency_is_said(void **state)
{
    (void)state;
    struct outcome outcome = vatio("run", "digits", "-s", "server", "--mode", "performance",
                                   "--duration", "100ms", "--max-latency", "1us", "--json", NULL);
    json_t *root = run_json(&outcome);
    json_t *entry = result_of(root, "server", "performance");

    assert_int_equal(outcome.code, 1);
    assert_true(json_is_false(json_object_get(entry, "valid")));
    assert_true(json_array_size(json_object_get(entry, "reasons")) > 0);
    json_decref(root);
    outcome_free(&outcome);
}

static void an_interrupt_keeps_what_was_measured(void **state)
{
    (void)state;
    struct outcome outcome = vatio_interrupted(2500, "run", "digits", "-s", "singlestream",
                                               "--duration", "50s", "-o", "partial", NULL);
    json_error_t error;

    assert_int_equal(outcome.code, 130);
    json_t *root = json_load_file(work_path("partial/result.json"), 0, &error);
    assert_non_null(root);
    assert_true(json_is_true(json_object_get(root, "partial")));
    json_t *entry = result_of(root, "singlestream", "performance");
    assert_non_null(entry);
    assert_true(json_is_false(json_object_get(entry, "valid")));
    assert_true(number_of(entry, "samples") > 0);
    json_decref(root);
    outcome_free(&outcome);
}

static void a_job_file_runs_its_sections(void **state)
{
    (void)state;
    static const char job[] = "[global]\nmodel = digits\nduration = 50ms\nmode = performance\n"
                              "[fast]\nscenario = singlestream\n"
                              "[wide]\nscenario = offline\nbatch = 4\n";
    static const char bad[] = "[a]\nmodel = digits\nbatsh = 4\n";
    write_work_file("night.ini", job, sizeof job - 1);
    write_work_file("bad.ini", bad, sizeof bad - 1);

    struct outcome outcome = vatio("job", "night.ini", NULL);
    assert_true(outcome.code == 0 || outcome.code == 1);
    assert_non_null(strstr(outcome.out, "[fast]"));
    assert_non_null(strstr(outcome.out, "[wide]"));
    assert_non_null(strstr(outcome.out, "SingleStream"));
    outcome_free(&outcome);
    outcome = vatio("job", "night.ini", "wide", NULL);
    assert_null(strstr(outcome.out, "[fast]"));
    outcome_free(&outcome);
    outcome = vatio("job", "bad.ini", NULL);
    assert_non_null(strstr(outcome.err, "bad.ini:3"));
    assert_non_null(strstr(outcome.err, "batch"));
    assert_int_equal(outcome.code, 2);
    outcome_free(&outcome);
}

static void other_verbs_answer(void **state)
{
    (void)state;
    struct outcome outcome = vatio("list", NULL);
    assert_int_equal(outcome.code, 0);
    assert_non_null(strstr(outcome.out, "digits"));
    assert_non_null(strstr(outcome.out, "native"));
    assert_non_null(strstr(outcome.out, "image-classification"));
    assert_non_null(strstr(outcome.out, "not available"));
    outcome_free(&outcome);
    outcome = vatio("inspect", "digits", NULL);
    assert_int_equal(outcome.code, 0);
    assert_non_null(strstr(outcome.out, "Conv"));
    assert_non_null(strstr(outcome.out, "parameters"));
    assert_null(strstr(outcome.out, "fuse-activation"));
    outcome_free(&outcome);
    outcome = vatio("inspect", "digits", "--passes", NULL);
    assert_int_equal(outcome.code, 0);
    assert_non_null(strstr(outcome.out, "fuse-activation"));
    assert_non_null(strstr(outcome.out, "that run"));
    outcome_free(&outcome);
    outcome = vatio("--version", NULL);
    assert_int_equal(outcome.code, 0);
    assert_memory_equal(outcome.out, "vatio ", 6);
    outcome_free(&outcome);
    outcome = vatio("--build-info", NULL);
    assert_int_equal(outcome.code, 0);
    outcome_free(&outcome);
    outcome = vatio("run", "--help", NULL);
    assert_int_equal(outcome.code, 0);
    assert_non_null(strstr(outcome.out, "--max-latency"));
    outcome_free(&outcome);
    outcome = vatio("manual", NULL);
    assert_int_equal(outcome.code, 0);
    assert_non_null(strstr(outcome.out, ".TH"));
    outcome_free(&outcome);
    outcome = vatio("completion", NULL);
    assert_int_equal(outcome.code, 0);
    assert_non_null(strstr(outcome.out, "complete "));
    outcome_free(&outcome);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_are_named),
        cmocka_unit_test(stages_add_up),
        cmocka_unit_test(digits_runs_in_all_scenarios),
        cmocka_unit_test(records_can_be_dumped_and_agree_with_the_result),
        cmocka_unit_test(a_pipe_gets_plain_text),
        cmocka_unit_test(the_null_engine_runs_any_model),
        cmocka_unit_test(too_little_time_is_said),
        cmocka_unit_test(an_unreachable_latency_is_said),
        cmocka_unit_test(an_interrupt_keeps_what_was_measured),
        cmocka_unit_test(a_job_file_runs_its_sections),
        cmocka_unit_test(other_verbs_answer),
    };
    return cmocka_run_group_tests(tests, make_work_folder, remove_work_folder);
}
