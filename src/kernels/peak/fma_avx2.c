/* SPDX-License-Identifier: Apache-2.0 */
#include <immintrin.h>

#include "kernels/peak/kernels.h"

void vt_peak_fma__avx2(int64_t rounds, float *ret_sink)
{
    const __m256 factor = _mm256_set1_ps(0.5F), summand = _mm256_set1_ps(1);
    __m256 chain[VT_PEAK_CHAINS];
    float lanes[8], sum = 0;

    for (int i = 0; i < VT_PEAK_CHAINS; i++) {
        chain[i] = _mm256_set1_ps((float)i);
    }
    for (int64_t r = 0; r < rounds; r++) {
#pragma GCC unroll 12
        for (int i = 0; i < VT_PEAK_CHAINS; i++) {
            chain[i] = _mm256_fmadd_ps(chain[i], factor, summand);
        }
    }
    for (int i = 1; i < VT_PEAK_CHAINS; i++) {
        chain[0] = _mm256_add_ps(chain[0], chain[i]);
    }
    _mm256_storeu_ps(lanes, chain[0]);
    for (int i = 0; i < 8; i++) {
        sum += lanes[i];
    }
    *ret_sink = sum;
}
