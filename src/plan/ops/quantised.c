/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/ops/quantised.h"

#include <math.h>
#include <stdio.h>

#include "base/topology.h"

#define NONE VT_Q_NONE
const struct vt_q_places vt_q_integer_places = {0,    NONE, 2,    1,    NONE, 3,    NONE,
                                                NONE, NONE, NONE, NONE, NONE, NONE, NONE};
const struct vt_q_places vt_q_linear_places = {0, 1, 2,    3,    4,    5,    6,
                                               7, 8, NONE, NONE, NONE, NONE, NONE};
const struct vt_q_places vt_q_step_places = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13};

static bool is_byte(const struct vt_tensor *t)
{
    return t->dtype == VT_I8 || t->dtype == VT_U8;
}

/* Whether `place` is empty or holds one number of the type, or `n` of them. */
static bool holds(const struct vt_op_context *ctx, uint32_t place, enum vt_dtype dtype, int64_t n)
{
    const struct vt_tensor *t = vt_q_at(ctx, place);
    return t == NULL || (t->dtype == dtype && (vt_op_elements(t) == 1 || vt_op_elements(t) == n));
}

bool vt_q_fits(const struct vt_op_context *ctx, const struct vt_q_places *p, int64_t rows)
{
    const struct vt_tensor *a = vt_q_at(ctx, p->a), *b = vt_q_at(ctx, p->b);
    const struct vt_tensor *bias = vt_q_at(ctx, p->bias), *y_zero = vt_q_at(ctx, p->y_zero);
    return is_byte(a) && is_byte(b) && b->data != NULL && holds(ctx, p->a_zero, a->dtype, 1) &&
           holds(ctx, p->a_scale, VT_F32, 1) && holds(ctx, p->b_zero, b->dtype, rows) &&
           holds(ctx, p->b_scale, VT_F32, rows) && holds(ctx, p->y_scale, VT_F32, 1) &&
           (y_zero == NULL || (is_byte(y_zero) && vt_op_elements(y_zero) == 1)) &&
           (bias == NULL ||
            ((bias->dtype == VT_I32 || bias->dtype == VT_F32) && vt_op_elements(bias) == rows));
}

/* Four arrays, a number a row: bias, zero points of the weights, factors, offsets. */
void vt_q_reserve(struct vt_q_product *product, size_t *workspace)
{
    product->rows_offset = *workspace;
    *workspace += 4 * vt_op_align((size_t)product->rows * sizeof(int32_t));
}

static void *row_array(const struct vt_op_context *ctx, const struct vt_q_product *product,
                       uint32_t i)
{
    const size_t bytes = vt_op_align((size_t)product->rows * sizeof(int32_t));
    return (char *)ctx->workspace + product->rows_offset + i * bytes;
}

static int32_t byte_at(const struct vt_tensor *t, int64_t i)
{
    if (t == NULL) {
        return 0;
    }
    return t->dtype == VT_I8 ? ((const int8_t *)t->data)[i] : ((const uint8_t *)t->data)[i];
}

static float scale_at(const struct vt_op_context *ctx, uint32_t place, int64_t i)
{
    const struct vt_tensor *t = vt_q_at(ctx, place);
    return t == NULL ? 1.0f : ((const float *)t->data)[vt_op_elements(t) > 1 ? i : 0];
}

static bool may_have_zeros(const struct vt_op_context *ctx, const struct vt_q_product *product)
{
    return vt_q_at(ctx, product->places->b_zero) != NULL || product->flip != 0;
}

/* The zero points of the weights after the flip; NULL where all are 0. */
static const int32_t *read_weight_zeros(const struct vt_op_context *ctx,
                                        const struct vt_q_product *product)
{
    const struct vt_tensor *zero = vt_q_at(ctx, product->places->b_zero);
    const int32_t moved = product->flip != 0 ? 128 : 0;
    int32_t *out = row_array(ctx, product, 1), any = 0;
    const bool many = zero != NULL && vt_op_elements(zero) > 1;
    for (int64_t i = 0; i < product->rows; i++) {
        out[i] = byte_at(zero, many ? i : 0) - moved;
        any |= out[i];
    }
    return any != 0 ? out : NULL;
}

