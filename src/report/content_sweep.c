/* SPDX-License-Identifier: Apache-2.0 */
/* What `vatio sweep` measured: one model at many settings, and what follows from all of them. */
#include <math.h>
#include <string.h>

#include "report/command.h"
#include "report/content.h"
#include "report/plot.h"
#include "report/reader.h"

/* As many as a sweep has at most; what a file says beyond that is left out. */
#define POINTS_MAX 4096
#define LINES_MAX  24

/* A quantity of a setting: an estimate over repeats, or of a point the plain number. */
static double value_of(const json_t *setting, const char *key)
{
    const json_t *estimate = vt_read_object(setting, key);
    return estimate != NULL ? vt_read_number(estimate, "value") : vt_read_number(setting, key);
}

static double latency_of(const json_t *setting)
{
    const json_t *latency = vt_read_object(setting, "latency_ns");
    const double value = vt_read_number(latency, "value");
    return isfinite(value) ? value : vt_read_number(latency, "p99");
}

/* Settings of the analysis, else the points that were done. */
static const json_t *settings_of(const json_t *root)
{
    const json_t *settings = vt_read_array(vt_read_object(root, "analysis"), "settings");
    return json_array_size(settings) > 0 ? settings : vt_read_array(root, "points");
}

static const json_t *find_setting(const json_t *settings, const char *id)
{
    const json_t *setting;
    size_t i;

    json_array_foreach(settings, i, setting)
    {
        const char *own = vt_read_text(setting, "id");
        if (i < POINTS_MAX && own != NULL && strcmp(own, id) == 0) {
            return setting;
        }
    }
    return NULL;
}

/* "batch 8, lanes 2": only axes of more than one value, unless all have one. */
static const char *setting_words(struct vt_document *document, const json_t *root,
                                 const json_t *axes)
{
    const json_t *all = vt_read_array(root, "axes"), *axis;
    const char *text = "";

    for (int pass = 0; pass < 2 && text[0] == '\0'; pass++) {
        size_t i;
        json_array_foreach(all, i, axis)
        {
            const char *name = vt_read_text(axis, "name");
            const json_t *value = name != NULL ? json_object_get(axes, name) : NULL;
            if (value == NULL || i >= 16 ||
                (pass == 0 && json_array_size(vt_read_array(axis, "values")) < 2)) {
                continue;
            }
            const char *word = json_is_string(value)
                                   ? json_string_value(value)
                                   : vt_say_number(document, json_number_value(value),
                                                   strcmp(name, "cap") == 0 ? "W" : "");
            text = vt_say(document, "%s%s%s %s", text, text[0] != '\0' ? ", " : "", name,
                          word != NULL ? word : "?");
        }
    }
    return text[0] != '\0' ? text : "all";
}

/* --- lines over an axis ---------------------------------------------------------------------- */

struct lines {
    const char *key, *axis; /* analysis.series.KEY, over this axis */
    const char *title, *seen;
    struct vt_axis x, y;
};

static const struct lines all_lines[] = {
    {"throughput_over_batch",
     "batch",
     "Throughput over batch size",
     "Mean of the repeats with its interval; a line for every other setting.",
     {"Batch size", "", "log"},
     {"Throughput", "samples/s", "linear"}},
    {"latency_over_batch",
     "batch",
     "Latency over batch size",
     "Mean of the repeats with its interval; a line for every other setting.",
     {"Batch size", "", "log"},
     {"Latency", "ns", "log"}},
    {"efficiency_over_cap",
     "cap",
     "Efficiency over power cap",
     "Samples for a joule, with the interval of the repeats; a line for every other setting.",
     {"Power cap", "W", "linear"},
     {"Efficiency", "samples/J", "linear"}},
};

static void put_lines(struct vt_document *document, const json_t *root, const struct lines *lines)
{
    static const struct vt_column columns[] = {
        {"Setting", false}, {"At", true}, {"Value", true}, {"Lowest", true}, {"Highest", true}};
    const json_t *series =
        vt_read_array(vt_read_object(vt_read_object(root, "analysis"), "series"), lines->key);
    const json_t *line, *point;
    struct vt_plot plot;
    size_t i, k;

    vt_plot_begin(&plot, lines->x, lines->y);
    json_array_foreach(series, i, line)
    {
        const char *name = setting_words(document, root, vt_read_object(line, "axes"));
        if (i >= LINES_MAX) {
            break;
        }
        vt_plot_series(&plot, name, "whiskers", false);
        json_array_foreach(vt_read_array(line, "points"), k, point)
        {
            if (k < POINTS_MAX) {
                vt_plot_rich_point(&plot, vt_read_number(point, lines->axis),
                                   vt_read_number(point, "value"), vt_read_number(point, "low"),
                                   vt_read_number(point, "high"), vt_read_text(point, "id"));
            }
        }
    }
    const bool empty = vt_plot_is_empty(&plot);
    json_t *json = vt_plot_end(&plot);
    if (empty) {
        json_decref(json);
        return;
    }
    vt_add_plot(document, lines->title, lines->seen, json, VT_COLUMNS_OF(columns));
    json_array_foreach(series, i, line)
    {
        const char *name = setting_words(document, root, vt_read_object(line, "axes"));
        if (i >= LINES_MAX) {
            break;
        }
        json_array_foreach(vt_read_array(line, "points"), k, point)
        {
            static const char *const keys[] = {"value", "low", "high"};
            if (k >= POINTS_MAX) {
                break;
            }
            vt_cell(document, name);
            vt_cell(document,
                    vt_say_number(document, vt_read_number(point, lines->axis), lines->x.unit));
            for (int v = 0; v < 3; v++) {
                vt_cell(document,
                        vt_say_metric(document, vt_read_number(point, keys[v]), lines->y.unit));
            }
        }
    }
}

