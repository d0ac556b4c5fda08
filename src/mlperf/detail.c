/* SPDX-License-Identifier: Apache-2.0 */
#include "mlperf/detail.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "base/version.h"
#include "mlperf/time.h"

#define N_OUTS 2

static void put(const struct vt_detail *d, const char *fmt, ...) VT_PRINTF(2, 3);
static void put(const struct vt_detail *d, const char *fmt, ...)
{
    va_list args;

    for (size_t i = 0; i < N_OUTS; i++) {
        if (d->outs[i] != NULL) {
            va_start(args, fmt);
            (void)vfprintf(d->outs[i], fmt, args);
            va_end(args);
        }
    }
}

/* Any bytes as the inside of a JSON string; what is no UTF-8 becomes U+FFFD. */
static void put_escaped(const struct vt_detail *d, const char *text)
{
    while (*text != '\0') {
        size_t bytes = vt_utf8_bytes(text);
        unsigned char c = (unsigned char)*text;
        if (bytes == 0) {
            put(d, "\\ufffd");
            bytes = 1;
        } else if (c == '"' || c == '\\') {
            put(d, "\\%c", c);
        } else if (c == '\n') {
            put(d, "\\n");
        } else if (c < 0x20 || c == 0x7f) {
            put(d, "\\u%04x", c);
        } else {
            put(d, "%.*s", (int)bytes, text);
        }
        text += bytes;
    }
}

static void begin(const struct vt_detail *d, const char *key)
{
    put(d, ":::MLLOG {\"key\": \"%s\", \"value\": ", key);
}

static void end_kind(struct vt_detail *d, int line, enum vt_detail_kind kind)
{
    int64_t time_ns = d->time_ns > 0 ? d->time_ns : 0;

    put(d,
        ", \"time_ms\": %" PRId64 ".%06" PRId64 ", \"namespace\": \"mlperf::logging\", "
        "\"event_type\": \"POINT_IN_TIME\", \"metadata\": {\"is_error\": %s, \"is_warning\": "
        "%s, \"file\": \"detail.c\", \"line_no\": %d, \"pid\": %ld, \"tid\": %ld}}\n",
        time_ns / VT_NS_PER_MS, time_ns % VT_NS_PER_MS, kind == VT_DETAIL_ERROR ? "true" : "false",
        kind == VT_DETAIL_WARNING ? "true" : "false", line, d->pid, d->tid);
    d->errors += kind == VT_DETAIL_ERROR;
    d->warnings += kind == VT_DETAIL_WARNING;
}

static void end(struct vt_detail *d, int line)
{
    end_kind(d, line, VT_DETAIL_MESSAGE);
}

static void text_at(struct vt_detail *d, int line, const char *key, const char *value)
{
    begin(d, key);
    put(d, "\"");
    put_escaped(d, value != NULL ? value : "");
    put(d, "\"");
    end(d, line);
}

static void count_at(struct vt_detail *d, int line, const char *key, uint64_t value)
{
    begin(d, key);
    put(d, "%" PRIu64, value);
    end(d, line);
}

static void ns_at(struct vt_detail *d, int line, const char *key, int64_t value)
{
    begin(d, key);
    put(d, "%" PRId64, value);
    end(d, line);
}

static void bool_at(struct vt_detail *d, int line, const char *key, bool value)
{
    begin(d, key);
    put(d, "%s", value ? "true" : "false");
    end(d, line);
}

/* As a C++ stream prints it: six significant digits. */
static void real_at(struct vt_detail *d, int line, const char *key, double value)
{
    begin(d, key);
    put(d, "%g", isfinite(value) ? value : 0.0);
    end(d, line);
}

#define TEXT(key, value)  text_at(d, __LINE__, key, value)
#define COUNT(key, value) count_at(d, __LINE__, key, value)
#define NS(key, value)    ns_at(d, __LINE__, key, value)
#define BOOL(key, value)  bool_at(d, __LINE__, key, value)
#define REAL(key, value)  real_at(d, __LINE__, key, value)

void vt_detail_init(struct vt_detail *d, FILE *out, FILE *copy)
{
    *d = (struct vt_detail){
        .outs = {out, copy},
        .pid = getpid(),
        .tid = (long)syscall(SYS_gettid),
    };
}

