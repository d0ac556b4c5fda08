/* SPDX-License-Identifier: Apache-2.0 */
#include "run/load_plan.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/quote.h"
#include "load/issue_thread.h"
#include "load/load.h"
#include "load/setting_table.h"
#include "mlperf/round.h"

#define CPU_MAX  65535
#define CPUS_MAX 4096

/* What goes into the plan. */
struct making {
    struct vt_load_plan *plan;
    const struct vt_options *options;
    const struct vt_job *job;
    bool wanted[VT_SCENARIO_COUNT];
    const char *audit_model;
};

/* The model's name without ".onnx", or the user's --benchmark. */
static enum vt_status name_benchmark(struct making *making, const char *model, struct vt_error *err)
{
    struct vt_load_plan *plan = making->plan;
    const char *asked = making->job->benchmark;
    size_t n = strlen(model);
    const size_t n_suffix = strlen(".onnx");

    if (n > n_suffix && strcmp(model + n - n_suffix, ".onnx") == 0) {
        n -= n_suffix;
    }
    const char *name = asked != NULL ? asked : model;
    n = asked != NULL ? strlen(asked) : n;
    if (n >= sizeof plan->benchmark) {
        n = asked != NULL ? sizeof plan->benchmark - 1 : 0; /* a name that long is no benchmark's */
    }
    memcpy(plan->benchmark, name, n);
    plan->benchmark[n] = '\0';
    plan->benchmark_known = vt_round_has(plan->round, plan->benchmark);
    making->audit_model = asked != NULL ? plan->benchmark : "*";
    if (asked != NULL && strchr(asked, '*') != NULL) {
        return vt_error_set(err, VT_ERR_USAGE, "--benchmark %s: give the name of one benchmark",
                            vt_plain(asked).text);
    }
    if (asked == NULL && !plan->benchmark_known) {
        plan->benchmark[0] = '\0';
    }
    return VT_OK;
}

/* The round's values, and those of them that a run starts from. */
static enum vt_status start_from_round(struct making *making, enum vt_scenario scenario,
                                       struct vt_error *err)
{
    struct vt_load_plan *plan = making->plan;
    struct vt_load_settings *round = &plan->round_settings[scenario];
    struct vt_load_settings *asked = &plan->asked[scenario];

    vt_load_settings_default(round);
    round->scenario = scenario;
    enum vt_status status = vt_round_apply(round, plan->round, plan->benchmark, err);
    if (status != VT_OK) {
        return status;
    }
    if (scenario == VT_OFFLINE && !plan->benchmark_known &&
        round->min_query_count < VT_PLAN_OFFLINE_SAMPLES) {
        round->min_query_count = VT_PLAN_OFFLINE_SAMPLES;
    }
    *asked = *round;
    asked->mode = VT_PLAN_NO_MODE;
    asked->max_duration_ns = VT_PLAN_NO_TIME;
    asked->single_stream_expected_latency_ns = VT_PLAN_NO_RATE;
    asked->multi_stream_expected_latency_ns = VT_PLAN_NO_RATE;
    asked->server_target_qps = VT_PLAN_NO_RATE;
    asked->offline_expected_qps = VT_PLAN_NO_RATE;
    asked->completion_timeout_ns = VT_PLAN_NO_TIME;
    asked->spin_ns = VT_PLAN_NO_TIME;
    asked->performance_sample_count_override = VT_PLAN_NO_COUNT;
    if (!making->job->official) {
        asked->min_duration_ns = VT_PLAN_NO_TIME;
        asked->min_query_count = VT_PLAN_NO_COUNT;
    }
    if (!plan->benchmark_known) {
        asked->server_target_latency_ns = VT_PLAN_NO_TIME;
    }
    return VT_OK;
}

static bool given(const struct making *making, const char *name)
{
    return vt_options_given(making->options, name);
}

