/* SPDX-License-Identifier: Apache-2.0 */
#include "run/compare.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/topology.h"
#include "run/compare_outputs.h"
#include "run/qsl.h"
#include "run/save.h"
#include "run/session.h"

#define WARM_UP_NS     (1 * VT_NS_PER_S)
#define CHECK_SAMPLES  16
#define CHECK_NS       (10 * VT_NS_PER_S)
#define SETTLE_STEP_NS (1 * VT_NS_PER_MS)
#define SETTLE_MOST_NS (200 * VT_NS_PER_MS)
/* Of a core: below this share of it nothing spins. */
#define SETTLE_SHARE 0.1
/* More samples make no turn better: a run of load needs memory for each. */
#define TURN_SAMPLES_MOST 50000000.0

enum { OFFLINE, SINGLE_STREAM };

struct contender {
    struct vt_compare_entry entry;
    struct vt_session session;
    struct vt_qsl qsl;
    bool loaded;
    double rate;       /* Offline: samples/s of the turn before */
    int64_t single_ns; /* SingleStream: median of the turn before */
};

/* The comparison stands first, so that its address is that of the whole. */
struct compare {
    struct vt_comparison comparison;
    struct vt_compare_job job;
    bool wanted[VT_COMPARE_SCENARIOS];
    struct contender *contenders[VT_COMPARE_ENGINES_MAX];
    uint64_t *indices; /* 0 .. n_loaded - 1 */
    uint64_t n_loaded;
    struct vt_load_control *control;
    const struct vt_compare_events *events;
    struct vt_save save;
};

static bool stopped(const struct compare *compare)
{
    return atomic_load(&compare->control->stop);
}

static enum vt_status interrupted(struct vt_error *err)
{
    return vt_error_set(err, VT_ERR_INTERRUPTED, "interrupted before anything was measured");
}

static void phase_begin(struct compare *compare, const char *name, int64_t expected_ns)
{
    struct vt_run_phase phase = {name, expected_ns, 0};

    atomic_store(&compare->control->issued, 0);
    atomic_store(&compare->control->completed, 0);
    atomic_store(&compare->control->started_ns, 0);
    if (compare->events->phase_begin != NULL) {
        compare->events->phase_begin(compare->events->ctx, &phase);
    }
}

static void phase_end(struct compare *compare)
{
    if (compare->events->phase_end != NULL) {
        compare->events->phase_end(compare->events->ctx);
    }
}

/* --- opening --------------------------------------------------------------------------------- */

static enum vt_status add_contender(struct compare *compare, const char *text, const char *model,
                                    struct vt_error *err)
{
    struct vt_comparison *comparison = &compare->comparison;
    struct contender *contender = vt_calloc(1, sizeof *contender);

    if (contender == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    compare->contenders[comparison->n_engines] = contender;
    struct vt_compared_engine *engine = &comparison->engines[comparison->n_engines++];
    enum vt_status status = vt_compare_entry_init(&contender->entry, &compare->job.job, text, err);
    if (status == VT_OK) {
        status = vt_session_open(&contender->session, &contender->entry.job, model, err);
    }
    if (status != VT_OK) {
        return status;
    }
    (void)snprintf(engine->label, sizeof engine->label, "%s", text);
    (void)snprintf(engine->name, sizeof engine->name, "%s", contender->session.engine_ref.ops.name);
    return VT_OK;
}

static enum vt_status open_all(struct compare *compare, const char *model, struct vt_error *err)
{
    const struct vt_text_list *list = &compare->job.engines;

    if (list->count < 2 || list->count > VT_COMPARE_ENGINES_MAX) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "compare takes two to %d engines, not %zu: --engine native --engine "
                            "onnxruntime",
                            VT_COMPARE_ENGINES_MAX, list->count);
    }
    for (size_t i = 0; i < list->count; i++) {
        enum vt_status status = add_contender(compare, list->items[i], model, err);
        if (status != VT_OK) {
            return status;
        }
    }
    return VT_OK;
}

