/* SPDX-License-Identifier: Apache-2.0 */
/*
 * float16 and bfloat16 for operators that compute in float32: inputs are converted into the step's
 * workspace, the operator runs on the copies, and its results are rounded back. Constants are
 * converted once for a model and kept with the packed weights.
 */
#include <string.h>

#include "kernels/convert/convert.h"
#include "plan/internal.h"

#define ALIGNMENT 64u

struct vt_widen {
    struct vt_tensor *inputs; /* wide copies of those that are narrow, else as they are */
    const struct vt_tensor **input_list;
    bool *packed;       /* by input: a constant, converted already */
    size_t *in_offset;  /* in the workspace */
    size_t *out_offset; /* in the workspace */
    struct vt_tensor *outputs;
};

static bool is_narrow(enum vt_dtype dtype)
{
    return dtype == VT_F16 || dtype == VT_BF16;
}

static bool is_wanted(const struct vt_op *op, const struct vt_op_context *ctx)
{
    if ((op->flags & (VT_OP_ANY_FLOAT | VT_OP_VIEW)) != 0) {
        return false;
    }
    for (uint32_t i = 0; i < ctx->n_inputs; i++) {
        if (ctx->inputs[i] != NULL && is_narrow(ctx->inputs[i]->dtype)) {
            return true;
        }
    }
    for (uint32_t i = 0; i < ctx->n_outputs; i++) {
        if (is_narrow(ctx->outputs[i].dtype)) {
            return true;
        }
    }
    return false;
}

enum vt_status vt_widen_new(struct vt_arena *memory, const struct vt_op *op,
                            const struct vt_op_context *ctx, struct vt_error *err,
                            struct vt_widen **ret_widen)
{
    const size_t n_in = (size_t)ctx->n_inputs + 1, n_out = (size_t)ctx->n_outputs + 1;
    if (!is_wanted(op, ctx)) {
        *ret_widen = NULL;
        return VT_OK;
    }
    struct vt_widen *widen = vt_arena_calloc(memory, 1, sizeof(*widen));
    if (widen == NULL) {
        return vt_out_of_memory(err);
    }
    widen->inputs = vt_arena_calloc(memory, n_in, sizeof(*widen->inputs));
    widen->input_list = vt_arena_calloc(memory, n_in, sizeof(*widen->input_list));
    widen->packed = vt_arena_calloc(memory, n_in, sizeof(*widen->packed));
    widen->in_offset = vt_arena_calloc(memory, n_in, sizeof(*widen->in_offset));
    widen->out_offset = vt_arena_calloc(memory, n_out, sizeof(*widen->out_offset));
    widen->outputs = vt_arena_calloc(memory, n_out, sizeof(*widen->outputs));
    if (widen->inputs == NULL || widen->input_list == NULL || widen->packed == NULL ||
        widen->in_offset == NULL || widen->out_offset == NULL || widen->outputs == NULL) {
        return vt_out_of_memory(err);
    }
    *ret_widen = widen;
    return VT_OK;
}

/* The same elements as float32, without data. */
static enum vt_status wide_shape(const struct vt_op_context *ctx, const struct vt_tensor *from,
                                 struct vt_tensor *ret)
{
    *ret = *from;
    if (!is_narrow(from->dtype)) {
        return VT_OK;
    }
    ret->dtype = VT_F32;
    ret->data = NULL;
    if (!vt_tensor_size(ret)) {
        return vt_error_set(ctx->err, VT_ERR_LIMIT, "%zu bytes of %s are too many to convert",
                            from->bytes, vt_dtype_name(from->dtype));
    }
    return VT_OK;
}

static void pack(void *context, void *ret_packed)
{
    const struct vt_tensor *from = context;
    vt_convert(from->dtype, from->data, VT_F32, ret_packed,
               (int64_t)(from->bytes / vt_dtype_bytes(from->dtype)));
}

static enum vt_status widen_input(struct vt_op_context *ctx, struct vt_widen *widen, uint32_t i,
                                  bool keep_constants)
{
    struct vt_tensor from = *ctx->inputs[i];
    struct vt_tensor *to = &widen->inputs[i];
    enum vt_status status = wide_shape(ctx, &from, to);
    widen->packed[i] = false;
    if (status != VT_OK || !is_narrow(from.dtype) || from.data == NULL || !keep_constants) {
        return status;
    }
    const void *wide = vt_weights_pack(ctx->weights, from.data, "wide", (uint64_t)from.dtype,
                                       to->bytes, pack, &from);
    if (wide == NULL) {
        return vt_out_of_memory(ctx->err);
    }
    to->data = (void *)(uintptr_t)wide;
    widen->packed[i] = true;
    return VT_OK;
}

static size_t reserve(size_t *at, size_t bytes)
{
    size_t offset = *at;
    *at += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return offset;
}

/* The context that the operator sees. */
static struct vt_op_context inner_context(const struct vt_op_context *ctx,
                                          const struct vt_widen *widen)
{
    struct vt_op_context inner = *ctx;
    inner.inputs = widen->input_list;
    inner.outputs = widen->outputs;
    return inner;
}

