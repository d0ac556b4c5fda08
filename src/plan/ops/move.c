/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that move elements as they are: each fills in a struct vt_copy. */
#include "kernels/move/move.h"
#include "kernels/convert/convert.h"
#include "plan/ops/support.h"

/* Steps of a dense array. */
static void dense_steps(const int64_t *dim, uint32_t rank, int64_t *ret)
{
    int64_t step = 1;
    for (uint32_t i = rank; i-- > 0;) {
        ret[i] = step;
        step *= dim[i];
    }
}

static enum vt_status any_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    (void)ret_workspace;
    if (vt_dtype_bytes(ctx->inputs[0]->dtype) == 0) {
        return vt_op_fail_type(ctx, ctx->inputs[0]);
    }
    return VT_OK;
}

static enum vt_status transpose_run(struct vt_op_context *ctx)
{
    const struct vt_tensor *in = ctx->inputs[0];
    struct vt_copy copy = {.rank = in->rank, .bytes = vt_dtype_bytes(in->dtype)};
    int64_t step[VT_RANK_MAX];
    size_t n = 0;
    const int64_t *perm = vt_node_ints(ctx->node, "perm", &n);
    dense_steps(in->dim, in->rank, step);
    for (uint32_t i = 0; i < in->rank; i++) {
        const uint32_t axis = perm != NULL ? (uint32_t)perm[i] : in->rank - 1 - i;
        copy.dim[i] = in->dim[axis];
        copy.from[i] = step[axis];
    }
    dense_steps(copy.dim, in->rank, copy.to);
    vt_copy_run(&copy, in->data, ctx->outputs[0].data, ctx->pool);
    return VT_OK;
}

/* Channels first to channels last, or back: each image is a matrix that is transposed. */
static enum vt_status reorder_run(struct vt_op_context *ctx)
{
    const struct vt_tensor *in = ctx->inputs[0];
    const bool to_last = strcmp(ctx->node->op, "ToChannelsLast") == 0;
    const int64_t channels = in->dim[1], pixels = vt_op_product(in->dim, 2, in->rank);
    const int64_t rows = to_last ? pixels : channels, columns = to_last ? channels : pixels;
    const struct vt_copy copy = {.rank = 3,
                                 .dim = {in->dim[0], rows, columns},
                                 .from = {rows * columns, 1, rows},
                                 .to = {rows * columns, columns, 1},
                                 .bytes = vt_dtype_bytes(in->dtype)};
    vt_copy_run(&copy, in->data, ctx->outputs[0].data, ctx->pool);
    return VT_OK;
}

static enum vt_status transpose_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    size_t n = 0;
    const int64_t *perm = vt_node_ints(ctx->node, "perm", &n);
    const uint32_t rank = ctx->inputs[0]->rank;
    uint32_t seen = 0;
    if (perm != NULL && n != rank) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "'perm' has %zu entries for rank %u", n, rank);
    }
    for (uint32_t i = 0; perm != NULL && i < rank; i++) {
        if (perm[i] < 0 || perm[i] >= rank || (seen & 1u << perm[i])) {
            return vt_op_fail(ctx, VT_ERR_FORMAT, "'perm' is not a permutation of 0 to %u",
                              rank - 1);
        }
        seen |= 1u << perm[i];
    }
    return any_prepare(ctx, ret_workspace);
}

/* Copies between a part and the whole that it is along `axis`, `offset` elements of it in. */
static void copy_part(struct vt_op_context *ctx, const struct vt_tensor *part,
                      const struct vt_tensor *whole, uint32_t axis, int64_t offset, bool join)
{
    const int64_t inner = vt_op_product(whole->dim, axis + 1, whole->rank);
    struct vt_copy copy = {.rank = 2, .bytes = vt_dtype_bytes(whole->dtype)};
    copy.dim[0] = vt_op_product(whole->dim, 0, axis);
    copy.dim[1] = part->dim[axis] * inner;
    int64_t *part_step = join ? copy.from : copy.to, *whole_step = join ? copy.to : copy.from;
    part_step[0] = copy.dim[1];
    whole_step[0] = whole->dim[axis] * inner;
    part_step[1] = whole_step[1] = 1;
    char *at = (char *)whole->data + offset * inner * (int64_t)copy.bytes;
    vt_copy_run(&copy, join ? part->data : at, join ? at : part->data, ctx->pool);
}

static enum vt_status concat_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    uint32_t axis;
    enum vt_status status = any_prepare(ctx, ret_workspace);
    if (status == VT_OK) {
        status = vt_op_axis(ctx, vt_node_int(ctx->node, "axis", 1), ctx->outputs[0].rank, &axis);
    }
    return status;
}

