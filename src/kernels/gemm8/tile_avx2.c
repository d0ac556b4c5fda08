/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiled with AVX2: called only where the processor has it.
 *
 * vpmaddubsw would multiply bytes, but its pairs saturate at 16 bits (255·127·2 does not fit). So
 * each four bytes of B are taken apart into two pairs of 16 bits, (0, 2) and (1, 3), and multiplied
 * by vpmaddwd, which is exact; the weights are stored as int16 in that order.
 */
#include <immintrin.h>

#include "kernels/gemm8/kernels.h"

#define MR     4
#define A_STEP ((ptrdiff_t)4 * MR)
#define B_STEP ((ptrdiff_t)4 * VT_GEMM8_NR)

#define INLINE static inline __attribute__((always_inline))

INLINE void sum_rows(const int16_t *a, const uint8_t *b, int64_t k4, uint32_t rows, int32_t *ret)
{
    const __m256i low = _mm256_set1_epi16(0xff);
    for (int half = 0; half < 2; half++) {
        __m256i sum[MR][2];
        const int16_t *w = a;
        const uint8_t *x = b + (ptrdiff_t)half * 64;
#pragma GCC unroll 4
        for (uint32_t r = 0; r < rows; r++) {
            sum[r][0] = sum[r][1] = _mm256_setzero_si256();
        }
        for (int64_t k = 0; k < k4; k++, x += B_STEP, w += A_STEP) {
            const __m256i x0 = _mm256_loadu_si256((const __m256i *)(const void *)x);
            const __m256i x1 = _mm256_loadu_si256((const __m256i *)(const void *)(x + 32));
            const __m256i even0 = _mm256_and_si256(x0, low), odd0 = _mm256_srli_epi16(x0, 8);
            const __m256i even1 = _mm256_and_si256(x1, low), odd1 = _mm256_srli_epi16(x1, 8);
#pragma GCC unroll 4
            for (uint32_t r = 0; r < rows; r++) {
                int32_t pair[2];
                __builtin_memcpy(pair, w + 4 * (ptrdiff_t)r, sizeof(pair));
                const __m256i w0 = _mm256_set1_epi32(pair[0]), w1 = _mm256_set1_epi32(pair[1]);
                sum[r][0] = _mm256_add_epi32(sum[r][0], _mm256_madd_epi16(even0, w0));
                sum[r][1] = _mm256_add_epi32(sum[r][1], _mm256_madd_epi16(even1, w0));
                sum[r][0] = _mm256_add_epi32(sum[r][0], _mm256_madd_epi16(odd0, w1));
                sum[r][1] = _mm256_add_epi32(sum[r][1], _mm256_madd_epi16(odd1, w1));
            }
        }
#pragma GCC unroll 4
        for (uint32_t r = 0; r < rows; r++) {
            int32_t *to = ret + (size_t)r * VT_GEMM8_NR + (ptrdiff_t)half * 16;
            _mm256_storeu_si256((__m256i *)(void *)to, sum[r][0]);
            _mm256_storeu_si256((__m256i *)(void *)(to + 8), sum[r][1]);
        }
    }
}

void vt_s8_gemm_4x32__avx2(const void *a, const uint8_t *b, int64_t k4, uint32_t rows,
                           uint32_t cols, int32_t *ret_sums)
{
    (void)cols;
    switch (rows) {
    case 1:
        sum_rows(a, b, k4, 1, ret_sums);
        return;
    case 2:
        sum_rows(a, b, k4, 2, ret_sums);
        return;
    default:
        sum_rows(a, b, k4, MR, ret_sums);
        return;
    }
}

typedef __m256 vt_vec;
typedef __m256i vt_ints;

#define VT_FINISH_NAME          vt_s8_finish__avx2
#define VT_FINISH_VL            8
#define VT_FINISH_SPLAT(x)      _mm256_set1_ps(x)
#define VT_FINISH_SPLAT_INT(x)  _mm256_set1_epi32(x)
#define VT_FINISH_LOAD(p)       _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define VT_FINISH_STORE(p, x)   _mm256_storeu_si256((__m256i *)(void *)(p), x)
#define VT_FINISH_STORE_F(p, x) _mm256_storeu_ps(p, x)
#define VT_FINISH_ADD_INT(a, b) _mm256_add_epi32(a, b)
#define VT_FINISH_FLOAT(x)      _mm256_cvtepi32_ps(x)
#define VT_FINISH_INT(x)        _mm256_cvtps_epi32(x)
#define VT_FINISH_ROUND(x)      _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define VT_FINISH_MAX(a, b)     _mm256_max_ps(a, b)
#define VT_FINISH_MIN(a, b)     _mm256_min_ps(a, b)

INLINE __m256 load_bytes(const void *p, uint8_t flip)
{
    const __m128i x = _mm_xor_si128(_mm_loadl_epi64(p), _mm_set1_epi8((char)flip));
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(x));
}

/* All are in the range of their type. */
INLINE void store_bytes(void *p, __m256i x)
{
    const __m256i order =
        _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 4, 8, 12,
                         -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    const __m256i bytes = _mm256_shuffle_epi8(x, order);
    const __m128i both =
        _mm_unpacklo_epi32(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));
    _mm_storel_epi64(p, both);
}
#define VT_FINISH_LOAD_BYTES(p, flip) load_bytes(p, flip)
#define VT_FINISH_STORE_BYTES(p, x)   store_bytes(p, x)

#include "kernels/gemm8/finish.inc"
