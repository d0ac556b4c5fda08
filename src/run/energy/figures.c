/* SPDX-License-Identifier: Apache-2.0 */
#include "run/energy/figures.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"

struct vt_power_window vt_energy_window(const struct vt_load_report *report)
{
    return (struct vt_power_window){report->start_monotonic_ns,
                                    report->start_monotonic_ns + report->duration_ns};
}

static double seconds(int64_t ns)
{
    return (double)ns / (double)VT_NS_PER_S;
}

/* --- one meter ------------------------------------------------------------------------------ */

static const struct vt_energy_figures no_figures = {
    .joules = (double)NAN,
    .uncertainty_j = (double)NAN,
    .mean_w = (double)NAN,
    .peak_w = (double)NAN,
    .mlperf_w = (double)NAN,
    .above_idle_j = (double)NAN,
    .above_idle_uncertainty_j = (double)NAN,
};

/* What was asked for: a domain, or the sum over those of a meter that lie in no other. */
typedef enum vt_status (*source)(struct vt_sampler *sampler, uint32_t index,
                                 const struct vt_power_window *window, struct vt_error *err,
                                 struct vt_energy *ret);

/* The mean power of the idle window; NAN. */
static struct vt_energy_above_idle idle_power(const struct vt_energy_question *question,
                                              source from, uint32_t index)
{
    struct vt_error ignored = VT_ERROR_INIT;
    struct vt_energy energy;

    if (question->idle == NULL ||
        from(question->sampler, index, question->idle, &ignored, &energy) != VT_OK) {
        return (struct vt_energy_above_idle){(double)NAN, (double)NAN};
    }
    return (struct vt_energy_above_idle){energy.mean_w,
                                         energy.uncertainty_j / seconds(energy.window_ns)};
}

static void measure(const struct vt_energy_question *question, source from, uint32_t index,
                    struct vt_energy_figures *ret, struct vt_energy *ret_energy)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_energy energy = {0};

    *ret = no_figures;
    ret->measured = from(question->sampler, index, &question->window, &err, &energy) == VT_OK;
    if (ret->measured) {
        const struct vt_energy_above_idle idle = idle_power(question, from, index);
        const struct vt_energy_above_idle above =
            vt_energy_less_idle(&energy, idle.joules, idle.uncertainty_j);
        ret->joules = energy.joules;
        ret->uncertainty_j = energy.uncertainty_j;
        ret->mean_w = energy.mean_w;
        ret->peak_w = energy.peak_w;
        ret->mlperf_w = energy.mlperf_w;
        ret->above_idle_j = above.joules;
        ret->above_idle_uncertainty_j = above.uncertainty_j;
    } else {
        const char *remedy = err.status == VT_ERR_LIMIT ? " (run longer with --duration)" : "";
        (void)snprintf(ret->failure, sizeof ret->failure, "%.*s%s",
                       (int)(sizeof ret->failure - 1 - strlen(remedy)), err.text, remedy);
    }
    *ret_energy = energy;
}

static void fill_domain(const struct vt_energy_question *question, uint32_t index,
                        struct vt_energy_domain *domain)
{
    const struct vt_sampler_domain at = vt_sampler_domain(question->sampler, index);
    struct vt_update_period update;
    struct vt_energy energy;

    (void)snprintf(domain->name, sizeof domain->name, "%s", at.domain->name);
    (void)snprintf(domain->device, sizeof domain->device, "%s", at.domain->device);
    (void)snprintf(domain->note, sizeof domain->note, "%s", at.domain->note);
    if (at.domain->inside >= 0) {
        const uint32_t holder = at.first + (uint32_t)at.domain->inside;
        (void)snprintf(domain->inside, sizeof domain->inside, "%s",
                       vt_sampler_domain(question->sampler, holder).domain->name);
    }
    domain->same = at.domain->same;
    domain->scope = vt_meter_scope_text(at.domain->scope);
    domain->counter = at.domain->kind == VT_METER_ENERGY;
    measure(question, vt_sampler_energy, index, &domain->figures, &energy);
    const bool known = domain->figures.measured;
    domain->edges_j = known ? energy.edges_j : (double)NAN;
    domain->quantum_j = known ? energy.quantum_j : (double)NAN;
    domain->class_j = known ? energy.class_j : (double)NAN;
    domain->readings = energy.readings;
    const struct vt_power_track track = vt_sampler_track(question->sampler, index, NULL);
    vt_power_update_period(&track, &update);
    domain->update_ns = update.ns;
    domain->update_at_most = update.at_most;
}

