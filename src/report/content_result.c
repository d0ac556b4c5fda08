/* SPDX-License-Identifier: Apache-2.0 */
/* One performance result: how latencies are distributed, and rate and power over time. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "report/content.h"
#include "report/distribution.h"
#include "report/plot.h"
#include "report/reader.h"
#include "report/tracks.h"

#define CURVE_POINTS 160
#define TABLE_ROWS   24

/* The folder of a result below that of the run, from words that are known: no path is ever taken
 * from a file. NULL where they are not, or out of memory. */
static char *folder_of(const struct vt_source *source, const json_t *result)
{
    const char *scenario = vt_read_text(result, "scenario");
    const char *test = vt_read_text(result, "test_mode");
    const char *known = NULL;

    for (int i = 0; i < VT_SCENARIO_COUNT && scenario != NULL; i++) {
        if (strcmp(scenario, vt_scenario_key((enum vt_scenario)i)) == 0) {
            known = vt_scenario_key((enum vt_scenario)i);
        }
    }
    if (known == NULL) {
        return NULL;
    }
    const char *below = "performance/run_1";
    if (test != NULL && strcmp(test, vt_mode_name(VT_SUBMISSION)) == 0) {
        below = "submission/performance";
    } else if (test != NULL && strcmp(test, vt_mode_name(VT_FIND_PEAK)) == 0) {
        below = "find-peak";
    }
    return vt_asprintf("%s/%s/%s", source->folder, known, below);
}

/* --- facts ----------------------------------------------------------------------------------- */

static void put_facts(struct vt_document *document, const json_t *result)
{
    const json_t *limits = vt_read_object(result, "limits");
    const json_t *stopping = vt_read_object(result, "early_stopping");
    const json_t *lateness = vt_read_object(result, "issue_lateness_ns");
    const json_t *metric = vt_read_object(result, "metric");
    const char *target = vt_say_duration(document, vt_read_number(limits, "target_latency_ns"));
    const double failed = vt_read_number(result, "samples_failed"),
                 lost = vt_read_number(result, "samples_lost");

    vt_add_facts(document);
    vt_fact(document, "Result",
            vt_say_metric(document, vt_read_number(metric, "value"), vt_read_text(metric, "unit")));
    if (target != NULL) {
        const double percentile = vt_read_number(limits, "target_percentile_percent");
        vt_fact(document, "Limit",
                vt_say(document, "%s at p%.4g", target, isfinite(percentile) ? percentile : 99));
    }
    vt_fact(document, "Rate",
            vt_say_number(document, vt_read_number(result, "target_qps"), "queries/s"));
    vt_fact(document, "Peak that held",
            vt_say_number(document, vt_read_number(vt_read_object(result, "find_peak"), "qps"),
                          "queries/s"));
    vt_fact(document, "Queries", vt_say_count(document, vt_read_number(result, "queries")));
    vt_fact(document, "Samples", vt_say_count(document, vt_read_number(result, "samples")));
    vt_fact(document, "Requests", vt_say_count(document, vt_read_number(result, "requests")));
    vt_fact(document, "Duration", vt_say_duration(document, vt_read_number(result, "duration_ns")));
    if (failed > 0 || lost > 0) {
        vt_fact(document, "Failed", vt_say_count(document, failed));
        vt_fact(document, "Never answered", vt_say_count(document, lost));
    }
    vt_fact(document, "Issued late, p99",
            vt_say_duration(document, vt_read_number(lateness, "p99")));
    if (vt_read_flag(stopping, "met") >= 0) {
        vt_fact(document, "Early stopping", vt_read_flag(stopping, "met") == 1 ? "met" : "not met");
    }
    vt_fact(document, "Search", vt_read_text(vt_read_object(result, "rate_search"), "text"));
}

