/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mlperf_log_detail.txt: one JSON record a line behind the marker ":::MLLOG ", with the keys of
 * LoadGen 6.0.17 in its order. What vatio has no counterpart of is left out
 * (get_sut_name_duration_ns); what it never does is logged as 0 or false.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "base/version.h"
#include "mlperf/view.h"

struct detail {
    FILE *out;
    int64_t time_ns; /* of the records that follow, since the start of the run */
    bool is_error;
    long pid, tid;
};

static void put_escaped(FILE *out, const char *text)
{
    while (*text != '\0') {
        size_t bytes = vt_utf8_bytes(text);
        unsigned char c = (unsigned char)*text;
        if (bytes == 0) {
            fputs("\\ufffd", out);
            bytes = 1;
        } else if (c == '"' || c == '\\') {
            fprintf(out, "\\%c", c);
        } else if (c == '\n') {
            fputs("\\n", out);
        } else if (c < 0x20 || c == 0x7f) {
            fprintf(out, "\\u%04x", c);
        } else {
            fwrite(text, 1, bytes, out);
        }
        text += bytes;
    }
}

static void begin(const struct detail *d, const char *key)
{
    fprintf(d->out, ":::MLLOG {\"key\": \"%s\", \"value\": ", key);
}

static void end(const struct detail *d, int line)
{
    fprintf(d->out,
            ", \"time_ms\": %" PRId64 ".%06" PRId64 ", \"namespace\": \"mlperf::logging\", "
            "\"event_type\": \"POINT_IN_TIME\", \"metadata\": {\"is_error\": %s, \"is_warning\": "
            "false, \"file\": \"mlperf_detail.c\", \"line_no\": %d, \"pid\": %ld, \"tid\": %ld}}\n",
            d->time_ns / VT_NS_PER_MS, d->time_ns % VT_NS_PER_MS, d->is_error ? "true" : "false",
            line, d->pid, d->tid);
}

static void text_at(const struct detail *d, int line, const char *key, const char *value)
{
    begin(d, key);
    putc('"', d->out);
    put_escaped(d->out, value != NULL ? value : "");
    putc('"', d->out);
    end(d, line);
}

static void count_at(const struct detail *d, int line, const char *key, uint64_t value)
{
    begin(d, key);
    fprintf(d->out, "%" PRIu64, value);
    end(d, line);
}

static void ns_at(const struct detail *d, int line, const char *key, int64_t value)
{
    begin(d, key);
    fprintf(d->out, "%" PRId64, value);
    end(d, line);
}

static void bool_at(const struct detail *d, int line, const char *key, bool value)
{
    begin(d, key);
    fputs(value ? "true" : "false", d->out);
    end(d, line);
}

/* As a C++ stream prints it: six significant digits. */
static void real_at(const struct detail *d, int line, const char *key, double value)
{
    begin(d, key);
    fprintf(d->out, "%g", isfinite(value) ? value : 0.0);
    end(d, line);
}

#define TEXT(key, value)  text_at(d, __LINE__, key, value)
#define COUNT(key, value) count_at(d, __LINE__, key, value)
#define NS(key, value)    ns_at(d, __LINE__, key, value)
#define BOOL(key, value)  bool_at(d, __LINE__, key, value)
#define REAL(key, value)  real_at(d, __LINE__, key, value)

static void put_build(const struct detail *d)
{
    char message[192];

    (void)snprintf(message, sizeof message,
                   "vatio %s (%s): follows the MLPerf Inference rules, unofficial", vt_version(),
                   vt_version_commit());
    TEXT("loadgen_version", vt_version());
    TEXT("loadgen_build_date_local", "NA");
    TEXT("loadgen_build_date_utc", "NA");
    TEXT("loadgen_git_commit_date", "NA");
    TEXT("loadgen_git_log_message", message);
    TEXT("loadgen_git_status_message", "");
    begin(d, "loadgen_file_sha1");
    fputs("{}", d->out);
    end(d, __LINE__);
}

static struct tm utc_of(int64_t unix_ms)
{
    time_t seconds = (time_t)(unix_ms / 1000);
    struct tm utc = {0};

