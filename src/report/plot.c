/* SPDX-License-Identifier: Apache-2.0 */
#include "report/plot.h"

#include <math.h>

static json_t *axis_value(const struct vt_axis *axis)
{
    struct vt_json_object json = vt_json_object_begin();

    vt_json_put(&json, "label", vt_json_text(axis->label));
    vt_json_put(&json, "unit", vt_json_text(axis->unit));
    vt_json_put(&json, "scale", vt_json_text(axis->scale));
    return vt_json_object_end(&json);
}

static json_t *pair(double a, double b)
{
    return vt_json_array_with(vt_json_array_with(json_array(), vt_json_real(a)), vt_json_real(b));
}

void vt_plot_begin(struct vt_plot *plot, struct vt_axis x, struct vt_axis y)
{
    *plot = (struct vt_plot){.root = vt_json_object_begin(),
                             .series = json_array(),
                             .marks = json_array(),
                             .names = json_array()};
    vt_json_put(&plot->root, "x", axis_value(&x));
    vt_json_put(&plot->root, "y", axis_value(&y));
}

void vt_plot_second(struct vt_plot *plot, struct vt_axis y2)
{
    vt_json_put(&plot->root, "y2", axis_value(&y2));
}

static void finish_series(struct vt_plot *plot)
{
    if (!plot->open) {
        return;
    }
    vt_json_put(&plot->current, "points", plot->points);
    if (plot->has_spans) {
        vt_json_put(&plot->current, "spans", plot->spans);
    } else {
        json_decref(plot->spans);
    }
    if (plot->has_texts) {
        vt_json_put(&plot->current, "texts", plot->texts);
    } else {
        json_decref(plot->texts);
    }
    plot->series = vt_json_array_with(plot->series, vt_json_object_end(&plot->current));
    plot->open = false;
}

void vt_plot_series(struct vt_plot *plot, const char *name, const char *style, bool second)
{
    finish_series(plot);
    plot->current = vt_json_object_begin();
    vt_json_put(&plot->current, "name", vt_json_text(name));
    vt_json_put(&plot->current, "style", vt_json_text(style));
    if (second) {
        vt_json_put(&plot->current, "second", json_true());
    }
    plot->points = json_array();
    plot->spans = json_array();
    plot->texts = json_array();
    plot->open = true;
    plot->has_spans = plot->has_texts = false;
}

void vt_plot_point(struct vt_plot *plot, double x, double y)
{
    vt_plot_rich_point(plot, x, y, NAN, NAN, NULL);
}

void vt_plot_rich_point(struct vt_plot *plot, double x, double y, double low, double high,
                        const char *text)
{
    const bool span = isfinite(low) && isfinite(high);

    if (!plot->open || !isfinite(x) || !isfinite(y)) {
        return;
    }
    plot->points = vt_json_array_with(plot->points, pair(x, y));
    plot->spans = vt_json_array_with(plot->spans, span ? pair(low, high) : json_null());
    plot->texts = vt_json_array_with(plot->texts, vt_json_text(text));
    plot->has_spans = plot->has_spans || span;
    plot->has_texts = plot->has_texts || text != NULL;
}

void vt_plot_mark(struct vt_plot *plot, double at, const char *label)
{
    struct vt_json_object mark = vt_json_object_begin();

    vt_json_put(&mark, "at", vt_json_real(at));
    vt_json_put(&mark, "label", vt_json_text(label));
    plot->marks = vt_json_array_with(plot->marks, vt_json_object_end(&mark));
}

void vt_plot_name(struct vt_plot *plot, const char *name)
{
    plot->names = vt_json_array_with(plot->names, vt_json_text(name));
}

bool vt_plot_is_empty(const struct vt_plot *plot)
{
    size_t i;
    const json_t *series;

    json_array_foreach(plot->series, i, series)
    {
        if (json_array_size(json_object_get(series, "points")) > 0) {
            return false;
        }
    }
    return !plot->open || json_array_size(plot->points) == 0;
}

json_t *vt_plot_end(struct vt_plot *plot)
{
    finish_series(plot);
    vt_json_put(&plot->root, "series", plot->series);
    vt_json_put(&plot->root, "marks", plot->marks);
    vt_json_put(&plot->root, "names", plot->names);
    return vt_json_object_end(&plot->root);
}