/* Whether a domain is of the meter and tells an energy. */
static bool belongs(const struct vt_sampler *sampler, uint32_t index, uint32_t first)
{
    const struct vt_sampler_domain at = vt_sampler_domain(sampler, index);
    return at.first == first && at.domain->kind != VT_METER_OTHER;
}

/* MLPerf's mean where a counter is the better measure: of the powers that lie in what is added up
 * and measure the same. NAN where one has none. */
static double mlperf_beside(const struct vt_energy_meter *meter)
{
    double sum = 0;

    for (uint32_t i = 0; i < meter->n_domains; i++) {
        const struct vt_energy_domain *top = &meter->domains[i];
        double own = top->figures.mlperf_w;
        for (uint32_t d = 0; d < meter->n_domains && isnan(own); d++) {
            const struct vt_energy_domain *other = &meter->domains[d];
            own = other->same && strcmp(other->inside, top->name) == 0 ? other->figures.mlperf_w
                                                                       : own;
        }
        sum += top->inside[0] == '\0' ? own : 0;
    }
    return sum;
}

static bool fill_meter(const struct vt_energy_question *question, uint32_t first,
                       struct vt_energy_meter *meter)
{
    const uint32_t n = vt_sampler_domains(question->sampler) - first;
    struct vt_energy ignored;

    meter->name = vt_sampler_domain(question->sampler, first).meter->name;
    meter->domains = vt_calloc(n, sizeof meter->domains[0]);
    if (meter->domains == NULL) {
        return false;
    }
    for (uint32_t i = first; i < first + n; i++) {
        if (belongs(question->sampler, i, first)) {
            fill_domain(question, i, &meter->domains[meter->n_domains++]);
        }
    }
    measure(question, vt_sampler_total, first, &meter->total, &ignored);
    if (meter->total.measured && isnan(meter->total.mlperf_w)) {
        meter->total.mlperf_w = mlperf_beside(meter);
    }
    const struct vt_energy_above_idle idle = idle_power(question, vt_sampler_total, first);
    meter->idle_w = idle.joules;
    meter->idle_uncertainty_w = idle.uncertainty_j;
    return true;
}

/* --- which stands for the run ---------------------------------------------------------------- */

static int rank_of(enum vt_meter_scope scope, bool on_cpu)
{
    switch (scope) {
    case VT_METER_SCOPE_WALL:
        return 7;
    case VT_METER_SCOPE_PLATFORM:
        return 6;
    case VT_METER_SCOPE_MODULE:
        return 5;
    case VT_METER_SCOPE_GPU: /* what computes tells more than what waits */
        return on_cpu ? 3 : 4;
    case VT_METER_SCOPE_PACKAGE:
        return on_cpu ? 4 : 3;
    case VT_METER_SCOPE_PART:
    case VT_METER_SCOPE_MEMORY:
        return 2;
    case VT_METER_SCOPE_NONE:
        return 1;
    }
    return 0;
}

int vt_energy_rank(const struct vt_sampler *sampler, uint32_t first, bool on_cpu)
{
    int best = 0;

    for (uint32_t i = first; i < vt_sampler_domains(sampler); i++) {
        const struct vt_sampler_domain at = vt_sampler_domain(sampler, i);
        if (at.first != first) {
            break;
        }
        if (at.meter == &vt_meter_null || at.domain->inside >= 0 ||
            at.domain->kind == VT_METER_OTHER) {
            continue;
        }
        const int rank = rank_of(at.domain->scope, on_cpu);
        best = rank > best ? rank : best;
    }
    return best;
}

/* The first domains of the meters that tell an energy, in order. Returns their number. */
static uint32_t meter_firsts(const struct vt_sampler *sampler, uint32_t ret[VT_SAMPLER_METERS_MAX])
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < vt_sampler_domains(sampler); i++) {
        const struct vt_sampler_domain at = vt_sampler_domain(sampler, i);
        const bool known = n > 0 && ret[n - 1] == at.first;
        if (at.domain->kind != VT_METER_OTHER && !known && n < VT_SAMPLER_METERS_MAX) {
            ret[n++] = at.first;
        }
    }
    return n;
}

/* One that measured goes before all that did not. */
static void choose_headline(const struct vt_energy_question *question, const uint32_t *firsts,
                            struct vt_result_energy *energy)
{
    int best = -1;

