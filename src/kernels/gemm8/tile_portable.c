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
    for (int64_t k = 0; k < k4; k++, b += 4 * VT_GEMM8_NR, weights += 4 * MR) {
        for (uint32_t r = 0; r < rows; r++) {
            const int8_t *w = weights + 4 * (size_t)r;
            uint32_t *sum = (uint32_t *)ret_sums + (size_t)r * VT_GEMM8_NR;
            for (int c = 0; c < VT_GEMM8_NR; c++) {
                const uint8_t *x = b + 4 * c;
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

static float add_residual(const struct vt_gemm8_finish *f, const void *residual, int64_t at,
                          float q)
{
    const float r = f->residual_signed ? (float)((const int8_t *)residual)[at]
                                       : (float)((const uint8_t *)residual)[at];
    const float sum =
        (q - f->zero) * f->sum_factor + (r - f->residual_zero) * f->residual_factor;
    return clamp(rintf(sum) + f->sum_zero, f->sum_low, f->sum_high);
}

void vt_s8_finish__portable(const struct vt_gemm8_finish *f, const struct vt_gemm8_tile *tile)
{
    for (uint32_t r = 0; r < tile->rows; r++) {
        const int64_t row = tile->row + r;
        const int32_t *sums = tile->sums + (size_t)r * VT_GEMM8_NR;
        const float offset = f->offset != NULL ? f->offset[row] : 0.0f;
        for (uint32_t c = 0; c < tile->cols; c++) {
            const int64_t at = r * tile->stride + c;
            const int32_t sum = (int32_t)((uint32_t)sums[c] + (uint32_t)f->bias[row]);
            if (f->output == VT_I32) {
                ((int32_t *)tile->output)[at] = sum;
                continue;
            }
            const float x = (float)sum * f->factor[row] + offset;
            if (f->output == VT_F32) {
                ((float *)tile->output)[at] = clamp(x, f->low, f->high);
                continue;
            }
            float q = clamp(rintf(x) + f->zero, f->low, f->high);
            if (f->has_residual) {
                q = add_residual(f, tile->residual, at, q);
            }
            if (f->output == VT_I8) {
                ((int8_t *)tile->output)[at] = (int8_t)q;
            } else {
                ((uint8_t *)tile->output)[at] = (uint8_t)q;
            }
        }
    }
}
