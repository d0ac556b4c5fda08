/* SPDX-License-Identifier: Apache-2.0 */
/* sweep.json, schema version 1: docs/sweep.md says what each field means. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "result/json_parts.h"
#include "result/sweep.h"

static json_t *number_value(double value)
{
    bool whole = value == nearbyint(value) && fabs(value) < 9e15;
    return whole ? json_integer((json_int_t)value) : vt_json_real(value);
}

static json_t *axis_value(const struct vt_sweep_axis *axis, uint32_t value)
{
    return axis->kind->is_number ? number_value(axis->numbers[value])
                                 : vt_json_text(axis->words[value]);
}

static json_t *axes_value(const struct vt_sweep *sweep)
{
    json_t *array = json_array();

    for (uint32_t i = 0; i < sweep->n_axes; i++) {
        struct vt_json_object axis = vt_json_object_begin();
        json_t *values = json_array();
        for (uint32_t v = 0; v < sweep->axes[i].n; v++) {
            values = vt_json_array_with(values, axis_value(&sweep->axes[i], v));
        }
        vt_json_put(&axis, "name", vt_json_text(sweep->axes[i].kind->name));
        vt_json_put(&axis, "values", values);
        if (sweep->axes[i].unit[0] != '\0') {
            vt_json_put(&axis, "unit", vt_json_text(sweep->axes[i].unit));
            vt_json_put(&axis, "kind", vt_json_text(sweep->cap_kind));
        }
        array = vt_json_array_with(array, vt_json_object_end(&axis));
    }
    return array;
}

/* A value on each axis; `without` is left out. */
static json_t *setting_axes(const struct vt_sweep *sweep, uint32_t setting, uint32_t without)
{
    struct vt_json_object axes = vt_json_object_begin();

    for (uint32_t i = 0; i < sweep->n_axes; i++) {
        if (i != without) {
            vt_json_put(&axes, sweep->axes[i].kind->name,
                        axis_value(&sweep->axes[i], vt_sweep_value(sweep, setting, i)));
        }
    }
    return vt_json_object_end(&axes);
}

static json_t *measured_metric(const struct vt_sweep_measured *m)
{
    if (m->metric_name[0] == '\0') {
        return json_null();
    }
    struct vt_json_object metric = vt_json_object_begin();
    vt_json_put(&metric, "name", vt_json_text(m->metric_name));
    vt_json_put(&metric, "value", vt_json_real(m->metric));
    vt_json_put(&metric, "unit", vt_json_text(m->metric_unit));
    return vt_json_object_end(&metric);
}

static json_t *measured_latency(const struct vt_sweep_measured *m)
{
    if (m->latency_of == VT_SWEEP_NO_LATENCY) {
        return json_null();
    }
    struct vt_json_object latency = vt_json_object_begin();
    vt_json_put(&latency, "of",
                vt_json_text(m->latency_of == VT_SWEEP_QUERY ? "query" : "request"));
    vt_json_put(&latency, "mean", vt_json_real(m->mean_ns));
    vt_json_put(&latency, "p50", vt_json_real(m->p50_ns));
    vt_json_put(&latency, "p90", vt_json_real(m->p90_ns));
    vt_json_put(&latency, "p99", vt_json_real(m->p99_ns));
    return vt_json_object_end(&latency);
}

static void put_measured(struct vt_json_object *json, const struct vt_sweep_measured *m)
{
    vt_json_put(json, "valid", json_boolean(m->valid));
    vt_json_put(json, "metric", measured_metric(m));
    vt_json_put(json, "samples_per_second", vt_json_real(m->samples_per_second));
    vt_json_put(json, "latency_ns", measured_latency(m));
    vt_json_put(json, "joules_per_sample", vt_json_real(m->joules_per_sample));
    vt_json_put(json, "joules_per_sample_uncertainty",
                vt_json_real(m->joules_per_sample_uncertainty));
    vt_json_put(json, "samples_per_second_per_watt", vt_json_real(m->samples_per_second_per_watt));
    vt_json_put(json, "mean_watts", vt_json_real(m->mean_watts));
    vt_json_put(json, "meter", m->meter[0] != '\0' ? vt_json_text(m->meter) : json_null());
    vt_json_put(json, "energy_reason",
                m->energy_reason[0] != '\0' ? vt_json_text(m->energy_reason) : json_null());
}

