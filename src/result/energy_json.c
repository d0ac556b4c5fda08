/* SPDX-License-Identifier: Apache-2.0 */
#include "result/energy_json.h"

#include <math.h>
#include <string.h>

#include "result/json_parts.h"

static json_t *text_or_null(const char *text)
{
    return text[0] != '\0' ? vt_json_text(text) : json_null();
}

static void put_figures(struct vt_json_object *json, const struct vt_energy_figures *figures)
{
    vt_json_put(json, "joules", vt_json_real(figures->joules));
    vt_json_put(json, "uncertainty_joules", vt_json_real(figures->uncertainty_j));
    vt_json_put(json, "mean_watts", vt_json_real(figures->mean_w));
    vt_json_put(json, "peak_watts", vt_json_real(figures->peak_w));
    vt_json_put(json, "mlperf_mean_watts", vt_json_real(figures->mlperf_w));
    vt_json_put(json, "above_idle_joules", vt_json_real(figures->above_idle_j));
    vt_json_put(json, "above_idle_uncertainty_joules",
                vt_json_real(figures->above_idle_uncertainty_j));
}

static json_t *domain_value(const struct vt_energy_domain *domain)
{
    struct vt_json_object json = vt_json_object_begin();

    vt_json_put(&json, "name", vt_json_text(domain->name));
    vt_json_put(&json, "device", vt_json_text(domain->device));
    vt_json_put(&json, "kind", vt_json_text(domain->counter ? "energy" : "power"));
    vt_json_put(&json, "scope", vt_json_text(domain->scope));
    vt_json_put(&json, "inside", text_or_null(domain->inside));
    put_figures(&json, &domain->figures);
    vt_json_put(&json, "edges_joules", vt_json_real(domain->edges_j));
    vt_json_put(&json, "quantum_joules", vt_json_real(domain->quantum_j));
    vt_json_put(&json, "class_joules", vt_json_real(domain->class_j));
    vt_json_put(&json, "readings", vt_json_count(domain->readings));
    vt_json_put(&json, "update_period_ns",
                domain->update_ns > 0 ? json_integer(domain->update_ns) : json_null());
    vt_json_put(&json, "update_period_at_most", json_boolean(domain->update_at_most));
    vt_json_put(&json, "note", text_or_null(domain->note));
    vt_json_put(&json, "failure", text_or_null(domain->figures.failure));
    return vt_json_object_end(&json);
}

static json_t *total_value(const struct vt_energy_figures *total)
{
    if (!total->measured) {
        return json_null();
    }
    struct vt_json_object json = vt_json_object_begin();
    put_figures(&json, total);
    return vt_json_object_end(&json);
}

static json_t *meters_value(const struct vt_result_energy *energy)
{
    json_t *meters = json_array();

    for (uint32_t i = 0; i < energy->n_meters; i++) {
        const struct vt_energy_meter *meter = &energy->meters[i];
        struct vt_json_object json = vt_json_object_begin();
        json_t *domains = json_array();
        for (uint32_t d = 0; d < meter->n_domains; d++) {
            domains = vt_json_array_with(domains, domain_value(&meter->domains[d]));
        }
        vt_json_put(&json, "name", vt_json_text(meter->name));
        vt_json_put(&json, "total", total_value(&meter->total));
        vt_json_put(&json, "failure", text_or_null(meter->total.failure));
        vt_json_put(&json, "domains", domains);
        meters = vt_json_array_with(meters, vt_json_object_end(&json));
    }
    return meters;
}

static json_t *unavailable_value(const struct vt_result *result)
{
    json_t *array = json_array();

    for (uint32_t i = 0; i < result->n_unavailable; i++) {
        struct vt_json_object json = vt_json_object_begin();
        vt_json_put(&json, "name", vt_json_text(result->unavailable[i].name));
        vt_json_put(&json, "reason", vt_json_text(result->unavailable[i].reason));
        array = vt_json_array_with(array, vt_json_object_end(&json));
    }
    return array;
}

static json_t *differences_value(const struct vt_result_energy *energy)
{
    json_t *array = json_array();

    for (uint32_t i = 0; i < energy->n_differences; i++) {
        const struct vt_energy_difference *difference = &energy->differences[i];
        struct vt_json_object json = vt_json_object_begin();
        vt_json_put(&json, "a", vt_json_text(difference->a));
        vt_json_put(&json, "b", vt_json_text(difference->b));
        vt_json_put(&json, "percent", vt_json_real(difference->percent));
        vt_json_put(&json, "within_uncertainty", json_boolean(difference->within_uncertainty));
        array = vt_json_array_with(array, vt_json_object_end(&json));
    }
    return array;
}

static json_t *idle_value(const struct vt_result_energy *energy)
{
    if (energy->idle_ns <= 0) {
        return json_null();
    }
    struct vt_json_object json = vt_json_object_begin();
    json_t *meters = json_array();
    for (uint32_t i = 0; i < energy->n_meters; i++) {
        struct vt_json_object meter = vt_json_object_begin();
        vt_json_put(&meter, "name", vt_json_text(energy->meters[i].name));
        vt_json_put(&meter, "watts", vt_json_real(energy->meters[i].idle_w));
        vt_json_put(&meter, "uncertainty_watts",
                    vt_json_real(energy->meters[i].idle_uncertainty_w));
        meters = vt_json_array_with(meters, vt_json_object_end(&meter));
    }
    vt_json_put(&json, "seconds", vt_json_real((double)energy->idle_ns / 1e9));
    vt_json_put(&json, "meters", meters);
    return vt_json_object_end(&json);
}

