/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/quote.h"
#include "base/version.h"
#include "quantize/internal.h"

struct emission {
    struct vt_quantizer *q;
    struct vt_model_writer *writer;
    const struct vt_quantize_choice *choice;
    bool *written;      /* by value: the constant is in the file */
    char **scale_names; /* by group */
    char **zero_names;
    char **dequantised;          /* by value */
    struct vt_q_layer_names own; /* of the layer that is being written */
    bool is_layer;
    bool failed;
};

static enum vt_status out_of_memory(struct vt_error *err)
{
    return vt_error_set(err, VT_ERR_MEMORY, "out of memory while quantising the model");
}

/* A piece of a constant of the model: no copy is kept. */
static void copy_piece(const void *ctx, uint64_t first, size_t n, void *ret)
{
    const struct vt_tensor *t = ctx;
    const size_t bytes = vt_dtype_bytes(t->dtype);
    memcpy(ret, (const char *)t->data + first * bytes, n * bytes);
}

static void need_constant(struct emission *e, uint32_t value)
{
    const struct vt_tensor *t = vt_q_declared(e->q, value)->constant;
    if (t != NULL && !e->written[value]) {
        e->written[value] = true;
        vt_write_weight(e->writer, e->q->values[value].name, t->dtype, t->rank, t->dim, copy_piece,
                        t);
    }
}

/* --- scales --------------------------------------------------------------------------------- */

static void scale_of(struct emission *e, uint32_t value, float *ret_scale, int32_t *ret_zero)
{
    vt_range_scale(e->q->values[vt_q_group(e->q, value)].range, e->choice->is_signed, ret_scale,
                   ret_zero);
}

/* The constants of the value's group, written once. */
static void need_scale(struct emission *e, uint32_t value)
{
    const uint32_t group = vt_q_group(e->q, value);
    const char *base = e->q->values[group].name;
    float scale;
    int32_t zero;
    if (e->scale_names[group] != NULL) {
        return;
    }
    e->scale_names[group] = vt_q_text(e->q, "%s.scale%s", base, e->q->suffix);
    e->zero_names[group] = vt_q_text(e->q, "%s.zero%s", base, e->q->suffix);
    if (e->scale_names[group] == NULL || e->zero_names[group] == NULL) {
        e->failed = true;
        return;
    }
    scale_of(e, value, &scale, &zero);
    const int8_t negative = (int8_t)(e->choice->is_signed ? zero : 0);
    const uint8_t positive = (uint8_t)(e->choice->is_signed ? 0 : zero);
    struct vt_tensor t = {.dtype = VT_F32, .bytes = sizeof(scale), .data = &scale};
    vt_write_constant(e->writer, e->scale_names[group], &t);
    t.dtype = e->choice->is_signed ? VT_I8 : VT_U8;
    t.bytes = 1;
    t.data = e->choice->is_signed ? (void *)(uintptr_t)&negative : (void *)(uintptr_t)&positive;
    vt_write_constant(e->writer, e->zero_names[group], &t);
}

static void write_conversion(struct emission *e, const char *op, const char *from, const char *to,
                             uint32_t group)
{
    vt_write_node_begin(e->writer, op, to);
    vt_write_node_input(e->writer, from);
    vt_write_node_input(e->writer, e->scale_names[group]);
    vt_write_node_input(e->writer, e->zero_names[group]);
    vt_write_node_output(e->writer, to);
    vt_write_node_end(e->writer);
}

/* The value exists from here on: so do its quantised form and what that stands for. */
static void value_made(struct emission *e, uint32_t value)
{
    const uint32_t group = vt_q_group(e->q, value);
    const char *name = e->q->values[value].name;
    if (!e->q->values[value].quantised) {
        return;
    }
    need_scale(e, value);
    const char *quantised = vt_q_text(e->q, "%s.quantized%s", name, e->q->suffix);
    e->dequantised[value] = vt_q_text(e->q, "%s.dequantized%s", name, e->q->suffix);
    if (e->failed || quantised == NULL || e->dequantised[value] == NULL) {
        e->failed = true;
        return;
    }
    write_conversion(e, "QuantizeLinear", name, quantised, group);
    write_conversion(e, "DequantizeLinear", quantised, e->dequantised[value], group);
}

/* --- nodes ---------------------------------------------------------------------------------- */

static const char *input_name(void *ctx, const struct vt_node *node, uint32_t input)
{
    struct emission *e = ctx;
    if (e->is_layer && input == 1) {
        return e->own.weights;
    }
    if (e->is_layer && input == 2 && e->own.bias != NULL) {
        return e->own.bias;
    }
    if (input >= node->n_inputs || node->inputs[input] == VT_NO_VALUE) {
        return "";
    }
    const uint32_t value = node->inputs[input];
    need_constant(e, value);
    return e->dequantised[value] != NULL ? e->dequantised[value] : e->q->values[value].name;
}

