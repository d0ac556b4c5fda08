/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisations in float32. */
#ifndef VT_KERNELS_NORM_NORM_H
#define VT_KERNELS_NORM_NORM_H

#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"

/* y = x·scale[c] + shift[c] for planes of n elements, plane p being channel p % channels. */
void vt_channel_affine_run(int64_t planes, int64_t channels, int64_t n, const float *x,
                           const float *scale, const float *shift, float *y, struct vt_pool *pool);

/*
 * Rows are brought to mean 0 and variance 1, then scaled and shifted. A row consists of `blocks`
 * blocks of `block` elements; block b of row r takes entry (r % period)·blocks + b of scale and
 * bias. So with blocks of one element the factors belong to positions in the row (layer), with
 * one block to a row they belong to channels (instance), and in between to channels of a group.
 */
struct vt_norm {
    int64_t rows, period, blocks, block;
    float epsilon;
    const float *scale, *bias; /* NULL: 1 and 0 */
    float *mean, *inverse;     /* a number a row, or NULL */
};
void vt_norm_run(const struct vt_norm *norm, const float *x, float *y, struct vt_pool *pool);

/* [outer][n][inner] divided by the norm along the middle extent, p = 1 or 2; what has norm 0 stays
 * 0. */
void vt_lp_normalize_run(int64_t outer, int64_t n, int64_t inner, int p, const float *x, float *y);

/*
 * Brought to mean 0 and deviation 1 over some of the axes: element i belongs to the group that
 * adds up from index_d · step_d (0 along the axes that are normalised over). `workspace`: two
 * doubles a group.
 */
struct vt_mean_variance {
    uint32_t rank;
    int64_t dim[8], step[8];
    int64_t groups;
    double epsilon; /* added to the deviation */
};
void vt_mean_variance_run(const struct vt_mean_variance *m, const float *x, float *y,
                          double *workspace);

/* Mean and variance of every channel of [batch][channels][n]. */
void vt_channel_statistics(int64_t batch, int64_t channels, int64_t n, const float *x,
                           float *ret_mean, float *ret_variance);

/* Rows of n divided by the root of their mean square (plus epsilon), times scale[n]. y may be x. */
void vt_rms_norm_run(int64_t rows, int64_t n, float epsilon, const float *x, const float *scale,
                     float *y);

#endif
