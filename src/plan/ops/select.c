/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "kernels/select/select.h"
#include "plan/ops/support.h"

/* Sets the extent that run() found. */
static void set_extent(struct vt_tensor *out, uint32_t axis, int64_t extent)
{
    out->dim[axis] = extent;
    out->bytes = (size_t)vt_op_elements(out) * vt_dtype_bytes(out->dtype);
}

/* Room that the planner gave a data-dependent output, in elements. */
static int64_t capacity_of(const struct vt_tensor *out)
{
    return (int64_t)(out->bytes / vt_dtype_bytes(out->dtype));
}

static enum vt_status top_k_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    struct vt_top_k *top = ctx->state;
    const struct vt_tensor *x = ctx->inputs[0];
    uint32_t axis = 0;
    enum vt_status status = vt_op_axis(ctx, vt_node_int(ctx->node, "axis", -1), x->rank, &axis);
    if (status != VT_OK) {
        return status;
    }
    if (!vt_top_k_knows(x->dtype)) {
        return vt_op_fail_type(ctx, x);
    }
    top->dtype = x->dtype;
    top->outer = vt_op_product(x->dim, 0, axis);
    top->n = x->dim[axis];
    top->inner = vt_op_product(x->dim, axis + 1, x->rank);
    top->k = ctx->outputs[0].dim[axis];
    top->largest = vt_node_int(ctx->node, "largest", 1) != 0;
    if (top->k > top->n) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "k is %lld, but the axis has %lld elements",
                          (long long)top->k, (long long)top->n);
    }
    *ret_workspace = (size_t)top->k * sizeof(int64_t) * vt_pool_threads(ctx->pool);
    return VT_OK;
}

static enum vt_status top_k_run(struct vt_op_context *ctx)
{
    vt_top_k_run(ctx->state, ctx->inputs[0]->data, ctx->outputs[0].data,
                 ctx->n_outputs > 1 ? ctx->outputs[1].data : NULL, ctx->pool, ctx->workspace);
    return VT_OK;
}

static enum vt_status number_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    const enum vt_dtype dtype = ctx->inputs[0]->dtype;
    (void)ret_workspace;
    if (vt_dtype_bytes(dtype) == 0 || dtype == VT_C64 || dtype == VT_C128) {
        return vt_op_fail_type(ctx, ctx->inputs[0]);
    }
    return VT_OK;
}

static enum vt_status nonzero_run(struct vt_op_context *ctx)
{
    const struct vt_tensor *x = ctx->inputs[0];
    struct vt_tensor *out = &ctx->outputs[0];
    struct vt_nonzero parts;
    set_extent(out, 1, vt_nonzero_count(x, ctx->pool, &parts));
    if (x->rank > 0) {
        vt_nonzero_run(x, &parts, out->data, ctx->pool);
    }
    return VT_OK;
}

/* Copies the slices of an axis (or, without one, the elements) whose flag is set. */
static enum vt_status compress_run(struct vt_op_context *ctx)
{
    const struct vt_tensor *x = ctx->inputs[0], *flags = ctx->inputs[1];
    struct vt_tensor *out = &ctx->outputs[0];
    const bool flat = vt_node_attr(ctx->node, "axis") == NULL;
    uint32_t axis = 0;
    enum vt_status status = VT_OK;
    if (!flat) {
        status = vt_op_axis(ctx, vt_node_int(ctx->node, "axis", 0), x->rank, &axis);
    }
    if (status != VT_OK) {
        return status;
    }
    const int64_t outer = flat ? 1 : vt_op_product(x->dim, 0, axis);
    const int64_t n = flat ? vt_op_elements(x) : x->dim[axis];
    const int64_t block =
        flat ? (int64_t)vt_dtype_bytes(x->dtype)
             : vt_op_product(x->dim, axis + 1, x->rank) * (int64_t)vt_dtype_bytes(x->dtype);
    const int64_t n_flags = vt_op_elements(flags) < n ? vt_op_elements(flags) : n;
    const uint8_t *flag = flags->data;
    int64_t kept = 0;
    char *to = out->data;
    for (int64_t o = 0; o < outer; o++) {
        kept = 0;
        for (int64_t i = 0; i < n_flags; i++) {
            if (flag[i] == 0) {
                continue;
            }
            memcpy(to, (const char *)x->data + (o * n + i) * block, (size_t)block);
            to += block;
            kept++;
        }
    }
    set_extent(out, axis, kept);
    return VT_OK;
}

