/* SPDX-License-Identifier: Apache-2.0 */
#include "result/sweep.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/topology.h"
#include "base/version.h"

const char *const vt_sweep_orders[] = {"random", "latin", "full", NULL};

const struct vt_sweep_axis_kind vt_sweep_axis_kinds[VT_SWEEP_AXIS_KINDS] = {
    {"scenario", false}, {"engine", false}, {"cap", true},
    {"threads", true},   {"lanes", true},   {"batch", true},
};

void vt_sweep_init(struct vt_sweep *sweep)
{
    time_t now = time(NULL);
    struct tm utc;

    memset(sweep, 0, sizeof *sweep);
    if (gmtime_r(&now, &utc) != NULL) {
        (void)strftime(sweep->started_utc, sizeof sweep->started_utc, "%Y-%m-%dT%H:%M:%SZ", &utc);
    }
    (void)snprintf(sweep->machine, sizeof sweep->machine, "%s", vt_topology()->cpu_model);
    (void)snprintf(sweep->version, sizeof sweep->version, "%s", vt_version());
}

void vt_sweep_analysis_release(struct vt_sweep_analysis *analysis)
{
    vt_free(analysis->settings);
    vt_free(analysis->statements);
    vt_free(analysis->latency.settings);
    vt_free(analysis->throughput.settings);
    vt_free(analysis->speed.settings);
    memset(analysis, 0, sizeof *analysis);
}

void vt_sweep_release(struct vt_sweep *sweep)
{
    for (uint32_t i = 0; i < sweep->n_axes; i++) {
        struct vt_sweep_axis *axis = &sweep->axes[i];
        for (uint32_t v = 0; axis->words != NULL && v < axis->n; v++) {
            vt_free(axis->words[v]);
        }
        vt_free(axis->words);
        vt_free(axis->numbers);
    }
    for (uint32_t i = 0; i < sweep->n_command; i++) {
        vt_free(sweep->command[i]);
    }
    vt_free(sweep->command);
    vt_free(sweep->model_path);
    vt_free(sweep->points);
    vt_sweep_analysis_release(&sweep->analysis);
    memset(sweep, 0, sizeof *sweep);
}

static void clear_measured(struct vt_sweep_point *point)
{
    struct vt_sweep_measured *m = &point->measured;

    m->metric = m->samples_per_second = NAN;
    m->mean_ns = m->p50_ns = m->p90_ns = m->p99_ns = NAN;
    m->joules_per_sample = m->joules_per_sample_uncertainty = NAN;
    m->samples_per_second_per_watt = m->mean_watts = NAN;
    point->enforced_cap = point->start_temperature_c = NAN;
}

enum vt_status vt_sweep_make_points(struct vt_sweep *sweep, struct vt_error *err)
{
    uint64_t settings = 1;

    for (uint32_t i = 0; i < sweep->n_axes && settings <= VT_SWEEP_POINTS_MAX; i++) {
        settings *= sweep->axes[i].n;
    }
    if (settings == 0 || sweep->repeats == 0 || settings * sweep->repeats > VT_SWEEP_POINTS_MAX) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "more than %d points: take fewer values or --repeats",
                            VT_SWEEP_POINTS_MAX);
    }
    sweep->n_settings = (uint32_t)settings;
    sweep->n_points = (uint32_t)settings * sweep->repeats;
    sweep->points = vt_calloc(sweep->n_points, sizeof sweep->points[0]);
    if (sweep->points == NULL) {
        sweep->n_points = 0;
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for the points");
    }
    struct vt_sweep_point *point = sweep->points;
    for (uint32_t repeat = 0; repeat < sweep->repeats; repeat++) {
        for (uint32_t setting = 0; setting < sweep->n_settings; setting++, point++) {
            point->setting = setting;
            point->repeat = repeat;
            point->position = (uint32_t)(point - sweep->points);
            (void)snprintf(point->id, sizeof point->id, "p%04u", point->position + 1);
            clear_measured(point);
        }
    }
    return VT_OK;
}

/* How many settings lie between two neighbouring values of an axis. */
static uint32_t stride_of(const struct vt_sweep *sweep, uint32_t axis)
{
    uint32_t stride = 1;

    for (uint32_t i = axis + 1; i < sweep->n_axes; i++) {
        stride *= sweep->axes[i].n;
    }
    return stride;
}

uint32_t vt_sweep_value(const struct vt_sweep *sweep, uint32_t setting, uint32_t axis)
{
    uint32_t stride = stride_of(sweep, axis), n = sweep->axes[axis].n;
    return stride > 0 && n > 0 ? setting / stride % n : 0; /* an axis has a value at least */
}

uint32_t vt_sweep_find_axis(const struct vt_sweep *sweep, const char *name)
{
    uint32_t i = 0;

    while (i < sweep->n_axes && strcmp(sweep->axes[i].kind->name, name) != 0) {
        i++;
    }
    return i;
}

uint32_t vt_sweep_line(const struct vt_sweep *sweep, uint32_t setting, uint32_t axis,
                       uint32_t ret_settings[VT_SWEEP_VALUES_MAX])
{
    uint32_t stride = stride_of(sweep, axis);
    uint32_t first = setting - vt_sweep_value(sweep, setting, axis) * stride;

    for (uint32_t v = 0; v < sweep->axes[axis].n; v++) {
        ret_settings[v] = first + v * stride;
    }
    return sweep->axes[axis].n;
}

char *vt_sweep_value_text(const struct vt_sweep_axis *axis, uint32_t value, char *text, size_t size)
{
    if (axis->kind->is_number) {
        vt_format_real(axis->numbers[value], text, size);
    } else {
        (void)snprintf(text, size, "%s", axis->words[value]);
    }
    return text;
}

char *vt_sweep_setting_text(const struct vt_sweep *sweep, uint32_t setting, uint32_t without,
                            char *text, size_t size)
{
    bool varied = false;
    size_t used = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < sweep->n_axes; i++) {
        varied = varied || (i != without && sweep->axes[i].n > 1);
    }
    for (uint32_t i = 0; i < sweep->n_axes && used < size; i++) {
        const struct vt_sweep_axis *axis = &sweep->axes[i];
        char value[96];
        if (i == without || (varied && axis->n == 1)) {
            continue;
        }
        vt_sweep_value_text(axis, vt_sweep_value(sweep, setting, i), value, sizeof value);
        used += (size_t)snprintf(text + used, size - used, "%s%s%s%s%s%s", used > 0 ? ", " : "",
                                 axis->kind->is_number ? axis->kind->name : "",
                                 axis->kind->is_number ? " " : "", value,
                                 axis->unit[0] != '\0' ? " " : "", axis->unit);
    }
    return text;
}

const char *vt_sweep_state_text(enum vt_sweep_state state)
{
    static const char *const texts[] = {"pending", "done", "failed", "skipped"};
    return texts[state];
}

const char *vt_sweep_latency_text(const struct vt_sweep_setting *setting)
{
    if (setting->latency_of == VT_SWEEP_NO_LATENCY || setting->latency.n == 0) {
        return NULL;
    }
    if (setting->latency_of == VT_SWEEP_QUERY) {
        return setting->latency_is_p99 ? "p99 of a query" : "mean of a query";
    }
    return setting->latency_is_p99 ? "p99 of a request" : "mean of a request";
}