static void put_stages(struct vt_document *document, const json_t *result)
{
    static const struct vt_column columns[] = {
        {"Stage", false}, {"Mean", true}, {"p50", true}, {"p99", true}};
    static const char *const names[][2] = {{"queue", "Queue"},
                                           {"batch_wait", "Waiting for a batch"},
                                           {"copy", "Copying"},
                                           {"compute", "Computing"},
                                           {"completion", "Completing"}};
    const json_t *stages = vt_read_object(result, "stages_ns");

    if (stages == NULL) {
        return;
    }
    vt_add_table(document, "Where the time of a sample went", VT_COLUMNS_OF(columns));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const json_t *stage = vt_read_object(stages, names[i][0]);
        vt_cell(document, names[i][1]);
        vt_cell(document, vt_say_duration(document, vt_read_number(stage, "mean")));
        vt_cell(document, vt_say_duration(document, vt_read_number(stage, "p50")));
        vt_cell(document, vt_say_duration(document, vt_read_number(stage, "p99")));
    }
}

static void put_tokens(struct vt_document *document, const json_t *result)
{
    static const struct vt_column columns[] = {{"Token", false}, {"p50", true}, {"p90", true},
                                               {"p99", true},    {"Max", true}, {"Limit", true}};
    static const char *const names[][3] = {
        {"first_token_ns", "first_token_limit_ns", "First"},
        {"per_output_token_ns", "per_output_token_limit_ns", "Each further"}};
    static const char *const keys[] = {"p50", "p90", "p99", "max"};
    const json_t *tokens = vt_read_object(result, "tokens");

    if (tokens == NULL) {
        return;
    }
    vt_add_facts(document);
    vt_fact(document, "Tokens", vt_say_count(document, vt_read_number(tokens, "total")));
    vt_fact(document, "Token rate",
            vt_say_number(document, vt_read_number(tokens, "per_second"), "tokens/s"));
    vt_add_table(document, "Latency of tokens", VT_COLUMNS_OF(columns));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const json_t *latency = vt_read_object(tokens, names[i][0]);
        if (latency == NULL) {
            continue;
        }
        vt_cell(document, names[i][2]);
        for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
            vt_cell(document, vt_say_duration(document, vt_read_number(latency, keys[k])));
        }
        vt_cell(document, vt_say_duration(document, vt_read_number(tokens, names[i][1])));
    }
}

/* --- latency --------------------------------------------------------------------------------- */

static const struct {
    const char *key, *label;
    double p;
} percentiles[] = {{"p50", "p50", 0.5},  {"p90", "p90", 0.9},  {"p95", "p95", 0.95},
                   {"p97", "p97", 0.97}, {"p99", "p99", 0.99}, {"p99_9", "p99.9", 0.999}};
#define N_PERCENTILES (sizeof percentiles / sizeof percentiles[0])

/* Of samples: exact from result.json, else from the classes. */
static double percentile_of(const json_t *result, const struct vt_distribution *d, size_t i)
{
    const double exact = vt_read_number(vt_read_object(result, "latency_ns"), percentiles[i].key);
    return exact > 0 ? exact : vt_distribution_percentile(d, percentiles[i].p);
}