/* Channels last: the parts stand side by side in every pixel. */
static enum vt_status concat_pixels(struct vt_op_context *ctx)
{
    const struct vt_tensor *out = &ctx->outputs[0];
    int64_t offset = 0;
    for (uint32_t i = 0; i < ctx->n_inputs; i++) {
        const struct vt_tensor *part = ctx->inputs[i];
        const struct vt_copy copy = {
            .rank = 2,
            .dim = {out->dim[0] * vt_op_product(out->dim, 2, out->rank), part->dim[1]},
            .from = {part->dim[1], 1},
            .to = {out->dim[1], 1},
            .bytes = vt_dtype_bytes(out->dtype)};
        vt_copy_run(&copy, part->data, (char *)out->data + offset * (int64_t)copy.bytes, ctx->pool);
        offset += part->dim[1];
    }
    return VT_OK;
}

static enum vt_status concat_run(struct vt_op_context *ctx)
{
    const struct vt_tensor *out = &ctx->outputs[0];
    if (ctx->channels_last) {
        return concat_pixels(ctx);
    }
    uint32_t axis = 0;
    int64_t offset = 0;
    enum vt_status status = vt_op_axis(ctx, vt_node_int(ctx->node, "axis", 1), out->rank, &axis);
    for (uint32_t i = 0; status == VT_OK && i < ctx->n_inputs; i++) {
        copy_part(ctx, ctx->inputs[i], out, axis, offset, true);
        offset += ctx->inputs[i]->dim[axis];
    }
    return status;
}

static enum vt_status split_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    uint32_t axis;
    enum vt_status status = any_prepare(ctx, ret_workspace);
    if (status == VT_OK) {
        status = vt_op_axis(ctx, vt_node_int(ctx->node, "axis", 0), ctx->inputs[0]->rank, &axis);
    }
    return status;
}

static enum vt_status split_run(struct vt_op_context *ctx)
{
    const struct vt_tensor *in = ctx->inputs[0];
    uint32_t axis = 0;
    int64_t offset = 0;
    enum vt_status status = vt_op_axis(ctx, vt_node_int(ctx->node, "axis", 0), in->rank, &axis);
    for (uint32_t i = 0; status == VT_OK && i < ctx->n_outputs; i++) {
        if (offset + ctx->outputs[i].dim[axis] > in->dim[axis]) {
            return vt_op_fail(ctx, VT_ERR_FORMAT, "the parts are larger than the input");
        }
        if (ctx->outputs[i].data != NULL) {
            copy_part(ctx, &ctx->outputs[i], in, axis, offset, false);
        }
        offset += ctx->outputs[i].dim[axis];
    }
    return status;
}

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : (x > high ? high : x);
}

/* Starts and steps of every axis. */
static enum vt_status read_slice(const struct vt_op_context *ctx, int64_t *ret_start,
                                 int64_t *ret_step)
{
    const struct vt_tensor *in = ctx->inputs[0];
    int64_t starts[VT_RANK_MAX], axes[VT_RANK_MAX], steps[VT_RANK_MAX];
    uint32_t n = 0, n_axes = 0, n_steps = 0;
    enum vt_status status = vt_op_int_list(ctx, "starts", 1, starts, &n);
    if (status == VT_OK) {
        status = vt_op_int_list(ctx, "axes", 3, axes, &n_axes);
    }
    if (status == VT_OK) {
        status = vt_op_int_list(ctx, "steps", 4, steps, &n_steps);
    }
    if (status != VT_OK) {
        return status;
    }
    if ((n_axes != 0 && n_axes != n) || (n_steps != 0 && n_steps != n) || n > in->rank) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "starts, axes and steps differ in length");
    }
    for (uint32_t i = 0; i < in->rank; i++) {
        ret_start[i] = 0;
        ret_step[i] = 1;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t axis = i;
        if (n_axes != 0) {
            status = vt_op_axis(ctx, axes[i], in->rank, &axis);
        }
        if (status != VT_OK) {
            return status;
        }
        const int64_t extent = in->dim[axis], step = n_steps != 0 ? steps[i] : 1;
        if (step == 0) {
            return vt_op_fail(ctx, VT_ERR_FORMAT, "a step is 0");
        }
        const int64_t start = starts[i] < 0 ? starts[i] + extent : starts[i];
        ret_start[axis] = step > 0 ? clamp(start, 0, extent) : clamp(start, 0, extent - 1);
        ret_step[axis] = step;
    }
    return VT_OK;
}

