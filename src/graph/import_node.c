/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NodeProto and AttributeProto.
 */
#include <stdio.h>
#include <string.h>

#include "graph/import.h"

/* More than any operator has, so that comparing their names stays cheap. */
#define ATTRS_MAX 256u

/* Fields of NodeProto and AttributeProto. */
enum {
    NODE_INPUT = 1,
    NODE_OUTPUT = 2,
    NODE_NAME = 3,
    NODE_OP_TYPE = 4,
    NODE_ATTRIBUTE = 5,
    NODE_DOMAIN = 7,
    ATTR_NAME = 1,
    ATTR_F = 2,
    ATTR_I = 3,
    ATTR_S = 4,
    ATTR_T = 5,
    ATTR_G = 6,
    ATTR_FLOATS = 7,
    ATTR_INTS = 8,
    ATTR_STRINGS = 9,
    ATTR_TYPE = 20,
    ATTR_REFERENCE = 21,
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

/* AttributeProto.AttributeType to ours; 0 for what no supported operator has. */
static enum vt_attr_type attr_type(int64_t type)
{
    static const enum vt_attr_type types[] = {0,
                                              VT_ATTR_FLOAT,
                                              VT_ATTR_INT,
                                              VT_ATTR_STRING,
                                              VT_ATTR_TENSOR,
                                              VT_ATTR_GRAPH,
                                              VT_ATTR_FLOATS,
                                              VT_ATTR_INTS,
                                              VT_ATTR_STRINGS};
    return type >= 0 && type < (int64_t)(sizeof(types) / sizeof(types[0])) ? types[type] : 0;
}

/* What the fields of one AttributeProto say; the lists are read again for their elements. */
struct attr_draft {
    int64_t type;                   /* as the file says, 0 when it does not */
    struct vt_wire_field reference; /* number 0: none */
    size_t n_floats, n_ints, n_strings;
    struct vt_wire_field f, i, s, t, g; /* number 0: absent */
};

static bool draft_attr(struct vt_wire *wire, const struct vt_wire_field *field,
                       struct attr_draft *draft)
{
    struct vt_wire_numbers numbers;
    size_t n = 0;
    bool ok = true;

