/* SPDX-License-Identifier: Apache-2.0 */
/* Which way a convolution takes: by rule, or as the tuning says. */
#ifndef VT_PLAN_OPS_CONV_CHOICE_H
#define VT_PLAN_OPS_CONV_CHOICE_H

#include "kernels/conv/conv.h"
#include "plan/op.h"

/* vt_conv_init or vt_conv_init_as; sets ctx->tuned. May measure. */
void vt_conv_choose(struct vt_op_context *ctx, struct vt_conv *conv);

#endif
