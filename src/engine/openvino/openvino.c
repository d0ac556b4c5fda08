/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/openvino/openvino.h"

#include <stdio.h>
#include <string.h>

#include "base/topology.h"
#include "engine/settings.h"

/* Names and ports of a bundle; a model that needs more than this is none. */
#define ARENA_LIMIT ((size_t)64 << 20)

static enum vt_status ov_probe(struct vt_error *err)
{
    struct vt_ov_engine engine = {.n_graphs = 0};
    struct vt_error why = VT_ERROR_INIT;
    if (vt_ov_load(&engine, NULL, &why) != VT_OK) {
        return vt_error_set(err, VT_ERR_UNAVAILABLE, "%s", why.text);
    }
    vt_ov_unload(&engine);
    return VT_OK;
}

static void ov_close(void *context)
{
    struct vt_ov_engine *engine = context;
    if (engine == NULL) {
        return;
    }
    for (uint32_t g = 0; g < engine->n_graphs; g++) {
        struct vt_ov_graph *graph = &engine->graphs[g];
        if (graph->compiled != NULL) {
            engine->api.compiled_model_free(graph->compiled);
        }
        if (graph->model != NULL) {
            engine->api.model_free(graph->model);
        }
    }
    vt_arena_release(&engine->arena);
    vt_ov_unload(engine);
    vt_free(engine);
}

/* What the signatures allow; nothing is run while the model is opened. */
static void find_max_batch(struct vt_ov_engine *engine)
{
    engine->max_batch = VT_ANY_BATCH;
    for (uint32_t g = 0; g < engine->n_graphs; g++) {
        if (!vt_ports_any_batch(&engine->graphs[g].ports)) {
            engine->max_batch = 1;
        }
    }
}

static enum vt_status ov_open(const struct vt_bundle *bundle, const struct vt_engine_config *config,
                              struct vt_error *err, void **ret_engine)
{
    struct vt_ov_engine *engine = vt_calloc(1, sizeof(*engine));
    if (engine == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for the engine");
    }
    vt_arena_init(&engine->arena, ARENA_LIMIT);
    engine->threads = config->threads > 0 ? config->threads : vt_topology()->usable_cpus;
    enum vt_status status =
        vt_ov_load(engine, vt_engine_setting_text(config, "library", NULL), err);
    if (status == VT_OK) {
        status = vt_ov_graphs_open(engine, bundle, config, err);
    }
    if (status != VT_OK) {
        ov_close(engine);
        return status;
    }
    find_max_batch(engine);
    engine->batch_untried = engine->max_batch > 1 && config->max_batch > 1;
    *ret_engine = engine;
    return VT_OK;
}

static enum vt_status ov_signature(void *context, uint32_t graph, struct vt_error *err,
                                   struct vt_signature *ret_signature)
{
    const struct vt_ov_engine *engine = context;
    if (graph >= engine->n_graphs) {
        return vt_error_set(err, VT_ERR_USAGE, "graph %u is asked for, but the bundle has %u",
                            graph, engine->n_graphs);
    }
    *ret_signature = engine->graphs[graph].signature;
    return VT_OK;
}

static enum vt_status ov_caps(void *context, struct vt_error *err, struct vt_engine_caps *ret_caps)
{
    const struct vt_ov_engine *engine = context;
    (void)err;
    ret_caps->max_batch = engine->max_batch;
    ret_caps->batch_untried = engine->batch_untried;
    ret_caps->best_batch = 0;
    ret_caps->best_lanes = 0;
    ret_caps->max_in_flight = 1;
    ret_caps->uses_cpu =
        strncmp(engine->device, "GPU", 3) != 0 && strncmp(engine->device, "NPU", 3) != 0;
    snprintf(ret_caps->precision, sizeof(ret_caps->precision), "%s", engine->precision);
    snprintf(ret_caps->description, sizeof(ret_caps->description),
             "OpenVINO %.24s %s on %.16s, %u thread%s", engine->version, engine->precision,
             engine->device, engine->threads, engine->threads == 1 ? "" : "s");
    return VT_OK;
}

const struct vt_engine_ops vt_openvino_engine = {
    .api_version = VT_ENGINE_API_VERSION,
    .struct_size = sizeof(struct vt_engine_ops),
    .name = "openvino",
    .summary = "OpenVINO (libopenvino_c.so), on CPU and Intel's other devices",
    .probe = ov_probe,
    .open = ov_open,
    .close = ov_close,
    .signature = ov_signature,
    .caps = ov_caps,
    .lane_open = vt_ov_lane_open,
    .lane_close = vt_ov_lane_close,
    .submit = vt_ov_submit,
    .wait = vt_ov_wait,
    .cancel = vt_ov_cancel,
};
