/* SPDX-License-Identifier: Apache-2.0 */
/* The model that a user names: a built-in one, one of the zoo, a server's, a file or a plan of one
 * of these, and the shapes given for it. */
#ifndef VT_RUN_MODEL_SOURCE_H
#define VT_RUN_MODEL_SOURCE_H

#include "base/options.h"
#include "graph/graph.h"
#include "plan/plan_file.h"
#include "workload/registry.h"
#include "zoo/zoo.h"

struct vt_model_source {
    const char *argument; /* as the user wrote it, borrowed; behind a plan: as the plan says */
    const struct vt_builtin_model *builtin; /* NULL for all others */
    struct vt_zoo_choice zoo;               /* .network is NULL where the name is none of the zoo */
    bool random_weights;
    struct vt_graph_source graph;
    char *path;       /* owned; of a model of the zoo in the cache, or of one beside its plan */
    const char *plan; /* the path of the plan; borrowed; NULL without */
    struct vt_plan_file *plan_file; /* owned */
};

/*
 * A built-in name, a name of the zoo (vt_zoo_choose), the URL of a server's model (.graph has
 * neither path nor bytes then), else a path, of a model or of a plan, which says what model it is
 * for (where that is not at its place, a file of its name beside the plan). A model of the zoo is
 * written into the cache when it is not there, which may take seconds. VT_ERR_NOT_FOUND proposes
 * the nearest name. On success the caller releases the source.
 */
enum vt_status vt_model_source_find(const char *argument, struct vt_error *err,
                                    struct vt_model_source *ret_source) VT_NODISCARD;
/* The same with the weights of a file in the place of random ones (NULL: as above): the model is
 * the file, under the name of the zoo. VT_ERR_USAGE when `argument` is no such name. */
enum vt_status vt_model_source_find_weights(const char *argument, const char *weights,
                                            struct vt_error *err,
                                            struct vt_model_source *ret_source) VT_NODISCARD;
void vt_model_source_release(struct vt_model_source *source); /* accepts a zeroed one */
enum vt_status vt_model_source_import(const struct vt_model_source *source, struct vt_error *err,
                                      struct vt_model **ret_model) VT_NODISCARD;
/* "resnet8_cifar10.onnx", "digits". */
const char *vt_model_source_name(const struct vt_model_source *source);
/* What MLPerf's rounds may call it: "bert" for bert-large, else its name. */
const char *vt_model_source_benchmark(const struct vt_model_source *source);

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
