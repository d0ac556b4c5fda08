/* SPDX-License-Identifier: Apache-2.0 */
#include "run/measure/measure.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "run/rules.h"

#define PROBE_NS      (100 * VT_NS_PER_MS)
#define PROBE_QUERIES 10
#define PROBE_MOST_NS (2 * VT_NS_PER_S)
/* The stamps of a sample cost some 100 ns. */
#define STAGES_LEAST_NS (20 * VT_NS_PER_US)
#define WARM_UP_NS      (1 * VT_NS_PER_S)

bool vt_measure_stopped(const struct vt_measure *measure)
{
    return atomic_load(&measure->control->stop);
}

void vt_measure_phase_begin(struct vt_measure *measure, const char *name, int64_t expected_ns,
                            uint64_t samples)
{
    struct vt_run_phase phase = {name, expected_ns, samples};

    atomic_store(&measure->control->issued, 0);
    atomic_store(&measure->control->completed, 0);
    atomic_store(&measure->control->started_ns, 0);
    if (measure->events->phase_begin != NULL) {
        measure->events->phase_begin(measure->events->ctx, &phase);
    }
}

void vt_measure_phase_end(struct vt_measure *measure)
{
    if (measure->events->phase_end != NULL) {
        measure->events->phase_end(measure->events->ctx);
    }
}

enum vt_status vt_measure_load(struct vt_measure *measure, const struct vt_load_settings *settings,
                               struct vt_error *err, struct vt_load_report **ret_report)
{
    return vt_load_run(settings, vt_sut_seam(measure->session->sut), measure->qsl, measure->control,
                       err, ret_report);
}

/* Batches of every size through every lane, with the first sample of the data set. */
static enum vt_status warm_up(struct vt_measure *measure, struct vt_error *err,
                              struct vt_warm_up *ret_warm)
{
    struct vt_session *session = measure->session;
    const uint64_t first = 0;

    enum vt_status status = session->workload_ops->load(session->workload, &first, 1, err);
    if (status != VT_OK) {
        return status;
    }
    status = vt_sut_warm_up(session->sut, first, WARM_UP_NS, err, ret_warm);
    session->workload_ops->unload(session->workload, &first, 1);
    return status;
}

static bool counts_tokens(const struct vt_measure *measure)
{
    for (int i = 0; i < VT_SCENARIO_COUNT; i++) {
        bool wanted = measure->wanted == NULL || measure->wanted[i];
        if (wanted && measure->session->plan->asked[i].use_token_latencies) {
            return true;
        }
    }
    return false;
}

/* Learns from the probe's run; an error where no other run can do better. */
static enum vt_status take_probe(struct vt_measure *measure, const struct vt_load_report *report,
                                 struct vt_error *err)
{
    if (report->interrupted) {
        return vt_error_set(err, VT_ERR_INTERRUPTED, "interrupted before anything was measured");
    }
    if (report->settings.use_token_latencies && report->token.tokens == 0 &&
        report->samples_completed > report->samples_failed) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "--tokens: engine %s tells no tokens of %s: leave --tokens out, give "
                            "--no-tokens where a benchmark or a file asks for them, or take an "
                            "engine that counts them",
                            measure->session->engine_ref.ops.name,
                            vt_model_source_name(&measure->session->source));
    }
    if (report->samples_completed > 0 && report->latency.p90_ns > 0) {
        measure->probe.single_p90_ns = report->latency.p90_ns;
    }
    return VT_OK;
}

static enum vt_status choose_stages(const struct vt_measure *measure, int64_t single_ns,
                                    struct vt_error *err)
{
    const struct vt_job *job = measure->session->job;
    bool on = job->stages == VT_JOB_STAGES_ON ||
              (job->stages == VT_JOB_STAGES_AUTO && single_ns >= STAGES_LEAST_NS);
    return vt_sut_stamp_stages(measure->session->sut, on, err);
}

