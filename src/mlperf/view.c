/* SPDX-License-Identifier: Apache-2.0 */
#include "mlperf/view.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "load/early_stopping.h"

static double rate(double n, int64_t ns)
{
    return ns > 0 ? n / ((double)ns / 1e9) : 0;
}

/* The last sample is the open end of the span. */
static double less_one(uint64_t n)
{
    return n > 0 ? (double)(n - 1) : 0;
}

static void derive_rates(struct vt_mlperf_view *v)
{
    const struct vt_load_report *r = v->report;
    int64_t last_scheduled = r->n_records > 0 ? r->records[r->n_records - 1].scheduled_ns : 0;
    uint64_t n = r->samples_completed;

    v->completed_rate = r->settings.scenario == VT_OFFLINE
                            ? rate((double)n, r->latency.max_ns)
                            : rate(less_one(n), r->last_query_done_ns);
    v->scheduled_rate = rate(less_one(n), last_scheduled);
    v->rate_with_overhead = rate(less_one(n), r->last_issue_ns);
    v->rate_without_overhead = rate(1, r->latency.mean_ns);
}

static void derive_token_rates(struct vt_mlperf_view *v)
{
    const struct vt_load_report *r = v->report;
    bool offline = r->settings.scenario == VT_OFFLINE;
    int64_t span = offline ? r->latency.max_ns : r->last_query_done_ns;
    double tokens = (double)r->token.tokens;

    if (r->settings.use_token_latencies) {
        v->token_rate = rate(tokens, span);
        v->token_rate_with_overhead = rate(tokens, r->last_issue_ns);
        v->token_rate_without_overhead =
            r->samples_completed > 0
                ? rate(tokens / (double)r->samples_completed, r->latency.mean_ns)
                : 0;
    }
    if (r->settings.infer_token_latencies) {
        double factor = (double)r->settings.token_latency_scaling_factor;
        double n = offline ? (double)r->samples_completed : less_one(r->samples_completed);
        v->inferred_token_rate = rate(factor * n, span);
    }
}

static void add_line(char text[VT_EARLY_TEXT_MAX], const char *fmt, ...) VT_PRINTF(2, 3);
static void add_line(char text[VT_EARLY_TEXT_MAX], const char *fmt, ...)
{
    size_t used = strlen(text);
    va_list args;

    if (used > 0 && used + 1 < VT_EARLY_TEXT_MAX) {
        text[used++] = '\n';
        text[used] = '\0';
    }
    va_start(args, fmt);
    (void)vsnprintf(text + used, VT_EARLY_TEXT_MAX - used, fmt, args);
    va_end(args);
}

/* Queries all of whose samples completed. */
static uint64_t complete_queries(const struct vt_load_report *r)
{
    uint64_t n = 0;

    if (r->samples_lost == 0) {
        return r->queries_issued;
    }
    for (uint64_t i = 0; i < r->n_records;) {
        uint32_t query = r->records[i].query;
        bool lost = false;
        for (; i < r->n_records && r->records[i].query == query; i++) {
            lost |= r->records[i].done_ns == VT_RECORD_LOST;
        }
        n += !lost;
    }
    return n;
}

struct estimate {
    int64_t target_ns;   /* at the scenario's percentile */
    int64_t inferred_ns; /* SingleStream; 0: too few queries */
};

/* SingleStream and MultiStream. */
static void stream_text(const struct vt_load_report *r, uint64_t n, struct estimate estimate,
                        char text[VT_EARLY_TEXT_MAX])
{
    double p = r->effective.percentile;
    uint64_t needed = vt_early_stopping_passing(1, p) + 1;
    uint64_t over = vt_early_stopping_over(n, p);

    if (over == 0) {
        add_line(text, " * Only processed %" PRIu64 " queries.", n);
        add_line(text, " * Need to process at least %" PRIu64 " queries for early stopping.",
                 needed);
        return;
    }
    add_line(text, " * Processed at least %" PRIu64 " queries (%" PRIu64 ").", needed, n);
    add_line(text, " * Would discard %" PRIu64 " highest latency queries.", over - 1);
    add_line(text, " * Early stopping %.1fth percentile estimate: %" PRId64, p * 100,
             estimate.target_ns);
    if (r->settings.scenario != VT_SINGLESTREAM) {
        return;
    }
    if (vt_early_stopping_over(n, VT_INFERRED_PERCENTILE) > 0) {
        add_line(text, " * Early stopping %.1fth percentile estimate: %" PRId64,
                 VT_INFERRED_PERCENTILE * 100, estimate.inferred_ns);
    } else {
        add_line(text, " * Not enough queries processed for %.1fth percentile",
                 VT_INFERRED_PERCENTILE * 100);
        add_line(text, " early stopping estimate (would need to process at");
        add_line(text, " least %" PRIu64 " total queries).",
                 vt_early_stopping_passing(1, VT_INFERRED_PERCENTILE) + 1);
    }
}

