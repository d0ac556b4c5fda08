/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sequences of tensors whose length and positions are known while a model is read: they are lists
 * of values, and vanish. What splits a tensor becomes Split, what joins a list Concat, and what
 * takes an element a copy of it. Sequences that grow in loops, or are inputs or outputs, are not
 * supported.
 */
#include <string.h>

#include "graph/import.h"

/* The nodes that are made are of this opset, whichever the model is of. */
#define OPSET 13
/* More parts than anybody would split a tensor into by hand. */
#define PARTS_MAX 4096

struct sequence {
    struct vt_import *import;
    const struct vt_scope *scope;
    uint32_t position;
    struct vt_raw_node *raw;
    struct vt_node node; /* as it was read */
    struct vt_node *made;
    uint32_t n_made;
};

static enum vt_status fail(const struct sequence *s, enum vt_status status, const char *text)
{
    (void)vt_import_fail(s->import, status, "node %s (%s, opset %lld): %s",
                         vt_node_label(&s->node, s->position).text, s->node.op,
                         (long long)s->node.opset, text);
    return status;
}

/* Whatever vt_import_calloc has said. */
static enum vt_status no_room(const struct sequence *s)
{
    return s->import->err->status != VT_OK ? s->import->err->status : VT_ERR_MEMORY;
}

static uint32_t input_of(const struct sequence *s, uint32_t i)
{
    return i < s->node.n_inputs ? s->node.inputs[i] : VT_NO_VALUE;
}

/* Input i as a list. */
static enum vt_status list_of(const struct sequence *s, uint32_t i, const struct vt_list **ret)
{
    const uint32_t value = input_of(s, i);
    *ret = value != VT_NO_VALUE ? s->import->origins[value].list : NULL;
    return *ret != NULL ? VT_OK
                        : fail(s, VT_ERR_UNSUPPORTED,
                               "a sequence is supported only where its length is known from the "
                               "model alone");
}

/* The list of a value that this node makes. Room for `n` items. */
static enum vt_status make_list(const struct sequence *s, uint32_t n, struct vt_list **ret)
{
    struct vt_arena *arena = &s->import->scratch;
    struct vt_list *list = vt_import_calloc(s->import, arena, 1, sizeof(*list));
    uint32_t *items = vt_import_calloc(s->import, arena, (size_t)n + 1, sizeof(*items));
    if (list == NULL || items == NULL) {
        return no_room(s);
    }
    list->items = items;
    *ret = list;
    return VT_OK;
}

static void give_list(const struct sequence *s, const struct vt_list *list)
{
    s->import->origins[s->node.outputs[0]].list = list;
}

/* A constant input's numbers; VT_ERR_UNSUPPORTED where it is none. */
static enum vt_status numbers_of(const struct sequence *s, uint32_t i, int64_t *ret, int64_t *ret_n)
{
    const uint32_t value = input_of(s, i);
    const struct vt_tensor *t =
        value != VT_NO_VALUE ? s->import->model->values[value].constant : NULL;
    int64_t n;
    if (t == NULL || (t->dtype != VT_I64 && t->dtype != VT_I32) || t->rank > 1 ||
        !vt_shape_elements(t->dim, t->rank, &n) || n > PARTS_MAX) {
        return fail(s, VT_ERR_UNSUPPORTED, "its position or split is supported as a constant only");
    }
    for (int64_t k = 0; k < n; k++) {
        ret[k] = t->dtype == VT_I64 ? ((const int64_t *)t->data)[k] : ((const int32_t *)t->data)[k];
    }
    *ret_n = n;
    return VT_OK;
}

/* A position within [0, n]; without an input it is `fallback`. Negative ones count from the end. */
static enum vt_status position_of(const struct sequence *s, uint32_t i, uint32_t n, bool at_end,
                                  uint32_t fallback, uint32_t *ret)
{
    int64_t numbers[PARTS_MAX] = {0}, count = 0;
    if (input_of(s, i) == VT_NO_VALUE) {
        *ret = fallback;
        return fallback < n || at_end ? VT_OK : fail(s, VT_ERR_FORMAT, "its sequence is empty");
    }
    enum vt_status status = numbers_of(s, i, numbers, &count);
    if (status != VT_OK) {
        return status;
    }
    const int64_t at = count == 1 && numbers[0] < 0 ? numbers[0] + n : numbers[0];
    if (count != 1 || at < 0 || at > (int64_t)n - (at_end ? 0 : 1)) {
        return fail(s, VT_ERR_FORMAT, "its position is out of range");
    }
    *ret = (uint32_t)at;
    return VT_OK;
}

