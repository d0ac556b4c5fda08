/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>

#include "base/topology.h"
#include "kernels/attention/attention.h"
#include "kernels/gemm16/gemm16.h"
#include "plan/ops/support.h"

static const struct vt_tensor *given(const struct vt_op_context *ctx, uint32_t index)
{
    return vt_op_input(ctx, index);
}

/* Heads and lengths of the queries, keys and values. */
static enum vt_status read_shapes(const struct vt_op_context *ctx, struct vt_attention *a)
{
    const struct vt_tensor *q = ctx->inputs[0], *k = ctx->inputs[1], *v = ctx->inputs[2];
    const uint32_t len = q->rank == 3 ? 1 : 2;
    a->packed = q->rank == 3;
    a->q_heads = a->packed ? vt_node_int(ctx->node, "q_num_heads", 0) : q->dim[1];
    a->kv_heads = a->packed ? vt_node_int(ctx->node, "kv_num_heads", 0) : k->dim[1];
    if ((q->rank != 3 && q->rank != 4) || k->rank != q->rank || v->rank != q->rank ||
        a->q_heads < 1 || a->kv_heads < 1 || a->q_heads % a->kv_heads != 0) {
        return vt_op_fail(ctx, VT_ERR_FORMAT,
                          "%lld heads of queries do not share %lld heads of keys",
                          (long long)a->q_heads, (long long)a->kv_heads);
    }
    a->batch = q->dim[0];
    a->q_len = q->dim[len];
    a->kv_len = k->dim[len];
    a->size = q->dim[len + 1] / (a->packed ? a->q_heads : 1);
    a->v_size = v->dim[len + 1] / (a->packed ? a->kv_heads : 1);
    const int64_t q_row = a->size * (a->packed ? a->q_heads : 1);
    const int64_t k_row = a->size * (a->packed ? a->kv_heads : 1);
    const int64_t v_row = a->v_size * (a->packed ? a->kv_heads : 1);
    if (q->dim[len + 1] != q_row || k->dim[len + 1] != k_row || v->dim[len + 1] != v_row ||
        v->dim[len] != a->kv_len || k->dim[0] != a->batch || v->dim[0] != a->batch ||
        (!a->packed && v->dim[1] != a->kv_heads)) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "queries, keys and values do not fit together");
    }
    return VT_OK;
}

static enum vt_status read_past(const struct vt_op_context *ctx, struct vt_attention *a)
{
    const struct vt_tensor *k = given(ctx, 4), *v = given(ctx, 5), *valid = given(ctx, 6);
    if ((k == NULL) != (v == NULL) || (k != NULL && valid != NULL)) {
        return vt_op_fail(ctx, VT_ERR_FORMAT,
                          "past keys and values belong together, and without a number of valid "
                          "keys");
    }
    if (k != NULL && (k->dtype != VT_F32 || v->dtype != VT_F32)) {
        return vt_op_fail_type(ctx, k->dtype != VT_F32 ? k : v);
    }
    a->past_len = k != NULL && k->rank == 4 ? k->dim[2] : 0;
    const int64_t rows = a->batch * a->kv_heads * a->past_len;
    enum vt_status status = vt_op_require_count(ctx, 4, rows * a->size);
    if (status == VT_OK) {
        status = vt_op_require_count(ctx, 5, rows * a->v_size);
    }
    return status == VT_OK ? vt_op_require_count(ctx, 6, a->batch) : status;
}

/* The mask is broadcast to [batch][q_heads][q_len]; its last extent may be shorter than the keys.
 */
static enum vt_status read_mask(const struct vt_op_context *ctx, struct vt_attention *a)
{
    const struct vt_tensor *mask = given(ctx, 3);
    const int64_t wanted[3] = {a->batch, a->q_heads, a->q_len};
    if (mask == NULL) {
        return VT_OK;
    }
    if (mask->dtype != VT_BOOL && mask->dtype != VT_F32) {
        return vt_op_fail_type(ctx, mask);
    }
    a->mask_is_bool = mask->dtype == VT_BOOL;
    bool fits = mask->rank >= 1 && mask->rank <= 4;
    a->mask_len = fits ? mask->dim[mask->rank - 1] : 0;
    int64_t step = a->mask_len;
    for (uint32_t i = 1; fits && i < mask->rank; i++) { /* from the last but one */
        const int64_t extent = mask->dim[mask->rank - 1 - i];
        fits = extent == 1 || extent == wanted[3 - i];
        a->mask_step[3 - i] = extent == 1 ? 0 : step;
        step *= extent;
    }
    if (!fits || a->mask_len > a->past_len + a->kv_len) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "the mask cannot be broadcast to the scores");
    }
    return VT_OK;
}

/* Queries and keys: of fewer, tiles of bfloat16 stay half empty. */
#define BF16_LEAST 16

