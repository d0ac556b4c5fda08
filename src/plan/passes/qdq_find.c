/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "plan/passes/qdq.h"

bool vt_qdq_has_scales(const struct recognition *r, const struct quantised *q, int64_t n)
{
    const struct vt_tensor *scale = constant_of(r, q->scale);
    const int64_t count = scale != NULL ? vt_op_elements(scale) : 0;
    if (scale == NULL || scale->dtype != VT_F32 || (count != 1 && count != n)) {
        return false;
    }
    if (q->zero == VT_NO_VALUE) {
        return true;
    }
    const struct vt_tensor *zero = constant_of(r, q->zero);
    return zero != NULL && zero->dtype == info_of(r, q->data)->dtype &&
           vt_op_elements(zero) == count;
}

/* What a DequantizeLinear with that result has dequantised. */
static bool find_quantised(const struct recognition *r, uint32_t value, struct quantised *ret)
{
    struct vt_step *step = producer_of(r, value);
    const struct vt_node *node = NULL;
    value = vt_resolve(r->builder, value);
    *ret = (struct quantised){VT_NO_VALUE, VT_NO_VALUE, VT_NO_VALUE, 1, NULL};
    if (is_step(step, "DequantizeLinear")) {
        node = step->node;
        ret->step = step;
    } else if (value != VT_NO_VALUE && constant_of(r, value) != NULL) {
        node = r->makers[value];
    }
    if (node == NULL || !vt_is_op(node, "DequantizeLinear") || node->n_inputs < 2 ||
        vt_node_int(node, "block_size", 0) != 0) {
        return false;
    }
    const uint32_t *inputs = ret->step != NULL ? step->inputs : node->inputs;
    ret->data = vt_resolve(r->builder, inputs[0]);
    ret->scale = vt_resolve(r->builder, inputs[1]);
    ret->zero = node->n_inputs > 2 ? vt_resolve(r->builder, inputs[2]) : VT_NO_VALUE;
    ret->axis = vt_node_int(node, "axis", 1);
    return vt_shape_info_known(info_of(r, ret->data));
}

bool vt_qdq_data(const struct recognition *r, uint32_t value, struct quantised *ret)
{
    return find_quantised(r, value, ret) && is_byte(info_of(r, ret->data)->dtype) &&
           vt_qdq_has_scales(r, ret, 1);
}

bool vt_qdq_weights(const struct recognition *r, uint32_t value, uint32_t axis,
                    struct quantised *ret)
{
    if (!find_quantised(r, value, ret)) {
        return false;
    }
    const struct vt_tensor *w = constant_of(r, ret->data), *scale = constant_of(r, ret->scale);
    if (w == NULL || scale == NULL || !is_byte(w->dtype) || axis >= w->rank ||
        !vt_qdq_has_scales(r, ret, w->dim[axis])) {
        return false;
    }
    const int64_t stated = ret->axis < 0 ? ret->axis + w->rank : ret->axis;
    return vt_op_elements(scale) == 1 || stated == axis;
}

static float float_at(const struct vt_tensor *t, int64_t i)
{
    return ((const float *)t->data)[vt_op_elements(t) > 1 ? i : 0];
}

bool vt_qdq_bias(const struct recognition *r, uint32_t value, int64_t n,
                 const struct quantised *data, const struct quantised *weights, uint32_t *ret)
{
    struct quantised q;
    *ret = VT_NO_VALUE;
    if (value == VT_NO_VALUE) {
        return true;
    }
    if (find_quantised(r, value, &q) && info_of(r, q.data)->dtype == VT_I32 &&
        constant_of(r, q.data) != NULL && vt_op_elements(constant_of(r, q.data)) == n &&
        q.zero == VT_NO_VALUE && constant_of(r, q.scale) != NULL) {
        const struct vt_tensor *scale = constant_of(r, q.scale);
        const int64_t count = vt_op_elements(scale);
        bool same = scale->dtype == VT_F32 && (count == 1 || count == n);
        for (int64_t i = 0; same && i < n; i++) {
            const float sums = float_at(constant_of(r, data->scale), 0) *
                               float_at(constant_of(r, weights->scale), i);
            same = fabsf(float_at(scale, i) - sums) <= 1e-6f * sums;
        }
        if (same) {
            *ret = q.data;
            return true;
        }
    }
    const struct vt_tensor *plain = constant_of(r, value);
    if (plain == NULL || plain->dtype != VT_F32 || vt_op_elements(plain) != n) {
        return false;
    }
    *ret = value;
    return true;
}

enum vt_status vt_qdq_makers(struct recognition *r)
{
    const struct vt_graph *graph = r->program->graph;
    r->makers =
        vt_arena_calloc(&r->builder->scratch, (size_t)r->builder->n_values + 1, sizeof(*r->makers));
    if (r->makers == NULL) {
        return vt_out_of_memory(r->builder->err);
    }
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        for (uint32_t o = 0; o < graph->nodes[i].n_outputs; o++) {
            if (graph->nodes[i].outputs[o] != VT_NO_VALUE) {
                r->makers[graph->nodes[i].outputs[o]] = &graph->nodes[i];
            }
        }
    }
    return VT_OK;
}
