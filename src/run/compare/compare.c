/* SPDX-License-Identifier: Apache-2.0 */
#include "run/compare/compare.h"

#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/topology.h"
#include "run/compare/compare_outputs.h"
#include "run/compare/contender.h"
#include "run/precision/precision.h"
#include "run/save.h"

#define CHECK_SAMPLES  16
#define CHECK_NS       (10 * VT_NS_PER_S)
#define SETTLE_STEP_NS (1 * VT_NS_PER_MS)
#define SETTLE_MOST_NS (200 * VT_NS_PER_MS)
/* Of a core: below this share of it nothing spins. */
#define SETTLE_SHARE 0.1
/* No page of memory is smaller. */
#define PAGE_STEP 4096

enum { OFFLINE, SINGLE_STREAM };

/* The comparison stands first, so that its address is that of the whole. */
struct compare {
    struct vt_comparison comparison;
    struct vt_compare_job job;
    bool wanted[VT_COMPARE_SCENARIOS];
    struct vt_contender *contenders[VT_COMPARE_ENGINES_MAX];
    uint64_t *indices; /* of the samples that are loaded, 0 to sample_count - 1 */
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
    struct vt_contender *contender = vt_calloc(1, sizeof *contender);

    if (contender == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    compare->contenders[comparison->n_engines] = contender;
    struct vt_compared_engine *engine = &comparison->engines[comparison->n_engines++];
    return vt_contender_open(contender, &compare->job.job, text, model, engine, err);
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
    comparison->random_weights = first->source.random_weights;
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
    uint64_t n = UINT64_MAX;
    enum vt_status status = VT_OK;

    for (uint32_t i = 0; i < comparison->n_engines; i++) {
        uint64_t count = compare->contenders[i]->session.info.performance_count;
        n = count < n ? count : n;
    }
    compare->indices = vt_calloc(n, sizeof compare->indices[0]);
    if (compare->indices == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    for (uint64_t i = 0; i < n; i++) {
        compare->indices[i] = i;
    }
    for (uint32_t i = 0; i < comparison->n_engines && status == VT_OK; i++) {
        status = vt_contender_load(compare->contenders[i], compare->indices, n, err);
    }
    comparison->sample_count = n;
    return status;
}

/* "bf16": of what is not quantised by the model itself, which all engines run alike. */
static const char *own_precision(const struct vt_contender *contender)
{
    const char *name = contender->engine->precision;
    if (!vt_model_is_quantised(contender->session.model) || strncmp(name, "int8", 4) != 0) {
        return name;
    }
    return name[4] == '+' ? name + 5 : "fp32";
}

static bool is_other_precision(const struct vt_contender *first, const struct vt_contender *one)
{
    /* What others say may be "unknown". */
    static const char *const known[] = {"fp32", "fp16w", "bf16", "fp16", "int8"};
    const char *a = own_precision(first), *b = own_precision(one);
    uint32_t found = 0;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        found += strcmp(a, known[i]) == 0;
        found += strcmp(b, known[i]) == 0;
    }
    return found == 2 && strcmp(a, b) != 0;
}

static enum vt_status start_engine(struct compare *compare, uint32_t index, struct vt_error *err)
{
    struct vt_contender *contender = compare->contenders[index];

    enum vt_status status = vt_contender_start(contender, err);
    if (status == VT_OK) {
        contender->engine->precision_choice = contender->session.precision;
        contender->engine->other_precision = is_other_precision(compare->contenders[0], contender);
    }
    if (status == VT_OK && index == 0) {
        (void)snprintf(compare->comparison.workload_description,
                       sizeof compare->comparison.workload_description, "%s",
                       contender->session.info.description);
    }
    return status;
}

/* An engine that was named the same way before works with the batch that was found for that one. */
static enum vt_status prepare_contender(struct compare *compare, uint32_t index,
                                        struct vt_error *err)
{
    struct vt_contender *contender = compare->contenders[index];

