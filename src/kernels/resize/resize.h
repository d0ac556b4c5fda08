/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resampling of an array along any of its axes. Every output position has a source coordinate;
 * along one axis it is read at the nearest element, or mixed from two or four neighbours. Axes are
 * independent, so a table of taps an axis is all that is needed.
 */
#ifndef VT_KERNELS_RESIZE_RESIZE_H
#define VT_KERNELS_RESIZE_RESIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"
#include "vatio/tensor.h"

enum vt_resize_mode {
    VT_RESIZE_NEAREST,
    VT_RESIZE_LINEAR,
    VT_RESIZE_CUBIC,
};

enum vt_resize_coordinate {
    VT_RESIZE_HALF_PIXEL,
    VT_RESIZE_PYTORCH_HALF_PIXEL,
    VT_RESIZE_ALIGN_CORNERS,
    VT_RESIZE_ASYMMETRIC,
    VT_RESIZE_TF_HALF_PIXEL_FOR_NN,
    VT_RESIZE_TF_CROP_AND_RESIZE,
    VT_RESIZE_HALF_PIXEL_SYMMETRIC, /* what the cut of the length takes is taken on both sides */
};

enum vt_resize_nearest {
    VT_RESIZE_ROUND_PREFER_FLOOR,
    VT_RESIZE_ROUND_PREFER_CEIL,
    VT_RESIZE_FLOOR,
    VT_RESIZE_CEIL,
};

struct vt_resize {
    enum vt_resize_mode mode;
    enum vt_resize_coordinate coordinate;
    enum vt_resize_nearest nearest;
    float cubic_a;
    bool exclude_outside;
    bool antialias; /* shrinking, the filter is as wide as what it shrinks to one */
    float extrapolation;
    uint32_t rank;
    int64_t in[VT_RANK_MAX], out[VT_RANK_MAX];
    double scale[VT_RANK_MAX];
    double roi_start[VT_RANK_MAX], roi_end[VT_RANK_MAX]; /* tf_crop_and_resize */
};

/* Scratch for the tables. */
size_t vt_resize_workspace_bytes(const struct vt_resize *resize);
/* Elements of `bytes` bytes for the nearest mode; the others need float32 (bytes == 4). */
void vt_resize_run(const struct vt_resize *resize, size_t bytes, const void *x, void *y,
                   struct vt_pool *pool, void *workspace);

#endif