void vt_detail_say(struct vt_detail *d, enum vt_detail_kind kind, const char *fmt, ...)
{
    static const char *const keys[] = {
        [VT_DETAIL_MESSAGE] = "generic_message",
        [VT_DETAIL_WARNING] = "warning_generic_message",
        [VT_DETAIL_ERROR] = "error_runtime",
    };
    char text[512];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    begin(d, keys[kind]);
    put(d, "\"");
    put_escaped(d, text);
    put(d, "\"");
    end_kind(d, __LINE__, kind);
}

static void put_build(struct vt_detail *d)
{
    char text[192];

    (void)snprintf(text, sizeof text, "vatio %s @ %s, not LoadGen", vt_version(),
                   vt_version_commit());
    TEXT("loadgen_version", text);
    TEXT("loadgen_build_date_local", "NA");
    TEXT("loadgen_build_date_utc", "NA");
    TEXT("loadgen_git_commit_date", "NA");
    (void)snprintf(text, sizeof text,
                   "vatio %s (%s): follows the MLPerf Inference rules, unofficial", vt_version(),
                   vt_version_commit());
    TEXT("loadgen_git_log_message", text);
    TEXT("loadgen_git_status_message", "");
    begin(d, "loadgen_file_sha1");
    put(d, "{}");
    end(d, __LINE__);
}

static void put_fields(struct vt_detail *d, enum vt_mlperf_list list,
                       const struct vt_mlperf_settings *settings)
{
    size_t n;
    const struct vt_mlperf_field *fields = vt_mlperf_fields(list, &n);
    char text[VT_FIELD_TEXT_MAX];

    for (size_t i = 0; i < n; i++) {
        if (vt_mlperf_field_applies(&fields[i], settings)) {
            vt_mlperf_field_text(&fields[i], settings, true, text);
            begin(d, fields[i].label);
            put(d, "%s", text);
            end(d, __LINE__);
        }
    }
}

void vt_detail_test(struct vt_detail *d, const struct vt_mlperf_test *test)
{
    char text[VT_MLPERF_TIME_MAX];

    put_build(d);
    TEXT("test_datetime", vt_mlperf_time_iso(test->start_unix_ms, text));
    TEXT("sut_name", test->sut_name);
    NS("get_sut_name_duration_ns", test->sut_name_ns);
    TEXT("qsl_name", test->qsl_name);
    COUNT("qsl_reported_total_count", test->total_count);
    COUNT("qsl_reported_performance_count", test->performance_count);
    if (test->settings.asked.test05) {
        vt_detail_say(d, VT_DETAIL_WARNING, "Test05 flag detected Overriding random seeds");
    }
    put_fields(d, VT_LIST_REQUESTED, &test->settings);
    put_fields(d, VT_LIST_EFFECTIVE, &test->settings);
}

static void put_set(struct vt_detail *d, struct vt_sample_set set)
{
    begin(d, "loaded_qsl_set");
    put(d, "[");
    for (size_t i = 0; i < set.padded; i++) {
        put(d, "%s%" PRIu64, i != 0 ? "," : "", set.indices[i]);
    }
    put(d, "]");
    end(d, __LINE__);
}

/* vatio's recorder has no slots to retry for. */
static void put_logger(struct vt_detail *d)
{
    COUNT("logger_swap_request_slots_retry_count", 0);
    COUNT("logger_swap_request_slots_retry_retry_count", 0);
    COUNT("logger_swap_request_slots_retry_reencounter_count", 0);
    COUNT("logger_start_reading_entries_retry_count", 0);
    COUNT("logger_tls_total_log_cas_fail_count", 0);
    COUNT("logger_tls_total_swap_buffers_slot_retry_count", 0);
}

static void put_power(struct vt_detail *d, const struct vt_load_report *r,
                      const struct vt_mlperf_part *part)
{
    char text[VT_MLPERF_TIME_MAX];

    TEXT("power_begin",
         vt_mlperf_time_power(r->start_unix_ms + part->begin_ns / VT_NS_PER_MS, text));
    TEXT("power_end", vt_mlperf_time_power(r->start_unix_ms + part->end_ns / VT_NS_PER_MS, text));
}

/* Notes from number `at` on, up to a time. Returns the first that is later. */
static uint32_t put_notes(struct vt_detail *d, const struct vt_load_report *r, uint32_t at,
                          int64_t until_ns, int64_t zero_ns)
{
    for (; at < r->n_notes && r->notes[at].at_ns <= until_ns; at++) {
        const struct vt_load_note *note = &r->notes[at];
        d->time_ns = zero_ns + note->at_ns;
        vt_detail_say(d, note->is_error ? VT_DETAIL_ERROR : VT_DETAIL_WARNING, "%s", note->text);
    }
    return at;
}

