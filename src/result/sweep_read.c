/* SPDX-License-Identifier: Apache-2.0 */
/* sweep.json read back. Everything in it may be wrong: what does not fit the axes is refused. */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/quote.h"
#include "result/sweep.h"

#define COMMAND_MAX 256

struct reader {
    const char *name;
    struct vt_sweep *sweep;
    struct vt_error *err;
};

static enum vt_status bad(const struct reader *reader, const char *where, const char *what)
{
    return vt_error_set(reader->err, VT_ERR_FORMAT, "%s: %s: %s", reader->name, where, what);
}

static void copy_text(const json_t *object, const char *key, char *text, size_t size)
{
    const char *value = json_string_value(json_object_get(object, key));
    (void)snprintf(text, size, "%s", value != NULL ? value : "");
}

/* NAN for null and for what is no number. */
static double number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static char *keep_text(const json_t *value)
{
    const char *text = json_string_value(value);
    return text != NULL ? vt_strdup(text) : NULL;
}

static enum vt_status read_numbers(const struct reader *reader, const json_t *values,
                                   struct vt_sweep_axis *axis)
{
    axis->numbers = vt_calloc(json_array_size(values), sizeof axis->numbers[0]);
    if (axis->numbers == NULL) {
        return vt_error_set(reader->err, VT_ERR_MEMORY, "%s: out of memory", reader->name);
    }
    for (axis->n = 0; axis->n < json_array_size(values); axis->n++) {
        const json_t *value = json_array_get(values, axis->n);
        axis->numbers[axis->n] = json_number_value(value);
        if (!json_is_number(value) ||
            (axis->n > 0 && axis->numbers[axis->n] <= axis->numbers[axis->n - 1])) {
            return bad(reader, axis->kind->name, "ascending numbers are needed");
        }
    }
    return VT_OK;
}

static enum vt_status read_words(const struct reader *reader, const json_t *values,
                                 struct vt_sweep_axis *axis)
{
    axis->words = vt_calloc(json_array_size(values), sizeof axis->words[0]);
    if (axis->words == NULL) {
        return vt_error_set(reader->err, VT_ERR_MEMORY, "%s: out of memory", reader->name);
    }
    for (axis->n = 0; axis->n < json_array_size(values); axis->n++) {
        axis->words[axis->n] = keep_text(json_array_get(values, axis->n));
        if (axis->words[axis->n] == NULL) {
            return bad(reader, axis->kind->name, "texts are needed");
        }
    }
    return VT_OK;
}

static enum vt_status read_axis(const struct reader *reader, const json_t *json)
{
    struct vt_sweep *sweep = reader->sweep;
    const char *name = json_string_value(json_object_get(json, "name"));
    const json_t *values = json_object_get(json, "values");

    for (int i = 0; name != NULL && i < VT_SWEEP_AXIS_KINDS; i++) {
        if (strcmp(vt_sweep_axis_kinds[i].name, name) != 0) {
            continue;
        }
        if (vt_sweep_find_axis(sweep, name) != sweep->n_axes) {
            return bad(reader, name, "stands twice among the axes");
        }
        if (json_array_size(values) < 1 || json_array_size(values) > VT_SWEEP_VALUES_MAX) {
            return bad(reader, name, "an axis has 1 to 256 values");
        }
        struct vt_sweep_axis *axis = &sweep->axes[sweep->n_axes++];
        axis->kind = &vt_sweep_axis_kinds[i];
        copy_text(json, "unit", axis->unit, sizeof axis->unit);
        if (axis->unit[0] != '\0') {
            copy_text(json, "kind", sweep->cap_kind, sizeof sweep->cap_kind);
        }
        return axis->kind->is_number ? read_numbers(reader, values, axis)
                                     : read_words(reader, values, axis);
    }
    return bad(reader, "axes", "one is unknown to this version of vatio");
}

static enum vt_status read_axes(const struct reader *reader, const json_t *root)
{
    const json_t *axes = json_object_get(root, "axes");
    enum vt_status status = VT_OK;

    if (json_array_size(axes) > VT_SWEEP_AXES_MAX) {
        return bad(reader, "axes", "there are more than eight");
    }
    for (size_t i = 0; i < json_array_size(axes) && status == VT_OK; i++) {
        status = read_axis(reader, json_array_get(axes, i));
    }
    if (status == VT_OK && vt_sweep_find_axis(reader->sweep, "scenario") == reader->sweep->n_axes) {
        return bad(reader, "axes", "scenario is missing");
    }
    return status;
}