static enum vt_status slice_run(struct vt_op_context *ctx)
{
    const struct vt_tensor *in = ctx->inputs[0], *out = &ctx->outputs[0];
    struct vt_copy copy = {.rank = in->rank, .bytes = vt_dtype_bytes(in->dtype)};
    int64_t start[VT_RANK_MAX] = {0}, step[VT_RANK_MAX] = {0}, dense[VT_RANK_MAX], offset = 0;
    enum vt_status status = read_slice(ctx, start, step);
    if (status != VT_OK) {
        return status;
    }
    dense_steps(in->dim, in->rank, dense);
    dense_steps(out->dim, out->rank, copy.to);
    for (uint32_t i = 0; i < in->rank; i++) {
        const int64_t last = start[i] + (out->dim[i] - 1) * step[i];
        if (out->dim[i] > 0 && (start[i] >= in->dim[i] || last < 0 || last >= in->dim[i])) {
            return vt_op_fail(ctx, VT_ERR_FORMAT, "the slice leaves axis %u of extent %lld", i,
                              (long long)in->dim[i]);
        }
        copy.dim[i] = out->dim[i];
        copy.from[i] = dense[i] * step[i];
        offset += start[i] * dense[i];
    }
    vt_copy_run(&copy, (const char *)in->data + offset * (int64_t)copy.bytes, out->data, ctx->pool);
    return VT_OK;
}

static enum vt_status expand_run(struct vt_op_context *ctx)
{
    const struct vt_tensor *in = ctx->inputs[0], *out = &ctx->outputs[0];
    struct vt_copy copy = {.rank = out->rank, .bytes = vt_dtype_bytes(in->dtype)};
    int64_t dense[VT_RANK_MAX];
    dense_steps(in->dim, in->rank, dense);
    dense_steps(out->dim, out->rank, copy.to);
    for (uint32_t i = 0; i < out->rank; i++) {
        const uint32_t lead = out->rank - in->rank;
        const bool given = i >= lead && in->dim[i - lead] != 1;
        if (given && in->dim[i - lead] != out->dim[i]) {
            return vt_op_fail(ctx, VT_ERR_FORMAT, "the shapes do not broadcast");
        }
        copy.dim[i] = out->dim[i];
        copy.from[i] = given ? dense[i - lead] : 0;
    }
    vt_copy_run(&copy, in->data, out->data, ctx->pool);
    return VT_OK;
}

/* Every axis becomes two: which repetition, and where in it. */
static enum vt_status tile_run(struct vt_op_context *ctx)
{
    const struct vt_tensor *in = ctx->inputs[0], *out = &ctx->outputs[0];
    struct vt_copy copy = {.rank = 2 * in->rank, .bytes = vt_dtype_bytes(in->dtype)};
    int64_t in_step[VT_RANK_MAX], out_step[VT_RANK_MAX];
    dense_steps(in->dim, in->rank, in_step);
    dense_steps(out->dim, out->rank, out_step);
    for (size_t i = 0; i < in->rank; i++) {
        copy.dim[2 * i] = in->dim[i] > 0 ? out->dim[i] / in->dim[i] : 0;
        copy.from[2 * i] = 0;
        copy.to[2 * i] = in->dim[i] * out_step[i];
        copy.dim[2 * i + 1] = in->dim[i];
        copy.from[2 * i + 1] = in_step[i];
        copy.to[2 * i + 1] = out_step[i];
    }
    vt_copy_run(&copy, in->data, out->data, ctx->pool);
    return VT_OK;
}

/* Pads before every axis; negative ones cut off. */
static enum vt_status read_pads(const struct vt_op_context *ctx, int64_t *ret_before)
{
    const struct vt_tensor *in = ctx->inputs[0], *pads = vt_op_input(ctx, 1);
    const struct vt_tensor *axes = vt_op_input(ctx, 3);
    size_t n = 0;
    const int64_t *list = vt_node_ints(ctx->node, "pads", &n);
    const uint32_t count = axes != NULL ? (uint32_t)vt_op_elements(axes) : in->rank;
    if (list == NULL && pads == NULL) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "'pads' is missing");
    }
    if (list == NULL) {
        n = (size_t)vt_op_elements(pads);
    }
    if (n != 2 * (size_t)count) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "'pads' has %zu entries for %u axes", n, count);
    }
    for (uint32_t i = 0; i < in->rank; i++) {
        ret_before[i] = 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t axis = i;
        enum vt_status status =
            axes != NULL ? vt_op_axis(ctx, vt_op_int_at(axes, i), in->rank, &axis) : VT_OK;
        if (status != VT_OK) {
            return status;
        }
        ret_before[axis] = list != NULL ? list[i] : vt_op_int_at(pads, i);
    }
    return VT_OK;
}