static void describe(struct compare *compare, const struct vt_options *options)
{
    struct vt_comparison *comparison = &compare->comparison;
    const struct vt_session *first = &compare->contenders[0]->session;
    const struct vt_job *job = &compare->job.job;
    time_t now = time(NULL);
    struct tm utc;

    if (gmtime_r(&now, &utc) != NULL) {
        (void)strftime(comparison->started_utc, sizeof comparison->started_utc,
                       "%Y-%m-%dT%H:%M:%SZ", &utc);
    }
    comparison->model_name = vt_model_source_name(&first->source);
    comparison->model_path = first->source.graph.path;
    comparison->workload_name = first->workload_ops->name;
    comparison->threads = job->threads > 0 ? (uint32_t)job->threads : vt_topology()->usable_cpus;
    comparison->rounds_wanted = (uint32_t)compare->job.pairs;
    comparison->turn_ns = compare->job.turn_ns;
    comparison->rtol = job->rtol;
    comparison->atol = job->atol;
    comparison->options = options;
}

/* The samples that turns draw from, the same ones for every engine, loaded once. */
static enum vt_status load_samples(struct compare *compare, struct vt_error *err)
{
    struct vt_comparison *comparison = &compare->comparison;
    enum vt_status status = VT_OK;

    compare->n_loaded = UINT64_MAX;
    for (uint32_t i = 0; i < comparison->n_engines; i++) {
        uint64_t count = compare->contenders[i]->session.info.performance_count;
        compare->n_loaded = count < compare->n_loaded ? count : compare->n_loaded;
    }
    compare->indices = vt_calloc(compare->n_loaded, sizeof compare->indices[0]);
    if (compare->indices == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    for (uint64_t i = 0; i < compare->n_loaded; i++) {
        compare->indices[i] = i;
    }
    for (uint32_t i = 0; i < comparison->n_engines && status == VT_OK; i++) {
        struct contender *contender = compare->contenders[i];
        struct vt_session *session = &contender->session;
        status = session->workload_ops->load(session->workload, compare->indices, compare->n_loaded,
                                             err);
        contender->loaded = status == VT_OK;
    }
    comparison->sample_count = compare->n_loaded;
    return status;
}

static enum vt_status nothing_to_load(void *ctx, const uint64_t *indices, size_t n,
                                      struct vt_error *err)
{
    (void)ctx;
    (void)indices;
    (void)n;
    (void)err;
    return VT_OK;
}

static void nothing_to_unload(void *ctx, const uint64_t *indices, size_t n)
{
    (void)ctx;
    (void)indices;
    (void)n;
}

static enum vt_status start_engine(struct compare *compare, uint32_t index, struct vt_error *err)
{
    struct vt_compared_engine *engine = &compare->comparison.engines[index];
    struct vt_session *session = &compare->contenders[index]->session;
    int64_t start = vt_now_ns();

    enum vt_status status = vt_session_start_engine(session, err);
    if (status != VT_OK) {
        return status;
    }
    engine->open_ns = vt_now_ns() - start;
    (void)snprintf(engine->description, sizeof engine->description, "%s",
                   session->caps.description);
    (void)snprintf(engine->precision, sizeof engine->precision, "%s", session->caps.precision);
    if (index == 0) {
        (void)snprintf(compare->comparison.workload_description,
                       sizeof compare->comparison.workload_description, "%s",
                       session->info.description);
    }
    return VT_OK;
}

/* The batch of an engine that was named the same way before: what was found out about it holds. */
static void copy_choice(struct compare *compare, uint32_t index)
{
    struct contender *contender = compare->contenders[index];

    for (uint32_t i = 0; i < index; i++) {
        if (strcmp(compare->contenders[i]->entry.label, contender->entry.label) == 0) {
            contender->entry.job.batch = compare->comparison.engines[i].batch;
            return;
        }
    }
}

static enum vt_status start_sut(struct compare *compare, uint32_t index, struct vt_error *err)
{
    struct contender *contender = compare->contenders[index];
    struct vt_compared_engine *engine = &compare->comparison.engines[index];
    struct vt_warm_up warm;

    copy_choice(compare, index);
    enum vt_status status = vt_session_start_sut(&contender->session, err);
    if (status == VT_OK) {
        status = vt_sut_warm_up(contender->session.sut, 0, WARM_UP_NS, err, &warm);
    }
    if (status != VT_OK) {
        return status;
    }
    engine->batch = warm.batch;
    engine->lanes = contender->session.lanes;
    contender->single_ns = warm.single_ns > 0 ? warm.single_ns : 1;
    contender->rate = (double)warm.batch * contender->session.lanes /
                      ((double)(warm.batch_ns > 0 ? warm.batch_ns : 1) / 1e9);
    vt_qsl_init(&contender->qsl, &contender->session);
    contender->qsl.total_count = compare->n_loaded;
    contender->qsl.performance_count = compare->n_loaded;
    contender->qsl.load = nothing_to_load;
    contender->qsl.unload = nothing_to_unload;
    return VT_OK;
}

static enum vt_status start_all(struct compare *compare, struct vt_error *err)
{
    struct vt_comparison *comparison = &compare->comparison;
    struct vt_session *sessions[VT_COMPARE_ENGINES_MAX];
    enum vt_status status = VT_OK;

