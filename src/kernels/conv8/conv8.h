/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolution of quantised images, channels first ([batch][channels][spatial]), over up to three
 * spatial dimensions, with the sums finished on the way (kernels/gemm8/gemm8.h). 1-D and 2-D shapes
 * have leading extents of 1.
 *
 * Padding is the input's zero point, so that it counts as nothing. The zero point's share of the
 * sums is part of the bias (vt_conv8_bias).
 */
#ifndef VT_KERNELS_CONV8_CONV8_H
#define VT_KERNELS_CONV8_CONV8_H

#include "kernels/gemm8/gemm8.h"

#define VT_CONV8_DIMS 3

struct vt_conv8_way;

struct vt_conv8 {
    int64_t batch, groups;
    int64_t in_channels, out_channels; /* of all groups */
    int64_t in[VT_CONV8_DIMS], out[VT_CONV8_DIMS], kernel[VT_CONV8_DIMS];
    int64_t stride[VT_CONV8_DIMS], dilation[VT_CONV8_DIMS];
    int64_t pad[VT_CONV8_DIMS]; /* before; what lies behind follows from `out` */
    bool in_signed;
    int32_t in_zero;
    /* Chosen by vt_conv8_init. */
    const struct vt_conv8_way *way;
    const struct vt_gemm8_kernel *gemm;
    uint32_t features;
    int64_t group_bytes; /* packed weights of a group */
};

/* Whether what the ways lay out (padded images, packed weights and patches) has a size worth
 * thinking about: padding and dilation can make a small image a huge one. */
bool vt_conv8_fits(const struct vt_conv8 *conv);
/* Chooses the way from the fields above it for a set of enum vt_cpu_feature. */
void vt_conv8_init(struct vt_conv8 *conv, uint32_t features);
/* "depthwise", "rows 32x32 amx". */
void vt_conv8_kernel_name(const struct vt_conv8 *conv, char *text, size_t size);
/* What the packed weights depend on besides the weights: equal keys, equal bytes. */
uint64_t vt_conv8_packed_key(const struct vt_conv8 *conv);
/* Bytes; 0 on overflow. */
size_t vt_conv8_packed_bytes(const struct vt_conv8 *conv);
/* `weights` is [out_channels][in_channels / groups][kernel]; `flip` is xor'ed into every one: 0x80
 * makes int8 of uint8. */
void vt_conv8_pack(const struct vt_conv8 *conv, const uint8_t *weights, uint8_t flip,
                   void *ret_packed);
/* The sum of each output channel's weights as vt_conv8_pack sees them. */
void vt_conv8_sums(const struct vt_conv8 *conv, const uint8_t *weights, uint8_t flip,
                   int32_t *ret_sums);
/*
 * The bias that takes the zero points' shares off: bias (NULL: 0) less zx·sum(w - zw), with the
 * zero points of the weights after the flip (NULL: 0).
 */
void vt_conv8_bias(const struct vt_conv8 *conv, const int32_t *sums, const int32_t *bias,
                   const int32_t *weight_zero, int32_t *ret_bias);

struct vt_conv8_data {
    const void *input, *packed;
    const void *residual; /* of the output's shape; where the finish has one */
    void *output;
    const struct vt_gemm8_finish *finish; /* rows are output channels */
};
/* Scratch that vt_conv8_run needs with that many threads and a finish like this; aligned to 64
 * bytes. */
size_t vt_conv8_workspace_bytes(const struct vt_conv8 *conv, bool weight_zeros, uint32_t threads);
void vt_conv8_run(const struct vt_conv8 *conv, const struct vt_conv8_data *data,
                  struct vt_pool *pool, void *workspace);

#endif
