/* SPDX-License-Identifier: Apache-2.0 */
#include "load/verdict.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "load/measure.h"

struct verdict {
    struct vt_load_report *report;
    const struct vt_load_effective *effective;
    enum vt_run_end end;
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

/* Token latencies were asked of something that knows no tokens. */
static bool tells_no_tokens(const struct vt_load_report *r)
{
    return r->tokens != NULL && r->token.tokens == 0 && r->samples_completed > r->samples_failed;
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
    if (r->samples_late > 0 && v->end == VT_END_TIMED_OUT) {
        reason(v, "%" PRIu64 " samples were completed only after nothing had come for %s",
               r->samples_late, duration_text(r->settings.completion_timeout_ns, time));
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
    if (tells_no_tokens(r)) {
        reason(v,
               "the system under test told the number of tokens of none of its %" PRIu64
               " answers: measure without token latencies, or one that counts them",
               r->samples_completed);
    } else if (r->token.errors > 0) {
        reason(v, "%" PRIu64 " reports of tokens were wrong (first trouble: %.160s)",
               r->token.errors, r->first_failure);
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
    if (v->end == VT_END_MAX_DURATION) {
        reason(v,
               "needs %" PRIu64 " %s, got %" PRIu64
               " when max_duration %s ended the run: allow more time",
               needed, queries_word(v), got, duration_text(r->settings.max_duration_ns, time));
    } else if (v->end == VT_END_MAX_QUERIES) {
        reason(v, "needs %" PRIu64 " %s, got %" PRIu64 " because max_query_count is %" PRIu64,
               needed, queries_word(v), got, r->settings.max_query_count);
    } else if (v->end == VT_END_TOO_MANY) {
        reason(v,
               "needs %" PRIu64 " %s, got %" PRIu64
               " when more than server_max_async_queries %" PRIu64 " were outstanding",
               needed, queries_word(v), got, r->settings.server_max_async_queries);
    } else if (v->end == VT_END_EXHAUSTED) {
        reason(v,
               "needs %" PRIu64 " %s, got %" PRIu64
               " because performance_issue_unique issues each loaded sample once",
               needed, queries_word(v), got);
    } else {
        reason(v, "needs %" PRIu64 " %s, got %" PRIu64, needed, queries_word(v), got);
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
        bool too_small = r->settings.scenario == VT_OFFLINE && v->end == VT_END_NATURAL;
        reason(v, "lasted %s, less than min_duration %s%s", duration_text(lasted, got),
               duration_text(r->settings.min_duration_ns, needed),
               too_small                    ? ": raise the expected rate for a larger query"
               : v->end == VT_END_EXHAUSTED ? ": performance_issue_unique has no more queries"
                                            : "");
    }
}

static void above_limit(struct verdict *v, const char *what, uint64_t n, int64_t got_ns,
                        int64_t limit_ns)
{
    char got[32], limit[32];
    reason(v, "p%g %s %s is above the limit of %s: lower the rate", v->effective->percentile * 100,
           what, n > 0 ? duration_text(got_ns, got) : "unknown", duration_text(limit_ns, limit));
}

/* Only Server has limits; with tokens they are those of the tokens. */
static void judge_latency(struct verdict *v)
{
    struct vt_load_report *r = v->report;
    const struct vt_load_settings *s = &r->settings;
    r->performance_met = true;
    if (s->scenario != VT_SERVER) {
        return;
    }
    if (r->tokens == NULL) {
        r->performance_met =
            r->samples_completed > 0 && r->target_latency_ns <= s->server_target_latency_ns;
        if (!r->performance_met) {
            above_limit(v, "latency", r->samples_completed, r->target_latency_ns,
                        s->server_target_latency_ns);
        }
        return;
    }
    r->performance_met = r->token.first_met && r->token.per_output_met;
    if (tells_no_tokens(r)) {
        return; /* said before */
    }
    if (!r->token.first_met) {
        above_limit(v, "time to the first token", r->samples_completed, r->token.first_target_ns,
                    s->server_ttft_latency_ns);
    }
    if (!r->token.per_output_met) {
        above_limit(v, "time per output token", r->samples_completed, r->token.per_output_target_ns,
                    s->server_tpot_latency_ns);
    }
}

/* How many are above the limit that early stopping failed at, and of what. */
static uint64_t stopped_by(const struct vt_load_report *r, const char **ret_what)
{
    if (r->tokens == NULL) {
        *ret_what = "queries";
        return r->overlatency_queries;
    }
    if (!r->token.per_output_early_stopping_met) {
        *ret_what = "times per output token";
        return r->token.overlatency_per_output;
    }
    *ret_what = "times to the first token";
    return r->token.overlatency_first;
}

static void judge_early_stopping(struct verdict *v)
{
    const struct vt_load_report *r = v->report;
    double percent = v->effective->percentile * 100;
    if (r->early_stopping_met || tells_no_tokens(r)) {
        return;
    }
    if (r->settings.scenario == VT_SERVER) {
        const char *what = NULL;
        uint64_t above = stopped_by(r, &what);
        reason(v,
               "early stopping: with %" PRIu64 " %s above the limit, p%g takes %" PRIu64
               " queries to be shown, got %" PRIu64,
               above, what, percent, r->early_stopping_needed, r->queries_issued);
    } else {
        reason(v, "early stopping: p%g takes at least %" PRIu64 " queries, got %" PRIu64, percent,
               r->early_stopping_needed, r->queries_issued);
    }
}

enum vt_status vt_verdict_reach(struct vt_load_report *report,
                                const struct vt_load_effective *effective, enum vt_run_end end,
                                struct vt_error *err)
{
    struct verdict v = {.report = report, .effective = effective, .end = end};
    report->interrupted = end == VT_END_STOPPED;
    report->capped = end == VT_END_MAX_DURATION || end == VT_END_MAX_QUERIES;
    enum vt_status st = vt_measure(report, effective, err);
    if (st != VT_OK) {
        return st;
    }
    judge_completions(&v);
    if (report->settings.mode == VT_PERFORMANCE) {
        uint64_t n = report->n_records;
        judge_counts(&v);
        judge_duration(&v, n > 0 ? report->records[n - 1].scheduled_ns : 0);
        judge_latency(&v);
        judge_early_stopping(&v);
    } else {
        report->min_queries_met = true;
        report->min_duration_met = true;
        report->performance_met = true;
        report->early_stopping_met = true;
    }
    report->valid = report->reasons.n == 0;
    return VT_OK;
}