    for (uint32_t i = 0; i < comparison->n_engines && status == VT_OK; i++) {
        sessions[i] = &compare->contenders[i]->session;
        status = stopped(compare) ? interrupted(err) : start_engine(compare, i, err);
    }
    if (status == VT_OK) {
        status = load_samples(compare, err);
    }
    if (status == VT_OK) {
        uint64_t n = compare->n_loaded < CHECK_SAMPLES ? compare->n_loaded : CHECK_SAMPLES;
        status =
            vt_compare_outputs(comparison, sessions, n, CHECK_NS, &compare->control->stop, err);
    }
    for (uint32_t i = 0; i < comparison->n_engines && status == VT_OK; i++) {
        status = stopped(compare) ? interrupted(err) : start_sut(compare, i, err);
    }
    return status;
}

/* --- turns ----------------------------------------------------------------------------------- */

static int64_t process_time_ns(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (int64_t)time.tv_sec * VT_NS_PER_S + time.tv_nsec;
}

/* Returns when no thread of the process computes or spins any more. */
static void settle(struct compare *compare)
{
    int64_t start = vt_now_ns(), now = start;
    double share = 1;

    while (share > SETTLE_SHARE && now - start < SETTLE_MOST_NS) {
        int64_t used = process_time_ns(), before = vt_now_ns();
        vt_sleep_until_ns(before + SETTLE_STEP_NS, 0);
        now = vt_now_ns();
        share = (double)(process_time_ns() - used) / (double)(now - before);
    }
    if (now - start > compare->comparison.settle_longest_ns) {
        compare->comparison.settle_longest_ns = now - start;
    }
}

/* Whole batches for all lanes, enough for the time at the rate that was seen last. */
static uint64_t offline_samples(const struct contender *contender,
                                const struct vt_compared_engine *engine, int64_t turn_ns)
{
    double step = (double)engine->batch * engine->lanes;
    double samples = ceil(contender->rate * (double)turn_ns / 1e9 / step) * step;
    samples = fmin(samples, floor(TURN_SAMPLES_MOST / step) * step);
    return samples > step ? (uint64_t)samples : (uint64_t)step;
}

static void turn_settings(const struct compare *compare, uint32_t index, int scenario,
                          struct vt_load_settings *settings)
{
    const struct contender *contender = compare->contenders[index];
    const struct vt_compared_engine *engine = &compare->comparison.engines[index];

    vt_load_settings_default(settings);
    settings->mode = VT_PERFORMANCE;
    settings->max_duration_ns = 0;
    settings->completion_timeout_ns = compare->job.job.timeout_ns;
    settings->min_duration_ns = compare->job.turn_ns;
    settings->min_query_count = 1;
    if (scenario == OFFLINE) {
        settings->scenario = VT_OFFLINE;
        settings->min_query_count = offline_samples(contender, engine, compare->job.turn_ns);
        settings->min_duration_ns = 1; /* the number of samples says it all */
        settings->offline_expected_qps = 1;
    } else {
        settings->scenario = VT_SINGLESTREAM;
        settings->single_stream_expected_latency_ns = contender->single_ns;
    }
}

/* A turn in which a sample failed measures nothing. */
static enum vt_status check_turn(const struct vt_compared_engine *engine,
                                 const struct vt_load_report *report, struct vt_error *err)
{
    uint64_t bad = report->samples_failed + report->samples_lost + report->samples_doubled +
                   report->samples_invented;

    if (report->interrupted) {
        return interrupted(err);
    }
    if (bad > 0 || report->samples_completed == 0) {
        return vt_error_set(
            err, VT_ERR_ENGINE, "engine %s: %llu of %llu samples failed: %s", engine->label,
            (unsigned long long)bad, (unsigned long long)report->samples_issued,
            report->first_failure[0] != '\0' ? report->first_failure : "nothing was answered");
    }
    return VT_OK;
}

static enum vt_status take_turn(struct compare *compare, uint32_t index, int scenario,
                                struct vt_error *err, double *ret_value, double *ret_p90)
{
    struct contender *contender = compare->contenders[index];
    struct vt_load_settings settings;
    struct vt_load_report *report = NULL;

