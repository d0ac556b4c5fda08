/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled with AVX2, FMA and F16C: called only where the processor has them. */
#include <immintrin.h>

typedef __m256 vt_vec;

#define VT_HALF_VL           8
#define VT_HALF_LOAD(p)      _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(p)))
#define VT_HALF_FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define VT_HALF_SPLAT(x)     _mm256_set1_ps(x)
#define VT_HALF_NAME         vt_f16_sums__avx2

#include "kernels/gemm/half.inc"