static void put_histogram(struct vt_document *document, const json_t *result,
                          const struct vt_distribution *d)
{
    static const struct vt_column columns[] = {{"Latency", false}, {"Value", true}};
    static const size_t marked[] = {0, 1, 4, 5};
    struct vt_plot plot;

    vt_plot_begin(&plot, (struct vt_axis){"Latency of a sample", "ns", "log"},
                  (struct vt_axis){"Share of samples", "%", "linear"});
    vt_plot_series(&plot, vt_content_scenario(result), "step", false);
    for (uint32_t i = 0; i < d->n_bars; i++) {
        vt_plot_point(&plot, d->bar_edges[i], 100 * (double)d->bars[i] / (double)d->n);
    }
    vt_plot_point(&plot, d->bar_edges[d->n_bars], 0);
    for (size_t i = 0; i < sizeof marked / sizeof marked[0]; i++) {
        vt_plot_mark(&plot, percentile_of(result, d, marked[i]), percentiles[marked[i]].label);
    }
    const char *p50 = vt_say_duration(document, percentile_of(result, d, 0));
    const char *p99 = vt_say_duration(document, percentile_of(result, d, 4));
    vt_add_plot(document, "Latency distribution",
                vt_say(document,
                       "Histogram of %llu latencies on a logarithmic axis: half are below "
                       "%s, 99 %% below %s.",
                       (unsigned long long)d->n, p50 != NULL ? p50 : "?", p99 != NULL ? p99 : "?"),
                vt_plot_end(&plot), VT_COLUMNS_OF(columns));
    vt_cell(document, "min");
    vt_cell(document, vt_say_duration(document, (double)d->min_ns));
    for (size_t i = 0; i < N_PERCENTILES; i++) {
        vt_cell(document, percentiles[i].label);
        vt_cell(document, vt_say_duration(document, percentile_of(result, d, i)));
    }
    vt_cell(document, "max");
    vt_cell(document, vt_say_duration(document, (double)d->max_ns));
}

static void put_curve(struct vt_document *document, const json_t *result,
                      const struct vt_distribution *d)
{
    static const struct vt_column columns[] = {{"Percentile", false}, {"Latency", true}};
    const double limit = vt_read_number(vt_read_object(result, "limits"), "target_latency_ns");
    const double most = log10((double)d->n + 1);
    struct vt_plot plot;

    vt_plot_begin(&plot, (struct vt_axis){"Percentile", "", "nines"},
                  (struct vt_axis){"Latency of a sample", "ns", "log"});
    vt_plot_series(&plot, vt_content_scenario(result), "line", false);
    for (int i = 0; i <= CURVE_POINTS; i++) {
        const double nines = most * i / CURVE_POINTS;
        vt_plot_point(&plot, nines, vt_distribution_percentile(d, 1 - pow(10, -nines)));
    }
    if (limit > 0) {
        vt_plot_series(&plot, "limit", "dashed", false);
        vt_plot_point(&plot, 0, limit);
        vt_plot_point(&plot, most, limit);
    }
    vt_add_plot(document, "Percentiles",
                "Latency over percentile, where every nine more takes as much room: the tail is "
                "on the right.",
                vt_plot_end(&plot), VT_COLUMNS_OF(columns));
    static const double rows[] = {0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i] < 1 - 0.5 / (double)d->n) {
            vt_cellf(document, "%.6g %%", 100 * rows[i]);
            vt_cell(document, vt_say_duration(document, vt_distribution_percentile(d, rows[i])));
        }
    }
}

/* --- over time ------------------------------------------------------------------------------- */

static void put_rate(struct vt_document *document, const json_t *result,
                     const struct vt_distribution *d)
{
    static const struct vt_column columns[] = {
        {"Time", true}, {"Completed", true}, {"Scheduled", true}};
    const bool server = strcmp(vt_content_scenario(result), vt_scenario_name(VT_SERVER)) == 0;
    const double per_second = 1e9 / (double)d->bin_ns;
    /* The last bin is rarely whole, and what is left of it says nothing. */
    const uint32_t n = d->n_bins > 2 ? d->n_bins - 1 : d->n_bins;
    struct vt_plot plot;

    vt_plot_begin(&plot, (struct vt_axis){"Time", "s", "linear"},
                  (struct vt_axis){"Throughput", "samples/s", "linear"});
    vt_plot_series(&plot, "completed", "line", false);
    for (uint32_t i = 0; i < n; i++) {
        const double at = (double)d->begin_ns + ((double)i + 0.5) * (double)d->bin_ns;
        vt_plot_point(&plot, at / 1e9, (double)d->completed[i] * per_second);
    }
    if (server) {
        vt_plot_series(&plot, "scheduled", "dashed", false);
        for (uint32_t i = 0; i < n; i++) {
            const double at = (double)d->begin_ns + ((double)i + 0.5) * (double)d->bin_ns;
            vt_plot_point(&plot, at / 1e9, (double)d->scheduled[i] * per_second);
        }
    }
    const char *bin = vt_say_duration(document, (double)d->bin_ns);
    vt_add_plot(document, "Throughput over time",
                vt_say(document, "Samples completed a second, counted over %s each.",
                       bin != NULL ? bin : "?"),
                vt_plot_end(&plot), columns, server ? 3 : 2);
    const uint32_t step = n / TABLE_ROWS + 1;
    for (uint32_t i = 0; i < n; i += step) {
        uint64_t due = 0, done = 0;
        uint32_t k = i;
        for (; k < i + step && k < n; k++) {
            due += d->scheduled[k];
            done += d->completed[k];
        }
        const double seconds = (double)(k - i) * (double)d->bin_ns / 1e9;
        vt_cell(document,
                vt_say_duration(document, (double)d->begin_ns + (double)i * (double)d->bin_ns));
        vt_cell(document, vt_say_number(document, (double)done / seconds, "/s"));
        if (server) {
            vt_cell(document, vt_say_number(document, (double)due / seconds, "/s"));
        }
    }
}

