/* SPDX-License-Identifier: Apache-2.0 */
#include "run/sweep/analyse.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "run/sweep/analyse_findings.h"

/* --- settings -------------------------------------------------------------------------------- */

static double quantity_of(const struct vt_sweep_measured *m, enum vt_sweep_quantity quantity,
                          bool p99)
{
    switch (quantity) {
    case VT_SWEEP_THROUGHPUT:
        return m->samples_per_second;
    case VT_SWEEP_LATENCY:
        return p99 ? m->p99_ns : m->mean_ns;
    case VT_SWEEP_JOULES:
        return m->joules_per_sample;
    case VT_SWEEP_EFFICIENCY:
        return m->samples_per_second_per_watt;
    case VT_SWEEP_WATTS:
        return m->mean_watts;
    }
    return NAN;
}

uint32_t vt_sweep_values(const struct vt_sweep *sweep, uint32_t setting,
                         enum vt_sweep_quantity quantity, double ret[VT_SWEEP_REPEATS_MAX])
{
    uint32_t n = 0;

    for (uint32_t r = 0; r < sweep->repeats; r++) {
        const struct vt_sweep_point *point = &sweep->points[r * sweep->n_settings + setting];
        if (point->state == VT_SWEEP_DONE) {
            ret[n++] = quantity_of(&point->measured, quantity,
                                   sweep->analysis.settings[setting].latency_is_p99);
        }
    }
    return n;
}

double vt_sweep_meter_share(const struct vt_sweep *sweep, uint32_t setting)
{
    double sum = 0;
    uint32_t n = 0;

    for (uint32_t r = 0; r < sweep->repeats; r++) {
        const struct vt_sweep_point *point = &sweep->points[r * sweep->n_settings + setting];
        double share =
            point->measured.joules_per_sample_uncertainty / point->measured.joules_per_sample;
        if (point->state == VT_SWEEP_DONE && isfinite(share)) {
            sum += share;
            n++;
        }
    }
    return n > 0 ? sum / n : 0;
}

static struct vt_sweep_estimate estimate(const struct vt_sweep *sweep, uint32_t setting,
                                         enum vt_sweep_quantity quantity, double share)
{
    double values[VT_SWEEP_REPEATS_MAX];
    uint32_t n = vt_sweep_values(sweep, setting, quantity, values);
    struct vt_sweep_estimate mean = vt_sweep_mean(values, n, 0);

    return share > 0 ? vt_sweep_mean(values, n, share * mean.value) : mean;
}

/* Whether every point of a scenario has a p99: else means are compared, of all of them alike. */
static bool has_p99(const struct vt_sweep *sweep, uint32_t scenario_axis, uint32_t scenario)
{
    bool any = false;

    for (uint32_t i = 0; i < sweep->n_points; i++) {
        const struct vt_sweep_point *point = &sweep->points[i];
        if (point->state == VT_SWEEP_DONE &&
            vt_sweep_value(sweep, point->setting, scenario_axis) == scenario) {
            any = true;
            if (!isfinite(point->measured.p99_ns)) {
                return false;
            }
        }
    }
    return any;
}

static void judge_setting(struct vt_sweep *sweep, uint32_t index)
{
    struct vt_sweep_setting *setting = &sweep->analysis.settings[index];

    setting->valid = true;
    for (uint32_t i = 0; i < sweep->n_axes; i++) {
        setting->value[i] = vt_sweep_value(sweep, index, i);
    }
    for (uint32_t r = 0; r < sweep->repeats; r++) {
        uint32_t at = r * sweep->n_settings + index;
        const struct vt_sweep_point *point = &sweep->points[at];
        if (point->state == VT_SWEEP_DONE) {
            setting->point = setting->n_done++ == 0 ? at : setting->point;
            setting->valid = setting->valid && point->measured.valid;
            setting->latency_of = point->measured.latency_of;
        }
    }
    double share = vt_sweep_meter_share(sweep, index);
    setting->throughput = estimate(sweep, index, VT_SWEEP_THROUGHPUT, 0);
    setting->latency = estimate(sweep, index, VT_SWEEP_LATENCY, 0);
    setting->joules = estimate(sweep, index, VT_SWEEP_JOULES, share);
    setting->efficiency = estimate(sweep, index, VT_SWEEP_EFFICIENCY, share);
    setting->watts = estimate(sweep, index, VT_SWEEP_WATTS, share);
}

