/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FunctionProto: operators that a model defines itself. A call becomes the function's nodes in the
 * caller's graph, between copies of the caller's values and copies of the function's outputs.
 */
#include <stdio.h>
#include <string.h>

#include "graph/import.h"

/* Calls inside calls; functions must not call themselves, which would go deeper. */
#define CALLS_MAX 32u

/* Fields of FunctionProto and OperatorSetIdProto. */
enum {
    FUNCTION_NAME = 1,
    FUNCTION_INPUT = 4,
    FUNCTION_OUTPUT = 5,
    FUNCTION_NODE = 7,
    FUNCTION_OPSET_IMPORT = 9,
    FUNCTION_DOMAIN = 10,
    FUNCTION_ATTRIBUTE_DEFAULT = 11,
};

static uint32_t count_fields(struct vt_wire wire, uint32_t number)
{
    struct vt_wire_field field;
    uint32_t n = 0;
    while (vt_wire_next(&wire, &field)) {
        n += field.number == number;
    }
    return n;
}

static enum vt_status read_opsets(struct vt_import *import, struct vt_wire wire,
                                  struct vt_function *function)
{
    struct vt_wire_field field;
    struct vt_wire inner;
    const uint32_t n = count_fields(wire, FUNCTION_OPSET_IMPORT);

    function->opsets =
        vt_import_calloc(import, &import->scratch, (size_t)n + 1, sizeof(*function->opsets));
    if (function->opsets == NULL) {
        return import->err->status;
    }
    while (vt_wire_next(&wire, &field)) {
        if (field.number != FUNCTION_OPSET_IMPORT) {
            continue;
        }
        if (!vt_wire_enter(&wire, &field, &inner)) {
            return vt_import_malformed(import, &wire);
        }
        enum vt_status status =
            vt_import_opset(import, &inner, &function->opsets[function->n_opsets]);
        if (status != VT_OK) {
            return status;
        }
        function->n_opsets++;
    }
    return VT_OK;
}

enum vt_status vt_import_function(struct vt_import *import, struct vt_wire *wire)
{
    struct vt_function *function = vt_import_calloc(import, &import->scratch, 1, sizeof(*function));
    struct vt_wire_field field;
    enum vt_status status = VT_OK;

    if (function == NULL) {
        return import->err->status;
    }
    function->wire = *wire;
    function->name = function->domain = "";
    while (status == VT_OK && vt_wire_next(wire, &field)) {
        if (field.number == FUNCTION_NAME) {
            status = vt_import_text(import, wire, &field, &function->name);
        } else if (field.number == FUNCTION_DOMAIN) {
            status = vt_import_text(import, wire, &field, &function->domain);
        }
    }
    if (status == VT_OK && wire->problem != NULL) {
        status = vt_import_malformed(import, wire);
    }
    if (status == VT_OK) {
        status = read_opsets(import, function->wire, function);
    }
    if (strcmp(function->domain, "ai.onnx") == 0) {
        function->domain = "";
    }
    function->next = import->functions;
    import->functions = function;
    return status;
}

const struct vt_function *vt_import_function_find(const struct vt_import *import,
                                                  const char *domain, const char *name)
{
    for (const struct vt_function *f = import->functions; f != NULL; f = f->next) {
        if (strcmp(f->name, name) == 0 && strcmp(f->domain, domain) == 0) {
            return f;
        }
    }
    return NULL;
}

/* --- a call ------------------------------------------------------------------------------ */

struct expansion {
    struct vt_import *import;
    const struct vt_graph *graph;
    const struct vt_function *function;
    struct vt_scope scope;
    struct vt_node call; /* with the defaults among its attributes */
    uint32_t position;   /* of the call */
    struct vt_node *nodes;
    uint32_t n_nodes;
    struct vt_raw_node *raw;
    uint32_t n_raw;
};

static enum vt_status fail(const struct expansion *e, enum vt_status status, const char *text)
{
    return vt_import_fail(e->import, status, "node %s (function %s): %s",
                          vt_node_label(&e->call, e->position).text, vt_quote(e->call.op).text,
                          text);
}

/* `to` is `from` under another name. */
static enum vt_status add_copy(struct expansion *e, uint32_t from, uint32_t to)
{
    uint32_t *values = vt_import_calloc(e->import, &e->import->model->arena, 2, sizeof(*values));
    if (values == NULL) {
        return e->import->err->status;
    }
    values[0] = from;
    values[1] = to;
    e->nodes[e->n_nodes++] = (struct vt_node){.name = e->call.name,
                                              .op = "Identity",
                                              .domain = "",
                                              .operator= vt_operator_find("", "Identity"),
                                              .opset = VT_OPSET_MAX,
                                              .n_inputs = 1,
                                              .n_outputs = 1,
                                              .inputs = values,
                                              .outputs = values + 1};
    return VT_OK;
}

