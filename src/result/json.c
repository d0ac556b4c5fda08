/* SPDX-License-Identifier: Apache-2.0 */
/* result.json, schema version 1: docs/result-format.md says what each field means. */
#include "base/alloc.h"
#include "result/energy_json.h"
#include "result/json_parts.h"
#include "result/result.h"

static json_t *reasons_value(const struct vt_reasons *reasons)
{
    json_t *array = json_array();
    for (uint32_t i = 0; i < reasons->n && i < VT_REASONS_MAX; i++) {
        array = vt_json_array_with(array, vt_json_text(reasons->text[i]));
    }
    return array;
}

static json_t *model_value(const struct vt_result *result)
{
    struct vt_json_object model = vt_json_object_begin();

    vt_json_put(&model, "name", vt_json_text(result->model_name));
    vt_json_put(&model, "path", vt_json_text(result->model_path));
    vt_json_put(&model, "random_weights", json_boolean(result->random_weights));
    vt_json_put(&model, "parameters", vt_json_count(result->model_parameters));
    vt_json_put(&model, "size_bytes", vt_json_count(result->model_bytes));
    vt_json_put(&model, "flops_per_sample",
                result->model_flops > 0 ? vt_json_real(result->model_flops) : json_null());
    vt_json_put(&model, "opset", json_integer(result->model_opset));
    return vt_json_object_end(&model);
}

/* null where the engine does not tell. */
static json_t *layers_value(const struct vt_result *result)
{
    if (result->layers == NULL) {
        return json_null();
    }
    json_t *layers = json_array();
    for (uint32_t i = 0; i < result->n_layers; i++) {
        const struct vt_profile_layer *layer = &result->layers[i];
        struct vt_json_object json = vt_json_object_begin();
        vt_json_put_layer(&json, layer);
        layers = vt_json_array_with(layers, vt_json_object_end(&json));
    }
    return layers;
}

static json_t *engine_value(const struct vt_result *result)
{
    struct vt_json_object engine = vt_json_object_begin();

    vt_json_put(&engine, "name", vt_json_text(result->engine_name));
    vt_json_put(&engine, "description", vt_json_text(result->engine_description));
    vt_json_put(&engine, "precision", vt_json_text(result->precision));
    vt_json_put(&engine, "precision_choice", vt_json_precision(&result->precision_choice));
    vt_json_put(&engine, "lanes", vt_json_count(result->lanes));
    vt_json_put(&engine, "threads", vt_json_count(result->threads));
    vt_json_put(&engine, "batch_max", vt_json_count(result->batch));
    vt_json_put(&engine, "layers", layers_value(result));
    return vt_json_object_end(&engine);
}

static json_t *workload_value(const struct vt_result *result)
{
    struct vt_json_object workload = vt_json_object_begin();

    vt_json_put(&workload, "name", vt_json_text(result->workload_name));
    vt_json_put(&workload, "description", vt_json_text(result->workload_description));
    vt_json_put(&workload, "samples", vt_json_count(result->sample_count));
    vt_json_put(&workload, "samples_skipped", vt_json_count(result->samples_skipped));
    return vt_json_object_end(&workload);
}

static json_t *latency_value(const struct vt_latency_stats *stats)
{
    struct vt_json_object latency = vt_json_object_begin();

    vt_json_put(&latency, "min", json_integer(stats->min_ns));
    vt_json_put(&latency, "mean", json_integer(stats->mean_ns));
    vt_json_put(&latency, "p50", json_integer(stats->p50_ns));
    vt_json_put(&latency, "p90", json_integer(stats->p90_ns));
    vt_json_put(&latency, "p95", json_integer(stats->p95_ns));
    vt_json_put(&latency, "p97", json_integer(stats->p97_ns));
    vt_json_put(&latency, "p99", json_integer(stats->p99_ns));
    vt_json_put(&latency, "p99_9", json_integer(stats->p99_9_ns));
    vt_json_put(&latency, "max", json_integer(stats->max_ns));
    return vt_json_object_end(&latency);
}

