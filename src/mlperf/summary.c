/* SPDX-License-Identifier: Apache-2.0 */
#include "mlperf/summary.h"

#include <inttypes.h>

#include "core/query.h"

static const char rule[] = "================================================\n";

static void put_heading(FILE *out, const char *heading)
{
    fprintf(out, "%s%s\n%s", rule, heading, rule);
}

/* A name from outside must not make lines of its own. */
static void put_name(const char *name, FILE *out)
{
    for (; name != NULL && *name != '\0'; name++) {
        unsigned char c = (unsigned char)*name;
        putc(c < 0x20 || c == 0x7f ? '?' : c, out);
    }
    putc('\n', out);
}

static const char *yes_no(bool met)
{
    return met ? "Yes" : "NO";
}

static void put_headline(const struct vt_mlperf_view *v, FILE *out)
{
    const struct vt_load_report *r = v->report;

    switch (r->settings.scenario) {
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
                r->effective.percentile * 100, r->target_latency_ns);
        break;
    }
}

static void put_token_headline(const struct vt_mlperf_view *v, FILE *out)
{
    const struct vt_load_report *r = v->report;

    switch (r->settings.scenario) {
    case VT_OFFLINE:
        fprintf(out, "Tokens per second: %g\n", v->token_rate);
        break;
    case VT_SERVER:
        fprintf(out, "Completed tokens per second: %.2f\n", v->token_rate);
        break;
    case VT_SINGLESTREAM:
    case VT_MULTISTREAM:
    case VT_SCENARIO_COUNT:
        fprintf(out, "%.1fth first token percentile latency (ns) : %" PRId64 "\n",
                r->effective.percentile * 100, r->token.first_target_ns);
        break;
    }
}

static void put_inferred_headline(const struct vt_mlperf_view *v, FILE *out)
{
    if (v->report->settings.scenario == VT_OFFLINE) {
        fprintf(out, "Tokens per second (inferred): %g\n", v->inferred_token_rate);
    } else if (v->report->settings.scenario == VT_SERVER) {
        fprintf(out, "Completed tokens per second (inferred): %.2f\n", v->inferred_token_rate);
    }
}

static void put_advice(const struct vt_mlperf_view *v, FILE *out)
{
    fputs("Recommendations:\n", out);
    if (v->advice_performance != NULL) {
        fprintf(out, " * %s\n", v->advice_performance);
    }
    if (v->advice_duration != NULL) {
        fprintf(out, " * %s\n", v->advice_duration);
    }
    if (v->advice_queries != NULL) {
        fprintf(out, " * %s\n   See the detailed log for why this may have occurred.\n",
                v->advice_queries);
    }
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
        put_advice(v, out);
    }
    if (r->settings.scenario == VT_OFFLINE) {
        return;
    }
    if (r->settings.use_token_latencies) {
        fprintf(out, "TTFT Early Stopping Result:\n%s\n", v->early_first_token);
        fprintf(out, "TPOT Early Stopping Result:\n%s\n", v->early_per_output);
    } else {
        fprintf(out, "Early Stopping Result:\n%s\n", v->early_stopping);
    }
}

/* What the lines of a block of statistics begin with. */
struct labels {
    const char *min, *max, *mean, *percentile;
};

static void put_block(const struct vt_latency_stats *l, const struct labels *labels, FILE *out)
{
    static const char *const percentiles[] = {"50.00", "90.00", "95.00", "97.00", "99.00", "99.90"};
    const int64_t values[] = {l->p50_ns, l->p90_ns, l->p95_ns, l->p97_ns, l->p99_ns, l->p99_9_ns};

    fprintf(out, "%s%" PRId64 "\n", labels->min, l->min_ns);
    fprintf(out, "%s%" PRId64 "\n", labels->max, l->max_ns);
    fprintf(out, "%s%" PRId64 "\n", labels->mean, l->mean_ns);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        fprintf(out, "%s%s%" PRId64 "\n", percentiles[i], labels->percentile, values[i]);
    }
}

