/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "fixture.h"
#include "result/profile.h"

struct values {
    bool json;
    int64_t duration;
    int64_t cache;
    int64_t lanes;
    double qps;
    const char *output;
    int scenario;
    struct vt_text_list inputs;
};

static const char *const scenarios[] = {"offline", "server", "all", NULL};

static const struct vt_option options_list[] = {
    {.name = "json", .type = VT_OPTION_FLAG, .offset = offsetof(struct values, json)},
    {.name = "max-duration",
     .type = VT_OPTION_DURATION,
     .offset = offsetof(struct values, duration)},
    {.name = "cache", .type = VT_OPTION_SIZE, .offset = offsetof(struct values, cache)},
    {.name = "lanes", .type = VT_OPTION_INT, .offset = offsetof(struct values, lanes)},
    {.name = "target-qps", .type = VT_OPTION_REAL, .offset = offsetof(struct values, qps)},
    {.name = "output", .type = VT_OPTION_TEXT, .offset = offsetof(struct values, output)},
    {.name = "scenario",
     .type = VT_OPTION_CHOICE,
     .offset = offsetof(struct values, scenario),
     .choices = scenarios},
    {.name = "input", .type = VT_OPTION_LIST, .offset = offsetof(struct values, inputs)},
};
#define N_OPTIONS (sizeof options_list / sizeof options_list[0])

static const struct vt_option_table table = {options_list, N_OPTIONS, sizeof(struct values)};

static json_t *parsed(const struct vt_result *result)
{
    struct vt_error err = VT_ERROR_INIT;
    json_error_t where;
    char *text = NULL;

    assert_int_equal(vt_result_json(result, &err, &text), VT_OK);
    assert_int_equal(text[strlen(text) - 1], '\n');
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &where);
    assert_non_null(root);
    vt_free(text);
    return root;
}

/* "a.b.2.c" from here. */
static json_t *at(json_t *json, const char *path)
{
    char part[64];
    while (*path != '\0') {
        size_t n = strcspn(path, ".");
        snprintf(part, sizeof part, "%.*s", (int)n, path);
        json = json_is_array(json) ? json_array_get(json, strtoul(part, NULL, 10))
                                   : json_object_get(json, part);
        if (json == NULL) {
            fail_msg("no field %s", part);
        }
        path += n + (path[n] == '.');
    }
    return json;
}

#define TEXT(path) json_string_value(at(root, path))
#define INT(path)  json_integer_value(at(root, path))
#define REAL(path) json_number_value(at(root, path))

/* What is only there when it is known: layers, and a choice of precision. */
static void test_engine(void **state)
{
    struct fixture f;
    struct vt_profile_layer *layers = vt_calloc(2, sizeof *layers);
    char text[640];

    (void)state;
    fixture_init(&f);
    json_t *root = parsed(&f.result);
    assert_true(json_is_null(at(root, "engine.layers")));
    assert_true(json_is_null(at(root, "engine.precision_choice")));
    json_decref(root);

    layers[0] = (struct vt_profile_layer){
        .node = "conv1", .op = "Conv+Relu", .kernel = "rows bf16", .tuned = true, .shape = "1x8"};
    layers[1] = (struct vt_profile_layer){.node = "n", .op = "Softmax", .shape = "1x2"};
    f.result.layers = layers;
    f.result.n_layers = 2;
    f.result.precision_choice =
        (struct vt_precision_choice){.made = true,
                                     .chosen = "bf16",
                                     .rule = "rule",
                                     .why = "why",
                                     .metric = "top-1",
                                     .unit = "%",
                                     .loss_allowed_percent = 1,
                                     .samples = 7,
                                     .candidates = {{.precision = "fp32",
                                                     .tried = true,
                                                     .time_ns = 2000,
                                                     .has_quality = true,
                                                     .quality = 97.5,
                                                     .has_rms = true,
                                                     .holds = true},
                                                    {.precision = "int8", .why = "no data"}},
                                     .n_candidates = 2};
    root = parsed(&f.result);
    assert_string_equal(TEXT("engine.layers.0.node"), "conv1");
    assert_string_equal(TEXT("engine.layers.0.kernel"), "rows bf16");
    assert_true(json_is_true(at(root, "engine.layers.0.tuned")));
    assert_string_equal(TEXT("engine.layers.0.output_shape"), "1x8");
    assert_true(json_is_null(at(root, "engine.layers.1.kernel")));
    assert_string_equal(TEXT("engine.precision_choice.chosen"), "bf16");
    assert_int_equal(INT("engine.precision_choice.samples"), 7);
    assert_float_equal(REAL("engine.precision_choice.candidates.0.quality"), 97.5, 0);
    assert_true(json_is_null(at(root, "engine.precision_choice.candidates.1.time_ns")));
    assert_string_equal(TEXT("engine.precision_choice.candidates.1.why"), "no data");
    vt_precision_choice_text(&f.result.precision_choice, text, sizeof text);
    assert_non_null(strstr(text, "bf16, why: fp32 2"));
    assert_non_null(strstr(text, "top-1 97.5 %; int8 not tried (no data)"));
    /* What does not fit is cut, not written. */
    for (size_t size = 1; size < 60; size++) {
        memset(text, 'x', sizeof text);
        vt_precision_choice_text(&f.result.precision_choice, text, size);
        assert_true(strlen(text) < size);
        assert_int_equal(text[size], 'x');
    }
    json_decref(root);
    vt_free(layers);
}

