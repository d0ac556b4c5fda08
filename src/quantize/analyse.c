/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quote.h"
#include "quantize/internal.h"

#define NONE UINT32_MAX

static enum vt_status out_of_memory(struct vt_error *err)
{
    return vt_error_set(err, VT_ERR_MEMORY, "out of memory while quantising the model");
}

char *vt_q_text(struct vt_quantizer *q, const char *fmt, ...)
{
    char text[1024];
    va_list args;
    va_start(args, fmt);
    const int n = vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    return n >= 0 && (size_t)n < sizeof(text) ? vt_arena_strndup(&q->memory, text, (size_t)n)
                                              : NULL;
}

const struct vt_tensor *vt_q_floats(const struct vt_quantizer *q, uint32_t value)
{
    const struct vt_tensor *t = value != VT_NO_VALUE ? vt_q_declared(q, value)->constant : NULL;
    return t != NULL && t->dtype == VT_F32 && t->data != NULL ? t : NULL;
}

uint32_t vt_q_weight_axis(const struct vt_node *node)
{
    return vt_q_is(node, "Conv") || vt_node_int(node, "transB", 0) != 0 ? 0 : 1;
}

/* --- who uses what -------------------------------------------------------------------------- */

static void count_uses(struct vt_quantizer *q)
{
    for (uint32_t v = 0; v < vt_model_value_count(q->model); v++) {
        q->values[v].user = q->values[v].producer = q->values[v].watched = NONE;
    }
    for (uint32_t n = 0; n < q->graph->n_nodes; n++) {
        const struct vt_node *node = &q->graph->nodes[n];
        for (uint32_t i = 0; i < node->n_inputs; i++) {
            if (node->inputs[i] != VT_NO_VALUE) {
                q->values[node->inputs[i]].uses++;
                q->values[node->inputs[i]].user = n;
            }
        }
        for (uint32_t i = 0; i < node->n_outputs; i++) {
            if (node->outputs[i] != VT_NO_VALUE) {
                q->values[node->outputs[i]].producer = n;
            }
        }
    }
    for (uint32_t i = 0; i < q->graph->n_outputs; i++) {
        q->values[q->graph->outputs[i]].uses++;
    }
}

/* The node that alone looks at the value; VT_NO_NODE where there are more, or an output. */
static uint32_t sole_user(const struct vt_quantizer *q, uint32_t value)
{
    const struct vt_q_value *v = &q->values[value];
    return v->uses == 1 ? v->user : VT_NO_NODE;
}

static bool has_one_output(const struct vt_node *node)
{
    for (uint32_t i = 1; i < node->n_outputs; i++) {
        if (node->outputs[i] != VT_NO_VALUE) {
            return false;
        }
    }
    return node->n_outputs > 0 && node->outputs[0] != VT_NO_VALUE;
}

/* --- roles ---------------------------------------------------------------------------------- */

static bool is_layer(const struct vt_quantizer *q, const struct vt_node *node)
{
    const struct vt_tensor *w = node->n_inputs > 1 ? vt_q_floats(q, node->inputs[1]) : NULL;
    if (w == NULL || w->bytes == 0 || vt_q_declared(q, node->inputs[0])->constant != NULL) {
        return false;
    }
    if (vt_q_is(node, "Conv")) {
        return w->rank >= 3 &&
               (node->n_inputs < 3 || node->inputs[2] == VT_NO_VALUE ||
                (vt_q_floats(q, node->inputs[2]) != NULL &&
                 vt_q_floats(q, node->inputs[2])->bytes == (size_t)w->dim[0] * sizeof(float)));
    }
    if (w->rank != 2) {
        return false;
    }
    if (vt_q_is(node, "MatMul")) {
        return true;
    }
    return vt_q_is(node, "Gemm") && vt_node_int(node, "transA", 0) == 0 &&
           vt_node_float(node, "alpha", 1.0f) == 1.0f && vt_node_float(node, "beta", 1.0f) == 1.0f;
}

static bool is_activation(const struct vt_quantizer *q, const struct vt_node *node)
{
    if (vt_q_is(node, "Relu")) {
        return true;
    }
    for (uint32_t i = 1; i < node->n_inputs; i++) {
        if (node->inputs[i] != VT_NO_VALUE && vt_q_floats(q, node->inputs[i]) == NULL) {
            return false;
        }
    }
    return vt_q_is(node, "Clip");
}

