/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/onnxruntime/onnxruntime.h"

#include <stdio.h>

#include "base/topology.h"
#include "engine/settings.h"

/* Names and ports of a bundle; a model that needs more than this is none. */
#define ARENA_LIMIT ((size_t)64 << 20)

static enum vt_status ort_probe(struct vt_error *err)
{
    struct vt_ort_engine engine = {0};
    struct vt_error why = VT_ERROR_INIT;
    if (vt_ort_load(&engine, NULL, &why) != VT_OK) {
        return vt_error_set(err, VT_ERR_UNAVAILABLE, "%s", why.text);
    }
    vt_ort_unload(&engine);
    return VT_OK;
}

static void ort_close(void *context)
{
    struct vt_ort_engine *engine = context;
    if (engine == NULL) {
        return;
    }
    for (uint32_t g = 0; g < engine->n_graphs; g++) {
        if (engine->graphs[g].session != NULL) {
            engine->api->release_session(engine->graphs[g].session);
        }
    }
    vt_arena_release(&engine->arena);
    vt_ort_unload(engine);
    vt_free(engine);
}

/* What the signatures allow; nothing is run while the model is opened. */
static void find_max_batch(struct vt_ort_engine *engine)
{
    engine->max_batch = VT_ANY_BATCH;
    for (uint32_t g = 0; g < engine->n_graphs; g++) {
        if (!vt_ports_any_batch(&engine->graphs[g].ports)) {
            engine->max_batch = 1;
        }
    }
}

/* --- the seam -----------------------------------------------------------------------------------
 */

static enum vt_status ort_open(const struct vt_bundle *bundle,
                               const struct vt_engine_config *config, struct vt_error *err,
                               void **ret_engine)
{
    struct vt_ort_engine *engine = vt_calloc(1, sizeof(*engine));
    if (engine == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for the engine");
    }
    vt_arena_init(&engine->arena, ARENA_LIMIT);
    engine->threads = config->threads > 0 ? config->threads : vt_topology()->usable_cpus;
    enum vt_status status =
        vt_ort_load(engine, vt_engine_setting_text(config, "library", NULL), err);
    if (status == VT_OK) {
        status = vt_ort_sessions_open(engine, bundle, config, err);
    }
    if (status != VT_OK) {
        ort_close(engine);
        return status;
    }
    find_max_batch(engine);
    engine->batch_untried = engine->max_batch > 1 && config->max_batch > 1;
    *ret_engine = engine;
    return VT_OK;
}

static enum vt_status ort_signature(void *context, uint32_t graph, struct vt_error *err,
                                    struct vt_signature *ret_signature)
{
    const struct vt_ort_engine *engine = context;
    if (graph >= engine->n_graphs) {
        return vt_error_set(err, VT_ERR_USAGE, "graph %u is asked for, but the bundle has %u",
                            graph, engine->n_graphs);
    }
    *ret_signature = engine->graphs[graph].signature;
    return VT_OK;
}

static enum vt_status ort_caps(void *context, struct vt_error *err, struct vt_engine_caps *ret_caps)
{
    const struct vt_ort_engine *engine = context;
    (void)err;
    ret_caps->max_batch = engine->max_batch;
    ret_caps->batch_untried = engine->batch_untried;
    ret_caps->best_batch = 0;
    ret_caps->best_lanes = 0;
    ret_caps->max_in_flight = 1;
    ret_caps->uses_cpu = !engine->cuda;
    snprintf(ret_caps->precision, sizeof(ret_caps->precision), "fp32");
    if (engine->cuda) {
        snprintf(ret_caps->description, sizeof(ret_caps->description),
                 "ONNX Runtime %.24s fp32 on CUDA", engine->version);
    } else {
        snprintf(ret_caps->description, sizeof(ret_caps->description),
                 "ONNX Runtime %.24s fp32 on CPU, %u thread%s", engine->version, engine->threads,
                 engine->threads == 1 ? "" : "s");
    }
    return VT_OK;
}

const struct vt_engine_ops vt_onnxruntime_engine = {
    .api_version = VT_ENGINE_API_VERSION,
    .struct_size = sizeof(struct vt_engine_ops),
    .name = "onnxruntime",
    .summary = "ONNX Runtime (libonnxruntime.so), on CPU or CUDA",
    .probe = ort_probe,
    .open = ort_open,
    .close = ort_close,
    .signature = ort_signature,
    .caps = ort_caps,
    .lane_open = vt_ort_lane_open,
    .lane_close = vt_ort_lane_close,
    .submit = vt_ort_submit,
    .wait = vt_ort_wait,
    .cancel = vt_ort_cancel,
};