/* --- fronts ---------------------------------------------------------------------------------- */

struct front {
    const char *key; /* of the analysis: the points of the front */
    const char *title, *seen;
    struct vt_axis x, y;
    const char *x_key, *y_key;
};

static const struct front fronts[] = {
    {"pareto_latency",
     "Energy against latency",
     "Every setting; the line joins those that no other beats in both.",
     {"Latency", "ns", "log"},
     {"Energy of a sample", "J", "log"},
     "latency_ns",
     "joules_per_sample"},
    {"pareto_throughput",
     "Energy against throughput",
     "Every setting; the line joins those that no other beats in both.",
     {"Throughput", "samples/s", "linear"},
     {"Energy of a sample", "J", "log"},
     "samples_per_second",
     "joules_per_sample"},
    {"pareto_speed",
     "Throughput against latency",
     "Every setting; the line joins those that no other beats in both.",
     {"Latency", "ns", "log"},
     {"Throughput", "samples/s", "linear"},
     "latency_ns",
     "samples_per_second"},
};

static double coordinate(const json_t *setting, const char *key)
{
    return strcmp(key, "latency_ns") == 0 ? latency_of(setting) : value_of(setting, key);
}

static void put_point(struct vt_document *document, struct vt_plot *plot, const json_t *root,
                      const json_t *setting, const struct front *front)
{
    vt_plot_rich_point(plot, coordinate(setting, front->x_key), coordinate(setting, front->y_key),
                       NAN, NAN, setting_words(document, root, vt_read_object(setting, "axes")));
}

static void put_front(struct vt_document *document, const json_t *root, const struct front *front)
{
    static const struct vt_column columns[] = {
        {"Setting", false}, {"Across", true}, {"Up", true}, {"On the front", false}};
    const json_t *analysis = vt_read_object(root, "analysis");
    const json_t *settings = settings_of(root), *setting, *id;
    const json_t *ids = vt_read_array(analysis, front->key);
    const char *best = vt_read_text(vt_read_object(analysis, "recommended"), "id");
    const json_t *chosen = best != NULL ? find_setting(settings, best) : NULL;
    struct vt_plot plot;
    size_t i;

    vt_plot_begin(&plot, front->x, front->y);
    vt_plot_series(&plot, "settings", "points", false);
    json_array_foreach(settings, i, setting)
    {
        if (i < POINTS_MAX) {
            put_point(document, &plot, root, setting, front);
        }
    }
    const bool empty = vt_plot_is_empty(&plot) || json_array_size(ids) == 0;
    vt_plot_series(&plot, "Pareto front", "front", false);
    json_array_foreach(ids, i, id)
    {
        const json_t *on = json_is_string(id) && i < POINTS_MAX
                               ? find_setting(settings, json_string_value(id))
                               : NULL;
        put_point(document, &plot, root, on, front);
    }
    if (chosen != NULL) {
        vt_plot_series(&plot, "recommended", "star", false);
        put_point(document, &plot, root, chosen, front);
    }
    json_t *json = vt_plot_end(&plot);
    if (empty) {
        json_decref(json);
        return;
    }
    vt_add_plot(document, front->title, front->seen, json, VT_COLUMNS_OF(columns));
    json_array_foreach(settings, i, setting)
    {
        const double x = coordinate(setting, front->x_key), y = coordinate(setting, front->y_key);
        const char *own = vt_read_text(setting, "id");
        bool on = false;
        size_t k;
        if (i >= POINTS_MAX || !isfinite(x) || !isfinite(y)) {
            continue;
        }
        json_array_foreach(ids, k, id)
        {
            on = on || (k < POINTS_MAX && own != NULL && json_is_string(id) &&
                        strcmp(own, json_string_value(id)) == 0);
        }
        vt_cell(document, setting_words(document, root, vt_read_object(setting, "axes")));
        vt_cell(document, vt_say_metric(document, x, front->x.unit));
        vt_cell(document, vt_say_metric(document, y, front->y.unit));
        vt_cell(document, setting == chosen ? "recommended" : on ? "yes" : "no");
    }
}

/* --- words and points ------------------------------------------------------------------------ */