static json_t *metric_value(const struct vt_metric *metric)
{
    if (metric->name == NULL) {
        return json_null();
    }
    struct vt_json_object json = vt_json_object_begin();
    vt_json_put(&json, "name", vt_json_text(metric->name));
    vt_json_put(&json, "value", vt_json_real(metric->value));
    vt_json_put(&json, "unit", vt_json_text(metric->unit));
    return vt_json_object_end(&json);
}

/* What the run was judged by: those of the job, not of the rules. */
static json_t *limits_value(const struct vt_load_settings *settings)
{
    struct vt_json_object limits = vt_json_object_begin();
    double percentile = settings->server_target_latency_percentile;

    vt_json_put(&limits, "min_duration_ns", json_integer(settings->min_duration_ns));
    vt_json_put(&limits, "min_queries", vt_json_count(settings->min_query_count));
    if (settings->scenario == VT_SERVER) {
        vt_json_put(&limits, "target_latency_ns",
                    settings->use_token_latencies
                        ? json_null() /* tokens have limits of their own */
                        : json_integer(settings->server_target_latency_ns));
    } else if (settings->scenario == VT_SINGLESTREAM) {
        percentile = settings->single_stream_target_latency_percentile;
    } else if (settings->scenario == VT_MULTISTREAM) {
        percentile = settings->multi_stream_target_latency_percentile;
        vt_json_put(&limits, "samples_per_query",
                    vt_json_count(settings->multi_stream_samples_per_query));
    }
    if (settings->scenario != VT_OFFLINE) {
        vt_json_put(&limits, "target_percentile_percent", vt_json_real(percentile * 100));
    }
    return vt_json_object_end(&limits);
}

/* A limit that only Server has. */
static json_t *server_limit(const struct vt_load_report *report, int64_t limit_ns)
{
    return report->settings.scenario == VT_SERVER ? json_integer(limit_ns) : json_null();
}

/* null where the run counts none. */
static json_t *tokens_value(const struct vt_load_report *report)
{
    const struct vt_token_report *token = &report->token;
    const struct vt_load_settings *s = &report->settings;
    bool timed = token->first.max_ns > 0;

    if (report->tokens == NULL) {
        return json_null();
    }
    struct vt_json_object json = vt_json_object_begin();
    vt_json_put(&json, "total", vt_json_count(token->tokens));
    vt_json_put(&json, "per_second",
                token->tokens > 0 ? vt_json_real(vt_result_token_rate(report)) : json_null());
    vt_json_put(&json, "first_token_ns", timed ? latency_value(&token->first) : json_null());
    vt_json_put(&json, "first_token_limit_ns", server_limit(report, s->server_ttft_latency_ns));
    vt_json_put(&json, "per_output_token_ns",
                timed ? latency_value(&token->per_output) : json_null());
    vt_json_put(&json, "per_output_token_limit_ns",
                server_limit(report, s->server_tpot_latency_ns));
    vt_json_put(&json, "errors", vt_json_count(token->errors));
    return vt_json_object_end(&json);
}

/* What came up while the run went on, in order. */
static json_t *notes_value(const struct vt_load_report *report)
{
    json_t *array = json_array();

    for (uint32_t i = 0; i < report->n_notes && i < VT_NOTES_MAX; i++) {
        struct vt_json_object note = vt_json_object_begin();
        vt_json_put(&note, "at_ns", json_integer(report->notes[i].at_ns));
        vt_json_put(&note, "error", json_boolean(report->notes[i].is_error));
        vt_json_put(&note, "text", vt_json_text(report->notes[i].text));
        array = vt_json_array_with(array, vt_json_object_end(&note));
    }
    return array;
}