    for (uint32_t i = 0; i < index; i++) {
        if (strcmp(compare->contenders[i]->entry.label, contender->entry.label) == 0) {
            contender->entry.job.batch = compare->comparison.engines[i].batch;
        }
    }
    return vt_contender_prepare(contender, compare->job.turn_ns, err);
}

/* None gets more anew than the one for which that takes longest. */
static void treat_alike(struct vt_comparison *comparison)
{
    enum vt_renewal least = VT_RENEW_ENGINE;

    for (uint32_t i = 0; i < comparison->n_engines; i++) {
        enum vt_renewal one = comparison->engines[i].renewal;
        least = one < least ? one : least;
    }
    for (uint32_t i = 0; i < comparison->n_engines; i++) {
        comparison->engines[i].renewal = least;
    }
    comparison->renewal = least;
}

/*
 * Reads the weights once, all of them: the engine that opens first would else be the one that waits
 * for the disk.
 */
static void warm_file(const struct vt_session *session)
{
    const struct vt_value *values = session->model != NULL ? vt_model_values(session->model) : NULL;
    uint32_t n = session->model != NULL ? vt_model_value_count(session->model) : 0;
    volatile unsigned char seen = 0;

    for (uint32_t i = 0; i < n; i++) {
        const struct vt_tensor *constant = values[i].constant;
        if (constant == NULL || constant->data == NULL) {
            continue;
        }
        for (size_t at = 0; at < constant->bytes; at += PAGE_STEP) {
            seen = ((const unsigned char *)constant->data)[at];
        }
    }
    (void)seen;
}

static enum vt_status start_all(struct compare *compare, struct vt_error *err)
{
    struct vt_comparison *comparison = &compare->comparison;
    struct vt_session *sessions[VT_COMPARE_ENGINES_MAX];
    enum vt_status status = VT_OK;

    warm_file(&compare->contenders[0]->session);
    for (uint32_t i = 0; i < comparison->n_engines && status == VT_OK; i++) {
        sessions[i] = &compare->contenders[i]->session;
        status = stopped(compare) ? interrupted(err) : start_engine(compare, i, err);
    }
    if (status == VT_OK) {
        status = load_samples(compare, err);
    }
    if (status == VT_OK) {
        uint64_t n =
            comparison->sample_count < CHECK_SAMPLES ? comparison->sample_count : CHECK_SAMPLES;
        status =
            vt_compare_outputs(comparison, sessions, n, CHECK_NS, &compare->control->stop, err);
    }
    /* Without rounds there is nothing to prepare for. */
    for (uint32_t i = 0; i < comparison->n_engines && status == VT_OK && compare->job.pairs > 0;
         i++) {
        status = stopped(compare) ? interrupted(err) : prepare_contender(compare, i, err);
    }
    treat_alike(comparison);
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

static enum vt_status take_turn(struct compare *compare, uint32_t index, int scenario,
                                struct vt_error *err, double *ret_value, double *ret_p90)
{
    struct vt_contender *contender = compare->contenders[index];
    enum vt_compared_turn turn = scenario == OFFLINE ? VT_TURN_OFFLINE : VT_TURN_SINGLE_STREAM;

    enum vt_status status = vt_contender_renew(contender, turn, err);
    if (status != VT_OK) {
        return status;
    }
    settle(compare);
    return vt_contender_turn(contender, turn, compare->job.turn_ns, compare->control, err,
                             ret_value, ret_p90);
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
        if (compare->wanted[scenario] && compare->job.pairs > 0) {
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
        int64_t scenarios = compare->job.pairs == 0
                                ? 0
                                : (compare->wanted[0] ? 1 : 0) + (compare->wanted[1] ? 1 : 0);
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

void vt_comparison_free(struct vt_comparison *comparison)
{
    struct compare *compare = (struct compare *)(void *)comparison;

    if (compare == NULL) {
        return;
    }
    for (uint32_t i = 0; i < VT_COMPARE_ENGINES_MAX; i++) {
        if (compare->contenders[i] != NULL) {
            vt_contender_close(compare->contenders[i]);
            vt_free(compare->contenders[i]);
        }
    }
    vt_comparison_release(comparison);
    vt_free(compare->indices);
    vt_save_release(&compare->save);
    vt_free(compare);
}