/* Fills the output and copies the part of the input that lies inside it. */
static void pad_constant(struct vt_op_context *ctx, const int64_t *before)
{
    const struct vt_tensor *in = ctx->inputs[0], *out = &ctx->outputs[0];
    const struct vt_tensor *value = vt_op_input(ctx, 2);
    const float attribute = vt_node_float(ctx->node, "value", 0.0f);
    struct vt_copy copy = {.rank = in->rank, .bytes = vt_dtype_bytes(in->dtype)};
    int64_t from = 0, to = 0;
    uint64_t zero[2] = {0, 0};
    if (vt_convert_knows(in->dtype)) {
        vt_convert(VT_F32, &attribute, in->dtype, zero, 1);
    }
    vt_fill(out->data, vt_op_elements(out), copy.bytes, value != NULL ? value->data : zero);
    dense_steps(in->dim, in->rank, copy.from);
    dense_steps(out->dim, out->rank, copy.to);
    for (uint32_t i = 0; i < in->rank; i++) {
        const int64_t first = before[i] > 0 ? 0 : -before[i]; /* of the input */
        const int64_t end = clamp(out->dim[i] - before[i], 0, in->dim[i]);
        copy.dim[i] = end > first ? end - first : 0;
        from += first * copy.from[i];
        to += (first + before[i]) * copy.to[i];
    }
    vt_copy_run(&copy, (const char *)in->data + from * (int64_t)copy.bytes,
                (char *)out->data + to * (int64_t)copy.bytes, ctx->pool);
}

static enum vt_status pad_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    static const char *const modes[] = {"constant", "reflect", "edge", "wrap"};
    const char *mode = vt_node_string(ctx->node, "mode", "constant");
    const struct vt_tensor *value = vt_op_input(ctx, 2);
    enum vt_status status = vt_op_require_count(ctx, 2, 1);
    if (status != VT_OK) {
        return status;
    }
    if (value != NULL && value->dtype != ctx->inputs[0]->dtype) {
        return vt_op_fail_type(ctx, value);
    }
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (strcmp(mode, modes[i]) == 0) {
            return any_prepare(ctx, ret_workspace);
        }
    }
    return vt_op_fail(ctx, VT_ERR_UNSUPPORTED,
                      "mode is '%s', supported are constant, reflect, edge and wrap", mode);
}

static enum vt_status pad_run(struct vt_op_context *ctx)
{
    const struct vt_tensor *in = ctx->inputs[0], *out = &ctx->outputs[0];
    const char *mode = vt_node_string(ctx->node, "mode", "constant");
    int64_t before[VT_RANK_MAX] = {0};
    enum vt_status status = read_pads(ctx, before);
    if (status != VT_OK || vt_op_elements(out) == 0) {
        return status;
    }
    if (strcmp(mode, "constant") == 0 || in->rank == 0) {
        pad_constant(ctx, before);
        return VT_OK;
    }
    struct vt_pad pad = {.rank = in->rank, .bytes = vt_dtype_bytes(in->dtype)};
    pad.mode = strcmp(mode, "reflect") == 0 ? VT_PAD_REFLECT
               : strcmp(mode, "edge") == 0  ? VT_PAD_EDGE
                                            : VT_PAD_WRAP;
    for (uint32_t i = 0; i < in->rank; i++) {
        pad.in[i] = in->dim[i];
        pad.out[i] = out->dim[i];
        pad.before[i] = before[i];
        if (in->dim[i] == 0) {
            return vt_op_fail(ctx, VT_ERR_FORMAT, "axis %u has no element to pad with", i);
        }
    }
    vt_pad_run(&pad, in->data, out->data);
    return VT_OK;
}

/* A Pad or a cut of the same size on both sides of each axis; the odd one is behind. */
static enum vt_status center_run(struct vt_op_context *ctx)
{
    const struct vt_tensor *in = ctx->inputs[0], *out = &ctx->outputs[0];
    struct vt_copy copy = {.rank = in->rank, .bytes = vt_dtype_bytes(in->dtype)};
    int64_t from = 0, to = 0;
    memset(out->data, 0, out->bytes);
    dense_steps(in->dim, in->rank, copy.from);
    dense_steps(out->dim, out->rank, copy.to);
    for (uint32_t i = 0; i < in->rank; i++) {
        const int64_t more = out->dim[i] - in->dim[i];
        copy.dim[i] = more < 0 ? out->dim[i] : in->dim[i];
        from += more < 0 ? -more / 2 * copy.from[i] : 0;
        to += more > 0 ? more / 2 * copy.to[i] : 0;
    }
    vt_copy_run(&copy, (const char *)in->data + from * (int64_t)copy.bytes,
                (char *)out->data + to * (int64_t)copy.bytes, ctx->pool);
    return VT_OK;
}

