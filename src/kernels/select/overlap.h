/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a box overlaps one of the chosen ones, for each instruction set; nms.c chooses. */
#ifndef VT_KERNELS_SELECT_OVERLAP_H
#define VT_KERNELS_SELECT_OVERLAP_H

#include <stdbool.h>
#include <stdint.h>

struct vt_corners {
    float y1, x1, y2, x2;
};
/* Boxes apart by number, so that many are compared at once. */
struct vt_boxes {
    float *y1, *x1, *y2, *x2, *area;
};
/* Whether with one of n boxes the common part is more than `iou` of what both cover. */
typedef bool (*vt_overlap_func)(const struct vt_boxes *boxes, int64_t n, struct vt_corners box,
                                float iou);
bool vt_f32_overlap__portable(const struct vt_boxes *boxes, int64_t n, struct vt_corners box,
                              float iou);
#if defined(__x86_64__)
bool vt_f32_overlap__avx2(const struct vt_boxes *boxes, int64_t n, struct vt_corners box,
                          float iou);
bool vt_f32_overlap__avx512(const struct vt_boxes *boxes, int64_t n, struct vt_corners box,
                            float iou);
#endif

#endif
