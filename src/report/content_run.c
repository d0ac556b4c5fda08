/* SPDX-License-Identifier: Apache-2.0 */
/* A run: verdicts, results, quality, audits. */
#include <math.h>
#include <string.h>

#include "report/content.h"
#include "report/reader.h"
#include "result/text.h"

/* --- verdicts -------------------------------------------------------------------------------- */

/* reasons[] of a result: its own, or those of its rules. */
static const json_t *reasons_of(const json_t *result, bool rules)
{
    return vt_read_array(rules ? vt_read_object(result, "rules") : result, "reasons");
}

static bool has_reason(const json_t *result, bool rules, const char *text)
{
    const json_t *reason;
    size_t i;

    json_array_foreach(reasons_of(result, rules), i, reason)
    {
        if (json_is_string(reason) && strcmp(json_string_value(reason), text) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_performance(const json_t *result)
{
    const char *mode = vt_read_text(result, "mode");
    return mode == NULL || strcmp(mode, "performance") == 0;
}

static const char *result_name(struct vt_document *document, const json_t *result)
{
    return is_performance(result) ? vt_content_scenario(result)
                                  : vt_say(document, "%s %s", vt_content_scenario(result),
                                           vt_read_text(result, "mode"));
}

/* Each reason once: with the results that it holds for, unless it holds for all that measure. */
static void put_reasons(struct vt_document *document, const json_t *results, bool rules)
{
    const json_t *result, *other, *reason;
    size_t i, k, r, measuring = 0;

    json_array_foreach(results, i, result)
    {
        measuring += is_performance(result);
    }

    json_array_foreach(results, i, result)
    {
        json_array_foreach(reasons_of(result, rules), r, reason)
        {
            const char *text = json_string_value(reason), *whose = "";
            size_t n = 0, of_measuring = 0;
            bool first = text != NULL;
            json_array_foreach(results, k, other)
            {
                if (text != NULL && has_reason(other, rules, text)) {
                    first = first && k >= i;
                    whose = vt_say(document, "%s%s%s", whose, n > 0 ? ", " : "",
                                   result_name(document, other));
                    n++;
                    of_measuring += is_performance(other);
                }
            }
            if (first && of_measuring == measuring) {
                vt_cell(document, text);
            } else if (first) {
                vt_cellf(document, "%s: %s", whose, text);
            }
        }
        const json_t *failure = vt_read_object(result, "failure");
        const char *text = vt_read_text(failure, "text");
        if (!rules && text != NULL) {
            vt_cellf(document, "%s: %s", result_name(document, result), text);
        }
    }
}

static bool all_met(const json_t *results)
{
    const json_t *result;
    size_t i;

    json_array_foreach(results, i, result)
    {
        if (vt_read_flag(vt_read_object(result, "rules"), "met") != 1) {
            return false;
        }
    }
    return json_array_size(results) > 0;
}

static void put_verdicts(struct vt_document *document, const json_t *root, const json_t *results)
{
    const int valid = vt_read_flag(root, "valid");
    const bool met = all_met(results);

    vt_add_verdict(document, valid == 1 ? VT_TONE_GOOD : VT_TONE_BAD,
                   valid == 1 ? "Valid" : "Not valid", "by the limits of this job");
    put_reasons(document, results, false);
    vt_add_verdict(document, met ? VT_TONE_GOOD : VT_TONE_CAUTION,
                   met ? "MLPerf rules met" : "MLPerf rules not met",
                   met ? "it would count, were it made by the official load generator"
                       : "it would not count as a result of MLPerf");
    put_reasons(document, results, true);
}

/* --- tables ---------------------------------------------------------------------------------- */

static void put_results(struct vt_document *document, const json_t *results)
{
    static const struct vt_column columns[] = {
        {"Scenario", false}, {"Result", true},  {"p50", true},      {"p90", true},
        {"p99", true},       {"Samples", true}, {"Duration", true}, {"Energy a sample", true},
        {"Valid", false}};
    const json_t *result;
    size_t i;

    vt_add_table(document, "Results", VT_COLUMNS_OF(columns));
    json_array_foreach(results, i, result)
    {
        if (!is_performance(result)) {
            continue;
        }
        const json_t *metric = vt_read_object(result, "metric");
        const json_t *latency = vt_content_latency(result);
        const json_t *energy = vt_read_object(result, "energy");
        const int valid = vt_read_flag(result, "valid");
        vt_cell(document, vt_content_scenario(result));
        vt_cell(document, vt_say_metric(document, vt_read_number(metric, "value"),
                                        vt_read_text(metric, "unit")));
        vt_cell(document, vt_say_duration(document, vt_read_number(latency, "p50")));
        vt_cell(document, vt_say_duration(document, vt_read_number(latency, "p90")));
        vt_cell(document, vt_say_duration(document, vt_read_number(latency, "p99")));
        vt_cell(document, vt_say_count(document, vt_read_number(result, "samples")));
        vt_cell(document, vt_say_duration(document, vt_read_number(result, "duration_ns")));
        vt_cell(document, vt_say_joules(document, vt_read_number(energy, "joules_per_sample")));
        vt_cell(document, valid == 1 ? "yes" : "no");
    }
}

static void put_quality(struct vt_document *document, const json_t *results)
{
    static const struct vt_column columns[] = {{"Scenario", false}, {"Metric", false},
                                               {"Value", true},     {"Target", true},
                                               {"Samples", true},   {"Reached", false}};
    const json_t *result;
    bool begun = false;
    size_t i;

    json_array_foreach(results, i, result)
    {
        const json_t *quality = vt_read_object(result, "quality");
        if (quality == NULL) {
            continue;
        }
        if (!begun) {
            vt_add_heading(document, 3, "Quality");
            vt_add_table(document, "Quality of the answers", VT_COLUMNS_OF(columns));
            begun = true;
        }
        const char *unit = vt_read_text(quality, "unit");
        const char *const of = unit != NULL ? unit : "";
        const int pass = vt_read_flag(quality, "pass");
        vt_cell(document, vt_content_scenario(result));
        vt_cell(document, vt_read_text(quality, "metric"));
        vt_cell(document, vt_say_number(document, vt_read_number(quality, "value"), of));
        vt_cell(document, vt_say_number(document, vt_read_number(quality, "target"), of));
        vt_cell(document, vt_say_count(document, vt_read_number(quality, "samples")));
        vt_cell(document, pass < 0 ? NULL : pass ? "yes" : "no");
    }
}

static void put_audits(struct vt_document *document, const json_t *root)
{
    static const struct vt_column columns[] = {
        {"Test", false}, {"Scenario", false}, {"Verdict", false}, {"Why", false}};
    const json_t *audits = vt_read_array(root, "audits"), *audit;
    size_t i;

    if (json_array_size(audits) == 0) {
        return;
    }
    vt_add_heading(document, 3, "Compliance tests");
    vt_add_table(document, "Compliance tests of MLPerf", VT_COLUMNS_OF(columns));
    json_array_foreach(audits, i, audit)
    {
        static const char *const parts[] = {"accuracy", "performance", "tokens"};
        const char *text = vt_read_text(audit, "text");
        for (size_t k = 0; k < 3; k++) {
            const char *more = vt_read_text(vt_read_object(audit, parts[k]), "text");
            if (more != NULL) {
                text = text != NULL ? vt_say(document, "%s; %s", text, more) : more;
            }
        }
        vt_cell(document, vt_read_text(audit, "test"));
        vt_cell(document, vt_content_scenario(audit));
        vt_cell(document, vt_read_text(audit, "verdict"));
        vt_cell(document, text);
    }
}

enum vt_status vt_content_run(struct vt_document *document, const struct vt_source *source,
                              struct vt_error *err)
{
    const json_t *results = vt_read_array(source->root, "results"), *result;
    enum vt_status status = VT_OK;
    size_t i;

    vt_content_about(document, source);
    put_verdicts(document, source->root, results);
    put_results(document, results);
    put_quality(document, results);
    put_audits(document, source->root);
    json_array_foreach(results, i, result)
    {
        if (status == VT_OK && vt_content_measured(result)) {
            status = vt_content_result(document, source, result, err);
        }
    }
    vt_content_energy(document, results);
    vt_content_origin(document, source,
                      json_array_size(vt_read_array(source->root, "audits")) > 0 ? "audit" : "run");
    return status;
}
