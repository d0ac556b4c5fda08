/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of one element, and of two or three under broadcasting.
 */
#ifndef VT_KERNELS_ELEMENTWISE_ELEMENTWISE_H
#define VT_KERNELS_ELEMENTWISE_ELEMENTWISE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/pool.h"
#include "vatio/tensor.h"

enum vt_unary {
    VT_UNARY_ABS,
    VT_UNARY_NEG,
    VT_UNARY_SIGN,
    VT_UNARY_RELU,
    VT_UNARY_CLIP,    /* alpha: lower, beta: upper */
    VT_UNARY_BIT_NOT, /* of integers only */
    /* Those above exist for integers too. */
    VT_UNARY_EXP,
    VT_UNARY_LOG,
    VT_UNARY_SQRT,
    VT_UNARY_RECIPROCAL,
    VT_UNARY_FLOOR,
    VT_UNARY_CEIL,
    VT_UNARY_ROUND, /* half to even */
    VT_UNARY_SIN,
    VT_UNARY_COS,
    VT_UNARY_TAN,
    VT_UNARY_ASIN,
    VT_UNARY_ACOS,
    VT_UNARY_ATAN,
    VT_UNARY_SINH,
    VT_UNARY_COSH,
    VT_UNARY_TANH,
    VT_UNARY_ASINH,
    VT_UNARY_ACOSH,
    VT_UNARY_ATANH,
    VT_UNARY_ERF,
    VT_UNARY_SIGMOID,
    VT_UNARY_LEAKY_RELU,   /* alpha */
    VT_UNARY_ELU,          /* alpha */
    VT_UNARY_SELU,         /* alpha, beta: gamma */
    VT_UNARY_CELU,         /* alpha */
    VT_UNARY_HARD_SIGMOID, /* alpha, beta */
    VT_UNARY_HARD_SWISH,
    VT_UNARY_SOFTPLUS,
    VT_UNARY_SOFTSIGN,
    VT_UNARY_THRESHOLDED_RELU, /* alpha */
    VT_UNARY_SHRINK,           /* alpha: lambda, beta: bias */
    VT_UNARY_MISH,
    VT_UNARY_GELU,
    VT_UNARY_GELU_TANH,
    VT_UNARY_SWISH, /* alpha */
};

struct vt_unary_params {
    enum vt_unary op;
    double alpha, beta;
    /* Bounds of VT_UNARY_CLIP for integers. */
    int64_t lower, upper;
    uint64_t upper_u;
};

bool vt_unary_knows(enum vt_unary op, enum vt_dtype dtype);
/* y may be x. */
void vt_unary_run(const struct vt_unary_params *params, enum vt_dtype dtype, const void *x, void *y,
                  int64_t n, struct vt_pool *pool);

/* How up to three inputs are walked to give one output: extents, and each input's steps in
 * elements (0 where it is broadcast). Extents that can be walked as one are joined. */
struct vt_broadcast {
    uint32_t rank; /* at least 1 */
    int64_t dim[VT_RANK_MAX];
    int64_t step[3][VT_RANK_MAX];
    uint32_t n_inputs;
};
/* From the shapes; false when they do not broadcast to `out`. */
bool vt_broadcast_init(struct vt_broadcast *b, const struct vt_tensor *const *inputs,
                       uint32_t n_inputs, const struct vt_tensor *out);

enum vt_binary {
    VT_BINARY_ADD,
    VT_BINARY_SUB,
    VT_BINARY_MUL,
    VT_BINARY_DIV,
    VT_BINARY_MAX,
    VT_BINARY_MIN,
    VT_BINARY_MOD,  /* sign of the divisor */
    VT_BINARY_FMOD, /* sign of the dividend */
    VT_BINARY_PRELU,
    VT_BINARY_POW,
    /* To bool. */
    VT_BINARY_EQUAL,
    VT_BINARY_LESS,
    VT_BINARY_LESS_OR_EQUAL,
    VT_BINARY_GREATER,
    VT_BINARY_GREATER_OR_EQUAL,
    /* Of bools. */
    VT_BINARY_AND,
    VT_BINARY_OR,
    VT_BINARY_XOR,
    /* Of integers. */
    VT_BINARY_SHIFT_LEFT,
    VT_BINARY_SHIFT_RIGHT,
    VT_BINARY_BIT_AND,
    VT_BINARY_BIT_OR,
    VT_BINARY_BIT_XOR,
};

/* Whether it exists for this type; for POW, b_dtype may differ. */
bool vt_binary_knows(enum vt_binary op, enum vt_dtype a_dtype, enum vt_dtype b_dtype);
/* out may be an input that is not broadcast. */
void vt_binary_run(enum vt_binary op, enum vt_dtype a_dtype, enum vt_dtype b_dtype,
                   const struct vt_broadcast *b, const void *const *inputs, void *out,
                   struct vt_pool *pool);
/* inputs: condition (bool), then, else; elements of `bytes` bytes (1, 2, 4, 8 or 16). */
void vt_where_run(const struct vt_broadcast *b, size_t bytes, const void *const *inputs, void *out,
                  struct vt_pool *pool);

void vt_not_run(const uint8_t *x, uint8_t *y, int64_t n);

#endif