static json_t *point_value(const struct vt_sweep *sweep, const struct vt_sweep_point *point)
{
    struct vt_json_object json = vt_json_object_begin();
    char folder[32];

    (void)snprintf(folder, sizeof folder, "points/%s", point->id);
    vt_json_put(&json, "id", vt_json_text(point->id));
    vt_json_put(&json, "axes", setting_axes(sweep, point->setting, sweep->n_axes));
    vt_json_put(&json, "repeat", vt_json_count(point->repeat + 1));
    vt_json_put(&json, "position", vt_json_count(point->position + 1));
    vt_json_put(&json, "state", vt_json_text(vt_sweep_state_text(point->state)));
    vt_json_put(&json, "reason",
                point->reason[0] != '\0' ? vt_json_text(point->reason) : json_null());
    vt_json_put(&json, "folder", vt_json_text(folder));
    if (point->state == VT_SWEEP_DONE) {
        put_measured(&json, &point->measured);
    }
    vt_json_put(&json, "enforced_cap", vt_json_real(point->enforced_cap));
    vt_json_put(&json, "start_temperature_c", vt_json_real(point->start_temperature_c));
    return vt_json_object_end(&json);
}

/* --- analysis -------------------------------------------------------------------------------- */

static json_t *estimate_value(const struct vt_sweep_estimate *estimate)
{
    if (estimate->n == 0) {
        return json_null();
    }
    struct vt_json_object json = vt_json_object_begin();
    vt_json_put(&json, "value", vt_json_real(estimate->value));
    vt_json_put(&json, "low", vt_json_real(estimate->low));
    vt_json_put(&json, "high", vt_json_real(estimate->high));
    vt_json_put(&json, "repeats", vt_json_count(estimate->n));
    return vt_json_object_end(&json);
}

static json_t *holds_value(enum vt_sweep_holds holds)
{
    return holds == VT_SWEEP_UNDECIDED ? json_null() : json_boolean(holds == VT_SWEEP_HOLDS);
}

static json_t *statements_value(const struct vt_sweep_analysis *analysis)
{
    json_t *array = json_array();

    for (uint32_t i = 0; i < analysis->n_statements; i++) {
        const struct vt_sweep_statement *statement = &analysis->statements[i];
        struct vt_json_object json = vt_json_object_begin();
        struct vt_json_object figures = vt_json_object_begin();
        for (uint32_t f = 0; f < statement->n_figures; f++) {
            vt_json_put(&figures, statement->figures[f].name,
                        vt_json_real(statement->figures[f].value));
        }
        vt_json_put(&json, "name", vt_json_text(statement->name));
        vt_json_put(&json, "holds", holds_value(statement->holds));
        vt_json_put(&json, "text", vt_json_text(statement->text));
        vt_json_put(&json, "figures", vt_json_object_end(&figures));
        array = vt_json_array_with(array, vt_json_object_end(&json));
    }
    return array;
}

static const char *id_of(const struct vt_sweep *sweep, uint32_t setting)
{
    return sweep->points[sweep->analysis.settings[setting].point].id;
}

static json_t *front_value(const struct vt_sweep *sweep, const struct vt_sweep_front *front)
{
    json_t *array = json_array();

    for (uint32_t i = 0; i < front->n; i++) {
        array = vt_json_array_with(array, vt_json_text(id_of(sweep, front->settings[i])));
    }
    return array;
}

