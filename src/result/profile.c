/* SPDX-License-Identifier: Apache-2.0 */
#include "result/profile.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "result/json_parts.h"
#include "result/result.h"

void vt_profile_release(struct vt_profile *profile)
{
    vt_free(profile->layers);
    vt_free(profile->operators);
    profile->layers = NULL;
    profile->operators = NULL;
    profile->n_layers = profile->n_operators = 0;
}

double vt_machine_roof_ns(const struct vt_machine_peak *peak, double flops, double bytes)
{
    double compute = peak->flops_per_s > 0 ? flops / peak->flops_per_s : 0;
    double memory = peak->bytes_per_s > 0 ? bytes / peak->bytes_per_s : 0;
    return 1e9 * (compute > memory ? compute : memory);
}

bool vt_machine_compute_bound(const struct vt_machine_peak *peak, double flops, double bytes)
{
    return flops * peak->bytes_per_s > bytes * peak->flops_per_s;
}

/* --- sums ------------------------------------------------------------------------------------ */

static int dearer_layer(const void *a, const void *b)
{
    const struct vt_profile_layer *x = a, *y = b;
    if (x->time_ns != y->time_ns) {
        return x->time_ns < y->time_ns ? 1 : -1;
    }
    return x->position < y->position ? -1 : x->position > y->position;
}

static int dearer_operator(const void *a, const void *b)
{
    const struct vt_profile_operator *x = a, *y = b;
    if (x->time_ns != y->time_ns) {
        return x->time_ns < y->time_ns ? 1 : -1;
    }
    return strcmp(x->op, y->op);
}

bool vt_profile_sum_up(struct vt_profile *profile)
{
    struct vt_profile_operator *operators =
        vt_calloc((size_t)profile->n_layers + 1, sizeof operators[0]);
    uint32_t n = 0;

    if (operators == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < profile->n_layers; i++) {
        const struct vt_profile_layer *layer = &profile->layers[i];
        uint32_t at = 0;
        while (at < n && strcmp(operators[at].op, layer->op) != 0) {
            at++;
        }
        if (at == n) {
            memcpy(operators[n++].op, layer->op, sizeof layer->op);
        }
        operators[at].layers++;
        operators[at].time_ns += layer->time_ns;
        operators[at].flops += layer->flops;
        operators[at].bytes += layer->bytes;
    }
    if (profile->n_layers > 0) {
        qsort(profile->layers, profile->n_layers, sizeof profile->layers[0], dearer_layer);
        qsort(operators, n, sizeof operators[0], dearer_operator);
    }
    vt_free(profile->operators);
    profile->operators = operators;
    profile->n_operators = n;
    return true;
}

/* --- JSON ------------------------------------------------------------------------------------ */

static double rate(double amount, double time_ns)
{
    return time_ns > 0 ? amount / (time_ns / 1e9) : 0;
}

static void put_cost(struct vt_json_object *json, const struct vt_profile *profile, double time_ns,
                     double flops, double bytes)
{
    double total = profile->profiled_run_ns;
    bool compute = vt_machine_compute_bound(&profile->peak, flops, bytes);

    vt_json_put(json, "time_ns", vt_json_real(time_ns));
    vt_json_put(json, "share_percent", vt_json_real(total > 0 ? 100 * time_ns / total : 0));
    vt_json_put(json, "flops", vt_json_real(flops));
    vt_json_put(json, "bytes", vt_json_real(bytes));
    vt_json_put(json, "flops_per_second", vt_json_real(rate(flops, time_ns)));
    vt_json_put(json, "bytes_per_second", vt_json_real(rate(bytes, time_ns)));
    vt_json_put(json, "roof_percent",
                time_ns > 0
                    ? vt_json_real(100 * vt_machine_roof_ns(&profile->peak, flops, bytes) / time_ns)
                    : json_null());
    vt_json_put(json, "bound", vt_json_text(compute ? "compute" : "memory"));
}