static void test_fields(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    json_t *root = parsed(&f.result);
    assert_int_equal(INT("schema_version"), 1);
    assert_string_equal(TEXT("tool.name"), "vatio");
    assert_true(strlen(TEXT("tool.version")) >= 5);
    assert_true(strlen(TEXT("tool.build")) > 0);
    assert_true(INT("machine.cpus") >= 1);
    assert_true(json_is_true(at(root, "valid")));
    assert_true(json_is_null(at(root, "model.path")));
    assert_int_equal(INT("model.parameters"), 14474);
    assert_string_equal(TEXT("engine.precision"), "fp32");
    assert_int_equal(INT("workload.samples"), 360);
    assert_true(json_is_null(at(root, "job")));
    assert_int_equal(json_array_size(at(root, "results")), 5);

    assert_string_equal(TEXT("results.0.mode"), "accuracy");
    assert_string_equal(TEXT("results.0.quality.metric"), "top-1");
    assert_string_equal(TEXT("results.0.quality.unit"), "%");
    assert_float_equal(REAL("results.0.quality.value"), 97.5, 0);
    assert_float_equal(REAL("results.0.quality.target"), 96.5, 0);
    assert_true(json_is_true(at(root, "results.0.quality.pass")));
    assert_true(json_is_null(at(root, "results.0.metric")));

    assert_string_equal(TEXT("results.1.scenario"), "offline");
    assert_string_equal(TEXT("results.1.metric.name"), "samples_per_second");
    assert_true(REAL("results.1.metric.value") == 212412.7);
    assert_true(json_is_null(at(root, "results.1.quality")));
    assert_string_equal(TEXT("results.2.scenario"), "server");
    assert_true(REAL("results.2.target_qps") == 61500.25);
    assert_true(json_is_true(at(root, "results.2.target_qps_found")));
    assert_int_equal(INT("results.2.rate_trials"), 9);
    assert_string_equal(TEXT("results.2.rate_search.outcome"), "confirmed");
    assert_true(REAL("results.2.rate_search.confirmed_qps") == 61500.25);
    assert_true(REAL("results.2.rate_search.failed_qps") == 63000);
    assert_int_equal(INT("results.2.rate_search.full_runs"), 2);
    assert_int_equal(INT("results.2.rate_search.full_runs_valid"), 1);
    assert_int_equal(INT("results.2.rate_search.edge_confidence_percent"), 90);
    assert_int_equal(json_array_size(at(root, "audits")), 0);
    assert_false(json_is_true(at(root, "results.2.rules.met")));
    assert_int_equal(json_array_size(at(root, "results.2.rules.reasons")), 1);
    assert_int_equal(json_array_size(at(root, "results.2.reasons")), 0);
    assert_int_equal(INT("results.2.limits.target_latency_ns"), 10000000);
    assert_int_equal(INT("results.3.early_stopping.estimate_ns"), 7150);
    static const char *const keys[] = {"min", "mean", "p50",   "p90", "p95",
                                       "p97", "p99",  "p99_9", "max"};
    static const int64_t values[] = {6000, 7200, 6500, 7100, 8000, 9000, 11000, 40000, 90000};
    for (size_t i = 0; i < 9; i++) {
        json_t *latency = at(root, "results.3.latency_ns");
        assert_int_equal(json_integer_value(json_object_get(latency, keys[i])), values[i]);
    }
    assert_int_equal(INT("results.4.query_latency_ns.p99"), 41000);
    assert_null(json_object_get(at(root, "results.3"), "query_latency_ns"));
    assert_int_equal(INT("results.3.issue_lateness_ns.max"), 9000);
    assert_int_equal(INT("results.3.duration_ns"), 3000123456);
    assert_true(json_is_false(at(root, "results.3.energy.measured")));
    assert_non_null(strstr(TEXT("results.3.energy.reason"), "RAPL"));
    json_decref(root);
}

