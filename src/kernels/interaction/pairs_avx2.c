/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled with AVX2 and FMA: called only where the processor has them. */
#include <immintrin.h>

typedef __m256 vt_vec;

static inline void sum_four(const vt_vec s[4], float *out)
{
    const __m256 x = _mm256_hadd_ps(_mm256_hadd_ps(s[0], s[1]), _mm256_hadd_ps(s[2], s[3]));
    _mm_storeu_ps(out, _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1)));
}

#define VT_PAIRS_VL   8
#define VT_PAIRS_ROWS 2
#define VT_PAIRS_NAME vt_f32_pairs__avx2
#include "kernels/interaction/pairs.inc"
