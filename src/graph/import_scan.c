/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scan becomes a Loop. Each turn gathers its slice of every scanned input; what a turn gives is
 * stacked by the Loop, and turned round or given another axis behind it:
 *
 *   trips = Shape(x)[axis]
 *   Loop(trips, , states…) { slice = Gather(x, turn); body }
 *   Slice and Transpose of the stacked outputs, where directions and axes ask for it
 */
#include <string.h>

#include "graph/import.h"

/* The nodes around the Loop are of this opset, whichever the model is of. */
#define OPSET 13

struct scan {
    struct vt_import *import;
    const struct vt_scope *scope;
    uint32_t position;
    struct vt_raw_node *raw;
    const struct vt_node *node;
    const struct vt_graph *body;
    uint32_t body_scope;
    uint32_t n_states, n_scanned, n_stacked;
    const int64_t *in_axes, *in_directions, *out_axes, *out_directions; /* NULL: all 0 */
    struct vt_node *before, *inside, *after;
    uint32_t n_before, n_inside, n_after;
    uint32_t trips, last; /* values: turns, and turns - 1 */
};

static enum vt_status fail(const struct scan *s, enum vt_status status, const char *text)
{
    return vt_import_fail(s->import, status, "node %s (Scan, opset %lld): %s",
                          vt_node_label(s->node, s->position).text, (long long)s->node->opset,
                          text);
}

static enum vt_status add_value(const struct scan *s, uint32_t scope, enum vt_value_kind kind,
                                enum vt_dtype dtype, uint32_t rank, uint32_t *ret)
{
    enum vt_status status = vt_scope_nameless(s->import, scope, kind, ret);
    if (status == VT_OK) {
        s->import->model->values[*ret].dtype = dtype;
        s->import->model->values[*ret].rank = rank;
    }
    return status;
}

static enum vt_status add_constant(const struct scan *s, uint32_t rank, int64_t number,
                                   uint32_t *ret)
{
    const struct vt_tensor *tensor = NULL;
    enum vt_status status = add_value(s, s->scope->number, VT_VALUE_CONSTANT, VT_I64, rank, ret);
    if (status == VT_OK) {
        status = vt_import_numbers(s->import, VT_I64, rank, 1, &number, &tensor);
    }
    if (status == VT_OK) {
        s->import->model->values[*ret].constant = tensor;
        memcpy(s->import->model->values[*ret].dim, tensor->dim, sizeof(tensor->dim));
    }
    return status;
}

/* A node with these inputs and one output. */
static enum vt_status fill_node(const struct scan *s, struct vt_node *to, const char *op,
                                const uint32_t *inputs, uint32_t n_inputs, uint32_t output)
{
    struct vt_arena *arena = &s->import->model->arena;
    uint32_t *values = vt_import_calloc(s->import, arena, (size_t)n_inputs + 1, sizeof(*values));
    if (values == NULL) {
        return s->import->err->status;
    }
    memcpy(values, inputs, n_inputs * sizeof(*values));
    values[n_inputs] = output;
    *to = (struct vt_node){.name = s->node->name,
                           .op = op,
                           .domain = "",
                           .operator= vt_operator_find("", op),
                           .opset = OPSET,
                           .n_inputs = n_inputs,
                           .n_outputs = 1,
                           .inputs = values,
                           .outputs = values + n_inputs};
    return VT_OK;
}

static enum vt_status give_attr(const struct scan *s, struct vt_node *node,
                                const struct vt_attr *attr)
{
    struct vt_attr *copy = vt_import_calloc(s->import, &s->import->model->arena, 1, sizeof(*copy));
    if (copy == NULL) {
        return s->import->err->status;
    }
    *copy = *attr;
    node->attrs = copy;
    node->n_attrs = 1;
    return VT_OK;
}

