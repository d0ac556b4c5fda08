/* SPDX-License-Identifier: Apache-2.0 */
/* What `vatio profile` measured: a roofline, operators and layers. */
#include <math.h>
#include <string.h>

#include "report/content.h"
#include "report/plot.h"
#include "report/reader.h"

#define LAYERS_MAX 2000

/* Layers that only move data have no place under a roof of multiply-adds. */
static bool has_place(const json_t *layer)
{
    return vt_read_number(layer, "flops") > 0 && vt_read_number(layer, "bytes") > 0 &&
           vt_read_number(layer, "flops_per_second") > 0;
}

static void put_roof(struct vt_plot *plot, const json_t *peak, double low, double high)
{
    const double flops = vt_read_number(peak, "flops_per_second");
    const double bytes = vt_read_number(peak, "bytes_per_second");

    if (!(flops > 0 && bytes > 0)) {
        return;
    }
    const double knee = flops / bytes;
    low = fmin(low, knee) / 2;
    high = fmax(high, knee) * 2;
    vt_plot_series(plot, "roof", "dashed", false);
    vt_plot_point(plot, low, low * bytes);
    vt_plot_point(plot, knee, flops);
    vt_plot_point(plot, high, flops);
}

static void put_roofline(struct vt_document *document, const json_t *profile)
{
    static const struct vt_column columns[] = {
        {"Layer", false}, {"Operator", false}, {"FLOP/byte", true}, {"FLOP/s", true}};
    const json_t *layers = vt_read_array(profile, "layers"), *layer;
    double low = INFINITY, high = 0;
    struct vt_plot plot;
    size_t i;

    vt_plot_begin(&plot, (struct vt_axis){"Work for each byte", "FLOP/byte", "log"},
                  (struct vt_axis){"Speed", "FLOP/s", "log"});
    vt_plot_series(&plot, "layers", "points", false);
    json_array_foreach(layers, i, layer)
    {
        if (i < LAYERS_MAX && has_place(layer)) {
            const double x = vt_read_number(layer, "flops") / vt_read_number(layer, "bytes");
            const char *op = vt_read_text(layer, "op"), *node = vt_read_text(layer, "node");
            const char *time = vt_say_duration(document, vt_read_number(layer, "time_ns"));
            low = fmin(low, x);
            high = fmax(high, x);
            vt_plot_rich_point(&plot, x, vt_read_number(layer, "flops_per_second"), NAN, NAN,
                               vt_say(document, "%s %s, %s", op != NULL ? op : "",
                                      node != NULL ? node : "", time != NULL ? time : "?"));
        }
    }
    if (high > 0) {
        put_roof(&plot, vt_read_object(profile, "peak"), low, high);
    }
    json_t *json = vt_plot_end(&plot);
    if (!(high > 0)) {
        json_decref(json);
        return;
    }
    vt_add_plot(document, "Roofline",
                "Each layer by how much it computes for a byte and how fast. The roof is what this "
                "machine reached on multiply-adds alone and on memory alone. Layers above it "
                "find their data in caches.",
                json, VT_COLUMNS_OF(columns));
    json_array_foreach(layers, i, layer)
    {
        if (i < LAYERS_MAX && has_place(layer)) {
            const double x = vt_read_number(layer, "flops") / vt_read_number(layer, "bytes");
            vt_cell(document, vt_read_text(layer, "node"));
            vt_cell(document, vt_read_text(layer, "op"));
            vt_cell(document, vt_say_number(document, x, ""));
            vt_cell(document,
                    vt_say_number(document, vt_read_number(layer, "flops_per_second") / 1e9, "G"));
        }
    }
}

