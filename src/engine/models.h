/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The graphs of a bundle, imported, with their signatures: for the engines that read models
 * themselves.
 */
#ifndef VT_ENGINE_MODELS_H
#define VT_ENGINE_MODELS_H

#include "plan/windows.h"
#include "vatio/engine.h"

struct vt_engine_model {
    struct vt_model *model;
    struct vt_signature signature;
    bool any_batch; /* dimension 0 of all inputs and outputs is open */
};

struct vt_engine_models {
    struct vt_engine_model *items;
    uint32_t n;
    const struct vt_windows *windows; /* while they are opened */
};

/* Imports all graphs and applies the shape bindings. With a window, else NULL, the signature is
 * that for volumes, and there may be one graph only. On failure nothing is left open. */
enum vt_status vt_engine_models_open(struct vt_engine_models *models,
                                     const struct vt_bundle *bundle,
                                     const struct vt_engine_config *config,
                                     const struct vt_windows *windows,
                                     struct vt_error *err) VT_NODISCARD;
void vt_engine_models_release(struct vt_engine_models *models); /* accepts a zeroed one */

/* The signature of one graph; VT_ERR_USAGE when there is no such graph. */
enum vt_status vt_engine_models_signature(const struct vt_engine_models *models, uint32_t graph,
                                          struct vt_error *err,
                                          struct vt_signature *ret) VT_NODISCARD;

#endif