/* Options that say when and how much is asked. */
static void apply_amounts(const struct making *making, struct vt_load_settings *s)
{
    const struct vt_job *job = making->job;

    if (given(making, "mode")) {
        s->mode = VT_PLAN_NO_MODE; /* --mode itself */
    }
    if (given(making, "duration")) {
        const int64_t least = making->plan->round_settings[s->scenario].min_duration_ns;
        s->min_duration_ns = job->official && job->duration_ns < least ? least : job->duration_ns;
    }
    if (given(making, "max-duration")) {
        s->max_duration_ns = job->max_duration_ns;
    }
    if (given(making, "min-query-count")) {
        s->min_query_count = (uint64_t)job->min_query_count;
    }
    if (given(making, "samples-per-query")) {
        s->multi_stream_samples_per_query = (uint64_t)job->samples_per_query;
    }
    if (given(making, "target-qps")) {
        s->server_target_qps = job->target_qps > 0 ? job->target_qps : VT_PLAN_NO_RATE;
    }
    if (given(making, "max-latency")) {
        s->server_target_latency_ns = job->max_latency_ns;
    }
    if (given(making, "timeout")) {
        s->completion_timeout_ns = job->timeout_ns;
    }
    if (given(making, "spin-us") && job->spin_us >= 0) {
        s->spin_ns = job->spin_us * VT_NS_PER_US;
    }
    if (given(making, "performance-sample-count")) {
        s->performance_sample_count_override = 0; /* the library is cut to it */
    }
}

/* Options that say how it is asked and recorded. */
static void apply_manner(const struct making *making, struct vt_load_settings *s)
{
    const struct vt_job *job = making->job;

    if (given(making, "issue-threads")) {
        s->server_num_issue_query_threads = (uint32_t)job->issue_threads;
    }
    if (given(making, "coalesce")) {
        s->server_coalesce_queries = job->coalesce;
    }
    if (given(making, "tokens")) {
        s->use_token_latencies = job->tokens;
    }
    if (given(making, "ttft-latency")) {
        s->server_ttft_latency_ns = job->ttft_latency_ns;
    }
    if (given(making, "tpot-latency")) {
        s->server_tpot_latency_ns = job->tpot_latency_ns;
    }
    if (given(making, "bounded-method")) {
        s->bounded_method = (enum vt_bounded_method)job->bounded_method;
    }
    if (given(making, "memory-limit")) {
        s->memory_limit_bytes = (uint64_t)job->memory_limit;
    }
    if (given(making, "spill-dir")) {
        s->spill_folder = job->spill_dir;
    }
    if (given(making, "fifo")) {
        s->fifo_priority = (int32_t)job->fifo;
    }
}

/* --set KEY=VALUE; the value lives as long as the options. */
static enum vt_status apply_sets(const struct making *making, struct vt_load_settings *s,
                                 struct vt_error *err)
{
    for (size_t i = 0; i < making->job->sets.count; i++) {
        const char *text = making->job->sets.items[i];
        const char *equals = strchr(text, '=');
        char key[64];
        struct vt_error why = VT_ERROR_INIT;
        if (equals == NULL || equals == text || (size_t)(equals - text) >= sizeof key) {
            return vt_error_set(err, VT_ERR_USAGE, "--set %s: KEY=VALUE is needed",
                                vt_plain(text).text);
        }
        memcpy(key, text, (size_t)(equals - text));
        key[equals - text] = '\0';
        if (strcmp(key, "scenario") == 0 || strcmp(key, "mode") == 0) {
            return vt_error_set(err, VT_ERR_USAGE, "--set %s: --%s says that", vt_plain(text).text,
                                key);
        }
        if (strcmp(key, "arrivals") == 0 && strcmp(equals + 1, "trace") == 0) {
            return vt_error_set(err, VT_ERR_USAGE, "--set %s: --arrivals trace:FILE says that",
                                vt_plain(text).text);
        }
        enum vt_status status = vt_load_setting_set(s, key, equals + 1, &why);
        if (status != VT_OK) {
            return vt_error_set(err, status, "--set %s", why.text);
        }
    }
    return VT_OK;
}

static void apply_arrivals(const struct making *making, struct vt_load_settings *s)
{
    const struct vt_arrival_trace *trace = &making->plan->trace;

    s->issue_cpus = making->plan->cpus;
    s->n_issue_cpus = making->plan->n_cpus;
    if (trace->n > 0) {
        const int64_t last = trace->ns[trace->n - 1];
        s->arrivals = VT_ARRIVALS_TRACE;
        s->arrival_trace_ns = trace->ns;
        s->n_arrival_trace = trace->n;
        /* The rate is the trace's own, for what is derived from one. */
        s->server_target_qps = last > 0 ? (double)(trace->n - 1) / ((double)last / 1e9) : 1;
    } else if (strcmp(making->job->arrivals, "constant") == 0) {
        s->arrivals = VT_ARRIVALS_CONSTANT;
    } else if (given(making, "arrivals")) {
        s->arrivals = VT_ARRIVALS_POISSON;
    }
}

