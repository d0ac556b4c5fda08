/* SPDX-License-Identifier: Apache-2.0 */
#include "load/verdict.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "load/early_stopping.h"
#include "load/stats.h"

struct verdict {
    struct vt_load_report *report;
    const struct vt_load_effective *effective;
    enum vt_run_end end;
    int64_t *values;           /* room for one number a record */
    int64_t *scratch;          /* the same */
    int64_t target_latency_ns; /* at the target percentile, of samples or queries */
};

static void reason(struct verdict *v, const char *fmt, ...) VT_PRINTF(2, 3);
static void reason(struct verdict *v, const char *fmt, ...)
{
    struct vt_reasons *reasons = &v->report->reasons;
    if (reasons->n == VT_REASONS_MAX) {
        return;
    }
    va_list args;
    va_start(args, fmt);
    vsnprintf(reasons->text[reasons->n++], sizeof(reasons->text[0]), fmt, args);
    va_end(args);
}

/* "600 s", "1.5 ms": three digits are enough for a reason. */
static const char *duration_text(int64_t ns, char text[32])
{
    static const struct {
        double ns;
        const char *unit;
    } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}};
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if ((double)ns >= units[i].ns) {
            snprintf(text, 32, "%.4g %s", (double)ns / units[i].ns, units[i].unit);
            return text;
        }
    }
    snprintf(text, 32, "%" PRId64 " ns", ns);
    return text;
}

static const char *queries_word(const struct verdict *v)
{
    return v->report->settings.scenario == VT_OFFLINE ? "samples" : "queries";
}

static bool is_lost(const struct vt_sample_record *record)
{
    return record->done_ns == VT_RECORD_LOST;
}

/* Latencies of all completed samples, and the times of the end of the run. */
static size_t collect_latencies(struct verdict *v)
{
    struct vt_load_report *r = v->report;
    size_t n = 0;
    uint32_t last = r->n_records > 0 ? r->records[r->n_records - 1].query : 0;
    bool last_lost = false;
    for (uint64_t i = 0; i < r->n_records; i++) {
        const struct vt_sample_record *record = &r->records[i];
        if (is_lost(record)) {
            last_lost |= record->query == last;
            continue;
        }
        v->values[n++] = record->done_ns - record->scheduled_ns;
        if (record->done_ns > r->duration_ns) {
            r->duration_ns = record->done_ns;
        }
        if (record->query == last && record->done_ns > r->last_query_done_ns) {
            r->last_query_done_ns = record->done_ns;
        }
    }
    if (last_lost) {
        r->last_query_done_ns = r->duration_ns;
    }
    return n;
}

/* Latencies of all queries that are complete: the last of their samples. */
static size_t collect_query_latencies(struct verdict *v)
{
    const struct vt_load_report *r = v->report;
    size_t n = 0;
    for (uint64_t i = 0; i < r->n_records;) {
        const struct vt_sample_record *first = &r->records[i];
        int64_t done = first->done_ns;
        bool lost = false;
        for (; i < r->n_records && r->records[i].query == first->query; i++) {
            lost |= is_lost(&r->records[i]);
            done = r->records[i].done_ns > done ? r->records[i].done_ns : done;
        }
        if (!lost) {
            v->values[n++] = done - first->scheduled_ns;
        }
    }
    return n;
}

static void judge_lateness(struct verdict *v)
{
    struct vt_load_report *r = v->report;
    size_t n = r->n_records;
    int64_t worst = 0;
    for (size_t i = 0; i < n; i++) {
        v->values[i] = r->records[i].issued_ns - r->records[i].scheduled_ns;
        worst = v->values[i] > worst ? v->values[i] : worst;
    }
    if (worst > 0) {
        vt_sort_ns(v->values, n, v->scratch);
        r->lateness_p50_ns = vt_percentile_ns(v->values, n, 0.50);
        r->lateness_p99_ns = vt_percentile_ns(v->values, n, 0.99);
        r->lateness_max_ns = worst;
    }
}

/* n and the sorted latencies are of queries. */
static void judge_early_stopping(struct verdict *v, size_t n)
{
    struct vt_load_report *r = v->report;
    double p = v->effective->percentile;
    switch (r->settings.scenario) {
    case VT_SERVER:
        r->early_stopping_needed =
            vt_early_stopping_passing(r->overlatency_queries, p) + r->overlatency_queries;
        r->early_stopping_met = r->queries_issued >= r->early_stopping_needed;
        break;
    case VT_SINGLESTREAM:
    case VT_MULTISTREAM: {
        r->early_stopping_needed = vt_early_stopping_passing(1, p) + 1;
        uint64_t t = vt_early_stopping_over(n, p);
        r->early_stopping_met = t > 0;
        r->early_stopping_estimate_ns = t > 0 ? v->values[n - t] : 0;
        break;
    }
    case VT_OFFLINE:
    case VT_SCENARIO_COUNT:
        r->early_stopping_met = true;
        break;
    }
}

