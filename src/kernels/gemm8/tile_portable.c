/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "kernels/gemm8/kernels.h"

#define MR 4

void vt_s8_gemm_4x32__portable(const void *a, const uint8_t *b, int64_t k4, uint32_t rows,
                               uint32_t cols, int32_t *ret_sums)
{
    const int8_t *weights = a;
    (void)cols;
    memset(ret_sums, 0, (size_t)rows * VT_GEMM8_NR * sizeof(*ret_sums));
    for (int64_t k = 0; k < k4;
         k++, b += (ptrdiff_t)4 * VT_GEMM8_NR, weights += (ptrdiff_t)4 * MR) {
        for (uint32_t r = 0; r < rows; r++) {
            const int8_t *w = weights + 4 * (size_t)r;
            uint32_t *sum = (uint32_t *)ret_sums + (size_t)r * VT_GEMM8_NR;
            for (int c = 0; c < VT_GEMM8_NR; c++) {
                const uint8_t *x = b + (ptrdiff_t)4 * c;
                sum[c] += (uint32_t)(x[0] * w[0] + x[1] * w[1] + x[2] * w[2] + x[3] * w[3]);
            }
        }
    }
}

/* A NaN becomes `low`. */
static float clamp(float x, float low, float high)
{
    x = x > low ? x : low;
    return x < high ? x : high;
}

static uint8_t finish_byte(const struct vt_gemm8_finish *f, const struct vt_gemm8_bounds *b,
                           float x, const uint8_t *residual)
{
    if (f->has_residual) {
        const float r = (float)(*residual ^ (f->residual_signed ? 0x80 : 0));
        x = rintf(x) * f->sum_factor + (r * f->residual_factor + b->shift);
        x = clamp(x, b->sum_low, b->sum_high);
    }
    return (uint8_t)((int32_t)rintf(x) + (int32_t)b->zero);
}

void vt_s8_finish__portable(const struct vt_gemm8_finish *f, const struct vt_gemm8_tile *tile)
{
    const struct vt_gemm8_bounds b = vt_gemm8_bounds(f);
    for (uint32_t r = 0; r < tile->rows; r++) {
        const int64_t row = tile->row + r;
        const int32_t *sums = tile->sums + (size_t)r * VT_GEMM8_NR;
        for (uint32_t c = 0; c < tile->cols; c++) {
            const int64_t at = r * tile->stride + c;
            const int32_t sum = (int32_t)((uint32_t)sums[c] + (uint32_t)f->bias[row]);
            if (f->output == VT_I32) {
                ((int32_t *)tile->output)[at] = sum;
                continue;
            }
            float x = (float)sum * f->factor[row];
            x = clamp(f->offset != NULL ? x + f->offset[row] : x, b.low, b.high);
            if (f->output == VT_F32) {
                ((float *)tile->output)[at] = x;
                continue;
            }
            const uint8_t *residual = f->has_residual ? (const uint8_t *)tile->residual + at : NULL;
            ((uint8_t *)tile->output)[at] = finish_byte(f, &b, x, residual);
        }
    }
}
