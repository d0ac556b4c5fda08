/* SPDX-License-Identifier: Apache-2.0 */
/* The ways to convolve quantised images: one file each, one line each in conv8.c's table. */
#ifndef VT_KERNELS_CONV8_WAYS_H
#define VT_KERNELS_CONV8_WAYS_H

#include "kernels/conv8/conv8.h"

struct vt_conv8_way {
    const char *name;
    bool tiled; /* its speed depends on the micro-kernel of the product */
    bool (*fits)(const struct vt_conv8 *conv);
    size_t (*packed_bytes)(const struct vt_conv8 *conv); /* of a group; 0 on overflow */
    /* One group; `weights` are its own. */
    void (*pack)(const struct vt_conv8 *conv, const uint8_t *weights, uint8_t flip,
                 void *ret_packed);
    size_t (*workspace_bytes)(const struct vt_conv8 *conv, bool weight_zeros, uint32_t threads);
    /* No extent of the output is 0. Allocates nothing. */
    void (*run)(const struct vt_conv8 *conv, const struct vt_conv8_data *data, struct vt_pool *pool,
                void *workspace);
};

extern const struct vt_conv8_way vt_conv8_way_depthwise;
extern const struct vt_conv8_way vt_conv8_way_pointwise;
extern const struct vt_conv8_way vt_conv8_way_rows;

static inline int64_t conv8_volume(const int64_t dim[VT_CONV8_DIMS])
{
    return dim[0] * dim[1] * dim[2];
}

static inline int64_t conv8_ins(const struct vt_conv8 *conv)
{
    return conv->in_channels / conv->groups;
}

static inline int64_t conv8_outs(const struct vt_conv8 *conv)
{
    return conv->out_channels / conv->groups;
}

/* Channels of a group in fours. */
static inline int64_t conv8_fours(const struct vt_conv8 *conv)
{
    return (conv8_ins(conv) + 3) / 4;
}

static inline uint8_t conv8_flip(const struct vt_conv8 *conv)
{
    return conv->in_signed ? 0x80 : 0;
}

/* The zero point of the input as uint8. */
static inline uint8_t conv8_zero(const struct vt_conv8 *conv)
{
    return (uint8_t)(conv->in_zero + (conv->in_signed ? 128 : 0));
}

/* The extent of the input that outputs and taps span. */
static inline int64_t conv8_span(const struct vt_conv8 *conv, int axis)
{
    return (conv->out[axis] - 1) * conv->stride[axis] +
           (conv->kernel[axis] - 1) * conv->dilation[axis] + 1;
}

/*
 * The sums of some rows of a depthwise convolution. Sum x of a row is over `taps` rows of 4·fours
 * bytes each, from base + offsets[r] + x·stride, times the weights [taps][fours][4]. The next row's
 * base is `step` bytes on, its sums follow. May compute up to 15 more columns, before it goes on to
 * the next row, and read 64 more bytes for it.
 */
struct vt_conv8_depthwise {
    const uint8_t *base;
    const int64_t *offsets;
    int64_t taps, fours;
    const int8_t *weights;
    int64_t n, stride, rows, step;
    int32_t *sums;
};
void vt_s8_depthwise__portable(const struct vt_conv8_depthwise *job);
#if defined(__x86_64__)
void vt_s8_depthwise__vnni(const struct vt_conv8_depthwise *job); /* stride at most 4 */
#endif

#endif