static void put_tokens(const struct vt_mlperf_view *v, FILE *out)
{
    static const struct labels first = {
        "Min First Token latency (ns)                : ",
        "Max First Token latency (ns)                : ",
        "Mean First Token latency (ns)               : ",
        " percentile first token latency (ns)   : ",
    };
    static const struct labels per_output = {
        "Min Time per Output Token (ns)                : ",
        "Max Time per Output Token (ns)                : ",
        "Mean Time per Output Token (ns)               : ",
        " percentile time to output token (ns)   : ",
    };
    const struct vt_load_report *r = v->report;

    putc('\n', out);
    if (r->settings.scenario == VT_SINGLESTREAM) {
        fprintf(out, "TPS w/ loadgen overhead         : %.2f\n", v->token_rate_with_overhead);
        fprintf(out, "TPS w/o loadgen overhead        : %.2f\n", v->token_rate_without_overhead);
    } else if (r->settings.scenario == VT_SERVER) {
        fprintf(out, "Completed tokens per second                 : %.2f\n", v->token_rate);
    }
    if (r->settings.scenario != VT_OFFLINE) {
        put_block(&r->token.first, &first, out);
        putc('\n', out);
        put_block(&r->token.per_output, &per_output, out);
    }
}

static void put_statistics(const struct vt_mlperf_view *v, FILE *out)
{
    static const struct labels labels = {
        "Min latency (ns)                : ",
        "Max latency (ns)                : ",
        "Mean latency (ns)               : ",
        " percentile latency (ns)   : ",
    };
    const struct vt_load_report *r = v->report;
    bool multi = r->settings.scenario == VT_MULTISTREAM;

    if (r->settings.scenario == VT_SINGLESTREAM) {
        fprintf(out, "QPS w/ loadgen overhead         : %.2f\n", v->rate_with_overhead);
        fprintf(out, "QPS w/o loadgen overhead        : %.2f\n\n", v->rate_without_overhead);
    } else if (r->settings.scenario == VT_SERVER) {
        fprintf(out, "Scheduled samples per second : %.2f\n", v->scheduled_rate);
    } else if (multi) {
        fputs("Per-query latency:  \n", out);
    }
    put_block(multi ? &r->query_latency : &r->latency, &labels, out);
    if (r->settings.use_token_latencies) {
        put_tokens(v, out);
    }
}

static void put_parameters(const struct vt_mlperf_view *v, FILE *out)
{
    struct vt_mlperf_settings settings;
    char text[VT_FIELD_TEXT_MAX];
    size_t n;
    const struct vt_mlperf_field *fields = vt_mlperf_fields(VT_LIST_PARAMETERS, &n);

    vt_mlperf_settings_of(&v->report->settings, &v->report->effective, &settings);
    for (size_t i = 0; i < n; i++) {
        if (vt_mlperf_field_applies(&fields[i], &settings)) {
            vt_mlperf_field_text(&fields[i], &settings, false, text);
            fprintf(out, "%s%s\n", fields[i].label, text);
        }
    }
    if (settings.asked.sample_concatenate_permutation) {
        fputs("WARNING: sample_concatenate_permutation was set to true. \n"
              "Generated samples per query might be different as the one in the setting.\n"
              "Check the generated_samples_per_query line in the detailed log for the real\n"
              "samples_per_query value\n",
              out);
    }
}

void vt_summary_result(const struct vt_mlperf_view *v, FILE *out)
{
    const struct vt_load_report *r = v->report;

    put_heading(out, "MLPerf Results Summary");
    fputs("SUT name : ", out);
    put_name(r->sut_name, out);
    fprintf(out, "Scenario : %s\n", vt_scenario_name(r->settings.scenario));
    fprintf(out, "Mode     : %s\n", vt_mode_name(v->mode));
    put_headline(v, out);
    if (r->settings.use_token_latencies) {
        put_token_headline(v, out);
    }
    if (r->settings.infer_token_latencies) {
        put_inferred_headline(v, out);
    }
    put_verdict(v, out);
    putc('\n', out);
    put_heading(out, "Additional Stats");
    put_statistics(v, out);
    putc('\n', out);
    put_heading(out, "Test Parameters Used");
    put_parameters(v, out);
}

void vt_summary_end(uint64_t warnings, uint64_t errors, FILE *out)
{
    if (warnings == 0) {
        fputs("\nNo warnings encountered during test.\n", out);
    } else {
        fprintf(out, "\n%" PRIu64 " warning%s encountered. See detailed log.\n", warnings,
                warnings == 1 ? "" : "s");
    }
    if (errors == 0) {
        fputs("\nNo errors encountered during test.\n", out);
    } else {
        fprintf(out, "\n%" PRIu64 " ERROR%s encountered. See detailed log.\n", errors,
                errors == 1 ? "" : "S");
    }
}
