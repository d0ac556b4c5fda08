/* SPDX-License-Identifier: Apache-2.0 */
/* Several runs beside each other, scenario by scenario. */
#include <math.h>
#include <string.h>

#include "core/query.h"
#include "report/content.h"
#include "report/plot.h"
#include "report/reader.h"

/* The performance result of this scenario in a run; NULL: none. */
static const json_t *result_of(const struct vt_source *source, enum vt_scenario scenario)
{
    const json_t *results = vt_read_array(source->root, "results"), *result;
    size_t i;

    json_array_foreach(results, i, result)
    {
        const char *key = vt_read_text(result, "scenario");
        if (vt_content_measured(result) && key != NULL &&
            strcmp(key, vt_scenario_key(scenario)) == 0) {
            return source->kind == VT_SOURCE_RUN ? result : NULL;
        }
    }
    return NULL;
}

static void put_table(struct vt_document *document, const struct vt_sources *sources,
                      enum vt_scenario scenario)
{
    static const struct vt_column columns[] = {
        {"Run", false},  {"Model", false}, {"Engine", false},         {"Result", true},
        {"p50", true},   {"p99", true},    {"Energy a sample", true}, {"Mean power", true},
        {"Valid", false}};

    vt_add_table(document, vt_scenario_name(scenario), VT_COLUMNS_OF(columns));
    for (size_t i = 0; i < sources->n; i++) {
        const struct vt_source *source = &sources->items[i];
        const json_t *result = result_of(source, scenario);
        if (result == NULL) {
            continue;
        }
        const json_t *metric = vt_read_object(result, "metric");
        const json_t *energy = vt_read_object(result, "energy");
        const json_t *latency = vt_content_latency(result);
        vt_cell(document, source->name);
        vt_cell(document, vt_read_text(vt_read_object(source->root, "model"), "name"));
        vt_cell(document, vt_read_text(vt_read_object(source->root, "engine"), "description"));
        vt_cell(document, vt_say_metric(document, vt_read_number(metric, "value"),
                                        vt_read_text(metric, "unit")));
        vt_cell(document, vt_say_duration(document, vt_read_number(latency, "p50")));
        vt_cell(document, vt_say_duration(document, vt_read_number(latency, "p99")));
        vt_cell(document, vt_say_joules(document, vt_read_number(energy, "joules_per_sample")));
        vt_cell(document, vt_say_number(document, vt_read_number(energy, "mean_watts"), "W"));
        vt_cell(document, vt_read_flag(result, "valid") == 1 ? "yes" : "no");
    }
}

/* What is compared: the headline, or the energy of a sample. */
static double value_of(const json_t *result, bool energy)
{
    return energy ? vt_read_number(vt_read_object(result, "energy"), "joules_per_sample")
                  : vt_read_number(vt_read_object(result, "metric"), "value");
}

static size_t count_values(const struct vt_sources *sources, enum vt_scenario scenario, bool energy)
{
    size_t n = 0;

    for (size_t i = 0; i < sources->n; i++) {
        n += isfinite(value_of(result_of(&sources->items[i], scenario), energy));
    }
    return n;
}

static void put_bars(struct vt_document *document, const struct vt_sources *sources,
                     enum vt_scenario scenario, bool energy)
{
    static const struct vt_column columns[] = {{"Run", false}, {"Result", true}};
    const bool latency = scenario == VT_SINGLESTREAM || scenario == VT_MULTISTREAM;
    const char *what = energy ? "Energy of a sample" : latency ? "Latency" : "Throughput";
    const char *name = energy ? "energy of a sample" : latency ? "latency" : "throughput";
    const char *unit = energy                  ? "J"
                       : latency               ? "ns"
                       : scenario == VT_SERVER ? "queries/s"
                                               : "samples/s";
    struct vt_plot plot;
    double n = 0;

    vt_plot_begin(&plot, (struct vt_axis){what, unit, "linear"},
                  (struct vt_axis){"", "", "category"});
    vt_plot_series(&plot, what, "bars", false);
    for (size_t i = 0; i < sources->n; i++) {
        const double value = value_of(result_of(&sources->items[i], scenario), energy);
        if (isfinite(value)) {
            vt_plot_name(&plot, sources->items[i].name);
            vt_plot_point(&plot, value, n++);
        }
    }
    vt_add_plot(document, vt_say(document, "%s: %s", vt_scenario_name(scenario), name),
                energy || latency ? "Lower is better." : "Higher is better.", vt_plot_end(&plot),
                VT_COLUMNS_OF(columns));
    for (size_t i = 0; i < sources->n; i++) {
        const double value = value_of(result_of(&sources->items[i], scenario), energy);
        if (isfinite(value)) {
            vt_cell(document, sources->items[i].name);
            vt_cell(document,
                    energy ? vt_say_joules(document, value) : vt_say_metric(document, value, unit));
        }
    }
}

void vt_content_runs(struct vt_document *document, const struct vt_sources *sources)
{
    bool wanted[VT_SCENARIO_COUNT] = {false}, any = false;

    for (int s = 0; s < VT_SCENARIO_COUNT; s++) {
        wanted[s] = count_values(sources, (enum vt_scenario)s, false) > 1;
        any = any || wanted[s];
    }
    if (!any) {
        return;
    }
    vt_add_heading(document, 2, "Side by side");
    vt_add_bracket(document, VT_BLOCK_GRID, "");
    for (int s = 0; s < VT_SCENARIO_COUNT; s++) {
        if (wanted[s]) {
            put_bars(document, sources, (enum vt_scenario)s, false);
        }
    }
    for (int s = 0; s < VT_SCENARIO_COUNT; s++) {
        if (wanted[s] && count_values(sources, (enum vt_scenario)s, true) > 1) {
            put_bars(document, sources, (enum vt_scenario)s, true);
        }
    }
    vt_add_bracket(document, VT_BLOCK_GRID_END, "");
    for (int s = 0; s < VT_SCENARIO_COUNT; s++) {
        if (wanted[s]) {
            put_table(document, sources, (enum vt_scenario)s);
        }
    }
}
