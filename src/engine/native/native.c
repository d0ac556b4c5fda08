/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/native/native.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/quote.h"
#include "base/topology.h"
#include "engine/settings.h"

static const char *const setting_keys[] = {"affinity", "blend",      "overlap",   "passes",
                                           "plan",     "plans",      "precision", "spin-us",
                                           "tune",     "tune-cache", "window",    "window-batch"};
#define N_SETTINGS (sizeof(setting_keys) / sizeof(setting_keys[0]))

static enum vt_status read_precision(struct vt_native_engine *engine,
                                     const struct vt_engine_config *config, struct vt_error *err)
{
    const char *names[VT_PRECISION_COUNT];
    size_t chosen = VT_PRECISION_FP32;
    for (int i = 0; i < VT_PRECISION_COUNT; i++) {
        names[i] = vt_precision_name((enum vt_precision)i);
    }
    enum vt_status status = vt_engine_setting_choice(config, "precision", names, VT_PRECISION_COUNT,
                                                     chosen, err, &chosen);
    engine->plan_options.precision = (enum vt_precision)chosen;
    return status == VT_OK ? vt_precision_check(engine->plan_options.precision, err) : status;
}

static enum vt_status read_settings(struct vt_native_engine *engine,
                                    const struct vt_engine_config *config, struct vt_error *err)
{
    int64_t affinity = 0, plans = 0, spin_us = 0;
    enum vt_status status =
        vt_engine_check_settings(config, "native", setting_keys, N_SETTINGS, err);
    if (status == VT_OK) {
        status = vt_engine_setting_int(config, "affinity", 0, 0, 1, err, &affinity);
    }
    if (status == VT_OK) {
        status = vt_engine_setting_int(config, "plans", 32, 1, 256, err, &plans);
    }
    if (status == VT_OK) {
        status = vt_engine_setting_int(config, "spin-us", 50, 0, 10000, err, &spin_us);
    }
    if (status == VT_OK) {
        status = read_precision(engine, config, err);
    }
    if (status == VT_OK) {
        status = vt_plan_passes_read(vt_engine_setting_text(config, "passes", "all"), err,
                                     &engine->plan_options.without);
    }
    if (status == VT_OK) {
        status = vt_native_windows_settings(config, err, &engine->windows);
    }
    if (status != VT_OK) {
        return status;
    }
    const struct vt_topology *topology = vt_topology();
    engine->lanes = config->lanes > 0 ? config->lanes : 1;
    engine->threads = config->threads > 0 ? config->threads : topology->usable_cpus;
    if (engine->threads < engine->lanes) {
        engine->threads = engine->lanes; /* at least one each */
    }
    engine->affinity = affinity != 0;
    engine->plans_a_lane = (uint32_t)plans;
    engine->idle_spin_ns = spin_us * VT_NS_PER_US;
    /* A quarter of the machine for what might be needed again. */
    uint64_t share = topology->memory_bytes / 4 / engine->lanes;
    engine->plan_bytes_a_lane = share < SIZE_MAX ? (size_t)share : SIZE_MAX;
    return VT_OK;
}

/* --- can it be planned?
 * ------------------------------------------------------------------------------ */

static enum vt_status try_plan(struct vt_native_engine *engine, uint32_t graph, int64_t batch,
                               struct vt_tensor *inputs, struct vt_error *err)
{
    struct vt_engine_model *item = &engine->models.items[graph];
    const struct vt_plan_options options = {.check_only = true,
                                            .precision = engine->plan_options.precision};
    struct vt_plan *plan = NULL;
    if (!vt_native_inputs(engine, graph, batch, inputs)) {
        return VT_OK; /* the first request will tell */
    }
    enum vt_status status = vt_plan_new(item->model, engine->weights[graph], NULL, inputs,
                                        item->signature.n_inputs, &options, err, &plan);
    vt_plan_free(plan);
    return status;
}

