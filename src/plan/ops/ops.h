/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The families' tables of operators, of which find.c makes one.
 */
#ifndef VT_PLAN_OPS_OPS_H
#define VT_PLAN_OPS_OPS_H

#include "plan/op.h"

struct vt_op_family {
    const struct vt_op *ops;
    size_t n;
};

extern const struct vt_op_family vt_ops_conv;
extern const struct vt_op_family vt_ops_matmul;
extern const struct vt_op_family vt_ops_pool;
extern const struct vt_op_family vt_ops_elementwise;
extern const struct vt_op_family vt_ops_softmax;
extern const struct vt_op_family vt_ops_shape;
extern const struct vt_op_family vt_ops_move;
extern const struct vt_op_family vt_ops_gather;
extern const struct vt_op_family vt_ops_resize;
extern const struct vt_op_family vt_ops_reduce;
extern const struct vt_op_family vt_ops_norm;
extern const struct vt_op_family vt_ops_select;
extern const struct vt_op_family vt_ops_recurrent;
extern const struct vt_op_family vt_ops_attention;
extern const struct vt_op_family vt_ops_random;
extern const struct vt_op_family vt_ops_signal;
extern const struct vt_op_family vt_ops_place;
extern const struct vt_op_family vt_ops_linear;
extern const struct vt_op_family vt_ops_sample;
extern const struct vt_op_family vt_ops_quant_product;
extern const struct vt_op_family vt_ops_quant;
extern const struct vt_op_family vt_ops_quant_step;
extern const struct vt_op_family vt_ops_loss;
extern const struct vt_op_family vt_ops_interaction;

#define VT_OP_FAMILY(family, table)                                                                \
    const struct vt_op_family family = {table, sizeof(table) / sizeof((table)[0])}

#endif
