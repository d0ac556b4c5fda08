/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Activations that a kernel can apply to its result before it is stored.
 */
#ifndef VT_KERNELS_ACTIVATION_H
#define VT_KERNELS_ACTIVATION_H

enum vt_activation {
    VT_ACT_NONE,
    VT_ACT_RELU,
    VT_ACT_LEAKY_RELU, /* alpha */
    VT_ACT_CLIP,       /* alpha: lower, beta: upper bound */
    VT_ACT_SIGMOID,
    VT_ACT_HARD_SWISH,
    VT_ACT_TANH,
    VT_ACT_SILU,      /* x times its sigmoid */
    VT_ACT_GELU,      /* by the error function */
    VT_ACT_GELU_TANH, /* by its approximation with tanh */
    VT_ACT_COUNT,
};

#endif