static void copy_constant(struct vt_model *model, uint32_t from, uint32_t to)
{
    const struct vt_value *source = &model->values[from];
    struct vt_value *value = &model->values[to];
    value->kind = VT_VALUE_CONSTANT;
    value->constant = source->constant;
    value->dtype = source->dtype;
    value->rank = source->rank;
    memcpy(value->dim, source->dim, sizeof(value->dim));
}

/* The function's inputs, each the caller's value, a constant, or omitted. */
static enum vt_status bind_inputs(struct expansion *e)
{
    struct vt_wire wire = e->function->wire;
    struct vt_wire_field field;
    uint32_t at = 0;

    while (vt_wire_next(&wire, &field)) {
        const char *name;
        uint32_t inner;
        if (field.number != FUNCTION_INPUT) {
            continue;
        }
        enum vt_status status = vt_import_text(e->import, &wire, &field, &name);
        if (status == VT_OK) {
            status = vt_scope_declare(e->import, &e->scope, name, VT_VALUE_NODE, &inner);
        }
        const uint32_t outer = at < e->call.n_inputs ? e->call.inputs[at] : VT_NO_VALUE;
        at++;
        if (status == VT_OK && outer == VT_NO_VALUE) {
            e->import->origins[inner].omitted = true;
        } else if (status == VT_OK && e->import->model->values[outer].constant != NULL) {
            copy_constant(e->import->model, outer, inner);
        } else if (status == VT_OK) {
            status = add_copy(e, outer, inner);
        }
        if (status != VT_OK) {
            return status;
        }
    }
    return VT_OK;
}

static enum vt_status bind_outputs(struct expansion *e)
{
    struct vt_wire wire = e->function->wire;
    struct vt_wire_field field;
    uint32_t at = 0;

    while (vt_wire_next(&wire, &field) && at < e->call.n_outputs) {
        if (field.number != FUNCTION_OUTPUT || field.type != VT_WIRE_BYTES) {
            continue;
        }
        const uint32_t outer = e->call.outputs[at++];
        if (outer == VT_NO_VALUE) {
            continue;
        }
        const uint32_t inner = vt_scope_find_here(e->import, &e->scope, field.bytes, field.size);
        if (inner == VT_NO_VALUE || e->import->origins[inner].omitted) {
            char problem[120];
            (void)snprintf(problem, sizeof(problem), "nothing produces its output %u (%s)", at - 1,
                           vt_quote(e->import->model->values[outer].name).text);
            return fail(e, VT_ERR_FORMAT, problem);
        }
        if (e->import->model->values[inner].constant != NULL) {
            copy_constant(e->import->model, inner, outer);
            continue;
        }
        enum vt_status status = add_copy(e, inner, outer);
        if (status != VT_OK) {
            return status;
        }
    }
    return VT_OK;
}

/* The attributes of the call, and the function's defaults for those that it does not give. */
static enum vt_status complete_attrs(struct expansion *e)
{
    struct vt_import *import = e->import;
    struct vt_wire wire = e->function->wire;
    struct vt_wire_field field;
    struct vt_wire inner;
    const uint32_t n = count_fields(wire, FUNCTION_ATTRIBUTE_DEFAULT);
    struct vt_attr *attrs = vt_import_calloc(import, &import->model->arena,
                                             (size_t)e->call.n_attrs + n + 1, sizeof(*attrs));
    if (attrs == NULL) {
        return import->err->status;
    }
    if (e->call.n_attrs > 0) {
        memcpy(attrs, e->call.attrs, e->call.n_attrs * sizeof(*attrs));
    }
    uint32_t at = e->call.n_attrs;
    while (vt_wire_next(&wire, &field)) {
        if (field.number != FUNCTION_ATTRIBUTE_DEFAULT) {
            continue;
        }
        if (!vt_wire_enter(&wire, &field, &inner)) {
            return vt_import_malformed(import, &wire);
        }
        enum vt_status status =
            vt_import_default_attr(import, &inner, &e->call, e->position, &attrs[at]);
        if (status != VT_OK) {
            return status;
        }
        at += attrs[at].type != 0 && vt_node_attr(&e->call, attrs[at].name) == NULL;
    }
    e->call.attrs = attrs;
    e->call.n_attrs = at;
    return VT_OK;
}

/* Both passes over the function's nodes, as over those of a graph. */
static enum vt_status read_nodes(struct expansion *e)
{
    struct vt_wire wire = e->function->wire;
    struct vt_wire_field field;
    uint32_t at = 0;

