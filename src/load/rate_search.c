/* SPDX-License-Identifier: Apache-2.0 */
#include "load/rate_search.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "load/early_stopping.h"
#include "load/rate_belief.h"

/* The edge is known when 90 % of the belief lie within so much. */
#define RATIO_DONE 1.05
/* So much must a further full run promise behind one that was valid. */
#define RATIO_WORTH 1.03
/* A trial should have so many queries, where that does not make it longer than this share of a full
 * run. */
#define TRIAL_QUERIES  1000
#define TRIAL_SHARE    6
#define BUDGET_TRIALS  16
#define TRIALS_MOST    32
#define FULL_RUNS_MOST 16
/* So many times the late queries that it may have are no chance. */
#define CLEARLY 3
/* Of what a system that fell behind completed: queues stay short there. */
#define BEHIND_SHARE 0.8
#define BEHIND       0.97
/* With fewer queries at once than this, a lower rate makes no query faster. */
#define IDLE 0.05
/* So many trials that cannot pass at any rate end the search: one may be an accident. */
#define HOPELESS 2
#define BROKEN   3

struct search {
    const struct vt_rate_search *what;
    const struct vt_sut *sut;
    const struct vt_qsl *qsl;
    struct vt_load_control *control;
    const struct vt_clock *clock;
    int64_t start_ns, end_ns;
    struct vt_rate_belief belief;
    struct vt_rate_found found;
    double passed, failed; /* the highest and the lowest rate of a trial that did; 0: none */
    double hint;           /* a rate that the last overloaded trial suggests; 0: none */
    uint32_t hopeless, broken;
    int64_t fastest_ns;  /* of the last hopeless trial */
    char failure[256];   /* of a sample, the first one seen */
    double best_invalid; /* full runs: the lowest rate that failed; 0: none */
    bool clearly;        /* the last one that failed had far too many late queries */
};

static int64_t now_ns(const struct search *search)
{
    return search->clock->now_ns(search->clock->ctx);
}

static int64_t duration_of(double seconds)
{
    double ns = seconds * 1e9;
    return ns < (double)(INT64_MAX / 16) ? (int64_t)ns : INT64_MAX / 16;
}

int64_t vt_rate_search_full_ns(const struct vt_rate_search *search, double qps)
{
    const struct vt_load_settings *s = &search->settings;
    int64_t full = duration_of((double)s->min_query_count / qps);

    full = full > s->min_duration_ns ? full : s->min_duration_ns;
    return s->max_duration_ns > 0 && full > s->max_duration_ns ? s->max_duration_ns : full;
}

int64_t vt_rate_search_trial_ns(const struct vt_rate_search *search, double qps)
{
    int64_t trial = duration_of(TRIAL_QUERIES / qps);
    int64_t most = vt_rate_search_full_ns(search, qps) / TRIAL_SHARE;
    int64_t affordable = search->budget_ns / (INT64_C(2) * BUDGET_TRIALS);

    trial = trial < most ? trial : most;
    if (search->budget_ns > 0 && trial > affordable) {
        trial = affordable;
    }
    return trial > search->trial_ns ? trial : search->trial_ns;
}

/* The last query starts at the first arrival behind the duration; a system that keeps up is done
 * soon after. */
static int64_t cap_ns(const struct vt_rate_search *search, int64_t duration_ns, double qps)
{
    int64_t limit = search->settings.server_target_latency_ns;
    return duration_ns + duration_ns / 4 + 2 * (limit < duration_ns ? limit : duration_ns) +
           duration_of(10 / qps);
}

int64_t vt_rate_search_budget_ns(const struct vt_rate_search *search, double qps)
{
    struct vt_rate_search free = *search;
    free.budget_ns = 0;
    double trials = (double)cap_ns(&free, vt_rate_search_trial_ns(&free, qps), qps);
    double fulls = (double)cap_ns(&free, vt_rate_search_full_ns(&free, qps), qps);
    return duration_of((BUDGET_TRIALS * trials + search->full_runs * fulls) / 1e9);
}

/* The share of over-latency queries at which a full run just passes early stopping. */
static double allowed_share(const struct vt_rate_search *search, double qps)
{
    double p = search->settings.server_target_latency_percentile;
    double seconds = (double)vt_rate_search_full_ns(search, qps) / 1e9;
    double n = qps * seconds;
    n = n > 1e9 ? 1e9 : n;
    if (n < (double)vt_early_stopping_passing(0, p)) {
        return 1 - p;
    }
    return ((double)vt_early_stopping_over((uint64_t)n, p) + 0.5) / n;
}