/* bias less (zero of the data as uint8)·sum(w - zero of w); wraps like the sums. */
static void make_bias(const struct vt_op_context *ctx, const struct vt_q_product *product,
                      const int32_t *weight_zero, uint32_t zero)
{
    const struct vt_tensor *bias = vt_q_at(ctx, product->places->bias);
    const bool whole = bias != NULL && bias->dtype == VT_I32;
    int32_t *out = row_array(ctx, product, 0);
    for (int64_t i = 0; i < product->rows; i++) {
        uint32_t sum = (uint32_t)product->sums[i];
        if (weight_zero != NULL) {
            sum -= (uint32_t)product->depth * (uint32_t)weight_zero[i];
        }
        const uint32_t own = whole ? (uint32_t)((const int32_t *)bias->data)[i] : 0;
        out[i] = (int32_t)(own - zero * sum);
    }
}

void vt_q_bounds(const struct vt_epilogue *epilogue, float scale, float zero, bool is_signed,
                 float *ret_low, float *ret_high)
{
    const float low = is_signed ? -128.0f : 0.0f, high = is_signed ? 127.0f : 255.0f;
    float a = low, b = high;
    if (epilogue->activation == VT_ACT_RELU) {
        a = zero;
    } else if (epilogue->activation == VT_ACT_CLIP) {
        a = rintf(epilogue->alpha / scale) + zero;
        b = rintf(epilogue->beta / scale) + zero;
    }
    /* NaN bounds are none. */
    a = a > low ? a : low;
    *ret_low = a < high ? a : high;
    b = b < high ? b : high;
    *ret_high = b > low ? b : low;
}

static void finish_quantised(const struct vt_op_context *ctx, const struct vt_q_places *p,
                             struct vt_gemm8_finish *f)
{
    static const struct vt_epilogue plain = {.activation = VT_ACT_NONE};
    const struct vt_tensor *y_zero = vt_q_at(ctx, p->y_zero);
    const struct vt_tensor *residual = vt_q_at(ctx, p->residual);
    const bool is_signed = f->output == VT_I8;
    const float scale = scale_at(ctx, p->y_scale, 0);
    f->zero = (float)byte_at(y_zero, 0);
    vt_q_bounds(residual == NULL ? ctx->epilogue : &plain, scale, f->zero,
                y_zero != NULL && y_zero->dtype == VT_I8, &f->low, &f->high);
    if (residual == NULL) {
        return;
    }
    const float sum_scale = scale_at(ctx, p->sum_scale, 0);
    f->has_residual = true;
    f->residual_signed = residual->dtype == VT_I8;
    f->residual_zero = (float)byte_at(vt_q_at(ctx, p->residual_zero), 0);
    f->residual_factor = scale_at(ctx, p->residual_scale, 0) / sum_scale;
    f->sum_factor = scale / sum_scale;
    f->sum_zero = (float)byte_at(vt_q_at(ctx, p->sum_zero), 0);
    vt_q_bounds(ctx->epilogue, sum_scale, f->sum_zero, is_signed, &f->sum_low, &f->sum_high);
}

static void make_factors(const struct vt_op_context *ctx, const struct vt_q_product *product,
                         struct vt_gemm8_finish *f)
{
    const struct vt_q_places *p = product->places;
    const struct vt_tensor *bias = vt_q_at(ctx, p->bias);
    const float a = scale_at(ctx, p->a_scale, 0), y = scale_at(ctx, p->y_scale, 0);
    float *factor = row_array(ctx, product, 2), *offset = row_array(ctx, product, 3);
    for (int64_t i = 0; i < product->rows; i++) {
        factor[i] = a * scale_at(ctx, p->b_scale, i) / y;
    }
    f->factor = factor;
    if (bias != NULL && bias->dtype == VT_F32) {
        for (int64_t i = 0; i < product->rows; i++) {
            offset[i] = ((const float *)bias->data)[i] / y;
        }
        f->offset = offset;
    }
}