/* A BatchNormalization of constants behind the layer, which alone looks at its result. */
static uint32_t find_norm(const struct vt_quantizer *q, const struct vt_node *conv)
{
    const uint32_t user = sole_user(q, conv->outputs[0]);
    const struct vt_node *norm = user != VT_NO_NODE ? &q->graph->nodes[user] : NULL;
    const struct vt_tensor *w = vt_q_floats(q, conv->inputs[1]);
    if (norm == NULL || !vt_q_is(conv, "Conv") || !vt_q_is(norm, "BatchNormalization") ||
        norm->n_inputs != 5 || norm->inputs[0] != conv->outputs[0] || !has_one_output(norm) ||
        vt_node_int(norm, "training_mode", 0) != 0 || vt_node_int(norm, "spatial", 1) != 1) {
        return VT_NO_NODE;
    }
    for (uint32_t i = 1; i < 5; i++) {
        const struct vt_tensor *row = vt_q_floats(q, norm->inputs[i]);
        if (row == NULL || row->bytes != (size_t)w->dim[0] * sizeof(float)) {
            return VT_NO_NODE;
        }
    }
    return user;
}

static enum vt_q_role role_of(const struct vt_quantizer *q, const struct vt_node *node)
{
    static const char *const moves[] = {"MaxPool",   "Reshape",      "Flatten",  "Squeeze",
                                        "Unsqueeze", "DepthToSpace", "Transpose"};
    if (!has_one_output(node)) {
        return VT_Q_PLAIN;
    }
    if (is_layer(q, node)) {
        return VT_Q_LAYER;
    }
    if (vt_q_is(node, "Add")) {
        return vt_q_declared(q, node->inputs[0])->constant == NULL &&
                       vt_q_declared(q, node->inputs[1])->constant == NULL &&
                       node->inputs[0] != node->inputs[1]
                   ? VT_Q_SUM
                   : VT_Q_PLAIN;
    }
    if (vt_q_is(node, "Concat")) {
        return VT_Q_JOIN;
    }
    for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
        if (vt_q_is(node, moves[i])) {
            return VT_Q_MOVE;
        }
    }
    return VT_Q_PLAIN;
}

static void add_layer(struct vt_quantizer *q, uint32_t n)
{
    const struct vt_node *node = &q->graph->nodes[n];
    struct vt_q_node *plan = &q->nodes[n];
    struct vt_quantize_layer *layer = &q->layers[q->n_layers];
    plan->layer = q->n_layers++;
    plan->norm = find_norm(q, node);
    if (plan->norm != VT_NO_NODE) {
        plan->output = q->graph->nodes[plan->norm].outputs[0];
        q->nodes[plan->norm].role = VT_Q_FOLDED;
    }
    layer->name = node->name[0] != '\0' ? node->name : q->values[node->outputs[0]].name;
    layer->op = node->op;
    layer->weights = (int64_t)(vt_q_floats(q, node->inputs[1])->bytes / sizeof(float));
    layer->folded_norm = plan->norm != VT_NO_NODE;
}

static void find_roles(struct vt_quantizer *q)
{
    for (uint32_t n = 0; n < q->graph->n_nodes; n++) {
        const struct vt_node *node = &q->graph->nodes[n];
        struct vt_q_node *plan = &q->nodes[n];
        plan->norm = VT_NO_NODE;
        plan->output = plan->finished =
            node->n_outputs > 0 && node->outputs[0] != VT_NO_VALUE ? node->outputs[0] : NONE;
        if (plan->role != VT_Q_FOLDED) {
            plan->role = role_of(q, node);
        }
        if (plan->role == VT_Q_LAYER) {
            add_layer(q, n);
        }
        if (plan->role != VT_Q_LAYER && plan->role != VT_Q_SUM) {
            continue;
        }
        const uint32_t user = sole_user(q, plan->output);
        plan->finished = plan->output;
        if (user != VT_NO_NODE && is_activation(q, &q->graph->nodes[user]) &&
            q->graph->nodes[user].inputs[0] == plan->output) {
            plan->finished = q->graph->nodes[user].outputs[0];
        }
    }
}

/* --- names ---------------------------------------------------------------------------------- */

struct named {
    const char *name;
    uint32_t value;
};

static int by_name(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    const int order = strcmp(x->name, y->name);
    return order != 0 ? order : (x->value < y->value ? -1 : x->value > y->value);
}

static bool any_ends_in(const struct vt_quantizer *q, const char *suffix)
{
    const size_t length = strlen(suffix);
    for (uint32_t v = 0; v < vt_model_value_count(q->model); v++) {
        const char *name = vt_q_declared(q, v)->name;
        const size_t n = strlen(name);
        if (n >= length && strcmp(name + n - length, suffix) == 0) {
            return true;
        }
    }
    return false;
}

