/* SPDX-License-Identifier: Apache-2.0 */
/* The public handle of an engine with its data, for load generators of any kind. */
#include "vatio/system.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "run/qsl.h"
#include "run/session.h"

#define WARM_UP_NS (1 * VT_NS_PER_S)
/* Samples of one issue that are paired on the stack; more take memory. */
#define PAIRS_ON_STACK 256

struct vt_system {
    struct vt_options options;
    struct vt_job job;
    struct vt_arena texts; /* the options' values */
    struct vt_session session;
    bool session_open;
    struct vt_qsl qsl;       /* the session's */
    struct vt_qsl outer_qsl; /* that counts what is loaded */
    struct vt_sut outer_sut; /* that knows whether it is started */
    uint32_t *loaded;        /* by index: how often */
    _Atomic bool started;
    char description[400];
};

/* --- options */

/* Whether an option of `vatio run` says something about a system. */
static bool concerns_system(const struct vt_option *option)
{
    return strcmp(option->category, "Model and engine") == 0 ||
           strcmp(option->category, "Data") == 0 || strcmp(option->name, "timeout") == 0;
}

static enum vt_status check_option(const char *name, struct vt_error *err)
{
    const struct vt_option_table *table = vt_job_options();

    for (size_t i = 0; i < table->n_options; i++) {
        if (strcmp(table->options[i].name, name) == 0 && !concerns_system(&table->options[i])) {
            return vt_error_set(err, VT_ERR_USAGE,
                                "option '%s' has no use here: the load generator decides it; a "
                                "system takes those on model, engine and data, and timeout",
                                name);
        }
    }
    return VT_OK; /* an unknown one is refused where it is set */
}

static enum vt_status read_options(struct vt_system *system, const struct vt_system_option *options,
                                   size_t n, struct vt_error *err)
{
    enum vt_status status = vt_options_init(&system->options, vt_job_options(), &system->job, err);

    for (size_t i = 0; i < n && status == VT_OK; i++) {
        if (options[i].name == NULL || options[i].value == NULL) {
            return vt_error_set(err, VT_ERR_USAGE, "option %zu has no %s", i,
                                options[i].name == NULL ? "name" : "value");
        }
        status = check_option(options[i].name, err);
        if (status != VT_OK) {
            return status;
        }
        char *name = vt_arena_strndup(&system->texts, options[i].name, strlen(options[i].name));
        char *value = vt_arena_strndup(&system->texts, options[i].value, strlen(options[i].value));
        if (name == NULL || value == NULL) {
            return vt_error_set(err, VT_ERR_MEMORY, "out of memory for the options");
        }
        status = vt_options_set(&system->options, name, value, err);
    }
    if (status == VT_OK && system->job.model == NULL) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "option 'model' is missing: a built-in name (digits) or the path of an "
                            "ONNX file");
    }
    return status;
}

/* --- the seams of vatio's own load */

static const char *seam_name(void *ctx)
{
    struct vt_system *system = ctx;
    const struct vt_sut *inner = vt_sut_seam(system->session.sut);
    return inner->name(inner->ctx);
}

static enum vt_status seam_start(void *ctx, const struct vt_completion_sink *sink,
                                 enum vt_scenario scenario, struct vt_error *err)
{
    struct vt_system *system = ctx;
    const struct vt_sut *inner = vt_sut_seam(system->session.sut);

    if (sink != NULL && atomic_exchange(&system->started, true)) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "the system is started already; one load generator at a time");
    }
    enum vt_status status = inner->start(inner->ctx, sink, scenario, err);
    if (sink == NULL || status != VT_OK) {
        atomic_store(&system->started, false);
    }
    return status;
}

static enum vt_status seam_issue(void *ctx, const struct vt_query_sample *samples, size_t n,
                                 struct vt_error *err)
{
    struct vt_system *system = ctx;
    const struct vt_sut *inner = vt_sut_seam(system->session.sut);
    return inner->issue(inner->ctx, samples, n, err);
}

