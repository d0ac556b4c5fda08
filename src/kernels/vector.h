/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vectors of float32 as wide as the instruction set that the including file is compiled for, so
 * that a kernel is written once, in a file *.inc, and compiled for each. A file for every machine
 * defines VT_VECTOR_PORTABLE first.
 *
 * vt_vec is the type, VT_VL its lanes, VT_ISA(name) the name of a function for this instruction
 * set. Loads and stores need no alignment. Those called `some` touch the first n lanes only, 0 to
 * VT_VL of them; the other lanes are 0.
 */
#ifndef VT_KERNELS_VECTOR_H
#define VT_KERNELS_VECTOR_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels/finish.h"

#define VT_INLINE static inline __attribute__((always_inline, unused))

#if !defined(VT_VECTOR_PORTABLE) && !defined(__AVX2__)
#define VT_VECTOR_PORTABLE /* what the compiler has no registers for */
#endif
#if !defined(VT_VECTOR_PORTABLE)
#include <immintrin.h>
#endif

#if defined(VT_VECTOR_PORTABLE)
#define VT_VL        4
#define VT_ISA(name) name##__portable
typedef float vt_vec __attribute__((vector_size(16)));
typedef int32_t vt_mask __attribute__((vector_size(16)));
#elif defined(__AVX512F__)
#define VT_VL        16
#define VT_ISA(name) name##__avx512
typedef __m512 vt_vec;
#else
#define VT_VL        8
#define VT_ISA(name) name##__avx2
typedef __m256 vt_vec;
#endif

VT_INLINE vt_vec vec_load(const float *p)
{
    vt_vec v;
    memcpy(&v, p, sizeof(v));
    return v;
}

VT_INLINE void vec_store(float *p, vt_vec v)
{
    memcpy(p, &v, sizeof(v));
}

#if defined(VT_VECTOR_PORTABLE)

VT_INLINE vt_vec vec_splat(float x)
{
    return (vt_vec){x, x, x, x};
}

VT_INLINE vt_vec vec_fma(vt_vec a, vt_vec b, vt_vec c)
{
    return a * b + c;
}

/* b where the mask is set, else a. */
VT_INLINE vt_vec vec_choose(vt_mask mask, vt_vec a, vt_vec b)
{
    vt_mask u, v;
    memcpy(&u, &a, sizeof(u));
    memcpy(&v, &b, sizeof(v));
    u = (v & mask) | (u & ~mask);
    memcpy(&a, &u, sizeof(a));
    return a;
}

/* A NaN of `a` stays one, as the operators want it; so in the other versions. */
VT_INLINE vt_vec vec_max(vt_vec a, vt_vec b)
{
    return vec_choose(a < b, a, b);
}

VT_INLINE vt_vec vec_min(vt_vec a, vt_vec b)
{
    return vec_choose(a > b, a, b);
}

/* A NaN of either stays one. */
VT_INLINE vt_vec vec_max_nan(vt_vec a, vt_vec b)
{
    return vec_choose((a < b) | (b != b), a, b);
}

VT_INLINE vt_vec vec_sqrt(vt_vec a)
{
    for (int i = 0; i < VT_VL; i++) {
        a[i] = sqrtf(a[i]);
    }
    return a;
}

VT_INLINE vt_vec vec_load_some(const float *p, int64_t n)
{
    vt_vec v = {0};
    for (int64_t i = 0; i < n && i < VT_VL; i++) {
        v[i] = p[i];
    }
    return v;
}

VT_INLINE void vec_store_some(float *p, vt_vec v, int64_t n)
{
    for (int64_t i = 0; i < n && i < VT_VL; i++) {
        p[i] = v[i];
    }
}

#elif defined(__AVX512F__)

VT_INLINE vt_vec vec_splat(float x)
{
    return _mm512_set1_ps(x);
}

VT_INLINE vt_vec vec_fma(vt_vec a, vt_vec b, vt_vec c)
{
    return _mm512_fmadd_ps(a, b, c);
}

/* The operand that comes second survives a NaN in either. */
VT_INLINE vt_vec vec_max(vt_vec a, vt_vec b)
{
    return _mm512_max_ps(b, a);
}

VT_INLINE vt_vec vec_min(vt_vec a, vt_vec b)
{
    return _mm512_min_ps(b, a);
}

/* Both orders, since each keeps one operand's NaN: a NaN stays one, whatever is or-ed to it. */
VT_INLINE vt_vec vec_max_nan(vt_vec a, vt_vec b)
{
    return _mm512_or_ps(_mm512_max_ps(b, a), _mm512_max_ps(a, b));
}

VT_INLINE vt_vec vec_sqrt(vt_vec a)
{
    return _mm512_sqrt_ps(a);
}

VT_INLINE vt_vec vec_load_some(const float *p, int64_t n)
{
    return _mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), p);
}

VT_INLINE void vec_store_some(float *p, vt_vec v, int64_t n)
{
    _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), v);
}

#else

VT_INLINE vt_vec vec_splat(float x)
{
    return _mm256_set1_ps(x);
}

VT_INLINE vt_vec vec_fma(vt_vec a, vt_vec b, vt_vec c)
{
    return _mm256_fmadd_ps(a, b, c);
}

VT_INLINE vt_vec vec_max(vt_vec a, vt_vec b)
{
    return _mm256_max_ps(b, a);
}

VT_INLINE vt_vec vec_min(vt_vec a, vt_vec b)
{
    return _mm256_min_ps(b, a);
}

