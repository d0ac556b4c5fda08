/* SPDX-License-Identifier: Apache-2.0 */
/* The ways to convolve, for conv.c to choose from. */
#ifndef VT_KERNELS_CONV_WAYS_H
#define VT_KERNELS_CONV_WAYS_H

#include "kernels/conv/conv.h"

static inline int64_t conv_volume(const int64_t dim[VT_CONV_DIMS])
{
    return dim[0] * dim[1] * dim[2];
}

/* Steps of k in a group's product: channels times taps. */
static inline int64_t conv_depth(const struct vt_conv *conv)
{
    return conv->in_channels / conv->groups * conv_volume(conv->kernel);
}

void vt_conv_depthwise_run(const struct vt_conv *conv, const struct vt_conv_data *data,
                           struct vt_pool *pool);
size_t vt_conv_direct_workspace_bytes(const struct vt_conv *conv, uint32_t threads);
void vt_conv_direct_run(const struct vt_conv *conv, const struct vt_conv_data *data,
                        struct vt_pool *pool, void *workspace);

/* Packs patches: a vt_gemm_pack_func's work, for the image of one group. */
void vt_conv_pack_patches(const struct vt_conv *conv, const float *image, uint32_t nr, int64_t k0,
                          int64_t kc, int64_t n0, int64_t nc, float *ret_packed);

#endif
