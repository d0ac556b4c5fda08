/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "base/alloc.h"
#include "load/issue_thread.h"
#include "load/issuer.h"
#include "load/load.h"
#include "load/settings.h"
#include "load/verdict.h"
#include "load/watch.h"

/* A report and what it owns. */
struct owned_report {
    struct vt_load_report report; /* first: the caller's pointer is this object's */
    struct vt_record_block block;
    struct vt_load_response *responses;
    struct vt_arena response_data;
};

struct run {
    struct vt_issuer issuer;
    struct vt_recorder recorder;
    struct vt_load_settings settings; /* test05 applied */
    struct vt_load_effective effective;
    struct vt_load_control own_control; /* when the caller gave none */
    struct vt_load_carry own_carry;
    struct vt_load_carry *carry;
    struct vt_sample_sets sets;
    struct vt_sample_set loaded; /* .indices NULL: none */
    struct vt_completion_sink sink;
    int64_t start_unix_ms;
    struct vt_watched watched;
};

/*
 * Records that get their memory before the start: what can be had in a few milliseconds. A longer
 * run takes the rest bit by bit while it goes on.
 */
#define RECORDS_AHEAD (UINT64_C(1) << 19)

/* How many samples the records should have room for from the start. */
static uint64_t expected_records(const struct vt_load_settings *s,
                                 const struct vt_load_effective *e)
{
    if (s->mode == VT_ACCURACY) {
        uint64_t count = e->accuracy_sample_count;
        return count < RECORDS_AHEAD ? count : RECORDS_AHEAD;
    }
    double by_time =
        e->target_qps * ((double)e->target_duration_ns / 1e9) * (double)e->samples_per_query * 1.1;
    double least = (double)e->min_sample_count + (double)e->performance_sample_count;
    double n = by_time > least ? by_time : least;
    return n < (double)RECORDS_AHEAD ? (uint64_t)n : RECORDS_AHEAD;
}

static void unload(struct run *run, const struct vt_qsl *qsl)
{
    if (run->loaded.indices != NULL) {
        qsl->unload(qsl->ctx, run->loaded.indices, run->loaded.padded);
        run->loaded.indices = NULL;
    }
}

static enum vt_status run_set(struct run *run, const struct vt_qsl *qsl, size_t i,
                              struct vt_error *err)
{
    struct vt_issuer *is = &run->issuer;
    struct vt_sample_set set = vt_sample_sets_get(&run->sets, i);
    enum vt_status st = qsl->load(qsl->ctx, set.indices, set.padded, err);
    if (st != VT_OK) {
        return st;
    }
    run->loaded = set;
    st = vt_selection_init(&is->selection, is->settings, is->effective, set, err);
    if (st == VT_OK) {
        if (i == 0) {
            run->start_unix_ms = vt_clock_unix_ms(is->control->clock);
        }
        st = vt_issuer_run(is, err);
    }
    vt_selection_release(&is->selection);
    return st;
}

/* Everything between start and stop of the sut; when this returns, no completion can come. */
static enum vt_status run_sets(struct run *run, const struct vt_qsl *qsl, struct vt_error *err)
{
    struct vt_issuer *is = &run->issuer;
    const struct vt_sut *sut = is->sut;
    enum vt_scenario scenario = is->settings->scenario;
    enum vt_status st = sut->start(sut->ctx, &run->sink, scenario, err);
    if (st != VT_OK) {
        return st;
    }
    for (size_t i = 0; i < run->sets.n; i++) {
        st = run_set(run, qsl, i, err);
        bool done = vt_recorder_completed(&run->recorder) == is->sequence;
        if (st != VT_OK || vt_issuer_end(is) != VT_END_NATURAL || !done) {
            break;
        }
        if (i + 1 < run->sets.n) {
            unload(run, qsl);
        }
    }
    if (vt_recorder_completed(&run->recorder) != is->sequence) {
        atomic_store(&run->recorder.aborted, true);
        sut->abort(sut->ctx);
    }
    enum vt_status stopped = sut->start(sut->ctx, NULL, scenario, err);
    return st != VT_OK ? st : stopped;
}

/*
 * A sample that stayed away, when nothing worse came first. What was still on its way when we ended
 * the run ourselves is nobody's failure.
 */
static void note_first_lost(struct run *run)
{
    struct vt_recorder *rec = &run->recorder;
    enum vt_run_end end = vt_issuer_end(&run->issuer);
    uint32_t track;
    uint64_t sequence;
    if (vt_recorder_completed(rec) == vt_recorder_issued(rec) || end == VT_END_STOPPED ||
        end == VT_END_MAX_DURATION || !vt_recorder_first_lost(rec, &track, &sequence)) {
        return;
    }
    vt_recorder_first_failure(
        rec, "sample %" PRIu64 " (index %" PRIu32 ", id 0x%" PRIx64 ") was never completed",
        sequence, vt_recorder_at(rec, track, sequence)->index,
        vt_recorder_id(rec, track, sequence));
}