static void test_manner_and_tokens(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_tokens(&f);
    struct vt_result_entry *entry = &f.result.entries[2];
    struct vt_load_report *report = entry->report;
    report->settings.arrivals = VT_ARRIVALS_CONSTANT;
    report->settings.server_num_issue_query_threads = 4;
    report->settings.server_coalesce_queries = true;
    report->record_bytes = 320000;
    report->spilled_bytes = 4096;
    report->samples_late = 3;
    report->lateness_p99_9_ns = 8000;
    report->start_unix_ms = 1796026229007;
    report->notes[0] = (struct vt_load_note){17, true, "Ending early"};
    report->notes[1] = (struct vt_load_note){19, false, "evenly"};
    report->n_notes = 2;
    report->notes_dropped = 1;
    entry->test_mode = VT_FIND_PEAK;
    entry->peak = (struct vt_result_peak){.steps = 17, .qps = 61250, .bounded = true};
    json_t *root = parsed(&f.result);
    assert_string_equal(TEXT("results.2.test_mode"), "FindPeakPerformance");
    assert_string_equal(TEXT("results.2.mode"), "performance");
    assert_true(REAL("results.2.find_peak.qps") == 61250);
    assert_int_equal(INT("results.2.find_peak.runs"), 17);
    assert_true(json_is_true(at(root, "results.2.find_peak.bounded")));
    assert_string_equal(TEXT("results.2.arrivals"), "constant");
    assert_int_equal(INT("results.2.issue_threads"), 4);
    assert_true(json_is_true(at(root, "results.2.coalesced")));
    assert_int_equal(INT("results.2.record_bytes"), 320000);
    assert_int_equal(INT("results.2.spilled_bytes"), 4096);
    assert_int_equal(INT("results.2.samples_late"), 3);
    assert_int_equal(INT("results.2.issue_lateness_ns.p99_9"), 8000);
    assert_int_equal(INT("results.2.started_unix_ms"), 1796026229007);
    assert_int_equal(json_array_size(at(root, "results.2.notes")), 2);
    assert_int_equal(INT("results.2.notes.0.at_ns"), 17);
    assert_true(json_is_true(at(root, "results.2.notes.0.error")));
    assert_string_equal(TEXT("results.2.notes.1.text"), "evenly");
    assert_int_equal(INT("results.2.notes_dropped"), 1);
    assert_int_equal(INT("results.2.tokens.total"), 25000);
    assert_true(REAL("results.2.tokens.per_second") == 12500);
    assert_int_equal(INT("results.2.tokens.first_token_ns.p99"), 7000000);
    assert_int_equal(INT("results.2.tokens.per_output_token_ns.p50"), 30000);
    assert_int_equal(INT("results.2.tokens.first_token_limit_ns"), 2000000000);
    assert_true(json_is_null(at(root, "results.2.limits.target_latency_ns")));
    assert_true(json_is_null(at(root, "results.1.tokens")));
    assert_null(json_object_get(at(root, "results.1"), "arrivals"));
    json_decref(root);
}

