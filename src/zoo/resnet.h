/* SPDX-License-Identifier: Apache-2.0 */
/* The residual networks of bottlenecks (He et al., 2015; ResNeXt: Xie et al., 2016), version 1.5:
 * the stride is in the 3x3 convolution. */
#ifndef VT_ZOO_RESNET_H
#define VT_ZOO_RESNET_H

#include "zoo/net.h"

#define VT_RESNET_STAGES 4

struct vt_resnet {
    int64_t base;   /* channels of the stem: 64 */
    int64_t groups; /* of the 3x3 convolutions */
    int64_t widen;  /* channels of the 3x3 against the narrow ones of ResNet */
    int64_t blocks[VT_RESNET_STAGES];
};

/* Channels behind a stage: 256, 512, 1024, 2048 at the official width. */
int64_t vt_resnet_channels(const struct vt_resnet *resnet, int stage);
/* What each stage gives, at 1/4, 1/8, 1/16 and 1/32 of the image. */
void vt_resnet_build(struct vt_net *net, struct vt_net_value image, const struct vt_resnet *resnet,
                     struct vt_net_value ret_stages[VT_RESNET_STAGES]);

#endif