static void put_last_notes(struct vt_detail *d, const struct vt_load_report *r, uint32_t at,
                           int64_t zero_ns)
{
    (void)put_notes(d, r, at, INT64_MAX, zero_ns);
    d->time_ns = zero_ns + r->duration_ns;
    if (r->samples_lost > 0 && !r->interrupted) {
        vt_detail_say(d, VT_DETAIL_ERROR, "%" PRIu64 " samples were never completed%s%s",
                      r->samples_lost, r->first_failure[0] != '\0' ? ": " : "", r->first_failure);
    }
    if (r->notes_dropped > 0) {
        uint64_t errors = r->errors_dropped, warnings = r->notes_dropped - errors;
        bool grave = errors > 0;
        vt_detail_say(d, grave ? VT_DETAIL_ERROR : VT_DETAIL_WARNING,
                      "%" PRIu64 " more errors and %" PRIu64 " more warnings came up than are "
                      "listed here",
                      errors, warnings);
        /* They count all the same; this record stands for one of them. */
        d->errors += errors - grave;
        d->warnings += warnings - !grave;
    }
}

void vt_detail_sets(struct vt_detail *d, struct vt_mlperf_phase *phase)
{
    struct vt_mlperf_part part;

    while (vt_mlperf_phase_next(phase, &part)) {
        put_set(d, part.set);
    }
}

void vt_detail_phase(struct vt_detail *d, struct vt_mlperf_phase *phase, int64_t zero_ns, bool sets)
{
    const struct vt_load_report *r = phase->report;
    struct vt_mlperf_part part, next;
    uint32_t note = 0;

    for (bool more = vt_mlperf_phase_next(phase, &part); more; part = next) {
        more = vt_mlperf_phase_next(phase, &next);
        d->time_ns = zero_ns + part.begin_ns;
        if (sets) {
            put_set(d, part.set);
        }
        COUNT("generated_query_count", part.generated_queries);
        COUNT("generated_samples_per_query", part.generated_samples_per_query);
        NS("generated_query_duration", part.generated_ns);
        if (part.ended_naturally) {
            note = put_notes(d, r, note, r->last_issue_ns, zero_ns);
            d->time_ns = zero_ns + r->last_issue_ns;
            vt_detail_say(d, VT_DETAIL_MESSAGE,
                          "Ending naturally: Minimum query count and test duration met.");
        }
        if (more) {
            note = put_notes(d, r, note, next.begin_ns, zero_ns);
        } else {
            put_last_notes(d, r, note, zero_ns);
        }
        d->time_ns = zero_ns + part.end_ns;
        put_logger(d);
        put_power(d, r, &part);
    }
}

/* On one line what stands on several. */
static char *flat(char *line)
{
    for (char *c = strchr(line, '\n'); c != NULL; c = strchr(c, '\n')) {
        *c = ' ';
    }
    return line;
}

static void put_early(struct vt_detail *d, const char *key, const char *text)
{
    char line[VT_EARLY_TEXT_MAX];

    (void)snprintf(line, sizeof line, "%s", text);
    TEXT(key, flat(line));
}

static void put_verdict(struct vt_detail *d, const struct vt_mlperf_view *v)
{
    const struct vt_load_report *r = v->report;

    TEXT("result_validity", v->valid ? "VALID" : "INVALID");
    if (r->settings.scenario == VT_SERVER) {
        BOOL("result_perf_constraints_met", r->performance_met);
    }
    BOOL("result_min_duration_met", r->min_duration_met);
    BOOL("result_min_queries_met", r->min_queries_met);
    BOOL("early_stopping_met", r->early_stopping_met);
    if (!v->valid) {
        const char *performance = v->advice_performance, *duration = v->advice_duration;
        char line[512];
        (void)snprintf(line, sizeof line, "%s%s%s%s%s", performance != NULL ? performance : "",
                       performance != NULL ? " " : "", duration != NULL ? duration : "",
                       duration != NULL ? " " : "",
                       v->advice_queries != NULL ? v->advice_queries : "");
        TEXT("result_invalid_reason", flat(line));
    }
    if (r->settings.use_token_latencies) {
        put_early(d, "early_stopping_ttft_result", v->early_first_token);
        put_early(d, "early_stopping_tpot_result", v->early_per_output);
    } else {
        put_early(d, "early_stopping_result", v->early_stopping);
    }
}

