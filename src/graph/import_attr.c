/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AttributeProto: the attributes of a node, of which those in a function may refer to those of its
 * call.
 */
#include <string.h>

#include "graph/import.h"

/* More than any operator has, so that comparing their names stays cheap. */
#define ATTRS_MAX 256u

/* Fields of NodeProto and AttributeProto. */
enum {
    NODE_ATTRIBUTE = 5,
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

enum vt_status vt_import_attrs(struct vt_import *import, const struct vt_scope *scope,
                               const struct vt_graph *graph, struct vt_wire wire, uint32_t position,
                               uint32_t n, struct vt_node *node)
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
