/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data of one plot, as page.js draws it:
 *
 *   { "x": {"label", "unit", "scale"}, "y": the same, "y2": the same or absent,
 *     "names": [for the scale "category", from 0],
 *     "series": [{"name", "style", "second": true for the axis y2, "points": [[x, y] …],
 *                 "spans": [[low, high] …] or absent, "texts": [what hovering adds …] or absent}],
 *     "marks": [{"at": x, "label"}] }
 *
 * Units are those of axes: "ns", "W", "samples/s" …; the page chooses prefixes. Scales are
 * "linear", "log", "category" and "nines", where x is −log10(1 − p) of a percentile.
 * Building fails only for want of memory, which vt_plot_end tells. Numbers that are none are left
 * out.
 */
#ifndef VT_REPORT_PLOT_H
#define VT_REPORT_PLOT_H

#include <jansson.h>
#include <stdbool.h>

#include "result/json_parts.h"

struct vt_axis {
    const char *label, *unit, *scale;
};

struct vt_plot {
    struct vt_json_object root;
    json_t *series, *marks, *names; /* NULL: failed */
    struct vt_json_object current;
    json_t *points, *spans, *texts;
    bool open, has_spans, has_texts;
};

void vt_plot_begin(struct vt_plot *plot, struct vt_axis x, struct vt_axis y);
void vt_plot_second(struct vt_plot *plot, struct vt_axis y2);
/* Style: "line", "step" (filled), "band" (line with its span filled), "points", "dashed", "bars".
 */
void vt_plot_series(struct vt_plot *plot, const char *name, const char *style, bool second);
void vt_plot_point(struct vt_plot *plot, double x, double y);
/* With a span around y and a text, either of which may be absent: NAN, NULL. */
void vt_plot_rich_point(struct vt_plot *plot, double x, double y, double low, double high,
                        const char *text);
void vt_plot_mark(struct vt_plot *plot, double at, const char *label);
void vt_plot_name(struct vt_plot *plot, const char *name);
/* Whether any series has a point. */
bool vt_plot_is_empty(const struct vt_plot *plot);
/* What was built; NULL when out of memory. */
json_t *vt_plot_end(struct vt_plot *plot);

#endif