static enum vt_status write_layer(struct emission *e, uint32_t n, struct vt_error *err)
{
    const struct vt_node *node = &e->q->graph->nodes[n];
    const bool quantised = e->choice->layers[e->q->nodes[n].layer];
    float scale = 1.0f;
    int32_t zero;
    if (quantised) {
        scale_of(e, node->inputs[0], &scale, &zero);
    }
    enum vt_status status =
        vt_q_write_layer_constants(e->q, e->writer, n, quantised, scale, err, &e->own);
    if (status != VT_OK) {
        return status;
    }
    e->is_layer = true;
    const struct vt_q_naming naming = {input_name, e};
    /* What the norm made, and its bias. */
    const uint32_t inputs = e->own.bias != NULL && node->n_inputs < 3 ? 3 : node->n_inputs;
    uint32_t values[8] = {0}, output = e->q->nodes[n].output;
    struct vt_node renamed = *node;
    for (uint32_t i = 0; i < node->n_inputs && i < 8; i++) {
        values[i] = node->inputs[i];
    }
    for (uint32_t i = node->n_inputs; i < inputs; i++) {
        values[i] = node->inputs[1];
    }
    renamed.inputs = values;
    renamed.n_inputs = inputs;
    renamed.outputs = &output;
    renamed.n_outputs = 1;
    status = vt_q_write_node(e->q, e->writer, &renamed, &naming, err);
    e->is_layer = false;
    return status;
}

static enum vt_status write_nodes(struct emission *e, struct vt_error *err)
{
    const struct vt_graph *graph = e->q->graph;
    const struct vt_q_naming naming = {input_name, e};
    for (uint32_t n = 0; n < graph->n_nodes; n++) {
        const struct vt_q_node *plan = &e->q->nodes[n];
        enum vt_status status = VT_OK;
        if (plan->role == VT_Q_FOLDED) {
            continue;
        }
        if (plan->role == VT_Q_LAYER &&
            (e->choice->layers[plan->layer] || plan->norm != VT_NO_NODE)) {
            status = write_layer(e, n, err);
            value_made(e, plan->output);
        } else {
            status = vt_q_write_node(e->q, e->writer, &graph->nodes[n], &naming, err);
            for (uint32_t i = 0; i < graph->nodes[n].n_outputs; i++) {
                if (graph->nodes[n].outputs[i] != VT_NO_VALUE) {
                    value_made(e, graph->nodes[n].outputs[i]);
                }
            }
        }
        if (status != VT_OK) {
            return status;
        }
    }
    return VT_OK;
}

/* --- the model ------------------------------------------------------------------------------ */

static struct vt_port port_of(const struct emission *e, uint32_t value)
{
    const struct vt_value *v = vt_q_declared(e->q, value);
    struct vt_port port = {.name = e->q->values[value].name,
                           .dtype = v->dtype != VT_UNDEFINED ? v->dtype : VT_F32,
                           .rank = v->rank};
    memcpy(port.dim, v->dim, sizeof(port.dim));
    memcpy(port.symbol, v->symbol, sizeof(port.symbol));
    return port;
}

static enum vt_status write_all(struct emission *e, struct vt_error *err)
{
    const struct vt_graph *graph = e->q->graph;
    for (uint32_t i = 0; i < graph->n_inputs; i++) {
        const struct vt_port port = port_of(e, graph->inputs[i]);
        vt_write_input(e->writer, &port);
        value_made(e, graph->inputs[i]);
    }
    for (uint32_t i = 0; i < graph->n_outputs; i++) {
        const struct vt_port port = port_of(e, graph->outputs[i]);
        vt_write_output(e->writer, &port);
        need_constant(e, graph->outputs[i]);
    }
    if (e->choice->remark != NULL) {
        vt_write_metadata(e->writer, "vatio.quantization", e->choice->remark);
    }
    enum vt_status status = write_nodes(e, err);
    return status == VT_OK && e->failed ? out_of_memory(err) : status;
}

enum vt_status vt_quantizer_write(struct vt_quantizer *q, const struct vt_quantize_choice *choice,
                                  struct vt_error *err, struct vt_model_writer **ret_writer)
{
    const size_t n = (size_t)vt_model_value_count(q->model) + 1;
    const int64_t opset = vt_model_opset(q->model);
    char producer[64];
    struct emission e = {.q = q, .choice = choice};
    (void)snprintf(producer, sizeof(producer), "vatio %s quantize", vt_version());
    enum vt_status status =
        vt_model_writer_new(producer, q->graph->name[0] != '\0' ? q->graph->name : "quantized",
                            opset > VT_Q_OPSET ? opset : VT_Q_OPSET, err, &e.writer);
    if (status != VT_OK) {
        return status;
    }
    vt_q_scheme(q, choice);
    e.written = vt_calloc(n, sizeof(*e.written));
    e.scale_names = vt_calloc(n, sizeof(*e.scale_names));
    e.zero_names = vt_calloc(n, sizeof(*e.zero_names));
    e.dequantised = vt_calloc(n, sizeof(*e.dequantised));
    status =
        e.written != NULL && e.scale_names != NULL && e.zero_names != NULL && e.dequantised != NULL
            ? write_all(&e, err)
            : out_of_memory(err);
    vt_free(e.written);
    vt_free(e.scale_names);
    vt_free(e.zero_names);
    vt_free(e.dequantised);
    if (status != VT_OK) {
        vt_model_writer_free(e.writer);
        return status;
    }
    *ret_writer = e.writer;
    return VT_OK;
}
