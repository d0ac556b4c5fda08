/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/topology.h"
#include "kernels/finish.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/half.h"
#include "kernels/gemm16/gemm16.h"
#include "plan/ops/matmul_plain.h"

#define BATCH_DIMS VT_RANK_MAX

struct state {
    struct vt_gemm gemm;
    const float *packed_b; /* NULL: B is packed by each run */
    bool beyond_half;      /* B has numbers that float16 has not */
    /* The batch of MatMul: extents, and how far a step goes in each factor (0: broadcast). */
    uint32_t batch_rank;
    int64_t batch_dim[BATCH_DIMS], a_step[BATCH_DIMS], b_step[BATCH_DIMS];
    /* Gemm. */
    float alpha, beta;
    bool separate;        /* the epilogue is a pass of its own */
    int64_t c_row, c_col; /* strides of C, 0 where it is broadcast */
};

/* The operands of a run, for the kernel's callback. */
struct operands {
    const struct state *state;
    struct vt_gemm_place first;
};

static void locate(const void *ctx, int64_t batch, struct vt_gemm_place *ret)
{
    const struct operands *o = ctx;
    const struct state *s = o->state;
    int64_t a = 0, b = 0, rest = batch;
    *ret = o->first;
    for (uint32_t i = s->batch_rank; i-- > 0;) {
        const int64_t index = rest % s->batch_dim[i];
        rest /= s->batch_dim[i];
        a += index * s->a_step[i];
        b += index * s->b_step[i];
    }
    ret->a += a;
    if (!s->gemm.b_packed) {
        ret->b += b;
    }
    ret->c += batch * s->gemm.m * s->gemm.n;
    if (ret->residual != NULL) {
        ret->residual += batch * s->gemm.m * s->gemm.n;
    }
}

static void pack_b(void *context, void *ret_packed)
{
    const struct vt_op_context *ctx = context;
    const struct state *s = ctx->state;
    const struct vt_gemm_matrix b = {ctx->inputs[1]->data, s->gemm.b_row_stride,
                                     s->gemm.b_col_stride};
    vt_gemm_pack_b(s->gemm.kernel, s->gemm.k, s->gemm.n, &b, ret_packed);
}

static void pack_b16(void *context, void *ret_packed)
{
    const struct vt_op_context *ctx = context;
    const struct state *s = ctx->state;
    const struct vt_gemm_matrix b = {ctx->inputs[1]->data, s->gemm.b_row_stride,
                                     s->gemm.b_col_stride};
    vt_gemm16_pack_b(s->gemm.k, s->gemm.n, &b, ret_packed);
}

static enum vt_status pack_as(struct vt_op_context *ctx, const char *kind, size_t bytes,
                              vt_pack_func pack)
{
    struct state *s = ctx->state;
    const uint64_t variant = vt_op_hash(VT_OP_HASH_START, &s->gemm.b_row_stride, sizeof(int64_t));
    s->packed_b =
        vt_weights_pack(ctx->weights, ctx->inputs[1]->data, kind, variant, bytes, pack, ctx);
    if (s->packed_b == NULL) {
        return vt_op_fail(ctx, VT_ERR_MEMORY, "no memory for %zu bytes of packed weights", bytes);
    }
    return VT_OK;
}

static void pack_half(void *context, void *ret_packed)
{
    const struct vt_op_context *ctx = context;
    const struct state *s = ctx->state;
    const struct vt_gemm_matrix b = {ctx->inputs[1]->data, s->gemm.b_row_stride,
                                     s->gemm.b_col_stride};
    vt_gemm_half_pack(s->gemm.k, s->gemm.n, &b, ret_packed);
}