/* trips = Shape(x)[axis], last = trips - 1 */
static enum vt_status count_turns(struct scan *s)
{
    const uint32_t x = s->node->inputs[s->n_states], scope = s->scope->number;
    uint32_t shape, axis = 0, one = 0;
    enum vt_status status = add_value(s, scope, VT_VALUE_NODE, VT_I64, 1, &shape);
    if (status == VT_OK) {
        status = add_value(s, scope, VT_VALUE_NODE, VT_I64, 0, &s->trips);
    }
    if (status == VT_OK) {
        status = add_value(s, scope, VT_VALUE_NODE, VT_I64, 0, &s->last);
    }
    if (status == VT_OK) {
        status = add_constant(s, 0, s->in_axes != NULL ? s->in_axes[0] : 0, &axis);
    }
    if (status == VT_OK) {
        status = add_constant(s, 0, 1, &one);
    }
    if (status != VT_OK) {
        return status;
    }
    const uint32_t gathered[2] = {shape, axis}, less[2] = {s->trips, one};
    status = fill_node(s, &s->before[0], "Shape", &x, 1, shape);
    if (status == VT_OK) {
        status = fill_node(s, &s->before[1], "Gather", gathered, 2, s->trips);
    }
    if (status == VT_OK) {
        status = fill_node(s, &s->before[2], "Sub", less, 2, s->last);
    }
    s->n_before = 3;
    return status;
}

/* slice = Gather(x, turn) at the start of the body, counted from the end where it runs backwards */
static enum vt_status take_slice(struct scan *s, uint32_t i, uint32_t turn)
{
    const uint32_t slice = s->body->inputs[s->n_states + i];
    const struct vt_attr axis = {
        .name = "axis", .type = VT_ATTR_INT, .i = s->in_axes != NULL ? s->in_axes[i] : 0};
    enum vt_status status = VT_OK;
    if (s->in_directions != NULL && s->in_directions[i] != 0) {
        uint32_t mirrored;
        status = add_value(s, s->body_scope, VT_VALUE_NODE, VT_I64, 0, &mirrored);
        if (status == VT_OK) {
            const uint32_t inputs[2] = {s->last, turn};
            status = fill_node(s, &s->inside[s->n_inside++], "Sub", inputs, 2, mirrored);
            turn = mirrored;
        }
    }
    if (status != VT_OK) {
        return status;
    }
    const uint32_t inputs[2] = {s->node->inputs[s->n_states + i], turn};
    struct vt_node *gather = &s->inside[s->n_inside++];
    s->import->model->values[slice].kind = VT_VALUE_NODE;
    status = fill_node(s, gather, "Gather", inputs, 2, slice);
    return status == VT_OK ? give_attr(s, gather, &axis) : status;
}

/* Brings axis 0 of stacked output i to where it belongs. */
static enum vt_status move_axis(struct scan *s, uint32_t i, uint32_t from, uint32_t to)
{
    const struct vt_value *slice = &s->import->model->values[s->body->outputs[s->n_states + i]];
    int64_t *perm =
        vt_import_calloc(s->import, &s->import->model->arena, VT_RANK_MAX, sizeof(*perm));
    if (perm == NULL) {
        return s->import->err->status;
    }
    if (slice->rank == VT_RANK_UNKNOWN || slice->rank >= VT_RANK_MAX) {
        return fail(s, VT_ERR_UNSUPPORTED,
                    "scan_output_axes needs the body's outputs to declare their dimensions");
    }
    const int64_t rank = (int64_t)slice->rank + 1;
    const int64_t axis = s->out_axes[i] < 0 ? s->out_axes[i] + rank : s->out_axes[i];
    if (axis < 0 || axis >= rank) {
        return fail(s, VT_ERR_FORMAT, "a number of scan_output_axes is out of range");
    }
    for (int64_t d = 0; d < rank; d++) {
        perm[d] = d == axis ? 0 : (d < axis ? d + 1 : d);
    }
    const struct vt_attr attr = {
        .name = "perm", .type = VT_ATTR_INTS, .n = (size_t)rank, .ints = perm};
    struct vt_node *node = &s->after[s->n_after++];
    enum vt_status status = fill_node(s, node, "Transpose", &from, 1, to);
    return status == VT_OK ? give_attr(s, node, &attr) : status;
}

static enum vt_status turn_round(struct scan *s, uint32_t from, uint32_t to)
{
    uint32_t inputs[5] = {from};
    static const int64_t numbers[4] = {-1, INT64_MIN, 0, -1}; /* start, end, axis, step */
    for (uint32_t i = 0; i < 4; i++) {
        enum vt_status status = add_constant(s, 1, numbers[i], &inputs[1 + i]);
        if (status != VT_OK) {
            return status;
        }
    }
    return fill_node(s, &s->after[s->n_after++], "Slice", inputs, 5, to);
}