static enum vt_status plan_scenario(struct making *making, enum vt_scenario scenario,
                                    const struct vt_conf_warnings *warnings, struct vt_error *err)
{
    const struct vt_job *job = making->job;
    struct vt_load_settings *asked = &making->plan->asked[scenario];
    const char *benchmark = making->plan->benchmark;

    struct vt_load_settings next = *asked;
    enum vt_status status = VT_OK;
    if (job->mlperf_conf != NULL) {
        status =
            vt_conf_apply_file(&next, VT_CONF_MLPERF, job->mlperf_conf, benchmark, warnings, err);
    }
    if (status == VT_OK && job->user_conf != NULL) {
        status = vt_conf_apply_file(&next, VT_CONF_USER, job->user_conf, benchmark, warnings, err);
    }
    if (status == VT_OK) {
        apply_amounts(making, &next);
        apply_manner(making, &next);
        apply_arrivals(making, &next);
        status = apply_sets(making, &next, err);
    }
    if (status == VT_OK && job->audit_conf != NULL && job->tests == NULL) {
        status = vt_conf_apply_file(&next, VT_CONF_AUDIT, job->audit_conf, making->audit_model,
                                    warnings, err);
    }
    if (status == VT_OK) {
        *asked = next;
    }
    return status;
}

/* poisson, constant, trace:FILE */
static enum vt_status read_arrivals(struct making *making, struct vt_error *err)
{
    const char *text = making->job->arrivals;
    const char *file = strncmp(text, "trace:", 6) == 0 ? text + 6 : NULL;

    if (file != NULL && file[0] != '\0') {
        return vt_arrival_trace_read(file, err, &making->plan->trace);
    }
    if (strcmp(text, "poisson") != 0 && strcmp(text, "constant") != 0) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "--arrivals %s: give poisson, constant or trace:FILE",
                            vt_plain(text).text);
    }
    return VT_OK;
}

enum vt_status vt_cpu_list_parse(const char *text, struct vt_error *err, int32_t **ret_cpus,
                                 uint32_t *ret_n)
{
    int32_t *cpus = vt_calloc(CPUS_MAX, sizeof cpus[0]);
    uint32_t n = 0;
    const char *at = text;
    bool good = cpus != NULL;
    if (cpus == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    while (good) {
        char *end;
        good = *at >= '0' && *at <= '9';
        unsigned long first = good ? strtoul(at, &end, 10) : 0;
        unsigned long last = first;
        if (good && *end == '-') {
            at = end + 1;
            good = *at >= '0' && *at <= '9';
            last = good ? strtoul(at, &end, 10) : 0;
        }
        good = good && first <= last && last <= CPU_MAX && last - first < CPUS_MAX - n;
        for (unsigned long cpu = first; good && cpu <= last; cpu++) {
            cpus[n++] = (int32_t)cpu;
        }
        if (!good || *end == '\0') {
            break;
        }
        good = *end == ',';
        at = end + 1;
    }
    if (!good) {
        vt_free(cpus);
        return vt_error_set(err, VT_ERR_USAGE, "--pin %s: give CPU numbers such as 0-3,8",
                            vt_plain(text).text);
    }
    *ret_cpus = cpus;
    *ret_n = n;
    return VT_OK;
}

/* Options that do nothing without another one. */
static void warn_idle(const struct making *making, const struct vt_conf_warnings *warnings)
{
    const struct vt_load_settings *server = &making->plan->asked[VT_SERVER];
    const struct {
        const char *option;
        bool idle;
        const char *needs;
    } pairs[] = {
        {"spill-dir", server->memory_limit_bytes == 0, "--memory-limit"},
        {"ttft-latency", !server->use_token_latencies, "--tokens"},
        {"tpot-latency", !server->use_token_latencies, "--tokens"},
    };
    char text[128];

    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        if (given(making, pairs[i].option) && pairs[i].idle && warnings != NULL &&
            warnings->warn != NULL) {
            (void)snprintf(text, sizeof text, "--%s has no effect without %s", pairs[i].option,
                           pairs[i].needs);
            warnings->warn(warnings->ctx, text);
        }
    }
}