void vt_q_begin(const struct vt_op_context *ctx, const struct vt_q_product *product,
                struct vt_q_run *ret)
{
    const struct vt_q_places *p = product->places;
    struct vt_gemm8_finish *f = &ret->finish;
    memset(ret, 0, sizeof(*ret));
    ret->a_signed = vt_q_at(ctx, p->a)->dtype == VT_I8;
    ret->a_zero = byte_at(vt_q_at(ctx, p->a_zero), 0);
    f->output = ctx->outputs[0].dtype;
    f->a_zero = read_weight_zeros(ctx, product);
    f->bias = row_array(ctx, product, 0);
    make_bias(ctx, product, f->a_zero, (uint32_t)(ret->a_zero + (ret->a_signed ? 128 : 0)));
    if (f->output == VT_I32) {
        return;
    }
    make_factors(ctx, product, f);
    if (f->output == VT_F32) {
        f->low = -INFINITY;
        f->high = INFINITY;
        return;
    }
    finish_quantised(ctx, p, f);
}

/* --- convolution ---------------------------------------------------------------------------- */

struct conv_packing {
    const struct vt_q_conv *q;
    const uint8_t *weights;
};

static void pack_conv(void *context, void *ret_packed)
{
    const struct conv_packing *p = context;
    vt_conv8_pack(&p->q->conv, p->weights, p->q->product.flip, ret_packed);
}

static void pack_conv_sums(void *context, void *ret_packed)
{
    const struct conv_packing *p = context;
    vt_conv8_sums(&p->q->conv, p->weights, p->q->product.flip, ret_packed);
}

enum vt_status vt_q_conv_prepare(struct vt_op_context *ctx, struct vt_q_conv *q,
                                 const struct vt_q_places *places, size_t *ret_workspace)
{
    const struct vt_tensor *x = vt_q_at(ctx, places->a), *w = vt_q_at(ctx, places->b);
    struct vt_conv8 *c = &q->conv;
    struct vt_window window;
    enum vt_status status = vt_window_read(ctx, x, &ctx->outputs[0], w->dim + 2, false, &window);
    if (status != VT_OK) {
        return status;
    }
    memset(q, 0, sizeof(*q));
    *c = (struct vt_conv8){.batch = window.batch,
                           .groups = vt_node_int(ctx->node, "group", 1),
                           .in_channels = window.channels,
                           .out_channels = ctx->outputs[0].dim[1],
                           .in_signed = x->dtype == VT_I8};
    memcpy(c->in, window.in, sizeof(c->in));
    memcpy(c->out, window.out, sizeof(c->out));
    memcpy(c->kernel, window.kernel, sizeof(c->kernel));
    memcpy(c->stride, window.stride, sizeof(c->stride));
    memcpy(c->dilation, window.dilation, sizeof(c->dilation));
    memcpy(c->pad, window.pad, sizeof(c->pad));
    if (c->groups < 1 || c->in_channels % c->groups != 0 || c->out_channels % c->groups != 0 ||
        w->dim[0] != c->out_channels || w->dim[1] != c->in_channels / c->groups) {
        return vt_op_fail(ctx, VT_ERR_FORMAT,
                          "the weights are %lldx%lld…, which does not fit %lld input channels in "
                          "%lld groups",
                          (long long)w->dim[0], (long long)w->dim[1], (long long)c->in_channels,
                          (long long)c->groups);
    }
    if (!vt_conv8_fits(c)) {
        return vt_op_fail(ctx, VT_ERR_LIMIT, "padding and dilation make the image too large");
    }
    vt_conv8_init(c, vt_topology()->features);
    vt_conv8_kernel_name(c, ctx->kernel, sizeof(ctx->kernel));
    q->product = (struct vt_q_product){
        .places = places,
        .rows = c->out_channels,
        .depth = vt_op_product(w->dim, 1, w->rank),
        .flip = w->dtype == VT_U8 ? 0x80 : 0,
    };
    struct conv_packing packing = {q, w->data};
    const uint64_t key = vt_conv8_packed_key(c);
    const size_t bytes = vt_conv8_packed_bytes(c);
    q->product.packed =
        vt_weights_pack(ctx->weights, w->data, "conv8", key, bytes, pack_conv, &packing);
    q->product.sums =
        vt_weights_pack(ctx->weights, w->data, "conv8.sums", 0,
                        (size_t)c->out_channels * sizeof(int32_t), pack_conv_sums, &packing);
    if (q->product.packed == NULL || q->product.sums == NULL) {
        return vt_op_fail(ctx, VT_ERR_MEMORY, "no memory for %zu bytes of packed weights", bytes);
    }
    size_t workspace = vt_op_align(
        vt_conv8_workspace_bytes(c, may_have_zeros(ctx, &q->product), vt_pool_threads(ctx->pool)));
    vt_q_reserve(&q->product, &workspace);
    *ret_workspace = workspace;
    return VT_OK;
}