/* No request could ever give such an input. */
static enum vt_status check_inputs(const struct vt_engine_model *item, struct vt_error *err)
{
    for (uint32_t i = 0; i < item->signature.n_inputs; i++) {
        const struct vt_port *port = &item->signature.inputs[i];
        const char *model = vt_model_name(item->model);
        int64_t dim[VT_RANK_MAX];
        size_t bytes = 0;
        if (vt_dtype_bytes(port->dtype) == 0) {
            return vt_error_set(err, VT_ERR_UNSUPPORTED,
                                "%s: input %s is of type %s, which the native engine does not take",
                                model, vt_quote(port->name).text, vt_dtype_name(port->dtype));
        }
        for (uint32_t d = 0; d < port->rank; d++) {
            dim[d] = port->dim[d] >= 0 ? port->dim[d] : 1;
        }
        if (!vt_shape_bytes(port->dtype, dim, port->rank, &bytes)) {
            char shape[96];
            return vt_error_set(
                err, VT_ERR_LIMIT, "%s: input %s of %s %s is larger than memory can be", model,
                vt_quote(port->name).text, vt_dtype_name(port->dtype),
                vt_shape_text(port->dim, port->rank, port->symbol, shape, sizeof(shape)));
        }
    }
    return VT_OK;
}

/*
 * Finds out at once what the model cannot do: an operator without a kernel is an error of open(),
 * and a model whose batch is open by its signature but fixed by its nodes takes one sample.
 */
static enum vt_status probe_graph(struct vt_native_engine *engine, uint32_t graph,
                                  struct vt_error *err)
{
    const struct vt_engine_model *item = &engine->models.items[graph];
    enum vt_status fit = check_inputs(item, err);
    if (fit != VT_OK) {
        return fit;
    }
    struct vt_tensor *inputs = vt_calloc((size_t)item->signature.n_inputs + 1, sizeof(*inputs));
    if (inputs == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for opening the model");
    }
    struct vt_error quiet = VT_ERROR_INIT;
    enum vt_status status = VT_ERR_UNSUPPORTED;
    if (item->any_batch) {
        status = try_plan(engine, graph, 2, inputs, &quiet);
    }
    if (status != VT_OK) {
        engine->max_batch = 1;
        status = try_plan(engine, graph, 1, inputs, err);
    }
    vt_free(inputs);
    return status;
}

/* --- the seam
 * ------------------------------------------------------------------------------------------ */

static void native_close(void *context)
{
    struct vt_native_engine *engine = context;
    if (engine == NULL) {
        return;
    }
    vt_native_lane_close(engine, engine->first_lane);
    for (uint32_t g = 0; engine->weights != NULL && g < engine->models.n; g++) {
        vt_weights_free(engine->weights[g]);
    }
    vt_free(engine->weights);
    vt_plan_file_free(engine->plan_file);
    vt_tuning_free(engine->tuning);
    vt_engine_models_release(&engine->models);
    vt_free(engine);
}

/* --- tuning and plan files -----------------------------------------------------------------------
 */

static enum vt_status open_tuning(struct vt_native_engine *engine,
                                  const struct vt_engine_config *config, struct vt_error *err)
{
    static const char *const modes[] = {"off", "cached", "measure"};
    const char *named = vt_engine_setting_text(config, "tune-cache", NULL);
    char *path = NULL;
    size_t mode = 0;
    enum vt_status status = vt_engine_setting_choice(config, "tune", modes, 3, 1, err, &mode);
    if (status != VT_OK) {
        return status;
    }
    struct vt_error quiet = VT_ERROR_INIT; /* without a folder nothing is kept */
    if (mode > 0 && named == NULL && vt_tuning_path(&quiet, &path) != VT_OK) {
        vt_log(VT_LOG_DEBUG, "no tuning cache: %s", quiet.text);
    } else if (mode > 0 && named != NULL && strcmp(named, "off") != 0) {
        path = vt_strdup(named);
        status = path != NULL ? VT_OK : vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    const struct vt_tuning_options options = {
        .path = path, .measure = mode == 2, .budget_ns = VT_TUNING_BUDGET_NS};
    if (status == VT_OK) {
        status = vt_tuning_new(&options, err, &engine->tuning);
    }
    vt_free(path);
    return status;
}

static enum vt_status open_plan_file(struct vt_native_engine *engine,
                                     const struct vt_bundle *bundle,
                                     const struct vt_engine_config *config, struct vt_error *err)
{
    const char *path = vt_engine_setting_text(config, "plan", NULL);
    if (path == NULL) {
        return VT_OK;
    }
    if (bundle->n_graphs != 1) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "setting 'plan': a plan is for one model, not for %u",
                            bundle->n_graphs);
    }
    enum vt_status status = vt_plan_file_open(path, err, &engine->plan_file);
    if (status == VT_OK) {
        status = vt_plan_file_check(engine->plan_file, engine->models.items[0].model,
                                    bundle->graphs[0].path, err);
    }
    return status == VT_OK ? vt_plan_file_answers(engine->plan_file, engine->tuning, err) : status;
}

