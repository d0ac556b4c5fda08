/* SPDX-License-Identifier: Apache-2.0 */
/* MLPerf's tests of several runs, SubmissionRun and FindPeakPerformance, with the logs that LoadGen
 * writes of them. */
#include <math.h>
#include <stdio.h>

#include "run/measure/measure.h"

/* Of what full batches on every lane would give: where find-peak starts, which has to hold. */
#define PEAK_SHARE 0.1
/* Where a start of our own does not hold, a tenth of it is tried, so often. */
#define PEAK_STARTS 4
/* On top of the slack that the size of Offline's query has: a test is not repeated for it. */
#define OFFLINE_MARGIN 1.2

/* Follows the runs of a test. */
struct follower {
    struct vt_measure *measure;
    const struct vt_load_settings *settings;
    struct vt_sut_counts accuracy_counts;
    struct vt_stage_times accuracy_stages;
    uint32_t runs;
    char name[64];
};

static void on_begin(void *ctx, enum vt_mode phase, uint32_t step, double qps)
{
    struct follower *follower = ctx;
    struct vt_measure *measure = follower->measure;
    struct vt_load_settings settings = *follower->settings;
    const uint64_t total = measure->session->info.total_count;
    const char *scenario = vt_scenario_name(settings.scenario);

    if (follower->runs++ > 0) {
        vt_sut_counts(measure->session->sut, &follower->accuracy_counts);
        vt_sut_stage_times(measure->session->sut, &follower->accuracy_stages);
        vt_measure_phase_end(measure);
    }
    settings.mode = phase;
    settings.server_target_qps = qps;
    if (step > 0) {
        (void)snprintf(follower->name, sizeof follower->name, "%s, find-peak at %.4g queries/s",
                       scenario, qps);
    } else {
        (void)snprintf(follower->name, sizeof follower->name, "%s%s", scenario,
                       phase == VT_ACCURACY ? " accuracy" : "");
    }
    vt_measure_phase_begin(measure, follower->name,
                           vt_scenario_expected_ns(&settings, &measure->probe, total),
                           phase == VT_ACCURACY ? total : 0);
}

/* How fast Offline is, where the job does not say. */
static enum vt_status look_at_offline(struct vt_measure *measure, struct vt_load_settings *settings,
                                      struct vt_error *err)
{
    struct vt_load_settings trial = *settings;
    struct vt_load_report *report = NULL;

    if (settings->scenario != VT_OFFLINE || vt_scenario_offline_rate_given(measure->session)) {
        return VT_OK;
    }
    trial.mode = VT_PERFORMANCE;
    trial.min_duration_ns /= 10;
    trial.min_query_count = 1;
    vt_measure_phase_begin(measure, "Offline, a first look",
                           vt_scenario_expected_ns(&trial, &measure->probe, 0), 0);
    enum vt_status status = vt_measure_load(measure, &trial, err, &report);
    vt_measure_phase_end(measure);
    if (status == VT_OK && report->metric.value > 0) {
        settings->offline_expected_qps = report->metric.value * OFFLINE_MARGIN;
    }
    vt_load_report_free(report);
    return status;
}

/* What is to be known before a test can begin. False: *entry says why it cannot. */
static bool find_expectations(struct vt_measure *measure, struct vt_load_settings *settings,
                              struct vt_error *err, enum vt_status *ret_status,
                              struct vt_result_entry *entry)
{
    *ret_status = look_at_offline(measure, settings, err);
    if (settings->scenario != VT_SERVER || settings->server_target_qps > 0 ||
        *ret_status != VT_OK) {
        return *ret_status == VT_OK;
    }
    if (settings->mode == VT_FIND_PEAK) {
        settings->server_target_qps = measure->probe.samples_per_s * PEAK_SHARE;
        return true;
    }
    settings->mode = VT_PERFORMANCE;
    *ret_status = vt_measure_server_rate(measure, settings, err, entry);
    settings->mode = VT_SUBMISSION;
    if (*ret_status != VT_OK || !(entry->target_qps > 0) || entry->rate.interrupted) {
        return false;
    }
    settings->server_target_qps = entry->target_qps;
    vt_load_report_free(entry->report);
    entry->report = NULL;
    entry->reasons.n = 0;
    return true;
}