/* How queries came and where their records went. */
static void put_manner(struct vt_json_object *json, const struct vt_load_report *report)
{
    static const char *const arrivals[] = {"poisson", "constant", "trace"};
    const struct vt_load_settings *s = &report->settings;

    if (s->scenario == VT_SERVER) {
        vt_json_put(json, "arrivals", vt_json_text(arrivals[s->arrivals]));
        vt_json_put(json, "issue_threads",
                    vt_json_count(s->server_num_issue_query_threads > 1
                                      ? s->server_num_issue_query_threads
                                      : 1));
        vt_json_put(json, "coalesced", json_boolean(s->server_coalesce_queries));
    }
    vt_json_put(json, "record_bytes", vt_json_count(report->record_bytes));
    vt_json_put(json, "spilled_bytes", vt_json_count(report->spilled_bytes));
    vt_json_put(json, "notes", notes_value(report));
    vt_json_put(json, "notes_dropped", vt_json_count(report->notes_dropped));
}

static json_t *early_stopping_value(const struct vt_load_report *report)
{
    struct vt_json_object json = vt_json_object_begin();

    vt_json_put(&json, "met", json_boolean(report->early_stopping_met));
    vt_json_put(&json, "queries_needed", vt_json_count(report->early_stopping_needed));
    vt_json_put(&json, "estimate_ns",
                report->early_stopping_estimate_ns != 0
                    ? json_integer(report->early_stopping_estimate_ns)
                    : json_null());
    vt_json_put(&json, "overlatency_queries",
                report->settings.scenario == VT_SERVER ? vt_json_count(report->overlatency_queries)
                                                       : json_null());
    return vt_json_object_end(&json);
}

static json_t *quality_value(const struct vt_result_entry *entry)
{
    const struct vt_quality *quality = &entry->quality;

    if (!entry->has_quality) {
        return json_null();
    }
    struct vt_json_object json = vt_json_object_begin();
    vt_json_put(&json, "metric", vt_json_text(quality->metric));
    vt_json_put(&json, "value", vt_json_real(quality->value));
    vt_json_put(&json, "unit", vt_json_text(quality->unit));
    vt_json_put(&json, "target", quality->has_target ? vt_json_real(quality->target) : json_null());
    vt_json_put(&json, "smaller_is_better", json_boolean(quality->smaller_is_better));
    vt_json_put(&json, "pass", json_boolean(quality->pass));
    vt_json_put(&json, "samples", vt_json_count(quality->count));
    vt_json_put(&json, "detail", vt_json_text(quality->detail));
    return vt_json_object_end(&json);
}

/* The part of a result that comes from the run itself. */
static void put_report(struct vt_json_object *json, const struct vt_load_report *report)
{
    bool measured = report->samples_completed > 0;
    struct vt_json_object lateness = vt_json_object_begin();

    vt_json_put(json, "metric", metric_value(&report->metric));
    vt_json_put(json, "limits", limits_value(&report->settings));
    vt_json_put(json, "latency_ns", measured ? latency_value(&report->latency) : json_null());
    if (report->settings.scenario == VT_MULTISTREAM) {
        vt_json_put(json, "query_latency_ns",
                    measured ? latency_value(&report->query_latency) : json_null());
    }
    vt_json_put(json, "queries", vt_json_count(report->queries_issued));
    vt_json_put(json, "samples", vt_json_count(report->samples_issued));
    vt_json_put(json, "samples_completed", vt_json_count(report->samples_completed));
    vt_json_put(json, "samples_failed", vt_json_count(report->samples_failed));
    vt_json_put(json, "samples_lost", vt_json_count(report->samples_lost));
    vt_json_put(json, "samples_late", vt_json_count(report->samples_late));
    vt_json_put(json, "samples_doubled", vt_json_count(report->samples_doubled));
    vt_json_put(json, "samples_invented", vt_json_count(report->samples_invented));
    vt_json_put(json, "first_failure",
                report->first_failure[0] != '\0' ? vt_json_text(report->first_failure)
                                                 : json_null());
    vt_json_put(json, "started_unix_ms", json_integer(report->start_unix_ms));
    vt_json_put(json, "duration_ns", json_integer(report->duration_ns));
    vt_json_put(json, "interrupted", json_boolean(report->interrupted));
    vt_json_put(json, "capped", json_boolean(report->capped));
    vt_json_put(&lateness, "p50", json_integer(report->lateness_p50_ns));
    vt_json_put(&lateness, "p99", json_integer(report->lateness_p99_ns));
    vt_json_put(&lateness, "p99_9", json_integer(report->lateness_p99_9_ns));
    vt_json_put(&lateness, "max", json_integer(report->lateness_max_ns));
    vt_json_put(json, "issue_lateness_ns", vt_json_object_end(&lateness));
    vt_json_put(json, "early_stopping", early_stopping_value(report));
    vt_json_put(json, "tokens", tokens_value(report));
    put_manner(json, report);
}