/* --- lists of lists ---------------------------------------------------------------------- */

static enum vt_status construct(struct sequence *s)
{
    struct vt_list *list = NULL;
    enum vt_status status = make_list(s, s->node.n_inputs, &list);
    for (uint32_t i = 0; status == VT_OK && i < s->node.n_inputs; i++) {
        if (s->node.inputs[i] == VT_NO_VALUE) {
            return fail(s, VT_ERR_FORMAT, "an element is omitted");
        }
        list->items[list->n++] = s->node.inputs[i];
    }
    if (status == VT_OK) {
        give_list(s, list);
    }
    return status;
}

static enum vt_status insert(struct sequence *s)
{
    const struct vt_list *from = NULL;
    struct vt_list *list = NULL;
    uint32_t at = 0;
    enum vt_status status = list_of(s, 0, &from);
    if (status == VT_OK && input_of(s, 1) == VT_NO_VALUE) {
        status = fail(s, VT_ERR_FORMAT, "its tensor is omitted");
    }
    if (status == VT_OK) {
        status = position_of(s, 2, from->n, true, from->n, &at);
    }
    if (status == VT_OK) {
        status = make_list(s, from->n + 1, &list);
    }
    for (uint32_t i = 0; status == VT_OK && i <= from->n; i++) {
        list->items[list->n++] = i == at ? s->node.inputs[1] : from->items[i > at ? i - 1 : i];
    }
    if (status == VT_OK) {
        give_list(s, list);
    }
    return status;
}

static enum vt_status erase(struct sequence *s)
{
    const struct vt_list *from = NULL;
    struct vt_list *list = NULL;
    uint32_t at = 0;
    enum vt_status status = list_of(s, 0, &from);
    if (status == VT_OK) {
        status = position_of(s, 1, from->n, false, from->n - 1, &at);
    }
    if (status == VT_OK) {
        status = make_list(s, from->n, &list);
    }
    for (uint32_t i = 0; status == VT_OK && i < from->n; i++) {
        if (i != at) {
            list->items[list->n++] = from->items[i];
        }
    }
    if (status == VT_OK) {
        give_list(s, list);
    }
    return status;
}

/* --- lists and tensors ------------------------------------------------------------------- */

/* A node of the nodes that take this one's place. */
static enum vt_status make_node(struct sequence *s, const char *op, const uint32_t *inputs,
                                uint32_t n_inputs, const uint32_t *outputs, uint32_t n_outputs,
                                int64_t axis, const char *axis_name)
{
    struct vt_arena *arena = &s->import->model->arena;
    uint32_t *values =
        vt_import_calloc(s->import, arena, (size_t)n_inputs + n_outputs + 1, sizeof(*values));
    struct vt_attr *attr = vt_import_calloc(s->import, arena, 1, sizeof(*attr));
    if (values == NULL || attr == NULL) {
        return no_room(s);
    }
    memcpy(values, inputs, n_inputs * sizeof(*values));
    memcpy(values + n_inputs, outputs, n_outputs * sizeof(*values));
    *attr = (struct vt_attr){.name = axis_name, .type = VT_ATTR_INT, .i = axis};
    s->made[s->n_made++] = (struct vt_node){.name = s->node.name,
                                            .op = op,
                                            .domain = "",
                                            .operator= vt_operator_find("", op),
                                            .opset = OPSET,
                                            .n_inputs = n_inputs,
                                            .n_outputs = n_outputs,
                                            .n_attrs = axis_name != NULL ? 1 : 0,
                                            .inputs = values,
                                            .outputs = values + n_inputs,
                                            .attrs = attr};
    return VT_OK;
}

