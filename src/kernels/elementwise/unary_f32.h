/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of one float32 element as plain loops, compiled for each instruction set; the
 * including file defines VT_UNARY_F32, the name of the function. exp and tanh are polynomials
 * without branches, so that the loops around them become vector code.
 */
#include <math.h>
#include <string.h>

#include "kernels/elementwise/unary_ways.h"
#include "kernels/vector_math.h"

#define LOOP(expr)                                                                                 \
    for (int64_t i = 0; i < n; i++) {                                                              \
        const float v = x[i];                                                                      \
        y[i] = (expr);                                                                             \
    }                                                                                              \
    return

/* Within 0 and 1; a NaN stays one. */
static inline float bounded(float v)
{
    v = v < 0.0f ? 0.0f : v;
    return v > 1.0f ? 1.0f : v;
}

void VT_UNARY_F32(const struct vt_unary_params *params, const float *x, float *y, int64_t n)
{
    const float alpha = (float)params->alpha, beta = (float)params->beta;
    switch (params->op) {
    case VT_UNARY_ABS:
        LOOP(fabsf(v));
    case VT_UNARY_NEG:
        LOOP(-v);
    case VT_UNARY_SIGN:
        LOOP((float)((v > 0.0f) - (v < 0.0f)));
    case VT_UNARY_RELU:
        LOOP(v < 0.0f ? 0.0f : v);
    case VT_UNARY_CLIP: {
        for (int64_t i = 0; i < n; i++) {
            const float v = x[i] < alpha ? alpha : x[i];
            y[i] = v > beta ? beta : v;
        }
        return;
    }
    case VT_UNARY_EXP:
        LOOP(vt_exp(v));
    case VT_UNARY_LOG:
        LOOP(logf(v));
    case VT_UNARY_SQRT:
        LOOP(sqrtf(v));
    case VT_UNARY_RECIPROCAL:
        LOOP(1.0f / v);
    case VT_UNARY_FLOOR:
        LOOP(floorf(v));
    case VT_UNARY_CEIL:
        LOOP(ceilf(v));
    case VT_UNARY_ROUND:
        LOOP(rintf(v));
    case VT_UNARY_SIN:
        LOOP(sinf(v));
    case VT_UNARY_COS:
        LOOP(cosf(v));
    case VT_UNARY_TAN:
        LOOP(tanf(v));
    case VT_UNARY_ASIN:
        LOOP(asinf(v));
    case VT_UNARY_ACOS:
        LOOP(acosf(v));
    case VT_UNARY_ATAN:
        LOOP(atanf(v));
    case VT_UNARY_SINH:
        LOOP(sinhf(v));
    case VT_UNARY_COSH:
        LOOP(coshf(v));
    case VT_UNARY_TANH:
        LOOP(vt_tanh(v));
    case VT_UNARY_ASINH:
        LOOP(asinhf(v));
    case VT_UNARY_ACOSH:
        LOOP(acoshf(v));
    case VT_UNARY_ATANH:
        LOOP(atanhf(v));
    case VT_UNARY_ERF:
        LOOP(erff(v));
    case VT_UNARY_SIGMOID:
        LOOP(vt_sigmoid(v));
    case VT_UNARY_LEAKY_RELU:
        LOOP(v < 0.0f ? alpha * v : v);
    case VT_UNARY_ELU:
        LOOP(v < 0.0f ? alpha * expm1f(v) : v);
    case VT_UNARY_SELU:
        LOOP(beta * (v > 0.0f ? v : alpha * expm1f(v)));
    case VT_UNARY_CELU:
        LOOP(v < 0.0f ? alpha * expm1f(v / alpha) : v);
    case VT_UNARY_HARD_SIGMOID:
        LOOP(bounded(alpha * v + beta));
    case VT_UNARY_HARD_SWISH:
        LOOP(v * bounded(v * (1.0f / 6.0f) + 0.5f));
    case VT_UNARY_SOFTPLUS:
        LOOP((v > 0.0f ? v : 0.0f) + log1pf(vt_exp(-fabsf(v))));
    case VT_UNARY_SOFTSIGN:
        LOOP(v / (1.0f + fabsf(v)));
    case VT_UNARY_THRESHOLDED_RELU:
        LOOP(v > alpha ? v : 0.0f);
    case VT_UNARY_SHRINK:
        LOOP(v < -alpha ? v + beta : (v > alpha ? v - beta : 0.0f));
    case VT_UNARY_MISH:
        LOOP(v * tanhf((v > 0.0f ? v : 0.0f) + log1pf(expf(-fabsf(v)))));
    case VT_UNARY_GELU:
        LOOP(0.5f * v * (1.0f + erff(v * 0.70710678f)));
    case VT_UNARY_GELU_TANH:
        LOOP(0.5f * v * (1.0f + vt_tanh(0.79788456f * (v + 0.044715f * v * v * v))));
    }
}
