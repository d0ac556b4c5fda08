/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "load/early_stopping.h"
#include "load/load.h"

/* The bracket is narrow enough when its ends differ by so much. */
#define RATIO_DONE 1.05
#define QPS_MIN    1e-3
#define QPS_MAX    1e8

struct search {
    const struct vt_rate_search *what;
    const struct vt_sut *sut;
    const struct vt_qsl *qsl;
    struct vt_load_control *control;
    const struct vt_clock *clock;
    int64_t end_ns;
    struct vt_rate_found found;
};

/* A trial is too short for the counts of a whole run: it judges what it saw. */
static bool passed(const struct vt_load_report *r)
{
    bool whole = r->samples_completed > 0 && r->samples_lost == 0 && r->samples_failed == 0 &&
                 r->samples_doubled == 0 && r->samples_invented == 0;
    if (!whole || !r->performance_met) {
        return false;
    }
    uint64_t least = vt_early_stopping_passing(0, r->settings.server_target_latency_percentile);
    return r->early_stopping_met || r->queries_issued < least;
}

static enum vt_status trial(struct search *search, double qps, struct vt_error *err,
                            bool *ret_passed)
{
    const struct vt_rate_search *what = search->what;
    struct vt_load_settings s = what->settings;
    int64_t left = search->end_ns - search->clock->now_ns(search->clock->ctx);
    left = left > what->trial_ns ? left : what->trial_ns; /* the first one is always whole */
    s.scenario = VT_SERVER;
    s.mode = VT_PERFORMANCE;
    s.server_target_qps = qps;
    s.min_duration_ns = what->trial_ns;
    s.min_query_count = 1;
    s.max_query_count = 0;
    /* The last query starts at the first arrival behind the trial; a system that keeps up is done
     * soon after. */
    s.max_duration_ns = s.min_duration_ns + s.min_duration_ns / 4 + (int64_t)(10e9 / qps);
    s.max_duration_ns = s.max_duration_ns < left ? s.max_duration_ns : left;
    struct vt_load_report *report = NULL;
    enum vt_status st = vt_load_run(&s, search->sut, search->qsl, search->control, err, &report);
    if (st != VT_OK) {
        return st;
    }
    search->found.trials++;
    search->found.interrupted = report->interrupted;
    *ret_passed = !report->interrupted && passed(report);
    vt_load_report_free(report);
    return VT_OK;
}

/* There is time for another whole trial. */
static bool may_go_on(const struct search *search)
{
    return search->clock->now_ns(search->clock->ctx) + search->what->trial_ns <= search->end_ns;
}

/* The rate to try next; 0 when the search is over. */
static double next_rate(const struct vt_rate_found *found)
{
    if (found->failed_qps == 0) {
        double qps = found->qps * 2;
        return qps <= QPS_MAX ? qps : 0;
    }
    if (found->qps == 0) {
        double qps = found->failed_qps / 2;
        return qps >= QPS_MIN ? qps : 0;
    }
    return found->failed_qps / found->qps > RATIO_DONE ? sqrt(found->failed_qps * found->qps) : 0;
}

static enum vt_status check(const struct vt_rate_search *search, struct vt_error *err)
{
    const int64_t most = INT64_MAX / 8;
    if (search->trial_ns < 1 || search->trial_ns > most) {
        return vt_error_set(err, VT_ERR_USAGE, "trial_ns is %lld: give a time from 1 ns to %lld ns",
                            (long long)search->trial_ns, (long long)most);
    }
    if (search->budget_ns < search->trial_ns || search->budget_ns > most) {
        return vt_error_set(
            err, VT_ERR_USAGE, "budget_ns is %lld: give a time from trial_ns, %lld ns, to %lld ns",
            (long long)search->budget_ns, (long long)search->trial_ns, (long long)most);
    }
    double qps = search->settings.server_target_qps;
    if (!(qps >= 0 && qps <= QPS_MAX)) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "server_target_qps is %g: give a rate to start from up to %g, or 0",
                            qps, QPS_MAX);
    }
    return VT_OK;
}

enum vt_status vt_load_find_rate(const struct vt_rate_search *search, const struct vt_sut *sut,
                                 const struct vt_qsl *qsl, struct vt_load_control *control,
                                 struct vt_error *err, struct vt_rate_found *ret_found)
{
    enum vt_status st = check(search, err);
    if (st != VT_OK) {
        return st;
    }
    struct search run = {.what = search, .sut = sut, .qsl = qsl, .control = control};
    run.clock = control != NULL && control->clock != NULL ? control->clock : vt_clock_monotonic();
    run.end_ns = run.clock->now_ns(run.clock->ctx) + search->budget_ns;
    double qps = search->settings.server_target_qps;
    if (qps < QPS_MIN) {
        /* One query at a time that takes as long as it may. */
        int64_t limit = search->settings.server_target_latency_ns;
        qps = 1e9 / (double)(limit > 0 ? limit : VT_NS_PER_S);
    }
    for (bool first = true; qps > 0 && (first || may_go_on(&run)); first = false) {
        bool good = false;
        st = trial(&run, qps, err, &good);
        if (st != VT_OK) {
            return st;
        }
        if (run.found.interrupted) {
            break;
        }
        if (good) {
            run.found.qps = qps;
        } else {
            run.found.failed_qps = qps;
        }
        qps = next_rate(&run.found);
    }
    *ret_found = run.found;
    return VT_OK;
}