/* null while nothing failed. */
static json_t *failure_value(const struct vt_error *failure)
{
    if (failure->status == VT_OK) {
        return json_null();
    }
    struct vt_json_object json = vt_json_object_begin();
    vt_json_put(&json, "status", vt_json_text(vt_status_name(failure->status)));
    vt_json_put(&json, "text", vt_json_text(failure->text));
    return vt_json_object_end(&json);
}

static json_t *known_rate(double qps)
{
    return qps > 0 ? vt_json_real(qps) : json_null();
}

/* How the rate was searched for and how sure it is; null where it was given. */
static json_t *rate_search_value(const struct vt_result_entry *entry)
{
    static const char *const outcomes[] = {"confirmed", "unconfirmed", "none"};
    const struct vt_rate_found *rate = &entry->rate;

    if (!entry->rate_found) {
        return json_null();
    }
    struct vt_json_object json = vt_json_object_begin();
    vt_json_put(&json, "outcome", vt_json_text(outcomes[rate->outcome]));
    vt_json_put(&json, "confirmed_qps",
                known_rate(rate->outcome == VT_RATE_CONFIRMED ? rate->qps : 0));
    vt_json_put(&json, "failed_qps", known_rate(rate->failed_qps));
    vt_json_put(&json, "edge_low_qps", known_rate(rate->low_qps));
    vt_json_put(&json, "edge_high_qps", known_rate(rate->high_qps));
    vt_json_put(&json, "edge_confidence_percent", json_integer(90));
    vt_json_put(&json, "trials", vt_json_count(rate->trials));
    vt_json_put(&json, "full_runs", vt_json_count(rate->full_runs));
    vt_json_put(&json, "full_runs_valid", vt_json_count(rate->full_valid));
    vt_json_put(&json, "spent_ns", json_integer(rate->spent_ns));
    vt_json_put(&json, "budget_ns", json_integer(rate->budget_ns));
    vt_json_put(&json, "out_of_time", json_boolean(rate->out_of_time));
    vt_json_put(&json, "text", vt_json_text(rate->text));
    return vt_json_object_end(&json);
}

static json_t *find_peak_value(const struct vt_result_peak *peak)
{
    if (peak->steps == 0) {
        return json_null();
    }
    struct vt_json_object json = vt_json_object_begin();
    vt_json_put(&json, "qps", known_rate(peak->qps));
    vt_json_put(&json, "bounded", json_boolean(peak->bounded));
    vt_json_put(&json, "runs", vt_json_count(peak->steps));
    return vt_json_object_end(&json);
}

/* null where stages were not stamped. */
static json_t *stages_value(const struct vt_stage_times *times)
{
    if (times->samples == 0) {
        return json_null();
    }
    struct vt_json_object json = vt_json_object_begin();
    vt_json_put(&json, "samples", vt_json_count(times->samples));
    for (int s = 0; s < VT_STAGE_COUNT; s++) {
        struct vt_json_object stage = vt_json_object_begin();
        vt_json_put(&stage, "mean", json_integer(times->stage[s].mean_ns));
        vt_json_put(&stage, "p50", json_integer(times->stage[s].p50_ns));
        vt_json_put(&stage, "p99", json_integer(times->stage[s].p99_ns));
        vt_json_put(&json, vt_stage_key((enum vt_stage)s), vt_json_object_end(&stage));
    }
    return vt_json_object_end(&json);
}

