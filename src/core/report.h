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

/* How bounded integers are drawn, see load/rng.h. */
enum vt_bounded_method {
    VT_BOUNDED_LEMIRE,   /* libstdc++ 11 and later */
    VT_BOUNDED_DIVISION, /* libstdc++ 7 to 10 */
};

/* When the queries of Server start. Only Poisson is within the rules. */
enum vt_arrivals {
    VT_ARRIVALS_POISSON,
    VT_ARRIVALS_CONSTANT, /* one every 1 / server_target_qps */
    VT_ARRIVALS_TRACE,    /* at the recorded times */
};

/*
 * MLPerf's TestSettings, under the fields' own names, and what is vatio's own. The table of
 * load/setting_table.h has every field's type, range, default and unit.
 */
struct vt_load_settings {
    enum vt_scenario scenario;
    enum vt_mode mode;
    /* What the system is expected to do; SingleStream and MultiStream pre-compute their sample
     * order from it, Offline the size of its query. */
    double single_stream_expected_latency_ns;
    double single_stream_target_latency_percentile;
    double multi_stream_expected_latency_ns;
    double multi_stream_target_latency_percentile;
    uint64_t multi_stream_samples_per_query;
    double server_target_qps;
    int64_t server_target_latency_ns;
    double server_target_latency_percentile;
    bool server_coalesce_queries; /* those that are due go into one issue call */
    uint32_t server_find_peak_qps_decimals_of_precision;
    double server_find_peak_qps_boundary_step_size;
    uint64_t server_max_async_queries;       /* more outstanding ends the run; 0: any number */
    uint32_t server_num_issue_query_threads; /* 0 and 1: the thread that runs the load */
    double offline_expected_qps;
    int64_t min_duration_ns;
    int64_t max_duration_ns; /* MLPerf's: 0 none; reaching it is an error of the run */
    uint64_t min_query_count;
    uint64_t max_query_count; /* 0: none */
    uint64_t qsl_rng_seed;
    uint64_t sample_index_rng_seed;
    uint64_t schedule_rng_seed;
    uint64_t accuracy_log_rng_seed;
    /* Performance: which responses are kept, as a share or as a number; 0 and 0: none. */
    double accuracy_log_probability;
    uint64_t accuracy_log_sampling_target;
    bool print_timestamps;
    bool performance_issue_unique;
    bool performance_issue_same;
    uint64_t performance_issue_same_index;
    uint64_t performance_sample_count_override; /* 0: the library's */
    uint64_t accuracy_sample_count_override;    /* 0: the whole library */
    bool sample_concatenate_permutation;
    bool test05; /* performance with the three seeds below */
    uint64_t test05_qsl_rng_seed;
    uint64_t test05_sample_index_rng_seed;
    uint64_t test05_schedule_rng_seed;
    bool use_token_latencies;
    bool infer_token_latencies;
    int64_t server_ttft_latency_ns;
    int64_t server_tpot_latency_ns;
    uint64_t token_latency_scaling_factor;
    /* vatio's own */
    int64_t completion_timeout_ns; /* nothing completes for so long after the last issue: lost */
    int64_t spin_ns; /* spin at the end of a wait, 50 ms at most; 0 where it robs an engine */
    enum vt_bounded_method bounded_method;
    enum vt_arrivals arrivals;
    const int64_t *arrival_trace_ns; /* borrowed; from 0, ascending; the run ends with it */
    uint64_t n_arrival_trace;
    /* Records beyond so many bytes lie in an unlinked file in spill_folder. 0: no limit. */
    uint64_t memory_limit_bytes;
    const char *spill_folder;  /* borrowed; NULL: TMPDIR or /var/tmp */
    int32_t fifo_priority;     /* of the issuing threads, SCHED_FIFO; 0: as they are */
    const int32_t *issue_cpus; /* borrowed; issuing thread i is pinned to entry i modulo n */
    uint32_t n_issue_cpus;     /* 0: not pinned */
};

