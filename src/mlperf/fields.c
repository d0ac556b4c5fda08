/* SPDX-License-Identifier: Apache-2.0 */
#include "mlperf/fields.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "core/query.h"

#define ASKED(name) offsetof(struct vt_mlperf_settings, asked.name)
#define TOOK(name)  offsetof(struct vt_mlperf_settings, effective.name)
#define OWN(name)   offsetof(struct vt_mlperf_settings, name)
#define ON(name)    (1u << VT_##name)

static const struct vt_mlperf_field requested[] = {
    {"requested_scenario", VT_FIELD_SCENARIO, ASKED(scenario), 0},
    {"requested_test_mode", VT_FIELD_MODE, ASKED(mode), 0},
    {"requested_single_stream_expected_latency_ns", VT_FIELD_F64,
     ASKED(single_stream_expected_latency_ns), ON(SINGLESTREAM)},
    {"requested_single_stream_target_latency_percentile", VT_FIELD_F64,
     ASKED(single_stream_target_latency_percentile), ON(SINGLESTREAM)},
    {"requested_multi_stream_expected_latency_ns", VT_FIELD_F64,
     ASKED(multi_stream_expected_latency_ns), ON(MULTISTREAM)},
    {"requested_multi_stream_target_latency_percentile", VT_FIELD_F64,
     ASKED(multi_stream_target_latency_percentile), ON(MULTISTREAM)},
    {"requested_multi_stream_samples_per_query", VT_FIELD_U64,
     ASKED(multi_stream_samples_per_query), ON(MULTISTREAM)},
    {"requested_server_target_qps", VT_FIELD_F64, ASKED(server_target_qps), ON(SERVER)},
    {"requested_server_target_latency_ns", VT_FIELD_NS, ASKED(server_target_latency_ns),
     ON(SERVER)},
    {"requested_server_target_latency_percentile", VT_FIELD_F64,
     ASKED(server_target_latency_percentile), ON(SERVER)},
    {"requested_server_coalesce_queries", VT_FIELD_BOOL, ASKED(server_coalesce_queries),
     ON(SERVER)},
    {"requested_server_find_peak_qps_decimals_of_precision", VT_FIELD_U32,
     ASKED(server_find_peak_qps_decimals_of_precision), ON(SERVER)},
    {"requested_server_find_peak_qps_boundary_step_size", VT_FIELD_F64,
     ASKED(server_find_peak_qps_boundary_step_size), ON(SERVER)},
    {"requested_server_max_async_queries", VT_FIELD_U64, ASKED(server_max_async_queries),
     ON(SERVER)},
    {"requested_server_num_issue_query_threads", VT_FIELD_U32,
     ASKED(server_num_issue_query_threads), ON(SERVER)},
    {"requested_offline_expected_qps", VT_FIELD_F64, ASKED(offline_expected_qps), ON(OFFLINE)},
    {"requested_min_duration_ms", VT_FIELD_MS, ASKED(min_duration_ns), 0},
    {"requested_max_duration_ms", VT_FIELD_MS, ASKED(max_duration_ns), 0},
    {"requested_min_query_count", VT_FIELD_U64, ASKED(min_query_count), 0},
    {"requested_max_query_count", VT_FIELD_U64, ASKED(max_query_count), 0},
    {"requested_qsl_rng_seed", VT_FIELD_U64, ASKED(qsl_rng_seed), 0},
    {"requested_sample_index_rng_seed", VT_FIELD_U64, ASKED(sample_index_rng_seed), 0},
    {"requested_schedule_rng_seed", VT_FIELD_U64, ASKED(schedule_rng_seed), 0},
    {"requested_accuracy_log_rng_seed", VT_FIELD_U64, ASKED(accuracy_log_rng_seed), 0},
    {"requested_accuracy_log_probability", VT_FIELD_F64, ASKED(accuracy_log_probability), 0},
    {"requested_accuracy_log_sampling_target", VT_FIELD_U64, ASKED(accuracy_log_sampling_target),
     0},
    {"requested_print_timestamps", VT_FIELD_BOOL, ASKED(print_timestamps), 0},
    {"requested_performance_issue_unique", VT_FIELD_BOOL, ASKED(performance_issue_unique), 0},
    {"requested_performance_issue_same", VT_FIELD_BOOL, ASKED(performance_issue_same), 0},
    {"requested_performance_issue_same_index", VT_FIELD_U64, ASKED(performance_issue_same_index),
     0},
    {"requested_performance_sample_count_override", VT_FIELD_U64,
     ASKED(performance_sample_count_override), 0},
    {"requested_accuracy_sample_count_override", VT_FIELD_U64,
     ASKED(accuracy_sample_count_override), 0},
    {"requested_sample_concatenate_permutation", VT_FIELD_BOOL,
     ASKED(sample_concatenate_permutation), 0},
    {"requested_use_token_latencies", VT_FIELD_BOOL, ASKED(use_token_latencies), VT_FIELD_TOKENS},
    {"requested_server_ttft_latency", VT_FIELD_NS, ASKED(server_ttft_latency_ns),
     VT_FIELD_TOKENS | ON(SERVER) | ON(SINGLESTREAM) | ON(MULTISTREAM)},
    {"requested_server_tpot_latency", VT_FIELD_NS, ASKED(server_tpot_latency_ns),
     VT_FIELD_TOKENS | ON(SERVER) | ON(SINGLESTREAM) | ON(MULTISTREAM)},
};