static void seam_flush(void *ctx)
{
    struct vt_system *system = ctx;
    const struct vt_sut *inner = vt_sut_seam(system->session.sut);
    inner->flush(inner->ctx);
}

static void seam_abort(void *ctx)
{
    struct vt_system *system = ctx;
    const struct vt_sut *inner = vt_sut_seam(system->session.sut);
    inner->abort(inner->ctx);
}

static const char *library_name(void *ctx)
{
    struct vt_system *system = ctx;
    return system->qsl.name(system->qsl.ctx);
}

static enum vt_status library_load(void *ctx, const uint64_t *indices, size_t n,
                                   struct vt_error *err)
{
    return vt_system_load(ctx, indices, n, err);
}

static void library_unload(void *ctx, const uint64_t *indices, size_t n)
{
    vt_system_unload(ctx, indices, n);
}

static void make_seams(struct vt_system *system)
{
    vt_qsl_init(&system->qsl, &system->session);
    system->outer_sut = (struct vt_sut){VT_SUT_HEAD, seam_name,  seam_start, seam_issue,
                                        seam_flush,  seam_abort, system};
    system->outer_qsl = (struct vt_qsl){VT_QSL_HEAD,
                                        system->qsl.total_count,
                                        system->qsl.performance_count,
                                        library_name,
                                        library_load,
                                        library_unload,
                                        system};
}

/* --- life */

/* Batches of every size through every lane, with the first sample. */
static enum vt_status warm_up(struct vt_system *system, struct vt_error *err, uint32_t *ret_batch)
{
    struct vt_warm_up warm = {0};
    const uint64_t first = 0;

    enum vt_status status = vt_system_load(system, &first, 1, err);
    if (status != VT_OK) {
        return status;
    }
    status = vt_sut_warm_up(system->session.sut, first, WARM_UP_NS, err, &warm);
    vt_system_unload(system, &first, 1);
    *ret_batch = warm.batch;
    return status;
}

static enum vt_status open_session(struct vt_system *system, struct vt_error *err)
{
    uint32_t batch = 1;

    enum vt_status status = vt_session_open(&system->session, &system->job, system->job.model, err);
    system->session_open = status == VT_OK;
    if (status == VT_OK) {
        status = vt_session_start(&system->session, err);
    }
    if (status != VT_OK) {
        return status;
    }
    const struct vt_session *session = &system->session;
    make_seams(system);
    system->loaded = vt_calloc(session->info.total_count, sizeof system->loaded[0]);
    if (system->loaded == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for %" PRIu64 " samples",
                            session->info.total_count);
    }
    status = warm_up(system, err, &batch);
    if (status != VT_OK) {
        return status;
    }
    (void)snprintf(system->description, sizeof system->description,
                   "%s on %s, %s, batch %" PRIu32 ", lanes %" PRIu32 "; %s: %s",
                   vt_model_source_name(&session->source), session->engine_ref.ops.name,
                   session->caps.description, batch, session->lanes, session->info.name,
                   session->info.description);
    return VT_OK;
}

enum vt_status vt_system_open(const struct vt_system_option *options, size_t n_options,
                              struct vt_error *err, struct vt_system **ret_system)
{
    if (ret_system == NULL || (options == NULL && n_options > 0)) {
        return vt_error_set(err, VT_ERR_USAGE, "vt_system_open: %s is NULL",
                            ret_system == NULL ? "ret_system" : "options");
    }
    struct vt_system *system = vt_calloc(1, sizeof *system);
    if (system == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for a system");
    }
    vt_arena_init(&system->texts, 0);
    enum vt_status status = read_options(system, options, n_options, err);
    if (status == VT_OK) {
        status = open_session(system, err);
    }
    if (status != VT_OK) {
        vt_system_close(system);
        return status;
    }
    *ret_system = system;
    return VT_OK;
}

