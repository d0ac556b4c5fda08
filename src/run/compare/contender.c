/* SPDX-License-Identifier: Apache-2.0 */
#include "run/compare/contender.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "run/qsl.h"

#define WARM_UP_NS (1 * VT_NS_PER_S)
/* Renewing takes at most this share of a turn. */
#define RENEWAL_SHARE  2
#define RENEWAL_TRIALS 3
/* More samples make no turn better: a run of load needs memory for each. */
#define TURN_SAMPLES_MOST 50000000.0
/* Full batches of each lane before an Offline turn is timed. */
#define WARM_BATCHES 2

/* --- opening --------------------------------------------------------------------------------- */

enum vt_status vt_contender_open(struct vt_contender *contender, const struct vt_job *job,
                                 const char *text, const char *model,
                                 struct vt_compared_engine *engine, struct vt_error *err)
{
    memset(contender, 0, sizeof *contender);
    contender->engine = engine;
    enum vt_status status = vt_compare_entry_init(&contender->entry, job, text, err);
    if (status == VT_OK) {
        status = vt_session_open(&contender->session, &contender->entry.job, model, err);
    }
    if (status != VT_OK) {
        return status;
    }
    status = vt_compare_label(text, err, engine->label, sizeof engine->label);
    (void)snprintf(engine->name, sizeof engine->name, "%s", contender->session.engine_ref.ops.name);
    return status;
}

enum vt_status vt_contender_start(struct vt_contender *contender, struct vt_error *err)
{
    struct vt_compared_engine *engine = contender->engine;
    const struct vt_session *session = &contender->session;

    enum vt_status status = vt_session_start_engine(&contender->session, err);
    if (status != VT_OK) {
        return status;
    }
    engine->open_ns = session->open_ns;
    (void)snprintf(engine->description, sizeof engine->description, "%s",
                   session->caps.description);
    (void)snprintf(engine->precision, sizeof engine->precision, "%s", session->caps.precision);
    return VT_OK;
}

enum vt_status vt_contender_load(struct vt_contender *contender, const uint64_t *indices,
                                 uint64_t n, struct vt_error *err)
{
    const struct vt_session *session = &contender->session;

    enum vt_status status = session->workload_ops->load(session->workload, indices, n, err);
    if (status == VT_OK) {
        contender->indices = indices;
        contender->n_loaded = n;
    }
    return status;
}

/* The samples stay loaded over all turns. */
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

/* --- renewal --------------------------------------------------------------------------------- */

/* Ends the lanes, and the engine if it is not the first. */
static void drop_instance(struct vt_contender *contender)
{
    struct vt_session *session = &contender->session;

    vt_sut_free(session->sut);
    session->sut = NULL;
    if (contender->first_engine != NULL) {
        session->engine_ref.ops.close(session->engine);
        session->engine = contender->first_engine;
        contender->first_engine = NULL;
    }
}

/* The first one stays open meanwhile: workload and sut look at its signature. */
static enum vt_status open_instance(struct vt_contender *contender, struct vt_error *err)
{
    struct vt_session *session = &contender->session;
    void *engine = NULL;

    enum vt_status status = vt_session_open_bundle(session, &session->bundle, err, &engine);
    if (status == VT_OK) {
        contender->first_engine = session->engine;
        session->engine = engine;
    }
    return status;
}

/* Whole batches for all lanes, enough for the time at the rate that was seen last. */
static uint64_t offline_samples(const struct vt_contender *contender, int64_t turn_ns)
{
    double step = (double)contender->engine->batch * contender->engine->lanes;
    double samples = ceil(contender->rate * (double)turn_ns / 1e9 / step) * step;
    samples = fmin(samples, floor(TURN_SAMPLES_MOST / step) * step);
    return samples > step ? (uint64_t)samples : (uint64_t)step;
}

static void turn_settings(const struct vt_contender *contender, enum vt_compared_turn turn,
                          int64_t turn_ns, struct vt_load_settings *settings)
{
    vt_load_settings_default(settings);
    settings->mode = VT_PERFORMANCE;
    settings->max_duration_ns = 0;
    settings->completion_timeout_ns = contender->entry.job.timeout_ns;
    settings->min_duration_ns = turn_ns;
    settings->min_query_count = 1;
    if (turn == VT_TURN_OFFLINE) {
        settings->scenario = VT_OFFLINE;
        settings->min_query_count = offline_samples(contender, turn_ns);
        settings->min_duration_ns = 1; /* the number of samples says it all */
        settings->offline_expected_qps = 1;
    } else {
        settings->scenario = VT_SINGLESTREAM;
        settings->single_stream_expected_latency_ns = contender->single_ns;
    }
}

/* What a lane builds when it first meets a batch of a turn is built now. */
static enum vt_status warm_instance(struct vt_contender *contender, enum vt_compared_turn turn,
                                    struct vt_error *err)
{
    struct vt_load_settings settings;
    struct vt_load_report *report = NULL;
    struct vt_warm_up warm;

    enum vt_status status = vt_sut_warm_up(contender->session.sut, 0, 0, err, &warm);
    if (status != VT_OK || turn != VT_TURN_OFFLINE) {
        return status;
    }
    turn_settings(contender, turn, 1, &settings);
    settings.min_query_count *= WARM_BATCHES;
    status = vt_load_run(&settings, vt_sut_seam(contender->session.sut), &contender->qsl, NULL, err,
                         &report);
    vt_load_report_free(report);
    return status;
}

