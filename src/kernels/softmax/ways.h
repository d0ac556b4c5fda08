/* SPDX-License-Identifier: Apache-2.0 */
/* The row function for each instruction set; softmax.c chooses. */
#ifndef VT_KERNELS_SOFTMAX_WAYS_H
#define VT_KERNELS_SOFTMAX_WAYS_H

#include <stdbool.h>
#include <stdint.h>

void vt_f32_softmax_row__portable(bool logarithm, int64_t n, const float *x, float *y);
#if defined(__x86_64__)
void vt_f32_softmax_row__avx2(bool logarithm, int64_t n, const float *x, float *y);
void vt_f32_softmax_row__avx512(bool logarithm, int64_t n, const float *x, float *y);
#endif

#endif