/* Decides about float16 for weights. */
static enum vt_status choose_half(struct vt_op_context *ctx)
{
    struct state *s = ctx->state;
    size_t bytes = 0;
    s->gemm.half = NULL;
    s->beyond_half = false;
    if (ctx->precision != VT_PRECISION_FP16W || !vt_gemm_half_pays(&s->gemm)) {
        return VT_OK;
    }
    s->beyond_half = !vt_gemm_half_holds(ctx->inputs[1]->data, s->gemm.k * s->gemm.n);
    if (s->beyond_half) {
        return VT_OK;
    }
    if (!vt_gemm_half_size(s->gemm.k, s->gemm.n, &bytes)) {
        return vt_op_fail(ctx, VT_ERR_LIMIT, "the second matrix is too large to pack");
    }
    s->gemm.half = vt_gemm_half_find(vt_topology()->features);
    return pack_as(ctx, "gemm.f16", bytes, pack_half);
}

/* Decides about bfloat16; B, where it is to be packed, is packed so. */
static enum vt_status choose_bf16(struct vt_op_context *ctx)
{
    struct state *s = ctx->state;
    size_t bytes = 0;
    s->gemm.bf16 = NULL;
    if (ctx->precision != VT_PRECISION_BF16 || !vt_gemm16_pays(&s->gemm)) {
        return VT_OK;
    }
    if (s->gemm.b_packed) {
        if (!vt_gemm16_packed_b_size(s->gemm.k, s->gemm.n, &bytes)) {
            return vt_op_fail(ctx, VT_ERR_LIMIT, "the second matrix is too large to pack");
        }
        const enum vt_status status = pack_as(ctx, "gemm.bf16", bytes, pack_b16);
        if (status != VT_OK) {
            return status;
        }
    }
    s->gemm.bf16 = vt_gemm16_kernel_find(vt_topology()->features);
    return VT_OK;
}

static enum vt_status pack_constant_b(struct vt_op_context *ctx)
{
    struct state *s = ctx->state;
    size_t floats;
    s->packed_b = NULL;
    s->gemm.b_packed = s->batch_rank == 0 && ctx->inputs[1]->data != NULL;
    enum vt_status status = choose_bf16(ctx);
    if (status == VT_OK) {
        status = choose_half(ctx);
    }
    if (status != VT_OK || s->packed_b != NULL || s->gemm.bf16 != NULL || !s->gemm.b_packed) {
        return status;
    }
    uint64_t variant = vt_op_hash(VT_OP_HASH_START, &s->gemm.kernel->nr, sizeof(uint32_t));
    variant = vt_op_hash(variant, &s->gemm.b_row_stride, sizeof(int64_t));
    if (!vt_gemm_packed_b_size(s->gemm.kernel, s->gemm.k, s->gemm.n, &floats) ||
        floats > SIZE_MAX / sizeof(float)) {
        return vt_op_fail(ctx, VT_ERR_LIMIT, "the second matrix is too large to pack");
    }
    s->packed_b = vt_weights_pack(ctx->weights, ctx->inputs[1]->data, "gemm.b", variant,
                                  floats * sizeof(float), pack_b, ctx);
    if (s->packed_b == NULL) {
        return vt_op_fail(ctx, VT_ERR_MEMORY, "no memory for %zu bytes of packed weights",
                          floats * sizeof(float));
    }
    return VT_OK;
}

static void set_finish(struct state *s, const struct vt_epilogue *epilogue)
{
    s->gemm.finish = (struct vt_gemm_finish){epilogue->activation, epilogue->alpha, epilogue->beta};
}

/* A factor as MatMul sees it: at least a matrix, each axis so many elements from one to the next.
 */
struct factor {
    uint32_t rank;
    int64_t dim[VT_RANK_MAX + 1], step[VT_RANK_MAX + 1];
    bool dense; /* the steps are those of its extents */
};