/* Watts in a part of the time: readings as they are; of a counter of joules the slope since the
 * part before that has readings. */
static bool watts_of(const struct vt_track *track, uint32_t i, double *low, double *mean,
                     double *high)
{
    const struct vt_track_bin *bin = &track->bins[i];

    if (bin->n == 0) {
        return false;
    }
    *low = bin->low;
    *high = bin->high;
    *mean = bin->sum / (double)bin->n;
    if (strcmp(track->unit, "J") != 0) {
        return true;
    }
    while (i > 0 && track->bins[i - 1].n == 0) {
        i--;
    }
    if (i == 0 || bin->last_ns <= track->bins[i - 1].last_ns) {
        return false;
    }
    const struct vt_track_bin *before = &track->bins[i - 1];
    const double seconds = ((double)bin->last_ns - (double)before->last_ns) / 1e9;
    *low = *mean = *high = (bin->last - before->last) / seconds;
    return *mean >= 0;
}

static void put_track(struct vt_plot *plot, const struct vt_tracks *tracks,
                      const struct vt_track *track)
{
    double low, mean, high;

    vt_plot_series(plot, track->name, "band", false);
    for (uint32_t i = 0; i < VT_TRACK_BINS; i++) {
        if (watts_of(track, i, &low, &mean, &high)) {
            vt_plot_rich_point(plot, vt_tracks_time(tracks, i) / 1e9, mean, low, high, NULL);
        }
    }
}

static bool is_power(const struct vt_track *track)
{
    return strcmp(track->unit, "W") == 0 || strcmp(track->unit, "J") == 0;
}

/* All tracks of one unit; those of power and energy are one. */
static void put_tracks_of(struct vt_document *document, const struct vt_tracks *tracks,
                          const struct vt_track *like, double end_ns)
{
    static const struct vt_column columns[] = {
        {"Series", false}, {"Readings", true}, {"Lowest", true}, {"Mean", true}, {"Highest", true}};
    const bool power = is_power(like);
    const char *unit = power ? "W" : like->unit;
    const char *what = power ? "Power"
                       : strcmp(unit, "\xc2\xb0"
                                      "C") == 0
                           ? "Temperature"
                       : strcmp(unit, "MHz") == 0 ? "Clock"
                                                  : "Reading";
    struct vt_plot plot;

    vt_plot_begin(&plot, (struct vt_axis){"Time", "s", "linear"},
                  (struct vt_axis){what, unit, "linear"});
    for (uint32_t i = 0; i < tracks->n; i++) {
        const struct vt_track *track = &tracks->tracks[i];
        if (power ? is_power(track) : strcmp(track->unit, unit) == 0) {
            put_track(&plot, tracks, track);
        }
    }
    vt_plot_mark(&plot, 0, "start");
    if (end_ns > 0) {
        vt_plot_mark(&plot, end_ns / 1e9, "end");
    }
    vt_add_plot(document, vt_say(document, "%s over time", what), "Mean and span of the readings.",
                vt_plot_end(&plot), VT_COLUMNS_OF(columns));
    for (uint32_t i = 0; i < tracks->n; i++) {
        const struct vt_track *track = &tracks->tracks[i];
        if (power ? is_power(track) : strcmp(track->unit, unit) == 0) {
            vt_cell(document, track->name);
            vt_cell(document, vt_say_count(document, (double)track->n));
            vt_cell(document, vt_say_number(document, track->low, track->unit));
            vt_cell(document, vt_say_number(document, track->sum / (double)track->n, track->unit));
            vt_cell(document, vt_say_number(document, track->high, track->unit));
        }
    }
}