enum vt_status vt_measure_probe(struct vt_measure *measure, struct vt_error *err)
{
    struct vt_warm_up warm;
    struct vt_load_settings settings;
    struct vt_load_report *report;
    struct vt_probe *probe = &measure->probe;

    enum vt_status status = warm_up(measure, err, &warm);
    if (status != VT_OK) {
        return status;
    }
    probe->single_p90_ns = warm.single_ns > 0 ? warm.single_ns : 1;
    probe->batch = warm.batch;
    probe->samples_per_s = (double)warm.batch * measure->session->lanes /
                           ((double)(warm.batch_ns > 0 ? warm.batch_ns : 1) / 1e9);
    status = choose_stages(measure, warm.single_ns, err);
    if (status != VT_OK) {
        return status;
    }
    if (vt_measure_stopped(measure)) {
        return vt_error_set(err, VT_ERR_INTERRUPTED, "interrupted before anything was measured");
    }
    if (warm.single_ns > PROBE_MOST_NS) {
        /* One sample takes so long that a distribution of it is not worth its time. */
        return VT_OK;
    }
    vt_scenario_settings(measure->session, probe, VT_SINGLESTREAM, VT_PERFORMANCE, &settings);
    settings.min_duration_ns = PROBE_NS;
    settings.min_query_count = PROBE_QUERIES;
    settings.max_duration_ns = PROBE_MOST_NS;
    settings.use_token_latencies = counts_tokens(measure);
    status = vt_measure_load(measure, &settings, err, &report);
    if (status != VT_OK) {
        return status;
    }
    status = take_probe(measure, report, err);
    vt_load_report_free(report);
    return status;
}

/* The entry's verdict from its report. */
void vt_measure_adopt(struct vt_result_entry *entry, struct vt_load_report *report)
{
    entry->report = report;
    entry->valid = report->valid;
    entry->reasons = report->reasons;
}

void vt_measure_add_reason(struct vt_result_entry *entry, const char *text)
{
    struct vt_reasons *reasons = &entry->reasons;

    entry->valid = false;
    if (reasons->n < VT_REASONS_MAX) {
        (void)snprintf(reasons->text[reasons->n], sizeof reasons->text[0], "%.*s",
                       (int)sizeof reasons->text[0] - 1, text);
        reasons->n++;
    }
}

static enum vt_status run_performance(struct vt_measure *measure, struct vt_load_settings *settings,
                                      struct vt_error *err, struct vt_result_entry *entry)
{
    struct vt_load_report *report = NULL;
    enum vt_status status = VT_OK;

    if (settings->scenario == VT_SERVER && settings->server_target_qps <= 0 &&
        settings->arrivals != VT_ARRIVALS_TRACE) {
        return vt_measure_server_rate(measure, settings, err, entry);
    }
    entry->target_qps = settings->scenario == VT_SERVER ? settings->server_target_qps : 0;
    vt_measure_phase_begin(measure, vt_scenario_name(settings->scenario),
                           vt_scenario_expected_ns(settings, &measure->probe, 0), 0);
    if (settings->scenario == VT_OFFLINE) {
        status = vt_measure_offline(measure, settings, err, &report);
    } else {
        status = vt_measure_load(measure, settings, err, &report);
    }
    vt_measure_phase_end(measure);
    if (status == VT_OK) {
        vt_measure_adopt(entry, report);
    }
    return status;
}

enum vt_status vt_measure_score(struct vt_measure *measure, struct vt_result_entry *entry,
                                struct vt_error *err)
{
    struct vt_session *session = measure->session;
    const struct vt_load_report *report = entry->report;

