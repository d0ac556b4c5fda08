/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 3D U-Net (Çiçek et al., 2016) as used for KiTS19: 31.2 M parameters, 955 GFLOP a window of 128^3.
 *
 * Two convolutions a level with instance normalisation and ReLU; the way down strides in the first
 * of them, the way up doubles by transposed convolution and takes in what the same level gave on
 * the way down. The sliding window over a volume lies outside the graph.
 */
#include "zoo/networks.h"

enum { EDGE, CHANNELS, MOST, LEVELS, CLASSES };

static const struct vt_zoo_parameter parameters[] = {
    [EDGE] = {"edge", 128, 32, 4, 512, "of the window, in voxels"},
    [CHANNELS] = {"channels", 32, 8, 1, 512,
                  "of the first level; each further one has twice as many"},
    [MOST] = {"channels_max", 320, 32, 1, 4096, "channels of a level at most"},
    [LEVELS] = {"levels", 5, 3, 1, 8, "halvings of the window"},
    [CLASSES] = {"classes", 3, 3, 1, 1000, "of voxels"},
};

/*
 * An engine that sums the two million voxels of a normalisation in single precision is off by some
 * 1e-3 of what it gives, and the engines differ by that. Where outputs are this small it stays
 * below the absolute tolerance of equal outputs, and an error of a hundredth does not.
 */
#define OUTPUT_POWER 0.0002

/* Of a level; the last one is the bottleneck. */
static int64_t channels_of(const int64_t *v, int64_t level)
{
    int64_t channels = v[CHANNELS] << level;
    return channels < v[MOST] ? channels : v[MOST];
}

static struct vt_net_value conv_block(struct vt_net *net, struct vt_net_value x, const char *name,
                                      int64_t in, int64_t out, int64_t stride)
{
    x = vt_net_conv(net, x, vt_net_name(net, "%s.conv", name),
                    &(struct vt_net_conv){3, .in = in, .out = out, .kernel = 3, .stride = stride});
    x = vt_net_instance_norm(net, x, vt_net_name(net, "%s.norm", name), out);
    return vt_net_relu(net, x, vt_net_name(net, "%s.relu", name));
}

static enum vt_status build(struct vt_net *net, struct vt_error *err)
{
    const int64_t *v = net->spec->values;
    const int64_t levels = v[LEVELS], edge = v[EDGE];
    struct vt_net_value skips[9];

    if (edge % ((int64_t)1 << levels) != 0) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "unet3d: edge=%lld is no multiple of %lld, by which levels=%lld "
                            "divides it",
                            (long long)edge, 1LL << levels, (long long)levels);
    }
    struct vt_net_value x =
        vt_net_input(net, "input", VT_F32, VT_NET_DIMS(-1, 1, edge, edge, edge), 1);
    int64_t in = 1;
    for (int64_t i = 0; i <= levels; i++) {
        const int64_t out = channels_of(v, i);
        const char *name = i < levels ? vt_net_name(net, "down%lld", (long long)i) : "bottleneck";
        x = conv_block(net, x, vt_net_name(net, "%s.0", name), in, out, i > 0 ? 2 : 1);
        x = conv_block(net, x, vt_net_name(net, "%s.1", name), out, out, 1);
        skips[i] = x;
        in = out;
    }
    for (int64_t i = levels - 1; i >= 0; i--) {
        const int64_t out = channels_of(v, i);
        const char *name = vt_net_name(net, "up%lld", (long long)i);
        x = vt_net_conv_up(net, x, vt_net_name(net, "%s.deconv", name),
                           &(struct vt_net_conv){3, .in = in, .out = out, .kernel = 2, .stride = 2,
                                                 .bias = true, .power = 0.5});
        x = vt_net_concat(net, vt_net_name(net, "%s.concat", name), 1, 0.5,
                          VT_NET_INPUTS(x.name, skips[i].name));
        x = conv_block(net, x, vt_net_name(net, "%s.0", name), 2 * out, out, 1);
        x = conv_block(net, x, vt_net_name(net, "%s.1", name), out, out, 1);
        in = out;
    }
    vt_net_conv(net, x, "output",
                &(struct vt_net_conv){3, .in = in, .out = v[CLASSES], .kernel = 1, .bias = true,
                                      .power = OUTPUT_POWER});
    vt_net_output(net, "output", VT_F32, VT_NET_DIMS(-1, v[CLASSES], edge, edge, edge), "N");
    return VT_OK;
}

const struct vt_zoo_network vt_zoo_unet3d = {
    .name = "unet3d",
    .benchmark = "3d-unet",
    .summary = "3D U-Net of KiTS19: windows of 128x128x128 voxels, 3 classes; 31.2 M parameters",
    .parameters = parameters,
    .n_parameters = VT_ZOO_N_PARAMETERS(parameters),
    .graphs = {{"", build}},
    .n_graphs = 1,
};
