/* SPDX-License-Identifier: Apache-2.0 */
/* Energy of a run's results: what was measured, how sure it is, how meters agree, what is missing.
 */
#include <math.h>
#include <string.h>

#include "report/content.h"
#include "report/plot.h"
#include "report/reader.h"
#include "result/text.h"

static const json_t *energy_of(const json_t *result)
{
    const json_t *energy = vt_read_object(result, "energy");
    return vt_read_flag(energy, "measured") == 1 ? energy : NULL;
}

static const char *joules(struct vt_document *document, const json_t *energy, const char *value,
                          const char *uncertainty)
{
    return vt_say_uncertain(document, vt_read_number(energy, value),
                            vt_read_number(energy, uncertainty), "J");
}

/* One row a scenario: of the meter with the widest scope. */
static void put_headlines(struct vt_document *document, const json_t *results)
{
    static const struct vt_column columns[] = {
        {"Scenario", false}, {"Meter", false},     {"Energy", true},      {"Mean", true},
        {"Peak", true},      {"A sample", true},   {"Samples/s/W", true}, {"mJ/query", true},
        {"A token", true},   {"Above idle", true}, {"Standing", false}};
    const json_t *result;
    size_t i;

    vt_add_table(document, "Energy of each result", VT_COLUMNS_OF(columns));
    json_array_foreach(results, i, result)
    {
        const json_t *energy = energy_of(result);
        if (energy == NULL) {
            continue;
        }
        vt_cell(document, vt_content_scenario(result));
        vt_cell(document, vt_read_text(energy, "headline"));
        vt_cell(document, joules(document, energy, "joules", "uncertainty_joules"));
        vt_cell(document, vt_say_number(document, vt_read_number(energy, "mean_watts"), "W"));
        vt_cell(document, vt_say_number(document, vt_read_number(energy, "peak_watts"), "W"));
        vt_cell(document, vt_say_joules(document, vt_read_number(energy, "joules_per_sample")));
        vt_cell(document,
                vt_say_number(document, vt_read_number(energy, "samples_per_second_per_watt"), ""));
        vt_cell(document,
                vt_say_number(document, vt_read_number(energy, "millijoules_per_query"), ""));
        vt_cell(document, vt_say_joules(document, vt_read_number(energy, "joules_per_token")));
        vt_cell(document,
                joules(document, energy, "above_idle_joules", "above_idle_uncertainty_joules"));
        vt_cell(document, vt_read_text(energy, "tier"));
    }
    vt_add_text(
        document, VT_BLOCK_NOTE,
        "\xe2\x80\x9cinformative\xe2\x80\x9d: not a power result of MLPerf, which needs "
        "MLCommons\xe2\x80\x99 own client and server and a certified analyzer at the wall. "
        "The true energy of what a meter sees lies within \xc2\xb1, as far as the sensor is "
        "right.");
}

/* What the machine took while it waited, and what measuring cost. */
static void put_costs(struct vt_document *document, const json_t *results)
{
    const json_t *result, *meter;
    double cost = -1;
    bool idle = false;
    size_t i, k;

    vt_add_facts(document);
    json_array_foreach(results, i, result)
    {
        const json_t *before = vt_read_object(energy_of(result), "idle");
        json_array_foreach(vt_read_array(before, "meters"), k, meter)
        {
            const char *name = vt_read_text(meter, "name");
            if (!idle && name != NULL) {
                vt_fact(document, vt_say(document, "Idle before, %s", name),
                        vt_say_uncertain(document, vt_read_number(meter, "watts"),
                                         vt_read_number(meter, "uncertainty_watts"), "W"));
            }
        }
        idle = idle || before != NULL;
        const json_t *metering = vt_read_object(energy_of(result), "metering");
        cost = fmax(cost, vt_read_number(metering, "share_percent"));
    }
    if (cost >= 0) {
        vt_fact(document, "Metering took at most", vt_say_number(document, cost, "% of one CPU"));
    }
}

/* Period between readings: "≤ 1 ms" where every one of them differed. */
static const char *period(struct vt_document *document, const json_t *domain)
{
    const double ns = vt_read_number(domain, "update_period_ns");
    const char *text = ns > 0 ? vt_say_duration(document, ns) : NULL;

    if (text != NULL && vt_read_flag(domain, "update_period_at_most") == 1) {
        return vt_say(document, "\xe2\x89\xa4 %s", text);
    }
    return text;
}

static void put_domain(struct vt_document *document, const char *meter, const json_t *domain)
{
    const char *note = vt_read_text(domain, "failure");

    vt_cellf(document, "%s/%s", meter,
             vt_read_text(domain, "name") != NULL ? vt_read_text(domain, "name") : VT_NO_NUMBER);
    vt_cell(document, vt_read_text(domain, "scope"));
    vt_cell(document, vt_read_text(domain, "inside"));
    vt_cell(document, joules(document, domain, "joules", "uncertainty_joules"));
    vt_cell(document, vt_say_number(document, vt_read_number(domain, "edges_joules"), "J"));
    vt_cell(document, vt_say_number(document, vt_read_number(domain, "quantum_joules"), "J"));
    vt_cell(document, vt_say_number(document, vt_read_number(domain, "class_joules"), "J"));
    vt_cell(document, vt_say_number(document, vt_read_number(domain, "mean_watts"), "W"));
    vt_cell(document, vt_say_number(document, vt_read_number(domain, "mlperf_mean_watts"), "W"));
    vt_cell(document, vt_say_number(document, vt_read_number(domain, "peak_watts"), "W"));
    vt_cell(document, vt_say_count(document, vt_read_number(domain, "readings")));
    vt_cell(document, period(document, domain));
    vt_cell(document, note != NULL ? note : vt_read_text(domain, "note"));
}