enum vt_status vt_q_conv_run(struct vt_op_context *ctx, const struct vt_q_conv *q)
{
    struct vt_conv8 conv = q->conv;
    struct vt_q_run run;
    vt_q_begin(ctx, &q->product, &run);
    conv.in_zero = run.a_zero;
    const struct vt_tensor *residual = vt_q_at(ctx, q->product.places->residual);
    const struct vt_conv8_data data = {.input = vt_q_at(ctx, q->product.places->a)->data,
                                       .packed = q->product.packed,
                                       .residual = residual != NULL ? residual->data : NULL,
                                       .output = ctx->outputs[0].data,
                                       .finish = &run.finish};
    vt_conv8_run(&conv, &data, ctx->pool, ctx->workspace);
    return VT_OK;
}

/* --- matrix product ------------------------------------------------------------------------- */

struct packing {
    const struct vt_op_context *ctx;
    const struct vt_q_matmul *q;
    bool turned;
};

static void pack_matmul(void *context, void *ret_packed)
{
    const struct packing *p = context;
    const struct vt_q_product *product = &p->q->product;
    vt_gemm8_pack(p->q->kernel, product->rows, product->depth,
                  vt_q_at(p->ctx, product->places->b)->data, p->turned ? product->depth : 1,
                  p->turned ? 1 : product->rows, product->flip, ret_packed);
}

static void pack_matmul_sums(void *context, void *ret_packed)
{
    const struct packing *p = context;
    const struct vt_q_product *product = &p->q->product;
    const uint8_t *w = vt_q_at(p->ctx, product->places->b)->data;
    int32_t *sums = ret_packed;
    for (int64_t i = 0; i < product->rows; i++) {
        uint32_t sum = 0;
        for (int64_t k = 0; k < product->depth; k++) {
            const int64_t at = p->turned ? i * product->depth + k : k * product->rows + i;
            sum += (uint32_t)(int8_t)(w[at] ^ product->flip);
        }
        sums[i] = (int32_t)sum;
    }
}

/* A product of the weights by rows of data: the operands of the kernels change places. */
struct job {
    const struct vt_q_matmul *q;
    const uint8_t *x;
    void *output;
    const void *residual;
    uint8_t flip;
};

static void pack_data(const void *ctx, int64_t batch, int64_t n0, int64_t nc, uint8_t *ret_packed)
{
    const struct job *job = ctx;
    const int64_t k = job->q->product.depth, k4 = vt_gemm8_k4(job->q->kernel, k);
    (void)batch;
    for (int64_t n = 0; n < nc; n += VT_GEMM8_NR, ret_packed += k4 * 4 * VT_GEMM8_NR) {
        const uint32_t cols = (uint32_t)(nc - n < VT_GEMM8_NR ? nc - n : VT_GEMM8_NR);
        vt_u8_pack_rows(job->x + (n0 + n) * k, k, cols, k, k4, job->flip, ret_packed);
    }
}

