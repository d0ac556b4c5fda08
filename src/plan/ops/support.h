/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the operator bindings share: messages that name the node, small readers of tensors and
 * attributes, shape arithmetic.
 */
#ifndef VT_PLAN_OPS_SUPPORT_H
#define VT_PLAN_OPS_SUPPORT_H

#include <string.h>

#include "plan/ops/ops.h"

/* Fails with "node 'name' (Op): …". Returns `status`. */
enum vt_status vt_op_fail(const struct vt_op_context *ctx, enum vt_status status, const char *fmt,
                          ...) VT_PRINTF(3, 4);
/* Fails because input (or, with is_output, output) `index` has a type that is not supported. */
enum vt_status vt_op_fail_type(const struct vt_op_context *ctx, const struct vt_tensor *tensor);
/* VT_OK when all given inputs of [0, n) and output 0 are float32. */
enum vt_status vt_op_require_f32(const struct vt_op_context *ctx, uint32_t n);

/* VT_OK when input `index` is omitted or holds exactly n elements. */
enum vt_status vt_op_require_count(const struct vt_op_context *ctx, uint32_t index, int64_t n);

/* The node's own inputs: without the bias and the residual that the planner added. */
static inline uint32_t vt_op_own_inputs(const struct vt_op_context *ctx)
{
    return ctx->n_inputs - (ctx->epilogue->has_residual ? 1 : 0) -
           (ctx->epilogue->has_bias ? 1 : 0);
}
/* Input `index` of the node's own, NULL where omitted. */
static inline const struct vt_tensor *vt_op_input(const struct vt_op_context *ctx, uint32_t index)
{
    return index < vt_op_own_inputs(ctx) ? ctx->inputs[index] : NULL;
}
static inline const struct vt_tensor *vt_op_residual(const struct vt_op_context *ctx)
{
    return ctx->epilogue->has_residual ? ctx->inputs[ctx->n_inputs - 1] : NULL;
}

static inline const struct vt_tensor *vt_op_bias(const struct vt_op_context *ctx)
{
    return ctx->epilogue->has_bias ? ctx->inputs[vt_op_own_inputs(ctx)] : NULL;
}

/* Extents were checked when the shape was inferred, so products cannot overflow. */
static inline int64_t vt_op_product(const int64_t *dim, uint32_t begin, uint32_t end)
{
    int64_t n = 1;
    for (uint32_t i = begin; i < end; i++)
        n *= dim[i];
    return n;
}
static inline int64_t vt_op_elements(const struct vt_tensor *tensor)
{
    return vt_op_product(tensor->dim, 0, tensor->rank);
}

/* Element i of an int32 or int64 tensor; floats are truncated. */
int64_t vt_op_int_at(const struct vt_tensor *tensor, int64_t i);
/* Element i of any numeric tensor. */
double vt_op_double_at(const struct vt_tensor *tensor, int64_t i);

/* Counts a negative axis from the end. Fails when it is outside [-rank, rank). */
enum vt_status vt_op_axis(const struct vt_op_context *ctx, int64_t axis, uint32_t rank,
                          uint32_t *ret_axis);

/*
 * A list of integers that is an attribute in older opsets and an input in newer ones. Writes at
 * most VT_RANK_MAX; *ret_n is 0 when neither is there. Fails when there are more.
 */
enum vt_status vt_op_int_list(const struct vt_op_context *ctx, const char *attribute,
                              uint32_t input, int64_t *ret_list, uint32_t *ret_n);

/* The next multiple of 64 bytes, for cutting up a workspace. */
static inline size_t vt_op_align(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/*
 * Input 1 as its operator broadcasts it: before opset 7 the extents stand at `axis` of input 0 (for
 * PRelu at the channels) instead of at the end. A view: the data are the input's.
 */
struct vt_tensor vt_op_second(const struct vt_op_context *ctx);

#define VT_OP_HASH_START UINT64_C(0xcbf29ce484222325)
uint64_t vt_op_hash(uint64_t hash, const void *bytes, size_t n);

#endif
