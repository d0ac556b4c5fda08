/* SPDX-License-Identifier: Apache-2.0 */
#include "load/settings.h"

#include <inttypes.h>

#include "load/setting_table.h"

static enum vt_status check_count(const char *field, uint64_t n, uint64_t min, uint64_t max,
                                  struct vt_error *err)
{
    if (n < min || n > max) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "%s is %" PRIu64 ": give a count from %" PRIu64 " to %" PRIu64, field,
                            n, min, max);
    }
    return VT_OK;
}

void vt_load_settings_apply_test05(struct vt_load_settings *settings)
{
    if (settings->test05) {
        settings->mode = VT_PERFORMANCE;
        settings->qsl_rng_seed = settings->test05_qsl_rng_seed;
        settings->sample_index_rng_seed = settings->test05_sample_index_rng_seed;
        settings->schedule_rng_seed = settings->test05_schedule_rng_seed;
    }
}

static enum vt_status check_library(const struct vt_load_settings *s, uint64_t total,
                                    uint64_t performance, struct vt_error *err)
{
    enum vt_status st = check_count("the library's total_count", total, 1, UINT32_MAX, err);
    if (st == VT_OK) {
        st = check_count("the library's performance_count", performance, 1, total, err);
    }
    if (st == VT_OK) {
        /* 0 stands for the library's own figure. */
        st = check_count("performance_sample_count_override", s->performance_sample_count_override,
                         0, total, err);
    }
    return st != VT_OK ? st
                       : check_count("accuracy_sample_count_override",
                                     s->accuracy_sample_count_override, 0, total, err);
}

/* What the ranges of single settings do not say. */
static enum vt_status check_together(const struct vt_load_settings *s, uint64_t loaded,
                                     struct vt_error *err)
{
    if (s->performance_issue_same && s->performance_issue_unique) {
        return vt_error_set(
            err, VT_ERR_USAGE,
            "performance_issue_same and performance_issue_unique exclude each other: "
            "set one of them");
    }
    if (s->scenario == VT_SERVER && s->server_target_latency_ns == 0 && !s->use_token_latencies) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "server_target_latency_ns is 0: give a limit, or limits for tokens "
                            "with use_token_latencies");
    }
    return s->performance_issue_same
               ? check_count("performance_issue_same_index", s->performance_issue_same_index, 0,
                             loaded - 1, err)
               : VT_OK;
}

/* trunc(slack * seconds * qps), in the order in which LoadGen multiplies. */
static uint64_t expected_samples(double slack, int64_t duration_ns, double qps)
{
    double n = slack * ((double)duration_ns / 1e9) * qps;
    return n < 0x1p62 ? (uint64_t)n : UINT64_C(1) << 62;
}

static void derive_offline(const struct vt_load_settings *s, struct vt_load_effective *e)
{
    uint64_t expected = expected_samples(1.1, s->min_duration_ns, e->target_qps);
    e->samples_per_query = s->performance_issue_unique     ? e->performance_sample_count
                           : expected > s->min_query_count ? expected
                                                           : s->min_query_count;
    e->min_query_count = 1;
    e->target_duration_ns = 0;
}

static void derive(const struct vt_load_settings *s, uint64_t total, uint64_t performance,
                   struct vt_load_effective *e)
{
    *e = (struct vt_load_effective){
        .samples_per_query = 1,
        .min_query_count = s->min_query_count,
        .target_duration_ns = s->min_duration_ns,
        .performance_sample_count = s->performance_sample_count_override != 0
                                        ? s->performance_sample_count_override
                                        : performance,
        .accuracy_sample_count =
            s->accuracy_sample_count_override != 0 ? s->accuracy_sample_count_override : total,
    };
    switch (s->scenario) {
    case VT_SINGLESTREAM:
        e->target_qps = 1e9 / s->single_stream_expected_latency_ns;
        e->percentile = s->single_stream_target_latency_percentile;
        if (s->sample_concatenate_permutation) {
            uint64_t expected = expected_samples(2.0, s->min_duration_ns, e->target_qps);
            uint64_t n = expected > s->min_query_count ? expected : s->min_query_count;
            /* The library's own count, whatever the setting says; one whole set even when n is a
             * multiple already. */
            e->min_query_count = n + (performance - n % performance);
        }
        break;
    case VT_MULTISTREAM:
        e->target_qps = 1e9 / s->multi_stream_expected_latency_ns;
        e->percentile = s->multi_stream_target_latency_percentile;
        e->samples_per_query = s->multi_stream_samples_per_query;
        break;
    case VT_SERVER:
        e->target_qps = s->server_target_qps;
        e->percentile = s->server_target_latency_percentile;
        break;
    case VT_OFFLINE:
    case VT_SCENARIO_COUNT:
        e->target_qps = s->offline_expected_qps;
        e->percentile = 0.99;
        derive_offline(s, e);
        break;
    }
    e->min_sample_count = e->min_query_count * e->samples_per_query;
}

enum vt_status vt_load_settings_resolve(const struct vt_load_settings *settings,
                                        uint64_t total_count, uint64_t performance_count,
                                        struct vt_error *err,
                                        struct vt_load_effective *ret_effective)
{
    enum vt_status st = vt_load_settings_check(settings, err);
    if (st == VT_OK) {
        st = check_library(settings, total_count, performance_count, err);
    }
    if (st != VT_OK) {
        return st;
    }
    struct vt_load_effective e;
    derive(settings, total_count, performance_count, &e);
    st = check_together(settings, e.performance_sample_count, err);
    if (st != VT_OK) {
        return st;
    }
    /* Equal issue rounds up to whole sets: leave room for one. */
    if (e.samples_per_query > VT_LOAD_SAMPLES_MAX - e.performance_sample_count ||
        e.min_query_count > (VT_LOAD_SAMPLES_MAX - e.performance_sample_count) /
                                (e.samples_per_query != 0 ? e.samples_per_query : 1)) {
        return vt_error_set(err, VT_ERR_LIMIT,
                            "the run needs %" PRIu64 " queries of %" PRIu64
                            " samples, more than %" PRIu64
                            " samples in all: lower the rate, the duration or the counts",
                            e.min_query_count, e.samples_per_query, (uint64_t)VT_LOAD_SAMPLES_MAX);
    }
    *ret_effective = e;
    return VT_OK;
}
