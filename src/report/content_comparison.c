/* SPDX-License-Identifier: Apache-2.0 */
/* What `vatio compare` measured: engines in turns on one model. */
#include <math.h>

#include "report/content.h"
#include "report/plot.h"
#include "report/reader.h"

struct measure {
    const char *part, *median, *rounds;
    const char *title, *axis, *unit;
};

static const struct measure measures[] = {
    {"offline", "median", "rounds", "Offline throughput, higher is better", "Throughput",
     "samples/s"},
    {"singlestream", "median_p50", "rounds_p50", "SingleStream median latency, lower is better",
     "Latency", "ns"},
};

/* "0.954, 0.838 to 1.19": how many times as fast as the first engine. */
static const char *speed_of(struct vt_document *document, const json_t *part, bool first)
{
    const json_t *speed = vt_read_object(part, "speed");
    const char *ratio = vt_say_number(document, vt_read_number(speed, "ratio"), "");
    const char *low = vt_say_number(document, vt_read_number(speed, "low"), "");
    const char *high = vt_say_number(document, vt_read_number(speed, "high"), "");

    if (first) {
        return "1";
    }
    return ratio != NULL && low != NULL && high != NULL
               ? vt_say(document, "%s (%s to %s)", ratio, low, high)
               : ratio;
}

static void put_engines(struct vt_document *document, const json_t *engines)
{
    static const struct vt_column columns[] = {{"Engine", false},
                                               {"What", false},
                                               {"Offline", true},
                                               {"Offline speed", true},
                                               {"SingleStream p50", true},
                                               {"p90", true},
                                               {"SingleStream speed", true},
                                               {"Batch", true},
                                               {"Opens in", true},
                                               {"First answer", true},
                                               {"Outputs", false}};
    const json_t *engine, *output;
    size_t i, k;

    vt_add_table(document, "Engines", VT_COLUMNS_OF(columns));
    json_array_foreach(engines, i, engine)
    {
        const json_t *offline = vt_read_object(engine, "offline");
        const json_t *single = vt_read_object(engine, "singlestream");
        const json_t *outputs = vt_read_array(engine, "outputs");
        bool agree = true;
        json_array_foreach(outputs, k, output)
        {
            agree = agree && vt_read_flag(output, "agrees") == 1;
        }
        vt_cell(document, vt_read_text(engine, "label"));
        vt_cell(document, vt_read_text(engine, "description"));
        vt_cell(document, vt_say_number(document, vt_read_number(offline, "median"), "samples/s"));
        vt_cell(document, speed_of(document, offline, i == 0));
        vt_cell(document, vt_say_duration(document, vt_read_number(single, "median_p50")));
        vt_cell(document, vt_say_duration(document, vt_read_number(single, "median_p90")));
        vt_cell(document, speed_of(document, single, i == 0));
        vt_cell(document, vt_say_count(document, vt_read_number(engine, "batch_max")));
        vt_cell(document, vt_say_duration(document, vt_read_number(engine, "open_ns")));
        vt_cell(document, vt_say_duration(document, vt_read_number(engine, "first_request_ns")));
        vt_cell(document, outputs == NULL ? "reference" : agree ? "agree" : "differ");
    }
}

static void put_outputs(struct vt_document *document, const json_t *engines)
{
    static const struct vt_column columns[] = {
        {"Engine", false},        {"Output", false},  {"Type", false},
        {"Agrees", false},        {"Elements", true}, {"Beyond tolerance", true},
        {"Relative error", true}, {"RMS", true},      {"Note", false}};
    const json_t *engine, *output;
    size_t i, k;

    vt_add_table(document, "Outputs against the first engine", VT_COLUMNS_OF(columns));
    json_array_foreach(engines, i, engine)
    {
        json_array_foreach(vt_read_array(engine, "outputs"), k, output)
        {
            vt_cell(document, vt_read_text(engine, "label"));
            vt_cell(document, vt_read_text(output, "name"));
            vt_cell(document, vt_read_text(output, "type"));
            vt_cell(document, vt_read_flag(output, "agrees") == 1 ? "yes" : "no");
            vt_cell(document, vt_say_count(document, vt_read_number(output, "elements")));
            vt_cell(document, vt_say_count(document, vt_read_number(output, "beyond_tolerance")));
            vt_cell(document,
                    vt_say_number(document, vt_read_number(output, "max_relative_error"), ""));
            vt_cell(document,
                    vt_say_number(document, vt_read_number(output, "rms_relative_error"), ""));
            vt_cell(document, vt_read_text(output, "note"));
        }
    }
}