    switch (field->number) {
    case ATTR_F:
        draft->f = *field;
        break;
    case ATTR_I:
        draft->i = *field;
        break;
    case ATTR_S:
        draft->s = *field;
        break;
    case ATTR_T:
        draft->t = *field;
        break;
    case ATTR_G:
        draft->g = *field;
        break;
    case ATTR_FLOATS:
        ok = vt_wire_numbers(wire, field, VT_WIRE_FIXED32, &numbers, &n);
        draft->n_floats += n;
        break;
    case ATTR_INTS:
        ok = vt_wire_numbers(wire, field, VT_WIRE_VARINT, &numbers, &n);
        draft->n_ints += n;
        break;
    case ATTR_STRINGS:
        draft->n_strings++;
        break;
    case ATTR_TYPE:
        draft->type = (int64_t)field->value;
        break;
    case ATTR_REFERENCE:
        draft->reference = *field;
        break;
    default:
        break;
    }
    return ok;
}

/* Files of the first IR versions leave the type out: it is what is there. */
static enum vt_attr_type guess_type(const struct attr_draft *draft)
{
    return draft->n_ints > 0      ? VT_ATTR_INTS
           : draft->n_floats > 0  ? VT_ATTR_FLOATS
           : draft->n_strings > 0 ? VT_ATTR_STRINGS
           : draft->t.number != 0 ? VT_ATTR_TENSOR
           : draft->g.number != 0 ? VT_ATTR_GRAPH
           : draft->s.number != 0 ? VT_ATTR_STRING
           : draft->f.number != 0 ? VT_ATTR_FLOAT
           : draft->i.number != 0 ? VT_ATTR_INT
                                  : 0;
}

static float float_of_bits(uint64_t bits)
{
    uint32_t word = (uint32_t)bits;
    float f;
    memcpy(&f, &word, sizeof(f));
    return f;
}

/* The bytes of a string with a NUL behind them. */
static const char *string_of(struct vt_import *import, const struct vt_wire_field *field)
{
    char *text = vt_import_calloc(import, &import->model->arena, field->size + 1, 1);
    if (text != NULL && field->size > 0) {
        memcpy(text, field->bytes, field->size);
    }
    return text;
}

/* Fills a list from the fields of its number. */
static enum vt_status fill_list(struct vt_import *import, struct vt_wire wire,
                                const struct attr_draft *draft, struct vt_attr *attr)
{
    struct vt_arena *arena = &import->model->arena;
    bool ints = attr->type == VT_ATTR_INTS, floats = attr->type == VT_ATTR_FLOATS;
    uint32_t number = ints ? ATTR_INTS : floats ? ATTR_FLOATS : ATTR_STRINGS;
    size_t n = ints ? draft->n_ints : floats ? draft->n_floats : draft->n_strings;
    size_t width = ints ? sizeof(int64_t) : floats ? sizeof(float) : sizeof(char *);
    struct vt_wire_field field;
    size_t at = 0;

    void *list = vt_import_calloc(import, arena, n + 1, width);
    if (list == NULL) {
        return import->err->status;
    }
    while (vt_wire_next(&wire, &field)) {
        struct vt_wire_numbers numbers;
        size_t count = 0;
        if (field.number != number) {
            continue;
        }
        if (!ints && !floats) {
            if (field.type != VT_WIRE_BYTES) {
                vt_wire_fail(&wire, "a number stands where a text belongs");
                return vt_import_malformed(import, &wire);
            }
            const char *text = string_of(import, &field);
            if (text == NULL) {
                return import->err->status;
            }
            ((const char **)list)[at++] = text;
            continue;
        }
        if (!vt_wire_numbers(&wire, &field, ints ? VT_WIRE_VARINT : VT_WIRE_FIXED32, &numbers,
                             &count)) {
            return vt_import_malformed(import, &wire);
        }
        for (size_t i = 0; i < count; i++) {
            uint64_t value = vt_wire_number(&numbers);
            if (ints) {
                ((int64_t *)list)[at++] = (int64_t)value;
            } else {
                ((float *)list)[at++] = float_of_bits(value);
            }
        }
    }
    attr->n = n;
    attr->ints = list; /* the members of the union share the pointer */
    return VT_OK;
}

/* Fills one attribute, whose type is known. `scope` is NULL where graphs cannot be. */
static enum vt_status fill_attr(struct vt_import *import, const struct vt_scope *scope,
                                const struct vt_graph *graph, struct vt_wire *wire,
                                const struct attr_draft *draft, struct vt_attr *attr)
{
    struct vt_wire inner;
    struct vt_graph *body = NULL;
    const char *name;
    enum vt_status status = VT_OK;

    switch (attr->type) {
    case VT_ATTR_INT:
        attr->i = draft->i.number != 0 ? (int64_t)draft->i.value : 0;
        break;
    case VT_ATTR_FLOAT:
        attr->f = draft->f.number != 0 ? float_of_bits(draft->f.value) : 0.0f;
        break;
    case VT_ATTR_STRING:
        if (draft->s.number != 0 && draft->s.type != VT_WIRE_BYTES) {
            vt_wire_fail(wire, "a number stands where a text belongs");
            return vt_import_malformed(import, wire);
        }
        attr->n = draft->s.size;
        attr->s = string_of(import, &draft->s);
        status = attr->s != NULL ? VT_OK : import->err->status;
        break;
    case VT_ATTR_TENSOR:
        if (!vt_wire_enter(wire, &draft->t, &inner)) {
            return vt_import_malformed(import, wire);
        }
        status = vt_import_tensor(import, &inner, &name, &attr->tensor);
        break;
    case VT_ATTR_GRAPH:
        if (!vt_wire_enter(wire, &draft->g, &inner)) {
            return vt_import_malformed(import, wire);
        }
        status = vt_import_graph(import, &inner, graph, scope, &body);
        attr->graph = body;
        break;
    default: /* the lists are filled by fill_list */
        break;
    }
    return status;
}

/* An operator's attribute has the type that ONNX gives it; a function's may have any. */
static enum vt_status check_attr_type(struct vt_import *import, const struct vt_node *node,
                                      uint32_t position, const struct vt_attr *attr)
{
    enum vt_attr_type wanted =
        node->operator!= NULL ? vt_operator_attr_type(node->op, attr->name) : 0;
    if (wanted == 0 || wanted == attr->type) {
        return VT_OK;
    }
    return vt_import_fail(import, VT_ERR_FORMAT, "node %s (%s): attribute %s has the wrong type",
                          vt_node_label(node, position).text, vt_quote(node->op).text,
                          vt_quote(attr->name).text);
}

/* What an attribute of the call says; type 0 when the call does not have it. */
static enum vt_status refer(struct vt_import *import, struct vt_wire *wire,
                            const struct attr_draft *draft, const struct vt_node *node,
                            uint32_t position, struct vt_attr *attr)
{
    const char *own_name = attr->name, *name = NULL;

    enum vt_status status = vt_import_text(import, wire, &draft->reference, &name);
    if (status != VT_OK) {
        return status;
    }
    const struct vt_attr *found = vt_node_attr(import->call->node, name);
    if (found == NULL) {
        attr->type = 0;
        return VT_OK;
    }
    if (found->type == VT_ATTR_GRAPH) {
        return vt_import_fail(import, VT_ERR_UNSUPPORTED,
                              "node %s (%s): a function's attribute cannot be a graph",
                              vt_node_label(node, position).text, vt_quote(node->op).text);
    }
    *attr = *found;
    attr->name = own_name;
    return check_attr_type(import, node, position, attr);
}

static enum vt_status read_attr(struct vt_import *import, const struct vt_scope *scope,
                                const struct vt_graph *graph, struct vt_wire *wire,
                                const struct vt_node *node, uint32_t position, struct vt_attr *attr)
{
    struct vt_wire from_start = *wire;
    struct attr_draft draft = {0};
    struct vt_wire_field field;

    attr->name = "";
    while (vt_wire_next(wire, &field)) {
        if (field.number == ATTR_NAME) {
            enum vt_status status = vt_import_text(import, wire, &field, &attr->name);
            if (status != VT_OK) {
                return status;
            }
        } else if (!draft_attr(wire, &field, &draft)) {
            break;
        }
    }
    if (wire->problem != NULL) {
        return vt_import_malformed(import, wire);
    }
    if (draft.reference.number != 0 && import->call != NULL) {
        return refer(import, wire, &draft, node, position, attr);
    }
    attr->type = draft.type == 0 ? guess_type(&draft) : attr_type(draft.type);
    if (attr->type == 0 || draft.reference.number != 0) {
        return vt_import_fail(
            import, VT_ERR_UNSUPPORTED,
            "node %s (%s): attribute %s is of a kind that is not supported (%lld)",
            vt_node_label(node, position).text, vt_quote(node->op).text, vt_quote(attr->name).text,
            (long long)draft.type);
    }
    enum vt_status status = check_attr_type(import, node, position, attr);
    if (status != VT_OK) {
        return status;
    }
    if (attr->type == VT_ATTR_INTS || attr->type == VT_ATTR_FLOATS ||
        attr->type == VT_ATTR_STRINGS) {
        return fill_list(import, from_start, &draft, attr);
    }
    return fill_attr(import, scope, graph, wire, &draft, attr);
}

/* All attributes of a node. */
static enum vt_status read_attrs(struct vt_import *import, const struct vt_scope *scope,
                                 const struct vt_graph *graph, struct vt_wire wire,
                                 uint32_t position, uint32_t n, struct vt_node *node)
{
    struct vt_wire_field field;
    uint32_t at = 0;

    if (n > ATTRS_MAX) {
        return vt_import_fail(import, VT_ERR_LIMIT, "node %s (%s): %u attributes, at most %u",
                              vt_node_label(node, position).text, vt_quote(node->op).text, n,
                              ATTRS_MAX);
    }
    struct vt_attr *attrs = vt_import_calloc(import, &import->model->arena, n, sizeof(*attrs));
    if (attrs == NULL) {
        return import->err->status;
    }
    while (vt_wire_next(&wire, &field)) {
        struct vt_wire inner;
        if (field.number != NODE_ATTRIBUTE) {
            continue;
        }
        if (!vt_wire_enter(&wire, &field, &inner)) {
            return vt_import_malformed(import, &wire);
        }
        enum vt_status status = read_attr(import, scope, graph, &inner, node, position, &attrs[at]);
        if (status != VT_OK) {
            return status;
        }
        if (attrs[at].type == 0) {
            continue; /* refers to what the call leaves out */
        }
        for (uint32_t i = 0; i < at; i++) {
            if (strcmp(attrs[i].name, attrs[at].name) == 0) {
                return vt_import_fail(import, VT_ERR_FORMAT, "node %s (%s): two attributes %s",
                                      vt_node_label(node, position).text, vt_quote(node->op).text,
                                      vt_quote(attrs[at].name).text);
            }
        }
        at++;
    }
    node->attrs = attrs;
    node->n_attrs = at;
    return VT_OK;
}

enum vt_status vt_import_default_attr(struct vt_import *import, struct vt_wire *wire,
                                      const struct vt_node *call, uint32_t position,
                                      struct vt_attr *ret_attr)
{
    return read_attr(import, NULL, NULL, wire, call, position, ret_attr);
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
        read_attrs(import, scope, NULL, raw->wire, position, n_attrs, &raw->node);
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
        status = read_attrs(import, scope, graph, raw->wire, position, node->n_attrs, node);
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
