/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "kernels/gemm16/kernels.h"

uint16_t vt_bf16_round(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    const uint32_t magnitude = bits & 0x7fffffffU;
    if (magnitude > 0x7f800000U) {
        return (uint16_t)(bits >> 16 | 0x40U); /* quiet */
    }
    if (magnitude < 0x00800000U) {
        return (uint16_t)(bits >> 16 & 0x8000U);
    }
    return (uint16_t)((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16);
}

void vt_bf16_narrow__portable(const float *from, int64_t n, int64_t padded, uint16_t *to)
{
    for (int64_t i = 0; i < n; i++) {
        to[i] = vt_bf16_round(from[i]);
    }
    for (int64_t i = n; i < padded; i++) {
        to[i] = 0;
    }
}

void vt_bf16_pair__portable(const float *rows, int64_t stride, int64_t n, int64_t padded,
                            uint16_t *ret_panel)
{
    for (int64_t k = 0; k < padded; k++) {
        uint16_t *to = ret_panel + k / 2 * (ptrdiff_t)2 * VT_GEMM16_NR + k % 2;
        for (int j = 0; j < VT_GEMM16_NR; j++) {
            to[(ptrdiff_t)2 * j] = k < n ? vt_bf16_round(rows[k * stride + j]) : 0;
        }
    }
}

void vt_bf16_gemm_4x32__portable(const struct vt_gemm16_tile *tile)
{
    for (uint32_t r = 0; r < tile->rows; r++) {
        const uint16_t *a = tile->a + r * tile->a_stride;
        float *sums = tile->sums + (size_t)r * VT_GEMM16_NR;
        if (!tile->accumulate) {
            memset(sums, 0, VT_GEMM16_NR * sizeof(float));
        }
        for (int64_t k = 0; k < tile->k; k += 2) {
            const uint16_t *b = tile->b + k * VT_GEMM16_NR;
            const float a0 = vt_bf16_widen(a[k]), a1 = vt_bf16_widen(a[k + 1]);
            for (uint32_t j = 0; j < VT_GEMM16_NR; j++) {
                sums[j] += a0 * vt_bf16_widen(b[(size_t)2 * j]);
                sums[j] += a1 * vt_bf16_widen(b[(size_t)2 * j + 1]);
            }
        }
    }
}

#define VT_FINISH_NAME vt_bf16_finish__portable
#include "kernels/gemm16/finish.inc"
