/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The channels-first product: packed weights times columns, one for each output, that the way packs
 * block by block from what it reads.
 */
#include "kernels/conv/ways.h"

void vt_conv_columns_init(struct vt_conv *conv)
{
    size_t floats = 0;
    (void)vt_gemm_packed_a_size(conv->gemm, conv->out_channels / conv->groups, conv_depth(conv),
                                &floats);
    conv->group_floats = (int64_t)floats;
}

static void locate(const void *ctx, int64_t batch, struct vt_gemm_place *ret)
{
    const struct vt_conv_product *p = ctx;
    const struct vt_conv *conv = p->conv;
    const int64_t channels = conv->out_channels / conv->groups, group = batch % conv->groups;
    const int64_t offset = batch * channels * conv_volume(conv->out);
    ret->a = p->data->packed + group * conv->group_floats;
    ret->c = p->data->output + offset;
    if (p->data->bias != NULL) {
        ret->row_bias = p->data->bias + group * channels;
    }
    if (p->data->residual != NULL) {
        ret->residual = p->data->residual + offset;
    }
}

static void product_init(struct vt_gemm *gemm, const struct vt_conv *conv,
                         const struct vt_conv_product *product, vt_gemm_pack_func pack)
{
    *gemm = (struct vt_gemm){.kernel = conv->gemm,
                             .m = conv->out_channels / conv->groups,
                             .n = conv_volume(conv->out),
                             .k = conv_depth(conv),
                             .batches = conv->batch * conv->groups,
                             .ldc = conv_volume(conv->out),
                             .a_packed = true,
                             .pack_b = pack,
                             .locate = locate,
                             .ctx = product,
                             .finish = conv->finish};
}

size_t vt_conv_columns_workspace_bytes(const struct vt_conv *conv, uint32_t threads,
                                       vt_gemm_pack_func pack)
{
    struct vt_gemm gemm;
    product_init(&gemm, conv, NULL, pack);
    return vt_gemm_workspace_bytes(&gemm, threads);
}

void vt_conv_columns_run(const struct vt_conv *conv, const struct vt_conv_data *data,
                         struct vt_pool *pool, void *workspace, vt_gemm_pack_func pack)
{
    const struct vt_conv_product product = {conv, data};
    struct vt_gemm gemm;
    product_init(&gemm, conv, &product, pack);
    vt_gemm_run(&gemm, pool, workspace);
}
