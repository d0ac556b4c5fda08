/* SPDX-License-Identifier: Apache-2.0 */
#include "quantize/internal.h"

/* Tensors that are joined share a scale where the widest is not wider than the narrowest by more
 * than this: it costs the narrow ones a bit at most. */
#define JOIN_RATIO 2.0f

uint32_t vt_q_group(struct vt_quantizer *q, uint32_t value)
{
    while (q->values[value].group != value) {
        value = q->values[value].group;
    }
    return value;
}

static void unite(struct vt_quantizer *q, uint32_t a, uint32_t b)
{
    struct vt_range *into = &q->values[vt_q_group(q, a)].range;
    const struct vt_range *from = &q->values[vt_q_group(q, b)].range;
    into->low = from->low < into->low ? from->low : into->low;
    into->high = from->high > into->high ? from->high : into->high;
    q->values[vt_q_group(q, b)].group = vt_q_group(q, a);
}

/* Values that come from quantised layers: behind them, their activations, sums and moves. */
static bool is_made(const struct vt_quantizer *q, const bool *layers, uint32_t value, int depth)
{
    const uint32_t n = q->values[value].producer;
    if (n == VT_NO_NODE || depth > 64) {
        return false;
    }
    const struct vt_node *node = &q->graph->nodes[n];
    switch (q->nodes[n].role) {
    case VT_Q_LAYER:
        return layers[q->nodes[n].layer];
    case VT_Q_FOLDED:
    case VT_Q_MOVE:
        return is_made(q, layers, node->inputs[0], depth + 1);
    case VT_Q_SUM:
        return is_made(q, layers, node->inputs[0], depth + 1) &&
               is_made(q, layers, node->inputs[1], depth + 1);
    case VT_Q_JOIN:
        return false;
    case VT_Q_PLAIN:
        break;
    }
    return (vt_q_is(node, "Relu") || vt_q_is(node, "Clip")) &&
           is_made(q, layers, node->inputs[0], depth + 1);
}

static void mark(struct vt_quantizer *q, uint32_t value)
{
    if (vt_q_declared(q, value)->constant == NULL) {
        q->values[value].quantised = true;
    }
}

static float width(const struct vt_quantizer *q, uint32_t value)
{
    return q->values[value].range.high - q->values[value].range.low;
}

static bool may_join(const struct vt_quantizer *q, const struct vt_node *node, bool known)
{
    float least = 0.0f, most = 0.0f;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        if (node->inputs[i] == VT_NO_VALUE || vt_q_declared(q, node->inputs[i])->constant != NULL) {
            return false;
        }
        const float w = width(q, node->inputs[i]);
        least = i == 0 || w < least ? w : least;
        most = i == 0 || w > most ? w : most;
    }
    return !known || most <= JOIN_RATIO * least;
}

static void mark_move(struct vt_quantizer *q, uint32_t n, bool known)
{
    const struct vt_node *node = &q->graph->nodes[n];
    const bool join = q->nodes[n].role == VT_Q_JOIN;
    const uint32_t inputs = join ? node->n_inputs : 1;
    if (!q->values[node->outputs[0]].quantised ||
        vt_q_declared(q, node->inputs[0])->constant != NULL ||
        (join && !may_join(q, node, known))) {
        return;
    }
    for (uint32_t i = 0; i < inputs; i++) {
        mark(q, node->inputs[i]);
        if (vt_q_group(q, node->inputs[i]) != vt_q_group(q, node->outputs[0])) {
            unite(q, node->outputs[0], node->inputs[i]);
        }
    }
}

void vt_q_scheme(struct vt_quantizer *q, const struct vt_quantize_choice *choice)
{
    for (uint32_t v = 0; v < vt_model_value_count(q->model); v++) {
        struct vt_q_value *value = &q->values[v];
        value->quantised = false;
        value->group = v;
        value->range = choice->ranges != NULL && value->watched != UINT32_MAX
                           ? choice->ranges[value->watched]
                           : (struct vt_range){0.0f, 0.0f};
    }
    for (uint32_t n = 0; n < q->graph->n_nodes; n++) {
        const struct vt_node *node = &q->graph->nodes[n];
        if (q->nodes[n].role == VT_Q_LAYER && choice->layers[q->nodes[n].layer]) {
            mark(q, node->inputs[0]);
        } else if (q->nodes[n].role == VT_Q_SUM &&
                   is_made(q, choice->layers, node->outputs[0], 0)) {
            mark(q, node->inputs[0]);
            mark(q, node->inputs[1]);
            mark(q, q->nodes[n].finished);
        }
    }
    for (uint32_t n = q->graph->n_nodes; n-- > 0;) {
        if (q->nodes[n].role == VT_Q_MOVE || q->nodes[n].role == VT_Q_JOIN) {
            mark_move(q, n, choice->ranges != NULL);
        }
    }
}
