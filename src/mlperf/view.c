/* SPDX-License-Identifier: Apache-2.0 */
#include "mlperf/view.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/alloc.h"
#include "load/early_stopping.h"
#include "load/stats.h"

static double rate(uint64_t n, int64_t ns)
{
    return ns > 0 ? (double)n / ((double)ns / 1e9) : 0;
}

static uint64_t less_one(uint64_t n)
{
    return n > 0 ? n - 1 : 0;
}

static void derive_rates(struct vt_mlperf_view *v)
{
    const struct vt_load_report *r = v->report;
    int64_t last_scheduled = r->n_records > 0 ? r->records[r->n_records - 1].scheduled_ns : 0;

    if (r->settings.scenario == VT_OFFLINE) {
        v->completed_rate = rate(r->samples_completed, r->latency.max_ns);
    } else {
        v->completed_rate = rate(less_one(r->queries_issued), r->last_query_done_ns);
    }
    v->scheduled_rate = rate(less_one(r->queries_issued), last_scheduled);
    v->rate_with_overhead = rate(less_one(r->queries_issued), r->last_issue_ns);
    v->rate_without_overhead = rate(1, r->latency.mean_ns);
    if (r->metric.name != NULL &&
        (r->settings.scenario == VT_SINGLESTREAM || r->settings.scenario == VT_MULTISTREAM)) {
        v->target_latency_ns = (int64_t)r->metric.value;
    }
}

static void add_line(struct vt_mlperf_view *v, const char *fmt, ...) VT_PRINTF(2, 3);
static void add_line(struct vt_mlperf_view *v, const char *fmt, ...)
{
    size_t used = strlen(v->early_stopping);
    va_list args;

    if (used > 0 && used + 1 < sizeof v->early_stopping) {
        v->early_stopping[used++] = '\n';
        v->early_stopping[used] = '\0';
    }
    va_start(args, fmt);
    (void)vsnprintf(v->early_stopping + used, sizeof v->early_stopping - used, fmt, args);
    va_end(args);
}

