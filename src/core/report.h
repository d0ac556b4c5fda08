/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run of load was asked to do and what it was: settings, records, statistics, verdict. Made
 * by load, read by everything behind it.
 */
#ifndef VT_CORE_REPORT_H
#define VT_CORE_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/query.h"

/* The fields of MLPerf's TestSettings that vatio acts on, under the field's own names. */
struct vt_load_settings {
    enum vt_scenario scenario;
    enum vt_mode mode;
    /* What the system is expected to do; SingleStream and MultiStream pre-compute their sample
     * order from it, Offline the size of its query. */
    int64_t single_stream_expected_latency_ns;
    double single_stream_target_latency_percentile;
    int64_t multi_stream_expected_latency_ns;
    double multi_stream_target_latency_percentile;
    uint32_t multi_stream_samples_per_query;
    double server_target_qps;
    int64_t server_target_latency_ns;
    double server_target_latency_percentile;
    double offline_expected_qps;
    int64_t min_duration_ns;
    int64_t max_duration_ns; /* MLPerf's: 0 none; reaching it is an error of the run */
    uint64_t min_query_count;
    uint64_t max_query_count; /* 0: none */
    uint64_t qsl_rng_seed;
    uint64_t sample_index_rng_seed;
    uint64_t schedule_rng_seed;
    uint64_t performance_sample_count; /* 0: the library's */
    uint64_t accuracy_sample_count;    /* 0: the whole library */
    bool sample_concatenate_permutation;
    bool performance_issue_unique;
    bool performance_issue_same;
    uint64_t performance_issue_same_index;
    /* vatio's own */
    int64_t completion_timeout_ns; /* nothing completes for so long after the last issue: lost */
    int64_t spin_ns;               /* spin at the end of a wait; 0 where it robs a CPU engine */
};

struct vt_latency_stats {
    int64_t min_ns, mean_ns, p50_ns, p90_ns, p95_ns, p97_ns, p99_ns, p99_9_ns, max_ns;
};

struct vt_metric {
    const char *name; /* "samples_per_second"; static storage */
    const char *unit; /* "samples/s" */
    double value;
};

/* 32 bytes a sample, in order of issue. Times count from the start of the run. */
struct vt_sample_record {
    int64_t scheduled_ns;
    int64_t issued_ns;
    int64_t done_ns; /* VT_RECORD_LOST while there is no completion */
    uint32_t index;  /* in the data set */
    uint32_t query;  /* queries count from 0 */
};
#define VT_RECORD_LOST INT64_MIN

#define VT_REASONS_MAX 8
struct vt_reasons {
    uint32_t n;
    char text[VT_REASONS_MAX][400];
};

/* What a run was. Owned by the caller; vt_load_report_free. */
struct vt_load_report {
    struct vt_load_settings settings; /* as they took effect */
    const char *sut_name;             /* borrowed from the sut */
    const char *qsl_name;             /* borrowed from the qsl */
    uint64_t qsl_total_count;         /* as the library reported them */
    uint64_t qsl_performance_count;
    int64_t start_unix_ms; /* wall clock at the start, for logs only */
    uint64_t queries_issued;
    uint64_t samples_issued;
    uint64_t samples_completed;
    uint64_t samples_failed;               /* completed with a status other than VT_OK */
    uint64_t samples_lost;                 /* issued, never completed */
    uint64_t samples_doubled;              /* completed more than once */
    uint64_t samples_invented;             /* completed but never issued */
    bool interrupted;                      /* `stop` was set */
    bool capped;                           /* max_duration or max_query_count ended it */
    int64_t duration_ns;                   /* start to the last completion */
    int64_t last_issue_ns;                 /* start to the last issue */
    int64_t last_query_done_ns;            /* start to the completion of the last-issued query */
    struct vt_latency_stats latency;       /* of samples */
    struct vt_latency_stats query_latency; /* of queries: the same except in MultiStream */
    int64_t lateness_p50_ns, lateness_p99_ns, lateness_max_ns; /* issued - scheduled */
    struct vt_metric metric; /* the scenario's headline; name NULL when there is none */
    bool valid;              /* the limits of this run */
    struct vt_reasons reasons;
    bool min_duration_met, min_queries_met, performance_met, early_stopping_met;
    uint64_t overlatency_queries;
    int64_t early_stopping_estimate_ns; /* Single/MultiStream; 0 when there is none */
    uint64_t early_stopping_needed;     /* queries that early stopping asks for at least */
    char first_failure[256]; /* of a failed, lost, doubled or invented sample: id and text */
    const struct vt_sample_record *records;
    uint64_t n_records;
    /* Accuracy mode: the responses in order of completion. */
    const struct vt_load_response *responses;
    uint64_t n_responses;
};

struct vt_load_response {
    uint64_t sequence; /* of the sample in the run */
    uint64_t index;
    const void *data;
    size_t bytes;
};

#endif