static const struct vt_mlperf_field effective[] = {
    {"effective_scenario", VT_FIELD_SCENARIO, ASKED(scenario), 0},
    {"effective_test_mode", VT_FIELD_MODE, ASKED(mode), 0},
    {"effective_samples_per_query", VT_FIELD_U64, TOOK(samples_per_query), 0},
    {"effective_target_qps", VT_FIELD_F64, TOOK(target_qps), 0},
    {"effective_target_latency_ns", VT_FIELD_NS, OWN(target_latency_ns), 0},
    {"effective_target_latency_percentile", VT_FIELD_F64, TOOK(percentile), 0},
    {"effective_max_async_queries", VT_FIELD_U64, OWN(max_async_queries), 0},
    {"effective_target_duration_ms", VT_FIELD_MS, TOOK(target_duration_ns), 0},
    {"effective_min_duration_ms", VT_FIELD_MS, ASKED(min_duration_ns), 0},
    {"effective_max_duration_ms", VT_FIELD_MS, ASKED(max_duration_ns), 0},
    {"effective_min_query_count", VT_FIELD_U64, TOOK(min_query_count), 0},
    {"effective_max_query_count", VT_FIELD_U64, ASKED(max_query_count), 0},
    {"effective_min_sample_count", VT_FIELD_U64, TOOK(min_sample_count), 0},
    {"effective_qsl_rng_seed", VT_FIELD_U64, ASKED(qsl_rng_seed), 0},
    {"effective_sample_index_rng_seed", VT_FIELD_U64, ASKED(sample_index_rng_seed), 0},
    {"effective_schedule_rng_seed", VT_FIELD_U64, ASKED(schedule_rng_seed), 0},
    {"effective_accuracy_log_rng_seed", VT_FIELD_U64, ASKED(accuracy_log_rng_seed), 0},
    {"effective_accuracy_log_probability", VT_FIELD_F64, ASKED(accuracy_log_probability), 0},
    {"effective_accuracy_log_sampling_target", VT_FIELD_U64, ASKED(accuracy_log_sampling_target),
     0},
    {"effective_print_timestamps", VT_FIELD_BOOL, ASKED(print_timestamps), 0},
    {"effective_performance_issue_unique", VT_FIELD_BOOL, ASKED(performance_issue_unique), 0},
    {"effective_performance_issue_same", VT_FIELD_BOOL, ASKED(performance_issue_same), 0},
    {"effective_performance_issue_same_index", VT_FIELD_U64, ASKED(performance_issue_same_index),
     0},
    {"effective_performance_sample_count", VT_FIELD_U64, TOOK(performance_sample_count), 0},
    {"effective_accuracy_sample_count", VT_FIELD_U64, TOOK(accuracy_sample_count), 0},
    {"effective_sample_concatenate_permutation", VT_FIELD_BOOL,
     ASKED(sample_concatenate_permutation), 0},
};

