/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of normalisations, for each instruction set. */
#ifndef VT_KERNELS_NORM_WAYS_H
#define VT_KERNELS_NORM_WAYS_H

#include "kernels/norm/norm.h"

/* Sums of rows that one call may be asked for: float32 holds them well enough. */
#define VT_NORM_ROWS 512

struct vt_norm_way {
    /* Of `rows` rows of channels: the sums of x - shift and of its square, a number a channel. */
    void (*moments)(const float *x, int64_t rows, int64_t channels, const float *shift,
                    float *ret_sum, float *ret_squares);
    /* y = act((x - centre)·factor + shift + residual); centre and residual may be NULL. */
    void (*affine)(const struct vt_affine_last *a, int64_t rows, const float *x,
                   const float *residual, float *y);
    /* One row; `sum` takes x + residual, is NULL where there is no residual, and may be y. */
    void (*layer)(const struct vt_layer_norm *norm, const float *x, const float *residual,
                  float *sum, float *y, float *ret_mean, float *ret_inverse);
};

extern const struct vt_norm_way vt_norm_way__portable;
#if defined(__x86_64__)
extern const struct vt_norm_way vt_norm_way__avx2;
extern const struct vt_norm_way vt_norm_way__avx512;
#endif
const struct vt_norm_way *vt_norm_way_find(uint32_t features);

#endif
