/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled with AVX-512 F, BW, DQ and VL: called only where the processor has them. */
#include <immintrin.h>

typedef __m512 vt_vec;

#define VT_HALF_VL           16
#define VT_HALF_LOAD(p)      _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)(p)))
#define VT_HALF_FMA(a, b, c) _mm512_fmadd_ps(a, b, c)
#define VT_HALF_SPLAT(x)     _mm512_set1_ps(x)
#define VT_HALF_NAME         vt_f16_sums__avx512

#include "kernels/gemm/half.inc"
