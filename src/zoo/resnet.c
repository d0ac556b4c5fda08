/* SPDX-License-Identifier: Apache-2.0 */
#include "zoo/resnet.h"

#define EXPANSION 4
/* The last normalisation of a block: the sum grows slowly, as in a trained network. */
#define BRANCH_GAIN 0.5

int64_t vt_resnet_channels(const struct vt_resnet *resnet, int stage)
{
    return (resnet->base << stage) * EXPANSION;
}

/* Convolution and batch normalisation, the latter named bn1 where the former is conv1. */
static struct vt_net_value conv_bn(struct vt_net *net, struct vt_net_value x, const char *prefix,
                                   const char *conv_name, const char *bn_name, double gain,
                                   const struct vt_net_conv *conv)
{
    x = vt_net_conv(net, x, vt_net_name(net, "%s%s", prefix, conv_name), conv);
    return vt_net_batch_norm(net, x, vt_net_name(net, "%s%s", prefix, bn_name), conv->out, gain);
}

static struct vt_net_value bottleneck(struct vt_net *net, struct vt_net_value x, const char *prefix,
                                      const struct vt_resnet *resnet, int64_t in, int64_t planes,
                                      int64_t stride)
{
    const int64_t width = planes * resnet->widen, out = planes * EXPANSION;
    struct vt_net_value skip = x;

    if (stride != 1 || in != out) {
        skip =
            conv_bn(net, x, prefix, "downsample.0", "downsample.1", 1,
                    &(struct vt_net_conv){2, .in = in, .out = out, .kernel = 1, .stride = stride});
    }
    struct vt_net_value y = conv_bn(net, x, prefix, "conv1", "bn1", 1,
                                    &(struct vt_net_conv){2, .in = in, .out = width, .kernel = 1});
    y = vt_net_relu(net, y, vt_net_name(net, "%srelu1", prefix));
    y = conv_bn(net, y, prefix, "conv2", "bn2", 1,
                &(struct vt_net_conv){2, .in = width, .out = width, .kernel = 3, .stride = stride,
                                      .groups = resnet->groups});
    y = vt_net_relu(net, y, vt_net_name(net, "%srelu2", prefix));
    y = conv_bn(net, y, prefix, "conv3", "bn3", BRANCH_GAIN,
                &(struct vt_net_conv){2, .in = width, .out = out, .kernel = 1});
    const bool rectified = skip.name == x.name;
    const double kept = skip.power + 0.75 * y.power;
    y = vt_net_add(net, y, skip, vt_net_name(net, "%sadd", prefix));
    y = vt_net_relu(net, y, vt_net_name(net, "%srelu3", prefix));
    /* What came rectified is hardly cut a second time: only where it was zero. */
    return (struct vt_net_value){y.name, rectified ? kept : y.power};
}

void vt_resnet_build(struct vt_net *net, struct vt_net_value image, const struct vt_resnet *resnet,
                     struct vt_net_value ret_stages[VT_RESNET_STAGES])
{
    struct vt_net_value x =
        conv_bn(net, image, "", "conv1", "bn1", 1,
                &(struct vt_net_conv){2, .in = 3, .out = resnet->base, .kernel = 7, .stride = 2});

    x = vt_net_relu(net, x, "relu");
    vt_net_begin(net, "MaxPool", "maxpool", VT_NET_INPUTS(x.name));
    vt_write_attr_ints(net->writer, "kernel_shape", (int64_t[]){3, 3}, 2);
    vt_write_attr_ints(net->writer, "strides", (int64_t[]){2, 2}, 2);
    vt_write_attr_ints(net->writer, "pads", (int64_t[]){1, 1, 1, 1}, 4);
    vt_net_end(net);
    /* The largest of nine is larger than the average one. */
    x = (struct vt_net_value){"maxpool", 2.7 * x.power};
    int64_t in = resnet->base;
    for (int stage = 0; stage < VT_RESNET_STAGES; stage++) {
        for (int64_t block = 0; block < resnet->blocks[stage]; block++) {
            const char *prefix = vt_net_name(net, "layer%d.%lld.", stage + 1, (long long)block);
            x = bottleneck(net, x, prefix, resnet, in, resnet->base << stage,
                           stage > 0 && block == 0 ? 2 : 1);
            in = vt_resnet_channels(resnet, stage);
        }
        ret_stages[stage] = x;
    }
}