enum vt_status vt_contender_renew(struct vt_contender *contender, enum vt_compared_turn turn,
                                  struct vt_error *err)
{
    enum vt_status status = VT_OK;

    if (contender->engine->renewal == VT_RENEW_NOTHING) {
        return VT_OK;
    }
    drop_instance(contender);
    if (contender->engine->renewal == VT_RENEW_ENGINE) {
        status = open_instance(contender, err);
    }
    if (status == VT_OK) {
        status = vt_session_start_sut(&contender->session, err);
    }
    return status == VT_OK ? warm_instance(contender, turn, err) : status;
}

/* Tries how long it takes; the first time may be longer than all that follow. */
static enum vt_status choose_renewal(struct vt_contender *contender, int64_t turn_ns,
                                     struct vt_error *err)
{
    struct vt_compared_engine *engine = contender->engine;
    int64_t lanes_ns = INT64_MAX;

    engine->renewal = VT_RENEW_LANES;
    for (int i = 0; i < RENEWAL_TRIALS && (i == 0 || lanes_ns < 2 * turn_ns); i++) {
        int64_t start = vt_now_ns();
        enum vt_status status = vt_contender_renew(contender, VT_TURN_OFFLINE, err);
        if (status != VT_OK) {
            return status;
        }
        int64_t took = vt_now_ns() - start;
        lanes_ns = took < lanes_ns ? took : lanes_ns;
    }
    if (lanes_ns > turn_ns / RENEWAL_SHARE) {
        engine->renewal = VT_RENEW_NOTHING;
    } else if (lanes_ns + engine->open_ns <= turn_ns / RENEWAL_SHARE) {
        engine->renewal = VT_RENEW_ENGINE;
    }
    return VT_OK;
}

enum vt_status vt_contender_prepare(struct vt_contender *contender, int64_t turn_ns,
                                    struct vt_error *err)
{
    struct vt_compared_engine *engine = contender->engine;
    struct vt_warm_up warm;

    enum vt_status status = vt_session_start_sut(&contender->session, err);
    if (status == VT_OK) {
        status = vt_sut_warm_up(contender->session.sut, 0, WARM_UP_NS, err, &warm);
    }
    if (status != VT_OK) {
        return status;
    }
    vt_session_refresh_caps(&contender->session);
    (void)snprintf(engine->description, sizeof engine->description, "%s",
                   contender->session.caps.description);
    engine->batch = warm.batch;
    engine->lanes = contender->session.lanes;
    contender->entry.job.batch = warm.batch; /* found once, for all turns */
    contender->single_ns = warm.single_ns > 0 ? warm.single_ns : 1;
    contender->rate = (double)warm.batch * engine->lanes /
                      ((double)(warm.batch_ns > 0 ? warm.batch_ns : 1) / 1e9);
    vt_qsl_init(&contender->qsl, &contender->session);
    contender->qsl.total_count = contender->n_loaded;
    contender->qsl.performance_count = contender->n_loaded;
    contender->qsl.load = nothing_to_load;
    contender->qsl.unload = nothing_to_unload;
    return choose_renewal(contender, turn_ns, err);
}

/* --- turns ----------------------------------------------------------------------------------- */

/* A turn in which a sample failed measures nothing. */
static enum vt_status check_turn(const struct vt_contender *contender,
                                 const struct vt_load_report *report, struct vt_error *err)
{
    uint64_t bad = report->samples_failed + report->samples_lost + report->samples_doubled +
                   report->samples_invented;

    if (report->interrupted) {
        return vt_error_set(err, VT_ERR_INTERRUPTED, "interrupted before anything was measured");
    }
    if (bad > 0 || report->samples_completed == 0) {
        return vt_error_set(err, VT_ERR_ENGINE, "engine %s: %llu of %llu samples failed: %s",
                            contender->engine->label, (unsigned long long)bad,
                            (unsigned long long)report->samples_issued,
                            report->first_failure[0] != '\0' ? report->first_failure
                                                             : "nothing was answered");
    }
    return VT_OK;
}

enum vt_status vt_contender_turn(struct vt_contender *contender, enum vt_compared_turn turn,
                                 int64_t turn_ns, struct vt_load_control *control,
                                 struct vt_error *err, double *ret_value, double *ret_p90)
{
    struct vt_load_settings settings;
    struct vt_load_report *report = NULL;

    turn_settings(contender, turn, turn_ns, &settings);
    enum vt_status status = vt_load_run(&settings, vt_sut_seam(contender->session.sut),
                                        &contender->qsl, control, err, &report);
    if (status != VT_OK) {
        return status;
    }
    status = check_turn(contender, report, err);
    if (status == VT_OK && turn == VT_TURN_OFFLINE) {
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

void vt_contender_close(struct vt_contender *contender)
{
    struct vt_session *session = &contender->session;

    drop_instance(contender); /* its threads may not see samples go */
    if (contender->n_loaded > 0) {
        session->workload_ops->unload(session->workload, contender->indices, contender->n_loaded);
    }
    if (session->job != NULL) {
        vt_session_close(session);
    }
    vt_compare_entry_release(&contender->entry);
    memset(contender, 0, sizeof *contender);
}
