/* SPDX-License-Identifier: Apache-2.0 */
/* The model that a user names: a built-in one or a file, and the shapes given for it. */
#ifndef VT_RUN_MODEL_SOURCE_H
#define VT_RUN_MODEL_SOURCE_H

#include "base/options.h"
#include "graph/graph.h"
#include "workload/registry.h"

struct vt_model_source {
    const char *argument;                   /* as the user wrote it; borrowed */
    const struct vt_builtin_model *builtin; /* NULL for a file */
    struct vt_graph_source graph;
};

/* A built-in name, else a path. VT_ERR_NOT_FOUND proposes the nearest built-in name. */
enum vt_status vt_model_source_find(const char *argument, struct vt_error *err,
                                    struct vt_model_source *ret_source) VT_NODISCARD;
enum vt_status vt_model_source_import(const struct vt_model_source *source, struct vt_error *err,
                                      struct vt_model **ret_model) VT_NODISCARD;
/* "resnet8_cifar10.onnx", "digits". */
const char *vt_model_source_name(const struct vt_model_source *source);

#define VT_SHAPES_MAX 64

/* Bindings parsed from --shape; the names are owned by the list. */
struct vt_shape_list {
    struct vt_shape_binding items[VT_SHAPES_MAX];
    uint32_t n;
    uint32_t n_owned; /* the first so many have names of our own */
};

/* Parses "NAME=1x3x224x224" texts. VT_ERR_USAGE says what is wrong. */
enum vt_status vt_shape_list_init(struct vt_shape_list *list, const struct vt_text_list *texts,
                                  struct vt_error *err) VT_NODISCARD;
void vt_shape_list_release(struct vt_shape_list *list); /* accepts a zeroed one */

#endif
