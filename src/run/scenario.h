/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The load settings of each scenario of a job: durations, counts and seeds, from what the user
 * asked for and what a probe of the system showed.
 */
#ifndef VT_RUN_SCENARIO_H
#define VT_RUN_SCENARIO_H

#include "core/report.h"
#include "run/session.h"

/* The round whose rules are kept, and its numbers (mlperf.conf of that round). */
#define VT_ROUND                     "v6.1"
#define VT_ROUND_QSL_SEED            UINT64_C(2085463073848966840)
#define VT_ROUND_SAMPLE_SEED         UINT64_C(2747215439041700203)
#define VT_ROUND_SCHEDULE_SEED       UINT64_C(16159082839903944936)
#define VT_ROUND_MIN_DURATION_NS     (INT64_C(600) * 1000000000)
#define VT_ROUND_SAMPLES_PER_QUERY   8
#define VT_ROUND_OFFLINE_SAMPLES     24576
#define VT_ROUND_MULTISTREAM_QUERIES 662
#define VT_ROUND_DEFAULT_QUERIES     100

/*
 * The fewest queries with which early stopping can pass at 99 % confidence when one is over the
 * latency: H(1) + 1 of docs on early stopping, for p90 and p99.
 */
#define VT_QUERIES_FOR_P90 64
#define VT_QUERIES_FOR_P99 662

/* What the system showed before the first scenario. */
struct vt_probe {
    int64_t single_p90_ns; /* one sample alone */
    uint32_t batch;        /* in effect */
    double samples_per_s;  /* with full batches on every lane, estimated */
};

/* The settings of one run; server_target_qps is left 0 where it has to be found. */
void vt_scenario_settings(const struct vt_session *session, const struct vt_probe *probe,
                          enum vt_scenario scenario, enum vt_mode mode,
                          struct vt_load_settings *ret_settings);

/* The bound of Server's p99 latency: the user's, the task's, or ten times the single p90. */
int64_t vt_scenario_latency_bound(const struct vt_session *session, const struct vt_probe *probe);

/* How long a run with these settings will probably take. */
int64_t vt_scenario_expected_ns(const struct vt_load_settings *settings,
                                const struct vt_probe *probe, uint64_t total_samples);

/* Length of one trial of the search for Server's rate, and of all of them. */
int64_t vt_scenario_trial_ns(const struct vt_load_settings *settings);
int64_t vt_scenario_search_ns(const struct vt_load_settings *settings);

#endif
