/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of a result by name. */
#include <stddef.h>
#include <string.h>

#include "api/result.h"
#include "base/options.h"

enum kind {
    U32,
    U64,
    I64,
    F64,
    BOOL,
};

struct number {
    const char *key;
    size_t offset;
    enum kind kind;
    bool of_test; /* in struct vt_test_result, else in struct vt_load_report */
};

#define REPORT(key, field, kind)                                                                   \
    {                                                                                              \
        key, offsetof(struct vt_load_report, field), kind, false                                   \
    }
#define TEST(key, field, kind)                                                                     \
    {                                                                                              \
        key, offsetof(struct vt_test_result, field), kind, true                                    \
    }
#define LATENCIES(prefix, field)                                                                   \
    REPORT(prefix "_min_ns", field.min_ns, I64), REPORT(prefix "_mean_ns", field.mean_ns, I64),    \
        REPORT(prefix "_p50_ns", field.p50_ns, I64), REPORT(prefix "_p90_ns", field.p90_ns, I64),  \
        REPORT(prefix "_p95_ns", field.p95_ns, I64), REPORT(prefix "_p97_ns", field.p97_ns, I64),  \
        REPORT(prefix "_p99_ns", field.p99_ns, I64),                                               \
        REPORT(prefix "_p99_9_ns", field.p99_9_ns, I64),                                           \
        REPORT(prefix "_max_ns", field.max_ns, I64)

static const struct number numbers[] = {
    REPORT("queries_issued", queries_issued, U64),
    REPORT("samples_issued", samples_issued, U64),
    REPORT("samples_completed", samples_completed, U64),
    REPORT("samples_failed", samples_failed, U64),
    REPORT("samples_lost", samples_lost, U64),
    REPORT("samples_doubled", samples_doubled, U64),
    REPORT("samples_invented", samples_invented, U64),
    REPORT("samples_late", samples_late, U64),
    REPORT("interrupted", interrupted, BOOL),
    REPORT("capped", capped, BOOL),
    REPORT("start_unix_ms", start_unix_ms, I64),
    REPORT("start_monotonic_ns", start_monotonic_ns, I64),
    REPORT("duration_ns", duration_ns, I64),
    REPORT("last_issue_ns", last_issue_ns, I64),
    REPORT("last_query_done_ns", last_query_done_ns, I64),
    LATENCIES("latency", latency),
    LATENCIES("query_latency", query_latency),
    REPORT("lateness_p50_ns", lateness_p50_ns, I64),
    REPORT("lateness_p99_ns", lateness_p99_ns, I64),
    REPORT("lateness_p99_9_ns", lateness_p99_9_ns, I64),
    REPORT("lateness_max_ns", lateness_max_ns, I64),
    REPORT("metric", metric.value, F64),
    REPORT("min_duration_met", min_duration_met, BOOL),
    REPORT("min_queries_met", min_queries_met, BOOL),
    REPORT("performance_met", performance_met, BOOL),
    REPORT("early_stopping_met", early_stopping_met, BOOL),
    REPORT("early_stopping_needed_queries", early_stopping_needed, U64),
    REPORT("early_stopping_estimate_ns", early_stopping_estimate_ns, I64),
    REPORT("early_stopping_p99_ns", early_stopping_p99_ns, I64),
    REPORT("overlatency_queries", overlatency_queries, U64),
    REPORT("target_latency_ns", target_latency_ns, I64),
    REPORT("target_qps", effective.target_qps, F64),
    REPORT("target_percentile", effective.percentile, F64),
    REPORT("target_duration_ns", effective.target_duration_ns, I64),
    REPORT("min_query_count", effective.min_query_count, U64),
    REPORT("samples_per_query", samples_per_query, U64),
    REPORT("performance_sample_count", effective.performance_sample_count, U64),
    REPORT("accuracy_sample_count", effective.accuracy_sample_count, U64),
    REPORT("tokens", token.tokens, U64),
    LATENCIES("first_token", token.first),
    LATENCIES("per_output_token", token.per_output),
    REPORT("first_token_target_ns", token.first_target_ns, I64),
    REPORT("per_output_token_target_ns", token.per_output_target_ns, I64),
    REPORT("first_token_met", token.first_met, BOOL),
    REPORT("per_output_token_met", token.per_output_met, BOOL),
    REPORT("overlatency_first_tokens", token.overlatency_first, U64),
    REPORT("overlatency_per_output_tokens", token.overlatency_per_output, U64),
    REPORT("record_bytes", record_bytes, U64),
    REPORT("spilled_bytes", spilled_bytes, U64),
    REPORT("notes_dropped", notes_dropped, U64),
    TEST("find_peak_qps", peak_qps, F64),
    TEST("find_peak_runs", peak_steps, U32),
};

#define N_NUMBERS (sizeof numbers / sizeof numbers[0])

static double read_number(const void *at, enum kind kind)
{
    switch (kind) {
    case U32:
        return (double)*(const uint32_t *)at;
    case U64:
        return (double)*(const uint64_t *)at;
    case I64:
        return (double)*(const int64_t *)at;
    case F64:
        return *(const double *)at;
    case BOOL:
        break;
    }
    return *(const bool *)at ? 1 : 0;
}

bool vt_api_number(const struct vt_load_result *result, const char *key, double *ret_value)
{
    for (size_t i = 0; i < N_NUMBERS; i++) {
        const struct number *number = &numbers[i];
        if (strcmp(number->key, key) != 0) {
            continue;
        }
        const void *from = number->of_test ? (const void *)result->test : result->report;
        *ret_value =
            from == NULL ? 0 : read_number((const char *)from + number->offset, number->kind);
        return true;
    }
    return false;
}

const char *vt_api_number_name(size_t i)
{
    return i < N_NUMBERS ? numbers[i].key : NULL;
}

const char *vt_api_number_nearest(const char *key)
{
    const char *names[N_NUMBERS];

    for (size_t i = 0; i < N_NUMBERS; i++) {
        names[i] = numbers[i].key;
    }
    return vt_nearest_name(key, names, N_NUMBERS);
}