static enum vt_status attention_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    struct vt_attention *a = ctx->state;
    const int64_t stage = vt_node_int(ctx->node, "qk_matmul_output_mode", 0);
    enum vt_status status = vt_op_require_f32(ctx, 3);
    *a = (struct vt_attention){.gemm = vt_gemm_kernel_find(vt_topology()->features),
                               .way = vt_attention_way_find(vt_topology()->features),
                               .softcap = vt_node_float(ctx->node, "softcap", 0.0f),
                               .causal = vt_node_int(ctx->node, "is_causal", 0) != 0,
                               .left = vt_node_int(ctx->node, "left_window_size", -1),
                               .right = vt_node_int(ctx->node, "right_window_size", -1)};
    if (status == VT_OK && (stage < 0 || stage > 3)) {
        status = vt_op_fail(ctx, VT_ERR_FORMAT, "qk_matmul_output_mode is %lld, allowed are 0 to 3",
                            (long long)stage);
    }
    if (status == VT_OK) {
        status = read_shapes(ctx, a);
    }
    if (status == VT_OK) {
        status = read_past(ctx, a);
    }
    if (status == VT_OK) {
        status = read_mask(ctx, a);
    }
    if (status != VT_OK) {
        return status;
    }
    a->stage = (enum vt_attention_stage)stage;
    a->keeps_scores = ctx->n_outputs > 3;
    a->scale = vt_node_float(ctx->node, "scale", (float)(1 / sqrt((double)a->size)));
    if (ctx->precision == VT_PRECISION_BF16 && !a->keeps_scores && a->q_len >= BF16_LEAST &&
        a->past_len + a->kv_len >= BF16_LEAST) {
        a->bf16 = vt_gemm16_kernel_find(vt_topology()->features);
        (void)snprintf(ctx->kernel, sizeof(ctx->kernel), "bf16 %s",
                       a->bf16 != NULL ? a->bf16->name : "");
    }
    *ret_workspace = vt_attention_workspace_bytes(a, vt_pool_threads(ctx->pool));
    return VT_OK;
}

static const void *data_of(const struct vt_op_context *ctx, uint32_t index)
{
    const struct vt_tensor *t = given(ctx, index);
    return t != NULL ? t->data : NULL;
}

static float *output_of(const struct vt_op_context *ctx, uint32_t index)
{
    return index < ctx->n_outputs ? ctx->outputs[index].data : NULL;
}

static enum vt_status attention_run(struct vt_op_context *ctx)
{
    const struct vt_attention *a = ctx->state;
    const struct vt_attention_data data = {.q = data_of(ctx, 0),
                                           .k = data_of(ctx, 1),
                                           .v = data_of(ctx, 2),
                                           .mask = data_of(ctx, 3),
                                           .past_k = data_of(ctx, 4),
                                           .past_v = data_of(ctx, 5),
                                           .valid = data_of(ctx, 6),
                                           .y = ctx->outputs[0].data,
                                           .present_k = output_of(ctx, 1),
                                           .present_v = output_of(ctx, 2),
                                           .scores = output_of(ctx, 3)};
    for (int64_t i = 0; data.valid != NULL && i < a->batch; i++) {
        if (data.valid[i] < 0 || data.valid[i] > a->kv_len) {
            return vt_op_fail(ctx, VT_ERR_FORMAT, "%lld keys are valid, there are %lld",
                              (long long)data.valid[i], (long long)a->kv_len);
        }
    }
    vt_attention_run(a, &data, ctx->pool, ctx->workspace);
    return VT_OK;
}

static enum vt_status rotary_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    struct vt_rotary *r = ctx->state;
    const struct vt_tensor *x = ctx->inputs[0], *cosine = ctx->inputs[1];
    const struct vt_tensor *position = given(ctx, 3);
    enum vt_status status = vt_op_require_f32(ctx, 3);
    (void)ret_workspace;
    if (status != VT_OK) {
        return status;
    }
    if ((x->rank != 3 && x->rank != 4) || cosine->rank < 2 ||
        cosine->rank != (position != NULL ? 2u : 3u)) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "ranks %u and %u do not fit together", x->rank,
                          cosine->rank);
    }
    *r = (struct vt_rotary){.batch = x->dim[0],
                            .packed = x->rank == 3,
                            .interleaved = vt_node_int(ctx->node, "interleaved", 0) != 0,
                            .turned = vt_node_int(ctx->node, "rotary_embedding_dim", 0)};
    r->heads = r->packed ? vt_node_int(ctx->node, "num_heads", 0) : x->dim[1];
    r->len = x->dim[r->packed ? 1 : 2];
    if (r->heads < 1 || x->dim[x->rank - 1] % (r->packed ? r->heads : 1) != 0) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "num_heads is %lld, it must divide the last extent",
                          (long long)r->heads);
    }
    r->size = x->dim[x->rank - 1] / (r->packed ? r->heads : 1);
    r->turned = r->turned == 0 ? r->size : r->turned;
    r->positions = vt_op_product(cosine->dim, 0, cosine->rank - 1);
    if (r->turned < 0 || r->turned > r->size || r->turned % 2 != 0 ||
        cosine->dim[cosine->rank - 1] != r->turned / 2) {
        return vt_op_fail(ctx, VT_ERR_FORMAT,
                          "%lld numbers of a head cannot be turned by %lld "
                          "angles",
                          (long long)r->turned, (long long)cosine->dim[cosine->rank - 1]);
    }
    status = vt_op_require_count(ctx, 2, vt_op_elements(cosine));
    return status == VT_OK ? vt_op_require_count(ctx, 3, r->batch * r->len) : status;
}