static void test_job_echo(void **state)
{
    struct fixture f;
    const char *items[] = {"x=a.npy", "y=\xff.npy"};
    struct values values = {.duration = 60000000000,
                            .cache = 4194304,
                            .lanes = 2,
                            .qps = 12.5,
                            .scenario = 2,
                            .inputs = {items, 2}};
    bool given[N_OPTIONS] = {false, true};
    struct vt_options options = {.table = &table, .values = &values, .given = given};

    (void)state;
    fixture_init(&f);
    f.result.options = &options;
    json_t *root = parsed(&f.result);
    assert_int_equal(json_object_size(at(root, "job")), N_OPTIONS);
    assert_true(json_is_false(at(root, "job.json.value")));
    assert_int_equal(INT("job.max_duration.value"), 60000000000);
    assert_string_equal(TEXT("job.max_duration.unit"), "ns");
    assert_true(json_is_true(at(root, "job.max_duration.given")));
    assert_false(json_is_true(at(root, "job.lanes.given")));
    assert_string_equal(TEXT("job.cache.unit"), "bytes");
    assert_true(REAL("job.target_qps.value") == 12.5);
    assert_true(json_is_null(at(root, "job.output.value")));
    assert_string_equal(TEXT("job.scenario.value"), "all");
    assert_string_equal(TEXT("job.input.value.0"), "x=a.npy");
    assert_string_equal(TEXT("job.input.value.1"), "y=\xef\xbf\xbd.npy");
    json_decref(root);
}

/* What cannot be a JSON number or text, and what was not measured. */
static void test_awkward(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    f.result.model_name = "\xff\x01\"\\\n";
    f.result.model_flops = (double)INFINITY;
    f.reports[1].metric.value = (double)NAN;
    f.result.entries[0].quality.value = -(double)INFINITY;
    f.reports[2].samples_issued = UINT64_MAX;
    f.reports[3].samples_completed = 0;
    f.result.entries[4].report = NULL;
    vt_error_set(&f.result.entries[4].failure, VT_ERR_ENGINE, "it broke");
    json_t *root = parsed(&f.result);
    assert_string_equal(TEXT("model.name"), "\xef\xbf\xbd\x01\"\\\n");
    assert_true(json_is_null(at(root, "model.flops_per_sample")));
    assert_true(json_is_null(at(root, "results.1.metric.value")));
    assert_true(json_is_null(at(root, "results.0.quality.value")));
    assert_int_equal(INT("results.2.samples"), INT64_MAX);
    assert_true(json_is_null(at(root, "results.3.latency_ns")));
    assert_true(json_is_false(at(root, "results.4.valid")));
    assert_true(json_is_null(at(root, "results.3.failure")));
    assert_string_equal(TEXT("results.4.failure.status"), "VT_ERR_ENGINE");
    assert_string_equal(TEXT("results.4.failure.text"), "it broke");
    assert_true(json_is_false(at(root, "valid")));
    json_decref(root);
}

static int left; /* allocations that may still succeed; -1: all */
static int alive;

static void *torture_malloc(size_t bytes)
{
    if (left == 0) {
        return NULL;
    }
    left -= left > 0;
    void *memory = malloc(bytes);
    alive += memory != NULL;
    return memory;
}

static void torture_free(void *memory)
{
    alive -= memory != NULL;
    free(memory);
}

static void *torture_alloc(void *ctx, size_t bytes, size_t alignment)
{
    void *memory = NULL;

    (void)ctx;
    if (left == 0) {
        return NULL;
    }
    left -= left > 0;
    alignment = alignment < sizeof memory ? sizeof memory : alignment;
    if (posix_memalign(&memory, alignment, bytes) != 0) {
        return NULL;
    }
    alive++;
    return memory;
}

static void torture_release(void *ctx, void *memory)
{
    (void)ctx;
    torture_free(memory);
}