static void locate(const void *ctx, int64_t batch, struct vt_gemm8_place *ret)
{
    const struct job *job = ctx;
    (void)batch;
    *ret = (struct vt_gemm8_place){.a = job->q->product.packed, .output = job->output};
}

static void gemm_init(struct vt_gemm8 *gemm, const struct vt_q_matmul *q, const struct job *job)
{
    *gemm = (struct vt_gemm8){.kernel = q->kernel,
                              .m = q->product.rows,
                              .n = q->n,
                              .k = q->product.depth,
                              .batches = 1,
                              .row_stride = 1,
                              .col_stride = q->product.rows,
                              .pack_b = pack_data,
                              .locate = locate,
                              .ctx = job};
}

enum vt_status vt_q_matmul_prepare(struct vt_op_context *ctx, struct vt_q_matmul *q,
                                   const struct vt_q_places *places, bool turned,
                                   size_t *ret_workspace)
{
    static const int32_t some = 0;
    const struct vt_tensor *a = vt_q_at(ctx, places->a), *b = vt_q_at(ctx, places->b);
    const uint32_t threads = vt_pool_threads(ctx->pool);
    struct packing packing = {ctx, q, turned};
    struct vt_gemm8 gemm;
    size_t bytes = 0;
    memset(q, 0, sizeof(*q));
    q->product = (struct vt_q_product){
        .places = places,
        .rows = b->dim[turned ? 0 : 1],
        .depth = b->dim[turned ? 1 : 0],
        .flip = b->dtype == VT_U8 ? 0x80 : 0,
    };
    q->kernel = vt_gemm8_kernel_find(vt_topology()->features);
    if (a->rank < 1 || a->dim[a->rank - 1] != q->product.depth) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "the inner extents differ");
    }
    q->n = vt_op_product(a->dim, 0, a->rank - 1);
    (void)snprintf(ctx->kernel, sizeof(ctx->kernel), "int8 %s", q->kernel->name);
    if (!vt_gemm8_packed_size(q->kernel, q->product.rows, q->product.depth, &bytes)) {
        return vt_op_fail(ctx, VT_ERR_LIMIT, "the weights are too large");
    }
    const uint64_t variant = (uint64_t)q->kernel->mr << 16 | (uint64_t)q->kernel->ku << 8 |
                             (uint64_t)q->kernel->a_bytes << 1 | (turned ? 1 : 0);
    q->product.packed =
        vt_weights_pack(ctx->weights, b->data, "gemm8", variant, bytes + 1, pack_matmul, &packing);
    q->product.sums = vt_weights_pack(ctx->weights, b->data, "gemm8.sums", turned ? 1 : 0,
                                      (size_t)(q->product.rows + 1) * sizeof(int32_t),
                                      pack_matmul_sums, &packing);
    if (q->product.packed == NULL || q->product.sums == NULL) {
        return vt_op_fail(ctx, VT_ERR_MEMORY, "no memory for %zu bytes of packed weights", bytes);
    }
    gemm_init(&gemm, q, NULL);
    gemm.finish.a_zero = may_have_zeros(ctx, &q->product) ? &some : NULL;
    size_t workspace = vt_op_align(vt_gemm8_workspace_bytes(&gemm, threads));
    vt_q_reserve(&q->product, &workspace);
    *ret_workspace = workspace;
    return VT_OK;
}

enum vt_status vt_q_matmul_run(struct vt_op_context *ctx, const struct vt_q_matmul *q)
{
    const struct vt_tensor *a = vt_q_at(ctx, q->product.places->a);
    struct vt_q_run run;
    struct vt_gemm8 gemm;
    vt_q_begin(ctx, &q->product, &run);
    const struct job job = {
        .q = q, .x = a->data, .output = ctx->outputs[0].data, .flip = run.a_signed ? 0x80 : 0};
    gemm_init(&gemm, q, &job);
    gemm.finish = run.finish;
    vt_gemm8_run(&gemm, ctx->pool, ctx->workspace);
    return VT_OK;
}