static enum vt_status nms_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    const struct vt_tensor *boxes = ctx->inputs[0], *scores = ctx->inputs[1];
    enum vt_status status = VT_OK;
    if (boxes->dtype != VT_F32 || scores->dtype != VT_F32) {
        return vt_op_fail_type(ctx, boxes->dtype != VT_F32 ? boxes : scores);
    }
    if (boxes->rank != 3 || scores->rank != 3 || boxes->dim[2] != 4 ||
        boxes->dim[0] != scores->dim[0] || boxes->dim[1] != scores->dim[2]) {
        return vt_op_fail(ctx, VT_ERR_FORMAT,
                          "boxes must be [batch, boxes, 4] and scores [batch, classes, boxes]");
    }
    for (uint32_t i = 2; i < 5 && status == VT_OK; i++) {
        status = vt_op_require_count(ctx, i, 1);
    }
    const struct vt_nms sizes = {
        .batches = boxes->dim[0], .boxes = boxes->dim[1], .classes = scores->dim[1]};
    *ret_workspace = vt_nms_workspace_bytes(&sizes, vt_pool_threads(ctx->pool));
    return status;
}

static enum vt_status nms_run(struct vt_op_context *ctx)
{
    const struct vt_tensor *boxes = ctx->inputs[0], *scores = ctx->inputs[1];
    const struct vt_tensor *most = vt_op_input(ctx, 2), *iou = vt_op_input(ctx, 3);
    const struct vt_tensor *score = vt_op_input(ctx, 4);
    struct vt_tensor *out = &ctx->outputs[0];
    const struct vt_nms nms = {
        .batches = boxes->dim[0],
        .boxes = boxes->dim[1],
        .classes = scores->dim[1],
        .max_per_class = most != NULL ? vt_op_int_at(most, 0) : 0,
        .iou = iou != NULL ? (float)vt_op_double_at(iou, 0) : 0.0f,
        .score = score != NULL ? (float)vt_op_double_at(score, 0) : 0.0f,
        .has_score = score != NULL,
        .centre = vt_node_int(ctx->node, "center_point_box", 0) != 0,
    };
    set_extent(out, 0,
               vt_nms_run(&nms, boxes->data, scores->data, capacity_of(out) / 3, out->data,
                          ctx->pool, ctx->workspace));
    return VT_OK;
}

static enum vt_status one_hot_run(struct vt_op_context *ctx)
{
    const struct vt_tensor *indices = ctx->inputs[0], *values = ctx->inputs[2];
    const struct vt_tensor *out = &ctx->outputs[0];
    const int64_t bytes = (int64_t)vt_dtype_bytes(values->dtype);
    uint32_t axis = 0;
    enum vt_status status = vt_op_axis(ctx, vt_node_int(ctx->node, "axis", -1), out->rank, &axis);
    if (status != VT_OK) {
        return status;
    }
    const int64_t outer = vt_op_product(out->dim, 0, axis), depth = out->dim[axis];
    const int64_t inner = vt_op_product(out->dim, axis + 1, out->rank);
    const char *off = values->data, *on = off + bytes;
    char *y = out->data;
    for (int64_t o = 0; o < outer; o++) {
        for (int64_t d = 0; d < depth; d++) {
            for (int64_t i = 0; i < inner; i++, y += bytes) {
                int64_t index = vt_op_int_at(indices, o * inner + i);
                index += index < 0 ? depth : 0;
                memcpy(y, index == d ? on : off, (size_t)bytes);
            }
        }
    }
    return VT_OK;
}

static enum vt_status one_hot_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    (void)ret_workspace;
    if (vt_dtype_bytes(ctx->inputs[2]->dtype) == 0) {
        return vt_op_fail_type(ctx, ctx->inputs[2]);
    }
    return vt_op_require_count(ctx, 2, 2);
}

static enum vt_status range_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    (void)ret_workspace;
    for (uint32_t i = 0; i < 3; i++) {
        enum vt_status status = vt_op_require_count(ctx, i, 1);
        if (status != VT_OK) {
            return status;
        }
    }
    switch (ctx->inputs[0]->dtype) {
    case VT_F32:
    case VT_F64:
    case VT_I16:
    case VT_I32:
    case VT_I64:
        return VT_OK;
    default:
        return vt_op_fail_type(ctx, ctx->inputs[0]);
    }
}

