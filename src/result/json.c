/* SPDX-License-Identifier: Apache-2.0 */
/*
 * result.json, schema version 1: docs/result-format.md says what each field means.
 *
 * Building a tree fails only for want of memory. Each helper swallows a NULL that an earlier one
 * returned and passes NULL on, so that one look at the root at the end tells.
 */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/topology.h"
#include "base/version.h"
#include "result/result.h"
#include "result/text.h"

/* An object under construction. */
struct object {
    json_t *json;
    bool failed;
};

static struct object object_begin(void)
{
    json_t *json = json_object();
    return (struct object){json, json == NULL};
}

/* Takes `value` over. */
static void put(struct object *object, const char *key, json_t *value)
{
    if (object->failed || value == NULL ||
        json_object_set_new_nocheck(object->json, key, value) != 0) {
        if (object->failed) {
            json_decref(value);
        }
        object->failed = true;
    }
}

static json_t *object_end(struct object *object)
{
    if (object->failed) {
        json_decref(object->json);
        return NULL;
    }
    return object->json;
}

static json_t *array_of(json_t *array, json_t *value)
{
    if (array == NULL || value == NULL || json_array_append_new(array, value) != 0) {
        if (array == NULL) {
            json_decref(value);
        }
        json_decref(array);
        return NULL;
    }
    return array;
}

/* null for NULL. */
static json_t *text_value(const char *text)
{
    if (text == NULL) {
        return json_null();
    }
    size_t size = vt_text_clean_size(text);
    char *clean = vt_alloc(size);
    if (clean == NULL) {
        return NULL;
    }
    json_t *json = json_string_nocheck(vt_text_clean(text, 0, clean, size));
    vt_free(clean);
    return json;
}

