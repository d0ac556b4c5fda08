/* SPDX-License-Identifier: Apache-2.0 */
#include "mlperf/phase.h"

#include "load/schedule.h"

enum vt_status vt_mlperf_phase_init(struct vt_mlperf_phase *phase,
                                    const struct vt_load_report *report, struct vt_error *err)
{
    *phase = (struct vt_mlperf_phase){.report = report};
    return vt_sample_sets_init(&phase->sets, &report->settings, &report->effective, err);
}

void vt_mlperf_phase_release(struct vt_mlperf_phase *phase)
{
    vt_sample_sets_release(&phase->sets);
}

/* The start of the query behind the last of n, as LoadGen's generator of an accuracy run has it. */
static int64_t accuracy_span_ns(const struct vt_load_report *r, uint64_t n)
{
    const struct vt_schedule_span span = {.count_min = n};
    struct vt_load_settings settings = r->settings;
    struct vt_schedule schedule;
    int64_t span_ns = 0;

    if (!(r->effective.target_qps > 0)) {
        return 0;
    }
    if (settings.scenario != VT_SERVER) {
        (void)vt_schedule_generated(&span, r->effective.target_qps, &span_ns);
        return span_ns;
    }
    settings.arrivals = VT_ARRIVALS_POISSON; /* LoadGen's; a trace may be gone by now */
    vt_schedule_init(&schedule, &settings, r->effective.target_qps, &span);
    while (vt_schedule_next(&schedule, &span_ns)) {
    }
    return schedule.next_ns;
}

static struct vt_mlperf_part performance_part(const struct vt_load_report *r,
                                              struct vt_sample_set set)
{
    return (struct vt_mlperf_part){
        .set = set,
        .generated_queries = r->queries_generated,
        .generated_samples_per_query = r->samples_per_query,
        .generated_ns = r->generated_duration_ns,
        .end_ns = r->duration_ns,
        .ended_naturally = r->settings.scenario != VT_SERVER &&
                           r->queries_issued >= r->effective.min_query_count &&
                           r->last_issue_ns >= r->effective.target_duration_ns,
    };
}

static struct vt_mlperf_part accuracy_part(const struct vt_load_report *r, struct vt_sample_set set,
                                           uint64_t first)
{
    uint64_t width = r->settings.scenario == VT_OFFLINE ? set.size : r->effective.samples_per_query;
    struct vt_mlperf_part part = {
        .set = set,
        .generated_queries = set.padded / width,
        .generated_samples_per_query = width,
    };
    uint64_t behind = first + part.generated_queries * width;

    part.generated_ns = accuracy_span_ns(r, part.generated_queries);
    part.begin_ns = first < r->n_records ? r->records[first].scheduled_ns : 0;
    part.end_ns = part.begin_ns;
    for (uint64_t i = first; i < behind && i < r->n_records; i++) {
        /* what is lost counts as long ago */
        part.end_ns = r->records[i].done_ns > part.end_ns ? r->records[i].done_ns : part.end_ns;
    }
    return part;
}

bool vt_mlperf_phase_next(struct vt_mlperf_phase *phase, struct vt_mlperf_part *ret_part)
{
    const struct vt_load_report *r = phase->report;

    if (phase->at == phase->sets.n || (phase->at > 0 && phase->record >= r->n_records)) {
        return false;
    }
    struct vt_sample_set set = vt_sample_sets_get(&phase->sets, phase->at++);
    if (r->settings.mode == VT_ACCURACY) {
        *ret_part = accuracy_part(r, set, phase->record);
        phase->record += ret_part->generated_queries * ret_part->generated_samples_per_query;
    } else {
        *ret_part = performance_part(r, set);
        phase->record = r->n_records;
    }
    return true;
}