static enum vt_status range_run(struct vt_op_context *ctx)
{
    const struct vt_tensor *start = ctx->inputs[0], *delta = ctx->inputs[2];
    void *y = ctx->outputs[0].data;
    const int64_t n = vt_op_elements(&ctx->outputs[0]);
    const double first = vt_op_double_at(start, 0), step = vt_op_double_at(delta, 0);
    const uint64_t first_int = (uint64_t)vt_op_int_at(start, 0);
    const uint64_t step_int = (uint64_t)vt_op_int_at(delta, 0);
    for (uint64_t i = 0; i < (uint64_t)n; i++) {
        switch (start->dtype) {
        case VT_F32:
            ((float *)y)[i] = (float)(first + (double)i * step);
            break;
        case VT_F64:
            ((double *)y)[i] = first + (double)i * step;
            break;
        case VT_I16:
            ((int16_t *)y)[i] = (int16_t)(first_int + i * step_int);
            break;
        case VT_I32:
            ((int32_t *)y)[i] = (int32_t)(first_int + i * step_int);
            break;
        default:
            ((int64_t *)y)[i] = (int64_t)(first_int + i * step_int);
            break;
        }
    }
    return VT_OK;
}

/* The bit pattern of 1 in a numeric type. */
static bool one_of(enum vt_dtype dtype, uint64_t *ret)
{
    const float f = 1.0f;
    const double d = 1.0;
    *ret = 1;
    switch (dtype) {
    case VT_F32:
        memcpy(ret, &f, sizeof(f));
        return true;
    case VT_F64:
        memcpy(ret, &d, sizeof(d));
        return true;
    case VT_F16:
        *ret = 0x3c00;
        return true;
    case VT_BF16:
        *ret = 0x3f80;
        return true;
    case VT_C64:
    case VT_C128:
        return false;
    default:
        return vt_dtype_bytes(dtype) != 0;
    }
}

static enum vt_status unique_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    struct vt_unique *u = ctx->state;
    const struct vt_tensor *x = ctx->inputs[0];
    uint32_t axis = 0;
    if (!vt_unique_knows(x->dtype)) {
        return vt_op_fail_type(ctx, x);
    }
    *u = (struct vt_unique){.dtype = x->dtype,
                            .outer = 1,
                            .n = vt_op_elements(x),
                            .inner = 1,
                            .sorted = vt_node_int(ctx->node, "sorted", 1) != 0};
    if (vt_node_attr(ctx->node, "axis") != NULL) {
        enum vt_status status = vt_op_axis(ctx, vt_node_int(ctx->node, "axis", 0), x->rank, &axis);
        if (status != VT_OK) {
            return status;
        }
        u->outer = vt_op_product(x->dim, 0, axis);
        u->n = x->dim[axis];
        u->inner = vt_op_product(x->dim, axis + 1, x->rank);
    }
    *ret_workspace = 5 * vt_op_align((size_t)u->n * sizeof(int64_t));
    return VT_OK;
}

/* Copies a list of what was found to an output that is wanted. */
static void put_list(struct vt_op_context *ctx, uint32_t output, const int64_t *list, int64_t n)
{
    if (output < ctx->n_outputs && ctx->outputs[output].data != NULL) {
        memcpy(ctx->outputs[output].data, list, (size_t)n * sizeof(*list));
        set_extent(&ctx->outputs[output], 0, n);
    }
}

static enum vt_status unique_run(struct vt_op_context *ctx)
{
    const struct vt_unique *u = ctx->state;
    const struct vt_tensor *x = ctx->inputs[0];
    struct vt_tensor *out = &ctx->outputs[0];
    const size_t part = vt_op_align((size_t)u->n * sizeof(int64_t)) / sizeof(int64_t);
    int64_t *first = ctx->workspace, *which = first + part, *counts = which + part;
    const int64_t found = vt_unique_run(u, x->data, first, which, counts, counts + part);
    const size_t block = (size_t)u->inner * vt_dtype_bytes(x->dtype);
    char *to = out->data;
    for (int64_t o = 0; o < u->outer; o++) {
        for (int64_t i = 0; i < found; i++, to += block) {
            memcpy(to, (const char *)x->data + (size_t)(o * u->n + first[i]) * block, block);
        }
    }
    const int64_t axis = vt_node_int(ctx->node, "axis", 0);
    const bool flat = vt_node_attr(ctx->node, "axis") == NULL;
    set_extent(out, flat ? 0 : (uint32_t)(axis < 0 ? axis + x->rank : axis), found);
    put_list(ctx, 1, first, found);
    put_list(ctx, 2, which, u->n);
    put_list(ctx, 3, counts, found);
    return VT_OK;
}