static void judge_settings(struct vt_sweep *sweep)
{
    uint32_t axis = vt_sweep_find_axis(sweep, "scenario");

    for (uint32_t v = 0; axis < sweep->n_axes && v < sweep->axes[axis].n; v++) {
        bool p99 = has_p99(sweep, axis, v);
        for (uint32_t i = 0; i < sweep->n_settings; i++) {
            if (vt_sweep_value(sweep, i, axis) == v) {
                sweep->analysis.settings[i].latency_is_p99 = p99;
            }
        }
    }
    for (uint32_t i = 0; i < sweep->n_settings; i++) {
        judge_setting(sweep, i);
    }
}

/* --- fronts ---------------------------------------------------------------------------------- */

/* The least of x and y is wanted; a throughput comes in as its negative. Scenarios are not compared
 * with each other: each has a front, one behind the other. */
static enum vt_status make_front(const struct vt_sweep *sweep, const double *x, const double *y,
                                 double *scratch, struct vt_error *err,
                                 struct vt_sweep_front *ret_front)
{
    uint32_t axis = vt_sweep_find_axis(sweep, "scenario");
    uint32_t n = sweep->n_settings;

    ret_front->settings = vt_calloc(n, sizeof ret_front->settings[0]);
    if (ret_front->settings == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for the analysis");
    }
    for (uint32_t v = 0; v < sweep->axes[axis].n; v++) {
        for (uint32_t i = 0; i < n; i++) {
            scratch[i] = vt_sweep_value(sweep, i, axis) == v ? x[i] : (double)NAN;
        }
        ret_front->n += vt_sweep_pareto(scratch, y, n, ret_front->settings + ret_front->n);
    }
    return VT_OK;
}

static enum vt_status make_fronts(struct vt_sweep *sweep, struct vt_error *err)
{
    struct vt_sweep_analysis *analysis = &sweep->analysis;
    uint32_t n = sweep->n_settings;
    double *joules = vt_calloc(4 * (size_t)n, sizeof joules[0]);

    if (joules == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for the analysis");
    }
    double *latency = joules + n, *slowness = latency + n, *scratch = slowness + n;
    for (uint32_t i = 0; i < n; i++) {
        joules[i] = analysis->settings[i].joules.value;
        latency[i] = analysis->settings[i].latency.value;
        slowness[i] = -analysis->settings[i].throughput.value;
    }
    enum vt_status status = make_front(sweep, joules, latency, scratch, err, &analysis->latency);
    if (status == VT_OK) {
        status = make_front(sweep, joules, slowness, scratch, err, &analysis->throughput);
    }
    if (status == VT_OK) {
        status = make_front(sweep, latency, slowness, scratch, err, &analysis->speed);
    }
    vt_free(joules);
    return status;
}

enum vt_status vt_sweep_analyse(struct vt_sweep *sweep, struct vt_error *err)
{
    struct vt_sweep_analysis *analysis = &sweep->analysis;

    vt_sweep_analysis_release(analysis);
    analysis->settings = vt_calloc(sweep->n_settings, sizeof analysis->settings[0]);
    analysis->statements = vt_calloc(VT_SWEEP_STATEMENTS_MAX, sizeof analysis->statements[0]);
    if (analysis->settings == NULL || analysis->statements == NULL) {
        vt_sweep_analysis_release(analysis);
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for the analysis");
    }
    analysis->n_settings = sweep->n_settings;
    judge_settings(sweep);
    enum vt_status status = make_fronts(sweep, err);
    if (status == VT_OK) {
        vt_sweep_find(sweep);
        vt_sweep_recommend(sweep);
    }
    return status;
}
