/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the built-in engines share: the graphs of a bundle, imported, with their signatures, and
 * the notation of settings.
 */
#ifndef VT_ENGINE_MODELS_H
#define VT_ENGINE_MODELS_H

#include "graph/graph.h"
#include "vatio/engine.h"

/* More samples than any request has. */
#define VT_ANY_BATCH 65536u

struct vt_engine_model {
    struct vt_model *model;
    struct vt_signature signature;
    bool any_batch; /* dimension 0 of all inputs and outputs is open */
};

struct vt_engine_models {
    struct vt_engine_model *items;
    uint32_t n;
};

/* Imports all graphs and applies the shape bindings. On failure nothing is left open. */
enum vt_status vt_engine_models_open(struct vt_engine_models *models,
                                     const struct vt_bundle *bundle,
                                     const struct vt_engine_config *config,
                                     struct vt_error *err) VT_NODISCARD;
void vt_engine_models_release(struct vt_engine_models *models); /* accepts a zeroed one */

/* The signature of one graph; VT_ERR_USAGE when there is no such graph. */
enum vt_status vt_engine_models_signature(const struct vt_engine_models *models, uint32_t graph,
                                          struct vt_error *err,
                                          struct vt_signature *ret) VT_NODISCARD;

/* VT_ERR_USAGE when one of the given settings is not among the n keys; names the nearest. */
enum vt_status vt_engine_check_settings(const struct vt_engine_config *config, const char *engine,
                                        const char *const *keys, size_t n,
                                        struct vt_error *err) VT_NODISCARD;
/* The value of a setting as an integer within [minimum, maximum]; `fallback` when it is absent. */
enum vt_status vt_engine_setting_int(const struct vt_engine_config *config, const char *key,
                                     int64_t fallback, int64_t minimum, int64_t maximum,
                                     struct vt_error *err, int64_t *ret) VT_NODISCARD;

#endif