void vt_system_close(struct vt_system *system)
{
    struct vt_error ignored = VT_ERROR_INIT;

    if (system == NULL) {
        return;
    }
    if (atomic_load(&system->started)) {
        /* Stopping waits for what runs; that it might fail changes nothing here. */
        (void)!vt_system_stop(system, &ignored);
    }
    if (system->session_open) {
        vt_session_close(&system->session);
    }
    vt_free(system->loaded);
    vt_options_release(&system->options);
    vt_arena_release(&system->texts);
    vt_free(system);
}

const char *vt_system_name(const struct vt_system *system)
{
    const struct vt_sut *inner = system != NULL ? vt_sut_seam(system->session.sut) : NULL;
    return inner != NULL ? inner->name(inner->ctx) : NULL;
}

const char *vt_system_description(const struct vt_system *system)
{
    return system != NULL ? system->description : NULL;
}

uint64_t vt_system_total_count(const struct vt_system *system)
{
    return system != NULL ? system->qsl.total_count : 0;
}

uint64_t vt_system_performance_count(const struct vt_system *system)
{
    return system != NULL ? system->qsl.performance_count : 0;
}

const struct vt_sut *vt_system_sut(struct vt_system *system)
{
    return system != NULL ? &system->outer_sut : NULL;
}

const struct vt_qsl *vt_system_qsl(struct vt_system *system)
{
    return system != NULL ? &system->outer_qsl : NULL;
}

/* --- samples */

static enum vt_status missing(const char *function, const void *system, struct vt_error *err)
{
    return vt_error_set(err, VT_ERR_USAGE, "%s: %s is NULL", function,
                        system == NULL ? "system" : "an array");
}

enum vt_status vt_system_load(struct vt_system *system, const uint64_t *indices, size_t n,
                              struct vt_error *err)
{
    if (system == NULL || (indices == NULL && n > 0)) {
        return missing("vt_system_load", system, err);
    }
    for (size_t i = 0; i < n; i++) {
        if (indices[i] >= system->qsl.total_count) {
            return vt_error_set(err, VT_ERR_USAGE,
                                "sample %" PRIu64 " does not exist: there are %" PRIu64
                                ", counted from 0",
                                indices[i], system->qsl.total_count);
        }
    }
    enum vt_status status = system->qsl.load(system->qsl.ctx, indices, n, err);
    for (size_t i = 0; i < n && status == VT_OK; i++) {
        system->loaded[indices[i]]++;
    }
    return status;
}

void vt_system_unload(struct vt_system *system, const uint64_t *indices, size_t n)
{
    for (size_t i = 0; system != NULL && indices != NULL && i < n; i++) {
        if (indices[i] >= system->qsl.total_count || system->loaded[indices[i]] == 0) {
            continue;
        }
        system->loaded[indices[i]]--;
        if (system->loaded[indices[i]] == 0) {
            system->qsl.unload(system->qsl.ctx, &indices[i], 1);
        }
    }
}

/* --- work */

static void no_first_token(void *ctx, const struct vt_completion *firsts, size_t n)
{
    (void)ctx;
    (void)firsts;
    (void)n;
}

enum vt_status vt_system_start(struct vt_system *system, enum vt_scenario scenario,
                               const struct vt_completion_sink *sink, struct vt_error *err)
{
    if (system == NULL || sink == NULL || sink->complete == NULL) {
        return vt_error_set(err, VT_ERR_USAGE, "vt_system_start: %s is NULL",
                            system == NULL ? "system"
                            : sink == NULL ? "sink"
                                           : "sink->complete");
    }
    if ((int)scenario < 0 || (int)scenario >= VT_SCENARIO_COUNT) {
        return vt_error_set(err, VT_ERR_USAGE, "vt_system_start: scenario %d is not in 0 to %d",
                            (int)scenario, VT_SCENARIO_COUNT - 1);
    }
    struct vt_completion_sink whole = *sink;
    if (whole.first_token == NULL) {
        whole.first_token = no_first_token;
    }
    return seam_start(system, &whole, scenario, err);
}

enum vt_status vt_system_stop(struct vt_system *system, struct vt_error *err)
{
    if (system == NULL) {
        return missing("vt_system_stop", system, err);
    }
    if (!atomic_load(&system->started)) {
        return VT_OK;
    }
    return seam_start(system, NULL, VT_OFFLINE, err);
}

