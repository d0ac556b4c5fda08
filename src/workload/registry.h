/* SPDX-License-Identifier: Apache-2.0 */
/* The workloads that are there, and which one fits a model when the user names none. */
#ifndef VT_WORKLOAD_REGISTRY_H
#define VT_WORKLOAD_REGISTRY_H

#include "core/workload.h"

/* Static storage. */
const struct vt_workload_ops *const *vt_workload_table(size_t *ret_n);
/* NULL when there is none of that name. */
const struct vt_workload_ops *vt_workload_find(const char *name);

/*
 * The workload for a model: with a dataset that is a folder of images and one image-like input,
 * image-classification; else tensor. Never NULL.
 */
const struct vt_workload_ops *vt_workload_guess(const struct vt_workload_config *config,
                                                const struct vt_signature *signature);

/* A model that is part of the binary. */
struct vt_builtin_model {
    const char *name; /* "digits" */
    const char *summary;
    const char *workload; /* its own data come with it */
    const void *onnx;
    size_t onnx_bytes;
};
const struct vt_builtin_model *vt_builtin_models(size_t *ret_n);
const struct vt_builtin_model *vt_builtin_model_find(const char *name);

#endif
