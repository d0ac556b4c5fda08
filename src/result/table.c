/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <string.h>

#include "result/result.h"
#include "result/text.h"

#define MIN_COLUMNS 40
/* Where the text behind a label begins; on a narrow terminal two columns in, a line below. */
#define LABEL_WIDTH    15
#define NARROW_COLUMNS 60

enum { CELL_SCENARIO, CELL_RESULT, CELL_P50, CELL_P90, CELL_P99, CELL_VALID, N_CELLS };

/* A row, and what of a cell may be left out where the terminal is narrow. */
struct row {
    char cell[N_CELLS][96];
    char result_note[48]; /* " (found)" */
    char valid_note[48];  /* "  (limit 10 ms)" */
};

/* What fits: width 0 leaves a column out. */
struct layout {
    int width[N_CELLS]; /* of the cell without the gap behind it */
    int gap[N_CELLS];
    bool result_notes, valid_notes;
};

static void put_padded(FILE *out, const char *text, int width)
{
    fputs(text, out);
    for (int i = vt_text_width(text); i < width; i++) {
        putc(' ', out);
    }
}

void vt_result_print_item(FILE *out, const char *label, const char *text, int columns)
{
    if (columns < NARROW_COLUMNS) {
        if (label[0] != '\0') {
            fprintf(out, "%s\n", label);
        }
        fputs("  ", out);
        vt_text_print_wrapped(out, text, 2, 2, columns);
        return;
    }
    put_padded(out, label, LABEL_WIDTH);
    vt_text_print_wrapped(out, text, LABEL_WIDTH, LABEL_WIDTH, columns);
}

static bool is_latency(const struct vt_metric *metric)
{
    return strcmp(metric->unit, "ns") == 0;
}

/* "90" for 0.9, "99.9" for 0.999. */
static char *percentile_text(double fraction, char *text, size_t size)
{
    snprintf(text, size, "p%.6g", fraction * 100);
    return text;
}

static void fill_result_cell(const struct vt_result_entry *entry, struct row *row)
{
    const struct vt_load_report *report = entry->report;
    const struct vt_metric *metric = &report->metric;
    char number[64], percentile[32];

    if (metric->name == NULL || metric->unit == NULL) {
        snprintf(row->cell[CELL_RESULT], sizeof row->cell[CELL_RESULT], "%s", VT_NO_NUMBER);
    } else if (is_latency(metric)) {
        double fraction = entry->scenario == VT_MULTISTREAM
                              ? report->settings.multi_stream_target_latency_percentile
                              : report->settings.single_stream_target_latency_percentile;
        snprintf(row->cell[CELL_RESULT], sizeof row->cell[CELL_RESULT], "%s %s",
                 vt_duration_text((int64_t)metric->value, number, sizeof number),
                 percentile_text(fraction, percentile, sizeof percentile));
    } else {
        snprintf(row->cell[CELL_RESULT], sizeof row->cell[CELL_RESULT], "%s %s",
                 vt_number_text(metric->value, number, sizeof number), metric->unit);
    }
    if (entry->peak.qps > 0) {
        snprintf(row->result_note, sizeof row->result_note, " (peak)");
    } else if (entry->scenario == VT_SERVER && entry->rate_found) {
        snprintf(row->result_note, sizeof row->result_note, " (found)");
    } else if (entry->scenario == VT_MULTISTREAM) {
        snprintf(row->result_note, sizeof row->result_note, " (%llu samples)",
                 (unsigned long long)report->settings.multi_stream_samples_per_query);
    }
}

static void fill_latency_cells(const struct vt_result_entry *entry, struct row *row)
{
    const struct vt_load_report *report = entry->report;
    /* In Offline, where all samples are scheduled at once, a latency says nothing. */
    bool shown = report != NULL && report->samples_completed > 0 && entry->scenario != VT_OFFLINE;
    const struct vt_latency_stats none = {0};
    const struct vt_latency_stats *stats =
        !shown ? &none
               : (entry->scenario == VT_MULTISTREAM ? &report->query_latency : &report->latency);
    const int64_t values[] = {stats->p50_ns, stats->p90_ns, stats->p99_ns};

    for (int i = 0; i < 3; i++) {
        char *cell = row->cell[CELL_P50 + i];
        if (shown) {
            vt_duration_text(values[i], cell, sizeof row->cell[0]);
        } else {
            snprintf(cell, sizeof row->cell[0], "%s", VT_NO_NUMBER);
        }
    }
}

