/* SPDX-License-Identifier: Apache-2.0 */
#include "run/rules.h"

#include <stdarg.h>
#include <stdio.h>

static void VT_PRINTF(2, 3) add(struct vt_reasons *reasons, const char *fmt, ...)
{
    va_list args;

    if (reasons->n == VT_REASONS_MAX) {
        return;
    }
    va_start(args, fmt);
    (void)vsnprintf(reasons->text[reasons->n], sizeof reasons->text[0], fmt, args);
    va_end(args);
    reasons->n++;
}

/* Seeds, arrivals and the drawing of numbers: the queries have to be those of everybody else. */
static void judge_queries(const struct vt_load_settings *s, const struct vt_load_settings *round,
                          const char *name, struct vt_reasons *reasons)
{
    if (s->qsl_rng_seed != round->qsl_rng_seed ||
        s->sample_index_rng_seed != round->sample_index_rng_seed ||
        s->schedule_rng_seed != round->schedule_rng_seed) {
        add(reasons,
            "the seeds are not those of %s (leave --set …_rng_seed and seeds in --mlperf-conf out, "
            "or name their --round)",
            name);
    }
    if (s->bounded_method != VT_BOUNDED_LEMIRE) {
        add(reasons, "samples are drawn as libstdc++ 10 did (leave --bounded-method out)");
    }
    if (s->scenario == VT_SERVER && s->arrivals != VT_ARRIVALS_POISSON) {
        add(reasons, "outside the rules: arrivals are %s, not poisson (leave --arrivals out)",
            s->arrivals == VT_ARRIVALS_CONSTANT ? "constant" : "a recorded trace");
    }
    if (s->test05) {
        add(reasons, "test05 is a compliance test (leave it out of the configuration files)");
    }
    if (s->performance_issue_unique || s->performance_issue_same) {
        add(reasons, "performance_issue_%s is for compliance tests (leave it out)",
            s->performance_issue_same ? "same" : "unique");
    }
    if (s->sample_concatenate_permutation != round->sample_concatenate_permutation) {
        add(reasons, "sample_concatenate_permutation is %s, the round has %s (leave it out)",
            s->sample_concatenate_permutation ? "on" : "off",
            round->sample_concatenate_permutation ? "on" : "off");
    }
}

static double percentile_of(const struct vt_load_settings *s)
{
    switch (s->scenario) {
    case VT_SERVER:
        return s->server_target_latency_percentile;
    case VT_SINGLESTREAM:
        return s->single_stream_target_latency_percentile;
    case VT_MULTISTREAM:
        return s->multi_stream_target_latency_percentile;
    default:
        return 0;
    }
}

static void judge_limit(const char *what, int64_t ns, int64_t most_ns, const char *option,
                        struct vt_reasons *reasons)
{
    if (ns > most_ns) {
        add(reasons, "%s %.4g ms, the round allows %.4g ms (leave %s out)", what, (double)ns / 1e6,
            (double)most_ns / 1e6, option);
    }
}

/* What is measured, and against which limit. */
static void judge_limits(const struct vt_load_settings *s, const struct vt_load_settings *round,
                         bool known, struct vt_reasons *reasons)
{
    if (percentile_of(s) != percentile_of(round)) {
        add(reasons,
            "the percentile is %.6g, the round has %.6g (leave it out of --set and the files)",
            100 * percentile_of(s), 100 * percentile_of(round));
    }
    if (s->scenario == VT_MULTISTREAM &&
        s->multi_stream_samples_per_query != round->multi_stream_samples_per_query) {
        add(reasons, "%llu samples a query, the rules have %llu (leave --samples-per-query out)",
            (unsigned long long)s->multi_stream_samples_per_query,
            (unsigned long long)round->multi_stream_samples_per_query);
    }
    if (!known) {
        return;
    }
    if (s->use_token_latencies != round->use_token_latencies) {
        add(reasons, round->use_token_latencies
                         ? "the benchmark is measured by its tokens (leave --no-tokens out)"
                         : "the benchmark is not measured by its tokens (leave --tokens out)");
        return;
    }
    if (s->scenario != VT_SERVER) {
        return;
    }
    if (!s->use_token_latencies || s->server_target_latency_ns > 0) {
        judge_limit("latency up to", s->server_target_latency_ns, round->server_target_latency_ns,
                    "--max-latency", reasons);
    }
    if (s->use_token_latencies) {
        judge_limit("first token up to", s->server_ttft_latency_ns, round->server_ttft_latency_ns,
                    "--ttft-latency", reasons);
        judge_limit("further token up to", s->server_tpot_latency_ns, round->server_tpot_latency_ns,
                    "--tpot-latency", reasons);
    }
}