    settle(compare);
    turn_settings(compare, index, scenario, &settings);
    enum vt_status status = vt_load_run(&settings, vt_sut_seam(contender->session.sut),
                                        &contender->qsl, compare->control, err, &report);
    if (status != VT_OK) {
        return status;
    }
    status = check_turn(&compare->comparison.engines[index], report, err);
    if (status == VT_OK && scenario == OFFLINE) {
        *ret_value = contender->rate = report->metric.value;
        *ret_p90 = 0;
    } else if (status == VT_OK) {
        contender->single_ns = report->latency.p50_ns > 0 ? report->latency.p50_ns : 1;
        *ret_value = (double)contender->single_ns;
        *ret_p90 = (double)report->latency.p90_ns;
    }
    vt_load_report_free(report);
    return status;
}

static struct vt_compared_scenario *scenario_of(struct vt_compared_engine *engine, int scenario)
{
    return scenario == OFFLINE ? &engine->offline : &engine->single_stream;
}

/* All engines once, forwards or backwards. `round` -1 is not kept. */
static enum vt_status run_round(struct compare *compare, int scenario, int64_t round,
                                struct vt_error *err)
{
    struct vt_comparison *comparison = &compare->comparison;
    uint32_t n = comparison->n_engines;

    for (uint32_t k = 0; k < n; k++) {
        uint32_t index = round % 2 == 0 ? k : n - 1 - k;
        double value = 0, p90 = 0;
        enum vt_status status = take_turn(compare, index, scenario, err, &value, &p90);
        if (status != VT_OK) {
            return status;
        }
        struct vt_compared_scenario *kept = scenario_of(&comparison->engines[index], scenario);
        if (round >= 0) {
            kept->values[round] = value;
            if (kept->latencies != NULL) {
                kept->latencies[round] = p90;
            }
        }
    }
    if (round >= 0) {
        comparison->rounds[scenario]++;
    }
    return VT_OK;
}

static int64_t scenario_ns(const struct compare *compare)
{
    return (compare->job.pairs + 1) * (int64_t)compare->comparison.n_engines *
           (compare->job.turn_ns + 2 * VT_NS_PER_MS);
}

static enum vt_status run_scenario(struct compare *compare, int scenario, struct vt_error *err)
{
    struct vt_comparison *comparison = &compare->comparison;

    for (uint32_t i = 0; i < comparison->n_engines; i++) {
        struct vt_compared_scenario *kept = scenario_of(&comparison->engines[i], scenario);
        kept->values = vt_calloc((size_t)compare->job.pairs, sizeof kept->values[0]);
        kept->latencies = scenario == OFFLINE
                              ? NULL
                              : vt_calloc((size_t)compare->job.pairs, sizeof kept->latencies[0]);
        if (kept->values == NULL || (scenario != OFFLINE && kept->latencies == NULL)) {
            return vt_error_set(err, VT_ERR_MEMORY, "out of memory for %lld rounds",
                                (long long)compare->job.pairs);
        }
    }
    phase_begin(compare, scenario == OFFLINE ? "Offline" : "SingleStream", scenario_ns(compare));
    enum vt_status status = VT_OK;
    for (int64_t round = -1; round < compare->job.pairs && status == VT_OK; round++) {
        status = stopped(compare) ? interrupted(err) : run_round(compare, scenario, round, err);
    }
    phase_end(compare);
    return status;
}

/* --- figures --------------------------------------------------------------------------------- */

static double median_of(const double *values, uint32_t n, double *scratch)
{
    memcpy(scratch, values, n * sizeof values[0]);
    return vt_median(scratch, n);
}

static enum vt_status judge(struct compare *compare, int scenario, struct vt_error *err)
{
    struct vt_comparison *comparison = &compare->comparison;
    struct vt_compared_scenario *first = scenario_of(&comparison->engines[0], scenario);
    uint32_t rounds = comparison->rounds[scenario];

