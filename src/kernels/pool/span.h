/* SPDX-License-Identifier: Apache-2.0 */
/* What a window covers along an axis. */
#ifndef VT_KERNELS_POOL_SPAN_H
#define VT_KERNELS_POOL_SPAN_H

#include "kernels/pool/pool.h"

/* Taps of one window along one axis: positions first, first + dilation … below end. */
struct vt_pool_span {
    int64_t first, end;
    int64_t taps;   /* those inside the image */
    int64_t padded; /* those inside the padded image */
};

static inline struct vt_pool_span vt_pool_span_of(const struct vt_pooling_params *p, int axis,
                                                  int64_t o)
{
    const int64_t dilation = p->dilation[axis], width = p->in[axis];
    const int64_t start = o * p->stride[axis] - p->pad[axis];
    const int64_t stop = start + (p->kernel[axis] - 1) * dilation + 1;
    const int64_t edge = width + p->pad_end[axis];
    struct vt_pool_span s;
    s.first = start >= 0 ? start : start + (-start + dilation - 1) / dilation * dilation;
    s.end = stop < width ? stop : width;
    s.taps = s.end > s.first ? (s.end - s.first + dilation - 1) / dilation : 0;
    s.padded = ((stop < edge ? stop : edge) - start + dilation - 1) / dilation;
    return s;
}

void vt_pooling_run_last(const struct vt_pooling_params *params, const float *x, float *y,
                         struct vt_pool *pool);

#endif
