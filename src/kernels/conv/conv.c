/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/conv/conv.h"

#include <stdio.h>
#include <string.h>

#include "kernels/conv/ways.h"
#include "kernels/gemm16/gemm16.h"

static const struct vt_conv_way *const ways[] = {
    &vt_conv_way_scatter,
    &vt_conv_way_transpose,
    &vt_conv_way_depthwise,
    &vt_conv_way_direct,
    &vt_conv_way_patches,
    /* Channels last. */
    &vt_conv_way_upsample,
    &vt_conv_way_depthwise_last,
    &vt_conv_way_rows16,
    &vt_conv_way_lines,
    &vt_conv_way_winograd,
    &vt_conv_way_direct_last,
    &vt_conv_way_rows,
};

const struct vt_conv_way *const *vt_conv_ways(size_t *ret_n)
{
    *ret_n = sizeof(ways) / sizeof(ways[0]);
    return ways;
}

/* A pointwise convolution sees the image as one long row, so that no tile ends at a line. */
static void flatten_pointwise(struct vt_conv *conv)
{
    for (int i = 0; i < VT_CONV_DIMS; i++) {
        if (conv->kernel[i] != 1 || conv->stride[i] != 1 || conv->pad[i] != 0 ||
            conv->in[i] != conv->out[i]) {
            return;
        }
    }
    conv->in[2] = conv->out[2] = conv_volume(conv->in);
    conv->in[0] = conv->in[1] = conv->out[0] = conv->out[1] = 1;
}

static void prepare(struct vt_conv *conv, uint32_t features)
{
    conv->features = features;
    conv->gemm = vt_gemm_kernel_find(features);
    flatten_pointwise(conv);
}

void vt_conv_init(struct vt_conv *conv, uint32_t features)
{
    size_t i = 0;
    prepare(conv, features);
    while (!ways[i]->fits(conv)) {
        i++; /* ends: patches and rows fit everything */
    }
    conv->way = ways[i];
    conv->tile = 0;
    conv->way->init(conv);
}

static void set_choice(struct vt_conv_choice *choice, const struct vt_conv_way *way, int64_t tile)
{
    choice->way = way;
    choice->tile = tile;
    if (tile > 0) {
        (void)snprintf(choice->name, sizeof(choice->name), "%s %lld", way->name, (long long)tile);
    } else {
        (void)snprintf(choice->name, sizeof(choice->name), "%s", way->name);
    }
}

size_t vt_conv_choices(const struct vt_conv *shape, uint32_t features,
                       struct vt_conv_choice ret[VT_CONV_CHOICES_MAX])
{
    struct vt_conv conv = *shape;
    size_t n = 0;
    prepare(&conv, features);
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]) && n < VT_CONV_CHOICES_MAX; i++) {
        const struct vt_conv_way *way = ways[i];
        if (way->can != NULL ? !way->can(&conv) : !way->fits(&conv)) {
            continue;
        }
        if (way->tiles[0] == 0) {
            set_choice(&ret[n++], way, 0);
        }
        for (const int64_t *tile = way->tiles; *tile != 0 && n < VT_CONV_CHOICES_MAX; tile++) {
            set_choice(&ret[n++], way, *tile);
        }
    }
    return n;
}

void vt_conv_init_as(struct vt_conv *conv, uint32_t features, const struct vt_conv_choice *choice)
{
    prepare(conv, features);
    conv->way = choice->way;
    conv->tile = choice->tile;
    conv->way->init(conv);
}

void vt_conv_kernel_name(const struct vt_conv *conv, char *text, size_t size)
{
    if (conv->way == &vt_conv_way_rows16) {
        (void)snprintf(text, size, "%s %s", conv->way->name,
                       vt_gemm16_kernel_find(conv->features)->name);
    } else if (conv->way->tiled) {
        (void)snprintf(text, size, "%s %ux%u", conv->way->name, conv->gemm->mr, conv->gemm->nr);
    } else if (conv->tile > 0) {
        (void)snprintf(text, size, "%s %lld", conv->way->name, (long long)conv->tile);
    } else {
        (void)snprintf(text, size, "%s", conv->way->name);
    }
}

/* FNV-1a. */
static uint64_t mix(uint64_t key, uint64_t x)
{
    for (int i = 0; i < 8; i++, x >>= 8) {
        key = (key ^ (x & 255)) * UINT64_C(0x100000001b3);
    }
    return key;
}

uint64_t vt_conv_packed_key(const struct vt_conv *conv)
{
    uint64_t key = UINT64_C(0xcbf29ce484222325);
    for (const char *c = conv->way->name; *c != '\0'; c++) {
        key = mix(key, (uint64_t)(unsigned char)*c);
    }
    key = mix(key, (uint64_t)conv->channels_last << 1 | (uint64_t)conv->transposed);
    key = mix(key, (uint64_t)conv->gemm->mr << 32 | conv->gemm->nr);
    key = mix(key, (uint64_t)conv->tile);
    return mix(key, (uint64_t)conv->groups);
}

size_t vt_conv_packed_floats(const struct vt_conv *conv)
{
    return (size_t)(conv->groups * conv->group_floats);
}

void vt_conv_pack(const struct vt_conv *conv, const float *weights, const float *channel_scale,
                  float *ret_packed)
{
    conv->way->pack(conv, weights, channel_scale, ret_packed);
}

size_t vt_conv_workspace_bytes(const struct vt_conv *conv, uint32_t threads)
{
    return conv->way->workspace_bytes(conv, threads);
}

bool vt_conv_over_residual(const struct vt_conv *conv)
{
    /* A product of one column goes another way. */
    return conv->way->over_residual && conv->out_channels > conv->groups;
}

void vt_conv_run(const struct vt_conv *conv, const struct vt_conv_data *data, struct vt_pool *pool,
                 void *workspace)
{
    if (conv->batch > 0 && conv->out_channels > 0 && conv_volume(conv->out) > 0) {
        conv->way->run(conv, data, pool, workspace);
    }
}