    if (rounds == 0) {
        return VT_OK;
    }
    double *scratch = vt_calloc(rounds, sizeof scratch[0]);
    if (scratch == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for %u rounds", rounds);
    }
    enum vt_status status = VT_OK;
    for (uint32_t i = 0; i < comparison->n_engines && status == VT_OK; i++) {
        struct vt_compared_scenario *kept = scenario_of(&comparison->engines[i], scenario);
        kept->median = median_of(kept->values, rounds, scratch);
        if (kept->latencies != NULL) {
            kept->p90_median = median_of(kept->latencies, rounds, scratch);
        }
        if (i > 0 && rounds >= VT_BOOTSTRAP_LEAST) {
            bool rate = scenario == OFFLINE;
            status = vt_bootstrap_ratio(rate ? kept->values : first->values,
                                        rate ? first->values : kept->values, rounds,
                                        VT_COMPARE_CONFIDENCE, err, &kept->speed);
            kept->has_speed = status == VT_OK;
        }
    }
    vt_free(scratch);
    return status;
}

static enum vt_status measure(struct compare *compare, struct vt_error *err)
{
    enum vt_status status = VT_OK;

    for (int scenario = 0; scenario < VT_COMPARE_SCENARIOS && status == VT_OK; scenario++) {
        if (compare->wanted[scenario]) {
            status = run_scenario(compare, scenario, err);
        }
    }
    if (status == VT_ERR_INTERRUPTED &&
        compare->comparison.rounds[0] + compare->comparison.rounds[1] > 0) {
        compare->comparison.partial = true;
        err->status = VT_OK; /* it is in the result */
        status = VT_OK;
    }
    for (int scenario = 0; scenario < VT_COMPARE_SCENARIOS && status == VT_OK; scenario++) {
        status = judge(compare, scenario, err);
    }
    return status;
}

static enum vt_status prepare(struct compare *compare, const struct vt_options *options,
                              const char *model, struct vt_error *err)
{
    enum vt_status status = vt_compare_scenarios(&compare->job, err, compare->wanted);
    if (status == VT_OK) {
        status = open_all(compare, model, err);
    }
    if (status != VT_OK) {
        return status;
    }
    describe(compare, options);
    status = vt_save_open(&compare->save, compare->job.job.output, compare->comparison.started_utc,
                          compare->comparison.model_name, err);
    if (status == VT_OK && compare->events->header != NULL) {
        int64_t scenarios = (compare->wanted[0] ? 1 : 0) + (compare->wanted[1] ? 1 : 0);
        compare->events->header(compare->events->ctx, &compare->comparison,
                                scenarios * scenario_ns(compare));
    }
    return status == VT_OK ? start_all(compare, err) : status;
}

enum vt_status vt_compare(const struct vt_options *options, const char *model,
                          struct vt_load_control *control, const struct vt_compare_events *events,
                          struct vt_error *err, struct vt_comparison **ret_comparison,
                          const char **ret_folder)
{
    struct compare *compare = vt_calloc(1, sizeof *compare);
    struct vt_error failure = VT_ERROR_INIT;

    if (compare == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    compare->job = *(const struct vt_compare_job *)options->values;
    compare->control = control;
    compare->events = events;
    enum vt_status status = prepare(compare, options, model, &failure);
    if (status == VT_OK) {
        status = measure(compare, &failure);
    }
    if (status != VT_OK) {
        vt_save_discard(&compare->save);
        vt_comparison_free(&compare->comparison);
        return vt_error_set(err, status, "%s", failure.text);
    }
    status = vt_comparison_write_json(&compare->comparison, compare->save.folder, err);
    *ret_comparison = &compare->comparison;
    *ret_folder = compare->save.folder;
    return status;
}

static void contender_free(struct compare *compare, struct contender *contender)
{
    struct vt_session *session = &contender->session;

    if (contender->loaded) {
        /* The sut's threads may not see samples go. */
        vt_sut_free(session->sut);
        session->sut = NULL;
        session->workload_ops->unload(session->workload, compare->indices, compare->n_loaded);
    }
    if (session->job != NULL) {
        vt_session_close(session);
    }
    vt_compare_entry_release(&contender->entry);
    vt_free(contender);
}

void vt_comparison_free(struct vt_comparison *comparison)
{
    struct compare *compare = (struct compare *)(void *)comparison;

    if (compare == NULL) {
        return;
    }
    vt_comparison_release(comparison);
    for (uint32_t i = 0; i < VT_COMPARE_ENGINES_MAX; i++) {
        if (compare->contenders[i] != NULL) {
            contender_free(compare, compare->contenders[i]);
        }
    }
    vt_free(compare->indices);
    vt_save_release(&compare->save);
    vt_free(compare);
}
