/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GraphProto: first every name of the graph is declared, then everything that uses names is read,
 * so that nodes may stand in any order and subgraphs may use what surrounds them.
 */
#include <string.h>

#include "graph/import.h"

/* Fields of GraphProto, ValueInfoProto, TypeProto, TensorShapeProto. */
enum {
    GRAPH_NODE = 1,
    GRAPH_NAME = 2,
    GRAPH_INITIALIZER = 5,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12,
    GRAPH_VALUE_INFO = 13,
    GRAPH_SPARSE_INITIALIZER = 15,
    INFO_NAME = 1,
    INFO_TYPE = 2,
    TYPE_TENSOR = 1,
    TYPE_DENOTATION = 6,
    TENSOR_ELEM_TYPE = 1,
    TENSOR_SHAPE = 2,
    SHAPE_DIM = 1,
    DIM_VALUE = 1,
    DIM_PARAM = 2,
};

/* A declared type; other says that it is no tensor. */
struct declared {
    const char *name;
    bool other;
    int64_t other_type; /* the element type that is not supported; 0: no tensor at all */
    bool too_deep;      /* more dimensions than VT_RANK_MAX */
    enum vt_dtype dtype;
    uint32_t rank;
    int64_t dim[VT_RANK_MAX];
    const char *symbol[VT_RANK_MAX];
};

struct graph_counts {
    uint32_t nodes, inputs, outputs;
};

static enum vt_status read_dim(struct vt_import *import, struct vt_wire *wire, int64_t *ret_dim,
                               const char **ret_symbol)
{
    struct vt_wire_field field;

    *ret_dim = -1;
    *ret_symbol = NULL;
    while (vt_wire_next(wire, &field)) {
        if (field.number == DIM_VALUE) {
            /* Some exporters write an open extent as a negative number. */
            *ret_dim = (int64_t)field.value < 0 ? -1 : (int64_t)field.value;
            *ret_symbol = NULL;
        } else if (field.number == DIM_PARAM) {
            enum vt_status status = vt_import_text(import, wire, &field, ret_symbol);
            if (status != VT_OK) {
                return status;
            }
            *ret_dim = -1;
            if ((*ret_symbol)[0] == '\0') {
                *ret_symbol = NULL;
            }
        }
    }
    return wire->problem != NULL ? vt_import_malformed(import, wire) : VT_OK;
}

static enum vt_status read_shape(struct vt_import *import, struct vt_wire *wire,
                                 struct declared *declared)
{
    struct vt_wire_field field;
    struct vt_wire inner;

    declared->rank = 0;
    while (vt_wire_next(wire, &field)) {
        if (field.number != SHAPE_DIM || !vt_wire_enter(wire, &field, &inner)) {
            continue;
        }
        if (declared->rank == VT_RANK_MAX) {
            declared->too_deep = true;
            declared->rank = VT_RANK_UNKNOWN;
            return VT_OK;
        }
        uint32_t at = declared->rank++;
        enum vt_status status = read_dim(import, &inner, &declared->dim[at], &declared->symbol[at]);
        if (status != VT_OK) {
            return status;
        }
    }
    return wire->problem != NULL ? vt_import_malformed(import, wire) : VT_OK;
}

static enum vt_status read_tensor_type(struct vt_import *import, struct vt_wire *wire,
                                       struct declared *declared)
{
    struct vt_wire_field field;
    struct vt_wire inner;
    enum vt_status status = VT_OK;

    while (status == VT_OK && vt_wire_next(wire, &field)) {
        if (field.number == TENSOR_ELEM_TYPE) {
            declared->dtype = field.value <= VT_BF16 ? (enum vt_dtype)field.value : VT_UNDEFINED;
            declared->other = field.value > VT_BF16;
            declared->other_type = declared->other ? (int64_t)field.value : 0;
        } else if (field.number == TENSOR_SHAPE && vt_wire_enter(wire, &field, &inner)) {
            status = read_shape(import, &inner, declared);
        }
    }
    if (status != VT_OK) {
        return status;
    }
    return wire->problem != NULL ? vt_import_malformed(import, wire) : VT_OK;
}

/* A ValueInfoProto. */
static enum vt_status read_info(struct vt_import *import, struct vt_wire *wire,
                                struct declared *declared)
{
    struct vt_wire_field field;
    struct vt_wire type, inner;
    enum vt_status status = VT_OK;