static void fill_row(const struct vt_result_entry *entry, struct row *row)
{
    char number[64];

    memset(row, 0, sizeof *row);
    snprintf(row->cell[CELL_SCENARIO], sizeof row->cell[0], "%s",
             vt_scenario_name(entry->scenario));
    fill_latency_cells(entry, row);
    if (entry->report == NULL) {
        snprintf(row->cell[CELL_RESULT], sizeof row->cell[0], "%s",
                 entry->failure.status != VT_OK ? "failed" : VT_NO_NUMBER);
        snprintf(row->cell[CELL_VALID], sizeof row->cell[0], "no");
        return;
    }
    fill_result_cell(entry, row);
    snprintf(row->cell[CELL_VALID], sizeof row->cell[0], "%s", entry->valid ? "yes" : "no");
    if (entry->scenario == VT_SERVER && entry->report->tokens == NULL) {
        int64_t limit = entry->report->settings.server_target_latency_ns;
        snprintf(row->valid_note, sizeof row->valid_note, "  (limit %s)",
                 vt_duration_text(limit, number, sizeof number));
    }
}

/* The columns that a layout takes with these rows, and the width of each cell. */
static int measure(const struct row *rows, uint32_t n, struct layout *layout, int last_gap)
{
    static const int wished[N_CELLS] = {LABEL_WIDTH, 31, 11, 11, 11, 0};
    int total = 0;

    for (int c = 0; c < N_CELLS; c++) {
        if (layout->width[c] == 0) {
            continue;
        }
        int widest = 1;
        for (uint32_t r = 0; r < n; r++) {
            int width = vt_text_width(rows[r].cell[c]);
            if (c == CELL_RESULT && layout->result_notes) {
                width += vt_text_width(rows[r].result_note);
            } else if (c == CELL_VALID && layout->valid_notes) {
                width += vt_text_width(rows[r].valid_note);
            }
            widest = width > widest ? width : widest;
        }
        layout->width[c] = widest;
        layout->gap[c] = c == CELL_VALID ? 0 : 2;
        if (last_gap == 0 && c != CELL_VALID && widest + 2 < wished[c]) {
            layout->gap[c] = wished[c] - widest;
        }
        total += layout->width[c] + layout->gap[c];
    }
    return total;
}

/* From roomy to bare: what helps least to read the table goes first. */
static void fit(const struct row *rows, uint32_t n, int columns, struct layout *layout)
{
    *layout =
        (struct layout){.width = {1, 1, 1, 1, 1, 1}, .result_notes = true, .valid_notes = true};
    if (measure(rows, n, layout, 0) <= columns || measure(rows, n, layout, 1) <= columns) {
        return;
    }
    layout->valid_notes = false;
    if (measure(rows, n, layout, 1) <= columns) {
        return;
    }
    for (int c = CELL_P50; c <= CELL_P99; c++) {
        layout->width[c] = 0;
        if (measure(rows, n, layout, 1) <= columns) {
            return;
        }
    }
    layout->result_notes = false;
    (void)measure(rows, n, layout, 1);
}

static void put_row(FILE *out, const struct row *row, const struct layout *layout)
{
    char text[160];

    for (int c = 0; c < N_CELLS; c++) {
        if (layout->width[c] == 0) {
            continue;
        }
        snprintf(text, sizeof text, "%s%s", row->cell[c],
                 c == CELL_RESULT && layout->result_notes
                     ? row->result_note
                     : (c == CELL_VALID && layout->valid_notes ? row->valid_note : ""));
        if (c == CELL_VALID) { /* the last: no blanks behind it */
            fputs(text, out);
        } else {
            put_padded(out, text, layout->width[c] + layout->gap[c]);
        }
    }
    putc('\n', out);
}

static void put_scenarios(const struct vt_result *result, FILE *out, int columns)
{
    struct row rows[VT_RESULTS_MAX + 1] = {
        {.cell = {"scenario", "result", "p50", "p90", "p99", "valid"}}};
    struct layout layout;
    uint32_t n = 1;

    for (uint32_t i = 0; i < result->n_entries; i++) {
        if (result->entries[i].mode == VT_PERFORMANCE) {
            fill_row(&result->entries[i], &rows[n++]);
        }
    }
    if (n == 1) {
        return;
    }
    fit(rows, n, columns, &layout);
    for (uint32_t i = 0; i < n; i++) {
        put_row(out, &rows[i], &layout);
    }
    putc('\n', out);
}

