/* SPDX-License-Identifier: Apache-2.0 */
/* A tile of results turned round: what lies in a row goes down a column. */
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "kernels/gemm8/gemm8.h"

#define NR VT_GEMM8_NR

#if defined(__SSE2__)
static __m128i load(const void *p)
{
    return _mm_loadu_si128((const __m128i *)p);
}

static void store(void *p, __m128i x)
{
    _mm_storeu_si128((__m128i *)p, x);
}

/* 16 by 16 bytes: four rounds, each of which doubles the pieces that belong together. */
static void turn_bytes_16(const char *from, char *to, size_t stride)
{
    __m128i x[16], y[16];
    for (int i = 0; i < 16; i++) {
        x[i] = load(from + (size_t)i * NR);
    }
    for (int round = 0; round < 4; round++) {
        for (size_t i = 0; i < 8; i++) {
            y[2 * i] = _mm_unpacklo_epi8(x[i], x[i + 8]);
            y[2 * i + 1] = _mm_unpackhi_epi8(x[i], x[i + 8]);
        }
        memcpy(x, y, sizeof(x));
    }
    for (int i = 0; i < 16; i++) {
        store(to + (size_t)i * stride, x[i]);
    }
}

/* 4 by 4 words of 4 bytes. */
static void turn_words_4(const char *from, char *to, size_t stride)
{
    const __m128i a = load(from), b = load(from + (size_t)4 * NR);
    const __m128i c = load(from + (size_t)8 * NR), d = load(from + (size_t)12 * NR);
    const __m128i ab_low = _mm_unpacklo_epi32(a, b), ab_high = _mm_unpackhi_epi32(a, b);
    const __m128i cd_low = _mm_unpacklo_epi32(c, d), cd_high = _mm_unpackhi_epi32(c, d);
    store(to, _mm_unpacklo_epi64(ab_low, cd_low));
    store(to + stride, _mm_unpackhi_epi64(ab_low, cd_low));
    store(to + 2 * stride, _mm_unpacklo_epi64(ab_high, cd_high));
    store(to + 3 * stride, _mm_unpackhi_epi64(ab_high, cd_high));
}
#endif

static void turn_part(const char *from, size_t bytes, uint32_t rows, uint32_t cols, char *to,
                      size_t stride)
{
    for (uint32_t c = 0; c < cols; c++) {
        for (uint32_t r = 0; r < rows; r++) {
            memcpy(to + c * stride + r * bytes, from + ((size_t)r * NR + c) * bytes, bytes);
        }
    }
}

void vt_gemm8_turn(const void *tile, size_t bytes, uint32_t rows, uint32_t cols, void *to,
                   size_t stride)
{
    const uint32_t side = bytes == 1 ? 16 : 4;
    /* Column by column: columns lie far apart, and a cache takes few lines at such distances. */
    for (uint32_t c = 0; c < cols; c += side) {
        for (uint32_t r = 0; r < rows; r += side) {
            const char *from = (const char *)tile + ((size_t)r * NR + c) * bytes;
            char *out = (char *)to + c * stride + r * bytes;
            const uint32_t high = rows - r < side ? rows - r : side;
            const uint32_t wide = cols - c < side ? cols - c : side;
#if defined(__SSE2__)
            if (high == side && wide == side) {
                if (bytes == 1) {
                    turn_bytes_16(from, out, stride);
                } else {
                    turn_words_4(from, out, stride);
                }
                continue;
            }
#endif
            turn_part(from, bytes, high, wide, out, stride);
        }
    }
}