static void read_factor(const struct vt_op_context *ctx, uint32_t i, struct factor *ret)
{
    const struct vt_tensor *x = ctx->inputs[i];
    const bool ordered = ctx->order != NULL && ctx->order->given[i];
    int64_t step[VT_RANK_MAX], at = 1;
    for (uint32_t d = x->rank; d-- > 0;) {
        step[d] = at;
        at *= x->dim[d];
    }
    ret->rank = x->rank;
    ret->dense = !ordered;
    for (uint32_t d = 0; d < x->rank; d++) {
        const uint32_t axis = ordered ? ctx->order->perm[i][d] : d;
        ret->dim[d] = x->dim[axis];
        ret->step[d] = step[axis];
    }
    if (x->rank == 1) { /* a row before the product, a column behind it */
        ret->rank = 2;
        ret->dim[1] = i == 0 ? ret->dim[0] : 1;
        ret->dim[0] = i == 0 ? 1 : ret->dim[0];
        ret->step[0] = i == 0 ? ret->dim[1] : 1;
        ret->step[1] = 1;
    }
}

/* The batch extents of both factors, aligned at the end. */
static void read_batch(struct state *s, const struct factor *a, const struct factor *b)
{
    const uint32_t a_rank = a->rank - 2, b_rank = b->rank - 2;
    const uint32_t rank = a_rank > b_rank ? a_rank : b_rank;
    s->batch_rank = rank;
    s->gemm.batches = 1;
    for (uint32_t i = 0; i < rank; i++) { /* from the last */
        const int64_t ad = i < a_rank ? a->dim[a_rank - 1 - i] : 1;
        const int64_t bd = i < b_rank ? b->dim[b_rank - 1 - i] : 1;
        const uint32_t at = rank - 1 - i;
        s->batch_dim[at] = ad == 1 ? bd : ad;
        s->a_step[at] = ad == 1 ? 0 : a->step[a_rank - 1 - i];
        s->b_step[at] = bd == 1 ? 0 : b->step[b_rank - 1 - i];
        s->gemm.batches *= s->batch_dim[at];
    }
}

/* "gemm 14x32, packed": the micro-kernel's tile, and whether B was packed once for all runs. */
static void name_kernel(struct vt_op_context *ctx)
{
    const struct state *state = ctx->state;
    const struct vt_gemm *gemm = &state->gemm;
    if (gemm->bf16 != NULL) {
        (void)snprintf(ctx->kernel, sizeof(ctx->kernel), "gemm bf16 %s%s", gemm->bf16->name,
                       gemm->b_packed ? ", packed" : "");
        return;
    }
    if (gemm->half != NULL) {
        (void)snprintf(ctx->kernel, sizeof(ctx->kernel), "gemm fp16 weights, packed");
        return;
    }
    (void)snprintf(ctx->kernel, sizeof(ctx->kernel), "gemm %ux%u%s%s", gemm->kernel->mr,
                   gemm->kernel->nr, gemm->b_packed ? ", packed" : "",
                   state->beyond_half ? ", beyond fp16" : "");
}

static enum vt_status matmul_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    struct state *s = ctx->state;
    const struct vt_tensor *a = ctx->inputs[0], *b = ctx->inputs[1];
    const bool plain = a->dtype != VT_F32;
    enum vt_status status = plain ? vt_matmul_plain_prepare(ctx, 2) : vt_op_require_f32(ctx, 2);
    if (status != VT_OK) {
        return status;
    }
    if (a->rank == 0 || b->rank == 0) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "a factor is a scalar");
    }
    struct vt_gemm *g = &s->gemm;
    struct factor first, second;
    *g = (struct vt_gemm){.kernel = vt_gemm_kernel_find(vt_topology()->features)};
    read_factor(ctx, 0, &first);
    read_factor(ctx, 1, &second);
    g->m = first.dim[first.rank - 2];
    g->k = first.dim[first.rank - 1];
    g->n = second.dim[second.rank - 1];
    if (g->k != second.dim[second.rank - 2]) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "the inner extents differ: %lld and %lld",
                          (long long)g->k, (long long)second.dim[second.rank - 2]);
    }
    if (plain) {
        return VT_OK;
    }
    read_batch(s, &first, &second);
    if (vt_op_elements(b) == g->k * g->n && g->batches > 0 && first.dense) {
        /* One B for all: the batch of A is just more rows. */
        g->m = vt_op_elements(&ctx->outputs[0]) / (g->n > 0 ? g->n : 1);
        g->batches = 1;
        s->batch_rank = 0;
    }
    g->ldc = g->n;
    g->a_row_stride = first.step[first.rank - 2];
    g->a_col_stride = first.step[first.rank - 1];
    g->b_row_stride = second.step[second.rank - 2];
    g->b_col_stride = second.step[second.rank - 1];
    g->locate = locate;
    set_finish(s, ctx->epilogue);
    status = pack_constant_b(ctx);
    if (status != VT_OK) {
        return status;
    }
    ctx->over_residual = vt_gemm_over_residual(g);
    name_kernel(ctx);
    *ret_workspace = vt_gemm_workspace_bytes(g, vt_pool_threads(ctx->pool));
    return VT_OK;
}

