/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes as they are written. A scale a channel exists from opset 13 on, so older models are raised
 * to it: what was an attribute then and is an input now becomes a constant, and operators that have
 * gone are said by those that took their place.
 */
#include <math.h>
#include <string.h>

#include "base/quote.h"
#include "quantize/internal.h"

/* Attributes that have become inputs: list and place. */
struct moved {
    const char *op;
    int64_t opset; /* the first with the input */
    const char *attr;
    uint32_t input;
};
static const struct moved moved[] = {
    {"Squeeze", 13, "axes", 1},   {"Unsqueeze", 13, "axes", 1}, {"ReduceSum", 13, "axes", 1},
    {"Split", 13, "split", 1},    {"Slice", 10, "starts", 1},   {"Slice", 10, "ends", 2},
    {"Slice", 10, "axes", 3},     {"Clip", 11, "min", 1},       {"Clip", 11, "max", 2},
    {"Pad", 11, "pads", 1},       {"Pad", 11, "value", 2},      {"TopK", 10, "k", 1},
    {"Upsample", 9, "scales", 2}, {"Dropout", 12, "ratio", 1},
};
#define N_MOVED (sizeof(moved) / sizeof(moved[0]))

static const struct moved *moved_attr(const struct vt_node *node, const char *attr)
{
    for (size_t i = 0; i < N_MOVED; i++) {
        if (vt_q_is(node, moved[i].op) && node->opset < moved[i].opset &&
            strcmp(moved[i].attr, attr) == 0) {
            return &moved[i];
        }
    }
    return NULL;
}

static bool is_softmax(const struct vt_node *node)
{
    return vt_q_is(node, "Softmax") || vt_q_is(node, "LogSoftmax") || vt_q_is(node, "Hardmax");
}

static enum vt_status refuse(const struct vt_node *node, struct vt_error *err, const char *why)
{
    return vt_error_set(err, VT_ERR_UNSUPPORTED, "node '%s' (%.40s): %s", vt_plain(node->name).text,
                        node->op, why);
}

/* Before opset 13 a softmax ran over all axes from the stated one on. */
static bool is_last_axis(const struct vt_quantizer *q, const struct vt_node *node)
{
    const int64_t axis = vt_node_int(node, "axis", 1);
    const uint32_t rank = vt_q_declared(q, node->inputs[0])->rank;
    return axis == -1 || (rank != VT_RANK_UNKNOWN && axis == (int64_t)rank - 1) ||
           (rank == VT_RANK_UNKNOWN && vt_q_declared(q, node->outputs[0])->rank == axis + 1);
}

enum vt_status vt_q_can_write(const struct vt_quantizer *q, const struct vt_node *node,
                              struct vt_error *err)
{
    if (node->domain[0] != '\0') {
        return refuse(node, err, "operators of other domains than ONNX's cannot be written");
    }
    for (uint32_t i = 0; i < node->n_attrs; i++) {
        if (node->attrs[i].type == VT_ATTR_GRAPH) {
            return refuse(node, err, "models with If, Loop or Scan cannot be quantised");
        }
    }
    if (node->opset < 7) {
        return refuse(node, err, "opsets before 7 cannot be quantised; convert the model");
    }
    if (node->opset < 13 && is_softmax(node) && !is_last_axis(q, node)) {
        return refuse(node, err,
                      "before opset 13 it ran over several axes; convert the model to opset 13");
    }
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        const struct vt_tensor *t =
            node->inputs[i] != VT_NO_VALUE ? vt_q_declared(q, node->inputs[i])->constant : NULL;
        if (t != NULL && (t->dtype == VT_STRING || vt_dtype_bytes(t->dtype) == 0)) {
            return refuse(node, err, "constants of texts cannot be written");
        }
    }
    return VT_OK;
}

/* --- attributes ----------------------------------------------------------------------------- */

static void write_attr(struct vt_model_writer *writer, const struct vt_attr *attr)
{
    switch (attr->type) {
    case VT_ATTR_INT:
        vt_write_attr_int(writer, attr->name, attr->i);
        return;
    case VT_ATTR_FLOAT:
        vt_write_attr_float(writer, attr->name, attr->f);
        return;
    case VT_ATTR_STRING:
        vt_write_attr_text(writer, attr->name, attr->s);
        return;
    case VT_ATTR_INTS:
        vt_write_attr_ints(writer, attr->name, attr->ints, attr->n);
        return;
    case VT_ATTR_FLOATS:
        vt_write_attr_floats(writer, attr->name, attr->floats, attr->n);
        return;
    case VT_ATTR_STRINGS:
        vt_write_attr_texts(writer, attr->name, attr->strings, attr->n);
        return;
    case VT_ATTR_TENSOR:
        vt_write_attr_tensor(writer, attr->name, attr->tensor);
        return;
    case VT_ATTR_GRAPH:
        return; /* refused before */
    }
}

