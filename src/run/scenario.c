/* SPDX-License-Identifier: Apache-2.0 */
#include "run/scenario.h"

#include "base/clock.h"
#include "load/load.h"

#define LATENCY_BOUND_FACTOR 10
#define LATENCY_BOUND_LEAST  (10 * VT_NS_PER_MS)
/* Where no CPU engine competes for the core: longer than the kernel's usual wake-up delay. */
#define SPIN_NS (60 * VT_NS_PER_US)

int64_t vt_scenario_latency_bound(const struct vt_session *session, const struct vt_probe *probe)
{
    const int64_t asked = session->plan->asked[VT_SERVER].server_target_latency_ns;
    if (asked != VT_PLAN_NO_TIME) {
        return asked;
    }
    if (session->info.latency_bound_ns > 0) {
        return session->info.latency_bound_ns;
    }
    int64_t bound = LATENCY_BOUND_FACTOR * probe->single_p90_ns;
    return bound > LATENCY_BOUND_LEAST ? bound : LATENCY_BOUND_LEAST;
}

bool vt_scenario_offline_rate_given(const struct vt_session *session)
{
    return session->plan->asked[VT_OFFLINE].offline_expected_qps > 0;
}

static uint64_t min_queries(enum vt_scenario scenario)
{
    switch (scenario) {
    case VT_OFFLINE:
        return 1;
    case VT_SINGLESTREAM:
        return VT_QUERIES_FOR_P90;
    default:
        return VT_QUERIES_FOR_P99;
    }
}

int64_t vt_scenario_trace_ns(const struct vt_load_settings *settings)
{
    const struct vt_load_settings *s = settings;
    bool replayed =
        s->scenario == VT_SERVER && s->arrivals == VT_ARRIVALS_TRACE && s->n_arrival_trace > 0;

    return replayed ? s->arrival_trace_ns[s->n_arrival_trace - 1] : -1;
}

/* Durations and counts that the job left open. */
static void fill_amounts(const struct vt_session *session, struct vt_load_settings *s)
{
    const struct vt_job *job = session->job;
    const struct vt_load_settings *round = &session->plan->round_settings[s->scenario];
    const uint64_t total = session->info.total_count;

    const int64_t trace_ns = vt_scenario_trace_ns(s);

    if (s->min_duration_ns == VT_PLAN_NO_TIME) {
        s->min_duration_ns =
            trace_ns < 0 || trace_ns > job->duration_ns ? job->duration_ns : trace_ns;
    }
    if (s->max_duration_ns == VT_PLAN_NO_TIME) {
        /* A trace says itself when it ends. */
        s->max_duration_ns = job->official || trace_ns >= 0 ? 0 : job->max_duration_ns;
    }
    if (s->min_query_count == VT_PLAN_NO_COUNT) {
        s->min_query_count = min_queries(s->scenario);
        if (trace_ns >= 0 && s->n_arrival_trace < s->min_query_count) {
            s->min_query_count = s->n_arrival_trace;
        }
    }
    if (s->performance_sample_count_override == VT_PLAN_NO_COUNT) {
        /* A smaller data set than the benchmark's is loaded as its workload likes. */
        const uint64_t wanted = round->performance_sample_count_override;
        s->performance_sample_count_override =
            session->plan->benchmark_known && wanted <= total ? wanted : 0;
    }
    if (s->accuracy_sample_count_override == round->accuracy_sample_count_override &&
        s->accuracy_sample_count_override > total) {
        s->accuracy_sample_count_override = 0;
    }
    if (s->completion_timeout_ns == VT_PLAN_NO_TIME) {
        s->completion_timeout_ns = job->timeout_ns;
    }
    if (s->spin_ns == VT_PLAN_NO_TIME) {
        s->spin_ns = session->caps.uses_cpu ? 0 : SPIN_NS;
    }
}

/* Expectations that the job left open: what the probe showed. */
static void fill_expectations(const struct vt_session *session, const struct vt_probe *probe,
                              struct vt_load_settings *s)
{
    if (s->single_stream_expected_latency_ns < 0) {
        s->single_stream_expected_latency_ns =
            probe->single_p90_ns > 0 ? (double)probe->single_p90_ns : 1;
    }
    if (s->multi_stream_expected_latency_ns < 0) {
        s->multi_stream_expected_latency_ns =
            (double)s->multi_stream_samples_per_query / probe->samples_per_s * 1e9 + 1;
    }
    if (s->offline_expected_qps <= 0) {
        s->offline_expected_qps = probe->samples_per_s;
    }
    if (s->server_target_qps <= 0) {
        /* Any rate does for accuracy; half of what the system can is safe. */
        s->server_target_qps = s->mode == VT_ACCURACY     ? probe->samples_per_s / 2
                               : s->scenario == VT_SERVER ? 0
                                                          : 1;
    }
    s->server_target_latency_ns = vt_scenario_latency_bound(session, probe);
}

void vt_scenario_settings(const struct vt_session *session, const struct vt_probe *probe,
                          enum vt_scenario scenario, enum vt_mode mode,
                          struct vt_load_settings *ret_settings)
{
    struct vt_load_settings s = session->plan->asked[scenario];

    s.scenario = scenario;
    s.mode = mode;
    fill_amounts(session, &s);
    fill_expectations(session, probe, &s);
    if (mode == VT_ACCURACY) {
        /* Every sample is asked for once, however long that takes. */
        s.max_duration_ns = 0;
    }
    *ret_settings = s;
}

static int64_t at_least(int64_t duration_ns, double queries, double query_ns)
{
    double needed = queries * query_ns;
    double longest = 9e18;
    return needed > (double)duration_ns ? (int64_t)(needed < longest ? needed : longest)
                                        : duration_ns;
}

int64_t vt_scenario_trial_ns(const struct vt_load_settings *settings)
{
    int64_t trial = settings->min_duration_ns / 6;
    int64_t least = 300 * VT_NS_PER_MS;
    int64_t most = 10 * VT_NS_PER_S;
    return trial < least ? least : trial > most ? most : trial;
}

int64_t vt_scenario_search_ns(const struct vt_load_settings *settings)
{
    return 12 * vt_scenario_trial_ns(settings);
}

int64_t vt_scenario_expected_ns(const struct vt_load_settings *settings,
                                const struct vt_probe *probe, uint64_t total_samples)
{
    const struct vt_load_settings *s = settings;
    double sample_ns = 1e9 / probe->samples_per_s;
    double single_ns = (double)probe->single_p90_ns;
    double queries = (double)s->min_query_count;
    int64_t expected = s->min_duration_ns;

    if (s->mode == VT_ACCURACY) {
        bool alone = s->scenario == VT_SINGLESTREAM;
        return at_least(0, (double)total_samples, alone ? single_ns : sample_ns);
    }
    switch (s->scenario) {
    case VT_OFFLINE:
        expected = at_least(expected + expected / 10, queries, sample_ns);
        break;
    case VT_SERVER:
        expected = vt_scenario_trace_ns(s) >= 0 ? vt_scenario_trace_ns(s)
                                                : at_least(expected, queries, sample_ns);
        if (s->server_target_qps <= 0) {
            expected += vt_scenario_search_ns(s);
        }
        break;
    case VT_SINGLESTREAM:
        expected = at_least(expected, queries, single_ns);
        break;
    default:
        expected =
            at_least(expected, queries, (double)s->multi_stream_samples_per_query * sample_ns);
        break;
    }
    if (s->max_duration_ns > 0 && expected > s->max_duration_ns) {
        expected = s->max_duration_ns;
    }
    return expected;
}