static enum vt_status read_command(const struct reader *reader, const json_t *root)
{
    struct vt_sweep *sweep = reader->sweep;
    const json_t *command = json_object_get(root, "command");
    size_t n = json_array_size(command);

    if (n < 2 || n > COMMAND_MAX) {
        return bad(reader, "command", "an array of 2 to 256 texts is needed");
    }
    sweep->command = vt_calloc(n, sizeof sweep->command[0]);
    if (sweep->command == NULL) {
        return vt_error_set(reader->err, VT_ERR_MEMORY, "%s: out of memory", reader->name);
    }
    for (; sweep->n_command < n; sweep->n_command++) {
        char *text = keep_text(json_array_get(command, sweep->n_command));
        if (text == NULL) {
            return bad(reader, "command", "an array of texts is needed");
        }
        sweep->command[sweep->n_command] = text;
    }
    return VT_OK;
}

static void read_measured(const json_t *json, struct vt_sweep_measured *m)
{
    const json_t *metric = json_object_get(json, "metric");
    const json_t *latency = json_object_get(json, "latency_ns");
    const char *of = json_string_value(json_object_get(latency, "of"));

    m->valid = json_is_true(json_object_get(json, "valid"));
    copy_text(metric, "name", m->metric_name, sizeof m->metric_name);
    copy_text(metric, "unit", m->metric_unit, sizeof m->metric_unit);
    m->metric = number_of(metric, "value");
    m->samples_per_second = number_of(json, "samples_per_second");
    m->latency_of = of == NULL                 ? VT_SWEEP_NO_LATENCY
                    : strcmp(of, "query") == 0 ? VT_SWEEP_QUERY
                                               : VT_SWEEP_REQUEST;
    m->mean_ns = number_of(latency, "mean");
    m->p50_ns = number_of(latency, "p50");
    m->p90_ns = number_of(latency, "p90");
    m->p99_ns = number_of(latency, "p99");
    m->joules_per_sample = number_of(json, "joules_per_sample");
    m->joules_per_sample_uncertainty = number_of(json, "joules_per_sample_uncertainty");
    m->samples_per_second_per_watt = number_of(json, "samples_per_second_per_watt");
    m->mean_watts = number_of(json, "mean_watts");
    copy_text(json, "meter", m->meter, sizeof m->meter);
    copy_text(json, "energy_reason", m->energy_reason, sizeof m->energy_reason);
}

/* Whether the point's values are those of its place. */
static bool axes_fit(const struct vt_sweep *sweep, const struct vt_sweep_point *point,
                     const json_t *json)
{
    for (uint32_t i = 0; i < sweep->n_axes; i++) {
        const struct vt_sweep_axis *axis = &sweep->axes[i];
        uint32_t v = vt_sweep_value(sweep, point->setting, i);
        const json_t *value = json_object_get(json, axis->kind->name);
        const char *word = json_string_value(value);
        if (axis->kind->is_number
                ? !json_is_number(value) || json_number_value(value) != axis->numbers[v]
                : word == NULL || strcmp(word, axis->words[v]) != 0) {
            return false;
        }
    }
    return true;
}

static enum vt_status read_point(const struct reader *reader, uint32_t index, const json_t *json)
{
    const struct vt_sweep *sweep = reader->sweep;
    struct vt_sweep_point *point = &sweep->points[index];
    const char *id = json_string_value(json_object_get(json, "id"));
    const char *state = json_string_value(json_object_get(json, "state"));
    int s = VT_SWEEP_PENDING;

    if (id == NULL || strcmp(id, point->id) != 0) {
        return bad(reader, point->id, "another point stands in its place");
    }
    if (!axes_fit(sweep, point, json_object_get(json, "axes"))) {
        return bad(reader, point->id, "its values are not those of the axes");
    }
    while (state != NULL && s <= VT_SWEEP_SKIPPED &&
           strcmp(state, vt_sweep_state_text((enum vt_sweep_state)s)) != 0) {
        s++;
    }
    if (state == NULL || s > VT_SWEEP_SKIPPED) {
        return bad(reader, point->id, "its state is none of pending, done, failed and skipped");
    }
    point->state = (enum vt_sweep_state)s;
    copy_text(json, "reason", point->reason, sizeof point->reason);
    if (point->state == VT_SWEEP_DONE) {
        read_measured(json, &point->measured);
    }
    point->enforced_cap = number_of(json, "enforced_cap");
    point->start_temperature_c = number_of(json, "start_temperature_c");
    return VT_OK;
}

