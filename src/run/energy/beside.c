/* SPDX-License-Identifier: Apache-2.0 */
/* What stands beside the energy of a run: differences between meters, and telemetry. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "run/energy/figures.h"

/* --- differences ---------------------------------------------------------------------------- */

static bool add_difference(struct vt_result_energy *energy, const struct vt_energy_meter *of_a,
                           const struct vt_energy_domain *a, const struct vt_energy_meter *of_b,
                           const struct vt_energy_domain *b)
{
    const struct vt_energy_figures *fa = &a->figures, *fb = &b->figures;
    const size_t old = energy->n_differences * sizeof energy->differences[0];

    if (!fa->measured || !fb->measured || !(fa->joules > 0)) {
        return true;
    }
    struct vt_energy_difference *grown =
        vt_regrow(energy->differences, old, old + sizeof energy->differences[0]);
    if (grown == NULL) {
        return false;
    }
    energy->differences = grown;
    struct vt_energy_difference *difference = &grown[energy->n_differences++];
    const double off = fb->joules - fa->joules;
    *difference = (struct vt_energy_difference){
        .percent = 100 * off / fa->joules,
        .within_uncertainty = fabs(off) <= fa->uncertainty_j + fb->uncertainty_j};
    (void)snprintf(difference->a, sizeof difference->a, "%s/%s", of_a->name, a->name);
    (void)snprintf(difference->b, sizeof difference->b, "%s/%s", of_b->name, b->name);
    return true;
}

/* Domains of one meter that lie in one that measures the same. */
static bool compare_within(struct vt_result_energy *energy, const struct vt_energy_meter *meter)
{
    bool fits = true;

    for (uint32_t d = 0; d < meter->n_domains; d++) {
        const struct vt_energy_domain *own = &meter->domains[d];
        for (uint32_t o = 0; own->same && fits && o < meter->n_domains; o++) {
            if (strcmp(meter->domains[o].name, own->inside) == 0) {
                fits = add_difference(energy, meter, &meter->domains[o], meter, own);
            }
        }
    }
    return fits;
}

/* The one domain of that scope among those that lie in no other; NULL when there are more. */
static const struct vt_energy_domain *only(const struct vt_energy_meter *meter,
                                           enum vt_meter_scope scope)
{
    const struct vt_energy_domain *found = NULL;

    for (uint32_t i = 0; i < meter->n_domains; i++) {
        const struct vt_energy_domain *domain = &meter->domains[i];
        if (domain->inside[0] == '\0' && domain->scope == vt_meter_scope_text(scope)) {
            if (found != NULL) {
                return NULL;
            }
            found = domain;
        }
    }
    return found;
}

enum vt_status vt_energy_compare_meters(struct vt_error *err, struct vt_result_energy *energy)
{
    static const enum vt_meter_scope whole[] = {VT_METER_SCOPE_WALL, VT_METER_SCOPE_PLATFORM,
                                                VT_METER_SCOPE_MODULE};
    bool fits = true;

    for (uint32_t m = 0; m < energy->n_meters && fits; m++) {
        const struct vt_energy_meter *meter = &energy->meters[m];
        fits = compare_within(energy, meter);
        for (uint32_t o = m + 1; o < energy->n_meters && fits; o++) {
            for (size_t s = 0; s < sizeof whole / sizeof whole[0] && fits; s++) {
                const struct vt_energy_domain *a = only(meter, whole[s]);
                const struct vt_energy_domain *b = only(&energy->meters[o], whole[s]);
                if (a != NULL && b != NULL) {
                    fits = add_difference(energy, meter, a, &energy->meters[o], b);
                }
            }
        }
    }
    return fits ? VT_OK
                : vt_error_set(err, VT_ERR_MEMORY, "out of memory for differences of meters");
}

/* --- telemetry ------------------------------------------------------------------------------ */

