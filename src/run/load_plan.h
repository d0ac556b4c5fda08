/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a job asks of the load, scenario by scenario, before anything is measured: the round's
 * values, the configuration files and the options, put together once.
 *
 * The later wins: the round, --mlperf-conf, --user-conf, options that were given (--set last),
 * --audit-conf. Without --official the round's durations and counts, and the limits that it has
 * for benchmarks that this model is none of, stay out: vatio's short defaults stand there.
 */
#ifndef VT_RUN_LOAD_PLAN_H
#define VT_RUN_LOAD_PLAN_H

#include "core/report.h"
#include "mlperf/conf.h"
#include "run/arrivals.h"
#include "run/job.h"

/* Where nothing was asked for: the probe and the defaults decide, see run/scenario.h. */
#define VT_PLAN_NO_COUNT UINT64_MAX
#define VT_PLAN_NO_TIME  INT64_C(-1)
#define VT_PLAN_NO_RATE  (-1.0)
#define VT_PLAN_NO_MODE  VT_MODE_COUNT

/* Of Offline, for a model that is no benchmark of the round. */
#define VT_PLAN_OFFLINE_SAMPLES 24576

struct vt_load_plan {
    const char *round;    /* borrowed from the options */
    char benchmark[128];  /* as the round's file calls it; "" where the model is none */
    bool benchmark_known; /* the round has it */
    /* The round's values for this benchmark, for the rules. */
    struct vt_load_settings round_settings[VT_SCENARIO_COUNT];
    /*
     * What was asked for. The fields that may be open: mode, durations, min_query_count, expected
     * latencies and rates, server_target_qps, server_target_latency_ns, completion_timeout_ns,
     * spin_ns, performance_sample_count_override.
     */
    struct vt_load_settings asked[VT_SCENARIO_COUNT];
    struct vt_arrival_trace trace;
    int32_t *cpus; /* owned; NULL: none */
    uint32_t n_cpus;
};

/*
 * `options` is filled from vt_job_options(), `model` the model's name. Warnings may be NULL.
 * VT_ERR_USAGE, VT_ERR_NOT_FOUND, VT_ERR_READ, VT_ERR_FORMAT (file:line), VT_ERR_LIMIT. On success
 * the caller releases the plan, after the options' last use.
 */
enum vt_status vt_load_plan_init(struct vt_load_plan *plan, const struct vt_options *options,
                                 const char *model, const struct vt_conf_warnings *warnings,
                                 struct vt_error *err) VT_NODISCARD;
/* Whether this process may do what --pin and --fifo ask for: told before anything slow.
 * VT_ERR_USAGE for a CPU, VT_ERR_UNAVAILABLE for the priority. */
enum vt_status vt_load_plan_check_host(const struct vt_load_plan *plan, const struct vt_job *job,
                                       struct vt_error *err) VT_NODISCARD;
void vt_load_plan_release(struct vt_load_plan *plan); /* accepts a zeroed one */

/* What the job measures in this scenario: a file's mode, else --mode. */
enum vt_job_mode vt_load_plan_mode(const struct vt_load_plan *plan, const struct vt_job *job,
                                   enum vt_scenario scenario);

/* "0-3,8": ascending or not, in that order. VT_ERR_USAGE. The caller frees *ret_cpus (vt_free). */
enum vt_status vt_cpu_list_parse(const char *text, struct vt_error *err, int32_t **ret_cpus,
                                 uint32_t *ret_n) VT_NODISCARD;

#endif
