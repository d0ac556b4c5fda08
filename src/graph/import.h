/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the importer share: the model while it is being built, the scopes of names,
 * and how errors are said. Private to the room.
 *
 *   import.c        ModelProto: versions, opsets, the entry points
 *   import_graph.c  GraphProto: inputs, initialisers, declared types, nodes
 *   import_node.c   NodeProto
 *   import_attr.c   AttributeProto
 *   import_function.c  functions of the model, put in the place of their calls
 *   import_scan.c   Scan, which becomes a Loop
 *   import_sequence.c  sequences, which become lists of values
 *   import_tensor.c TensorProto: views of the file, or decoded copies
 *   external.c      tensors in files beside the model
 *   scope.c         names to values
 *   order.c         nodes in an order in which they can run
 */
#ifndef VT_GRAPH_IMPORT_H
#define VT_GRAPH_IMPORT_H

#include "base/alloc.h"
#include "base/file.h"
#include "base/quote.h"
#include "graph/graph.h"
#include "graph/wire.h"

#define VT_OPSET_MIN 1
#define VT_OPSET_MAX 25
/* Versions of the file format. What they brought since is either read or refused by name. */
#define VT_IR_MAX 14

/* A mapped file of external data. */
struct vt_external {
    struct vt_external *next;
    char *location;
    struct vt_file_map map;
};

struct vt_model {
    struct vt_arena arena;   /* everything but weights; bounded */
    struct vt_arena weights; /* weights that could not stay views of a file */
    struct vt_file_map map;  /* zeroed when the model is in memory */
    const uint8_t *bytes;    /* of the map, or the caller's */
    size_t size;
    struct vt_external *externals;
    const char *name;
    const char *producer;
    int64_t ir_version;
    int64_t opset;
    struct vt_value *values;
    uint32_t n_values, value_capacity;
    struct vt_graph *graph;
};

/* A domain that the model imports. */
struct vt_opset {
    const char *domain;
    int64_t version;
};

/* A sequence of tensors: the values that it holds. */
struct vt_list {
    uint32_t n;
    uint32_t *items;
};

/* What is known about a value only while importing; in parallel to the model's values. */
struct vt_value_origin {
    uint32_t scope;    /* number of the graph that declares it */
    uint32_t producer; /* position of its node in the file's order, or VT_NO_VALUE */
    uint32_t name_length;
    const struct vt_list *list; /* of a value that is a sequence; else NULL */
    bool omitted;               /* an input of a function that the caller left out */
};

/* An operator that the model defines itself. */
struct vt_function {
    struct vt_function *next;
    const char *domain, *name;
    struct vt_wire wire; /* at its start */
    struct vt_opset *opsets;
    uint32_t n_opsets;
};

/* The call whose nodes are being read: its attributes are what they refer to. */
struct vt_call {
    const struct vt_node *node;
    uint32_t depth;
};

struct vt_scope {
    const struct vt_scope *parent;
    uint32_t number;
};

/* A slot of the table of names; value is VT_NO_VALUE in an empty one. */
struct vt_scope_slot {
    uint32_t value;
    uint32_t hash;
};

struct vt_import {
    struct vt_model *model;
    struct vt_arena scratch;
    struct vt_import_limits limits;
    struct vt_error *err;
    const char *folder; /* for external data; NULL: none allowed */
    struct vt_opset *opsets;
    uint32_t n_opsets;
    struct vt_function *functions;
    const struct vt_call *call; /* NULL outside of functions */
    struct vt_value_origin *origins;
    uint32_t origin_capacity;
    struct vt_scope_slot *slots;
    uint32_t n_slots; /* a power of two, or 0 */
    uint64_t seed;    /* of the hash: a file cannot aim at collisions */
    uint32_t n_scopes;
    uint32_t n_nodes;
};

/* Sets "model.onnx: …". Returns `status`. */
enum vt_status vt_import_fail(struct vt_import *import, enum vt_status status, const char *fmt, ...)
    VT_PRINTF(3, 4);
/* Malformed bytes, as `wire` found them. */
enum vt_status vt_import_malformed(struct vt_import *import, const struct vt_wire *wire);
/* As vt_arena_calloc from the model's arena or the scratch one, but sets the error. */
void *vt_import_calloc(struct vt_import *import, struct vt_arena *arena, size_t n, size_t bytes);
/* Text of a field, with a NUL behind it. */
enum vt_status vt_import_text(struct vt_import *import, struct vt_wire *wire,
                              const struct vt_wire_field *field, const char **ret_text);

/* Reads an OperatorSetIdProto. */
enum vt_status vt_import_opset(struct vt_import *import, struct vt_wire *wire,
                               struct vt_opset *ret_opset);

/* Declares a value in a scope. VT_ERR_FORMAT when the scope has that name already. */
enum vt_status vt_scope_declare(struct vt_import *import, const struct vt_scope *scope,
                                const char *name, enum vt_value_kind kind, uint32_t *ret_value);
/* A value that no node of the file can name. */
enum vt_status vt_scope_nameless(struct vt_import *import, uint32_t scope, enum vt_value_kind kind,
                                 uint32_t *ret_value);
