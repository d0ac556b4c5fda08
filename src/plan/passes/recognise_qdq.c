/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators between DequantizeLinear and QuantizeLinear are carried out on the quantised numbers:
 *
 *     Conv, MatMul, Gemm   by constant weights of int8 or uint8: a product of bytes, whose sums are
 *                          scaled, activated and rounded on the way out; without a QuantizeLinear
 *                          behind it the result is float32
 *     Add                  by itself, or as a part of the convolution that makes one of its terms
 *     MaxPool, Reshape …   which only move numbers, where scale and zero point stay the same
 *
 * The sums are exact where float32 would round, and are scaled once by a product of the scales; the
 * factor for a sum of two tensors is a quotient of scales. So results are those of the operators
 * one by one but for the last bit of a float32, which can move a number that lies between two
 * quantised ones to its neighbour: at most one step.
 *
 * A Relu or a Clip before the rounding becomes bounds of the result.
 */
#include <math.h>

#include "plan/passes/qdq.h"

/* --- what is in front of a QuantizeLinear --------------------------------------------------- */

/* A QuantizeLinear and the steps whose result it alone looks at. */
struct group {
    struct vt_step *last; /* NULL: none, the result stays float32 */
    struct vt_step *inner;
    struct vt_step *activation, *sum; /* between the two; or NULL */
    struct quantised y;
    struct vt_epilogue epilogue;
};

static bool clip_bound(const struct recognition *r, const struct vt_step *step, uint32_t i,
                       float *bound)
{
    const uint32_t value = input_of(r, step, i);
    return value == VT_NO_VALUE || vt_constant_float(r->builder, value, bound);
}

static bool read_activation(const struct recognition *r, const struct vt_step *step,
                            struct vt_epilogue *ret)
{
    *ret = (struct vt_epilogue){.activation = VT_ACT_NONE};
    if (is_step(step, "Relu")) {
        ret->activation = VT_ACT_RELU;
        return true;
    }
    if (!is_step(step, "Clip")) {
        return false;
    }
    ret->activation = VT_ACT_CLIP;
    ret->alpha = vt_node_float(step->node, "min", -INFINITY);
    ret->beta = vt_node_float(step->node, "max", INFINITY);
    return clip_bound(r, step, 1, &ret->alpha) && clip_bound(r, step, 2, &ret->beta);
}

/* A Relu says nothing new where 0 is the least quantised number. */
static bool is_implied(const struct recognition *r, const struct vt_epilogue *epilogue,
                       const struct quantised *y)
{
    const struct vt_tensor *zero = constant_of(r, y->zero);
    if (epilogue->activation != VT_ACT_RELU) {
        return false;
    }
    return zero == NULL || (zero->dtype == VT_U8 ? *(const uint8_t *)zero->data == 0
                                                 : *(const int8_t *)zero->data == -128);
}

static bool find_group(const struct recognition *r, struct vt_step *step, struct group *ret)
{
    memset(ret, 0, sizeof(*ret));
    if (!is_step(step, "QuantizeLinear") || vt_node_int(step->node, "block_size", 0) != 0) {
        return false;
    }
    ret->last = step;
    ret->y = (struct quantised){vt_resolve(r->builder, step->outputs[0]), input_of(r, step, 1),
                                input_of(r, step, 2), 1, NULL};
    const enum vt_dtype dtype = info_of(r, ret->y.data)->dtype;
    if (!is_byte(dtype) || (ret->y.zero == VT_NO_VALUE && dtype != VT_U8) ||
        !vt_qdq_has_scales(r, &ret->y, 1) || !vt_shape_info_known(info_of(r, ret->y.data))) {
        return false;
    }
    ret->inner = sole_producer_of(r, step->inputs[0]);
    if (read_activation(r, ret->inner, &ret->epilogue)) {
        ret->activation = ret->inner;
        ret->inner = sole_producer_of(r, ret->inner->inputs[0]);
        if (is_implied(r, &ret->epilogue, &ret->y)) {
            ret->epilogue.activation = VT_ACT_NONE;
        }
    } else {
        ret->epilogue = (struct vt_epilogue){.activation = VT_ACT_NONE};
    }
    return ret->inner != NULL;
}

/* --- replacing ------------------------------------------------------------------------------ */

static void drop_unused(const struct recognition *r, const struct quantised *q)
{
    if (q->step != NULL && !q->step->dead && !vt_step_is_used(r->builder, q->step)) {
        vt_step_kill(r->builder, q->step);
    }
}

static void kill_inner(const struct recognition *r, struct vt_step *into, struct vt_step *step)
{
    if (step != NULL && step != into && !step->dead) {
        into->flops += step->flops;
        into->absorbed += step->absorbed + 1;
        vt_step_kill(r->builder, step);
        r->builder->plan->info.fused_nodes++;
    }
}