    if (gmtime_r(&seconds, &utc) == NULL) {
        memset(&utc, 0, sizeof utc);
    }
    return utc;
}

static void put_test(const struct detail *d, const struct vt_mlperf_view *v)
{
    struct tm utc = utc_of(v->report->start_unix_ms);
    char text[64] = "";

    (void)strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    TEXT("test_datetime", text);
    TEXT("sut_name", v->report->sut_name);
    TEXT("qsl_name", v->report->qsl_name);
    COUNT("qsl_reported_total_count", v->total_count);
    COUNT("qsl_reported_performance_count", v->performance_count);
}

static const char *mode_name(enum vt_mode mode)
{
    return mode == VT_ACCURACY ? "AccuracyOnly" : "PerformanceOnly";
}

static void put_requested_scenario(const struct detail *d, const struct vt_load_settings *s)
{
    switch (s->scenario) {
    case VT_SINGLESTREAM:
        NS("requested_single_stream_expected_latency_ns", s->single_stream_expected_latency_ns);
        REAL("requested_single_stream_target_latency_percentile",
             s->single_stream_target_latency_percentile);
        break;
    case VT_MULTISTREAM:
        NS("requested_multi_stream_expected_latency_ns", s->multi_stream_expected_latency_ns);
        REAL("requested_multi_stream_target_latency_percentile",
             s->multi_stream_target_latency_percentile);
        COUNT("requested_multi_stream_samples_per_query", s->multi_stream_samples_per_query);
        break;
    case VT_SERVER:
        REAL("requested_server_target_qps", s->server_target_qps);
        NS("requested_server_target_latency_ns", s->server_target_latency_ns);
        REAL("requested_server_target_latency_percentile", s->server_target_latency_percentile);
        BOOL("requested_server_coalesce_queries", false);
        COUNT("requested_server_find_peak_qps_decimals_of_precision", 1);
        REAL("requested_server_find_peak_qps_boundary_step_size", 1);
        COUNT("requested_server_max_async_queries", 0);
        COUNT("requested_server_num_issue_query_threads", 0);
        break;
    case VT_OFFLINE:
    case VT_SCENARIO_COUNT:
        REAL("requested_offline_expected_qps", s->offline_expected_qps);
        break;
    }
}

static void put_requested(const struct detail *d, const struct vt_mlperf_view *v)
{
    const struct vt_load_settings *s = &v->report->settings;

    TEXT("requested_scenario", vt_scenario_name(s->scenario));
    TEXT("requested_test_mode", mode_name(s->mode));
    put_requested_scenario(d, s);
    NS("requested_min_duration_ms", s->min_duration_ns / VT_NS_PER_MS);
    NS("requested_max_duration_ms", s->max_duration_ns / VT_NS_PER_MS);
    COUNT("requested_min_query_count", s->min_query_count);
    COUNT("requested_max_query_count", s->max_query_count);
    COUNT("requested_qsl_rng_seed", s->qsl_rng_seed);
    COUNT("requested_sample_index_rng_seed", s->sample_index_rng_seed);
    COUNT("requested_schedule_rng_seed", s->schedule_rng_seed);
    COUNT("requested_accuracy_log_rng_seed", 0);
    REAL("requested_accuracy_log_probability", 0);
    COUNT("requested_accuracy_log_sampling_target", 0);
    BOOL("requested_print_timestamps", false);
    BOOL("requested_performance_issue_unique", s->performance_issue_unique);
    BOOL("requested_performance_issue_same", s->performance_issue_same);
    COUNT("requested_performance_issue_same_index", s->performance_issue_same_index);
    /* The report has the counts that took effect: the library's own was not overridden. */
    COUNT("requested_performance_sample_count_override",
          s->performance_sample_count_override == v->performance_count
              ? 0
              : s->performance_sample_count_override);
    COUNT("requested_accuracy_sample_count_override",
          s->accuracy_sample_count_override == v->total_count ? 0
                                                              : s->accuracy_sample_count_override);
    BOOL("requested_sample_concatenate_permutation", s->sample_concatenate_permutation);
}

