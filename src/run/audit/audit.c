/* SPDX-License-Identifier: Apache-2.0 */
#include "run/audit/audit.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "run/audit/audit_judge.h"
#include "run/load_plan.h"

/* The values of the official audit.config files. */
#define TEST01_SEED      UINT64_C(720381539243781796)
#define TEST01_TARGET    4096
#define TEST04_INDEX     3
#define TEST06_RESPONSES 100
#define END_OF_SEQUENCE  2
/* An invalid run says nothing about the test: it is made again. */
#define ATTEMPTS 3

enum vt_status vt_audit_parse(const char *text, struct vt_error *err,
                              struct vt_audit_wanted *ret_wanted)
{
    struct vt_audit_wanted wanted = {{false}};

    for (;;) {
        size_t length = strcspn(text, ",");
        bool known = false;
        for (int i = 0; i < VT_AUDIT_TESTS; i++) {
            const char *name = vt_audit_test_name((enum vt_audit_test)i);
            bool all = length == strlen("all") && strncasecmp(text, "all", length) == 0;
            if (all || (length == strlen(name) && strncasecmp(text, name, length) == 0)) {
                wanted.test[i] = true;
                known = true;
            }
        }
        if (!known) {
            return vt_error_set(err, VT_ERR_USAGE,
                                "--test %.*s: allowed are TEST01, TEST04, TEST06 and all, joined "
                                "by commas",
                                (int)(length < 64 ? length : 64), text);
        }
        if (text[length] == '\0') {
            break;
        }
        text += length + 1;
    }
    *ret_wanted = wanted;
    return VT_OK;
}

int64_t vt_audit_expected_ns(const struct vt_audit_wanted *wanted,
                             const struct vt_load_settings *settings, const struct vt_probe *probe)
{
    struct vt_load_settings s = *settings;
    int64_t total = 0;

    if (s.server_target_qps <= 0) {
        s.server_target_qps = probe->samples_per_s / 2; /* known by then */
    }
    for (int i = 0; i < VT_AUDIT_TESTS; i++) {
        bool runs = wanted->test[i] && (i != VT_TEST06 || s.use_token_latencies);
        total += runs ? vt_scenario_expected_ns(&s, probe, 0) : 0;
    }
    return total;
}

/* Benchmarks with larger responses log fewer of them. */
static uint64_t sampling_target(const char *model)
{
    static const struct {
        const char *model;
        uint64_t target;
    } others[] = {{"3d-unet", 64},        {"retinanet", 256}, {"stable-diffusion-xl", 128},
                  {"pointpainting", 256}, {"yolo", 64},       {"wan-2.2-t2v-a14b", 50}};

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (strcmp(model, others[i].model) == 0) {
            return others[i].target;
        }
    }
    return TEST01_TARGET;
}

static void apply_built_in(enum vt_audit_test test, const char *model, struct vt_load_settings *s)
{
    switch (test) {
    case VT_TEST01:
        s->accuracy_log_rng_seed = TEST01_SEED;
        s->accuracy_log_sampling_target = sampling_target(model);
        break;
    case VT_TEST04:
        s->performance_issue_unique = false;
        s->performance_issue_same = true;
        s->performance_issue_same_index = TEST04_INDEX;
        if (strcmp(model, "stable-diffusion-xl") == 0 && s->scenario == VT_OFFLINE) {
            s->min_query_count = 500;
        } else if (strcmp(model, "wan-2.2-t2v-a14b") == 0 &&
                   (s->scenario == VT_OFFLINE || s->scenario == VT_SINGLESTREAM)) {
            s->min_query_count = 20;
        }
        break;
    case VT_TEST06:
    case VT_AUDIT_TESTS:
        s->accuracy_log_rng_seed = TEST01_SEED;
        s->accuracy_log_sampling_target = TEST06_RESPONSES;
        s->min_query_count = TEST06_RESPONSES;
        s->min_duration_ns = 0;
        s->sample_concatenate_permutation = false;
        break;
    }
}

enum vt_status vt_audit_settings(enum vt_audit_test test, const char *model, const char *path,
                                 const struct vt_conf_warnings *warnings, struct vt_error *err,
                                 struct vt_load_settings *settings)
{
    struct vt_load_settings next = *settings;
    enum vt_status status = VT_OK;

    if (path != NULL) {
        status = vt_conf_apply_file(&next, VT_CONF_AUDIT, path, model, warnings, err);
    } else {
        apply_built_in(test, model, &next);
    }
    if (status == VT_OK) {
        next.scenario = settings->scenario;
        next.mode = VT_PERFORMANCE; /* all tests are performance runs */
        *settings = next;
    }
    return status;
}