/* Bars of medians with each round's value as the text, and the span of the rounds. */
static void put_bars(struct vt_document *document, const json_t *engines,
                     const struct measure *measure)
{
    static const struct vt_column columns[] = {
        {"Engine", false}, {"Median", true}, {"Lowest round", true}, {"Highest round", true}};
    struct vt_plot plot;
    const json_t *engine, *round;
    double n = 0;
    size_t i, k;

    vt_plot_begin(&plot, (struct vt_axis){measure->axis, measure->unit, "linear"},
                  (struct vt_axis){"", "", "category"});
    vt_plot_series(&plot, measure->axis, "bars", false);
    for (int pass = 0; pass < 2; pass++) {
        json_array_foreach(engines, i, engine)
        {
            const json_t *part = vt_read_object(engine, measure->part);
            const double median = vt_read_number(part, measure->median);
            const char *label = vt_read_text(engine, "label");
            double low = NAN, high = NAN;
            json_array_foreach(vt_read_array(part, measure->rounds), k, round)
            {
                low = fmin(low, json_number_value(round));
                high = fmax(high, json_number_value(round));
            }
            if (isfinite(median) && pass == 0) {
                vt_plot_name(&plot, label != NULL ? label : "?");
                vt_plot_rich_point(&plot, median, n++, low, high, NULL);
            } else if (isfinite(median)) {
                vt_cell(document, label);
                vt_cell(document, vt_say_metric(document, median, measure->unit));
                vt_cell(document, vt_say_metric(document, low, measure->unit));
                vt_cell(document, vt_say_metric(document, high, measure->unit));
            }
        }
        if (pass == 0) {
            json_t *json = vt_plot_end(&plot);
            if (n < 1) {
                json_decref(json);
                return;
            }
            vt_add_plot(document, measure->title,
                        "Median of the rounds; the whisker spans the lowest and the highest.", json,
                        VT_COLUMNS_OF(columns));
        }
    }
}

void vt_content_comparison(struct vt_document *document, const struct vt_source *source)
{
    const json_t *comparison = vt_read_object(source->root, "comparison");
    const json_t *engines = vt_read_array(comparison, "engines");
    const int agree = vt_read_flag(source->root, "outputs_agree");
    const char *rounds = vt_say_count(document, vt_read_number(comparison, "rounds"));
    const char *turn = vt_say_duration(document, vt_read_number(comparison, "turn_ns"));

    vt_content_about(document, source);
    vt_add_verdict(document, agree == 1 ? VT_TONE_GOOD : VT_TONE_BAD,
                   agree == 1 ? "Outputs agree" : "Outputs differ",
                   "with those of the first engine");
    if (rounds != NULL && turn != NULL) {
        vt_add_text(document, VT_BLOCK_TEXT,
                    vt_say(document,
                           "The engines took turns of %s over %s rounds. Speed is how many "
                           "times as fast as the first, the ratio of medians, with its "
                           "95 %% interval.",
                           turn, rounds));
    }
    vt_add_bracket(document, VT_BLOCK_GRID, "");
    for (size_t i = 0; i < sizeof measures / sizeof measures[0]; i++) {
        put_bars(document, engines, &measures[i]);
    }
    vt_add_bracket(document, VT_BLOCK_GRID_END, "");
    put_engines(document, engines);
    put_outputs(document, engines);
    vt_content_origin(document, source, "compare");
}
