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

#define VT_FINISH_NAME          finish_any
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

static VT_GEMM8_FINISH(finish_any);
#include "kernels/gemm8/finish.inc"

/*
 * Bytes, 32 columns at a time. Fewer operations make the same bits: where a bound from below is all
 * that is left to do, it is taken on int16, to which the conversion to int32 (what is too small, or
 * not a number, becomes the smallest) and the packing saturate.
 */
struct byte_lanes {
    struct finish_lanes f;
    __m512i zero, low; /* int16 */
    __m512i order;
    bool is_signed;
};

/* The result before its zero point and the bound from below. */
INLINE __m512i byte_vector(const struct finish_lanes *f, __m512i sum, __m512i bias, __m512 factor,
                           __m512 offset, __m128i residual, bool has_residual, bool has_offset)
{
    __m512 x = _mm512_cvtepi32_ps(_mm512_add_epi32(sum, bias)) * factor;
    __m512 high = f->high;
    if (has_offset) {
        x = x + offset;
    }
    if (has_residual) {
        const __m128i bytes = _mm_xor_si128(residual, _mm_set1_epi8((char)f->flip));
        const __m512 r = _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes));
        x = VT_FINISH_ROUND(finish_clamp(x, f->low, f->high)) * f->sum_factor +
            (r * f->residual_factor + f->shift);
        high = f->sum_high;
    }
    /* The second operand is the result where it is not a number. */
    return _mm512_cvtps_epi32(_mm512_min_ps(high, x));
}

INLINE __m256i pack_bytes(const struct byte_lanes *lanes, __m512i a, __m512i b)
{
    __m512i x = _mm512_adds_epi16(_mm512_packs_epi32(a, b), lanes->zero);
    x = _mm512_max_epi16(x, lanes->low);
    x = lanes->is_signed ? _mm512_packs_epi16(x, x) : _mm512_packus_epi16(x, x);
    return _mm512_castsi512_si256(_mm512_permutexvar_epi32(lanes->order, x));
}

INLINE void finish_row(const struct byte_lanes *lanes, const int32_t *sums, uint32_t cols,
                       __m512i bias, __m512 factor, __m512 offset, const char *residual,
                       char *output, bool has_residual, bool has_offset)
{
    uint32_t c = 0;
    for (; c + 32 <= cols; c += 32) {
        __m128i r0 = _mm_setzero_si128(), r1 = r0;
        if (has_residual) {
            r0 = _mm_loadu_si128((const void *)(residual + c));
            r1 = _mm_loadu_si128((const void *)(residual + c + 16));
        }
        const __m512i a = byte_vector(&lanes->f, _mm512_loadu_si512(sums + c), bias, factor, offset,
                                      r0, has_residual, has_offset);
        const __m512i b = byte_vector(&lanes->f, _mm512_loadu_si512(sums + c + 16), bias, factor,
                                      offset, r1, has_residual, has_offset);
        _mm256_storeu_si256((void *)(output + c), pack_bytes(lanes, a, b));
    }
    for (; c < cols; c += 16) {
        const uint32_t left = cols - c < 16 ? cols - c : 16;
        const __mmask16 some = (__mmask16)((1U << left) - 1);
        const __m128i r =
            has_residual ? _mm_maskz_loadu_epi8(some, residual + c) : _mm_setzero_si128();
        const __m512i a = byte_vector(&lanes->f, _mm512_maskz_loadu_epi32(some, sums + c), bias,
                                      factor, offset, r, has_residual, has_offset);
        _mm_mask_storeu_epi8(output + c, some, _mm256_castsi256_si128(pack_bytes(lanes, a, a)));
    }
}

INLINE void finish_bytes(const struct vt_gemm8_finish *f, const struct vt_gemm8_tile *tile,
                         bool has_residual, bool has_offset)
{
    const struct vt_gemm8_bounds b = vt_gemm8_bounds(f);
    const struct byte_lanes lanes = {
        {.low = _mm512_set1_ps(b.low),
         .high = _mm512_set1_ps(b.high),
         .sum_factor = _mm512_set1_ps(f->sum_factor),
         .residual_factor = _mm512_set1_ps(f->residual_factor),
         .shift = _mm512_set1_ps(b.shift),
         .sum_high = _mm512_set1_ps(b.sum_high),
         .flip = f->residual_signed ? 0x80 : 0},
        .zero = _mm512_set1_epi16((int16_t)b.zero),
        .low = _mm512_set1_epi16((int16_t)(has_residual ? f->sum_low : f->low)),
        .order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 0, 4, 8, 12, 1, 5, 9, 13),
        .is_signed = f->output == VT_I8,
    };
    for (uint32_t r = 0; r < tile->rows; r++) {
        const int64_t row = tile->row + r, at = r * tile->stride;
        finish_row(&lanes, tile->sums + (size_t)r * VT_GEMM8_NR, tile->cols,
                   _mm512_set1_epi32(f->bias[row]), _mm512_set1_ps(f->factor[row]),
                   _mm512_set1_ps(has_offset ? f->offset[row] : 0.0f),
                   has_residual ? (const char *)tile->residual + at : NULL,
                   (char *)tile->output + at, has_residual, has_offset);
    }
}

void vt_s8_finish__avx512(const struct vt_gemm8_finish *f, const struct vt_gemm8_tile *tile)
{
    const bool has_offset = f->offset != NULL;
    if (f->output == VT_I32 || f->output == VT_F32) {
        finish_any(f, tile);
    } else if (f->has_residual && has_offset) {
        finish_bytes(f, tile, true, true);
    } else if (f->has_residual) {
        finish_bytes(f, tile, true, false);
    } else if (has_offset) {
        finish_bytes(f, tile, false, true);
    } else {
        finish_bytes(f, tile, false, false);
    }
}
