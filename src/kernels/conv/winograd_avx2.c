/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled with AVX2 and FMA: called only where the processor has them. */
#include <immintrin.h>
#include <stdint.h>

typedef __m256 vt_vec;

#define VT_WINO_VL           8
#define VT_WINO_MR           6
#define VT_WINO_FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define VT_WINO_SPLAT(x)     _mm256_set1_ps(x)
/* The operand that comes second survives a NaN in either. */
#define VT_WINO_MAX(x, low)     _mm256_max_ps(low, x)
#define VT_WINO_LOAD_PART(p, n) _mm256_maskload_ps(p, part_mask(n))
#define VT_WINO_KERNEL          vt_f32_winograd__avx2

static inline __m256i part_mask(int64_t n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

#include "kernels/conv/winograd.inc"
