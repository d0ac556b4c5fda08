/* SPDX-License-Identifier: Apache-2.0 */
/* mlperf_log_summary.txt: the lines of LoadGen 6.0.17, which other tools match by pattern. */
#include <inttypes.h>

#include "base/clock.h"
#include "mlperf/view.h"

static const char rule[] = "================================================\n";

static void put_heading(FILE *out, const char *heading)
{
    fprintf(out, "%s%s\n%s", rule, heading, rule);
}

static const char *yes_no(bool met)
{
    return met ? "Yes" : "NO";
}

static void put_verdict(const struct vt_mlperf_view *v, FILE *out)
{
    const struct vt_load_report *r = v->report;

    fprintf(out, "Result is : %s\n", v->valid ? "VALID" : "INVALID");
    if (r->settings.scenario == VT_SERVER) {
        fprintf(out, "  Performance constraints satisfied : %s\n", yes_no(r->performance_met));
    }
    fprintf(out, "  Min duration satisfied : %s\n", yes_no(r->min_duration_met));
    fprintf(out, "  Min queries satisfied : %s\n", yes_no(r->min_queries_met));
    fprintf(out, "  Early stopping satisfied: %s\n", yes_no(r->early_stopping_met));
    if (!v->valid) {
        fputs("Recommendations:\n", out);
        for (uint32_t i = 0; i < v->n_recommendations; i++) {
            fprintf(out, " * %s\n", v->recommendations[i]);
        }
    }
    if (v->early_stopping[0] != '\0') {
        fprintf(out, "Early Stopping Result:\n%s\n", v->early_stopping);
    }
    putc('\n', out);
}

static void put_headline(const struct vt_mlperf_view *v, FILE *out)
{
    switch (v->report->settings.scenario) {
    case VT_OFFLINE:
        fprintf(out, "Samples per second: %g\n", v->completed_rate);
        break;
    case VT_SERVER:
        fprintf(out, "Completed samples per second    : %.2f\n", v->completed_rate);
        break;
    case VT_SINGLESTREAM:
    case VT_MULTISTREAM:
    case VT_SCENARIO_COUNT:
        fprintf(out, "%.1fth percentile latency (ns) : %" PRId64 "\n",
                v->effective.percentile * 100, v->target_latency_ns);
        break;
    }
}

static void put_statistics(const struct vt_mlperf_view *v, FILE *out)
{
    const struct vt_load_report *r = v->report;
    const struct vt_latency_stats *l = &r->latency;

    put_heading(out, "Additional Stats");
    if (r->settings.scenario == VT_SINGLESTREAM) {
        fprintf(out, "QPS w/ loadgen overhead         : %.2f\n", v->rate_with_overhead);
        fprintf(out, "QPS w/o loadgen overhead        : %.2f\n\n", v->rate_without_overhead);
    } else if (r->settings.scenario == VT_SERVER) {
        fprintf(out, "Scheduled samples per second : %.2f\n", v->scheduled_rate);
    } else if (r->settings.scenario == VT_MULTISTREAM) {
        fputs("Per-query latency:  \n", out);
        l = &r->query_latency;
    }
    const struct {
        const char *text;
        int64_t ns;
    } lines[] = {
        {"Min latency (ns)                : ", l->min_ns},
        {"Max latency (ns)                : ", l->max_ns},
        {"Mean latency (ns)               : ", l->mean_ns},
        {"50.00 percentile latency (ns)   : ", l->p50_ns},
        {"90.00 percentile latency (ns)   : ", l->p90_ns},
        {"95.00 percentile latency (ns)   : ", l->p95_ns},
        {"97.00 percentile latency (ns)   : ", l->p97_ns},
        {"99.00 percentile latency (ns)   : ", l->p99_ns},
        {"99.90 percentile latency (ns)   : ", l->p99_9_ns},
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        fprintf(out, "%s%" PRId64 "\n", lines[i].text, lines[i].ns);
    }
    putc('\n', out);
}

static void put_parameters(const struct vt_mlperf_view *v, FILE *out)
{
    const struct vt_load_settings *s = &v->report->settings;
    const struct vt_load_effective *e = &v->effective;
    bool server = s->scenario == VT_SERVER;

    put_heading(out, "Test Parameters Used");
    fprintf(out, "samples_per_query : %" PRIu64 "\n", e->samples_per_query);
    fprintf(out, "target_qps : %g\n", e->target_qps);
    fprintf(out, "target_latency (ns): %" PRId64 "\n", server ? s->server_target_latency_ns : 0);
    fprintf(out, "max_async_queries : %d\n", server ? 0 : 1);
    fprintf(out, "min_duration (ms): %" PRId64 "\n", s->min_duration_ns / VT_NS_PER_MS);
    fprintf(out, "max_duration (ms): %" PRId64 "\n", s->max_duration_ns / VT_NS_PER_MS);
    fprintf(out, "min_query_count : %" PRIu64 "\n", e->min_query_count);
    fprintf(out, "max_query_count : %" PRIu64 "\n", s->max_query_count);
    fprintf(out, "qsl_rng_seed : %" PRIu64 "\n", s->qsl_rng_seed);
    fprintf(out, "sample_index_rng_seed : %" PRIu64 "\n", s->sample_index_rng_seed);
    fprintf(out, "schedule_rng_seed : %" PRIu64 "\n", s->schedule_rng_seed);
    fputs("accuracy_log_rng_seed : 0\n"
          "accuracy_log_probability : 0\n"
          "accuracy_log_sampling_target : 0\n"
          "print_timestamps : 0\n",
          out);
    fprintf(out, "performance_issue_unique : %d\n", s->performance_issue_unique);
    fprintf(out, "performance_issue_same : %d\n", s->performance_issue_same);
    fprintf(out, "performance_issue_same_index : %" PRIu64 "\n", s->performance_issue_same_index);
    fprintf(out, "performance_sample_count : %" PRIu64 "\n", e->performance_sample_count);
    fprintf(out, "accuracy_sample_count : %" PRIu64 "\n", e->accuracy_sample_count);
}

void vt_mlperf_summary_print(const struct vt_mlperf_view *v, FILE *out)
{
    const struct vt_load_report *r = v->report;

    if (r->settings.mode == VT_PERFORMANCE) {
        put_heading(out, "MLPerf Results Summary");
        fprintf(out, "SUT name : %s\n", r->sut_name != NULL ? r->sut_name : "");
        fprintf(out, "Scenario : %s\n", vt_scenario_name(r->settings.scenario));
        fputs("Mode     : PerformanceOnly\n", out);
        put_headline(v, out);
        put_verdict(v, out);
        put_statistics(v, out);
        put_parameters(v, out);
    }
    fputs("\nNo warnings encountered during test.\n\n", out);
    if (v->n_errors == 0) {
        fputs("No errors encountered during test.\n", out);
    } else {
        fprintf(out, "%" PRIu32 " ERROR%s encountered. See detailed log.\n", v->n_errors,
                v->n_errors == 1 ? "" : "S");
    }
}
