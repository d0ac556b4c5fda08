/* SPDX-License-Identifier: Apache-2.0 */
/* One table for all kinds: what a row has no number for is empty. */
#include <math.h>
#include <string.h>

#include "report/content.h"
#include "report/reader.h"
#include "report/writers.h"

enum column {
    SOURCE,
    KIND,
    ITEM,
    MODEL,
    ENGINE,
    SCENARIO,
    MODE,
    VALID,
    RULES_MET,
    BATCH,
    LANES,
    CAP,
    REPEAT,
    STATE,
    METRIC,
    VALUE,
    UNIT,
    SAMPLES_PER_SECOND,
    P50,
    P90,
    P95,
    P97,
    P99,
    P99_9,
    MAX,
    QUERIES,
    SAMPLES,
    DURATION,
    QUALITY,
    QUALITY_UNIT,
    JOULES,
    UNCERTAINTY,
    MEAN_WATTS,
    PEAK_WATTS,
    JOULES_PER_SAMPLE,
    EFFICIENCY,
    TIME,
    FLOPS,
    BYTES,
    SPEED,
    SPEED_LOW,
    SPEED_HIGH,
    REASONS,
    COLUMNS,
};

static const char *const titles[COLUMNS] = {"source",
                                            "kind",
                                            "item",
                                            "model",
                                            "engine",
                                            "scenario",
                                            "mode",
                                            "valid",
                                            "rules_met",
                                            "batch",
                                            "lanes",
                                            "cap",
                                            "repeat",
                                            "state",
                                            "metric",
                                            "value",
                                            "unit",
                                            "samples_per_second",
                                            "p50_ns",
                                            "p90_ns",
                                            "p95_ns",
                                            "p97_ns",
                                            "p99_ns",
                                            "p99_9_ns",
                                            "max_ns",
                                            "queries",
                                            "samples",
                                            "duration_ns",
                                            "quality",
                                            "quality_unit",
                                            "joules",
                                            "uncertainty_joules",
                                            "mean_watts",
                                            "peak_watts",
                                            "joules_per_sample",
                                            "samples_per_second_per_watt",
                                            "time_ns",
                                            "flops",
                                            "bytes",
                                            "speed",
                                            "speed_low",
                                            "speed_high",
                                            "reasons"};

struct row {
    const char *text[COLUMNS]; /* NULL: the number */
    double number[COLUMNS];    /* NAN: empty */
    const json_t *reasons;
};

static void begin_row(struct row *row, const struct vt_source *source, const char *kind)
{
    for (int i = 0; i < COLUMNS; i++) {
        row->text[i] = NULL;
        row->number[i] = NAN;
    }
    row->reasons = NULL;
    row->text[SOURCE] = source->name;
    row->text[KIND] = kind;
    row->text[MODEL] = vt_read_text(vt_read_object(source->root, "model"), "name");
}

/* In quotes, quotes doubled. What a spreadsheet would take for a formula gets a "'" before it. */
static void put_quoted(FILE *out, const char *text)
{
    (void)fputs(text[0] != '\0' && strchr("=+-@\t\r", text[0]) != NULL ? "\"'" : "\"", out);
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '"') {
            (void)fputc('"', out);
        }
        (void)fputc((unsigned char)*at < 0x20 || *at == 0x7f ? ' ' : *at, out);
    }
    (void)fputc('"', out);
}

static void put_reasons(FILE *out, const json_t *reasons)
{
    const json_t *reason;
    size_t i;

    json_array_foreach(reasons, i, reason)
    {
        if (json_is_string(reason)) {
            (void)fputs(i > 0 ? " " : "", out);
            put_quoted(out, json_string_value(reason));
        }
    }
}

static void put_row(FILE *out, const struct row *row)
{
    for (int i = 0; i < COLUMNS; i++) {
        (void)fputs(i > 0 ? "," : "", out);
        if (row->text[i] != NULL) {
            put_quoted(out, row->text[i]);
        } else if (i == REASONS && row->reasons != NULL) {
            put_reasons(out, row->reasons);
        } else if (isfinite(row->number[i])) {
            (void)fprintf(out, "%.17g", row->number[i]);
        }
    }
    (void)fputc('\n', out);
}

static void take_flag(struct row *row, int column, int flag)
{
    row->text[column] = flag < 0 ? NULL : flag ? "yes" : "no";
}

static void take_metric(struct row *row, const json_t *metric)
{
    row->text[METRIC] = vt_read_text(metric, "name");
    row->number[VALUE] = vt_read_number(metric, "value");
    row->text[UNIT] = vt_read_text(metric, "unit");
}

static void take_latency(struct row *row, const json_t *latency)
{
    static const char *const keys[] = {"p50", "p90", "p95", "p97", "p99", "p99_9", "max"};

    for (int i = 0; i < 7; i++) {
        row->number[P50 + i] = vt_read_number(latency, keys[i]);
    }
}

static void take_energy(struct row *row, const json_t *energy)
{
    row->number[JOULES] = vt_read_number(energy, "joules");
    row->number[UNCERTAINTY] = vt_read_number(energy, "uncertainty_joules");
    row->number[MEAN_WATTS] = vt_read_number(energy, "mean_watts");
    row->number[PEAK_WATTS] = vt_read_number(energy, "peak_watts");
    row->number[JOULES_PER_SAMPLE] = vt_read_number(energy, "joules_per_sample");
    row->number[EFFICIENCY] = vt_read_number(energy, "samples_per_second_per_watt");
}

