/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/topology.h"
#include "kernels/gemm/half.h"
#include "kernels/recurrent/recurrent.h"
#include "plan/ops/support.h"

struct state {
    struct vt_recurrent layer;
    const float *packed[2]; /* NULL: packed by each run */
    size_t packed_offset[2];
    uint32_t packing; /* the direction that pack() is working on */
};

static void pack(void *context, void *ret_packed)
{
    const struct vt_op_context *ctx = context;
    const struct state *s = ctx->state;
    const struct vt_tensor *w = ctx->inputs[1], *r = ctx->inputs[2];
    const int64_t d = s->packing;
    vt_recurrent_pack(&s->layer, (const float *)w->data + d * w->dim[1] * w->dim[2],
                      (const float *)r->data + d * r->dim[1] * r->dim[2], ret_packed);
}

static const struct {
    const char *name;
    enum vt_unary op;
    double alpha, beta;
} activations[] = {
    {"sigmoid", VT_UNARY_SIGMOID, 0, 0},
    {"tanh", VT_UNARY_TANH, 0, 0},
    {"relu", VT_UNARY_RELU, 0, 0},
    {"hardsigmoid", VT_UNARY_HARD_SIGMOID, 0.2, 0.5},
    {"leakyrelu", VT_UNARY_LEAKY_RELU, 0.01, 0},
    {"elu", VT_UNARY_ELU, 1, 0},
    {"thresholdedrelu", VT_UNARY_THRESHOLDED_RELU, 1, 0},
    {"softsign", VT_UNARY_SOFTSIGN, 0, 0},
    {"softplus", VT_UNARY_SOFTPLUS, 0, 0},
};

static enum vt_status read_activation(const struct vt_op_context *ctx, const char *name,
                                      struct vt_unary_params *ret)
{
    char lower[32] = {0};
    for (size_t i = 0; i + 1 < sizeof(lower) && name[i] != '\0'; i++) {
        lower[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] + 32 : name[i]);
    }
    for (size_t i = 0; i < sizeof(activations) / sizeof(activations[0]); i++) {
        if (strcmp(activations[i].name, lower) != 0) {
            continue;
        }
        *ret = (struct vt_unary_params){
            .op = activations[i].op, .alpha = activations[i].alpha, .beta = activations[i].beta};
        return VT_OK;
    }
    return vt_op_fail(ctx, VT_ERR_UNSUPPORTED, "the activation '%s' is not supported", name);
}

/* How many activations a direction has, and which they are when nothing is said. */
static uint32_t default_activations(enum vt_recurrent_kind kind, const char *ret[3])
{
    ret[0] = kind == VT_RECURRENT_RNN ? "tanh" : "sigmoid";
    ret[1] = ret[2] = "tanh";
    return kind == VT_RECURRENT_LSTM ? 3 : (kind == VT_RECURRENT_GRU ? 2 : 1);
}

static enum vt_status read_activations(const struct vt_op_context *ctx, struct vt_recurrent *layer)
{
    const struct vt_attr *names = vt_node_attr(ctx->node, "activations");
    const struct vt_attr *alpha = vt_node_attr(ctx->node, "activation_alpha");
    const struct vt_attr *beta = vt_node_attr(ctx->node, "activation_beta");
    const char *defaults[3];
    const uint32_t n = default_activations(layer->kind, defaults);
    size_t next_alpha = 0, next_beta = 0;
    if (names != NULL && names->n != (size_t)n * layer->directions) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "'activations' has %zu entries, needed are %u",
                          names->n, n * layer->directions);
    }
    for (uint32_t i = 0; i < n * layer->directions; i++) {
        struct vt_unary_params *p = &layer->activation[i / n][i % n];
        enum vt_status status =
            read_activation(ctx, names != NULL ? names->strings[i] : defaults[i % n], p);
        if (status != VT_OK) {
            return status;
        }
        /* The lists hold numbers only for the activations that have one, in order. */
        if (p->alpha != 0 && alpha != NULL && next_alpha < alpha->n) {
            p->alpha = (double)alpha->floats[next_alpha++];
        }
        if (p->beta != 0 && beta != NULL && next_beta < beta->n) {
            p->beta = (double)beta->floats[next_beta++];
        }
    }
    return VT_OK;
}

static enum vt_status read_shapes(const struct vt_op_context *ctx, struct vt_recurrent *layer)
{
    const struct vt_tensor *x = ctx->inputs[0], *w = ctx->inputs[1], *r = ctx->inputs[2];
    const int64_t gates =
        layer->kind == VT_RECURRENT_LSTM ? 4 : (layer->kind == VT_RECURRENT_GRU ? 3 : 1);
    if (x->rank != 3 || w->rank != 3 || r->rank != 3) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "X, W and R must have rank 3");
    }
    layer->time = x->dim[layer->batch_first ? 1 : 0];
    layer->batch = x->dim[layer->batch_first ? 0 : 1];
    layer->inputs = x->dim[2];
    layer->hidden = r->dim[2];
    const int64_t d = layer->directions, h = layer->hidden;
    if (w->dim[0] != d || r->dim[0] != d || w->dim[1] != gates * h || r->dim[1] != gates * h ||
        w->dim[2] != layer->inputs) {
        return vt_op_fail(ctx, VT_ERR_FORMAT,
                          "W and R do not fit %lld directions of %lld inputs and %lld hidden units",
                          (long long)d, (long long)layer->inputs, (long long)h);
    }
    const int64_t wanted[8] = {-1,
                               -1,
                               -1,
                               d * 2 * gates * h,
                               layer->batch,
                               d * layer->batch * h,
                               d * layer->batch * h,
                               d * 3 * h};
    for (uint32_t i = 3; i < 8; i++) {
        const struct vt_tensor *t = vt_op_input(ctx, i);
        if (t != NULL && vt_op_elements(t) != wanted[i]) {
            return vt_op_fail(ctx, VT_ERR_FORMAT, "input %u has %lld elements, needed are %lld", i,
                              (long long)vt_op_elements(t), (long long)wanted[i]);
        }
        if (t != NULL && t->dtype != (i == 4 ? VT_I32 : VT_F32)) {
            return vt_op_fail_type(ctx, t);
        }
    }
    return VT_OK;
}