static void put_tracks(struct vt_document *document, const struct vt_tracks *tracks, double end_ns)
{
    for (uint32_t i = 0; i < tracks->n; i++) {
        bool first = true;
        for (uint32_t k = 0; k < i; k++) {
            const bool same = is_power(&tracks->tracks[i])
                                  ? is_power(&tracks->tracks[k])
                                  : strcmp(tracks->tracks[k].unit, tracks->tracks[i].unit) == 0;
            first = first && !same;
        }
        if (first) {
            put_tracks_of(document, tracks, &tracks->tracks[i], end_ns);
        }
    }
}

/* --- together -------------------------------------------------------------------------------- */

static enum vt_status put_records(struct vt_document *document, const char *folder,
                                  const json_t *result, struct vt_error *err)
{
    struct vt_records records = {0};
    char *path = vt_path_join(folder, "records.vtr");

    if (path == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for a report");
    }
    if (!vt_path_exists(path)) {
        vt_add_text(document, VT_BLOCK_NOTE,
                    "records.vtr is not there: no distribution and nothing over time.");
        vt_free(path);
        return VT_OK;
    }
    struct vt_distribution *d = vt_alloc(sizeof *d);
    enum vt_status status = d != NULL
                                ? vt_records_open(path, err, &records)
                                : vt_error_set(err, VT_ERR_MEMORY, "out of memory for a report");
    if (status == VT_OK) {
        vt_distribution_make(&records, d);
        if (d->n > 0 && vt_content_latency(result) != NULL) {
            put_histogram(document, result, d);
            put_curve(document, result, d);
        }
        if (d->n > 0) {
            put_rate(document, result, d);
        }
        vt_records_release(&records);
    }
    vt_free(d);
    vt_free(path);
    return status;
}

static enum vt_status put_power(struct vt_document *document, const char *folder,
                                const json_t *result, struct vt_error *err)
{
    struct vt_tracks tracks = {0};
    char *path = vt_path_join(folder, "power.csv");
    enum vt_status status = VT_OK;

    if (path == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for a report");
    }
    if (vt_path_exists(path)) {
        status = vt_tracks_read(path, err, &tracks);
    }
    if (status == VT_OK) {
        put_tracks(document, &tracks, vt_read_number(result, "duration_ns"));
        vt_tracks_release(&tracks);
    }
    vt_free(path);
    return status;
}

enum vt_status vt_content_result(struct vt_document *document, const struct vt_source *source,
                                 const json_t *result, struct vt_error *err)
{
    char *folder = folder_of(source, result);
    enum vt_status status = VT_OK;

    vt_add_heading(document, 3, vt_content_scenario(result));
    put_facts(document, result);
    put_tokens(document, result);
    put_stages(document, result);
    if (folder != NULL) {
        vt_add_bracket(document, VT_BLOCK_GRID, "");
        status = put_records(document, folder, result, err);
        if (status == VT_OK) {
            status = put_power(document, folder, result, err);
        }
        vt_add_bracket(document, VT_BLOCK_GRID_END, "");
    }
    vt_free(folder);
    return status;
}
