/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled with AVX2: called only where the processor has it. */
#include <immintrin.h>

#include "kernels/gemm/kernels.h"

#define BLOCK 8

/* Eight steps of eight lanes, turned in registers; lanes that are missing are zero. */
static inline __attribute__((always_inline)) void
turn_block(const float *source, int64_t lane_stride, int lanes, uint32_t unit, float *out)
{
    __m256 r[BLOCK], s[BLOCK];
    for (int i = 0; i < BLOCK; i++) {
        r[i] = i < lanes ? _mm256_loadu_ps(source + i * lane_stride) : _mm256_setzero_ps();
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

/* Any number of lanes and steps, some of the lanes missing. */
static void turn_some(const float *source, int64_t lane_stride, int64_t lanes, int64_t kc,
                      uint32_t width, uint32_t unit, float *out)
{
    for (uint32_t l = 0; l < width; l++) {
        for (int64_t k = 0; k < kc; k++) {
            out[k * unit + l] = l < lanes ? source[l * lane_stride + k] : 0.0f;
        }
    }
}

void vt_f32_turn__avx2(const float *source, int64_t lane_stride, int64_t lanes, int64_t kc,
                       uint32_t unit, float *ret_panel)
{
    uint32_t l = 0;
    for (; l + BLOCK <= unit; l += BLOCK) {
        const float *from = source + l * lane_stride;
        float *out = ret_panel + l;
        const int64_t there = lanes - l;
        int64_t k = 0;
        if (there >= BLOCK) {
            for (; k + BLOCK <= kc; k += BLOCK) {
                turn_block(from + k, lane_stride, BLOCK, unit, out + k * unit);
            }
        } else {
            for (; k + BLOCK <= kc; k += BLOCK) {
                turn_block(from + k, lane_stride, (int)there, unit, out + k * unit);
            }
        }
        turn_some(from + k, lane_stride, there, kc - k, BLOCK, unit, out + k * unit);
    }
    turn_some(source + l * lane_stride, lane_stride, lanes - l, kc, unit - l, unit, ret_panel + l);
}