static json_t *settings_value(const struct vt_sweep *sweep)
{
    const struct vt_sweep_analysis *analysis = &sweep->analysis;
    json_t *array = json_array();

    for (uint32_t i = 0; i < analysis->n_settings; i++) {
        const struct vt_sweep_setting *setting = &analysis->settings[i];
        struct vt_json_object json = vt_json_object_begin();
        if (setting->n_done == 0) {
            json_decref(vt_json_object_end(&json));
            continue;
        }
        vt_json_put(&json, "id", vt_json_text(id_of(sweep, i)));
        vt_json_put(&json, "axes", setting_axes(sweep, i, sweep->n_axes));
        vt_json_put(&json, "repeats", vt_json_count(setting->n_done));
        vt_json_put(&json, "valid", json_boolean(setting->valid));
        vt_json_put(&json, "samples_per_second", estimate_value(&setting->throughput));
        vt_json_put(&json, "latency_ns", estimate_value(&setting->latency));
        vt_json_put(&json, "latency_of", vt_json_text(vt_sweep_latency_text(setting)));
        vt_json_put(&json, "joules_per_sample", estimate_value(&setting->joules));
        vt_json_put(&json, "samples_per_second_per_watt", estimate_value(&setting->efficiency));
        vt_json_put(&json, "mean_watts", estimate_value(&setting->watts));
        array = vt_json_array_with(array, vt_json_object_end(&json));
    }
    return array;
}

enum quantity { THROUGHPUT, EFFICIENCY, LATENCY };

static const struct vt_sweep_estimate *estimate_of(const struct vt_sweep_setting *setting,
                                                   enum quantity quantity)
{
    return quantity == THROUGHPUT   ? &setting->throughput
           : quantity == EFFICIENCY ? &setting->efficiency
                                    : &setting->latency;
}

/* One line: what else is set, and the points along the axis. NULL in *ret_line when none has the
 * quantity. False when out of memory. */
static bool line_value(const struct vt_sweep *sweep, uint32_t first, uint32_t axis,
                       enum quantity quantity, json_t **ret_line)
{
    uint32_t settings[VT_SWEEP_VALUES_MAX];
    uint32_t n = vt_sweep_line(sweep, first, axis, settings);
    json_t *points = json_array();
    bool any = false;

    for (uint32_t i = 0; i < n; i++) {
        const struct vt_sweep_estimate *estimate =
            estimate_of(&sweep->analysis.settings[settings[i]], quantity);
        struct vt_json_object json = vt_json_object_begin();
        if (estimate->n == 0) {
            json_decref(vt_json_object_end(&json));
            continue;
        }
        any = true;
        vt_json_put(&json, "id", vt_json_text(id_of(sweep, settings[i])));
        vt_json_put(&json, sweep->axes[axis].kind->name, axis_value(&sweep->axes[axis], i));
        vt_json_put(&json, "value", vt_json_real(estimate->value));
        vt_json_put(&json, "low", vt_json_real(estimate->low));
        vt_json_put(&json, "high", vt_json_real(estimate->high));
        points = vt_json_array_with(points, vt_json_object_end(&json));
    }
    *ret_line = NULL;
    if (!any) {
        json_decref(points);
        return true;
    }
    struct vt_json_object line = vt_json_object_begin();
    vt_json_put(&line, "axes", setting_axes(sweep, first, axis));
    vt_json_put(&line, "points", points);
    *ret_line = vt_json_object_end(&line);
    return *ret_line != NULL;
}

/* Every line along an axis; empty without that axis. */
static json_t *series_value(const struct vt_sweep *sweep, const char *axis_name,
                            enum quantity quantity)
{
    uint32_t axis = vt_sweep_find_axis(sweep, axis_name);
    json_t *array = json_array();

    if (axis == sweep->n_axes) {
        return array;
    }
    for (uint32_t i = 0; i < sweep->analysis.n_settings; i++) {
        json_t *line = NULL;
        if (vt_sweep_value(sweep, i, axis) != 0) {
            continue;
        }
        if (!line_value(sweep, i, axis, quantity, &line)) {
            json_decref(array);
            return NULL;
        }
        if (line != NULL) {
            array = vt_json_array_with(array, line);
        }
    }
    return array;
}

static json_t *recommended_value(const struct vt_sweep *sweep)
{
    const struct vt_sweep_analysis *analysis = &sweep->analysis;

    if (!analysis->has_recommended) {
        return json_null();
    }
    struct vt_json_object json = vt_json_object_begin();
    vt_json_put(&json, "id", vt_json_text(id_of(sweep, analysis->recommended)));
    vt_json_put(&json, "text", vt_json_text(analysis->recommended_text));
    return vt_json_object_end(&json);
}