static const struct vt_mlperf_field parameters[] = {
    {"samples_per_query : ", VT_FIELD_U64, TOOK(samples_per_query), 0},
    {"target_qps : ", VT_FIELD_F64, TOOK(target_qps), 0},
    {"target_latency (ns): ", VT_FIELD_NS, OWN(target_latency_ns), VT_FIELD_NO_TOKENS},
    {"ttft_latency (ns): ", VT_FIELD_NS, ASKED(server_ttft_latency_ns), VT_FIELD_TOKENS},
    {"tpot_latency (ns): ", VT_FIELD_NS, ASKED(server_tpot_latency_ns), VT_FIELD_TOKENS},
    {"max_async_queries : ", VT_FIELD_U64, OWN(max_async_queries), 0},
    {"min_duration (ms): ", VT_FIELD_MS, ASKED(min_duration_ns), 0},
    {"max_duration (ms): ", VT_FIELD_MS, ASKED(max_duration_ns), 0},
    {"min_query_count : ", VT_FIELD_U64, TOOK(min_query_count), 0},
    {"max_query_count : ", VT_FIELD_U64, ASKED(max_query_count), 0},
    {"qsl_rng_seed : ", VT_FIELD_U64, ASKED(qsl_rng_seed), 0},
    {"sample_index_rng_seed : ", VT_FIELD_U64, ASKED(sample_index_rng_seed), 0},
    {"schedule_rng_seed : ", VT_FIELD_U64, ASKED(schedule_rng_seed), 0},
    {"accuracy_log_rng_seed : ", VT_FIELD_U64, ASKED(accuracy_log_rng_seed), 0},
    {"accuracy_log_probability : ", VT_FIELD_F64, ASKED(accuracy_log_probability), 0},
    {"accuracy_log_sampling_target : ", VT_FIELD_U64, ASKED(accuracy_log_sampling_target), 0},
    {"print_timestamps : ", VT_FIELD_BOOL, ASKED(print_timestamps), 0},
    {"performance_issue_unique : ", VT_FIELD_BOOL, ASKED(performance_issue_unique), 0},
    {"performance_issue_same : ", VT_FIELD_BOOL, ASKED(performance_issue_same), 0},
    {"performance_issue_same_index : ", VT_FIELD_U64, ASKED(performance_issue_same_index), 0},
    {"performance_sample_count : ", VT_FIELD_U64, TOOK(performance_sample_count), 0},
    {"accuracy_sample_count : ", VT_FIELD_U64, TOOK(accuracy_sample_count), 0},
};

void vt_mlperf_settings_of(const struct vt_load_settings *settings,
                           const struct vt_load_effective *taken,
                           struct vt_mlperf_settings *ret_settings)
{
    bool server = settings->scenario == VT_SERVER;

    *ret_settings = (struct vt_mlperf_settings){
        .asked = *settings,
        .effective = *taken,
        .target_latency_ns = server ? settings->server_target_latency_ns : 0,
        .max_async_queries = server ? settings->server_max_async_queries : 1,
    };
}

const struct vt_mlperf_field *vt_mlperf_fields(enum vt_mlperf_list list, size_t *ret_n)
{
    static const struct {
        const struct vt_mlperf_field *fields;
        size_t n;
    } lists[] = {
        [VT_LIST_REQUESTED] = {requested, sizeof requested / sizeof requested[0]},
        [VT_LIST_EFFECTIVE] = {effective, sizeof effective / sizeof effective[0]},
        [VT_LIST_PARAMETERS] = {parameters, sizeof parameters / sizeof parameters[0]},
    };
    *ret_n = lists[list].n;
    return lists[list].fields;
}

bool vt_mlperf_field_applies(const struct vt_mlperf_field *field,
                             const struct vt_mlperf_settings *settings)
{
    const unsigned scenarios = (1u << VT_SCENARIO_COUNT) - 1;
    bool tokens = settings->asked.use_token_latencies;

    if ((field->when & scenarios) != 0 && (field->when & 1u << settings->asked.scenario) == 0) {
        return false;
    }
    return !((field->when & VT_FIELD_TOKENS) != 0 && !tokens) &&
           !((field->when & VT_FIELD_NO_TOKENS) != 0 && tokens);
}

void vt_mlperf_field_text(const struct vt_mlperf_field *field,
                          const struct vt_mlperf_settings *settings, bool json,
                          char ret_text[VT_FIELD_TEXT_MAX])
{
    const void *at = (const char *)settings + field->offset;
    const char *quote = json ? "\"" : "";
    const size_t room = VT_FIELD_TEXT_MAX;

    switch (field->type) {
    case VT_FIELD_SCENARIO:
        (void)snprintf(ret_text, room, "%s%s%s", quote,
                       vt_scenario_name(*(const enum vt_scenario *)at), quote);
        break;
    case VT_FIELD_MODE:
        (void)snprintf(ret_text, room, "%s%s%s", quote, vt_mode_name(*(const enum vt_mode *)at),
                       quote);
        break;
    case VT_FIELD_BOOL: {
        bool on = *(const bool *)at;
        (void)snprintf(ret_text, room, "%s", json ? (on ? "true" : "false") : (on ? "1" : "0"));
        break;
    }
    case VT_FIELD_U32:
        (void)snprintf(ret_text, room, "%" PRIu32, *(const uint32_t *)at);
        break;
    case VT_FIELD_U64:
        (void)snprintf(ret_text, room, "%" PRIu64, *(const uint64_t *)at);
        break;
    case VT_FIELD_F64: {
        double value = *(const double *)at;
        (void)snprintf(ret_text, room, "%g", isfinite(value) ? value : 0.0);
        break;
    }
    case VT_FIELD_NS:
        (void)snprintf(ret_text, room, "%" PRId64, *(const int64_t *)at);
        break;
    case VT_FIELD_MS:
        (void)snprintf(ret_text, room, "%" PRId64, *(const int64_t *)at / VT_NS_PER_MS);
        break;
    }
}