/* Of the state; in bf16 as in fp16w, for float16 is finer than bfloat16, and the product is of a
 * few rows. */
static void choose_weights(struct vt_op_context *ctx, struct vt_recurrent *layer)
{
    const struct vt_tensor *r = ctx->inputs[2];
    if (ctx->precision == VT_PRECISION_FP32) {
        return;
    }
    layer->half_weights = vt_recurrent_knows_half(layer->way) && r->data != NULL &&
                          vt_gemm_half_holds(r->data, vt_op_elements(r));
    (void)snprintf(ctx->kernel, sizeof(ctx->kernel), "%s",
                   layer->half_weights ? "fp16 weights" : "fp32 weights");
}

static enum vt_status prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    struct state *s = ctx->state;
    struct vt_recurrent *layer = &s->layer;
    const char *direction = vt_node_string(ctx->node, "direction", "forward");
    enum vt_status status = vt_op_require_f32(ctx, 3);
    if (status != VT_OK) {
        return status;
    }
    memset(s, 0, sizeof(*s));
    layer->kind = strcmp(ctx->node->op, "LSTM") == 0  ? VT_RECURRENT_LSTM
                  : strcmp(ctx->node->op, "GRU") == 0 ? VT_RECURRENT_GRU
                                                      : VT_RECURRENT_RNN;
    layer->gemm = vt_gemm_kernel_find(vt_topology()->features);
    layer->way = vt_recurrent_way_find(vt_topology()->features);
    layer->directions = strcmp(direction, "bidirectional") == 0 ? 2 : 1;
    layer->reverse = strcmp(direction, "reverse") == 0;
    layer->batch_first = vt_node_int(ctx->node, "layout", 0) != 0;
    layer->clip = vt_node_float(ctx->node, "clip", 0.0f);
    layer->input_forget = vt_node_int(ctx->node, "input_forget", 0) != 0;
    layer->linear_before_reset = vt_node_int(ctx->node, "linear_before_reset", 0) != 0;
    status = read_shapes(ctx, layer);
    if (status == VT_OK) {
        status = read_activations(ctx, layer);
    }
    if (status != VT_OK) {
        return status;
    }

    choose_weights(ctx, layer);
    const size_t bytes = vt_recurrent_packed_floats(layer) * sizeof(float);
    size_t workspace = vt_op_align(vt_recurrent_workspace_bytes(layer, vt_pool_threads(ctx->pool)));
    for (uint32_t d = 0; d < layer->directions; d++) {
        uint64_t variant = vt_op_hash(VT_OP_HASH_START, &layer->gemm->nr, sizeof(uint32_t));
        variant = vt_op_hash(variant, &d, sizeof(d));
        if (layer->half_weights) {
            variant = vt_op_hash(variant, "f16", 3);
        }
        const uint64_t recurrence = vt_weights_name(ctx->weights, ctx->inputs[2]->data);
        variant = vt_op_hash(variant, &recurrence, sizeof(recurrence));
        if (ctx->inputs[1]->data == NULL || ctx->inputs[2]->data == NULL) {
            s->packed_offset[d] = workspace;
            workspace += vt_op_align(bytes);
            continue;
        }
        s->packing = d;
        s->packed[d] = vt_weights_pack(ctx->weights, ctx->inputs[1]->data, ctx->node->op, variant,
                                       bytes, pack, ctx);
        if (s->packed[d] == NULL) {
            return vt_op_fail(ctx, VT_ERR_MEMORY, "no memory for %zu bytes of packed weights",
                              bytes);
        }
    }
    *ret_workspace = workspace;
    return VT_OK;
}

static const void *data_of(const struct vt_op_context *ctx, uint32_t index)
{
    const struct vt_tensor *t = vt_op_input(ctx, index);
    return t != NULL ? t->data : NULL;
}

static enum vt_status run(struct vt_op_context *ctx)
{
    struct state *s = ctx->state;
    struct vt_recurrent_data data = {.x = ctx->inputs[0]->data,
                                     .bias = data_of(ctx, 3),
                                     .lengths = data_of(ctx, 4),
                                     .h = data_of(ctx, 5),
                                     .c = data_of(ctx, 6),
                                     .peephole = data_of(ctx, 7)};
    for (uint32_t d = 0; d < s->layer.directions; d++) {
        data.packed[d] = s->packed[d];
        if (data.packed[d] != NULL) {
            continue;
        }
        float *packed = (float *)(void *)((char *)ctx->workspace + s->packed_offset[d]);
        s->packing = d;
        pack(ctx, packed);
        data.packed[d] = packed;
    }
    data.y = ctx->outputs[0].data;
    data.last_h = ctx->n_outputs > 1 ? ctx->outputs[1].data : NULL;
    data.last_c = ctx->n_outputs > 2 ? ctx->outputs[2].data : NULL;
    vt_recurrent_run(&s->layer, &data, ctx->pool, ctx->workspace);
    return VT_OK;
}

static const struct vt_op ops[] = {
    {"", "LSTM", 0, sizeof(struct state), prepare, run},
    {"", "GRU", 0, sizeof(struct state), prepare, run},
    {"", "RNN", 0, sizeof(struct state), prepare, run},
};
VT_OP_FAMILY(vt_ops_recurrent, ops);