static void run_product(struct vt_op_context *ctx, const struct vt_gemm_place *place)
{
    const struct state *s = ctx->state;
    const struct operands operands = {s, *place};
    struct vt_gemm gemm = s->gemm;
    gemm.ctx = &operands;
    vt_gemm_run(&gemm, ctx->pool, ctx->workspace);
}

static enum vt_status matmul_run(struct vt_op_context *ctx)
{
    const struct state *s = ctx->state;
    const struct vt_tensor *bias = vt_op_bias(ctx), *residual = vt_op_residual(ctx);
    if (ctx->inputs[0]->dtype != VT_F32) {
        return vt_matmul_plain_run(ctx);
    }
    const struct vt_gemm_place place = {
        .a = ctx->inputs[0]->data,
        .b = s->packed_b != NULL ? s->packed_b : ctx->inputs[1]->data,
        .c = ctx->outputs[0].data,
        .col_bias = bias != NULL ? bias->data : NULL,
        .residual = residual != NULL ? residual->data : NULL,
    };
    run_product(ctx, &place);
    return VT_OK;
}

/* Strides of C under broadcast to m x n. */
static enum vt_status read_c(const struct vt_op_context *ctx, struct state *s,
                             const struct vt_tensor *c)
{
    const int64_t cols = c->rank >= 1 ? c->dim[c->rank - 1] : 1;
    const int64_t rows = c->rank >= 2 ? c->dim[c->rank - 2] : 1;
    if (c->rank > 2 || (cols != 1 && cols != s->gemm.n) || (rows != 1 && rows != s->gemm.m)) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "C cannot be broadcast to %lldx%lld",
                          (long long)s->gemm.m, (long long)s->gemm.n);
    }
    s->c_col = cols == 1 && s->gemm.n != 1 ? 0 : 1;
    s->c_row = rows == 1 && s->gemm.m != 1 ? 0 : cols;
    return VT_OK;
}