    *declared = (struct declared){.name = "", .rank = VT_RANK_UNKNOWN};
    while (status == VT_OK && vt_wire_next(wire, &field)) {
        if (field.number == INFO_NAME) {
            status = vt_import_text(import, wire, &field, &declared->name);
        } else if (field.number == INFO_TYPE && vt_wire_enter(wire, &field, &type)) {
            while (status == VT_OK && vt_wire_next(&type, &field)) {
                if (field.number == TYPE_TENSOR && vt_wire_enter(&type, &field, &inner)) {
                    status = read_tensor_type(import, &inner, declared);
                } else if (field.number != TYPE_TENSOR && field.number != TYPE_DENOTATION) {
                    declared->other = true;
                }
            }
            if (status == VT_OK && type.problem != NULL) {
                status = vt_import_malformed(import, &type);
            }
        }
    }
    if (status != VT_OK) {
        return status;
    }
    return wire->problem != NULL ? vt_import_malformed(import, wire) : VT_OK;
}

/* What is declared goes into the value; a constant knows better. */
static void apply_info(struct vt_value *value, const struct declared *declared)
{
    if (value->constant != NULL || declared->other) {
        return;
    }
    if (declared->dtype != VT_UNDEFINED) {
        value->dtype = declared->dtype;
    }
    if (declared->rank != VT_RANK_UNKNOWN) {
        value->rank = declared->rank;
        memcpy(value->dim, declared->dim, sizeof(value->dim));
        memcpy(value->symbol, declared->symbol, sizeof(value->symbol));
    }
}

static bool same_tensor(const struct vt_tensor *a, const struct vt_tensor *b)
{
    return a != NULL && vt_tensor_same_shape(a, b) &&
           (a->bytes == 0 || memcmp(a->data, b->data, a->bytes) == 0);
}

static enum vt_status take_initialiser(struct vt_import *import, const struct vt_scope *scope,
                                       struct vt_wire *wire)
{
    const struct vt_tensor *tensor;
    const char *name;
    uint32_t number;

    enum vt_status status = vt_import_tensor(import, wire, &name, &tensor);
    if (status != VT_OK) {
        return status;
    }
    if (name[0] == '\0') {
        return vt_import_fail(import, VT_ERR_FORMAT, "an initialiser without a name");
    }
    /* Some exporters write one twice over, which does no harm while both are the same. */
    number = vt_scope_find_here(import, scope, (const uint8_t *)name, strlen(name));
    if (number != VT_NO_VALUE && same_tensor(import->model->values[number].constant, tensor)) {
        return VT_OK;
    }
    status = vt_scope_declare(import, scope, name, VT_VALUE_CONSTANT, &number);
    if (status != VT_OK) {
        return status;
    }
    struct vt_value *value = &import->model->values[number];
    value->constant = tensor;
    value->dtype = tensor->dtype;
    value->rank = tensor->rank;
    memcpy(value->dim, tensor->dim, sizeof(value->dim));
    return VT_OK;
}

/* An input of the graph, unless an initialiser fills it. */
static enum vt_status take_input(struct vt_import *import, const struct vt_scope *scope,
                                 struct vt_wire *wire, uint32_t *inputs, uint32_t *n_inputs)
{
    struct declared declared;

    enum vt_status status = read_info(import, wire, &declared);
    if (status != VT_OK) {
        return status;
    }
    if (declared.name[0] == '\0') {
        return vt_import_fail(import, VT_ERR_FORMAT, "an input without a name");
    }
    uint32_t number =
        vt_scope_find_here(import, scope, (const uint8_t *)declared.name, strlen(declared.name));
    if (number != VT_NO_VALUE && import->model->values[number].kind == VT_VALUE_CONSTANT) {
        return VT_OK;
    }
    if (declared.other) {
        if (declared.other_type == 0) {
            return vt_import_fail(import, VT_ERR_UNSUPPORTED,
                                  "input %s is no tensor, but a sequence, a map or an optional: "
                                  "these are not supported",
                                  vt_quote(declared.name).text);
        }
        return vt_import_fail(import, VT_ERR_UNSUPPORTED,
                              "input %s has the element type %s (%lld), which is not supported",
                              vt_quote(declared.name).text,
                              vt_import_type_name(declared.other_type),
                              (long long)declared.other_type);
    }
    if (declared.too_deep) {
        return vt_import_fail(import, VT_ERR_LIMIT,
                              "input %s has more than %d dimensions, the most that is supported",
                              vt_quote(declared.name).text, VT_RANK_MAX);
    }
    status = vt_scope_declare(import, scope, declared.name, VT_VALUE_INPUT, &number);
    if (status != VT_OK) {
        return status;
    }
    apply_info(&import->model->values[number], &declared);
    inputs[(*n_inputs)++] = number;
    return VT_OK;
}