static enum vt_status add_numbers(const struct sequence *s, uint32_t rank, size_t n,
                                  const int64_t *numbers, uint32_t *ret)
{
    const struct vt_tensor *tensor = NULL;
    enum vt_status status = vt_scope_nameless(s->import, s->scope->number, VT_VALUE_CONSTANT, ret);
    if (status == VT_OK) {
        status = vt_import_numbers(s->import, VT_I64, rank, n, numbers, &tensor);
    }
    if (status == VT_OK) {
        struct vt_value *value = &s->import->model->values[*ret];
        value->constant = tensor;
        value->dtype = VT_I64;
        value->rank = rank;
        memcpy(value->dim, tensor->dim, sizeof(value->dim));
    }
    return status;
}

static enum vt_status take_element(struct sequence *s)
{
    const struct vt_list *from = NULL;
    uint32_t at = 0;
    enum vt_status status = list_of(s, 0, &from);
    if (status == VT_OK) {
        status = position_of(s, 1, from->n, false, 0, &at);
    }
    return status == VT_OK
               ? make_node(s, "Identity", &from->items[at], 1, s->node.outputs, 1, 0, NULL)
               : status;
}

static enum vt_status take_length(struct sequence *s)
{
    const struct vt_list *from = NULL;
    const struct vt_tensor *tensor = NULL;
    enum vt_status status = list_of(s, 0, &from);
    if (status != VT_OK) {
        return status;
    }
    const int64_t n = from->n;
    status = vt_import_numbers(s->import, VT_I64, 0, 1, &n, &tensor);
    if (status == VT_OK) {
        struct vt_value *value = &s->import->model->values[s->node.outputs[0]];
        value->kind = VT_VALUE_CONSTANT;
        value->constant = tensor;
        value->dtype = VT_I64;
        value->rank = 0;
    }
    return status;
}

/* Concat of all items; with new_axis each gets that axis first. */
static enum vt_status join(struct sequence *s)
{
    const struct vt_list *from = NULL;
    const int64_t axis = vt_node_int(&s->node, "axis", 0);
    const bool stacks = vt_node_int(&s->node, "new_axis", 0) != 0;
    uint32_t axes = VT_NO_VALUE, *items = NULL;
    enum vt_status status = list_of(s, 0, &from);
    if (status == VT_OK && from->n == 0) {
        status = fail(s, VT_ERR_FORMAT, "its sequence is empty");
    }
    if (status == VT_OK) {
        items = vt_import_calloc(s->import, &s->import->scratch, from->n, sizeof(*items));
        status = items != NULL ? VT_OK : no_room(s);
    }
    if (status == VT_OK && stacks) {
        status = add_numbers(s, 1, 1, &axis, &axes);
    }
    for (uint32_t i = 0; status == VT_OK && i < from->n; i++) {
        items[i] = from->items[i];
        if (stacks) {
            status = vt_scope_nameless(s->import, s->scope->number, VT_VALUE_NODE, &items[i]);
            const uint32_t inputs[2] = {from->items[i], axes};
            if (status == VT_OK) {
                status = make_node(s, "Unsqueeze", inputs, 2, &items[i], 1, 0, NULL);
            }
        }
    }
    return status == VT_OK
               ? make_node(s, "Concat", items, from->n, s->node.outputs, 1, axis, "axis")
               : status;
}

/* Extents of the parts: as listed, or as many of one size as the input's declared extent has. */
static enum vt_status parts_of(struct sequence *s, int64_t axis, int64_t *parts, uint32_t *ret_n)
{
    const struct vt_value *x = &s->import->model->values[s->node.inputs[0]];
    const uint32_t split = input_of(s, 1);
    int64_t n = 0, size = 1;
    if (split != VT_NO_VALUE) {
        enum vt_status status = numbers_of(s, 1, parts, &n);
        if (status != VT_OK) {
            return status;
        }
        if (s->import->model->values[split].constant->rank == 1) {
            *ret_n = (uint32_t)n;
            return VT_OK;
        }
        size = n == 1 ? parts[0] : 0;
    }
    const int64_t at = x->rank != VT_RANK_UNKNOWN && axis < 0 ? axis + x->rank : axis;
    const int64_t extent = x->rank != VT_RANK_UNKNOWN && at >= 0 && at < x->rank ? x->dim[at] : -1;
    if (size < 1 || extent < 0 || extent / size >= PARTS_MAX) {
        return fail(s, VT_ERR_UNSUPPORTED,
                    "the parts of a tensor are supported where the model declares its extent");
    }
    *ret_n = 0;
    for (int64_t left = extent; left > 0; left -= size) {
        parts[(*ret_n)++] = left < size ? left : size;
    }
    return VT_OK;
}