static json_t *layer_value(const struct vt_profile *profile, const struct vt_profile_layer *layer)
{
    struct vt_json_object json = vt_json_object_begin();

    vt_json_put_layer(&json, layer);
    vt_json_put(&json, "position", vt_json_count(layer->position));
    vt_json_put(&json, "calls", vt_json_count(layer->calls));
    put_cost(&json, profile, layer->time_ns, layer->flops, layer->bytes);
    return vt_json_object_end(&json);
}

static json_t *operator_value(const struct vt_profile *profile,
                              const struct vt_profile_operator *sum)
{
    struct vt_json_object json = vt_json_object_begin();

    vt_json_put(&json, "op", vt_json_text(sum->op));
    vt_json_put(&json, "layers", vt_json_count(sum->layers));
    put_cost(&json, profile, sum->time_ns, sum->flops, sum->bytes);
    return vt_json_object_end(&json);
}

static json_t *peak_value(const struct vt_machine_peak *peak)
{
    struct vt_json_object json = vt_json_object_begin();

    vt_json_put(&json, "isa", vt_json_text(peak->isa));
    vt_json_put(&json, "flops_per_second", vt_json_real(peak->flops_per_s));
    vt_json_put(&json, "bytes_per_second", vt_json_real(peak->bytes_per_s));
    vt_json_put(&json, "triad_bytes", vt_json_count(peak->triad_bytes));
    return vt_json_object_end(&json);
}

static json_t *profile_value(const struct vt_profile *profile)
{
    struct vt_json_object json = vt_json_object_begin();
    json_t *layers = json_array(), *operators = json_array();

    for (uint32_t i = 0; i < profile->n_operators; i++) {
        operators = vt_json_array_with(operators, operator_value(profile, &profile->operators[i]));
    }
    for (uint32_t i = 0; i < profile->n_layers; i++) {
        layers = vt_json_array_with(layers, layer_value(profile, &profile->layers[i]));
    }
    vt_json_put(&json, "engine", vt_json_text(profile->engine_description));
    vt_json_put(&json, "workload", vt_json_text(profile->workload_name));
    vt_json_put(&json, "batch", vt_json_count(profile->batch));
    vt_json_put(&json, "threads", vt_json_count(profile->threads));
    vt_json_put(&json, "runs", vt_json_count(profile->runs));
    vt_json_put(&json, "run_ns", vt_json_real(profile->run_ns));
    vt_json_put(&json, "profiled_run_ns", vt_json_real(profile->profiled_run_ns));
    vt_json_put(&json, "peak", peak_value(&profile->peak));
    vt_json_put(&json, "operators", operators);
    vt_json_put(&json, "layers", layers);
    return vt_json_object_end(&json);
}

enum vt_status vt_profile_json(const struct vt_profile *profile, struct vt_error *err,
                               char **ret_json)
{
    struct vt_json_object root = vt_json_object_begin(), model = vt_json_object_begin();

    vt_json_put(&model, "name", vt_json_text(profile->model_name));
    vt_json_put(&model, "path", vt_json_text(profile->model_path));
    vt_json_put(&root, "schema_version", json_integer(VT_RESULT_SCHEMA_VERSION));
    vt_json_put(&root, "kind", vt_json_text("profile"));
    vt_json_put(&root, "tool", vt_json_tool());
    vt_json_put(&root, "started_utc", vt_json_text(profile->started_utc));
    vt_json_put(&root, "partial", json_boolean(profile->partial));
    vt_json_put(&root, "machine", vt_json_machine());
    vt_json_put(&root, "model", vt_json_object_end(&model));
    vt_json_put(&root, "job", vt_json_job(profile->options));
    vt_json_put(&root, "profile", profile_value(profile));
    return vt_json_dump(vt_json_object_end(&root), err, ret_json);
}

enum vt_status vt_profile_write_json(const struct vt_profile *profile, const char *folder,
                                     struct vt_error *err)
{
    char *json = NULL;

    enum vt_status status = vt_profile_json(profile, err, &json);
    if (status == VT_OK) {
        status = vt_json_save(json, folder, err);
        vt_free(json);
    }
    return status;
}
