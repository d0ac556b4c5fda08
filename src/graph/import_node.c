/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NodeProto.
 */
#include <stdio.h>
#include <string.h>

#include "graph/import.h"

/* Fields of NodeProto. */
enum {
    NODE_INPUT = 1,
    NODE_OUTPUT = 2,
    NODE_NAME = 3,
    NODE_OP_TYPE = 4,
    NODE_ATTRIBUTE = 5,
    NODE_DOMAIN = 7,
};

struct vt_quoted vt_node_label(const struct vt_node *node, uint32_t position)
{
    struct vt_quoted label;

    if (node->name != NULL && node->name[0] != '\0') {
        return vt_quote(node->name);
    }
    (void)snprintf(label.text, sizeof(label.text), "#%u", position);
    return label;
}

/* The constant that a node Constant stands for. */
static enum vt_status constant_of(struct vt_import *import, const struct vt_node *node,
                                  uint32_t position, const struct vt_tensor **ret_tensor)
{
    const struct vt_attr *attr = node->n_attrs == 1 ? &node->attrs[0] : NULL;

    if (attr != NULL && strcmp(attr->name, "value") == 0) {
        *ret_tensor = attr->tensor;
        return VT_OK;
    }
    if (attr != NULL && strcmp(attr->name, "value_int") == 0) {
        return vt_import_numbers(import, VT_I64, 0, 1, &attr->i, ret_tensor);
    }
    if (attr != NULL && strcmp(attr->name, "value_float") == 0) {
        return vt_import_numbers(import, VT_F32, 0, 1, &attr->f, ret_tensor);
    }
    if (attr != NULL && strcmp(attr->name, "value_ints") == 0) {
        return vt_import_numbers(import, VT_I64, 1, attr->n, attr->ints, ret_tensor);
    }
    if (attr != NULL && strcmp(attr->name, "value_floats") == 0) {
        return vt_import_numbers(import, VT_F32, 1, attr->n, attr->floats, ret_tensor);
    }
    return vt_import_fail(
        import, VT_ERR_UNSUPPORTED,
        "node %s (Constant, opset %lld): needs one of value, value_int, value_ints, value_float "
        "and value_floats",
        vt_node_label(node, position).text, (long long)node->opset);
}

static enum vt_status take_constant(struct vt_import *import, const struct vt_scope *scope,
                                    uint32_t position, uint32_t n_attrs, struct vt_raw_node *raw)
{
    const struct vt_tensor *tensor = NULL;

    enum vt_status status =
        vt_import_attrs(import, scope, NULL, raw->wire, position, n_attrs, &raw->node);
    if (status == VT_OK) {
        status = constant_of(import, &raw->node, position, &tensor);
    }
    if (status != VT_OK || tensor == NULL) {
        return status;
    }
    struct vt_value *value = &import->model->values[raw->node.outputs[0]];
    value->kind = VT_VALUE_CONSTANT;
    value->constant = tensor;
    value->dtype = tensor->dtype;
    value->rank = tensor->rank;
    memcpy(value->dim, tensor->dim, sizeof(value->dim));
    raw->is_constant = true;
    return VT_OK;
}

/* Operator, domain and opset: known and in range, or the error that says what is. */
static enum vt_status find_operator(struct vt_import *import, uint32_t position,
                                    struct vt_node *node)
{
    size_t n_operators;

    for (uint32_t i = 0; i < import->n_opsets; i++) {
        if (strcmp(import->opsets[i].domain, node->domain) == 0) {
            node->opset = import->opsets[i].version;
        }
    }
    node->operator= vt_operator_find(node->domain, node->op);
    if (node->operator== NULL) {
        const char *near = vt_operator_nearest(node->op);
        (void)vt_operator_table(&n_operators);
        return vt_import_fail(
            import, VT_ERR_UNSUPPORTED,
            "node %s: operator %s of domain %s, opset %lld, is not supported; supported are %zu "
            "operators of the ONNX domain at opset %d to %d%s%s",
            vt_node_label(node, position).text, vt_quote(node->op).text,
            node->domain[0] == '\0' ? "\"\" (ONNX)" : vt_quote(node->domain).text,
            (long long)node->opset, n_operators, VT_OPSET_MIN, VT_OPSET_MAX,
            near != NULL ? ", the nearest is " : "", near != NULL ? near : "");
    }
    if (node->opset < node->operator->min_opset || node->opset> node->operator->max_opset) {
        return vt_import_fail(
            import, VT_ERR_UNSUPPORTED,
            "node %s: operator %s is supported at opset %lld to %lld, the model uses opset %lld",
            vt_node_label(node, position).text, node->op, (long long)node->operator->min_opset,
            (long long)node->operator->max_opset, (long long)node->opset);
    }
    return VT_OK;
}

/* Name, operator and domain, and how many inputs, outputs and attributes there are. */
static enum vt_status read_heading(struct vt_import *import, struct vt_wire wire,
                                   struct vt_node *node)
{
    struct vt_wire_field field;
    enum vt_status status = VT_OK;

    *node = (struct vt_node){.name = "", .op = "", .domain = ""};
    while (status == VT_OK && vt_wire_next(&wire, &field)) {
        switch (field.number) {
        case NODE_INPUT:
            node->n_inputs++;
            break;
        case NODE_OUTPUT:
            node->n_outputs++;
            break;
        case NODE_ATTRIBUTE:
            node->n_attrs++;
            break;
        case NODE_NAME:
            status = vt_import_text(import, &wire, &field, &node->name);
            break;
        case NODE_OP_TYPE:
            status = vt_import_text(import, &wire, &field, &node->op);
            break;
        case NODE_DOMAIN:
            status = vt_import_text(import, &wire, &field, &node->domain);
            break;
        default:
            break;
        }
    }
    if (status == VT_OK && wire.problem != NULL) {
        status = vt_import_malformed(import, &wire);
    }
    if (strcmp(node->domain, "ai.onnx") == 0) {
        node->domain = "";
    }
    return status;
}

