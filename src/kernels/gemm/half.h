/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of a few rows with a B that is kept as float16: reading B is what takes their time, and
 * it has half the bytes. Numbers are widened as they are read, arithmetic is float32.
 *
 * B is packed as panels [k][VT_GEMM_HALF_NR], the last one padded with zeros.
 */
#ifndef VT_KERNELS_GEMM_HALF_H
#define VT_KERNELS_GEMM_HALF_H

#include "kernels/gemm/gemm.h"

#define VT_GEMM_HALF_NR   32
#define VT_GEMM_HALF_ROWS 4 /* that one pass over a panel serves */

/* Some rows of A by a panel. */
struct vt_gemm_half_tile {
    const float *a;
    int64_t a_row_stride, a_col_stride;
    const uint16_t *b;
    int64_t k;
    uint32_t rows; /* at most VT_GEMM_HALF_ROWS */
    float *sums;   /* [rows][VT_GEMM_HALF_NR] */
};
typedef void (*vt_gemm_half_func)(const struct vt_gemm_half_tile *tile);
/* The best for a set of enum vt_cpu_feature. */
vt_gemm_half_func vt_gemm_half_find(uint32_t features);

/* Whether products of so many rows are read rather than computed. */
bool vt_gemm_half_pays(const struct vt_gemm *gemm);
/* Whether every number fits: none that is finite becomes infinite. */
bool vt_gemm_half_holds(const float *x, int64_t n);
/* Bytes of B packed; false on overflow. */
bool vt_gemm_half_size(int64_t k, int64_t n, size_t *ret_bytes);
void vt_gemm_half_pack(int64_t k, int64_t n, const struct vt_gemm_matrix *b, uint16_t *ret_packed);

/* vt_gemm_run where gemm->half is set; needs no workspace. A is in memory. */
void vt_gemm_half_run(const struct vt_gemm *gemm, struct vt_pool *pool);

void vt_f16_sums__portable(const struct vt_gemm_half_tile *tile);
#if defined(__x86_64__)
void vt_f16_sums__avx2(const struct vt_gemm_half_tile *tile);
void vt_f16_sums__avx512(const struct vt_gemm_half_tile *tile);
#endif

#endif
