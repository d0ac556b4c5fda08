/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolution in fp32 over up to three spatial dimensions, channels first.
 *
 * 1-D and 2-D shapes have leading extents of 1. The way is chosen from the shape: depthwise,
 * direct (few output channels, unit stride along the row: the micro-kernel reads the image in
 * place) or a matrix product over patches that are packed block by block; the matrix of all
 * patches never exists.
 *
 * Weights are used packed. vt_conv_pack makes that form, once for constant weights.
 */
#ifndef VT_KERNELS_CONV_CONV_H
#define VT_KERNELS_CONV_CONV_H

#include "kernels/gemm/gemm.h"

#define VT_CONV_DIMS 3

enum vt_conv_way {
    VT_CONV_DEPTHWISE,
    VT_CONV_DIRECT,
    VT_CONV_GEMM,
};

struct vt_conv {
    int64_t batch, groups;
    int64_t in_channels, out_channels; /* of all groups */
    int64_t in[VT_CONV_DIMS], out[VT_CONV_DIMS], kernel[VT_CONV_DIMS];
    int64_t stride[VT_CONV_DIMS], dilation[VT_CONV_DIMS];
    int64_t pad[VT_CONV_DIMS]; /* before; what lies behind follows from `out` */
    struct vt_gemm_finish finish;
    /* Chosen by vt_conv_init. */
    enum vt_conv_way way;
    const struct vt_gemm_kernel *gemm;
    int64_t group_floats; /* packed weights of a group */
};

/* Chooses the way from the fields above it for a set of enum vt_cpu_feature. */
void vt_conv_init(struct vt_conv *conv, uint32_t features);

size_t vt_conv_packed_floats(const struct vt_conv *conv);
/* `weights` is [out_channels][in_channels / groups][kernel]; channel_scale may be NULL. */
void vt_conv_pack(const struct vt_conv *conv, const float *weights, const float *channel_scale,
                  float *ret_packed);

struct vt_conv_data {
    const float *input, *packed;
    const float *bias;     /* out_channels, or NULL */
    const float *residual; /* of the output's shape, or NULL */
    float *output;
};
size_t vt_conv_workspace_bytes(const struct vt_conv *conv, uint32_t threads);
void vt_conv_run(const struct vt_conv *conv, const struct vt_conv_data *data, struct vt_pool *pool,
                 void *workspace);

/*
 * Transposed convolution: the roles of input and output in the geometry are those of the
 * transposed operator (`in` is what it reads). Weights are [in_channels][out_channels / groups]
 * [kernel]. Computed as a product over the taps that reach each output.
 */
size_t vt_conv_transpose_packed_floats(const struct vt_conv *conv);
void vt_conv_transpose_pack(const struct vt_conv *conv, const float *weights, float *ret_packed);
size_t vt_conv_transpose_workspace_bytes(const struct vt_conv *conv, uint32_t threads);
void vt_conv_transpose_run(const struct vt_conv *conv, const struct vt_conv_data *data,
                           struct vt_pool *pool, void *workspace);

#endif
