/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions and products of quantised numbers by constant weights, on the kernels of
 * kernels/gemm8: ONNX's QLinearConv, QLinearMatMul, ConvInteger and MatMulInteger, and the steps
 * that the planner makes of Conv, MatMul, Gemm and Add between DequantizeLinear and QuantizeLinear.
 *
 * Weights are packed once; scales and zero points are read by each run, so they may be computed.
 */
#ifndef VT_PLAN_OPS_QUANTISED_H
#define VT_PLAN_OPS_QUANTISED_H

#include "kernels/conv8/conv8.h"
#include "plan/ops/window.h"

#define VT_Q_NONE UINT32_MAX

/* Where an operator has its operands: inputs of the step, VT_Q_NONE where it has none. */
struct vt_q_places {
    uint32_t a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero, bias;
    uint32_t residual, residual_scale, residual_zero, sum_scale, sum_zero;
};
/* ConvInteger and MatMulInteger. */
extern const struct vt_q_places vt_q_integer_places;
/* QLinearConv and QLinearMatMul. The steps of the planner have their inputs in this order too, and
 * those of the sum behind: an omitted y_scale means a float32 result; the bias may be float32. */
extern const struct vt_q_places vt_q_linear_places;
extern const struct vt_q_places vt_q_step_places;
#define VT_Q_STEP_INPUTS 14

static inline const struct vt_tensor *vt_q_at(const struct vt_op_context *ctx, uint32_t place)
{
    return place < ctx->n_inputs ? ctx->inputs[place] : NULL;
}

/* The part of a state that both kinds of product have. */
struct vt_q_product {
    const struct vt_q_places *places;
    int64_t rows, depth; /* of the weights: outputs, and steps of a sum */
    const void *packed;
    const int32_t *sums;            /* of the weights' rows */
    uint8_t flip;                   /* makes int8 of the weights */
    size_t rows_offset, run_offset; /* in the workspace */
};

/* What a run needs for the finish. */
struct vt_q_run {
    struct vt_gemm8_finish finish;
    int32_t a_zero; /* as the data are stored */
    bool a_signed;
};

/*
 * Whether the operands are such that the kernels can do it: bytes, constant weights, one scale and
 * zero point for the data, one or `rows` of them for the weights. Says nothing where not.
 */
bool vt_q_fits(const struct vt_op_context *ctx, const struct vt_q_places *places, int64_t rows);
/* Reserves the workspace's part for vt_q_begin at its end. */
void vt_q_reserve(struct vt_q_product *product, size_t *workspace);
/* Reads scales, zero points and bias; the arrays lie in the workspace. */
void vt_q_begin(const struct vt_op_context *ctx, const struct vt_q_product *product,
                struct vt_q_run *ret);

/* Bounds of a quantised result with an activation before the rounding: a real number x has its
 * place at round(x / scale) + zero. */
void vt_q_bounds(const struct vt_epilogue *epilogue, float scale, float zero, bool is_signed,
                 float *ret_low, float *ret_high);

struct vt_q_conv {
    struct vt_q_product product;
    struct vt_conv8 conv;
};
/* vt_q_fits is checked by the caller. */
enum vt_status vt_q_conv_prepare(struct vt_op_context *ctx, struct vt_q_conv *q,
                                 const struct vt_q_places *places, size_t *ret_workspace);
enum vt_status vt_q_conv_run(struct vt_op_context *ctx, const struct vt_q_conv *q);

struct vt_q_matmul {
    struct vt_q_product product;
    const struct vt_gemm8_kernel *kernel;
    int64_t n; /* rows of data */
};
/* B is [k][rows], or [rows][k] where it is turned. */
enum vt_status vt_q_matmul_prepare(struct vt_op_context *ctx, struct vt_q_matmul *q,
                                   const struct vt_q_places *places, bool turned,
                                   size_t *ret_workspace);
enum vt_status vt_q_matmul_run(struct vt_op_context *ctx, const struct vt_q_matmul *q);

#endif