/* Values keep their names where they have one to themselves: the interface's are sure to. */
static enum vt_status find_names(struct vt_quantizer *q, struct vt_error *err)
{
    const uint32_t n = vt_model_value_count(q->model);
    struct named *sorted = vt_calloc((size_t)n + 1, sizeof(*sorted));
    if (sorted == NULL) {
        return out_of_memory(err);
    }
    q->suffix = ".int8";
    while (q->suffix != NULL && any_ends_in(q, q->suffix)) {
        q->suffix = vt_q_text(q, "%s_", q->suffix);
    }
    for (uint32_t v = 0; v < n; v++) {
        sorted[v] = (struct named){vt_q_declared(q, v)->name, v};
    }
    qsort(sorted, n, sizeof(*sorted), by_name);
    for (uint32_t i = 0; q->suffix != NULL && i < n; i++) {
        struct vt_q_value *value = &q->values[sorted[i].value];
        const bool taken = i > 0 && strcmp(sorted[i - 1].name, sorted[i].name) == 0;
        value->name = sorted[i].name;
        if (taken || sorted[i].name[0] == '\0') {
            value->name = vt_q_text(q, "value.%u%s", sorted[i].value, q->suffix);
        }
        if (value->name == NULL) {
            q->suffix = NULL;
        }
    }
    vt_free(sorted);
    return q->suffix != NULL ? VT_OK : out_of_memory(err);
}

/* --- all together --------------------------------------------------------------------------- */

static enum vt_status allocate(struct vt_quantizer *q, struct vt_error *err)
{
    const size_t n = (size_t)q->graph->n_nodes + 1, v = (size_t)vt_model_value_count(q->model) + 1;
    q->nodes = vt_arena_calloc(&q->memory, n, sizeof(*q->nodes));
    q->values = vt_arena_calloc(&q->memory, v, sizeof(*q->values));
    q->layers = vt_arena_calloc(&q->memory, n, sizeof(*q->layers));
    q->watched = vt_arena_calloc(&q->memory, v, sizeof(*q->watched));
    return q->nodes != NULL && q->values != NULL && q->layers != NULL && q->watched != NULL
               ? VT_OK
               : out_of_memory(err);
}

/* What is quantised with all layers is all that is with fewer. */
static enum vt_status find_watched(struct vt_quantizer *q, struct vt_error *err)
{
    bool *all = vt_alloc((size_t)q->n_layers + 1);
    if (all == NULL) {
        return out_of_memory(err);
    }
    memset(all, true, (size_t)q->n_layers + 1);
    vt_q_scheme(q, &(struct vt_quantize_choice){.layers = all});
    vt_free(all);
    for (uint32_t v = 0; v < vt_model_value_count(q->model); v++) {
        if (q->values[v].quantised) {
            q->values[v].watched = q->n_watched;
            q->watched[q->n_watched++] = v;
        }
    }
    return VT_OK;
}

enum vt_status vt_quantizer_new(const struct vt_model *model, struct vt_error *err,
                                struct vt_quantizer **ret_quantizer)
{
    struct vt_quantizer *q = vt_calloc(1, sizeof(*q));
    if (q == NULL) {
        return out_of_memory(err);
    }
    q->model = model;
    q->graph = vt_model_graph(model);
    vt_arena_init(&q->memory, 0);
    enum vt_status status = allocate(q, err);
    for (uint32_t n = 0; n < q->graph->n_nodes && status == VT_OK; n++) {
        status = vt_q_can_write(q, &q->graph->nodes[n], err);
    }
    if (status == VT_OK) {
        status = find_names(q, err);
    }
    if (status == VT_OK) {
        count_uses(q);
        find_roles(q);
        status = find_watched(q, err);
    }
    if (status != VT_OK) {
        vt_quantizer_free(q);
        return status;
    }
    *ret_quantizer = q;
    return VT_OK;
}

void vt_quantizer_free(struct vt_quantizer *q)
{
    if (q != NULL) {
        vt_arena_release(&q->memory);
        vt_free(q);
    }
}

const struct vt_quantize_layer *vt_quantizer_layers(const struct vt_quantizer *q, uint32_t *ret_n)
{
    *ret_n = q->n_layers;
    return q->layers;
}

const uint32_t *vt_quantizer_watched(const struct vt_quantizer *q, uint32_t *ret_n)
{
    *ret_n = q->n_watched;
    return q->watched;
}