/* Whether it completed less than came in. */
static bool fell_behind(const struct vt_load_report *r)
{
    int64_t last_ns = r->n_records > 1 ? r->records[r->n_records - 1].scheduled_ns : 0;
    double came = last_ns > 0 ? (double)(r->n_records - 1) / ((double)last_ns / 1e9) : 0;
    return r->metric.value > 0 && r->metric.value < BEHIND * came;
}

/* Something went wrong that is no matter of time. A system that fell behind may have samples left
 * when its trial ends. */
static bool is_broken(const struct vt_load_report *r)
{
    bool lost = r->samples_lost > 0 && !(r->capped && fell_behind(r));
    return !r->interrupted && (r->samples_completed == 0 || lost || r->samples_failed > 0 ||
                               r->samples_doubled > 0 || r->samples_invented > 0);
}

static enum vt_status run_once(struct search *search, bool full, double qps, struct vt_error *err,
                               struct vt_load_report **ret_report)
{
    const struct vt_rate_search *what = search->what;
    struct vt_load_settings s = what->settings;
    int64_t length = full ? vt_rate_search_full_ns(what, qps) : vt_rate_search_trial_ns(what, qps);
    int64_t cap = cap_ns(what, length, qps);
    struct vt_rate_step step = {full, full ? search->found.full_runs + 1 : search->found.trials + 1,
                                qps, length};

    s.scenario = VT_SERVER;
    s.mode = VT_PERFORMANCE;
    s.server_target_qps = qps;
    if (!full) {
        s.min_duration_ns = length;
        s.min_query_count = 1;
        s.max_query_count = 0;
        /* Arrivals of its own: with the same ones again, a trial would say the same again. */
        s.schedule_rng_seed += (step.number * UINT64_C(0x9E3779B97F4A7C15));
        s.accuracy_log_probability = 0;
        s.accuracy_log_sampling_target = 0;
    }
    if (!full || s.max_duration_ns == 0 || cap < s.max_duration_ns) {
        s.max_duration_ns = cap;
    }
    if (what->step != NULL) {
        what->step(what->ctx, &step);
    }
    enum vt_status st = vt_load_run(&s, search->sut, search->qsl, search->control, err, ret_report);
    if (st != VT_OK) {
        return st;
    }
    struct vt_load_report *report = *ret_report;
    search->found.interrupted = report->interrupted;
    if (full && !report->capped) {
        /* It came to its own end: the same as without our cap. */
        report->settings.max_duration_ns = what->settings.max_duration_ns;
    }
    if (search->failure[0] == '\0' && is_broken(report)) {
        memcpy(search->failure, report->first_failure, sizeof search->failure);
        if (search->failure[0] == '\0') {
            snprintf(search->failure, sizeof search->failure, "%llu of %llu never completed",
                     (unsigned long long)report->samples_lost,
                     (unsigned long long)report->samples_issued);
        }
    }
    return VT_OK;
}

/* Takes a run's counts into the belief. Whether it is a pass. */
static bool learn(struct search *search, const struct vt_load_report *report, double qps)
{
    const struct vt_load_settings *s = &search->what->settings;
    struct vt_rate_evidence evidence = {.qps = qps, .share = allowed_share(search->what, qps)};

    vt_rate_evidence_count(report, s->server_target_latency_ns, &evidence);
    if (s->use_token_latencies) {
        uint64_t first = report->token.overlatency_first;
        uint64_t further = report->token.overlatency_per_output;
        evidence.t = first > further ? first : further;
        evidence.t += report->samples_lost;
    }
    evidence.broken = is_broken(report);
    (void)vt_rate_belief_add(&search->belief, &evidence); /* there is room for all runs */
    return vt_rate_evidence_passed(&evidence);
}

/* Whether a trial that failed would fail at any rate. */
static void look_for_hope(struct search *search, const struct vt_load_report *r, double qps)
{
    bool never = !r->capped && r->latency.min_ns > search->what->settings.server_target_latency_ns;
    bool idle = !fell_behind(r) && qps * (double)r->latency.mean_ns / 1e9 < IDLE;

    search->broken += is_broken(r);
    if (!is_broken(r) && (never || idle)) {
        search->hopeless++;
        search->fastest_ns = r->latency.min_ns;
    }
}

