/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The typed graph of a model, as imported from ONNX.
 *
 * One model has one table of values; the main graph and all its subgraphs (bodies of If and Loop)
 * refer to values by their number in it, so a subgraph that uses an outer value just names it.
 * Names are unique within a scope only; numbers are unique.
 *
 * Nodes stand in an order in which every value is produced before it is used. Weights are views
 * into the mapped file; nothing is copied.
 *
 * Ownership: everything belongs to the model and lives until vt_model_free. After import a model
 * is constant and may be read by any number of threads.
 */
#ifndef VT_GRAPH_GRAPH_H
#define VT_GRAPH_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/ports.h"
#include "vatio/engine.h"
#include "vatio/tensor.h"

#define VT_NO_VALUE UINT32_MAX /* an omitted optional input or output */

enum vt_attr_type {
    VT_ATTR_INT = 1,
    VT_ATTR_FLOAT,
    VT_ATTR_STRING,
    VT_ATTR_INTS,
    VT_ATTR_FLOATS,
    VT_ATTR_STRINGS,
    VT_ATTR_TENSOR,
    VT_ATTR_GRAPH,
};

struct vt_graph;

struct vt_attr {
    const char *name;
    enum vt_attr_type type;
    size_t n; /* elements of the lists, bytes of the string */
    union {
        int64_t i;
        float f;
        const char *s; /* NUL behind it; may hold NULs */
        const int64_t *ints;
        const float *floats;
        const char *const *strings;
        const struct vt_tensor *tensor;
        const struct vt_graph *graph;
    };
};

struct vt_operator;

struct vt_node {
    const char *name;                   /* "" when it has none */
    const char *op;                     /* "Conv" */
    const char *domain;                 /* "" is ONNX's own */
    const struct vt_operator *operator; /* entry of the operator table */
    int64_t opset;                      /* of its domain */
    uint32_t n_inputs, n_outputs, n_attrs;
    const uint32_t *inputs; /* values, VT_NO_VALUE where omitted */
    const uint32_t *outputs;
    const struct vt_attr *attrs;
};

enum vt_value_kind {
    VT_VALUE_INPUT,    /* of a graph or subgraph */
    VT_VALUE_CONSTANT, /* initialiser, or the output of a Constant node */
    VT_VALUE_NODE,     /* output of a node */
};

/* What is declared about a value; the inferred shapes of a run live in the plan. */
struct vt_value {
    const char *name;
    enum vt_value_kind kind;
    enum vt_dtype dtype;      /* VT_UNDEFINED when the file does not say */
    uint32_t rank;            /* VT_RANK_UNKNOWN when the file does not say */
    int64_t dim[VT_RANK_MAX]; /* -1: open */
    const char *symbol[VT_RANK_MAX];
    const struct vt_tensor *constant; /* its data, or NULL */
};

struct vt_graph {
    const char *name;
    const struct vt_graph *parent; /* NULL for the main graph */
    const struct vt_node *nodes;
    uint32_t n_nodes;
    const uint32_t *inputs; /* without those that initialisers fill */
    uint32_t n_inputs;
    const uint32_t *outputs;
    uint32_t n_outputs;
};

struct vt_model; /* opaque owner */

/* What a file may make us do; zero fields take the defaults in import.c. */
struct vt_import_limits {
    uint32_t max_depth; /* of nested messages and subgraphs */
    uint32_t max_nodes;
    uint32_t max_values;
    size_t max_metadata_bytes; /* memory for everything but weights; small files get less */
};

/*
 * Imports an ONNX file. External data is mapped from the file's own folder only. Errors name
 * file, node, operator, opset and what is supported: VT_ERR_NOT_FOUND, VT_ERR_READ,
 * VT_ERR_FORMAT (malformed, cyclic, a value without a producer), VT_ERR_UNSUPPORTED (operator,
 * opset, type), VT_ERR_LIMIT, VT_ERR_MEMORY. `limits` may be NULL.
 */
enum vt_status vt_model_import(const char *path, const struct vt_import_limits *limits,
                               struct vt_error *err, struct vt_model **ret_model) VT_NODISCARD;
/* The same from memory, which is borrowed until vt_model_free. No external data. */
enum vt_status vt_model_import_memory(const char *name, const void *bytes, size_t size,
                                      const struct vt_import_limits *limits, struct vt_error *err,
                                      struct vt_model **ret_model) VT_NODISCARD;
void vt_model_free(struct vt_model *model); /* accepts NULL */