/* What the first request would else wait for. */
static enum vt_status plan_ahead(struct vt_native_engine *engine, struct vt_error *err)
{
    int64_t batch = 1;
    if (engine->plan_file != NULL) {
        struct vt_plan_file_info info;
        vt_plan_file_info(engine->plan_file, &info);
        batch = info.batch > 0 && info.batch <= engine->max_batch ? info.batch : 1;
    }
    enum vt_status status = vt_native_lane_open(engine, 0, err, &engine->first_lane);
    for (uint32_t g = 0; g < engine->models.n && status == VT_OK; g++) {
        const struct vt_signature *signature = &engine->models.items[g].signature;
        struct vt_tensor *inputs = vt_calloc((size_t)signature->n_inputs + 1, sizeof(*inputs));
        if (inputs == NULL) {
            return vt_error_set(err, VT_ERR_MEMORY, "out of memory for opening the model");
        }
        /* Volumes of known extents say how many windows go into a run. */
        if (vt_engine_batch_of(signature, batch, inputs) ||
            vt_native_inputs(engine, g, batch, inputs)) {
            status =
                vt_native_lane_prepare(engine->first_lane, g, inputs, signature->n_inputs, err);
        }
        vt_free(inputs);
    }
    return status;
}

static enum vt_status load(struct vt_native_engine *engine, const struct vt_bundle *bundle,
                           const struct vt_engine_config *config, struct vt_error *err)
{
    enum vt_status status = read_settings(engine, config, err);
    if (status == VT_OK) {
        status = vt_engine_models_open(&engine->models, bundle, config,
                                       engine->windows.axes > 0 ? &engine->windows : NULL, err);
    }
    if (status == VT_OK) {
        status = open_tuning(engine, config, err);
    }
    if (status == VT_OK) {
        status = open_plan_file(engine, bundle, config, err);
    }
    if (status != VT_OK) {
        return status;
    }
    engine->max_batch = VT_ANY_BATCH;
    engine->weights = vt_calloc(engine->models.n, sizeof(*engine->weights));
    if (engine->weights == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for the native engine");
    }
    for (uint32_t g = 0; g < engine->models.n && status == VT_OK; g++) {
        status = vt_weights_new(engine->models.items[g].model, err, &engine->weights[g]);
        if (status == VT_OK) {
            vt_weights_use(engine->weights[g], engine->plan_file);
            status = probe_graph(engine, g, err);
        }
    }
    return status == VT_OK ? plan_ahead(engine, err) : status;
}

static enum vt_status native_open(const struct vt_bundle *bundle,
                                  const struct vt_engine_config *config, struct vt_error *err,
                                  void **ret_engine)
{
    struct vt_native_engine *engine = vt_calloc(1, sizeof(*engine));
    if (engine == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for the native engine");
    }
    enum vt_status status = load(engine, bundle, config, err);
    if (status != VT_OK) {
        native_close(engine);
        return status;
    }
    *ret_engine = engine;
    return VT_OK;
}

static enum vt_status native_signature(void *context, uint32_t graph, struct vt_error *err,
                                       struct vt_signature *ret_signature)
{
    const struct vt_native_engine *engine = context;
    return vt_engine_models_signature(&engine->models, graph, err, ret_signature);
}