static void judge_peak(const struct vt_test_result *made, bool stopped,
                       struct vt_result_entry *entry)
{
    char text[256];

    entry->peak = (struct vt_result_peak){
        .steps = made->peak_steps,
        .qps = made->peak_qps,
        .bounded = made->peak_bounded,
        .interrupted = stopped,
    };
    if (entry->report == NULL || entry->report->interrupted) {
        return;
    }
    if (stopped) {
        (void)snprintf(text, sizeof text, "find-peak was interrupted after %u runs",
                       (unsigned)made->peak_steps);
        vt_measure_add_reason(entry, text);
    } else if (!(made->peak_qps > 0) && entry->report->performance_met) {
        return; /* what failed is among the reasons */
    } else if (!(made->peak_qps > 0)) {
        (void)snprintf(text, sizeof text,
                       "find-peak starts at %.4g queries/s and the limit did not hold there (start "
                       "lower with --target-qps)",
                       made->requested.server_target_qps);
        vt_measure_add_reason(entry, text);
    } else if (!made->peak_bounded) {
        (void)snprintf(text, sizeof text,
                       "find-peak gave up: the limit still held at %.4g queries/s (start higher "
                       "with --target-qps)",
                       made->peak_qps);
        vt_measure_add_reason(entry, text);
    }
}

/* The entries of a test that is over, or came to an end before. */
static enum vt_status fill(struct vt_measure *measure, const struct follower *follower,
                           struct vt_test_result *made, enum vt_status status,
                           struct vt_error *failure, const struct vt_result_entry *found,
                           struct vt_result_entry entries[2], uint32_t *ret_n)
{
    const struct vt_load_settings *asked = follower->settings;
    uint32_t n = 0;

    if (made->accuracy != NULL) {
        struct vt_result_entry *entry = &entries[n++];
        *entry = (struct vt_result_entry){
            .scenario = asked->scenario, .mode = VT_ACCURACY, .test_mode = asked->mode};
        vt_measure_adopt(entry, made->accuracy);
        made->accuracy = NULL;
        enum vt_status scored =
            entry->report->interrupted ? VT_OK : vt_measure_score(measure, entry, failure);
        entry->target_qps = asked->scenario == VT_SERVER ? asked->server_target_qps : 0;
        vt_measure_finish(measure, scored, failure, entry);
        if (follower->runs > 1) {
            entry->requests = follower->accuracy_counts.requests;
            entry->stages = follower->accuracy_stages;
        }
    }
    bool fails = status != VT_OK && made->performance == NULL;
    if (made->performance != NULL || fails) {
        struct vt_result_entry *entry = &entries[n++];
        *entry = *found;
        entry->mode = VT_PERFORMANCE;
        entry->test_mode = asked->mode;
        entry->target_qps = asked->scenario == VT_SERVER ? asked->server_target_qps : 0;
        if (made->performance != NULL) {
            vt_measure_adopt(entry, made->performance);
            entry->target_qps =
                asked->scenario == VT_SERVER ? made->performance->settings.server_target_qps : 0;
            made->performance = NULL;
        }
        if (asked->mode == VT_FIND_PEAK) {
            judge_peak(made, vt_measure_stopped(measure), entry);
        }
        vt_measure_finish(measure, fails ? status : VT_OK, failure, entry);
    }
    *ret_n = n;
    return fails ? VT_OK : status;
}

/* The test itself; find-peak from a lower rate where one that we chose ourselves does not hold. */
static enum vt_status run_test(struct follower *follower, struct vt_load_settings *settings,
                               bool chosen, const struct vt_test_logs *logs, struct vt_error *err,
                               struct vt_test_result *ret_made)
{
    struct vt_measure *measure = follower->measure;
    const struct vt_test_watch watch = {on_begin, follower};