/* Attributes that say nothing any more. */
static bool is_gone(const struct vt_node *node, const char *attr)
{
    return (vt_q_is(node, "BatchNormalization") && node->opset < 9 &&
            strcmp(attr, "spatial") == 0) ||
           (vt_q_is(node, "Gemm") && strcmp(attr, "broadcast") == 0);
}

static void write_attrs(struct vt_model_writer *writer, const struct vt_node *node)
{
    bool axis = false;
    for (uint32_t i = 0; i < node->n_attrs; i++) {
        if (moved_attr(node, node->attrs[i].name) == NULL && !is_gone(node, node->attrs[i].name)) {
            write_attr(writer, &node->attrs[i]);
        }
        axis = axis || strcmp(node->attrs[i].name, "axis") == 0;
    }
    if (is_softmax(node) && node->opset < 13 && !axis) {
        vt_write_attr_int(writer, "axis", 1);
    }
    if ((vt_q_is(node, "Resize") && node->opset < 11) || vt_q_is(node, "Upsample")) {
        vt_write_attr_text(writer, "coordinate_transformation_mode", "asymmetric");
        vt_write_attr_text(writer, "nearest_mode", "floor");
    }
}

/* --- inputs --------------------------------------------------------------------------------- */

/* The attribute as a constant. Its name; "" where the node does not have it. */
static const char *write_moved(struct vt_quantizer *q, struct vt_model_writer *writer,
                               const struct vt_node *node, const struct moved *m)
{
    const struct vt_attr *attr = vt_node_attr(node, m->attr);
    struct vt_tensor t = {.dtype = VT_I64, .rank = 1};
    if (attr == NULL) {
        return "";
    }
    t.dim[0] = (int64_t)attr->n;
    if (attr->type == VT_ATTR_INTS) {
        t.data = (void *)(uintptr_t)attr->ints;
    } else if (attr->type == VT_ATTR_INT) {
        t.dim[0] = 1;
        t.data = (void *)(uintptr_t)&attr->i;
    } else {
        t.dtype = VT_F32;
        t.rank = attr->type == VT_ATTR_FLOAT ? 0 : 1;
        t.data = attr->type == VT_ATTR_FLOAT ? (void *)(uintptr_t)&attr->f
                                             : (void *)(uintptr_t)attr->floats;
    }
    t.bytes = (size_t)(t.rank == 0 ? 1 : t.dim[0]) * vt_dtype_bytes(t.dtype);
    char *name = vt_q_text(q, "%s.%s%s", q->values[node->outputs[0]].name, m->attr, q->suffix);
    if (name != NULL) {
        vt_write_constant(writer, name, &t);
    }
    return name;
}

/* Where an input stands now that stood at `i` of an old Resize or Upsample: (x, scales). */
static uint32_t place_of(const struct vt_node *node, uint32_t i)
{
    const bool old = (vt_q_is(node, "Resize") && node->opset < 11) || vt_q_is(node, "Upsample");
    return old && i == 1 ? 2 : i;
}

#define INPUTS_MOST 4

enum vt_status vt_q_write_node(struct vt_quantizer *q, struct vt_model_writer *writer,
                               const struct vt_node *node, const struct vt_q_naming *naming,
                               struct vt_error *err)
{
    const char *op = vt_q_is(node, "Upsample")  ? "Resize"
                     : vt_q_is(node, "Scatter") ? "ScatterElements"
                                                : node->op;
    const char *extra[INPUTS_MOST] = {NULL};
    uint32_t n = 0;
    for (size_t i = 0; i < N_MOVED; i++) {
        if (vt_q_is(node, moved[i].op) && node->opset < moved[i].opset) {
            extra[moved[i].input] = write_moved(q, writer, node, &moved[i]);
            if (extra[moved[i].input] == NULL) {
                return vt_error_set(err, VT_ERR_MEMORY, "out of memory while quantising the model");
            }
        }
    }
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        n = place_of(node, i) + 1 > n ? place_of(node, i) + 1 : n;
    }
    for (uint32_t i = 0; i < INPUTS_MOST; i++) {
        n = extra[i] != NULL && extra[i][0] != '\0' && i + 1 > n ? i + 1 : n;
    }
    vt_write_node_begin(writer, op, node->name);
    for (uint32_t place = 0; place < n; place++) {
        const char *name = place < INPUTS_MOST && extra[place] != NULL ? extra[place] : "";
        for (uint32_t i = 0; i < node->n_inputs; i++) {
            if (place_of(node, i) == place) {
                name = naming->input(naming->ctx, node, i);
            }
        }
        vt_write_node_input(writer, name);
    }
    for (uint32_t i = 0; i < node->n_outputs; i++) {
        vt_write_node_output(
            writer, node->outputs[i] != VT_NO_VALUE ? q->values[node->outputs[i]].name : "");
    }
    write_attrs(writer, node);
    vt_write_node_end(writer);
    return VT_OK;
}
