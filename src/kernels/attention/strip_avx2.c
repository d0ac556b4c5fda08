/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled with AVX2 and FMA: called only where the processor has them. */
#include <immintrin.h>

typedef __m256 vt_vec;
typedef int32_t vt_ivec __attribute__((vector_size(32)));

#define VT_STRIP_VL           8
#define VT_STRIP_FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define VT_STRIP_SPLAT(x)     _mm256_set1_ps(x)
#define VT_STRIP_MAX(a, b)    _mm256_max_ps(a, b)
#define VT_STRIP_WAY          vt_attention_way_avx2

#include "kernels/attention/strip.inc"
