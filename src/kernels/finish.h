/* SPDX-License-Identifier: Apache-2.0 */
/* The last step of a kernel that does not run through the matrix product. */
#ifndef VT_KERNELS_FINISH_H
#define VT_KERNELS_FINISH_H

#include <math.h>
#include <stdint.h>

#include "kernels/gemm/gemm.h"
#include "kernels/vector_math.h"

static inline float vt_finish_one(const struct vt_gemm_finish *finish, float x)
{
    switch (finish->activation) {
    case VT_ACT_RELU:
        return x < 0.0f ? 0.0f : x;
    case VT_ACT_LEAKY_RELU:
        return x < 0.0f ? finish->alpha * x : x;
    case VT_ACT_CLIP:
        x = x < finish->alpha ? finish->alpha : x;
        return x > finish->beta ? finish->beta : x;
    case VT_ACT_SIGMOID:
        return vt_sigmoid(x);
    case VT_ACT_HARD_SWISH: {
        float gate = x * (1.0f / 6.0f) + 0.5f;
        gate = gate < 0.0f ? 0.0f : gate;
        return x * (gate > 1.0f ? 1.0f : gate);
    }
    case VT_ACT_TANH:
        return vt_tanh(x);
    case VT_ACT_SILU:
        return vt_silu(x);
    case VT_ACT_GELU:
        return vt_gelu(x);
    case VT_ACT_GELU_TANH:
        return vt_gelu_tanh(x);
    case VT_ACT_NONE:
    case VT_ACT_COUNT:
        break;
    }
    return x;
}

/* out = act(x + residual); residual may be NULL, out may be x. */
static inline void vt_finish_row(const struct vt_gemm_finish *finish, const float *x, int64_t n,
                                 const float *residual, float *out)
{
    if (residual != NULL) {
        for (int64_t i = 0; i < n; i++)
            out[i] = x[i] + residual[i];
        x = out;
    }
    if (finish->activation == VT_ACT_NONE) {
        for (int64_t i = 0; i < n; i++)
            out[i] = x[i];
    } else if (finish->activation == VT_ACT_RELU) {
        for (int64_t i = 0; i < n; i++)
            out[i] = x[i] < 0.0f ? 0.0f : x[i];
    } else {
        for (int64_t i = 0; i < n; i++)
            out[i] = vt_finish_one(finish, x[i]);
    }
}

#endif
