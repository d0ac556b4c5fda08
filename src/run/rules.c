/* SPDX-License-Identifier: Apache-2.0 */
#include "run/rules.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "run/scenario.h"

/* The benchmarks of the round, by the names that its mlperf.conf gives them. */
static const char *const benchmarks[] = {
    "resnet50", "retinanet", "bert", "dlrm-v2", "rnnt", "3d-unet",
};

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

static bool is_benchmark(const char *model)
{
    for (size_t i = 0; i < sizeof benchmarks / sizeof benchmarks[0]; i++) {
        if (strcmp(model, benchmarks[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void judge_performance(const struct vt_load_report *report, struct vt_reasons *reasons)
{
    const struct vt_load_settings *s = &report->settings;
    uint64_t needed = 0;
    uint64_t had = report->queries_issued;
    const char *what = "queries";

    if (s->min_duration_ns < VT_ROUND_MIN_DURATION_NS) {
        add(reasons, "%.4g s < 600 s (add --official)", (double)s->min_duration_ns / 1e9);
    }
    switch (s->scenario) {
    case VT_OFFLINE:
        needed = VT_ROUND_OFFLINE_SAMPLES;
        had = report->samples_issued;
        what = "samples";
        break;
    case VT_MULTISTREAM:
        needed = VT_ROUND_MULTISTREAM_QUERIES;
        if (s->multi_stream_samples_per_query != VT_ROUND_SAMPLES_PER_QUERY) {
            add(reasons, "%u samples a query, the rules have 8 (leave --samples-per-query out)",
                s->multi_stream_samples_per_query);
        }
        break;
    default:
        needed = VT_ROUND_DEFAULT_QUERIES;
        break;
    }
    if (had < needed) {
        add(reasons, "%llu %s < %llu (add --official)", (unsigned long long)had, what,
            (unsigned long long)needed);
    }
}

void vt_rules_judge(const struct vt_session *session, struct vt_result_entry *entry)
{
    const struct vt_load_report *report = entry->report;
    const char *model = vt_model_source_name(&session->source);

    entry->rules.n = 0;
    if (!is_benchmark(model)) {
        add(&entry->rules, "%s is not a benchmark of MLPerf Inference " VT_ROUND, model);
    }
    if (report != NULL && entry->mode == VT_PERFORMANCE) {
        judge_performance(report, &entry->rules);
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