static void put_shares(struct vt_document *document, const json_t *profile)
{
    static const struct vt_column columns[] = {
        {"Operator", false}, {"Share of the time", true}, {"Time", true}};
    const json_t *operators = vt_read_array(profile, "operators"), *op;
    struct vt_plot plot;
    size_t i;

    if (json_array_size(operators) == 0) {
        return;
    }
    vt_plot_begin(&plot, (struct vt_axis){"Share of the time", "%", "linear"},
                  (struct vt_axis){"", "", "category"});
    vt_plot_series(&plot, "share", "bars", false);
    json_array_foreach(operators, i, op)
    {
        if (i < 12) {
            const char *name = vt_read_text(op, "op");
            vt_plot_name(&plot, name != NULL ? name : "?");
            vt_plot_point(&plot, vt_read_number(op, "share_percent"), (double)i);
        }
    }
    vt_add_plot(document, "Where the time goes",
                "Share of each kind of operator in the time of a run, the dearest first.",
                vt_plot_end(&plot), VT_COLUMNS_OF(columns));
    json_array_foreach(operators, i, op)
    {
        vt_cell(document, vt_read_text(op, "op"));
        vt_cell(document, vt_say_number(document, vt_read_number(op, "share_percent"), "%"));
        vt_cell(document, vt_say_duration(document, vt_read_number(op, "time_ns")));
    }
}

static const char *giga(struct vt_document *document, const json_t *layer, const char *key)
{
    const double value = vt_read_number(layer, key);
    return value > 0 ? vt_say_number(document, value / 1e9, "") : NULL;
}

static void put_layers(struct vt_document *document, const json_t *profile)
{
    static const struct vt_column columns[] = {
        {"Layer", false},  {"Operator", false}, {"Kernel", false}, {"Output", false},
        {"Time", true},    {"Share", true},     {"GFLOP/s", true}, {"GB/s", true},
        {"Of roof", true}, {"Bound by", false}};
    const json_t *layers = vt_read_array(profile, "layers"), *layer;
    size_t i;

    vt_add_table(document, "Layers, the dearest first", VT_COLUMNS_OF(columns));
    json_array_foreach(layers, i, layer)
    {
        if (i >= LAYERS_MAX) {
            break;
        }
        vt_cell(document, vt_read_text(layer, "node"));
        vt_cell(document, vt_read_text(layer, "op"));
        vt_cell(document, vt_read_text(layer, "kernel"));
        vt_cell(document, vt_read_text(layer, "output_shape"));
        vt_cell(document, vt_say_duration(document, vt_read_number(layer, "time_ns")));
        vt_cell(document, vt_say_number(document, vt_read_number(layer, "share_percent"), "%"));
        vt_cell(document, giga(document, layer, "flops_per_second"));
        vt_cell(document, giga(document, layer, "bytes_per_second"));
        vt_cell(document, vt_read_number(layer, "flops") > 0
                              ? vt_say_number(document, vt_read_number(layer, "roof_percent"), "%")
                              : NULL);
        vt_cell(document, vt_read_number(layer, "flops") > 0 ? vt_read_text(layer, "bound") : NULL);
    }
    if (json_array_size(layers) > LAYERS_MAX) {
        vt_add_text(document, VT_BLOCK_NOTE, "Only the 2,000 dearest layers are listed.");
    }
}

void vt_content_profile(struct vt_document *document, const struct vt_source *source)
{
    const json_t *profile = vt_read_object(source->root, "profile");
    const json_t *peak = vt_read_object(profile, "peak");

    vt_content_about(document, source);
    vt_add_facts(document);
    vt_fact(document, "Engine", vt_read_text(profile, "engine"));
    vt_fact(document, "Batch", vt_say_count(document, vt_read_number(profile, "batch")));
    vt_fact(document, "Threads", vt_say_count(document, vt_read_number(profile, "threads")));
    vt_fact(document, "A run", vt_say_duration(document, vt_read_number(profile, "run_ns")));
    vt_fact(document, "A run with clocks",
            vt_say_duration(document, vt_read_number(profile, "profiled_run_ns")));
    vt_fact(document, "Runs", vt_say_count(document, vt_read_number(profile, "runs")));
    vt_fact(document, "Multiply-adds alone",
            vt_say_number(document, vt_read_number(peak, "flops_per_second") / 1e9, "GFLOP/s"));
    vt_fact(document, "Memory alone",
            vt_say_number(document, vt_read_number(peak, "bytes_per_second") / 1e9, "GB/s"));
    vt_add_bracket(document, VT_BLOCK_GRID, "");
    put_roofline(document, profile);
    put_shares(document, profile);
    vt_add_bracket(document, VT_BLOCK_GRID_END, "");
    put_layers(document, profile);
    vt_content_origin(document, source, "profile");
}
