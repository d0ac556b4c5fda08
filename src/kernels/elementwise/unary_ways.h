/* SPDX-License-Identifier: Apache-2.0 */
/* The float32 functions for each instruction set; unary.c chooses. */
#ifndef VT_KERNELS_ELEMENTWISE_UNARY_WAYS_H
#define VT_KERNELS_ELEMENTWISE_UNARY_WAYS_H

#include "kernels/elementwise/elementwise.h"

void vt_f32_unary__portable(const struct vt_unary_params *params, const float *x, float *y,
                            int64_t n);
#if defined(__x86_64__)
void vt_f32_unary__avx2(const struct vt_unary_params *params, const float *x, float *y, int64_t n);
void vt_f32_unary__avx512(const struct vt_unary_params *params, const float *x, float *y,
                          int64_t n);
#endif

#endif
