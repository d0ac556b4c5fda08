/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisations in float32. */
#ifndef VT_KERNELS_NORM_NORM_H
#define VT_KERNELS_NORM_NORM_H

#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"
#include "kernels/gemm/gemm.h"

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

/*
 * Rows of n elements brought to mean 0 and variance 1, or with `rms` divided by the root of their
 * mean square, then scaled and shifted. With a residual x + residual is what is normalised; `sum`
 * takes it, NULL: it is not kept. y may be x or residual.
 */
struct vt_layer_norm {
    int64_t rows, n;
    float epsilon;
    bool rms;
    const float *scale, *bias; /* n each; NULL: 1 and 0 */
    float *mean, *inverse;     /* a number a row, or NULL */
    uint32_t features;         /* enum vt_cpu_feature: which vectors may be used */
};
void vt_layer_norm_run(const struct vt_layer_norm *norm, const float *x, const float *residual,
                       float *sum, float *y, struct vt_pool *pool);

/*
 * Channels-last rows: y = act((x - centre[c])·factor[c] + shift[c] + residual), which is batch
 * normalisation with its statistics known. centre and residual may be NULL, y may be x or residual.
 */
struct vt_affine_last {
    int64_t channels;
    const float *centre, *factor, *shift;
    struct vt_gemm_finish finish;
    uint32_t features;
};
void vt_affine_last_run(const struct vt_affine_last *affine, int64_t rows, const float *x,
                        const float *residual, float *y, struct vt_pool *pool);

/*
 * Instance and group normalisation of [batch][n][channels]: mean and variance of an image's
 * channel, or of the channels of a group, with residual and activation. Moments are summed in
 * float32 about a mean of nearby rows and joined in double. y may be x or residual.
 */
struct vt_norm_last {
    int64_t batch, n, channels;
    int64_t groups; /* divides channels; as many: instance normalisation */
    float epsilon;
    const float *scale, *bias; /* channels each; NULL: 1 and 0 */
    struct vt_gemm_finish finish;
    uint32_t features;
};
size_t vt_norm_last_workspace_bytes(const struct vt_norm_last *norm);
void vt_norm_last_run(const struct vt_norm_last *norm, const float *x, const float *residual,
                      float *y, struct vt_pool *pool, void *workspace);

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

#endif
