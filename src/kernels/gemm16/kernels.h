/* SPDX-License-Identifier: Apache-2.0 */
/* The micro-kernels of all instruction sets; gemm16.c chooses among them. */
#ifndef VT_KERNELS_GEMM16_KERNELS_H
#define VT_KERNELS_GEMM16_KERNELS_H

#include "kernels/gemm16/gemm16.h"

void vt_bf16_gemm_4x32__portable(const struct vt_gemm16_tile *tile);
void vt_bf16_narrow__portable(const float *from, int64_t n, int64_t padded, uint16_t *to);
void vt_bf16_pair__portable(const float *rows, int64_t stride, int64_t n, int64_t padded,
                            uint16_t *ret_panel);
void vt_bf16_finish__portable(const struct vt_gemm16_finish *finish);
#if defined(__x86_64__)
void vt_bf16_gemm_12x32__avx512(const struct vt_gemm16_tile *tile);
void vt_bf16_narrow__avx512(const float *from, int64_t n, int64_t padded, uint16_t *to);
void vt_bf16_pair__avx512(const float *rows, int64_t stride, int64_t n, int64_t padded,
                          uint16_t *ret_panel);
void vt_bf16_finish__avx512(const struct vt_gemm16_finish *finish);
void vt_bf16_gemm_32x32__amx(const struct vt_gemm16_tile *tile);
#endif

#endif