static enum vt_status trial(struct search *search, double qps, struct vt_error *err)
{
    struct vt_load_report *report = NULL;

    enum vt_status st = run_once(search, false, qps, err, &report);
    if (st != VT_OK) {
        return st;
    }
    search->found.trials++;
    search->hint = 0;
    if (!report->interrupted) {
        bool good = learn(search, report, qps);
        if (good && qps > search->passed) {
            search->passed = qps;
        } else if (!good) {
            search->failed = search->failed == 0 || qps < search->failed ? qps : search->failed;
            look_for_hope(search, report, qps);
            if (fell_behind(report) && !is_broken(report)) {
                search->hint = report->metric.value * BEHIND_SHARE;
            }
        }
    }
    vt_load_report_free(report);
    return VT_OK;
}

/* Whether a run of `length` fits into the budget, with room for the full runs behind it. */
static bool fits(const struct search *search, int64_t length, double qps, double full_qps)
{
    int64_t needed = cap_ns(search->what, length, qps);

    if (full_qps > 0) {
        int64_t full =
            cap_ns(search->what, vt_rate_search_full_ns(search->what, full_qps), full_qps);
        int64_t half = search->what->budget_ns / 2;
        needed += full < half / FULL_RUNS_MOST || search->what->full_runs * full < half
                      ? search->what->full_runs * full
                      : half;
    }
    return needed <= search->end_ns - now_ns(search);
}

static bool edge_is_known(const struct search *search)
{
    return vt_rate_belief_quantile(&search->belief, 0.95) <=
           RATIO_DONE * vt_rate_belief_quantile(&search->belief, 0.05);
}

/* The rate to try next; 0 when trials are over. */
static double next_trial(const struct search *search)
{
    if (search->failed == 0) {
        double qps = search->passed * 2;
        return qps <= VT_RATE_QPS_MAX ? qps : 0;
    }
    if (search->passed == 0) {
        double qps = search->failed / 2;
        if (search->hint > 0 && search->hint < search->failed * 0.95) {
            qps = search->hint;
        }
        bool over = search->hopeless >= HOPELESS || search->broken >= BROKEN;
        return qps >= VT_RATE_QPS_MIN && !over ? qps : 0;
    }
    return edge_is_known(search) ? 0 : vt_rate_belief_quantile(&search->belief, 0.5);
}

static enum vt_status run_trials(struct search *search, double start, struct vt_error *err)
{
    double qps = start;

    while (qps > 0 && search->found.trials < TRIALS_MOST) {
        double full = search->passed > 0 ? search->passed : qps;
        if (search->found.trials > 0 &&
            !fits(search, vt_rate_search_trial_ns(search->what, qps), qps, full)) {
            search->found.out_of_time = true;
            return VT_OK;
        }
        enum vt_status st = trial(search, qps, err);
        if (st != VT_OK || search->found.interrupted) {
            return st;
        }
        qps = next_trial(search);
    }
    return VT_OK;
}

/* Where the next full run goes: after failures more cautiously, and never to where one failed. */
static double next_full(const struct search *search, const struct vt_load_report *last)
{
    static const double aim[] = {0.25, 0.12, 0.05, 0.02};
    static const double narrow[] = {1, 0.985, 0.965, 0.92};
    static const double clear[] = {1, 0.95, 0.9, 0.85};
    const struct vt_rate_found *found = &search->found;
    uint32_t bad = found->full_runs - found->full_valid;

    if (found->full_valid > 0) {
        /* Higher only where that is likely to be worth a run. */
        double qps = vt_rate_belief_quantile(&search->belief, 0.35);
        double below = search->best_invalid * narrow[1];
        if (search->best_invalid > 0 && below < qps) {
            qps = below;
        }
        return qps > RATIO_WORTH * found->qps ? qps : 0;
    }
    double qps = vt_rate_belief_quantile(&search->belief, aim[bad < 4 ? bad : 3]);
    if (bad > 0) {
        double below = search->best_invalid * (search->clearly ? clear : narrow)[bad < 4 ? bad : 3];
        qps = qps < below ? qps : below;
    }
    if (last != NULL && fell_behind(last)) {
        double kept = last->metric.value * BEHIND_SHARE;
        qps = qps < kept ? qps : kept;
    }
    return qps;
}

