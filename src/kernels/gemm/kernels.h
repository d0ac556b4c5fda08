/* SPDX-License-Identifier: Apache-2.0 */
/* The micro-kernels of all instruction sets, and what goes with them; gemm.c chooses. */
#ifndef VT_KERNELS_GEMM_KERNELS_H
#define VT_KERNELS_GEMM_KERNELS_H

#include "kernels/gemm/gemm.h"

void vt_f32_gemm_packed_4x8__portable(const struct vt_gemm_tile *tile, uint32_t rows);
void vt_f32_gemm_rows_4x8__portable(const struct vt_gemm_tile *tile, uint32_t rows);
void vt_f32_gemm_lines_4x8__portable(const struct vt_gemm_tile *tile, uint32_t rows);
void vt_f32_gemm_indirect_4x8__portable(const struct vt_gemm_tile *tile, uint32_t rows);
void vt_f32_activate__portable(const struct vt_gemm_finish *finish, float *x, uint32_t n);
void vt_f32_sums__portable(const struct vt_gemm_sums *s);
void vt_f32_dots__portable(const float *x, const float *b, int64_t b_stride, int64_t n, int64_t k,
                           float *y, int64_t y_stride);
void vt_f32_turn__portable(const float *source, int64_t lane_stride, int64_t lanes, int64_t kc,
                           uint32_t unit, float *ret_panel);
#if defined(__x86_64__)
void vt_f32_gemm_packed_6x16__avx2(const struct vt_gemm_tile *tile, uint32_t rows);
void vt_f32_gemm_rows_6x16__avx2(const struct vt_gemm_tile *tile, uint32_t rows);
void vt_f32_gemm_lines_6x16__avx2(const struct vt_gemm_tile *tile, uint32_t rows);
void vt_f32_gemm_indirect_6x16__avx2(const struct vt_gemm_tile *tile, uint32_t rows);
void vt_f32_activate__avx2(const struct vt_gemm_finish *finish, float *x, uint32_t n);
void vt_f32_sums__avx2(const struct vt_gemm_sums *s);
void vt_f32_dots__avx2(const float *x, const float *b, int64_t b_stride, int64_t n, int64_t k,
                       float *y, int64_t y_stride);
void vt_f32_turn__avx2(const float *source, int64_t lane_stride, int64_t lanes, int64_t kc,
                       uint32_t unit, float *ret_panel);
void vt_f32_gemm_packed_14x32__avx512(const struct vt_gemm_tile *tile, uint32_t rows);
void vt_f32_gemm_rows_14x32__avx512(const struct vt_gemm_tile *tile, uint32_t rows);
void vt_f32_gemm_lines_14x32__avx512(const struct vt_gemm_tile *tile, uint32_t rows);
void vt_f32_gemm_indirect_14x32__avx512(const struct vt_gemm_tile *tile, uint32_t rows);
void vt_f32_activate__avx512(const struct vt_gemm_finish *finish, float *x, uint32_t n);
void vt_f32_sums__avx512(const struct vt_gemm_sums *s);
void vt_f32_dots__avx512(const float *x, const float *b, int64_t b_stride, int64_t n, int64_t k,
                         float *y, int64_t y_stride);
#endif

#endif