static enum vt_status check_samples(const struct vt_system *system, const uint64_t *indices,
                                    size_t n, struct vt_error *err)
{
    if (!atomic_load(&system->started)) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "vt_system_issue: the system is not started; call vt_system_start");
    }
    for (size_t i = 0; i < n; i++) {
        if (indices[i] >= system->qsl.total_count || system->loaded[indices[i]] == 0) {
            return vt_error_set(err, VT_ERR_USAGE,
                                "vt_system_issue: sample %" PRIu64 " is not loaded (%" PRIu64
                                " samples in all); call vt_system_load",
                                indices[i], system->qsl.total_count);
        }
    }
    return VT_OK;
}

enum vt_status vt_system_issue(struct vt_system *system, const uint64_t *ids,
                               const uint64_t *indices, size_t n, struct vt_error *err)
{
    struct vt_query_sample few[PAIRS_ON_STACK];
    struct vt_query_sample *pairs = few;

    if (system == NULL || ((ids == NULL || indices == NULL) && n > 0)) {
        return missing("vt_system_issue", system, err);
    }
    enum vt_status status = check_samples(system, indices, n, err);
    if (status != VT_OK || n == 0) {
        return status;
    }
    if (n > PAIRS_ON_STACK) {
        pairs = vt_calloc(n, sizeof pairs[0]);
        if (pairs == NULL) {
            return vt_error_set(err, VT_ERR_MEMORY, "out of memory to issue %zu samples", n);
        }
    }
    for (size_t i = 0; i < n; i++) {
        pairs[i] = (struct vt_query_sample){ids[i], indices[i]};
    }
    status = seam_issue(system, pairs, n, err);
    if (pairs != few) {
        vt_free(pairs);
    }
    return status;
}

void vt_system_flush(struct vt_system *system)
{
    if (system != NULL) {
        seam_flush(system);
    }
}

void vt_system_abort(struct vt_system *system)
{
    if (system != NULL) {
        seam_abort(system);
    }
}

/* --- quality */

enum vt_status vt_system_score(struct vt_system *system, const struct vt_load_answer *answers,
                               size_t n, struct vt_error *err,
                               struct vt_system_quality *ret_quality)
{
    struct vt_quality found = {0};

    if (system == NULL || answers == NULL || ret_quality == NULL) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "vt_system_score: system, answers and ret_quality are needed");
    }
    if (ret_quality->struct_size < sizeof *ret_quality) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "quality->struct_size is %" PRIu32
                            ", at least %zu is needed (set it to sizeof of the struct)",
                            ret_quality->struct_size, sizeof *ret_quality);
    }
    const struct vt_workload_ops *ops = system->session.workload_ops;
    if (ops->score == NULL || !system->session.info.has_quality) {
        return vt_error_set(err, VT_ERR_UNSUPPORTED,
                            "workload %s has nothing to compare with; open the system with "
                            "labelled data",
                            system->session.info.name);
    }
    struct vt_response *responses = vt_calloc(n, sizeof responses[0]);
    if (responses == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for %zu responses", n);
    }
    for (size_t i = 0; i < n; i++) {
        responses[i] = (struct vt_response){answers[i].index, answers[i].data, answers[i].bytes};
    }
    enum vt_status status = ops->score(system->session.workload, responses, n, err, &found);
    vt_free(responses);
    if (status != VT_OK) {
        return status;
    }
    ret_quality->has_target = found.has_target;
    ret_quality->pass = found.pass;
    ret_quality->value = found.value;
    ret_quality->target = found.target;
    ret_quality->count = found.count;
    (void)snprintf(ret_quality->metric, sizeof ret_quality->metric, "%s", found.metric);
    (void)snprintf(ret_quality->unit, sizeof ret_quality->unit, "%s", found.unit);
    (void)snprintf(ret_quality->detail, sizeof ret_quality->detail, "%s",
                   !found.pass && found.failure[0] != '\0' ? found.failure : found.detail);
    return VT_OK;
}