/* The value of that name in this scope alone, or in it and those around it; else VT_NO_VALUE. */
uint32_t vt_scope_find_here(const struct vt_import *import, const struct vt_scope *scope,
                            const uint8_t *name, size_t length);
uint32_t vt_scope_find(const struct vt_import *import, const struct vt_scope *scope,
                       const uint8_t *name, size_t length);

/* Reads a TensorProto. Its data are a view of the file where that is possible. */
enum vt_status vt_import_tensor(struct vt_import *import, struct vt_wire *wire,
                                const char **ret_name, const struct vt_tensor **ret_tensor);
/* What ONNX calls an element type, those that are not supported among them. */
const char *vt_import_type_name(int64_t type);
/* A tensor of these numbers, copied: what Constant's value_ints and the like stand for. */
enum vt_status vt_import_numbers(struct vt_import *import, enum vt_dtype dtype, uint32_t rank,
                                 size_t n, const void *numbers,
                                 const struct vt_tensor **ret_tensor);

/*
 * The whole of a file of external data, mapped once for a model. `location` is relative to the
 * model's own folder; VT_ERR_FORMAT when it leads out of it.
 */
enum vt_status vt_external_map(struct vt_import *import, const char *tensor, const char *location,
                               const uint8_t **ret_bytes, size_t *ret_size);
void vt_external_free(struct vt_external *externals);

/* A node while its graph is being read. */
struct vt_raw_node {
    struct vt_wire wire; /* at its start */
    struct vt_node node;
    const struct vt_function *function; /* that it calls; NULL for an operator */
    bool is_constant;                   /* became a constant, is no node any more */
    /* Nodes that stand directly before and behind it. */
    const struct vt_node *before, *after;
    uint32_t n_before, n_after;
};

/* First pass: name, operator, opset, outputs (declared in `scope`); a Constant is taken in. */
enum vt_status vt_import_node_outputs(struct vt_import *import, const struct vt_scope *scope,
                                      uint32_t position, struct vt_raw_node *raw);
/* Second pass, when every name is declared: inputs, attributes, subgraphs, checks. */
enum vt_status vt_import_node_rest(struct vt_import *import, const struct vt_scope *scope,
                                   const struct vt_graph *graph, uint32_t position,
                                   struct vt_raw_node *raw);
/* Reads a FunctionProto's heading. */
enum vt_status vt_import_function(struct vt_import *import, struct vt_wire *wire);
/* NULL when the model has no such function. */
const struct vt_function *vt_import_function_find(const struct vt_import *import,
                                                  const char *domain, const char *name);
/* Puts the nodes of raw->function in the place of the call, whose inputs and attributes are read.
 */
enum vt_status vt_import_call(struct vt_import *import, const struct vt_graph *graph,
                              uint32_t position, struct vt_raw_node *raw);
/* All n attributes of the node whose message `wire` is at. `scope` is NULL where a graph cannot be
 * one. */
enum vt_status vt_import_attrs(struct vt_import *import, const struct vt_scope *scope,
                               const struct vt_graph *graph, struct vt_wire wire, uint32_t position,
                               uint32_t n, struct vt_node *node);
/* The default of an attribute of a function; type 0 when there is none after all. */
enum vt_status vt_import_default_attr(struct vt_import *import, struct vt_wire *wire,
                                      const struct vt_node *call, uint32_t position,
                                      struct vt_attr *ret_attr);
/* The operators of sequences: their nodes are read, and become lists and nodes about tensors. */
bool vt_import_is_sequence(const char *op);
enum vt_status vt_import_sequence(struct vt_import *import, const struct vt_scope *scope,
                                  uint32_t position, struct vt_raw_node *raw);
/* Makes a Loop and what stands around it of a Scan whose inputs and attributes are read. */
enum vt_status vt_import_scan(struct vt_import *import, const struct vt_scope *scope,
                              uint32_t position, struct vt_raw_node *raw);
/* How a message names a node: its name, or "#12", its position. */
struct vt_quoted vt_node_label(const struct vt_node *node, uint32_t position);

/* Reads a GraphProto; `parent` and `outer` are NULL for the main graph. */
enum vt_status vt_import_graph(struct vt_import *import, struct vt_wire *wire,
                               const struct vt_graph *parent, const struct vt_scope *outer,
                               struct vt_graph **ret_graph);

/* Puts the nodes that are no constants in a runnable order; VT_ERR_FORMAT names a cycle. */
enum vt_status vt_order_nodes(struct vt_import *import, const struct vt_scope *scope,
                              const struct vt_raw_node *raw, uint32_t n_raw,
                              struct vt_node *ret_nodes);

/* Whether the node fits the operator's counts and the bodies of control flow fit the node. */
enum vt_status vt_operator_check(const struct vt_node *node, struct vt_error *err);
/* The operator whose name is like this one, or NULL. */
const char *vt_operator_nearest(const char *name);
/* The type that an attribute of this name must have; 0 when anything goes. */
enum vt_attr_type vt_operator_attr_type(const char *op, const char *attr);

#endif