static enum vt_status prepare_wide(struct vt_op_context *ctx, const struct vt_op *op,
                                   struct vt_widen *widen, bool keep_constants,
                                   size_t *ret_workspace)
{
    enum vt_status status = VT_OK;
    for (uint32_t i = 0; i < ctx->n_inputs && status == VT_OK; i++) {
        widen->input_list[i] = NULL;
        if (ctx->inputs[i] != NULL) {
            widen->input_list[i] = &widen->inputs[i];
            status = widen_input(ctx, widen, i, keep_constants);
        }
    }
    for (uint32_t i = 0; i < ctx->n_outputs && status == VT_OK; i++) {
        status = wide_shape(ctx, &ctx->outputs[i], &widen->outputs[i]);
    }
    size_t bytes = 0;
    if (status == VT_OK && op->prepare != NULL) {
        struct vt_op_context inner = inner_context(ctx, widen);
        status = op->prepare(&inner, &bytes);
        memcpy(ctx->kernel, inner.kernel, sizeof(ctx->kernel));
        ctx->tuned = inner.tuned;
    }
    if (status != VT_OK) {
        return status;
    }
    (void)reserve(&bytes, bytes % ALIGNMENT == 0 ? 0 : ALIGNMENT - bytes % ALIGNMENT);
    bytes = bytes / ALIGNMENT * ALIGNMENT;
    for (uint32_t i = 0; i < ctx->n_inputs; i++) {
        if (ctx->inputs[i] != NULL && is_narrow(ctx->inputs[i]->dtype) && !widen->packed[i]) {
            widen->in_offset[i] = reserve(&bytes, widen->inputs[i].bytes);
        }
    }
    for (uint32_t i = 0; i < ctx->n_outputs; i++) {
        if (is_narrow(ctx->outputs[i].dtype)) {
            widen->out_offset[i] = reserve(&bytes, widen->outputs[i].bytes);
        }
    }
    *ret_workspace = bytes;
    return VT_OK;
}

enum vt_status vt_op_prepare(struct vt_op_context *ctx, const struct vt_op *op,
                             struct vt_widen *widen, bool keep_constants, size_t *ret_workspace)
{
    if (widen != NULL) {
        return prepare_wide(ctx, op, widen, keep_constants, ret_workspace);
    }
    return op->prepare != NULL ? op->prepare(ctx, ret_workspace) : VT_OK;
}

static int64_t elements_of(const struct vt_tensor *tensor)
{
    return (int64_t)(tensor->bytes / vt_dtype_bytes(tensor->dtype));
}

static enum vt_status run_wide(struct vt_op_context *ctx, const struct vt_op *op,
                               struct vt_widen *widen)
{
    char *workspace = ctx->workspace;
    for (uint32_t i = 0; i < ctx->n_inputs; i++) {
        const struct vt_tensor *from = ctx->inputs[i];
        if (from == NULL || widen->packed[i]) {
            continue;
        }
        struct vt_tensor *to = &widen->inputs[i];
        to->data = from->data;
        if (is_narrow(from->dtype)) {
            to->data = workspace + widen->in_offset[i];
            vt_convert_run(from->dtype, from->data, VT_F32, to->data, elements_of(from), ctx->pool);
        }
    }
    for (uint32_t i = 0; i < ctx->n_outputs; i++) {
        const bool narrow = is_narrow(ctx->outputs[i].dtype);
        widen->outputs[i] = ctx->outputs[i];
        if (narrow) {
            (void)wide_shape(ctx, &ctx->outputs[i], &widen->outputs[i]);
            widen->outputs[i].data =
                ctx->outputs[i].data != NULL ? workspace + widen->out_offset[i] : NULL;
        }
    }
    struct vt_op_context inner = inner_context(ctx, widen);
    enum vt_status status = op->run(&inner);
    for (uint32_t i = 0; i < ctx->n_outputs && status == VT_OK; i++) {
        struct vt_tensor *to = &ctx->outputs[i];
        const struct vt_tensor *from = &widen->outputs[i];
        /* An operator that finds its extents has set them on the copy. */
        memcpy(to->dim, from->dim, sizeof(to->dim));
        if (!is_narrow(to->dtype)) {
            to->bytes = from->bytes;
        } else if (to->data != NULL) {
            to->bytes = from->bytes / sizeof(float) * vt_dtype_bytes(to->dtype);
            vt_convert_run(VT_F32, from->data, to->dtype, to->data, elements_of(to), ctx->pool);
        }
    }
    return status;
}

/* Nothing is wanted: extents of 2^40 beside one of 0 are no reason to count that far. What finds
 * its extents by running has not said yet. */
static bool all_empty(const struct vt_op_context *ctx, const struct vt_op *op)
{
    bool empty = ctx->n_outputs > 0 && (op->flags & VT_OP_DATA_DEPENDENT) == 0;
    for (uint32_t i = 0; empty && i < ctx->n_outputs; i++) {
        const struct vt_tensor *out = &ctx->outputs[i];
        empty = out->dtype == VT_UNDEFINED || out->bytes == 0;
    }
    return empty;
}

enum vt_status vt_op_run(struct vt_op_context *ctx, const struct vt_op *op, struct vt_widen *widen)
{
    if (all_empty(ctx, op)) {
        return VT_OK;
    }
    return widen != NULL ? run_wide(ctx, op, widen) : op->run(ctx);
}