/* An output names a value of the graph, or, in a subgraph, of what surrounds it. */
static enum vt_status take_output(struct vt_import *import, const struct vt_scope *scope,
                                  struct vt_wire *wire, uint32_t *ret_output)
{
    struct declared declared;

    enum vt_status status = read_info(import, wire, &declared);
    if (status != VT_OK) {
        return status;
    }
    size_t length = strlen(declared.name);
    uint32_t number = vt_scope_find(import, scope, (const uint8_t *)declared.name, length);
    if (number == VT_NO_VALUE) {
        return vt_import_fail(import, VT_ERR_FORMAT, "nothing produces the output %s of a graph",
                              vt_quote(declared.name).text);
    }
    if (import->model->values[number].kind == VT_VALUE_NODE &&
        import->origins[number].scope == scope->number) {
        apply_info(&import->model->values[number], &declared);
    }
    *ret_output = number;
    return VT_OK;
}

/* A declaration about a value in between. Those about values that are not there are ignored. */
static enum vt_status take_value_info(struct vt_import *import, const struct vt_scope *scope,
                                      struct vt_wire *wire)
{
    struct declared declared;

    enum vt_status status = read_info(import, wire, &declared);
    if (status != VT_OK) {
        return status;
    }
    uint32_t number =
        vt_scope_find_here(import, scope, (const uint8_t *)declared.name, strlen(declared.name));
    if (number != VT_NO_VALUE && import->model->values[number].kind == VT_VALUE_NODE) {
        apply_info(&import->model->values[number], &declared);
    }
    return VT_OK;
}

static enum vt_status count_fields(struct vt_import *import, struct vt_wire wire,
                                   struct vt_graph *graph, struct graph_counts *ret)
{
    struct graph_counts counts = {0};
    struct vt_wire_field field;
    enum vt_status status = VT_OK;

    while (status == VT_OK && vt_wire_next(&wire, &field)) {
        switch (field.number) {
        case GRAPH_NODE:
            counts.nodes++;
            break;
        case GRAPH_INPUT:
            counts.inputs++;
            break;
        case GRAPH_OUTPUT:
            counts.outputs++;
            break;
        case GRAPH_NAME:
            status = vt_import_text(import, &wire, &field, &graph->name);
            break;
        case GRAPH_SPARSE_INITIALIZER:
            status =
                vt_import_fail(import, VT_ERR_UNSUPPORTED, "sparse initialisers are not supported");
            break;
        default:
            break;
        }
    }
    if (status != VT_OK) {
        return status;
    }
    if (wire.problem != NULL) {
        return vt_import_malformed(import, &wire);
    }
    if (counts.nodes > import->limits.max_nodes - import->n_nodes) {
        return vt_import_fail(import, VT_ERR_LIMIT, "more than %u nodes", import->limits.max_nodes);
    }
    import->n_nodes += counts.nodes;
    *ret = counts;
    return VT_OK;
}

/* One pass over the fields of one number. Which one decides what is done with them. */
struct graph_pass {
    struct vt_import *import;
    const struct vt_scope *scope;
    struct vt_graph *graph;
    struct vt_raw_node *raw;
    uint32_t *inputs, *outputs;
    uint32_t n;
};

static enum vt_status pass_field(struct graph_pass *pass, uint32_t number, struct vt_wire *inner)
{
    switch (number) {
    case GRAPH_INITIALIZER:
        return take_initialiser(pass->import, pass->scope, inner);
    case GRAPH_INPUT:
        return take_input(pass->import, pass->scope, inner, pass->inputs, &pass->graph->n_inputs);
    case GRAPH_NODE:
        pass->raw[pass->n].wire = *inner;
        return vt_import_node_outputs(pass->import, pass->scope, pass->n, &pass->raw[pass->n]);
    case GRAPH_OUTPUT:
        return take_output(pass->import, pass->scope, inner, &pass->outputs[pass->n]);
    default:
        return take_value_info(pass->import, pass->scope, inner);
    }
}