static void put_percentiles(struct vt_detail *d, const struct vt_latency_stats *l,
                            const char *before, const char *behind)
{
    static const char *const percentiles[] = {"50.00", "90.00", "95.00", "97.00", "99.00", "99.90"};
    const int64_t values[] = {l->p50_ns, l->p90_ns, l->p95_ns, l->p97_ns, l->p99_ns, l->p99_9_ns};
    char key[96];

    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        (void)snprintf(key, sizeof key, "%s%s%s", before, percentiles[i], behind);
        NS(key, values[i]);
    }
}

static void put_samples(struct vt_detail *d, const struct vt_latency_stats *l)
{
    NS("result_min_latency_ns", l->min_ns);
    NS("result_max_latency_ns", l->max_ns);
    NS("result_mean_latency_ns", l->mean_ns);
    put_percentiles(d, l, "result_", "_percentile_latency_ns");
}

static void put_queries(struct vt_detail *d, const struct vt_latency_stats *l)
{
    NS("result_min_query_latency_ns", l->min_ns);
    NS("result_max_query_latency_ns", l->max_ns);
    NS("result_mean_query_latency_ns", l->mean_ns);
    put_percentiles(d, l, "result_", "_percentile_per_query_latency_ns");
}

static void put_tokens(struct vt_detail *d, const struct vt_mlperf_view *v)
{
    const struct vt_token_report *t = &v->report->token;

    if (v->report->settings.scenario == VT_OFFLINE) {
        REAL("result_tokens_per_second", v->token_rate);
        return;
    }
    NS("result_first_token_min_latency_ns", t->first.min_ns);
    NS("result_first_token_max_latency_ns", t->first.max_ns);
    NS("result_first_token_mean_latency_ns", t->first.mean_ns);
    put_percentiles(d, &t->first, "result_first_token_", "_percentile_latency_ns");
    REAL("result_token_throughput_with_loadgen_overhead", v->token_rate_with_overhead);
    /* LoadGen divides by nanoseconds here; its summary has the rate by seconds. */
    REAL("result_token_throughput", v->token_rate_without_overhead / 1e9);
    put_percentiles(d, &t->per_output, "result_time_per_output_token_", "_percentile_ns");
    NS("result_time_to_output_token_min", t->per_output.min_ns);
    NS("result_time_to_output_token_max", t->per_output.max_ns);
    NS("result_time_to_output_token_mean", t->per_output.mean_ns);
    REAL("result_completed_tokens_per_second", v->token_rate);
}

static void put_scenario(struct vt_detail *d, const struct vt_mlperf_view *v)
{
    const struct vt_load_report *r = v->report;

    switch (r->settings.scenario) {
    case VT_SINGLESTREAM:
        REAL("result_qps_with_loadgen_overhead", v->rate_with_overhead);
        REAL("result_qps_without_loadgen_overhead", v->rate_without_overhead);
        NS("early_stopping_latency_ss", v->early_single_ns);
        NS("early_stopping_latency_ms", v->early_multi_ns);
        break;
    case VT_MULTISTREAM:
        put_queries(d, &r->query_latency);
        NS("early_stopping_latency_ms", v->early_multi_ns);
        break;
    case VT_SERVER:
        COUNT("result_overlatency_query_count", r->overlatency_queries);
        REAL("result_scheduled_samples_per_sec", v->scheduled_rate);
        REAL("result_completed_samples_per_sec", v->completed_rate);
        break;
    case VT_OFFLINE:
    case VT_SCENARIO_COUNT:
        REAL("result_samples_per_second", v->completed_rate);
        break;
    }
}

static void put_inferred(struct vt_detail *d, const struct vt_mlperf_view *v)
{
    if (v->report->settings.scenario == VT_SERVER) {
        REAL("result_inferred_completed_tokens_per_second", v->inferred_token_rate);
    } else if (v->report->settings.scenario == VT_OFFLINE) {
        REAL("result_inferred_tokens_per_second", v->inferred_token_rate);
    }
}

void vt_detail_result(struct vt_detail *d, const struct vt_mlperf_view *v)
{
    const struct vt_load_report *r = v->report;

    put_verdict(d, v);
    COUNT("result_query_count", r->queries_issued);
    put_scenario(d, v);
    put_samples(d, &r->latency);
    if (r->settings.use_token_latencies) {
        put_tokens(d, v);
    }
    if (r->settings.infer_token_latencies) {
        put_inferred(d, v);
    }
    COUNT("num_errors", d->errors);
}
