/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the room share.
 *
 *   analyse.c   the graph's layers, and who uses what
 *   scheme.c    which values are quantised for a choice of layers, and with which ranges
 *   emit.c      the model, node by node        (opset.c: nodes of old opsets; weights.c: constants)
 */
#ifndef VT_QUANTIZE_INTERNAL_H
#define VT_QUANTIZE_INTERNAL_H

#include "base/alloc.h"
#include "quantize/quantize.h"

#define VT_Q_OPSET 13 /* the first with a scale a channel */
#define VT_NO_NODE UINT32_MAX

enum vt_q_role {
    VT_Q_PLAIN,
    VT_Q_LAYER,
    VT_Q_SUM,    /* Add of two activations */
    VT_Q_MOVE,   /* gives some of its first input's numbers in another place */
    VT_Q_JOIN,   /* Concat: a move of several */
    VT_Q_FOLDED, /* a BatchNormalization that a layer took in */
};

struct vt_q_node {
    enum vt_q_role role;
    uint32_t layer;    /* of a layer */
    uint32_t norm;     /* of a layer: the node it took in; VT_NO_NODE */
    uint32_t output;   /* value: of a layer with a norm, the norm's */
    uint32_t finished; /* value: behind the activation that follows, where nobody else looks */
};

struct vt_q_value {
    uint32_t uses;     /* by nodes; an output of the graph counts as one more */
    uint32_t user;     /* the last node that uses it */
    uint32_t producer; /* node */
    uint32_t watched;  /* its number among the watched; UINT32_MAX */
    const char *name;  /* in the file that is written */
    /* For the choice at hand. */
    bool quantised;
    uint32_t group; /* another value that has the same scale, or itself */
    struct vt_range range;
};

struct vt_quantizer {
    const struct vt_model *model;
    const struct vt_graph *graph;
    struct vt_arena memory;
    struct vt_q_node *nodes;
    struct vt_q_value *values;
    struct vt_quantize_layer *layers;
    uint32_t n_layers;
    uint32_t *watched;
    uint32_t n_watched;
    const char *suffix; /* that no name of the model ends in */
};

static inline const struct vt_value *vt_q_declared(const struct vt_quantizer *q, uint32_t value)
{
    return &vt_model_values(q->model)[value];
}

static inline bool vt_q_is(const struct vt_node *node, const char *op)
{
    return node->domain[0] == '\0' && __builtin_strcmp(node->op, op) == 0;
}

/* A constant of float32; NULL: something else. */
const struct vt_tensor *vt_q_floats(const struct vt_quantizer *q, uint32_t value);
/* Which extent of a layer's weights counts its outputs. */
uint32_t vt_q_weight_axis(const struct vt_node *node);

/* scheme.c: sets what is for the choice at hand. */
void vt_q_scheme(struct vt_quantizer *q, const struct vt_quantize_choice *choice);
uint32_t vt_q_group(struct vt_quantizer *q, uint32_t value);

/* opset.c: writes a node as opset 13 or later wants it. `name_of` gives the names of its inputs. */
struct vt_q_naming {
    const char *(*input)(void *ctx, const struct vt_node *node, uint32_t input);
    void *ctx;
};
enum vt_status vt_q_write_node(struct vt_quantizer *q, struct vt_model_writer *writer,
                               const struct vt_node *node, const struct vt_q_naming *naming,
                               struct vt_error *err);
/* Whether that is possible, by name where not. */
enum vt_status vt_q_can_write(const struct vt_quantizer *q, const struct vt_node *node,
                              struct vt_error *err);

/* weights.c: the constants of a layer under names of its own. */
struct vt_q_layer_names {
    char *weights, *bias; /* what the node uses; NULL: no bias */
};
enum vt_status vt_q_write_layer_constants(struct vt_quantizer *q, struct vt_model_writer *writer,
                                          uint32_t node, bool quantised, float input_scale,
                                          struct vt_error *err, struct vt_q_layer_names *ret);
char *vt_q_text(struct vt_quantizer *q, const char *fmt, ...) VT_PRINTF(2, 3);

#endif