static json_t *entry_value(const struct vt_result *result, const struct vt_result_entry *entry)
{
    struct vt_json_object json = vt_json_object_begin();
    struct vt_json_object rules = vt_json_object_begin();

    vt_json_put(&json, "scenario", vt_json_text(vt_scenario_key(entry->scenario)));
    vt_json_put(&json, "mode", vt_json_text(vt_mode_key(entry->mode)));
    vt_json_put(&json, "test_mode", vt_json_text(vt_mode_name(entry->test_mode)));
    vt_json_put(&json, "valid", json_boolean(entry->report != NULL && entry->valid));
    vt_json_put(&json, "reasons", reasons_value(&entry->reasons));
    vt_json_put(&rules, "met", json_boolean(entry->rules_met));
    vt_json_put(&rules, "reasons", reasons_value(&entry->rules));
    vt_json_put(&json, "rules", vt_json_object_end(&rules));
    vt_json_put(&json, "failure", failure_value(&entry->failure));
    if (entry->scenario == VT_SERVER && entry->mode == VT_PERFORMANCE) {
        vt_json_put(&json, "rate_search", rate_search_value(entry));
        vt_json_put(&json, "find_peak", find_peak_value(&entry->peak));
    }
    if (entry->report == NULL) {
        return vt_json_object_end(&json);
    }
    put_report(&json, entry->report);
    if (entry->scenario == VT_SERVER) {
        vt_json_put(&json, "target_qps", vt_json_real(entry->target_qps));
        vt_json_put(&json, "target_qps_found", json_boolean(entry->rate_found));
        vt_json_put(&json, "rate_trials", vt_json_count(entry->rate.trials));
    }
    vt_json_put(&json, "batch_max", vt_json_count(entry->batch_max));
    vt_json_put(&json, "requests", vt_json_count(entry->requests));
    vt_json_put(&json, "stages_ns", stages_value(&entry->stages));
    vt_json_put(&json, "quality", quality_value(entry));
    vt_json_put(&json, "energy", vt_json_energy(result, entry));
    return vt_json_object_end(&json);
}

static json_t *audit_performance_value(const struct vt_audit_performance *p)
{
    if (!p->judged) {
        return json_null();
    }
    struct vt_json_object json = vt_json_object_begin();
    vt_json_put(&json, "verdict", vt_json_text(vt_audit_verdict_text(p->verdict)));
    vt_json_put(&json, "reference", vt_json_real(p->reference));
    vt_json_put(&json, "test", vt_json_real(p->test));
    vt_json_put(&json, "unit", vt_json_text(p->unit));
    vt_json_put(&json, "tolerance_percent", vt_json_real(p->tolerance * 100));
    vt_json_put(&json, "both_sides", json_boolean(p->both_sides));
    vt_json_put(&json, "text", vt_json_text(p->text));
    return vt_json_object_end(&json);
}

static json_t *audit_accuracy_value(const struct vt_audit_accuracy *a)
{
    if (!a->judged) {
        return json_null();
    }
    struct vt_json_object json = vt_json_object_begin();
    vt_json_put(&json, "verdict", vt_json_text(vt_audit_verdict_text(a->verdict)));
    vt_json_put(&json, "reference_entries", vt_json_count(a->reference_entries));
    vt_json_put(&json, "entries", vt_json_count(a->entries));
    vt_json_put(&json, "matched", vt_json_count(a->matched));
    vt_json_put(&json, "missing", vt_json_count(a->missing));
    vt_json_put(&json, "mismatches", vt_json_count(a->mismatches));
    vt_json_put(&json, "first_byte_mismatches", vt_json_count(a->first_mismatches));
    vt_json_put(&json, "by_quality", json_boolean(a->by_quality));
    vt_json_put(&json, "quality", a->by_quality ? vt_json_real(a->quality) : json_null());
    vt_json_put(&json, "reference_quality",
                a->by_quality ? vt_json_real(a->reference_quality) : json_null());
    vt_json_put(&json, "delta_percent", a->by_quality ? vt_json_real(a->delta * 100) : json_null());
    vt_json_put(&json, "text", vt_json_text(a->text));
    return vt_json_object_end(&json);
}

