/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exp, tanh, erf, the logistic function and what activations make of them, without branches or
 * calls, for loops that become vector code. Relative error below 3e-7; of erfc and the GELU it
 * grows with the square of x where they vanish.
 */
#ifndef VT_KERNELS_VECTOR_MATH_H
#define VT_KERNELS_VECTOR_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Before a loop whose output is its input or lies apart from it. */
#if defined(__clang__)
#define VT_EACH _Pragma("clang loop vectorize(assume_safety)")
#else
#define VT_EACH _Pragma("GCC ivdep")
#endif

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

/* Polynomials fitted to erf(x) / x in x² up to 0.92, and to -log(1 - erf(x)) from there to 4, where
 * erf is 1 in single precision. */
static inline float vt_erf(float x)
{
    const float s = x * x, a = fabsf(x), bounded = a > 4.0f ? 4.0f : a;
    float p = -0.000599085328f;
    p = p * s + 0.00499318008f;
    p = p * s - 0.026766616f;
    p = p * s + 0.112818162f;
    p = p * s - 0.376124937f;
    p = p * s + 1.12837915f;
    float q = -0.000195720729f;
    q = q * bounded + 0.00304109345f;
    q = q * bounded - 0.0222184529f;
    q = q * bounded + 0.103914028f;
    q = q * bounded + 0.637202269f;
    q = q * bounded + 1.12766373f;
    q = q * bounded + 0.000198554519f;
    const float far = copysignf(1.0f - vt_exp(-q), x);
    return a < 0.921875f ? p * x : far;
}

/* erfc(x) for x >= 0: e^(-x^2) times a polynomial in 1 / (1 + 0.49 x). */
static inline float vt_erfc_positive(float x)
{
    const float u = 1.0f / (1.0f + 0.49f * x);
    float p = -0.0573004261f;
    p = p * u + 0.290176332f;
    p = p * u - 0.533797622f;
    p = p * u + 0.358061492f;
    p = p * u - 0.0665332302f;
    p = p * u + 0.219782278f;
    p = p * u + 0.236058503f;
    p = p * u + 0.277126521f;
    p = p * u + 0.276426136f;
    return p * u * vt_exp(-x * x);
}

/* x·Φ(x), by the error function. */
static inline float vt_gelu(float x)
{
    const float tail = 0.5f * vt_erfc_positive(fabsf(x) * 0.70710678f);
    return x * (x < 0.0f ? tail : 1.0f - tail);
}

static inline float vt_silu(float x)
{
    return x * vt_sigmoid(x);
}

/* The GELU's approximation by tanh: 1/2 (1 + tanh z) is the logistic function at 2 z. */
static inline float vt_gelu_tanh(float x)
{
    return x * vt_sigmoid(1.59576912f * (x + 0.044715f * x * x * x));
}

#endif
