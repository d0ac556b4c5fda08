/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled with AVX-512 F, BW, DQ and VL: called only where the processor has them. */
#include <immintrin.h>

typedef __m512 vt_vec;
typedef int32_t vt_ivec __attribute__((vector_size(64)));

#define VT_STRIP_VL           16
#define VT_STRIP_FMA(a, b, c) _mm512_fmadd_ps(a, b, c)
#define VT_STRIP_SPLAT(x)     _mm512_set1_ps(x)
#define VT_STRIP_MAX(a, b)    _mm512_max_ps(a, b)
#define VT_STRIP_WAY          vt_attention_way_avx512

#include "kernels/attention/strip.inc"