const struct vt_graph *vt_model_graph(const struct vt_model *model); /* the main graph */
const struct vt_value *vt_model_values(const struct vt_model *model);
uint32_t vt_model_value_count(const struct vt_model *model);
const char *vt_model_name(const struct vt_model *model);     /* of the file or memory block */
const char *vt_model_producer(const struct vt_model *model); /* "pytorch 2.1"; "" when unsaid */
int64_t vt_model_opset(const struct vt_model *model);        /* of the ONNX domain */
int64_t vt_model_ir_version(const struct vt_model *model);
/* What the model consists of, as it lies in memory: first its own file or block, then the files of
 * external data. */
struct vt_model_part {
    const char *location; /* of external data, relative to the model's folder; NULL: the model */
    const uint8_t *bytes;
    size_t size;
};
/* False from the number of parts on. */
bool vt_model_part(const struct vt_model *model, uint32_t index, struct vt_model_part *ret_part);

/* Attribute look-up by name. The typed ones return the fallback when it is absent. */
const struct vt_attr *vt_node_attr(const struct vt_node *node, const char *name);
int64_t vt_node_int(const struct vt_node *node, const char *name, int64_t fallback);
float vt_node_float(const struct vt_node *node, const char *name, float fallback);
const char *vt_node_string(const struct vt_node *node, const char *name, const char *fallback);
/* The list, NULL and 0 when it is absent. */
const int64_t *vt_node_ints(const struct vt_node *node, const char *name, size_t *ret_n);

/*
 * Shape and type inference, one node at a time. The caller (the plan) knows about every input
 * what can be known: at plan time perhaps not all, at run time everything.
 */
struct vt_shape_info {
    enum vt_dtype dtype;
    uint32_t rank;                 /* VT_RANK_UNKNOWN: nothing known */
    int64_t dim[VT_RANK_MAX];      /* -1: not known yet */
    int64_t bound[VT_RANK_MAX];    /* where dim is -1: an upper bound, or -1 */
    const struct vt_tensor *value; /* the contents, where they are known already; else NULL */
};
/* All extents known. */
bool vt_shape_info_known(const struct vt_shape_info *info);

struct vt_infer {
    const struct vt_model *model;
    const struct vt_node *node;
    const struct vt_shape_info *const *inputs; /* NULL where omitted */
    struct vt_shape_info *outputs;             /* preset to nothing known */
    struct vt_error *err;
};
typedef enum vt_status (*vt_infer_func)(const struct vt_infer *infer);

/* One line of the operator table (operators.inc): the single list of what vatio understands. */
struct vt_operator {
    const char *name;
    const char *domain;
    int64_t min_opset, max_opset; /* inclusive, of the model */
    uint32_t min_inputs, max_inputs;
    uint32_t min_outputs, max_outputs;
    vt_infer_func infer; /* NULL for control flow, which the plan infers through its bodies */
    uint32_t types;      /* what the native engine carries it out for: bits of enum vt_dtype */
    const char *remark;  /* a restriction in words, or "" */
};
const struct vt_operator *vt_operator_find(const char *domain, const char *name);
const struct vt_operator *vt_operator_table(size_t *ret_n);

/*
 * Infers a node's outputs and checks its inputs: counts, types, shapes that fit together. Errors
 * (VT_ERR_FORMAT, VT_ERR_UNSUPPORTED) name node and operator. Unknown inputs give unknown outputs,
 * not errors; so do If and Loop, which have no function. Allocates nothing.
 */
enum vt_status vt_infer_node(const struct vt_infer *infer) VT_NODISCARD;

/*
 * Multiply-add operations (2 FLOP each are counted), elementwise operations 1 FLOP an element, of
 * a node with known shapes; 0 for data movement.
 */
double vt_node_flops(const struct vt_node *node, const struct vt_shape_info *const *inputs,
                     const struct vt_shape_info *outputs);

/*
 * The signature of the main graph, with bindings applied: names of inputs (all extents) or of
 * symbols (rank 1). VT_ERR_USAGE when a binding names nothing or contradicts a fixed extent.
 * Also VT_ERR_USAGE when an input has no declared rank and no binding. An output whose rank neither
 * the file nor inference tells is given as one open extent with the symbol "...". Arrays are
 * allocated; vt_signature_release frees them, names stay borrowed from the model.
 */
enum vt_status vt_model_signature(const struct vt_model *model,
                                  const struct vt_shape_binding *bindings, uint32_t n_bindings,
                                  struct vt_error *err, struct vt_signature *ret) VT_NODISCARD;
void vt_signature_release(struct vt_signature *signature);

#endif
