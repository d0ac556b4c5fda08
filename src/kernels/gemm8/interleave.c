/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes into the order that products want: four steps of k beside each other for each column. */
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "kernels/gemm8/gemm8.h"

#if defined(__SSE2__)
static __m128i load(const uint8_t *p)
{
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

static void store(uint8_t *p, __m128i x)
{
    _mm_storeu_si128((__m128i *)(void *)p, x);
}

/* 16 columns. */
static void interleave_16(const uint8_t *const rows[4], int64_t at, __m128i flip, uint8_t *out)
{
    const __m128i a = _mm_xor_si128(load(rows[0] + at), flip);
    const __m128i b = _mm_xor_si128(load(rows[1] + at), flip);
    const __m128i c = _mm_xor_si128(load(rows[2] + at), flip);
    const __m128i d = _mm_xor_si128(load(rows[3] + at), flip);
    const __m128i ab_low = _mm_unpacklo_epi8(a, b), ab_high = _mm_unpackhi_epi8(a, b);
    const __m128i cd_low = _mm_unpacklo_epi8(c, d), cd_high = _mm_unpackhi_epi8(c, d);
    store(out, _mm_unpacklo_epi16(ab_low, cd_low));
    store(out + 16, _mm_unpackhi_epi16(ab_low, cd_low));
    store(out + 32, _mm_unpacklo_epi16(ab_high, cd_high));
    store(out + 48, _mm_unpackhi_epi16(ab_high, cd_high));
}

/* 8 columns. */
static void interleave_8(const uint8_t *const rows[4], int64_t at, __m128i flip, uint8_t *out)
{
    __m128i x[4];
    for (int j = 0; j < 4; j++) {
        x[j] = _mm_loadl_epi64((const __m128i *)(const void *)(rows[j] + at));
    }
    const __m128i ab = _mm_xor_si128(_mm_unpacklo_epi8(x[0], x[1]), flip);
    const __m128i cd = _mm_xor_si128(_mm_unpacklo_epi8(x[2], x[3]), flip);
    store(out, _mm_unpacklo_epi16(ab, cd));
    store(out + 16, _mm_unpackhi_epi16(ab, cd));
}

/* 4 columns. */
static void interleave_4(const uint8_t *const rows[4], int64_t at, __m128i flip, uint8_t *out)
{
    __m128i x[4];
    for (int j = 0; j < 4; j++) {
        int32_t four;
        memcpy(&four, rows[j] + at, sizeof(four));
        x[j] = _mm_cvtsi32_si128(four);
    }
    const __m128i ab = _mm_unpacklo_epi8(x[0], x[1]), cd = _mm_unpacklo_epi8(x[2], x[3]);
    store(out, _mm_xor_si128(_mm_unpacklo_epi16(ab, cd), flip));
}

/* Columns from `at` on, which are less than 16: the last ones a second time where that makes them
 * whole pieces. Returns how far it got. */
static int64_t interleave_rest(const uint8_t *const rows[4], int64_t at, int64_t n, __m128i flip,
                               uint8_t *out)
{
    if (n >= 16) {
        if (at < n) {
            interleave_16(rows, n - 16, flip, out + 4 * (n - 16));
        }
        return n;
    }
    if (n >= 8) {
        interleave_8(rows, 0, flip, out);
        interleave_8(rows, n - 8, flip, out + 4 * (n - 8));
        return n;
    }
    if (n >= 4) {
        interleave_4(rows, 0, flip, out);
        interleave_4(rows, n - 4, flip, out + 4 * (n - 4));
        return n;
    }
    return at;
}

/* Columns c … c + 3, steps of four 0 … 3: a transposition of 4 by 4 words. */
static void turn_4x4(const uint8_t *rows, int64_t stride, __m128i flip, uint8_t *out)
{
    const __m128i a = _mm_xor_si128(load(rows), flip);
    const __m128i b = _mm_xor_si128(load(rows + stride), flip);
    const __m128i c = _mm_xor_si128(load(rows + 2 * stride), flip);
    const __m128i d = _mm_xor_si128(load(rows + 3 * stride), flip);
    const __m128i ab_low = _mm_unpacklo_epi32(a, b), ab_high = _mm_unpackhi_epi32(a, b);
    const __m128i cd_low = _mm_unpacklo_epi32(c, d), cd_high = _mm_unpackhi_epi32(c, d);
    store(out, _mm_unpacklo_epi64(ab_low, cd_low));
    store(out + (ptrdiff_t)4 * VT_GEMM8_NR, _mm_unpackhi_epi64(ab_low, cd_low));
    store(out + (ptrdiff_t)8 * VT_GEMM8_NR, _mm_unpacklo_epi64(ab_high, cd_high));
    store(out + (ptrdiff_t)12 * VT_GEMM8_NR, _mm_unpackhi_epi64(ab_high, cd_high));
}
#endif

void vt_u8_interleave(const uint8_t *const rows[4], int64_t n, uint8_t flip, uint8_t *out)
{
    int64_t i = 0;
#if defined(__SSE2__)
    const __m128i flips = _mm_set1_epi8((char)flip);
    for (; i + 16 <= n; i += 16) {
        interleave_16(rows, i, flips, out + 4 * i);
    }
    i = interleave_rest(rows, i, n, flips, out);
#endif
    for (; i < n; i++) {
        for (int j = 0; j < 4; j++) {
            out[4 * i + j] = rows[j][i] ^ flip;
        }
    }
}

void vt_u8_pack_rows(const uint8_t *rows, int64_t stride, uint32_t cols, int64_t k, int64_t k4,
                     uint8_t flip, uint8_t *ret_panel)
{
    const int64_t row_bytes = (int64_t)4 * VT_GEMM8_NR;
    uint32_t c = 0;

    if (cols < VT_GEMM8_NR || k4 * 4 != k) {
        memset(ret_panel, 0, (size_t)(k4 * row_bytes));
    }
#if defined(__SSE2__)
    const __m128i flips = _mm_set1_epi8((char)flip);
    for (; c + 4 <= cols; c += 4) {
        const uint8_t *from = rows + c * stride;
        int64_t at = 0;
        for (; at + 16 <= k; at += 16) {
            turn_4x4(from + at, stride, flips, ret_panel + at / 4 * row_bytes + (size_t)c * 4);
        }
        for (uint32_t j = 0; j < 4; j++) {
            for (int64_t i = at; i < k; i++) {
                uint8_t *to = ret_panel + i / 4 * row_bytes + (size_t)(c + j) * 4 + i % 4;
                *to = from[j * stride + i] ^ flip;
            }
        }
    }
#endif
    for (; c < cols; c++) {
        for (int64_t i = 0; i < k; i++) {
            ret_panel[i / 4 * row_bytes + (size_t)c * 4 + i % 4] = rows[c * stride + i] ^ flip;
        }
    }
}
