/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/ops/matmul_plain.h"

#include "kernels/convert/convert.h"
#include "kernels/linear/linear.h"

enum vt_status vt_matmul_plain_prepare(const struct vt_op_context *ctx, uint32_t n_inputs)
{
    const struct vt_tensor *first = vt_op_input(ctx, 0);
    for (uint32_t i = 0; first != NULL && i < n_inputs; i++) {
        const struct vt_tensor *in = vt_op_input(ctx, i);
        if (in != NULL &&
            (in->dtype != first->dtype || in->dtype == VT_F32 || !vt_contract_knows(in->dtype))) {
            return vt_op_fail_type(ctx, in);
        }
    }
    return VT_OK;
}

static void keep(struct vt_contract *c, int64_t extent, int64_t a_step, int64_t b_step)
{
    c->kept[c->n_kept] = extent;
    c->kept_step[0][c->n_kept] = a_step;
    c->kept_step[1][c->n_kept++] = b_step;
}

static void sum_over(struct vt_contract *c, int64_t extent, int64_t a_step, int64_t b_step)
{
    c->n_summed = 1;
    c->summed[0] = extent;
    c->summed_step[0][0] = a_step;
    c->summed_step[1][0] = b_step;
}

/* Extent `i` from the end of a factor's batch, and the step that goes with it: 0 where broadcast.
 */
static int64_t batch_step(const struct vt_tensor *t, uint32_t i, int64_t *ret_extent)
{
    const uint32_t rank = t->rank > 2 ? t->rank - 2 : 0;
    *ret_extent = i < rank ? t->dim[rank - 1 - i] : 1;
    return *ret_extent == 1 ? 0 : vt_op_product(t->dim, rank - i, t->rank);
}

enum vt_status vt_matmul_plain_run(struct vt_op_context *ctx)
{
    const struct vt_tensor *a = ctx->inputs[0], *b = ctx->inputs[1];
    const void *const terms[2] = {a->data, b->data};
    struct vt_contract c = {.dtype = a->dtype, .n_terms = 2};
    const uint32_t rank = a->rank > b->rank ? a->rank : b->rank;
    const int64_t m = a->rank == 1 ? 1 : a->dim[a->rank - 2], k = a->dim[a->rank - 1];
    const int64_t n = b->rank == 1 ? 1 : b->dim[b->rank - 1];
    for (uint32_t i = rank > 2 ? rank - 2 : 0; i-- > 0;) {
        int64_t from_a, from_b;
        const int64_t a_step = batch_step(a, i, &from_a), b_step = batch_step(b, i, &from_b);
        keep(&c, from_a == 1 ? from_b : from_a, a_step, b_step);
    }
    keep(&c, m, k, 0);
    keep(&c, n, 0, 1);
    sum_over(&c, k, 1, n);
    vt_contract_run(&c, terms, ctx->outputs[0].data, ctx->pool);
    return VT_OK;
}

/* y = alpha·y + beta·c for one element. Where both are 1, integers stay exact. */
static void add_one(enum vt_dtype dtype, void *y, const void *c, double alpha, double beta)
{
    const bool plain = alpha == 1.0 && (c == NULL || beta == 1.0);
    if (plain && c == NULL) {
        return;
    }
    if (plain && (dtype == VT_I64 || dtype == VT_U64)) {
        *(uint64_t *)y += *(const uint64_t *)c;
        return;
    }
    if (plain && (dtype == VT_I32 || dtype == VT_U32)) {
        *(uint32_t *)y += *(const uint32_t *)c;
        return;
    }
    double sum = 0, addend = 0;
    vt_convert(dtype, y, VT_F64, &sum, 1);
    sum *= alpha;
    if (c != NULL) {
        vt_convert(dtype, c, VT_F64, &addend, 1);
        sum += beta * addend;
    }
    vt_convert(VT_F64, &sum, dtype, y, 1);
}

enum vt_status vt_gemm_plain_run(struct vt_op_context *ctx)
{
    const struct vt_tensor *a = ctx->inputs[0], *b = ctx->inputs[1], *c = vt_op_input(ctx, 2);
    const void *const terms[2] = {a->data, b->data};
    struct vt_contract product = {.dtype = a->dtype, .n_terms = 2};
    const bool ta = vt_node_int(ctx->node, "transA", 0) != 0;
    const bool tb = vt_node_int(ctx->node, "transB", 0) != 0;
    const double alpha = (double)vt_node_float(ctx->node, "alpha", 1.0f);
    const double beta = (double)vt_node_float(ctx->node, "beta", 1.0f);
    const int64_t m = ctx->outputs[0].dim[0], n = ctx->outputs[0].dim[1];
    const int64_t k = a->dim[ta ? 0 : 1];
    const int64_t cols = c != NULL && c->rank > 0 ? c->dim[c->rank - 1] : 1;
    const int64_t rows = c != NULL && c->rank > 1 ? c->dim[c->rank - 2] : 1;
    const size_t bytes = vt_dtype_bytes(a->dtype);
    if (c != NULL && (c->rank > 2 || (cols != 1 && cols != n) || (rows != 1 && rows != m))) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "C cannot be broadcast to %lldx%lld", (long long)m,
                          (long long)n);
    }
    keep(&product, m, ta ? 1 : k, 0);
    keep(&product, n, 0, tb ? k : 1);
    sum_over(&product, k, ta ? m : 1, tb ? 1 : n);
    vt_contract_run(&product, terms, ctx->outputs[0].data, ctx->pool);
    for (int64_t i = 0; i < m * n; i++) {
        const int64_t from = (rows == 1 ? 0 : i / n * cols) + (cols == 1 ? 0 : i % n);
        add_one(a->dtype, (char *)ctx->outputs[0].data + (size_t)i * bytes,
                c != NULL ? (const char *)c->data + (size_t)from * bytes : NULL, alpha, beta);
    }
    return VT_OK;
}