static void server_text(const struct vt_load_report *r, uint64_t over, char text[VT_EARLY_TEXT_MAX])
{
    uint64_t needed = vt_early_stopping_passing(over, r->effective.percentile) + over;

    if (r->queries_issued >= needed) {
        add_line(text, " * Run successful.");
        return;
    }
    add_line(text, " * Run unsuccessful.");
    add_line(text, " * Processed %" PRIu64 " queries.", r->queries_issued);
    add_line(text, " * Would need to run at least %" PRIu64 " more queries,",
             needed - r->queries_issued);
    add_line(text, " with the run being successful if every additional");
    add_line(text, " query were under latency.");
}

static void early_stopping_stream(struct vt_mlperf_view *v)
{
    const struct vt_load_report *r = v->report;
    const struct vt_token_report *t = &r->token;
    bool single = r->settings.scenario == VT_SINGLESTREAM;
    uint64_t n = complete_queries(r);
    /* With tokens these are of the last that was looked at: the first token, when all was well. */
    const struct estimate last = {r->early_stopping_estimate_ns, r->early_stopping_p99_ns};

    if (r->settings.use_token_latencies) {
        stream_text(r, n, (struct estimate){t->per_output_estimate_ns, t->per_output_p99_ns},
                    v->early_per_output);
        if (t->per_output_early_stopping_met) {
            stream_text(r, n, last, v->early_first_token);
        }
    } else {
        stream_text(r, n, last, v->early_stopping);
    }
    v->early_single_ns = single ? last.target_ns : 0;
    v->early_multi_ns = single ? last.inferred_ns : last.target_ns;
}

static void derive_early_stopping(struct vt_mlperf_view *v)
{
    const struct vt_load_report *r = v->report;

    if (r->settings.scenario == VT_OFFLINE) {
        return;
    }
    if (r->settings.scenario != VT_SERVER) {
        early_stopping_stream(v);
    } else if (!r->settings.use_token_latencies) {
        server_text(r, r->overlatency_queries, v->early_stopping);
    } else {
        server_text(r, r->token.overlatency_per_output, v->early_per_output);
        if (r->token.per_output_early_stopping_met) {
            server_text(r, r->token.overlatency_first, v->early_first_token);
        }
    }
}

#define TTFT_ADVICE "TTFT constrain not met: Reduce target QPS to improve latency."
#define TPOT_ADVICE "TPOT constrain not met: Reduce target QPS to improve latency."

const char *vt_mlperf_performance_advice(const struct vt_load_report *report)
{
    const struct vt_token_report *t = &report->token;

    if (!report->settings.use_token_latencies || (t->first_met && t->per_output_met)) {
        return "Reduce target QPS to improve latency.";
    }
    return t->first_met        ? TPOT_ADVICE
           : t->per_output_met ? TTFT_ADVICE
                               : TTFT_ADVICE "\n * " TPOT_ADVICE;
}

static const char *duration_advice(enum vt_scenario scenario)
{
    switch (scenario) {
    case VT_OFFLINE:
        return "Increase expected QPS so the loadgen pre-generates a larger (coalesced) query.";
    case VT_SERVER:
        return "Increase the target QPS so the loadgen pre-generates more queries.";
    case VT_SINGLESTREAM:
    case VT_MULTISTREAM:
    case VT_SCENARIO_COUNT:
        break;
    }
    return "Decrease the expected latency so the loadgen pre-generates more queries.";
}

static void derive_advice(struct vt_mlperf_view *v)
{
    const struct vt_load_report *r = v->report;

    v->advice_performance = r->performance_met ? NULL : vt_mlperf_performance_advice(r);
    v->advice_duration = r->min_duration_met ? NULL : duration_advice(r->settings.scenario);
    v->advice_queries =
        r->min_queries_met ? NULL : "The test exited early, before enough queries were issued.";
}

void vt_mlperf_view_init(struct vt_mlperf_view *view, const struct vt_load_report *report,
                         enum vt_mode mode)
{
    *view = (struct vt_mlperf_view){.report = report, .mode = mode};
    view->valid = report->valid && report->min_duration_met && report->min_queries_met &&
                  report->performance_met && report->early_stopping_met;
    derive_rates(view);
    derive_token_rates(view);
    derive_advice(view);
    derive_early_stopping(view);
}
