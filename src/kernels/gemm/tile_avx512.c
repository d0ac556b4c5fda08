/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled with AVX-512 F, BW, DQ and VL: called only where the processor has them. */
#include <immintrin.h>

#include "kernels/gemm/kernels.h"

typedef __m512 vt_vec;

#define VT_TILE_MR           12
#define VT_TILE_VL           16
#define VT_TILE_FMA(a, b, c) _mm512_fmadd_ps(a, b, c)
#define VT_TILE_SPLAT(x)     _mm512_set1_ps(x)
/* The operand that comes second survives a NaN in either. */
#define VT_TILE_MAX(a, b) _mm512_max_ps(b, a)
#define VT_TILE_MIN(a, b) _mm512_min_ps(b, a)
#define VT_TILE_PACKED    vt_f32_gemm_12x32__avx512
#define VT_TILE_INDIRECT  vt_f32_gemm_indirect_12x32__avx512

#include "kernels/gemm/tile.inc"
