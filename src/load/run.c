/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "load/issuer.h"
#include "load/load.h"
#include "load/verdict.h"

/* A report and what it owns. */
struct owned_report {
    struct vt_load_report report; /* first: the caller's pointer is this object's */
    struct vt_record_block records;
    struct vt_load_response *responses;
    struct vt_arena response_data;
};

struct run {
    struct vt_issuer issuer;
    struct vt_recorder recorder;
    struct vt_load_effective effective;
    struct vt_load_control own_control; /* when the caller gave none */
    struct vt_sample_sets sets;
    struct vt_sample_set loaded; /* .indices NULL: none */
    struct vt_completion_sink sink;
    int64_t start_unix_ms;
};

static int64_t unix_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / VT_NS_PER_MS;
}

/* How many samples the records should have room for from the start. */
static uint64_t expected_records(const struct vt_load_settings *s,
                                 const struct vt_load_effective *e)
{
    if (s->mode == VT_ACCURACY) {
        return e->accuracy_sample_count;
    }
    double by_time =
        e->target_qps * ((double)e->target_duration_ns / 1e9) * (double)e->samples_per_query * 1.1;
    double least = (double)e->min_sample_count + (double)e->performance_sample_count;
    double n = by_time > least ? by_time : least;
    return n < (double)VT_LOAD_SAMPLES_MAX ? (uint64_t)n : VT_LOAD_SAMPLES_MAX;
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
            run->start_unix_ms = unix_ms();
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
        if (st != VT_OK || is->end != VT_END_NATURAL || !done) {
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
    enum vt_status st = vt_recorder_take(rec, err, &owned->records);
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
    r->sut_name = is->sut->name(is->sut->ctx);
    r->qsl_name = qsl->name(qsl->ctx);
    r->qsl_total_count = qsl->total_count;
    r->qsl_performance_count = qsl->performance_count;
    r->start_unix_ms = run->start_unix_ms;
    r->queries_issued = is->queries;
    vt_recorder_tell(rec, r);
    r->last_issue_ns = is->last_issue_ns;
    r->records = owned->records.records;
    r->tokens = owned->records.tokens;
    r->n_records = owned->records.n;
    r->record_bytes = owned->records.record_bytes;
    r->spilled_bytes = owned->records.spilled_bytes;
    r->responses = owned->responses;
    r->n_responses = rec->responses.n;
    *ret_owned = owned;
    return VT_OK;
}

/*
 * A sample that stayed away, when nothing worse came first. What was still on its way when we ended
 * the run ourselves is nobody's failure.
 */
static void note_first_lost(struct run *run, const struct vt_load_report *r)
{
    enum vt_run_end end = run->issuer.end;
    if (r->samples_lost == 0 || end == VT_END_STOPPED || end == VT_END_MAX_DURATION) {
        return;
    }
    for (uint64_t i = 0; i < r->n_records; i++) {
        if (r->records[i].done_ns == VT_RECORD_LOST) {
            vt_recorder_first_failure(&run->recorder,
                                      "sample %" PRIu64 " (index %" PRIu32 ") was never completed",
                                      i, r->records[i].index);
            return;
        }
    }
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
    note_first_lost(run, r);
    memcpy(r->first_failure, run->recorder.first_failure, sizeof(r->first_failure));
    st = vt_verdict_reach(r, run->issuer.effective, run->issuer.end, err);
    if (st != VT_OK) {
        vt_load_report_free(r);
        return st;
    }
    *ret_report = r;
    return VT_OK;
}

static enum vt_status prepare(struct run *run, const struct vt_load_settings *settings,
                              const struct vt_sut *sut, struct vt_load_control *control,
                              struct vt_error *err)
{
    struct vt_issuer *is = &run->issuer;
    is->settings = settings;
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
    struct vt_recorder_config config = {
        .clock = is->control->clock,
        .n_tracks = 1,
        .expected = expected_records(settings, &run->effective),
        .keep = settings->mode == VT_ACCURACY ? VT_KEEP_ALL : VT_KEEP_NONE,
        .tokens = settings->use_token_latencies,
        .whole_batch = settings->scenario == VT_OFFLINE,
        .memory_limit_bytes = settings->memory_limit_bytes,
        .spill_folder = settings->spill_folder,
    };
    enum vt_status st = vt_recorder_init(&run->recorder, &config, err);
    if (st == VT_OK) {
        st = vt_sample_sets_init(&run->sets, settings, &run->effective, err);
    }
    if (st == VT_OK) {
        st = vt_issuer_init(is, err);
    }
    return st;
}

enum vt_status vt_load_run(const struct vt_load_settings *settings, const struct vt_sut *sut,
                           const struct vt_qsl *qsl, struct vt_load_control *control,
                           struct vt_error *err, struct vt_load_report **ret_report)
{
    struct vt_load_effective effective;
    enum vt_status st = vt_load_settings_resolve(settings, qsl->total_count, qsl->performance_count,
                                                 err, &effective);
    if (st != VT_OK) {
        return st;
    }
    struct run *run = vt_calloc(1, sizeof(*run));
    if (run == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "no memory for a run");
    }
    run->effective = effective;
    st = prepare(run, settings, sut, control, err);
    if (st == VT_OK) {
        st = run_sets(run, qsl, err);
        unload(run, qsl);
    }
    if (st == VT_OK) {
        st = make_report(run, qsl, err, ret_report);
    }
    vt_issuer_release(&run->issuer);
    vt_sample_sets_release(&run->sets);
    vt_recorder_release(&run->recorder);
    vt_free(run);
    return st;
}

void vt_load_report_free(struct vt_load_report *report)
{
    if (report == NULL) {
        return;
    }
    struct owned_report *owned = (struct owned_report *)report;
    vt_record_block_release(&owned->records);
    vt_free(owned->responses);
    vt_arena_release(&owned->response_data);
    vt_free(owned);
}
