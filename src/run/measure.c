/* SPDX-License-Identifier: Apache-2.0 */
#include "run/measure.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "run/rules.h"

#define PROBE_NS      (100 * VT_NS_PER_MS)
#define PROBE_QUERIES 10
#define PROBE_MOST_NS (2 * VT_NS_PER_S)
#define WARM_UP_NS    (1 * VT_NS_PER_S)
/* A found rate that fails its full run is lowered by this factor, so many times. */
#define RATE_STEP_DOWN 0.94
/* Where the system fell behind, of what it completed: queues stay short there. */
#define RATE_OVERLOADED 0.85
#define RATE_STEPS      5

static bool stopped(const struct vt_measure *measure)
{
    return atomic_load(&measure->control->stop);
}

static void phase_begin(struct vt_measure *measure, const char *name, int64_t expected_ns,
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

static void phase_end(struct vt_measure *measure)
{
    if (measure->events->phase_end != NULL) {
        measure->events->phase_end(measure->events->ctx);
    }
}

static enum vt_status run_load(struct vt_measure *measure, const struct vt_load_settings *settings,
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
    if (stopped(measure)) {
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
    status = run_load(measure, &settings, err, &report);
    if (status != VT_OK) {
        return status;
    }
    if (report->samples_completed > 0 && report->latency.p90_ns > 0) {
        probe->single_p90_ns = report->latency.p90_ns;
    }
    bool interrupted = report->interrupted;
    vt_load_report_free(report);
    if (interrupted) {
        return vt_error_set(err, VT_ERR_INTERRUPTED, "interrupted before anything was measured");
    }
    return VT_OK;
}

/* The entry's verdict from its report. */
static void adopt(struct vt_result_entry *entry, struct vt_load_report *report)
{
    entry->report = report;
    entry->valid = report->valid;
    entry->reasons = report->reasons;
}

static void add_reason(struct vt_result_entry *entry, const char *text)
{
    struct vt_reasons *reasons = &entry->reasons;

    entry->valid = false;
    if (reasons->n < VT_REASONS_MAX) {
        (void)snprintf(reasons->text[reasons->n], sizeof reasons->text[0], "%.*s",
                       (int)sizeof reasons->text[0] - 1, text);
        reasons->n++;
    }
}

/*
 * Offline asks for as many samples as fill the duration at the expected rate. The rate of single
 * requests says little about that of a whole machine, so a short run comes first; and where the
 * system turns out faster than even that, the run is repeated with what is known by then.
 */
static enum vt_status run_offline(struct vt_measure *measure, struct vt_load_settings *settings,
                                  struct vt_error *err, struct vt_load_report **ret_report)
{
    struct vt_load_settings trial = *settings;
    struct vt_load_report *report;

    if (vt_scenario_offline_rate_given(measure->session)) {
        return run_load(measure, settings, err, ret_report);
    }
    trial.min_duration_ns = settings->min_duration_ns / 10;
    trial.min_query_count = 1;
    enum vt_status status = run_load(measure, &trial, err, &report);
    for (int again = 0; status == VT_OK; again++) {
        bool enough = again > 0 && (report->min_duration_met || again > 2);
        if (enough || report->interrupted || report->capped || report->metric.value <= 0 ||
            report->samples_completed < report->samples_issued) {
            *ret_report = report;
            return VT_OK;
        }
        settings->offline_expected_qps = report->metric.value * (again > 0 ? 1.2 : 1.0);
        vt_load_report_free(report);
        status = run_load(measure, settings, err, &report);
    }
    return status;
}

/* Searches the highest valid rate. Sets settings->server_target_qps; 0 when there is none. */
static enum vt_status find_rate(struct vt_measure *measure, struct vt_load_settings *settings,
                                struct vt_error *err, struct vt_result_entry *entry)
{
    struct vt_rate_search search = {
        .settings = *settings,
        .trial_ns = vt_scenario_trial_ns(settings),
        .budget_ns = vt_scenario_search_ns(settings),
    };
    struct vt_rate_found found;

    search.settings.server_target_qps = measure->probe.samples_per_s * 0.7;
    phase_begin(measure, "Server, searching the rate", search.budget_ns, 0);
    enum vt_status status = vt_load_find_rate(&search, vt_sut_seam(measure->session->sut),
                                              measure->qsl, measure->control, err, &found);
    phase_end(measure);
    if (status != VT_OK) {
        return status;
    }
    entry->rate_found = true;
    entry->rate_trials = found.trials;
    settings->server_target_qps = found.qps;
    if (found.qps <= 0 && !found.interrupted) {
        char text[256];
        (void)snprintf(text, sizeof text,
                       "no rate was found that keeps p99 within %.4g ms: even %.3g queries/s did "
                       "not (allow more with --max-latency, or name a rate with --target-qps)",
                       (double)settings->server_target_latency_ns / 1e6, found.failed_qps);
        add_reason(entry, text);
    }
    return VT_OK;
}

/*
 * The next rate after one that failed. A system that fell behind shows by what it completed how
 * much it can take: then go well below that at once.
 */
static double lower_rate(double qps, const struct vt_load_report *report)
{
    double lower = qps * RATE_STEP_DOWN;
    double completed = report->metric.value;

    if (completed > 0 && completed * RATE_OVERLOADED < lower) {
        lower = completed * RATE_OVERLOADED;
    }
    return lower;
}

/*
 * A full run at the rate that trials found; a rate that does not hold is lowered step by step, for
 * as long as one scenario may take.
 */
static enum vt_status run_found_rate(struct vt_measure *measure, struct vt_load_settings *settings,
                                     struct vt_error *err, struct vt_load_report **ret_report)
{
    struct vt_load_report *report;
    int64_t stop_ns =
        settings->max_duration_ns > 0 ? vt_now_ns() + settings->max_duration_ns : VT_NEVER;
    enum vt_status status = run_load(measure, settings, err, &report);

    for (int step = 0; status == VT_OK && step < RATE_STEPS && vt_now_ns() < stop_ns; step++) {
        if (report->valid || report->interrupted || report->capped || report->samples_lost > 0 ||
            report->samples_failed > 0) {
            break;
        }
        settings->server_target_qps = lower_rate(settings->server_target_qps, report);
        vt_load_report_free(report);
        status = run_load(measure, settings, err, &report);
    }
    if (status == VT_OK) {
        *ret_report = report;
    }
    return status;
}

static enum vt_status run_performance(struct vt_measure *measure, struct vt_load_settings *settings,
                                      struct vt_error *err, struct vt_result_entry *entry)
{
    struct vt_load_report *report = NULL;
    enum vt_status status = VT_OK;

    if (settings->scenario == VT_SERVER && settings->server_target_qps <= 0) {
        status = find_rate(measure, settings, err, entry);
        if (status != VT_OK || settings->server_target_qps <= 0) {
            return status;
        }
    }
    entry->target_qps = settings->scenario == VT_SERVER ? settings->server_target_qps : 0;
    phase_begin(measure, vt_scenario_name(settings->scenario),
                vt_scenario_expected_ns(settings, &measure->probe, 0), 0);
    if (settings->scenario == VT_OFFLINE) {
        status = run_offline(measure, settings, err, &report);
    } else if (entry->rate_found) {
        status = run_found_rate(measure, settings, err, &report);
        entry->target_qps = settings->server_target_qps;
    } else {
        status = run_load(measure, settings, err, &report);
    }
    phase_end(measure);
    if (status == VT_OK) {
        adopt(entry, report);
    }
    return status;
}

/* The quality of the responses of an accuracy run. */
static enum vt_status score(struct vt_measure *measure, struct vt_result_entry *entry,
                            struct vt_error *err)
{
    struct vt_session *session = measure->session;
    const struct vt_load_report *report = entry->report;

    if (session->workload_ops->score == NULL || report->n_responses == 0) {
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
        add_reason(entry, quality->failure);
    } else if (!quality->pass) {
        char text[256];
        (void)snprintf(text, sizeof text, "%s is %.4g %s, the target is %.4g %s", quality->metric,
                       quality->value, quality->unit, quality->target, quality->unit);
        add_reason(entry, text);
    }
    return VT_OK;
}

static enum vt_status run_accuracy(struct vt_measure *measure,
                                   const struct vt_load_settings *settings, struct vt_error *err,
                                   struct vt_result_entry *entry)
{
    struct vt_load_report *report;
    uint64_t total = measure->session->info.total_count;

    phase_begin(measure, "accuracy", vt_scenario_expected_ns(settings, &measure->probe, total),
                total);
    enum vt_status status = run_load(measure, settings, err, &report);
    phase_end(measure);
    if (status != VT_OK) {
        return status;
    }
    adopt(entry, report);
    return report->interrupted ? VT_OK : score(measure, entry, err);
}

enum vt_status vt_measure_scenario(struct vt_measure *measure, enum vt_scenario scenario,
                                   enum vt_mode mode, struct vt_error *err,
                                   struct vt_result_entry *ret_entry)
{
    struct vt_result_entry entry = {.scenario = scenario, .mode = mode};
    struct vt_load_settings settings;
    struct vt_sut_counts counts;
    struct vt_error failure = VT_ERROR_INIT;
    enum vt_status status;

    vt_scenario_settings(measure->session, &measure->probe, scenario, mode, &settings);
    if (mode == VT_ACCURACY) {
        status = run_accuracy(measure, &settings, &failure, &entry);
    } else {
        status = run_performance(measure, &settings, &failure, &entry);
    }
    if (status == VT_ERR_MEMORY || (entry.report == NULL && stopped(measure))) {
        vt_load_report_free(entry.report);
        return status == VT_ERR_MEMORY ? vt_error_set(err, status, "%s", failure.text)
                                       : vt_error_set(err, VT_ERR_INTERRUPTED, "%s was interrupted",
                                                      vt_scenario_name(scenario));
    }
    if (status != VT_OK) {
        entry.failure = failure;
        vt_error_set(&entry.failure, status, "%s", vt_status_text(status));
        entry.valid = false;
    }
    vt_sut_counts(measure->session->sut, &counts);
    entry.requests = counts.requests;
    entry.batch_max = measure->probe.batch;
    vt_rules_judge(measure->session, &entry);
    *ret_entry = entry;
    return VT_OK;
}