static enum vt_status plan_all(struct making *making, const char *model,
                               const struct vt_conf_warnings *warnings, struct vt_error *err)
{
    enum vt_status status = vt_job_scenarios(making->job, err, making->wanted);
    if (status == VT_OK) {
        status = name_benchmark(making, model, err);
    }
    for (int i = 0; i < VT_SCENARIO_COUNT && status == VT_OK; i++) {
        status = start_from_round(making, (enum vt_scenario)i, err);
    }
    if (status == VT_OK) {
        status = read_arrivals(making, err);
    }
    if (status == VT_OK && making->job->pin != NULL) {
        status =
            vt_cpu_list_parse(making->job->pin, err, &making->plan->cpus, &making->plan->n_cpus);
    }
    const struct vt_conf_warnings *all_warnings = warnings;
    for (int i = 0; i < VT_SCENARIO_COUNT && status == VT_OK; i++) {
        /* What only another scenario would stumble over is not this job's affair; and the files
         * say the same in each. */
        struct vt_error ignored = VT_ERROR_INIT;
        bool wanted = making->wanted[i];
        status = plan_scenario(making, (enum vt_scenario)i, wanted ? warnings : NULL,
                               wanted ? err : &ignored);
        warnings = wanted ? NULL : warnings;
        status = wanted ? status : VT_OK;
    }
    if (status == VT_OK) {
        warn_idle(making, all_warnings);
    }
    return status;
}

enum vt_status vt_load_plan_init(struct vt_load_plan *plan, const struct vt_options *options,
                                 const char *model, const struct vt_conf_warnings *warnings,
                                 struct vt_error *err)
{
    struct making making = {.plan = plan, .options = options, .job = options->values};

    memset(plan, 0, sizeof *plan);
    plan->round = making.job->round;
    enum vt_status status = plan_all(&making, model, warnings, err);
    if (status != VT_OK) {
        vt_load_plan_release(plan);
    }
    return status;
}

static enum vt_status check_pin(const struct vt_load_plan *plan, const char *pin,
                                struct vt_error *err)
{
    cpu_set_t usable;

    if (sched_getaffinity(0, sizeof usable, &usable) != 0) {
        return VT_OK; /* more CPUs than the set holds: pinning will tell */
    }
    for (uint32_t i = 0; i < plan->n_cpus; i++) {
        int32_t cpu = plan->cpus[i];
        if (cpu >= CPU_SETSIZE || !CPU_ISSET((size_t)cpu, &usable)) {
            return vt_error_set(err, VT_ERR_USAGE,
                                "--pin %s: this process may not use CPU %d, only %d CPUs that "
                                "taskset -cp shows",
                                vt_plain(pin).text, (int)cpu, CPU_COUNT(&usable));
        }
    }
    return VT_OK;
}

enum vt_status vt_load_plan_check_host(const struct vt_load_plan *plan, const struct vt_job *job,
                                       struct vt_error *err)
{
    const struct vt_load_settings settings = {.fifo_priority = (int32_t)job->fifo};
    struct vt_issue_thread saved;
    struct vt_error why = VT_ERROR_INIT;

    enum vt_status status = check_pin(plan, job->pin, err);
    if (status != VT_OK || job->fifo == 0) {
        return status;
    }
    status = vt_issue_thread_enter(&settings, 0, &why, &saved);
    vt_issue_thread_leave(&saved);
    return status == VT_OK ? VT_OK : vt_error_set(err, status, "--fifo: %s", why.text);
}

void vt_load_plan_release(struct vt_load_plan *plan)
{
    vt_arrival_trace_release(&plan->trace);
    vt_free(plan->cpus);
    memset(plan, 0, sizeof *plan);
}

enum vt_job_mode vt_load_plan_mode(const struct vt_load_plan *plan, const struct vt_job *job,
                                   enum vt_scenario scenario)
{
    if (plan->asked[scenario].test05) {
        return VT_JOB_PERFORMANCE; /* of any mode */
    }
    switch (plan->asked[scenario].mode) {
    case VT_PERFORMANCE:
        return VT_JOB_PERFORMANCE;
    case VT_ACCURACY:
        return VT_JOB_ACCURACY;
    case VT_SUBMISSION:
        return VT_JOB_SUBMISSION;
    case VT_FIND_PEAK:
        return VT_JOB_FIND_PEAK;
    default:
        return (enum vt_job_mode)job->mode;
    }
}
