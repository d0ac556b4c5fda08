/* SPDX-License-Identifier: Apache-2.0 */
/* Elements put to places that their own data or attributes name. */
#include "kernels/move/move.h"
#include "plan/ops/window.h"

static enum vt_status reverse_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    const struct vt_tensor *x = ctx->inputs[0];
    const int64_t batch = vt_node_int(ctx->node, "batch_axis", 1);
    const int64_t time = vt_node_int(ctx->node, "time_axis", 0);
    (void)ret_workspace;
    if (vt_dtype_bytes(x->dtype) == 0) {
        return vt_op_fail_type(ctx, x);
    }
    if (x->rank < 2 || batch < 0 || batch > 1 || time != 1 - batch) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "batch_axis and time_axis must be 0 and 1");
    }
    return vt_op_require_count(ctx, 1, x->dim[batch]);
}

static enum vt_status reverse_run(struct vt_op_context *ctx)
{
    const struct vt_tensor *x = ctx->inputs[0];
    const bool batch_first = vt_node_int(ctx->node, "batch_axis", 1) == 0;
    const int64_t batches = x->dim[batch_first ? 0 : 1], times = x->dim[batch_first ? 1 : 0];
    const size_t block = (size_t)vt_op_product(x->dim, 2, x->rank) * vt_dtype_bytes(x->dtype);
    for (int64_t b = 0; b < batches; b++) {
        const int64_t length = vt_op_int_at(ctx->inputs[1], b);
        if (length < 0 || length > times) {
            return vt_op_fail(ctx, VT_ERR_FORMAT, "length %lld is %lld, allowed are 0 to %lld",
                              (long long)b, (long long)length, (long long)times);
        }
        for (int64_t t = 0; t < times; t++) {
            const int64_t from = t < length ? length - 1 - t : t;
            const size_t to_at = (size_t)(batch_first ? b * times + t : t * batches + b);
            const size_t from_at = (size_t)(batch_first ? b * times + from : from * batches + b);
            memcpy((char *)ctx->outputs[0].data + to_at * block,
                   (const char *)x->data + from_at * block, block);
        }
    }
    return VT_OK;
}

static enum vt_status unpool_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    const struct vt_tensor *x = ctx->inputs[0];
    struct vt_window window;
    (void)ret_workspace;
    if (vt_dtype_bytes(x->dtype) == 0) {
        return vt_op_fail_type(ctx, x);
    }
    enum vt_status status = vt_window_read(ctx, x, &ctx->outputs[0], NULL, true, &window);
    if (status != VT_OK) {
        return status;
    }
    /* The image that was pooled, by its own numbers: an output of another size is cut or filled. */
    int64_t *pooled = ctx->state;
    for (uint32_t d = 0; d < VT_WINDOW_DIMS; d++) {
        pooled[d] = (window.in[d] - 1) * window.stride[d] + window.kernel[d] - window.pad[d] -
                    window.pad_end[d];
        if (pooled[d] < 1) {
            return vt_op_fail(ctx, VT_ERR_FORMAT, "pads are larger than what they cut");
        }
    }
    return vt_op_require_count(ctx, 1, vt_op_elements(x));
}

static enum vt_status unpool_run(struct vt_op_context *ctx)
{
    const struct vt_tensor *x = ctx->inputs[0], *out = &ctx->outputs[0];
    const int64_t *pooled = ctx->state, *index = ctx->inputs[1]->data;
    const size_t bytes = vt_dtype_bytes(x->dtype);
    int64_t extent[VT_WINDOW_DIMS] = {1, 1, 1};
    const int64_t plane = pooled[0] * pooled[1] * pooled[2];
    for (uint32_t d = 2; d < out->rank; d++) {
        extent[VT_WINDOW_DIMS - out->rank + d] = out->dim[d];
    }
    const int64_t planes = x->dim[0] * x->dim[1];
    memset(out->data, 0, out->bytes);
    for (int64_t i = 0; i < vt_op_elements(x); i++) {
        const int64_t channel = index[i] < 0 ? planes : index[i] / plane;
        const int64_t at[VT_WINDOW_DIMS] = {index[i] / (pooled[1] * pooled[2]) % pooled[0],
                                            index[i] / pooled[2] % pooled[1], index[i] % pooled[2]};
        if (channel >= planes) {
            return vt_op_fail(ctx, VT_ERR_FORMAT, "index %lld (at position %lld) is out of range",
                              (long long)index[i], (long long)i);
        }
        if (at[0] < extent[0] && at[1] < extent[1] && at[2] < extent[2]) {
            const int64_t to =
                ((channel * extent[0] + at[0]) * extent[1] + at[1]) * extent[2] + at[2];
            memcpy((char *)out->data + (size_t)to * bytes,
                   (const char *)x->data + (size_t)i * bytes, bytes);
        }
    }
    return VT_OK;
}