static uint32_t count_mode(const struct vt_result *result, enum vt_mode mode)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < result->n_entries; i++) {
        n += result->entries[i].mode == mode;
    }
    return n;
}

/* "97.5 % top-1 on 360 held-out images (target 96.5 %)" */
static void quality_text(const struct vt_result *result, const struct vt_result_entry *entry,
                         char *text, size_t size)
{
    const struct vt_quality *quality = &entry->quality;
    char value[64], target[64], target_part[128] = "", name[48] = "";

    if (count_mode(result, VT_ACCURACY) > 1) {
        snprintf(name, sizeof name, "%s: ", vt_scenario_name(entry->scenario));
    }
    if (entry->report == NULL) {
        const char *why = entry->failure.text;
        if (why[0] == '\0') {
            why = entry->reasons.n > 0 ? entry->reasons.text[0] : "it did not run";
        }
        snprintf(text, size, "%sunmeasured: %s", name, why);
        return;
    }
    if (!entry->has_quality && entry->report->interrupted) {
        snprintf(text, size, "%sunmeasured: interrupted", name);
        return;
    }
    if (!entry->has_quality) {
        snprintf(text, size, "%sunmeasured: %s has nothing to compare the outputs with", name,
                 result->workload_name != NULL ? result->workload_name : "the workload");
        return;
    }
    if (quality->has_target) {
        snprintf(target_part, sizeof target_part, " (target %s%s%s)",
                 vt_number_text(quality->target, target, sizeof target),
                 quality->unit[0] != '\0' ? " " : "", quality->unit);
    }
    snprintf(text, size, "%s%s%s%s %s%s%s%s", name,
             vt_number_text(quality->value, value, sizeof value),
             quality->unit[0] != '\0' ? " " : "", quality->unit, quality->metric,
             quality->detail[0] != '\0' ? " " : "", quality->detail, target_part);
}

static void put_quality(const struct vt_result *result, FILE *out, int columns)
{
    /* Where the verdict stands when there is room: under "valid" of the roomy layout. */
    const int verdict_column = 79;
    char text[768], line[800];

    for (uint32_t i = 0; i < result->n_entries; i++) {
        const struct vt_result_entry *entry = &result->entries[i];
        if (entry->mode != VT_ACCURACY) {
            continue;
        }
        const char *verdict = "";
        if (entry->report != NULL && entry->has_quality) {
            verdict = entry->quality.pass ? "pass" : "fail";
        }
        quality_text(result, entry, text, sizeof text);
        int width = LABEL_WIDTH + vt_text_width(text);
        if (verdict[0] != '\0' && width + 2 <= verdict_column && columns >= verdict_column + 4) {
            put_padded(out, "quality", LABEL_WIDTH);
            put_padded(out, text, verdict_column - LABEL_WIDTH);
            fprintf(out, "%s\n", verdict);
            continue;
        }
        snprintf(line, sizeof line, "%s%s%s", text, verdict[0] != '\0' ? ": " : "", verdict);
        vt_result_print_item(out, "quality", line, columns);
    }
    if (count_mode(result, VT_ACCURACY) > 0) {
        putc('\n', out);
    }
}

static void append(char *text, size_t size, const char *more)
{
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s", more);
}

static bool has_reason(const struct vt_reasons *reasons, const char *text)
{
    for (uint32_t i = 0; i < reasons->n && i < VT_REASONS_MAX; i++) {
        if (strcmp(reasons->text[i], text) == 0) {
            return true;
        }
    }
    return false;
}

/* The reasons of one verdict: those of the job or those of the rules. */
static const struct vt_reasons *verdict_reasons(const struct vt_result_entry *entry, bool rules)
{
    static const struct vt_reasons none = {0};

    if (rules) {
        return entry->rules_met || entry->report == NULL ? &none : &entry->rules;
    }
    return entry->valid ? &none : &entry->reasons;
}

/* Names in front of a sentence: "Server, MultiStream: ". None where the rules say the same of every
 * entry, or of every scenario that was measured. */