/* The reading that holds at a moment: the last before it, else the first behind it. */
static double value_at(const struct vt_power_track *track, int64_t ns)
{
    double value = (double)NAN;

    for (size_t i = 0; i < track->n && (isnan(value) || track->ns[i] <= ns); i++) {
        value = isnan(track->values[i]) ? value : track->values[i];
    }
    return value;
}

static void summarise(const struct vt_power_track *track, const struct vt_power_window *window,
                      struct vt_energy_series *series)
{
    const double start = value_at(track, window->begin_ns);
    double sum = start, min = start, max = start;
    uint64_t n = 1;

    for (size_t i = 0; i < track->n; i++) {
        const double value = track->values[i];
        if (track->ns[i] > window->begin_ns && track->ns[i] < window->end_ns && !isnan(value)) {
            sum += value;
            min = value < min ? value : min;
            max = value > max ? value : max;
            n++;
        }
    }
    (void)snprintf(series->name, sizeof series->name, "%s", track->domain->name);
    (void)snprintf(series->unit, sizeof series->unit, "%s", track->domain->unit);
    series->start = start;
    series->min = min;
    series->max = max;
    series->mean = sum / (double)n;
}

/* How much of the window a bit was set; a reading holds until the next. */
static double share_of(const struct vt_power_track *track, const struct vt_power_window *window,
                       uint64_t bit)
{
    int64_t set_ns = 0, known_ns = 0;

    for (size_t i = 0; i < track->n; i++) {
        const int64_t next = i + 1 < track->n ? track->ns[i + 1] : window->end_ns;
        const int64_t from = track->ns[i] > window->begin_ns ? track->ns[i] : window->begin_ns;
        const int64_t to = next < window->end_ns ? next : window->end_ns;
        if (to > from && track->values[i] >= 0 && track->values[i] < 1.8e19) {
            known_ns += to - from;
            set_ns += ((uint64_t)track->values[i] & bit) != 0 ? to - from : 0;
        }
    }
    return known_ns > 0 ? 100 * (double)set_ns / (double)known_ns : 0;
}

static void add_throttles(const struct vt_power_track *track, const struct vt_power_window *window,
                          struct vt_result_energy *energy)
{
    const struct vt_meter_domain *domain = track->domain;

    for (uint32_t f = 0; f < domain->n_flags; f++) {
        const double share = share_of(track, window, domain->flags[f].bit);
        if (share > 0) {
            struct vt_energy_throttle *throttle = &energy->throttles[energy->n_throttles++];
            /* "gpu0 slowed by": the device is the first word. */
            (void)snprintf(throttle->device, sizeof throttle->device, "%.*s",
                           (int)strcspn(domain->name, " "), domain->name);
            throttle->reason = domain->flags[f].text;
            throttle->share_percent = share;
        }
    }
}

enum vt_status vt_energy_add_telemetry(const struct vt_energy_question *question,
                                       struct vt_error *err, struct vt_result_energy *energy)
{
    const struct vt_sampler *sampler = question->sampler;
    size_t series = 1, throttles = 1;

    for (uint32_t i = 0; i < vt_sampler_domains(sampler); i++) {
        const struct vt_meter_domain *domain = vt_sampler_domain(sampler, i).domain;
        series += domain->kind == VT_METER_OTHER;
        throttles += domain->n_flags;
    }
    energy->series = vt_calloc(series, sizeof energy->series[0]);
    energy->throttles = vt_calloc(throttles, sizeof energy->throttles[0]);
    if (energy->series == NULL || energy->throttles == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for telemetry");
    }
    for (uint32_t i = 0; i < vt_sampler_domains(sampler); i++) {
        const struct vt_power_track track = vt_sampler_track(sampler, i, NULL);
        if (track.domain->kind != VT_METER_OTHER) {
            continue;
        }
        if (track.domain->flags != NULL) {
            add_throttles(&track, &question->window, energy);
        } else if (!isnan(value_at(&track, question->window.begin_ns))) {
            summarise(&track, &question->window, &energy->series[energy->n_series++]);
        }
    }
    return VT_OK;
}
