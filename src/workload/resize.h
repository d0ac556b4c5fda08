/* SPDX-License-Identifier: Apache-2.0 */
/* Geometry of images: bilinear scaling and crops. */
#ifndef VT_WORKLOAD_RESIZE_H
#define VT_WORKLOAD_RESIZE_H

#include "workload/image.h"

/* A part of an image, in whole pixels. */
struct vt_region {
    uint32_t x, y, width, height;
};

/*
 * The largest region with the aspect ratio width : height, times `fraction` (over 0, at most 1), in
 * the centre; sides are rounded half up, offsets down, and every side has at least one pixel.
 */
struct vt_region vt_region_centred(const struct vt_image *image, uint32_t width, uint32_t height,
                                   double fraction);

/*
 * Scales the region to width x height into `to` (another image). Half-pixel centres: source
 * position = (i + 0.5) * in / out - 0.5, clamped to the region's edge; no antialiasing; exact,
 * rounded half up. VT_ERR_LIMIT, VT_ERR_MEMORY.
 */
enum vt_status vt_image_bilinear(const struct vt_image *from, const struct vt_region *region,
                                 uint32_t width, uint32_t height, struct vt_error *err,
                                 struct vt_image *to) VT_NODISCARD;

#endif