static enum vt_status rotary_run(struct vt_op_context *ctx)
{
    const int64_t bad = vt_rotary_run(ctx->state, ctx->inputs[0]->data, ctx->inputs[1]->data,
                                      ctx->inputs[2]->data, data_of(ctx, 3), ctx->outputs[0].data);
    return bad < 0 ? VT_OK
                   : vt_op_fail(ctx, VT_ERR_FORMAT, "position %lld is beyond the tables",
                                (long long)bad);
}

/* Where TensorScatter writes: rows of `block` bytes along the axis. */
static enum vt_status cache_run(struct vt_op_context *ctx)
{
    const struct vt_tensor *past = ctx->inputs[0], *update = ctx->inputs[1];
    const struct vt_tensor *start = given(ctx, 2);
    const bool circular = strcmp(vt_node_string(ctx->node, "mode", "linear"), "circular") == 0;
    uint32_t axis = 0;
    enum vt_status status = vt_op_axis(ctx, vt_node_int(ctx->node, "axis", -2), past->rank, &axis);
    if (status != VT_OK || axis == 0) {
        return status != VT_OK ? status : vt_op_fail(ctx, VT_ERR_FORMAT, "axis cannot be 0");
    }
    const int64_t rows = past->dim[axis], n = update->dim[axis], batch = past->dim[0];
    const int64_t outer = vt_op_product(past->dim, 0, axis);
    const size_t block =
        (size_t)vt_op_product(past->dim, axis + 1, past->rank) * vt_dtype_bytes(past->dtype);
    if (ctx->outputs[0].data != past->data) {
        memcpy(ctx->outputs[0].data, past->data, past->bytes);
    }
    for (int64_t o = 0; o < outer; o++) {
        const int64_t first = start != NULL ? vt_op_int_at(start, o / (outer / batch)) : 0;
        for (int64_t i = 0; i < n; i++) {
            const int64_t row = circular && first >= 0 ? (first % rows + i) % rows : first + i;
            if (first < 0 || row >= rows || first > rows + INT32_MAX) {
                return vt_op_fail(ctx, VT_ERR_FORMAT, "row %lld does not exist, there are %lld",
                                  (long long)first, (long long)rows);
            }
            memcpy((char *)ctx->outputs[0].data + (size_t)(o * rows + row) * block,
                   (const char *)update->data + (size_t)(o * n + i) * block, block);
        }
    }
    return VT_OK;
}

static enum vt_status cache_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    const struct vt_tensor *past = ctx->inputs[0], *update = ctx->inputs[1];
    uint32_t axis = 0;
    (void)ret_workspace;
    enum vt_status status = vt_op_axis(ctx, vt_node_int(ctx->node, "axis", -2), past->rank, &axis);
    if (status != VT_OK) {
        return status;
    }
    if (vt_dtype_bytes(past->dtype) == 0 || update->dtype != past->dtype) {
        return vt_op_fail_type(ctx, update);
    }
    if (update->rank != past->rank || update->dim[axis] > past->dim[axis]) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "the update does not fit the cache");
    }
    for (uint32_t i = 0; i < past->rank; i++) {
        if (i != axis && update->dim[i] != past->dim[i]) {
            return vt_op_fail(ctx, VT_ERR_FORMAT, "update and cache differ in axis %u", i);
        }
    }
    return vt_op_require_count(ctx, 2, past->dim[0]);
}

static const struct vt_op ops[] = {
    {"", "Attention", 0, sizeof(struct vt_attention), attention_prepare, attention_run},
    {"", "RotaryEmbedding", 0, sizeof(struct vt_rotary), rotary_prepare, rotary_run},
    {"", "TensorScatter", VT_OP_IN_PLACE | VT_OP_ANY_FLOAT, 0, cache_prepare, cache_run},
};
VT_OP_FAMILY(vt_ops_attention, ops);
