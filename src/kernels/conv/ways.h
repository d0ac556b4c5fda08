/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ways to convolve: one file each, one line each in conv.c's table, which is what dispatch,
 * tests and benchmarks go through.
 */
#ifndef VT_KERNELS_CONV_WAYS_H
#define VT_KERNELS_CONV_WAYS_H

#include "kernels/conv/conv.h"

#define VT_CONV_WAY_TILES 3

struct vt_conv_way {
    const char *name;
    bool tiled; /* its speed depends on the micro-kernel of the product: people want to see which */
    /* Whether the way can carry it out and is, by rule, worth it; the ways are asked in the table's
     * order. All of `conv` but way, group_floats and tile is set. */
    bool (*fits)(const struct vt_conv *conv);
    /* Sets group_floats; where the way has several sizes and tile is 0, tile too, by rule. */
    void (*init)(struct vt_conv *conv);
    void (*pack)(const struct vt_conv *conv, const float *weights, const float *channel_scale,
                 float *ret_packed);
    size_t (*workspace_bytes)(const struct vt_conv *conv, uint32_t threads);
    /* No extent of the output is 0. Allocates nothing. */
    void (*run)(const struct vt_conv *conv, const struct vt_conv_data *data, struct vt_pool *pool,
                void *workspace);
    bool over_residual; /* the output may be the residual */
    /* For those who measure: whether it can at all, worth it or not; NULL: where it fits. */
    bool (*can)(const struct vt_conv *conv);
    int64_t tiles[VT_CONV_WAY_TILES + 1]; /* its sizes, where it has several; 0 behind the last */
};

/* In the order in which they are asked; all channels-first ones, then all channels-last ones. */
const struct vt_conv_way *const *vt_conv_ways(size_t *ret_n);

/* Channels first. */
extern const struct vt_conv_way vt_conv_way_depthwise;
extern const struct vt_conv_way vt_conv_way_direct;
extern const struct vt_conv_way vt_conv_way_patches;
extern const struct vt_conv_way vt_conv_way_scatter;
extern const struct vt_conv_way vt_conv_way_transpose;
/* Channels last. */
extern const struct vt_conv_way vt_conv_way_lines;
extern const struct vt_conv_way vt_conv_way_winograd;
extern const struct vt_conv_way vt_conv_way_upsample;
extern const struct vt_conv_way vt_conv_way_depthwise_last;
extern const struct vt_conv_way vt_conv_way_direct_last;
extern const struct vt_conv_way vt_conv_way_rows16;
extern const struct vt_conv_way vt_conv_way_rows;

static inline int64_t conv_volume(const int64_t dim[VT_CONV_DIMS])
{
    return dim[0] * dim[1] * dim[2];
}

/* Steps of k in a group's product: channels times taps. */
static inline int64_t conv_depth(const struct vt_conv *conv)
{
    return conv->in_channels / conv->groups * conv_volume(conv->kernel);
}

/* What a product's functions are given. */
struct vt_conv_product {
    const struct vt_conv *conv;
    const struct vt_conv_data *data;
};
/* The image of a group, channels first: product number `batch` reads it. */
static inline const float *conv_group_image(const struct vt_conv_product *p, int64_t batch)
{
    return p->data->input +
           batch * (p->conv->in_channels / p->conv->groups) * conv_volume(p->conv->in);
}

/* The slots of a channels-first way that is a product over columns (columns.c); `pack` gets a
 * struct vt_conv_product. */
void vt_conv_columns_init(struct vt_conv *conv);
size_t vt_conv_columns_workspace_bytes(const struct vt_conv *conv, uint32_t threads,
                                       vt_gemm_pack_func pack);
void vt_conv_columns_run(const struct vt_conv *conv, const struct vt_conv_data *data,
                         struct vt_pool *pool, void *workspace, vt_gemm_pack_func pack);

/* The product over rows of a channels-last image (rows.c), a group each of its batch. */
void vt_conv_rows_product(struct vt_gemm *gemm, const struct vt_conv *conv,
                          const struct vt_conv_product *product);

/* Where the weight of (input channel, output channel, tap) of a group stands. */
static inline int64_t conv_weight_at(const struct vt_conv *conv, int64_t c, int64_t o, int64_t tap)
{
    const int64_t ins = conv->in_channels / conv->groups, outs = conv->out_channels / conv->groups;
    const int64_t pair = conv->transposed ? c * outs + o : o * ins + c;
    return pair * conv_volume(conv->kernel) + tap;
}

/* Packs patches of a channels-first image: a vt_gemm_pack_func's work, for one group. */
void vt_conv_pack_patches(const struct vt_conv *conv, const float *image, uint32_t nr, int64_t k0,
                          int64_t kc, int64_t n0, int64_t nc, float *ret_packed);

#endif