/* Queries all of whose samples completed. */
static uint64_t complete_queries(const struct vt_load_report *r)
{
    uint64_t n = 0;
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

/* SingleStream: the estimate at p99, from which MultiStream may be inferred. 0: too few queries. */
static enum vt_status estimate_p99(const struct vt_load_report *r, struct vt_error *err,
                                   int64_t *ret_ns)
{
    size_t n = 0, room = r->n_records;
    int64_t *values = vt_calloc(room, sizeof *values);
    int64_t *scratch = vt_calloc(room, sizeof *scratch);

    if (values == NULL || scratch == NULL) {
        vt_free(values);
        vt_free(scratch);
        return vt_error_set(err, VT_ERR_MEMORY, "no memory to sort the latencies of %zu samples",
                            room);
    }
    for (uint64_t i = 0; i < r->n_records; i++) {
        if (r->records[i].done_ns != VT_RECORD_LOST) {
            values[n++] = r->records[i].done_ns - r->records[i].scheduled_ns;
        }
    }
    vt_sort_ns(values, n, scratch);
    uint64_t over = vt_early_stopping_over(n, 0.99);
    *ret_ns = over > 0 ? values[n - over] : 0;
    vt_free(values);
    vt_free(scratch);
    return VT_OK;
}

/* SingleStream and MultiStream. */
static enum vt_status early_stopping_stream(struct vt_mlperf_view *v, struct vt_error *err)
{
    const struct vt_load_report *r = v->report;
    double p = v->effective.percentile;
    bool single = r->settings.scenario == VT_SINGLESTREAM;
    uint64_t n = complete_queries(r);
    uint64_t needed = vt_early_stopping_passing(1, p) + 1;
    uint64_t over = vt_early_stopping_over(n, p);

    if (over == 0) {
        add_line(v, " * Only processed %" PRIu64 " queries.", n);
        add_line(v, " * Need to process at least %" PRIu64 " queries for early stopping.", needed);
    } else {
        add_line(v, " * Processed at least %" PRIu64 " queries (%" PRIu64 ").", needed, n);
        add_line(v, " * Would discard %" PRIu64 " highest latency queries.", over - 1);
        add_line(v, " * Early stopping %.1fth percentile estimate: %" PRId64, p * 100,
                 r->early_stopping_estimate_ns);
    }
    if (!single) {
        v->early_multi_ns = r->early_stopping_estimate_ns;
        return VT_OK;
    }
    v->early_single_ns = r->early_stopping_estimate_ns;
    enum vt_status status = estimate_p99(r, err, &v->early_multi_ns);
    if (status != VT_OK || over == 0) {
        return status;
    }
    if (v->early_multi_ns != 0) {
        add_line(v, " * Early stopping 99.0th percentile estimate: %" PRId64, v->early_multi_ns);
    } else {
        add_line(v, " * Not enough queries processed for 99.0th percentile");
        add_line(v, " early stopping estimate (would need to process at");
        add_line(v, " least %" PRIu64 " total queries).", vt_early_stopping_passing(1, 0.99) + 1);
    }
    return VT_OK;
}

static enum vt_status derive_early_stopping(struct vt_mlperf_view *v, struct vt_error *err)
{
    const struct vt_load_report *r = v->report;

    if (r->settings.scenario == VT_OFFLINE) {
        return VT_OK;
    }
    if (r->settings.scenario != VT_SERVER) {
        return early_stopping_stream(v, err);
    }
    if (r->early_stopping_met) {
        add_line(v, " * Run successful.");
        return VT_OK;
    }
    uint64_t missing = r->early_stopping_needed > r->queries_issued
                           ? r->early_stopping_needed - r->queries_issued
                           : 0;
    add_line(v, " * Run unsuccessful.");
    add_line(v, " * Processed %" PRIu64 " queries.", r->queries_issued);
    add_line(v, " * Would need to run at least %" PRIu64 " more queries,", missing);
    add_line(v, " with the run being successful if every additional");
    add_line(v, " query were under latency.");
    return VT_OK;
}

static void recommend(struct vt_mlperf_view *v, const char *text)
{
    (void)snprintf(v->recommendations[v->n_recommendations++], sizeof v->recommendations[0], "%s",
                   text);
}

static void derive_recommendations(struct vt_mlperf_view *v)
{
    const struct vt_load_report *r = v->report;
    enum vt_scenario scenario = r->settings.scenario;

    if (!r->performance_met) {
        recommend(v, "Reduce target QPS to improve latency.");
    }
    if (!r->min_duration_met) {
        recommend(v, scenario == VT_OFFLINE
                         ? "Increase expected QPS so the loadgen pre-generates a "
                           "larger (coalesced) query."
                     : scenario == VT_SERVER ? "Increase the target QPS so the loadgen "
                                               "pre-generates more queries."
                                             : "Decrease the expected latency so the loadgen "
                                               "pre-generates more queries.");
    }
    if (!r->min_queries_met) {
        recommend(v, "The test exited early, before enough queries were issued.\n"
                     "   See the detailed log for why this may have occurred.");
    }
}

static void add_error(struct vt_mlperf_view *v, const char *fmt, ...) VT_PRINTF(2, 3);
static void add_error(struct vt_mlperf_view *v, const char *fmt, ...)
{
    va_list args;

    if (v->n_errors < VT_MLPERF_ERRORS_MAX) {
        va_start(args, fmt);
        (void)vsnprintf(v->errors[v->n_errors++], sizeof v->errors[0], fmt, args);
        va_end(args);
    }
}

/* What the official load generator would have logged as an error, or would have hung on. */
static void derive_errors(struct vt_mlperf_view *v)
{
    const struct vt_load_report *r = v->report;

    if (r->capped) {
        add_error(v, "Ending early: Max test duration or max query count reached.");
    }
    if (r->interrupted) {
        add_error(v, "Ending early: interrupted by the user.");
    }
    if (r->samples_lost > 0) {
        bool named = r->first_failure[0] != '\0';
        add_error(v, "%" PRIu64 " samples were never completed.%s%s", r->samples_lost,
                  named ? " First: " : "", r->first_failure);
    }
    if (r->samples_failed > 0) {
        add_error(v, "%" PRIu64 " samples failed. First: %s", r->samples_failed, r->first_failure);
    }
    if (r->samples_doubled > 0) {
        add_error(v, "%" PRIu64 " samples were completed more than once. First: %s",
                  r->samples_doubled, r->first_failure);
    }
    if (r->samples_invented > 0) {
        add_error(v, "%" PRIu64 " completions of samples that were not issued. First: %s",
                  r->samples_invented, r->first_failure);
    }
}

enum vt_status vt_mlperf_view_init(struct vt_mlperf_view *view, const struct vt_load_report *report,
                                   struct vt_error *err)
{
    const struct vt_load_settings *s = &report->settings;

    *view = (struct vt_mlperf_view){.report = report};
    /* A report that was made without a library has the counts that took effect. */
    view->total_count = report->qsl_total_count != 0             ? report->qsl_total_count
                        : s->accuracy_sample_count_override != 0 ? s->accuracy_sample_count_override
                        : s->performance_sample_count_override != 0
                            ? s->performance_sample_count_override
                            : 1;
    view->performance_count = report->qsl_performance_count != 0 ? report->qsl_performance_count
                              : s->performance_sample_count_override != 0
                                  ? s->performance_sample_count_override
                                  : view->total_count;
    if (view->performance_count > view->total_count) {
        view->total_count = view->performance_count;
    }
    enum vt_status status = vt_load_settings_resolve(s, view->total_count, view->performance_count,
                                                     err, &view->effective);
    if (status == VT_OK) {
        status = vt_sample_sets_init(&view->sets, s, &view->effective, err);
    }
    if (status != VT_OK) {
        return status;
    }
    view->valid = report->valid && report->min_duration_met && report->min_queries_met &&
                  report->performance_met && report->early_stopping_met;
    derive_rates(view);
    derive_recommendations(view);
    derive_errors(view);
    return s->mode == VT_PERFORMANCE ? derive_early_stopping(view, err) : VT_OK;
}

void vt_mlperf_view_release(struct vt_mlperf_view *view)
{
    vt_sample_sets_release(&view->sets);
}
