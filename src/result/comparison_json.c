/* SPDX-License-Identifier: Apache-2.0 */
/* result.json of a comparison: docs/result-format.md says what each field means. */
#include <math.h>

#include <string.h>

#include "base/alloc.h"
#include "result/comparison.h"
#include "result/json_parts.h"
#include "result/result.h"

void vt_comparison_release(struct vt_comparison *comparison)
{
    for (uint32_t i = 0; i < comparison->n_engines; i++) {
        struct vt_compared_engine *engine = &comparison->engines[i];
        vt_free(engine->offline.values);
        vt_free(engine->single_stream.values);
        vt_free(engine->single_stream.latencies);
        vt_free(engine->outputs);
        vt_free(engine->feeders);
    }
    memset(comparison->engines, 0, sizeof comparison->engines);
    comparison->n_engines = 0;
}

bool vt_comparison_agrees(const struct vt_comparison *comparison)
{
    for (uint32_t i = 0; i < comparison->n_engines; i++) {
        for (uint32_t k = 0; k < comparison->engines[i].n_outputs; k++) {
            const struct vt_compared_engine *engine = &comparison->engines[i];
            if (!engine->other_precision && !engine->outputs[k].agrees) {
                return false;
            }
        }
    }
    return true;
}

double vt_compared_rms(const struct vt_compared_engine *engine)
{
    double rms = (double)NAN;
    for (uint32_t k = 0; k < engine->n_outputs; k++) {
        if (engine->outputs[k].elements > 0) {
            rms = fmax(rms, engine->outputs[k].rms_relative); /* a NaN is the lesser one */
        }
    }
    return rms;
}

int vt_comparison_exit_code(const struct vt_comparison *comparison)
{
    if (comparison->partial) {
        return vt_status_exit_code(VT_ERR_INTERRUPTED);
    }
    return vt_comparison_agrees(comparison) ? 0 : 1;
}

static json_t *numbers_value(const double *numbers, uint32_t n)
{
    json_t *array = json_array();
    for (uint32_t i = 0; i < n; i++) {
        array = vt_json_array_with(array, vt_json_real(numbers[i]));
    }
    return array;
}

static json_t *speed_value(const struct vt_compared_scenario *scenario)
{
    if (!scenario->has_speed) {
        return json_null();
    }
    struct vt_json_object speed = vt_json_object_begin();
    vt_json_put(&speed, "ratio", vt_json_real(scenario->speed.ratio));
    vt_json_put(&speed, "low", vt_json_real(scenario->speed.low));
    vt_json_put(&speed, "high", vt_json_real(scenario->speed.high));
    vt_json_put(&speed, "confidence_percent", vt_json_real(100 * VT_COMPARE_CONFIDENCE));
    return vt_json_object_end(&speed);
}

static json_t *offline_value(const struct vt_compared_scenario *scenario, uint32_t rounds)
{
    struct vt_json_object json = vt_json_object_begin();
    vt_json_put(&json, "metric", vt_json_text("samples_per_second"));
    vt_json_put(&json, "median", rounds > 0 ? vt_json_real(scenario->median) : json_null());
    vt_json_put(&json, "speed", speed_value(scenario));
    vt_json_put(&json, "rounds", numbers_value(scenario->values, rounds));
    return vt_json_object_end(&json);
}

static json_t *single_stream_value(const struct vt_compared_scenario *scenario, uint32_t rounds)
{
    struct vt_json_object json = vt_json_object_begin();
    vt_json_put(&json, "metric", vt_json_text("latency_ns"));
    vt_json_put(&json, "median_p50", rounds > 0 ? vt_json_real(scenario->median) : json_null());
    vt_json_put(&json, "median_p90", rounds > 0 ? vt_json_real(scenario->p90_median) : json_null());
    vt_json_put(&json, "speed", speed_value(scenario));
    vt_json_put(&json, "rounds_p50", numbers_value(scenario->values, rounds));
    vt_json_put(&json, "rounds_p90", numbers_value(scenario->latencies, rounds));
    return vt_json_object_end(&json);
}

static json_t *output_value(const struct vt_output_agreement *output)
{
    struct vt_json_object json = vt_json_object_begin();
    vt_json_put(&json, "name", vt_json_text(output->name));
    vt_json_put(&json, "type", vt_json_text(vt_dtype_name(output->dtype)));
    vt_json_put(&json, "agrees", json_boolean(output->agrees));
    vt_json_put(&json, "elements", vt_json_count(output->elements));
    vt_json_put(&json, "beyond_tolerance", vt_json_count(output->beyond));
    vt_json_put(&json, "max_absolute_error", vt_json_real(output->max_absolute));
    vt_json_put(&json, "max_relative_error", vt_json_real(output->max_relative));
    vt_json_put(&json, "rms_relative_error", vt_json_real(output->rms_relative));
    vt_json_put(&json, "feeders", vt_json_count(output->feeders));
    vt_json_put(&json, "note", output->note[0] != '\0' ? vt_json_text(output->note) : json_null());
    return vt_json_object_end(&json);
}

/* null for the engine that the others are compared with. */
static json_t *outputs_value(const struct vt_output_agreement *outputs, uint32_t n)
{
    if (outputs == NULL) {
        return json_null();
    }
    json_t *array = json_array();
    for (uint32_t i = 0; i < n; i++) {
        array = vt_json_array_with(array, output_value(&outputs[i]));
    }
    return array;
}