static bool is_quantised(const struct vt_model *model)
{
    const struct vt_graph *graph = vt_model_graph(model);
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        if (strcmp(graph->nodes[i].op, "DequantizeLinear") == 0 ||
            strncmp(graph->nodes[i].op, "QLinear", 7) == 0) {
            return true;
        }
    }
    return false;
}

/* "fp32"; of a model that says how it is quantised "int8", and what the rest of it is. */
static void precision_text(const struct vt_native_engine *engine, char *text, size_t size)
{
    const enum vt_precision rest = engine->plan_options.precision;
    bool quantised = false;
    for (uint32_t g = 0; g < engine->models.n; g++) {
        quantised = quantised || is_quantised(engine->models.items[g].model);
    }
    (void)snprintf(text, size, "%s%s%s", quantised ? "int8" : "",
                   quantised && rest != VT_PRECISION_FP32 ? "+" : "",
                   quantised && rest == VT_PRECISION_FP32 ? "" : vt_precision_name(rest));
}

/* "native fp32 on AVX-512, 2 threads, 30 kernels tuned, 54 weights mapped": so far. */
static void describe(const struct vt_native_engine *engine, char *text, size_t size)
{
    struct vt_weights_stats weights = {0};
    struct vt_plan_file_info plan = {.unused = NULL};
    struct vt_tuning_stats tuning;
    vt_tuning_stats(engine->tuning, &tuning);
    if (engine->plan_file != NULL) {
        vt_weights_stats(engine->weights[0], &weights);
        vt_plan_file_info(engine->plan_file, &plan);
    }
    char precision[16];
    precision_text(engine, precision, sizeof(precision));
    int n = snprintf(text, size, "native %s on %s, %u thread%s", precision, vt_topology_isa(),
                     engine->threads, engine->threads == 1 ? "" : "s");
    size_t used = n > 0 && (size_t)n < size ? (size_t)n : size - 1;
    if (engine->windows.axes > 0) {
        char extents[64];
        n = snprintf(text + used, size - used, ", windows of %s",
                     vt_shape_text(engine->windows.dim, engine->windows.axes, NULL, extents,
                                   sizeof(extents)));
        used += n > 0 && (size_t)n < size - used ? (size_t)n : size - used - 1;
    }
    if (tuning.used > 0) {
        n = snprintf(text + used, size - used, ", %u kernel%s tuned", tuning.used,
                     tuning.used == 1 ? "" : "s");
        used += n > 0 && (size_t)n < size - used ? (size_t)n : size - used - 1;
    }
    if (plan.unused != NULL) {
        (void)snprintf(text + used, size - used, ", weights packed anew: %s", plan.unused);
    } else if (weights.mapped > 0) {
        (void)snprintf(text + used, size - used, ", %u of %u weights mapped", weights.mapped,
                       weights.mapped + weights.packed);
    }
}

static enum vt_status native_caps(void *context, struct vt_error *err,
                                  struct vt_engine_caps *ret_caps)
{
    const struct vt_native_engine *engine = context;
    (void)err;
    ret_caps->max_batch = engine->max_batch;
    /* A volume's windows are batch enough. */
    ret_caps->best_batch = engine->windows.axes > 0 ? 1 : 0;
    ret_caps->best_lanes = 0;
    ret_caps->max_in_flight = VT_NATIVE_IN_FLIGHT;
    ret_caps->uses_cpu = true;
    precision_text(engine, ret_caps->precision, sizeof(ret_caps->precision));
    describe(engine, ret_caps->description, sizeof(ret_caps->description));
    return VT_OK;
}

const struct vt_engine_ops vt_native_engine = {
    .api_version = VT_ENGINE_API_VERSION,
    .struct_size = sizeof(struct vt_engine_ops),
    .name = "native",
    .summary = "vatio's own engine on this machine's CPU",
    .open = native_open,
    .close = native_close,
    .signature = native_signature,
    .caps = native_caps,
    .lane_open = vt_native_lane_open,
    .lane_close = vt_native_lane_close,
    .submit = vt_native_submit,
    .wait = vt_native_wait,
    .cancel = vt_native_cancel,
};
