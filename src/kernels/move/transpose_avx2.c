/* SPDX-License-Identifier: Apache-2.0 */
#include <immintrin.h>

#include "kernels/move/transpose.h"

#define TILE 8
/* Columns that are carried through all rows before the next: a few cache lines of each row. */
#define BLOCK 64

#define INLINE static inline __attribute__((always_inline))

INLINE __m256i first(int64_t n)
{
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), lane);
}

INLINE __m256i load(const uint32_t *p, int64_t n)
{
    return n == TILE ? _mm256_loadu_si256((const __m256i *)(const void *)p)
                     : _mm256_maskload_epi32((const int *)(const void *)p, first(n));
}

INLINE void store(uint32_t *p, int64_t n, __m256i v)
{
    if (n == TILE) {
        _mm256_storeu_si256((__m256i *)(void *)p, v);
    } else {
        _mm256_maskstore_epi32((int *)(void *)p, first(n), v);
    }
}

/* `rows` times `columns` elements, up to 8 each. */
INLINE void tile(const uint32_t *from, int64_t from_step, uint32_t *to, int64_t to_step,
                 const int64_t rows, const int64_t columns)
{
    __m256i v[2][4];
    for (int64_t i = 0; i < TILE; i++) {
        v[i / 4][i % 4] = i < rows ? load(from + i * from_step, columns) : _mm256_setzero_si256();
    }
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) { /* 4x4 blocks within the 128-bit halves */
        const __m256i a = _mm256_unpacklo_epi32(v[i][0], v[i][1]);
        const __m256i b = _mm256_unpackhi_epi32(v[i][0], v[i][1]);
        const __m256i c = _mm256_unpacklo_epi32(v[i][2], v[i][3]);
        const __m256i d = _mm256_unpackhi_epi32(v[i][2], v[i][3]);
        v[i][0] = _mm256_unpacklo_epi64(a, c);
        v[i][1] = _mm256_unpackhi_epi64(a, c);
        v[i][2] = _mm256_unpacklo_epi64(b, d);
        v[i][3] = _mm256_unpackhi_epi64(b, d);
    }
#pragma GCC unroll 4
    for (int64_t j = 0; j < 4; j++) {
        if (j < columns) {
            store(to + j * to_step, rows, _mm256_permute2x128_si256(v[0][j], v[1][j], 0x20));
        }
        if (j + 4 < columns) {
            store(to + (j + 4) * to_step, rows, _mm256_permute2x128_si256(v[0][j], v[1][j], 0x31));
        }
    }
}

static void tile_any(const uint32_t *from, int64_t from_step, uint32_t *to, int64_t to_step,
                     int64_t rows, int64_t columns)
{
    tile(from, from_step, to, to_step, rows, columns);
}

static int64_t min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void vt_x32_transpose__avx2(const struct vt_transpose *t, const uint32_t *from, uint32_t *to)
{
    for (int64_t c0 = 0; c0 < t->columns; c0 += BLOCK) {
        const int64_t end = min_i64(c0 + BLOCK, t->columns);
        for (int64_t r = 0; r < t->rows; r += TILE) {
            const int64_t rows = min_i64(TILE, t->rows - r);
            for (int64_t c = c0; c < end; c += TILE) {
                const uint32_t *source = from + r * t->from_step + c;
                uint32_t *target = to + c * t->to_step + r;
                const int64_t columns = min_i64(TILE, end - c);
                if (rows == TILE && columns == TILE) {
                    tile(source, t->from_step, target, t->to_step, TILE, TILE);
                } else {
                    tile_any(source, t->from_step, target, t->to_step, rows, columns);
                }
            }
        }
    }
}
