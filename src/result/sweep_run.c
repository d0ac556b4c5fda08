/* SPDX-License-Identifier: Apache-2.0 */
/* What a point's run left: the figures of its result.json that a sweep compares. */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/quote.h"
#include "result/sweep.h"

#define RESULT_BYTES_MAX ((size_t)16 << 20)

static double number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static void copy_text(const json_t *object, const char *key, char *text, size_t size)
{
    const char *value = json_string_value(json_object_get(object, key));
    (void)snprintf(text, size, "%s", value != NULL ? value : "");
    vt_tame(text);
}

static bool text_is(const json_t *object, const char *key, const char *wanted)
{
    const char *value = json_string_value(json_object_get(object, key));
    return value != NULL && strcmp(value, wanted) == 0;
}

static const json_t *find_entry(const json_t *root, const char *scenario)
{
    const json_t *results = json_object_get(root, "results");

    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *entry = json_array_get(results, i);
        if (text_is(entry, "scenario", scenario) && text_is(entry, "mode", "performance")) {
            return entry;
        }
    }
    return NULL;
}

/* In Offline all samples are due at once, so that their latencies say how long the test was. What
 * a batch costs in time is the engine's part of it; where that was not stamped, lanes that are
 * never idle have it on average: lanes x duration / requests (Little's law). */
static void take_request(const json_t *root, const json_t *entry, struct vt_sweep_measured *m)
{
    const json_t *compute = json_object_get(json_object_get(entry, "stages_ns"), "compute");
    double lanes = number_of(json_object_get(root, "engine"), "lanes");
    double requests = number_of(entry, "requests");

    m->latency_of = VT_SWEEP_REQUEST;
    if (compute != NULL) {
        m->mean_ns = number_of(compute, "mean");
        m->p50_ns = number_of(compute, "p50");
        m->p99_ns = number_of(compute, "p99");
    } else if (requests > 0) {
        m->mean_ns = lanes * number_of(entry, "duration_ns") / requests;
    } else {
        m->latency_of = VT_SWEEP_NO_LATENCY;
    }
}

static void take_query(const json_t *entry, struct vt_sweep_measured *m)
{
    const json_t *latency = json_object_get(entry, "query_latency_ns");

    latency = json_is_object(latency) ? latency : json_object_get(entry, "latency_ns");
    if (json_is_object(latency)) {
        m->latency_of = VT_SWEEP_QUERY;
        m->mean_ns = number_of(latency, "mean");
        m->p50_ns = number_of(latency, "p50");
        m->p90_ns = number_of(latency, "p90");
        m->p99_ns = number_of(latency, "p99");
    }
}

static void take_energy(const json_t *entry, struct vt_sweep_measured *m)
{
    const json_t *energy = json_object_get(entry, "energy");
    double samples = number_of(entry, "samples_completed");

    if (!json_is_true(json_object_get(energy, "measured"))) {
        copy_text(energy, "reason", m->energy_reason, sizeof m->energy_reason);
        return;
    }
    copy_text(energy, "headline", m->meter, sizeof m->meter);
    m->mean_watts = number_of(energy, "mean_watts");
    m->joules_per_sample = number_of(energy, "joules_per_sample");
    m->samples_per_second_per_watt = number_of(energy, "samples_per_second_per_watt");
    if (samples > 0) {
        m->joules_per_sample_uncertainty = number_of(energy, "uncertainty_joules") / samples;
    }
}

static void take_entry(const json_t *root, const json_t *entry, const char *scenario,
                       struct vt_sweep_measured *m)
{
    const json_t *metric = json_object_get(entry, "metric");
    bool rate = strcmp(scenario, "offline") == 0 || strcmp(scenario, "server") == 0;

    m->valid = json_is_true(json_object_get(entry, "valid"));
    const char *reason = json_string_value(json_array_get(json_object_get(entry, "reasons"), 0));
    if (!m->valid && reason != NULL) {
        (void)snprintf(m->reason, sizeof m->reason, "%s", reason);
        vt_tame(m->reason);
    }
    copy_text(metric, "name", m->metric_name, sizeof m->metric_name);
    copy_text(metric, "unit", m->metric_unit, sizeof m->metric_unit);
    m->metric = number_of(metric, "value");
    m->samples_per_second =
        rate ? m->metric
             : number_of(entry, "samples_completed") / (number_of(entry, "duration_ns") * 1e-9);
    if (!isfinite(m->samples_per_second)) {
        m->samples_per_second = NAN;
    }
    if (strcmp(scenario, "offline") == 0) {
        take_request(root, entry, m);
    } else {
        take_query(entry, m);
    }
    take_energy(entry, m);
}

static enum vt_status take_root(const char *path, const json_t *root, const char *scenario,
                                struct vt_error *err, struct vt_sweep_measured *ret)
{
    struct vt_sweep_measured m = {.metric = NAN,
                                  .samples_per_second = NAN,
                                  .mean_ns = NAN,
                                  .p50_ns = NAN,
                                  .p90_ns = NAN,
                                  .p99_ns = NAN,
                                  .joules_per_sample = NAN,
                                  .joules_per_sample_uncertainty = NAN,
                                  .samples_per_second_per_watt = NAN,
                                  .mean_watts = NAN};
    const json_t *entry = find_entry(root, scenario);
    const json_t *failure = json_object_get(entry, "failure");

    if (json_is_true(json_object_get(root, "partial"))) {
        return vt_error_set(err, VT_ERR_INTERRUPTED, "%s: the run was interrupted", path);
    }
    if (entry == NULL) {
        return vt_error_set(err, VT_ERR_FORMAT, "%s: no result of %s in performance mode", path,
                            scenario);
    }
    if (json_is_object(failure)) {
        char text[240];
        copy_text(failure, "text", text, sizeof text);
        return vt_error_set(err, VT_ERR_ENGINE, "%s", text);
    }
    if (!json_is_object(json_object_get(entry, "metric"))) {
        return vt_error_set(err, VT_ERR_ENGINE, "nothing was measured");
    }
    take_entry(root, entry, scenario, &m);
    *ret = m;
    return VT_OK;
}

enum vt_status vt_sweep_read_run(const char *folder, const char *scenario, struct vt_error *err,
                                 struct vt_sweep_measured *ret_measured)
{
    char *path = vt_path_join(folder, "result.json");
    char *text = NULL;
    size_t size = 0;
    json_t *root = NULL;
    json_error_t error;

    if (path == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "%s/result.json: out of memory", folder);
    }
    enum vt_status status = vt_file_read(path, RESULT_BYTES_MAX, err, &text, &size);
    if (status == VT_OK) {
        root = json_loadb(text, size, 0, &error);
        status = root != NULL ? take_root(path, root, scenario, err, ret_measured)
                              : vt_error_set(err, VT_ERR_FORMAT, "%s:%d: %s", path, error.line,
                                             vt_tame(error.text));
    }
    json_decref(root);
    vt_free(text);
    vt_free(path);
    return status;
}