static const struct vt_result_entry *entry_of(const struct vt_result *result,
                                              enum vt_scenario scenario, enum vt_mode mode)
{
    for (uint32_t i = 0; i < result->n_entries; i++) {
        if (result->entries[i].scenario == scenario && result->entries[i].mode == mode) {
            return &result->entries[i];
        }
    }
    return NULL;
}

/* Whether the test says anything here; else audit->text says why not. */
static bool applies(const struct vt_measure *measure, const struct vt_load_report *reference,
                    struct vt_result_audit *audit)
{
    uint64_t loaded = reference->effective.performance_sample_count;

    if (audit->test == VT_TEST04 && loaded <= TEST04_INDEX) {
        snprintf(audit->text, sizeof audit->text,
                 "it issues sample %d of those in memory again and again, and there are only %llu "
                 "(--performance-sample-count)",
                 TEST04_INDEX, (unsigned long long)loaded);
    } else if (audit->test == VT_TEST06 && !reference->settings.use_token_latencies) {
        snprintf(audit->text, sizeof audit->text,
                 "it compares tokens, and runs of workload %s count none (--tokens, where a model "
                 "answers in tokens)",
                 measure->session->info.name);
    }
    return audit->text[0] == '\0';
}

static enum vt_status run_test(struct vt_measure *measure, const struct vt_load_settings *settings,
                               struct vt_error *err, struct vt_result_audit *audit)
{
    char name[64];
    enum vt_status status = VT_OK;

    snprintf(name, sizeof name, "%s, %s", vt_scenario_name(settings->scenario),
             vt_audit_test_name(audit->test));
    vt_measure_phase_begin(measure, name, vt_scenario_expected_ns(settings, &measure->probe, 0), 0);
    while (audit->attempts < ATTEMPTS) {
        struct vt_load_report *report = NULL;
        status = vt_measure_load(measure, settings, err, &report);
        if (status != VT_OK) {
            break;
        }
        audit->attempts++;
        vt_load_report_free(audit->report);
        audit->report = report;
        bool faulty = report->samples_failed > 0 || report->samples_lost > 0 ||
                      report->samples_doubled > 0 || report->samples_invented > 0;
        if (report->valid || report->interrupted || faulty) {
            break;
        }
    }
    vt_measure_phase_end(measure);
    return status;
}

/* The responses of `report`, or with `instead` what that run answered for the same samples. */
static enum vt_status score(struct vt_measure *measure, const struct vt_load_report *report,
                            const struct vt_load_report *instead, struct vt_error *err,
                            struct vt_quality *ret_quality)
{
    const struct vt_workload_ops *ops = measure->session->workload_ops;
    struct vt_response *responses = vt_calloc(report->n_responses, sizeof responses[0]);
    uint64_t n = 0;

    if (responses == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for %llu responses",
                            (unsigned long long)report->n_responses);
    }
    /* The accuracy run asked for every sample once: its log is sorted by nothing, but small. */
    for (uint64_t i = 0; i < report->n_responses; i++) {
        const struct vt_load_response *from = &report->responses[i];
        for (uint64_t k = 0; instead != NULL && k < instead->n_responses; k++) {
            if (instead->responses[k].index == report->responses[i].index) {
                from = &instead->responses[k];
                break;
            }
        }
        responses[n++] = (struct vt_response){from->index, from->data, from->bytes};
    }
    enum vt_status status = ops->score(measure->session->workload, responses, n, err, ret_quality);
    vt_free(responses);
    return status;
}

/* The delta of the benchmark's target: 99.9 % in its name, else 99 %. */
static double delta_of(const struct vt_session *session)
{
    const char *model = vt_model_source_name(&session->source);
    bool tight = strstr(model, "99.9") != NULL ||
                 (session->job->benchmark != NULL && strstr(session->job->benchmark, "99.9"));
    return tight ? 0.001 : 0.01;
}

static enum vt_status judge_accuracy(struct vt_measure *measure,
                                     const struct vt_load_report *reference, struct vt_error *err,
                                     struct vt_result_audit *audit)
{
    struct vt_audit_accuracy *accuracy = &audit->accuracy;
    struct vt_quality before, after;
    struct vt_error ignored = VT_ERROR_INIT;

    enum vt_status status = vt_audit_judge_accuracy(reference, audit->report, err, accuracy);
    bool can_score = measure->session->info.has_quality &&
                     measure->session->workload_ops->score != NULL && accuracy->matched > 0;
    if (status != VT_OK || accuracy->verdict == VT_AUDIT_PASS || !can_score) {
        return status;
    }
    if (score(measure, audit->report, reference, &ignored, &before) == VT_OK &&
        score(measure, audit->report, NULL, &ignored, &after) == VT_OK) {
        vt_audit_judge_quality(accuracy, after.metric, after.unit, before.value, after.value,
                               delta_of(measure->session));
    }
    return VT_OK;
}

