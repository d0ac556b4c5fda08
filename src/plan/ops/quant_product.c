/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of quantised numbers. ConvInteger and MatMulInteger give the int32 sums; QLinearConv and
 * QLinearMatMul quantise them again. By constant weights, the usual case, quantised.c carries them
 * out; what is here takes all that ONNX allows.
 */
#include "kernels/quant/quant.h"
#include "plan/ops/quantised.h"

/* Where an operator has its operands; the scales of those without are UINT32_MAX. */
struct places {
    uint32_t a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero, bias;
};
#define NONE UINT32_MAX
static const struct places integer_places = {0, NONE, 2, 1, NONE, 3, NONE, NONE, NONE};
static const struct places linear_places = {0, 1, 2, 3, 4, 5, 6, 7, 8};

struct state {
    bool fast; /* then one of these is all that is used */
    struct vt_q_conv fast_conv;
    struct vt_q_matmul fast_matmul;
    const struct places *places;
    struct vt_quant_conv conv;
    /* MatMul: how the batch is walked. */
    int64_t m, n, k;
    uint32_t batch_rank;
    int64_t batch_dim[VT_RANK_MAX], a_step[VT_RANK_MAX], b_step[VT_RANK_MAX];
    /* In the workspace. */
    size_t a_offset, b_offset, sum_offset, factor_offset;
};

static bool is_byte(enum vt_dtype dtype)
{
    return dtype == VT_I8 || dtype == VT_U8;
}

static const struct vt_tensor *at(const struct vt_op_context *ctx, uint32_t place)
{
    return place != NONE ? vt_op_input(ctx, place) : NULL;
}

static int64_t count(const struct vt_tensor *tensor)
{
    return tensor != NULL ? vt_op_elements(tensor) : 0;
}

/* Types of operands and results, and one scale and zero point for the first and for the result. */
static enum vt_status check(const struct vt_op_context *ctx, const struct places *p)
{
    const struct vt_tensor *a = at(ctx, p->a), *b = at(ctx, p->b), *y_zero = at(ctx, p->y_zero);
    const struct vt_tensor *a_zero = at(ctx, p->a_zero), *b_zero = at(ctx, p->b_zero);
    if (!is_byte(a->dtype) || (a_zero != NULL && a_zero->dtype != a->dtype)) {
        return vt_op_fail_type(ctx, a);
    }
    if (!is_byte(b->dtype) || (b_zero != NULL && b_zero->dtype != b->dtype)) {
        return vt_op_fail_type(ctx, b);
    }
    if (y_zero != NULL && !is_byte(y_zero->dtype)) {
        return vt_op_fail_type(ctx, y_zero);
    }
    if (p == &linear_places) {
        const uint32_t scales[] = {p->a_scale, p->b_scale, p->y_scale};
        for (size_t i = 0; i < sizeof(scales) / sizeof(scales[0]); i++) {
            if (at(ctx, scales[i])->dtype != VT_F32) {
                return vt_op_fail_type(ctx, at(ctx, scales[i]));
            }
        }
        if (count(at(ctx, p->y_scale)) != 1 || count(y_zero) != 1) {
            return vt_op_fail(ctx, VT_ERR_UNSUPPORTED,
                              "the result has %lld scales, supported is one",
                              (long long)count(at(ctx, p->y_scale)));
        }
    }
    return VT_OK;
}

/* Whether `place` has one number, or else `n` of them. */
static enum vt_status one_or(const struct vt_op_context *ctx, uint32_t place, int64_t n)
{
    const struct vt_tensor *t = at(ctx, place);
    if (t == NULL || count(t) == 1 || count(t) == n) {
        return VT_OK;
    }
    return vt_op_fail(ctx, VT_ERR_UNSUPPORTED,
                      "input %u has %lld numbers, supported are 1 and %lld", place,
                      (long long)count(t), (long long)n);
}

static size_t reserve(size_t *workspace, int64_t n, size_t bytes)
{
    const size_t offset = *workspace;
    *workspace += vt_op_align((size_t)n * bytes);
    return offset;
}

static void *in_workspace(const struct vt_op_context *ctx, size_t offset)
{
    return (char *)ctx->workspace + offset;
}

