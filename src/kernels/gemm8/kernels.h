/* SPDX-License-Identifier: Apache-2.0 */
/* The micro-kernels of all instruction sets; gemm8.c chooses among them. */
#ifndef VT_KERNELS_GEMM8_KERNELS_H
#define VT_KERNELS_GEMM8_KERNELS_H

#include "kernels/gemm8/gemm8.h"

/*
 * A finish as the kernels carry it out: bounds are taken before the rounding and less the zero
 * point, which comes to the same since they are whole numbers; int8 residuals are moved by 128.
 */
struct vt_gemm8_bounds {
    float low, high, shift, sum_low, sum_high, zero;
};
static inline struct vt_gemm8_bounds vt_gemm8_bounds(const struct vt_gemm8_finish *f)
{
    const float moved = f->residual_signed ? f->residual_zero + 128.0f : f->residual_zero;
    const float zero = f->output == VT_F32 ? 0.0f : f->zero;
    return (struct vt_gemm8_bounds){
        .low = f->low - zero,
        .high = f->high - zero,
        .shift = -(moved * f->residual_factor),
        .sum_low = f->sum_low - f->sum_zero,
        .sum_high = f->sum_high - f->sum_zero,
        .zero = f->has_residual ? f->sum_zero : f->zero,
    };
}

#define VT_GEMM8_SUM(name)                                                                         \
    void name(const void *a, const uint8_t *b, int64_t k4, uint32_t rows, uint32_t cols,           \
              int32_t *ret_sums)
#define VT_GEMM8_FINISH(name)                                                                      \
    void name(const struct vt_gemm8_finish *finish, const struct vt_gemm8_tile *tile)

VT_GEMM8_SUM(vt_s8_gemm_4x32__portable);
VT_GEMM8_FINISH(vt_s8_finish__portable);
#if defined(__x86_64__)
VT_GEMM8_SUM(vt_s8_gemm_4x32__avx2);
VT_GEMM8_FINISH(vt_s8_finish__avx2);
VT_GEMM8_SUM(vt_s8_gemm_12x32__vnni);
VT_GEMM8_FINISH(vt_s8_finish__avx512);
VT_GEMM8_SUM(vt_s8_gemm_32x32__amx);
void vt_amx_begin(void);
void vt_amx_end(void);
/* Asks the kernel for the tiles' registers, once for the process. False: not to be had. */
bool vt_amx_permitted(void);
#endif

#endif
