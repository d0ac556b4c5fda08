/* SPDX-License-Identifier: Apache-2.0 */
/* Images read between their pixels, in float32: at points of a grid, and in regions. */
#ifndef VT_KERNELS_SAMPLE_SAMPLE_H
#define VT_KERNELS_SAMPLE_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/pool.h"

#define VT_SAMPLE_DIMS 3

enum vt_sample_mode {
    VT_SAMPLE_NEAREST, /* ties to even */
    VT_SAMPLE_LINEAR,
    VT_SAMPLE_CUBIC, /* coefficient -0.75 */
};

enum vt_sample_padding {
    VT_SAMPLE_ZEROS,
    VT_SAMPLE_BORDER,     /* the nearest pixel */
    VT_SAMPLE_REFLECTION, /* at the outermost pixels' centres, or at their outer edges */
};

/*
 * x [batch][channels][in] read at grid [batch][points][dims], whose numbers are positions from -1
 * to 1, the last extent's first. -1 and 1 are the outermost pixels' centres where
 * align_corners, else their outer edges.
 */
struct vt_grid_sample {
    int64_t batch, channels, points;
    uint32_t dims; /* 1 to 3 */
    int64_t in[VT_SAMPLE_DIMS];
    enum vt_sample_mode mode;
    enum vt_sample_padding padding;
    bool align_corners;
};
void vt_grid_sample_run(const struct vt_grid_sample *g, const float *x, const float *grid, float *y,
                        struct vt_pool *pool);

/*
 * Regions (x1, y1, x2, y2) of images, each cut into [out] bins; a bin is the mean or the maximum of
 * samples [sampling]² (0: as many as it has pixels, rounded up).
 */
struct vt_roi_align {
    int64_t channels, in[2], out[2], regions;
    int64_t sampling;
    float scale;     /* of the regions' numbers to pixels */
    bool half_pixel; /* a pixel's centre is at .5; else regions are at least 1x1 */
    bool maximum;
};
/* False when region *ret_bad is too large to be sampled or no region. */
bool vt_roi_align_run(const struct vt_roi_align *r, const float *x, const float *regions,
                      const int64_t *images, float *y, int64_t *ret_bad);

/*
 * A convolution each of whose taps is moved by an offset, and weighed by a mask: offset
 * [batch][offset_groups][taps][2][out] (down, right), mask [batch][offset_groups][taps][out].
 */
struct vt_deform_conv {
    int64_t batch, in_channels, out_channels, groups, offset_groups;
    int64_t in[2], out[2], kernel[2], stride[2], dilation[2], pad[2];
};
struct vt_deform_data {
    const float *x, *weights, *offset;
    const float *bias, *mask; /* or NULL */
    float *y;
};
/* `workspace`: in_channels times taps. */
void vt_deform_conv_run(const struct vt_deform_conv *d, const struct vt_deform_data *data,
                        float *workspace);

/* The grid that matrices [batch][dims][dims + 1] make of the positions of an image [out]. */
struct vt_affine_grid {
    int64_t batch, out[VT_SAMPLE_DIMS];
    uint32_t dims; /* 2 or 3 */
    bool align_corners;
};
void vt_affine_grid_run(const struct vt_affine_grid *g, const float *theta, float *y);

#endif
