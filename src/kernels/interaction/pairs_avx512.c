/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled with AVX-512 F, BW, DQ and VL: called only where the processor has them. */
#include <immintrin.h>

typedef __m512 vt_vec;

/* Sums of two vectors' lanes, two of each by turns in every 128 bits. */
static inline __m512d sum_two(vt_vec a, vt_vec b)
{
    return _mm512_castps_pd(_mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b)));
}

static inline void sum_four(const vt_vec s[4], float *out)
{
    const __m512d x = sum_two(s[0], s[1]), y = sum_two(s[2], s[3]);
    const __m512 four = _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(x, y)),
                                      _mm512_castpd_ps(_mm512_unpackhi_pd(x, y)));
    const __m256 half =
        _mm256_add_ps(_mm512_castps512_ps256(four), _mm512_extractf32x8_ps(four, 1));
    _mm_storeu_ps(out, _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1)));
}

#define VT_PAIRS_VL   16
#define VT_PAIRS_ROWS 4
#define VT_PAIRS_NAME vt_f32_pairs__avx512
#include "kernels/interaction/pairs.inc"