static void put_names(const struct vt_result *result, bool rules, const char *reason, char *text,
                      size_t size)
{
    uint32_t named[VT_MODE_COUNT] = {0}, judged[VT_MODE_COUNT] = {0}, n = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < result->n_entries; i++) {
        const struct vt_result_entry *entry = &result->entries[i];
        judged[entry->mode] += entry->report != NULL;
        if (has_reason(verdict_reasons(entry, rules), reason)) {
            named[entry->mode]++;
            append(text, size, n++ != 0 ? ", " : "");
            append(text, size, vt_scenario_name(entry->scenario));
            append(text, size, entry->mode == VT_ACCURACY ? " accuracy" : "");
        }
    }
    bool everywhere = named[VT_PERFORMANCE] == judged[VT_PERFORMANCE] &&
                      (named[VT_ACCURACY] == 0 || named[VT_ACCURACY] == judged[VT_ACCURACY]);
    if (rules && everywhere) {
        text[0] = '\0';
        return;
    }
    append(text, size, ": ");
}

/* Every sentence once, in the order in which they first come. */
static uint32_t put_reasons(const struct vt_result *result, bool rules, FILE *out, int columns)
{
    const char *label = rules ? "rules" : "not valid";
    char names[256], text[512];
    uint32_t shown = 0;

    for (uint32_t i = 0; i < result->n_entries; i++) {
        const struct vt_reasons *reasons = verdict_reasons(&result->entries[i], rules);
        for (uint32_t k = 0; k < reasons->n && k < VT_REASONS_MAX; k++) {
            bool before = false;
            for (uint32_t j = 0; j < i && !before; j++) {
                before = has_reason(verdict_reasons(&result->entries[j], rules), reasons->text[k]);
            }
            if (before) {
                continue;
            }
            put_names(result, rules, reasons->text[k], names, sizeof names);
            snprintf(text, sizeof text, "%s%s%s", rules && shown == 0 ? "not met: " : "", names,
                     reasons->text[k]);
            vt_result_print_item(out, shown == 0 ? label : "", text, columns);
            shown++;
        }
    }
    return shown;
}

/* What went wrong in entries that did not run, and in samples. */
static uint32_t put_failures(const struct vt_result *result, FILE *out, int columns)
{
    char text[800];
    uint32_t shown = 0;

    for (uint32_t i = 0; i < result->n_entries; i++) {
        const struct vt_result_entry *entry = &result->entries[i];
        const char *what = entry->failure.text;
        if (entry->report == NULL && entry->mode == VT_ACCURACY) {
            continue; /* said in the quality line */
        } else if (entry->report != NULL && what[0] == '\0') {
            what = entry->report->first_failure;
        }
        if (what[0] != '\0') {
            snprintf(text, sizeof text, "%s%s: %s", vt_scenario_name(entry->scenario),
                     entry->mode == VT_ACCURACY ? " accuracy" : "", what);
            vt_result_print_item(out, shown++ == 0 ? "failed" : "", text, columns);
        }
    }
    return shown;
}

static void put_rules(const struct vt_result *result, FILE *out, int columns)
{
    uint32_t judged = 0, met = 0;

    for (uint32_t i = 0; i < result->n_entries; i++) {
        judged += result->entries[i].report != NULL;
        met += result->entries[i].report != NULL && result->entries[i].rules_met;
    }
    if (judged == 0 || put_reasons(result, true, out, columns) > 0) {
        return;
    }
    vt_result_print_item(
        out, "rules",
        met == judged ? "met: durations and counts are those of the MLPerf rules (unofficial)"
                      : "not met",
        columns);
}

/* How sure a found rate is; where none was found, the reasons say it. */
static void put_rate(const struct vt_result *result, FILE *out, int columns)
{
    char text[256], number[64];

    for (uint32_t i = 0; i < result->n_entries; i++) {
        const struct vt_result_entry *entry = &result->entries[i];
        if (entry->peak.qps > 0) {
            snprintf(text, sizeof text, "%s queries/s is the highest rate that held in %u runs%s",
                     vt_number_text(entry->peak.qps, number, sizeof number),
                     (unsigned)entry->peak.steps,
                     entry->peak.bounded ? ", each taken at its word as LoadGen does" : "");
            vt_result_print_item(out, "server rate", text, columns);
        }
        if (entry->rate_found && entry->rate.outcome == VT_RATE_CONFIRMED) {
            vt_result_print_item(out, "server rate", entry->rate.text, columns);
        }
    }
}