static json_t *analysis_value(const struct vt_sweep *sweep)
{
    const struct vt_sweep_analysis *analysis = &sweep->analysis;

    if (analysis->n_settings == 0) {
        return json_null();
    }
    struct vt_json_object json = vt_json_object_begin();
    struct vt_json_object series = vt_json_object_begin();
    vt_json_put(&json, "confidence_percent", json_real(VT_SWEEP_CONFIDENCE * 100));
    vt_json_put(&json, "statements", statements_value(analysis));
    vt_json_put(&json, "pareto_latency", front_value(sweep, &analysis->latency));
    vt_json_put(&json, "pareto_throughput", front_value(sweep, &analysis->throughput));
    vt_json_put(&json, "pareto_speed", front_value(sweep, &analysis->speed));
    vt_json_put(&json, "recommended", recommended_value(sweep));
    vt_json_put(&json, "settings", settings_value(sweep));
    vt_json_put(&series, "throughput_over_batch", series_value(sweep, "batch", THROUGHPUT));
    vt_json_put(&series, "efficiency_over_cap", series_value(sweep, "cap", EFFICIENCY));
    vt_json_put(&series, "latency_over_batch", series_value(sweep, "batch", LATENCY));
    vt_json_put(&json, "series", vt_json_object_end(&series));
    return vt_json_object_end(&json);
}

/* --- the whole ------------------------------------------------------------------------------- */

static json_t *model_value(const struct vt_sweep *sweep)
{
    struct vt_json_object model = vt_json_object_begin();

    vt_json_put(&model, "name", vt_json_text(sweep->model_name));
    vt_json_put(&model, "path", vt_json_text(sweep->model_path));
    vt_json_put(&model, "hash",
                sweep->model_hash[0] != '\0' ? vt_json_text(sweep->model_hash) : json_null());
    return vt_json_object_end(&model);
}

static json_t *command_value(const struct vt_sweep *sweep)
{
    json_t *array = json_array();

    for (uint32_t i = 0; i < sweep->n_command; i++) {
        array = vt_json_array_with(array, vt_json_text(sweep->command[i]));
    }
    return array;
}

static json_t *sweep_value(const struct vt_sweep *sweep)
{
    struct vt_json_object root = vt_json_object_begin();
    json_t *points = json_array();

    for (uint32_t i = 0; i < sweep->n_points; i++) {
        points = vt_json_array_with(points, point_value(sweep, &sweep->points[i]));
    }
    vt_json_put(&root, "schema_version", json_integer(VT_SWEEP_SCHEMA_VERSION));
    vt_json_put(&root, "kind", vt_json_text("sweep"));
    vt_json_put(&root, "tool", vt_json_tool());
    vt_json_put(&root, "started_utc", vt_json_text(sweep->started_utc));
    vt_json_put(&root, "partial", json_boolean(sweep->partial));
    vt_json_put(&root, "machine", vt_json_machine());
    vt_json_put(&root, "model", model_value(sweep));
    vt_json_put(&root, "command", command_value(sweep));
    vt_json_put(&root, "job", vt_json_job(sweep->options));
    vt_json_put(&root, "axes", axes_value(sweep));
    vt_json_put(&root, "order", vt_json_text(vt_sweep_orders[sweep->order]));
    vt_json_put(&root, "seed", vt_json_count(sweep->seed));
    vt_json_put(&root, "repeats", vt_json_count(sweep->repeats));
    vt_json_put(&root, "cooling",
                sweep->cooling[0] != '\0' ? vt_json_text(sweep->cooling) : json_null());
    vt_json_put(&root, "caps", sweep->caps[0] != '\0' ? vt_json_text(sweep->caps) : json_null());
    vt_json_put(&root, "points", points);
    vt_json_put(&root, "analysis", analysis_value(sweep));
    return vt_json_object_end(&root);
}

enum vt_status vt_sweep_json(const struct vt_sweep *sweep, struct vt_error *err, char **ret_json)
{
    return vt_json_dump(sweep_value(sweep), err, ret_json);
}

enum vt_status vt_sweep_write_json(const struct vt_sweep *sweep, const char *folder,
                                   struct vt_error *err)
{
    char *json = NULL;

    enum vt_status status = vt_sweep_json(sweep, err, &json);
    if (status == VT_OK) {
        status = vt_json_save_as(json, folder, "sweep.json", err);
        vt_free(json);
    }
    return status;
}