/* Room for both operands, for the sums where they are not the result, and for the factors. */
static void reserve_all(const struct vt_op_context *ctx, struct state *s, int64_t n_factors,
                        size_t *ret_workspace)
{
    size_t bytes = 0;
    s->a_offset = reserve(&bytes, count(at(ctx, s->places->a)), sizeof(int16_t));
    s->b_offset = reserve(&bytes, count(at(ctx, s->places->b)), sizeof(int16_t));
    if (s->places == &linear_places) {
        s->sum_offset = reserve(&bytes, vt_op_elements(&ctx->outputs[0]), sizeof(int32_t));
        s->factor_offset = reserve(&bytes, n_factors, sizeof(float));
    }
    *ret_workspace = bytes;
}

/* An operand less its zero points, [rows][columns]. */
static const int16_t *center(const struct vt_op_context *ctx, uint32_t place, uint32_t zero_place,
                             int64_t rows, bool by_row, size_t offset)
{
    const struct vt_tensor *t = at(ctx, place), *zero = at(ctx, zero_place);
    const bool many = count(zero) > 1;
    const struct vt_quant_center c = {.is_signed = t->dtype == VT_I8,
                                      .rows = rows,
                                      .columns = rows > 0 ? count(t) / rows : 0,
                                      .zero = zero != NULL ? zero->data : NULL,
                                      .by_row = many && by_row,
                                      .by_column = many && !by_row};
    int16_t *to = in_workspace(ctx, offset);
    vt_quant_center(&c, t->data, to);
    return to;
}

/* scale of a · scale of b / scale of the result, as many as the longer has. Returns how many. */
static int64_t make_factors(const struct vt_op_context *ctx, const struct state *s, float *ret)
{
    const struct vt_tensor *a = at(ctx, s->places->a_scale), *b = at(ctx, s->places->b_scale);
    const float y = *(const float *)at(ctx, s->places->y_scale)->data;
    const int64_t n = count(a) > count(b) ? count(a) : count(b);
    for (int64_t i = 0; i < n; i++) {
        const float from_a = ((const float *)a->data)[count(a) > 1 ? i : 0];
        const float from_b = ((const float *)b->data)[count(b) > 1 ? i : 0];
        ret[i] = from_a * from_b / y;
    }
    return n;
}

/* --- convolution ------------------------------------------------------------------------- */

static enum vt_status conv_check(const struct vt_op_context *ctx, const struct state *s)
{
    const struct vt_tensor *w = at(ctx, s->places->b), *bias = at(ctx, s->places->bias);
    const struct vt_quant_conv *c = &s->conv;
    if (c->groups < 1 || c->in_channels % c->groups != 0 || c->out_channels % c->groups != 0 ||
        w->dim[1] != c->in_channels / c->groups || w->dim[0] != c->out_channels) {
        return vt_op_fail(ctx, VT_ERR_FORMAT,
                          "the weights are %lldx%lld…, which does not fit %lld input channels in "
                          "%lld groups",
                          (long long)w->dim[0], (long long)w->dim[1], (long long)c->in_channels,
                          (long long)c->groups);
    }
    if (bias != NULL && (bias->dtype != VT_I32 || count(bias) != c->out_channels)) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "the bias must be %lld numbers of int32",
                          (long long)c->out_channels);
    }
    enum vt_status status = one_or(ctx, s->places->a_zero, 1);
    if (status == VT_OK) {
        status = one_or(ctx, s->places->a_scale, 1);
    }
    if (status == VT_OK) {
        status = one_or(ctx, s->places->b_zero, c->out_channels);
    }
    return status == VT_OK ? one_or(ctx, s->places->b_scale, c->out_channels) : status;
}

static enum vt_status conv_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    struct state *s = ctx->state;
    struct vt_quant_conv *c = &s->conv;
    struct vt_window window = {0};
    s->places = strcmp(ctx->node->op, "QLinearConv") == 0 ? &linear_places : &integer_places;
    const struct vt_tensor *x = at(ctx, s->places->a), *w = at(ctx, s->places->b);
    enum vt_status status = check(ctx, s->places);
    if (status == VT_OK && w->rank != x->rank) {
        status = vt_op_fail(ctx, VT_ERR_FORMAT, "the weights have rank %u, the input %u", w->rank,
                            x->rank);
    }
    if (status == VT_OK) {
        status = vt_window_read(ctx, x, &ctx->outputs[0], w->dim + 2, false, &window);
    }
    if (status != VT_OK) {
        return status;
    }
    *c = (struct vt_quant_conv){.batch = window.batch,
                                .groups = vt_node_int(ctx->node, "group", 1),
                                .in_channels = window.channels,
                                .out_channels = ctx->outputs[0].dim[1]};
    memcpy(c->in, window.in, sizeof(c->in));
    memcpy(c->out, window.out, sizeof(c->out));
    memcpy(c->kernel, window.kernel, sizeof(c->kernel));
    memcpy(c->stride, window.stride, sizeof(c->stride));
    memcpy(c->dilation, window.dilation, sizeof(c->dilation));
    memcpy(c->pad, window.pad, sizeof(c->pad));
    status = conv_check(ctx, s);
    if (status != VT_OK) {
        return status;
    }
    const struct vt_q_places *places =
        s->places == &linear_places ? &vt_q_linear_places : &vt_q_integer_places;
    s->fast = vt_q_fits(ctx, places, c->out_channels);
    if (s->fast) {
        return vt_q_conv_prepare(ctx, &s->fast_conv, places, ret_workspace);
    }
    reserve_all(ctx, s, c->out_channels, ret_workspace);
    return VT_OK;
}

