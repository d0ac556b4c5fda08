/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolution and transposed convolution in fp32 over up to three spatial dimensions, channels
 * first ([batch][channels][spatial]) or channels last ([batch][spatial][channels]).
 *
 * 1-D and 2-D shapes have leading extents of 1. There are several ways to convolve (ways.h); the
 * first that fits the shape, the layout and the instruction set is taken, or the one that the
 * caller has found to be the fastest.
 *
 * Weights are used packed. vt_conv_pack makes that form, once for constant weights.
 */
#ifndef VT_KERNELS_CONV_CONV_H
#define VT_KERNELS_CONV_CONV_H

#include "kernels/gemm/gemm.h"

#define VT_CONV_DIMS 3

struct vt_conv_way;

struct vt_conv {
    int64_t batch, groups;
    int64_t in_channels, out_channels; /* of all groups */
    int64_t in[VT_CONV_DIMS], out[VT_CONV_DIMS], kernel[VT_CONV_DIMS];
    int64_t stride[VT_CONV_DIMS], dilation[VT_CONV_DIMS];
    int64_t pad[VT_CONV_DIMS]; /* before; what lies behind follows from `out` */
    bool transposed; /* `in` is what the operator reads; stride and pad are those of its output */
    bool channels_last; /* of input, residual and output */
    bool bf16;          /* input and weights may be rounded to bfloat16 */
    struct vt_gemm_finish finish;
    /* Chosen by vt_conv_init. */
    const struct vt_conv_way *way;
    uint32_t features;
    const struct vt_gemm_kernel *gemm;
    int64_t group_floats; /* packed weights of a group */
    int64_t tile;         /* of a way that has several sizes */
};

/* Chooses the way from the fields above it for a set of enum vt_cpu_feature, by rule. */
void vt_conv_init(struct vt_conv *conv, uint32_t features);

/* One of the ways, and one of its sizes where it has several (else 0). */
struct vt_conv_choice {
    const struct vt_conv_way *way;
    int64_t tile;
    char name[24]; /* "winograd 6", "direct": what vt_conv_kernel_name begins with */
};
#define VT_CONV_CHOICES_MAX 12
/* All that can carry the convolution out, in the table's order. Returns how many; at least 1. */
size_t vt_conv_choices(const struct vt_conv *conv, uint32_t features,
                       struct vt_conv_choice ret[VT_CONV_CHOICES_MAX]);
/* vt_conv_init with one of these instead of the rule. */
void vt_conv_init_as(struct vt_conv *conv, uint32_t features, const struct vt_conv_choice *choice);

/* "winograd"; with the tile of its micro-kernel where the way is a product: "patches 14x32". */
void vt_conv_kernel_name(const struct vt_conv *conv, char *text, size_t size);
/* What the packed weights depend on besides the weights: equal keys, equal bytes. */
uint64_t vt_conv_packed_key(const struct vt_conv *conv);

size_t vt_conv_packed_floats(const struct vt_conv *conv);
/* `weights` is [out_channels][in_channels / groups][kernel], of a transposed convolution
 * [in_channels][out_channels / groups][kernel]; channel_scale, one for each output channel, may be
 * NULL and is NULL for a transposed one. */
void vt_conv_pack(const struct vt_conv *conv, const float *weights, const float *channel_scale,
                  float *ret_packed);

struct vt_conv_data {
    const float *input, *packed;
    const float *bias;     /* out_channels, or NULL */
    const float *residual; /* of the output's shape and layout, or NULL */
    float *output;
};
/* Whether the output may be the residual. */
bool vt_conv_over_residual(const struct vt_conv *conv);
/* Scratch that vt_conv_run needs with that many threads; aligned to 64 bytes. */
size_t vt_conv_workspace_bytes(const struct vt_conv *conv, uint32_t threads);
void vt_conv_run(const struct vt_conv *conv, const struct vt_conv_data *data, struct vt_pool *pool,
                 void *workspace);

#endif