static void test_out_of_memory(void **state)
{
    const struct vt_allocator torture = {torture_alloc, torture_release, NULL};
    struct values values = {.output = "runs", .inputs = {(const char *[]){"a", "b"}, 2}};
    bool given[N_OPTIONS] = {false};
    struct vt_options options = {.table = &table, .values = &values, .given = given};
    struct fixture f;
    int failures = 0;

    (void)state;
    fixture_init(&f);
    f.result.options = &options;
    f.result.n_entries = 3;
    json_decref(parsed(&f.result));
    json_set_alloc_funcs(torture_malloc, torture_free);
    vt_allocator_set(&torture);
    for (int n = 0;; n++) {
        struct vt_error err = VT_ERROR_INIT;
        char *text = NULL;
        left = n;
        alive = 0;
        enum vt_status status = vt_result_json(&f.result, &err, &text);
        left = -1;
        if (status == VT_OK) {
            vt_free(text);
            assert_int_equal(alive, 0);
            break;
        }
        assert_int_equal(status, VT_ERR_MEMORY);
        assert_int_equal(err.status, VT_ERR_MEMORY);
        assert_true(err.text[0] != '\0');
        assert_null(text);
        assert_int_equal(alive, 0);
        failures++;
    }
    vt_allocator_set(NULL);
    json_set_alloc_funcs(malloc, free);
    assert_true(failures > 200);
}

static char *make_folder(void)
{
    char template[] = "/tmp/vatio-test-XXXXXX";
    assert_non_null(mkdtemp(template));
    return strdup(template);
}

static void test_write(void **state)
{
    struct fixture f;
    struct vt_error err = VT_ERROR_INIT;
    char path[256];
    json_error_t where;

    (void)state;
    fixture_init(&f);
    char *folder = make_folder();
    snprintf(path, sizeof path, "%s/result.json", folder);
    assert_int_equal(vt_result_write_json(&f.result, folder, &err), VT_OK);
    json_t *root = json_load_file(path, 0, &where);
    assert_non_null(root);
    json_decref(root);

    assert_int_equal(vt_result_write_json(&f.result, "/nonexistent/folder", &err), VT_ERR_WRITE);
    assert_non_null(strstr(err.text, "/nonexistent/folder"));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0); /* nothing else was left in it */
    free(folder);
}

/* In a child, so that the limits and the user end with it. Exits 0 when all is as it should be. */
static int in_child(int (*body)(const struct fixture *f, const char *folder),
                    const struct fixture *f, const char *folder)
{
    int status = 0;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        _exit(body(f, folder));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

static int write_full(const struct fixture *f, const char *folder)
{
    struct vt_error err = VT_ERROR_INIT;
    const struct rlimit limit = {1000, 1000}; /* a disk that is full after 1000 bytes */

    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) {
        return 2;
    }
    if (vt_result_write_json(&f->result, folder, &err) != VT_ERR_WRITE) {
        return 3;
    }
    return strstr(err.text, "result.json") != NULL ? 0 : 4;
}

static int write_denied(const struct fixture *f, const char *folder)
{
    struct vt_error err = VT_ERROR_INIT;

    if (getuid() == 0 && setuid(65534) != 0) {
        return 2;
    }
    if (vt_result_write_json(&f->result, folder, &err) != VT_ERR_WRITE) {
        return 3;
    }
    return strstr(err.text, "result.json") != NULL ? 0 : 4;
}

static void test_cannot_write(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    char *folder = make_folder();
    assert_int_equal(in_child(write_full, &f, folder), 0);
    assert_int_equal(chmod(folder, 0555), 0);
    assert_int_equal(in_child(write_denied, &f, folder), 0);
    assert_int_equal(rmdir(folder), 0); /* nothing half-written */
    free(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_engine),   cmocka_unit_test(test_fields),
        cmocka_unit_test(test_job_echo), cmocka_unit_test(test_manner_and_tokens),
        cmocka_unit_test(test_awkward),  cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_write),    cmocka_unit_test(test_cannot_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