/* How the columns of Col2Im lie in the image; the block's extents come as an input. */
struct columns {
    uint32_t n;
    int64_t image[VT_RANK_MAX], block[VT_RANK_MAX], positions[VT_RANK_MAX];
    int64_t stride[VT_RANK_MAX], dilation[VT_RANK_MAX], pad[VT_RANK_MAX];
};

static enum vt_status columns_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    (void)ret_workspace;
    return ctx->inputs[0]->dtype == VT_F32 ? VT_OK : vt_op_fail_type(ctx, ctx->inputs[0]);
}

/* A number of a list attribute; `fallback` where it is absent. */
static int64_t entry(const struct vt_op_context *ctx, const char *name, uint32_t i,
                     int64_t fallback)
{
    size_t n = 0;
    const int64_t *list = vt_node_ints(ctx->node, name, &n);
    return list != NULL && i < n ? list[i] : fallback;
}

static enum vt_status read_columns(const struct vt_op_context *ctx, struct columns *c)
{
    const struct vt_tensor *x = ctx->inputs[0], *out = &ctx->outputs[0];
    int64_t taps = 1, positions = 1;
    bool fits = true;
    *c = (struct columns){.n = out->rank - 2};
    if (vt_op_elements(ctx->inputs[2]) != c->n) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "image and block differ in their dimensions");
    }
    for (uint32_t i = 0; i < c->n; i++) {
        c->image[i] = out->dim[2 + i];
        c->block[i] = vt_op_int_at(ctx->inputs[2], i);
        c->stride[i] = entry(ctx, "strides", i, 1);
        c->dilation[i] = entry(ctx, "dilations", i, 1);
        c->pad[i] = entry(ctx, "pads", i, 0);
        const int64_t behind = entry(ctx, "pads", c->n + i, 0);
        const int64_t most = INT32_MAX;
        if (c->stride[i] < 1 || c->dilation[i] < 1 || c->block[i] < 1 || c->pad[i] < 0 ||
            behind < 0 || c->stride[i] > most || c->dilation[i] > most || c->block[i] > most ||
            c->pad[i] > most || behind > most || c->image[i] > most) {
            return vt_op_fail(ctx, VT_ERR_FORMAT, "strides, dilations, pads or block are wrong");
        }
        const int64_t room =
            c->image[i] + c->pad[i] + behind - (c->block[i] - 1) * c->dilation[i] - 1;
        c->positions[i] = room < 0 ? 0 : room / c->stride[i] + 1;
        fits = fits && !__builtin_mul_overflow(taps, c->block[i], &taps) &&
               !__builtin_mul_overflow(positions, c->positions[i], &positions);
    }
    if (!fits || x->dim[1] % taps != 0 || x->dim[1] / taps != out->dim[1] ||
        x->dim[2] != positions) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "the columns are %lldx%lld, which does not fit",
                          (long long)x->dim[1], (long long)x->dim[2]);
    }
    return VT_OK;
}

/* Where tap and position of a column come to lie, -1: in the padding. */
static int64_t image_place(const struct columns *c, int64_t tap, int64_t position)
{
    int64_t at = 0, step = 1;
    for (uint32_t d = c->n; d-- > 0;) {
        if (c->positions[d] == 0 || c->block[d] == 0) {
            return -1; /* nothing was taken from there */
        }
        const int64_t i = position % c->positions[d] * c->stride[d] +
                          tap % c->block[d] * c->dilation[d] - c->pad[d];
        if (i < 0 || i >= c->image[d]) {
            return -1;
        }
        at += i * step;
        step *= c->image[d];
        position /= c->positions[d];
        tap /= c->block[d];
    }
    return at;
}

static enum vt_status columns_run(struct vt_op_context *ctx)
{
    const struct vt_tensor *x = ctx->inputs[0], *out = &ctx->outputs[0];
    const float *from = x->data;
    struct columns c;
    enum vt_status status = read_columns(ctx, &c);
    if (status != VT_OK) {
        return status;
    }
    const int64_t plane = vt_op_product(out->dim, 2, out->rank);
    const int64_t planes = out->dim[0] * out->dim[1];
    const int64_t taps = out->dim[1] > 0 ? x->dim[1] / out->dim[1] : 0;
    memset(out->data, 0, out->bytes);
    for (int64_t p = 0; p < planes; p++) {
        float *image = (float *)out->data + p * plane;
        for (int64_t t = 0; t < taps; t++) {
            for (int64_t i = 0; i < x->dim[2]; i++, from++) {
                const int64_t at = image_place(&c, t, i);
                if (at >= 0) {
                    image[at] += *from;
                }
            }
        }
    }
    return VT_OK;
}

static const struct vt_op ops[] = {
    {"", "Col2Im", 0, 0, columns_prepare, columns_run},

    {"", "ReverseSequence", VT_OP_ANY_FLOAT, 0, reverse_prepare, reverse_run},
    {"", "MaxUnpool", VT_OP_ANY_FLOAT, VT_WINDOW_DIMS * sizeof(int64_t), unpool_prepare,
     unpool_run},
};
VT_OP_FAMILY(vt_ops_place, ops);
