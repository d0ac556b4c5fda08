/* SPDX-License-Identifier: Apache-2.0 */
/* MatMul and Gemm for the element types that the fast kernel does not know. */
#ifndef VT_PLAN_OPS_MATMUL_PLAIN_H
#define VT_PLAN_OPS_MATMUL_PLAIN_H

#include "plan/ops/support.h"

/* VT_OK when a and b are of one such type (float64 and the integers of 32 and 64 bits). */
enum vt_status vt_matmul_plain_prepare(const struct vt_op_context *ctx, uint32_t n_inputs);
enum vt_status vt_matmul_plain_run(struct vt_op_context *ctx);
enum vt_status vt_gemm_plain_run(struct vt_op_context *ctx);

#endif