/* "p50 1 ms, p99 2 ms (limit 100 ms)"; only Server has limits. */
static char *token_latency_text(const struct vt_load_report *report,
                                const struct vt_latency_stats *stats, int64_t limit_ns, char *text,
                                size_t size)
{
    char p50[32], p99[32], limit[32];
    int n = snprintf(text, size, "p50 %s, p99 %s", vt_duration_text(stats->p50_ns, p50, sizeof p50),
                     vt_duration_text(stats->p99_ns, p99, sizeof p99));

    if (report->settings.scenario == VT_SERVER && n > 0 && (size_t)n < size) {
        snprintf(text + n, size - (size_t)n, " (limit %s)",
                 vt_duration_text(limit_ns, limit, sizeof limit));
    }
    return text;
}

/* Tokens a second, to the first one, and from one to the next. */
static void put_tokens(const struct vt_result *result, FILE *out, int columns)
{
    char text[512], number[64], first[128], further[128];
    uint32_t shown = 0;

    for (uint32_t i = 0; i < result->n_entries; i++) {
        const struct vt_load_report *report = result->entries[i].report;
        if (report == NULL || report->token.tokens == 0 ||
            result->entries[i].mode != VT_PERFORMANCE) {
            continue;
        }
        const struct vt_token_report *token = &report->token;
        const struct vt_load_settings *s = &report->settings;
        int n = snprintf(text, sizeof text, "%s: %s tokens/s",
                         vt_scenario_name(result->entries[i].scenario),
                         vt_number_text(vt_result_token_rate(report), number, sizeof number));
        if (token->first.max_ns > 0 && n > 0 && (size_t)n < sizeof text) {
            snprintf(text + n, sizeof text - (size_t)n, "; first token %s; each further %s",
                     token_latency_text(report, &token->first, s->server_ttft_latency_ns, first,
                                        sizeof first),
                     token_latency_text(report, &token->per_output, s->server_tpot_latency_ns,
                                        further, sizeof further));
        }
        vt_result_print_item(out, shown++ == 0 ? "tokens" : "", text, columns);
    }
}

/* print_timestamps: start and end by the wall clock, to be compared with those of a meter. */
static void put_timestamps(const struct vt_result *result, FILE *out, int columns)
{
    char text[256], duration[32];
    uint32_t shown = 0;

    for (uint32_t i = 0; i < result->n_entries; i++) {
        const struct vt_load_report *report = result->entries[i].report;
        if (report == NULL || !report->settings.print_timestamps ||
            result->entries[i].mode != VT_PERFORMANCE) {
            continue;
        }
        int64_t end_ms = report->start_unix_ms + report->duration_ns / 1000000;
        snprintf(text, sizeof text, "%s: %lld.%03lld to %lld.%03lld, in s since 1970, UTC: %s",
                 vt_scenario_name(result->entries[i].scenario),
                 (long long)(report->start_unix_ms / 1000),
                 (long long)(report->start_unix_ms % 1000), (long long)(end_ms / 1000),
                 (long long)(end_ms % 1000),
                 vt_duration_text(report->duration_ns, duration, sizeof duration));
        vt_result_print_item(out, shown++ == 0 ? "timestamps" : "", text, columns);
    }
}

void vt_result_print_table(const struct vt_result *result, FILE *out, int columns)
{
    columns = columns < MIN_COLUMNS ? MIN_COLUMNS : columns;
    put_quality(result, out, columns);
    put_scenarios(result, out, columns);
    vt_result_print_audits(result, out, columns);
    if (result->partial) {
        vt_result_print_item(out, "partial", "interrupted: what is shown was measured until then",
                             columns);
    }
    put_rate(result, out, columns);
    put_tokens(result, out, columns);
    put_timestamps(result, out, columns);
    vt_result_print_stages(result, out, columns);
    (void)put_reasons(result, false, out, columns);
    (void)put_failures(result, out, columns);
    put_rules(result, out, columns);
    if (result->precision_choice.made) {
        char text[640];
        vt_result_print_item(out, "precision",
                             vt_precision_choice_text(&result->precision_choice, text, sizeof text),
                             columns);
    }
    if (result->weights_text[0] != '\0') {
        vt_result_print_item(out, "weights", result->weights_text, columns);
    }
    vt_result_print_energy(result, out, columns);
    vt_result_print_caps(result, out, columns);
}
