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
    if (session->job->max_latency_ns > 0) {
        return session->job->max_latency_ns;
    }
    if (session->info.latency_bound_ns > 0) {
        return session->info.latency_bound_ns;
    }
    int64_t bound = LATENCY_BOUND_FACTOR * probe->single_p90_ns;
    return bound > LATENCY_BOUND_LEAST ? bound : LATENCY_BOUND_LEAST;
}

static uint64_t min_queries(const struct vt_job *job, enum vt_scenario scenario)
{
    if (job->min_query_count > 0) {
        return (uint64_t)job->min_query_count;
    }
    switch (scenario) {
    case VT_OFFLINE:
        return job->official ? VT_ROUND_OFFLINE_SAMPLES : 1;
    case VT_SINGLESTREAM:
        return job->official ? VT_ROUND_DEFAULT_QUERIES : VT_QUERIES_FOR_P90;
    case VT_MULTISTREAM:
        return VT_ROUND_MULTISTREAM_QUERIES;
    default:
        return VT_QUERIES_FOR_P99;
    }
}

void vt_scenario_settings(const struct vt_session *session, const struct vt_probe *probe,
                          enum vt_scenario scenario, enum vt_mode mode,
                          struct vt_load_settings *ret_settings)
{
    const struct vt_job *job = session->job;
    struct vt_load_settings *s = ret_settings;
    int64_t duration = job->duration_ns;

    vt_load_settings_default(s);
    if (job->official && duration < VT_ROUND_MIN_DURATION_NS) {
        duration = VT_ROUND_MIN_DURATION_NS;
    }
    s->scenario = scenario;
    s->mode = mode;
    s->single_stream_expected_latency_ns = probe->single_p90_ns > 0 ? probe->single_p90_ns : 1;
    s->multi_stream_samples_per_query = (uint32_t)job->samples_per_query;
    s->multi_stream_expected_latency_ns =
        (int64_t)((double)job->samples_per_query / probe->samples_per_s * 1e9) + 1;
    s->server_target_qps = job->target_qps;
    s->server_target_latency_ns = vt_scenario_latency_bound(session, probe);
    s->offline_expected_qps = probe->samples_per_s;
    s->min_duration_ns = duration;
    /* In accuracy mode every sample is asked for once, however long that takes. */
    s->max_duration_ns = mode == VT_ACCURACY ? 0 : job->max_duration_ns;
    s->min_query_count = min_queries(job, scenario);
    s->qsl_rng_seed = VT_ROUND_QSL_SEED;
    s->sample_index_rng_seed = VT_ROUND_SAMPLE_SEED;
    s->schedule_rng_seed = VT_ROUND_SCHEDULE_SEED;
    s->completion_timeout_ns = job->timeout_ns;
    if (job->spin_us >= 0) {
        s->spin_ns = job->spin_us * VT_NS_PER_US;
    } else {
        s->spin_ns = session->caps.uses_cpu ? 0 : SPIN_NS;
    }
    if (mode == VT_ACCURACY && scenario == VT_SERVER && s->server_target_qps <= 0) {
        /* Any rate does for accuracy; half of what the system can is safe. */
        s->server_target_qps = probe->samples_per_s / 2;
    }
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
        expected = at_least(expected, queries, sample_ns);
        if (s->server_target_qps <= 0) {
            expected += vt_scenario_search_ns(s);
        }
        break;
    case VT_SINGLESTREAM:
        expected = at_least(expected, queries, single_ns);
        break;
    default:
        expected = at_least(expected, queries, s->multi_stream_samples_per_query * sample_ns);
        break;
    }
    if (s->max_duration_ns > 0 && expected > s->max_duration_ns) {
        expected = s->max_duration_ns;
    }
    return expected;
}