/* JSON has neither infinity nor NaN: null says that there is no number. */
static json_t *real_value(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* JSON readers keep 63 bits at most; nothing that is counted here comes near. */
static json_t *count_value(uint64_t value)
{
    return json_integer(value <= INT64_MAX ? (json_int_t)value : INT64_MAX);
}

static json_t *reasons_value(const struct vt_reasons *reasons)
{
    json_t *array = json_array();
    for (uint32_t i = 0; i < reasons->n && i < VT_REASONS_MAX; i++) {
        array = array_of(array, text_value(reasons->text[i]));
    }
    return array;
}

static json_t *tool_value(void)
{
    struct object tool = object_begin();
    put(&tool, "name", text_value("vatio"));
    put(&tool, "version", text_value(vt_version()));
    put(&tool, "build", text_value(vt_version_commit()));
    return object_end(&tool);
}

static json_t *machine_value(void)
{
    const struct vt_topology *topology = vt_topology();
    struct object machine = object_begin();

    put(&machine, "cpu", text_value(topology->cpu_model));
    put(&machine, "os", text_value(topology->os));
    put(&machine, "isa", text_value(vt_topology_isa()));
    put(&machine, "cores", count_value(topology->cores));
    put(&machine, "cpus", count_value(topology->cpus));
    put(&machine, "usable_cpus", count_value(topology->usable_cpus));
    put(&machine, "numa_nodes", count_value(topology->numa_nodes));
    put(&machine, "memory_bytes", count_value(topology->memory_bytes));
    put(&machine, "l2_bytes",
        topology->l2_bytes != 0 ? count_value(topology->l2_bytes) : json_null());
    return object_end(&machine);
}

static json_t *model_value(const struct vt_result *result)
{
    struct object model = object_begin();

    put(&model, "name", text_value(result->model_name));
    put(&model, "path", text_value(result->model_path));
    put(&model, "parameters", count_value(result->model_parameters));
    put(&model, "size_bytes", count_value(result->model_bytes));
    put(&model, "flops_per_sample",
        result->model_flops > 0 ? real_value(result->model_flops) : json_null());
    put(&model, "opset", json_integer(result->model_opset));
    return object_end(&model);
}

static json_t *engine_value(const struct vt_result *result)
{
    struct object engine = object_begin();

    put(&engine, "name", text_value(result->engine_name));
    put(&engine, "description", text_value(result->engine_description));
    put(&engine, "precision", text_value(result->precision));
    put(&engine, "lanes", count_value(result->lanes));
    put(&engine, "threads", count_value(result->threads));
    put(&engine, "batch_max", count_value(result->batch));
    return object_end(&engine);
}

static json_t *workload_value(const struct vt_result *result)
{
    struct object workload = object_begin();

    put(&workload, "name", text_value(result->workload_name));
    put(&workload, "description", text_value(result->workload_description));
    put(&workload, "samples", count_value(result->sample_count));
    put(&workload, "samples_skipped", count_value(result->samples_skipped));
    return object_end(&workload);
}

static json_t *option_value(const struct vt_option *option, const void *values)
{
    const void *at = (const char *)values + option->offset;

    switch (option->type) {
    case VT_OPTION_FLAG:
        return json_boolean(*(const bool *)at);
    case VT_OPTION_INT:
    case VT_OPTION_DURATION:
    case VT_OPTION_SIZE:
        return json_integer(*(const int64_t *)at);
    case VT_OPTION_REAL:
        return real_value(*(const double *)at);
    case VT_OPTION_TEXT:
        return text_value(*(const char *const *)at);
    case VT_OPTION_CHOICE:
        return text_value(option->choices[*(const int *)at]);
    case VT_OPTION_LIST: {
        const struct vt_text_list *list = at;
        json_t *array = json_array();
        for (size_t i = 0; i < list->count; i++) {
            array = array_of(array, text_value(list->items[i]));
        }
        return array;
    }
    }
    return json_null();
}

/* Every option with its value and whether the user named it. */
static json_t *job_value(const struct vt_options *options)
{
    if (options == NULL || options->table == NULL) {
        return json_null();
    }
    struct object job = object_begin();
    for (size_t i = 0; i < options->table->n_options; i++) {
        const struct vt_option *option = &options->table->options[i];
        struct object entry = object_begin();
        char key[64];
        snprintf(key, sizeof key, "%s", option->name);
        for (char *c = key; *c != '\0'; c++) {
            *c = *c == '-' ? '_' : *c;
        }
        put(&entry, "value", option_value(option, options->values));
        if (option->type == VT_OPTION_DURATION || option->type == VT_OPTION_SIZE) {
            put(&entry, "unit", text_value(option->type == VT_OPTION_SIZE ? "bytes" : "ns"));
        }
        put(&entry, "given", json_boolean(options->given != NULL && options->given[i]));
        put(&job, key, object_end(&entry));
    }
    return object_end(&job);
}

static json_t *latency_value(const struct vt_latency_stats *stats)
{
    struct object latency = object_begin();

    put(&latency, "min", json_integer(stats->min_ns));
    put(&latency, "mean", json_integer(stats->mean_ns));
    put(&latency, "p50", json_integer(stats->p50_ns));
    put(&latency, "p90", json_integer(stats->p90_ns));
    put(&latency, "p95", json_integer(stats->p95_ns));
    put(&latency, "p97", json_integer(stats->p97_ns));
    put(&latency, "p99", json_integer(stats->p99_ns));
    put(&latency, "p99_9", json_integer(stats->p99_9_ns));
    put(&latency, "max", json_integer(stats->max_ns));
    return object_end(&latency);
}

static json_t *metric_value(const struct vt_metric *metric)
{
    if (metric->name == NULL) {
        return json_null();
    }
    struct object json = object_begin();
    put(&json, "name", text_value(metric->name));
    put(&json, "value", real_value(metric->value));
    put(&json, "unit", text_value(metric->unit));
    return object_end(&json);
}

/* What the run was judged by: those of the job, not of the rules. */
static json_t *limits_value(const struct vt_load_settings *settings)
{
    struct object limits = object_begin();
    double percentile = settings->server_target_latency_percentile;

    put(&limits, "min_duration_ns", json_integer(settings->min_duration_ns));
    put(&limits, "min_queries", count_value(settings->min_query_count));
    if (settings->scenario == VT_SERVER) {
        put(&limits, "target_latency_ns", json_integer(settings->server_target_latency_ns));
    } else if (settings->scenario == VT_SINGLESTREAM) {
        percentile = settings->single_stream_target_latency_percentile;
    } else if (settings->scenario == VT_MULTISTREAM) {
        percentile = settings->multi_stream_target_latency_percentile;
        put(&limits, "samples_per_query", count_value(settings->multi_stream_samples_per_query));
    }
    if (settings->scenario != VT_OFFLINE) {
        put(&limits, "target_percentile_percent", real_value(percentile * 100));
    }
    return object_end(&limits);
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
    struct object json = object_begin();
    put(&json, "total", count_value(token->tokens));
    put(&json, "per_second",
        token->tokens > 0 ? real_value(vt_result_token_rate(report)) : json_null());
    put(&json, "first_token_ns", timed ? latency_value(&token->first) : json_null());
    put(&json, "first_token_limit_ns", server_limit(report, s->server_ttft_latency_ns));
    put(&json, "per_output_token_ns", timed ? latency_value(&token->per_output) : json_null());
    put(&json, "per_output_token_limit_ns", server_limit(report, s->server_tpot_latency_ns));
    put(&json, "errors", count_value(token->errors));
    return object_end(&json);
}

/* What came up while the run went on, in order. */
static json_t *notes_value(const struct vt_load_report *report)
{
    json_t *array = json_array();

    for (uint32_t i = 0; i < report->n_notes && i < VT_NOTES_MAX; i++) {
        struct object note = object_begin();
        put(&note, "at_ns", json_integer(report->notes[i].at_ns));
        put(&note, "error", json_boolean(report->notes[i].is_error));
        put(&note, "text", text_value(report->notes[i].text));
        array = array_of(array, object_end(&note));
    }
    return array;
}

/* How queries came and where their records went. */
static void put_manner(struct object *json, const struct vt_load_report *report)
{
    static const char *const arrivals[] = {"poisson", "constant", "trace"};
    const struct vt_load_settings *s = &report->settings;

    if (s->scenario == VT_SERVER) {
        put(json, "arrivals", text_value(arrivals[s->arrivals]));
        put(json, "issue_threads",
            count_value(s->server_num_issue_query_threads > 1 ? s->server_num_issue_query_threads
                                                              : 1));
        put(json, "coalesced", json_boolean(s->server_coalesce_queries));
    }
    put(json, "record_bytes", count_value(report->record_bytes));
    put(json, "spilled_bytes", count_value(report->spilled_bytes));
    put(json, "notes", notes_value(report));
    put(json, "notes_dropped", count_value(report->notes_dropped));
}

static json_t *early_stopping_value(const struct vt_load_report *report)
{
    struct object json = object_begin();

    put(&json, "met", json_boolean(report->early_stopping_met));
    put(&json, "queries_needed", count_value(report->early_stopping_needed));
    put(&json, "estimate_ns",
        report->early_stopping_estimate_ns != 0 ? json_integer(report->early_stopping_estimate_ns)
                                                : json_null());
    put(&json, "overlatency_queries",
        report->settings.scenario == VT_SERVER ? count_value(report->overlatency_queries)
                                               : json_null());
    return object_end(&json);
}

static json_t *quality_value(const struct vt_result_entry *entry)
{
    const struct vt_quality *quality = &entry->quality;

    if (!entry->has_quality) {
        return json_null();
    }
    struct object json = object_begin();
    put(&json, "metric", text_value(quality->metric));
    put(&json, "value", real_value(quality->value));
    put(&json, "unit", text_value(quality->unit));
    put(&json, "target", quality->has_target ? real_value(quality->target) : json_null());
    put(&json, "smaller_is_better", json_boolean(quality->smaller_is_better));
    put(&json, "pass", json_boolean(quality->pass));
    put(&json, "samples", count_value(quality->count));
    put(&json, "detail", text_value(quality->detail));
    return object_end(&json);
}

/* The part of a result that comes from the run itself. */
static void put_report(struct object *json, const struct vt_load_report *report)
{
    bool measured = report->samples_completed > 0;
    struct object lateness = object_begin();

    put(json, "metric", metric_value(&report->metric));
    put(json, "limits", limits_value(&report->settings));
    put(json, "latency_ns", measured ? latency_value(&report->latency) : json_null());
    if (report->settings.scenario == VT_MULTISTREAM) {
        put(json, "query_latency_ns",
            measured ? latency_value(&report->query_latency) : json_null());
    }
    put(json, "queries", count_value(report->queries_issued));
    put(json, "samples", count_value(report->samples_issued));
    put(json, "samples_completed", count_value(report->samples_completed));
    put(json, "samples_failed", count_value(report->samples_failed));
    put(json, "samples_lost", count_value(report->samples_lost));
    put(json, "samples_late", count_value(report->samples_late));
    put(json, "samples_doubled", count_value(report->samples_doubled));
    put(json, "samples_invented", count_value(report->samples_invented));
    put(json, "first_failure",
        report->first_failure[0] != '\0' ? text_value(report->first_failure) : json_null());
    put(json, "started_unix_ms", json_integer(report->start_unix_ms));
    put(json, "duration_ns", json_integer(report->duration_ns));
    put(json, "interrupted", json_boolean(report->interrupted));
    put(json, "capped", json_boolean(report->capped));
    put(&lateness, "p50", json_integer(report->lateness_p50_ns));
    put(&lateness, "p99", json_integer(report->lateness_p99_ns));
    put(&lateness, "p99_9", json_integer(report->lateness_p99_9_ns));
    put(&lateness, "max", json_integer(report->lateness_max_ns));
    put(json, "issue_lateness_ns", object_end(&lateness));
    put(json, "early_stopping", early_stopping_value(report));
    put(json, "tokens", tokens_value(report));
    put_manner(json, report);
}

static json_t *energy_value(const struct vt_result *result)
{
    struct object energy = object_begin();

    put(&energy, "measured", json_false());
    put(&energy, "reason", text_value(result->energy_text));
    return object_end(&energy);
}

/* null while nothing failed. */
static json_t *failure_value(const struct vt_error *failure)
{
    if (failure->status == VT_OK) {
        return json_null();
    }
    struct object json = object_begin();
    put(&json, "status", text_value(vt_status_name(failure->status)));
    put(&json, "text", text_value(failure->text));
    return object_end(&json);
}

static json_t *known_rate(double qps)
{
    return qps > 0 ? real_value(qps) : json_null();
}

/* How the rate was searched for and how sure it is; null where it was given. */
static json_t *rate_search_value(const struct vt_result_entry *entry)
{
    static const char *const outcomes[] = {"confirmed", "unconfirmed", "none"};
    const struct vt_rate_found *rate = &entry->rate;

    if (!entry->rate_found) {
        return json_null();
    }
    struct object json = object_begin();
    put(&json, "outcome", text_value(outcomes[rate->outcome]));
    put(&json, "confirmed_qps", known_rate(rate->outcome == VT_RATE_CONFIRMED ? rate->qps : 0));
    put(&json, "failed_qps", known_rate(rate->failed_qps));
    put(&json, "edge_low_qps", known_rate(rate->low_qps));
    put(&json, "edge_high_qps", known_rate(rate->high_qps));
    put(&json, "edge_confidence_percent", json_integer(90));
    put(&json, "trials", count_value(rate->trials));
    put(&json, "full_runs", count_value(rate->full_runs));
    put(&json, "full_runs_valid", count_value(rate->full_valid));
    put(&json, "spent_ns", json_integer(rate->spent_ns));
    put(&json, "budget_ns", json_integer(rate->budget_ns));
    put(&json, "out_of_time", json_boolean(rate->out_of_time));
    put(&json, "text", text_value(rate->text));
    return object_end(&json);
}

static json_t *find_peak_value(const struct vt_result_peak *peak)
{
    if (peak->steps == 0) {
        return json_null();
    }
    struct object json = object_begin();
    put(&json, "qps", known_rate(peak->qps));
    put(&json, "bounded", json_boolean(peak->bounded));
    put(&json, "runs", count_value(peak->steps));
    return object_end(&json);
}

static json_t *entry_value(const struct vt_result *result, const struct vt_result_entry *entry)
{
    struct object json = object_begin();
    struct object rules = object_begin();

    put(&json, "scenario", text_value(vt_scenario_key(entry->scenario)));
    put(&json, "mode", text_value(vt_mode_key(entry->mode)));
    put(&json, "test_mode", text_value(vt_mode_name(entry->test_mode)));
    put(&json, "valid", json_boolean(entry->report != NULL && entry->valid));
    put(&json, "reasons", reasons_value(&entry->reasons));
    put(&rules, "met", json_boolean(entry->rules_met));
    put(&rules, "reasons", reasons_value(&entry->rules));
    put(&json, "rules", object_end(&rules));
    put(&json, "failure", failure_value(&entry->failure));
    if (entry->scenario == VT_SERVER && entry->mode == VT_PERFORMANCE) {
        put(&json, "rate_search", rate_search_value(entry));
        put(&json, "find_peak", find_peak_value(&entry->peak));
    }
    if (entry->report == NULL) {
        return object_end(&json);
    }
    put_report(&json, entry->report);
    if (entry->scenario == VT_SERVER) {
        put(&json, "target_qps", real_value(entry->target_qps));
        put(&json, "target_qps_found", json_boolean(entry->rate_found));
        put(&json, "rate_trials", count_value(entry->rate.trials));
    }
    put(&json, "batch_max", count_value(entry->batch_max));
    put(&json, "requests", count_value(entry->requests));
    put(&json, "quality", quality_value(entry));
    put(&json, "energy", energy_value(result));
    return object_end(&json);
}

static json_t *audit_performance_value(const struct vt_audit_performance *p)
{
    if (!p->judged) {
        return json_null();
    }
    struct object json = object_begin();
    put(&json, "verdict", text_value(vt_audit_verdict_text(p->verdict)));
    put(&json, "reference", real_value(p->reference));
    put(&json, "test", real_value(p->test));
    put(&json, "unit", text_value(p->unit));
    put(&json, "tolerance_percent", real_value(p->tolerance * 100));
    put(&json, "both_sides", json_boolean(p->both_sides));
    put(&json, "text", text_value(p->text));
    return object_end(&json);
}

static json_t *audit_accuracy_value(const struct vt_audit_accuracy *a)
{
    if (!a->judged) {
        return json_null();
    }
    struct object json = object_begin();
    put(&json, "verdict", text_value(vt_audit_verdict_text(a->verdict)));
    put(&json, "reference_entries", count_value(a->reference_entries));
    put(&json, "entries", count_value(a->entries));
    put(&json, "matched", count_value(a->matched));
    put(&json, "missing", count_value(a->missing));
    put(&json, "mismatches", count_value(a->mismatches));
    put(&json, "first_byte_mismatches", count_value(a->first_mismatches));
    put(&json, "by_quality", json_boolean(a->by_quality));
    put(&json, "quality", a->by_quality ? real_value(a->quality) : json_null());
    put(&json, "reference_quality", a->by_quality ? real_value(a->reference_quality) : json_null());
    put(&json, "delta_percent", a->by_quality ? real_value(a->delta * 100) : json_null());
    put(&json, "text", text_value(a->text));
    return object_end(&json);
}

static json_t *audit_tokens_value(const struct vt_audit_tokens *t)
{
    if (!t->judged) {
        return json_null();
    }
    struct object json = object_begin();
    put(&json, "verdict", text_value(vt_audit_verdict_text(t->verdict)));
    put(&json, "entries", count_value(t->entries));
    put(&json, "first_token", t->first_token_skipped ? json_null() : json_boolean(t->first_token));
    put(&json, "end_of_sequence", json_boolean(t->end_of_sequence));
    put(&json, "length", json_boolean(t->length));
    put(&json, "text", text_value(t->text));
    return object_end(&json);
}

static json_t *audit_value(const struct vt_result_audit *audit)
{
    struct object json = object_begin();

    put(&json, "test", text_value(vt_audit_test_name(audit->test)));
    put(&json, "scenario", text_value(vt_scenario_key(audit->scenario)));
    put(&json, "verdict", text_value(vt_audit_verdict_text(audit->verdict)));
    put(&json, "text", audit->text[0] != '\0' ? text_value(audit->text) : json_null());
    put(&json, "attempts", count_value(audit->attempts));
    put(&json, "accuracy", audit_accuracy_value(&audit->accuracy));
    put(&json, "performance", audit_performance_value(&audit->performance));
    put(&json, "tokens", audit_tokens_value(&audit->tokens));
    return object_end(&json);
}

static json_t *result_value(const struct vt_result *result)
{
    struct object root = object_begin();
    json_t *entries = json_array(), *audits = json_array();

    for (uint32_t i = 0; i < result->n_entries; i++) {
        entries = array_of(entries, entry_value(result, &result->entries[i]));
    }
    for (uint32_t i = 0; i < result->n_audits; i++) {
        audits = array_of(audits, audit_value(&result->audits[i]));
    }
    put(&root, "schema_version", json_integer(VT_RESULT_SCHEMA_VERSION));
    put(&root, "tool", tool_value());
    put(&root, "started_utc", text_value(result->started_utc));
    put(&root, "valid", json_boolean(vt_result_valid(result)));
    put(&root, "partial", json_boolean(result->partial));
    put(&root, "official_settings", json_boolean(result->official));
    put(&root, "machine", machine_value());
    put(&root, "model", model_value(result));
    put(&root, "engine", engine_value(result));
    put(&root, "workload", workload_value(result));
    put(&root, "job", job_value(result->options));
    put(&root, "results", entries);
    put(&root, "audits", audits);
    return object_end(&root);
}

struct text_buffer {
    char *text;
    size_t used, size;
};

/* json_dump_callback_t: appends, always leaving room for the newline and the NUL. */
static int append(const char *bytes, size_t n, void *ctx)
{
    struct text_buffer *buffer = ctx;

    if (n + 2 > buffer->size - buffer->used) {
        size_t size = 2 * buffer->size + n + 4096;
        char *grown = vt_regrow(buffer->text, buffer->used, size);
        if (grown == NULL) {
            return -1;
        }
        buffer->text = grown;
        buffer->size = size;
    }
    memcpy(buffer->text + buffer->used, bytes, n);
    buffer->used += n;
    return 0;
}

enum vt_status vt_result_json(const struct vt_result *result, struct vt_error *err, char **ret_json)
{
    struct text_buffer buffer = {NULL, 0, 0};
    json_t *root = result_value(result);

    if (root == NULL || append("", 0, &buffer) != 0 ||
        json_dump_callback(root, append, &buffer, JSON_INDENT(2)) != 0) {
        json_decref(root);
        vt_free(buffer.text);
        return vt_error_set(err, VT_ERR_MEMORY, "result.json: out of memory");
    }
    json_decref(root);
    buffer.text[buffer.used++] = '\n';
    buffer.text[buffer.used] = '\0';
    *ret_json = buffer.text;
    return VT_OK;
}

enum vt_status vt_result_write_json(const struct vt_result *result, const char *folder,
                                    struct vt_error *err)
{
    struct vt_file_writer writer = {NULL, NULL, NULL};
    char *json = NULL;

    enum vt_status status = vt_result_json(result, err, &json);
    if (status != VT_OK) {
        return status;
    }
    char *path = vt_path_join(folder, "result.json");
    if (path == NULL) {
        status = vt_error_set(err, VT_ERR_MEMORY, "%s/result.json: out of memory", folder);
    } else {
        status = vt_file_writer_open(&writer, path, err);
    }
    if (status == VT_OK) {
        (void)fputs(json, writer.stream); /* an error surfaces at commit */
        status = vt_file_writer_commit(&writer, err);
    }
    vt_free(path);
    vt_free(json);
    return status;
}
