/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arithmetic of a node. A multiply-add counts 2, any other operation on an element 1, whatever it
 * costs (an exp as much as an add). Normalisations and softmax count the passes of the plain
 * formula; moving, choosing and reshaping count nothing.
 */
#include "graph/graph.h"

enum cost {
    VT_COST_NONE,
    VT_COST_MAP,            /* 1 an output element */
    VT_COST_VARIADIC,       /* 1 an output element for each input but the first */
    VT_COST_REDUCE,         /* 1 an input element */
    VT_COST_POOL,           /* 1 an output element and kernel element */
    VT_COST_AFFINE,         /* scale and shift: 2 an element */
    VT_COST_NORM,           /* mean 1, variance 3, normalise 2, scale and shift 2: 8 an element */
    VT_COST_SOFTMAX,        /* maximum, difference, exp, sum, quotient: 5 an element */
    VT_COST_CONV,           /* 2 a weight and output element of its channel */
    VT_COST_CONV_TRANSPOSE, /* 2 a weight and input element of its channel */
    VT_COST_GEMM,
    VT_COST_MATMUL,
    VT_COST_RECURRENT, /* both matrices of every gate, 2 a weight, step and batch element */
};

/* In the order of the operator table. */
static const enum cost costs[] = {
#define X(name, min, max, in_min, in_max, out_min, out_max, function, cost, types, remark)         \
    VT_COST_##cost,
#define X_CONTROL(name, min, max, in_min, in_max, out_min, out_max, types, remark) VT_COST_NONE,
#include "graph/operators.inc"
#undef X
#undef X_CONTROL
};

/* The product of the extents from `from` on, 0 when one is not known. */
static double product(const struct vt_shape_info *info, uint32_t from)
{
    double n = 1;

    if (info == NULL || info->rank == VT_RANK_UNKNOWN) {
        return 0;
    }
    for (uint32_t d = from; d < info->rank; d++) {
        n *= info->dim[d] < 0 ? 0 : (double)info->dim[d];
    }
    return n;
}

static double extent(const struct vt_shape_info *info, uint32_t axis)
{
    return info != NULL && info->rank != VT_RANK_UNKNOWN && axis < info->rank && info->dim[axis] > 0
               ? (double)info->dim[axis]
               : 0;
}

static double pool_flops(const struct vt_node *node, const struct vt_shape_info *out)
{
    size_t n;
    const int64_t *kernel = vt_node_ints(node, "kernel_shape", &n);
    double flops = product(out, 0);

    for (size_t i = 0; i < n; i++) {
        flops *= (double)kernel[i];
    }
    return flops;
}

/* The weights stand at another place in the quantised form: where the ranks say so. */
static const struct vt_shape_info *operand_b(const struct vt_node *node,
                                             const struct vt_shape_info *const *inputs)
{
    return inputs[node->n_inputs >= 8 ? 3 : 1];
}

static double matmul_flops(const struct vt_shape_info *const *inputs,
                           const struct vt_shape_info *out)
{
    const struct vt_shape_info *a = inputs[0];
    return a == NULL || a->rank == VT_RANK_UNKNOWN || a->rank == 0
               ? 0
               : 2 * product(out, 0) * extent(a, a->rank - 1);
}

static double gemm_flops(const struct vt_node *node, const struct vt_shape_info *const *inputs,
                         const struct vt_shape_info *out)
{
    double inner = extent(inputs[0], vt_node_int(node, "transA", 0) != 0 ? 0 : 1);
    bool adds = node->n_inputs > 2 && inputs[2] != NULL;
    return product(out, 0) * (2 * inner + (adds ? 1 : 0));
}

static double conv_flops(const struct vt_node *node, const struct vt_shape_info *const *inputs,
                         const struct vt_shape_info *out)
{
    bool adds = node->n_inputs == 3 && inputs[2] != NULL;
    return product(out, 0) * (2 * product(operand_b(node, inputs), 1) + (adds ? 1 : 0));
}

static double recurrent_flops(const struct vt_shape_info *const *inputs)
{
    double steps_and_batch = extent(inputs[0], 0) * extent(inputs[0], 1);
    return 2 * steps_and_batch * (product(inputs[1], 0) + product(inputs[2], 0));
}

double vt_node_flops(const struct vt_node *node, const struct vt_shape_info *const *inputs,
                     const struct vt_shape_info *outputs)
{
    size_t n;
    const struct vt_operator *entry = node->operator;
    size_t index = (size_t)(entry - vt_operator_table(&n));
    double elements = product(&outputs[0], 0);

    switch (costs[index]) {
    case VT_COST_MAP:
        return elements;
    case VT_COST_VARIADIC:
        return elements * (node->n_inputs - 1);
    case VT_COST_REDUCE:
        return product(inputs[0], 0);
    case VT_COST_POOL:
        return pool_flops(node, &outputs[0]);
    case VT_COST_AFFINE:
        return 2 * elements;
    case VT_COST_NORM:
        return 8 * elements;
    case VT_COST_SOFTMAX:
        return 5 * elements;
    case VT_COST_CONV:
        return conv_flops(node, inputs, &outputs[0]);
    case VT_COST_CONV_TRANSPOSE:
        return 2 * product(inputs[0], 0) * product(inputs[1], 1);
    case VT_COST_GEMM:
        return gemm_flops(node, inputs, &outputs[0]);
    case VT_COST_MATMUL:
        return matmul_flops(inputs, &outputs[0]);
    case VT_COST_RECURRENT:
        return recurrent_flops(inputs);
    default:
        return 0;
    }
}
