/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled with AVX2, FMA and F16C: called only where the processor has them. */
#include <immintrin.h>
#include <stdbool.h>

typedef __m256 vt_vec;

#define VT_STEP_VL           8
#define VT_STEP_ROWS         2
#define VT_STEP_FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define VT_STEP_SPLAT(x)     _mm256_set1_ps(x)
#define VT_STEP_HALF(p)      _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(p)))
#define VT_STEP_WAY          vt_recurrent_way_avx2

#include "kernels/recurrent/step.inc"