static enum vt_status block_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    const int64_t b = vt_node_int(ctx->node, "blocksize", 0);
    if (ctx->inputs[0]->rank != 4 || b < 1) {
        return vt_op_fail(ctx, VT_ERR_FORMAT,
                          "rank is %u and blocksize %lld, needed are 4 and a "
                          "positive number",
                          ctx->inputs[0]->rank, (long long)b);
    }
    const bool to_space = strcmp(ctx->node->op, "DepthToSpace") == 0;
    const struct vt_tensor *deep = to_space ? ctx->inputs[0] : &ctx->outputs[0];
    const struct vt_tensor *wide = to_space ? &ctx->outputs[0] : ctx->inputs[0];
    if (deep->dim[1] != wide->dim[1] * b * b || wide->dim[2] != deep->dim[2] * b ||
        wide->dim[3] != deep->dim[3] * b) {
        return vt_op_fail(ctx, VT_ERR_FORMAT, "blocksize %lld does not divide the extents",
                          (long long)b);
    }
    return any_prepare(ctx, ret_workspace);
}

/* Walks N, C', b, b, H, W of the smaller image, with steps in both arrays. */
static enum vt_status block_run(struct vt_op_context *ctx)
{
    const bool to_space = strcmp(ctx->node->op, "DepthToSpace") == 0;
    const struct vt_tensor *deep = to_space ? ctx->inputs[0] : &ctx->outputs[0];
    const struct vt_tensor *wide = to_space ? &ctx->outputs[0] : ctx->inputs[0];
    const int64_t b = vt_node_int(ctx->node, "blocksize", 1);
    const int64_t c = wide->dim[1], h = deep->dim[2], w = deep->dim[3];
    /* DCR (and SpaceToDepth): depth is (block y, block x, channel); CRD: (channel, y, x). */
    const bool crd = to_space && strcmp(vt_node_string(ctx->node, "mode", "DCR"), "CRD") == 0;
    const int64_t by = crd ? b * h * w : b * c * h * w, bx = crd ? h * w : c * h * w;
    const int64_t channel = crd ? b * b * h * w : h * w;
    struct vt_copy copy = {
        .rank = 6, .dim = {wide->dim[0], c, b, b, h, w}, .bytes = vt_dtype_bytes(wide->dtype)};
    const int64_t deep_step[6] = {c * b * b * h * w, channel, by, bx, w, 1};
    const int64_t wide_step[6] = {c * b * b * h * w, b * b * h * w, b * w, 1, b * b * w, b};
    memcpy(copy.from, to_space ? deep_step : wide_step, sizeof(deep_step));
    memcpy(copy.to, to_space ? wide_step : deep_step, sizeof(deep_step));
    vt_copy_run(&copy, ctx->inputs[0]->data, ctx->outputs[0].data, ctx->pool);
    return VT_OK;
}

static const struct vt_op ops[] = {
    {"", "Transpose", VT_OP_ANY_FLOAT, 0, transpose_prepare, transpose_run},
    {"vatio", "ToChannelsLast", VT_OP_ANY_FLOAT, 0, any_prepare, reorder_run},
    {"vatio", "ToChannelsFirst", VT_OP_ANY_FLOAT, 0, any_prepare, reorder_run},
    {"", "Concat", VT_OP_ANY_FLOAT, 0, concat_prepare, concat_run},
    {"", "Split", VT_OP_ANY_FLOAT, 0, split_prepare, split_run},
    {"", "Slice", VT_OP_ANY_FLOAT, 0, any_prepare, slice_run},
    {"", "Expand", VT_OP_ANY_FLOAT, 0, any_prepare, expand_run},
    {"", "Tile", VT_OP_ANY_FLOAT, 0, any_prepare, tile_run},
    {"", "Pad", VT_OP_ANY_FLOAT, 0, pad_prepare, pad_run},
    {"", "CenterCropPad", VT_OP_ANY_FLOAT, 0, any_prepare, center_run},
    {"", "DepthToSpace", VT_OP_ANY_FLOAT, 0, block_prepare, block_run},
    {"", "SpaceToDepth", VT_OP_ANY_FLOAT, 0, block_prepare, block_run},
};
VT_OP_FAMILY(vt_ops_move, ops);