static json_t *engine_value(const struct vt_comparison *comparison, uint32_t index)
{
    const struct vt_compared_engine *engine = &comparison->engines[index];
    struct vt_json_object json = vt_json_object_begin();
    json_t *outputs = outputs_value(engine->outputs, engine->n_outputs);
    json_t *feeders = outputs_value(engine->feeders, engine->n_feeders);

    vt_json_put(&json, "label", vt_json_text(engine->label));
    vt_json_put(&json, "name", vt_json_text(engine->name));
    vt_json_put(&json, "description", vt_json_text(engine->description));
    vt_json_put(&json, "precision", vt_json_text(engine->precision));
    vt_json_put(&json, "other_precision", json_boolean(engine->other_precision));
    vt_json_put(&json, "output_rms", vt_json_real(vt_compared_rms(engine)));
    vt_json_put(&json, "precision_choice", vt_json_precision(&engine->precision_choice));
    vt_json_put(&json, "lanes", engine->lanes > 0 ? vt_json_count(engine->lanes) : json_null());
    vt_json_put(&json, "batch_max", engine->batch > 0 ? vt_json_count(engine->batch) : json_null());
    vt_json_put(&json, "open_ns", json_integer(engine->open_ns));
    vt_json_put(&json, "first_request_ns", json_integer(engine->first_ns));
    vt_json_put(&json, "offline", offline_value(&engine->offline, comparison->rounds[0]));
    vt_json_put(&json, "singlestream",
                single_stream_value(&engine->single_stream, comparison->rounds[1]));
    vt_json_put(&json, "outputs", outputs);
    vt_json_put(&json, "feeders", feeders);
    return vt_json_object_end(&json);
}

static json_t *model_value(const struct vt_comparison *comparison)
{
    struct vt_json_object model = vt_json_object_begin();
    vt_json_put(&model, "name", vt_json_text(comparison->model_name));
    vt_json_put(&model, "path", vt_json_text(comparison->model_path));
    vt_json_put(&model, "random_weights", json_boolean(comparison->random_weights));
    return vt_json_object_end(&model);
}

static json_t *workload_value(const struct vt_comparison *comparison)
{
    struct vt_json_object workload = vt_json_object_begin();
    vt_json_put(&workload, "name", vt_json_text(comparison->workload_name));
    vt_json_put(&workload, "description", vt_json_text(comparison->workload_description));
    vt_json_put(&workload, "samples", vt_json_count(comparison->sample_count));
    return vt_json_object_end(&workload);
}

static json_t *comparison_value(const struct vt_comparison *comparison)
{
    /* enum vt_renewal */
    static const char *const renewals[] = {"nothing", "lanes", "engine"};
    struct vt_json_object json = vt_json_object_begin();
    json_t *engines = json_array();

    for (uint32_t i = 0; i < comparison->n_engines; i++) {
        engines = vt_json_array_with(engines, engine_value(comparison, i));
    }
    vt_json_put(&json, "rounds", vt_json_count(comparison->rounds_wanted));
    vt_json_put(&json, "turn_ns", json_integer(comparison->turn_ns));
    vt_json_put(&json, "renewed_each_turn", vt_json_text(renewals[comparison->renewal]));
    vt_json_put(&json, "threads", vt_json_count(comparison->threads));
    vt_json_put(&json, "settle_longest_ns", json_integer(comparison->settle_longest_ns));
    vt_json_put(&json, "samples_checked", vt_json_count(comparison->samples_checked));
    vt_json_put(&json, "rtol", vt_json_real(comparison->rtol));
    vt_json_put(&json, "atol", vt_json_real(comparison->atol));
    vt_json_put(&json, "engines", engines);
    return vt_json_object_end(&json);
}

enum vt_status vt_comparison_json(const struct vt_comparison *comparison, struct vt_error *err,
                                  char **ret_json)
{
    struct vt_json_object root = vt_json_object_begin();

    vt_json_put(&root, "schema_version", json_integer(VT_RESULT_SCHEMA_VERSION));
    vt_json_put(&root, "kind", vt_json_text("comparison"));
    vt_json_put(&root, "tool", vt_json_tool());
    vt_json_put(&root, "started_utc", vt_json_text(comparison->started_utc));
    vt_json_put(&root, "outputs_agree", json_boolean(vt_comparison_agrees(comparison)));
    vt_json_put(&root, "partial", json_boolean(comparison->partial));
    vt_json_put(&root, "machine", vt_json_machine());
    vt_json_put(&root, "model", model_value(comparison));
    vt_json_put(&root, "workload", workload_value(comparison));
    vt_json_put(&root, "job", vt_json_job(comparison->options));
    vt_json_put(&root, "comparison", comparison_value(comparison));
    return vt_json_dump(vt_json_object_end(&root), err, ret_json);
}

enum vt_status vt_comparison_write_json(const struct vt_comparison *comparison, const char *folder,
                                        struct vt_error *err)
{
    char *json = NULL;

    enum vt_status status = vt_comparison_json(comparison, err, &json);
    if (status == VT_OK) {
        status = vt_json_save(json, folder, err);
        vt_free(json);
    }
    return status;
}
