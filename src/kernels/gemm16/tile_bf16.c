/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled with AVX-512 F, BW, DQ, VL and BF16: called only where the processor has them. */
#include <immintrin.h>

#include "kernels/gemm16/kernels.h"

#define MR 12

#define INLINE static inline __attribute__((always_inline))

INLINE void sum_tile(const struct vt_gemm16_tile *tile, uint32_t rows, int vectors)
{
    __m512 sum[MR][2];
    const uint16_t *a = tile->a, *b = tile->b;
    const char *ahead = tile->prefetch;
    const int64_t stride = tile->a_stride;
#pragma GCC unroll 12
    for (uint32_t r = 0; r < rows; r++) {
        float *at = tile->sums + (size_t)r * VT_GEMM16_NR;
        sum[r][0] = tile->accumulate ? _mm512_loadu_ps(at) : _mm512_setzero_ps();
        sum[r][1] =
            vectors > 1 && tile->accumulate ? _mm512_loadu_ps(at + 16) : _mm512_setzero_ps();
    }
    for (int64_t k = 0; k < tile->k; k += 2, a += 2, b += (ptrdiff_t)2 * VT_GEMM16_NR) {
        const __m512bh x0 = (__m512bh)_mm512_loadu_si512(b);
        const __m512bh x1 = vectors > 1 ? (__m512bh)_mm512_loadu_si512(b + 32) : x0;
        if (k % VT_GEMM16_KU == 0) {
            for (uint32_t i = 0; i < tile->prefetch_lines; i++, ahead += 64) {
                _mm_prefetch(ahead, _MM_HINT_T1);
            }
        }
#pragma GCC unroll 12
        for (uint32_t r = 0; r < rows; r++) {
            int32_t two;
            __builtin_memcpy(&two, a + r * stride, sizeof(two));
            const __m512bh w = (__m512bh)_mm512_set1_epi32(two);
            sum[r][0] = _mm512_dpbf16_ps(sum[r][0], w, x0);
            if (vectors > 1) {
                sum[r][1] = _mm512_dpbf16_ps(sum[r][1], w, x1);
            }
        }
    }
#pragma GCC unroll 12
    for (uint32_t r = 0; r < rows; r++) {
        float *at = tile->sums + (size_t)r * VT_GEMM16_NR;
        _mm512_storeu_ps(at, sum[r][0]);
        if (vectors > 1) {
            _mm512_storeu_ps(at + 16, sum[r][1]);
        }
    }
}

void vt_bf16_gemm_12x32__avx512(const struct vt_gemm16_tile *tile)
{
    if (tile->cols > 16) {
        if (tile->rows > 8) {
            sum_tile(tile, MR, 2);
        } else if (tile->rows > 4) {
            sum_tile(tile, 8, 2);
        } else if (tile->rows > 1) {
            sum_tile(tile, 4, 2);
        } else {
            sum_tile(tile, 1, 2);
        }
    } else if (tile->rows > 4) {
        sum_tile(tile, MR, 1);
    } else {
        sum_tile(tile, 4, 1);
    }
}

void vt_bf16_narrow__avx512(const float *from, int64_t n, int64_t padded, uint16_t *to)
{
    int64_t i = 0;
    for (; i + 32 <= n; i += 32) {
        const __m512bh x =
            _mm512_cvtne2ps_pbh(_mm512_loadu_ps(from + i + 16), _mm512_loadu_ps(from + i));
        _mm512_storeu_si512(to + i, (__m512i)x);
    }
    for (; i < padded; i += 16) {
        const int64_t left = n - i < 0 ? 0 : n - i > 16 ? 16 : n - i;
        const int64_t room = padded - i > 16 ? 16 : padded - i;
        const __m512 x = _mm512_maskz_loadu_ps((__mmask16)((1U << left) - 1), from + i);
        _mm256_mask_storeu_epi16(to + i, (__mmask16)((1U << room) - 1),
                                 (__m256i)_mm512_cvtneps_pbh(x));
    }
}

/* Two rows by 16 columns: each pair side by side. */
INLINE __m512i pair_of(__m512 first, __m512 second)
{
    const __m512i one = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(first));
    const __m512i other = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(second));
    return _mm512_or_si512(one, _mm512_slli_epi32(other, 16));
}

void vt_bf16_pair__avx512(const float *rows, int64_t stride, int64_t n, int64_t padded,
                          uint16_t *ret_panel)
{
    for (int64_t k = 0; k < padded; k += 2, ret_panel += (ptrdiff_t)2 * VT_GEMM16_NR) {
        const float *one = rows + k * stride, *other = one + stride;
        for (int j = 0; j < VT_GEMM16_NR; j += 16) {
            const __m512 first = k < n ? _mm512_loadu_ps(one + j) : _mm512_setzero_ps();
            const __m512 second = k + 1 < n ? _mm512_loadu_ps(other + j) : _mm512_setzero_ps();
            _mm512_storeu_si512(ret_panel + (ptrdiff_t)2 * j, pair_of(first, second));
        }
    }
}

#define VT_FINISH_NAME vt_bf16_finish__avx512
#include "kernels/gemm16/finish.inc"