/* What stands behind the Loop for stacked output i; gives the value that the Loop makes. */
static enum vt_status finish_output(struct scan *s, uint32_t i, uint32_t *ret)
{
    const uint32_t output = s->node->outputs[s->n_states + i], scope = s->scope->number;
    const bool moved = s->out_axes != NULL && s->out_axes[i] != 0;
    const bool turned = s->out_directions != NULL && s->out_directions[i] != 0;
    uint32_t stacked = output, upright = output;
    enum vt_status status = VT_OK;
    *ret = output;
    if (output == VT_NO_VALUE || (!moved && !turned)) {
        return VT_OK;
    }
    if (moved) {
        status = add_value(s, scope, VT_VALUE_NODE, VT_UNDEFINED, VT_RANK_UNKNOWN, &upright);
        stacked = upright;
    }
    if (status == VT_OK && turned) {
        status = add_value(s, scope, VT_VALUE_NODE, VT_UNDEFINED, VT_RANK_UNKNOWN, &stacked);
        if (status == VT_OK) {
            status = turn_round(s, stacked, upright);
        }
    }
    if (status == VT_OK && moved) {
        status = move_axis(s, i, upright, output);
    }
    *ret = stacked;
    return status;
}

/* (turn, condition, states…) -> (condition, states…, stacked…) with the slices taken first. */
static enum vt_status make_body(struct scan *s, struct vt_graph *body)
{
    struct vt_arena *arena = &s->import->model->arena;
    const uint32_t n_outputs = s->body->n_outputs;
    uint32_t *inputs = vt_import_calloc(s->import, arena, (size_t)s->n_states + 2, sizeof(*inputs));
    uint32_t *outputs = vt_import_calloc(s->import, arena, (size_t)n_outputs + 1, sizeof(*outputs));
    s->inside = vt_import_calloc(
        s->import, arena, (size_t)s->body->n_nodes + 2 * (size_t)s->n_scanned, sizeof(*s->inside));
    if (inputs == NULL || outputs == NULL || s->inside == NULL) {
        return s->import->err->status;
    }
    enum vt_status status = add_value(s, s->body_scope, VT_VALUE_INPUT, VT_I64, 0, &inputs[0]);
    if (status == VT_OK) {
        status = add_value(s, s->body_scope, VT_VALUE_INPUT, VT_BOOL, 0, &inputs[1]);
    }
    for (uint32_t i = 0; i < s->n_scanned && status == VT_OK; i++) {
        status = take_slice(s, i, inputs[0]);
    }
    if (status != VT_OK) {
        return status;
    }
    memcpy(inputs + 2, s->body->inputs, s->n_states * sizeof(*inputs));
    outputs[0] = inputs[1];
    memcpy(outputs + 1, s->body->outputs, n_outputs * sizeof(*outputs));
    memcpy(s->inside + s->n_inside, s->body->nodes, s->body->n_nodes * sizeof(*s->inside));
    *body = *s->body;
    body->nodes = s->inside;
    body->n_nodes = s->n_inside + s->body->n_nodes;
    body->inputs = inputs;
    body->n_inputs = s->n_states + 2;
    body->outputs = outputs;
    body->n_outputs = n_outputs + 1;
    return VT_OK;
}