/* The step that stands last, where all inputs exist. */
static struct vt_step *last_of(const struct group *g)
{
    return g->last != NULL ? g->last : (g->sum != NULL ? g->sum : g->inner);
}

/* It becomes `node` carried out by `op` on these inputs. */
static enum vt_status replace(const struct recognition *r, const struct group *g,
                              const struct vt_node *node, const char *op, const uint32_t *inputs)
{
    struct vt_step *into = last_of(g);
    uint32_t *own = vt_arena_calloc(&r->builder->plan->memory,
                                    VT_Q_STEP_INPUTS + VT_STEP_SPARE_INPUTS, sizeof(*own));
    struct vt_node *own_node = vt_arena_calloc(&r->builder->plan->memory, 1, sizeof(*own_node));
    if (own == NULL || own_node == NULL) {
        return vt_out_of_memory(r->builder->err);
    }
    /* Under another name, so that nobody takes its inputs for those of the operator. */
    *own_node = *node;
    own_node->op = op;
    own_node->inputs = own;
    own_node->n_inputs = VT_Q_STEP_INPUTS;
    for (uint32_t i = 0; i < VT_Q_STEP_INPUTS; i++) {
        own[i] = inputs[i];
        vt_value_use(r->builder, inputs[i]);
    }
    vt_step_kill(r->builder, into); /* its own uses */
    into->dead = false;
    kill_inner(r, into, g->activation);
    kill_inner(r, into, g->sum);
    kill_inner(r, into, g->inner);
    into->node = own_node;
    into->op = vt_op_find("", op);
    into->inputs = own;
    into->n_inputs = VT_Q_STEP_INPUTS;
    into->epilogue = g->epilogue;
    ++*r->changes;
    return VT_OK;
}

static void no_inputs(uint32_t inputs[VT_Q_STEP_INPUTS])
{
    for (uint32_t i = 0; i < VT_Q_STEP_INPUTS; i++) {
        inputs[i] = VT_NO_VALUE;
    }
}

static void put(uint32_t *inputs, uint32_t place, const struct quantised *q)
{
    inputs[place] = q->data;
    inputs[place + 1] = q->scale;
    inputs[place + 2] = q->zero;
}

/* --- products ------------------------------------------------------------------------------- */

/* MatMul by a matrix, or a Gemm that is one and a bias. */
static bool is_plain_product(const struct recognition *r, const struct vt_step *step,
                             bool *ret_turned)
{
    const struct vt_shape_info *a = info_of(r, input_of(r, step, 0));
    const struct vt_shape_info *b = info_of(r, input_of(r, step, 1));
    *ret_turned = false;
    if (b->rank != 2 || a->rank == VT_RANK_UNKNOWN || a->rank < 1) {
        return false;
    }
    if (is_step(step, "MatMul")) {
        return true;
    }
    *ret_turned = vt_node_int(step->node, "transB", 0) != 0;
    return is_step(step, "Gemm") && vt_node_int(step->node, "transA", 0) == 0 &&
           vt_node_float(step->node, "alpha", 1.0f) == 1.0f &&
           (input_of(r, step, 2) == VT_NO_VALUE || vt_node_float(step->node, "beta", 1.0f) == 1.0f);
}

/* Behind a MatMul, the sum with a constant row: its bias. */
static uint32_t take_bias_sum(const struct recognition *r, struct group *g)
{
    if (!is_step(g->inner, "Add")) {
        return VT_NO_VALUE;
    }
    for (uint32_t i = 0; i < 2; i++) {
        struct vt_step *product = sole_producer_of(r, g->inner->inputs[i]);
        const uint32_t bias = input_of(r, g->inner, 1 - i);
        const struct vt_tensor *row = constant_of(r, bias);
        if (is_step(product, "MatMul") && row != NULL && row->rank >= 1 && row->dtype == VT_F32 &&
            vt_op_elements(row) == row->dim[row->rank - 1]) {
            g->sum = g->inner;
            g->inner = product;
            return bias;
        }
    }
    return VT_NO_VALUE;
}