    while (vt_wire_next(&wire, &field)) {
        if (field.number != FUNCTION_NODE) {
            continue;
        }
        if (!vt_wire_enter(&wire, &field, &e->raw[at].wire)) {
            return vt_import_malformed(e->import, &wire);
        }
        enum vt_status status = vt_import_node_outputs(e->import, &e->scope, at, &e->raw[at]);
        if (status != VT_OK) {
            return status;
        }
        at++;
    }
    for (uint32_t i = 0; i < e->n_raw; i++) {
        enum vt_status status = vt_import_node_rest(e->import, &e->scope, e->graph, i, &e->raw[i]);
        if (status != VT_OK) {
            return status;
        }
    }
    return VT_OK;
}

/* The function's nodes in the function's own terms: its operator sets and its attributes. */
static enum vt_status read_body(struct expansion *e)
{
    struct vt_import *import = e->import;
    const struct vt_call call = {.node = &e->call,
                                 .depth = import->call != NULL ? import->call->depth + 1 : 1};
    struct vt_opset *opsets = import->opsets;
    const uint32_t n_opsets = import->n_opsets;
    const struct vt_call *outer = import->call;

    if (call.depth > CALLS_MAX) {
        return fail(e, VT_ERR_LIMIT, "functions call each other too deeply, or themselves");
    }
    import->opsets = e->function->opsets;
    import->n_opsets = e->function->n_opsets;
    import->call = &call;
    enum vt_status status = read_nodes(e);
    import->opsets = opsets;
    import->n_opsets = n_opsets;
    import->call = outer;
    return status;
}

static enum vt_status make_room(struct expansion *e)
{
    struct vt_import *import = e->import;
    const uint32_t n_inputs = count_fields(e->function->wire, FUNCTION_INPUT);
    const uint32_t n_outputs = count_fields(e->function->wire, FUNCTION_OUTPUT);

    if (e->call.n_inputs > n_inputs || e->call.n_outputs > n_outputs) {
        return fail(e, VT_ERR_FORMAT, "it is given more inputs or outputs than it has");
    }
    e->n_raw = count_fields(e->function->wire, FUNCTION_NODE);
    if (e->n_raw > import->limits.max_nodes - import->n_nodes) {
        return vt_import_fail(import, VT_ERR_LIMIT, "more than %u nodes", import->limits.max_nodes);
    }
    import->n_nodes += e->n_raw;
    e->raw = vt_import_calloc(import, &import->scratch, (size_t)e->n_raw + 1, sizeof(*e->raw));
    e->nodes = vt_import_calloc(import, &import->scratch, (size_t)n_inputs + 1, sizeof(*e->nodes));
    return e->raw != NULL && e->nodes != NULL ? VT_OK : import->err->status;
}

/* Copies in, the nodes in their order, copies out. */
static enum vt_status put_together(struct expansion *e)
{
    struct vt_import *import = e->import;
    size_t n = (size_t)e->n_nodes + e->call.n_outputs;
    for (uint32_t i = 0; i < e->n_raw; i++) {
        n += e->raw[i].is_constant ? 0 : 1 + e->raw[i].n_before + e->raw[i].n_after;
    }
    struct vt_node *all = vt_import_calloc(import, &import->model->arena, n + 1, sizeof(*all));
    if (all == NULL) {
        return import->err->status;
    }
    memcpy(all, e->nodes, e->n_nodes * sizeof(*all));
    enum vt_status status = vt_order_nodes(import, &e->scope, e->raw, e->n_raw, all + e->n_nodes);
    e->nodes = all;
    e->n_nodes = (uint32_t)(n - e->call.n_outputs);
    return status == VT_OK ? bind_outputs(e) : status;
}

enum vt_status vt_import_call(struct vt_import *import, const struct vt_graph *graph,
                              uint32_t position, struct vt_raw_node *raw)
{
    struct expansion e = {.import = import,
                          .graph = graph,
                          .function = raw->function,
                          .scope = {.parent = NULL, .number = import->n_scopes++},
                          .call = raw->node,
                          .position = position};

    enum vt_status status = make_room(&e);
    if (status == VT_OK) {
        status = complete_attrs(&e);
    }
    if (status == VT_OK) {
        status = bind_inputs(&e);
    }
    if (status == VT_OK) {
        status = read_body(&e);
    }
    if (status == VT_OK) {
        status = put_together(&e);
    }
    if (status != VT_OK) {
        return status;
    }
    raw->is_constant = e.n_nodes == 0;
    if (e.n_nodes > 0) {
        raw->before = e.nodes;
        raw->n_before = e.n_nodes - 1;
        raw->node = e.nodes[e.n_nodes - 1];
    }
    return VT_OK;
}