static enum vt_status make_loop(struct scan *s)
{
    struct vt_arena *arena = &s->import->model->arena;
    const uint32_t n_outputs = s->node->n_outputs;
    uint32_t *inputs = vt_import_calloc(s->import, arena, (size_t)s->n_states + 2, sizeof(*inputs));
    uint32_t *outputs = vt_import_calloc(s->import, arena, n_outputs, sizeof(*outputs));
    struct vt_graph *body = vt_import_calloc(s->import, arena, 1, sizeof(*body));
    if (inputs == NULL || outputs == NULL || body == NULL) {
        return s->import->err->status;
    }
    enum vt_status status = make_body(s, body);
    for (uint32_t i = 0; i < s->n_stacked && status == VT_OK; i++) {
        status = finish_output(s, i, &outputs[s->n_states + i]);
    }
    if (status != VT_OK) {
        return status;
    }
    inputs[0] = s->trips;
    inputs[1] = VT_NO_VALUE;
    memcpy(inputs + 2, s->node->inputs, s->n_states * sizeof(*inputs));
    memcpy(outputs, s->node->outputs, s->n_states * sizeof(*outputs));
    struct vt_node loop = *s->node;
    const struct vt_attr attr = {.name = "body", .type = VT_ATTR_GRAPH, .graph = body};
    loop.op = "Loop";
    loop.operator= vt_operator_find("", "Loop");
    loop.n_inputs = s->n_states + 2;
    loop.inputs = inputs;
    loop.outputs = outputs;
    status = give_attr(s, &loop, &attr);
    if (status == VT_OK) {
        s->raw->node = loop;
        s->raw->before = s->before;
        s->raw->n_before = s->n_before;
        s->raw->after = s->after;
        s->raw->n_after = s->n_after;
    }
    return status;
}

/* A list attribute of `n` numbers, or NULL. */
static enum vt_status read_list(const struct scan *s, const char *name, uint32_t n, bool flags,
                                const int64_t **ret)
{
    size_t given = 0;
    *ret = vt_node_ints(s->node, name, &given);
    for (size_t i = 0; *ret != NULL && flags && i < given; i++) {
        if ((*ret)[i] != 0 && (*ret)[i] != 1) {
            return fail(s, VT_ERR_FORMAT, "a direction must be 0 or 1");
        }
    }
    return *ret == NULL || given == n
               ? VT_OK
               : fail(s, VT_ERR_FORMAT,
                      "its lists of axes and directions need a number for each scanned input or "
                      "stacked output");
}

static enum vt_status read_scan(struct scan *s)
{
    const struct vt_node *node = s->node;
    const int64_t scanned = vt_node_int(node, "num_scan_inputs", 0);
    const struct vt_attr *attr = vt_node_attr(node, "body");
    if (attr == NULL || scanned < 1 || scanned > node->n_inputs) {
        return fail(s, VT_ERR_FORMAT, "its body or num_scan_inputs is missing or wrong");
    }
    s->body = attr->graph;
    s->n_scanned = (uint32_t)scanned;
    s->n_states = node->n_inputs - s->n_scanned;
    if (s->body->n_inputs != node->n_inputs || s->body->n_outputs != node->n_outputs ||
        node->n_outputs < s->n_states) {
        return fail(s, VT_ERR_FORMAT,
                    "its body must have as many inputs and outputs as the node, which must give "
                    "every state back");
    }
    s->n_stacked = node->n_outputs - s->n_states;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        if (node->inputs[i] == VT_NO_VALUE) {
            return fail(s, VT_ERR_FORMAT, "an input is omitted");
        }
    }
    s->body_scope = s->import->origins[s->body->inputs[0]].scope;
    enum vt_status status = read_list(s, "scan_input_axes", s->n_scanned, false, &s->in_axes);
    if (status == VT_OK) {
        status = read_list(s, "scan_input_directions", s->n_scanned, true, &s->in_directions);
    }
    if (status == VT_OK) {
        status = read_list(s, "scan_output_axes", s->n_stacked, false, &s->out_axes);
    }
    if (status == VT_OK) {
        status = read_list(s, "scan_output_directions", s->n_stacked, true, &s->out_directions);
    }
    return status;
}

enum vt_status vt_import_scan(struct vt_import *import, const struct vt_scope *scope,
                              uint32_t position, struct vt_raw_node *raw)
{
    const struct vt_node node = raw->node;
    struct vt_arena *arena = &import->model->arena;
    struct scan s = {
        .import = import, .scope = scope, .position = position, .raw = raw, .node = &node};

    enum vt_status status = read_scan(&s);
    if (status != VT_OK) {
        return status;
    }
    s.before = vt_import_calloc(import, arena, 3, sizeof(*s.before));
    s.after = vt_import_calloc(import, arena, 2 * (size_t)s.n_stacked, sizeof(*s.after));
    if (s.before == NULL || s.after == NULL) {
        return import->err->status;
    }
    status = count_turns(&s);
    return status == VT_OK ? make_loop(&s) : status;
}
