/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/loadgen's side of vatio: one run of load on the null system, or with scenario=control a
 * bare loop that sleeps, then spins, to the same schedule. Prints one line of JSON.
 */
#include "loadgen_null.h"

#include "load/load.h"
#include "load/rng.h"

static struct null_system the_system;
static struct vt_completion_sink sink;

static const char *null_name(void *ctx)
{
    (void)ctx;
    return "null";
}

static enum vt_status null_start(void *ctx, const struct vt_completion_sink *given,
                                 enum vt_scenario scenario, struct vt_error *err)
{
    (void)ctx;
    (void)scenario;
    (void)err;
    if (given != NULL) {
        sink = *given;
    }
    return VT_OK;
}

static void complete_ids(const uint64_t *ids, size_t n)
{
    static struct vt_completion c[NULL_BATCH]; /* the completing thread's */
    for (size_t i = 0; i < n; i++) {
        c[i].id = ids[i];
    }
    sink.complete(sink.ctx, c, n);
}

static void complete_inline(const struct vt_query_sample *samples, size_t n)
{
    static _Thread_local struct vt_completion c[NULL_BATCH];
    while (n > 0) {
        size_t part = n < NULL_BATCH ? n : NULL_BATCH;
        for (size_t i = 0; i < part; i++) {
            c[i].id = samples[i].id;
        }
        sink.complete(sink.ctx, c, part);
        samples += part;
        n -= part;
    }
}

static enum vt_status null_issue(void *ctx, const struct vt_query_sample *samples, size_t n,
                                 struct vt_error *err)
{
    (void)err;
    struct null_system *s = ctx;
    null_issued(s);
    if (!s->job.queued) {
        complete_inline(samples, n);
        return VT_OK;
    }
    for (size_t i = 0; i < n; i++) {
        null_push(s, samples[i].id);
    }
    return VT_OK;
}

static void null_flush(void *ctx)
{
    null_flushed(ctx);
}

static void null_abort(void *ctx)
{
    (void)ctx;
}

static enum vt_status null_load(void *ctx, const uint64_t *indices, size_t n, struct vt_error *err)
{
    (void)ctx;
    (void)indices;
    (void)n;
    (void)err;
    return VT_OK;
}

static void null_unload(void *ctx, const uint64_t *indices, size_t n)
{
    (void)ctx;
    (void)indices;
    (void)n;
}

static const struct vt_sut sut = {VT_SUT_HEAD, null_name,  null_start, null_issue,
                                  null_flush,  null_abort, &the_system};
static const struct vt_qsl qsl = {VT_QSL_HEAD, NULL_SET,    NULL_SET, null_name,
                                  null_load,   null_unload, NULL};

static enum vt_scenario scenario_of(const struct null_job *job)
{
    static const char *const names[VT_SCENARIO_COUNT] = {
        [VT_OFFLINE] = "offline",
        [VT_SERVER] = "server",
        [VT_SINGLESTREAM] = "singlestream",
        [VT_MULTISTREAM] = "multistream",
    };
    for (int i = 0; i < VT_SCENARIO_COUNT; i++) {
        if (null_is(job, names[i])) {
            return (enum vt_scenario)i;
        }
    }
    fprintf(stderr,
            "loadgen: scenario=%s is none of offline, server, singlestream, multistream, "
            "control\n",
            job->scenario);
    exit(2);
}

static struct vt_load_settings settings_of(const struct null_job *job)
{
    struct vt_load_settings s;
    vt_load_settings_default(&s);
    s.scenario = scenario_of(job);
    s.min_query_count = job->queries;
    s.max_query_count = job->max_queries;
    s.min_duration_ns = (int64_t)job->duration_ms * VT_NS_PER_MS;
    s.single_stream_expected_latency_ns = (int64_t)job->expected_ns;
    s.multi_stream_expected_latency_ns = (int64_t)job->expected_ns;
    s.multi_stream_samples_per_query = NULL_STREAMS;
    s.server_target_qps = job->qps;
    s.server_target_latency_ns = NULL_LATENCY;
    s.server_coalesce_queries = job->coalesce;
    s.server_num_issue_query_threads = job->threads > 1 ? (uint32_t)job->threads : 0;
    s.spin_ns = (int64_t)job->spin_us * VT_NS_PER_US;
    return s;
}

static void run_load(struct null_system *s)
{
    struct vt_load_settings settings = settings_of(&s->job);
    struct vt_load_report *report = NULL;
    struct vt_error err = VT_ERROR_INIT;
    null_begin(s);
    enum vt_status st = vt_load_run(&settings, &sut, &qsl, NULL, &err, &report);
    null_end(s);
    if (st != VT_OK) {
        null_die(err.text);
    }
    printf("{\"valid\": %s, \"p99_ns\": %" PRId64 ", \"own_late_p50_ns\": %" PRId64 ", ",
           report->valid ? "true" : "false", report->latency.p99_ns, report->lateness_p50_ns);
    if (s->n_stamps > 0) {
        int64_t *schedule = malloc(s->n_stamps * sizeof(*schedule));
        if (schedule == NULL) {
            null_die("no memory for the schedule");
        }
        for (uint64_t i = 0; i < s->n_stamps; i++) {
            schedule[i] = report->records[i].scheduled_ns;
        }
        null_print_lateness(s, schedule);
        free(schedule);
    }
    null_print(s, report->queries_issued, report->samples_completed);
    vt_load_report_free(report);
}

/* What a machine can do: the same schedule, nothing but the wait and the note of the time. */
static void run_control(struct null_system *s)
{
    int64_t *schedule = malloc(s->job.queries * sizeof(*schedule));
    if (schedule == NULL) {
        null_die("no memory for the schedule");
    }
    struct vt_mt19937 rng;
    vt_mt19937_seed(&rng, 0);
    int64_t at = 0, spin_ns = (int64_t)s->job.spin_us * VT_NS_PER_US;
    for (uint64_t i = 0; i < s->job.queries; i++) {
        schedule[i] = at;
        at += vt_rng_exponential_ns(&rng, s->job.qps);
    }
    s->job.stamps = true;
    null_begin(s);
    (void)vt_clock_tighten_slack();
    int64_t start = null_now();
    for (uint64_t i = 0; i < s->job.queries; i++) {
        int64_t due = start + schedule[i], now = null_now();
        if (due - now > spin_ns) {
            struct timespec t = {(due - spin_ns) / VT_NS_PER_S, (due - spin_ns) % VT_NS_PER_S};
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
        }
        while (null_now() < due) {
        }
        null_issued(s);
    }
    null_flushed(s);
    null_end(s);
    printf("{");
    null_print_lateness(s, schedule);
    null_print(s, s->job.queries, s->job.queries);
    free(schedule);
}

int main(int argc, char **argv)
{
    struct null_system *s = &the_system;
    null_parse(&s->job, argc, argv);
    s->complete = complete_ids;
    if (null_is(&s->job, "control")) {
        run_control(s);
    } else {
        run_load(s);
    }
    free(s->stamps);
    return 0;
}