static enum vt_status conv_run(struct vt_op_context *ctx)
{
    const struct state *s = ctx->state;
    const struct vt_quant_conv *c = &s->conv;
    if (s->fast) {
        return vt_q_conv_run(ctx, &s->fast_conv);
    }
    const bool linear = s->places == &linear_places;
    int32_t *sums = linear ? in_workspace(ctx, s->sum_offset) : ctx->outputs[0].data;
    const int16_t *x = center(ctx, s->places->a, s->places->a_zero, 1, true, s->a_offset);
    const int16_t *w =
        center(ctx, s->places->b, s->places->b_zero, c->out_channels, true, s->b_offset);
    vt_quant_conv(c, x, w, sums, ctx->pool);
    if (!linear) {
        return VT_OK;
    }
    float *factor = in_workspace(ctx, s->factor_offset);
    const bool many = make_factors(ctx, s, factor) > 1;
    const struct vt_tensor *bias = at(ctx, s->places->bias), *zero = at(ctx, s->places->y_zero);
    const int64_t plane = c->out[0] * c->out[1] * c->out[2];
    struct vt_requantize r = {.rows = c->out_channels,
                              .columns = plane,
                              .factor = factor,
                              .by_row = many,
                              .bias = bias != NULL ? bias->data : NULL,
                              .zero = (int32_t)vt_op_int_at(zero, 0),
                              .is_signed = zero->dtype == VT_I8};
    for (int64_t n = 0; n < c->batch; n++) {
        const int64_t offset = n * c->out_channels * plane;
        vt_requantize_run(&r, sums + offset, (char *)ctx->outputs[0].data + offset);
    }
    return VT_OK;
}

/* --- matrix product ---------------------------------------------------------------------- */

/* The batch extents of both factors, aligned at the end. */
static void read_batch(struct state *s, const struct vt_tensor *a, const struct vt_tensor *b)
{
    const uint32_t a_rank = a->rank > 2 ? a->rank - 2 : 0, b_rank = b->rank > 2 ? b->rank - 2 : 0;
    int64_t a_step = s->m * s->k, b_step = s->k * s->n;
    s->batch_rank = a_rank > b_rank ? a_rank : b_rank;
    for (uint32_t i = 0; i < s->batch_rank; i++) { /* from the last */
        const int64_t ad = i < a_rank ? a->dim[a_rank - 1 - i] : 1;
        const int64_t bd = i < b_rank ? b->dim[b_rank - 1 - i] : 1;
        const uint32_t to = s->batch_rank - 1 - i;
        s->batch_dim[to] = ad == 1 ? bd : ad;
        s->a_step[to] = ad == 1 ? 0 : a_step;
        s->b_step[to] = bd == 1 ? 0 : b_step;
        a_step *= ad;
        b_step *= bd;
    }
}

