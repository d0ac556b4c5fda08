/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled with AVX-512 F, BW, DQ, VL and VNNI: called only where the processor has them. */
#include <immintrin.h>

#include "kernels/gemm8/kernels.h"

#define MR     12
#define A_STEP ((ptrdiff_t)4 * MR)
#define B_STEP ((ptrdiff_t)4 * VT_GEMM8_NR)

#define INLINE static inline __attribute__((always_inline))

INLINE void sum_tile(const int8_t *a, const uint8_t *b, int64_t k4, uint32_t rows, int vectors,
                     int32_t *ret)
{
    __m512i sum[MR][2];
#pragma GCC unroll 12
    for (uint32_t r = 0; r < rows; r++) {
        sum[r][0] = sum[r][1] = _mm512_setzero_si512();
    }
    for (int64_t k = 0; k < k4; k++, b += B_STEP, a += A_STEP) {
        const __m512i x0 = _mm512_loadu_si512(b);
        const __m512i x1 = vectors > 1 ? _mm512_loadu_si512(b + 64) : x0;
#pragma GCC unroll 12
        for (uint32_t r = 0; r < rows; r++) {
            int32_t four;
            __builtin_memcpy(&four, a + 4 * (ptrdiff_t)r, sizeof(four));
            const __m512i w = _mm512_set1_epi32(four);
            sum[r][0] = _mm512_dpbusd_epi32(sum[r][0], x0, w);
            if (vectors > 1) {
                sum[r][1] = _mm512_dpbusd_epi32(sum[r][1], x1, w);
            }
        }
    }
#pragma GCC unroll 12
    for (uint32_t r = 0; r < rows; r++) {
        _mm512_storeu_si512(ret + (size_t)r * VT_GEMM8_NR, sum[r][0]);
        if (vectors > 1) {
            _mm512_storeu_si512(ret + (size_t)r * VT_GEMM8_NR + 16, sum[r][1]);
        }
    }
}

void vt_s8_gemm_12x32__vnni(const void *a, const uint8_t *b, int64_t k4, uint32_t rows,
                            uint32_t cols, int32_t *ret_sums)
{
    if (cols > 16) {
        if (rows > 8) {
            sum_tile(a, b, k4, MR, 2, ret_sums);
        } else if (rows > 4) {
            sum_tile(a, b, k4, 8, 2, ret_sums);
        } else {
            sum_tile(a, b, k4, 4, 2, ret_sums);
        }
    } else if (rows > 4) {
        sum_tile(a, b, k4, MR, 1, ret_sums);
    } else {
        sum_tile(a, b, k4, 4, 1, ret_sums);
    }
}

typedef __m512 vt_vec;
typedef __m512i vt_ints;

#define VT_FINISH_NAME          vt_s8_finish__avx512
#define VT_FINISH_VL            16
#define VT_FINISH_SPLAT(x)      _mm512_set1_ps(x)
#define VT_FINISH_SPLAT_INT(x)  _mm512_set1_epi32(x)
#define VT_FINISH_LOAD(p)       _mm512_loadu_si512(p)
#define VT_FINISH_STORE(p, x)   _mm512_storeu_si512(p, x)
#define VT_FINISH_STORE_F(p, x) _mm512_storeu_ps(p, x)
#define VT_FINISH_ADD_INT(a, b) _mm512_add_epi32(a, b)
#define VT_FINISH_FLOAT(x)      _mm512_cvtepi32_ps(x)
#define VT_FINISH_INT(x)        _mm512_cvtps_epi32(x)
#define VT_FINISH_ROUND(x)      _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define VT_FINISH_MAX(a, b)     _mm512_max_ps(a, b)
#define VT_FINISH_MIN(a, b)     _mm512_min_ps(a, b)

INLINE __m512 load_bytes(const void *p, uint8_t flip)
{
    const __m128i x = _mm_xor_si128(_mm_loadu_si128(p), _mm_set1_epi8((char)flip));
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(x));
}

/* All are in the range of their type. */
INLINE void store_bytes(void *p, __m512i x)
{
    _mm_storeu_si128(p, _mm512_cvtepi32_epi8(x));
}
#define VT_FINISH_LOAD_BYTES(p, flip) load_bytes(p, flip)
#define VT_FINISH_STORE_BYTES(p, x)   store_bytes(p, x)

#include "kernels/gemm8/finish.inc"