static enum vt_status eye_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    uint64_t one;
    (void)ret_workspace;
    if (!one_of(ctx->outputs[0].dtype, &one)) {
        return vt_op_fail_type(ctx, &ctx->outputs[0]);
    }
    if (ctx->inputs[0]->rank != 2) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "the input has rank %u, needed is 2",
                          ctx->inputs[0]->rank);
    }
    return VT_OK;
}

static enum vt_status eye_run(struct vt_op_context *ctx)
{
    struct vt_tensor *out = &ctx->outputs[0];
    const int64_t k = vt_node_int(ctx->node, "k", 0), cols = out->dim[1];
    const size_t bytes = vt_dtype_bytes(out->dtype);
    uint64_t one;
    one_of(out->dtype, &one);
    memset(out->data, 0, out->bytes);
    for (int64_t i = 0; i < out->dim[0]; i++) {
        if (k > -out->dim[0] && k < cols && i + k >= 0 && i + k < cols) {
            memcpy((char *)out->data + (size_t)(i * cols + i + k) * bytes, &one, bytes);
        }
    }
    return VT_OK;
}

static enum vt_status trilu_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    (void)ret_workspace;
    if (vt_dtype_bytes(ctx->inputs[0]->dtype) == 0) {
        return vt_op_fail_type(ctx, ctx->inputs[0]);
    }
    if (ctx->inputs[0]->rank < 2) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "the input has rank %u, needed is at least 2",
                          ctx->inputs[0]->rank);
    }
    return vt_op_require_count(ctx, 1, 1);
}

static enum vt_status trilu_run(struct vt_op_context *ctx)
{
    const struct vt_tensor *x = ctx->inputs[0], *shift = vt_op_input(ctx, 1);
    const bool upper = vt_node_int(ctx->node, "upper", 1) != 0;
    const int64_t rows = x->dim[x->rank - 2], cols = x->dim[x->rank - 1];
    const int64_t bytes = (int64_t)vt_dtype_bytes(x->dtype);
    const int64_t all = vt_op_product(x->dim, 0, x->rank - 2) * rows;
    int64_t k = shift != NULL ? vt_op_int_at(shift, 0) : 0;
    k = k < -rows ? -rows : (k > cols ? cols : k);
    for (int64_t row = 0; row < all; row++) {
        const int64_t diagonal = row % rows + k; /* first column of the upper part */
        int64_t begin = upper ? diagonal : 0, end = upper ? cols : diagonal + 1;
        begin = begin < 0 ? 0 : (begin > cols ? cols : begin);
        end = end < begin ? begin : (end > cols ? cols : end);
        char *y = (char *)ctx->outputs[0].data + row * cols * bytes;
        memset(y, 0, (size_t)(cols * bytes));
        memcpy(y + begin * bytes, (const char *)x->data + (row * cols + begin) * bytes,
               (size_t)((end - begin) * bytes));
    }
    return VT_OK;
}

static const struct vt_op ops[] = {
    {"", "TopK", 0, sizeof(struct vt_top_k), top_k_prepare, top_k_run},
    {"", "NonZero", VT_OP_DATA_DEPENDENT | VT_OP_ANY_FLOAT, 0, number_prepare, nonzero_run},
    {"", "Compress", VT_OP_DATA_DEPENDENT | VT_OP_ANY_FLOAT, 0, number_prepare, compress_run},
    {"", "NonMaxSuppression", VT_OP_DATA_DEPENDENT, 0, nms_prepare, nms_run},
    {"", "Unique", VT_OP_DATA_DEPENDENT, sizeof(struct vt_unique), unique_prepare, unique_run},
    {"", "OneHot", 0, 0, one_hot_prepare, one_hot_run},
    {"", "Range", 0, 0, range_prepare, range_run},
    {"", "EyeLike", VT_OP_ANY_FLOAT, 0, eye_prepare, eye_run},
    {"", "Trilu", VT_OP_ANY_FLOAT, 0, trilu_prepare, trilu_run},
};
VT_OP_FAMILY(vt_ops_select, ops);