static enum vt_status new_report(struct run *run, const struct vt_qsl *qsl, struct vt_error *err,
                                 struct owned_report **ret_owned)
{
    struct vt_issuer *is = &run->issuer;
    struct vt_recorder *rec = &run->recorder;
    struct owned_report *owned = vt_calloc(1, sizeof(*owned));
    if (owned == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "no memory for the report");
    }
    if (rec->responses.out_of_memory) {
        vt_free(owned);
        return vt_error_set(err, VT_ERR_MEMORY, "no memory to keep the responses: %" PRIu64 " kept",
                            rec->responses.n);
    }
    note_first_lost(run);
    enum vt_status st = vt_recorder_take(rec, err, &owned->block);
    if (st != VT_OK) {
        vt_free(owned);
        return st;
    }
    owned->responses = rec->responses.list;
    owned->response_data = rec->responses.data;
    rec->responses.list = NULL;
    vt_arena_init(&rec->responses.data, 0);

    struct vt_load_report *r = &owned->report;
    r->settings = *is->settings;
    r->effective = *is->effective;
    int64_t asked_ns = vt_recorder_now_ns(rec);
    r->sut_name = is->sut->name(is->sut->ctx);
    r->sut_name_ns = vt_recorder_now_ns(rec) - asked_ns;
    r->qsl_name = qsl->name(qsl->ctx);
    r->qsl_total_count = qsl->total_count;
    r->qsl_performance_count = qsl->performance_count;
    r->start_unix_ms = run->start_unix_ms;
    r->queries_issued = is->queries;
    vt_recorder_tell(rec, r);
    r->last_issue_ns = is->last_issue_ns;
    r->start_monotonic_ns = atomic_load(&rec->start_ns);
    r->queries_generated = is->generated_queries;
    r->generated_duration_ns = is->generated_duration_ns;
    r->samples_per_query = is->generated_samples_per_query;
    r->records = owned->block.records;
    r->n_records = owned->block.n;
    r->record_bytes = owned->block.record_bytes;
    r->spilled_bytes = owned->block.spilled_bytes;
    r->tokens = owned->block.tokens;
    r->first_sequence = run->carry->samples;
    r->responses = owned->responses;
    r->n_responses = rec->responses.n;
    for (uint64_t i = 0; i < r->n_responses; i++) {
        owned->responses[i].sequence += r->first_sequence;
    }
    *ret_owned = owned;
    return VT_OK;
}

static enum vt_status make_report(struct run *run, const struct vt_qsl *qsl, struct vt_error *err,
                                  struct vt_load_report **ret_report)
{
    struct owned_report *owned = NULL;
    enum vt_status st = new_report(run, qsl, err, &owned);
    if (st != VT_OK) {
        return st;
    }
    struct vt_load_report *r = &owned->report;
    st = vt_verdict_reach(r, run->issuer.effective, vt_issuer_end(&run->issuer), err);
    if (st != VT_OK) {
        vt_load_report_free(r);
        return st;
    }
    *ret_report = r;
    return VT_OK;
}

/* What the phases before left off with, or a test's beginning. */
static void take_up_carry(struct run *run)
{
    struct vt_load_control *control = run->issuer.control;
    run->carry = control->carry != NULL ? control->carry : &run->own_carry;
    if (!run->carry->seeded) {
        run->carry->seeded = true;
        vt_log_sampler_seed(&run->carry->accuracy_log_rng);
    }
    vt_log_sampler_init(&run->issuer.sampler, &run->settings, &run->effective,
                        &run->carry->accuracy_log_rng);
}

/* LoadGen numbers what it generates: a phase goes on behind that, issued or not. */
static void carry_on(struct run *run)
{
    const struct vt_issuer *is = &run->issuer;
    uint64_t samples = is->sequence > is->generated_samples ? is->sequence : is->generated_samples;
    run->carry->samples += samples;
    run->carry->queries +=
        is->queries > is->generated_queries ? is->queries : is->generated_queries;
    if (run->carry != &run->own_carry && vt_log_sampler_wanted(&run->settings)) {
        vt_log_sampler_skip(&run->carry->accuracy_log_rng, samples);
    }
}