static json_t *series_value(const struct vt_energy_series *series)
{
    struct vt_json_object json = vt_json_object_begin();

    vt_json_put(&json, "name", vt_json_text(series->name));
    vt_json_put(&json, "unit", vt_json_text(series->unit));
    vt_json_put(&json, "start", vt_json_real(series->start));
    vt_json_put(&json, "min", vt_json_real(series->min));
    vt_json_put(&json, "mean", vt_json_real(series->mean));
    vt_json_put(&json, "max", vt_json_real(series->max));
    return vt_json_object_end(&json);
}

static json_t *telemetry_value(const struct vt_result_energy *energy)
{
    struct vt_json_object json = vt_json_object_begin();
    json_t *series = json_array(), *throttled = json_array();

    for (uint32_t i = 0; i < energy->n_series; i++) {
        series = vt_json_array_with(series, series_value(&energy->series[i]));
    }
    for (uint32_t i = 0; i < energy->n_throttles; i++) {
        const struct vt_energy_throttle *throttle = &energy->throttles[i];
        struct vt_json_object item = vt_json_object_begin();
        vt_json_put(&item, "device", vt_json_text(throttle->device));
        vt_json_put(&item, "reason", vt_json_text(throttle->reason));
        vt_json_put(&item, "share_percent", vt_json_real(throttle->share_percent));
        throttled = vt_json_array_with(throttled, vt_json_object_end(&item));
    }
    vt_json_put(&json, "series", series);
    vt_json_put(&json, "throttled", throttled);
    return vt_json_object_end(&json);
}

static json_t *metering_value(const struct vt_result_energy *energy)
{
    struct vt_json_object json = vt_json_object_begin();
    const double share =
        energy->wall_ns > 0 ? 100 * (double)energy->cpu_ns / (double)energy->wall_ns : 0;

    vt_json_put(&json, "cpu_ns", json_integer(energy->cpu_ns));
    vt_json_put(&json, "wall_ns", json_integer(energy->wall_ns));
    vt_json_put(&json, "share_percent", vt_json_real(share));
    vt_json_put(&json, "rounds", vt_json_count(energy->rounds));
    return vt_json_object_end(&json);
}

static void put_headline(struct vt_json_object *json, const struct vt_result_energy *energy)
{
    static const struct vt_energy_figures none = {
        .joules = (double)NAN,
        .uncertainty_j = (double)NAN,
        .mean_w = (double)NAN,
        .peak_w = (double)NAN,
        .mlperf_w = (double)NAN,
        .above_idle_j = (double)NAN,
        .above_idle_uncertainty_j = (double)NAN,
    };
    const struct vt_energy_meter *headline =
        energy->n_meters > 0 ? &energy->meters[energy->headline] : NULL;

    put_figures(json, headline != NULL ? &headline->total : &none);
    vt_json_put(json, "joules_per_sample", vt_json_real(energy->joules_per_sample));
    vt_json_put(json, "samples_per_second_per_watt", vt_json_real(energy->samples_per_joule));
    vt_json_put(json, "millijoules_per_query", vt_json_real(energy->mj_per_query));
    vt_json_put(json, "joules_per_token", vt_json_real(energy->joules_per_token));
    vt_json_put(json, "mlperf_samples_per_second_per_watt",
                vt_json_real(energy->mlperf_samples_per_joule));
    vt_json_put(json, "mlperf_millijoules_per_query", vt_json_real(energy->mlperf_mj_per_query));
    vt_json_put(json, "headline", headline != NULL ? vt_json_text(headline->name) : json_null());
}

json_t *vt_json_energy(const struct vt_result *result, const struct vt_result_entry *entry)
{
    const struct vt_result_energy *energy = entry->energy;
    struct vt_json_object json = vt_json_object_begin();

    if (energy == NULL) {
        vt_json_put(&json, "measured", json_false());
        vt_json_put(&json, "reason", vt_json_text(vt_result_energy_reason(result)));
        vt_json_put(&json, "unavailable", unavailable_value(result));
        return vt_json_object_end(&json);
    }
    vt_json_put(&json, "measured", json_boolean(energy->measured));
    vt_json_put(&json, "reason", text_or_null(energy->reason));
    vt_json_put(&json, "tier", vt_json_text(energy->tier));
    vt_json_put(&json, "window_ns", json_integer(energy->window_ns));
    vt_json_put(&json, "window_begin_unix_ms", json_integer(energy->window_begin_unix_ms));
    put_headline(&json, energy);
    vt_json_put(&json, "meters", meters_value(energy));
    vt_json_put(&json, "unavailable", unavailable_value(result));
    vt_json_put(&json, "differences", differences_value(energy));
    vt_json_put(&json, "idle", idle_value(energy));
    vt_json_put(&json, "telemetry", telemetry_value(energy));
    vt_json_put(&json, "tracks", energy->has_tracks ? vt_json_text("power.csv") : json_null());
    vt_json_put(&json, "metering", metering_value(energy));
    return vt_json_object_end(&json);
}
