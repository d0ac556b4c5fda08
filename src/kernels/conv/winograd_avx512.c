/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled with AVX-512 F, BW, DQ and VL: called only where the processor has them. */
#include <immintrin.h>
#include <stdint.h>

typedef __m512 vt_vec;

#define VT_WINO_VL           16
#define VT_WINO_MR           12
#define VT_WINO_FMA(a, b, c) _mm512_fmadd_ps(a, b, c)
#define VT_WINO_SPLAT(x)     _mm512_set1_ps(x)
/* The operand that comes second survives a NaN in either. */
#define VT_WINO_MAX(x, low)     _mm512_max_ps(low, x)
#define VT_WINO_LOAD_PART(p, n) _mm512_maskz_loadu_ps(part_mask(n), p)
#define VT_WINO_KERNEL          vt_f32_winograd__avx512

static inline __mmask16 part_mask(int64_t n)
{
    return (__mmask16)((1u << n) - 1u);
}

#include "kernels/conv/winograd.inc"
