/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled with AVX2 and FMA: called only where the processor has them. */
#include <immintrin.h>

#include "kernels/gemm/kernels.h"

typedef __m256 vt_vec;

#define VT_TILE_MR           6
#define VT_TILE_VL           8
#define VT_TILE_FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define VT_TILE_SPLAT(x)     _mm256_set1_ps(x)
/* The operand that comes second survives a NaN in either. */
#define VT_TILE_MAX(a, b) _mm256_max_ps(b, a)
#define VT_TILE_MIN(a, b) _mm256_min_ps(b, a)
#define VT_TILE_PACKED    vt_f32_gemm_6x16__avx2
#define VT_TILE_INDIRECT  vt_f32_gemm_indirect_6x16__avx2

#include "kernels/gemm/tile.inc"
