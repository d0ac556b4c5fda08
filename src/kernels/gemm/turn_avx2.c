/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled with AVX2: called only where the processor has it. */
#include <immintrin.h>

#include "kernels/gemm/kernels.h"

#define BLOCK 8

/* Eight lanes of eight steps, turned in registers. */
static inline void turn_block(const float *source, int64_t lane_stride, uint32_t unit, float *out)
{
    __m256 r[BLOCK], s[BLOCK];
    for (int i = 0; i < BLOCK; i++) {
        r[i] = _mm256_loadu_ps(source + i * lane_stride);
    }
    for (int i = 0; i < BLOCK; i += 2) {
        s[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        s[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < BLOCK; i += 4) {
        r[i] = _mm256_shuffle_ps(s[i], s[i + 2], 0x44);
        r[i + 1] = _mm256_shuffle_ps(s[i], s[i + 2], 0xee);
        r[i + 2] = _mm256_shuffle_ps(s[i + 1], s[i + 3], 0x44);
        r[i + 3] = _mm256_shuffle_ps(s[i + 1], s[i + 3], 0xee);
    }
    for (int i = 0; i < BLOCK / 2; i++) {
        _mm256_storeu_ps(out + i * (int64_t)unit, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
        _mm256_storeu_ps(out + (i + 4) * (int64_t)unit,
                         _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
    }
}

static void turn_some(const float *source, int64_t lane_stride, int64_t lanes, int64_t kc,
                      uint32_t width, uint32_t unit, float *out)
{
    for (uint32_t l = 0; l < width; l++) {
        const float *lane = source + l * lane_stride;
        for (int64_t k = 0; k < kc; k++) {
            out[k * unit + l] = l < lanes ? lane[k] : 0.0f;
        }
    }
}

void vt_f32_turn__avx2(const float *source, int64_t lane_stride, int64_t lanes, int64_t kc,
                       uint32_t unit, float *ret_panel)
{
    uint32_t l = 0;
    for (; l + BLOCK <= unit && l + BLOCK <= lanes; l += BLOCK) {
        const float *from = source + l * lane_stride;
        int64_t k = 0;
        for (; k + BLOCK <= kc; k += BLOCK) {
            turn_block(from + k, lane_stride, unit, ret_panel + k * unit + l);
        }
        turn_some(from + k, lane_stride, BLOCK, kc - k, BLOCK, unit, ret_panel + k * unit + l);
    }
    turn_some(source + l * lane_stride, lane_stride, lanes - l, kc, unit - l, unit, ret_panel + l);
}
