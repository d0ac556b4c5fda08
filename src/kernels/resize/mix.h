/* SPDX-License-Identifier: Apache-2.0 */
/* Weighted sums of rows, for each instruction set: resizing where the last extent stays. */
#ifndef VT_KERNELS_RESIZE_MIX_H
#define VT_KERNELS_RESIZE_MIX_H

#include <stdint.h>

/* y[c] = sum over k of weight[k] * row[k][c] */
typedef void (*vt_mix_func)(const float *const *row, const float *weight, int64_t n_rows, int64_t n,
                            float *y);

void vt_f32_mix__portable(const float *const *row, const float *weight, int64_t n_rows, int64_t n,
                          float *y);
#if defined(__x86_64__)
void vt_f32_mix__avx2(const float *const *row, const float *weight, int64_t n_rows, int64_t n,
                      float *y);
void vt_f32_mix__avx512(const float *const *row, const float *weight, int64_t n_rows, int64_t n,
                        float *y);
#endif

#endif