static struct vt_metric metric_of(const struct verdict *v, size_t n)
{
    const struct vt_load_report *r = v->report;
    switch (r->settings.scenario) {
    case VT_OFFLINE:
        if (r->latency.max_ns > 0) {
            return (struct vt_metric){"samples_per_second", "samples/s",
                                      (double)n / ((double)r->latency.max_ns / 1e9)};
        }
        break;
    case VT_SERVER:
        /* One less: the last query is the open end of the span. */
        if (n > 1 && r->last_query_done_ns > 0) {
            return (struct vt_metric){"completed_queries_per_second", "queries/s",
                                      (double)(n - 1) / ((double)r->last_query_done_ns / 1e9)};
        }
        break;
    case VT_SINGLESTREAM:
        if (n > 0) {
            return (struct vt_metric){"latency_at_percentile", "ns", (double)v->target_latency_ns};
        }
        break;
    case VT_MULTISTREAM:
        if (n > 0) {
            return (struct vt_metric){"query_latency_at_percentile", "ns",
                                      (double)v->target_latency_ns};
        }
        break;
    case VT_SCENARIO_COUNT:
        break;
    }
    return (struct vt_metric){0};
}

static void measure(struct verdict *v)
{
    struct vt_load_report *r = v->report;
    double p = v->effective->percentile;
    judge_lateness(v);
    size_t n = collect_latencies(v);
    vt_sort_ns(v->values, n, v->scratch);
    r->latency = vt_latency_stats_of(v->values, n);
    r->query_latency = r->latency;
    r->overlatency_queries =
        r->settings.scenario == VT_SERVER
            ? vt_count_above(v->values, n, r->settings.server_target_latency_ns)
            : 0;
    size_t queries = n;
    if (r->settings.scenario == VT_MULTISTREAM) {
        queries = collect_query_latencies(v);
        vt_sort_ns(v->values, queries, v->scratch);
        r->query_latency = vt_latency_stats_of(v->values, queries);
    }
    if (queries > 0) {
        v->target_latency_ns = vt_percentile_ns(v->values, queries, p);
    }
    if (r->settings.mode == VT_PERFORMANCE) {
        judge_early_stopping(v, queries);
        r->metric = metric_of(v, queries);
    }
}

static void judge_completions(struct verdict *v)
{
    const struct vt_load_report *r = v->report;
    char time[32];
    if (r->interrupted) {
        reason(v, "interrupted after %" PRIu64 " of %" PRIu64 " issued samples",
               r->samples_completed, r->samples_issued);
    } else if (r->samples_lost > 0 && v->end == VT_END_MAX_DURATION) {
        reason(
            v, "%" PRIu64 " of %" PRIu64 " issued samples were still not done at max_duration %s",
            r->samples_lost, r->samples_issued, duration_text(r->settings.max_duration_ns, time));
    } else if (r->samples_lost > 0) {
        uint64_t first = 0;
        while (first < r->n_records && !is_lost(&r->records[first])) {
            first++;
        }
        reason(v,
               "%" PRIu64 " of %" PRIu64 " samples %s never completed (first: sample %" PRIu64
               ", index %" PRIu32 ") within %s",
               r->samples_lost, r->samples_issued, r->samples_lost == 1 ? "was" : "were", first,
               first < r->n_records ? r->records[first].index : 0,
               duration_text(r->settings.completion_timeout_ns, time));
    }
    if (r->samples_failed > 0) {
        reason(v, "%" PRIu64 " of %" PRIu64 " samples failed (first: %.120s)", r->samples_failed,
               r->samples_issued, r->first_failure);
    }
    if (r->samples_doubled > 0) {
        reason(v, "%" PRIu64 " completions came twice (first trouble: %.120s)", r->samples_doubled,
               r->first_failure);
    }
    if (r->samples_invented > 0) {
        reason(v, "%" PRIu64 " completions belong to no sample of this run (first trouble: %.120s)",
               r->samples_invented, r->first_failure);
    }
}