static void put_effective(const struct detail *d, const struct vt_mlperf_view *v)
{
    const struct vt_load_settings *s = &v->report->settings;
    const struct vt_load_effective *e = &v->effective;
    bool server = s->scenario == VT_SERVER;

    TEXT("effective_scenario", vt_scenario_name(s->scenario));
    TEXT("effective_test_mode", mode_name(s->mode));
    COUNT("effective_samples_per_query", e->samples_per_query);
    REAL("effective_target_qps", e->target_qps);
    NS("effective_target_latency_ns", server ? s->server_target_latency_ns : 0);
    REAL("effective_target_latency_percentile", e->percentile);
    COUNT("effective_max_async_queries", server ? 0 : 1);
    NS("effective_target_duration_ms", e->target_duration_ns / VT_NS_PER_MS);
    NS("effective_min_duration_ms", s->min_duration_ns / VT_NS_PER_MS);
    NS("effective_max_duration_ms", s->max_duration_ns / VT_NS_PER_MS);
    COUNT("effective_min_query_count", e->min_query_count);
    COUNT("effective_max_query_count", s->max_query_count);
    COUNT("effective_min_sample_count", e->min_sample_count);
    COUNT("effective_qsl_rng_seed", s->qsl_rng_seed);
    COUNT("effective_sample_index_rng_seed", s->sample_index_rng_seed);
    COUNT("effective_schedule_rng_seed", s->schedule_rng_seed);
    COUNT("effective_accuracy_log_rng_seed", 0);
    REAL("effective_accuracy_log_probability", 0);
    COUNT("effective_accuracy_log_sampling_target", 0);
    BOOL("effective_print_timestamps", false);
    BOOL("effective_performance_issue_unique", s->performance_issue_unique);
    BOOL("effective_performance_issue_same", s->performance_issue_same);
    COUNT("effective_performance_issue_same_index", s->performance_issue_same_index);
    COUNT("effective_performance_sample_count", e->performance_sample_count);
    COUNT("effective_accuracy_sample_count", e->accuracy_sample_count);
    BOOL("effective_sample_concatenate_permutation", s->sample_concatenate_permutation);
}

/* Queries are made as they are issued: those that were are those that are logged. */
static void put_generation(const struct detail *d, const struct vt_mlperf_view *v)
{
    const struct vt_load_report *r = v->report;

    TEXT("generic_message",
         r->settings.mode == VT_ACCURACY ? "Starting accuracy mode" : "Starting performance mode");
    for (size_t i = 0; i < v->sets.n; i++) {
        struct vt_sample_set set = vt_sample_sets_get(&v->sets, i);
        begin(d, "loaded_qsl_set");
        putc('[', d->out);
        for (size_t k = 0; k < set.padded; k++) {
            fprintf(d->out, "%s%" PRIu64, k != 0 ? "," : "", set.indices[k]);
        }
        putc(']', d->out);
        end(d, __LINE__);
    }
    COUNT("generated_query_count", r->queries_issued);
    COUNT("generated_samples_per_query",
          r->queries_issued > 0 ? r->samples_issued / r->queries_issued : 0);
    NS("generated_query_duration",
       r->n_records > 0 ? r->records[r->n_records - 1].scheduled_ns : 0);
}

static void put_errors(struct detail *d, const struct vt_mlperf_view *v)
{
    d->is_error = true;
    for (uint32_t i = 0; i < v->n_errors; i++) {
        TEXT("error_runtime", v->errors[i]);
    }
    d->is_error = false;
}

/* vatio's recorder has no slots to retry for. */
static void put_logger(const struct detail *d)
{
    COUNT("logger_swap_request_slots_retry_count", 0);
    COUNT("logger_swap_request_slots_retry_retry_count", 0);
    COUNT("logger_swap_request_slots_retry_reencounter_count", 0);
    COUNT("logger_start_reading_entries_retry_count", 0);
    COUNT("logger_tls_total_log_cas_fail_count", 0);
    COUNT("logger_tls_total_swap_buffers_slot_retry_count", 0);
}

static char *power_time(int64_t unix_ms, char *text, size_t size)
{
    struct tm utc = utc_of(unix_ms);
    size_t n = strftime(text, size, "%m-%d-%Y %H:%M:%S", &utc);

    (void)snprintf(text + n, size - n, ".%03d", (int)(unix_ms % 1000));
    return text;
}