static enum vt_status run_pass(struct graph_pass *pass, struct vt_wire wire, uint32_t number)
{
    struct vt_wire_field field;
    struct vt_wire inner;

    pass->n = 0;
    while (vt_wire_next(&wire, &field)) {
        if (field.number != number) {
            continue;
        }
        if (!vt_wire_enter(&wire, &field, &inner)) {
            return vt_import_malformed(pass->import, &wire);
        }
        enum vt_status status = pass_field(pass, number, &inner);
        if (status != VT_OK) {
            return status;
        }
        pass->n++;
    }
    return VT_OK;
}

/* The nodes' second pass, and their order. */
static enum vt_status finish_nodes(struct graph_pass *pass, uint32_t n_raw)
{
    struct vt_import *import = pass->import;
    uint32_t n_nodes = 0;

    for (uint32_t i = 0; i < n_raw; i++) {
        enum vt_status status =
            vt_import_node_rest(import, pass->scope, pass->graph, i, &pass->raw[i]);
        if (status != VT_OK) {
            return status;
        }
        if (!pass->raw[i].is_constant) {
            n_nodes += 1 + pass->raw[i].n_before + pass->raw[i].n_after;
        }
    }
    for (uint32_t i = 0; i < pass->graph->n_outputs; i++) {
        if (import->origins[pass->graph->outputs[i]].list != NULL) {
            return vt_import_fail(
                import, VT_ERR_UNSUPPORTED,
                "output %s of a graph is a sequence, which is not supported",
                vt_quote(import->model->values[pass->graph->outputs[i]].name).text);
        }
    }
    struct vt_node *nodes =
        vt_import_calloc(import, &import->model->arena, n_nodes, sizeof(*nodes));
    if (nodes == NULL) {
        return import->err->status;
    }
    pass->graph->nodes = nodes;
    pass->graph->n_nodes = n_nodes;
    return vt_order_nodes(import, pass->scope, pass->raw, n_raw, nodes);
}

enum vt_status vt_import_graph(struct vt_import *import, struct vt_wire *wire,
                               const struct vt_graph *parent, const struct vt_scope *outer,
                               struct vt_graph **ret_graph)
{
    static const uint32_t passes[] = {GRAPH_INITIALIZER, GRAPH_INPUT, GRAPH_NODE, GRAPH_VALUE_INFO,
                                      GRAPH_OUTPUT};
    struct vt_arena *arena = &import->model->arena;
    struct vt_scope scope = {.parent = outer, .number = import->n_scopes++};
    struct graph_counts counts = {0};

    struct vt_graph *graph = vt_import_calloc(import, arena, 1, sizeof(*graph));
    if (graph == NULL) {
        return import->err->status;
    }
    graph->name = "";
    graph->parent = parent;
    enum vt_status status = count_fields(import, *wire, graph, &counts);
    if (status != VT_OK) {
        return status;
    }
    struct graph_pass pass = {.import = import, .scope = &scope, .graph = graph};
    pass.raw = vt_import_calloc(import, &import->scratch, counts.nodes, sizeof(*pass.raw));
    pass.inputs = vt_import_calloc(import, arena, counts.inputs, sizeof(*pass.inputs));
    pass.outputs = vt_import_calloc(import, arena, counts.outputs, sizeof(*pass.outputs));
    if (pass.raw == NULL || pass.inputs == NULL || pass.outputs == NULL) {
        return import->err->status;
    }
    graph->inputs = pass.inputs;
    graph->outputs = pass.outputs;
    graph->n_outputs = counts.outputs;
    for (size_t i = 0; status == VT_OK && i < sizeof(passes) / sizeof(passes[0]); i++) {
        status = run_pass(&pass, *wire, passes[i]);
    }
    if (status == VT_OK) {
        status = finish_nodes(&pass, counts.nodes);
    }
    if (status == VT_OK) {
        *ret_graph = graph;
    }
    return status;
}