/* What was issued, in the unit of min_query_count, and what was asked for. */
static void judge_counts(struct verdict *v)
{
    struct vt_load_report *r = v->report;
    const struct vt_load_effective *e = v->effective;
    bool offline = r->settings.scenario == VT_OFFLINE;
    uint64_t got = offline ? r->samples_completed : r->queries_issued;
    uint64_t needed = offline ? e->min_sample_count : e->min_query_count;
    char time[32];
    r->min_queries_met =
        r->queries_issued >= e->min_query_count && r->samples_completed >= e->min_sample_count;
    if (r->min_queries_met) {
        return;
    }
    switch (v->end) {
    case VT_END_MAX_DURATION:
        reason(v,
               "needs %" PRIu64 " %s, got %" PRIu64
               " when max_duration %s ended the run: allow more time",
               needed, queries_word(v), got, duration_text(r->settings.max_duration_ns, time));
        break;
    case VT_END_MAX_QUERIES:
        reason(v, "needs %" PRIu64 " %s, got %" PRIu64 " because max_query_count is %" PRIu64,
               needed, queries_word(v), got, r->settings.max_query_count);
        break;
    case VT_END_EXHAUSTED:
        reason(v,
               "needs %" PRIu64 " %s, got %" PRIu64
               " because performance_issue_unique issues each loaded sample once",
               needed, queries_word(v), got);
        break;
    case VT_END_NATURAL:
    case VT_END_STOPPED:
    case VT_END_TIMED_OUT:
        reason(v, "needs %" PRIu64 " %s, got %" PRIu64, needed, queries_word(v), got);
        break;
    }
}

static void judge_duration(struct verdict *v, int64_t last_scheduled_ns)
{
    struct vt_load_report *r = v->report;
    int64_t lasted = 0;
    switch (r->settings.scenario) {
    case VT_OFFLINE:
        lasted = r->latency.max_ns;
        break;
    case VT_SERVER:
        lasted = last_scheduled_ns;
        break;
    case VT_SINGLESTREAM:
    case VT_MULTISTREAM:
    case VT_SCENARIO_COUNT:
        lasted = r->last_issue_ns;
        break;
    }
    r->min_duration_met = lasted >= r->settings.min_duration_ns;
    if (!r->min_duration_met) {
        char got[32], needed[32];
        reason(v, "lasted %s, less than min_duration %s%s", duration_text(lasted, got),
               duration_text(r->settings.min_duration_ns, needed),
               r->settings.scenario == VT_OFFLINE && v->end == VT_END_NATURAL
                   ? ": raise the expected rate for a larger query"
                   : "");
    }
}

static void judge_latency(struct verdict *v)
{
    struct vt_load_report *r = v->report;
    char got[32], limit[32];
    r->performance_met = true;
    if (r->settings.scenario == VT_SERVER) {
        r->performance_met = r->samples_completed > 0 &&
                             v->target_latency_ns <= r->settings.server_target_latency_ns;
        if (!r->performance_met) {
            reason(v, "p%g latency %s is above the limit of %s: lower the rate",
                   v->effective->percentile * 100,
                   r->samples_completed > 0 ? duration_text(v->target_latency_ns, got) : "unknown",
                   duration_text(r->settings.server_target_latency_ns, limit));
        }
    }
    if (r->early_stopping_met) {
        return;
    }
    if (r->settings.scenario == VT_SERVER) {
        reason(v,
               "early stopping: with %" PRIu64 " queries above the limit, p%g takes %" PRIu64
               " queries to be shown, got %" PRIu64,
               r->overlatency_queries, v->effective->percentile * 100, r->early_stopping_needed,
               r->queries_issued);
    } else {
        reason(v, "early stopping: p%g takes at least %" PRIu64 " queries, got %" PRIu64,
               v->effective->percentile * 100, r->early_stopping_needed, r->queries_issued);
    }
}

enum vt_status vt_verdict_reach(struct vt_load_report *report,
                                const struct vt_load_effective *effective, enum vt_run_end end,
                                struct vt_error *err)
{
    struct verdict v = {.report = report, .effective = effective, .end = end};
    size_t n = report->n_records;
    v.values = vt_alloc(n * sizeof(*v.values)); /* n < 2^32 */
    v.scratch = vt_alloc(n * sizeof(*v.scratch));
    if (v.values == NULL || v.scratch == NULL) {
        vt_free(v.values);
        vt_free(v.scratch);
        return vt_error_set(err, VT_ERR_MEMORY, "no memory to sort the latencies of %zu samples",
                            n);
    }
    report->interrupted = end == VT_END_STOPPED;
    report->capped = end == VT_END_MAX_DURATION || end == VT_END_MAX_QUERIES;
    measure(&v);
    vt_free(v.values);
    vt_free(v.scratch);

    judge_completions(&v);
    if (report->settings.mode == VT_PERFORMANCE) {
        judge_counts(&v);
        judge_duration(&v, n > 0 ? report->records[n - 1].scheduled_ns : 0);
        judge_latency(&v);
    } else {
        report->min_queries_met = true;
        report->min_duration_met = true;
        report->performance_met = true;
        report->early_stopping_met = true;
    }
    report->valid = report->reasons.n == 0;
    return VT_OK;
}
