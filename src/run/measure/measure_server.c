/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "run/measure/measure.h"

/* Of what full batches on every lane would give: where the search starts. */
#define START_SHARE 0.7
#define FULL_RUNS   4

struct vt_rate_search vt_measure_rate_search(const struct vt_probe *probe,
                                             const struct vt_load_settings *settings)
{
    struct vt_rate_search search = {
        .settings = *settings,
        .trial_ns = vt_scenario_trial_ns(settings),
        .full_runs = FULL_RUNS,
    };
    double start = probe->samples_per_s * START_SHARE;

    search.settings.server_target_qps = start;
    search.budget_ns = vt_rate_search_budget_ns(&search, start > 1e-3 ? start : 1e-3);
    return search;
}

void vt_measure_rate_plan(const struct vt_rate_search *search, char *text, size_t size)
{
    char trial[32], full[32], budget[32];
    double qps = search->settings.server_target_qps;

    snprintf(text, size,
             "Server's rate is searched for: trials of %s, then up to %u full runs of %s, at most "
             "%s in all",
             vt_duration_text(vt_rate_search_trial_ns(search, qps), trial, sizeof trial),
             search->full_runs,
             vt_duration_text(vt_rate_search_full_ns(search, qps), full, sizeof full),
             vt_duration_text(search->budget_ns, budget, sizeof budget));
}

/* What the live line shows of a search. */
struct watch {
    struct vt_measure *measure;
    int64_t trials_ns; /* expected for all of them */
    bool open;         /* a phase has begun */
    char name[64];
};

static void on_step(void *ctx, const struct vt_rate_step *step)
{
    struct watch *watch = ctx;

    if (!step->full && watch->open) {
        return; /* all trials are one phase */
    }
    if (watch->open) {
        vt_measure_phase_end(watch->measure);
    }
    if (step->full) {
        snprintf(watch->name, sizeof watch->name, "Server, full run at %.4g queries/s", step->qps);
    } else {
        snprintf(watch->name, sizeof watch->name, "Server, searching the rate");
    }
    vt_measure_phase_begin(watch->measure, watch->name,
                           step->full ? step->expected_ns : watch->trials_ns, 0);
    watch->open = true;
}

static void judge(struct vt_result_entry *entry, const struct vt_rate_found *found)
{
    char text[512];

    entry->target_qps = found->qps;
    if (found->report != NULL) {
        vt_measure_adopt(entry, found->report);
    }
    if (found->outcome == VT_RATE_CONFIRMED || found->interrupted) {
        return;
    }
    snprintf(text, sizeof text, "%s (%s, or name a rate with --target-qps)", found->text,
             found->outcome == VT_RATE_NONE ? "allow more with --max-latency"
                                            : "run longer with --duration");
    vt_measure_add_reason(entry, text);
}

enum vt_status vt_measure_server_rate(struct vt_measure *measure,
                                      const struct vt_load_settings *settings, struct vt_error *err,
                                      struct vt_result_entry *entry)
{
    struct vt_rate_search search = vt_measure_rate_search(&measure->probe, settings);
    struct watch watch = {.measure = measure, .trials_ns = vt_scenario_search_ns(settings)};
    struct vt_rate_found found;

    search.step = on_step;
    search.ctx = &watch;
    enum vt_status status = vt_load_find_rate(&search, vt_sut_seam(measure->session->sut),
                                              measure->qsl, measure->control, err, &found);
    if (watch.open) {
        vt_measure_phase_end(measure);
    }
    if (status != VT_OK) {
        return status;
    }
    entry->rate_found = true;
    judge(entry, &found);
    entry->rate = found;
    entry->rate.report = NULL; /* it is the entry's */
    return VT_OK;
}
