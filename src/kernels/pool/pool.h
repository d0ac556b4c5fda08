/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pooling over up to three spatial dimensions, channels first ([batch][channels][spatial]) or
 * channels last ([batch][spatial][channels]); fewer have leading extents of 1.
 */
#ifndef VT_KERNELS_POOL_POOL_H
#define VT_KERNELS_POOL_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"

#define VT_POOL_DIMS 3

enum vt_pooling {
    VT_POOLING_MAX,
    VT_POOLING_AVERAGE,
    VT_POOLING_LP,
};

struct vt_pooling_params {
    enum vt_pooling kind;
    int64_t planes; /* batch times channels */
    int64_t in[VT_POOL_DIMS], out[VT_POOL_DIMS], kernel[VT_POOL_DIMS];
    int64_t stride[VT_POOL_DIMS], dilation[VT_POOL_DIMS];
    int64_t pad[VT_POOL_DIMS], pad_end[VT_POOL_DIMS];
    bool count_padding; /* average: divide by the taps inside the padded image */
    int64_t p;          /* of the p-norm */
    bool column_major;  /* indices count the first spatial dimension fastest */
    bool channels_last; /* then the two below are used, and there are no indices */
    int64_t channels;
    uint32_t features; /* enum vt_cpu_feature: which vectors may be used */
};

/* float32. `indices` (maximum only) gets the flat position of each maximum; may be NULL. */
void vt_pooling_run(const struct vt_pooling_params *params, const float *x, float *y,
                    int64_t *indices, struct vt_pool *pool);
/* Maximum of 8-bit integers. */
void vt_pooling_max_u8(const struct vt_pooling_params *params, const uint8_t *x, uint8_t *y,
                       int64_t *indices, bool is_signed);

/* The same without indices, faster; false, and nothing done, where rows are too wide for it. */
bool vt_pooling_max_bytes(const struct vt_pooling_params *params, const uint8_t *x, uint8_t *y,
                          bool is_signed, struct vt_pool *pool);

/* One number for each plane of `n` elements. */
void vt_pooling_global(enum vt_pooling kind, int64_t p, int64_t planes, int64_t n, const float *x,
                       float *y, struct vt_pool *pool);

/* The same of [batch][n][channels]: one number for each channel of an image. */
struct vt_pooling_global_last {
    enum vt_pooling kind;
    int64_t p;
    int64_t batch, n, channels;
    uint32_t features;
};
void vt_pooling_global_last_run(const struct vt_pooling_global_last *global, const float *x,
                                float *y, struct vt_pool *pool);

/* Cross-channel normalisation, y = x / (bias + alpha/size · sum of squares)^beta. */
struct vt_lrn_params {
    int64_t batch, channels, spatial;
    int64_t size;
    float alpha, beta, bias;
};
void vt_lrn_run(const struct vt_lrn_params *params, const float *x, float *y, struct vt_pool *pool);

#endif