static void put_statements(struct vt_document *document, const json_t *analysis)
{
    static const struct vt_column columns[] = {{"Holds here", false}, {"Statement", false}};
    const json_t *statements = vt_read_array(analysis, "statements"), *statement;
    const char *best = vt_read_text(vt_read_object(analysis, "recommended"), "text");
    size_t i;

    if (best != NULL) {
        vt_add_verdict(document, VT_TONE_GOOD, "Recommended", best);
    }
    if (json_array_size(statements) == 0) {
        return;
    }
    vt_add_table(document, "What follows from the points", VT_COLUMNS_OF(columns));
    json_array_foreach(statements, i, statement)
    {
        const int holds = vt_read_flag(statement, "holds");
        if (i < POINTS_MAX) {
            vt_cell(document, holds < 0 ? "undecided" : holds ? "yes" : "no");
            vt_cell(document, vt_read_text(statement, "text"));
        }
    }
}

static void put_points(struct vt_document *document, const json_t *root)
{
    static const struct vt_column columns[] = {
        {"Point", false}, {"Setting", false}, {"Repeat", true},   {"State", false},
        {"Result", true}, {"p50", true},      {"p99", true},      {"J/sample", true},
        {"Power", true},  {"Cap kept", true}, {"Began at", true}, {"Valid", false}};
    const json_t *points = vt_read_array(root, "points"), *point;
    size_t i;

    vt_add_bracket(document, VT_BLOCK_FOLD, "Every point");
    vt_add_table(document, "Points", VT_COLUMNS_OF(columns));
    json_array_foreach(points, i, point)
    {
        const json_t *metric = vt_read_object(point, "metric");
        const json_t *latency = vt_read_object(point, "latency_ns");
        const char *state = vt_read_text(point, "state"), *reason = vt_read_text(point, "reason");
        const int valid = vt_read_flag(point, "valid");
        if (i >= POINTS_MAX) {
            break;
        }
        vt_cell(document, vt_read_text(point, "id"));
        vt_cell(document, setting_words(document, root, vt_read_object(point, "axes")));
        vt_cell(document, vt_say_count(document, vt_read_number(point, "repeat")));
        vt_cell(document, state != NULL && reason != NULL
                              ? vt_say(document, "%s: %s", state, reason)
                              : state);
        vt_cell(document, vt_say_metric(document, vt_read_number(metric, "value"),
                                        vt_read_text(metric, "unit")));
        vt_cell(document, vt_say_duration(document, vt_read_number(latency, "p50")));
        vt_cell(document, vt_say_duration(document, vt_read_number(latency, "p99")));
        vt_cell(document,
                vt_say_uncertain(document, vt_read_number(point, "joules_per_sample"),
                                 vt_read_number(point, "joules_per_sample_uncertainty"), ""));
        vt_cell(document, vt_say_number(document, vt_read_number(point, "mean_watts"), "W"));
        vt_cell(document, vt_say_number(document, vt_read_number(point, "enforced_cap"), ""));
        vt_cell(document, vt_say_number(document, vt_read_number(point, "start_temperature_c"),
                                        "\xc2\xb0"
                                        "C"));
        vt_cell(document, valid < 0 ? NULL : valid ? "yes" : "no");
    }
    vt_add_bracket(document, VT_BLOCK_FOLD_END, "");
}

static void put_states(struct vt_document *document, const json_t *root)
{
    const json_t *points = vt_read_array(root, "points"), *point;
    const char *order = vt_read_text(root, "order"), *cooling = vt_read_text(root, "cooling");
    size_t done = 0, i;

    json_array_foreach(points, i, point)
    {
        const char *state = vt_read_text(point, "state");
        done += state != NULL && strcmp(state, "done") == 0;
    }
    vt_add_facts(document);
    vt_fact(document, "Points",
            vt_say(document, "%zu of %zu measured", done, json_array_size(points)));
    vt_fact(document, "Repeats", vt_say_count(document, vt_read_number(root, "repeats")));
    if (order != NULL) {
        vt_fact(document, "Order", vt_say(document, "%s", order));
    }
    vt_fact(document, "Cooling", cooling);
    json_array_foreach(points, i, point)
    {
        const char *reason = vt_read_text(point, "energy_reason");
        if (reason != NULL) {
            vt_add_text(document, VT_BLOCK_NOTE, reason);
            return;
        }
    }
}

void vt_content_sweep(struct vt_document *document, const struct vt_source *source)
{
    const json_t *root = source->root;

    vt_content_about(document, source);
    put_states(document, root);
    put_statements(document, vt_read_object(root, "analysis"));
    vt_add_bracket(document, VT_BLOCK_GRID, "");
    for (size_t i = 0; i < sizeof all_lines / sizeof all_lines[0]; i++) {
        put_lines(document, root, &all_lines[i]);
    }
    for (size_t i = 0; i < sizeof fronts / sizeof fronts[0]; i++) {
        put_front(document, root, &fronts[i]);
    }
    vt_add_bracket(document, VT_BLOCK_GRID_END, "");
    put_points(document, root);
    vt_content_origin(document, source, "sweep");
}