static enum vt_status matmul_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    struct state *s = ctx->state;
    s->places = strcmp(ctx->node->op, "QLinearMatMul") == 0 ? &linear_places : &integer_places;
    const struct vt_tensor *a = at(ctx, s->places->a), *b = at(ctx, s->places->b);
    enum vt_status status = check(ctx, s->places);
    if (status != VT_OK) {
        return status;
    }
    if (a->rank == 0 || b->rank == 0) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "a factor is a scalar");
    }
    s->m = a->rank == 1 ? 1 : a->dim[a->rank - 2];
    s->k = a->dim[a->rank - 1];
    s->n = b->rank == 1 ? 1 : b->dim[b->rank - 1];
    if (s->k != (b->rank == 1 ? b->dim[0] : b->dim[b->rank - 2])) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "the inner extents differ");
    }
    read_batch(s, a, b);
    const uint32_t by_row[] = {s->places->a_scale, s->places->a_zero};
    const uint32_t by_column[] = {s->places->b_scale, s->places->b_zero};
    for (size_t i = 0; i < 2 && status == VT_OK; i++) {
        status = one_or(ctx, by_row[i], s->m);
        if (status == VT_OK) {
            status = one_or(ctx, by_column[i], s->n);
        }
    }
    if (status == VT_OK && count(at(ctx, s->places->a_scale)) > 1 &&
        count(at(ctx, s->places->b_scale)) > 1) {
        status = vt_op_fail(ctx, VT_ERR_UNSUPPORTED,
                            "scales for both the rows and the columns are not supported");
    }
    if (status == VT_OK && count(at(ctx, s->places->a_zero)) > 1 && a->rank > 2) {
        status = vt_op_fail(ctx, VT_ERR_UNSUPPORTED,
                            "zero points for rows are supported for a matrix only");
    }
    if (status != VT_OK) {
        return status;
    }
    const struct vt_q_places *places =
        s->places == &linear_places ? &vt_q_linear_places : &vt_q_integer_places;
    s->fast = b->rank == 2 && vt_q_fits(ctx, places, s->n);
    if (s->fast) {
        return vt_q_matmul_prepare(ctx, &s->fast_matmul, places, false, ret_workspace);
    }
    reserve_all(ctx, s, s->m > s->n ? s->m : s->n, ret_workspace);
    return VT_OK;
}

static enum vt_status matmul_run(struct vt_op_context *ctx)
{
    const struct state *s = ctx->state;
    if (s->fast) {
        return vt_q_matmul_run(ctx, &s->fast_matmul);
    }
    const bool linear = s->places == &linear_places;
    const struct vt_tensor *b = at(ctx, s->places->b);
    int32_t *sums = linear ? in_workspace(ctx, s->sum_offset) : ctx->outputs[0].data;
    const int16_t *left =
        center(ctx, s->places->a, s->places->a_zero,
               count(at(ctx, s->places->a_zero)) > 1 ? s->m : 1, true, s->a_offset);
    const int16_t *right = center(ctx, s->places->b, s->places->b_zero,
                                  s->n > 0 ? count(b) / s->n : 0, false, s->b_offset);
    float *factor = linear ? in_workspace(ctx, s->factor_offset) : NULL;
    const bool many = linear && make_factors(ctx, s, factor) > 1;
    const struct vt_tensor *zero = at(ctx, s->places->y_zero);
    struct vt_requantize r = {.rows = s->m,
                              .columns = s->n,
                              .factor = factor,
                              .by_row = many && count(at(ctx, s->places->a_scale)) > 1,
                              .by_column = many && count(at(ctx, s->places->b_scale)) > 1,
                              .zero = zero != NULL ? (int32_t)vt_op_int_at(zero, 0) : 0,
                              .is_signed = zero != NULL && zero->dtype == VT_I8};
    const int64_t batches = vt_op_product(s->batch_dim, 0, s->batch_rank);
    for (int64_t i = 0; i < batches; i++) {
        int64_t from_a = 0, from_b = 0, rest = i;
        for (uint32_t d = s->batch_rank; d-- > 0;) {
            const int64_t index = rest % s->batch_dim[d];
            rest /= s->batch_dim[d];
            from_a += index * s->a_step[d];
            from_b += index * s->b_step[d];
        }
        const int64_t to = i * s->m * s->n;
        vt_quant_matmul(s->m, s->n, s->k, left + from_a, right + from_b, sums + to, ctx->pool);
        if (linear) {
            vt_requantize_run(&r, sums + to, (char *)ctx->outputs[0].data + to);
        }
    }
    return VT_OK;
}

static const struct vt_op ops[] = {
    {"", "ConvInteger", 0, sizeof(struct state), conv_prepare, conv_run},
    {"", "QLinearConv", 0, sizeof(struct state), conv_prepare, conv_run},
    {"", "MatMulInteger", 0, sizeof(struct state), matmul_prepare, matmul_run},
    {"", "QLinearMatMul", 0, sizeof(struct state), matmul_prepare, matmul_run},
};
VT_OP_FAMILY(vt_ops_quant_product, ops);