/* Both orders, since each keeps one operand's NaN: a NaN stays one, whatever is or-ed to it. */
VT_INLINE vt_vec vec_max_nan(vt_vec a, vt_vec b)
{
    return _mm256_or_ps(_mm256_max_ps(b, a), _mm256_max_ps(a, b));
}

VT_INLINE vt_vec vec_sqrt(vt_vec a)
{
    return _mm256_sqrt_ps(a);
}

VT_INLINE __m256i vec_first(int64_t n)
{
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), lane);
}

VT_INLINE vt_vec vec_load_some(const float *p, int64_t n)
{
    return _mm256_maskload_ps(p, vec_first(n));
}

VT_INLINE void vec_store_some(float *p, vt_vec v, int64_t n)
{
    _mm256_maskstore_ps(p, vec_first(n), v);
}

#endif

/* Sum and maximum of the lanes. */
VT_INLINE float vec_sum(vt_vec v)
{
#if !defined(VT_VECTOR_PORTABLE) && defined(__AVX512F__)
    return _mm512_reduce_add_ps(v);
#else
    float lane[VT_VL];
    vec_store(lane, v);
    for (int w = VT_VL / 2; w > 0; w /= 2) {
        for (int i = 0; i < w; i++) {
            lane[i] += lane[i + w];
        }
    }
    return lane[0];
#endif
}

VT_INLINE float vec_top(vt_vec v)
{
#if !defined(VT_VECTOR_PORTABLE) && defined(__AVX512F__)
    return _mm512_reduce_max_ps(v);
#else
    float lane[VT_VL];
    vec_store(lane, v);
    for (int w = VT_VL / 2; w > 0; w /= 2) {
        for (int i = 0; i < w; i++) {
            lane[i] = lane[i] > lane[i + w] ? lane[i] : lane[i + w];
        }
    }
    return lane[0];
#endif
}

/* e^x as vt_exp has it: 0 below -86.6, infinity above 88.72, NaN for NaN. */
VT_INLINE vt_vec vec_exp(vt_vec x)
{
    const vt_vec low = vec_splat(-86.6f), round = vec_splat(12582912.0f);
    const vt_vec bounded = vec_min(vec_max(x, low), vec_splat(88.8f));
    const vt_vec shifted = vec_fma(bounded, vec_splat(1.44269504f), round);
    const vt_vec n = shifted - round;
    vt_vec r = vec_fma(n, vec_splat(-0.693359375f), bounded);
    r = vec_fma(n, vec_splat(2.12194440e-4f), r);
    vt_vec p = vec_fma(vec_splat(1.0f / 5040.0f), r, vec_splat(1.0f / 720.0f));
    p = vec_fma(p, r, vec_splat(1.0f / 120.0f));
    p = vec_fma(p, r, vec_splat(1.0f / 24.0f));
    p = vec_fma(p, r, vec_splat(1.0f / 6.0f));
    p = vec_fma(p, r, vec_splat(0.5f));
    p = vec_fma(p, r, vec_splat(1.0f));
    p = vec_fma(p, r, vec_splat(1.0f));
#if defined(VT_VECTOR_PORTABLE)
    vt_mask bits;
    vt_vec scale;
    memcpy(&bits, &shifted, sizeof(bits));
    bits = (bits + 126) << 23;
    memcpy(&scale, &bits, sizeof(scale));
    p = vec_choose(x < low, p * scale * vec_splat(2.0f), vec_splat(0.0f));
    return vec_choose(x > vec_splat(88.722836f), p, vec_splat(INFINITY));
#elif defined(__AVX512F__)
    return _mm512_maskz_scalef_ps(_mm512_cmp_ps_mask(x, low, _CMP_NLT_UQ), p, n);
#else
    const __m256i bits = _mm256_slli_epi32(
        _mm256_add_epi32(_mm256_castps_si256(shifted), _mm256_set1_epi32(126)), 23);
    p = p * _mm256_castsi256_ps(bits) * vec_splat(2.0f);
    p = _mm256_and_ps(p, _mm256_cmp_ps(x, low, _CMP_NLT_UQ));
    return _mm256_blendv_ps(p, vec_splat(INFINITY),
                            _mm256_cmp_ps(x, vec_splat(88.722836f), _CMP_GT_OQ));
#endif
}

/* The activation of a finish. */
VT_INLINE vt_vec vec_activate(const struct vt_gemm_finish *finish, vt_vec x)
{
    const vt_vec zero = vec_splat(0.0f);
    switch (finish->activation) {
    case VT_ACT_RELU:
        return vec_max(x, zero);
    case VT_ACT_LEAKY_RELU:
        return vec_max(x, zero) + vec_splat(finish->alpha) * vec_min(x, zero);
    case VT_ACT_CLIP:
        return vec_min(vec_max(x, vec_splat(finish->alpha)), vec_splat(finish->beta));
    case VT_ACT_HARD_SWISH:
        return x * vec_min(vec_max(x * vec_splat(1.0f / 6.0f) + vec_splat(0.5f), zero),
                           vec_splat(1.0f));
    case VT_ACT_SIGMOID:
        return vec_splat(1.0f) / (vec_splat(1.0f) + vec_exp(-x));
    case VT_ACT_NONE:
    case VT_ACT_COUNT:
        return x;
    default: {
        float lane[VT_VL];
        vec_store(lane, x);
        for (int i = 0; i < VT_VL; i++) {
            lane[i] = vt_finish_one(finish, lane[i]);
        }
        return vec_load(lane);
    }
    }
}

#endif