static enum vt_status read_points(const struct reader *reader, const json_t *root)
{
    struct vt_sweep *sweep = reader->sweep;
    const json_t *points = json_object_get(root, "points");
    json_int_t repeats = json_integer_value(json_object_get(root, "repeats"));

    if (repeats < 1 || repeats > VT_SWEEP_REPEATS_MAX) {
        return bad(reader, "repeats", "1 to 100 are allowed");
    }
    sweep->repeats = (uint32_t)repeats;
    enum vt_status status = vt_sweep_make_points(sweep, reader->err);
    if (status != VT_OK) {
        return status;
    }
    if (json_array_size(points) != sweep->n_points) {
        return bad(reader, "points", "their number is not what axes and repeats make");
    }
    for (uint32_t i = 0; i < sweep->n_points && status == VT_OK; i++) {
        status = read_point(reader, i, json_array_get(points, i));
    }
    return status;
}

static enum vt_status read_root(const struct reader *reader, const json_t *root)
{
    struct vt_sweep *sweep = reader->sweep;
    const char *kind = json_string_value(json_object_get(root, "kind"));
    const json_t *model = json_object_get(root, "model");

    if (kind == NULL || strcmp(kind, "sweep") != 0) {
        return bad(reader, "kind", "this is no sweep");
    }
    if (json_integer_value(json_object_get(root, "schema_version")) != VT_SWEEP_SCHEMA_VERSION) {
        return bad(reader, "schema_version", "this version of vatio reads 1");
    }
    copy_text(root, "started_utc", sweep->started_utc, sizeof sweep->started_utc);
    copy_text(model, "name", sweep->model_name, sizeof sweep->model_name);
    copy_text(model, "hash", sweep->model_hash, sizeof sweep->model_hash);
    sweep->model_path = keep_text(json_object_get(model, "path"));
    copy_text(json_object_get(root, "machine"), "cpu", sweep->machine, sizeof sweep->machine);
    copy_text(json_object_get(root, "tool"), "version", sweep->version, sizeof sweep->version);
    copy_text(root, "cooling", sweep->cooling, sizeof sweep->cooling);
    sweep->partial = json_is_true(json_object_get(root, "partial"));
    enum vt_status status = read_command(reader, root);
    if (status == VT_OK) {
        status = read_axes(reader, root);
    }
    return status == VT_OK ? read_points(reader, root) : status;
}

enum vt_status vt_sweep_parse(const char *name, const char *text, size_t size, struct vt_error *err,
                              struct vt_sweep *ret_sweep)
{
    struct vt_sweep sweep = {0};
    const struct reader reader = {name, &sweep, err};
    json_error_t error;

    if (size > VT_SWEEP_BYTES_MAX) {
        return vt_error_set(err, VT_ERR_LIMIT, "%s: %zu bytes, at most 64 MiB are allowed", name,
                            size);
    }
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
    if (root == NULL) {
        return vt_error_set(err, VT_ERR_FORMAT, "%s:%d: %s", name, error.line, vt_tame(error.text));
    }
    enum vt_status status = read_root(&reader, root);
    json_decref(root);
    if (status != VT_OK) {
        vt_sweep_release(&sweep);
        return status;
    }
    *ret_sweep = sweep;
    return VT_OK;
}

enum vt_status vt_sweep_read(const char *folder, struct vt_error *err, struct vt_sweep *ret_sweep)
{
    char *path = vt_path_join(folder, "sweep.json");
    char *text = NULL;
    size_t size = 0;

    if (path == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "%s/sweep.json: out of memory", folder);
    }
    enum vt_status status = vt_file_read(path, VT_SWEEP_BYTES_MAX, err, &text, &size);
    if (status == VT_OK) {
        status = vt_sweep_parse(path, text, size, err, ret_sweep);
    }
    vt_free(text);
    vt_free(path);
    return status;
}