static void put_results(const struct vt_source *source, FILE *out)
{
    const json_t *engine = vt_read_object(source->root, "engine"), *result;
    size_t i;

    json_array_foreach(vt_read_array(source->root, "results"), i, result)
    {
        const json_t *quality = vt_read_object(result, "quality");
        struct row row;
        begin_row(&row, source, "result");
        row.text[ENGINE] = vt_read_text(engine, "description");
        row.text[SCENARIO] = vt_read_text(result, "scenario");
        row.text[MODE] = vt_read_text(result, "mode");
        take_flag(&row, VALID, vt_read_flag(result, "valid"));
        take_flag(&row, RULES_MET, vt_read_flag(vt_read_object(result, "rules"), "met"));
        row.number[BATCH] = vt_read_number(engine, "batch_max");
        row.number[LANES] = vt_read_number(engine, "lanes");
        take_metric(&row, vt_read_object(result, "metric"));
        take_latency(&row, vt_read_object(result, "latency_ns"));
        row.number[QUERIES] = vt_read_number(result, "queries");
        row.number[SAMPLES] = vt_read_number(result, "samples");
        row.number[DURATION] = vt_read_number(result, "duration_ns");
        row.number[QUALITY] = vt_read_number(quality, "value");
        row.text[QUALITY_UNIT] = vt_read_text(quality, "unit");
        take_energy(&row, vt_read_object(result, "energy"));
        row.reasons = vt_read_array(result, "reasons");
        put_row(out, &row);
    }
}

static void put_engines(const struct vt_source *source, FILE *out)
{
    static const char *const scenarios[] = {"offline", "singlestream"};
    const json_t *comparison = vt_read_object(source->root, "comparison"), *engine;
    size_t i;

    json_array_foreach(vt_read_array(comparison, "engines"), i, engine)
    {
        for (int s = 0; s < 2; s++) {
            const json_t *part = vt_read_object(engine, scenarios[s]);
            const json_t *speed = vt_read_object(part, "speed");
            struct row row;
            if (part == NULL) {
                continue;
            }
            begin_row(&row, source, "compared engine");
            row.text[ITEM] = vt_read_text(engine, "label");
            row.text[ENGINE] = vt_read_text(engine, "description");
            row.text[SCENARIO] = scenarios[s];
            row.number[BATCH] = vt_read_number(engine, "batch_max");
            row.number[LANES] = vt_read_number(engine, "lanes");
            row.number[SAMPLES_PER_SECOND] = vt_read_number(part, "median");
            row.number[P50] = vt_read_number(part, "median_p50");
            row.number[P90] = vt_read_number(part, "median_p90");
            row.number[SPEED] = vt_read_number(speed, "ratio");
            row.number[SPEED_LOW] = vt_read_number(speed, "low");
            row.number[SPEED_HIGH] = vt_read_number(speed, "high");
            put_row(out, &row);
        }
    }
}

static void put_layers(const struct vt_source *source, FILE *out)
{
    const json_t *profile = vt_read_object(source->root, "profile"), *layer;
    size_t i;

    json_array_foreach(vt_read_array(profile, "layers"), i, layer)
    {
        struct row row;
        begin_row(&row, source, "layer");
        row.text[ITEM] = vt_read_text(layer, "node");
        row.text[ENGINE] = vt_read_text(profile, "engine");
        row.text[METRIC] = vt_read_text(layer, "op");
        row.number[BATCH] = vt_read_number(profile, "batch");
        row.number[TIME] = vt_read_number(layer, "time_ns");
        row.number[FLOPS] = vt_read_number(layer, "flops");
        row.number[BYTES] = vt_read_number(layer, "bytes");
        put_row(out, &row);
    }
}

static void put_points(const struct vt_source *source, FILE *out)
{
    const json_t *point;
    size_t i;

    json_array_foreach(vt_read_array(source->root, "points"), i, point)
    {
        const json_t *axes = vt_read_object(point, "axes");
        struct row row;
        begin_row(&row, source, "point");
        row.text[ITEM] = vt_read_text(point, "id");
        row.text[ENGINE] = vt_read_text(axes, "engine");
        row.text[SCENARIO] = vt_read_text(axes, "scenario");
        row.number[BATCH] = vt_read_number(axes, "batch");
        row.number[LANES] = vt_read_number(axes, "lanes");
        row.number[CAP] = vt_read_number(axes, "cap");
        row.number[REPEAT] = vt_read_number(point, "repeat");
        row.text[STATE] = vt_read_text(point, "state");
        take_flag(&row, VALID, vt_read_flag(point, "valid"));
        take_metric(&row, vt_read_object(point, "metric"));
        row.number[SAMPLES_PER_SECOND] = vt_read_number(point, "samples_per_second");
        take_latency(&row, vt_read_object(point, "latency_ns"));
        take_energy(&row, point);
        row.text[REASONS] = vt_read_text(point, "reason");
        put_row(out, &row);
    }
}

void vt_report_csv(const struct vt_sources *sources, FILE *out)
{
    for (int i = 0; i < COLUMNS; i++) {
        (void)fprintf(out, "%s%s", i > 0 ? "," : "", titles[i]);
    }
    (void)fputc('\n', out);
    for (size_t i = 0; i < sources->n; i++) {
        const struct vt_source *source = &sources->items[i];
        switch (source->kind) {
        case VT_SOURCE_RUN:
            put_results(source, out);
            break;
        case VT_SOURCE_COMPARISON:
            put_engines(source, out);
            break;
        case VT_SOURCE_PROFILE:
            put_layers(source, out);
            break;
        case VT_SOURCE_SWEEP:
            put_points(source, out);
            break;
        case VT_SOURCE_KINDS:
            break;
        }
    }
}