static enum vt_status split(struct sequence *s)
{
    const int64_t axis = vt_node_int(&s->node, "axis", 0);
    const bool squeezes =
        input_of(s, 1) == VT_NO_VALUE && vt_node_int(&s->node, "keepdims", 1) == 0;
    int64_t parts[PARTS_MAX] = {0};
    uint32_t n = 0, sizes = 0, axes = 0;
    struct vt_list *list = NULL, *split_list = NULL;
    enum vt_status status = parts_of(s, axis, parts, &n);
    if (status == VT_OK && n == 0) {
        status = fail(s, VT_ERR_UNSUPPORTED, "there is nothing to split");
    }
    if (status == VT_OK) {
        status = make_list(s, n, &list);
    }
    if (status == VT_OK) {
        status = make_list(s, n, &split_list);
    }
    if (status == VT_OK) {
        s->made =
            vt_import_calloc(s->import, &s->import->model->arena, (size_t)n + 1, sizeof(*s->made));
        status = s->made != NULL ? add_numbers(s, 1, n, parts, &sizes) : no_room(s);
    }
    if (status == VT_OK && squeezes) {
        status = add_numbers(s, 1, 1, &axis, &axes);
    }
    for (uint32_t i = 0; status == VT_OK && i < n; i++) {
        uint32_t *part = &split_list->items[i];
        status = vt_scope_nameless(s->import, s->scope->number, VT_VALUE_NODE, part);
        list->items[i] = *part;
        if (status == VT_OK && squeezes) {
            status = vt_scope_nameless(s->import, s->scope->number, VT_VALUE_NODE, &list->items[i]);
        }
        if (status == VT_OK) {
            /* Who takes an element needs this node. */
            s->import->origins[list->items[i]].producer = s->position;
        }
    }
    if (status == VT_OK) {
        const uint32_t inputs[2] = {s->node.inputs[0], sizes};
        status = make_node(s, "Split", inputs, 2, split_list->items, n, axis, "axis");
    }
    for (uint32_t i = 0; status == VT_OK && squeezes && i < n; i++) {
        const uint32_t inputs[2] = {split_list->items[i], axes};
        status = make_node(s, "Squeeze", inputs, 2, &list->items[i], 1, 0, NULL);
    }
    if (status == VT_OK) {
        list->n = n;
        give_list(s, list);
    }
    return status;
}

static const struct {
    const char *op;
    enum vt_status (*function)(struct sequence *s);
} operators[] = {
    {"SequenceConstruct", construct}, {"SequenceEmpty", construct}, {"SequenceInsert", insert},
    {"SequenceErase", erase},         {"SequenceAt", take_element}, {"SequenceLength", take_length},
    {"ConcatFromSequence", join},     {"SplitToSequence", split},
};

bool vt_import_is_sequence(const char *op)
{
    for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
        if (strcmp(operators[i].op, op) == 0) {
            return true;
        }
    }
    return false;
}

enum vt_status vt_import_sequence(struct vt_import *import, const struct vt_scope *scope,
                                  uint32_t position, struct vt_raw_node *raw)
{
    struct sequence s = {
        .import = import, .scope = scope, .position = position, .raw = raw, .node = raw->node};
    const uint32_t first = input_of(&s, 0);
    const struct vt_list *list = first != VT_NO_VALUE ? import->origins[first].list : NULL;
    enum vt_status status = VT_OK;

    if (s.node.outputs[0] == VT_NO_VALUE) {
        return fail(&s, VT_ERR_FORMAT, "its output is omitted");
    }
    s.made = vt_import_calloc(import, &import->model->arena,
                              2 * (size_t)(list != NULL ? list->n : 0) + 2, sizeof(*s.made));
    if (s.made == NULL) {
        return import->err->status;
    }
    for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
        if (strcmp(operators[i].op, s.node.op) == 0) {
            status = operators[i].function(&s);
        }
    }
    if (status != VT_OK) {
        return status;
    }
    raw->is_constant = s.n_made == 0;
    if (s.n_made > 0) {
        raw->before = s.made;
        raw->n_before = s.n_made - 1;
        raw->node = s.made[s.n_made - 1];
    }
    return VT_OK;
}
