/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shapes of recurrent layers.
 */
#include <string.h>

#include "graph/infer.h"

/* One input against a shape of up to three extents. */
static enum vt_status check_input(const struct vt_infer *infer, uint32_t i, uint32_t rank,
                                  const struct vt_extent *wanted, const char *what)
{
    const struct vt_shape_info *in = vt_infer_input(infer, i);

    enum vt_status status = vt_infer_rank(infer, i, rank);
    for (uint32_t d = 0; status == VT_OK && vt_infer_ranked(in) && d < rank; d++) {
        status = vt_infer_same_extent(infer, vt_extent_get(in, d), wanted[d], what);
    }
    return status;
}

struct layer {
    struct vt_extent steps, batch, input, directions, hidden;
    bool batch_first; /* layout 1 */
};

static enum vt_status read_layer(const struct vt_infer *infer, struct layer *ret)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0), *r = vt_infer_input(infer, 2);
    const char *direction = vt_node_string(infer->node, "direction", "forward");
    int64_t layout = infer->node->opset < 14 ? 0 : vt_node_int(infer->node, "layout", 0);
    int64_t hidden = vt_node_int(infer->node, "hidden_size", -1);
    struct layer layer = {.batch_first = layout == 1};

    layer.steps = layer.batch = layer.input = layer.hidden = vt_extent_unknown(-1);
    if (layout != 0 && layout != 1) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "layout is %lld, it must be 0 or 1",
                             (long long)layout);
    }
    bool both = strcmp(direction, "bidirectional") == 0;
    if (!both && strcmp(direction, "forward") != 0 && strcmp(direction, "reverse") != 0) {
        return vt_infer_fail(infer, VT_ERR_FORMAT,
                             "direction must be forward, reverse or bidirectional");
    }
    layer.directions = vt_extent_of(both ? 2 : 1);
    enum vt_status status = vt_infer_rank(infer, 0, 3);
    if (status == VT_OK) {
        status = vt_infer_rank(infer, 2, 3);
    }
    if (status != VT_OK) {
        return status;
    }
    if (vt_infer_ranked(x)) {
        layer.steps = vt_extent_get(x, layer.batch_first ? 1 : 0);
        layer.batch = vt_extent_get(x, layer.batch_first ? 0 : 1);
        layer.input = vt_extent_get(x, 2);
    }
    if (vt_infer_ranked(r)) {
        layer.hidden = vt_extent_get(r, 2);
    }
    if (vt_node_attr(infer->node, "hidden_size") != NULL && hidden < 1) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "hidden_size is %lld, it must be at least 1",
                             (long long)hidden);
    }
    if (hidden >= 0) {
        status = vt_infer_same_extent(infer, vt_extent_of(hidden), layer.hidden,
                                      "hidden_size and the recurrent weights");
        layer.hidden = vt_extent_of(hidden);
    }
    *ret = layer;
    return status;
}

/* Weights, biases, lengths and initial states fit the layer of that many gates. */
static enum vt_status check_parameters(const struct vt_infer *infer, const struct layer *l,
                                       int64_t gates, bool has_cell)
{
    struct vt_extent all, both;

    if (!vt_extent_mul(l->hidden, vt_extent_of(gates), &all) ||
        !vt_extent_mul(all, vt_extent_of(2), &both)) {
        return vt_infer_overflow(infer);
    }
    const struct vt_extent w[] = {l->directions, all, l->input};
    const struct vt_extent r[] = {l->directions, all, l->hidden};
    const struct vt_extent bias[] = {l->directions, both};
    const struct vt_extent lengths[] = {l->batch};
    const struct vt_extent state[] = {l->batch_first ? l->batch : l->directions,
                                      l->batch_first ? l->directions : l->batch, l->hidden};
    enum vt_status status = check_input(infer, 1, 3, w, "weights and layer");
    if (status == VT_OK) {
        status = check_input(infer, 2, 3, r, "recurrent weights and layer");
    }
    if (status == VT_OK) {
        status = check_input(infer, 3, 2, bias, "biases and layer");
    }
    if (status == VT_OK) {
        status = vt_infer_types(infer, 4, VT_TYPE_BIT(VT_I32));
    }
    if (status == VT_OK) {
        status = check_input(infer, 4, 1, lengths, "sequence lengths and batch");
    }
    if (status == VT_OK) {
        status = check_input(infer, 5, 3, state, "initial state and layer");
    }
    if (status == VT_OK && has_cell) {
        status = check_input(infer, 6, 3, state, "initial cell and layer");
    }
    if (status == VT_OK && has_cell) {
        struct vt_extent three;
        if (!vt_extent_mul(l->hidden, vt_extent_of(3), &three)) {
            return vt_infer_overflow(infer);
        }
        const struct vt_extent peepholes[] = {l->directions, three};
        status = check_input(infer, 7, 2, peepholes, "peepholes and layer");
    }
    return status;
}

static enum vt_status recurrent(const struct vt_infer *infer, int64_t gates, bool has_cell)
{
    enum vt_dtype dtype = vt_infer_input(infer, 0)->dtype;
    struct layer l = {0};

    enum vt_status status = vt_infer_same_types(infer, 0, 3, VT_TYPES_FLOAT);
    if (status == VT_OK) {
        status = read_layer(infer, &l);
    }
    if (status == VT_OK) {
        status = check_parameters(infer, &l, gates, has_cell);
    }
    if (status == VT_OK) {
        status = vt_infer_set(infer, 0, dtype, 4);
    }
    if (status != VT_OK) {
        return status;
    }
    struct vt_shape_info *y = vt_infer_output(infer, 0);
    vt_extent_put(y, 0, l.batch_first ? l.batch : l.steps);
    vt_extent_put(y, 1, l.batch_first ? l.steps : l.directions);
    vt_extent_put(y, 2, l.batch_first ? l.directions : l.batch);
    vt_extent_put(y, 3, l.hidden);
    for (uint32_t i = 1; status == VT_OK && i < infer->node->n_outputs; i++) {
        struct vt_shape_info *state = vt_infer_output(infer, i);
        status = vt_infer_set(infer, i, dtype, 3);
        vt_extent_put(state, 0, l.batch_first ? l.batch : l.directions);
        vt_extent_put(state, 1, l.batch_first ? l.directions : l.batch);
        vt_extent_put(state, 2, l.hidden);
    }
    return status;
}

enum vt_status vt_infer_lstm(const struct vt_infer *infer)
{
    return recurrent(infer, 4, true);
}

enum vt_status vt_infer_gru(const struct vt_infer *infer)
{
    return recurrent(infer, 3, false);
}

enum vt_status vt_infer_rnn(const struct vt_infer *infer)
{
    return recurrent(infer, 1, false);
}