static enum vt_status init_recorder(struct run *run, struct vt_error *err)
{
    const struct vt_load_settings *s = &run->settings;
    const struct vt_issuer *is = &run->issuer;
    uint32_t tracks = vt_issuer_tracks(s);
    const struct vt_recorder_config config = {
        .clock = is->control->clock,
        .n_tracks = tracks,
        .expected = expected_records(s, &run->effective) / tracks + 1,
        .keep = s->mode == VT_ACCURACY ? VT_KEEP_ALL
                : is->sampler.on       ? VT_KEEP_MARKED
                                       : VT_KEEP_NONE,
        .tokens = s->use_token_latencies,
        .whole_batch = s->scenario == VT_OFFLINE,
        .memory_limit_bytes = s->memory_limit_bytes,
        .spill_folder = s->spill_folder,
    };
    return vt_recorder_init(&run->recorder, &config, err);
}

static enum vt_status prepare(struct run *run, const struct vt_sut *sut,
                              struct vt_load_control *control, struct vt_error *err)
{
    struct vt_issuer *is = &run->issuer;
    is->settings = &run->settings;
    is->effective = &run->effective;
    is->sut = sut;
    is->control = control != NULL ? control : &run->own_control;
    is->recorder = &run->recorder;
    atomic_store(&is->control->issued, 0);
    atomic_store(&is->control->completed, 0);
    atomic_store(&is->control->started_ns, 0);
    run->sink = (struct vt_completion_sink){.complete = vt_recorder_complete,
                                            .first_token = vt_recorder_first_token,
                                            .ctx = &run->recorder};
    take_up_carry(run);
    enum vt_status st = init_recorder(run, err);
    if (st == VT_OK) {
        st = vt_sample_sets_init(&run->sets, is->settings, &run->effective, err);
    }
    if (st == VT_OK) {
        st = vt_issuer_init(is, err);
    }
    return st;
}

/* What the ranges of single settings do not say. Says so before anything has been loaded. */
static enum vt_status check(const struct vt_load_settings *s, struct vt_error *err)
{
    if (s->mode != VT_PERFORMANCE && s->mode != VT_ACCURACY) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "mode is %s: one run is one phase, give performance or accuracy",
                            vt_mode_key(s->mode));
    }
    enum vt_status st = vt_schedule_check(s, err);
    for (uint32_t i = 0; i < vt_issuer_tracks(s) && st == VT_OK; i++) {
        struct vt_issue_thread saved;
        st = vt_issue_thread_enter(s, i, err, &saved);
        vt_issue_thread_leave(&saved);
    }
    return st;
}

/* What a reader of the logs should know about the settings. */
static void warn(struct run *run)
{
    const struct vt_load_settings *s = &run->settings;
    if (s->scenario == VT_SERVER && s->arrivals != VT_ARRIVALS_POISSON) {
        vt_recorder_note(&run->recorder, false,
                         "Queries arrive %s: MLPerf's rules ask for Poisson arrivals",
                         s->arrivals == VT_ARRIVALS_TRACE ? "at the times of a trace" : "evenly");
    }
}

static enum vt_status execute(struct run *run, const struct vt_sut *sut, const struct vt_qsl *qsl,
                              struct vt_load_control *control, struct vt_error *err,
                              struct vt_load_report **ret_report)
{
    enum vt_status st = prepare(run, sut, control, err);
    if (st == VT_OK) {
        warn(run);
        run->watched = (struct vt_watched){&run->recorder, run->effective.samples_per_query};
        if (run->settings.scenario != VT_OFFLINE) {
            vt_watch_open(run->issuer.control, &run->watched);
        }
        st = run_sets(run, qsl, err);
        vt_watch_close(run->issuer.control);
        unload(run, qsl);
    }
    if (st == VT_OK) {
        st = make_report(run, qsl, err, ret_report);
    }
    if (st == VT_OK) {
        carry_on(run);
    }
    vt_issuer_release(&run->issuer);
    vt_sample_sets_release(&run->sets);
    vt_recorder_release(&run->recorder);
    return st;
}

enum vt_status vt_load_run(const struct vt_load_settings *settings, const struct vt_sut *sut,
                           const struct vt_qsl *qsl, struct vt_load_control *control,
                           struct vt_error *err, struct vt_load_report **ret_report)
{
    struct run *run = vt_calloc(1, sizeof(*run));
    if (run == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "no memory for a run");
    }
    run->settings = *settings;
    vt_load_settings_apply_test05(&run->settings);
    enum vt_status st = vt_load_settings_resolve(&run->settings, qsl->total_count,
                                                 qsl->performance_count, err, &run->effective);
    if (st == VT_OK) {
        st = check(&run->settings, err);
    }
    if (st == VT_OK) {
        st = execute(run, sut, qsl, control, err, ret_report);
    }
    vt_free(run);
    return st;
}

void vt_load_report_free(struct vt_load_report *report)
{
    if (report == NULL) {
        return;
    }
    struct owned_report *owned = (struct owned_report *)report;
    vt_record_block_release(&owned->block);
    vt_free(owned->responses);
    vt_arena_release(&owned->response_data);
    vt_free(owned);
}