static enum vt_status fuse_product(const struct recognition *r, struct group *g)
{
    uint32_t inputs[VT_Q_STEP_INPUTS], bias = VT_NO_VALUE;
    struct quantised x, w;
    bool turned = false;
    const uint32_t sum_bias = take_bias_sum(r, g);
    const bool conv = is_step(g->inner, "Conv");
    if (!conv && !is_step(g->inner, "MatMul") && !is_step(g->inner, "Gemm")) {
        return VT_OK;
    }
    if (!conv && !is_plain_product(r, g->inner, &turned)) {
        return VT_OK;
    }
    const uint32_t axis = conv || turned ? 0 : 1;
    if (!vt_qdq_data(r, g->inner->inputs[0], &x) ||
        !vt_qdq_weights(r, g->inner->inputs[1], axis, &w) ||
        (!conv && info_of(r, w.data)->rank != 2)) {
        return VT_OK;
    }
    const uint32_t own_bias = sum_bias != VT_NO_VALUE ? sum_bias : input_of(r, g->inner, 2);
    if (!vt_qdq_bias(r, own_bias, info_of(r, w.data)->dim[axis], &x, &w, &bias) ||
        !vt_shape_info_known(info_of(r, last_of(g)->outputs[0]))) {
        return VT_OK;
    }
    no_inputs(inputs);
    put(inputs, vt_q_step_places.a, &x);
    put(inputs, vt_q_step_places.b, &w);
    if (g->last != NULL) {
        inputs[vt_q_step_places.y_scale] = g->y.scale;
        inputs[vt_q_step_places.y_zero] = g->y.zero;
    }
    inputs[vt_q_step_places.bias] = bias;
    enum vt_status status =
        replace(r, g, g->inner->node, conv ? "Conv quantised" : "MatMul quantised", inputs);
    drop_unused(r, &x);
    drop_unused(r, &w);
    return status;
}

/* --- sums ----------------------------------------------------------------------------------- */

static bool same_shape(const struct vt_shape_info *a, const struct vt_shape_info *b)
{
    return a->rank == b->rank && memcmp(a->dim, b->dim, a->rank * sizeof(a->dim[0])) == 0;
}

/* The convolution on quantised numbers that makes a term for this sum alone; NULL: none. */
static struct vt_step *open_conv(const struct recognition *r, const struct quantised *term)
{
    struct vt_step *conv = sole_producer_of(r, term->data);
    const struct vt_q_places *p = &vt_q_step_places;
    if (!is_step(conv, "Conv quantised") || conv->epilogue.activation != VT_ACT_NONE ||
        conv->inputs[p->residual] != VT_NO_VALUE || conv->inputs[p->y_scale] == VT_NO_VALUE ||
        (conv->inputs[p->y_zero] == VT_NO_VALUE && info_of(r, term->data)->dtype != VT_U8) ||
        term->step == NULL || r->builder->values[term->step->outputs[0]].uses != 1) {
        return NULL;
    }
    return conv;
}

static enum vt_status fuse_sum(const struct recognition *r, struct group *g)
{
    const struct vt_q_places *p = &vt_q_step_places;
    uint32_t inputs[VT_Q_STEP_INPUTS];
    struct quantised term[2];
    if (!is_step(g->inner, "Add") || !vt_qdq_data(r, g->inner->inputs[0], &term[0]) ||
        !vt_qdq_data(r, g->inner->inputs[1], &term[1]) || term[0].data == term[1].data ||
        !same_shape(info_of(r, term[0].data), info_of(r, term[1].data))) {
        return VT_OK;
    }
    struct vt_step *conv[2] = {open_conv(r, &term[0]), open_conv(r, &term[1])};
    enum vt_status status;
    if (conv[0] == NULL && conv[1] == NULL) {
        no_inputs(inputs);
        put(inputs, p->a, &term[0]);
        put(inputs, p->b, &term[1]);
        inputs[p->y_scale] = g->y.scale;
        inputs[p->y_zero] = g->y.zero;
        status = replace(r, g, g->inner->node, "Add quantised", inputs);
    } else {
        /* The one that runs later: its inputs are kept for a shorter while. */
        const uint32_t chosen =
            conv[0] == NULL || (conv[1] != NULL && conv[1]->position > conv[0]->position) ? 1 : 0;
        memcpy(inputs, conv[chosen]->inputs, sizeof(inputs));
        put(inputs, p->residual, &term[1 - chosen]);
        inputs[p->sum_scale] = g->y.scale;
        inputs[p->sum_zero] = g->y.zero;
        g->sum = conv[chosen];
        status = replace(r, g, conv[chosen]->node, "Conv quantised", inputs);
    }
    drop_unused(r, &term[0]);
    drop_unused(r, &term[1]);
    return status;
}

/* --- what only moves numbers ---------------------------------------------------------------- */

static bool moves_bytes(const struct vt_step *step)
{
    static const char *const names[] = {"MaxPool", "Reshape",   "Flatten",      "Squeeze",
                                        "Concat",  "Unsqueeze", "DepthToSpace", "Transpose"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (step != NULL && !step->dead && vt_is_op(step->node, names[i])) {
            return step->kind == VT_STEP_OP || step->kind == VT_STEP_VIEW;
        }
    }
    return false;
}