static enum vt_audit_verdict worst(const struct vt_result_audit *audit)
{
    bool failed = (audit->performance.judged && audit->performance.verdict == VT_AUDIT_FAIL) ||
                  (audit->accuracy.judged && audit->accuracy.verdict == VT_AUDIT_FAIL) ||
                  (audit->tokens.judged && audit->tokens.verdict == VT_AUDIT_FAIL);
    return failed || audit->text[0] != '\0' ? VT_AUDIT_FAIL : VT_AUDIT_PASS;
}

static enum vt_status judge(struct vt_measure *measure, const struct vt_result_entry *performance,
                            const struct vt_result_entry *accuracy, struct vt_error *err,
                            struct vt_result_audit *audit)
{
    enum vt_status status = VT_OK;

    if (audit->test == VT_TEST06) {
        vt_audit_judge_tokens(audit->report, END_OF_SEQUENCE, &audit->tokens);
    } else {
        vt_audit_judge_performance(audit->test, performance->report, performance->valid,
                                   audit->report, &audit->performance);
    }
    if (audit->test == VT_TEST01 && accuracy != NULL && accuracy->report != NULL) {
        status = judge_accuracy(measure, accuracy->report, err, audit);
    } else if (audit->test == VT_TEST01) {
        snprintf(audit->text, sizeof audit->text,
                 "there is no accuracy run to compare with%s%.300s", accuracy != NULL ? ": " : "",
                 accuracy != NULL ? accuracy->failure.text : "");
    }
    audit->verdict = worst(audit);
    return status;
}

/* One test of one scenario. Interrupted: nothing is left of it. */
static enum vt_status run_one(struct vt_measure *measure, const struct vt_result *result,
                              struct vt_error *err, struct vt_result_audit *audit)
{
    const struct vt_session *session = measure->session;
    const struct vt_result_entry *performance = entry_of(result, audit->scenario, VT_PERFORMANCE);
    const struct vt_result_entry *accuracy = entry_of(result, audit->scenario, VT_ACCURACY);
    const struct vt_conf_warnings warnings = {measure->events->warning, measure->events->ctx};
    struct vt_error failure = VT_ERROR_INIT;

    if (performance == NULL || performance->report == NULL) {
        audit->verdict = VT_AUDIT_FAIL;
        snprintf(audit->text, sizeof audit->text, "there is no reference run to compare with");
        return VT_OK;
    }
    if (!applies(measure, performance->report, audit)) {
        audit->verdict = VT_AUDIT_NOT_APPLICABLE;
        return VT_OK;
    }
    struct vt_load_settings settings = performance->report->settings;
    enum vt_status status = vt_audit_settings(audit->test, session->plan->benchmark,
                                              session->job->audit_conf, &warnings, err, &settings);
    if (status == VT_OK) {
        status = run_test(measure, &settings, &failure, audit);
        if (status != VT_OK && status != VT_ERR_MEMORY && status != VT_ERR_INTERRUPTED) {
            audit->verdict = VT_AUDIT_FAIL;
            snprintf(audit->text, sizeof audit->text, "the run failed: %.350s", failure.text);
            return VT_OK;
        }
        if (status != VT_OK) {
            return vt_error_set(err, status, "%s", failure.text);
        }
    }
    if (status == VT_OK && audit->report->interrupted) {
        return vt_error_set(err, VT_ERR_INTERRUPTED, "%s was interrupted",
                            vt_audit_test_name(audit->test));
    }
    return status != VT_OK ? status : judge(measure, performance, accuracy, err, audit);
}

enum vt_status vt_audit_run(struct vt_measure *measure, const struct vt_audit_wanted *wanted,
                            const struct vt_save *save, struct vt_result *result,
                            struct vt_error *err)
{
    for (int s = 0; s < VT_SCENARIO_COUNT; s++) {
        if (entry_of(result, (enum vt_scenario)s, VT_PERFORMANCE) == NULL) {
            continue;
        }
        for (int t = 0; t < VT_AUDIT_TESTS; t++) {
            if (!wanted->test[t]) {
                continue;
            }
            struct vt_result_audit *audit = &result->audits[result->n_audits];
            *audit = (struct vt_result_audit){.test = (enum vt_audit_test)t,
                                              .scenario = (enum vt_scenario)s};
            enum vt_status status = run_one(measure, result, err, audit);
            if (status != VT_OK) {
                vt_load_report_free(audit->report);
                audit->report = NULL;
                return status;
            }
            result->n_audits++;
            status = vt_audit_save(save, audit, err);
            if (status != VT_OK) {
                return status;
            }
        }
    }
    return VT_OK;
}