/* A lower rate does not mend it. */
static bool is_beyond_help(const struct search *search, const struct vt_load_report *r)
{
    const struct vt_load_settings *s = &search->what->settings;
    bool slow = s->max_duration_ns > 0 &&
                (double)s->min_query_count / r->settings.server_target_qps * 1e9 >=
                    0.95 * (double)s->max_duration_ns;
    return is_broken(r) || r->interrupted || (r->capped && slow);
}

static enum vt_status run_full(struct search *search, struct vt_error *err)
{
    struct vt_rate_found *found = &search->found;
    uint32_t most = search->what->full_runs;
    struct vt_load_report *last = NULL;

    while (found->full_runs < most) {
        double qps = next_full(search, last);
        if (!(qps >= VT_RATE_QPS_MIN)) {
            break;
        }
        if (found->full_runs > 0 &&
            !fits(search, vt_rate_search_full_ns(search->what, qps), qps, 0)) {
            found->out_of_time = true;
            break;
        }
        struct vt_load_report *report = NULL;
        enum vt_status st = run_once(search, true, qps, err, &report);
        if (st != VT_OK) {
            return st;
        }
        found->full_runs++;
        if (!report->interrupted) {
            (void)learn(search, report, qps);
        }
        if (report->valid) {
            found->full_valid++;
            found->qps = qps;
        } else if (!report->interrupted &&
                   (search->best_invalid == 0 || qps < search->best_invalid)) {
            search->best_invalid = qps;
        }
        search->clearly = (double)report->overlatency_queries >
                          CLEARLY * allowed_share(search->what, qps) * (double)report->n_records;
        bool over = is_beyond_help(search, report);
        last = report;
        if (report->valid || found->full_valid == 0) {
            vt_load_report_free(found->report);
            found->report = report;
        } else {
            vt_load_report_free(report);
            last = NULL;
        }
        if (over) {
            break;
        }
    }
    return VT_OK;
}

/* What the belief comes to. */
static void conclude(struct search *search)
{
    struct vt_rate_found *found = &search->found;
    const struct vt_rate_belief *belief = &search->belief;

    found->outcome = found->full_valid > 0 ? VT_RATE_CONFIRMED
                     : search->passed > 0  ? VT_RATE_UNCONFIRMED
                                           : VT_RATE_NONE;
    if (found->outcome == VT_RATE_UNCONFIRMED) {
        found->qps = found->full_runs > 0 && found->report != NULL
                         ? found->report->settings.server_target_qps
                         : vt_rate_belief_quantile(belief, 0.25);
    }
    if (found->outcome != VT_RATE_NONE) {
        found->low_qps = vt_rate_belief_quantile(belief, 0.05);
        found->high_qps = vt_rate_belief_quantile(belief, 0.95);
    }
    for (uint32_t i = 0; i < belief->n_runs; i++) {
        double qps = belief->runs[i].qps;
        bool lowest = found->failed_qps == 0 || qps < found->failed_qps;
        bool above = found->full_valid == 0 || qps > found->qps;
        if (lowest && above && !vt_rate_evidence_passed(&belief->runs[i]) &&
            vt_rate_belief_above(belief, qps) <= 0.05) {
            found->failed_qps = qps;
        }
    }
    if (search->best_invalid > found->qps &&
        (found->failed_qps == 0 || search->best_invalid < found->failed_qps)) {
        found->failed_qps = search->best_invalid;
    }
    if (found->full_valid > 0 && search->best_invalid > 0 &&
        search->best_invalid < found->low_qps) {
        /* Trials were kinder than full runs: these are what counts. */
        found->low_qps = found->qps;
        found->high_qps = search->best_invalid;
    }
    found->spent_ns = now_ns(search) - search->start_ns;
}

/* Four significant digits, never an exponent where people count queries. */
static const char *rate_text(double qps, char text[32])
{
    if (qps < 1000) {
        snprintf(text, 32, "%.4g", qps);
    } else {
        double unit = pow(10, floor(log10(qps)) - 3);
        snprintf(text, 32, "%.0f", round(qps / unit) * unit);
    }
    return text;
}