static bool same_constant(const struct vt_tensor *a, const struct vt_tensor *b)
{
    return a != NULL && b != NULL && a->dtype == b->dtype && a->bytes == b->bytes &&
           memcmp(a->data, b->data, a->bytes) == 0;
}

static bool same_scales(const struct recognition *r, const struct quantised *a,
                        const struct quantised *b)
{
    if (info_of(r, a->data)->dtype != info_of(r, b->data)->dtype ||
        !same_constant(constant_of(r, a->scale), constant_of(r, b->scale))) {
        return false;
    }
    return a->zero == b->zero || same_constant(constant_of(r, a->zero), constant_of(r, b->zero));
}

static void fuse_move(const struct recognition *r, struct group *g)
{
    struct quantised x;
    struct vt_step *move = g->inner;
    const uint32_t n = moves_bytes(move) && vt_is_op(move->node, "Concat") ? move->n_inputs : 1;
    if (!moves_bytes(move) || g->activation != NULL) {
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (!vt_qdq_data(r, move->inputs[i], &x) || !same_scales(r, &x, &g->y)) {
            return;
        }
    }
    for (uint32_t i = 1; i < move->n_outputs; i++) {
        if (move->outputs[i] != VT_NO_VALUE) {
            return;
        }
    }
    const uint32_t old = vt_resolve(r->builder, move->outputs[0]);
    for (uint32_t i = 0; i < n; i++) {
        (void)vt_qdq_data(r, move->inputs[i], &x);
        const uint32_t before = vt_resolve(r->builder, move->inputs[i]);
        move->inputs[i] = x.data;
        vt_value_use(r->builder, x.data);
        if (r->builder->values[before].uses > 0) {
            r->builder->values[before].uses--;
        }
        drop_unused(r, &x);
    }
    vt_step_kill(r->builder, g->last);
    move->outputs[0] = g->y.data;
    r->builder->values[g->y.data].producer = move;
    r->builder->values[old].producer = NULL;
    ++*r->changes;
}

/* Dequantised and quantised again by the same scale: the same numbers. */
static bool drop_round_trip(const struct recognition *r, struct vt_step *step)
{
    struct quantised x;
    if (!is_step(step, "QuantizeLinear") || vt_node_int(step->node, "block_size", 0) != 0) {
        return false;
    }
    const struct quantised y = {vt_resolve(r->builder, step->outputs[0]), input_of(r, step, 1),
                                input_of(r, step, 2), 1, NULL};
    if (!is_byte(info_of(r, y.data)->dtype) || !vt_qdq_has_scales(r, &y, 1) ||
        !vt_qdq_data(r, step->inputs[0], &x) || x.step == NULL || !same_scales(r, &x, &y)) {
        return false;
    }
    r->builder->values[x.data].uses += r->builder->values[y.data].uses;
    r->builder->values[y.data].renamed = x.data;
    vt_step_kill(r->builder, step);
    drop_unused(r, &x);
    ++*r->changes;
    return true;
}

static bool has_quantised(const struct vt_program *program)
{
    const struct vt_step *step = program->first;
    while (step != NULL && !is_step(step, "DequantizeLinear")) {
        step = step->next;
    }
    return step != NULL;
}

VT_PASS(recognise_qdq)
{
    struct recognition r = {builder, program, NULL, changes};
    struct group g;
    enum vt_status status = VT_OK;
    if (!has_quantised(program)) {
        return VT_OK;
    }
    status = vt_qdq_makers(&r);
    for (struct vt_step *step = program->first; step != NULL && status == VT_OK;
         step = step->next) {
        if (drop_round_trip(&r, step) || !find_group(&r, step, &g)) {
            continue;
        }
        const uint32_t before = *changes;
        fuse_move(&r, &g);
        if (*changes == before) {
            status = fuse_sum(&r, &g);
        }
        if (*changes == before && status == VT_OK) {
            status = fuse_product(&r, &g);
        }
    }
    /* Products whose results stay float32: those with a bias behind them first. */
    for (struct vt_step *step = program->first; step != NULL && status == VT_OK;
         step = step->next) {
        if (is_step(step, "Add")) {
            g = (struct group){.inner = step, .epilogue = step->epilogue};
            status = fuse_product(&r, &g);
        }
    }
    for (struct vt_step *step = program->first; step != NULL && status == VT_OK;
         step = step->next) {
        if (is_step(step, "Conv") || is_step(step, "MatMul") || is_step(step, "Gemm")) {
            g = (struct group){.inner = step, .epilogue = step->epilogue};
            status = fuse_product(&r, &g);
        }
    }
    return status;
}
