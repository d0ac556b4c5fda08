/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The networks of MLPerf Inference v3.0 as ONNX files, with random weights.
 *
 * A network is a table of parameters (extents, layers) with two columns, `full` and `small`, and
 * one builder for both. The same specification gives the same bytes on every machine: weights come
 * from a counter through integer arithmetic and single IEEE operations, never from libm.
 */
#ifndef VT_ZOO_ZOO_H
#define VT_ZOO_ZOO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/options.h"
#include "vatio/status.h"

/* Goes up whenever the bytes of a network change. */
#define VT_ZOO_VERSION        1
#define VT_ZOO_PARAMETERS_MAX 16
#define VT_ZOO_GRAPHS_MAX     3
#define VT_ZOO_SEED           1 /* of the weights where none is asked for */

struct vt_zoo_parameter {
    const char *key;
    int64_t full, small; /* values at the two scales */
    int64_t minimum, maximum;
    const char *help;
};

struct vt_net;

struct vt_zoo_graph {
    const char *name; /* of its file in a bundle: "encoder"; "" where the network is one graph */
    enum vt_status (*build)(struct vt_net *net, struct vt_error *err);
};

struct vt_zoo_network {
    const char *name; /* "resnet50" */
    const char
        *benchmark; /* what MLPerf's rounds call it; NULL where no graph of it is the whole */
    const char *summary;
    const struct vt_zoo_parameter *parameters;
    size_t n_parameters;
    struct vt_zoo_graph graphs[VT_ZOO_GRAPHS_MAX];
    size_t n_graphs;
};

/* Static storage. */
VT_API const struct vt_zoo_network *const *vt_zoo_networks(size_t *ret_n);
VT_API const struct vt_zoo_network *vt_zoo_find(const char *name); /* NULL when there is none */

/* One network with all its values. */
struct vt_zoo_spec {
    const struct vt_zoo_network *network;
    uint64_t seed;
    bool small;
    int64_t values[VT_ZOO_PARAMETERS_MAX]; /* in the order of its parameters */
};

/* `sets` are "key=value" over the values of the scale; NULL: none. VT_ERR_USAGE says what is wrong.
 */
VT_API enum vt_status vt_zoo_spec_init(struct vt_zoo_spec *spec,
                                       const struct vt_zoo_network *network, bool small,
                                       uint64_t seed, const struct vt_text_list *sets,
                                       struct vt_error *err) VT_NODISCARD;

/*
 * Writes the network: into a file, or where it has several graphs into a folder with one file a
 * graph. Weights beyond 2 GB go into a file beside the model. Takes little memory whatever the
 * size. VT_ERR_USAGE (values that do not fit together), VT_ERR_WRITE, VT_ERR_MEMORY.
 */
VT_API enum vt_status vt_zoo_write(const struct vt_zoo_spec *spec, const char *path,
                                   struct vt_error *err) VT_NODISCARD;
/* One of its graphs into a file. */
VT_API enum vt_status vt_zoo_write_graph(const struct vt_zoo_spec *spec, size_t graph,
                                         const char *path, struct vt_error *err) VT_NODISCARD;

/* What its weights take, all graphs together, without writing them. */
VT_API enum vt_status vt_zoo_weight_bytes(const struct vt_zoo_spec *spec, struct vt_error *err,
                                          uint64_t *ret_bytes) VT_NODISCARD;

/* A graph of the zoo by the name that `vatio run` takes: "resnet50", "bert-large-small", "rnnt",
 * "rnnt-joint"; "rnnt" alone is its first graph, the encoder. False when there is none. */
struct vt_zoo_choice {
    const struct vt_zoo_network *network;
    size_t graph;
    bool small;
};
VT_API bool vt_zoo_choose(const char *name, struct vt_zoo_choice *ret_choice);

/*
 * The file of that graph in the user's cache (XDG_CACHE_HOME, else ~/.cache; vatio/zoo/ in it),
 * written when it is not there. Processes that ask at the same time wait for the one that writes.
 * vt_free the path. VT_ERR_WRITE says which folder and how to choose another.
 */
enum vt_status vt_zoo_cache(const struct vt_zoo_choice *choice, struct vt_error *err,
                            char **ret_path) VT_NODISCARD;

#endif
