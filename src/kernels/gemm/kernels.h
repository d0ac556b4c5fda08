/* SPDX-License-Identifier: Apache-2.0 */
/* The micro-kernels of all instruction sets; gemm.c chooses among them. */
#ifndef VT_KERNELS_GEMM_KERNELS_H
#define VT_KERNELS_GEMM_KERNELS_H

#include "kernels/gemm/gemm.h"

void vt_f32_gemm_4x8__portable(const struct vt_gemm_tile *tile, uint32_t rows);
void vt_f32_gemm_indirect_4x8__portable(const struct vt_gemm_tile *tile, uint32_t rows);
#if defined(__x86_64__)
void vt_f32_gemm_6x16__avx2(const struct vt_gemm_tile *tile, uint32_t rows);
void vt_f32_gemm_indirect_6x16__avx2(const struct vt_gemm_tile *tile, uint32_t rows);
void vt_f32_gemm_12x32__avx512(const struct vt_gemm_tile *tile, uint32_t rows);
void vt_f32_gemm_indirect_12x32__avx512(const struct vt_gemm_tile *tile, uint32_t rows);
#endif

#endif