static void judge_amounts(const struct vt_load_report *report, const struct vt_load_settings *round,
                          bool known, struct vt_reasons *reasons)
{
    const struct vt_load_settings *s = &report->settings;
    const bool offline = s->scenario == VT_OFFLINE;
    const uint64_t had = offline ? report->samples_issued : report->queries_issued;

    if (s->min_duration_ns < round->min_duration_ns) {
        add(reasons, "%.4g s < %.4g s (add --official)", (double)s->min_duration_ns / 1e9,
            (double)round->min_duration_ns / 1e9);
    }
    if (had < round->min_query_count) {
        add(reasons, "%llu %s < %llu (add --official)", (unsigned long long)had,
            offline ? "samples" : "queries", (unsigned long long)round->min_query_count);
    }
    if (report->capped) {
        add(reasons, "the run was cut short by a limit (leave --max-duration and --set max_… out)");
    }
    if (known &&
        report->effective.performance_sample_count < round->performance_sample_count_override) {
        add(reasons,
            "%llu samples are loaded for performance, the round asks for %llu (give the whole data "
            "set, and leave --performance-sample-count out)",
            (unsigned long long)report->effective.performance_sample_count,
            (unsigned long long)round->performance_sample_count_override);
    }
}

static void judge_performance(const struct vt_session *session, const struct vt_load_report *report,
                              struct vt_reasons *reasons)
{
    const struct vt_load_plan *plan = session->plan;
    const struct vt_load_settings *round = &plan->round_settings[report->settings.scenario];

    judge_amounts(report, round, plan->benchmark_known, reasons);
    judge_limits(&report->settings, round, plan->benchmark_known, reasons);
    judge_queries(&report->settings, round, plan->round, reasons);
}

static void judge_accuracy(const struct vt_session *session, const struct vt_load_report *report,
                           struct vt_reasons *reasons)
{
    const struct vt_load_settings *round =
        &session->plan->round_settings[report->settings.scenario];
    uint64_t needed = round->accuracy_sample_count_override;

    if (needed == 0) {
        needed = report->qsl_total_count;
    }
    if (report->effective.accuracy_sample_count < needed) {
        add(reasons,
            "accuracy of %llu samples, the rules have %llu (leave --set "
            "accuracy_sample_count_override out)",
            (unsigned long long)report->effective.accuracy_sample_count,
            (unsigned long long)needed);
    }
}

void vt_rules_judge(const struct vt_session *session, struct vt_result_entry *entry)
{
    const struct vt_load_report *report = entry->report;
    const struct vt_load_plan *plan = session->plan;

    entry->rules.n = 0;
    if (!plan->benchmark_known) {
        add(&entry->rules, "%s is not a benchmark of MLPerf Inference %s%s",
            plan->benchmark[0] != '\0' ? plan->benchmark : vt_model_source_name(&session->source),
            plan->round, plan->benchmark[0] != '\0' ? " (see --benchmark)" : "");
    }
    if (entry->test_mode == VT_FIND_PEAK) {
        add(&entry->rules, "find-peak only looks for a rate (measure at one: --mode performance)");
    }
    if (session->source.random_weights) {
        add(&entry->rules, "the weights are random (give trained ones with --weights FILE.onnx)");
    }
    if (report != NULL && entry->mode == VT_PERFORMANCE) {
        judge_performance(session, report, &entry->rules);
    }
    if (report != NULL && entry->mode == VT_ACCURACY) {
        judge_accuracy(session, report, &entry->rules);
    }
    if (session->job->sample_count > 0) {
        add(&entry->rules, "only a part of the dataset was used (leave --sample-count out)");
    }
    if (session->info.skipped > 0) {
        add(&entry->rules, "%llu samples could not be read and were left out",
            (unsigned long long)session->info.skipped);
    }
    if (report == NULL || !entry->valid) {
        add(&entry->rules, "the run is not valid");
    }
    entry->rules_met = entry->rules.n == 0;
}