static void put_power(const struct detail *d, const struct vt_load_report *r)
{
    char text[64];

    TEXT("power_begin", power_time(r->start_unix_ms, text, sizeof text));
    TEXT("power_end",
         power_time(r->start_unix_ms + r->duration_ns / VT_NS_PER_MS, text, sizeof text));
}

/* One line of what stands on several. */
static char *flat(const char *text, char *line, size_t size)
{
    (void)snprintf(line, size, "%s", text);
    for (char *c = strchr(line, '\n'); c != NULL; c = strchr(c, '\n')) {
        *c = ' ';
    }
    return line;
}

static void put_verdict(const struct detail *d, const struct vt_mlperf_view *v)
{
    const struct vt_load_report *r = v->report;
    char line[640] = "";

    TEXT("result_validity", v->valid ? "VALID" : "INVALID");
    if (r->settings.scenario == VT_SERVER) {
        BOOL("result_perf_constraints_met", r->performance_met);
    }
    BOOL("result_min_duration_met", r->min_duration_met);
    BOOL("result_min_queries_met", r->min_queries_met);
    BOOL("early_stopping_met", r->early_stopping_met);
    if (!v->valid) {
        for (uint32_t i = 0; i < v->n_recommendations; i++) {
            const char *text = v->recommendations[i];
            size_t used = strlen(line);
            bool broken = text[strcspn(text, "\n")] != '\0';
            (void)snprintf(line + used, sizeof line - used, "%.*s%s", (int)strcspn(text, "\n"),
                           text, broken ? "" : " ");
        }
        TEXT("result_invalid_reason", line);
    }
    TEXT("early_stopping_result", flat(v->early_stopping, line, sizeof line));
}

static void put_stats(const struct detail *d, const struct vt_latency_stats *l, bool of_queries)
{
    static const char *const percentiles[] = {"50.00", "90.00", "95.00", "97.00", "99.00", "99.90"};
    const int64_t values[] = {l->p50_ns, l->p90_ns, l->p95_ns, l->p97_ns, l->p99_ns, l->p99_9_ns};
    char key[64];

    NS(of_queries ? "result_min_query_latency_ns" : "result_min_latency_ns", l->min_ns);
    NS(of_queries ? "result_max_query_latency_ns" : "result_max_latency_ns", l->max_ns);
    NS(of_queries ? "result_mean_query_latency_ns" : "result_mean_latency_ns", l->mean_ns);
    for (size_t i = 0; i < 6; i++) {
        (void)snprintf(key, sizeof key, "result_%s_percentile_%slatency_ns", percentiles[i],
                       of_queries ? "per_query_" : "");
        NS(key, values[i]);
    }
}

static void put_results(const struct detail *d, const struct vt_mlperf_view *v)
{
    const struct vt_load_report *r = v->report;

    COUNT("result_query_count", r->queries_issued);
    switch (r->settings.scenario) {
    case VT_SINGLESTREAM:
        REAL("result_qps_with_loadgen_overhead", v->rate_with_overhead);
        REAL("result_qps_without_loadgen_overhead", v->rate_without_overhead);
        NS("early_stopping_latency_ss", v->early_single_ns);
        NS("early_stopping_latency_ms", v->early_multi_ns);
        break;
    case VT_MULTISTREAM:
        put_stats(d, &r->query_latency, true);
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
    put_stats(d, &r->latency, false);
    COUNT("num_errors", v->n_errors);
}

void vt_mlperf_detail_print(const struct vt_mlperf_view *v, FILE *out)
{
    struct detail detail = {.out = out, .pid = getpid(), .tid = (long)syscall(SYS_gettid)};
    struct detail *d = &detail;

    put_build(d);
    put_test(d, v);
    put_requested(d, v);
    put_effective(d, v);
    put_generation(d, v);
    d->time_ns = v->report->duration_ns > 0 ? v->report->duration_ns : 0;
    put_errors(d, v);
    put_logger(d);
    put_power(d, v->report);
    if (v->report->settings.mode == VT_PERFORMANCE) {
        put_verdict(d, v);
        put_results(d, v);
    }
}