static void put_meters(struct vt_document *document, const char *scenario, const json_t *energy)
{
    static const struct vt_column columns[] = {{"Domain", false},
                                               {"Scope", false},
                                               {"Inside", false},
                                               {"Energy", true},
                                               {"of \xc2\xb1: edges", true},
                                               {"quantum", true},
                                               {"class", true},
                                               {"Mean", true},
                                               {"MLPerf\xe2\x80\x99s mean", true},
                                               {"Peak", true},
                                               {"Readings", true},
                                               {"Renewed every", true},
                                               {"Note", false}};
    const json_t *meters = vt_read_array(energy, "meters"), *meter, *domain;
    size_t i, k;

    if (json_array_size(meters) == 0) {
        return;
    }
    vt_add_table(document, vt_say(document, "%s: every domain of every meter", scenario),
                 VT_COLUMNS_OF(columns));
    json_array_foreach(meters, i, meter)
    {
        const char *name = vt_read_text(meter, "name");
        const char *failure = vt_read_text(meter, "failure");
        const json_t *domains = vt_read_array(meter, "domains");
        name = name != NULL ? name : VT_NO_NUMBER;
        json_array_foreach(domains, k, domain)
        {
            put_domain(document, name, domain);
        }
        if (failure != NULL) {
            vt_cell(document, name);
            for (int column = 1; column < 12; column++) {
                vt_cell(document, NULL);
            }
            vt_cell(document, failure);
        }
    }
}

/* Meters that measure the same thing, and by how much they differ. */
static void put_agreement(struct vt_document *document, const json_t *results)
{
    static const struct vt_column columns[] = {{"Scenario", false},
                                               {"Meter", false},
                                               {"Other meter", false},
                                               {"Difference", true},
                                               {"Within \xc2\xb1", false}};
    const json_t *result, *pair;
    bool begun = false;
    size_t i, k;

    json_array_foreach(results, i, result)
    {
        json_array_foreach(vt_read_array(energy_of(result), "differences"), k, pair)
        {
            const int within = vt_read_flag(pair, "within_uncertainty");
            if (!begun) {
                vt_add_table(document, "Agreement of meters that measure the same",
                             VT_COLUMNS_OF(columns));
                begun = true;
            }
            vt_cell(document, vt_content_scenario(result));
            vt_cell(document, vt_read_text(pair, "a"));
            vt_cell(document, vt_read_text(pair, "b"));
            vt_cell(document, vt_say_number(document, vt_read_number(pair, "percent"), "%"));
            vt_cell(document, within < 0 ? NULL : within ? "yes" : "no");
        }
    }
}

/* Energy of every domain with its span: what agrees overlaps. */
static void put_span_plot(struct vt_document *document, const char *scenario, const json_t *energy)
{
    static const struct vt_column columns[] = {
        {"Domain", false}, {"Energy", true}, {"Lowest", true}, {"Highest", true}};
    const json_t *meter, *domain;
    struct vt_plot plot;
    double n = 0;
    size_t i, k;

    vt_plot_begin(&plot, (struct vt_axis){"Energy", "J", "linear"},
                  (struct vt_axis){"", "", "category"});
    vt_plot_series(&plot, "energy", "spans", false);
    json_array_foreach(vt_read_array(energy, "meters"), i, meter)
    {
        json_array_foreach(vt_read_array(meter, "domains"), k, domain)
        {
            const char *name = vt_read_text(meter, "name"), *part = vt_read_text(domain, "name");
            const double value = vt_read_number(domain, "joules");
            const double span = vt_read_number(domain, "uncertainty_joules");
            if (isfinite(value) && n < 40) {
                vt_plot_name(&plot, vt_say(document, "%s/%s", name != NULL ? name : "",
                                           part != NULL ? part : ""));
                vt_plot_rich_point(&plot, value, n, value - span, value + span, NULL);
                n++;
            }
        }
    }
    json_t *json = vt_plot_end(&plot);
    if (n < 2 || json == NULL) {
        json_decref(json);
        return;
    }
    const json_t *points =
        vt_read_array(json_array_get(vt_read_array(json, "series"), 0), "points");
    const json_t *spans = vt_read_array(json_array_get(vt_read_array(json, "series"), 0), "spans");
    const json_t *names = vt_read_array(json, "names");
    vt_add_plot(document, vt_say(document, "Meters beside each other, %s", scenario),
                "Energy of each domain with its uncertainty. Domains that measure the same overlap "
                "where the meters agree.",
                json, VT_COLUMNS_OF(columns));
    for (i = 0; i < (size_t)n; i++) {
        const json_t *span = json_array_get(spans, i);
        vt_cell(document, json_string_value(json_array_get(names, i)));
        vt_cell(document,
                vt_say_number(document,
                              json_number_value(json_array_get(json_array_get(points, i), 0)),
                              "J"));
        for (size_t edge = 0; edge < 2; edge++) {
            const json_t *value = json_array_get(span, edge);
            vt_cell(document,
                    value != NULL ? vt_say_number(document, json_number_value(value), "J") : NULL);
        }
    }
}