    for (uint32_t i = 0; i < energy->n_meters; i++) {
        const struct vt_energy_meter *meter = &energy->meters[i];
        const int rank = vt_energy_rank(question->sampler, firsts[i], question->on_cpu);
        const int score = rank > 0 ? rank + (meter->total.measured ? 100 : 0) : 0;
        if (score > best) {
            best = score;
            energy->headline = i;
        }
    }
    const struct vt_energy_meter *headline = &energy->meters[energy->headline];
    energy->measured = best > 100;
    if (best == 0) {
        (void)snprintf(energy->reason, sizeof energy->reason,
                       "the meter %s measures nothing: name another with --meter (vatio meters "
                       "lists them)",
                       headline->name);
    } else if (!energy->measured) {
        (void)snprintf(energy->reason, sizeof energy->reason, "%s: %s", headline->name,
                       headline->total.failure);
    }
}

/* --- figures of merit ------------------------------------------------------------------------ */

static bool is_stream(const struct vt_load_report *report)
{
    return report->settings.scenario == VT_SINGLESTREAM ||
           report->settings.scenario == VT_MULTISTREAM;
}

/* MLPerf's metric where it is a rate, else samples over the window: streams have no rate. */
static double rate_of(const struct vt_load_report *report, double samples, double window_s)
{
    if (!is_stream(report) && report->metric.name != NULL && report->metric.value > 0) {
        return report->metric.value;
    }
    return window_s > 0 ? samples / window_s : (double)NAN;
}

static void add_merits(const struct vt_load_report *report, struct vt_result_energy *energy)
{
    if (!energy->measured) {
        return;
    }
    const struct vt_energy_figures *total = &energy->meters[energy->headline].total;
    const double window_s = seconds(energy->window_ns);
    const double samples = (double)(report->samples_completed - report->samples_failed);
    const double rate = rate_of(report, samples, window_s);

    energy->joules_per_sample = vt_power_j_per_sample(total->joules, samples);
    energy->samples_per_joule = vt_power_samples_per_joule(rate, total->mean_w);
    energy->mlperf_samples_per_joule = vt_power_samples_per_joule(rate, total->mlperf_w);
    if (is_stream(report)) {
        const double queries = (double)report->queries_issued;
        energy->mj_per_query = vt_power_mj_per_query(total->mean_w, window_s, queries);
        energy->mlperf_mj_per_query = vt_power_mj_per_query(total->mlperf_w, window_s, queries);
    }
    energy->joules_per_token = vt_power_j_per_sample(total->joules, (double)report->token.tokens);
}

/* --- the whole ------------------------------------------------------------------------------- */

static enum vt_status fill(const struct vt_energy_question *question, struct vt_error *err,
                           struct vt_result_energy *energy)
{
    uint32_t firsts[VT_SAMPLER_METERS_MAX] = {0};
    const uint32_t n = meter_firsts(question->sampler, firsts);
    bool fits = true;

    energy->meters = vt_calloc((size_t)n + 1, sizeof energy->meters[0]);
    for (uint32_t i = 0; energy->meters != NULL && fits && i < n; i++) {
        fits = fill_meter(question, firsts[i], &energy->meters[energy->n_meters++]);
    }
    if (!fits || energy->meters == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for the energy of a run");
    }
    if (n > 0) {
        choose_headline(question, firsts, energy);
    }
    enum vt_status status = vt_energy_compare_meters(err, energy);
    return status == VT_OK ? vt_energy_add_telemetry(question, err, energy) : status;
}

enum vt_status vt_energy_of_run(const struct vt_energy_question *question,
                                const struct vt_load_report *report, struct vt_error *err,
                                struct vt_result_energy **ret)
{
    struct vt_result_energy *energy = vt_calloc(1, sizeof *energy);

    enum vt_status status =
        energy != NULL ? fill(question, err, energy)
                       : vt_error_set(err, VT_ERR_MEMORY, "out of memory for the energy of a run");
    if (status != VT_OK) {
        vt_result_energy_free(energy);
        return status;
    }
    energy->window_ns = question->window.end_ns - question->window.begin_ns;
    energy->window_begin_unix_ms = report->start_unix_ms;
    energy->joules_per_sample = energy->samples_per_joule = (double)NAN;
    energy->mj_per_query = energy->joules_per_token = (double)NAN;
    energy->mlperf_mj_per_query = energy->mlperf_samples_per_joule = (double)NAN;
    energy->idle_ns =
        question->idle != NULL ? question->idle->end_ns - question->idle->begin_ns : 0;
    const bool wall = energy->n_meters > 0 &&
                      strcmp(energy->meters[energy->headline].name, vt_meter_ptdaemon.name) == 0;
    energy->tier = wall ? "ptdaemon" : "informative";
    add_merits(report, energy);
    const struct vt_sampler_cost cost = vt_sampler_cost(question->sampler);
    energy->cpu_ns = cost.cpu_ns;
    energy->wall_ns = cost.wall_ns;
    energy->rounds = cost.rounds;
    *ret = energy;
    return VT_OK;
}