static enum vt_status gemm_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    struct state *s = ctx->state;
    const struct vt_tensor *a = ctx->inputs[0], *b = ctx->inputs[1], *c = vt_op_input(ctx, 2);
    const bool ta = vt_node_int(ctx->node, "transA", 0) != 0;
    const bool tb = vt_node_int(ctx->node, "transB", 0) != 0;
    const bool plain = a->dtype != VT_F32;
    enum vt_status status = plain ? vt_matmul_plain_prepare(ctx, 3) : vt_op_require_f32(ctx, 3);
    if (status != VT_OK) {
        return status;
    }
    if (a->rank != 2 || b->rank != 2) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "A and B must be matrices, they have ranks %u and %u",
                          a->rank, b->rank);
    }
    struct vt_gemm *g = &s->gemm;
    *g = (struct vt_gemm){.kernel = vt_gemm_kernel_find(vt_topology()->features)};
    g->m = a->dim[ta ? 1 : 0];
    g->k = a->dim[ta ? 0 : 1];
    g->n = b->dim[tb ? 0 : 1];
    if (g->k != b->dim[tb ? 1 : 0]) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "the inner extents differ: %lld and %lld",
                          (long long)g->k, (long long)b->dim[tb ? 1 : 0]);
    }
    if (plain) {
        return VT_OK;
    }
    g->batches = 1;
    g->ldc = g->n;
    g->a_row_stride = ta ? 1 : g->k;
    g->a_col_stride = ta ? g->m : 1;
    g->b_row_stride = tb ? 1 : g->n;
    g->b_col_stride = tb ? g->k : 1;
    g->locate = locate;
    s->batch_rank = 0;
    s->alpha = vt_node_float(ctx->node, "alpha", 1.0f);
    s->beta = vt_node_float(ctx->node, "beta", 1.0f);
    s->c_row = s->c_col = 0;
    if (c != NULL) {
        status = read_c(ctx, s, c);
        if (status != VT_OK) {
            return status;
        }
    }
    /* The kernel adds a vector along either side, or one matrix. */
    s->separate = s->alpha != 1.0f || (c != NULL && s->beta != 1.0f) ||
                  (c != NULL && s->c_row == 0 && s->c_col == 0) ||
                  (c != NULL && s->c_row != 0 && s->c_col != 0 && ctx->epilogue->has_residual);
    if (!s->separate) {
        set_finish(s, ctx->epilogue);
    }
    status = pack_constant_b(ctx);
    if (status == VT_OK) {
        ctx->over_residual = !s->separate && vt_gemm_over_residual(g);
        name_kernel(ctx);
        *ret_workspace = vt_gemm_workspace_bytes(g, vt_pool_threads(ctx->pool));
    }
    return status;
}

/* y = act(alpha·y + beta·C + residual) where the kernel's own last step cannot say that. */
static void finish_separately(const struct vt_op_context *ctx)
{
    const struct state *s = ctx->state;
    const struct vt_tensor *c = vt_op_input(ctx, 2), *residual = vt_op_residual(ctx);
    const struct vt_gemm_finish finish = {ctx->epilogue->activation, ctx->epilogue->alpha,
                                          ctx->epilogue->beta};
    for (int64_t i = 0; i < s->gemm.m; i++) {
        float *y = (float *)ctx->outputs[0].data + i * s->gemm.n;
        for (int64_t j = 0; j < s->gemm.n; j++) {
            float x = s->alpha * y[j];
            if (c != NULL) {
                x += s->beta * ((const float *)c->data)[i * s->c_row + j * s->c_col];
            }
            if (residual != NULL) {
                x += ((const float *)residual->data)[i * s->gemm.n + j];
            }
            y[j] = vt_finish_one(&finish, x);
        }
    }
}

static enum vt_status gemm_run(struct vt_op_context *ctx)
{
    const struct state *s = ctx->state;
    const struct vt_tensor *c = vt_op_input(ctx, 2), *residual = vt_op_residual(ctx);
    if (ctx->inputs[0]->dtype != VT_F32) {
        return vt_gemm_plain_run(ctx);
    }
    struct vt_gemm_place place = {
        .a = ctx->inputs[0]->data,
        .b = s->packed_b != NULL ? s->packed_b : ctx->inputs[1]->data,
        .c = ctx->outputs[0].data,
    };
    if (!s->separate) {
        place.residual = residual != NULL ? residual->data : NULL;
        if (c != NULL && s->c_row == 0) {
            place.col_bias = c->data;
        } else if (c != NULL && s->c_col == 0) {
            place.row_bias = c->data;
        } else if (c != NULL) {
            place.residual = c->data;
        }
    }
    run_product(ctx, &place);
    if (s->separate) {
        finish_separately(ctx);
    }
    return VT_OK;
}

static const struct vt_op ops[] = {
    {"", "MatMul", VT_OP_EPILOGUE | VT_OP_BIAS, sizeof(struct state), matmul_prepare, matmul_run},
    {"", "Gemm", VT_OP_EPILOGUE, sizeof(struct state), gemm_prepare, gemm_run},
};
VT_OP_FAMILY(vt_ops_matmul, ops);
