/* SPDX-License-Identifier: Apache-2.0 */
#include <immintrin.h>

#include "kernels/move/transpose.h"

#define TILE 16
/* Columns that are carried through all rows before the next: a few cache lines of each row. */
#define BLOCK 64

#define INLINE static inline __attribute__((always_inline))

/* 4x4 blocks within the 128-bit parts of four registers. */
INLINE void transpose_parts(__m512i v[4])
{
    const __m512i a = _mm512_unpacklo_epi32(v[0], v[1]), b = _mm512_unpackhi_epi32(v[0], v[1]);
    const __m512i c = _mm512_unpacklo_epi32(v[2], v[3]), d = _mm512_unpackhi_epi32(v[2], v[3]);
    v[0] = _mm512_unpacklo_epi64(a, c);
    v[1] = _mm512_unpackhi_epi64(a, c);
    v[2] = _mm512_unpacklo_epi64(b, d);
    v[3] = _mm512_unpackhi_epi64(b, d);
}

/* `rows` times `columns` elements, up to 16 each. */
INLINE void tile(const uint32_t *from, int64_t from_step, uint32_t *to, int64_t to_step,
                 const int64_t rows, const int64_t columns)
{
    const __mmask16 in = (__mmask16)((1u << columns) - 1), out = (__mmask16)((1u << rows) - 1);
    __m512i v[4][4];
    for (int64_t i = 0; i < TILE; i++) {
        v[i / 4][i % 4] =
            i < rows ? _mm512_maskz_loadu_epi32(in, from + i * from_step) : _mm512_setzero_si512();
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        transpose_parts(v[i]);
    }
    /* v[i][j] holds column 4k + j of rows 4i to 4i + 3 in its part k: parts change places. */
#pragma GCC unroll 4
    for (int64_t j = 0; j < 4; j++) {
        const __m512i a = _mm512_shuffle_i32x4(v[0][j], v[1][j], 0x44);
        const __m512i b = _mm512_shuffle_i32x4(v[0][j], v[1][j], 0xee);
        const __m512i c = _mm512_shuffle_i32x4(v[2][j], v[3][j], 0x44);
        const __m512i d = _mm512_shuffle_i32x4(v[2][j], v[3][j], 0xee);
        const __m512i column[4] = {
            _mm512_shuffle_i32x4(a, c, 0x88), _mm512_shuffle_i32x4(a, c, 0xdd),
            _mm512_shuffle_i32x4(b, d, 0x88), _mm512_shuffle_i32x4(b, d, 0xdd)};
#pragma GCC unroll 4
        for (int64_t k = 0; k < 4; k++) {
            if (4 * k + j < columns) {
                _mm512_mask_storeu_epi32(to + (4 * k + j) * to_step, out, column[k]);
            }
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

void vt_x32_transpose__avx512(const struct vt_transpose *t, const uint32_t *from, uint32_t *to)
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