    for (int start = 1;; start++) {
        enum vt_status status =
            vt_test_run(settings, vt_sut_seam(measure->session->sut), measure->qsl,
                        measure->control, logs, &watch, err, ret_made);
        const struct vt_load_report *report = ret_made->performance;
        bool lower = chosen && settings->mode == VT_FIND_PEAK && report != NULL &&
                     !report->performance_met && !report->interrupted && ret_made->peak_qps == 0;
        if (status != VT_OK || !lower || start == PEAK_STARTS || vt_measure_stopped(measure)) {
            return status;
        }
        vt_test_result_release(ret_made);
        settings->server_target_qps /= 10;
    }
}

enum vt_status vt_measure_test(struct vt_measure *measure, enum vt_scenario scenario,
                               enum vt_mode mode, const struct vt_test_logs *logs,
                               struct vt_error *err, struct vt_result_entry ret_entries[2],
                               uint32_t *ret_n)
{
    struct vt_load_settings settings;
    struct follower follower = {.measure = measure, .settings = &settings};
    struct vt_result_entry found = {.scenario = scenario, .mode = VT_PERFORMANCE};
    struct vt_test_result made = {0};
    struct vt_error failure = VT_ERROR_INIT;
    enum vt_status status;

    *ret_n = 0;
    vt_scenario_settings(measure->session, &measure->probe, scenario, mode, &settings);
    const bool chosen = settings.server_target_qps <= 0;
    if (find_expectations(measure, &settings, &failure, &status, &found)) {
        status = run_test(&follower, &settings, chosen, logs, &failure, &made);
        if (follower.runs > 0) {
            vt_measure_phase_end(measure);
        }
    } else if (status == VT_OK) {
        vt_measure_finish(measure, VT_OK, &failure, &found);
        ret_entries[(*ret_n)++] = found;
        return VT_OK;
    }
    bool nothing = made.accuracy == NULL && made.performance == NULL;
    if (status == VT_ERR_MEMORY || (nothing && vt_measure_stopped(measure))) {
        vt_test_result_release(&made);
        vt_load_report_free(found.report);
        return status == VT_ERR_MEMORY ? vt_error_set(err, status, "%s", failure.text)
                                       : vt_error_set(err, VT_ERR_INTERRUPTED, "%s was interrupted",
                                                      vt_scenario_name(scenario));
    }
    status = fill(measure, &follower, &made, status, &failure, &found, ret_entries, ret_n);
    vt_test_result_release(&made);
    /* What was measured is told, but its log could not be written. */
    return status == VT_OK ? VT_OK : vt_error_set(err, status, "%s", failure.text);
}

void vt_measure_peak_plan(const struct vt_measure *measure, const struct vt_load_settings *settings,
                          char *text, size_t size, int64_t *ret_expected_ns)
{
    struct vt_load_settings s = *settings;
    char each[32];

    if (s.server_target_qps <= 0) {
        s.server_target_qps = measure->probe.samples_per_s * PEAK_SHARE;
    }
    /* Widened by factors to about what the system can, then bisected between two of them. */
    double factor = 1 + s.server_find_peak_qps_boundary_step_size;
    double ratio = measure->probe.samples_per_s / s.server_target_qps;
    double widen = ratio > 1 ? ceil(log(ratio) / log(factor)) : 1;
    double span = measure->probe.samples_per_s *
                  pow(10, (double)s.server_find_peak_qps_decimals_of_precision);
    double runs = 1 + widen + (span > 2 ? ceil(log2(span)) : 1);
    int64_t run_ns = vt_scenario_expected_ns(&s, &measure->probe, 0);

    *ret_expected_ns = (int64_t)(runs * (double)run_ns);
    (void)snprintf(text, size,
                   "Server's rate is searched for as LoadGen's FindPeakPerformance does: about "
                   "%.0f runs of %s, from %.4g queries/s",
                   runs, vt_duration_text(run_ns, each, sizeof each), s.server_target_qps);
}
