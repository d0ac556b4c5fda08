/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exp, tanh and the logistic function without branches or calls, for loops that become vector
 * code. Relative error below 3e-7.
 */
#ifndef VT_KERNELS_VECTOR_MATH_H
#define VT_KERNELS_VECTOR_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* e^x: 0 below -86.6, infinity above 88.72, NaN for NaN. */
static inline float vt_exp(float x)
{
    /* x = n·ln 2 + r with |r| <= ln(2)/2; adding 1.5·2^23 rounds to an integer. */
    const float low = x < -86.6f ? -86.6f : x, bounded = low > 88.8f ? 88.8f : low;
    const float shifted = bounded * 1.44269504f + 12582912.0f;
    const float n = shifted - 12582912.0f;
    const float r = bounded - n * 0.693359375f - n * -2.12194440e-4f;
    /* Taylor series to r^7, whose rest is below 2^-26 here. */
    float p = 1.0f / 5040.0f;
    p = p * r + 1.0f / 720.0f;
    p = p * r + 1.0f / 120.0f;
    p = p * r + 1.0f / 24.0f;
    p = p * r + 1.0f / 6.0f;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    /* 2^(n-1), doubled at the end: n reaches 128. */
    uint32_t bits; /* of a NaN, any: adding to them must not be signed */
    memcpy(&bits, &shifted, sizeof(bits));
    bits = (bits + 126) << 23;
    float scale;
    memcpy(&scale, &bits, sizeof(scale));
    float y = p * scale * 2.0f;
    y = x < -86.6f ? 0.0f : y;
    y = x > 88.722836f ? INFINITY : y;
    return x != x ? x : y;
}

static inline float vt_sigmoid(float x)
{
    return 1.0f / (1.0f + vt_exp(-x));
}

static inline float vt_tanh(float x)
{
    const float a = fabsf(x), s = x * x;
    /* Near 0 the formula with exp cancels: an odd polynomial instead. */
    float p = -5.70498872745e-3f;
    p = p * s + 2.06390887954e-2f;
    p = p * s - 5.37397155531e-2f;
    p = p * s + 1.33314422036e-1f;
    p = p * s - 3.33332819422e-1f;
    const float near = p * s * x + x;
    const float far = copysignf(1.0f - 2.0f / (vt_exp(2.0f * a) + 1.0f), x);
    return a < 0.625f ? near : far;
}

#endif
