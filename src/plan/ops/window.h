/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sliding window of convolutions and pools: kernel_shape, strides, dilations, pads and
 * auto_pad, made three-dimensional by leading extents of 1.
 */
#ifndef VT_PLAN_OPS_WINDOW_H
#define VT_PLAN_OPS_WINDOW_H

#include "plan/ops/support.h"

#define VT_WINDOW_DIMS 3

struct vt_window {
    int64_t batch, channels; /* of the input */
    int64_t in[VT_WINDOW_DIMS], out[VT_WINDOW_DIMS], kernel[VT_WINDOW_DIMS];
    int64_t stride[VT_WINDOW_DIMS], dilation[VT_WINDOW_DIMS];
    int64_t pad[VT_WINDOW_DIMS], pad_end[VT_WINDOW_DIMS];
};

/*
 * Reads the attributes for an input and output of shape N, C, spatial…; `kernel` has the spatial
 * rank of them, NULL takes kernel_shape. `transposed` turns the geometry of auto_pad round.
 */
enum vt_status vt_window_read(const struct vt_op_context *ctx, const struct vt_tensor *input,
                              const struct vt_tensor *output, const int64_t *kernel,
                              bool transposed, struct vt_window *ret);

#endif