/* LoadGen's "effective" settings, those that are not in vt_load_settings as such. */
struct vt_load_effective {
    double target_qps;
    double percentile;          /* the scenario's target; 0.99 in Offline, where nothing uses it */
    uint64_t samples_per_query; /* Offline: of its one query, before equal issue pads it */
    uint64_t min_query_count;
    uint64_t min_sample_count;
    int64_t target_duration_ns; /* 0 in Offline */
    uint64_t performance_sample_count;
    uint64_t accuracy_sample_count;
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

/* The extra column of a run that counts tokens, 16 bytes a sample, in the records' order. */
struct vt_token_record {
    int64_t first_ns; /* since the start of the run; VT_RECORD_LOST: no first token */
    int64_t n_tokens; /* 0: none were reported */
};

/* Latencies of tokens: to the first one, and per further one, (latency - first) / (tokens - 1). */
struct vt_token_report {
    struct vt_latency_stats first, per_output;
    int64_t first_target_ns, per_output_target_ns; /* at the target percentile */
    uint64_t tokens;                               /* of all samples */
    uint64_t errors; /* first tokens twice, late or missing, and numbers of tokens below 2 */
    uint64_t overlatency_first, overlatency_per_output;
    bool first_met, per_output_met; /* Server's limits, server_ttft_… and server_tpot_latency_ns */
    bool first_early_stopping_met, per_output_early_stopping_met;
    int64_t first_estimate_ns, per_output_estimate_ns; /* early stopping's; 0: none */
    int64_t per_output_p99_ns; /* SingleStream: the same at p99; of the first it is the report's */
};

/* What LoadGen would have logged while the run went on: an error or a warning, one line each. */
#define VT_NOTES_MAX 16
struct vt_load_note {
    int64_t at_ns; /* since the start of the run */
    bool is_error;
    char text[240];
};

#define VT_REASONS_MAX 8
struct vt_reasons {
    uint32_t n;
    char text[VT_REASONS_MAX][400];
};

/* What a run was. Owned by the caller; vt_load_report_free. */
struct vt_load_report {
    struct vt_load_settings settings; /* as they were asked for, with test05's changes */
    struct vt_load_effective effective;
    const char *sut_name;     /* borrowed from the sut */
    int64_t sut_name_ns;      /* what asking the sut for it took */
    const char *qsl_name;     /* borrowed from the qsl */
    uint64_t qsl_total_count; /* as the library reported them */
    uint64_t qsl_performance_count;
    int64_t start_unix_ms;      /* wall clock at the start, for logs only */
    uint64_t queries_generated; /* LoadGen's figure: what it would have built before the start */
    int64_t generated_duration_ns;
    uint64_t samples_per_query; /* Offline with equal issue: padded */
    uint64_t queries_issued;
    uint64_t samples_issued;
    uint64_t samples_completed;
    uint64_t samples_failed;               /* completed with a status other than VT_OK */
    uint64_t samples_lost;                 /* issued, never completed */
    uint64_t samples_doubled;              /* completed more than once */
    uint64_t samples_invented;             /* completed but never issued */
    uint64_t samples_late;                 /* of the completed, after the run was given up */
    bool interrupted;                      /* `stop` was set */
    bool capped;                           /* max_duration or max_query_count ended it */
    int64_t duration_ns;                   /* start to the last completion */
    int64_t last_issue_ns;                 /* start to the last issue */
    int64_t last_query_done_ns;            /* start to the completion of the last-issued query */
    struct vt_latency_stats latency;       /* of samples */
    struct vt_latency_stats query_latency; /* of queries: the same except in MultiStream */
    /* issued - scheduled */
    int64_t lateness_p50_ns, lateness_p99_ns, lateness_p99_9_ns, lateness_max_ns;
    struct vt_metric metric; /* the scenario's headline; name NULL when there is none */
    bool valid;              /* the limits of this run */
    struct vt_reasons reasons;
    bool min_duration_met, min_queries_met, performance_met, early_stopping_met;
    uint64_t overlatency_queries;
    int64_t target_latency_ns;          /* at the target percentile, of queries; 0: none */
    int64_t early_stopping_estimate_ns; /* Single/MultiStream; 0 when there is none */
    int64_t early_stopping_p99_ns;      /* SingleStream: the same at p99, 0 when there is none */
    uint64_t early_stopping_needed;     /* queries that early stopping asks for at least */
    char first_failure[256]; /* of a failed, lost, doubled or invented sample: id and text */
    const struct vt_sample_record *records;
    uint64_t n_records;
    uint64_t first_sequence;              /* of the records in the test; later phases go on */
    const struct vt_token_record *tokens; /* NULL unless use_token_latencies */
    struct vt_token_report token;
    /* The responses that were kept, in order of completion: all in accuracy mode, the sampled ones
     * in performance mode. */
    const struct vt_load_response *responses;
    uint64_t n_responses;
    struct vt_load_note notes[VT_NOTES_MAX];
    uint32_t n_notes;
    uint64_t notes_dropped;     /* had no more room */
    uint64_t errors_dropped;    /* of them errors */
    int64_t start_monotonic_ns; /* the zero of all times above */
    uint64_t record_bytes;      /* what the records took, on disk too */
    uint64_t spilled_bytes;     /* of them on disk */
};

struct vt_load_response {
    uint64_t sequence; /* of the sample in the test */
    uint64_t index;
    const void *data;
    size_t bytes;
    const void *first_token; /* NULL unless the run counts tokens and there was one */
    size_t first_token_bytes;
    int64_t n_tokens;
};

#endif