static enum vt_status declare_outputs(struct vt_import *import, const struct vt_scope *scope,
                                      struct vt_wire wire, uint32_t position, struct vt_node *node)
{
    struct vt_wire_field field;
    uint32_t at = 0;

    uint32_t *outputs =
        vt_import_calloc(import, &import->model->arena, node->n_outputs, sizeof(*outputs));
    if (outputs == NULL) {
        return import->err->status;
    }
    while (vt_wire_next(&wire, &field)) {
        const char *name;
        if (field.number != NODE_OUTPUT) {
            continue;
        }
        enum vt_status status = vt_import_text(import, &wire, &field, &name);
        if (status != VT_OK) {
            return status;
        }
        if (name[0] == '\0') {
            outputs[at++] = VT_NO_VALUE;
            continue;
        }
        status = vt_scope_declare(import, scope, name, VT_VALUE_NODE, &outputs[at]);
        if (status != VT_OK) {
            return status;
        }
        import->origins[outputs[at++]].producer = position;
    }
    node->outputs = outputs;
    return VT_OK;
}

enum vt_status vt_import_node_outputs(struct vt_import *import, const struct vt_scope *scope,
                                      uint32_t position, struct vt_raw_node *raw)
{
    struct vt_node *node = &raw->node;

    enum vt_status status = read_heading(import, raw->wire, node);
    if (status == VT_OK) {
        raw->function = vt_import_function_find(import, node->domain, node->op);
    }
    if (status == VT_OK && raw->function == NULL) {
        status = find_operator(import, position, node);
    }
    if (status == VT_OK) {
        status = declare_outputs(import, scope, raw->wire, position, node);
    }
    if (status != VT_OK || raw->function != NULL || strcmp(node->op, "Constant") != 0) {
        return status;
    }
    if (node->n_outputs != 1 || node->outputs[0] == VT_NO_VALUE || node->n_inputs != 0) {
        return vt_import_fail(import, VT_ERR_FORMAT,
                              "node %s (Constant): needs one output and no input",
                              vt_node_label(node, position).text);
    }
    return take_constant(import, scope, position, node->n_attrs, raw);
}

/* Inputs by name, in this scope or in those around it. */
static enum vt_status resolve_inputs(struct vt_import *import, const struct vt_scope *scope,
                                     struct vt_wire wire, uint32_t position, struct vt_node *node)
{
    struct vt_wire_field field;
    uint32_t at = 0;

    uint32_t *inputs =
        vt_import_calloc(import, &import->model->arena, node->n_inputs, sizeof(*inputs));
    if (inputs == NULL) {
        return import->err->status;
    }
    while (vt_wire_next(&wire, &field)) {
        if (field.number != NODE_INPUT) {
            continue;
        }
        if (field.type != VT_WIRE_BYTES) {
            vt_wire_fail(&wire, "a number stands where a text belongs");
            return vt_import_malformed(import, &wire);
        }
        inputs[at] = VT_NO_VALUE;
        if (field.size > 0) {
            inputs[at] = vt_scope_find(import, scope, field.bytes, field.size);
            const char *name = "";
            if (inputs[at] == VT_NO_VALUE) {
                enum vt_status status = vt_import_text(import, &wire, &field, &name);
                return status != VT_OK
                           ? status
                           : vt_import_fail(import, VT_ERR_FORMAT,
                                            "node %s (%s): nothing produces its input %s",
                                            vt_node_label(node, position).text, node->op,
                                            vt_quote(name).text);
            }
            if (import->origins[inputs[at]].omitted) {
                inputs[at] = VT_NO_VALUE;
            }
        }
        at++;
    }
    node->inputs = inputs;
    return VT_OK;
}

enum vt_status vt_import_node_rest(struct vt_import *import, const struct vt_scope *scope,
                                   const struct vt_graph *graph, uint32_t position,
                                   struct vt_raw_node *raw)
{
    struct vt_node *node = &raw->node;

    if (raw->is_constant) {
        return VT_OK;
    }
    enum vt_status status = resolve_inputs(import, scope, raw->wire, position, node);
    if (status == VT_OK) {
        status = vt_import_attrs(import, scope, graph, raw->wire, position, node->n_attrs, node);
    }
    if (status != VT_OK) {
        return status;
    }
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        if (node->inputs[i] != VT_NO_VALUE && import->origins[node->inputs[i]].list != NULL &&
            !vt_import_is_sequence(node->op)) {
            return vt_import_fail(import, VT_ERR_UNSUPPORTED,
                                  "node %s (%s): input %u is a sequence, which is not supported "
                                  "here",
                                  vt_node_label(node, position).text, vt_quote(node->op).text, i);
        }
    }
    if (raw->function != NULL) {
        return vt_import_call(import, graph, position, raw);
    }
    struct vt_error local = VT_ERROR_INIT;
    status = vt_operator_check(node, &local);
    if (status != VT_OK) {
        return vt_import_fail(import, status, "node %s (%s, opset %lld): %s",
                              vt_node_label(node, position).text, node->op, (long long)node->opset,
                              local.text);
    }
    if (vt_import_is_sequence(node->op)) {
        return vt_import_sequence(import, scope, position, raw);
    }
    return strcmp(node->op, "Scan") == 0 ? vt_import_scan(import, scope, position, raw) : VT_OK;
}