static json_t *audit_tokens_value(const struct vt_audit_tokens *t)
{
    if (!t->judged) {
        return json_null();
    }
    struct vt_json_object json = vt_json_object_begin();
    vt_json_put(&json, "verdict", vt_json_text(vt_audit_verdict_text(t->verdict)));
    vt_json_put(&json, "entries", vt_json_count(t->entries));
    vt_json_put(&json, "first_token",
                t->first_token_skipped ? json_null() : json_boolean(t->first_token));
    vt_json_put(&json, "end_of_sequence", json_boolean(t->end_of_sequence));
    vt_json_put(&json, "length", json_boolean(t->length));
    vt_json_put(&json, "text", vt_json_text(t->text));
    return vt_json_object_end(&json);
}

static json_t *audit_value(const struct vt_result_audit *audit)
{
    struct vt_json_object json = vt_json_object_begin();

    vt_json_put(&json, "test", vt_json_text(vt_audit_test_name(audit->test)));
    vt_json_put(&json, "scenario", vt_json_text(vt_scenario_key(audit->scenario)));
    vt_json_put(&json, "verdict", vt_json_text(vt_audit_verdict_text(audit->verdict)));
    vt_json_put(&json, "text", audit->text[0] != '\0' ? vt_json_text(audit->text) : json_null());
    vt_json_put(&json, "attempts", vt_json_count(audit->attempts));
    vt_json_put(&json, "accuracy", audit_accuracy_value(&audit->accuracy));
    vt_json_put(&json, "performance", audit_performance_value(&audit->performance));
    vt_json_put(&json, "tokens", audit_tokens_value(&audit->tokens));
    return vt_json_object_end(&json);
}

static json_t *result_value(const struct vt_result *result)
{
    struct vt_json_object root = vt_json_object_begin();
    json_t *entries = json_array(), *audits = json_array();

    for (uint32_t i = 0; i < result->n_entries; i++) {
        entries = vt_json_array_with(entries, entry_value(result, &result->entries[i]));
    }
    for (uint32_t i = 0; i < result->n_audits; i++) {
        audits = vt_json_array_with(audits, audit_value(&result->audits[i]));
    }
    vt_json_put(&root, "schema_version", json_integer(VT_RESULT_SCHEMA_VERSION));
    vt_json_put(&root, "tool", vt_json_tool());
    vt_json_put(&root, "started_utc", vt_json_text(result->started_utc));
    vt_json_put(&root, "valid", json_boolean(vt_result_valid(result)));
    vt_json_put(&root, "partial", json_boolean(result->partial));
    vt_json_put(&root, "official_settings", json_boolean(result->official));
    vt_json_put(&root, "machine", vt_json_machine());
    vt_json_put(&root, "model", model_value(result));
    vt_json_put(&root, "engine", engine_value(result));
    vt_json_put(&root, "workload", workload_value(result));
    vt_json_put(&root, "job", vt_json_job(result->options));
    vt_json_put(&root, "caps", vt_json_caps(result));
    vt_json_put(&root, "results", entries);
    vt_json_put(&root, "audits", audits);
    return vt_json_object_end(&root);
}

enum vt_status vt_result_json(const struct vt_result *result, struct vt_error *err, char **ret_json)
{
    return vt_json_dump(result_value(result), err, ret_json);
}

enum vt_status vt_result_write_json(const struct vt_result *result, const char *folder,
                                    struct vt_error *err)
{
    char *json = NULL;

    enum vt_status status = vt_result_json(result, err, &json);
    if (status == VT_OK) {
        status = vt_json_save(json, folder, err);
        vt_free(json);
    }
    return status;
}