    if (session->workload_ops->score == NULL || !session->info.has_quality ||
        report->n_responses == 0) {
        return VT_OK;
    }
    struct vt_response *responses = vt_calloc(report->n_responses, sizeof responses[0]);
    if (responses == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for %llu responses",
                            (unsigned long long)report->n_responses);
    }
    for (uint64_t i = 0; i < report->n_responses; i++) {
        const struct vt_load_response *from = &report->responses[i];
        responses[i] = (struct vt_response){from->index, from->data, from->bytes};
    }
    enum vt_status status = session->workload_ops->score(session->workload, responses,
                                                         report->n_responses, err, &entry->quality);
    vt_free(responses);
    if (status != VT_OK) {
        return status;
    }
    entry->has_quality = true;
    const struct vt_quality *quality = &entry->quality;
    if (!quality->pass && quality->failure[0] != '\0') {
        vt_measure_add_reason(entry, quality->failure);
    } else if (!quality->pass) {
        char text[256];
        (void)snprintf(text, sizeof text, "%s is %.4g %s, the target is %.4g %s", quality->metric,
                       quality->value, quality->unit, quality->target, quality->unit);
        vt_measure_add_reason(entry, text);
    }
    return VT_OK;
}

static enum vt_status run_accuracy(struct vt_measure *measure,
                                   const struct vt_load_settings *settings, struct vt_error *err,
                                   struct vt_result_entry *entry)
{
    struct vt_load_report *report;
    uint64_t total = measure->session->info.total_count;

    vt_measure_phase_begin(measure, "accuracy",
                           vt_scenario_expected_ns(settings, &measure->probe, total), total);
    enum vt_status status = vt_measure_load(measure, settings, err, &report);
    vt_measure_phase_end(measure);
    if (status != VT_OK) {
        return status;
    }
    vt_measure_adopt(entry, report);
    return report->interrupted ? VT_OK : vt_measure_score(measure, entry, err);
}

/* Of the run that is reported: a search may report an earlier one than its last. */
static void take_stages(const struct vt_measure *measure, struct vt_result_entry *entry)
{
    const struct vt_load_report *report = entry->report;

    vt_sut_stage_times(measure->session->sut, &entry->stages);
    if (report == NULL ||
        entry->stages.samples != report->samples_completed - report->samples_failed) {
        entry->stages = (struct vt_stage_times){0};
    }
}

void vt_measure_finish(struct vt_measure *measure, enum vt_status status,
                       const struct vt_error *failure, struct vt_result_entry *entry)
{
    struct vt_sut_counts counts;

    if (status != VT_OK) {
        entry->failure = *failure;
        vt_error_set(&entry->failure, status, "%s", vt_status_text(status));
        entry->valid = false;
    }
    vt_sut_counts(measure->session->sut, &counts);
    take_stages(measure, entry);
    entry->requests = counts.requests;
    entry->batch_max = measure->probe.batch;
    vt_rules_judge(measure->session, entry);
}

enum vt_status vt_measure_scenario(struct vt_measure *measure, enum vt_scenario scenario,
                                   enum vt_mode mode, struct vt_error *err,
                                   struct vt_result_entry *ret_entry)
{
    struct vt_result_entry entry = {.scenario = scenario, .mode = mode, .test_mode = mode};
    struct vt_load_settings settings;
    struct vt_error failure = VT_ERROR_INIT;
    enum vt_status status;

    vt_scenario_settings(measure->session, &measure->probe, scenario, mode, &settings);
    if (mode == VT_ACCURACY) {
        status = run_accuracy(measure, &settings, &failure, &entry);
    } else {
        status = run_performance(measure, &settings, &failure, &entry);
    }
    if (status == VT_ERR_MEMORY || (entry.report == NULL && vt_measure_stopped(measure))) {
        vt_load_report_free(entry.report);
        return status == VT_ERR_MEMORY ? vt_error_set(err, status, "%s", failure.text)
                                       : vt_error_set(err, VT_ERR_INTERRUPTED, "%s was interrupted",
                                                      vt_scenario_name(scenario));
    }
    vt_measure_finish(measure, status, &failure, &entry);
    *ret_entry = entry;
    return VT_OK;
}
