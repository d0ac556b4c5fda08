/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The load settings of each scenario of a job: durations, counts and seeds, from what the user
 * asked for and what a probe of the system showed.
 */
#ifndef VT_RUN_SCENARIO_H
#define VT_RUN_SCENARIO_H

#include "core/report.h"
#include "run/session.h"

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

/* Whether the job says how fast Offline will be; else it is measured. */
bool vt_scenario_offline_rate_given(const struct vt_session *session);

/* When the last query of a trace of arrivals comes; -1 where none is replayed. */
int64_t vt_scenario_trace_ns(const struct vt_load_settings *settings);

/* How long a run with these settings will probably take. */
int64_t vt_scenario_expected_ns(const struct vt_load_settings *settings,
                                const struct vt_probe *probe, uint64_t total_samples);

/* Length of one trial of the search for Server's rate, and of all of them. */
int64_t vt_scenario_trial_ns(const struct vt_load_settings *settings);
int64_t vt_scenario_search_ns(const struct vt_load_settings *settings);

#endif