static void put_telemetry(struct vt_document *document, const json_t *results)
{
    static const struct vt_column columns[] = {{"Scenario", false},
                                               {"Watched", false},
                                               {"Lowest", true},
                                               {"Mean", true},
                                               {"Highest", true}};
    const json_t *result, *series, *throttle;
    bool begun = false;
    size_t i, k;

    json_array_foreach(results, i, result)
    {
        const json_t *telemetry = vt_read_object(energy_of(result), "telemetry");
        json_array_foreach(vt_read_array(telemetry, "series"), k, series)
        {
            const char *unit = vt_read_text(series, "unit");
            const char *const of = unit != NULL ? unit : "";
            if (!begun) {
                vt_add_table(document, "Temperatures and clocks", VT_COLUMNS_OF(columns));
                begun = true;
            }
            vt_cell(document, vt_content_scenario(result));
            vt_cell(document, vt_read_text(series, "name"));
            vt_cell(document, vt_say_number(document, vt_read_number(series, "min"), of));
            vt_cell(document, vt_say_number(document, vt_read_number(series, "mean"), of));
            vt_cell(document, vt_say_number(document, vt_read_number(series, "max"), of));
        }
    }
    json_array_foreach(results, i, result)
    {
        const json_t *telemetry = vt_read_object(energy_of(result), "telemetry");
        json_array_foreach(vt_read_array(telemetry, "throttled"), k, throttle)
        {
            const char *reason = vt_read_text(throttle, "reason");
            const char *share =
                vt_say_number(document, vt_read_number(throttle, "share_percent"), "%");
            if (reason != NULL && share != NULL) {
                vt_add_text(document, VT_BLOCK_NOTE,
                            vt_say(document, "%s: throttled %s of the time: %s",
                                   vt_content_scenario(result), share, reason));
            }
        }
    }
}

/* What each meter lacks, once. */
static void put_unavailable(struct vt_document *document, const json_t *results)
{
    static const struct vt_column columns[] = {{"Meter", false},
                                               {"Why not, and the remedy", false}};
    const json_t *result, *meter;
    size_t i, k;

    json_array_foreach(results, i, result)
    {
        const json_t *missing = vt_read_array(vt_read_object(result, "energy"), "unavailable");
        if (json_array_size(missing) == 0) {
            continue;
        }
        vt_add_bracket(document, VT_BLOCK_FOLD, "Meters that cannot measure here");
        vt_add_table(document, "Meters that cannot measure here", VT_COLUMNS_OF(columns));
        json_array_foreach(missing, k, meter)
        {
            vt_cell(document, vt_read_text(meter, "name"));
            vt_cell(document, vt_read_text(meter, "reason"));
        }
        vt_add_bracket(document, VT_BLOCK_FOLD_END, "");
        return;
    }
}

static void put_unmeasured(struct vt_document *document, const json_t *results)
{
    const json_t *result;
    const char *last = NULL;
    size_t i;

    json_array_foreach(results, i, result)
    {
        const char *reason = vt_read_text(vt_read_object(result, "energy"), "reason");
        if (vt_content_measured(result) && energy_of(result) == NULL && reason != NULL &&
            (last == NULL || strcmp(last, reason) != 0)) {
            vt_add_text(document, VT_BLOCK_NOTE, reason);
            last = reason;
        }
    }
}

void vt_content_energy(struct vt_document *document, const json_t *results)
{
    const json_t *result;
    bool any = false, known = false;
    size_t i;

    json_array_foreach(results, i, result)
    {
        any = any || energy_of(result) != NULL;
        known = known || vt_read_object(result, "energy") != NULL;
    }
    if (!known) {
        return;
    }
    vt_add_heading(document, 3, "Energy");
    if (any) {
        put_headlines(document, results);
        put_costs(document, results);
        put_agreement(document, results);
        vt_add_bracket(document, VT_BLOCK_GRID, "");
        json_array_foreach(results, i, result)
        {
            put_span_plot(document, vt_content_scenario(result), energy_of(result));
        }
        vt_add_bracket(document, VT_BLOCK_GRID_END, "");
        put_telemetry(document, results);
        vt_add_bracket(document, VT_BLOCK_FOLD, "Every meter and domain");
        json_array_foreach(results, i, result)
        {
            put_meters(document, vt_content_scenario(result), energy_of(result));
        }
        vt_add_bracket(document, VT_BLOCK_FOLD_END, "");
    }
    put_unmeasured(document, results);
    put_unavailable(document, results);
}