static void say_none(struct search *search)
{
    struct vt_rate_found *found = &search->found;
    double limit_ms = (double)search->what->settings.server_target_latency_ns / 1e6;
    double p = search->what->settings.server_target_latency_percentile * 100;
    char *text = found->text, rate[32];
    const size_t size = sizeof found->text;

    rate_text(search->failed, rate);
    if (found->interrupted) {
        snprintf(text, size, "the search for a rate was interrupted before any trial passed");
    } else if (search->broken >= BROKEN) {
        snprintf(text, size,
                 "no rate was found: in %u trials down to %s queries/s samples failed or were "
                 "lost; first: %.200s",
                 found->trials, rate, search->failure);
    } else if (search->hopeless >= HOPELESS) {
        snprintf(text, size,
                 "no rate keeps p%g within %.4g ms: at %s queries/s, where no query has to wait "
                 "for others, the fastest took %.4g ms",
                 p, limit_ms, rate, (double)search->fastest_ns / 1e6);
    } else {
        snprintf(text, size,
                 "no rate was found that keeps p%g within %.4g ms: even %s queries/s did not "
                 "(%u trials in %.4g s%s)",
                 p, limit_ms, rate, found->trials, (double)found->spent_ns / 1e9,
                 found->out_of_time ? ", all the time there was" : "");
    }
}

static void say_found(struct search *search)
{
    struct vt_rate_found *found = &search->found;
    char *text = found->text, sure[160], failed[64] = "", rate[32], other[32];
    const size_t size = sizeof found->text;

    snprintf(sure, sizeof sure,
             "with 90 %% confidence the highest valid rate lies between %s and %s queries/s",
             rate_text(found->low_qps, rate), rate_text(found->high_qps, other));
    if (found->failed_qps > 0) {
        snprintf(failed, sizeof failed, ", %s failed", rate_text(found->failed_qps, rate));
    }
    rate_text(found->qps, rate);
    if (found->outcome == VT_RATE_CONFIRMED) {
        snprintf(text, size, "%s queries/s confirmed by a full run (%u of %u valid)%s; %s%s", rate,
                 found->full_valid, found->full_runs, failed, sure,
                 found->out_of_time ? "; more time would narrow it (--duration)" : "");
    } else if (found->full_runs > 0) {
        snprintf(text, size,
                 "trials passed up to %s queries/s, but %s of %u full run%s was valid, the last "
                 "one at %s queries/s",
                 rate_text(search->passed, other), found->full_runs > 1 ? "none" : "not one",
                 found->full_runs, found->full_runs > 1 ? "s" : "", rate);
    } else {
        snprintf(text, size, "%s queries/s by trials alone, no full run was made%s; %s", rate,
                 failed, sure);
    }
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
    if (search->full_runs > FULL_RUNS_MOST) {
        return vt_error_set(err, VT_ERR_USAGE, "full_runs is %u: give a number from 0 to %d",
                            search->full_runs, FULL_RUNS_MOST);
    }
    double qps = search->settings.server_target_qps;
    if (!(qps >= 0 && qps <= VT_RATE_QPS_MAX)) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "server_target_qps is %g: give a rate to start from up to %g, or 0",
                            qps, VT_RATE_QPS_MAX);
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
    run.start_ns = now_ns(&run);
    run.end_ns = run.start_ns + search->budget_ns;
    run.found.budget_ns = search->budget_ns;
    double start = search->settings.server_target_qps;
    if (start < VT_RATE_QPS_MIN) {
        /* One query at a time that takes as long as it may. */
        int64_t limit = search->settings.server_target_latency_ns;
        start = 1e9 / (double)(limit > 0 ? limit : VT_NS_PER_S);
    }
    st = vt_rate_belief_init(&run.belief, start, err);
    if (st == VT_OK) {
        st = run_trials(&run, start, err);
    }
    if (st == VT_OK && run.passed > 0 && !run.found.interrupted) {
        st = run_full(&run, err);
    }
    if (st == VT_OK) {
        conclude(&run);
        if (run.found.outcome == VT_RATE_NONE) {
            say_none(&run);
        } else {
            say_found(&run);
        }
        *ret_found = run.found;
    } else {
        vt_load_report_free(run.found.report);
    }
    vt_rate_belief_release(&run.belief);
    return st;
}
